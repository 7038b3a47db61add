/* tools.c -- the tools of a server, as it has them now, and their pins.
 *
 * What a tool does is what the server says it does, and that may change under
 * the feet of who relied on it.  A deployment therefore pins definitions
 * (mortise.lock), and
 *
 *   (1) no pinned tool is called before the list of this connection was compared
 *       with its pin, nor after it changed before it was compared again;
 *   (2) one that differs, or is gone, is not called; the others are;
 *   (3) a list that changes while it is asked for is asked for again, three times
 *       in a row at most: then the newest is compared, and holds a second.
 *
 * When a list has changed: when the server says so (list_changed), when the
 * connection is another one, and, of a server of the modern era that says
 * nothing of the kind, when the time is over for which its list holds (ttlMs; one
 * of less than a second holds a second, so that calls in a row need one list).
 * A server that can say it is listened to (subscriptions/listen), for as long as
 * the connection lasts; while it is not, its list holds by time. */
#include "rpc.h"
#include "server.h"

enum { TTL_MIN_MS = 1000, DEAF_MAX_MS = 60000, MS = 1000000, NAME_MAX_ = 256 };
enum { HOUR_MS = 3600000, FETCHES_MAX = 3 };

/* ---- the list -------------------------------------------------------------- */

static void tools_free(struct mcp_tools *t)
{
    bytes_free(&t->items);
    bytes_free(&t->names);
    free(t->list);
    t->list = NULL;
    t->n = 0;
    t->known = t->fresh = 0;
}

int mcp_tools_are_fresh(const struct mcp_server *s)
{
    const struct mcp_tools *t = &s->tools;

    return t->known && t->fresh &&
           (t->until_ns == 0 ||
            s->inst->api->now_ns(s->inst->host) < t->until_ns);
}

static const struct mcp_tool *find(const struct mcp_tools *t, mortise_str name,
                                   uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (t->list[i].name.n == name.n &&
            memcmp(t->list[i].name.p, name.p, name.n) == 0)
            return &t->list[i];
    return NULL;
}

const struct mcp_tool *mcp_tools_find(const struct mcp_server *s,
                                      mortise_str name)
{
    return name.n > 0 ? find(&s->tools, name, s->tools.n) : NULL;
}

/* One more, if it is one. */
static mortise_status add(struct mcp_server *s, mortise_jv json, uint64_t *at)
{
    struct mcp_tools *t = &s->tools;
    struct mcp_tool *tool = &t->list[t->n];
    mortise_jv name = mortise_jv_get(json, "name");
    mortise_status status;
    uint64_t n = 0;

    if (name.n > NAME_MAX_ ||
        mortise_jv_decode(name, t->names.p + *at, t->names.cap - *at, &n) !=
            MORTISE_S_OK ||
        n == 0) {
        mcp_log(s, MORTISE_LEVEL_WARN,
                "ignored: a tool without a name, or with a name of more than "
                "%d bytes",
                NAME_MAX_);
        return MORTISE_S_OK;
    }
    tool->json = json;
    tool->name = mortise_strn(t->names.p + *at, n);
    tool->refused =
        s->transport->refuses != NULL ? s->transport->refuses(json) : NULL;
    status = mcp_tool_digest(json, tool->digest);
    if (status == MORTISE_S_INVALID) {
        tool->refused = "its definition is nested too deeply";
        status = MORTISE_S_OK;
    }
    if (find(t, tool->name, t->n) != NULL) {
        mcp_log(s, MORTISE_LEVEL_WARN,
                "ignored: another tool with the name '%.*s'", (int)n,
                tool->name.p);
        return status;
    }
    *at += n;
    t->n++;
    return status;
}

static mortise_status fill(struct mcp_server *s, const struct mcp_list *list)
{
    struct mcp_tools *t = &s->tools;
    mortise_status status = bytes_put(&t->items, mortise_strz("["));
    mortise_jv_iter it;
    mortise_jv one;
    uint64_t at = 0;

    if (status == MORTISE_S_OK)
        status = bytes_put(&t->items, bytes_str(&list->items));
    if (status == MORTISE_S_OK)
        status = bytes_put(&t->items, mortise_strz("]"));
    if (status == MORTISE_S_OK) /* decoded they are shorter */
        status = bytes_room(&t->names, t->items.n);
    t->list = (struct mcp_tool *)calloc(list->n + 1, sizeof *t->list);
    if (status != MORTISE_S_OK || t->list == NULL)
        return MORTISE_S_NOMEM;
    it = mortise_jv_each(mortise_jv_of(bytes_str(&t->items)));
    while (status == MORTISE_S_OK && mortise_jv_next(&it, NULL, &one))
        status = add(s, one, &at);
    return status;
}

/* For how long it holds, where nobody says when it changes. */
static void set_until(struct mcp_server *s, int64_t ttl_ms)
{
    struct mcp_tools *t = &s->tools;
    uint64_t ms = ttl_ms > TTL_MIN_MS ? (uint64_t)ttl_ms : TTL_MIN_MS;

    if (ms > HOUR_MS)
        ms = HOUR_MS;
    t->until_ns = s->agreed.era == MCP_ERA_LEGACY || t->listened
                      ? 0
                      : s->inst->api->now_ns(s->inst->host) + ms * MS;
}

static void got(void *ud, const struct mcp_list *list,
                const struct mcp_trouble *why)
{
    struct mcp_server *s = (struct mcp_server *)ud;
    struct mcp_tools *t = &s->tools;
    const struct mcp_trouble nomem = mcp_trouble_of(
        "no_memory", "transient", mortise_strz("out of memory"), 0);
    int again = t->changed && ++t->fetches < FETCHES_MAX, late = t->changed;

    t->walk = NULL;
    t->changed = 0;
    tools_free(t);
    if (why == NULL && fill(s, list) != MORTISE_S_OK) {
        tools_free(t);
        why = &nomem;
    }
    if (why == NULL && !again) {
        t->known = t->fresh = 1;
        set_until(s, list->ttl_ms);
        if (late) /* (3) */
            t->until_ns =
                s->inst->api->now_ns(s->inst->host) + (uint64_t)TTL_MIN_MS * MS;
    }
    if (!again || why != NULL)
        t->fetches = 0;
    /* One that changed meanwhile is no answer: it is asked for again, by who
     * still waits. */
    if (s->state == MCP_READY && (why != NULL || !again))
        mcp_server_has_tools(s, why);
    else if (s->state == MCP_READY)
        mcp_tools_get(s);
}

void mcp_tools_get(struct mcp_server *s)
{
    struct mcp_tools *t = &s->tools;
    const struct mcp_trouble why = mcp_trouble_of(
        "mcp.lost", "transient",
        mortise_strz("the request for its tools could not be sent"), 0);

    if (t->walk == NULL && mcp_list_start(s, "tools/list", "tools", got, s,
                                          &t->walk) != MORTISE_S_OK)
        mcp_server_has_tools(s, &why);
}

void mcp_tools_spoil(struct mcp_server *s)
{
    s->tools.fresh = 0;
    s->tools.changed = s->tools.walk != NULL;
}

/* ---- listening (the modern era) --------------------------------------------- */

static void heard_last(struct mcp_request *r, const struct mcp_reply *reply);

static void listen_later(struct mcp_server *s)
{
    struct mcp_tools *t = &s->tools;
    uint64_t ms = 1000;

    for (uint64_t i = 0; i < t->deaf && ms < DEAF_MAX_MS; i++)
        ms *= 2;
    t->deaf++;
    mcp_timer_set(s->inst, &t->again, ms < DEAF_MAX_MS ? ms : DEAF_MAX_MS);
}

static void again(struct mcp_timer *timer)
{
    struct mcp_tools *t = MCP_OF(timer, struct mcp_tools, again);
    struct mcp_server *s = MCP_OF(t, struct mcp_server, tools);

    mcp_tools_listen(s);
}

static mortise_status listen_now(struct mcp_server *s)
{
    struct mcp_request *r = s->tools.listens;
    struct mcp_message m = {.open_end = 1};
    mortise_jw w;

    r->done = heard_last;
    mcp_request_begin(s, r, &w, "subscriptions/listen");
    mortise_jw_key(&w, "notifications");
    mortise_jw_object(&w);
    mortise_jw_key(&w, "toolsListChanged");
    mortise_jw_bool(&w, 1);
    mortise_jw_end(&w);
    return mcp_request_send(s, r, &w, "subscriptions/listen", &m);
}

void mcp_tools_listen(struct mcp_server *s)
{
    struct mcp_tools *t = &s->tools;

    if (s->state != MCP_READY || s->agreed.era != MCP_ERA_MODERN ||
        !s->agreed.tells_tools || t->listens != NULL)
        return;
    t->again.fire = again;
    t->listens = (struct mcp_request *)calloc(1, sizeof *t->listens);
    if (t->listens != NULL && listen_now(s) != MORTISE_S_OK) {
        free(t->listens);
        t->listens = NULL;
    }
    if (t->listens == NULL)
        listen_later(s);
}

void mcp_tools_granted(struct mcp_server *s, mortise_jv params)
{
    struct mcp_tools *t = &s->tools;
    int32_t yes = 0;

    mortise_jv_bool(mortise_jv_get(mortise_jv_get(params, "notifications"),
                                   "toolsListChanged"),
                    &yes);
    t->deaf = 0;
    if (t->listens == NULL || !yes || t->listened)
        return;
    t->listened = 1;
    if (t->walk == NULL) /* else it is asked for behind this */
        mcp_tools_spoil(s);
}

/* It listens no more: what is known holds by time, and that is over. */
static void heard_last(struct mcp_request *r, const struct mcp_reply *reply)
{
    struct mcp_server *s = r->server;
    struct mcp_tools *t = &s->tools;
    int refused = reply->kind == MCP_REPLY_ERROR;

    free(r);
    t->listens = NULL;
    t->listened = 0;
    mcp_tools_spoil(s);
    if (!refused)
        listen_later(s);
}

void mcp_tools_forget(struct mcp_server *s)
{
    struct mcp_tools *t = &s->tools;

    mcp_timer_stop(&t->again);
    mcp_list_stop(t->walk);
    if (t->listens != NULL)
        mcp_request_cancel(t->listens);
    free(t->listens);
    tools_free(t);
    memset(t, 0, sizeof *t);
}

/* ---- pins ------------------------------------------------------------------- */

static mortise_jv pin_of(const struct mcp_server *s, mortise_str name)
{
    return mortise_jv_getn(s->pins, name);
}

int mcp_tools_is_pinned(const struct mcp_server *s, mortise_str name)
{
    return mortise_jv_type(s->pins) == MORTISE_JV_OBJECT
               ? mortise_jv_type(pin_of(s, name)) != MORTISE_JV_NONE
               : s->unpinned;
}

static void put(struct bytes *to, const char *text)
{
    bytes_put(to, mortise_strz(text));
}

static void put_tool(struct bytes *to, const char *ahead, mortise_str name)
{
    put(to, ahead);
    bytes_put(to, name);
    put(to, "'");
}

static void put_advice(struct bytes *to, const struct mcp_server *s)
{
    put(to, "; review the difference with `mortise mcp pin ");
    put(to, s->name);
    put(to, " --check`, and accept it with `mortise mcp pin ");
    put(to, s->name);
    put(to, "`");
}

static void put_drift(struct bytes *to, const struct mcp_server *s,
                      const struct mcp_tool *tool, mortise_jv pin)
{
    put_tool(to, "the definition of the tool '", tool->name);
    put(to, " differs from its pin: pinned ");
    bytes_put(to, mortise_strn(pin.p + 1, pin.n > 14 ? 12 : 0));
    put(to, ", now ");
    bytes_put(to, mortise_strn(tool->digest, 12));
    put_advice(to, s);
}

int mcp_tools_judge(const struct mcp_server *s, mortise_str name,
                    struct bytes *why, const char **code)
{
    const struct mcp_tool *tool = mcp_tools_find(s, name);
    mortise_jv pin = pin_of(s, name);
    int pinned = mortise_jv_type(pin) == MORTISE_JV_STRING;

    *code = pinned ? "mcp.drift" : "mcp.unknown_tool";
    if (tool == NULL) {
        put_tool(why, "the server has no tool '", name);
        if (pinned) {
            put(why, " any longer, but the tool is pinned");
            put_advice(why, s);
        }
        return 0;
    }
    if (pinned && !mortise_jv_is(pin, mortise_strz(tool->digest))) {
        put_drift(why, s, tool, pin);
        return 0;
    }
    if (tool->refused != NULL) {
        *code = "mcp.protocol";
        put_tool(why, "the tool '", name);
        put(why, " cannot be called: ");
        put(why, tool->refused);
        return 0;
    }
    return 1;
}
