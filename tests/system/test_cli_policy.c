/* test_cli_policy.c -- what a deployment lets graphs do: tools allowed, asked
 * for and denied, and limits. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/desk.h"

static void put_echo(void)
{
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: tried/echo, args: {value: 1}, "
                    "next: END}\n");
}

/* What is denied, or not among what is allowed, is an error at the tool, which
 * names the line that says so; extension nodes are no way around it.
 * key: deployment.tools, tools.allow, tools.deny */
START_TEST(denied_is_an_error)
{
    put_echo();
    desk_deploy("tools: {allow: [\"*\"], deny: [other/*, \"tried/e*\"]}");
    child_run("$MORTISE check g.yaml");
    desk_code(2);
    desk_out("g.yaml:6:25: error[E0507]: the deployment denies tried/echo "
             "(mortise.yaml:7:39)");
    child_run("$MORTISE run g.yaml");
    desk_code(2);
    desk_graph("e", "start: a\nnodes:\n"
                    "  a: {type: extension, extension: tried, method: echo, "
                    "args: {value: 1}, next: END}\n");
    child_run("$MORTISE check e.yaml");
    desk_code(2);
    desk_out("error[E0507]");
    desk_deploy("tools: {allow: [tried/say, \"file/*\"], ask: [tried/nap]}");
    child_run("$MORTISE check g.yaml");
    desk_code(2);
    desk_out("denies tried/echo (mortise.yaml:7:9)");
    desk_deploy("tools: {allow: [\"*/echo\"]}");
    desk_ok("$MORTISE check g.yaml");
    desk_ok("$MORTISE run g.yaml");
}
END_TEST

/* A pattern that fits nothing is a warning where it stands, with what was meant;
 * those of plugins and servers that are there, and what only a run knows of, are
 * none. */
START_TEST(patterns_that_fit_nothing_are_odd)
{
    desk_deploy("tools:\n"
                "  allow: ['*', 'tried/*', 'file/rea*', 'mcp/*', 'mcp/s*/x']\n"
                "  ask: [mcp/srv/anything, 'mcp/srv/*', mcp/srw/x]\n"
                "  deny: [text/hsah, 'fiel/*', text/hash, '*/none', mcp/srv]\n"
                "  mcp: {srv: {url: 'https://a.example/mcp'}}");
    desk_ok("$MORTISE check mortise.yaml");
    desk_out("mortise.yaml:9:40: warning[W0825]: 'mcp/srw/x' matches no "
             "operation: tools.mcp has no server 'srw'");
    desk_out("help: did you mean 'mcp/srv/x'?");
    desk_out("mortise.yaml:10:10: warning[W0825]: 'text/hsah' matches no "
             "operation: plugin 'text' has no operation of that name");
    desk_out("help: did you mean 'text/hash'?");
    desk_out("mortise.yaml:10:21: warning[W0825]: 'fiel/*' matches no "
             "operation: no plugin 'fiel'");
    desk_out("help: did you mean 'file/*'?");
    desk_out("mortise.yaml:10:52: warning[W0825]: 'mcp/srv' matches no "
             "operation: its tools are mcp/srv/TOOL");
    desk_not_out("mortise.yaml:8:");
    desk_not_out("anything' fits");
    desk_not_out("'text/hash' fits");
    desk_not_out("'*/none' fits");
}
END_TEST

/* What the lock has of a server is all that there is. */
START_TEST(patterns_of_pinned_tools_are_known)
{
    desk_deploy("tools:\n"
                "  ask: [mcp/srv/wrte, mcp/srv/write, 'mcp/srv/w*', "
                "'mcp/srv/x*', mcp/new/any]\n"
                "  mcp: {srv: {url: 'https://a.example/mcp'}, new: {url: "
                "'https://b.example/mcp'}}");
    desk_put("mortise.lock",
             "{\"apiVersion\": \"mortise/v1\", \"kind\": \"Lock\", \"mcp\": "
             "{\"srv\": {\"tools\": {\"write\": {\"digest\": "
             "\"0123456789abcdef0123456789abcdef0123456789abcdef"
             "0123456789abcdef\", \"input_schema\": {\"type\": "
             "\"object\"}}}}}}\n");
    desk_ok("$MORTISE check mortise.yaml");
    desk_out("mortise.yaml:8:9: warning[W0825]: 'mcp/srv/wrte' matches no "
             "operation: the lock file has no such tool of 'srv'");
    desk_out("help: did you mean 'mcp/srv/write'?");
    desk_out("'mcp/srv/x*' matches no operation");
    desk_not_out("'mcp/srv/write' fits");
    desk_not_out("'mcp/srv/w*' fits");
    desk_not_out("'mcp/new/any' fits");
}
END_TEST

/* "All findings come at once" (b): what is wrong with the deployment itself hides
 * nothing of what it says of plugins, and what follows from it is not said. */
START_TEST(findings_of_a_deployment_come_at_once)
{
    desk_put("d.yaml",
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: d}\n"
             "store: {durability: snyc}\n"
             "plugins: {config: {file: {root: [/tmp]}, patern: {}, http: 3}}\n"
             "guardrails: {x: {plugin: patern}, y: {plugn: pii}, z: 4}\n"
             "models: {m: {provider: openia, model: x}, n: 5}\n"
             "memory: {plugin: pii}\n"
             "executors: {gmi: agent/gmj}\n"
             "tools: {deny: [text/hsah, lines], mcp: {a: {comand: [x]}}}\n");
    child_run("$MORTISE check d.yaml");
    desk_code(2);
    desk_out("d.yaml:4:21: error[E0207]");
    desk_out("d.yaml:5:27: error[E0607]: plugin 'file' rejects this config: "
             "unknown member 'root'");
    desk_out("d.yaml:5:42: warning[W0808]: no plugin 'patern'");
    desk_out("d.yaml:5:60: error[E0203]");
    desk_out("d.yaml:6:26: error[E0502]: no plugin 'patern'");
    desk_out("d.yaml:6:39: error[E0201]: unknown key 'plugn'");
    desk_out("d.yaml:6:55: error[E0203]");
    desk_out("d.yaml:7:24: error[E0511]: no plugin 'openia'");
    desk_out("d.yaml:8:18: error[E0517]: plugin 'pii' is not a memory");
    desk_out("d.yaml:9:18: error[E0501]: plugin 'agent' has no operation "
             "'gmj'");
    desk_out("d.yaml:10:16: warning[W0825]: 'text/hsah'");
    desk_out("d.yaml:10:27: error[E0505]");
    desk_out("error[E0201]: unknown key 'comand'");
    desk_not_out("W0825]: 'lines'");

    /* Which plugins there are is not known. */
    desk_ok("sed 's/^plugins: {/plugins: {pth: [x], /' d.yaml >e.yaml");
    child_run("$MORTISE check e.yaml");
    desk_code(2);
    desk_out("e.yaml:5:11: error[E0201]: unknown key 'pth'");
    desk_out("e.yaml:5:37: error[E0607]");
    desk_not_out("no plugin");

    /* One that is no Deployment has nothing more to say. */
    desk_ok("sed 's/^metadata.*/metadata: [/' d.yaml >f.yaml");
    child_run("$MORTISE check f.yaml");
    desk_code(2);
    desk_not_out("E0607");
}
END_TEST

/* A graph is no operation, and to deny one denies nothing: no command goes by such
 * a deployment. */
START_TEST(graphs_are_judged_by_their_operations)
{
    static const struct {
        const char *line;
        int code;
    } commands[] = {{"check mortise.yaml", 2}, {"run g.yaml", 78}};

    desk_deploy("tools: {deny: [graph/inner], ask: ['graph/*']}");
    desk_graph("g", "start: a\nnodes:\n  a: {type: pass, next: END}\n");
    for (size_t i = 0; i < 2; i++) {
        child_run("$MORTISE %s 2>&1", commands[i].line);
        desk_code(commands[i].code);
        desk_out("error[E0505]: 'graph/inner' is not a valid pattern of tools");
        desk_out("graphs are not matched by patterns: name the operations that "
                 "the graph calls");
        desk_out("error[E0505]: 'graph/*' is not a valid pattern of tools");
    }
}
END_TEST

/* What nodes of a type are to run is looked for where it is said.
 * key: deployment.executors, executors.gmi, executors.leaf */
START_TEST(executors_are_looked_for)
{
    desk_deploy("executors: {gmi: agent/gmj}");
    child_run("$MORTISE check mortise.yaml");
    desk_code(2);
    desk_out("mortise.yaml:7:18: error[E0501]: plugin 'agent' has no operation "
             "'gmj'; did you mean 'gmi'?");
    desk_deploy("executors: {leaf: agent/leav}");
    child_run("$MORTISE check mortise.yaml");
    desk_code(2);
    desk_out("mortise.yaml:7:19: error[E0501]: plugin 'agent' has no operation "
             "'leav'; did you mean 'leaf'?");
    desk_deploy("executors: {gmi: agent/gmi}\ntools: {deny: ['agent/*']}");
    child_run("$MORTISE check mortise.yaml");
    desk_code(2);
    desk_out("mortise.yaml:7:18: error[E0507]");
    desk_deploy("executors: {gmi: agent/gmi}");
    desk_ok("$MORTISE check mortise.yaml");
}
END_TEST

/* What is asked for pauses like every call under approve_tools; the strictest
 * word counts, and what is approved runs.
 * key: tools.ask */
START_TEST(asked_for_is_approved)
{
    put_echo();
    desk_deploy("tools: {allow: [\"*\"], ask: [\"*\"], deny: [tried/fail]}");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    desk_ok("$MORTISE inbox");
    desk_out("tried/echo");
    desk_ok("$MORTISE approve $($MORTISE inbox r --ids)");
    desk_ok("$MORTISE show r --json");
    desk_out("completed");
    child_run("$MORTISE run g.yaml --id s");
    child_run("$MORTISE reject $($MORTISE inbox s --ids) --reason no");
    desk_ok("$MORTISE show s --json");
    desk_out("rejected");
}
END_TEST

/* allow takes nothing away from what the graph itself wants approved. */
START_TEST(allowed_is_still_asked_for)
{
    desk_graph("g", "hitl_mode: approve_tools\nstart: a\nnodes:\n"
                    "  a: {type: tool, tool: tried/echo, args: {value: 1}, "
                    "next: END}\n");
    desk_deploy("tools: {allow: [tried/echo]}");
    child_run("$MORTISE run g.yaml --id r");
    desk_approve_plan("r");
    desk_ok("$MORTISE inbox");
    desk_out("tried/echo");
}
END_TEST

/* A run that began before its tool was denied is blocked, and goes on when it
 * is allowed again. */
START_TEST(runs_are_held_to_it)
{
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: human, prompt: go on?, next: b}\n"
                    "  b: {type: tool, tool: tried/echo, args: {value: 1}, "
                    "next: END}\n");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    desk_deploy("tools: {deny: [tried/echo]}");
    child_run("$MORTISE approve $($MORTISE inbox r --ids)");
    desk_code(78); /* the word is kept */
    desk_out("denies tried/echo (mortise.yaml:7:16)");
    desk_ok("$MORTISE show r");
    child_run("$MORTISE resume r");
    desk_code(78);
    desk_deploy("");
    desk_ok("$MORTISE resume r");
}
END_TEST

/* ---- operations whose arguments name what they act on ----------------------- */

/* Programs of the deployment, and what `tools` has in it. */
static void deploy_programs(const char *tools)
{
    char text[1024];

    snprintf(text, sizeof text,
             "programs: {yes: {path: /bin/echo}, no: {path: /bin/echo}}\n"
             "tools: {%s}",
             tools);
    desk_deploy(text);
}

static void put_program(const char *program)
{
    char text[512];

    snprintf(text, sizeof text,
             "start: a\nnodes:\n"
             "  a: {type: tool, tool: exec/run, args: {program: %s}, next: "
             "END}\n",
             program);
    desk_graph("p", text);
}

/* A call is judged by its operation and by what its arguments make of that: an
 * error where they are written down, else a failure of the call.  An allow must
 * fit both.
 * key: plugin/operation.judged_as */
START_TEST(calls_are_judged_by_what_they_name)
{
    put_program("no");
    deploy_programs("deny: [exec/no/run]");
    child_run("$MORTISE check p.yaml");
    desk_code(2);
    desk_out("p.yaml:6:41: error[E0507]: the deployment denies exec/no/run "
             "(mortise.yaml:8:16)");
    put_program("yes");
    desk_ok("$MORTISE run p.yaml");
    put_program("\"${input.p}\"");
    desk_ok("$MORTISE run p.yaml --id a --input '{\"p\": \"yes\"}'");
    child_run("$MORTISE run p.yaml --id b --input '{\"p\": \"no\"}'");
    desk_code(1);
    desk_ok("$MORTISE show b --json");
    desk_out("\"code\": \"denied\"");
    desk_out("the deployment denies exec/no/run (mortise.yaml:8:16)");
    deploy_programs("allow: [exec/run]");
    child_run("$MORTISE run p.yaml --id c --input '{\"p\": \"yes\"}'");
    desk_code(1);
    deploy_programs("allow: [exec/run, 'exec/yes/*']");
    desk_ok("$MORTISE run p.yaml --id d --input '{\"p\": \"yes\"}'");
    child_run("$MORTISE run p.yaml --id e --input '{\"p\": \"no\"}'");
    desk_code(1);
}
END_TEST

/* A name that no pattern could have is none that is allowed. */
START_TEST(names_that_are_none_are_denied)
{
    put_program("\"${input.p}\"");
    deploy_programs("deny: [exec/no/run]");
    child_run("$MORTISE run p.yaml --id a --input \"{\\\"p\\\": "
              "\\\"$(printf '%%0400d' 0)\\\"}\"");
    desk_code(1);
    desk_ok("$MORTISE show a --json");
    desk_out("\"code\": \"denied\"");
    child_run("$MORTISE run p.yaml --id b --input '{\"p\": \"no\\u0000\"}'");
    desk_code(1);
    desk_ok("$MORTISE show b --json");
    desk_out("\"code\": \"denied\"");
}
END_TEST

/* Such a name is asked for, too, and who approves with other arguments is held to
 * what is denied. */
START_TEST(what_a_call_names_is_asked_for)
{
    put_program("\"${input.p}\"");
    deploy_programs("ask: ['exec/yes/*'], deny: ['exec/no/*']");
    child_run("$MORTISE run p.yaml --id a --input '{\"p\": \"yes\"}'");
    desk_code(4);
    child_run("$MORTISE approve $($MORTISE inbox a --ids) --args "
              "'{\"program\": \"no\"}'");
    ck_assert_int_ne(child.code, 0);
    desk_err("the deployment denies exec/no/run");
    desk_ok("$MORTISE approve $($MORTISE inbox a --ids)");
    desk_ok("$MORTISE show a --json");
    desk_out("completed");
}
END_TEST

/* A model's call is judged likewise: the model gets the refusal, or the run waits
 * for an approval of the program that its arguments name. */
START_TEST(what_a_model_names_is_judged)
{
    static const char deployment[] =
        "programs: {yes: {path: /bin/touch, write: [./out]}, no: {path: "
        "/bin/touch, write: [./out]}}\n"
        "models:\n  default:\n    provider: scripted\n    model: m\n"
        "    replies:\n"
        "      - {when: {turn: 0}, tool_calls: [{name: exec__run, arguments: "
        "{program: no, args: [no]}}, {name: exec__run, arguments: {program: "
        "yes, args: [yes]}}]}\n"
        "      - {when: {turn: 1}, text: over}\n"
        "tools: {%s}";
    char text[1024];

    desk_ok("mkdir out");
    desk_graph("p", "start: a\nnodes:\n"
                    "  a: {type: gmi, prompt: go, tool_allowlist: [exec/run], "
                    "next: END}\n");
    snprintf(text, sizeof text, deployment, "deny: [exec/no/run]");
    desk_deploy(text);
    desk_ok("$MORTISE run p.yaml --id a && ls out");
    desk_out("\nyes\n");
    desk_not_out("\nno\n");
    desk_ok("$MORTISE show a --transcript --json");
    desk_out("the deployment denies exec/no/run");
    desk_ok("rm out/yes");
    snprintf(text, sizeof text, deployment, "ask: ['exec/no/*']");
    desk_deploy(text);
    child_run("$MORTISE run p.yaml --id b");
    desk_code(4);
    desk_ok("ls out && $MORTISE inbox b --json");
    desk_not_out("no\n");
    desk_out("\"no\"");
    desk_ok("$MORTISE approve $($MORTISE inbox b --ids) && ls out");
    desk_out("no\nyes\n");
}
END_TEST

/* A pattern of such a name is no odd one; a slip of the finger in it is. */
START_TEST(patterns_of_such_names_are_known)
{
    deploy_programs("deny: [exec/no/run, 'exec/no/*', exec/no/rnu, "
                    "mcp/s/read, mcp/s/raed], mcp: {s: {url: "
                    "'https://a.example/mcp'}}");
    desk_put("mortise.lock",
             "{\"apiVersion\": \"mortise/v1\", \"kind\": \"Lock\", \"mcp\": "
             "{\"s\": {\"tools\": {}}}}\n");
    desk_ok("$MORTISE check mortise.yaml");
    desk_not_out("'exec/no/run' matches");
    desk_not_out("'exec/no/*' matches");
    desk_not_out("'mcp/s/read' matches");
    desk_out("W0825]: 'exec/no/rnu' matches");
    desk_out("W0825]: 'mcp/s/raed' matches");
}
END_TEST

/* Whoever lets a plugin make requests to the host of an MCP server is warned:
 * its tools are called past the lists. */
START_TEST(a_host_with_tools_is_a_way_around)
{
    desk_deploy("plugins: {config: {http: {allow: [a.example:443]}}}\n"
                "tools: {mcp: {s: {url: 'https://a.example/mcp'}, t: {url: "
                "'https://b.example/mcp'}}}");
    desk_ok("sed -i '4d' mortise.yaml && $MORTISE check mortise.yaml");
    desk_out("warning[W0828]: plugin 'http' can connect to the MCP server 's' "
             "directly, at a.example:443");
    desk_not_out("'t' directly");
}
END_TEST

/* An approval that waits stays one when nobody asks any more. */
START_TEST(pending_approvals_stay)
{
    put_echo();
    desk_deploy("tools: {ask: [tried/echo]}");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    desk_deploy("");
    child_run("$MORTISE resume r");
    desk_code(4);
    desk_ok("$MORTISE approve $($MORTISE inbox r --ids)");
    desk_ok("$MORTISE show r --json");
    desk_out("completed");
}
END_TEST

/* ---- limits --------------------------------------------------------------- */

/* A loop that goes round eight times. */
static void put_loop(const char *more)
{
    char text[4096];

    snprintf(text, sizeof text,
             "%s"
             "state: {scratch: {type: object, properties: {n: {type: "
             "integer}}}, reducers: {scratch.n: sum}}\n"
             "start: a\nnodes:\n"
             "  a:\n"
             "    type: tool\n"
             "    tool: tried/echo\n"
             "    args: {value: 1}\n"
             "    outputs: {scratch.n: \"1\"}\n"
             "    routes: [{when: scratch.n < 8, to: a}]\n"
             "    default: END\n",
             more);
    desk_graph("loop", text);
}

/* Where a graph says nothing the deployment's word holds, less or more than
 * ours; people may raise a run's limit up to it and no further.
 * key: deployment.limits */
START_TEST(limits_are_defaults_and_ceilings)
{
    put_loop("");
    desk_deploy("limits: {steps: 5, visits: 5}");
    child_run("$MORTISE run loop.yaml --id r");
    desk_code(4);
    desk_ok("$MORTISE show r --json");
    desk_out("\"reason\": \"limit\"");
    child_run("$MORTISE resume r --limit steps=100 --limit visits=100");
    ck_assert_int_ne(child.code, 0);
    desk_err("of the deployment does not allow");
    desk_deploy("limits: {steps: 50, visits: 50}");
    desk_ok("$MORTISE resume r");
    put_loop("limits: {steps: 4, visits: 50}\n");
    child_run("$MORTISE run loop.yaml --id s");
    desk_code(4);
    child_run("$MORTISE resume s --limit steps=51");
    ck_assert_int_ne(child.code, 0);
    desk_err("limits.steps of the deployment does not allow more than 50");
    desk_ok("$MORTISE resume s --limit steps=50");
}
END_TEST

/* What passes a ceiling is an error at its place, which names the line that
 * says so; so it is for a node's own bound. */
START_TEST(more_than_the_ceiling_is_an_error)
{
    static const struct {
        const char *ceiling, *limit, *words;
    } cases[] = {
        {"steps: 10", "steps: 11", "limits.steps allows at most 10"},
        {"visits: 10", "visits: 11", "limits.visits allows at most 10"},
        {"concurrency: 2", "concurrency: 3", "concurrency allows at most"},
        {"nodes: 5", "nodes: 6", "limits.nodes allows at most 5"},
        {"depth: 0", "depth: 1", "limits.depth allows at most 0"},
        {"state: 64KiB", "state: 1MiB", "limits.state allows at most 64"},
        {"timeout: 1m", "timeout: 2m", "limits.timeout allows at most 1m"},
        {"expr_cost: 99", "expr_cost: 100", "expr_cost allows at most 99"},
    };
    char text[256];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(text, sizeof text, "limits: {%s}\n", cases[i].limit);
        put_loop(text);
        snprintf(text, sizeof text, "limits: {%s}", cases[i].ceiling);
        desk_deploy(text);
        child_run("$MORTISE check loop.yaml");
        desk_code(2);
        desk_out("loop.yaml:4:");
        desk_out("error[E0508]");
        desk_out(cases[i].words);
        desk_out("(mortise.yaml:7:");
        snprintf(text, sizeof text, "limits: {%s}\n", cases[i].ceiling);
        put_loop(text);
        child_run("$MORTISE check loop.yaml");
        desk_not_out("E0508");
    }
    desk_deploy("limits: {visits: 3}");
    desk_graph("loop", "start: a\nnodes:\n"
                       "  a: {type: tool, tool: tried/echo, args: {value: 1}, "
                       "max_visits: 4, next: END}\n");
    child_run("$MORTISE check loop.yaml");
    desk_code(2);
    desk_out("error[E0508]");
}
END_TEST

static int call_engine(const char *request)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(at.sun_path, sizeof at.sun_path, "%.80s/state/control.sock",
             desk_dir);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq(write(fd, request, strlen(request)),
                     (ssize_t)strlen(request));
    return fd;
}

static const char *answer(int fd)
{
    static char text[4096];
    ssize_t n = read(fd, text, sizeof text - 1);

    ck_assert_int_gt(n, 0);
    text[n] = '\0';
    close(fd);
    return text;
}

/* An engine that has a run in memory because somebody changed its state does
 * not go on with it, either, when its tool is denied by now: two requests come
 * at once, and the second finds what the first one loaded. */
START_TEST(looking_is_no_way_around)
{
    desk_graph("g", "start: q\nnodes:\n"
                    "  q: {type: human, prompt: ok?, next: a}\n"
                    "  a: {type: tool, tool: tried/echo, args: {value: 1}, "
                    "next: END}\n");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    desk_deploy("tools: {deny: [tried/echo]}");
    desk_ok("($MORTISE engine >engine.out 2>&1 & echo $! >pid); "
            "for i in $(seq 1200); do test -S state/control.sock && break; "
            "sleep 0.05; done");
    for (int i = 0; i < 10; i++) {
        int first = call_engine(
            "{\"do\":\"command\",\"run\":\"r\",\"no_continue\":true,"
            "\"commands\":[{\"kind\":\"update\",\"value\":{\"scratch\":"
            "{}}}]}\n");
        int second = call_engine("{\"do\":\"command\",\"run\":\"r\","
                                 "\"commands\":[{\"kind\":\"goto\","
                                 "\"node\":\"a\"}]}\n");

        ck_assert_ptr_nonnull(strstr(answer(first), "paused"));
        ck_assert_ptr_nonnull(strstr(answer(second), "denies tried/echo"));
    }
    desk_ok("kill $(cat pid)");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_policy");
    TCase *tc = tcase_create("cli_policy");

    tcase_set_timeout(tc, 60);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_test(tc, denied_is_an_error);
    tcase_add_test(tc, patterns_that_fit_nothing_are_odd);
    tcase_add_test(tc, patterns_of_pinned_tools_are_known);
    tcase_add_test(tc, graphs_are_judged_by_their_operations);
    tcase_add_test(tc, executors_are_looked_for);
    tcase_add_test(tc, findings_of_a_deployment_come_at_once);
    tcase_add_test(tc, asked_for_is_approved);
    tcase_add_test(tc, allowed_is_still_asked_for);
    tcase_add_test(tc, runs_are_held_to_it);
    tcase_add_test(tc, calls_are_judged_by_what_they_name);
    tcase_add_test(tc, names_that_are_none_are_denied);
    tcase_add_test(tc, what_a_call_names_is_asked_for);
    tcase_add_test(tc, what_a_model_names_is_judged);
    tcase_add_test(tc, patterns_of_such_names_are_known);
    tcase_add_test(tc, a_host_with_tools_is_a_way_around);
    tcase_add_test(tc, pending_approvals_stay);
    tcase_add_test(tc, limits_are_defaults_and_ceilings);
    tcase_add_test(tc, more_than_the_ceiling_is_an_error);
    tcase_add_test(tc, looking_is_no_way_around);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
