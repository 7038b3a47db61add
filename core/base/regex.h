/* regex.h -- regular expressions that always end: PCRE2 with limits on what a
 * match may try and hold.  A compiled one is immutable: [any]. */
#ifndef MORTISE_BASE_REGEX_H
#define MORTISE_BASE_REGEX_H

#include <stdbool.h>

#include "base/err.h"
#include "base/mem.h"

struct mortise_regex; /* lives in the arena that it was compiled into */

/* MORTISE_EINVAL says what is wrong with the pattern, `*offset` (may be NULL)
 * where, in bytes. */
int mortise_regex_compile(struct mortise_regex **out, struct mortise_arena *a,
                          const char *pattern, size_t n, size_t *offset,
                          struct mortise_err *err);

/* The same for the dialect of JSON Schema, ECMA-262 in Unicode mode (ecma.h),
 * as far as PCRE2 goes. */
int mortise_regex_compile_ecma(struct mortise_regex **out,
                               struct mortise_arena *a, const char *pattern,
                               size_t n, struct mortise_err *err);

/* Does it match anywhere in s?  Takes at most 10,000 + 100 n steps and needs
 * memory of `mem` meanwhile.  MORTISE_ELIMIT when the limits end the search,
 * MORTISE_EINVAL when s is not UTF-8. */
int mortise_regex_search(const struct mortise_regex *re, const char *s,
                         size_t n, const struct mortise_mem *mem, bool *found,
                         struct mortise_err *err);

#endif
