/* kind_discovery.c -- plugins that find tools and nodes for a text:
 * mortise.discovery/1.
 *
 * discover() ranks the candidates of the request and adds skills of its own.
 * It has no effects: its asks are part of the step that it serves, and its
 * caller, which knows the candidates, checks the result (discovery.h). list()
 * reports the plugin's pinned items.  It is optional, and older plugins have no
 * field for it. */
#include <stddef.h>

#include <mortise/discovery.h>

#include "core/plugin/kind.h"

static const char *find_discovery_gap(const void *interface,
                                      const struct mortise_manifest *m)
{
    const mortise_discovery *d = interface;

    (void)m;
    return d == NULL || d->size < offsetof(mortise_discovery, list) ||
                   d->discover == NULL
               ? MORTISE_DISCOVERY_1
               : NULL;
}

static int32_t call_discover(const void *interface, struct mortise_inst *inst,
                             uint32_t stage,
                             const struct mortise_request *request)
{
    const mortise_discovery *d = interface;

    (void)stage;
    return d->discover(inst, request);
}

static int32_t call_list(const void *interface, struct mortise_inst *inst,
                         uint32_t stage, const struct mortise_request *request)
{
    const mortise_discovery *d = interface;

    (void)stage;
    return d->size < sizeof *d || d->list == NULL ? MORTISE_S_UNSUPPORTED
                                                  : d->list(inst, request);
}

const struct mortise_call_kind mortise_call_discover = {
    .kind = MORTISE_KIND_DISCOVERY,
    .number = 0,
    .name = "discover",
    .may_pend = true,
    .enter = call_discover};

const struct mortise_call_kind mortise_call_list = {.kind =
                                                        MORTISE_KIND_DISCOVERY,
                                                    .number = 1,
                                                    .name = "list",
                                                    .may_pend = true,
                                                    .enter = call_list};

static const struct mortise_call_kind *const calls[] = {&mortise_call_discover,
                                                        &mortise_call_list};

/* As discovery.h documents; host_calls.c (7) enforces it. */
static const char *const asks[] = {"secret.get/1", "http.request/1", NULL};

const struct mortise_plugin_kind mortise_kind_discovery = {
    .name = "discovery",
    .interface = MORTISE_DISCOVERY_1,
    .asks = asks,
    .lacks = find_discovery_gap,
    .calls = calls,
    .n_calls = sizeof calls / sizeof calls[0]};
