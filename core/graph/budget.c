/* budget.c -- the key `budget`: what a graph may spend, and what becomes of it
 * when that is used up.
 *
 * A budget is one graph's own.  A graph inside another has what its own says
 * and draws on those around it as well: both hold (run/budget.c), so there is
 * nothing to compare here, and no default: what is not said is not bounded.
 */
#include "graph/budget.h"

#include <string.h>

#include "graph/loader.h"

static void read_most(void *ctx, void *into, const struct mortise_slot *slot);
static void read_on_exceeded(void *ctx, void *into,
                             const struct mortise_slot *slot);

static const struct mortise_word on_exceededs[] = {
    {"pause", MORTISE_EXCEEDED_PAUSE, false},
    {"fail", MORTISE_EXCEEDED_FAIL, false},
    {NULL, 0, false},
};

static const struct mortise_key budget_keys[] = {
    [MORTISE_SPEND_TOOL_CALLS] = {.name = "tool_calls",
                                  .value = MORTISE_V_INT,
                                  .here = MORTISE_HERE,
                                  .min = 1,
                                  .max = 1e15,
                                  .read = read_most},
    [MORTISE_N_SPENDS] = {.name = "on_exceeded",
                          .value = MORTISE_V_WORD,
                          .here = MORTISE_HERE,
                          .words = on_exceededs,
                          .read = read_on_exceeded},
    {.name = "tokens", .later = MORTISE_HERE},
    {.name = "input_tokens", .later = MORTISE_HERE},
    {.name = "output_tokens", .later = MORTISE_HERE},
    {.name = "usd", .later = MORTISE_HERE},
    {.name = "model_calls", .later = MORTISE_HERE},
    {.name = "wall", .later = MORTISE_HERE},
};

const struct mortise_place mortise_budget_place = {.what = "a budget",
                                                   .keys = budget_keys,
                                                   .n = sizeof budget_keys /
                                                        sizeof budget_keys[0]};

static void read_most(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_budget *b = into;
    size_t i = (size_t)(slot->key - budget_keys);

    (void)ctx;
    b->said[i] = true;
    b->most[i] = (uint64_t)slot->value->u.i;
}

static void read_on_exceeded(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct mortise_budget *b = into;

    (void)ctx;
    b->on_exceeded = (enum mortise_on_exceeded)slot->word;
}

const char *mortise_spend_name(enum mortise_spend what)
{
    return budget_keys[what].name;
}

enum mortise_spend mortise_spend_find(const char *name)
{
    int i = 0;

    while (i < MORTISE_N_SPENDS && strcmp(budget_keys[i].name, name) != 0)
        i++;
    return (enum mortise_spend)i;
}

bool mortise_budget_is_set(const struct mortise_budget *b)
{
    for (int i = 0; i < MORTISE_N_SPENDS; i++) {
        if (b->said[i])
            return true;
    }
    return false;
}

/* ---- entry ----------------------------------------------------------- */

void mortise_load_budget(struct mortise_loader *ld,
                         const struct mortise_slot *slot)
{
    mortise_keys_enter(slot, ld, &ld->g->budget, ld->diags);
    for (int i = 0; i < MORTISE_N_SPENDS; i++) {
        if (mortise_yaml_get(slot->value, budget_keys[i].name) != NULL)
            return;
    }
    mortise_diag_add(ld->diags, "E0206", slot->name->span,
                     "a budget needs something that it bounds: 'tool_calls'");
}
