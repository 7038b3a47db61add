/* server_sandbox.c -- make the sandbox of an imported server.
 *
 * In the source, a server may do all that its user may.  Here it gets:
 *
 *   reading  The existing paths that its arguments name.  For a script, the
 *            directory of its package: the nearest of the script's directory
 *            and the two above it that contains a package, or else the script's
 *            directory.  For a program in node_modules, all of node_modules,
 *            because a package needs the others.  A directory that contains far
 *            more than a program needs, or keys, is not granted but reported.
 *   writing  Nothing.
 *   network  Only if the server has a secret, which is hardly for anything
 *            else.
 *
 * Each part is written with a comment, so that the user can check it. */
#include "tools/import/server.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/json/value.h"

/* ---- paths -------------------------------------------------------------- */

static bool is_absolute_or_variable(const char *path)
{
    return path[0] == '/' || strncmp(path, "${", 2) == 0;
}

/* Join a directory and a path relative to it, in the arena.  NULL is ".". */
static const char *join_server_path(struct server *s, const char *dir,
                                    const char *path)
{
    size_t room;
    char *out;

    if (dir == NULL || strcmp(dir, ".") == 0 || is_absolute_or_variable(path))
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

const char *mortise_server_make_file_path(struct server *s, const char *path)
{
    return s->all->is_elsewhere ? join_server_path(s, s->all->whole, path)
                                : path;
}

const char *mortise_server_find_local_path(struct server *s, const char *path)
{
    return join_server_path(
        s, s->all->base,
        mortise_server_expand_home(s, join_server_path(s, s->cwd, path)));
}

/* Get the status of a path in an argument; false: it does not exist, or is
 * unknown. */
static bool stat_argument(struct server *s, const char *path, struct stat *st)
{
    const char *at = mortise_server_find_local_path(s, path);

    return strstr(at, "${") == NULL && stat(at, st) == 0;
}

static const char *get_directory_above(struct server *s, const char *path)
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

/* ---- reading ------------------------------------------------------------ */

static bool is_script_path(const char *path)
{
    static const char *const ends[] = {".js", ".mjs", ".cjs", ".ts",
                                       ".py", ".rb",  ".php", ".pl"};
    const char *dot = strrchr(path, '.');

    for (size_t i = 0; dot != NULL && i < sizeof ends / sizeof ends[0]; i++)
        if (strcmp(dot, ends[i]) == 0)
            return true;
    return false;
}

/* Does the directory contain a package? */
static bool has_package_mark(struct server *s, const char *dir)
{
    static const char *const marks[] = {"package.json", "node_modules",
                                        "pyproject.toml"};
    struct stat st;

    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (stat_argument(s, join_server_path(s, dir, marks[i]), &st))
            return true;
    return false;
}

/* Find the directory that a script and its package need. */
static const char *find_script_home(struct server *s, const char *script)
{
    const char *dir = get_directory_above(s, script), *at = dir;

    for (unsigned i = 0; i < 3; i++) {
        if (has_package_mark(s, at))
            return at;
        if (strrchr(at, '/') == at || strcmp(at, ".") == 0)
            break;
        at = get_directory_above(s, at);
    }
    return dir;
}

/* Is the absolute path `path` equal to `top`, or (`below`) inside it? */
static bool is_at_or_inside(const char *path, const char *top, bool below)
{
    size_t n = strlen(top);

    while (n > 1 && top[n - 1] == '/')
        n--;
    if (strncmp(path, top, n) != 0)
        return false;
    return path[n] == '\0' || (below && (path[n] == '/' || n == 1));
}

/* Does the path contain the user's home, or is it in a directory of keys? */
static bool has_home_or_keys(const char *path)
{
    static const char *const keys[] = {".ssh", ".gnupg", ".aws"};
    const char *home = getenv("HOME");
    char whole[PATH_MAX], at[PATH_MAX + 16];

    if (home == NULL || home[0] != '/')
        return false;
    if (realpath(home, whole) == NULL)
        snprintf(whole, sizeof whole, "%s", home);
    if (is_at_or_inside(whole, path, true))
        return true;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        snprintf(at, sizeof at, "%s/%s", whole, keys[i]);
        if (is_at_or_inside(path, at, true))
            return true;
    }
    return false;
}

/* Does a path, relative to `base`, contain far more than a program needs, or
 * keys? */
static bool is_too_broad(struct server *s, const char *path)
{
    static const struct {
        const char *top;
        bool below;
    } all[] = {{"/", false},     {"/boot", false}, {"/dev", true},
               {"/etc", false},  {"/home", false}, {"/proc", true},
               {"/root", false}, {"/sys", true},   {"/var", false}};
    const char *at =
        join_server_path(s, s->all->base, mortise_server_expand_home(s, path));
    char whole[PATH_MAX];

    if (realpath(at, whole) == NULL)
        snprintf(whole, sizeof whole, "%s", at);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (is_at_or_inside(whole, all[i].top, all[i].below))
            return true;
    return has_home_or_keys(whole);
}

/* `path` is relative to the new file. */
static void grant_read(struct server *s, json_t *read, const char *path,
                       const char *why)
{
    char where[64];

    MORTISE_JSON_EACH (had, i, read)
        if (strcmp(json_string_value(had), path) == 0)
            return;
    snprintf(where, sizeof where, "sandbox/fs/read/%zu", json_array_size(read));
    mortise_server_add_comment(s, where, "%s", why);
    if (json_array_append_new(read, json_string(path)) != 0)
        s->all->f.nomem = true;
}

/* Report that the path in word `i` of the command is not granted. */
static void report_broad_path(struct server *s, size_t i, const char *path)
{
    const struct mortise_yaml *args = mortise_foreign_get(s->map, "args");
    char where[64];

    snprintf(where, sizeof where, "command/%zu", i);
    mortise_server_add_comment(
        s, where,
        "not granted: the directory contains too much, name a smaller one");
    mortise_foreign_report(
        &s->all->f, "W1005",
        args != NULL ? args->span : mortise_yaml_get(s->map, "command")->span,
        "name the directory in it that the server needs, as an argument and in "
        "sandbox.fs.read",
        "server '%.64s' needs to read %.200s, which is not granted: it "
        "contains too much",
        s->key->str, path);
}

/* Grant the path in word `i` of the command, unless it contains too much. */
static void grant_argument_path(struct server *s, json_t *read, size_t i,
                                const char *path, const char *why)
{
    path = join_server_path(s, s->cwd, path);
    if (is_too_broad(s, path))
        report_broad_path(s, i, path);
    else
        grant_read(s, read, mortise_server_make_file_path(s, path), why);
}

/* Find the outermost node_modules directory in a path; NULL: there is none. */
static const char *find_node_modules(struct server *s, const char *path)
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

/* A program in node_modules reads its package and the packages that this one
 * needs. */
static void grant_program_modules(struct server *s, json_t *read,
                                  const char *program)
{
    const char *modules = find_node_modules(s, program);

    if (modules != NULL)
        grant_read(s, read, modules, "the directory of its packages");
}

static void grant_script(struct server *s, json_t *read, size_t i,
                         const char *path)
{
    const char *home = find_script_home(s, path);

    /* If its directory is too broad, a script gets only its own file. */
    if (is_too_broad(s, join_server_path(s, s->cwd, home)))
        home = path;
    grant_argument_path(s, read, i, home, "the directory of its program");
}

/* Grant the path in an argument.  True: the argument has a relative path. */
static bool grant_argument(struct server *s, json_t *read, size_t i,
                           const char *text)
{
    const char *path = text, *sign = strchr(text, '='), *modules;
    struct stat st;

    if (text[0] == '-' && sign == NULL)
        return false;
    if (sign != NULL && text[0] == '-')
        path = sign + 1;
    if (path[0] == '\0' || !stat_argument(s, path, &st))
        return false;
    modules = find_node_modules(s, path);
    if (modules != NULL)
        grant_argument_path(s, read, i, modules,
                            "the directory of its packages");
    else if (S_ISDIR(st.st_mode))
        grant_argument_path(
            s, read, i, path,
            "an argument names it; list the files that it changes in `write`");
    else if (is_script_path(path))
        grant_script(s, read, i, path);
    else
        grant_argument_path(s, read, i, path, "an argument names it");
    return !is_absolute_or_variable(path);
}

/* `python -m NAME` looks for the module in its working directory. */
static void grant_python_modules(struct server *s, json_t *read,
                                 const json_t *command)
{
    const char *program = json_string_value(json_array_get(command, 0)),
               *first = json_string_value(json_array_get(command, 1)), *base;

    if (program == NULL || first == NULL || s->cwd == NULL)
        return;
    base = strrchr(program, '/') != NULL ? strrchr(program, '/') + 1 : program;
    if (strncmp(base, "python", 6) == 0 && strcmp(first, "-m") == 0)
        grant_argument_path(s, read, 1, ".", "the directory of its modules");
}

/* ---- the sandbox -------------------------------------------------------- */

static json_t *make_network_grant(struct server *s)
{
    if (!s->has_secret) {
        mortise_server_add_comment(s, "sandbox/net",
                                   "no network; [\"*\"] grants all of it");
        return json_array();
    }
    mortise_server_add_comment(
        s, "sandbox/net/0",
        "all of the network, because the server has a secret; "
        "[] if it needs no network");
    return json_pack("[s]", "*");
}

void mortise_server_add_sandbox(struct server *s, const json_t *command)
{
    struct foreign *f = &s->all->f;
    json_t *read = json_array(), *fs = json_object(), *sandbox = json_object();
    bool counts = s->cwd != NULL;

    MORTISE_JSON_EACH (arg, i, command) {
        if (i == 0)
            grant_program_modules(s, read, json_string_value(arg));
        else if (grant_argument(s, read, i, json_string_value(arg)))
            counts = true;
    }
    grant_python_modules(s, read, command);
    if (json_array_size(read) == 0)
        mortise_server_add_comment(s, "sandbox/fs/read",
                                   "only the system's programs and libraries");
    mortise_server_add_comment(s, "sandbox/fs/write", "it changes no file");
    if (counts)
        mortise_foreign_set(f, s->into, "dir",
                            json_string(mortise_server_make_file_path(
                                s, s->cwd != NULL ? s->cwd : ".")));
    mortise_foreign_set(f, fs, "read", read);
    mortise_foreign_set(f, fs, "write", json_array());
    mortise_foreign_set(f, sandbox, "fs", fs);
    mortise_foreign_set(f, sandbox, "net", make_network_grant(s));
    mortise_foreign_set(f, s->into, "sandbox", sandbox);
}
