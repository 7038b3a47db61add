/* event.c -- events of a run.
 *
 * A durable event is not stored: it follows from an entry, so a replay builds
 * it again with the same number.  All durable events are counted, but they are
 * built only if somebody watches.  An ephemeral event (a call, a question in
 * flight) is only for current watchers.
 */
#include <assert.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/run/state/state.h"

bool mortise_run_has_watcher(const struct mortise_run *r)
{
    return r->watched || r->sink != NULL;
}

/* An event about x, or about the run if x is NULL.  Takes `value`, its first
 * member. */
static json_t *build_event(const struct mortise_run *r, const struct exec *x,
                           const char *type, const char *first, json_t *value)
{
    char at[MORTISE_TIME_TEXT], path[MORTISE_EXEC_PATH];

    mortise_time_format(at, r->time_ms);
    if (x == NULL)
        return json_pack("{s:o, s:s, s:s, s:s, s:s}", first, value, "run",
                         r->id, "tenant", r->tenant, "at", at, "type", type);
    mortise_exec_print_path(r, x, path);
    return json_pack("{s:o, s:s, s:s, s:s, s:s, s:s, s:s, s:I}", first, value,
                     "run", r->id, "tenant", r->tenant, "at", at, "type", type,
                     "node", mortise_exec_node(r, x)->id, "path", path,
                     "attempt", (json_int_t)x->attempt);
}

int mortise_event_announce(struct mortise_run *r, const struct exec *x,
                           const char *type, json_t *extra,
                           struct mortise_err *err)
{
    uint64_t seq = ++r->n_events;
    json_t *event;

    assert(r->n_unsent == 0 || r->unsent[r->n_unsent - 1].seq <= r->seq + 1);
    if (!mortise_run_has_watcher(r)) {
        json_decref(extra);
        return MORTISE_OK;
    }
    event = build_event(r, x, type, "seq", json_integer((json_int_t)seq));
    if (event == NULL ||
        (extra != NULL && json_object_update(event, extra) != 0)) {
        json_decref(extra);
        json_decref(event);
        return mortise_nomem(err);
    }
    json_decref(extra);
    if (r->sink != NULL) {
        if (r->sink_said == 0)
            r->sink_said = r->sink(r->sink_ud, event);
        json_decref(event);
        return MORTISE_OK;
    }
    struct unsent *grown = mortise_array_grow(r->mem, r->unsent, r->n_unsent,
                                              &r->cap_unsent, sizeof *grown);
    if (grown == NULL) {
        json_decref(event);
        return mortise_nomem(err);
    }
    r->unsent = grown;
    r->unsent[r->n_unsent++] = (struct unsent){r->seq + 1, event};
    return MORTISE_OK;
}

json_t *mortise_event_make_live(const struct mortise_run *r,
                                const struct exec *x, const char *type)
{
    return build_event(r, x, type, "ephemeral", json_true());
}

int mortise_event_announce_live(struct mortise_run *r, const struct exec *x,
                                const char *type, struct mortise_err *err)
{
    struct mortise_action *a;
    json_t *event;

    if (!r->watched || r->actions == NULL)
        return MORTISE_OK;
    event = mortise_event_make_live(r, x, type);
    a = event != NULL ? mortise_action_new(r, MORTISE_ACT_PUBLISH, err) : NULL;
    if (a == NULL) {
        json_decref(event);
        return mortise_nomem(err);
    }
    a->u.publish = event;
    return MORTISE_OK;
}

/* `node` or `reason` is the object of the command; NULL: none. */
int mortise_event_announce_command(struct mortise_run *r, const char *command,
                                   const char *actor, const char *node,
                                   json_t *reason, struct mortise_err *err)
{
    json_t *extra = NULL;

    if (mortise_run_has_watcher(r))
        extra = json_pack("{s:s, s:s, s:s*, s:O*, s:s*}", "command", command,
                          "actor", actor, "node", node, "reason", reason,
                          "order", mortise_order_get_for_actor(r, actor));
    return mortise_event_announce(r, NULL, "command", extra, err);
}

int mortise_event_announce_request(struct mortise_run *r, const struct exec *x,
                                   const char *id, json_t *request,
                                   struct mortise_err *err)
{
    return mortise_event_announce(
        r, x, "interrupt",
        mortise_run_has_watcher(r)
            ? json_pack("{s:s, s:O}", "id", id, "request", request)
            : NULL,
        err);
}

int mortise_event_announce_decision(struct mortise_run *r, const struct exec *x,
                                    const struct mortise_entry *e,
                                    struct mortise_err *err)
{
    json_t *extra = NULL;

    if (mortise_run_has_watcher(r))
        extra =
            json_pack("{s:s, s:s, s:s, s:O*, s:s*}", "id", e->id, "decision",
                      mortise_settle_name((enum mortise_settle)e->how), "actor",
                      e->actor, "value", e->value, "order",
                      mortise_order_get_for_actor(r, e->actor));
    return mortise_event_announce(r, x, "decision", extra, err);
}

/* Does the verdict revoke an acceptance? */
static bool is_override(const json_t *note)
{
    const char *action = json_string_value(json_object_get(note, "action"));

    return json_object_get(note, "decided_by") != NULL && action != NULL &&
           strcmp(action, "block") == 0;
}

int mortise_event_announce_verdicts(struct mortise_run *r, const struct exec *x,
                                    const json_t *notes,
                                    struct mortise_err *err)
{
    size_t i;
    json_t *note;
    int rv = MORTISE_OK;

    json_array_foreach(notes, i, note)
    {
        if (rv == MORTISE_OK)
            rv = mortise_event_announce(r, x, "guardrail_result",
                                        json_deep_copy(note), err);
        if (rv == MORTISE_OK && is_override(note))
            rv = mortise_event_announce(r, x, "guardrail_override",
                                        json_deep_copy(note), err);
    }
    return rv;
}

int mortise_event_announce_skipped(struct mortise_run *r,
                                   const struct mortise_node *n,
                                   const char *why, struct mortise_err *err)
{
    json_t *extra = NULL;

    if (mortise_run_has_watcher(r))
        extra = json_pack("{s:s, s:s}", "node", n->id, "why", why);
    return mortise_event_announce(r, NULL, "node_skipped", extra, err);
}
