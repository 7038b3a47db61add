/* nearest.c -- "did you mean": edit distance with transpositions.
 *
 * The distance is optimal string alignment over bytes, so that `aprvoe` is one
 * edit away from `aprove`.  Words longer than LONGEST match nothing: they are
 * not typing errors, and the bound limits the work for hostile input and lets
 * the table live on the stack.
 */
#include "core/base/nearest.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST = 64 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Three rows are enough: a transposition looks two rows back. */
static size_t edit_distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t row[3][LONGEST + 1];

    for (size_t j = 0; j <= nb; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *cur = row[i % 3], *up = row[(i + 2) % 3];

        cur[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t swap = up[j - 1] + (a[i - 1] != b[j - 1]);

            cur[j] = least(swap, least(up[j], cur[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cur[j] = least(cur[j], row[(i + 1) % 3][j - 2] + 1);
        }
    }
    return row[na % 3][nb];
}

/* The length of the common prefix.  It breaks ties: typing errors seldom hit
 * the first letter, and an abbreviation keeps the beginning (`out_` for
 * `output_`). */
static size_t common_prefix_length(const char *a, const char *b)
{
    size_t n = 0;

    while (a[n] != '\0' && a[n] == b[n])
        n++;
    return n;
}

const char *mortise_nearest_find(const char *word,
                                 const char *const *candidates, size_t n)
{
    size_t len = strlen(word), best = least(len / 3, 8);
    const char *found = NULL;

    if (len == 0 || len > LONGEST)
        return NULL;
    best = (best != 0 ? best : 1) + 1; /* exclusive upper bound */
    for (size_t i = 0; i < n; i++) {
        const char *c = candidates[i];
        size_t nc = c != NULL ? strlen(c) : 0, d;

        /* Skip words of one letter: any two are one edit apart. */
        if (nc == 0 || nc > LONGEST || (len == 1 && nc == 1))
            continue;
        d = edit_distance(word, len, c, nc);
        if (d < len && (d < best || (d == best && found != NULL &&
                                     common_prefix_length(word, c) >
                                         common_prefix_length(word, found)))) {
            best = d;
            found = c;
        }
    }
    return found;
}

bool mortise_nearest_is_typo(const char *a, const char *b)
{
    enum { SHORTEST = 3 };
    size_t na = strlen(a), nb = strlen(b);

    return na >= SHORTEST && nb >= SHORTEST && na <= LONGEST && nb <= LONGEST &&
           edit_distance(a, na, b, nb) == 1;
}
