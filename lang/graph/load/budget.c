/* budget.c -- the key `budget`: how much a graph may spend, and the reaction
 * when the budget is used up.
 *
 * Each graph has its own budget.  An inner graph draws on its own budget and on
 * those of the graphs around it, and all of them apply
 * (core/run/spend/budget.c).  So this file compares no budgets and has no
 * defaults: an amount without a limit is unlimited.
 */
#include "core/model/spend.h"

#include "lang/graph/load/node.h"

static void read_limit_amount(void *ctx, void *into,
                              const struct mortise_slot *slot);

static const struct mortise_word on_exceededs[] = {
    {"pause", MORTISE_EXCEEDED_PAUSE, false},
    {"fail", MORTISE_EXCEEDED_FAIL, false},
    {NULL, 0, false},
};

static const struct mortise_word unpriceds[] = {
    {"refuse", false, false},
    {"allow", true, false},
    {NULL, 0, false},
};

/* The goto is an edge from START that only an exceeded budget takes. */
static void read_budget_goto(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_budget *b = into;

    b->on_exceeded = MORTISE_EXCEEDED_GOTO;
    b->to = mortise_load_node_id(ld, slot->value);
    if (b->to != MORTISE_NOWHERE)
        mortise_load_edge(ld, MORTISE_START, slot->value, MORTISE_EDGE_BUDGET);
}

static const struct mortise_key goto_keys[] = {
    {.name = "goto",
     .about =
         "The node at which the graph continues when the budget is used up.",
     .value = MORTISE_V_ID,
     .required = true,
     .read = read_budget_goto},
};

MORTISE_PLACE(goto, "on_exceeded");

static const struct mortise_key on_exceeded_forms[2] = {
    {.value = MORTISE_V_WORD, .words = on_exceededs},
    {.value = MORTISE_V_MAP, .place = &goto_place},
};

static void read_on_exceeded(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct mortise_budget *b = into;
    const struct mortise_word *word =
        mortise_node_word_or_map(ctx, b, slot, "{goto: ID}");

    if (word != NULL)
        b->on_exceeded = (enum mortise_on_exceeded)word->value;
}

#define COUNTED(word, words)                                                   \
    {                                                                          \
        .name = (word), .about = (words), .value = MORTISE_V_INT, .min = 1,    \
        .max = MORTISE_USAGE_MAX, .read = read_limit_amount                    \
    }

static const struct mortise_key budget_keys[] = {
    [MORTISE_SPEND_TOOL_CALLS] =
        {.name = "tool_calls",
         .about = "The highest number of calls of operations, including "
                  "attempts and elements of maps.",
         .value = MORTISE_V_INT,
         .min = 1,
         .max = 1e15,
         .read = read_limit_amount},
    [MORTISE_SPEND_WALL] = {.name = "wall",
                            .about = "The total time with calls in flight; "
                                     "time without a call does not count.",
                            .value = MORTISE_V_DURATION,
                            .min = 1,
                            .read = read_limit_amount},
    [MORTISE_SPEND_MODEL_CALLS] =
        COUNTED("model_calls", "The highest number of calls of models."),
    [MORTISE_SPEND_INPUT_TOKENS] = COUNTED(
        "input_tokens", "The highest number of input tokens of models."),
    [MORTISE_SPEND_OUTPUT_TOKENS] = COUNTED(
        "output_tokens", "The highest number of output tokens of models."),
    [MORTISE_SPEND_TOKENS] = COUNTED(
        "tokens", "The highest number of input and output tokens of models."),
    [MORTISE_SPEND_USD] = {.name = "usd",
                           .about =
                               "The highest cost of operations in dollars.",
                           .value = MORTISE_V_NUMBER,
                           .min = 1.0 / MORTISE_NANO,
                           .max = (double)MORTISE_USAGE_MAX / MORTISE_NANO,
                           .read = read_limit_amount},
    [MORTISE_N_SPENDS] =
        {.name = "on_exceeded",
         .about = "The reaction to a call that would exceed the budget: pause "
                  "(the default), fail, or {goto: NODE}.",
         MORTISE_FORMS(on_exceeded_forms),
         .read = read_on_exceeded},
    {.name = "unpriced",
     .about =
         "Operations without a declared highest cost: refuse (the default) "
         "rejects them; allow runs them and counts the cost that they report.",
     .words = unpriceds,
     MORTISE_INTO_WORD_BOOL(struct mortise_budget, unpriced)},
};

const struct mortise_place mortise_budget_place = {
    MORTISE_PLACE_OF("a budget", budget_keys)};

static void read_limit_amount(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_budget *b = into;
    size_t i = (size_t)(slot->key - budget_keys);

    (void)ctx;
    b->said[i] = true;
    b->most[i] = slot->key->value == MORTISE_V_NUMBER
                     ? mortise_usd_to_nano(mortise_yaml_get_number(slot->value))
                     : slot->amount;
}

/* ---- usage without a bound ---------------------------------------------- */

/* The reason why a call of the node may use an unknown amount of this kind of
 * usage; "" if one of its choices may; NULL if every amount is bounded. */
static const char *missing_usage(const struct mortise_node *n, size_t what)
{
    bool is_output = what == MORTISE_USED_OUTPUT,
         is_usd = what == MORTISE_USED_USD;

    if (n->op == NULL)
        return NULL;
    if (n->unpriced && is_usd)
        return "asks a model that has no price in the deployment";
    if (n->has_no_token_limit && (is_output || is_usd))
        return "asks models, but has no max_tokens";
    for (size_t i = 0; i < n->n_choices; i++)
        if (missing_usage(&n->choices[i], what) != NULL)
            return "";
    return n->op->usage.present && !n->op->usage.said[what] ? "" : NULL;
}

/* The first node with unbounded usage, per kind.  The budget of this graph and
 * those of the graphs around it use the result. */
static void find_unbounded_nodes(struct mortise_graph *g)
{
    for (size_t k = 0; k < MORTISE_USED_N; k++) {
        g->unbounded[k] = MORTISE_NOWHERE;
        for (uint32_t i = g->n_nodes; i-- > 0;) {
            const struct mortise_node *n = &g->nodes[i];

            if (missing_usage(n, k) != NULL ||
                (n->sub != NULL && n->sub->unbounded[k] != MORTISE_NOWHERE))
                g->unbounded[k] = i;
        }
    }
}

/* Print the path to the unbounded node ("sub/inner") and return that node. */
static const struct mortise_node *
print_unbounded_path(struct mortise_buf *path, const struct mortise_graph *g,
                     size_t k)
{
    const struct mortise_node *n = &g->nodes[g->unbounded[k]];

    mortise_buf_puts(path, n->id);
    while (n->sub != NULL) {
        n = &n->sub->nodes[n->sub->unbounded[k]];
        mortise_buf_puts(path, "/");
        mortise_buf_puts(path, n->id);
    }
    return n;
}

/* How to bound the usage.  Prefer to declare the missing value: `unpriced:
 * allow` gives up the reservation, so it comes last. */
static const char *get_usage_remedy(const struct mortise_node *n, size_t what)
{
    if (what == MORTISE_USED_USD && n->unpriced && n->has_no_token_limit)
        return "set max_tokens: N on the node, and price: on the model alias "
               "in the deployment; or set unpriced: allow to count the cost "
               "that these calls report";
    if (what == MORTISE_USED_USD && n->unpriced)
        return "set price: on the model alias in the deployment; or set "
               "unpriced: allow to count the cost that these calls report";
    if (what == MORTISE_USED_USD && n->has_no_token_limit)
        return "set max_tokens: N on the node; or set unpriced: allow to count "
               "the cost that these calls report";
    if (what == MORTISE_USED_USD)
        return "set unpriced: allow to count the cost that these calls report";
    return what == MORTISE_USED_OUTPUT && n->has_no_token_limit
               ? "set max_tokens: N on the node"
               : NULL;
}

static void report_unbounded_node(struct mortise_loader *ld,
                                  enum mortise_spend what, size_t k)
{
    const struct mortise_yaml *budget = mortise_yaml_get(ld->g->tree, "budget");
    const struct mortise_span at =
        mortise_yaml_key(budget, budget_keys[what].name)->span;
    const struct mortise_node *n;
    const char *words;
    struct mortise_diag *d;
    struct mortise_buf path;

    mortise_buf_init(&path, ld->mem);
    n = print_unbounded_path(&path, ld->g, k);
    words = missing_usage(n, k);
    if (words[0] != '\0')
        d = mortise_diag_add(ld->diags, "E0319", at, "node '%s' %s",
                             path.failed ? "" : mortise_buf_cstr(&path), words);
    else
        d = mortise_diag_add(
            ld->diags, "E0319", at,
            "node '%s' calls %s/%s, but the manifest of the "
            "plugin has no limit for it: usage.%s is missing",
            path.failed ? "" : mortise_buf_cstr(&path), n->plugin, n->operation,
            mortise_usage_amount_name((enum mortise_usage_amount)k));
    if (get_usage_remedy(n, k) != NULL)
        mortise_diag_help(ld->diags, d, "%s", get_usage_remedy(n, k));
    mortise_buf_finish(&path);
}

/* Does this limit of a budget count this kind of usage? */
static bool spend_counts_usage(enum mortise_spend what, size_t k)
{
    uint64_t one[MORTISE_USED_N] = {0}, is[MORTISE_N_SPENDS];

    one[k] = 1;
    mortise_spend_from_usage(is, one);
    return is[what] != 0;
}

void mortise_check_budget(struct mortise_loader *ld)
{
    const struct mortise_budget *b = &ld->g->budget;

    find_unbounded_nodes(ld->g);
    for (int i = MORTISE_SPEND_FIRST_USED; i < MORTISE_N_SPENDS; i++) {
        for (size_t k = 0; b->said[i] && k < MORTISE_USED_N; k++) {
            if (ld->g->unbounded[k] != MORTISE_NOWHERE &&
                spend_counts_usage((enum mortise_spend)i, k) &&
                !(i == MORTISE_SPEND_USD && b->unpriced))
                report_unbounded_node(ld, (enum mortise_spend)i, k);
        }
    }
}

/* ---- entry ----------------------------------------------------------- */

void mortise_load_budget(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    const struct mortise_budget *b = &ld->g->budget;

    (void)into;
    mortise_keys_read_slot(slot, ld, &ld->g->budget, ld->diags);
    if (mortise_yaml_get(slot->value, "unpriced") != NULL &&
        !b->said[MORTISE_SPEND_USD] &&
        !mortise_keys_has_key(&mortise_budget_place, slot->value, "usd"))
        mortise_diag_add(ld->diags, "E0212",
                         mortise_yaml_key(slot->value, "unpriced")->span,
                         "'unpriced' needs a limit of 'usd'");
    for (int i = 0; i < MORTISE_N_SPENDS; i++) {
        if (mortise_keys_has_key(&mortise_budget_place, slot->value,
                                 budget_keys[i].name))
            return;
    }
    mortise_diag_add(ld->diags, "E0206", slot->name->span,
                     "a budget needs a limit: 'tool_calls', 'wall', "
                     "'model_calls', 'input_tokens', 'output_tokens', 'tokens' "
                     "or 'usd'");
}
