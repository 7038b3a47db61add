/* era.c -- which protocol a server speaks.
 *
 * Since 2026-07-28 a client asks `server/discover`, and every request carries the
 * version and what the client can do; before, a connection begins with
 * `initialize`.  Most servers in the field know only the latter, and say so in
 * as many ways as there are: with an error of any code, with silence, by ending
 * themselves.  So, where the deployment does not say which:
 *
 *   (1) server/discover comes first, always.  A server that is initialized first
 *       may settle for the old era for good, and an old one may run a tool
 *       that it is asked for without being initialized.
 *   (2) A result with supportedVersions, or the error -32022, is the word of one
 *       that knows the new era: where we have no version in common, that is the
 *       end.  Any other error, or result, is that of an old one.
 *   (3) A program that says nothing for five seconds, or ends, is an old one;
 *       over HTTP these are errors like any.  One that was only slow to start,
 *       and refuses to be initialized by -32022, is asked again.
 *   (4) What was found out belongs to the connection (server.c (3)).
 */
#include "rpc.h"
#include "server.h"

enum { DISCOVER_MS = 5000 };

static const char P_VERSION[] = "io.modelcontextprotocol/protocolVersion";
static const char P_CLIENT[] = "io.modelcontextprotocol/clientInfo";
static const char P_CAN[] = "io.modelcontextprotocol/clientCapabilities";
static const char P_SERVER[] = "io.modelcontextprotocol/serverInfo";

/* ---- the decisions --------------------------------------------------------- */

static int lists(mortise_jv list, const char *version)
{
    mortise_jv_iter it = mortise_jv_each(list);
    mortise_jv one;

    while (mortise_jv_next(&it, NULL, &one))
        if (mortise_jv_is(one, mortise_strz(version)))
            return 1;
    return 0;
}

/* Versions are dates: is one of them of the legacy era? */
static int lists_legacy(mortise_jv list)
{
    mortise_jv_iter it = mortise_jv_each(list);
    char version[MCP_VERSION_ROOM];
    mortise_jv one;

    while (mortise_jv_next(&it, NULL, &one))
        if (mortise_jv_cstr(one, version, sizeof version) == MORTISE_S_OK &&
            strcmp(version, MCP_LEGACY) <= 0)
            return 1;
    return 0;
}

/* One that knows the new era listed what it speaks. */
static enum mcp_verdict of_versions(mortise_jv list, const char **why)
{
    if (lists(list, MCP_MODERN))
        return MCP_SPEAKS_MODERN;
    if (lists_legacy(list))
        return MCP_TRY_LEGACY;
    *why = "the server supports no version of the protocol that Mortise "
           "supports (" MCP_MODERN ", " MCP_LEGACY " and older ones)";
    return MCP_SPEAKS_NEITHER;
}

/* The versions that an error says are spoken. */
static mortise_jv supported(const struct mcp_reply *reply)
{
    return mortise_jv_get(mortise_jv_get(reply->error, "data"), "supported");
}

static enum mcp_verdict of_discover_error(const struct mcp_reply *reply,
                                          int again, const char **why)
{
    mortise_jv list = supported(reply);
    enum mcp_verdict v;

    if (reply->code == MCP_RPC_HEADERS || reply->code == MCP_RPC_CAPABILITY) {
        *why = NULL; /* of the new era, and not content with us */
        return MCP_SPEAKS_NEITHER;
    }
    if (reply->code != MCP_RPC_VERSION || mortise_jv_count(list) == 0)
        return MCP_TRY_LEGACY;
    v = of_versions(list, why);
    if (v == MCP_SPEAKS_MODERN && again) {
        *why = "the server rejects a version that it lists as supported";
        return MCP_SPEAKS_NEITHER;
    }
    return v == MCP_SPEAKS_MODERN ? MCP_TRY_MODERN : v;
}

/* An answer that is no message, or the status of one over HTTP: that of a server
 * that does not understand the question. */
static int is_not_understood(const struct mcp_trouble *t)
{
    if (t->answer.n > 0)
        return 1;
    return t->http_status >= 400 && t->http_status < 500 &&
           t->http_status != 401 && t->http_status != 403 &&
           t->http_status != 408 && t->http_status != 429;
}

static enum mcp_verdict discovered(const struct mcp_reply *reply, int again,
                                   int silent, const char **why)
{
    mortise_jv list;

    switch (reply->kind) {
    case MCP_REPLY_RESULT:
        list = mortise_jv_get(reply->result, "supportedVersions");
        return mortise_jv_count(list) > 0 ? of_versions(list, why)
                                          : MCP_TRY_LEGACY;
    case MCP_REPLY_ERROR:
        return of_discover_error(reply, again, why);
    case MCP_REPLY_TROUBLE:
        break;
    }
    *why = NULL;
    return (silent && strcmp(reply->trouble->code, "mcp.timeout") == 0) ||
                   is_not_understood(reply->trouble)
               ? MCP_TRY_LEGACY
               : MCP_SPEAKS_NEITHER;
}

enum mcp_verdict mcp_era_of_discover(enum mcp_protocol may,
                                     const struct mcp_reply *reply, int again,
                                     int silent, const char **why)
{
    enum mcp_verdict v = discovered(reply, again, silent, why);

    if (v != MCP_TRY_LEGACY || may != MCP_PROTOCOL_MODERN)
        return v;
    *why = "the server does not support " MCP_MODERN
           ", but the deployment allows only that (protocol)";
    return MCP_SPEAKS_NEITHER;
}

enum mcp_verdict mcp_era_of_initialize(enum mcp_protocol may,
                                       const struct mcp_reply *reply, int again,
                                       char version[MCP_VERSION_ROOM],
                                       const char **why)
{
    static const char *const known[] = {MCP_LEGACY, "2025-06-18", "2025-03-26",
                                        "2024-11-05"};
    mortise_jv list;

    *why = NULL;
    if (reply->kind == MCP_REPLY_RESULT) {
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            if (mortise_jv_is(mortise_jv_get(reply->result, "protocolVersion"),
                              mortise_strz(known[i]))) {
                strcpy(version, known[i]);
                return MCP_SPEAKS_LEGACY;
            }
        *why = "the server supports no version of the protocol that Mortise "
               "supports";
    } else if (reply->kind == MCP_REPLY_ERROR &&
               reply->code == MCP_RPC_VERSION && !again &&
               may == MCP_PROTOCOL_AUTO) {
        list = supported(reply);
        if (mortise_jv_count(list) == 0 || lists(list, MCP_MODERN))
            return MCP_TRY_MODERN; /* (3) */
    }
    return MCP_SPEAKS_NEITHER;
}

/* ---- what is said of us ---------------------------------------------------- */

static void write_client(mortise_jw *w)
{
    mortise_jw_object(w);
    mortise_jw_key(w, "name");
    mortise_jw_cstr(w, "mortise");
    mortise_jw_key(w, "version");
    mortise_jw_cstr(w, MCP_PLUGIN_VERSION);
    mortise_jw_end(w);
}

static void write_empty(mortise_jw *w, const char *name)
{
    mortise_jw_key(w, name);
    mortise_jw_object(w);
    mortise_jw_end(w);
}

static int is_granted(mortise_jv what)
{
    return mortise_jv_type(what) != MORTISE_JV_NONE;
}

/* What is not declared is not asked for. */
static void write_capabilities(mortise_jw *w, const struct mcp_server *s,
                               enum mcp_era era)
{
    mortise_jw_object(w);
    mortise_jw_key(w, "elicitation");
    mortise_jw_object(w);
    write_empty(w, "form");
    write_empty(w, "url");
    mortise_jw_end(w);
    if (is_granted(s->sampling))
        write_empty(w, "sampling");
    if (is_granted(s->roots))
        write_empty(w, "roots");
    if (era == MCP_ERA_MODERN) {
        mortise_jw_key(w, "extensions");
        mortise_jw_object(w);
        write_empty(w, "io.modelcontextprotocol/tasks");
        mortise_jw_end(w);
    }
    mortise_jw_end(w);
}

void mcp_era_write_meta(mortise_jw *w, const struct mcp_server *s,
                        enum mcp_era era, int64_t progress_token)
{
    if (era != MCP_ERA_MODERN && progress_token == 0)
        return;
    mortise_jw_key(w, "_meta");
    mortise_jw_object(w);
    if (progress_token != 0) {
        mortise_jw_key(w, "progressToken");
        mortise_jw_int(w, progress_token);
    }
    if (era == MCP_ERA_MODERN) {
        mortise_jw_key(w, P_VERSION);
        mortise_jw_cstr(w, MCP_MODERN);
        mortise_jw_key(w, P_CLIENT);
        write_client(w);
        mortise_jw_key(w, P_CAN);
        write_capabilities(w, s, era);
    }
    mortise_jw_end(w);
}

/* ---- asking ---------------------------------------------------------------- */

static void on_discover(struct mcp_request *r, const struct mcp_reply *reply);
static void on_initialize(struct mcp_request *r, const struct mcp_reply *reply);

static void drop(struct mcp_server *s, const char *code, const char *klass,
                 mortise_str words)
{
    const struct mcp_trouble why = mcp_trouble_of(code, klass, words, 0);

    mcp_server_drop(s, &why);
}

/* The end, as the reply tells it. */
static void drop_with(struct mcp_server *s, const char *why,
                      const struct mcp_reply *reply)
{
    struct bytes words = {0};

    if (why != NULL) {
        drop(s, "mcp.protocol", "permanent", mortise_strz(why));
    } else if (reply->kind == MCP_REPLY_TROUBLE) {
        mcp_server_drop(s, reply->trouble);
    } else {
        bytes_put(&words, mortise_strz("the server rejected the connection: "));
        mcp_rpc_words(&words, mortise_jv_get(reply->error, "message"), 500);
        drop(s, "mcp.protocol", "permanent", bytes_str(&words));
        bytes_free(&words);
    }
}

static void send(struct mcp_server *s, mortise_jw *w, const char *method,
                 uint64_t timeout_ms,
                 void (*done)(struct mcp_request *, const struct mcp_reply *))
{
    struct mcp_request *r = s->agreed.request;
    struct mcp_message m = {0};

    r->timeout_ms = timeout_ms;
    r->done = done;
    if (mcp_request_send(s, r, w, method, &m) != MORTISE_S_OK)
        drop(s, "mcp.not_started", "transient",
             mortise_strz("the request could not be sent"));
}

/* NULL when there is no memory, which has been said then. */
static struct mcp_request *request_of(struct mcp_server *s)
{
    struct mcp_agreement *a = &s->agreed;

    if (a->request == NULL)
        a->request = (struct mcp_request *)calloc(1, sizeof *a->request);
    if (a->request == NULL)
        drop(s, "no_memory", "transient", mortise_strz("out of memory"));
    return a->request;
}

static void discover(struct mcp_server *s)
{
    struct mcp_request *r = request_of(s);
    uint64_t ms = s->transport->silence_is_legacy ? DISCOVER_MS : s->timeout_ms;
    mortise_jw w;

    if (r == NULL)
        return;
    mcp_request_begin(s, r, &w, "server/discover");
    send(s, &w, "server/discover", ms, on_discover);
}

static void initialize(struct mcp_server *s)
{
    struct mcp_request *r = request_of(s);
    mortise_jw w;

    if (r == NULL)
        return;
    mcp_request_begin(s, r, &w, "initialize");
    mortise_jw_key(&w, "protocolVersion");
    mortise_jw_cstr(&w, MCP_LEGACY);
    mortise_jw_key(&w, "capabilities");
    write_capabilities(&w, s, MCP_ERA_LEGACY);
    mortise_jw_key(&w, "clientInfo");
    write_client(&w);
    send(s, &w, "initialize", s->timeout_ms, on_initialize);
}

void mcp_era_begin(struct mcp_server *s)
{
    if (s->protocol == MCP_PROTOCOL_LEGACY || s->agreed.skips_discovery)
        initialize(s);
    else
        discover(s);
}

/* ---- what it says of itself -------------------------------------------------- */

static int has(mortise_jv capabilities, const char *name)
{
    return mortise_jv_type(mortise_jv_get(capabilities, name)) ==
           MORTISE_JV_OBJECT;
}

static void keep_info(struct mcp_agreement *a, mortise_jv result)
{
    static const char *const members[] = {"name", "version"};
    mortise_jv info = mortise_jv_get(mortise_jv_get(result, "_meta"), P_SERVER);
    mortise_str json;
    mortise_jw w;

    if (mortise_jv_type(info) != MORTISE_JV_OBJECT)
        info = mortise_jv_get(result, "serverInfo");
    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    for (size_t i = 0; i < 2; i++) {
        struct bytes text = {0};

        mcp_rpc_words(&text, mortise_jv_get(info, members[i]), 200);
        mortise_jw_key(&w, members[i]);
        mortise_jw_string(&w, bytes_str(&text));
        bytes_free(&text);
    }
    mortise_jw_end(&w);
    bytes_free(&a->info);
    if (mortise_jw_finish(&w, &json) == MORTISE_S_OK)
        bytes_put(&a->info, json);
    free(w.p);
}

static void keep_instructions(struct mcp_agreement *a, mortise_jv result)
{
    bytes_free(&a->instructions);
    if (bytes_decode(&a->instructions,
                     mortise_jv_get(result, "instructions")) != MORTISE_S_OK)
        return;
    if (a->instructions.n > MCP_TEXT_MAX)
        a->instructions.n =
            mortise_str_utf8(mortise_strn(a->instructions.p, MCP_TEXT_MAX));
}

static void keep(struct mcp_agreement *a, mortise_jv result)
{
    mortise_jv can = mortise_jv_get(result, "capabilities");
    int32_t tells = 0;

    a->has_tools = has(can, "tools");
    a->has_resources = has(can, "resources");
    a->has_prompts = has(can, "prompts");
    mortise_jv_bool(mortise_jv_get(mortise_jv_get(can, "tools"), "listChanged"),
                    &tells);
    a->tells_tools = tells;
    keep_info(a, result);
    keep_instructions(a, result);
}

static void agree(struct mcp_server *s, enum mcp_era era, const char *version,
                  mortise_jv result)
{
    struct mcp_agreement *a = &s->agreed;
    mortise_jw w;

    a->era = era;
    if (version != a->version)
        snprintf(a->version, sizeof a->version, "%s", version);
    keep(a, result);
    s->transport->agreed(s->wire, era, a->version);
    if (era == MCP_ERA_LEGACY) {
        mcp_rpc_begin(&w, 0, "notifications/initialized");
        mcp_notify(s, &w, "notifications/initialized");
    }
    if (s->state == MCP_AGREEING)
        mcp_server_agreed(s);
}

static void on_discover(struct mcp_request *r, const struct mcp_reply *reply)
{
    struct mcp_server *s = r->server;
    struct mcp_agreement *a = &s->agreed;
    const char *why = NULL;

    switch (mcp_era_of_discover(s->protocol, reply, a->asks_again,
                                s->transport->silence_is_legacy, &why)) {
    case MCP_SPEAKS_MODERN:
        agree(s, MCP_ERA_MODERN, MCP_MODERN, reply->result);
        break;
    case MCP_TRY_LEGACY:
        if (reply->kind == MCP_REPLY_TROUBLE &&
            strcmp(reply->trouble->code, "mcp.timeout") == 0)
            mcp_log(s, MORTISE_LEVEL_WARN,
                    "the server did not answer server/discover within %d ms; "
                    "initialize now has %llu ms (tools.mcp.%s.timeout)",
                    (int)DISCOVER_MS, (unsigned long long)s->timeout_ms,
                    s->name);
        initialize(s);
        break;
    case MCP_TRY_MODERN:
        a->asks_again = 1;
        discover(s);
        break;
    case MCP_SPEAKS_LEGACY:
    case MCP_SPEAKS_NEITHER:
        drop_with(s, why, reply);
        break;
    }
}

static void on_initialize(struct mcp_request *r, const struct mcp_reply *reply)
{
    struct mcp_server *s = r->server;
    struct mcp_agreement *a = &s->agreed;
    const char *why = NULL;

    switch (mcp_era_of_initialize(s->protocol, reply, a->asks_again, a->version,
                                  &why)) {
    case MCP_SPEAKS_LEGACY:
        agree(s, MCP_ERA_LEGACY, a->version, reply->result);
        break;
    case MCP_TRY_MODERN:
        a->asks_again = 1;
        discover(s);
        break;
    default:
        drop_with(s, why, reply);
        break;
    }
}

void mcp_era_forget(struct mcp_server *s)
{
    struct mcp_agreement *a = &s->agreed;

    if (a->request != NULL) {
        mcp_request_cancel(a->request);
        free(a->request);
    }
    bytes_free(&a->info);
    bytes_free(&a->instructions);
    memset(a, 0, sizeof *a);
}
