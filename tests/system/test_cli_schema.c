/* test_cli_schema.c -- `mortise schema`: what editors are told about files is
 * what `mortise check` does with them. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lang/schema/schema.h"
#include "lib/desk.h"
#include "lang/yaml/tree.h"

static char root[4096];

static const char *const kinds[] = {"graph", "deployment", "plugin", "trust",
                                    "test"};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

/* The schemas that are shipped are those that the program prints (`make
 * docs`). */
START_TEST(shipped)
{
    char path[64], *file;

    snprintf(path, sizeof path, "schema/%s.json", kinds[_i]);
    file = test_read(path, NULL);
    desk_ok("$MORTISE schema %s", kinds[_i]);
    ck_assert_msg(strcmp(file, child.out) == 0,
                  "schema/%s.json is not what the command says: make docs",
                  kinds[_i]);
    free(file);
}
END_TEST

static unsigned check_described(const char *place, json_t *definition)
{
    const char *name;
    json_t *property;
    unsigned n = 0;

    json_object_foreach(json_object_get(definition, "properties"), name,
                        property)
    {
        const char *words =
            json_string_value(json_object_get(property, "description"));

        ck_assert_msg(words != NULL && strlen(words) > 8 &&
                          words[strlen(words) - 1] == '.',
                      "'%s' of %s has no description: .about, in its table",
                      name, place);
        n++;
    }
    return n;
}

/* Each key has a sentence, which editors show: a key without `.about` in its
 * table is found here. */
START_TEST(every_key_is_described)
{
    char path[64], *file;
    const char *place;
    json_t *v, *definition;
    unsigned n;

    snprintf(path, sizeof path, "schema/%s.json", kinds[_i]);
    file = test_read(path, NULL);
    v = json_loads(file, 0, NULL);
    n = check_described(kinds[_i], v);
    json_object_foreach(json_object_get(v, "definitions"), place, definition)
    {
        n += check_described(place, definition);
    }
    ck_assert_uint_gt(n, 10);
    json_decref(v);
    free(file);
}
END_TEST

/* ---- what a schema admits --------------------------------------------------
 */

static struct mortise_arena arena;
static struct mortise_schema *schema;

/* With our validator, which is of a later draft: what the tables use of
 * draft-07 means the same there. */
static void open_schema(const char *kind)
{
    char path[64], where[64], *text;
    struct mortise_err err;
    json_t *v;

    mortise_arena_init(&arena, &mortise_heap);
    snprintf(path, sizeof path, "schema/%s.json", kind);
    text = test_read(path, NULL);
    v = json_loads(text, 0, NULL);
    free(text);
    ck_assert_int_eq(json_object_del(v, "$schema"), 0);
    ck_assert_msg(mortise_schema_compile(&schema, &arena, v, where,
                                         sizeof where, &err) == MORTISE_OK,
                  "%s: %s", where, err.msg);
    json_decref(v);
}

static void close_schema(void)
{
    mortise_schema_finish(schema);
    mortise_arena_finish(&arena);
}

/* Does a file fit the schema? -1: it is no YAML. */
static int fits(const char *path, struct mortise_err *err)
{
    struct mortise_diags diags;
    struct mortise_yaml *tree;
    json_t *v;
    int rv;

    mortise_diags_init(&diags, &mortise_heap);
    rv = mortise_yaml_read(&tree, &arena, path, &diags);
    mortise_diags_finish(&diags);
    if (rv != MORTISE_OK)
        return -1;
    v = mortise_yaml_to_json(tree, false);
    rv = mortise_schema_check(schema, v, err);
    json_decref(v);
    return rv == MORTISE_OK;
}

/* All files of a kind that load fit its schema: an editor never marks what
 * `check` accepts. */
static const char *const good[][2] = {
    {"graph", "tests/graphs/good/*.yaml"},
    {"graph", "configs/*/*.graph.yaml"},
    {"graph", "examples/*/*.graph.yaml"},
    {"deployment", "configs/*/mortise.yaml"},
    {"deployment", "examples/*/mortise.yaml"},
    {"plugin", "plugins/*/*/*.plugin.yaml"},
    {"plugin", "examples/*/*.plugin.yaml"},
    {"test", "configs/*/*.test.yaml"},
    {"test", "tests/cases/*.test.yaml"},
};
enum { N_GOOD = sizeof good / sizeof good[0] };

START_TEST(good_files_fit)
{
    struct mortise_err err = {.msg = ""};
    glob_t found;

    open_schema(good[_i][0]);
    ck_assert_int_eq(glob(good[_i][1], 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        ck_assert_msg(fits(found.gl_pathv[i], &err) == 1, "%s: %s",
                      found.gl_pathv[i], err.msg);
    globfree(&found);
    close_schema();
}
END_TEST

/* What a table rules out, its schema does: of the broken graphs, those with an
 * unknown key, a key of another type, a missing one, or a value of the wrong
 * kind, word or range. */
static const char *const bad[] = {"E0201", "E0202", "E0203",
                                  "E0204", "E0206", "E0207"};
enum { N_BAD = sizeof bad / sizeof bad[0] };

START_TEST(bad_files_do_not_fit)
{
    char pattern[64];
    glob_t found;

    open_schema("graph");
    snprintf(pattern, sizeof pattern, "tests/graphs/bad/%s-*.yaml", bad[_i]);
    ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        ck_assert_msg(fits(found.gl_pathv[i], NULL) == 0, "%s fits",
                      found.gl_pathv[i]);
    globfree(&found);
    close_schema();
}
END_TEST

/* ---- the command -----------------------------------------------------------
 */

/* --with-plugins holds the config of a plugin to the schema of its manifest,
 * whose references to itself still lead there. */
START_TEST(with_plugins)
{
    json_t *v;
    const char *id, *type;

    desk_ok("$MORTISE schema deployment --with-plugins");
    v = json_loads(child.out, 0, NULL);
    ck_assert_int_eq(json_unpack(v, "{s:{s:{s:{s:{s:{s:{s:s, s:s}}}}}}}",
                                 "definitions", "plugins", "properties",
                                 "config", "properties", "file", "$id", &id,
                                 "type", &type),
                     0);
    ck_assert_str_eq(id, "mortise-plugin:file");
    ck_assert_str_eq(type, "object");
    json_decref(v);
}
END_TEST

/* What cannot be is refused, in words that help. */
START_TEST(refusals)
{
    child_run("$MORTISE schema grap");
    desk_code(3);
    desk_err("did you mean 'graph'?");
    child_run("$MORTISE schema graph --with-plugins");
    desk_code(3);
    desk_err("--with-plugins is only for 'deployment'");
    child_run("$MORTISE schema");
    desk_code(3);
}
END_TEST

/* Each file that we show people says where its schema is, and it is there. */
START_TEST(modelines)
{
    child_run(
        "cd %s && for f in configs/*/*.graph.yaml "
        "configs/*/*.test.yaml configs/*/mortise.yaml examples/*/*.yaml; do "
        "s=$(sed -n '1s/^# yaml-language-server: $schema=//p' $f); "
        "test -n \"$s\" && test -f ${f%%/*}/$s || echo $f; done",
        root);
    ck_assert_str_eq(child.out, "");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_schema");
    TCase *tc = tcase_create("schema");

    tcase_set_timeout(tc, 60);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_loop_test(tc, shipped, 0, N_KINDS);
    tcase_add_loop_test(tc, every_key_is_described, 0, N_KINDS);
    tcase_add_loop_test(tc, good_files_fit, 0, N_GOOD);
    tcase_add_loop_test(tc, bad_files_do_not_fit, 0, N_BAD);
    tcase_add_test(tc, with_plugins);
    tcase_add_test(tc, refusals);
    tcase_add_test(tc, modelines);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return getcwd(root, sizeof root) == NULL ? 1 : test_run(suite());
}
