/* caseevents.c -- check the type and members of expected events.
 *
 * docs/json.md lists the durable events and their members.  An expected event
 * with an unknown type or member never occurs: the case would fail, mostly
 * because a name is misspelt.  The values of members are checked when the case
 * runs.
 */
#include <string.h>

#include "testkit/cases/casereader.h"

enum { MEMBERS = 16 };

static const struct event {
    const char *type;
    const char *members[MEMBERS]; /* NULL-terminated unless full */
} events[] = {
    {"run_start", {"graph", "actor", "order"}},
    {"run_end", {"status", "error", "usage"}},
    {"warning", {"code", "message", "plugin", "digest"}},
    {"tool_call", {"tool", "call", "step", "arguments", "tool_use_id"}},
    {"tool_result",
     {"tool", "call", "step", "ms", "output", "text", "cut", "error", "goto"}},
    {"model_call",
     {"alias", "step", "messages", "texts", "budget", "check", "held"}},
    {"model_reply",
     {"alias", "step", "reply", "error", "usage", "told", "left_out", "check"}},
    {"node_end", {"ms", "usage", "cached"}},
    {"node_failed", {"error", "usage"}},
    {"node_skipped", {"why"}},
    {"retry_scheduled", {"error", "next_at", "usage"}},
    {"discovery_result",
     {"query", "kind", "results", "chosen", "error", "failed", "skills",
      "narrows", "fallback"}},
    {"memory_read", {"consistency", "as_of", "traces", "note"}},
    {"memory_write", {"consistency", "trace"}},
    {"memory_error", {"traces", "error"}},
    {"guardrail_result",
     {"guardrail", "stage", "violation", "action", "decided_by", "to", "reason",
      "ms"}},
    {"guardrail_override",
     {"guardrail", "stage", "violation", "action", "decided_by", "to", "reason",
      "ms"}},
    {"interrupt", {"id", "request"}},
    {"decision", {"id", "decision", "actor", "value", "order"}},
    {"plan_proposed", {"id", "graph", "digest"}},
    {"plan_approved", {"id", "actor", "reason", "edited", "digest"}},
    {"plan_rejected", {"id", "actor", "reason", "digest"}},
    {"budget_warning", {"budget", "limit", "used"}},
    {"budget_exceeded", {"budget", "limit", "used", "on_exceeded"}},
    {"command", {"command", "actor", "reason", "text", "order"}},
};

enum { EVENTS = sizeof events / sizeof events[0] };

/* Members of all events: `type`, and those of node events. */
static const char *const common_members[MEMBERS] = {
    "type", "seq", "run", "tenant", "at", "node", "path", "attempt"};

static bool has_event_member(const char *const members[MEMBERS],
                             const char *name)
{
    for (size_t i = 0; i < MEMBERS && members[i] != NULL; i++)
        if (strcmp(members[i], name) == 0)
            return true;
    return false;
}

/* The event of a type; NULL after a finding. */
static const struct event *find_event_type(const struct mortise_yaml *type,
                                           struct mortise_diags *diags)
{
    const char *types[EVENTS], *near;
    struct mortise_diag *d;

    for (size_t i = 0; i < EVENTS; i++) {
        types[i] = events[i].type;
        if (strcmp(types[i], type->str) == 0)
            return &events[i];
    }
    near = mortise_nearest_find(type->str, types, EVENTS);
    d = mortise_diag_add(diags, "E0207", type->span,
                         "no durable event has the type '%s'", type->str);
    if (near != NULL)
        mortise_diag_help(diags, d, "did you mean '%s'?", near);
    return NULL;
}

static void report_unknown_event_member(const struct event *e,
                                        const struct mortise_yaml *key,
                                        struct mortise_diags *diags)
{
    const char *two[] = {
        mortise_nearest_find(key->str, e->members, MEMBERS),
        mortise_nearest_find(key->str, common_members, MEMBERS)};
    const char *near = mortise_nearest_find(key->str, two, 2);
    struct mortise_diag *d =
        mortise_diag_add(diags, "W0905", key->span,
                         "an event %s has no member '%s'", e->type, key->str);

    if (near != NULL)
        mortise_diag_help(diags, d, "did you mean '%s'?", near);
}

void mortise_case_check_event(const struct mortise_yaml *event,
                              struct mortise_diags *diags)
{
    const struct mortise_yaml *type = mortise_yaml_get(event, "type");
    const struct event *e = type != NULL && type->kind == MORTISE_YAML_STRING
                                ? find_event_type(type, diags)
                                : NULL;

    for (size_t i = 0; e != NULL && i < event->n; i++)
        if (!has_event_member(common_members, event->keys[i]->str) &&
            !has_event_member(e->members, event->keys[i]->str))
            report_unknown_event_member(e, event->keys[i], diags);
}
