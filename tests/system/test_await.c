/* test_await.c -- an executor that waits for a person or for a time, through
 * the whole of mortise: processes come and go, and nothing is asked twice. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/desk.h"

static void sign(void)
{
    desk_sign();
    desk_sign_ours("awaits");
    desk_ok("$MORTISE key trust k.pub --trust trust.d --name awaits "
            "--plugins awaits --in-process");
}

static void graph(const char *node)
{
    char body[1024];

    snprintf(
        body, sizeof body,
        "start: a\nnodes:\n  a: {type: tool, tool: awaits/%s, next: END}\n",
        node);
    desk_graph("g", body);
}

/* A question from inside a node waits in the inbox, over the end of the process
 * that asked; its answer is what the executor goes on with. */
START_TEST(a_person_answers_an_executor)
{
    char id[33] = "", *p;

    graph("ask, args: {prompt: How many?}");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    desk_ok("$MORTISE inbox --json");
    desk_out("\"kind\":\"custom\"");
    desk_out("\"prompt\":\"How many?\"");
    p = strstr(child.out, "\"id\":\"");
    ck_assert_ptr_nonnull(p);
    snprintf(id, sizeof id, "%s", p + 6);
    ck_assert_uint_eq(desk_entrances(), 1);
    desk_ok("$MORTISE answer r %s --value 42", id);
    ck_assert_uint_eq(desk_entrances(), 2);
    desk_ok("$MORTISE show r --json");
    desk_out("\"status\": \"completed\"");
    desk_out("\"a\": 42");
    desk_ok("$MORTISE inbox");
    desk_not_out("How many");
}
END_TEST

/* Nobody answers: the executor hears so, and the run ends without anybody.  Who
 * resumes it comes before what the engine takes up by itself, as the run is due,
 * however slow the store is (tests/extend/). */
START_TEST(nobody_answers_an_executor)
{
    graph("ask, args: {prompt: How many?, for_ms: 2000}");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    desk_ok("sleep 2.1; $MORTISE resume r");
    desk_ok("$MORTISE show r --json");
    desk_out("\"status\": -10");
}
END_TEST

/* A short sleep is waited for; a longer one survives that its process is
 * killed, and ends at its time in another one. */
START_TEST(a_sleep_ends_at_its_time)
{
    pid_t pid;

    graph("sleep, args: {ms: 50}");
    desk_ok("$MORTISE run g.yaml --id short");
    desk_ok("$MORTISE show short --json");
    desk_out("\"status\": \"completed\"");
    graph("sleep, args: {ms: 4000}");
    pid = child_start("run", "$MORTISE run g.yaml --id long");
    desk_until("\"long\"", "$MORTISE runs --status waiting --json");
    child_kill(pid);
    desk_ok("$MORTISE inbox --json");
    desk_not_out("timer"); /* nobody is asked */
    desk_ok("$MORTISE show long --json");
    desk_out("\"kind\": \"timer\"");
    desk_ok("$MORTISE resume long");
    desk_ok("$MORTISE show long --json");
    desk_out("\"status\": \"completed\"");
    ck_assert_uint_eq(desk_entrances(),
                      4); /* each twice: to ask, and to go on */
}
END_TEST

/* The first question that waits is answered, once it is there. */
static void answer_soon(const char *run, const char *value)
{
    child_run(
        "for i in $(seq 600); do $MORTISE inbox --json | grep -q '\"id\"' "
        "&& break; sleep 0.1; done; id=$($MORTISE inbox --json | grep custom | "
        "sed "
        "'s/.*\"id\":\"\\([0-9a-f]*\\)\".*/\\1/;q'); $MORTISE answer %s "
        "$id --value '%s'",
        run, value);
}

/* What is in doubt did not happen. */
static void retry(const char *run)
{
    child_run("id=$($MORTISE inbox --json | grep in_doubt | sed "
              "'s/.*\"id\":\"\\([0-9a-f]*\\)\".*/\\1/;q'); $MORTISE resolve %s "
              "$id --retry",
              run);
    desk_code(0);
}

/* Who stays for the answer gets it where it stands: it is entered once, and what
 * it was in the middle of is done once. */
START_TEST(one_that_stays_is_answered_there)
{
    pid_t pid;

    graph("within, args: {prompt: How many?, hold_ms: 60000}");
    pid = child_start("run", "$MORTISE run g.yaml --id r");
    answer_soon("r", "42");
    desk_code(0);
    ck_assert_int_eq(child_wait(pid), 0);
    desk_ok("$MORTISE show r --json");
    desk_out("\"said\": 42");
    ck_assert_uint_eq(desk_entrances(), 1);
    graph("ask, args: {prompt: How many?, hold_ms: 60000}");
    pid = child_start("run", "$MORTISE run g.yaml --id s");
    answer_soon("s", "43");
    ck_assert_int_eq(child_wait(pid), 0);
    desk_ok("$MORTISE show s --json");
    desk_out("\"a\": 43");
    ck_assert_uint_eq(desk_entrances(), 2);
}
END_TEST

/* It stays for so long, and then lets go: what was undone is done again, with the
 * answer that was given in between. */
START_TEST(one_that_stayed_lets_go)
{
    graph("within, args: {prompt: How many?, hold_ms: 200, undo: true}");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    ck_assert_uint_eq(desk_entrances(), 1);
    answer_soon("r", "42");
    desk_code(0);
    desk_ok("$MORTISE show r --json");
    desk_out("\"said\": 42");
    ck_assert_uint_eq(desk_entrances(), 2);
    /* what only looks needs no word for it */
    graph("look, args: {prompt: How many?, hold_ms: 200}");
    child_run("$MORTISE run g.yaml --id s");
    desk_code(4);
    answer_soon("s", "43");
    desk_code(0);
    desk_ok("$MORTISE show s --json");
    desk_out("\"said\": 43");
}
END_TEST

/* What was left open when it let go, or when all of it was killed, is in doubt;
 * done again, it has its answer at once. */
START_TEST(what_was_left_open_is_in_doubt)
{
    pid_t pid;

    graph("within, args: {prompt: How many?, hold_ms: 200}");
    child_run("$MORTISE run g.yaml --id r");
    ck_assert_int_ne(child.code, 0);
    answer_soon("r", "42");
    desk_ok("$MORTISE show r --json");
    desk_out("in_doubt");
    ck_assert_uint_eq(desk_entrances(), 1);
    retry("r");
    desk_ok("$MORTISE show r --json");
    desk_out("\"said\": 42");
    ck_assert_uint_eq(desk_entrances(), 2);
    graph("within, args: {prompt: How many?, hold_ms: 60000}");
    pid = child_start("run", "$MORTISE run g.yaml --id s");
    desk_until("How many?", "$MORTISE inbox");
    child_kill(pid);
    answer_soon("s", "43");
    child_run("$MORTISE resume s");
    desk_ok("$MORTISE show s --json");
    desk_out("in_doubt");
    retry("s");
    desk_ok("$MORTISE show s --json");
    desk_out("\"said\": 43");
}
END_TEST

/* A step that is over is over with all that was asked inside of it. */
START_TEST(what_was_asked_inside_is_not_asked_again)
{
    pid_t pid;

    graph("within, args: {prompt: How many?, hold_ms: 60000, then: true}");
    pid = child_start("run", "$MORTISE run g.yaml --id r");
    answer_soon("r", "42");
    ck_assert_int_eq(child_wait(pid), 4);
    desk_ok("$MORTISE inbox");
    desk_out("And then?");
    desk_not_out("How many");
    answer_soon("r", "1");
    desk_code(0);
    desk_ok("$MORTISE show r --json");
    desk_out("\"known\": true");
    ck_assert_uint_eq(desk_entrances(), 1);
    /* a person says what came of it, and the question is nobody's any more */
    graph("within, args: {prompt: How many?, hold_ms: 200}");
    child_run("$MORTISE run g.yaml --id s");
    ck_assert_int_ne(child.code, 0);
    desk_ok("id=$($MORTISE inbox --json | grep in_doubt | sed "
            "'s/.*\"id\":\"\\([0-9a-f]*\\)\".*/\\1/;q'); timeout 60 $MORTISE "
            "resolve s $id --done '{\"result\": 7}'");
    desk_ok("$MORTISE show s --json");
    desk_out("\"known\": true");
    desk_ok("$MORTISE inbox");
    desk_not_out("How many");
}
END_TEST

/* Done again, it may ask something else: what it asked before is nobody's. */
START_TEST(what_is_asked_inside_may_be_another)
{
    static const char *const operations[] = {"look", "put"};
    char node[96];

    for (int i = 0; i < 2; i++) {
        const char *run = operations[i];

        snprintf(node, sizeof node,
                 "%s, args: {prompt: How many?, hold_ms: 200}", run);
        graph(node);
        child_run("rm -f changed; $MORTISE run g.yaml --id %s", run);
        desk_code(4);
        desk_ok("touch changed");
        answer_soon(run, "42");
        desk_code(4);
        desk_ok("$MORTISE inbox");
        desk_out("Something else?");
        answer_soon(run, "43");
        desk_code(0);
        desk_ok("$MORTISE show %s --json", run);
        desk_out("\"said\": 43");
        desk_ok("$MORTISE inbox");
        desk_not_out("How many");
    }
}
END_TEST

/* Waiting for a person does not count, also for who stays. */
START_TEST(the_wait_is_nobodys)
{
    pid_t pid;

    graph("within, timeout: 3s, args: {prompt: How many?, hold_ms: 60000}");
    pid = child_start("run", "$MORTISE run g.yaml --id r");
    desk_until("How many?", "$MORTISE inbox");
    child_run("sleep 3.5");
    answer_soon("r", "42");
    desk_code(0);
    ck_assert_int_eq(child_wait(pid), 0);
    desk_ok("$MORTISE show r --json");
    desk_out("\"said\": 42");
}
END_TEST

/* In the middle of a step one stays or does not ask. */
START_TEST(inside_a_step_one_stays)
{
    graph("within, args: {prompt: How many?}");
    desk_ok("$MORTISE run g.yaml --id r && $MORTISE show r --json");
    desk_out("\"gave\": -8");
}
END_TEST

/* ---- a model, inside a step ------------------------------------------------- */

static void deploy_model(void)
{
    desk_deploy("models:\n  m: {provider: scripted, model: any, price: "
                "{input_per_mtok: 1, output_per_mtok: 1}, replies: [{text: Six "
                "of them.}]}\n");
}

static void model_calls(const char *run, const char *n)
{
    desk_ok("$MORTISE show %s --transcript --json | grep -o "
            "'\"model_call\"' | wc -l | tr -d ' \\n'",
            run);
    ck_assert_str_eq(child.out, n);
}

/* It costs what it costs, and is recorded like any other; and where the step is
 * begun again, it is not asked again. */
START_TEST(a_model_may_be_asked_inside)
{
    deploy_model();
    graph("within, args: {prompt: How many?, hold_ms: 200, model: Say.}");
    child_run("$MORTISE run g.yaml --id r");
    ck_assert_int_ne(child.code, 0);
    answer_soon("r", "42");
    retry("r");
    ck_assert_uint_eq(desk_entrances(), 2);
    desk_ok("$MORTISE show r --json");
    desk_out("Six of them.");
    desk_out("\"said\": 42");
    desk_out("\"model_calls\": 1,");
    model_calls("r", "1");
}
END_TEST

/* The step ended: what was asked inside of it is not asked for. */
START_TEST(a_model_that_was_asked_inside_is_in_no_order)
{
    pid_t pid;

    deploy_model();
    graph("within, args: {prompt: How many?, hold_ms: 60000, model: Say., "
          "then: true}");
    pid = child_start("run", "$MORTISE run g.yaml --id r");
    answer_soon("r", "42");
    ck_assert_int_eq(child_wait(pid), 4);
    answer_soon("r", "1");
    desk_ok("$MORTISE show r --json");
    desk_out("\"known\": true");
    model_calls("r", "1");
}
END_TEST

/* Without a name it could not be found again. */
START_TEST(a_model_that_is_asked_inside_has_a_name)
{
    deploy_model();
    graph("within, args: {prompt: How many?, model: nameless}");
    desk_ok("$MORTISE run g.yaml --id r && $MORTISE show r --json");
    desk_out("\"refused\": -8");
    model_calls("r", "0");
}
END_TEST

/* In the middle of an effect nothing is stopped for money. */
START_TEST(a_budget_refuses_a_model_inside)
{
    pid_t pid;

    deploy_model();
    desk_graph("g", "budget: {tokens: 3}\nstart: a\nnodes:\n  a: {type: tool, "
                    "tool: awaits/within, args: {prompt: How many?, hold_ms: "
                    "60000, model: Say.}, next: END}\n");
    pid = child_start("run", "$MORTISE run g.yaml --id r");
    answer_soon("r", "42");
    ck_assert_int_eq(child_wait(pid), 0);
    desk_ok("$MORTISE show r --json");
    desk_out("\"refused\": -4");
    desk_out("\"said\": 42");
    model_calls("r", "0");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("await");
    TCase *tc = tcase_create("await");

    tcase_add_unchecked_fixture(tc, sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, a_person_answers_an_executor);
    tcase_add_test(tc, nobody_answers_an_executor);
    tcase_add_test(tc, a_sleep_ends_at_its_time);
    tcase_add_test(tc, one_that_stays_is_answered_there);
    tcase_add_test(tc, one_that_stayed_lets_go);
    tcase_add_test(tc, what_was_left_open_is_in_doubt);
    tcase_add_test(tc, what_was_asked_inside_is_not_asked_again);
    tcase_add_test(tc, what_is_asked_inside_may_be_another);
    tcase_add_test(tc, the_wait_is_nobodys);
    tcase_add_test(tc, inside_a_step_one_stays);
    tcase_add_test(tc, a_model_may_be_asked_inside);
    tcase_add_test(tc, a_model_that_was_asked_inside_is_in_no_order);
    tcase_add_test(tc, a_model_that_is_asked_inside_has_a_name);
    tcase_add_test(tc, a_budget_refuses_a_model_inside);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
