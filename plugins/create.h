/* create.h -- how create() of a plugin with a config ends, whatever it is.
 *
 *     static mortise_status create(mortise_host *host,
 *                                  const mortise_host_api *api,
 *                                  mortise_str config, mortise_inst **out)
 *     {
 *         struct mortise_inst *i = calloc(1, sizeof *i);
 *
 *         if (i != NULL)
 *             *i = (struct mortise_inst){.host = host, .api = api};
 *         return create_configured(i, host, api, config, configure, destroy,
 *                                  out);
 *     }
 *
 * An instance whose config is refused is destroyed; what refused it has said
 * why. */
#ifndef PLUGINS_CREATE_H
#define PLUGINS_CREATE_H

#include "nomem.h"

/* `i` NULL: memory ran out. */
static inline mortise_status create_configured(
    mortise_inst *i, mortise_host *host, const mortise_host_api *api,
    mortise_str config,
    mortise_status (*configure)(mortise_inst *i, mortise_str config),
    void (*destroy)(mortise_inst *i), mortise_inst **out)
{
    mortise_status status;

    *out = NULL;
    if (i == NULL)
        return nomem(host, api, 0);
    status = configure(i, config);
    if (status != MORTISE_S_OK) {
        destroy(i);
        return status;
    }
    *out = i;
    return MORTISE_S_OK;
}

/* A config is refused, in words. */
static inline mortise_status
create_refuse(mortise_host *host, const mortise_host_api *api, const char *why)
{
    return mortise_refuse(host, api, 0, MORTISE_S_INVALID, "permanent",
                          "invalid", why);
}

#endif
