/* steer.c -- the command that steers a run: a diff of its graph makes a new
 * graph.  The sender of the command compiled and checked that graph
 * (core/engine/runs/steering.c); here it is checked against the progress of the
 * run. */
#include <string.h>

#include "core/run/command/command.h"

int mortise_run_check_steer(const struct mortise_run *r,
                            const struct mortise_graph *to,
                            struct mortise_err *err)
{
    if (mortise_run_has_ended(r->status) || r->cancelling)
        return mortise_fail(err, MORTISE_ESTATE,
                            "run %s %s, so it cannot be steered", r->id,
                            r->cancelling ? "is being cancelled" : "has ended");
    if (r->plan.waits)
        return mortise_fail(err, MORTISE_ESTATE,
                            "the plan of run %s waits for an approval; approve "
                            "it with edits instead",
                            r->id);
    if (to == NULL)
        return mortise_regraph_check(r, r->graph, err);
    if (to->former != r->graph)
        return mortise_fail(
            err, MORTISE_ECONFLICT,
            "another command steered run %s first, so this command changed "
            "nothing; look at the run, then decide again",
            r->id);
    return mortise_regraph_check(r, to, err);
}

/* A decision could end a node that the diff is about; the diff was checked
 * against the state before the decision. */
static bool has_list_decision(const struct mortise_command_list *h)
{
    for (size_t i = 0; i < h->n; i++)
        if (mortise_command_row(h->list[i].kind)->subject != NULL)
            return true;
    return false;
}

int mortise_command_check_steer(struct mortise_run *r,
                                const struct mortise_command_list *h,
                                const struct mortise_run_command *c,
                                struct mortise_err *err)
{
    (void)c;
    if (mortise_command_has_kind(h, MORTISE_CMD_GOTO))
        return mortise_fail(err, MORTISE_EINVAL,
                            "steering and goto cannot be in the same call");
    if (has_list_decision(h))
        return mortise_fail(err, MORTISE_EINVAL,
                            "steering and a decision cannot be in the same "
                            "call; give the decision first");
    if (h->steering == NULL)
        return mortise_fail(err, MORTISE_EINVAL,
                            "only an engine can steer a run, because it "
                            "compiles the new graph");
    return mortise_run_check_steer(r, h->steering->graph, err);
}

int mortise_command_obey_steer(struct mortise_run *r,
                               const struct mortise_command_list *h,
                               const struct mortise_run_command *c,
                               struct mortise_err *err)
{
    const struct mortise_steering *s = h->steering;
    struct mortise_entry e = {
        .type = MORTISE_E_STEER, .actor = h->actor, .value = s->operations};
    int rv = MORTISE_OK;

    (void)c;
    memcpy(e.digest, s->graph->digest, sizeof e.digest);
    for (size_t i = 0; rv == MORTISE_OK && i < s->n_pins; i++)
        rv = mortise_pins_record_used(r, &s->pins[i], err);
    mortise_run_add_next_graph(r, s->graph);
    return rv == MORTISE_OK ? mortise_run_record(r, &e, err) : rv;
}
