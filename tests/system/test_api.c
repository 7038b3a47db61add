/* test_api.c -- the embedding API, with real plugins and a real store.
 *
 * Run from the top of the tree; the plugins are those of tests/plugins. */
#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/engine/common/engine.h"
#include "server/client.h"
#include "server/control.h"
#include "server/session.h"
#include "core/json/value.h"
#include "lib/knock.h"
#include "lib/powercut.h"
#include "lib/shelf.h"
#include "lib/warm.h"
#include "core/mortise.h"

static struct shelf shelf;
static struct mortise_err err;
static struct mortise *m;
static char dir[PATH_MAX - 64]; /* of this test */
static char deployment[PATH_MAX], store[PATH_MAX], run_id[MORTISE_RUN_MAX];
static char log_text[1 << 16];
static const char *durability = "sync", *discovers = "";
static int top; /* of the tree, while a test is elsewhere */
static volatile sig_atomic_t sigpipes;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- around each test --------------------------------------------------- */

static void note(void *ud, int level, const char *msg)
{
    size_t n;

    (void)ud;
    (void)level;
    pthread_mutex_lock(&log_lock);
    n = strlen(log_text);
    snprintf(log_text + n, sizeof log_text - n, "%s\n", msg);
    pthread_mutex_unlock(&log_lock);
}

static const char *const plugins[] = {
    "ok_inline",      "ok_async",         "ok_blocking",    "counts",
    "ok_guardrail",   "never_finishes",   "finishes_twice", "emits_garbage",
    "emits_events",   "create_fails",     "asks_state",     "asks_async",
    "ignores_cancel", "counts_reconcile", "breaks_pipes",   "keeps",
    "says",           "spends",           "large_output",   "finds"};

static void write_deployment(void)
{
    char text[4 * PATH_MAX];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\n"
             "kind: Deployment\n"
             "metadata: {name: test}\n"
             "plugins:\n"
             "  path: [\"%s\"]\n"
             "  config:\n"
             "    counts: {file: \"%s/counted\"}\n"
             "    counts_reconcile: {file: \"%s/counted\"}\n"
             "trust: {dir: \"%s\"}\n"
             "store: {durability: %s}\n%s",
             shelf.plugins, dir, dir, shelf.trust, durability, discovers);
    snprintf(deployment, sizeof deployment, "%s/mortise.yaml", dir);
    test_write(deployment, text, strlen(text));
    snprintf(store, sizeof store, "%s/store", dir);
}

static struct mortise_options options(void)
{
    return (struct mortise_options){.size = sizeof(struct mortise_options),
                                    .flags = MORTISE_OPEN_LISTEN,
                                    .deployment = deployment,
                                    .store = store,
                                    .mem = &test_mem,
                                    .log = note};
}

static void open_engine(void)
{
    struct mortise_options o = options();

    ck_assert_msg(mortise_open(&m, &o, &err) == MORTISE_OK, "%s", err.msg);
    m->quiesce_ms = 300;
}

static void close_engine(void)
{
    mortise_close(m);
    m = NULL;
}

/* The plugins are signed once for all tests. */
static void sign_plugins(void)
{
    shelf_init(&shelf);
    for (size_t i = 0; i < sizeof plugins / sizeof plugins[0]; i++)
        shelf_put(&shelf, plugins[i]);
}

static void forget_plugins(void)
{
    shelf_finish(&shelf);
}

static void setup(void)
{
    snprintf(dir, sizeof dir, "%s", test_mkdir());
    warm_libuv();
    warm_leveldb(dir);
    shelf_begin();
    write_deployment();
    log_text[0] = '\0';
    open_engine();
}

static void setup_batch(void)
{
    durability = "{batch: {max_ms: 3}}";
    setup();
}

static void setup_looking(void)
{
    discovers = "discovery: {plugins: [finds]}\n"
                "guardrails: {ok: {plugin: ok_guardrail}}\n";
    setup();
    top = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_eq(chdir(dir), 0); /* `finds` writes a file there */
}

static void setup_exit(void)
{
    durability = "exit";
    setup();
}

static void teardown(void)
{
    close_engine();
    test_rmdir(dir);
    shelf_nothing_left();
}

static void teardown_looking(void)
{
    ck_assert_int_eq(fchdir(top), 0);
    close(top);
    teardown();
    discovers = "";
}

/* ---- helpers ------------------------------------------------------------ */

/* Where load() put the graph last. */
static const char *graph_path(void)
{
    static char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/test.graph.yaml", dir);
    return path;
}

static struct mortise_graph *load(const char *nodes)
{
    static const char head[] = "apiVersion: mortise/v1\n"
                               "kind: Graph\n"
                               "metadata: {name: test, version: 1.0.0}\n";
    struct mortise_graph *g;
    char text[8192], *report = NULL;

    snprintf(text, sizeof text, "%s%s", head, nodes);
    test_write(graph_path(), text, strlen(text));
    if (mortise_load(m, graph_path(), &g, &report, &err) != MORTISE_OK)
        ck_abort_msg("%s\n%s", err.msg, report != NULL ? report : "");
    mortise_free(m, report);
    return g;
}

static int try_start(const char *nodes, const char *id, const char *input)
{
    struct mortise_graph *g = load(nodes);
    struct mortise_start_options s = {
        .size = sizeof s, .run = id, .input = input};
    int rv = mortise_start(m, g, &s, run_id, &err);

    mortise_graph_close(g);
    return rv;
}

static void start(const char *nodes)
{
    ck_assert_msg(try_start(nodes, NULL, NULL) == MORTISE_OK, "%s", err.msg);
}

static int wait_for(void)
{
    int status = 0;

    ck_assert_msg(mortise_wait(m, NULL, run_id, &status, &err) == MORTISE_OK,
                  "%s", err.msg);
    return status;
}

static json_t *parse(char *text)
{
    json_t *v;

    ck_assert_msg(mortise_json_parse_written(&v, text, strlen(text), &err) ==
                      MORTISE_OK,
                  "%s", err.msg);
    mortise_free(m, text);
    return v;
}

static json_t *show(void)
{
    char *text;

    ck_assert_msg(mortise_show(m, NULL, run_id, &text, &err) == MORTISE_OK,
                  "%s", err.msg);
    return parse(text);
}

/* show's member at a path like "state.artifacts.a", as JSON text. */
static const char *shown(const char *path)
{
    static char text[4096];
    struct mortise_arena a;
    struct mortise_path p;
    json_t *v = show(), *at;
    struct mortise_buf b;

    mortise_arena_init(&a, &mortise_heap);
    ck_assert_int_eq(mortise_path_parse(&p, &a, path, strlen(path), &err),
                     MORTISE_OK);
    at = mortise_path_get(v, &p);
    mortise_buf_init(&b, &mortise_heap);
    if (at != NULL)
        mortise_json_write(&b, at);
    snprintf(text, sizeof text, "%.*s", (int)b.n, b.p != NULL ? b.p : "");
    mortise_buf_finish(&b);
    mortise_arena_finish(&a);
    json_decref(v);
    return text;
}

static int command(const struct mortise_command *c, uint32_t flags)
{
    return mortise_apply(m, NULL, run_id, c, 1, flags, NULL, &err);
}

static int resume(void)
{
    struct mortise_command c = {.size = sizeof c, .kind = MORTISE_CMD_RESUME};

    return command(&c, 0);
}

/* The id of the only pending request. */
static const char *pending(void)
{
    static char id[MORTISE_DIGEST_HEX];
    json_t *v = show(), *list = json_object_get(v, "pending");

    ck_assert_uint_eq(json_array_size(list), 1);
    snprintf(id, sizeof id, "%s",
             json_string_value(json_object_get(json_array_get(list, 0), "id")));
    json_decref(v);
    return id;
}

static void shown_as(const char *status, const char *reason)
{
    json_t *v = show();

    ck_assert_str_eq(json_string_value(json_object_get(v, "status")), status);
    ck_assert_str_eq(json_string_value(json_object_get(v, "reason")), reason);
    json_decref(v);
}

static int answer(const char *id, const char *value)
{
    struct mortise_command c = {
        .size = sizeof c, .kind = MORTISE_CMD_ANSWER, .id = id, .json = value};

    return command(&c, 0);
}

/* How often `counts` did it. */
static int counted(void)
{
    char path[PATH_MAX], *text;
    int n = 0;

    snprintf(path, sizeof path, "%s/counted", dir);
    if (access(path, F_OK) != 0)
        return 0;
    text = test_read(path, NULL);
    for (char *p = text; *p != '\0'; p++)
        n += *p == '\n';
    free(text);
    return n;
}

static const char echo[] = "start: a\n"
                           "nodes:\n"
                           "  a: {type: tool, tool: ok_inline/echo,"
                           " args: {x: 1}, next: END}\n";
static const char human[] =
    "start: a\n"
    "nodes:\n"
    "  a: {type: human, prompt: Well?, next: b}\n"
    "  b: {type: tool, tool: counts/count, args: {}, next: END}\n";
static const char nap[] = "start: a\n"
                          "nodes:\n"
                          "  a: {type: tool, tool: ok_blocking/sleep, args: "
                          "{ms: 60000}, next: END}\n";

/* ---- running ------------------------------------------------------------ */

/* Each way of being called gives the same result. */
START_TEST(every_threading_runs) /* loop: 0..2 */
{
    static const char *const names[] = {"ok_inline", "ok_async", "ok_blocking"};
    char nodes[512];

    snprintf(nodes, sizeof nodes,
             "start: a\n"
             "nodes:\n"
             "  a: {type: tool, tool: %s/echo, args: {x: 1}, next: b}\n"
             "  b: {type: tool, tool: %s/echo,"
             " args: {y: \"${artifacts.a.x}\"}, next: END}\n",
             names[_i], names[_i]);
    start(nodes);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    ck_assert_str_eq(shown("state.artifacts.b"), "{\"y\":1}");
    ck_assert_int_eq(mortise_poll(m, 0, &err), 0);
}
END_TEST

/* A run id is given back only once the admission can be read from disk. */
START_TEST(a_start_is_durable)
{
    char *text;

    ck_assert_int_eq(try_start(nap, "mine", NULL), MORTISE_OK);
    ck_assert_str_eq(run_id, "mine");
    ck_assert_int_eq(mortise_runs(m, NULL, NULL, 0, &text, &err), MORTISE_OK);
    ck_assert_ptr_nonnull(strstr(text, "\"mine\""));
    ck_assert_ptr_nonnull(strstr(text, "\"live\":true"));
    mortise_free(m, text);
    close_engine(); /* the nap is cancelled */
    open_engine();
    ck_assert_str_eq(shown("run"), "\"mine\"");
}
END_TEST

/* An id that exists is refused, in memory and from disk; so are odd ones. */
START_TEST(ids_are_checked)
{
    char long_id[200];

    ck_assert_int_eq(try_start(nap, "x", NULL), MORTISE_OK);
    ck_assert_int_eq(try_start(nap, "x", NULL), MORTISE_EEXISTS);
    close_engine();
    open_engine();
    ck_assert_int_eq(try_start(nap, "x", NULL), MORTISE_EEXISTS);
    memset(long_id, 'a', sizeof long_id - 1);
    long_id[sizeof long_id - 1] = '\0';
    ck_assert_int_eq(try_start(echo, long_id, NULL), MORTISE_EINVAL);
    ck_assert_int_eq(try_start(echo, "a/b", NULL), MORTISE_EINVAL);
    ck_assert_int_eq(try_start(echo, "", NULL), MORTISE_EINVAL);
    ck_assert_str_eq(run_id, "");
    ck_assert_int_eq(try_start(echo, "y", "[1"), MORTISE_EINVAL);
    ck_assert_int_eq(try_start(echo, "y", "[1]"), MORTISE_EINVAL);
    ck_assert_int_eq(try_start(echo, "y", "{}"), MORTISE_OK);
}
END_TEST

/* What nobody works on is not in memory. */
START_TEST(idle_runs_leave_memory)
{
    start(human);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_WAITING);
    ck_assert_uint_eq(m->lives.n, 0);
    ck_assert_int_eq(answer(pending(), "{\"approved\":true}"), MORTISE_OK);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    ck_assert_uint_eq(m->lives.n, 0);
    ck_assert_int_eq(counted(), 1);
}
END_TEST

/* A hundred runs at once, over all kinds of plugins, with more nodes than any
 * lane takes. */
START_TEST(many_runs_at_once)
{
    static const char nodes[] =
        "start: [a, b, c]\n"
        "nodes:\n"
        "  a: {type: tool, tool: ok_async/sleep, args: {ms: 2}, next: d}\n"
        "  b: {type: tool, tool: ok_blocking/sleep, args: {ms: 1}, next: d}\n"
        "  c: {type: tool, tool: ok_inline/echo, args: {}, next: d}\n"
        "  d: {type: tool, tool: ok_inline/echo, args: {}, next: END}\n";
    struct mortise_graph *g = load(nodes);
    struct mortise_start_options s = {.size = sizeof s};
    char ids[100][MORTISE_RUN_MAX];
    int status;

    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(mortise_start(m, g, &s, ids[i], &err), MORTISE_OK);
    mortise_graph_close(g);
    while (m->lives.n > 0) /* on a slow day all is over by now */
        mortise_poll(m, -1, &err);
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(mortise_wait(m, NULL, ids[i], &status, &err),
                         MORTISE_OK);
        ck_assert_int_eq(status, MORTISE_RUN_COMPLETED);
    }
}
END_TEST

/* A long chain of inline nodes neither recurses nor scans. */
START_TEST(a_long_chain)
{
    char *nodes = malloc(200000);
    size_t n =
        (size_t)sprintf(nodes, "start: n0\nlimits: {steps: 1001}\nnodes:\n");
    struct mortise_graph *g;
    struct mortise_start_options s = {.size = sizeof s};
    char path[PATH_MAX], *report = NULL;
    FILE *f;

    for (int i = 0; i < 1000; i++)
        n += (size_t)sprintf(nodes + n,
                             "  n%d: {type: tool, tool: ok_inline/echo,"
                             " args: {x: 1}, output_as: null, next: n%d}\n",
                             i, i + 1);
    sprintf(nodes + n, "  n1000: {type: tool, tool: ok_inline/echo, args: {},"
                       " next: END}\n");
    snprintf(path, sizeof path, "%s/long.graph.yaml", dir);
    f = fopen(path, "w");
    fprintf(f,
            "apiVersion: mortise/v1\nkind: Graph\n"
            "metadata: {name: long, version: 1.0.0}\n%s",
            nodes);
    fclose(f);
    free(nodes);
    if (mortise_load(m, path, &g, &report, &err) != MORTISE_OK)
        ck_abort_msg("%s\n%s", err.msg, report != NULL ? report : "");
    mortise_free(m, report);
    ck_assert_msg(mortise_start(m, g, &s, run_id, &err) == MORTISE_OK, "%s",
                  err.msg);
    mortise_graph_close(g);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    ck_assert_str_eq(shown("steps"), "1001");
}
END_TEST

/* ---- failures ----------------------------------------------------------- */

/* A transient failure is retried, a permanent one is not. */
START_TEST(retries)
{
    start("start: a\n"
          "nodes:\n"
          "  a: {type: tool, tool: ok_blocking/fail,"
          " args: {class: transient, times: 2},"
          " retry_policy: {max_attempts: 3, backoff: fixed, delay: 20ms},"
          " next: END}\n");
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    ck_assert_str_eq(shown("nodes[0].attempts"), "3");
    start("start: a\n"
          "nodes:\n"
          "  a: {type: tool, tool: ok_inline/fail, args: {code: so_what},"
          " retry_policy: {max_attempts: 3, backoff: fixed, delay: 20ms},"
          " next: END}\n");
    ck_assert_int_eq(wait_for(), MORTISE_RUN_FAILED);
    ck_assert_str_eq(shown("nodes[0].attempts"), "1");
    ck_assert_str_eq(shown("error.code"), "\"so_what\"");
    ck_assert_str_eq(shown("error.message"), "\"failed as asked\"");
}
END_TEST

/* A node's time is over: it is cancelled, and fails as a timeout. */
START_TEST(a_timeout_cancels)
{
    uint64_t before = mortise_mono_ns();

    start("start: a\n"
          "nodes:\n"
          "  a: {type: tool, tool: ok_async/sleep, args: {ms: 60000},"
          " timeout: 50ms, next: END}\n");
    ck_assert_int_eq(wait_for(), MORTISE_RUN_FAILED);
    ck_assert_str_eq(shown("error.code"), "\"timeout.call\"");
    ck_assert_uint_lt(mortise_mono_ns() - before, 40000000000u);
}
END_TEST

/* A plugin that does not let go is given up, not waited for; and no graph may
 * use it again, in this process or the next. */
START_TEST(never_finishing)
{
    static const char nodes[] =
        "start: a\n"
        "nodes:\n"
        "  a: {type: tool, tool: never_finishes/run, args: {},"
        " timeout: 20ms, next: END}\n";
    struct mortise_graph *g;
    char *report;

    start(nodes);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_FAILED);
    ck_assert_str_eq(shown("error.code"), "\"timeout.unresponsive\"");
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(mortise_load(m, graph_path(), &g, &report, &err),
                         MORTISE_ECHECK);
        ck_assert_ptr_nonnull(strstr(report, "quarantined"));
        ck_assert_ptr_nonnull(strstr(report, "did not return"));
        mortise_free(m, report);
        close_engine();
        open_engine();
    }
}
END_TEST

/* A worker that hangs in a plugin is replaced: others go on meanwhile. */
START_TEST(a_hanging_worker_is_replaced)
{
    char hung[4][MORTISE_RUN_MAX];
    int status;

    for (int i = 0; i < 4; i++) { /* its concurrency is 2 */
        start("start: a\n"
              "nodes:\n"
              "  a: {type: tool, tool: ignores_cancel/run, args: {ms: 1500},"
              " timeout: 20ms, next: END}\n");
        strcpy(hung[i], run_id);
    }
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(mortise_wait(m, NULL, hung[i], &status, &err),
                         MORTISE_OK);
        ck_assert_int_eq(status, MORTISE_RUN_FAILED);
    }
    start("start: a\n"
          "nodes:\n"
          "  a: {type: tool, tool: ok_blocking/echo, args: {}, next: END}\n");
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    usleep(1600000); /* the hung ones come back, and nobody minds */
}
END_TEST

/* Finishing twice, emitting garbage, failing in create: each one sentence. */
START_TEST(misbehaving_plugins)
{
    start("start: a\n"
          "nodes:\n"
          "  a: {type: tool, tool: finishes_twice/run, args: {}, next: END}\n");
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    ck_assert_str_eq(shown("state.artifacts.a"), "1");
    start("start: a\n"
          "nodes:\n"
          "  a: {type: tool, tool: emits_garbage/run, args: {}, next: END}\n");
    ck_assert_int_eq(wait_for(), MORTISE_RUN_FAILED);
    ck_assert_str_eq(shown("error.code"), "\"bad_output\"");
    start("start: a\n"
          "nodes:\n"
          "  a: {type: tool, tool: create_fails/run, args: {}, next: END}\n");
    ck_assert_int_eq(wait_for(), MORTISE_RUN_FAILED);
    ck_assert_str_eq(shown("error.code"), "\"plugin\"");
}
END_TEST

static atomic_int refusals; /* of large blocks of jansson's, from now on */

static void *refuse_large(size_t n)
{
    if (n >= 1 << 20 && atomic_fetch_sub(&refusals, 1) > 0)
        return NULL;
    return malloc(n);
}

/* Memory that runs out for an output is no fault of the plugin's: the error is
 * transient, and the call is tried again. */
START_TEST(no_memory_for_an_output)
{
    json_set_alloc_funcs(refuse_large, free);
    atomic_store(&refusals, 1);
    start("start: a\n"
          "nodes:\n"
          "  a: {type: tool, tool: large_output/run, args: {bytes: 2000000},"
          " next: END}\n");
    ck_assert_int_eq(wait_for(), MORTISE_RUN_FAILED);
    ck_assert_str_eq(shown("error.code"), "\"memory\"");
    ck_assert_str_eq(shown("error.class"), "\"transient\"");
    atomic_store(&refusals, 1);
    start("start: a\n"
          "nodes:\n"
          "  a: {type: tool, tool: large_output/run, args: {bytes: 2000000},"
          " retry_policy: {max_attempts: 2, delay: 1ms}, next: END}\n");
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    ck_assert_int_le(atomic_load(&refusals), 0);
}
END_TEST

#define SAYS(args)                                                             \
    "start: a\n"                                                               \
    "nodes:\n"                                                                 \
    "  a: {type: tool, tool: says/run, args: " args ", targets: b, next: c}\n" \
    "  b: {type: tool, tool: ok_inline/echo, args: {}}\n"                      \
    "  c: {type: tool, tool: ok_inline/echo, args: {}}\n"

/* A plugin says where a run goes on and what is to be written; what is no JSON,
 * or no target, it does not say. */
START_TEST(plugins_go_and_write)
{
    start(SAYS("{goto: b, update: '{\"scratch\": {\"v\": [1]}}'}"));
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    ck_assert_str_eq(shown("state.scratch"), "{\"v\":[1]}");
    ck_assert_str_eq(shown("state.artifacts.b"), "{}");
    ck_assert_str_eq(shown("state.artifacts.c"), "");
    start(SAYS("{update: '{\"scratch\": '}"));
    ck_assert_int_eq(wait_for(), MORTISE_RUN_FAILED);
    ck_assert_str_eq(shown("error.code"), "\"bad_output\"");
    start(SAYS("{goto: \"b\\xff\"}"));
    ck_assert_int_eq(wait_for(), MORTISE_RUN_FAILED);
    ck_assert_str_eq(shown("error.code"), "\"route\"");
}
END_TEST

/* A plugin says what it costs: it stands in the record of its execution,
 * whether it succeeds or not.  It learns that a usage
 * is invalid, and the sum is unclear. */
START_TEST(plugins_cost)
{
    start("start: a\n"
          "nodes:\n"
          "  a: {type: tool, tool: spends/run, args: {usage: [\n"
          "      '{\"model_calls\": 1, \"input_tokens\": 10}',\n"
          "      '{\"tokens\": 1}', '{\"usd\": \"1\"}',\n"
          "      '{\"model_calls\": 1, \"usd\": 0.0125}']}}\n");
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    ck_assert_str_eq(shown("state.artifacts.a"), "[0,-2,-2,0]");
    ck_assert_str_eq(shown("nodes[0].usage"),
                     "{\"model_calls\":2,\"input_tokens\":10,"
                     "\"output_tokens\":0,\"usd\":0.0125,\"unclear\":true}");
    ck_assert_str_eq(shown("usage.model_calls"), "2");
    start("start: a\n"
          "nodes:\n"
          "  a: {type: tool, tool: spends/run, args: {class: permanent,\n"
          "      usage: ['{\"output_tokens\": 3}']}}\n");
    ck_assert_int_eq(wait_for(), MORTISE_RUN_FAILED);
    ck_assert_str_eq(shown("nodes[0].usage.output_tokens"), "3");
}
END_TEST

/* Budgets reserve what a manifest says at most, and keep what a call told. */
START_TEST(manifests_bound_costs)
{
    start("start: a\n"
          "budget: {usd: 0.75, tokens: 1000}\n"
          "nodes:\n"
          "  a: {type: tool, tool: spends/run, next: b, args: {usage: [\n"
          "      '{\"input_tokens\": 10, \"usd\": 0.3}']}}\n"
          "  b: {type: tool, tool: spends/run, args: {}}\n");
    ck_assert_int_eq(wait_for(), MORTISE_RUN_PAUSED);
    ck_assert_str_eq(shown("budget.usd"), "{\"limit\":0.75,\"used\":0.3}");
    ck_assert_str_eq(shown("budget.tokens.used"), "10");
    ck_assert_str_eq(shown("pending[0].budget"), "\"usd\"");
}
END_TEST

static void count_sigpipe(int sig)
{
    (void)sig;
    sigpipes++;
}

/* A plugin that writes to a broken pipe, on the thread of the engine's host,
 * raises nothing there. */
START_TEST(plugins_break_pipes)
{
    signal(SIGPIPE, count_sigpipe);
    start("start: a\n"
          "nodes:\n"
          "  a: {type: tool, tool: breaks_pipes/run, args: {}, next: END}\n");
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    close_engine();
    ck_assert_int_eq(sigpipes, 0);
    raise(SIGPIPE);
    ck_assert_int_eq(sigpipes, 1);
    signal(SIGPIPE, SIG_DFL);
    open_engine();
}
END_TEST

/* What a plugin may see of the state it gets, and nothing else. */
START_TEST(plugins_ask_for_state)
{
    start("start: a\n"
          "nodes:\n"
          "  a: {type: tool, tool: ok_inline/echo, args: {k: 7},"
          " outputs: {scratch.v: output.k}, next: [b, c, d, e, f]}\n"
          "  b: {type: tool, tool: asks_state/get, args: {path: scratch.v},"
          " next: END}\n"
          "  c: {type: tool, tool: asks_state/get, args: {path: input},"
          " next: END}\n"
          "  d: {type: tool, tool: asks_state/get, args: {path: scratch.no},"
          " next: END}\n"
          "  e: {type: tool, tool: asks_state/get, args: {path: 'a..b'},"
          " next: END}\n"
          "  f: {type: tool, tool: asks_async/get, args: {path: scratch.v},"
          " next: END}\n");
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    ck_assert_str_eq(shown("state.artifacts.b"), "7");
    ck_assert_str_eq(shown("state.artifacts.c"), "{\"status\":-4}");
    ck_assert_str_eq(shown("state.artifacts.d"), "{\"status\":-5}");
    ck_assert_str_eq(shown("state.artifacts.e"), "{\"status\":-2}");
    ck_assert_str_eq(shown("state.artifacts.f"), "7");
}
END_TEST

/* ---- commands: the table of runtime.md 4 -------------------------------- */

START_TEST(unknown_runs_are_not_found)
{
    char *text;

    strcpy(run_id, "nobody");
    ck_assert_int_eq(resume(), MORTISE_ENOTFOUND);
    ck_assert_int_eq(mortise_show(m, NULL, run_id, &text, &err),
                     MORTISE_ENOTFOUND);
    ck_assert_int_eq(mortise_wait(m, NULL, run_id, NULL, &err),
                     MORTISE_ENOTFOUND);
    start(echo); /* another tenant's is as if it were not there */
    ck_assert_int_eq(mortise_show(m, "other", run_id, &text, &err),
                     MORTISE_ENOTFOUND);
    ck_assert_int_eq(mortise_history(m, "other", run_id, &text, &err),
                     MORTISE_ENOTFOUND);
}
END_TEST

/* A decision has the whole id of its run and of its request: parts of them, and
 * none, decide nothing, whatever state the run is in. */
START_TEST(decisions_name_their_requests)
{
    static const uint32_t kinds[] = {
        MORTISE_CMD_ANSWER, MORTISE_CMD_APPROVE_TOOL, MORTISE_CMD_RESOLVE};
    char whole[MORTISE_DIGEST_HEX], part[9];
    struct mortise_command c = {
        .size = sizeof c, .decision = "approve", .json = "{\"approved\":true}"};

    start("start: a\nnodes:\n  a: {type: human, prompt: p, next: END}\n");
    ck_assert_int_eq(wait_for(), MORTISE_RUN_WAITING);
    snprintf(whole, sizeof whole, "%s", pending());
    snprintf(part, sizeof part, "%.8s", whole);
    for (size_t i = 0; i < 2 * sizeof kinds / sizeof *kinds; i++) {
        c.kind = kinds[i / 2];
        c.id = i % 2 == 0 ? "" : NULL;
        ck_assert_int_eq(command(&c, 0), MORTISE_EINVAL);
        c.id = i % 2 == 0 ? part : "a";
        ck_assert_int_eq(command(&c, 0), MORTISE_EMISMATCH);
    }
    ck_assert_int_eq(answer(whole, c.json), MORTISE_OK);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    c.kind = MORTISE_CMD_APPROVE_TOOL;
    c.id = "";
    ck_assert_int_eq(command(&c, 0), MORTISE_EINVAL);
    c.id = whole;
    run_id[strlen(run_id) - 1] = '\0';
    ck_assert_int_eq(command(&c, 0), MORTISE_ENOTFOUND);
}
END_TEST

/* goto an unknown node: refused, and nothing is recorded. */
START_TEST(goto_an_unknown_node)
{
    struct mortise_command c = {
        .size = sizeof c, .kind = MORTISE_CMD_GOTO, .node = "zzz"};
    char before[32];

    start(human);
    wait_for();
    snprintf(before, sizeof before, "%s", shown("seq"));
    ck_assert_int_eq(command(&c, 0), MORTISE_EUNKNOWN_NODE);
    ck_assert_str_eq(shown("seq"), before);
}
END_TEST

/* Decisions that fit nothing, twice the same, of a wrong kind. */
START_TEST(decisions_must_fit)
{
    struct mortise_command approve = {.size = sizeof approve,
                                      .kind = MORTISE_CMD_APPROVE_TOOL,
                                      .id = "0123",
                                      .decision = "approve"};
    char id[MORTISE_DIGEST_HEX];

    start(human);
    wait_for();
    snprintf(id, sizeof id, "%s", pending());
    ck_assert_int_eq(answer("0123", "{\"approved\":true}"), MORTISE_EMISMATCH);
    ck_assert_int_eq(command(&approve, 0), MORTISE_EMISMATCH);
    approve.id = id;
    ck_assert_int_eq(command(&approve, 0), MORTISE_EMISMATCH);
    approve.decision = "await_external";
    ck_assert_int_eq(command(&approve, 0), MORTISE_EDECISION);
    ck_assert_int_eq(answer(id, "{\"approved\":false}"), MORTISE_OK);
    ck_assert_int_eq(answer(id, "{\"approved\":false}"), MORTISE_EMISMATCH);
}
END_TEST

/* A request that is settled says what became of it and who said so, to every
 * kind of decision, also when the run has ended and was loaded anew; what has
 * ended is not stopped. */
START_TEST(decisions_come_too_late)
{
    static const uint32_t kinds[] = {
        MORTISE_CMD_ANSWER, MORTISE_CMD_APPROVE_TOOL, MORTISE_CMD_RESOLVE};
    static const uint32_t stops[] = {MORTISE_CMD_PAUSE, MORTISE_CMD_CANCEL};
    char id[MORTISE_DIGEST_HEX], seq[32];
    struct mortise_command c = {
        .size = sizeof c, .id = id, .json = "{\"approved\":true}"};

    start(human);
    wait_for();
    snprintf(id, sizeof id, "%s", pending());
    ck_assert_int_eq(answer(id, "{\"approved\":false}"), MORTISE_OK);
    wait_for();
    snprintf(seq, sizeof seq, "%s", shown("seq"));
    for (size_t i = 0; i < 3; i++) {
        c.kind = kinds[i];
        c.decision = i < 2 ? "approve" : "retry";
        ck_assert_int_eq(command(&c, 0), MORTISE_EMISMATCH);
        ck_assert_ptr_nonnull(strstr(err.msg, "already settled: rejected by "));
    }
    for (size_t i = 0; i < 2; i++) {
        c = (struct mortise_command){.size = sizeof c, .kind = stops[i]};
        ck_assert_int_eq(command(&c, 0), MORTISE_ESTATE);
        ck_assert_ptr_nonnull(strstr(err.msg, "has already ended"));
    }
    ck_assert_str_eq(shown("seq"), seq);
}
END_TEST

/* Started, its plan approved. */
static void start_approved(const char *nodes)
{
    start(nodes);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_WAITING);
    ck_assert_int_eq(answer(pending(), "{\"approved\":true}"), MORTISE_OK);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_WAITING);
}

/* An approval binds to the digest of what will run. */
START_TEST(tool_approvals)
{
    static const char nodes[] =
        "hitl_mode: approve_tools\n"
        "start: a\n"
        "nodes:\n"
        "  a: {type: tool, tool: counts/count, args: {n: 1}, next: END}\n";
    struct mortise_command c = {.size = sizeof c,
                                .kind = MORTISE_CMD_APPROVE_TOOL,
                                .decision = "approve",
                                .digest = "00"};
    char id[MORTISE_DIGEST_HEX];

    start_approved(nodes);
    ck_assert_int_eq(counted(), 0);
    snprintf(id, sizeof id, "%s", pending());
    c.id = id;
    ck_assert_int_eq(command(&c, 0), MORTISE_EMISMATCH);
    c.digest = NULL;
    ck_assert_int_eq(command(&c, 0), MORTISE_OK);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(counted(), 1);

    start_approved(nodes);
    snprintf(id, sizeof id, "%s", pending());
    c.decision = "reject";
    c.reason = "no";
    ck_assert_int_eq(command(&c, 0), MORTISE_OK);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_FAILED);
    ck_assert_str_eq(shown("error.code"), "\"rejected\"");
    ck_assert_int_eq(counted(), 1);
}
END_TEST

/* A request whose time is over cannot be answered. */
START_TEST(expired_requests)
{
    static const char nodes[] =
        "start: a\n"
        "nodes:\n"
        "  a: {type: human, prompt: Well?, wait: 1500ms, on_timeout: reject,"
        " next: END}\n";
    char id[MORTISE_DIGEST_HEX];

    start(nodes);
    wait_for();
    snprintf(id, sizeof id, "%s", pending());
    usleep(1600000); /* nobody turns the engine meanwhile */
    ck_assert_int_eq(answer(id, "{\"approved\":true}"), MORTISE_EMISMATCH);
    ck_assert_ptr_nonnull(strstr(err.msg, "expired"));
}
END_TEST

/* An engine that turns fires deadlines of runs that are not in memory, also
 * those it only found on disk. */
START_TEST(deadlines_fire) /* loop: same engine, opened anew */
{
    char *text = NULL;

    start("start: a\n"
          "nodes:\n"
          "  a: {type: human, prompt: Well?, wait: 1500ms, on_timeout: reject,"
          " next: END}\n");
    ck_assert_int_eq(wait_for(), MORTISE_RUN_WAITING);
    if (_i == 1) {
        close_engine();
        open_engine();
    }
    do {
        ck_assert_int_ge(mortise_poll(m, 20, &err), 0);
        mortise_free(m, text);
        ck_assert_int_eq(mortise_runs(m, NULL, NULL, 0, &text, &err),
                         MORTISE_OK);
    } while (strstr(text, "\"completed\"") == NULL);
    mortise_free(m, text);
    ck_assert_ptr_nonnull(
        strstr(shown("state.artifacts.a.decided_by"), "timeout-reject"));
}
END_TEST

#define ASKS "{type: human, prompt: Well?, wait: 200ms, on_timeout: accept}"

/* Nodes that have no operation, or end by a deadline. */
static const char *const looking[] = {
    "type: human, prompt: Well?, wait: 200ms, on_timeout: accept",
    "type: guardrail, guardrails: [ok], target: '1'",
    "type: subgraph, graph: {start: i, nodes: {i: " ASKS "}}",
    "type: team, goal: g, synthesis: ok_inline/echo, graph: {start: i, nodes: "
    "{i: " ASKS "}}",
    "type: pass"};

enum { N_LOOKING = sizeof looking / sizeof looking[0] };

/* Poll until the run has that status. */
static void poll_until(const char *id, const char *status)
{
    json_t *v;
    bool has;

    snprintf(run_id, sizeof run_id, "%s", id);
    do {
        ck_assert_int_ge(mortise_poll(m, 20, &err), 0);
        v = show();
        has = strcmp(json_string_value(json_object_get(v, "status")), status) ==
              0;
        json_decref(v);
    } while (!has);
}

/* A discovery edge may leave a node of any kind, in the process of the embedder and
 * with deadlines: the run ends, also in an engine that finds it on disk, and so
 * does the run beside it. */
START_TEST(any_node_may_look) /* loop: same engine, opened anew */
{
    char nodes[1024];

    snprintf(nodes, sizeof nodes,
             "start: x\n"
             "nodes:\n"
             "  x: {%s}\n"
             "  b: {type: tool, tool: ok_inline/echo, args: {x: 1}}\n"
             "  c: {type: tool, tool: ok_inline/echo, args: {x: 2},\n"
             "      capability: takes what was found}\n"
             "edges:\n"
             "  - {from: x, discovery: {query: found, fallback: b}}\n",
             looking[_i % N_LOOKING]);
    ck_assert_msg(try_start(nodes, "looks", NULL) == MORTISE_OK, "%s", err.msg);
    ck_assert_msg(try_start(echo, "beside", NULL) == MORTISE_OK, "%s", err.msg);
    if (_i >= N_LOOKING) {
        close_engine();
        open_engine();
        ck_assert_int_eq(mortise_poll(m, 0, &err) < 0, 0);
    }
    poll_until("beside", "completed");
    poll_until("looks", "completed");
    ck_assert_str_eq(shown("state.artifacts.c"), "{\"x\":2}");
    ck_assert_msg(try_start(echo, "behind", NULL) == MORTISE_OK, "%s", err.msg);
    poll_until("behind", "completed");
}
END_TEST

/* resume while questions are pending: what can go on goes on. */
START_TEST(resume_with_questions_pending)
{
    start("start: [a, b]\n"
          "nodes:\n"
          "  a: {type: human, prompt: Well?, next: END}\n"
          "  b: {type: tool, tool: ok_inline/fail, args: {}, next: END}\n");
    ck_assert_int_eq(wait_for(), MORTISE_RUN_WAITING);
    ck_assert_int_eq(resume(), MORTISE_OK);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_WAITING);
    ck_assert_str_ne(pending(), "");
}
END_TEST

/* A diff is a list of operations, or the text of one; its findings are the words of
 * the error, and say where they come from.
 * command: steer */
START_TEST(a_diff_steers_a_run)
{
    struct mortise_command c = {
        .size = sizeof c,
        .kind = MORTISE_CMD_STEER,
        .json = "[{\"add\": {\"id\": \"c\", \"node\": {\"type\": \"tool\", "
                "\"tool\": \"counts/count\", \"depends_on\": [\"a\"]}}}]"};

    start("start: [a, b]\n"
          "nodes:\n"
          "  a: {type: tool, tool: counts/count, args: {}}\n"
          "  b: {type: human, prompt: Well?}\n");
    ck_assert_int_eq(wait_for(), MORTISE_RUN_WAITING);
    ck_assert_int_eq(counted(), 1);
    ck_assert_msg(command(&c, 0) == MORTISE_OK, "%s", err.msg);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_WAITING);
    ck_assert_int_eq(counted(), 2);
    ck_assert_int_eq(command(&c, 0), MORTISE_ECHECK);
    ck_assert_msg(strncmp(err.msg, "diff:1:15: error[E1105]", 23) == 0, "%s",
                  err.msg);
    c.json = "{\"source\": \"- remove: b\", \"path\": \"d.yaml\"}";
    ck_assert_int_eq(command(&c, 0), MORTISE_ECHECK);
    ck_assert_msg(strncmp(err.msg, "d.yaml:1:11: error[E1101]", 25) == 0, "%s",
                  err.msg);
    c.json = "{\"text\": \"- remove: b\"}";
    ck_assert_int_eq(command(&c, 0), MORTISE_EINVAL);
    c.json = NULL;
    ck_assert_int_eq(command(&c, 0), MORTISE_EINVAL);
    ck_assert_int_eq(counted(), 2);
}
END_TEST

/* A finished run: resume and update run nothing, goto runs from there. */
START_TEST(commands_on_a_finished_run)
{
    struct mortise_command update = {.size = sizeof update,
                                     .kind = MORTISE_CMD_UPDATE,
                                     .json = "{\"scratch\":{\"z\":1}}"};
    struct mortise_command to = {
        .size = sizeof to, .kind = MORTISE_CMD_GOTO, .node = "a"};

    start("start: a\n"
          "nodes:\n"
          "  a: {type: tool, tool: counts/count, args: {}, next: END}\n");
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(resume(), MORTISE_OK);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(counted(), 1);
    ck_assert_int_eq(command(&update, 0), MORTISE_OK);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    ck_assert_str_eq(shown("state.scratch.z"), "1");
    ck_assert_int_eq(counted(), 1);
    ck_assert_int_eq(command(&to, 0), MORTISE_OK);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(counted(), 2);
}
END_TEST

/* A failed node is retried by resume, with new state if need be. */
START_TEST(resume_retries_what_failed)
{
    struct mortise_command list[2] = {
        {.size = sizeof list[0], .kind = MORTISE_CMD_RESUME},
        {.size = sizeof list[0],
         .kind = MORTISE_CMD_UPDATE,
         .json = "{\"scratch\":{\"times\":0}}"}};

    start("start: a\n"
          "nodes:\n"
          "  a: {type: tool, tool: ok_inline/echo, args: {},"
          " outputs: {scratch.times: '9'}, next: b}\n"
          "  b: {type: tool, tool: ok_inline/fail,"
          " args: {times: \"${scratch.times}\"}, next: END}\n");
    ck_assert_int_eq(wait_for(), MORTISE_RUN_FAILED);
    ck_assert_int_eq(resume(), MORTISE_OK);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_FAILED);
    ck_assert_msg(mortise_apply(m, NULL, run_id, list, 2, 0, NULL, &err) ==
                      MORTISE_OK,
                  "%s", err.msg);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
}
END_TEST

/* Two resumes at once: the second finds it running. */
START_TEST(two_resumes)
{
    start(nap);
    close_engine();
    open_engine();
    ck_assert_int_eq(resume(), MORTISE_OK);
    ck_assert_int_eq(resume(), MORTISE_ECONFLICT);
}
END_TEST

/* cancel stops what is in flight. */
START_TEST(cancelling)
{
    struct mortise_command c = {
        .size = sizeof c, .kind = MORTISE_CMD_CANCEL, .reason = "enough"};
    uint64_t before = mortise_mono_ns();

    start(nap);
    mortise_poll(m, 10, &err);
    ck_assert_int_eq(command(&c, 0), MORTISE_OK);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_CANCELLED);
    ck_assert_uint_lt(mortise_mono_ns() - before, 40000000000u);
}
END_TEST

/* pause stops what is in flight, durably; a restart does not undo it, resume
 * does. */
START_TEST(pausing)
{
    struct mortise_command c = {
        .size = sizeof c, .kind = MORTISE_CMD_PAUSE, .reason = "lunch"};
    uint64_t before = mortise_mono_ns();

    start(nap);
    mortise_poll(m, 10, &err);
    ck_assert_int_eq(command(&c, 0), MORTISE_OK);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_PAUSED);
    ck_assert_uint_lt(mortise_mono_ns() - before, 40000000000u);
    ck_assert_uint_eq(m->lives.n, 0);
    close_engine();
    open_engine();
    ck_assert_int_eq(wait_for(), MORTISE_RUN_PAUSED);
    ck_assert_int_eq(resume(), MORTISE_OK);
    ck_assert_uint_eq(m->lives.n, 1);
}
END_TEST

/* A loop without end is paused by a limit; a greater one lets it go on, also
 * after a restart. */
START_TEST(raising_a_limit)
{
    struct mortise_command c = {.size = sizeof c, .kind = MORTISE_CMD_LIMIT};

    start("limits: {visits: 2}\n"
          "start: a\n"
          "nodes:\n"
          "  a: {type: router, default: END,\n"
          "      routes: [{when: node.visit < 4, to: a}]}\n");
    ck_assert_int_eq(wait_for(), MORTISE_RUN_PAUSED);
    ck_assert_uint_eq(m->lives.n, 0);
    c.json = "{\"visits\": 2}";
    ck_assert_int_eq(command(&c, 0), MORTISE_EINVAL);
    c.json = "{\"visits\": 3}";
    ck_assert_int_eq(command(&c, 0), MORTISE_OK);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_PAUSED);
    close_engine();
    open_engine();
    c.json = "{\"visits\": 4}";
    ck_assert_int_eq(command(&c, 0), MORTISE_OK);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(command(&c, 0), MORTISE_ESTATE);
}
END_TEST

/* With NO_CONTINUE a command is recorded and nothing runs. */
START_TEST(no_continue)
{
    struct mortise_command c = {
        .size = sizeof c, .kind = MORTISE_CMD_GOTO, .node = "b"};

    start(human);
    wait_for();
    ck_assert_int_eq(command(&c, MORTISE_NO_CONTINUE), MORTISE_OK);
    ck_assert_int_eq(counted(), 0);
    ck_assert_uint_eq(m->lives.n, 0);
    ck_assert_int_eq(resume(), MORTISE_OK);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(counted(), 1);
}
END_TEST

/* The API's structs and flags are checked. */
START_TEST(structs_are_checked)
{
    struct mortise_command c[2] = {
        {.size = sizeof c[0], .kind = MORTISE_CMD_RESUME}, {.size = 8}};
    struct mortise_options o = options();
    struct mortise *other;

    start(human);
    wait_for();
    ck_assert_int_eq(mortise_apply(m, NULL, run_id, c, 2, 0, NULL, &err),
                     MORTISE_EINVAL);
    ck_assert_int_eq(mortise_apply(m, NULL, run_id, c, 0, 0, NULL, &err),
                     MORTISE_EINVAL);
    ck_assert_int_eq(mortise_apply(m, NULL, run_id, c, 1, 1u << 31, NULL, &err),
                     MORTISE_EINVAL);
    c[0].kind = 77;
    ck_assert_int_lt(mortise_apply(m, NULL, run_id, c, 1, 0, NULL, NULL), 0);
    o.size = 3;
    ck_assert_int_eq(mortise_open(&other, &o, &err), MORTISE_EINVAL);
    ck_assert_ptr_null(other);
}
END_TEST

/* Texts that are recorded are judged before anything is: the record could not have
 * them, or would have a line of the caller's. */
START_TEST(texts_are_checked)
{
    static const char *const bad[] = {"Ren\xe9", "x\ny", "\x01", ""};
    struct mortise_command c = {.size = sizeof c, .kind = MORTISE_CMD_CANCEL};
    char at_most[257], other_id[MORTISE_RUN_MAX];
    struct mortise_start_options s = {.size = sizeof s, .run = "x"};
    struct mortise_graph *g;

    memset(at_most, 'a', 256);
    at_most[256] = '\0';
    start(human);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_WAITING);
    g = load(human);
    for (size_t i = 0; i <= sizeof bad / sizeof *bad; i++) {
        s.actor = i < sizeof bad / sizeof *bad ? bad[i] : at_most;
        ck_assert_int_eq(
            mortise_apply(m, NULL, run_id, &c, 1, 0, s.actor, &err),
            MORTISE_EINVAL);
        ck_assert_ptr_nonnull(strstr(err.msg, "actor"));
        ck_assert_int_eq(mortise_start(m, g, &s, other_id, &err),
                         MORTISE_EINVAL);
    }
    c.reason = "caf\xe9";
    ck_assert_int_eq(command(&c, 0), MORTISE_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "reason"));
    c.reason = NULL;
    c.node = "\xff";
    ck_assert_int_eq(command(&c, 0), MORTISE_EINVAL);
    c.node = NULL;
    c.reason = "caf\xc3\xa9\nline 2";
    at_most[255] = '\0';
    ck_assert_int_eq(mortise_apply(m, NULL, run_id, &c, 1, 0, at_most, &err),
                     MORTISE_OK);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_CANCELLED);
    s.actor = at_most;
    ck_assert_int_eq(mortise_start(m, g, &s, other_id, &err), MORTISE_OK);
    mortise_graph_close(g);
}
END_TEST

/* Every flags of every struct and function: a bit that nobody knows, or that
 * is another kind's, is refused, and nothing is done. */
START_TEST(flags_are_checked)
{
    static const struct {
        uint32_t kind, known;
    } kinds[] = {{MORTISE_CMD_RESUME, 0},
                 {MORTISE_CMD_UPDATE, MORTISE_CMD_MERGE},
                 {MORTISE_CMD_GOTO, MORTISE_CMD_FORCE},
                 {MORTISE_CMD_APPROVE_TOOL, 0},
                 {MORTISE_CMD_ANSWER, 0},
                 {MORTISE_CMD_CANCEL, 0},
                 {MORTISE_CMD_PAUSE, MORTISE_CMD_SHUTDOWN},
                 {MORTISE_CMD_RESOLVE, 0},
                 {MORTISE_CMD_LIMIT, 0},
                 {MORTISE_CMD_BUDGET, 0}};
    struct mortise_start_options s = {.size = sizeof s, .run = "other"};
    struct mortise_options o = options();
    struct mortise *other;
    uint64_t id;

    start(human);
    wait_for();
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        for (int bit = 0; bit < 32; bit++) {
            struct mortise_command c = {
                .size = sizeof c, .kind = kinds[i].kind, .flags = 1u << bit};

            if ((kinds[i].known & c.flags) != 0)
                continue;
            ck_assert_int_eq(
                mortise_apply(m, NULL, run_id, &c, 1, 0, NULL, &err),
                MORTISE_EINVAL);
            ck_assert_ptr_nonnull(strstr(err.msg, "commands[0].flags"));
        }
    for (int bit = 0; bit < 32; bit++) {
        s.flags = 1u << bit;
        ck_assert_int_eq(mortise_start(m, NULL, &s, run_id, &err),
                         MORTISE_EINVAL);
        if (bit > 0)
            ck_assert_int_eq(mortise_events(m, NULL, "r", 0, 1u << bit, NULL,
                                            NULL, &id, &err),
                             MORTISE_EINVAL);
        o.flags = 1u << bit;
        if (bit > 2)
            ck_assert_int_eq(mortise_open(&other, &o, &err), MORTISE_EINVAL);
    }
}
END_TEST

static int no_event(void *ud, const char *text, size_t n)
{
    (void)ud;
    (void)text;
    (void)n;
    return 0;
}

/* Nobody wrote to err: it is as we left it. */
static void is_untouched(const char *what)
{
    ck_assert_msg(err.code == 4711 && strcmp(err.msg, "canary") == 0,
                  "%s: %d, %s", what, err.code, err.msg);
}

/* A call that succeeds leaves err alone, on a store that has nothing yet and on
 * one that has. */
START_TEST(success_says_nothing)
{
    struct mortise_command c = {.size = sizeof c, .kind = MORTISE_CMD_PAUSE};
    struct mortise_options o = options();
    struct mortise_start_options s = {.size = sizeof s, .run = "quiet"};
    char other[PATH_MAX], *text, *report;
    struct mortise_graph *g;
    struct mortise *fresh;
    uint64_t id;
    int status;

#define QUIETLY(call)                                                          \
    do {                                                                       \
        err.code = 4711;                                                       \
        strcpy(err.msg, "canary");                                             \
        ck_assert_int_ge((call), 0);                                           \
        is_untouched(#call);                                                   \
    } while (0)
    snprintf(other, sizeof other, "%s/fresh", dir);
    o.store = other;
    QUIETLY(mortise_open(&fresh, &o, &err));
    QUIETLY(mortise_poll(fresh, 0, &err));
    mortise_close(fresh);
    QUIETLY(mortise_open(&fresh, &o, &err));
    mortise_close(fresh);
    g = load(human);
    mortise_graph_close(g);
    QUIETLY(mortise_load(m, graph_path(), &g, &report, &err));
    mortise_free(m, report);
    QUIETLY(mortise_start(m, g, &s, run_id, &err));
    mortise_graph_close(g);
    QUIETLY(mortise_wait(m, NULL, run_id, &status, &err));
    QUIETLY(mortise_poll(m, 0, &err));
    QUIETLY(mortise_runs(m, NULL, NULL, 10, &text, &err));
    mortise_free(m, text);
    QUIETLY(mortise_inbox(m, NULL, NULL, 10, &text, &err));
    mortise_free(m, text);
    QUIETLY(mortise_show(m, NULL, run_id, &text, &err));
    mortise_free(m, text);
    QUIETLY(mortise_history(m, NULL, run_id, &text, &err));
    mortise_free(m, text);
    QUIETLY(mortise_events(m, NULL, run_id, 0, 0, no_event, NULL, &id, &err));
    QUIETLY(mortise_events(m, NULL, run_id, 0, MORTISE_EVENTS_FOLLOW, no_event,
                           NULL, &id, &err));
    mortise_unsubscribe(m, id);
    QUIETLY(mortise_apply(m, NULL, run_id, &c, 1, 0, NULL, &err));
    c.kind = MORTISE_CMD_CANCEL;
    QUIETLY(mortise_apply(m, NULL, run_id, &c, 1, 0, NULL, &err));
    QUIETLY(mortise_wait(m, NULL, run_id, &status, &err));
#undef QUIETLY
}
END_TEST

/* ---- plugins that changed ----------------------------------------------- */

/* A run goes on with the plugins that it started with, or with permission. */
START_TEST(changed_plugins_block) /* loop: changed, gone */
{
    char path[PATH_MAX], *text, *more;
    size_t n;

    start(human);
    wait_for();
    close_engine();
    snprintf(path, sizeof path, "%s/counts.plugin.yaml", shelf.plugins);
    if (_i == 0) { /* the same plugin in another manifest */
        struct shelf other = shelf;
        const char *object = shelf_object("counts");
        char source[PATH_MAX];
        struct mortise_sign_request s = {.manifest = source,
                                         .objects = &object,
                                         .n_objects = 1,
                                         .out = other.plugins,
                                         .key = &other.key,
                                         .unchecked = true};
        struct mortise_diags diags;

        text = test_read(shelf_source("counts"), &n);
        more = malloc(n + 64);
        n = (size_t)sprintf(more, "%sx-note: other\n", text);
        snprintf(source, sizeof source, "%s/counts.plugin.yaml", dir);
        test_write(source, more, n);
        mortise_diags_init(&diags, &mortise_heap);
        ck_assert_msg(mortise_plugin_sign(&s, NULL, &mortise_heap, &diags,
                                          &err) == MORTISE_OK,
                      "%s", err.msg);
        mortise_diags_finish(&diags);
        free(text);
        free(more);
    } else {
        unlink(path);
    }
    open_engine();
    shown_as("blocked", "plugin");
    ck_assert_int_eq(resume(), MORTISE_EBLOCKED);
    shown_as("blocked", "plugin"); /* in memory by now */
    ck_assert_ptr_nonnull(strstr(err.msg, "counts"));
    if (_i == 0) {
        struct mortise_command c = {.size = sizeof c,
                                    .kind = MORTISE_CMD_RESUME};

        ck_assert_ptr_nonnull(strstr(err.msg, "digest"));
        ck_assert_int_eq(command(&c, MORTISE_ACCEPT_PLUGINS), MORTISE_OK);
        ck_assert_int_eq(wait_for(), MORTISE_RUN_WAITING);
        shown_as("waiting", "human");
        close_engine(); /* it is on disk: nobody need be told again */
        open_engine();
        ck_assert_int_eq(answer(pending(), "{\"approved\":true}"), MORTISE_OK);
        ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
        ck_assert_int_eq(counted(), 1);
    }
    shelf_put(&shelf, "counts"); /* for the other tests */
}
END_TEST

/* ---- events ------------------------------------------------------------- */

struct heard {
    char types[4096], ephemeral[4096], all[8192];
    uint64_t last;
    int n, stop_after, gaps;
};

static int hear(void *ud, const char *json, size_t len)
{
    struct heard *h = ud;
    json_t *v, *seq;
    size_t at;
    char *to;

    ck_assert_uint_eq(strlen(json), len);
    ck_assert_int_eq(mortise_json_parse_written(&v, json, len, &err),
                     MORTISE_OK);
    seq = json_object_get(v, "seq");
    if (seq != NULL) {
        h->gaps += (uint64_t)json_integer_value(seq) != h->last + 1;
        h->last = (uint64_t)json_integer_value(seq);
    }
    at = strlen(h->all);
    snprintf(h->all + at, sizeof h->all - at, "%s ",
             json_string_value(json_object_get(v, "type")));
    to = seq != NULL ? h->types : h->ephemeral;
    at = strlen(to);
    snprintf(to + at, sizeof h->types - at, "%s ",
             json_string_value(json_object_get(v, "type")));
    json_decref(v);
    return h->stop_after != 0 && ++h->n >= h->stop_after;
}

/* What a follower hears live is what is stored: all of it, once, in order. */
START_TEST(followers_hear_what_is_stored)
{
    struct heard live = {.last = 0}, stored = {.last = 0}, rest = {.last = 3};
    uint64_t id;

    start(
        "start: a\n"
        "nodes:\n"
        "  a: {type: tool, tool: ok_blocking/sleep, args: {ms: 20}, next: b}\n"
        "  b: {type: human, prompt: Well?, next: c}\n"
        "  c: {type: tool, tool: ok_inline/echo, args: {}, next: END}\n");
    ck_assert_int_eq(mortise_events(m, NULL, run_id, 0, MORTISE_EVENTS_FOLLOW,
                                    hear, &live, &id, &err),
                     MORTISE_OK);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_WAITING);
    ck_assert_int_eq(answer(pending(), "{\"approved\":true}"), MORTISE_OK);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    mortise_unsubscribe(m, id);
    mortise_unsubscribe(m, id);
    ck_assert_int_eq(
        mortise_events(m, NULL, run_id, 0, 0, hear, &stored, NULL, &err),
        MORTISE_OK);
    ck_assert_int_eq(live.gaps, 0);
    ck_assert_int_eq(stored.gaps, 0);
    ck_assert_uint_eq(live.last, stored.last);
    ck_assert_str_eq(live.types, stored.types);
    ck_assert_ptr_nonnull(strstr(live.types, "run_start"));
    ck_assert_ptr_nonnull(strstr(live.types, "run_end"));
    ck_assert_int_eq(
        mortise_events(m, NULL, run_id, 3, 0, hear, &rest, NULL, &err),
        MORTISE_OK);
    ck_assert_int_eq(rest.gaps, 0);
    ck_assert_uint_eq(rest.last, stored.last);
}
END_TEST

static int times(const char *text, const char *word)
{
    int n = 0;

    for (; (text = strstr(text, word)) != NULL; text++)
        n++;
    return n;
}

/* Whenever one joins, it hears of each node's start at most once; who was there
 * from the beginning, of each. */
START_TEST(starts_are_told_once)
{
    struct heard heard[12] = {{.last = 0}};
    struct mortise_graph *g =
        load("start: a\n"
             "nodes:\n"
             "  a: {type: tool, tool: ok_async/sleep, args: {ms: 9}, next: b}\n"
             "  b: {type: tool, tool: ok_blocking/sleep, args: {ms: 9},"
             " next: c}\n"
             "  c: {type: tool, tool: ok_async/sleep, args: {ms: 9},"
             " next: END}\n");
    struct mortise_start_options s = {
        .size = sizeof s, .event = hear, .event_ud = &heard[0]};

    ck_assert_int_eq(mortise_start(m, g, &s, run_id, &err), MORTISE_OK);
    mortise_graph_close(g);
    for (int i = 1; i < 12; i++) {
        ck_assert_int_eq(mortise_events(m, NULL, run_id, 0,
                                        MORTISE_EVENTS_FOLLOW, hear, &heard[i],
                                        NULL, &err),
                         MORTISE_OK);
        mortise_poll(m, 2, &err);
    }
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    for (int i = 0; i < 12; i++)
        ck_assert_msg(times(heard[i].ephemeral, "node_start") <= 3, "%d: %s", i,
                      heard[i].all);
    ck_assert_int_eq(times(heard[0].ephemeral, "node_start"), 3);
}
END_TEST

/* One that joins in the middle of everything misses nothing either. */
START_TEST(late_followers_catch_up)
{
    struct heard heard[20] = {{.last = 0}}, stored = {.last = 0};

    start("start: a\n"
          "nodes:\n"
          "  a: {type: tool, tool: counts/count, args: {}, next: b}\n"
          "  b: {type: tool, tool: ok_async/sleep, args: {ms: 1}, next: c}\n"
          "  c: {type: tool, tool: counts/count, args: {}, next: d}\n"
          "  d: {type: tool, tool: ok_async/sleep, args: {ms: 1}, next: e}\n"
          "  e: {type: tool, tool: counts/count, args: {}, next: END}\n");
    for (int i = 0; i < 20; i++) {
        ck_assert_msg(mortise_events(m, NULL, run_id, 0, MORTISE_EVENTS_FOLLOW,
                                     hear, &heard[i], NULL, &err) == MORTISE_OK,
                      "%s", err.msg);
        mortise_poll(m, 1, &err);
    }
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    mortise_events(m, NULL, run_id, 0, 0, hear, &stored, NULL, &err);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(heard[i].gaps, 0);
        ck_assert_uint_eq(heard[i].last, stored.last);
    }
}
END_TEST

/* A plugin's own events reach followers and are not stored. */
START_TEST(progress_is_ephemeral)
{
    struct heard live = {.last = 0}, stored = {.last = 0};
    struct mortise_graph *g = load(
        "start: w\n"
        "nodes:\n"
        "  w: {type: tool, tool: ok_async/sleep, args: {ms: 30}, next: a}\n"
        "  a: {type: tool, tool: emits_events/run, args: {}, next: END}\n");
    struct mortise_start_options s = {
        .size = sizeof s, .event = hear, .event_ud = &live};

    ck_assert_int_eq(mortise_start(m, g, &s, run_id, &err), MORTISE_OK);
    mortise_graph_close(g);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    mortise_events(m, NULL, run_id, 0, 0, hear, &stored, NULL, &err);
    ck_assert_ptr_nonnull(strstr(live.ephemeral, "progress progress"));
    ck_assert_str_eq(stored.ephemeral, "");
    /* ... and nothing is told before what led to it. */
    ck_assert_msg(strstr(live.all, "node_end node_start progress progress "
                                   "node_end run_end ") != NULL,
                  "%s", live.all);
    ck_assert_int_eq(live.gaps, 0);
}
END_TEST

/* A callback that returns nonzero hears no more. */
START_TEST(followers_may_stop)
{
    struct heard live = {.stop_after = 2};

    start(human);
    mortise_events(m, NULL, run_id, 0, MORTISE_EVENTS_FOLLOW, hear, &live, NULL,
                   &err);
    wait_for();
    answer(pending(), "{\"approved\":true}");
    wait_for();
    ck_assert_int_eq(live.n, 2);
    ck_assert_uint_eq(m->topics.n, 0);
}
END_TEST

static int call_back_in(void *ud, const char *json, size_t len)
{
    (void)json;
    (void)len;
    *(int *)ud = mortise_poll(m, 0, NULL);
    return 1;
}

/* Coming back in from a callback is refused, not fatal. */
START_TEST(callbacks_may_not_call)
{
    int said = 0;

    start(echo);
    mortise_events(m, NULL, run_id, 0, 0, call_back_in, &said, NULL, &err);
    ck_assert_int_eq(said, MORTISE_ESTATE);
}
END_TEST

/* ---- reading ------------------------------------------------------------ */

/* Pages join without holes or repeats. */
START_TEST(pages)
{
    char *text, id[16], after[MORTISE_RUN_MAX] = "";
    size_t seen = 0;
    json_t *v, *next;

    for (int i = 0; i < 7; i++) {
        snprintf(id, sizeof id, "run%d", i);
        ck_assert_int_eq(try_start(human, id, NULL), MORTISE_OK);
        wait_for();
    }
    for (bool more = true; more;) {
        ck_assert_int_eq(mortise_runs(m, NULL, after[0] != '\0' ? after : NULL,
                                      3, &text, &err),
                         MORTISE_OK);
        v = parse(text);
        seen += json_array_size(json_object_get(v, "runs"));
        next = json_object_get(v, "next");
        more = json_is_string(next);
        snprintf(after, sizeof after, "%s",
                 more ? json_string_value(next) : "");
        json_decref(v);
    }
    ck_assert_uint_eq(seen, 7);
    seen = 0;
    for (char *cursor = NULL;;) {
        ck_assert_int_eq(mortise_inbox(m, NULL, cursor, 2, &text, &err),
                         MORTISE_OK);
        free(cursor);
        v = parse(text);
        seen += json_array_size(json_object_get(v, "pending"));
        next = json_object_get(v, "next");
        cursor = json_is_string(next) ? strdup(json_string_value(next)) : NULL;
        json_decref(v);
        if (cursor == NULL)
            break;
    }
    ck_assert_uint_eq(seen, 7);
    ck_assert_int_eq(mortise_inbox(m, NULL, "nonsense", 2, &text, &err),
                     MORTISE_EINVAL);
    ck_assert_int_eq(mortise_inbox(m, "other", NULL, 2, &text, &err),
                     MORTISE_OK);
    ck_assert_str_eq(text, "{\"pending\":[],\"next\":null}");
    mortise_free(m, text);
}
END_TEST

/* history tells each checkpoint and what it holds. */
START_TEST(history)
{
    char *text;
    json_t *v, *list;

    start(human);
    wait_for();
    answer(pending(), "{\"approved\":true}");
    wait_for();
    ck_assert_int_eq(mortise_history(m, NULL, run_id, &text, &err), MORTISE_OK);
    v = parse(text);
    list = json_object_get(v, "checkpoints");
    ck_assert_uint_ge(json_array_size(list), 3);
    for (size_t i = 0; i < json_array_size(list); i++)
        ck_assert_int_eq(
            json_integer_value(json_object_get(json_array_get(list, i), "seq")),
            (json_int_t)i + 1);
    ck_assert_str_eq(
        json_string_value(json_object_get(json_array_get(list, 0), "phase")),
        "admit");
    json_decref(v);
}
END_TEST

/* A graph with findings is refused with all of them. */
START_TEST(findings)
{
    struct mortise_graph *g;
    char path[PATH_MAX], *report = NULL;
    static const char text[] = "apiVersion: mortise/v1\nkind: Graph\n"
                               "metadata: {name: t, version: 1.0.0}\n"
                               "start: a\n"
                               "nodes:\n"
                               "  a: {type: tool, tool: ok_inlin/echo,"
                               " next: b}\n";

    snprintf(path, sizeof path, "%s/bad.yaml", dir);
    test_write(path, text, sizeof text - 1);
    ck_assert_int_eq(mortise_load(m, path, &g, &report, &err), MORTISE_ECHECK);
    ck_assert_ptr_null(g);
    ck_assert_ptr_nonnull(strstr(report, "ok_inline"));
    ck_assert_ptr_nonnull(strstr(report, "'b'"));
    mortise_free(m, report);
    ck_assert_int_eq(mortise_load(m, "/nowhere/x", &g, NULL, &err),
                     MORTISE_ENOTFOUND);
}
END_TEST

/* ---- effects ------------------------------------------------------------ */

/* Closed in the middle of a write that cannot be looked for: in doubt, until a
 * person says how it went. */
START_TEST(in_doubt)
{
    struct mortise_command c = {.size = sizeof c,
                                .kind = MORTISE_CMD_RESOLVE,
                                .decision = "done",
                                .json = "{\"counted\":true}"};
    struct mortise_live *live;

    start("start: a\n"
          "nodes:\n"
          "  a: {type: tool, tool: ok_blocking/sleep, args: {ms: 60000},"
          " effect_class: external, next: END}\n");
    live = mortise_live_find(m, "default", run_id);
    ck_assert_ptr_nonnull(live);
    while (live->calls == NULL)
        mortise_poll(m, 20, &err);
    close_engine();
    open_engine();
    ck_assert_int_eq(resume(), MORTISE_OK);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_IN_DOUBT);
    ck_assert_int_eq(resume(), MORTISE_EINDOUBT);
    c.id = pending();
    ck_assert_msg(command(&c, 0) == MORTISE_OK, "%s", err.msg);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    ck_assert_str_eq(shown("state.artifacts.a"), "{\"counted\":true}");
}
END_TEST

/* What an effect came to needs no plugin to be said: of one that is quarantined
 * since it did not let go, or is gone, the word is recorded, and what comes after
 * is blocked until it may be used again. */
START_TEST(a_word_needs_no_plugin) /* loop: loaded, to be loaded; done, fail */
{
    static const char *const words[] = {"done", "fail"};
    struct mortise_command c = {.size = sizeof c,
                                .kind = MORTISE_CMD_RESOLVE,
                                .decision = words[_i / 2],
                                .json = _i < 2 ? "{\"ran\":true}" : NULL};
    char path[PATH_MAX + 64];

    start("start: a\n"
          "nodes:\n"
          "  a: {type: tool, tool: never_finishes/run, args: {}, timeout: 20ms,"
          " effect_class: external, on_error: {goto: b}, next: b}\n"
          "  b: {type: tool, tool: never_finishes/run, args: {}, timeout: 20ms,"
          " next: END}\n");
    ck_assert_int_eq(wait_for(), MORTISE_RUN_IN_DOUBT);
    close_engine();
    open_engine();
    if (_i % 2 == 0)
        shown_as("blocked", "plugin");
    c.id = pending();
    ck_assert_msg(command(&c, 0) == MORTISE_OK, "%s", err.msg);
    shown_as("blocked", "plugin");
    ck_assert_str_eq(shown("pending"), "[]");
    ck_assert_int_eq(resume(), MORTISE_EBLOCKED);
    close_engine();
    snprintf(path, sizeof path, "%s/quarantine/never_finishes", store);
    ck_assert_int_eq(unlink(path), 0);
    open_engine();
    if (_i < 2)
        ck_assert_str_eq(shown("state.artifacts.a"), "{\"ran\":true}");
    ck_assert_int_eq(resume(), MORTISE_OK);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_FAILED); /* of b */
    ck_assert_str_eq(shown("error.code"), "\"timeout.unresponsive\"");
}
END_TEST

/* ---- a disk that fails (R6b) -------------------------------------------- */

static const char three_counts[] =
    "start: a\n"
    "nodes:\n"
    "  a: {type: tool, tool: counts/count, args: {}, next: b}\n"
    "  b: {type: tool, tool: ok_async/sleep, args: {ms: 1}, next: c}\n"
    "  c: {type: tool, tool: counts/count, args: {}, next: END}\n";

/* From the store's opening on, with the plugins of three_counts started: the
 * marks of their starting are no business of ours here. */
static void watch_disk(void)
{
    char state[PATH_MAX];

    close_engine();
    snprintf(state, sizeof state, "%s/books", dir);
    powercut_begin(state, store, NULL, NULL);
    open_engine();
    start(three_counts);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
}

/* Go on until it has ended or somebody must say how an effect went. */
static int go_on(void)
{
    int status = 0;

    for (int i = 0; i < 50; i++) {
        int rv = resume();

        if (rv == MORTISE_OK)
            rv = mortise_wait(m, NULL, run_id, &status, &err);
        if (rv == MORTISE_EINDOUBT)
            return MORTISE_RUN_IN_DOUBT;
        if (rv == MORTISE_OK && status != MORTISE_RUN_RUNNING)
            return status;
        ck_assert_msg(m->state != MORTISE_ENGINE_BROKEN, "%s", err.msg);
    }
    return status;
}

/* Any one sync or write may fail once: whoever waits is told, the engine goes
 * on, the run is resumed from what is on disk, and nothing happens twice.  Who
 * listens hears what is stored, once and in order, also of a commit that was
 * stored and counted as lost. */
START_TEST(one_write_fails) /* loop: which one */
{
    struct mortise_graph *g;
    struct heard live = {.last = 0}, stored = {.last = 0};
    struct mortise_start_options s = {
        .size = sizeof s, .run = "r", .event = hear, .event_ud = &live};
    char spec[64];
    bool listens;
    int rv, before, status = 0;

    snprintf(spec, sizeof spec, "%s:%d:EIO:once", _i % 2 ? "write" : "sync",
             _i / 2 + 1);
    watch_disk();
    before = counted();
    g = load(three_counts);
    powercut_fail(spec);
    rv = mortise_start(m, g, &s, run_id, &err);
    listens = rv == MORTISE_OK; /* a start that failed has no subscription */
    if (rv == MORTISE_OK)
        rv = mortise_wait(m, NULL, "r", &status, &err);
    powercut_fail(NULL);
    strcpy(run_id, "r");
    if (rv != MORTISE_OK) {
        ck_assert_msg(rv == MORTISE_EIO, "%s: %s", spec, err.msg);
        ck_assert_ptr_nonnull(strstr(err.msg, "store"));
        rv = mortise_wait(m, NULL, "r", &status, &err);
        if (rv == MORTISE_ENOTFOUND) { /* it was never acknowledged */
            live = (struct heard){.last = 0};
            listens = true;
            ck_assert_msg(mortise_start(m, g, &s, run_id, &err) == MORTISE_OK,
                          "%s", err.msg);
            status = wait_for();
        } else {
            status = go_on();
        }
    }
    ck_assert_msg(status == MORTISE_RUN_COMPLETED ||
                      status == MORTISE_RUN_IN_DOUBT,
                  "%s: %d", spec, status);
    ck_assert_int_le(counted(), before + 2);
    if (status == MORTISE_RUN_COMPLETED)
        ck_assert_int_eq(counted(), before + 2);
    mortise_events(m, NULL, "r", 0, 0, hear, &stored, NULL, &err);
    if (listens) {
        ck_assert_msg(live.gaps == 0, "%s: %s", spec, live.types);
        ck_assert_str_eq(live.types, stored.types);
    }
    mortise_graph_close(g);
    powercut_end();
}
END_TEST

/* A disk that stays full: the run's waiter and every later call are told what
 * to do, and with space again a new engine goes on. */
START_TEST(the_disk_is_full)
{
    char id[MORTISE_DIGEST_HEX];
    int status, before;

    watch_disk();
    before = counted();
    start(human);
    wait_for();
    snprintf(id, sizeof id, "%s", pending());
    powercut_fail("write:1:ENOSPC:always");
    ck_assert_int_eq(answer(id, "{\"approved\":true}"), MORTISE_ENOSPC);
    ck_assert_ptr_nonnull(strstr(err.msg, "free some space"));
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(mortise_wait(m, NULL, run_id, &status, &err),
                         MORTISE_ENOSPC);
        ck_assert_int_eq(mortise_poll(m, 0, &err), MORTISE_ENOSPC);
        ck_assert_int_eq(resume(), MORTISE_ENOSPC);
    }
    powercut_fail(NULL);
    close_engine();
    open_engine();
    ck_assert_int_eq(answer(id, "{\"approved\":true}"), MORTISE_OK);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(counted(), before + 1);
    powercut_end();
}
END_TEST

/* Many runs at once, and a write fails in the middle: all of them are dropped,
 * poll says so once, and all can be resumed. */
START_TEST(a_write_fails_under_load)
{
    static const char nodes[] =
        "start: a\n"
        "nodes:\n"
        "  a: {type: tool, tool: ok_async/sleep, args: {ms: 3}, next: b}\n"
        "  b: {type: tool, tool: ok_blocking/sleep, args: {ms: 3},"
        " next: END}\n";
    struct mortise_graph *g;
    static struct heard heard[20];
    char ids[20][MORTISE_RUN_MAX];
    struct mortise_start_options s = {.size = sizeof s};
    int rv, told = 0;

    watch_disk();
    start(nodes); /* starts the plugins */
    wait_for();
    g = load(nodes);
    for (int i = 0; i < 20; i++)
        ck_assert_int_eq(mortise_start(m, g, &s, ids[i], &err), MORTISE_OK);
    powercut_fail("sync:1:EIO:once"); /* a batch may hold all that is left */
    for (int i = 0; i < 20; i++) {    /* followers in all their states */
        told += mortise_poll(m, 0, &err) < 0;
        mortise_events(m, NULL, ids[i], 0, MORTISE_EVENTS_FOLLOW, hear,
                       &heard[i], NULL, &err);
    }
    while (told == 0) /* however long a thread takes to come to it */
        told += mortise_poll(m, 50, &err) < 0;
    while ((rv = mortise_poll(m, 50, &err)) != 0)
        told += rv < 0;
    powercut_fail(NULL);
    ck_assert_int_eq(told, 1);
    for (int i = 0; i < 20; i++) {
        strcpy(run_id, ids[i]);
        ck_assert_int_eq(go_on(), MORTISE_RUN_COMPLETED);
    }
    mortise_graph_close(g);
    powercut_end();
}
END_TEST

/* ---- two engines -------------------------------------------------------- */

/* A second engine is refused, with the pid of the first. */
START_TEST(one_engine_per_store)
{
    struct mortise_options o = options();
    struct mortise *other;
    char pid[32];

    snprintf(pid, sizeof pid, "%d", (int)getpid());
    ck_assert_int_eq(mortise_open(&other, &o, &err), MORTISE_EBUSY);
    ck_assert_ptr_null(other);
    ck_assert_msg(strstr(err.msg, pid) != NULL ||
                      strstr(err.msg, "this process") != NULL,
                  "%s", err.msg);
}
END_TEST

struct elsewhere {
    struct mortise_options options;
    atomic_bool over;
    json_t *request, *reply;
    int rv, items;
    struct mortise_err err;
};

static int one_item(void *ud, json_t *item)
{
    (void)item;
    ((struct elsewhere *)ud)->items++;
    return 0;
}

static void ask_by_link(struct elsewhere *e)
{
    struct mortise_session *l;
    bool none;

    e->rv = mortise_session_open(&l, &e->options, 0, &none, &e->err);
    if (e->rv != MORTISE_OK)
        return;
    ck_assert_ptr_null(mortise_session_engine(l));
    e->rv =
        mortise_session_call(l, e->request, one_item, e, &e->reply, &e->err);
    mortise_session_close(l);
}

static void *ask_elsewhere(void *ud)
{
    struct elsewhere *e = ud;

    ask_by_link(e);
    atomic_store(&e->over, true);
    return NULL;
}

/* Through a link, another thread (or process) gives the answer that a run in
 * this one waits for. */
START_TEST(a_link_reaches_the_holder)
{
    struct elsewhere e = {.options = options()};
    pthread_t thread;

    start(human);
    wait_for();
    e.request = json_pack("{s:s, s:s, s:[{s:s, s:s, s:{s:b}}]}", "do",
                          "command", "run", run_id, "commands", "kind",
                          "answer", "id", pending(), "value", "approved", 1);
    pthread_create(&thread, NULL, ask_elsewhere, &e);
    while (!atomic_load(&e.over))
        mortise_poll(m, 10, &err);
    pthread_join(thread, NULL);
    ck_assert_msg(e.rv == MORTISE_OK, "%s", e.err.msg);
    ck_assert_str_eq(json_string_value(json_object_get(e.reply, "run")),
                     run_id);
    json_decref(e.request);
    json_decref(e.reply);
    ck_assert_int_eq(wait_for(), MORTISE_RUN_COMPLETED);
}
END_TEST

/* With nobody else there, a link is an engine of its own, and asks the same. */
START_TEST(a_link_is_an_engine)
{
    struct mortise_options o = options();
    struct elsewhere e = {.items = 0};
    struct mortise_session *l;
    json_t *request, *reply;
    bool none;

    start(human);
    wait_for();
    close_engine();
    ck_assert_int_eq(mortise_session_open(&l, &o, 0, &none, &err), MORTISE_OK);
    ck_assert_ptr_nonnull(mortise_session_engine(l));
    request = json_pack("{s:s, s:s, s:s}", "do", "follow", "run", run_id,
                        "until", "idle");
    ck_assert_msg(mortise_session_call(l, request, one_item, &e, &reply,
                                       &err) == MORTISE_OK,
                  "%s", err.msg);
    ck_assert_int_gt(e.items, 0);
    ck_assert_str_eq(json_string_value(json_object_get(reply, "status")),
                     "waiting");
    json_decref(request);
    json_decref(reply);
    mortise_session_close(l);
    open_engine();
}
END_TEST

/* Who asks in the moment in which it goes is told so, and nothing begins. */
START_TEST(a_link_lets_nobody_in_as_it_goes)
{
    static const char late[] =
        "{\"do\":\"start\",\"run\":\"late\",\"graph\":{\"path\":\"g.yaml\","
        "\"source\":\"apiVersion: mortise/v1\\nkind: Graph\\nmetadata: {name: "
        "g, version: 1.0.0}\\nstart: a\\nnodes:\\n  a: {type: human, prompt: "
        "Well?, next: END}\\n\"}}\n";
    struct mortise_options o = options();
    struct mortise_session *l;
    char *text;
    int ends[2], fd;
    bool none;

    close_engine();
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(mortise_session_open(&l, &o, 0, &none, &err), MORTISE_OK);
    ck_assert_int_eq(mortise_session_set_until(l, ends[0], &err), MORTISE_OK);
    fd = knock(o.store);
    while (!mortise_control_has_clients(mortise_session_engine(l)))
        mortise_poll(mortise_session_engine(l), 10, &err);
    /* it was let in, and now says something */
    knock_say(fd, late, strlen(late));
    mortise_session_close(l);
    close(ends[0]);
    close(ends[1]);
    close(fd);
    open_engine();
    ck_assert_int_eq(mortise_show(m, NULL, "late", &text, &err),
                     MORTISE_ENOTFOUND);
}
END_TEST

/* Over one connection, which ends with its engine. */
static void *ask_once(void *ud)
{
    const struct mortise_client_requirements anything = {.path = NULL};
    struct elsewhere *e = ud;
    struct mortise_client c;

    e->rv = mortise_client_open(&c, &test_mem, e->options.store, &anything,
                                &e->err);
    if (e->rv == MORTISE_OK)
        e->rv = mortise_client_call(&c, e->request, one_item, e, &e->reply,
                                    &e->err);
    mortise_client_close(&c);
    return NULL;
}

/* Closing while somebody waits tells them, and leaves the run resumable. */
START_TEST(closing_tells_who_waits)
{
    struct elsewhere e = {.options = options()};
    pthread_t thread;

    start(nap);
    e.request = json_pack("{s:s, s:s, s:s}", "do", "follow", "run", run_id,
                          "until", "end");
    pthread_create(&thread, NULL, ask_once, &e);
    while (m->topics.n == 0)
        mortise_poll(m, 10, &err);
    ck_assert_uint_eq(m->topics.n, 1);
    close_engine();
    pthread_join(thread, NULL);
    ck_assert_int_eq(e.rv, MORTISE_EBUSY);
    json_decref(e.request);
    open_engine();
    ck_assert_int_eq(resume(), MORTISE_OK);
}
END_TEST

/* ---- memory ------------------------------------------------------------- */

/* Open, start, wait, show: each allocation fails once, and from then on; the
 * engine says so, and the store stays as good as it was. */
START_TEST(memory_runs_out)
{
    static const char keeps[] =
        "start: a\nnodes:\n"
        "  a: {type: tool, tool: keeps/count, next: END}\n";
    const char *yaml = _i == 0 ? human : keeps;
    struct mortise_graph *g = load(yaml);
    struct mortise_start_options s = {.size = sizeof s};
    char *text;
    int n = 0, rv, status;
    bool failed;

    do {
        test_mem_fail_at(n);
        rv = mortise_start(m, g, &s, run_id, &err);
        failed = test_mem_failed();
        if (rv == MORTISE_OK)
            rv = mortise_wait(m, NULL, run_id, &status, &err);
        if (rv == MORTISE_OK)
            rv = mortise_show(m, NULL, run_id, &text, &err);
        failed = test_mem_failed();
        test_mem_fail_at(-1);
        if (rv == MORTISE_OK)
            mortise_free(m, text);
        else
            ck_assert_msg(rv == MORTISE_ENOMEM || failed, "%d %s", rv, err.msg);
        while (mortise_poll(m, 0, NULL) > 0)
            continue;
        if (m->state != MORTISE_ENGINE_RUNNING) { /* the store's write failed */
            close_engine();
            open_engine();
            mortise_graph_close(g);
            g = load(yaml);
        }
        n += 1 + n / 16;
    } while (failed);
    ck_assert_int_gt(n, 20);
    mortise_graph_close(g);
}
END_TEST

/* Opening copes with each allocation that fails. */
START_TEST(opening_without_memory)
{
    struct mortise_options o = options();
    int n = 0, rv;

    close_engine();
    do {
        test_mem_fail_at(n);
        rv = mortise_open(&m, &o, &err);
        ck_assert_msg(rv == MORTISE_OK || test_mem_failed(), "%s", err.msg);
        if (rv == MORTISE_OK && test_mem_failed())
            close_engine();
        n += 1 + n / 16;
    } while (test_mem_failed());
    test_mem_fail_at(-1);
    ck_assert_ptr_nonnull(m);
}
END_TEST

/* What is told before it is synced, and what a failure makes of it. */
static void add_lazy(Suite *s, const char *name, void (*begin)(void))
{
    TCase *tc = tcase_create(name);

    tcase_set_timeout(tc, 120);
    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, begin, teardown);
    tcase_add_test(tc, late_followers_catch_up);
    tcase_add_test(tc, in_doubt);
    tcase_add_loop_test(tc, a_word_needs_no_plugin, 0, 4);
    tcase_add_loop_test(tc, one_write_fails, 0, 24);
    tcase_add_test(tc, the_disk_is_full);
    tcase_add_test(tc, a_write_fails_under_load);
    tcase_add_test(tc, closing_tells_who_waits);
    tcase_add_loop_test(tc, memory_runs_out, 0, 2);
    tcase_add_test(tc, opening_without_memory);
    suite_add_tcase(s, tc);
}

static Suite *suite(void)
{
    Suite *s = suite_create("api");
    TCase *tc = tcase_create("api");

    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, every_threading_runs, 0, 3);
    tcase_add_test(tc, a_start_is_durable);
    tcase_add_test(tc, ids_are_checked);
    tcase_add_test(tc, idle_runs_leave_memory);
    tcase_add_test(tc, many_runs_at_once);
    tcase_add_test(tc, a_long_chain);
    tcase_add_test(tc, retries);
    tcase_add_test(tc, a_timeout_cancels);
    tcase_add_test(tc, never_finishing);
    tcase_add_test(tc, a_hanging_worker_is_replaced);
    tcase_add_test(tc, misbehaving_plugins);
    tcase_add_test(tc, no_memory_for_an_output);
    tcase_add_test(tc, plugins_go_and_write);
    tcase_add_test(tc, plugins_cost);
    tcase_add_test(tc, manifests_bound_costs);
    tcase_add_test(tc, plugins_break_pipes);
    tcase_add_test(tc, plugins_ask_for_state);
    tcase_add_test(tc, unknown_runs_are_not_found);
    tcase_add_test(tc, decisions_name_their_requests);
    tcase_add_test(tc, goto_an_unknown_node);
    tcase_add_test(tc, decisions_must_fit);
    tcase_add_test(tc, decisions_come_too_late);
    tcase_add_test(tc, tool_approvals);
    tcase_add_test(tc, expired_requests);
    tcase_add_loop_test(tc, deadlines_fire, 0, 2);
    tcase_add_test(tc, resume_with_questions_pending);
    tcase_add_test(tc, a_diff_steers_a_run);
    tcase_add_test(tc, commands_on_a_finished_run);
    tcase_add_test(tc, resume_retries_what_failed);
    tcase_add_test(tc, two_resumes);
    tcase_add_test(tc, cancelling);
    tcase_add_test(tc, pausing);
    tcase_add_test(tc, raising_a_limit);
    tcase_add_test(tc, no_continue);
    tcase_add_test(tc, structs_are_checked);
    tcase_add_test(tc, texts_are_checked);
    tcase_add_test(tc, flags_are_checked);
    tcase_add_test(tc, success_says_nothing);
    tcase_add_loop_test(tc, changed_plugins_block, 0, 2);
    tcase_add_test(tc, followers_hear_what_is_stored);
    tcase_add_test(tc, starts_are_told_once);
    tcase_add_test(tc, late_followers_catch_up);
    tcase_add_test(tc, progress_is_ephemeral);
    tcase_add_test(tc, followers_may_stop);
    tcase_add_test(tc, callbacks_may_not_call);
    tcase_add_test(tc, pages);
    tcase_add_test(tc, history);
    tcase_add_test(tc, findings);
    tcase_add_test(tc, in_doubt);
    tcase_add_loop_test(tc, a_word_needs_no_plugin, 0, 4);
    tcase_add_loop_test(tc, one_write_fails, 0, 24);
    tcase_add_test(tc, the_disk_is_full);
    tcase_add_test(tc, a_write_fails_under_load);
    tcase_add_test(tc, one_engine_per_store);
    tcase_add_test(tc, a_link_reaches_the_holder);
    tcase_add_test(tc, a_link_is_an_engine);
    tcase_add_test(tc, a_link_lets_nobody_in_as_it_goes);
    tcase_add_test(tc, closing_tells_who_waits);
    tcase_add_loop_test(tc, memory_runs_out, 0, 2);
    tcase_add_test(tc, opening_without_memory);
    suite_add_tcase(s, tc);
    tc = tcase_create("looking");
    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, setup_looking, teardown_looking);
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, any_node_may_look, 0, 2 * N_LOOKING);
    suite_add_tcase(s, tc);
    add_lazy(s, "batch", setup_batch);
    add_lazy(s, "exit", setup_exit);
    return s;
}

int main(void)
{
    return test_run(suite());
}
