/* stop.h -- SIGINT and SIGTERM: the first pauses, the second kills. */
#ifndef MORTISE_CLI_STOP_H
#define MORTISE_CLI_STOP_H

#include <stdbool.h>

#include "core/base/err.h"

/* Install the handlers: the first signal makes the descriptor readable, the
 * second kills the process.  Calling it again does nothing. */
int mortise_stop_install(struct mortise_err *err);
/* The descriptor; -1 before mortise_stop_install(). */
int mortise_stop_fd(void);
/* Has a signal arrived? */
bool mortise_stop_has_signal(void);
/* The first signal; 0: none. */
int mortise_stop_get_signal(void);
/* Forget the first signal, so that the next one is a first one again. */
void mortise_stop_reset(void);

#endif
