/* chat_reply.c -- POST /chat/completions: what comes back.
 *
 * A whole reply and the chunks of a stream have nearly one form: what a chunk
 * has in `delta`, a reply has in `message`.  So one function takes both.
 *
 * Calls of a stream   A fragment belongs to the call with its index.  It starts
 *                     a new one where that has another id (Ollama: every index
 *                     is 0), or arguments already and another name; a fragment
 *                     without an index goes by its id, and without that, where
 *                     it has a name, it is a call of its own, else more of the
 *                     last.
 * The end             is there with a finish_reason, or with [DONE].  The
 *                     stream goes on behind the first: usage comes last.
 * Other choices than the first are nobody's here. */
#include "dialects.h"

#include <string.h>

/* ---- calls --------------------------------------------------------------- */

static bool is_other(mortise_jv said, const struct bytes *known)
{
    return said.n > 2 && known->n > 0 && !mortise_jv_is(said, bytes_str(known));
}

/* Is the fragment of another call than the one that it seems to be of? */
static bool starts_anew(const struct part *p, mortise_jv id, mortise_jv name)
{
    return is_other(id, &p->id) ||
           (id.n <= 2 && p->text.n > 0 && is_other(name, &p->name));
}

/* The last call with that index, or with that id; NULL: there is none. */
static struct part *find_call(struct reply *r, const int64_t *index,
                              mortise_jv id)
{
    for (size_t i = r->n_parts; i > 0; i--) {
        struct part *p = &r->parts[i - 1];

        if (p->kind != PART_CALL)
            continue;
        if (index != NULL ? p->indexed && p->index == *index
                          : mortise_jv_is(id, bytes_str(&p->id)))
            return p;
    }
    return NULL;
}

static struct part *last_call(struct reply *r)
{
    for (size_t i = r->n_parts; i > 0; i--)
        if (r->parts[i - 1].kind == PART_CALL)
            return &r->parts[i - 1];
    return NULL;
}

static struct part *call_of(struct reply *r, mortise_jv fragment, mortise_jv id,
                            mortise_jv name)
{
    int64_t index;
    bool indexed = mortise_jv_int(mortise_jv_get(fragment, "index"), &index) ==
                   MORTISE_S_OK;
    struct part *p = NULL;

    if (indexed || id.n > 2)
        p = find_call(r, indexed ? &index : NULL, id);
    else if (name.n <= 2)
        p = last_call(r);
    if (p != NULL && !starts_anew(p, id, name))
        return p;
    p = reply_add(r, PART_CALL);
    if (p != NULL) {
        p->indexed = indexed;
        p->index = indexed ? index : 0;
    }
    return p;
}

/* A name comes whole, again and again or in pieces. */
static void take_name(struct reply *r, struct part *p, mortise_jv name)
{
    if (!mortise_jv_is(name, bytes_str(&p->name)))
        reply_append(r, &p->name, name);
}

static void take_call(struct reply *r, mortise_jv fragment)
{
    mortise_jv function = mortise_jv_get(fragment, "function");
    mortise_jv id = mortise_jv_get(fragment, "id");
    mortise_jv name = mortise_jv_get(function, "name");
    mortise_jv arguments = mortise_jv_get(function, "arguments");
    struct part *p = call_of(r, fragment, id, name);

    if (p == NULL)
        return;
    if (p->id.n == 0)
        reply_append(r, &p->id, id);
    take_name(r, p, name);
    if (mortise_jv_type(arguments) == MORTISE_JV_OBJECT)
        reply_put(r, &p->text, mortise_strn(arguments.p, arguments.n));
    else
        reply_append(r, &p->text, arguments);
}

/* ---- a message, or a piece of one ---------------------------------------- */

/* Content in parts, as Mistral's models have it that reason. */
static void take_parts(struct call *c, mortise_jv content)
{
    mortise_jv_iter it = mortise_jv_each(content), inner;
    mortise_jv part, thought;

    while (mortise_jv_next(&it, NULL, &part)) {
        call_text(c, PART_TEXT, mortise_jv_get(part, "text"));
        call_text(c, PART_REFUSAL, mortise_jv_get(part, "refusal"));
        inner = mortise_jv_each(mortise_jv_get(part, "thinking"));
        while (mortise_jv_next(&inner, NULL, &thought))
            call_text(c, PART_REASONING, mortise_jv_get(thought, "text"));
    }
}

/* Two names for one thing; who sends both means it once. */
static mortise_jv reasoning_of(mortise_jv message)
{
    mortise_jv v = mortise_jv_get(message, "reasoning_content");

    return mortise_jv_type(v) == MORTISE_JV_STRING && v.n > 2
               ? v
               : mortise_jv_get(message, "reasoning");
}

static void take_message(struct call *c, mortise_jv message)
{
    mortise_jv content = mortise_jv_get(message, "content"), fragment;
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(message, "tool_calls"));

    call_text(c, PART_REASONING, reasoning_of(message));
    if (mortise_jv_type(content) == MORTISE_JV_ARRAY)
        take_parts(c, content);
    else
        call_text(c, PART_TEXT, content);
    call_text(c, PART_REFUSAL, mortise_jv_get(message, "refusal"));
    while (mortise_jv_next(&it, NULL, &fragment))
        take_call(&c->reply, fragment);
}

static const char *stop_of(mortise_jv reason, bool *cut)
{
    static const struct {
        const char *word, *stop;
        bool cut;
    } words[] = {
        {"stop", "end", false},
        {"eos", "end", false},
        {"tool_calls", "tools", false},
        {"function_call", "tools", false},
        {"length", "length", true},
        {"max_tokens", "length", true},
        {"model_length", "context", true}, /* Mistral */
        {"content_filter", "filter", true},
    };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (mortise_jv_is(reason, mortise_strz(words[i].word))) {
            *cut = words[i].cut;
            return words[i].stop;
        }
    *cut = false;
    return "other";
}

static void take_reason(struct call *c, mortise_jv reason)
{
    if (mortise_jv_type(reason) != MORTISE_JV_STRING || reason.n <= 2)
        return;
    c->ended = true;
    c->reply.stop = stop_of(reason, &c->reply.cut);
    reply_set(&c->reply, &c->reply.stop_reason, reason);
}

/* ---- replies and chunks -------------------------------------------------- */

static mortise_jv first_choice(mortise_jv body)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(body, "choices"));
    mortise_jv choice;

    while (mortise_jv_next(&it, NULL, &choice)) {
        int64_t index = 0;

        mortise_jv_int(mortise_jv_get(choice, "index"), &index);
        if (index == 0)
            return choice;
    }
    return mortise_jv_none();
}

static void take(struct call *c, mortise_jv body, const char *within)
{
    struct reply *r = &c->reply;
    mortise_jv choice = first_choice(body);

    if (r->id.n == 0)
        reply_append(r, &r->id, mortise_jv_get(body, "id"));
    if (r->model.n == 0)
        reply_append(r, &r->model, mortise_jv_get(body, "model"));
    take_message(c, mortise_jv_get(choice, within));
    take_reason(c, mortise_jv_get(choice, "finish_reason"));
    /* Moonshot's, Groq's and everybody's */
    reply_usage(r, mortise_jv_get(choice, "usage"));
    reply_usage(r, mortise_jv_get(mortise_jv_get(body, "x_groq"), "usage"));
    reply_usage(r, mortise_jv_get(body, "usage"));
}

static void chat_whole(struct call *c, mortise_jv body)
{
    int32_t content;

    if (mortise_jv_type(mortise_jv_get(first_choice(body), "message")) !=
        MORTISE_JV_OBJECT) {
        problem_set(&c->problem, MORTISE_MODEL_PROTOCOL,
                    "the answer is no chat completion: it has no message");
        return;
    }
    content = mortise_jv_type(mortise_jv_get(
        mortise_jv_get(first_choice(body), "message"), "content"));
    if (content == MORTISE_JV_NUMBER || content == MORTISE_JV_BOOL) {
        problem_set(&c->problem, MORTISE_MODEL_PROTOCOL,
                    "the answer is no chat completion: its content is no text");
        return;
    }
    take(c, body, "message");
    c->ended = true;
}

static void chat_event(struct call *c, mortise_jv data)
{
    c->began |= mortise_jv_type(first_choice(data)) == MORTISE_JV_OBJECT;
    take(c, data, "delta");
}

/* ---- the end ------------------------------------------------------------- */

/* The arguments as the model wrote them, for the way back. */
static void save_arguments(struct reply *r, struct part *p)
{
    mortise_str text;
    mortise_jw w;

    if (p->kind != PART_CALL || p->text.n == 0 || p->broken)
        return;
    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "arguments");
    mortise_jw_string(&w, bytes_str(&p->text));
    mortise_jw_end(&w);
    r->nomem |= mortise_jw_finish(&w, &text) != MORTISE_S_OK;
    p->saved = (struct bytes){w.p, text.n, w.cap};
}

static void chat_end(struct call *c)
{
    struct reply *r = &c->reply;

    reply_settle(r);
    for (size_t i = 0; i < r->n_parts; i++)
        save_arguments(r, &r->parts[i]);
}

static mortise_status chat_give(struct call *c)
{
    return reply_emit(&c->reply, c->issuer.p, c->max_tokens, c->inst->host,
                      c->inst->api, c->id);
}

const struct dialect openai_chat = {
    .path = "/chat/completions",
    .issuer = "chat ",
    .ask = chat_ask,
    .whole = chat_whole,
    .event = chat_event,
    .end = chat_end,
    .give = chat_give,
};
