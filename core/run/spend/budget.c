/* budget.c -- what a graph may spend: reserved before a call, settled after.
 *
 * A graph with a `budget` has a purse in each going through it (struct scope).
 * A call of an operation draws on the purse of its graph and on those of all
 * graphs around that.  `tool_calls` counts attempts: each time that an
 * executor's operation is called anew, retries and elements of maps included.
 * Guardrails and reconciliations are none, nor is being entered again after a
 * suspension, which is the same call going on.  What calls of models cost
 * (`model_calls`, `tokens`, `usd` ...) is what executors tell (usage.c), and
 * what their operations' manifests say that they use at most.
 *
 *   (1) The most that a call may spend is reserved, by an entry, before it is
 *       called, and the call waits until that is on disk: whatever dies, what
 *       was spent is never forgotten.
 *   (2) A reservation is settled by the entry that ends the call, or its
 *       suspension; what of it is usage by what the call told (`used`).  One
 *       whose call was cut off (a crash, a plugin that was given up) counts in
 *       full: nobody knows what it spent.  What an operation tells beyond what
 *       its manifest says counts all the same, with a warning: nothing is worse
 *       than money that nobody counts.
 *   (3) What would fit once others have settled waits for them; where it is a tool,
 *       its asker suspends meanwhile, which settles what that holds (tools.c (8)).  What does not
 *       fit whatever they come to has exceeded the budget: one more of
 *       `tool_calls` at once, since a call counts before it is made.  Once more is
 *       spent than there was, no call fits.  The outermost purse that says so
 *       decides what follows: a question to people (`pause`), on which that
 *       execution alone waits, or the end of its graph (`fail`).
 *       For `goto`, too, all in the graph is stopped, and when it is quiet the
 *       graph goes on at that node, after everything that was done; what is
 *       exceeded again after that fails it.
 *   (4) A purse warns once that four fifths are spent or reserved, and says
 *       once that it was exceeded, until somebody raises it.
 *   (5) Time cannot be reserved: `wall` counts while any call of the graph is
 *       out, side by side or not.  When it is used up, calls that only read are
 *       stopped, to be made anew, and those with an effect awaited; nothing new
 *       is called.  (on_exceeded: fail and goto stop all of them.)
 *   (6) Which of two calls gets what is left is a race that the graph asks for:
 *       the order of the entries is its decision.
 *   (7) What an operation asks of models by the host is known when it asks.  It
 *       reserves the least that a call of one costs; each ask takes the place of
 *       that with the most that it may cost (`prompt`), and its answer gives
 *       that back and spends what it told.  Where there is no room when it asks
 *       it is stopped, to be called anew, and behind what it was answered, once
 *       there is: (3) decides whether, and who says so.  What nobody knows
 *       beforehand (no max_tokens, no price) counts as the least: by that alone
 *       a budget may be passed, once for each execution that is at work.  Of an
 *       ask that was out when its call was stopped all counts, as in (2).
 *   (8) A run of a spawn tree has the purse of its own graph in common with the
 *       tree's other runs (tree.c): what these have counts there as if it were
 *       its own.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/real.h"
#include "core/run/spend/spend.h"

/* An amount in words: dollars as people write them. */
const char *mortise_budget_spell(char out[BUDGET_TEXT], enum mortise_spend what,
                                 uint64_t amount)
{
    if (what == MORTISE_SPEND_USD)
        mortise_real_text(out, (double)amount / MORTISE_NANO);
    else
        snprintf(out, BUDGET_TEXT, "%llu", (unsigned long long)amount);
    return out;
}

static const char *names(int what)
{
    return mortise_spend_name((enum mortise_spend)what);
}

/* The purse of the graph around this one's; NULL: there is none around. */
static struct scope *outer(const struct scope *in)
{
    return in->owner != NULL ? in->owner->frame->top->scope : NULL;
}

int mortise_budget_begin(struct mortise_run *r, struct scope *in,
                         const struct mortise_graph *g, struct mortise_err *err)
{
    if (!mortise_budget_is_set(&g->budget))
        return MORTISE_OK;
    assert(in->purse == NULL); /* a graph is gone through with one purse */
    in->purse = mortise_arena_alloc(&r->arena, sizeof *in->purse);
    if (in->purse == NULL)
        return mortise_nomem(err);
    for (int k = 0; k < MORTISE_N_SPENDS; k++)
        in->purse->most[k] = g->budget.said[k] ? g->budget.most[k] : UINT64_MAX;
    return MORTISE_OK;
}

int mortise_budget_renew(struct mortise_run *r, struct scope *in,
                         const struct mortise_graph *g, struct mortise_err *err)
{
    in->purse = NULL;
    return mortise_budget_begin(r, in, g, err);
}

/* ---- reservations ------------------------------------------------------- */

/* What a call of a model costs, of which more is not known (7). */
static void at_least_one(uint64_t most[MORTISE_USED_N])
{
    for (int k = 0; k <= MORTISE_USED_USD; k++)
        if (most[k] == 0)
            most[k] = 1;
}

/* The most that a new call of x spends.  One that goes on has told a part. */
void mortise_budget_need(const struct mortise_run *r, const struct exec *x,
                         uint64_t need[MORTISE_N_SPENDS])
{
    const struct mortise_operation *op = mortise_exec_node(r, x)->op;
    bool goes_on = x->hold != NULL && x->hold->goes_on;
    struct mortise_usage most = {0};

    assert(op != NULL); /* or it calls nothing */
    memcpy(most.amount, op->usage.most, sizeof most.amount);
    if (goes_on && x->cost != NULL)
        mortise_usage_less(&most, &x->cost->again);
    if (op->asks_models)
        at_least_one(most.amount);
    need[MORTISE_SPEND_WALL] = 0; /* nobody knows it; see (5) */
    mortise_spend_of_usage(need, most.amount);
    for (int k = MORTISE_SPEND_FIRST_USED;
         x->hold != NULL && k < MORTISE_N_SPENDS; k++)
        if (need[k] < x->hold->wants[k])
            need[k] = x->hold->wants[k];
    need[MORTISE_SPEND_TOOL_CALLS] = goes_on ? 0 : 1;
}

/* Does any purse that x draws on bound any of this? */
static bool is_bounded(const struct exec *x, const uint64_t *need)
{
    for (const struct scope *in = x->frame->top->scope; in != NULL;
         in = outer(in)) {
        for (int k = 0; in->purse != NULL && k < MORTISE_N_SPENDS; k++) {
            if (need[k] > 0 && in->purse->most[k] != UINT64_MAX)
                return true;
        }
    }
    return false;
}

/* What plugins tell does not overflow. */
static uint64_t sum(uint64_t a, uint64_t b)
{
    return a < BUDGET_MOST - b ? a + b : BUDGET_MOST;
}

/* So much is spent, in all purses. */
static void spend(struct mortise_run *r, const struct exec *x,
                  const uint64_t *amount)
{
    for (struct scope *in = x->frame->top->scope; in != NULL; in = outer(in)) {
        for (int k = 0; in->purse != NULL && k < MORTISE_N_SPENDS; k++)
            in->purse->spent[k] = sum(in->purse->spent[k], amount[k]);
    }
    r->purses_moved = true;
}

/* So much of what it holds, or all that there is, is held no more. */
static void give_back(struct mortise_run *r, struct exec *x, int from,
                      const uint64_t *most)
{
    assert(x->hold != NULL);
    for (int k = from; k < MORTISE_N_SPENDS; k++) {
        uint64_t n = x->hold->amount[k];

        if (most != NULL && most[k] < n)
            n = most[k];
        x->hold->amount[k] -= n;
        for (struct scope *in = x->frame->top->scope; in != NULL;
             in = outer(in))
            if (in->purse != NULL)
                in->purse->held[k] -= n;
    }
    r->purses_moved = true;
}

/* What it holds is held no more. */
static void let_go(struct mortise_run *r, struct exec *x)
{
    give_back(r, x, 0, NULL);
    x->hold->asks = 0;
    x->hold->open = x->hold->uncalled = false;
}

/* Of what it holds, what it may have spent.  What was reserved for asks of models
 * is not, as long as none was out (7). */
static void at_stake(const struct mortise_run *r, const struct exec *x,
                     uint64_t out[MORTISE_N_SPENDS])
{
    const struct mortise_operation *op = mortise_exec_node(r, x)->op;
    uint64_t own[MORTISE_N_SPENDS] = {0};

    memcpy(out, x->hold->amount, sizeof x->hold->amount);
    if (op == NULL || x->hold->asks > 0 || !mortise_operation_asks_models(op))
        return;
    mortise_spend_of_usage(own, op->usage.most);
    for (int k = MORTISE_SPEND_FIRST_USED; k < MORTISE_N_SPENDS; k++)
        if (out[k] > own[k])
            out[k] = own[k];
}

bool mortise_budget_owes(const struct mortise_run *r, const struct exec *x,
                         uint64_t used[MORTISE_USED_N])
{
    uint64_t held[MORTISE_N_SPENDS];

    if (x->hold == NULL || !x->hold->open)
        return false;
    at_stake(r, x, held);
    memset(used, 0, MORTISE_USED_N * sizeof used[0]);
    used[MORTISE_USED_CALLS] = held[MORTISE_SPEND_MODEL_CALLS];
    used[MORTISE_USED_INPUT] = held[MORTISE_SPEND_INPUT_TOKENS];
    used[MORTISE_USED_OUTPUT] = held[MORTISE_SPEND_OUTPUT_TOKENS];
    used[MORTISE_USED_USD] = held[MORTISE_SPEND_USD];
    for (int k = 0; k < MORTISE_USED_N; k++) {
        if (used[k] != 0)
            return true;
    }
    return false;
}

/* From held to spent. */
static void move(struct mortise_run *r, struct exec *x)
{
    uint64_t used[MORTISE_USED_N], held[MORTISE_N_SPENDS];

    assert(x->hold->open); /* or it would be spent twice */
    if (mortise_budget_owes(r, x, used))
        mortise_usage_assume(r, x, used);
    at_stake(r, x, held);
    let_go(r, x);
    spend(r, x, held);
}

void mortise_budget_cut_off(struct mortise_run *r, struct exec *x)
{
    if (x->hold != NULL && x->hold->open && !x->hold->uncalled)
        move(r, x);
}

static void settle(struct mortise_run *r, struct exec *x, bool goes_on)
{
    if (x->hold == NULL)
        return;
    if (x->hold->open)
        move(r, x); /* a call is one, however it went */
    x->hold->goes_on = goes_on;
}

void mortise_budget_call_ended(struct mortise_run *r, struct exec *x)
{
    settle(r, x, false);
}

void mortise_budget_call_let_go(struct mortise_run *r, struct exec *x)
{
    settle(r, x, true);
}

void mortise_budget_not_called(struct exec *x)
{
    if (x->hold != NULL && x->hold->open)
        x->hold->uncalled = true;
}

/* Four fifths of it are gone. */
static bool is_low(const struct purse *p, int k)
{
    uint64_t used = mortise_budget_used_of(p, k);

    return p->most[k] != UINT64_MAX && used >= p->most[k] - p->most[k] / 5;
}

/* {budget, limit, used, graph?, on_exceeded?}: `used` counts what is reserved,
 * too. */
static json_t *purse_json(const struct purse *p, int k, const char *graph,
                          const char *on_exceeded)
{
    enum mortise_spend what = (enum mortise_spend)k;

    return json_pack("{s:s, s:o, s:o, s:s*, s:s*}", "budget", names(k), "limit",
                     mortise_spend_json(what, p->most[k]), "used",
                     mortise_spend_json(what, mortise_budget_used_of(p, k)),
                     "graph", graph, "on_exceeded", on_exceeded);
}

int mortise_budget_warn(struct mortise_run *r, struct scope *in,
                        struct mortise_err *err)
{
    struct purse *p = in->purse;
    int rv = MORTISE_OK;

    assert(p != NULL);
    for (int k = 0; rv == MORTISE_OK && k < MORTISE_N_SPENDS; k++) {
        if (p->warned[k] || !is_low(p, k))
            continue;
        p->warned[k] = true;
        rv = mortise_event_announce(
            r, in->owner, "budget_warning",
            mortise_run_is_seen(r) ? purse_json(p, k, NULL, NULL) : NULL, err);
    }
    return rv;
}

static int warn_all(struct mortise_run *r, const struct exec *x,
                    struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (struct scope *in = x->frame->top->scope;
         rv == MORTISE_OK && in != NULL; in = outer(in)) {
        if (in->purse != NULL)
            rv = mortise_budget_warn(r, in, err);
    }
    return rv;
}

/* So much more of what x holds. */
static int hold_in_all(struct mortise_run *r, struct exec *x,
                       const uint64_t *amount, struct mortise_err *err)
{
    assert(x->hold != NULL && x->hold->open);
    for (struct scope *in = x->frame->top->scope; in != NULL; in = outer(in)) {
        for (int k = 0; in->purse != NULL && k < MORTISE_N_SPENDS; k++)
            in->purse->held[k] += amount[k];
    }
    return warn_all(r, x, err);
}

int mortise_budget_read(const json_t *value, uint64_t out[MORTISE_N_SPENDS])
{
    const char *key;
    json_t *one;

    memset(out, 0, MORTISE_N_SPENDS * sizeof out[0]);
    json_object_foreach(mortise_json_unconst(value), key, one)
    {
        enum mortise_spend k = mortise_spend_find(key);

        if (k == MORTISE_N_SPENDS || !mortise_spend_read(k, one, &out[k]))
            return MORTISE_EINVAL;
    }
    return json_is_object(value) ? MORTISE_OK : MORTISE_EINVAL;
}

int mortise_apply_reserve(struct mortise_run *r, struct exec *x,
                          const struct mortise_entry *e,
                          struct mortise_err *err)
{
    uint64_t amount[MORTISE_N_SPENDS];
    int rv;

    if (mortise_budget_read(e->value, amount) != MORTISE_OK)
        return mortise_entry_corrupt(err, e);
    if (x->hold == NULL)
        x->hold = mortise_arena_alloc(&r->arena, sizeof *x->hold);
    if (x->hold == NULL || mortise_usage_begin(r, x, err) != MORTISE_OK)
        return mortise_nomem(err);
    mortise_budget_cut_off(r, x); /* (2) */
    assert(!x->hold->open);       /* or what it holds would be held for good */
    memcpy(x->hold->amount, amount, sizeof amount);
    memset(x->hold->wants, 0, sizeof x->hold->wants);
    x->hold->open = true;
    x->hold->goes_on = false;
    rv = hold_in_all(r, x, x->hold->amount, err);
    return rv == MORTISE_OK ? mortise_exec_intend(r, x, e, err) : rv;
}

json_t *mortise_budget_write(const uint64_t need[MORTISE_N_SPENDS])
{
    json_t *amounts = json_object();

    for (int k = 0; amounts != NULL && k < MORTISE_N_SPENDS; k++) {
        if (need[k] > 0 &&
            json_object_set_new(
                amounts, names(k),
                mortise_spend_json((enum mortise_spend)k, need[k])) != 0)
            mortise_json_drop(&amounts);
    }
    return amounts;
}

static int reserve(struct mortise_run *r, struct exec *x, const uint64_t *need,
                   struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_entry(r, x, MORTISE_E_RESERVE);

    e.started_ms = r->time_ms;
    return mortise_run_record_value(r, &e, mortise_budget_write(need), err);
}

/* ---- what calls told ---------------------------------------------------- */

/* Has it told more than it had reserved of something that is bounded?  Nobody
 * says beforehand what models cost (7). */
static bool is_more(const struct mortise_run *r, const struct exec *x,
                    const uint64_t *amount)
{
    const struct mortise_operation *op = mortise_exec_node(r, x)->op;
    uint64_t beyond[MORTISE_N_SPENDS] = {0};

    if (op == NULL) /* its guardrails asked */
        return false;
    for (int k = MORTISE_SPEND_FIRST_USED; k < MORTISE_N_SPENDS; k++)
        beyond[k] = amount[k] > (x->hold != NULL ? x->hold->amount[k] : 0);
    return is_bounded(x, beyond) && !mortise_operation_asks_models(op);
}

/* Once for each execution. */
static int warn_of_more(struct mortise_run *r, struct exec *x,
                        struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    json_t *extra = NULL;

    assert(x->cost != NULL); /* it told something (usage.c) */
    if (x->cost->warned)
        return MORTISE_OK;
    x->cost->warned = true;
    if (mortise_run_is_seen(r))
        extra = json_pack(
            "{s:s, s:o}", "code", "usage", "message",
            json_sprintf("%s/%s reported more usage than its manifest "
                         "declares; the excess counts but was not reserved",
                         n->plugin, n->operation));
    return mortise_event_announce(r, x, "warning", extra, err);
}

int mortise_budget_used(struct mortise_run *r, struct exec *x,
                        const struct mortise_usage *used, bool ended,
                        struct mortise_err *err)
{
    uint64_t amount[MORTISE_N_SPENDS] = {0};
    int rv = MORTISE_OK;

    mortise_spend_of_usage(amount, used->amount);
    if (is_more(r, x, amount))
        rv = warn_of_more(r, x, err);
    if (ended && x->hold != NULL && x->hold->open) {
        amount[MORTISE_SPEND_TOOL_CALLS] =
            x->hold->amount[MORTISE_SPEND_TOOL_CALLS];
        let_go(r, x);
    }
    if (!ended && x->hold != NULL && x->hold->asks > 0)
        give_back(r, x, MORTISE_SPEND_FIRST_USED,
                  --x->hold->asks == 0 ? NULL : amount); /* (7) */
    spend(r, x, amount);
    return rv == MORTISE_OK ? warn_all(r, x, err) : rv;
}

/* ---- what does not fit -------------------------------------------------- */

enum fit { FITS, FITS_LATER, FITS_NEVER };

/* Does a need fit into what is left of one bound?  Time that is used up, and
 * what is spent beyond its bound, leaves nothing for anybody. */
static enum fit fit_one(const struct purse *p, const uint64_t *need, int k)
{
    uint64_t spent = p->spent[k] + p->others[k] - p->out[k];
    uint64_t left = p->most[k] > spent ? p->most[k] - spent : 0;

    assert(p->out[k] <= p->others[k]);
    if (k == MORTISE_SPEND_WALL ? left == 0 : spent > p->most[k])
        return FITS_NEVER;
    if (need[k] == 0 || need[k] + p->held[k] + p->out[k] <= left)
        return FITS;
    /* A call counts before it is made: what is reserved of them never returns. */
    return k == MORTISE_SPEND_TOOL_CALLS || need[k] > left ? FITS_NEVER
                                                           : FITS_LATER;
}

bool mortise_budget_leaves_room(const struct purse *p, const uint64_t *need,
                                int k)
{
    return fit_one(p, need, k) != FITS_NEVER;
}

static enum fit fit_in(const struct purse *p, const uint64_t *need, int *what)
{
    enum fit fit = FITS;

    for (int k = 0; p != NULL && fit != FITS_NEVER && k < MORTISE_N_SPENDS;
         k++) {
        enum fit one = fit_one(p, need, k);

        if (one <= fit)
            continue;
        fit = one;
        *what = k;
    }
    return fit;
}

/* The outermost purse in which it never fits decides. */
static enum fit fit(const struct mortise_run *r, const struct exec *x,
                    const uint64_t *need, struct scope **by, int *what)
{
    enum fit worst = FITS;

    for (struct scope *in = x->frame->top->scope; in != NULL; in = outer(in)) {
        int k = 0;
        struct purse now;
        enum fit one;

        if (in->owner == NULL && in->purse != NULL) /* (8) */
            now = mortise_tree_purse(r);
        one = fit_in(in->owner == NULL && in->purse != NULL ? &now : in->purse,
                     need, &k);

        if (one == FITS || one < worst)
            continue;
        worst = one;
        *by = in;
        *what = k;
    }
    return worst;
}

/* ---- what is asked of models (7) ---------------------------------------- */

static void need_of_ask(uint64_t need[MORTISE_N_SPENDS],
                        const uint64_t most[MORTISE_USED_N])
{
    uint64_t at_most[MORTISE_USED_N];

    memcpy(at_most, most, sizeof at_most);
    at_least_one(at_most);
    memset(need, 0, MORTISE_N_SPENDS * sizeof need[0]);
    mortise_spend_of_usage(need, at_most);
}

/* Of what a call holds, the place of which its first ask takes. */
static uint64_t made_way(const struct hold *h, int k)
{
    return h->asks == 0 && k >= MORTISE_SPEND_FIRST_USED ? h->amount[k] : 0;
}

int mortise_budget_has_room(struct mortise_run *r, struct exec *x,
                            const uint64_t most[MORTISE_USED_N], bool *room,
                            struct mortise_err *err)
{
    uint64_t need[MORTISE_N_SPENDS], more[MORTISE_N_SPENDS];
    struct scope *by;
    int what;

    need_of_ask(need, most);
    *room = x->hold == NULL || !x->hold->open || !is_bounded(x, need);
    if (*room)
        return MORTISE_OK;
    for (int k = 0; k < MORTISE_N_SPENDS; k++) {
        uint64_t held = made_way(x->hold, k);

        more[k] = need[k] > held ? need[k] - held : 0;
    }
    *room = !mortise_tree_is_unknown(r, need) &&
            fit(r, x, more, &by, &what) == FITS;
    if (*room)
        return mortise_tree_look(r, err);
    memcpy(x->hold->wants, need, sizeof need); /* its next call claims it */
    return MORTISE_OK;
}

int mortise_budget_amounts(json_t **out, const struct exec *x,
                           const uint64_t most[MORTISE_USED_N],
                           struct mortise_err *err)
{
    uint64_t need[MORTISE_N_SPENDS];

    *out = NULL;
    need_of_ask(need, most);
    if (x->hold == NULL || !x->hold->open || !is_bounded(x, need))
        return MORTISE_OK;
    *out = mortise_budget_write(need);
    return *out != NULL ? MORTISE_OK : mortise_nomem(err);
}

int mortise_budget_ask(struct mortise_run *r, struct exec *x,
                       const json_t *amounts, struct mortise_err *err)
{
    uint64_t need[MORTISE_N_SPENDS];
    struct hold *h = x->hold;

    if (h == NULL || !h->open ||
        mortise_budget_read(amounts, need) != MORTISE_OK)
        return mortise_fail(err, MORTISE_EINVAL,
                            "the amounts cannot be reserved");
    if (h->asks++ == 0)
        give_back(r, x, MORTISE_SPEND_FIRST_USED, NULL);
    for (int k = MORTISE_SPEND_FIRST_USED; k < MORTISE_N_SPENDS; k++)
        h->amount[k] = sum(h->amount[k], need[k]);
    return hold_in_all(r, x, need, err);
}

/* Until others settle. */
static int wait_for_others(struct mortise_run *r, struct exec *x,
                           struct mortise_err *err)
{
    assert(x->state == X_READY);
    mortise_exec_list_askers_of(r, x); /* one of them may hold it */
    return mortise_indexes_add(r->mem, &r->shorts, x->index, err);
}

bool mortise_budget_is_short(const struct mortise_run *r, const struct exec *x)
{
    for (size_t i = 0; i < r->shorts.n; i++)
        if (r->shorts.list[i] == x->index)
            return true;
    return false;
}

int mortise_budget_try_again(struct mortise_run *r, struct mortise_err *err)
{
    size_t n = r->shorts.n;
    int rv = MORTISE_OK;

    if (!r->purses_moved)
        return MORTISE_OK;
    r->purses_moved = false;
    r->shorts.n = 0;
    for (size_t i = 0; rv == MORTISE_OK && i < n; i++) {
        struct exec *x = r->execs[r->shorts.list[i]];

        assert(r->shorts.n <= i); /* who waits again comes behind who did */
        if (x->state == X_READY && x->loss == LOSS_NONE) /* still */
            rv = mortise_exec_ready(r, x, err);
    }
    return rv;
}

void mortise_budget_moved(struct mortise_run *r)
{
    r->purses_moved = true;
}

/* Where its graph is: the path of the subgraph's execution; "": the run's. */
const char *mortise_budget_path(const struct mortise_run *r,
                                const struct scope *in,
                                char room[MORTISE_EXEC_PATH])
{
    room[0] = '\0';
    if (in->owner != NULL)
        mortise_exec_path(r, in->owner, room);
    return room;
}

/* With how much the call would spend at most (0: it is up, whatever follows). */
static json_t *request(const struct mortise_run *r, const struct scope *in,
                       int what, uint64_t need)
{
    char room[MORTISE_EXEC_PATH];
    const char *path = mortise_budget_path(r, in, room);
    json_t *out =
        purse_json(in->purse, what, path[0] != '\0' ? path : NULL, NULL);

    if (out != NULL && need > 0 &&
        json_object_set_new(
            out, "needs", mortise_spend_json((enum mortise_spend)what, need)) !=
            0)
        mortise_json_drop(&out);
    return out;
}

/* What it exceeded; or that it halts for that. */
static int record_of(struct mortise_run *r, const struct scope *in,
                     enum mortise_entry_type type, int how,
                     struct mortise_err *err)
{
    struct mortise_entry e = {
        .type = type, .frame = in->root->index, .how = (uint8_t)how};

    assert(type != MORTISE_E_EXCEEDED || (how >= 0 && how < MORTISE_N_SPENDS));
    return mortise_run_record(r, &e, err);
}

static int exceed(struct mortise_run *r, struct exec *x, struct scope *in,
                  int what, uint64_t need, struct mortise_err *err)
{
    bool pause = in->root->graph->budget.on_exceeded == MORTISE_EXCEEDED_PAUSE;
    int rv = MORTISE_OK;

    assert(in->purse != NULL && x->state == X_READY);
    if (!pause || !in->purse->told[what])
        rv = record_of(r, in, MORTISE_E_EXCEEDED, what, err);
    if (rv != MORTISE_OK)
        return rv;
    if (pause)
        return mortise_request_ask(r, x, MORTISE_ASK_BUDGET,
                                   request(r, in, what, need), 0, err);
    rv = record_of(r, in, MORTISE_E_HALT, LOSS_BUDGET, err);
    return rv == MORTISE_OK && x->loss == LOSS_NONE /* it is a finaliser now */
               ? mortise_exec_ready(r, x, err)
               : rv;
}

int mortise_apply_exceeded(struct mortise_run *r, const struct mortise_entry *e,
                           struct mortise_err *err)
{
    struct scope *in = r->frames[e->frame]->scope;
    json_t *extra = NULL;

    if (e->how >= MORTISE_N_SPENDS || r->frames[e->frame]->parent != NULL ||
        in->purse == NULL)
        return mortise_entry_corrupt(err, e);
    in->purse->told[e->how] = true;
    in->purse->exceeded = (enum mortise_spend)e->how;
    if (mortise_run_is_seen(r)) {
        extra = purse_json(
            in->purse, e->how, NULL,
            mortise_on_exceeded_name(in->root->graph->budget.on_exceeded));
        if (extra == NULL)
            return mortise_nomem(err);
    }
    return mortise_event_announce(r, in->owner, "budget_exceeded", extra, err);
}

bool mortise_budget_leads(const struct scope *in)
{
    return in->halt == LOSS_BUDGET && in->purse != NULL && !in->purse->led &&
           in->root->graph->budget.on_exceeded == MORTISE_EXCEEDED_GOTO;
}

void mortise_budget_has_led(struct scope *in)
{
    assert(in->purse != NULL && !in->purse->led); /* once */
    in->purse->led = true;
}

int mortise_budget_lead(struct mortise_run *r, struct scope *in,
                        struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_LEAD,
                              .frame = in->root->index,
                              .node = in->root->graph->budget.to};

    assert(mortise_budget_leads(in));
    e.visit = mortise_frame_visits(in->root, e.node) + 1;
    return mortise_run_record(r, &e, err);
}

json_t *mortise_budget_error(const struct scope *in)
{
    const struct purse *p = in->purse;
    char limit[BUDGET_TEXT];
    struct mortise_err words;

    assert(p != NULL && p->exceeded < MORTISE_N_SPENDS);
    mortise_fail(
        &words, MORTISE_ELIMIT, "the %s limit of the budget (%s) is used up",
        names((int)p->exceeded),
        mortise_budget_spell(limit, p->exceeded, p->most[p->exceeded]));
    return mortise_error_new(NULL, "budget", "permanent", words.msg);
}

/* Is the time of a graph around x used up, which was not stored so far? */
static int see_walls(struct mortise_run *r, const struct exec *x,
                     struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (struct scope *in = x->frame->top->scope;
         rv == MORTISE_OK && in != NULL; in = outer(in)) {
        struct purse *p = in->purse;

        if (mortise_budget_is_walled(in) &&
            mortise_clock_wall_ms(r, in) >= p->most[MORTISE_SPEND_WALL] &&
            p->spent[MORTISE_SPEND_WALL] < p->most[MORTISE_SPEND_WALL])
            rv = mortise_clock_store_wall(r, in, err);
    }
    return rv;
}

int mortise_budget_claim(struct mortise_run *r, struct exec *x,
                         enum claimed *out, struct mortise_err *err)
{
    uint64_t need[MORTISE_N_SPENDS];
    struct scope *by = NULL;
    enum fit how;
    int what = 0, rv = see_walls(r, x, err);
    bool reserved = x->hold != NULL && x->hold->uncalled;

    assert(x->state == X_READY && x->loss == LOSS_NONE); /* it starts */
    assert(!reserved || x->hold->open);
    mortise_budget_need(r, x, need);
    *out = CLAIM_FREE;
    if (rv != MORTISE_OK || reserved || mortise_exec_is_final(x))
        return rv;
    mortise_budget_cut_off(r, x);
    how = mortise_tree_is_unknown(r, need) ? FITS_LATER
                                           : fit(r, x, need, &by, &what);
    if (how == FITS && !is_bounded(x, need))
        return MORTISE_OK;
    *out = how == FITS ? CLAIM_RESERVED : CLAIM_LATER;
    if (how == FITS_LATER)
        return wait_for_others(r, x, err);
    rv = mortise_tree_look(r, err);
    if (rv != MORTISE_OK || how == FITS)
        return rv == MORTISE_OK ? reserve(r, x, need, err) : rv;
    assert(by != NULL && by->purse != NULL); /* what does not fit is bounded */
    return exceed(r, x, by, what, need[what], err);
}

/* ---- time --------------------------------------------------------------- */

bool mortise_budget_is_walled(const struct scope *in)
{
    return in->purse != NULL &&
           in->purse->most[MORTISE_SPEND_WALL] != UINT64_MAX;
}

int mortise_budget_wall(struct mortise_run *r, struct scope *in, uint64_t used,
                        struct mortise_err *err)
{
    assert(in->purse != NULL);
    in->purse->spent[MORTISE_SPEND_WALL] = used;
    return mortise_budget_warn(r, in, err);
}

/* Is x at work in that graph, or in one in it? */
static bool is_in(const struct exec *x, const struct scope *graph)
{
    const struct scope *in = x->frame->top->scope;

    while (in != NULL && in != graph)
        in = outer(in);
    return in != NULL;
}

/* What only reads is stopped; it asks when it is to be called again. */
static int stop_reads(struct mortise_run *r, const struct scope *in,
                      struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if (x->state == X_RUNNING && x->call == MORTISE_RUN_EXECUTE &&
            mortise_exec_node(r, x)->effect < MORTISE_WRITE && is_in(x, in))
            rv = mortise_exec_cancel(r, x, STOP_BUDGET, err);
    }
    return rv;
}

int mortise_budget_wall_over(struct mortise_run *r, struct scope *in,
                             struct mortise_err *err)
{
    int rv = mortise_clock_store_wall(r, in, err);

    assert(mortise_budget_is_walled(in));
    if (rv == MORTISE_OK)
        rv = record_of(r, in, MORTISE_E_EXCEEDED, MORTISE_SPEND_WALL, err);
    if (rv != MORTISE_OK)
        return rv;
    return in->root->graph->budget.on_exceeded == MORTISE_EXCEEDED_PAUSE
               ? stop_reads(r, in, err)
               : record_of(r, in, MORTISE_E_HALT, LOSS_BUDGET, err);
}

/* 0: that bound stays. */
static void bound(struct mortise_run *r, struct purse *p, const uint64_t *most)
{
    for (int k = 0; k < MORTISE_N_SPENDS; k++) {
        if (most[k] == 0 || most[k] == p->most[k])
            continue;
        p->most[k] = most[k];
        p->told[k] = false;
        p->warned[k] &= is_low(p, k);
    }
    r->purses_moved = true;
}

void mortise_budget_bound(struct mortise_run *r,
                          const uint64_t most[MORTISE_N_SPENDS])
{
    assert(r->frames[0]->scope->purse != NULL);
    bound(r, r->frames[0]->scope->purse, most);
}

int mortise_apply_budget(struct mortise_run *r, const struct mortise_entry *e,
                         struct mortise_err *err)
{
    uint64_t most[MORTISE_N_SPENDS];
    struct scope *in = r->frames[e->frame]->scope;
    struct purse *p = in->purse;
    char path[MORTISE_EXEC_PATH];

    if (p == NULL || mortise_budget_read(e->value, most) != MORTISE_OK)
        return mortise_entry_corrupt(err, e);
    bound(r, p, most);
    mortise_budget_path(r, in, path);
    return mortise_event_command(r, "raise_budget", e->actor,
                                 path[0] != '\0' ? path : NULL, e->value, err);
}

/* ---- looking at it ------------------------------------------------------ */

json_t *mortise_budget_json(const struct mortise_run *r, const struct scope *in)
{
    struct purse now = *in->purse;
    const struct purse *p = &now;
    bool shared = in->owner == NULL && r->tree.origin != NULL;
    json_t *out = json_object();

    assert(p->exceeded < MORTISE_N_SPENDS);
    now.spent[MORTISE_SPEND_WALL] = mortise_clock_wall_ms(r, in);
    for (int k = 0; out != NULL && k < MORTISE_N_SPENDS; k++) {
        enum mortise_spend what = (enum mortise_spend)k;
        json_t *own = shared && what != MORTISE_SPEND_WALL
                          ? mortise_spend_json(what, r->tree.counted[k])
                          : NULL;

        if (p->most[k] == UINT64_MAX)
            json_decref(own);
        else if (json_object_set_new(
                     out, names(k),
                     json_pack(
                         "{s:o, s:o, s:o*}", "limit",
                         mortise_spend_json(what, p->most[k]), "used",
                         mortise_spend_json(what, mortise_budget_used_of(p, k)),
                         "own", own)) != 0)
            mortise_json_drop(&out);
    }
    return out;
}

/* The purse that the request of x is about; NULL: none has its name. */
static const struct scope *asked_of(const struct mortise_run *r,
                                    const struct exec *x)
{
    const char *graph = json_string_value(json_object_get(x->payload, "graph"));
    const struct scope *in = x->frame->top->scope;
    char path[MORTISE_EXEC_PATH];

    while (in != NULL &&
           (in->purse == NULL || strcmp(mortise_budget_path(r, in, path),
                                        graph != NULL ? graph : "") != 0))
        in = outer(in);
    return in;
}

json_t *mortise_budget_request(const struct mortise_run *r,
                               const struct exec *x)
{
    const char *name = json_string_value(json_object_get(x->payload, "budget"));
    enum mortise_spend k = mortise_spend_find(name != NULL ? name : "");
    const struct scope *in = asked_of(r, x);
    json_t *out = json_copy(x->payload), *budget, *now;

    assert(x->ask == MORTISE_ASK_BUDGET);
    if (out == NULL || in == NULL || k == MORTISE_N_SPENDS)
        return out; /* it was on a disk */
    budget = mortise_budget_json(r, in);
    now = json_object_get(budget, names((int)k));
    if (json_object_set(out, "limit", json_object_get(now, "limit")) != 0 ||
        json_object_set(out, "used", json_object_get(now, "used")) != 0)
        mortise_json_drop(&out);
    json_decref(budget);
    return out;
}
