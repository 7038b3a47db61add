/* remark.c -- an entry of the journal that core/ does not know: somebody remarked
 * something, which is an event of the run. */
#include "core/run/state/state.h"

int mortise_apply_remark(struct mortise_run *r, const struct mortise_entry *e,
                         struct mortise_err *err)
{
    if (!json_is_string(e->value))
        return mortise_entry_corrupt(err, e);
    return mortise_event_announce(
        r, NULL, "remark",
        json_pack("{s:s, s:O}", "actor", e->actor, "text", e->value), err);
}

void mortise_describe_remark(json_t *out, const struct mortise_entry *e)
{
    json_object_set(out, "text", e->value);
}
