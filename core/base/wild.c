/* wild.c -- match a name against a pattern with `*`.
 *
 * After a mismatch, the last star takes one more character and matching resumes
 * there.  That is quadratic at worst, but names are short.
 */
#include "core/base/wild.h"

#include <stddef.h>

bool mortise_wild_match(const char *pattern, const char *name)
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
