/* pinned_file.c -- did the files of a run's graph change after the run started?
 *
 * A run uses the graph that it pinned (R4), so changed files do not affect it.
 * A person who changes a file and resumes the run expects otherwise.  Only the
 * commands that warn about that compare the files.
 *
 * The files are compared with the store's copies byte by byte, without parsing.
 * A path that is not a regular file from here is skipped, and no failure is an
 * error. */
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "core/json/value.h"

static bool is_changed_file(struct mortise_cli *cli, const char *path,
                            const json_t *text)
{
    size_t size = json_string_length(text), n;
    struct mortise_err err;
    struct stat st;
    char *now;
    bool same;

    if (strcmp(path, "-") == 0 || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    if ((size_t)st.st_size != size)
        return true;
    if (mortise_cli_read_file(cli, path, &now, &n, &err) != MORTISE_OK)
        return false;
    same = n == size && memcmp(now, json_string_value(text), n) == 0;
    mortise_release(cli->mem, now, n + 1);
    return !same;
}

char *mortise_cli_find_changed_file(struct mortise_cli *cli, const char *run)
{
    json_t *graph = NULL;
    char *changed = NULL;

    if (mortise_cli_call(cli, "graph", json_pack("{s:s}", "run", run), NULL,
                         NULL, &graph, NULL) != MORTISE_OK)
        return NULL;
    MORTISE_JSON_EACH (file, i, json_object_get(graph, "sources")) {
        const char *path = mortise_cli_get_text(file, "path");

        if (changed == NULL &&
            is_changed_file(cli, path, json_object_get(file, "text")))
            changed = mortise_strdup(cli->mem, path);
    }
    json_decref(graph);
    return changed;
}
