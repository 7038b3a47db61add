/* test_hostile_creation.c -- each command that creates a file is killed at each call
 * that it makes to the file system.
 *
 * After the kill each file that has its name is whole: it is as it was before the
 * command, or as the command leaves it.  The same command then does its work, and
 * nothing is left behind beside what it makes.  So creation is atomic: a new name,
 * synced, renamed.
 *
 * Two kinds of files grow under their names.  A note of a plugin's death is one write
 * to its file, so the file is as before the note, empty, or as after it.  A recording
 * is whole once its run has continued.
 *
 * A command's calls are counted by tests/lib/powercut.c, which also kills it; what
 * lies below TMPDIR is not watched. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/child.h"
#include "lib/matrix.h"
#include "lib/test.h"

static const char deployment[] =
    "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: d}\n";
static const char memory[] = "memory: {plugin: local}\n";
static const char roots[] = "plugins: {config: {file: {roots: [.]}}}\n";
static const char dev[] = "plugins: {dev: [./dev]}\n";
static const char voice[] = "plugins: {config: {voice: {directory: .}}}\n";
static const char server[] =
    "tools: {mcp: {a: {command: [\"%s/tests/mcp/mcpd_stdio\"]}}}\n";
static const char graph[] =
    "apiVersion: mortise/v1\nkind: Graph\nmetadata: {name: g, version: 1.0.0}\n"
    "start: a\nnodes:\n  a: {type: tool, tool: text/split, args: {text: x, "
    "pattern: y}, next: END}\n";
static const char asking[] =
    "apiVersion: mortise/v1\nkind: Graph\nmetadata: {name: g, version: 1.0.0}\n"
    "start: a\nnodes:\n  a: {type: human, prompt: x, next: END}\n";
static const char writing[] =
    "apiVersion: mortise/v1\nkind: Graph\nmetadata: {name: g, version: 1.0.0}\n"
    "start: a\nnodes:\n  a: {type: tool, tool: file/write, args: {path: f.txt, "
    "content: hello}, next: END}\n";
static const char dying[] =
    "apiVersion: mortise/v1\nkind: Graph\nmetadata: {name: g, version: 1.0.0}\n"
    "start: a\nnodes:\n  a: {type: tool, tool: deadly_inline/die, args: {how: "
    "segv}, next: END}\n";
static const char speaking[] =
    "apiVersion: mortise/v1\nkind: Graph\nmetadata: {name: g, version: 1.0.0}\n"
    "start: a\nnodes:\n  a: {type: voice, voice: {mode: speak-only, "
    "speak_text: \"Hello. How are you?\", audio_out: x.wav}, next: END}\n";
static const char tests[] =
    "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\ngraph: g.yaml\n"
    "cases:\n  a: {expect: {status: completed}}\n";
static const char traces[] =
    "{\"id\":\"n1\",\"type\":\"semantic\",\"scope\":\"global\",\"content\":"
    "\"Anna\",\"strength\":0.8,\"created_at\":1790000000000}\n";
static const char servers[] =
    "{\"mcpServers\":{\"a\":{\"command\":\"true\"}}}\n";

/* A command that creates files. */
struct creation {
    const char *name, *prepares, *command;
    size_t share;      /* one of so many kills belongs to the affordable part */
    const char *again; /* what is done then; NULL: the same command */
    const char *works; /* what must hold then; NULL: nothing more */
    bool once;         /* it is refused, with 3, if the first was whole */
    bool random;       /* what it writes is another thing each time */
    bool dies;         /* a signal ends it, of a plugin */
};

#define KEY "$MORTISE key new k -W"
#define FIND                                                                   \
    "B=$(dirname $MORTISE) && cp $FROM/tests/plugins/tried.plugin.yaml ."
#define SIGN                                                                   \
    "plugin sign tried.plugin.yaml $B/tests/plugins/tried.so --key k.key "     \
    "--out dist"
/* A plugin of tests/plugins that the deployment may load without a signature. */
#define DEV(name)                                                              \
    "mkdir dev && cp $FROM/tests/plugins/" name ".plugin.yaml "                \
    "$(dirname $MORTISE)/tests/plugins/" name ".so dev && "                    \
    "cat dep dev.yaml >mortise.yaml && $MORTISE config allow mortise.yaml"
#define SAY(args) "plugin call converses/say '{" args ", \"with\": \"x\"}'"
/* Three deaths quarantine it, however many of them were noted before. */
#define IS_DEADLY                                                              \
    "$MORTISE run g.yaml; $MORTISE run g.yaml; "                               \
    "$MORTISE plugin list | grep quarantined"
#define WAITS "cp asking.yaml g.yaml; $MORTISE run g.yaml; [ $? = 4 ]"

static const struct creation creations[] = {
    {.name = "init",
     .prepares = "true",
     .command = "init hello",
     .share = 4,
     .works = "cd hello && $MORTISE check mortise.yaml hello.graph.yaml"},
    {.name = "init, here",
     .prepares = "true",
     .command = "init . --name x",
     .share = 11},
    {.name = "plugin new, c",
     .prepares = "true",
     .command = "plugin new a.b --lang c",
     .share = 19},
    {.name = "plugin new, c++",
     .prepares = "true",
     .command = "plugin new a.b --lang c++",
     .share = 31},
    {.name = "plugin new, rust",
     .prepares = "true",
     .command = "plugin new a.b --lang rust",
     .share = 31},
    {.name = "plugin new, memory",
     .prepares = "true",
     .command = "plugin new a.b --kind memory",
     .share = 31},
    {.name = "plugin new, guardrail",
     .prepares = "true",
     .command = "plugin new a.b --kind guardrail",
     .share = 31},
    {.name = "plugin new, discovery",
     .prepares = "true",
     .command = "plugin new a.b --kind discovery",
     .share = 31},
    {.name = "key new",
     .prepares = "true",
     .command = "key new k -W",
     .share = 2,
     .works = "$MORTISE key trust k.pub --trust t.d --plugins tried "
              "--in-process && " FIND " && $MORTISE " SIGN,
     .once = true,
     .random = true},
    {.name = "plugin sign",
     .prepares = FIND " && " KEY,
     .command = "plugin sign tried.plugin.yaml "
                "$(dirname $MORTISE)/tests/plugins/tried.so --key k.key "
                "--out dist",
     .share = 9,
     .random = true},
    {.name = "key trust",
     .prepares = KEY,
     .command = "key trust k.pub --trust t.d --plugins p",
     .share = 2,
     .works = "[ $($MORTISE key list --trust t.d --json | wc -l) = 1 ]"},
    {.name = "key revoke",
     .prepares = KEY " && $MORTISE key trust k.pub --trust t.d --plugins p && "
                     "tail -1 k.pub >key",
     .command = "key revoke $(cat key) --trust t.d",
     .share = 9,
     .works = "$MORTISE key list --trust t.d | grep revoked",
     .random = true},
    {.name = "config allow",
     .prepares = "cat dep >mortise.yaml; mkdir p; "
                 "echo 'plugins: {path: [./p]}' >>mortise.yaml",
     .command = "config allow mortise.yaml",
     .share = 3,
     .works = "$MORTISE config allow | grep d/mortise"},
    {.name = "config import",
     .prepares = "true",
     .command = "config import servers.json -o out.yaml",
     .share = 2},
    {.name = "graph import",
     .prepares = "cp $FROM/tests/graphs/import/task.json .",
     .command = "graph import task.json -o out.yaml",
     .share = 3},
    {.name = "test --junit",
     .prepares = "cp one.yaml g.yaml",
     .command = "test t.yaml --junit out.xml",
     .share = 7,
     .random = true},
    {.name = "mcp pin",
     .prepares = "cat dep server >mortise.yaml && "
                 "$MORTISE config allow mortise.yaml",
     .command = "mcp pin",
     .share = 53},
    {.name = "run",
     .prepares = "cp one.yaml g.yaml",
     .command = "run g.yaml",
     .share = 13,
     .works = "$MORTISE runs"},
    {.name = "run, with a socket",
     .prepares = "cp asking.yaml g.yaml",
     .command = "run g.yaml",
     .share = 29,
     .works = "$MORTISE runs | grep waiting"},
    {.name = "run, with a file",
     .prepares = "cat dep roots >mortise.yaml; cp writing.yaml g.yaml",
     .command = "run g.yaml --id r",
     .share = 29,
     .again = "run g.yaml --id r || $MORTISE resume r",
     .works = "[ $(cat f.txt) = hello ]"},
    {.name = "memory import",
     .prepares = "cat dep memory >mortise.yaml",
     .command = "memory import traces.jsonl",
     .share = 17,
     .works = "$MORTISE memory list | grep Anna",
     .random = true},
    {.name = "memory list",
     .prepares = "cat dep memory >mortise.yaml",
     .command = "memory list",
     .share = 61,
     .works = "$MORTISE memory import traces.jsonl && "
              "$MORTISE memory list | grep Anna",
     .random = true},
    {.name = "store salvage",
     .prepares = WAITS,
     .command = "store salvage new",
     .share = 37,
     .works = "$MORTISE runs --store new | grep waiting",
     .once = true},
    {.name = "engine --install-user-service",
     .prepares = "cp dep mortise.yaml",
     .command = "engine --install-user-service",
     .share = 3,
     .works =
         "grep WantedBy $XDG_CONFIG_HOME/systemd/user/mortise-d-*.service"},
    {.name = "a secret is kept",
     .prepares = DEV("converses"),
     .command = SAY("\"keep\": \"token\", \"value\": \"hunter2\""),
     .share = 5,
     .works = "$MORTISE " SAY("\"kept\": \"token\"") " | grep 'secret kept'"},
    {.name = "a secret is replaced",
     .prepares = DEV("converses") " && $MORTISE " SAY(
         "\"keep\": \"token\", \"value\": \"first\""),
     .command = SAY("\"keep\": \"token\", \"value\": \"hunter2\""),
     .share = 5,
     .works = "$MORTISE " SAY("\"kept\": \"token\"") " | grep 'secret kept'"},
    {.name = "a plugin dies",
     .prepares = DEV("deadly_inline") " && cp dying.yaml g.yaml",
     .command = "run g.yaml",
     .share = 17,
     .works = IS_DEADLY,
     .random = true,
     .dies = true},
    {.name = "a plugin dies again",
     .prepares =
         DEV("deadly_inline") " && cp dying.yaml g.yaml && "
                              "{ $MORTISE run g.yaml; [ $? -gt 128 ]; }",
     .command = "run g.yaml",
     .share = 17,
     .works = IS_DEADLY,
     .random = true,
     .dies = true},
    {.name = "a recording",
     .prepares = "cat dep voice >mortise.yaml; cp speaking.yaml g.yaml",
     .command = "run g.yaml --id r",
     .share = 29,
     .again = "run g.yaml --id r || $MORTISE resume r",
     .works = "cmp x.wav ../../done/d/x.wav"},
    {.name = "doctor", .prepares = WAITS, .command = "doctor", .share = 41},
};

enum { CREATIONS = sizeof creations / sizeof creations[0] };

static char dir[4096];

/* ---- one place for each try ------------------------------------------------- */

/* The line runs in w/d, with a home of its own. */
static int run_line(const char *before, const char *line)
{
    char from[4096];

    ck_assert_ptr_nonnull(getcwd(from, sizeof from));
    return child_run(
        "export FROM=%s HOME=%s/w/home XDG_STATE_HOME=%s/w/home/state "
        "XDG_CONFIG_HOME=%s/w/home/config TMPDIR=%s/tmp; "
        "unset MORTISE_DEPLOYMENT; cd w/d && { %s %s; }",
        from, dir, dir, dir, dir, before, line);
}

static void put(const char *name, const char *text)
{
    char path[8192];

    snprintf(path, sizeof path, "%s/w/d/%s", dir, name);
    test_write(path, text, strlen(text));
}

/* w as the command finds it, kept as `begin`. */
static void prepare(const struct creation *c)
{
    char text[8192];

    child_run("rm -rf w begin done && mkdir -p w/d w/home tmp");
    put("dep", deployment);
    put("memory", memory);
    put("roots", roots);
    snprintf(text, sizeof text, server, child_build(""));
    put("server", text);
    put("one.yaml", graph);
    put("asking.yaml", asking);
    put("writing.yaml", writing);
    put("dev.yaml", dev);
    put("voice", voice);
    put("dying.yaml", dying);
    put("speaking.yaml", speaking);
    put("t.yaml", tests);
    put("traces.jsonl", traces);
    put("servers.json", servers);
    run_line("", c->prepares);
    ck_assert_msg(child.code == 0, "%s: %s%s", c->name, child.out, child.err);
    child_run("cp -a w begin");
    ck_assert_int_eq(child.code, 0);
}

static void begin_again(void)
{
    child_run("rm -rf w books books.d && cp -a begin w");
    ck_assert_int_eq(child.code, 0);
}

/* The command, which is killed at the n-th call; 0: it is not, and its calls are
 * counted. */
static int run_watched(const struct creation *c, size_t n)
{
    char before[16384];

    snprintf(before, sizeof before,
             "POWERCUT_STATE=%s/books POWERCUT_ROOTS=%s/w/d:%s/w/home "
             "%s%s POWERCUT_KILL=%zu LD_PRELOAD=%s exec $MORTISE",
             dir, dir, dir, n == 0 ? "POWERCUT_COUNT=" : "",
             n == 0 ? "$TMPDIR/count" : "", n,
             child_build("tests/powercut.so"));
    return run_line(before, c->command);
}

/* ---- what must hold ----------------------------------------------------------- */

/* Files that have their names, but for those of LevelDB, which are its own. */
#define FILES                                                                  \
    "find d home -type f ! -path '*/db/*' ! -name '*.tmp' ! -name '*.new' "    \
    "! -name '*.new-*' ! -path '*/memory/local/*' ! -path 'd/new/*' "

/* Is the file $f as it is to be?  (What SQLite and LevelDB write, and a salvage,
 * have tests of their own.) */
static const char *is_done_file(const struct creation *c)
{
    return c->random ? "{ [ $(wc -c <$f) = $(wc -c <../done/$f) ] || "
                       "case $f in *out.xml) [ -s $f ];; "
                       "*/quarantine/*) [ ! -s $f ];; *) false;; esac; }"
                     : "case $f in */mark) [ $(wc -c <$f) = $(wc -c "
                       "<../done/$f) ];; *) cmp -s $f ../done/$f;; esac";
}

/* Each is as it was, or as it is to be. */
static void is_whole(const struct creation *c, size_t n)
{
    child_run("cd w && " FILES "! -name '*.wav' | while read -r f; do "
              "cmp -s $f ../begin/$f || %s || echo $f; done",
              is_done_file(c));
    ck_assert_msg(child.out[0] == '\0', "%s, killed at call %zu: in part: %s",
                  c->name, n, child.out);
}

/* The names of what is there, but for those that differ each time. */
#define NAMES                                                                  \
    "find d home ! -path '*/db/*' ! -path '*/seen/*' ! -name 'revoked-*' | "   \
    "sort"

static void is_done(const struct creation *c, size_t n)
{
    child_run("(cd w && " NAMES ") >names; (cd done && " NAMES
              ") | diff names -");
    ck_assert_msg(child.code == 0, "%s, killed at call %zu, then again: %s",
                  c->name, n, child.out);
    if (!c->random) {
        child_run("cd w && " FILES "| while read -r f; do %s || echo $f; done",
                  is_done_file(c));
        ck_assert_msg(child.out[0] == '\0',
                      "%s, killed at call %zu, then again: not as before: %s",
                      c->name, n, child.out);
    }
    if (c->works == NULL)
        return;
    run_line("", c->works);
    ck_assert_msg(child.code == 0, "%s, killed at call %zu, then again: %s%s",
                  c->name, n, child.out, child.err);
}

/* Killed at each of its calls, it leaves whole files, and can be given again. */
START_TEST(killed_at_each_call)
{
    const struct creation *c = &creations[_i];
    size_t calls, killed = 0;
    int code;

    prepare(c);
    code = run_watched(c, 0);
    ck_assert_msg(c->dies ? code > 128 : code == 0 || code == 2 || code == 4,
                  "%s: exit code %d: %s%s", c->name, code, child.out,
                  child.err);
    child_run("mv w done; wc -l <tmp/count");
    calls = (size_t)atoi(child.out);
    ck_assert_uint_gt(calls, 4);
    for (size_t n = 1; n <= calls; n++) {
        if (!matrix_takes(n, c->share))
            continue;
        begin_again();
        killed += run_watched(c, n) != code;
        is_whole(c, n);
        run_line("$MORTISE", c->again != NULL ? c->again : c->command);
        ck_assert_msg(child.code == code || (c->once && child.code == 3),
                      "%s, killed at call %zu, then again: exit code %d: %s%s",
                      c->name, n, child.code, child.out, child.err);
        is_done(c, n);
    }
    ck_assert_uint_gt(killed, 0);
}
END_TEST

static void begin(void)
{
    strcpy(dir, test_mkdir());
    child_dir(dir);
    child_allows(false);
}

static void end(void)
{
    test_rmdir(dir);
}

static Suite *suite(void)
{
    Suite *s = suite_create("hostile_creation");
    TCase *tc = tcase_create("creation");

    tcase_set_timeout(tc, matrix_is_whole() ? 1200 : 180);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, killed_at_each_call, 0, CREATIONS);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
