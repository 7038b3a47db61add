/* task.c -- a result that comes later (the tasks extension of 2026-07-28).
 *
 * Instead of a result a server may give a task.  It is recorded as what the call
 * gave, before anything is done about it; then the call waits and looks, as long
 * as it takes, and costs nothing while it waits (timer.wait/1):
 *
 *     "wait-N"      what the server wants (pollIntervalMs; a second, where it does
 *                   not say; a tenth of one at least), twice as long each time, up
 *                   to half a minute or what the server wants
 *     "poll-N"      tasks/get: it works, it wants to know something, it has ended
 *     "question-N"  a person is asked what the server wants to know; each key
 *                   once, and at most ten times something new
 *     "answer-N"    tasks/update, with the answers
 *
 *   (1) Looking, and answering again what was answered, changes nothing: these
 *       steps may be done twice.
 *   (2) A server that cannot be reached is looked for again, 20 times in
 *       succession; that is part of what is recorded.
 *   (3) A call that is cancelled while it looks has the task cancelled, too
 *       (tasks/cancel); one that is cancelled while it waits is not there to say
 *       so, and the task goes on, until its time is over. */
#include "call.h"
#include "rpc.h"

enum {
    LEAST_MS = 100,
    USUAL_MS = 1000,
    MOST_MS = 30000,
    DAY_MS = 86400000,
    FAILURES_MAX = 20
};

static const char UNREACHABLE[] = "{\"status\":\"unreachable\"}";

static void wait_then(struct mcp_call *c, void (*next)(struct mcp_call *));
static void poll(struct mcp_call *c);
static void update(struct mcp_call *c);

void mcp_task_free(struct mcp_task *t)
{
    bytes_free(&t->id);
    bytes_free(&t->name);
    bytes_free(&t->answered);
}

static int is_status(mortise_jv result, const char *status)
{
    return mortise_jv_is(mortise_jv_get(result, "status"),
                         mortise_strz(status));
}

/* What the server wants, if it says so. */
static void take_interval(struct mcp_task *t, mortise_jv result)
{
    int64_t ms;

    if (mortise_jv_int(mortise_jv_get(result, "pollIntervalMs"), &ms) !=
        MORTISE_S_OK)
        return;
    t->base_ms = ms < LEAST_MS ? LEAST_MS : ms > DAY_MS ? DAY_MS : (uint64_t)ms;
    if (t->wait_ms < t->base_ms)
        t->wait_ms = t->base_ms;
}

/* ---- waiting ------------------------------------------------------------------ */

static void waited(void *ud, mortise_status status, mortise_str answer)
{
    struct mcp_call *c = (struct mcp_call *)ud;

    if (!mcp_call_answered(c))
        return;
    if (status == MORTISE_S_OK)
        c->task.next(c);
    else if (status == MORTISE_S_SUSPENDED || status == MORTISE_S_CANCELLED ||
             status == MORTISE_S_NOMEM)
        mcp_call_end(c, status);
    else
        mcp_call_fail(c, "mcp.failed", "permanent", answer);
}

/* Takes the call. */
static void wait_then(struct mcp_call *c, void (*next)(struct mcp_call *))
{
    struct mcp_task *t = &c->task;
    uint64_t most = t->base_ms > MOST_MS ? t->base_ms : MOST_MS;
    mortise_status status;
    char body[96];

    t->next = next;
    snprintf(body, sizeof body, "{\"for_ms\":%llu,\"step\":\"wait-%llu\"}",
             (unsigned long long)t->wait_ms, (unsigned long long)++t->waits);
    t->wait_ms = 2 * t->wait_ms < most ? 2 * t->wait_ms : most;
    status =
        mcp_call_ask(c, MORTISE_TIMER_WAIT_1, mortise_strz(body), waited, c);
    if (status == MORTISE_S_NOMEM)
        mcp_call_end(c, status);
    else if (status != MORTISE_S_PENDING)
        mcp_call_fail(c, "mcp.failed", "permanent",
                      mortise_strz("the host rejected the wait"));
}

/* ---- requests about it -------------------------------------------------------- */

/* Takes the call: it is no one's fault, and is tried again (2). */
static void unreachable(struct mcp_call *c, const struct mcp_trouble *why)
{
    if (c->inst->api->cancelled(c->inst->host, c->id))
        mcp_call_fail_with(c, why);
    else
        mcp_step_done(c, mortise_strz(UNREACHABLE));
}

/* Takes the call: a step about the task. */
static void begin_step(struct mcp_call *c, const char *kind, uint64_t n,
                       void (*perform)(struct mcp_call *),
                       void (*take)(struct mcp_call *))
{
    mortise_jv id = mortise_jv_of(bytes_str(&c->task.id));
    mortise_str text = mortise_str_empty();
    char name[MCP_STEP_ROOM];
    mortise_status made;
    mortise_jw w;

    snprintf(name, sizeof name, "%s-%llu", kind, (unsigned long long)n);
    c->perform = perform;
    c->take = take;
    c->unreachable = unreachable;
    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "server");
    mortise_jw_cstr(&w, c->server->name);
    mortise_jw_key(&w, "task");
    mortise_jw_value(&w, id);
    mortise_jw_end(&w);
    made = mortise_jw_finish(&w, &text);
    mcp_step_begin(c, name, 1, made, text);
    free(w.p);
}

/* Takes the call: one that has only to do with the task (`answers`: with them). */
static void send(struct mcp_call *c, struct mcp_request *r, const char *method,
                 int answers,
                 void (*done)(struct mcp_request *, const struct mcp_reply *))
{
    struct mcp_message m = {.name = bytes_str(&c->task.name)};
    mortise_status status;
    mortise_jw w;

    r->call = c->id;
    r->timeout_ms = c->server->timeout_ms;
    r->is_legacy_ask = 0;
    r->done = done;
    mcp_request_begin(c->server, r, &w, method);
    mortise_jw_key(&w, "taskId");
    mortise_jw_value(&w, mortise_jv_of(bytes_str(&c->task.id)));
    if (answers) {
        mortise_jw_key(&w, "inputResponses");
        mortise_jw_value(&w, mortise_jv_of(bytes_str(&c->answers)));
    }
    status = mcp_request_send(c->server, r, &w, method, &m);
    if (status == MORTISE_S_NOMEM)
        mcp_call_end(c, status);
    else if (status != MORTISE_S_OK)
        mcp_step_done(c, mortise_strz(UNREACHABLE));
}

/* ---- looking ------------------------------------------------------------------ */

/* {"status": "unknown", "error"}: takes the call. */
static void done_unknown(struct mcp_call *c, mortise_jv error)
{
    mcp_step_done_as(c, "status", "unknown", "error", error);
}

/* Of one that works nothing is recorded that the next will not say: takes the
 * call. */
static void done_working(struct mcp_call *c, mortise_jv result)
{
    char text[96] = "{\"status\":\"working\"}";
    int64_t ms;

    if (mortise_jv_int(mortise_jv_get(result, "pollIntervalMs"), &ms) ==
        MORTISE_S_OK)
        snprintf(text, sizeof text,
                 "{\"status\":\"working\",\"pollIntervalMs\":%lld}",
                 (long long)ms);
    mcp_step_done(c, mortise_strz(text));
}

static void on_poll(struct mcp_request *r, const struct mcp_reply *reply)
{
    struct mcp_call *c = MCP_OF(r, struct mcp_call, request);

    switch (reply->kind) {
    case MCP_REPLY_RESULT:
        if (is_status(reply->result, "working"))
            done_working(c, reply->result);
        else
            mcp_step_done(c, mortise_strn(reply->result.p, reply->result.n));
        break;
    case MCP_REPLY_ERROR:
        done_unknown(c, reply->error);
        break;
    case MCP_REPLY_TROUBLE:
        unreachable(c, reply->trouble);
        break;
    }
}

static void perform_poll(struct mcp_call *c)
{
    if (mcp_call_wait(c, 0))
        send(c, &c->request, "tasks/get", 0, on_poll);
}

/* Takes the call: the task has failed, in those words. */
static void fail_task(struct mcp_call *c, const char *what, mortise_jv error)
{
    struct bytes words = {0};

    bytes_put(&words, mortise_strz(what));
    if (mortise_jv_type(error) == MORTISE_JV_OBJECT)
        mcp_call_put_error(c, &words, error);
    mcp_call_fail(c, "mcp.task", "permanent", bytes_str(&words));
    bytes_free(&words);
}

/* Takes the call: nothing came through, and `next` is tried again. */
static void try_again(struct mcp_call *c, void (*next)(struct mcp_call *))
{
    if (++c->task.failures > FAILURES_MAX)
        mcp_call_fail(c, "mcp.lost", "transient",
                      mortise_strz("the server of the task cannot be reached"));
    else
        wait_then(c, next);
}

static void answered(struct mcp_call *c)
{
    if (c->answers.n > 0) {
        c->task.rounds++;
        update(c);
    } else {
        wait_then(c, poll); /* what it wants to know it was told */
    }
}

static void take_poll(struct mcp_call *c)
{
    mortise_jv result = mortise_jv_of(bytes_str(&c->result));
    mortise_jv error = mortise_jv_get(result, "error");

    if (is_status(result, "unreachable")) {
        try_again(c, poll);
        return;
    }
    c->task.failures = 0;
    take_interval(&c->task, result);
    if (is_status(result, "working"))
        wait_then(c, poll);
    else if (is_status(result, "completed") &&
             mcp_output_is_result(mortise_jv_get(result, "result")))
        mcp_output_give(c, mortise_jv_get(result, "result"));
    else if (is_status(result, "completed"))
        fail_task(c, "the task's result is not a result of a tool",
                  mortise_jv_none());
    else if (is_status(result, "input_required"))
        mcp_inputs_ask(c, answered);
    else if (is_status(result, "failed"))
        fail_task(c, "the task failed", error);
    else if (is_status(result, "cancelled"))
        fail_task(c, "the server cancelled the task", mortise_jv_none());
    else if (is_status(result, "unknown"))
        fail_task(
            c, "the server no longer knows the task, so its result is unknown",
            error);
    else
        fail_task(c, "the task is in an unknown state", mortise_jv_none());
}

static void poll(struct mcp_call *c)
{
    begin_step(c, "poll", ++c->task.polls, perform_poll, take_poll);
}

/* ---- answering ------------------------------------------------------------------ */

int mcp_task_has_answered(const struct mcp_call *c, mortise_jv key)
{
    const char *p = c->task.answered.p, *end = p + c->task.answered.n, *line;

    for (; p < end; p = line + 1) {
        line = (const char *)memchr(p, '\n', (size_t)(end - p));
        if ((uint64_t)(line - p) == key.n && memcmp(p, key.p, key.n) == 0)
            return 1;
    }
    return 0;
}

/* Keys are written with no newline in them: JSON has none in a text. */
static mortise_status remember(struct mcp_call *c)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_of(bytes_str(&c->answers)));
    mortise_status status = MORTISE_S_OK;
    mortise_jv key, answer;

    while (status == MORTISE_S_OK && mortise_jv_next(&it, &key, &answer)) {
        status = bytes_put(&c->task.answered, mortise_strn(key.p, key.n));
        if (status == MORTISE_S_OK)
            status = bytes_put(&c->task.answered, mortise_strz("\n"));
        c->task.keys++;
    }
    bytes_free(&c->answers);
    return status;
}

static void on_update(struct mcp_request *r, const struct mcp_reply *reply)
{
    struct mcp_call *c = MCP_OF(r, struct mcp_call, request);

    if (reply->kind == MCP_REPLY_TROUBLE)
        unreachable(c, reply->trouble);
    else if (reply->kind == MCP_REPLY_ERROR)
        done_unknown(c, reply->error);
    else
        mcp_step_done(c, mortise_strz("{}"));
}

static void perform_update(struct mcp_call *c)
{
    if (mcp_call_wait(c, 0))
        send(c, &c->request, "tasks/update", 1, on_update);
}

/* An error is no end: the next look says how the task stands. */
static void take_update(struct mcp_call *c)
{
    mortise_jv result = mortise_jv_of(bytes_str(&c->result));
    mortise_status status;

    if (is_status(result, "unreachable")) {
        try_again(c, update);
        return;
    }
    c->task.failures = 0;
    c->task.wait_ms = c->task.base_ms; /* it goes on now */
    status = remember(c);
    if (status == MORTISE_S_OK)
        wait_then(c, poll);
    else
        mcp_call_end(c, status);
}

static void update(struct mcp_call *c)
{
    begin_step(c, "answer", ++c->task.updates, perform_update, take_update);
}

/* ---- its life ------------------------------------------------------------------- */

void mcp_task_begin(struct mcp_call *c)
{
    mortise_jv result = mortise_jv_of(bytes_str(&c->result));
    mortise_jv id = mortise_jv_get(result, "taskId");
    struct mcp_task *t = &c->task;
    mortise_status status;

    if (mortise_jv_type(id) != MORTISE_JV_STRING) {
        fail_task(c, "the server returned a task without a taskId",
                  mortise_jv_none());
        return;
    }
    bytes_free(&c->answers);
    t->base_ms = t->wait_ms = USUAL_MS;
    if (mortise_jv_type(mortise_jv_get(result, "pollIntervalMs")) ==
        MORTISE_JV_NUMBER)
        t->wait_ms = LEAST_MS;
    take_interval(t, result);
    status = bytes_put(&t->id, mortise_strn(id.p, id.n));
    if (status == MORTISE_S_OK)
        status = bytes_decode(&t->name, id);
    if (status == MORTISE_S_OK)
        wait_then(c, poll);
    else
        mcp_call_end(c, status);
}

static void forget(struct mcp_request *r, const struct mcp_reply *reply)
{
    (void)reply;
    free(r);
}

void mcp_task_cancel(struct mcp_call *c)
{
    struct mcp_message m = {.name = bytes_str(&c->task.name)};
    struct mcp_request *r;
    mortise_jw w;

    if (c->task.id.n == 0 || !mcp_server_is_ready(c->server, 0))
        return;
    r = (struct mcp_request *)calloc(1, sizeof *r);
    if (r == NULL)
        return;
    r->timeout_ms = c->server->timeout_ms;
    r->done = forget;
    mcp_request_begin(c->server, r, &w, "tasks/cancel");
    mortise_jw_key(&w, "taskId");
    mortise_jw_value(&w, mortise_jv_of(bytes_str(&c->task.id)));
    if (mcp_request_send(c->server, r, &w, "tasks/cancel", &m) != MORTISE_S_OK)
        free(r);
}
