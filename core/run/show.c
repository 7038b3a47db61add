/* show.c -- JSON views of a run and of a checkpoint's entries.  docs/json.md
 * has the members. */

#include "base/clock.h"
#include "run/internal.h"

static const char *state_name(const struct exec *x)
{
    static const char *const names[] = {
        [X_READY] = "pending",     [X_ASKED] = "awaiting_approval",
        [X_INTENT] = "pending",    [X_INSIDE] = "running",
        [X_RUNNING] = "running",   [X_STOPPING] = "running",
        [X_SUSPENDED] = "waiting", [X_BACKOFF] = "pending",
        [X_HELD] = "done",         [X_DONE] = "done",
        [X_FAILED] = "failed",     [X_CANCELLED] = "skipped"};

    if (x->state == X_ASKED && x->ask == MORTISE_ASK_DOUBT)
        return "in_doubt";
    return names[x->state];
}

/* Times that are not known are left out. */
static int put_time(json_t *to, const char *name, uint64_t ms)
{
    char text[MORTISE_TIME_TEXT];

    if (ms == 0)
        return 0;
    mortise_time_text(text, ms);
    return json_object_set_new(to, name, json_string(text));
}

/* The executions whose edges it took, or that a command had it come after. */
static json_t *after_json(const struct mortise_run *r, const struct exec *x)
{
    json_t *list = json_array();
    char path[MORTISE_EXEC_PATH];

    for (uint32_t i = 0; list != NULL && i < x->n_preds; i++) {
        exec_path(r, r->execs[x->preds[i]], path);
        if (json_array_append_new(list, json_string(path)) != 0)
            drop(&list);
    }
    return list;
}

/* What its graph may spend, and has: left out where it has no budget. */
static int put_budget(json_t *to, const struct mortise_run *r,
                      const struct scope *in)
{
    return in->purse != NULL
               ? json_object_set_new(to, "budget", budget_json(r, in))
               : 0;
}

static bool is_unsettled(const struct mortise_run *r, const struct exec *x)
{
    return exec_is_over(x) ? doubt_is_kept(r, x)
                           : x->effect_open || step_is_open(x);
}

/* One execution's record (graph.md 4). */
static json_t *exec_json(const struct mortise_run *r, const struct exec *x)
{
    char path[MORTISE_EXEC_PATH];
    json_t *out;

    exec_path(r, x, path);
    out = json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:o}", "node",
                    node_of(r, x)->id, "path", path, "type",
                    mortise_node_type_name(node_of(r, x)->type), "status",
                    state_name(x), "attempts", (int)x->attempt, "visit",
                    (int)x->visit, "generation", (int)x->generation, "after",
                    after_json(r, x));
    if (out == NULL)
        return NULL;
    if (put_time(out, "started", x->started_ms) != 0 ||
        put_time(out, "ended", x->ended_ms) != 0 ||
        (x->output != NULL && json_object_set(out, "output", x->output) != 0) ||
        (x->cached && json_object_set_new(out, "cached", json_true()) != 0) ||
        (x->error != NULL && json_object_set(out, "error", x->error) != 0) ||
        (x->notes != NULL &&
         json_object_set(out, "guardrails", x->notes) != 0) ||
        (x->caught != NULL && json_object_set(out, "failed", x->caught) != 0) ||
        usage_put(out, x) != 0 ||
        (x->child != NULL && put_budget(out, r, x->child->scope) != 0) ||
        (is_unsettled(r, x) &&
         json_object_set_new(out, "effect", json_string("unsettled")) != 0)) {
        json_decref(out);
        return NULL;
    }
    return out;
}

/* A node that never started: waiting for its edges, or skipped. */
static json_t *node_json(const struct mortise_run *r, uint32_t i)
{
    bool skipped = mortise_run_is_finished(r) || frame_skipped(r->frames[0], i);

    return json_pack("{s:s, s:s, s:s}", "node", r->graph->nodes[i].id, "type",
                     mortise_node_type_name(r->graph->nodes[i].type), "status",
                     skipped ? "skipped" : "pending");
}

static bool is_of_node(const struct exec *x)
{
    return x->node != MORTISE_START && x->node != NODE_UPDATE && x->fan == NULL;
}

static json_t *nodes_json(const struct mortise_run *r)
{
    json_t *list = json_array();
    bool *ran = mortise_zalloc(r->mem, r->graph->n_nodes * sizeof *ran);

    if (ran == NULL)
        drop(&list);
    for (size_t i = 1; list != NULL && i < r->n_execs; i++) {
        const struct exec *x = r->execs[i];

        if (!is_of_node(x))
            continue;
        if (x->frame->top == r->frames[0])
            ran[x->node] = true;
        if (json_array_append_new(list, exec_json(r, x)) != 0)
            drop(&list);
    }
    for (uint32_t i = 0; list != NULL && i < r->graph->n_nodes; i++) {
        if (!ran[i] && json_array_append_new(list, node_json(r, i)) != 0)
            drop(&list);
    }
    mortise_release(r->mem, ran, r->graph->n_nodes * sizeof *ran);
    return list;
}

static json_t *pending_json(const struct mortise_run *r)
{
    json_t *list = json_array();

    for (size_t i = 1; list != NULL && i < r->n_execs; i++) {
        const struct exec *x = r->execs[i];
        json_t *one;

        if (step_pending_json(x, list) != MORTISE_OK) {
            drop(&list);
            break;
        }
        if (x->request[0] == '\0')
            continue;
        one = json_copy(x->payload);
        if (one == NULL || put_time(one, "deadline", x->deadline_ms) != 0 ||
            json_array_append_new(list, one) != 0)
            drop(&list);
    }
    return list;
}

/* {input, scratch, artifacts}; where writes conflict, as far as that goes. */
static json_t *state_json(struct mortise_run *r)
{
    json_t *state, *out;

    if (past_total(r, r->frames[0], false, &state, NULL) != MORTISE_OK)
        return json_pack("{s:O}", "input", r->frames[0]->scope->input);
    out = json_pack("{s:O, s:O, s:O}", "input", r->frames[0]->scope->input,
                    "scratch", json_object_get(state, "scratch"), "artifacts",
                    json_object_get(state, "artifacts"));
    json_decref(state);
    return out;
}

json_t *mortise_run_show(const struct mortise_run *run)
{
    /* Folding caches views in the run; what it is does not change. */
    struct mortise_run *r = (struct mortise_run *)(uintptr_t)run;
    const struct exec *held =
        r->status == MORTISE_RUN_PAUSED ? limit_holds(r) : NULL;
    char digest[MORTISE_DIGEST_HEX], head[MORTISE_UUID_TEXT];
    json_t *out;

    mortise_hex(digest, r->graph->digest, MORTISE_DIGEST);
    mortise_uuid_text(head, r->head);
    out = json_pack(
        "{s:s, s:s, s:{s:s, s:s, s:s}, s:s, s:s, s:I, s:s, s:i,"
        " s:o, s:o, s:o, s:o, s:O?}",
        "run", r->id, "tenant", r->tenant, "graph", "name", r->graph->name,
        "version", r->graph->version != NULL ? r->graph->version : "", "digest",
        digest, "status", mortise_run_status_name(r->status), "reason",
        r->reason, "seq", (json_int_t)r->seq, "checkpoint", head, "steps",
        (int)r->n_finished, "state", state_json(r), "nodes", nodes_json(r),
        "pending", pending_json(r), "plugins", pins_show(r), "error", r->error);
    if (out != NULL &&
        (put_time(out, "created", r->created_ms) != 0 ||
         put_time(out, "updated", r->time_ms) != 0 ||
         (held != NULL &&
          json_object_set_new(out, "limit", limit_json(r, held)) != 0) ||
         usage_put_all(out, r) != 0 ||
         (pins_dev(r) &&
          json_object_set_new(out, "unsigned", pins_dev_json(r)) != 0) ||
         put_budget(out, r, r->frames[0]->scope) != 0))
        drop(&out);
    return out;
}

json_t *mortise_run_running(const struct mortise_run *r)
{
    json_t *list = json_array();

    for (size_t i = 1; list != NULL && i < r->n_execs; i++) {
        const struct exec *x = r->execs[i];

        if ((x->state == X_RUNNING || x->state == X_STOPPING) &&
            x->call != MORTISE_RUN_LOOKUP &&
            json_array_append_new(list, live_event(r, x, "node_start")) != 0)
            drop(&list);
    }
    return list;
}

/* ---- history ------------------------------------------------------------ */

/* What the number `how` of an entry says, in words; NULL: nothing. */
static const char *how_name(const struct mortise_entry *e)
{
    static const char *const done[] = {NULL,       "reconciled", "resolved",
                                       "answered", "on_error",   "recorded",
                                       "cached"};

    switch (e->type) {
    case MORTISE_E_DONE:
        return e->how < sizeof done / sizeof done[0] ? done[e->how] : NULL;
    case MORTISE_E_ASK:
        return e->how <= MORTISE_ASK_BUDGET
                   ? mortise_ask_name((enum mortise_ask)e->how)
                   : NULL;
    case MORTISE_E_SETTLE:
        return e->how <= MORTISE_SETTLE_FAIL
                   ? mortise_settle_name((enum mortise_settle)e->how)
                   : NULL;
    case MORTISE_E_STEP:
        return e->how == MORTISE_STEP_QUESTION ? "custom"
               : e->how == MORTISE_STEP_TIMER  ? "timer"
                                               : "effect";
    case MORTISE_E_EXCEEDED:
        return e->how < MORTISE_N_SPENDS
                   ? mortise_spend_name((enum mortise_spend)e->how)
                   : NULL;
    case MORTISE_E_END:
        return mortise_run_status_name(e->how);
    case MORTISE_E_PAUSE:
        return e->how != MORTISE_PAUSE_OVER
                   ? mortise_pause_name((enum mortise_pause)e->how)
                   : "over";
    default:
        return NULL;
    }
}

/* Of what is the run's own, two name one. */
static bool is_about_a_node(const struct mortise_entry *e)
{
    return !apply_is_of_run(e) || e->type == MORTISE_E_GOTO ||
           e->type == MORTISE_E_LEAD;
}

/* Its node, and where that was: as exec_path() spells it.  What gathers a map
 * is named after a node that is not of its frame's region. */
static void put_place(json_t *out, const struct mortise_run *r,
                      const struct mortise_entry *e)
{
    const struct frame *f = r->frames[e->frame < r->n_frames ? e->frame : 0];
    const struct mortise_node *n =
        e->node < f->graph->n_nodes ? &f->graph->nodes[e->node] : NULL;
    const char *id = n != NULL ? n->id : "?";
    bool gathers = n != NULL && n->region != f->region->index;

    json_object_set_new(out, "node", json_string(id));
    json_object_set_new(out, "path",
                        json_sprintf("%s%s#%u%s%s", f->scope->prefix, id,
                                     (unsigned)e->visit, f->scope->suffix,
                                     gathers ? "[*]" : ""));
    json_object_set_new(out, "visit", json_integer(e->visit));
}

static json_t *entry_json(const struct mortise_run *r,
                          const struct mortise_entry *e)
{
    json_t *out = json_pack("{s:s}", "entry", mortise_entry_type_name(e->type));
    const char *how = how_name(e);

    if (out == NULL)
        return NULL;
    if (is_about_a_node(e))
        put_place(out, r, e);
    if (e->method[0] != '\0') {
        json_object_set_new(out, "method", json_string(e->method));
        json_object_set_new(out, "step",
                            e->key[0] != '\0' ? json_string(e->key)
                                              : json_integer(e->ordinal));
    }
    if (e->attempt > 0)
        json_object_set_new(out, "attempt", json_integer(e->attempt));
    if (how != NULL)
        json_object_set_new(out, "how", json_string(how));
    if (e->actor[0] != '\0')
        json_object_set_new(out, "actor", json_string(e->actor));
    if (e->id[0] != '\0')
        json_object_set_new(out, "id", json_string(e->id));
    if (e->type == MORTISE_E_FAILED || e->type == MORTISE_E_RETRY ||
        e->type == MORTISE_E_END) {
        if (e->value != NULL)
            json_object_set(out, "error", e->value);
    }
    if (e->type == MORTISE_E_SETTLE &&
        json_is_boolean(json_object_get(e->value, "approved")))
        json_object_set(out, "approved", json_object_get(e->value, "approved"));
    if (e->type == MORTISE_E_BUDGET || e->type == MORTISE_E_RESERVE)
        json_object_set(out, "budget", e->value);
    if (e->type == MORTISE_E_DOUBT)
        json_object_set(out, "cause", json_object_get(e->value, "cause"));
    if (e->type == MORTISE_E_USED)
        json_object_set(out, "usage", e->value);
    if (e->type == MORTISE_E_PINS)
        json_object_set(out, "plugins", e->value);
    if ((e->type == MORTISE_E_CANCEL || e->type == MORTISE_E_PAUSE) &&
        e->value != NULL)
        json_object_set(out, "reason", e->value);
    return out;
}

json_t *mortise_run_describe(const struct mortise_run *r, const void *entries,
                             size_t size)
{
    json_t *list = json_array();
    uint32_t frame = 0;
    struct mortise_reader reader;
    struct mortise_arena a;
    struct mortise_entry e;

    mortise_arena_init(&a, &mortise_heap);
    mortise_reader_init(&reader, entries, size);
    while (list != NULL &&
           mortise_entry_read(&e, &reader, &a, NULL) == MORTISE_OK) {
        if (e.type == MORTISE_E_FRAME)
            frame = e.frame;
        e.frame = frame;
        if (e.type != MORTISE_E_FRAME && e.type != MORTISE_E_CLOCK &&
            e.type != MORTISE_E_TIME && e.type != MORTISE_E_WALL &&
            e.type != MORTISE_E_RULES &&
            json_array_append_new(list, entry_json(r, &e)) != 0)
            drop(&list);
        mortise_entry_finish(&e);
    }
    mortise_arena_finish(&a);
    return list;
}

void mortise_run_follow_end(const void *entries, size_t size, uint32_t *status)
{
    struct mortise_reader reader;
    struct mortise_arena a;
    struct mortise_entry e;

    mortise_arena_init(&a, &mortise_heap);
    mortise_reader_init(&reader, entries, size);
    while (mortise_entry_read(&e, &reader, &a, NULL) == MORTISE_OK) {
        if (e.type == MORTISE_E_END)
            *status = e.how;
        else if (e.type == MORTISE_E_RESUME || e.type == MORTISE_E_GOTO)
            *status = 0;
        mortise_entry_finish(&e);
    }
    mortise_arena_finish(&a);
}
