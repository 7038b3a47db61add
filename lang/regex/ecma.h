/* ecma.h -- translating ECMA-262 regular expressions to the syntax of RE2 or
 * PCRE2. [any] */
#ifndef MORTISE_LANG_REGEX_ECMA_H
#define MORTISE_LANG_REGEX_ECMA_H

#include "core/base/err.h"
#include "lang/regex/pattern.h"

/* Translate the n bytes of `pattern` for RE2 or PCRE2, and append the result to
 * `out` (pattern.h). *weight is its amount of work.  MORTISE_EINVAL: the
 * pattern is not ECMA-262; the message has the place and an alternative.
 * MORTISE_EUNAVAILABLE: only PCRE2 can express it.  MORTISE_ENOMEM. */
int mortise_ecma_translate(struct mortise_buf *out, const char *pattern,
                           size_t n, bool for_re2,
                           struct mortise_weight *weight,
                           struct mortise_err *err);

#endif
