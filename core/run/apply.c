/* apply.c -- what each entry does to the struct of a run.
 *
 * Every durable change is an entry, and every entry is applied here, whether
 * it was decided a moment ago or read from a checkpoint.  So a replayed run is
 * the run that was, by construction; what only matters while it is live (calls,
 * timers) is kept apart and never written.
 *
 * Applying decides nothing: which edges were taken stands in the entry.  What
 * follows by rule alone is derived (frame.c) and not stored: dead edges,
 * skipped nodes, activations.
 *
 * Entries come from a disk.  One that does not fit the run (an execution that
 * is not there, an edge of another node) makes it MORTISE_ECORRUPT.
 */
#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "run/internal.h"

void drop(json_t **ref)
{
    json_decref(*ref);
    *ref = NULL;
}

void hold(json_t **ref, json_t *value)
{
    json_incref(value);
    json_decref(*ref);
    *ref = value;
}

int corrupt(struct mortise_err *err, const struct mortise_entry *e)
{
    return mortise_fail(err, MORTISE_ECORRUPT,
                        "a '%s' entry does not fit the run",
                        mortise_entry_type_name(e->type));
}

const struct mortise_node *node_of(const struct mortise_run *r,
                                   const struct exec *x)
{
    (void)r;
    assert(x->node < x->frame->graph->n_nodes); /* not START, not an update */
    return &x->frame->graph->nodes[x->node];
}

/* `*at` letters are there already; what does not fit is a wrong program. */
static void append(char out[MORTISE_EXEC_PATH], size_t *at, const char *text)
{
    size_t n = strlen(text);

    assert(*at + n <
           MORTISE_EXEC_PATH); /* graph/ bounds ids and how maps nest */
    memcpy(out + *at, text, n + 1);
    *at += n;
}

void exec_path(const struct mortise_run *r, const struct exec *x,
               char out[MORTISE_EXEC_PATH])
{
    char digits[12] = "";
    size_t at = 0, k = sizeof digits - 1;

    for (uint32_t v = x->visit; v > 0 || k == sizeof digits - 1; v /= 10)
        digits[--k] = (char)('0' + v % 10);
    append(out, &at, x->frame->scope->prefix);
    append(out, &at,
           x->node == MORTISE_START ? "START"
           : x->node == NODE_UPDATE ? "update"
                                    : node_of(r, x)->id);
    append(out, &at, "#");
    append(out, &at, digits + k);
    append(out, &at, x->frame->scope->suffix);
    append(out, &at, x->fan != NULL ? "[*]" : "");
}

struct artifact *artifact_of(struct mortise_run *r, const struct exec *x)
{
    struct artifact *n = &x->frame->top->scope->artifacts[x->node];
    const char *as = node_of(r, x)->output_as;
    struct mortise_path *path;
    struct mortise_buf text;
    char *copy;

    if (n->path != NULL)
        return n;
    path = mortise_arena_alloc(&r->arena, sizeof *path);
    if (path == NULL)
        return NULL;
    path->n = 2;
    path->steps = mortise_arena_alloc(&r->arena, 2 * sizeof path->steps[0]);
    mortise_buf_init(&text, r->mem);
    mortise_buf_puts(&text, "artifacts[\"");
    mortise_buf_puts(&text, as);
    mortise_buf_puts(&text, "\"]");
    copy =
        text.failed ? NULL : mortise_arena_strndup(&r->arena, text.p, text.n);
    mortise_buf_finish(&text);
    if (path->steps == NULL || copy == NULL)
        return NULL;
    path->text = copy;
    path->steps[0].key = "artifacts";
    path->steps[1].key = as;
    n->how = mortise_graph_reducer(x->frame->graph, path);
    n->path = path;
    return n;
}

/* ---- durable events ----------------------------------------------------- */

bool seen(const struct mortise_run *r)
{
    return r->watched || r->sink != NULL;
}

int announce(struct mortise_run *r, const struct exec *x, const char *type,
             json_t *extra, struct mortise_err *err)
{
    uint64_t seq = ++r->n_events;
    char at[MORTISE_TIME_TEXT], path[MORTISE_EXEC_PATH];
    json_t *event;

    if (!seen(r)) {
        json_decref(extra);
        return MORTISE_OK;
    }
    mortise_time_text(at, r->time_ms);
    event =
        json_pack("{s:I, s:s, s:s, s:s, s:s}", "seq", (json_int_t)seq, "run",
                  r->id, "tenant", r->tenant, "at", at, "type", type);
    if (event != NULL && x != NULL) {
        exec_path(r, x, path);
        json_object_set_new(event, "node", json_string(node_of(r, x)->id));
        json_object_set_new(event, "path", json_string(path));
        json_object_set_new(event, "attempt", json_integer(x->attempt));
    }
    if (event == NULL ||
        (extra != NULL && json_object_update(event, extra) != 0)) {
        json_decref(extra);
        json_decref(event);
        return mortise_nomem(err);
    }
    json_decref(extra);
    if (r->sink != NULL) {
        if (r->sink_said == 0)
            r->sink_said = r->sink(r->sink_ud, event);
        json_decref(event);
        return MORTISE_OK;
    }
    struct unsent *grown = mortise_grow(r->mem, r->unsent, r->n_unsent,
                                        &r->cap_unsent, sizeof *grown);
    if (grown == NULL) {
        json_decref(event);
        return mortise_nomem(err);
    }
    r->unsent = grown;
    r->unsent[r->n_unsent++] = (struct unsent){r->seq + 1, event};
    return MORTISE_OK;
}

json_t *live_event(const struct mortise_run *r, const struct exec *x,
                   const char *type)
{
    char at[MORTISE_TIME_TEXT], path[MORTISE_EXEC_PATH];

    mortise_time_text(at, r->time_ms);
    exec_path(r, x, path);
    return json_pack("{s:b, s:s, s:s, s:s, s:s, s:s, s:s, s:i}", "ephemeral", 1,
                     "run", r->id, "tenant", r->tenant, "at", at, "type", type,
                     "node", node_of(r, x)->id, "path", path, "attempt",
                     (int)x->attempt);
}

int announce_live(struct mortise_run *r, const struct exec *x, const char *type,
                  struct mortise_err *err)
{
    struct mortise_action *a;
    json_t *event;

    if (!r->watched || r->actions == NULL)
        return MORTISE_OK;
    event = live_event(r, x, type);
    a = event != NULL ? action_new(r, MORTISE_ACT_PUBLISH, err) : NULL;
    if (a == NULL) {
        json_decref(event);
        return mortise_nomem(err);
    }
    a->u.publish = event;
    return MORTISE_OK;
}

/* A command that was recorded.  What it was about is in `node` or `reason`;
 * NULL: nothing. */
static int announce_command(struct mortise_run *r, const char *command,
                            const char *actor, const char *node, json_t *reason,
                            struct mortise_err *err)
{
    json_t *extra = NULL;

    if (seen(r))
        extra = json_pack("{s:s, s:s, s:s*, s:O*}", "command", command, "actor",
                          actor, "node", node, "reason", reason);
    return announce(r, NULL, "command", extra, err);
}

/* ---- executions --------------------------------------------------------- */

struct exec *exec_new(struct mortise_run *r, struct frame *f, uint32_t node,
                      uint32_t visit, const uint32_t *preds, uint32_t n,
                      struct mortise_err *err)
{
    struct exec **grown = mortise_grow(r->mem, r->execs, r->n_execs,
                                       &r->cap_execs, sizeof grown[0]);
    struct exec *x;

    if (grown == NULL) {
        mortise_nomem(err);
        return NULL;
    }
    r->execs = grown;
    x = mortise_arena_alloc(&r->arena, sizeof *x);
    if (x == NULL) {
        mortise_nomem(err);
        return NULL;
    }
    x->index = (uint32_t)r->n_execs;
    x->node = node;
    x->visit = visit;
    x->generation = 1;
    x->attempt = 1;
    x->frame = f;
    x->idom = x->index; /* of START */
    if (n > 0 && past_link(r, x, preds, n, err) != MORTISE_OK)
        return NULL;
    x->sibling = f->execs;
    f->execs = x;
    r->execs[r->n_execs++] = x;
    return x;
}

/* How much a state weighs in the run's counters. */
static void count(struct mortise_run *r, struct exec *x, uint32_t by)
{
    switch (x->state) {
    case X_READY:
    case X_INTENT:
    case X_BACKOFF:
        r->n_waiting += by;
        break;
    case X_RUNNING:
    case X_STOPPING:
        r->n_running += by;
        clock_count(r, x, by);
        break;
    case X_ASKED:
        r->n_asked += by;
        r->n_doubt += x->ask == MORTISE_ASK_DOUBT ? by : 0;
        r->n_human += x->ask == MORTISE_ASK_HUMAN ? by : 0;
        r->n_approval += x->ask == MORTISE_ASK_APPROVAL ? by : 0;
        break;
    case X_HELD:
        r->n_asked += by;
        break;
    case X_INSIDE:
        r->n_inside += by;
        break;
    case X_SUSPENDED:
        r->n_suspended += by;
        break;
    case X_DONE:
        r->n_finished += by;
        break;
    case X_FAILED:
        r->n_finished += by;
        r->n_failed += x->handled ? 0 : by;
        break;
    case X_CANCELLED:
        break;
    }
}

static bool is_at_work(enum exec_state s)
{
    return s != 0 && s != X_DONE && s != X_FAILED && s != X_CANCELLED;
}

void exec_near(struct mortise_run *r, struct exec *x, bool near)
{
    r->n_near += (uint32_t)near - (uint32_t)x->near;
    x->near = near;
}

void exec_become(struct mortise_run *r, struct exec *x, enum exec_state s)
{
    x->frame->top->scope->n_live += is_at_work(s) - is_at_work(x->state);
    if (x->state != 0)
        count(r, x, (uint32_t)-1);
    r->n_fresh -= x->state == X_READY && !x->counted;
    if (s != X_SUSPENDED)
        exec_near(r, x, false);
    x->state = s;
    r->n_fresh += s == X_READY && !x->counted;
    count(r, x, 1);
}

int exec_ready(struct mortise_run *r, struct exec *x, struct mortise_err *err)
{
    uint32_t *grown;

    if (x->fan != NULL)
        return map_ready(r, x, err);
    if (r->ready_head > 64 && 2 * r->ready_head > r->n_ready) {
        r->n_ready -= r->ready_head;
        memmove(r->ready, r->ready + r->ready_head,
                r->n_ready * sizeof r->ready[0]);
        r->ready_head = 0;
    }
    grown = mortise_grow(r->mem, r->ready, r->n_ready, &r->cap_ready,
                         sizeof grown[0]);
    if (grown == NULL)
        return mortise_nomem(err);
    r->ready = grown;
    r->ready[r->n_ready++] = x->index;
    exec_become(r, x, X_READY);
    return MORTISE_OK;
}

/* Nothing more happens to it, unless somebody has a failure tried again. */
static bool is_over(const struct exec *x)
{
    return x->state == X_DONE || x->state == X_FAILED ||
           x->state == X_CANCELLED;
}

/* A new start of the same visit, with an empty journal. */
static int next_generation(struct mortise_run *r, struct exec *x,
                           struct mortise_err *err)
{
    x->generation++;
    x->attempt = 1;
    x->ordinal = 0;
    x->ended_ms = 0;
    drop(&x->body);
    drop(&x->subject);
    drop(&x->error);
    drop(&x->notes);
    x->guard = 0;
    return step_clear(r, x, err) == MORTISE_OK ? exec_ready(r, x, err)
                                               : MORTISE_ENOMEM;
}

/* ---- entries ------------------------------------------------------------ */

/* Are the entry's edges among `out`, in its order? */
static bool edges_fit(const uint32_t *out, uint32_t n_out,
                      const struct mortise_entry *e)
{
    size_t t = 0;

    for (uint32_t i = 0; i < n_out && t < e->n_edges; i++)
        t += out[i] == e->edges[t];
    return t == e->n_edges;
}

static int keep_taken(struct mortise_run *r, struct exec *x,
                      const struct mortise_entry *e, struct mortise_err *err)
{
    x->taken = mortise_arena_alloc(&r->arena, e->n_edges * sizeof x->taken[0]);
    if (x->taken == NULL)
        return mortise_nomem(err);
    if (e->n_edges > 0)
        memcpy(x->taken, e->edges, e->n_edges * sizeof x->taken[0]);
    x->n_taken = (uint32_t)e->n_edges;
    return MORTISE_OK;
}

struct item *item_of_exec(const struct exec *x)
{
    return x->fan != NULL ? x->fan->item : item_of(x->frame, x->node);
}

/* What gathers the map that `node` is the entry of, in f. */
static struct exec *gather_of(const struct frame *f, uint32_t node)
{
    const struct mortise_region *all = f->graph->regions;
    const struct mortise_region *child;
    uint32_t at = f->graph->nodes[node].region;
    const struct item *it;

    while (at != 0 && all[at].parent != f->region->index)
        at = all[at].parent;
    if (at == 0 || all[at].kind != MORTISE_REGION_MAP || all[at].entry != node)
        return NULL;
    it = item_to(f, node, &child);
    return it->fan != NULL ? it->fan->gather : NULL;
}

static struct exec *exec_of(const struct mortise_run *r,
                            const struct mortise_entry *e)
{
    const struct frame *f;
    struct exec *x;

    if (e->frame >= r->n_frames)
        return NULL;
    f = r->frames[e->frame];
    if (e->node >= f->graph->n_nodes)
        return NULL;
    if (f->graph->nodes[e->node].region != f->region->index)
        x = gather_of(f, e->node);
    else if (item_of(f, e->node)->exec != 0)
        x = r->execs[item_of(f, e->node)->exec];
    else
        return NULL;
    return x != NULL && x->visit == e->visit ? x : NULL;
}

static int apply_repin(struct mortise_run *r, const struct mortise_entry *e,
                       struct mortise_err *err)
{
    int rv = json_is_object(e->value) ? pins_replace(r, e->value, err)
                                      : corrupt(err, e);

    return rv == MORTISE_OK ? announce_command(r, "accept_plugins", e->actor,
                                               NULL, NULL, err)
                            : rv;
}

static int apply_admit(struct mortise_run *r, const struct mortise_entry *e,
                       struct mortise_err *err)
{
    struct exec *x;
    int rv;

    if (r->n_execs != 0 || !json_is_object(e->value) ||
        !edges_fit(r->graph->start, r->graph->n_start, e))
        return corrupt(err, e);
    hold(&r->frames[0]->scope->input, e->value);
    memcpy(r->seed, e->digest, sizeof r->seed);
    r->created_ms = r->time_ms;
    rv = pins_admit(r, e->note, err);
    x = rv == MORTISE_OK
            ? exec_new(r, r->frames[0], MORTISE_START, 1, NULL, 0, err)
            : NULL;
    if (x == NULL)
        return rv != MORTISE_OK ? rv : MORTISE_ENOMEM;
    rv = keep_taken(r, x, e, err);
    if (rv == MORTISE_OK && seen(r))
        rv = announce(
            r, NULL, "run_start",
            json_pack("{s:s, s:s}", "graph", r->graph->name, "actor", e->actor),
            err);
    else if (rv == MORTISE_OK)
        rv = announce(r, NULL, "run_start", NULL, err);
    if (rv != MORTISE_OK)
        return rv;
    exec_become(r, x, X_DONE);
    r->n_finished--; /* START is no step */
    return frame_follow_start(r, x, err);
}

static int apply_intent(struct mortise_run *r, struct exec *x,
                        const struct mortise_entry *e, struct mortise_err *err)
{
    uint32_t *grown = mortise_grow(r->mem, r->intents, r->n_intents,
                                   &r->cap_intents, sizeof grown[0]);

    if (grown == NULL)
        return mortise_nomem(err);
    r->intents = grown;
    r->intents[r->n_intents++] = x->index;
    x->attempt = e->attempt;
    x->started_ms = e->started_ms;
    x->effect_open = true;
    x->intent_seq = r->seq + 1;
    memcpy(x->key, e->digest, sizeof x->key);
    exec_become(r, x, X_INTENT);
    return MORTISE_OK;
}

static int write_of(struct mortise_run *r, struct exec *x,
                    const struct mortise_entry_write *from,
                    struct mortise_write *to, struct mortise_err *err)
{
    const struct mortise_node *n =
        x->node == NODE_UPDATE ? NULL : node_of(r, x);
    struct mortise_path *path;
    int rv;

    if (from->ref == MORTISE_WRITE_SPELLED) {
        path = mortise_arena_alloc(&r->arena, sizeof *path);
        if (path == NULL)
            return mortise_nomem(err);
        to->path = path;
        to->reduce = from->reduce;
        rv = mortise_path_parse(path, &r->arena, from->text, strlen(from->text),
                                err);
        if (rv == MORTISE_OK && to->reduce > MORTISE_REDUCE_LAST)
            to->how = mortise_graph_reducer(x->frame->graph, path);
        if (rv == MORTISE_OK && to->reduce == MORTISE_REDUCE_EXPR &&
            (to->how == NULL || to->how->reduce != MORTISE_REDUCE_EXPR))
            rv = mortise_fail(err, MORTISE_EINVAL, "no reducer at %s",
                              path->text);
        return rv == MORTISE_EINVAL
                   ? mortise_doing(err, MORTISE_ECORRUPT, "a write")
                   : rv;
    }
    if (n != NULL && from->ref == MORTISE_WRITE_AS && n->output_as != NULL) {
        const struct artifact *as = artifact_of(r, x);

        if (as == NULL)
            return mortise_nomem(err);
        to->path = as->path;
        to->how = as->how;
        to->reduce = to->how != NULL ? to->how->reduce : MORTISE_REDUCE_DEFAULT;
        return MORTISE_OK;
    }
    if (n != NULL && from->ref == MORTISE_WRITE_TARGET && n->target_is_path)
        to->path = &n->target_path;
    else if (n != NULL && from->ref >= MORTISE_WRITE_OUTPUT &&
             from->ref - MORTISE_WRITE_OUTPUT < (int)n->n_outputs)
        to->path = &n->outputs[from->ref - MORTISE_WRITE_OUTPUT].path;
    else if (n != NULL && from->ref >= MORTISE_WRITE_OUTPUT &&
             from->ref - MORTISE_WRITE_OUTPUT <
                 (int)(n->n_outputs + n->n_output_mapping))
        to->path = &n->output_mapping[from->ref - MORTISE_WRITE_OUTPUT -
                                      (int)n->n_outputs]
                        .path;
    else
        return mortise_fail(err, MORTISE_ECORRUPT,
                            "a write names no path of its node");
    to->how = mortise_graph_reducer(x->frame->graph, to->path);
    to->reduce = to->how != NULL ? to->how->reduce : MORTISE_REDUCE_DEFAULT;
    if (to->how != NULL && from->ref == MORTISE_WRITE_TARGET) {
        to->reduce = MORTISE_REDUCE_LAST; /* in place means in place */
        to->how = NULL;
    }
    return MORTISE_OK;
}

/* The writes of an entry become the execution's; unless the decision left
 * them there already. */
int apply_writes(struct mortise_run *r, struct exec *x,
                 const struct mortise_entry *e, struct mortise_err *err)
{
    if (x->n_writes != 0 || e->n_writes == 0)
        return MORTISE_OK;
    x->writes =
        mortise_arena_alloc(&r->arena, e->n_writes * sizeof x->writes[0]);
    if (x->writes == NULL)
        return mortise_nomem(err);
    for (size_t i = 0; i < e->n_writes; i++) {
        int rv = write_of(r, x, &e->writes[i], &x->writes[i], err);

        if (rv != MORTISE_OK)
            return rv;
        x->writes[i].value = json_incref(e->writes[i].value);
        x->n_writes++;
        size_add(r, x, &x->writes[i]);
    }
    return MORTISE_OK;
}

/* One event for each guardrail's verdict. */
static int announce_notes(struct mortise_run *r, const struct exec *x,
                          struct mortise_err *err)
{
    size_t i;
    json_t *note;
    int rv = MORTISE_OK;

    json_array_foreach(x->notes, i, note)
    {
        if (rv == MORTISE_OK)
            rv = announce(r, x, "guardrail_result", json_deep_copy(note), err);
    }
    return rv;
}

/* Nothing that it asked matters any more. */
static int forget_live(struct mortise_run *r, struct exec *x,
                       struct mortise_err *err)
{
    drop(&x->body);
    drop(&x->broke);
    drop(&x->subject);
    x->stop = STOP_NONE;
    return step_clear(r, x, err);
}

static int apply_done(struct mortise_run *r, struct exec *x,
                      const struct mortise_entry *e, struct mortise_err *err)
{
    const struct mortise_node *n = node_of(r, x);
    int rv;

    if (!edges_fit(n->out, n->n_out, e))
        return corrupt(err, e);
    x->attempt = e->attempt;
    x->started_ms = e->started_ms;
    x->ended_ms = e->at_ms;
    x->effect_open = false;
    hold(&x->output, e->value);
    hold(&x->notes, e->note);
    drop(&x->error); /* of an earlier attempt */
    rv = forget_live(r, x, err);
    if (rv == MORTISE_OK)
        rv = apply_writes(r, x, e, err);
    if (rv == MORTISE_OK)
        rv = keep_taken(r, x, e, err);
    if (rv == MORTISE_OK)
        rv = announce_notes(r, x, err);
    if (rv == MORTISE_OK)
        rv =
            announce(r, x, "node_end",
                     seen(r) ? json_pack("{s:I}", "ms",
                                         (json_int_t)(e->at_ms - e->started_ms))
                             : NULL,
                     err);
    if (rv != MORTISE_OK)
        return rv;
    exec_become(r, x, n->interrupt_after ? X_HELD : X_DONE);
    return n->interrupt_after ? MORTISE_OK : frame_follow(r, x, EDGE_DEAD, err);
}

static json_t *error_extra(const struct mortise_run *r,
                           const struct mortise_entry *e)
{
    if (!seen(r))
        return NULL;
    return json_pack("{s:O}", "error", e->value);
}

/* A new attempt does everything anew; unless an effect is not settled that
 * cannot just be done again, for then it has to go on from there. */
static bool keeps_journal(const struct mortise_run *r, const struct exec *x)
{
    const struct mortise_node *n = node_of(r, x);

    return step_is_open(x) && !n->op->idempotent &&
           n->on_in_doubt != MORTISE_DOUBT_RETRY;
}

static int apply_retry(struct mortise_run *r, struct exec *x,
                       const struct mortise_entry *e, struct mortise_err *err)
{
    json_t *extra = error_extra(r, e);
    char next[MORTISE_TIME_TEXT];
    int rv;

    if (extra != NULL) {
        mortise_time_text(next, e->at_ms);
        json_object_set_new(extra, "next_at", json_string(next));
    }
    rv = announce(r, x, "retry_scheduled", extra, err);
    if (rv == MORTISE_OK && e->attempt >= x->attempt && !keeps_journal(r, x))
        rv = step_clear(r, x, err);
    hold(&x->error, e->value);
    x->attempt = e->attempt + 1;
    x->started_ms = e->started_ms;
    x->next_ms = e->at_ms;
    x->effect_open = false;
    x->stop = STOP_NONE;
    exec_become(r, x, X_BACKOFF);
    return rv;
}

static int apply_failed(struct mortise_run *r, struct exec *x,
                        const struct mortise_entry *e, struct mortise_err *err)
{
    const struct mortise_node *n = node_of(r, x);
    int rv;

    if (!edges_fit(n->out, n->n_out, e) || !json_is_object(e->value))
        return corrupt(err, e);
    x->attempt = e->attempt;
    x->started_ms = e->started_ms;
    x->ended_ms = e->at_ms;
    x->handled = e->n_edges > 0;
    x->child_failed = x->child != NULL && sub_failed(x->child);
    x->effect_open = e->how != 0; /* it never answered */
    x->doubted = x->effect_open;
    hold(&x->error, e->value);
    hold(&x->notes, e->note);
    rv = forget_live(r, x, err);
    if (rv == MORTISE_OK)
        rv = keep_taken(r, x, e, err);
    if (rv == MORTISE_OK)
        rv = announce_notes(r, x, err);
    if (rv == MORTISE_OK)
        rv = announce(r, x, "node_failed", error_extra(r, e), err);
    if (rv != MORTISE_OK)
        return rv;
    exec_become(r, x, X_FAILED);
    return frame_follow(r, x, x->handled ? EDGE_DEAD : EDGE_FAILED, err);
}

/* To the list of what the step under way opens or closes. */
static int pending_add(struct mortise_run *r, struct mortise_run_open **list,
                       size_t *n, size_t *cap, const char *id,
                       const struct mortise_run_open *one,
                       struct mortise_err *err)
{
    struct mortise_run_open *grown;

    if (r->actions == NULL)
        return MORTISE_OK; /* replaying: the store knows */
    grown = mortise_grow(r->mem, *list, *n, cap, sizeof *grown);
    if (grown == NULL)
        return mortise_nomem(err);
    *list = grown;
    grown[*n] = *one;
    json_incref(one->payload);
    memcpy(grown[(*n)++].id, id, REQUEST_ID);
    return MORTISE_OK;
}

int pending_open(struct mortise_run *r, const char *id, uint64_t deadline_ms,
                 json_t *payload, struct mortise_err *err)
{
    struct mortise_run_open one = {.deadline_ms = deadline_ms,
                                   .timer = payload == NULL,
                                   .payload = payload};

    return pending_add(r, &r->opens, &r->n_opens, &r->cap_opens, id, &one, err);
}

int pending_close(struct mortise_run *r, const char *id, uint64_t deadline_ms,
                  bool timer, struct mortise_err *err)
{
    struct mortise_run_open one = {.deadline_ms = deadline_ms, .timer = timer};

    return pending_add(r, &r->closes, &r->n_closes, &r->cap_closes, id, &one,
                       err);
}

/* Does a node of this type ask so? */
static bool may_ask(const struct mortise_node *n, uint8_t how)
{
    switch (how) {
    case MORTISE_ASK_APPROVAL:
    case MORTISE_ASK_DOUBT:
        return n->op != NULL;
    case MORTISE_ASK_HUMAN:
        return n->type == MORTISE_NODE_HUMAN;
    default:
        return how == MORTISE_ASK_BEFORE || how == MORTISE_ASK_AFTER;
    }
}

static int apply_ask(struct mortise_run *r, struct exec *x,
                     const struct mortise_entry *e, struct mortise_err *err)
{
    json_t *extra = NULL;
    int rv;

    if (strlen(e->id) != REQUEST_ID - 1 || !json_is_object(e->value) ||
        x->request[0] != '\0' || !may_ask(node_of(r, x), e->how) ||
        (x->state == X_HELD) != (e->how == MORTISE_ASK_AFTER))
        return corrupt(err, e);
    memcpy(x->request, e->id, REQUEST_ID);
    x->deadline_ms = e->at_ms;
    hold(&x->payload, e->value);
    x->ordinal++;
    if (x->started_ms == 0)
        x->started_ms = r->time_ms;
    if (seen(r))
        extra =
            json_pack("{s:s, s:O}", "id", x->request, "request", x->payload);
    rv = announce(r, x, "interrupt", extra, err);
    if (rv != MORTISE_OK)
        return rv;
    x->ask = (enum mortise_ask)e->how;
    if (e->how != MORTISE_ASK_AFTER)
        exec_become(r, x, X_ASKED);
    return pending_open(r, x->request, x->deadline_ms, x->payload, err);
}

/* What a settled request lets its execution do.  Where the execution ends by
 * it, a `done` or `failed` entry follows in the same record. */
static int apply_settle(struct mortise_run *r, struct exec *x,
                        const struct mortise_entry *e, struct mortise_err *err)
{
    json_t *extra = NULL;
    int rv;

    if (strcmp(x->request, e->id) != 0 || x->request[0] == '\0')
        return apply_settle_step(r, x, e, err);
    if (e->how < MORTISE_SETTLE_APPROVED || e->how > MORTISE_SETTLE_FAIL)
        return corrupt(err, e);
    if (seen(r))
        extra = json_pack("{s:s, s:s, s:s, s:O*}", "id", e->id, "decision",
                          mortise_settle_name((enum mortise_settle)e->how),
                          "actor", e->actor, "value", e->value);
    rv = announce(r, x, "decision", extra, err);
    if (rv == MORTISE_OK)
        rv = pending_close(r, x->request, x->deadline_ms, false, err);
    if (rv == MORTISE_OK && json_object_get(x->payload, "step") != NULL)
        rv = step_resolved(r, x, json_object_get(x->payload, "step"), e, err);
    if (rv != MORTISE_OK)
        return rv;
    x->request[0] = '\0';
    x->deadline_ms = 0;
    drop(&x->payload);
    if (x->state == X_HELD) {
        exec_become(r, x, X_DONE);
        return frame_follow(r, x, EDGE_DEAD, err);
    }
    if (e->how == MORTISE_SETTLE_APPROVED) {
        x->approved = true;
        memcpy(x->approved_digest, e->digest, MORTISE_DIGEST);
        hold(&x->body, json_object_get(e->value, "args"));
    }
    x->before_passed |= x->ask == MORTISE_ASK_BEFORE;
    if (e->how == MORTISE_SETTLE_RETRY || e->how == MORTISE_SETTLE_HAPPENED ||
        e->how == MORTISE_SETTLE_FAIL)
        x->effect_open = false;
    return exec_ready(r, x, err);
}

/* What starts from now on comes after the update: what failed or has not ended
 * is tried from the state that it wrote, and edges that were taken but led
 * nowhere yet lead from it. */
static int follow_update(struct mortise_run *r, struct exec *x,
                         const struct exec *u, struct mortise_err *err)
{
    int rv;

    if (x->state == X_HELD)
        x->heir = u->index;
    if (x->state == X_HELD || x->state == X_DONE ||
        (x->state == X_CANCELLED && !race_may_return(x)) ||
        (x->state == X_FAILED && x->handled))
        return MORTISE_OK;
    drop(&x->view);
    rv = past_link(r, x, &u->index, 1, err);
    /* A failure, and what it stopped, waits for `resume`; a scheduled pause is
     * still one. */
    if (rv != MORTISE_OK || x->state == X_FAILED || x->state == X_CANCELLED ||
        x->state == X_ASKED || x->state == X_INSIDE)
        return rv;
    return next_generation(r, x, err);
}

/* A commit after everything, by an execution of its own. */
static int apply_update(struct mortise_run *r, const struct mortise_entry *e,
                        struct mortise_err *err)
{
    uint32_t *preds, n;
    struct exec *u;
    size_t before = r->n_execs, room;
    int rv = past_frontier(r, r->frames[0], &preds, &n, &room, err);

    if (rv != MORTISE_OK)
        return rv;
    u = exec_new(r, r->frames[0], NODE_UPDATE, (uint32_t)before, preds, n, err);
    mortise_release(r->mem, preds, room);
    if (u == NULL)
        return MORTISE_ENOMEM;
    rv = apply_writes(r, u, e, err);
    if (rv != MORTISE_OK)
        return rv;
    r->update = u->index;
    u->n_taken = 2; /* never handed on: several may follow it */
    exec_become(r, u, X_DONE);
    r->n_finished--; /* no step either */
    frame_lead_from(r, u);
    for (size_t i = 0; rv == MORTISE_OK && i < before; i++) {
        if (r->execs[i]->frame->top == r->frames[0])
            rv = follow_update(r, r->execs[i], u, err);
    }
    return rv != MORTISE_OK
               ? rv
               : announce_command(r, "update", e->actor, NULL, NULL, err);
}

static int apply_goto(struct mortise_run *r, const struct mortise_entry *e,
                      struct mortise_err *err)
{
    uint32_t *preds, n;
    struct exec *x;
    size_t room;
    int rv;

    if (e->node >= r->graph->n_nodes ||
        e->visit != frame_visits(r, e->node) + 1)
        return corrupt(err, e);
    rv = past_frontier(r, r->frames[0], &preds, &n, &room, err);
    if (rv != MORTISE_OK)
        return rv;
    for (size_t i = 0; i < r->n_execs; i++) {
        struct exec *old = r->execs[i];

        if (old->state == X_FAILED && !old->handled) {
            old->handled = true; /* nobody tries it again */
            r->n_failed--;
        } else if (!is_over(old)) {
            rv = corrupt(err, e); /* `stopped` entries came before */
        }
    }
    if (rv == MORTISE_OK)
        rv = frame_goto(r, e->node, e->visit, preds, n, &x, err);
    mortise_release(r->mem, preds, room);
    if (rv != MORTISE_OK)
        return rv;
    x->before_passed = e->how != 0; /* force */
    drop(&r->error);
    drop(&r->frames[0]->scope->loop_error);
    r->frames[0]->scope->halt = LOSS_NONE;
    r->cancelling = false;
    rv = exec_ready(r, x, err);
    return rv != MORTISE_OK
               ? rv
               : announce_command(r, "goto", e->actor,
                                  r->graph->nodes[e->node].id, NULL, err);
}

/* What failed is tried again, and what was skipped for it waits again: once the
 * run failed of it, or will.  To end a pause is not to try again. */
static int apply_resume(struct mortise_run *r, const struct mortise_entry *e,
                        struct mortise_err *err)
{
    int rv = announce_command(r, "resume", e->actor, NULL, NULL, err);
    bool paused = r->paused != MORTISE_PAUSE_OVER;

    r->paused = MORTISE_PAUSE_OVER;
    if (r->error == NULL && (paused || !r->frames[0]->failed))
        return rv;
    drop(&r->error);
    rv = frame_reopen(r, err);
    for (size_t i = 0; rv == MORTISE_OK && i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        bool lives = x->node < x->frame->graph->n_nodes &&
                     item_of_exec(x)->phase == ITEM_ACTIVE &&
                     frame_is_alive(x->frame);

        if (lives && x->state == X_FAILED && x->child_failed) {
            drop(&x->error);
            exec_become(r, x, X_INSIDE); /* what failed is inside */
        } else if (lives && x->state == X_CANCELLED && x->child != NULL &&
                   race_may_return(x)) {
            x->loss = LOSS_NONE;
            drop(&x->error);
            exec_become(r, x, X_INSIDE);
        } else if (lives && ((x->state == X_FAILED && !x->handled) ||
                             (x->state == X_CANCELLED && race_may_return(x)))) {
            x->loss = LOSS_NONE;
            rv = next_generation(r, x, err);
        }
    }
    return rv;
}

static int apply_end(struct mortise_run *r, const struct mortise_entry *e,
                     struct mortise_err *err)
{
    if (e->how != MORTISE_RUN_COMPLETED && e->how != MORTISE_RUN_FAILED &&
        e->how != MORTISE_RUN_CANCELLED)
        return corrupt(err, e);
    r->status = e->how;
    r->reason = "";
    hold(&r->error, e->value);
    return announce(r, NULL, "run_end",
                    seen(r) ? json_pack("{s:s, s:O*}", "status",
                                        mortise_run_status_name(e->how),
                                        "error", e->value)
                            : NULL,
                    err);
}

/* It stands still, or does so no more: then the update or the goto that comes
 * with it says why. */
static int apply_pause(struct mortise_run *r, const struct mortise_entry *e,
                       struct mortise_err *err)
{
    if (e->how > MORTISE_PAUSE_SHUTDOWN)
        return corrupt(err, e);
    r->paused = (enum mortise_pause)e->how;
    if (r->paused == MORTISE_PAUSE_OVER)
        return MORTISE_OK;
    return announce_command(r, "pause", e->actor, NULL, e->value, err);
}

/* Who lost a race has not taken any of its edges; what was stopped otherwise
 * has decided nothing. */
static int apply_stopped(struct mortise_run *r, struct exec *x,
                         const struct mortise_entry *e, struct mortise_err *err)
{
    bool lost = e->type == MORTISE_E_LOST;

    if (lost && x->loss == LOSS_NONE)
        return corrupt(err, e);
    drop(&x->error);
    x->error = json_pack("{s:s, s:s}", "code", "cancelled", "message",
                         race_words(lost ? x->loss : LOSS_NONE));
    if (x->error == NULL)
        return mortise_nomem(err);
    x->ended_ms = e->at_ms;
    drop(&x->notes); /* of checks that came to no end */
    if (forget_live(r, x, err) != MORTISE_OK)
        return MORTISE_ENOMEM;
    exec_become(r, x, X_CANCELLED);
    if (!lost && x->child != NULL)
        frame_leave_behind(x->child);
    if (!lost)
        return MORTISE_OK;
    if (race_quiet(r, x->frame->top, err) != MORTISE_OK)
        return MORTISE_ENOMEM;
    if (announce_skipped(r, node_of(r, x), race_words(x->loss), err) !=
        MORTISE_OK)
        return MORTISE_ENOMEM;
    return x->loss == LOSS_RACE ? frame_follow(r, x, EDGE_DEAD, err)
                                : MORTISE_OK;
}

/* The child of a subgraph's execution begins. */
static int apply_child(struct mortise_run *r, struct exec *x,
                       const struct mortise_entry *e, struct mortise_err *err)
{
    const struct mortise_graph *g = node_of(r, x)->sub;
    struct exec *start;
    int rv;

    if (g == NULL || x->state == X_INSIDE || !json_is_object(e->value) ||
        !edges_fit(g->start, g->n_start, e))
        return corrupt(err, e);
    x->attempt = e->attempt;
    x->started_ms = e->started_ms;
    rv = sub_begin(r, x, e->value, err);
    if (rv != MORTISE_OK)
        return rv;
    start = exec_new(r, x->child, MORTISE_START, 1, NULL, 0, err);
    rv = start != NULL ? keep_taken(r, start, e, err) : MORTISE_ENOMEM;
    if (rv != MORTISE_OK)
        return rv;
    exec_become(r, start, X_DONE);
    r->n_finished--; /* START is no step */
    return frame_follow_start(r, start, err);
}

static int apply_halt(struct mortise_run *r, const struct mortise_entry *e,
                      struct mortise_err *err)
{
    if (e->frame >= r->n_frames || r->frames[e->frame]->parent != NULL ||
        e->how != LOSS_TIME)
        return corrupt(err, e);
    return race_halt(r, r->frames[e->frame], LOSS_TIME, err);
}

/* The list of a map edge, ahead of the `done` that takes it. */
static int apply_fan(struct mortise_run *r, struct exec *x,
                     const struct mortise_entry *e, struct mortise_err *err)
{
    const struct mortise_graph *g = x->frame->graph;

    if (x->fan != NULL || e->n_edges != 1 || e->edges[0] >= g->n_edges ||
        g->edges[e->edges[0]].kind != MORTISE_EDGE_MAP ||
        g->edges[e->edges[0]].from != x->node || !json_is_array(e->value))
        return corrupt(err, e);
    return map_keep(r, x, e->edges[0], e->value, err);
}

static int apply_gather(struct mortise_run *r, struct exec *x,
                        const struct mortise_entry *e, struct mortise_err *err)
{
    int rv;

    if (x->fan == NULL)
        return corrupt(err, e);
    x->ended_ms = e->at_ms;
    rv = apply_writes(r, x, e, err);
    if (rv != MORTISE_OK)
        return rv;
    x->n_taken = 1; /* the edge to the join, in no node's list */
    exec_become(r, x, X_DONE);
    r->n_finished--; /* no step */
    return frame_follow(r, x, EDGE_DEAD, err);
}

static bool is_request(const struct mortise_entry *e)
{
    return e->type == MORTISE_E_ASK || e->type == MORTISE_E_SETTLE;
}

static int apply_of_exec(struct mortise_run *r, const struct mortise_entry *e,
                         struct mortise_err *err)
{
    struct exec *x = exec_of(r, e);

    if (x == NULL || is_over(x) || (x->state == X_HELD && !is_request(e)))
        return corrupt(err, e);
    if (e->type != MORTISE_E_STOPPED && e->type != MORTISE_E_LOST)
        limit_count(r, x);
    switch (e->type) {
    case MORTISE_E_INTENT:
        return apply_intent(r, x, e, err);
    case MORTISE_E_DONE:
        return apply_done(r, x, e, err);
    case MORTISE_E_RETRY:
        return apply_retry(r, x, e, err);
    case MORTISE_E_FAILED:
        return apply_failed(r, x, e, err);
    case MORTISE_E_ASK:
        return apply_ask(r, x, e, err);
    case MORTISE_E_SETTLE:
        return apply_settle(r, x, e, err);
    case MORTISE_E_STEP:
        return apply_step(r, x, e, err);
    case MORTISE_E_ANSWER:
        return apply_answer(r, x, e, err);
    case MORTISE_E_LET_GO:
        return apply_let_go(r, x, e, err);
    case MORTISE_E_RESULT:
        hold(&x->result, e->value);
        memcpy(x->result_key, e->digest, sizeof x->result_key);
        x->effect_open = false;
        return MORTISE_OK;
    case MORTISE_E_CHILD:
        return apply_child(r, x, e, err);
    case MORTISE_E_FAN:
        return apply_fan(r, x, e, err);
    case MORTISE_E_GATHER:
        return apply_gather(r, x, e, err);
    default:
        return apply_stopped(r, x, e, err);
    }
}

int apply_entry(struct mortise_run *r, const struct mortise_entry *e,
                struct mortise_err *err)
{
    if ((e->type == MORTISE_E_ADMIT) != (r->n_execs == 0))
        return corrupt(err, e);
    if (e->type == MORTISE_E_GOTO || e->type == MORTISE_E_RESUME)
        r->status = MORTISE_RUN_RUNNING;
    switch (e->type) {
    case MORTISE_E_ADMIT:
        return apply_admit(r, e, err);
    case MORTISE_E_UPDATE:
        return apply_update(r, e, err);
    case MORTISE_E_GOTO:
        return apply_goto(r, e, err);
    case MORTISE_E_RESUME:
        return apply_resume(r, e, err);
    case MORTISE_E_CANCEL:
        r->cancelling = true;
        r->paused = MORTISE_PAUSE_OVER;
        return announce_command(r, "cancel", e->actor, NULL, e->value, err);
    case MORTISE_E_PAUSE:
        return apply_pause(r, e, err);
    case MORTISE_E_END:
        return apply_end(r, e, err);
    case MORTISE_E_HALT:
        return apply_halt(r, e, err);
    case MORTISE_E_CLOCK:
        clock_set(r, e->at_ms);
        return MORTISE_OK;
    case MORTISE_E_LIMIT:
        limit_raise(r, e->value);
        return announce_command(r, "limit", e->actor, NULL, e->value, err);
    case MORTISE_E_PINS:
        return apply_repin(r, e, err);
    default:
        return apply_of_exec(r, e, err);
    }
}

/* ---- recording ---------------------------------------------------------- */

static enum mortise_phase phase_of(const struct mortise_entry *e)
{
    switch (e->type) {
    case MORTISE_E_ADMIT:
        return MORTISE_PHASE_ADMIT;
    case MORTISE_E_INTENT:
        return MORTISE_PHASE_BEFORE;
    case MORTISE_E_STEP:
        return e->how == MORTISE_STEP_EFFECT ? MORTISE_PHASE_BEFORE
                                             : MORTISE_PHASE_INTERRUPT;
    case MORTISE_E_ASK:
        return MORTISE_PHASE_INTERRUPT;
    case MORTISE_E_FAILED:
    case MORTISE_E_RETRY:
    case MORTISE_E_HALT:
        return MORTISE_PHASE_ERROR;
    case MORTISE_E_END:
        return MORTISE_PHASE_END;
    case MORTISE_E_DONE:
    case MORTISE_E_RESULT:
    case MORTISE_E_ANSWER:
    case MORTISE_E_LET_GO:
    case MORTISE_E_STOPPED:
    case MORTISE_E_LOST:
    case MORTISE_E_FAN:
    case MORTISE_E_GATHER:
    case MORTISE_E_CHILD:
    case MORTISE_E_CLOCK:
        return MORTISE_PHASE_AFTER;
    default:
        return MORTISE_PHASE_COMMAND;
    }
}

int record(struct mortise_run *r, struct mortise_entry *e,
           struct mortise_err *err)
{
    if (e->actor == NULL)
        e->actor = "";
    if (e->id == NULL)
        e->id = "";
    if (e->frame != r->record_frame) {
        const struct mortise_entry frame = {.type = MORTISE_E_FRAME,
                                            .frame = e->frame};

        mortise_entry_write(&r->record, &frame);
        r->record_frame = e->frame;
    }
    if (e->key == NULL)
        e->key = e->method = "";
    mortise_entry_write(&r->record, e);
    if (r->record.failed)
        return mortise_nomem(err);
    r->phases |= 1u << phase_of(e);
    return apply_entry(r, e, err);
}
