/* rules.c -- the version of the rules, and the store, under which a run was
 * admitted.
 *
 * A journal records decisions; everything else follows by rule, for example
 * whether a join fires or which visit of a subgraph comes next.  Other rules
 * would rebuild another run from the same journal.  So the entry `rules`,
 * before the admission, has a version number that changes with the meaning of
 * graphs and journals, and a run with another number is rejected.
 * MORTISE_RULES is the only version so far; docs/man/mortise-graph.5 describes
 * it.
 *
 * The store's id is part of every identity that outside systems see: the keys
 * of effects and the ids of requests.  So a run with the same id in another
 * store, or in a store that was created anew, is a different run to them.
 */
#include "core/run/state/state.h"

int mortise_rules_record(struct mortise_run *r, struct mortise_uuid store,
                         struct mortise_err *err)
{
    struct mortise_entry e = {
        .type = MORTISE_E_RULES, .how = MORTISE_RULES, .store = store};

    return mortise_run_record(r, &e, err);
}

int mortise_apply_rules(struct mortise_run *r, const struct mortise_entry *e,
                        struct mortise_err *err)
{
    if (r->ruled || e->how == 0)
        return mortise_entry_corrupt(err, e);
    if (e->how != MORTISE_RULES)
        return mortise_fail(err, MORTISE_EFORMAT,
                            "the run started with version %u of the engine's "
                            "rules, but this program supports only version %d; "
                            "use the mortise that started it, or a newer one",
                            (unsigned)e->how, MORTISE_RULES);
    r->ruled = true;
    r->store = e->store;
    return MORTISE_OK;
}
