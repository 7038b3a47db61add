/* ecma.h -- ECMA-262 regular expressions in the words of PCRE2.  [any] */
#ifndef MORTISE_BASE_ECMA_H
#define MORTISE_BASE_ECMA_H

#include "base/buf.h"
#include "base/err.h"

/* The n bytes of `pattern`, appended to `out` as pattern.h says.
 * MORTISE_EINVAL says what is no ECMA-262 and where, and what to write in its
 * place.  MORTISE_ENOMEM. */
int mortise_ecma_translate(struct mortise_buf *out, const char *pattern,
                           size_t n, struct mortise_err *err);

#endif
