/* responses_reply.c -- POST /responses: what comes back.
 *
 * A reply is a list of items.  A stream tells of each as it grows, which is
 * passed on to who watches, and gives it whole at its end: under its place in
 * the list, since items grow side by side.  The last event has the response as
 * it would have come without a stream, which says how it went; its items count
 * where none came before (some servers leave them out there, others here).  A
 * stream without that event is none, whatever else it said. */
#include "dialects.h"

#include <string.h>

/* ---- parts of items ------------------------------------------------------ */

/* A part of the item; the first one has it whole. */
static struct part *part_of(struct call *c, enum part_kind kind,
                            mortise_jv item, bool first)
{
    struct part *p = reply_add(&c->reply, kind);

    if (p != NULL && first)
        reply_save(&c->reply, p, item);
    else if (p != NULL)
        reply_put(&c->reply, &p->saved, mortise_strz("{}"));
    return p;
}

static void add_message(struct call *c, mortise_jv item)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(item, "content"));
    mortise_jv content;
    bool first = true;

    while (mortise_jv_next(&it, NULL, &content)) {
        bool refusal = request_is(content, "type", "refusal");
        struct part *p =
            part_of(c, refusal ? PART_REFUSAL : PART_TEXT, item, first);

        if (p != NULL)
            reply_append(&c->reply, &p->text,
                         mortise_jv_get(content, refusal ? "refusal" : "text"));
        first = false;
    }
    if (first) /* what was reasoned before must be followed by something */
        part_of(c, PART_TEXT, item, true);
}

static void add_call(struct call *c, mortise_jv item)
{
    mortise_jv arguments = mortise_jv_get(item, "arguments");
    struct part *p = part_of(c, PART_CALL, item, true);

    if (p == NULL)
        return;
    reply_append(&c->reply, &p->id, mortise_jv_get(item, "call_id"));
    reply_append(&c->reply, &p->name, mortise_jv_get(item, "name"));
    if (mortise_jv_type(arguments) == MORTISE_JV_OBJECT)
        reply_put(&c->reply, &p->text, mortise_strn(arguments.p, arguments.n));
    else
        reply_append(&c->reply, &p->text, arguments);
}

/* The summary, or where there is none what was reasoned itself. */
static void add_reasoning(struct call *c, mortise_jv item)
{
    mortise_jv texts = mortise_jv_get(item, "summary"), one;
    struct part *p = part_of(c, PART_REASONING, item, true);
    mortise_jv_iter it;

    if (p == NULL)
        return;
    if (mortise_jv_count(texts) == 0)
        texts = mortise_jv_get(item, "content");
    it = mortise_jv_each(texts);
    while (mortise_jv_next(&it, NULL, &one)) {
        if (p->text.n > 0)
            reply_put(&c->reply, &p->text, mortise_strz("\n\n"));
        reply_append(&c->reply, &p->text, mortise_jv_get(one, "text"));
    }
}

/* Of an item of another kind there is nothing to show; it goes back as it is.
 */
static void add_item(struct call *c, mortise_jv item)
{
    if (request_is(item, "type", "message"))
        add_message(c, item);
    else if (request_is(item, "type", "function_call"))
        add_call(c, item);
    else if (request_is(item, "type", "reasoning"))
        add_reasoning(c, item);
    else
        part_of(c, PART_REASONING, item, true);
}

/* ---- the response -------------------------------------------------------- */

static const char *cut_by(mortise_jv reason)
{
    if (mortise_jv_is(reason, mortise_strz("max_output_tokens")))
        return "length";
    return mortise_jv_is(reason, mortise_strz("content_filter")) ? "filter"
                                                                 : "other";
}

static void take_status(struct call *c, mortise_jv response)
{
    struct reply *r = &c->reply;
    mortise_jv status = mortise_jv_get(response, "status"), reason;

    reply_set(r, &r->stop_reason, status);
    r->stop = "end";
    if (mortise_jv_is(status, mortise_strz("incomplete"))) {
        reason = mortise_jv_get(mortise_jv_get(response, "incomplete_details"),
                                "reason");
        r->stop = cut_by(reason);
        r->cut = true;
        if (mortise_jv_type(reason) == MORTISE_JV_STRING)
            reply_set(r, &r->stop_reason, reason);
    } else if (mortise_jv_is(status, mortise_strz("failed"))) {
        problem_of_server(&c->problem, mortise_jv_none(), response);
    } else if (mortise_jv_is(status, mortise_strz("cancelled"))) {
        problem_set(&c->problem, MORTISE_MODEL_SERVER,
                    "the server cancelled the response");
    } else if (status.n > 0 &&
               !mortise_jv_is(status, mortise_strz("completed"))) {
        problem_set(&c->problem, MORTISE_MODEL_PROTOCOL,
                    "the server returned a response that has not ended");
    }
}

static void take_response(struct call *c, mortise_jv response)
{
    struct reply *r = &c->reply;
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(response, "output"));
    mortise_jv item;

    reply_set(r, &r->id, mortise_jv_get(response, "id"));
    reply_set(r, &r->model, mortise_jv_get(response, "model"));
    reply_usage(r, mortise_jv_get(response, "usage"));
    for (size_t i = 0; mortise_jv_next(&it, NULL, &item); i++)
        if (i >= c->n_items || c->items[i].n == 0)
            call_keep(c, (int64_t)i, item);
    take_status(c, response);
    c->ended = true;
}

static void responses_whole(struct call *c, mortise_jv body)
{
    mortise_jv output = mortise_jv_get(body, "output");
    bool says =
        mortise_jv_type(mortise_jv_get(body, "status")) == MORTISE_JV_STRING;

    if (!request_is(body, "object", "response") &&
        mortise_jv_count(output) == 0 && !says) {
        problem_set(&c->problem, MORTISE_MODEL_PROTOCOL,
                    "the answer is not a response: it has no output");
        return;
    }
    take_response(c, body);
}

/* ---- the stream ---------------------------------------------------------- */

/* Of a part that comes whole later. */
static void tell(struct call *c, bool reasoning, mortise_jv string)
{
    c->room.n = 0;
    reply_append(&c->reply, &c->room, string);
    call_tell(c, reasoning, bytes_str(&c->room));
}

static void on_delta(struct call *c, mortise_jv data)
{
    tell(c, false, mortise_jv_get(data, "delta"));
}

static void on_reasoning(struct call *c, mortise_jv data)
{
    tell(c, true, mortise_jv_get(data, "delta"));
}

static void on_summary(struct call *c, mortise_jv data)
{
    int64_t index = 0;

    mortise_jv_int(mortise_jv_get(data, "summary_index"), &index);
    if (index > 0)
        call_tell(c, true, mortise_strz("\n\n"));
}

/* Has that place an item that this one is not?  Servers that count none give all
 * the same place. */
static bool is_another(const struct call *c, int64_t at, mortise_jv item)
{
    mortise_jv there, id, other;

    if (at < 0 || (size_t)at >= c->n_items || c->items[at].n == 0)
        return false;
    there = (mortise_jv){c->items[at].p, c->items[at].n};
    id = mortise_jv_get(there, "id");
    other = mortise_jv_get(item, "id");
    if (id.n == 0 && other.n == 0) {
        id = there;
        other = item;
    }
    return id.n != other.n || memcmp(id.p, other.p, id.n) != 0;
}

static void on_item(struct call *c, mortise_jv data)
{
    mortise_jv item = mortise_jv_get(data, "item");
    int64_t at = -1;

    mortise_jv_int(mortise_jv_get(data, "output_index"), &at);
    if (mortise_jv_type(item) == MORTISE_JV_OBJECT)
        call_keep(c, is_another(c, at, item) ? -1 : at, item);
}

static void on_end(struct call *c, mortise_jv data)
{
    c->over = true;
    take_response(c, mortise_jv_get(data, "response"));
}

static void responses_event(struct call *c, mortise_jv data)
{
    static const struct {
        const char *type;
        void (*on)(struct call *c, mortise_jv data);
    } events[] = {
        {"response.output_text.delta", on_delta},
        {"response.refusal.delta", on_delta},
        {"response.reasoning_text.delta", on_reasoning},
        {"response.reasoning_summary_text.delta", on_reasoning},
        {"response.reasoning_summary_part.added", on_summary},
        {"response.output_item.done", on_item},
        {"response.completed", on_end},
        {"response.incomplete", on_end},
        {"response.failed", on_end},
        {"response.cancelled", on_end},
    };

    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
        if (request_is(data, "type", events[i].type))
            events[i].on(c, data);
}

/* ---- the end ------------------------------------------------------------- */

static void responses_end(struct call *c)
{
    struct reply *r = &c->reply;

    for (size_t i = 0; i < c->n_items; i++)
        if (c->items[i].n > 0)
            add_item(c, (mortise_jv){c->items[i].p, c->items[i].n});
    reply_settle(r);
    for (size_t i = 0; c->form == FORM_WHOLE && i < r->n_parts; i++)
        if (r->parts[i].kind != PART_CALL)
            call_tell(c, r->parts[i].kind == PART_REASONING,
                      bytes_str(&r->parts[i].text));
}

static mortise_status responses_give(struct call *c)
{
    return reply_emit(&c->reply, c->issuer.p, c->max_tokens, c->inst->host,
                      c->inst->api, c->id);
}

const struct dialect openai_responses = {
    .path = "/responses",
    .issuer = "responses ",
    .ask = responses_ask,
    .whole = responses_whole,
    .event = responses_event,
    .end = responses_end,
    .give = responses_give,
};
