/* doctor_mcp.c -- `mortise doctor`: do the MCP servers of the deployment come up,
 * and are their tools what is pinned?
 *
 * Each is started, or reached, once, by the plugin and as graphs do it: its
 * sandbox, its secrets and its address are tried with it. */
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "cli/doctor.h"
#include "cli/mcp.h"
#include "core/json/value.h"

enum { PATIENCE_MS = 15000 };

static size_t count(const struct mortise_mcp *m, const char *server,
                    const json_t *listed, const char *state)
{
    size_t n = 0;

    MORTISE_JSON_EACH (tool, i, json_object_get(listed, "tools"))
        n += strcmp(mortise_mcp_state(m, server, tool), state) == 0;
    return n;
}

/* Tools that are pinned and that the server has not any more. */
static size_t count_gone(const struct mortise_mcp *m, const char *server,
                         const json_t *listed)
{
    const struct mortise_lock_server *pins =
        mortise_lock_find(&m->deployment->lock, server);
    size_t n = pins != NULL ? pins->n : 0;

    return n - count(m, server, listed, "pinned") -
           count(m, server, listed, "drifted");
}

/* "files: name 1.2, 2025-11-25, 12 tools" */
static void describe(char *out, size_t cap, const char *server,
                     const json_t *listed)
{
    const json_t *is = json_object_get(listed, "server");

    snprintf(out, cap, "%.64s: %.64s %.32s, %.16s, %zu tools", server,
             mortise_cli_text(is, "name"), mortise_cli_text(is, "version"),
             mortise_cli_text(listed, "protocol"),
             json_array_size(json_object_get(listed, "tools")));
}

static void judge(struct mortise_doctor *d, const struct mortise_mcp *m,
                  const char *server, const json_t *listed)
{
    size_t drifted = count(m, server, listed, "drifted"),
           fresh = count(m, server, listed, "new"),
           gone = count_gone(m, server, listed);
    char is[256], remedy[160];

    describe(is, sizeof is, server, listed);
    snprintf(remedy, sizeof remedy, "mortise mcp pin %.64s", server);
    if (count(m, server, listed, "unpinned") > 0)
        mortise_doctor_say(
            d, MORTISE_AILING, "mcp", remedy,
            "%s; none of them is pinned, so graphs cannot call them", is);
    else if (drifted + gone > 0)
        mortise_doctor_say(
            d, MORTISE_SICK, "mcp", remedy,
            "%s; %zu tools differ from their pins, and %zu pinned tools no "
            "longer exist: graphs that call these tools fail",
            is, drifted, gone);
    else if (fresh > 0)
        mortise_doctor_say(d, MORTISE_AILING, "mcp", remedy,
                           "%s; %zu of them are not pinned, so graphs cannot "
                           "call them",
                           is, fresh);
    else
        mortise_doctor_say(d, MORTISE_HEALTHY, "mcp", NULL, "%s, as pinned",
                           is);
}

static void check_server(struct mortise_doctor *d, struct mortise_mcp *m,
                         const char *server)
{
    struct mortise_err err;
    json_t *listed = NULL;
    int rv = mortise_mcp_listed(m, server, PATIENCE_MS, &listed, &err);

    if (listed != NULL)
        judge(d, m, server, listed);
    else
        mortise_doctor_say(
            d, MORTISE_SICK, "mcp",
            "check command, sandbox, url and secrets of the server in "
            "tools.mcp; 'mortise mcp list SERVER --verbose' prints its output",
            "%s: %s", server, rv == MORTISE_OK ? m->once.words : err.msg);
    json_decref(listed);
}

void mortise_doctor_mcp(struct mortise_doctor *d,
                        const struct mortise_deployment *deployment)
{
    const struct mortise_mcp_servers *all = &deployment->tools.mcp;
    struct mortise_mcp m;

    mortise_mcp_open_beside(&m, d->cli, deployment);
    for (size_t i = 0; i < all->n; i++)
        check_server(d, &m, all->list[i].name);
    mortise_mcp_close(&m);
}
