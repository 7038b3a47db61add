/* reply.c -- a message of the Messages API as a reply of mortise.model/1.
 *
 * Blocks, by their kind
 *   text        a text
 *   tool_use    a tool_call.  Input that is no JSON object is arguments_text,
 *               as it was written; none at all is {}.
 *   thinking    reasoning, with its text
 *   any other   (redacted_thinking, what tools of the server were asked and
 *               answered, what is newer than this) reasoning without a text
 *
 * What is kept for the server, as `provider`: of the last two the whole block,
 * since a signature covers it; of a text or a call what the block has beside
 * what the part says (citations, say), and nothing when there is nothing.
 *
 * Why it ended, in this order
 *   cut    max_tokens, model_context_window_exceeded; or refusal; or a word
 *          that is not known (which might be a new way of being cut): calls
 *          are not to be run
 *   tools  there are calls, whatever word there is
 *   else   what the word says; tool_use without a call is the end
 *
 * A refusal's stop_details are a part of their own: in the words of their
 * explanation, or else their category.
 *
 * Usage: the server counts what it read from the cache, what it wrote there
 * and other input apart; all of it is input.  Its numbers are totals, so of
 * several the last counts.
 */
#include "anthropic.h"

enum { BLOCKS_MAX = 1024, MODEL_MAX = 128 };

/* ---- life ---------------------------------------------------------------- */

void anthropic_reply_init(struct reply *r)
{
    memset(r, 0, sizeof *r);
    for (int i = 0; i < USED_N; i++)
        r->used[i] = NOT_SAID;
}

void anthropic_reply_finish(struct reply *r)
{
    for (size_t i = 0; i < r->n; i++) {
        bytes_free(&r->blocks[i].copy);
        bytes_free(&r->blocks[i].text);
        bytes_free(&r->blocks[i].input);
        bytes_free(&r->blocks[i].signature);
        bytes_free(&r->blocks[i].citations);
    }
    free(r->blocks);
    bytes_free(&r->id);
    bytes_free(&r->model);
    bytes_free(&r->details);
    bytes_free(&r->stop_reason);
}

/* ---- blocks -------------------------------------------------------------- */

struct block *anthropic_block_find(struct reply *r, int64_t index)
{
    for (size_t i = r->n; i > 0; i--)
        if (r->blocks[i - 1].index == index)
            return &r->blocks[i - 1];
    return NULL;
}

static enum block_kind kind_of(mortise_jv block)
{
    mortise_jv type = mortise_jv_get(block, "type");

    if (mortise_jv_is(type, mortise_strz("text")))
        return BLOCK_TEXT;
    if (mortise_jv_is(type, mortise_strz("tool_use")))
        return BLOCK_TOOL_USE;
    return mortise_jv_is(type, mortise_strz("thinking")) ? BLOCK_THINKING
                                                         : BLOCK_OTHER;
}

/* A call of nothing is none. */
static int has_name(mortise_jv block)
{
    mortise_jv name = mortise_jv_get(block, "name");

    return mortise_jv_type(name) == MORTISE_JV_STRING && name.n > 2;
}

/* Room for one block more. */
static mortise_status grow(struct reply *r)
{
    size_t cap = r->cap > 0 ? 2 * r->cap : 4;
    struct block *blocks;

    if (r->n < r->cap)
        return MORTISE_S_OK;
    if (r->n == BLOCKS_MAX)
        return MORTISE_S_INVALID;
    blocks = realloc(r->blocks, cap * sizeof *blocks);
    if (blocks == NULL)
        return MORTISE_S_NOMEM;
    r->blocks = blocks;
    r->cap = cap;
    return MORTISE_S_OK;
}

/* What the block begins with, as its own; and its text. */
static mortise_status fill(struct block *b, mortise_jv value, int copy)
{
    mortise_jv text = mortise_jv_none();
    mortise_status status = MORTISE_S_OK;

    b->began = value;
    if (copy) {
        status = bytes_put(&b->copy, mortise_strn(value.p, value.n));
        b->began.p = b->copy.p;
    }
    if (b->kind == BLOCK_TEXT)
        text = mortise_jv_get(value, "text");
    else if (b->kind == BLOCK_THINKING)
        text = mortise_jv_get(value, "thinking");
    if (status == MORTISE_S_OK && mortise_jv_type(text) == MORTISE_JV_STRING)
        status = bytes_decode(&b->text, text);
    return status;
}

/* Servers that count no blocks begin each with the same index. */
static int64_t place_for(const struct reply *r, int64_t index)
{
    int64_t last = INT64_MIN;
    int taken = 0;

    for (size_t i = 0; i < r->n; i++) {
        taken |= r->blocks[i].place == index;
        if (r->blocks[i].place > last)
            last = r->blocks[i].place;
    }
    return taken && last < INT64_MAX ? last + 1 : index;
}

mortise_status anthropic_block_add(struct reply *r, int64_t index,
                                   mortise_jv value, int copy,
                                   struct block **out)
{
    enum block_kind kind = kind_of(value);
    const struct block *before = anthropic_block_find(r, index);
    int64_t place = place_for(r, index);
    mortise_status status = MORTISE_S_INVALID;

    if (mortise_jv_type(value) == MORTISE_JV_OBJECT &&
        (kind != BLOCK_TOOL_USE || has_name(value)) &&
        (before == NULL || before->is_closed))
        status = grow(r);
    if (status != MORTISE_S_OK)
        return status;
    *out = &r->blocks[r->n++];
    memset(*out, 0, sizeof **out);
    (*out)->index = index;
    (*out)->place = place;
    (*out)->kind = kind;
    return fill(*out, value, copy);
}

/* ---- beside the blocks --------------------------------------------------- */

/* Keep a value as JSON, in place of the last one. */
static mortise_status keep(struct bytes *to, mortise_jv v)
{
    to->n = 0;
    return bytes_put(to, mortise_strn(v.p, v.n));
}

mortise_status anthropic_reply_head(struct reply *r, mortise_jv message)
{
    mortise_jv id = mortise_jv_get(message, "id");
    mortise_jv model = mortise_jv_get(message, "model");
    mortise_status status = MORTISE_S_OK;

    if (mortise_jv_type(id) == MORTISE_JV_STRING)
        status = keep(&r->id, id);
    if (status == MORTISE_S_OK && mortise_jv_type(model) == MORTISE_JV_STRING)
        status = keep(&r->model, model);
    if (status == MORTISE_S_OK)
        status = anthropic_reply_stop(r, message);
    anthropic_reply_usage(r, mortise_jv_get(message, "usage"));
    return status;
}

mortise_status anthropic_reply_stop(struct reply *r, mortise_jv delta)
{
    mortise_jv reason = mortise_jv_get(delta, "stop_reason");
    mortise_jv details = mortise_jv_get(delta, "stop_details");
    mortise_status status = MORTISE_S_OK;

    if (mortise_jv_type(details) == MORTISE_JV_OBJECT)
        status = keep(&r->details, details);
    if (status == MORTISE_S_OK &&
        mortise_jv_type(reason) == MORTISE_JV_STRING) {
        r->stop_reason.n = 0;
        status = bytes_decode(&r->stop_reason, reason);
    }
    return status;
}

/* A number that a sum of three of them does not overflow.  Output grows while it
 * streams: an invalid count of it replaces a good one, but not one of the input. */
static void count(int64_t *to, int grows, mortise_jv v)
{
    int64_t n = count_read(v);

    if (n == NOT_SAID)
        return;
    if (n != NO_COUNT && n < INT64_MAX / 4)
        *to = n;
    else if (grows || *to < 0)
        *to = NO_COUNT;
}

void anthropic_reply_usage(struct reply *r, mortise_jv usage)
{
    static const char *const names[] = {
        [USED_INPUT] = "input_tokens",
        [USED_CACHE_WRITE] = "cache_creation_input_tokens",
        [USED_CACHE_READ] = "cache_read_input_tokens",
        [USED_OUTPUT] = "output_tokens",
    };
    mortise_jv output = mortise_jv_get(usage, "output_tokens_details");

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        count(&r->used[i], i == USED_OUTPUT, mortise_jv_get(usage, names[i]));
    count(&r->used[USED_THINKING], 1,
          mortise_jv_get(output, "thinking_tokens"));
}

/* ---- parts --------------------------------------------------------------- */

static void open_part(mortise_jw *w, const char *type)
{
    mortise_jw_object(w);
    mortise_jw_key(w, "type");
    mortise_jw_cstr(w, type);
}

/* Between this and close_provider() its data. */
static void open_provider(mortise_jw *w, const mortise_inst *inst)
{
    mortise_jw_key(w, "provider");
    mortise_jw_object(w);
    mortise_jw_key(w, "issuer");
    mortise_jw_string(w, bytes_str(&inst->issuer));
    mortise_jw_key(w, "data");
}

static void close_provider(mortise_jw *w)
{
    mortise_jw_end(w);
}

static int is_empty(mortise_jv v)
{
    int32_t type = mortise_jv_type(v);

    return type == MORTISE_JV_NONE || type == MORTISE_JV_NULL ||
           (type == MORTISE_JV_ARRAY && mortise_jv_count(v) == 0);
}

/* A list with what came afterwards behind what was there. */
static void write_citations(mortise_jw *w, const struct block *b)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(b->began, "citations"));
    mortise_jv one, more = {b->citations.p, b->citations.n};

    mortise_jw_array(w);
    while (mortise_jv_next(&it, NULL, &one))
        mortise_jw_value(w, one);
    if (more.n > 0)
        mortise_jw_value(w, more);
    mortise_jw_end(w);
}

/* A member of what is kept beside a part; the first one opens that. */
static void open_beside(mortise_jw *w, const mortise_inst *inst, int *open)
{
    if (*open)
        return;
    *open = 1;
    open_provider(w, inst);
    mortise_jw_object(w);
}

/* What a text or a call has beside the members that the part has, if that is
 * anything. */
static void write_beside(mortise_jw *w, const mortise_inst *inst,
                         const struct block *b)
{
    static const char *const told[] = {"type",  "text",      "id", "name",
                                       "input", "citations", NULL};
    mortise_jv citations = mortise_jv_get(b->began, "citations"), name, value;
    mortise_jv_iter it = mortise_jv_each(b->began);
    int open = 0;

    while (mortise_jv_next(&it, &name, &value)) {
        if (anthropic_is_among(name, told) || is_empty(value))
            continue;
        open_beside(w, inst, &open);
        anthropic_member_put(w, name, value);
    }
    if (!is_empty(citations) || b->citations.n > 0) {
        open_beside(w, inst, &open);
        mortise_jw_key(w, "citations");
        write_citations(w, b);
    }
    if (open) {
        mortise_jw_end(w);
        close_provider(w);
    }
}

static void write_text(mortise_jw *w, const mortise_inst *inst,
                       const struct block *b)
{
    if (b->text.n == 0)
        return;
    open_part(w, "text");
    mortise_jw_key(w, "text");
    mortise_jw_string(w, bytes_str(&b->text));
    write_beside(w, inst, b);
    mortise_jw_end(w);
}

/* What a tool is called with: what came in pieces, or what was there at once.
 */
static void write_arguments(mortise_jw *w, const struct block *b)
{
    mortise_jv v = mortise_jv_get(b->began, "input");
    mortise_str text = bytes_str(&b->input);

    if (text.n > 0)
        mortise_jv_parse(text, &v); /* none, where it is no JSON */
    if (mortise_jv_type(v) == MORTISE_JV_OBJECT) {
        mortise_jw_key(w, "arguments");
        mortise_jw_value(w, v);
    } else if (text.n > 0 || !is_empty(v)) {
        mortise_jw_key(w, "arguments_text");
        mortise_jw_string(w, text.n > 0 ? text : mortise_strn(v.p, v.n));
    } else {
        mortise_jw_key(w, "arguments");
        mortise_jw_object(w);
        mortise_jw_end(w);
    }
}

/* Has a call before b that id? */
static int is_taken(const struct reply *r, const struct block *b, mortise_jv id)
{
    for (const struct block *o = r->blocks; o < b; o++) {
        mortise_jv other = mortise_jv_get(o->began, "id");

        if (o->kind == BLOCK_TOOL_USE && other.n == id.n &&
            memcmp(other.p, id.p, id.n) == 0)
            return 1;
    }
    return 0;
}

/* A call without an id of its own gets one: what tells it from the others of its
 * reply. */
static void write_id(mortise_jw *w, const struct reply *r,
                     const struct block *b)
{
    mortise_jv id = mortise_jv_get(b->began, "id");
    char made[32];

    snprintf(made, sizeof made, "call_%lld", (long long)b->place);
    mortise_jw_key(w, "id");
    if (mortise_jv_type(id) == MORTISE_JV_STRING && id.n > 2 &&
        !is_taken(r, b, id))
        mortise_jw_value(w, id);
    else
        mortise_jw_cstr(w, made);
}

static void write_call(mortise_jw *w, const mortise_inst *inst,
                       const struct reply *r, const struct block *b)
{
    open_part(w, "tool_call");
    write_id(w, r, b);
    mortise_jw_key(w, "name");
    mortise_jw_value(w, mortise_jv_get(b->began, "name"));
    write_arguments(w, b);
    write_beside(w, inst, b);
    mortise_jw_end(w);
}

/* The block as it is now: its own members, but for those that came in pieces.
 */
static void write_whole(mortise_jw *w, const struct block *b)
{
    static const char *const thinking[] = {"thinking", "signature", NULL};
    static const char *const input[] = {"input", NULL};
    static const char *const none[] = {NULL};
    const char *const *mine = b->kind == BLOCK_THINKING ? thinking
                              : b->input.n > 0          ? input
                                                        : none;
    mortise_jv_iter it = mortise_jv_each(b->began);
    mortise_jv name, value, parsed;

    mortise_jw_object(w);
    while (mortise_jv_next(&it, &name, &value))
        if (!anthropic_is_among(name, mine))
            anthropic_member_put(w, name, value);
    if (mine == thinking) {
        mortise_jw_key(w, "thinking");
        mortise_jw_string(w, bytes_str(&b->text));
        value = mortise_jv_get(b->began, "signature");
        if (b->signature.n > 0)
            value = (mortise_jv){b->signature.p, b->signature.n};
        if (value.n > 0) {
            mortise_jw_key(w, "signature");
            mortise_jw_value(w, value);
        }
    } else if (mine == input) {
        mortise_jw_key(w, "input");
        if (mortise_jv_parse(bytes_str(&b->input), &parsed) == MORTISE_S_OK)
            mortise_jw_value(w, parsed);
        else
            mortise_jw_string(w, bytes_str(&b->input));
    }
    mortise_jw_end(w);
}

static void write_reasoning(mortise_jw *w, const mortise_inst *inst,
                            const struct block *b)
{
    open_part(w, "reasoning");
    if (b->text.n > 0) {
        mortise_jw_key(w, "text");
        mortise_jw_string(w, bytes_str(&b->text));
    }
    open_provider(w, inst);
    write_whole(w, b);
    close_provider(w);
    mortise_jw_end(w);
}

static void write_refusal(mortise_jw *w, const mortise_inst *inst,
                          mortise_jv details)
{
    mortise_jv words = mortise_jv_get(details, "explanation");

    if (mortise_jv_type(words) != MORTISE_JV_STRING)
        words = mortise_jv_get(details, "category");
    if (mortise_jv_type(words) != MORTISE_JV_STRING)
        return;
    open_part(w, "refusal");
    mortise_jw_key(w, "text");
    mortise_jw_value(w, words);
    open_provider(w, inst);
    mortise_jw_value(w, details);
    close_provider(w);
    mortise_jw_end(w);
}

/* ---- why it ended -------------------------------------------------------- */

static int has_calls(const struct reply *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->blocks[i].kind == BLOCK_TOOL_USE)
            return 1;
    return 0;
}

static const char *stop_of(const struct reply *r)
{
    static const struct {
        const char *reason, *stop;
        int runs; /* not cut: calls may be run */
    } words[] = {
        {"end_turn", "end", 1},
        {"tool_use", "end", 1},
        {"stop_sequence", "end", 1},
        {"pause_turn", "pause", 1},
        {"max_tokens", "length", 0},
        {"model_context_window_exceeded", "context", 0},
        {"refusal", "refusal", 0},
    };
    const char *stop = "other";
    int runs = r->stop_reason.n == 0;

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (!mortise_str_is(bytes_str(&r->stop_reason), words[i].reason))
            continue;
        stop = words[i].stop;
        runs = words[i].runs;
    }
    return runs && has_calls(r) ? "tools" : stop;
}

/* ---- what is emitted ----------------------------------------------------- */

static void write_message(mortise_jw *w, const mortise_inst *inst,
                          const struct reply *r, const char *stop)
{
    mortise_jv details = {r->details.p, r->details.n};

    mortise_jw_object(w);
    mortise_jw_key(w, "role");
    mortise_jw_cstr(w, "assistant");
    mortise_jw_key(w, "parts");
    mortise_jw_array(w);
    for (size_t i = 0; i < r->n; i++) {
        const struct block *b = &r->blocks[i];

        if (b->kind == BLOCK_TEXT)
            write_text(w, inst, b);
        else if (b->kind == BLOCK_TOOL_USE)
            write_call(w, inst, r, b);
        else
            write_reasoning(w, inst, b);
    }
    if (strcmp(stop, "refusal") == 0)
        write_refusal(w, inst, details);
    mortise_jw_end(w);
    mortise_jw_end(w);
}

static void write_kept(mortise_jw *w, const char *name, mortise_jv v)
{
    if (v.n == 0)
        return;
    mortise_jw_key(w, name);
    mortise_jw_value(w, v);
}

static int by_place(const void *a, const void *b)
{
    const struct block *x = a, *y = b;

    return (x->place > y->place) - (x->place < y->place);
}

mortise_status anthropic_reply_emit(const mortise_inst *inst, mortise_call call,
                                    struct reply *r, mortise_jv request_id)
{
    const char *stop = stop_of(r);
    mortise_jv id = {r->id.p, r->id.n}, model = {r->model.p, r->model.n};
    mortise_emitter out;
    char room[1024];

    if (r->n > 1)
        qsort(r->blocks, r->n, sizeof *r->blocks, by_place);
    mortise_emitter_init(&out, inst->host, inst->api, call, room, sizeof room);
    mortise_jw_object(&out.w);
    mortise_jw_key(&out.w, "message");
    write_message(&out.w, inst, r, stop);
    mortise_jw_key(&out.w, "stop");
    mortise_jw_cstr(&out.w, stop);
    if (r->stop_reason.n > 0) {
        mortise_jw_key(&out.w, "stop_reason");
        mortise_jw_string(&out.w, bytes_str(&r->stop_reason));
    }
    write_kept(&out.w, "model", model);
    write_kept(&out.w, "id",
               mortise_jv_type(request_id) == MORTISE_JV_STRING ? request_id
                                                                : id);
    mortise_jw_end(&out.w);
    return mortise_emitter_finish(&out);
}

/* All input: what is known of it.  The counts of caches have members of their
 * own, which say that one is invalid. */
static int64_t all_input(const struct reply *r)
{
    int64_t sum = r->used[USED_INPUT];

    for (int i = USED_INPUT + 1; i <= USED_CACHE_READ; i++)
        if (r->used[i] >= 0 && sum != NO_COUNT)
            sum = (sum == NOT_SAID ? 0 : sum) + r->used[i];
    return sum;
}

void anthropic_usage_emit(const struct call *c)
{
    const struct reply *r = &c->reply;
    int64_t input = all_input(r);
    char room[1024];
    mortise_str text;
    mortise_jw w;

    if (input == NOT_SAID && r->used[USED_OUTPUT] == NOT_SAID)
        return;
    mortise_jw_fixed(&w, room, sizeof room);
    mortise_jw_object(&w);
    count_write(&w, "model_calls", 1);
    count_write(&w, "input_tokens", input);
    count_write(&w, "output_tokens", r->used[USED_OUTPUT]);
    count_write(&w, "cached_tokens", r->used[USED_CACHE_READ]);
    count_write(&w, "cache_write_tokens", r->used[USED_CACHE_WRITE]);
    count_write(&w, "reasoning_tokens", r->used[USED_THINKING]);
    if (r->model.n <= MODEL_MAX + 2)
        write_kept(&w, "model", (mortise_jv){r->model.p, r->model.n});
    mortise_jw_end(&w);
    if (mortise_jw_finish(&w, &text) == MORTISE_S_OK)
        mortise_emit_usage(c->inst->host, c->inst->api, c->id, text);
}
