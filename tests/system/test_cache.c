/* test_cache.c -- `cache: true`, through the whole of mortise: which calls are
 * like an earlier one, in another run and another process, and which are not.
 * test_run_cache.c has what the step function does, test_store_cache.c the
 * bound. */
#include <leveldb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/desk.h"
#include "lib/store_reader.h"

static void sign_costly(const char *change)
{
    char source[4096];

    ck_assert_ptr_nonnull(realpath("tests/plugins", source));
    desk_ok("sed '%s' %s/costly.plugin.yaml >costly.plugin.yaml && "
            "$MORTISE plugin sign costly.plugin.yaml %s --key k.key "
            "--out plugins",
            change, source, child_build("tests/plugins/costly.so"));
}

static void sign(void)
{
    desk_sign();
    sign_costly("");
    desk_ok("$MORTISE key trust k.pub --trust trust.d --name costly "
            "--plugins costly --in-process");
}

static void deploy(const char *config, const char *store)
{
    char text[16384];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\n"
             "metadata: {name: tests}\n"
             "plugins: {path: [%s/plugins], config: {%s}}\n"
             "trust: {dir: %s/trust.d}\n"
             "store: {path: ./state%s}\n"
             "secrets: {token: {env: TOKEN}}\n",
             desk_plugins, config, desk_plugins, store);
    desk_put("mortise.yaml", text);
}

static void begin(void)
{
    desk_begin();
    deploy("", "");
    desk_put("entered", "");
    ck_assert_int_eq(setenv("TOKEN", "t0ps3cret", 1), 0);
}

static unsigned n_runs;

/* One node that runs this, in a run of its own; how often was it entered? */
static unsigned run_with(const char *options, const char *operation,
                         const char *args)
{
    unsigned before = desk_entrances();
    char body[4096];

    snprintf(body, sizeof body,
             "start: a\nnodes:\n"
             "  a: {type: tool, tool: costly/%s, args: %s, cache: true,"
             " next: END}\n",
             operation, args);
    desk_graph("g", body);
    desk_ok("$MORTISE run g.yaml --id r%u %s", ++n_runs, options);
    return desk_entrances() - before;
}

static unsigned run(const char *operation, const char *args)
{
    return run_with("", operation, args);
}

/* The second run of the same does not call it, nor is its plugin started; it
 * has the same output, and says where that is from. */
START_TEST(the_second_run_does_not_call)
{
    ck_assert_uint_eq(run("echo", "{v: [1, x]}"), 1);
    desk_ok("$MORTISE show r%u --json", n_runs);
    desk_not_out("\"cached\"");
    ck_assert_uint_eq(run("echo", "{v: [1, x]}"), 0);
    desk_ok("$MORTISE show r%u --json | tr -d ' \\n'", n_runs);
    desk_out("\"output\":{\"v\":[1,\"x\"]},\"cached\":true");
    desk_ok("$MORTISE history r%u", n_runs);
    desk_out("cached");
    desk_ok("$MORTISE events r%u --json", n_runs);
    desk_out("\"cached\":true");
}
END_TEST

/* Another argument, operation or tenant, another configuration or plugin is
 * another call; the order of members and how a number is spelled are not. */
START_TEST(what_differs_is_called)
{
    ck_assert_uint_eq(run("echo", "{a: 1, b: 2}"), 1);
    ck_assert_uint_eq(run("echo", "{b: 2, a: 0x1}"), 0);
    ck_assert_uint_eq(run("echo", "{a: 1, b: 3}"), 1);
    ck_assert_uint_eq(run("echo", "{a: 1, b: 2.0}"), 1);
    ck_assert_uint_eq(run("tell", "{a: 1, b: 2}"), 1);
    ck_assert_uint_eq(run_with("--tenant other", "echo", "{a: 1, b: 2}"), 1);
    ck_assert_uint_eq(run_with("--tenant other", "echo", "{a: 1, b: 2}"), 0);
    deploy("costly: {file: x}", "");
    ck_assert_uint_eq(run("echo", "{a: 1, b: 2}"), 1);
    ck_assert_uint_eq(run("echo", "{a: 1, b: 2}"), 0);
    deploy("costly: {}", "");
    ck_assert_uint_eq(run("echo", "{a: 1, b: 2}"), 0);
    child_dir(desk_plugins);
    sign_costly("s/^seq: 1/seq: 2/");
    child_dir(desk_dir);
    ck_assert_uint_eq(run("echo", "{a: 1, b: 2}"), 1);
    ck_assert_uint_eq(run("echo", "{a: 1, b: 2}"), 0);
}
END_TEST

/* Whoever says more than an output, or asks, is called each time: nobody would
 * hear the rest.  And what is larger than 1 MiB is not kept. */
START_TEST(what_is_not_kept)
{
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq(run("say", "{v: 1}"), 1);
        ck_assert_uint_eq(run("ask", "{v: 1}"), 1);
        ck_assert_uint_eq(run("large", "{n: 1048575}"), 1);
        ck_assert_uint_eq(run("large", "{n: 1048574}"), i == 0);
    }
}
END_TEST

/* A secret may be another tomorrow: who is given one, as an argument or in its
 * configuration, is called. */
START_TEST(secrets_are_not_kept)
{
    for (int i = 0; i < 2; i++)
        ck_assert_uint_eq(run("tell", "{pass: 'secret://token'}"), 1);
    deploy("costly: {pass: 'secret://token'}", "");
    for (int i = 0; i < 2; i++)
        ck_assert_uint_eq(run("echo", "{v: 1}"), 1);
}
END_TEST

/* Within a run, too, once the commit is stored: elements of a map and another
 * node find what is there. */
START_TEST(within_a_run)
{
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: costly/echo, args: {n: 1},"
                    " cache: true,"
                    " map: {over: '[1, 1, 2, 1]', to: v, join: j,"
                    " max_parallel: 1}}\n"
                    "  v: {type: tool, tool: tried/nap, args: {ms: 300},"
                    " next: w}\n"
                    "  w: {type: tool, tool: costly/echo, args: {n: '${item}'},"
                    " cache: true, next: j}\n"
                    "  j: {type: tool, tool: tried/nap, args: {ms: 300},"
                    " next: k}\n"
                    "  k: {type: extension, extension: costly, method: echo,"
                    " args: {n: 2}, cache: true, next: END}\n");
    desk_ok("$MORTISE run g.yaml");
    ck_assert_uint_eq(desk_entrances(), 2);
}
END_TEST

/* Killed while it is called, it is called again; killed after its commit, by
 * whoever resumes it, it is not. */
START_TEST(a_kill_leaves_it_right)
{
    pid_t pid;

    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: costly/nap, args: {ms: 60000},"
                    " cache: true, next: b}\n"
                    "  b: {type: tool, tool: costly/nap, args: {ms: 60001},"
                    " cache: true, next: c}\n"
                    "  c: {type: tool, tool: costly/nap, args: {ms: 60000},"
                    " cache: true, next: END}\n");
    pid = child_start("run", "$MORTISE run g.yaml --id k");
    child_await("napping.60000", "");
    child_await("run.out", "node_start a"); /* it is on disk */
    child_kill(pid);
    ck_assert_uint_eq(desk_entrances(), 1);
    desk_ok("touch over.60000");
    pid = child_start("resume", "$MORTISE resume k");
    child_await("resume.out", "node_end a"); /* it is on disk */
    child_await("napping.60001", "");
    child_kill(pid);
    desk_ok("touch over.60001 && $MORTISE resume k");
    ck_assert_uint_eq(desk_entrances(), 4); /* a, a, b, b */
    desk_ok("$MORTISE run g.yaml");
    ck_assert_uint_eq(desk_entrances(), 4);
}
END_TEST

static size_t n_cached(void)
{
    struct reader_store s;
    char path[8192];
    size_t n;

    snprintf(path, sizeof path, "%s/state", desk_dir);
    ck_assert_msg(store_reader_read(&s, path) == 0, "%s", s.why);
    n = s.n_cached;
    store_reader_free(&s);
    return n;
}

/* As much is kept as the deployment allows: nothing, or a little. */
START_TEST(the_deployment_bounds_it)
{
    deploy("", ", cache: 0B");
    ck_assert_uint_eq(run("echo", "{v: 1}"), 1);
    ck_assert_uint_eq(run("echo", "{v: 1}"), 1);
    ck_assert_uint_eq(n_cached(), 0);
    deploy("", ", cache: 1KiB");
    for (int i = 0; i < 20; i++) {
        char args[32];

        snprintf(args, sizeof args, "{v: %d}", i);
        ck_assert_uint_eq(run("echo", args), 1);
        ck_assert_uint_eq(run("echo", args), 0);
    }
    ck_assert_uint_eq(run("echo", "{v: 0}"), 1);
    ck_assert_uint_gt(n_cached(), 3);
    ck_assert_uint_lt(n_cached(), 9);
    deploy("", ", cache: 0B");
    ck_assert_uint_eq(run("echo", "{v: 0}"), 1);
    ck_assert_uint_eq(n_cached(), 0);
}
END_TEST

/* The first value of that kind in the database becomes nonsense. */
static void spoil(char tag)
{
    leveldb_options_t *o = leveldb_options_create();
    leveldb_readoptions_t *ro = leveldb_readoptions_create();
    leveldb_writeoptions_t *wo = leveldb_writeoptions_create();
    char path[8192], *said = NULL;
    leveldb_iterator_t *it;
    leveldb_t *db;
    const char *key;
    size_t n;

    snprintf(path, sizeof path, "%s/state/db", desk_dir);
    db = leveldb_open(o, path, &said);
    ck_assert_ptr_null(said);
    it = leveldb_create_iterator(db, ro);
    leveldb_iter_seek(it, &tag, 1);
    key = leveldb_iter_key(it, &n);
    ck_assert_int_eq(key[0], tag);
    leveldb_put(db, wo, key, n, "\1", 1, &said);
    ck_assert_ptr_null(said);
    leveldb_iter_destroy(it);
    leveldb_close(db);
    leveldb_readoptions_destroy(ro);
    leveldb_writeoptions_destroy(wo);
    leveldb_options_destroy(o);
}

/* A result that does not read costs a call and a warning, and no run. */
START_TEST(what_does_not_read_is_called_for)
{
    ck_assert_uint_eq(run("echo", "{v: 1}"), 1);
    spoil('r');
    ck_assert_uint_eq(run("echo", "{v: 1}"), 1);
    desk_err("a cached result cannot be decoded; its operation is called");
}
END_TEST

/* A test of graphs keeps nothing, and finds nothing: each call is its own. */
START_TEST(tests_call_each_time)
{
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: costly/echo, args: {v: 1},"
                    " cache: true, next: b}\n"
                    "  b: {type: tool, tool: costly/echo, args: {v: 1},"
                    " cache: true, next: END}\n");
    desk_put(
        "t.test.yaml",
        "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\n"
        "graph: ./g.yaml\n"
        "cases:\n"
        "  scripted:\n"
        "    nodes: {a: [{output: 1}], b: [{output: 2}]}\n"
        "    expect: {status: completed, state: {artifacts: {a: 1, b: 2}}}\n"
        "  real:\n"
        "    expect:\n"
        "      status: completed\n"
        "      state: {artifacts: {a: {v: 1}, b: {v: 1}}}\n");
    desk_ok("$MORTISE test t.test.yaml --crash-everywhere");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cache");
    TCase *tc = tcase_create("cache");

    tcase_add_unchecked_fixture(tc, sign, desk_unsign);
    tcase_add_checked_fixture(tc, begin, desk_end);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, the_second_run_does_not_call);
    tcase_add_test(tc, what_is_not_kept);
    tcase_add_test(tc, secrets_are_not_kept);
    tcase_add_test(tc, within_a_run);
    tcase_add_test(tc, a_kill_leaves_it_right);
    tcase_add_test(tc, the_deployment_bounds_it);
    tcase_add_test(tc, what_does_not_read_is_called_for);
    tcase_add_test(tc, tests_call_each_time);
    tcase_add_test(tc, what_differs_is_called); /* the last: a newer plugin */
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
