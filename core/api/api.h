/* api.h -- helpers of the functions of mortise.h.  [loop] */
#ifndef MORTISE_API_API_H
#define MORTISE_API_API_H

#include "core/engine/common/engine.h"

/* Internal functions need an err, and may write to it before a success.  The
 * caller's err may be NULL and is written only by failures. */
#define WITH_ERR(err)                                                          \
    struct mortise_err own_err, *const their_err = (err);                      \
    err = &own_err

static inline int copy_out_error(int rv, const struct mortise_err *err,
                                 struct mortise_err *theirs)
{
    if (rv < 0 && theirs != NULL)
        *theirs = *err;
    return rv;
}

/* Check that the caller may use the engine now.  While a write error is being
 * handled, wait, so that the engine is either ready or broken afterwards. */
static inline int begin_api_call(struct mortise *m, struct mortise_err *err)
{
    assert_on_loop(m);
    if (m->turning)
        return mortise_fail(err, MORTISE_ESTATE,
                            "called from inside a callback of this engine");
    while (m->state == MORTISE_ENGINE_FAILING)
        mortise_loop_turn(m, -1);
    return mortise_engine_check_ready(m, err);
}

static inline const char *tenant_or_default(const char *tenant)
{
    return tenant != NULL ? tenant : "default";
}

#endif
