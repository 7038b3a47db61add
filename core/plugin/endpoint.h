/* endpoint.h -- the receiver of an instance's messages (wire.h), wherever the
 * plugin's code runs.
 *
 * inprocess.c implements it for a plugin in this process.  A plugin in its own
 * process can become a second implementation, so instance.c must not depend on
 * the first one. */
#ifndef MORTISE_PLUGIN_ENDPOINT_H
#define MORTISE_PLUGIN_ENDPOINT_H

#include <mortise/plugin.h>

#include "core/plugin/manifest.h"
#include "core/plugin/wire.h"

struct mortise_endpoint;

struct mortise_endpoint_ops {
    /* Send CREATE, CALL, CANCEL, QUIESCE or DESTROY.  *ret holds a RETURN with
     * status 0, and receives the result.  `request` belongs to a CALL; it and
     * the message's strings are lent until the call has ended. */
    void (*send)(struct mortise_endpoint *to, const struct mortise_wire *msg,
                 const mortise_request *request, struct mortise_wire *ret);
    /* After create(): does the plugin have every interface of its manifest?
     * MORTISE_EINVAL names the missing one. */
    int (*check)(struct mortise_endpoint *to, struct mortise_err *err);
    void (*free)(struct mortise_endpoint *to);
};

struct mortise_endpoint {
    const struct mortise_endpoint_ops *ops;
    /* For calls of the plugin; set by mortise_instance_open(). */
    mortise_host *host;
};

/* An endpoint for a plugin that is loaded into this process.  `plugin` and
 * `manifest` must outlive it. */
int mortise_endpoint_in_process(struct mortise_endpoint **out,
                                const struct mortise_mem *mem,
                                const struct mortise_plugin *plugin,
                                const struct mortise_manifest *manifest,
                                struct mortise_err *err);

#endif
