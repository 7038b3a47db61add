/* blank.h -- texts that say nothing. */
#ifndef PLUGINS_BLANK_H
#define PLUGINS_BLANK_H

#include <mortise/json.h>

/* No string, or one of blanks alone? */
MORTISE_INLINE int blank_is(mortise_jv text)
{
    const char *p = text.p, *end;

    if (mortise_jv_type(text) != MORTISE_JV_STRING)
        return 1;
    end = p + text.n - 1; /* its quotes are no part of it */
    for (p++; p < end; p++)
        if (*p == '\\' && strchr("nrt", p[1]) != NULL)
            p++;
        else if (*p != ' ')
            return 0;
    return 1;
}

#endif
