/* inprocess.c -- an endpoint that is a plugin in this process: messages become
 * calls of its functions.
 */
#include "core/plugin/endpoint.h"

#include <assert.h>

#include "core/base/table.h"
#include "core/plugin/host.h"

struct here {
    struct mortise_endpoint base;
    const struct mortise_mem *mem;
    const struct mortise_plugin *plugin;
    const struct mortise_manifest *manifest;
    mortise_inst *inst;
    const void *interfaces[MORTISE_KINDS]; /* NULL: not provided */
};

static struct here *here(struct mortise_endpoint *to)
{
    return MORTISE_OF(to, struct here, base);
}

static void create(struct here *h, const struct mortise_wire *msg,
                   struct mortise_wire *ret)
{
    static const char made_nothing[] =
        "create() returned OK but set no instance";

    assert(h->inst == NULL); /* once */
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

static void call(const struct here *h, const struct mortise_wire *msg,
                 const mortise_request *request, struct mortise_wire *ret)
{
    const struct mortise_plugin_kind *kind = mortise_kinds[msg->kind];

    assert(msg->kind < MORTISE_KINDS && msg->function < kind->n_calls);
    assert(h->interfaces[msg->kind] != NULL); /* check() found none wanting */
    assert(h->inst != NULL && request != NULL);
    ret->status = kind->calls[msg->function]->enter(
        h->interfaces[msg->kind], h->inst, msg->stage, request);
}

static void send(struct mortise_endpoint *to, const struct mortise_wire *msg,
                 const mortise_request *request, struct mortise_wire *ret)
{
    struct here *h = here(to);

    switch (msg->type) {
    case MORTISE_WIRE_CREATE:
        create(h, msg, ret);
        break;
    case MORTISE_WIRE_CALL:
        call(h, msg, request, ret);
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
        assert(h->inst != NULL); /* made, and destroyed once */
        h->plugin->destroy(h->inst);
        break;
    }
}

/* Does it have the interface of the kind, whole? */
static int check_kind(struct here *h, enum mortise_kind k,
                      struct mortise_err *err)
{
    const struct mortise_plugin_kind *kind = mortise_kinds[k];
    const void *interface = h->plugin->get_interface(h->inst, kind->interface);
    const char *missing = kind->lacks(interface, h->manifest);

    assert(h->inst != NULL); /* create() succeeded */
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

static int check(struct mortise_endpoint *to, struct mortise_err *err)
{
    struct here *h = here(to);
    int rv = MORTISE_OK;

    for (int i = 0; rv == MORTISE_OK && i < MORTISE_KINDS; i++)
        if (h->manifest->provides[i].present)
            rv = check_kind(h, (enum mortise_kind)i, err);
    return rv;
}

static void release(struct mortise_endpoint *to)
{
    struct here *h = here(to);

    mortise_release(h->mem, h, sizeof *h);
}

static const struct mortise_endpoint_ops ops = {
    .send = send, .check = check, .free = release};

int mortise_endpoint_in_process(struct mortise_endpoint **out,
                                const struct mortise_mem *mem,
                                const struct mortise_plugin *plugin,
                                const struct mortise_manifest *manifest,
                                struct mortise_err *err)
{
    struct here *h = mortise_zalloc(mem, sizeof *h);

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
