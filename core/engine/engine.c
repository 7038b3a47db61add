/* engine.c -- open and close.
 *
 * Opening makes things in the order in which they need each other, closing
 * takes them apart in reverse, and close() cleans whatever open() left half
 * made.  Closing loses the runs that are in memory, which cancels their calls,
 * and turns the loop until all have let go or were given up: 10 s at most.
 * The runs stay resumable; whoever waits for them is told.  In a child of
 * fork() closing does nothing at all.
 */
#include "core/engine/common/engine.h"
#include "core/base/group.h"
#include "core/base/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/engine/common/configs.h"
#include "services/http/http.h"
#include "core/engine/parts/process.h"
#include "services/model/conversation.h"
#include "services/secrets/secret.h"

enum { DESCRIPTORS = 32 };

/* ---- open --------------------------------------------------------------- */

/* "plugin:" before what is remembered of a plugin, or of a directory of trust,
 * which is told by its path. */
enum { MARK_ROOM = PATH_MAX + 16 };

static int seq_get(void *ud, const char *plugin, uint64_t *seq,
                   struct mortise_err *err)
{
    struct mortise *m = ud;
    char name[MARK_ROOM];

    snprintf(name, sizeof name, "plugin:%s", plugin);
    return mortise_store_mark_get(m->store, name, seq, err);
}

static int seq_put(void *ud, const char *plugin, uint64_t seq,
                   struct mortise_err *err)
{
    struct mortise *m = ud;
    char name[MARK_ROOM];

    snprintf(name, sizeof name, "plugin:%s", plugin);
    return mortise_store_mark_set(m->store, name, seq, err);
}

static void forgets(void *ud, const char *why)
{
    mortise_log(ud, MORTISE_LOG_WARN, MORTISE_PLUGINS_FORGETS "%s", why);
}

/* Findings in the Deployment file, as the words of an error. */
static int found_wrong(struct mortise *m, struct mortise_diags *diags,
                       struct mortise_err *err)
{
    int rv = mortise_diags_result(diags);
    struct mortise_buf text;

    mortise_buf_init(&text, m->mem);
    mortise_diags_text(diags, &text);
    rv = mortise_buf_cstr(&text) != NULL
             ? mortise_fail(err, rv == MORTISE_ECHECK ? MORTISE_ECONFIG : rv,
                            "%s", text.p)
             : mortise_nomem(err);
    mortise_buf_finish(&text);
    return rv;
}

/* Where things are, from the Deployment file. */
static int open_site(struct mortise *m, const struct mortise_options *o,
                     struct mortise_err *err)
{
    struct mortise_diags diags;
    int rv = MORTISE_OK;

    mortise_diags_init(&diags, m->mem);
    if (m->settings.deployment == NULL) /* nobody has opened it */
        rv =
            mortise_settings_open(&m->settings, m->mem, o->deployment, o->store,
                                  mortise_settings_how(o->flags), &diags, err);
    if (rv == MORTISE_ECHECK)
        rv = found_wrong(m, &diags, err);
    mortise_diags_finish(&diags);
    if (rv == MORTISE_OK)
        rv = mortise_secret_store_open(&m->secret_store, m,
                                       &m->settings.deployment->secrets, err);
    return rv;
}

/* What the file says of plugins, now that they are known. */
static int check_config(struct mortise *m, struct mortise_err *err)
{
    struct mortise_diags diags;
    int rv;

    mortise_diags_init(&diags, m->mem);
    rv = mortise_configs_check(m->settings.deployment, m->plugins, false,
                               &diags);
    if (rv == MORTISE_ECHECK)
        rv = found_wrong(m, &diags, err);
    else if (rv != MORTISE_OK)
        rv = mortise_nomem(err);
    mortise_diags_finish(&diags);
    return rv;
}

/* In the directory that is held, whatever it is called by then; a view of one
 * is elsewhere. */
static int place_quarantine(struct mortise *m, struct mortise_plugins_config *c,
                            struct mortise_err *err)
{
    static const char name[] = "quarantine";
    size_t size = strlen(m->settings.store) + 1 + sizeof name;
    char *path;

    if (!m->looks) {
        c->quarantine_at = m->store->dir;
        c->quarantine_dir = name;
        return MORTISE_OK;
    }
    path = mortise_arena_alloc(&m->settings.arena, size);
    if (path == NULL)
        return mortise_nomem(err);
    snprintf(path, size, "%s/%s", m->settings.store, name);
    c->quarantine_at = AT_FDCWD;
    c->quarantine_dir = path;
    return MORTISE_OK;
}

/* Nothing begins by itself in such an engine, so it needs no plugin until it is
 * asked for something of one. */
static bool only_reads(const struct mortise *m)
{
    return m->holding == MORTISE_HOLDING_BRIEFLY || m->looks;
}

static int open_plugins(struct mortise *m, const struct mortise_options *o,
                        struct mortise_err *err)
{
    struct mortise_plugins_config c = {.mem = m->mem,
                                       .dirs = m->settings.plugin_dirs,
                                       .n_dirs = m->settings.n_plugin_dirs,
                                       .first_dev = m->settings.first_dev,
                                       .n_dev = m->settings.n_dev,
                                       .trust_dirs = m->settings.trust_dirs,
                                       .n_trust_dirs = m->settings.n_trust_dirs,
                                       .seq_get = seq_get,
                                       /* A copy remembers nothing. */
                                       .seq_put = m->looks ? NULL : seq_put,
                                       .seq_ud = m,
                                       .forgets = forgets,
                                       .user_remembers = true,
                                       .last_is_own = true,
                                       .later = only_reads(m)};
    int rv;

    c.allow_downgrade = (o->flags & MORTISE_OPEN_ALLOW_DOWNGRADE) != 0;
    mortise_calls_ops(m, &c.ops);
    rv = place_quarantine(m, &c, err);
    if (rv == MORTISE_OK)
        rv = mortise_plugins_open(&m->plugins, &c, err);
    if (rv == MORTISE_OK && m->holding == MORTISE_HOLDING_STAYS)
        rv = mortise_plugins_look_at_all(m->plugins, err);
    if (rv == MORTISE_OK)
        mortise_plugin_catalog_open(&m->plugin_catalog, m->mem, m->plugins,
                                    m->settings.deployment);
    return rv;
}

/* Are as many descriptors to be had as opening and one call need?  Libraries
 * below us end the process where they get none. */
static int check_descriptors(struct mortise_err *err)
{
    int fds[DESCRIPTORS], n = 0, errnum = 0;

    while (n < DESCRIPTORS && errnum == 0) {
        fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (fds[n] >= 0)
            n++;
        else
            errnum = errno;
    }
    for (int i = 0; i < n; i++)
        close(fds[i]);
    if (errnum == 0)
        return MORTISE_OK;
    if (errnum != EMFILE && errnum != ENFILE)
        return mortise_syserr(err, errnum, "open /dev/null");
    return mortise_fail(
        err, MORTISE_ELIMIT,
        "only %d file descriptors are free, but an engine needs %d to start: "
        "set ulimit -n 1024, or LimitNOFILE= of the service",
        n, DESCRIPTORS);
}

/* The group of store.access, and nobody else, is let through to the socket: as
 * it was, or from now on, or no more. */
static int open_access(struct mortise *m, struct mortise_err *err)
{
    const gid_t *group = mortise_settings_shares(&m->settings)
                             ? m->settings.deployment->access
                             : NULL;
    struct stat st;
    int rv;

    if (m->looks || fstat(m->store->dir, &st) != 0 || st.st_uid != geteuid() ||
        mortise_group_passes(group, m->store->dir))
        return MORTISE_OK;
    rv = mortise_group_let_through(group, m->store->dir, "control.sock", err);
    if (rv != MORTISE_OK)
        return mortise_doing(err, rv, "store.access of %s", m->settings.store);
    if (group != NULL)
        mortise_log(
            m, MORTISE_LOG_INFO,
            "members of the group %s can now use the socket of the store %s",
            m->settings.deployment->access_group, m->settings.store);
    else
        mortise_log(m, MORTISE_LOG_INFO,
                    "no group (it was %lu) can use the store %s any longer",
                    (unsigned long)st.st_gid, m->settings.store);
    return MORTISE_OK;
}

static int open_store(struct mortise *m, struct mortise_err *err)
{
    const char *path = m->settings.store;
    int rv = m->looks ? mortise_store_open_view(&m->store, path, m->mem, err)
                      : mortise_store_open(&m->store, path, m->mem, err);
    mode_t was = rv == MORTISE_OK ? m->store->was_open : 0;

    if (was != 0)
        mortise_log(m, MORTISE_LOG_WARN,
                    "the store %s had mode %04o, so others could read the data "
                    "of runs; the mode is now %04o",
                    path, (unsigned)was, (unsigned)(was & ~(mode_t)077));
    return rv == MORTISE_OK ? open_access(m, err) : rv;
}

static int open_parts(struct mortise *m, const struct mortise_options *o,
                      struct mortise_err *err)
{
    char actor[64];
    int rv = check_descriptors(err);

    if (rv == MORTISE_OK)
        rv = open_site(m, o, err);
    mortise_owner_name(geteuid(), actor);
    m->actor = mortise_strdup(m->mem, actor);
    m->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (rv == MORTISE_OK && (m->actor == NULL || m->c_locale == (locale_t)0))
        rv = mortise_nomem(err);
    if (rv == MORTISE_OK)
        rv = open_store(m, err);
    if (rv == MORTISE_OK)
        mortise_store_cache_bound(m->store,
                                  m->settings.deployment->cache_bytes);
    if (rv == MORTISE_OK)
        rv = mortise_loop_open(m, err);
    if (rv == MORTISE_OK)
        rv = mortise_http_open(&m->http, m->mem, &m->loop, &m->timers, err);
    if (rv == MORTISE_OK)
        rv = mortise_processes_open(&m->processes, m->mem, &m->loop, &m->timers,
                                    err);
    if (rv == MORTISE_OK)
        rv = mortise_writer_start(&m->writer, m->store, m->mem,
                                  mortise_commits_written, m, err);
    if (rv == MORTISE_OK)
        rv = mortise_commits_open(m, err);
    if (rv == MORTISE_OK)
        rv = mortise_pool_open(&m->pool, m->mem, err);
    if (rv == MORTISE_OK)
        rv = open_plugins(m, o, err);
    if (rv == MORTISE_OK && !only_reads(m))
        rv = check_config(m, err);
    if (rv == MORTISE_OK && !m->looks)
        rv = mortise_retention_open(m, err);
    return rv;
}

static int check_options(const struct mortise_options *o,
                         struct mortise_err *err)
{
    if (o == NULL || o->size < sizeof *o)
        return mortise_fail(err, MORTISE_EINVAL,
                            "options.size is not the size of mortise_options");
    if ((o->flags &
         ~(uint32_t)(MORTISE_OPEN_FOUND | MORTISE_OPEN_ALLOW_DOWNGRADE |
                     MORTISE_OPEN_LISTEN)) != 0)
        return mortise_fail(
            err, MORTISE_EINVAL,
            "options.flags has bits that this version does not support");
    return MORTISE_OK;
}

int mortise_engine_open(struct mortise **out,
                        const struct mortise_options *options,
                        enum mortise_holding holding,
                        struct mortise_settings *settings,
                        struct mortise_err *err)
{
    struct mortise_err here; /* inner functions may count on one */
    struct mortise *m;
    int rv;

    err = err != NULL ? err : &here;
    *out = NULL;
    rv = check_options(options, err);
    if (rv != MORTISE_OK)
        return rv;
    if (sodium_init() < 0)
        return mortise_fail(err, MORTISE_EIO,
                            "libsodium cannot be initialised: the system "
                            "provides no random numbers");
    const struct mortise_mem *mem =
        options->mem != NULL ? options->mem : &mortise_heap;
    m = mortise_zalloc(mem, sizeof *m);
    if (m == NULL)
        return mortise_nomem(err);
    m->mem = mem;
    m->holding = holding;
    m->thread = pthread_self();
    m->log = options->log;
    m->log_ud = options->log_ud;
    m->looks = holding == MORTISE_HOLDING_COPY;
    if (settings != NULL) {
        m->settings = *settings;
        *settings = (struct mortise_settings){.n_trust_dirs = 0};
    }
    m->state = MORTISE_ENGINE_UP;
    m->start_ms = MORTISE_START_MS;
    m->quiesce_ms = MORTISE_QUIESCE_MS;
    mortise_table_init(&m->lives, mem);
    mortise_table_init(&m->loads, mem);
    mortise_table_init(&m->run_timers, mem);
    mortise_table_init(&m->topics, mem);
    mortise_table_init(&m->kv_rooms, mem);
    m->passing_max = MORTISE_PASSING_MAX;
    mortise_actions_init(&m->actions, mem);
    mortise_calls_open(m);
    rv = open_parts(m, options, err);
    if (rv != MORTISE_OK) {
        mortise_close(m);
        return rv;
    }
    mortise_deadlines_open(m);
    mortise_children_open(m);
    mortise_trees_open(m);
    *out = m;
    return MORTISE_OK;
}

/* ---- close -------------------------------------------------------------- */

/* Lose all runs, and wait until nothing of them is under way. */
static void quiet(struct mortise *m)
{
    bool up = m->state == MORTISE_ENGINE_UP;
    struct mortise_err why;

    mortise_fail(&why, MORTISE_EBUSY,
                 "the engine is closing; the run can be resumed");
    mortise_live_settle(m); /* what rests is not interrupted */
    m->state = MORTISE_ENGINE_CLOSING;
    mortise_timer_disarm(&m->timers, &m->deadline_timer);
    mortise_live_lose_all(m, &why);
    mortise_watch_fail_all(m, &why);
    mortise_commits_flush(m);
    while (m->lives.n > 0 || m->n_calls > 0 || m->n_listing > 0 ||
           mortise_store_is_reading(m->store))
        mortise_turn(m, -1);
    while (m->n_batch > 0 || m->n_flying > 0 || m->ready.first != NULL)
        mortise_turn(m, -1); /* what waits to be heard is nobody's by now */
    assert(m->news == NULL && m->spawns == NULL);
    mortise_timer_disarm(&m->timers, &m->news_again);
    mortise_calls_cancel_background(m);
    while (m->n_background > 0 || mortise_processes_are_left(m->processes))
        mortise_turn(m, -1);
    if (up && m->write_why.code == MORTISE_OK)
        mortise_retention_finish(m);
    mortise_commits_finish(m);
    if (m->unserve != NULL)
        m->unserve(m);
    mortise_watch_close(m);
}

void mortise_close(struct mortise *m)
{
    if (m == NULL)
        return;
    if (m->store != NULL && !mortise_store_is_ours(m->store))
        return; /* a forked child's copy: threads and files are not its own */
    assert_on_loop(m);
    if (m->turning) {
        mortise_log(m, MORTISE_LOG_ERROR,
                    "mortise_close() was called from a callback of this engine "
                    "and is ignored; call it after the callback has returned");
        return;
    }
    mortise_enter(m);
    if (m->loop.data != NULL)
        quiet(m);
    mortise_writer_stop(m->writer);
    mortise_pool_close(m->pool);
    mortise_plugins_close(m->plugins);
    m->plugins = NULL;
    mortise_http_close(m->http);
    mortise_processes_close(m->processes);
    if (m->loop.data != NULL) /* late words of plugins, closed handles */
        mortise_turn(m, 0);
    mortise_loop_close(m);
    mortise_graphs_close(m);
    mortise_plugin_catalog_close(&m->plugin_catalog);
    mortise_store_close(m->store);
    mortise_calls_close(m);
    mortise_conversations_close(m);
    mortise_kv_close(m);
    mortise_table_finish(&m->lives);
    mortise_table_finish(&m->loads);
    mortise_table_finish(&m->run_timers);
    mortise_table_finish(&m->topics);
    mortise_actions_finish(&m->actions);
    mortise_commits_close(m);
    mortise_retention_close(m);
    mortise_secret_store_close(m->secret_store);
    mortise_settings_close(&m->settings);
    mortise_release_str(m->mem, m->actor);
    mortise_leave(m);
    if (m->c_locale != (locale_t)0)
        freelocale(m->c_locale);
    mortise_release(m->mem, m, sizeof *m);
}
