/* allow.h -- what a deployment that was found needs somebody to have said, and
 * what was said.  [any] */
#ifndef MORTISE_LANG_CONFIG_ALLOW_H
#define MORTISE_LANG_CONFIG_ALLOW_H

#include <limits.h>

#include "core/base/owner.h"
#include "lang/config/deploy.h"
#include "core/json/value.h"

/* A key of a Deployment that decides what code runs, who gets a secret, or what is
 * read, written or reached outside of its directory. */
struct mortise_need {
    const char *key; /* "plugins.dev" */
    const struct mortise_yaml *value;
};

enum { MORTISE_NEEDS_MAX = 18 };

/* Those that it has; how many. */
size_t mortise_allow_needs(const struct mortise_deployment *d,
                           struct mortise_need needs[MORTISE_NEEDS_MAX]);

/* What this user said of a deployment, once and for all. */
struct mortise_allowance {
    const struct mortise_mem *mem;
    char file[PATH_MAX];             /* of the deployment, without links */
    char digest[MORTISE_DIGEST_HEX]; /* of its needs as they are now */
    json_t *record; /* {file, digest, places: [{path, uid, mode}]}, or NULL */
    struct mortise_err why; /* MORTISE_OK, or why nothing that was said counts:
                               where it is kept is not to be relied on */
};

/* MORTISE_OK also when nothing was said.  Finish it in any case. */
int mortise_allow_read(struct mortise_allowance *a,
                       const struct mortise_deployment *d,
                       struct mortise_err *err);
void mortise_allow_finish(struct mortise_allowance *a);
/* Does what was said hold for the needs as they are now? */
bool mortise_allow_holds(const struct mortise_allowance *a);
/* Was it said of this owner, or mode, of a file? */
bool mortise_allow_has(const struct mortise_allowance *a,
                       const struct mortise_fault *f);
/* Say it: for the needs as they are now, and `places`, an array (lent). */
int mortise_allow_write(const struct mortise_allowance *a, json_t *places,
                        struct mortise_err *err);
/* An element of `places`, or NULL. */
json_t *mortise_allow_place(const struct mortise_fault *f);
/* Say it no more; MORTISE_ENOTFOUND: nobody had. */
int mortise_allow_remove(const struct mortise_allowance *a,
                         struct mortise_err *err);
/* All that was said: an array of records.  MORTISE_EDENIED: where it is kept is
 * not to be relied on. */
int mortise_allow_list(json_t **out, const struct mortise_mem *mem,
                       struct mortise_err *err);

#endif
