/* test_cli_exec.c -- programs as nodes of a graph: exec/look and exec/run.
 *
 * What a program may touch is tried by unit/worker/test_launch.c; here is what
 * the deployment says of it, what becomes of how it ends, and what is left of it
 * when the engine dies. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/desk.h"
#include "lib/test.h"

static void deploy(const char *programs)
{
    char text[4096];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "store: {path: ./store}\n%s",
             programs);
    desk_put("mortise.yaml", text);
}

static const char usual[] = "programs:\n"
                            "  cat: {path: /bin/cat, reads: true}\n"
                            "  sh: {path: /bin/sh, write: [./out]}\n"
                            "  echo: {path: /bin/echo, args: [first]}\n";

/* A graph of one node, which calls that with that. */
static void graph(const char *op, const char *args)
{
    char body[4096];

    snprintf(body, sizeof body,
             "start: a\nnodes:\n  a: {type: tool, tool: exec/%s, args: %s, "
             "next: END}\n",
             op, args);
    desk_graph("g", body);
}

/* Soon there is no process that sleeps so long. */
static void nobody_sleeps(const char *seconds)
{
    child_run(
        "for i in $(seq 300); do grep -la '[s]leep.%s' "
        "/proc/[0-9]*/cmdline 2>/dev/null || exit 0; sleep 0.2; done; exit 1",
        seconds);
    ck_assert_msg(child.code == 0, "left behind: %s", child.out);
}

static void begin(void)
{
    desk_begin();
    deploy(usual);
    desk_ok("mkdir out");
}

/* What it says, as text and as JSON; its arguments are what they are. */
START_TEST(programs_have_input_and_output)
{
    graph("look", "{program: cat, stdin: hello}");
    desk_ok("$MORTISE run g.yaml --id a && $MORTISE show a --json");
    desk_out("\"stdout\": \"hello\"");
    desk_out("\"exit\": 0");
    graph("look", "{program: cat, json: {n: [1, \"two\"]}, as: json}");
    desk_ok("$MORTISE run g.yaml --id b && $MORTISE show b --json");
    desk_out("\"two\"");
    graph("look", "{program: cat, stdin: \"no json\", as: json}");
    child_run("$MORTISE run g.yaml");
    desk_code(1);
    desk_out("bad_json: the program's output is not JSON");
    graph("run", "{program: echo, args: [\"$HOME; ls\", \"`id`\"]}");
    desk_ok("$MORTISE run g.yaml --id c && $MORTISE show c --json");
    desk_out("\"stdout\": \"first $HOME; ls `id`\\n\"");
    graph("run", "{program: sh, args: [-c, \"printf '\\\\377'\"]}");
    desk_ok("$MORTISE run g.yaml --id d && $MORTISE show d --json");
    desk_out("\"stdout\": \"/w==\"");
}
END_TEST

/* JSON that no value can hold stays a text, and the program is not run again:
 * it may have changed something. */
START_TEST(json_that_no_value_holds_stays_a_text)
{
    static const struct {
        const char *said, *shown, *why;
    } rows[] = {
        {"{\"id\": 18446744073709551615}", "{\\\"id\\\": 18446744073709551615}",
         "the number 18446744073709551615 does not fit into 64 bits"},
        {"{\"a\": 1, \"a\": 2}", "{\\\"a\\\": 1, \\\"a\\\": 2}",
         "the key a occurs twice in one object"},
        {"[1e400]", "[1e400]", "the number 1e400 does not fit into a double"},
    };
    char text[256];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(text, sizeof text,
                 i % 2 == 0 ? "{program: sh, args: [-c, \"echo >>log; cat\"], "
                              "stdin: '%s', as: json}"
                            : "{program: cat, stdin: '%s', as: json}",
                 rows[i].said);
        graph(i % 2 == 0 ? "run" : "look", text);
        desk_ok("$MORTISE run g.yaml --id a%zu && $MORTISE show a%zu --json", i,
                i);
        snprintf(text, sizeof text, "\"stdout\": \"%s\"", rows[i].shown);
        desk_out(text);
        desk_out(
            "stdout is JSON that cannot be stored, so it is given as text: ");
        desk_out(rows[i].why);
    }
    desk_ok("wc -l <out/log");
    desk_out("2");
}
END_TEST

/* It has the variables that the graph says and none of the engine's, and works
 * in its directory. */
START_TEST(nothing_of_the_engine_is_its)
{
    graph("run", "{program: sh, args: [-c, \"env | sort; pwd\"], env: {SAID: "
                 "\"x y\"}}");
    desk_ok("LEAKED=1 $MORTISE run g.yaml --id a && $MORTISE show a --json");
    desk_out("SAID=x y\\n");
    desk_out("MORTISE_IDEMPOTENCY_KEY=");
    desk_out("/out\\n");
    desk_not_out("LEAKED");
    desk_not_out("HOME=");
}
END_TEST

/* Secrets go in and are seen by nobody else. */
START_TEST(secrets_are_covered)
{
    deploy("secrets: {token: {env: TOKEN}, other: {env: TOKEN}}\n"
           "plugins: {config: {exec: {secrets: [token]}}}\n"
           "programs: {sh: {path: /bin/sh}}\n");
    graph("run",
          "{program: sh, args: [-c, 'echo $T; echo $T | wc -c >&2'], env: {T: "
          "\"secret://token\"}}");
    desk_ok("TOKEN=hunter2hunter2 $MORTISE run g.yaml --id a --json");
    desk_not_out("hunter2");
    desk_ok("TOKEN=hunter2hunter2 $MORTISE show a --json");
    desk_out("\"stderr\": \"15\\n\"");
    desk_not_out("hunter2");
    child_run("grep -rl hunter2hunter2 store; true");
    ck_assert_str_eq(child.out, "");
    /* of one that is cut, nothing; in bytes that are no text, neither */
    graph("run", "{program: sh, args: [-c, 'head -c 65530 /dev/zero | tr "
                 "\"\\\\0\" a >&2; echo $T >&2; printf \"\\\\377\"; echo $T | "
                 "base64'], env: {T: \"secret://token\"}}");
    desk_ok("TOKEN=hunter2hunter2 $MORTISE run g.yaml --id b");
    desk_ok(
        "TOKEN=hunter2hunter2 $MORTISE show b --json >b.json; grep -c "
        "aaaahunt b.json; sed -n 's/.*\"stdout\": \"\\([^\"]*\\)\".*/\\1/p' "
        "b.json | base64 -d");
    desk_out("0\n");
    desk_out("[secret token]");
    graph("run", "{program: sh, env: {T: \"secret://other\"}}");
    child_run("TOKEN=x $MORTISE check g.yaml");
    desk_code(2);
    desk_out("E0605");
}
END_TEST

/* How it ends is the node's end. */
START_TEST(ends_are_said)
{
    graph("run", "{program: sh, args: [-c, \"echo so >&2; exit 3\"]}");
    child_run("$MORTISE run g.yaml");
    desk_code(1);
    desk_out("exec.exit: the program exited with 3: so");
    /* the first that it says, or the last, says why */
    graph("run", "{program: sh, args: [-c, \"echo first >&2; yes middle | head "
                 "-n 500 >&2; echo last >&2; exit 3\"]}");
    child_run("$MORTISE run g.yaml");
    desk_out("exited with 3: first");
    desk_out("[...]");
    desk_out("last");
    graph("run", "{program: sh, args: [-c, \"exit 3\"], any_exit: true}");
    desk_ok("$MORTISE run g.yaml --id a && $MORTISE show a --json");
    desk_out("\"exit\": 3");
    graph("run", "{program: sh, args: [-c, 'kill -TERM $$']}");
    child_run("$MORTISE run g.yaml");
    desk_code(5); /* how much of it happened? */
    desk_out("signal 15 killed the program");
    graph("run", "{program: \"${'no' + 'body'}\"}");
    child_run("$MORTISE run g.yaml");
    desk_code(1);
    desk_out("exec.denied: the deployment has no program 'nobody'");
    graph("look", "{program: \"${'s' + 'h'}\", args: [-c, ls]}");
    child_run("$MORTISE run g.yaml");
    desk_code(1);
    desk_out(
        "does not declare that program 'sh' only reads (programs.sh.reads)");
    deploy("programs: {cat: {path: /nowhere/cat, reads: true}}\n");
    graph("look", "{program: cat}");
    child_run("$MORTISE run g.yaml");
    desk_code(1);
    desk_out("exec.not_started: /nowhere/cat: No such file or directory");
}
END_TEST

/* `check` reports a program that the operation cannot run, and `run` refuses the
 * graph.  In a test of the graph, a script answers instead of the program. */
START_TEST(names_are_checked)
{
    static const struct {
        const char *op, *args, *says;
    } rows[] = {
        {"run", "{program: caat}",
         "error[E0521]: the deployment has no program 'caat'; did you mean "
         "'cat'?"},
        {"look", "{program: wc}",
         "error[E0521]: the deployment has no program 'wc': write 'wc: {path: "
         "FILE}' under 'programs' of the Deployment file"},
        {"look", "{program: sh, args: [\"${input.x}\"]}",
         "error[E0521]: the deployment does not declare that program 'sh' only "
         "reads (programs.sh.reads)"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        graph(rows[i].op, rows[i].args);
        child_run("$MORTISE check g.yaml");
        desk_code(2);
        desk_out(rows[i].says);
        child_run("$MORTISE run g.yaml");
        desk_code(2);
        desk_err(rows[i].says);
    }
    desk_put("g.test.yaml",
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\n"
             "graph: g.yaml\ncases:\n  one:\n    input: {x: a}\n"
             "    nodes: {a: {output: {exit: 0, stdout: x, stderr: ''}}}\n"
             "    expect: {status: completed}\n");
    desk_ok("$MORTISE check g.test.yaml && $MORTISE test g.test.yaml");
}
END_TEST

/* The path of a program is a file beside the deployment: PATH is not searched. */
START_TEST(a_path_is_beside_the_deployment)
{
    desk_ok("printf '#!/bin/sh\\necho mine\\n' >cat && chmod +x cat");
    deploy("programs: {cat: {path: cat, reads: true, read: [.]}}\n");
    graph("look", "{program: cat}");
    desk_ok("$MORTISE run g.yaml --id a && $MORTISE show a --json");
    desk_out("\"stdout\": \"mine\\n\"");
}
END_TEST

/* A program is run again by its exit code where retry_policy says so; a test of
 * the graph says the same of a code that it scripts, whenever it is killed.
 *
 * key: test/scripted error.exit_code, test/scripted error.status */
START_TEST(exit_codes_are_retried)
{
    static const char nodes[] =
        "start: a\nnodes:\n"
        "  a: {type: tool, tool: exec/run, args: {program: sh, args: [-c, "
        "\"echo x >>log; test $(wc -l <log) -ge 3 || exit ${input.code}\"]},\n"
        "      retry_policy: {max_attempts: 9, delay: 1ms, retry_on: "
        "[exec.exit, http.409],\n"
        "        when: 'has(error.status) ? error.status == 409 : "
        "error.exit_code == 75'}, next: END}\n";

    desk_graph("g", nodes);
    desk_ok("$MORTISE run g.yaml --id a --input '{\"code\": 75}' && wc -l "
            "<out/log && $MORTISE show a --json");
    desk_out("3\n");
    desk_out("\"attempts\": 3");
    desk_ok("rm out/log");
    child_run("$MORTISE run g.yaml --id b --input '{\"code\": 76}'");
    desk_code(1);
    desk_ok("wc -l <out/log; $MORTISE show b --json");
    desk_out("1\n");
    desk_out("\"exit_code\": 76");
    desk_put("g.test.yaml",
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\n"
             "graph: g.yaml\ncases:\n"
             "  again:\n    input: {code: 0}\n"
             "    nodes: {a: [{error: {code: http.409, status: 409}, in_doubt: "
             "retry},\n"
             "      {error: {code: exec.exit, exit_code: 75}, in_doubt: "
             "retry},\n      {output: {exit: 0, stdout: '', stderr: ''}, "
             "in_doubt: done}]}\n"
             "    expect: {status: completed, path: [a]}\n"
             "  for good:\n    input: {code: 0}\n"
             "    nodes: {a: [{error: {code: exec.exit, exit_code: 1}, "
             "in_doubt: retry}]}\n"
             "    expect: {status: failed, error: exec.exit}\n");
    desk_ok("$MORTISE test g.test.yaml --crash-everywhere");
}
END_TEST

/* Too long or too much, it is killed with all that it started.  One that only
 * reads has failed; of another nobody knows what it did. */
START_TEST(bounds_end_all_of_it)
{
    static const char *const lost[] = {
        "{\"exit\": 0, \"stdout\": {\"n\": 1}}", "{\"exit\": 0, \"stderr\": 7}",
        "{\"exit\": 0, \"output\": \"by hand\"}",
        "{\"exit\": 0, \"stdout\": \"\", \"stdout_base64\": \"\"}"};
    char id[33];

    deploy("programs:\n  sh: {path: /bin/sh}\n"
           "  rsh: {path: /bin/sh, reads: true}\n");
    graph("look", "{program: rsh, args: [-c, \"sleep 4711 & sleep 4711\"], "
                  "timeout_ms: 200}");
    child_run("$MORTISE run g.yaml");
    desk_code(1);
    desk_out("exec.timeout: the program took too long and was killed");
    graph("look", "{program: rsh, args: [-c, \"sleep 4711 & yes\"], "
                  "max_output: 1000}");
    child_run("$MORTISE run g.yaml");
    desk_code(1);
    desk_out("exec.too_large: the program wrote more than max_output");
    graph("look", "{program: rsh, args: [-c, \"sleep 4711 & echo done\"]}");
    desk_ok("$MORTISE run g.yaml --id over && $MORTISE show over --json");
    desk_out("\"stdout\": \"done\\n\"");
    graph("run", "{program: sh, args: [-c, \"yes\"], max_output: 100000}");
    child_run("$MORTISE run g.yaml --id d");
    desk_code(5);
    desk_out("the program wrote more than max_output and was killed");
    ck_assert_uint_lt(strlen(child.out), 8000); /* not all that it said */
    snprintf(id, sizeof id, "%.32s", desk_line(child.out, "request  ") + 9);
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++) {
        child_run("$MORTISE resolve d %s --done '%s' 2>&1", id, lost[i]);
        desk_code(3);
        desk_out("E_INVALID");
    }
    child_run("$MORTISE resolve d %s --done '{\"exit\": 0, \"stdout\": "
              "\"by hand\"}'",
              id);
    desk_code(0);
    desk_ok("$MORTISE show d --json");
    desk_out("by hand");
    graph("run", "{program: sh, args: [-c, \"sleep 4711\"]}");
    desk_graph("t",
               "start: a\nnodes:\n  a: {type: tool, tool: exec/look, args: "
               "{program: rsh, args: [-c, \"sleep 4711\"]}, timeout: "
               "200ms, next: END}\n");
    child_run("$MORTISE run t.yaml");
    desk_code(1);
    nobody_sleeps("4711");
}
END_TEST

/* `ms` of its last node_end. */
static int ms_of(const char *run)
{
    desk_ok("$MORTISE events %s --json | grep '\"node_end\"' | tail -1 | sed "
            "'s/.*\"ms\": *//; s/[^0-9].*//'",
            run);
    return atoi(child.out);
}

/* A node took what its last attempt took: not the time from a failure to a resume,
 * and not the time in which a person was asked. */
START_TEST(a_node_took_its_last_attempt)
{
    char id[33];

    deploy("programs:\n  sh: {path: /bin/sh, write: [./out]}\n"
           "  rsh: {path: /bin/sh, reads: true, read: [./out]}\n");
    for (int i = 0; i < 2; i++) {
        desk_ok("rm -f out/go");
        graph(i == 0 ? "run" : "look",
              i == 0 ? "{program: sh, args: [-c, \"test -e go\"]}"
                     : "{program: rsh, args: [-c, \"test -e go\"]}");
        child_run("$MORTISE run g.yaml --id f%d", i);
        desk_code(1);
        desk_ok("touch out/go && sleep 2.5 && $MORTISE resume f%d", i);
        ck_assert_int_lt(ms_of(i == 0 ? "f0" : "f1"), 2000);
        desk_graph("q",
                   i == 0 ? "start: a\nhitl_mode: approve_tools\nnodes:\n"
                            "  a: {type: tool, tool: text/lines, args: {text: "
                            "x}, next: END}\n"
                          : "start: a\nhitl_mode: approve_each_node\nnodes:\n"
                            "  a: {type: tool, tool: text/lines, args: {text: "
                            "x}, on_error: {value: '{\"lines\": [], \"total\": "
                            "0}'}, next: END}\n");
        child_run("$MORTISE run q.yaml --id q%d", i);
        desk_code(4);
        snprintf(id, sizeof id, "%.32s", desk_line(child.out, "request  ") + 9);
        child_run("sleep 2.5; $MORTISE %s q%d %s",
                  i == 0 ? "approve" : "reject", i, id);
        ck_assert_int_lt(ms_of(i == 0 ? "q0" : "q1"), 2000);
        desk_ok("! $MORTISE show q%d | grep ' [0-9]\\.[0-9] s'", i);
    }
}
END_TEST

/* An engine that dies leaves an effect in doubt, and makes a look again. */
START_TEST(a_kill_is_gone_on_from)
{
    pid_t pid;

    graph("run", "{program: sh, args: [-c, \"echo x >>log; sleep 4713\"]}");
    pid = child_start("run", "$MORTISE run g.yaml --id r");
    child_await("out/log", "x");
    child_kill(pid);
    nobody_sleeps("4713"); /* what it had run died with it */
    child_run("$MORTISE resume r");
    desk_code(5);
    desk_out("a has an effect that may or may not have happened");
    /* what is printed works when it is pasted */
    desk_ok("eval \"$($MORTISE why r | sed -n 's/^ *\\(.* resolve r .* --done "
            ".*\\)/\\1/p')\"");
    desk_ok("$MORTISE show r --json");
    desk_out("\"status\": \"completed\"");
    deploy("programs: {sh: {path: /bin/sh, reads: true, read: [./out]}}\n");
    graph("look", "{program: sh, args: [-c, \"cat log; sleep 1\"]}");
    pid = child_start("look", "$MORTISE run g.yaml --id l");
    child_await("look.out", "node_start a");
    child_kill(pid);
    desk_ok("$MORTISE resume l && $MORTISE show l --json");
    desk_out("\"stdout\": \"x\\n\"");
}
END_TEST

/* A pause, or a cancelled run, ends what is under way. */
START_TEST(cancelling_kills)
{
    graph("run", "{program: sh, args: [-c, \"echo x >>log; sleep 4712\"]}");
    child_start("run", "$MORTISE run g.yaml --id r");
    child_await("out/log", "x");
    child_run("$MORTISE cancel r");
    desk_code(5); /* how much of it happened? */
    desk_out("an effect may have happened");
    nobody_sleeps("4712");
}
END_TEST

/* Which file a name is, is the word of somebody, not of a file that lay there. */
START_TEST(found_programs_need_a_word)
{
    graph("look", "{program: cat}");
    child_allows(false);
    deploy("programs: {cat: {path: /bin/rm, reads: true}}\n");
    child_run("$MORTISE run g.yaml");
    child_allows(true);
    desk_code(77);
    desk_err("programs");
    desk_err("config allow");
}
END_TEST

/* What a deployment says of a program holds.
 *
 * key: deployment.programs, program.path, program.args, program.dir
 * key: program.read, program.write, program.online, program.reads
 * key: program.memory, program.user */
START_TEST(what_is_said_of_them_holds)
{
    const char *user = getenv("MORTISE_USER"); /* root's: it may be anybody */

    desk_ok("mkdir in here && echo kept >in/file");
    deploy(
        "programs:\n"
        "  sh: {path: /bin/sh, dir: ./out, read: [./in], write: [./out]}\n"
        "  in: {path: /bin/sh, dir: ./here, read: [./in, ./here], args: [-c, "
        "\"pwd; echo $0\"], reads: true}\n"
        "  offline: {path: /usr/bin/perl}\n"
        "  online: {path: /usr/bin/perl, online: true}\n"
        "  as: {path: /usr/bin/id, args: [-un], "
        "user: \"${env:MORTISE_USER:-nobody}\"}\n"
        "  small: {path: /usr/bin/perl, memory: 50MiB}\n");
    graph("run", "{program: sh, args: [-c, \"pwd; cat ../in/file; echo x >new; "
                 "cat new; echo y >../in/file\"], any_exit: true}");
    desk_ok("$MORTISE run g.yaml --id a && $MORTISE show a --json");
    desk_out("/out\\nkept\\nx\\n");
    desk_ok("cat in/file");
    ck_assert_str_eq(child.out, "kept\n");
    graph("look", "{program: in, args: [word]}");
    desk_ok("$MORTISE run g.yaml --id b && $MORTISE show b --json");
    desk_out("/here\\nword\\n\"");
    for (int i = 0; i < 2; i++) {
        graph("run", i == 0
                         ? "{program: offline, args: [-e, \"print socket(S, "
                           "2, 1, 0) ? 'open' : 'closed'\"]}"
                         : "{program: online, args: [-e, \"print socket(S, 2, "
                           "1, 0) ? 'open' : 'closed'\"]}");
        desk_ok("$MORTISE run g.yaml --id n%d && $MORTISE show n%d --json", i,
                i);
        desk_out(i == 0 ? "\"stdout\": \"closed\"" : "\"stdout\": \"open\"");
    }
    graph("run", "{program: as}");
    desk_ok("$MORTISE run g.yaml --id u && $MORTISE show u --json");
    desk_out(user != NULL ? user : "nobody");
    graph("run", "{program: small, args: [-e, \"print length('x' x "
                 "200_000_000)\"], any_exit: true}");
    child_run("$MORTISE run g.yaml --id m; $MORTISE show m --json");
    desk_not_out("200000000");
}
END_TEST

/* Root runs a program as a user that owns nothing else: never as itself, for each
 * program another, and always the same.  Others run it as themselves. */
START_TEST(programs_are_ordinary_users)
{
    deploy("programs:\n"
           "  a: {path: /bin/sh, write: [./out]}\n"
           "  b: {path: /bin/sh, write: [./out]}\n");
    for (int i = 0; i < 3; i++) {
        graph("run", i < 2 ? "{program: a, args: [-c, \"id -u; echo >>a\"]}"
                           : "{program: b, args: [-c, \"id -u; echo >>b\"]}");
        desk_ok("$MORTISE run g.yaml");
    }
    desk_ok("stat -c %%u out/a out/b | uniq | wc -l; stat -c %%u out/*");
    if (geteuid() == 0) {
        desk_out("2\n6");
        desk_not_out("\n0\n");
    } else {
        desk_out("1\n");
    }
}
END_TEST

/* What a deployment says of a program is judged. */
START_TEST(programs_are_checked)
{
    static const struct {
        const char *text, *code;
    } bad[] = {
        {"programs: {x: {}}\n", "E0206"},
        {"programs: {x: {path: /bin/cat, reads: true, write: [./out]}}\n",
         "E0609"},
        {"programs: {x: {path: /bin/cat, args: [\"a\\0b\"]}}\n", "E0208"},
        {"programs: {\"x y\": {path: /bin/cat}}\n", "E02"},
        {"programs: {x: {path: /bin/cat, onlin: true}}\n", "E0201"},
        {"programs: {x: {path: /bin/cat, memory: 0}}\n", "E02"},
        {"programs: {x: {path: /bin/cat, user: root}}\n", "E0616"},
        {"programs: {x: {path: /bin/cat, user: no-such-user}}\n", "E0616"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        deploy(bad[i].text);
        child_run("$MORTISE check mortise.yaml");
        desk_code(2);
        desk_out(bad[i].code);
    }
    /* the store, also where it is the usual one */
    desk_put("plain.yaml",
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: "
             "{name: p}\nprograms: {x: {path: /bin/cat, write: "
             "[./.mortise/out]}}\n");
    child_run("$MORTISE check plain.yaml");
    desk_code(2);
    desk_out("includes the store, which");
    deploy("programs: {sh: {path: /bin/sh, dir: ., memory: 20MiB, online: "
           "true, read: [.]}}\n");
    graph("run", "{program: sh, args: [-c, \"pwd; ls g.yaml\"]}");
    desk_ok("$MORTISE run g.yaml --id a && $MORTISE show a --json");
    desk_out("g.yaml\\n");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_exec");
    TCase *tc = tcase_create("cli_exec");

    tcase_add_checked_fixture(tc, begin, desk_end);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, programs_have_input_and_output);
    tcase_add_test(tc, json_that_no_value_holds_stays_a_text);
    tcase_add_test(tc, nothing_of_the_engine_is_its);
    tcase_add_test(tc, secrets_are_covered);
    tcase_add_test(tc, ends_are_said);
    tcase_add_test(tc, names_are_checked);
    tcase_add_test(tc, a_path_is_beside_the_deployment);
    tcase_add_test(tc, exit_codes_are_retried);
    tcase_add_test(tc, bounds_end_all_of_it);
    tcase_add_test(tc, a_node_took_its_last_attempt);
    tcase_add_test(tc, a_kill_is_gone_on_from);
    tcase_add_test(tc, cancelling_kills);
    tcase_add_test(tc, found_programs_need_a_word);
    tcase_add_test(tc, what_is_said_of_them_holds);
    tcase_add_test(tc, programs_are_ordinary_users);
    tcase_add_test(tc, programs_are_checked);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
