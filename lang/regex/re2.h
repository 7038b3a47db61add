/* re2.h -- parsing RE2 regular expressions before RE2 compiles them. [any] */
#ifndef MORTISE_LANG_REGEX_RE2_H
#define MORTISE_LANG_REGEX_RE2_H

#include "core/base/err.h"
#include "lang/regex/pattern.h"

/* Rewrite the n bytes of `pattern` for RE2, and append the result to `out`
 * (pattern.h). *weight is its amount of work.  MORTISE_EINVAL: RE2 does not
 * accept the pattern; the message has the place and an alternative.
 * MORTISE_ENOMEM. */
int mortise_re2_translate(struct mortise_buf *out, const char *pattern,
                          size_t n, struct mortise_weight *weight,
                          struct mortise_err *err);

#endif
