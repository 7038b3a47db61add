/* test_cli_guards.c -- guardrails as a deployment has them: one plugin under
 * several ids, each with rules of its own. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/desk.h"

/* A plugin of tests/plugins/ beside `tried`, from now on. */
static void add(const char *name)
{
    char path[256], source[4096];

    snprintf(path, sizeof path, "tests/plugins/%s.plugin.yaml", name);
    ck_assert_ptr_nonnull(realpath(path, source));
    snprintf(path, sizeof path, "tests/plugins/%s.so", name);
    desk_ok("cd %s && { test -e trust.d/%s.yaml || { "
            "$MORTISE plugin sign %s %s --key k.key --out plugins && "
            "$MORTISE key trust k.pub --trust trust.d --name %s --plugins %s "
            "--in-process; }; }",
            desk_plugins, name, source, child_build(path), name, name);
}

#define TWO                                                                    \
    "guardrails:\n"                                                            \
    "  mails: {plugin: pattern, config: {builtin: [email]}}\n"                 \
    "  hosts: {plugin: pattern, config: {builtin: [ipv4]}}\n"

#define MASK(id, next)                                                         \
    "  " id ": {type: guardrail, guardrails: [" id "], target: input.text,\n"  \
    "    on_violation: sanitize, next: " next "}\n"

/* Two ids of one plugin are two instances, each with its own rules.
 * key: deployment.guardrails, guardrail.plugin, guardrail.config */
START_TEST(an_id_has_rules_of_its_own)
{
    desk_deploy(TWO);
    desk_graph("g", "start: mails\nnodes:\n" MASK("mails", "hosts")
                        MASK("hosts", "END"));
    desk_ok("$MORTISE check g.yaml mortise.yaml");
    desk_ok("$MORTISE run g.yaml --id r --input "
            "'{\"text\": \"a@b.example 10.0.0.1\"}'");
    desk_ok("$MORTISE show r --json");
    desk_out("[email] 10.0.0.1");
    desk_out("a@b.example [ipv4]");
    desk_out("guardrail:mails");
}
END_TEST

/* What is neither an id nor a plugin is an error, and so is an id of what is no
 * guardrail, or not there; a graph that names none of them is not held up by
 * the file until it is used. */
START_TEST(ids_lead_to_guardrails)
{
    desk_deploy(TWO "  gone: {plugin: nobody}\n  odd: {plugin: tried}\n");
    child_run("$MORTISE check mortise.yaml");
    desk_code(2);
    desk_out("mortise.yaml:10:18: error[E0502]: no plugin 'nobody'");
    desk_out(
        "mortise.yaml:11:17: error[E0502]: plugin 'tried' is not a guardrail");
    desk_deploy(TWO);
    desk_graph("g", "start: mailz\nnodes:\n" MASK("mailz", "END"));
    child_run("$MORTISE check g.yaml");
    desk_code(2);
    desk_out("g.yaml:6:41: error[E0502]: no guardrail 'mailz'");
    desk_out("did you mean 'mails'?");
}
END_TEST

/* A config that the plugin refuses is found where it is written, and nothing
 * runs with it; the same goes for plugins.config. */
START_TEST(configs_are_checked)
{
    desk_deploy("guardrails:\n"
                "  mails: {plugin: pattern, config: {builtin: [mail]}}\n"
                "  plain: {plugin: ok_guardrail, config: {}}\n");
    child_run("$MORTISE check mortise.yaml");
    desk_code(2);
    desk_out("mortise.yaml:8:47: error[E0607]: plugin 'pattern' rejects this "
             "config");
    desk_graph("g", "start: mails\nnodes:\n" MASK("mails", "END"));
    child_run("$MORTISE run g.yaml --input '{\"text\": \"x\"}'");
    ck_assert_int_ne(child.code, 0);
    desk_err("mortise.yaml:8:47");
}
END_TEST

/* A schema in a config is held to what a schema of a graph is, where it
 * stands. */
START_TEST(a_schema_of_a_config_is_checked)
{
    desk_deploy("guardrails:\n"
                "  a: {plugin: schema, config: {schema: {type: strin}}}\n"
                "  b: {plugin: schema, config: {schema: {pattern: '('}}}\n"
                "  c: {plugin: schema, config: {schema: {type: string}}}\n"
                "  d: {plugin: schema, config: {at: /x}}\n");
    child_run("$MORTISE check mortise.yaml");
    desk_code(2);
    desk_out("mortise.yaml:8:47: error[E0209]");
    desk_out("mortise.yaml:9:50: error[E0209]");
    desk_not_out("mortise.yaml:10:");
    desk_out("mortise.yaml:11:31: error[E0607]");
}
END_TEST

/* An alias of a model in a config is one of the deployment's, where it stands. */
START_TEST(an_alias_of_a_config_is_checked)
{
    desk_deploy("guardrails:\n"
                "  a: {plugin: judge, config: {criteria: x, model: smal}}\n"
                "  b: {plugin: judge, config: {criteria: x, model: small}}\n"
                "memory: {plugin: local, config: {embed: nope}}\n"
                "models: {small: {provider: scripted, model: m, replies: "
                "[{text: a}]}}\n");
    child_run("$MORTISE check mortise.yaml");
    desk_code(2);
    desk_out("mortise.yaml:8:51: error[E0513]: the deployment has no model "
             "'smal'; did you mean 'small'?\n");
    desk_not_out("mortise.yaml:9:");
    desk_out("mortise.yaml:10:41: error[E0513]: the deployment has no model "
             "'nope': write 'nope: {provider: PLUGIN, model: NAME}' under "
             "'models' of mortise.yaml\n");
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: guardrail, guardrails: [b], target: \"'x'\", "
                    "next: END}\n");
    child_run("$MORTISE run g.yaml");
    desk_code(78);
    desk_err("mortise.yaml:8:51");
}
END_TEST

/* One that a config does not name is the schema's default, which a deployment may
 * lack: that is found where the config stands.  A memory asks none unless its
 * config says so. */
START_TEST(an_alias_that_no_config_names)
{
    static const char words[] =
        "mortise.yaml:7:41: error[E0513]: plugin 'judge' uses the model "
        "'default', because its config has no 'model': the deployment has no "
        "model 'default': write 'default: {provider: PLUGIN, model: NAME}' "
        "under 'models' of mortise.yaml\n";

    desk_deploy("guardrails: {a: {plugin: judge, config: {criteria: x}}}\n"
                "memory: {plugin: local}\n");
    child_run("$MORTISE check mortise.yaml");
    desk_code(2);
    desk_out(words);
    desk_out("help: name a model alias: model: ALIAS\n");
    desk_not_out("'local'");
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: guardrail, guardrails: [a], target: \"'x'\", "
                    "next: END}\n");
    child_run("$MORTISE check g.yaml");
    desk_code(2);
    desk_out("error[E0513]");
    child_run("$MORTISE run g.yaml");
    desk_code(78);
    desk_deploy("guardrails: {a: {plugin: judge, config: {criteria: x}}}\n"
                "models: {default: {provider: scripted, model: m, replies: "
                "[{text: a}]}}\n");
    desk_ok("$MORTISE check mortise.yaml");
}
END_TEST

/* The schema guardrail lets the host judge, and what the host cannot judge does
 * not pass. */
START_TEST(a_schema_decides)
{
    desk_deploy("guardrails:\n"
                "  small: {plugin: schema, config: {at: /order, schema:\n"
                "    {type: object, properties: {amount: {maximum: 100}}}}}\n"
                "  slow: {plugin: schema, config: {schema:\n"
                "    {pattern: '^(a+)+$'}}}\n");
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: guardrail, guardrails: [small], target: input,"
                    " next: END}\n");
    desk_ok("$MORTISE run g.yaml --id r1 --input "
            "'{\"order\": {\"amount\": 99}}'");
    child_run("$MORTISE run g.yaml --id r2 --input "
              "'{\"order\": {\"amount\": 101}}'");
    ck_assert_int_ne(child.code, 0);
    desk_out("guardrail 'small': at /amount: ");
    child_run("$MORTISE run g.yaml --id r3 --input '{}'");
    desk_out("guardrail 'small': no value at /order");
    desk_graph("h", "start: a\nnodes:\n"
                    "  a: {type: guardrail, guardrails: [slow], "
                    "target: input.s, next: END}\n");
    child_run("$MORTISE run h.yaml --id r4 --input '{\"s\": \"%sb\"}'",
              "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    ck_assert_int_ne(child.code, 0);
    desk_out("guardrail 'slow': ");
}
END_TEST

/* A model judges, and one that fails, refuses or says something else has not let
 * it pass. */
START_TEST(a_model_judges)
{
    static const char *const cases[][2] = {
        {"kind words", NULL},
        {"rude words", "guardrail 'polite': it is rude (score 0.90)"},
        {"broken",
         "the judge returned no verdict: the model's reply is invalid"},
        {"off", "the judge returned no verdict: the model failed: no server"},
        {"refuse", "the judge returned no verdict: the model's reply is "
                   "incomplete: refusal"},
        {"unheard of", "the judge returned no verdict: the model failed"},
    };

    desk_deploy("guardrails:\n"
                "  polite: {plugin: judge, config: {model: small, criteria: "
                "It is rude.}}\n"
                "models:\n"
                "  small:\n"
                "    provider: scripted\n"
                "    model: m\n"
                "    replies:\n"
                "      - {when: {user: kind}, json: {score: 0.1, reason: ok}}\n"
                "      - {when: {user: rude}, json: {score: 0.9, reason: it is "
                "rude}}\n"
                "      - {when: {user: broken}, text: it is fine}\n"
                "      - {when: {user: 'off'}, error: {code: model.server, "
                "message: no server}}\n"
                "      - {when: {user: refuse}, refusal: no}\n");
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: guardrail, guardrails: [polite], target: "
                    "input.text, next: END}\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        child_run("$MORTISE run g.yaml --input '{\"text\": \"%s\"}'",
                  cases[i][0]);
        desk_code(cases[i][1] == NULL ? 0 : 1);
        if (cases[i][1] != NULL)
            desk_out(cases[i][1]);
    }
}
END_TEST

/* Where a config says where its plugin may go, that must be places. */
START_TEST(destinations_are_checked)
{
    static const char *const bad[] = {"not a url", "example.com:99999", "*"};

    for (size_t i = 0; i < 3; i++) {
        desk_put("d.yaml", "apiVersion: mortise/v1\nkind: Deployment\n"
                           "metadata: {name: d}\n"
                           "plugins: {config: {http: {allow: "
                           "[\"https://a.example\", \"PLACE\"]}}}\n");
        desk_ok("sed -i 's|PLACE|%s|' d.yaml", bad[i]);
        child_run("$MORTISE check d.yaml");
        desk_code(2);
        desk_out("d.yaml:4:26: error[E0607]: plugin 'http' cannot connect as "
                 "this config requires: ");
        desk_out(bad[i]);
    }
    desk_ok("sed -i 's|\"\\*\"|\"[::1]:80 private\"|' d.yaml && $MORTISE "
            "check d.yaml");
}
END_TEST

/* The address of a server is a URL: a HOST:PORT would fail at the first call.  The
 * schema's own description of the member is the help. */
START_TEST(addresses_of_servers_are_urls)
{
    static const char *const rows[] = {
        "models: {m: {provider: openai, model: m, base_url: PLACE}}\n",
        "models: {m: {provider: anthropic, model: m, base_url: PLACE}}\n",
        ("discovery: {plugins: [{plugin: registry, config: {base_url: "
         "PLACE}}]}\n"),
        "plugins: {config: {voice: {stt: {model: m, base_url: PLACE}}}}\n",
        "plugins: {config: {voice: {tts: {model: m, base_url: PLACE}}}}\n",
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[512];

        snprintf(text, sizeof text,
                 "apiVersion: mortise/v1\nkind: Deployment\n"
                 "metadata: {name: d}\n%s",
                 rows[i]);
        desk_put("d.yaml", text);
        child_run("sed -i 's|PLACE|\"localhost:11434\"|' d.yaml && $MORTISE "
                  "check d.yaml");
        desk_code(2);
        desk_out("d.yaml:4:");
        desk_out("base_url: does not match /^https?://./\n");
        desk_out("help: base_url: w");
        desk_out("https://");
        desk_ok("sed -i 's|localhost:11434|http://&/v1|' d.yaml && $MORTISE "
                "check d.yaml");
    }
}
END_TEST

/* `check` accepts any value for a ${...} of a deployment that nobody allowed. */
START_TEST(what_is_not_resolved_may_be_right)
{
    desk_graph("g", "start: a\nnodes:\n  a: {type: tool, tool: text/lines, "
                    "args: {text: x}, next: END}\n");
    desk_deploy("models: {m: {provider: openai, model: m, base_url: "
                "\"${env:T_NOT_SET}\", api: \"${env:T_NOT_SET}\"}}\n"
                "guardrails: {j: {plugin: judge, config: {criteria: x, model: "
                "\"${env:T_NOT_SET}\"}}}\n");
    child_allows(false);
    child_run("$MORTISE check g.yaml");
    child_allows(true);
    desk_code(0);
    desk_out("W0820");
}
END_TEST

/* What a deployment names and is not there is a warning, where it stands. */
START_TEST(what_is_not_there_is_told)
{
    desk_put("d.yaml", "apiVersion: mortise/v1\nkind: Deployment\n"
                       "metadata: {name: d}\n"
                       "plugins: {path: [./here, ./gone], dev: [./away]}\n"
                       "trust: {dir: nowhere}\n"
                       "secrets:\n"
                       "  a: {env: T_NOT_SET}\n"
                       "  b: {file: no-file}\n"
                       "  c: {env: PATH}\n"
                       "  d: {exec: [no-such-program, d]}\n"
                       "  e: {exec: [./no-such-file]}\n"
                       "  f: {exec: [sh, -c, ': >ran']}\n");
    desk_ok("mkdir here && $MORTISE check d.yaml");
    desk_out("d.yaml:4:26: warning[W0823]: there is no directory ");
    desk_out("d.yaml:4:41: warning[W0823]: there is no directory ");
    desk_out("d.yaml:5:14: warning[W0823]: there is no directory ");
    desk_out("d.yaml:7:3: warning[W0823]: the secret 'a' is in the environment "
             "variable T_NOT_SET, which is not set here");
    desk_out("d.yaml:8:3: warning[W0823]: the secret 'b' is in the file ");
    desk_out("d.yaml:10:3: warning[W0823]: the secret 'd' is the output of the "
             "program no-such-program, which cannot be run here");
    desk_out("d.yaml:11:3: warning[W0823]: the secret 'e' is the output of ");
    desk_not_out("directory ./here");
    desk_not_out("d.yaml:9");
    desk_not_out("d.yaml:12");
    desk_ok("test ! -e ran");
}
END_TEST

/* A pin of a server that is not there, or of a tool that cannot be called, is a
 * warning where it stands; others may not write what is pinned. */
START_TEST(pins_of_nothing_are_told)
{
    desk_put("d.yaml", "apiVersion: mortise/v1\nkind: Deployment\n"
                       "metadata: {name: d}\n"
                       "tools: {mcp: {near: {url: \"http://127.0.0.1:1\"}}}\n");
    desk_put("d.lock",
             "{\"apiVersion\": \"mortise/v1\", \"kind\": \"Lock\",\n"
             "\"mcp\": {\"nera\": {\"tools\": {}},\n"
             "\"near\": {\"tools\": {\"t\": {\"input_schema\": {\"type\": 1},\n"
             "\"digest\": \"0123456789abcdef0123456789abcdef0123456789abcdef"
             "0123456789abcdef\"}}}}}\n");
    desk_ok("$MORTISE check d.yaml");
    desk_out("d.lock:2:9: warning[W0824]: tools.mcp of the deployment has no "
             "server 'nera'");
    desk_out("d.lock:3:20: warning[W0824]: tool 'mcp/near/t' cannot be "
             "called: its server's input_schema is not valid, at /type");
    desk_ok("chmod 666 d.lock && $MORTISE check d.yaml");
    desk_out("W0820");
    desk_out("d.lock");
}
END_TEST

/* A permission that no config can give is a warning for its author. */
START_TEST(permissions_of_nothing_are_told)
{
    desk_put("p.yaml", "apiVersion: mortise/v1\nkind: Plugin\n"
                       "metadata: {name: p, version: 1.0.0}\nseq: 1\n"
                       "abi: {major: 1, minor: 0}\nruntime: c\n"
                       "provides: {executor: {threading: inline, operations: "
                       "{run: {effect: read}}}}\n"
                       "permissions: {net: [config:urll, \"config:url.a\"]}\n"
                       "config_schema: {type: object, properties: {url: {}}}"
                       "\n");
    desk_ok("$MORTISE check p.yaml");
    desk_out("p.yaml:8:21: warning[W0822]: config_schema has no property "
             "'urll'");
    desk_not_out("'url'");
    desk_ok("sed -i 's|{type: object, |{patternProperties: {u: {}}, |' p.yaml "
            "&& $MORTISE check p.yaml");
    ck_assert_str_eq(child.out, "");
    desk_ok("sed -i '/^config_schema/d' p.yaml && $MORTISE check p.yaml");
    desk_out("'url'");
}
END_TEST

/* What is said of a plugin that is not there is a warning, in case it is
 * misspelt, and only for who checks: it holds for nobody. */
START_TEST(names_of_no_plugin_are_odd)
{
    desk_deploy("");
    desk_ok("sed 's|^plugins: {|plugins: {config: {x-a: 1, patern: {}, pattern:"
            " {builtin: [email]}}, isolation: {tred: in-process}, |' "
            "mortise.yaml >m && mv m mortise.yaml");
    desk_ok("$MORTISE check mortise.yaml");
    desk_out("mortise.yaml:4:28: warning[W0808]: no plugin 'patern'");
    desk_out("did you mean 'pattern'?");
    desk_out("warning[W0808]: no plugin 'tred'");
    desk_not_out("x-a'");
    desk_not_out("'pattern' ");
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: tried/echo, args: {value: 1}}\n");
    desk_ok("$MORTISE run g.yaml");
    desk_not_out("W0808");
}
END_TEST

/* A run goes on with the plugin that its ids had: another one behind an id is a
 * plugin that changed; a changed config is not, as with plugins.config. */
START_TEST(a_run_keeps_what_is_behind_an_id)
{
    add("ok_guardrail");
    desk_deploy(TWO);
    desk_graph("g", "start: ask\nnodes:\n"
                    "  ask: {type: human, prompt: go on?, next: mails}\n" MASK(
                        "mails", "END"));
    for (const char *id = "ab"; *id != '\0'; id++) {
        child_run("$MORTISE run g.yaml --id %c --input "
                  "'{\"text\": \"a@b.example\"}'",
                  *id);
        desk_code(4);
    }
    desk_ok("$MORTISE why a");
    desk_not_out("blocked");
    desk_deploy("guardrails: {mails: {plugin: ok_guardrail}}");
    desk_ok("$MORTISE why a | tr '\\n' ' '");
    desk_out("'guardrail:mails', which has changed (the installed one is "
             "ok_guardrail");
    child_run("$MORTISE approve $($MORTISE inbox a --ids)");
    desk_code(78);
    desk_out("guardrail:mails");
    desk_out("--accept-plugins");
    desk_deploy("guardrails: {}");
    child_run("$MORTISE resume a");
    desk_code(78);
    desk_deploy("guardrails:\n"
                "  mails: {plugin: pattern, config: {rules: [{name: all, "
                "pattern: \\S+@, replace: \"\"}]}}\n");
    desk_ok("$MORTISE resume a");
    desk_ok("$MORTISE show a --json");
    desk_out("\"b.example\"");
    desk_deploy("guardrails: {mails: {plugin: ok_guardrail}}");
    child_run("$MORTISE resume b --accept-plugins");
    desk_ok("$MORTISE approve $($MORTISE inbox b --ids)");
}
END_TEST

/* A policy's guardrails see what goes into a node and what comes out of it, and
 * `why` and `show` say which. */
START_TEST(a_policy_guards_a_node)
{
    desk_deploy(TWO);
    desk_graph("g", "start: a\nnodes:\n"
                    "  a:\n"
                    "    type: tool\n"
                    "    tool: tried/echo\n"
                    "    args: {value: \"${input.text}\"}\n"
                    "    guardrail_policy: {input: [mails], output: [hosts],\n"
                    "      on_violation: sanitize}\n"
                    "    next: END\n");
    desk_ok("$MORTISE run g.yaml --id r --input "
            "'{\"text\": \"a@b.example 10.0.0.1\"}'");
    desk_ok("$MORTISE show r --json");
    desk_out("[email] [ipv4]");
    desk_out("\"stage\": \"input\"");
    desk_out("\"stage\": \"output\"");
    desk_not_out("a@b.example [ipv4]");
    desk_ok("$MORTISE history r --json | grep -o "
            "'\"entry\":\"[a-z]*\"[^]]*\"guardrails\":[^]]*'");
    desk_out("\"entry\":\"checked\"");
    desk_out("\"entry\":\"done\"");
    desk_out("\"guardrails\":[{\"guardrail\":\"hosts\",\"stage\":\"output\","
             "\"violation\":true,\"action\":\"sanitize\"");
    desk_ok("$MORTISE history r --json");
    desk_not_out("\"guardrails\":{");
}
END_TEST

/* What guardrails took out of an output is in no words of its failure, and not in
 * the conversation, from which the next node's model would hear it. */
START_TEST(nothing_comes_by_another_way)
{
    add("speaks");
    desk_deploy(
        TWO "models:\n"
            "  shows: {provider: speaks, model: m}\n"
            "  default:\n"
            "    provider: scripted\n"
            "    model: m\n"
            "    replies:\n"
            "      - when: {user: a way, turn: 0}\n"
            "        text: I ask a@b.example.\n"
            "        tool_calls: [{name: tried__echo, arguments: {value: "
            "1}}]\n"
            "      - {when: {user: a way}, text: It is done.}\n"
            "      - when: {user: number, turn: 0}\n"
            "        text: Ask a@b.example.\n"
            "        tool_calls: [{name: tried__echo, arguments: {value: "
            "1}}]\n"
            "      - {when: {user: json}, json: {'a@b.example': 5550100}}\n"
            "      - {when: {user: broken}, error: {code: model.server, class: "
            "permanent, message: a@b.example is not here}}\n"
            "      - {when: {user: first}, text: Ask a@b.example.}\n");
    desk_graph("many", "start: a\nnodes:\n"
                       "  a:\n    type: gmi\n    prompt: a number\n"
                       "    max_internal_iterations: 1\n    max_tokens: 9\n"
                       "    tool_allowlist: [tried/echo]\n"
                       "    guardrail_policy: {output: [mails]}\n"
                       "    next: END\n");
    desk_graph("json", "start: a\nnodes:\n"
                       "  a:\n    type: gmi\n    prompt: json\n"
                       "    max_tokens: 9\n"
                       "    output_schema: {type: object, "
                       "additionalProperties: {type: string}}\n"
                       "    guardrail_policy: {output: [mails]}\n"
                       "    next: END\n");
    child_run("$MORTISE run many.yaml --id m");
    desk_code(1);
    desk_out(
        "max_internal_iterations is reached, but the model has not finished");
    desk_ok("$MORTISE show m --json");
    desk_not_out("a@b.example");
    child_run("$MORTISE run json.yaml --id j");
    desk_code(1);
    desk_out("the reply is not the requested JSON");
    desk_ok("$MORTISE show j --json");
    desk_not_out("a@b.example");
    desk_not_out("5550100");
    desk_graph("broken", "start: a\nnodes:\n"
                         "  a:\n    type: gmi\n    prompt: broken\n"
                         "    max_tokens: 9\n"
                         "    guardrail_policy: {output: [mails]}\n"
                         "    on_error: {value: error.message}\n"
                         "    next: END\n");
    child_run("$MORTISE run broken.yaml --id b");
    desk_not_out("a@b.example");
    desk_ok("$MORTISE show b --json | grep -v '\"content\"'");
    desk_out("because no guardrail has checked it");
    desk_graph(
        "talk",
        "start: a\nnodes:\n"
        "  a:\n    type: gmi\n    prompt: first\n"
        "    max_tokens: 9\n    conversation: talk\n"
        "    guardrail_policy: {output: [mails], on_violation: "
        "sanitize}\n"
        "    next: b\n"
        "  b:\n    type: gmi\n    prompt: show\n    llm: {provider_id: shows}\n"
        "    max_tokens: 9\n    conversation: talk\n"
        "    next: END\n");
    desk_ok("$MORTISE run talk.yaml --id t");
    desk_ok("$MORTISE show t --json");
    desk_out("Ask [email].\\\"}]}");
    desk_not_out("a@b.example");
    desk_ok("$MORTISE show t --transcript");
    desk_not_out("a@b.example");
    desk_out("  says     a                    default\n    Ask [email].\n");
    desk_graph(
        "way",
        "start: a\nnodes:\n"
        "  a:\n    type: gmi\n    prompt: a way\n    max_tokens: 9\n"
        "    conversation: talk\n    tool_allowlist: [tried/echo]\n"
        "    guardrail_policy: {output: [mails]}\n    next: b\n"
        "  b:\n    type: gmi\n    prompt: show\n    llm: {provider_id: shows}\n"
        "    max_tokens: 9\n    conversation: talk\n    next: END\n");
    desk_ok("$MORTISE run way.yaml --id w");
    desk_ok("$MORTISE show w --json");
    desk_out("tried__echo");
    desk_out("It is done.");
    desk_not_out("a@b.example");
}
END_TEST

/* A transcript says where a reply was held back: of one that was blocked, and whose
 * node has another value, and of one with more behind it. */
START_TEST(what_is_held_is_marked)
{
    desk_deploy(TWO "models:\n"
                    "  default:\n"
                    "    provider: scripted\n"
                    "    model: m\n"
                    "    replies:\n"
                    "      - when: {user: first, turn: 0}\n"
                    "        text: I shall ask a@b.example.\n"
                    "        tool_calls: [{name: tried__echo, arguments: "
                    "{value: 1}}]\n"
                    "      - {text: Ask a@b.example.}\n");
    desk_graph("g", "start: a\nnodes:\n"
                    "  a:\n    type: gmi\n    prompt: first\n"
                    "    execution_mode: react_bounded\n"
                    "    tool_allowlist: [tried/echo]\n"
                    "    guardrail_policy: {output: [mails], on_violation: "
                    "sanitize}\n"
                    "    next: b\n"
                    "  b:\n    type: gmi\n    prompt: second\n"
                    "    guardrail_policy: {output: [mails]}\n"
                    "    on_error: {value: \"'none'\"}\n"
                    "    next: END\n");
    desk_ok("$MORTISE run g.yaml --id r");
    desk_ok("$MORTISE show r --transcript");
    desk_out("  says     a                    default\n    (withheld: "
             "guardrails check it)\n  calls    a ");
    desk_out("  says     a                    default\n    Ask [email].\n");
    desk_out("  says     b                    default\n    (withheld: "
             "guardrails check it)\n");
    desk_not_out("a@b.example");
    desk_not_out("    none\n");
}
END_TEST

#define ONE(rest) "start: a\nnodes:\n  a:\n" rest "    next: END\n"

/* Nor from within a graph of a node that is guarded: not in the words of those
 * who are told (agent, exec), nor in those of others, nor in the core's own. */
START_TEST(nothing_comes_out_of_a_graph)
{
    static const struct {
        const char *inner, *why, *word;
    } ways[] = {
        {ONE("    type: gmi\n    prompt: a number\n"
             "    max_internal_iterations: 1\n    max_tokens: 9\n"
             "    tool_allowlist: [tried/echo]\n"),
         "max_internal_iterations is reached, but the model has not finished",
         "a@b.example"},
        {ONE("    type: gmi\n    prompt: json\n    max_tokens: 9\n"
             "    output_schema: {type: object, additionalProperties: {type: "
             "string}}\n"),
         "the reply is not the requested JSON", "a@b.example"},
        {ONE("    type: tool\n    tool: exec/look\n"
             "    args: {program: sh, args: [-c, \"echo a@b.example >&2; exit "
             "3\"]}\n"),
         "the program exited with 3", "with 3: a@b"},
        {ONE("    type: tool\n    tool: tried/echo\n"
             "    args: {value: {'a@b.example': 1}}\n"
             "    output_schema: {additionalProperties: false}\n"),
         "does not match its schema", "a@b.example"},
        {ONE("    type: tool\n    tool: tried/fail\n    args: {code: told}\n"),
         "told to fail", "s: told"},
        /* a plugin's error has no code of the engine's */
        {ONE("    type: tool\n    tool: tried/fail\n    args: {code: "
             "guardrail}\n"),
         "guardrail: told to fail", "s: guardrail"},
        {ONE("    type: tool\n    tool: tried/fail\n    args: {code: "
             "rejected}\n"),
         "rejected: told to fail", "s: rejected"},
    };

    desk_deploy(TWO
                "programs:\n  sh: {path: /bin/sh, reads: true}\n"
                "models:\n  default:\n    provider: scripted\n    model: m\n"
                "    replies:\n"
                "      - when: {user: number, turn: 0}\n"
                "        text: Ask a@b.example.\n"
                "        tool_calls: [{name: tried__echo, arguments: {value: "
                "1}}]\n"
                "      - {when: {user: json}, json: {'a@b.example': 1}}\n");
    desk_graph("inner", ways[_i].inner);
    desk_graph("g", "start: s\nnodes:\n  s: {type: subgraph, graph: "
                    "inner.yaml, guardrail_policy: {output: [mails]}, next: "
                    "END}\n");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(1);
    desk_out("it failed; its error message is not shown, because no guardrail "
             "has checked it");
    desk_not_out(ways[_i].word);
    desk_ok("$MORTISE events r --json");
    desk_out(ways[_i].why);
    desk_not_out(ways[_i].word);
}
END_TEST

/* Events of a node whose output is judged have nothing of a reply but that it
 * came: not the arguments of calls, which may be the output, nor the names that it
 * made up, nor what is said to it of its mistakes. */
START_TEST(events_have_nothing_of_a_reply)
{
    static const char *const more[] = {
        "execution_mode: single_turn\n    prompt: call",
        "prompt: wrong\n    execution_mode: react_bounded\n"
        "    output_schema: {type: object, additionalProperties: {type: "
        "string}}",
        "prompt: name"};
    char graph[1024];

    desk_deploy(TWO
                "models:\n  default:\n    provider: scripted\n    model: m\n"
                "    replies:\n"
                "      - when: {user: call}\n"
                "        tool_calls: [{name: tried__echo, arguments: {value: "
                "a@b.example}}]\n"
                "      - {when: {user: wrong, turn: 0}, json: {'a@b.example': "
                "1}}\n"
                "      - {when: {user: wrong}, json: {a: b}}\n"
                "      - when: {user: name, turn: 0}\n"
                "        tool_calls: [{name: 'a@b.example', arguments: {}}]\n"
                "      - {text: done}\n");
    snprintf(graph, sizeof graph,
             "start: a\nnodes:\n  a:\n    type: gmi\n    %s\n"
             "    max_tokens: 9\n    tool_allowlist: [tried/echo, tried/nap]\n"
             "    guardrail_policy: {output: [mails], on_violation: sanitize}\n"
             "    next: END\n",
             more[_i]);
    desk_graph("g", graph);
    child_run("$MORTISE run g.yaml --id r");
    desk_out("model_reply a");
    desk_out("\"held\":true");
    desk_not_out("a@b.example");
}
END_TEST

/* An edge's guardrails see what passes, with the rules of their id, and lead
 * around what they protect; pictures and records say so. */
START_TEST(a_policy_guards_an_edge)
{
    desk_deploy(TWO);
    desk_graph("g",
               "start: a\nnodes:\n"
               "  a:\n"
               "    type: tool\n"
               "    tool: tried/echo\n"
               "    args: {value: \"${input.text}\"}\n"
               "  b: {type: tool, tool: tried/echo, args: {value: 1}}\n"
               "  c: {type: tool, tool: tried/echo, args: {value: 2}}\n"
               "edges:\n"
               "  - {from: a, to: b, guardrail_policy: {input: [mails],\n"
               "     on_violation: reroute, reroute_target: c}}\n"
               "  - {from: a, to: END, guardrail_policy: {input: [hosts],\n"
               "     on_violation: sanitize}}\n");
    desk_ok("$MORTISE run g.yaml --id r --input "
            "'{\"text\": \"a@b.example 10.0.0.1\"}'");
    desk_ok("$MORTISE show r --json");
    desk_out("a@b.example [ipv4]");
    desk_out("\"to\": \"b\"");
    desk_out("\"stage\": \"edge\"");
    desk_out("\"c\": 2");
    desk_not_out("\"b\": 1");
    desk_ok("$MORTISE graph show g.yaml");
    desk_out("on violation, instead of b");
}
END_TEST

/* ---- guardrails that ask --------------------------------------------------- */

/* `judges` looks at the arguments of `a`; what it says is a warning. */
static void judged(const char *method, const char *body, const char *more)
{
    char yaml[1024];

    add("judges");
    desk_deploy("");
    snprintf(yaml, sizeof yaml,
             "start: a\nnodes:\n"
             "  a:\n"
             "    type: tool\n"
             "    tool: tried/echo\n"
             "    args: {value: {method: %s, body: %s}}\n"
             "    guardrail_policy: {input: [judges], on_violation: warn}\n"
             "%s"
             "    next: END\n",
             method, body, more);
    desk_graph("g", yaml);
    desk_graph("put", "start: a\nnodes:\n  a: {type: tool, tool: judges/put, "
                      "args: {key: k, value: 7}, next: END}\n");
}

/* It may look at what its plugin keeps, and ends when it has heard. */
START_TEST(a_guardrail_may_ask)
{
    judged("kv.get/1", "{key: k}", "");
    desk_ok("$MORTISE run g.yaml --id r && $MORTISE show r --json");
    desk_out("\"reason\": \"0 {\\\"found\\\":false}\"");
    desk_ok("$MORTISE run put.yaml && $MORTISE run g.yaml --id s && "
            "$MORTISE show s --json");
    desk_out("\\\"value\\\":7");
}
END_TEST

static const struct {
    const char *method, *body, *words;
} denied[] = {
    {"kv.put/1", "{key: k, value: 1}", "-4 a guardrail cannot have effects"},
    {"http.request/1", "{method: POST, url: \"http://127.0.0.1:9/\"}",
     "-4 a guardrail cannot have effects"},
    {"timer.wait/1", "{for_ms: 1000}", "-8 a guardrail cannot wait"},
    {"interrupt.request/1", "{prompt: well?}", "-8 a guardrail cannot wait"},
};

/* What changes the world or waits is refused, and it goes on to its verdict. */
START_TEST(a_guardrail_may_not_act)
{
    judged(denied[_i].method, denied[_i].body, "");
    desk_ok("$MORTISE run g.yaml --id r && $MORTISE show r --json");
    desk_out(denied[_i].words);
    desk_ok("$MORTISE run put.yaml && $MORTISE history r");
    desk_not_out("interrupt");
}
END_TEST

/* One that never ends is cancelled, by the node's timeout or for being idle,
 * and did not pass; one that does not even let go then takes its node along. */
START_TEST(a_guardrail_that_never_ends)
{
    static const char *const words[] = {
        "no answer in time", "no activity for 1000 ms", "timeout.unresponsive"};

    judged("kv.get/1", "{key: k}", _i == 1 ? "" : "    timeout: 300ms\n");
    desk_put("never", "");
    if (_i == 2)
        desk_put("deaf", "");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(_i == 2 ? 1 : 0);
    desk_ok("$MORTISE show r --json");
    desk_out(words[_i]);
}
END_TEST

/* Killed while a check waits: it is made again, and told what it was told
 * before, whatever has changed since. */
START_TEST(a_check_that_was_killed)
{
    pid_t pid;

    judged("kv.get/1", "{key: k}", "");
    desk_put("never", "");
    pid = child_start("run", "$MORTISE run g.yaml --id r");
    child_await("entered", "answered");
    desk_ok("sleep 0.2");
    child_kill(pid);
    desk_ok("rm never entered && $MORTISE run put.yaml && $MORTISE resume r && "
            "$MORTISE show r --json");
    desk_out("\"reason\": \"0 {\\\"found\\\":false}\"");
    desk_ok("cat entered && $MORTISE history r --json");
    desk_out("check\nanswered\n");
    desk_out("\"check\":true");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_guards");
    TCase *tc = tcase_create("cli_guards");

    tcase_set_timeout(tc, 60);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_test(tc, an_id_has_rules_of_its_own);
    tcase_add_test(tc, ids_lead_to_guardrails);
    tcase_add_test(tc, configs_are_checked);
    tcase_add_test(tc, a_schema_of_a_config_is_checked);
    tcase_add_test(tc, an_alias_of_a_config_is_checked);
    tcase_add_test(tc, an_alias_that_no_config_names);
    tcase_add_test(tc, a_schema_decides);
    tcase_add_test(tc, a_model_judges);
    tcase_add_test(tc, destinations_are_checked);
    tcase_add_test(tc, addresses_of_servers_are_urls);
    tcase_add_test(tc, what_is_not_resolved_may_be_right);
    tcase_add_test(tc, what_is_not_there_is_told);
    tcase_add_test(tc, pins_of_nothing_are_told);
    tcase_add_test(tc, permissions_of_nothing_are_told);
    tcase_add_test(tc, names_of_no_plugin_are_odd);
    tcase_add_test(tc, a_run_keeps_what_is_behind_an_id);
    tcase_add_test(tc, a_policy_guards_a_node);
    tcase_add_test(tc, what_is_held_is_marked);
    tcase_add_test(tc, nothing_comes_by_another_way);
    tcase_add_loop_test(tc, nothing_comes_out_of_a_graph, 0, 7);
    tcase_add_loop_test(tc, events_have_nothing_of_a_reply, 0, 3);
    tcase_add_test(tc, a_policy_guards_an_edge);
    tcase_add_test(tc, a_guardrail_may_ask);
    tcase_add_loop_test(tc, a_guardrail_may_not_act, 0, 4);
    tcase_add_loop_test(tc, a_guardrail_that_never_ends, 0, 3);
    tcase_add_test(tc, a_check_that_was_killed);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
