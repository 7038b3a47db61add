/* discovery_lists.c -- what it has that is pinned stands in the file of its config;
 * where there is none, list() fails. */
#include "finds.h"

static mortise_status discover(mortise_inst *i, const mortise_request *r)
{
    return simple_emit(i, r, "{\"results\": []}");
}

static mortise_status list(mortise_inst *i, const mortise_request *r)
{
    char text[8192];
    FILE *f = fopen(i->file, "r");

    if (f == NULL)
        return mortise_refuse(i->host, i->api, r->call, MORTISE_S_FAILED,
                              "permanent", "lists.gone", "there is no list");
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    return text[0] != '\0' ? simple_emit(i, r, text) : MORTISE_S_OK;
}

static const mortise_discovery discovery = {sizeof(mortise_discovery), 0,
                                            discover, list};
SIMPLE_INTERFACE(MORTISE_DISCOVERY_1, discovery)
SIMPLE_MODULE("discovery_lists", simple_create, simple_quiesce)
