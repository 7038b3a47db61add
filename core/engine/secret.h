/* secret.h -- secrets for plugins: who may have which, and when it is there.
 *
 * Everything here is [loop] unless it says otherwise. */
#ifndef MORTISE_ENGINE_SECRET_H
#define MORTISE_ENGINE_SECRET_H

#include "engine/door.h"
#include "engine/vault.h"
#include "config/deploy.h"

/* May this plugin use the secret of this name?  MORTISE_OK, or why not.  `as`
 * is the guardrail's id that it works under, or "".  [any] */
int mortise_secret_granted(const struct mortise_deployment *d,
                           const struct mortise_manifest *m, const char *as,
                           const char *name, struct mortise_err *why);

/* The references in a plugin's config (`json` is what is written there):
 * findings for those that stand where its config_schema does not mark a secret,
 * or that name none.  [any] */
int mortise_secret_check_config(const struct mortise_deployment *d,
                                const struct mortise_manifest *m,
                                const struct mortise_yaml *config, json_t *json,
                                struct mortise_diags *diags, size_t *mentions);
/* The config of a plugin with the values in the places of references, for
 * create() alone; a new reference.  May wait for programs. */
int mortise_secret_config(struct mortise *m, const char *plugin, const char *as,
                          json_t **out, struct mortise_err *err);

/* See to it that mortise_vault_get() will not wait for a program for these
 * (n names that live as long as the ask), then call `then`: at once or later.
 * Not when the ask is cancelled before; not when it returns an error. */
int mortise_secret_await(struct mortise_asked *a, const char *const *names,
                         size_t n, void (*then)(struct mortise_asked *a),
                         struct mortise_err *err);
/* The ask is cancelled: true when that was all that was under way. */
bool mortise_secret_let_go(struct mortise_asked *a);

#endif
