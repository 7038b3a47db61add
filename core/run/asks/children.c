/* children.c -- events about the children of a run.
 *
 * Each step that changes a spawn handle is answered with the new state of the
 * handle, and the event is built from this answer.  So it is emitted once, and
 * a replay emits the same event. */
#include <string.h>

#include "mortise/plugin.h"
#include "core/run/asks/asks.h"

/* Methods that change a handle.  Reading, waiting and sending change
 * nothing. */
static const char *const changing_methods[] = {
    "spawn.claim/1", "spawn.register/1", "spawn.advance/1", "spawn.settle/1",
    "spawn.start/1", "spawn.cancel/1",   "spawn.report/1"};

static const char *const event_members[] = {"handle", "name",    "state",
                                            "child",  "attempt", "progress"};

static bool is_change(const char *method)
{
    for (size_t i = 0; i < sizeof changing_methods / sizeof changing_methods[0];
         i++)
        if (strcmp(method, changing_methods[i]) == 0)
            return true;
    return false;
}

/* NULL: memory ran out. */
static json_t *build_task_event(const json_t *answer)
{
    json_t *out = json_object();

    for (size_t i = 0;
         out != NULL && i < sizeof event_members / sizeof event_members[0];
         i++) {
        json_t *value = json_object_get(answer, event_members[i]);

        if (value != NULL && json_object_set(out, event_members[i], value) != 0)
            mortise_json_clear_ref(&out);
    }
    return out;
}

/* Takes the event; `status`: how the child ended (NULL: it has not). */
static int emit_task_changed(struct mortise_run *r, const struct exec *x,
                             json_t *event, json_t *status,
                             struct mortise_err *err)
{
    if (event != NULL && status != NULL &&
        json_object_set(event, "status", status) != 0)
        mortise_json_clear_ref(&event);
    if (event == NULL)
        return mortise_nomem(err);
    return mortise_event_announce(r, x, "task_changed", event, err);
}

int mortise_child_announce_change(struct mortise_run *r, const struct exec *x,
                                  const struct step *s,
                                  const struct mortise_entry *e,
                                  struct mortise_err *err)
{
    if (e->status != MORTISE_S_OK || !is_change(s->method))
        return MORTISE_OK;
    if (strcmp(s->method, "spawn.claim/1") == 0)
        mortise_spawned_set_claimed(r);
    return emit_task_changed(
        r, x,
        mortise_run_has_watcher(r) ? build_task_event(e->value) : json_object(),
        json_object_get(e->value, "terminal_status"), err);
}

int mortise_child_announce_end(struct mortise_run *r, const struct exec *x,
                               const struct step *s,
                               const struct mortise_entry *e,
                               struct mortise_err *err)
{
    json_t *event = json_pack(
        "{s:O*, s:O*, s:s}", "handle", json_object_get(s->payload, "handle"),
        "child", json_object_get(e->value, "child"), "state", "settled");

    return emit_task_changed(r, x, event, json_object_get(e->value, "status"),
                             err);
}
