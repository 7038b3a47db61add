/* weighs.c -- a scale: a byte weighs a gram; "dust" weighs nothing that it could
 * say.  It takes its time. */
#include "../../plugins/simple.h"
#include "scale.h"

static void look(mortise_inst *i, const mortise_request *r)
{
    char weight[64];

    simple_sleep_ms(5);
    snprintf(weight, sizeof weight, "{\"grams\": %d}", (int)r->body.n);
    if (!mortise_str_is(r->body, "\"dust\""))
        i->api->emit(i->host, r->call, mortise_strz("weight"),
                     mortise_strz(weight));
    simple_finish(i, r, MORTISE_S_OK);
}

static mortise_status weigh(mortise_inst *i, const mortise_request *r)
{
    return simple_pend(i, r, look);
}

static const scale table = {sizeof table, 0, weigh};
SIMPLE_INTERFACE(SCALE_1, table)
SIMPLE_MODULE("weighs", simple_create, simple_quiesce)
