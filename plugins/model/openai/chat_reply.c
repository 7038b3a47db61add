/* chat_reply.c -- POST /chat/completions: what comes back.
 *
 * A whole reply and the chunks of a stream have nearly one form: what a chunk
 * has in `delta`, a reply has in `message`.  So one function takes both.
 *
 * Calls of a stream   A fragment belongs to the call with its index.  It starts
 *                     a new one where that has another id (Ollama: every index
 *                     is 0), or arguments already and another name, or all of
 *                     its arguments and the fragment has more; a fragment
 *                     without an index goes by its id, and without that, where
 *                     it has a name, it is a call of its own, else more of the
 *                     last.  In a whole reply each element is a call.
 * function_call       is how servers called a tool before there were several:
 *                     it is one call, unless the same reply has tool_calls.
 * message             A chunk may have the reply in `message`.  It is used where
 *                     no chunk said anything before; else it adds what its text
 *                     has behind the text so far.
 * Opaque members      All else that a message or a call has is kept for the way
 *                     back (opaque.h, chat_request.c).
 * The end             is there with a finish_reason, or with [DONE].  The
 *                     stream goes on behind the first: usage comes last.
 * Other choices than the first are nobody's here. */
#include "dialects.h"

#include <string.h>

#include "../../blank.h"

/* ---- calls --------------------------------------------------------------- */

static bool is_other(mortise_jv said, const struct bytes *known)
{
    return said.n > 2 && known->n > 0 && !mortise_jv_is(said, bytes_str(known));
}

/* Does it add anything to arguments? */
static bool has_more(mortise_jv arguments)
{
    return mortise_jv_count(arguments) > 0 || !blank_is(arguments);
}

/* Are the arguments so far a whole object? */
static bool is_complete(const struct part *p)
{
    uint64_t n = p->text.n;
    mortise_jv v;

    while (n > 0 && memchr(" \t\r\n", p->text.p[n - 1], 4) != NULL)
        n--;
    return n > 0 && p->text.p[n - 1] == '}' &&
           mortise_jv_parse(bytes_str(&p->text), &v) == MORTISE_S_OK &&
           mortise_jv_type(v) == MORTISE_JV_OBJECT;
}

/* Is the fragment of another call than the one that it seems to be of? */
static bool starts_anew(const struct part *p, mortise_jv id, mortise_jv name,
                        mortise_jv arguments)
{
    if (id.n > 2)
        return is_other(id, &p->id);
    return p->text.n > 0 && (is_other(name, &p->name) ||
                             (has_more(arguments) && is_complete(p)));
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

/* A fragment of a call, and what it says. */
struct fragment {
    mortise_jv v, function, id, name, arguments;
    int64_t index;
    bool indexed;
};

enum { LEGACY = -1 }; /* the index of a function_call */

static struct fragment fragment_of(mortise_jv v)
{
    struct fragment f = {.v = v, .function = mortise_jv_get(v, "function")};

    f.id = mortise_jv_get(v, "id");
    f.name = mortise_jv_get(f.function, "name");
    f.arguments = mortise_jv_get(f.function, "arguments");
    f.indexed =
        mortise_jv_int(mortise_jv_get(v, "index"), &f.index) == MORTISE_S_OK &&
        f.index != LEGACY;
    return f;
}

/* A new part; NULL: no memory. */
static struct part *add_call(struct reply *r, const struct fragment *f)
{
    struct part *p = reply_add(r, PART_CALL);

    if (p != NULL) {
        p->indexed = f->indexed;
        p->index = f->indexed ? f->index : 0;
    }
    return p;
}

static struct part *call_of(struct reply *r, const struct fragment *f)
{
    struct bytes name = {.p = NULL};
    struct part *p = NULL, *next;

    if (f->indexed || f->id.n > 2)
        p = find_call(r, f->indexed ? &f->index : NULL, f->id);
    else if (f->name.n <= 2)
        p = last_call(r);
    if (p != NULL && !starts_anew(p, f->id, f->name, f->arguments))
        return p;
    if (p != NULL && f->name.n <= 2) /* it is the same tool's */
        reply_put(r, &name, bytes_str(&p->name));
    next = add_call(r, f);
    if (next != NULL)
        next->name = name;
    else
        bytes_free(&name);
    return next;
}

/* A name comes whole, again and again or in pieces. */
static void take_name(struct reply *r, struct part *p, mortise_jv name)
{
    if (!mortise_jv_is(name, bytes_str(&p->name)))
        reply_append(r, &p->name, name);
}

static void take_opaque(struct reply *r, struct opaque *o, mortise_jv object,
                        const char *const *known)
{
    r->nomem |= opaque_take(o, object, known) != MORTISE_S_OK;
}

static void take_fragment(struct reply *r, struct part *p,
                          const struct fragment *f)
{
    static const char *const call[] = {"index", "id", "type", "function", NULL};
    static const char *const function[] = {"name", "arguments", NULL};

    if (p == NULL)
        return;
    if (p->id.n == 0)
        reply_append(r, &p->id, f->id);
    take_name(r, p, f->name);
    if (mortise_jv_type(f->arguments) == MORTISE_JV_OBJECT)
        reply_put(r, &p->text, mortise_strn(f->arguments.p, f->arguments.n));
    else
        reply_append(r, &p->text, f->arguments);
    take_opaque(r, &p->beside, f->v, call);
    take_opaque(r, &p->within, f->function, function);
}

static void take_calls(struct reply *r, mortise_jv list, bool whole)
{
    mortise_jv_iter it = mortise_jv_each(list);
    mortise_jv one;

    while (mortise_jv_next(&it, NULL, &one)) {
        struct fragment f = fragment_of(one);

        take_fragment(r, whole ? add_call(r, &f) : call_of(r, &f), &f);
    }
}

static void take_function(struct reply *r, mortise_jv function)
{
    struct fragment f = {
        .function = function, .indexed = true, .index = LEGACY};
    struct part *p = find_call(r, &f.index, f.id);

    if (mortise_jv_type(function) != MORTISE_JV_OBJECT)
        return;
    f.name = mortise_jv_get(function, "name");
    f.arguments = mortise_jv_get(function, "arguments");
    take_fragment(r, p != NULL ? p : add_call(r, &f), &f);
}

/* ---- a message, or a piece of one ---------------------------------------- */

/* Tell a piece of what was reasoned, and keep where it came. */
static void take_reasoning(struct call *c, const char *where, mortise_jv text)
{
    if (mortise_jv_type(text) == MORTISE_JV_STRING && text.n > 2 &&
        c->reasoned_in == NULL)
        c->reasoned_in = where;
    call_text(c, PART_REASONING, text);
}

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
            take_reasoning(c, CHAT_THINKING, mortise_jv_get(thought, "text"));
    }
}

/* Two names for one thing; a server that sends both means it once. */
static void take_reasonings(struct call *c, mortise_jv message)
{
    static const char *const names[] = {"reasoning_content", "reasoning"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        mortise_jv v = mortise_jv_get(message, names[i]);

        if (mortise_jv_type(v) != MORTISE_JV_STRING || v.n <= 2)
            continue;
        take_reasoning(c, names[i], v);
        break;
    }
}

/* `whole`: it is no piece of one. */
static void take_message(struct call *c, mortise_jv message, bool whole)
{
    static const char *const known[] = {
        "role",          "content", "reasoning_content", "reasoning", "refusal",
        "function_call", "audio",   "tool_calls",        NULL};
    mortise_jv content = mortise_jv_get(message, "content");

    take_reasonings(c, message);
    if (mortise_jv_type(content) == MORTISE_JV_ARRAY)
        take_parts(c, content);
    else
        call_text(c, PART_TEXT, content);
    call_text(c, PART_REFUSAL, mortise_jv_get(message, "refusal"));
    take_calls(&c->reply, mortise_jv_get(message, "tool_calls"), whole);
    take_function(&c->reply, mortise_jv_get(message, "function_call"));
    take_opaque(&c->reply, &c->beside, message, known);
}

/* The reply is told once more, now as a whole. */
static void take_message_again(struct call *c, mortise_jv message)
{
    struct part *text = reply_part(&c->reply, PART_TEXT);
    mortise_str rest;

    c->room.n = 0;
    reply_append(&c->reply, &c->room, mortise_jv_get(message, "content"));
    if (text == NULL || c->room.n == 0)
        return;
    rest = bytes_str(&c->room);
    if (rest.n < text->text.n ||
        memcmp(rest.p, text->text.p, text->text.n) != 0) {
        problem_set(
            &c->problem, MORTISE_MODEL_PROTOCOL,
            "the message at the end of the stream differs from its pieces");
        return;
    }
    rest.p += text->text.n;
    rest.n -= text->text.n;
    reply_put(&c->reply, &text->text, rest);
    call_tell(c, false, rest);
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

/* What stands beside the message. */
static void take_around(struct call *c, mortise_jv body, mortise_jv choice)
{
    struct reply *r = &c->reply;

    if (r->id.n == 0)
        reply_append(r, &r->id, mortise_jv_get(body, "id"));
    if (r->model.n == 0)
        reply_append(r, &r->model, mortise_jv_get(body, "model"));
    take_reason(c, mortise_jv_get(choice, "finish_reason"));
    /* Moonshot's, Groq's and everybody's */
    reply_usage(r, mortise_jv_get(choice, "usage"));
    reply_usage(r, mortise_jv_get(mortise_jv_get(body, "x_groq"), "usage"));
    reply_usage(r, mortise_jv_get(body, "usage"));
}

static void chat_whole(struct call *c, mortise_jv body)
{
    mortise_jv choice = first_choice(body);
    mortise_jv message = mortise_jv_get(choice, "message");
    int32_t content = mortise_jv_type(mortise_jv_get(message, "content"));

    if (mortise_jv_type(message) != MORTISE_JV_OBJECT) {
        problem_set(&c->problem, MORTISE_MODEL_PROTOCOL,
                    "the answer is not a chat completion: it has no message");
        return;
    }
    if (content == MORTISE_JV_NUMBER || content == MORTISE_JV_BOOL) {
        problem_set(
            &c->problem, MORTISE_MODEL_PROTOCOL,
            "the answer is not a chat completion: its content is not text");
        return;
    }
    take_message(c, message, true);
    take_around(c, body, choice);
    c->ended = true;
}

static void chat_event(struct call *c, mortise_jv data)
{
    mortise_jv choice = first_choice(data);
    mortise_jv delta = mortise_jv_get(choice, "delta");
    mortise_jv message = mortise_jv_get(choice, "message");

    c->began |= mortise_jv_type(choice) == MORTISE_JV_OBJECT;
    take_message(c, delta, false);
    if (mortise_jv_type(message) == MORTISE_JV_OBJECT) {
        if (c->reply.n_parts == 0)
            take_message(c, message, true);
        else
            take_message_again(c, message);
    }
    take_around(c, data, choice);
}

/* ---- the end ------------------------------------------------------------- */

/* What goes back with a part, as its `provider` data. */
static void save(struct reply *r, struct part *p,
                 mortise_status (*write)(mortise_jw *w, const struct part *p,
                                         const void *ud),
                 const void *ud)
{
    mortise_status status;
    mortise_str text;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    status = write(&w, p, ud);
    mortise_jw_end(&w);
    r->nomem |=
        mortise_jw_finish(&w, &text) != MORTISE_S_OK || status != MORTISE_S_OK;
    p->saved = (struct bytes){w.p, text.n, w.cap};
    if (mortise_str_is(text, "{}"))
        p->saved.n = 0;
}

/* The arguments as the model wrote them. */
static mortise_status write_call(mortise_jw *w, const struct part *p,
                                 const void *ud)
{
    mortise_status status;

    (void)ud;
    if (p->text.n > 0 && !p->broken) {
        mortise_jw_key(w, "arguments");
        mortise_jw_string(w, bytes_str(&p->text));
    }
    status = opaque_write(w, "call", &p->beside);
    return status == MORTISE_S_OK ? opaque_write(w, "function", &p->within)
                                  : status;
}

static mortise_status write_reasoning(mortise_jw *w, const struct part *p,
                                      const void *ud)
{
    const struct call *c = ud;

    if (p->text.n > 0 && c->reasoned_in != NULL) {
        mortise_jw_key(w, "in");
        mortise_jw_cstr(w, c->reasoned_in);
    }
    return opaque_write(w, "message", &c->beside);
}

/* Some servers say one call in the old way and in the new one. */
static void drop_function(struct reply *r)
{
    const int64_t legacy = LEGACY;
    struct part *p = find_call(r, &legacy, mortise_jv_none());
    size_t calls = 0;

    for (size_t i = 0; i < r->n_parts; i++)
        calls += r->parts[i].kind == PART_CALL;
    if (p != NULL && calls > 1)
        reply_remove(r, p);
}

static void chat_end(struct call *c)
{
    struct reply *r = &c->reply;
    struct part *p;

    drop_function(r);
    reply_settle(r);
    for (size_t i = 0; i < r->n_parts; i++)
        if (r->parts[i].kind == PART_CALL)
            save(r, &r->parts[i], write_call, NULL);
    if (c->beside.n == 0 && c->reasoned_in == NULL)
        return;
    p = reply_part(r, PART_REASONING);
    if (p != NULL)
        save(r, p, write_reasoning, c);
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
