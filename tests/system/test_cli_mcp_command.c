/* test_cli_mcp_command.c -- `mortise mcp`: servers and their tools, seen, called and
 * pinned; and what `mortise doctor` says of them.
 *
 * The plugin that speaks with servers is stood in for by tests/plugins/mcp_stub.c,
 * so a server is a file that says what it has; but for the last tests, which have
 * the real one speak with the scripted server (tests/mcp/). */
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/desk.h"
#include "lib/matrix.h"

#define TOOL(name, about, schema, digit)                                       \
    "{\"name\": \"" name "\", \"description\": \"" about                       \
    "\", \"input_schema\": " schema ", \"digest\": \"" digit                   \
    "111111111111111111111111111111111111111111111111111111111111111\"}"
#define ANY "{\"type\": \"object\"}"

static void serve(const char *server, const char *tools)
{
    char name[32], text[4096];

    snprintf(name, sizeof name, "%s.json", server);
    snprintf(text, sizeof text,
             "{\"server\": {\"name\": \"stub\", \"version\": \"1.2\"}, "
             "\"protocol\": \"2025-11-25\", \"instructions\": \"Be\\nkind.\", "
             "\"tools\": [%s], \"resources\": [{\"uri\": \"file:///x\", "
             "\"name\": \"the x\"}], \"templates\": [], \"prompts\": "
             "[{\"name\": \"greet\", \"description\": \"Say hello\"}]}",
             tools);
    desk_put(name, text);
}

static void deploy(const char *more)
{
    char text[4096];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "plugins: {dev: [./dev]}\n"
             "tools:\n"
             "  mcp:\n"
             "    files: {command: [cat]}\n"
             "    far: {url: \"https://mcp.example.com/mcp\"}\n"
             "%s",
             more);
    desk_put("mortise.yaml", text);
}

static void begin(void)
{
    char source[4096];

    ck_assert_ptr_nonnull(
        realpath("tests/plugins/mcp_stub.plugin.yaml", source));
    desk_begin();
    desk_ok("mkdir dev tmp && cp %s dev/mcp.plugin.yaml", source);
    desk_ok("cp %s dev/mcp.so", child_build("tests/plugins/mcp_stub.so"));
    setenv("TMPDIR", "tmp", 1);
    deploy("");
    serve("files", TOOL("echo", "Say it\\nagain", ANY, "1"));
}

/* Of what was run nothing stays. */
static void end(void)
{
    desk_ok("ls -A tmp");
    ck_assert_str_eq(child.out, "");
    unsetenv("TMPDIR");
    desk_end();
}

/* ---- looking ---------------------------------------------------------------- */

/* Servers are listed without being asked anything; one that is named is asked,
 * and what it says is made safe to read. */
START_TEST(listed)
{
    desk_ok("$MORTISE mcp list");
    ck_assert_str_eq(child.out, "files            not pinned  cat\n"
                                "far              not pinned  "
                                "https://mcp.example.com/mcp\n");
    desk_ok("$MORTISE mcp list --json");
    desk_out("{\"server\":\"files\",\"command\":\"cat\"}\n");
    desk_ok("$MORTISE mcp list files");
    ck_assert_str_eq(child.out,
                     "echo                         unpinned -        Say it\n");
    serve("files", TOOL("e\\u001b[0mvil", "a\\u001b[31mb", ANY, "1"));
    desk_ok("$MORTISE mcp list files");
    desk_not_out("\x1b");
    desk_ok("$MORTISE mcp list files --json");
    desk_out("\"state\":\"unpinned\"");
    serve("files", "");
    desk_ok("$MORTISE mcp list files");
    ck_assert_str_eq(child.out, "no tools\n");
    child_run("$MORTISE mcp list file");
    desk_code(3);
    desk_err("did you mean 'files'?");
    child_run("$MORTISE mcp list far");
    desk_code(1);
    desk_err("mortise: far: mcp.not_started: it says ?[31mno\n");
}
END_TEST

/* All that a server says of itself, and of a tool. */
START_TEST(inspected)
{
    desk_ok("$MORTISE mcp inspect files");
    ck_assert_str_eq(
        child.out,
        "server      files\nname        stub\nversion     1.2\n"
        "protocol    2025-11-25\ninstructions\n  Be\n  kind.\n"
        "tools\n  echo                         unpinned -        Say it\n"
        "resources\n  file:///x                    the x\n"
        "prompts\n  greet                        Say hello\n");
    desk_ok("$MORTISE mcp inspect files --json");
    desk_out("\"protocol\": \"2025-11-25\"");
    desk_ok("$MORTISE mcp inspect files/echo");
    desk_out("state       unpinned\n");
    desk_out("description\n  Say it\n  again\ninput\n{\n");
    child_run("$MORTISE mcp inspect files/ecko");
    desk_code(3);
    desk_err("did you mean 'echo'?");
}
END_TEST

/* What graphs may call is nothing to who looks; who calls is held to it. */
START_TEST(policy)
{
    deploy("  deny: [\"*\"]\n");
    desk_ok("$MORTISE mcp list files");
    desk_out("echo");
    child_run("$MORTISE mcp call files/echo");
    desk_code(1);
    desk_err("mortise: files/echo: E0");
    desk_err("denies mcp/call");
    deploy("  deny: [\"mcp/files/e*\"]\n");
    child_run("$MORTISE mcp call files/echo");
    desk_code(1);
    desk_err("denies mcp/files/echo");
}
END_TEST

/* ---- calling ---------------------------------------------------------------- */

/* What comes out is what the tool says; what is no text is named. */
START_TEST(called)
{
    desk_ok("$MORTISE mcp call files/echo '{\"a\": [1, \"${x}\"]}'");
    ck_assert_str_eq(child.out, "{\"a\":[1,\"${x}\"]}\n");
    desk_put("args.json", "{\"b\": true}");
    desk_ok("$MORTISE mcp call files/echo @args.json --json");
    desk_out("\"structured\":{\"b\":true}");
    desk_ok("$MORTISE mcp call files/echo - <args.json");
    ck_assert_str_eq(child.out, "{\"b\":true}\n");
    desk_ok("$MORTISE mcp call files/bare");
    ck_assert_str_eq(
        child.out,
        "[image image/png, 4 characters of base64]\n{\n  \"a\": 1\n}\n");
    child_run("$MORTISE mcp call files/fail");
    desk_code(1);
    ck_assert_str_eq(
        child.err, "mortise: files/fail: mcp.tool_error: it went ?[31mwrong\n");
    child_run("$MORTISE mcp call files/echo '[1]'");
    desk_code(3);
    desk_err("ARGS must be a JSON object");
    child_run("$MORTISE mcp call files");
    desk_code(3);
    desk_err("write the tool as SERVER/TOOL, such as files/read_file");
    child_run("$MORTISE mcp call fiels/echo");
    desk_code(3);
    desk_err("did you mean 'files'?");
}
END_TEST

/* One that is pinned is called as graphs call it: by its schema, and by what the
 * deployment says of it. */
START_TEST(called_as_pinned)
{
    serve("files", TOOL("echo", "",
                        "{\"type\": \"object\", \"required\": [\"a\"]}", "1"));
    desk_ok("$MORTISE mcp pin files && $MORTISE mcp call files/echo '{\"a\": "
            "1}'");
    desk_out("{\"a\":1}\n");
    child_run("$MORTISE mcp call files/echo");
    desk_code(1);
    desk_err("mortise: files/echo: ");
    child_run("$MORTISE mcp call files/ecko");
    desk_code(1);
    desk_err("mortise: files/ecko: E0501");
    deploy("  deny: [mcp/files/*]\n");
    child_run("$MORTISE mcp call files/echo '{\"a\": 1}'");
    desk_code(1);
    desk_err("denies mcp/files/echo");
}
END_TEST

/* A question without anybody who could answer is a failure that says so, and a
 * signal ends what goes on. */
START_TEST(nobody_answers)
{
    pid_t call;

    child_run("echo yes | $MORTISE mcp call files/ask");
    desk_code(1);
    desk_err("Which \\x1b[31mday?");
    desk_err("mortise: files/ask: not_answered: the plugin asks this, but "
             "stdin is not a terminal");
    ck_assert_ptr_null(strstr(child.err, "is dropped from memory"));
    call = child_start("call", "$MORTISE mcp call files/hang");
    child_await("call.err", "at work");
    kill(call, SIGINT);
    child_wait(call);
    child_await("call.err",
                "mortise: files/hang: interrupted: a signal stopped it\n");
}
END_TEST

static struct {
    pid_t pid;
    int fd;
    char screen[1 << 16];
    size_t n;
} t;

static void terminal(const char *line)
{
    struct winsize w = {.ws_col = 80, .ws_row = 30};

    t.n = 0;
    t.screen[0] = '\0';
    t.pid = forkpty(&t.fd, NULL, NULL, &w);
    ck_assert_int_ge(t.pid, 0);
    if (t.pid == 0) {
        setenv("NO_COLOR", "1", 1);
        setenv("MORTISE", child_build("mortise"), 1);
        if (chdir(desk_dir) == 0)
            execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
}

/* Until that is on the screen; NULL: until it is over. */
static void see(const char *text)
{
    ssize_t got = 1;

    while (got > 0 && (text == NULL || strstr(t.screen, text) == NULL)) {
        ck_assert_uint_lt(t.n, sizeof t.screen - 1);
        got = read(t.fd, t.screen + t.n, sizeof t.screen - 1 - t.n);
        t.n += got > 0 ? (size_t)got : 0;
        t.screen[t.n] = '\0';
    }
    ck_assert_msg(text == NULL || strstr(t.screen, text) != NULL,
                  "no '%s' in:\n%s", text, t.screen);
}

static void type(const char *text)
{
    t.n = 0;
    t.screen[0] = '\0';
    ck_assert_int_eq((int)write(t.fd, text, strlen(text)), (int)strlen(text));
}

static int close_terminal(void)
{
    int status;

    see(NULL);
    status = child_wait(t.pid);
    close(t.fd);
    return status;
}

/* At a terminal a question is asked, again while what is said is no answer, and
 * what is answered is what the tool hears. */
START_TEST(somebody_answers)
{
    desk_ok("$MORTISE config allow mortise.yaml");
    terminal("$MORTISE mcp call files/ask");
    see("Which \\x1b[31mday?");
    see("    url      https://example.com/go\r\n");
    see("answer with {\"day\":\"\"}, or no: ");
    type("maybe\n");
    see("or no: ");
    type("{\"day\": 5}\n");
    see("(E_INVALID)");
    see("or no: ");
    type("{\"day\": \"Monday\"}\n");
    see("{\"approved\":true,\"answer\":{\"day\":\"Monday\"}}");
    ck_assert_int_eq(close_terminal(), 0);
    terminal("$MORTISE mcp call files/ask");
    see("or no: ");
    type("no\n");
    see("{\"approved\":false}");
    ck_assert_int_eq(close_terminal(), 0);
    terminal("$MORTISE mcp call files/ask");
    see("or no: ");
    type("\x04");
    see("not_answered");
    ck_assert_int_eq(close_terminal(), 1);
}
END_TEST

/* A call that the deployment wants to be asked about is shown first. */
START_TEST(somebody_approves)
{
    deploy("  ask: [mcp/call]\n");
    desk_ok("$MORTISE config allow mortise.yaml");
    terminal("$MORTISE mcp call files/echo '{\"a\": 1}'");
    see("needs an approval");
    see("run it? yes or no [WHY]: ");
    type("yes\n");
    see("{\"a\":1}");
    ck_assert_int_eq(close_terminal(), 0);
    terminal("$MORTISE mcp call files/echo '{\"a\": 1}'");
    see("run it? yes or no [WHY]: ");
    type("no, not today\n");
    see("not today");
    ck_assert_int_eq(close_terminal(), 1);
}
END_TEST

/* ---- pinning ---------------------------------------------------------------- */

/* What is pinned is written once; what changes is shown, member by member, and
 * --check only tells. */
START_TEST(pinned)
{
    desk_ok("sed -i '/far:/d' mortise.yaml");
    child_run("$MORTISE mcp pin --check");
    desk_code(1);
    ck_assert_str_eq(child.out,
                     "files: 1 new, 0 changed, 0 removed (not pinned "
                     "before)\n+ echo\n    Say it\n    again\n");
    desk_ok("test ! -e mortise.lock && $MORTISE mcp pin");
    desk_out("wrote mortise.lock\n");
    desk_ok("$MORTISE mcp pin --check");
    ck_assert_str_eq(child.out, "files: 1 tools, as pinned\n");
    desk_ok("cp mortise.lock before && touch -d yesterday mortise.lock && "
            "$MORTISE mcp pin && test ! mortise.lock -nt before");
    desk_ok("$MORTISE mcp list files");
    desk_out(" pinned   external Say it\n");
    desk_ok("$MORTISE mcp list files --json");
    desk_out("\"effect\":\"");
    desk_ok("$MORTISE mcp inspect files/echo");
    desk_out("effect      ");
    serve("files", TOOL("echo", "Say it\\nonce\\nagain",
                        "{\"type\": \"object\", \"properties\": {\"a\": {}}}",
                        "2") "," TOOL("more", "", ANY, "3"));
    desk_ok("$MORTISE mcp list files");
    desk_out("echo                         drifted  ");
    desk_out("more                         new      ");
    child_run("$MORTISE mcp pin files --check");
    desk_code(1);
    desk_ok("cmp mortise.lock before");
    desk_ok("$MORTISE mcp pin files");
    ck_assert_str_eq(
        child.out, "files: 1 new, 1 changed, 0 removed\n~ echo\n    "
                   "description\n    + once\n    input_schema/properties\n    "
                   "+ {\"a\":{}}\n+ more\nwrote mortise.lock\nrunning engines "
                   "use the old definitions until they are restarted\n");
    serve("files", TOOL("more", "", ANY, "4"));
    desk_ok("$MORTISE mcp pin");
    desk_out("files: 0 new, 1 changed, 1 removed\n- echo\n~ more\n    only its "
             "digest");
}
END_TEST

/* A program that others could put another in the place of is not started, though
 * PATH finds it. */
START_TEST(path_of_others)
{
    desk_ok("mkdir -p bin && printf '#!/bin/sh\\nexec cat\\n' >bin/odd-one && "
            "chmod 755 bin/odd-one && chmod 777 bin");
    desk_put("own.yaml", "apiVersion: mortise/v1\nkind: Deployment\n"
                         "metadata: {name: t}\n"
                         "tools: {mcp: {odd: {command: [odd-one]}}}\n");
    child_run(
        "PATH=$PWD/bin:$PATH $MORTISE mcp list odd --deployment own.yaml");
    desk_code(1);
    ck_assert_ptr_nonnull(
        strstr(child.err, "other users can change the program '"));
}
END_TEST

/* One that does not come up keeps what is pinned of it, and the others are
 * pinned; one that the deployment does not have any more is not. */
START_TEST(pinned_in_part)
{
    serve("far", TOOL("ask", "Ask", ANY, "1"));
    desk_ok("$MORTISE mcp pin");
    desk_ok("rm far.json");
    serve("files", TOOL("echo", "Other", ANY, "2"));
    child_run("$MORTISE mcp pin");
    desk_code(1);
    desk_err("mortise: far: mcp.not_started");
    desk_out("~ echo\n");
    desk_ok("grep -c '\"digest\"' mortise.lock");
    ck_assert_str_eq(child.out, "2\n");
    desk_ok("sed -i '/far:/d' mortise.yaml");
    child_run("$MORTISE mcp pin --check");
    desk_code(1);
    desk_out("far: no longer pinned\n");
    desk_ok("$MORTISE mcp pin && ! grep far mortise.lock");
    child_run("$MORTISE mcp pin far");
    desk_code(3);
    child_run("rm mortise.yaml; $MORTISE mcp pin");
    desk_code(3);
    desk_err("no deployment is in use, so there are no MCP servers to pin");
}
END_TEST

/* ---- pinning at once ---------------------------------------------------------- */

enum { MANY = 60 };

/* In the directory DIR the server has many tools, each with that description; who
 * pins from there (PIN) shares the lock in `pins` with all. */
static void serve_many(const char *dir, const char *server, const char *about)
{
    char path[sizeof desk_dir + 64];
    FILE *f;

    desk_ok("mkdir -p %s pins trash", dir);
    desk_put("pins/mortise.yaml",
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "plugins: {dev: [../dev]}\ntools: {mcp: {files: {command: [cat]}, "
             "far: {command: [cat]}}}\n");
    snprintf(path, sizeof path, "%s/%s/%s.json", desk_dir, dir, server);
    f = fopen(path, "we");
    ck_assert_ptr_nonnull(f);
    fprintf(f, "{\"server\": {\"name\": \"stub\", \"version\": \"1.2\"}, "
               "\"protocol\": \"2025-11-25\", \"tools\": [");
    for (int i = 0; i < MANY; i++)
        fprintf(f,
                "%s{\"name\": \"t%d\", \"description\": \"%s %d\", "
                "\"input_schema\": " ANY ", \"digest\": \"%s%056d\"}",
                i > 0 ? ", " : "", i, about, i,
                about[0] == 'o' ? "11111111" : "22222222", i);
    fprintf(f, "]}");
    fclose(f);
}

#define PIN(dir, server)                                                       \
    "(cd " dir " && TMPDIR=../trash $MORTISE mcp pin " server                  \
    " --deployment ../pins/mortise.yaml)"

/* The lock is one of `lock.one` and `lock.two`, to the byte. */
static void is_whole(const char *when)
{
    child_run("cmp pins/mortise.lock lock.one || cmp pins/mortise.lock "
              "lock.two");
    ck_assert_msg(child.code == 0, "%s: %s", when, child.out);
}

static void two_locks(void)
{
    serve_many("one", "files", "one");
    serve_many("two", "files", "two");
    desk_ok(PIN("one", "files") " && mv pins/mortise.lock lock.one");
    desk_ok(PIN("two", "files") " && mv pins/mortise.lock lock.two");
    desk_ok("! cmp -s lock.one lock.two && wc -c <lock.one");
    ck_assert_int_gt(atoi(child.out), 10000);
}

/* Of two that pin the same server at once one has the last word, wholly. */
START_TEST(pinned_at_once)
{
    two_locks();
    for (int i = 0; i < 12; i++) {
        desk_ok(PIN("one", "files") " >one.out & " PIN(
            "two", "files") " >two.out || exit 1; wait $!");
        is_whole("both ended");
    }
    desk_ok("ls pins");
    ck_assert_str_eq(child.out, "mortise.lock\nmortise.yaml\n");
}
END_TEST

/* Two servers that are pinned at once are both pinned. */
START_TEST(servers_pinned_at_once)
{
    serve_many("one", "files", "one");
    serve_many("two", "far", "two");
    for (int i = 0; i < 12; i++) {
        desk_ok(
            "rm -f pins/mortise.lock; " PIN("one", "files") " >one.out & " PIN(
                "two", "far") " >two.out || exit 1; "
                              "wait $!");
        desk_ok("grep -c '\"digest\"' pins/mortise.lock");
        ck_assert_int_eq(atoi(child.out), 2 * MANY);
    }
}
END_TEST

/* Killed at calls that touch the lock's directory: the lock is as it was or
 * as it was to be, and the next one pins. */
START_TEST(killed_while_pinning)
{
    int n = 1;

    two_locks();
    for (bool killed = true; killed; n += (int)matrix_step(3)) {
        desk_ok("cp lock.one pins/mortise.lock; rm -rf books books.d");
        child_run("export POWERCUT_STATE=$PWD/books POWERCUT_ROOTS=$PWD/pins "
                  "POWERCUT_KILL=%d LD_PRELOAD=%s; " PIN("two", "files"),
                  n, child_build("tests/powercut.so"));
        killed = child.code != 0;
        ck_assert_msg(!killed || child.code == 128 + 9, "%d: %d: %s", n,
                      child.code, child.err);
        is_whole(killed ? "killed" : "not killed");
        ck_assert_int_lt(n, 200);
    }
    ck_assert_int_gt(n, 5);
    desk_ok("cmp pins/mortise.lock lock.two");
    desk_ok(PIN("one", "files") " && cmp pins/mortise.lock lock.one");
    desk_ok("ls pins");
    ck_assert_str_eq(child.out, "mortise.lock\nmortise.yaml\n");
}
END_TEST

/* ---- doctor ------------------------------------------------------------------- */

/* Each server has its line, and what to do where it is not well. */
START_TEST(doctor)
{
    child_run("$MORTISE doctor");
    desk_code(2);
    desk_out("warn mcp         files: stub 1.2, 2025-11-25, 1 tools; none "
             "of them is pinned, so graphs cannot call them");
    desk_out("mortise mcp pin files\n");
    desk_out("fail mcp         far: it says ?[31mno\n");
    serve("far", TOOL("ask", "Ask", ANY, "1"));
    desk_ok("$MORTISE mcp pin && $MORTISE doctor");
    desk_out("ok   mcp         files: stub 1.2, 2025-11-25, 1 tools, as "
             "pinned\n");
    serve("far", TOOL("ask", "Ask", ANY, "1") "," TOOL("b", "", ANY, "1"));
    serve("files", TOOL("echo", "Say it\\nagain", ANY, "2"));
    child_run("$MORTISE doctor");
    desk_code(2);
    desk_out("warn mcp         far: stub 1.2, 2025-11-25, 2 tools; 1 of them "
             "are not pinned");
    desk_out("fail mcp         files: stub 1.2, 2025-11-25, 1 tools; 1 tools "
             "differ from their pins");
}
END_TEST

/* ---- the real ones --------------------------------------------------------------- */

static void deploy_real(void)
{
    char text[16384], server[4096];

    snprintf(server, sizeof server, "%s", child_build("tests/mcp/mcpd_stdio"));
    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "tools:\n"
             "  mcp:\n"
             "    old: {command: [%s, --era, \"2025\"]}\n"
             "    new: {command: [%s, --era, \"2026\"]}\n"
             "    dead: {command: [%s, --exit-at-start]}\n",
             server, server, server);
    desk_put("mortise.yaml", text);
}

static const char *const eras[] = {"old", "new"};

/* Servers of both eras are seen, called, and ask at the terminal: the older one
 * while its call is kept open. */
START_TEST(real)
{
    char line[256];

    deploy_real();
    desk_ok("$MORTISE mcp list %s", eras[_i]);
    desk_out("echo                         unpinned -        Says what it was "
             "told.\n");
    desk_ok("$MORTISE mcp call %s/echo '{\"text\": \"hello\"}'", eras[_i]);
    ck_assert_str_eq(child.out, "hello\n");
    child_run("$MORTISE mcp call %s/fail '{\"text\": \"x\"}'", eras[_i]);
    desk_code(1);
    desk_err("mcp.tool_error: x\n");
    desk_ok("$MORTISE config allow mortise.yaml");
    snprintf(line, sizeof line, "$MORTISE mcp call %s/ask", eras[_i]);
    terminal(line);
    see("Who are you?");
    see("or no: ");
    type("{\"name\": \"Zoe\"}\n");
    see("\"action\":\"accept\"");
    ck_assert_int_eq(close_terminal(), 0);
    desk_ok("$MORTISE mcp pin %s && $MORTISE mcp pin %s --check", eras[_i],
            eras[_i]);
    desk_out(" tools, as pinned\n");
    desk_ok("sed -i 's/\\(--era, \\)/--describe, Other, \\1/' mortise.yaml");
    child_run("$MORTISE mcp pin %s --check", eras[_i]);
    desk_code(1);
    desk_out("~ echo\n    description\n    - Says what it was told.\n    + "
             "Other\n");
    child_run("$MORTISE mcp call %s/echo '{\"text\": \"hello\"}'", eras[_i]);
    desk_code(1);
    desk_err("mcp.drift");
}
END_TEST

/* One that does not come up is said to, with what it did. */
START_TEST(real_doctor)
{
    deploy_real();
    child_run("$MORTISE mcp pin old new && $MORTISE doctor");
    desk_code(2);
    desk_out("ok   mcp         old: mcpd 1.0.0, 2025-11-25, ");
    desk_out("ok   mcp         new: mcpd 1.0.0, 2026-07-28, ");
    desk_out("fail mcp         dead: its program exited with 0\n");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_mcp_command");
    TCase *tc = tcase_create("cli_mcp_command");

    tcase_set_timeout(tc, 60);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, listed);
    tcase_add_test(tc, inspected);
    tcase_add_test(tc, policy);
    tcase_add_test(tc, called);
    tcase_add_test(tc, called_as_pinned);
    tcase_add_test(tc, nobody_answers);
    tcase_add_test(tc, somebody_answers);
    tcase_add_test(tc, somebody_approves);
    tcase_add_test(tc, pinned);
    tcase_add_test(tc, path_of_others);
    tcase_add_test(tc, pinned_in_part);
    tcase_add_test(tc, pinned_at_once);
    tcase_add_test(tc, servers_pinned_at_once);
    tcase_add_test(tc, killed_while_pinning);
    tcase_add_test(tc, doctor);
    tcase_add_loop_test(tc, real, 0, sizeof eras / sizeof eras[0]);
    tcase_add_test(tc, real_doctor);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
