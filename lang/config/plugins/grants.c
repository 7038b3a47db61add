/* grants.c -- which secrets and programs a plugin may use.
 *
 * The service `secrets` has the promises and answers the requests.
 */
#include "lang/config/plugins/grants.h"

#include <string.h>

#include "core/json/secret.h"
#include "core/plugin/grant.h"
#include "core/plugin/registry.h"

/* ---- permissions --------------------------------------------------------- */

static int check_secret_grant(struct mortise_arena *a,
                              const struct mortise_manifest *m,
                              const json_t *config, const char *name,
                              struct mortise_err *why)
{
    struct mortise_grant grant;
    int rv = mortise_grant_resolve(&grant, a, &m->secrets, config, why);

    if (rv != MORTISE_OK)
        return rv;
    for (size_t i = 0; i < grant.n; i++)
        if (strcmp(grant.list[i].value, name) == 0)
            return MORTISE_OK;
    return mortise_fail(
        why, MORTISE_EDENIED,
        "plugin '%s' has no permission for the secret '%s': its "
        "permissions.secrets does not include it (`mortise plugin inspect %s`)",
        m->name, name, m->name);
}

int mortise_secret_check_grant(const struct mortise_deployment *d,
                               const struct mortise_manifest *m, const char *as,
                               const char *name, struct mortise_err *why)
{
    struct mortise_arena arena;
    json_t *config;
    int rv;

    if (mortise_provider_find(&d->secrets, name) == NULL)
        return mortise_fail(why, MORTISE_ENOTFOUND,
                            "the deployment has no secret '%s'", name);
    config = mortise_deployment_get_config(d, m->name, as);
    if (config == NULL)
        return mortise_nomem(why);
    mortise_arena_init(&arena, d->arena.mem);
    rv = check_secret_grant(&arena, m, config, name, why);
    mortise_arena_finish(&arena);
    json_decref(config);
    return rv;
}

int mortise_program_check_grant(const struct mortise_deployment *d,
                                const struct mortise_manifest *m,
                                const char *as, const char *name,
                                const char *all, struct mortise_err *why)
{
    json_t *config = mortise_deployment_get_config(d, m->name, as);
    struct mortise_arena arena;
    struct mortise_grant may;
    bool granted = false;
    int rv;

    mortise_arena_init(&arena, d->arena.mem);
    rv = config != NULL
             ? mortise_grant_resolve(&may, &arena, &m->exec, config, why)
             : mortise_nomem(why);
    for (size_t i = 0; rv == MORTISE_OK && i < may.n; i++)
        granted |= strcmp(may.list[i].value, all) == 0 ||
                   strcmp(may.list[i].value, name) == 0;
    mortise_arena_finish(&arena);
    json_decref(config);
    if (rv != MORTISE_OK || granted)
        return rv;
    return mortise_fail(
        why, MORTISE_ENOTFOUND,
        "permissions.exec of plugin %s does not include '%.64s'", m->name,
        name);
}

/* ---- references in a config ---------------------------------------------- */

struct checking {
    const struct mortise_deployment *d;
    const struct mortise_manifest *m;
    const struct mortise_yaml *config;
    struct mortise_diags *diags;
    size_t n; /* references so far */
};

static int check_config_reference(void *ud, const char *pointer,
                                  json_t **string)
{
    struct checking *c = ud;
    const struct mortise_yaml *at = mortise_yaml_find_at(c->config, pointer);
    const char *name = mortise_secret_get_name(json_string_value(*string));

    c->n++;
    if (!mortise_secret_is_allowed_at(&c->m->config_secrets, pointer))
        mortise_diag_add(
            c->diags, "E0604", at->span,
            "plugin '%s' accepts no secret here: its config_schema does not "
            "mark this member with x-secret",
            c->m->name);
    else if (name == NULL)
        mortise_diag_add(c->diags, "E0604", at->span,
                         "a reference to a secret must be secret://NAME, alone "
                         "or after a space at the end");
    else if (mortise_provider_find(&c->d->secrets, name) == NULL)
        mortise_diag_add(c->diags, "E0605", at->span,
                         "the deployment has no secret '%s'", name);
    return MORTISE_OK;
}

int mortise_secret_check_config(const struct mortise_deployment *d,
                                const struct mortise_manifest *m,
                                const struct mortise_yaml *config, json_t *json,
                                struct mortise_diags *diags, size_t *mentions)
{
    struct checking c = {.d = d, .m = m, .config = config, .diags = diags};
    int rv =
        mortise_secret_for_each(json, d->arena.mem, check_config_reference, &c);

    *mentions = c.n;
    return rv;
}
