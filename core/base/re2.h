/* re2.h -- RE2's regular expressions in the words of PCRE2.  [any] */
#ifndef MORTISE_BASE_RE2_H
#define MORTISE_BASE_RE2_H

#include "base/buf.h"
#include "base/err.h"

/* The n bytes of `pattern`, appended to `out` as pattern.h says.
 * MORTISE_EINVAL says what RE2 does not take and where, and what to write in
 * its place.  MORTISE_ENOMEM. */
int mortise_re2_translate(struct mortise_buf *out, const char *pattern,
                          size_t n, struct mortise_err *err);

#endif
