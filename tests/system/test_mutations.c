/* test_mutations.c -- `mortise test` as the one thing between an author and a
 * slip: a graph in which one thing is changed at a time, and the tests that its
 * author wrote before.  tests/cases/order has both. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/desk.h"
#include "lib/matrix.h"
#include "lib/test.h"

#define DIR "tests/cases/order/"

static void begin(void)
{
    static const char *const files[] = {"mortise.yaml", "order.test.yaml"};

    desk_begin();
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[64], *text;

        snprintf(path, sizeof path, DIR "%s", files[i]);
        text = test_read(path, NULL);
        desk_put(files[i], text);
        free(text);
    }
}

/* The graph with `to` where `from` is, which it is once. */
static void put_graph(const char *from, const char *to)
{
    size_t n;
    char *text = test_read(DIR "order.graph.yaml", &n);
    const char *at = strstr(text, from);
    char *changed = malloc(n + strlen(to) + 1);

    ck_assert_msg(at != NULL && strstr(at + 1, from) == NULL,
                  "'%s' does not stand there once", from);
    sprintf(changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    desk_put("order.graph.yaml", changed);
    free(changed);
    free(text);
}

START_TEST(as_it_is)
{
    put_graph("name: order", "name: order");
    desk_ok("$MORTISE check order.graph.yaml order.test.yaml");
    ck_assert_str_eq(child.out, "");
    desk_ok("$MORTISE test order.test.yaml");
}
END_TEST

enum { FAILS = 1, REFUSED = 2 };

static const struct {
    const char *what, *from, *to;
    int code; /* of `mortise test` */
} mutations[] = {
    {"an arm", "approved, to: write", "approved, to: refused", FAILS},
    {"a default", "default: write", "default: refused", FAILS},
    {"the way of those refused", "default: refused", "default: write", FAILS},
    {"the way round a loop", "default: pause", "default: END", FAILS},
    {"a threshold at its edge", "total > 100", "total >= 100", FAILS},
    {"a threshold by one", "total > 100", "total > 101", FAILS},
    {"a try less", "max_attempts: 3", "max_attempts: 2", FAILS},
    {"a try more", "max_attempts: 3", "max_attempts: 4", FAILS},
    {"what is tried again", "[transient]", "[transient, timeout]", FAILS},
    {"how pauses grow", "exponential", "fixed", FAILS},
    {"the first pause", "delay: 2s", "delay: 1s", FAILS},
    {"a timer", "for: 30s", "for: 31s", FAILS},
    {"a wait", "wait: 48h", "wait: 47h", FAILS},
    {"what silence means", "on_timeout: reject", "on_timeout: accept", FAILS},
    {"a longer timeout", "timeout: 20s", "timeout: 21s", FAILS},
    {"a shorter timeout", "timeout: 20s", "timeout: 19s", FAILS},
    {"three beside each other", "max_parallel: 2", "max_parallel: 3", FAILS},
    {"one after the other", "max_parallel: 2", "max_parallel: 1", FAILS},
    {"what doubt does", "on_in_doubt: ask", "on_in_doubt: retry", FAILS},
    {"a guardrail", "[rude, long]", "[rude]", REFUSED},
    {"what a violation does", "reroute, reroute_target: refused", "warn",
     FAILS},
    {"a sum", "scratch.total: sum", "scratch.total: max", FAILS},
    {"a largest", "scratch.dearest: max", "scratch.dearest: sum", FAILS},
    {"a list", "scratch.seen: concat",
     "scratch.seen: {reduce: concat, max_items: 2, overflow: drop_oldest}",
     FAILS},
    {"what failed elements do", "on_branch_error: collect",
     "on_branch_error: fail", FAILS},
    {"a turn more", "visits: 3", "visits: 4", FAILS},
    {"a wider budget", "tool_calls: 12", "tool_calls: 13", FAILS},
    {"a tighter budget", "tool_calls: 12", "tool_calls: 11", FAILS},
};

enum {
    N_MUTATIONS = sizeof mutations / sizeof mutations[0],
    SHARE = 4 /* one of so many */
};

/* A graph that checks, and does something else. */
START_TEST(a_slip_is_noticed)
{
    size_t i = (size_t)_i * matrix_step(SHARE);

    put_graph(mutations[i].from, mutations[i].to);
    desk_ok("$MORTISE check order.graph.yaml");
    child_run("$MORTISE test order.test.yaml");
    ck_assert_msg(child.code == mutations[i].code, "%s: exit code %d\n%s%s",
                  mutations[i].what, child.code, child.out, child.err);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("mutations");
    TCase *tc = tcase_create("order");

    tcase_set_timeout(tc, 60);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, begin, desk_end);
    tcase_add_test(tc, as_it_is);
    tcase_add_loop_test(tc, a_slip_is_noticed, 0,
                        (N_MUTATIONS - 1) / (int)matrix_step(SHARE) + 1);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
