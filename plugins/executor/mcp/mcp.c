/* mcp.c -- servers of the Model Context Protocol: their tools, resources and
 * prompts.
 *
 * Operations
 *   SERVER/TOOL  its arguments             -> {content, text, structured?}
 *           A tool that the deployment has pinned (mortise.lock), by the name of
 *           its server and its own.  What it does to the world is what the
 *           deployment says (tools.mcp.SERVER.effects), at least.
 *   call    {server, tool, arguments?}     -> {content, text, structured?}
 *           A tool that is pinned, by arguments; any tool of a server of which
 *           none is pinned, if its `unpinned` is true.
 *   list    {server}                       -> what it is, and all that it offers
 *   read    {server, uri}                  -> {contents: [...]}
 *   prompt  {server, name, arguments?}     -> {description?, messages: [...]}
 *
 *   content     as the server has it: text, images, audio, links, resources
 *   text        its texts, with newlines between
 *   structured  a value of the tool's outputSchema
 *
 * A server may ask a person something (elicitation): the run waits for that as
 * for any question.  A server of 2026-07-28 does not notice how long that takes;
 * one of 2025-11-25 and before must be held on to, which is done for
 * tools.mcp.SERVER.hold; after that a tool that reads, or is idempotent, is called
 * again once the answer is there, and any other is in doubt.  It may have a model
 * asked (sampling) and be told of directories (roots) where the deployment says so
 * (granted.c).  A result may be a
 * task, which is waited for as long as it takes.  What it says of its progress
 * are events.
 *
 * Config
 *   servers  {NAME: {...}}: what the deployment's tools.mcp says of each
 *            (mortise-deployment(5)), and the digests of its pinned tools
 *   places   where its servers may be reached over HTTP
 *   secrets  what those may be told
 *   All of it is made from tools.mcp; a deployment does not write it.
 *
 * Error codes
 *   mcp.tool_error    the tool says that it failed, in its own words
 *   mcp.refused       the server answered with an error
 *   mcp.unknown_tool  it has no such tool
 *   mcp.not_pinned    the deployment has not pinned it
 *   mcp.drift         the tool is not what was pinned, or is gone
 *   mcp.not_started*  the server could not be started, or reached, or ended before
 *                     it was ready (permanent: it is not there, or not allowed)
 *   mcp.lost*         the connection broke
 *   mcp.timeout       no complete answer and no progress came during
 *                     tools.mcp.SERVER.timeout
 *   mcp.protocol      it does not keep to the protocol, or answered what cannot
 *                     be read
 *   mcp.auth          it wants an authorization that it did not get (transient:
 *                     who gives tokens has no time, or cannot be reached)
 *   mcp.task          a task failed, was cancelled, or is not known any more
 *   mcp.failed  invalid  no_memory*  cancelled             (* transient)
 * Where it is open whether a tool that may change something was run (it was lost,
 * or timed out, behind the request; it answered with an error that leaves that
 * open) the call is in doubt, and a person decides.
 *
 * A deployment and a node
 *   tools:
 *     mcp:
 *       files:
 *         command: [npx, "@modelcontextprotocol/server-filesystem", ./data]
 *         sandbox: {fs: {read: [./data]}}
 *         effects: {read: ["read_*", "list_*"]}
 *
 *   look:
 *     type: tool
 *     tool: mcp/files/read_file
 *     args: {path: "${input.path}"}
 *
 * What it promises: it touches the world by asking the host, and each call does so
 * in steps (`intent: steps`), so that nothing is done twice that was not meant to
 * be (step.c).  Connections are kept in the background, shared by all calls
 * (server.c).  Of what servers say nothing is believed that matters: not what
 * their tools are (tools.c), not whose question is whose (asked.c), not that they
 * keep to any rule (rpc.c, request.c). */
#include "call.h"

/* ---- a call begins -------------------------------------------------------------- */

static struct mcp_server *server_named(const mortise_inst *i, mortise_str name)
{
    for (uint64_t k = 0; k < i->n_servers; k++)
        if (mortise_str_is(name, i->servers[k].name))
            return &i->servers[k];
    return NULL;
}

static struct mcp_server *server_said(const mortise_inst *i, mortise_jv name)
{
    for (uint64_t k = 0; k < i->n_servers; k++)
        if (mortise_jv_is(name, mortise_strz(i->servers[k].name)))
            return &i->servers[k];
    return NULL;
}

/* SERVER/TOOL */
static mortise_status read_pinned(struct mcp_call *c, const mortise_request *r,
                                  mortise_jv args)
{
    const char *slash =
        (const char *)memchr(r->operation.p, '/', r->operation.n);
    uint64_t n;

    if (slash == NULL)
        return MORTISE_S_UNSUPPORTED;
    n = (uint64_t)(slash - r->operation.p);
    c->server = server_named(c->inst, mortise_strn(r->operation.p, n));
    c->arguments = args;
    return bytes_put(&c->name, mortise_strn(slash + 1, r->operation.n - n - 1));
}

/* The others: {server, WHAT, arguments?}. */
static mortise_status read_said(struct mcp_call *c, mortise_jv args,
                                const char *what)
{
    c->server = server_said(c->inst, mortise_jv_get(args, "server"));
    c->arguments = mortise_jv_get(args, "arguments");
    return what == NULL ? MORTISE_S_OK
                        : bytes_decode(&c->name, mortise_jv_get(args, what));
}

static mortise_status read_request(struct mcp_call *c, const mortise_request *r,
                                   mortise_jv args)
{
    if (mortise_str_is(r->operation, "list")) {
        c->op = MCP_OP_LIST;
        return read_said(c, args, NULL);
    }
    if (mortise_str_is(r->operation, "read")) {
        c->op = MCP_OP_READ;
        return read_said(c, args, "uri");
    }
    if (mortise_str_is(r->operation, "prompt")) {
        c->op = MCP_OP_PROMPT;
        return read_said(c, args, "name");
    }
    c->op = MCP_OP_TOOL;
    return mortise_str_is(r->operation, "call") ? read_said(c, args, "tool")
                                                : read_pinned(c, r, args);
}

/* The name as JSON, which messages have. */
static mortise_status set_subject(struct mcp_call *c)
{
    mortise_str text;
    mortise_status status;
    mortise_jw w;

    if (c->op == MCP_OP_LIST)
        return MORTISE_S_OK;
    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_string(&w, bytes_str(&c->name));
    status = mortise_jw_finish(&w, &text);
    if (status == MORTISE_S_OK)
        status = bytes_put(&c->subject, text);
    free(w.p);
    return status;
}

static void call_free(struct mcp_call *c)
{
    bytes_free(&c->name);
    bytes_free(&c->subject);
    free(c);
}

static mortise_status refuse(mortise_inst *i, const mortise_request *r,
                             mortise_status status, const char *code,
                             const char *words)
{
    return mortise_refuse(i->host, i->api, r->call, status,
                          status == MORTISE_S_NOMEM ? "transient" : "permanent",
                          code, words);
}

/* What is wrong with it; NULL: nothing. */
static const char *judge(const struct mcp_call *c, const char **code)
{
    *code = "invalid";
    if (c->server == NULL)
        return "tools.mcp of the deployment has no server of that name";
    if (c->op != MCP_OP_TOOL ||
        mcp_tools_is_pinned(c->server, bytes_str(&c->name)))
        return NULL;
    *code = "mcp.not_pinned";
    return "the tool is not pinned; pin the current tools of its server with "
           "`mortise mcp pin SERVER`, or try the tool with `mortise mcp call`";
}

static void link_call(mortise_inst *i, struct mcp_call *c)
{
    c->next = i->calls;
    c->at = &i->calls;
    if (c->next != NULL)
        c->next->at = &c->next;
    i->calls = c;
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    struct mcp_call *c = (struct mcp_call *)calloc(1, sizeof *c);
    mortise_status status;
    const char *words, *code;

    if (c == NULL)
        return refuse(i, r, MORTISE_S_NOMEM, "no_memory", "out of memory");
    c->inst = i;
    c->id = r->call;
    c->held = (r->flags & MORTISE_REQUEST_HELD) != 0;
    status = read_request(c, r, mortise_jv_of(r->body));
    if (status == MORTISE_S_OK)
        status = set_subject(c);
    words = judge(c, &code);
    if (status == MORTISE_S_OK && words == NULL) {
        link_call(i, c);
        mcp_call_next(c);
        return MORTISE_S_PENDING;
    }
    call_free(c);
    if (status == MORTISE_S_NOMEM)
        return refuse(i, r, status, "no_memory", "out of memory");
    if (status != MORTISE_S_OK)
        return refuse(i, r, status, "invalid", "invalid request");
    return refuse(i, r, MORTISE_S_INVALID, code, words);
}

static mortise_status background(mortise_inst *i, const mortise_request *r)
{
    i->background = r->call;
    return MORTISE_S_PENDING;
}

/* ---- and is cancelled -------------------------------------------------------------- */

/* No connection outlives it. */
static void end_background(mortise_inst *i)
{
    mortise_call call = i->background;

    i->background = 0;
    for (uint64_t k = 0; k < i->n_servers; k++)
        mcp_server_close(&i->servers[k]);
    i->api->finish(i->host, call, MORTISE_S_CANCELLED, mortise_str_empty(),
                   mortise_str_empty());
}

/* What waits for an answer of the host gets one, and ends by that. */
static void cancel(mortise_inst *i, mortise_call id)
{
    struct mcp_call *c = i->calls;

    if (id == i->background) {
        if (id != 0)
            end_background(i);
        return;
    }
    while (c != NULL && c->id != id)
        c = c->next;
    if (c == NULL || (c->waiter.at == NULL && c->request.at == NULL &&
                      c->offers.walk == NULL && !c->consenting))
        return;
    mcp_task_cancel(c);
    mcp_call_end(c, MORTISE_S_CANCELLED);
}

/* ---- plugin and module --------------------------------------------------------------- */

static void destroy(mortise_inst *i)
{
    for (uint64_t k = 0; k < i->n_servers; k++)
        mcp_server_finish(&i->servers[k]);
    free(i->servers);
    bytes_free(&i->config);
    free(i);
}

static mortise_status read_servers(mortise_inst *i, mortise_jv servers)
{
    mortise_jv_iter it = mortise_jv_each(servers);
    mortise_status status = MORTISE_S_OK;
    mortise_jv name, config;

    i->servers = (struct mcp_server *)calloc(mortise_jv_count(servers) + 1,
                                             sizeof *i->servers);
    if (i->servers == NULL)
        return MORTISE_S_NOMEM;
    while (status == MORTISE_S_OK && mortise_jv_next(&it, &name, &config))
        status = mcp_server_init(&i->servers[i->n_servers++], i, name, config);
    return status;
}

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    mortise_inst *i = (mortise_inst *)calloc(1, sizeof *i);
    mortise_status status = MORTISE_S_NOMEM;
    mortise_jv v;

    if (i == NULL)
        return status;
    i->host = host;
    i->api = api;
    if (bytes_put(&i->config, config) == MORTISE_S_OK)
        status = mortise_jv_parse(bytes_str(&i->config), &v);
    if (status == MORTISE_S_OK)
        status = read_servers(i, mortise_jv_get(v, "servers"));
    if (status != MORTISE_S_OK) {
        destroy(i);
        return status;
    }
    *out = i;
    return MORTISE_S_OK;
}

static const void *get_interface(mortise_inst *inst, const char *id)
{
    static const mortise_executor executor = {
        .size = sizeof executor, .execute = execute, .background = background};

    (void)inst;
    return strcmp(id, MORTISE_EXECUTOR_1) == 0 ? &executor : NULL;
}

static const mortise_plugin plugin = {
    .size = sizeof plugin,
    .id = "mcp",
    .version = MCP_PLUGIN_VERSION,
    .create = create,
    .get_interface = get_interface,
    .cancel = cancel,
    .destroy = destroy,
};

MORTISE_MODULE_OF(plugin);
