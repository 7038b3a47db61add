/* secret_store.c -- fetch the values of a deployment's secrets on demand, and
 * mask them.
 *
 *   (1) Nothing is fetched before it is needed.  A file is read at each use, so
 *       a new secret needs no restart.  A program's output is cached for a
 *       minute.  Variables are those at the start of the engine, which never
 *       reads the environment later.
 *   (2) A value is text of 1 byte to 64 KiB without NUL; one line end at its
 *       end is removed.  Other values are rejected: half a secret is worse than
 *       none.
 *   (3) An error names the secret, its source and the problem, and never quotes
 *       the data.
 *   (4) Memory that held a value is overwritten before it is freed.
 *   (5) A program gets the environment of the engine's start, no input, its own
 *       process group and ten seconds; after that the group is killed.
 *   (6) A value that was given out is masked from then on, in every form that
 *       core/base/mask.h knows, in all data that the engine receives, stores or
 *       shows; its earlier values are masked, too.  A value shorter than eight
 *       bytes is not masked, since it would match everywhere; the log and
 *       `mortise check` warn about it.
 */
#include "core/engine/common/secret_store.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/infile.h"
#include "core/base/utf8.h"
#include "core/engine/common/engine.h"
#include "core/json/masked.h"

enum {
    NS_PER_MS = 1000000,
    CUT_FROM = 256,  /* a message from this length on may have been cut */
    FROM_ROOM = 512, /* room for the description of a source */
    KNOWN_MAX = 16,  /* remembered values of a secret, current and old */
    NOTED_MAX = 64   /* remembered values that a plugin keeps */
};

struct secret {
    const struct mortise_provider *from; /* lent */
    char *last;        /* EXEC: the last output; NULL: none yet */
    uint64_t until_ns; /* EXEC: expiry of `last` */
    char *env;         /* ENV: the variable; NULL: it was not set */
    bool warned;
    char *known[KNOWN_MAX]; /* values that were given out, the newest first */
};

/* Values that a plugin keeps and no provider has. */
struct noted {
    struct noted *next;
    char name[128];              /* "kept by PLUGIN" */
    char *known[NOTED_MAX];      /* the newest first */
    struct mortise_mask *others; /* the mask without these values; NULL: not
                                    made yet */
};

struct mortise_secret_store {
    struct mortise *m; /* lent: for its allocator and its log */
    const struct mortise_mem *mem;
    char *creds;  /* CREDENTIALS_DIRECTORY, or NULL */
    char **env;   /* for programs, ends with NULL; NULL: no program is
                     configured */
    size_t n_env; /* with the NULL */
    struct mortise_mask *mask; /* over all known values; NULL: there are none */
    atomic_bool has_mask;
    struct noted *noted;
    pthread_mutex_t
        lock; /* guards last, until_ns, warned, known, noted, mask */
    size_t n;
    struct secret list[];
};

/* ---- open and close ------------------------------------------------------ */

static char *copy_variable(const struct mortise_secret_store *v,
                           const char *name, bool *nomem)
{
    const char *value = getenv(name);
    char *out = value != NULL ? mortise_strdup(v->mem, value) : NULL;

    *nomem |= value != NULL && out == NULL;
    return out;
}

static bool copy_environment(struct mortise_secret_store *v)
{
    while (environ[v->n_env] != NULL)
        v->n_env++;
    v->n_env++;
    v->env = mortise_zalloc(v->mem, v->n_env * sizeof *v->env);
    for (size_t i = 0; v->env != NULL && i + 1 < v->n_env; i++) {
        v->env[i] = mortise_strdup(v->mem, environ[i]);
        if (v->env[i] == NULL)
            return false;
    }
    return v->env != NULL;
}

static bool prepare_secret(struct mortise_secret_store *v, struct secret *s,
                           const struct mortise_provider *from)
{
    bool nomem = false;

    s->from = from;
    if (from->kind == MORTISE_PROVIDER_ENV)
        s->env = copy_variable(v, from->text, &nomem);
    else if (from->kind == MORTISE_PROVIDER_CREDS && v->creds == NULL)
        v->creds = copy_variable(v, "CREDENTIALS_DIRECTORY", &nomem);
    else if (from->kind == MORTISE_PROVIDER_EXEC && v->env == NULL)
        nomem = !copy_environment(v);
    return !nomem;
}

int mortise_secret_store_open(struct mortise_secret_store **out,
                              struct mortise *m,
                              const struct mortise_providers *providers,
                              struct mortise_err *err)
{
    struct mortise_secret_store *v =
        mortise_zalloc(m->mem, sizeof *v + providers->n * sizeof v->list[0]);

    *out = NULL;
    if (v == NULL)
        return mortise_nomem(err);
    v->m = m;
    v->mem = m->mem;
    pthread_mutex_init(&v->lock, NULL);
    v->n = providers->n;
    for (size_t i = 0; i < v->n; i++) {
        if (!prepare_secret(v, &v->list[i], &providers->list[i])) {
            mortise_secret_store_close(v);
            return mortise_nomem(err);
        }
    }
    *out = v;
    return MORTISE_OK;
}

static void wipe_secret_value(const struct mortise_mem *mem, char *value)
{
    if (value != NULL)
        explicit_bzero(value, strlen(value));
    mortise_release_str(mem, value);
}

static void release_noted(struct mortise_secret_store *v)
{
    struct noted *n;

    while ((n = v->noted) != NULL) {
        v->noted = n->next;
        for (size_t i = 0; i < NOTED_MAX; i++)
            wipe_secret_value(v->mem, n->known[i]);
        mortise_mask_unref(n->others);
        mortise_release(v->mem, n, sizeof *n);
    }
}

void mortise_secret_store_close(struct mortise_secret_store *v)
{
    if (v == NULL)
        return;
    for (size_t i = 0; i < v->n; i++) {
        wipe_secret_value(v->mem, v->list[i].last);
        wipe_secret_value(v->mem, v->list[i].env);
        for (size_t j = 0; j < KNOWN_MAX; j++)
            wipe_secret_value(v->mem, v->list[i].known[j]);
    }
    release_noted(v);
    mortise_mask_unref(v->mask);
    for (size_t i = 0; v->env != NULL && i < v->n_env; i++)
        wipe_secret_value(v->mem, v->env[i]);
    mortise_release(v->mem, v->env, v->n_env * sizeof *v->env);
    mortise_release_str(v->mem, v->creds);
    pthread_mutex_destroy(&v->lock);
    mortise_release(v->mem, v, sizeof *v + v->n * sizeof v->list[0]);
}

/* ---- check a value (2) --------------------------------------------------- */

/* A value while it is read; the struct never moves, so no copy remains in
 * memory. */
struct text {
    size_t n;
    char p[MORTISE_SECRET_MAX + 2]; /* room for a line end and one byte too
                                       many */
};

/* `from` describes the source: "file /etc/key". */
static int check_secret_text(const struct mortise_secret_store *v,
                             struct text *t, const char *from, char **value,
                             struct mortise_err *err)
{
    if (t->n > 0 && t->p[t->n - 1] == '\n')
        t->n--;
    if (t->n > 0 && t->p[t->n - 1] == '\r')
        t->n--;
    if (t->n == 0)
        return mortise_fail(err, MORTISE_ECONFIG, "%s is empty", from);
    if (t->n > MORTISE_SECRET_MAX)
        return mortise_fail(err, MORTISE_ECONFIG, "%s is larger than 64 KiB",
                            from);
    if (memchr(t->p, '\0', t->n) != NULL)
        return mortise_fail(err, MORTISE_ECONFIG, "%s contains a NUL", from);
    if (!mortise_utf8_is_valid(t->p, t->n))
        return mortise_fail(err, MORTISE_ECONFIG, "%s is not UTF-8 text", from);
    *value = mortise_strndup(v->mem, t->p, t->n);
    return *value != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* 1: more may follow, 0: end of file or buffer full, -1: errno. */
static int read_secret_bytes(int fd, struct text *t)
{
    ssize_t n;

    if (t->n == sizeof t->p)
        return 0;
    n = read(fd, t->p + t->n, sizeof t->p - t->n);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN ? 1 : -1;
    t->n += (size_t)n;
    return n > 0;
}

/* ---- files --------------------------------------------------------------- */

static void warn_of_file_mode(struct mortise_secret_store *v, struct secret *s,
                              int fd, const char *path)
{
    struct stat st;
    bool first;

    if (fstat(fd, &st) != 0 || (st.st_mode & (S_IROTH | S_IWOTH)) == 0)
        return;
    pthread_mutex_lock(&v->lock);
    first = !s->warned;
    s->warned = true;
    pthread_mutex_unlock(&v->lock);
    if (first)
        mortise_log(v->m, MORTISE_LOG_WARN,
                    "the secret '%s' is in a file that all users can access; "
                    "run: chmod o= %s",
                    s->from->name, path);
}

static int read_secret_file(struct mortise_secret_store *v, struct secret *s,
                            const char *path, struct text *t,
                            struct mortise_err *err)
{
    int fd = mortise_infile_open(AT_FDCWD, path, 0), more;

    if (fd < 0) {
        mortise_syserr(err, errno, "file %s", path);
        if (err->code != MORTISE_ELIMIT) /* otherwise the file may be fine */
            err->code = MORTISE_ECONFIG;
        return err->code;
    }
    while ((more = read_secret_bytes(fd, t)) > 0)
        ;
    if (more < 0)
        mortise_fail(err, MORTISE_ECONFIG, "file %s: %s", path,
                     strerror(errno));
    warn_of_file_mode(v, s, fd, path);
    close(fd);
    return more < 0 ? MORTISE_ECONFIG : MORTISE_OK;
}

static int get_creds_path(const struct mortise_secret_store *v,
                          const struct secret *s, char *path, size_t room,
                          struct mortise_err *err)
{
    if (v->creds == NULL)
        return mortise_fail(err, MORTISE_ECONFIG,
                            "CREDENTIALS_DIRECTORY is not set: systemd sets it "
                            "for units with LoadCredential=%s",
                            s->from->text);
    snprintf(path, room, "%s/%s", v->creds, s->from->text);
    return MORTISE_OK;
}

/* ---- variables ----------------------------------------------------------- */

static int read_secret_variable(const struct secret *s, struct text *t,
                                struct mortise_err *err)
{
    if (s->env == NULL)
        return mortise_fail(
            err, MORTISE_ECONFIG,
            "environment variable %s was not set when the engine started",
            s->from->text);
    t->n = strnlen(s->env, sizeof t->p);
    memcpy(t->p, s->env, t->n);
    return MORTISE_OK;
}

/* ---- programs (5) -------------------------------------------------------- */

static int spawn_secret_program(const struct mortise_secret_store *v,
                                char *const *argv, int out, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, all;
    int rv;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    rv = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    if (rv == 0)
        rv = posix_spawn_file_actions_adddup2(&files, out, 1);
    if (rv == 0)
        rv = posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY,
                                              0);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP |
                                        POSIX_SPAWN_SETSIGMASK |
                                        POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    if (rv == 0)
        rv = posix_spawnp(pid, argv[0], &files, &attr, argv, v->env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return rv;
}

static int get_ms_to_deadline(uint64_t deadline_ns)
{
    uint64_t now = mortise_mono_ns();

    return now < deadline_ns ? (int)((deadline_ns - now) / NS_PER_MS) + 1 : 0;
}

/* Read the output until it is closed; false: timeout. */
static bool read_program_output(int fd, struct text *t, uint64_t deadline_ns)
{
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int left = get_ms_to_deadline(deadline_ns);

        if (left == 0)
            return false;
        if (poll(&p, 1, left) > 0 && read_secret_bytes(fd, t) <= 0)
            return true;
    }
}

/* The status of waitpid(); -1: timeout, and it was killed. */
static int wait_for_program(pid_t pid, bool in_time, uint64_t deadline_ns)
{
    int status = 0;
    pid_t rv;

    while (in_time && (rv = waitpid(pid, &status, WNOHANG)) != pid) {
        if (rv < 0 && errno != EINTR)
            return 0; /* the host ignores SIGCHLD, so the status is lost */
        in_time = get_ms_to_deadline(deadline_ns) > 0;
        poll(NULL, 0, 2);
    }
    if (in_time)
        return status;
    kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return -1;
}

static int read_secret_program(struct mortise_secret_store *v,
                               const struct secret *s, struct text *t,
                               struct mortise_err *err)
{
    uint64_t deadline =
        mortise_mono_ns() + (uint64_t)MORTISE_SECRET_MS * NS_PER_MS;
    char *const *argv = (char *const *)(uintptr_t)s->from->argv;
    int out[2], rv, status;
    bool in_time;
    pid_t pid;

    if (pipe2(out, O_CLOEXEC) != 0)
        return mortise_syserr(err, errno, "a pipe");
    rv = spawn_secret_program(v, argv, out[1], &pid);
    close(out[1]);
    if (rv != 0) {
        close(out[0]);
        if (mortise_errno_is_shortage(rv))
            return mortise_syserr(err, rv, "program %s", argv[0]);
        return mortise_fail(err, MORTISE_ECONFIG, "program %s: %s", argv[0],
                            strerror(rv));
    }
    in_time = read_program_output(out[0], t, deadline);
    close(out[0]);
    status = wait_for_program(pid, in_time, deadline);
    if (status == -1)
        return mortise_fail(err, MORTISE_ECONFIG,
                            "program %s did not finish within 10 s", argv[0]);
    if (status != 0)
        return mortise_fail(
            err, MORTISE_ECONFIG, "program %s ended with %s %d", argv[0],
            WIFSIGNALED(status) ? "signal" : "exit code",
            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return MORTISE_OK;
}

/* ---- get a value --------------------------------------------------------- */

static struct secret *find_store_secret(struct mortise_secret_store *v,
                                        const char *name)
{
    for (size_t i = 0; i < v->n; i++)
        if (strcmp(v->list[i].from->name, name) == 0)
            return &v->list[i];
    return NULL;
}

static bool is_output_cached(const struct secret *s)
{
    return s->last != NULL && mortise_mono_ns() < s->until_ns;
}

bool mortise_secret_store_is_ready(struct mortise_secret_store *v,
                                   const char *name)
{
    struct secret *s = find_store_secret(v, name);
    bool ready;

    if (s == NULL || s->from->kind != MORTISE_PROVIDER_EXEC)
        return true;
    pthread_mutex_lock(&v->lock);
    ready = is_output_cached(s);
    pthread_mutex_unlock(&v->lock);
    return ready;
}

/* Read the value from its provider; *from: a description of the source. */
static int read_from_provider(struct mortise_secret_store *v, struct secret *s,
                              struct text *t, char from[FROM_ROOM],
                              struct mortise_err *err)
{
    const char *path = s->from->text;
    char creds[4096];
    int rv;

    switch (s->from->kind) {
    case MORTISE_PROVIDER_ENV:
        snprintf(from, FROM_ROOM, "environment variable %s", s->from->text);
        return read_secret_variable(s, t, err);
    case MORTISE_PROVIDER_EXEC:
        snprintf(from, FROM_ROOM, "the output of program %s", s->from->text);
        return read_secret_program(v, s, t, err);
    case MORTISE_PROVIDER_CREDS:
        rv = get_creds_path(v, s, creds, sizeof creds, err);
        if (rv != MORTISE_OK)
            return rv;
        path = creds;
        break;
    case MORTISE_PROVIDER_FILE:
        break;
    }
    snprintf(from, FROM_ROOM, "file %.500s", path);
    return read_secret_file(v, s, path, t, err);
}

/* Cache the output of a program. */
static int cache_program_output(struct mortise_secret_store *v,
                                struct secret *s, const char *value,
                                struct mortise_err *err)
{
    char *copy;

    if (s->from->kind != MORTISE_PROVIDER_EXEC)
        return MORTISE_OK;
    copy = mortise_strdup(v->mem, value);
    if (copy == NULL)
        return mortise_nomem(err);
    pthread_mutex_lock(&v->lock);
    wipe_secret_value(v->mem, s->last);
    s->last = copy;
    s->until_ns =
        mortise_mono_ns() + (uint64_t)MORTISE_SECRET_KEPT_MS * NS_PER_MS;
    pthread_mutex_unlock(&v->lock);
    return MORTISE_OK;
}

static void warn_of_secret_length(struct mortise_secret_store *v,
                                  const struct secret *s, const char *value)
{
    if (strlen(value) < MORTISE_MASK_MIN)
        mortise_log(v->m, MORTISE_LOG_WARN,
                    "the secret '%s' is shorter than %d bytes, so it is not "
                    "masked in outputs",
                    s->from->name, (int)MORTISE_MASK_MIN);
}

/* Is `value` one of the n values? */
static bool is_value_known(char *const *known, size_t n, const char *value)
{
    for (size_t i = 0; i < n; i++)
        if (known[i] != NULL && strcmp(known[i], value) == 0)
            return true;
    return false;
}

/* Add a value to n remembered ones; the oldest is forgotten.  Call with the
 * lock; false: out of memory. */
static bool add_value_known(struct mortise_secret_store *v, char **known,
                            size_t n, const char *value)
{
    char *copy = mortise_strdup(v->mem, value);

    if (copy == NULL)
        return false;
    wipe_secret_value(v->mem, known[n - 1]);
    memmove(known + 1, known, (n - 1) * sizeof known[0]);
    known[0] = copy;
    return true;
}

static bool add_values_to_mask(struct mortise_mask *mask, const char *name,
                               char *const *known, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (known[i] != NULL &&
            !mortise_mask_add(mask, name, known[i], strlen(known[i])))
            return false;
    return true;
}

/* Add all values except those of `but`; NULL: all. */
static bool add_all_but_to_mask(const struct mortise_secret_store *v,
                                const struct noted *but,
                                struct mortise_mask *mask)
{
    for (size_t i = 0; i < v->n; i++)
        if (!add_values_to_mask(mask, v->list[i].from->name, v->list[i].known,
                                KNOWN_MAX))
            return false;
    for (const struct noted *n = v->noted; n != NULL; n = n->next)
        if (n != but && !add_values_to_mask(mask, n->name, n->known, NOTED_MAX))
            return false;
    return mortise_mask_build(mask);
}

/* Call with the lock; NULL: out of memory. */
static struct mortise_mask *
make_mask_without(const struct mortise_secret_store *v, const struct noted *but)
{
    struct mortise_mask *mask = mortise_mask_new(v->mem);

    if (mask != NULL && add_all_but_to_mask(v, but, mask))
        return mask;
    mortise_mask_unref(mask);
    return NULL;
}

/* Replace the mask; holders of the old one continue to use that.  Call with the
 * lock. */
static bool replace_secret_mask(struct mortise_secret_store *v)
{
    struct mortise_mask *mask = make_mask_without(v, NULL);

    if (mask == NULL)
        return false;
    mortise_mask_unref(v->mask);
    v->mask = mask;
    for (struct noted *n = v->noted; n != NULL; n = n->next) {
        mortise_mask_unref(n->others);
        n->others = NULL;
    }
    atomic_store(&v->has_mask, true);
    return true;
}

/* Remember a value before it is given out: to mask it, and to cache a program's
 * output.  A value that cannot be masked is not given out. */
static int remember_secret_value(struct mortise_secret_store *v,
                                 struct secret *s, const char *value,
                                 struct mortise_err *err)
{
    bool is_new;

    pthread_mutex_lock(&v->lock);
    is_new = !is_value_known(s->known, KNOWN_MAX, value);
    if (is_new && (!add_value_known(v, s->known, KNOWN_MAX, value) ||
                   !replace_secret_mask(v))) {
        pthread_mutex_unlock(&v->lock);
        return mortise_nomem(err);
    }
    pthread_mutex_unlock(&v->lock);
    if (is_new)
        warn_of_secret_length(v, s, value);
    return cache_program_output(v, s, value, err);
}

static int fetch_secret_value(struct mortise_secret_store *v, struct secret *s,
                              char **value, struct mortise_err *err)
{
    struct text *t = mortise_zalloc(v->mem, sizeof *t);
    char from[FROM_ROOM];
    int rv;

    if (t == NULL)
        return mortise_nomem(err);
    rv = read_from_provider(v, s, t, from, err);
    if (rv == MORTISE_OK)
        rv = check_secret_text(v, t, from, value, err);
    explicit_bzero(t, sizeof *t);
    mortise_release(v->mem, t, sizeof *t);
    if (rv == MORTISE_OK)
        rv = remember_secret_value(v, s, *value, err);
    if (rv != MORTISE_OK) {
        wipe_secret_value(v->mem, *value);
        *value = NULL;
    }
    return rv;
}

int mortise_secret_store_get(struct mortise_secret_store *v, const char *name,
                             char **value, struct mortise_err *err)
{
    struct secret *s = find_store_secret(v, name);
    bool kept;
    int rv;

    *value = NULL;
    if (s == NULL)
        return mortise_fail(err, MORTISE_ENOTFOUND,
                            "the deployment has no secret '%s'", name);
    pthread_mutex_lock(&v->lock);
    kept = is_output_cached(s);
    if (kept)
        *value = mortise_strdup(v->mem, s->last);
    pthread_mutex_unlock(&v->lock);
    if (kept)
        return *value != NULL ? MORTISE_OK : mortise_nomem(err);
    rv = fetch_secret_value(v, s, value, err);
    return rv == MORTISE_OK
               ? rv
               : mortise_err_prefix(err, rv, "the secret '%s'", name);
}

/* The values that this plugin keeps; NULL: none.  Call with the lock. */
static struct noted *find_noted(struct mortise_secret_store *v,
                                const char *plugin)
{
    char name[sizeof v->noted->name];
    struct noted *n = v->noted;

    snprintf(name, sizeof name, "kept by %s", plugin);
    while (n != NULL && strcmp(n->name, name) != 0)
        n = n->next;
    return n;
}

/* Find or create; NULL: out of memory. */
static struct noted *find_or_add_noted(struct mortise_secret_store *v,
                                       const char *plugin)
{
    struct noted *n = find_noted(v, plugin);

    if (n != NULL)
        return n;
    n = mortise_zalloc(v->mem, sizeof *n);
    if (n == NULL)
        return NULL;
    snprintf(n->name, sizeof n->name, "kept by %s", plugin);
    n->next = v->noted;
    v->noted = n;
    return n;
}

int mortise_secret_store_add_value(struct mortise_secret_store *v,
                                   const char *plugin, const char *value,
                                   struct mortise_err *err)
{
    struct noted *n;
    bool done;

    pthread_mutex_lock(&v->lock);
    n = find_or_add_noted(v, plugin);
    done = n != NULL && (is_value_known(n->known, NOTED_MAX, value) ||
                         (add_value_known(v, n->known, NOTED_MAX, value) &&
                          replace_secret_mask(v)));
    pthread_mutex_unlock(&v->lock);
    return done ? MORTISE_OK : mortise_nomem(err);
}

void mortise_secret_store_release(struct mortise_secret_store *v, char *value)
{
    wipe_secret_value(v->mem, value);
}

/* ---- masking (6) --------------------------------------------------------- */

struct mortise_mask *
mortise_secret_store_get_mask(struct mortise_secret_store *v)
{
    struct mortise_mask *mask;

    if (v == NULL || !atomic_load(&v->has_mask))
        return NULL;
    pthread_mutex_lock(&v->lock);
    mask = mortise_mask_ref(v->mask);
    pthread_mutex_unlock(&v->lock);
    return mask;
}

int mortise_secret_store_get_mask_for(struct mortise_secret_store *v,
                                      const char *plugin,
                                      struct mortise_mask **out,
                                      struct mortise_err *err)
{
    struct noted *n;

    *out = NULL;
    if (v == NULL || !atomic_load(&v->has_mask))
        return MORTISE_OK;
    pthread_mutex_lock(&v->lock);
    n = find_noted(v, plugin);
    if (n != NULL && n->others == NULL)
        n->others = make_mask_without(v, n);
    *out = mortise_mask_ref(n != NULL ? n->others : v->mask);
    pthread_mutex_unlock(&v->lock);
    return *out != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* Some callers cut messages at a few hundred bytes or more; a shorter message
 * is complete. */
static void mask_message(const struct mortise_mask *mask, const char *text,
                         struct mortise_buf *out)
{
    size_t n = strlen(text);

    if (n < CUT_FROM)
        mortise_mask_text(mask, text, n, out);
    else
        mortise_mask_truncated_text(mask, text, n, out);
}

void mortise_secret_store_mask_text(struct mortise_secret_store *v, char *text,
                                    size_t room)
{
    struct mortise_mask *mask = mortise_secret_store_get_mask(v);
    struct mortise_buf b;

    if (mask == NULL)
        return;
    mortise_buf_init(&b, v->mem);
    mask_message(mask, text, &b);
    snprintf(text, room, "%s",
             mortise_buf_cstr(&b) != NULL ? b.p : "(out of memory)");
    mortise_buf_finish(&b);
    mortise_mask_unref(mask);
}

char *mortise_secret_store_mask_copy(struct mortise_secret_store *v,
                                     const char *text)
{
    struct mortise_mask *mask = mortise_secret_store_get_mask(v);
    struct mortise_buf b;
    char *out = NULL;

    if (mask == NULL)
        return mortise_strdup(v->mem, text);
    mortise_buf_init(&b, v->mem);
    mask_message(mask, text, &b);
    if (mortise_buf_cstr(&b) != NULL)
        out = mortise_strdup(v->mem, b.p);
    mortise_buf_finish(&b);
    mortise_mask_unref(mask);
    return out;
}

bool mortise_secret_store_has_secret_in(struct mortise_secret_store *v,
                                        const json_t *value)
{
    struct mortise_mask *mask = mortise_secret_store_get_mask(v);
    bool tells = mortise_json_has_secret(mask, value);

    mortise_mask_unref(mask);
    return tells;
}

json_t *mortise_secret_store_mask_json(struct mortise_secret_store *v,
                                       json_t *value)
{
    struct mortise_mask *mask = mortise_secret_store_get_mask(v);
    json_t *out = value;

    if (mask != NULL && value != NULL) {
        out = mortise_json_mask(mask, value, v->mem);
        json_decref(value);
    }
    mortise_mask_unref(mask);
    return out;
}
