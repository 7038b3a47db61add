/* server_fetched.c -- servers of another list that a launcher starts.
 *
 * npx and its like fetch what they run, and docker asks a daemon.  A program here
 * has no network to fetch from and reaches no daemon, so such a server does not
 * start.  What npx would run and is installed beside the list (in node_modules) is
 * run by node itself.  All others are left behind: what cannot start is not
 * written. */
#include "tools/import/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/files.h"
#include "core/json/value.h"

enum { PACKAGE_MAX = 1 << 20 }; /* bytes of a package.json */

enum fetcher { OF_NODE = 1, OF_PYTHON, OF_CONTAINERS };

static const struct launcher {
    const char *name;
    enum fetcher is;
} launchers[] = {
    {"npx", OF_NODE},          {"bunx", OF_NODE},        {"pnpx", OF_NODE},
    {"pnpm", OF_NODE},         {"yarn", OF_NODE},        {"npm", OF_NODE},
    {"uvx", OF_PYTHON},        {"uv", OF_PYTHON},        {"pipx", OF_PYTHON},
    {"docker", OF_CONTAINERS}, {"podman", OF_CONTAINERS}};

static const char *const remedies[] = {
    [OF_NODE] = "install its package in the directory of the list (npm install "
                "PACKAGE), and import the list again; for mcp-remote, write "
                "`url` and `headers` instead",
    [OF_PYTHON] = "install the package, and name its program: command: "
                  "[.venv/bin/PROGRAM, ...], with ./.venv in sandbox.fs.read",
    [OF_CONTAINERS] =
        "start the container yourself, with a port, and write `url` instead"};

/* NULL: it is none. */
static const struct launcher *launcher_of(const char *program)
{
    const char *slash = strrchr(program, '/');
    const char *base = slash != NULL ? slash + 1 : program;
    size_t n = strcspn(base, "."); /* npx.cmd */

    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++)
        if (strlen(launchers[i].name) == n &&
            strncmp(base, launchers[i].name, n) == 0)
            return &launchers[i];
    return NULL;
}

/* ---- what npx runs --------------------------------------------------------- */

/* Which argument is the package; 0: none is, or an option is there that makes it
 * hard to tell. */
static size_t package_at(const json_t *command)
{
    for (size_t i = 1; i < json_array_size(command); i++) {
        const char *arg = json_string_value(json_array_get(command, i));

        if (arg[0] != '-')
            return i;
        if (strcmp(arg, "-y") != 0 && strcmp(arg, "--yes") != 0)
            return 0;
    }
    return 0;
}

/* Bytes of a package's name: without its version, which "@" begins that is not the
 * first.  0: it is no such name. */
static size_t name_size(const char *package)
{
    const char *slash = strchr(package, '/');
    size_t n;

    if (strstr(package, "..") != NULL || strstr(package, "${") != NULL ||
        (slash != NULL &&
         (package[0] != '@' || strchr(slash + 1, '/') != NULL)))
        return 0;
    n = strcspn(package + 1, "@") + 1;
    return n < 200 ? n : 0;
}

/* The file of the package that is run, by its package.json: `bin` is a path, or
 * has one by the name of the package, or only one.  NULL: it has none. */
static const char *file_of(const json_t *package)
{
    const json_t *bin = json_object_get(package, "bin"), *one = NULL;
    const char *name = mortise_json_text_of(package, "name");
    const char *slash = strchr(name, '/');

    if (json_is_string(bin))
        return json_string_value(bin);
    if (json_object_size(bin) == 1)
        one =
            json_object_iter_value(json_object_iter(mortise_json_unconst(bin)));
    else
        one = json_object_get(bin, slash != NULL ? slash + 1 : name);
    return json_string_value(one);
}

/* "./node_modules/PACKAGE/FILE", in `out`; false: that is not installed here. */
static bool find_installed(struct server *s, const char *package, char *out,
                           size_t size)
{
    size_t n = name_size(package);
    struct mortise_buf text;
    json_t *json = NULL;
    json_error_t why;
    const char *file;
    bool found;

    if (n == 0)
        return false;
    snprintf(out, size, "./node_modules/%.*s/package.json", (int)n, package);
    mortise_buf_init(&text, s->all->f.arena->mem);
    if (mortise_file_read(&text, mortise_server_at(s, out), PACKAGE_MAX,
                          NULL) == MORTISE_OK) {
        json = mortise_json_load(text.p, text.n, 0, MORTISE_JSON_DEEPEST, &why);
        s->all->f.nomem |=
            json == NULL && json_error_code(&why) == json_error_out_of_memory;
    }
    s->all->f.nomem |= text.failed;
    mortise_buf_finish(&text);
    file = file_of(json);
    found = file != NULL && file[0] != '/' && strstr(file, "..") == NULL &&
            strlen(file) + n + 32 < size;
    if (found)
        snprintf(out, size, "./node_modules/%.*s/%s", (int)n, package,
                 strncmp(file, "./", 2) == 0 ? file + 2 : file);
    json_decref(json);
    return found;
}

/* [node, FILE, what is behind the package]; NULL: it is not installed. */
static json_t *run_by_node(struct server *s, const json_t *command)
{
    size_t at = package_at(command);
    char file[1024];
    json_t *out;

    if (at == 0 ||
        !find_installed(s, json_string_value(json_array_get(command, at)), file,
                        sizeof file))
        return NULL;
    out = json_pack("[s, s]", "node", file);
    for (size_t i = at + 1; out != NULL && i < json_array_size(command); i++)
        if (json_array_append(out, json_array_get(command, i)) != 0)
            s->all->f.nomem = true;
    s->all->f.nomem |= out == NULL;
    return out;
}

/* ---- all of them ------------------------------------------------------------ */

json_t *mortise_server_installed(struct server *s, json_t *command)
{
    const struct launcher *l =
        launcher_of(json_string_value(json_array_get(command, 0)));
    json_t *out;

    if (l == NULL)
        return command;
    out = strcmp(l->name, "npx") == 0 ? run_by_node(s, command) : NULL;
    json_decref(command);
    if (out != NULL)
        return out;
    mortise_foreign_say(
        &s->all->f, "W1003", mortise_yaml_get(s->map, "command")->span,
        remedies[l->is],
        l->is == OF_CONTAINERS
            ? "server '%.64s' is not imported: %s needs a daemon of this "
              "machine, and sandboxed programs cannot reach one"
            : "server '%.64s' is not imported: %s downloads its program, and "
              "only installed programs can run here",
        s->key->str, l->name);
    return NULL;
}
