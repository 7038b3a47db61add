/* provider.h -- `secrets` of a deployment: the sources of secrets. */
#ifndef MORTISE_LANG_CONFIG_PROVIDER_H
#define MORTISE_LANG_CONFIG_PROVIDER_H

#include "core/engine/deployment.h"
#include "lang/config/reading.h"
#include "lang/yaml/keys.h"

/* The keys of an entry. */
extern const struct mortise_place mortise_provider_place;

void mortise_providers_read(struct mortise_providers *out,
                            const struct mortise_yaml *map,
                            struct mortise_config_reader *r);
/* NULL: there is no secret with this name. */
const struct mortise_provider *
mortise_provider_find(const struct mortise_providers *providers,
                      const char *name);

#endif
