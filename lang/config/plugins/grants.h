/* grants.h -- which secrets and programs a plugin may use. [any] */
#ifndef MORTISE_LANG_CONFIG_PLUGINS_GRANTS_H
#define MORTISE_LANG_CONFIG_PLUGINS_GRANTS_H

#include "lang/config/deploy.h"
#include "lang/yaml/diag.h"

struct mortise_manifest;

/* May this plugin use this secret?  MORTISE_OK, or the reason against it.  `as`
 * is the guardrail id that the plugin works under, or "". */
int mortise_secret_check_grant(const struct mortise_deployment *d,
                               const struct mortise_manifest *m, const char *as,
                               const char *name, struct mortise_err *why);

/* Does permissions.exec of this plugin include `name`, or `all` of its kind?
 * MORTISE_OK, or the reason against it. */
int mortise_program_check_grant(const struct mortise_deployment *d,
                                const struct mortise_manifest *m,
                                const char *as, const char *name,
                                const char *all, struct mortise_err *why);

/* Check the secret references in a plugin's config (`json` is its raw form).
 * Adds findings for references at places that config_schema does not mark as
 * secret, and for unknown secrets.  *mentions counts the references. */
int mortise_secret_check_config(const struct mortise_deployment *d,
                                const struct mortise_manifest *m,
                                const struct mortise_yaml *config, json_t *json,
                                struct mortise_diags *diags, size_t *mentions);

#endif
