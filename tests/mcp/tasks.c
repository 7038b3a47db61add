/* tasks.c -- the tasks extension of 2026-07-28: calls that go on by themselves.
 *
 * A task is known by its id alone, to whoever has it, for as long as this process
 * lives: it needs no connection.  Its effect, if it has a label, comes when it
 * ends. */
#include "mcpd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct task {
    struct task *next;
    char id[48];
    json_t *args, *answer;
    long long end;
    bool cancelled, counted;
} * tasks;

static bool flag(const json_t *args, const char *name)
{
    return json_is_true(json_object_get(args, name));
}

static json_t *times(const struct task *t, const char *status)
{
    const json_t *ttl = json_object_get(t->args, "ttl"),
                 *poll = json_object_get(t->args, "poll");
    json_t *out =
        json_pack("{s:s, s:s, s:s, s:s, s:i}", "taskId", t->id, "status",
                  status, "createdAt", "2026-08-01T00:00:00Z", "lastUpdatedAt",
                  "2026-08-01T00:00:00Z", "pollIntervalMs",
                  poll != NULL ? (int)json_integer_value(poll) : 20);

    json_object_set_new(out, "ttlMs",
                        ttl != NULL ? json_integer(json_integer_value(ttl))
                                    : json_null());
    return out;
}

void mcpd_task(struct mcpd_request *r, const json_t *args)
{
    const json_t *extensions = json_object_get(r->capabilities, "extensions");
    struct task *t;
    static int n;
    json_t *out;

    if (json_object_get(extensions, MCPD_PREFIX "tasks") == NULL) {
        mcpd_error(r, -32021, "Missing client capability",
                   json_pack("{s:{s:{s:{}}}}", "requiredCapabilities",
                             "extensions", MCPD_PREFIX "tasks"));
        return;
    }
    t = calloc(1, sizeof *t);
    snprintf(t->id, sizeof t->id, "task-%d-%d", (int)getpid(), ++n);
    t->args = args != NULL ? json_deep_copy(args) : json_object();
    t->end = mcpd_now() + json_integer_value(json_object_get(t->args, "ms"));
    t->next = tasks;
    tasks = t;
    out = times(t, "working");
    json_object_set_new(out, "resultType", json_string("task"));
    mcpd_result(r, out);
}

static struct task *find(struct mcpd_request *r)
{
    const char *id = json_string_value(json_object_get(r->params, "taskId"));

    for (struct task *t = tasks; id != NULL && t != NULL; t = t->next)
        if (strcmp(t->id, id) == 0)
            return t;
    mcpd_error(r, -32602, "Unknown task", NULL);
    return NULL;
}

static json_t *ended(struct task *t)
{
    const char *label = json_string_value(json_object_get(t->args, "label"));
    json_t *out, *result;

    if (!t->counted && label != NULL)
        mcpd_effect(label);
    t->counted = true;
    if (flag(t->args, "error")) {
        out = times(t, "failed");
        json_object_set_new(out, "error",
                            json_pack("{s:i, s:s}", "code", -32603, "message",
                                      "the task failed"));
        return out;
    }
    result =
        t->answer != NULL
            ? mcpd_text("%s",
                        json_string_value(json_object_get(t->answer, "action")))
            : mcpd_text("done");
    if (flag(t->args, "fail"))
        json_object_set_new(result, "isError", json_true());
    json_object_set_new(result, "resultType", json_string("complete"));
    out = times(t, "completed");
    json_object_set_new(out, "result", result);
    return out;
}

void mcpd_tasks_get(struct mcpd_request *r)
{
    struct task *t;
    json_t *out;

    if (mcpd.refuse_tasks) {
        mcpd_error(r, -32601, "Method not found", NULL);
        return;
    }
    t = find(r);
    if (t == NULL)
        return;
    if (t->cancelled) {
        out = times(t, "cancelled");
    } else if (flag(t->args, "ask") && t->answer == NULL) {
        out = times(t, "input_required");
        json_object_set_new(out, "inputRequests",
                            json_pack("{s:{s:s, s:o}}", "who", "method",
                                      "elicitation/create", "params",
                                      mcpd_form("Who, in a task?")));
    } else if (mcpd_now() < t->end) {
        out = times(t, "working");
    } else {
        out = ended(t);
    }
    mcpd_result(r, out);
}

void mcpd_tasks_update(struct mcpd_request *r)
{
    struct task *t = find(r);
    json_t *answer =
        json_object_get(json_object_get(r->params, "inputResponses"), "who");

    if (t == NULL)
        return;
    if (answer == NULL)
        mcpd_object("tasks/update without an answer 'who'");
    else if (t->answer != NULL)
        mcpd_object("tasks/update: 'who' was answered before");
    else
        t->answer = json_incref(answer);
    mcpd_result(r, json_object());
}

void mcpd_tasks_cancel(struct mcpd_request *r)
{
    struct task *t = find(r);

    if (t == NULL)
        return;
    t->cancelled = true;
    mcpd_result(r, json_object());
}

void mcpd_tasks_finish(void)
{
    for (struct task *t = tasks, *next; t != NULL; t = next) {
        next = t->next;
        json_decref(t->args);
        json_decref(t->answer);
        free(t);
    }
    tasks = NULL;
}
