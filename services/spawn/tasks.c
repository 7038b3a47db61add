/* tasks.c -- host calls that list a run's children, send them messages and
 * cancel them.
 *
 *   spawn.list/1    {handle?}                     {tasks: [TASK ...]}
 *   spawn.message/1 {handle, message, attempt?}   {handle, name, state}
 *   spawn.cancel/1  {handle, attempt?}            {handle, name, state}
 *
 * TASK is {task, name, state, attempt, child?, detached?, progress?, status?};
 * `task` is the handle.  If the request names a handle, its TASK also has
 * {result?, error?}.
 *
 *   (1) A task is "queued" until its child starts; then "running", or
 *       "awaiting_input" while its child, a run, waits for a person or is
 *       paused, blocked or in doubt; finally "succeeded", "failed" or
 *       "cancelled".  `status` has the details.
 *   (2) A message is delivered once, however often the same step is repeated.
 *       It is an order to the child (core/run/state/order.c), and its id is a
 *       hash of the caller, the step and the body.  So both methods need a step
 *       name.
 *   (3) A request for an attempt that is not the child's current one is
 *       rejected as a whole.
 *   (4) To cancel a task that has ended succeeds and changes nothing. */
#include <stdio.h>
#include <string.h>

#include "core/engine/common/secret_store.h"
#include "services/spawn/methods.h"
#include "services/spawn/handles.h"
#include "core/engine/runs/call.h"

/* ---- states (1) --------------------------------------------------------- */

static const char *get_task_state(const struct mortise_spawn *s)
{
    if (!mortise_spawn_has_ended(s))
        return s->state == MORTISE_SPAWN_RUNNING ? "running" : "queued";
    return s->status == MORTISE_SPAWN_COMPLETED   ? "succeeded"
           : s->status == MORTISE_SPAWN_CANCELLED ? "cancelled"
                                                  : "failed";
}

/* Is a child run that has not ended waiting for a person, or stopped? */
static bool is_awaiting_input(const struct mortise_head_copy *head)
{
    return head->status == MORTISE_RUN_PAUSED ||
           head->status == MORTISE_RUN_IN_DOUBT ||
           head->status == MORTISE_RUN_BLOCKED ||
           (head->status == MORTISE_RUN_WAITING &&
            (strcmp(head->reason, "human") == 0 ||
             strcmp(head->reason, "approval") == 0));
}

/* The result of a native child is {output: artifacts} or {error}; that of any
 * other child is free-form. */
static int put_task_result(json_t *task, const struct mortise_spawn *s)
{
    json_t *all = NULL, *error, *output;
    int rv = 0;

    if (s->result == NULL)
        return 0;
    if (mortise_json_parse_written(&all, s->result, s->result_size, NULL) !=
        MORTISE_OK)
        return -1;
    error = s->native ? json_object_get(all, "error") : NULL;
    output = s->native
                 ? json_object_get(json_object_get(all, "output"), "result")
                 : all;
    if (error != NULL)
        rv = json_object_set(task, "error", error);
    else if (output != NULL)
        rv = json_object_set(task, "result", output);
    json_decref(all);
    return rv;
}

static json_t *encode_task(const char *parent, const char *id,
                           const struct mortise_spawn *s)
{
    const char *status = mortise_spawn_status_name((int)s->status);
    char handle[MORTISE_SPAWN_HANDLE_MAX];

    mortise_spawns_print_handle(handle, parent, id);
    return json_pack(
        "{s:s, s:s, s:s, s:I, s:s*, s:o*, s:s*, s:s*}", "task", handle, "name",
        s->name, "state", get_task_state(s), "attempt", (json_int_t)s->attempt,
        "child", s->child[0] != '\0' ? s->child : NULL, "detached",
        s->detached ? json_true() : NULL, "progress",
        s->progress[0] != '\0' ? s->progress : NULL, "status", status);
}

/* ---- answers ------------------------------------------------------------ */

/* Takes the value (NULL: memory ran out). */
static void answer_task_call(struct mortise_asked *a, json_t *value)
{
    if (value != NULL)
        mortise_host_call_answer(a, MORTISE_S_OK, value, "");
    else
        mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
}

static void fail_task_memory(struct mortise_asked *a)
{
    mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
}

/* Is the handle one of this run's?  If not, the call is answered. */
static bool is_own_handle(struct mortise_asked *a,
                          char parent[MORTISE_NAME_MAX + 1],
                          char id[MORTISE_SPAWN_ID])
{
    struct mortise_err err;

    if (mortise_handles_parse(a, parent, id))
        return true;
    mortise_fail(&err, MORTISE_ENOTFOUND, "this run has no such task");
    mortise_handles_answer_error(a, MORTISE_ENOTFOUND, &err);
    return false;
}

/* ---- spawn.list/1 ------------------------------------------------------- */

struct listing {
    struct mortise *m;
    struct mortise_asked *asked; /* NULL: the call was cancelled */
    struct mortise_read read;
    struct mortise_stored_read stored;
    char tenant[MORTISE_NAME_MAX + 1], parent[MORTISE_NAME_MAX + 1];
    char id[MORTISE_SPAWN_ID]; /* the requested one */
    bool whole;                /* one handle was requested: add its result */
    json_t *tasks;
    size_t next; /* index of the next task to check */
    bool starved;
};

static void cancel_listing(struct mortise_asked *a)
{
    struct listing *l = a->data;

    if (l != NULL)
        l->asked = NULL;
    a->data = NULL;
}

/* Answer with the list, or that memory ran out. */
static void finish_listing(struct listing *l)
{
    struct mortise_asked *a = l->asked;

    if (a != NULL) {
        a->data = NULL;
        answer_task_call(a, l->starved ? NULL
                                       : json_pack("{s:O}", "tasks", l->tasks));
    }
    json_decref(l->tasks);
    mortise_release(l->m->mem, l, sizeof *l);
}

static int add_task_to_listing(void *ud, const char *tenant, const char *parent,
                               const char *id, const struct mortise_spawn *s)
{
    struct listing *l = ud;
    json_t *task = encode_task(parent, id, s);

    (void)tenant;
    if (task != NULL &&
        ((l->whole && put_task_result(task, s) != 0) ||
         /* mark it for read_next_child_head() */
         (s->native && s->state == MORTISE_SPAWN_RUNNING &&
          json_object_set_new(task, "looks", json_true()) != 0)))
        mortise_json_clear_ref(&task);
    l->starved |= json_array_append_new(l->tasks, task) != 0;
    return 0;
}

static void read_next_child_head(struct listing *l);

static void on_child_head_read(struct mortise_stored_read *s, int rv,
                               const struct mortise_err *err)
{
    struct listing *l = MORTISE_CONTAINER_OF(s, struct listing, stored);
    json_t *task = json_array_get(l->tasks, l->next++);

    (void)err; /* ignored: the run was removed, and the handle tells enough */
    if (rv == MORTISE_OK && is_awaiting_input(&s->head))
        l->starved |= json_object_set_new(task, "state",
                                          json_string("awaiting_input")) != 0;
    mortise_stored_finish(s);
    read_next_child_head(l);
}

static void read_next_child_head(struct listing *l)
{
    for (; !l->starved && l->next < json_array_size(l->tasks); l->next++) {
        json_t *task = json_array_get(l->tasks, l->next);

        if (json_object_del(task, "looks") != 0)
            continue;
        memset(&l->stored, 0, sizeof l->stored);
        mortise_stored_read_head(
            l->m, &l->stored, l->tenant,
            json_string_value(json_object_get(task, "child")),
            on_child_head_read);
        return;
    }
    finish_listing(l);
}

static void on_handles_read(struct mortise_read *r, int rv,
                            const struct mortise_err *err)
{
    struct listing *l = MORTISE_CONTAINER_OF(r, struct listing, read);
    struct mortise_err why = *err;

    if (rv == MORTISE_OK) {
        read_next_child_head(l);
        return;
    }
    if (rv == MORTISE_ENOTFOUND)
        mortise_fail(&why, rv, "this run has no such task");
    if (l->asked != NULL) {
        l->asked->data = NULL;
        mortise_handles_answer_error(l->asked, rv, &why);
        l->asked = NULL;
    }
    finish_listing(l);
}

static int32_t check_spawn_list(struct mortise_asked *a, char *words)
{
    static const char *const members[] = {"handle", NULL};
    int32_t status =
        mortise_handles_check_members(a, members, "{handle?}", words);

    return status == MORTISE_S_OK
               ? mortise_handles_check_text(
                     a, "handle", MORTISE_SPAWN_HANDLE_MAX - 1, true, words)
               : status;
}

static void start_spawn_list(struct mortise_asked *a)
{
    bool whole = mortise_handles_get_text(a, "handle") != NULL;
    struct listing *l = mortise_zalloc(a->m->mem, sizeof *l);

    if (l == NULL || (l->tasks = json_array()) == NULL) {
        mortise_release(a->m->mem, l, l != NULL ? sizeof *l : 0);
        fail_task_memory(a);
        return;
    }
    l->m = a->m;
    l->whole = whole;
    strcpy(l->tenant, a->live->tenant); /* live.c admits no longer name */
    strcpy(l->parent, a->live->id);
    if (whole && !is_own_handle(a, l->parent, l->id)) {
        finish_listing(l);
        return;
    }
    l->asked = a;
    a->data = l;
    l->read = (struct mortise_read){.kind = whole ? MORTISE_READ_SPAWN
                                                  : MORTISE_READ_SPAWNS,
                                    .tenant = l->tenant,
                                    .run = l->parent,
                                    .id = l->id,
                                    .spawn = add_task_to_listing,
                                    .ud = l,
                                    .done = on_handles_read};
    mortise_store_read(l->m->store, &l->read);
}

const struct mortise_host_call_method mortise_host_call_spawn_list = {
    .effect = MORTISE_HOST_CALL_GET,
    .check = check_spawn_list,
    .start = start_spawn_list,
    .cancel = cancel_listing,
};

/* ---- spawn.message/1 and spawn.cancel/1 (2) ----------------------------- */

struct saying {
    struct mortise *m;
    struct mortise_asked *asked; /* NULL: the call was cancelled */
    struct mortise_read read;
    struct mortise_task task;
    struct mortise_order order;
    struct mortise_run_command command;
    char tenant[MORTISE_NAME_MAX + 1], parent[MORTISE_NAME_MAX + 1];
    char id[MORTISE_SPAWN_ID], child[MORTISE_SPAWN_TEXT + 1];
    char said[MORTISE_SPAWN_ID]; /* the order's id */
    char actor[sizeof "run " + MORTISE_NAME_MAX];
    uint32_t attempt; /* 0: any */
    bool is_cancel, is_over;
    json_t *text;  /* of a message; NULL for a cancel */
    json_t *after; /* the answer on success */
    int rv;        /* result of checking the handle; see `why` */
    struct mortise_err why;
};

static void free_child_order(struct saying *s)
{
    json_decref(s->text);
    json_decref(s->after);
    mortise_release(s->m->mem, s, sizeof *s);
}

static void cancel_child_order(struct mortise_asked *a)
{
    struct saying *s = a->data;

    if (s != NULL)
        s->asked = NULL;
    a->data = NULL;
}

static void finish_child_order(struct saying *s, int rv,
                               const struct mortise_err *err)
{
    struct mortise_asked *a = s->asked;

    if (a != NULL) {
        a->data = NULL;
        if (rv == MORTISE_OK)
            answer_task_call(a, json_incref(s->after));
        else
            mortise_handles_answer_error(a, rv, err);
    }
    free_child_order(s);
}

/* The child took the order, or has ended.  A cancel of an ended child succeeds
 * (4); a message to it fails. */
static void on_child_order_done(struct mortise_order *o,
                                const struct mortise_err *err)
{
    struct saying *s = MORTISE_CONTAINER_OF(o, struct saying, order);
    struct mortise_err why = *err;

    if (err->code != MORTISE_ESTATE)
        finish_child_order(s, err->code, err);
    else if (s->is_cancel)
        finish_child_order(s, MORTISE_OK, err);
    else
        finish_child_order(
            s,
            mortise_fail(&why, MORTISE_EALREADY_SETTLED,
                         "the task ended before it received the message"),
            &why);
}

/* Check that the child can get the order, and prepare the answer. */
static int check_order_target(void *ud, const char *tenant, const char *parent,
                              const char *id, const struct mortise_spawn *w)
{
    struct saying *s = ud;
    char handle[MORTISE_SPAWN_HANDLE_MAX];
    const char *state;

    (void)tenant;
    mortise_spawns_print_handle(handle, parent, id);
    s->is_over = mortise_spawn_has_ended(w);
    s->rv = s->is_cancel && s->is_over
                ? MORTISE_OK
                : mortise_spawn_can_receive(w, s->attempt, &s->why);
    if (s->rv != MORTISE_OK)
        return 0;
    strcpy(s->child, w->child); /* the id of a native child's run */
    state = s->is_cancel && !s->is_over ? "cancelled" : get_task_state(w);
    s->after = json_pack("{s:s, s:s, s:s}", "handle", handle, "name", w->name,
                         "state", state);
    if (s->after == NULL)
        s->rv = mortise_nomem(&s->why);
    return 0;
}

/* As a task of the loop, after the calling run's step, because this changes
 * another run. */
static void send_child_order(struct mortise_task *t)
{
    struct saying *s = MORTISE_CONTAINER_OF(t, struct saying, task);

    mortise_live_send_order(s->m, s->tenant, s->child, &s->order);
}

static void on_task_handle_read(struct mortise_read *r, int rv,
                                const struct mortise_err *err)
{
    struct saying *s = MORTISE_CONTAINER_OF(r, struct saying, read);
    struct mortise_err why = *err;

    if (rv == MORTISE_ENOTFOUND)
        mortise_fail(&why, rv, "this run has no such task");
    if (rv == MORTISE_OK && s->rv != MORTISE_OK) {
        rv = s->rv;
        why = s->why;
    }
    if (rv != MORTISE_OK || s->is_over) {
        finish_child_order(s, rv, &why);
        return;
    }
    s->order = (struct mortise_order){.id = s->said,
                                      .list = &s->command,
                                      .n = 1,
                                      .actor = s->actor,
                                      .done = on_child_order_done};
    s->task.run = send_child_order;
    mortise_task_make_ready(s->m, &s->task);
}

/* Hash the caller, the step and the body. */
static int make_child_order_id(char id[MORTISE_SPAWN_ID],
                               const struct mortise_asked *a)
{
    uint8_t body[MORTISE_DIGEST], digest[MORTISE_DIGEST];
    struct mortise_hasher h;
    int rv = mortise_json_digest(body, a->body, a->m->mem);

    if (rv != MORTISE_OK)
        return rv;
    mortise_hasher_init(&h);
    mortise_hasher_add_str(&h, a->method_name);
    mortise_hasher_add_str(&h, a->live->id);
    mortise_hasher_add_str(&h, a->node_path);
    mortise_hasher_add_str(&h, json_string_value(a->name));
    mortise_hasher_add_field(&h, body, sizeof body);
    mortise_hasher_final(&h, digest);
    mortise_hex_encode(id, digest, (MORTISE_SPAWN_ID - 1) / 2);
    return MORTISE_OK;
}

/* A string as it is, any other value as JSON. */
static json_t *encode_message_text(const struct mortise_asked *a)
{
    json_t *message = json_object_get(a->body, "message"), *out;
    char *text;

    if (json_is_string(message))
        return json_incref(message);
    text = mortise_json_to_text(a->m->mem, message);
    out = text != NULL ? json_string(text) : NULL;
    mortise_release_str(a->m->mem, text);
    return out;
}

static void start_child_order(struct mortise_asked *a, bool is_cancel)
{
    struct saying *s;

    if (mortise_secret_store_has_secret_in(a->m->secret_store, a->body)) {
        mortise_host_call_answer(a, MORTISE_S_DENIED, NULL,
                                 "a value to be stored contains a secret");
        return;
    }
    s = mortise_zalloc(a->m->mem, sizeof *s);
    if (s == NULL) {
        fail_task_memory(a);
        return;
    }
    s->m = a->m;
    s->is_cancel = is_cancel;
    s->attempt =
        (uint32_t)json_integer_value(json_object_get(a->body, "attempt"));
    s->text = is_cancel ? NULL : encode_message_text(a);
    if (make_child_order_id(s->said, a) != MORTISE_OK ||
        (!is_cancel && s->text == NULL)) {
        free_child_order(s);
        fail_task_memory(a);
        return;
    }
    strcpy(s->tenant, a->live->tenant); /* live.c admits no longer name */
    if (!is_own_handle(a, s->parent, s->id)) {
        free_child_order(s);
        return;
    }
    snprintf(s->actor, sizeof s->actor, "run %s", s->parent);
    s->command =
        is_cancel ? (struct mortise_run_command){.kind = MORTISE_CMD_CANCEL,
                                                 .reason = "its parent's agent "
                                                           "cancelled it"}
                  : (struct mortise_run_command){.kind = MORTISE_CMD_TELL,
                                                 .value = s->text,
                                                 .node = "agent"};
    s->asked = a;
    a->data = s;
    s->read = (struct mortise_read){.kind = MORTISE_READ_SPAWN,
                                    .tenant = s->tenant,
                                    .run = s->parent,
                                    .id = s->id,
                                    .spawn = check_order_target,
                                    .ud = s,
                                    .done = on_task_handle_read};
    mortise_store_read(s->m->store, &s->read);
}

static int32_t check_child_order(const struct mortise_asked *a, bool is_cancel,
                                 char *words)
{
    static const char *const members[] = {"handle", "attempt", "message", NULL},
                             *const fewer[] = {"handle", "attempt", NULL};
    int32_t status = mortise_handles_check_members(
        a, is_cancel ? fewer : members,
        is_cancel ? "{step, handle, attempt?}"
                  : "{step, handle, message, attempt?}",
        words);

    if (status == MORTISE_S_OK)
        status = mortise_handles_check_text(
            a, "handle", MORTISE_SPAWN_HANDLE_MAX - 1, false, words);
    if (status == MORTISE_S_OK)
        status = mortise_handles_check_attempt(
            json_object_get(a->body, "attempt"), words);
    if (status == MORTISE_S_OK && !is_cancel &&
        json_object_get(a->body, "message") == NULL)
        status = mortise_ask_format_error(words, MORTISE_S_INVALID,
                                          "%s needs a message", a->method_name);
    if (status == MORTISE_S_OK && a->name == NULL)
        status = mortise_ask_format_error(
            words, MORTISE_S_INVALID,
            "%s needs a name (step), so that the message is delivered once",
            a->method_name);
    return status;
}

static int32_t check_spawn_message(struct mortise_asked *a, char *words)
{
    return check_child_order(a, false, words);
}

static int32_t check_spawn_cancel(struct mortise_asked *a, char *words)
{
    return check_child_order(a, true, words);
}

static void start_spawn_message(struct mortise_asked *a)
{
    start_child_order(a, false);
}

static void start_spawn_cancel(struct mortise_asked *a)
{
    start_child_order(a, true);
}

const struct mortise_host_call_method mortise_host_call_spawn_message = {
    .effect = MORTISE_HOST_CALL_READ,
    .check = check_spawn_message,
    .start = start_spawn_message,
    .cancel = cancel_child_order,
};

const struct mortise_host_call_method mortise_host_call_spawn_cancel = {
    .effect = MORTISE_HOST_CALL_READ,
    .check = check_spawn_cancel,
    .start = start_spawn_cancel,
    .cancel = cancel_child_order,
};
