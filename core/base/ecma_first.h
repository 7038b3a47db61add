/* ecma_first.h -- JSON Schema's patterns as they once were.  [any] */
#ifndef MORTISE_BASE_ECMA_FIRST_H
#define MORTISE_BASE_ECMA_FIRST_H

#include "base/buf.h"
#include "base/err.h"

/* The n bytes of `pattern` (ECMA-262, in Unicode mode), appended to `out` for PCRE2 with
 * EXTRA_ALT_BSUX.  MORTISE_EINVAL for what PCRE2 would take and ECMA does not have;
 * other mistakes are PCRE2's to find.  MORTISE_ENOMEM. */
int mortise_ecma_first_translate(struct mortise_buf *out, const char *pattern,
                                 size_t n, struct mortise_err *err);

#endif
