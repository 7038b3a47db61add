/* test_lock.c -- mortise.lock: what is pinned is read, written whole, and makes
 * operations.  What is refused stands in tests/graphs/bad (test_graph.c). */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/files.h"
#include "lang/config/deploy.h"
#include "lang/config/deploy_digest.h"
#include "lib/json.h"
#include "lib/test.h"

#define HEAD "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: d}\n"
#define LOCK "{\"apiVersion\": \"mortise/v1\", \"kind\": \"Lock\", \"mcp\": "
#define HEX  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define TOOL                                                                   \
    "{\"digest\": \"" HEX "\", \"input_schema\": {\"type\": \"object\"}"

static struct mortise_diags diags;
static struct mortise_deployment *d;
static const char *dir;
static char path[4200], lock_path[4200];

static void begin(void)
{
    test_begin();
    test_count_json();
    mortise_diags_init(&diags, &test_mem);
    dir = test_mkdir();
    snprintf(path, sizeof path, "%s/mortise.yaml", dir);
    snprintf(lock_path, sizeof lock_path, "%s/mortise.lock", dir);
}

static void end(void)
{
    mortise_deployment_free(d);
    d = NULL;
    mortise_diags_finish(&diags);
    test_rmdir(dir);
    test_nothing_left();
}

static void good(const char *text)
{
    test_write(path, text, strlen(text));
    mortise_deployment_free(d);
    mortise_diags_finish(&diags);
    ck_assert_int_eq(mortise_deployment_read(&d, &test_mem, path, &diags),
                     MORTISE_OK);
    ck_assert_uint_eq(diags.n, 0);
}

static void lock(const char *mcp)
{
    char text[16384];

    snprintf(text, sizeof text, LOCK "%s}\n", mcp);
    test_write(lock_path, text, strlen(text));
}

/* It is called like its deployment. */
START_TEST(it_lies_beside)
{
    static const struct {
        const char *deployment, *lock;
    } all[] = {{"mortise.yaml", "mortise.lock"},
               {"/a.b/x.yml", "/a.b/x.lock"},
               {"./d", "./d.lock"},
               {".yaml", ".yaml.lock"},
               {"a.yaml/x", "a.yaml/x.lock"}};
    char out[PATH_MAX];

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        ck_assert_int_eq(mortise_lock_path(out, all[i].deployment, NULL),
                         MORTISE_OK);
        ck_assert_str_eq(out, all[i].lock);
    }
}
END_TEST

/* Without one nothing is pinned; with one, what stands there. */
START_TEST(pins_arrive)
{
    const struct mortise_lock_server *s;
    const struct mortise_lock_tool *t;
    const struct mortise_tool_pin *list;

    good(HEAD "tools: {mcp: {files: {command: [x]}}}\n");
    ck_assert_ptr_null(d->lock.path);
    ck_assert_uint_eq(mortise_deployment_list_tool_pins(d, "mcp", &list), 0);
    lock("{\"files\": {\"protocol\": \"p\", \"server\": {\"name\": \"n\", "
         "\"version\": \"v\"}, \"instructions\": \"i\", \"tools\": {"
         "\"b\": " TOOL "}, \"a/c.d-e_F\": " TOOL
         ", \"title\": \"T\", \"description\": \"D\", \"output_schema\": "
         "{\"type\": \"object\"}, \"annotations\": {\"x\": 1}}}}, "
         "\"gone\": {\"tools\": {\"a\": " TOOL "}}}}");
    good(HEAD "tools: {mcp: {files: {command: [x]}, more: {command: [y]}}}\n");
    ck_assert_str_eq(d->lock.path, lock_path);
    ck_assert_uint_eq(d->lock.n, 2);
    s = mortise_lock_find(&d->lock, "files");
    ck_assert_uint_eq(s->n, 2);
    t = mortise_lock_tool(s, "a/c.d-e_F");
    ck_assert_str_eq(t->digest, HEX);
    ck_assert_str_eq(t->title, "T");
    ck_assert_str_eq(t->description, "D");
    ck_assert(t->input != NULL && t->output != NULL && t->annotations != NULL);
    t = mortise_lock_tool(s, "b");
    ck_assert(t->output == NULL && t->annotations == NULL);
    ck_assert_ptr_null(mortise_lock_tool(s, "c"));
    ck_assert_ptr_null(mortise_lock_find(&d->lock, "file"));
    ck_assert_uint_eq(mortise_deployment_list_tool_pins(d, "http", &list), 0);
    ck_assert_uint_eq(mortise_deployment_list_tool_pins(d, "mcp", &list), 2);
    ck_assert_str_eq(list[0].operation, "files/a/c.d-e_F");
    ck_assert_str_eq(list[0].description, "D");
    ck_assert_str_eq(list[1].operation, "files/b");
    ck_assert_ptr_eq(mortise_deployment_find_tool_pin(d, "mcp", "files/b"),
                     &list[1]);
    ck_assert_ptr_null(mortise_deployment_find_tool_pin(d, "http", "files/b"));
    ck_assert_ptr_null(mortise_deployment_find_tool_pin(d, "mcp", "gone/a"));
}
END_TEST

/* What a tool does is the deployer's word; the server's makes it stricter. */
START_TEST(effects_are_the_deployers)
{
    static const struct {
        const char *tool, *hints, *effect;
        bool idempotent;
    } all[] = {
        {"read_a", "", "read", false},
        {"read_a", "\"readOnlyHint\": false", "write", false},
        {"read_a", "\"readOnlyHint\": false, \"destructiveHint\": true",
         "external", false},
        {"read_a", "\"destructiveHint\": true, \"openWorldHint\": true", "read",
         false},
        {"read_w", "", "write", false}, /* the stricter of two lists */
        {"a_w", "", "write", false},
        {"a_w", "\"readOnlyHint\": true", "write", false},
        {"a_w", "\"destructiveHint\": false, \"openWorldHint\": false", "write",
         false},
        {"a_w", "\"destructiveHint\": true", "external", false},
        {"a_w", "\"openWorldHint\": true", "external", false},
        {"a_w", "\"openWorldHint\": \"true\"", "write", false},
        {"a", "", "external", false},
        {"a", "\"readOnlyHint\": true, \"idempotentHint\": true", "external",
         false},
        {"a_wi", "", "external", true},
        {"a_wi", "\"idempotentHint\": true", "external", true},
        {"a_wi", "\"idempotentHint\": false", "external", false},
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const struct mortise_tool_pin *list;
        char text[1024];

        snprintf(text, sizeof text,
                 "{\"s\": {\"tools\": {\"%s\": " TOOL
                 ", \"annotations\": {%s}}}}}",
                 all[i].tool, all[i].hints);
        lock(text);
        good(HEAD "tools: {mcp: {s: {command: [x], effects: {read: [\"read_*\"]"
                  ", write: [\"*_w\"], idempotent: [\"*i\"]}}}}\n");
        ck_assert_uint_eq(mortise_deployment_list_tool_pins(d, "mcp", &list),
                          1);
        ck_assert_msg(strcmp(list[0].effect, all[i].effect) == 0, "%s {%s}: %s",
                      all[i].tool, all[i].hints, list[0].effect);
        ck_assert_int_eq(list[0].idempotent, all[i].idempotent);
    }
}
END_TEST

static struct mortise_arena arena;
static struct mortise_pinned_schemas schemas;

static int compile(const char *tool, struct mortise_err *err)
{
    char text[4096];

    snprintf(text, sizeof text, "{\"s\": {\"tools\": {\"t\": %s}}}", tool);
    lock(text);
    good(HEAD "tools: {mcp: {s: {command: [x]}}}\n");
    mortise_arena_init(&arena, &test_mem);
    return mortise_tool_pin_compile_schemas(
        &schemas, &arena, mortise_deployment_find_tool_pin(d, "mcp", "s/t"),
        err);
}

static void finish(void)
{
    mortise_schema_finish(schemas.input);
    mortise_schema_finish(schemas.output);
    mortise_arena_finish(&arena);
}

static int fits(const struct mortise_schema *s, const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    int rv = mortise_schema_check(s, value, NULL);

    ck_assert_ptr_nonnull(value);
    json_decref(value);
    return rv;
}

/* A tool takes and gives what its server says, whatever dialect it names, and
 * finds in its own schema what it refers to. */
START_TEST(schemas_are_the_servers)
{
    struct mortise_err err;

    ck_assert_int_eq(
        compile("{\"digest\": \"" HEX "\", \"input_schema\": {\"$schema\": "
                "\"http://json-schema.org/draft-07/schema#\", \"type\": "
                "\"object\", \"properties\": {\"n\": {\"$ref\": "
                "\"#/definitions/n\"}}, \"definitions\": {\"n\": {\"type\": "
                "\"integer\"}}}, \"output_schema\": {\"type\": \"object\", "
                "\"required\": [\"r\"], \"properties\": {\"r\": {\"$ref\": "
                "\"#/$defs/r\"}}, \"$defs\": {\"r\": {\"type\": "
                "\"string\"}}}}",
                &err),
        MORTISE_OK);
    ck_assert_int_eq(fits(schemas.input, "{\"n\": 1}"), MORTISE_OK);
    ck_assert_int_eq(fits(schemas.input, "{\"n\": \"1\"}"), MORTISE_EINVAL);
    ck_assert_int_eq(
        fits(schemas.output,
             "{\"content\": [{}], \"text\": \"\", \"structured\": {\"r\": "
             "\"x\"}}"),
        MORTISE_OK);
    ck_assert_int_eq(
        fits(schemas.output, "{\"content\": [], \"structured\": {\"r\": 1}}"),
        MORTISE_EINVAL);
    ck_assert_int_eq(fits(schemas.output, "{\"text\": \"\"}"), MORTISE_EINVAL);
    finish();
    ck_assert_int_eq(compile(TOOL
                             ", \"output_schema\": {\"$id\": "
                             "\"https://x.example/s\", \"$ref\": "
                             "\"#/$defs/r\", \"$defs\": {\"r\": {\"type\": "
                             "\"string\"}}}}",
                             &err),
                     MORTISE_OK);
    ck_assert_int_eq(
        fits(schemas.output, "{\"content\": [], \"structured\": \"x\"}"),
        MORTISE_OK);
    ck_assert_int_eq(
        fits(schemas.output, "{\"content\": [], \"structured\": 1}"),
        MORTISE_EINVAL);
    finish();
    ck_assert_int_eq(compile("{\"digest\": \"" HEX "\", \"input_schema\": "
                             "{\"properties\": {\"a\": {\"type\": 1}}}}",
                             &err),
                     MORTISE_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "'mcp/s/t'"));
    ck_assert_ptr_nonnull(strstr(err.msg, "/properties/a"));
    finish();
}
END_TEST

/* ---- what the plugin is told --------------------------------------------- */

/* Names of secrets and places, references, digests: and no program. */
START_TEST(the_plugin_is_told)
{
    json_t *got, *want;

    lock("{\"far\": {\"tools\": {\"a\": " TOOL "}, \"b\": " TOOL
         "}}}, \"near\": {\"tools\": {}}}");
    good(
        HEAD
        "secrets: {s: {env: S}, t: {env: T}, u: {env: U}}\n"
        "tools:\n"
        "  mcp:\n"
        "    near: {command: [x, y], env: {A: secret://u}, timeout: 1s}\n"
        "    far: {url: \"https://a.example/mcp\", headers: {A: b, C: \"Bearer "
        "secret://s\"}, protocol: 2025-11-25, hold: 2s, auth: {grant: "
        "client_credentials, client_id: i, client_secret: secret://t, scopes: "
        "[x], issuers: [\"https://i.example\"], client_metadata_url: "
        "\"https://m.example\", redirect_uri: \"http://127.0.0.1:1/c\"}}\n"
        "    bare: {url: \"http://127.0.0.1:8/\"}\n");
    got = mortise_deployment_get_config(d, "mcp", "");
    want = json_loads(
        "{\"servers\": {\"near\": {\"command\": true, \"protocol\": \"auto\", "
        "\"timeout_ms\": 1000, \"hold_ms\": 300000, \"tools\": {}}, \"far\": "
        "{\"url\": \"https://a.example/mcp\", \"headers\": {\"A\": \"b\"}, "
        "\"secret_headers\": {\"C\": \"Bearer secret://s\"}, \"auth\": "
        "{\"grant\": \"client_credentials\", \"client_id\": \"i\", "
        "\"client_secret\": \"secret://t\", \"scopes\": [\"x\"], \"issuers\": "
        "[\"https://i.example\"], \"client_metadata_url\": "
        "\"https://m.example\", \"redirect_uri\": \"http://127.0.0.1:1/c\"}, "
        "\"protocol\": \"2025-11-25\", \"timeout_ms\": 60000, \"hold_ms\": "
        "2000, \"tools\": {\"a\": \"" HEX "\", \"b\": \"" HEX "\"}}, \"bare\": "
        "{\"url\": \"http://127.0.0.1:8/\", \"headers\": {}, "
        "\"secret_headers\": {}, \"protocol\": \"auto\", \"timeout_ms\": "
        "60000, "
        "\"hold_ms\": 300000}}, \"places\": [\"https://a.example/mcp\", "
        "\"https://i.example\", \"http://127.0.0.1:8/\"], \"secrets\": [\"u\", "
        "\"s\", \"t\"]}",
        0, NULL);
    ck_assert_ptr_nonnull(want);
    ck_assert(json_equal(got, want));
    json_decref(got);
    json_decref(want);
    ck_assert(mortise_deployment_is_config_made(d, "mcp", ""));
    ck_assert(!mortise_deployment_is_config_made(d, "http", ""));
    good(HEAD);
    got = mortise_deployment_get_config(d, "mcp", "");
    ck_assert_uint_eq(json_object_size(json_object_get(got, "servers")), 0);
    ck_assert_uint_eq(json_array_size(json_object_get(got, "places")), 0);
    json_decref(got);
}
END_TEST

static void digest_of(const char *mcp, char hex[MORTISE_DIGEST_HEX])
{
    uint8_t digest[MORTISE_DIGEST];

    if (mcp != NULL)
        lock(mcp);
    good(HEAD "tools: {mcp: {s: {command: [x]}}}\n");
    ck_assert_int_eq(mortise_deployment_digest(digest, d, &test_mem),
                     MORTISE_OK);
    mortise_hex_encode(hex, digest, sizeof digest);
}

/* Two deployments with other pins are not the same. */
START_TEST(pins_count)
{
    char bare[MORTISE_DIGEST_HEX], one[MORTISE_DIGEST_HEX],
        hex[MORTISE_DIGEST_HEX];

    digest_of(NULL, bare);
    digest_of("{}", hex);
    ck_assert_str_eq(hex, bare);
    digest_of("{\"s\": {\"tools\": {\"a\": " TOOL "}}}}", one);
    ck_assert_str_ne(one, bare);
    digest_of("{ \"s\": { \"tools\": { \"a\": " TOOL "}}}}", hex);
    ck_assert_str_eq(hex, one);
    digest_of("{\"s\": {\"tools\": {\"a\": " TOOL
              ", \"description\": \"x\"}}}}",
              hex);
    ck_assert_str_ne(hex, one);
}
END_TEST

/* ---- writing ------------------------------------------------------------- */

static json_t *section(const char *text)
{
    json_t *odd = json_array();
    json_t *listed = json_loads(text, 0, NULL), *out;
    struct mortise_err err;

    ck_assert_ptr_nonnull(listed);
    ck_assert_int_eq(
        mortise_lock_make_section(&out, odd, listed, &test_mem, &err),
        MORTISE_OK);
    ck_assert_uint_eq(json_array_size(odd), 0);
    json_decref(odd);
    json_decref(listed);
    return out;
}

static void is_written(const char *want)
{
    struct mortise_buf b;
    struct mortise_err err;

    mortise_buf_init(&b, &mortise_heap);
    ck_assert_int_eq(mortise_file_read(&b, lock_path, 1 << 20, &err),
                     MORTISE_OK);
    ck_assert_uint_eq(b.n, strlen(want));
    ck_assert(memcmp(b.p, want, b.n) == 0);
    mortise_buf_finish(&b);
}

/* What a server listed is pinned, sorted, by the deployment that is open; a
 * second time it is the same bytes, and what is not pinned any more is gone. */
START_TEST(pins_are_written)
{
    static const char want[] = "{\n"
                               "  \"apiVersion\": \"mortise/v1\",\n"
                               "  \"kind\": \"Lock\",\n"
                               "  \"mcp\": {\n"
                               "    \"a\": {\n"
                               "      \"protocol\": \"2025-11-25\",\n"
                               "      \"server\": {\n"
                               "        \"name\": \"n\"\n"
                               "      },\n"
                               "      \"tools\": {\n"
                               "        \"x\": {\n"
                               "          \"digest\": \"" HEX "\",\n"
                               "          \"input_schema\": {}\n"
                               "        },\n"
                               "        \"y\": {\n"
                               "          \"description\": \"caf\xc3\xa9\",\n"
                               "          \"digest\": \"" HEX "\",\n"
                               "          \"input_schema\": {}\n"
                               "        }\n"
                               "      }\n"
                               "    }\n"
                               "  }\n"
                               "}\n";
    struct mortise_err err;
    json_t *all, *one;
    struct stat st;

    for (int i = 0; i < 2; i++) {
        good(HEAD "tools: {mcp: {a: {command: [x]}, b: {command: [y]}}}\n");
        all = mortise_lock_to_json(&d->lock);
        one = section("{\"tools\": [{\"name\": \"y\", \"digest\": \"" HEX
                      "\", \"input_schema\": {}, \"description\": "
                      "\"caf\xc3\xa9\", \"output_schema\": null, \"icons\": "
                      "[]}, {\"input_schema\": {}, \"name\": \"x\", "
                      "\"digest\": \"" HEX "\"}], \"server\": {\"name\": "
                      "\"n\", \"icons\": []}, \"protocol\": \"2025-11-25\", "
                      "\"prompts\": []}");
        ck_assert_int_eq(mortise_lock_set(all, "a", one, &err), MORTISE_OK);
        ck_assert_int_eq(mortise_lock_set(all, "b", one, &err), MORTISE_OK);
        ck_assert_int_eq(mortise_lock_set(all, "b", NULL, &err), MORTISE_OK);
        ck_assert_int_eq(mortise_lock_write(lock_path, all, &test_mem, &err),
                         MORTISE_OK);
        json_decref(one);
        json_decref(all);
        is_written(want);
    }
    ck_assert_int_eq(stat(lock_path, &st), 0);
    ck_assert_int_eq(st.st_mode & 022, 0);
}
END_TEST

/* Whatever text a server has, what is read is what was written; what people
 * would not see is written as they see it. */
START_TEST(text_survives)
{
    static const char nasty[] =
        "\x01\t\n\"\\/ \x7f \xc2\x85 \xe2\x80\xa8 \xe2\x80\xae \xef\xbb\xbf "
        "\xef\xbf\xbe \xf0\x9f\x98\x80 # : {} %{} \xc2\xa0 'x'  "
        "\xf3\xa0\x81\x81\xe2\x80\x8b";
    struct mortise_err err;
    json_t *all = json_pack(
        "{s:s, s:s, s:{s:{s:{s:{s:s, s:s, s:{s:s, s:f, s:I, s:b, s:n}}}}}}",
        "apiVersion", "mortise/v1", "kind", "Lock", "mcp", "s", "tools", "t",
        "digest", HEX, "description", nasty, "input_schema", nasty, nasty, "r",
        1e300, "i", (json_int_t)-4611686018427387904, "b", 1, "n");
    struct mortise_buf b;
    json_t *back;

    ck_assert_ptr_nonnull(all);
    ck_assert_int_eq(mortise_lock_write(lock_path, all, &test_mem, &err),
                     MORTISE_OK);
    good(HEAD "tools: {mcp: {s: {command: [x]}}}\n");
    back = mortise_lock_to_json(&d->lock);
    ck_assert(json_equal(back, all));
    json_decref(back);
    json_decref(all);
    mortise_buf_init(&b, &test_mem);
    mortise_file_read(&b, lock_path, 1 << 20, &err);
    mortise_buf_puts(&b, "");
    ck_assert_ptr_nonnull(memmem(b.p, b.n, "\\u202e", 6));
    ck_assert_ptr_null(memmem(b.p, b.n, "\xe2\x80\xae", 3));
    ck_assert_ptr_nonnull(memmem(b.p, b.n, "\\udb40\\udc41\\u200b", 18));
    ck_assert_ptr_null(memmem(b.p, b.n, "\xf3\xa0", 2));
    mortise_buf_finish(&b);
}
END_TEST

/* What could not be read again is not written, and the old file stays. */
START_TEST(nonsense_is_not_written)
{
    static const char *const bad[] = {
        "{\"s\": {\"tools\": {\"a b\": " TOOL "}}}}",
        "{\"s\": {\"tools\": {\"a\": {\"digest\": \"" HEX "\"}}}}",
        "{\"s\": {}}",
        ("{\"s\": {\"tools\": {\"a\": {\"digest\": \"1\", \"input_schema\": "
         "{}}}}}"),
    };
    struct mortise_err err;

    test_write(lock_path, "old", 3);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        json_t *mcp = json_loads(bad[i], 0, NULL);
        json_t *all = json_pack("{s:s, s:s, s:o}", "apiVersion", "mortise/v1",
                                "kind", "Lock", "mcp", mcp);

        ck_assert_ptr_nonnull(all);
        ck_assert_int_eq(mortise_lock_write(lock_path, all, &test_mem, &err),
                         MORTISE_EINVAL);
        ck_assert_ptr_nonnull(strstr(err.msg, "would not be valid"));
        json_decref(all);
        is_written("old");
    }
}
END_TEST

/* An answer that is no list of tools pins nothing. */
START_TEST(lists_are_judged)
{
    static const char *const bad[] = {
        "{}", "{\"tools\": 1}", "{\"tools\": [1]}", "{\"tools\": [{}]}",
        "{\"tools\": [{\"name\": \"a\"}, {\"name\": \"a\"}]}"};
    struct mortise_err err;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        json_t *listed = json_loads(bad[i], 0, NULL), *out, *odd = json_array();

        ck_assert_int_eq(
            mortise_lock_make_section(&out, odd, listed, &test_mem, &err),
            MORTISE_EINVAL);
        ck_assert_ptr_null(out);
        json_decref(listed);
        json_decref(odd);
    }
}
END_TEST

/* A tool that no lock could have is left out, by its name, and not the rest. */
START_TEST(odd_tools_are_left_out)
{
    static const char *const names[] = {"", "a b", "n\\u0000ul",
                                        "\xf3\xa0\x81\x81"};
    struct mortise_err err;

    for (size_t i = 0; i < sizeof names / sizeof names[0] + 1; i++) {
        bool named = i < sizeof names / sizeof names[0];
        json_t *listed, *out, *odd = json_array();
        char text[1024];

        snprintf(text, sizeof text,
                 "{\"tools\": [{\"name\": \"%s\", \"digest\": \"" HEX
                 "\"%s}, {\"name\": \"good\", \"digest\": \"" HEX
                 "\", \"input_schema\": {}}]}",
                 named ? names[i] : "bare",
                 named ? ", \"input_schema\": {}" : "");
        listed = json_loads(text, JSON_ALLOW_NUL, NULL);
        ck_assert_ptr_nonnull(listed);
        ck_assert_int_eq(
            mortise_lock_make_section(&out, odd, listed, &test_mem, &err),
            MORTISE_OK);
        ck_assert_uint_eq(json_array_size(odd), 1);
        ck_assert_uint_eq(json_object_size(json_object_get(out, "tools")), 1);
        ck_assert_ptr_nonnull(
            json_object_get(json_object_get(out, "tools"), "good"));
        json_decref(out);
        json_decref(odd);
        json_decref(listed);
    }
}
END_TEST

/* Reading, and what is made of it, cope with the first, second, ... allocation
 * failing. */
START_TEST(reading_survives_oom)
{
    static const char text[] = HEAD "tools: {mcp: {s: {command: [x]}}}\n";
    int n = 0, rv;

    test_write(path, text, sizeof text - 1);
    lock("{\"s\": {\"tools\": {\"a\": " TOOL "}, \"b\": " TOOL "}}}}");
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

/* So does writing, which leaves the old file or the new one. */
START_TEST(writing_survives_oom)
{
    json_t *all;
    int n = 0, rv;

    lock("{\"s\": {\"tools\": {\"a\": " TOOL "}}}}");
    good(HEAD "tools: {mcp: {s: {command: [x]}}}\n");
    all = mortise_lock_to_json(&d->lock);
    test_write(lock_path, "old", 3);
    do {
        struct mortise_err err;

        test_mem_fail_at(n++);
        rv = mortise_lock_write(lock_path, all, &test_mem, &err);
        ck_assert_int_eq(rv, test_mem_failed() ? MORTISE_ENOMEM : MORTISE_OK);
        if (test_mem_failed())
            is_written("old");
    } while (test_mem_failed());
    ck_assert_int_gt(n, 5);
    json_decref(all);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("lock");
    TCase *tc = tcase_create("lock");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, it_lies_beside);
    tcase_add_test(tc, pins_arrive);
    tcase_add_test(tc, effects_are_the_deployers);
    tcase_add_test(tc, schemas_are_the_servers);
    tcase_add_test(tc, the_plugin_is_told);
    tcase_add_test(tc, pins_count);
    tcase_add_test(tc, pins_are_written);
    tcase_add_test(tc, text_survives);
    tcase_add_test(tc, nonsense_is_not_written);
    tcase_add_test(tc, lists_are_judged);
    tcase_add_test(tc, odd_tools_are_left_out);
    tcase_add_test(tc, reading_survives_oom);
    tcase_add_test(tc, writing_survives_oom);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
