/* calls.c -- calls of plugins.
 *
 * Every call goes through a lane: one for each interface of each plugin, which
 * keeps to the concurrency that the manifest declares and holds the rest back,
 * first come, first served.  A call that waits for a child, or for a tool that
 * waits for a place, releases its own place if others queue for it: the call is
 * suspended and re-entered.  Otherwise calls of several runs and plugins would
 * wait for each other in a circle.  Inline and async plugins are called on the
 * loop; blocking ones on a worker.  A call ends once, through ended(), as a task: the
 * run that made it hears of it then, if it still is.
 *
 * Cancelling: the plugin is asked, and has MORTISE_QUIESCE_MS to let go.  One
 * that does not is given up: the call is closed, a worker that hangs in it is
 * replaced, and the plugin is not used again.
 *
 * Four clocks, each with a code of its own: `timeout.start`, the plugin's
 * create(); `timeout.call`, the node's timeout, which is the run's; and
 * `timeout.idle`, a call that neither emits, asks nor looks whether it was
 * cancelled for as long as its manifest's `idle` says (while it waits for an
 * answer of ours it is not idle); each of these cancels, and behind them is
 * `timeout.unresponsive`.  create() runs on the loop, which cannot be taken
 * from it: one that is slow is told so when it is done.  What does not come
 * back to the loop within its manifest's `idle` ends the process where that is
 * ours (core/plugin/watchdog.c).
 *
 * `done` may come on any thread while the loop knows the call; `calls`, the
 * table by id, is changed by the loop alone, under a lock.  A worker holds a
 * reference of its own, as the plugin may finish a call (and the loop forget
 * it) while the worker is still on its way out of it.
 */
#include "core/engine/runs/call.h"
#include "core/engine/runs/script.h"
#include "core/engine/runs/streams.h"
#include "core/engine/common/grants.h"
#include "core/engine/common/traces.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "mortise/guardrail.h"

enum {
    /* Bytes of an event beside what the plugin said: what it takes if it has to
     * wait (held_events.c), so that what was let in here need not be left out
     * there.
     */
    EVENT_COSTS = 384,
    SAYS_SO_MS = 500, /* for a plugin to say itself that it took too long */
    ASK_AGAIN_MS = 5, /* a cancel that a worker was not ready for */
    /* Between two looks whether a descriptor is left: doubled each time. */
    SHORT_MS = 50,
    SHORT_MAX_MS = 2000,
    NS_PER_MS = 1000000
};

/* ---- records ------------------------------------------------------------ */

/* [any] */
static void unref(struct mortise_ongoing *c)
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

static uint64_t run_hash(const struct mortise_live *live, uint64_t run_call)
{
    return mortise_hash_u64s((uint64_t)(uintptr_t)live, run_call);
}

/* The first of its run's calls, or of those that serve nobody's. */
static void chain(struct mortise_ongoing *c, struct mortise_ongoing **first)
{
    c->next = *first;
    c->at = first;
    if (c->next != NULL)
        c->next->at = &c->next;
    *first = c;
}

static void enlist(struct mortise_ongoing *c)
{
    struct mortise_live *live = c->live;
    struct mortise *m = c->m;

    pthread_mutex_lock(&m->calls_lock);
    mortise_table_add(&m->calls, &c->by_id, mortise_hash_u64s(c->id, 0));
    pthread_mutex_unlock(&m->calls_lock);
    if (live != NULL)
        chain(c, &live->calls);
    else if (c->is_serving)
        chain(c, &m->runless);
    if (live == NULL) {
        m->n_background++;
        return;
    }
    if (!c->is_serving)
        mortise_table_add(&m->run_calls, &c->by_run,
                          run_hash(live, c->run_call));
    m->n_calls++;
}

static void delist(struct mortise_ongoing *c)
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
    mortise_live_touch(c->live);
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

struct mortise_ongoing *mortise_call_find(struct mortise *m, uint64_t id)
{
    struct mortise_ongoing *c;

    pthread_mutex_lock(&m->calls_lock);
    c = find(m, id);
    pthread_mutex_unlock(&m->calls_lock);
    return c;
}

void mortise_call_post(struct mortise *m, struct mortise_task *t)
{
    if (pthread_equal(m->thread, pthread_self()))
        mortise_ready(m, t);
    else
        mortise_task_queue_put(&m->task_queue, t, false);
}

/* ---- how it ended ------------------------------------------------------- */

/* [any]: before a plugin saw it, or instead of what it said. */
static void set_failed(struct mortise_ongoing *c, int32_t status,
                       const char *code, const char *error_class,
                       const char *message)
{
    c->status = status;
    mortise_call_error(c, code, error_class, message);
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

/* [any] */
static void set_no_memory(struct mortise_ongoing *c)
{
    set_failed(c, MORTISE_S_NOMEM, "memory", "transient",
               "out of memory for the output of the plugin");
}

/* [any]: a value that was emitted; NULL: it is none, and the call failed. */
static json_t *parse(struct mortise_ongoing *c, const char *what,
                     const char *text, size_t n)
{
    struct mortise_err err, why;
    json_t *value;
    int rv = mortise_json_parse(&value, text, n, &err);

    if (rv == MORTISE_OK) {
        value = mortise_secret_store_masked(c->m->secret_store, value);
        if (value != NULL)
            return value;
        rv = MORTISE_ENOMEM;
    }
    if (rv == MORTISE_ENOMEM) {
        set_no_memory(c);
        return NULL;
    }
    mortise_fail(&why, MORTISE_EINVAL,
                 "plugin '%s' emitted an %s that is not JSON: %s",
                 c->lane->plugin, what, err.msg);
    set_failed(c, MORTISE_S_FAILED, "bad_output", "permanent", why.msg);
    return NULL;
}

/* [any]: what is no target anyway when a secret is in it. */
static bool set_target(const struct mortise_ongoing *c,
                       const struct mortise_call_done *done)
{
    json_t *target = mortise_secret_store_masked(c->m->secret_store,
                                                 json_string(done->target));

    return json_object_set_new(c->said, "goto", target) == 0;
}

/* [any]: what it said besides its output. */
static void take_said(struct mortise_ongoing *c,
                      const struct mortise_call_done *done)
{
    json_t *update = done->has_update
                         ? parse(c, "update", done->update, done->update_size)
                         : NULL;

    if (done->has_update && update == NULL)
        return;
    c->said = json_pack("{s:o*}", "update", update);
    if (c->said == NULL || (done->target != NULL && !set_target(c, done)))
        set_no_memory(c);
}

/* [any]: parsed here, once, and off the loop for plugins with threads. */
static void take_output(struct mortise_ongoing *c,
                        const struct mortise_call_done *done)
{
    if (done->has_output)
        c->output = parse(c, "output", done->output, done->output_size);
    if (c->status == MORTISE_S_OK && (done->has_update || done->target != NULL))
        take_said(c, done);
}

/* [any]: names of models, without secrets; NULL: memory ran out. */
static json_t *shown_models(const struct mortise_ongoing *c,
                            const json_t *models)
{
    json_t *out = json_array(), *one;
    size_t i;

    json_array_foreach(mortise_json_unconst(models), i, one)
    {
        json_t *name =
            mortise_secret_store_masked(c->m->secret_store, json_incref(one));

        if (json_string_length(name) > MORTISE_USAGE_NAME_MAX) {
            json_decref(name); /* of as many secrets */
            name = json_string("[secret]");
        }
        if (json_array_append_new(out, name) != 0) {
            json_decref(out);
            return NULL;
        }
    }
    return out;
}

/* [any]: what it used, which is the plugin's word.  MORTISE_ENOMEM: a name is
 * missing. */
static int take_usage(struct mortise_ongoing *c,
                      const struct mortise_usage *said)
{
    struct mortise_usage more = *said;
    int rv;

    more.by_model = NULL; /* those are names, too */
    if (said->models != NULL)
        more.models = shown_models(c, said->models);
    rv = mortise_usage_add(&c->usage, &more);
    if (said->models != NULL && more.models == NULL)
        rv = MORTISE_ENOMEM;
    json_decref(more.models);
    return rv;
}

/* The instance's word that a call ended.  [any] */
static void on_done(void *ud, const struct mortise_call_done *done)
{
    struct mortise *m = ud;
    struct mortise_ongoing *c = mortise_call_find(m, done->id);

    assert(c != NULL); /* the instance knows open calls only */
    atomic_store(&c->is_over, true);
    c->status = done->status;
    c->let_go = done->status == MORTISE_S_CANCELLED ||
                done->status == MORTISE_S_TIMEOUT;
    c->violation = done->violation;
    c->plain = done->plain;
    c->retry_after_ms = done->retry_after_ms;
    if (done->status != MORTISE_S_OK || done->violation)
        mortise_call_error(c, done->error_code, class_of(done->error_class),
                           done->message);
    c->ending = done->ending;
    if (done->status == MORTISE_S_OK)
        take_output(c, done);
    if (take_usage(c, done->usage) != MORTISE_OK)
        set_no_memory(c);
    c->mute = done->mute ||
              (done->status == MORTISE_S_OK && c->status != MORTISE_S_OK);
    mortise_call_post(m, &c->ended);
}

/* What it used, with what its asks did. */
static const struct mortise_usage *all_usage(struct mortise_ongoing *c)
{
    mortise_usage_add(&c->usage, &c->served);
    mortise_usage_finish(&c->served);
    return &c->usage;
}

/* It was stopped because it took too long: that is why it failed. */
static void set_overdue(struct mortise_ongoing *c)
{
    char words[128];

    snprintf(words, sizeof words, "the call took longer than %llu ms",
             (unsigned long long)c->may_take_ms);
    set_failed(c, MORTISE_S_TIMEOUT, "timeout.call", "timeout", words);
}

/* It took longer than it may, noticed by its timer or not: a plugin can keep the
 * loop from that. */
static bool is_overdue(const struct mortise_ongoing *c)
{
    return c->may_take_ms > 0 && mortise_mono_ns() >= c->due.at_ns;
}

/* Who asked for what it performs hears of it.  What it gave in spite of having
 * taken too long is no answer but to an ask, which may have cost something. */
static void tell_served(struct mortise_ongoing *c)
{
    struct mortise_asked *a = c->serves;
    struct mortise_hearer *h = c->hearer;
    struct mortise_host_call_served how;

    if (is_overdue(c) && (c->status != MORTISE_S_OK || h != NULL))
        set_overdue(c);
    how = (struct mortise_host_call_served){
        .status = c->status,
        .output = c->output,
        .usage = all_usage(c),
        .violation = c->violation,
        .code = c->code,
        .error_class = c->error_class != NULL ? c->error_class : "",
        .message = c->message != NULL ? c->message : "",
        .retry_after_ms = c->retry_after_ms};
    c->serves = NULL;
    c->hearer = NULL;
    if (a != NULL) {
        a->data = NULL;
        a->method->served(a, &how);
    } else if (h != NULL) {
        h->call = NULL;
        h->hear(h, &how);
    }
}

/* What it adds to its node's conversation goes with what it says besides its
 * output. */
static void say_conversation(struct mortise_ongoing *c)
{
    if (c->conversation == NULL || c->status != MORTISE_S_OK)
        return;
    if (c->said == NULL)
        c->said = json_object();
    if (json_object_set(c->said, "conversation", c->conversation) != 0)
        set_failed(c, MORTISE_S_NOMEM, "memory", "transient",
                   "out of memory for the node's conversation");
}

static void feed_result(struct mortise_ongoing *c)
{
    struct mortise_input in;

    say_conversation(c);
    in = (struct mortise_input){
        .kind = MORTISE_IN_RESULT,
        .u.result = {.call = c->run_call,
                     .status = c->status,
                     .violation = c->violation,
                     .output = c->output,
                     .said = c->said,
                     .usage = all_usage(c),
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

static void dispatch(struct mortise_ongoing *c);

/* The run is paused, which lets go of the call; it goes on when its plugin may
 * be called again, and says until then why not (live.c). */
static void parked(struct mortise_task *t)
{
    struct mortise_ongoing *c = MORTISE_OF(t, struct mortise_ongoing, parked);

    if (c->state == MORTISE_CALL_WAITING && !c->cancelled && !c->live->lost)
        mortise_pause_one(c->m, c->live);
    unref(c);
}

static void end_early(struct mortise_ongoing *c, int32_t status,
                      const char *code, const char *error_class,
                      const char *message);

/* A call of a plugin that is not trusted any more, which no lane has.  One of no
 * run ends with that. */
static void park(struct mortise_ongoing *c, const struct mortise_err *why)
{
    struct mortise *m = c->m;

    if (c->live == NULL) {
        c->lane = NULL;
        end_early(c, MORTISE_S_DENIED, "plugin", "permanent", why->msg);
        return;
    }
    mortise_log(m, MORTISE_LOG_ERROR, "run %s is blocked at %s: %s", c->run_id,
                c->path, why->msg);
    c->lane = NULL;
    c->is_parked = true;
    atomic_fetch_add(&c->refs, 1);
    c->parked.run = parked;
    mortise_ready(m, &c->parked);
}

/* A shortage of descriptors is not the plugin's and not the run's: the call waits
 * until one may be had.  The run stays as it is, and its node's timeout counts. */
static void await_descriptors(struct mortise_ongoing *c,
                              const struct mortise_err *why)
{
    uint64_t ms = (uint64_t)SHORT_MS << (c->tries < 6 ? c->tries : 6);

    if (c->tries++ == 0)
        mortise_log(c->m, MORTISE_LOG_WARN, "run %s waits at %s: %s", c->run_id,
                    c->path, why->msg);
    mortise_timer_arm(&c->m->timers, &c->again,
                      mortise_mono_in(ms < SHORT_MAX_MS ? ms : SHORT_MAX_MS));
}

static bool is_full(const struct mortise_lane *l)
{
    return l->limit != 0 && l->running >= l->limit;
}

/* Does a tool of this run, or what is behind it, perhaps wait for a place that a call
 * of any run has?  It queues then, or waits for a child, which may queue. */
static bool may_be_blocked(const struct mortise_live *live)
{
    const struct mortise_ongoing *c = live->calls;

    while (c != NULL && c->state != MORTISE_CALL_WAITING &&
           !mortise_host_call_waits(c, false))
        c = c->next;
    return c != NULL;
}

static size_t count(const struct mortise_tasks *q)
{
    size_t n = 0;

    for (const struct mortise_task *t = q->first; t != NULL; t = t->next)
        n++;
    return n;
}

/* One that is called, and waits for a child or, maybe in vain, for a tool; NULL:
 * none does.  *leaving: how many were asked before. */
static struct mortise_ongoing *find_waiting(const struct mortise_lane *l,
                                            size_t *leaving, bool *tools)
{
    struct mortise_hashed *e;

    *leaving = 0;
    for (e = mortise_table_first(&l->m->lives); e != NULL;
         e = mortise_table_next(&l->m->lives, e)) {
        const struct mortise_live *live =
            MORTISE_OF(e, struct mortise_live, entry);

        *tools = may_be_blocked(live);
        for (struct mortise_ongoing *c = live->calls; c != NULL; c = c->next) {
            if (c->lane != l || c->state != MORTISE_CALL_CALLED)
                continue;
            if (c->yields || c->told_to_wait)
                (*leaving)++;
            else if (!live->lost && mortise_host_call_waits(c, *tools))
                return c;
        }
    }
    return NULL;
}

/* As many let go as wait for a place, if so many only wait themselves. */
static void make_room(struct mortise_task *t)
{
    struct mortise_lane *l = MORTISE_OF(t, struct mortise_lane, room);
    struct mortise_input in = {.kind = MORTISE_IN_YIELD};
    struct mortise_ongoing *c;
    size_t leaving;

    l->wants_room = false;
    while (is_full(l) && l->waiting.first != NULL) {
        c = find_waiting(l, &leaving, &in.u.yield.tools);
        if (c == NULL || leaving >= count(&l->waiting))
            return;
        c->yields = true;
        in.u.yield.call = c->run_call;
        mortise_live_feed(c->live, &in);
    }
}

static void want_room(struct mortise_lane *l)
{
    if (l->wants_room || !l->has_waits || l->waiting.first == NULL)
        return;
    l->wants_room = true;
    l->room.run = make_room;
    mortise_ready(l->m, &l->room);
}

/* Call whoever waits, as far as the limit allows and the plugin is trusted. */
static void lane_pump(struct mortise_lane *l)
{
    struct mortise_err why;

    while (l->waiting.first != NULL && !is_full(l)) {
        struct mortise_ongoing *c = MORTISE_OF(mortise_tasks_take(&l->waiting),
                                               struct mortise_ongoing, turn);

        switch (mortise_plugins_trusted(l->m->plugins, l->plugin, &why)) {
        case MORTISE_OK:
            dispatch(c);
            break;
        case MORTISE_ELIMIT:
            await_descriptors(c, &why);
            break;
        default:
            park(c, &why);
        }
    }
    want_room(l);
}

void mortise_call_waits(const struct mortise_ongoing *c)
{
    c->lane->has_waits = true;
    for (c = c->live->calls; c != NULL; c = c->next)
        if (c->lane != NULL)
            want_room(c->lane);
}

static struct mortise_lane *lane_find(struct mortise *m, const char *plugin,
                                      const char *as, enum mortise_kind kind)
{
    struct mortise_hashed *e;

    for (e = mortise_table_find(&m->lanes, mortise_hash_strs(plugin, as));
         e != NULL; e = mortise_table_more(e)) {
        struct mortise_lane *l = MORTISE_OF(e, struct mortise_lane, entry);

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
    const struct mortise_provides *p = &man->provides[kind];
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

/* The plugin behind a name, which is its own, or one that the deployment gives
 * to an instance of it: *as. */
static const char *plugin_behind(const struct mortise *m, const char *name,
                                 enum mortise_kind kind, const char **as)
{
    const struct mortise_deployment *d = m->settings.deployment;
    const struct mortise_guard *g;
    const struct mortise_model_alias *model;
    const struct mortise_discoverer *finder;

    *as = "";
    switch (kind) {
    case MORTISE_KIND_GUARDRAIL:
        g = mortise_guard_find(&d->guards, name);
        *as = g != NULL ? g->id : "";
        return g != NULL ? g->plugin : name;
    case MORTISE_KIND_MODEL:
        model = mortise_model_find(&d->models, name);
        *as = model != NULL ? model->instance : "";
        return model != NULL ? model->provider : name;
    case MORTISE_KIND_DISCOVERY:
        finder = mortise_discoverer_of_instance(&d->discovery, name);
        *as = finder != NULL ? finder->instance : "";
        return finder != NULL ? finder->plugin : name;
    case MORTISE_KIND_MEMORY:
        *as = MORTISE_MEMORY_INSTANCE;
        return d->memory.plugin != NULL ? d->memory.plugin : name;
    default: /* an executor has no other instance */
        return name;
    }
}

struct start {
    struct mortise_lane *lane;
    uint64_t took_ms; /* 0: it was started already */
    /* How it did not come to be; NULL: it was not even tried. */
    const struct mortise_create_failure *failure;
};

/* Start the plugin if it is not started, and find its lane; `name` as for
 * plugin_behind(). */
static int lane_get(struct mortise *m, const char *name, enum mortise_kind kind,
                    struct start *s, struct mortise_err *err)
{
    const char *as, *plugin = plugin_behind(m, name, kind, &as);
    struct mortise_instance *i;
    uint64_t before;
    json_t *config;
    int rv;

    *s = (struct start){.lane = lane_find(m, plugin, as, kind)};
    if (s->lane != NULL && !s->lane->given_up)
        return MORTISE_OK;
    before = mortise_mono_ns();
    rv = mortise_secret_config(m, plugin, as, &config, err);
    if (rv == MORTISE_OK) {
        rv = mortise_plugins_start(m->plugins, plugin, as, config, &i, err);
        if (rv != MORTISE_OK)
            s->failure = mortise_plugins_create_failure(m->plugins, plugin, as);
    }
    if (rv != MORTISE_OK)
        mortise_secret_store_cover(m->secret_store, err->msg, sizeof err->msg);
    json_decref(config);
    s->took_ms = (mortise_mono_ns() - before) / NS_PER_MS;
    if (rv != MORTISE_OK || s->lane != NULL)
        return rv;
    return lane_new(m, i, as, kind, &s->lane, err);
}

static int bring_up_model(struct mortise *m, const char *alias,
                          struct mortise_err *err)
{
    const struct mortise_models *models = &m->settings.deployment->models;
    const struct mortise_model_alias *model = mortise_model_find(models, alias);
    const struct mortise_model_alias *behind[MORTISE_N_TIERS];
    struct start s;
    int rv = MORTISE_OK;
    size_t n;

    if (model == NULL)
        return mortise_model_need(models, alias, err);
    n = mortise_models_behind(models, model, behind);
    for (size_t i = 0; rv == MORTISE_OK && i < n; i++)
        rv = lane_get(m, behind[i]->alias, MORTISE_KIND_MODEL, &s, err);
    return rv;
}

/* An instance, or the name of a plugin behind the prefix. */
static int bring_up_discovery(struct mortise *m, const char *name,
                              struct mortise_err *err)
{
    const struct mortise_deployment *d = m->settings.deployment;
    bool instance = mortise_discoverer_of_instance(&d->discovery, name) != NULL;
    struct start s;

    return lane_get(m,
                    instance ? name : mortise_deployment_plugin(d, name, NULL),
                    MORTISE_KIND_DISCOVERY, &s, err);
}

int mortise_calls_bring_up(struct mortise *m, const char *name,
                           struct mortise_err *err)
{
    static const char model[] = "model:",
                      discovery[] = MORTISE_DISCOVERY_PREFIX;

    const char *id = mortise_guard_of_plugin(name);
    struct start s;

    if (strncmp(name, model, sizeof model - 1) == 0)
        return bring_up_model(m, name + sizeof model - 1, err);
    if (strcmp(name, MORTISE_MEMORY_INSTANCE) == 0)
        return lane_get(m, name, MORTISE_KIND_MEMORY, &s, err);
    if (strncmp(name, discovery, sizeof discovery - 1) == 0)
        return bring_up_discovery(m, name, err);
    return lane_get(m, id != NULL ? id : name,
                    id != NULL ? MORTISE_KIND_GUARDRAIL : MORTISE_KIND_EXECUTOR,
                    &s, err);
}

/* ---- the end of a call -------------------------------------------------- */

/* It ended, or will never be heard of again; the run is not told here. */
static void forget(struct mortise_ongoing *c)
{
    struct mortise_lane *l = c->lane;

    mortise_host_call_end(c);
    if (c->kept != NULL)
        c->kept->drop(c->kept);
    c->kept = NULL;
    delist(c);
    if (l != NULL && c == l->background) {
        l->background = NULL;
    } else if (l != NULL && c->state == MORTISE_CALL_CALLED &&
               (c->live != NULL || c->is_serving)) {
        l->running--;
        lane_pump(l);
    }
    c->state = MORTISE_CALL_ENDED;
}

/* It let go because we asked: why we did is why it failed. */
static void set_idle(struct mortise_ongoing *c)
{
    char words[128];

    snprintf(words, sizeof words, "the plugin showed no activity for %llu ms",
             (unsigned long long)c->lane->idle_ms);
    set_failed(c, MORTISE_S_TIMEOUT, "timeout.idle", "timeout", words);
}

/* What an instance did in the background is over before it is: its next call has
 * it begin again. */
static void note_background(const struct mortise_ongoing *c)
{
    if (!c->cancelled)
        mortise_log(c->m, MORTISE_LOG_WARN,
                    "the background work of plugin '%s' ended%s%s",
                    c->lane->plugin, c->message != NULL ? ": " : "",
                    c->message != NULL ? c->message : "");
}

/* What a memory gave a run is what it was asked for, or an error of it. */
static void judge_memory(struct mortise_ongoing *c)
{
    struct mortise_err why;
    json_t *body = NULL;
    int rv;

    if (c->status != MORTISE_S_OK || (c->call.kind != &mortise_call_recall &&
                                      c->call.kind != &mortise_call_remember))
        return;
    rv = mortise_json_read(&body, c->body, c->call.body_size, &why);
    if (rv == MORTISE_OK)
        rv = mortise_traces_judge(c->call.kind, body, c->output, &why);
    json_decref(body);
    if (rv == MORTISE_ENOMEM)
        set_failed(c, MORTISE_S_NOMEM, "memory", "transient", why.msg);
    else if (rv != MORTISE_OK)
        set_failed(c, MORTISE_S_FAILED, "memory.bad_answer", "permanent",
                   why.msg);
}

/* A verdict that comes behind its node's time is none, also where what gave it
 * kept the loop from noticing. */
static void judge_verdict(struct mortise_ongoing *c)
{
    if (c->call.kind == &mortise_call_check && c->status == MORTISE_S_OK &&
        c->call.deadline_ns != 0 && mortise_mono_ns() > c->call.deadline_ns)
        set_failed(c, MORTISE_S_TIMEOUT, "timeout.call", "timeout",
                   "the call took longer than the timeout of its node");
}

static bool is_last_of_output(const struct mortise_ongoing *c)
{
    return c->live != NULL && !c->is_serving && c->is_last &&
           c->call.kind == &mortise_call_check &&
           c->call.stage == MORTISE_STAGE_OUTPUT;
}

/* A guardrail lets what it was shown pass, as it is. */
static bool passes(const struct mortise_ongoing *c)
{
    return c->status == MORTISE_S_OK &&
           (!c->violation || c->node->on_violation == MORTISE_VIOLATION_WARN);
}

static void ended(struct mortise_task *t)
{
    struct mortise_ongoing *c = MORTISE_OF(t, struct mortise_ongoing, ended);

    forget(c);
    if (c->unsaid > 0 && c->live != NULL)
        mortise_watch_miss(c->live, c->unsaid);
    if (c->live != NULL)
        mortise_stream_end(c);
    if (is_last_of_output(c))
        mortise_stream_judged(c, passes(c));
    if (c->idle_over && c->status != MORTISE_S_OK)
        set_idle(c);
    if (c->is_serving)
        tell_served(c);
    else if (c->live == NULL)
        note_background(c);
    else {
        judge_memory(c);
        judge_verdict(c);
        feed_result(c);
    }
    unref(c);
}

/* End one that no plugin has: as if it had said so. */
static void end_early(struct mortise_ongoing *c, int32_t status,
                      const char *code, const char *error_class,
                      const char *message)
{
    set_failed(c, status, code, error_class, message);
    mortise_ready(c->m, &c->ended);
}

/* ---- calling ------------------------------------------------------------ */

static void wind_idle(struct mortise_ongoing *c)
{
    uint64_t ms = c->lane->idle_ms;

    if (ms != 0 && !c->lane->given_up)
        mortise_timer_arm(&c->m->timers, &c->idle, mortise_mono_in(ms));
}

/* [worker] */
static void on_worker(struct mortise_task *j)
{
    struct mortise_ongoing *c = MORTISE_OF(j, struct mortise_ongoing, job);
    struct mortise_lane *l = c->lane;
    struct mortise_err err;

    if (mortise_instance_call(l->instance, &c->call, &err) != MORTISE_OK) {
        set_failed(c, MORTISE_S_FAILED, "plugin", "permanent", err.msg);
        mortise_call_post(l->m, &c->ended);
    }
    unref(c);
}

static void dispatch(struct mortise_ongoing *c)
{
    struct mortise_lane *l = c->lane;
    struct mortise_err err;
    int rv;

    c->state = MORTISE_CALL_CALLED;
    l->running++;
    wind_idle(c);
    if (l->given_up) {
        mortise_fail(&err, MORTISE_ESTATE,
                     "this engine no longer calls plugin '%s', because an "
                     "earlier call of the plugin did not return",
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

/* What a run's call calls; of a LOOKUP, which no plugin gets, what it looks for
 * the outcome of. */
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

static uint32_t stage_of(const struct mortise_run_call *rc)
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

/* A copy of s behind those that are there; c->text_size made room for it. */
static const char *keep(char **at, const char *s)
{
    size_t n = strlen(s) + 1;
    char *copy = memcpy(*at, s, n);

    *at += n;
    return copy;
}

static const char *operation_of(const struct mortise_run_call *rc)
{
    return rc->operation != NULL ? rc->operation : "";
}

static const char *run_of(const struct mortise_live *live)
{
    return live != NULL ? live->id : "";
}

static const char *tenant_of(const struct mortise_live *live)
{
    return live != NULL ? live->tenant : "";
}

static size_t text_size(const struct mortise_live *live,
                        const struct mortise_run_call *rc)
{
    return strlen(operation_of(rc)) + strlen(rc->path) + strlen(rc->key) +
           strlen(run_of(live)) + strlen(tenant_of(live)) + 5;
}

/* What the plugin gets, ours until the call is forgotten. */
static void fill_call(struct mortise_ongoing *c,
                      const struct mortise_run_call *rc, char *body,
                      size_t room)
{
    struct mortise_call *to = &c->call;
    char *at = c->text;

    c->body = body;
    c->body_room = room;
    to->operation = keep(&at, operation_of(rc));
    c->path = to->node_path = keep(&at, rc->path);
    to->idempotency_key = keep(&at, rc->key);
    c->run_id = to->run_id = keep(&at, run_of(c->live));
    to->tenant = keep(&at, tenant_of(c->live));
    to->is_unstored = c->live != NULL && c->live->synced == 0;
    c->whose = (struct mortise_whose){to->tenant, to->run_id, c->path,
                                      to->is_unstored};
    c->node = rc->node;
    c->is_aside = mortise_call_is_aside(rc->kind);
    c->is_within_held = rc->is_within_held;
    c->is_held = rc->is_held;
    c->is_last = rc->is_last;
    to->id = c->id;
    to->attempt = rc->attempt;
    to->visit = rc->visit;
    to->stage = rc->kind == MORTISE_RUN_CHECK ? stage_of(rc) : 0;
    to->flags = rc->is_held ? MORTISE_REQUEST_HELD : 0;
    to->deadline_ns = rc->timeout_ms != 0 ? mortise_mono_in(rc->timeout_ms) : 0;
    to->body = c->body;
    to->body_size = strlen(c->body);
}

static void quiesce_over(struct mortise_timer *t);
static void idle_over(struct mortise_timer *t);
static void overdue(struct mortise_timer *t);
static void starved(struct mortise_task *t);
static void call_again(struct mortise_timer *t);

/* Of a run, or (NULL) of none.  Takes the body (NULL: memory ran out), which has
 * so much room. */
static struct mortise_ongoing *call_new(struct mortise *m,
                                        struct mortise_live *live,
                                        const struct mortise_run_call *rc,
                                        const struct mortise_call_kind *kind,
                                        char *body, size_t room)
{
    size_t n = text_size(live, rc);
    struct mortise_ongoing *c =
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
    c->state = MORTISE_CALL_WAITING;
    c->quiesce.fire = quiesce_over;
    c->idle.fire = idle_over;
    c->due.fire = overdue;
    c->again.fire = call_again;
    c->ended.run = ended;
    c->starved.run = starved;
    c->job.run = on_worker;
    atomic_init(&c->refs, 1);
    fill_call(c, rc, body, room);
    return c;
}

/* The same of a body that was written, which is empty afterwards. */
static struct mortise_ongoing *
call_written(struct mortise *m, struct mortise_live *live,
             const struct mortise_run_call *rc,
             const struct mortise_call_kind *kind, struct mortise_buf *body)
{
    char *text = mortise_buf_cstr(body);
    struct mortise_ongoing *c = call_new(m, live, rc, kind, text, body->cap);

    if (text != NULL)
        mortise_buf_init(body, m->mem);
    return c;
}

/* Else it is not for lack of trust that the plugin cannot be called. */
static bool is_trusted(struct mortise *m, const char *name,
                       enum mortise_kind kind, struct mortise_err *why)
{
    const char *as, *plugin = plugin_behind(m, name, kind, &as);
    struct mortise_err own;
    bool trusted =
        mortise_plugins_trusted(m->plugins, plugin, &own) == MORTISE_OK;

    if (!trusted)
        *why = own;
    return trusted;
}

/* One that said that it is over is none, whenever the loop comes to it. */
static bool is_in_background(const struct mortise_lane *l)
{
    return l->background != NULL && !atomic_load(&l->background->is_over);
}

/* What the instance does for itself, beside its calls and their number.  One that
 * is not there is missed by whoever needs it, who says so. */
static void begin_background(struct mortise_lane *l)
{
    struct mortise_run_call rc = {.attempt = 1, .visit = 1};
    char *body = mortise_strdup(l->m->mem, "{}");
    struct mortise_ongoing *c =
        call_new(l->m, NULL, &rc, &mortise_call_background, body, sizeof "{}");
    struct mortise_err err;

    assert(!is_in_background(l));
    if (c == NULL)
        return;
    c->lane = l;
    c->state = MORTISE_CALL_CALLED;
    l->background = c;
    enlist(c);
    if (mortise_instance_call(l->instance, &c->call, &err) != MORTISE_OK)
        end_early(c, MORTISE_S_FAILED, "plugin", "permanent", err.msg);
}

/* Its plugin did not come up.  Where create() says that another try may help, the
 * call failed as create() did: whoever made it may try again.  So it may where memory
 * was short. */
static void end_unstarted(struct mortise_ongoing *c,
                          const struct mortise_create_failure *f,
                          const struct mortise_err *why)
{
    bool again = f != NULL && f->transient;

    if (f == NULL && why->code == MORTISE_ENOMEM) {
        end_early(c, MORTISE_S_NOMEM, "memory", "transient", why->msg);
        return;
    }
    c->retry_after_ms = again ? f->retry_after_ms : 0;
    end_early(c, MORTISE_S_FAILED,
              again && f->code[0] != '\0' ? f->code : "plugin",
              again ? "transient" : "permanent", why->msg);
}

/* Of a run that is not checked as a whole, each call is. */
static int may_call(struct mortise_ongoing *c, const char *name,
                    enum mortise_kind kind, struct mortise_err *why)
{
    const char *as;

    if (c->live == NULL || c->live->checked)
        return MORTISE_OK;
    return mortise_live_may_call(
        c->live, plugin_behind(c->m, name, kind, &as),
        kind == MORTISE_KIND_EXECUTOR ? c->call.operation : NULL, why);
}

/* It waits for its turn with its plugin, which is started if it has to be. */
static void queue(struct mortise_ongoing *c, const char *name)
{
    struct mortise *m = c->m;
    enum mortise_kind kind = c->call.kind->kind;
    const struct mortise_whose *before = mortise_inside_for(&c->whose);
    struct mortise_err why;
    struct start s;
    int rv = may_call(c, name, kind, &why);

    if (rv != MORTISE_OK) {
        mortise_inside_for(before);
        end_early(c, MORTISE_S_DENIED, "plugin", "permanent", why.msg);
        return;
    }
    rv = lane_get(m, name, kind, &s, &why);
    mortise_inside_for(before);
    if (rv == MORTISE_ELIMIT &&
        (c->wanted != NULL ||
         (c->wanted = mortise_strdup(c->mem, name)) != NULL)) {
        c->is_parked = true;
        await_descriptors(c, &why);
        return;
    }
    c->is_parked = false;
    if (rv != MORTISE_OK) {
        if (!is_trusted(m, name, kind, &why))
            park(c, &why);
        else
            end_unstarted(c, s.failure, &why);
        return;
    }
    if (s.took_ms > m->start_ms) {
        mortise_fail(&why, MORTISE_ELIMIT,
                     "plugin '%s' took %llu ms to start; the limit is %llu ms",
                     name, (unsigned long long)s.took_ms,
                     (unsigned long long)m->start_ms);
        end_early(c, MORTISE_S_TIMEOUT, "timeout.start", "timeout", why.msg);
        return;
    }
    c->lane = s.lane;
    if (s.lane->has_background && !is_in_background(s.lane))
        begin_background(s.lane);
    mortise_tasks_put(&s.lane->waiting, &c->turn);
    lane_pump(s.lane);
}

static void call_again(struct mortise_timer *t)
{
    struct mortise_ongoing *c = MORTISE_OF(t, struct mortise_ongoing, again);

    if (c->lane == NULL) {
        queue(c, c->wanted);
    } else {
        mortise_tasks_put(&c->lane->waiting, &c->turn);
        lane_pump(c->lane);
    }
}

int mortise_calls_begin(struct mortise_live *live, struct mortise_run_call *rc,
                        struct mortise_err *err)
{
    char *body = mortise_json_text(live->m->mem, rc->body);
    struct mortise_ongoing *c =
        call_new(live->m, live, rc, kinds[rc->kind], body,
                 body != NULL ? strlen(body) + 1 : 0);

    if (c == NULL)
        return mortise_nomem(err);
    enlist(c);
    if (mortise_begin_of(rc->kind) != NULL)
        mortise_begin_of(rc->kind)(c, rc);
    else if (!mortise_script_call(c, rc, mortise_host_call_ask))
        queue(c, rc->plugin);
    return MORTISE_OK;
}

/* It serves whoever hears of it. */
static void serve_hearer(struct mortise_ongoing *c, struct mortise_hearer *h)
{
    c->is_serving = true;
    c->hearer = h;
    h->call = c;
}

int mortise_calls_serve_nobody(struct mortise *m, struct mortise_hearer *h,
                               const struct mortise_call_kind *kind,
                               const char *name, struct mortise_buf *body,
                               struct mortise_err *err)
{
    struct mortise_run_call rc = {.attempt = 1, .visit = 1};
    struct mortise_ongoing *c = call_written(m, NULL, &rc, kind, body);

    if (c == NULL)
        return mortise_nomem(err);
    serve_hearer(c, h);
    enlist(c);
    queue(c, name);
    return MORTISE_OK;
}

/* A call that serves another; takes the body.  NULL: memory ran out. */
static struct mortise_ongoing *serve(const struct mortise_ongoing *by,
                                     const struct mortise_call_kind *kind,
                                     struct mortise_buf *body,
                                     uint64_t may_take_ms)
{
    struct mortise_run_call rc = {.id = by->run_call,
                                  .node = by->node,
                                  .is_within_held = by->is_within_held,
                                  .is_held = by->is_held,
                                  .attempt = by->call.attempt,
                                  .visit = by->call.visit};
    struct mortise_ongoing *c;

    snprintf(rc.path, sizeof rc.path, "%s", by->path);
    c = call_written(by->m, by->live, &rc, kind, body);
    if (c == NULL)
        return NULL;
    c->call.deadline_ns = by->call.deadline_ns;
    c->is_serving = true;
    enlist(c);
    c->may_take_ms = may_take_ms;
    if (may_take_ms > 0)
        mortise_timer_arm(&by->m->timers, &c->due,
                          mortise_mono_in(may_take_ms + SAYS_SO_MS));
    return c;
}

int mortise_calls_serve(struct mortise_asked *a,
                        const struct mortise_call_kind *kind, const char *name,
                        struct mortise_buf *body, uint64_t may_take_ms,
                        struct mortise_err *err)
{
    struct mortise_ongoing *c = serve(a->call, kind, body, may_take_ms);

    if (c == NULL)
        return mortise_nomem(err);
    c->serves = a;
    a->data = c;
    queue(c, name);
    return MORTISE_OK;
}

int mortise_calls_serve_part(struct mortise_ongoing *by,
                             struct mortise_hearer *h,
                             const struct mortise_call_kind *kind,
                             const char *name, struct mortise_buf *body,
                             uint64_t may_take_ms, struct mortise_err *err)
{
    struct mortise_ongoing *c = serve(by, kind, body, may_take_ms);

    if (c == NULL)
        return mortise_nomem(err);
    serve_hearer(c, h);
    queue(c, name);
    return MORTISE_OK;
}

/* ---- cancelling --------------------------------------------------------- */

/* It did not let go. */
static void give_up(struct mortise_ongoing *c)
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
    mortise_pool_give_up(m->pool, &c->job);
    forget(c);
    if (c->is_serving) {
        set_failed(c, MORTISE_S_TIMEOUT, "timeout.unresponsive", "timeout",
                   why);
        tell_served(c);
    } else if (live != NULL) {
        in.u.result.usage = all_usage(c);
        mortise_live_feed(live, &in);
    }
    unref(c);
}

static void ask_to_stop(struct mortise_ongoing *c)
{
    struct mortise *m = c->m;
    uint64_t again = mortise_mono_in(ASK_AGAIN_MS);
    bool heard;

    mortise_host_call_cancel(c);
    mortise_inside_for(&c->whose);
    heard = mortise_instance_cancel(c->lane->instance, c->id);
    mortise_inside_for(NULL);

    mortise_timer_arm(&m->timers, &c->quiesce,
                      heard || again > c->give_up_ns ? c->give_up_ns : again);
}

static void quiesce_over(struct mortise_timer *t)
{
    struct mortise_ongoing *c = MORTISE_OF(t, struct mortise_ongoing, quiesce);
    struct mortise_usage said = {0};

    if (mortise_mono_ns() < c->give_up_ns) {
        ask_to_stop(c);
    } else if (mortise_instance_abandon(c->lane->instance, c->id, &said)) {
        take_usage(c, &said); /* what it used counts, with a name or without */
        mortise_usage_finish(&said);
        give_up(c);
    } /* else it has just ended: the task is on its way */
}

static void cancel(struct mortise_ongoing *c)
{
    struct mortise_lane *l = c->lane;

    if (c->scripted)
        mortise_script_cancel(c);
    if (c->waits != NULL) {
        c->waits->stop(c->waits);
        c->waits = NULL;
        c->cancelled = true;
        end_early(c, MORTISE_S_CANCELLED, "cancelled", "cancelled",
                  "cancelled while it waited in the queue");
        return;
    }
    if (c->cancelled || (l == NULL && !c->is_parked))
        return;
    c->cancelled = true;
    if (l == NULL) {
        end_early(c, MORTISE_S_CANCELLED, "cancelled", "cancelled",
                  "cancelled before it started");
        return;
    }
    mortise_timer_disarm(&l->m->timers, &c->idle);
    if (c->state == MORTISE_CALL_WAITING) {
        mortise_tasks_remove(&l->waiting, &c->turn);
    } else if (l->threading == MORTISE_THREAD_BLOCKING &&
               mortise_pool_take_back(l->m->pool, &c->job)) {
        unref(c); /* the worker's */
    } else {
        c->give_up_ns = mortise_mono_in(l->m->quiesce_ms);
        ask_to_stop(c);
        return;
    }
    end_early(c, MORTISE_S_CANCELLED, "cancelled", "cancelled",
              "cancelled before it started");
}

void mortise_calls_let_go(struct mortise_asked *a)
{
    struct mortise_ongoing *c = a->data;

    if (c == NULL)
        return;
    assert(c->serves == a);
    c->serves = a->data = NULL;
    cancel(c);
}

void mortise_calls_stop_part(struct mortise_hearer *h)
{
    struct mortise_ongoing *c = h->call;

    if (c == NULL)
        return;
    h->call = NULL;
    c->hearer = NULL;
    cancel(c);
}

static void idle_over(struct mortise_timer *t)
{
    struct mortise_ongoing *c = MORTISE_OF(t, struct mortise_ongoing, idle);

    if (!mortise_instance_is_idle(c->lane->instance, c->id)) {
        wind_idle(c);
        return;
    }
    c->idle_over = true;
    cancel(c);
}

static void overdue(struct mortise_timer *t)
{
    cancel(MORTISE_OF(t, struct mortise_ongoing, due));
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

void mortise_calls_cancel_background(struct mortise *m)
{
    struct mortise_hashed *e;

    for (e = mortise_table_first(&m->lanes); e != NULL;
         e = mortise_table_next(&m->lanes, e)) {
        struct mortise_lane *l = MORTISE_OF(e, struct mortise_lane, entry);

        if (l->background != NULL)
            cancel(l->background);
    }
    for (struct mortise_ongoing *c = m->runless; c != NULL; c = c->next)
        cancel(c);
}

void mortise_calls_cancel_all(struct mortise_live *live)
{
    struct mortise_ongoing *c;

    for (c = live->calls; c != NULL; c = c->next)
        cancel(c);
}

/* ---- what plugins tell ---------------------------------------------- */

/* What a plugin tells, on its way to the loop. */
struct message {
    struct mortise_task task;
    struct mortise *m;
    uint64_t call;
    const char *type; /* of the event that it becomes; static */
    uint64_t missed;  /* so many before it */
    size_t n;
    char text[];
};

static void message_free(struct message *msg)
{
    mortise_passing_give(msg->m, EVENT_COSTS + msg->n);
    mortise_release(msg->m->mem, msg, sizeof *msg + msg->n);
}

/* NULL: memory ran out, or too much is on its way already.  [any] */
static struct message *message_new(struct mortise *m, uint64_t call,
                                   const char *type, const char *text, size_t n)
{
    struct message *msg;

    if (!mortise_passing_take(m, EVENT_COSTS + n))
        return NULL;
    msg = mortise_zalloc(m->mem, sizeof *msg + n);
    if (msg == NULL) {
        mortise_passing_give(m, EVENT_COSTS + n);
        return NULL;
    }
    msg->m = m;
    msg->call = call;
    msg->type = type;
    msg->n = n;
    memcpy(msg->text, text, n);
    return msg;
}

/* How many events of a call were missed since it was asked last, with `more`
 * now.  Another thread of the plugin may end the call meanwhile.  [any] */
static uint64_t take_unsaid(struct mortise *m, uint64_t call, uint64_t more)
{
    struct mortise_ongoing *c;
    uint64_t n = 0;

    pthread_mutex_lock(&m->calls_lock);
    c = find(m, call);
    if (c != NULL && more > 0) {
        c->unsaid += more;
    } else if (c != NULL) {
        n = c->unsaid;
        c->unsaid = 0;
    }
    pthread_mutex_unlock(&m->calls_lock);
    return n;
}

/* An event, to whoever watches; `what` is its own member. */
static void tell(struct mortise_ongoing *c, const char *type, const char *what,
                 json_t *data)
{
    struct mortise_live *live = c->live;
    char at[MORTISE_TIME_TEXT];
    json_t *event;

    mortise_time_text(at, mortise_now_ms());
    event = json_pack("{s:b, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:O}",
                      "ephemeral", 1, "run", live->id, "tenant", live->tenant,
                      "at", at, "type", type, "node", c->node->id, "path",
                      c->path, "attempt", (int)c->call.attempt, what, data);
    if (event != NULL)
        mortise_watch_publish(live, event);
    else
        mortise_watch_miss(live, 1);
    json_decref(event);
}

/* What it tells now it told before. */
static bool is_repeating(const struct mortise_ongoing *c)
{
    return !c->is_serving && !c->live->lost &&
           mortise_run_is_replaying(c->live->run, c->run_call);
}

static const char text_delta[] = "text_delta",
                  reasoning_delta[] = "reasoning_delta";

/* Is it a piece of a text, and not an object? */
static bool is_text(const char *type)
{
    return type == text_delta || type == reasoning_delta;
}

/* The text or the object that was emitted; NULL: it is neither.  If memory ran
 * out for an object, count it as *missed. */
static json_t *read_message(const struct mortise_ongoing *c,
                            const struct message *msg, uint64_t *missed)
{
    struct mortise_secret_store *secrets = msg->m->secret_store;
    json_t *data = NULL;
    int rv;

    if (is_text(msg->type))
        return mortise_secret_store_masked(secrets,
                                           json_stringn(msg->text, msg->n));
    rv = mortise_json_parse(&data, msg->text, msg->n, NULL);
    if (rv == MORTISE_OK && json_is_object(data))
        data = mortise_secret_store_masked(secrets, data);
    else if (rv != MORTISE_ENOMEM) {
        mortise_json_drop(&data);
        mortise_log(msg->m, MORTISE_LOG_WARN,
                    "plugin '%s' emitted an event that is not a JSON object",
                    c->lane->plugin);
        return NULL;
    }
    *missed += data == NULL;
    return data;
}

/* Streams of text are looked at by guardrails (streams.c). */
static const struct mortise_manifest *stream_guard(struct mortise *m,
                                                   const char *id)
{
    const char *as;

    return mortise_plugins_find(
        m->plugins, plugin_behind(m, id, MORTISE_KIND_GUARDRAIL, &as), NULL);
}

static int stream_look(struct mortise_hearer *h, struct mortise_live *live,
                       const struct mortise_run_call *rc, uint64_t may_take_ms,
                       struct mortise_err *err)
{
    struct mortise *m = live->m;
    char *body = mortise_json_text(m->mem, rc->body);
    struct mortise_ongoing *c = call_new(m, live, rc, &mortise_call_check, body,
                                         body != NULL ? strlen(body) + 1 : 0);

    if (c == NULL)
        return mortise_nomem(err);
    serve_hearer(c, h);
    enlist(c);
    c->may_take_ms = may_take_ms;
    mortise_timer_arm(&m->timers, &c->due, mortise_mono_in(may_take_ms));
    queue(c, rc->plugin);
    return MORTISE_OK;
}

static void stream_tell(struct mortise_live *live, json_t *event)
{
    if (event != NULL)
        mortise_watch_publish(live, event);
    else
        mortise_watch_miss(live, 1);
}

static const struct mortise_stream_ops stream_ops = {stream_guard, stream_look,
                                                     stream_tell};

static void message_task(struct mortise_task *t)
{
    struct message *msg = MORTISE_OF(t, struct message, task);
    struct mortise_ongoing *c = mortise_call_find(msg->m, msg->call);
    uint64_t missed = msg->missed;
    const char *type = msg->type;
    json_t *data = NULL;
    bool held = c != NULL && is_text(type) && mortise_stream_holds(c);

    if (c != NULL && (c->live == NULL || is_repeating(c) ||
                      (c->live->topic == NULL && !held)))
        c = NULL; /* nobody sees it, or it was seen before */
    if (c != NULL)
        data = read_message(c, msg, &missed);
    message_free(msg); /* its room is for the event */
    if (c != NULL && missed > 0)
        mortise_watch_miss(c->live, missed);
    if (c != NULL && held)
        mortise_stream_put(c, type, missed > 0 ? NULL : data, &stream_ops);
    else if (data != NULL)
        tell(c, type, is_text(type) ? "text" : "data", data);
    json_decref(data);
}

/* [any] */
static void pass_on(struct mortise *m, uint64_t call, const char *type,
                    const char *text, size_t n)
{
    struct message *msg = message_new(m, call, type, text, n);

    if (msg == NULL) {
        take_unsaid(m, call, 1);
        return;
    }
    msg->missed = take_unsaid(m, call, 0);
    msg->task.run = message_task;
    mortise_call_post(m, &msg->task);
}

static void on_event(void *ud, uint64_t call, const char *type,
                     const char *json, size_t n)
{
    pass_on(ud, call, type, json, n);
}

static void on_delta(void *ud, uint64_t call, bool reasoning, const char *text,
                     size_t n)
{
    pass_on(ud, call, reasoning ? reasoning_delta : text_delta, text, n);
}

/* Not even the ask could be passed on: cancelling answers all of them. */
static void starved(struct mortise_task *t)
{
    struct mortise_ongoing *c = MORTISE_OF(t, struct mortise_ongoing, starved);

    if (c->state == MORTISE_CALL_CALLED)
        cancel(c);
    unref(c);
}

void mortise_call_starve(struct mortise *m, uint64_t call)
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
        mortise_call_post(m, &c->starved);
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
                                         .delta = on_delta,
                                         .ask = mortise_host_call_ask,
                                         .log = on_log};
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
    struct mortise_hashed *e;

    assert(m->n_calls == 0 && m->n_background == 0); /* engine.c waited */
    while ((e = mortise_table_first(&m->lanes)) != NULL) {
        mortise_table_remove(&m->lanes, e);
        mortise_release(m->mem, MORTISE_OF(e, struct mortise_lane, entry),
                        sizeof(struct mortise_lane));
    }
    mortise_table_finish(&m->lanes);
    mortise_table_finish(&m->calls);
    mortise_table_finish(&m->run_calls);
    mortise_table_finish(&m->asks);
    pthread_mutex_destroy(&m->calls_lock);
}
