/* server_fetched.c -- servers that a launcher, such as npx or docker, starts.
 *
 * npx and similar launchers download the program that they run; docker asks a
 * daemon.  Sandboxed programs can do neither, so these servers cannot start.
 * If a package that npx would run is installed in node_modules, beside the
 * list, node runs it directly.  All other launchers are reported, and their
 * servers are not imported. */
#include "tools/import/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/files.h"
#include "core/json/value.h"

enum { PACKAGE_MAX = 1 << 20 }; /* the largest package.json, in bytes */

enum launcher_kind { NODE_LAUNCHER = 1, PYTHON_LAUNCHER, CONTAINER_LAUNCHER };

static const struct launcher {
    const char *name;
    enum launcher_kind is;
} launchers[] = {{"npx", NODE_LAUNCHER},        {"bunx", NODE_LAUNCHER},
                 {"pnpx", NODE_LAUNCHER},       {"pnpm", NODE_LAUNCHER},
                 {"yarn", NODE_LAUNCHER},       {"npm", NODE_LAUNCHER},
                 {"uvx", PYTHON_LAUNCHER},      {"uv", PYTHON_LAUNCHER},
                 {"pipx", PYTHON_LAUNCHER},     {"docker", CONTAINER_LAUNCHER},
                 {"podman", CONTAINER_LAUNCHER}};

static const char *const remedies[] = {
    [NODE_LAUNCHER] =
        "install its package in the directory of the list (npm install "
        "PACKAGE), and import the list again; for mcp-remote, write "
        "`url` and `headers` instead",
    [PYTHON_LAUNCHER] =
        "install the package, and name its program: command: "
        "[.venv/bin/PROGRAM, ...], with ./.venv in sandbox.fs.read",
    [CONTAINER_LAUNCHER] =
        "start the container yourself, with a port, and write `url` instead"};

/* NULL: the program is no launcher. */
static const struct launcher *find_launcher(const char *program)
{
    const char *slash = strrchr(program, '/');
    const char *base = slash != NULL ? slash + 1 : program;
    size_t n = strcspn(base, "."); /* ignore an extension: npx.cmd */

    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++)
        if (strlen(launchers[i].name) == n &&
            strncmp(base, launchers[i].name, n) == 0)
            return &launchers[i];
    return NULL;
}

/* ---- installed packages ------------------------------------------------- */

/* Get the index of the argument that names the package.  0: there is none, or
 * an option other than -y makes it uncertain. */
static size_t find_package_arg(const json_t *command)
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

/* Get the size of the package's name without its "@VERSION".  0: it is not the
 * name of a package in node_modules. */
static size_t get_package_name_size(const char *package)
{
    const char *slash = strchr(package, '/');
    size_t n;

    if (package[0] == '\0' || strstr(package, "..") != NULL ||
        strstr(package, "${") != NULL ||
        (slash != NULL &&
         (package[0] != '@' || strchr(slash + 1, '/') != NULL)))
        return 0;
    n = strcspn(package + 1, "@") + 1;
    return n < 200 ? n : 0;
}

/* Get the file that the package runs, from its package.json: `bin` is a path,
 * or maps names to paths.  The only entry is used, or the one with the
 * package's name.  NULL: it has none. */
static const char *get_package_bin(const json_t *package)
{
    const json_t *bin = json_object_get(package, "bin"), *one = NULL;
    const char *name = mortise_json_get_text(package, "name");
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

/* Write "./node_modules/PACKAGE/FILE" to `out`.  False: it is not installed. */
static bool find_installed_package(struct server *s, const char *package,
                                   char *out, size_t size)
{
    size_t n = get_package_name_size(package);
    struct mortise_buf text;
    json_t *json = NULL;
    json_error_t why;
    const char *file;
    bool found;

    if (n == 0)
        return false;
    snprintf(out, size, "./node_modules/%.*s/package.json", (int)n, package);
    mortise_buf_init(&text, s->all->f.arena->mem);
    if (mortise_file_read(&text, mortise_server_find_local_path(s, out),
                          PACKAGE_MAX, NULL) == MORTISE_OK) {
        json =
            mortise_json_load(text.p, text.n, 0, MORTISE_JSON_DEPTH_MAX, &why);
        s->all->f.nomem |=
            json == NULL && json_error_code(&why) == json_error_out_of_memory;
    }
    s->all->f.nomem |= text.failed;
    mortise_buf_finish(&text);
    file = get_package_bin(json);
    found = file != NULL && file[0] != '/' && strstr(file, "..") == NULL &&
            strlen(file) + n + 32 < size;
    if (found)
        snprintf(out, size, "./node_modules/%.*s/%s", (int)n, package,
                 strncmp(file, "./", 2) == 0 ? file + 2 : file);
    json_decref(json);
    return found;
}

/* Make [node, FILE, the arguments after the package].  NULL: it is not
 * installed. */
static json_t *make_node_command(struct server *s, const json_t *command)
{
    size_t at = find_package_arg(command);
    char file[1024];
    json_t *out;

    if (at == 0 || !find_installed_package(
                       s, json_string_value(json_array_get(command, at)), file,
                       sizeof file))
        return NULL;
    out = json_pack("[s, s]", "node", file);
    for (size_t i = at + 1; out != NULL && i < json_array_size(command); i++)
        if (json_array_append(out, json_array_get(command, i)) != 0)
            s->all->f.nomem = true;
    s->all->f.nomem |= out == NULL;
    return out;
}

/* ---- interface ---------------------------------------------------------- */

json_t *mortise_server_replace_launcher(struct server *s, json_t *command)
{
    const struct launcher *l =
        find_launcher(json_string_value(json_array_get(command, 0)));
    json_t *out;

    if (l == NULL)
        return command;
    out = strcmp(l->name, "npx") == 0 ? make_node_command(s, command) : NULL;
    json_decref(command);
    if (out != NULL)
        return out;
    mortise_foreign_report(
        &s->all->f, "W1003", mortise_yaml_get(s->map, "command")->span,
        remedies[l->is],
        l->is == CONTAINER_LAUNCHER
            ? "server '%.64s' is not imported: %s needs a daemon of this "
              "machine, and sandboxed programs cannot reach one"
            : "server '%.64s' is not imported: %s downloads its program, and "
              "only installed programs can run here",
        s->key->str, l->name);
    return NULL;
}
