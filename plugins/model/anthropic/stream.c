/* stream.c -- a message of the Messages API that comes as events.
 *
 *     message_start         what it says of itself, and its usage so far
 *     content_block_start   a block, by its index; several may be open
 *     content_block_delta   text_, thinking_ and input_json_delta: a piece that
 *                           goes behind the last one; citations_delta: one
 *                           more; signature_delta: all of it
 *     content_block_stop    it is over; its index may have another one
 *     message_delta         why it ends, and its usage so far, all in all
 *     message_stop          it is whole
 *     error                 it will never be, whatever the status was
 *
 * An event is what its `type` says; ping and whatever else there is mean
 * nothing, as do deltas of other types.  Only message_stop makes a reply of it:
 * without that the stream broke off.  It ends the call, and so does an error;
 * what comes behind it is not looked at.
 * Text and thinking are told to whoever watches as they come.
 */
#include "anthropic.h"

/* Keep what is wrong; nothing more is read. */
static mortise_status wrong(struct call *c, const char *words)
{
    c->failed_words = words;
    return MORTISE_S_INVALID;
}

/* Those who watch hear it, if anybody does; nothing depends on it. */
static void tell(const struct call *c, enum block_kind kind, mortise_str text)
{
    const mortise_inst *inst = c->inst;

    if (!c->stream || text.n == 0)
        return;
    if (kind == BLOCK_TEXT)
        mortise_emit_delta(inst->host, inst->api, c->id, text);
    else if (kind == BLOCK_THINKING)
        mortise_emit_reasoning(inst->host, inst->api, c->id, text);
}

mortise_status anthropic_block_begin(struct call *c, int64_t index,
                                     mortise_jv value, int copy)
{
    struct block *b;
    mortise_status status =
        anthropic_block_add(&c->reply, index, value, copy, &b);

    if (status == MORTISE_S_OK)
        tell(c, b->kind, bytes_str(&b->text));
    return status != MORTISE_S_INVALID
               ? status
               : wrong(c, "the reply has an invalid block, or too many blocks");
}

/* ---- deltas -------------------------------------------------------------- */

/* A piece of a text, told and kept. */
static mortise_status add_text(struct call *c, struct block *b, mortise_jv v)
{
    uint64_t from = b->text.n;
    mortise_status status = bytes_decode(&b->text, v);

    if (status == MORTISE_S_OK)
        tell(c, b->kind, mortise_strn(b->text.p + from, b->text.n - from));
    return status;
}

static mortise_status add_input(struct call *c, struct block *b, mortise_jv v)
{
    (void)c;
    return bytes_decode(&b->input, v);
}

static mortise_status set_signature(struct call *c, struct block *b,
                                    mortise_jv v)
{
    (void)c;
    b->signature.n = 0;
    return bytes_put(&b->signature, mortise_strn(v.p, v.n));
}

static mortise_status add_citation(struct call *c, struct block *b,
                                   mortise_jv v)
{
    mortise_status status = MORTISE_S_OK;

    (void)c;
    if (b->citations.n > 0)
        status = bytes_put(&b->citations, mortise_strz(","));
    return status != MORTISE_S_OK
               ? status
               : bytes_put(&b->citations, mortise_strn(v.p, v.n));
}

/* A delta has one member beside its type. */
static const struct delta {
    const char *type, *member;
    int32_t of; /* MORTISE_JV_... */
    mortise_status (*take)(struct call *c, struct block *b, mortise_jv v);
} deltas[] = {
    {"text_delta", "text", MORTISE_JV_STRING, add_text},
    {"thinking_delta", "thinking", MORTISE_JV_STRING, add_text},
    {"input_json_delta", "partial_json", MORTISE_JV_STRING, add_input},
    {"signature_delta", "signature", MORTISE_JV_STRING, set_signature},
    {"citations_delta", "citation", MORTISE_JV_OBJECT, add_citation},
};

static mortise_status on_block_delta(struct call *c, mortise_jv event)
{
    mortise_jv delta = mortise_jv_get(event, "delta"), v;
    mortise_jv type = mortise_jv_get(delta, "type");
    int64_t index = -1;
    struct block *b;

    mortise_jv_int(mortise_jv_get(event, "index"), &index);
    b = anthropic_block_find(&c->reply, index);
    if (b == NULL)
        return wrong(c, "the stream continues a block that never started");
    for (size_t i = 0; i < sizeof deltas / sizeof deltas[0]; i++) {
        if (!mortise_jv_is(type, mortise_strz(deltas[i].type)))
            continue;
        v = mortise_jv_get(delta, deltas[i].member);
        if (mortise_jv_type(v) == deltas[i].of)
            return deltas[i].take(c, b, v);
        return mortise_jv_type(v) <= MORTISE_JV_NULL
                   ? MORTISE_S_OK
                   : wrong(c, "the stream has an invalid delta");
    }
    return MORTISE_S_OK;
}

/* ---- the other events ---------------------------------------------------- */

static mortise_status on_message_start(struct call *c, mortise_jv event)
{
    c->begun = 1;
    return anthropic_reply_head(&c->reply, mortise_jv_get(event, "message"));
}

static mortise_status on_block_start(struct call *c, mortise_jv event)
{
    int64_t index = -1;

    mortise_jv_int(mortise_jv_get(event, "index"), &index);
    return anthropic_block_begin(c, index,
                                 mortise_jv_get(event, "content_block"), 1);
}

static mortise_status on_block_stop(struct call *c, mortise_jv event)
{
    int64_t index = -1;
    struct block *b;

    mortise_jv_int(mortise_jv_get(event, "index"), &index);
    b = anthropic_block_find(&c->reply, index);
    if (b != NULL)
        b->is_closed = 1;
    return MORTISE_S_OK;
}

static mortise_status on_message_delta(struct call *c, mortise_jv event)
{
    anthropic_reply_usage(&c->reply, mortise_jv_get(event, "usage"));
    return anthropic_reply_stop(&c->reply, mortise_jv_get(event, "delta"));
}

static mortise_status on_message_stop(struct call *c, mortise_jv event)
{
    (void)event;
    if (!c->begun)
        return wrong(c, "the stream ends a message that never started");
    c->ended = 1;
    return MORTISE_S_OK;
}

/* It is read when the call ends; nothing more is read of the stream. */
static mortise_status on_error(struct call *c, mortise_jv event)
{
    return bytes_put(&c->error, mortise_strn(event.p, event.n));
}

static const struct event {
    const char *type;
    mortise_status (*take)(struct call *c, mortise_jv event);
} events[] = {
    {"content_block_delta", on_block_delta},
    {"content_block_start", on_block_start},
    {"content_block_stop", on_block_stop},
    {"message_start", on_message_start},
    {"message_delta", on_message_delta},
    {"message_stop", on_message_stop},
    {"error", on_error},
};

/* What an event says, read.  One that is named an error is one, whatever type
 * it has. */
static mortise_status take(struct call *c, mortise_str name, mortise_jv event)
{
    mortise_jv type = mortise_jv_get(event, "type");

    if (mortise_str_is(name, "error"))
        return on_error(c, event);
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
        if (mortise_jv_is(type, mortise_strz(events[i].type)))
            return events[i].take(c, event);
    return MORTISE_S_OK;
}

/* A sse_event_fn.  The last event of a stream may be cut, and is then none. */
mortise_status anthropic_event(void *ud, mortise_str name, mortise_str data)
{
    struct call *c = ud;
    mortise_jv event;
    mortise_status status;

    if (c->ended || c->error.n > 0)
        return MORTISE_S_OK;
    status = halves_parse(&c->halves, data, 1, &event);
    if (status == MORTISE_S_OK)
        return take(c, name, event);
    if (status == MORTISE_S_NOMEM)
        return status;
    if (c->closing || data.n == 0)
        return MORTISE_S_OK;
    return mortise_str_is(name, "error")
               ? bytes_put(&c->error, data)
               : wrong(c, "the stream has an event that is not JSON");
}
