/* models.c -- `models` of a deployment: aliases of models.
 *
 *     models:
 *       default:
 *         provider: openai
 *         model: small
 *         base_url: http://localhost:8080/v1
 *         api_key: secret://openai
 *         price: {input_per_mtok: 0.15, output_per_mtok: 0.60}
 *
 * A graph, and a plugin that asks for a model, know only the alias.  The keys
 * below are the deployment's.  All other keys are the configuration of a
 * separate instance of the provider plugin, whose config_schema checks them.
 * So two aliases can use two servers through one plugin.
 *
 * Costs are computed only here: a provider reports tokens.
 */
#include "lang/config/models.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/nearest.h"
#include "lang/yaml/header.h"

#define MOST_MS (24.0 * 86400000) /* the longest timeout of a request */

static const char prefix[] = "model:"; /* of the names of instances */

static void read_model_provider(void *ctx, void *into,
                                const struct mortise_slot *slot)
{
    struct mortise_model_alias *m = into;

    (void)ctx;
    m->provider = slot->value->str;
    m->at = slot->value;
}

enum mortise_tier mortise_tier_choose(double complexity)
{
    if (isnan(complexity))
        return MORTISE_TIER_STANDARD;
    if (complexity < 0.3)
        return MORTISE_TIER_LOW;
    return complexity < 0.7 ? MORTISE_TIER_STANDARD : MORTISE_TIER_HIGH;
}

const char *mortise_tier_pick(const char *const tiers[MORTISE_N_TIERS],
                              enum mortise_tier tier)
{
    for (int k = (int)tier; k < MORTISE_N_TIERS; k++)
        if (tiers[k] != NULL)
            return tiers[k];
    for (int k = (int)tier - 1; k >= 0; k--)
        if (tiers[k] != NULL)
            return tiers[k];
    return NULL;
}

static void read_model_price(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    (void)ctx;
    (void)into;
    *(double *)slot->field = mortise_yaml_get_number(slot->value);
}

#define PRICE(word, field, words)                                              \
    {                                                                          \
        .name = (word), .about = (words), .value = MORTISE_V_NUMBER,           \
        .max = 1000000, .read = read_model_price,                              \
        MORTISE_AT(double, struct mortise_model_alias, price.field)            \
    }

static const struct mortise_key price_keys[] = {
    PRICE("input_per_mtok", input, "Dollars for a million input tokens."),
    PRICE("output_per_mtok", output, "Dollars for a million output tokens."),
    PRICE("cached_per_mtok", cached,
          "Dollars for a million input tokens that come from the cache."),
    PRICE("cache_write_per_mtok", cache_write,
          "Dollars for a million input tokens that are written to the cache."),
};
MORTISE_PLACE(price, "price");

#define TIER(word, k, words)                                                   \
    {                                                                          \
        .name = (word), .about = (words), .value = MORTISE_V_STRING,           \
        MORTISE_INTO_TEXT(struct mortise_model_alias, tiers[k])                \
    }

static const struct mortise_key tier_keys[] = {
    TIER("low", MORTISE_TIER_LOW, "The alias for a complexity below 0.3."),
    TIER("standard", MORTISE_TIER_STANDARD,
         "The alias for a complexity from 0.3, or without a complexity."),
    TIER("high", MORTISE_TIER_HIGH, "The alias for a complexity from 0.7."),
};
MORTISE_PLACE(tier, "tiers");

static const struct mortise_key keys[] = {
    {.name = "provider",
     .about = "The plugin that calls the model.",
     .value = MORTISE_V_STRING,
     .read = read_model_provider},
    {.name = "tiers",
     .about = "Instead of a provider: other aliases, by the complexity of the "
              "calling node.",
     .min = 1,
     MORTISE_INTO_SAME(tier_place)},
    {.name = "model",
     .about = "The server's name for the model.",
     .value = MORTISE_V_STRING,
     MORTISE_INTO_TEXT(struct mortise_model_alias, model)},
    {.name = "price",
     .about = "The price of the model. Without it, budgets count only tokens.",
     MORTISE_INTO_SAME(price_place)},
    {.name = "timeout",
     .about = "The longest time of a call (default: only the node's timeout).",
     .min = 1,
     .max = MOST_MS,
     MORTISE_INTO_MS(struct mortise_model_alias, timeout_ms)},
    {.name = "idle_timeout",
     .about = "The longest time without data from the server (default: the "
              "provider's).",
     .min = 1,
     .max = MOST_MS,
     MORTISE_INTO_MS(struct mortise_model_alias, idle_timeout_ms)},
};

const struct mortise_place mortise_model_place = {
    MORTISE_PLACE_OF("a model", keys), .open = true};

/* The keys of the provider, in order, as a map. */
static const struct mortise_yaml *
make_provider_config(struct mortise_config_reader *r,
                     const struct mortise_yaml *map)
{
    struct mortise_yaml **names =
        mortise_config_alloc(r, map->n * sizeof *names);
    struct mortise_yaml **items =
        mortise_config_alloc(r, map->n * sizeof *items);
    struct mortise_yaml *config = NULL;
    size_t n = 0;

    for (size_t i = 0; names != NULL && items != NULL && i < map->n; i++) {
        const char *name = map->keys[i]->str;

        if (mortise_place_find_key(&mortise_model_place, name) != NULL ||
            mortise_yaml_is_x_key(name))
            continue;
        names[n] = map->keys[i];
        items[n++] = map->items[i];
    }
    if (names != NULL && items != NULL)
        config =
            mortise_yaml_make_mapping(r->arena, map->span, names, items, n);
    r->nomem |= config == NULL;
    return config;
}

static const char *make_model_instance(struct mortise_config_reader *r,
                                       const char *alias)
{
    size_t size = sizeof prefix + strlen(alias);
    char *name = mortise_config_alloc(r, size);

    if (name != NULL)
        snprintf(name, size, "%s%s", prefix, alias);
    return name;
}

static bool has_model_tiers(const struct mortise_model_alias *m)
{
    return mortise_tier_pick(m->tiers, MORTISE_TIER_LOW) != NULL;
}

/* Report a missing key, and suggest a key of the provider that may be a
 * misspelling of it. */
static void report_missing_model_key(struct mortise_config_reader *r,
                                     const char *needed,
                                     const struct mortise_yaml *map)
{
    struct mortise_diag *d = mortise_diag_add(
        r->diags, "E0206", map->span, "a model needs the key '%s'", needed);

    for (size_t i = 0; i < map->n; i++)
        if (mortise_nearest_is_typo(map->keys[i]->str, needed))
            mortise_diag_help(r->diags, d,
                              "if '%s' is a misspelling, write '%s'",
                              map->keys[i]->str, needed);
}

/* An entry has either a model or tiers. */
static void check_alias_keys(struct mortise_config_reader *r,
                             const struct mortise_model_alias *m,
                             const struct mortise_yaml *map)
{
    static const char *const needed[] = {"provider", "model"};

    if (map->kind != MORTISE_YAML_MAP)
        return;
    if (mortise_yaml_get(map, "tiers") != NULL) {
        if (map->n > 1)
            mortise_diag_add(r->diags, "E0212", m->at->span,
                             "a model with 'tiers' cannot have other keys");
        return;
    }
    for (size_t i = 0; i < 2; i++)
        if (mortise_yaml_get(map, needed[i]) == NULL)
            report_missing_model_key(r, needed[i], map);
}

static void read_model_alias(struct mortise_config_reader *r,
                             struct mortise_model_alias *m,
                             const struct mortise_yaml *key,
                             const struct mortise_yaml *value)
{
    m->alias = key->str;
    m->provider = m->model = "";
    m->at = key;
    m->price = (struct mortise_price){NAN, NAN, NAN, NAN};
    mortise_header_check_name(key, "the alias of a model", r->diags);
    mortise_keys_read(&mortise_model_place, value, key->span, r, m, r->diags);
    check_alias_keys(r, m, value);
    m->instance = make_model_instance(r, m->alias);
    m->config =
        value->kind == MORTISE_YAML_MAP ? make_provider_config(r, value) : NULL;
}

/* Each tier must be an alias without tiers. */
static void check_model_tiers(const struct mortise_models *models,
                              const struct mortise_model_alias *m,
                              struct mortise_diags *diags)
{
    for (int k = 0; k < MORTISE_N_TIERS; k++) {
        const struct mortise_model_alias *to =
            m->tiers[k] != NULL ? mortise_model_find(models, m->tiers[k])
                                : NULL;

        if (m->tiers[k] != NULL && (to == NULL || has_model_tiers(to)))
            mortise_diag_add(
                diags, "E0513", m->at->span,
                "'%.64s', a tier of '%.64s', is not a model of the deployment",
                m->tiers[k], m->alias);
    }
}

void mortise_models_read(struct mortise_models *out,
                         const struct mortise_yaml *map,
                         struct mortise_config_reader *r)
{
    struct mortise_model_alias *list =
        mortise_config_alloc(r, map->n * sizeof *list);

    for (size_t i = 0; list != NULL && i < map->n; i++)
        if (!mortise_yaml_is_x_key(map->keys[i]->str))
            read_model_alias(r, &list[out->n++], map->keys[i], map->items[i]);
    out->list = list;
    for (size_t i = 0; list != NULL && i < out->n; i++)
        check_model_tiers(out, &list[i], r->diags);
}

const struct mortise_model_alias *
mortise_model_find(const struct mortise_models *models, const char *alias)
{
    for (size_t i = 0; i < models->n; i++)
        if (strcmp(models->list[i].alias, alias) == 0)
            return &models->list[i];
    return NULL;
}

const struct mortise_model_alias *
mortise_model_choose(const struct mortise_models *models, const char *alias,
                     double complexity)
{
    const struct mortise_model_alias *m = mortise_model_find(models, alias);

    return m != NULL && has_model_tiers(m)
               ? mortise_model_find(
                     models, mortise_tier_pick(m->tiers,
                                               mortise_tier_choose(complexity)))
               : m;
}

int mortise_model_check(const struct mortise_models *models, const char *alias,
                        struct mortise_err *why)
{
    const char *aliases[64], *near;
    size_t n = 0;

    if (mortise_model_find(models, alias) != NULL)
        return MORTISE_OK;
    for (; n < models->n && n < sizeof aliases / sizeof aliases[0]; n++)
        aliases[n] = models->list[n].alias;
    near = mortise_nearest_find(alias, aliases, n);
    if (near != NULL)
        return mortise_fail(
            why, MORTISE_ENOTFOUND,
            "the deployment has no model '%.64s'; did you mean '%s'?", alias,
            near);
    return mortise_fail(
        why, MORTISE_ENOTFOUND,
        "the deployment has no model '%.64s': write '%.64s: {provider: PLUGIN, "
        "model: NAME}' under 'models' of %.256s",
        alias, alias,
        models->path != NULL ? models->path
                             : "a Deployment file, such as mortise.yaml");
}

size_t mortise_models_list_targets(
    const struct mortise_models *models, const struct mortise_model_alias *m,
    const struct mortise_model_alias *out[MORTISE_N_TIERS])
{
    size_t n = 0;

    if (!has_model_tiers(m)) {
        out[0] = m;
        return 1;
    }
    for (int k = 0; k < MORTISE_N_TIERS; k++) {
        out[n] = m->tiers[k] != NULL ? mortise_model_find(models, m->tiers[k])
                                     : NULL;
        n += out[n] != NULL;
    }
    return n;
}

const struct mortise_model_alias *
mortise_model_find_instance(const struct mortise_models *models,
                            const char *instance)
{
    return strncmp(instance, prefix, sizeof prefix - 1) == 0
               ? mortise_model_find(models, instance + sizeof prefix - 1)
               : NULL;
}

static double get_price_or_default(double price, double otherwise)
{
    return isnan(price) ? otherwise : price;
}

bool mortise_model_compute_cost(const struct mortise_model_alias *m,
                                const struct mortise_usage *used,
                                uint64_t *nano)
{
    const struct mortise_price *p = &m->price;
    double input = (double)used->amount[MORTISE_USED_INPUT];
    /* Limit the parts to the total, whatever a server reports. */
    double cached = fmin((double)used->amount[MORTISE_USED_CACHED], input);
    double written =
        fmin((double)used->amount[MORTISE_USED_CACHE_WRITE], input - cached);
    double rest = input - cached - written;
    double in = get_price_or_default(p->input, 0), dollars;

    *nano = 0;
    if (isnan(p->input) && isnan(p->output))
        return false;
    dollars = rest * in + cached * get_price_or_default(p->cached, in) +
              written * get_price_or_default(p->cache_write, in) +
              (double)used->amount[MORTISE_USED_OUTPUT] *
                  get_price_or_default(p->output, 0);
    dollars /= 1e6;
    *nano = dollars < (double)MORTISE_USAGE_MAX / MORTISE_NANO
                ? mortise_usd_to_nano(dollars)
                : MORTISE_USAGE_MAX;
    return true;
}
