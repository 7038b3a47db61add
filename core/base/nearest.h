/* nearest.h -- "did you mean".  [any] */
#ifndef MORTISE_BASE_NEAREST_H
#define MORTISE_BASE_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

/* The candidate closest to `word`, within an edit distance of a third of its
 * length (at least 1), or NULL.  Ties go to the longer common prefix, then to
 * the first.  NULL candidates are skipped. */
const char *mortise_nearest_find(const char *word,
                                 const char *const *candidates, size_t n);

/* Do two words differ by a single typing error: one letter inserted, missing or
 * replaced, or two letters swapped?  Always false for words of one or two
 * letters. */
bool mortise_nearest_is_typo(const char *a, const char *b);

#endif
