/* test_await.c -- an executor that waits for a person or for a time, through
 * the whole of mortise: processes come and go, and nothing is asked twice. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/desk.h"

static void sign(void)
{
    char source[4096];

    desk_sign();
    ck_assert_ptr_nonnull(realpath("tests/plugins/awaits.plugin.yaml", source));
    desk_ok("$MORTISE plugin sign %s %s --key k.key --out plugins", source,
            child_build("tests/plugins/awaits.so"));
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
    graph("ask, args: {prompt: How many?, for_ms: 200}");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    desk_ok("sleep 0.3; $MORTISE resume r");
    desk_ok("$MORTISE show r --json");
    desk_out("\"status\": -10");
}
END_TEST

/* A short sleep is waited for; a longer one survives that its process is
 * killed, and ends at its time in another one. */
START_TEST(a_sleep_ends_at_its_time)
{
    graph("sleep, args: {ms: 50}");
    desk_ok("$MORTISE run g.yaml --id short");
    desk_ok("$MORTISE show short --json");
    desk_out("\"status\": \"completed\"");
    graph("sleep, args: {ms: 1200}");
    child_run("timeout -s KILL 0.5 $MORTISE run g.yaml --id long");
    ck_assert_int_ne(child.code, 0);
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
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
