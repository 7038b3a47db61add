/* text.c -- reads graphs and diffs that are sent in a request. */
#include <string.h>

#include "core/base/err.h"
#include "cli/cli.h"
#include "core/json/value.h"
#include "lang/yaml/tree.h"

/* A request cannot contain a NUL or invalid UTF-8, and neither can a graph.
 * Let the YAML parser report the place. */
static int fail_invalid_text(struct mortise_cli *cli, const char *path,
                             const char *text, size_t n,
                             struct mortise_err *err)
{
    struct mortise_diags diags;
    struct mortise_arena arena;
    struct mortise_yaml *root;
    int rv;

    mortise_diags_init(&diags, cli->mem);
    mortise_arena_init(&arena, cli->mem);
    rv = mortise_yaml_parse(&root, &arena, path, text, n, &diags);
    mortise_cli_print_findings(cli, &diags);
    mortise_arena_finish(&arena);
    return rv == MORTISE_ECHECK
               ? mortise_fail(err, rv, "%s is not YAML text", path)
               : mortise_nomem(err);
}

int mortise_cli_read_source(struct mortise_cli *cli, const char *path,
                            json_t **out, struct mortise_err *err)
{
    char *text;
    size_t n;
    int rv = mortise_cli_read_file(cli, path, &text, &n, err);

    if (rv != MORTISE_OK)
        return rv;
    *out = strlen(text) == n ? mortise_json_make_string(text, n) : NULL;
    if (*out == NULL)
        rv = fail_invalid_text(cli, path, text, n, err);
    mortise_release(cli->mem, text, n + 1);
    return rv;
}
