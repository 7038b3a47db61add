/* test_extend.c -- what docs/extending.md promises: a subcommand, a kind of nodes
 * (a file a layer), a method of the host, a kind of plugin, an entry of the
 * journal, a stage of outputs and a command on a run are one file and one row
 * each.
 *
 * Run in a build with -DMORTISE_EXTEND, in which the lists of core/ have a row
 * more, from tests/extend/, and in which nothing else of core/ is changed. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/child.h"
#include "lib/errand.h"
#include "lib/knock.h"
#include "lib/shelf.h"
#include "lib/sim.h"
#include "lib/test.h"
#include "lib/warm.h"
#include "lib/witness.h"
#include "core/plugin/registry.h"
#include "core/run/record/journal.h"

static struct mortise_err err;
static char dir[4096], manifests[4096];

static void put(const char *name, const char *text)
{
    char path[sizeof dir + 64];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    test_write(path, text, strlen(text));
}

static void setup(void)
{
    snprintf(dir, sizeof dir, "%s", test_mkdir());
    warm_libuv();
    warm_leveldb(dir);
    shelf_begin();
    ck_assert_ptr_nonnull(realpath("tests/extend/plugin", manifests));
    child_dir(dir);
}

static void teardown(void)
{
    test_rmdir(dir);
    shelf_nothing_left();
}

/* ---- a subcommand ---------------------------------------------------------- */

START_TEST(a_subcommand)
{
    child_run("$MORTISE greet Ann");
    ck_assert_int_eq(child.code, 0);
    ck_assert_str_eq(child.out, "Good day, Ann.\n");
    child_run("$MORTISE greet");
    ck_assert_int_eq(child.code, 3);
    child_run("$MORTISE --help");
    ck_assert_ptr_nonnull(strstr(child.out, "greet"));
    child_run("$MORTISE greet --help");
    ck_assert_ptr_nonnull(strstr(child.out, "mortise greet Ann"));
    child_run("$MORTISE completion bash");
    ck_assert_ptr_nonnull(strstr(child.out, "greet"));
}
END_TEST

/* ---- a kind of nodes -------------------------------------------------------- */

#define HEADER                                                                 \
    "apiVersion: mortise/v1\nkind: Graph\n"                                    \
    "metadata: {name: g, version: 1.0.0}\nstart: a\nnodes:\n"

/* Files may have it, with the keys that other kinds have, and editors know. */
START_TEST(a_kind_of_nodes)
{
    put("g.yaml", HEADER "  a: {type: note, say: {n: '${input.n}'}, "
                         "outputs: {scratch.n: output.n}, "
                         "routes: [{when: output.n > 1, to: b}], "
                         "default: END}\n"
                         "  b: {type: note, say: '${scratch.n} of them'}\n");
    child_run("$MORTISE run g.yaml --input '{\"n\": 2}' --id r && "
              "$MORTISE show r --json && $MORTISE graph show g.yaml");
    ck_assert_msg(child.code == 0, "%d: %s", child.code, child.err);
    ck_assert_ptr_nonnull(strstr(child.out, "\"2 of them\""));
    ck_assert_ptr_nonnull(strstr(child.out, "(note)"));
    child_run("$MORTISE run g.yaml --input '{\"n\": 1}' --id s && "
              "$MORTISE show s --json");
    ck_assert_msg(child.code == 0, "%d: %s", child.code, child.err);
    ck_assert_ptr_null(strstr(child.out, " of them"));
    child_run("$MORTISE schema graph");
    ck_assert_ptr_nonnull(strstr(child.out, "\"node-note\""));
}
END_TEST

/* What is wrong with such a node, or with another of its key, is said as of all
 * kinds. */
START_TEST(a_kind_of_nodes_is_checked)
{
    put("g.yaml", HEADER "  a: {type: human, prompt: x, say: y, next: b}\n"
                         "  b: {type: note, prompt: x, args: {}}\n"
                         "  c: {type: note, say: null, depends_on: b}\n"
                         "  d: {type: nte, say: x, depends_on: b}\n");
    child_run("$MORTISE check g.yaml");
    ck_assert_int_ne(child.code, 0);
    ck_assert_ptr_nonnull(strstr(child.out, "it belongs to 'note'"));
    ck_assert_ptr_nonnull(
        strstr(child.out, "'prompt' does not belong to a node of type 'note'"));
    ck_assert_ptr_nonnull(
        strstr(child.out, "a node of type 'note' needs the key 'say'"));
    ck_assert_ptr_nonnull(strstr(child.out, "a note says something"));
    ck_assert_ptr_nonnull(strstr(child.out, "did you mean 'note'?"));
}
END_TEST

/* It fails as others do, and on_error leads on. */
START_TEST(a_kind_of_nodes_may_fail)
{
    put("g.yaml",
        HEADER "  a: {type: note, say: '${1 / int(input.n)}', on_error: "
               "{goto: b}}\n"
               "  b: {type: note, say: 'so much for that'}\n");
    child_run("$MORTISE run g.yaml --input '{\"n\": 0}' --id r && "
              "$MORTISE show r --json");
    ck_assert_msg(child.code == 0, "%d: %s", child.code, child.err);
    ck_assert_ptr_nonnull(strstr(child.out, "\"expression\""));
    ck_assert_ptr_nonnull(strstr(child.out, "so much for that"));
}
END_TEST

/* ---- a method of the host ------------------------------------------------ */

START_TEST(a_method)
{
    char *so = strdup(child_build("tests/extend/plugin/echoes.so"));

    child_run("mkdir dev && cp %s dev/ && cp %s/echoes.plugin.yaml dev/", so,
              manifests);
    ck_assert_msg(child.code == 0, "%s", child.err);
    free(so);
    put("d.yaml", "apiVersion: mortise/v1\nkind: Deployment\n"
                  "metadata: {name: d}\nplugins: {dev: [./dev]}\n");
    put("g.yaml", "apiVersion: mortise/v1\nkind: Graph\n"
                  "metadata: {name: g, version: 1.0.0}\nstart: a\n"
                  "nodes:\n  a: {type: tool, tool: echoes/say, "
                  "args: {word: well}, next: END}\n");
    child_run("$MORTISE run g.yaml --deployment d.yaml --id r && "
              "$MORTISE show r --deployment d.yaml --json");
    ck_assert_msg(child.code == 0, "%d: %s", child.code, child.err);
    ck_assert_ptr_nonnull(strstr(child.out, "\"well\""));
}
END_TEST

/* ---- a kind of plugin -------------------------------------------------------- */

#define WEIGHS "weighs.plugin.yaml"

static void put_scale(void)
{
    child_run("mkdir dev && cp %s dev/ && cp %s/" WEIGHS " dev/",
              child_build("tests/extend/plugin/weighs.so"), manifests);
    ck_assert_msg(child.code == 0, "%s", child.err);
}

/* Its part of a manifest is read, it is listed, and a key may be trusted for
 * it, or not. */
START_TEST(a_kind_is_known)
{
    put_scale();
    child_run("$MORTISE check dev/" WEIGHS
              " && $MORTISE plugin inspect dev/" WEIGHS);
    ck_assert_msg(child.code == 0, "%s", child.err);
    ck_assert_ptr_nonnull(strstr(child.out, "scale"));
    child_run("sed 's/unit: grams/unit: stones/' dev/" WEIGHS " >dev/odd.yaml; "
              "$MORTISE check dev/odd.yaml; rm dev/odd.yaml");
    ck_assert_ptr_nonnull(strstr(child.out, "stones"));
    child_run("$MORTISE schema plugin | grep -c 'weighs things'");
    ck_assert_int_eq(child.code, 0);
    child_run("$MORTISE key new k --unencrypted && mkdir signed && "
              "$MORTISE plugin sign dev/" WEIGHS
              " dev/weighs.so --key k.key --out signed");
    ck_assert_msg(child.code == 0, "%s", child.err);
    child_run("$MORTISE key trust k.pub --plugins weighs --kinds %s "
              "--in-process --trust trust.d && "
              "$MORTISE key list --trust trust.d",
              _i == 0 ? "scale" : "executor");
    ck_assert_msg(child.code == 0, "%s", child.err);
    ck_assert_ptr_nonnull(
        strstr(child.out, _i == 0 ? "(scale; " : "(executor; "));
    put("d.yaml", "apiVersion: mortise/v1\nkind: Deployment\n"
                  "metadata: {name: d}\nplugins: {path: [./signed]}\n"
                  "trust: {dir: ./trust.d}\n");
    child_run("$MORTISE plugin list --deployment d.yaml");
    ck_assert_ptr_nonnull(strstr(child.out, "scale"));
    ck_assert(_i == 0 ? strstr(child.out, "provides scale") == NULL
                      : strstr(child.out, "provides scale, but") != NULL);
}
END_TEST

static void weigh(struct mortise_instance *i, struct witness *seen, uint64_t id,
                  const char *what)
{
    struct mortise_call c = {.kind = mortise_kind_scale.calls[0],
                             .id = id,
                             .operation = "",
                             .body = what,
                             .body_size = strlen(what),
                             .run_id = "",
                             .node_path = "",
                             .idempotency_key = ""};

    ck_assert_int_eq(mortise_instance_call(i, &c, &err), MORTISE_OK);
    witness_await(seen, &seen->n_dones, id);
}

/* It is loaded and called, ends later, and its answer is read by the kind. */
START_TEST(a_kind_is_called)
{
    char path[sizeof dir + 8];
    const char *dirs[] = {path};
    struct witness *seen = witness_new();
    struct mortise_plugins_config config = {.mem = &test_mem,
                                            .dirs = dirs,
                                            .n_dirs = 1,
                                            .n_dev = 1,
                                            .ops = witness_ops(seen)};
    struct mortise_plugins *plugins;
    struct mortise_instance *i;

    put_scale();
    snprintf(path, sizeof path, "%s/dev", dir);
    ck_assert_msg(mortise_plugins_open(&plugins, &config, &err) == MORTISE_OK,
                  "%s", err.msg);
    ck_assert_msg(mortise_plugins_start(plugins, "weighs", "", NULL, &i,
                                        &err) == MORTISE_OK,
                  "%s", err.msg);
    weigh(i, seen, 1, "\"feather\"");
    weigh(i, seen, 2, "\"a large stone\"");
    weigh(i, seen, 3, "\"dust\"");
    ck_assert(seen->dones[0].status == 0 && !seen->dones[0].violation);
    ck_assert(seen->dones[1].status == 0 && seen->dones[1].violation);
    ck_assert_str_eq(seen->dones[1].message, "too heavy");
    ck_assert_str_eq(seen->dones[2].message, "weigh() ended without a weight");
    mortise_plugins_close(plugins);
    witness_free(seen);
}
END_TEST

/* ---- an entry of the journal ------------------------------------------------- */

struct heard {
    int n;
    char text[32];
};

static int hear(void *ud, json_t *event)
{
    struct heard *h = ud;

    if (strcmp(json_string_value(json_object_get(event, "type")), "remark") ==
        0) {
        h->n++;
        snprintf(h->text, sizeof h->text, "%s",
                 json_string_value(json_object_get(event, "text")));
    }
    return 0;
}

/* A run of one node, replayed from its commits. */
static struct mortise_run *replayed(struct sim *s, struct heard *h)
{
    struct mortise_run *r;

    sim_init(s, sim_graph("apiVersion: mortise/v1\nkind: Graph\n"
                          "metadata: {name: g, version: 1.0.0}\n"
                          "start: a\nnodes:\n  a: {type: tool, "
                          "tool: t/echo, next: END}\n"));
    ck_assert_int_eq(sim_admit(s, "{}", &err), MORTISE_OK);
    ck_assert_int_eq(mortise_run_replay(&r, &test_mem, s->graph, "default",
                                        "run-1", hear, h, &err),
                     MORTISE_OK);
    for (size_t i = 0; i < s->n_commits; i++)
        ck_assert_int_eq(
            mortise_run_apply(r, s->commits[i].seq, s->commits[i].time_ms,
                              s->commits[i].id, s->commits[i].entries,
                              s->commits[i].size, &err),
            MORTISE_OK);
    return r;
}

/* Written, read, applied and shown. */
START_TEST(an_entry)
{
    struct mortise_entry e = {.type = MORTISE_E_REMARK, .actor = "Ann"};
    struct mortise_uuid id = {{7}};
    struct heard h = {0};
    struct mortise_buf b;
    struct mortise_run *r;
    json_t *shown, *one;
    static struct sim s;

    r = replayed(&s, &h);
    mortise_buf_init(&b, &test_mem);
    e.value = json_string("what a day");
    mortise_entry_write(&b, &e);
    ck_assert_msg(mortise_run_apply(r, s.commits[s.n_commits - 1].seq + 1,
                                    s.now_ms, id, b.p, b.n, &err) == MORTISE_OK,
                  "%s", err.msg);
    ck_assert_int_eq(h.n, 1);
    ck_assert_str_eq(h.text, "what a day");
    shown = mortise_run_describe_entries(r, b.p, b.n);
    ck_assert_uint_eq(json_array_size(shown), 1);
    one = json_array_get(shown, 0);
    ck_assert_str_eq(json_string_value(json_object_get(one, "entry")),
                     "remark");
    ck_assert_str_eq(json_string_value(json_object_get(one, "actor")), "Ann");
    ck_assert_str_eq(json_string_value(json_object_get(one, "text")),
                     "what a day");
    json_decref(shown);
    mortise_entry_finish(&e);
    mortise_buf_finish(&b);
    mortise_run_free(r);
    sim_finish(&s);
}
END_TEST

/* One that does not fit is refused, as its function says; and one that stands
 * ahead of the admission, as its row does. */
START_TEST(an_entry_that_does_not_fit)
{
    struct mortise_entry e = {.type = MORTISE_E_REMARK, .actor = "Ann"};
    struct mortise_uuid id = {{7}};
    struct heard h = {0};
    struct mortise_buf b;
    struct mortise_run *r;
    static struct sim s;

    r = replayed(&s, &h);
    mortise_buf_init(&b, &test_mem);
    e.value = json_integer(7);
    mortise_entry_write(&b, &e);
    ck_assert_int_eq(mortise_run_apply(r, s.commits[s.n_commits - 1].seq + 1,
                                       s.now_ms, id, b.p, b.n, &err),
                     MORTISE_ECORRUPT);
    mortise_run_free(r);
    ck_assert_int_eq(mortise_run_replay(&r, &test_mem, s.graph, "default",
                                        "run-1", hear, &h, &err),
                     MORTISE_OK);
    ck_assert_int_eq(mortise_run_apply(r, 1, s.now_ms, id, b.p, b.n, &err),
                     MORTISE_ECORRUPT);
    ck_assert_int_eq(h.n, 0);
    mortise_entry_finish(&e);
    mortise_buf_finish(&b);
    mortise_run_free(r);
    sim_finish(&s);
}
END_TEST

/* ---- a stage of outputs ------------------------------------------------------ */

/* It puts something in an output's place, which is what is written; and what it
 * refuses is a failure like any. */
START_TEST(a_stage)
{
    put("g.yaml",
        HEADER "  a: {type: note, say: {seal: null}, "
               "outputs: {scratch.n: output.seal}, next: b}\n"
               "  b: {type: note, say: {seal: theirs}, on_error: {goto: c}}\n"
               "  c: {type: note, say: 'it was ${scratch.n}'}\n");
    child_run("$MORTISE run g.yaml --id r && $MORTISE show r --json && "
              "$MORTISE history r --json");
    ck_assert_msg(child.code == 0, "%d: %s", child.code, child.err);
    ck_assert_ptr_nonnull(strstr(child.out, "\"it was ours\""));
    ck_assert_ptr_nonnull(strstr(child.out, "\"sealed\""));
    ck_assert_ptr_nonnull(strstr(child.out, "'theirs' is no seal of ours"));
}
END_TEST

/* ---- a command on a run ------------------------------------------------------ */

/* A run that waits for somebody, and needs no plugin. */
static void wait_for_somebody(void)
{
    put("g.yaml", "apiVersion: mortise/v1\nkind: Graph\n"
                  "metadata: {name: g, version: 1.0.0}\nstart: a\n"
                  "nodes:\n  a: {type: human, prompt: well?, next: END}\n");
    child_run("$MORTISE run g.yaml --id r");
    ck_assert_msg(child.code == 4, "%d: %s", child.code, child.err);
}

/* What people see of it afterwards, once; the run waits on. */
static void assert_noted(const char *words)
{
    char text[64];
    const char *at;

    snprintf(text, sizeof text, "\"text\":\"%s\"", words);
    child_run("$MORTISE events r --json");
    ck_assert_int_eq(child.code, 0);
    at = strstr(child.out, text);
    ck_assert_msg(at != NULL, "%s", child.out);
    ck_assert_ptr_null(strstr(at + 1, text));
    child_run("$MORTISE history r --json");
    ck_assert_ptr_nonnull(strstr(child.out, words));
    child_run("$MORTISE show r --json");
    ck_assert_ptr_nonnull(strstr(child.out, "\"waiting\""));
}

/* By its number. */
START_TEST(a_command_through_the_api)
{
    struct mortise_command c = {.size = sizeof c, .kind = 200};
    char store[sizeof dir + 16];
    struct mortise_options o = {
        .size = sizeof o, .store = store, .mem = &test_mem};
    struct mortise *m;

    wait_for_somebody();
    snprintf(store, sizeof store, "%s/.mortise", dir);
    ck_assert_msg(mortise_open(&m, &o, &err) == MORTISE_OK, "%s", err.msg);
    ck_assert_int_eq(mortise_apply(m, NULL, "r", &c, 1, 0, "Ann", &err),
                     MORTISE_EINVAL);
    ck_assert_str_eq(err.msg, "a note needs words: its reason");
    c.reason = "what a day";
    c.flags = MORTISE_CMD_FORCE;
    ck_assert_int_eq(mortise_apply(m, NULL, "r", &c, 1, 0, "Ann", &err),
                     MORTISE_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "flags"));
    c.flags = 0;
    ck_assert_msg(mortise_apply(m, NULL, "r", &c, 1, 0, "Ann", &err) ==
                      MORTISE_OK,
                  "%s", err.msg);
    mortise_close(m);
    assert_noted("what a day");
}
END_TEST

/* By its name; said again under the same order, it is not done again. */
START_TEST(a_command_through_the_socket)
{
    char store[sizeof dir + 16];
    pid_t engine;
    int fd;

    wait_for_somebody();
    snprintf(store, sizeof store, "%s/.mortise", dir);
    engine = errand_engine("engine");
    fd = knock(store);
    ck_assert_ptr_nonnull(
        strstr(knock_ask(fd, "{\"do\":\"command\",\"run\":\"r\",\"commands\":"
                             "[{\"kind\":\"note\"}]}"),
               "a note needs words"));
    for (int i = 0; i < 2; i++)
        ck_assert_ptr_nonnull(
            strstr(knock_ask(fd, "{\"do\":\"command\",\"run\":\"r\","
                                 "\"order\":\"one\",\"commands\":[{"
                                 "\"kind\":\"note\",\"reason\":\"so far\"}]}"),
                   "\"waiting\""));
    close(fd);
    assert_noted("so far");
    errand_stop(engine);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("extend");
    TCase *tc = tcase_create("rows");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_subcommand);
    tcase_add_test(tc, a_kind_of_nodes);
    tcase_add_test(tc, a_kind_of_nodes_is_checked);
    tcase_add_test(tc, a_kind_of_nodes_may_fail);
    tcase_add_test(tc, a_method);
    tcase_add_loop_test(tc, a_kind_is_known, 0, 2);
    tcase_add_test(tc, a_kind_is_called);
    tcase_add_test(tc, an_entry);
    tcase_add_test(tc, an_entry_that_does_not_fit);
    tcase_add_test(tc, a_stage);
    tcase_add_test(tc, a_command_through_the_api);
    tcase_add_test(tc, a_command_through_the_socket);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
