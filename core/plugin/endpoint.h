/* endpoint.h -- where the calls of an instance go: one that is created and
 * called by messages of wire.h, wherever its code runs.
 *
 * inprocess.c makes one of a plugin that was loaded here.  One that sends the
 * same messages to a process of the plugin's own will be the second maker: so
 * nothing of instance.c knows what is behind it. */
#ifndef MORTISE_PLUGIN_ENDPOINT_H
#define MORTISE_PLUGIN_ENDPOINT_H

#include <mortise/plugin.h>

#include "core/plugin/manifest.h"
#include "core/plugin/wire.h"

struct mortise_endpoint;

struct mortise_endpoint_ops {
    /* CREATE, a CALL, CANCEL, QUIESCE or DESTROY.  What it came to is in *ret,
     * which is a RETURN of status 0 before.  `request` is a CALL's: lent, as
     * are the message's strings, until the call has ended. */
    void (*send)(struct mortise_endpoint *to, const struct mortise_wire *msg,
                 const mortise_request *request, struct mortise_wire *ret);
    /* Has it, created, what the manifest promises?  MORTISE_EINVAL: what not. */
    int (*check)(struct mortise_endpoint *to, struct mortise_err *err);
    void (*free)(struct mortise_endpoint *to);
};

struct mortise_endpoint {
    const struct mortise_endpoint_ops *ops;
    mortise_host *host; /* whom it may call: set by who opens the instance */
};

/* A plugin that was loaded into this process.  Both are lent for good. */
int mortise_endpoint_in_process(struct mortise_endpoint **out,
                                const struct mortise_mem *mem,
                                const struct mortise_plugin *plugin,
                                const struct mortise_manifest *manifest,
                                struct mortise_err *err);

#endif
