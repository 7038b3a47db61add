/* spends.c -- emits each string of its arguments' "usage" as such; then it
 * fails where they have "class" (simple_fail), else gives the statuses of those
 * emits. */
#include "simple.h"

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    char room[512], text[512];
    mortise_jv body, one;
    mortise_jv_iter it;
    mortise_jw w;

    mortise_jw_fixed(&w, room, sizeof room);
    mortise_jw_array(&w);
    if (mortise_jv_parse(r->body, &body) != MORTISE_S_OK)
        return MORTISE_S_INVALID;
    it = mortise_jv_each(mortise_jv_get(body, "usage"));
    while (mortise_jv_next(&it, NULL, &one)) {
        if (mortise_jv_cstr(one, text, sizeof text) != MORTISE_S_OK)
            return MORTISE_S_INVALID;
        mortise_jw_int(&w, mortise_emit_usage(i->host, i->api, r->call,
                                              mortise_strz(text)));
    }
    mortise_jw_end(&w);
    if (mortise_jv_type(mortise_jv_get(body, "class")) != MORTISE_JV_NONE)
        return simple_fail(i, r);
    return mortise_emit_output(i->host, i->api, r->call,
                               mortise_strn(room, w.n));
}

SIMPLE_EXECUTOR("spends")
