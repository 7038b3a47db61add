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
 *   RULES_THIRD  A `pattern` is PCRE2's, with some of ECMA-262 (base/
 *                ecma_first.c), and `matches` is PCRE2's.  CEL has rb'', and
 *                looks at what format() shows only when it shows it.
 *   RULES_FOURTH A node in a map's body keeps no output unless output_as says
 *                so, and then it is an artifact of the run, as is what a map in a
 *                map came to: the last element's is the one that stays.
 *                `error` in on_error.value is {code, message, span}.
 *   RULES_FIFTH  A settled join that is at work when its graph is stopped is
 *                stopped with it.  Traits decide personality edges, and are no
 *                part of what gmi nodes ask.  `diagnostics` knows nothing of
 *                guardrails.
 *   RULES_SIXTH  A hitl_mode implies no other: a graph of approve_each_node or
 *                approve_tools begins without a word about its plan, and where
 *                graphs in each other say both, a node is asked for twice.
 *   RULES_SEVENTH What docs/man/mortise-graph.5 says.
 *
 * What a text of the graph means is settled when the graph is loaded, which is
 * before the journal is read: mortise_run_admitted_under() looks ahead, and the
 * loader takes its answer for a graph that a run has pinned.
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

static int check_known(unsigned rules, struct mortise_err *err)
{
    if (rules < MORTISE_N_RULES)
        return MORTISE_OK;
    return mortise_fail(err, MORTISE_ENEWER,
                        "the run was admitted under rules %u, and this program "
                        "knows those up to %u; use a newer one",
                        rules, (unsigned)MORTISE_RULES_NOW);
}

int mortise_run_admitted_under(enum mortise_rules *out, const void *entries,
                               size_t size, const struct mortise_mem *mem,
                               struct mortise_err *err)
{
    struct mortise_reader reader;
    struct mortise_arena a;
    bool ahead = true; /* of the admission */
    int rv = MORTISE_OK;

    *out = MORTISE_RULES_FIRST;
    mortise_arena_init(&a, mem);
    mortise_reader_init(&reader, entries, size);
    while (rv == MORTISE_OK && ahead) {
        struct mortise_entry e;

        rv = mortise_entry_read(&e, &reader, &a, err);
        if (rv != MORTISE_OK)
            break;
        ahead = e.type != MORTISE_E_RULES && e.type != MORTISE_E_ADMIT;
        if (e.type == MORTISE_E_RULES)
            rv = check_known(e.how, err);
        if (e.type == MORTISE_E_RULES && rv == MORTISE_OK)
            *out = (enum mortise_rules)e.how;
        mortise_entry_finish(&e);
    }
    mortise_arena_finish(&a);
    return rv == MORTISE_ENOTFOUND ? MORTISE_OK : rv; /* the record's end */
}

int mortise_apply_rules(struct mortise_run *r, const struct mortise_entry *e,
                        struct mortise_err *err)
{
    int rv = check_known(e->how, err);

    if (rv != MORTISE_OK)
        return rv;
    if (e->how == MORTISE_RULES_FIRST || r->rules != MORTISE_RULES_FIRST)
        return mortise_entry_corrupt(err, e);
    r->rules = (enum mortise_rules)e->how;
    r->store = e->store;
    return MORTISE_OK;
}

enum mortise_schema_patterns mortise_run_patterns(const struct mortise_run *r)
{
    return r->rules < MORTISE_RULES_FOURTH ? MORTISE_PATTERNS_FIRST
                                           : MORTISE_PATTERNS_FOREIGN;
}

void mortise_rules_hash(const struct mortise_run *r, struct mortise_hasher *h)
{
    if (r->rules != MORTISE_RULES_FIRST)
        mortise_hasher_field(h, r->store.b, sizeof r->store.b);
}
