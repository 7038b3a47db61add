/* vault.h -- the values of a deployment's secrets, when somebody needs them. */
#ifndef MORTISE_ENGINE_VAULT_H
#define MORTISE_ENGINE_VAULT_H

#include "graph/provider.h"

struct mortise;
struct mortise_vault;

enum {
    MORTISE_SECRET_MAX = 64 << 10, /* bytes of a value */
    MORTISE_SECRET_MS = 10000,     /* a program has that long */
    MORTISE_SECRET_KEPT_MS = 60000 /* its answer is good for so long */
};

/* The providers are lent.  The environment is read here and never again.
 * [loop] */
int mortise_vault_open(struct mortise_vault **out, struct mortise *m,
                       const struct mortise_providers *providers,
                       struct mortise_err *err);
void mortise_vault_close(struct mortise_vault *v); /* NULL is fine */

/* Can it be had without waiting for a program?  [any] */
bool mortise_vault_is_ready(struct mortise_vault *v, const char *name);

/* The value, text without NUL, to be given back; may wait for a program.
 * MORTISE_ENOTFOUND: no such secret; MORTISE_ECONFIG: its provider does not
 * give one, and why.  [any] */
int mortise_vault_get(struct mortise_vault *v, const char *name, char **value,
                      struct mortise_err *err);
void mortise_vault_give_back(struct mortise_vault *v, char *value);

/* Put stars over every value that was given out, before others see a text.
 * [any] */
void mortise_vault_cover(struct mortise_vault *v, char *text);

#endif
