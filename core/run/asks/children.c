/* children.c -- what is told of the children of a run, as its steps learn of them.
 *
 * Each step that changes something of a spawn handle is answered with what the
 * handle says since, and the event is made of that answer: so it is told once, and
 * a replay tells the same. */
#include <string.h>

#include "mortise/plugin.h"
#include "core/run/asks/asks.h"

/* Those whose answers are news.  To read, to wait and to speak change nothing. */
static const char *const changes[] = {
    "spawn.claim/1", "spawn.register/1", "spawn.advance/1", "spawn.settle/1",
    "spawn.start/1", "spawn.cancel/1",   "spawn.report/1"};

static const char *const members[] = {"handle", "name",    "state",
                                      "child",  "attempt", "progress"};

static bool is_change(const char *method)
{
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
        if (strcmp(method, changes[i]) == 0)
            return true;
    return false;
}

/* NULL: memory ran out. */
static json_t *event_of(const json_t *answer)
{
    json_t *out = json_object();

    for (size_t i = 0; out != NULL && i < sizeof members / sizeof members[0];
         i++) {
        json_t *value = json_object_get(answer, members[i]);

        if (value != NULL && json_object_set(out, members[i], value) != 0)
            mortise_json_drop(&out);
    }
    return out;
}

/* Takes it; `status`: how it ended (NULL: it has not), which only then is told. */
static int announce(struct mortise_run *r, const struct exec *x, json_t *event,
                    json_t *status, struct mortise_err *err)
{
    if (event != NULL && status != NULL &&
        json_object_set(event, "status", status) != 0)
        mortise_json_drop(&event);
    if (event == NULL)
        return mortise_nomem(err);
    return mortise_event_announce(r, x, "task_changed", event, err);
}

int mortise_child_changed(struct mortise_run *r, const struct exec *x,
                          const struct step *s, const struct mortise_entry *e,
                          struct mortise_err *err)
{
    if (e->status != MORTISE_S_OK || !is_change(s->method))
        return MORTISE_OK;
    if (strcmp(s->method, "spawn.claim/1") == 0)
        mortise_spawned_claimed(r);
    return announce(r, x,
                    mortise_run_is_seen(r) ? event_of(e->value) : json_object(),
                    json_object_get(e->value, "terminal_status"), err);
}

int mortise_child_over(struct mortise_run *r, const struct exec *x,
                       const struct step *s, const struct mortise_entry *e,
                       struct mortise_err *err)
{
    json_t *event = json_pack(
        "{s:O*, s:O*, s:s}", "handle", json_object_get(s->payload, "handle"),
        "child", json_object_get(e->value, "child"), "state", "settled");

    return announce(r, x, event, json_object_get(e->value, "status"), err);
}
