/* secret_store.h -- the values of a deployment's secrets, when somebody needs
 * them. */
#ifndef MORTISE_ENGINE_COMMON_SECRET_STORE_H
#define MORTISE_ENGINE_COMMON_SECRET_STORE_H

#include <jansson.h>

#include "core/base/mask.h"
#include "lang/config/provider.h"

struct mortise;
struct mortise_secret_store;

enum {
    MORTISE_SECRET_MAX = 64 << 10, /* bytes of a value */
    MORTISE_SECRET_MS = 10000,     /* a program has that long */
    MORTISE_SECRET_KEPT_MS = 60000 /* its answer is good for so long */
};

/* The providers are lent.  The environment is read here and never again.
 * [loop] */
int mortise_secret_store_open(struct mortise_secret_store **out,
                              struct mortise *m,
                              const struct mortise_providers *providers,
                              struct mortise_err *err);
/* NULL is fine. */
void mortise_secret_store_close(struct mortise_secret_store *v);

/* Can it be had without waiting for a program?  [any] */
bool mortise_secret_store_is_ready(struct mortise_secret_store *v,
                                   const char *name);

/* The value, text without NUL, to be given back; may wait for a program.
 * MORTISE_ENOTFOUND: no such secret; MORTISE_ECONFIG: its provider does not
 * give one, and why.  [any] */
int mortise_secret_store_get(struct mortise_secret_store *v, const char *name,
                             char **value, struct mortise_err *err);
void mortise_secret_store_give_back(struct mortise_secret_store *v,
                                    char *value);

/* A value that a plugin was given elsewhere and keeps: it is covered, as its
 * plugin's, from now on.  Of a plugin's, the last few.  [any] */
int mortise_secret_store_note(struct mortise_secret_store *v,
                              const char *plugin, const char *value,
                              struct mortise_err *err);

/* What covers every value that was ever given out, a reference of the caller's;
 * NULL: none was.  [any] */
struct mortise_mask *mortise_secret_store_mask(struct mortise_secret_store *v);
/* The same without what that plugin keeps itself: for what is given to it alone,
 * and kept nowhere.  *out NULL: there is nothing to cover.  [any] */
int mortise_secret_store_mask_for(struct mortise_secret_store *v,
                                  const char *plugin, struct mortise_mask **out,
                                  struct mortise_err *err);
/* Cover them in a text that has `room` bytes with its NUL; what does not fit is
 * cut.  [any] */
void mortise_secret_store_cover(struct mortise_secret_store *v, char *text,
                                size_t room);
/* The same in a copy, to be given to mortise_release_str(); NULL: no memory. */
char *mortise_secret_store_covered(struct mortise_secret_store *v,
                                   const char *text);
/* Is one of them in the value's strings, names of members or numbers? */
bool mortise_secret_store_tells(struct mortise_secret_store *v,
                                const json_t *value);
/* The value without them; takes `value`; NULL when memory ran out. */
json_t *mortise_secret_store_masked(struct mortise_secret_store *v,
                                    json_t *value);

#endif
