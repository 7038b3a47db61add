/* nearest.h -- "did you mean".  [any] */
#ifndef MORTISE_BASE_NEAREST_H
#define MORTISE_BASE_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

/* The candidate most like `word` within an edit distance that grows with its
 * length (a third, at least 1), or NULL; of equals the one that begins most
 * like it, and then the first.  NULL candidates are passed over. */
const char *mortise_nearest(const char *word, const char *const *candidates,
                            size_t n);

/* Is the one the other, but for one slip of the finger: a letter more, less or
 * another, or two that are swapped?  Never of words of one or two letters. */
bool mortise_is_slip(const char *a, const char *b);

#endif
