/* copy.c -- names, as a form sends them.  Made up, to be reviewed. */
#include <string.h>

#include "copy.h"

int name_copy(char *to, size_t room, const char *from)
{
    size_t n = strlen(from);

    if (n > room)
        return -1;
    memcpy(to, from, n);
    to[n] = '\0';
    return 0;
}
