/* test_cli_explain.c -- every code is explained, and its example gets it. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "cli/results.h"
#include "lib/desk.h"

/* Is every line a comment?  Then words stand for what lines cannot show. */
static bool is_words(const char *example)
{
    for (const char *p = example; *p != '\0'; p += strcspn(p, "\n") + 1)
        if (*p != '#')
            return false;
    return true;
}

/* The example as a file of its own, with what it leaves out. */
static void put_example(const char *example)
{
    char text[4096];
    const char *body = example;
    int kind = strncmp(example, "kind: ", 6) == 0
                   ? (int)strcspn(example, "\n") + 1
                   : 0;

    body += kind;
    snprintf(
        text, sizeof text, "%s%.*s%s%s%s",
        strstr(body, "apiVersion") != NULL ? "" : "apiVersion: mortise/v1\n",
        kind, example,
        kind == 0 && strstr(body, "kind: ") == NULL ? "kind: Graph\n" : "",
        strstr(body, "metadata:") == NULL ? "metadata: {name: example}\n" : "",
        body);
    desk_put("example.yaml", text);
}

/* The example of each finding's code gets that code from `mortise check`. */
START_TEST(examples_get_their_codes)
{
    for (size_t i = 0; i < mortise_n_codes; i++) {
        const struct mortise_code *c = &mortise_codes[i];

        ck_assert_msg(c->example != NULL, "%s has no example", c->code);
        if (is_words(c->example))
            continue;
        put_example(c->example);
        child_run("$MORTISE check example.yaml");
        desk_out(c->code);
    }
}
END_TEST

/* `mortise explain CODE` says what the tables say, in either case. */
START_TEST(explains)
{
    desk_ok("$MORTISE explain E0301");
    ck_assert_int_eq(strncmp(child.out, "E0301: an unknown node\n\n", 24), 0);
    desk_out("\nExample:\n\n    start: a\n");
    desk_ok("$MORTISE explain e_in_doubt");
    desk_out("E_IN_DOUBT: ");
    desk_ok("$MORTISE explain E0301 --json");
    desk_out("{\"code\":\"E0301\",\"title\":\"an unknown node\"");
    desk_ok("$MORTISE explain model.connect");
    desk_out("model.connect: no connection to the model's server\n");
    desk_ok("$MORTISE explain http.503 && $MORTISE explain Timeout.Call");
    desk_out("http.503: the server answered with an error (http.400 to ");
    desk_out("timeout.call: ");
    desk_ok("$MORTISE explain expression && $MORTISE explain http.408 --json");
    desk_out("expression: ");
    desk_out("{\"code\":\"http.408\",");
    child_run("$MORTISE explain http.4040");
    desk_code(3);
    child_run("$MORTISE explain http.604");
    desk_code(3);
    desk_ok("$MORTISE explain reply --json");
    desk_not_out("example");
    child_run("$MORTISE explain acme.code_of_theirs");
    desk_code(3);
    desk_err("other plugins have their own");
    child_run("$MORTISE explain E_IN_DOUT");
    desk_code(3);
    desk_err("no code 'E_IN_DOUT'; did you mean 'E_IN_DOUBT'? (E_NOT_FOUND)");
    desk_ok("$MORTISE explain | wc -l");
    ck_assert_int_ge(atoi(child.out),
                     (int)(mortise_n_codes + mortise_n_result_codes));
}
END_TEST

/* Every code that the sources give an error of a run is explained. */
START_TEST(error_codes_are_explained)
{
    char root[4096];

    ck_assert_ptr_nonnull(realpath(".", root));
    desk_ok("cd %s && sh scripts/error-codes.sh >%s/codes", root, desk_dir);
    desk_ok("$MORTISE explain | cut -d' ' -f1 | LC_ALL=C sort >known; "
            "LC_ALL=C sort codes | LC_ALL=C comm -23 - known");
    ck_assert_str_eq(child.out, "");
    desk_ok("wc -l <codes");
    ck_assert_int_gt(atoi(child.out), 60);
}
END_TEST

/* Issue 15, 4: a code that the sources would have and nobody explained would be
 * found, wherever it stands. */
START_TEST(explain_would_miss_a_code)
{
    static const char *const lines[] = {
        "mortise_fail_attempt(r, x, \"brand_new\", \"permanent\", words, err);",
        "http_fail(i, c, \"brand_new\");",
        "o->code = \"brand_new\";",
        "*code = pinned ? \"io\" : \"brand_new\";",
        "return json_pack(\"{s:s}\", \"code\", \"brand_new\");",
        "why(\"permanent\", \"brand_new\");",
        "static const char f[] = \"http.brand_new\";",
        "\"{\\\"code\\\":\\\"brand_new\\\"}\"",
        "} ends[] = {{\"io\", \"a\"}, {\"brand_new\", \"b\"}};",
        "fail(o, \"brand_new\", \"words\");",
        "struct reason why = {\"brand_new\", 1};",
    };
    char root[4096];

    ck_assert_ptr_nonnull(realpath(".", root));
    desk_ok("mkdir src");
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        desk_put("src/a.c", lines[i]);
        child_run("sh %s/scripts/error-codes.sh src", root);
        ck_assert_msg(strstr(child.out, "brand_new") != NULL, "%s:\n%s%s",
                      lines[i], child.out, child.err);
    }
}
END_TEST

/* `make messages` lists each text with its place, joined as the compiler does. */
START_TEST(messages_are_listed)
{
    char root[4096];

    ck_assert_ptr_nonnull(realpath(".", root));
    desk_ok("mkdir src");
    desk_put("src/a.c",
             "/* mortise_fail(err, 1, \"a comment\"); */\n"
             "    return mortise_fail(err, f(\"(\"), \"no run \\\"%s\\\" \"\n"
             "                        \"(in %s)\",\n"
             "                        run, store);\n"
             "    mortise_diag_help(d, mortise_diag_add(d, \"E0301\", span,\n"
             "                      \"no node\"), \"or another\");\n");
    desk_ok("cd %s && sh scripts/messages.sh $MORTISE %s/src | "
            "grep -e ^E0301: -e src/",
            root, desk_dir);
    desk_out("E0301: an unknown node\n");
    desk_out("src/a.c:2: ( | no run \\\"%s\\\" (in %s)\n");
    desk_out("src/a.c:5: E0301 | no node | or another\n");
    desk_not_out("a comment");
}
END_TEST

/* No code stands twice in the list of all. */
START_TEST(codes_are_unique)
{
    desk_ok("$MORTISE explain | cut -d' ' -f1 | sort | uniq -d");
    ck_assert_str_eq(child.out, "");
}
END_TEST

/* Every code that a golden message of tests/graphs/bad carries is explained. */
START_TEST(golden_codes_are_explained)
{
    static const char *const patterns[] = {"tests/graphs/bad/*.txt",
                                           "tests/graphs/bad/*/*.txt"};
    glob_t files;
    unsigned n = 0;

    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
        glob(patterns[i], i > 0 ? GLOB_APPEND : 0, NULL, &files);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        char *text = test_read(files.gl_pathv[i], NULL), code[6] = "";

        for (const char *p = text; (p = strchr(p, '[')) != NULL; p++) {
            if (sscanf(p, "[%5[EWP0-9]", code) != 1 || strlen(code) != 5)
                continue;
            ck_assert_msg(mortise_code(code) != NULL, "%s mentions %s",
                          files.gl_pathv[i], code);
            n++;
        }
        free(text);
    }
    globfree(&files);
    ck_assert_uint_gt(n, 60);
}
END_TEST

/* Every result of the API has its explanation, in the order of the enum. */
START_TEST(results_are_explained)
{
    size_t n = 0;

    while (strcmp(mortise_result_name(-(int)n - 1), "E_UNKNOWN") != 0) {
        ck_assert_uint_lt(n, mortise_n_result_codes);
        ck_assert_str_eq(mortise_result_codes[n].code,
                         mortise_result_name(-(int)n - 1));
        n++;
    }
    ck_assert_uint_eq(n, mortise_n_result_codes);
}
END_TEST

/* What must be there before the example of a result does what it says; how many
 * of its lines get the code.  ($PLUGINS: desk_plugins.) */
static const struct {
    const char *code, *before;
    unsigned n;
} results[] = {
    {"E_IO", ":", 0}, /* its words alone */
    {"E_INVALID", ":", 1},
    {"E_NOT_FOUND", "mv state .mortise; rm mortise.yaml", 1},
    {"E_CHECK", "echo 'start: a' >broken.yaml", 1},
    {"E_CONFIG",
     "sed 's/^plugins: {/&config: {tried: {nope: 1}}, /' mortise.yaml"
     " >elsewhere.yaml",
     1},
    {"E_FORMAT",
     "cp -a state made-by-0.9;"
     " printf 'mortise-store 9\\n' >made-by-0.9/format",
     1},
    {"E_STORE_CORRUPT", "mv state .mortise; rm mortise.yaml", 1},
    {"E_NOT_ALLOWED",
     "cp -a $PLUGINS/* . && sed -i \"s|$PLUGINS|.|\" mortise.yaml &&"
     " printf x >>plugins/tried.so",
     1},
    {"E_EXISTS", ":", 1},
    {"E_UNKNOWN_NODE", ":", 1},
    {"E_DECISION_MISMATCH", ":", 1},
    {"E_LIMIT", "truncate -s 65M 65MiB.json", 1},
    {"E_STATE", "$MORTISE cancel r", 2},
};
enum { N_RESULTS = sizeof results / sizeof results[0] };

/* A line of an example as it is pasted here. */
static void paste(const char *line, size_t n)
{
    child_run(
        "case '%.*s' in *8f31c09a*)"
        " ID=$($MORTISE inbox r --ids | sed 's/.* //');; esac;"
        " LOG=$(cd .mortise/db 2>/dev/null && echo *.log);"
        " line=$(printf '%%s' '%.*s' | sed \"s/RUN/r/g; s/8f31c09a/$ID/g;"
        " s/mortise-0.1/mortise/; s/000005.log/$LOG/; s/acme.pay/tried/\");"
        " mortise() { $MORTISE \"$@\"; }; eval \"$line\"",
        (int)n, line, (int)n, line);
}

/* The lines of a result's example end as it says. */
START_TEST(examples_get_their_results)
{
    const struct mortise_code *c = NULL;
    unsigned got = 0;

    desk_graph("a",
               "start: a\nnodes:\n  a: {type: human, prompt: \"well?\"}\n");
    child_run("$MORTISE run a.yaml --id r");
    desk_code(4);
    child_run("PLUGINS=%s; %s", desk_plugins, results[_i].before);
    desk_code(0);
    for (size_t i = 0; i < mortise_n_result_codes; i++)
        if (strcmp(mortise_result_codes[i].code, results[_i].code) == 0)
            c = &mortise_result_codes[i];
    ck_assert_ptr_nonnull(c);
    for (const char *p = c->example; *p != '\0';) {
        size_t n = strcspn(p, "\n");

        if (p[0] == '$') {
            paste(p + 2, n - 2);
            got += strstr(child.err, c->code) != NULL;
        } else if (n > 3 && memcmp(p + n - 3, "...", 3) != 0) {
            char words[512];

            snprintf(words, sizeof words, "%.*s", (int)n, p);
            desk_err(words);
        }
        p += n + (p[n] == '\n');
    }
    ck_assert_msg(got == results[_i].n, "%s: %u lines get it:\n%s%s", c->code,
                  got, child.out, child.err);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_explain");
    TCase *tc = tcase_create("explain"), *tc2;

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_test(tc, examples_get_their_codes);
    tcase_add_test(tc, explains);
    tcase_add_test(tc, codes_are_unique);
    tcase_add_test(tc, error_codes_are_explained);
    tcase_add_test(tc, explain_would_miss_a_code);
    tcase_add_test(tc, messages_are_listed);
    tcase_add_test(tc, results_are_explained);
    tcase_add_test(tc, golden_codes_are_explained);
    tc2 = tcase_create("results");
    tcase_set_timeout(tc2, 60);
    tcase_add_unchecked_fixture(tc2, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc2, desk_begin, desk_end);
    tcase_add_loop_test(tc2, examples_get_their_results, 0, N_RESULTS);
    suite_add_tcase(s, tc2);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
