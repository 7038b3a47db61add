/* ecma.h -- ECMA-262 regular expressions in the words of RE2 or PCRE2.  [any] */
#ifndef MORTISE_LANG_REGEX_ECMA_H
#define MORTISE_LANG_REGEX_ECMA_H

#include "core/base/err.h"
#include "lang/regex/pattern.h"

/* The n bytes of `pattern`, appended to `out` as pattern.h says, for RE2 or for
 * PCRE2, and how much work it is.  MORTISE_EINVAL says what is no ECMA-262 and
 * where, and what to write in its place.  MORTISE_EUNAVAILABLE: RE2 cannot
 * express it, and PCRE2 can.  MORTISE_ENOMEM. */
int mortise_ecma_translate(struct mortise_buf *out, const char *pattern,
                           size_t n, bool for_re2,
                           struct mortise_weight *weight,
                           struct mortise_err *err);

#endif
