/* doctor_mcp.c -- `mortise doctor`: do the MCP servers start, and do their
 * tools match the pins?
 *
 * The mcp plugin starts or contacts each server once, as for a graph, which
 * also tests its sandbox, its secrets and its address.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "cli/doctor.h"
#include "cli/mcp.h"
#include "core/json/value.h"

enum { PATIENCE_MS = 15000 };

static size_t count_tools_in_state(const struct mortise_mcp *m,
                                   const char *server, const json_t *listed,
                                   const char *state)
{
    size_t n = 0;

    MORTISE_JSON_EACH (tool, i, json_object_get(listed, "tools"))
        n += strcmp(mortise_mcp_get_pin_state(m, server, tool), state) == 0;
    return n;
}

/* The number of pinned tools that the server no longer has. */
static size_t count_removed_tools(const struct mortise_mcp *m,
                                  const char *server, const json_t *listed)
{
    const struct mortise_lock_server *pins =
        mortise_lock_find(&m->deployment->lock, server);
    size_t n = pins != NULL ? pins->n : 0;

    return n - count_tools_in_state(m, server, listed, "pinned") -
           count_tools_in_state(m, server, listed, "drifted");
}

/* "files: name 1.2, 2025-11-25, 12 tools" */
static void describe_server(char *out, size_t cap, const char *server,
                            const json_t *listed)
{
    const json_t *is = json_object_get(listed, "server");

    snprintf(out, cap, "%.64s: %.64s %.32s, %.16s, %zu tools", server,
             mortise_cli_get_text(is, "name"),
             mortise_cli_get_text(is, "version"),
             mortise_cli_get_text(listed, "protocol"),
             json_array_size(json_object_get(listed, "tools")));
}

static void report_server(struct mortise_doctor *d, const struct mortise_mcp *m,
                          const char *server, const json_t *listed)
{
    size_t drifted = count_tools_in_state(m, server, listed, "drifted"),
           fresh = count_tools_in_state(m, server, listed, "new"),
           gone = count_removed_tools(m, server, listed);
    char is[256], remedy[160];

    describe_server(is, sizeof is, server, listed);
    snprintf(remedy, sizeof remedy, "mortise mcp pin %.64s", server);
    if (count_tools_in_state(m, server, listed, "unpinned") > 0)
        mortise_doctor_report(
            d, MORTISE_DOCTOR_WARN, "mcp", remedy,
            "%s; none of them is pinned, so graphs cannot call them", is);
    else if (drifted + gone > 0)
        mortise_doctor_report(
            d, MORTISE_DOCTOR_FAIL, "mcp", remedy,
            "%s; %zu tools differ from their pins, and %zu pinned tools no "
            "longer exist: graphs that call these tools fail",
            is, drifted, gone);
    else if (fresh > 0)
        mortise_doctor_report(
            d, MORTISE_DOCTOR_WARN, "mcp", remedy,
            "%s; %zu of them are not pinned, so graphs cannot "
            "call them",
            is, fresh);
    else
        mortise_doctor_report(d, MORTISE_DOCTOR_OK, "mcp", NULL,
                              "%s, as pinned", is);
}

static void check_deployed_server(struct mortise_doctor *d,
                                  struct mortise_mcp *m, const char *server)
{
    struct mortise_err err;
    json_t *listed = NULL;
    int rv = mortise_mcp_get_listing(m, server, PATIENCE_MS, &listed, &err);

    if (listed != NULL)
        report_server(d, m, server, listed);
    else
        mortise_doctor_report(
            d, MORTISE_DOCTOR_FAIL, "mcp",
            "check command, sandbox, url and secrets of the server in "
            "tools.mcp; 'mortise mcp list SERVER --verbose' prints its output",
            "%s: %s", server, rv == MORTISE_OK ? m->once.words : err.msg);
    json_decref(listed);
}

void mortise_doctor_check_mcp(struct mortise_doctor *d,
                              const struct mortise_deployment *deployment)
{
    const struct mortise_mcp_servers *all = &deployment->tools.mcp;
    struct mortise_mcp m;

    mortise_mcp_open_with(&m, d->cli, deployment);
    for (size_t i = 0; i < all->n; i++)
        check_deployed_server(d, &m, all->list[i].name);
    mortise_mcp_close(&m);
}
