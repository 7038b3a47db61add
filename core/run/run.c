/* run.c -- admission, replay, the step function, and the status of a run.
 *
 * A step takes in one event, starts what can start, determines the status of
 * the run and, if anything was recorded, makes one commit (commit.c).
 *
 * Promises:
 *   (1) Equal histories give equal runs: time, ids and randomness come only
 *       from events and the admission.
 *   (2) A durable event is published after its commit is stored (r->unsent).
 *   (3) A replayed run does nothing until an event lets it continue.
 */
#include "core/run/run.h"

#include <assert.h>
#include <string.h>

#include "core/model/former.h"
#include "core/run/commit.h"

/* ---- making and freeing ------------------------------------------------- */

static int init_run_fields(struct mortise_run *r, struct mortise_err *err)
{
    const struct mortise_graph *g = r->graph;

    r->self = json_pack("{s:s, s:s, s:s, s:s}", "id", r->id, "tenant",
                        r->tenant, "graph", g->name, "version",
                        g->version != NULL ? g->version : "");
    r->users =
        mortise_arena_alloc(&r->arena, g->n_resources * sizeof *r->users);
    if (r->self == NULL || r->users == NULL)
        return mortise_nomem(err);
    return mortise_frame_new_for_graph(r, g, "1.0/", NULL, err) != NULL
               ? MORTISE_OK
               : MORTISE_ENOMEM;
}

static int alloc_run(struct mortise_run **out, const struct mortise_mem *mem,
                     struct mortise_graph *g, const char *tenant,
                     const char *run, struct mortise_err *err)
{
    struct mortise_run *r = mortise_zalloc(mem, sizeof *r);
    int rv;

    *out = NULL;
    if (r == NULL)
        return mortise_nomem(err);
    r->mem = mem;
    r->newest = mortise_graph_ref(g);
    r->graph = mortise_graph_ref(mortise_graph_get_first(g));
    r->status = MORTISE_RUN_ACCEPTED;
    r->reason = "";
    mortise_arena_init(&r->arena, mem);
    mortise_buf_init(&r->record, mem);
    r->tenant = mortise_arena_strdup(&r->arena, tenant);
    r->id = mortise_arena_strdup(&r->arena, run);
    rv = r->tenant != NULL && r->id != NULL ? init_run_fields(r, err)
                                            : mortise_nomem(err);
    if (rv != MORTISE_OK) {
        mortise_run_free(r);
        return rv;
    }
    *out = r;
    return MORTISE_OK;
}

static void free_exec_contents(struct mortise_run *r, struct exec *x)
{
    json_decref(x->broke);
    json_decref(x->failure);
    json_decref(x->told);
    json_decref(x->view);
    json_decref(x->after);
    json_decref(x->output);
    json_decref(x->error);
    json_decref(x->result);
    json_decref(x->said);
    json_decref(x->notes);
    json_decref(x->approval);
    json_decref(x->payload);
    json_decref(x->body);
    json_decref(x->subject);
    json_decref(x->judged);
    json_decref(x->leaving);
    json_decref(x->sought);
    json_decref(x->seeking);
    json_decref(x->searched_query);
    json_decref(x->verdicts);
    json_decref(x->decision);
    json_decref(x->refusal);
    json_decref(x->caught);
    json_decref(x->child_state);
    json_decref(x->overlay);
    json_decref(x->trace);
    json_decref(x->encoded);
    json_decref(x->advice);
    json_decref(x->full_output);
    json_decref(x->brief);
    json_decref(x->compacted);
    json_decref(x->replaced_trace);
    json_decref(x->recalled);
    for (int i = 0; i < MORTISE_LOOKUPS; i++)
        json_decref(x->found[i]);
    if (x->fresh != NULL)
        json_decref(x->fresh->output);
    mortise_settle_drop_end(r, x);
    for (size_t i = 0; i < x->n_writes; i++)
        json_decref(x->writes[i].value);
    mortise_step_finish(r, x);
    mortise_usage_free_cost(x);
}

void mortise_run_free(struct mortise_run *r)
{
    if (r == NULL)
        return;
    mortise_command_drop_held(r);
    mortise_run_commit_finish(&r->kept, r->mem);
    for (size_t i = 0; i < r->n_execs; i++)
        free_exec_contents(r, r->execs[i]);
    for (size_t i = r->unsent_head; i < r->n_unsent; i++)
        json_decref(r->unsent[i].event);
    mortise_release(r->mem, r->unsent, r->cap_unsent * sizeof r->unsent[0]);
    mortise_release(r->mem, r->execs, r->cap_execs * sizeof r->execs[0]);
    mortise_release(r->mem, r->frames, r->cap_frames * sizeof r->frames[0]);
    mortise_release(r->mem, r->work, r->cap_work * sizeof r->work[0]);
    mortise_indexes_finish(r->mem, &r->ended);
    mortise_indexes_finish(r->mem, &r->preds);
    mortise_indexes_finish(r->mem, &r->ended_inner_graphs);
    mortise_indexes_finish(r->mem, &r->gathers);
    mortise_indexes_finish(r->mem, &r->waiting_for_budget);
    mortise_indexes_finish(r->mem, &r->losers);
    mortise_indexes_finish(r->mem, &r->ready);
    mortise_indexes_finish(r->mem, &r->intents);
    mortise_indexes_finish(r->mem, &r->decided);
    mortise_release(r->mem, r->step_waits,
                    r->cap_step_waits * sizeof r->step_waits[0]);
    mortise_release(r->mem, r->settled, r->cap_settled * sizeof r->settled[0]);
    mortise_release(r->mem, r->orders, r->cap_orders * sizeof r->orders[0]);
    mortise_buf_finish(&r->record);
    json_decref(r->self);
    json_decref(r->error);
    json_decref(r->plan.payload);
    json_decref(r->plan.error);
    json_decref(r->lists);
    mortise_usage_finish(&r->usage);
    mortise_inbox_finish(r);
    mortise_outbox_finish(r);
    mortise_map_free_all(r);
    for (struct scope *in = r->graphs; in != NULL; in = in->next) {
        json_decref(in->input);
        json_decref(in->loop_error);
    }
    for (struct former *f = r->formers; f != NULL; f = f->next)
        mortise_graph_unref(f->graph);
    mortise_arena_finish(&r->arena);
    mortise_graph_unref(r->graph);
    mortise_graph_unref(r->newest);
    mortise_release(r->mem, r, sizeof *r);
}

/* ---- the end ------------------------------------------------------------ */

static int record_run_end(struct mortise_run *r, struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_END,
                              .how = MORTISE_RUN_CANCELLED};
    json_t *state = NULL;
    int rv = MORTISE_OK;

    if (r->after != 0) { /* the run had ended before, like this */
        e.how = (uint8_t)r->after;
        e.value = json_incref(r->error);
    } else if (!r->cancelling) {
        rv = mortise_total_get_result(r, r->frames[0], &e.value, &state, err);
        json_decref(state);
        e.how = e.value != NULL ? MORTISE_RUN_FAILED : MORTISE_RUN_COMPLETED;
    }
    if (rv == MORTISE_OK)
        rv = mortise_run_record(r, &e, err);
    json_decref(e.value);
    return rv;
}

/* ---- the status --------------------------------------------------------- */

static void set_status(struct mortise_run *r, int status, const char *reason)
{
    r->status = status;
    r->reason = reason;
}

/* Work is left: the run is running, or paused until it may continue. */
static void set_running_or_blocked(struct mortise_run *r)
{
    if (r->live || r->stays == NULL)
        set_status(r, MORTISE_RUN_RUNNING, "");
    else
        set_status(r, MORTISE_RUN_PAUSED, r->stays);
}

static void update_status(struct mortise_run *r)
{
    if (mortise_run_is_finished(r))
        return;
    if (r->paused != MORTISE_PAUSE_OVER)
        set_status(r, MORTISE_RUN_PAUSED, mortise_pause_name(r->paused));
    else if (mortise_limit_find_blocked(r) != NULL)
        set_status(r, MORTISE_RUN_PAUSED, "limit");
    else if (r->n_running + r->n_waiting > 0)
        set_running_or_blocked(r);
    else if (r->n_asked_so[MORTISE_ASK_DOUBT] > 0)
        set_status(r, MORTISE_RUN_IN_DOUBT, "in_doubt");
    else if (r->n_asked_so[MORTISE_ASK_BUDGET] > 0)
        set_status(r, MORTISE_RUN_PAUSED, "budget");
    else if (r->n_asked_so[MORTISE_ASK_APPROVAL] +
                     r->n_asked_so[MORTISE_ASK_NODE] +
                     r->n_asked_so[MORTISE_ASK_PLAN] >
                 0 ||
             r->plan.request[0] != '\0')
        set_status(r, MORTISE_RUN_WAITING, "approval");
    else if (r->n_asked_so[MORTISE_ASK_HUMAN] + r->n_questions > 0)
        set_status(r, MORTISE_RUN_WAITING, "human");
    else if (r->n_asked > 0)
        set_status(r, MORTISE_RUN_PAUSED, "interrupt");
    else if (r->n_suspended > 0)
        set_status(r, MORTISE_RUN_WAITING,
                   r->n_awaited > 0 ? "child" : "timer");
    else if (mortise_outbox_is_stuck(r))
        set_status(r, MORTISE_RUN_PAUSED, "memory");
    else
        set_running_or_blocked(r);
}

/* ---- continuing --------------------------------------------------------- */

/* A limit stops new executions; those that started before may continue. */
static int start_counted(struct mortise_run *r, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = r->ready_head;
         rv == MORTISE_OK && i < r->ready.n && mortise_run_has_free_slot(r);
         i++) {
        struct exec *x = r->execs[r->ready.list[i]];

        if (x->state != X_READY || x->loss != LOSS_NONE)
            continue;
        if (!x->counted || mortise_exec_must_await_resource(r, x)) {
            mortise_exec_add_askers_of(r, x);
            continue;
        }
        r->ready.list[i] = 0; /* START is never ready */
        rv = mortise_start_exec(r, x, err);
    }
    return rv;
}

/* Skip the entries that were removed from the front of the queue. */
static void skip_removed_entries(struct mortise_run *r)
{
    while (r->ready_head < r->ready.n && r->ready.list[r->ready_head] == 0)
        r->ready_head++;
    if (r->ready_head == r->ready.n)
        r->ready_head = r->ready.n = 0;
}

/* Start executions in queue order.  One that waits for a resource keeps its
 * place and lets others pass. */
static int start_ready_execs(struct mortise_run *r, struct mortise_err *err)
{
    size_t passed = 0; /* relative: the queue may move while it grows */
    int rv = MORTISE_OK;

    while (rv == MORTISE_OK && r->ready_head + passed < r->ready.n &&
           mortise_run_has_free_slot(r)) {
        uint32_t *at = &r->ready.list[r->ready_head + passed];
        struct exec *x = r->execs[*at];
        /* it may have changed since it was queued */
        bool starts = x->state == X_READY && x->loss == LOSS_NONE;

        if (starts && !mortise_exec_is_final(x) &&
            mortise_limit_find_exceeded(r, x) != LIMIT_NONE)
            return start_counted(r, err);
        passed++;
        if (starts && mortise_exec_must_await_resource(r, x)) {
            mortise_exec_add_askers_of(r, x);
            continue;
        }
        *at = 0; /* START is never ready */
        if (passed == 1) {
            r->ready_head++;
            passed = 0;
        }
        if (!starts)
            continue;
        mortise_exec_count_started(r, x);
        rv = mortise_start_exec(r, x, err);
    }
    skip_removed_entries(r);
    return rv;
}

/* A reservation was released, and executions wait for that. */
static bool can_retry_reservations(const struct mortise_run *r)
{
    return r->budgets_released && r->waiting_for_budget.n > 0 &&
           !r->cancelling && r->held == NULL;
}

/* In a cancelled run only finalisers may start; it may have been cancelled
 * before it was live.  Nothing starts before the run knows the version of its
 * memory. */
static bool can_start_execs(const struct mortise_run *r)
{
    return (!r->cancelling || (r->live && r->finals)) &&
           !mortise_outbox_is_pinning(r);
}

/* Stop losers, end executions with ended children, gather maps and start
 * executions, until nothing changes: each of these may cause another.  While a
 * command waits for calls to end, nothing starts, but the effects of ended
 * calls are completed: the winner of a race does not depend on the command.  A
 * finaliser must not wait for people: its requests are withdrawn in the commit
 * that opens them; after a crash between two commits the run would wait for an
 * answer. */
static int advance_until_stable(struct mortise_run *r, struct mortise_err *err)
{
    size_t losers, ready;
    bool asked;
    int rv;

    do {
        rv = mortise_stop_losers(r, err);
        losers = r->losers.n;
        if (rv == MORTISE_OK)
            rv = mortise_gather_inner_graphs(r, err);
        if (rv == MORTISE_OK)
            rv = mortise_gather_maps(r, err);
        if (rv == MORTISE_OK && r->held == NULL)
            rv = mortise_budget_retry_waiting(r, err);
        if (rv == MORTISE_OK && r->finals && r->live)
            rv = mortise_final_limit_time(r, err);
        if (rv == MORTISE_OK && r->cancelling)
            rv = mortise_command_stop_idle(r, err);
        if (rv == MORTISE_OK && r->held == NULL && can_start_execs(r))
            rv = start_ready_execs(r, err);
        ready = r->ready.n;
        if (rv == MORTISE_OK)
            rv = mortise_settle_tools(r, err);
        asked = false;
        if (rv == MORTISE_OK && r->finals)
            rv = mortise_finals_end_waits(r, &asked, err);
    } while (rv == MORTISE_OK &&
             (r->ended_inner_graphs.n > 0 || asked ||
              (r->ready.n > ready && r->held == NULL) || r->losers.n > losers ||
              (r->gathers.n > 0 && !r->cancelling) ||
              can_retry_reservations(r)));
    return rv;
}

/* Do everything that is possible now. */
static int advance_run(struct mortise_run *r, struct mortise_err *err)
{
    struct scope *in = r->frames[0]->scope;
    bool waits = false;
    int rv = mortise_command_apply_held(r, err);

    if (rv != MORTISE_OK || mortise_run_is_finished(r))
        return rv;
    if (!r->live && !r->cancelling) /* ending is possible without being live */
        return rv;
    rv = mortise_outbox_start_next(r, err);
    if (rv == MORTISE_OK)
        rv = advance_until_stable(r, err);
    if (rv != MORTISE_OK || r->held != NULL)
        return rv;
    if (mortise_run_has_nothing_to_do(r) && !r->cancelling &&
        mortise_budget_has_goto(in)) {
        rv = mortise_budget_start_goto(r, in, err);
        if (rv == MORTISE_OK)
            rv = advance_until_stable(r, err);
    }
    if (rv == MORTISE_OK && mortise_run_has_nothing_to_do(r))
        rv = mortise_outbox_flush_before_end(r, &waits, err);
    return rv == MORTISE_OK && !waits && mortise_run_has_nothing_to_do(r)
               ? record_run_end(r, err)
               : rv;
}

/* A command comes first.  A reservation without a call stays. */
static int delay_intended_call(struct mortise_run *r, struct exec *x,
                               struct mortise_err *err)
{
    if (x->effect_open)
        return mortise_fail_undo_intent(r, x, err);
    mortise_budget_settle_uncalled(x);
    return mortise_exec_make_ready(r, x, err);
}

/* An execution with only a `before` entry starts now. */
static int start_intended_call(struct mortise_run *r, struct exec *x,
                               struct mortise_err *err)
{
    if (x->effect_open || (x->hold != NULL && x->hold->open))
        return mortise_call_start(r, x, MORTISE_RUN_EXECUTE, err);
    mortise_exec_set_state(r, x, X_READY);
    return mortise_start_exec(r, x, err);
}

/* Start the executions whose intents are synced. */
static int start_synced_intents(struct mortise_run *r, struct mortise_err *err)
{
    size_t kept = 0, n = r->intents.n;
    int rv = MORTISE_OK;

    for (size_t i = 0; i < n; i++) {
        struct exec *x = r->execs[r->intents.list[i]];

        if (x->state == X_INTENT && x->intent_seq > r->synced) {
            r->intents.list[kept++] = x->index;
            continue;
        }
        if (rv != MORTISE_OK || x->state != X_INTENT)
            continue;
        rv = r->held != NULL ? delay_intended_call(r, x, err)
                             : start_intended_call(r, x, err);
    }
    for (size_t i = n; i < r->intents.n; i++) /* those with a new intent */
        r->intents.list[kept++] = r->intents.list[i];
    r->intents.n = kept;
    return rv;
}

static int publish_written_events(struct mortise_run *r,
                                  struct mortise_err *err)
{
    while (r->unsent_head < r->n_unsent &&
           r->unsent[r->unsent_head].seq <= r->written) {
        struct mortise_action *a =
            mortise_action_new(r, MORTISE_ACT_PUBLISH, err);

        if (a == NULL)
            return MORTISE_ENOMEM;
        a->u.publish = r->unsent[r->unsent_head++].event;
    }
    if (r->unsent_head == r->n_unsent)
        r->unsent_head = r->n_unsent = 0;
    return MORTISE_OK;
}

static int handle_written(struct mortise_run *r, uint64_t seq,
                          struct mortise_err *err)
{
    if (seq > r->seq || seq <= r->written)
        return MORTISE_OK;
    r->written = seq;
    return publish_written_events(r, err);
}

/* Answer the command that is synced now. */
static int answer_synced_command(struct mortise_run *r, struct mortise_err *err)
{
    if (r->applied_seq == 0 || r->applied_seq > r->synced)
        return MORTISE_OK;
    r->applied_seq = 0;
    return mortise_action_new(r, MORTISE_ACT_APPLIED, err) != NULL
               ? MORTISE_OK
               : MORTISE_ENOMEM;
}

static int handle_synced(struct mortise_run *r, uint64_t seq,
                         struct mortise_err *err)
{
    int rv;

    if (seq > r->seq || seq <= r->synced)
        return MORTISE_OK;
    rv = handle_written(r, seq, err);
    r->synced = seq;
    if (rv == MORTISE_OK)
        rv = answer_synced_command(r, err);
    if (rv == MORTISE_OK)
        rv = mortise_step_handle_synced(r, err);
    return rv == MORTISE_OK && r->live ? start_synced_intents(r, err) : rv;
}

/* ---- begin and end of a step --------------------------------------------- */

/* The wall clock may be adjusted between two events; steady_ms advances by the
 * elapsed time only. */
static void advance_clocks(struct mortise_run *r, uint64_t now_ms,
                           uint64_t elapsed_ms)
{
    if (elapsed_ms == 0 || r->elapsed_ms == 0)
        r->steady_ms = now_ms;
    else
        r->steady_ms += elapsed_ms - r->elapsed_ms;
    assert(elapsed_ms == 0 || elapsed_ms >= r->elapsed_ms);
    r->elapsed_ms = elapsed_ms;
    r->time_ms = now_ms;
}

/* Begin a step: set its actions and its time, and reserve the slot of its
 * commit. */
static int begin_step(struct mortise_run *r, struct mortise_actions *actions,
                      uint64_t now_ms, uint64_t elapsed_ms, size_t *slot,
                      struct mortise_err *err)
{
    r->actions = actions;
    advance_clocks(r, now_ms, elapsed_ms);
    r->recorded = r->record.n;
    r->applied = false;
    *slot = actions->n;
    return mortise_action_new(r, MORTISE_ACT_COMMIT, err) != NULL
               ? MORTISE_OK
               : MORTISE_ENOMEM;
}

static int end_step(struct mortise_run *r, size_t slot, struct mortise_err *err)
{
    int rv = advance_run(r, err);

    if (rv == MORTISE_OK)
        rv = mortise_clock_update_all(r, err);
    if (rv == MORTISE_OK)
        update_status(r);
    if (rv == MORTISE_OK)
        rv = mortise_commit_step(r, slot, err);
    r->actions = NULL;
    return rv;
}

/* The event was rejected: nothing was recorded, and the actions are removed.
 * When memory ran out, mortise_actions_clear() must still free them. */
static int reject_event(struct mortise_run *r, size_t slot, int rv)
{
    bool broken = rv == MORTISE_ENOMEM || rv == MORTISE_ECORRUPT;

    assert(broken ||
           r->record.n == r->recorded); /* validated before recording */
    if (!broken)
        r->actions->n = slot;
    r->actions = NULL;
    return rv;
}

/* ---- admission ---------------------------------------------------------- */

/* The spawn handle becomes running in the commit of the admission. */
static int admit_child(struct mortise_run *r,
                       const struct mortise_admission *adm,
                       struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_SPAWNED};
    int rv = mortise_run_record_value(r, &e, json_string(adm->spawned_by), err);

    return rv == MORTISE_OK ? mortise_run_add_spawn_change(r, adm->spawn, err)
                            : rv;
}

/* A native child's graph is part of its parent's plan, which was approved. */
static bool needs_plan_approval(const struct mortise_run *r,
                                const struct mortise_admission *adm)
{
    return r->graph->approve_plan && adm->spawned_by == NULL;
}

static int record_admission(struct mortise_run *r,
                            const struct mortise_admission *adm,
                            struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_ADMIT, .actor = adm->actor};
    struct mortise_beginning begin = {.lists = NULL};
    int rv = mortise_total_check_input(r->graph, adm->input, &e.value, err);

    if (rv != MORTISE_OK)
        return rv;
    memcpy(e.digest, adm->seed, sizeof e.digest);
    e.note = mortise_pins_make_entry_json(adm->pins, adm->n_pins);
    e.edges =
        mortise_arena_alloc(&r->arena, r->graph->n_start * sizeof e.edges[0]);
    rv = e.note != NULL && e.edges != NULL
             ? mortise_total_choose_start(r, r->graph, e.value, &e, &begin, err)
             : mortise_nomem(err);
    if (needs_plan_approval(
            r, adm)) { /* the edges are chosen after the approval of the
                          plan */
        e.n_edges = 0;
        mortise_json_clear_ref(&begin.lists);
    }
    if (rv == MORTISE_OK)
        rv = mortise_order_record_admission(r, adm->order, err);
    if (rv == MORTISE_OK)
        rv = mortise_rules_record(r, adm->store, err);
    if (rv == MORTISE_OK)
        rv = mortise_total_record_start(r, &e, &begin, err);
    json_decref(begin.lists);
    if (rv == MORTISE_OK && needs_plan_approval(r, adm))
        rv = mortise_plan_ask(r, err);
    mortise_entry_finish(&e);
    return rv == MORTISE_OK && adm->spawned_by != NULL
               ? admit_child(r, adm, err)
               : rv;
}

int mortise_run_admit(struct mortise_run **out, const struct mortise_mem *mem,
                      struct mortise_graph *g,
                      const struct mortise_admission *adm, uint64_t now_ms,
                      struct mortise_actions *actions, struct mortise_err *err)
{
    struct mortise_run *r;
    size_t slot;
    int rv = alloc_run(&r, mem, g, adm->tenant, adm->run, err);

    *out = NULL;
    if (rv != MORTISE_OK)
        return rv;
    r->live = true;
    rv = begin_step(r, actions, now_ms, adm->elapsed_ms, &slot, err);
    if (rv == MORTISE_OK)
        rv = record_admission(r, adm, err);
    rv = rv == MORTISE_OK ? end_step(r, slot, err) : reject_event(r, slot, rv);
    if (rv != MORTISE_OK) {
        mortise_run_free(r);
        return rv;
    }
    *out = r;
    return MORTISE_OK;
}

/* ---- replay ------------------------------------------------------------- */

int mortise_run_replay(struct mortise_run **out, const struct mortise_mem *mem,
                       struct mortise_graph *g, const char *tenant,
                       const char *run, mortise_run_sink *sink, void *ud,
                       struct mortise_err *err)
{
    int rv = alloc_run(out, mem, g, tenant, run, err);

    if (rv == MORTISE_OK) {
        (*out)->sink = sink;
        (*out)->sink_ud = ud;
    }
    return rv;
}

/* Remove executions that started from the front of the ready queue. */
static void drop_started_from_queue(struct mortise_run *r)
{
    while (r->ready_head < r->ready.n &&
           r->execs[r->ready.list[r->ready_head]]->state != X_READY)
        r->ready_head++;
}

static int apply_entry_in_frame(struct mortise_run *r, uint32_t frame,
                                struct mortise_entry *e,
                                struct mortise_err *err)
{
    e->frame = frame;
    return mortise_apply_entry(r, e, err);
}

int mortise_run_apply(struct mortise_run *r, uint64_t seq, uint64_t time_ms,
                      struct mortise_uuid id, const void *entries, size_t size,
                      struct mortise_err *err)
{
    struct mortise_reader reader;
    struct mortise_arena a;
    uint32_t frame = 0;
    int rv = MORTISE_OK;

    if (seq != r->seq + 1)
        return mortise_fail(
            err, MORTISE_ECORRUPT,
            "checkpoint %llu comes directly after checkpoint %llu",
            (unsigned long long)seq, (unsigned long long)r->seq);
    r->time_ms = time_ms;
    mortise_arena_init(&a, r->mem);
    mortise_reader_init(&reader, entries, size);
    while (rv == MORTISE_OK) {
        struct mortise_entry e;

        rv = mortise_entry_read(&e, &reader, &a, err);
        if (rv != MORTISE_OK)
            break;
        if (e.type == MORTISE_E_FRAME)
            frame = e.frame;
        else if (e.type == MORTISE_E_TIME)
            r->time_ms = e.at_ms;
        else
            rv = apply_entry_in_frame(r, frame, &e, err);
        mortise_entry_finish(&e);
    }
    mortise_arena_finish(&a);
    if (rv != MORTISE_ENOTFOUND) /* the end of the record */
        return mortise_err_prefix(err, rv, "checkpoint %llu",
                                  (unsigned long long)seq);
    r->time_ms = time_ms;
    r->order = NULL;
    r->first_event = r->n_events;
    r->seq = r->written = r->synced = seq;
    r->head = id;
    r->leaves = false; /* the engine checks this itself after loading the run */
    drop_started_from_queue(r);
    update_status(r);
    return MORTISE_OK;
}

/* ---- steps -------------------------------------------------------------- */

static int handle_event(struct mortise_run *r, const struct mortise_input *in,
                        struct mortise_err *err)
{
    switch (in->kind) {
    case MORTISE_IN_RECOVER:
        return mortise_command_recover(r, err);
    case MORTISE_IN_RESULT:
        return mortise_outbox_owns_handle(in->u.result.call)
                   ? mortise_outbox_settle(r, &in->u.result, err)
                   : mortise_settle_result(r, &in->u.result, err);
    case MORTISE_IN_UNRESPONSIVE:
        return mortise_outbox_owns_handle(in->u.result.call)
                   ? mortise_outbox_abandon_call(r, in->u.result.call, err)
                   : mortise_settle_unresponsive(r, &in->u.result, err);
    case MORTISE_IN_TIMER:
        return mortise_outbox_owns_handle(in->u.timer)
                   ? mortise_outbox_handle_timer(r, in->u.timer, err)
                   : mortise_settle_timer(r, in->u.timer, err);
    case MORTISE_IN_SYNCED:
        return handle_synced(r, in->u.seq, err);
    case MORTISE_IN_WRITTEN:
        return handle_written(r, in->u.seq, err);
    case MORTISE_IN_COMMIT:
        mortise_run_commit_now(r);
        return MORTISE_OK;
    case MORTISE_IN_ASK:
        return mortise_step_handle_ask(r, &in->u.ask, err);
    case MORTISE_IN_ANSWER:
        return mortise_step_handle_answer(r, &in->u.answer, err);
    case MORTISE_IN_CHILD:
        return mortise_step_handle_child_end(r, in->u.child.handle,
                                             in->u.child.end, err);
    case MORTISE_IN_YIELD:
        return mortise_step_handle_yield(r, &in->u.yield, err);
    case MORTISE_IN_TREE:
        return mortise_command_tree_changed(r, err);
    case MORTISE_IN_COMMAND:
        break;
    }
    return mortise_command_step(r, in, err);
}

int mortise_run_step(struct mortise_run *r, const struct mortise_input *in,
                     struct mortise_actions *actions, struct mortise_err *err)
{
    size_t slot;
    int rv = begin_step(r, actions, in->now_ms, in->elapsed_ms, &slot, err);

    if (rv != MORTISE_OK) {
        r->actions = NULL;
        return rv;
    }
    rv = handle_event(r, in, err);
    return rv == MORTISE_OK ? end_step(r, slot, err)
                            : reject_event(r, slot, rv);
}

/* ---- queries ------------------------------------------------------------ */

uint64_t mortise_run_watch(struct mortise_run *r, bool on)
{
    r->watched = on;
    return r->n_events;
}

json_t *mortise_run_get_conversation(struct mortise_run *r, uint64_t call)
{
    struct exec *x = mortise_exec_find_by_handle(r, call);
    const struct mortise_path *at = mortise_exec_node(r, x)->conversation;
    json_t *said = mortise_path_get(x->view, at);

    assert(x->view != NULL);
    return said != NULL ? json_copy(said) : json_array();
}

json_t *mortise_run_take_messages(struct mortise_run *r, uint64_t call,
                                  uint32_t step)
{
    const struct exec *x = mortise_exec_find_by_handle(r, call);

    return x->call == MORTISE_RUN_EXECUTE
               ? mortise_inbox_take_messages(r, x, step)
               : json_array();
}

size_t mortise_run_messages_size(const struct mortise_run *r, uint64_t call)
{
    const struct exec *x = mortise_exec_find_by_handle(r, call);

    return x != NULL && x->call == MORTISE_RUN_EXECUTE
               ? mortise_inbox_count_bytes(r, x)
               : 0;
}

bool mortise_run_has_messages(const struct mortise_run *r, uint64_t call)
{
    const struct exec *x = mortise_exec_find_by_handle(r, call);

    return x != NULL && x->call == MORTISE_RUN_EXECUTE &&
           mortise_inbox_has_messages(r, x);
}

bool mortise_run_is_tool_offered(const struct mortise_run *r, uint64_t call,
                                 const char *tool)
{
    const struct exec *x = mortise_exec_find_by_handle(r, call);

    return x == NULL || mortise_exec_is_offered(x, tool);
}

bool mortise_run_has_excluded_tools(const struct mortise_run *r, uint64_t call)
{
    const struct exec *x = mortise_exec_find_by_handle(r, call);

    return x != NULL && mortise_exec_is_narrowed(x);
}

json_t *mortise_run_get_state_view(struct mortise_run *r, uint64_t call)
{
    struct exec *x = mortise_exec_find_by_handle(r, call);

    while (x != NULL && x->serves != 0) /* a tool sees the state of its asker */
        x = x->frame->top->scope->owner;
    if (x == NULL || x->view == NULL || x->state == X_DONE ||
        x->state == X_HELD)
        return NULL;
    return json_pack("{s:O, s:O, s:O}", "input", x->frame->top->scope->input,
                     "scratch", json_object_get(x->view, "scratch"),
                     "artifacts", json_object_get(x->view, "artifacts"));
}

struct mortise_graph *mortise_run_graph(const struct mortise_run *r)
{
    return r->graph;
}

int mortise_run_status(const struct mortise_run *r)
{
    return r->status;
}

const char *mortise_run_reason(const struct mortise_run *r)
{
    return r->reason;
}

uint64_t mortise_run_seq(const struct mortise_run *r)
{
    return r->seq;
}

uint64_t mortise_run_get_newest_seq(const struct mortise_run *r)
{
    return r->seq + (r->n_events > r->first_event);
}

uint64_t mortise_run_count_events(const struct mortise_run *r)
{
    return r->n_events;
}

bool mortise_run_is_finished(const struct mortise_run *r)
{
    return mortise_run_has_ended(r->status);
}

void mortise_run_set_stored_status(struct mortise_run *r, int status,
                                   const char *reason)
{
    static const char *const reasons[] = {"plugin", "no_continue", "memory"};

    for (size_t i = 0; status == MORTISE_RUN_PAUSED && i < 3; i++)
        if (strcmp(reason, reasons[i]) == 0)
            r->stays = reasons[i];
    update_status(r);
}

bool mortise_run_is_live(const struct mortise_run *r)
{
    return r->live;
}

bool mortise_run_is_idle(const struct mortise_run *r)
{
    return !mortise_commit_has_work(r) && r->n_running == 0 &&
           r->synced == r->seq && r->held == NULL && r->applied_seq == 0;
}

const struct mortise_pin *mortise_run_pins(const struct mortise_run *r,
                                           size_t *n)
{
    *n = r->n_pins;
    return r->pins;
}
