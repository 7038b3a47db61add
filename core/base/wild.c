/* wild.c -- names that fit a pattern with stars.
 *
 * After a mismatch the last star takes one more character: linear but for
 * stars, and names are short. */
#include "core/base/wild.h"

#include <stddef.h>

bool mortise_wild_fits(const char *pattern, const char *name)
{
    const char *star = NULL, *resume = NULL;

    while (*name != '\0') {
        if (*pattern == '*') {
            star = ++pattern;
            resume = name;
        } else if (*pattern == *name) {
            pattern++;
            name++;
        } else if (star != NULL) {
            pattern = star;
            name = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}
