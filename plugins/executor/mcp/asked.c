/* asked.c -- what a server of the legacy era asks of us.
 *
 *     ping                  answered
 *     elicitation/create    a person is asked (question.c), for a call
 *     sampling/createMessage  a model is (granted.c), where the deployment says so
 *     roots/list            answered, where the deployment says so
 *     all else              refused with -32601: it is not among our
 *                           capabilities
 *
 * A question says not for which request it is asked.  Over streamable HTTP the
 * stream tells; over pipes
 *
 *   (1) it can only be for a request that was out when it came;
 *   (2) where that is one, it is for that one;
 *   (3) where there are several it waits until all but one of them have ended.  If
 *       there are as many questions as requests that wait for none, each is taken
 *       to have asked one, the oldest the oldest: that way none waits for ever;
 *   (4) but a model is asked at the cost of whoever it is for, and what it was told
 *       stands in its run: one that (3) would have to guess is refused.
 *
 * A request that a question is asked for has all the time that the person has
 * (tools.mcp.NAME.hold); one that cannot be asked gives it none, and is one of the
 * things that nobody has a use for (request.c (4)).  In the modern era servers ask
 * nothing: what comes is ignored. */
#include "call.h"

#include "rpc.h"

enum { ASKED_MAX = 64 };

struct mcp_asked {
    struct mcp_asked *next, **at; /* of the server's, the oldest first */
    struct mcp_server *server;
    struct bytes id, params; /* JSON */
    int64_t before;          /* (1): our newest request then */
    int64_t on;              /* the one on whose stream it came, or 0 */
    uint64_t serial;
    int is_sampling;
    struct mcp_call *call; /* whose it is; NULL: not known yet */
};

mortise_jv mcp_asked_params(const struct mcp_asked *a)
{
    return mortise_jv_of(bytes_str(&a->params));
}

uint64_t mcp_asked_serial(const struct mcp_asked *a)
{
    return a->serial;
}

int mcp_asked_is_sampling(const struct mcp_asked *a)
{
    return a->is_sampling;
}

static void asked_free(struct mcp_asked *a)
{
    *a->at = a->next;
    if (a->next != NULL)
        a->next->at = a->at;
    if (a->call != NULL)
        a->call->asked = NULL;
    bytes_free(&a->id);
    bytes_free(&a->params);
    free(a);
}

/* ---- answers ------------------------------------------------------------------- */

static void refuse(struct mcp_server *s, mortise_jv id, int64_t code,
                   const char *message)
{
    mortise_str text = mortise_str_empty();
    mortise_jw w;
    mortise_status made = mcp_rpc_error(&w, id, code, message, &text);

    mcp_respond(s, &w, made, text);
}

static void answer_ping(struct mcp_server *s, mortise_jv id)
{
    mortise_str text = mortise_str_empty();
    mortise_status made;
    mortise_jw w;

    mcp_rpc_begin_result(&w, id);
    made = mcp_rpc_end(&w, &text);
    mcp_respond(s, &w, made, text);
}

static void answer_roots(struct mcp_server *s, mortise_jv id)
{
    mortise_str text = mortise_str_empty();
    mortise_status made;
    mortise_jw w;

    mcp_rpc_begin_result(&w, id);
    mcp_roots_write(&w, s);
    made = mcp_rpc_end(&w, &text);
    mcp_respond(s, &w, made, text);
}

/* {"jsonrpc", "id", "result": as it is} */
static void respond(const struct mcp_asked *a, mortise_str result)
{
    mortise_jv id = mortise_jv_of(bytes_str(&a->id));
    mortise_jv v = {result.p, result.n};
    mortise_str text = mortise_str_empty();
    mortise_status made;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "jsonrpc");
    mortise_jw_cstr(&w, "2.0");
    mortise_jw_key(&w, "id");
    mortise_jw_value(&w, id);
    mortise_jw_key(&w, "result");
    mortise_jw_value(&w, v);
    mortise_jw_end(&w);
    made = mortise_jw_finish(&w, &text);
    mcp_respond(a->server, &w, made, text);
}

/* Answered: its call goes on. */
static void is_over(struct mcp_asked *a)
{
    struct mcp_server *s = a->server;
    struct mcp_call *c = a->call;

    asked_free(a);
    if (c != NULL && c->request.held)
        mcp_request_hold(&c->request, 0);
    mcp_asked_settle(s);
}

void mcp_asked_answer(struct mcp_asked *a, mortise_str result)
{
    respond(a, result);
    is_over(a);
}

void mcp_asked_refuse(struct mcp_asked *a, int64_t code, mortise_str words)
{
    char text[512];

    snprintf(text, sizeof text, "%.*s",
             (int)mortise_str_utf8(mortise_strn(
                 words.p, words.n < sizeof text ? words.n : sizeof text - 1)),
             words.p != NULL ? words.p : "");
    refuse(a->server, mortise_jv_of(bytes_str(&a->id)), code, text);
    is_over(a);
}

/* ---- whose it is ----------------------------------------------------------------- */

struct choice {
    uint64_t may, free; /* requests; those of them that no question holds */
    struct mcp_call *oldest; /* of the latter */
};

static struct choice choose(const struct mcp_asked *a)
{
    struct choice out = {0, 0, NULL};

    for (struct mcp_request *r = a->server->requests; r != NULL; r = r->next) {
        struct mcp_call *c = MCP_OF(r, struct mcp_call, request);

        if (!r->is_legacy_ask || r->id > a->before ||
            (a->on != 0 && r->id != a->on))
            continue;
        out.may++;
        if (c->asked != NULL)
            continue;
        out.free++;
        if (out.oldest == NULL)
            out.oldest = c; /* requests are in order */
    }
    return out;
}

static uint64_t unsettled(const struct mcp_server *s)
{
    uint64_t n = 0;

    for (const struct mcp_asked *a = s->asked; a != NULL; a = a->next)
        n += a->call == NULL && a->on == 0;
    return n;
}

static void give(struct mcp_asked *a, struct mcp_call *c)
{
    a->call = c;
    c->asked = a;
    mcp_question_hold(c, a);
}

/* There is no call that it can be for, or (4) several. */
static void refuse_stray(struct mcp_asked *a, const char *why)
{
    static const char result[] = "{\"action\":\"cancel\"}";

    if (a->is_sampling)
        refuse(a->server, mortise_jv_of(bytes_str(&a->id)), MCP_RPC_REJECTED,
               why);
    else
        respond(a, mortise_strz(result));
    asked_free(a);
}

/* One of them is settled: true. */
static int settle_one(struct mcp_server *s)
{
    uint64_t n = unsettled(s);

    for (struct mcp_asked *a = s->asked; a != NULL; a = a->next) {
        struct choice choice;

        if (a->call != NULL)
            continue;
        choice = choose(a);
        if (choice.may == 0) {
            refuse_stray(a, "no call in flight can have caused it");
            return 1;
        }
        if (choice.free == 0 || (choice.may > 1 && n < choice.free))
            continue;
        if (choice.may > 1 && a->is_sampling)
            refuse_stray(a, "several calls in flight can have caused it");
        else
            give(a, choice.oldest);
        return 1;
    }
    return 0;
}

void mcp_asked_settle(struct mcp_server *s)
{
    while (s->asked != NULL && settle_one(s))
        ;
}

/* ---- hearing ---------------------------------------------------------------------- */

static void hear_question(struct mcp_server *s, const struct mcp_rpc *m,
                          int64_t on, int is_sampling)
{
    struct mcp_asked *a = (struct mcp_asked *)calloc(1, sizeof *a);
    struct mcp_asked **at = &s->asked;
    mortise_status status = a != NULL ? MORTISE_S_OK : MORTISE_S_NOMEM;
    uint64_t n = 0;

    for (; *at != NULL; at = &(*at)->next)
        n++;
    if (status == MORTISE_S_OK && n >= ASKED_MAX)
        status = MORTISE_S_DENIED;
    if (status == MORTISE_S_OK)
        status = bytes_put(&a->id, mortise_strn(m->id.p, m->id.n));
    if (status == MORTISE_S_OK)
        status = bytes_put(&a->params, mortise_strn(m->params.p, m->params.n));
    if (status != MORTISE_S_OK || m->params.n == 0) {
        if (a != NULL) {
            bytes_free(&a->id);
            bytes_free(&a->params);
        }
        free(a);
        refuse(s, m->id, MCP_RPC_BAD_PARAMS, "the question is invalid");
        return;
    }
    a->server = s;
    a->is_sampling = is_sampling;
    a->before = s->last_id;
    a->on = on;
    a->serial = ++s->n_asked;
    a->at = at;
    *at = a;
    mcp_asked_settle(s);
}

void mcp_asked_heard(struct mcp_server *s, const struct mcp_rpc *m, int64_t on)
{
    if (s->agreed.era == MCP_ERA_MODERN)
        mcp_log(s, MORTISE_LEVEL_DEBUG,
                "ignored: a request, which servers of " MCP_MODERN
                " cannot make");
    else if (strcmp(m->method, "ping") == 0)
        answer_ping(s, m->id);
    else if (strcmp(m->method, "elicitation/create") == 0)
        hear_question(s, m, on, 0);
    else if (strcmp(m->method, "sampling/createMessage") == 0 &&
             mcp_sampling_is_offered(s))
        hear_question(s, m, on, 1);
    else if (strcmp(m->method, "roots/list") == 0 &&
             mortise_jv_type(s->roots) != MORTISE_JV_NONE)
        answer_roots(s, m->id);
    else
        refuse(s, m->id, MCP_RPC_NO_METHOD, "this is not supported");
}

void mcp_asked_cancelled(struct mcp_server *s, mortise_jv params)
{
    mortise_jv id = mortise_jv_get(params, "requestId");

    for (struct mcp_asked *a = s->asked; a != NULL; a = a->next) {
        struct mcp_call *c = a->call;

        if (a->id.n != id.n || memcmp(a->id.p, id.p, id.n) != 0)
            continue;
        asked_free(a);
        if (c != NULL)
            mcp_request_hold(&c->request, 0);
        break;
    }
    mcp_asked_settle(s);
}

void mcp_asked_drop(struct mcp_call *c)
{
    if (c->asked != NULL)
        asked_free(c->asked);
}

void mcp_asked_forget(struct mcp_server *s)
{
    while (s->asked != NULL)
        asked_free(s->asked);
}
