/* lookups.h -- what a row of lookups.def is.
 *
 * Threads   [loop] */
#ifndef MORTISE_RUN_LOOKUPS_H
#define MORTISE_RUN_LOOKUPS_H

#include "core/run/flow/flow.h"

struct lookup {
    const char *event; /* that tells of what was found */
    enum mortise_run_call_kind call;
    /* Is it looked up for nodes like that? */
    bool (*is_due)(const struct mortise_node *n);
    /* What is asked, by x's view alone: *body, a new reference.  MORTISE_EINVAL
     * with `why` where that cannot be said; its code is "expression" or "type". */
    int (*ask)(struct mortise_run *r, struct exec *x, json_t **body,
               const char **code, struct mortise_err *why,
               struct mortise_err *err);
    /* What is kept of this answer, an object: *value, a new reference.
     * MORTISE_EINVAL with `why`: it is none. */
    int (*take)(struct mortise_run *r, struct exec *x, const json_t *answer,
                json_t **value, struct mortise_err *why,
                struct mortise_err *err);
    /* What is kept where nobody answered, with that error: a new reference; NULL:
     * x has failed.  The row may have none. */
    json_t *(*instead)(const struct exec *x, json_t *error);
    /* Why what was found does not do (a static code), or NULL.  The row may have
     * none. */
    const char *(*lacks)(const struct exec *x, const json_t *value,
                         struct mortise_err *why);
};

#define LOOKUP(ID, name, family)                                               \
    extern const struct lookup mortise_lookup_##name;
#include "core/run/record/lookups.def"

/* The text that this template of x's node, its `what`, comes to: *out, a new
 * reference to a string; NULL of no template.  As for `ask`. */
int mortise_lookup_text(struct mortise_run *r, struct exec *x,
                        const struct mortise_tmpl *tmpl, const char *what,
                        json_t **out, const char **code,
                        struct mortise_err *why, struct mortise_err *err);

#endif
