/* dynlib.h -- the error of a failed dlopen(). */
#ifndef MORTISE_BASE_DYNLIB_H
#define MORTISE_BASE_DYNLIB_H

#include "core/base/err.h"

/* Call right after dlopen() failed.  The message is "DOING: " and the linker's
 * text.  MORTISE_ELIMIT (no descriptors) and MORTISE_ENOMEM mean that another
 * try may succeed; the code is MORTISE_EINVAL otherwise.  Any thread: dlerror()
 * is per thread. */
int mortise_dynlib_error(struct mortise_err *err, const char *doing);

#endif
