/* test_spawn_native.c -- children that are runs, through the whole of mortise:
 * made once, found again, heard of, and ended with who made them. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/desk.h"
#include "lib/matrix.h"
#include "lib/store_reader.h"

/* What the build that can be killed finds, too. */
static void sign(void)
{
    desk_sign();
    desk_sign_ours("spawns");
    desk_sign_one("plugins/model/scripted/scripted.plugin.yaml",
                  "plugins/scripted.so");
    desk_sign_ours("spawns_one");
    desk_sign_ours("spawns_two");
    desk_ok("$MORTISE key trust k.pub --trust trust.d --name spawns "
            "--plugins '*' --in-process");
}

static void begin(void)
{
    desk_begin();
    desk_deploy("executors: {gmi: spawns/agent}\n"
                "models: {default: {provider: scripted, model: m, replies: "
                "[]}}");
}

/* A graph whose one agent does that. */
static void graph(const char *limits, const char *prompt)
{
    char body[2048];

    snprintf(body, sizeof body,
             "limits: {%s}\nstart: a\nnodes:\n"
             "  a: {type: gmi, prompt: \"%s\", next: END}\n",
             limits, prompt);
    desk_graph("g", body);
}

static void show(const char *run)
{
    desk_ok("$MORTISE show %s --json | tr -d ' \\n'", run);
}

/* A child is a run: it ends, and what it gave is what its parent is told. */
START_TEST(a_child_is_a_run)
{
    struct reader_store *r;

    graph("", "spawn say hello");
    desk_ok("$MORTISE run g.yaml --id p");
    show("p");
    desk_out("\"status\":\"completed\",\"child\":");
    desk_out("\"result\":{\"output\":{\"result\":\"hello\"}}");
    r = desk_store();
    ck_assert_uint_eq(r->n_spawns, 1);
    ck_assert_uint_eq(r->spawns[0].state, 5);
    ck_assert_uint_eq(r->spawns[0].status, 1);
    ck_assert_uint_eq(r->spawns[0].native, 1);
    ck_assert_uint_eq(r->n_runs, 2);
    desk_out("\"children\":[{\"handle\":\"p/");
    desk_out("\"name\":\"helper\",\"state\":\"settled\",\"child\":\"");
    show(r->spawns[0].child);
    desk_out("\"status\":\"completed\"");
    desk_not_out("\"children\"");
    desk_ok("$MORTISE show p");
    desk_out(r->spawns[0].child);
    desk_out("\nchildren\n  completed");
    store_reader_free(r);
}
END_TEST

/* The run of the k-th child, in order of id. */
static const char *child_at(const struct reader_store *r, size_t k)
{
    ck_assert_uint_lt(k, r->n_spawns);
    return r->spawns[k].child;
}

static const struct reader_run *run_of(const struct reader_store *r,
                                       const char *run)
{
    return store_reader_run(r, "default", run);
}

/* Children of children count for the origin's tree, and its caps hold there. */
START_TEST(children_of_children)
{
    struct reader_store *r;
    const struct reader_tree *t;

    graph("", "spawn spawn spawn say deep");
    desk_ok("$MORTISE run g.yaml --id p");
    show("p");
    desk_out("E_LIMIT:limits.spawn.depthallows2,butthechild'helper'wouldmakeit3");
    r = desk_store();
    t = store_reader_tree(r, "default", "p");
    ck_assert_uint_eq(t->total, 2);
    ck_assert_uint_eq(t->active, 0);
    ck_assert_uint_eq(r->n_trees, 1);
    store_reader_free(r);
}
END_TEST

/* Two at once, each of its own. */
START_TEST(two_children_at_once)
{
    struct reader_store *r;

    graph("", "again say hi");
    desk_ok("$MORTISE run g.yaml --id p");
    show("p");
    desk_out("\"a\":[{\"status\":\"completed\"");
    r = desk_store();
    ck_assert_uint_eq(r->n_spawns, 2);
    ck_assert_str_ne(child_at(r, 0), child_at(r, 1));
    store_reader_free(r);
}
END_TEST

/* How a child failed is what its parent is told, and no failure of the parent. */
START_TEST(a_child_fails)
{
    graph("", "spawn fail badly");
    desk_ok("$MORTISE run g.yaml --id p");
    show("p");
    desk_out("\"status\":\"failed\",\"child\":");
    desk_out("\"message\":\"badly\"");
}
END_TEST

/* While a child waits for somebody its parent waits for it, names it, and cannot be
 * answered in its place; what the child is told, in another process, ends both. */
START_TEST(a_parent_waits_for_a_child_that_waits)
{
    char child_run_id[64], request[64] = "";
    struct reader_store *r;

    graph("", "spawn ask name");
    child_run("$MORTISE run g.yaml --id p");
    desk_code(4);
    desk_out("waits for its child");
    r = desk_store();
    snprintf(child_run_id, sizeof child_run_id, "%s", child_at(r, 0));
    store_reader_free(r);
    desk_out(child_run_id);
    desk_ok("$MORTISE why p");
    desk_out("waits for the end of a child");
    show("p");
    desk_out("\"reason\":\"child\"");
    sscanf(strstr(child.out, "\"pending\":[{\"id\":\"") + 18, "%32[0-9a-f]",
           request);
    child_run("$MORTISE answer p %s --value 1", request);
    desk_code(3);
    desk_err("E_DECISION_MISMATCH");
    desk_ok("$MORTISE inbox");
    desk_not_out("run p");
    desk_ok("id=$($MORTISE inbox %s --json | grep -o '\"id\": *\"[0-9a-f]*' |"
            " head -1 | grep -o '[0-9a-f]*$'); $MORTISE answer %s $id"
            " --value '\"Ada\"'",
            child_run_id, child_run_id);
    show("p");
    desk_out("\"result\":{\"output\":{\"result\":\"Ada\"}}");
    desk_out("\"status\":\"completed\"");
}
END_TEST

/* Linked children end with their parent, and theirs with them; a detached one goes
 * on, and stands at depth 1. */
static const struct {
    const char *prompt;
    size_t children, cancelled;
} ends[] = {{"leave spawn ask name", 2, 2},
            {"leave ask name", 1, 1},
            {"detach ask name", 1, 0},
            {"detach leave ask name", 2, 1}};

START_TEST(linked_children_end_with_their_parent)
{
    struct reader_store *r;
    size_t cancelled = 0;

    graph("", ends[_i].prompt);
    child_run("$MORTISE run g.yaml --id p");
    show("p");
    desk_out("\"status\":\"completed\"");
    r = desk_store();
    ck_assert_uint_le(r->n_spawns, ends[_i].children);
    for (size_t i = 0; i < r->n_spawns; i++) {
        const struct reader_run *run = run_of(r, child_at(r, i));
        bool over = r->spawns[i].state >= 5;
        bool begun = r->spawns[i].state != 6; /* else its parent was faster */

        ck_assert_int_eq(begun, run != NULL);
        cancelled += !begun || r->spawns[i].status == 3;
        ck_assert_int_eq(over, !begun || run->status >= 7);
        ck_assert(over || r->spawns[i].detached);
        ck_assert(r->spawns[i].status != 3 || !r->spawns[i].detached);
    }
    if (r->n_spawns == ends[_i].children)
        ck_assert_uint_eq(cancelled, ends[_i].cancelled);
    store_reader_free(r);
}
END_TEST

/* A child that was claimed and never began is abandoned with who would have begun
 * it, although it is detached: nobody else can. */
START_TEST(what_never_began_is_abandoned)
{
    struct reader_store *r;

    graph("", "claim say x");
    desk_ok("$MORTISE run g.yaml --id p");
    r = desk_store();
    ck_assert_uint_eq(r->n_spawns, 1);
    ck_assert_uint_eq(r->spawns[0].detached, 1);
    ck_assert_uint_eq(r->spawns[0].state, 6);
    ck_assert_uint_eq(r->n_runs, 1);
    ck_assert_uint_eq(store_reader_tree(r, "default", "p")->detached_active, 0);
    store_reader_free(r);
}
END_TEST

/* Who is cancelled while it waits takes its children along, deep. */
START_TEST(a_cancel_goes_deep)
{
    struct reader_store *r;

    graph("", "spawn spawn ask name");
    child_run("$MORTISE run g.yaml --id p");
    desk_code(4);
    child_run("$MORTISE cancel p");
    r = desk_store();
    ck_assert_uint_eq(r->n_spawns, 2);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_uint_eq(r->spawns[i].state, 5);
        ck_assert_uint_eq(r->spawns[i].status, 3);
        ck_assert_uint_eq(run_of(r, child_at(r, i))->status, 9);
    }
    store_reader_free(r);
}
END_TEST

/* The child of the k-th handle, or of the only one; and its run is over, or not. */
static void child_is(char out[64], size_t k, bool over)
{
    struct reader_store *r = desk_store();

    snprintf(out, 64, "%s", child_at(r, k));
    ck_assert_int_eq(run_of(r, out)->status >= 7, over);
    ck_assert_int_eq(r->spawns[k].state >= 5, over);
    store_reader_free(r);
}

/* Answers what a run asks. */
#define ANSWER                                                                 \
    "id=$($MORTISE inbox %s --json | grep -o '\"id\": *\"[0-9a-f]*' | head "   \
    "-1 | "                                                                    \
    "grep -o '[0-9a-f]*$'); $MORTISE answer %s $id --value '\"Ada\"'"

/* A parent that is paused in front of another node hears of its child's end all the
 * same. */
START_TEST(a_paused_parent_hears_of_its_child)
{
    char child_run_id[64];

    desk_graph("g", "interrupt_before: [b]\nstart: [a, b]\nnodes:\n"
                    "  a: {type: gmi, prompt: spawn ask name, next: END}\n"
                    "  b: {type: tool, tool: tried/echo, args: {value: 1}, "
                    "next: END}\n");
    child_run("$MORTISE run g.yaml --id p");
    desk_code(4);
    show("p");
    desk_out("\"reason\":\"interrupt\"");
    child_is(child_run_id, 0, false);
    desk_ok(ANSWER, child_run_id, child_run_id);
    show("p");
    desk_out("\"result\":{\"output\":{\"result\":\"Ada\"}}");
    desk_out("\"reason\":\"interrupt\"");
}
END_TEST

/* Who waits for a child that somebody paused waits on, and hears of it in the end. */
START_TEST(a_child_is_paused)
{
    char run[64];

    desk_put("entered", "");
    graph("", "spawn until go");
    desk_ok("$MORTISE run g.yaml --id p >run.out 2>&1 & "
            "until [ $(wc -l <entered) -ge 2 ]; do sleep 0.02; done; "
            "c=$($MORTISE show p --json | grep -o '\"child\": *\"[0-9a-f]*' | "
            "head -1 | grep -o '[0-9a-f]*$'); $MORTISE pause $c || exit 9; "
            "wait $!; test $? -eq 4");
    child_is(run, 0, false);
    desk_put("go", "");
    child_run("$MORTISE resume p");
    desk_code(4); /* it is not for who waits to go on with it */
    child_is(run, 0, false);
    desk_ok("$MORTISE resume %s", run);
    show("p");
    desk_out("\"result\":{\"output\":{\"result\":\"go\"}}");
    child_is(run, 0, true);
}
END_TEST

/* Who is sent elsewhere while it waits takes its child along, and has another in its
 * next visit. */
START_TEST(a_goto_takes_the_child_along)
{
    char first[64], second[64];
    struct reader_store *r;

    graph("", "spawn ask name");
    child_run("$MORTISE run g.yaml --id p");
    desk_code(4);
    child_is(first, 0, false);
    child_run("$MORTISE resume p --goto a");
    desk_code(4);
    r = desk_store();
    ck_assert_uint_eq(r->n_spawns, 2);
    snprintf(second, sizeof second, "%s",
             child_at(r, strcmp(child_at(r, 0), first) == 0));
    ck_assert_uint_eq(run_of(r, first)->status, 9);
    ck_assert_uint_lt(run_of(r, second)->status, 7);
    store_reader_free(r);
    desk_ok(ANSWER, second, second);
    show("p");
    desk_out("\"status\":\"completed\",\"reason\":\"\"");
    r = desk_store();
    for (size_t i = 0; i < 2; i++) {
        bool was_left = strcmp(child_at(r, i), first) == 0;

        ck_assert_uint_eq(r->spawns[i].state, 5);
        ck_assert_uint_eq(r->spawns[i].status, was_left ? 3 : 1);
    }
    ck_assert_uint_eq(store_reader_tree(r, "default", "p")->active, 0);
    store_reader_free(r);
}
END_TEST

/* So many children are open, the others cancelled. */
static void children_are(size_t open, size_t cancelled)
{
    struct reader_store *r = desk_store();
    size_t n[2] = {0};

    for (size_t i = 0; i < r->n_spawns; i++) {
        bool over = r->spawns[i].state >= 5;

        ck_assert_int_eq(run_of(r, child_at(r, i))->status >= 7, over);
        ck_assert(!over || r->spawns[i].status == 3);
        n[over]++;
    }
    ck_assert_msg(n[0] == open && n[1] == cancelled, "%zu open, %zu cancelled",
                  n[0], n[1]);
    store_reader_free(r);
}

/* The request of a node of p. */
#define REQUEST_OF                                                             \
    "$($MORTISE show p --json | tr -d ' \\n' | grep -o '\"pending\":.*' | "    \
    "grep -o '\"id\":\"[0-9a-f]*\",\"kind\":\"human\",\"node\":\"%s\"' | "     \
    "cut -d'\"' -f4)"

/* An execution that is given up while its run goes on takes its linked children
 * along, and theirs; no detached ones. */
static const struct {
    const char *name, *nodes;
    const char *asks; /* the node that is answered; NULL: none */
    size_t open, cancelled;
} given_up[] = {
    {"it lost a race",
     "start: [a, b]\nnodes:\n"
     "  a: {type: gmi, prompt: \"crowd (spawn ask name)~(ask y)\", next: j}\n"
     "  b: {type: human, prompt: b, next: j}\n"
     "  j: {type: human, prompt: j, join: any, next: END}\n",
     "b", 1, 2},
    {"it may still come to the join",
     "start: [a, b]\nnodes:\n"
     "  a: {type: gmi, prompt: spawn ask name, next: j}\n"
     "  b: {type: human, prompt: b, next: j}\n"
     "  j: {type: human, prompt: j, join: any, losers: finish, next: END}\n",
     "b", 1, 0},
    {"its subgraph lost a race",
     "start: [s, b]\nnodes:\n"
     "  s: {type: subgraph, graph: ./left.yaml, next: j}\n"
     "  b: {type: human, prompt: b, next: j}\n"
     "  j: {type: human, prompt: j, join: any, next: END}\n",
     "b", 0, 2},
    {"its subgraph is at its end",
     "start: s\nnodes:\n"
     "  s: {type: subgraph, graph: ./first.yaml, next: j}\n"
     "  j: {type: human, prompt: j, next: END}\n",
     "h", 0, 1},
    {"it failed, and that leads elsewhere",
     "start: a\nnodes:\n"
     "  a: {type: gmi, prompt: retry ask name, on_error: {goto: j}, next: "
     "END}\n"
     "  j: {type: human, prompt: j, next: END}\n",
     NULL, 0, 1},
    {"it failed, and has an output all the same",
     "start: a\nnodes:\n"
     "  a: {type: gmi, prompt: retry ask name, on_error: {value: \"'x'\"}, "
     "next: j}\n"
     "  j: {type: human, prompt: j, next: END}\n",
     NULL, 0, 1},
    {"it completed",
     "start: a\nnodes:\n"
     "  a: {type: gmi, prompt: leave ask name, next: j}\n"
     "  j: {type: human, prompt: j, next: END}\n",
     NULL, 1, 0},
    {"a failure stopped its subgraph",
     "start: s\nnodes:\n"
     "  s: {type: subgraph, graph: ./fast.yaml, on_error: {goto: j}, next: END}"
     "\n"
     "  j: {type: human, prompt: j, next: END}\n",
     "h", 0, 1},
    {"that may be mended",
     "start: [s, j]\nnodes:\n"
     "  s: {type: subgraph, graph: ./fast.yaml, next: END}\n"
     "  j: {type: human, prompt: j, next: END}\n",
     "h", 1, 0},
    {"its tool is a graph, and it lost a race",
     "start: [a, b]\nnodes:\n"
     "  a: {type: gmi, prompt: \"use graph/inner {}\", tool_allowlist: "
     "[graph/inner], next: j}\n"
     "  b: {type: human, prompt: b, next: j}\n"
     "  j: {type: human, prompt: j, join: any, next: END}\n",
     "b", 0, 1},
    {"a budget was used up, and leads elsewhere",
     "budget: {tool_calls: 3, on_exceeded: {goto: j}}\nstart: [a, h]\nnodes:\n"
     "  a: {type: gmi, prompt: spawn ask name, next: END}\n"
     "  h: {type: human, prompt: h, next: t}\n"
     "  t: {type: tool, tool: tried/echo, args: {value: 1}, next: u}\n"
     "  u: {type: tool, tool: tried/echo, args: {value: 1}, next: END}\n"
     "  j: {type: human, prompt: j, next: END}\n",
     "h", 0, 1},
};

static void write_given_up(int i)
{
    desk_graph("left", "start: [a, d]\nnodes:\n"
                       "  a: {type: gmi, prompt: spawn ask name, next: END}\n"
                       "  d: {type: gmi, prompt: leave ask name, next: END}\n");
    desk_graph("first", "end: first\nstart: [a, h]\nnodes:\n"
                        "  a: {type: gmi, prompt: spawn ask name, next: END}\n"
                        "  h: {type: human, prompt: h, next: END}\n");
    desk_graph("fast", "failure: fail_fast\nstart: [a, h]\nnodes:\n"
                       "  a: {type: gmi, prompt: spawn ask name, next: END}\n"
                       "  h: {type: human, prompt: h, next: f}\n"
                       "  f: {type: fail, message: no}\n");
    desk_put("inner.graph.yaml",
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: inner, version: 1.0.0}\nstart: n\nnodes:\n"
             "  n: {type: gmi, prompt: spawn ask name, next: END}\n");
    desk_graph("g", given_up[i].nodes);
}

START_TEST(who_is_given_up_takes_children_along)
{
    write_given_up(_i);
    child_run("$MORTISE run g.yaml --id p");
    desk_code(4);
    if (given_up[_i].asks != NULL)
        desk_ok("$MORTISE approve p " REQUEST_OF "; test $? -eq 4",
                given_up[_i].asks);
    show("p");
    desk_out("\"status\":\"waiting\"");
    children_are(given_up[_i].open, given_up[_i].cancelled);
    child_run("$MORTISE resume p"); /* again, which finds the same */
    desk_code(4);
    children_are(given_up[_i].open, given_up[_i].cancelled);
}
END_TEST

/* A run whose time is over while it waits takes its child along, which has the same
 * bound, and began so much later that its own time is not over. */
START_TEST(a_timeout_takes_the_child_along)
{
    static const long long minute = 60000;
    pid_t engine, run;
    char child_run_id[64];

    desk_graph("g", "limits: {timeout: 1h}\nstart: n\nnodes:\n"
                    "  n: {type: gmi, prompt: until go, next: a}\n"
                    "  a: {type: gmi, prompt: spawn until never, next: END}\n");
    desk_set_clock(0);
    engine = child_start("engine",
                         "env LD_PRELOAD=%s OTHERCLOCK=clock OTHERCLOCK_TOO=1 "
                         "$MORTISE engine",
                         child_build("tests/preload/otherclock.so"));
    child_await("engine.err", "holding the store");
    run = child_start("p", "$MORTISE run g.yaml --id p");
    child_await("p.out", "node_start n");
    desk_set_clock(40 * minute);
    desk_put("go", "");
    child_await("p.out", "state=running");
    desk_set_clock(70 * minute);
    ck_assert_int_eq(child_wait(run), 1);
    ck_assert_int_eq(kill(engine, SIGTERM), 0);
    ck_assert_int_eq(child_wait(engine), 0);
    child_is(child_run_id, 0, true);
    show(child_run_id);
    desk_out("\"status\":\"cancelled\"");
}
END_TEST

/* A node's time is over, or that of its subgraph, while its child is at work, and the
 * run goes on elsewhere.  The child has the same bound, but began later. */
static const char *const timed_out[] = {
    "start: a\nnodes:\n"
    "  a: {type: gmi, timeout: 1h, prompt: meet there go work never until "
    "never, on_error: {goto: j}, next: END}\n"
    "  j: {type: human, prompt: j, next: END}\n",
    "start: s\nnodes:\n"
    "  s: {type: subgraph, graph: ./slow.yaml, timeout: 1h, on_error: {goto: "
    "j}, next: END}\n"
    "  j: {type: human, prompt: j, next: END}\n"};

START_TEST(a_timeout_of_a_node_takes_the_child_along)
{
    static const long long minute = 60000;
    pid_t engine, run;
    char child_run_id[64];

    desk_graph("slow", "start: a\nnodes:\n"
                       "  a: {type: gmi, prompt: meet there go work never "
                       "until never, next: END}\n");
    desk_graph("g", timed_out[_i]);
    desk_set_clock(0);
    engine = child_start("engine",
                         "env LD_PRELOAD=%s OTHERCLOCK=clock OTHERCLOCK_TOO=1 "
                         "$MORTISE engine",
                         child_build("tests/preload/otherclock.so"));
    child_await("engine.err", "holding the store");
    run = child_start("p", "$MORTISE run g.yaml --id p");
    desk_ok("until [ -e there ]; do sleep 0.02; done");
    desk_set_clock(40 * minute);
    desk_put("go", "");
    child_await("p.out", "state=running");
    desk_set_clock(70 * minute);
    ck_assert_int_eq(child_wait(run), 4);
    desk_ok("for i in $(seq 600); do $MORTISE runs | grep -q cancelled && "
            "exit 0; sleep 0.1; done; exit 1");
    ck_assert_int_eq(kill(engine, SIGTERM), 0);
    ck_assert_int_eq(child_wait(engine), 0);
    child_is(child_run_id, 0, true);
    show(child_run_id);
    desk_out("\"status\":\"cancelled\"");
}
END_TEST

/* A child that has failed may be tried again, for its own sake: how it ended for
 * its parent, which has gone on, stays what it was. */
START_TEST(a_child_is_tried_again)
{
    char run[64];
    struct reader_store *r;

    graph("", "spawn fail badly");
    desk_ok("$MORTISE run g.yaml --id p");
    child_is(run, 0, true);
    child_run("$MORTISE resume %s", run);
    desk_code(1);
    r = desk_store();
    ck_assert_uint_eq(r->n_spawns, 1);
    ck_assert_uint_eq(r->spawns[0].state, 5);
    ck_assert_uint_eq(r->spawns[0].status, 2);
    ck_assert_uint_eq(store_reader_tree(r, "default", "p")->active, 0);
    store_reader_free(r);
    show("p");
    desk_out("\"status\":\"completed\",\"reason\":\"\"");
}
END_TEST

/* What is refused, and in which words. */
static const struct {
    const char *prompt, *words;
} misuses[] = {
    {"meddle say x", "E_NOT_ALLOWED:thechildofcall'c1'andname'helper'isrun"},
    {"stale say x", "E_STALE_TOKEN:"},
    {"other say x", "E_DETERMINISM:thespawnhandleofcall'c1'andname'helper'was"
                    "claimedforanother"},
    {"nobody x", "E_NOT_FOUND:thisrunhasnosuchspawnhandle"},
};

START_TEST(a_misuse_is_refused)
{
    graph("", misuses[_i].prompt);
    desk_ok("$MORTISE run g.yaml --id p");
    show("p");
    desk_out(misuses[_i].words);
    desk_out("\"status\":-4");
}
END_TEST

/* What is no agent has no children that are. */
START_TEST(only_agents_have_native_children)
{
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: spawns/claim, args: {call: c1, "
                    "name: n, native: true}, next: END}\n");
    desk_ok("$MORTISE run g.yaml --id p");
    show("p");
    desk_out("onlynodesoftypegmiorleafcanhavenativechildren");
}
END_TEST

/* A later attempt of who made it finds the child, by another token, and makes none. */
START_TEST(a_later_attempt_finds_the_child)
{
    struct reader_store *r;

    desk_put("entered", "");
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: gmi, prompt: \"retry until go\", "
                    "retry_policy: {max_attempts: 2, delay: 1ms}, next: END}"
                    "\n");
    desk_ok("(until [ $(wc -l <entered) -ge 3 ]; do sleep 0.02; done; "
            "touch go) & $MORTISE run g.yaml --id p; code=$?; wait; "
            "exit $code");
    show("p");
    desk_out("\"result\":{\"output\":{\"result\":\"go\"}}");
    r = desk_store();
    ck_assert_uint_eq(r->n_spawns, 1);
    ck_assert_uint_eq(r->n_runs, 2);
    ck_assert_uint_eq(r->spawns[0].epoch, 2);
    store_reader_free(r);
}
END_TEST

/* Agents at once, more than their plugin has places (8) or there are workers (4):
 * who waits for a child, or for a tool of the same or of another plugin, keeps
 * none of them from it. */
static const char *const crowded[] = {
    "crowd (crowd (say x)(say x))(say x)",
    "use spawns/begin {\\\"call\\\": \\\"c\\\"}",
    "use tried/echo {\\\"value\\\": \\\"c\\\"}",
};

START_TEST(who_waits_holds_no_place)
{
    char body[16384];
    int n = snprintf(body, sizeof body,
                     "limits: {spawn: {active: 100}, timeout: 50s}\n"
                     "start: [a0, a1, a2, a3, a4, a5, a6, a7, a8, a9]\n"
                     "nodes:\n");

    for (int k = 0; k < 10; k++)
        n += snprintf(body + n, sizeof body - (size_t)n,
                      "  a%d: {type: gmi, prompt: \"%s\", tool_allowlist: "
                      "[\"*\"], next: END}\n",
                      k, crowded[_i]);
    desk_graph("g", body);
    desk_ok("$MORTISE run g.yaml --id p");
    show("p");
    desk_not_out("refused");
    desk_not_out("\"error\":{");
}
END_TEST

/* ---- tools that are graphs, and the deployment's policy ---------------------- */

/* An agent that does that, under a policy; an operation of `graph/inner` gives
 * "reached". */
static void graph_tool(const char *policy, const char *prompt)
{
    char text[512];

    snprintf(text, sizeof text,
             "executors: {gmi: spawns/agent}\n"
             "models: {default: {provider: scripted, model: m, replies: []}}\n"
             "tools: {%s}",
             policy);
    desk_deploy(text);
    desk_put("inner.graph.yaml",
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: inner, version: 1.0.0}\nstart: n\nnodes:\n"
             "  n: {type: tool, tool: tried/echo, args: {value: reached}, "
             "next: END}\n");
    snprintf(text, sizeof text,
             "start: a\nnodes:\n  a: {type: gmi, prompt: \"%s\", "
             "tool_allowlist: [graph/inner], next: END}\n",
             prompt);
    desk_graph("g", text);
}

/* An agent and its child name the tool, or have one that leads there. */
static const char *const ways[] = {
    "use graph/inner {}", "spawn use graph/inner {}",
    "crowd (use graph/inner {})", "spawn spawn use graph/inner {}"};
enum { N_WAYS = sizeof ways / sizeof ways[0] };

/* The operation in the graph is denied: no way leads there. */
START_TEST(a_denied_operation_is_not_reached)
{
    graph_tool("deny: [tried/echo]", ways[_i]);
    child_run("$MORTISE run g.yaml --id p; $MORTISE show p --json");
    desk_not_out("reached");
    child_run("$MORTISE check g.yaml");
    desk_out("the deployment denies tried/echo");
}
END_TEST

/* ... or each call of it is asked for, of a child, too: it runs once somebody
 * approved it. */
START_TEST(an_operation_is_asked_for)
{
    graph_tool("ask: [tried/echo]", ways[_i]);
    child_run("$MORTISE run g.yaml --id p");
    desk_code(4);
    desk_ok("$MORTISE inbox");
    desk_out("tried/echo");
    desk_ok("$MORTISE inbox --ids | xargs -n 2 $MORTISE approve");
    show("p");
    desk_out("\"status\":\"completed\"");
}
END_TEST

/* Nothing denies it: each way leads there. */
START_TEST(an_operation_is_reached)
{
    graph_tool("", ways[_i]);
    desk_ok("$MORTISE run g.yaml --id p");
    desk_ok("for r in $($MORTISE runs --json | grep -o '\"run\": *\"[^\"]*' | "
            "sed 's/.*\"//'); do $MORTISE show $r --json; done");
    desk_out("reached");
}
END_TEST

/* The agents of gmi nodes and those of leaves are two plugins, each of which is
 * called once at a time. */
static void deploy_two(void)
{
    desk_deploy("executors: {gmi: spawns_one/agent, leaf: spawns_two/agent}\n"
                "models: {default: {provider: scripted, model: m, replies: "
                "[]}}");
}

/* Two runs: the agent of each has the one place of its plugin, and needs a tool of
 * the other's plugin. */
START_TEST(agents_of_two_runs_need_each_other)
{
    pid_t engine, run;

    deploy_two();
    desk_graph("g", "limits: {timeout: 50s}\nstart: a\nnodes:\n"
                    "  a: {type: gmi, prompt: \"meet f1 f2 use "
                    "spawns_two/begin {\\\"call\\\": \\\"d\\\"}\", "
                    "tool_allowlist: [spawns_two/begin], next: END}\n");
    desk_graph("h", "limits: {timeout: 50s}\nstart: a\nnodes:\n"
                    "  a: {type: leaf, goal: \"meet f2 f1 use "
                    "spawns_one/begin {\\\"call\\\": \\\"c\\\"}\", "
                    "tool_allowlist: [spawns_one/begin], next: END}\n");
    engine = child_start("engine", "$MORTISE engine");
    child_await("engine.err", "holding the store");
    run = child_start("p", "$MORTISE run g.yaml --id p");
    desk_ok("$MORTISE run h.yaml --id q");
    child_wait(run);
    desk_ok("grep 'run p completed' p.out");
    child_kill(engine);
}
END_TEST

/* An agent's tool is a graph whose leaf waits for a child, and the child's tool is a
 * graph with an agent of the first one's plugin. */
START_TEST(a_child_behind_a_tool_needs_its_asker)
{
    deploy_two();
    desk_put("inner.graph.yaml",
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: inner, version: 1.0.0}\nstart: l\nnodes:\n"
             "  l: {goal: 'spawn use graph/last {}', tool_allowlist: "
             "[graph/last], next: END}\n");
    desk_put("last.graph.yaml",
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: last, version: 1.0.0}\nstart: l\nnodes:\n"
             "  l: {type: gmi, prompt: say hello, next: END}\n");
    desk_graph("g", "limits: {timeout: 50s}\nstart: a\nnodes:\n"
                    "  a: {type: gmi, prompt: \"use graph/inner {}\", "
                    "tool_allowlist: [graph/inner], next: END}\n");
    desk_ok("$MORTISE run g.yaml --id p");
    desk_out("hello");
}
END_TEST

/* A child decides no more than its maker: what people approve there they approve
 * here. */
START_TEST(a_child_is_approved_like_its_maker)
{
    struct reader_store *r;

    desk_graph("g", "hitl_mode: approve_each_node\nstart: a\nnodes:\n"
                    "  a: {type: gmi, prompt: \"spawn say x\", next: END}\n");
    child_run("$MORTISE run g.yaml --id p");
    desk_code(4);
    desk_approve_plan("p");
    child_run("$MORTISE approve p $($MORTISE inbox p --ids | cut -d' ' -f2)");
    desk_code(4);
    r = desk_store();
    ck_assert_uint_eq(r->n_spawns, 1);
    ck_assert_uint_lt(r->spawns[0].state, 5);
    ck_assert_str_eq(run_of(r, child_at(r, 0))->reason, "approval");
    store_reader_free(r);
    desk_ok(
        "$MORTISE inbox --json"); /* its plan is a part of what was approved */
    desk_out("\"kind\":\"node\"");
    desk_not_out("\"kind\":\"plan\"");
}
END_TEST

/* An engine works until no run is under way. */
static void let_an_engine_end_them(void)
{
    desk_ok("$MORTISE engine >engine.log 2>&1 & pid=$!; "
            "until grep -q 'holding the store' engine.log || "
            "! kill -0 $pid; do sleep 0.05; done; "
            "while kill -0 $pid && $MORTISE runs | grep -q -e running -e "
            "waiting -e interrupted; do sleep 0.05; done; kill $pid && "
            "wait $pid || { cat engine.log; exit 9; }");
}

/* ---- memory ------------------------------------------------------------------ */

static struct mortise *engine;
static struct mortise_err err;

static void open_engine(void)
{
    char path[8192], state[8192];
    struct mortise_options o = {
        .size = sizeof o, .deployment = path, .store = state, .mem = &test_mem};

    snprintf(path, sizeof path, "%s/mortise.yaml", desk_dir);
    snprintf(state, sizeof state, "%s/state", desk_dir);
    ck_assert_msg(mortise_open(&engine, &o, &err) == MORTISE_OK, "%s", err.msg);
}

/* All of its turns, until nobody has anything to do: a minute at most. */
static void turn_to_rest(void)
{
    for (int i = 0; mortise_poll(engine, 100, NULL) == 1; i++)
        ck_assert_msg(i < 600, "it stands still");
}

static void start_run(const char *id)
{
    struct mortise_start_options o = {.size = sizeof o, .run = id};
    char path[8192], run[MORTISE_RUN_MAX];
    struct mortise_graph *g;

    snprintf(path, sizeof path, "%s/g.yaml", desk_dir);
    ck_assert_msg(mortise_load(engine, path, &g, NULL, &err) == MORTISE_OK,
                  "%s", err.msg);
    ck_assert_msg(mortise_start(engine, g, &o, run, &err) == MORTISE_OK, "%s",
                  err.msg);
    mortise_graph_close(g);
}

/* After so many allocations there is no memory for a while.  Whatever that stopped,
 * when there is some again, or an engine comes, all end: each child that was made
 * is made once, settled with its end, and nobody is waited for in vain. */
START_TEST(memory_runs_out)
{
    char id[32];
    struct mortise_command resume = {.size = sizeof resume,
                                     .kind = MORTISE_CMD_RESUME};
    struct reader_store *r;
    int n = 0, turn, n_runs = 0, status;
    bool failed;

    child_allows(true);
    desk_ok("true"); /* what is here may run */
    graph("", "crowd (say x)(fail y)-(ask in vain)~(say z)");
    open_engine();
    do {
        snprintf(id, sizeof id, "p%d", n_runs++);
        start_run(id);
        test_mem_fail_at(n);
        for (turn = 0; turn < 20 && mortise_poll(engine, 5, NULL) == 1;)
            turn += test_mem_failed();
        failed = test_mem_failed();
        test_mem_fail_at(-1);
        turn_to_rest();
        mortise_apply(engine, NULL, id, &resume, 1, 0, NULL, &err);
        turn_to_rest();
        if (mortise_wait(engine, NULL, id, &status, &err) != MORTISE_OK ||
            status < MORTISE_RUN_COMPLETED) {
            mortise_close(engine); /* its store's write failed, maybe */
            desk_ok("$MORTISE resume %s || test $? -eq 1", id);
            open_engine();
        }
        n += 1 + n / 8;
    } while (failed);
    mortise_close(engine);
    ck_assert_int_gt(n_runs, 20);
    let_an_engine_end_them();
    r = desk_store();
    for (size_t i = 0; i < r->n_spawns; i++) {
        const struct reader_spawn *s = &r->spawns[i];
        const struct reader_run *run = run_of(r, s->child);

        ck_assert_uint_eq(s->state, run != NULL ? 5 : s->status == 2 ? 5 : 6);
        ck_assert(run == NULL || s->status - 1 == run->status - 7);
    }
    for (size_t i = 0; i < r->n_trees; i++)
        ck_assert_uint_eq(r->trees[i].active + r->trees[i].detached_active, 0);
    for (size_t i = 0; i < r->n_runs; i++)
        ck_assert_uint_ge(r->runs[i].status, 7);
    store_reader_free(r);
}
END_TEST

/* ---- deaths ------------------------------------------------------------------ */

/* What is true of a run `p` of `again say hi` once it has ended, whatever happened on
 * the way: two children, each made once, ended, and heard. */
static void judge(unsigned long n)
{
    struct reader_store *r = desk_store();
    const struct reader_tree *t = store_reader_tree(r, "default", "p");

    ck_assert_msg(r->n_spawns == 2 && r->n_runs == 3,
                  "death %lu: %zu handles, %zu runs", n, r->n_spawns,
                  r->n_runs);
    ck_assert_uint_eq(t->total, 2);
    ck_assert_uint_eq(t->active, 0);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_uint_eq(r->spawns[i].status, 1);
        ck_assert_uint_eq(run_of(r, child_at(r, i))->status, 7);
    }
    store_reader_free(r);
}

/* Once more, until it has ended: at most so often, as nobody dies any more. */
static void go_on(unsigned long n)
{
    for (int k = 0; k < 5; k++) {
        child_run("$MORTISE show p --json");
        if (child.code != 0) /* it died before it was admitted */
            child_run("$MORTISE run g.yaml --id p");
        else
            child_run("$MORTISE resume p");
        if (child.code == 0)
            return;
    }
    ck_abort_msg("death %lu: %s%s", n, child.out, child.err);
}

/* Killed at places of the store, one after the other, until it comes through: in
 * between stand a claim, an admission, a child's end, and the parent's hearing of
 * it. */
START_TEST(killed_at_every_commit)
{
    char faulty[4096];
    unsigned long n = 0;

    snprintf(faulty, sizeof faulty, "%s", child_build("faults/mortise"));
    graph("", "again say hi");
    do {
        desk_ok("rm -rf state");
        child_run("MORTISE_FAULT_CRASH=%lu %s run g.yaml --id p",
                  n += matrix_step(4), faulty);
        if (child.code == 0)
            break;
        go_on(n);
        judge(n);
    } while (n < 200);
    judge(n);
    ck_assert_uint_gt(n, 15); /* it did die */
    ck_assert_uint_lt(n, 200);
}
END_TEST

/* A child that cannot begin, since what its maker has of its graph is nowhere in the
 * child's, has failed with that, whoever is killed when; its maker is told so. */
START_TEST(killed_where_none_can_begin)
{
    char faulty[4096];
    unsigned long n = 0;
    bool came_through;

    snprintf(faulty, sizeof faulty, "%s", child_build("faults/mortise"));
    desk_graph("g", "start: b\nnodes:\n"
                    "  b: {type: tool, tool: tried/echo, args: {value: 1}, "
                    "next: a}\n"
                    "  a: {type: gmi, prompt: \"spawn say x\", extra: {k: "
                    "\"${artifacts.b}\"}, next: END}\n");
    do {
        struct reader_store *r;

        desk_ok("rm -rf state");
        child_run("MORTISE_FAULT_CRASH=%lu %s run g.yaml --id p",
                  n += matrix_step(4), faulty);
        came_through = child.code == 0;
        if (!came_through)
            go_on(n);
        show("p");
        desk_out("\"a\":{\"status\":\"failed\",\"child\":");
        desk_out("\"code\":\"E_CHECK\",\"message\":\"thegraphofachildof"
                 "thisnodeisnotvalid:\\ng.yaml#a:1:");
        r = desk_store();
        ck_assert_uint_eq(r->n_spawns, 1);
        ck_assert_uint_eq(r->n_runs, 1);
        ck_assert_uint_eq(r->spawns[0].state, 5);
        ck_assert_uint_eq(r->spawns[0].status, 2);
        ck_assert_uint_eq(store_reader_tree(r, "default", "p")->active, 0);
        store_reader_free(r);
    } while (!came_through && n < 100);
    ck_assert_uint_gt(n, 8); /* it did die */
    ck_assert_uint_lt(n, 100);
}
END_TEST

/* The same, and an engine is what goes on: it finds all of them by itself. */
START_TEST(an_engine_finds_them)
{
    char faulty[4096];

    snprintf(faulty, sizeof faulty, "%s", child_build("faults/mortise"));
    graph("", "again say hi");
    for (unsigned long n = 1; n < 60; n += matrix_step(10)) {
        desk_ok("rm -rf state");
        child_run("MORTISE_FAULT_CRASH=%lu %s run g.yaml --id p", n, faulty);
        if (child.code == 0)
            break;
        child_run("$MORTISE show p");
        if (child.code != 0)
            continue; /* it died before it was admitted */
        let_an_engine_end_them();
        judge(n);
    }
}
END_TEST

/* Killed between its own end and that of its child, a parent leaves nobody behind:
 * an engine that starts ends the child, which waits for somebody. */
START_TEST(an_engine_ends_orphans)
{
    char faulty[4096];
    unsigned long n = 0;
    bool came_through;

    snprintf(faulty, sizeof faulty, "%s", child_build("faults/mortise"));
    graph("", "leave ask name");
    do {
        struct reader_store *r;

        desk_ok("rm -rf state");
        child_run("MORTISE_FAULT_CRASH=%lu %s run g.yaml --id p",
                  n += matrix_step(4), faulty);
        came_through = child.code == 0;
        child_run("$MORTISE show p");
        if (child.code != 0)
            continue; /* it died before it was admitted */
        let_an_engine_end_them();
        r = desk_store();
        for (size_t i = 0; i < r->n_spawns; i++)
            ck_assert_msg(r->spawns[i].state >= 5, "death %lu: %u", n,
                          r->spawns[i].state);
        store_reader_free(r);
    } while (!came_through && n < 100);
    ck_assert_uint_gt(n, 8); /* it did die */
    ck_assert_uint_lt(n, 100);
}
END_TEST

/* Killed between the commit that gives an execution up and the end of its children,
 * or between their end and that of theirs: who resumes the parent ends them, and so
 * does an engine, which finds them alone.  As long as nothing was given up they go
 * on. */
static const struct {
    int given_up;
    bool by_engine;
} killed_cases[] = {{2, false}, {0, false}, {0, true}};

START_TEST(killed_as_it_is_given_up)
{
    const size_t open = given_up[killed_cases[_i].given_up].open;
    const size_t left = given_up[killed_cases[_i].given_up].cancelled;
    char faulty[4096];
    unsigned long n = 0;
    bool came_through;

    snprintf(faulty, sizeof faulty, "%s", child_build("faults/mortise"));
    write_given_up(killed_cases[_i].given_up);
    child_run("$MORTISE run g.yaml --id p");
    desk_code(4);
    desk_ok("echo " REQUEST_OF " >id; cp -r state before", "b");
    do {
        bool lost;

        desk_ok("rm -rf state; cp -r before state");
        child_run("MORTISE_FAULT_CRASH=%lu %s approve p $(cat id)", ++n,
                  faulty);
        came_through = child.code == 4;
        show("p");
        lost = strstr(child.out, "\"path\":\"1.0/j#1\"") != NULL;
        if (!killed_cases[_i].by_engine) {
            child_run("$MORTISE resume p");
            desk_code(4);
        } else {
            desk_ok("$MORTISE engine >engine.log 2>&1 & pid=$!; "
                    "until grep -q 'holding the store' engine.log || "
                    "! kill -0 $pid; do sleep 0.05; done; "
                    "while kill -0 $pid && [ $($MORTISE runs | grep -c "
                    "cancelled) -lt %zu ]; do sleep 0.05; done; "
                    "kill $pid; wait $pid; :",
                    lost ? left : 0);
        }
        children_are(lost ? open : open + left, lost ? left : 0);
    } while (!came_through && n < 100);
    ck_assert_uint_gt(n, 4); /* it did die */
    ck_assert_uint_lt(n, 100);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("spawn_native");
    TCase *tc = tcase_create("children");

    tcase_add_unchecked_fixture(tc, sign, desk_unsign);
    tcase_add_checked_fixture(tc, begin, desk_end);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, a_child_is_a_run);
    tcase_add_test(tc, children_of_children);
    tcase_add_test(tc, two_children_at_once);
    tcase_add_test(tc, a_child_fails);
    tcase_add_test(tc, a_parent_waits_for_a_child_that_waits);
    tcase_add_test(tc, a_paused_parent_hears_of_its_child);
    tcase_add_loop_test(tc, linked_children_end_with_their_parent, 0, 4);
    tcase_add_test(tc, what_never_began_is_abandoned);
    tcase_add_test(tc, a_cancel_goes_deep);
    tcase_add_test(tc, a_child_is_paused);
    tcase_add_test(tc, a_goto_takes_the_child_along);
    tcase_add_loop_test(tc, who_is_given_up_takes_children_along, 0,
                        sizeof given_up / sizeof given_up[0]);
    tcase_add_test(tc, a_timeout_takes_the_child_along);
    tcase_add_loop_test(tc, a_timeout_of_a_node_takes_the_child_along, 0,
                        sizeof timed_out / sizeof timed_out[0]);
    tcase_add_test(tc, a_child_is_tried_again);
    tcase_add_loop_test(tc, a_misuse_is_refused, 0, 4);
    tcase_add_test(tc, only_agents_have_native_children);
    tcase_add_test(tc, a_later_attempt_finds_the_child);
    tcase_add_loop_test(tc, who_waits_holds_no_place, 0, 3);
    tcase_add_test(tc, agents_of_two_runs_need_each_other);
    tcase_add_test(tc, a_child_behind_a_tool_needs_its_asker);
    tcase_add_test(tc, a_child_is_approved_like_its_maker);
    tcase_add_loop_test(tc, a_denied_operation_is_not_reached, 0, N_WAYS);
    tcase_add_loop_test(tc, an_operation_is_asked_for, 0, N_WAYS);
    tcase_add_loop_test(tc, an_operation_is_reached, 0, N_WAYS);
    suite_add_tcase(s, tc);
    tc = tcase_create("memory");
    tcase_add_unchecked_fixture(tc, sign, desk_unsign);
    tcase_add_checked_fixture(tc, begin, desk_end);
    tcase_set_timeout(tc, 300);
    tcase_add_test(tc, memory_runs_out);
    suite_add_tcase(s, tc);
    tc = tcase_create("deaths");
    tcase_add_unchecked_fixture(tc, sign, desk_unsign);
    tcase_add_checked_fixture(tc, begin, desk_end);
    tcase_set_timeout(tc, 600);
    tcase_add_test(tc, killed_at_every_commit);
    tcase_add_test(tc, killed_where_none_can_begin);
    tcase_add_test(tc, an_engine_finds_them);
    tcase_add_test(tc, an_engine_ends_orphans);
    tcase_add_loop_test(tc, killed_as_it_is_given_up, 0,
                        sizeof killed_cases / sizeof killed_cases[0]);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
