/* call.c -- a call under way: what is heard of its answer, and how it ends.
 *
 * The host tells of an answer in pieces where the call is a stream, and whole
 * at the end.  What is a stream of events is read as it comes, and the whole is
 * not looked at then; anything else is read from the whole.  So a reply comes
 * out the same whether its pieces were heard or not (a host that answers from
 * its record tells none).
 *
 * A stream that has ended by its own words ends the call, though the server may
 * keep the connection open; the host then cancels the ask.
 *
 * The first problem is the one that counts, but for three: the whole answer
 * says more about a status that is no success than its head did; what there was
 * no memory for was not heard; and a call that is cancelled is that. */
#include "openai.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ITEMS_MAX = 65536 }; /* of a reply; a place beyond is no place */

/* ---- what is heard ------------------------------------------------------- */

void call_tell(struct call *c, bool reasoning, mortise_str text)
{
    const mortise_inst *inst = c->inst;

    if (!c->stream || text.n == 0)
        return;
    if (reasoning)
        mortise_emit_reasoning(inst->host, inst->api, c->id, text);
    else
        mortise_emit_delta(inst->host, inst->api, c->id, text);
}

void call_text(struct call *c, enum part_kind kind, mortise_jv string)
{
    struct part *p;
    uint64_t before;

    if (mortise_jv_type(string) != MORTISE_JV_STRING || string.n <= 2)
        return;
    p = reply_part(&c->reply, kind);
    if (p == NULL)
        return;
    before = p->text.n;
    reply_append(&c->reply, &p->text, string);
    call_tell(c, kind == PART_REASONING,
              mortise_strn(p->text.p + before, p->text.n - before));
}

void call_keep(struct call *c, int64_t at, mortise_jv v)
{
    size_t place = at >= 0 ? (size_t)at : c->n_items, cap = c->cap_items;
    struct bytes *items;

    if (place >= ITEMS_MAX)
        return;
    while (cap <= place)
        cap = cap > 0 ? 2 * cap : 4;
    items =
        cap > c->cap_items ? realloc(c->items, cap * sizeof *items) : c->items;
    if (items == NULL) {
        c->reply.nomem = true;
        return;
    }
    c->items = items;
    c->cap_items = cap;
    for (; c->n_items <= place; c->n_items++)
        c->items[c->n_items] = (struct bytes){.p = NULL};
    c->items[place].n = 0;
    reply_put(&c->reply, &c->items[place], mortise_strn(v.p, v.n));
}

/* ---- a call -------------------------------------------------------------- */

void call_free(struct call *c)
{
    sse_finish(&c->sse);
    halves_finish(&c->halves);
    problem_finish(&c->problem);
    reply_finish(&c->reply);
    opaque_finish(&c->beside);
    bytes_free(&c->issuer);
    bytes_free(&c->room);
    for (size_t i = 0; i < c->n_items; i++)
        bytes_free(&c->items[i]);
    free(c->items);
    free(c);
}

struct call *call_new(mortise_inst *inst, const mortise_request *r,
                      const struct body *b)
{
    struct call *c = calloc(1, sizeof *c);

    if (c == NULL)
        return NULL;
    c->inst = inst;
    c->id = r->call;
    c->dialect = b->dialect;
    c->stream = b->stream;
    sse_init(&c->sse, SSE_EVENT_BYTES);
    reply_init(&c->reply);
    mortise_jv_int(request_get(b, "max_tokens"), &c->max_tokens);
    c->texts = (int64_t)mortise_jv_count(request_get(b, "texts"));
    reply_put(&c->reply, &c->issuer, bytes_str(&b->issuer));
    reply_put(&c->reply, &c->issuer, mortise_strn("", 1));
    if (!c->reply.nomem)
        return c;
    call_free(c);
    return NULL;
}

/* ---- its end ------------------------------------------------------------- */

static bool is_used(const struct call *c)
{
    for (size_t i = 0; i < USED_N; i++)
        if (c->reply.used[i] != NOT_SAID)
            return true;
    return false;
}

/* What it used counts all the same. */
static void fail(struct call *c)
{
    if (is_used(c))
        reply_emit_usage(&c->reply, c->inst->host, c->inst->api, c->id);
    problem_finish_call(&c->problem, c->inst->host, c->inst->api, c->id);
}

static void give(struct call *c)
{
    mortise_status status = c->dialect->give(c);

    if (status != MORTISE_S_OK) {
        problem_set(&c->problem, MORTISE_MODEL_PROTOCOL,
                    "the host rejected the reply");
        c->problem.status = status;
        fail(c);
        return;
    }
    reply_emit_usage(&c->reply, c->inst->host, c->inst->api, c->id);
    c->inst->api->finish(c->inst->host, c->id, status, mortise_str_empty(),
                         mortise_str_empty());
}

/* The answer is there: the call ends with what came of it. */
static void conclude(struct call *c)
{
    if (c->problem.status == MORTISE_S_OK)
        c->dialect->end(c);
    if (c->reply.nomem && c->problem.status != MORTISE_S_CANCELLED)
        problem_no_memory(&c->problem);
    if (c->problem.status == MORTISE_S_OK)
        give(c);
    else
        fail(c);
}

/* ---- events -------------------------------------------------------------- */

/* The server's problem, and what to do about it if that is known. */
static void take_problem(struct call *c, mortise_jv answer, mortise_jv body)
{
    problem_of_server(&c->problem, answer, body);
    if (c->dialect == &openai_chat && !c->inst->alternate &&
        problem_is_of_turns(&c->problem))
        problem_advise(&c->problem,
                       "Set `turns: alternate` for this model in the "
                       "deployment.");
}

static bool is_error(mortise_str name, mortise_jv data)
{
    int32_t type = mortise_jv_type(mortise_jv_get(data, "error"));

    return mortise_str_is(name, "error") || type == MORTISE_JV_OBJECT ||
           type == MORTISE_JV_STRING || request_is(data, "type", "error") ||
           request_is(data, "object", "error");
}

/* Read JSON of the server's; `more`: other pieces follow. */
static mortise_status read_json(struct call *c, mortise_str text, bool more,
                                mortise_jv *v)
{
    mortise_status status = halves_parse(&c->halves, text, more, v);

    c->reply.nomem |= status == MORTISE_S_NOMEM;
    return status;
}

static mortise_status on_event(void *ud, mortise_str name, mortise_str text)
{
    struct call *c = ud;
    mortise_jv data;

    if (c->problem.status != MORTISE_S_OK || c->over)
        return MORTISE_S_OK; /* the first counts */
    c->heard = true;
    if (mortise_str_is(text, "[DONE]")) {
        c->ended |= c->dialect == &openai_chat && c->began;
        c->over = true;
        return MORTISE_S_OK;
    }
    read_json(c, text, true, &data);
    if (c->ended && is_error(name, data))
        return MORTISE_S_OK; /* the reply is whole */
    if (is_error(name, data)) {
        reply_usage(&c->reply, mortise_jv_get(data, "usage"));
        take_problem(c, mortise_jv_none(), data);
    } else if (mortise_jv_type(data) == MORTISE_JV_OBJECT) {
        c->dialect->event(c, data);
    } else if (!c->ended) {
        problem_set(&c->problem, MORTISE_MODEL_STREAM,
                    "the stream has an event that is not a JSON object");
    }
    return c->reply.nomem ? MORTISE_S_NOMEM : MORTISE_S_OK;
}

/* What the parser said. */
static void after(struct call *c, mortise_status status)
{
    if (status == MORTISE_S_NOMEM)
        c->reply.nomem = true;
    else if (status != MORTISE_S_OK && c->problem.status == MORTISE_S_OK)
        problem_set(&c->problem, MORTISE_MODEL_PROTOCOL,
                    "the stream has an event that is too large");
}

/* Pass over what may stand before a body: a byte order mark, and blank lines,
 * with which servers keep a connection alive. */
static mortise_str begun(struct call *c, mortise_str piece)
{
    static const char blanks[] = " \t\r\n\xef\xbb\xbf", whole[] = "{[<";

    while (c->form == FORM_NONE && piece.n > 0) {
        if (memchr(blanks, *piece.p, sizeof blanks - 1) == NULL) {
            c->form = c->dialect->event == NULL ||
                              memchr(whole, *piece.p, sizeof whole - 1) != NULL
                          ? FORM_WHOLE
                          : FORM_EVENTS;
            break;
        }
        piece.p++;
        piece.n--;
    }
    return piece;
}

static void on_body(struct call *c, mortise_str piece)
{
    piece = begun(c, piece);
    if (c->form == FORM_EVENTS && !c->reply.nomem)
        after(c, sse_feed(&c->sse, piece, on_event, c));
}

/* ---- the answer ---------------------------------------------------------- */

static bool is_success(const struct call *c)
{
    return c->status >= 200 && c->status < 300;
}

/* The status and the type, from the head or the whole of an answer. */
static void take_head(struct call *c, mortise_jv answer)
{
    mortise_jv type =
        mortise_jv_get(mortise_jv_get(answer, "headers"), "content-type");
    char room[64];

    mortise_jv_int(mortise_jv_get(answer, "status"), &c->status);
    c->says_events = mortise_jv_cstr(type, room, sizeof room) == MORTISE_S_OK &&
                     strncasecmp(room, "text/event-stream", 17) == 0;
}

/* A status that is no success.  The body, if it is JSON, says more. */
static void take_refusal(struct call *c, mortise_jv answer, mortise_str body)
{
    mortise_jv json;

    mortise_jv_parse(body, &json);
    if (c->status < 400)
        problem_set(
            &c->problem, MORTISE_MODEL_PROTOCOL,
            "the server answered with status %d%s", (int)c->status,
            c->status >= 300
                ? ", which is a redirect; set base_url to the new address"
                : "");
    else
        take_problem(c, answer, json);
}

static void take_whole(struct call *c, mortise_jv answer, mortise_str body)
{
    mortise_jv json;

    if (read_json(c, body, false, &json) != MORTISE_S_OK) {
        if (*body.p == '{')
            problem_set(&c->problem, MORTISE_MODEL_STREAM,
                        "the answer is truncated or not JSON");
        else
            problem_set(&c->problem, MORTISE_MODEL_PROTOCOL,
                        "the answer is not JSON; check base_url");
    } else if (is_error(mortise_str_empty(), json) &&
               !request_is(json, "object", "response")) {
        reply_usage(&c->reply, mortise_jv_get(json, "usage"));
        take_problem(c, answer, json);
    } else {
        c->dialect->whole(c, json);
    }
}

/* The stream is over. */
static void take_end_of_events(struct call *c)
{
    after(c, sse_close(&c->sse, on_event, c));
    if (c->ended || c->problem.status != MORTISE_S_OK)
        return;
    if (c->heard || c->says_events || c->form == FORM_NONE)
        problem_set(&c->problem, MORTISE_MODEL_STREAM,
                    "the stream ended before the end of the reply");
    else
        problem_set(&c->problem, MORTISE_MODEL_PROTOCOL,
                    "the answer is neither JSON nor a stream of events; check "
                    "base_url");
}

static void take_body(struct call *c, mortise_jv answer, mortise_str body)
{
    if (!is_success(c)) {
        take_refusal(c, answer, body);
        return;
    }
    if (mortise_jv_get(answer, "body_base64").n > 0) {
        problem_set(&c->problem, MORTISE_MODEL_STREAM,
                    "the answer is truncated or not UTF-8");
        return;
    }
    c->form = FORM_NONE; /* of all of it */
    body = begun(c, body);
    if (c->form == FORM_WHOLE) {
        take_whole(c, answer, body);
        return;
    }
    after(c, sse_feed(&c->sse, body, on_event, c));
    take_end_of_events(c);
}

static void take_answer(struct call *c, mortise_str text)
{
    struct bytes body = {.p = NULL};
    mortise_jv answer;

    if (mortise_jv_parse(text, &answer) != MORTISE_S_OK) {
        problem_set(&c->problem, MORTISE_MODEL_PROTOCOL,
                    "the host's answer is not JSON");
        return;
    }
    take_head(c, answer);
    if (c->form == FORM_EVENTS && is_success(c)) {
        take_end_of_events(c); /* all of it was heard */
        return;
    }
    if (bytes_decode(&body, mortise_jv_get(answer, "body")) != MORTISE_S_NOMEM)
        take_body(c, answer, bytes_str(&body));
    else
        c->reply.nomem = true;
    bytes_free(&body);
}

/* There is no answer.  What the stream had said counts, if it was all. */
static void take_failure(struct call *c, mortise_status status,
                         mortise_str words)
{
    if (status == MORTISE_S_CANCELLED ||
        (c->problem.status == MORTISE_S_OK && !c->ended))
        problem_of_host(&c->problem, status, words, c->status != 0);
}

/* Nothing that the server may still say changes what comes of the call. */
static bool is_settled(const struct call *c)
{
    return c->over || c->problem.status != MORTISE_S_OK || c->reply.nomem;
}

/* The host answers the ask of a call that has ended, too: then it is freed. */
static void on_piece(struct call *c, mortise_str piece)
{
    on_body(c, piece);
    if (c->form != FORM_EVENTS || !is_settled(c))
        return;
    take_end_of_events(c);
    c->finished = true;
    conclude(c);
}

static void on_whole(struct call *c, mortise_status status, mortise_str text)
{
    if (!c->finished) {
        if (status == MORTISE_S_OK)
            take_answer(c, text);
        else
            take_failure(c, status, text);
        conclude(c);
    }
    call_free(c);
}

void call_on_answer(void *ud, mortise_status status, mortise_str text)
{
    struct call *c = ud;
    mortise_jv head;

    if (status != MORTISE_S_PENDING) {
        on_whole(c, status, text);
    } else if (c->status != 0) {
        if (is_success(c) && !c->finished)
            on_piece(c, text);
    } else if (mortise_jv_parse(text, &head) == MORTISE_S_OK) {
        take_head(c, head);
        if (!is_success(c)) /* its body may never come */
            take_refusal(c, head, mortise_str_empty());
    }
}
