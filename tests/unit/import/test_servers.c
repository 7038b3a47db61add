/* test_servers.c -- lists of MCP servers of other programs: what comes over,
 * what is listed, and that no secret is ever said.  tests/servers has lists that
 * use each thing, and what comes of them. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/import/servers.h"
#include "lib/json.h"
#include "lib/test.h"
#include "lang/yaml/tree.h"

#define DIR "tests/servers/"

static struct mortise_diags diags;
static struct mortise_buf out;
static struct mortise_err err;

static void fresh(void)
{
    mortise_diags_init(&diags, &test_mem);
    mortise_buf_init(&out, &test_mem);
}

static void begin(void)
{
    setenv("HOME", "/home/somebody", 1);
    test_begin();
    test_count_json();
    fresh();
}

static void end(void)
{
    mortise_buf_finish(&out);
    mortise_diags_finish(&diags);
    test_nothing_left();
}

static int import(const char *path, const char *to, const char *text, size_t n)
{
    int rv;

    mortise_buf_finish(&out);
    mortise_diags_finish(&diags);
    fresh();
    rv = mortise_servers_import(&out, path, to, text, n, &diags, &err);
    if (rv == MORTISE_OK)
        ck_assert_ptr_nonnull(mortise_buf_cstr(&out));
    return rv;
}

/* One server `s`, with these members. */
static int import_one(const char *members)
{
    char text[2048];

    snprintf(text, sizeof text, "{\"mcpServers\": {\"s\": {%s}}}", members);
    return import(DIR "x.json", NULL, text, strlen(text));
}

static bool has(const char *code, const char *words)
{
    for (size_t i = 0; i < diags.n; i++)
        if (strcmp(diags.list[i].code, code) == 0 &&
            strstr(diags.list[i].message, words) != NULL)
            return true;
    return false;
}

#define expect(code, words)                                                    \
    ck_assert_msg(has(code, words), "no %s that says '%s'", code, words)
#define expect_out(words)                                                      \
    ck_assert_msg(strstr(out.p, words) != NULL, "no '%s' in:\n%s", words, out.p)
#define expect_no_out(words)                                                   \
    ck_assert_msg(strstr(out.p, words) == NULL, "'%s' in:\n%s", words, out.p)

/* Nothing that is printed of them holds this. */
static void expect_never(const char *words)
{
    struct mortise_buf b;

    mortise_buf_init(&b, &test_mem);
    mortise_diags_format(&diags, &b);
    mortise_diags_json(&diags, &b);
    if (out.n > 0)
        ck_assert_ptr_null(strstr(mortise_buf_cstr(&out), words));
    if (b.n > 0)
        ck_assert_ptr_null(strstr(mortise_buf_cstr(&b), words));
    ck_assert_ptr_null(strstr(err.msg, words));
    mortise_buf_finish(&b);
}

/* ---- the lists ------------------------------------------------------------ */

static const struct {
    const char *list, *file;
    size_t n; /* findings */
} files[] = {{DIR "claude.json", DIR "claude.yaml", 12},
             {DIR ".vscode/mcp.json", DIR "vscode.yaml", 3}};
enum { N_FILES = sizeof files / sizeof files[0] };

/* What comes out is what was looked at and found right; each time. */
START_TEST(golden)
{
    char *want = test_read(files[_i].file, NULL), *text;
    size_t n;

    text = test_read(files[_i].list, &n);
    for (unsigned again = 0; again < 2; again++) {
        ck_assert_int_eq(import(files[_i].list, NULL, text, n), MORTISE_OK);
        ck_assert_str_eq(out.p, want);
        ck_assert_uint_eq(diags.n, files[_i].n);
    }
    free(text);
    free(want);
}
END_TEST

/* No value of a secret is in the new file or in a finding, and neither is its
 * line. */
START_TEST(nothing_is_said)
{
    size_t n;
    char *text = test_read(files[0].list, &n);

    ck_assert_int_eq(import(files[0].list, NULL, text, n), MORTISE_OK);
    expect_never("hidden");
    memcpy(strstr(text, "\"in-url\""), "\"in-url\"!", 9);
    ck_assert_int_eq(import(files[0].list, NULL, text, n), MORTISE_ECHECK);
    ck_assert_uint_gt(diags.n, 0);
    ck_assert_uint_gt(diags.list[0].span.line, 40);
    expect_never("hidden");
    free(text);
}
END_TEST

/* A new file that is elsewhere names what the list means, from the root on. */
START_TEST(elsewhere)
{
    size_t n;
    char here[PATH_MAX], line[PATH_MAX + 64];
    char *text = test_read(files[1].list, &n);

    ck_assert_ptr_nonnull(getcwd(here, sizeof here));
    ck_assert_int_eq(import(files[1].list, "tests/x.yaml", text, n),
                     MORTISE_OK);
    snprintf(line, sizeof line, "- %s/tests/servers/bin/shop\n", here);
    expect_out(line);
    snprintf(line, sizeof line, "dir: %s/tests/servers\n", here);
    expect_out(line);
    expect_no_out("put it into the directory");
    ck_assert_int_eq(import(files[1].list, DIR "x.yaml", text, n), MORTISE_OK);
    expect_out("- ./bin/shop\n");
    free(text);
}
END_TEST

/* ---- values --------------------------------------------------------------- */

static const struct {
    const char *members, *ours; /* a line */
} values[] = {
    {"'command': 'x', 'env': {'A': '$${B}'}", "A: \"$$${B}\""},
    {"'command': 'x', 'env': {'A': '${env:B:-c d}'}", "A: \"${env:B:-c d}\""},
    {"'command': 'x', 'env': {'A': '${file:/etc/passwd}'}",
     "A: \"$${file:/etc/passwd}\""},
    {"'command': 'x', 'env': {'A': '${B'}", "A: \"$${B\""},
    {"'command': 'x', 'env': {'A': 'secret://shop'}", "A: secret://a"},
    {"'command': 'x', 'env': {'A': true}", "A: \"true\""},
    {"'command': 'x', 'env': {'A': 'ghp_hidden'}", "A: secret://a"},
    {"'command': 'x', 'env': {'AUTHOR': 'me'}", "AUTHOR: me"},
    {"'command': 'x', 'env': {'API_KEY': '${API_KEY:-hidden}'}",
     "API_KEY: secret://api-key"},
    {"'command': 'x', 'env': {'API_KEY': 'a ${B} c'}",
     "API_KEY: secret://api-key"},
    {"'command': 'x', 'env': {'U': 'https://u:hidden@h/x'}", "U: secret://u"},
    {"'command': 'x', 'env': {'U': 'https://h/x@y'}", "U: https://h/x@y"},
    {"'command': 'x', 'env': {'1_KEY': 'hidden'}",
     "\"1_KEY\": secret://s-1-key"},
    {"'command': 'x', 'env': {'__KEY': 'hidden'}", "\"__KEY\": secret://key"},
    {"'command': 'x', 'args': ['http://key:8080/x']", "- http://key:8080/x"},
    {"'command': 'x', 'args': ['--header', 'Authorization: Bearer hidden']",
     "- \"${env:S_HEADER}\""},
    {"'command': 'x', 'args': ['Authorization: hidden']",
     "- \"${env:S_SECRET}\""},
    {"'command': 'x', 'args': ['--key-file', '~/k']", "- \"${env:HOME}/k\""},
    {"'command': '~/bin/x'", "- \"${env:HOME}/bin/x\""},
    {"'command': 'x', 'cwd': '${workspaceFolder}/pkg', 'args': ['build']",
     "dir: ./pkg"},
    {"'command': 'x', 'cwd': 'pkg', 'args': ['build']", "- pkg/build  #"},
    {"'command': 'x', 'args': ['serve.py']",
     "- \".\"  # the directory of its program"},
    {"'command': 'x', 'args': ['data/note.txt']",
     "- data/note.txt  # an argument names it"},
    {"'command': 'x', 'args': ['data', './data', '--a=data']",
     "- ./data  # an argument"},
    {"'httpUrl': 'https://h/mcp', 'headers': {'Authorization': 'hidden'}",
     "Authorization: secret://s-authorization"},
    {"'serverUrl': 'https://h/${V}/mcp'", "url: \"https://h/${env:V}/mcp\""},
    {"'url': 'https://h/mcp', 'headers': {'A': 'Bearer a${TOKEN}b'}",
     "A: secret://s-a"},
};

START_TEST(value)
{
    char members[512];

    snprintf(members, sizeof members, "%s", values[_i].members);
    for (char *p = members; *p != '\0'; p++)
        *p = *p == '\'' ? '"' : *p;
    ck_assert_int_eq(import_one(members), MORTISE_OK);
    expect_out(values[_i].ours);
    expect_never("hidden");
}
END_TEST

/* Two secrets never share a variable, and one that is there twice has one. */
START_TEST(variables_are_apart)
{
    static const char text[] =
        "{\"servers\": {"
        "\"a\": {\"command\": \"x\", \"env\": {\"KEY\": \"one\"}},"
        "\"b\": {\"command\": \"x\", \"env\": {\"KEY\": \"two\"}},"
        "\"c\": {\"command\": \"x\", \"env\": {\"KEY\": \"one\"}},"
        "\"d\": {\"command\": \"x\", \"env\": {\"KEY\": \"${KEY}\"}},"
        "\"e\": {\"command\": \"x\", \"env\": {\"key\": \"three\"}}}}";

    ck_assert_int_eq(import("x.json", NULL, text, strlen(text)), MORTISE_OK);
    expect_out("  key:\n    env: KEY  #");
    expect_out("  b-key:\n    env: B_KEY  #");
    expect_out("  d-key:\n    env: D_KEY  #");
    expect_out("  key-2:\n    env: key  #");
}
END_TEST

/* What must be set is said: what has a default, and what secrets come from, need
 * not be. */
START_TEST(variables_are_listed)
{
    ck_assert_int_eq(
        import_one("\"command\": \"x\", \"args\": [\"${A}\", \"${B:-b}\", "
                   "\"${A}${env:C}\", \"~/d\", \"$${E\"], \"env\": {\"KEY\": "
                   "\"${F}\"}"),
        MORTISE_OK);
    expect_out("when this file is read:\n#\n#   A\n#   C\napi");
}
END_TEST

/* ---- what is wrong ---------------------------------------------------------- */

static const struct {
    const char *text, *code, *words;
} wrongs[] = {
    {"", "E0103", ""},
    {"[]", "E1001", "not a list of servers"},
    {"{}", "E1001", "not a list of servers"},
    {"{\"mcpServers\": []}", "E1001", "not a list of servers"},
    {"{\"mcpServers\": {}}", "E1001", "none of these"},
    {"apiVersion: mortise/v1\nkind: Deployment\n", "E1001",
     "already a file of Mortise"},
    {"{\"mcpServers\": {\"a\": 1}}", "E1001", "'a' must be a mapping"},
    {"{\"mcpServers\": {\"a\": {}}}", "E1001", "'a' has neither"},
    {"{\"mcpServers\": {\"a\": {\"command\": [\"x\"]}}}", "E1001",
     "'command' of server 'a' must be a string"},
    {"{\"mcpServers\": {\"a\": {\"command\": \"x\", \"args\": \"y\"}}}",
     "E1001", "'args' of server 'a' must be a list"},
    {"{\"mcpServers\": {\"a\": {\"url\": 1}}}", "E1001",
     "'url' of server 'a' must be a string"},
    {"{\"mcpServers\": {\"a\": {\"type\": \"sse\", \"url\": \"x\"}}}", "E1001",
     "none of these"},
    {"{\"mcpServers\": {\"a\": {\"command\": \"x\\u0000y\"}}}", "W1001",
     "that contains a NUL"},
    {"{\"mcpServers\": {\"a\": {\"url\": \"https://x\\u0000y\"}}}", "E1001",
     "none of these"},
    {"{\"mcpServers\": {\"a\": }", "E0106", ""},
    {"{\"mcpServers\": /* {}", "E0106", ""},
};

START_TEST(wrong)
{
    ck_assert_int_eq(
        import("x.json", NULL, wrongs[_i].text, strlen(wrongs[_i].text)),
        MORTISE_ECHECK);
    expect(wrongs[_i].code, wrongs[_i].words);
    ck_assert_uint_eq(out.n, 0);
}
END_TEST

/* What has no like here is listed, in words and where it stands. */
START_TEST(left_behind)
{
    ck_assert_int_eq(import_one("\"command\": \"x\", \"url\": \"y\", \"env\": "
                                "{\"A\": null, \"B\": [1]}, \"odd\": 1"),
                     MORTISE_OK);
    expect("W1001", "the URL of server 's'");
    expect("W1001", "is not imported: it is null");
    expect("W1001", "is not imported: it is a list");
    expect("W1001", "'odd' of server 's'");
    ck_assert_int_eq(import_one("\"command\": \"/usr/bin/npx\""),
                     MORTISE_ECHECK);
    expect("W1003", "not imported: npx downloads");
    expect("E1001", "none of these servers can be imported");
    /* An empty word is no package, and nothing behind its end is read (ASan). */
    ck_assert_int_eq(import_one("\"command\": \"npx\", \"args\": [\"\"]"),
                     MORTISE_ECHECK);
    expect("W1003", "not imported: npx downloads");
    ck_assert_int_eq(import_one("\"command\": \"podman\""), MORTISE_ECHECK);
    expect("W1003", "podman needs");
}
END_TEST

/* A package is read with its neighbours, and what keys or everybody's files are
 * in not at all. */
START_TEST(little_is_granted)
{
    static const char *const vast[] = {"/",     "/etc/",  "/proc/self", "/dev",
                                       "/home", "/var/.", "--root=/"};
    char members[256];

    ck_assert_int_eq(import_one("\"command\": \"node_modules/.bin/x\""),
                     MORTISE_OK);
    expect_out("- node_modules  # the directory of its packages");
    for (size_t i = 0; i < sizeof vast / sizeof vast[0]; i++) {
        snprintf(members, sizeof members,
                 "\"command\": \"x\", \"args\": [\"%s\"]", vast[i]);
        ck_assert_int_eq(import_one(members), MORTISE_OK);
        expect("W1005", "'s' needs to read /");
        expect_out("# not granted");
        expect_out("read: []");
    }
    setenv("HOME", "/usr", 1);
    ck_assert_int_eq(import_one("\"command\": \"x\", \"args\": [\"${HOME}\"]"),
                     MORTISE_OK);
    expect("W1005", "${env:HOME}");
    expect_out("read: []");
    ck_assert_int_eq(import_one("\"command\": \"python3\", \"cwd\": \"pkg\", "
                                "\"args\": [\"-m\", \"build\"]"),
                     MORTISE_OK);
    expect_out("- pkg  # the directory of its modules");
    ck_assert_int_eq(import_one("\"url\": \"http://a.example/mcp\""),
                     MORTISE_OK);
    expect("W1003", "not of this machine");
    ck_assert_int_eq(import_one("\"url\": \"http://localhost:1/mcp\""),
                     MORTISE_OK);
    ck_assert_uint_eq(diags.n, 0);
}
END_TEST

/* ---- anything ------------------------------------------------------------------ */

/* Cut anywhere it is refused, with a place; nothing is read beyond. */
START_TEST(cut)
{
    size_t n;
    char *text = test_read(files[_i].list, &n);

    for (size_t k = 0; k + 2 < n; k++) {
        char *part = malloc(k + 1);

        memcpy(part, text, k);
        ck_assert_int_eq(import("x.json", NULL, part, k), MORTISE_ECHECK);
        ck_assert_uint_gt(diags.n_errors, 0);
        free(part);
    }
    free(text);
}
END_TEST

/* Running out of memory anywhere is said, and leaves nothing. */
START_TEST(oom)
{
    size_t n;
    char *text = test_read(files[_i].list, &n);
    int fail = 0, rv;

    do {
        mortise_buf_finish(&out);
        mortise_diags_finish(&diags);
        fresh();
        test_mem_fail_at(fail++);
        rv = mortise_servers_import(&out, files[_i].list, "tests/x.yaml", text,
                                    n, &diags, &err);
        if (test_mem_failed())
            ck_assert_int_eq(rv, MORTISE_ENOMEM);
    } while (test_mem_failed());
    ck_assert_int_eq(rv, MORTISE_OK);
    ck_assert_int_gt(fail, 10);
    test_mem_fail_at(-1);
    free(text);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("servers");
    TCase *tc = tcase_create("servers");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, golden, 0, N_FILES);
    tcase_add_test(tc, nothing_is_said);
    tcase_add_test(tc, elsewhere);
    tcase_add_loop_test(tc, value, 0, sizeof values / sizeof values[0]);
    tcase_add_test(tc, variables_are_apart);
    tcase_add_test(tc, variables_are_listed);
    tcase_add_loop_test(tc, wrong, 0, sizeof wrongs / sizeof wrongs[0]);
    tcase_add_test(tc, left_behind);
    tcase_add_test(tc, little_is_granted);
    tcase_add_loop_test(tc, cut, 0, N_FILES);
    tcase_add_loop_test(tc, oom, 0, N_FILES);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
