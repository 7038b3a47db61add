/* inprocess.c -- the endpoint of a plugin in this process: each message becomes
 * a function call. */
#include "core/plugin/endpoint.h"

#include <assert.h>

#include "core/base/table.h"
#include "core/plugin/host.h"

struct local_endpoint {
    struct mortise_endpoint base;
    const struct mortise_mem *mem;
    const struct mortise_plugin *plugin;
    const struct mortise_manifest *manifest;
    mortise_inst *inst;
    const void *interfaces[MORTISE_KINDS]; /* NULL: not provided */
};

static struct local_endpoint *local_endpoint_of(struct mortise_endpoint *to)
{
    return MORTISE_CONTAINER_OF(to, struct local_endpoint, base);
}

static void run_create(struct local_endpoint *h, const struct mortise_wire *msg,
                       struct mortise_wire *ret)
{
    static const char made_nothing[] =
        "create() returned OK but set no instance";

    assert(h->inst == NULL);
    ret->status = h->plugin->create(h->base.host, &mortise_host_functions,
                                    msg->body, &h->inst);
    if (ret->status == MORTISE_S_OK && h->inst == NULL) {
        mortise_host_functions.fail(
            h->base.host, 0,
            mortise_str_of(made_nothing, sizeof made_nothing - 1),
            mortise_str_of(NULL, 0));
        ret->status = MORTISE_S_FAILED;
    }
}

static void call_function(const struct local_endpoint *h,
                          const struct mortise_wire *msg,
                          const mortise_request *request,
                          struct mortise_wire *ret)
{
    const struct mortise_plugin_kind *kind = mortise_kinds[msg->kind];

    assert(msg->kind < MORTISE_KINDS && msg->function < kind->n_calls);
    assert(h->interfaces[msg->kind] != NULL); /* check_interfaces() found it */
    assert(h->inst != NULL && request != NULL);
    ret->status = kind->calls[msg->function]->enter(
        h->interfaces[msg->kind], h->inst, msg->stage, request);
}

static void dispatch_message(struct mortise_endpoint *to,
                             const struct mortise_wire *msg,
                             const mortise_request *request,
                             struct mortise_wire *ret)
{
    struct local_endpoint *h = local_endpoint_of(to);

    switch (msg->type) {
    case MORTISE_WIRE_CREATE:
        run_create(h, msg, ret);
        break;
    case MORTISE_WIRE_CALL:
        call_function(h, msg, request, ret);
        break;
    case MORTISE_WIRE_CANCEL:
        if (h->plugin->cancel != NULL)
            h->plugin->cancel(h->inst, msg->call);
        break;
    case MORTISE_WIRE_QUIESCE:
        if (h->plugin->quiesce != NULL)
            ret->status = h->plugin->quiesce(h->inst, msg->deadline_ns);
        break;
    default:
        assert(msg->type == MORTISE_WIRE_DESTROY);
        assert(h->inst != NULL); /* created, and destroyed once */
        h->plugin->destroy(h->inst);
        break;
    }
}

/* Does the plugin have the complete interface of this kind? */
static int check_kind_interface(struct local_endpoint *h, enum mortise_kind k,
                                struct mortise_err *err)
{
    const struct mortise_plugin_kind *kind = mortise_kinds[k];
    const void *interface = h->plugin->get_interface(h->inst, kind->interface);
    const char *missing = kind->lacks(interface, h->manifest);

    assert(h->inst != NULL);
    h->interfaces[k] = interface;
    if (missing == NULL)
        return MORTISE_OK;
    if (interface == NULL && kind->former != NULL &&
        h->plugin->get_interface(h->inst, kind->former) != NULL)
        return mortise_fail(
            err, MORTISE_EINVAL,
            "plugin %s: the module has %s, which this mortise no longer "
            "supports, and not %s; build it with this mortise's headers",
            h->manifest->name, kind->former, kind->interface);
    return mortise_fail(err, MORTISE_EINVAL,
                        "plugin %s: its manifest provides %s, but its module "
                        "does not; build and sign them together",
                        h->manifest->name, missing);
}

static int check_interfaces(struct mortise_endpoint *to,
                            struct mortise_err *err)
{
    struct local_endpoint *h = local_endpoint_of(to);
    int rv = MORTISE_OK;

    for (int i = 0; rv == MORTISE_OK && i < MORTISE_KINDS; i++)
        if (h->manifest->provides[i].present)
            rv = check_kind_interface(h, (enum mortise_kind)i, err);
    return rv;
}

static void free_local_endpoint(struct mortise_endpoint *to)
{
    struct local_endpoint *h = local_endpoint_of(to);

    mortise_release(h->mem, h, sizeof *h);
}

static const struct mortise_endpoint_ops ops = {.send = dispatch_message,
                                                .check = check_interfaces,
                                                .free = free_local_endpoint};

int mortise_endpoint_in_process(struct mortise_endpoint **out,
                                const struct mortise_mem *mem,
                                const struct mortise_plugin *plugin,
                                const struct mortise_manifest *manifest,
                                struct mortise_err *err)
{
    struct local_endpoint *h = mortise_zalloc(mem, sizeof *h);

    *out = NULL;
    if (h == NULL)
        return mortise_nomem(err);
    h->base.ops = &ops;
    h->mem = mem;
    h->plugin = plugin;
    h->manifest = manifest;
    *out = &h->base;
    return MORTISE_OK;
}
