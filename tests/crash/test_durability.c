/* test_durability.c -- what survives, told under each store.durability.
 *
 * A victim, forked, opens an engine, starts a run, listens to it, answers its
 * question and waits for its end, noting in memory that it shares with us what
 * it was told.  It dies at a call that touches the store, and the power goes
 * with it or does not (lib/powercut.c).  A second process looks what the store
 * still has.  Over all calls that makes a table: of each thing that one may be
 * told, whether it was ever gone afterwards.  docs/durability.md has that
 * table, and is compared.
 *
 * This process never opens a store: LevelDB has a thread for good once it is
 * used, and we fork. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "lib/powercut.h"
#include "lib/shelf.h"
#include "core/mortise.h"

enum { MOST_EVENTS = 4096 };

enum told { RUN, STEP, EFFECT, QUESTION, ANSWER, END, N_TOLD };

static const char *const words[N_TOLD] = {
    [RUN] = "the id of a new run",
    [STEP] = "that a `pure` or `read` step ended",
    [EFFECT] = "the intent of an effect",
    [QUESTION] = "a question, in an event or the inbox",
    [ANSWER] = "that a command was applied",
    [END] = "that the run ended or stopped"};

static const char *const modes[] = {"sync", "{batch: {max_ms: 1000}}", "exit"};

enum { N_MODES = 3, N_DEATHS = 2 }; /* the process's, and the power's too */

/* Shared with the children. */
static struct notes {
    bool told[N_TOLD];
    uint64_t seq[N_TOLD]; /* of the event */
    uint64_t last;        /* stored event, as the second process finds it */
    bool found[N_TOLD];   /* what is no event */
    unsigned long calls;  /* watched ones, of a victim that lived */
    uint64_t at_ms[MOST_EVENTS]; /* when the event of that seq was heard */
    char wrong[400];
} * notes;

static struct shelf shelf;
static char dir[PATH_MAX - 512], disk[PATH_MAX - 448], store[PATH_MAX - 384],
    state[PATH_MAX - 448], deployment[PATH_MAX - 448], graph[PATH_MAX - 448],
    counted[PATH_MAX - 448];

/* ---- the place ---------------------------------------------------------- */

static void put(const char *path, const char *text)
{
    test_write(path, text, strlen(text));
}

static void new_place(const char *durability, const char *nodes)
{
    char text[4 * PATH_MAX];

    snprintf(dir, sizeof dir, "%s", test_mkdir());
    snprintf(disk, sizeof disk, "%s/disk", dir);
    snprintf(store, sizeof store, "%s/store", disk);
    snprintf(state, sizeof state, "%s/books", dir);
    snprintf(counted, sizeof counted, "%s/counted", dir);
    snprintf(graph, sizeof graph, "%s/g.yaml", dir);
    snprintf(deployment, sizeof deployment, "%s/mortise.yaml", dir);
    ck_assert_int_eq(mkdir(disk, 0700), 0);
    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\n"
             "kind: Deployment\n"
             "metadata: {name: test}\n"
             "plugins:\n"
             "  path: [\"%s\"]\n"
             "  config: {counts: {file: \"%s\"}}\n"
             "trust: {dir: \"%s\"}\n"
             "store: {path: \"%s\", durability: %s}\n",
             shelf.plugins, counted, shelf.trust, store, durability);
    put(deployment, text);
    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\n"
             "kind: Graph\n"
             "metadata: {name: test, version: 1.0.0}\n%s",
             nodes);
    put(graph, text);
    memset(notes, 0, sizeof *notes);
}

static void remove_place(void)
{
    test_rmdir(dir);
}

/* ---- children ----------------------------------------------------------- */

static _Noreturn void gave_up(const char *what, const struct mortise_err *err)
{
    snprintf(notes->wrong, sizeof notes->wrong, "%s: %.300s", what, err->msg);
    _exit(1);
}

static struct mortise *open_engine(void)
{
    struct mortise_options o = {.size = sizeof o, .deployment = deployment};
    struct mortise_err err;
    struct mortise *m;

    if (mortise_open(&m, &o, &err) != MORTISE_OK)
        gave_up("open", &err);
    return m;
}

static uint64_t seq_of(const char *json)
{
    const char *at = strstr(json, "\"seq\":");

    return at != NULL ? strtoull(at + 6, NULL, 10) : 0;
}

static bool is_type(const char *json, const char *type)
{
    char member[64];

    snprintf(member, sizeof member, "\"type\":\"%s\"", type);
    return strstr(json, member) != NULL;
}

static void note(enum told what, uint64_t seq)
{
    notes->seq[what] = seq;
    notes->told[what] = true;
}

static char question[64]; /* its id, once it was heard */

static int hear(void *ud, const char *json, size_t n)
{
    uint64_t seq = seq_of(json);
    const char *id = strstr(json, "\"id\":\"");

    (void)ud;
    (void)n;
    if (seq == 0)
        return 0;
    if (seq < MOST_EVENTS)
        notes->at_ms[seq] = mortise_mono_ns() / 1000000;
    if (is_type(json, "node_end") && strstr(json, "\"node\":\"w") == NULL)
        note(STEP, seq);
    if (is_type(json, "interrupt")) {
        note(QUESTION, seq);
        snprintf(question, sizeof question, "%.*s",
                 id != NULL ? (int)strcspn(id + 6, "\"") : 0, id + 6);
    }
    if (is_type(json, "run_end"))
        note(END, seq);
    return 0;
}

static void start(struct mortise *m)
{
    struct mortise_start_options s = {.size = sizeof s, .run = "r"};
    struct mortise_graph *g;
    struct mortise_err err;
    char id[MORTISE_RUN_MAX];

    if (mortise_load(m, graph, &g, NULL, &err) != MORTISE_OK)
        gave_up("load", &err);
    if (mortise_start(m, g, &s, id, &err) != MORTISE_OK)
        gave_up("start", &err);
    mortise_graph_close(g);
    note(RUN, 0);
    if (mortise_events(m, NULL, "r", 0, MORTISE_EVENTS_FOLLOW, hear, NULL, NULL,
                       &err) != MORTISE_OK)
        gave_up("events", &err);
}

static void answer(struct mortise *m)
{
    struct mortise_command c = {.size = sizeof c,
                                .kind = MORTISE_CMD_ANSWER,
                                .id = question,
                                .json = "{\"approved\": true}"};
    struct mortise_err err;

    if (mortise_apply(m, NULL, "r", &c, 1, 0, NULL, &err) != MORTISE_OK)
        gave_up("answer", &err);
    note(ANSWER, notes->seq[QUESTION] + 1);
}

static void wait_for(struct mortise *m)
{
    struct mortise_err err;
    int status;

    if (mortise_wait(m, NULL, "r", &status, &err) != MORTISE_OK)
        gave_up("wait", &err);
}

static _Noreturn void be_victim(unsigned long kill_at)
{
    struct mortise *m;

    powercut_begin(state, disk, disk, NULL);
    powercut_kill_at(kill_at);
    m = open_engine();
    start(m);
    wait_for(m);
    if (question[0] != '\0') {
        answer(m);
        wait_for(m);
    }
    notes->calls = powercut_calls();
    mortise_close(m);
    _exit(0);
}

static int look(void *ud, const char *json, size_t n)
{
    (void)ud;
    (void)n;
    if (seq_of(json) != 0)
        notes->last = seq_of(json);
    return 0;
}

/* What the store has, and whether the effect may have happened unseen. */
static _Noreturn void be_reader(void)
{
    struct mortise *m = open_engine();
    struct mortise_err err;
    char *history;

    if (mortise_events(m, NULL, "r", 0, 0, look, NULL, NULL, &err) ==
        MORTISE_OK) {
        notes->found[RUN] = true;
        if (mortise_history(m, NULL, "r", &history, &err) != MORTISE_OK)
            gave_up("history", &err);
        notes->found[EFFECT] = strstr(history, "\"intent\"") != NULL;
        mortise_free(m, history);
    }
    mortise_close(m);
    _exit(0);
}

/* Was it killed? */
static bool await(pid_t child)
{
    int status;

    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(notes->wrong[0] == '\0', "%s", notes->wrong);
    if (WIFSIGNALED(status)) {
        ck_assert_int_eq(WTERMSIG(status), SIGKILL);
        return true;
    }
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    return false;
}

static bool run_victim(unsigned long kill_at)
{
    pid_t child = fork();

    if (child == 0)
        be_victim(kill_at);
    return await(child);
}

static void run_reader(void)
{
    pid_t child = fork();

    if (child == 0)
        be_reader();
    await(child);
}

/* ---- the table ---------------------------------------------------------- */

/* `f` takes long, so that the end of `e` has been heard when the store is called
 * next, and is not synced by then if the mode allows that. */
static const char nodes[] =
    "start: a\n"
    "nodes:\n"
    "  a: {type: tool, tool: ok_inline/echo, args: {}, next: b}\n"
    "  b: {type: tool, tool: ok_inline/echo, args: {}, next: c}\n"
    "  c: {type: tool, tool: ok_async/sleep, args: {ms: 1}, next: w}\n"
    "  w: {type: tool, tool: counts/count, args: {}, next: d}\n"
    "  d: {type: tool, tool: ok_async/sleep, args: {ms: 1}, next: q}\n"
    "  q: {type: human, prompt: Well?, next: e}\n"
    "  e: {type: tool, tool: ok_async/sleep, args: {ms: 1}, next: f}\n"
    "  f: {type: tool, tool: ok_async/sleep, args: {ms: 150}, next: END}\n";

/* Is it gone, though it was told? */
static bool is_lost(enum told what)
{
    if (what == EFFECT)
        return access(counted, F_OK) == 0 && !notes->found[EFFECT];
    if (!notes->told[what])
        return false;
    return !notes->found[RUN] || notes->last < notes->seq[what];
}

/* Die at each call, in every third with the store's own close. */
static void find_losses(int mode, bool cut, unsigned long first,
                        bool lost[N_TOLD])
{
    bool died = true;

    for (unsigned long n = first; died; n += 3) {
        new_place(modes[mode], nodes);
        died = run_victim(n);
        ck_assert_int_eq(
            cut ? powercut_apply(state, 0) : powercut_settle(state), 0);
        run_reader();
        for (int i = 0; i < N_TOLD; i++)
            lost[i] |= is_lost((enum told)i);
        if (!died) { /* closed: everything is on disk, whatever the mode */
            ck_assert(notes->told[END]);
            for (int i = 0; i < N_TOLD; i++)
                ck_assert(!is_lost((enum told)i));
        }
        remove_place();
    }
}

static void find_all(unsigned long first, bool lost[N_MODES][N_DEATHS][N_TOLD])
{
    for (int mode = 0; mode < N_MODES; mode++)
        for (int cut = 0; cut < N_DEATHS; cut++)
            find_losses(mode, cut, first, lost[mode][cut]);
}

/* Does the documentation have each row as it was found?  The first that it
 * lacks is in `row`. */
static bool is_told(const char *doc, bool lost[N_MODES][N_DEATHS][N_TOLD],
                    char *row, size_t size)
{
    for (int i = 0; i < N_TOLD; i++) {
        int n = snprintf(row, size, "| %s", words[i]);

        for (int k = 0; k < N_MODES * N_DEATHS; k++)
            n += snprintf(row + n, size - (size_t)n, " | %s",
                          lost[k / N_DEATHS][k % N_DEATHS][i] ? "may be lost"
                                                              : "stays");
        snprintf(row + n, size - (size_t)n, " |\n");
        if (strstr(doc, row) == NULL)
            return false;
    }
    return true;
}

/* What the documentation says of each mode is what was found, in every cell.
 * What may be lost need not be on a busy machine, where a sync comes between
 * before anything is told: so it is looked for again. */
START_TEST(what_survives)
{
    bool lost[N_MODES][N_DEATHS][N_TOLD] = {{{false}}}, told = false;
    char *doc = test_read("docs/durability.md", NULL), row[400];

    for (unsigned long first = 20; !told && first < 20 + 6; first++) {
        find_all(first, lost);
        told = is_told(doc, lost, row, sizeof row);
    }
    free(doc);
    ck_assert_msg(told, "docs/durability.md lacks: %s", row);
}
END_TEST

/* ---- max_ms ------------------------------------------------------------- */

enum { STEPS = 60, STEP_MS = 20, SLACK_MS = 400, TRIES = 10 };

/* Killed after a second, with the power: how old is the newest event that was
 * heard and is gone?  0: none is. */
static uint64_t oldest_loss(const char *durability)
{
    char text[8192];
    int n = snprintf(text, sizeof text, "start: n0\nnodes:\n");
    uint64_t died;
    pid_t child;

    for (int i = 0; i < STEPS; i++)
        n +=
            snprintf(text + n, sizeof text - (size_t)n,
                     "  n%d: {type: tool, tool: ok_async/sleep, args: {ms: %d},"
                     " next: %s%d%s\n",
                     i, STEP_MS, i + 1 < STEPS ? "n" : "END} #", i + 1,
                     i + 1 < STEPS ? "}" : "");
    new_place(durability, text);
    child = fork();
    if (child == 0)
        be_victim(0);
    for (int i = 0; i < 30000 && !*(volatile bool *)&notes->told[STEP]; i++)
        usleep(1000);
    usleep(1000000); /* from the first step on, however long opening took */
    kill(child, SIGKILL);
    died = mortise_mono_ns() / 1000000;
    ck_assert(await(child));
    ck_assert_int_eq(powercut_apply(state, 0), 0);
    run_reader();
    remove_place();
    ck_assert(notes->told[STEP]);
    n = (int)notes->last + 1;
    return notes->at_ms[n] != 0 ? died - notes->at_ms[n] : 0;
}

/* In a batch a commit waits for its sync no longer than max_ms; without that
 * bound, in `exit`, until something waits for it.
 * key: store.durability, store.durability=exit, batch.max_ms */
START_TEST(a_batch_is_synced_in_time)
{
    uint64_t least = UINT64_MAX;

    /* A busy machine may be late, but not each time. */
    for (int i = 0; i < TRIES && least > 50 + SLACK_MS; i++) {
        uint64_t ms = oldest_loss("{batch: {max_ms: 50}}");

        least = ms < least ? ms : least;
    }
    ck_assert_uint_le(least, 50 + SLACK_MS);
    ck_assert_uint_gt(oldest_loss("exit"), 50 + SLACK_MS);
    ck_assert_uint_gt(oldest_loss("{batch: {max_ms: 60000}}"), 50 + SLACK_MS);
}
END_TEST

static void setup(void)
{
    notes = mmap(NULL, sizeof *notes, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shelf_init(&shelf);
    shelf_put(&shelf, "ok_inline");
    shelf_put(&shelf, "ok_async");
    shelf_put(&shelf, "counts");
}

static void teardown(void)
{
    shelf_finish(&shelf);
    munmap(notes, sizeof *notes);
}

static Suite *suite(void)
{
    Suite *s = suite_create("durability");
    TCase *tc = tcase_create("durability");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 300);
    tcase_add_test(tc, what_survives);
    tcase_add_test(tc, a_batch_is_synced_in_time);
    suite_add_tcase(s, tc);
    return s;
}

/* Many small files: in memory if there is a place for them. */
int main(void)
{
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0);
    return test_run(suite());
}
