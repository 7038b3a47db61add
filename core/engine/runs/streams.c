/* streams.c -- stream the text of a model, after guardrails have checked it.
 *
 * A model's text is published as it arrives, unless guardrails judge the output
 * of the node.  Then each kind of text (text, reasoning) of a call is a stream.
 * Its text is held back until the guardrails of the node's output have accepted
 * all of it so far; then it is published, except for the last `hold_back`
 * bytes.  So if a guardrail can only see a violation together with later text
 * (the second half of a number), the first part was not published.
 *
 *   (1) Text is published only after the guardrails saw all of it from the
 *       beginning and accepted it.  Their verdict here decides about publishing
 *       and nothing else: the run judges the output itself, once and recorded
 *       (core/run/outcome/guard.c).
 *   (2) The first violation, unless the node says `warn`, ends the stream: text
 *       that is held back is dropped, and no more is published.  The same holds
 *       if a guardrail fails, crashes or times out.
 *   (3) A guardrail that uses the host (a judge asks a model, a schema the
 *       host) cannot check half a text, because each answer would have to be
 *       recorded and paid for.  With one of these nothing is published until
 *       the output is complete.  The same holds for a reply in JSON, in which
 *       \u0040 is an @ that no guardrail sees before it is parsed; for a model
 *       in a graph whose output is judged as the output of an enclosing node;
 *       and when a script answers instead of plugins.
 *   (4) The window limits the number of checks: when more than `hold_back`
 *       bytes are new, all of the text is checked again.  A text beyond MOST
 *       bytes is not published further.
 *   (5) Text that the run's own check accepts is published then, before the end
 *       of its node, and never after the end of the run.
 *
 * A check is a call of the guardrail that is not part of the run (calls.c).
 */
#include "core/engine/runs/streams.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/utf8.h"
#include "core/plugin/kind.h"

enum {
    MOST = MORTISE_HOLD_BACK_MAX, /* limit in bytes of a stream that is
                                     checked */
    LOOK_MS = 10000               /* timeout of a check, if the node has none */
};

struct mortise_stream {
    struct mortise_result_receiver result_receiver; /* of checks */
    struct mortise_stream *next;  /* in the run's list */
    struct mortise_live *live;
    const struct mortise_stream_ops *ops;
    const struct mortise_node *node;
    const char *type; /* of its events; static */
    uint64_t call;    /* the call that produced the text */
    uint32_t attempt, visit;
    char path[MORTISE_EXEC_PATH];
    struct mortise_buf text;
    size_t told, looked;   /* bytes published and checked */
    size_t looking;        /* bytes in the current check; 0: none */
    size_t guard;          /* its guardrail */
    bool is_over, is_dead; /* the text is complete; (2) */
};

/* ---- selection ----------------------------------------------------------- */

static const struct mortise_guard_list *
get_output_guards(const struct mortise_node *n)
{
    return &n->guards[MORTISE_GUARD_OUTPUT];
}

/* Text of a model for a guardrail, or for the compaction of an output, is not
 * the output of a node. */
static bool is_aside_call(const struct mortise_plugin_call *c)
{
    return c->is_aside || (c->serves != NULL && c->serves->call != NULL &&
                           c->serves->call->is_aside);
}

bool mortise_stream_must_hold(const struct mortise_plugin_call *c)
{
    return c->live != NULL && c->node != NULL &&
           (get_output_guards(c->node)->n > 0 || c->is_within_held ||
            is_aside_call(c));
}

static bool has_json_response(const struct mortise_plugin_call *c)
{
    return c->serves != NULL &&
           json_object_get(c->serves->body, "response") != NULL;
}

/* (3) */
static bool can_check_stream(const struct mortise_plugin_call *c,
                             const struct mortise_stream_ops *ops)
{
    const struct mortise_guard_list *guards = get_output_guards(c->node);

    if (is_aside_call(c) || c->is_within_held || has_json_response(c) ||
        c->m->script != NULL)
        return false;
    for (size_t i = 0; i < guards->n; i++) {
        const struct mortise_manifest *man = ops->guard(c->m, guards->ids[i]);

        if (man == NULL || man->n_methods > 0)
            return false;
    }
    return true;
}

static struct mortise_stream *find_stream(const struct mortise_live *live,
                                          uint64_t call, const char *type)
{
    struct mortise_stream *s = live->streams;

    while (s != NULL && (s->call != call || s->type != type))
        s = s->next;
    return s;
}

static void stream_free(struct mortise_stream *s)
{
    struct mortise_stream **at = &s->live->streams;

    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    if (s->result_receiver.call != NULL)
        s->result_receiver.call->result_receiver = NULL;
    mortise_buf_finish(&s->text);
    mortise_release(s->live->m->mem, s, sizeof *s);
}

static void kill_stream(struct mortise_stream *s)
{
    s->is_dead = true;
    s->looking = 0;
    mortise_buf_finish(&s->text);
    mortise_buf_init(&s->text, s->live->m->mem);
}

/* ---- publish ------------------------------------------------------------- */

/* The largest cut of at most n bytes that splits no character. */
static size_t cut_at_character(const struct mortise_stream *s, size_t n)
{
    return mortise_utf8_get_prefix_size((const char *)s->text.p, s->text.n, n);
}

static void publish_until(struct mortise_stream *s, size_t until)
{
    char at[MORTISE_TIME_TEXT];
    json_t *event;

    until = cut_at_character(s, until);
    if (until <= s->told)
        return;
    mortise_time_format(at, mortise_now_ms());
    event = json_pack(
        "{s:b, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:s%}", "ephemeral", 1, "run",
        s->live->id, "tenant", s->live->tenant, "at", at, "type", s->type,
        "node", s->node->id, "path", s->path, "attempt", (int)s->attempt,
        "text", (const char *)s->text.p + s->told, until - s->told);
    s->told = until;
    s->ops->tell(s->live, event);
    json_decref(event);
}

/* All guardrails have accepted the text. */
static void publish_checked_text(struct mortise_stream *s)
{
    const size_t window = s->node->hold_back;

    s->looked = s->looking;
    s->looking = 0;
    if (s->is_over && s->looked == s->text.n)
        publish_until(s, s->looked);
    else if (s->looked > window)
        publish_until(s, s->looked - window);
}

/* ---- check --------------------------------------------------------------- */

/* Show the next guardrail the text that existed when the check began. */
static void ask_next_guardrail(struct mortise_stream *s)
{
    struct mortise_run_call rc = {.kind = MORTISE_RUN_CHECK,
                                  .node = s->node,
                                  .plugin =
                                      get_output_guards(s->node)->ids[s->guard],
                                  .stage = MORTISE_GUARD_OUTPUT,
                                  .attempt = s->attempt,
                                  .visit = s->visit};
    struct mortise_err err;
    int rv;

    snprintf(rc.path, sizeof rc.path, "%s", s->path);
    rc.body = mortise_json_make_string((const char *)s->text.p,
                                       cut_at_character(s, s->looking));
    rv = rc.body != NULL
             ? s->ops->look(&s->result_receiver, s->live, &rc,
                            s->node->timeout_ms != 0 ? s->node->timeout_ms
                                                     : LOOK_MS,
                            &err)
             : MORTISE_ENOMEM;
    json_decref(rc.body);
    if (rv != MORTISE_OK)
        kill_stream(s);
}

/* Is there enough unchecked text (4)?  Without a watch no check is needed; the
 * text is kept, because a later watch gets text that was checked from the
 * beginning. */
static bool is_check_due(const struct mortise_stream *s)
{
    return s->live->topic != NULL && s->text.n > s->looked &&
           (s->is_over || s->text.n - s->looked >= s->node->hold_back);
}

static void continue_stream(struct mortise_stream *s)
{
    if (s->text.failed || s->text.n > MOST)
        kill_stream(s);
    if (s->looking == 0 && !s->is_dead && is_check_due(s)) {
        s->looking = s->text.n;
        s->guard = 0;
        ask_next_guardrail(s);
    }
    if (s->is_over && s->looking == 0)
        stream_free(s);
}

/* A check ended. */
static void on_check_end(struct mortise_result_receiver *h,
                         const struct mortise_host_call_result *how)
{
    struct mortise_stream *s =
        MORTISE_CONTAINER_OF(h, struct mortise_stream, result_receiver);
    const bool violated = how->status != MORTISE_S_OK || how->violation;
    const bool warns = how->status == MORTISE_S_OK &&
                       s->node->on_violation == MORTISE_VIOLATION_WARN;

    if ((violated && !warns) || mortise_run_is_finished(s->live->run)) /* (5) */
        kill_stream(s);
    else if (!s->is_dead && ++s->guard < get_output_guards(s->node)->n) {
        ask_next_guardrail(s);
        if (!s->is_dead)
            return;
    } else if (!s->is_dead)
        publish_checked_text(s);
    continue_stream(s);
}

/* ---- pieces -------------------------------------------------------------- */

static struct mortise_stream *stream_new(struct mortise_plugin_call *c,
                                         const char *type,
                                         const struct mortise_stream_ops *ops)
{
    struct mortise_stream *s = mortise_zalloc(c->m->mem, sizeof *s);

    if (s == NULL)
        return NULL;
    s->result_receiver.hear = on_check_end;
    s->live = c->live;
    s->node = c->node;
    s->type = type;
    s->call = c->id;
    s->attempt = c->call.attempt;
    s->visit = c->call.visit;
    snprintf(s->path, sizeof s->path, "%s", c->path);
    mortise_buf_init(&s->text, c->m->mem);
    s->ops = ops;
    s->is_dead = !can_check_stream(c, ops);
    s->next = c->live->streams;
    c->live->streams = s;
    return s;
}

void mortise_stream_add_text(struct mortise_plugin_call *c, const char *type,
                             const json_t *text,
                             const struct mortise_stream_ops *ops)
{
    struct mortise_stream *s = find_stream(c->live, c->id, type);

    if (s == NULL)
        s = stream_new(c, type, ops);
    if (s == NULL || s->is_dead)
        return; /* it is published as an output, or not at all */
    if (text == NULL)
        kill_stream(s);
    mortise_buf_put(&s->text, json_string_value(text),
                    json_string_length(text));
    continue_stream(s);
}

void mortise_stream_end(struct mortise_plugin_call *c)
{
    struct mortise_stream *s, *next;

    for (s = c->live->streams; s != NULL; s = next) {
        next = s->next;
        if (s->call != c->id || s->is_over)
            continue;
        s->is_over = true;
        continue_stream(s);
    }
}

/* Is the stream complete, and equal to the output? */
static bool is_output_text(struct mortise_stream *s, const json_t *output)
{
    return s->is_over && !s->is_dead && !s->text.failed &&
           json_is_string(output) && json_string_length(output) == s->text.n &&
           memcmp(json_string_value(output), s->text.p, s->text.n) == 0;
}

void mortise_stream_handle_verdict(struct mortise_plugin_call *check,
                                   bool passed)
{
    struct mortise_stream *s = check->live->streams, *next;
    json_t *output = NULL;

    if (passed && s != NULL) /* otherwise nothing is held back */
        mortise_json_parse_written(&output, check->body, check->call.body_size,
                                   NULL);

    for (; output != NULL && s != NULL; s = next) {
        next = s->next;
        if (strcmp(s->path, check->path) != 0 || !is_output_text(s, output))
            continue;
        publish_until(s, s->text.n);
        stream_free(s);
    }
    json_decref(output);
}

void mortise_streams_free(struct mortise_live *live)
{
    while (live->streams != NULL)
        stream_free(live->streams);
}
