/* update.c -- the command that changes the state of a run.
 *
 * The new values become writes (patch.c).  They are tried on the current state,
 * with the schemas and limits of every write, before one entry records them
 * all.
 */
#include <assert.h>
#include <string.h>

#include "core/run/command/command.h"

static int make_update_patch(struct mortise_run *r, struct patch *p,
                             const struct mortise_run_command *c,
                             struct mortise_err *err)
{
    mortise_patch_init(p, r, r->graph);
    p->plain = MORTISE_REDUCE_LAST;
    p->whole = (c->flags & MORTISE_CMD_MERGE) == 0;
    return mortise_patch_parse(p, c->value, err);
}

/* Compute the new state: the reducers must accept the writes, the changed
 * fields must match their schemas, and the size is limited. */
static int try_update(struct mortise_run *r, struct patch *u,
                      struct mortise_err *err)
{
    uint64_t size;
    json_t *state;
    int rv = mortise_view_fold_all(r, r->frames[0], false, &state, err);

    for (size_t i = 0; rv == MORTISE_OK && i < u->n; i++) {
        struct mortise_path path;
        struct mortise_write w = {&path, u->writes[i].reduce,
                                  u->writes[i].value, NULL, false};

        rv = mortise_path_parse(&path, &u->arena, u->writes[i].text,
                                strlen(u->writes[i].text), err);
        if (rv == MORTISE_OK && w.reduce > MORTISE_REDUCE_LAST)
            w.how = mortise_graph_reducer(r->graph, &path);
        if (rv == MORTISE_OK)
            rv = mortise_fold_write(&state, &w, r->graph->expr_cost, err);
        if (rv == MORTISE_OK)
            rv = mortise_judge_check_fields(r->graph, state, &path, err);
    }
    if (rv == MORTISE_OK)
        rv = mortise_size_check_state(r->graph, state, &size, err);
    json_decref(state);
    return rv != MORTISE_OK ? mortise_err_prefix(err, rv, "update") : rv;
}

/* Does the result depend on the current state? */
static bool has_reducer_write(const struct patch *u)
{
    for (size_t i = 0; i < u->n; i++) {
        if (u->writes[i].reduce != MORTISE_REDUCE_LAST)
            return true;
    }
    return false;
}

/* Answers and results of the same list are applied first, and their writes are
 * unknown here.  So an update that depends on the state needs its own call. */
int mortise_command_check_update(struct mortise_run *r,
                                 const struct mortise_command_list *h,
                                 const struct mortise_run_command *c,
                                 struct mortise_err *err)
{
    struct patch u;
    int rv = mortise_goto_check_no_doubt(r, false, err);

    if (rv != MORTISE_OK)
        return rv;
    rv = make_update_patch(r, &u, c, err);
    if (rv == MORTISE_OK)
        rv = try_update(r, &u, err);
    if (rv == MORTISE_OK && has_reducer_write(&u) &&
        (mortise_command_has_kind(h, MORTISE_CMD_ANSWER) ||
         mortise_command_has_kind(h, MORTISE_CMD_RESOLVE)))
        rv = mortise_fail(
            err, MORTISE_EINVAL,
            "an update of a path with a reducer cannot be in the same call as "
            "an answer or a result; give the update in a later call");
    mortise_patch_finish(&u);
    return rv;
}

/* The update was checked, and nothing has changed since. */
static int record_update(struct mortise_run *r,
                         const struct mortise_run_command *c, const char *actor,
                         struct mortise_err *err)
{
    struct patch u;
    int rv;

    rv = make_update_patch(r, &u, c, err);
    if (rv == MORTISE_OK) {
        assert(u.n <= u.cap);
        struct mortise_entry e = {.type = MORTISE_E_UPDATE,
                                  .actor = actor,
                                  .writes = u.writes,
                                  .n_writes = u.n};

        rv = mortise_run_record(r, &e, err);
    }
    mortise_patch_finish(&u);
    return rv;
}

/* x continues with the decision about it: keep its arguments, which the state
 * before the update gave. */
static int record_decided_arguments(struct mortise_run *r, struct exec *x,
                                    struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_make_entry(r, x, MORTISE_E_CHECKED);
    struct mortise_err why;
    int rv;

    if (mortise_exec_node(r, x)->op == NULL || x->body_is_given ||
        mortise_guard_must_check_input(r, x)) /* not evaluated yet */
        return MORTISE_OK;
    rv = mortise_arguments_eval_with_view(r, x, &why, err);
    if (rv == MORTISE_EINVAL) /* reported when x continues */
        return MORTISE_OK;
    return rv == MORTISE_OK
               ? mortise_run_record_value(r, &e, json_incref(x->body), err)
               : rv;
}

/* x is in the graph whose state changes. */
static int prepare_exec_for_update(struct mortise_run *r, struct exec *x,
                                   struct mortise_err *err)
{
    int rv = x->decided ? MORTISE_OK : mortise_exec_disarm_timer(r, x, err);

    assert(x->state != X_RUNNING && x->state != X_STOPPING);
    if (rv != MORTISE_OK || mortise_exec_has_ended(x))
        return rv;
    if (x->state == X_ASKED && x->ask != MORTISE_ASK_BEFORE)
        return mortise_request_withdraw(r, x, err);
    return x->decided ? record_decided_arguments(r, x, err) : MORTISE_OK;
}

/* Stop the tools of x like those of an attempt that ends: x can continue a
 * graph among them later (flow/tools.c (9)).  No call is in flight, so all of
 * them end here. */
static int stop_tools_for_update(struct mortise_run *r, struct exec *x,
                                 struct mortise_err *err)
{
    struct mortise_entry abandon =
        mortise_exec_make_entry(r, x, MORTISE_E_ABANDON);
    int rv;

    if (x->decided || !mortise_tools_are_active(x))
        return MORTISE_OK;
    rv = mortise_run_record(r, &abandon, err);
    return rv == MORTISE_OK ? mortise_stop_losers(r, err) : rv;
}

/* Requests are withdrawn and asked again, since their state changes; a
 * scheduled pause has none.  An execution with tools starts over, and so do the
 * tools, unless a decision about one of them was not used yet. */
int mortise_command_obey_update(struct mortise_run *r,
                                const struct mortise_command_list *h,
                                const struct mortise_run_command *c,
                                struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if (x->frame->top != r->frames[0])
            continue;
        rv = stop_tools_for_update(r, x, err);
        if (rv == MORTISE_OK)
            rv = prepare_exec_for_update(r, x, err);
    }
    return rv != MORTISE_OK ? rv : record_update(r, c, h->actor, err);
}
