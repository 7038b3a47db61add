/* test_cli_engine.c -- processes that stay, and processes that are stopped:
 * `mortise engine`, and what SIGINT and SIGTERM do to a run. */
#include <check.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/errand.h"

/* ---- graphs and runs ----------------------------------------------------- */

/* g.yaml: one node that asks our server for /x by this operation. */
static void put_graph(const char *op)
{
    char text[1024];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: g, version: 1.0.0}\n"
             "start: a\nnodes:\n"
             "  a: {type: tool, tool: http/%s, args: {url: \"%s\"}}\n",
             op, httpd_url(errand_httpd, "/x"));
    errand_put("g.yaml", text);
}

/* The first request of /x gets no answer for a minute, later ones do. */
static void stall_once(void)
{
    httpd_on(errand_httpd, "/x");
    httpd_wait(errand_httpd, 60000);
    httpd_times(errand_httpd, 1);
    httpd_answer(errand_httpd, "/x", "200 OK", "", "there");
}

static pid_t start_run(const char *id)
{
    pid_t pid =
        child_start("run", "%s run g.yaml --id %s", child_build("mortise"), id);

    child_await("run.out", "run ");
    httpd_await(errand_httpd, 1);
    return pid;
}

/* ---- core files --------------------------------------------------------- */

/* Does a process that is killed so leave a core file? */
static bool dumps(pid_t pid)
{
    int status;

    kill(pid, SIGABRT);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status));
    return WCOREDUMP(status) != 0;
}

static bool engine_dumps(const char *said)
{
    pid_t pid;

    /* The sanitizers' runtime would take core files away by itself. */
    setenv("ASAN_OPTIONS", "verify_asan_link_order=0:disable_coredump=0", 1);
    setenv("TSAN_OPTIONS", "disable_coredump=0", 1);
    setenv("MORTISE_CORE_DUMPS", said, 1);
    pid = child_start("engine", "%s engine", child_build("mortise"));
    child_await("engine.err", "holding the store");
    return dumps(pid);
}

/* An engine leaves no core file, which would have its secrets, unless a developer
 * wants one; of other programs here there are some, or not. */
START_TEST(a_core_file_is_for_developers)
{
    struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    pid_t other;

    getrlimit(RLIMIT_CORE, &all);
    all.rlim_cur = all.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_CORE, &all), 0);
    other = child_start("other", "sh -c 'echo up; exec sleep 60'");
    child_await("other.out", "up");
    ck_assert(!engine_dumps("0"));
    ck_assert_int_eq(engine_dumps("1"), dumps(other));
}
END_TEST

/* ---- signals ------------------------------------------------------------ */

/* The first signal pauses what reads, says how to go on, and that works. */
START_TEST(a_signal_pauses)
{
    pid_t pid;

    put_graph("get");
    stall_once();
    pid = start_run("night");
    kill(pid, _i == 0 ? SIGINT : SIGTERM);
    ck_assert_int_eq(child_wait(pid), 4);
    errand_says("run.out", "paused: operator");
    errand_says("run.out", "resume night");
    ck_assert_int_eq(errand_mortise("show night"), 0);
    ck_assert_ptr_nonnull(strstr(child.out, "paused"));
    ck_assert_int_eq(errand_mortise("resume night"), 0);
    ck_assert_uint_eq(httpd_requests(errand_httpd), 2);
}
END_TEST

/* An effect is awaited: it counts, and is not made again. */
START_TEST(an_effect_is_awaited)
{
    pid_t pid;

    put_graph("request");
    httpd_on(errand_httpd, "/x");
    httpd_hold(errand_httpd);
    httpd_say(errand_httpd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    pid = start_run("night");
    child_signal(pid, SIGTERM);
    httpd_release(errand_httpd);
    ck_assert_int_eq(child_wait(pid), 4);
    ck_assert_int_eq(errand_mortise("resume night"), 0);
    ck_assert_uint_eq(httpd_requests(errand_httpd), 1);
}
END_TEST

/* A second signal kills at once, and what it interrupted is in doubt. */
START_TEST(a_second_signal_kills)
{
    pid_t pid;

    put_graph("request");
    stall_once();
    pid = start_run("night");
    child_signal(pid, SIGINT);
    kill(pid, SIGINT);
    ck_assert_int_eq(child_wait(pid), 128 + SIGINT);
    ck_assert_int_eq(errand_mortise("resume night"), 5);
    ck_assert_uint_eq(httpd_requests(errand_httpd), 1);
}
END_TEST

/* ---- an engine ---------------------------------------------------------- */

/* `why` has a sentence of its own for a run that its engine left, and the
 * command that goes on with it. */
static void assert_why(const char *run)
{
    char command[64];

    snprintf(command, sizeof command, "why %s", run);
    ck_assert_int_eq(errand_mortise(command), 0);
    ck_assert_ptr_nonnull(
        strstr(child.out, "is paused because its engine was stopped at"));
    ck_assert_ptr_nonnull(strstr(child.out, "The next `mortise engine`"));
    snprintf(command, sizeof command, " resume %s\n", run);
    ck_assert_ptr_nonnull(strstr(child.out, command));
}

/* It pauses what is at work when it is stopped, ends with 0, and the next one
 * goes on. */
START_TEST(engines_take_over)
{
    pid_t engine = errand_engine("one"), run;

    put_graph("get");
    stall_once();
    run = start_run("night");
    errand_stop(engine);
    child_wait(run);
    errand_says("one.err", "run night: paused, shutdown");
    ck_assert_int_eq(errand_mortise("show night"), 0);
    ck_assert_ptr_nonnull(strstr(child.out, "shutdown"));
    assert_why("night");
    engine = errand_engine("two");
    child_await("two.err", "run night: completed");
    kill(engine, SIGINT);
    ck_assert_int_eq(child_wait(engine), 0);
}
END_TEST

/* Who comes while it awaits an effect begins nothing there that its end would
 * cut: the run goes on in a process of its own, once. */
START_TEST(nothing_begins_as_it_leaves)
{
    pid_t engine = errand_engine("one"), first, late;

    put_graph("request");
    httpd_on(errand_httpd, "/x");
    httpd_hold(errand_httpd);
    httpd_say(errand_httpd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    first = start_run("first");
    kill(engine, SIGTERM);
    child_await("one.err", "stopping");
    late =
        child_start("late", "%s run g.yaml --id late", child_build("mortise"));
    usleep(500000);
    ck_assert_uint_eq(httpd_requests(errand_httpd), 1);
    for (int i = 0; i < 2; i++) /* and what the late one is going to ask */
        httpd_release(errand_httpd);
    ck_assert_int_eq(child_wait(engine), 0);
    ck_assert_int_eq(child_wait(late), 0);
    child_wait(first);
    ck_assert_int_eq(errand_mortise("show late"), 0);
    ck_assert_int_eq(errand_mortise("resume first"), 0);
    ck_assert_uint_eq(httpd_requests(errand_httpd), 2);
}
END_TEST

/* What a crash interrupted goes on; what a person paused does not. */
START_TEST(engines_go_on_after_a_crash)
{
    pid_t engine = errand_engine("one"), run;

    put_graph("get");
    httpd_on(errand_httpd, "/x");
    httpd_wait(errand_httpd, 60000);
    httpd_times(errand_httpd, 2);
    httpd_answer(errand_httpd, "/x", "200 OK", "", "there");
    run = start_run("night");
    kill(run, SIGINT); /* the client's: the run is the engine's */
    ck_assert_int_eq(child_wait(run), 4);
    run =
        child_start("other", "%s run g.yaml --id day", child_build("mortise"));
    httpd_await(errand_httpd, 2);
    child_kill(run); /* or it would take the store over, and go on itself */
    child_kill(engine);
    engine = errand_engine("two");
    child_await("two.err", "run day: completed");
    ck_assert_ptr_null(strstr(errand_file("two.err"), "night"));
    ck_assert_int_eq(errand_mortise("show night"), 0);
    ck_assert_ptr_nonnull(strstr(child.out, "operator"));
    errand_stop(engine);
}
END_TEST

static const char engine_hint[] = "A deadline takes effect only while an "
                                  "engine runs for this store:\n  ";

/* A deadline passes while only the engine is there, of a run that it never had
 * in memory.  The command that left the run waiting has named the engine. */
START_TEST(deadlines_fire)
{
    pid_t engine;

    errand_put("g.yaml",
               "apiVersion: mortise/v1\nkind: Graph\n"
               "metadata: {name: g, version: 1.0.0}\n"
               "start: h\nnodes:\n"
               "  h: {type: human, prompt: well?, wait: 2s, on_timeout: "
               "reject}\n");
    ck_assert_int_eq(errand_mortise("run g.yaml --id night"), 4);
    ck_assert_ptr_nonnull(strstr(child.out, engine_hint));
    engine = errand_engine("one");
    child_await("one.err", "run night: completed");
    errand_stop(engine);
}
END_TEST

/* The request of the run, once it is another than `last`. */
static void await_request(char last[128])
{
    char id[128];

    do {
        ck_assert_int_eq(errand_mortise("inbox --ids night"), 0);
        snprintf(id, sizeof id, "%.*s", (int)strcspn(child.out, "\n"),
                 child.out);
    } while (id[0] == '\0' || strcmp(id, last) == 0);
    strcpy(last, id);
}

/* A command and its exit code; does it print the command of an engine? */
static void names_engine(const char *command, int code, bool named)
{
    int got = errand_mortise(command);

    ck_assert_msg(got == code, "%s: exit code %d, not %d", command, got, code);
    ck_assert_msg((strstr(child.out, engine_hint) != NULL) == named, "%s: %s",
                  command, child.out);
}

/* A run that waits for three people, one behind the other. */
static void ask_three(const char *wait)
{
    char graph[1024];

    snprintf(graph, sizeof graph,
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: g, version: 1.0.0}\n"
             "start: h\nnodes:\n"
             "  h: {type: human, prompt: well?%s, next: i}\n"
             "  i: {type: human, prompt: and?%s, next: j}\n"
             "  j: {type: human, prompt: sure?%s}\n",
             wait, wait, wait);
    errand_put("g.yaml", graph);
}

/* What each command that prints the requests of a run says of engines: those that
 * only look, and those that leave the run waiting for the next person.  If an
 * engine runs, a decision ends with `decided`: the engine continues the run. */
static void ask_and_look(bool named, int decided)
{
    static const char *const decisions[][2] = {
        {"approve", ""}, {"answer", " --value '{\"approved\": true}'"}};
    char line[256], id[128] = "";

    names_engine("run g.yaml --id night", 4, named);
    names_engine("resume night", 4, named);
    names_engine("show night", 0, named);
    names_engine("why night", 0, named);
    names_engine("inbox", 0, named);
    names_engine("inbox night", 0, named);
    for (size_t i = 0; i < sizeof decisions / sizeof decisions[0]; i++) {
        await_request(id);
        snprintf(line, sizeof line, "%s %s%s", decisions[i][0], id,
                 decisions[i][1]);
        names_engine(line, decided, named);
    }
    await_request(id);
    /* an engine would fire no deadline of a paused run */
    names_engine("pause night", 0, false);
    names_engine("show night", 0, false);
    names_engine("why night", 0, false);
    names_engine("resume night", 4, named);
    snprintf(line, sizeof line, "approve %s", id);
    names_engine(line, 0, false);
    names_engine("show night", 0, false);
}

/* Each command that shows a deadline names the engine that it needs. */
START_TEST(a_deadline_names_the_engine)
{
    ask_three(", wait: 1h, on_timeout: reject");
    ask_and_look(true, 4);
}
END_TEST

/* No engine is named if one runs already, or if there is no deadline. */
START_TEST(an_engine_that_runs_is_not_suggested)
{
    pid_t engine = 0;

    if (_i == 0)
        engine = errand_engine("one");
    ask_three(_i == 0 ? ", wait: 1h, on_timeout: reject" : "");
    ask_and_look(false, engine != 0 ? 0 : 4);
    if (engine != 0)
        errand_stop(engine);
}
END_TEST

/* The command that starts the engine, as the unit `name` has it, from "ExecStart="
 * to the end of the line; static. */
static const char *exec_start(const char *name)
{
    static char line[2 * PATH_MAX];
    char file[NAME_MAX + 64];
    const char *at;

    snprintf(file, sizeof file, "conf/systemd/user/%s", name);
    at = strstr(errand_file(file), "ExecStart=");
    ck_assert_ptr_nonnull(at);
    snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
    return line;
}

/* The name of the unit that the last command wrote; static. */
static const char *unit_name(void)
{
    static char name[NAME_MAX];
    const char *at = strstr(child.out, "enable --now ");

    ck_assert_msg(at != NULL, "%s%s", child.out, child.err);
    at += strlen("enable --now ");
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "\n"), at);
    return name;
}

/* --install-user-service writes a unit with absolute paths, quoted for systemd,
 * and the same call writes the same unit again.  It starts no engine. */
START_TEST(a_user_service_is_installed)
{
    char name[NAME_MAX], want[2 * PATH_MAX];

    snprintf(want, sizeof want, "%s/conf", errand_dir);
    setenv("XDG_CONFIG_HOME", want, 1);
    ck_assert_int_eq(errand_mortise("engine --install-user-service "
                                    "--store 'odd $\\\"%s'"),
                     0);
    snprintf(name, sizeof name, "%s", unit_name());
    snprintf(want, sizeof want, "/odd $$\\\\\\\"%%%%s\"");
    ck_assert_msg(strstr(exec_start(name), want) != NULL, "%s wants %s",
                  exec_start(name), want);
    ck_assert_ptr_nonnull(strstr(exec_start(name), "ExecStart=\"/"));
    ck_assert_ptr_nonnull(strstr(exec_start(name), " engine --deployment \"/"));
    ck_assert_int_eq(errand_mortise("engine --install-user-service "
                                    "--store 'odd $\\\"%s'"),
                     0);
    ck_assert_str_eq(unit_name(), name);
    ck_assert_int_eq(errand_mortise("engine --install-user-service --store "
                                    "\"$(printf 'a\\nExecStartPre=b')\""),
                     0);
    ck_assert_ptr_nonnull(
        strstr(exec_start(unit_name()), "/a\\x0aExecStartPre=b"));
    ck_assert_int_eq(errand_mortise("engine --install-user-service"), 0);
    ck_assert_str_ne(unit_name(), name);
    ck_assert_ptr_null(strstr(exec_start(unit_name()), "--store"));
}
END_TEST

/* One store, one engine: the second one says who is there. */
START_TEST(there_is_one)
{
    pid_t engine = errand_engine("one");
    char pid[32];

    snprintf(pid, sizeof pid, "process %d", (int)engine);
    ck_assert_int_eq(errand_mortise("engine"), 1);
    ck_assert_msg(strstr(child.err, pid) != NULL, "%s", child.err);
    errand_stop(engine);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("cli_engine");
    TCase *tc = tcase_create("engine");

    tcase_add_checked_fixture(tc, errand_begin, errand_end);
    tcase_set_timeout(tc, 90);
    tcase_add_test(tc, a_core_file_is_for_developers);
    tcase_add_loop_test(tc, a_signal_pauses, 0, 2);
    tcase_add_test(tc, an_effect_is_awaited);
    tcase_add_test(tc, a_second_signal_kills);
    tcase_add_test(tc, engines_take_over);
    tcase_add_test(tc, nothing_begins_as_it_leaves);
    tcase_add_test(tc, engines_go_on_after_a_crash);
    tcase_add_test(tc, deadlines_fire);
    tcase_add_test(tc, a_deadline_names_the_engine);
    tcase_add_loop_test(tc, an_engine_that_runs_is_not_suggested, 0, 2);
    tcase_add_test(tc, a_user_service_is_installed);
    tcase_add_test(tc, there_is_one);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
