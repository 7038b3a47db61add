/* goto.c -- the command that continues a run at another node.
 *
 * A goto replaces the whole frontier, so everything that it abandons must be
 * settled: no effect may be between intent and answer.  The same holds for an
 * update.
 */
#include <assert.h>

#include "core/run/command/command.h"

/* Is an effect in flight that must not be repeated?  A step counts even before
 * its intent is on disk: then it is in doubt. */
static bool is_effect_in_flight(const struct mortise_run *r,
                                const struct exec *x)
{
    return (x->state == X_RUNNING || x->state == X_STOPPING) &&
           x->call == MORTISE_RUN_EXECUTE &&
           (mortise_doubt_has_open_effect(r, x) ||
            (mortise_step_has_open_effect(x) &&
             !mortise_doubt_may_be_repeated(mortise_exec_node(r, x))));
}

/* Can the call be cancelled to move the frontier? */
static bool is_cancellable(const struct mortise_run *r, const struct exec *x)
{
    return r->live && (x->state == X_INTENT ||
                       ((x->state == X_RUNNING || x->state == X_STOPPING) &&
                        !mortise_doubt_has_open_effect(r, x)));
}

static int fail_open_doubt(const struct mortise_run *r, const struct exec *x,
                           struct mortise_err *err)
{
    const char *node = mortise_exec_node(r, x)->id;

    return x->state == X_ASKED && x->ask == MORTISE_ASK_DOUBT
               ? mortise_fail(err, MORTISE_EINDOUBT,
                              "the effect of node '%s' is in doubt; resolve it "
                              "first (request %s)",
                              node, x->request)
               : mortise_fail(err, MORTISE_EINDOUBT,
                              "the effect of node '%s' is in doubt; resume the "
                              "run first, which reconciles it or asks a person",
                              node);
}

/* Has x, which is active, an effect between intent and answer? */
static bool has_open_effect(const struct mortise_run *r, const struct exec *x)
{
    return x->was.state != 0 ||
           ((x->effect_open || mortise_step_has_open_effect(x)) &&
            !is_cancellable(r, x));
}

/* x has ended in doubt. */
static int fail_kept_doubt(const struct mortise_run *r, const struct exec *x,
                           struct mortise_err *err)
{
    const char *id = mortise_exec_node(r, x)->id;

    return r->status >= MORTISE_RUN_COMPLETED
               ? mortise_fail(err, MORTISE_EINDOUBT,
                              "it is in doubt whether the effect of node '%s' "
                              "happened; `mortise resume %s` asks about it",
                              id, r->id)
               : mortise_fail(
                     err, MORTISE_EINDOUBT,
                     "it is in doubt whether the effect of node '%s' happened; "
                     "after the run has ended (`mortise cancel %s` ends it), "
                     "`mortise resume %s` asks about it",
                     id, r->id, r->id);
}

int mortise_goto_check_no_doubt(const struct mortise_run *r, bool back,
                                struct mortise_err *err)
{
    back |= r->status >= MORTISE_RUN_COMPLETED;
    for (size_t i = 1; i < r->n_execs; i++) {
        const struct exec *x = r->execs[i];

        if (is_effect_in_flight(r, x))
            return mortise_fail(err, MORTISE_EINDOUBT,
                                "the effect of node '%s' is in flight; wait "
                                "for it, or `mortise pause %s` first",
                                mortise_exec_node(r, x)->id, r->id);
        if (!mortise_exec_has_ended(x) && has_open_effect(r, x))
            return fail_open_doubt(r, x, err);
        if (mortise_doubt_has_ended_open(r, x) &&
            (back || mortise_doubt_can_resume(x)))
            return fail_kept_doubt(r, x, err);
    }
    return MORTISE_OK;
}

static bool is_node_in_map(const struct mortise_graph *g,
                           const struct mortise_node *n)
{
    uint32_t at = n->region;

    assert(at < g->n_regions);
    while (at != 0 && g->regions[at].kind != MORTISE_REGION_MAP)
        at = g->regions[at].parent;
    return at != 0;
}

int mortise_command_check_goto(struct mortise_run *r,
                               const struct mortise_command_list *h,
                               const struct mortise_run_command *c,
                               struct mortise_err *err)
{
    int rv = mortise_decide_check_used(r, h, "goto", err);

    if (rv != MORTISE_OK)
        return rv;
    if (r->cancelling && mortise_final_is_active(r))
        return mortise_fail(
            err, MORTISE_ESTATE,
            "run %s is being cancelled, and its finalisers still run; use goto "
            "after the run has ended; a second cancel ends it at once",
            r->id);
    if (c->node == NULL || mortise_graph_find_node(r->graph, c->node) == NULL)
        return mortise_fail(err, MORTISE_EUNKNOWN_NODE,
                            "graph '%s' has no node '%s'", r->graph->name,
                            c->node != NULL ? c->node : "");
    return is_node_in_map(r->graph, mortise_graph_find_node(r->graph, c->node))
               ? mortise_fail(
                     err, MORTISE_EINVAL,
                     "node '%s' runs once for each element of a map's list; "
                     "use goto with the node that starts the map",
                     c->node)
               : mortise_goto_check_no_doubt(r, true, err);
}

int mortise_command_obey_goto(struct mortise_run *r,
                              const struct mortise_command_list *h,
                              const struct mortise_run_command *c,
                              struct mortise_err *err)
{
    const struct mortise_node *n = mortise_graph_find_node(r->graph, c->node);
    struct mortise_entry e = {
        .type = MORTISE_E_GOTO,
        .how = (c->flags & MORTISE_CMD_FORCE) != 0,
        .actor = h->actor,
    };
    int rv = mortise_command_stop_idle(r, err);

    /* The list was checked, and held until all calls had ended. */
    assert(n != NULL && r->n_running == 0);
    if (rv != MORTISE_OK)
        return rv;
    e.node = n->index;
    e.visit = mortise_frame_count_visits(r->frames[0], n->index) + 1;
    return mortise_run_record(r, &e, err);
}
