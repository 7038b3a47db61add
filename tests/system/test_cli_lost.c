/* test_cli_lost.c -- commands whose engine goes away before it answers, when
 * what they asked for is on disk.
 *
 * Nobody told them so: they look, say what is there, and nothing is done twice.
 * tests/preload/lastword.c has the engine die, or stop, in front of the answer.
 */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/desk.h"

static pid_t engine;

static void setup(void)
{
    desk_begin();
    desk_graph("does", "start: a\nnodes:\n"
                       "  a: {type: tool, tool: tried/echo, "
                       "args: {value: done}, next: END}\n");
    desk_graph("asks", "start: h\n"
                       "state: {reducers: {scratch.list: concat}}\n"
                       "nodes:\n"
                       "  h: {type: human, prompt: Well?, next: END}\n");
    desk_graph("wants", "start: h\nnodes:\n"
                        "  h: {type: human, prompt: How much?, next: END,\n"
                        "      schema: {type: integer}}\n");
    desk_graph("spends", "hitl_mode: approve_tools\n"
                         "budget: {tool_calls: 9}\n"
                         "start: a\nnodes:\n"
                         "  a: {type: tool, tool: tried/echo, "
                         "args: {value: 1}, next: END}\n");
    engine = 0;
}

static void teardown(void)
{
    if (engine != 0)
        child_kill(engine);
    desk_end();
}

/* An engine that never says this. */
static void engine_until(const char *word, const char *more)
{
    engine = child_start("engine",
                         "env %s LASTWORD='%s' LD_PRELOAD=%s $MORTISE engine",
                         more, word, child_build("tests/preload/lastword.so"));
    child_await("engine.err", "holding the store");
}

static void assert_engine_died(void)
{
    int status = 0;

    for (int i = 0; i < 6000 && waitpid(engine, &status, WNOHANG) == 0; i++)
        usleep(10000);
    ck_assert(WIFSIGNALED(status));
    engine = 0;
}

/* How often do these words stand in what the last line printed? */
static unsigned times(const char *words)
{
    unsigned n = 0;

    for (const char *p = child.out; (p = strstr(p, words)) != NULL; p++)
        n++;
    return n;
}

/* ---- what begins -------------------------------------------------------- */

/* A start: the run is there once, and goes on with who asked for it. */
START_TEST(a_start)
{
    engine_until("\"type\":\"started\"", "");
    desk_ok("$MORTISE run does.yaml --id r --input '{\"x\": 0.1}'");
    desk_out("run r completed");
    ck_assert_uint_eq(times("run_start"), 1);
    assert_engine_died();
    desk_ok("$MORTISE events r --json");
    ck_assert_uint_eq(times("\"run_start\""), 1);
    ck_assert_uint_eq(times("\"node_end\""), 1);
    desk_ok("$MORTISE runs --json");
    ck_assert_uint_eq(times("\"run\":\"r\""), 1);
}
END_TEST

/* One whose id was somebody else's before is refused however it is asked for:
 * the answer that was lost was a refusal. */
START_TEST(a_start_that_was_refused)
{
    desk_ok("$MORTISE run does.yaml --id r --input '{\"x\": 1}'");
    engine_until("E_EXISTS", "");
    child_run("$MORTISE run does.yaml --id r --input '{\"x\": 2}'");
    desk_code(3);
    desk_err("a run 'r' already exists, with another input");
    ck_assert_uint_eq(times("run r"), 0);
    assert_engine_died();
}
END_TEST

/* Nor is one that somebody else started just so taken for one's own. */
START_TEST(a_start_of_somebody_else)
{
    desk_ok("$MORTISE run does.yaml --id r --input '{\"x\": 1}'");
    engine_until("E_EXISTS", "");
    child_run("$MORTISE run does.yaml --id r --input '{\"x\": 1}'");
    desk_code(3);
    desk_err("a run 'r' already exists; another user started it");
    assert_engine_died();
}
END_TEST

/* ---- what is decided ---------------------------------------------------- */

/* What is said of a run that waits for somebody, the answer that is never
 * given, the event that is to be in the record once, and what the run says
 * then. */
static const struct {
    const char *line, *answer, *event, *then;
    int code;
} said[] = {
    {"approve asks $($MORTISE inbox asks --ids | cut -d' ' -f2)",
     "\"status\":\"completed\"", "\"decision\":\"answered\"", "\"completed\"",
     0},
    {"reject asks $($MORTISE inbox asks --ids | cut -d' ' -f2)",
     "\"status\":\"completed\"", "\"decision\":\"answered\"",
     "\"approved\": false", 0},
    {"cancel asks --reason enough", "\"status\":\"cancelled\"",
     "\"command\":\"cancel\"", "\"cancelled\"", 0},
    {"pause asks", "\"status\":\"paused\"", "\"command\":\"pause\"",
     "\"paused\"", 0},
    {"resume asks --no-continue --update '{\"scratch\": {\"list\": [7]}}' "
     "--merge",
     "\"status\":\"paused\"", "\"command\":\"update\"", "\"list\": [ 7 ]", 0},
    {"resume asks --update '{\"scratch\": {\"list\": [7]}}' --merge",
     "\"type\":\"recorded\"", "\"command\":\"update\"", "\"list\": [ 7 ]", 4},
};
enum { N_SAID = sizeof said / sizeof said[0] };

/* Each is recorded, once, and said to be: the command finds it there. */
START_TEST(a_command)
{
    desk_ok("$MORTISE run asks.yaml --id asks; test $? = 4");
    engine_until(said[_i].answer, "");
    child_run("$MORTISE %s", said[_i].line);
    desk_code(said[_i].code);
    assert_engine_died();
    desk_ok("$MORTISE events asks --json");
    ck_assert_msg(times(said[_i].event) == 1, "%s", child.out);
    desk_ok("$MORTISE show asks --json | tr -d '\\n' | sed 's/  */ /g'");
    desk_out(said[_i].then);
}
END_TEST

/* ---- two at once -------------------------------------------------------- */

/* An engine that dies as it obeys the next command once there is a file `now`,
 * and in front of this word; with `more` in its environment. */
static void engine_that_dies(const char *word)
{
    char preload[4096];

    snprintf(preload, sizeof preload, "%s",
             child_build("tests/preload/lastword.so"));
    engine = child_start(
        "engine",
        "env LASTWORD='%s' POWERCUT_STATE=books POWERCUT_ROOTS=%s/state "
        "POWERCUT_KILL=1 POWERCUT_KILL_ONCE=now LD_PRELOAD='%s %s' "
        "$MORTISE engine",
        word, desk_dir, child_build("tests/powercut.so"), preload);
    child_await("engine.err", "holding the store");
}

/* Two commands of the same user: both have looked at the run, the first one is
 * recorded and answered, and then the engine dies with the second one heard,
 * neither recorded nor answered.  Leaves the second one's code, and what it printed. */
static void two_at_once(const char *first, const char *second)
{
    pid_t late;
    int status, code;

    late = child_start("late",
                       "env LASTWORD='\"do\":\"command\"' LASTWORD_STOPS=1 "
                       "LD_PRELOAD=%s $MORTISE %s",
                       child_build("tests/preload/lastword.so"), second);
    ck_assert_int_eq(waitpid(late, &status, WUNTRACED), late);
    ck_assert(WIFSTOPPED(status));
    desk_ok("$MORTISE %s", first);
    desk_put("now", "");
    kill(late, SIGCONT);
    assert_engine_died();
    code = child_wait(late);
    child_run("cat late.out; cat late.err >&2");
    child.code = code;
}

/* What another command of the same user did meanwhile is not taken for it:
 * the engine dies with the cancellation unheard, behind a pause. */
START_TEST(another_command)
{
    desk_ok("$MORTISE run asks.yaml --id asks; test $? = 4");
    engine_that_dies("no word");
    two_at_once("pause asks", "cancel asks");
    desk_code(0);
    desk_ok("$MORTISE events asks --json");
    ck_assert_uint_eq(times("\"command\":\"pause\""), 1);
    ck_assert_uint_eq(times("\"command\":\"cancel\""), 1);
}
END_TEST

#define ITS_ID  "$(cat id)"
#define SETTLED "is already settled: approved by"

/* Commands of one kind, or about one request.  The second one is recorded, too,
 * or refused; `event` stands in the record so often then. */
static const struct {
    const char *graph, *first, *second;
    int code;
    const char *says, *event;
    unsigned times;
} pairs[] = {
    {"asks", "resume r --no-continue --update '{\"scratch\": {\"v\": 1}}'",
     "resume r --no-continue --update '{\"scratch\": {\"v\": 2}}'", 0,
     "recorded: run r", "\"command\":\"update\"", 2},
    {"asks", "resume r --no-continue --update '{\"scratch\": {\"v\": 1}}'",
     "resume r --no-continue --goto h --update '{\"scratch\": {\"v\": 1}}'", 0,
     "recorded: run r", "\"command\":\"goto\"", 1},
    {"asks", "resume r --no-continue --goto h",
     "resume r --no-continue --goto h --update '{\"scratch\": {\"v\": 1}}'", 0,
     "recorded: run r", "\"command\":\"update\"", 1},
    {"asks", "approve r " ITS_ID " --no-continue --reason A",
     "approve r " ITS_ID " --no-continue --reason B", 3, SETTLED,
     "\"decision\":\"answered\"", 1},
    {"wants", "approve r " ITS_ID " --no-continue --answer 1",
     "approve r " ITS_ID " --no-continue --answer 1000000", 3, SETTLED,
     "\"decision\":\"answered\"", 1},
    {"spends", "approve r " ITS_ID " --no-continue",
     "approve r " ITS_ID " --no-continue --args '{\"value\": 2}'", 3, SETTLED,
     "\"decision\":\"approved\"", 1},
    {"spends", "raise-budget r tool_calls=+5",
     "raise-budget r tool_calls=+1000", 0, "recorded: run r",
     "\"command\":\"raise_budget\"", 2},
};
enum { N_PAIRS = sizeof pairs / sizeof pairs[0] };

static void run_of_pair(int i)
{
    desk_ok("$MORTISE run %s.yaml --id r; test $? = 4", pairs[i].graph);
    if (strcmp(pairs[i].graph, "spends") == 0)
        desk_approve_plan("r");
    desk_ok("$MORTISE inbox r --ids | cut -d' ' -f2 >id");
}

/* Nobody takes what somebody else said for their own. */
START_TEST(alike)
{
    run_of_pair(_i);
    engine_that_dies("already settled");
    two_at_once(pairs[_i].first, pairs[_i].second);
    desk_code(pairs[_i].code);
    if (pairs[_i].code == 0)
        desk_out(pairs[_i].says);
    else
        desk_err(pairs[_i].says);
    desk_ok("$MORTISE events r --json");
    ck_assert_msg(times(pairs[_i].event) == pairs[_i].times, "%s", child.out);
}
END_TEST

/* An engine that stops in front of the answer: nobody knows, and that is what
 * the command says. */
START_TEST(a_stopped_engine)
{
    desk_ok("$MORTISE run asks.yaml --id asks; test $? = 4");
    engine_until("\"status\":\"cancelled\"", "LASTWORD_STOPS=1");
    child_run("$MORTISE cancel asks");
    desk_code(1);
    desk_err("it is unknown whether the command for run 'asks' was recorded");
    desk_err("has not answered for 30 s");
    child_kill(engine);
    engine = 0;
    desk_ok("$MORTISE events asks --json");
    ck_assert_uint_eq(times("\"command\":\"cancel\""), 1);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_lost");
    TCase *tc = tcase_create("lost");

    tcase_set_timeout(tc, 120);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_start);
    tcase_add_test(tc, a_start_that_was_refused);
    tcase_add_test(tc, a_start_of_somebody_else);
    tcase_add_loop_test(tc, a_command, 0, N_SAID);
    tcase_add_test(tc, another_command);
    tcase_add_loop_test(tc, alike, 0, N_PAIRS);
    tcase_add_test(tc, a_stopped_engine);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
