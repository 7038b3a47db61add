/* nearest.h -- "did you mean".  [any] */
#ifndef MORTISE_BASE_NEAREST_H
#define MORTISE_BASE_NEAREST_H

#include <stddef.h>

/* The candidate most like `word` within an edit distance that grows with its
 * length (a third, at least 1), or NULL; of equals the one that begins most
 * like it, and then the first.  NULL candidates are passed over. */
const char *mortise_nearest(const char *word, const char *const *candidates,
                            size_t n);

#endif
