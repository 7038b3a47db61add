/* seal.c -- a stage of outputs that core/ does not know: what has room for a seal
 * is stamped, and what was sealed by others is refused. */
#include "core/run/outcome/pipeline.h"

int mortise_stage_seal(struct outcome *o, struct mortise_err *err)
{
    const json_t *seal = json_object_get(o->entry.value, "seal");
    json_t *stamped;

    if (seal == NULL)
        return MORTISE_OK;
    if (!json_is_null(seal))
        return mortise_fail(&o->why, MORTISE_EINVAL, "'%s' is no seal of ours",
                            json_string_value(seal));
    stamped = json_copy(o->entry.value); /* who gave it has it, too */
    if (stamped == NULL ||
        json_object_set_new(stamped, "seal", json_string("ours")) != 0) {
        json_decref(stamped);
        return mortise_nomem(err);
    }
    json_decref(o->entry.value);
    o->entry.value = stamped;
    return MORTISE_OK;
}
