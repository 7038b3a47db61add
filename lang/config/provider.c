/* provider.c -- `secrets` of a deployment: the sources of secrets.
 *
 * This file fetches no secret: a deployment is checked, printed and loaded
 * without access to one (core/engine/common/secret_store.c fetches a secret
 * when it is needed). */
#include "lang/config/provider.h"

#include <string.h>

#include "core/json/secret.h"
#include "lang/yaml/keys.h"

/* What the keys of an entry are read into. */
struct entry {
    struct mortise_provider *provider;
    unsigned n_kinds; /* number of sources that are set; must be one */
};

static void set_provider(void *into, enum mortise_provider_kind kind,
                         const char *text)
{
    struct entry *e = into;

    e->n_kinds++;
    e->provider->kind = kind;
    e->provider->text = text;
}

static void read_env_provider(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_config_reader *r = ctx;

    if (strchr(slot->value->str, '=') != NULL)
        mortise_diag_add(r->diags, "E0606", slot->value->span,
                         "'%s' is not a valid name of a variable",
                         slot->value->str);
    set_provider(into, MORTISE_PROVIDER_ENV, slot->value->str);
}

static void read_file_provider(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    set_provider(into, MORTISE_PROVIDER_FILE,
                 mortise_config_path(ctx, slot->value));
}

/* The program is a path relative to the file, unless it has no slash: then PATH
 * is searched. */
static void read_exec_provider(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    struct mortise_config_reader *r = ctx;
    struct entry *e = into;
    const struct mortise_yaml *list = slot->value;
    const char **argv = mortise_config_alloc(r, (list->n + 1) * sizeof *argv);

    if (argv == NULL)
        return;
    for (size_t i = 0; i < list->n; i++)
        argv[i] = list->items[i]->str;
    if (strchr(argv[0], '/') != NULL)
        argv[0] = mortise_config_path(r, list->items[0]);
    e->provider->argv = argv;
    set_provider(e, MORTISE_PROVIDER_EXEC, argv[0]);
}

static void read_creds_provider(void *ctx, void *into,
                                const struct mortise_slot *slot)
{
    struct mortise_config_reader *r = ctx;

    if (strchr(slot->value->str, '/') != NULL || slot->value->str[0] == '.')
        mortise_diag_add(r->diags, "E0606", slot->value->span,
                         "'%s' is not a valid name of a credential",
                         slot->value->str);
    set_provider(into, MORTISE_PROVIDER_CREDS, slot->value->str);
}

static const struct mortise_key keys[] = {
    {.name = "env",
     .about = "The environment variable that contains the secret.",
     .value = MORTISE_V_STRING,
     .read = read_env_provider},
    {.name = "file",
     .about = "The file that contains the secret; it is read at each use.",
     .value = MORTISE_V_STRING,
     .read = read_file_provider},
    {.name = "exec",
     .about = "A program that prints the secret, and its arguments.",
     .value = MORTISE_V_STRINGS,
     .read = read_exec_provider},
    {.name = "systemd-creds",
     .about = "The name of a credential that systemd passes to the service.",
     .value = MORTISE_V_STRING,
     .read = read_creds_provider},
};

const struct mortise_place mortise_provider_place = {
    MORTISE_PLACE_OF("a secret", keys)};

static void read_secret_entry(struct mortise_config_reader *r,
                              struct mortise_provider *p,
                              const struct mortise_yaml *key,
                              const struct mortise_yaml *value)
{
    size_t errors = r->diags->n_errors;
    struct entry e = {.provider = p};

    p->name = key->str;
    if (!mortise_secret_is_name(key->str))
        mortise_diag_add(r->diags, "E0606", key->span,
                         "'%s' is not a valid name of a secret", key->str);
    mortise_keys_read(&mortise_provider_place, value, key->span, r, &e,
                      r->diags);
    if (e.n_kinds != 1 && r->diags->n_errors == errors)
        mortise_diag_add(r->diags, "E0606", key->span,
                         "a secret needs one of env, file, exec and "
                         "systemd-creds, but '%s' has %s",
                         key->str, e.n_kinds == 0 ? "none" : "several");
}

void mortise_providers_read(struct mortise_providers *out,
                            const struct mortise_yaml *map,
                            struct mortise_config_reader *r)
{
    struct mortise_provider *list =
        mortise_config_alloc(r, map->n * sizeof *list);

    for (size_t i = 0; list != NULL && i < map->n; i++)
        if (!mortise_yaml_is_x_key(map->keys[i]->str))
            read_secret_entry(r, &list[out->n++], map->keys[i], map->items[i]);
    out->list = list;
}

const struct mortise_provider *
mortise_provider_find(const struct mortise_providers *providers,
                      const char *name)
{
    for (size_t i = 0; i < providers->n; i++)
        if (strcmp(providers->list[i].name, name) == 0)
            return &providers->list[i];
    return NULL;
}
