/* test_cli_completion.c -- what a shell is told: bash's script is run in bash;
 * those for zsh and fish have every command and option of the table, and are
 * parsed by their shells where these are installed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "lib/desk.h"

/* What bash offers behind these words; the last may be begun ('' for none). */
static void complete(const char *words)
{
    char script[4096];

    snprintf(script, sizeof script,
             "eval \"$($MORTISE completion bash)\"\n"
             "compopt() { :; } # there is no terminal\n"
             "COMP_WORDS=($MORTISE %s)\n"
             "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
             "_mortise\n"
             "printf '%%s\\n' \"${COMPREPLY[@]}\" | LC_ALL=C sort\n",
             words);
    desk_put("script", script);
    desk_ok("bash script");
    ck_assert_str_eq(child.err, "");
}

static const char *const cases[][2] = {
    {"re", "reject\nresolve\nresume\n"},
    {"plu", "plugin\n"},
    {"--v", "--version\n"},
    {"plugin li", "list\n"},
    {"key ''", "--help\nlist\nnew\nrevoke\ntrust\n"},
    {"completion ''", "bash\nfish\nzsh\n"},
    {"explain E030", "E0301\nE0302\nE0303\nE0304\nE0305\nE0306\nE0307\n"
                     "E0308\nE0309\n"},
    {"resume --ac", "--accept-plugins\n"},
    {"resume x --u", "--update\n"},
    {"run sub/a", "sub/a b.yaml\nsub/ac.yaml\n"},
    {"check sub/a", "sub/a b.yaml\nsub/ac.yaml\n"},
    {"run --store s", "state\nsub\n"},
    {"run --deployment morti", "mortise.yaml\n"},
    {"run --deployment = morti", "mortise.yaml\n"},
    {"run --input ''", "\n"},
    {"show fi", "first\n"},
    {"show --json ''", "first\nsecond\n"},
    {"show --tenant blue ''", "third\n"},
    {"show --store none ''", "\n"},
    {"nonsense x", "\n"},
};
enum { N_CASES = sizeof cases / sizeof cases[0] };

/* Commands, options, files, ids of runs: in the store that the words name. */
START_TEST(in_bash)
{
    desk_graph("ok", "start: a\nnodes:\n  a: {type: tool, tool: tried/echo, "
                     "args: {value: 1}, next: END}\n");
    desk_ok("mkdir sub && touch 'sub/a b.yaml' sub/ac.yaml");
    desk_ok("$MORTISE run ok.yaml --id first");
    desk_ok("$MORTISE run ok.yaml --id second");
    desk_ok("$MORTISE run ok.yaml --id third --tenant blue");
    complete(cases[_i][0]);
    ck_assert_str_eq(child.out, cases[_i][1]);
    desk_ok("test ! -e none"); /* a key press makes no store */
}
END_TEST

/* issue 15, 5: completion offers requests: the runs that ask something, and behind
 * one of them the ids of what it asks, wherever options stand. */
START_TEST(requests_are_offered)
{
    char ids[2][64];

    desk_graph("asks", "start: a\nnodes:\n"
                       "  a: {type: human, prompt: Well?}\n");
    desk_graph("ok", "start: a\nnodes:\n  a: {type: tool, tool: tried/echo, "
                     "args: {value: 1}, next: END}\n");
    child_run("$MORTISE run asks.yaml --id one; $MORTISE run asks.yaml --id "
              "two; $MORTISE run ok.yaml --id done; "
              "$MORTISE run asks.yaml --id three --tenant blue");
    for (int i = 0; i < 2; i++) {
        desk_ok("$MORTISE inbox %s --ids | cut -d' ' -f2",
                i == 0 ? "one" : "two");
        snprintf(ids[i], sizeof ids[i], "%.60s", child.out);
    }
    complete("approve ''");
    ck_assert_str_eq(child.out, "one\ntwo\n");
    complete("approve --tenant blue ''");
    ck_assert_str_eq(child.out, "three\n");
    complete("reject t");
    ck_assert_str_eq(child.out, "two\n");
    complete("approve two ''");
    ck_assert_str_eq(child.out, ids[1]);
    complete("answer --value 1 one ''");
    ck_assert_str_eq(child.out, ids[0]);
    complete("resolve done ''"); /* it asks nothing: those that do */
    ck_assert_str_eq(child.out, "one\ntwo\n");
    complete("show ''");
    ck_assert_str_eq(child.out, "done\none\ntwo\n");
    desk_ok("for shell in bash zsh fish; do $MORTISE completion $shell | "
            "grep -c 'mortise_requests' | grep -qv '^1$' || exit 1; done");
}
END_TEST

/* Every subcommand and every option of the table. */
START_TEST(all_of_the_table)
{
    static const char *const shells[] = {"bash", "zsh", "fish"};
    const char *shell = shells[_i];

    desk_ok("$MORTISE completion %s", shell);
    for (size_t i = 0; i < mortise_n_commands; i++) {
        const struct mortise_cmd *c = mortise_commands[i];
        char text[128];

        snprintf(text, sizeof text,
                 _i == 2 ? "'__mortise_is %s' -l help" : "'%s'", c->name);
        desk_out(text);
        for (size_t k = 0; c->opts[k].name != NULL; k++) {
            if (_i == 2)
                snprintf(text, sizeof text, "'__mortise_is %s' -l %s", c->name,
                         c->opts[k].name);
            else
                snprintf(text, sizeof text, "--%s", c->opts[k].name);
            desk_out(text);
        }
    }
    desk_put("script", child.out);
    desk_ok("if command -v %s >/dev/null; then %s -n script; fi", shell, shell);
    ck_assert_str_eq(child.err, "");
}
END_TEST

/* Another shell is refused. */
START_TEST(another_shell)
{
    child_run("$MORTISE completion tcsh");
    desk_code(3);
    desk_err("bash, zsh or fish");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_completion");
    TCase *tc = tcase_create("completion");

    tcase_set_timeout(tc, 60);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_loop_test(tc, in_bash, 0, N_CASES);
    tcase_add_test(tc, requests_are_offered);
    tcase_add_loop_test(tc, all_of_the_table, 0, 3);
    tcase_add_test(tc, another_shell);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
