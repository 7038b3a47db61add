/* update.c -- the command that gives a run another state.
 *
 * What is given becomes writes (patch.c).  They are tried on the state as it
 * is, against the schemas and limits that every write is held to, before one
 * entry says all of them.
 */
#include <assert.h>
#include <string.h>

#include "core/run/command/command.h"

static int update_make(struct mortise_run *r, struct patch *p,
                       const struct mortise_run_command *c,
                       struct mortise_err *err)
{
    mortise_patch_init(p, r, r->graph);
    p->plain = MORTISE_REDUCE_LAST;
    p->whole = (c->flags & MORTISE_CMD_MERGE) == 0;
    return mortise_patch_make(p, c->value, err);
}

/* What the state would be: its reducers take it, what it changes holds against
 * the schemas, and it is not too large. */
static int update_try(struct mortise_run *r, struct patch *u,
                      struct mortise_err *err)
{
    uint64_t size;
    json_t *state;
    int rv = mortise_view_total(r, r->frames[0], false, &state, err);

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
            rv = mortise_judge_field_of(r->graph, state, &path, err);
    }
    if (rv == MORTISE_OK)
        rv = mortise_size_within(r->graph, state, &size, err);
    json_decref(state);
    return rv != MORTISE_OK ? mortise_doing(err, rv, "update") : rv;
}

/* Does what it makes depend on what is there? */
static bool update_reduces(const struct patch *u)
{
    for (size_t i = 0; i < u->n; i++) {
        if (u->writes[i].reduce != MORTISE_REDUCE_LAST)
            return true;
    }
    return false;
}

/* Answers and results are applied before the update, and what they write is
 * not known before: an update that they could break must come after them. */
int mortise_command_check_update(struct mortise_run *r,
                                 const struct mortise_said *h,
                                 const struct mortise_run_command *c,
                                 struct mortise_err *err)
{
    struct patch u;
    int rv = mortise_goto_check_settled(r, false, err);

    if (rv != MORTISE_OK)
        return rv;
    rv = update_make(r, &u, c, err);
    if (rv == MORTISE_OK)
        rv = update_try(r, &u, err);
    if (rv == MORTISE_OK && update_reduces(&u) &&
        (mortise_command_has(h, MORTISE_CMD_ANSWER) ||
         mortise_command_has(h, MORTISE_CMD_RESOLVE)))
        rv = mortise_fail(
            err, MORTISE_EINVAL,
            "an update of a path with a reducer cannot be in the same call as "
            "an answer or a result; give the update in a later call");
    mortise_patch_finish(&u);
    return rv;
}

/* It was checked, and nothing that could break it happened since. */
static int record_update(struct mortise_run *r,
                         const struct mortise_run_command *c, const char *actor,
                         struct mortise_err *err)
{
    struct patch u;
    int rv;

    rv = update_make(r, &u, c, err);
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

/* x goes on with what was decided about it: with the arguments that it has, of
 * the state before the update. */
static int keep_arguments(struct mortise_run *r, struct exec *x,
                          struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_entry(r, x, MORTISE_E_CHECKED);
    struct mortise_err why;
    int rv;

    if (mortise_exec_node(r, x)->op == NULL || x->body_is_given ||
        mortise_guard_wants_input(r, x)) /* it did not use any yet */
        return MORTISE_OK;
    rv = mortise_arguments_find(r, x, &why, err);
    if (rv == MORTISE_EINVAL) /* it hears of that when it goes on */
        return MORTISE_OK;
    return rv == MORTISE_OK
               ? mortise_run_record_value(r, &e, json_incref(x->body), err)
               : rv;
}

/* x is in the graph that gets another state. */
static int take_update(struct mortise_run *r, struct exec *x,
                       struct mortise_err *err)
{
    int rv = x->decided ? MORTISE_OK : mortise_exec_disarm(r, x, err);

    assert(x->state != X_RUNNING && x->state != X_STOPPING);
    if (rv != MORTISE_OK || mortise_exec_is_over(x))
        return rv;
    if (x->state == X_ASKED && x->ask != MORTISE_ASK_BEFORE)
        return mortise_request_withdraw(r, x, err);
    return x->decided ? keep_arguments(r, x, err) : MORTISE_OK;
}

/* The tools of x stop as those of an attempt that ends: a graph among them can
 * continue inside when x calls it again (flow/tools.c (9)).  No call is out, so
 * all of them stop here. */
static int stop_tools(struct mortise_run *r, struct exec *x,
                      struct mortise_err *err)
{
    struct mortise_entry abandon = mortise_exec_entry(r, x, MORTISE_E_ABANDON);
    int rv;

    if (x->decided || !mortise_tools_are_at_work(x))
        return MORTISE_OK;
    rv = mortise_run_record(r, &abandon, err);
    return rv == MORTISE_OK ? mortise_stop_losers(r, err) : rv;
}

/* Questions are asked again, since the state that they are about changes; a
 * scheduled pause is about none.  An execution that has tools run begins anew, and
 * so do they; unless somebody decided about it or them, and it did not go on with
 * that yet.
 */
int mortise_command_obey_update(struct mortise_run *r,
                                const struct mortise_said *h,
                                const struct mortise_run_command *c,
                                struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if (x->frame->top != r->frames[0])
            continue;
        rv = stop_tools(r, x, err);
        if (rv == MORTISE_OK)
            rv = take_update(r, x, err);
    }
    return rv != MORTISE_OK ? rv : record_update(r, c, h->actor, err);
}
