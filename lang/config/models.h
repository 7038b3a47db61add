/* models.h -- `models` of a deployment: aliases of models. */
#ifndef MORTISE_LANG_CONFIG_MODELS_H
#define MORTISE_LANG_CONFIG_MODELS_H

#include "lang/config/reading.h"
#include "core/json/usage.h"
#include "lang/yaml/keys.h"

/* In dollars for a million tokens; NAN: not set. */
struct mortise_price {
    double input, output;
    double cached, cache_write; /* NAN: the price of other input */
};

/* The capability that a task needs, by a node's `complexity` (docs/graph.md,
 * section 4). */
enum mortise_tier {
    MORTISE_TIER_LOW,
    MORTISE_TIER_STANDARD,
    MORTISE_TIER_HIGH,
    MORTISE_N_TIERS
};
/* NAN: not set, which is standard. */
enum mortise_tier mortise_tier_choose(double complexity);
/* Choose from aliases by tier, of which some are NULL: this tier's, else the
 * next higher, else the next lower one; NULL if there are none. */
const char *mortise_tier_pick(const char *const tiers[MORTISE_N_TIERS],
                              enum mortise_tier tier);

struct mortise_model_alias {
    const char *alias, *provider; /* the plugin's name; "": it has tiers */
    const char *tiers[MORTISE_N_TIERS]; /* other aliases, instead of a
                                         * provider */
    const char *instance;               /* of the plugin, with this config */
    const struct mortise_yaml *at;      /* the provider, as written */
    const struct mortise_yaml *config;  /* a map: the provider's own keys */
    const char *model;                  /* the server's name for the model */
    struct mortise_price price;
    uint64_t timeout_ms, idle_timeout_ms; /* 0: not set */
};

struct mortise_models { /* in an arena */
    const struct mortise_model_alias *list;
    size_t n;
    const char *path; /* of the file; NULL: there is none */
};

/* The keys of an entry. */
extern const struct mortise_place mortise_model_place;

void mortise_models_read(struct mortise_models *out,
                         const struct mortise_yaml *map,
                         struct mortise_config_reader *r);
/* Find an alias; NULL: there is none. */
const struct mortise_model_alias *
mortise_model_find(const struct mortise_models *models, const char *alias);
/* The same for a task of this complexity (NAN: not set): if the alias has
 * tiers, returns the alias of the tier. */
const struct mortise_model_alias *
mortise_model_choose(const struct mortise_models *models, const char *alias,
                     double complexity);
/* MORTISE_OK, or MORTISE_ENOTFOUND with a suggestion or with the key to
 * write. */
int mortise_model_check(const struct mortise_models *models, const char *alias,
                        struct mortise_err *why);
/* The aliases that can answer for `m`: itself, or its tiers; returns their
 * number. */
size_t mortise_models_list_targets(
    const struct mortise_models *models, const struct mortise_model_alias *m,
    const struct mortise_model_alias *out[MORTISE_N_TIERS]);
const struct mortise_model_alias *
mortise_model_find_instance(const struct mortise_models *models,
                            const char *instance);

/* The cost of the usage in nano-dollars, rounded; false: there is no price. */
bool mortise_model_compute_cost(const struct mortise_model_alias *m,
                                const struct mortise_usage *used,
                                uint64_t *nano);

#endif
