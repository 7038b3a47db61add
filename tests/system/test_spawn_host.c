/* test_spawn_host.c -- spawn handles as plugins ask for them, through the whole
 * of mortise: processes come and go, and a child is found again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/desk.h"
#include "lib/store_reader.h"

static void sign(void)
{
    desk_sign();
    desk_sign_ours("spawns");
    desk_ok("$MORTISE key trust k.pub --trust trust.d --name spawns "
            "--plugins spawns --in-process");
}

/* Run these nodes, `a` first, as run ID; what they came to is in child.out. */
static void run(const char *id, const char *limits, const char *nodes)
{
    char body[8192];

    snprintf(body, sizeof body, "limits: {%s}\nstart: a\nnodes:\n%s", limits,
             nodes);
    desk_graph("g", body);
    desk_ok("$MORTISE run g.yaml --id %s", id);
    desk_ok("$MORTISE show %s --json | tr -d ' \\n'", id);
}

#define CLAIM "tool: spawns/claim, args: {call: c1, name: helper, task: {n: 1}}"
#define HELD                                                                   \
    "handle: \"${artifacts.a.handle}\", token: \"${artifacts.a.token}\""

/* From claim to end, with each state said. */
START_TEST(a_whole_life)
{
    struct reader_store *r;

    run("r", "",
        "  a: {type: tool, " CLAIM ", next: b}\n"
        "  b: {type: tool, tool: spawns/register, args: {" HELD
        ", child: s1}, next: c}\n"
        "  c: {type: tool, tool: spawns/advance, args: {" HELD
        ", state: dispatched}, next: d}\n"
        "  d: {type: tool, tool: spawns/settle, args: {" HELD
        ", status: completed, result: {ok: true}}, next: END}\n");
    desk_out("\"outcome\":\"claimed\"");
    desk_out("\"name\":\"helper\",\"state\":\"created\"}");
    desk_out("\"name\":\"helper\",\"state\":\"dispatched\"}");
    desk_out("\"name\":\"helper\",\"state\":\"settled\"}");
    r = desk_store();
    ck_assert_uint_eq(r->n_spawns, 1);
    ck_assert_str_eq(r->spawns[0].parent, "r");
    ck_assert_str_eq(r->spawns[0].execution, "1.0/a#1");
    ck_assert_str_eq(r->spawns[0].call, "c1");
    ck_assert_str_eq(r->spawns[0].child, "s1");
    ck_assert_str_eq(r->spawns[0].result, "{\"ok\":true}");
    ck_assert_uint_eq(r->spawns[0].state, 5);
    store_reader_free(r);
}
END_TEST

/* Each refusal has its code, is told to who asked, and is no failure of the
 * run. */
START_TEST(refusals_have_codes)
{
    run("r", "",
        "  a: {type: tool, " CLAIM ", next: b}\n"
        "  b: {type: tool, tool: spawns/settle, args: {" HELD
        ", status: failed}, next: c}\n"
        "  c: {type: tool, tool: spawns/register, args: {handle: "
        "\"${artifacts.a.handle}\", token: wrong, child: s1}, next: d}\n"
        "  d: {type: tool, tool: spawns/register, args: {handle: "
        "\"r/00000000000000000000000000000000\", token: t, child: s1}, "
        "next: e}\n"
        "  e: {type: tool, tool: spawns/register, args: {" HELD
        ", child: s1}, next: f}\n"
        "  f: {type: tool, tool: spawns/register, args: {" HELD
        ", child: s2}, next: g}\n"
        "  g: {type: tool, tool: spawns/settle, args: {" HELD
        ", status: failed}, next: h}\n"
        "  h: {type: tool, tool: spawns/settle, args: {" HELD
        ", status: completed}, next: i}\n"
        "  i: {type: tool, tool: spawns/settle, args: {" HELD
        ", status: idle}, next: END}\n");
    desk_out("\"b\":{\"status\":-4,\"words\":\"E_NOT_RUNNING:");
    desk_out("\"c\":{\"status\":-4,\"words\":\"E_STALE_TOKEN:");
    desk_out("\"d\":{\"status\":-4,\"words\":\"E_NOT_FOUND:");
    desk_out("\"name\":\"helper\",\"state\":\"created\"}");
    desk_out("\"f\":{\"status\":-4,\"words\":\"E_ALREADY_REGISTERED:");
    desk_out("\"name\":\"helper\",\"state\":\"settled\"}");
    desk_out("\"h\":{\"status\":-4,\"words\":\"E_ALREADY_SETTLED:");
    desk_out("statustakescompleted,failed");
}
END_TEST

/* What is no body of such a request. */
START_TEST(bodies_are_checked)
{
    static const struct {
        const char *op, *args, *words;
    } bad[] = {
        {"claim", "{call: c, name: n, more: 1}",
         "arequestofspawn.claim/1mustbe{call,name,task?"},
        {"claim", "{name: n}", "calltakestext"},
        {"claim", "{call: c, name: \"\"}", "namemustbe1to128bytes"},
        {"claim", "{call: \"a\\0b\", name: n}", "calltakestext"},
        {"claim", "{call: c, name: n, detached: 1}",
         "detachedtakestrueorfalse"},
        {"claim", "{call: c, name: n, token: [1]}", "tokentakestext"},
        {"register", "{handle: h, token: t}", "childtakestext"},
        {"register", "{handle: h, token: t, child: c, x: 1}",
         "mustbe{handle,token,child}"},
        {"advance", "{handle: h, token: t, state: settled}",
         "statetakesdispatchedorrunning"},
        {"advance", "{handle: h, state: running}", "tokentakestext"},
        {"settle", "{handle: h, token: t}", "statustakescompleted"},
        {"settle", "{token: t, status: failed}", "handletakestext"},
    };
    char nodes[512], id[16];

    snprintf(nodes, sizeof nodes,
             "  a: {type: tool, tool: spawns/%s, args: %s, next: END}\n",
             bad[_i].op, bad[_i].args);
    snprintf(id, sizeof id, "r%d", _i);
    run(id, "", nodes);
    desk_out(bad[_i].words);
    desk_out("\"status\":-");
}
END_TEST

/* Two calls of plugins on threads of their own, at one less than a cap: one is
 * admitted, and the other told why not; whichever it was. */
START_TEST(two_at_one_less_than_a_cap)
{
    struct reader_store *r;

    for (int i = 0; i < 10; i++) {
        char id[16];

        snprintf(id, sizeof id, "r%d", i);
        run(id, "spawn: {active: 2}",
            "  a: {type: tool, " CLAIM ", next: [b, c]}\n"
            "  b: {type: tool, tool: spawns/claim, args: {call: c2, name: x}, "
            "next: END}\n"
            "  c: {type: tool, tool: spawns/claim, args: {call: c2, name: x}, "
            "next: END}\n");
        desk_out("E_LIMIT:limits.spawn.activeallows2,butthechild'x'wouldmakeit3");
        r = desk_store();
        ck_assert_uint_eq(r->n_spawns, 2 * (size_t)(i + 1));
        store_reader_free(r);
    }
}
END_TEST

/* Many at once: as many as the cap says, and none is told twice. */
START_TEST(many_at_a_cap)
{
    struct reader_store *r;

    run("r", "spawn: {active: 7}",
        "  a: {type: tool, tool: spawns/claim, args: {call: c, name: x}, "
        "map: {over: \"[1,2,3,4,5,6,7,8,9,10,11,12]\", as: n, to: b, "
        "join: z}}\n"
        "  b: {type: tool, tool: spawns/claim, args: {call: c, name: x}, "
        "next: z}\n"
        "  z: {type: tool, tool: spawns/claim, args: {call: z, name: x}, "
        "next: END}\n");
    r = desk_store();
    ck_assert_uint_eq(r->n_spawns, 7);
    ck_assert_uint_eq(store_reader_tree(r, "default", "r")->total, 7);
    for (size_t i = 0; i < 7; i++)
        ck_assert_uint_eq(r->spawns[i].epoch, 1);
    store_reader_free(r);
    desk_out("\"z\":{\"status\":-4,\"words\":\"E_LIMIT:");
}
END_TEST

/* Killed behind the registration, an execution that is entered again is told what
 * it was told before: one record, one epoch, one child. */
START_TEST(a_killed_execution_finds_its_child)
{
    struct reader_store *r;
    pid_t pid;

    desk_put("entered", "");
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: spawns/begin,"
                    " args: {call: c1, ms: 60000}, next: END}\n");
    pid = child_start("run", "$MORTISE run g.yaml --id r");
    child_await("napping.60000", "");
    child_kill(pid);
    ck_assert_uint_eq(desk_entrances(), 1);
    desk_ok("touch over.60000 && $MORTISE resume r");
    ck_assert_uint_eq(desk_entrances(), 2);
    r = desk_store();
    ck_assert_uint_eq(r->n_spawns, 1);
    ck_assert_uint_eq(r->spawns[0].epoch, 1);
    ck_assert_str_eq(r->spawns[0].child, "child of c1");
    ck_assert_uint_eq(r->spawns[0].state, 6); /* the run ended, it did not */
    store_reader_free(r);
}
END_TEST

/* A later attempt of a node finds the handle of the earlier one. */
START_TEST(an_attempt_finds_the_earlier_ones)
{
    struct reader_store *r;

    run("r", "",
        "  a: {type: tool, tool: spawns/falter, args: {call: c1},"
        " retry_policy: {max_attempts: 2, delay: 1ms}, next: END}\n");
    desk_out("\"outcome\":\"claimed_pending_child\"");
    r = desk_store();
    ck_assert_uint_eq(r->n_spawns, 1);
    ck_assert_uint_eq(r->spawns[0].epoch, 2);
    store_reader_free(r);
}
END_TEST

/* A name is its maker's, and no terminal's business. */
START_TEST(names_are_shown_as_names)
{
    run("r", "",
        "  a: {type: tool, tool: spawns/claim, args: {call: c1, name: "
        "\"a\\u202eb\"}, next: END}\n");
    desk_ok("$MORTISE show r");
    desk_out("a\\u{202e}b");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("spawn_host");
    TCase *tc = tcase_create("handles");

    tcase_add_unchecked_fixture(tc, sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, a_whole_life);
    tcase_add_test(tc, refusals_have_codes);
    tcase_add_loop_test(tc, bodies_are_checked, 0, 12);
    tcase_add_test(tc, two_at_one_less_than_a_cap);
    tcase_add_test(tc, many_at_a_cap);
    tcase_add_test(tc, a_killed_execution_finds_its_child);
    tcase_add_test(tc, an_attempt_finds_the_earlier_ones);
    tcase_add_test(tc, names_are_shown_as_names);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
