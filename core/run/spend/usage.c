/* usage.c -- the usage of models that executors report.
 *
 * A call reports its usage while it runs (plugin.h, "usage").  When it ends,
 * however it ends, an entry (`used`) records the usage in the commit of the
 * entry that ends it.
 *
 *   (1) Spent money is spent: failed attempts, stopped calls and lost races
 *       count.  A recorded amount is never removed, whatever people do with the
 *       run.
 *   (2) An executor that is re-entered after a suspension or a crash reports
 *       its earlier usage again, because it is a function of its request and of
 *       the answers.  So if a call continues after its journal, only the
 *       increase counts.  If it starts anew, all of it counts.
 *   (3) The entry has the amounts to add, so a replay decides nothing.  Usage
 *       of models that the call asked through the host is spent with each
 *       answer, once, and is not part of the call's report.
 *   (4) A call with an unknown end has used its whole reservation (budget.c),
 *       and its record shows this.  The same rule applies to a call that ended
 *       while an ask of a model was in flight, and to a reply without usage
 *       from its server.  It also applies to a report with an amount that is
 *       not a number of at least 0 (`unclear`); then an event `warning` is
 *       emitted, once for each execution.
 */
#include <assert.h>
#include <string.h>

#include "core/run/spend/spend.h"

enum used_how {                    /* of a `used` entry; journaled */
                USED_INCREASE = 0, /* added to the usage of the calls of this
                                    journal */
                USED_ANEW = 1,     /* the call started without a journal */
                USED_BESIDES = 2   /* a call that never repeats a report */
};

static enum used_how get_used_how(const struct exec *x)
{
    if (x->call != MORTISE_RUN_EXECUTE)
        return USED_BESIDES;
    return x->goes_on ? USED_INCREASE : USED_ANEW;
}

/* Raise `more` to the reserved amounts. */
static void assume_reserved_usage(const struct mortise_run *r,
                                  const struct exec *x,
                                  struct mortise_usage *more)
{
    uint64_t owed[MORTISE_USED_N];

    for (int k = 0;
         mortise_budget_get_unreported(r, x, owed) && k < MORTISE_USED_N; k++) {
        if (more->amount[k] < owed[k])
            more->amount[k] = owed[k];
    }
}

int mortise_usage_add_reported(struct mortise_run *r, struct exec *x,
                               const struct mortise_usage *said, bool lost,
                               struct mortise_err *err)
{
    enum used_how how = get_used_how(x);
    struct mortise_usage more = {0};
    uint64_t owed[MORTISE_USED_N];
    struct mortise_entry e;

    if (said != NULL)
        more = *said; /* its names are borrowed */
    if (how == USED_INCREASE && x->cost != NULL)
        mortise_usage_subtract(&more, &x->cost->again);
    if (lost || more.unclear || (x->hold != NULL && x->hold->asks > 0))
        assume_reserved_usage(r, x, &more);
    if (mortise_usage_is_empty(&more) &&
        (how == USED_BESIDES || !mortise_budget_get_unreported(r, x, owed)))
        return MORTISE_OK;
    e = mortise_exec_make_entry(r, x, MORTISE_E_USED);
    e.how = (uint8_t)how;
    return mortise_run_record_value(r, &e, mortise_usage_to_json(&more), err);
}

int mortise_usage_create_cost(struct mortise_run *r, struct exec *x,
                              struct mortise_err *err)
{
    if (x->cost == NULL)
        x->cost = mortise_arena_alloc(&r->arena, sizeof *x->cost);
    return x->cost != NULL ? MORTISE_OK : mortise_nomem(err);
}

static int warn_unclear(struct mortise_run *r, const struct exec *x,
                        struct mortise_err *err)
{
    json_t *extra = NULL;

    if (mortise_run_has_watcher(r))
        extra = json_pack("{s:s, s:s}", "code", "usage", "message",
                          "its usage has an amount that is not a number of at "
                          "least 0, so the reserved amount counts");
    return mortise_event_announce(r, x, "warning", extra, err);
}

/* Add to the sums of x and of the run. */
static int add_to_sums(struct mortise_run *r, struct exec *x,
                       const struct mortise_usage *more,
                       struct mortise_err *err)
{
    bool warns = more->unclear && !x->cost->all.unclear;

    if (mortise_usage_add(&x->cost->all, more) != MORTISE_OK ||
        mortise_usage_add(&r->usage, more) != MORTISE_OK)
        return mortise_nomem(err);
    return warns ? warn_unclear(r, x, err) : MORTISE_OK;
}

static int add_used(struct mortise_run *r, struct exec *x, enum used_how how,
                    const struct mortise_usage *more, struct mortise_err *err)
{
    struct mortise_usage amounts = *more;

    assert(how <= USED_BESIDES); /* the caller checked this */
    amounts.models = amounts.by_model = NULL;
    if (mortise_usage_create_cost(r, x, err) != MORTISE_OK)
        return MORTISE_ENOMEM;
    if (how == USED_ANEW)
        mortise_usage_clear_repeated(x);
    if (add_to_sums(r, x, more, err) != MORTISE_OK)
        return MORTISE_ENOMEM;
    if (how != USED_BESIDES)
        mortise_usage_add(&x->cost->again, &amounts); /* without names it
                                                         allocates nothing */
    return mortise_budget_add_used(r, x, more, how != USED_BESIDES, err);
}

/* If the server did not report the usage of a reply, or not in numbers, count
 * the share of the reservation (4). */
static void assume_reply_share(const struct mortise_run *r,
                               const struct exec *x, struct mortise_usage *more)
{
    uint64_t owed[MORTISE_USED_N];
    uint64_t said =
        more->amount[MORTISE_USED_INPUT] + more->amount[MORTISE_USED_OUTPUT];

    if ((said > 0 && !more->unclear) || x->hold == NULL || x->hold->asks == 0 ||
        !mortise_budget_get_unreported(r, x, owed))
        return;
    for (int k = 0; k < MORTISE_USED_N; k++)
        if (more->amount[k] < owed[k] / x->hold->asks)
            more->amount[k] = owed[k] / x->hold->asks;
}

int mortise_usage_add_step(struct mortise_run *r, struct exec *x,
                           const struct mortise_entry *e,
                           struct mortise_err *err)
{
    const json_t *said = json_object_get(e->value, "usage");
    struct mortise_usage more;
    int rv = mortise_usage_create_cost(r, x, err);

    if (rv != MORTISE_OK || said == NULL)
        return rv;
    rv = mortise_usage_from_json(&more, said, err);
    if (rv != MORTISE_OK)
        return rv == MORTISE_EINVAL ? mortise_entry_corrupt(err, e) : rv;
    if (json_object_get(e->value, "reply") != NULL)
        assume_reply_share(r, x, &more);
    rv = add_to_sums(r, x, &more, err);
    if (rv == MORTISE_OK)
        rv = mortise_budget_add_used(r, x, &more, false, err);
    mortise_usage_finish(&more);
    return rv;
}

void mortise_usage_add_unreported(struct mortise_run *r, struct exec *x,
                                  const uint64_t used[MORTISE_USED_N])
{
    struct mortise_usage more = {0};

    memcpy(more.amount, used, sizeof more.amount);
    assert(x->cost != NULL); /* made with the reservation */
    mortise_usage_add(&x->cost->all, &more);
    mortise_usage_add(&r->usage, &more);
}

/* Can anything use models for this node: its operation, its compaction, its
 * judge, or a guardrail? */
static bool can_use_models(const struct mortise_node *n)
{
    bool may = n->op != NULL || n->compaction != NULL || n->judge != NULL;

    for (size_t s = 0; s < MORTISE_GUARD_STAGES; s++)
        may |= n->guards[s].n > 0;
    return may;
}

int mortise_apply_used(struct mortise_run *r, struct exec *x,
                       const struct mortise_entry *e, struct mortise_err *err)
{
    struct mortise_usage more;
    int rv = e->how <= USED_BESIDES && can_use_models(mortise_exec_node(r, x))
                 ? mortise_usage_from_json(&more, e->value, err)
                 : MORTISE_EINVAL;

    if (rv != MORTISE_OK)
        return rv == MORTISE_EINVAL ? mortise_entry_corrupt(err, e) : rv;
    rv = add_used(r, x, (enum used_how)e->how, &more, err);
    mortise_usage_finish(&more);
    return rv;
}

void mortise_usage_clear_repeated(struct exec *x)
{
    if (x->cost != NULL)
        x->cost->again = (struct mortise_usage){0};
}

void mortise_usage_free_cost(struct exec *x)
{
    if (x->cost != NULL)
        mortise_usage_finish(&x->cost->all);
}

/* ---- show --------------------------------------------------------------- */

static int put_usage_member(json_t *to, const struct mortise_usage *u)
{
    return mortise_usage_is_empty(u)
               ? 0
               : json_object_set_new(to, "usage",
                                     mortise_usage_to_user_json(u));
}

int mortise_usage_add_exec_json(json_t *to, const struct exec *x)
{
    return x->cost != NULL ? put_usage_member(to, &x->cost->all) : 0;
}

int mortise_usage_add_run_json(json_t *to, const struct mortise_run *r)
{
    return put_usage_member(to, &r->usage);
}
