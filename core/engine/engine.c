/* engine.c -- open and close an engine.
 *
 * Opening creates the parts in the order of their dependencies; closing
 * destroys them in reverse order, and also cleans up after an open that failed
 * halfway.  Closing loses the runs in memory, which cancels their calls, and
 * turns the loop until all calls have returned or were given up, after 10 s at
 * most.  The runs stay resumable, and everyone who waits for them gets an
 * error.  In a child of fork(), closing does nothing.
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

#include "core/engine/common/secret_store.h"
#include "core/plugin/services.h"

enum { DESCRIPTORS = 32 };

/* ---- open --------------------------------------------------------------- */

/* Room for "plugin:" and the name of a plugin, or the path of a trust
 * directory. */
enum { MARK_ROOM = PATH_MAX + 16 };

static int get_plugin_seq(void *ud, const char *plugin, uint64_t *seq,
                          struct mortise_err *err)
{
    struct mortise *m = ud;
    char name[MARK_ROOM];

    snprintf(name, sizeof name, "plugin:%s", plugin);
    return mortise_store_get_mark(m->store, name, seq, err);
}

static int put_plugin_seq(void *ud, const char *plugin, uint64_t seq,
                          struct mortise_err *err)
{
    struct mortise *m = ud;
    char name[MARK_ROOM];

    snprintf(name, sizeof name, "plugin:%s", plugin);
    return mortise_store_set_mark(m->store, name, seq, err);
}

static void warn_plugins_forget(void *ud, const char *why)
{
    mortise_log(ud, MORTISE_LOG_WARN, MORTISE_PLUGINS_RECORD_FAILED "%s", why);
}

/* Read the deployment file, and open the secret store. */
static int open_deployment(struct mortise *m, const struct mortise_options *o,
                           struct mortise_err *err)
{
    int rv = MORTISE_OK;

    if (m->settings.deployment == NULL) /* the caller has not read it */
        rv = mortise_deployment_open(&m->settings, m->mem, o, err);
    if (rv == MORTISE_OK)
        rv = mortise_secret_store_open(&m->secret_store, m, m->settings.secrets,
                                       err);
    return rv;
}

/* The quarantine is in the store's directory, by descriptor in case the
 * directory is renamed.  A view of the store uses the path, because the view
 * itself is elsewhere. */
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

/* Nothing starts by itself in this engine, so it loads plugins on demand. */
static bool loads_plugins_later(const struct mortise *m)
{
    return m->holding == MORTISE_MODE_MOMENTARY || m->looks;
}

static int open_engine_plugins(struct mortise *m,
                               const struct mortise_options *o,
                               struct mortise_err *err)
{
    struct mortise_plugins_config c = {.mem = m->mem,
                                       .dirs = m->settings.plugin_dirs,
                                       .n_dirs = m->settings.n_plugin_dirs,
                                       .first_dev = m->settings.first_dev,
                                       .n_dev = m->settings.n_dev,
                                       .trust_dirs = m->settings.trust_dirs,
                                       .n_trust_dirs = m->settings.n_trust_dirs,
                                       .seq_get = get_plugin_seq,
                                       /* A copy of the store records
                                        * nothing. */
                                       .seq_put =
                                           m->looks ? NULL : put_plugin_seq,
                                       .seq_ud = m,
                                       .forgets = warn_plugins_forget,
                                       .user_remembers = true,
                                       .last_is_own = true,
                                       .later = loads_plugins_later(m)};
    int rv;

    c.allow_downgrade = (o->flags & MORTISE_OPEN_ALLOW_DOWNGRADE) != 0;
    mortise_calls_init_ops(m, &c.ops);
    rv = place_quarantine(m, &c, err);
    if (rv == MORTISE_OK)
        rv = mortise_plugins_open(&m->plugins, &c, err);
    if (rv == MORTISE_OK && m->holding == MORTISE_MODE_SERVER)
        rv = mortise_plugins_load_all(m->plugins, err);
    if (rv == MORTISE_OK)
        rv = mortise_catalogs_open(&m->catalogs, m->mem, m->plugins,
                                   m->settings.deployment, err);
    return rv;
}

/* Are enough file descriptors free for opening and one call?  Some libraries
 * that we use abort the process if they get none. */
static int check_free_descriptors(struct mortise_err *err)
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

/* Give the group of store.access, and no other, access to the socket: grant,
 * keep or revoke it. */
static int open_group_access(struct mortise *m, struct mortise_err *err)
{
    const gid_t *group = m->settings.access;
    struct stat st;
    int rv;

    if (m->looks || fstat(m->store->dir, &st) != 0 || st.st_uid != geteuid() ||
        mortise_group_has_access(group, m->store->dir))
        return MORTISE_OK;
    rv = mortise_group_grant_access(group, m->store->dir, "control.sock", err);
    if (rv != MORTISE_OK)
        return mortise_err_prefix(err, rv, "store.access of %s",
                                  m->settings.store);
    if (group != NULL)
        mortise_log(
            m, MORTISE_LOG_INFO,
            "members of the group %s can now use the socket of the store %s",
            m->settings.access_group, m->settings.store);
    else
        mortise_log(m, MORTISE_LOG_INFO,
                    "no group (it was %lu) can use the store %s any longer",
                    (unsigned long)st.st_gid, m->settings.store);
    return MORTISE_OK;
}

static int open_engine_store(struct mortise *m, struct mortise_err *err)
{
    const char *path = m->settings.store;
    int rv = m->looks ? mortise_store_open_view(&m->store, path, m->mem, err)
                      : mortise_store_open(&m->store, path, m->mem, err);
    mode_t was = rv == MORTISE_OK ? m->store->closed_off_mode : 0;

    if (was != 0)
        mortise_log(m, MORTISE_LOG_WARN,
                    "the store %s had mode %04o, so others could read the data "
                    "of runs; the mode is now %04o",
                    path, (unsigned)was, (unsigned)(was & ~(mode_t)077));
    return rv == MORTISE_OK ? open_group_access(m, err) : rv;
}

static int open_services(struct mortise *m, struct mortise_err *err)
{
    size_t n = 0;
    int rv = MORTISE_OK;

    while (mortise_services[n] != NULL)
        n++;
    m->kept = mortise_zalloc(m->mem, (n + 1) * sizeof *m->kept);
    if (m->kept == NULL)
        return mortise_nomem(err);
    m->n_kept = n;
    for (size_t i = 0; rv == MORTISE_OK && i < n; i++)
        if (mortise_services[i]->open != NULL)
            rv = mortise_services[i]->open(m, &m->kept[i], err);
    return rv;
}

static int open_engine_parts(struct mortise *m, const struct mortise_options *o,
                             struct mortise_err *err)
{
    char actor[64];
    int rv = check_free_descriptors(err);

    if (rv == MORTISE_OK)
        rv = open_deployment(m, o, err);
    mortise_owner_get_name(geteuid(), actor);
    m->actor = mortise_strdup(m->mem, actor);
    m->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (rv == MORTISE_OK && (m->actor == NULL || m->c_locale == (locale_t)0))
        rv = mortise_nomem(err);
    if (rv == MORTISE_OK)
        rv = open_engine_store(m, err);
    if (rv == MORTISE_OK)
        mortise_store_set_cache_limit(m->store, m->settings.cache_bytes);
    if (rv == MORTISE_OK)
        rv = mortise_loop_open(m, err);
    if (rv == MORTISE_OK)
        rv = open_services(m, err);
    if (rv == MORTISE_OK)
        rv = mortise_writer_start(&m->writer, m->store, m->mem,
                                  mortise_commits_post_answers, m, err);
    if (rv == MORTISE_OK)
        rv = mortise_commits_open(m, err);
    if (rv == MORTISE_OK)
        rv = mortise_pool_open(&m->pool, m->mem, err);
    if (rv == MORTISE_OK)
        rv = open_engine_plugins(m, o, err);
    if (rv == MORTISE_OK && !loads_plugins_later(m))
        rv = mortise_deployment_check(m->settings.deployment, m->plugins, err);
    if (rv == MORTISE_OK && !m->looks)
        rv = mortise_retention_open(m, err);
    return rv;
}

static int check_open_options(const struct mortise_options *o,
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
                        enum mortise_engine_mode holding,
                        struct mortise_settings *settings,
                        struct mortise_err *err)
{
    struct mortise_err here; /* inner functions may require one */
    struct mortise *m;
    int rv;

    err = err != NULL ? err : &here;
    *out = NULL;
    rv = check_open_options(options, err);
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
    m->looks = holding == MORTISE_MODE_COPY;
    if (settings != NULL) {
        m->settings = *settings;
        *settings = (struct mortise_settings){.n_trust_dirs = 0};
    }
    m->state = MORTISE_ENGINE_RUNNING;
    m->start_ms = MORTISE_START_MS;
    m->quiesce_ms = MORTISE_QUIESCE_MS;
    mortise_table_init(&m->lives, mem);
    mortise_table_init(&m->loads, mem);
    mortise_table_init(&m->run_timers, mem);
    mortise_table_init(&m->topics, mem);
    m->passing_max = MORTISE_PASSING_MAX;
    mortise_actions_init(&m->actions, mem);
    mortise_calls_open(m);
    rv = open_engine_parts(m, options, err);
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

static bool are_services_busy(const struct mortise *m)
{
    for (size_t i = 0; i < m->n_kept; i++)
        if (mortise_services[i]->is_busy != NULL &&
            mortise_services[i]->is_busy(m->kept[i]))
            return true;
    return false;
}

static void close_services(struct mortise *m)
{
    for (size_t i = 0; i < m->n_kept; i++)
        if (m->kept[i] != NULL)
            mortise_services[i]->close(m, m->kept[i]);
    mortise_release(m->mem, m->kept, (m->n_kept + 1) * sizeof *m->kept);
}

/* Lose all runs, and wait until none of their work is in flight. */
static void stop_all_work(struct mortise *m)
{
    bool up = m->state == MORTISE_ENGINE_RUNNING;
    struct mortise_err why;

    mortise_fail(&why, MORTISE_EBUSY,
                 "the engine is closing; the run can be resumed");
    mortise_live_drop_idle(m); /* drops idle runs, which need no error */
    m->state = MORTISE_ENGINE_CLOSING;
    mortise_timer_disarm(&m->timers, &m->deadline_timer);
    mortise_live_discard_all(m, &why);
    mortise_watch_fail_all(m, &why);
    mortise_commits_flush(m);
    while (m->lives.n > 0 || m->n_calls > 0 || m->n_listing > 0 ||
           mortise_store_is_reading(m->store))
        mortise_loop_turn(m, -1);
    while (m->n_batch > 0 || m->n_commits_in_flight > 0 ||
           m->ready.first != NULL)
        mortise_loop_turn(m, -1); /* these tasks drain the remaining news */
    assert(m->news == NULL && m->spawns == NULL);
    mortise_timer_disarm(&m->timers, &m->news_again);
    mortise_calls_cancel_background(m);
    while (m->n_background > 0 || are_services_busy(m))
        mortise_loop_turn(m, -1);
    if (up && m->write_why.code == MORTISE_OK)
        mortise_retention_finish(m);
    mortise_commits_sync_all(m);
    if (m->stop_control != NULL)
        m->stop_control(m);
    mortise_watch_close(m);
}

void mortise_close(struct mortise *m)
{
    if (m == NULL)
        return;
    if (m->store != NULL && !mortise_store_is_ours(m->store))
        return; /* a forked child owns neither the threads nor the files */
    assert_on_loop(m);
    if (m->turning) {
        mortise_log(m, MORTISE_LOG_ERROR,
                    "mortise_close() was called from a callback of this engine "
                    "and is ignored; call it after the callback has returned");
        return;
    }
    mortise_loop_enter(m);
    if (m->loop.data != NULL)
        stop_all_work(m);
    mortise_writer_stop(m->writer);
    mortise_pool_close(m->pool);
    mortise_plugins_close(m->plugins);
    m->plugins = NULL;
    close_services(m);
    if (m->loop.data != NULL) /* last messages of plugins, and closed handles */
        mortise_loop_turn(m, 0);
    mortise_loop_close(m);
    mortise_graphs_close(m);
    mortise_catalogs_close(m->catalogs);
    mortise_store_close(m->store);
    mortise_calls_close(m);
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
    mortise_loop_leave(m);
    if (m->c_locale != (locale_t)0)
        freelocale(m->c_locale);
    mortise_release(m->mem, m, sizeof *m);
}
