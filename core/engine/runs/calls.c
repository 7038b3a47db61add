/* calls.c -- plugin calls: queueing, cancellation and timeouts.
 *
 * Queueing    Each interface of a plugin instance has one lane.  A lane runs at
 *             most `concurrency` calls (the manifest's) and queues the rest in
 *             FIFO order.  A call that waits for a child, or for a tool that
 *             may be queued itself, releases its slot if other calls are
 *             queued: it is suspended, and re-entered later.  Otherwise calls
 *             of several runs and plugins could deadlock.
 * Threads     Inline and async plugins are called on the loop, blocking ones on
 *             a worker.
 * Ending      A call ends exactly once, in call_ended(), as a task of the loop.
 *             The run gets the result if it still exists.
 * Cancelling  The plugin gets MORTISE_QUIESCE_MS to return.  After that the
 *             call is closed, a hanging worker is replaced, and the plugin is
 *             quarantined.
 * Timeouts    Each has its own error code:
 *               timeout.start         create() took too long
 *               timeout.call          the node's timeout, which the run
 *                                     measures
 *               timeout.idle          no emit, ask or cancelled() for `idle`; a
 *                                     call that waits for an answer of the host
 *                                     is not idle
 *               timeout.unresponsive  the plugin ignored a cancellation
 *
 * create() runs on the loop and cannot be interrupted; a slow one is reported
 * when it returns.  A plugin that does not return to the loop within its
 * manifest's `idle` ends the process, if the process is ours
 * (core/plugin/watchdog.c).
 *
 * done() may come on any thread while the loop has the call.  `calls`, the
 * table by id, is changed by the loop only, under a lock.  A worker holds its
 * own reference, because the plugin may finish a call, and the loop forget it,
 * before the worker has returned from it.
 */
#include "core/engine/runs/call.h"
#include "core/engine/runs/script.h"
#include "core/engine/runs/streams.h"
#include "core/engine/common/instance_config.h"
#include "core/engine/common/secret_store.h"
#include "core/engine/common/traces.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "mortise/guardrail.h"

enum {
    /* Bytes of an event besides the plugin's data, as needed when the event is
     * held back (held_events.c).  So an event that is accepted here has room
     * there. */
    EVENT_COSTS = 384,
    SAYS_SO_MS = 500, /* time for a plugin to report its timeout itself */
    ASK_AGAIN_MS = 5, /* retry of a cancel that the plugin's worker was not
                         ready for */
    /* Delays between two tries to get a descriptor: doubled each time. */
    SHORT_MS = 50,
    SHORT_MAX_MS = 2000,
    NS_PER_MS = 1000000
};

/* ---- records ------------------------------------------------------------ */

/* [any] */
static void unref_call(struct mortise_plugin_call *c)
{
    if (atomic_fetch_sub(&c->refs, 1) != 1)
        return;
    json_decref(c->output);
    json_decref(c->said);
    json_decref(c->conversation);
    mortise_usage_finish(&c->usage);
    mortise_usage_finish(&c->served);
    mortise_release_str(c->mem, c->message);
    mortise_release_str(c->mem, c->wanted);
    mortise_release(c->mem, c->body, c->body_room);
    mortise_release(c->mem, c, sizeof *c + c->text_size);
}

static uint64_t hash_run_call(const struct mortise_live *live,
                              uint64_t run_call)
{
    return mortise_hash_u64s((uint64_t)(uintptr_t)live, run_call);
}

/* Add to the list of the run's calls, or of the calls without a run. */
static void add_to_call_list(struct mortise_plugin_call *c,
                             struct mortise_plugin_call **first)
{
    c->next = *first;
    c->at = first;
    if (c->next != NULL)
        c->next->at = &c->next;
    *first = c;
}

static void add_ongoing_call(struct mortise_plugin_call *c)
{
    struct mortise_live *live = c->live;
    struct mortise *m = c->m;

    pthread_mutex_lock(&m->calls_lock);
    mortise_table_add(&m->calls, &c->by_id, mortise_hash_u64s(c->id, 0));
    pthread_mutex_unlock(&m->calls_lock);
    if (live != NULL)
        add_to_call_list(c, &live->calls);
    else if (c->is_serving)
        add_to_call_list(c, &m->calls_without_run);
    if (live == NULL) {
        m->n_background++;
        return;
    }
    if (!c->is_serving)
        mortise_table_add(&m->run_calls, &c->by_run,
                          hash_run_call(live, c->run_call));
    m->n_calls++;
}

static void remove_call(struct mortise_plugin_call *c)
{
    struct mortise *m = c->m;

    pthread_mutex_lock(&m->calls_lock);
    mortise_table_remove(&m->calls, &c->by_id);
    pthread_mutex_unlock(&m->calls_lock);
    mortise_timer_disarm(&m->timers, &c->quiesce);
    mortise_timer_disarm(&m->timers, &c->idle);
    mortise_timer_disarm(&m->timers, &c->due);
    mortise_timer_disarm(&m->timers, &c->again);
    if (c->at != NULL)
        *c->at = c->next;
    if (c->next != NULL)
        c->next->at = c->at;
    if (c->live == NULL) {
        m->n_background--;
        return;
    }
    if (!c->is_serving)
        mortise_table_remove(&m->run_calls, &c->by_run);
    m->n_calls--;
    m->n_scripted -= c->scripted;
    mortise_live_queue_check(c->live);
}

/* [any], with calls_lock. */
static struct mortise_plugin_call *find_call_locked(struct mortise *m,
                                                    uint64_t id)
{
    struct mortise_table_entry *e;

    for (e = mortise_table_find(&m->calls, mortise_hash_u64s(id, 0)); e != NULL;
         e = mortise_table_find_next(e)) {
        struct mortise_plugin_call *c =
            MORTISE_CONTAINER_OF(e, struct mortise_plugin_call, by_id);

        if (c->id == id)
            return c;
    }
    return NULL;
}

struct mortise_plugin_call *mortise_call_find(struct mortise *m, uint64_t id)
{
    struct mortise_plugin_call *c;

    pthread_mutex_lock(&m->calls_lock);
    c = find_call_locked(m, id);
    pthread_mutex_unlock(&m->calls_lock);
    return c;
}

void mortise_call_post(struct mortise *m, struct mortise_task *t)
{
    if (pthread_equal(m->thread, pthread_self()))
        mortise_task_make_ready(m, t);
    else
        mortise_task_queue_put(&m->task_queue, t, false);
}

/* ---- results ------------------------------------------------------------- */

/* [any]: fail before a plugin was called, or instead of its result. */
static void set_call_error(struct mortise_plugin_call *c, int32_t status,
                           const char *code, const char *error_class,
                           const char *message)
{
    c->status = status;
    mortise_call_set_error(c, code, error_class, message);
}

/* [any] */
static const char *parse_error_class(const char *said)
{
    static const char *const classes[] = {"transient", "timeout", "cancelled"};

    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        if (strcmp(said, classes[i]) == 0)
            return classes[i];
    }
    return "permanent";
}

/* [any] */
static void set_no_memory_error(struct mortise_plugin_call *c)
{
    set_call_error(c, MORTISE_S_NOMEM, "memory", "transient",
                   "out of memory for the output of the plugin");
}

/* [any]: parse an emitted value; NULL: it is invalid, and the call failed. */
static json_t *parse_emitted_value(struct mortise_plugin_call *c,
                                   const char *what, const char *text, size_t n)
{
    struct mortise_err err, why;
    json_t *value;
    int rv = mortise_json_parse(&value, text, n, &err);

    if (rv == MORTISE_OK) {
        value = mortise_secret_store_mask_json(c->m->secret_store, value);
        if (value != NULL)
            return value;
        rv = MORTISE_ENOMEM;
    }
    if (rv == MORTISE_ENOMEM) {
        set_no_memory_error(c);
        return NULL;
    }
    mortise_fail(&why, MORTISE_EINVAL,
                 "plugin '%s' emitted an %s that is not JSON: %s",
                 c->lane->plugin, what, err.msg);
    set_call_error(c, MORTISE_S_FAILED, "bad_output", "permanent", why.msg);
    return NULL;
}

/* [any]: a target with a secret in it is masked, and so invalid. */
static bool set_target(const struct mortise_plugin_call *c,
                       const struct mortise_call_result *done)
{
    json_t *target = mortise_secret_store_mask_json(c->m->secret_store,
                                                    json_string(done->target));

    return json_object_set_new(c->said, "goto", target) == 0;
}

/* [any]: take `update` and `goto`. */
static void take_update_and_goto(struct mortise_plugin_call *c,
                                 const struct mortise_call_result *done)
{
    json_t *update =
        done->has_update
            ? parse_emitted_value(c, "update", done->update, done->update_size)
            : NULL;

    if (done->has_update && update == NULL)
        return;
    c->said = json_pack("{s:o*}", "update", update);
    if (c->said == NULL || (done->target != NULL && !set_target(c, done)))
        set_no_memory_error(c);
}

/* [any]: parsed here, once, and off the loop for plugins with threads. */
static void take_call_output(struct mortise_plugin_call *c,
                             const struct mortise_call_result *done)
{
    if (done->has_output)
        c->output =
            parse_emitted_value(c, "output", done->output, done->output_size);
    if (c->status == MORTISE_S_OK && (done->has_update || done->target != NULL))
        take_update_and_goto(c, done);
}

/* [any]: mask secrets in names of models; NULL: out of memory. */
static json_t *mask_model_names(const struct mortise_plugin_call *c,
                                const json_t *models)
{
    json_t *out = json_array(), *one;
    size_t i;

    json_array_foreach(mortise_json_unconst(models), i, one)
    {
        json_t *name = mortise_secret_store_mask_json(c->m->secret_store,
                                                      json_incref(one));

        if (json_string_length(name) > MORTISE_USAGE_NAME_MAX) {
            json_decref(name); /* consists of many secrets */
            name = json_string("[secret]");
        }
        if (json_array_append_new(out, name) != 0) {
            json_decref(out);
            return NULL;
        }
    }
    return out;
}

/* [any]: add the usage that the plugin reports.  MORTISE_ENOMEM: a name is
 * missing. */
static int add_reported_usage(struct mortise_plugin_call *c,
                              const struct mortise_usage *said)
{
    struct mortise_usage more = *said;
    int rv;

    more.by_model = NULL; /* masking does not cover its names */
    if (said->models != NULL)
        more.models = mask_model_names(c, said->models);
    rv = mortise_usage_add(&c->usage, &more);
    if (said->models != NULL && more.models == NULL)
        rv = MORTISE_ENOMEM;
    json_decref(more.models);
    return rv;
}

/* The instance reports that a call ended.  [any] */
static void on_call_done(void *ud, const struct mortise_call_result *done)
{
    struct mortise *m = ud;
    struct mortise_plugin_call *c = mortise_call_find(m, done->id);

    assert(c != NULL); /* the instance knows open calls only */
    atomic_store(&c->is_over, true);
    c->status = done->status;
    c->let_go = done->status == MORTISE_S_CANCELLED ||
                done->status == MORTISE_S_TIMEOUT;
    c->violation = done->violation;
    c->plain = done->plain;
    c->retry_after_ms = done->retry_after_ms;
    if (done->status != MORTISE_S_OK || done->violation)
        mortise_call_set_error(c, done->error_code,
                               parse_error_class(done->error_class),
                               done->message);
    c->ending = done->ending;
    if (done->status == MORTISE_S_OK)
        take_call_output(c, done);
    if (add_reported_usage(c, done->usage) != MORTISE_OK)
        set_no_memory_error(c);
    c->mute = done->mute ||
              (done->status == MORTISE_S_OK && c->status != MORTISE_S_OK);
    mortise_call_post(m, &c->ended);
}

/* Its usage, including that of its asks. */
static const struct mortise_usage *
get_total_usage(struct mortise_plugin_call *c)
{
    mortise_usage_add(&c->usage, &c->served);
    mortise_usage_finish(&c->served);
    return &c->usage;
}

/* The call was stopped because of its time limit: report that as the error. */
static void set_overdue_error(struct mortise_plugin_call *c)
{
    char words[128];

    snprintf(words, sizeof words, "the call took longer than %llu ms",
             (unsigned long long)c->may_take_ms);
    set_call_error(c, MORTISE_S_TIMEOUT, "timeout.call", "timeout", words);
}

/* Has the time limit passed?  Its timer may be late, because a plugin can block
 * the loop. */
static bool is_call_overdue(const struct mortise_plugin_call *c)
{
    return c->may_take_ms > 0 && mortise_mono_ns() >= c->due.at_ns;
}

/* Report the result to the ask or operation that the call serves.  A late
 * success counts only for an ask, because it may have cost something. */
static void report_to_served(struct mortise_plugin_call *c)
{
    struct mortise_asked *a = c->serves;
    struct mortise_result_receiver *h = c->result_receiver;
    struct mortise_host_call_result how;

    if (is_call_overdue(c) && (c->status != MORTISE_S_OK || h != NULL))
        set_overdue_error(c);
    how = (struct mortise_host_call_result){
        .status = c->status,
        .output = c->output,
        .usage = get_total_usage(c),
        .violation = c->violation,
        .code = c->code,
        .error_class = c->error_class != NULL ? c->error_class : "",
        .message = c->message != NULL ? c->message : "",
        .retry_after_ms = c->retry_after_ms};
    c->serves = NULL;
    c->result_receiver = NULL;
    if (a != NULL) {
        a->data = NULL;
        a->method->served(a, &how);
    } else if (h != NULL) {
        h->call = NULL;
        h->hear(h, &how);
    }
}

/* Return the additions to the node's conversation besides the output. */
static void return_conversation(struct mortise_plugin_call *c)
{
    if (c->conversation == NULL || c->status != MORTISE_S_OK)
        return;
    if (c->said == NULL)
        c->said = json_object();
    if (json_object_set(c->said, "conversation", c->conversation) != 0)
        set_call_error(c, MORTISE_S_NOMEM, "memory", "transient",
                       "out of memory for the node's conversation");
}

static void feed_call_result(struct mortise_plugin_call *c)
{
    struct mortise_input in;

    return_conversation(c);
    in = (struct mortise_input){
        .kind = MORTISE_IN_RESULT,
        .u.result = {.call = c->run_call,
                     .status = c->status,
                     .violation = c->violation,
                     .output = c->output,
                     .said = c->said,
                     .usage = get_total_usage(c),
                     .plain = c->plain,
                     .cache_key = c->has_cache_key ? c->cache_key : NULL,
                     .silent = c->mute || (c->cancelled && c->let_go),
                     .message = c->message != NULL ? c->message : "",
                     .error_code = c->code,
                     .retry_after_ms = c->retry_after_ms,
                     .ending = c->ending,
                     .error_class =
                         c->error_class != NULL ? c->error_class : ""}};

    mortise_live_feed(c->live, &in);
}

/* ---- lanes -------------------------------------------------------------- */

static void start_call(struct mortise_plugin_call *c);

/* Pause the run, which cancels the call.  It continues when its plugin may be
 * called again; until then it reports the reason (live.c). */
static void pause_parked_run(struct mortise_task *t)
{
    struct mortise_plugin_call *c =
        MORTISE_CONTAINER_OF(t, struct mortise_plugin_call, parked);

    if (c->state == MORTISE_CALL_QUEUED && !c->cancelled && !c->live->lost)
        mortise_pause_one(c->m, c->live);
    unref_call(c);
}

static void end_with_error(struct mortise_plugin_call *c, int32_t status,
                           const char *code, const char *error_class,
                           const char *message);

/* The plugin of a call in no lane is not trusted any more.  Without a run the
 * call fails. */
static void park_untrusted_call(struct mortise_plugin_call *c,
                                const struct mortise_err *why)
{
    struct mortise *m = c->m;

    if (c->live == NULL) {
        c->lane = NULL;
        end_with_error(c, MORTISE_S_DENIED, "plugin", "permanent", why->msg);
        return;
    }
    mortise_log(m, MORTISE_LOG_ERROR, "run %s is blocked at %s: %s", c->run_id,
                c->path, why->msg);
    c->lane = NULL;
    c->is_parked = true;
    atomic_fetch_add(&c->refs, 1);
    c->parked.run = pause_parked_run;
    mortise_task_make_ready(m, &c->parked);
}

/* A lack of descriptors is neither the plugin's fault nor the run's: retry the
 * call later.  The run stays as it is, and its node's timeout continues. */
static void retry_for_descriptors(struct mortise_plugin_call *c,
                                  const struct mortise_err *why)
{
    uint64_t ms = (uint64_t)SHORT_MS << (c->tries < 6 ? c->tries : 6);

    if (c->tries++ == 0)
        mortise_log(c->m, MORTISE_LOG_WARN, "run %s waits at %s: %s", c->run_id,
                    c->path, why->msg);
    mortise_timer_arm(
        &c->m->timers, &c->again,
        mortise_mono_ns_after(ms < SHORT_MAX_MS ? ms : SHORT_MAX_MS));
}

static bool is_lane_full(const struct mortise_lane *l)
{
    return l->limit != 0 && l->running >= l->limit;
}

/* May a tool of this run wait for a slot that a call of any run holds?  Either
 * the tool is queued, or it waits for a child, which may be queued. */
static bool may_tool_be_queued(const struct mortise_live *live)
{
    const struct mortise_plugin_call *c = live->calls;

    while (c != NULL && c->state != MORTISE_CALL_QUEUED &&
           !mortise_host_call_is_waiting(c, false))
        c = c->next;
    return c != NULL;
}

static size_t count_tasks(const struct mortise_tasks *q)
{
    size_t n = 0;

    for (const struct mortise_task *t = q->first; t != NULL; t = t->next)
        n++;
    return n;
}

/* A call in the lane that waits for a child or, possibly blocked, for a tool;
 * NULL: none.  *leaving: the number of calls that were told to leave before. */
static struct mortise_plugin_call *
find_waiting_call(const struct mortise_lane *l, size_t *leaving, bool *tools)
{
    struct mortise_table_entry *e;

    *leaving = 0;
    for (e = mortise_table_first(&l->m->lives); e != NULL;
         e = mortise_table_next(&l->m->lives, e)) {
        const struct mortise_live *live =
            MORTISE_CONTAINER_OF(e, struct mortise_live, entry);

        *tools = may_tool_be_queued(live);
        for (struct mortise_plugin_call *c = live->calls; c != NULL;
             c = c->next) {
            if (c->lane != l || c->state != MORTISE_CALL_CALLED)
                continue;
            if (c->yields || c->answered_suspended)
                (*leaving)++;
            else if (!live->lost && mortise_host_call_is_waiting(c, *tools))
                return c;
        }
    }
    return NULL;
}

/* Release the slots of calls that only wait, as many as calls are queued. */
static void make_lane_room(struct mortise_task *t)
{
    struct mortise_lane *l = MORTISE_CONTAINER_OF(t, struct mortise_lane, room);
    struct mortise_input in = {.kind = MORTISE_IN_YIELD};
    struct mortise_plugin_call *c;
    size_t leaving;

    l->room_task_queued = false;
    while (is_lane_full(l) && l->waiting.first != NULL) {
        c = find_waiting_call(l, &leaving, &in.u.yield.tools);
        if (c == NULL || leaving >= count_tasks(&l->waiting))
            return;
        c->yields = true;
        in.u.yield.call = c->run_call;
        mortise_live_feed(c->live, &in);
    }
}

static void queue_lane_room(struct mortise_lane *l)
{
    if (l->room_task_queued || !l->has_waits || l->waiting.first == NULL)
        return;
    l->room_task_queued = true;
    l->room.run = make_lane_room;
    mortise_task_make_ready(l->m, &l->room);
}

/* Start queued calls up to the limit, if the plugin is trusted. */
static void start_queued_calls(struct mortise_lane *l)
{
    struct mortise_err why;

    while (l->waiting.first != NULL && !is_lane_full(l)) {
        struct mortise_plugin_call *c = MORTISE_CONTAINER_OF(
            mortise_tasks_take(&l->waiting), struct mortise_plugin_call, turn);

        switch (mortise_plugins_check_trusted(l->m->plugins, l->plugin, &why)) {
        case MORTISE_OK:
            start_call(c);
            break;
        case MORTISE_ELIMIT:
            retry_for_descriptors(c, &why);
            break;
        default:
            park_untrusted_call(c, &why);
        }
    }
    queue_lane_room(l);
}

void mortise_call_release_waiting(const struct mortise_plugin_call *c)
{
    c->lane->has_waits = true;
    for (c = c->live->calls; c != NULL; c = c->next)
        if (c->lane != NULL)
            queue_lane_room(c->lane);
}

static struct mortise_lane *lane_find(struct mortise *m, const char *plugin,
                                      const char *as, enum mortise_kind kind)
{
    struct mortise_table_entry *e;

    for (e = mortise_table_find(&m->lanes, mortise_hash_strs(plugin, as));
         e != NULL; e = mortise_table_find_next(e)) {
        struct mortise_lane *l =
            MORTISE_CONTAINER_OF(e, struct mortise_lane, entry);

        if (l->kind == kind && strcmp(l->plugin, plugin) == 0 &&
            strcmp(l->as, as) == 0)
            return l;
    }
    return NULL;
}

static int lane_new(struct mortise *m, struct mortise_instance *i,
                    const char *as, enum mortise_kind kind,
                    struct mortise_lane **out, struct mortise_err *err)
{
    const struct mortise_manifest *man = mortise_instance_manifest(i);
    const struct mortise_interface *p = &man->provides[kind];
    struct mortise_lane *l = mortise_zalloc(m->mem, sizeof *l);

    if (l == NULL)
        return mortise_nomem(err);
    l->m = m;
    l->plugin = man->name;
    l->as = as;
    l->kind = kind;
    l->instance = i;
    l->manifest = man;
    l->threading = p->threading;
    l->limit = p->concurrency;
    l->idle_ms = p->threading != MORTISE_THREAD_INLINE ? p->idle_ms : 0;
    l->has_background = p->background;
    mortise_table_add(&m->lanes, &l->entry, mortise_hash_strs(man->name, as));
    *out = l;
    return MORTISE_OK;
}

struct start {
    struct mortise_lane *lane;
    uint64_t took_ms; /* 0: it was started already */
    /* The failure of create(); NULL: create() was not called. */
    const struct mortise_create_failure *failure;
};

/* Start the plugin if necessary, and find its lane; `name` as for
 * mortise_deployment_find_instance(). */
static int lane_get(struct mortise *m, const char *name, enum mortise_kind kind,
                    struct start *s, struct mortise_err *err)
{
    const char *as, *plugin = mortise_deployment_find_instance(
                        m->settings.deployment, name, kind, &as);
    struct mortise_instance *i;
    uint64_t before;
    json_t *config;
    int rv;

    *s = (struct start){.lane = lane_find(m, plugin, as, kind)};
    if (s->lane != NULL && !s->lane->given_up)
        return MORTISE_OK;
    before = mortise_mono_ns();
    rv = mortise_secret_make_config(m, plugin, as, &config, err);
    if (rv == MORTISE_OK) {
        rv = mortise_plugins_start(m->plugins, plugin, as, config, &i, err);
        if (rv != MORTISE_OK)
            s->failure = mortise_plugins_create_failure(m->plugins, plugin, as);
    }
    if (rv != MORTISE_OK)
        mortise_secret_store_mask_text(m->secret_store, err->msg,
                                       sizeof err->msg);
    json_decref(config);
    s->took_ms = (mortise_mono_ns() - before) / NS_PER_MS;
    if (rv != MORTISE_OK || s->lane != NULL)
        return rv;
    return lane_new(m, i, as, kind, &s->lane, err);
}

static int start_model_plugins(struct mortise *m, const char *alias,
                               struct mortise_err *err)
{
    const char *behind[MORTISE_MODEL_TARGETS_MAX];
    struct start s;
    size_t n;
    int rv = mortise_deployment_list_models(m->settings.deployment, alias,
                                            behind, &n, err);

    for (size_t i = 0; rv == MORTISE_OK && i < n; i++)
        rv = lane_get(m, behind[i], MORTISE_KIND_MODEL, &s, err);
    return rv;
}

int mortise_calls_start_plugin(struct mortise *m, const char *name,
                               struct mortise_err *err)
{
    static const char model[] = "model:",
                      discovery[] = MORTISE_DISCOVERY_PREFIX;

    const char *id = mortise_guard_parse_id(name);
    struct start s;

    if (strncmp(name, model, sizeof model - 1) == 0)
        return start_model_plugins(m, name + sizeof model - 1, err);
    if (strcmp(name, MORTISE_MEMORY_INSTANCE) == 0)
        return lane_get(m, name, MORTISE_KIND_MEMORY, &s, err);
    if (strncmp(name, discovery, sizeof discovery - 1) == 0)
        return lane_get(m, name, MORTISE_KIND_DISCOVERY, &s, err);
    return lane_get(m, id != NULL ? id : name,
                    id != NULL ? MORTISE_KIND_GUARDRAIL : MORTISE_KIND_EXECUTOR,
                    &s, err);
}

/* ---- end of a call ------------------------------------------------------- */

/* The call ended or was given up; the run is not told here. */
static void end_ongoing_call(struct mortise_plugin_call *c)
{
    struct mortise_lane *l = c->lane;

    mortise_host_call_end(c);
    if (c->kept != NULL)
        c->kept->drop(c->kept);
    c->kept = NULL;
    remove_call(c);
    if (l != NULL && c == l->background) {
        l->background = NULL;
    } else if (l != NULL && c->state == MORTISE_CALL_CALLED &&
               (c->live != NULL || c->is_serving)) {
        l->running--;
        start_queued_calls(l);
    }
    c->state = MORTISE_CALL_ENDED;
}

/* It returned because we cancelled it for inactivity: report that as the
 * error. */
static void set_idle_error(struct mortise_plugin_call *c)
{
    char words[128];

    snprintf(words, sizeof words, "the plugin showed no activity for %llu ms",
             (unsigned long long)c->lane->idle_ms);
    set_call_error(c, MORTISE_S_TIMEOUT, "timeout.idle", "timeout", words);
}

/* Background work ended before its instance: the next call starts it again. */
static void log_background_end(const struct mortise_plugin_call *c)
{
    if (!c->cancelled)
        mortise_log(c->m, MORTISE_LOG_WARN,
                    "the background work of plugin '%s' ended%s%s",
                    c->lane->plugin, c->message != NULL ? ": " : "",
                    c->message != NULL ? c->message : "");
}

/* Check the answer of a memory plugin; an invalid one is an error. */
static void check_memory_answer(struct mortise_plugin_call *c)
{
    struct mortise_err why;
    json_t *body = NULL;
    int rv;

    if (c->status != MORTISE_S_OK || (c->call.kind != &mortise_call_recall &&
                                      c->call.kind != &mortise_call_remember))
        return;
    rv = mortise_json_parse_written(&body, c->body, c->call.body_size, &why);
    if (rv == MORTISE_OK)
        rv = mortise_traces_check_answer(c->call.kind, body, c->output, &why);
    json_decref(body);
    if (rv == MORTISE_ENOMEM)
        set_call_error(c, MORTISE_S_NOMEM, "memory", "transient", why.msg);
    else if (rv != MORTISE_OK)
        set_call_error(c, MORTISE_S_FAILED, "memory.bad_answer", "permanent",
                       why.msg);
}

/* A verdict after the node's deadline is a timeout, even if a plugin blocked
 * the loop and delayed its timer. */
static void check_verdict_time(struct mortise_plugin_call *c)
{
    if (c->call.kind == &mortise_call_check && c->status == MORTISE_S_OK &&
        c->call.deadline_ns != 0 && mortise_mono_ns() > c->call.deadline_ns)
        set_call_error(c, MORTISE_S_TIMEOUT, "timeout.call", "timeout",
                       "the call took longer than the timeout of its node");
}

static bool is_last_of_output(const struct mortise_plugin_call *c)
{
    return c->live != NULL && !c->is_serving && c->is_last &&
           c->call.kind == &mortise_call_check &&
           c->call.stage == MORTISE_STAGE_OUTPUT;
}

/* Does the guardrail accept the value unchanged? */
static bool is_value_accepted(const struct mortise_plugin_call *c)
{
    return c->status == MORTISE_S_OK &&
           (!c->violation || c->node->on_violation == MORTISE_VIOLATION_WARN);
}

static void call_ended(struct mortise_task *t)
{
    struct mortise_plugin_call *c =
        MORTISE_CONTAINER_OF(t, struct mortise_plugin_call, ended);

    end_ongoing_call(c);
    if (c->n_unreported_missed > 0 && c->live != NULL)
        mortise_watch_add_missed(c->live, c->n_unreported_missed);
    if (c->live != NULL)
        mortise_stream_end(c);
    if (is_last_of_output(c))
        mortise_stream_handle_verdict(c, is_value_accepted(c));
    if (c->idle_over && c->status != MORTISE_S_OK)
        set_idle_error(c);
    if (c->is_serving)
        report_to_served(c);
    else if (c->live == NULL)
        log_background_end(c);
    else {
        check_memory_answer(c);
        check_verdict_time(c);
        feed_call_result(c);
    }
    unref_call(c);
}

/* End a call before it reached its plugin, with this error. */
static void end_with_error(struct mortise_plugin_call *c, int32_t status,
                           const char *code, const char *error_class,
                           const char *message)
{
    set_call_error(c, status, code, error_class, message);
    mortise_task_make_ready(c->m, &c->ended);
}

/* ---- start a call -------------------------------------------------------- */

static void arm_idle_timer(struct mortise_plugin_call *c)
{
    uint64_t ms = c->lane->idle_ms;

    if (ms != 0 && !c->lane->given_up)
        mortise_timer_arm(&c->m->timers, &c->idle, mortise_mono_ns_after(ms));
}

/* [worker] */
static void run_on_worker(struct mortise_task *j)
{
    struct mortise_plugin_call *c =
        MORTISE_CONTAINER_OF(j, struct mortise_plugin_call, job);
    struct mortise_lane *l = c->lane;
    struct mortise_err err;

    if (mortise_instance_call(l->instance, &c->call, &err) != MORTISE_OK) {
        set_call_error(c, MORTISE_S_FAILED, "plugin", "permanent", err.msg);
        mortise_call_post(l->m, &c->ended);
    }
    unref_call(c);
}

static void start_call(struct mortise_plugin_call *c)
{
    struct mortise_lane *l = c->lane;
    struct mortise_err err;
    int rv;

    c->state = MORTISE_CALL_CALLED;
    l->running++;
    arm_idle_timer(c);
    if (l->given_up) {
        mortise_fail(&err, MORTISE_ESTATE,
                     "this engine no longer calls plugin '%s', because an "
                     "earlier call of the plugin did not return",
                     l->plugin);
        end_with_error(c, MORTISE_S_FAILED, "plugin", "permanent", err.msg);
        return;
    }
    if (l->threading == MORTISE_THREAD_BLOCKING) {
        atomic_fetch_add(&c->refs, 1);
        rv = mortise_pool_put(l->m->pool, &c->job, &err);
        if (rv != MORTISE_OK)
            unref_call(c);
    } else {
        rv = mortise_instance_call(l->instance, &c->call, &err);
    }
    if (rv != MORTISE_OK)
        end_with_error(c, MORTISE_S_FAILED, "plugin", "permanent", err.msg);
}

/* The kind of plugin call for each kind of run call.  A LOOKUP reaches no
 * plugin; its row is the kind of the cached call. */
static const struct mortise_call_kind *const kinds[] = {
    [MORTISE_RUN_EXECUTE] = &mortise_call_execute,
    [MORTISE_RUN_RECONCILE] = &mortise_call_reconcile,
    [MORTISE_RUN_CHECK] = &mortise_call_check,
    [MORTISE_RUN_LOOKUP] = &mortise_call_execute,
    [MORTISE_RUN_DISCOVER] = &mortise_call_discover,
    [MORTISE_RUN_RECALL] = &mortise_call_recall,
    [MORTISE_RUN_REMEMBER] = &mortise_call_remember,
    [MORTISE_RUN_COMPACT] = &mortise_call_execute,
    [MORTISE_RUN_JUDGE] = &mortise_call_execute,
};

static uint32_t get_guard_stage(const struct mortise_run_call *rc)
{
    static const uint32_t stages[] = {
        [MORTISE_GUARD_TARGET] = MORTISE_STAGE_NODE,
        [MORTISE_GUARD_INPUT] = MORTISE_STAGE_INPUT,
        [MORTISE_GUARD_OUTPUT] = MORTISE_STAGE_OUTPUT,
        [MORTISE_GUARD_DECISION] = MORTISE_STAGE_NODE,
        [MORTISE_GUARD_EDGE] = MORTISE_STAGE_EDGE,
        [MORTISE_GUARD_RECALLED] = MORTISE_STAGE_MEMORY_READ,
        [MORTISE_GUARD_REMEMBERED] = MORTISE_STAGE_MEMORY_WRITE,
    };

    assert(rc->kind == MORTISE_RUN_CHECK);
    if (rc->serves && rc->stage == MORTISE_GUARD_INPUT)
        return MORTISE_STAGE_TOOL_CALL;
    return rc->serves && rc->stage == MORTISE_GUARD_OUTPUT
               ? MORTISE_STAGE_TOOL_RESULT
               : stages[rc->stage];
}

/* Copy s to *at; c->text_size includes it. */
static const char *copy_call_text(char **at, const char *s)
{
    size_t n = strlen(s) + 1;
    char *copy = memcpy(*at, s, n);

    *at += n;
    return copy;
}

static const char *get_call_operation(const struct mortise_run_call *rc)
{
    return rc->operation != NULL ? rc->operation : "";
}

static const char *get_call_run(const struct mortise_live *live)
{
    return live != NULL ? live->id : "";
}

static const char *get_call_tenant(const struct mortise_live *live)
{
    return live != NULL ? live->tenant : "";
}

static size_t get_call_text_size(const struct mortise_live *live,
                                 const struct mortise_run_call *rc)
{
    return strlen(get_call_operation(rc)) + strlen(rc->path) + strlen(rc->key) +
           strlen(get_call_run(live)) + strlen(get_call_tenant(live)) + 5;
}

/* Fill in the plugin's view of the call; it is ours until the call is freed. */
static void fill_plugin_call(struct mortise_plugin_call *c,
                             const struct mortise_run_call *rc, char *body,
                             size_t room)
{
    struct mortise_call *to = &c->call;
    char *at = c->text;

    c->body = body;
    c->body_room = room;
    to->operation = copy_call_text(&at, get_call_operation(rc));
    c->path = to->node_path = copy_call_text(&at, rc->path);
    to->idempotency_key = copy_call_text(&at, rc->key);
    c->run_id = to->run_id = copy_call_text(&at, get_call_run(c->live));
    to->tenant = copy_call_text(&at, get_call_tenant(c->live));
    to->is_unstored = c->live != NULL && c->live->synced == 0;
    c->whose = (struct mortise_visit_execution){to->tenant, to->run_id, c->path,
                                                to->is_unstored};
    c->node = rc->node;
    c->is_aside = mortise_call_is_check_or_helper(rc->kind);
    c->is_within_held = rc->is_within_held;
    c->is_held = rc->is_held;
    c->is_last = rc->is_last;
    to->id = c->id;
    to->attempt = rc->attempt;
    to->visit = rc->visit;
    to->stage = rc->kind == MORTISE_RUN_CHECK ? get_guard_stage(rc) : 0;
    to->flags = rc->is_held ? MORTISE_REQUEST_HELD : 0;
    to->deadline_ns =
        rc->timeout_ms != 0 ? mortise_mono_ns_after(rc->timeout_ms) : 0;
    to->body = c->body;
    to->body_size = strlen(c->body);
}

static void on_quiesce_timer(struct mortise_timer *t);
static void on_idle_timer(struct mortise_timer *t);
static void on_overdue_timer(struct mortise_timer *t);
static void cancel_starved_call(struct mortise_task *t);
static void retry_call(struct mortise_timer *t);

/* A call for a run, or (NULL) without one.  Takes the body (NULL: out of
 * memory) with its allocated size. */
static struct mortise_plugin_call *
call_new(struct mortise *m, struct mortise_live *live,
         const struct mortise_run_call *rc,
         const struct mortise_call_kind *kind, char *body, size_t room)
{
    size_t n = get_call_text_size(live, rc);
    struct mortise_plugin_call *c =
        body != NULL ? mortise_zalloc(m->mem, sizeof *c + n) : NULL;

    if (c == NULL) {
        if (body != NULL)
            mortise_release(m->mem, body, room);
        return NULL;
    }
    c->mem = m->mem;
    c->text_size = n;
    c->id = ++m->last_call;
    c->run_call = rc->id;
    c->m = m;
    c->live = live;
    c->call.kind = kind;
    c->state = MORTISE_CALL_QUEUED;
    c->quiesce.fire = on_quiesce_timer;
    c->idle.fire = on_idle_timer;
    c->due.fire = on_overdue_timer;
    c->again.fire = retry_call;
    c->ended.run = call_ended;
    c->starved.run = cancel_starved_call;
    c->job.run = run_on_worker;
    atomic_init(&c->refs, 1);
    fill_plugin_call(c, rc, body, room);
    return c;
}

/* The same with the body in a buffer, which is empty afterwards. */
static struct mortise_plugin_call *
call_new_from_buf(struct mortise *m, struct mortise_live *live,
                  const struct mortise_run_call *rc,
                  const struct mortise_call_kind *kind,
                  struct mortise_buf *body)
{
    char *text = mortise_buf_cstr(body);
    struct mortise_plugin_call *c =
        call_new(m, live, rc, kind, text, body->cap);

    if (text != NULL)
        mortise_buf_init(body, m->mem);
    return c;
}

/* False: the plugin cannot be called because of trust. */
static bool is_plugin_trusted(struct mortise *m, const char *name,
                              enum mortise_kind kind, struct mortise_err *why)
{
    const char *as, *plugin = mortise_deployment_find_instance(
                        m->settings.deployment, name, kind, &as);
    struct mortise_err own;
    bool trusted =
        mortise_plugins_check_trusted(m->plugins, plugin, &own) == MORTISE_OK;

    if (!trusted)
        *why = own;
    return trusted;
}

/* A background call that reported its end does not count, although the loop may
 * not have handled it yet. */
static bool is_in_background(const struct mortise_lane *l)
{
    return l->background != NULL && !atomic_load(&l->background->is_over);
}

/* Start the instance's background work, outside its concurrency limit.  If this
 * fails, the operation that needs the work reports the error. */
static void start_background_call(struct mortise_lane *l)
{
    struct mortise_run_call rc = {.attempt = 1, .visit = 1};
    char *body = mortise_strdup(l->m->mem, "{}");
    struct mortise_plugin_call *c =
        call_new(l->m, NULL, &rc, &mortise_call_background, body, sizeof "{}");
    struct mortise_err err;

    assert(!is_in_background(l));
    if (c == NULL)
        return;
    c->lane = l;
    c->state = MORTISE_CALL_CALLED;
    l->background = c;
    add_ongoing_call(c);
    if (mortise_instance_call(l->instance, &c->call, &err) != MORTISE_OK)
        end_with_error(c, MORTISE_S_FAILED, "plugin", "permanent", err.msg);
}

/* The plugin did not start.  If create() reported a transient failure, or
 * memory ran out, the call fails the same way, so that it can be retried. */
static void end_unstarted_call(struct mortise_plugin_call *c,
                               const struct mortise_create_failure *f,
                               const struct mortise_err *why)
{
    bool again = f != NULL && f->transient;

    if (f == NULL && why->code == MORTISE_ENOMEM) {
        end_with_error(c, MORTISE_S_NOMEM, "memory", "transient", why->msg);
        return;
    }
    c->retry_after_ms = again ? f->retry_after_ms : 0;
    end_with_error(c, MORTISE_S_FAILED,
                   again && f->code[0] != '\0' ? f->code : "plugin",
                   again ? "transient" : "permanent", why->msg);
}

/* If the run was not checked as a whole, each call is checked. */
static int check_may_call(struct mortise_plugin_call *c, const char *name,
                          enum mortise_kind kind, struct mortise_err *why)
{
    const char *as;

    if (c->live == NULL || c->live->checked)
        return MORTISE_OK;
    return mortise_live_check_call(
        c->live,
        mortise_deployment_find_instance(c->m->settings.deployment, name, kind,
                                         &as),
        kind == MORTISE_KIND_EXECUTOR ? c->call.operation : NULL, why);
}

/* Put the call into the lane of its plugin, which is started if necessary. */
static void queue_call(struct mortise_plugin_call *c, const char *name)
{
    struct mortise *m = c->m;
    enum mortise_kind kind = c->call.kind->kind;
    const struct mortise_visit_execution *before =
        mortise_visit_set_execution(&c->whose);
    struct mortise_err why;
    struct start s;
    int rv = check_may_call(c, name, kind, &why);

    if (rv != MORTISE_OK) {
        mortise_visit_set_execution(before);
        end_with_error(c, MORTISE_S_DENIED, "plugin", "permanent", why.msg);
        return;
    }
    rv = lane_get(m, name, kind, &s, &why);
    mortise_visit_set_execution(before);
    if (rv == MORTISE_ELIMIT &&
        (c->wanted != NULL ||
         (c->wanted = mortise_strdup(c->mem, name)) != NULL)) {
        c->is_parked = true;
        retry_for_descriptors(c, &why);
        return;
    }
    c->is_parked = false;
    if (rv != MORTISE_OK) {
        if (!is_plugin_trusted(m, name, kind, &why))
            park_untrusted_call(c, &why);
        else
            end_unstarted_call(c, s.failure, &why);
        return;
    }
    if (s.took_ms > m->start_ms) {
        mortise_fail(&why, MORTISE_ELIMIT,
                     "plugin '%s' took %llu ms to start; the limit is %llu ms",
                     name, (unsigned long long)s.took_ms,
                     (unsigned long long)m->start_ms);
        end_with_error(c, MORTISE_S_TIMEOUT, "timeout.start", "timeout",
                       why.msg);
        return;
    }
    c->lane = s.lane;
    if (s.lane->has_background && !is_in_background(s.lane))
        start_background_call(s.lane);
    mortise_tasks_put(&s.lane->waiting, &c->turn);
    start_queued_calls(s.lane);
}

static void retry_call(struct mortise_timer *t)
{
    struct mortise_plugin_call *c =
        MORTISE_CONTAINER_OF(t, struct mortise_plugin_call, again);

    if (c->lane == NULL) {
        queue_call(c, c->wanted);
    } else {
        mortise_tasks_put(&c->lane->waiting, &c->turn);
        start_queued_calls(c->lane);
    }
}

int mortise_calls_begin(struct mortise_live *live, struct mortise_run_call *rc,
                        struct mortise_err *err)
{
    char *body = mortise_json_to_text(live->m->mem, rc->body);
    struct mortise_plugin_call *c =
        call_new(live->m, live, rc, kinds[rc->kind], body,
                 body != NULL ? strlen(body) + 1 : 0);

    if (c == NULL)
        return mortise_nomem(err);
    add_ongoing_call(c);
    if (mortise_begin_find(rc->kind) != NULL)
        mortise_begin_find(rc->kind)(c, rc);
    else if (!mortise_script_call(c, rc, mortise_host_call_ask))
        queue_call(c, rc->plugin);
    return MORTISE_OK;
}

/* Report the result of the call to `h`. */
static void set_call_hearer(struct mortise_plugin_call *c,
                            struct mortise_result_receiver *h)
{
    c->is_serving = true;
    c->result_receiver = h;
    h->call = c;
}

int mortise_calls_serve_runless(struct mortise *m,
                                struct mortise_result_receiver *h,
                                const struct mortise_call_kind *kind,
                                const char *name, struct mortise_buf *body,
                                struct mortise_err *err)
{
    struct mortise_run_call rc = {.attempt = 1, .visit = 1};
    struct mortise_plugin_call *c = call_new_from_buf(m, NULL, &rc, kind, body);

    if (c == NULL)
        return mortise_nomem(err);
    set_call_hearer(c, h);
    add_ongoing_call(c);
    queue_call(c, name);
    return MORTISE_OK;
}

/* A call that serves another; takes the body.  NULL: out of memory. */
static struct mortise_plugin_call *
start_serving_call(const struct mortise_plugin_call *by,
                   const struct mortise_call_kind *kind,
                   struct mortise_buf *body, uint64_t may_take_ms)
{
    struct mortise_run_call rc = {.id = by->run_call,
                                  .node = by->node,
                                  .is_within_held = by->is_within_held,
                                  .is_held = by->is_held,
                                  .attempt = by->call.attempt,
                                  .visit = by->call.visit};
    struct mortise_plugin_call *c;

    snprintf(rc.path, sizeof rc.path, "%s", by->path);
    c = call_new_from_buf(by->m, by->live, &rc, kind, body);
    if (c == NULL)
        return NULL;
    c->call.deadline_ns = by->call.deadline_ns;
    c->is_serving = true;
    add_ongoing_call(c);
    c->may_take_ms = may_take_ms;
    if (may_take_ms > 0)
        mortise_timer_arm(&by->m->timers, &c->due,
                          mortise_mono_ns_after(may_take_ms + SAYS_SO_MS));
    return c;
}

int mortise_calls_serve(struct mortise_asked *a,
                        const struct mortise_call_kind *kind, const char *name,
                        struct mortise_buf *body, uint64_t may_take_ms,
                        struct mortise_err *err)
{
    struct mortise_plugin_call *c =
        start_serving_call(a->call, kind, body, may_take_ms);

    if (c == NULL)
        return mortise_nomem(err);
    c->serves = a;
    a->data = c;
    queue_call(c, name);
    return MORTISE_OK;
}

int mortise_calls_serve_part(struct mortise_plugin_call *by,
                             struct mortise_result_receiver *h,
                             const struct mortise_call_kind *kind,
                             const char *name, struct mortise_buf *body,
                             uint64_t may_take_ms, struct mortise_err *err)
{
    struct mortise_plugin_call *c =
        start_serving_call(by, kind, body, may_take_ms);

    if (c == NULL)
        return mortise_nomem(err);
    set_call_hearer(c, h);
    queue_call(c, name);
    return MORTISE_OK;
}

/* ---- cancel -------------------------------------------------------------- */

/* The plugin did not return. */
static void give_up_call(struct mortise_plugin_call *c)
{
    struct mortise_live *live = c->live;
    struct mortise *m = c->m;
    struct mortise_lane *l = c->lane;
    struct mortise_input in = {.kind = MORTISE_IN_UNRESPONSIVE,
                               .u.result = {.call = c->run_call}};
    char why[128];

    snprintf(why, sizeof why,
             "the plugin did not return from a call within %llu ms after the "
             "cancellation",
             (unsigned long long)m->quiesce_ms);
    mortise_log(m, MORTISE_LOG_ERROR, "plugin '%s': %s (node %s of run %s)",
                l->plugin, why, c->path, c->run_id);
    mortise_plugins_quarantine(m->plugins, l->plugin, why);
    l->given_up = true;
    mortise_pool_abandon(m->pool, &c->job);
    end_ongoing_call(c);
    if (c->is_serving) {
        set_call_error(c, MORTISE_S_TIMEOUT, "timeout.unresponsive", "timeout",
                       why);
        report_to_served(c);
    } else if (live != NULL) {
        in.u.result.usage = get_total_usage(c);
        mortise_live_feed(live, &in);
    }
    unref_call(c);
}

static void cancel_in_plugin(struct mortise_plugin_call *c)
{
    struct mortise *m = c->m;
    uint64_t again = mortise_mono_ns_after(ASK_AGAIN_MS);
    bool heard;

    mortise_host_call_cancel(c);
    mortise_visit_set_execution(&c->whose);
    heard = mortise_instance_cancel(c->lane->instance, c->id);
    mortise_visit_set_execution(NULL);

    mortise_timer_arm(&m->timers, &c->quiesce,
                      heard || again > c->give_up_ns ? c->give_up_ns : again);
}

static void on_quiesce_timer(struct mortise_timer *t)
{
    struct mortise_plugin_call *c =
        MORTISE_CONTAINER_OF(t, struct mortise_plugin_call, quiesce);
    struct mortise_usage said = {0};

    if (mortise_mono_ns() < c->give_up_ns) {
        cancel_in_plugin(c);
    } else if (mortise_instance_abandon(c->lane->instance, c->id, &said)) {
        add_reported_usage(c, &said); /* its usage counts, even if a name is
                                         missing */
        mortise_usage_finish(&said);
        give_up_call(c);
    } /* otherwise it has just ended, and its task is queued */
}

static void cancel_call(struct mortise_plugin_call *c)
{
    struct mortise_lane *l = c->lane;

    if (c->scripted)
        mortise_script_cancel(c);
    if (c->waits != NULL) {
        c->waits->stop(c->waits);
        c->waits = NULL;
        c->cancelled = true;
        end_with_error(c, MORTISE_S_CANCELLED, "cancelled", "cancelled",
                       "cancelled while it waited in the queue");
        return;
    }
    if (c->cancelled || (l == NULL && !c->is_parked))
        return;
    c->cancelled = true;
    if (l == NULL) {
        end_with_error(c, MORTISE_S_CANCELLED, "cancelled", "cancelled",
                       "cancelled before it started");
        return;
    }
    mortise_timer_disarm(&l->m->timers, &c->idle);
    if (c->state == MORTISE_CALL_QUEUED) {
        mortise_tasks_remove(&l->waiting, &c->turn);
    } else if (l->threading == MORTISE_THREAD_BLOCKING &&
               mortise_pool_withdraw(l->m->pool, &c->job)) {
        unref_call(c); /* the worker's reference */
    } else {
        c->give_up_ns = mortise_mono_ns_after(l->m->quiesce_ms);
        cancel_in_plugin(c);
        return;
    }
    end_with_error(c, MORTISE_S_CANCELLED, "cancelled", "cancelled",
                   "cancelled before it started");
}

void mortise_calls_stop_serving(struct mortise_asked *a)
{
    struct mortise_plugin_call *c = a->data;

    if (c == NULL)
        return;
    assert(c->serves == a);
    c->serves = a->data = NULL;
    cancel_call(c);
}

void mortise_calls_stop_part(struct mortise_result_receiver *h)
{
    struct mortise_plugin_call *c = h->call;

    if (c == NULL)
        return;
    h->call = NULL;
    c->result_receiver = NULL;
    cancel_call(c);
}

static void on_idle_timer(struct mortise_timer *t)
{
    struct mortise_plugin_call *c =
        MORTISE_CONTAINER_OF(t, struct mortise_plugin_call, idle);

    if (!mortise_instance_is_idle(c->lane->instance, c->id)) {
        arm_idle_timer(c);
        return;
    }
    c->idle_over = true;
    cancel_call(c);
}

static void on_overdue_timer(struct mortise_timer *t)
{
    cancel_call(MORTISE_CONTAINER_OF(t, struct mortise_plugin_call, due));
}

void mortise_calls_cancel(struct mortise_live *live, uint64_t run_call)
{
    struct mortise_table_entry *e;

    for (e = mortise_table_find(&live->m->run_calls,
                                hash_run_call(live, run_call));
         e != NULL; e = mortise_table_find_next(e)) {
        struct mortise_plugin_call *c =
            MORTISE_CONTAINER_OF(e, struct mortise_plugin_call, by_run);

        if (c->live == live && c->run_call == run_call) {
            cancel_call(c);
            return;
        }
    }
}

void mortise_calls_cancel_background(struct mortise *m)
{
    struct mortise_table_entry *e;

    for (e = mortise_table_first(&m->lanes); e != NULL;
         e = mortise_table_next(&m->lanes, e)) {
        struct mortise_lane *l =
            MORTISE_CONTAINER_OF(e, struct mortise_lane, entry);

        if (l->background != NULL)
            cancel_call(l->background);
    }
    for (struct mortise_plugin_call *c = m->calls_without_run; c != NULL;
         c = c->next)
        cancel_call(c);
}

void mortise_calls_cancel_all(struct mortise_live *live)
{
    struct mortise_plugin_call *c;

    for (c = live->calls; c != NULL; c = c->next)
        cancel_call(c);
}

/* ---- events of plugins --------------------------------------------------- */

/* An event of a plugin, posted to the loop. */
struct message {
    struct mortise_task task;
    struct mortise *m;
    uint64_t call;
    const char *type; /* of the resulting event; static */
    uint64_t missed;  /* number of events lost before it */
    size_t n;
    char text[];
};

static void message_free(struct message *msg)
{
    mortise_event_space_release(msg->m, EVENT_COSTS + msg->n);
    mortise_release(msg->m->mem, msg, sizeof *msg + msg->n);
}

/* NULL: out of memory, or too many bytes are queued.  [any] */
static struct message *message_new(struct mortise *m, uint64_t call,
                                   const char *type, const char *text, size_t n)
{
    struct message *msg;

    if (!mortise_event_space_reserve(m, EVENT_COSTS + n))
        return NULL;
    msg = mortise_zalloc(m->mem, sizeof *msg + n);
    if (msg == NULL) {
        mortise_event_space_release(m, EVENT_COSTS + n);
        return NULL;
    }
    msg->m = m;
    msg->call = call;
    msg->type = type;
    msg->n = n;
    memcpy(msg->text, text, n);
    return msg;
}

/* Return and reset the number of missed events of a call; if `more` is not 0,
 * add it instead and return 0.  Another thread of the plugin may end the call
 * meanwhile.  [any] */
static uint64_t take_missed_events(struct mortise *m, uint64_t call,
                                   uint64_t more)
{
    struct mortise_plugin_call *c;
    uint64_t n = 0;

    pthread_mutex_lock(&m->calls_lock);
    c = find_call_locked(m, call);
    if (c != NULL && more > 0) {
        c->n_unreported_missed += more;
    } else if (c != NULL) {
        n = c->n_unreported_missed;
        c->n_unreported_missed = 0;
    }
    pthread_mutex_unlock(&m->calls_lock);
    return n;
}

/* Publish an event with the data in the member `what`. */
static void publish_call_event(struct mortise_plugin_call *c, const char *type,
                               const char *what, json_t *data)
{
    struct mortise_live *live = c->live;
    char at[MORTISE_TIME_TEXT];
    json_t *event;

    mortise_time_format(at, mortise_now_ms());
    event = json_pack("{s:b, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:O}",
                      "ephemeral", 1, "run", live->id, "tenant", live->tenant,
                      "at", at, "type", type, "node", c->node->id, "path",
                      c->path, "attempt", (int)c->call.attempt, what, data);
    if (event != NULL)
        mortise_watch_publish(live, event);
    else
        mortise_watch_add_missed(live, 1);
    json_decref(event);
}

/* Is the call being replayed, so that its events were sent before? */
static bool is_call_replaying(const struct mortise_plugin_call *c)
{
    return !c->is_serving && !c->live->lost &&
           mortise_run_is_replaying(c->live->run, c->run_call);
}

static const char text_delta[] = "text_delta",
                  reasoning_delta[] = "reasoning_delta";

/* Is it a piece of text, and not an object? */
static bool is_text_event(const char *type)
{
    return type == text_delta || type == reasoning_delta;
}

/* The emitted text or object; NULL: it is invalid, or memory ran out (counted
 * in *missed). */
static json_t *parse_event_message(const struct mortise_plugin_call *c,
                                   const struct message *msg, uint64_t *missed)
{
    struct mortise_secret_store *secrets = msg->m->secret_store;
    json_t *data = NULL;
    int rv;

    if (is_text_event(msg->type))
        return mortise_secret_store_mask_json(secrets,
                                              json_stringn(msg->text, msg->n));
    rv = mortise_json_parse(&data, msg->text, msg->n, NULL);
    if (rv == MORTISE_OK && json_is_object(data))
        data = mortise_secret_store_mask_json(secrets, data);
    else if (rv != MORTISE_ENOMEM) {
        mortise_json_clear_ref(&data);
        mortise_log(msg->m, MORTISE_LOG_WARN,
                    "plugin '%s' emitted an event that is not a JSON object",
                    c->lane->plugin);
        return NULL;
    }
    *missed += data == NULL;
    return data;
}

/* Guardrails check streams of text (streams.c). */
static const struct mortise_manifest *find_stream_guardrail(struct mortise *m,
                                                            const char *id)
{
    const char *as;

    return mortise_plugins_find(
        m->plugins,
        mortise_deployment_find_instance(m->settings.deployment, id,
                                         MORTISE_KIND_GUARDRAIL, &as),
        NULL);
}

static int start_stream_check(struct mortise_result_receiver *h,
                              struct mortise_live *live,
                              const struct mortise_run_call *rc,
                              uint64_t may_take_ms, struct mortise_err *err)
{
    struct mortise *m = live->m;
    char *body = mortise_json_to_text(m->mem, rc->body);
    struct mortise_plugin_call *c =
        call_new(m, live, rc, &mortise_call_check, body,
                 body != NULL ? strlen(body) + 1 : 0);

    if (c == NULL)
        return mortise_nomem(err);
    set_call_hearer(c, h);
    add_ongoing_call(c);
    c->may_take_ms = may_take_ms;
    mortise_timer_arm(&m->timers, &c->due, mortise_mono_ns_after(may_take_ms));
    queue_call(c, rc->plugin);
    return MORTISE_OK;
}

static void publish_stream_event(struct mortise_live *live, json_t *event)
{
    if (event != NULL)
        mortise_watch_publish(live, event);
    else
        mortise_watch_add_missed(live, 1);
}

static const struct mortise_stream_ops stream_ops = {
    find_stream_guardrail, start_stream_check, publish_stream_event};

static void deliver_event_message(struct mortise_task *t)
{
    struct message *msg = MORTISE_CONTAINER_OF(t, struct message, task);
    struct mortise_plugin_call *c = mortise_call_find(msg->m, msg->call);
    uint64_t missed = msg->missed;
    const char *type = msg->type;
    json_t *data = NULL;
    bool held = c != NULL && is_text_event(type) && mortise_stream_must_hold(c);

    if (c != NULL && (c->live == NULL || is_call_replaying(c) ||
                      (c->live->topic == NULL && !held)))
        c = NULL; /* nobody watches, or it was sent before */
    if (c != NULL)
        data = parse_event_message(c, msg, &missed);
    message_free(msg); /* its queue space is needed for the event */
    if (c != NULL && missed > 0)
        mortise_watch_add_missed(c->live, missed);
    if (c != NULL && held)
        mortise_stream_add_text(c, type, missed > 0 ? NULL : data, &stream_ops);
    else if (data != NULL)
        publish_call_event(c, type, is_text_event(type) ? "text" : "data",
                           data);
    json_decref(data);
}

/* [any] */
static void post_event_message(struct mortise *m, uint64_t call,
                               const char *type, const char *text, size_t n)
{
    struct message *msg = message_new(m, call, type, text, n);

    if (msg == NULL) {
        take_missed_events(m, call, 1);
        return;
    }
    msg->missed = take_missed_events(m, call, 0);
    msg->task.run = deliver_event_message;
    mortise_call_post(m, &msg->task);
}

static void on_plugin_event(void *ud, uint64_t call, const char *type,
                            const char *json, size_t n)
{
    post_event_message(ud, call, type, json, n);
}

static void on_plugin_delta(void *ud, uint64_t call, bool reasoning,
                            const char *text, size_t n)
{
    post_event_message(ud, call, reasoning ? reasoning_delta : text_delta, text,
                       n);
}

/* Memory ran out even for passing on an ask: cancelling the call answers all
 * its asks. */
static void cancel_starved_call(struct mortise_task *t)
{
    struct mortise_plugin_call *c =
        MORTISE_CONTAINER_OF(t, struct mortise_plugin_call, starved);

    if (c->state == MORTISE_CALL_CALLED)
        cancel_call(c);
    unref_call(c);
}

void mortise_call_cancel_starved(struct mortise *m, uint64_t call)
{
    struct mortise_plugin_call *c;
    bool first = false;

    pthread_mutex_lock(&m->calls_lock);
    c = find_call_locked(m, call);
    if (c != NULL && !c->out_of_memory_posted) {
        first = c->out_of_memory_posted = true;
        atomic_fetch_add(&c->refs, 1);
    }
    pthread_mutex_unlock(&m->calls_lock);
    if (first)
        mortise_call_post(m, &c->starved);
}

/* [any] */
static void on_plugin_log(void *ud, int level, const char *plugin,
                          const char *text)
{
    mortise_log(ud, level, "plugin '%s': %s", plugin, text);
}

void mortise_calls_init_ops(struct mortise *m, struct mortise_instance_ops *ops)
{
    *ops = (struct mortise_instance_ops){.ud = m,
                                         .done = on_call_done,
                                         .event = on_plugin_event,
                                         .delta = on_plugin_delta,
                                         .ask = mortise_host_call_ask,
                                         .log = on_plugin_log};
}

/* ---- open and close ----------------------------------------------------- */

int mortise_calls_open(struct mortise *m)
{
    mortise_table_init(&m->lanes, m->mem);
    mortise_table_init(&m->calls, m->mem);
    mortise_table_init(&m->run_calls, m->mem);
    mortise_table_init(&m->asks, m->mem);
    return pthread_mutex_init(&m->calls_lock, NULL) == 0 ? MORTISE_OK
                                                         : MORTISE_ENOMEM;
}

void mortise_calls_close(struct mortise *m)
{
    struct mortise_table_entry *e;

    assert(m->n_calls == 0 && m->n_background == 0); /* engine.c waited */
    while ((e = mortise_table_first(&m->lanes)) != NULL) {
        mortise_table_remove(&m->lanes, e);
        mortise_release(m->mem,
                        MORTISE_CONTAINER_OF(e, struct mortise_lane, entry),
                        sizeof(struct mortise_lane));
    }
    mortise_table_finish(&m->lanes);
    mortise_table_finish(&m->calls);
    mortise_table_finish(&m->run_calls);
    mortise_table_finish(&m->asks);
    pthread_mutex_destroy(&m->calls_lock);
}
