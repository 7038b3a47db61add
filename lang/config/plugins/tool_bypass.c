/* tool_bypass.c -- find ways to a deployment's tools that bypass its policy.
 *
 * tools.deny, tools.ask and pins apply to operations.  A request of
 * http/request to the URL of an MCP server counts as the operation
 * http/request, whichever tool its body names.  Permissions cover whole hosts,
 * so the deployment gets a warning about each plugin that may connect to the
 * host of an MCP server.
 */
#include "lang/config/plugins/tool_bypass.h"

#include <string.h>

#include "core/plugin/egress.h"

static void advise_server_bypass(const struct mortise_egress *egress,
                                 const struct mortise_manifest *m,
                                 const struct mortise_mcp_server *s,
                                 struct mortise_diags *diags)
{
    struct mortise_destination to;
    struct mortise_diag *d;

    if (s->url == NULL ||
        mortise_destination_parse(&to, s->url, NULL) != MORTISE_OK ||
        mortise_egress_find_grant(egress, &to) == NULL)
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

static void advise_plugin_bypass(const struct mortise_deployment *d,
                                 const struct mortise_manifest *m,
                                 struct mortise_diags *diags)
{
    json_t *config = mortise_deployment_get_config(d, m->name, "");
    struct mortise_arena arena;
    struct mortise_egress egress;

    mortise_arena_init(&arena, d->arena.mem);
    if (config != NULL &&
        mortise_egress_make(&egress, &arena, &m->net, config, NULL) ==
            MORTISE_OK) /* otherwise the config has its own finding */
        for (size_t i = 0; i < d->tools.mcp.n; i++)
            advise_server_bypass(&egress, m, &d->tools.mcp.list[i], diags);
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
            advise_plugin_bypass(d, m, diags);
    }
}
