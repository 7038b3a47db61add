/* secret_store.h -- fetch the values of a deployment's secrets on demand, and
 * mask them. */
#ifndef MORTISE_ENGINE_COMMON_SECRET_STORE_H
#define MORTISE_ENGINE_COMMON_SECRET_STORE_H

#include <jansson.h>

#include "core/base/mask.h"
#include "core/engine/deployment.h"

struct mortise;
struct mortise_secret_store;

enum {
    MORTISE_SECRET_MAX = 64 << 10, /* maximum bytes of a value */
    MORTISE_SECRET_MS = 10000,     /* timeout of a program */
    MORTISE_SECRET_KEPT_MS = 60000 /* how long its output is cached */
};

/* The providers are lent.  The environment is read here and never again.
 * [loop] */
int mortise_secret_store_open(struct mortise_secret_store **out,
                              struct mortise *m,
                              const struct mortise_providers *providers,
                              struct mortise_err *err);
/* NULL is fine. */
void mortise_secret_store_close(struct mortise_secret_store *v);

/* Is the secret available without waiting for a program?  [any] */
bool mortise_secret_store_is_ready(struct mortise_secret_store *v,
                                   const char *name);

/* Get the value, text without NUL; give it back later.  May wait for a program.
 * MORTISE_ENOTFOUND: no such secret.  MORTISE_ECONFIG: its provider failed.
 * [any] */
int mortise_secret_store_get(struct mortise_secret_store *v, const char *name,
                             char **value, struct mortise_err *err);
void mortise_secret_store_release(struct mortise_secret_store *v, char *value);

/* Mask a value that a plugin received elsewhere and keeps, from now on.  Only
 * the last few values of each plugin are remembered.  [any] */
int mortise_secret_store_add_value(struct mortise_secret_store *v,
                                   const char *plugin, const char *value,
                                   struct mortise_err *err);

/* A reference to the mask over every value ever given out; NULL: there was
 * none.  [any] */
struct mortise_mask *
mortise_secret_store_get_mask(struct mortise_secret_store *v);
/* The same without the values that this plugin keeps: for text that only the
 * plugin gets and that is not stored.  *out NULL: there is nothing to mask.
 * [any] */
int mortise_secret_store_get_mask_for(struct mortise_secret_store *v,
                                      const char *plugin,
                                      struct mortise_mask **out,
                                      struct mortise_err *err);
/* Mask secrets in a text whose buffer has `room` bytes with the NUL; excess is
 * cut.  [any] */
void mortise_secret_store_mask_text(struct mortise_secret_store *v, char *text,
                                    size_t room);
/* Mask in a copy; free it with mortise_release_str().  NULL: out of memory. */
char *mortise_secret_store_mask_copy(struct mortise_secret_store *v,
                                     const char *text);
/* Does the value contain a secret in a string, a member name or a number? */
bool mortise_secret_store_has_secret_in(struct mortise_secret_store *v,
                                        const json_t *value);
/* Masks the value; takes the reference; NULL: out of memory. */
json_t *mortise_secret_store_mask_json(struct mortise_secret_store *v,
                                       json_t *value);

#endif
