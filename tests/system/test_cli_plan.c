/* test_cli_plan.c -- `mortise plan`: a model plans, what cannot run goes back to it
 * with the findings, and a person says yes before it runs.  The models are
 * scripted, or stand behind a server of the test's own. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "lib/child.h"
#include "lib/desk.h"
#include "lib/httpd.h"

static void deploy(const char *replies)
{
    char text[8192];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "store: {path: ./store}\nmodels:\n"
             "  default:\n    provider: scripted\n    model: s\n    replies:\n"
             "%s",
             replies);
    desk_put("mortise.yaml", text);
}

#define GOOD(name)                                                             \
    "          metadata: {name: " name ", version: 1.0.0}\n"                   \
    "          start: [find]\n"                                                \
    "          nodes:\n"                                                       \
    "            find: {goal: find it out, tool_allowlist: [text/join]}\n"     \
    "            tell: {goal: tell it, depends_on: [find]}\n"
#define BAD(name)                                                              \
    "          metadata: {name: " name ", version: 1.0.0}\n"                   \
    "          start: [find]\n"                                                \
    "          nodes:\n"                                                       \
    "            find: {goal: find it out, tool_allowlist: [text/jion]}\n"

/* The first plan names a tool that is not there; told so, the model mends it, with
 * words around it. */
static const char mends[] =
    "      - when: {user: \"has no operation 'jion'\"}\n"
    "        text: |\n"
    "          There was a slip. Here it is:\n"
    "          ```yaml\n" GOOD(
        "mended") "          ```\n"
                  "          I hope that helps.\n"
                  "      - when: {user: \"The goal: tidy up\"}\n"
                  "        text: |\n" BAD("first") "      - text: done\n";

static json_t *last_line(void)
{
    char *line = strrchr(child.out, '\n');
    json_t *v;

    ck_assert_ptr_nonnull(line);
    *line = '\0';
    line = strrchr(child.out, '\n');
    v = json_loads(line != NULL ? line + 1 : child.out, 0, NULL);
    ck_assert_msg(v != NULL, "%s", child.out);
    return v;
}

/* What the model was asked at its n-th call in the run, from 0, as JSON text. */
static char *asked(const char *run, size_t n)
{
    char *line, *out = NULL;

    desk_ok("$MORTISE events %s --json", run);
    for (line = strtok(child.out, "\n"); line != NULL && out == NULL;
         line = strtok(NULL, "\n"))
        if (strstr(line, "\"type\":\"model_call\"") != NULL && n-- == 0)
            out = strdup(line);
    ck_assert_ptr_nonnull(out);
    return out;
}

static void assert_has(const char *in, const char *what)
{
    ck_assert_msg(strstr(in, what) != NULL, "no '%s' in %.4000s", what, in);
}

/* A plan that cannot run goes back with the finding to the letter, and with what it
 * points into; the next one is shown as a picture and as YAML, and may be
 * written. */
START_TEST(a_plan_that_cannot_run_goes_back)
{
    json_t *out;
    char *text;

    deploy(mends);
    desk_ok("$MORTISE plan 'tidy up' --id r --out p.yaml");
    desk_out("| find (leaf)");
    desk_out("name: mended");
    desk_ok("cat p.yaml");
    desk_out("goal: \"tidy up\"\n");
    desk_out("limits:\n  nodes: 64\n");
    desk_ok("$MORTISE check p.yaml");
    text = asked("r", 1);
    assert_has(text, "The goal: tidy up");
    assert_has(text, "You planned:");
    assert_has(text, "- text/jion");
    assert_has(text, "plan.yaml:15:9: error[E0501]: plugin 'text' has no "
                     "operation 'jion'; did you mean 'join'?\\n   15 | ");
    free(text);
    text = asked("r", 0);
    assert_has(text, "- text/join: ");
    ck_assert_ptr_null(strstr(text, "You planned:"));
    ck_assert_ptr_null(strstr(text, "agent/proposal"));
    free(text);
    desk_ok("$MORTISE plan --continue --id r --json");
    out = last_line();
    ck_assert_int_eq(json_integer_value(json_object_get(out, "plans")), 2);
    assert_has(json_string_value(json_object_get(out, "graph")), "mended");
    assert_has(json_string_value(json_object_get(out, "picture")), "tell");
    json_decref(out);
}
END_TEST

/* So many times, and no more; then the last findings are told. */
START_TEST(no_more_than_so_often)
{
    char *line;
    unsigned n = 0;

    deploy("      - text: |\n" BAD("ever"));
    child_run("$MORTISE plan 'tidy up' --id r");
    desk_code(1);
    desk_err("the run has no plan (plan)");
    desk_err("  plan.yaml:15:9: error[E0501]");
    desk_ok("$MORTISE events r");
    for (line = strstr(child.out, " model_call "); line != NULL;
         line = strstr(line + 1, " model_call "))
        n++;
    ck_assert_uint_eq(n, 3);
    child_run("$MORTISE plan 'tidy up' --max-replans 0 --json");
    desk_code(1);
    desk_out("\"code\":\"plan\"");
    child_run("$MORTISE plan 'tidy up' --max-replans 31");
    desk_code(3);
    desk_err("at most 30");
    child_run("$MORTISE plan 'tidy up' --max-replans many");
    desk_code(3);
    deploy("      - text: There is nothing to be done.\n");
    child_run("$MORTISE plan 'tidy up' --max-replans 0");
    desk_code(1);
    desk_err("plan.yaml:1:1: error[E0210]");
}
END_TEST

/* The parts of departments are planned and checked each by itself, and a director's
 * plan of them in its turn. */
START_TEST(departments_plan_and_a_director_merges)
{
    char *text;

    deploy(
        "      - when: {user: Which departments}\n"
        "        json: {departments: [{id: field, goal: look around}, {id: "
        "desk, goal: write it up}]}\n"
        "      - when: {user: \"plan.yaml:\"}\n"
        "        text: |\n" GOOD(
            "desk") "      - when: {user: You are the director}\n"
                    "        text: |\n" GOOD(
                        "merged") "      - when: {user: \"department "
                                  "\\\"field\\\"\"}\n"
                                  "        text: |\n" GOOD(
                                      "field") "      - when: {user: "
                                               "\"department \\\"desk\\\"\"}\n"
                                               "        text: |\n" BAD(
                                                   "desk-at-first"));
    desk_ok("$MORTISE plan 'tidy up' --departments --id r");
    desk_out("name: merged");
    desk_ok("$MORTISE show r --json");
    desk_out("\"path\": \"1.0/draft#2[1]\"");
    desk_not_out("\"path\": \"1.0/draft#2[0]\"");
    text = asked("r", 4);
    assert_has(text, "You are the director");
    assert_has(text, "name: field");
    assert_has(text, "name: desk\\n");
    ck_assert_ptr_null(strstr(text, "desk-at-first"));
    free(text);
}
END_TEST

/* Roles of a file are the plan's to use, and stand in it; what is wrong with them
 * is told where they stand. */
START_TEST(roles_are_told_and_laid_over)
{
    char *text;

    deploy("      - text: |\n"
           "          metadata: {name: p, version: 1.0.0}\n"
           "          start: [a]\n"
           "          nodes: {a: {goal: look, role: scout}}\n");
    desk_put("roles.yaml", "scout:\n"
                           "  display_name: Scout\n"
                           "  system_prompt_fragment: Look around.\n");
    desk_ok("$MORTISE plan 'tidy up' --roles roles.yaml --id r --out p.yaml");
    desk_ok("$MORTISE check p.yaml");
    desk_ok("grep -q 'display_name: Scout' p.yaml");
    text = asked("r", 0);
    assert_has(text, "- scout: Scout: Look around.");
    free(text);
    child_run("$MORTISE plan 'tidy up' --max-replans 0");
    desk_code(1);
    desk_err("'scout'");
    desk_put("roles.yaml", "scout:\n"
                           "  display_nam: Scout\n");
    child_run("$MORTISE plan 'tidy up' --roles roles.yaml");
    desk_code(2);
    desk_err("roles.yaml:2:3: error[E0201]");
    desk_put("roles.yaml", "[scout]\n");
    child_run("$MORTISE plan 'tidy up' --roles roles.yaml");
    desk_code(2);
    desk_err("roles.yaml:1:1: error[E0203]");
    child_run("$MORTISE plan 'tidy up' --roles none.yaml");
    desk_code(2);
    desk_err("none.yaml");
}
END_TEST

/* From the goal to the end: planned, shown, approved by another process, run. */
START_TEST(it_is_approved_and_run)
{
    char run[64] = "";

    deploy(mends);
    child_run("$MORTISE plan 'tidy up' --approve --run");
    desk_code(4);
    desk_out("hitl_mode: approve_plan");
    desk_out("waits for the approval of its plan");
    desk_ok("$MORTISE inbox --ids");
    ck_assert_int_eq(sscanf(child.out, "%63s", run), 1);
    desk_ok("$MORTISE approve $($MORTISE inbox --ids) --reason 'go ahead'");
    desk_out("completed");
    desk_ok("$MORTISE show %s --json", run);
    desk_out("\"output\": \"done\"");
    deploy(mends);
    desk_ok("$MORTISE plan 'tidy up' --run");
    desk_out("completed");
}
END_TEST

/* A plan that waits outlives the process that was to run it. */
START_TEST(a_waiting_plan_outlives_its_process)
{
    pid_t run;

    deploy(mends);
    desk_ok("$MORTISE plan 'tidy up' --approve --out p.yaml");
    run = child_start("run", "$MORTISE run p.yaml --id r --wait");
    child_await("run.out", "plan_proposed");
    kill(run, SIGKILL);
    child_wait(run);
    desk_ok("$MORTISE show r --json");
    desk_out("\"kind\": \"plan\"");
    desk_ok("$MORTISE approve $($MORTISE inbox --ids)");
    desk_out("completed");
    run = child_start("run", "$MORTISE run p.yaml --id n --wait");
    child_await("run.out", "plan_proposed");
    kill(run, SIGKILL);
    child_wait(run);
    child_run("$MORTISE reject $($MORTISE inbox --ids) --reason 'too dear'");
    desk_code(1);
    desk_out("too dear");
    desk_ok("$MORTISE why n");
    desk_out("too dear");
}
END_TEST

/* Who approves it may give another graph: refused with its findings where it cannot
 * run, and nothing changes; else the run goes by it, and its digest stands in the
 * next checkpoint. */
START_TEST(a_plan_is_approved_with_edits)
{
    deploy(mends);
    desk_ok("$MORTISE plan 'tidy up' --approve --out p.yaml");
    child_run("$MORTISE run p.yaml --id r");
    desk_code(4);
    desk_ok("$MORTISE show r --json | grep '\"digest\"' | head -1 >d1");
    desk_ok("sed 's/tell it/say it/; s/- find$/- fnid/' p.yaml >bad.yaml && ! "
            "cmp -s p.yaml bad.yaml");
    desk_ok("$MORTISE history r --json >h1");
    child_run("$MORTISE approve $($MORTISE inbox --ids) --graph bad.yaml");
    desk_code(2);
    desk_err("error[E0301]: unknown node 'fnid'");
    desk_err("bad.yaml:");
    child_run(
        "$MORTISE approve $($MORTISE inbox --ids) --graph bad.yaml --json");
    desk_code(2);
    desk_err("\"path\":\"bad.yaml\",\"line\":11,\"col\":5");
    child_run("$MORTISE approve $($MORTISE inbox --ids) --graph none.yaml");
    desk_err("none.yaml");
    child_run("$MORTISE approve $($MORTISE inbox --ids) --args '{}'");
    desk_code(3);
    desk_ok("$MORTISE history r --json >h2 && cmp h1 h2");
    desk_ok("sed 's/tell it/say it/' p.yaml >good.yaml");
    desk_ok(
        "$MORTISE approve $($MORTISE inbox --ids) --graph good.yaml --reason "
        "'like so' --no-continue");
    desk_ok("$MORTISE show r --json | grep '\"digest\"' | head -1 >d2 && ! cmp "
            "-s d1 d2");
    desk_ok("$MORTISE resume r"); /* a process that has never seen it */
    desk_out("completed");
    desk_ok(
        "$MORTISE show r --json | grep '\"digest\"' | head -1 >d3 && cmp d2 "
        "d3");
    desk_ok("$MORTISE events r");
    desk_out("plan_approved");
    desk_out("edited=true");
    desk_out("say it");
    desk_graph("g", "start: a\nnodes:\n  a: {type: human, prompt: x, next: "
                    "END}\n");
    child_run("$MORTISE run g.yaml --id h");
    child_run("$MORTISE approve $($MORTISE inbox h --ids) --graph good.yaml");
    desk_code(3);
    desk_err("--graph is for plans");
}
END_TEST

/* What failed, or died, in the middle goes on; and what it came to can be had
 * again. */
START_TEST(planning_goes_on)
{
    deploy("      - error: {code: model.quota, message: gone}\n");
    child_run("$MORTISE plan 'tidy up' --id r");
    desk_code(1);
    desk_err("the run has no plan (model.quota)");
    deploy(mends);
    desk_ok("$MORTISE plan --continue --id r --out p.yaml");
    desk_out("name: mended");
    desk_ok("$MORTISE check p.yaml");
    desk_ok("$MORTISE plan --continue --id r");
    desk_out("name: mended");
    desk_graph("g", "start: a\nnodes:\n  a: {type: human, prompt: x, next: "
                    "END}\n");
    child_run("$MORTISE run g.yaml --id other");
    child_run("$MORTISE plan --continue --id other");
    desk_code(3);
    desk_err("run other was not started by 'mortise plan'");
    child_run("$MORTISE plan --continue --id r 'another goal'");
    desk_code(3);
    child_run("$MORTISE plan --continue");
    desk_code(3);
    child_run("$MORTISE plan");
    desk_code(3);
    desk_err("GOAL is missing");
    child_run("$MORTISE plan 'tidy up' --model nobody");
    desk_code(2);
    desk_err("has no model 'nobody'");
}
END_TEST

#define REPLY(text)                                                            \
    "{\"id\": \"x\", \"object\": \"chat.completion\", \"choices\": "           \
    "[{\"index\": 0, \"message\": {\"role\": \"assistant\", \"content\": "     \
    "\"" text "\"}, \"finish_reason\": \"stop\"}]}"

/* Killed while the model mends its plan, it asks for that once more, and for nothing
 * else. */
START_TEST(a_kill_costs_one_call)
{
    struct httpd *d = httpd_start();
    char text[1024];
    pid_t pid;

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "store: {path: ./store}\nmodels:\n"
             "  default: {provider: openai, model: m, base_url: \"%s\"}\n",
             httpd_url(d, "/v1"));
    desk_put("mortise.yaml", text);
    httpd_answer(d, "/v1/chat/completions", "200 OK",
                 "Content-Type: application/json\r\n", REPLY("no plan"));
    httpd_times(d, 1);
    httpd_on(d, "/v1/chat/completions");
    httpd_wait(d, 60000);
    httpd_times(d, 1);
    httpd_answer(d, "/v1/chat/completions", "200 OK",
                 "Content-Type: application/json\r\n",
                 REPLY("metadata: {name: late}\\nstart: a\\nnodes: {a: {goal: "
                       "do it}}"));
    pid = child_start("plan", "$MORTISE plan 'tidy up' --id r");
    for (int i = 0; i < 6000 && httpd_requests(d) < 2; i++)
        usleep(10000);
    ck_assert_uint_eq(httpd_requests(d), 2);
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    child_wait(pid);
    desk_ok("$MORTISE plan --continue --id r");
    desk_out("name: late");
    ck_assert_uint_eq(httpd_requests(d), 3);
    ck_assert_str_eq(strstr(httpd_request(d, 1), "\r\n\r\n"),
                     strstr(httpd_request(d, 2), "\r\n\r\n"));
    httpd_stop(d);
}
END_TEST

/* A plan of a model opens no files. */
START_TEST(a_plan_opens_no_files)
{
    desk_graph("secret",
               "start: a\nnodes:\n  a: {type: human, prompt: x, next: "
               "END}\n");
    deploy("      - text: |\n"
           "          metadata: {name: p, version: 1.0.0}\n"
           "          start: [a]\n"
           "          nodes: {a: {type: subgraph, graph: ./secret.yaml, next: "
           "END}}\n");
    child_run("$MORTISE plan 'tidy up' --max-replans 0");
    desk_code(1);
    desk_err("only the user as which the engine runs (");
}
END_TEST

#define FINDS                                                                  \
    "      - text: |\n"                                                        \
    "          metadata: {name: p, version: 1.0.0}\n"                          \
    "          start: [a]\n"                                                   \
    "          nodes: {a: {goal: find it out}}\n"

static void deploy_so(const char *models)
{
    char text[2048];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "store: {path: ./store}\n%s",
             models);
    desk_put("mortise.yaml", text);
}

/* Nobody wrote the graph that plans: what is wrong with the deployment for it is
 * said without a place in that, and with what to write where.  It says the same by
 * a chat. */
START_TEST(a_missing_model_is_said_of_the_deployment)
{
    static const char *const goals[] = {"plan 'tidy up'", "chat hello"};

    for (size_t i = 0; i < 2; i++) {
        deploy_so("");
        child_run("$MORTISE %s </dev/null", goals[i]);
        desk_code(2);
        ck_assert_ptr_eq(strstr(child.err,
                                "error[E0513]: the deployment has no model "
                                "'default': write 'default: {provider: PLUGIN, "
                                "model: NAME}' under 'models' of mortise.yaml"),
                         child.err);
        child_run("$MORTISE %s --json </dev/null", goals[i]);
        desk_code(2);
        desk_err("\"path\":null,\"line\":0,");
        desk_ok("rm mortise.yaml");
        child_run("$MORTISE %s </dev/null", goals[i]);
        desk_code(2);
        desk_err("under 'models' of a Deployment file, such as mortise.yaml");
        deploy_so("models: {other: {provider: scripted, model: s, replies: "
                  "[{text: x}]}}\n");
        child_run("$MORTISE %s --model othr </dev/null", goals[i]);
        desk_code(2);
        desk_err("error[E0513]: the deployment has no model 'othr'; did you "
                 "mean 'other'?");
    }
}
END_TEST

/* --model is all that a deployment without a `default` needs: its workers have that
 * one, too. */
START_TEST(the_model_that_plans_may_be_the_only_one)
{
    deploy_so("models:\n  other:\n    provider: scripted\n    model: s\n"
              "    replies:\n" FINDS);
    desk_ok("$MORTISE plan 'tidy up' --model other --run");
    desk_out("provider_id: other");
    desk_out(" completed");
    deploy(FINDS);
    desk_ok("$MORTISE plan 'tidy up'");
    ck_assert_ptr_null(strstr(child.out, "provider_id"));
}
END_TEST

/* What the deployment bounds bounds what is planned and who chats, and forbids
 * neither. */
START_TEST(bounds_of_the_deployment_hold)
{
    deploy_so("limits: {nodes: 5, steps: 50, visits: 4}\n"
              "models:\n  default:\n    provider: scripted\n    model: s\n"
              "    replies:\n" FINDS);
    desk_ok("$MORTISE plan 'tidy up'");
    desk_out("nodes: 5\n");
    desk_ok("$MORTISE chat hello </dev/null");
    desk_out("find it out");
}
END_TEST

/* A plan that waits for somebody says for what, and the commands that are printed
 * have it in the end. */
START_TEST(who_plans_may_have_to_be_asked)
{
    char line[512];

    deploy_so("tools: {ask: [agent/gmi]}\n"
              "models:\n  default:\n    provider: scripted\n    model: s\n"
              "    replies:\n" FINDS);
    child_run("$MORTISE plan 'tidy up' --id r --json");
    desk_code(4);
    desk_err("mortise approve r ");
    child_run("$MORTISE plan --continue --id r");
    desk_code(4);
    desk_err("plan wants to call a tool and needs an approval");
    snprintf(line, sizeof line, "%s",
             desk_line(child.err, "mortise plan ") + 7);
    desk_ok("$MORTISE%s", desk_line(child.err, "mortise approve ") + 7);
    desk_ok("$MORTISE%s", line);
    desk_out("find it out");
}
END_TEST

/* Once too often is not for ever: --continue has the model asked again, which is
 * told what was wrong. */
START_TEST(it_is_asked_once_more)
{
    char *text;

    deploy("      - text: |\n" BAD("first"));
    child_run("$MORTISE plan 'tidy up' --max-replans 0 --id r");
    desk_code(1);
    desk_err("to ask the model again:\n");
    deploy(mends);
    desk_ok("$MORTISE%s", desk_line(child.err, "mortise plan ") + 7);
    desk_out("name: mended");
    text = asked("r", 1);
    assert_has(text, "has no operation 'jion'");
    free(text);
}
END_TEST

/* A file of roles is a document like any other, and the deployment is not looked for
 * beside it; which tools they have is looked at before anybody plans. */
START_TEST(roles_are_a_file_of_their_own)
{
    deploy(FINDS);
    desk_put("roles.yaml", "# who\n---\nscout: {display_name: Scout}\n...\n");
    desk_ok("$MORTISE plan 'tidy up' --roles roles.yaml");
    desk_out("display_name: Scout");
    desk_put("roles.yaml", "--- {scout: {display_nam: Scout}}\n");
    child_run("$MORTISE plan 'tidy up' --roles roles.yaml");
    desk_code(2);
    desk_err("roles.yaml:1:14: error[E0201]");
    desk_put("roles.yaml", "scout:\n  default_tool_allowlist: [text/nope]\n");
    child_run("$MORTISE plan 'tidy up' --roles roles.yaml");
    desk_code(2);
    desk_err("roles.yaml:2:28: error[E0501]");
    desk_put("roles.yaml", "roles:\n  scout: {display_name: Scout}\n");
    child_run("$MORTISE plan 'tidy up' --roles roles.yaml");
    desk_code(2);
    desk_err("roles.yaml:1:1: error[E0203]");
    desk_err("help: remove the line `roles:`");
    desk_ok("mkdir team");
    desk_put("team/mortise.yaml", "kind: Nothing\n");
    desk_put("team/roles.yaml", "scout: {display_name: Scout}\n");
    desk_ok("$MORTISE plan 'tidy up' --roles team/roles.yaml");
}
END_TEST

/* Whoever talks to the model that plans does not come by a secret: a plan refers to
 * none, in a node, or in one of a team. */
START_TEST(a_plan_has_no_secrets)
{
#define STEALS                                                                 \
    "tool: http/get, args: {url: 'http://127.0.0.1:9/', headers: {X-Key: "     \
    "'secret://k'}}"
#define PLAN(node)                                                             \
    REPLY("metadata: {name: p}\\nstart: a\\nnodes: {a: {" node "}}")
    static const char *const plans[] = {
        PLAN("type: tool, " STEALS),
        PLAN("type: team, goal: look, graph: {start: in, nodes: {in: {type: "
             "tool, " STEALS "}}}")};
    struct httpd *d = httpd_start();
    char text[1024];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "store: {path: ./store}\nmodels:\n"
             "  default: {provider: openai, model: m, base_url: \"%s\"}\n"
             "plugins: {config: {http: {allow: [\"http://127.0.0.1:9\"], "
             "secrets: [k]}}}\n"
             "secrets: {k: {file: k.txt}}\n",
             httpd_url(d, "/v1"));
    desk_put("mortise.yaml", text);
    desk_ok("printf abcdefghij >k.txt && chmod 600 k.txt");
    desk_ok("$MORTISE config allow mortise.yaml");
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        httpd_answer(d, "/v1/chat/completions", "200 OK",
                     "Content-Type: application/json\r\n", plans[i]);
        httpd_times(d, 1);
        child_run("$MORTISE plan 'tidy up' --max-replans 0 --run");
        desk_code(1);
        desk_err("error[E0605]: a graph that a model or a plugin wrote cannot "
                 "use secrets");
    }
    httpd_stop(d);
}
END_TEST

/* It has people and models at work, at any depth, and no node that does something by
 * itself, whatever the deployment's tools may do. */
START_TEST(a_plan_is_leaves_and_teams)
{
#define DOES "{type: tool, tool: http/get, args: {url: 'http://127.0.0.1:9/'}}"
    static const struct {
        const char *plan, *words;
    } plans[] = {
        {REPLY("metadata: {name: p}\\nstart: [a, b]\\nnodes: {a: {goal: look}, "
               "b: " DOES "}"),
         "node 'b' cannot have the type 'tool': nodes of this graph can only "
         "have the types "
         "leaf, team"},
        {REPLY("metadata: {name: p}\\nstart: a\\nnodes: {a: {type: team, goal: "
               "look, graph: {start: in, nodes: {in: {type: human, prompt: "
               "well?}}}}}"),
         "node 'in' cannot have the type 'human'"}};
    struct httpd *d = httpd_start();
    char text[1024];

    snprintf(text, sizeof text,
             "models:\n"
             "  default: {provider: openai, model: m, base_url: \"%s\"}\n",
             httpd_url(d, "/v1"));
    deploy_so(text);
    desk_ok("$MORTISE config allow mortise.yaml");
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        httpd_answer(d, "/v1/chat/completions", "200 OK",
                     "Content-Type: application/json\r\n", plans[i].plan);
        httpd_times(d, 1);
        child_run("$MORTISE plan 'tidy up' --max-replans 0 --run");
        desk_code(1);
        desk_err("plan.yaml:");
        desk_err("error[E0207]: ");
        desk_err(plans[i].words);
    }
    httpd_stop(d);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("cli_plan");
    TCase *tc = tcase_create("plan");

    tcase_set_timeout(tc, 120);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_test(tc, a_plan_that_cannot_run_goes_back);
    tcase_add_test(tc, no_more_than_so_often);
    tcase_add_test(tc, departments_plan_and_a_director_merges);
    tcase_add_test(tc, roles_are_told_and_laid_over);
    tcase_add_test(tc, it_is_approved_and_run);
    tcase_add_test(tc, a_waiting_plan_outlives_its_process);
    tcase_add_test(tc, a_plan_is_approved_with_edits);
    tcase_add_test(tc, planning_goes_on);
    tcase_add_test(tc, a_kill_costs_one_call);
    tcase_add_test(tc, a_plan_opens_no_files);
    tcase_add_test(tc, a_missing_model_is_said_of_the_deployment);
    tcase_add_test(tc, the_model_that_plans_may_be_the_only_one);
    tcase_add_test(tc, bounds_of_the_deployment_hold);
    tcase_add_test(tc, who_plans_may_have_to_be_asked);
    tcase_add_test(tc, it_is_asked_once_more);
    tcase_add_test(tc, roles_are_a_file_of_their_own);
    tcase_add_test(tc, a_plan_has_no_secrets);
    tcase_add_test(tc, a_plan_is_leaves_and_teams);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
