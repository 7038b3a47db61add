/* nomem.h -- how a plugin says that memory ran out, wherever it did. */
#ifndef PLUGINS_NOMEM_H
#define PLUGINS_NOMEM_H

#include <mortise/ask.h>

/* `call` 0: outside of one.  Gives MORTISE_S_NOMEM. */
static inline mortise_status nomem(mortise_host *host,
                                   const mortise_host_api *api, uint64_t call)
{
    return mortise_refuse(host, api, call, MORTISE_S_NOMEM, "transient",
                          "no_memory", "out of memory");
}

#endif
