/* status.c -- see status.h. */
#include "core/plugin/status.h"

#include <stddef.h>

const char *mortise_status_name(mortise_status status)
{
    static const struct {
        mortise_status status;
        const char *name;
    } names[] = {
#define NAMED(s) {s, #s}
        NAMED(MORTISE_S_OK),          NAMED(MORTISE_S_PENDING),
        NAMED(MORTISE_S_SUSPENDED),   NAMED(MORTISE_S_FAILED),
        NAMED(MORTISE_S_INVALID),     NAMED(MORTISE_S_CANCELLED),
        NAMED(MORTISE_S_DENIED),      NAMED(MORTISE_S_NOTFOUND),
        NAMED(MORTISE_S_NOMEM),       NAMED(MORTISE_S_IO),
        NAMED(MORTISE_S_UNSUPPORTED), NAMED(MORTISE_S_STALE),
        NAMED(MORTISE_S_TIMEOUT),     NAMED(MORTISE_S_DOUBT),
#undef NAMED
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].status == status)
            return names[i].name;
    return "unknown";
}
