/* lookups.h -- the functions of a row of lookups.def.
 *
 * Threads   [loop] */
#ifndef MORTISE_RUN_LOOKUPS_H
#define MORTISE_RUN_LOOKUPS_H

#include "core/run/flow/flow.h"

struct lookup {
    const char *event; /* emitted when the answer is recorded */
    enum mortise_run_call_kind call;
    /* Do nodes like n need this lookup? */
    bool (*is_due)(const struct mortise_node *n);
    /* The request, computed from x's view alone: *body, a new reference.  On
     * MORTISE_EINVAL, *code is "expression" or "type". */
    int (*ask)(struct mortise_run *r, struct exec *x, json_t **body,
               const char **code, struct mortise_err *why,
               struct mortise_err *err);
    /* The value to record for this answer (an object): *value, a new reference.
     * MORTISE_EINVAL: the answer is invalid. */
    int (*take)(struct mortise_run *r, struct exec *x, const json_t *answer,
                json_t **value, struct mortise_err *why,
                struct mortise_err *err);
    /* The value to record if the lookup failed with `error`: a new reference;
     * NULL: fail x.  May be NULL. */
    json_t *(*instead)(const struct exec *x, json_t *error);
    /* Why the value is not good enough (a static code), or NULL.  May be
     * NULL. */
    const char *(*lacks)(const struct exec *x, const json_t *value,
                         struct mortise_err *why);
};

#define LOOKUP(ID, name, family)                                               \
    extern const struct lookup mortise_lookup_##name;
#include "core/run/record/lookups.def"

/* Evaluate a template of x's node that gives a string: *out, a new
 * reference; NULL if tmpl is NULL.  `what` is its name for messages; the
 * rest as in `ask`. */
int mortise_lookup_eval_text(struct mortise_run *r, struct exec *x,
                             const struct mortise_tmpl *tmpl, const char *what,
                             json_t **out, const char **code,
                             struct mortise_err *why, struct mortise_err *err);

#endif
