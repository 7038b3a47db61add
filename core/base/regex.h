/* regex.h -- regular expressions that always end: PCRE2 with limits on what a
 * match may try and hold.  A compiled one is immutable: [any]. */
#ifndef MORTISE_BASE_REGEX_H
#define MORTISE_BASE_REGEX_H

#include <stdbool.h>

#include "base/err.h"
#include "base/mem.h"

struct mortise_regex; /* lives in the arena that it was compiled into */

/* By which standard a pattern is read. */
enum mortise_dialect {
    MORTISE_DIALECT_ECMA, /* JSON Schema's: ecma.h */
    MORTISE_DIALECT_RE2,  /* of CEL's `matches`: re2.h */
    /* What these two were before they were held to their standards: PCRE2's
     * patterns, once with some of ECMA-262's words.  Runs that were admitted
     * then keep them. */
    MORTISE_DIALECT_ECMA_FIRST,
    MORTISE_DIALECT_RE2_FIRST
};

/* MORTISE_EINVAL says what is wrong with the pattern, and where. */
int mortise_regex_compile(struct mortise_regex **out, struct mortise_arena *a,
                          enum mortise_dialect dialect, const char *pattern,
                          size_t n, struct mortise_err *err);

/* Does it match anywhere in s?  Takes at most 10,000 + 100 n steps and needs
 * memory of `mem` meanwhile.  MORTISE_ELIMIT when the limits end the search,
 * MORTISE_EINVAL when s is not UTF-8. */
int mortise_regex_search(const struct mortise_regex *re, const char *s,
                         size_t n, const struct mortise_mem *mem, bool *found,
                         struct mortise_err *err);

#endif
