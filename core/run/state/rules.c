/* rules.c -- under which rules a run was admitted, and in which store.
 *
 * A journal says what was decided, and the rest follows by rule: whether a join
 * fires, which visit of a subgraph comes next.  Were the rules of today applied
 * to a journal of yesterday, another run would come out of it; and keys of
 * effects are compared with those that were recorded, so a new way to make them
 * would have every effect that is done be done again.  Hence the entry `rules`,
 * ahead of the admission: a run keeps what stands there for ever, whatever is
 * done to it later.  An admission without one is of the first rules.
 *
 *   RULES_FIRST  Keys know nothing of the store.  `any` and `quorum` fail what
 *                they are in by the first branch that fails; what is dropped is
 *                forgotten even where nothing else came.  A subgraph's next
 *                attempt numbers visits on, and never follows a failure inside.
 *                A decision has an `answer` where somebody gave one.
 *   RULES_SECOND `any` and `quorum` at the join of a map count it as one edge,
 *                taken once all elements are over.  An update has a subgraph
 *                that waits to be tried again begin anew.  A resume leaves a
 *                loop as it is whose exits do not say that it failed.
 *   RULES_THIRD  What docs/man/mortise-graph.5 says.
 *
 * The store's identity is in every name by which somebody outside may know a
 * thing of the run again: the keys of effects, and the ids of requests.  So a
 * run of the same id in another store, or in one made anew, is another run to
 * them, too.
 */
#include <string.h>

#include "run/state/state.h"

int mortise_rules_record(struct mortise_run *r, struct mortise_uuid store,
                         struct mortise_err *err)
{
    struct mortise_entry e = {
        .type = MORTISE_E_RULES, .how = MORTISE_RULES_NOW, .store = store};

    return mortise_run_record(r, &e, err);
}

int mortise_apply_rules(struct mortise_run *r, const struct mortise_entry *e,
                        struct mortise_err *err)
{
    if (e->how >= MORTISE_N_RULES)
        return mortise_fail(err, MORTISE_ENEWER,
                            "the run was admitted under rules %u, and this "
                            "program knows those up to %u; use a newer one",
                            e->how, (unsigned)MORTISE_RULES_NOW);
    if (e->how == MORTISE_RULES_FIRST || r->rules != MORTISE_RULES_FIRST)
        return mortise_entry_corrupt(err, e);
    r->rules = (enum mortise_rules)e->how;
    r->store = e->store;
    return MORTISE_OK;
}

void mortise_rules_hash(const struct mortise_run *r, struct mortise_hasher *h)
{
    if (r->rules != MORTISE_RULES_FIRST)
        mortise_hasher_field(h, r->store.b, sizeof r->store.b);
}
