/* test_cli_schema.c -- `mortise schema`: what editors are told about files is
 * what `mortise check` does with them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <unistd.h>

#include "lib/desk.h"

static char root[4096];

static const char *const kinds[] = {"graph", "deployment", "plugin", "trust"};
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

/* --with-plugins holds the config of a plugin to the schema of its manifest,
 * whose references to itself still lead there. */
START_TEST(with_plugins)
{
    json_t *schema;
    const char *id, *type;

    desk_ok("$MORTISE schema deployment --with-plugins");
    schema = json_loads(child.out, 0, NULL);
    ck_assert_int_eq(json_unpack(schema, "{s:{s:{s:{s:{s:{s:{s:s, s:s}}}}}}}",
                                 "definitions", "plugins", "properties",
                                 "config", "properties", "file", "$id", &id,
                                 "type", &type),
                     0);
    ck_assert_str_eq(id, "mortise-plugin:file");
    ck_assert_str_eq(type, "object");
    json_decref(schema);
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
    desk_err("--with-plugins is for 'deployment'");
    child_run("$MORTISE schema");
    desk_code(3);
}
END_TEST

/* Each file that we show people says where its schema is, and it is there. */
START_TEST(modelines)
{
    child_run("cd %s && for f in configs/*/*.graph.yaml "
              "configs/*/mortise.yaml examples/*/*.yaml; do "
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
