/* batch.c -- the tools that one reply calls.
 *
 * They run one behind the other, or, with parallel_tools, side by side; each is
 * a step of its own, t3.1, t3.2 ... of the reply m3.
 *
 *   (1) Each call has a result, in the order of the calls.
 *   (2) What the model wrote and is no object never gets to a tool: the model is
 *       told so.
 *   (3) While one of them waits for somebody, the node does, and the others come
 *       to their end first.
 *   (4) A model that calls the same tools with the same arguments three times in
 *       succession is stopped ahead of the third.
 *   (5) A call that was told to wait may ask nothing new until it is entered again.
 *       With parallel_tools the agent's own tools therefore run first, each up to
 *       where it waits for a child.  Then the graph's tools are started and the
 *       children awaited, all at once.
 */
#include "agent.h"

#include <assert.h>
#include <stdio.h>

enum { SAME = 3 };

void agent_batch_free(struct batch *b)
{
    for (uint64_t i = 0; i < b->n; i++) {
        bytes_free(&b->results[i].parts);
        bytes_free(&b->results[i].handle);
    }
    free(b->results);
    bytes_free(&b->message);
    bytes_free(&b->error);
    memset(b, 0, sizeof *b);
}

static int is_call(mortise_jv part)
{
    return mortise_jv_is(mortise_jv_get(part, "type"),
                         mortise_strz("tool_call"));
}

/* ---- results ---------------------------------------------------------------- */

static int has_text(mortise_jv part, const char *name)
{
    return mortise_jv_type(mortise_jv_get(part, name)) == MORTISE_JV_STRING;
}

/* Can a model be shown that? */
static int is_shown(mortise_jv part)
{
    mortise_jv type = mortise_jv_get(part, "type");

    if (mortise_jv_is(type, mortise_strz("text")))
        return has_text(part, "text");
    return (mortise_jv_is(type, mortise_strz("image")) ||
            mortise_jv_is(type, mortise_strz("file"))) &&
           (has_text(part, "url") ||
            (has_text(part, "media_type") && has_text(part, "data")));
}

/* {parts: [...]}, and nothing else. */
static int is_message(mortise_jv output)
{
    mortise_jv parts = mortise_jv_get(output, "parts"), name, part;
    mortise_jv_iter it = mortise_jv_each(parts);

    if (mortise_jv_count(output) != 1 || !agent_is_parts(parts))
        return 0;
    while (mortise_jv_next(&it, &name, &part))
        if (!is_shown(part))
            return 0;
    return 1;
}

mortise_status agent_put_words(struct result *r, mortise_str words)
{
    mortise_status status;
    mortise_str json;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_array(&w);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "type");
    mortise_jw_cstr(&w, "text");
    mortise_jw_key(&w, "text");
    mortise_jw_string(&w, words);
    mortise_jw_end(&w);
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &json);
    if (status == MORTISE_S_OK)
        status = bytes_put(&r->parts, json);
    free(w.p);
    return status;
}

static mortise_status put_output(struct result *r, mortise_jv output)
{
    mortise_jv parts = mortise_jv_get(output, "parts");
    mortise_status status;
    mortise_str json;
    mortise_jw w;

    if (is_message(output))
        return bytes_put(&r->parts, mortise_strn(parts.p, parts.n));
    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    status = agent_write_shown(&w, output);
    if (status == MORTISE_S_OK)
        status = mortise_jw_finish(&w, &json);
    if (status == MORTISE_S_OK)
        status = bytes_put(&r->parts, json);
    free(w.p);
    return status;
}

/* {text, cut: {bytes, of}} */
static mortise_status put_cut(struct result *r, mortise_jv answer)
{
    mortise_jv cut = mortise_jv_get(answer, "cut");
    struct bytes words = {0};
    int64_t bytes = 0, of = 0;
    char mark[96];
    mortise_status status =
        bytes_decode(&words, mortise_jv_get(answer, "text"));

    mortise_jv_int(mortise_jv_get(cut, "bytes"), &bytes);
    mortise_jv_int(mortise_jv_get(cut, "of"), &of);
    snprintf(mark, sizeof mark, "\n[cut here: the first %lld of %lld bytes]",
             (long long)bytes, (long long)of);
    if (status == MORTISE_S_OK)
        status = bytes_put(&words, mortise_strz(mark));
    if (status == MORTISE_S_OK)
        status = agent_put_words(r, bytes_str(&words));
    bytes_free(&words);
    return status;
}

/* With tool_errors: fail, the first is the node's. */
static mortise_status keep_error(struct batch *b, mortise_jv error)
{
    mortise_status status = MORTISE_S_OK;

    if (b->error.n == 0)
        status = bytes_put(&b->error, mortise_strn(error.p, error.n));
    return status;
}

static mortise_status put_error(struct result *r, mortise_jv error)
{
    struct bytes words = {0};
    mortise_status status = bytes_decode(&words, mortise_jv_get(error, "code"));

    if (status == MORTISE_S_OK)
        status = bytes_put(&words, mortise_strz(": "));
    if (status == MORTISE_S_OK)
        status = bytes_decode(&words, mortise_jv_get(error, "message"));
    if (status == MORTISE_S_OK)
        status = agent_put_words(r, bytes_str(&words));
    if (status == MORTISE_S_OK)
        status = keep_error(&r->of->batch, error);
    r->is_error = 1;
    bytes_free(&words);
    return status;
}

static mortise_status keep_failure(struct result *r, const char *code,
                                   mortise_str words)
{
    mortise_status status;
    mortise_str json;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "code");
    mortise_jw_cstr(&w, code);
    mortise_jw_key(&w, "class");
    mortise_jw_cstr(&w, "permanent");
    mortise_jw_key(&w, "message");
    mortise_jw_string(&w, words);
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &json);
    if (status == MORTISE_S_OK)
        status = keep_error(&r->of->batch, mortise_jv_of(json));
    free(w.p);
    return status;
}

mortise_status agent_tool_fail(struct result *r, const char *code,
                               mortise_str words, mortise_str told)
{
    mortise_status status = keep_failure(r, code, words);

    r->is_error = 1;
    return status == MORTISE_S_OK ? agent_put_words(r, told) : status;
}

/* One hands over at most once. */
static mortise_status put_goto(struct result *r, mortise_jv to)
{
    struct bytes words = {0};
    mortise_status status;

    if (r->of->heads.n > 0) {
        r->is_error = 1;
        return agent_put_words(
            r, mortise_strz("the task was already handed over"));
    }
    status = bytes_decode(&r->of->heads, to);
    if (status == MORTISE_S_OK)
        status = bytes_put(&words, mortise_strz("Handed over to "));
    if (status == MORTISE_S_OK)
        status = bytes_put(&words, bytes_str(&r->of->heads));
    if (status == MORTISE_S_OK)
        status = agent_put_words(r, bytes_str(&words));
    bytes_free(&words);
    return status;
}

static mortise_status put_answer(struct result *r, mortise_jv answer)
{
    mortise_jv error = mortise_jv_get(answer, "error");
    mortise_jv to = mortise_jv_get(answer, "goto");

    if (mortise_jv_type(error) != MORTISE_JV_NONE)
        return put_error(r, error);
    if (mortise_jv_type(to) != MORTISE_JV_NONE)
        return put_goto(r, to);
    if (mortise_jv_type(mortise_jv_get(answer, "cut")) != MORTISE_JV_NONE)
        return put_cut(r, answer);
    return put_output(r, mortise_jv_get(answer, "output"));
}

/* ---- running them ----------------------------------------------------------- */

static void go_on(struct call *c);

/* A result that was pending. */
static void note_end(struct batch *b, mortise_status status)
{
    b->out--;
    if (status == MORTISE_S_SUSPENDED)
        b->waits = 1;
    else if (b->status == MORTISE_S_OK)
        b->status = status;
}

void agent_result_is_there(struct result *r, mortise_status status)
{
    note_end(&r->of->batch, status);
    go_on(r->of);
}

mortise_status agent_hold(struct result *r, run_fn *run)
{
    struct batch *b = &r->of->batch;

    if (b->released || !agent_says(r->of, "parallel_tools"))
        return run(r);
    r->held = run;
    b->held++;
    return MORTISE_S_PENDING;
}

void agent_result_is_held(struct result *r)
{
    if (r->held != NULL)
        go_on(r->of);
}

static void done(void *ud, mortise_status status, mortise_str text)
{
    struct result *r = (struct result *)ud;
    mortise_jv answer;

    if (status == MORTISE_S_DENIED) { /* the graph has no tools for the node */
        status = agent_tool_fail(r, "unknown_tool", text, text);
    } else {
        if (status == MORTISE_S_OK)
            status = mortise_jv_parse(text, &answer);
        if (status == MORTISE_S_OK)
            status = put_answer(r, answer);
    }
    agent_result_is_there(r, status);
}

static void write_invoke(mortise_jw *w, const char *step, mortise_jv part)
{
    mortise_jw_object(w);
    mortise_jw_key(w, "step");
    mortise_jw_cstr(w, step);
    mortise_jw_key(w, "tool");
    mortise_jw_value(w, mortise_jv_get(part, "name"));
    mortise_jw_key(w, "arguments");
    mortise_jw_value(w, mortise_jv_get(part, "arguments"));
    mortise_jw_key(w, "tool_use_id");
    mortise_jw_value(w, mortise_jv_get(part, "id"));
    mortise_jw_end(w);
}

#define UNREAD "the arguments are not a JSON object"
#define UNHELD                                                                 \
    "the arguments are JSON that cannot be stored: an object has a name "      \
    "twice or "                                                                \
    "a name with a NUL, a number does not fit into 64 bits or a double, or "   \
    "the nesting is too deep"

/* (2) */
static mortise_status put_unread(struct result *r)
{
    mortise_jv wrote = mortise_jv_get(r->call, "arguments_text"), json;
    struct bytes text = {0};
    mortise_status status = bytes_decode(&text, wrote);
    int is_object = status == MORTISE_S_OK &&
                    mortise_jv_parse(bytes_str(&text), &json) == MORTISE_S_OK &&
                    mortise_jv_type(json) == MORTISE_JV_OBJECT;

    bytes_free(&text);
    if (status == MORTISE_S_NOMEM)
        return status;
    return is_object ? agent_tool_fail(r, "arguments", mortise_strz(UNHELD),
                                       mortise_strz("arguments: " UNHELD))
                     : agent_tool_fail(r, "arguments", mortise_strz(UNREAD),
                                       mortise_strz("arguments: " UNREAD));
}

mortise_str agent_result_step(char *room, const struct result *r,
                              const char *part)
{
    const struct batch *b = &r->of->batch;

    snprintf(room, AGENT_RESULT_ROOM, "t%lld.%lld%s", (long long)r->of->after,
             (long long)(r - b->results) + 1, part);
    return mortise_strz(room);
}

static mortise_status invoke(struct result *r)
{
    struct call *c = r->of;
    char step[AGENT_RESULT_ROOM];
    mortise_status status;
    mortise_str body;
    mortise_jw w;

    agent_result_step(step, r, "");
    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    write_invoke(&w, step, r->call);
    status = mortise_jw_finish(&w, &body);
    if (status == MORTISE_S_OK)
        status = mortise_tool_invoke(c->inst->host, c->inst->api, c->id, body,
                                     done, r);
    free(w.p);
    return status;
}

static mortise_status run(struct result *r)
{
    mortise_status status;

    r->is_started = 1;
    if (mortise_jv_type(mortise_jv_get(r->call, "arguments")) !=
        MORTISE_JV_OBJECT)
        return put_unread(r);
    status = r->tool != NULL ? agent_run_tool(r) : invoke(r);
    if (status != MORTISE_S_PENDING)
        return status;
    r->of->batch.out++;
    return MORTISE_S_OK;
}

/* Is there an error that is the node's? */
static int has_failed(const struct call *c)
{
    return c->batch.error.n > 0 &&
           mortise_jv_is(mortise_jv_get(c->node, "tool_errors"),
                         mortise_strz("fail"));
}

static int may_start(const struct call *c)
{
    const struct batch *b = &c->batch;

    if (b->waits || b->status != MORTISE_S_OK || has_failed(c))
        return 0;
    return b->out == 0 || agent_says(c, "parallel_tools");
}

/* (5).  NULL: there is none. */
static struct result *next_of(struct call *c)
{
    struct batch *b = &c->batch;
    int any = b->released || !agent_says(c, "parallel_tools");

    while (b->next < b->n) {
        struct result *r = &b->results[b->next++];

        if (!r->is_started && (any || r->tool != NULL))
            return r;
    }
    return NULL;
}

static void start(struct call *c)
{
    struct result *r;

    while (may_start(c) && (r = next_of(c)) != NULL)
        c->batch.status = run(r);
}

/* (5) */
static void release(struct call *c)
{
    struct batch *b = &c->batch;

    b->released = 1;
    b->next = 0;
    start(c);
    for (uint64_t i = 0; i < b->n; i++) {
        struct result *r = &b->results[i];
        mortise_status status;

        if (r->held == NULL)
            continue;
        b->held--;
        status = r->held(r);
        r->held = NULL;
        if (status != MORTISE_S_PENDING)
            note_end(b, status);
    }
}

/* Takes the call, once all that run have ended. */
static void go_on(struct call *c)
{
    struct batch *b = &c->batch;
    mortise_jv error;

    start(c);
    if (b->out > b->held)
        return;
    if (!b->released && !b->waits && b->status == MORTISE_S_OK)
        release(c);
    if (b->out > b->held)
        return;
    if (b->status != MORTISE_S_OK) {
        agent_end_as(c, b->status);
    } else if (b->waits) {
        agent_end_as(c, MORTISE_S_SUSPENDED); /* (3) */
    } else if (has_failed(c)) {
        b->status = mortise_jv_parse(bytes_str(&b->error), &error);
        assert(b->status == MORTISE_S_OK); /* it was part of an answer */
        agent_fail_as(c, error);
    } else {
        agent_take_results(c);
    }
}

/* ---- a batch ----------------------------------------------------------------- */

/* The names and arguments, one behind the other. */
static mortise_status describe(struct bytes *to, mortise_jv message)
{
    static const char *const members[] = {"name", "arguments",
                                          "arguments_text"};
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(message, "parts"));
    mortise_status status = MORTISE_S_OK;
    mortise_jv name, part;

    while (status == MORTISE_S_OK && mortise_jv_next(&it, &name, &part))
        for (size_t i = 0; is_call(part) && status == MORTISE_S_OK && i < 3;
             i++) {
            mortise_jv v = mortise_jv_get(part, members[i]);

            status = bytes_put(to, mortise_strn(v.p, v.n));
        }
    return status;
}

/* (4) */
static mortise_status count_same(struct call *c, mortise_jv message)
{
    struct bytes now = {0};
    mortise_status status = describe(&now, message);

    if (status != MORTISE_S_OK) {
        bytes_free(&now);
        return status;
    }
    c->n_called = now.n == c->called.n && memcmp(now.p, c->called.p, now.n) == 0
                      ? c->n_called + 1
                      : 1;
    bytes_free(&c->called);
    c->called = now;
    return MORTISE_S_OK;
}

/* Where each call's id and name stand in the copy of the message. */
static mortise_status find_calls(struct call *c)
{
    struct batch *b = &c->batch;
    mortise_jv_iter it;
    mortise_jv v, name, part;
    mortise_status status = mortise_jv_parse(bytes_str(&b->message), &v);
    uint64_t i = 0, n = 0;

    if (status != MORTISE_S_OK)
        return status;
    it = mortise_jv_each(mortise_jv_get(v, "parts"));
    while (mortise_jv_next(&it, &name, &part))
        n += (uint64_t)is_call(part);
    b->results = (struct result *)calloc(n, sizeof *b->results);
    if (b->results == NULL)
        return MORTISE_S_NOMEM;
    b->n = n;
    it = mortise_jv_each(mortise_jv_get(v, "parts"));
    while (mortise_jv_next(&it, &name, &part)) {
        if (!is_call(part))
            continue;
        b->results[i].of = c;
        b->results[i].tool = agent_tool_of(c, mortise_jv_get(part, "name"));
        b->results[i++].call = part;
    }
    return MORTISE_S_OK;
}

void agent_run_batch(struct call *c, mortise_jv message)
{
    struct batch *b = &c->batch;
    mortise_status status;

    agent_batch_free(b);
    status = count_same(c, message);
    if (status == MORTISE_S_OK && c->n_called == SAME) {
        agent_fail(c, "loop",
                   mortise_strz("the model called the same tools with the same "
                                "arguments three times in a row"));
        return;
    }
    if (status == MORTISE_S_OK)
        status = bytes_put(&b->message, mortise_strn(message.p, message.n));
    if (status == MORTISE_S_OK)
        status = find_calls(c);
    if (status != MORTISE_S_OK) {
        agent_end_as(c, status);
        return;
    }
    c->used_tools = 1;
    go_on(c);
}
