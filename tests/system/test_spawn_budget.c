/* test_spawn_budget.c -- the runs of a spawn tree have one budget: whatever they do
 * side by side, in whichever process, their models are asked as often as one run
 * would have been. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "lib/desk.h"
#include "lib/httpd.h"
#include "lib/matrix.h"
#include "lib/store_reader.h"

enum {
    OUTPUT_TOKENS = 4, /* in a purse */
    COMPLETED = 7      /* of a run */
};

static struct httpd *server;

static void sign(void)
{
    desk_sign();
    desk_sign_ours("draws");
    desk_sign_one("plugins/model/openai/openai.plugin.yaml",
                  "plugins/openai.so");
    desk_ok("$MORTISE key trust k.pub --trust trust.d --name draws "
            "--plugins '*' --in-process");
}

static void begin(void)
{
    char text[1024];

    desk_begin();
    server = httpd_start();
    snprintf(
        text, sizeof text,
        "executors: {gmi: draws/agent}\n"
        "models: {default: {provider: openai, model: m, base_url: \"%s\"}}",
        httpd_url(server, "/v1"));
    desk_deploy(text);
}

static void end(void)
{
    httpd_stop(server);
    desk_end();
}

/* Each call of the model costs so many tokens; ten are reserved for it. */
static void costs(int tokens)
{
    char reply[512];

    snprintf(reply, sizeof reply,
             "{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":"
             "\"yes\"},\"finish_reason\":\"stop\"}],\"usage\":{"
             "\"prompt_tokens\":3,\"completion_tokens\":%d}}",
             tokens);
    httpd_answer(server, "/v1/chat/completions", "200 OK",
                 "Content-Type: application/json\r\n", reply);
}

static void graph(const char *budget, const char *prompt)
{
    char body[1024];

    snprintf(body, sizeof body,
             "budget: {%s}\nstart: a\nnodes:\n"
             "  a: {type: gmi, prompt: \"%s\", max_tokens: 10, next: END}\n",
             budget, prompt);
    desk_graph("g", body);
}

/* What `show` says of a run's output_tokens. */
static uint64_t shown(const char *run, const char *member)
{
    json_t *show;
    json_int_t n;

    desk_ok("$MORTISE show %s --json", run);
    show = json_loads(child.out, 0, NULL);
    n = json_integer_value(json_object_get(
        json_object_get(json_object_get(show, "budget"), "output_tokens"),
        member));
    json_decref(show);
    return (uint64_t)n;
}

/* What the tree of p counts is what its runs have; gives it. */
static uint64_t counted(void)
{
    struct reader_store *r = desk_store();
    const struct reader_purse *p = store_reader_purse(r, "default", "p");
    uint64_t own = 0, used;

    ck_assert_ptr_nonnull(p);
    used = p->used[OUTPUT_TOKENS];
    for (size_t i = 0; i < r->n_runs; i++)
        own += shown(r->runs[i].run, "own");
    ck_assert_uint_eq(used, own);
    store_reader_free(r);
    return used;
}

static bool has_completed(const char *run)
{
    struct reader_store *r = desk_store();
    const struct reader_run *found = store_reader_run(r, "default", run);
    bool has = found != NULL && found->status == COMPLETED;

    store_reader_free(r);
    return has;
}

/* It does, by itself or when it is resumed. */
static void completes(const char *run)
{
    for (int k = 0; k < 5 && !has_completed(run); k++)
        child_run("$MORTISE resume %s", run);
    ck_assert_msg(has_completed(run), "%s%s", child.out, child.err);
}

/* A count below 0 takes nothing back and is not 0: what was reserved for the call
 * counts, and an event says so. */
START_TEST(a_negative_usage_counts)
{
    static const char *const lies[] = {"-4", "\"many\"", "1.5"};
    char reply[512];

    snprintf(reply, sizeof reply,
             "{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":"
             "\"yes\"},\"finish_reason\":\"stop\"}],\"usage\":{"
             "\"prompt_tokens\":3,\"completion_tokens\":%s}}",
             lies[_i]);
    httpd_answer(server, "/v1/chat/completions", "200 OK",
                 "Content-Type: application/json\r\n", reply);
    graph("output_tokens: 46", "ask 2");
    desk_ok("$MORTISE run g.yaml --id p");
    desk_out("warning a code=usage");
    ck_assert_uint_eq(shown("p", "used"), 20);
    desk_ok("$MORTISE show p --json");
    desk_out("\"unclear\": true");
}
END_TEST

/* Of eight children at once as many ask as there is room for; who made them holds
 * one token while it waits. */
START_TEST(many_children_have_one_budget)
{
    costs(10);
    graph("output_tokens: 46", "many 8 ask 1");
    child_run("$MORTISE run g.yaml --id p");
    desk_code(4);
    ck_assert_uint_eq(httpd_requests(server), 4);
    ck_assert_uint_le(counted(), 46);
    ck_assert_uint_eq(shown("p", "limit"), 46);
}
END_TEST

/* What others have only reserved is waited for: nobody is stopped who has room in
 * the end. */
START_TEST(what_comes_back_is_waited_for)
{
    costs(5);
    graph("output_tokens: 46, on_exceeded: fail", "many 8 ask 1");
    desk_ok("$MORTISE run g.yaml --id p");
    ck_assert_uint_eq(httpd_requests(server), 8);
    ck_assert_uint_eq(counted(), 40);
}
END_TEST

/* More for the origin is more for all. */
START_TEST(the_origin_is_raised)
{
    costs(10);
    graph("output_tokens: 46", "many 8 ask 1");
    child_run("$MORTISE run g.yaml --id p");
    desk_code(4);
    child_run("$MORTISE raise-budget p output_tokens=100");
    completes("p");
    ck_assert_uint_eq(httpd_requests(server), 8);
    ck_assert_uint_eq(counted(), 80);
}
END_TEST

/* The run of the tree that a budget stopped. */
static const char *stopped_run(void)
{
    static char run[64];
    struct reader_store *r = desk_store();

    run[0] = '\0';
    for (size_t i = 0; i < r->n_runs; i++)
        if (strcmp(r->runs[i].reason, "budget") == 0)
            snprintf(run, sizeof run, "%s", r->runs[i].run);
    store_reader_free(r);
    ck_assert_str_ne(run, "");
    return run;
}

/* A child's bound is everybody's: raised there, it is raised for all. */
START_TEST(a_child_is_raised)
{
    const char *run;

    costs(10);
    graph("output_tokens: 25", "many 4 ask 1");
    child_run("$MORTISE run g.yaml --id p");
    desk_code(4);
    ck_assert_uint_eq(httpd_requests(server), 2);
    run = stopped_run();
    child_run("$MORTISE raise-budget %s output_tokens=+20", run);
    completes("p");
    ck_assert_uint_eq(httpd_requests(server), 4);
    ck_assert_uint_eq(counted(), 40);
    ck_assert_uint_eq(shown(run, "limit"), 45);
    ck_assert_uint_eq(shown(run, "own"), 10);
}
END_TEST

/* A tree of three levels, all linked, comes to rest when the budget is used up, and
 * ends when it is raised: at the origin, or at a child that the budget stopped, once
 * or for one call after the other. */
START_TEST(three_levels_are_raised)
{
    bool by_steps = _i & 2;
    struct reader_store *r;

    costs(10);
    graph("output_tokens: 25", "many 2 many 3 ask 1");
    child_run("$MORTISE run g.yaml --id p");
    desk_code(4);
    r = desk_store();
    ck_assert_uint_eq(r->n_runs, 9); /* 1 + 2 + 6 */
    store_reader_free(r);
    ck_assert_uint_le(httpd_requests(server), 2);
    for (int k = 0; k < 8 && !has_completed("p"); k++)
        child_run("$MORTISE raise-budget %s output_tokens=+%d",
                  (_i & 1) != 0 ? stopped_run() : "p", by_steps ? 10 : 100);
    completes("p");
    ck_assert_uint_eq(httpd_requests(server), 6);
    ck_assert_uint_eq(counted(), 60);
}
END_TEST

/* What outlives the origin goes on with its budget, as it stands, and may have more
 * of it; a child's child, too. */
static const char *const lasting[] = {"leave 4 ask 1", "many 1 leave 4 ask 1"};

START_TEST(an_origin_that_has_ended_bounds)
{
    struct reader_store *r;
    char run[64] = "";

    costs(10);
    graph("output_tokens: 25", lasting[_i]);
    child_run("$MORTISE run g.yaml --id p");
    completes("p");
    for (int k = 0; k < 3; k++) { /* whatever the first process left */
        r = desk_store();
        for (size_t i = 0; i < r->n_runs; i++)
            if (r->runs[i].status < COMPLETED)
                child_run("$MORTISE resume %s", r->runs[i].run);
        store_reader_free(r);
    }
    ck_assert_uint_eq(httpd_requests(server), 2);
    ck_assert_uint_eq(counted(), 20);
    r = desk_store();
    for (size_t i = 0; i < r->n_runs; i++)
        if (r->runs[i].status < COMPLETED)
            snprintf(run, sizeof run, "%s", r->runs[i].run);
    store_reader_free(r);
    child_run("$MORTISE raise-budget p output_tokens=+20");
    desk_code(1);
    desk_err("E_STATE");
    child_run("$MORTISE raise-budget %s output_tokens=+20", run);
    completes(run);
    for (int k = 0; k < 2; k++) {
        r = desk_store();
        for (size_t i = 0; i < r->n_runs; i++)
            if (r->runs[i].status < COMPLETED)
                child_run("$MORTISE resume %s", r->runs[i].run);
        store_reader_free(r);
    }
    ck_assert_uint_eq(httpd_requests(server), 4);
    ck_assert_uint_eq(counted(), 40);
}
END_TEST

/* Killed at places of the store, one after the other: nothing that was spent is
 * forgotten, or counted twice, and the calls that were out are paid for.  The server
 * may have had them all the same: one whose answer, or whose reservation, was not on
 * disk is made again. */
START_TEST(killed_at_every_commit)
{
    char faulty[4096];
    unsigned long n = 0;
    bool came_through;
    size_t before;

    snprintf(faulty, sizeof faulty, "%s", child_build("faults/mortise"));
    costs(10);
    graph("output_tokens: 46", "many 4 ask 1");
    do {
        desk_ok("rm -rf state");
        before = httpd_requests(server);
        child_run("MORTISE_FAULT_CRASH=%lu %s run g.yaml --id p",
                  n += matrix_step(5), faulty);
        came_through = child.code == 0;
        child_run("$MORTISE show p");
        if (child.code != 0)
            child_run("$MORTISE run g.yaml --id p");
        for (int k = 0; k < 3; k++)
            child_run("$MORTISE resume p");
        ck_assert_uint_le(counted(), 46);
        ck_assert_msg((httpd_requests(server) - before) * 10 <= 46,
                      "death %lu: %zu calls", n,
                      httpd_requests(server) - before);
    } while (!came_through && n < 200);
    ck_assert_uint_gt(n, 20); /* it did die */
    ck_assert(came_through);
}
END_TEST

/* A process that dies while calls are out has paid for them: what was reserved is
 * spent, for all. */
START_TEST(a_kill_is_paid_for)
{
    uint64_t paid;
    pid_t pid;

    httpd_on(server, "/v1/chat/completions");
    httpd_wait(server, 600000); /* until nobody listens any more */
    httpd_times(server, 2);
    costs(5);
    graph("output_tokens: 46", "many 8 ask 1");
    pid = child_start("run", "$MORTISE run g.yaml --id p");
    httpd_await(server, 2);
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    child_wait(pid);
    ck_assert_uint_ge(counted(), 20);
    child_run("$MORTISE resume p");
    ck_assert_uint_le(counted(), 46);
    child_run("$MORTISE raise-budget p output_tokens=200");
    completes("p");
    paid = counted() - 8 * 5; /* besides the eight that were answered to */
    ck_assert_uint_ge(paid, 2 * 10);
    ck_assert_uint_le(paid, 10 * (httpd_requests(server) - 8) + 5 * 8);
}
END_TEST

/* A budget that leads to a node of the origin's fails a child, which has none: its
 * maker hears of it, and goes where that leads when it asks for more itself. */
START_TEST(a_child_has_nowhere_to_go)
{
    struct reader_store *r;

    costs(10);
    desk_graph("g", "budget: {output_tokens: 15, on_exceeded: {goto: b}}\n"
                    "start: a\nnodes:\n"
                    "  a: {type: gmi, prompt: \"many 2 ask 1\", max_tokens: 10,"
                    " next: END}\n"
                    "  b: {type: router, default: END, routes: [{when: "
                    "\"false\", to: END}]}\n");
    desk_ok("$MORTISE run g.yaml --id p");
    ck_assert_uint_eq(httpd_requests(server), 1);
    r = desk_store();
    ck_assert_uint_eq(r->n_spawns, 2);
    ck_assert_uint_eq(r->spawns[0].status + r->spawns[1].status, 1 + 2);
    store_reader_free(r);
    desk_ok("$MORTISE show p --json");
    desk_out("\"code\": \"budget\"");
}
END_TEST

/* Who spawned nothing, and whose graph has no budget, has nothing of it. */
START_TEST(nobody_else_pays)
{
    struct reader_store *r;

    costs(10);
    graph("output_tokens: 46", "ask 1");
    desk_ok("$MORTISE run g.yaml --id p");
    desk_ok("$MORTISE show p --json");
    desk_not_out("\"own\"");
    graph("wall: 10m", "many 2 ask 1");
    desk_ok("$MORTISE run g.yaml --id q");
    r = desk_store();
    ck_assert_uint_eq(r->n_purses, 0);
    ck_assert_uint_eq(r->n_trees, 1);
    store_reader_free(r);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("spawn_budget");
    TCase *tc = tcase_create("budget");

    tcase_add_unchecked_fixture(tc, sign, desk_unsign);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, a_negative_usage_counts, 0, 3);
    tcase_add_test(tc, many_children_have_one_budget);
    tcase_add_test(tc, what_comes_back_is_waited_for);
    tcase_add_test(tc, the_origin_is_raised);
    tcase_add_test(tc, a_child_is_raised);
    tcase_add_loop_test(tc, three_levels_are_raised, 0, 4);
    tcase_add_loop_test(tc, an_origin_that_has_ended_bounds, 0, 2);
    tcase_add_test(tc, a_child_has_nowhere_to_go);
    tcase_add_test(tc, nobody_else_pays);
    suite_add_tcase(s, tc);
    tc = tcase_create("deaths");
    tcase_add_unchecked_fixture(tc, sign, desk_unsign);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_set_timeout(tc, 600);
    tcase_add_test(tc, a_kill_is_paid_for);
    tcase_add_test(tc, killed_at_every_commit);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
