/* budget.c -- budgets of graphs: reserved before a call, settled after it.
 *
 * A graph with a `budget` has a purse in each of its scopes.  A call of an
 * operation spends from the purse of its graph and from those of all graphs
 * around it.  `tool_calls` counts attempts: each new call of an executor's
 * operation, including retries and the elements of maps.  Guardrails and
 * reconciliations do not count, and neither does a re-entry after a suspension,
 * which continues the same call.  The amounts for models (`model_calls`,
 * `tokens`, `usd` ...) come from the reports of executors (usage.c), and their
 * maxima from the manifests of the operations.
 *
 *   (1) The most that a call may spend is reserved by an entry before the call,
 *       and the call waits until the entry is on disk.  So no spent amount is
 *       forgotten, whichever process dies.
 *   (2) The entry that ends or suspends the call settles the reservation; usage
 *       is settled by the report of the call (`used`).  If the call was cut off
 *       (a crash, an abandoned plugin), all of the reservation counts, because
 *       the real use is unknown.  Usage above the maximum of the manifest
 *       counts as well, with a warning: spent money is never left uncounted.
 *   (3) A call that would fit after others have settled waits for them.  If it
 *       is a tool, its asker suspends meanwhile, which settles the asker's
 *       reservation (tools.c (8)).  A call that would not fit even then exceeds
 *       the budget.  For `tool_calls` this is immediate, because a call counts
 *       before it starts.  Once more is spent than the limit, no call fits.
 *       The outermost purse that the call does not fit into decides: a request
 *       to people (`pause`), which only blocks that execution, or the end of
 *       its graph (`fail`).  With `goto`, everything in the graph is stopped,
 *       too, and when it is quiet the graph continues at that node, after
 *       everything that was done.  An amount that is exceeded after that fails
 *       the graph.
 *   (4) A purse emits one warning when four fifths are spent or reserved, and
 *       one event when it is exceeded, until a person raises it.
 *   (5) Time cannot be reserved: `wall` counts while any call of the graph is
 *       in flight; parallel calls count once.  When it is used up, calls that
 *       only read are stopped, to be repeated later, and calls with an effect
 *       are allowed to end; no new call starts.  (on_exceeded: fail and goto
 *       stop all calls.)
 *   (6) If two calls compete for the rest of a budget, the order of their
 *       entries decides.
 *   (7) The cost of an ask of a model through the host is known when the call
 *       asks.  The call reserves the least cost of one ask.  The first ask
 *       replaces that by the most that it may cost (`prompt`), and further asks
 *       add to it.  Each answer releases its part and spends the reported
 *       usage.  If an ask does not fit, its call is stopped, and called again
 *       when it may fit; its recorded answers are replayed.  (3) decides
 *       whether and by which purse.  A cost that is unknown in advance (no
 *       max_tokens, no price) counts as the least; only by that a budget can be
 *       exceeded, once for each running execution.  If a call was stopped while
 *       an ask was in flight, all of the ask counts, as in (2).
 *   (8) A run of a spawn tree shares the purse of its own graph with the tree's
 *       other runs (tree.c): amounts of these count as if they were its own.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/real.h"
#include "core/run/spend/spend.h"

const char *mortise_budget_print_amount(char out[BUDGET_TEXT],
                                        enum mortise_spend what,
                                        uint64_t amount)
{
    if (what == MORTISE_SPEND_USD)
        mortise_real_format(out, (double)amount / MORTISE_NANO);
    else
        snprintf(out, BUDGET_TEXT, "%llu", (unsigned long long)amount);
    return out;
}

static const char *get_spend_name(int what)
{
    return mortise_spend_name((enum mortise_spend)what);
}

/* The scope of the graph around this one; NULL: none. */
static struct scope *get_outer_scope(const struct scope *in)
{
    return in->owner != NULL ? in->owner->frame->top->scope : NULL;
}

int mortise_budget_create_purse(struct mortise_run *r, struct scope *in,
                                const struct mortise_graph *g,
                                struct mortise_err *err)
{
    if (!mortise_budget_is_set(&g->budget))
        return MORTISE_OK;
    assert(in->purse == NULL); /* a scope has only one purse */
    in->purse = mortise_arena_alloc(&r->arena, sizeof *in->purse);
    if (in->purse == NULL)
        return mortise_nomem(err);
    for (int k = 0; k < MORTISE_N_SPENDS; k++)
        in->purse->most[k] = g->budget.said[k] ? g->budget.most[k] : UINT64_MAX;
    return MORTISE_OK;
}

int mortise_budget_replace_purse(struct mortise_run *r, struct scope *in,
                                 const struct mortise_graph *g,
                                 struct mortise_err *err)
{
    in->purse = NULL;
    return mortise_budget_create_purse(r, in, g, err);
}

/* ---- reservations ------------------------------------------------------- */

/* The cost of an ask of a model, as far as it is unknown (7). */
static void set_least_usage(uint64_t most[MORTISE_USED_N])
{
    for (int k = 0; k <= MORTISE_USED_USD; k++)
        if (most[k] == 0)
            most[k] = 1;
}

void mortise_budget_get_need(const struct mortise_run *r, const struct exec *x,
                             uint64_t need[MORTISE_N_SPENDS])
{
    const struct mortise_operation *op = mortise_exec_node(r, x)->op;
    bool goes_on = x->hold != NULL && x->hold->goes_on;
    struct mortise_usage most = {0};

    assert(op != NULL); /* the execution calls an operation */
    memcpy(most.amount, op->usage.most, sizeof most.amount);
    if (goes_on && x->cost != NULL)
        mortise_usage_subtract(&most, &x->cost->again);
    if (op->asks_models)
        set_least_usage(most.amount);
    need[MORTISE_SPEND_WALL] = 0; /* unknown in advance; see (5) */
    mortise_spend_from_usage(need, most.amount);
    for (int k = MORTISE_SPEND_FIRST_USED;
         x->hold != NULL && k < MORTISE_N_SPENDS; k++)
        if (need[k] < x->hold->wants[k])
            need[k] = x->hold->wants[k];
    need[MORTISE_SPEND_TOOL_CALLS] = goes_on ? 0 : 1;
}

/* Does any purse that x spends from limit any of this? */
static bool is_need_limited(const struct exec *x, const uint64_t *need)
{
    for (const struct scope *in = x->frame->top->scope; in != NULL;
         in = get_outer_scope(in)) {
        for (int k = 0; in->purse != NULL && k < MORTISE_N_SPENDS; k++) {
            if (need[k] > 0 && in->purse->most[k] != UINT64_MAX)
                return true;
        }
    }
    return false;
}

/* Saturates: plugins may report any amount. */
static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    return a < BUDGET_MOST - b ? a + b : BUDGET_MOST;
}

/* Add the amounts to `spent`, in all purses. */
static void add_spent(struct mortise_run *r, const struct exec *x,
                      const uint64_t *amount)
{
    for (struct scope *in = x->frame->top->scope; in != NULL;
         in = get_outer_scope(in)) {
        for (int k = 0; in->purse != NULL && k < MORTISE_N_SPENDS; k++)
            in->purse->spent[k] = add_saturated(in->purse->spent[k], amount[k]);
    }
    r->budgets_released = true;
}

/* Release at most these amounts of the reservation of x, or all (NULL), from
 * amount `from` on. */
static void release_amounts(struct mortise_run *r, struct exec *x, int from,
                            const uint64_t *most)
{
    assert(x->hold != NULL);
    for (int k = from; k < MORTISE_N_SPENDS; k++) {
        uint64_t n = x->hold->amount[k];

        if (most != NULL && most[k] < n)
            n = most[k];
        x->hold->amount[k] -= n;
        for (struct scope *in = x->frame->top->scope; in != NULL;
             in = get_outer_scope(in))
            if (in->purse != NULL)
                in->purse->held[k] -= n;
    }
    r->budgets_released = true;
}

/* Release all of the reservation of x. */
static void release_hold(struct mortise_run *r, struct exec *x)
{
    release_amounts(r, x, 0, NULL);
    x->hold->asks = 0;
    x->hold->open = x->hold->call_not_started = false;
}

/* The part of the reservation that may have been spent.  The part for asks of
 * models is not, as long as none was in flight (7). */
static void get_amounts_at_stake(const struct mortise_run *r,
                                 const struct exec *x,
                                 uint64_t out[MORTISE_N_SPENDS])
{
    const struct mortise_operation *op = mortise_exec_node(r, x)->op;
    uint64_t own[MORTISE_N_SPENDS] = {0};

    memcpy(out, x->hold->amount, sizeof x->hold->amount);
    if (op == NULL || x->hold->asks > 0 || !mortise_operation_asks_models(op))
        return;
    mortise_spend_from_usage(own, op->usage.most);
    for (int k = MORTISE_SPEND_FIRST_USED; k < MORTISE_N_SPENDS; k++)
        if (out[k] > own[k])
            out[k] = own[k];
}

bool mortise_budget_get_unreported(const struct mortise_run *r,
                                   const struct exec *x,
                                   uint64_t used[MORTISE_USED_N])
{
    uint64_t held[MORTISE_N_SPENDS];

    if (x->hold == NULL || !x->hold->open)
        return false;
    get_amounts_at_stake(r, x, held);
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

/* Count the reservation as spent. */
static void spend_hold(struct mortise_run *r, struct exec *x)
{
    uint64_t used[MORTISE_USED_N], held[MORTISE_N_SPENDS];

    assert(x->hold->open); /* or it would be spent twice */
    if (mortise_budget_get_unreported(r, x, used))
        mortise_usage_add_unreported(r, x, used);
    get_amounts_at_stake(r, x, held);
    release_hold(r, x);
    add_spent(r, x, held);
}

void mortise_budget_settle_cut_off(struct mortise_run *r, struct exec *x)
{
    if (x->hold != NULL && x->hold->open && !x->hold->call_not_started)
        spend_hold(r, x);
}

static void settle_hold(struct mortise_run *r, struct exec *x, bool goes_on)
{
    if (x->hold == NULL)
        return;
    if (x->hold->open)
        spend_hold(r, x); /* a call counts, however it ended */
    x->hold->goes_on = goes_on;
}

void mortise_budget_settle_ended(struct mortise_run *r, struct exec *x)
{
    settle_hold(r, x, false);
}

void mortise_budget_settle_suspended(struct mortise_run *r, struct exec *x)
{
    settle_hold(r, x, true);
}

void mortise_budget_settle_uncalled(struct exec *x)
{
    if (x->hold != NULL && x->hold->open)
        x->hold->call_not_started = true;
}

/* Are four fifths used? */
static bool is_amount_low(const struct purse *p, int k)
{
    uint64_t used = mortise_budget_get_used(p, k);

    return p->most[k] != UINT64_MAX && used >= p->most[k] - p->most[k] / 5;
}

/* {budget, limit, used, graph?, on_exceeded?}; `used` includes reservations. */
static json_t *build_purse_json(const struct purse *p, int k, const char *graph,
                                const char *on_exceeded)
{
    enum mortise_spend what = (enum mortise_spend)k;

    return json_pack("{s:s, s:o, s:o, s:s*, s:s*}", "budget", get_spend_name(k),
                     "limit", mortise_spend_encode(what, p->most[k]), "used",
                     mortise_spend_encode(what, mortise_budget_get_used(p, k)),
                     "graph", graph, "on_exceeded", on_exceeded);
}

int mortise_budget_warn_if_low(struct mortise_run *r, struct scope *in,
                               struct mortise_err *err)
{
    struct purse *p = in->purse;
    int rv = MORTISE_OK;

    assert(p != NULL);
    for (int k = 0; rv == MORTISE_OK && k < MORTISE_N_SPENDS; k++) {
        if (p->warned[k] || !is_amount_low(p, k))
            continue;
        p->warned[k] = true;
        rv = mortise_event_announce(r, in->owner, "budget_warning",
                                    mortise_run_has_watcher(r)
                                        ? build_purse_json(p, k, NULL, NULL)
                                        : NULL,
                                    err);
    }
    return rv;
}

static int warn_outer_purses(struct mortise_run *r, const struct exec *x,
                             struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (struct scope *in = x->frame->top->scope;
         rv == MORTISE_OK && in != NULL; in = get_outer_scope(in)) {
        if (in->purse != NULL)
            rv = mortise_budget_warn_if_low(r, in, err);
    }
    return rv;
}

/* Add to the reservation of x, in all purses. */
static int reserve_in_purses(struct mortise_run *r, struct exec *x,
                             const uint64_t *amount, struct mortise_err *err)
{
    assert(x->hold != NULL && x->hold->open);
    for (struct scope *in = x->frame->top->scope; in != NULL;
         in = get_outer_scope(in)) {
        for (int k = 0; in->purse != NULL && k < MORTISE_N_SPENDS; k++)
            in->purse->held[k] += amount[k];
    }
    return warn_outer_purses(r, x, err);
}

int mortise_budget_decode_amounts(const json_t *value,
                                  uint64_t out[MORTISE_N_SPENDS])
{
    const char *key;
    json_t *one;

    memset(out, 0, MORTISE_N_SPENDS * sizeof out[0]);
    json_object_foreach(mortise_json_unconst(value), key, one)
    {
        enum mortise_spend k = mortise_spend_find(key);

        if (k == MORTISE_N_SPENDS || !mortise_spend_decode(k, one, &out[k]))
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

    if (mortise_budget_decode_amounts(e->value, amount) != MORTISE_OK)
        return mortise_entry_corrupt(err, e);
    if (x->hold == NULL)
        x->hold = mortise_arena_alloc(&r->arena, sizeof *x->hold);
    if (x->hold == NULL || mortise_usage_create_cost(r, x, err) != MORTISE_OK)
        return mortise_nomem(err);
    mortise_budget_settle_cut_off(r, x); /* (2) */
    assert(!x->hold->open);       /* or the old reservation would never be
                                     released */
    memcpy(x->hold->amount, amount, sizeof amount);
    memset(x->hold->wants, 0, sizeof x->hold->wants);
    x->hold->open = true;
    x->hold->goes_on = false;
    rv = reserve_in_purses(r, x, x->hold->amount, err);
    return rv == MORTISE_OK ? mortise_exec_make_intent(r, x, e, err) : rv;
}

json_t *mortise_budget_encode_amounts(const uint64_t need[MORTISE_N_SPENDS])
{
    json_t *amounts = json_object();

    for (int k = 0; amounts != NULL && k < MORTISE_N_SPENDS; k++) {
        if (need[k] > 0 &&
            json_object_set_new(
                amounts, get_spend_name(k),
                mortise_spend_encode((enum mortise_spend)k, need[k])) != 0)
            mortise_json_clear_ref(&amounts);
    }
    return amounts;
}

static int record_reservation(struct mortise_run *r, struct exec *x,
                              const uint64_t *need, struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_make_entry(r, x, MORTISE_E_RESERVE);

    e.started_ms = r->time_ms;
    return mortise_run_record_value(r, &e, mortise_budget_encode_amounts(need),
                                    err);
}

/* ---- reported usage ----------------------------------------------------- */

/* Is the reported usage more than the reservation, for a limited amount?  The
 * cost of models is not known in advance (7). */
static bool is_above_reservation(const struct mortise_run *r,
                                 const struct exec *x, const uint64_t *amount)
{
    const struct mortise_operation *op = mortise_exec_node(r, x)->op;
    uint64_t beyond[MORTISE_N_SPENDS] = {0};

    if (op == NULL) /* its guardrails asked */
        return false;
    for (int k = MORTISE_SPEND_FIRST_USED; k < MORTISE_N_SPENDS; k++)
        beyond[k] = amount[k] > (x->hold != NULL ? x->hold->amount[k] : 0);
    return is_need_limited(x, beyond) && !mortise_operation_asks_models(op);
}

/* Emits one warning for each execution. */
static int warn_above_reservation(struct mortise_run *r, struct exec *x,
                                  struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    json_t *extra = NULL;

    assert(x->cost != NULL); /* it reported something (usage.c) */
    if (x->cost->warned)
        return MORTISE_OK;
    x->cost->warned = true;
    if (mortise_run_has_watcher(r))
        extra = json_pack(
            "{s:s, s:o}", "code", "usage", "message",
            json_sprintf("%s/%s reported more usage than its manifest "
                         "declares; the excess counts but was not reserved",
                         n->plugin, n->operation));
    return mortise_event_announce(r, x, "warning", extra, err);
}

int mortise_budget_add_used(struct mortise_run *r, struct exec *x,
                            const struct mortise_usage *used, bool ended,
                            struct mortise_err *err)
{
    uint64_t amount[MORTISE_N_SPENDS] = {0};
    int rv = MORTISE_OK;

    mortise_spend_from_usage(amount, used->amount);
    if (is_above_reservation(r, x, amount))
        rv = warn_above_reservation(r, x, err);
    if (ended && x->hold != NULL && x->hold->open) {
        amount[MORTISE_SPEND_TOOL_CALLS] =
            x->hold->amount[MORTISE_SPEND_TOOL_CALLS];
        release_hold(r, x);
    }
    if (!ended && x->hold != NULL && x->hold->asks > 0)
        release_amounts(r, x, MORTISE_SPEND_FIRST_USED,
                        /* (7) */
                        --x->hold->asks == 0 ? NULL : amount);
    add_spent(r, x, amount);
    return rv == MORTISE_OK ? warn_outer_purses(r, x, err) : rv;
}

/* ---- amounts that do not fit -------------------------------------------- */

enum budget_fit { FITS, FITS_LATER, FITS_NEVER };

/* Does the k-th amount of `need` fit into the rest of its limit?  Used up time,
 * or an amount spent beyond its limit, leaves no room. */
static enum budget_fit check_amount_fits(const struct purse *p,
                                         const uint64_t *need, int k)
{
    uint64_t spent = p->spent[k] + p->others[k] - p->out[k];
    uint64_t left = p->most[k] > spent ? p->most[k] - spent : 0;

    assert(p->out[k] <= p->others[k]);
    if (k == MORTISE_SPEND_WALL ? left == 0 : spent > p->most[k])
        return FITS_NEVER;
    if (need[k] == 0 || need[k] + p->held[k] + p->out[k] <= left)
        return FITS;
    /* A call counts before it starts, so reserved `tool_calls` are never
     * released. */
    return k == MORTISE_SPEND_TOOL_CALLS || need[k] > left ? FITS_NEVER
                                                           : FITS_LATER;
}

bool mortise_budget_can_fit(const struct purse *p, const uint64_t *need, int k)
{
    return check_amount_fits(p, need, k) != FITS_NEVER;
}

static enum budget_fit check_purse_fits(const struct purse *p,
                                        const uint64_t *need, int *what)
{
    enum budget_fit budget_fit = FITS;

    for (int k = 0;
         p != NULL && budget_fit != FITS_NEVER && k < MORTISE_N_SPENDS; k++) {
        enum budget_fit one = check_amount_fits(p, need, k);

        if (one <= budget_fit)
            continue;
        budget_fit = one;
        *what = k;
    }
    return budget_fit;
}

/* The outermost purse that it never fits into decides. */
static enum budget_fit budget_fit(const struct mortise_run *r,
                                  const struct exec *x, const uint64_t *need,
                                  struct scope **by, int *what)
{
    enum budget_fit worst = FITS;

    for (struct scope *in = x->frame->top->scope; in != NULL;
         in = get_outer_scope(in)) {
        int k = 0;
        struct purse now;
        enum budget_fit one;

        if (in->owner == NULL && in->purse != NULL) /* (8) */
            now = mortise_tree_get_purse(r);
        one = check_purse_fits(
            in->owner == NULL && in->purse != NULL ? &now : in->purse, need,
            &k);

        if (one == FITS || one < worst)
            continue;
        worst = one;
        *by = in;
        *what = k;
    }
    return worst;
}

/* ---- asks of models (7) ------------------------------------------------- */

static void get_ask_need(uint64_t need[MORTISE_N_SPENDS],
                         const uint64_t most[MORTISE_USED_N])
{
    uint64_t at_most[MORTISE_USED_N];

    memcpy(at_most, most, sizeof at_most);
    set_least_usage(at_most);
    memset(need, 0, MORTISE_N_SPENDS * sizeof need[0]);
    mortise_spend_from_usage(need, at_most);
}

/* The part of the reservation that the first ask replaces. */
static uint64_t get_replaced_amount(const struct hold *h, int k)
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

    get_ask_need(need, most);
    *room = x->hold == NULL || !x->hold->open || !is_need_limited(x, need);
    if (*room)
        return MORTISE_OK;
    for (int k = 0; k < MORTISE_N_SPENDS; k++) {
        uint64_t held = get_replaced_amount(x->hold, k);

        more[k] = need[k] > held ? need[k] - held : 0;
    }
    *room = !mortise_tree_is_unknown(r, need) &&
            budget_fit(r, x, more, &by, &what) == FITS;
    if (*room)
        return mortise_tree_record_view(r, err);
    memcpy(x->hold->wants, need, sizeof need); /* its next call reserves it */
    return MORTISE_OK;
}

int mortise_budget_make_amounts(json_t **out, const struct exec *x,
                                const uint64_t most[MORTISE_USED_N],
                                struct mortise_err *err)
{
    uint64_t need[MORTISE_N_SPENDS];

    *out = NULL;
    get_ask_need(need, most);
    if (x->hold == NULL || !x->hold->open || !is_need_limited(x, need))
        return MORTISE_OK;
    *out = mortise_budget_encode_amounts(need);
    return *out != NULL ? MORTISE_OK : mortise_nomem(err);
}

int mortise_budget_reserve_for_ask(struct mortise_run *r, struct exec *x,
                                   const json_t *amounts,
                                   struct mortise_err *err)
{
    uint64_t need[MORTISE_N_SPENDS];
    struct hold *h = x->hold;

    if (h == NULL || !h->open ||
        mortise_budget_decode_amounts(amounts, need) != MORTISE_OK)
        return mortise_fail(err, MORTISE_EINVAL,
                            "the amounts cannot be reserved");
    if (h->asks++ == 0)
        release_amounts(r, x, MORTISE_SPEND_FIRST_USED, NULL);
    for (int k = MORTISE_SPEND_FIRST_USED; k < MORTISE_N_SPENDS; k++)
        h->amount[k] = add_saturated(h->amount[k], need[k]);
    return reserve_in_purses(r, x, need, err);
}

/* Wait until other executions settle. */
static int wait_for_release(struct mortise_run *r, struct exec *x,
                            struct mortise_err *err)
{
    assert(x->state == X_READY);
    mortise_exec_add_askers_of(r, x); /* an asker of x may hold the
                                          reservation */
    return mortise_indexes_add(r->mem, &r->waiting_for_budget, x->index, err);
}

bool mortise_budget_must_wait(const struct mortise_run *r, const struct exec *x)
{
    for (size_t i = 0; i < r->waiting_for_budget.n; i++)
        if (r->waiting_for_budget.list[i] == x->index)
            return true;
    return false;
}

int mortise_budget_retry_waiting(struct mortise_run *r, struct mortise_err *err)
{
    size_t n = r->waiting_for_budget.n;
    int rv = MORTISE_OK;

    if (!r->budgets_released)
        return MORTISE_OK;
    r->budgets_released = false;
    r->waiting_for_budget.n = 0;
    for (size_t i = 0; rv == MORTISE_OK && i < n; i++) {
        struct exec *x = r->execs[r->waiting_for_budget.list[i]];

        assert(r->waiting_for_budget.n <=
               i); /* the list refills from its start */
        /* it still waits */
        if (x->state == X_READY && x->loss == LOSS_NONE)
            rv = mortise_exec_make_ready(r, x, err);
    }
    return rv;
}

void mortise_budget_set_released(struct mortise_run *r)
{
    r->budgets_released = true;
}

const char *mortise_budget_print_path(const struct mortise_run *r,
                                      const struct scope *in,
                                      char room[MORTISE_EXEC_PATH])
{
    room[0] = '\0';
    if (in->owner != NULL)
        mortise_exec_print_path(r, in->owner, room);
    return room;
}

/* `need`: the most that the call would spend (0: the limit is used up in any
 * case). */
static json_t *build_budget_request(const struct mortise_run *r,
                                    const struct scope *in, int what,
                                    uint64_t need)
{
    char room[MORTISE_EXEC_PATH];
    const char *path = mortise_budget_print_path(r, in, room);
    json_t *out =
        build_purse_json(in->purse, what, path[0] != '\0' ? path : NULL, NULL);

    if (out != NULL && need > 0 &&
        json_object_set_new(
            out, "needs",
            mortise_spend_encode((enum mortise_spend)what, need)) != 0)
        mortise_json_clear_ref(&out);
    return out;
}

/* Record an exceeded limit, or that the graph halts because of it. */
static int record_scope_entry(struct mortise_run *r, const struct scope *in,
                              enum mortise_entry_type type, int how,
                              struct mortise_err *err)
{
    struct mortise_entry e = {
        .type = type, .frame = in->root->index, .how = (uint8_t)how};

    assert(type != MORTISE_E_EXCEEDED || (how >= 0 && how < MORTISE_N_SPENDS));
    return mortise_run_record(r, &e, err);
}

static int handle_exceeded(struct mortise_run *r, struct exec *x,
                           struct scope *in, int what, uint64_t need,
                           struct mortise_err *err)
{
    bool pause = in->root->graph->budget.on_exceeded == MORTISE_EXCEEDED_PAUSE;
    int rv = MORTISE_OK;

    assert(in->purse != NULL && x->state == X_READY);
    if (!pause || !in->purse->told[what])
        rv = record_scope_entry(r, in, MORTISE_E_EXCEEDED, what, err);
    if (rv != MORTISE_OK)
        return rv;
    if (pause)
        return mortise_request_record(r, x, MORTISE_ASK_BUDGET,
                                      build_budget_request(r, in, what, need),
                                      0, err);
    rv = record_scope_entry(r, in, MORTISE_E_HALT, LOSS_BUDGET, err);
    return rv == MORTISE_OK && x->loss == LOSS_NONE /* it is a finaliser now */
               ? mortise_exec_make_ready(r, x, err)
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
    if (mortise_run_has_watcher(r)) {
        extra = build_purse_json(
            in->purse, e->how, NULL,
            mortise_on_exceeded_name(in->root->graph->budget.on_exceeded));
        if (extra == NULL)
            return mortise_nomem(err);
    }
    return mortise_event_announce(r, in->owner, "budget_exceeded", extra, err);
}

bool mortise_budget_has_goto(const struct scope *in)
{
    return in->halt == LOSS_BUDGET && in->purse != NULL && !in->purse->led &&
           in->root->graph->budget.on_exceeded == MORTISE_EXCEEDED_GOTO;
}

void mortise_budget_set_goto_done(struct scope *in)
{
    assert(in->purse != NULL && !in->purse->led); /* only once */
    in->purse->led = true;
}

int mortise_budget_start_goto(struct mortise_run *r, struct scope *in,
                              struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_LEAD,
                              .frame = in->root->index,
                              .node = in->root->graph->budget.to};

    assert(mortise_budget_has_goto(in));
    e.visit = mortise_frame_count_visits(in->root, e.node) + 1;
    return mortise_run_record(r, &e, err);
}

json_t *mortise_budget_make_error(const struct scope *in)
{
    const struct purse *p = in->purse;
    char limit[BUDGET_TEXT];
    struct mortise_err words;

    assert(p != NULL && p->exceeded < MORTISE_N_SPENDS);
    mortise_fail(
        &words, MORTISE_ELIMIT, "the %s limit of the budget (%s) is used up",
        get_spend_name((int)p->exceeded),
        mortise_budget_print_amount(limit, p->exceeded, p->most[p->exceeded]));
    return mortise_error_new(NULL, "budget", "permanent", words.msg);
}

/* Record the wall time of a graph around x, if it is used up and not recorded
 * yet. */
static int record_used_up_walls(struct mortise_run *r, const struct exec *x,
                                struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (struct scope *in = x->frame->top->scope;
         rv == MORTISE_OK && in != NULL; in = get_outer_scope(in)) {
        struct purse *p = in->purse;

        if (mortise_budget_has_wall(in) &&
            mortise_clock_get_wall_ms(r, in) >= p->most[MORTISE_SPEND_WALL] &&
            p->spent[MORTISE_SPEND_WALL] < p->most[MORTISE_SPEND_WALL])
            rv = mortise_clock_record_wall(r, in, err);
    }
    return rv;
}

int mortise_budget_claim(struct mortise_run *r, struct exec *x,
                         enum claimed *out, struct mortise_err *err)
{
    uint64_t need[MORTISE_N_SPENDS];
    struct scope *by = NULL;
    enum budget_fit how;
    int what = 0, rv = record_used_up_walls(r, x, err);
    bool reserved = x->hold != NULL && x->hold->call_not_started;

    /* it is about to start */
    assert(x->state == X_READY && x->loss == LOSS_NONE);
    assert(!reserved || x->hold->open);
    mortise_budget_get_need(r, x, need);
    *out = CLAIM_FREE;
    if (rv != MORTISE_OK || reserved || mortise_exec_is_final(x))
        return rv;
    mortise_budget_settle_cut_off(r, x);
    how = mortise_tree_is_unknown(r, need) ? FITS_LATER
                                           : budget_fit(r, x, need, &by, &what);
    if (how == FITS && !is_need_limited(x, need))
        return MORTISE_OK;
    *out = how == FITS ? CLAIM_RESERVED : CLAIM_LATER;
    if (how == FITS_LATER)
        return wait_for_release(r, x, err);
    rv = mortise_tree_record_view(r, err);
    if (rv != MORTISE_OK || how == FITS)
        return rv == MORTISE_OK ? record_reservation(r, x, need, err) : rv;
    assert(by != NULL && by->purse != NULL); /* an amount that does not fit is
                                                limited */
    return handle_exceeded(r, x, by, what, need[what], err);
}

/* ---- time --------------------------------------------------------------- */

bool mortise_budget_has_wall(const struct scope *in)
{
    return in->purse != NULL &&
           in->purse->most[MORTISE_SPEND_WALL] != UINT64_MAX;
}

int mortise_budget_set_wall_used(struct mortise_run *r, struct scope *in,
                                 uint64_t used, struct mortise_err *err)
{
    assert(in->purse != NULL);
    in->purse->spent[MORTISE_SPEND_WALL] = used;
    return mortise_budget_warn_if_low(r, in, err);
}

/* Does x run in that graph, or in a graph inside of it? */
static bool runs_in_scope(const struct exec *x, const struct scope *graph)
{
    const struct scope *in = x->frame->top->scope;

    while (in != NULL && in != graph)
        in = get_outer_scope(in);
    return in != NULL;
}

/* Stop the calls that only read.  They ask for budget when they are to be
 * called again. */
static int stop_reading_calls(struct mortise_run *r, const struct scope *in,
                              struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if (x->state == X_RUNNING && x->call == MORTISE_RUN_EXECUTE &&
            mortise_exec_node(r, x)->effect < MORTISE_WRITE &&
            runs_in_scope(x, in))
            rv = mortise_exec_cancel_call(r, x, STOP_BUDGET, err);
    }
    return rv;
}

int mortise_budget_set_wall_exceeded(struct mortise_run *r, struct scope *in,
                                     struct mortise_err *err)
{
    int rv = mortise_clock_record_wall(r, in, err);

    assert(mortise_budget_has_wall(in));
    if (rv == MORTISE_OK)
        rv = record_scope_entry(r, in, MORTISE_E_EXCEEDED, MORTISE_SPEND_WALL,
                                err);
    if (rv != MORTISE_OK)
        return rv;
    return in->root->graph->budget.on_exceeded == MORTISE_EXCEEDED_PAUSE
               ? stop_reading_calls(r, in, err)
               : record_scope_entry(r, in, MORTISE_E_HALT, LOSS_BUDGET, err);
}

/* 0: the limit stays. */
static void set_purse_limits(struct mortise_run *r, struct purse *p,
                             const uint64_t *most)
{
    for (int k = 0; k < MORTISE_N_SPENDS; k++) {
        if (most[k] == 0 || most[k] == p->most[k])
            continue;
        p->most[k] = most[k];
        p->told[k] = false;
        p->warned[k] &= is_amount_low(p, k);
    }
    r->budgets_released = true;
}

void mortise_budget_set_limits(struct mortise_run *r,
                               const uint64_t most[MORTISE_N_SPENDS])
{
    assert(r->frames[0]->scope->purse != NULL);
    set_purse_limits(r, r->frames[0]->scope->purse, most);
}

int mortise_apply_budget(struct mortise_run *r, const struct mortise_entry *e,
                         struct mortise_err *err)
{
    uint64_t most[MORTISE_N_SPENDS];
    struct scope *in = r->frames[e->frame]->scope;
    struct purse *p = in->purse;
    char path[MORTISE_EXEC_PATH];

    if (p == NULL ||
        mortise_budget_decode_amounts(e->value, most) != MORTISE_OK)
        return mortise_entry_corrupt(err, e);
    set_purse_limits(r, p, most);
    mortise_budget_print_path(r, in, path);
    return mortise_event_announce_command(r, "raise_budget", e->actor,
                                          path[0] != '\0' ? path : NULL,
                                          e->value, err);
}

/* ---- show --------------------------------------------------------------- */

json_t *mortise_budget_make_json(const struct mortise_run *r,
                                 const struct scope *in)
{
    struct purse now = *in->purse;
    const struct purse *p = &now;
    bool shared = in->owner == NULL && r->tree.origin != NULL;
    json_t *out = json_object();

    assert(p->exceeded < MORTISE_N_SPENDS);
    now.spent[MORTISE_SPEND_WALL] = mortise_clock_get_wall_ms(r, in);
    for (int k = 0; out != NULL && k < MORTISE_N_SPENDS; k++) {
        enum mortise_spend what = (enum mortise_spend)k;
        json_t *own = shared && what != MORTISE_SPEND_WALL
                          ? mortise_spend_encode(what, r->tree.counted[k])
                          : NULL;

        if (p->most[k] == UINT64_MAX)
            json_decref(own);
        else if (json_object_set_new(
                     out, get_spend_name(k),
                     json_pack("{s:o, s:o, s:o*}", "limit",
                               mortise_spend_encode(what, p->most[k]), "used",
                               mortise_spend_encode(
                                   what, mortise_budget_get_used(p, k)),
                               "own", own)) != 0)
            mortise_json_clear_ref(&out);
    }
    return out;
}

/* The purse that the request of x is about; NULL: there is none with its
 * path. */
static const struct scope *find_requested_scope(const struct mortise_run *r,
                                                const struct exec *x)
{
    const char *graph = json_string_value(json_object_get(x->payload, "graph"));
    const struct scope *in = x->frame->top->scope;
    char path[MORTISE_EXEC_PATH];

    while (in != NULL &&
           (in->purse == NULL || strcmp(mortise_budget_print_path(r, in, path),
                                        graph != NULL ? graph : "") != 0))
        in = get_outer_scope(in);
    return in;
}

json_t *mortise_budget_make_request(const struct mortise_run *r,
                                    const struct exec *x)
{
    const char *name = json_string_value(json_object_get(x->payload, "budget"));
    enum mortise_spend k = mortise_spend_find(name != NULL ? name : "");
    const struct scope *in = find_requested_scope(r, x);
    json_t *out = json_copy(x->payload), *budget, *now;

    assert(x->ask == MORTISE_ASK_BUDGET);
    if (out == NULL || in == NULL || k == MORTISE_N_SPENDS)
        return out; /* the payload came from disk */
    budget = mortise_budget_make_json(r, in);
    now = json_object_get(budget, get_spend_name((int)k));
    if (json_object_set(out, "limit", json_object_get(now, "limit")) != 0 ||
        json_object_set(out, "used", json_object_get(now, "used")) != 0)
        mortise_json_clear_ref(&out);
    json_decref(budget);
    return out;
}
