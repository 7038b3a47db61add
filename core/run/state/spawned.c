/* spawned.c -- the spawn handle of a run that is a child, and whether a run has
 * children.
 *
 * Executions that are given up abandon their children (flow/left.c).  `leaves`
 * marks a commit that may do so; the engine looks for abandoned children when
 * that commit is written.  A run that never claimed a handle marks no commits.
 */
#include "core/run/state/state.h"

int mortise_apply_spawned(struct mortise_run *r, const struct mortise_entry *e,
                          struct mortise_err *err)
{
    if (r->spawned_by != NULL || !json_is_string(e->value))
        return mortise_entry_corrupt(err, e);
    r->spawned_by =
        mortise_arena_strdup(&r->arena, json_string_value(e->value));
    return r->spawned_by != NULL ? MORTISE_OK : mortise_nomem(err);
}

void mortise_describe_spawned(json_t *out, const struct mortise_entry *e)
{
    json_object_set(out, "handle", e->value);
}

void mortise_spawned_set_claimed(struct mortise_run *r)
{
    r->has_handles = true;
}

void mortise_spawned_mark_left(struct mortise_run *r)
{
    r->leaves |= r->has_handles;
}

const char *mortise_run_get_spawn_handle(const struct mortise_run *r)
{
    return r->spawned_by;
}

bool mortise_run_has_children(const struct mortise_run *r)
{
    return r->has_handles;
}

bool mortise_run_has_family(const struct mortise_run *r)
{
    return r->spawned_by != NULL || r->has_handles || r->n_awaited > 0;
}

int mortise_run_get_end_result(struct mortise_run *r, json_t **out,
                               struct mortise_err *err)
{
    json_t *state = NULL;
    int rv = MORTISE_OK;

    *out = NULL;
    if (r->status == MORTISE_RUN_COMPLETED) {
        rv = mortise_view_fold_all(r, r->frames[0], false, &state, err);
        if (rv == MORTISE_OK)
            *out = json_pack("{s:O}", "output",
                             json_object_get(state, "artifacts"));
        json_decref(state);
    } else if (r->status == MORTISE_RUN_FAILED) {
        *out = json_pack("{s:O}", "error", r->error);
    } else {
        return MORTISE_OK;
    }
    return rv != MORTISE_OK || *out != NULL ? rv : mortise_nomem(err);
}
