/* test_cli_journal.c -- steps that a plugin performs by itself (journal.begin/1,
 * journal.end/1): done once, whatever ends the call in between.  What was done
 * stands in a file of the plugin's, which the host knows nothing of. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/child.h"
#include "lib/desk.h"
#include "lib/shelf.h"
#include "lib/test.h"

static struct shelf shelf;

static void sign_plugins(void)
{
    desk_sign();
    shelf_init(&shelf);
    shelf_put(&shelf, "does");
}

static void forget_plugins(void)
{
    shelf_finish(&shelf);
    desk_unsign();
}

static void begin(void)
{
    char text[3 * PATH_MAX];

    desk_begin();
    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "plugins: {path: [\"%s\"]}\ntrust: {dir: \"%s\"}\n"
             "store: {path: ./store}\n",
             shelf.plugins, shelf.trust);
    desk_put("mortise.yaml", text);
}

static void graph(const char *op, const char *steps, const char *more)
{
    char text[1024];

    snprintf(text, sizeof text,
             "start: a\nnodes:\n  a: {type: tool, tool: does/%s, args: "
             "{steps: [%s]}, next: END%s}\n",
             op, steps, more);
    desk_graph("g", text);
}

/* The node's output is that. */
static void gave(const char *want)
{
    desk_ok("$MORTISE show r --json | tr -d ' \\n'");
    ck_assert_msg(strstr(child.out, want) != NULL, "no %s in:\n%s", want,
                  child.out);
}

/* What was done, without the keys. */
static void done(const char *want)
{
    desk_ok("cut -d' ' -f1 done | tr '\\n' ' '");
    ck_assert_str_eq(child.out, want);
}

static void run_and_kill(void)
{
    pid_t pid;

    desk_admit("g.yaml", "a", "r", "{}"); /* or there is nothing to resume */
    pid = child_start("run", "$MORTISE resume r");
    for (int i = 0; i < 600; i++) {
        child_run("test -e done && grep -q last done");
        if (child.code == 0)
            break;
        usleep(10000);
    }
    child_kill(pid);
}

/* Each is done once, under a key of its own that is the same in every attempt;
 * the run's record has them. */
START_TEST(steps_are_done_once)
{
    graph("external", "one, two~",
          ", retry_policy: {max_attempts: 2, delay: "
          "1ms}, on_in_doubt: retry");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(1);
    done("one two two ");
    desk_ok("grep two done | sort -u | wc -l");
    ck_assert_int_eq(atoi(child.out), 1);
    desk_ok("grep -v 'no key' done | wc -l");
    ck_assert_int_eq(atoi(child.out), 3);
    desk_ok("$MORTISE history r --json");
    desk_out("\"method\":\"journal.begin/1\",\"step\":\"two\"");
}
END_TEST

/* What is over is not begun again after a crash; what was under way is in doubt,
 * and whoever looks at the world says what came of it. */
START_TEST(a_kill_leaves_doubt)
{
    graph("external", "one, last!, three", "");
    run_and_kill();
    child_run("$MORTISE resume r");
    desk_code(5);
    done("one last ");
    desk_ok("$MORTISE show r");
    desk_out("step     journal.begin/1");
    desk_out("args     {\"arguments\":{\"name\":\"last\"}}");
    desk_out(" --done '{\"result\": null}'");
    child_run("$MORTISE resolve r --done '{\"status\": 200}'");
    desk_code(3);
    child_run(
        "$MORTISE inbox --json | sed 's/.*\"id\":\"\\([0-9a-f]*\\)\".*/\\1/' "
        "> id; $MORTISE resolve r $(cat id) --done '{\"status\": 200}'");
    desk_code(3);
    desk_err(
        "the answer to journal.begin/1 is invalid: it must be {\"result\": the "
        "result of the step}");
    child_run("$MORTISE resolve r $(cat id) --done '{\"result\": \"seen\"}'");
    desk_code(0);
    done("one last three ");
    gave("[\"againone\",\"againseen\",\"three\"]");
}
END_TEST

/* What may be done twice is, and so is what only reads. */
static const struct {
    const char *op, *steps;
} again[] = {{"external", "one, last+!"}, {"read", "one, last!"}};

START_TEST(some_are_done_again)
{
    graph(again[_i].op, again[_i].steps, "");
    run_and_kill();
    desk_put("awake", ""); /* now it sleeps no more */
    child_run("$MORTISE resume r");
    desk_code(0);
    done("one last last ");
    gave("[\"againone\",\"last\"]");
}
END_TEST

/* What did not happen may be begun anew. */
START_TEST(undone_steps)
{
    graph("write", "one-, two", "");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(0);
    done("two ");
    gave("[\"one\",\"two\"]");
}
END_TEST

/* ... in the next attempt, in the same call, or once the process died: nobody
 * thinks that it may have happened, then or when the run is read again. */
START_TEST(undone_is_on_the_record)
{
    graph("external", "one-, two~",
          ", retry_policy: {max_attempts: 2, delay: 1ms}, on_in_doubt: retry");
    child_run("$MORTISE run g.yaml --id again");
    desk_code(1);
    done("two two ");
    desk_ok("$MORTISE show again");
    desk_ok("rm done");
    graph("external", "one-, one", "");
    desk_ok("$MORTISE run g.yaml --id twice");
    done("one ");
    desk_ok("$MORTISE show twice && rm done");
    graph("external", "other-, last!", "");
    run_and_kill();
    child_run("$MORTISE resume r");
    desk_code(5);
    desk_ok("$MORTISE inbox r --json");
    desk_out("\"name\":\"last\"");
    desk_not_out("\"name\":\"other\"");
}
END_TEST

/* Who says that all is well, and nothing of a step that it began, is not
 * believed. */
START_TEST(forgotten_ends_are_doubt)
{
    graph("external", "one$", "");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(5);
    desk_out("the call succeeded while one of its steps was still open");
    desk_ok("$MORTISE inbox r --json | sed "
            "'s/.*\"id\":\"\\([0-9a-f]*\\)\".*/\\1/' > id");
    child_run("$MORTISE resolve r $(cat id) --done '{\"result\": \"seen\"}'");
    desk_code(0);
    done("one ");
}
END_TEST

/* Inside a step only what reads is asked, and it is recorded nowhere. */
START_TEST(asks_inside)
{
    graph("write", "one?, two.", "");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(0);
    gave("\"insideanopenstep(journal.begin/1),aplugincannotaskforkv.get/1\"");
    gave("\"anotherstepofthiscallisopen;stepscannotnestoroverlap\"");
    gave("\"thiscallhasnoopenstep'other'\"");
    gave("\"{}\"");
    desk_ok("$MORTISE history r --json");
    desk_not_out("state.get/1");
    done("one two ");
}
END_TEST

/* A call that is to stop may still say what came of its step. */
START_TEST(ends_are_heard)
{
    pid_t pid;

    graph("external", "last%", "");
    pid = child_start("run", "$MORTISE run g.yaml --id r");
    child_await("done", "last");
    child_run("$MORTISE cancel r");
    child_wait(pid);
    desk_ok("$MORTISE show r --json");
    desk_out("\"status\": \"cancelled\"");
    desk_not_out("effect_open");
    desk_ok("$MORTISE history r --json");
    desk_out("{\"entry\":\"answer\",\"node\":\"a\"");
    desk_ok("$MORTISE show r");
    desk_not_out("may have happened");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_journal");
    TCase *tc = tcase_create("cli_journal");

    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, begin, desk_end);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, steps_are_done_once);
    tcase_add_test(tc, a_kill_leaves_doubt);
    tcase_add_loop_test(tc, some_are_done_again, 0,
                        sizeof again / sizeof again[0]);
    tcase_add_test(tc, undone_steps);
    tcase_add_test(tc, undone_is_on_the_record);
    tcase_add_test(tc, forgotten_ends_are_doubt);
    tcase_add_test(tc, asks_inside);
    tcase_add_test(tc, ends_are_heard);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
