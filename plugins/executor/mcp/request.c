/* request.c -- what is asked of a server, and answered.
 *
 *   (1) Ids are numbers, never given twice on one connection.  Answers come in
 *       any order; one with an id that nobody waits for (unknown, answered
 *       already, given up) is ignored, with a line in the log.
 *   (2) A request ends once: by its answer, by the transport's word that there
 *       will be none, by its time, or with the connection; or it is cancelled,
 *       and then nothing more of it is heard.  It is no more under way when
 *       `done` is called.
 *   (3) Its time begins anew with each notification of progress that carries its
 *       token, and stands still while a person is asked for it.
 *   (4) An answer that cannot be read is an answer: it ends its request at once.
 *       What is wrong with it is mended first, if it can be (mend.c).
 *   (5) A server that says 10,000 things in succession of which none is a message
 *       for anybody is not talking to us: the connection is dropped.
 */
#include "mend.h"
#include "rpc.h"
#include "server.h"

enum { JUNK_MAX = 10000, MOANS_MAX = 10, EVENT_EVERY_NS = 100000000 };

static void unlink_request(struct mcp_request *r)
{
    *r->at = r->next;
    if (r->next != NULL)
        r->next->at = r->at;
    r->at = NULL;
    r->next = NULL;
    mcp_timer_stop(&r->timer);
}

struct mcp_request *mcp_request_find(const struct mcp_server *s, int64_t id)
{
    struct mcp_request *r = s->requests;

    while (r != NULL && r->id != id)
        r = r->next;
    return r;
}

/* It has ended.  The request, and even the connection, may be gone then. */
static void settle(struct mcp_request *r, const struct mcp_reply *reply)
{
    struct mcp_server *s = r->server;
    int asked = r->is_legacy_ask;

    unlink_request(r);
    if (r->call != 0 && r->server->state == MCP_READY &&
        reply->kind != MCP_REPLY_TROUBLE)
        mcp_server_is_useful(r->server);
    r->done(r, reply);
    if (asked)
        mcp_asked_settle(s);
}

static void settle_trouble(struct mcp_request *r, const struct mcp_trouble *why)
{
    const struct mcp_reply reply = {.kind = MCP_REPLY_TROUBLE, .trouble = why};

    settle(r, &reply);
}

/* ---- sending --------------------------------------------------------------- */

/* The era that messages are written in: the modern one until more is known. */
static enum mcp_era era_of(const struct mcp_server *s)
{
    return s->agreed.era == MCP_ERA_LEGACY ? MCP_ERA_LEGACY : MCP_ERA_MODERN;
}

void mcp_request_begin(struct mcp_server *s, struct mcp_request *r,
                       mortise_jw *w, const char *method)
{
    r->server = s;
    r->id = ++s->last_id;
    mcp_rpc_begin(w, r->id, method);
    if (strcmp(method, "initialize") != 0)
        mcp_era_write_meta(w, s, era_of(s), r->call != 0 ? r->id : 0);
}

static void timed_out(struct mcp_timer *t);

static void begin_time(struct mcp_request *r)
{
    r->timer.fire = timed_out;
    if (r->timeout_ms != 0 && !r->held)
        mcp_timer_set(r->server->inst, &r->timer, r->timeout_ms);
}

mortise_status mcp_request_send(struct mcp_server *s, struct mcp_request *r,
                                mortise_jw *w, const char *method,
                                struct mcp_message *m)
{
    struct mcp_request **at = &s->requests;
    mortise_status status = mcp_rpc_end(w, &m->json);

    r->held = r->unsent = 0;
    r->said_ns = 0;
    m->kind = MCP_REQUEST;
    m->id = r->id;
    m->method = method;
    m->call = r->call;
    while (*at != NULL)
        at = &(*at)->next;
    r->next = NULL;
    r->at = at;
    *at = r; /* ahead of send(): it is there when it is heard of */
    if (status == MORTISE_S_OK && s->wire == NULL)
        status = MORTISE_S_IO;
    if (status == MORTISE_S_OK)
        status = s->transport->send(s->wire, m);
    free(w->p);
    if (status == MORTISE_S_OK)
        begin_time(r);
    else
        unlink_request(r);
    return status;
}

void mcp_notify(struct mcp_server *s, mortise_jw *w, const char *method)
{
    struct mcp_message m = {.kind = MCP_NOTIFICATION, .method = method};

    if (mcp_rpc_end(w, &m.json) == MORTISE_S_OK && s->wire != NULL)
        s->transport->send(s->wire, &m); /* nobody waits for more */
    free(w->p);
}

void mcp_respond(struct mcp_server *s, mortise_jw *w, mortise_status made,
                 mortise_str text)
{
    const struct mcp_message m = {.kind = MCP_RESPONSE, .json = text};

    if (made == MORTISE_S_OK && s->wire != NULL)
        s->transport->send(s->wire, &m);
    free(w->p);
}

static void tell_cancelled(struct mcp_server *s, const struct mcp_request *r)
{
    mortise_jw w;

    mcp_rpc_begin(&w, 0, "notifications/cancelled");
    if (s->agreed.era == MCP_ERA_MODERN)
        mcp_era_write_meta(&w, s, s->agreed.era, 0);
    mortise_jw_key(&w, "requestId");
    mortise_jw_int(&w, r->id);
    mortise_jw_key(&w, "reason");
    mortise_jw_cstr(&w, "the call was cancelled");
    mcp_notify(s, &w, "notifications/cancelled");
}

/* Whoever is to hear of it does. */
static void give_up(struct mcp_request *r)
{
    struct mcp_server *s = r->server;

    if (s->wire == NULL)
        return;
    if (s->state == MCP_READY &&
        (s->transport->tells_cancel || s->agreed.era == MCP_ERA_LEGACY))
        tell_cancelled(s, r);
    if (s->wire != NULL)
        s->transport->cancel(s->wire, r->id);
}

void mcp_request_cancel(struct mcp_request *r)
{
    struct mcp_server *s = r->server;

    if (r->at == NULL)
        return;
    unlink_request(r);
    give_up(r);
    if (r->is_legacy_ask)
        mcp_asked_settle(s);
}

void mcp_request_hold(struct mcp_request *r, int hold)
{
    r->held = hold;
    if (r->at == NULL)
        return;
    if (hold)
        mcp_timer_stop(&r->timer);
    else
        begin_time(r);
}

static void timed_out(struct mcp_timer *t)
{
    struct mcp_request *r = MCP_OF(t, struct mcp_request, timer);
    char words[160];
    struct mcp_trouble why;

    /* It may have sent a part of a message: that is not known here. */
    snprintf(words, sizeof words,
             "the server sent no complete answer and no progress for %llu ms "
             "(tools.mcp.%.40s.timeout)",
             (unsigned long long)r->timeout_ms, r->server->name);
    why = mcp_trouble_of("mcp.timeout", "timeout", mortise_strz(words), 1);
    give_up(r);
    settle_trouble(r, &why);
}

/* ---- hearing --------------------------------------------------------------- */

/* (5).  The connection may be gone behind it. */
static void count_junk(struct mcp_server *s)
{
    const struct mcp_trouble why = mcp_trouble_of(
        "mcp.protocol", "permanent",
        mortise_strz("the server sent 10,000 useless messages in a row"), 1);

    if (++s->junk >= JUNK_MAX)
        mcp_server_drop(s, &why);
}

/* (1) */
void mcp_request_useless(struct mcp_server *s, const char *what,
                         mortise_str about)
{
    uint64_t n = about.n < 200 ? about.n : 200;

    if (s->moaned < MOANS_MAX) {
        s->moaned++;
        mcp_log(s, MORTISE_LEVEL_WARN, "ignored: %s%s%.*s%s", what,
                n > 0 ? ": " : "",
                (int)mortise_str_utf8(mortise_strn(about.p, n)), about.p,
                s->moaned == MOANS_MAX ? " (more such lines are not logged)"
                                       : "");
    }
    count_junk(s);
}

static void hear_answer(struct mcp_server *s, const struct mcp_rpc *m,
                        int64_t on, mortise_str json, unsigned changed)
{
    /* A refusal ahead of reading has no id; on its own stream it is known whose
     * it is. */
    int64_t id = m->number == 0 && m->kind == MCP_RPC_ERROR &&
                         mortise_jv_type(m->id) != MORTISE_JV_STRING
                     ? on
                     : m->number;
    struct mcp_request *r = id > 0 ? mcp_request_find(s, id) : NULL;
    const struct mcp_reply reply = {
        .kind = m->kind == MCP_RPC_RESULT ? MCP_REPLY_RESULT : MCP_REPLY_ERROR,
        .result = m->result,
        .error = m->error,
        .code = m->code,
        .changed = changed};

    if (r != NULL) {
        s->junk = 0;
        settle(r, &reply);
    } else if (id > 0 && id <= s->last_id) {
        mcp_log(s, MORTISE_LEVEL_DEBUG,
                "an answer to request %lld, which is no longer in flight",
                (long long)id);
        count_junk(s);
    } else {
        mcp_request_useless(s, "an answer to a request that was never made",
                            json);
    }
}

/* {"progress", "total"?, "message"?} for whoever watches; not more than ten a
 * second. */
static void emit_progress(struct mcp_request *r, mortise_jv params)
{
    const mortise_inst *i = r->server->inst;
    static const char *const members[] = {"progress", "total"};
    uint64_t now = i->api->now_ns(i->host);
    struct bytes message = {0};
    mortise_str json;
    mortise_jw w;

    if (r->said_ns != 0 && now - r->said_ns < EVENT_EVERY_NS)
        return;
    r->said_ns = now;
    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    for (size_t k = 0; k < 2; k++) {
        mortise_jv v = mortise_jv_get(params, members[k]);

        if (mortise_jv_type(v) != MORTISE_JV_NUMBER)
            continue;
        mortise_jw_key(&w, members[k]);
        mortise_jw_value(&w, v);
    }
    mcp_rpc_words(&message, mortise_jv_get(params, "message"), 1024);
    if (message.n > 0) {
        mortise_jw_key(&w, "message");
        mortise_jw_string(&w, bytes_str(&message));
    }
    mortise_jw_end(&w);
    if (mortise_jw_finish(&w, &json) == MORTISE_S_OK)
        i->api->emit(i->host, r->call, mortise_strz("event"), json);
    bytes_free(&message);
    free(w.p);
}

static void hear_progress(struct mcp_server *s, mortise_jv params)
{
    struct mcp_request *r = NULL;
    int64_t token = 0;

    if (mortise_jv_int(mortise_jv_get(params, "progressToken"), &token) ==
        MORTISE_S_OK)
        r = mcp_request_find(s, token);
    if (r == NULL) {
        count_junk(s); /* of one that was cancelled, as a rule */
        return;
    }
    if (!r->held)
        begin_time(r); /* (3) */
    if (r->call != 0)
        emit_progress(r, params);
}

static void hear_log(struct mcp_server *s, mortise_jv params)
{
    mortise_jv data = mortise_jv_get(params, "data");
    struct bytes words = {0};

    if (mortise_jv_type(data) == MORTISE_JV_STRING)
        mcp_rpc_words(&words, data, 500);
    else if (data.n > 0)
        bytes_put(&words, mortise_strn(data.p, data.n < 500 ? data.n : 500));
    mcp_log(s, MORTISE_LEVEL_DEBUG, "says: %.*s",
            (int)mortise_str_utf8(bytes_str(&words)),
            words.p != NULL ? words.p : "");
    bytes_free(&words);
}

static void hear_notification(struct mcp_server *s, const struct mcp_rpc *m)
{
    const char *method = m->method;

    if (strcmp(method, "notifications/progress") == 0)
        hear_progress(s, m->params);
    else if (strcmp(method, "notifications/tools/list_changed") == 0)
        mcp_tools_spoil(s);
    else if (strcmp(method, "notifications/subscriptions/acknowledged") == 0)
        mcp_tools_granted(s, m->params);
    else if (strcmp(method, "notifications/cancelled") == 0)
        mcp_asked_cancelled(s, m->params);
    else if (strcmp(method, "notifications/message") == 0)
        hear_log(s, m->params);
    /* of resources, prompts and tasks nothing is kept that could change */
}

/* (4) */
static void hear_none(struct mcp_server *s, const struct mcp_rpc *m,
                      mortise_str json)
{
    int64_t id = m->no_json ? mcp_rpc_look(json) : m->number;
    struct mcp_request *r = id > 0 ? mcp_request_find(s, id) : NULL;
    struct mcp_trouble why;
    char words[128];

    if (r == NULL) {
        mcp_request_useless(s, m->why, json);
        return;
    }
    snprintf(words, sizeof words,
             "the server answered, but the answer cannot be read (%s)", m->why);
    why = mcp_trouble_of("mcp.protocol", "permanent", mortise_strz(words), 1);
    why.answer = json;
    why.flaw = m->why;
    s->junk = 0;
    settle_trouble(r, &why);
}

static void hear(struct mcp_server *s, const struct mcp_rpc *m,
                 mortise_str json, int64_t on, unsigned changed)
{
    switch (m->kind) {
    case MCP_RPC_RESULT:
    case MCP_RPC_ERROR:
        hear_answer(s, m, on, json, changed);
        break;
    case MCP_RPC_NOTIFICATION:
        hear_notification(s, m);
        break;
    case MCP_RPC_REQUEST:
        mcp_asked_heard(s, m, on);
        break;
    case MCP_RPC_NONE:
        hear_none(s, m, json);
        break;
    }
}

void mcp_request_heard(struct mcp_server *s, mortise_str json, int64_t on)
{
    struct bytes mended = {0};
    unsigned changed = 0;
    struct mcp_rpc m, again;

    mcp_rpc_read(json, &m);
    if (m.no_json && json.n > 0 && *json.p == '{' &&
        mcp_mend(json, MCP_MENDED_TEXT | MCP_MENDED_CONTROL | MCP_MENDED_NAN,
                 &mended, &changed) == MORTISE_S_OK)
        mcp_rpc_read(bytes_str(&mended), &again);
    else
        again = m;
    hear(s, &again, json, on, changed);
    bytes_free(&mended);
}

void mcp_request_failed(struct mcp_server *s, int64_t id,
                        const struct mcp_trouble *why)
{
    struct mcp_request *r = mcp_request_find(s, id);

    if (r != NULL)
        settle_trouble(r, why);
}

void mcp_request_fail_all(struct mcp_server *s, const struct mcp_trouble *why)
{
    /* None that is sent meanwhile, over another connection. */
    struct mcp_request *all = s->requests;

    s->requests = NULL;
    if (all != NULL)
        all->at = &all;
    while (all != NULL) {
        struct mcp_trouble of = *why;

        of.arrived = why->arrived && !all->unsent;
        settle_trouble(all, &of);
    }
}
