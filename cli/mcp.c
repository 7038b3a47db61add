/* mcp.c -- `mortise mcp`: the MCP servers of a deployment, and their tools.
 *
 * A server is called through the plugin that graphs use, with the sandbox,
 * secrets and timeouts of the deployment.  The texts of a server are only
 * displayed, and are made safe for a terminal like all external data. */
#include "cli/mcp.h"

#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/nearest.h"
#include "core/engine/common/engine.h"
#include "core/json/value.h"

/* ---- common ------------------------------------------------------------- */

void mortise_mcp_open_with(struct mortise_mcp *m, struct mortise_cli *cli,
                           const struct mortise_deployment *deployment)
{
    *m = (struct mortise_mcp){.cli = cli, .deployment = deployment};
}

int mortise_mcp_open(struct mortise_mcp *m, struct mortise_cli *cli,
                     struct mortise_err *err)
{
    int rv;

    mortise_mcp_open_with(m, cli, NULL);
    rv = mortise_cli_open_settings(cli, &m->settings, err);
    m->owns_settings = true;
    m->deployment = m->settings.deployment;
    return rv;
}

void mortise_mcp_close(struct mortise_mcp *m)
{
    mortise_oneshot_close(&m->once);
    if (m->owns_settings)
        mortise_settings_close(&m->settings);
}

const struct mortise_mcp_server *mortise_mcp_get_server(struct mortise_mcp *m,
                                                        const char *name,
                                                        struct mortise_err *err)
{
    const struct mortise_mcp_servers *all = &m->deployment->tools.mcp;
    const struct mortise_mcp_server *s = mortise_mcp_find(all, name);
    const char *names[64], *near;
    size_t n = 0;

    if (s != NULL)
        return s;
    for (; n < all->n && n < sizeof names / sizeof names[0]; n++)
        names[n] = all->list[n].name;
    near = mortise_nearest_find(name, names, n);
    if (n == 0)
        mortise_fail(err, MORTISE_ENOTFOUND,
                     "tools.mcp of the deployment has no servers");
    else
        mortise_fail(err, MORTISE_ENOTFOUND,
                     "tools.mcp of the deployment has no server '%.64s'%s%s%s",
                     name, near != NULL ? "; did you mean '" : "",
                     near != NULL ? near : "", near != NULL ? "'?" : "");
    return NULL;
}

/* The deployment's tool policy is for graphs.  Clear it, so that mcp/list
 * returns all tools. */
static int open_without_policy(struct mortise_mcp *m, struct mortise_err *err)
{
    int rv = mortise_oneshot_open(&m->once, m->cli, err);

    if (rv == MORTISE_OK)
        mortise_session_engine(m->cli->session)
            ->settings.deployment->tools.policy =
            (struct mortise_policy){.allow = {.said = false}};
    return rv;
}

int mortise_mcp_get_listing(struct mortise_mcp *m, const char *server,
                            uint64_t timeout_ms, json_t **out,
                            struct mortise_err *err)
{
    int rv = m->once.cli == NULL ? open_without_policy(m, err) : MORTISE_OK;

    *out = NULL;
    return rv == MORTISE_OK
               ? mortise_oneshot_call(&m->once, "mcp/list",
                                      json_pack("{s:s}", "server", server),
                                      timeout_ms, out, err)
               : rv;
}

const char *mortise_mcp_get_pin_state(const struct mortise_mcp *m,
                                      const char *server, const json_t *tool)
{
    const struct mortise_lock_server *s =
        mortise_lock_find(&m->deployment->lock, server);
    const struct mortise_lock_tool *t;

    if (s == NULL)
        return "unpinned";
    t = mortise_lock_tool(s, mortise_cli_get_text(tool, "name"));
    if (t == NULL)
        return "new";
    return strcmp(t->digest, mortise_cli_get_text(tool, "digest")) == 0
               ? "pinned"
               : "drifted";
}

/* Split "SERVER/TOOL"; returns the tool, or NULL without one. */
static const char *split_server_tool(const char *given,
                                     char server[MORTISE_MCP_NAME_SIZE])
{
    const char *slash = strchr(given, '/');
    size_t n = slash != NULL ? (size_t)(slash - given) : strlen(given);

    snprintf(server, MORTISE_MCP_NAME_SIZE, "%.*s", (int)n, given);
    return slash != NULL ? slash + 1 : NULL;
}

static bool is_changed_state(const char *state)
{
    return strcmp(state, "drifted") == 0 || strcmp(state, "new") == 0;
}

/* ---- list --------------------------------------------------------------- */

static json_t *encode_mcp_server(const struct mortise_mcp_server *s,
                                 const struct mortise_lock_server *pins)
{
    json_t *v = json_pack("{s:s, s:s*, s:s*}", "server", s->name, "command",
                          s->program.path, "url", s->url);

    if (v != NULL && pins != NULL &&
        json_object_set_new(v, "pinned", json_integer((json_int_t)pins->n)) !=
            0) {
        json_decref(v);
        return NULL;
    }
    return v;
}

static void print_mcp_server(struct mortise_out *o,
                             const struct mortise_mcp_server *s,
                             const struct mortise_lock_server *pins)
{
    mortise_out_put_cell(o, s->name, 16);
    mortise_out_puts(o, " ");
    if (pins != NULL)
        mortise_out_printf(o, "%3zu pinned  ", pins->n);
    else
        mortise_out_puts(o, "not pinned  ");
    mortise_out_print_escaped(o, "%s\n",
                              s->url != NULL ? s->url : s->program.path);
}

/* List the configured servers without starting them. */
static int list_mcp_servers(struct mortise_mcp *m, struct mortise_err *err)
{
    const struct mortise_mcp_servers *all = &m->deployment->tools.mcp;
    bool json = m->cli->args.json;
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < all->n; i++) {
        const struct mortise_mcp_server *s = &all->list[i];
        const struct mortise_lock_server *pins =
            mortise_lock_find(&m->deployment->lock, s->name);

        if (json)
            rv = mortise_cli_print_json(m->cli, encode_mcp_server(s, pins),
                                        false, err);
        else
            print_mcp_server(&m->cli->out, s, pins);
    }
    if (all->n == 0 && !json)
        mortise_out_puts(&m->cli->out, "no servers\n");
    return rv;
}

/* Print the first line of a text. */
static void print_first_line(struct mortise_out *o, const char *text)
{
    mortise_out_put_piece(o, text, strcspn(text, "\r\n"));
    mortise_out_puts(o, "\n");
}

/* Get the effect class of a pinned tool; NULL: it is not pinned. */
static const char *get_pinned_effect(const struct mortise_mcp *m,
                                     const char *server, const json_t *tool)
{
    char operation[2 * MORTISE_MCP_NAME_SIZE + MORTISE_LOCK_TOOL];
    const struct mortise_tool_pin *pin;

    snprintf(operation, sizeof operation, "%s/%s", server,
             mortise_cli_get_text(tool, "name"));
    pin = mortise_deployment_find_tool_pin(m->deployment, mortise_mcp_plugin,
                                           operation);
    return pin != NULL ? pin->effect : NULL;
}

static void print_mcp_tool(struct mortise_mcp *m, const char *server,
                           const json_t *tool)
{
    struct mortise_out *o = &m->cli->out;
    const char *state = mortise_mcp_get_pin_state(m, server, tool);
    const char *effect = get_pinned_effect(m, server, tool);

    mortise_out_put_cell(o, mortise_cli_get_text(tool, "name"), 28);
    mortise_out_puts(o, " ");
    mortise_out_put_styled(
        o, is_changed_state(state) ? MORTISE_ATTENTION : MORTISE_PLAIN, state,
        8);
    mortise_out_puts(o, " ");
    mortise_out_put_cell(o, effect != NULL ? effect : "-", 8);
    mortise_out_puts(o, " ");
    print_first_line(o, mortise_cli_get_text(tool, "description"));
}

static int list_mcp_tools(struct mortise_mcp *m, const char *server,
                          const json_t *listed, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    MORTISE_JSON_EACH (tool, i, json_object_get(listed, "tools")) {
        if (!m->cli->args.json)
            print_mcp_tool(m, server, tool);
        else if (rv == MORTISE_OK)
            rv = mortise_cli_print_json(
                m->cli,
                json_pack(
                    "{s:s, s:s, s:s, s:s*, s:s*, s:s}", "server", server,
                    "tool", mortise_cli_get_text(tool, "name"), "state",
                    mortise_mcp_get_pin_state(m, server, tool), "effect",
                    get_pinned_effect(m, server, tool), "description",
                    json_string_value(json_object_get(tool, "description")),
                    "digest", mortise_cli_get_text(tool, "digest")),
                false, err);
    }
    if (json_array_size(json_object_get(listed, "tools")) == 0 &&
        !m->cli->args.json)
        mortise_out_puts(&m->cli->out, "no tools\n");
    return rv;
}

typedef int listing_fn(struct mortise_mcp *m, const char *server,
                       const json_t *listed, struct mortise_err *err);

/* Call `fn` with the server's answer to mcp/list. */
static int call_with_listing(struct mortise_mcp *m, const char *server,
                             listing_fn *fn, struct mortise_err *err)
{
    json_t *listed = NULL;
    int rv = MORTISE_OK;

    if (mortise_mcp_get_server(m, server, err) == NULL)
        return err->code;
    rv = mortise_mcp_get_listing(m, server, 0, &listed, err);
    if (rv == MORTISE_OK)
        rv = listed != NULL ? fn(m, server, listed, err)
                            : mortise_oneshot_print_error(&m->once, server);
    json_decref(listed);
    return rv;
}

static int mcp_list(struct mortise_cli *cli, struct mortise_err *err)
{
    struct mortise_mcp m;
    int rv;

    cli->looks = cli->args.n_operands == 0;
    rv = mortise_mcp_open(&m, cli, err);
    if (rv == MORTISE_OK)
        rv = cli->args.n_operands > 0
                 ? call_with_listing(&m, cli->args.operands[0], list_mcp_tools,
                                     err)
                 : list_mcp_servers(&m, err);
    mortise_mcp_close(&m);
    return rv;
}

static const struct mortise_opt list_opts[] = {
    MORTISE_OPT_JSON("One JSON object a line"),
    MORTISE_OPT_DEPLOYMENT,
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_mcp_list = {
    .name = "mcp list",
    .operands = "[SERVER]",
    .summary = "List the MCP servers of the deployment, or the tools of one",
    .text =
        "Without SERVER, no server is started.  With SERVER, the command\n"
        "starts this server and lists its tools.  A tool has one of these\n"
        "states:\n"
        "  pinned     it has not changed since it was pinned\n"
        "  drifted    it has changed since then, and calls of it fail\n"
        "  new        other tools of the server are pinned, but not this one\n"
        "  unpinned   no tool of the server is pinned\n"
        "\n"
        "For a pinned tool, the line also has the class of the tool's\n"
        "calls: read, write or external.\n",
    .opts = list_opts,
    .exits = MORTISE_EXITS_STORE | MORTISE_EXITS_FINDINGS,
    .example = "mortise mcp list files",
    .run = mcp_list,
};

/* ---- inspect ------------------------------------------------------------ */

static void print_mcp_line(struct mortise_out *o, const char *name,
                           const char *value)
{
    if (value == NULL || value[0] == '\0')
        return;
    mortise_out_put_cell(o, name, 11);
    mortise_out_print_escaped(o, " %s\n", value);
}

/* Print a text of several lines. */
static void print_mcp_text(struct mortise_out *o, const char *name,
                           const char *text)
{
    if (text[0] == '\0')
        return;
    mortise_out_print_escaped(o, "%s\n", name);
    mortise_out_put_text(o, text, 2);
}

/* Print a list of items by name (or the member `key`) and description. */
static void print_named_items(struct mortise_out *o, const char *title,
                              const json_t *list, const char *key)
{
    if (json_array_size(list) > 0)
        mortise_out_print_escaped(o, "%s\n", title);
    MORTISE_JSON_EACH (one, i, list) {
        const char *about = mortise_cli_get_text(one, "description");

        mortise_out_puts(o, "  ");
        mortise_out_put_cell(o, mortise_cli_get_text(one, key), 28);
        mortise_out_puts(o, " ");
        print_first_line(o, about[0] != '\0' || strcmp(key, "name") == 0
                                ? about
                                : mortise_cli_get_text(one, "name"));
    }
}

static int inspect_mcp_server(struct mortise_mcp *m, const char *server,
                              const json_t *listed, struct mortise_err *err)
{
    const json_t *is = json_object_get(listed, "server");
    struct mortise_out *o = &m->cli->out;

    if (m->cli->args.json)
        return mortise_cli_print_json(
            m->cli, json_incref(mortise_json_unconst(listed)), true, err);
    print_mcp_line(o, "server", server);
    print_mcp_line(o, "name", mortise_cli_get_text(is, "name"));
    print_mcp_line(o, "version", mortise_cli_get_text(is, "version"));
    print_mcp_line(o, "protocol", mortise_cli_get_text(listed, "protocol"));
    print_mcp_text(o, "instructions",
                   mortise_cli_get_text(listed, "instructions"));
    if (json_array_size(json_object_get(listed, "tools")) > 0)
        mortise_out_puts(o, "tools\n");
    MORTISE_JSON_EACH (tool, i, json_object_get(listed, "tools")) {
        mortise_out_puts(o, "  ");
        print_mcp_tool(m, server, tool);
    }
    print_named_items(o, "resources", json_object_get(listed, "resources"),
                      "uri");
    print_named_items(o, "templates", json_object_get(listed, "templates"),
                      "uriTemplate");
    print_named_items(o, "prompts", json_object_get(listed, "prompts"), "name");
    return MORTISE_OK;
}

static void print_mcp_schema(struct mortise_out *o, const char *name,
                             const json_t *v)
{
    if (v == NULL)
        return;
    mortise_out_print_escaped(o, "%s\n", name);
    mortise_out_put_json(o, v, true);
}

static const json_t *find_listed_tool(const json_t *listed, const char *name,
                                      struct mortise_err *err)
{
    const char *known[256], *near;
    size_t n = 0;

    MORTISE_JSON_EACH (tool, i, json_object_get(listed, "tools")) {
        if (strcmp(mortise_cli_get_text(tool, "name"), name) == 0)
            return tool;
        if (n < sizeof known / sizeof known[0])
            known[n++] = mortise_cli_get_text(tool, "name");
    }
    near = mortise_nearest_find(name, known, n);
    mortise_fail(err, MORTISE_ENOTFOUND,
                 "the server has no tool '%.128s'%s%s%s", name,
                 near != NULL ? "; did you mean '" : "",
                 near != NULL ? near : "", near != NULL ? "'?" : "");
    return NULL;
}

static int inspect_mcp_tool(struct mortise_mcp *m, const char *server,
                            const json_t *listed, struct mortise_err *err)
{
    char name[MORTISE_MCP_NAME_SIZE];
    const json_t *tool = find_listed_tool(
        listed, split_server_tool(m->cli->args.operands[0], name), err);
    struct mortise_out *o = &m->cli->out;

    if (tool == NULL)
        return err->code;
    if (m->cli->args.json)
        return mortise_cli_print_json(
            m->cli, json_incref(mortise_json_unconst(tool)), true, err);
    print_mcp_line(o, "tool", mortise_cli_get_text(tool, "name"));
    print_mcp_line(o, "title", mortise_cli_get_text(tool, "title"));
    print_mcp_line(o, "state", mortise_mcp_get_pin_state(m, server, tool));
    if (get_pinned_effect(m, server, tool) != NULL)
        print_mcp_line(o, "effect", get_pinned_effect(m, server, tool));
    print_mcp_line(o, "digest", mortise_cli_get_text(tool, "digest"));
    print_mcp_text(o, "description", mortise_cli_get_text(tool, "description"));
    print_mcp_schema(o, "annotations", json_object_get(tool, "annotations"));
    print_mcp_schema(o, "input", json_object_get(tool, "input_schema"));
    print_mcp_schema(o, "output", json_object_get(tool, "output_schema"));
    return MORTISE_OK;
}

static int mcp_inspect(struct mortise_cli *cli, struct mortise_err *err)
{
    char server[MORTISE_MCP_NAME_SIZE];
    const char *tool = split_server_tool(cli->args.operands[0], server);
    struct mortise_mcp m;
    int rv = mortise_mcp_open(&m, cli, err);

    if (rv == MORTISE_OK)
        rv = call_with_listing(
            &m, server, tool != NULL ? inspect_mcp_tool : inspect_mcp_server,
            err);
    mortise_mcp_close(&m);
    return rv;
}

static const struct mortise_opt inspect_opts[] = {
    MORTISE_OPT_JSON("The description as JSON"),
    MORTISE_OPT_DEPLOYMENT,
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_mcp_inspect = {
    .name = "mcp inspect",
    .operands = "SERVER[/TOOL]",
    .summary = "Show the description of an MCP server or of a tool",
    .text = "The command starts the server and asks it for the description.\n"
            "Mortise does not verify this description.\n",
    .opts = inspect_opts,
    .exits = MORTISE_EXITS_STORE | MORTISE_EXITS_FINDINGS,
    .example = "mortise mcp inspect files/read_file",
    .run = mcp_inspect,
};

/* ---- call --------------------------------------------------------------- */

/* Print a part of the result that is not text. */
static void print_content_piece(struct mortise_out *o, const json_t *piece)
{
    const char *data = mortise_cli_get_text(piece, "data"),
               *uri = mortise_cli_get_text(piece, "uri");
    const json_t *in = json_object_get(piece, "resource");

    mortise_out_print_escaped(o, "[%s", mortise_cli_get_text(piece, "type"));
    if (in != NULL)
        uri = mortise_cli_get_text(in, "uri");
    if (uri[0] != '\0')
        mortise_out_print_escaped(o, " %s", uri);
    if (mortise_cli_get_text(piece, "mimeType")[0] != '\0')
        mortise_out_print_escaped(o, " %s",
                                  mortise_cli_get_text(piece, "mimeType"));
    if (data[0] != '\0')
        mortise_out_printf(o, ", %zu characters of base64", strlen(data));
    mortise_out_puts(o, "]\n");
    if (in != NULL)
        mortise_out_put_text(o, mortise_cli_get_text(in, "text"), 2);
}

static int print_mcp_result(struct mortise_mcp *m, const json_t *result,
                            struct mortise_err *err)
{
    const json_t *structured = json_object_get(result, "structured");
    struct mortise_out *o = &m->cli->out;

    if (m->cli->args.json)
        return mortise_cli_print_json(
            m->cli, json_incref(mortise_json_unconst(result)), false, err);
    MORTISE_JSON_EACH (piece, i, json_object_get(result, "content")) {
        if (strcmp(mortise_cli_get_text(piece, "type"), "text") == 0)
            mortise_out_put_text(o, mortise_cli_get_text(piece, "text"), 0);
        else
            print_content_piece(o, piece);
    }
    if (structured != NULL && mortise_cli_get_text(result, "text")[0] == '\0')
        mortise_out_put_json(o, structured, true);
    return MORTISE_OK;
}

/* A person at a terminal may call unpinned tools. */
static void allow_unpinned_tools(struct mortise_mcp *m, const char *server)
{
    struct mortise_mcp_servers *all = &mortise_session_engine(m->cli->session)
                                           ->settings.deployment->tools.mcp;

    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->list[i].name, server) == 0)
            all->list[i].unpinned = true;
}

/* Call a pinned tool as graphs do.  If no tool of the server is pinned, call it
 * as unpinned.  Takes the arguments. */
static int call_mcp_tool(struct mortise_mcp *m, const char *server,
                         const char *tool, json_t *args, json_t **out,
                         struct mortise_err *err)
{
    const struct mortise_lock_server *pins =
        mortise_lock_find(&m->deployment->lock, server);
    char operation[MORTISE_MCP_NAME_SIZE + MORTISE_LOCK_TOOL + 8];
    int rv = mortise_oneshot_open(&m->once, m->cli, err);

    *out = NULL;
    if (rv != MORTISE_OK) {
        json_decref(args);
        return rv;
    }
    if (pins == NULL) {
        allow_unpinned_tools(m, server);
        return mortise_oneshot_call(&m->once, "mcp/call",
                                    json_pack("{s:s, s:s, s:o}", "server",
                                              server, "tool", tool, "arguments",
                                              args),
                                    0, out, err);
    }
    snprintf(operation, sizeof operation, "mcp/%s/%s", server, tool);
    return mortise_oneshot_call(&m->once, operation, args, 0, out, err);
}

static int call_and_print(struct mortise_mcp *m, const char *server,
                          const char *tool, struct mortise_err *err)
{
    json_t *args, *result = NULL;
    int rv = mortise_mcp_get_server(m, server, err) != NULL
                 ? mortise_oneshot_parse_args(m->cli, &args, err)
                 : err->code;

    if (rv == MORTISE_OK)
        rv = call_mcp_tool(m, server, tool, args, &result, err);
    if (rv == MORTISE_OK)
        rv = result != NULL ? print_mcp_result(m, result, err)
                            : mortise_oneshot_print_error(
                                  &m->once, m->cli->args.operands[0]);
    json_decref(result);
    return rv;
}

static int mcp_call(struct mortise_cli *cli, struct mortise_err *err)
{
    char server[MORTISE_MCP_NAME_SIZE];
    const char *tool = split_server_tool(cli->args.operands[0], server);
    struct mortise_mcp m;
    int rv;

    if (tool == NULL || tool[0] == '\0')
        return mortise_cli_fail_usage(
            cli, "write the tool as SERVER/TOOL, such as files/read_file");
    rv = mortise_mcp_open(&m, cli, err);
    if (rv == MORTISE_OK)
        rv = call_and_print(&m, server, tool, err);
    mortise_mcp_close(&m);
    return rv;
}

static const struct mortise_opt call_opts[] = {
    MORTISE_OPT_JSON("The whole result, as one line of JSON"),
    MORTISE_OPT_DEPLOYMENT,
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_mcp_call = {
    .name = "mcp call",
    .operands = "SERVER/TOOL [ARGS]",
    .summary = "Call a tool of an MCP server once, and print its result",
    .text =
        "ARGS is JSON, @FILE or - for stdin (default: {}).  A pinned tool\n"
        "is called as in a graph, with its schema.  If no tool of the\n"
        "server is pinned, the command calls any of its tools.  The\n"
        "deployment's rules in tools.allow, tools.ask and tools.deny apply\n"
        "to each call.\n"
        "\n"
        "Nothing is recorded: the command is for experiments, and an\n"
        "interrupted call is not repeated.  Questions of the tool appear\n"
        "at the terminal.  Without a terminal, the call fails at the first\n"
        "question.\n",
    .opts = call_opts,
    .exits = MORTISE_EXITS_STORE | MORTISE_EXITS_FINDINGS,
    .example = "mortise mcp call files/read_file '{\"path\": \"notes.txt\"}'",
    .run = mcp_call,
};
