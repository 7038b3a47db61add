/* trial.c -- one run, driven to its end by processes that get killed.
 *
 * What a person would do: `run`; after a crash `resume`, and `run` again when
 * there is no such run; `approve` when it waits; `resolve`, after looking at
 * the world, when it is in doubt; both name the request that was printed last.
 * Nothing else is ever needed, wherever the process died.  Only exit code 0 ends
 * a trial.
 *
 * All processes run under powercut.so, so that nothing is synced in truth and
 * the power can be cut after any of them.  The books are made here, by us, and
 * each process joins them: one that is killed while it begins cannot leave
 * half of them.  They are kept over processes that merely ended or were killed,
 * since the page cache is, too: what the first of them forgot to sync is lost
 * with the power that goes in the time of the third.
 *
 * What is acknowledged is what stands in a whole line on a process's stdout; we
 * keep all of it for the judge.
 *
 * A worker is a process of ours that tries every second plan.  LevelDB is only
 * used in children of the workers (it has a thread for good once it is used).
 */
#include "kill/trial.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kill/counter.h"
#include "kill/shop.h"
#include "lib/child.h"
#include "lib/powercut.h"
#include "lib/test.h"

enum { WORKERS = 2, MOST_ARGS = 16, MOST_ENV = 512, PATIENCE_S = 60 };

static const char *const report_files[] = {"report.md", "note.txt", NULL};
static const char *const no_files[] = {NULL};
static const char *const triage_files[] = {"triage-report.md", NULL};

static const char small_log[] = "tests/kill/input.log";

const struct job job_report = {.name = "report",
                               .graph = "tests/kill/report.graph.yaml",
                               .log = small_log,
                               .files = report_files};
const struct job job_counted = {.name = "counted",
                                .graph = "tests/kill/counted.graph.yaml",
                                .log = small_log,
                                .files = no_files,
                                .counted = true};
const struct job job_acting = {.name = "acting",
                               .graph = "tests/kill/acting.graph.yaml",
                               .log = small_log,
                               .files = no_files,
                               .counted = true,
                               .posted = true};
const struct job job_asking = {.name = "asking",
                               .graph = "tests/kill/asking.graph.yaml",
                               .log = small_log,
                               .files = no_files,
                               .posted = true};
const struct job job_triage = {.name = "triage",
                               .graph = "configs/triage/triage.graph.yaml",
                               .log = "configs/triage/sample.log",
                               .files = triage_files};
const struct job job_refund = {
    .name = "refund",
    .graph = "configs/refund/refund.graph.yaml",
    .log = small_log,
    .files = no_files,
    .refunds = true,
    .input = "{\"message\": \"my lamp came broken, a@b.example\", "
             "\"customer\": \"anna\"}"};

/* ---- for all trials ---------------------------------------------------- */

static char suite_dir[256], source[2048];
static char binary[2048], fault_binary[2048], preload[2048];

static void ok(int code)
{
    ck_assert_msg(code == 0, "exit code %d:\n%s%s", code, child.out, child.err);
}

static void sign(const char *manifest, const char *object)
{
    ok(child_run("$MORTISE plugin sign %s/%s %s --key k.key --out plugins",
                 source, manifest, child_build(object)));
}

/* Its paths are below a trial's directory, where each process runs. */
static void write_deployment(void)
{
    char path[512], text[8192];
    int n = snprintf(text, sizeof text,
                     "apiVersion: mortise/v1\n"
                     "kind: Deployment\n"
                     "metadata: {name: kill}\n"
                     "plugins:\n"
                     "  path: [%s/plugins]\n"
                     "  config:\n"
                     "    file: {roots: ['${env:TRIAL}/disk/out']}\n"
                     "    pattern: {builtin: [secret, email, ipv6, ipv4]}\n"
                     "    counts: {file: count.log}\n"
                     "    posts: {file: count.log, base_url: "
                     "'http://127.0.0.1:%d/'}\n"
                     "    acme.pay: {base_url: '${env:SHOP}'}\n"
                     "guardrails:\n"
                     "  pii: {plugin: pattern, config: {builtin: [email]}}\n"
                     "models:\n"
                     "  default: {provider: openai, model: small, base_url: "
                     "'${env:SHOP}/v1', price: {input_per_mtok: 0.15, "
                     "output_per_mtok: 0.60}}\n"
                     "trust: {dir: %s/trust.d}\n",
                     suite_dir, counter_port(), suite_dir);

    snprintf(path, sizeof path, "%s/mortise.yaml", suite_dir);
    test_write(path, text, (size_t)n);
}

static void begin_counting(void)
{
    char dir[512];

    snprintf(dir, sizeof dir, "%s/posts", suite_dir);
    ck_assert_int_eq(mkdir(dir, 0700), 0);
    counter_begin(dir);
    snprintf(dir, sizeof dir, "%s/shop", suite_dir);
    ck_assert_int_eq(mkdir(dir, 0700), 0);
    shop_begin(dir);
}

void trials_begin(void)
{
    ck_assert_ptr_nonnull(getcwd(source, sizeof source));
    snprintf(suite_dir, sizeof suite_dir, "%s", test_mkdir());
    strcpy(binary, child_build("mortise"));
    strcpy(fault_binary, child_build("faults/mortise"));
    strcpy(preload, child_build("tests/powercut.so"));
    setenv("SHOP", "http://127.0.0.1:1", 1); /* for who only looks */
    setenv("TRIAL", suite_dir, 1);
    child_dir(suite_dir);
    ok(child_run("$MORTISE key new k -W"));
    sign("plugins/executor/file/file.plugin.yaml", "plugins/file.so");
    sign("plugins/executor/text/text.plugin.yaml", "plugins/text.so");
    sign("plugins/guardrail/pattern/pattern.plugin.yaml", "plugins/pattern.so");
    sign("plugins/executor/agent/agent.plugin.yaml", "plugins/agent.so");
    sign("plugins/model/openai/openai.plugin.yaml", "plugins/openai.so");
    sign("configs/refund/pay/acme.pay.plugin.yaml", "configs/acme.pay.so");
    sign("tests/plugins/counts.plugin.yaml", "tests/plugins/counts.so");
    sign("tests/plugins/posts.plugin.yaml", "tests/plugins/posts.so");
    ok(child_run("$MORTISE key trust k.pub --trust trust.d --plugins '*' "
                 "--in-process"));
    begin_counting();
    write_deployment();
}

void trials_end(void)
{
    counter_end();
    shop_end();
    test_rmdir(suite_dir);
}

/* ---- workers ----------------------------------------------------------- */

enum { NOTE = 4096 };

/* What workers, and children of theirs, tell the test. */
static struct shared {
    char wrong[NOTE];
    atomic_uint seen[N_SIGHTS];
} * shared;

static unsigned seen[N_SIGHTS]; /* of the last try_all() */

void saw(enum sight what)
{
    if (shared != NULL)
        atomic_fetch_add(&shared->seen[what], 1);
}

unsigned times_seen(enum sight what)
{
    return seen[what];
}

static size_t describe(const struct trial *t, char *out, size_t cap)
{
    static const char *const kinds[] = {"", "fault point", "call",
                                        "call behind the effect", "time"};
    size_t n = (size_t)snprintf(out, cap, "%s", t->job->name);

    for (unsigned i = 0; i < t->n_blows && n < cap; i++) {
        const struct blow *b = &t->blows[i];

        n += (size_t)snprintf(
            out + n, cap - n, "%s process %u killed at %s %lu",
            i == 0 ? ":" : ",", b->process, kinds[b->kind], b->n);
        if (b->keep != NO_CUT && n < cap)
            n += (size_t)snprintf(out + n, cap - n, " (power cut, %d%% kept)",
                                  b->keep);
    }
    return n < cap ? n : cap - 1;
}

void wrong(const struct trial *t, const char *fmt, ...)
{
    char text[NOTE];
    size_t n = describe(t, text, sizeof text);
    va_list ap;

    n += (size_t)snprintf(text + n, sizeof text - n, "; see %s\n", t->dir);
    va_start(ap, fmt);
    vsnprintf(text + n, sizeof text - n, fmt, ap);
    va_end(ap);
    if (shared == NULL)
        ck_abort_msg("%s", text);
    if (shared->wrong[0] == '\0') /* who found something first knows best */
        memcpy(shared->wrong, text, sizeof text);
    _exit(1);
}

static _Noreturn void work(plan_fn *plan, unsigned long first)
{
    unsigned long n = first;

    while (shared->wrong[0] == '\0' && plan(n))
        n += WORKERS;
    _exit(0);
}

void try_all(plan_fn *plan)
{
    pid_t workers[WORKERS];
    int status, failed = 0;

    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(shared != MAP_FAILED);
    for (unsigned long i = 0; i < WORKERS; i++) {
        workers[i] = fork();
        if (workers[i] == 0)
            work(plan, i);
    }
    for (int i = 0; i < WORKERS; i++) {
        ck_assert_int_eq(waitpid(workers[i], &status, 0), workers[i]);
        failed |= status;
    }
    ck_assert_msg(shared->wrong[0] == '\0', "%s", shared->wrong);
    ck_assert_int_eq(failed, 0);
    for (int i = 0; i < N_SIGHTS; i++)
        seen[i] = atomic_load(&shared->seen[i]);
    munmap(shared, sizeof *shared);
    shared = NULL;
}

/* ---- a trial's directory ----------------------------------------------- */

const char *trial_path(const struct trial *t, const char *path)
{
    static char out[512];

    snprintf(out, sizeof out, "%s/%s", t->dir, path);
    return out;
}

/* Begin the books, which every process then joins. */
static void open_books(const struct trial *t)
{
    char state[512], root[512], journaled[512], renames[512];

    strcpy(state, trial_path(t, "books"));
    strcpy(root, trial_path(t, "disk"));
    strcpy(journaled, trial_path(t, "disk/store"));
    strcpy(renames, trial_path(t, "renames"));
    powercut_begin(state, root, journaled, renames);
    powercut_end();
}

static void make_place(struct trial *t)
{
    char *log;
    size_t n;

    snprintf(t->dir, sizeof t->dir, "%s", test_mkdir());
    ck_assert_int_eq(mkdir(trial_path(t, "disk"), 0700), 0);
    ck_assert_int_eq(mkdir(trial_path(t, "disk/out"), 0700), 0);
    log = test_read(t->job->log, &n);
    test_write(trial_path(t, "disk/out/" TRIAL_LOG), log, n);
    free(log);
    open_books(t);
}

void trial_finish(struct trial *t)
{
    json_decref(t->told);
    test_rmdir(t->dir);
}

unsigned trial_posts(const struct trial *t)
{
    return counter_count(t->dir);
}

unsigned trial_count(const struct trial *t)
{
    const char *path = trial_path(t, "count.log");
    unsigned n = 0;
    char *text;

    if (access(path, F_OK) != 0)
        return 0;
    text = test_read(path, NULL);
    for (const char *p = text; (p = strchr(p, '\n')) != NULL; p++)
        n++;
    free(text);
    return n;
}

/* ---- one process ------------------------------------------------------- */

struct process {
    const struct blow *blow; /* NULL: none */
    char *env[MOST_ENV];
    char room[8][1024]; /* of the variables that are ours */
    size_t n_env, n_room;
    pid_t pid;
    int code; /* exit code; -1: killed, as it should be */
};

__attribute__((format(printf, 2, 3))) static void set(struct process *p,
                                                      const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(p->room[p->n_room], sizeof p->room[0], fmt, ap);
    va_end(ap);
    p->env[p->n_env++] = p->room[p->n_room++];
}

static bool is_ours(const char *variable)
{
    static const char *const names[] = {"LD_PRELOAD=", "POWERCUT_", "MORTISE_",
                                        "MALLOC_",     "SHOP=",     "TRIAL="};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(variable, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static void make_env(struct process *p, const struct trial *t)
{
    for (char **v = environ; *v != NULL && p->n_env + 9 < MOST_ENV; v++)
        if (!is_ours(*v))
            p->env[p->n_env++] = *v;
    set(p, "LD_PRELOAD=%s", preload);
    set(p, "TRIAL=%s", t->dir);
    set(p, "POWERCUT_STATE=%s", trial_path(t, "books"));
    set(p, "SHOP=%s", shop_url(t->dir));
    if (t->slow_ms != 0)
        set(p, "POWERCUT_SLOW=%u", t->slow_ms);
    if (p->blow != NULL &&
        (p->blow->kind == AT_CALL || p->blow->kind == AT_CALL_BEHIND))
        set(p, "POWERCUT_KILL=%lu", p->blow->n);
    if (p->blow != NULL && p->blow->kind == AT_CALL_BEHIND)
        set(p, "POWERCUT_KILL_ONCE=%s",
            t->job->counted   ? trial_path(t, "count.log")
            : t->job->refunds ? shop_refunds_file(t->dir)
                              : counter_file(t->dir));
    if (p->blow != NULL && p->blow->kind == AT_POINT)
        set(p, "MORTISE_FAULT_CRASH=%lu", p->blow->n);
    p->env[p->n_env] = NULL;
}

static const char *binary_of(const struct process *p)
{
    return p->blow != NULL && p->blow->kind == AT_POINT ? fault_binary : binary;
}

static void spawn(struct process *p, const struct trial *t, char *const *args)
{
    posix_spawn_file_actions_t files;
    int e;

    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addchdir_np(&files, t->dir);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, "out",
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&files, 2, "err",
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    e = posix_spawn(&p->pid, binary_of(p), &files, NULL, args, p->env);
    posix_spawn_file_actions_destroy(&files);
    if (e != 0)
        wrong(t, "%s: %s", binary_of(p), strerror(e));
}

static unsigned long now_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (unsigned long)ts.tv_sec * 1000000 +
           (unsigned long)ts.tv_nsec / 1000;
}

/* One that hangs is a failure, too: of this worker only. */
static pid_t hanging;

static void on_alarm(int signal)
{
    (void)signal;
    kill(hanging, SIGABRT);
}

static void await(struct process *p, const struct trial *t)
{
    int status;

    if (p->blow != NULL && p->blow->kind == AT_TIME) {
        usleep((useconds_t)p->blow->n);
        kill(p->pid, SIGKILL); /* not reaped yet: it is still its number */
    }
    hanging = p->pid;
    signal(SIGALRM, on_alarm);
    alarm(PATIENCE_S);
    while (waitpid(p->pid, &status, 0) < 0)
        if (errno != EINTR)
            wrong(t, "waitpid: %s", strerror(errno));
    alarm(0);
    if (WIFEXITED(status))
        p->code = WEXITSTATUS(status);
    else if (WTERMSIG(status) == SIGKILL && p->blow != NULL)
        p->code = -1;
    else
        wrong(t, "a process died of signal %d", WTERMSIG(status));
}

/* The words of a line, cut apart where it says \n. */
static void split(char *line, char *args[MOST_ARGS])
{
    size_t n = 0;
    char *rest = NULL;

    for (char *word = strtok_r(line, "\n", &rest);
         word != NULL && n + 1 < MOST_ARGS; word = strtok_r(NULL, "\n", &rest))
        args[n++] = word;
    args[n] = NULL;
}

/* Run a command, its words separated by \n; the options that all have are
 * added.  Its exit code, or -1 when the blow killed it. */
__attribute__((format(printf, 3, 4))) static int
run_process(struct trial *t, const struct blow *blow, const char *fmt, ...)
{
    struct process p = {.blow = blow};
    char line[4096], *args[MOST_ARGS];
    va_list ap;
    size_t n;

    n = (size_t)snprintf(line, sizeof line, "mortise\n");
    va_start(ap, fmt);
    n += (size_t)vsnprintf(line + n, sizeof line - n, fmt, ap);
    va_end(ap);
    snprintf(line + n, sizeof line - n,
             "\n--store\ndisk/store\n--deployment\n%s/mortise.yaml", suite_dir);
    split(line, args);
    make_env(&p, t);
    spawn(&p, t, args);
    await(&p, t);
    return p.code;
}

static char *read_file(const struct trial *t, const char *name)
{
    return test_read(trial_path(t, name), NULL);
}

const char *trial_deployment(void)
{
    static char path[512];

    snprintf(path, sizeof path, "%s/mortise.yaml", suite_dir);
    return path;
}

/* ---- what a process said ----------------------------------------------- */

/* What the run waits for, as a process said at its end. */
static void keep_request(struct trial *t, const json_t *said)
{
    const json_t *first = json_array_get(json_object_get(said, "pending"), 0);
    const char *id = json_string_value(json_object_get(first, "id"));

    if (id == NULL)
        return;
    snprintf(t->request, sizeof t->request, "%s", id);
    t->open = json_object_get(first, "open") != NULL;
}

/* One line that was printed whole is a promise. */
static void keep_line(struct trial *t, const char *line, size_t n)
{
    json_t *v = json_loadb(line, n, 0, NULL);

    if (v == NULL)
        wrong(t, "printed what is not JSON: %.*s", (int)n, line);
    t->told_of = true;
    if (json_object_get(v, "seq") != NULL)
        json_array_append(t->told, v);
    keep_request(t, v);
    json_decref(v);
}

static void keep_what_was_said(struct trial *t)
{
    char *text = read_file(t, "out");
    char *line = text, *end;

    for (; (end = strchr(line, '\n')) != NULL; line = end + 1)
        keep_line(t, line, (size_t)(end - line));
    free(text);
}

/* ---- to the end -------------------------------------------------------- */

enum step { RUN, RESUME, APPROVE, RESOLVE, DONE };

static const struct blow *blow_of(const struct trial *t)
{
    for (unsigned i = 0; i < t->n_blows; i++)
        if (t->blows[i].process == t->n_processes)
            return &t->blows[i];
    return NULL;
}

/* The half of a call that is missing, done by a person. */
static void finish_by_hand(const struct trial *t)
{
    FILE *f = fopen(trial_path(t, "count.log"), "a");

    ck_assert_ptr_nonnull(f);
    fputs("by hand\n", f);
    fclose(f);
}

/* A person looks at the world.  What a call asked for and was answered is in its
 * journal; what it was not told of (`open`) would be asked for again. */
static int settle_doubt(struct trial *t, const struct blow *b)
{
    const struct job *job = t->job;
    bool line = job->counted && trial_count(t) > 0;
    bool post = job->posted && trial_posts(t) > 0;

    saw(SAW_DOUBT);
    if (job->counted ? !line && !(post && t->open) : !post)
        return run_process(t, b, "resolve\n--json\nr\n%s\n--retry", t->request);
    if (job->counted && !line)
        finish_by_hand(t);
    return run_process(t, b, "resolve\n--json\nr\n%s\n--done\n%s", t->request,
                       job->counted ? "{\"counted\": true}"
                                    : "{\"status\": 200}");
}

static int do_step(struct trial *t, enum step step)
{
    const struct blow *b = blow_of(t);

    switch (step) {
    case RUN:
        return run_process(t, b, "run\n--json\n%s/%s\n--id\nr\n--input\n%s",
                           source, t->job->graph,
                           t->job->input != NULL ? t->job->input
                                                 : "{\"log\": \"" TRIAL_LOG
                                                   "\"}");
    case RESUME:
        return run_process(t, b, "resume\n--json\nr");
    case APPROVE:
        return run_process(t, b, "approve\n--json\nr\n%s", t->request);
    case RESOLVE:
        return settle_doubt(t, b);
    case DONE:
        break;
    }
    return 0;
}

/* It was killed, and perhaps the power is gone as well. */
static enum step after_death(struct trial *t, const struct blow *b)
{
    int rv = b->keep == NO_CUT
                 ? powercut_died(trial_path(t, "books"))
                 : powercut_apply(trial_path(t, "books"), b->keep);

    if (rv != 0)
        wrong(t, "the books: %s", strerror(errno));
    if (b->keep != NO_CUT)
        open_books(t);
    t->landed[b - t->blows] = true;
    saw(SAW_DEATH);
    if (t->after_death != NULL)
        t->after_death(t);
    return RESUME;
}

/* Nobody has heard of it, and that must be true. */
static enum step not_found(struct trial *t)
{
    if (t->told_of)
        wrong(t, "the run was announced, and now it is not there");
    saw(SAW_NO_RUN);
    return RUN;
}

static enum step after_code(struct trial *t, enum step step, int code)
{
    char *said = read_file(t, "err");
    enum step next = DONE;

    if (code == 4)
        next = APPROVE;
    else if (code == 5 && (t->job->counted || t->job->posted))
        next = RESOLVE;
    else if (step == RESUME && strstr(said, "E_NOT_FOUND") != NULL)
        next = not_found(t);
    else if (code != 0)
        wrong(t, "process %u: exit code %d: %s", t->n_processes, code, said);
    free(said);
    return next;
}

void trial_drive(struct trial *t)
{
    enum step step = RUN;

    make_place(t);
    t->told = json_array();
    while (step != DONE) {
        const struct blow *b = blow_of(t);
        unsigned long start = now_us();
        int code = do_step(t, step);

        t->us[t->n_processes] = now_us() - start;
        keep_what_was_said(t);
        step = code < 0 ? after_death(t, b) : after_code(t, step, code);
        if (++t->n_processes == MOST_PROCESSES)
            wrong(t, "no end after %u processes", t->n_processes);
    }
}
