/* keeps_silent.c -- silent: says nothing until it is cancelled; stubborn: nor
 * lets go then, for `ms`; looks: works for `ms`, looking whether it should
 * stop; emits: works for `ms`, telling of it. */
#include "simple.h"
#include <stdatomic.h>

static _Atomic mortise_call cancelled_call;

/* Calls are counted anew by each engine of a process. */
static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    atomic_store(&cancelled_call, 0);
    return simple_create(host, api, config, out);
}

static void cancel(mortise_inst *i, mortise_call call)
{
    (void)i;
    atomic_store(&cancelled_call, call);
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    int64_t ms = simple_int(r, "ms", 0);
    int looks = mortise_str_is(r->operation, "looks");
    int emits = mortise_str_is(r->operation, "emits");

    if (mortise_str_is(r->operation, "silent")) {
        while (atomic_load(&cancelled_call) != r->call)
            simple_sleep_ms(5);
        return MORTISE_S_CANCELLED;
    }
    if (mortise_str_is(r->operation, "stubborn"))
        simple_sleep_ms(ms);
    for (; (looks || emits) && ms > 0; ms -= 20) {
        simple_sleep_ms(20);
        if (emits)
            i->api->emit(i->host, r->call, mortise_strz("event"),
                         mortise_strz("{}"));
        else if (i->api->cancelled(i->host, r->call))
            return MORTISE_S_CANCELLED;
    }
    return simple_emit(i, r, "{}");
}

static const mortise_executor executor = {.size = sizeof executor,
                                          .execute = execute};

static const void *get_interface(mortise_inst *i, const char *id)
{
    (void)i;
    return strcmp(id, MORTISE_EXECUTOR_1) == 0 ? &executor : NULL;
}

static const mortise_plugin plugin = {
    .size = sizeof plugin,
    .id = "keeps_silent",
    .version = "1.0.0",
    .create = create,
    .get_interface = get_interface,
    .cancel = cancel,
    .destroy = simple_destroy,
};

MORTISE_MODULE_OF(plugin);
