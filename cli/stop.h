/* stop.h -- SIGINT and SIGTERM: pause first, kill at the second. */
#ifndef MORTISE_CLI_STOP_H
#define MORTISE_CLI_STOP_H

#include <stdbool.h>

#include "core/base/err.h"

/* From now on the first of the two signals makes the descriptor readable, and
 * the second kills the process as if we were not here.  Once a is enough. */
int mortise_stop_begin(struct mortise_err *err);
/* The descriptor; -1 before begin(). */
int mortise_stop_fd(void);
/* Did a signal come? */
bool mortise_stop_came(void);
/* Which was the first; 0: none came yet. */
int mortise_stop_signal(void);
/* What came was dealt with: the next signal is a first one again. */
void mortise_stop_again(void);

#endif
