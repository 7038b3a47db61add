/* mcp.c -- has operations that only a lock names (provides.executor.more).  It
 * says which was asked for, and gives back the arguments; of "list" it gives its
 * config, in the place of a list.  Named as the bundled one, for which it stands
 * in: what tools.mcp says is told to that name. */
#include <stdio.h>
#include <string.h>

#include "simple.h"

static char config_text[8192];

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    snprintf(config_text, sizeof config_text, "%.*s", (int)config.n, config.p);
    return simple_create(host, api, config, out);
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    char text[16384];

    if (mortise_str_is(r->operation, "list"))
        return simple_emit(i, r, config_text);
    snprintf(text, sizeof text,
             "{\"content\": [{\"type\": \"text\", \"text\": \"%.*s\"}], "
             "\"text\": \"%.*s\", \"structured\": %.*s}",
             (int)r->operation.n, r->operation.p, (int)r->operation.n,
             r->operation.p, (int)r->body.n, r->body.p);
    return simple_emit(i, r, text);
}

SIMPLE_EXECUTOR_WITH("mcp", create, simple_quiesce)
