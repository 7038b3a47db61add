/* fatal.h -- detect whether a plugin ended the process. */
#ifndef MORTISE_CLI_FATAL_H
#define MORTISE_CLI_FATAL_H

/* Call it before an engine is opened in this process, and also in a forked
 * child. */
void mortise_fatal_catch(void);

#endif
