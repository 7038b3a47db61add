/* test_secrets.c -- secrets: where they come from, who gets them, and that
 * nobody else does. */
#include <check.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "core/engine/common/engine.h"
#include "core/engine/common/secret_store.h"
#include "core/json/value.h"
#include "lib/child.h"
#include "lib/httpd.h"
#include "lib/shelf.h"
#include "lib/warm.h"

static struct shelf shelf;
static struct mortise_err err;
static struct mortise *m;
static struct httpd *d;
static char dir[PATH_MAX - 64], run_id[MORTISE_RUN_MAX], logged[1 << 16];

/* ---- around each test --------------------------------------------------- */

static void sign_plugins(void)
{
    shelf_init(&shelf);
    shelf_put(&shelf, "confides");
    child_dir(shelf.root);
    child_run("cp '%s'/bundled.yaml trust.d", child_build("trust.d"));
    ck_assert_int_eq(child.code, 0);
}

static void forget_plugins(void)
{
    shelf_finish(&shelf);
}

/* [any]: one thread at a time here. */
static void keep_log(void *ud, int level, const char *msg)
{
    size_t n = strlen(logged);

    (void)ud;
    (void)level;
    snprintf(logged + n, sizeof logged - n, "%s\n", msg);
}

static void put(const char *name, const char *text, mode_t mode)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    test_write(path, text, strlen(text));
    ck_assert_int_eq(chmod(path, mode), 0);
}

/* `secrets`, and the config of `confides`, in flow style. */
static int open_with(const char *secrets, const char *confides)
{
    struct mortise_options o = {.size = sizeof o};
    char text[5 * PATH_MAX], path[PATH_MAX], store[PATH_MAX];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\n"
             "kind: Deployment\n"
             "metadata: {name: test}\n"
             "plugins:\n"
             "  path: [\"%s\", \"%s\"]\n"
             "  config:\n"
             "    http: {allow: [\"%s\"], secrets: [api, other, colon]}\n"
             "    confides: %s\n"
             "trust: {dir: \"%s\"}\n"
             "secrets: %s\n",
             shelf.plugins, child_build("plugins"), httpd_url(d, ""), confides,
             shelf.trust, secrets);
    put("mortise.yaml", text, 0600);
    snprintf(path, sizeof path, "%s/mortise.yaml", dir);
    snprintf(store, sizeof store, "%s/store", dir);
    o.deployment = path;
    o.store = store;
    o.mem = &test_mem;
    o.log = keep_log;
    return mortise_open(&m, &o, &err);
}

static void open_engine(const char *secrets, const char *confides)
{
    ck_assert_msg(open_with(secrets, confides) == MORTISE_OK, "%s", err.msg);
    m->quiesce_ms = 300;
}

static void setup(void)
{
    warm_libuv();
    snprintf(dir, sizeof dir, "%s", test_mkdir());
    logged[0] = '\0';
    d = httpd_start();
}

static void teardown(void)
{
    mortise_close(m);
    m = NULL;
    httpd_stop(d);
    test_rmdir(dir);
    ck_assert_uint_eq(test_mem_blocks(), 0);
}

/* ---- runs --------------------------------------------------------------- */

static int load(struct mortise_graph **g, char **report, const char *node)
{
    char text[8192], path[PATH_MAX];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: g, version: 1.0.0}\n"
             "start: a\nnodes:\n  a: {type: tool, %s}\n",
             node);
    put("g.yaml", text, 0600);
    snprintf(path, sizeof path, "%s/g.yaml", dir);
    return mortise_load(m, path, g, report, &err);
}

/* Run a graph of one node; what show says. */
static json_t *run(const char *input, const char *fmt, ...)
    MORTISE_PRINTF(2, 3);

static json_t *run(const char *input, const char *fmt, ...)
{
    struct mortise_start_options s = {.size = sizeof s, .input = input};
    struct mortise_graph *g;
    char node[4096], *text = NULL;
    json_t *show;
    int status;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(node, sizeof node, fmt, ap);
    va_end(ap);
    ck_assert_msg(load(&g, &text, node) == MORTISE_OK, "%s", text);
    mortise_free(m, text);
    ck_assert_msg(mortise_start(m, g, &s, run_id, &err) == MORTISE_OK, "%s",
                  err.msg);
    mortise_graph_close(g);
    ck_assert_int_eq(mortise_wait(m, NULL, run_id, &status, &err), MORTISE_OK);
    ck_assert_int_eq(mortise_show(m, NULL, run_id, &text, &err), MORTISE_OK);
    ck_assert_int_eq(
        mortise_json_parse_written(&show, text, strlen(text), &err),
        MORTISE_OK);
    mortise_free(m, text);
    return show;
}

/* Takes `show`. */
static void completed(json_t *show)
{
    char *text = json_dumps(show, 0);

    ck_assert_msg(strcmp(json_string_value(json_object_get(show, "status")),
                         "completed") == 0,
                  "%s", text);
    free(text);
    json_decref(show);
}

static void failed(json_t *show, const char *code, const char *words)
{
    json_t *error = json_object_get(show, "error");
    const char *msg = json_string_value(json_object_get(error, "message"));

    ck_assert_ptr_nonnull(msg);
    ck_assert_str_eq(json_string_value(json_object_get(error, "code")), code);
    ck_assert_msg(strstr(msg, words) != NULL, "%s", msg);
    json_decref(show);
}

/* No file below the store, no event and no line of the log has it. */
static void nowhere(const char *value)
{
    mortise_close(m);
    m = NULL;
    child_dir(dir);
    child_run("grep -rl '%s' store", value);
    ck_assert_msg(child.code == 1, "in: %s", child.out);
    ck_assert_msg(strstr(logged, value) == NULL, "%s", logged);
}

static bool asked(size_t i, const char *text)
{
    return strstr(httpd_request(d, i), text) != NULL;
}

/* ---- headers of requests ------------------------------------------------- */

/* A reference in a header becomes its value on the way out, from every kind of
 * provider, and nothing that is stored or said has it.
 * key: deployment.secrets, secret.env, secret.file */
START_TEST(headers_carry_secrets)
{
    json_t *show;

    setenv("T_TOKEN", "value-of-env", 1);
    put("token", "value-of-file\n", 0600);
    open_engine("{api: {env: T_TOKEN}, other: {file: ./token}}", "{}");
    httpd_answer(d, "/x", "200 OK", "", "fine");
    show = run("{}",
               "tool: http/request, args: {url: \"%s\", headers: "
               "{Authorization: \"Bearer secret://api\", X-K: "
               "\"secret://other\", X-P: plain}}",
               httpd_url(d, "/x"));
    completed(show);
    ck_assert(asked(0, "Authorization: Bearer value-of-env\r\n"));
    ck_assert(asked(0, "X-K: value-of-file\r\n"));
    ck_assert(asked(0, "X-P: plain\r\n"));
    nowhere("value-of-env");
    nowhere("value-of-file");
    child_run("grep -rlq 'secret://api' store");
    ck_assert_int_eq(child.code, 0);
}
END_TEST

static const struct {
    const char *auth, *line;
} auths[] = {
    {"{bearer: \"secret://api\"}", "Authorization: Bearer value-of-env\r\n"},
    {"{bearer: \"text\"}", "Authorization: Bearer text\r\n"},
    /* ann:value-of-env, value-of-env: and value-of-env:value-of-file */
    {"{basic: {user: ann, password: \"secret://api\"}}",
     "Authorization: Basic YW5uOnZhbHVlLW9mLWVudg==\r\n"},
    {"{basic: {user: \"secret://api\", password: \"\"}}",
     "Authorization: Basic dmFsdWUtb2YtZW52Og==\r\n"},
    {"{basic: {user: \"secret://api\", password: \"secret://other\"}}",
     "Authorization: Basic dmFsdWUtb2YtZW52OnZhbHVlLW9mLWZpbGU=\r\n"},
};

/* `auth` becomes the header Authorization on the way out, and nothing that is
 * stored or said has it, also not as it was sent, and sent back. */
START_TEST(auth_carries_secrets)
{
    json_t *show;
    char back[256];

    setenv("T_TOKEN", "value-of-env", 1);
    put("token", "value-of-file\n", 0600);
    open_engine("{api: {env: T_TOKEN}, other: {file: ./token}}", "{}");
    snprintf(back, sizeof back, "X-Back: %s", auths[_i].line);
    httpd_answer(d, "/x", "200 OK", back, auths[_i].line);
    show = run("{}", "tool: http/request, args: {url: \"%s\", auth: %s}",
               httpd_url(d, "/x"), auths[_i].auth);
    completed(show);
    ck_assert_msg(asked(0, auths[_i].line), "%s", httpd_request(d, 0));
    nowhere("value-of-env");
    nowhere("value-of-file");
    nowhere("YW5uOnZhbHVlLW9mLWVudg");
    nowhere("dmFsdWUtb2YtZW52O");
}
END_TEST

static const struct {
    const char *args, *code, *words;
} bad_auths[] = {
    {"headers: {authorization: x}, auth: {bearer: \"secret://api\"}", "invalid",
     "cannot be used together"},
    {"auth: {basic: {user: \"secret://colon\", password: \"\"}}",
     "http.invalid",
     "the user of `basic` contains a colon, which HTTP does not allow"},
    {"auth: {basic: {user: ann, password: open}}", "http.invalid",
     "at least one of which is a reference"},
    {"auth: {basic: {user: \"a:b\", password: \"secret://api\"}}",
     "http.invalid", "no colon"},
    {"auth: {basic: {user: ann, password: \"x secret://api\"}}", "http.invalid",
     "'basic' must be"},
};

/* What is no such thing says why, and is not sent. */
START_TEST(auth_says_why)
{
    setenv("T_TOKEN", "value-of-env", 1);
    setenv("T_COLON", "a:b", 1);
    open_engine("{api: {env: T_TOKEN}, hidden: {env: T_TOKEN}, colon: {env: "
                "T_COLON}}",
                "{}");
    failed(run("{}", "tool: http/get, args: {url: \"%s\", %s}",
               httpd_url(d, "/x"), bad_auths[_i].args),
           bad_auths[_i].code, bad_auths[_i].words);
    ck_assert_uint_eq(httpd_requests(d), 0);
}
END_TEST

/* A redirect to somewhere else does not take a secret along. */
START_TEST(redirects_lose_secrets)
{
    struct httpd *there = httpd_start();
    char location[256];

    setenv("T_TOKEN", "value-of-env", 1);
    open_engine("{api: {env: T_TOKEN}}", "{}");
    snprintf(location, sizeof location, "Location: http://localhost:%d/x\r\n",
             httpd_port(there));
    httpd_answer(d, "/x", "307 There", location, "");
    json_decref(run("{}",
                    "tool: http/get, args: {url: \"%s\", headers: "
                    "{Authorization: \"Bearer secret://api\"}}",
                    httpd_url(d, "/x")));
    ck_assert(asked(0, "Bearer value-of-env\r\n"));
    if (httpd_requests(there) > 0)
        ck_assert_ptr_null(strstr(httpd_request(there, 0), "value-of-env"));
    httpd_stop(there);
}
END_TEST

/* Text of a run's input is never a reference, wherever it ends up. */
START_TEST(inputs_choose_no_secrets)
{
    setenv("T_TOKEN", "value-of-env", 1);
    open_engine("{api: {env: T_TOKEN}}", "{}");
    httpd_answer(d, "/x", "200 OK", "", "fine");
    failed(run("{\"h\":\"Bearer secret://api\"}",
               "tool: http/get, args: {url: \"%s\", headers: {X: "
               "\"${input.h}\"}}",
               httpd_url(d, "/x")),
           "schema", "must be written in the graph, not computed");
    failed(run("{\"h\":{\"X\":\"secret://api\"}}",
               "tool: http/get, args: {url: \"%s\", headers: \"${input.h}\"}",
               httpd_url(d, "/x")),
           "schema", "must be written in the graph, not computed");
    completed(run("{\"h\":\"secret://api\"}",
                  "tool: http/request, args: {url: \"%s\", body: "
                  "\"${input.h}\"}",
                  httpd_url(d, "/x")));
    ck_assert_uint_eq(httpd_requests(d), 1);
    ck_assert(asked(0, "\r\n\r\nsecret://api"));
}
END_TEST

/* A program is asked once for all that need its secret within a minute.
 * key: secret.exec */
START_TEST(programs_are_asked_once)
{
    char secrets[PATH_MAX + 256];

    snprintf(secrets, sizeof secrets,
             "{api: {exec: [sh, -c, \"echo x >>%s/asked; sleep 0.2; echo "
             "value-of-exec\"]}}",
             dir);
    open_engine(secrets, "{}");
    httpd_answer(d, "/x", "200 OK", "", "fine");
    for (int i = 0; i < 3; i++)
        completed(run("{}",
                      "tool: http/get, args: {url: \"%s\", headers: {X: "
                      "\"secret://api\"}}",
                      httpd_url(d, "/x")));
    ck_assert(asked(2, "X: value-of-exec\r\n"));
    child_dir(dir);
    child_run("wc -l <asked");
    ck_assert_str_eq(child.out, "1\n");
    nowhere("value-of-exec");
}
END_TEST

/* Closing while a program is asked waits for it and leaves nothing. */
START_TEST(closing_while_asked)
{
    struct mortise_start_options s = {.size = sizeof s};
    struct mortise_graph *g;
    char node[512];

    open_engine("{api: {exec: [sh, -c, \"sleep 0.5; echo v\"]}}", "{}");
    snprintf(node, sizeof node,
             "tool: http/get, args: {url: \"%s\", headers: {X: "
             "\"secret://api\"}}",
             httpd_url(d, "/x"));
    ck_assert_int_eq(load(&g, NULL, node), MORTISE_OK);
    ck_assert_int_eq(mortise_start(m, g, &s, run_id, &err), MORTISE_OK);
    mortise_graph_close(g);
    for (int i = 0; i < 5; i++)
        mortise_poll(m, 20, &err);
    mortise_close(m);
    m = NULL;
    ck_assert_uint_eq(httpd_requests(d), 0);
}
END_TEST

/* ---- what is refused ----------------------------------------------------- */

static const struct {
    const char *secrets, *words;
} providers[] = {
    {"{api: {env: T_UNSET}}", "T_UNSET was not set"},
    {"{api: {env: T_EMPTY}}", "variable T_EMPTY is empty"},
    {"{api: {env: T_LATIN}}", "not UTF-8"},
    {"{api: {file: none}}", "none: No such file"},
    {"{api: {file: empty}}", "empty is empty"},
    {"{api: {file: nul}}", "nul contains a NUL"},
    {"{api: {file: large}}", "large is larger than 64 KiB"},
    {"{api: {file: .}}", "Is a directory"},
    {"{api: {exec: [\"false\"]}}", "program false ended with exit code 1"},
    {"{api: {exec: [sh, -c, \"kill -9 $$\"]}}", "ended with signal 9"},
    /* Found out as it is started; or, where a process is started as valgrind
     * does it, by how it ended. */
    {"{api: {exec: [no-such-program]}}", "no-such-program"},
    {"{api: {exec: [\"true\"]}}", "the output of program true is empty"},
    {"{api: {systemd-creds: key}}", "CREDENTIALS_DIRECTORY is not set"},
};

/* Each way in which a provider fails is said, with the secret's name and where
 * it should have come from; nothing is sent. */
START_TEST(providers_say_why)
{
    char path[PATH_MAX + 16], *large = calloc(1, 70000);

    setenv("T_EMPTY", "", 1);
    setenv("T_LATIN", "caf\xE9", 1);
    unsetenv("T_UNSET");
    unsetenv("CREDENTIALS_DIRECTORY");
    memset(large, 'x', 69999);
    put("empty", "\n", 0600);
    put("large", large, 0600);
    snprintf(path, sizeof path, "%s/nul", dir);
    test_write(path, "a\0b", 3);
    free(large);
    open_engine(providers[_i].secrets, "{}");
    failed(run("{}",
               "tool: http/get, args: {url: \"%s\", headers: {X: "
               "\"secret://api\"}}",
               httpd_url(d, "/x")),
           "http.denied", providers[_i].words);
    ck_assert_uint_eq(httpd_requests(d), 0);
}
END_TEST

/* Without a descriptor nothing is wrong with the secret's file or program. */
START_TEST(no_descriptor_is_not_the_secrets_fault)
{
    static const char *const from[] = {"{api: {file: token}}",
                                       "{api: {exec: [echo, a]}}"};
    struct rlimit was, none;
    char *value = NULL;
    int rv;

    put("token", "a token of some length\n", 0600);
    open_engine(from[_i], "{}");
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &was), 0);
    none = (struct rlimit){3, was.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    rv = mortise_secret_store_get(m->secret_store, "api", &value, &err);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &was), 0);
    ck_assert_msg(rv == MORTISE_ELIMIT && strstr(err.msg, "ulimit -n") != NULL,
                  "%d: %s", rv, err.msg);
    ck_assert_int_eq(
        mortise_secret_store_get(m->secret_store, "api", &value, &err),
        MORTISE_OK);
    mortise_secret_store_release(m->secret_store, value);
}
END_TEST

/* systemd's credentials are files of the directory that it names.
 * key: secret.systemd-creds */
START_TEST(credentials_are_read)
{
    put("cred", "value-of-cred\r\n", 0600);
    setenv("CREDENTIALS_DIRECTORY", dir, 1);
    open_engine("{api: {systemd-creds: cred}}", "{}");
    httpd_answer(d, "/x", "200 OK", "", "fine");
    completed(run("{}",
                  "tool: http/get, args: {url: \"%s\", headers: {X: "
                  "\"secret://api\"}}",
                  httpd_url(d, "/x")));
    ck_assert(asked(0, "X: value-of-cred\r\n"));
}
END_TEST

/* A file that everybody may read works, and is warned of once. */
START_TEST(open_files_are_warned_of)
{
    const char *first;

    put("token", "value-of-file", 0644);
    open_engine("{api: {file: token}}", "{}");
    httpd_answer(d, "/x", "200 OK", "", "fine");
    for (int i = 0; i < 2; i++)
        completed(run("{}",
                      "tool: http/get, args: {url: \"%s\", headers: {X: "
                      "\"secret://api\"}}",
                      httpd_url(d, "/x")));
    first = strstr(logged, "chmod o= ");
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_null(strstr(first + 1, "chmod o= "));
}
END_TEST

static const struct {
    const char *node, *code;
} graphs[] = {
    {"tool: http/get, args: {url: \"secret://api\"}", "E0604"},
    {"tool: http/get, args: {url: u, headers: {X: \"secret://api/x\"}}",
     "E0604"},
    {"tool: http/get, args: {url: u, headers: {X: \"xsecret://api\"}}",
     "E0604"},
    {"tool: http/get, args: {url: u, headers: {X: \"${input.a} "
     "secret://api\"}}",
     "E0604"},
    {"tool: confides/ask, args: {name: \"secret://api\"}", "E0604"},
    {"tool: http/get, args: {url: u, auth: {bearer: \"secret://hidden\"}}",
     "E0605"},
    {"tool: http/get, args: {url: u, auth: {bearer: \"secret://api\", basic: "
     "{user: a, password: \"secret://api\"}}}",
     "E0503"},
    {"tool: http/get, args: {url: u, headers: {X: \"secret://none\"}}",
     "E0605"},
    {"tool: http/get, args: {url: u, headers: {X: \"secret://hidden\"}}",
     "E0605"},
};

/* A graph says where its references cannot stand, and which cannot be had. */
START_TEST(graphs_are_checked)
{
    struct mortise_graph *g;
    char *report = NULL;

    open_engine("{api: {env: T}, hidden: {env: T}}", "{}");
    ck_assert_int_eq(load(&g, &report, graphs[_i].node), MORTISE_ECHECK);
    ck_assert_msg(strstr(report, graphs[_i].code) != NULL, "%s", report);
    ck_assert_msg(strstr(report, "g.yaml:6:") != NULL, "%s", report);
    mortise_free(m, report);
}
END_TEST

/* ---- config and secret.get/1 --------------------------------------------- */

/* create() gets the value where config_schema marks one; secret.get/1 gives
 * what the manifest or the config grants, and nothing else. */
START_TEST(plugins_get_what_is_granted)
{
    json_t *show, *out;

    setenv("T_KEY", "0123456789", 1);
    setenv("T_TOKEN", "value-of-env", 1);
    open_engine("{k: {env: T_KEY}, api: {env: T_TOKEN}, fixed: {env: T_TOKEN},"
                " hidden: {env: T_TOKEN}}",
                "{key: \"secret://k\", secrets: [api, gone]}");
    show = run("{}", "tool: confides/ask, args: {name: api}");
    out = json_object_get(
        json_object_get(json_object_get(show, "state"), "artifacts"), "a");
    ck_assert_int_eq(json_integer_value(json_object_get(out, "value")), 12);
    ck_assert_int_eq(json_integer_value(json_object_get(out, "key")), 10);
    completed(show);
    completed(run("{}", "tool: confides/ask, args: {name: fixed}"));
    failed(run("{}", "tool: confides/ask, args: {name: hidden}"), "no_secret",
           "has no permission for the secret 'hidden'");
    failed(run("{}", "tool: confides/ask, args: {name: k}"), "no_secret",
           "has no permission");
    failed(run("{}", "tool: confides/ask, args: {name: gone}"), "no_secret",
           "has no secret 'gone'");
    nowhere("value-of-env");
    nowhere("0123456789");
}
END_TEST

/* A plugin that says its secret in an error or to the log says stars. */
START_TEST(frank_plugins_are_covered)
{
    setenv("T_TOKEN", "value-of-env", 1);
    open_engine("{api: {env: T_TOKEN}}", "{secrets: [api]}");
    failed(run("{}", "tool: confides/ask, args: {name: api, then: fail}"),
           "loud", "it is [secret api], said loud");
    completed(run("{}", "tool: confides/ask, args: {name: api, then: log}"));
    ck_assert_ptr_nonnull(strstr(logged, "it is [secret api], said loud"));
    nowhere("value-of-env");
}
END_TEST

/* What a plugin emits of a secret that it holds is covered before it is kept or
 * shown, names of members included. */
START_TEST(frank_outputs_are_covered)
{
    json_t *show;
    char *text;

    setenv("T_TOKEN", "value-of-env", 1);
    open_engine("{api: {env: T_TOKEN}}", "{secrets: [api]}");
    show = run("{}", "tool: confides/ask, args: {name: api, then: emit}");
    text = json_dumps(show, 0);
    ck_assert_msg(strstr(text, "{\"[secret api]\": [\"it is [secret api]\"]}"),
                  "%s", text);
    free(text);
    completed(show);
    nowhere("value-of-env");
}
END_TEST

/* The doors that are no place for text, or cut it. */
static const struct {
    const char *then, *want;
} doors[] = {
    {"goto", "'a' chose '[secret api]', which is not one of its targets"},
    {"usage", "\"models\": [\"m-[secret api]\"]"},
    {"step", "the step's name is stored and shown"},
    {"host", "does not allow [secret api].example:99"},
    {"method", "invalid method 'm-[secret api]'"},
    {"member",
     "has an unknown member '0123456789012345678901234567890[secret api]'"},
    {"long", "000[secret api]\""},
};

START_TEST(every_door_is_covered)
{
    static const char value[] = "Value-Of-Env-That-Is-Longer-Than-What-Is-Cut";
    char *text;
    json_t *show;

    setenv("T_TOKEN", value, 1);
    open_engine("{api: {env: T_TOKEN}}", "{secrets: [api]}");
    show = run("{}",
               "tool: confides/ask, args: {name: api, then: %s}, targets: [b], "
               "next: END}\n  b: {type: tool, tool: confides/ask, args: {name: "
               "api}, next: END",
               doors[_i].then);
    text = json_dumps(show, 0);
    ck_assert_msg(strstr(text, doors[_i].want) != NULL, "%s", text);
    ck_assert_msg(strstr(text, "Value-Of") == NULL &&
                      strstr(text, "value-of") == NULL,
                  "%s", text);
    free(text);
    json_decref(show);
    nowhere("[Vv]alue-[Oo]f");
}
END_TEST

/* A secret that a server sends back, in whatever form and in pieces of a byte,
 * is covered before anybody sees it. */
START_TEST(echoes_are_covered)
{
    static const char *const forms[] = {"value/of env", "value%2Fof%20env",
                                        "value%2fof+env", "dmFsdWUvb2YgZW52",
                                        "value\\/of env"};
    char body[1024];
    json_t *show;
    char *text;

    setenv("T_TOKEN", "value/of env", 1);
    open_engine("{api: {env: T_TOKEN}}", "{}");
    snprintf(body, sizeof body,
             "HTTP/1.1 200 OK\r\nX-Echo: Bearer %s\r\nConnection: close\r\n"
             "\r\n<%s|%s|%s|%s|%s>",
             forms[0], forms[0], forms[1], forms[2], forms[3], forms[4]);
    httpd_on(d, "/echo");
    httpd_split(d, body);
    httpd_close(d);
    show = run("{}",
               "tool: http/get, args: {url: \"%s\", headers: {Authorization: "
               "\"Bearer secret://api\"}}",
               httpd_url(d, "/echo"));
    ck_assert(asked(0, "Authorization: Bearer value/of env\r\n"));
    text = json_dumps(show, 0);
    ck_assert_msg(strstr(text, "\"<[secret api]|[secret api]|[secret api]|"
                               "[secret api]|[secret api]>\"") &&
                      strstr(text, "\"Bearer [secret api]\""),
                  "%s", text);
    free(text);
    completed(show);
    nowhere("value.of.env");
    nowhere("dmFsdWUvb2Y");
}
END_TEST

/* One that is too short to be looked for is said to be. */
START_TEST(short_secrets_are_told)
{
    setenv("T_TOKEN", "1234567", 1);
    open_engine("{api: {env: T_TOKEN}}", "{secrets: [api]}");
    completed(run("{}", "tool: confides/ask, args: {name: api}"));
    completed(run("{}", "tool: confides/ask, args: {name: api}"));
    ck_assert_ptr_nonnull(strstr(logged, "the secret 'api' is shorter than 8 "
                                         "bytes"));
    ck_assert_ptr_null(strstr(strstr(logged, "shorter") + 1, "shorter"));
    child_dir(dir);
    child_run("$MORTISE check mortise.yaml");
    ck_assert_msg(strstr(child.out, "warning[W0821]: the secret 'api' is "
                                    "shorter than 8 bytes") != NULL,
                  "%s%s", child.out, child.err);
    child_run("printf 12345678 >s; T_TOKEN=12345678 $MORTISE check "
              "mortise.yaml; sed -i 's/{env: T_TOKEN}/{file: s}/' "
              "mortise.yaml; $MORTISE check mortise.yaml; printf '1\n' >s");
    ck_assert_str_eq(child.out, "");
    child_run("$MORTISE check mortise.yaml");
    ck_assert_ptr_nonnull(strstr(child.out, "W0821"));
}
END_TEST

/* So does one that does not start, and a schema that its key breaks. */
START_TEST(failed_starts_are_covered)
{
    setenv("T_TOKEN", "value-of-env", 1);
    setenv("T_LONG", "value-value-value-value-value-value-value-value", 1);
    open_engine("{api: {env: T_TOKEN}, long: {env: T_LONG}}",
                "{key: \"secret://api\", refuse: true}");
    failed(run("{}", "tool: confides/ask, args: {name: api}"), "plugin",
           "the key [secret api] is not mine");
    nowhere("value-of-env");
    open_engine("{api: {env: T_TOKEN}, long: {env: T_LONG}}",
                "{key: \"secret://long\"}");
    failed(run("{}", "tool: confides/ask, args: {name: api}"), "plugin", "key");
    nowhere("value-value");
}
END_TEST

/* A reference in config stands where the plugin marks one, and names one that
 * there is; the engine does not open otherwise. */
START_TEST(configs_are_checked)
{
    static const char *const bad[][2] = {
        {"{plain: \"secret://api\"}", "mortise.yaml:8:23: error[E0604]"},
        {"{key: \"secret://api \"}", "mortise.yaml:8:21: error[E0604]"},
        {"{key: \"secret://none\"}", "mortise.yaml:8:21: error[E0605]"},
        {"{secrets: [\"secret://api\"]}", "mortise.yaml:8:26: error[E0604]"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_int_eq(open_with("{api: {env: T}}", bad[i][0]),
                         MORTISE_ECONFIG);
        ck_assert_msg(strstr(err.msg, bad[i][1]) != NULL, "%s", err.msg);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("secrets");
    TCase *tc = tcase_create("secrets");

    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, headers_carry_secrets);
    tcase_add_loop_test(tc, auth_carries_secrets, 0,
                        sizeof auths / sizeof auths[0]);
    tcase_add_loop_test(tc, auth_says_why, 0,
                        sizeof bad_auths / sizeof bad_auths[0]);
    tcase_add_test(tc, redirects_lose_secrets);
    tcase_add_test(tc, inputs_choose_no_secrets);
    tcase_add_test(tc, programs_are_asked_once);
    tcase_add_test(tc, closing_while_asked);
    tcase_add_loop_test(tc, no_descriptor_is_not_the_secrets_fault, 0, 2);
    tcase_add_loop_test(tc, providers_say_why, 0,
                        sizeof providers / sizeof providers[0]);
    tcase_add_test(tc, credentials_are_read);
    tcase_add_test(tc, open_files_are_warned_of);
    tcase_add_loop_test(tc, graphs_are_checked, 0,
                        sizeof graphs / sizeof graphs[0]);
    tcase_add_test(tc, plugins_get_what_is_granted);
    tcase_add_test(tc, frank_plugins_are_covered);
    tcase_add_test(tc, frank_outputs_are_covered);
    tcase_add_loop_test(tc, every_door_is_covered, 0,
                        sizeof doors / sizeof doors[0]);
    tcase_add_test(tc, echoes_are_covered);
    tcase_add_test(tc, short_secrets_are_told);
    tcase_add_test(tc, failed_starts_are_covered);
    tcase_add_test(tc, configs_are_checked);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
