/* api.h -- what the functions of mortise.h have in common.  [loop] */
#ifndef MORTISE_API_API_H
#define MORTISE_API_API_H

#include "core/engine/common/engine.h"

/* Inner functions may count on an err, and may write to it on the way to a
 * success; a caller's may be NULL, and is written by failures alone. */
#define WITH_ERR(err)                                                          \
    struct mortise_err own_err, *const their_err = (err);                      \
    err = &own_err

static inline int told(int rv, const struct mortise_err *err,
                       struct mortise_err *theirs)
{
    if (rv < 0 && theirs != NULL)
        *theirs = *err;
    return rv;
}

/* May the caller come in now?  A write error that is being dealt with is waited
 * for, so that the next call finds the engine going or broken. */
static inline int begin(struct mortise *m, struct mortise_err *err)
{
    assert_on_loop(m);
    if (m->turning)
        return mortise_fail(err, MORTISE_ESTATE,
                            "called from inside a callback of this engine");
    while (m->state == MORTISE_ENGINE_FAILING)
        mortise_turn(m, -1);
    return mortise_engine_ready(m, err);
}

static inline const char *tenant_or_default(const char *tenant)
{
    return tenant != NULL ? tenant : "default";
}

#endif
