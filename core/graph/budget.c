/* budget.c -- the key `budget`: what a graph may spend, and what becomes of it
 * when that is used up.
 *
 * A budget is one graph's own.  A graph inside another has what its own says
 * and draws on those around it as well: both hold (run/budget.c), so there is
 * nothing to compare here, and no default: what is not said is not bounded.
 */
#include "graph/budget.h"

#include <string.h>

#include "graph/node.h"

static void read_most(void *ctx, void *into, const struct mortise_slot *slot);
static void read_on_exceeded(void *ctx, void *into,
                             const struct mortise_slot *slot);
static void read_goto(void *ctx, void *into, const struct mortise_slot *slot);

static const struct mortise_word on_exceededs[] = {
    {"pause", MORTISE_EXCEEDED_PAUSE, false},
    {"fail", MORTISE_EXCEEDED_FAIL, false},
    {NULL, 0, false},
};

static const struct mortise_key goto_keys[] = {
    {.name = "goto",
     .about = "The node at which the graph goes on when the budget is used up.",
     .value = MORTISE_V_ID,
     .here = MORTISE_HERE,
     .required = MORTISE_HERE,
     .read = read_goto},
};

static const struct mortise_place goto_place = {
    .what = "on_exceeded", .keys = goto_keys, .n = 1};

static const struct mortise_key on_exceeded_forms[2] = {
    {.value = MORTISE_V_WORD, .words = on_exceededs},
    {.value = MORTISE_V_MAP, .place = &goto_place},
};

static const struct mortise_key budget_keys[] = {
    [MORTISE_SPEND_TOOL_CALLS] =
        {.name = "tool_calls",
         .about = "How many calls of operations the graph may make, attempts "
                  "and elements of maps included.",
         .value = MORTISE_V_INT,
         .here = MORTISE_HERE,
         .min = 1,
         .max = 1e15,
         .read = read_most},
    [MORTISE_SPEND_WALL] =
        {.name = "wall",
         .about =
             "How long calls of the graph may be out in all; time in which "
             "none is does not count.",
         .value = MORTISE_V_DURATION,
         .here = MORTISE_HERE,
         .min = 1,
         .read = read_most},
    [MORTISE_N_SPENDS] =
        {.name = "on_exceeded",
         .about = "What happens instead of a call beyond the budget: pause "
                  "(the default), fail, or {goto: NODE}.",
         MORTISE_FORMS(on_exceeded_forms),
         .here = MORTISE_HERE,
         .read = read_on_exceeded},
    {.name = "tokens", .later = MORTISE_HERE},
    {.name = "input_tokens", .later = MORTISE_HERE},
    {.name = "output_tokens", .later = MORTISE_HERE},
    {.name = "usd", .later = MORTISE_HERE},
    {.name = "model_calls", .later = MORTISE_HERE},
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
    b->most[i] = slot->key->value == MORTISE_V_DURATION
                     ? slot->ms
                     : (uint64_t)slot->value->u.i;
}

static void read_on_exceeded(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_budget *b = into;
    const struct mortise_word *word;

    if (slot->value->kind == MORTISE_YAML_MAP) {
        mortise_keys_read(&goto_place, MORTISE_HERE, slot->value,
                          slot->name->span, ld, b, ld->diags);
        return;
    }
    word =
        mortise_word_find(on_exceededs, "on_exceeded", slot->value, ld->diags);
    if (word != NULL)
        b->on_exceeded = (enum mortise_on_exceeded)word->value;
    else
        mortise_node_also_takes(ld, "{goto: ID}");
}

/* An edge from START, which nothing takes but this. */
static void read_goto(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_budget *b = into;

    b->on_exceeded = MORTISE_EXCEEDED_GOTO;
    b->to = mortise_load_node_id(ld, slot->value);
    if (b->to != MORTISE_NOWHERE)
        mortise_load_edge(ld, MORTISE_START, slot->value, MORTISE_EDGE_BUDGET);
}

const char *mortise_on_exceeded_name(enum mortise_on_exceeded how)
{
    return how == MORTISE_EXCEEDED_GOTO ? goto_keys[0].name
                                        : on_exceededs[how].word;
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
                     "a budget needs something that it bounds: 'tool_calls' "
                     "or 'wall'");
}
