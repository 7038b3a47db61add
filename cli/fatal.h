/* fatal.h -- what ends the process, for who wants to know whether it was a
 * plugin (core/plugin/death.h). */
#ifndef MORTISE_CLI_FATAL_H
#define MORTISE_CLI_FATAL_H

/* Before an engine is opened in this process; also in a child of fork. */
void mortise_fatal_catch(void);

#endif
