/* rules.c -- under which rules a run was admitted, and in which store.
 *
 * A journal records what was decided, and the rest follows by rule: whether a
 * join fires, which visit of a subgraph comes next.  Other rules would make
 * another run of the same journal.  Hence the entry `rules`, ahead of the
 * admission: its number changes with the meaning of graphs and journals, and a
 * run of another number is refused.  MORTISE_RULES is the only one so far, which
 * docs/man/mortise-graph.5 describes.
 *
 * The store's identity is in every name by which somebody outside may know a
 * thing of the run again: the keys of effects, and the ids of requests.  So a
 * run of the same id in another store, or in one made anew, is another run to
 * them, too.
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
