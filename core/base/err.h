/* err.h -- saying what went wrong.  [any] */
#ifndef MORTISE_BASE_ERR_H
#define MORTISE_BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>

#include "core/mortise.h"

/* The last of enum mortise_result. */
enum { MORTISE_RESULTS_END = MORTISE_ESTALE_ATTEMPT };

/* Fill `err` (NULL is fine) and return `code`. */
int mortise_fail(struct mortise_err *err, int code, const char *fmt, ...)
    MORTISE_PRINTF(3, 4);
int mortise_vfail(struct mortise_err *err, int code, const char *fmt,
                  va_list ap) MORTISE_PRINTF(3, 0);

/* On the way up: put "FMT: " before the message, keep its code; returns the
 * code, so `return mortise_doing(err, rv, "load %s", path)` reads well. */
int mortise_doing(struct mortise_err *err, int code, const char *fmt, ...)
    MORTISE_PRINTF(3, 4);

/* MORTISE_ENOMEM with its words. */
int mortise_nomem(struct mortise_err *err);

/* Does errno mean that no descriptor (EMFILE, ENFILE) or memory was left?  It
 * then means nothing about the file: not that it is absent, nor that it is bad. */
bool mortise_is_shortage(int errnum);

/* From errno: "DOING: strerror", ENOMEM, ENOSPC, ENOENT and EACCES mapped, no
 * descriptor left MORTISE_ELIMIT, everything else MORTISE_EIO. */
int mortise_syserr(struct mortise_err *err, int errnum, const char *fmt, ...)
    MORTISE_PRINTF(3, 4);

#endif
