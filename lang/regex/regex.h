/* regex.h -- regular expressions whose searches are paid for.
 *
 * A compiled one is immutable: [any].  Costs have the unit of CEL's: about
 * 300 ns of the worst text. */
#ifndef MORTISE_LANG_REGEX_REGEX_H
#define MORTISE_LANG_REGEX_REGEX_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/mem.h"

struct mortise_regex; /* lives in the arena that it was compiled into */

/* By which standard a pattern is read. */
enum mortise_dialect {
    MORTISE_DIALECT_ECMA, /* JSON Schema's: ecma.h */
    MORTISE_DIALECT_RE2,  /* of CEL's `matches`: re2.h */
    MORTISE_DIALECT_PCRE2 /* of schemas of plugins and servers, if not ECMA */
};

/* What one evaluation or check may cost where nobody says more. */
#define MORTISE_COST UINT64_C(1000000)

/* *left (NULL: nothing is paid) is less by what it cost.  MORTISE_EINVAL says
 * what is wrong with the pattern, and where; MORTISE_ELIMIT: *left is too
 * little. */
int mortise_regex_compile(struct mortise_regex **out, struct mortise_arena *a,
                          enum mortise_dialect dialect, const char *pattern,
                          size_t n, uint64_t *left, struct mortise_err *err);

/* Does it match anywhere in s?  *left is less by what it cost, and needs memory
 * of `mem` meanwhile.  MORTISE_ELIMIT: *left is too little for this text, or
 * the memory that a search may take (what is left of *left is undefined).
 * MORTISE_EINVAL: s is not UTF-8, if that was noticed. */
int mortise_regex_search(const struct mortise_regex *re, const char *s,
                         size_t n, uint64_t *left,
                         const struct mortise_mem *mem, bool *found,
                         struct mortise_err *err);

#endif
