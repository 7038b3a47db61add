/* grants.h -- which plugin may have which secret and which program, and the config
 * that it gets.
 *
 * Everything here is [loop] unless it says otherwise. */
#ifndef MORTISE_ENGINE_COMMON_GRANTS_H
#define MORTISE_ENGINE_COMMON_GRANTS_H

#include "lang/config/deploy.h"
#include "core/engine/common/engine.h"
#include "core/engine/common/secret_store.h"
#include "lang/yaml/diag.h"

struct mortise_manifest;

/* May this plugin use the secret of this name?  MORTISE_OK, or why not.  `as`
 * is the guardrail's id that it works under, or "".  [any] */
int mortise_secret_granted(const struct mortise_deployment *d,
                           const struct mortise_manifest *m, const char *as,
                           const char *name, struct mortise_err *why);

/* Does permissions.exec of this plugin include `name`, or `all` of its kind?
 * MORTISE_OK, or why not.  [any] */
int mortise_program_granted(const struct mortise_deployment *d,
                            const struct mortise_manifest *m, const char *as,
                            const char *name, const char *all,
                            struct mortise_err *why);

/* The references in a plugin's config (`json` is what is written there):
 * findings for those that stand where its config_schema does not mark a secret,
 * or that name none.  [any] */
int mortise_secret_check_config(const struct mortise_deployment *d,
                                const struct mortise_manifest *m,
                                const struct mortise_yaml *config, json_t *json,
                                struct mortise_diags *diags, size_t *mentions);
/* The config of a plugin with the values in the places of references (one that
 * the deployment composes keeps those), for create() alone; a new reference.  May wait for programs. */
int mortise_secret_config(struct mortise *m, const char *plugin, const char *as,
                          json_t **out, struct mortise_err *err);

#endif
