/* llm.c -- the key `llm`, of a node that asks models or of `defaults`: the
 * model.
 *
 *     llm: {provider_id: default, model: small, fallback: [other]}
 *     llm: {tiers: {low: small, high: large}}      with the node's complexity
 *     llm: {provider_id: "${input.size}", allowlist: [small, large]}
 *
 * A provider_id that is a template is evaluated together with the arguments of
 * its node.  The node fails if the result is not in the allowlist
 * (run/outcome/arguments.c).  So every alias that a run may use is known when
 * the graph is loaded.
 *
 * The operation receives the members {provider_id, model, fallback} that are
 * set.  With `tiers`, the provider_id is the tier for the node's complexity
 * (graph.md 4).  `reason` is for people; only `show` prints it.
 */
#include <math.h>

#include "lang/graph/load/node.h"

const struct mortise_word mortise_tool_error_words[] = {
    {.word = "feed"}, {.word = "fail"}, {.word = NULL}};

bool mortise_llm_check(struct mortise_loader *ld, const char *alias,
                       struct mortise_span at)
{
    const struct mortise_catalog *catalog = ld->catalog;
    struct mortise_err why = {0};
    bool priced = true;
    int rv = catalog->model != NULL
                 ? catalog->model(catalog->ud, alias, &priced, &why)
                 : MORTISE_OK;

    ld->nomem |= rv == MORTISE_ENOMEM;
    mortise_load_model(ld, alias);
    if (rv != MORTISE_OK && rv != MORTISE_ENOMEM)
        mortise_diag_add(ld->diags, "E0513", at, "%s", why.msg);
    return priced || rv != MORTISE_OK;
}

/* ---- keys ------------------------------------------------------------------ */

static void read_llm_member(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    struct mortise_llm *llm = into;

    mortise_built_map_add(ctx, &llm->told, slot->name, slot->value);
}

static void read_provider_id(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct mortise_llm *llm = into;

    llm->provider = slot->name;
    if (mortise_tmpl_has_expr(slot->value))
        llm->chosen = slot->value;
    else
        llm->unpriced |=
            !mortise_llm_check(ctx, slot->value->str, slot->value->span);
    read_llm_member(ctx, into, slot);
}

static void read_model_allowlist(void *ctx, void *into,
                                 const struct mortise_slot *slot)
{
    struct mortise_llm *llm = into;

    llm->allowlist = slot->value;
    for (size_t i = 0; i < slot->value->n; i++)
        llm->unpriced |= !mortise_llm_check(ctx, slot->value->items[i]->str,
                                            slot->value->items[i]->span);
}

static void read_fallback_aliases(void *ctx, void *into,
                                  const struct mortise_slot *slot)
{
    struct mortise_llm *llm = into;

    for (size_t i = 0; i < slot->value->n; i++)
        llm->unpriced |= !mortise_llm_check(ctx, slot->value->items[i]->str,
                                            slot->value->items[i]->span);
    read_llm_member(ctx, into, slot);
}

static void read_tier_alias(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    struct mortise_llm *llm = into;

    llm->unpriced |=
        !mortise_llm_check(ctx, slot->value->str, slot->value->span);
    *(const struct mortise_yaml **)slot->field = slot->value;
}

#define TIER(word, k, words)                                                   \
    {                                                                          \
        .name = (word), .about = (words), .value = MORTISE_V_STRING,           \
        .read = read_tier_alias,                                               \
        MORTISE_AT(const struct mortise_yaml *, struct mortise_llm, tiers[k])  \
    }

static const struct mortise_key tier_keys[] = {
    TIER("low", MORTISE_TIER_LOW, "The alias for a complexity below 0.3."),
    TIER("standard", MORTISE_TIER_STANDARD,
         "The alias for a complexity from 0.3, or without a complexity."),
    TIER("high", MORTISE_TIER_HIGH, "The alias for a complexity from 0.7."),
};
MORTISE_PLACE(tier, "tiers of llm");

static void read_llm_tiers(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_llm *llm = into;
    struct mortise_loader *ld = ctx;

    mortise_keys_read_slot(slot, ld, into, ld->diags);
    if (llm->provider != NULL)
        mortise_diag_add(ld->diags, "E0212", slot->name->span,
                         "'tiers' and 'provider_id' both select the model: "
                         "remove one of them");
}

static const struct mortise_key llm_keys[] = {
    {.name = "provider_id",
     .about = "An alias of the deployment's models (default: default), or a "
              "template with an allowlist.",
     .value = MORTISE_V_STRING,
     .read = read_provider_id},
    {.name = "allowlist",
     .about = "The aliases that a template in provider_id can choose.",
     .value = MORTISE_V_STRINGS,
     .min = 1,
     .read = read_model_allowlist},
    {.name = "tiers",
     .about = "Instead of provider_id: one alias for each level of the node's "
              "complexity.",
     .value = MORTISE_V_MAP,
     .min = 1,
     .place = &tier_place,
     .read = read_llm_tiers},
    {.name = "model",
     .about = "The server's name for the model (default: the alias's).",
     .value = MORTISE_V_STRING,
     .read = read_llm_member},
    {.name = "fallback",
     .about = "Aliases to try in order if the model fails.",
     .value = MORTISE_V_STRINGS,
     .read = read_fallback_aliases},
    {.name = "reason",
     .about = "The reason for this choice; 'mortise show' prints it.",
     MORTISE_INTO_TEXT(struct mortise_llm, reason)},
};
const struct mortise_place mortise_llm_place = {
    MORTISE_PLACE_OF("llm", llm_keys)};

void mortise_llm_read_keys(struct mortise_loader *ld, struct mortise_llm *llm,
                           const struct mortise_slot *slot)
{
    mortise_keys_read_slot(slot, ld, llm, ld->diags);
    if (llm->chosen != NULL &&
        mortise_yaml_get(slot->value, "allowlist") == NULL)
        mortise_diag_help(
            ld->diags,
            mortise_diag_add(
                ld->diags, "E0206", llm->chosen->span,
                "a template in 'provider_id' needs the key 'allowlist'"),
            "list the aliases that it can choose: allowlist: [small, large]");
    if (llm->chosen == NULL && llm->allowlist != NULL)
        mortise_diag_add(ld->diags, "E0212", llm->allowlist->span,
                         "'allowlist' needs a template in 'provider_id'");
}

const struct mortise_yaml *
mortise_llm_make_static_map(struct mortise_loader *ld,
                            const struct mortise_llm *llm,
                            const struct mortise_yaml *map)
{
    struct mortise_built_map told = {.n = 0};

    if (llm == NULL || llm->chosen == NULL || llm->allowlist == NULL ||
        map == NULL)
        return map;
    for (size_t i = 0; i < map->n; i++)
        mortise_built_map_add(ld, &told, map->keys[i],
                              map->items[i] == llm->chosen
                                  ? llm->allowlist->items[0]
                                  : map->items[i]);
    return mortise_built_map_to_yaml(ld, &told, map->span);
}

/* ---- the mapping for the operation --------------------------------------- */

static const struct mortise_yaml *find_tier_alias(const struct mortise_llm *llm,
                                                  double complexity)
{
    const char *aliases[MORTISE_N_TIERS] = {NULL}, *picked;

    for (int k = 0; k < MORTISE_N_TIERS; k++)
        if (llm->tiers[k] != NULL)
            aliases[k] = llm->tiers[k]->str;
    picked = mortise_tier_pick(aliases, mortise_tier_choose(complexity));
    for (int k = 0; k < MORTISE_N_TIERS; k++)
        if (picked != NULL && aliases[k] == picked)
            return llm->tiers[k];
    return NULL;
}

/* Several nodes share defaults.llm, so each gets a mapping of its own. */
const struct mortise_yaml *mortise_llm_make_map(struct mortise_loader *ld,
                                                const struct mortise_llm *llm,
                                                double complexity,
                                                const struct mortise_yaml *at)
{
    const struct mortise_yaml *tier = find_tier_alias(llm, complexity);
    struct mortise_built_map told = {.n = 0};

    for (size_t i = 0; i < llm->told.n; i++)
        mortise_built_map_add(ld, &told, llm->told.keys[i], llm->told.items[i]);
    if (tier != NULL)
        mortise_built_map_add(
            ld, &told, mortise_yaml_make_text(ld, "provider_id", at), tier);
    return mortise_built_map_to_yaml(ld, &told, at->span);
}

bool mortise_llm_has_model(const struct mortise_llm *llm)
{
    return llm->provider != NULL || find_tier_alias(llm, NAN) != NULL;
}
