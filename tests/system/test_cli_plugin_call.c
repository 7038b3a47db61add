/* test_cli_plugin_call.c -- `mortise plugin call`: one operation, outside of any
 * graph, with all that a deployment says of it and nothing that is kept. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/desk.h"

static void begin(void)
{
    desk_begin();
    desk_ok("mkdir tmp");
    setenv("TMPDIR", "tmp", 1);
}

/* Of what was called nothing stays: no run, no store, no temporary file. */
static void end(void)
{
    desk_ok("ls -A tmp; ls -d state .mortise 2>/dev/null || true");
    ck_assert_str_eq(child.out, "");
    unsetenv("TMPDIR");
    desk_end();
}

/* issue 15, 12: the output is JSON, for people and for programs, wherever the
 * arguments come from. */
START_TEST(output)
{
    desk_ok("$MORTISE plugin call tried/echo '{\"value\": {\"a\": [1, "
            "\"${x}\"]}}'");
    ck_assert_str_eq(child.out,
                     "{\n  \"a\": [\n    1,\n    \"${x}\"\n  ]\n}\n");
    desk_put("args.json", "{\"value\": true}");
    desk_ok("$MORTISE plugin call --json tried/echo @args.json");
    ck_assert_str_eq(child.out, "true\n");
    desk_ok("$MORTISE plugin call --json tried/echo - <args.json");
    ck_assert_str_eq(child.out, "true\n");
    ck_assert_str_eq(child.err, "");
}
END_TEST

/* What cannot be called says what to do, and what fails its code and its words;
 * none of it on stdout. */
static const struct {
    const char *call, *says;
    int code;
} failures[] = {
    {"tried/fail '{\"code\": \"no.luck\"}'",
     "mortise: tried/fail: no.luck: ", 1},
    {"tried/fail '{\"code\": \"no.luck\"}' --json", "no.luck", 1},
    {"tried/echo", "mortise: tried/echo: schema: ", 1},
    {"tried/echo '[1]'", "ARGS must be a JSON object", 3},
    {"tried/echo '{'", "ARGS: ", 3},
    {"tried/ecko", "has no operation 'ecko'; did you mean 'echo'?", 3},
    {"tired/echo", "no plugin 'tired'", 3},
    {"tried", "write the operation as PLUGIN/OPERATION, such as file/write", 3},
    {"tried/", "write the operation as PLUGIN/OPERATION, such as file/write",
     3},
    {"/echo", "write the operation as PLUGIN/OPERATION, such as file/write", 3},
    {"$(printf %0300d 1)/echo", "names of plugins have at most 128 characters",
     3},
    {"nope/mcp/x", "no plugin 'nope'", 3},
};

START_TEST(failure)
{
    child_run("$MORTISE plugin call %s", failures[_i].call);
    desk_code(failures[_i].code);
    desk_err(failures[_i].says);
    ck_assert_str_eq(child.out, "");
}
END_TEST

/* An effect is called only where that is said to be meant, and where nobody knows
 * whether it happened, the exit code is that of doubt. */
START_TEST(effects)
{
    child_run("$MORTISE plugin call tried/unsure");
    desk_code(77);
    desk_err("tried/unsure has an effect (external)");
    desk_err("--effects");
    child_run("$MORTISE plugin call tried/unsure --effects");
    desk_code(5);
    desk_err("mortise: tried/unsure: in_doubt: it is unknown");
    desk_ok("$MORTISE plugin call tried/nap '{\"ms\": 1}'");
}
END_TEST

static void interrupt(const char *what, int code, const char *words)
{
    pid_t call = child_start("call", "$MORTISE plugin call %s", what);

    child_await("call.err", "at work");
    kill(call, SIGINT);
    ck_assert_int_eq(child_wait(call), code);
    child_await("call.err", words);
}

/* A signal ends what is at work: in doubt if it may have happened. */
START_TEST(signals)
{
    interrupt("tried/linger --effects", 5,
              "mortise: tried/linger: interrupted: a signal stopped it");
    interrupt("tried/nap '{\"ms\": 60000}'", 1,
              "mortise: tried/nap: interrupted: a signal stopped it");
}
END_TEST

/* What the deployment says of it holds. */
START_TEST(policy)
{
    desk_deploy("tools: {deny: [tried/echo], ask: [tried/say]}\n");
    child_run("$MORTISE plugin call tried/echo '{\"value\": 1}'");
    ck_assert_int_ne(child.code, 0);
    desk_err("denies tried/echo");
    child_run("$MORTISE plugin call tried/say '{\"text\": \"x\"}'");
    desk_code(1);
    desk_err("mortise: tried/say: not_answered: ");
    ck_assert_str_eq(child.out, "");
}
END_TEST

/* One that nobody signed is not called but from where it is being written; and who
 * did not say that a found deployment may name code runs none. */
START_TEST(trust)
{
    desk_ok("mkdir dev && cp %s dev/tried.so",
            child_build("tests/plugins/tried.so"));
    desk_ok("cp %s/plugins/tried.plugin.yaml dev && sed -i /artifacts/,\\$d "
            "dev/tried.plugin.yaml",
            desk_plugins);
    desk_put("path.yaml",
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "plugins: {path: [dev]}\n");
    desk_put("dev.yaml",
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "plugins: {dev: [dev]}\n");
    child_run("$MORTISE plugin call tried/echo '{\"value\": 1}' --deployment "
              "path.yaml");
    ck_assert_int_ne(child.code, 0);
    desk_err("is not signed");
    desk_ok("$MORTISE plugin call --json tried/echo '{\"value\": 1}' "
            "--deployment dev.yaml");
    ck_assert_str_eq(child.out, "1\n");
    child_allows(false);
    desk_ok("mkdir other && cp -r dev other && cp dev.yaml other/mortise.yaml "
            "&& mkdir other/tmp");
    child_run("cd other && $MORTISE plugin call tried/echo '{\"value\": 1}'");
    child_allows(true);
    ck_assert_int_ne(child.code, 0);
    desk_err("config allow");
    ck_assert_str_eq(child.out, "");
}
END_TEST

/* An engine that holds the deployment's store is not in the way. */
START_TEST(beside_an_engine)
{
    pid_t engine = child_start("engine", "$MORTISE engine");

    child_await("engine.err", "holding the store");
    desk_ok("$MORTISE plugin call --json tried/echo '{\"value\": 1}'");
    ck_assert_str_eq(child.out, "1\n");
    child_kill(engine);
    desk_ok("rm -rf state");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_plugin_call");
    TCase *tc = tcase_create("call");

    tcase_set_timeout(tc, 60);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, output);
    tcase_add_loop_test(tc, failure, 0, sizeof failures / sizeof failures[0]);
    tcase_add_test(tc, effects);
    tcase_add_test(tc, signals);
    tcase_add_test(tc, policy);
    tcase_add_test(tc, trust);
    tcase_add_test(tc, beside_an_engine);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
