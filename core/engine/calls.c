/* calls.c -- calls of plugins.
 *
 * Every call goes through a lane: one for each interface of each plugin, which
 * keeps to the concurrency that the manifest declares and holds the rest back,
 * first come, first served.  Inline and async plugins are called on the loop;
 * blocking ones on a worker.  A call ends once, through ended(), as a task: the
 * run that made it hears of it then, if it still is.
 *
 * Cancelling: the plugin is asked, and has MORTISE_QUIESCE_MS to let go.  One
 * that does not is given up: the call is closed, a worker that hangs in it is
 * replaced, and the plugin is not used again.
 *
 * `done` may come on any thread while the loop knows the call; `calls`, the
 * table by id, is changed by the loop alone, under a lock.  A worker holds a
 * reference of its own, as the plugin may finish a call (and the loop forget
 * it) while the worker is still on its way out of it.
 */
#include "engine/engine.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "mortise/plugin.h"

enum {
    ASK_AGAIN_MS = 5, /* a cancel that a worker was not ready for */
    NODE_MAX = 64,    /* of node ids: graph/ lets no longer one in */
    NS_PER_MS = 1000000
};

struct lane {
    struct mortise_hashed entry;
    struct mortise *m;
    const char *plugin; /* the manifest's */
    bool guardrail;
    struct mortise_instance *instance;
    const struct mortise_manifest *manifest;
    enum mortise_threading threading;
    uint32_t limit, running;              /* limit 0: none */
    struct mortise_ongoing *first, *last; /* waiting */
    bool given_up;                        /* a call did not let go */
};

enum state { WAITING = 1, CALLED, ENDED };

struct mortise_ongoing { /* a call */
    struct mortise_hashed by_id, by_run;
    uint64_t id, run_call;
    struct mortise_live *live;
    struct mortise_ongoing *next, *prev; /* of the run's */
    struct mortise_ongoing *behind;      /* in the lane */
    struct lane *lane;                   /* NULL: it never got to one */
    enum state state;
    bool cancelled;
    uint64_t give_up_ns;
    struct mortise_timer quiesce;
    struct mortise_task ended, starved;
    bool is_starved; /* under calls_lock */
    struct mortise_job job;
    atomic_uint refs; /* the loop's, and a worker's */
    const struct mortise_mem *mem;

    /* What the plugin gets. */
    struct mortise_call call;
    char *operation, *body;
    char path[128], key[MORTISE_DIGEST_HEX], run_id[MORTISE_NAME_MAX + 1];
    char node[NODE_MAX + 1];

    /* How it ended; written before `ended` is posted. */
    int32_t status;
    bool violation;
    json_t *output;
    char *message;
    char code[64];
    const char *error_class; /* static */
};

/* ---- records ------------------------------------------------------------ */

/* [any] */
static void unref(struct mortise_ongoing *c)
{
    if (atomic_fetch_sub(&c->refs, 1) != 1)
        return;
    json_decref(c->output);
    mortise_release_str(c->mem, c->message);
    mortise_release_str(c->mem, c->operation);
    mortise_release(c->mem, c->body, c->call.body_size + 1);
    mortise_release(c->mem, c, sizeof *c);
}

static uint64_t run_hash(const struct mortise_live *live, uint64_t run_call)
{
    return mortise_hash_u64s((uint64_t)(uintptr_t)live, run_call);
}

static void enlist(struct mortise_ongoing *c)
{
    struct mortise_live *live = c->live;
    struct mortise *m = live->m;

    c->next = live->calls;
    if (c->next != NULL)
        c->next->prev = c;
    live->calls = c;
    pthread_mutex_lock(&m->calls_lock);
    mortise_table_add(&m->calls, &c->by_id, mortise_hash_u64s(c->id, 0));
    pthread_mutex_unlock(&m->calls_lock);
    mortise_table_add(&m->run_calls, &c->by_run, run_hash(live, c->run_call));
    m->n_calls++;
}

static void delist(struct mortise_ongoing *c)
{
    struct mortise_live *live = c->live;
    struct mortise *m = live->m;

    if (c->prev != NULL)
        c->prev->next = c->next;
    else
        live->calls = c->next;
    if (c->next != NULL)
        c->next->prev = c->prev;
    pthread_mutex_lock(&m->calls_lock);
    mortise_table_remove(&m->calls, &c->by_id);
    pthread_mutex_unlock(&m->calls_lock);
    mortise_table_remove(&m->run_calls, &c->by_run);
    mortise_timer_disarm(&m->timers, &c->quiesce);
    m->n_calls--;
    mortise_live_touch(live);
}

/* [any], with calls_lock. */
static struct mortise_ongoing *find(struct mortise *m, uint64_t id)
{
    struct mortise_hashed *e;

    for (e = mortise_table_find(&m->calls, mortise_hash_u64s(id, 0)); e != NULL;
         e = mortise_table_more(e)) {
        struct mortise_ongoing *c =
            MORTISE_OF(e, struct mortise_ongoing, by_id);

        if (c->id == id)
            return c;
    }
    return NULL;
}

/* NULL when it has ended.  Elsewhere than on the loop only for who knows that
 * it has not. */
static struct mortise_ongoing *call_of(struct mortise *m, uint64_t id)
{
    struct mortise_ongoing *c;

    pthread_mutex_lock(&m->calls_lock);
    c = find(m, id);
    pthread_mutex_unlock(&m->calls_lock);
    return c;
}

/* A task to the loop; without the mailbox when this is the loop.  [any] */
static void post(struct mortise *m, struct mortise_task *t)
{
    if (pthread_equal(m->thread, pthread_self()))
        mortise_ready(m, t);
    else
        mortise_mail_put(&m->mail, t, false);
}

/* ---- how it ended ------------------------------------------------------- */

/* [any] */
static void set_words(struct mortise_ongoing *c, const char *code,
                      const char *error_class, const char *message)
{
    c->message = mortise_strdup(c->mem, message); /* NULL: without words */
    snprintf(c->code, sizeof c->code, "%s", code);
    c->error_class = error_class;
}

/* [any]: before a plugin saw it, or instead of what it said. */
static void set_failed(struct mortise_ongoing *c, int32_t status,
                       const char *code, const char *error_class,
                       const char *message)
{
    c->status = status;
    set_words(c, code, error_class, message);
}

/* [any] */
static const char *class_of(const char *said)
{
    static const char *const classes[] = {"transient", "timeout", "cancelled"};

    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        if (strcmp(said, classes[i]) == 0)
            return classes[i];
    }
    return "permanent";
}

/* [any]: parsed here, once, and off the loop for plugins with threads. */
static void take_output(struct mortise_ongoing *c,
                        const struct mortise_call_done *done)
{
    struct mortise_err err, why;

    if (!done->has_output)
        return;
    if (mortise_json_parse(&c->output, done->output, done->output_size, &err) ==
        MORTISE_OK)
        return;
    c->output = NULL;
    mortise_fail(&why, MORTISE_EINVAL,
                 "plugin '%s' emitted an output that is not JSON: %s",
                 c->lane->plugin, err.msg);
    set_failed(c, MORTISE_S_FAILED, "bad_output", "permanent", why.msg);
}

/* The instance's word that a call ended.  [any] */
static void on_done(void *ud, const struct mortise_call_done *done)
{
    struct mortise *m = ud;
    struct mortise_ongoing *c = call_of(m, done->id);

    assert(c != NULL); /* the instance knows open calls only */
    c->status = done->status;
    c->violation = done->violation;
    if (done->status != MORTISE_S_OK || done->violation)
        set_words(c, done->error_code, class_of(done->error_class),
                  done->message);
    if (done->status == MORTISE_S_OK)
        take_output(c, done);
    post(m, &c->ended);
}

static void feed_result(struct mortise_ongoing *c)
{
    struct mortise_input in = {
        .kind = MORTISE_IN_RESULT,
        .u.result = {.call = c->run_call,
                     .status = c->status,
                     .violation = c->violation,
                     .output = c->output,
                     .message = c->message != NULL ? c->message : "",
                     .error_code = c->code,
                     .error_class =
                         c->error_class != NULL ? c->error_class : ""}};

    mortise_live_feed(c->live, &in);
}

/* ---- lanes -------------------------------------------------------------- */

static void dispatch(struct mortise_ongoing *c);

static void lane_put(struct lane *l, struct mortise_ongoing *c)
{
    c->behind = NULL;
    if (l->first == NULL)
        l->first = c;
    else
        l->last->behind = c;
    l->last = c;
}

/* Take one out of the middle of the queue. */
static void lane_remove(struct lane *l, struct mortise_ongoing *c)
{
    struct mortise_ongoing *before = NULL, *at = l->first;

    for (; at != c; at = at->behind)
        before = at;
    if (before == NULL)
        l->first = c->behind;
    else
        before->behind = c->behind;
    if (l->last == c)
        l->last = before;
}

/* Call whoever waits, as far as the limit allows. */
static void lane_pump(struct lane *l)
{
    struct mortise_ongoing *c;

    while ((c = l->first) != NULL && (l->limit == 0 || l->running < l->limit)) {
        l->first = c->behind;
        dispatch(c);
    }
}

static struct lane *lane_find(struct mortise *m, const char *plugin,
                              bool guardrail)
{
    struct mortise_hashed *e;

    for (e = mortise_table_find(
             &m->lanes, mortise_hash_strs(plugin, guardrail ? "g" : "e"));
         e != NULL; e = mortise_table_more(e)) {
        struct lane *l = MORTISE_OF(e, struct lane, entry);

        if (l->guardrail == guardrail && strcmp(l->plugin, plugin) == 0)
            return l;
    }
    return NULL;
}

static int lane_new(struct mortise *m, struct mortise_instance *i,
                    bool guardrail, struct lane **out, struct mortise_err *err)
{
    const struct mortise_manifest *man = mortise_instance_manifest(i);
    const struct mortise_provides *p =
        guardrail ? &man->guardrail : &man->executor;
    struct lane *l = mortise_zalloc(m->mem, sizeof *l);

    if (l == NULL)
        return mortise_nomem(err);
    l->m = m;
    l->plugin = man->name;
    l->guardrail = guardrail;
    l->instance = i;
    l->manifest = man;
    l->threading = p->threading;
    l->limit = p->concurrency;
    mortise_table_add(&m->lanes, &l->entry,
                      mortise_hash_strs(man->name, guardrail ? "g" : "e"));
    *out = l;
    return MORTISE_OK;
}

/* Start the plugin if it is not started, and find its lane. */
static int lane_get(struct mortise *m, const char *plugin, bool guardrail,
                    struct lane **out, struct mortise_err *err)
{
    struct mortise_instance *i;
    json_t *config;
    int rv;

    *out = lane_find(m, plugin, guardrail);
    if (*out != NULL && !(*out)->given_up)
        return MORTISE_OK;
    config = mortise_deployment_config(m->site.deployment, plugin);
    if (config == NULL)
        return mortise_nomem(err);
    rv = mortise_plugins_start(m->plugins, plugin, config, &i, err);
    json_decref(config);
    if (rv != MORTISE_OK || *out != NULL)
        return rv;
    return lane_new(m, i, guardrail, out, err);
}

/* ---- the end of a call -------------------------------------------------- */

/* It ended, or will never be heard of again; the run is not told here. */
static void forget(struct mortise_ongoing *c)
{
    struct lane *l = c->lane;

    delist(c);
    if (l != NULL && c->state == CALLED) {
        l->running--;
        lane_pump(l);
    }
    c->state = ENDED;
}

static void ended(struct mortise_task *t)
{
    struct mortise_ongoing *c = MORTISE_OF(t, struct mortise_ongoing, ended);

    forget(c);
    feed_result(c);
    unref(c);
}

/* End one that no plugin has: as if it had said so. */
static void end_early(struct mortise_ongoing *c, int32_t status,
                      const char *code, const char *error_class,
                      const char *message)
{
    set_failed(c, status, code, error_class, message);
    mortise_ready(c->live->m, &c->ended);
}

/* ---- calling ------------------------------------------------------------ */

/* [worker] */
static void on_worker(struct mortise_job *j)
{
    struct mortise_ongoing *c = MORTISE_OF(j, struct mortise_ongoing, job);
    struct lane *l = c->lane;
    struct mortise_err err;

    if (mortise_instance_call(l->instance, &c->call, &err) != MORTISE_OK) {
        set_failed(c, MORTISE_S_FAILED, "plugin", "permanent", err.msg);
        post(l->m, &c->ended);
    }
    unref(c);
}

static void dispatch(struct mortise_ongoing *c)
{
    struct lane *l = c->lane;
    struct mortise_err err;
    int rv;

    c->state = CALLED;
    l->running++;
    if (l->given_up) {
        mortise_fail(&err, MORTISE_ESTATE,
                     "plugin '%s' is not used any more: it did not let go of "
                     "an earlier call",
                     l->plugin);
        end_early(c, MORTISE_S_FAILED, "plugin", "permanent", err.msg);
        return;
    }
    if (l->threading == MORTISE_THREAD_BLOCKING) {
        atomic_fetch_add(&c->refs, 1);
        rv = mortise_pool_put(l->m->pool, &c->job, &err);
        if (rv != MORTISE_OK)
            unref(c);
    } else {
        rv = mortise_instance_call(l->instance, &c->call, &err);
    }
    if (rv != MORTISE_OK)
        end_early(c, MORTISE_S_FAILED, "plugin", "permanent", err.msg);
}

static enum mortise_call_kind kind_of(enum mortise_run_call_kind kind)
{
    switch (kind) {
    case MORTISE_RUN_RECONCILE:
        return MORTISE_CALL_RECONCILE;
    case MORTISE_RUN_CHECK:
        return MORTISE_CALL_CHECK;
    case MORTISE_RUN_EXECUTE:
        break;
    }
    return MORTISE_CALL_EXECUTE;
}

/* The strings that the plugin gets, ours until the call is forgotten. */
static int fill_call(struct mortise_ongoing *c,
                     const struct mortise_run_call *rc)
{
    struct mortise_call *to = &c->call;

    c->operation =
        mortise_strdup(c->mem, rc->operation != NULL ? rc->operation : "");
    c->body = mortise_json_text(c->mem, rc->body);
    if (c->operation == NULL || c->body == NULL)
        return MORTISE_ENOMEM;
    memcpy(c->path, rc->path, sizeof c->path);
    memcpy(c->key, rc->key, sizeof c->key);
    snprintf(c->run_id, sizeof c->run_id, "%s", c->live->id);
    snprintf(c->node, sizeof c->node, "%s", rc->node->id);
    to->kind = kind_of(rc->kind);
    to->id = c->id;
    to->attempt = rc->attempt;
    to->visit = rc->visit;
    to->stage = rc->kind == MORTISE_RUN_CHECK ? MORTISE_STAGE_NODE : 0;
    to->deadline_ns = rc->timeout_ms != 0
                          ? mortise_mono_ns() + rc->timeout_ms * NS_PER_MS
                          : 0;
    to->operation = c->operation;
    to->body = c->body;
    to->body_size = strlen(c->body);
    to->run_id = c->run_id;
    to->node_path = c->path;
    to->idempotency_key = c->key;
    return MORTISE_OK;
}

static void quiesce_over(struct mortise_timer *t);
static void starved(struct mortise_task *t);

static struct mortise_ongoing *call_new(struct mortise_live *live,
                                        const struct mortise_run_call *rc)
{
    struct mortise *m = live->m;
    struct mortise_ongoing *c = mortise_zalloc(m->mem, sizeof *c);

    if (c == NULL)
        return NULL;
    c->mem = m->mem;
    c->id = ++m->last_call;
    c->run_call = rc->id;
    c->live = live;
    c->state = WAITING;
    c->quiesce.fire = quiesce_over;
    c->ended.run = ended;
    c->starved.run = starved;
    c->job.run = on_worker;
    atomic_init(&c->refs, 1);
    if (fill_call(c, rc) != MORTISE_OK) {
        unref(c);
        return NULL;
    }
    return c;
}

int mortise_calls_begin(struct mortise_live *live, struct mortise_run_call *rc,
                        struct mortise_err *err)
{
    struct mortise *m = live->m;
    struct mortise_ongoing *c = call_new(live, rc);
    struct mortise_err why;

    if (c == NULL)
        return mortise_nomem(err);
    enlist(c);
    if (lane_get(m, rc->plugin, rc->kind == MORTISE_RUN_CHECK, &c->lane,
                 &why) != MORTISE_OK) {
        c->lane = NULL;
        end_early(c, MORTISE_S_FAILED, "plugin", "permanent", why.msg);
        return MORTISE_OK;
    }
    lane_put(c->lane, c);
    lane_pump(c->lane);
    return MORTISE_OK;
}

/* ---- cancelling --------------------------------------------------------- */

/* It did not let go. */
static void give_up(struct mortise_ongoing *c)
{
    struct mortise_live *live = c->live;
    struct mortise *m = live->m;
    struct lane *l = c->lane;
    struct mortise_input in = {.kind = MORTISE_IN_UNRESPONSIVE,
                               .u.call = c->run_call};
    char why[128];

    snprintf(why, sizeof why,
             "it did not let go of a call within %llu ms of being cancelled",
             (unsigned long long)m->quiesce_ms);
    mortise_log(m, MORTISE_LOG_ERROR, "plugin '%s': %s (node %s of run %s)",
                l->plugin, why, c->path, c->run_id);
    mortise_plugins_quarantine(m->plugins, l->plugin, why);
    l->given_up = true;
    mortise_pool_give_up(m->pool, &c->job);
    forget(c);
    mortise_live_feed(live, &in);
    unref(c);
}

static void ask_to_stop(struct mortise_ongoing *c)
{
    struct mortise *m = c->live->m;
    uint64_t again = mortise_mono_ns() + ASK_AGAIN_MS * (uint64_t)NS_PER_MS;
    bool heard = mortise_instance_cancel(c->lane->instance, c->id);

    mortise_timer_arm(&m->timers, &c->quiesce,
                      heard || again > c->give_up_ns ? c->give_up_ns : again);
}

static void quiesce_over(struct mortise_timer *t)
{
    struct mortise_ongoing *c = MORTISE_OF(t, struct mortise_ongoing, quiesce);

    if (mortise_mono_ns() < c->give_up_ns)
        ask_to_stop(c);
    else if (mortise_instance_abandon(c->lane->instance, c->id))
        give_up(c);
    /* else it has just ended: the task is on its way */
}

static void cancel(struct mortise_ongoing *c)
{
    struct lane *l = c->lane;

    if (c->cancelled || l == NULL)
        return;
    c->cancelled = true;
    if (c->state == WAITING) {
        lane_remove(l, c);
    } else if (l->threading == MORTISE_THREAD_BLOCKING &&
               mortise_pool_take_back(l->m->pool, &c->job)) {
        unref(c); /* the worker's */
    } else {
        c->give_up_ns =
            mortise_mono_ns() + l->m->quiesce_ms * (uint64_t)NS_PER_MS;
        ask_to_stop(c);
        return;
    }
    end_early(c, MORTISE_S_CANCELLED, "cancelled", "cancelled",
              "cancelled before it began");
}

void mortise_calls_cancel(struct mortise_live *live, uint64_t run_call)
{
    struct mortise_hashed *e;

    for (e = mortise_table_find(&live->m->run_calls, run_hash(live, run_call));
         e != NULL; e = mortise_table_more(e)) {
        struct mortise_ongoing *c =
            MORTISE_OF(e, struct mortise_ongoing, by_run);

        if (c->live == live && c->run_call == run_call) {
            cancel(c);
            return;
        }
    }
}

void mortise_calls_cancel_all(struct mortise_live *live)
{
    struct mortise_ongoing *c;

    for (c = live->calls; c != NULL; c = c->next)
        cancel(c);
}

/* ---- what plugins tell and ask ------------------------------------------ */

/* A message from a plugin, on its way to the loop. */
struct message {
    struct mortise_task task;
    struct mortise *m;
    uint64_t call, ask;
    char *text; /* the body; NULL: memory ran out */
    size_t n;
};

static void message_free(struct message *msg)
{
    if (msg->text != NULL)
        mortise_release(msg->m->mem, msg->text, msg->n + 1);
    mortise_release(msg->m->mem, msg, sizeof *msg);
}

/* [any] */
static struct message *message_new(struct mortise *m, uint64_t call,
                                   const char *text, size_t n)
{
    struct message *msg = mortise_zalloc(m->mem, sizeof *msg);

    if (msg == NULL)
        return NULL;
    msg->m = m;
    msg->call = call;
    msg->text = mortise_strndup(m->mem, text, n);
    msg->n = n;
    return msg;
}

/* Progress, to whoever watches. */
static void tell(struct mortise_ongoing *c, json_t *data)
{
    struct mortise_live *live = c->live;
    char at[MORTISE_TIME_TEXT];
    json_t *event;

    mortise_time_text(at, mortise_now_ms());
    event = json_pack("{s:b, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:O}",
                      "ephemeral", 1, "run", live->id, "tenant", live->tenant,
                      "at", at, "type", "progress", "node", c->node, "path",
                      c->path, "attempt", (int)c->call.attempt, "data", data);
    if (event != NULL)
        mortise_watch_publish(live, event);
    json_decref(event);
}

static void event_task(struct mortise_task *t)
{
    struct message *msg = MORTISE_OF(t, struct message, task);
    struct mortise_ongoing *c = call_of(msg->m, msg->call);
    struct mortise_err err;
    json_t *data = NULL;

    if (c != NULL && msg->text != NULL && c->live->topic != NULL) {
        if (mortise_json_parse(&data, msg->text, msg->n, &err) != MORTISE_OK ||
            !json_is_object(data))
            mortise_log(msg->m, MORTISE_LOG_WARN,
                        "plugin '%s' emitted an event that is no JSON object",
                        c->lane->plugin);
        else
            tell(c, data);
        json_decref(data);
    }
    message_free(msg);
}

/* [any] */
static void on_event(void *ud, uint64_t call, const char *json, size_t n)
{
    struct mortise *m = ud;
    struct message *msg = message_new(m, call, json, n);

    if (msg == NULL)
        return; /* progress may be missed */
    msg->task.run = event_task;
    post(m, &msg->task);
}

/* `words`: instead of a value, unless all is well. */
static void answer(struct mortise_ongoing *c, uint64_t ask, int32_t status,
                   const json_t *value, const char *words)
{
    char *text = NULL;

    if (status == MORTISE_S_OK)
        text = mortise_json_text(c->mem, value);
    if (text != NULL) {
        words = text;
    } else if (status == MORTISE_S_OK) {
        status = MORTISE_S_NOMEM;
        words = "out of memory";
    }
    mortise_instance_answer(c->lane->instance, c->id, ask, status, words,
                            strlen(words));
    mortise_release_str(c->mem, text);
}

/* May this plugin read that path? */
static bool may_read(const struct mortise_manifest *man,
                     const struct mortise_path *path, struct mortise_arena *a)
{
    for (size_t i = 0; i < man->n_state_paths; i++) {
        struct mortise_path allowed;
        const char *text = man->state_paths[i];

        if (mortise_path_parse(&allowed, a, text, strlen(text), NULL) ==
                MORTISE_OK &&
            mortise_path_covers(&allowed, path))
            return true;
    }
    return false;
}

/* state.get/1 {path}: what the execution behind the call sees there. */
static int32_t state_get(struct mortise_ongoing *c, const json_t *body,
                         json_t **out, const char **words)
{
    const json_t *text = json_object_get(body, "path");
    struct mortise_path path;
    struct mortise_arena a;
    int32_t status = MORTISE_S_OK;
    json_t *view;

    *words = "a request of state.get/1 is {path}";
    if (!json_is_string(text) || json_object_size(body) != 1)
        return MORTISE_S_INVALID;
    mortise_arena_init(&a, c->mem);
    *words = "that is no path";
    if (mortise_path_parse(&path, &a, json_string_value(text),
                           json_string_length(text), NULL) != MORTISE_OK)
        status = MORTISE_S_INVALID;
    else if (!may_read(c->lane->manifest, &path, &a)) {
        *words = "the manifest's permissions.state does not list that path";
        status = MORTISE_S_DENIED;
    } else if (c->live->lost ||
               (view = mortise_run_view(c->live->run, c->run_call)) == NULL) {
        *words = "the call is over";
        status = MORTISE_S_CANCELLED;
    } else {
        *words = "there is nothing at that path";
        *out = json_incref(mortise_path_get(view, &path));
        json_decref(view);
        if (*out == NULL)
            status = MORTISE_S_NOTFOUND;
    }
    mortise_arena_finish(&a);
    return status;
}

static void serve_ask(struct mortise_ongoing *c, const struct message *msg)
{
    const char *words = "out of memory";
    json_t *body = NULL, *value = NULL;
    int32_t status = MORTISE_S_NOMEM;

    if (msg->text != NULL) {
        words = "the body is not JSON";
        status = MORTISE_S_INVALID;
        if (mortise_json_parse(&body, msg->text, msg->n, NULL) == MORTISE_OK)
            status = state_get(c, body, &value, &words);
    }
    answer(c, msg->ask, status, value, words);
    json_decref(value);
    json_decref(body);
}

/* The call ended before its ask came here, and with it went the knowledge whose
 * it was: every instance is told, and the one that asked knows. */
static void answer_late(struct mortise *m, const struct message *msg)
{
    static const char words[] = "the call is over";
    struct mortise_hashed *e;

    if (m->plugins == NULL)
        return; /* closed: the instance answered it */
    for (e = mortise_table_first(&m->lanes); e != NULL;
         e = mortise_table_next(&m->lanes, e))
        mortise_instance_answer(MORTISE_OF(e, struct lane, entry)->instance,
                                msg->call, msg->ask, MORTISE_S_CANCELLED, words,
                                sizeof words - 1);
}

static void ask_task(struct mortise_task *t)
{
    struct message *msg = MORTISE_OF(t, struct message, task);
    struct mortise_ongoing *c = call_of(msg->m, msg->call);

    if (c != NULL)
        serve_ask(c, msg);
    else
        answer_late(msg->m, msg);
    message_free(msg);
}

/* Not even the ask could be passed on: cancelling answers all of them. */
static void starved(struct mortise_task *t)
{
    struct mortise_ongoing *c = MORTISE_OF(t, struct mortise_ongoing, starved);

    if (c->state == CALLED)
        cancel(c);
    unref(c);
}

/* [any] */
static void on_starved(struct mortise *m, uint64_t call)
{
    struct mortise_ongoing *c;
    bool first = false;

    pthread_mutex_lock(&m->calls_lock);
    c = find(m, call);
    if (c != NULL && !c->is_starved) {
        first = c->is_starved = true;
        atomic_fetch_add(&c->refs, 1);
    }
    pthread_mutex_unlock(&m->calls_lock);
    if (first)
        post(m, &c->starved);
}

/* [any] */
static void on_ask(void *ud, uint64_t call, uint64_t ask, const char *method,
                   const char *body, size_t n)
{
    struct mortise *m = ud;
    struct message *msg = message_new(m, call, body, n);

    /* The instance passes on what the manifest requires, and manifest.c knows
     * one method. */
    assert(strcmp(method, "state.get/1") == 0);
    (void)method;
    if (msg == NULL) {
        on_starved(m, call);
        return;
    }
    msg->ask = ask;
    msg->task.run = ask_task;
    post(m, &msg->task);
}

/* [any] */
static void on_log(void *ud, int level, const char *plugin, const char *text)
{
    mortise_log(ud, level, "plugin '%s': %s", plugin, text);
}

void mortise_calls_ops(struct mortise *m, struct mortise_instance_ops *ops)
{
    *ops = (struct mortise_instance_ops){.ud = m,
                                         .done = on_done,
                                         .event = on_event,
                                         .ask = on_ask,
                                         .log = on_log};
}

/* ---- open and close ----------------------------------------------------- */

int mortise_calls_open(struct mortise *m)
{
    mortise_table_init(&m->lanes, m->mem);
    mortise_table_init(&m->calls, m->mem);
    mortise_table_init(&m->run_calls, m->mem);
    return pthread_mutex_init(&m->calls_lock, NULL) == 0 ? MORTISE_OK
                                                         : MORTISE_ENOMEM;
}

void mortise_calls_close(struct mortise *m)
{
    struct mortise_hashed *e;

    assert(m->n_calls == 0); /* engine.c waited for them */
    while ((e = mortise_table_first(&m->lanes)) != NULL) {
        mortise_table_remove(&m->lanes, e);
        mortise_release(m->mem, MORTISE_OF(e, struct lane, entry),
                        sizeof(struct lane));
    }
    mortise_table_finish(&m->lanes);
    mortise_table_finish(&m->calls);
    mortise_table_finish(&m->run_calls);
    pthread_mutex_destroy(&m->calls_lock);
}
