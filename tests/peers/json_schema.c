/* json_schema.c -- the official JSON Schema test suite against core/json.
 *
 *     json_schema SUITE [FILE...]
 *
 * SUITE has tests/draft2020-12/ and remotes/, which its cases find under
 * http://localhost:1234/.  Runs all required files, or those named. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/schema/schema.h"
#include "lib/test.h"

static const char *suite;
static unsigned passed, failed;

/* jansson's own limits: the suite is trusted, and nests as it likes. */
static json_t *load(const char *path)
{
    return json_load_file(path, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
}

static json_t *find(void *ctx, const char *uri)
{
    static const char host[] = "http://localhost:1234/";
    char path[512];

    (void)ctx;
    if (strncmp(uri, host, sizeof host - 1) != 0)
        return NULL;
    snprintf(path, sizeof path, "%s/remotes/%s", suite, uri + sizeof host - 1);
    return load(path);
}

static void verdict(bool good, const char *file, const json_t *group,
                    const json_t *test, const char *said)
{
    if (good) {
        passed++;
        return;
    }
    failed++;
    printf("%s: %s: %s: %s\n", file,
           json_string_value(json_object_get(group, "description")),
           json_string_value(json_object_get(test, "description")), said);
}

static void run_group(const char *file, const json_t *group)
{
    static const struct mortise_schema_options world = {.find = find};
    struct mortise_schema *s;
    struct mortise_arena arena;
    struct mortise_err err;
    char where[256];
    json_t *test;
    size_t i;
    int rv;

    mortise_arena_init(&arena, &test_mem);
    rv = mortise_schema_compile_with(&s, &arena,
                                     json_object_get(group, "schema"), &world,
                                     where, sizeof where, &err);
    json_array_foreach(json_object_get(group, "tests"), i, test)
    {
        bool valid = json_is_true(json_object_get(test, "valid"));
        const json_t *data = json_object_get(test, "data");
        int got = rv;

        if (rv == MORTISE_OK) {
            strcpy(err.msg, "valid");
            got = mortise_schema_check(s, data, &err);
        }
        verdict(rv == MORTISE_OK &&
                    got == (valid ? MORTISE_OK : MORTISE_EINVAL),
                file, group, test, err.msg);
    }
    mortise_schema_finish(s);
    mortise_arena_finish(&arena);
}

static void run_file(const char *name)
{
    char path[512];
    json_t *groups, *group;
    size_t i;

    snprintf(path, sizeof path, "%s/tests/draft2020-12/%s", suite, name);
    groups = load(path);
    if (groups == NULL) {
        printf("%s: cannot be read\n", path);
        failed++;
    }
    json_array_foreach(groups, i, group)
    {
        run_group(name, group);
    }
    json_decref(groups);
}

static int is_json(const struct dirent *d)
{
    size_t n = strlen(d->d_name);

    return n > 5 && strcmp(d->d_name + n - 5, ".json") == 0;
}

static void run_all(void)
{
    struct dirent **list;
    char path[512];
    int n;

    snprintf(path, sizeof path, "%s/tests/draft2020-12", suite);
    n = scandir(path, &list, is_json, alphasort);
    for (int i = 0; i < n; i++) {
        run_file(list[i]->d_name);
        free(list[i]);
    }
    if (n >= 0)
        free(list);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    suite = argv[1];
    for (int i = 2; i < argc; i++)
        run_file(argv[i]);
    if (argc == 2)
        run_all();
    printf("%u passed, %u failed: the required cases of draft 2020-12\n",
           passed, failed);
    return failed > 0 || passed == 0 || test_mem_blocks() > 0;
}
