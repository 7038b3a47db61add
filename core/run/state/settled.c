/* settled.c -- settled requests, for the error message of a late decision.
 *
 * A person who rejects a request that another person approved should learn
 * that, and from whom.  The list follows from the entries, so a replay rebuilds
 * it; nothing else depends on it.
 */
#include <assert.h>
#include <string.h>

#include "core/run/state/state.h"

/* In the terms of the decision: an answer may itself be an approval or a
 * rejection. */
static const char *get_settled_word(const struct mortise_entry *e)
{
    const json_t *approved = json_object_get(e->value, "approved");

    if (e->how == MORTISE_SETTLE_ANSWERED && json_is_boolean(approved))
        return json_is_true(approved) ? "approved" : "rejected";
    switch (e->how) {
    case MORTISE_SETTLE_HAPPENED:
        return "resolved as done";
    case MORTISE_SETTLE_RETRY:
        return "resolved as not happened, to be retried";
    case MORTISE_SETTLE_FAIL:
        return "resolved as failed";
    default:
        return mortise_settle_name((enum mortise_settle)e->how);
    }
}

/* Reuse the previous copy: one person settles most requests of a run. */
static const char *store_actor(struct mortise_run *r, const char *actor)
{
    const struct settled *last =
        r->n_settled > 0 ? &r->settled[r->n_settled - 1] : NULL;

    return last != NULL && strcmp(last->actor, actor) == 0
               ? last->actor
               : mortise_arena_strdup(&r->arena, actor);
}

int mortise_settled_add(struct mortise_run *r, const struct mortise_entry *e,
                        struct mortise_err *err)
{
    struct settled *grown = mortise_array_grow(r->mem, r->settled, r->n_settled,
                                               &r->cap_settled, sizeof *grown);
    const char *actor;

    if (grown == NULL)
        return mortise_nomem(err);
    r->settled = grown;
    actor = store_actor(r, e->actor);
    if (actor == NULL)
        return mortise_nomem(err);
    grown[r->n_settled] =
        (struct settled){.word = get_settled_word(e), .actor = actor};
    assert(strlen(e->id) == REQUEST_ID - 1); /* the request was found by this
                                                id */
    memcpy(grown[r->n_settled++].id, e->id, REQUEST_ID);
    return MORTISE_OK;
}

int mortise_settled_reject_late(const struct mortise_run *r, const char *id,
                                struct mortise_err *err)
{
    for (size_t i = r->n_settled; i-- > 0;) {
        const struct settled *s = &r->settled[i];

        if (strcmp(s->id, id) == 0)
            return mortise_fail(
                err, MORTISE_EMISMATCH,
                "request '%s' of run %s is already settled: %s%s%s", id, r->id,
                s->word, s->actor[0] != '\0' ? " by " : "", s->actor);
    }
    return mortise_fail(err, MORTISE_EMISMATCH, "run %s has no request '%s'",
                        r->id, id);
}
