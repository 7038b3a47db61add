/* tree.c -- what a run spends with others: the runs of a spawn tree have one
 * budget, that of their origin.
 *
 * A child's graph says the budget of who made it, and is bound by it; but what
 * bounds it is the origin's purse, from which all runs of the tree spend.  A run
 * sees of it what it is told between its steps: the bounds, and what the others
 * have.  Whoever tells (core/engine/common/tree_purses.c) knows all that was decided, on
 * disk or not.
 *
 *   (1) What a run has, spent or reserved, is what it counts for in its tree.  The
 *       commit that changes it has it counted so (`counted`), in the same batch: so
 *       what the tree has is at all times what its runs have, and whatever dies,
 *       nothing of it is lost, or counted twice.
 *   (2) Nothing is reserved, and no bound said to be exceeded, by what is not
 *       recorded: `tree`, ahead of it, says what the others had.  Until a run was
 *       told anything, whatever the tree's budget bounds waits.
 *   (3) What others have reserved, and may give back by themselves, is waited for,
 *       as within a run (budget.c (3)).  Nobody waits for a run in which somebody
 *       waits for a child, or for people: it may be the child that would wait.
 *       Who waits itself gives back at once what it holds no more: of that no entry
 *       may tell, and runs that waited for each other's next commits would wait
 *       for good.
 *   (4) An origin counts from the commit of its first handle on, with all that it
 *       had by then; a child from what it reserves first.
 *   (5) A bound that is raised in one of these runs is raised for all.
 *   (6) Time is nobody's to spend in another's place: `wall` bounds each run by
 *       itself.
 *   (7) A run that nobody spawned, and that spawned nothing, or whose graph has no
 *       budget, knows nothing of this: nothing is told, recorded or counted.
 */
#include <assert.h>
#include <string.h>

#include "core/run/spend/spend.h"

_Static_assert(MORTISE_N_SPENDS == (int)MORTISE_SPAWN_AMOUNTS,
               "a tree counts what a budget bounds");

/* The purse that it may have in common; NULL: it has none. */
static struct purse *own(const struct mortise_run *r)
{
    struct purse *p = r->frames[0]->scope->purse;

    for (int k = 0; p != NULL && k < MORTISE_N_SPENDS; k++)
        if (k != MORTISE_SPEND_WALL && p->most[k] != UINT64_MAX)
            return p;
    return NULL;
}

static bool is_in_tree(const struct mortise_run *r)
{
    return (r->tree.origin != NULL || r->spawned_by != NULL) && own(r) != NULL;
}

static bool is_told(const struct mortise_run *r)
{
    return is_in_tree(r) && r->tree.known && r->tree.is_open;
}

/* What it has: as much as an entry can say. */
static void use_of(const struct purse *p, uint64_t out[MORTISE_N_SPENDS])
{
    for (int k = 0; k < MORTISE_N_SPENDS; k++) {
        uint64_t n = p->spent[k] + p->held[k];

        out[k] = n < MORTISE_USAGE_MAX ? n : MORTISE_USAGE_MAX;
    }
    out[MORTISE_SPEND_WALL] = 0; /* (6) */
}

/* ---- what it is told ------------------------------------------------------- */

void mortise_run_tell_tree(struct mortise_run *r, bool known,
                           const struct mortise_tree_view *v)
{
    r->tree.known = known;
    r->tree.is_open = known && v != NULL;
    if (r->tree.is_open)
        r->tree.told = *v;
}

struct purse mortise_tree_purse(const struct mortise_run *r)
{
    struct purse now = *r->frames[0]->scope->purse;
    const struct mortise_tree_view *v = &r->tree.told;

    for (int k = 0; is_told(r) && k < MORTISE_N_SPENDS; k++) {
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
    const struct purse *p = own(r);

    for (int k = 0; is_in_tree(r) && !r->tree.known && k < MORTISE_N_SPENDS;
         k++)
        if (k != MORTISE_SPEND_WALL && need[k] > 0 && p->most[k] != UINT64_MAX)
            return true;
    return false;
}

/* ---- looking (2) ------------------------------------------------------------- */

/* Would it be recorded as it is? */
static bool is_seen(const struct mortise_run *r)
{
    const struct purse *p = own(r);
    const struct mortise_tree_view *v = &r->tree.told;

    for (int k = 0; k < MORTISE_N_SPENDS; k++)
        if (k != MORTISE_SPEND_WALL &&
            (p->most[k] != v->most[k] || p->others[k] != v->others[k]))
            return false;
    return r->tree.origin != NULL;
}

static int record(struct mortise_run *r, const char *origin,
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
    limit = mortise_budget_write(bounds);
    rest = mortise_budget_write(used);
    return mortise_run_record_value(r, &e,
                                    json_pack("{s:s, s:o, s:o}", "origin",
                                              origin, "limit", limit, "used",
                                              rest),
                                    err);
}

int mortise_tree_look(struct mortise_run *r, struct mortise_err *err)
{
    const struct mortise_tree_view *v = &r->tree.told;

    return is_told(r) && !is_seen(r)
               ? record(r, v->origin, v->most, v->others, err)
               : MORTISE_OK;
}

/* (4) */
int mortise_tree_open(struct mortise_run *r, struct mortise_err *err)
{
    struct mortise_tree_view alone = {.origin = r->id};

    if (own(r) == NULL || r->tree.origin != NULL || r->spawned_by != NULL)
        return MORTISE_OK;
    memcpy(alone.most, own(r)->most, sizeof alone.most);
    r->tree.spend.opens = true;
    mortise_run_tell_tree(r, true, &alone); /* until it is told more */
    return record(r, r->id, alone.most, alone.others, err);
}

bool mortise_tree_is_foreign(const struct mortise_run *r)
{
    return is_in_tree(r) && r->tree.origin == NULL &&
           (!r->tree.known || r->tree.is_open);
}

void mortise_tree_raised(struct mortise_run *r)
{
    const struct purse *p = r->frames[0]->scope->purse;

    if (r->tree.origin == NULL)
        return;
    r->tree.spend.raises = true;
    for (int k = 0; k < MORTISE_N_SPENDS; k++) /* it was told before */
        if (r->tree.told.most[k] < p->most[k])
            r->tree.told.most[k] = p->most[k];
}

int mortise_apply_tree(struct mortise_run *r, const struct mortise_entry *e,
                       struct mortise_err *err)
{
    const char *origin = mortise_json_text_of(e->value, "origin");
    uint64_t most[MORTISE_N_SPENDS], used[MORTISE_N_SPENDS];
    struct scope *in = r->frames[0]->scope;

    if (own(r) == NULL || origin == NULL ||
        (r->tree.origin != NULL && strcmp(r->tree.origin, origin) != 0) ||
        mortise_budget_read(json_object_get(e->value, "limit"), most) !=
            MORTISE_OK ||
        mortise_budget_read(json_object_get(e->value, "used"), used) !=
            MORTISE_OK ||
        most[MORTISE_SPEND_WALL] + used[MORTISE_SPEND_WALL] > 0)
        return mortise_entry_corrupt(err, e);
    if (r->tree.origin == NULL)
        r->tree.origin = mortise_arena_strdup(&r->arena, origin);
    if (r->tree.origin == NULL)
        return mortise_nomem(err);
    memcpy(in->purse->others, used, sizeof used);
    mortise_budget_bound(r, most);
    return mortise_budget_warn(r, in, err);
}

/* ---- counting (1) ------------------------------------------------------------- */

int mortise_tree_count(struct mortise_run *r, struct mortise_err *err)
{
    struct mortise_spawn_spend *s = &r->tree.spend;
    struct mortise_entry e = {.type = MORTISE_E_COUNTED};
    uint64_t used[MORTISE_N_SPENDS];
    const uint64_t *was = r->tree.counted;

    if (r->tree.origin == NULL)
        return MORTISE_OK; /* (7) */
    use_of(own(r), used);
    if (s->opens || s->raises) {
        s->origin = r->tree.origin;
        memcpy(s->most, own(r)->most, sizeof s->most);
        s->most[MORTISE_SPEND_WALL] = UINT64_MAX;
    }
    if (memcmp(used, was, sizeof used) == 0)
        return MORTISE_OK;
    s->origin = r->tree.origin;
    for (int k = 0; k < MORTISE_N_SPENDS; k++) {
        s->plus[k] = used[k] > was[k] ? used[k] - was[k] : 0;
        s->minus[k] = used[k] < was[k] ? was[k] - used[k] : 0;
    }
    return mortise_run_record_value(r, &e, mortise_budget_write(used), err);
}

int mortise_tree_give_back(struct mortise_run *r, struct mortise_err *err)
{
    uint64_t used[MORTISE_N_SPENDS];
    bool less = false;

    if (r->tree.origin == NULL || r->shorts.n == 0)
        return MORTISE_OK;
    use_of(own(r), used);
    for (int k = 0; k < MORTISE_N_SPENDS; k++)
        less |= used[k] < r->tree.counted[k];
    return less ? mortise_tree_count(r, err) : MORTISE_OK;
}

struct mortise_spawn_spend mortise_tree_take_spend(struct mortise_run *r)
{
    struct mortise_spawn_spend s = r->tree.spend;

    r->tree.spend = (struct mortise_spawn_spend){.origin = NULL};
    return s;
}

int mortise_apply_counted(struct mortise_run *r, const struct mortise_entry *e,
                          struct mortise_err *err)
{
    if (r->tree.origin == NULL ||
        mortise_budget_read(e->value, r->tree.counted) != MORTISE_OK)
        return mortise_entry_corrupt(err, e);
    return MORTISE_OK;
}

void mortise_run_tree_counted(const struct mortise_run *r,
                              uint64_t out[MORTISE_N_SPENDS])
{
    memcpy(out, r->tree.counted, sizeof r->tree.counted);
}

/* ---- for the others ------------------------------------------------------------ */

/* (3) */
static bool gives_back(const struct mortise_run *r)
{
    return r->live && r->n_awaited + r->n_questions == 0;
}

bool mortise_run_tree_use(const struct mortise_run *r,
                          struct mortise_tree_use *out)
{
    const struct purse *p = own(r);

    if (!is_in_tree(r))
        return false;
    *out = (struct mortise_tree_use){
        .origin = r->tree.origin,
        .waits = r->shorts.n > 0 || r->n_asked_so[MORTISE_ASK_BUDGET] > 0};
    memcpy(out->most, p->most, sizeof out->most);
    use_of(p, out->used);
    for (int k = 0; gives_back(r) && k < MORTISE_N_SPENDS; k++)
        out->out[k] = p->held[k] < out->used[k] ? p->held[k] : out->used[k];
    return true;
}
