/* origin.c -- the properties of an output, by how it came about, in a table, so
 * that no stage depends on a particular source of outputs. */
#include "core/run/outcome/pipeline.h"

static const struct origin origins[] = {
    [DONE_EXECUTED] = {.fits = true,
                       .is_guarded = true,
                       .says = true,
                       .happened = true,
                       .from_own_call = true},
    /* Confirmed by the plugin; by a person; recorded before. */
    [DONE_RECONCILED] = {.fits = true,
                         .is_guarded = true,
                         .says = true,
                         .happened = true},
    [DONE_RESOLVED] = {.fits = true, .is_guarded = true, .happened = true},
    [DONE_RECORDED] = {.fits = true, .is_guarded = true, .says = true},
    [DONE_CACHED] = {.fits = true, .is_guarded = true},
    [DONE_ANSWERED] = {.fits = false}, /* it has its own guardrails */
    [DONE_ON_ERROR] = {.fits = true, .is_last = true}};

const struct origin *mortise_origin_get(enum done_how how)
{
    assert(how < sizeof origins / sizeof origins[0]);
    return &origins[how];
}

json_t *mortise_origin_get_member(const struct exec *x, enum done_how how,
                                  const char *what)
{
    return mortise_origin_get(how)->says ? json_object_get(x->said, what)
                                         : NULL;
}
