/* err.h -- error codes and messages. [any] */
#ifndef MORTISE_BASE_ERR_H
#define MORTISE_BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>

#include "core/mortise.h"

/* The last value of enum mortise_result. */
enum { MORTISE_RESULTS_END = MORTISE_ESTALE_ATTEMPT };

/* Fill `err` (NULL is allowed) and return `code`. */
int mortise_fail(struct mortise_err *err, int code, const char *fmt, ...)
    MORTISE_PRINTF(3, 4);
int mortise_vfail(struct mortise_err *err, int code, const char *fmt,
                  va_list ap) MORTISE_PRINTF(3, 0);

/* Put "FMT: " before the message in `err` and return `code`, as in `return
 * mortise_err_prefix(err, rv, "load %s", path)`. */
int mortise_err_prefix(struct mortise_err *err, int code, const char *fmt, ...)
    MORTISE_PRINTF(3, 4);

/* MORTISE_ENOMEM, "out of memory". */
int mortise_nomem(struct mortise_err *err);

/* Does errno mean that the process ran out of descriptors (EMFILE, ENFILE) or
 * memory?  Such an error says nothing about the file: it may exist and be
 * valid. */
bool mortise_errno_is_shortage(int errnum);

/* Fail with the message "FMT: " and the text of `errnum`.  ENOMEM, ENOSPC,
 * ENOENT, EACCES and errors like them have codes of their own; EMFILE and
 * ENFILE are MORTISE_ELIMIT; every other errno is MORTISE_EIO. */
int mortise_syserr(struct mortise_err *err, int errnum, const char *fmt, ...)
    MORTISE_PRINTF(3, 4);

#endif
