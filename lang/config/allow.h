/* allow.h -- the keys of a found deployment that need the user's permission,
 * and the stored permissions. [any] */
#ifndef MORTISE_LANG_CONFIG_ALLOW_H
#define MORTISE_LANG_CONFIG_ALLOW_H

#include <limits.h>

#include "core/base/owner.h"
#include "lang/config/deploy.h"
#include "core/json/value.h"

/* A key of a Deployment that decides which code runs, which plugin gets a
 * secret, or which files and addresses outside its directory are used. */
struct mortise_need {
    const char *key; /* "plugins.dev" */
    const struct mortise_yaml *value;
};

enum { MORTISE_NEEDS_MAX = 18 };

/* The keys of this deployment that need permission; returns their number. */
size_t mortise_allow_find_needs(const struct mortise_deployment *d,
                                struct mortise_need needs[MORTISE_NEEDS_MAX]);

/* The permission that this user stored for a deployment. */
struct mortise_allowance {
    const struct mortise_mem *mem;
    char file[PATH_MAX];             /* path of the deployment, with links
                                      * resolved */
    char digest[MORTISE_DIGEST_HEX]; /* of the current values of its needs */
    json_t *record; /* {file, digest, places: [{path, uid, mode}]}, or NULL */
    /* MORTISE_OK; otherwise the reason why no permission counts: the place of
     * the record cannot be trusted */
    struct mortise_err why;
};

/* MORTISE_OK also without a record.  Call mortise_allow_finish() in any
 * case. */
int mortise_allow_read(struct mortise_allowance *a,
                       const struct mortise_deployment *d,
                       struct mortise_err *err);
void mortise_allow_finish(struct mortise_allowance *a);
/* Does the permission cover the current values? */
bool mortise_allow_is_valid(const struct mortise_allowance *a);
/* Does the permission cover this owner, or this mode, of a file? */
bool mortise_allow_has_fault(const struct mortise_allowance *a,
                             const struct mortise_owner_fault *f);
/* Store a permission for the current values, and for `places`, an array
 * (borrowed). */
int mortise_allow_write(const struct mortise_allowance *a, json_t *places,
                        struct mortise_err *err);
/* An element of `places`, or NULL. */
json_t *mortise_allow_make_place(const struct mortise_owner_fault *f);
/* Remove the permission; MORTISE_ENOTFOUND: there is none. */
int mortise_allow_remove(const struct mortise_allowance *a,
                         struct mortise_err *err);
/* All permissions, as an array of records.  MORTISE_EDENIED: their place cannot
 * be trusted. */
int mortise_allow_list(json_t **out, const struct mortise_mem *mem,
                       struct mortise_err *err);

#endif
