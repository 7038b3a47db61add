/* tasks.c -- what a run asks of its children, and says to them:
 *
 *   spawn.list/1    {handle?}                     {tasks: [TASK ...]}
 *   spawn.message/1 {handle, message, attempt?}   {handle, name, state}
 *   spawn.cancel/1  {handle, attempt?}            {handle, name, state}
 *
 * TASK is {task, name, state, attempt, child?, detached?, progress?, status?}, `task`
 * the handle; of one that was asked for by its handle {result?, error?} besides.
 *
 *   (1) A task is queued until its child begins; running; awaiting_input while its
 *       child, a run, waits for people, or stands still until somebody says
 *       otherwise; and then succeeded, failed or cancelled.  `status` says how, where
 *       there is more to say.
 *   (2) What is said is said once, however often it is asked for under the same
 *       step: it is an order of the child's (core/run/state/order.c), whose id is a hash
 *       of who asked, under which step, and what.  Both methods need the step's
 *       name.
 *   (3) What is about an attempt that the child does not make is refused as a whole.
 *   (4) To cancel what is over is fine, and changes nothing. */
#include <stdio.h>
#include <string.h>

#include "core/engine/common/secret_store.h"
#include "services/spawn/handles.h"
#include "core/engine/runs/call.h"

/* ---- states (1) ----------------------------------------------------------- */

static const char *state_of(const struct mortise_spawn *s)
{
    if (!mortise_spawn_is_over(s))
        return s->state == MORTISE_SPAWN_RUNNING ? "running" : "queued";
    return s->status == MORTISE_SPAWN_COMPLETED   ? "succeeded"
           : s->status == MORTISE_SPAWN_CANCELLED ? "cancelled"
                                                  : "failed";
}

/* A child, a run that has not ended, waits for people, or stands still. */
static bool awaits_input(const struct mortise_head_copy *head)
{
    return head->status == MORTISE_RUN_PAUSED ||
           head->status == MORTISE_RUN_IN_DOUBT ||
           head->status == MORTISE_RUN_BLOCKED ||
           (head->status == MORTISE_RUN_WAITING &&
            (strcmp(head->reason, "human") == 0 ||
             strcmp(head->reason, "approval") == 0));
}

/* Of a native child that is {output: artifacts} or {error}; of another's it is
 * whatever its claimer said. */
static int put_result(json_t *task, const struct mortise_spawn *s)
{
    json_t *all = NULL, *error, *output;
    int rv = 0;

    if (s->result == NULL)
        return 0;
    if (mortise_json_read(&all, s->result, s->result_size, NULL) != MORTISE_OK)
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

static json_t *task_of(const char *parent, const char *id,
                       const struct mortise_spawn *s)
{
    const char *status = mortise_spawn_status_name((int)s->status);
    char handle[MORTISE_SPAWN_HANDLE_MAX];

    mortise_spawns_handle(handle, parent, id);
    return json_pack(
        "{s:s, s:s, s:s, s:I, s:s*, s:o*, s:s*, s:s*}", "task", handle, "name",
        s->name, "state", state_of(s), "attempt", (json_int_t)s->attempt,
        "child", s->child[0] != '\0' ? s->child : NULL, "detached",
        s->detached ? json_true() : NULL, "progress",
        s->progress[0] != '\0' ? s->progress : NULL, "status", status);
}

/* ---- asking --------------------------------------------------------------- */

/* Takes the value (NULL: memory ran out). */
static void answer(struct mortise_asked *a, json_t *value)
{
    if (value != NULL)
        mortise_host_call_answer(a, MORTISE_S_OK, value, "");
    else
        mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
}

static void starve(struct mortise_asked *a)
{
    mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
}

/* A handle of this run's; else it is answered. */
static bool is_own(struct mortise_asked *a, char parent[MORTISE_NAME_MAX + 1],
                   char id[MORTISE_SPAWN_ID])
{
    struct mortise_err err;

    if (mortise_handles_parse(a, parent, id))
        return true;
    mortise_fail(&err, MORTISE_ENOTFOUND, "this run has no such task");
    mortise_handles_answer_error(a, MORTISE_ENOTFOUND, &err);
    return false;
}

/* ---- the list ------------------------------------------------------------- */

struct listing {
    struct mortise *m;
    struct mortise_asked *asked; /* NULL: it was let go of */
    struct mortise_read read;
    struct mortise_stored stored;
    char tenant[MORTISE_NAME_MAX + 1], parent[MORTISE_NAME_MAX + 1];
    char id[MORTISE_SPAWN_ID]; /* of the one that is asked for */
    bool whole;                /* it is, with what it came to */
    json_t *tasks;
    size_t next; /* whose run is looked at next */
    bool starved;
};

static void let_list(struct mortise_asked *a)
{
    struct listing *l = a->data;

    if (l != NULL)
        l->asked = NULL;
    a->data = NULL;
}

/* With that list, or for want of memory. */
static void listing_end(struct listing *l)
{
    struct mortise_asked *a = l->asked;

    if (a != NULL) {
        a->data = NULL;
        answer(a, l->starved ? NULL : json_pack("{s:O}", "tasks", l->tasks));
    }
    json_decref(l->tasks);
    mortise_release(l->m->mem, l, sizeof *l);
}

static int list_one(void *ud, const char *tenant, const char *parent,
                    const char *id, const struct mortise_spawn *s)
{
    struct listing *l = ud;
    json_t *task = task_of(parent, id, s);

    (void)tenant;
    if (task != NULL &&
        ((l->whole && put_result(task, s) != 0) ||
         /* for look(): its run says more */
         (s->native && s->state == MORTISE_SPAWN_RUNNING &&
          json_object_set_new(task, "looks", json_true()) != 0)))
        mortise_json_drop(&task);
    l->starved |= json_array_append_new(l->tasks, task) != 0;
    return 0;
}

static void look(struct listing *l);

static void head_read(struct mortise_stored *s, int rv,
                      const struct mortise_err *err)
{
    struct listing *l = MORTISE_OF(s, struct listing, stored);
    json_t *task = json_array_get(l->tasks, l->next++);

    (void)err; /* of one that was removed meanwhile the handle says enough */
    if (rv == MORTISE_OK && awaits_input(&s->head))
        l->starved |= json_object_set_new(task, "state",
                                          json_string("awaiting_input")) != 0;
    mortise_stored_finish(s);
    look(l);
}

static void look(struct listing *l)
{
    for (; !l->starved && l->next < json_array_size(l->tasks); l->next++) {
        json_t *task = json_array_get(l->tasks, l->next);

        if (json_object_del(task, "looks") != 0)
            continue;
        memset(&l->stored, 0, sizeof l->stored);
        mortise_stored_head(l->m, &l->stored, l->tenant,
                            json_string_value(json_object_get(task, "child")),
                            head_read);
        return;
    }
    listing_end(l);
}

static void handles_read(struct mortise_read *r, int rv,
                         const struct mortise_err *err)
{
    struct listing *l = MORTISE_OF(r, struct listing, read);
    struct mortise_err why = *err;

    if (rv == MORTISE_OK) {
        look(l);
        return;
    }
    if (rv == MORTISE_ENOTFOUND)
        mortise_fail(&why, rv, "this run has no such task");
    if (l->asked != NULL) {
        l->asked->data = NULL;
        mortise_handles_answer_error(l->asked, rv, &why);
        l->asked = NULL;
    }
    listing_end(l);
}

static int32_t check_list(struct mortise_asked *a, char *words)
{
    static const char *const members[] = {"handle", NULL};
    int32_t status =
        mortise_handles_check_members(a, members, "{handle?}", words);

    return status == MORTISE_S_OK
               ? mortise_handles_check_text(
                     a, "handle", MORTISE_SPAWN_HANDLE_MAX - 1, true, words)
               : status;
}

static void start_list(struct mortise_asked *a)
{
    bool whole = mortise_handles_text(a, "handle") != NULL;
    struct listing *l = mortise_zalloc(a->m->mem, sizeof *l);

    if (l == NULL || (l->tasks = json_array()) == NULL) {
        mortise_release(a->m->mem, l, l != NULL ? sizeof *l : 0);
        starve(a);
        return;
    }
    l->m = a->m;
    l->whole = whole;
    strcpy(l->tenant, a->live->tenant); /* live.c lets no longer name in */
    strcpy(l->parent, a->live->id);
    if (whole && !is_own(a, l->parent, l->id)) {
        listing_end(l);
        return;
    }
    l->asked = a;
    a->data = l;
    l->read = (struct mortise_read){.kind = whole ? MORTISE_READ_SPAWN
                                                  : MORTISE_READ_SPAWNS,
                                    .tenant = l->tenant,
                                    .run = l->parent,
                                    .id = l->id,
                                    .spawn = list_one,
                                    .ud = l,
                                    .done = handles_read};
    mortise_store_read(l->m->store, &l->read);
}

const struct mortise_host_call_method mortise_host_call_spawn_list = {
    .effect = MORTISE_HOST_CALL_GET,
    .check = check_list,
    .start = start_list,
    .cancel = let_list,
};

/* ---- saying (2) ------------------------------------------------------------ */

struct saying {
    struct mortise *m;
    struct mortise_asked *asked; /* NULL: it was let go of */
    struct mortise_read read;
    struct mortise_task task;
    struct mortise_order order;
    struct mortise_run_command command;
    char tenant[MORTISE_NAME_MAX + 1], parent[MORTISE_NAME_MAX + 1];
    char id[MORTISE_SPAWN_ID], child[MORTISE_SPAWN_TEXT + 1];
    char said[MORTISE_SPAWN_ID]; /* the order's id */
    char actor[sizeof "run " + MORTISE_NAME_MAX];
    uint32_t attempt; /* 0: whichever */
    bool is_cancel, is_over;
    json_t *text;  /* of a message */
    json_t *after; /* the answer, if it is heard */
    int rv;        /* of the handle, with words */
    struct mortise_err why;
};

static void saying_free(struct saying *s)
{
    json_decref(s->text);
    json_decref(s->after);
    mortise_release(s->m->mem, s, sizeof *s);
}

static void let_say(struct mortise_asked *a)
{
    struct saying *s = a->data;

    if (s != NULL)
        s->asked = NULL;
    a->data = NULL;
}

static void saying_end(struct saying *s, int rv, const struct mortise_err *err)
{
    struct mortise_asked *a = s->asked;

    if (a != NULL) {
        a->data = NULL;
        if (rv == MORTISE_OK)
            answer(a, json_incref(s->after));
        else
            mortise_handles_answer_error(a, rv, err);
    }
    saying_free(s);
}

/* Who has ended meanwhile hears nothing, and need not be cancelled (4). */
static void said(struct mortise_order *o, const struct mortise_err *err)
{
    struct saying *s = MORTISE_OF(o, struct saying, order);
    struct mortise_err why = *err;

    if (err->code != MORTISE_ESTATE)
        saying_end(s, err->code, err);
    else if (s->is_cancel)
        saying_end(s, MORTISE_OK, err);
    else
        saying_end(
            s,
            mortise_fail(&why, MORTISE_EALREADY_SETTLED,
                         "the task ended before it received the message"),
            &why);
}

/* What is known of it: may it be told, and what will its state be? */
static int weigh_handle(void *ud, const char *tenant, const char *parent,
                        const char *id, const struct mortise_spawn *w)
{
    struct saying *s = ud;
    char handle[MORTISE_SPAWN_HANDLE_MAX];
    const char *state;

    (void)tenant;
    mortise_spawns_handle(handle, parent, id);
    s->is_over = mortise_spawn_is_over(w);
    s->rv = s->is_cancel && s->is_over
                ? MORTISE_OK
                : mortise_spawn_hears(w, s->attempt, &s->why);
    if (s->rv != MORTISE_OK)
        return 0;
    strcpy(s->child, w->child); /* a native one's, which is an id */
    state = s->is_cancel && !s->is_over ? "cancelled" : state_of(w);
    s->after = json_pack("{s:s, s:s, s:s}", "handle", handle, "name", w->name,
                         "state", state);
    if (s->after == NULL)
        s->rv = mortise_nomem(&s->why);
    return 0;
}

/* Behind the step of the run that asks: another one hears it here. */
static void order(struct mortise_task *t)
{
    struct saying *s = MORTISE_OF(t, struct saying, task);

    mortise_live_command(s->m, s->tenant, s->child, &s->order);
}

static void handle_read(struct mortise_read *r, int rv,
                        const struct mortise_err *err)
{
    struct saying *s = MORTISE_OF(r, struct saying, read);
    struct mortise_err why = *err;

    if (rv == MORTISE_ENOTFOUND)
        mortise_fail(&why, rv, "this run has no such task");
    if (rv == MORTISE_OK && s->rv != MORTISE_OK) {
        rv = s->rv;
        why = s->why;
    }
    if (rv != MORTISE_OK || s->is_over) {
        saying_end(s, rv, &why);
        return;
    }
    s->order = (struct mortise_order){.id = s->said,
                                      .list = &s->command,
                                      .n = 1,
                                      .actor = s->actor,
                                      .done = said};
    s->task.run = order;
    mortise_ready(s->m, &s->task);
}

/* Whose it is, under which step, and what. */
static int name_order(char id[MORTISE_SPAWN_ID], const struct mortise_asked *a)
{
    uint8_t body[MORTISE_DIGEST], digest[MORTISE_DIGEST];
    struct mortise_hasher h;
    int rv = mortise_json_digest(body, a->body, a->m->mem);

    if (rv != MORTISE_OK)
        return rv;
    mortise_hasher_init(&h);
    mortise_hasher_str(&h, a->method_name);
    mortise_hasher_str(&h, a->live->id);
    mortise_hasher_str(&h, a->node_path);
    mortise_hasher_str(&h, json_string_value(a->name));
    mortise_hasher_field(&h, body, sizeof body);
    mortise_hasher_final(&h, digest);
    mortise_hex(id, digest, (MORTISE_SPAWN_ID - 1) / 2);
    return MORTISE_OK;
}

/* A text is itself, any other value its JSON. */
static json_t *text_of(const struct mortise_asked *a)
{
    json_t *message = json_object_get(a->body, "message"), *out;
    char *text;

    if (json_is_string(message))
        return json_incref(message);
    text = mortise_json_text(a->m->mem, message);
    out = text != NULL ? json_string(text) : NULL;
    mortise_release_str(a->m->mem, text);
    return out;
}

static void say(struct mortise_asked *a, bool is_cancel)
{
    struct saying *s;

    if (mortise_secret_store_tells(a->m->secret_store, a->body)) {
        mortise_host_call_answer(a, MORTISE_S_DENIED, NULL,
                                 "a value to be stored contains a secret");
        return;
    }
    s = mortise_zalloc(a->m->mem, sizeof *s);
    if (s == NULL) {
        starve(a);
        return;
    }
    s->m = a->m;
    s->is_cancel = is_cancel;
    s->attempt =
        (uint32_t)json_integer_value(json_object_get(a->body, "attempt"));
    s->text = is_cancel ? NULL : text_of(a);
    if (name_order(s->said, a) != MORTISE_OK ||
        (!is_cancel && s->text == NULL)) {
        saying_free(s);
        starve(a);
        return;
    }
    strcpy(s->tenant, a->live->tenant); /* live.c lets no longer name in */
    if (!is_own(a, s->parent, s->id)) {
        saying_free(s);
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
                                    .spawn = weigh_handle,
                                    .ud = s,
                                    .done = handle_read};
    mortise_store_read(s->m->store, &s->read);
}

static int32_t check_say(const struct mortise_asked *a, bool is_cancel,
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
        status = mortise_ask_refuse(words, MORTISE_S_INVALID,
                                    "%s needs a message", a->method_name);
    if (status == MORTISE_S_OK && a->name == NULL)
        status = mortise_ask_refuse(
            words, MORTISE_S_INVALID,
            "%s needs a name (step), so that the message is delivered once",
            a->method_name);
    return status;
}

static int32_t check_message(struct mortise_asked *a, char *words)
{
    return check_say(a, false, words);
}

static int32_t check_cancel(struct mortise_asked *a, char *words)
{
    return check_say(a, true, words);
}

static void start_message(struct mortise_asked *a)
{
    say(a, false);
}

static void start_cancel(struct mortise_asked *a)
{
    say(a, true);
}

const struct mortise_host_call_method mortise_host_call_spawn_message = {
    .effect = MORTISE_HOST_CALL_READ,
    .check = check_message,
    .start = start_message,
    .cancel = let_say,
};

const struct mortise_host_call_method mortise_host_call_spawn_cancel = {
    .effect = MORTISE_HOST_CALL_READ,
    .check = check_cancel,
    .start = start_cancel,
    .cancel = let_say,
};
