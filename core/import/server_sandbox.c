/* server_sandbox.c -- what a program of another list may touch here.
 *
 * There it may do all that its user may.  Here it may read what its arguments
 * name, where that exists: a directory, or the one that the script is in which
 * an interpreter is told to run (with what belongs to it: the nearest directory
 * above that has a package in it).  It writes nothing, and has the network only
 * if it has a secret that it can hardly be for anything else.  All of it is
 * written out with a comment, for somebody to look at. */
#include "import/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "json/value.h"

/* ---- paths ------------------------------------------------------------------- */

static bool is_whole(const char *path)
{
    return path[0] == '/' || strncmp(path, "${", 2) == 0;
}

/* `path` as it counts from where `dir` does, in the arena; NULL is ".". */
static const char *join(struct server *s, const char *dir, const char *path)
{
    size_t room;
    char *out;

    if (dir == NULL || strcmp(dir, ".") == 0 || is_whole(path))
        return path;
    while (strncmp(path, "./", 2) == 0)
        path += 2;
    if (strcmp(path, ".") == 0)
        return dir;
    room = strlen(dir) + strlen(path) + 2;
    out = mortise_arena_alloc(s->all->f.arena, room);
    if (out == NULL) {
        s->all->f.nomem = true;
        return "";
    }
    snprintf(out, room, "%s/%s", dir, path);
    return out;
}

const char *mortise_server_from_file(struct server *s, const char *path)
{
    return s->all->is_elsewhere ? join(s, s->all->whole, path) : path;
}

/* What is there on this machine at an argument's path; false: nothing. */
static bool look(struct server *s, const char *path, struct stat *st)
{
    const char *at = mortise_server_meant(s, join(s, s->cwd, path));

    return strstr(at, "${") == NULL && stat(join(s, s->all->base, at), st) == 0;
}

static const char *above(struct server *s, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *out;

    if (slash == NULL)
        return ".";
    if (slash == path)
        return "/";
    out = mortise_arena_strndup(s->all->f.arena, path, (size_t)(slash - path));
    s->all->f.nomem |= out == NULL;
    return out != NULL ? out : "";
}

/* ---- what it may read --------------------------------------------------------- */

static bool is_script(const char *path)
{
    static const char *const ends[] = {".js", ".mjs", ".cjs", ".ts",
                                       ".py", ".rb",  ".php", ".pl"};
    const char *dot = strrchr(path, '.');

    for (size_t i = 0; dot != NULL && i < sizeof ends / sizeof ends[0]; i++)
        if (strcmp(dot, ends[i]) == 0)
            return true;
    return false;
}

/* Is a package there, of which the script may be a part? */
static bool is_package(struct server *s, const char *dir)
{
    static const char *const marks[] = {"package.json", "node_modules",
                                        "pyproject.toml"};
    struct stat st;

    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (look(s, join(s, dir, marks[i]), &st))
            return true;
    return false;
}

/* Where all of a script is. */
static const char *home_of(struct server *s, const char *script)
{
    const char *dir = above(s, script), *at = dir;

    for (unsigned i = 0; i < 3; i++) {
        if (is_package(s, at))
            return at;
        if (strrchr(at, '/') == at || strcmp(at, ".") == 0)
            break;
        at = above(s, at);
    }
    return dir;
}

static bool is_vast(struct server *s, const char *path)
{
    const char *home = getenv("HOME"), *meant = mortise_server_meant(s, path);

    return strcmp(meant, "/") == 0 ||
           (home != NULL && strcmp(meant, home) == 0);
}

static void add_read(struct server *s, json_t *read, const char *path,
                     const char *why)
{
    char where[64];

    path = mortise_server_from_file(s, join(s, s->cwd, path));
    MORTISE_JSON_EACH (had, i, read)
        if (strcmp(json_string_value(had), path) == 0)
            return;
    snprintf(where, sizeof where, "sandbox/fs/read/%zu", json_array_size(read));
    mortise_server_note(s, where, "%s",
                        is_vast(s, path) ? "that is very much: name less"
                                         : why);
    if (json_array_append_new(read, json_string(path)) != 0)
        s->all->f.nomem = true;
}

/* One argument: true where it is a path that counts from a directory. */
static bool read_argument(struct server *s, json_t *read, const char *text)
{
    const char *path = text, *sign = strchr(text, '=');
    struct stat st;

    if (text[0] == '-' && sign == NULL)
        return false;
    if (sign != NULL && text[0] == '-')
        path = sign + 1;
    if (path[0] == '\0' || !look(s, path, &st))
        return false;
    if (S_ISDIR(st.st_mode))
        add_read(s, read, path,
                 "an argument names it; what it is to change belongs in "
                 "`write`");
    else if (is_script(path))
        add_read(s, read, home_of(s, path), "its program is there");
    else
        add_read(s, read, path, "an argument names it");
    return !is_whole(path);
}

/* ---- the sandbox ----------------------------------------------------------------- */

static json_t *net_of(struct server *s)
{
    if (!s->has_secret) {
        mortise_server_note(s, "sandbox/net",
                            "no network; [\"*\"] is all of it");
        return json_array();
    }
    mortise_server_note(s, "sandbox/net/0",
                        "all of the network, since it has a secret to show to "
                        "somebody; [] where it does without");
    return json_pack("[s]", "*");
}

void mortise_server_sandbox(struct server *s, const json_t *command)
{
    struct foreign *f = &s->all->f;
    json_t *read = json_array(), *fs = json_object(), *sandbox = json_object();
    bool counts = s->cwd != NULL;

    MORTISE_JSON_EACH (arg, i, command)
        if (i > 0 && read_argument(s, read, json_string_value(arg)))
            counts = true;
    if (json_array_size(read) == 0)
        mortise_server_note(s, "sandbox/fs/read",
                            "the system's programs and libraries alone");
    mortise_server_note(s, "sandbox/fs/write", "it changes no file");
    if (counts)
        mortise_foreign_put(f, s->into, "dir",
                            json_string(mortise_server_from_file(
                                s, s->cwd != NULL ? s->cwd : ".")));
    mortise_foreign_put(f, fs, "read", read);
    mortise_foreign_put(f, fs, "write", json_array());
    mortise_foreign_put(f, sandbox, "fs", fs);
    mortise_foreign_put(f, sandbox, "net", net_of(s));
    mortise_foreign_put(f, s->into, "sandbox", sandbox);
}

/* ---- programs that start programs ------------------------------------------------- */

enum fetcher { OF_NODE = 1, OF_PYTHON, OF_CONTAINERS };

static const struct {
    const char *name;
    enum fetcher is;
} fetchers[] = {
    {"npx", OF_NODE},          {"bunx", OF_NODE},        {"pnpx", OF_NODE},
    {"pnpm", OF_NODE},         {"yarn", OF_NODE},        {"npm", OF_NODE},
    {"uvx", OF_PYTHON},        {"uv", OF_PYTHON},        {"pipx", OF_PYTHON},
    {"docker", OF_CONTAINERS}, {"podman", OF_CONTAINERS}};

static const char *const remedies[] = {
    [OF_NODE] = "install the package, and have node run its file: command: "
                "[node, ./node_modules/PACKAGE/FILE.js, ...], with "
                "./node_modules in sandbox.fs.read; for mcp-remote write `url` "
                "and `headers` instead",
    [OF_PYTHON] = "install the package, and name the program that it makes: "
                  "command: [.venv/bin/PROGRAM, ...], with ./.venv in "
                  "sandbox.fs.read",
    [OF_CONTAINERS] = "start the container by other means, with a port, and "
                      "write `url` instead"};

void mortise_server_launcher(struct server *s, const json_t *command)
{
    const char *program = json_string_value(json_array_get(command, 0)), *base;
    size_t i = 0, n;

    if (program == NULL)
        return;
    base = strrchr(program, '/') != NULL ? strrchr(program, '/') + 1 : program;
    n = strcspn(base, "."); /* npx.cmd */
    while (i < sizeof fetchers / sizeof fetchers[0] &&
           (strlen(fetchers[i].name) != n ||
            strncmp(base, fetchers[i].name, n) != 0))
        i++;
    if (i == sizeof fetchers / sizeof fetchers[0])
        return;
    mortise_foreign_say(&s->all->f, "W1003",
                        mortise_yaml_get(s->map, "command")->span,
                        remedies[fetchers[i].is],
                        fetchers[i].is == OF_CONTAINERS
                            ? "server '%.64s' does not start as it is: %s asks "
                              "a daemon of this "
                              "machine, and no program here reaches one"
                            : "server '%.64s' does not start as it is: %s "
                              "fetches what it runs, "
                              "and a program here runs what is installed",
                        s->key->str, fetchers[i].name);
    mortise_server_note(s, "command/0", "%s",
                        fetchers[i].is == OF_CONTAINERS
                            ? "does not start as it is: write `url` instead"
                            : "does not start as it is: name what is "
                              "installed");
}
