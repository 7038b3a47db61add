/* start.c -- an activated execution: up to its call, its question, its end.
 *
 * Starting is decided from the execution's view alone, so that a run that was
 * killed and replayed starts the same things the same way: the same arguments,
 * the same request ids, the same idempotency keys.
 *
 * What must be true before something starts (runtime.md R12):
 *
 *   (1) `pure` and `read` calls start at once; nothing is lost if their commit
 *       is, since they are simply made again.
 *   (2) `write` and `external` calls first record their intent, and start when
 *       that commit is on disk; commits are in order, so everything that they
 *       depend on is there too.  Each entry of a call has one: a suspension
 *       closes it, so that days of waiting are no doubt.  Operations with
 *       `intent: steps` have none, since all that they do has one of its own
 *       (step.c).
 *   (2b) What is to be on disk before it starts (`checkpoint: before`) is noted,
 *       and starts likewise.
 *   (3) A request to a person is published by its commit, not by us.
 *
 * An execution whose intent was recorded and whose answer was not is in doubt;
 * doubt.c settles that before anything else happens to it (runtime.md 6).
 */
#include <assert.h>
#include <string.h>

#include "run/internal.h"

/* ---- identities --------------------------------------------------------- */

void exec_hasher(struct mortise_hasher *h, const struct mortise_run *r,
                 const struct exec *x)
{
    char path[MORTISE_EXEC_PATH];

    exec_path(r, x, path);
    mortise_hasher_init(h);
    rules_hash(r, h);
    mortise_hasher_str(h, r->tenant);
    mortise_hasher_str(h, r->id);
    mortise_hasher_str(h, path);
}

/* Stable across restarts, different in each generation, and in another run of
 * the same name: of another store, or of one made anew. */
static void request_id(const struct mortise_run *r, const struct exec *x,
                       char out[REQUEST_ID])
{
    uint8_t digest[MORTISE_DIGEST];
    struct mortise_hasher h;

    exec_hasher(&h, r, x);
    mortise_hasher_str(&h, "request");
    mortise_hasher_field(&h, r->seed, sizeof r->seed);
    mortise_hasher_u64(&h, x->generation);
    mortise_hasher_u64(&h, x->ordinal);
    mortise_hasher_final(&h, digest);
    mortise_hex(out, digest, (REQUEST_ID - 1) / 2);
}

/* The same on every attempt and in every generation, different for another
 * operation or other arguments. */
void exec_effect_key(const struct mortise_run *r, const struct exec *x,
                     uint8_t out[MORTISE_DIGEST])
{
    const struct mortise_node *n = node_of(r, x);
    struct mortise_hasher h;

    exec_hasher(&h, r, x);
    mortise_hasher_str(&h, n->plugin);
    mortise_hasher_str(&h, n->operation);
    mortise_hasher_field(&h, x->body_digest, MORTISE_DIGEST);
    mortise_hasher_u64(&h, 0); /* occurrence: a node makes one call */
    mortise_hasher_final(&h, out);
}

/* What an approval is bound to: operation, plugin, effective arguments. */
static void approval_digest(const struct mortise_run *r, const struct exec *x,
                            const uint8_t body[MORTISE_DIGEST],
                            uint8_t out[MORTISE_DIGEST])
{
    const struct mortise_node *n = node_of(r, x);
    struct mortise_hasher h;

    mortise_hasher_init(&h);
    mortise_hasher_str(&h, n->plugin);
    mortise_hasher_str(&h, n->operation);
    mortise_hasher_field(&h, pins_digest(r, n->plugin), MORTISE_DIGEST);
    mortise_hasher_field(&h, body, MORTISE_DIGEST);
    mortise_hasher_final(&h, out);
}

int exec_approval_digest(struct mortise_run *r, struct exec *x,
                         const json_t *body, uint8_t out[MORTISE_DIGEST],
                         struct mortise_err *err)
{
    uint8_t digest[MORTISE_DIGEST];

    if (mortise_json_digest(digest, body, r->mem) != MORTISE_OK)
        return mortise_nomem(err);
    approval_digest(r, x, digest, out);
    return MORTISE_OK;
}

/* ---- names in scope ----------------------------------------------------- */

/* `state`, `node` and `index` are made for whoever asks: few do. */
static int env_make(struct env *env, const struct mortise_run *r,
                    const struct exec *x, const json_t *input,
                    const json_t *scratch, const json_t *artifacts,
                    uint32_t uses)
{
    const struct mortise_node *n = node_of(r, x);
    const struct scope *at = x->frame->scope;
    bool state = uses & 1u << MORTISE_IN_STATE;
    bool node = uses & 1u << MORTISE_IN_NODE;
    bool index = uses & 1u << MORTISE_IN_INDEX && at->n_at > 0;

    if (state)
        env->state = json_pack("{s:O, s:O, s:O}", "input", input, "scratch",
                               scratch, "artifacts", artifacts);
    if (node)
        env->node = json_pack(
            "{s:s, s:s, s:i, s:i, s:o}", "id", n->id, "type",
            mortise_node_type_name(n->type), "visit", (int)x->visit, "attempt",
            (int)x->attempt, "failed",
            x->caught != NULL ? json_incref(x->caught) : json_array());
    if (index)
        env->index = json_integer(at->at[at->n_at - 1]);
    return (state && env->state == NULL) || (node && env->node == NULL) ||
                   (index && env->index == NULL)
               ? MORTISE_ENOMEM
               : MORTISE_OK;
}

/* Where its edges are chosen, it has ended: the state is the one after it. */
static int env_diagnostics(struct env *env, struct mortise_run *r,
                           const struct exec *x, const struct frame *at,
                           const json_t *state, uint32_t uses,
                           struct mortise_err *err)
{
    int rv = MORTISE_OK;

    if (uses & 1u << MORTISE_IN_DIAGNOSTICS)
        rv = diagnostics_of(r, x, at->top, state == x->after, &env->diagnostics,
                            err);
    env->values[MORTISE_IN_DIAGNOSTICS] = env->diagnostics;
    return rv;
}

/* In the scope of `at`'s graph. */
static int env_of(struct env *env, struct mortise_run *r, struct exec *x,
                  const struct frame *at, const json_t *state, uint32_t uses,
                  struct mortise_err *err)
{
    const json_t *input = at->top->scope->input;
    const json_t *scratch = json_object_get(state, "scratch");
    const json_t *artifacts = json_object_get(state, "artifacts");
    int rv;

    memset(env, 0, sizeof *env);
    if (env_make(env, r, x, input, scratch, artifacts, uses) != MORTISE_OK) {
        env_finish(env);
        return mortise_nomem(err);
    }
    env->values[MORTISE_IN_INPUT] = input;
    env->values[MORTISE_IN_SCRATCH] = scratch;
    env->values[MORTISE_IN_ARTIFACTS] = artifacts;
    env->values[MORTISE_IN_STATE] = env->state;
    env->values[MORTISE_IN_RUN] = r->self;
    env->values[MORTISE_IN_NODE] = env->node;
    env->cel.values = env->values;
    env->cel.cost_limit = at->graph->expr_cost;
    rv = env_diagnostics(env, r, x, at, state, uses, err);
    if (rv != MORTISE_OK)
        env_finish(env);
    return rv;
}

int env_init(struct env *env, struct mortise_run *r, struct exec *x,
             const json_t *state, const json_t *output, const json_t *error,
             uint32_t uses, struct mortise_err *err)
{
    int rv = env_of(env, r, x, x->frame, state, uses, err);

    env->values[MORTISE_IN_INDEX] = env->index;
    for (const struct scope *at = x->frame->scope; at->fan != NULL;
         at = at->outer)
        env->values[MORTISE_IN_ITEM + at->fan->map->level] =
            json_array_get(at->fan->list, at->at[at->n_at - 1]);
    env->values[MORTISE_IN_OUTPUT] = output;
    env->values[MORTISE_IN_ERROR] = error;
    return rv;
}

int env_init_child(struct env *env, struct mortise_run *r, struct exec *x,
                   uint32_t uses, struct mortise_err *err)
{
    int rv = env_of(env, r, x, x->child, x->inner, uses, err);

    env->values[MORTISE_IN_OUTPUT] = env->values[MORTISE_IN_ARTIFACTS];
    return rv;
}

void env_finish(struct env *env)
{
    drop(&env->state);
    drop(&env->node);
    drop(&env->diagnostics);
    drop(&env->index);
}

/* ---- actions on the world ----------------------------------------------- */

/* Calls and timers are named by their execution and its serial number: found
 * without searching, and a stale one is known as such. */
static uint64_t handle(const struct exec *x)
{
    return (uint64_t)x->index << 32 | x->serial;
}

/* `now_ms` is of the clock that at_ms is of. */
static int arm_by(struct mortise_run *r, struct exec *x, uint64_t at_ms,
                  uint64_t now_ms, bool wall, struct mortise_err *err)
{
    struct mortise_action *a = action_new(r, MORTISE_ACT_ARM, err);

    if (a == NULL)
        return MORTISE_ENOMEM;
    assert(!x->timer); /* one thing is waited for at a time */
    x->timer = true;
    x->elapses = !wall;
    a->u.timer.id = handle(x);
    a->u.timer.at_ms = at_ms;
    a->u.timer.in_ms = at_ms > now_ms ? at_ms - now_ms : 0;
    a->u.timer.wall = wall;
    return MORTISE_OK;
}

int arm(struct mortise_run *r, struct exec *x, uint64_t at_ms,
        struct mortise_err *err)
{
    return arm_by(r, x, at_ms, r->time_ms, true, err);
}

int arm_in(struct mortise_run *r, struct exec *x, uint64_t in_ms,
           struct mortise_err *err)
{
    uint64_t at_ms =
        in_ms < UINT64_MAX - r->steady_ms ? r->steady_ms + in_ms : UINT64_MAX;

    return arm_by(r, x, at_ms, r->steady_ms, false, err);
}

int disarm(struct mortise_run *r, struct exec *x, struct mortise_err *err)
{
    struct mortise_action *a;

    if (!x->timer)
        return MORTISE_OK;
    a = action_new(r, MORTISE_ACT_DISARM, err);
    if (a == NULL)
        return MORTISE_ENOMEM;
    x->timer = false;
    a->u.timer.id = handle(x);
    return MORTISE_OK;
}

int cancel_call(struct mortise_run *r, struct exec *x, enum stop_why why,
                struct mortise_err *err)
{
    struct mortise_action *a;
    int rv;

    if (x->state == X_STOPPING) { /* asked already; the graver reason holds */
        x->stop = why > x->stop ? why : x->stop;
        return MORTISE_OK;
    }
    assert(x->state == X_RUNNING);
    rv = disarm(r, x, err);
    a = rv == MORTISE_OK ? action_new(r, MORTISE_ACT_CANCEL, err) : NULL;
    if (a == NULL)
        return MORTISE_ENOMEM;
    a->u.cancel = handle(x);
    x->stop = why;
    exec_become(r, x, X_STOPPING);
    return MORTISE_OK;
}

static void fill_call(struct mortise_run *r, struct exec *x,
                      struct mortise_run_call *c)
{
    const struct mortise_node *n = node_of(r, x);
    bool check = x->call == MORTISE_RUN_CHECK;

    c->id = handle(x);
    c->kind = x->call;
    c->node = n;
    c->plugin = check ? guard_id(r, x) : n->plugin;
    c->operation = check ? "" : n->operation;
    c->body = json_incref(check ? x->subject : x->body);
    c->stage = x->stage;
    c->turn = check ? x->turn : 0;
    c->attempt = x->attempt;
    c->visit = x->visit;
    c->timeout_ms = n->timeout_ms;
    c->resumed = step_was_awaited(x);
    exec_path(r, x, c->path);
    if (!check && n->effect >= MORTISE_WRITE) {
        if (!x->effect_open || n->op->steps) /* else its intent made it */
            exec_effect_key(r, x, x->key);
        mortise_hex(c->key, x->key, MORTISE_DIGEST);
    }
}

/* Is that a call beside the one that the node is about, or of nobody? */
static bool is_step_in(const struct exec *x, enum mortise_run_call_kind kind)
{
    return kind == MORTISE_RUN_LOOKUP ||
           (kind == MORTISE_RUN_CHECK && x->stage != MORTISE_GUARD_TARGET);
}

int start_call(struct mortise_run *r, struct exec *x,
               enum mortise_run_call_kind kind, struct mortise_err *err)
{
    const struct mortise_node *n = node_of(r, x);
    struct mortise_action *a;
    int rv;

    rv = is_step_in(x, kind) ? MORTISE_OK
                             : announce_live(r, x, "node_start", err);
    a = rv == MORTISE_OK ? action_new(r, MORTISE_ACT_CALL, err) : NULL;
    if (a == NULL)
        return MORTISE_ENOMEM;
    x->serial++;
    x->call = kind;
    if (x->started_ms == 0 || (x->attempt > 1 && !is_step_in(x, kind)))
        x->started_ms = r->time_ms;
    x->called_ms = r->steady_ms;
    fill_call(r, x, &a->u.call);
    if (kind == MORTISE_RUN_EXECUTE) {
        drop(&x->failure);
        step_enter(x);
    }
    exec_become(r, x, X_RUNNING);
    return n->timeout_ms != 0 && kind != MORTISE_RUN_LOOKUP
               ? arm_in(r, x, n->timeout_ms, err)
               : MORTISE_OK;
}

/* ---- asking ------------------------------------------------------------- */

int ask(struct mortise_run *r, struct exec *x, enum mortise_ask kind,
        json_t *payload, uint64_t deadline_ms, struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_ASK,
                              .frame = x->frame->index,
                              .node = x->node,
                              .visit = x->visit,
                              .generation = x->generation,
                              .attempt = x->attempt,
                              .how = (uint8_t)kind,
                              .at_ms = deadline_ms,
                              .value = payload};
    char id[REQUEST_ID], path[MORTISE_EXEC_PATH];
    int rv;

    if (payload == NULL)
        return mortise_nomem(err);
    request_id(r, x, id);
    exec_path(r, x, path);
    e.id = id;
    if (json_object_set_new(payload, "id", json_string(id)) != 0 ||
        json_object_set_new(payload, "kind",
                            json_string(mortise_ask_name(kind))) != 0 ||
        json_object_set_new(payload, "node", json_string(node_of(r, x)->id)) !=
            0 ||
        json_object_set_new(payload, "path", json_string(path)) != 0)
        rv = mortise_nomem(err);
    else
        rv = record(r, &e, err);
    json_decref(payload);
    if (rv == MORTISE_OK && deadline_ms != 0) {
        x->serial++;
        rv = arm(r, x, deadline_ms, err);
    }
    return rv;
}

static int ask_pause(struct mortise_run *r, struct exec *x,
                     struct mortise_err *err)
{
    return ask(r, x, MORTISE_ASK_BEFORE, json_pack("{s:s}", "when", "before"),
               0, err);
}

static int ask_approval(struct mortise_run *r, struct exec *x,
                        const uint8_t digest[MORTISE_DIGEST],
                        struct mortise_err *err)
{
    const struct mortise_node *n = node_of(r, x);
    char hex[MORTISE_DIGEST_HEX], tool[256];

    mortise_hex(hex, digest, MORTISE_DIGEST);
    snprintf(tool, sizeof tool, "%s/%s", n->plugin, n->operation);
    return ask(r, x, MORTISE_ASK_APPROVAL,
               json_pack("{s:s, s:O, s:s, s:s}", "tool", tool, "args", x->body,
                         "digest", hex, "effect",
                         mortise_effect_name(n->effect)),
               0, err);
}

/* ---- starting, by type -------------------------------------------------- */

static int start_router(struct mortise_run *r, struct exec *x,
                        struct mortise_err *err)
{
    x->started_ms = r->time_ms;
    return settle_done(r, x, NULL, DONE_EXECUTED, err);
}

/* What the guardrails are to judge; a copy of the whole scratch by default. */
static int find_subject(struct mortise_run *r, struct exec *x, json_t **out,
                        struct mortise_err *why, struct mortise_err *err)
{
    const struct mortise_node *n = node_of(r, x);
    struct env env;
    int rv;

    if (!n->has_target) {
        *out = json_incref(json_object_get(x->view, "scratch"));
        return MORTISE_OK;
    }
    rv = env_init(&env, r, x, x->view, NULL, NULL,
                  mortise_cel_uses(n->target.cel), err);
    if (rv != MORTISE_OK)
        return rv;
    rv = mortise_expr_eval(&n->target, &env.cel, out, why);
    env_finish(&env);
    return judge_verdict(rv, err);
}

static int start_guardrail(struct mortise_run *r, struct exec *x,
                           struct mortise_err *err)
{
    struct mortise_err why;
    json_t *subject = NULL;
    int rv = find_subject(r, x, &subject, &why, err);
    if (rv == MORTISE_EINVAL)
        return fail_attempt_err(r, x, "expression", &why, err);
    if (rv == MORTISE_OK)
        rv = guard_begin(r, x, MORTISE_GUARD_TARGET, subject, err);
    json_decref(subject);
    return rv;
}

/* Must somebody approve the call?  The graph may want it, and the deployment
 * of an operation. */
static bool is_asked_for(const struct exec *x, const struct mortise_node *n)
{
    return x->frame->graph->approve_tools || n->op->ask;
}

/* Approvals and effects are bound to the arguments; nothing else is. */
static bool needs_digest(const struct exec *x, const struct mortise_node *n)
{
    return n->effect >= MORTISE_WRITE || is_asked_for(x, n);
}

/* The arguments are those of the generation's first attempt: the same after a
 * crash between two attempts. */
static int eval_args(struct mortise_run *r, struct exec *x,
                     struct mortise_err *why, struct mortise_err *err)
{
    const struct mortise_tmpl *args = node_of(r, x)->args;
    uint32_t attempt = x->attempt;
    struct env env;
    int rv;

    x->attempt = 1;
    rv =
        env_init(&env, r, x, x->view, NULL, NULL, mortise_tmpl_uses(args), err);
    x->attempt = attempt;
    if (rv != MORTISE_OK)
        return rv;
    rv = mortise_tmpl_eval(args, &env.cel, &x->body, why);
    env_finish(&env);
    if (rv == MORTISE_OK &&
        mortise_fold_check_depth(x->body, why) != MORTISE_OK) {
        drop(&x->body);
        rv = MORTISE_EINVAL;
    }
    return judge_verdict(rv, err);
}

/* The arguments, evaluated once a generation; `why` for MORTISE_EINVAL. */
static int find_body(struct mortise_run *r, struct exec *x,
                     struct mortise_err *why, struct mortise_err *err)
{
    const struct mortise_node *n = node_of(r, x);
    int rv = MORTISE_OK;

    if (x->body == NULL && n->args == NULL) {
        x->body = json_object();
        rv = x->body != NULL ? MORTISE_OK : mortise_nomem(err);
    } else if (x->body == NULL) {
        rv = eval_args(r, x, why, err);
    }
    if (rv == MORTISE_OK && needs_digest(x, n) &&
        mortise_json_digest(x->body_digest, x->body, r->mem) != MORTISE_OK)
        return mortise_nomem(err);
    return rv;
}

int start_body(struct mortise_run *r, struct exec *x, struct mortise_err *why,
               struct mortise_err *err)
{
    int rv = judge_verdict(past_view(r, x, why), err);

    return rv == MORTISE_OK ? find_body(r, x, why, err) : rv;
}

int exec_check_body(const struct mortise_node *n, const json_t *body,
                    const struct mortise_mem *mem, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    if (n->op->input != NULL)
        rv = mortise_schema_check(n->op->input, body, err);
    if (rv == MORTISE_OK && n->input_schema != NULL)
        rv = mortise_schema_check(n->input_schema, body, err);
    if (rv == MORTISE_OK)
        rv = mortise_node_given_secrets(n, body, mem, err);
    return rv != MORTISE_OK ? mortise_doing(err, rv, "arguments of %s/%s",
                                            n->plugin, n->operation)
                            : rv;
}

static int record_intent(struct mortise_run *r, struct exec *x,
                         struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_INTENT,
                              .frame = x->frame->index,
                              .node = x->node,
                              .visit = x->visit,
                              .generation = x->generation,
                              .attempt = x->attempt,
                              .started_ms = r->time_ms};

    exec_effect_key(r, x, e.digest);
    return record(r, &e, err);
}

/* Was this very effect acknowledged in an attempt that came to no end?  Then
 * its result is there, and it is not done again (R11). */
static bool has_result(const struct mortise_run *r, const struct exec *x)
{
    uint8_t key[MORTISE_DIGEST];

    if (x->result == NULL || node_of(r, x)->effect < MORTISE_WRITE)
        return false;
    exec_effect_key(r, x, key);
    return memcmp(key, x->result_key, sizeof key) == 0;
}

/* It is not done again, whatever becomes of what came of it. */
static int start_recorded(struct mortise_run *r, struct exec *x,
                          struct mortise_err *err)
{
    struct mortise_err why;
    int rv = judge_verdict(judge_output(node_of(r, x), x->result, &why), err);

    if (rv == MORTISE_OK)
        return settle_done(r, x, x->result, DONE_RECORDED, err);
    return rv == MORTISE_EINVAL ? doubt_of_result(r, x, &why, err) : rv;
}

/* The call itself: reserved, intended, and made once that is on disk. */
int start_execute(struct mortise_run *r, struct exec *x,
                  struct mortise_err *err)
{
    const struct mortise_node *n = node_of(r, x);
    enum claimed claim;
    int rv = budget_claim(r, x, &claim, err);

    if (rv != MORTISE_OK || claim == CLAIM_LATER)
        return rv;
    if (n->effect >= MORTISE_WRITE && !n->op->steps && !x->effect_open)
        return record_intent(r, x, err);
    return claim == CLAIM_FREE ? start_call(r, x, MORTISE_RUN_EXECUTE, err)
                               : MORTISE_OK;
}

int start_tool(struct mortise_run *r, struct exec *x, struct mortise_err *err)
{
    const struct mortise_node *n = node_of(r, x);
    struct mortise_err why;
    int rv = find_body(r, x, &why, err);

    if (rv == MORTISE_EINVAL)
        return fail_attempt_err(r, x, "expression", &why, err);
    if (rv != MORTISE_OK)
        return rv;
    rv = judge_verdict(exec_check_body(n, x->body, r->mem, &why), err);
    if (rv == MORTISE_EINVAL)
        return fail_attempt_err(r, x, "schema", &why, err);
    if (rv != MORTISE_OK)
        return rv;
    if (guard_wants_input(r, x))
        return guard_begin(r, x, MORTISE_GUARD_INPUT, x->body, err);
    if (is_asked_for(x, n)) {
        uint8_t digest[MORTISE_DIGEST];

        approval_digest(r, x, x->body_digest, digest);
        if (!x->approved ||
            memcmp(digest, x->approved_digest, sizeof digest) != 0)
            return ask_approval(r, x, digest, err);
    }
    if (has_result(r, x))
        return start_recorded(r, x, err);
    if (x->effect_open || step_in_doubt(r, x) != NULL)
        return doubt_start(r, x, err);
    return n->cache ? cache_start(r, x, err) : start_execute(r, x, err);
}

/* An intent is written before its effect anyway. */
static bool is_to_be_noted(const struct exec *x, const struct mortise_node *n)
{
    return n->checkpoint_before && x->noted != x->generation &&
           (n->op == NULL || n->op->steps || n->effect < MORTISE_WRITE);
}

static int record_before(struct mortise_run *r, struct exec *x,
                         struct mortise_err *err)
{
    struct mortise_entry e = entry_of(r, x, MORTISE_E_BEFORE);

    e.started_ms = r->time_ms;
    return record(r, &e, err);
}

int start_exec(struct mortise_run *r, struct exec *x, struct mortise_err *err)
{
    const struct mortise_node *n = node_of(r, x);
    struct mortise_err why;
    int rv;

    assert(x->state == X_READY);
    drop(&x->verdicts);
    if (x->leaving != NULL)
        return leave_start(r, x, err);
    rv = past_view(r, x, &why);
    if (rv == MORTISE_ENOMEM)
        return mortise_nomem(err);
    if (rv != MORTISE_OK)
        return fail_attempt_err(
            r, x, rv == MORTISE_ECONFLICT ? "conflict" : "reducer", &why, err);
    if (n->interrupt_before && !x->before_passed)
        return ask_pause(r, x, err);
    if (is_to_be_noted(x, n))
        return record_before(r, x, err);
    switch (n->type) {
    case MORTISE_NODE_ROUTER:
        return n->op != NULL ? start_tool(r, x, err) : start_router(r, x, err);
    case MORTISE_NODE_HUMAN:
        return human_start(r, x, err);
    case MORTISE_NODE_GUARDRAIL:
        return start_guardrail(r, x, err);
    case MORTISE_NODE_SUBGRAPH:
        return sub_start(r, x, err);
    case MORTISE_NODE_TOOL:
    case MORTISE_NODE_EXTENSION:
        break;
    }
    return start_tool(r, x, err);
}
