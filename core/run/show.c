/* show.c -- JSON views of a run; docs/json.md describes the members. */

#include "core/base/clock.h"
#include "core/run/commit.h"

/* The execution of the live run `now` that corresponds to x; NULL: none. */
static const struct exec *find_live_exec(const struct mortise_run *now,
                                         const struct exec *x)
{
    const struct exec *y =
        now != NULL && x->index < now->n_execs ? now->execs[x->index] : NULL;

    return y != NULL && y->node == x->node && y->visit == x->visit &&
                   y->generation == x->generation
               ? y
               : NULL;
}

static bool is_start_pending(const struct exec *x)
{
    return x->state == X_READY || x->state == X_INTENT || x->state == X_BACKOFF;
}

/* NULL: it is not running. */
static const char *get_work_name(const struct exec *x)
{
    if (x->state == X_RUNNING && x->call == MORTISE_RUN_COMPACT)
        return "compacting";
    return x->state == X_RUNNING || x->state == X_STOPPING ||
                   x->state == X_INNER_GRAPH
               ? "running"
               : NULL;
}

static const char *get_status_name(const struct exec *x,
                                   const struct mortise_run *now)
{
    static const char *const names[] = {
        [X_READY] = "pending",    [X_ASKED] = "awaiting_approval",
        [X_INTENT] = "pending",   [X_SUSPENDED] = "waiting",
        [X_BACKOFF] = "pending",  [X_HELD] = "done",
        [X_DONE] = "done",        [X_FAILED] = "failed",
        [X_CANCELLED] = "skipped"};
    const struct exec *y =
        mortise_exec_has_ended(x) ? NULL : find_live_exec(now, x);

    if (y != NULL && get_work_name(y) != NULL)
        return get_work_name(y);
    if (y != NULL && is_start_pending(x) && !is_start_pending(y))
        return "running"; /* its result is shown once it is stored */
    if (x->state == X_ASKED && x->ask == MORTISE_ASK_DOUBT)
        return "in_doubt";
    return get_work_name(x) != NULL ? get_work_name(x) : names[x->state];
}

/* NULL for an unknown time, which is left out. */
static const char *format_known_time(char text[MORTISE_TIME_TEXT], uint64_t ms)
{
    if (ms == 0)
        return NULL;
    mortise_time_format(text, ms);
    return text;
}

/* The executions that led to x: by edges, or by a command. */
static json_t *build_after_json(const struct mortise_run *r,
                                const struct exec *x)
{
    json_t *list = json_array();
    char path[MORTISE_EXEC_PATH];

    for (uint32_t i = 0; list != NULL && i < x->n_preds; i++) {
        mortise_exec_print_path(r, r->execs[x->preds[i]], path);
        if (json_array_append_new(list, json_string(path)) != 0)
            mortise_json_clear_ref(&list);
    }
    return list;
}

/* The budget of the graph; left out if it has none. */
static int put_budget_member(json_t *to, const struct mortise_run *r,
                             const struct scope *in)
{
    return in->purse != NULL
               ? json_object_set_new(to, "budget",
                                     mortise_budget_make_json(r, in))
               : 0;
}

static bool is_unsettled(const struct mortise_run *r, const struct exec *x)
{
    return mortise_exec_has_ended(x)
               ? mortise_doubt_has_ended_open(r, x)
               : x->effect_open || mortise_step_has_open_effect(x);
}

/* The results of its lookups. */
static int put_lookup_results(json_t *to, const struct exec *x)
{
    static const char *const names[] = {
#define LOOKUP(ID, name, family) family,
#include "core/run/record/lookups.def"
    };
    int rv = 0;

    for (int i = 0; rv == 0 && i < MORTISE_LOOKUPS; i++)
        if (x->found[i] != NULL)
            rv = json_object_set(to, names[i], x->found[i]);
    return rv;
}

/* The shortened output for its successors. */
static int put_compacted_output(json_t *to, const struct mortise_node *n,
                                const struct exec *x)
{
    const json_t *told = x->compacted;
    json_t *output = told != NULL ? json_object_get(told, "output") : x->output;

    if (n->compaction == NULL || output == NULL)
        return 0;
    return json_object_set(to, "compacted_output", output) != 0 ||
                   json_object_set_new(
                       to, "compaction",
                       json_pack("{s:s, s:O*}", "how",
                                 told != NULL
                                     ? mortise_json_get_text(told, "how")
                                     : "whole",
                                 "error", json_object_get(told, "error"))) != 0
               ? -1
               : 0;
}

static int put_role_member(json_t *to, const struct mortise_node *n)
{
    return n->role != NULL
               ? json_object_set_new(to, "role",
                                     json_pack("{s:s, s:s*}", "id", n->role,
                                               "display_name", n->role_name))
               : 0;
}

/* The record of one execution (graph.md 4). */
static json_t *build_exec_json(const struct mortise_run *r,
                               const struct mortise_run *now,
                               const struct exec *x)
{
    char path[MORTISE_EXEC_PATH];
    char started[MORTISE_TIME_TEXT], ended[MORTISE_TIME_TEXT];
    json_t *out;

    mortise_exec_print_path(r, x, path);
    out = json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:o, s:s*, s:s*, s:O*,"
                    " s:o*, s:O*, s:O*, s:O*, s:O*}",
                    "node", mortise_exec_node(r, x)->id, "path", path, "type",
                    mortise_node_type_name(mortise_exec_node(r, x)->type),
                    "status", get_status_name(x, now), "attempts",
                    (int)x->attempt, "visit", (int)x->visit, "generation",
                    (int)x->generation, "after", build_after_json(r, x),
                    "started", format_known_time(started, x->started_ms),
                    "ended", format_known_time(ended, x->ended_ms), "output",
                    x->output, "cached", x->cached ? json_true() : NULL,
                    "error", x->error, "guardrails", x->notes, "approval",
                    x->approval, "failed", x->caught);
    if (out != NULL && x->choice != 0 &&
        json_object_set_new(out, "tool",
                            json_sprintf("%s/%s",
                                         mortise_exec_node(r, x)->plugin,
                                         mortise_exec_node(r, x)->operation)))
        mortise_json_clear_ref(&out);
    if (out != NULL && mortise_exec_node(r, x)->model_reason != NULL &&
        json_object_set_new(out, "llm",
                            json_pack("{s:s}", "reason",
                                      mortise_exec_node(r, x)->model_reason)))
        mortise_json_clear_ref(&out);
    if (out != NULL &&
        (put_lookup_results(out, x) != 0 ||
         put_compacted_output(out, mortise_exec_node(r, x), x) != 0 ||
         put_role_member(out, mortise_exec_node(r, x)) != 0))
        mortise_json_clear_ref(&out);
    if (out != NULL &&
        (mortise_usage_add_exec_json(out, x) != 0 ||
         (x->child != NULL &&
          put_budget_member(out, r, x->child->scope) != 0) ||
         (x->state == X_FAILED && !x->handled && x->resolved != NULL &&
          json_object_set(out, "resolved", x->resolved) != 0) ||
         (is_unsettled(r, x) &&
          json_object_set_new(out, "effect", json_string("unsettled")) != 0)))
        mortise_json_clear_ref(&out);
    return out;
}

/* A node that never started: it waits for its edges, or is skipped. */
static json_t *build_unstarted_node_json(const struct mortise_run *r,
                                         uint32_t i)
{
    bool skipped = mortise_run_is_finished(r) ||
                   mortise_frame_has_skipped(r->frames[0], i);

    return json_pack("{s:s, s:s, s:s}", "node", r->graph->nodes[i].id, "type",
                     mortise_node_type_name(r->graph->nodes[i].type), "status",
                     skipped ? "skipped" : "pending");
}

static bool is_node_visit(const struct exec *x)
{
    return x->node != MORTISE_START && x->node != NODE_UPDATE && x->fan == NULL;
}

static json_t *build_nodes_json(const struct mortise_run *r,
                                const struct mortise_run *now)
{
    json_t *list = json_array();
    bool *ran = mortise_zalloc(r->mem, r->graph->n_nodes * sizeof *ran);

    if (ran == NULL)
        mortise_json_clear_ref(&list);
    for (size_t i = 1; list != NULL && i < r->n_execs; i++) {
        const struct exec *x = r->execs[i];

        if (!is_node_visit(x))
            continue;
        if (x->frame->top == r->frames[0])
            ran[x->node] = true;
        if (json_array_append_new(list, build_exec_json(r, now, x)) != 0)
            mortise_json_clear_ref(&list);
    }
    for (uint32_t i = 0; list != NULL && i < r->graph->n_nodes; i++) {
        if (!ran[i] &&
            json_array_append_new(list, build_unstarted_node_json(r, i)) != 0)
            mortise_json_clear_ref(&list);
    }
    mortise_release(r->mem, ran, r->graph->n_nodes * sizeof *ran);
    return list;
}

static int add_pending_request(json_t *list, json_t *payload,
                               uint64_t deadline_ms)
{
    json_t *one = json_copy(payload);
    char at[MORTISE_TIME_TEXT];

    if (one != NULL && deadline_ms != 0 &&
        json_object_set_new(one, "deadline",
                            json_string(format_known_time(at, deadline_ms))) !=
            0)
        mortise_json_clear_ref(&one);
    return json_array_append_new(list, one);
}

/* The pending requests of the steps of x, and then its own request. */
static int add_exec_requests(json_t *list, const struct mortise_run *r,
                             const struct exec *x)
{
    const struct journal *j = x->journal;
    json_t *own = NULL;
    int rv = 0;

    for (size_t i = 0; j != NULL && rv == 0 && i < j->n; i++) {
        const struct step *s = j->steps[i];

        if (mortise_step_is_request(s))
            rv = add_pending_request(list, s->payload, s->deadline_ms);
    }
    if (rv != 0 || x->request[0] == '\0')
        return rv;
    own = x->ask == MORTISE_ASK_BUDGET ? mortise_budget_make_request(r, x)
                                       : json_incref(x->payload);
    rv = own != NULL ? add_pending_request(list, own, x->deadline_ms) : -1;
    json_decref(own);
    return rv;
}

static json_t *build_pending_json(const struct mortise_run *r)
{
    json_t *list = json_array();

    if (r->plan.request[0] != '\0' &&
        add_pending_request(list, r->plan.payload, 0) != 0)
        mortise_json_clear_ref(&list);
    for (size_t i = 1; list != NULL && i < r->n_execs; i++) {
        if (add_exec_requests(list, r, r->execs[i]) != 0)
            mortise_json_clear_ref(&list);
    }
    return list;
}

/* {input, scratch, artifacts}.  Conflicting writes are folded as far as
 * possible. */
static json_t *build_state_json(struct mortise_run *r)
{
    json_t *state, *out;

    if (mortise_view_fold_all(r, r->frames[0], false, &state, NULL) !=
        MORTISE_OK)
        return json_pack("{s:O}", "input", r->frames[0]->scope->input);
    out = json_pack("{s:O, s:O, s:O}", "input", r->frames[0]->scope->input,
                    "scratch", json_object_get(state, "scratch"), "artifacts",
                    json_object_get(state, "artifacts"));
    json_decref(state);
    return out;
}

json_t *mortise_run_show(const struct mortise_run *run,
                         const struct mortise_run *now)
{
    /* Folding only fills caches of the run. */
    struct mortise_run *r = (struct mortise_run *)(uintptr_t)run;
    const struct exec *held =
        r->status == MORTISE_RUN_PAUSED ? mortise_limit_find_blocked(r) : NULL;
    char digest[MORTISE_DIGEST_HEX], head[MORTISE_UUID_TEXT];
    char created[MORTISE_TIME_TEXT], updated[MORTISE_TIME_TEXT];
    json_t *out;

    mortise_hex_encode(digest, r->graph->digest, MORTISE_DIGEST);
    mortise_uuid_format(head, r->head);
    out = json_pack(
        "{s:s, s:s, s:{s:s, s:s, s:s}, s:s, s:s, s:I, s:s, s:i,"
        " s:o, s:o, s:o, s:o, s:O?, s:s*, s:s*}",
        "run", r->id, "tenant", r->tenant, "graph", "name", r->graph->name,
        "version", r->graph->version != NULL ? r->graph->version : "", "digest",
        digest, "status", mortise_run_status_name(r->status), "reason",
        r->reason, "seq", (json_int_t)r->seq, "checkpoint", head, "steps",
        (int)r->n_finished, "state", build_state_json(r), "nodes",
        build_nodes_json(r, now), "pending", build_pending_json(r), "plugins",
        mortise_pins_make_show_json(r), "error", r->error, "created",
        format_known_time(created, r->created_ms), "updated",
        format_known_time(updated, r->time_ms));
    if (out != NULL &&
        ((r->n_inbox > 0 &&
          json_object_set_new(out, "told", mortise_inbox_make_json(r)) != 0) ||
         (held != NULL &&
          json_object_set_new(out, "limit", mortise_limit_make_json(r, held)) !=
              0) ||
         (mortise_outbox_is_stuck(r) &&
          json_object_set_new(out, "unwritten", mortise_outbox_make_json(r)) !=
              0) ||
         mortise_usage_add_run_json(out, r) != 0 ||
         (mortise_pins_has_unsigned(r) &&
          json_object_set_new(out, "unsigned", mortise_pins_list_unsigned(r)) !=
              0) ||
         put_budget_member(out, r, r->frames[0]->scope) != 0))
        mortise_json_clear_ref(&out);
    return out;
}

json_t *mortise_run_list_running(const struct mortise_run *r)
{
    json_t *list = json_array();

    for (size_t i = 1; list != NULL && i < r->n_execs; i++) {
        const struct exec *x = r->execs[i];

        if ((x->state == X_RUNNING || x->state == X_STOPPING) &&
            x->call < MORTISE_RUN_LOOKUP &&
            json_array_append_new(
                list, mortise_event_make_live(r, x, "node_start")) != 0)
            mortise_json_clear_ref(&list);
    }
    return list;
}
