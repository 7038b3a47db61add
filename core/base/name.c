/* name.c -- the names of files, plugins and guardrails.
 *
 * Names occur in paths, in events and in messages of other programs. */
#include "core/base/name.h"

#include <stddef.h>
#include <string.h>

bool mortise_name_is_valid(const char *s)
{
    static const char first[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    size_t n = strlen(s), at = strspn(s, first);

    if (at == 0 || n > 128)
        return false;
    while (s[at] != '\0' && (strchr("._-", s[at]) || strchr(first, s[at])))
        at++;
    return at == n;
}
