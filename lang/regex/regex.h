/* regex.h -- regular expressions with a cost for each search.
 *
 * A compiled expression is immutable: [any].  The unit of costs is that of CEL:
 * about 300 ns for the worst text. */
#ifndef MORTISE_LANG_REGEX_REGEX_H
#define MORTISE_LANG_REGEX_REGEX_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/mem.h"

struct mortise_regex; /* lives in the arena that it was compiled into */

/* The standard by which a pattern is parsed. */
enum mortise_dialect {
    MORTISE_DIALECT_ECMA, /* for JSON Schema: ecma.h */
    MORTISE_DIALECT_RE2,  /* for CEL's `matches`: re2.h */
    MORTISE_DIALECT_PCRE2 /* for schemas of plugins and servers, if not
                           * ECMA-262 */
};

/* The default cost limit of an evaluation or a check. */
#define MORTISE_COST UINT64_C(1000000)

/* Compile a pattern and subtract the cost from *left (NULL: free).
 * MORTISE_EINVAL: the pattern is invalid; the message has the place.
 * MORTISE_ELIMIT: *left is too small. */
int mortise_regex_compile(struct mortise_regex **out, struct mortise_arena *a,
                          enum mortise_dialect dialect, const char *pattern,
                          size_t n, uint64_t *left, struct mortise_err *err);

/* Is there a match anywhere in s?  Subtracts the cost from *left; uses memory
 * of `mem` during the search.  MORTISE_ELIMIT: *left, or the memory limit, is
 * too small for this text (*left is then undefined).  MORTISE_EINVAL: s is not
 * UTF-8, if this was detected. */
int mortise_regex_search(const struct mortise_regex *re, const char *s,
                         size_t n, uint64_t *left,
                         const struct mortise_mem *mem, bool *found,
                         struct mortise_err *err);

#endif
