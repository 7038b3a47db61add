/* tool_bypass.c -- ways to the tools of a deployment that its policy does not
 * see.
 *
 * tools.deny, tools.ask and pins judge operations.  A request that http/request
 * makes to the URL of an MCP server is one operation, http/request, whatever tool
 * its body names.  Hosts are granted whole, so the deployment is told of a plugin
 * that may go to the host of a server. */
#include "core/engine/common/tool_bypass.h"

#include <string.h>

#include "services/http/egress.h"

static void judge_server(const struct mortise_egress *egress,
                         const struct mortise_manifest *m,
                         const struct mortise_mcp_server *s,
                         struct mortise_diags *diags)
{
    struct mortise_destination to;
    struct mortise_diag *d;

    if (s->url == NULL ||
        mortise_destination_parse(&to, s->url, NULL) != MORTISE_OK ||
        mortise_egress_allows(egress, &to) == NULL)
        return;
    d = mortise_diag_add(
        diags, "W0828", s->at->span,
        "plugin '%s' can connect to the MCP server '%s' directly, at %s:%u; "
        "tools.allow, tools.ask, tools.deny and the pins do not restrict the "
        "calls of this connection",
        m->name, s->name, to.host, (unsigned)to.port);
    mortise_diag_help(diags, d,
                      "remove the host from the plugin's config, or deny the "
                      "operations of '%s' (tools.deny)",
                      m->name);
}

static void judge_plugin(const struct mortise_deployment *d,
                         const struct mortise_manifest *m,
                         struct mortise_diags *diags)
{
    json_t *config = mortise_deployment_config(d, m->name, "");
    struct mortise_arena arena;
    struct mortise_egress egress;

    mortise_arena_init(&arena, d->arena.mem);
    if (config != NULL &&
        mortise_egress_make(&egress, &arena, &m->net, config, NULL) ==
            MORTISE_OK) /* else the config has a finding of its own */
        for (size_t i = 0; i < d->tools.mcp.n; i++)
            judge_server(&egress, m, &d->tools.mcp.list[i], diags);
    mortise_arena_finish(&arena);
    json_decref(config);
}

void mortise_tool_bypass_advise(const struct mortise_deployment *d,
                                struct mortise_plugins *plugins,
                                struct mortise_diags *diags)
{
    for (size_t i = 0; i < mortise_plugins_count(plugins); i++) {
        const struct mortise_manifest *m =
            mortise_plugins_at(plugins, i)->manifest;

        if (m != NULL && m->provides[MORTISE_KIND_EXECUTOR].present &&
            m->net.n > 0 && strcmp(m->name, mortise_mcp_plugin) != 0)
            judge_plugin(d, m, diags);
    }
}
