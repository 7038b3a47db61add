/* provider.h -- `secrets` of a deployment: the sources of secrets. */
#ifndef MORTISE_LANG_CONFIG_PROVIDER_H
#define MORTISE_LANG_CONFIG_PROVIDER_H

#include "lang/config/reading.h"
#include "lang/yaml/keys.h"

enum mortise_provider_kind {
    MORTISE_PROVIDER_ENV = 1,
    MORTISE_PROVIDER_FILE,
    MORTISE_PROVIDER_EXEC,
    MORTISE_PROVIDER_CREDS
};

struct mortise_provider {
    const char *name; /* of the secret */
    enum mortise_provider_kind kind;
    const char *text;        /* the variable, path, program, credential */
    const char *const *argv; /* EXEC: ends with NULL */
    unsigned n_kinds;        /* number of sources that are set; must be one */
};

struct mortise_providers { /* in an arena */
    const struct mortise_provider *list;
    size_t n;
};

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
