/* dynlib.h -- why the dynamic linker refused. */
#ifndef MORTISE_BASE_DYNLIB_H
#define MORTISE_BASE_DYNLIB_H

#include "core/base/err.h"

/* Right after a dlopen() that failed: "DOING: the linker's words".  For want of
 * descriptors MORTISE_ELIMIT, for want of memory MORTISE_ENOMEM, so that another try
 * may succeed; else MORTISE_EINVAL.  Threads: any; dlerror() is a thread's own. */
int mortise_dynlib_error(struct mortise_err *err, const char *doing);

#endif
