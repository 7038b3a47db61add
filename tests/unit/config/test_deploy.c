/* test_deploy.c -- deployments: paths from the file, values from outside, once.
 * What is refused stands in tests/graphs/bad (test_graph.c). */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/config/deploy.h"
#include "lang/config/deploy_digest.h"
#include "lib/json.h"
#include "lib/test.h"

#define HEAD "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: d}\n"

static struct mortise_diags diags;
static struct mortise_deployment *d;
static const char *dir;
static char path[4200];

static void begin(void)
{
    test_begin();
    test_count_json();
    mortise_diags_init(&diags, &test_mem);
    dir = test_mkdir();
    snprintf(path, sizeof path, "%s/mortise.yaml", dir);
}

static void end(void)
{
    mortise_deployment_free(d);
    d = NULL;
    mortise_diags_finish(&diags);
    test_rmdir(dir);
    test_nothing_left();
}

static int read_text(const char *text)
{
    test_write(path, text, strlen(text));
    mortise_deployment_free(d);
    mortise_diags_finish(&diags);
    return mortise_deployment_read(&d, &test_mem, path, &diags);
}

static void good(const char *text)
{
    ck_assert_int_eq(read_text(text), MORTISE_OK);
    ck_assert_uint_eq(diags.n, 0);
    ck_assert_ptr_nonnull(d);
}

static void bad(const char *text, const char *code)
{
    ck_assert_int_eq(read_text(text), MORTISE_ECHECK);
    ck_assert_ptr_null(d);
    ck_assert_str_eq(diags.list[0].code, code);
    ck_assert_str_eq(diags.list[0].path, path);
}

static void in_dir(const char *got, const char *want)
{
    char full[4300];

    snprintf(full, sizeof full, "%s/%s", dir, want);
    ck_assert_str_eq(got, full);
}

/* A value of plugins.config.p.v. */
static const char *value(void)
{
    static char text[4096];
    json_t *config = mortise_deployment_get_config(d, "p", "");

    snprintf(text, sizeof text, "%s",
             json_string_value(json_object_get(config, "v")));
    json_decref(config);
    return text;
}

static void expands(const char *v, const char *want)
{
    char text[4096];

    snprintf(text, sizeof text,
             HEAD "plugins:\n  config:\n    p:\n      v: %s\n", v);
    good(text);
    ck_assert_str_eq(value(), want);
}

/* Everything there is, with paths from where the file is.
 * key: deployment.metadata, deployment.plugins, plugins.path, plugins.dev
 * key: deployment.trust, trust.dir, deployment.store, store.path */
START_TEST(every_key_arrives)
{
    good(HEAD "plugins:\n"
              "  dev: [./build, /src/x]\n"
              "  path: [./plugins, /usr/lib/mortise, more]\n"
              "  config: {file: {roots: [./data], n: 5}, x-y: 1}\n"
              "  isolation: {file: in-process, x-z: 1}\n"
              "trust: {dir: trust.d}\n"
              "store: {path: ../state}\n"
              "x-mine: ${nothing}\n");
    ck_assert_str_eq(d->path, path);
    ck_assert_str_eq(d->name, "d");
    ck_assert_uint_eq(d->n_plugin_dirs, 3);
    in_dir(d->plugin_dirs[0], "./plugins");
    ck_assert_str_eq(d->plugin_dirs[1], "/usr/lib/mortise");
    in_dir(d->plugin_dirs[2], "more");
    ck_assert_uint_eq(d->n_dev_dirs, 2);
    in_dir(d->dev_dirs[0], "./build");
    ck_assert_str_eq(d->dev_dirs[1], "/src/x");
    in_dir(d->trust_dir, "trust.d");
    in_dir(d->store_path, "../state");
}
END_TEST

/* What durability may be, and what is meant by nothing.
 * key: store.durability=sync, store.durability=batch, durability.batch */
START_TEST(durabilities)
{
    static const struct {
        const char *text;
        enum mortise_durability is;
        uint64_t max_ms;
    } all[] = {{"{path: x}", MORTISE_SYNC, 50},
               {"{durability: sync}", MORTISE_SYNC, 50},
               {"{durability: batch}", MORTISE_BATCH, 50},
               {"{durability: {batch: {}}}", MORTISE_BATCH, 50},
               {"{durability: {batch: {max_ms: 7}}}", MORTISE_BATCH, 7},
               {"{durability: exit}", MORTISE_EXIT, 50}};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        char text[256];

        snprintf(text, sizeof text, HEAD "store: %s\n", all[i].text);
        good(text);
        ck_assert_int_eq(d->durability, all[i].is);
        ck_assert_uint_eq(d->max_ms, all[i].max_ms);
    }
}
END_TEST

/* How much is kept, and how much where nothing is said.
 * key: store.cache */
START_TEST(a_cache_has_a_size)
{
    good(HEAD "store: {cache: 3KiB}\n");
    ck_assert_uint_eq(d->cache_bytes, 3 * 1024);
    good(HEAD);
    ck_assert_uint_eq(d->cache_bytes, 64 * 1024 * 1024);
}
END_TEST

/* A plugin's config is what stands there, and {} where nothing does.
 * key: plugins.config */
START_TEST(configs_are_json)
{
    json_t *got,
        *want = json_loads("{\"a\":[1,2.5,null],\"x-b\":\"c\"}", 0, NULL);

    good(HEAD "plugins: {config: {p: {a: [1, 2.5, ~], x-b: c}}}\n");
    got = mortise_deployment_get_config(d, "p", "");
    ck_assert(json_equal(got, want));
    json_decref(got);
    got = mortise_deployment_get_config(d, "q", "");
    ck_assert(json_is_object(got) && json_object_size(got) == 0);
    json_decref(got);
    json_decref(want);
}
END_TEST

/* Without a file all is left to the engine. */
START_TEST(without_a_file)
{
    json_t *config;

    ck_assert_int_eq(mortise_deployment_default(&d, &test_mem), MORTISE_OK);
    ck_assert_ptr_null(d->path);
    ck_assert_uint_eq(d->n_plugin_dirs, 0);
    ck_assert_ptr_null(d->trust_dir);
    ck_assert_ptr_null(d->store_path);
    config = mortise_deployment_get_config(d, "p", "");
    ck_assert_uint_eq(json_object_size(config), 0);
    json_decref(config);
}
END_TEST

/* Variables: set, unset with a default, empty; text is put in once and stays
 * text. */
START_TEST(variables_are_put_in)
{
    setenv("MORTISE_T", "v$${env:MORTISE_T}${env:NO}", 1);
    setenv("MORTISE_EMPTY", "", 1);
    setenv("MORTISE_FIVE", "5", 1);
    unsetenv("MORTISE_UNSET");
    expands("${env:MORTISE_FIVE}", "5"); /* a string, as value() shows */
    expands("a ${env:MORTISE_FIVE}${env:MORTISE_FIVE} b", "a 55 b");
    expands("'${env:MORTISE_T}'", "v$${env:MORTISE_T}${env:NO}");
    expands("'${env:MORTISE_UNSET:-http://x:8080/v1}'", "http://x:8080/v1");
    expands("'${env:MORTISE_EMPTY:-d}'", "d");
    expands("'${env:MORTISE_UNSET:-}.'", ".");
    expands("'${env:MORTISE_EMPTY}.'", ".");
    expands("'${env:MORTISE_FIVE:-d}'", "5");
    expands("'$${env:MORTISE_FIVE}'", "${env:MORTISE_FIVE}");
    expands("'$$ $5 {} $'", "$$ $5 {} $");
    expands("'${env:MORTISE_UNSET:-${x}'", "${x");
    bad(HEAD "store: {path: '${env:MORTISE_UNSET}'}\n", "E0601");
    setenv("MORTISE_T", "\xFF", 1);
    bad(HEAD "store: {path: '${env:MORTISE_T}'}\n", "E0601");
    bad(HEAD "store: {path: '${env:A=B}'}\n", "E0603");
    bad(HEAD "store: {path: '${env'}\n", "E0603");
    bad(HEAD "plugins: {config: {p: {v: \"\\0${env:X}\"}}}\n", "E0603");
}
END_TEST

static void put_file(const char *name, const void *p, size_t n)
{
    char full[4300];

    snprintf(full, sizeof full, "%s/%s", dir, name);
    test_write(full, p, n);
}

/* Files: from the deployment's place, without the editor's line end. */
START_TEST(files_are_put_in)
{
    char *large = calloc(1, (1 << 20) + 1);

    put_file("key", "s3cret ${env:X}\n", 16);
    put_file("crlf", "a\r\n\r\n", 5);
    put_file("empty", "", 0);
    put_file("nul", "a\0b", 3);
    put_file("latin", "caf\xE9", 4);
    memset(large, 'x', (1 << 20) + 1);
    put_file("large", large, (1 << 20) + 1);
    free(large);
    expands("'${file:key}'", "s3cret ${env:X}");
    expands("'${file:./crlf}.'", "a\r\n.");
    expands("'${file:empty}.'", ".");
    bad(HEAD "store: {path: '${file:nul}'}\n", "E0602");
    bad(HEAD "store: {path: '${file:latin}'}\n", "E0602");
    bad(HEAD "store: {path: '${file:large}'}\n", "E0602");
    bad(HEAD "store: {path: '${file:.}'}\n", "E0602");
    bad(HEAD "store: {path: '${file:none}'}\n", "E0602");
}
END_TEST

/* A path may come from outside, too; it is relative to the file all the same.
 */
START_TEST(paths_are_expanded)
{
    setenv("MORTISE_T", "st", 1);
    good(HEAD "store: {path: '${env:MORTISE_T}ate'}\n");
    in_dir(d->store_path, "state");
}
END_TEST

/* No file is a finding with its name. */
START_TEST(missing_files_are_reported)
{
    ck_assert_int_eq(
        mortise_deployment_read(&d, &test_mem, "/nowhere/m.yaml", &diags),
        MORTISE_ECHECK);
    ck_assert_str_eq(diags.list[0].code, "E0101");
    ck_assert_str_eq(diags.list[0].path, "/nowhere/m.yaml");
}
END_TEST

/* Does a key of this build stand in one of these mappings?  And what may stand
 * in it. */
static void says(json_t *maps, const struct mortise_key *key);

static void says_all(json_t *maps, const struct mortise_place *place)
{
    for (size_t i = 0; i < place->n; i++)
        if (!place->keys[i].later)
            says(maps, &place->keys[i]);
}

static void says(json_t *maps, const struct mortise_key *key)
{
    json_t *found = json_array(), *rows = json_array(), *map, *value;
    const char *name;
    size_t i;

    json_array_foreach(maps, i,
                       map) if (json_object_get(map, key->name) != NULL)
        json_array_append(found, json_object_get(map, key->name));
    ck_assert_msg(json_array_size(found) > 0, "nothing says %s", key->name);
    if (key->place != NULL)
        says_all(found, key->place);
    json_array_foreach(found, i, map) json_object_foreach(map, name, value)
        json_array_append(rows, value);
    if (key->each != NULL && key->each->place != NULL)
        says_all(rows, key->each->place);
    json_decref(found);
    json_decref(rows);
}

/* configs/mortise.yaml is right and has every key that there is. */
START_TEST(the_commented_file_has_every_key)
{
    json_t *maps;

    ck_assert_int_eq(
        mortise_deployment_read(&d, &test_mem, "configs/mortise.yaml", &diags),
        MORTISE_OK);
    maps = json_pack("[o]", mortise_yaml_to_json(d->written, false));
    says_all(maps, &mortise_deployment_place);
    json_decref(maps);
}
END_TEST

/* How long runs are kept: 30 days unless it is said, and 0 for ever.
 * key: retention.finished */
START_TEST(retentions)
{
    static const struct {
        const char *text;
        uint64_t ms;
    } all[] = {{"{path: x}", 30ull * 86400000},
               {"{retention: {}}", 30ull * 86400000},
               {"{retention: {finished: 0s}}", 0},
               {"{retention: {finished: 90d}}", 90ull * 86400000}};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        char text[256];

        snprintf(text, sizeof text, HEAD "store: %s\n", all[i].text);
        good(text);
        ck_assert_uint_eq(d->finished_ms, all[i].ms);
        ck_assert_int_eq(d->finished_said, i >= 2);
    }
}
END_TEST

/* Reading copes with its first, second, ... allocation failing. */
START_TEST(reading_survives_oom)
{
    static const char text[] =
        HEAD "plugins: {path: [a, b], config: {p: {v: '${file:key}'}}}\n"
             "secrets: {a: {exec: [./b, c]}, d: {file: e}}\n"
             "tools: {deny: [a/b]}\n"
             "store: {path: '${env:MORTISE_UNSET:-x}'}\n";
    int n = 0, rv;

    put_file("key", "k", 1);
    test_write(path, text, sizeof text - 1);
    do {
        struct mortise_diags some;

        mortise_diags_init(&some, &test_mem);
        test_mem_fail_at(n++);
        rv = mortise_deployment_read(&d, &test_mem, path, &some);
        ck_assert_int_eq(rv, test_mem_failed() ? MORTISE_ENOMEM : MORTISE_OK);
        ck_assert_int_eq(d == NULL, test_mem_failed());
        mortise_diags_finish(&some);
    } while (test_mem_failed());
    ck_assert_int_gt(n, 10);
}
END_TEST

/* ---- the same ------------------------------------------------------------ */

#define BARE "apiVersion: mortise/v1\nkind: Deployment\n"

static void digest_of(const char *text, char hex[MORTISE_DIGEST_HEX])
{
    uint8_t digest[MORTISE_DIGEST];

    good(text);
    ck_assert_int_eq(mortise_deployment_digest(digest, d, &test_mem),
                     MORTISE_OK);
    mortise_hex_encode(hex, digest, sizeof digest);
}

/* What a file puts into effect is what counts of it: these say the same as no
 * file at all. */
START_TEST(deployments_that_are_the_same)
{
    static const char *const same[] = {
        BARE "metadata: {name: a}\n",
        BARE "# words\nmetadata: {name: b}\nx-more: [1]\n",
        BARE "metadata: {name: a}\nstore: {path: /elsewhere}\n",
        BARE "metadata: {name: a}\nstore: {durability: sync}\n",
        BARE "metadata: {name: a}\nstore: {retention: {finished: 720h}}\n",
        BARE "metadata: {name: a}\nstore: {cache: 64MiB}\nlimits: {}\n",
        BARE "metadata: {name: a}\nplugins: {}\nsecrets: {}\n",
    };
    char first[MORTISE_DIGEST_HEX], hex[MORTISE_DIGEST_HEX];
    uint8_t digest[MORTISE_DIGEST];

    ck_assert_int_eq(mortise_deployment_default(&d, &test_mem), MORTISE_OK);
    ck_assert_int_eq(mortise_deployment_digest(digest, d, &test_mem),
                     MORTISE_OK);
    mortise_hex_encode(first, digest, sizeof digest);
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        digest_of(same[i], hex);
        ck_assert_msg(strcmp(hex, first) == 0, "%s", same[i]);
    }
}
END_TEST

/* ... and each of these says something else than all the others. */
START_TEST(deployments_that_differ)
{
    static const char *const other[] = {
        "",
        "plugins: {path: [p]}\n",
        "plugins: {path: [q]}\n",
        "plugins: {dev: [p]}\n",
        "plugins: {config: {http: {allow: [\"https://a.example\"]}}}\n",
        "plugins: {config: {http: {allow: [\"${env:HOST}\"]}}}\n",
        "trust: {dir: t}\n",
        "store: {durability: exit}\n",
        "store: {durability: {batch: {max_ms: 20}}}\n",
        "store: {durability: {batch: {max_ms: 21}}}\n",
        "store: {cache: 1MiB}\n",
        "store: {retention: {finished: 1h}}\n",
        "secrets: {a: {env: A}}\n",
        "secrets: {a: {file: A}}\n",
        "tools: {deny: [http/get]}\n",
        "tools: {ask: [http/get]}\n",
        "limits: {steps: 7}\n",
        "limits: {visits: 7}\n",
        "guardrails: {g: {plugin: pattern}}\n",
    };
    enum { N = sizeof other / sizeof other[0] };
    char hex[N][MORTISE_DIGEST_HEX], text[512];

    setenv("HOST", "https://b.example", 1);
    for (size_t i = 0; i < N; i++) {
        snprintf(text, sizeof text, "%smetadata: {name: a}\n%s", BARE,
                 other[i]);
        digest_of(text, hex[i]);
        for (size_t k = 0; k < i; k++)
            ck_assert_msg(strcmp(hex[i], hex[k]) != 0, "%s%s", other[i],
                          other[k]);
    }
    snprintf(text, sizeof text,
             "%smetadata: {name: a}\nplugins: {config: {http: {allow: "
             "[\"https://b.example\"]}}}\n",
             BARE);
    digest_of(text, hex[0]);
    ck_assert_str_eq(hex[0], hex[5]); /* as ${env:HOST} gives it */
    unsetenv("HOST");
}
END_TEST

/* The memory has a plugin and a config of its own; the plugin as such keeps that
 * of plugins.config.
 * key: deployment.memory, memory.plugin, memory.config */
START_TEST(a_memory)
{
    json_t *config;

    good(HEAD "plugins: {config: {p: {v: plain}}}\n"
              "memory: {plugin: p, config: {v: its}}\n");
    ck_assert_str_eq(d->memory.plugin, "p");
    ck_assert_str_eq(value(), "plain");
    config = mortise_deployment_get_config(d, "p", MORTISE_MEMORY_INSTANCE);
    ck_assert_str_eq(json_string_value(json_object_get(config, "v")), "its");
    json_decref(config);
    good(HEAD);
    ck_assert_ptr_null(d->memory.plugin);
    bad(HEAD "memory: {config: {}}\n", "E0206");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("deploy");
    TCase *tc = tcase_create("deploy");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, every_key_arrives);
    tcase_add_test(tc, a_memory);
    tcase_add_test(tc, durabilities);
    tcase_add_test(tc, a_cache_has_a_size);
    tcase_add_test(tc, configs_are_json);
    tcase_add_test(tc, without_a_file);
    tcase_add_test(tc, variables_are_put_in);
    tcase_add_test(tc, files_are_put_in);
    tcase_add_test(tc, paths_are_expanded);
    tcase_add_test(tc, missing_files_are_reported);
    tcase_add_test(tc, the_commented_file_has_every_key);
    tcase_add_test(tc, retentions);
    tcase_add_test(tc, reading_survives_oom);
    tcase_add_test(tc, deployments_that_are_the_same);
    tcase_add_test(tc, deployments_that_differ);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
