/* tree.c -- budgets of spawn trees: all runs of a tree spend from the budget of
 * their origin.
 *
 * A child's graph has the budget of the run that spawned it.  The limits that
 * count are those of the origin's purse, from which all runs of the tree spend.
 * Between its steps, a run receives a view of that purse: the limits, and the
 * amounts of the other runs.  The sender (core/engine/common/tree_purses.c)
 * knows all decisions, on disk or not.
 *
 *   (1) The tree counts the amounts that each run has spent or reserved.  A
 *       commit that changes them also changes the tree's count (`counted`), in
 *       the same batch.  So the tree's count always equals the sum over its
 *       runs; no crash loses an amount or counts it twice.
 *   (2) A reservation or an exceeded limit depends only on recorded amounts: an
 *       entry `tree` before it has the amounts of the other runs.  Until a run
 *       receives its first view, everything that the tree's budget limits
 *       waits.
 *   (3) If other runs have reserved amounts that they may release by
 *       themselves, the run waits for them, as within a run (budget.c (3)).  It
 *       does not wait for a run in which a step waits for a child or for
 *       people: that child may be the run that would wait.  A run that waits
 *       releases its unused amounts at once.  Otherwise, without a commit of
 *       their own, runs that wait for each other would wait forever.
 *   (4) An origin is counted from the commit of its first handle on, with all
 *       its amounts up to then; a child from its first reservation on.
 *   (5) A limit that is raised in one of these runs is raised for all.
 *   (6) Time is not shared: `wall` limits each run separately.
 *   (7) For a run that is no child and has no children, or whose graph has no
 *       budget, none of this applies: it receives, records and counts nothing.
 */
#include <assert.h>
#include <string.h>

#include "core/run/spend/spend.h"

_Static_assert(MORTISE_N_SPENDS == (int)MORTISE_SPAWN_AMOUNTS,
               "a tree counts what a budget bounds");

/* The purse that may be shared; NULL: the run has none. */
static struct purse *get_shared_purse(const struct mortise_run *r)
{
    struct purse *p = r->frames[0]->scope->purse;

    for (int k = 0; p != NULL && k < MORTISE_N_SPENDS; k++)
        if (k != MORTISE_SPEND_WALL && p->most[k] != UINT64_MAX)
            return p;
    return NULL;
}

static bool is_in_tree(const struct mortise_run *r)
{
    return (r->tree.origin != NULL || r->spawned_by != NULL) &&
           get_shared_purse(r) != NULL;
}

static bool has_tree_view(const struct mortise_run *r)
{
    return is_in_tree(r) && r->tree.known && r->tree.is_open;
}

/* The amounts of the run, up to the largest that an entry can have. */
static void get_used_amounts(const struct purse *p,
                             uint64_t out[MORTISE_N_SPENDS])
{
    for (int k = 0; k < MORTISE_N_SPENDS; k++) {
        uint64_t n = p->spent[k] + p->held[k];

        out[k] = n < MORTISE_USAGE_MAX ? n : MORTISE_USAGE_MAX;
    }
    out[MORTISE_SPEND_WALL] = 0; /* (6) */
}

/* ---- the view of the tree ------------------------------------------------ */

void mortise_run_set_tree_view(struct mortise_run *r, bool known,
                               const struct mortise_tree_view *v)
{
    r->tree.known = known;
    r->tree.is_open = known && v != NULL;
    if (r->tree.is_open)
        r->tree.told = *v;
}

struct purse mortise_tree_get_purse(const struct mortise_run *r)
{
    struct purse now = *r->frames[0]->scope->purse;
    const struct mortise_tree_view *v = &r->tree.told;

    for (int k = 0; has_tree_view(r) && k < MORTISE_N_SPENDS; k++) {
        if (k == MORTISE_SPEND_WALL)
            continue;
        assert(v->out[k] <= v->others[k]);
        now.most[k] = v->most[k];
        now.others[k] = v->others[k];
        now.out[k] = v->out[k];
    }
    return now;
}

bool mortise_tree_is_unknown(const struct mortise_run *r,
                             const uint64_t need[MORTISE_N_SPENDS])
{
    const struct purse *p = get_shared_purse(r);

    for (int k = 0; is_in_tree(r) && !r->tree.known && k < MORTISE_N_SPENDS;
         k++)
        if (k != MORTISE_SPEND_WALL && need[k] > 0 && p->most[k] != UINT64_MAX)
            return true;
    return false;
}

/* ---- recording the view (2) ---------------------------------------------- */

/* Is the view recorded already, without a change? */
static bool is_view_recorded(const struct mortise_run *r)
{
    const struct purse *p = get_shared_purse(r);
    const struct mortise_tree_view *v = &r->tree.told;

    for (int k = 0; k < MORTISE_N_SPENDS; k++)
        if (k != MORTISE_SPEND_WALL &&
            (p->most[k] != v->most[k] || p->others[k] != v->others[k]))
            return false;
    return r->tree.origin != NULL;
}

static int record_tree_view(struct mortise_run *r, const char *origin,
                            const uint64_t *most, const uint64_t *others,
                            struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_TREE};
    uint64_t bounds[MORTISE_N_SPENDS] = {0}, used[MORTISE_N_SPENDS] = {0};
    json_t *limit, *rest;

    for (int k = 0; k < MORTISE_N_SPENDS; k++) {
        if (k == MORTISE_SPEND_WALL || most[k] == UINT64_MAX)
            continue;
        bounds[k] = most[k];
        used[k] = others[k] < MORTISE_USAGE_MAX ? others[k] : MORTISE_USAGE_MAX;
    }
    limit = mortise_budget_encode_amounts(bounds);
    rest = mortise_budget_encode_amounts(used);
    return mortise_run_record_value(r, &e,
                                    json_pack("{s:s, s:o, s:o}", "origin",
                                              origin, "limit", limit, "used",
                                              rest),
                                    err);
}

int mortise_tree_record_view(struct mortise_run *r, struct mortise_err *err)
{
    const struct mortise_tree_view *v = &r->tree.told;

    return has_tree_view(r) && !is_view_recorded(r)
               ? record_tree_view(r, v->origin, v->most, v->others, err)
               : MORTISE_OK;
}

/* (4) */
int mortise_tree_create(struct mortise_run *r, struct mortise_err *err)
{
    struct mortise_tree_view alone = {.origin = r->id};

    if (get_shared_purse(r) == NULL || r->tree.origin != NULL ||
        r->spawned_by != NULL)
        return MORTISE_OK;
    memcpy(alone.most, get_shared_purse(r)->most, sizeof alone.most);
    r->tree.spend.opens = true;
    mortise_run_set_tree_view(r, true,
                              &alone); /* until the run receives a view */
    return record_tree_view(r, r->id, alone.most, alone.others, err);
}

bool mortise_tree_is_foreign_unused(const struct mortise_run *r)
{
    return is_in_tree(r) && r->tree.origin == NULL &&
           (!r->tree.known || r->tree.is_open);
}

void mortise_tree_set_raised(struct mortise_run *r)
{
    const struct purse *p = r->frames[0]->scope->purse;

    if (r->tree.origin == NULL)
        return;
    r->tree.spend.raises = true;
    for (int k = 0; k < MORTISE_N_SPENDS; k++) /* the view may be older */
        if (r->tree.told.most[k] < p->most[k])
            r->tree.told.most[k] = p->most[k];
}

int mortise_apply_tree(struct mortise_run *r, const struct mortise_entry *e,
                       struct mortise_err *err)
{
    const char *origin = mortise_json_get_text(e->value, "origin");
    uint64_t most[MORTISE_N_SPENDS], used[MORTISE_N_SPENDS];
    struct scope *in = r->frames[0]->scope;

    if (get_shared_purse(r) == NULL || origin == NULL ||
        (r->tree.origin != NULL && strcmp(r->tree.origin, origin) != 0) ||
        mortise_budget_decode_amounts(json_object_get(e->value, "limit"),
                                      most) != MORTISE_OK ||
        mortise_budget_decode_amounts(json_object_get(e->value, "used"),
                                      used) != MORTISE_OK ||
        most[MORTISE_SPEND_WALL] + used[MORTISE_SPEND_WALL] > 0)
        return mortise_entry_corrupt(err, e);
    if (r->tree.origin == NULL)
        r->tree.origin = mortise_arena_strdup(&r->arena, origin);
    if (r->tree.origin == NULL)
        return mortise_nomem(err);
    memcpy(in->purse->others, used, sizeof used);
    mortise_budget_set_limits(r, most);
    return mortise_budget_warn_if_low(r, in, err);
}

/* ---- counting (1) -------------------------------------------------------- */

int mortise_tree_record_amounts(struct mortise_run *r, struct mortise_err *err)
{
    struct mortise_spawn_budget_change *s = &r->tree.spend;
    struct mortise_entry e = {.type = MORTISE_E_COUNTED};
    uint64_t used[MORTISE_N_SPENDS];
    const uint64_t *was = r->tree.counted;

    if (r->tree.origin == NULL)
        return MORTISE_OK; /* (7) */
    get_used_amounts(get_shared_purse(r), used);
    if (s->opens || s->raises) {
        s->origin = r->tree.origin;
        memcpy(s->most, get_shared_purse(r)->most, sizeof s->most);
        s->most[MORTISE_SPEND_WALL] = UINT64_MAX;
    }
    if (memcmp(used, was, sizeof used) == 0)
        return MORTISE_OK;
    s->origin = r->tree.origin;
    for (int k = 0; k < MORTISE_N_SPENDS; k++) {
        s->plus[k] = used[k] > was[k] ? used[k] - was[k] : 0;
        s->minus[k] = used[k] < was[k] ? was[k] - used[k] : 0;
    }
    return mortise_run_record_value(r, &e, mortise_budget_encode_amounts(used),
                                    err);
}

int mortise_tree_release_unused(struct mortise_run *r, struct mortise_err *err)
{
    uint64_t used[MORTISE_N_SPENDS];
    bool less = false;

    if (r->tree.origin == NULL || r->waiting_for_budget.n == 0)
        return MORTISE_OK;
    get_used_amounts(get_shared_purse(r), used);
    for (int k = 0; k < MORTISE_N_SPENDS; k++)
        less |= used[k] < r->tree.counted[k];
    return less ? mortise_tree_record_amounts(r, err) : MORTISE_OK;
}

struct mortise_spawn_budget_change
mortise_tree_take_spend(struct mortise_run *r)
{
    struct mortise_spawn_budget_change s = r->tree.spend;

    r->tree.spend = (struct mortise_spawn_budget_change){.origin = NULL};
    return s;
}

int mortise_apply_counted(struct mortise_run *r, const struct mortise_entry *e,
                          struct mortise_err *err)
{
    if (r->tree.origin == NULL ||
        mortise_budget_decode_amounts(e->value, r->tree.counted) != MORTISE_OK)
        return mortise_entry_corrupt(err, e);
    return MORTISE_OK;
}

void mortise_run_get_tree_counted(const struct mortise_run *r,
                                  uint64_t out[MORTISE_N_SPENDS])
{
    memcpy(out, r->tree.counted, sizeof r->tree.counted);
}

/* ---- for the other runs -------------------------------------------------- */

/* May the reservations of this run be released separately from its calls (rule 3 at
 * the head of this file)? */
static bool is_releasing(const struct mortise_run *r)
{
    return r->live && r->n_awaited + r->n_questions == 0;
}

bool mortise_run_get_tree_use(const struct mortise_run *r,
                              struct mortise_tree_use *out)
{
    const struct purse *p = get_shared_purse(r);

    if (!is_in_tree(r))
        return false;
    *out = (struct mortise_tree_use){.origin = r->tree.origin,
                                     .waits =
                                         r->waiting_for_budget.n > 0 ||
                                         r->n_asked_so[MORTISE_ASK_BUDGET] > 0};
    memcpy(out->most, p->most, sizeof out->most);
    get_used_amounts(p, out->used);
    for (int k = 0; is_releasing(r) && k < MORTISE_N_SPENDS; k++)
        out->out[k] = p->held[k] < out->used[k] ? p->held[k] : out->used[k];
    return true;
}
