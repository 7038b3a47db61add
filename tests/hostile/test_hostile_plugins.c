/* test_hostile_plugins.c -- plugins that take the engine down, or try to.
 *
 * What comes from a plugin is told from what comes from outside: the first is
 * counted, named and in the end left out; the second never is.  Whatever a
 * plugin does, what it called success is none, two processes never write one
 * store, and the runs of others go on. */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/desk.h"
#include "lib/matrix.h"

enum { N_PLUGINS = 3, N_SIGNED };

/* The executors, and a guardrail. */
static const char *const plugins[N_SIGNED] = {
    "deadly_blocking", "deadly_inline", "deadly_async", "deadly_guardrail"};

/* ---- the place ------------------------------------------------------------ */

static void sign_all(void)
{
    desk_sign();
    for (size_t i = 0; i < N_SIGNED; i++)
        desk_sign_ours(plugins[i]);
    desk_ok("rm -r trust.d && $MORTISE key trust k.pub --trust trust.d "
            "--plugins '*' --in-process");
}

/* What the plugin does in create(), "" for nothing.  Each is mended by a file
 * of the name `mended`, and notes its entries in `entered`. */
static void deploy(const char *create)
{
    char text[4096];
    size_t n;

    n = (size_t)snprintf(
        text, sizeof text,
        "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: tests}\n"
        "trust: {dir: %.1000s/trust.d}\nstore: {path: ./state}\n"
        "plugins:\n  path: [%.1000s/plugins]\n  config:\n",
        desk_plugins, desk_plugins);
    for (size_t i = 0; i < N_SIGNED; i++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "    %s: {file: %.300s/entered, mended: "
                              "%.300s/mended, create: '%s'}\n",
                              plugins[i], desk_dir, desk_dir, create);
    desk_put("mortise.yaml", text);
}

/* A sanitizer would end the process in its own way, and needs more room than
 * there is memory. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BOUNDED ""
#else
#define BOUNDED "ulimit -v 2000000; "
#endif

static void mute(const char *name)
{
    static const char all[] = "handle_segv=0:handle_sigbus=0:handle_sigill=0:"
                              "handle_sigfpe=0:handle_abort=0";
    const char *now = getenv(name);
    char value[1024];

    if (now != NULL && strstr(now, all) != NULL)
        return;
    snprintf(value, sizeof value, "%s%s%s", now != NULL ? now : "",
             now != NULL ? ":" : "", all);
    setenv(name, value, 1);
}

static void begin(void)
{
    mute("ASAN_OPTIONS");
    mute("TSAN_OPTIONS");
    mute("UBSAN_OPTIONS");
    desk_begin();
    deploy("");
}

/* A run is on disk by the time that its node `a` does it: what dies before its
 * admission is no run. */
static void graph(const char *name, const char *tool, const char *how)
{
    char text[512];

    snprintf(text, sizeof text,
             "start: z\nnodes:\n"
             "  z: {type: tool, tool: tried/act, next: a}\n"
             "  a: {type: tool, tool: %s, args: {how: %s}, next: END}\n",
             tool, how);
    desk_graph(name, text);
}

/* The same, where a guardrail judges what `a` is told, or what it says. */
static void guarded(const char *name, const char *side, const char *how)
{
    char text[512];

    snprintf(text, sizeof text,
             "start: z\nnodes:\n"
             "  z: {type: tool, tool: tried/act, next: a}\n"
             "  a: {type: tool, tool: tried/echo, args: {value: {how: %s}},\n"
             "      next: END, guardrail_policy: {%s: [deadly_guardrail]}}\n",
             how, side);
    desk_graph(name, text);
}

/* How many lines of PLUGIN's file note a death, over both its halves. */
static unsigned deaths(const char *plugin)
{
    char path[PATH_MAX], *text;
    unsigned n = 0;

    snprintf(path, sizeof path, "%.4000s/state/quarantine/%.50s", desk_dir,
             plugin);
    if (access(path, F_OK) != 0)
        return 0;
    text = test_read(path, NULL);
    for (const char *p = text; (p = strstr(p, " died ")) != NULL; p++)
        n++;
    free(text);
    return n;
}

/* Let every death be `ms` longer ago. */
static void age_deaths(const char *plugin, unsigned long long ms)
{
    char path[PATH_MAX], *text, *out;
    size_t size, n = 0;

    snprintf(path, sizeof path, "%.4000s/state/quarantine/%.50s", desk_dir,
             plugin);
    text = test_read(path, &size);
    out = malloc(2 * size + 1);
    for (char *p = text, *at; *p != '\0'; p = at) {
        unsigned long long then;

        at = strstr(p, " died ");
        if (at == NULL)
            at = p + strlen(p);
        else
            at += 6;
        memcpy(out + n, p, (size_t)(at - p));
        n += (size_t)(at - p);
        if (*at == '\0')
            break;
        then = strtoull(at, &at, 10);
        n += (size_t)sprintf(out + n, "%llu", then - ms);
    }
    test_write(path, out, n);
    free(out);
    free(text);
}

static void one_line(void)
{
    for (char *p = child.out; *p != '\0'; p++)
        if (*p == '\n')
            *p = ' ';
}

/* ---- deaths --------------------------------------------------------------- */

static const struct way {
    const char *how, *words; /* what is said of it */
    int code;                /* the process's; 0: by a signal, whichever */
} ways[] = {
    {"segv", "was killed by SIGSEGV", 128 + SIGSEGV},
    {"abort", "was killed by SIGABRT", 128 + SIGABRT},
    {"trap", "was killed by SIGILL", 128 + SIGILL},
    {"overflow", "was killed by SIGSEGV", 128 + SIGSEGV},
    {"exit", "ended the process (exit)", 1},
    {"_exit", "ended the process (exit)", 1},
    {"quick_exit", "ended the process (exit)", 1},
    {"leave", "ended", 1},
};
enum { N_WAYS = sizeof ways / sizeof ways[0] };

/* Only where it is on the engine's thread. */
static const struct way hang = {"hang", "blocked the engine's thread", 1};

/* A run of g.yaml that dies thrice is blocked from then on, and everybody who
 * asks is told by whom, where and of what; another run is none of its business,
 * and the run goes on once it is mended. */
static void blocks(const char *plugin, const struct way *w)
{
    desk_graph("other", "start: a\nnodes:\n  a: {type: tool, tool: tried/echo, "
                        "args: {value: 1}, next: END}\n");
    for (unsigned i = 0; i < 3; i++) {
        child_run(i == 0 ? "$MORTISE run g.yaml --id r" : "$MORTISE resume r");
        desk_code(w->code);
        desk_err(plugin);
        desk_err("1.0/a#1 of run r");
        ck_assert_uint_eq(deaths(plugin), i + 1);
    }
    child_run("$MORTISE resume r");
    desk_code(78);
    desk_err("E_BLOCKED");
    desk_err("3 times in node 1.0/a#1");
    desk_err(w->words);
    child_run("$MORTISE show r");
    desk_out("blocked");
    desk_ok("$MORTISE runs");
    desk_out("blocked");
    desk_ok("$MORTISE why r");
    one_line();
    desk_out(plugin);
    desk_out("node 1.0/a#1");
    desk_out(w->words);
    desk_ok("$MORTISE plugin list");
    desk_out("quarantined");
    desk_ok("$MORTISE run other.yaml --id o");
    ck_assert_uint_eq(deaths(plugin), 3);

    child_run("$MORTISE doctor");
    desk_out("is quarantined: it crashed the process 3 times");
    /* What is printed works, line for line. */
    desk_put("mended", "");
    desk_ok("$MORTISE why r | grep '^  ' >commands; cat commands");
    desk_out("plugin unquarantine");
    desk_out("resume");
    desk_ok("set -e; . ./commands");
    desk_ok("$MORTISE show r");
    desk_out("completed");
}

static void dies(const char *plugin, const char *tool, const struct way *w)
{
    desk_end();
    begin();
    graph("g", tool, w->how);
    blocks(plugin, w);
}

START_TEST(a_death_counts)
{
    char tool[64];
    size_t n = 0;

    for (size_t p = 0; p < N_PLUGINS; p++) {
        snprintf(tool, sizeof tool, "%s/die", plugins[p]);
        for (size_t i = 0; i < N_WAYS; i++)
            if (matrix_takes(n++, 8))
                dies(plugins[p], tool, &ways[i]);
    }
    for (size_t i = 0; i < N_WAYS; i++)
        if (matrix_takes(n++, 8))
            dies("deadly_async", "deadly_async/answer", &ways[i]);
    dies("deadly_inline", "deadly_inline/die", &hang);
    if (matrix_is_whole())
        dies("deadly_async", "deadly_async/answer", &hang);
}
END_TEST

/* The same in check(): what it judged, on either side, is the node's. */
START_TEST(a_death_of_a_guardrail_counts)
{
    static const char *const sides[] = {"input", "output"};
    size_t n = 0;

    for (size_t side = 0; side < 2; side++) {
        for (size_t i = 0; i <= N_WAYS; i++) {
            if (!matrix_takes(n++, 5))
                continue;
            desk_end();
            begin();
            guarded("g", sides[side], i < N_WAYS ? ways[i].how : hang.how);
            blocks("deadly_guardrail", i < N_WAYS ? &ways[i] : &hang);
        }
    }
}
END_TEST

/* Neither the id nor the start of a run that may not be on disk is printed (R3): no
 * command would find it.  A plugin that dies in a first node without an effect is faster. */
START_TEST(a_death_names_no_run_that_is_not_stored)
{
    desk_graph("g", "start: a\nnodes:\n  a: {type: tool, tool: "
                    "deadly_inline/die, args: {how: segv}, next: END}\n");
    child_run("$MORTISE run g.yaml -v");
    desk_code(128 + SIGSEGV);
    ck_assert_ptr_null(strstr(child.err, "started"));
    desk_err("was killed by SIGSEGV (node 1.0/a#1 of a new run, which "
             "may not be recorded: see 'mortise runs')");
    ck_assert_uint_eq(deaths("deadly_inline"), 1);
}
END_TEST

/* The same in create(): the execution that wanted the plugin is known. */
START_TEST(a_death_in_create_counts)
{
    static const struct way *const list[] = {&ways[0], &ways[4], &ways[5],
                                             &ways[6], &hang};

    for (size_t i = 0; i < 5; i++) {
        if (!matrix_takes(i, 3))
            continue;
        desk_end();
        begin();
        deploy(list[i]->how);
        graph("g", "deadly_inline/die", "nothing");
        for (unsigned k = 0; k < 3; k++) {
            child_run(k == 0 ? "$MORTISE run g.yaml --id r"
                             : "$MORTISE resume r");
            desk_code(list[i]->code);
            desk_err("while it started (node 1.0/a#1 of run r)");
        }
        child_run("$MORTISE resume r");
        desk_code(78);
        desk_err(list[i]->words);
        child_run("$MORTISE run g.yaml --id s");
        ck_assert_int_ne(child.code, 0);
        desk_err("is quarantined: it crashed the process 3 times");
        ck_assert_uint_eq(deaths("deadly_inline"), 3);
    }
}
END_TEST

/* A thread that the plugin made itself: nobody called anything there, and yet
 * it is known whose it is. */
START_TEST(a_death_in_its_own_thread_counts)
{
    graph("g", "deadly_async/pend", "thread");
    for (unsigned i = 0; i < 3; i++) {
        child_run("$MORTISE run g.yaml --id r%u", i);
        desk_code(128 + SIGSEGV);
        desk_err(
            "plugin 'deadly_async' was killed by SIGSEGV in its own thread");
        ck_assert_uint_eq(deaths("deadly_async"), i + 1);
    }
    child_run("$MORTISE run g.yaml --id r3");
    ck_assert_int_ne(child.code, 0);
    desk_err("is quarantined");
}
END_TEST

/* ---- kills ---------------------------------------------------------------- */

/* Whoever kills the process while a plugin is at work, or being started, has
 * killed it himself. */
START_TEST(a_kill_from_outside_never_counts)
{
    static const int signals[] = {SIGKILL, SIGABRT, SIGSEGV};
    bool in_create = _i == 1;

    deploy(in_create ? "hang" : "");
    graph("g", "deadly_blocking/die", in_create ? "nothing" : "hang");
    for (unsigned i = 0; i < 4; i++) {
        pid_t pid = child_start("run", i == 0 ? "$MORTISE run g.yaml --id r"
                                              : "$MORTISE resume r");
        int signal = signals[in_create ? 0 : i % 3];

        if (in_create) {
            if (i == 0) /* or there is nothing to resume */
                child_await("run.out", "run r");
            usleep(400000);
        } else
            child_await("entered", "entered\n");
        kill(pid, signal);
        ck_assert_int_eq(child_wait(pid), 128 + signal);
        ck_assert_uint_eq(deaths("deadly_blocking"), 0);
        desk_ok("rm -f entered");
    }
    /* Nor does one that kills itself so: nobody could tell. */
    graph("k", "deadly_blocking/die", "killed");
    deploy("");
    child_run("$MORTISE run k.yaml --id k");
    desk_code(128 + SIGKILL);
    ck_assert_uint_eq(deaths("deadly_blocking"), 0);
    desk_put("mended", "");
    desk_ok("$MORTISE resume r");
    desk_out("completed");
}
END_TEST

/* ---- boots ---------------------------------------------------------------- */

/* The engine goes on with what it finds; false: it died of that. */
static bool stays(pid_t pid)
{
    for (;;) {
        if (waitpid(pid, NULL, WNOHANG) == pid)
            return false;
        child_run("$MORTISE runs");
        if (child.code == 0 && strstr(child.out, "nap") != NULL &&
            strstr(child.out, "running") == NULL)
            return true;
        usleep(50000);
    }
}

/* An engine that finds poisoned runs in its store: others are gone on with
 * first, and finished, and it is up for good when each of the poisoned ones
 * died three times. */
START_TEST(boots_with_poisoned_runs)
{
    unsigned boots;
    pid_t pid;

    graph("p", "deadly_inline/die", "segv");
    graph("q", "deadly_blocking/die", "abort");
    desk_graph("nap",
               "start: a\nnodes:\n  a: {type: tool, tool: tried/nap, args: "
               "{ms: 400}, next: b}\n  b: {type: tool, tool: tried/echo, args: "
               "{value: 1}, next: END}\n");
    for (unsigned i = 0; i < 3; i++) {
        char name[32], said[32];

        snprintf(name, sizeof name, "nap%u", i);
        snprintf(said, sizeof said, "run n%u", i);
        pid = child_start(name, "$MORTISE run nap.yaml --id n%u 2>&1", i);
        strcat(name, ".out");
        child_await(name, said); /* so it is on disk */
        child_kill(pid);
    }
    child_run("$MORTISE run p.yaml --id p");
    desk_code(128 + SIGSEGV);
    child_run("$MORTISE run q.yaml --id q");
    desk_code(128 + SIGABRT);
    for (boots = 0; boots < 6; boots++) {
        char name[32];

        snprintf(name, sizeof name, "boot%u", boots);
        pid = child_start(name, "$MORTISE engine");
        strcat(name, ".err");
        child_await(name, "holding the store");
        if (!stays(pid))
            continue;
        kill(pid, SIGTERM);
        if (child_wait(pid) == 0)
            break; /* else it was just dying as we looked */
    }
    ck_assert_msg(boots < 6, "it died at every boot");
    ck_assert_uint_eq(deaths("deadly_inline"), 3);
    ck_assert_uint_eq(deaths("deadly_blocking"), 3);
    ck_assert_uint_le(boots, 4);
    for (unsigned i = 0; i < 3; i++) {
        desk_ok("$MORTISE show n%u", i);
        desk_out("completed");
    }
    child_run("$MORTISE show p");
    desk_out("blocked");
    child_run("$MORTISE show q");
    desk_out("blocked");
}
END_TEST

/* A store that was renamed under its engine has the notes, too. */
START_TEST(a_death_is_noted_in_a_renamed_store)
{
    pid_t pid;

    graph("g", "deadly_inline/die", "segv");
    pid = child_start("engine", "$MORTISE engine");
    child_await("engine.err", "holding the store");
    desk_ok("mv state moved");
    child_run("$MORTISE run g.yaml --id r --store moved");
    ck_assert_int_eq(child_wait(pid), 128 + SIGSEGV);
    desk_code(128 + SIGSEGV); /* it took the store, and went on */
    desk_ok("test ! -e state && mv moved state");
    ck_assert_uint_eq(deaths("deadly_inline"), 2);
    child_run("$MORTISE resume r");
    desk_code(128 + SIGSEGV);
    child_run("$MORTISE resume r");
    desk_code(78);
    desk_err("3 times in node 1.0/a#1");
}
END_TEST

/* ---- back-off -------------------------------------------------------------- */

/* A quarantine ends by itself, and each death behind it makes the next one
 * longer; the execution that did it stays blocked, another one may try. */
START_TEST(quarantine_backs_off)
{
    static const unsigned long long minutes[] = {1, 10, 60, 60};

    graph("g", "deadly_inline/die", "segv");
    for (unsigned i = 0; i < 3; i++)
        child_run("$MORTISE run g.yaml --id r%u", i);
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_uint_eq(deaths("deadly_inline"), i + 3);
        age_deaths("deadly_inline", (minutes[i] * 60 - 20) * 1000);
        child_run("$MORTISE run g.yaml --id s%u", i);
        ck_assert_int_ne(child.code, 128 + SIGSEGV);
        desk_err("and is not started until 2");
        age_deaths("deadly_inline", 20000);
        child_run("$MORTISE run g.yaml --id t%u", i);
        desk_code(128 + SIGSEGV);
    }
    /* A day without one, and the row begins anew. */
    age_deaths("deadly_inline", 24ull * 3600 * 1000);
    child_run("$MORTISE run g.yaml --id u");
    desk_code(128 + SIGSEGV);
    child_run("$MORTISE run g.yaml --id v");
    desk_code(128 + SIGSEGV);
    /* Deaths from the future are none. */
    age_deaths("deadly_inline", (unsigned long long)-3600000);
    child_run("$MORTISE run g.yaml --id w");
    desk_code(128 + SIGSEGV);
}
END_TEST

/* An engine that stays goes on with the runs of a plugin whose time is over,
 * and `why` says until when they wait. */
START_TEST(an_engine_goes_on_behind_a_quarantine)
{
    pid_t pid;

    graph("g", "deadly_inline/die", "segv");
    for (unsigned i = 0; i < 3; i++)
        child_run("$MORTISE run g.yaml --id r%u", i);
    desk_put("mended", "");
    desk_ok("$MORTISE why r0");
    one_line();
    desk_out("which is quarantined (");
    desk_out("is not started until 2");
    desk_out("plugin unquarantine deadly_inline");
    age_deaths("deadly_inline", 56000);
    pid = child_start("engine", "$MORTISE engine");
    child_await("engine.err", "run r2 was not continued");
    child_await("engine.err", "run r0: completed");
    child_await("engine.err", "run r1: completed");
    child_await("engine.err", "run r2: completed");
    kill(pid, SIGTERM);
    ck_assert_int_eq(child_wait(pid), 0);
}
END_TEST

/* What a run of such a plugin waits for is printed with what lets it try again,
 * and both work, line for line. */
START_TEST(a_request_behind_a_quarantine)
{
    static const char *const by[] = {"show h", "inbox h", "inbox"};

    desk_put("mended", "");
    desk_graph("h", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: deadly_inline/die, args: {how: "
                    "segv}, next: b}\n"
                    "  b: {type: human, prompt: Well?, next: END}\n");
    child_run("$MORTISE run h.yaml --id h");
    desk_code(4);
    desk_ok("rm mended");
    graph("g", "deadly_inline/die", "segv");
    for (unsigned i = 0; i < 3; i++)
        child_run("$MORTISE run g.yaml --id r%u", i);
    desk_put("mended", "");
    desk_ok("$MORTISE %s | grep '^  /' | grep -v ' reject ' >commands; "
            "cat commands",
            by[_i]);
    desk_out("plugin unquarantine deadly_inline\n");
    desk_ok("set -e; . ./commands");
    desk_out("run h completed");
}
END_TEST

/* Time for which the process was stopped does not count as a hang. */
START_TEST(a_stopped_engine_does_not_hang)
{
    pid_t pid;

    graph("g", "deadly_inline/die", "slow");
    pid = child_start("run", "$MORTISE run g.yaml --id r");
    child_await("entered", "entered");
    kill(pid, SIGSTOP);
    sleep(3);
    kill(pid, SIGCONT);
    ck_assert_int_eq(child_wait(pid), 0);
    ck_assert_uint_eq(deaths("deadly_inline"), 0);
}
END_TEST

/* Any change of the plugin lifts the quarantine. */
START_TEST(a_change_lifts_it)
{
    char from[PATH_MAX];

    desk_own_home(); /* its user will have seen a later release */
    graph("g", "deadly_inline/die", "segv");
    for (unsigned i = 0; i < 3; i++)
        child_run("$MORTISE %s r", i == 0 ? "run g.yaml --id" : "resume");
    child_run("$MORTISE resume r");
    desk_code(78);
    ck_assert_ptr_nonnull(
        realpath("tests/plugins/deadly_inline.plugin.yaml", from));
    desk_ok("mkdir next && cp -r %s/plugins/tried* next && "
            "sed 's/seq: 1/seq: 2/' %s >d.plugin.yaml && $MORTISE plugin sign "
            "d.plugin.yaml %s --key %s/k.key --out next",
            desk_plugins, from, child_build("tests/plugins/deadly_inline.so"),
            desk_plugins);
    desk_ok("sed -i 's|path: \\[.*|path: [./next]|' mortise.yaml && sed -i "
            "'/deadly_[ab]/d' mortise.yaml && cat mortise.yaml");
    desk_put("mended", "");
    desk_ok("$MORTISE resume r --accept-plugins");
    desk_out("completed");
}
END_TEST

/* ---- effects --------------------------------------------------------------- */

/* Whoever died in an effect is in doubt, as after any crash. */
START_TEST(an_effect_is_in_doubt)
{
    graph("g", "deadly_inline/act", "segv");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(128 + SIGSEGV);
    child_run("$MORTISE resume r");
    desk_code(5);
    ck_assert_uint_eq(desk_entrances(), 1);
    ck_assert_uint_eq(deaths("deadly_inline"), 1);
}
END_TEST

/* ---- what is not deadly ----------------------------------------------------- */

/* The child of a fork that comes back is ended: the parent's run goes on, and
 * the store is one process's. */
START_TEST(a_fork_comes_back_once)
{
    char tool[64];

    for (size_t p = 0; p < N_PLUGINS; p++) {
        char again[64];

        snprintf(tool, sizeof tool, "%s/die", plugins[p]);
        graph("g", tool, "fork");
        child_run("$MORTISE run g.yaml --id %s", plugins[p]);
        desk_code(0);
        desk_out("completed");
        desk_err("called fork(), and the child returned");
        ck_assert_uint_eq(deaths(plugins[p]), 0);
        snprintf(again, sizeof again, "x%zu", p);
        desk_ok("$MORTISE run g.yaml --id %s", again);
        desk_ok("$MORTISE show %s", plugins[p]);
        desk_out("completed");
    }
    deploy("fork");
    graph("g", "deadly_inline/die", "nothing");
    child_run("$MORTISE run g.yaml --id c");
    desk_code(0);
    desk_err("called fork(), and the child returned");
    desk_ok("$MORTISE runs");
}
END_TEST

/* A child of a plugin's that lives on when the engine was killed, with what it
 * inherited.  What fork() made has let go of the store, and whoever comes next
 * takes it; what a bare clone made keeps it, and is named until it ends. */
START_TEST(a_child_that_outlives_the_engine) /* loop: how it was made */
{
    char text[512], words[64];
    long heir;
    pid_t pid;

    snprintf(
        text, sizeof text,
        "start: a\nnodes:\n"
        "  a: {type: tool, tool: deadly_inline/die, args: {how: %s}, "
        "next: c}\n"
        "  c: {type: tool, tool: tried/nap, args: {ms: 3000}, next: END}\n",
        _i == 0 ? "heir" : "clone");
    desk_graph("g", text);
    pid = child_start("run", "$MORTISE run g.yaml --id r");

    child_await("mended.heir", "\n");
    desk_ok("cat mended.heir");
    heir = strtol(child.out, NULL, 10);
    child_await("run.out", "node_end a"); /* it is stored */
    child_kill(pid);
    if (_i == 1) {
        snprintf(
            words, sizeof words,
            "held by process %ld, which a former owner of the store started",
            heir);
        child_run("$MORTISE resume r");
        ck_assert_int_ne(child.code, 0);
        desk_err(words);
        child_run("$MORTISE doctor");
        desk_out(words);
        ck_assert_int_eq(kill((pid_t)heir, SIGKILL), 0);
    }
    desk_ok("$MORTISE resume r");
    desk_out("completed");
    desk_ok("$MORTISE runs");
    if (_i == 0)
        ck_assert_int_eq(kill((pid_t)heir, SIGKILL), 0);
}
END_TEST

/* What a plugin does to the thread that it was lent ends with the call: an engine
 * whose signals it blocked stops when it is told to, and one that it made round
 * up counts as before. */
START_TEST(a_thread_is_given_back_as_it_was)
{
    char text[1024];

    for (size_t p = 0; p < N_PLUGINS; p++) {
        pid_t pid;

        snprintf(
            text, sizeof text,
            "start: a\nnodes:\n"
            "  a: {type: tool, tool: %s/die, args: {how: masks}, next: b}\n"
            "  b: {type: tool, tool: tried/echo, args: {value: "
            "\"${1.0 / 3.0}\"}, outputs: {scratch.third: output}, next: c}\n"
            "  c: {type: tool, tool: tried/nap, args: {ms: 60000}, next: "
            "END}\n",
            plugins[p]);
        desk_graph("g", text);
        pid = child_start("run", "$MORTISE run g.yaml --id %s", plugins[p]);
        child_await("run.out", "node_start c");
        child_signal(pid, SIGTERM);
        ck_assert_int_lt(child_wait(pid), 128); /* it paused the run */
        desk_ok("$MORTISE show %s --json", plugins[p]);
        desk_out("\"third\": 0.3333333333333333\n");
        desk_ok("rm entered");
    }
}
END_TEST

/* ---- bounds ----------------------------------------------------------------- */

/* More asks than one call may have unanswered, or larger ones, are refused in
 * words that count; others are served meanwhile. */
START_TEST(asks_are_bounded)
{
    desk_graph("many", "start: a\nnodes:\n  a: {type: tool, tool: "
                       "deadly_async/flood, args: {n: 200000}, next: END}\n");
    child_run(BOUNDED "$MORTISE run many.yaml --id m");
    desk_code(1);
    desk_err("4096 asks with");
    desk_err("; wait for answers first");
    desk_graph("large",
               "start: a\nnodes:\n  a: {type: tool, tool: deadly_async/flood, "
               "args: {n: 12, bytes: 15000000}, next: END}\n");
    child_run(BOUNDED "$MORTISE run large.yaml --id l");
    desk_code(1);
    desk_err("4 asks with 600");
    desk_ok("$MORTISE runs");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("hostile plugins");
    TCase *tc = tcase_create("all");

    tcase_add_unchecked_fixture(tc, sign_all, desk_unsign);
    tcase_add_checked_fixture(tc, begin, desk_end);
    tcase_set_timeout(tc, matrix_is_whole() ? 600 : 120);
    tcase_add_test(tc, a_death_counts);
    tcase_add_test(tc, a_death_of_a_guardrail_counts);
    tcase_add_test(tc, a_death_names_no_run_that_is_not_stored);
    tcase_add_test(tc, a_death_in_create_counts);
    tcase_add_test(tc, a_death_in_its_own_thread_counts);
    tcase_add_loop_test(tc, a_kill_from_outside_never_counts, 0, 2);
    tcase_add_test(tc, boots_with_poisoned_runs);
    tcase_add_test(tc, a_death_is_noted_in_a_renamed_store);
    tcase_add_test(tc, quarantine_backs_off);
    tcase_add_test(tc, an_engine_goes_on_behind_a_quarantine);
    if (matrix_is_whole())
        tcase_add_loop_test(tc, a_request_behind_a_quarantine, 0, 3);
    tcase_add_test(tc, a_stopped_engine_does_not_hang);
    tcase_add_test(tc, a_change_lifts_it);
    tcase_add_test(tc, an_effect_is_in_doubt);
    tcase_add_test(tc, a_fork_comes_back_once);
    tcase_add_loop_test(tc, a_child_that_outlives_the_engine, 0, 2);
    tcase_add_test(tc, a_thread_is_given_back_as_it_was);
    tcase_add_test(tc, asks_are_bounded);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
