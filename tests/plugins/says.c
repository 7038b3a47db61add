/* says.c -- emits what its arguments have as "goto" and "update" (a string of
 * JSON), each in two pieces, and then echoes. */
#include "simple.h"

static void emit(mortise_inst *i, const mortise_request *r, const char *kind)
{
    char text[512];
    mortise_jv body;

    if (mortise_jv_parse(r->body, &body) != MORTISE_S_OK ||
        mortise_jv_cstr(mortise_jv_get(body, kind), text, sizeof text) !=
            MORTISE_S_OK)
        return;
    i->api->emit(i->host, r->call, mortise_strz(kind), mortise_strn(text, 1));
    i->api->emit(i->host, r->call, mortise_strz(kind), mortise_strz(text + 1));
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    emit(i, r, "goto");
    emit(i, r, "update");
    return simple_echo(i, r);
}

SIMPLE_EXECUTOR("says")
