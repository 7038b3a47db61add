/* models.h -- `models` of a deployment: aliases, each a way to one model. */
#ifndef MORTISE_LANG_CONFIG_MODELS_H
#define MORTISE_LANG_CONFIG_MODELS_H

#include "lang/config/reading.h"
#include "core/json/usage.h"
#include "lang/yaml/keys.h"

/* Of dollars for a million tokens; NAN: not said. */
struct mortise_price {
    double input, output;
    double cached, cache_write; /* NAN: as other input */
};

/* How much is wanted of a model, by a node's `complexity` (graph.md 4). */
enum mortise_tier {
    MORTISE_TIER_LOW,
    MORTISE_TIER_STANDARD,
    MORTISE_TIER_HIGH,
    MORTISE_N_TIERS
};
/* NAN: it says none, which is standard. */
enum mortise_tier mortise_tier_of(double complexity);
/* Of aliases by tier, some of them NULL: that tier's, or the next above, or
 * below; NULL where there are none. */
const char *mortise_tier_pick(const char *const tiers[MORTISE_N_TIERS],
                              enum mortise_tier tier);

struct mortise_model_alias {
    const char *alias, *provider; /* the plugin's name; "": it has tiers */
    const char *tiers[MORTISE_N_TIERS]; /* other aliases, in its place */
    const char *instance;               /* of the plugin, with this config */
    const struct mortise_yaml *at;      /* the provider, as written */
    const struct mortise_yaml *config;  /* a map: what is the provider's own */
    const char *model;                  /* what the server calls it */
    struct mortise_price price;
    uint64_t timeout_ms, idle_timeout_ms; /* 0: not said */
};

struct mortise_models { /* in an arena */
    const struct mortise_model_alias *list;
    size_t n;
    const char *path; /* of the file whose they are; NULL: there is none */
};

/* What may stand in one. */
extern const struct mortise_place mortise_model_place;

void mortise_models_read(struct mortise_models *out,
                         const struct mortise_yaml *map,
                         struct mortise_config_reading *r);
/* By its alias; NULL when there is none. */
const struct mortise_model_alias *
mortise_model_find(const struct mortise_models *models, const char *alias);
/* The same, for work of that complexity (NAN: not said): where the alias has
 * tiers, the one that stands in its place. */
const struct mortise_model_alias *
mortise_model_for(const struct mortise_models *models, const char *alias,
                  double complexity);
/* MORTISE_OK, or MORTISE_ENOTFOUND with which one may be meant, or with what is to
 * be written where. */
int mortise_model_need(const struct mortise_models *models, const char *alias,
                       struct mortise_err *why);
/* What answers where it is asked: itself, or its tiers; how many. */
size_t
mortise_models_behind(const struct mortise_models *models,
                      const struct mortise_model_alias *m,
                      const struct mortise_model_alias *out[MORTISE_N_TIERS]);
const struct mortise_model_alias *
mortise_model_of_instance(const struct mortise_models *models,
                          const char *instance);

/* What that cost, in nano-dollars, rounded to the next; false: no price was
 * said. */
bool mortise_model_cost(const struct mortise_model_alias *m,
                        const struct mortise_usage *used, uint64_t *nano);

#endif
