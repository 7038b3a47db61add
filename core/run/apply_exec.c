/* apply_exec.c -- applies the entries about one execution: its start, its end,
 * its requests, and its map or child graph.
 *
 * apply.c has the common rules.  Entries about one subject are applied next to
 * it: journals in step.c, budgets in budget.c, guardrails in guard.c, waiting
 * outputs in leaving.c, results in result.c, doubts in doubt.c, usage in
 * usage.c.
 */
#include <string.h>

#include "core/base/clock.h"
#include "core/run/commit.h"

int mortise_apply_intent(struct mortise_run *r, struct exec *x,
                         const struct mortise_entry *e, struct mortise_err *err)
{
    mortise_exec_set_effect_open(x, true);
    mortise_doubt_remove_evidence(x);
    mortise_exec_set_key(x, e->digest);
    return mortise_exec_make_intent(r, x, e, err);
}

/* Its start is on disk now. */
int mortise_apply_before(struct mortise_run *r, struct exec *x,
                         const struct mortise_entry *e, struct mortise_err *err)
{
    if (x->state != X_READY)
        return mortise_entry_corrupt(err, e);
    x->noted = e->generation;
    return mortise_exec_make_intent(r, x, e, err);
}

/* Emit node_end with the duration, the usage and `cached`. */
static int emit_node_end(struct mortise_run *r, const struct exec *x,
                         const struct mortise_entry *e, struct mortise_err *err)
{
    json_t *extra = NULL;

    if (mortise_run_has_watcher(r)) {
        extra =
            json_pack("{s:I}", "ms",
                      e->started_ms != 0 && /* otherwise it was never called, */
                              /* or the clock was adjusted */
                              e->at_ms > e->started_ms
                          ? (json_int_t)(e->at_ms - e->started_ms)
                          : 0);
        if (extra == NULL || mortise_usage_add_exec_json(extra, x) != 0 ||
            (x->cached && json_object_set_new(extra, "cached", json_true()))) {
            json_decref(extra);
            return mortise_nomem(err);
        }
    }
    return mortise_event_announce(r, x, "node_end", extra, err);
}

int mortise_apply_done(struct mortise_run *r, struct exec *x,
                       const struct mortise_entry *e, struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    int rv;

    if (!mortise_exec_can_take_edges(n->out, n->n_out, e))
        return mortise_entry_corrupt(err, e);
    mortise_exec_set_attempt(x, e->attempt, e->started_ms);
    mortise_exec_set_ended(x, e->at_ms);
    mortise_exec_set_effect_open(
        x,
        /* doubt.c (11) */
        e->how == DONE_ON_ERROR &&
            (x->unknown || mortise_doubt_has_rejected_result(x)));
    mortise_doubt_remove_evidence(x);
    x->cached = e->how == DONE_CACHED;
    x->by_on_error = e->how == DONE_ON_ERROR;
    mortise_json_set_ref(&x->output, e->value);
    mortise_exec_set_error(x, NULL);
    mortise_result_set_said(x, NULL);
    rv = mortise_stop_drop_state(r, x, err);
    if (rv == MORTISE_OK)
        rv = mortise_writes_set(r, x, e, err);
    if (rv == MORTISE_OK)
        rv = mortise_exec_store_taken(r, x, e, err);
    if (rv == MORTISE_OK)
        rv = mortise_verdict_store(r, x, e, err);
    if (rv == MORTISE_OK)
        rv = mortise_outbox_add_uses(r, x, e->at_ms, err);
    if (rv == MORTISE_OK && x->serves == 0) /* otherwise `tool_result` is
                                               emitted */
        rv = emit_node_end(r, x, e, err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_exec_set_state(r, x, n->interrupt_after ? X_HELD : X_DONE);
    if (n->interrupt_after)
        return MORTISE_OK;
    return x->serves != 0 ? mortise_tool_answer_asker(r, x, err)
                          : mortise_frame_decide_edges(r, x, EDGE_DEAD, err);
}

static json_t *build_error_event(const struct mortise_run *r,
                                 const struct exec *x,
                                 const struct mortise_entry *e)
{
    json_t *extra = mortise_run_has_watcher(r)
                        ? json_pack("{s:O}", "error", e->value)
                        : NULL;

    if (extra != NULL && mortise_usage_add_exec_json(extra, x) != 0)
        mortise_json_clear_ref(&extra);
    return extra;
}

/* A new attempt starts with an empty journal, unless an effect in it is
 * unsettled and must not be repeated: then the attempt continues from there. */
static bool is_journal_needed(const struct mortise_run *r, const struct exec *x)
{
    return mortise_step_has_open_effect(x) &&
           !mortise_doubt_may_be_repeated(mortise_exec_node(r, x));
}

int mortise_apply_retry(struct mortise_run *r, struct exec *x,
                        const struct mortise_entry *e, struct mortise_err *err)
{
    json_t *extra = build_error_event(r, x, e);
    char next[MORTISE_TIME_TEXT];
    int rv;

    if (extra != NULL) {
        mortise_time_format(next, e->at_ms);
        json_object_set_new(extra, "next_at", json_string(next));
    }
    rv = mortise_event_announce(r, x, "retry_scheduled", extra, err);
    if (rv == MORTISE_OK && e->attempt >= x->attempt &&
        !is_journal_needed(r, x))
        rv = mortise_step_clear_journal(r, x, err);
    if (x->was.state == 0) /* otherwise it keeps its earlier error */
        mortise_exec_set_error(x, e->value);
    mortise_generation_continue(
        x, x->child != NULL && mortise_sub_has_failed(x->child), x->child_asks);
    mortise_exec_set_attempt(x, e->attempt + 1, e->started_ms);
    x->next_ms = e->at_ms;
    x->pause_ms = e->at_ms > r->time_ms ? e->at_ms - r->time_ms : 0;
    mortise_exec_set_effect_open(x, false);
    mortise_exec_set_stop(x, STOP_NONE);
    if (!mortise_step_has_open_effect(x))
        mortise_doubt_remove_evidence(x);
    mortise_exec_set_state(r, x, X_BACKOFF);
    return rv;
}

int mortise_apply_failed(struct mortise_run *r, struct exec *x,
                         const struct mortise_entry *e, struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    int rv;

    if (!mortise_exec_can_take_edges(n->out, n->n_out, e) ||
        !json_is_object(e->value))
        return mortise_entry_corrupt(err, e);
    mortise_exec_set_attempt(x, e->attempt, e->started_ms);
    mortise_exec_set_ended(x, e->at_ms);
    mortise_exec_set_handled(r, x, e->n_edges > 0 || x->serves != 0);
    x->child_failed = x->child != NULL && mortise_sub_has_failed(x->child);
    if (x->child != NULL && x->child->scope->over && !x->child_failed)
        mortise_sub_set_done(x);                  /* its output was rejected */
    mortise_doubt_set_at_failure(x, e->how != 0); /* it never answered */
    mortise_generation_set_refused(x);
    mortise_exec_set_effect_open(x, false);
    mortise_exec_set_effect_open(
        x, (x->failed_in_doubt && !mortise_step_has_kept_journal(x)) ||
               mortise_doubt_has_rejected_result(x));
    mortise_exec_set_error(x, e->value);
    rv = mortise_stop_drop_state(r, x, err);
    if (rv == MORTISE_OK)
        rv = mortise_exec_store_taken(r, x, e, err);
    if (rv == MORTISE_OK)
        rv = mortise_verdict_store(r, x, e, err);
    if (rv == MORTISE_OK && x->serves == 0)
        rv = mortise_event_announce(r, x, "node_failed",
                                    build_error_event(r, x, e), err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_exec_set_state(r, x, X_FAILED);
    if (x->serves != 0)
        return mortise_tool_answer_asker(r, x, err);
    return mortise_frame_decide_edges(
        r, x, x->handled ? EDGE_DEAD : EDGE_FAILED, err);
}

/* Can an execution of this node make such a request? */
static bool can_node_request(const struct mortise_node *n, uint8_t how)
{
    switch (how) {
    case MORTISE_ASK_APPROVAL:
    case MORTISE_ASK_DOUBT:
    case MORTISE_ASK_BUDGET:
        return n->op != NULL;
    case MORTISE_ASK_NODE:
        return n->op != NULL || n->sub != NULL;
    case MORTISE_ASK_PLAN:
        return n->sub != NULL;
    case MORTISE_ASK_HUMAN:
        return mortise_node_gives(n) == MORTISE_GIVES_DECISION;
    default:
        return how == MORTISE_ASK_BEFORE || how == MORTISE_ASK_AFTER;
    }
}

int mortise_apply_ask(struct mortise_run *r, struct exec *x,
                      const struct mortise_entry *e, struct mortise_err *err)
{
    int rv;

    if (strlen(e->id) != REQUEST_ID - 1 || !json_is_object(e->value) ||
        x->request[0] != '\0' ||
        !can_node_request(mortise_exec_node(r, x), e->how) ||
        (x->state == X_HELD) != (e->how == MORTISE_ASK_AFTER))
        return mortise_entry_corrupt(err, e);
    memcpy(x->request, e->id, REQUEST_ID);
    x->deadline_ms = e->at_ms;
    mortise_json_set_ref(&x->payload, e->value);
    mortise_generation_count_request(x);
    if (x->started_ms == 0)
        mortise_exec_set_attempt(x, x->attempt, r->time_ms);
    rv = mortise_event_announce_request(r, x, x->request, x->payload, err);
    if (rv != MORTISE_OK)
        return rv;
    x->ask = (enum mortise_ask)e->how;
    if (x->ask == MORTISE_ASK_DOUBT &&
        mortise_doubt_set_evidence(x, x->payload, false) != 0)
        return mortise_nomem(err);
    if (e->how != MORTISE_ASK_AFTER)
        mortise_exec_set_state(r, x, X_ASKED);
    return mortise_pending_open(r, x->request, x->deadline_ms, x->payload, err);
}

/* A person rejected the request, or declared the effect failed. */
static int set_refusal(struct exec *x, const struct mortise_entry *e,
                       const char *code, struct mortise_err *err)
{
    const char *reason = mortise_json_get_text(e->value, "reason");
    struct mortise_err why;

    if (e->how == MORTISE_SETTLE_FAIL)
        mortise_fail(&why, MORTISE_EINDOUBT, "%s",
                     reason[0] != '\0' ? reason : "resolved as failed");
    else
        mortise_fail(&why, MORTISE_EDENIED, "rejected by %s%s%s", e->actor,
                     reason[0] != '\0' ? ": " : "", reason);
    return mortise_generation_set_refusal(
        x,
        json_pack("{s:s, s:o, s:s}", "code", code, "message",
                  mortise_json_make_string(why.msg, strlen(why.msg)), "actor",
                  e->actor),
        err);
}

/* Keep a decision until x has acted on it, so that neither a crash, nor a
 * command, nor a wait loses it. */
static int store_decision(struct mortise_run *r, struct exec *x,
                          const struct mortise_entry *e,
                          struct mortise_err *err)
{
    bool of_node = x->ask == MORTISE_ASK_NODE || x->ask == MORTISE_ASK_PLAN;

    if (x->ask == MORTISE_ASK_HUMAN)
        return mortise_exec_kind(r, x)->keep(r, x, e, err);
    if (e->how == MORTISE_SETTLE_REJECTED ||
        (of_node && e->how == MORTISE_SETTLE_ANSWERED &&
         !json_is_true(json_object_get(e->value, "approved"))))
        return set_refusal(x, e, "rejected", err);
    return e->how == MORTISE_SETTLE_FAIL && x->loss == LOSS_NONE
               ? set_refusal(x, e, "in_doubt", err)
               : MORTISE_OK;
}

/* Let the execution continue after a settled request.  If that ends the
 * execution, a `done` or `failed` entry follows in the same record, unless it
 * has to wait. */
static int apply_settled_request(struct mortise_run *r, struct exec *x,
                                 const struct mortise_entry *e,
                                 struct mortise_err *err)
{
    json_t *args;
    int rv;

    if (strcmp(x->request, e->id) != 0 || x->request[0] == '\0')
        return mortise_apply_settle_step(r, x, e, err);
    if (e->how < MORTISE_SETTLE_APPROVED || e->how > MORTISE_SETTLE_FAIL)
        return mortise_entry_corrupt(err, e);
    rv = mortise_event_announce_decision(r, x, e, err);
    if (rv == MORTISE_OK)
        rv = mortise_pending_close(r, x->request, x->deadline_ms, false, err);
    if (rv == MORTISE_OK && json_object_get(x->payload, "step") != NULL)
        rv = mortise_step_apply_resolution(
            r, x, json_object_get(x->payload, "step"), e, err);
    else if (e->how == MORTISE_SETTLE_RETRY) { /* repeat the call, with all
                                                  effects in it */
        mortise_step_clear_doubts(x);
        mortise_result_forget(x);
    }
    if (rv != MORTISE_OK)
        return rv;
    args = json_object_get(x->payload, "args");
    if (e->how == MORTISE_SETTLE_APPROVED)
        mortise_generation_set_approved(x, args,
                                        json_object_get(e->value, "args"));
    if (x->ask == MORTISE_ASK_APPROVAL || x->ask == MORTISE_ASK_BEFORE ||
        x->ask == MORTISE_ASK_NODE || x->ask == MORTISE_ASK_PLAN)
        /* The wait for the decision does not count. */
        mortise_exec_set_attempt(x, x->attempt, r->time_ms);
    x->request[0] = '\0';
    x->deadline_ms = 0;
    mortise_json_clear_ref(&x->payload);
    if (x->state == X_HELD) {
        mortise_exec_set_state(r, x, X_DONE);
        return mortise_frame_decide_edges(r, x, EDGE_DEAD, err);
    }
    if (e->how == MORTISE_SETTLE_APPROVED) {
        x->approved = true;
        memcpy(x->approved_digest, e->digest, MORTISE_DIGEST);
        if (mortise_generation_set_approver(x, e, err) != MORTISE_OK)
            return err->code;
    }
    if (store_decision(r, x, e, err) != MORTISE_OK)
        return err->code;
    if (x->ask == MORTISE_ASK_BEFORE)
        mortise_exec_set_before_passed(x);
    if ((x->ask == MORTISE_ASK_NODE || x->ask == MORTISE_ASK_PLAN) &&
        json_is_true(json_object_get(e->value, "approved"))) {
        if (x->ask == MORTISE_ASK_NODE)
            mortise_exec_set_whole_approved(x);
        else
            mortise_exec_set_plan_approved(x);
        if (mortise_generation_set_approver(x, e, err) != MORTISE_OK)
            return err->code;
    }
    if (e->how == MORTISE_SETTLE_RETRY || e->how == MORTISE_SETTLE_HAPPENED)
        mortise_doubt_remove_evidence(x);
    /* A doubt that was declared failed stays open if x was stopped (doubt.c
     * (9)). */
    if (e->how == MORTISE_SETTLE_RETRY || e->how == MORTISE_SETTLE_HAPPENED ||
        (e->how == MORTISE_SETTLE_FAIL && x->loss == LOSS_NONE))
        mortise_exec_set_effect_open(x, false);
    return mortise_exec_make_ready(r, x, err);
}

int mortise_apply_settle(struct mortise_run *r, struct exec *x,
                         const struct mortise_entry *e, struct mortise_err *err)
{
    int rv = apply_settled_request(r, x, e, err);

    if (rv == MORTISE_OK &&
        (e->how == MORTISE_SETTLE_FAIL || e->how == MORTISE_SETTLE_REJECTED))
        mortise_tool_set_rejected(x);
    if (e->actor[0] != '\0') /* otherwise it was withdrawn or expired */
        mortise_exec_set_decided(x);
    return rv == MORTISE_OK ? mortise_settled_add(r, e, err) : rv;
}

/* A step is open and its journal is not kept: if x is tried again, the effect
 * of its call is in doubt. */
static void reopen_call_effect(struct exec *x)
{
    if (mortise_step_has_open_effect(x) && !mortise_step_has_kept_journal(x))
        mortise_exec_set_effect_open(x, true);
}

/* x had ended before, and ends again as it did then. */
static int end_again(struct mortise_run *r, struct exec *x, bool lost,
                     struct mortise_err *err)
{
    reopen_call_effect(x);
    if (mortise_stop_drop_state(r, x, err) != MORTISE_OK)
        return MORTISE_ENOMEM;
    mortise_doubt_restore_end(r, x);
    if (!lost)
        return MORTISE_OK;
    if (mortise_race_end_idle_graph(r, x->frame->top, err) != MORTISE_OK)
        return MORTISE_ENOMEM;
    return r->after == MORTISE_RUN_CANCELLED
               ? mortise_event_announce_skipped(r, mortise_exec_node(r, x),
                                                "the run was cancelled", err)
               : MORTISE_OK;
}

/* An execution that lost a race has taken none of its edges; one that was
 * stopped otherwise has decided nothing. */
int mortise_apply_stopped(struct mortise_run *r, struct exec *x,
                          const struct mortise_entry *e,
                          struct mortise_err *err)
{
    bool lost = e->type == MORTISE_E_LOST;
    json_t *error;

    if (lost && x->loss == LOSS_NONE)
        return mortise_entry_corrupt(err, e);
    if (x->was.state != 0)
        return end_again(r, x, lost, err);
    error =
        mortise_error_new(mortise_exec_node(r, x)->id, "cancelled", "cancelled",
                          mortise_race_get_message(lost ? x->loss : LOSS_NONE));
    if (error == NULL)
        return mortise_nomem(err);
    mortise_exec_set_error(x, error);
    json_decref(error);
    mortise_exec_set_ended(x, e->at_ms);
    mortise_doubt_set_cancelled(x, r->cancelling);
    reopen_call_effect(x);
    if (mortise_stop_drop_state(r, x, err) != MORTISE_OK)
        return MORTISE_ENOMEM;
    mortise_exec_set_state(r, x, X_CANCELLED);
    if (!lost && x->child != NULL)
        mortise_frame_abandon(x->child);
    if (x->serves != 0 && mortise_tool_answer_asker(r, x, err) != MORTISE_OK)
        return MORTISE_ENOMEM;
    if (!lost)
        return mortise_race_start_cancel_finals(r, err);
    if (x->serves != 0)
        return MORTISE_OK;
    if (mortise_race_end_idle_graph(r, x->frame->top, err) != MORTISE_OK)
        return MORTISE_ENOMEM;
    if (mortise_event_announce_skipped(r, mortise_exec_node(r, x),
                                       mortise_race_get_message(x->loss),
                                       err) != MORTISE_OK)
        return MORTISE_ENOMEM;
    return x->loss == LOSS_RACE || (x->loss == LOSS_END &&
                                    mortise_race_has_reached_end(x->frame))
               ? mortise_frame_decide_edges(r, x, EDGE_DEAD, err)
               : MORTISE_OK;
}

/* Start the child graph of a subgraph node. */
int mortise_apply_child(struct mortise_run *r, struct exec *x,
                        const struct mortise_entry *e, struct mortise_err *err)
{
    const struct mortise_graph *g = mortise_exec_node(r, x)->sub;
    struct exec *start;
    int rv;

    if (g == NULL || x->state == X_INNER_GRAPH || !json_is_object(e->value) ||
        !mortise_exec_can_take_edges(g->start, g->n_start, e))
        return mortise_entry_corrupt(err, e);
    mortise_exec_set_attempt(x, e->attempt, e->started_ms);
    rv = mortise_sub_start_graph(r, x, e->value, err);
    if (rv != MORTISE_OK)
        return rv;
    start = mortise_exec_new(r, x->child, MORTISE_START, 1, NULL, err);
    rv = start != NULL ? mortise_exec_store_taken(r, start, e, err)
                       : MORTISE_ENOMEM;
    if (rv != MORTISE_OK)
        return rv;
    mortise_exec_set_state(r, start, X_DONE);
    return mortise_frame_decide_start_edges(r, start, err);
}

/* The list for a map edge; the `done` that takes the edge follows. */
int mortise_apply_fan(struct mortise_run *r, struct exec *x,
                      const struct mortise_entry *e, struct mortise_err *err)
{
    const struct mortise_graph *g = x->frame->graph;

    if (x->fan != NULL || e->n_edges != 1 || e->edges[0] >= g->n_edges ||
        !mortise_edge_is_map(&g->edges[e->edges[0]]) ||
        g->edges[e->edges[0]].from != x->node)
        return mortise_entry_corrupt(err, e);
    return mortise_map_store_list(r, x, e->edges[0], e->value, err);
}

/* The result of a discovery edge; the `done` that takes the edge follows. */
int mortise_apply_found(struct mortise_run *r, struct exec *x,
                        const struct mortise_entry *e, struct mortise_err *err)
{
    const struct mortise_graph *g = x->frame->graph;
    const struct mortise_edge *edge;
    json_t *extra = NULL;

    if (x->fan != NULL || e->n_edges != 1 || e->edges[0] >= g->n_edges ||
        !json_is_object(e->value))
        return mortise_entry_corrupt(err, e);
    edge = &g->edges[e->edges[0]];
    if (edge->discovery == NULL || edge->from != x->node)
        return mortise_entry_corrupt(err, e);
    if (mortise_run_has_watcher(r))
        extra =
            json_pack("{s:s}", "chosen",
                      edge->to == MORTISE_END ? "END" : g->nodes[edge->to].id);
    if (extra != NULL && json_object_update(extra, e->value) != 0)
        mortise_json_clear_ref(&extra);
    return mortise_event_announce(r, x, "discovery_result", extra, err);
}

int mortise_apply_gather(struct mortise_run *r, struct exec *x,
                         const struct mortise_entry *e, struct mortise_err *err)
{
    int rv;

    if (x->fan == NULL)
        return mortise_entry_corrupt(err, e);
    mortise_exec_set_ended(x, e->at_ms);
    rv = mortise_writes_set(r, x, e, err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_exec_set_state(r, x, X_DONE);
    return mortise_frame_decide_edges(r, x, EDGE_DEAD, err);
}

/* ---- requests for budgets ------------------------------------------------ */

/* Are limit and use unchanged, compared with the stored request? */
static bool has_same_use(const json_t *a, const json_t *b)
{
    return json_equal(json_object_get(a, "limit"),
                      json_object_get(b, "limit")) &&
           json_equal(json_object_get(a, "used"), json_object_get(b, "used"));
}

int mortise_requests_update_budgets(struct mortise_run *r,
                                    struct mortise_err *err)
{
    int rv = MORTISE_OK;

    if (r->n_asked_so[MORTISE_ASK_BUDGET] == 0)
        return MORTISE_OK;
    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++) {
        struct exec *x = r->execs[i];
        json_t *now;

        if (x->request[0] == '\0' || x->ask != MORTISE_ASK_BUDGET)
            continue;
        now = mortise_budget_make_request(r, x);
        if (now == NULL)
            return mortise_nomem(err);
        if (!has_same_use(now, x->payload)) {
            mortise_json_set_ref(&x->payload, now);
            rv = mortise_pending_replace(r, x->request, x->deadline_ms, now,
                                         err);
        }
        json_decref(now);
    }
    return rv;
}
