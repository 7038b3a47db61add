/* streams.c -- what a model says is told as it comes, but for a node whose
 * guardrails judge its output: there it is looked at first.
 *
 * Each call that tells pieces of text, of each kind (text, reasoning), is a
 * stream.  Its text is kept back until the guardrails of the node's output have
 * let pass all that there is so far, and then told up to `hold_back` bytes from
 * its end: what a guardrail can see only with what follows (the second half of
 * a number) has not been told when that comes.
 *
 *   (1) Nothing is told that the guardrails were not shown, in whole and from
 *       the beginning, and let pass.  What they say here decides about being
 *       told and nothing else: the output itself is judged by the run
 *       (core/run/outcome/guard.c), recorded and once.
 *   (2) The first violation, unless the node says `warn`, ends the stream: what
 *       is kept back is forgotten, and no more of it is told.  So does a
 *       guardrail that fails, dies or takes longer than it may.
 *   (3) One that asks for something (a judge asks a model, a schema the host)
 *       cannot be asked about half a text, for what it is told would have to be
 *       recorded and paid for each time.  With one among them nothing is told
 *       until the output is there.  The same holds of a reply that is to be JSON,
 *       in which \u0040 is an @ that no guardrail sees before it is read; of a
 *       model in a graph whose output, as a node's around it, is judged as well;
 *       and while a script answers in the place of plugins.
 *   (4) The window bounds what is asked: with more than that to look at, once
 *       more, all of it; a text beyond MOST bytes is told no further.
 *   (5) What the run's own look lets pass is told then, in front of the end of
 *       its node, and nothing behind the end of the run.
 *
 * A look is a call of the guardrail that no run knows of (calls.c). */
#include "core/engine/runs/streams.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/utf8.h"
#include "core/plugin/kind.h"

enum {
    MOST = MORTISE_HOLD_BACK_MAX, /* bytes of a stream that are looked at */
    LOOK_MS = 10000               /* a look, where the node says nothing */
};

struct mortise_stream {
    struct mortise_hearer hearer; /* of looks */
    struct mortise_stream *next;  /* of the run's */
    struct mortise_live *live;
    const struct mortise_stream_ops *ops;
    const struct mortise_node *node;
    const char *type; /* of its events; static */
    uint64_t call;    /* whose text it is */
    uint32_t attempt, visit;
    char path[MORTISE_EXEC_PATH];
    struct mortise_buf text;
    size_t told, looked;   /* bytes from the beginning */
    size_t looking;        /* so many are being looked at; 0: none */
    size_t guard;          /* by which */
    bool is_over, is_dead; /* there is no more; (2) */
};

/* ---- which --------------------------------------------------------------- */

static const struct mortise_guard_list *guards_of(const struct mortise_node *n)
{
    return &n->guards[MORTISE_GUARD_OUTPUT];
}

/* What a model says to a guardrail, or to what makes an output short, is nobody's
 * output at all. */
static bool is_aside(const struct mortise_ongoing *c)
{
    return c->is_aside || (c->serves != NULL && c->serves->call != NULL &&
                           c->serves->call->is_aside);
}

bool mortise_stream_holds(const struct mortise_ongoing *c)
{
    return c->live != NULL && c->node != NULL &&
           (guards_of(c->node)->n > 0 || c->is_within_held || is_aside(c));
}

static bool is_to_be_json(const struct mortise_ongoing *c)
{
    return c->serves != NULL &&
           json_object_get(c->serves->body, "response") != NULL;
}

/* (3) */
static bool can_look(const struct mortise_ongoing *c,
                     const struct mortise_stream_ops *ops)
{
    const struct mortise_guard_list *guards = guards_of(c->node);

    if (is_aside(c) || c->is_within_held || is_to_be_json(c) ||
        c->m->script != NULL)
        return false;
    for (size_t i = 0; i < guards->n; i++) {
        const struct mortise_manifest *man = ops->guard(c->m, guards->ids[i]);

        if (man == NULL || man->n_methods > 0)
            return false;
    }
    return true;
}

static struct mortise_stream *find(const struct mortise_live *live,
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
    if (s->hearer.call != NULL)
        s->hearer.call->hearer = NULL;
    mortise_buf_finish(&s->text);
    mortise_release(s->live->m->mem, s, sizeof *s);
}

static void die(struct mortise_stream *s)
{
    s->is_dead = true;
    s->looking = 0;
    mortise_buf_finish(&s->text);
    mortise_buf_init(&s->text, s->live->m->mem);
}

/* ---- telling ------------------------------------------------------------- */

/* A character that began before `n` bytes is not cut. */
static size_t whole_until(const struct mortise_stream *s, size_t n)
{
    return mortise_utf8_cut((const char *)s->text.p, s->text.n, n);
}

static void tell(struct mortise_stream *s, size_t until)
{
    char at[MORTISE_TIME_TEXT];
    json_t *event;

    until = whole_until(s, until);
    if (until <= s->told)
        return;
    mortise_time_text(at, mortise_now_ms());
    event = json_pack(
        "{s:b, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:s%}", "ephemeral", 1, "run",
        s->live->id, "tenant", s->live->tenant, "at", at, "type", s->type,
        "node", s->node->id, "path", s->path, "attempt", (int)s->attempt,
        "text", (const char *)s->text.p + s->told, until - s->told);
    s->told = until;
    s->ops->tell(s->live, event);
    json_decref(event);
}

/* All guardrails let it pass so far. */
static void passed(struct mortise_stream *s)
{
    const size_t window = s->node->hold_back;

    s->looked = s->looking;
    s->looking = 0;
    if (s->is_over && s->looked == s->text.n)
        tell(s, s->looked);
    else if (s->looked > window)
        tell(s, s->looked - window);
}

/* ---- looking ------------------------------------------------------------- */

/* The next guardrail is shown all that was there when the look began. */
static void ask(struct mortise_stream *s)
{
    struct mortise_run_call rc = {.kind = MORTISE_RUN_CHECK,
                                  .node = s->node,
                                  .plugin = guards_of(s->node)->ids[s->guard],
                                  .stage = MORTISE_GUARD_OUTPUT,
                                  .attempt = s->attempt,
                                  .visit = s->visit};
    struct mortise_err err;
    int rv;

    snprintf(rc.path, sizeof rc.path, "%s", s->path);
    rc.body =
        mortise_json_strn((const char *)s->text.p, whole_until(s, s->looking));
    rv = rc.body != NULL
             ? s->ops->look(&s->hearer, s->live, &rc,
                            s->node->timeout_ms != 0 ? s->node->timeout_ms
                                                     : LOOK_MS,
                            &err)
             : MORTISE_ENOMEM;
    json_decref(rc.body);
    if (rv != MORTISE_OK)
        die(s);
}

/* Is there enough that nobody looked at? (4)  While nobody watches, nobody need;
 * what comes is kept all the same, for who begins to watch is told of what was
 * seen whole. */
static bool is_due(const struct mortise_stream *s)
{
    return s->live->topic != NULL && s->text.n > s->looked &&
           (s->is_over || s->text.n - s->looked >= s->node->hold_back);
}

static void go_on(struct mortise_stream *s)
{
    if (s->text.failed || s->text.n > MOST)
        die(s);
    if (s->looking == 0 && !s->is_dead && is_due(s)) {
        s->looking = s->text.n;
        s->guard = 0;
        ask(s);
    }
    if (s->is_over && s->looking == 0)
        stream_free(s);
}

/* A look ended, in whatever way. */
static void looked(struct mortise_hearer *h,
                   const struct mortise_host_call_served *how)
{
    struct mortise_stream *s = MORTISE_OF(h, struct mortise_stream, hearer);
    const bool violated = how->status != MORTISE_S_OK || how->violation;
    const bool warns = how->status == MORTISE_S_OK &&
                       s->node->on_violation == MORTISE_VIOLATION_WARN;

    if ((violated && !warns) || mortise_run_is_finished(s->live->run)) /* (5) */
        die(s);
    else if (!s->is_dead && ++s->guard < guards_of(s->node)->n) {
        ask(s);
        if (!s->is_dead)
            return;
    } else if (!s->is_dead)
        passed(s);
    go_on(s);
}

/* ---- pieces -------------------------------------------------------------- */

static struct mortise_stream *stream_new(struct mortise_ongoing *c,
                                         const char *type,
                                         const struct mortise_stream_ops *ops)
{
    struct mortise_stream *s = mortise_zalloc(c->m->mem, sizeof *s);

    if (s == NULL)
        return NULL;
    s->hearer.hear = looked;
    s->live = c->live;
    s->node = c->node;
    s->type = type;
    s->call = c->id;
    s->attempt = c->call.attempt;
    s->visit = c->call.visit;
    snprintf(s->path, sizeof s->path, "%s", c->path);
    mortise_buf_init(&s->text, c->m->mem);
    s->ops = ops;
    s->is_dead = !can_look(c, ops);
    s->next = c->live->streams;
    c->live->streams = s;
    return s;
}

void mortise_stream_put(struct mortise_ongoing *c, const char *type,
                        const json_t *text,
                        const struct mortise_stream_ops *ops)
{
    struct mortise_stream *s = find(c->live, c->id, type);

    if (s == NULL)
        s = stream_new(c, type, ops);
    if (s == NULL || s->is_dead)
        return; /* it is told as an output, or not at all */
    if (text == NULL)
        die(s);
    mortise_buf_put(&s->text, json_string_value(text),
                    json_string_length(text));
    go_on(s);
}

void mortise_stream_end(struct mortise_ongoing *c)
{
    struct mortise_stream *s, *next;

    for (s = c->live->streams; s != NULL; s = next) {
        next = s->next;
        if (s->call != c->id || s->is_over)
            continue;
        s->is_over = true;
        go_on(s);
    }
}

/* Is that text all of an output, and ready to be told? */
static bool is_text_of(struct mortise_stream *s, const json_t *output)
{
    return s->is_over && !s->is_dead && !s->text.failed &&
           json_is_string(output) && json_string_length(output) == s->text.n &&
           memcmp(json_string_value(output), s->text.p, s->text.n) == 0;
}

void mortise_stream_judged(struct mortise_ongoing *check, bool passed)
{
    struct mortise_stream *s = check->live->streams, *next;
    json_t *output = NULL;

    if (passed && s != NULL) /* else there is nobody to tell */
        mortise_json_read(&output, check->body, check->call.body_size, NULL);

    for (; output != NULL && s != NULL; s = next) {
        next = s->next;
        if (strcmp(s->path, check->path) != 0 || !is_text_of(s, output))
            continue;
        tell(s, s->text.n);
        stream_free(s);
    }
    json_decref(output);
}

void mortise_streams_drop(struct mortise_live *live)
{
    while (live->streams != NULL)
        stream_free(live->streams);
}
