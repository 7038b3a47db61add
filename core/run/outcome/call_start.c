/* call_start.c -- start a call of an execution: of its operation, a guardrail,
 * `reconcile`, the cache, or the deployment's memory and discovery.
 */
#include "core/run/outcome/outcome.h"

/* Is it a call of the node's plugin, or a cache lookup for one? */
static bool is_node_plugin_call(enum mortise_run_call_kind kind)
{
    return kind <= MORTISE_RUN_RECONCILE || kind == MORTISE_RUN_LOOKUP;
}

static void fill_call_action(struct mortise_run *r, struct exec *x,
                             json_t *body, struct mortise_run_call *c)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    const struct mortise_side_operation *aside =
        x->call == MORTISE_RUN_COMPACT ? n->compaction
        : x->call == MORTISE_RUN_JUDGE ? n->judge
                                       : NULL;
    bool check = x->call == MORTISE_RUN_CHECK,
         own = is_node_plugin_call(x->call);

    c->id = mortise_exec_get_handle(x);
    c->kind = x->call;
    c->node = n;
    c->is_last = check && mortise_guard_is_last(r, x);
    c->plugin = check ? mortise_guard_get_id(r, x) : own ? n->plugin : "";
    c->operation = own ? n->operation : "";
    if (aside != NULL) {
        c->plugin = aside->plugin;
        c->operation = aside->operation;
    }
    c->body = body;
    c->stage = x->stage;
    c->serves = x->serves != 0;
    c->is_within_held = mortise_exec_is_within_held(r, x);
    c->is_held = mortise_exec_is_held(r, x);
    c->turn = check ? x->turn : 0;
    c->attempt = x->attempt;
    c->generation = x->generation;
    c->visit = x->visit;
    c->timeout_ms = mortise_exec_get_timeout_ms(x);
    c->resumed = mortise_step_has_answered_request(x);
    mortise_exec_print_path(r, x, c->path);
    if (own && n->effect >= MORTISE_WRITE) {
        if (!x->effect_open || n->op->steps) /* else the intent has the key */
            mortise_exec_compute_key(r, x);
        mortise_hex_encode(c->key, x->key, MORTISE_DIGEST);
    }
}

/* Does the call only prepare or follow the one that the node is for? */
static bool is_secondary_call(const struct exec *x,
                              enum mortise_run_call_kind kind)
{
    return kind >= MORTISE_RUN_LOOKUP ||
           (kind == MORTISE_RUN_CHECK && x->stage != MORTISE_GUARD_TARGET);
}

int mortise_call_start_with(struct mortise_run *r, struct exec *x,
                            enum mortise_run_call_kind kind, json_t *body,
                            struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    struct mortise_action *a;
    int rv;

    assert(!is_node_plugin_call(kind) || n->op != NULL);
    assert(kind != MORTISE_RUN_RECONCILE || n->op->reconcile);
    assert(kind != MORTISE_RUN_LOOKUP || n->cache);
    rv = mortise_exec_disarm_timer(r, x,
                                   err); /* of the clock of the graph inside */
    if (rv == MORTISE_OK && !is_secondary_call(x, kind) && x->serves == 0)
        rv = mortise_event_announce_live(r, x, "node_start", err);
    a = rv == MORTISE_OK ? mortise_action_new(r, MORTISE_ACT_CALL, err) : NULL;
    if (a == NULL) {
        json_decref(body);
        return MORTISE_ENOMEM;
    }
    mortise_exec_renew_handle(x);
    x->call = kind;
    if (x->started_ms == 0 || (x->attempt > 1 && !is_secondary_call(x, kind) &&
                               (x->journal == NULL || x->journal->n == 0)))
        mortise_exec_set_attempt(x, x->attempt, r->time_ms);
    x->called_ms = r->steady_ms;
    fill_call_action(r, x, body, &a->u.call);
    if (kind == MORTISE_RUN_EXECUTE)
        mortise_doubt_set_failure(x, NULL);
    if (kind == MORTISE_RUN_EXECUTE || mortise_call_is_check_or_helper(kind))
        rv = mortise_step_begin_call(r, x, err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_exec_set_state(r, x, X_RUNNING);
    return mortise_exec_get_timeout_ms(x) != 0 && kind != MORTISE_RUN_LOOKUP
               ? mortise_exec_arm_timer_after(
                     r, x, mortise_exec_get_timeout_ms(x), err)
               : MORTISE_OK;
}

int mortise_call_start(struct mortise_run *r, struct exec *x,
                       enum mortise_run_call_kind kind, struct mortise_err *err)
{
    return mortise_call_start_with(
        r, x, kind,
        json_incref(kind == MORTISE_RUN_CHECK ? x->subject : x->body), err);
}
