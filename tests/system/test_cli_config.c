/* test_cli_config.c -- `mortise config print`: what holds, and who said so. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json/value.h"
#include "lib/desk.h"

#define HEAD "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: d}\n"

/* A deployment with something of everything. */
static void put_all(void)
{
    desk_put("sub.yaml", HEAD
             "store: {path: '${env:T_STORE:-./state}'}\n"
             "trust: {dir: trust.d}\n"
             "plugins:\n"
             "  path: [./plugins]\n"
             "  config:\n"
             "    http: {url: 'http://u:pa55@h/x', key: '${env:T_KEY}',\n"
             "           file: '${file:key.txt}', x-own: 1, lit: '$${x}',\n"
             "           n: 1.5, none: ~, dflt: '${env:T_NO:-fall}'}\n"
             "guardrails:\n"
             "  own: {plugin: nobody, config: {key: s3cr3t, x-own: s3cr3t}}\n"
             "x-mine: private\n");
    desk_put("key.txt", "s3cr3t-file\n");
    setenv("T_KEY", "s3cr3t-env", 1);
    unsetenv("T_STORE");
    unsetenv("T_NO");
}

static json_t *printed(const char *options)
{
    json_t *v = NULL;

    desk_ok("$MORTISE config print --json %s", options);
    ck_assert_int_eq(mortise_json_parse(&v, child.out, strlen(child.out), NULL),
                     MORTISE_OK);
    return v;
}

static const char *value_at(const json_t *v, const char *a, const char *b,
                            const char *c, const char *d)
{
    const char *keys[] = {"value", a, b, c, d};

    for (size_t i = 0; i < 5; i++)
        v = keys[i] != NULL ? json_object_get(v, keys[i]) : v;
    ck_assert(json_is_string(v));
    return json_string_value(v);
}

static const json_t *origin(const json_t *v, const char *pointer)
{
    const json_t *o = json_object_get(json_object_get(v, "origins"), pointer);

    ck_assert_msg(o != NULL, "no origin of %s in %s", pointer, child.out);
    return o;
}

static void in_desk(const char *got, const char *want)
{
    char full[4400];

    snprintf(full, sizeof full, "%s/%s", desk_dir, want);
    ck_assert_str_eq(got, full);
}

/* Each line names the place that says it, with what came from outside. */
START_TEST(each_value_has_its_origin)
{
    put_all();
    desk_ok("$MORTISE config print --deployment sub.yaml");
    desk_out("# sub.yaml, --deployment\n");
    desk_out("  name: d  # sub.yaml:3:18\n");
    desk_out("  path: \"${env:T_STORE:-./state}\"  # sub.yaml:4:15, "
             "environment T_STORE (unset: the default)\n");
    desk_out("    - ./plugins  # sub.yaml:7:10\n");
    desk_out("      key: \"${env:T_KEY}\"  # sub.yaml:9:43, environment "
             "T_KEY\n");
    desk_out("      file: \"${file:key.txt}\"  # sub.yaml:10:18, file "
             "key.txt\n");
    desk_out("      x-own: 1  #");
    desk_not_out("private");
}
END_TEST

/* Without a file there is what is built in, and a --store says so; whoever
 * reads it somewhere else reads the same. */
START_TEST(without_a_file_and_by_option)
{
    json_t *v;

    desk_ok("rm -f mortise.yaml");
    desk_ok("$MORTISE config print");
    desk_out("# no deployment: built-in defaults\n");
    desk_out("/.mortise  # default\n");
    desk_out("finished: \"30d\"  # default\n");
    v = printed("--store other");
    in_desk(value_at(v, "store", "path", NULL, NULL), "other");
    ck_assert_str_eq(
        json_string_value(json_object_get(origin(v, "/store/path"), "from")),
        "--store");
    ck_assert(json_is_null(json_object_get(v, "deployment")));
    json_decref(v);
    desk_put("mortise.yaml", HEAD "store: {path: a}\n");
    desk_ok("MORTISE_DEPLOYMENT=mortise.yaml $MORTISE config print");
    desk_out("# mortise.yaml, MORTISE_DEPLOYMENT\n");
    desk_ok("$MORTISE config print --store \"$PWD/b\"");
    desk_out("# mortise.yaml, found in this directory\n");
    desk_out("/b  # --store\n");
    desk_not_out("path: a");
}
END_TEST

/* --resolved says what the variables and files hold, once, and whole paths. */
START_TEST(resolved_is_what_holds)
{
    json_t *v;

    put_all();
    v = printed("--resolved --deployment sub.yaml");
    in_desk(value_at(v, "store", "path", NULL, NULL), "state");
    in_desk(value_at(v, "trust", "dir", NULL, NULL), "trust.d");
    ck_assert_str_eq(value_at(v, "plugins", "config", "http", "key"),
                     "s3cr3t-env");
    ck_assert_str_eq(value_at(v, "plugins", "config", "http", "file"),
                     "s3cr3t-file");
    ck_assert_str_eq(value_at(v, "plugins", "config", "http", "lit"), "${x}");
    json_decref(v);
    setenv("T_STORE", "/over/there", 1);
    v = printed("--resolved --deployment sub.yaml");
    ck_assert_str_eq(value_at(v, "store", "path", NULL, NULL), "/over/there");
    ck_assert_ptr_null(json_object_get(origin(v, "/store/path"), "by_default"));
    json_decref(v);
}
END_TEST

static void nothing_secret(void)
{
    desk_not_out("s3cr3t");
    desk_not_out("pa55");
    ck_assert_ptr_null(strstr(child.err, "s3cr3t"));
}

/* --redacted keeps back what came from outside and passwords in URLs; paths
 * and defaults are no secrets. */
START_TEST(redacted_keeps_secrets_back)
{
    json_t *v;

    put_all();
    setenv("T_STORE", "/over/there", 1);
    desk_ok("$MORTISE config print --redacted --deployment sub.yaml");
    nothing_secret();
    desk_ok("$MORTISE config print --resolved --redacted --deployment "
            "sub.yaml");
    nothing_secret();
    desk_out("url: \"http://[redacted]@h/x\"");
    desk_out("path: /over/there");
    desk_out("dflt: fall");
    v = printed("--resolved --redacted --deployment sub.yaml");
    nothing_secret();
    ck_assert_str_eq(value_at(v, "plugins", "config", "http", "key"),
                     "${env:T_KEY}");
    ck_assert(json_is_true(
        json_object_get(origin(v, "/plugins/config/http/key"), "redacted")));
    json_decref(v);
}
END_TEST

/* Config of a plugin that is not installed might be secret, and that of one
 * that is there is as its schema says; references stand as they are and are
 * never resolved. */
START_TEST(redacted_asks_the_plugins)
{
    desk_put("sub.yaml", HEAD
             "plugins: {config: {gone: {a: hidden-a, b: [hidden-b, 7]},\n"
             "  file: {roots: [./seen]}, http: {secrets: [api]}}}\n"
             "secrets: {api: {exec: [touch, was-run]}, f: {file: ./key.txt}}\n"
             "x-a: b\n");
    desk_ok("$MORTISE config print --resolved --redacted --deployment "
            "sub.yaml");
    desk_not_out("hidden");
    desk_out("./seen");
    desk_out("- touch");
    desk_out("/key.txt  #");
    desk_ok("$MORTISE config print --resolved --deployment sub.yaml");
    desk_out("hidden-a");
    desk_ok("test ! -e was-run");
}
END_TEST

/* What servers are given may be secret, and is kept back; what they are is told
 * as it is from here. */
START_TEST(redacted_knows_servers)
{
    desk_ok("mkdir -p in");
    desk_put("in/d.yaml",
             HEAD "secrets: {k: {env: K}}\n"
                  "programs: {p: {path: ./p, read: [./r]}}\n"
                  "tools: {mcp: {near: {command: [./x, ./y], env: {A: hidden-a,"
                  " B: secret://k}, sandbox: {fs: {read: [./z]}}},\n"
                  "  far: {url: \"https://a.example\", headers: {C: hidden-b}},"
                  "\n  plain: {command: [node], dir: /}}}\n");
    desk_ok("$MORTISE config print --resolved --redacted --deployment "
            "in/d.yaml");
    desk_not_out("hidden");
    desk_out("B: secret://k");
    desk_out("- ./y");
    desk_out("/in/./x");
    desk_out("/in/./z");
    desk_out("/in/./p");
    desk_out("/in/./r");
    desk_out("dir: /");
    desk_ok("$MORTISE config print --resolved --deployment in/d.yaml >e.yaml "
            "&& $MORTISE config print --resolved --deployment e.yaml --json");
    desk_out("hidden-a");
    desk_out("/in/.\"");
}
END_TEST

/* What is printed as text loads again, and says the same. */
START_TEST(text_loads_again)
{
    static const char *const how[] = {"", "--resolved"};

    put_all();
    for (size_t i = 0; i < 2; i++) {
        json_t *first = printed("--resolved --deployment sub.yaml"), *again;

        desk_ok("$MORTISE config print %s --deployment sub.yaml >again.yaml",
                how[i]);
        again = printed("--resolved --deployment again.yaml");
        ck_assert_msg(json_equal(json_object_get(first, "value"),
                                 json_object_get(again, "value")),
                      "%s", child.out);
        json_decref(first);
        json_decref(again);
    }
}
END_TEST

/* The commented deployment runs as it stands. */
START_TEST(the_commented_file_runs)
{
    char source[4096];

    ck_assert_ptr_nonnull(realpath("configs/mortise.yaml", source));
    desk_ok("cp '%s' every.yaml", source);
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: text/lines, args: {text: hi}, "
                    "next: b}\n"
                    "  b: {type: tool, tool: http/request, args: {url: "
                    "\"https://api.example.com\", headers: {Authorization: "
                    "\"Bearer secret://shop\"}}, next: END}\n");
    desk_ok("$MORTISE check every.yaml");
    child_run("$MORTISE run g.yaml --deployment every.yaml");
    desk_code(4); /* it is asked for */
    desk_ok("test -d state");
}
END_TEST

/* A deployment that does not load is not printed: its findings are. */
START_TEST(broken_files_are_findings)
{
    desk_put("bad.yaml", HEAD "store: {pth: a}\n");
    child_run("$MORTISE config print --deployment bad.yaml");
    desk_code(2);
    desk_err("bad.yaml:4:9: error[E0201]");
    ck_assert_str_eq(child.out, "");
    child_run("$MORTISE config print --deployment none.yaml");
    desk_code(3);
    child_run("$MORTISE config print --format xml");
    desk_code(3);
}
END_TEST

/* ---- import ----------------------------------------------------------------
 */

/* A list of servers becomes a file, which never replaces one; what needs a hand
 * is said by the exit code, without a word of what is secret. */
START_TEST(servers_are_imported)
{
    desk_put("list.json", "{\"mcpServers\": {\"a\": {\"command\": \"x\", "
                          "\"env\": {\"A_TOKEN\": \"hidden\"}}}}");
    desk_ok("$MORTISE config import list.json");
    desk_out("A_TOKEN: secret://a-token\n");
    desk_not_out("hidden");
    desk_ok("$MORTISE config import list.json -o new.yaml");
    ck_assert_str_eq(child.out, "");
    desk_ok("grep -q 'env: A_TOKEN  #' new.yaml");
    desk_ok("$MORTISE config import list.json -o new.yaml"); /* the same */
    desk_ok("echo '# mine' >>new.yaml");
    child_run("$MORTISE config import list.json -o new.yaml");
    desk_code(3);
    desk_err("new.yaml already exists");
    child_run("sed 's/\"x\"/\"npx\"/' list.json | $MORTISE config import - "
              ">npx.yaml");
    desk_code(2);
    desk_err("-:1:34: warning[W1003]: server 'a'");
    desk_err("none of these servers can be imported");
    desk_ok(
        "mkdir -p node_modules/@a/b/dist && echo '{\"name\": \"@a/b\", "
        "\"bin\": {\"c\": \"./no.js\", \"b\": \"dist/i.js\"}}' "
        ">node_modules/@a/b/package.json && : >node_modules/@a/b/dist/i.js");
    desk_put("npx.json", "{\"mcpServers\": {\"a\": {\"command\": \"npx\", "
                         "\"args\": [\"-y\", \"@a/b@1.2\", \"more\"]}, "
                         "\"e\": {\"command\": \"npx\", \"args\": "
                         "[\"-y\", \"../x\"]}}}");
    child_run("$MORTISE config import npx.json");
    desk_code(2);
    desk_err("server 'e' is not imported: npx downloads its program");
    desk_err("npm install PACKAGE");
    desk_out("      command:\n        - node\n"
             "        - ./node_modules/@a/b/dist/i.js\n        - more\n");
    desk_out("            - ./node_modules  #");
    child_run("echo '{' | $MORTISE config import -");
    desk_code(2);
    desk_err("error[E0106]");
}
END_TEST

/* A deployment that was found, and that nobody allowed, gets neither a variable
 * nor a file: nothing runs, and who looks sees what is written there. */
START_TEST(a_found_deployment_resolves_nothing)
{
    static const char *const looks[] = {"check g.yaml", "mcp list",
                                        "config print --resolved", "doctor",
                                        "graph show g.yaml"};

    desk_put("mortise.yaml",
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: d}\n"
             "store: {path: ./store}\n"
             "plugins: {config: {file: {roots: [\"${env:FOUND_DIR}\"]}}}\n"
             "models: {default: {provider: openai, model: \"${env:FOUND}\", "
             "base_url: \"http://127.0.0.1:9/v1\"}}\n"
             "tools: {mcp: {a: {url: \"http://127.0.0.1:9/mcp\", headers: "
             "{X-A: \"${env:FOUND}\"}}}}\n");
    desk_graph("g", "start: a\nnodes:\n  a: {type: tool, tool: file/write, "
                    "args: {path: rc, content: text}, next: END}\n");
    setenv("FOUND", "a value of the environment", 1);
    setenv("FOUND_DIR", desk_dir, 1);
    child_allows(false);
    child_run("$MORTISE run g.yaml");
    desk_code(77);
    desk_err("tools.mcp (line 7), plugins.config (line 5), models (line 6)");
    child_run("$MORTISE mcp list a");
    desk_code(77);
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
        child_run("$MORTISE %s", looks[i]);
        ck_assert_msg(child.code == 0 || strcmp(looks[i], "doctor") == 0,
                      "%s: %s", looks[i], child.err);
        ck_assert_ptr_null(strstr(child.out, "a value of the"));
        ck_assert_ptr_null(strstr(child.err, "a value of the"));
    }
    desk_ok("test ! -e rc && test ! -e store");
    child_allows(true);
    desk_ok("$MORTISE run g.yaml && cat rc");
    desk_out("text");
    unsetenv("FOUND");
    unsetenv("FOUND_DIR");
}
END_TEST

/* Without FILE, `config allow` names its list, and the command that allows one. */
START_TEST(a_list_of_what_is_allowed)
{
    child_allows(false);
    desk_ok("mkdir -p away home && cd away && XDG_STATE_HOME=$PWD/../home "
            "$MORTISE config allow");
    desk_err("no deployment is allowed; to allow one, name its file: mortise "
             "config allow FILE\n");
    desk_ok("XDG_STATE_HOME=$PWD/home $MORTISE config allow");
    desk_err("name its file: mortise config allow mortise.yaml\n");
    desk_ok("export XDG_STATE_HOME=$PWD/home; $MORTISE config allow "
            "mortise.yaml && $MORTISE config allow");
    desk_err("these deployments are allowed; to allow another, name its file: ");
    desk_out("/mortise.yaml\n");
    child_allows(true);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_config");
    TCase *tc = tcase_create("cli_config");

    tcase_set_timeout(tc, 60);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_test(tc, each_value_has_its_origin);
    tcase_add_test(tc, without_a_file_and_by_option);
    tcase_add_test(tc, resolved_is_what_holds);
    tcase_add_test(tc, redacted_keeps_secrets_back);
    tcase_add_test(tc, redacted_asks_the_plugins);
    tcase_add_test(tc, redacted_knows_servers);
    tcase_add_test(tc, text_loads_again);
    tcase_add_test(tc, the_commented_file_runs);
    tcase_add_test(tc, broken_files_are_findings);
    tcase_add_test(tc, servers_are_imported);
    tcase_add_test(tc, a_found_deployment_resolves_nothing);
    tcase_add_test(tc, a_list_of_what_is_allowed);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
