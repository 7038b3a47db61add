/* test_cli_steer.c -- `mortise steer`: diffs of the task graph of a run, with leaves
 * whose models show what they were asked.
 *
 * What is refused leaves the store as it was; somebody else reads it
 * (lib/store_reader.h). */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "lib/desk.h"
#include "lib/shelf.h"
#include "lib/store_reader.h"

static struct shelf shelf;

static void sign_plugins(void)
{
    desk_sign();
    shelf_init(&shelf);
    shelf_put(&shelf, "speaks");
    shelf_put(&shelf, "tried");
}

static void forget_plugins(void)
{
    shelf_finish(&shelf);
    desk_unsign();
}

static const char *more = ""; /* of the store, for this test */

/* A run `r` of the graph, as far as it goes before somebody answers `ask`. */
static void begin(const char *body)
{
    char text[3 * PATH_MAX + 4096];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "plugins: {path: [\"%s\"]}\ntrust: {dir: \"%s\"}\n"
             "store: {path: ./store%s}\nmodels:\n"
             "  default: {provider: speaks, model: small}\n",
             shelf.plugins, shelf.trust, more);
    desk_put("mortise.yaml", text);
    desk_graph("g", body);
    child_run("$MORTISE run g.yaml --id r");
    ck_assert_msg(child.code == 4, "%s%s", child.out, child.err);
}

static const char report[] =
    "roles: {scout: {system_prompt_fragment: Look around.}}\n"
    "start: [find, ask]\n"
    "nodes:\n"
    "  find: {goal: say found it}\n"
    "  ask: {type: human, prompt: Enough?}\n"
    "  write: {goal: show, depends_on: [find, ask]}\n"
    "  print: {goal: show, depends_on: write}\n";

static int steer(const char *diff)
{
    desk_put("diff.yaml", diff);
    child_run("$MORTISE steer r diff.yaml");
    return child.code;
}

static void steers(const char *diff)
{
    ck_assert_msg(steer(diff) == 4 || child.code == 0, "%s%s", child.out,
                  child.err);
}

/* Somebody answers, and it comes to its end. */
static void answer(void)
{
    child_run("$MORTISE approve r $($MORTISE inbox --json | sed -n "
              "'s/.*\"id\": *\"\\([0-9a-f]*\\)\".*/\\1/p' | head -1)");
    ck_assert_msg(child.code == 0, "%s%s", child.out, child.err);
}

static json_t *show(void)
{
    json_t *v;

    desk_ok("$MORTISE show r --json");
    v = json_loads(child.out, 0, NULL);
    ck_assert_ptr_nonnull(v);
    return v;
}

/* The record at that path or of that node, a new reference; NULL: there is none. */
static json_t *record(const char *node)
{
    json_t *all = show(), *found = NULL, *one;
    size_t i;

    json_array_foreach(json_object_get(all, "nodes"), i, one)
    {
        const char *path = json_string_value(json_object_get(one, "path"));

        if (strcmp(json_string_value(json_object_get(one, "node")), node) ==
                0 ||
            (path != NULL && strcmp(path, node) == 0))
            found = one;
    }
    json_incref(found);
    json_decref(all);
    return found;
}

static void assert_status(const char *node, const char *want)
{
    json_t *one = record(node);
    const char *have = json_string_value(json_object_get(one, "status"));

    ck_assert_str_eq(have != NULL ? have : "nowhere", want);
    json_decref(one);
}

/* Does what the model of a leaf was asked have that text? */
static void assert_asked(const char *node, const char *part)
{
    json_t *one = record(node);
    const char *output = json_string_value(json_object_get(one, "output"));

    ck_assert_msg(output != NULL && strstr(output, part) != NULL,
                  "%s was asked %s", node, output);
    json_decref(one);
}

/* ---- the store, as somebody else reads it ------------------------------------------ */

static void put_hex(FILE *f, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;

    for (size_t i = 0; i < n; i++)
        fprintf(f, "%02x", p[i]);
    fprintf(f, "\n");
}

/* All that is in it; to be freed. */
static char *contents(void)
{
    struct reader_store s;
    char path[8192], *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    snprintf(path, sizeof path, "%s/store", desk_dir);
    ck_assert_msg(store_reader_read(&s, path) == 0, "%s", s.why);
    fprintf(f, "%llu %llu %zu %zu %zu %zu %zu\n",
            (unsigned long long)s.last_commit, (unsigned long long)s.epoch,
            s.n_runs, s.n_graphs, s.n_marks, s.n_deadlines, s.n_kvs);
    for (size_t i = 0; i < s.n_graphs; i++)
        put_hex(f, s.graphs[i].digest, 32);
    for (size_t i = 0; i < s.n_runs; i++) {
        const struct reader_run *r = &s.runs[i];

        fprintf(f, "%s %llu %u %u %llu %s\n", r->run,
                (unsigned long long)r->seq, r->status, r->n_pending,
                (unsigned long long)r->updated_ms, r->reason);
        put_hex(f, r->graph, 32);
        for (size_t k = 0; k < r->n_checkpoints; k++) {
            put_hex(f, r->checkpoints[k].id, 16);
            put_hex(f, r->checkpoints[k].graph, 32);
            put_hex(f, r->checkpoints[k].entries, r->checkpoints[k].size);
        }
        for (size_t k = 0; k < r->n_requests; k++)
            fprintf(f, "%s %s\n", r->requests[k].id, r->requests[k].payload);
    }
    store_reader_free(&s);
    fclose(f);
    return text;
}

/* The graph of a run's checkpoint, as hex. */
static void graph_of(uint64_t seq, char out[65])
{
    struct reader_store s;
    const struct reader_run *r;
    char path[8192];

    snprintf(path, sizeof path, "%s/store", desk_dir);
    ck_assert_msg(store_reader_read(&s, path) == 0, "%s", s.why);
    r = store_reader_run(&s, "default", "r");
    ck_assert_ptr_nonnull(r);
    ck_assert_uint_le(seq, r->n_checkpoints);
    for (size_t i = 0; i < 32; i++)
        sprintf(out + 2 * i, "%02x", r->checkpoints[seq - 1].graph[i]);
    store_reader_free(&s);
}

/* The diff is refused with this in its words, and nothing is another than it was;
 * a trial says the same. */
static void refused(const char *diff, const char *words)
{
    char *before = contents(), *after;

    ck_assert_msg(steer(diff) == 2, "%s%s", child.out, child.err);
    ck_assert_msg(strstr(child.err, words) != NULL, "no '%s' in %s", words,
                  child.err);
    after = contents();
    ck_assert_str_eq(before, after);
    free(after);
    child_run("$MORTISE steer r diff.yaml --dry-run");
    ck_assert_int_eq(child.code, 2);
    ck_assert_msg(strstr(child.err, words) != NULL, "no '%s' in %s", words,
                  child.err);
    after = contents();
    ck_assert_str_eq(before, after);
    free(after);
    free(before);
}

/* ---- each operation ----------------------------------------------------------------- */

/* A node more is told what those came to that it depends on, whether these have ended
 * or not; the next checkpoint has another digest, and those before it keep theirs.
 * event: steering_applied */
START_TEST(add)
{
    char first[65], second[65];
    json_t *all;

    begin(report);
    graph_of(1, first);
    steers("- add: {id: check, node: {goal: show, depends_on: find}}\n"
           "- add: {id: last, node: {goal: show, depends_on: [check, "
           "print]}}\n");
    ck_assert_ptr_nonnull(strstr(child.out, "steering_applied"));
    all = show();
    snprintf(second, sizeof second, "%s",
             json_string_value(
                 json_object_get(json_object_get(all, "graph"), "digest")));
    json_decref(all);
    ck_assert_str_ne(first, second);
    assert_status("check", "done");
    assert_asked("check", "found it");
    answer();
    assert_status("last", "done");
    assert_status("find", "done");
    graph_of(1, second);
    ck_assert_str_eq(first, second);
    desk_ok("$MORTISE history r --json");
    ck_assert_ptr_nonnull(strstr(child.out, "\"steer\""));
    ck_assert_ptr_nonnull(strstr(child.out, "\"check\""));
    desk_ok("$MORTISE events r");
    ck_assert_ptr_nonnull(strstr(child.out, "command=steer actor="));
}
END_TEST

/* A node less; who depended on it is rerouted by the same diff. */
START_TEST(remove_and_reroute)
{
    begin(report);
    steers("- remove: write\n"
           "- reroute: {id: print, depends_on: [ask, find]}\n");
    answer();
    assert_status("write", "nowhere");
    assert_asked("print", "found it");
}
END_TEST

/* Who is rerouted to nobody begins at once. */
START_TEST(reroute_to_nobody)
{
    begin(report);
    steers("- reroute: {id: print, depends_on: []}\n");
    assert_status("print", "done");
    assert_status("write", "pending");
    answer();
}
END_TEST

/* Several in the place of one: the first of them come after what that came after, and
 * who came after it comes after the last of them. */
START_TEST(split)
{
    begin(report);
    steers("- split:\n"
           "    id: write\n"
           "    into:\n"
           "      head: {goal: say a head}\n"
           "      body: {goal: say a body}\n"
           "      join: {goal: show, depends_on: [head, body]}\n");
    answer();
    assert_status("write", "nowhere");
    assert_asked("join", "a head");
    assert_asked("join", "a body");
    assert_status("print", "done");
    assert_status("find", "done");
}
END_TEST

/* Another role, other tools. */
START_TEST(set_role_and_tools)
{
    begin(report);
    steers("- set_role: {id: write, role: scout}\n"
           "- set_tools: {id: write, tool_allowlist: [text/lines]}\n");
    answer();
    assert_asked("write", "Look around.");
    assert_asked("write", "text__lines");
}
END_TEST

/* A team in the place of several, which are in it: it comes after what they came
 * after, and who came after them comes after it.  In it they may be steered by their
 * paths, by the same diff and by the next. */
START_TEST(wrap)
{
    begin("start: [find, ask]\n"
          "nodes:\n"
          "  find: {goal: say found it}\n"
          "  ask: {type: human, prompt: Enough?}\n"
          "  write: {goal: say written, depends_on: [find, ask]}\n"
          "  check: {goal: show, depends_on: write}\n"
          "  print: {goal: show, depends_on: check}\n");
    steers("- wrap: {ids: [write, check], team: {id: crew, goal: show}}\n"
           "- set_role: {id: crew/check, role: critic}\n");
    steers("- add: {id: crew/more, node: {goal: say more, depends_on: "
           "write}}\n");
    desk_ok("$MORTISE steer r diff.yaml --dry-run || true");
    answer();
    assert_status("1.0/crew#1/write#1", "done");
    assert_asked("1.0/crew#1/check#1", "written");
    assert_asked("1.0/crew#1/check#1", "critic");
    assert_status("1.0/crew#1/more#1", "done");
    assert_asked("1.0/crew#1/synthesis#1", "more");
    assert_status("crew", "done");
    assert_status("print", "done");
}
END_TEST

/* A trial shows the graph, and what of it ran, and changes nothing; of what comes by
 * stdin, too.
 * flag: steer --dry-run */
START_TEST(a_trial_changes_nothing)
{
    char *before, *after;
    json_t *v, *source;

    begin(report);
    before = contents();
    desk_put("diff.yaml", "[{\"remove\": \"print\"}]");
    desk_ok("$MORTISE steer r diff.yaml --dry-run");
    ck_assert_ptr_nonnull(strstr(child.out, "nodes:\n  find:\n"));
    ck_assert_ptr_nonnull(strstr(child.out, "write (leaf)"));
    ck_assert_ptr_null(strstr(child.out, "print"));
    desk_ok("$MORTISE steer r - --dry-run --json <diff.yaml");
    v = json_loads(child.out, 0, NULL);
    source = json_array_get(json_object_get(v, "sources"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(v, "run")), "r");
    ck_assert_ptr_nonnull(json_object_get(source, "text"));
    json_decref(v);
    after = contents();
    ck_assert_str_eq(before, after);
    free(before);
    free(after);
}
END_TEST

/* ---- what is refused ------------------------------------------------------------------ */

/* Whatever is wrong with any part of a diff, nothing of it is applied, and the finding
 * says where it stands. */
START_TEST(all_or_nothing)
{
#define GOOD "- set_role: {id: print, role: critic}\n"
    static const struct {
        const char *diff, *words;
    } bad[] = {
        {GOOD "- remove: writ\n", "diff.yaml:2:11: error[E0301]"},
        {GOOD "- remove: writ\n", "did you mean 'write'?"},
        {GOOD "- remove: find\n", "diff.yaml:2:11: error[E1101]"},
        {GOOD "- set_tools: {id: find, tool_allowlist: []}\n",
         "2:19: error[E1101]: node 'find' has ended"},
        {GOOD "- reroute: {id: ask, depends_on: []}\n",
         "2:17: error[E1101]: node 'ask' waits for a person"},
        {GOOD "- set_role: {id: print, role: writer}\n",
         "diff.yaml:2:18: error[E1102]"},
        {GOOD "- remove: print\n", "diff.yaml:2:11: error[E1102]"},
        {"- remove: print\n" GOOD, "diff.yaml:2:18: error[E1102]"},
        {GOOD "- remove: write\n", "diff.yaml:2:11: error[E1103]"},
        {GOOD "- add: {id: print/x, node: {goal: go}}\n",
         "diff.yaml:2:13: error[E1104]"},
        {GOOD "- add: {id: nobody/x, node: {goal: go}}\n",
         "diff.yaml:2:13: error[E0301]"},
        {GOOD "- wrap: {ids: [write, print/x], team: {id: t, goal: go}}\n",
         "diff.yaml:2:23: error[E1104]"},
        {GOOD "- wrap: {ids: [write], team: {id: find, goal: go}}\n",
         "diff.yaml:2:35: error[E1105]"},
        {GOOD "- wrap: {ids: [write], team: {goal: go}}\n",
         "diff.yaml:2:30: error[E0206]"},
        {GOOD "- wrap: {ids: [write], team: {id: t, goal: go, graph: {}}}\n",
         "diff.yaml:2:48: error[E0212]"},
        {GOOD "- add: {id: write, node: {goal: go}}\n",
         "diff.yaml:2:13: error[E1105]"},
        {GOOD "- split: {id: write, into: {find: {goal: go}}}\n",
         "diff.yaml:2:29: error[E1105]"},
        {GOOD "- split: {id: write, into: {}}\n", "error[E0208]"},
        {GOOD "- reroute: {id: write, depends_on: [print]}\n",
         "diff.yaml:2:37: error[E0304]"},
        {GOOD "- reroute: {id: write, depends_on: [nobody]}\n",
         "diff.yaml:2:37: error[E0301]"},
        {GOOD "- add: {id: x, node: {goal: go, depends_on: x}}\n",
         "error[E0304]"},
        {GOOD "- add: {id: START, node: {goal: go}}\n", "diff.yaml:2:13"},
        {GOOD "- set_role: {id: write, role: wizard}\n",
         "diff.yaml:2:31: error[E0510]"},
        {GOOD "- set_tools: {id: write, tool_allowlist: [text/nothing]}\n",
         "diff.yaml:2:43: error["},
        {GOOD "- set_role: {id: write}\n", "diff.yaml:2:3: error[E0206]"},
        {GOOD "- set_rolle: {id: write, role: critic}\n",
         "did you mean 'set_role'?"},
        {GOOD "- {remove: write, add: {id: w, node: {goal: go}}}\n",
         "diff.yaml:2:3: error[E1106]"},
        {GOOD "- write\n", "diff.yaml:2:3: error[E1106]"},
        {"[]\n", "diff.yaml:1:1: error[E1106]"},
        {"remove: write\n", "diff.yaml:1:1: error[E1106]"},
        {GOOD "- remove: [write\n", "error[E0106]"},
        {GOOD "- remove: write\n  remove: print\n", "error[E0108]"},
        {GOOD "- add: {id: x, node: {type: team, goal: go, graph: x.yaml}}\n",
         "diff.yaml:2:"},
        {GOOD "- add: {id: x, node: {type: subgraph, graph: x.yaml}}\n",
         "the run has no stored copy of this file"},
        /* what one brought wrong, another one finds */
        {GOOD "- add: {id: x, node: {goal: go, depends_on: [[find]]}}\n"
              "- wrap: {ids: [x], team: {id: t, goal: go}}\n",
         "diff.yaml:2:46: error[E0203]"},
        {GOOD "- add: {id: x, node: {goal: go, depends_on: [5, {a: b}]}}\n"
              "- split: {id: x, into: {y: {goal: go, depends_on: [null]}}}\n",
         "diff.yaml:3:15: error[E1102]"},
        {GOOD "- split: {id: write, into: {x: {goal: go}, y: [z]}}\n",
         "diff.yaml:2:47: error[E0203]: a node must be a mapping, not a list"},
        {GOOD "- add: {id: END, node: {goal: go, depends_on: find}}\n",
         "diff.yaml:2:13: error[E0302]"},
        {GOOD "- add: {id: x, node: {type: team, goal: go, graph: {start: a, "
              "nodes: [1, 2]}}}\n"
              "- add: {id: x/y, node: {goal: go}}\n",
         "diff.yaml:3:13: error[E1104]"},
        {GOOD
         "- add: {id: x, node: {type: team, goal: go, graph: {start: [[a]], "
         "nodes: {a: 1, b: [2], c: {goal: go, depends_on: {a: b}}}}}}\n"
         "- wrap: {ids: [x/c], team: {id: t, goal: go}}\n",
         "diff.yaml:2:"},
    };
#undef GOOD

    begin(report);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refused(bad[i].diff, bad[i].words);
    answer();
    assert_status("write", "done");
}
END_TEST

/* A circle is told once, where the diff closed it, whatever else of it stood there
 * before, and not what only the circle leads to. */
START_TEST(a_circle_is_of_the_diff)
{
    begin("start: ask\n"
          "nodes:\n"
          "  ask: {type: human, prompt: Enough?}\n"
          "  write: {goal: write it, depends_on: ask}\n"
          "  print: {goal: print it, depends_on: write}\n"
          "  bind: {goal: bind it, depends_on: print}\n");
    ck_assert_int_eq(
        steer("- wrap: {ids: [write, bind], team: {id: t, goal: go}}\n"), 2);
    desk_err("diff.yaml:1:41: error[E0304]: depends_on forms a cycle: ");
    desk_err("diff.yaml has 1 error");
    ck_assert_int_eq(steer("- reroute: {id: write, depends_on: [print]}\n"), 2);
    desk_err("diff.yaml:1:37: error[E0304]: depends_on forms a cycle: ");
    desk_err("diff.yaml has 1 error");
}
END_TEST

/* Who gives a diff holds the engine up no longer than so many operations take; one
 * of them may bring thousands of nodes. */
START_TEST(a_diff_has_bounds)
{
    char text[96 * 1024];
    size_t n = 0;

    begin(report);
    for (int i = 0; i < 257; i++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "- add: {id: x%d, node: {goal: go, depends_on: "
                              "ask}}\n",
                              i);
    refused(text, "diff.yaml:257:3: error[E1106]: a diff can have at most 256 "
                  "operations, but this one has 257");
    *(strstr(text, "- add: {id: x256,")) = '\0';
    ck_assert_int_eq(steer(text), 4);
    n = (size_t)snprintf(text, sizeof text,
                         "- split:\n    id: x0\n    into:\n"
                         "      y0: {goal: go}\n");
    for (int i = 1; i < 2000; i++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "      y%d: {goal: go, depends_on: y%d}\n", i,
                              i - 1);
    ck_assert_uint_lt(n, sizeof text);
    ck_assert_int_eq(steer(text), 4);
    assert_status("y1999", "pending");
}
END_TEST

/* Each of what is said of a diff, explained. */
START_TEST(codes_are_explained)
{
    for (int i = 1; i <= 6; i++)
        desk_ok("$MORTISE explain E110%d", i);
}
END_TEST

/* What is no task graph, and what has ended, is not steered. */
START_TEST(what_cannot_be_steered)
{
    begin("start: ask\n"
          "nodes:\n"
          "  ask: {type: human, prompt: Enough?, map: {over: \"[1, 2]\", to: "
          "one, join: all}}\n"
          "  one: {goal: say it, next: all}\n"
          "  all: {goal: say all}\n");
    ck_assert_int_eq(steer("- remove: all\n"), 3);
    ck_assert_ptr_nonnull(strstr(child.err, "only task graphs can be steered"));
    desk_ok("$MORTISE cancel r || true");
    ck_assert_int_ne(steer("- remove: all\n"), 0);
    ck_assert_ptr_nonnull(strstr(child.err, "cannot be steered"));
    child_run("$MORTISE steer nobody diff.yaml");
    ck_assert_int_ne(child.code, 0);
    child_run("$MORTISE steer r no-such.yaml");
    ck_assert_int_ne(child.code, 0);
}
END_TEST

/* As JSON the findings are with the error. */
START_TEST(findings_as_json)
{
    json_t *v, *one;

    begin(report);
    desk_put("diff.yaml", "- remove: find\n");
    child_run("$MORTISE steer r diff.yaml --json 2>&1");
    ck_assert_int_eq(child.code, 2);
    v = json_loads(child.out, 0, NULL);
    one = json_array_get(
        json_object_get(json_object_get(v, "error"), "findings"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(one, "code")), "E1101");
    ck_assert_int_eq(json_integer_value(json_object_get(one, "col")), 11);
    json_decref(v);
}
END_TEST

/* ---- several at once ------------------------------------------------------------------ */

/* An engine has the run: it is steered while a call of it is out, which goes on.  A
 * death of the engine changes nothing of that. */
START_TEST(while_it_runs)
{
    pid_t engine, run;

    begin(report);
    desk_graph("h", "start: [work, ask]\n"
                    "nodes:\n"
                    "  work: {type: tool, tool: tried/linger}\n"
                    "  ask: {type: human, prompt: Enough?}\n"
                    "  then: {goal: show, depends_on: ask}\n");
    engine = child_start("engine", "%s engine", child_build("mortise"));
    child_await("engine.err", "holding the store");
    run = child_start("run", "%s run h.yaml --id h", child_build("mortise"));
    child_await("run.out", "node_start work");
    child_await("run.out", "interrupt ask");
    desk_put("diff.yaml", "- add: {id: beside, node: {goal: say beside}}\n"
                          "- set_role: {id: then, role: critic}\n");
    desk_ok("$MORTISE steer h diff.yaml --no-continue");
    child_await("run.out", "node_end beside");
    desk_ok("$MORTISE show h --json");
    ck_assert_ptr_nonnull(strstr(child.out, "\"node\": \"work\""));
    ck_assert_ptr_null(strstr(child.out, "\"cancelled\""));
    child_kill(engine);
    kill(run, SIGKILL);
    child_wait(run);
    desk_put("diff.yaml", "- remove: then\n");
    child_run("$MORTISE steer h diff.yaml --no-continue");
    ck_assert_msg(child.code == 0, "%s", child.err);
    child_run("$MORTISE steer h diff.yaml --no-continue");
    ck_assert_int_eq(child.code, 2); /* it is gone */
    desk_ok("$MORTISE show h --json");
    ck_assert_ptr_null(strstr(child.out, "\"node\": \"then\""));
    ck_assert_ptr_nonnull(strstr(child.out, "\"node\": \"beside\""));
}
END_TEST

/* Several steer at once: each is held against what the others made of the graph. */
START_TEST(many_at_once)
{
    enum { MANY = 4 };
    pid_t pids[2 * MANY];
    int ok = 0, refused_so = 0;
    char name[32], text[128];

    begin(report);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "own%d.yaml", i);
        snprintf(text, sizeof text,
                 "- add: {id: own%d, node: {goal: say it, depends_on: "
                 "write}}\n",
                 i);
        desk_put(name, text);
    }
    desk_put("same.yaml",
             "- add: {id: same, node: {goal: say it, depends_on: write}}\n");
    for (int i = 0; i < 2 * MANY; i++) {
        snprintf(name, sizeof name, "p%d", i);
        pids[i] = i < MANY ? child_start(name, "%s steer r own%d.yaml",
                                         child_build("mortise"), i)
                           : child_start(name, "%s steer r same.yaml",
                                         child_build("mortise"));
    }
    for (int i = 0; i < 2 * MANY; i++) {
        int code = child_wait(pids[i]);

        if (i < MANY)
            ck_assert_int_eq(code != 2 && code != 1, 1);
        ok += i >= MANY && code != 2;
        refused_so += i >= MANY && code == 2;
    }
    ck_assert_int_eq(ok, 1);
    ck_assert_int_eq(refused_so, MANY - 1);
    answer();
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "own%d", i);
        assert_status(name, "done");
    }
    assert_status("same", "done");
    assert_status("find", "done");
}
END_TEST

/* Killed between what it says and what it does, it is all there or not at all; and
 * goes on in either case. */
START_TEST(killed_while_it_steers)
{
    char cut[64];

    begin(report);
    for (int i = 0; i < 12; i++) {
        json_t *v;
        bool has;
        char text[256];

        snprintf(text, sizeof text,
                 "- add: {id: a%d, node: {goal: say a, depends_on: write}}\n"
                 "- add: {id: b%d, node: {goal: say b, depends_on: a%d}}\n",
                 i, i, i);
        desk_put("diff.yaml", text);
        snprintf(cut, sizeof cut, "0.%03d", 4 + 6 * i);
        child_run("timeout -s KILL %s $MORTISE steer r diff.yaml", cut);
        v = show();
        snprintf(text, sizeof text, "a%d", i);
        has = false;
        for (size_t k = 0; k < json_array_size(json_object_get(v, "nodes"));
             k++)
            has |= strcmp(json_string_value(json_object_get(
                              json_array_get(json_object_get(v, "nodes"), k),
                              "node")),
                          text) == 0;
        json_decref(v);
        snprintf(text, sizeof text, "b%d", i);
        assert_status(text, has ? "pending" : "nowhere");
    }
    answer();
    assert_status("print", "done");
}
END_TEST

/* Is the graph with that digest stored under it? */
static bool is_stored(const char *digest)
{
    struct reader_store s;
    char path[8192], hex[65];
    bool found = false;

    snprintf(path, sizeof path, "%s/store", desk_dir);
    ck_assert_msg(store_reader_read(&s, path) == 0, "%s", s.why);
    for (size_t i = 0; i < s.n_graphs; i++) {
        for (size_t k = 0; k < 32; k++)
            sprintf(hex + 2 * k, "%02x", s.graphs[i].digest[k]);
        found |= strcmp(hex, digest) == 0;
    }
    store_reader_free(&s);
    return found;
}

/* What a run went by before is with its newest graph: the rest may be swept. */
START_TEST(former_graphs_are_kept_with_the_newest)
{
    char first[65];

    more = ", retention: {finished: 1s}";
    begin(report);
    more = "";
    graph_of(1, first);
    ck_assert(is_stored(first));
    steers("- remove: print\n");
    desk_graph("other", "start: a\nnodes:\n  a: {type: tool, tool: "
                        "text/join, args: {parts: [a]}}\n");
    for (int i = 0; i < 300 && is_stored(first); i++) {
        desk_ok("$MORTISE run other.yaml"); /* and earlier ones go */
        usleep(100000);
    }
    ck_assert(!is_stored(first));
    steers("- set_role: {id: write, role: critic}\n");
    answer();
    assert_asked("write", "critic");
    desk_ok("$MORTISE history r");
    desk_ok("$MORTISE events r --json");
    ck_assert_ptr_nonnull(strstr(child.out, "steering_applied"));
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("cli_steer");
    TCase *tc = tcase_create("steer");

    tcase_set_timeout(tc, 240);
    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_test(tc, add);
    tcase_add_test(tc, remove_and_reroute);
    tcase_add_test(tc, reroute_to_nobody);
    tcase_add_test(tc, split);
    tcase_add_test(tc, set_role_and_tools);
    tcase_add_test(tc, wrap);
    tcase_add_test(tc, a_trial_changes_nothing);
    tcase_add_test(tc, all_or_nothing);
    tcase_add_test(tc, a_circle_is_of_the_diff);
    tcase_add_test(tc, a_diff_has_bounds);
    tcase_add_test(tc, codes_are_explained);
    tcase_add_test(tc, what_cannot_be_steered);
    tcase_add_test(tc, findings_as_json);
    tcase_add_test(tc, while_it_runs);
    tcase_add_test(tc, many_at_once);
    tcase_add_test(tc, killed_while_it_steers);
    tcase_add_test(tc, former_graphs_are_kept_with_the_newest);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
