/* doctor_worker.c -- `mortise doctor`: can programs be started?
 *
 * That needs mortise-worker and a kernel with its sandbox features.  So a
 * program that does nothing is started like those of a deployment.  The
 * deployment's own programs are not started.  doctor checks that their files
 * and directories exist, because a missing one makes the launch fail.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "core/base/err.h"
#include "cli/doctor.h"
#include "services/process/launching.h"
#include "core/engine/parts/event_loop.h"
#include "services/process/process.h"

enum { PATIENCE_MS = 10000 };

struct worker_trial {
    const char *worker, *store, *program;
    uv_loop_t loop;
    uv_timer_t patience;
    struct mortise_timers timers;
    struct mortise_processes *all;
    struct mortise_process *process;
    bool well;
    char words[512]; /* the problem */
};

/* ---- one program ------------------------------------------------------------ */

/* A program that does nothing; NULL if this machine has none. */
static const char *find_idle_program(void)
{
    static const char *const paths[] = {"/usr/bin/true", "/bin/true"};

    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        if (access(paths[i], X_OK) == 0)
            return paths[i];
    return NULL;
}

static void add_launch_word(struct mortise_buf *b, const char *name,
                            const char *value)
{
    mortise_buf_puts(b, name);
    mortise_buf_puts(b, "=");
    mortise_buf_put(b, value, strlen(value) + 1);
}

static void add_launch_words(struct mortise_buf *b, const char *store,
                             const char *program)
{
    static const struct mortise_program tried = {.name = "doctor"};
    static const char *const runs[] = {"/usr", "/bin", "/lib", "/lib64"};

    add_launch_word(b, "program", program);
    add_launch_word(b, "cwd", "/");
    add_launch_word(b, "offline", "");
    mortise_launching_add_user(b, store, &tried);
    add_launch_word(b, "system", "/etc/ld.so.cache");
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++)
        add_launch_word(b, "exec", runs[i]);
}

static void set_trial_problem(struct worker_trial *t, const char *words)
{
    snprintf(t->words, sizeof t->words, "%s", words);
    t->words[strcspn(t->words, "\n")] = '\0';
}

static void on_program_done(void *ud, const struct mortise_process_end *end)
{
    struct worker_trial *t = ud;

    t->process = NULL;
    t->well = end->outcome == MORTISE_PROCESS_EXITED && end->code == 0;
    if (end->outcome == MORTISE_PROCESS_EXITED && !t->well)
        snprintf(t->words, sizeof t->words, "%s exited with %d", t->program,
                 end->code);
    else if (!t->well)
        set_trial_problem(t, end->words);
    uv_timer_stop(&t->patience);
}

static void on_program_late(uv_timer_t *timer)
{
    struct worker_trial *t = timer->data;

    mortise_process_cancel(t->process);
    snprintf(t->words, sizeof t->words, "%s did not finish within %d s",
             t->program, PATIENCE_MS / 1000);
}

static int start_trial_program(struct worker_trial *t,
                               const struct mortise_mem *mem,
                               struct mortise_err *err)
{
    struct mortise_buf words;
    struct mortise_process_request r = {
        .worker = t->worker, .done = on_program_done, .ud = t};
    int rv;

    mortise_buf_init(&words, mem);
    add_launch_words(&words, t->store, t->program);
    r.words = words.p;
    r.n_words = words.n;
    rv = words.failed ? mortise_nomem(err)
                      : mortise_process_start(t->all, &r, &t->process, err);
    mortise_buf_finish(&words);
    return rv;
}

static int run_trial_program(struct worker_trial *t,
                             const struct mortise_mem *mem,
                             struct mortise_err *err)
{
    int rv = mortise_event_loop_init(&t->loop, err);

    if (rv != MORTISE_OK)
        return rv;
    uv_timer_init(&t->loop, &t->patience);
    t->patience.data = t;
    rv = mortise_processes_open(&t->all, mem, &t->loop, &t->timers, err);
    if (rv == MORTISE_OK)
        rv = start_trial_program(t, mem, err);
    if (rv == MORTISE_OK) {
        uv_timer_start(&t->patience, on_program_late, PATIENCE_MS, 0);
        uv_run(&t->loop, UV_RUN_DEFAULT);
    }
    mortise_processes_close(t->all);
    uv_close((uv_handle_t *)&t->patience, NULL);
    uv_run(&t->loop, UV_RUN_DEFAULT);
    uv_loop_close(&t->loop);
    return rv;
}

/* ---- the programs of the deployment ------------------------------------------ */

/* Returns 0 if the file is executable, otherwise an errno. */
static int check_executable(const char *file)
{
    struct stat st;

    if (stat(file, &st) != 0)
        return errno;
    return S_ISREG(st.st_mode) && access(file, X_OK) == 0 ? 0 : EACCES;
}

/* Report a path of a program, under that key, unless `errnum` is 0. */
static bool check_program_path(struct mortise_doctor *d,
                               const struct mortise_program *p, const char *key,
                               const char *path, int errnum)
{
    char remedy[160];

    if (errnum == 0)
        return true;
    snprintf(remedy, sizeof remedy,
             "correct the path, or programs.%.64s.%s of the deployment",
             p->name, key);
    mortise_doctor_report(d, MORTISE_DOCTOR_FAIL, "programs", remedy,
                          "program '%.64s' cannot start: %s: %s", p->name, path,
                          strerror(errnum));
    return false;
}

static bool check_program_paths(struct mortise_doctor *d,
                                const struct mortise_program *p,
                                const char *key,
                                const struct mortise_paths *paths)
{
    bool ok = true;

    for (size_t i = 0; i < paths->n; i++)
        ok &= check_program_path(d, p, key, paths->list[i],
                                 access(paths->list[i], F_OK) == 0 ? 0 : errno);
    return ok;
}

/* Without `dir`, a program starts in one of its paths, which are checked
 * below. */
static bool check_program_dir(struct mortise_doctor *d,
                              const struct mortise_program *p)
{
    const char *dir = mortise_launching_get_dir(p);
    struct stat st;

    if (stat(dir, &st) != 0)
        return p->dir == NULL || check_program_path(d, p, "dir", dir, errno);
    return S_ISDIR(st.st_mode) || check_program_path(d, p, "dir", dir, ENOTDIR);
}

static void check_deployed_program(struct mortise_doctor *d,
                                   const struct mortise_program *p)
{
    bool ok =
        check_program_path(d, p, "path", p->path, check_executable(p->path));

    ok &= check_program_dir(d, p);
    ok &= check_program_paths(d, p, "read", &p->read);
    ok &= check_program_paths(d, p, "write", &p->write);
    if (ok)
        mortise_doctor_report(d, MORTISE_DOCTOR_OK, "programs", NULL, "%s: %s",
                              p->name, p->path);
}

/* ---- the lines --------------------------------------------------------------- */

static void check_worker_starts(struct mortise_doctor *d,
                                const struct mortise_settings *settings)
{
    struct worker_trial t = {.worker = settings->worker,
                             .store = settings->store,
                             .program = find_idle_program()};
    const struct mortise_deployment *deployment = settings->deployment;
    bool needed = deployment->programs.n > 0 ||
                  mortise_mcp_has_programs(&deployment->tools.mcp);
    struct mortise_err err;

    if (access(t.worker, X_OK) != 0)
        mortise_doctor_report(
            d, needed ? MORTISE_DOCTOR_FAIL : MORTISE_DOCTOR_WARN, "programs",
            "install mortise-worker beside the bundled plugins",
            "Mortise cannot start programs without %s: %s", t.worker,
            strerror(errno));
    else if (t.program == NULL)
        mortise_doctor_report(
            d, MORTISE_DOCTOR_OK, "programs", NULL,
            "%s exists; it was not tested, because there is no /bin/true",
            t.worker);
    else if (run_trial_program(&t, d->cli->mem, &err) != MORTISE_OK || !t.well)
        mortise_doctor_report(
            d, needed ? MORTISE_DOCTOR_FAIL : MORTISE_DOCTOR_WARN, "programs",
            "remove the cause of this error; until then, programs and MCP "
            "servers of a deployment do not start",
            "Mortise cannot start programs: %s",
            t.words[0] != '\0' ? t.words : err.msg);
    else
        mortise_doctor_report(d, MORTISE_DOCTOR_OK, "programs", NULL,
                              "%s starts programs in a sandbox", t.worker);
}

void mortise_doctor_check_worker(struct mortise_doctor *d,
                                 const struct mortise_settings *settings)
{
    const struct mortise_programs *all = &settings->deployment->programs;

    check_worker_starts(d, settings);
    if (!d->cli->looks) /* otherwise read no file that it names */
        for (size_t i = 0; i < all->n; i++)
            check_deployed_program(d, &all->list[i]);
}
