/* mcp_pin.c -- `mortise mcp pin`: records the definitions of a server's tools.
 *
 * A server can change its tools at any time: their descriptions, which a model
 * reads, or the meaning of their arguments.  Therefore tools are called only
 * with the definitions that were pinned.  The command prints each change in
 * full, member by member.  It does not ask for a confirmation, since the user
 * has just given the command.
 *
 *   (1) The lock file is written once, at the end, atomically (lock_file.c).
 *       Only the requested servers change in it.
 *   (2) A server that does not start keeps its pins; the others are pinned.
 *   (3) If nothing changed, nothing is written. */
#include <string.h>

#include "core/base/err.h"
#include "cli/lock_file.h"
#include "cli/mcp.h"
#include "core/json/value.h"

struct pinning {
    struct mortise_mcp m;
    json_t *lock; /* the new content of the lock */
    json_t *news; /* changed servers: new pins, or null for none */
    bool drifted, failed;
    bool replaced; /* existing pins were replaced */
    char path[PATH_MAX];
};

static const json_t *get_server_pins(const struct pinning *p,
                                     const char *server)
{
    return json_object_get(json_object_get(p->lock, "mcp"), server);
}

/* Report tools that no graph could call; the others are pinned. */
static void print_omitted_tools(struct pinning *p, const char *server,
                                const json_t *odd)
{
    struct mortise_out *o = &p->m.cli->err;

    MORTISE_JSON_EACH (one, i, odd) {
        mortise_out_flush(&p->m.cli->out);
        mortise_out_print_escaped(o, "mortise: %s: tool '%s' is omitted: %s\n",
                                  server, mortise_cli_get_text(one, "tool"),
                                  mortise_cli_get_text(one, "why"));
    }
}

/* Replace the pins of a server by `now` (borrowed); NULL removes them. */
static int replace_server_pins(struct pinning *p, const char *server,
                               json_t *now, struct mortise_err *err)
{
    const json_t *before = get_server_pins(p, server);

    p->drifted |= mortise_mcp_compare_pins(&p->m.cli->out, server, before, now);
    mortise_out_flush(&p->m.cli->out);
    if (json_equal(before, now))
        return MORTISE_OK;
    p->replaced |= before != NULL;
    if ((now != NULL ? json_object_set(p->news, server, now)
                     : json_object_set_new(p->news, server, json_null())) != 0)
        return mortise_nomem(err);
    return mortise_lock_set(p->lock, server, now, err);
}

static int pin_server(struct pinning *p, const char *server,
                      struct mortise_err *err)
{
    json_t *listed, *section = NULL, *odd = json_array();
    int rv = mortise_mcp_get_listing(&p->m, server, 0, &listed, err);

    if (rv == MORTISE_OK && listed == NULL) {
        mortise_oneshot_print_error(&p->m.once, server);
        p->failed = true;
        json_decref(odd);
        return MORTISE_OK;
    }
    if (rv == MORTISE_OK)
        rv = mortise_lock_make_section(&section, odd, listed, p->m.cli->mem,
                                       err);
    print_omitted_tools(p, server, odd);
    if (rv == MORTISE_OK)
        rv = replace_server_pins(p, server, section, err);
    else if (rv == MORTISE_EINVAL)
        rv = mortise_err_prefix(err, rv, "%s", server);
    json_decref(odd);
    json_decref(section);
    json_decref(listed);
    return rv;
}

/* Remove the pins of servers that the deployment no longer has. */
static int unpin_removed_servers(struct pinning *p, struct mortise_err *err)
{
    const struct mortise_lock *lock = &p->m.deployment->lock;
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < lock->n; i++)
        if (mortise_mcp_find(&p->m.deployment->tools.mcp, lock->list[i].name) ==
            NULL)
            rv = replace_server_pins(p, lock->list[i].name, NULL, err);
    return rv;
}

static int pin_all_servers(struct pinning *p, struct mortise_err *err)
{
    const struct mortise_mcp_servers *all = &p->m.deployment->tools.mcp;
    int rv = unpin_removed_servers(p, err);

    for (size_t i = 0; rv == MORTISE_OK && i < all->n; i++)
        rv = pin_server(p, all->list[i].name, err);
    if (all->n == 0 && rv == MORTISE_OK)
        mortise_out_puts(&p->m.cli->out, "no servers\n");
    return rv;
}

static int pin_named_servers(struct pinning *p, struct mortise_err *err)
{
    const struct mortise_args *a = &p->m.cli->args;
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < a->n_operands; i++)
        if (mortise_mcp_get_server(&p->m, a->operands[i], err) == NULL)
            rv = err->code;
    for (size_t i = 0; rv == MORTISE_OK && i < a->n_operands; i++)
        rv = pin_server(p, a->operands[i], err);
    return rv;
}

/* Apply the changes to the current content of the lock file. */
static int apply_pin_changes(void *ud, json_t *lock, struct mortise_err *err)
{
    struct pinning *p = ud;
    const char *server;
    json_t *section;
    int rv = MORTISE_OK;

    json_object_foreach(p->news, server, section) if (rv == MORTISE_OK) rv =
        mortise_lock_set(lock, server, json_is_null(section) ? NULL : section,
                         err);
    return rv;
}

static int write_lock_file(struct pinning *p, struct mortise_err *err)
{
    int rv;

    if (json_object_size(p->news) == 0 || p->m.cli->args.only_check)
        return MORTISE_OK;
    rv = mortise_lock_file_change(p->m.cli, p->path, apply_pin_changes, p, err);
    if (rv == MORTISE_OK && p->replaced)
        mortise_out_puts(&p->m.cli->out,
                         "running engines use the old definitions until they "
                         "are restarted\n");
    return rv;
}

static int pin_servers(struct pinning *p, struct mortise_err *err)
{
    const char *deployment = p->m.deployment->path;
    int rv;

    if (deployment == NULL)
        return mortise_fail(
            err, MORTISE_ENOTFOUND,
            "no deployment is in use, so there are no MCP servers to pin");
    rv = mortise_lock_path(p->path, deployment, err);
    if (rv == MORTISE_OK) {
        p->lock = mortise_lock_to_json(&p->m.deployment->lock);
        p->news = json_object();
        rv = p->lock != NULL && p->news != NULL ? MORTISE_OK
                                                : mortise_nomem(err);
    }
    if (rv == MORTISE_OK)
        rv = p->m.cli->args.n_operands > 0 ? pin_named_servers(p, err)
                                           : pin_all_servers(p, err);
    return rv == MORTISE_OK ? write_lock_file(p, err) : rv;
}

static int mcp_pin(struct mortise_cli *cli, struct mortise_err *err)
{
    struct pinning p = {.lock = NULL};
    int rv = mortise_mcp_open(&p.m, cli, err);

    if (rv == MORTISE_OK)
        rv = pin_servers(&p, err);
    json_decref(p.lock);
    json_decref(p.news);
    mortise_mcp_close(&p.m);
    if (rv == MORTISE_OK && (p.failed || (cli->args.only_check && p.drifted)))
        return MORTISE_EXIT_FAILED;
    return rv;
}

static const struct mortise_opt opts[] = {
    MORTISE_OPT_FLAG("check", only_check,
                     "Write nothing; exit code 1 if anything has changed"),
    MORTISE_OPT_DEPLOYMENT,
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_mcp_pin = {
    .name = "mcp pin",
    .operands = "[SERVER...]",
    .summary = "Record the definitions of the tools of MCP servers",
    .text =
        "The command starts each server (default: all of the deployment)\n"
        "and writes the definitions of its tools to the lock file.  The\n"
        "lock file is beside the deployment and has the same name, with\n"
        ".lock at its end (mortise.lock).  Graphs can call only pinned\n"
        "tools.  If the server has changed a tool's definition since then,\n"
        "a call of the tool fails with mcp.drift.  Keep the lock file\n"
        "together with the deployment.  Review the differences, which the\n"
        "command prints member by member.\n",
    .opts = opts,
    .exits = MORTISE_EXITS_STORE | MORTISE_EXITS_FINDINGS,
    .example = "mortise mcp pin files",
    .run = mcp_pin,
};
