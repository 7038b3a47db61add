/* server_sandbox.c -- what a program of another list may touch here.
 *
 * There it may do all that its user may.  Here it may read what its arguments
 * name, where that exists: a directory, or the one that the script is in which
 * an interpreter is told to run (with what belongs to it: the nearest directory
 * above that has a package in it, and for one that is installed below a
 * node_modules all of that, since a package needs its neighbours).  What holds
 * far more than a program is for, or keys, is not granted at all: a finding says
 * so.  It writes nothing, and has the network only if it has a secret that it
 * can hardly be for anything else.  All of it is written out with a comment, for
 * somebody to look at. */
#include "tools/import/server.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/json/value.h"

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

const char *mortise_server_at(struct server *s, const char *path)
{
    return join(s, s->all->base,
                mortise_server_meant(s, join(s, s->cwd, path)));
}

/* What is there on this machine at an argument's path; false: nothing. */
static bool look(struct server *s, const char *path, struct stat *st)
{
    const char *at = mortise_server_at(s, path);

    return strstr(at, "${") == NULL && stat(at, st) == 0;
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

/* Is the whole path `path` at `top`, or (`below`) inside of it? */
static bool is_at(const char *path, const char *top, bool below)
{
    size_t n = strlen(top);

    while (n > 1 && top[n - 1] == '/')
        n--;
    if (strncmp(path, top, n) != 0)
        return false;
    return path[n] == '\0' || (below && (path[n] == '/' || n == 1));
}

/* Does it hold the home of whoever is here, or one of the places where keys
 * are? */
static bool is_of_home(const char *path)
{
    static const char *const keys[] = {".ssh", ".gnupg", ".aws"};
    const char *home = getenv("HOME");
    char whole[PATH_MAX], at[PATH_MAX + 16];

    if (home == NULL || home[0] != '/')
        return false;
    if (realpath(home, whole) == NULL)
        snprintf(whole, sizeof whole, "%s", home);
    if (is_at(whole, path, true))
        return true;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        snprintf(at, sizeof at, "%s/%s", whole, keys[i]);
        if (is_at(path, at, true))
            return true;
    }
    return false;
}

/* Is what is there, as it counts from `base`, far more than a program is for, or
 * what keys are in? */
static bool is_vast(struct server *s, const char *path)
{
    static const struct {
        const char *top;
        bool below;
    } all[] = {{"/", false},     {"/boot", false}, {"/dev", true},
               {"/etc", false},  {"/home", false}, {"/proc", true},
               {"/root", false}, {"/sys", true},   {"/var", false}};
    const char *at = join(s, s->all->base, mortise_server_meant(s, path));
    char whole[PATH_MAX];

    if (realpath(at, whole) == NULL)
        snprintf(whole, sizeof whole, "%s", at);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (is_at(whole, all[i].top, all[i].below))
            return true;
    return is_of_home(whole);
}

/* `path` counts from the new file. */
static void grant(struct server *s, json_t *read, const char *path,
                  const char *why)
{
    char where[64];

    MORTISE_JSON_EACH (had, i, read)
        if (strcmp(json_string_value(had), path) == 0)
            return;
    snprintf(where, sizeof where, "sandbox/fs/read/%zu", json_array_size(read));
    mortise_server_note(s, where, "%s", why);
    if (json_array_append_new(read, json_string(path)) != 0)
        s->all->f.nomem = true;
}

/* Word `i` of the command names more than is granted. */
static void refuse(struct server *s, size_t i, const char *path)
{
    const struct mortise_yaml *args = mortise_foreign_get(s->map, "args");
    char where[64];

    snprintf(where, sizeof where, "command/%zu", i);
    mortise_server_note(
        s, where,
        "not granted: the directory contains too much, name a smaller one");
    mortise_foreign_say(
        &s->all->f, "W1005",
        args != NULL ? args->span : mortise_yaml_get(s->map, "command")->span,
        "name the directory in it that the server needs, as an argument and in "
        "sandbox.fs.read",
        "server '%.64s' needs to read %.200s, which is not granted: it "
        "contains too much",
        s->key->str, path);
}

/* What word `i` of the command names, unless that is too much. */
static void add_read(struct server *s, json_t *read, size_t i, const char *path,
                     const char *why)
{
    path = join(s, s->cwd, path);
    if (is_vast(s, path))
        refuse(s, i, path);
    else
        grant(s, read, mortise_server_from_file(s, path), why);
}

/* The outermost node_modules that a path is in; NULL: in none. */
static const char *modules_of(struct server *s, const char *path)
{
    static const char name[] = "node_modules";
    const char *at = path;
    char *out;

    while ((at = strstr(at, name)) != NULL) {
        const char *end = at + sizeof name - 1;

        if ((at == path || at[-1] == '/') && *end == '/') {
            out = mortise_arena_strndup(s->all->f.arena, path,
                                        (size_t)(end - path));
            s->all->f.nomem |= out == NULL;
            return out;
        }
        at = end;
    }
    return NULL;
}

/* A program of a package reads the package, and what that needs. */
static void read_program(struct server *s, json_t *read, const char *program)
{
    const char *modules = modules_of(s, program);

    if (modules != NULL)
        grant(s, read, modules, "the directory of its packages");
}

static void read_script(struct server *s, json_t *read, size_t i,
                        const char *path)
{
    const char *home = home_of(s, path);

    /* What lies in somebody's home itself is read, and not the home. */
    if (is_vast(s, join(s, s->cwd, home)))
        home = path;
    add_read(s, read, i, home, "the directory of its program");
}

/* One argument: true where it is a path that counts from a directory. */
static bool read_argument(struct server *s, json_t *read, size_t i,
                          const char *text)
{
    const char *path = text, *sign = strchr(text, '='), *modules;
    struct stat st;

    if (text[0] == '-' && sign == NULL)
        return false;
    if (sign != NULL && text[0] == '-')
        path = sign + 1;
    if (path[0] == '\0' || !look(s, path, &st))
        return false;
    modules = modules_of(s, path);
    if (modules != NULL)
        add_read(s, read, i, modules, "the directory of its packages");
    else if (S_ISDIR(st.st_mode))
        add_read(
            s, read, i, path,
            "an argument names it; list the files that it changes in `write`");
    else if (is_script(path))
        read_script(s, read, i, path);
    else
        add_read(s, read, i, path, "an argument names it");
    return !is_whole(path);
}

/* `python -m NAME` finds the module where it works. */
static void read_modules(struct server *s, json_t *read, const json_t *command)
{
    const char *program = json_string_value(json_array_get(command, 0)),
               *first = json_string_value(json_array_get(command, 1)), *base;

    if (program == NULL || first == NULL || s->cwd == NULL)
        return;
    base = strrchr(program, '/') != NULL ? strrchr(program, '/') + 1 : program;
    if (strncmp(base, "python", 6) == 0 && strcmp(first, "-m") == 0)
        add_read(s, read, 1, ".", "the directory of its modules");
}

/* ---- the sandbox ----------------------------------------------------------------- */

static json_t *net_of(struct server *s)
{
    if (!s->has_secret) {
        mortise_server_note(s, "sandbox/net",
                            "no network; [\"*\"] grants all of it");
        return json_array();
    }
    mortise_server_note(s, "sandbox/net/0",
                        "all of the network, because the server has a secret; "
                        "[] if it needs no network");
    return json_pack("[s]", "*");
}

void mortise_server_sandbox(struct server *s, const json_t *command)
{
    struct foreign *f = &s->all->f;
    json_t *read = json_array(), *fs = json_object(), *sandbox = json_object();
    bool counts = s->cwd != NULL;

    MORTISE_JSON_EACH (arg, i, command) {
        if (i == 0)
            read_program(s, read, json_string_value(arg));
        else if (read_argument(s, read, i, json_string_value(arg)))
            counts = true;
    }
    read_modules(s, read, command);
    if (json_array_size(read) == 0)
        mortise_server_note(s, "sandbox/fs/read",
                            "only the system's programs and libraries");
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
