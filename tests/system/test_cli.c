/* test_cli.c -- the command line, end to end through the binary.
 *
 * Every test runs $MORTISE in a directory of its own, with a deployment of one
 * plugin, `tried` (tests/plugins/tried.c), which this file signs and trusts by
 * the commands that are tested here. */
#include <ctype.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/child.h"
#include "lib/test.h"

/* ---- a place to work in -----------------------------------------------------
 */

static char suite_dir[4096], dir[4096];

static void put(const char *name, const char *text)
{
    char path[8192];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    test_write(path, text, strlen(text));
}

static bool exists(const char *name)
{
    char path[8192];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

static void ok(int code)
{
    ck_assert_msg(code == 0, "exit code %d:\n%.1200s%.1200s", code, child.out,
                  child.err);
}

/* Sign the plugin and trust its key, once. */
static void sign_plugin(void)
{
    char source[4096];

    strcpy(suite_dir, test_mkdir());
    child_dir(suite_dir);
    ck_assert_ptr_nonnull(realpath("tests/plugins/tried.plugin.yaml", source));
    ok(child_run("$MORTISE key new k -W"));
    ok(child_run("$MORTISE plugin sign %s %s --key k.key --out plugins", source,
                 child_build("tests/plugins/tried.so")));
    ok(child_run("$MORTISE key trust k.pub --trust trust.d --plugins tried "
                 "--in-process"));
}

static void remove_plugin(void)
{
    test_rmdir(suite_dir);
}

static const char *const graphs[][2] = {
    {"ok", "start: a\n"
           "nodes:\n"
           "  a: {type: tool, tool: tried/echo, args: {value: hello}, "
           "next: END}\n"},
    {"human", "start: a\n"
              "nodes:\n"
              "  a: {type: tool, tool: tried/echo, args: {value: 1}, "
              "next: ask}\n"
              "  ask:\n"
              "    type: human\n"
              "    prompt: Shall we?\n"
              "    routes: [{when: output.approved, to: yes_}]\n"
              "    default: no_\n"
              "  yes_: {type: tool, tool: tried/echo, args: {value: went}, "
              "next: END}\n"
              "  no_: {type: tool, tool: tried/echo, args: {value: stayed}, "
              "next: END}\n"},
    {"two", "start: [p, q]\n"
            "nodes:\n"
            "  p: {type: human, prompt: First?, next: END}\n"
            "  q: {type: human, prompt: Second?, next: END}\n"},
    {"answer", "start: ask\n"
               "nodes:\n"
               "  ask:\n"
               "    type: human\n"
               "    prompt: How much?\n"
               "    schema: {type: object, required: [n], properties: {n: "
               "{type: integer}}}\n"
               "    next: END\n"},
    {"expires",
     "start: ask\n"
     "nodes:\n"
     "  ask: {type: human, prompt: Quick?, wait: 50ms, next: END}\n"},
    {"tools", "hitl_mode: approve_tools\n"
              "start: a\n"
              "nodes:\n"
              "  a: {type: tool, tool: tried/echo, args: {value: old}, "
              "next: END}\n"},
    {"fail", "start: a\n"
             "nodes:\n"
             "  a: {type: tool, tool: tried/fail, args: {code: no.good}, "
             "next: END}\n"},
    {"nap", "state:\n"
            "  input: {type: object, properties: {ms: {type: integer}}}\n"
            "start: a\n"
            "nodes:\n"
            "  a: {type: tool, tool: tried/nap, args: {ms: \"${input.ms}\"}, "
            "next: b}\n"
            "  b: {type: tool, tool: tried/echo, args: {value: woke}, "
            "next: END}\n"},
    {"strike", "state:\n"
               "  input: {type: object, required: [marker], properties: "
               "{marker: {type: string}}}\n"
               "start: a\n"
               "nodes:\n"
               "  a:\n"
               "    type: tool\n"
               "    tool: tried/strike\n"
               "    args: {marker: \"${input.marker}\"}\n"
               "    next: END\n"},
    {"mended",
     "start: a\n"
     "nodes:\n"
     "  a: {type: tool, tool: tried/echo, next: b,\n"
     "      args: {value: \"${has(scratch.mended) ? 1 : 1 / 0}\"}}\n"
     "  b: {type: tool, tool: tried/echo, args: {value: 1}, next: END}\n"},
    {"pause", "interrupt_before: [b]\n"
              "start: a\n"
              "nodes:\n"
              "  a: {type: tool, tool: tried/echo, args: {value: 1}, next: b}\n"
              "  b: {type: tool, tool: tried/echo, args: {value: 2}, next: "
              "END}\n"},
    {"evil", "start: a\n"
             "nodes:\n"
             "  a: {type: tool, tool: tried/say, args: {text: \"\\e[2J\"}, "
             "next: ask}\n"
             "  ask: {type: human, prompt: \"\\e]0;owned\\a\\e[31mred\", "
             "next: END}\n"},
};

static void begin(void)
{
    char text[16384];

    strcpy(dir, test_mkdir());
    child_dir(dir);
    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\n"
             "kind: Deployment\n"
             "metadata: {name: tests}\n"
             "plugins: {path: [%s/plugins]}\n"
             "trust: {dir: %s/trust.d}\n"
             "store: {path: ./state}\n",
             suite_dir, suite_dir);
    put("mortise.yaml", text);
    for (size_t i = 0; i < sizeof graphs / sizeof graphs[0]; i++) {
        char name[64];

        snprintf(name, sizeof name, "%s.yaml", graphs[i][0]);
        snprintf(text, sizeof text,
                 "apiVersion: mortise/v1\nkind: Graph\n"
                 "metadata: {name: %s, version: 1.0.0}\n%s",
                 graphs[i][0], graphs[i][1]);
        put(name, text);
    }
}

static void end(void)
{
    test_rmdir(dir);
}

/* ---- looking at what came out
 * ------------------------------------------------ */

#define expect_code(want)                                                      \
    ck_assert_msg(child.code == (want),                                        \
                  "exit code %d, not %d:\n%.1200s%.1200s", child.code, (want), \
                  child.out, child.err)
#define expect_out(text)                                                       \
    ck_assert_msg(strstr(child.out, (text)) != NULL,                           \
                  "no '%s' in:\n%.1200s%.1200s", (text), child.out, child.err)
#define expect_err(text)                                                       \
    ck_assert_msg(strstr(child.err, (text)) != NULL,                           \
                  "no '%s' in:\n%.1200s%.1200s", (text), child.out, child.err)
#define expect_not_out(text)                                                   \
    ck_assert_msg(strstr(child.out, (text)) == NULL, "'%s' in:\n%.2000s",      \
                  (text), child.out)

static unsigned lines(const char *text)
{
    unsigned n = 0;

    for (; *text != '\0'; text++)
        n += *text == '\n';
    return n;
}

/* ---- without a store
 * ----------------------------------------------------------- */

static const char *const names[] = {
    "run",           "resume",       "approve",
    "reject",        "answer",       "resolve",
    "cancel",        "runs",         "show",
    "history",       "events",       "inbox",
    "check",         "plugin list",  "plugin inspect",
    "plugin verify", "plugin sign",  "plugin unquarantine",
    "key new",       "key list",     "key trust",
    "key revoke",    "explain",      "why",
    "schema",        "config print", "pause",
    "plugin check",  "completion",   "doctor",
    "graph show",    "eval",         "version",
    "raise-budget",  "test",         "graph import"};
enum { N_NAMES = sizeof names / sizeof names[0] };

/* Each subcommand explains itself: synopsis, options, exit codes, an example;
 * and the overview lists it. */
START_TEST(help)
{
    char usage[64];

    ok(child_run("$MORTISE %s --help", names[_i]));
    snprintf(usage, sizeof usage, "Usage: mortise %s", names[_i]);
    expect_out(usage);
    expect_out("--help");
    expect_out("Exit codes:");
    expect_out("Example:\n  mortise ");
    ck_assert_str_eq(child.err, "");
    for (const char *p = child.out; *p != '\0'; p += strcspn(p, "\n") + 1)
        ck_assert_msg(strcspn(p, "\n") <= 100, "a long line: %.120s", p);
    ok(child_run("$MORTISE --help"));
    expect_out(names[_i]);
}
END_TEST

/* What cannot be asked is refused with the fitting words, and exit code 3. */
START_TEST(usage)
{
    static const char *const cases[][2] = {
        {"", "Usage: mortise COMMAND"},
        {"rnu", "unknown command 'rnu'; did you mean 'run'?"},
        {"goto r a", "it is an option: mortise resume RUN --goto"},
        {"update r", "it is an option: mortise resume RUN --update"},
        {"plugn list", "unknown command 'plugn'; did you mean 'plugin'?"},
        {"plugin lst", "unknown command 'lst'; did you mean 'list'?"},
        {"plugin", "Usage: mortise plugin COMMAND"},
        {"run", "an operand is missing: mortise run GRAPH"},
        {"run a b", "unexpected operand 'b'"},
        {"run --storr x a",
         "unknown option '--storr'; did you mean '--store'?"},
        {"runs --limit ten", "'ten' is not a whole number"},
        {"runs --limit -1", "'-1' is not a whole number"},
        {"events x --after 99999999999999999999", "is not a whole number"},
        {"run ok.yaml --input '{'", "--input: line 1"},
        {"run ok.yaml --input '{} x'", "--input: line 1"},
        {"run ok.yaml --input @none.json", "none.json: No such file"},
        {"run ok.yaml --id 'a b'", "a b"},
        {"run ok.yaml --id ''", "option '--id' needs a value"},
        {"resume x --merge", "--merge needs --update"},
        {"resume x --force", "--force needs --goto"},
        {"resolve x", "give exactly one of --done, --retry and --fail"},
        {"resolve x --retry --fail",
         "give exactly one of --done, --retry and --fail"},
        {"answer x", "--value is missing"},
        {"check ok.yaml --format xml", "--format must be text or json"},
        {"plugin sign x.yaml --out d", "--key is missing"},
        {"key trust k.pub", "--plugins is missing"},
        {"show ''", "no store at "},
        {"show '../x'", "no store at "},
    };

    child_run("$MORTISE %s", cases[_i][0]);
    expect_code(3);
    expect_err(cases[_i][1]);
    ck_assert_str_eq(child.out, "");
    ck_assert(!exists("state") || strstr(cases[_i][0], "run ") == NULL ||
              strstr(cases[_i][0], "--id") != NULL);
}
END_TEST
enum { N_USAGE = 26 };

/* The version, in words and as JSON. */
START_TEST(version)
{
    ok(child_run("$MORTISE version"));
    ck_assert_str_eq(child.out, "mortise " MORTISE_VERSION "\n");
    ok(child_run("$MORTISE --version"));
    ok(child_run("$MORTISE version --json"));
    ck_assert_str_eq(child.out, "{\"version\":\"" MORTISE_VERSION "\"}\n");
}
END_TEST

/* Output that cannot be written is an error in words. */
START_TEST(full_disk)
{
    child_run("$MORTISE --help >/dev/full");
    expect_code(1);
    expect_err("write the output: No space left on device");
    child_run("$MORTISE version >&-");
    expect_code(1);
    expect_err("write the output");
    ok(child_run("$MORTISE runs <&-"));
}
END_TEST

/* A reader that leaves is no error, and a run goes on without it. */
START_TEST(reader_leaves)
{
    ok(child_run("$MORTISE --help | true"));
    ck_assert_str_eq(child.err, "");
    ok(child_run("{ $MORTISE run ok.yaml --id r; echo $? >code; } | true; "
                 "cat code"));
    ck_assert_str_eq(child.out, "0\n");
    ck_assert_str_eq(child.err, "");
    ok(child_run("$MORTISE show r"));
    expect_out("completed");
}
END_TEST

/* ---- check
 * ----------------------------------------------------------------------- */

/* All findings of all files, each with its place; nothing hides another. */
START_TEST(check_reports_all)
{
    ok(child_run("$MORTISE check *.yaml"));
    put("bad1.yaml", "apiVersion: mortise/v1\nkind: Graph\n"
                     "metadata: {name: x}\nstart: a\nnodes:\n"
                     "  a: {type: tool, tool: tried/ehco, next: END}\n");
    put("bad2.yaml", "a: [\n");
    put("bad3.yaml", "");
    put("bad4.yaml", "apiVersion: mortise/v1\nkind: Deployment\n"
                     "metadata: {name: x}\nstroe: {}\n");
    child_run("$MORTISE check bad*.yaml ok.yaml");
    expect_code(2);
    expect_out("bad1.yaml:6:");
    expect_out("did you mean 'echo'");
    expect_out("bad2.yaml:");
    expect_out("bad3.yaml:");
    expect_out("bad4.yaml:4:1: error[");
    expect_out("store");
    expect_not_out("ok.yaml");
    child_run("$MORTISE check --format json bad1.yaml");
    expect_code(2);
    expect_out("{\"findings\":[{\"path\":\"bad1.yaml\",\"line\":6");
    ck_assert(!exists("state"));
}
END_TEST

/* What is wrong with one file does not silence what is odd in the next, and of
 * a node of no known type the keys are looked at. */
START_TEST(check_hides_nothing)
{
    put("bad.yaml", "apiVersion: mortise/v1\nkind: Graph\nmetadata: {name: x}\n"
                    "start: a\nnodes:\n"
                    "  a: {type: tol, nxt: END}\n"
                    "  a: {type: tool}\n");
    put("odd.yaml", "apiVersion: mortise/v1\nkind: Graph\nmetadata: {name: x}\n"
                    "start: [a, b]\nnodes:\n"
                    "  a: {type: tool, tool: tried/echo, args: {value: 1}, "
                    "outputs: {scratch.x: output},"
                    " next: END}\n"
                    "  b: {type: tool, tool: tried/echo, args: {value: 1}, "
                    "outputs: {scratch.x: output},"
                    " next: END}\n");
    child_run("$MORTISE check bad.yaml odd.yaml");
    expect_code(2);
    expect_out("bad.yaml:6:13: error[E0207]");
    expect_out("bad.yaml:6:18: error[E0201]: unknown key 'nxt'");
    expect_out("bad.yaml:7:3: error[E0108]");
    expect_out("warning[W0801]");
}
END_TEST

/* A file that is not there, or cannot be read, is a finding like others, and
 * hides none. */
START_TEST(check_missing_file)
{
    put("bad.yaml", "a: [\n");
    ok(child_run("ln -s loop.yaml loop.yaml"));
    child_run("$MORTISE check none.yaml bad.yaml loop.yaml");
    expect_code(2);
    expect_out("loop.yaml:1:1: error[E0101]: open loop.yaml: ");
    expect_out("none.yaml:1:1: error[E0101]: open none.yaml: No such file");
    expect_out("bad.yaml:");
    child_run("$MORTISE check --json none.yaml");
    expect_code(2);
    expect_out("\"path\":\"none.yaml\"");
    expect_out("\"code\":\"E0101\"");
    child_run("$MORTISE run .");
    expect_code(1);
    expect_err(".: Is a directory");
}
END_TEST

/* Files that are no graphs are findings at a place, the same for who checks and
 * who runs, never crashes. */
START_TEST(strange_graphs)
{
    static const char *const makes[] = {
        ": >g.yaml",
        "printf '\\000\\001\\002' >g.yaml",
        "printf '\\377\\376' >g.yaml",
        "head -c 20000000 /dev/zero | tr '\\0' 'a' >g.yaml",
        "printf '[%.0s' $(seq 5000) >g.yaml",
        "printf 'kind: Graph\\n' >g.yaml",
        "printf '%%s' '- &a [*a]' >g.yaml",
        "printf 'kind: [Graph]\\napiVersion: 7\\n' >g.yaml",
    };
    char finding[256];

    ok(child_run("%s", makes[_i]));
    child_run("$MORTISE check g.yaml");
    expect_code(2);
    snprintf(finding, sizeof finding, "%.*s", (int)strcspn(child.out, "\n"),
             child.out);
    ck_assert_ptr_nonnull(strstr(finding, ": error[E"));
    child_run("$MORTISE run g.yaml");
    expect_code(2);
    expect_err(finding);
}
END_TEST
enum { N_STRANGE = 8 };

/* ---- runs
 * ------------------------------------------------------------------------ */

/* A run that completes: plain lines, exit code 0, and what the reading
 * commands say of it. */
START_TEST(run_completes)
{
    ok(child_run("$MORTISE run ok.yaml --id first"));
    ck_assert_int_eq(strncmp(child.out, "run first\n", 10), 0);
    expect_out(" node_end a ms=");
    expect_out("run first completed\n");
    ck_assert_str_eq(child.err, "");
    ok(child_run("$MORTISE runs"));
    expect_out("first");
    expect_out("completed");
    ck_assert_uint_eq(lines(child.out), 1);
    ok(child_run("$MORTISE show first"));
    expect_out("\"a\": \"hello\"");
    ok(child_run("$MORTISE show first --json"));
    expect_out("\"status\": \"completed\"");
    ok(child_run("$MORTISE history first"));
    ck_assert_uint_ge(lines(child.out), 2);
    ok(child_run("$MORTISE history first --json"));
    expect_out("{\"");
    ok(child_run("$MORTISE events first"));
    expect_out("run_start");
    expect_out("run_end");
    ok(child_run("$MORTISE inbox"));
    expect_out("no requests are pending in the store ");
    expect_out("/state\n");
}
END_TEST

/* With --json a run prints one JSON value a line; the last is how it stands. */
START_TEST(run_json)
{
    ok(child_run("$MORTISE run ok.yaml --id j --json"));
    for (char *p = child.out; *p != '\0'; p += strcspn(p, "\n") + 1)
        ck_assert_msg(*p == '{', "no JSON: %s", p);
    expect_out("\"type\":\"run_end\"");
    expect_out("\"status\":\"completed\"");
}
END_TEST

/* Input comes as text, from a file, from stdin; bad input starts nothing. */
START_TEST(run_input)
{
    put("in.json", "{\"ms\": 1}");
    ok(child_run("$MORTISE run nap.yaml --input '{\"ms\": 1}'"));
    ok(child_run("$MORTISE run nap.yaml --input @in.json"));
    ok(child_run("$MORTISE run nap.yaml --input - <in.json"));
    child_run("$MORTISE run nap.yaml --input '{\"ms\": \"x\"}'");
    expect_code(3);
    child_run("$MORTISE run nap.yaml --input '[]'");
    expect_code(3);
    ok(child_run("$MORTISE runs"));
    ck_assert_uint_eq(lines(child.out), 3);
}
END_TEST

/* An id is used once. */
START_TEST(run_id_is_taken)
{
    ok(child_run("$MORTISE run ok.yaml --id x"));
    child_run("$MORTISE run ok.yaml --id x");
    expect_code(3);
    expect_err("E_EXISTS");
}
END_TEST

/* A failed run says why, and ends with 1. */
START_TEST(run_fails)
{
    child_run("$MORTISE run fail.yaml --id f");
    expect_code(1);
    expect_out("run f failed");
    expect_out("told to fail");
    child_run("$MORTISE resume f"); /* tries it again */
    expect_code(1);
    ok(child_run("$MORTISE show f"));
    expect_out("failed");
}
END_TEST

/* A graph with errors starts nothing, prints them, and ends with 2. */
START_TEST(run_of_bad_graph)
{
    put("bad.yaml", "apiVersion: mortise/v1\nkind: Graph\n"
                    "metadata: {name: x}\nstart: b\nnodes:\n"
                    "  a: {type: tool, tool: tried/ehco, next: END}\n");
    child_run("$MORTISE run bad.yaml");
    expect_code(2);
    expect_err("bad.yaml:6:");
    expect_err("bad.yaml:4:");
    ok(child_run("$MORTISE runs"));
    expect_out("no runs in the store ");
}
END_TEST

/* Runs of one tenant do not exist for another. */
START_TEST(tenants)
{
    ok(child_run("$MORTISE run ok.yaml --id r --tenant blue"));
    child_run("$MORTISE show r");
    expect_code(3);
    expect_err("E_NOT_FOUND");
    child_run("$MORTISE resume r --tenant red");
    expect_code(3);
    expect_err("E_NOT_FOUND");
    ok(child_run("$MORTISE runs"));
    expect_out("no runs in the store ");
    ok(child_run("$MORTISE runs --tenant blue"));
    expect_out("r ");
    ok(child_run("$MORTISE run ok.yaml --id r")); /* no clash */
}
END_TEST

/* What reads finds runs by the beginning of their id, if that says which. */
START_TEST(prefixes)
{
    static const char *const ids[] = {"ab", "ab-", "abc.1", "abd", "b"};

    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
        ok(child_run("$MORTISE run ok.yaml --id %s", ids[i]));
    ok(child_run("$MORTISE show b"));
    expect_out("run      b\n");
    ok(child_run("$MORTISE show ab"));
    expect_out("run      ab\n");
    ok(child_run("$MORTISE show ab-"));
    expect_out("run      ab-\n");
    ok(child_run("$MORTISE show abc"));
    expect_out("run      abc.1\n");
    expect_err("abc is short for run abc.1\n");
    child_run("$MORTISE show a");
    expect_code(3);
    expect_err("is the beginning of several run ids:\n  ab\n  ab-\n  abc.1\n  "
               "abd (E_NOT_FOUND)");
    child_run("$MORTISE show abce");
    expect_code(3);
    child_run("$MORTISE show ''");
    expect_code(3);
}
END_TEST

/* Lists come in pages that meet. */
START_TEST(pages)
{
    for (int i = 0; i < 5; i++)
        ok(child_run("$MORTISE run ok.yaml --id r%d", i));
    ok(child_run("$MORTISE runs"));
    ck_assert_uint_eq(lines(child.out), 5);
    ok(child_run("$MORTISE runs --by-id --limit 2"));
    expect_out("r0 ");
    expect_out("r1 ");
    expect_not_out("r2 ");
    expect_err("more:\n  ");
    ok(child_run("$MORTISE runs --by-id --limit 2 --after r1"));
    expect_not_out("r1 ");
    expect_out("r2 ");
    expect_out("r3 ");
    child_run("$MORTISE runs --limit 0");
    expect_code(3);
    ok(child_run("$MORTISE runs --json"));
    ck_assert_uint_eq(lines(child.out), 5);
}
END_TEST

/* ---- waiting for people
 * ------------------------------------------------------------ */

/* The line of the output that begins with `start`, without its indent. */
static const char *line_with(const char *start)
{
    static char line[4096];
    const char *p = strstr(child.out, start);

    ck_assert_msg(p != NULL, "no '%s' in:\n%.2000s", start, child.out);
    snprintf(line, sizeof line, "%.*s", (int)strcspn(p, "\n"), p);
    return line;
}

/* A run that waits says for what, ends with 4, and prints commands that work
 * word for word. */
START_TEST(waiting_and_approved)
{
    char command[4096];

    child_run("$MORTISE run human.yaml --id h");
    expect_code(4);
    expect_out("run h waiting");
    expect_out("Shall we?");
    snprintf(command, sizeof command, "%s", line_with(child_build("mortise")));
    ck_assert_ptr_nonnull(strstr(command, " approve h "));
    ok(child_run("$MORTISE inbox"));
    expect_out("Shall we?");
    expect_out("run h");
    ok(child_run("%s", command));
    expect_out("run h completed");
    ok(child_run("$MORTISE show h"));
    expect_out("went");
    ok(child_run("$MORTISE inbox"));
    expect_out("no requests are pending");
}
END_TEST

/* From another directory, and with a deployment beside the graph, what is
 * printed still works. */
START_TEST(suggestions_name_the_deployment)
{
    char command[4096];

    ok(child_run("mkdir elsewhere"));
    child_run("cd elsewhere && $MORTISE run ../human.yaml --id h");
    expect_code(4);
    snprintf(command, sizeof command, "%s", line_with(child_build("mortise")));
    ck_assert_ptr_nonnull(strstr(command, "--deployment ../mortise.yaml"));
    ok(child_run("cd elsewhere && %s", command));
    child_run(
        "cd elsewhere && $MORTISE run ../human.yaml --id i --store 's t'");
    expect_code(4);
    snprintf(command, sizeof command, "%s", line_with(child_build("mortise")));
    ck_assert_ptr_nonnull(strstr(command, "--store 's t'"));
    ok(child_run("cd elsewhere && %s", command));
}
END_TEST

/* The environment names a deployment, too; --deployment wins. */
START_TEST(deployment_by_environment)
{
    ok(child_run("mkdir elsewhere; mv mortise.yaml elsewhere"));
    child_run("$MORTISE run ok.yaml");
    expect_code(2); /* the bundled plugins have no `tried` */
    ok(child_run("MORTISE_DEPLOYMENT=elsewhere/mortise.yaml "
                 "$MORTISE run ok.yaml"));
    child_run("MORTISE_DEPLOYMENT=none.yaml $MORTISE run ok.yaml");
    ck_assert_int_ne(child.code, 0);
    expect_err("none.yaml");
    ok(child_run("MORTISE_DEPLOYMENT=none.yaml $MORTISE run ok.yaml "
                 "--deployment elsewhere/mortise.yaml"));
}
END_TEST

/* Rejected: the other arm runs. */
START_TEST(waiting_and_rejected)
{
    child_run("$MORTISE run human.yaml --id h");
    ok(child_run(
        "$MORTISE reject $($MORTISE inbox h --ids) --reason 'not today'"));
    ok(child_run("$MORTISE show h --json"));
    expect_out("stayed");
    expect_out("not today");
    expect_not_out("went");
}
END_TEST

/* An answer in full, and one that breaks the question's schema. */
START_TEST(answering)
{
    child_run("$MORTISE run answer.yaml --id q");
    expect_code(4);
    child_run(
        "$MORTISE approve $($MORTISE inbox q --ids)"); /* the schema wants {n} */
    expect_code(3);
    child_run(
        "$MORTISE approve $($MORTISE inbox q --ids) --answer '{\"n\": \"x\"}'");
    expect_code(3);
    child_run("$MORTISE answer $($MORTISE inbox q --ids) --value "
              "'{\"approved\": \"x\"}'");
    expect_code(3);
    child_run("$MORTISE answer $($MORTISE inbox q --ids) --value '7'");
    expect_code(3);
    ok(child_run("$MORTISE answer $($MORTISE inbox q --ids) --value "
                 "'{\"approved\": true, \"answer\": {\"n\": 7}}'"));
    ok(child_run("$MORTISE show q --json"));
    expect_out("\"n\": 7");
}
END_TEST

/* Several requests: one must say which, and is told how. */
START_TEST(several_requests)
{
    char command[4096];

    child_run("$MORTISE run two.yaml --id t");
    expect_code(4);
    child_run("$MORTISE approve t </dev/null");
    expect_code(3);
    expect_err("several requests are pending; name the one");
    expect_err("First?");
    expect_err("Second?");
    snprintf(command, sizeof command, "%s",
             strstr(child.err, child_build("mortise")));
    command[strcspn(command, "\n")] = '\0';
    child_run("%s", command);
    expect_code(4);
    ok(child_run("$MORTISE approve $($MORTISE inbox t --ids)"));
    expect_out("run t completed");
}
END_TEST

/* resume while questions are pending: still waiting, exit code 4. */
START_TEST(resume_while_waiting)
{
    child_run("$MORTISE run human.yaml --id h");
    child_run("$MORTISE resume h");
    expect_code(4);
    expect_out("Shall we?");
}
END_TEST

/* A decision for an id that is not there, or was settled: E_DECISION_MISMATCH,
 * and nothing is recorded. */
START_TEST(wrong_decisions)
{
    unsigned before;

    child_run("$MORTISE run human.yaml --id h");
    ok(child_run("$MORTISE history h"));
    before = lines(child.out);
    child_run("$MORTISE approve h 0000");
    expect_code(3);
    expect_err("E_DECISION_MISMATCH");
    child_run("$MORTISE resolve $($MORTISE inbox h --ids) --retry");
    expect_code(3);
    expect_err("E_DECISION_MISMATCH");
    child_run("$MORTISE approve $($MORTISE inbox h --ids) --args '{}'");
    expect_code(3);
    ok(child_run("$MORTISE history h"));
    ck_assert_uint_eq(lines(child.out), before);
    child_run("$MORTISE approve nobody </dev/null");
    expect_code(3);
    expect_err("E_NOT_FOUND");
}
END_TEST

/* Who decides too late is told what was decided, and by whom, whatever the run
 * has come to; nothing is recorded. */
START_TEST(decided_too_late)
{
    static const char *const late[] = {
        "reject h $(cat id)",
        "reject h $(cut -c1-8 id)",
        "approve h $(cat id)",
        "approve h $(cat id) --digest 00",
        "approve h $(cat id) --args '{}'",
        "approve h $(cat id) --answer 1",
        "answer h $(cat id) --value '{\"approved\": true}'",
        "resolve h $(cat id) --retry"};
    static const char *const unknown[] = {"00000000", "nosuch", "''", "a\\;x"};

    child_run("$MORTISE run human.yaml --id h");
    ok(child_run("$MORTISE inbox h --ids | cut -d' ' -f2 >id"));
    ok(child_run("$MORTISE approve h $(cat id)"));
    for (size_t i = 0; i < sizeof late / sizeof late[0]; i++) {
        child_run("$MORTISE %s", late[i]);
        expect_code(3);
        expect_err("E_DECISION_MISMATCH");
        expect_err("is already settled: approved by ");
    }
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        child_run("$MORTISE reject h %s", unknown[i]);
        expect_code(3);
        expect_err("E_DECISION_MISMATCH");
    }
    ok(child_run("$MORTISE show h"));
    expect_out("completed");
}
END_TEST

/* A run that ended cannot be stopped, and says how it stands. */
START_TEST(stopped_too_late)
{
    static const char *const how[] = {"completed", "cancelled"};

    child_run("$MORTISE run human.yaml --id completed");
    child_run("$MORTISE run human.yaml --id cancelled");
    child_run("$MORTISE cancel cancelled");
    ok(child_run("$MORTISE approve $($MORTISE inbox completed --ids)"));
    for (int i = 0; i < 4; i++) {
        child_run("$MORTISE %s %s", i < 2 ? "pause" : "cancel", how[i % 2]);
        expect_code(1);
        expect_err("E_STATE");
        expect_err("has already ended");
        expect_err(how[i % 2]);
    }
}
END_TEST

/* An expired question cannot be answered any more. */
START_TEST(expired)
{
    child_run("$MORTISE run expires.yaml --id e");
    child_run("sleep 0.2; $MORTISE approve $($MORTISE inbox e --ids)");
    ck_assert_int_ne(child.code, 0);
}
END_TEST

/* Its plan is approved, and its call waits. */
static void run_tools(void)
{
    child_run("$MORTISE run tools.yaml --id t");
    expect_code(4);
    child_run("$MORTISE approve $($MORTISE inbox t --ids)");
}

/* A tool call that wants an approval: shown with its arguments and digest, run
 * when approved. */
START_TEST(tool_approved)
{
    run_tools();
    expect_code(4);
    expect_out("tried/echo");
    expect_out("{\"value\":\"old\"}");
    expect_out("digest");
    ok(child_run("$MORTISE approve $($MORTISE inbox t --ids)"));
    ok(child_run("$MORTISE show t"));
    expect_out("old");
}
END_TEST

/* A digest that is not the pending call's: E_DECISION_MISMATCH. */
START_TEST(tool_digest)
{
    run_tools();
    child_run(
        "$MORTISE approve $($MORTISE inbox t --ids) --digest "
        "0000000000000000000000000000000000000000000000000000000000000000");
    expect_code(3);
    expect_err("E_DECISION_MISMATCH");
    child_run("$MORTISE approve $($MORTISE inbox t --ids) --answer 1");
    expect_code(3);
    expect_err("E_DECISION_INVALID");
    ok(child_run("$MORTISE approve $($MORTISE inbox t --ids)"));
}
END_TEST

/* Edited arguments are what runs. */
START_TEST(tool_edited)
{
    run_tools();
    child_run(
        "$MORTISE approve $($MORTISE inbox t --ids) --args '{\"wrong\": 1}'");
    expect_code(3);
    ok(child_run("$MORTISE approve $($MORTISE inbox t --ids) --args "
                 "'{\"value\": \"new\"}'"));
    ok(child_run("$MORTISE show t"));
    expect_out("\"a\": \"new\"");
}
END_TEST

/* Rejected: the node fails with `rejected`, and so does the run. */
START_TEST(tool_rejected)
{
    run_tools();
    child_run("$MORTISE reject $($MORTISE inbox t --ids) --reason 'too old'");
    expect_code(1);
    expect_out("rejected");
}
END_TEST

/* --no-continue records a decision and runs nothing. */
START_TEST(recorded_only)
{
    child_run("$MORTISE run human.yaml --id h");
    ok(child_run("$MORTISE approve $($MORTISE inbox h --ids) --no-continue"));
    expect_out("recorded: run h is ");
    ok(child_run("$MORTISE show h"));
    expect_not_out("went");
    ok(child_run("$MORTISE resume h"));
    expect_out("run h completed");
}
END_TEST

/* ---- moving a run
 * ------------------------------------------------------------------- */

/* goto to a node that is not there: E_UNKNOWN_NODE, nothing recorded. */
START_TEST(goto_unknown)
{
    unsigned before;

    child_run("$MORTISE run human.yaml --id h");
    ok(child_run("$MORTISE history h"));
    before = lines(child.out);
    child_run("$MORTISE resume h --goto nowhere");
    expect_code(3);
    expect_err("E_UNKNOWN_NODE");
    ok(child_run("$MORTISE history h"));
    ck_assert_uint_eq(lines(child.out), before);
}
END_TEST

/* goto replaces the frontier, pending question included. */
START_TEST(goto_moves)
{
    child_run("$MORTISE run human.yaml --id h");
    ok(child_run("$MORTISE resume h --goto no_"));
    ok(child_run("$MORTISE show h"));
    expect_out("stayed");
    ok(child_run("$MORTISE inbox"));
    expect_out("no requests are pending");
}
END_TEST

/* A finished run: resume shows it and runs nothing; update records; goto runs
 * from there. */
START_TEST(finished_runs)
{
    unsigned before;

    ok(child_run("$MORTISE run ok.yaml --id r"));
    ok(child_run("$MORTISE history r"));
    before = lines(child.out);
    ok(child_run("$MORTISE resume r"));
    expect_out("run r completed");
    ok(child_run("$MORTISE history r"));
    ck_assert_uint_eq(lines(child.out), before);
    ok(child_run("$MORTISE resume r --update '{\"scratch\": {\"k\": 1}}'"));
    ok(child_run("$MORTISE show r"));
    expect_out("\"k\": 1");
    ok(child_run("$MORTISE history r"));
    ck_assert_uint_gt(lines(child.out), before);
    ok(child_run("$MORTISE resume r --goto a"));
    ok(child_run("$MORTISE show r --json"));
    expect_out("a#2");
    child_run("$MORTISE approve r 8f31c09a");
    expect_code(3);
}
END_TEST

/* update replaces, and warns of what it removes; or it merges.  Nonsense is refused
 * and records nothing. */
START_TEST(updates)
{
    child_run("$MORTISE run human.yaml --id h");
    ok(child_run("$MORTISE resume h --update '{\"scratch\": {\"a\": 1}}' "
                 "--no-continue"));
    ck_assert_str_eq(child.err, "");
    ok(child_run("$MORTISE resume h --merge --no-continue --update "
                 "'{\"scratch\": {\"b\": 2}}'"));
    ck_assert_str_eq(child.err, "");
    ok(child_run("$MORTISE show h"));
    expect_out("\"a\": 1");
    expect_out("\"b\": 2");
    ok(child_run("$MORTISE resume h --no-continue --update "
                 "'{\"scratch\": {\"b\": 3, \"c\": 3}}'"));
    ck_assert_str_eq(child.err, "mortise: warning: without --merge, the update "
                                "removes scratch.a from the state\n");
    ok(child_run("$MORTISE resume h --no-continue --update "
                 "'{\"scratch\": {}, \"artifacts\": {}}'"));
    ck_assert_str_eq(child.err,
                     "mortise: warning: without --merge, the update "
                     "removes scratch.b, scratch.c, artifacts.a from "
                     "the state\n");
    ok(child_run("$MORTISE show h"));
    expect_not_out("\"b\": 2");
    expect_not_out("\"c\": 3");
    child_run("$MORTISE resume h --update '{\"input\": {}}'");
    expect_code(3);
    child_run("$MORTISE resume h --update '7'");
    expect_code(3);
}
END_TEST

/* A resume that changes the state first is one: what failed is tried again, and
 * sees the change; a scheduled pause is passed.  --no-continue only records. */
START_TEST(resumes_with_another_state)
{
    child_run("$MORTISE run mended.yaml --id m");
    expect_code(1);
    ok(child_run("$MORTISE resume m --no-continue --update "
                 "'{\"scratch\": {\"x\": 1}}'"));
    expect_out("recorded: run m is failed");
    ok(child_run("$MORTISE resume m --update "
                 "'{\"scratch\": {\"mended\": true}}'"));
    expect_out("run m completed");
    child_run("$MORTISE run pause.yaml --id p");
    ok(child_run("$MORTISE resume p --update '{\"scratch\": {\"x\": 1}}'"));
    expect_out("run p completed");
}
END_TEST

/* A pause of the graph's own: exit code 4, and resume passes it. */
START_TEST(scheduled_pause)
{
    child_run("$MORTISE run pause.yaml --id p");
    expect_code(4);
    expect_out(" resume p");
    child_run("$MORTISE approve $($MORTISE inbox p --ids)");
    expect_code(3);
    expect_err("mortise resume");
    ok(child_run("$MORTISE resume p"));
    child_run("$MORTISE run pause.yaml --id q");
    child_run("$MORTISE resume q --goto b");
    expect_code(4); /* goto honours the pause */
    ok(child_run("$MORTISE resume q --goto b --force"));
}
END_TEST

/* A waiting run is cancelled, and only a goto has it go on: who resumes it is
 * told so, and by whom it was cancelled; what is printed works. */
START_TEST(cancelling)
{
    child_run("$MORTISE run human.yaml --id h");
    ok(child_run("$MORTISE cancel h --reason enough"));
    expect_out("run h cancelled");
    ok(child_run("$MORTISE runs"));
    expect_out("cancelled");
    child_run("$MORTISE resume h");
    expect_code(1);
    expect_out("run h cancelled");
    expect_out("the run had already ended; nothing was done: ");
    expect_out(" cancelled it at 20");
    expect_out(", with the reason: enough\n");
    expect_out(" resume h --goto ");
    child_run("$($MORTISE resume h | grep -e --goto)");
    expect_code(4);
    expect_out("run h waiting");
    ok(child_run("$MORTISE approve $($MORTISE inbox h --ids)"));
    ck_assert_ptr_null(strstr(child.out, "had ended before"));
    ok(child_run("$MORTISE resume h"));
    expect_out("the run had already ended; nothing was done\n");
    expect_out(" resume h --goto ");
    child_run("$MORTISE cancel nobody");
    expect_code(3);
}
END_TEST

/* The suggested node is one that did not finish, if there is one: `c` is newer, but
 * done. */
START_TEST(a_goto_is_suggested_to_an_unfinished_node)
{
    put("fork.yaml",
        "apiVersion: mortise/v1\nkind: Graph\n"
        "metadata: {name: fork, version: 1.0.0}\nstart: a\nnodes:\n"
        "  a: {type: pass, next: [b, c]}\n"
        "  b: {type: human, prompt: \"well?\"}\n"
        "  c: {type: pass}\n");
    child_run("$MORTISE run fork.yaml --id f");
    expect_code(4);
    ok(child_run("$MORTISE cancel f"));
    child_run("$MORTISE resume f");
    expect_out(" resume f --goto b\n");
}
END_TEST

/* ---- crashes
 * ------------------------------------------------------------------------- */

/* Killed in the middle of a node, the run is there, and goes on. */
START_TEST(kill_and_resume)
{
    pid_t pid = child_start("run", "$MORTISE run nap.yaml --id n --json "
                                   "--input '{\"ms\": 3000}'");

    child_await("run.out", "node_start");
    child_kill(pid);
    ok(child_run("$MORTISE runs"));
    expect_out("n ");
    expect_out("interrupted");
    ok(child_run("$MORTISE resume n"));
    expect_out("run n completed");
    ok(child_run("$MORTISE show n"));
    expect_out("woke");
}
END_TEST

/* Killed while it waits for a person with --wait, the question is still there,
 * under the same id. */
START_TEST(kill_while_waiting)
{
    char before[1 << 16];
    pid_t pid = child_start("run", "$MORTISE run human.yaml --id h --wait");

    child_await("run.out", "interrupt");
    ok(child_run("$MORTISE inbox --json"));
    strcpy(before, child.out);
    child_kill(pid);
    ok(child_run("$MORTISE inbox --json"));
    ck_assert_str_eq(child.out, before);
    ok(child_run("$MORTISE approve $($MORTISE inbox h --ids)"));
}
END_TEST

/* Killed between an effect's intent and its answer: in doubt, exit code 5; and
 * a person settles it, each of the three ways. */
START_TEST(in_doubt)
{
    static const char *const ways[][2] = {
        {"--retry", "\"again\": true"},
        {"--done '{\"by\": \"hand\"}'", "\"by\": \"hand\""},
        {"--fail", "failed"},
    };

    child_run("$MORTISE run strike.yaml --id s --input "
              "'{\"marker\": \"%s/struck\"}'",
              dir);
    expect_code(128 + SIGKILL);
    ck_assert(exists("struck"));
    child_run("$MORTISE resume s");
    expect_code(5);
    expect_out("resolve s");
    child_run("$MORTISE resume s");
    expect_code(5);
    child_run("$MORTISE approve $($MORTISE inbox s --ids)");
    expect_code(3);
    expect_err("mortise resolve");
    child_run("$MORTISE resolve $($MORTISE inbox s --ids) %s", ways[_i][0]);
    expect_code(_i == 2 ? 1 : 0);
    ok(child_run("$MORTISE show s"));
    expect_out(ways[_i][1]);
}
END_TEST

/* SIGINT and SIGTERM pause the run and end the process; the run can go on or,
 * as here, be ended. */
START_TEST(interrupted)
{
    pid_t pid = child_start("run", "$MORTISE run nap.yaml --id n --json "
                                   "--input '{\"ms\": 30000}'");

    child_await("run.out", "node_start");
    kill(pid, _i == 0 ? SIGINT : SIGTERM);
    ck_assert_int_eq(child_wait(pid), 4);
    ok(child_run("$MORTISE runs"));
    expect_out("n ");
    child_run("$MORTISE cancel n");
    ok(child_run("$MORTISE show n"));
    expect_out("cancelled");
}
END_TEST

/* ---- two terminals
 * -------------------------------------------------------------------- */

/* While one process waits with the run, others list, follow, approve; the first
 * sees the end. */
START_TEST(two_terminals)
{
    pid_t run = child_start("run", "$MORTISE run human.yaml --id h --wait");
    pid_t follow;

    child_await("run.out", "interrupt");
    follow = child_start("follow", "$MORTISE events h --follow");
    child_await("follow.out", "interrupt");
    ok(child_run("$MORTISE inbox"));
    expect_out("Shall we?");
    ok(child_run("$MORTISE show h"));
    ok(child_run("$MORTISE approve $($MORTISE inbox h --ids)"));
    expect_out("recorded: run h");
    ck_assert_int_eq(child_wait(run), 0);
    ck_assert_int_eq(child_wait(follow), 0);
    child_await("run.out", "run h completed");
    child_await("follow.out", "run_end");
    ok(child_run("$MORTISE show h"));
    expect_out("went");
}
END_TEST

/* Cancelled from elsewhere, in the middle of a node. */
START_TEST(cancelled_from_elsewhere)
{
    pid_t run = child_start("run", "$MORTISE run nap.yaml --id n --json "
                                   "--input '{\"ms\": 30000}'");

    child_await("run.out", "node_start");
    ok(child_run("$MORTISE cancel n"));
    ck_assert_int_eq(child_wait(run), 1);
    child_await("run.out", "\"cancelled\"");
}
END_TEST

/* A second resume of a run that is going: E_CONFLICT. */
START_TEST(two_resumes)
{
    pid_t run = child_start("run", "$MORTISE run nap.yaml --id n --json "
                                   "--input '{\"ms\": 5000}'");

    child_await("run.out", "node_start");
    child_run("$MORTISE resume n");
    expect_code(1);
    expect_err("E_CONFLICT");
    ck_assert_int_eq(child_wait(run), 0);
}
END_TEST

/* A second run in the same store goes to the first process, which stays for it
 * when its own work is over first (test_cli_together.c has more). */
START_TEST(a_second_run)
{
    pid_t first = child_start("run", "$MORTISE run nap.yaml --id n --json "
                                     "--input '{\"ms\": 5000}'");

    child_await("run.out", "node_start");
    ok(child_run("$MORTISE run nap.yaml --id m --input '{\"ms\": 100}'"));
    expect_out("run m completed");
    ok(child_run("$MORTISE run nap.yaml --id late --input '{\"ms\": 8000}'"));
    expect_out("run late completed");
    ck_assert_int_eq(child_wait(first), 0);
    child_await("run.err", "active here");
    ok(child_run("$MORTISE runs"));
    expect_out("late");
}
END_TEST

/* ---- terminals
 * ------------------------------------------------------------------------- */

/* Run a line with a terminal as its output; all that it wrote. */
static char screen[1 << 16];

static int run_in_terminal(const char *term, const char *line)
{
    struct winsize w = {.ws_col = 100, .ws_row = 30};
    size_t n = 0;
    ssize_t got;
    int master, status = 0;
    pid_t pid = forkpty(&master, NULL, NULL, &w);

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        setenv("TERM", term, 1);
        setenv("MORTISE", child_build("mortise"), 1);
        if (chdir(dir) == 0)
            execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    while (n < sizeof screen - 1 &&
           (got = read(master, screen + n, sizeof screen - 1 - n)) > 0)
        n += (size_t)got;
    screen[n] = '\0';
    status = child_wait(pid);
    close(master);
    return status;
}

/* A terminal gets progress that is redrawn, and colours; a dumb one neither. */
START_TEST(terminal)
{
    child_run("$MORTISE config allow mortise.yaml"); /* a word for it */
    ck_assert_int_eq(run_in_terminal("xterm", "$MORTISE run nap.yaml --input "
                                              "'{\"ms\": 250}' --id n"),
                     0);
    ck_assert_ptr_nonnull(strstr(screen, "working"));
    ck_assert_ptr_nonnull(strstr(screen, "slept"));
    ck_assert_ptr_nonnull(strstr(screen, "\x1b[1A\r\x1b[J"));
    ck_assert_ptr_nonnull(strstr(screen, "\x1b[32m"));
    ck_assert_ptr_nonnull(strstr(screen, "completed"));
    ck_assert_int_eq(run_in_terminal("dumb", "$MORTISE run ok.yaml --id d"), 0);
    ck_assert_ptr_null(strchr(screen, '\x1b'));
    ck_assert_ptr_nonnull(strstr(screen, "node_end a"));
    ck_assert_int_eq(
        run_in_terminal("xterm", "NO_COLOR=1 $MORTISE run ok.yaml --id c"), 0);
    ck_assert_ptr_null(strstr(screen, "m\x1b"));
    ck_assert_ptr_null(strstr(screen, "\x1b[32m"));
}
END_TEST

/* Nothing that a graph or a plugin says moves the cursor or sets a title. */
START_TEST(no_control_characters)
{
    static const char *const commands[] = {"$MORTISE run evil.yaml --id e",
                                           "$MORTISE inbox",
                                           "$MORTISE show e",
                                           "$MORTISE show e --json",
                                           "$MORTISE events e",
                                           "$MORTISE events e --json",
                                           "$MORTISE history e",
                                           "$MORTISE run 'a\x1b[2Jb'",
                                           "$MORTISE 'a\x1b[2Jb'",
                                           "$MORTISE show 'a\x1b[2Jb'",
                                           "$MORTISE run evil.yaml --x\x1b[2J"};

    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        run_in_terminal("xterm", commands[i]);
        ck_assert_msg(strstr(screen, "\x1b[2J") == NULL &&
                          strchr(screen, '\a') == NULL &&
                          strstr(screen, "\x1b]") == NULL,
                      "%s:\n%s", commands[i], screen);
    }
}
END_TEST

/* ---- plugins and keys
 * -------------------------------------------------------------------- */

/* What there is, what it says of itself, and that it would load. */
START_TEST(plugins)
{
    ok(child_run("$MORTISE plugin list"));
    expect_out("tried");
    expect_out("1.0.0");
    ok(child_run("$MORTISE plugin list --json"));
    expect_out("\"name\":\"tried\"");
    ok(child_run("$MORTISE plugin inspect tried"));
    expect_out("strike");
    expect_out("external  intent:call");
    ok(child_run("$MORTISE plugin inspect tried --json"));
    expect_out("\"operations\"");
    ok(child_run("$MORTISE plugin inspect %s/plugins/tried.plugin.yaml",
                 suite_dir));
    ok(child_run("$MORTISE plugin verify tried"));
    ok(child_run("$MORTISE plugin verify %s/plugins/tried.plugin.yaml",
                 suite_dir));
    child_run("$MORTISE plugin verify tired");
    ck_assert_int_ne(child.code, 0);
    expect_err("did you mean 'tried'");
    child_run("$MORTISE plugin inspect tired");
    ck_assert_int_ne(child.code, 0);
}
END_TEST

/* How many of that kind are listed, each signed and without a problem. */
static int listed(const char *kind)
{
    ok(child_run("$MORTISE plugin list --json | grep '\"kind\":\"%s\"' | "
                 "grep '\"unsigned\":false,\"problem\":null' | wc -l",
                 kind));
    return atoi(child.out);
}

/* The bundled plugins are found and trusted without any configuration. */
START_TEST(bundled_plugins)
{
    ok(child_run("rm mortise.yaml; $MORTISE plugin list"));
    expect_out("file");
    ck_assert_int_ge(listed("guardrail"), 7);
    ck_assert_int_ge(listed("memory"), 1);
    ck_assert_int_ge(listed("discovery"), 2);
    ok(child_run("$MORTISE plugin verify file"));
    ok(child_run("$MORTISE key list"));
    expect_out("in-process");
}
END_TEST

/* What a manifest leaves to the deployment is shown as what it comes to there,
 * beside the words that were signed; a file is in no deployment. */
START_TEST(effective_grant)
{
    ok(child_run("rm mortise.yaml; $MORTISE plugin inspect file"));
    expect_out("fs write    config:roots");
    expect_out("writes in   nothing (see its config)");
    ok(child_run("printf 'apiVersion: mortise/v1\\nkind: Deployment\\n"
                 "metadata: {name: d}\\n"
                 "plugins: {config: {file: {roots: [/a, /b], read_only: [/c]},"
                 " http: {allow: [\"https://API.acme.com\", \"[::1]:80\"]}}}"
                 "\\n' >mortise.yaml && $MORTISE config allow mortise.yaml "
                 "&& $MORTISE plugin inspect file"));
    expect_out("reads in    /a\n            /b\n            /c\n");
    expect_out("writes in   /a\n            /b\n");
    ok(child_run("$MORTISE plugin inspect http"));
    expect_out("external  intent:steps Make a request");
    expect_out("config\n  allow ");
    expect_out("may reach   api.acme.com:443\n            [::1]:80\n");
    ok(child_run("$MORTISE plugin inspect file --json | tr -d ' \\n'"));
    expect_out("\"grant\":{\"net\":[],\"fs\":{\"read\":[\"/a\",\"/b\","
               "\"/c\"],\"write\":[\"/a\",\"/b\"]},\"exec\":[],"
               "\"env\":[],\"secrets\":[]}");
    ok(child_run("printf 'models:\\n"
                 "  small: {provider: openai, model: m, base_url: "
                 "\"http://[::1]:8080/v1\"}\\n"
                 "  large: {provider: openai, model: m, base_url: "
                 "\"https://api.acme.com/v1\"}\\n' >>mortise.yaml && "
                 "$MORTISE config allow mortise.yaml && $MORTISE plugin "
                 "inspect openai"));
    expect_out("as          models.small\nmay reach   [::1]:8080\n"
               "as          models.large\nmay reach   api.acme.com:443\n");
    ok(child_run("$MORTISE plugin inspect openai --json | tr -d ' \\n'"));
    expect_out("\"grants\":{\"models.small\":{\"net\":[\"[::1]:8080\"]");
    ck_assert_ptr_null(strstr(child.out, "\"grant\":"));
    ok(child_run("$MORTISE plugin inspect anthropic"));
    expect_out("as          nothing: it is not the provider of any model alias "
               "of the deployment\n");
    expect_out("\nanthropic.so ");
    ok(child_run("$MORTISE plugin inspect %s",
                 child_build("plugins/file.plugin.yaml")));
    ck_assert_ptr_null(strstr(child.out, "writes in"));
    ok(child_run("sed -i 's|/c|7|; s|roots: .*, r|roots: [/a], r|' "
                 "mortise.yaml"));
    child_run("$MORTISE plugin inspect file");
    ck_assert_int_eq(child.code, 78);
    expect_err(
        "permissions.fs.read: config:read_only: an element is not a string");
}
END_TEST

/* A plugin whose bytes changed after signing is refused, with exit code 77, by
 * verify and by run alike. */
START_TEST(tampered_plugin)
{
    ok(child_run(
        "cp -r %s/plugins . && printf x >>plugins/tried.so && "
        "sed -i 's|^plugins: .*|plugins: {path: [./plugins]}|' mortise.yaml",
        suite_dir));
    child_run("$MORTISE plugin verify tried");
    expect_code(77);
    child_run("$MORTISE run ok.yaml --id t");
    ck_assert_int_ne(child.code, 0);
    ok(child_run("cp %s/plugins/tried.so plugins && "
                 "printf '# x\\n' >>plugins/tried.plugin.yaml",
                 suite_dir));
    child_run("$MORTISE plugin verify tried");
    expect_code(77);
}
END_TEST

/* A revoked key signs nothing any more. */
START_TEST(revoked_key)
{
    char id[64];

    ok(child_run("cp -r %s/trust.d . && "
                 "sed -i 's|dir: .*|dir: ./trust.d}|' mortise.yaml && "
                 "$MORTISE key list",
                 suite_dir));
    snprintf(id, sizeof id, "%.16s", child.out);
    ok(child_run("$MORTISE plugin verify tried"));
    child_run("$MORTISE key revoke nonsense");
    ck_assert_int_ne(child.code, 0);
    ok(child_run("$MORTISE key revoke %s", id));
    child_run("$MORTISE plugin verify tried");
    expect_code(77);
    expect_err("revoked");
    ok(child_run("$MORTISE key list"));
    expect_out("revoked");
}
END_TEST

/* The time in a signature is the one that SOURCE_DATE_EPOCH says: the same is signed
 * again byte for byte. */
START_TEST(signatures_have_the_date_of_the_source)
{
    static const char *const bad[] = {"x", "-1", "0", "12 ", "1234567890123"};
    char source[4096];

    ck_assert_ptr_nonnull(realpath("tests/plugins/tried.plugin.yaml", source));
    for (int k = 1; k <= 2; k++)
        ok(child_run("SOURCE_DATE_EPOCH=86400 $MORTISE plugin sign %s %s --key "
                     "%s/k.key --out %d",
                     source, child_build("tests/plugins/tried.so"), suite_dir,
                     k));
    ok(child_run("grep ' timestamp:86400$' 1/tried.plugin.yaml.minisig"));
    ok(child_run("diff -r 1 2"));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        child_run("SOURCE_DATE_EPOCH='%s' $MORTISE plugin sign %s --key "
                  "%s/k.key --out 1",
                  bad[i], source, suite_dir);
        expect_code(3);
        expect_err("correct or unset it");
    }
    ok(child_run("diff -r 1 2"));
}
END_TEST

/* Keys are not overwritten, and passwords are asked for. */
START_TEST(keys)
{
    ok(child_run("echo secret | $MORTISE key new k"));
    expect_out("k.key");
    ck_assert(exists("k.key") && exists("k.pub"));
    child_run("$MORTISE key new k -W");
    ck_assert_int_ne(child.code, 0);
    child_run("$MORTISE key new l </dev/null");
    ck_assert_int_ne(child.code, 0);
    ck_assert(!exists("l.key"));
    child_run("echo wrong | $MORTISE plugin sign %s/plugins/tried.plugin.yaml "
              "%s/plugins/tried.so --key k.key --out out",
              suite_dir, suite_dir);
    expect_code(77);
    ok(child_run("echo secret | $MORTISE plugin sign "
                 "%s/plugins/tried.plugin.yaml %s/plugins/tried.so "
                 "--key k.key --out out",
                 suite_dir, suite_dir));
    ok(child_run("minisign -Vm out/tried.plugin.yaml -p k.pub"));
    child_run("$MORTISE key trust k.pub --plugins tried --kinds cook "
              "--trust t");
    expect_code(3);
    child_run("$MORTISE key trust none.pub --plugins tried --trust t");
    ck_assert_int_ne(child.code, 0);
}
END_TEST

/* ---- stores that are not as they should be
 * ------------------------------------------------- */

/* A store that cannot be opened says so in words. */
START_TEST(bad_stores)
{
    child_run("$MORTISE runs --store mortise.yaml");
    ck_assert_int_ne(child.code, 0);
    ck_assert_str_ne(child.err, "");
    child_run("$MORTISE runs --store /proc/none");
    ck_assert_int_ne(child.code, 0);
    ck_assert_str_ne(child.err, "");
}
END_TEST

/* A deployment with errors is shown with its findings, exit code 2 or 78. */
START_TEST(bad_deployment)
{
    put("mortise.yaml", "apiVersion: mortise/v1\nkind: Deployment\n"
                        "metadata: {name: x}\nstroe: {path: x}\n");
    child_run("$MORTISE run ok.yaml");
    ck_assert_msg(child.code == 2 || child.code == 78, "%d", child.code);
    expect_err("mortise.yaml:4:1");
    child_run("$MORTISE plugin list");
    ck_assert_msg(child.code == 2 || child.code == 78, "%d", child.code);
    expect_err("mortise.yaml:4:1");
}
END_TEST

/* Who only reads makes no store: lists are empty, and whoever asks for a run is
 * told that there is no store.  A limit of nothing is refused. */
START_TEST(reading_makes_no_store)
{
    static const char *const lists[] = {"runs", "inbox"};
    static const char *const others[] = {
        "show x",  "history x", "events x",         "why x",
        "inbox x", "why",       "events x --follow"};

    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        child_run("mkdir -p empty; cd empty; $MORTISE %s; echo $?; ls -A",
                  lists[i]);
        ck_assert_ptr_nonnull(strstr(child.out, "\n0\n"));
        ck_assert_ptr_null(strstr(child.out, "\n.mortise"));
        ck_assert_str_eq(child.err, "");
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        child_run("cd empty; $MORTISE %s; echo $?; ls -A", others[i]);
        ck_assert_msg(strcmp(child.out, "3\n") == 0, "%s: %s%s", others[i],
                      child.out, child.err);
    }
    child_run("cd empty; $MORTISE show x");
    ck_assert_ptr_nonnull(strstr(child.err, "no store at "));
    /* Nor in a directory that somebody made, or has other things in. */
    child_run("mkdir empty/made; touch empty/made/notes; cd empty; "
              "$MORTISE runs --store made; $MORTISE show --store made x; "
              "ls -A made");
    ck_assert_str_eq(child.out, "notes\n");
    ck_assert_ptr_nonnull(strstr(child.err, "no store at made"));
    child_run("cd empty; $MORTISE runs --limit 0");
    ck_assert_int_eq(child.code, 3);
    ck_assert_ptr_nonnull(strstr(child.err, "--limit: 0 is not possible"));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli");
    TCase *tc = tcase_create("end to end");

    tcase_set_timeout(tc, 20);
    tcase_add_unchecked_fixture(tc, sign_plugin, remove_plugin);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, reading_makes_no_store);
    suite_add_tcase(s, tc);
    tcase_add_loop_test(tc, help, 0, N_NAMES);
    tcase_add_loop_test(tc, usage, 0, N_USAGE);
    tcase_add_loop_test(tc, strange_graphs, 0, N_STRANGE);
    tcase_add_loop_test(tc, in_doubt, 0, 3);
    tcase_add_loop_test(tc, interrupted, 0, 2);
    tcase_add_test(tc, version);
    tcase_add_test(tc, full_disk);
    tcase_add_test(tc, reader_leaves);
    tcase_add_test(tc, check_reports_all);
    tcase_add_test(tc, check_hides_nothing);
    tcase_add_test(tc, check_missing_file);
    tcase_add_test(tc, run_completes);
    tcase_add_test(tc, run_json);
    tcase_add_test(tc, run_input);
    tcase_add_test(tc, run_id_is_taken);
    tcase_add_test(tc, run_fails);
    tcase_add_test(tc, run_of_bad_graph);
    tcase_add_test(tc, tenants);
    tcase_add_test(tc, prefixes);
    tcase_add_test(tc, pages);
    tcase_add_test(tc, waiting_and_approved);
    tcase_add_test(tc, suggestions_name_the_deployment);
    tcase_add_test(tc, deployment_by_environment);
    tcase_add_test(tc, waiting_and_rejected);
    tcase_add_test(tc, answering);
    tcase_add_test(tc, several_requests);
    tcase_add_test(tc, resume_while_waiting);
    tcase_add_test(tc, wrong_decisions);
    tcase_add_test(tc, decided_too_late);
    tcase_add_test(tc, stopped_too_late);
    tcase_add_test(tc, expired);
    tcase_add_test(tc, tool_approved);
    tcase_add_test(tc, tool_digest);
    tcase_add_test(tc, tool_edited);
    tcase_add_test(tc, tool_rejected);
    tcase_add_test(tc, recorded_only);
    tcase_add_test(tc, goto_unknown);
    tcase_add_test(tc, goto_moves);
    tcase_add_test(tc, finished_runs);
    tcase_add_test(tc, updates);
    tcase_add_test(tc, resumes_with_another_state);
    tcase_add_test(tc, scheduled_pause);
    tcase_add_test(tc, cancelling);
    tcase_add_test(tc, a_goto_is_suggested_to_an_unfinished_node);
    tcase_add_test(tc, kill_and_resume);
    tcase_add_test(tc, kill_while_waiting);
    tcase_add_test(tc, two_terminals);
    tcase_add_test(tc, cancelled_from_elsewhere);
    tcase_add_test(tc, two_resumes);
    tcase_add_test(tc, a_second_run);
    tcase_add_test(tc, terminal);
    tcase_add_test(tc, no_control_characters);
    tcase_add_test(tc, plugins);
    tcase_add_test(tc, bundled_plugins);
    tcase_add_test(tc, effective_grant);
    tcase_add_test(tc, tampered_plugin);
    tcase_add_test(tc, revoked_key);
    tcase_add_test(tc, signatures_have_the_date_of_the_source);
    tcase_add_test(tc, keys);
    tcase_add_test(tc, bad_stores);
    tcase_add_test(tc, bad_deployment);
    return s;
}

int main(void)
{
    return test_run(suite());
}
