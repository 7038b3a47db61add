/* re2.h -- RE2's regular expressions, read before RE2 gets them.  [any] */
#ifndef MORTISE_LANG_REGEX_RE2_H
#define MORTISE_LANG_REGEX_RE2_H

#include "core/base/err.h"
#include "lang/regex/pattern.h"

/* The n bytes of `pattern`, appended to `out` for RE2 as pattern.h says, and
 * how much work it is.  MORTISE_EINVAL says what RE2 does not take and where,
 * and what to write in its place.  MORTISE_ENOMEM. */
int mortise_re2_translate(struct mortise_buf *out, const char *pattern,
                          size_t n, struct mortise_weight *weight,
                          struct mortise_err *err);

#endif
