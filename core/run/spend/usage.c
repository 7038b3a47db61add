/* usage.c -- what calls of models cost, as executors tell it.
 *
 * A call says what it used while it runs (plugin.h, "usage"); when it ends,
 * however it ends, an entry of its own (`used`) keeps that, in the commit of
 * the entry about its end.
 *
 *   (1) Money that was spent is spent: attempts that failed count, calls that
 *       were stopped, and those that lost a race.  What was recorded is never
 *       taken back, whatever people do with the run.
 *   (2) An executor that is entered again after a suspension or a crash says
 *       again what it said before: it is a function of its request and of the
 *       answers.  So from a call that goes on after its journal only what is
 *       more than before counts.  One that begins anew counts in full.
 *   (3) The entry says what is added, so replaying needs no judgement.
 *       What models cost that it asked by the host is spent with each answer,
 *       once, and is no part of what the call says.
 *   (4) A call of which nobody knows how it ended has used what was reserved
 *       for it (budget.c), which stands in its record, too; and so has one that
 *       ended while a model that it asked had yet to answer, and a reply of
 *       which its server did not say.  The same holds if an amount was reported
 *       that is no number from 0 (`unclear`); an event `warning` then says so, once
 *       for each execution.
 */
#include <assert.h>
#include <string.h>

#include "core/run/spend/spend.h"

enum used_how {                  /* of a `used` entry; journaled */
                USED_ON = 0,     /* besides what this journal's calls used */
                USED_ANEW = 1,   /* the call began without a journal */
                USED_BESIDES = 2 /* a call with nothing to say again */
};

static enum used_how how_of(const struct exec *x)
{
    if (x->call != MORTISE_RUN_EXECUTE)
        return USED_BESIDES;
    return x->goes_on ? USED_ON : USED_ANEW;
}

/* All that it may have used. */
static void assume_all(const struct mortise_run *r, const struct exec *x,
                       struct mortise_usage *more)
{
    uint64_t owed[MORTISE_USED_N];

    for (int k = 0; mortise_budget_owes(r, x, owed) && k < MORTISE_USED_N;
         k++) {
        if (more->amount[k] < owed[k])
            more->amount[k] = owed[k];
    }
}

int mortise_usage_note(struct mortise_run *r, struct exec *x,
                       const struct mortise_usage *said, bool lost,
                       struct mortise_err *err)
{
    enum used_how how = how_of(x);
    struct mortise_usage more = {0};
    uint64_t owed[MORTISE_USED_N];
    struct mortise_entry e;

    if (said != NULL)
        more = *said; /* its names are lent */
    if (how == USED_ON && x->cost != NULL)
        mortise_usage_less(&more, &x->cost->again);
    if (lost || more.unclear || (x->hold != NULL && x->hold->asks > 0))
        assume_all(r, x, &more);
    if (mortise_usage_is_none(&more) &&
        (how == USED_BESIDES || !mortise_budget_owes(r, x, owed)))
        return MORTISE_OK;
    e = mortise_exec_entry(r, x, MORTISE_E_USED);
    e.how = (uint8_t)how;
    return mortise_run_record_value(r, &e, mortise_usage_json(&more), err);
}

int mortise_usage_begin(struct mortise_run *r, struct exec *x,
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

    if (mortise_run_is_seen(r))
        extra = json_pack("{s:s, s:s}", "code", "usage", "message",
                          "its usage has an amount that is not a number of at "
                          "least 0, so the reserved amount counts");
    return mortise_event_announce(r, x, "warning", extra, err);
}

/* To the sums of x and of the run. */
static int add_up(struct mortise_run *r, struct exec *x,
                  const struct mortise_usage *more, struct mortise_err *err)
{
    bool warns = more->unclear && !x->cost->all.unclear;

    if (mortise_usage_add(&x->cost->all, more) != MORTISE_OK ||
        mortise_usage_add(&r->usage, more) != MORTISE_OK)
        return mortise_nomem(err);
    return warns ? warn_unclear(r, x, err) : MORTISE_OK;
}

static int add(struct mortise_run *r, struct exec *x, enum used_how how,
               const struct mortise_usage *more, struct mortise_err *err)
{
    struct mortise_usage amounts = *more;

    assert(how <= USED_BESIDES); /* whoever applies it looked */
    amounts.models = amounts.by_model = NULL;
    if (mortise_usage_begin(r, x, err) != MORTISE_OK)
        return MORTISE_ENOMEM;
    if (how == USED_ANEW)
        mortise_usage_forget(x);
    if (add_up(r, x, more, err) != MORTISE_OK)
        return MORTISE_ENOMEM;
    if (how != USED_BESIDES)
        mortise_usage_add(&x->cost->again, &amounts); /* no name, no memory */
    return mortise_budget_used(r, x, more, how != USED_BESIDES, err);
}

/* A server did not report what a reply used, or not in numbers: then that is what was
 * reserved for it (4). */
static void assume_share(const struct mortise_run *r, const struct exec *x,
                         struct mortise_usage *more)
{
    uint64_t owed[MORTISE_USED_N];
    uint64_t said =
        more->amount[MORTISE_USED_INPUT] + more->amount[MORTISE_USED_OUTPUT];

    if ((said > 0 && !more->unclear) || x->hold == NULL || x->hold->asks == 0 ||
        !mortise_budget_owes(r, x, owed))
        return;
    for (int k = 0; k < MORTISE_USED_N; k++)
        if (more->amount[k] < owed[k] / x->hold->asks)
            more->amount[k] = owed[k] / x->hold->asks;
}

int mortise_usage_of_step(struct mortise_run *r, struct exec *x,
                          const struct mortise_entry *e,
                          struct mortise_err *err)
{
    const json_t *said = json_object_get(e->value, "usage");
    struct mortise_usage more;
    int rv = mortise_usage_begin(r, x, err);

    if (rv != MORTISE_OK || said == NULL)
        return rv;
    rv = mortise_usage_read(&more, said, err);
    if (rv != MORTISE_OK)
        return rv == MORTISE_EINVAL ? mortise_entry_corrupt(err, e) : rv;
    if (json_object_get(e->value, "reply") != NULL)
        assume_share(r, x, &more);
    rv = add_up(r, x, &more, err);
    if (rv == MORTISE_OK)
        rv = mortise_budget_used(r, x, &more, false, err);
    mortise_usage_finish(&more);
    return rv;
}

void mortise_usage_assume(struct mortise_run *r, struct exec *x,
                          const uint64_t used[MORTISE_USED_N])
{
    struct mortise_usage more = {0};

    memcpy(more.amount, used, sizeof more.amount);
    assert(x->cost != NULL); /* made with what is reserved for it */
    mortise_usage_add(&x->cost->all, &more);
    mortise_usage_add(&r->usage, &more);
}

/* Is there anybody who could use something for it: its operation, one that is asked
 * beside it, or a guardrail that asks models? */
static bool may_use(const struct mortise_node *n)
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
    int rv = e->how <= USED_BESIDES && may_use(mortise_exec_node(r, x))
                 ? mortise_usage_read(&more, e->value, err)
                 : MORTISE_EINVAL;

    if (rv != MORTISE_OK)
        return rv == MORTISE_EINVAL ? mortise_entry_corrupt(err, e) : rv;
    rv = add(r, x, (enum used_how)e->how, &more, err);
    mortise_usage_finish(&more);
    return rv;
}

void mortise_usage_forget(struct exec *x)
{
    if (x->cost != NULL)
        x->cost->again = (struct mortise_usage){0};
}

void mortise_usage_drop(struct exec *x)
{
    if (x->cost != NULL)
        mortise_usage_finish(&x->cost->all);
}

/* ---- looking at it ------------------------------------------------------ */

static int put(json_t *to, const struct mortise_usage *u)
{
    return mortise_usage_is_none(u)
               ? 0
               : json_object_set_new(to, "usage", mortise_usage_shown(u));
}

int mortise_usage_put(json_t *to, const struct exec *x)
{
    return x->cost != NULL ? put(to, &x->cost->all) : 0;
}

int mortise_usage_put_all(json_t *to, const struct mortise_run *r)
{
    return put(to, &r->usage);
}
