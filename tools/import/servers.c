/* servers.c -- lists of MCP servers of other programs, as a deployment.
 *
 * Whoever has servers for an assistant or an editor has them in a JSON file:
 *
 *     {"mcpServers": {"files": {"command": "npx", "args": [...], "env": {...}},
 *                     "remote": {"type": "http", "url": "...", "headers": {}}}}
 *
 * or with "servers" and "inputs" in the place of "mcpServers", maybe inside of
 * "mcp", maybe with comments.  What comes out is a Deployment file that loads.
 * The promises:
 *
 *   (1) Nothing is dropped in silence: what has no like here is a warning at its
 *       place, and a comment at the head of the new file.
 *   (2) No secret is printed.  What looks like one becomes a reference to a
 *       secret that a variable of the environment has; where no reference may
 *       stand (an argument, a URL), the variable itself.  Neither findings nor
 *       comments quote values, or lines of the list.
 *   (3) Nothing that the file says is looked for here: a ${ that means nothing
 *       there means nothing here.
 *   (4) A program may touch what its arguments name and no more, and that is
 *       written out, to be looked at.
 *   (5) The same list, in the same directory, gives the same file.
 */
#include "tools/import/servers.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lang/config/expand.h"
#include "lang/config/mcp.h"
#include "tools/import/server.h"
#include "core/json/value.h"
#include "lang/yaml/write.h"

enum { NAME_MOST = MORTISE_MCP_NAME };

/* ---- what is said -------------------------------------------------------- */

void mortise_server_note(struct server *s, const char *where, const char *fmt,
                         ...)
{
    char pointer[512], words[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(words, sizeof words, fmt, ap);
    va_end(ap);
    snprintf(pointer, sizeof pointer, "/tools/mcp/%s/%s", s->ours, where);
    mortise_foreign_put(&s->all->f, s->all->notes, pointer, json_string(words));
}

static const char *note_of(void *ud, const char *pointer)
{
    return json_string_value(json_object_get(ud, pointer));
}

/* ---- names --------------------------------------------------------------- */

static bool may_begin(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool may_stand(char c)
{
    return may_begin(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static bool is_name(const char *s)
{
    if (!may_begin(s[0]) || strlen(s) > NAME_MOST)
        return false;
    while (may_stand(*s))
        s++;
    return *s == '\0';
}

/* What of `given` may stand in a name. */
static void sketch(char out[NAME_MOST + 1], const char *given)
{
    size_t n = 0;

    for (; *given != '\0' && n < NAME_MOST; given++) {
        char c = *given >= 'A' && *given <= 'Z' ? (char)(*given + 32) : *given;

        if (n == 0 && may_stand(c) && !may_begin(c))
            n = (size_t)snprintf(out, NAME_MOST, "mcp-");
        if (may_stand(c))
            out[n++] = c;
        else if (n > 0 && out[n - 1] != '-')
            out[n++] = '-';
    }
    while (n > 0 && out[n - 1] == '-')
        n--;
    out[n] = '\0';
    if (n == 0)
        strcpy(out, "server");
}

static void find_free(const struct servers *all, char name[NAME_MOST + 1])
{
    char base[NAME_MOST + 1], end[24];

    memcpy(base, name, sizeof base);
    for (unsigned k = 2; json_object_get(all->ours, name) != NULL; k++) {
        int room = NAME_MOST - snprintf(end, sizeof end, "-%u", k);

        snprintf(name, NAME_MOST + 1, "%.*s%s", room, base, end);
    }
}

/* Ours for a server; who has a name that is one here keeps it. */
static const char *name_of(struct servers *all, const struct mortise_yaml *key)
{
    char name[NAME_MOST + 1];
    struct mortise_diag *d;
    const char *out;

    if (is_name(key->str))
        return key->str;
    sketch(name, key->str);
    find_free(all, name);
    mortise_foreign_put(&all->f, all->ours, name, json_true());
    d = mortise_diag_add(all->f.diags, "W1002", key->span,
                         "'%.100s' is named '%s', because it is not a valid "
                         "name of a server in Mortise",
                         key->str, name);
    mortise_diag_help(all->f.diags, d,
                      "a name begins with a lowercase letter, followed by "
                      "lowercase letters, digits, '_' and '-'");
    out = mortise_arena_strdup(all->f.arena, name);
    all->f.nomem |= out == NULL;
    return out != NULL ? out : "";
}

/* ---- fields ---------------------------------------------------------------- */

static const char *quoted(const struct server *s)
{
    return s->key->str;
}

static bool is_kind(struct server *s, const char *name,
                    const struct mortise_yaml *v, enum mortise_yaml_kind kind)
{
    struct mortise_yaml like = {.kind = kind};

    if (v->kind == kind)
        return true;
    mortise_foreign_wrong(&s->all->f, v->span, NULL,
                          "'%s' of server '%.64s' must be %s, not %s", name,
                          quoted(s), mortise_yaml_kind_name(like.kind),
                          mortise_yaml_kind_name(v->kind));
    return false;
}

/* A mapping of names to texts, of variables or headers. */
static void take_texts(struct server *s, const char *from, const char *to,
                       enum server_place place)
{
    const struct mortise_yaml *map = mortise_foreign_get(s->map, from);
    json_t *out;

    if (map == NULL || !is_kind(s, from, map, MORTISE_YAML_MAP))
        return;
    out = json_object();
    for (size_t i = 0; i < map->n; i++) {
        json_t *text =
            mortise_server_text(s, map->items[i], place, map->keys[i]->str);

        if (text != NULL)
            mortise_foreign_put(&s->all->f, out, map->keys[i]->str, text);
    }
    mortise_foreign_put_some(&s->all->f, s->into, to, out);
}

/* ---- a program ------------------------------------------------------------- */

/* "--api-key" before a value, or before the = in one; "" is none. */
static const char *option_before(const struct mortise_yaml *args, size_t i)
{
    const char *before = i > 0 ? args->items[i - 1]->str : NULL;

    return before != NULL && before[0] == '-' && strchr(before, '=') == NULL &&
                   args->items[i]->str != NULL && args->items[i]->str[0] != '-'
               ? before
               : "";
}

/* The file that is run, as a path from the new file where it is one; NULL: it is
 * left behind. */
static json_t *program_of(struct server *s)
{
    json_t *text =
        mortise_server_path(s, mortise_foreign_get(s->map, "command"));
    const char *path = json_string_value(text);
    json_t *out;

    if (path == NULL || strchr(path, '/') == NULL)
        return text;
    out = json_string(mortise_server_from_file(s, path));
    s->all->f.nomem |= out == NULL;
    json_decref(text);
    return out;
}

/* NULL: its program is left behind. */
static json_t *command_of(struct server *s)
{
    const struct mortise_yaml *args = mortise_foreign_get(s->map, "args");
    json_t *program = program_of(s), *command;

    if (program == NULL)
        return NULL;
    command = json_pack("[o]", program);
    s->all->f.nomem |= command == NULL;
    if (args == NULL || !is_kind(s, "args", args, MORTISE_YAML_SEQ))
        return command;
    for (size_t i = 0; i < args->n; i++) {
        json_t *one = mortise_server_text(s, args->items[i], SERVER_ARG,
                                          option_before(args, i));

        if (one != NULL && json_array_append_new(command, one) != 0)
            s->all->f.nomem = true;
    }
    return command;
}

/* Where it is started; NULL: where the list counts from. */
static const char *cwd_of(struct server *s)
{
    const struct mortise_yaml *cwd = mortise_foreign_get(s->map, "cwd");
    json_t *text = cwd != NULL ? mortise_server_path(s, cwd) : NULL;
    const char *out = NULL;

    if (text != NULL) {
        out = mortise_arena_strdup(s->all->f.arena, json_string_value(text));
        s->all->f.nomem |= out == NULL;
    }
    json_decref(text);
    return out;
}

static void take_program(struct server *s)
{
    const struct mortise_yaml *program = mortise_yaml_get(s->map, "command");
    json_t *command;

    if (!is_kind(s, "command", program, MORTISE_YAML_STRING))
        return;
    s->cwd = cwd_of(s);
    command = command_of(s);
    if (command != NULL)
        command = mortise_server_installed(s, command);
    if (command == NULL)
        return;
    mortise_foreign_put(&s->all->f, s->into, "command", json_incref(command));
    take_texts(s, "env", "env", SERVER_ENV);
    mortise_server_sandbox(s, command);
    json_decref(command);
}

/* ---- a place on the network -------------------------------------------------- */

/* Its URL has several names; NULL: it has none. */
static const struct mortise_yaml *url_of(const struct mortise_yaml *map)
{
    static const char *const names[] = {"url", "httpUrl", "serverUrl"};
    const struct mortise_yaml *v = NULL;

    for (size_t i = 0; v == NULL && i < sizeof names / sizeof names[0]; i++)
        v = mortise_foreign_get(map, names[i]);
    return v;
}

/* What a URL of http says, others on the way read and change. */
static void tell_open(struct server *s, const struct mortise_yaml *at,
                      const char *url)
{
    if (strncmp(url, "http://", 7) != 0 || strncmp(url + 7, "${", 2) == 0 ||
        mortise_mcp_is_url(url))
        return;
    mortise_foreign_say(&s->all->f, "W1003", at->span,
                        "use its https URL, if it has one",
                        "server '%.64s' cannot be called: its URL is http, and "
                        "not of this machine",
                        quoted(s));
    mortise_server_note(s, "url", "http is refused: write https");
}

static void take_place(struct server *s)
{
    const struct mortise_yaml *url = url_of(s->map);
    json_t *text;

    if (!is_kind(s, "url", url, MORTISE_YAML_STRING))
        return;
    text = mortise_server_text(s, url, SERVER_URL, "");
    if (text == NULL)
        return;
    tell_open(s, url, json_string_value(text));
    mortise_foreign_put(&s->all->f, s->into, "url", text);
    take_texts(s, "headers", "headers", SERVER_HEADER);
}

/* ---- one server -------------------------------------------------------------- */

static const struct {
    const char *name, *why; /* NULL: it is read */
} fields[] = {
    {"command", NULL},
    {"args", NULL},
    {"env", NULL},
    {"cwd", NULL},
    {"type", NULL},
    {"transport", NULL},
    {"transportType", NULL},
    {"url", NULL},
    {"httpUrl", NULL},
    {"serverUrl", NULL},
    {"headers", NULL},
    {"disabled", NULL},
    {"enabled", NULL},
    {"envFile", "write its variables in `env`"},
    {"autoApprove", "use tools.allow and tools.ask of the deployment"},
    {"alwaysAllow", "use tools.allow and tools.ask of the deployment"},
    {"trust", "use tools.allow and tools.ask of the deployment"},
    {"disabledTools", "use tools.deny of the deployment"},
    {"excludeTools", "use tools.deny of the deployment"},
    {"includeTools", "use tools.allow of the deployment"},
    {"timeout", "write it as `timeout` with a unit, such as 60s"},
    {"oauth", "write it as the server's `auth`"},
    {"auth", "write it as the server's `auth`"},
};

/* Fields that are passed over (1). */
static void tell_fields(struct server *s)
{
    for (size_t i = 0; i < s->map->n; i++) {
        const struct mortise_yaml *key = s->map->keys[i];
        const char *why = "it has no meaning here";
        size_t k = 0;

        while (k < sizeof fields / sizeof fields[0] &&
               strcmp(fields[k].name, key->str) != 0)
            k++;
        if (k < sizeof fields / sizeof fields[0])
            why = fields[k].why;
        if (why != NULL)
            mortise_foreign_lost(&s->all->f, key->span, why,
                                 "'%.64s' of server '%.64s' is not imported",
                                 key->str, quoted(s));
    }
}

/* One that says `type` has a word for how it is spoken with. */
static const struct mortise_yaml *type_of(const struct mortise_yaml *map)
{
    static const char *const names[] = {"type", "transport", "transportType"};
    const struct mortise_yaml *v = NULL;

    for (size_t i = 0; v == NULL && i < sizeof names / sizeof names[0]; i++)
        v = mortise_foreign_get(map, names[i]);
    return v;
}

/* Is that what this build speaks?  Else the server is left behind. */
static bool is_spoken(struct server *s, const struct mortise_yaml *type)
{
    static const char *const words[] = {
        "stdio",           "local",          "http",  "streamable-http",
        "streamable_http", "streamableHttp", "remote"};

    if (type == NULL)
        return true;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (mortise_foreign_is(type, words[i]))
            return true;
    if (mortise_foreign_is(type, "sse"))
        mortise_foreign_lost(
            &s->all->f, type->span,
            "most of these servers also support 'streamable HTTP': use its URL",
            "server '%.64s' is not imported: it uses the old transport, HTTP "
            "with SSE, which is not supported",
            quoted(s));
    else
        mortise_foreign_lost(
            &s->all->f, type->span, "stdio and http are supported",
            "server '%.64s' is not imported: its transport is not supported",
            quoted(s));
    return false;
}

static bool is_off(struct server *s)
{
    const struct mortise_yaml *off = mortise_foreign_get(s->map, "disabled"),
                              *on = mortise_foreign_get(s->map, "enabled");
    bool is = (off != NULL && off->kind == MORTISE_YAML_BOOL && off->u.b) ||
              (on != NULL && on->kind == MORTISE_YAML_BOOL && !on->u.b);

    if (is)
        mortise_foreign_lost(&s->all->f, s->key->span,
                             "enable it in the list, and import the list again",
                             "server '%.64s' is not imported: it is disabled",
                             quoted(s));
    return is;
}

static void take_server(struct server *s)
{
    bool program = mortise_foreign_get(s->map, "command") != NULL,
         place = url_of(s->map) != NULL;

    if (is_off(s) || !is_spoken(s, type_of(s->map)))
        return;
    if (!program && !place) {
        mortise_foreign_wrong(
            &s->all->f, s->key->span,
            "set 'command' for a program, or 'url' for a server on the network",
            "server '%.64s' has neither 'command' nor 'url'", quoted(s));
        return;
    }
    if (program && place)
        mortise_foreign_lost(&s->all->f, url_of(s->map)->span, NULL,
                             "the URL of server '%.64s' is not imported: the "
                             "server has a command",
                             quoted(s));
    tell_fields(s);
    if (program)
        take_program(s);
    else
        take_place(s);
}

/* ---- the list ------------------------------------------------------------------ */

/* {NAME: server}, all that are taken. */
static json_t *take_list(struct servers *all, const struct mortise_yaml *list)
{
    json_t *out = json_object();

    for (size_t i = 0; i < list->n; i++)
        if (is_name(list->keys[i]->str))
            mortise_foreign_put(&all->f, all->ours, list->keys[i]->str,
                                json_true());
    for (size_t i = 0; i < list->n; i++) {
        struct server s = {.all = all,
                           .key = list->keys[i],
                           .map = list->items[i],
                           .into = json_object()};

        if (s.map->kind != MORTISE_YAML_MAP) {
            mortise_foreign_wrong(&all->f, s.map->span, NULL,
                                  "server '%.64s' must be a mapping, not %s",
                                  quoted(&s),
                                  mortise_yaml_kind_name(s.map->kind));
        } else {
            s.ours = name_of(all, s.key);
            take_server(&s);
        }
        if (json_object_size(s.into) > 0)
            mortise_foreign_put(&all->f, out, s.ours, s.into);
        else
            json_decref(s.into);
    }
    return out;
}

/* Where the list is in the file, and what else counts for it. */
static const struct mortise_yaml *list_of(struct servers *all,
                                          const struct mortise_yaml *root)
{
    const struct mortise_yaml *in = root, *list;

    if (mortise_yaml_get(root, "apiVersion") != NULL) {
        mortise_foreign_wrong(
            &all->f, mortise_yaml_key(root, "apiVersion")->span,
            "use it with `mortise check`", "this is already a file of Mortise");
        return NULL;
    }
    list = mortise_yaml_get(root, "mcpServers");
    if (list == NULL) {
        in = mortise_yaml_get(root, "mcp") != NULL
                 ? mortise_yaml_get(root, "mcp")
                 : root;
        list = mortise_yaml_get(in, "servers");
    }
    all->inputs = mortise_foreign_get(in, "inputs");
    if (list != NULL && list->kind == MORTISE_YAML_MAP)
        return list;
    mortise_foreign_wrong(
        &all->f, list != NULL ? list->span : root->span,
        "'mcpServers' (or 'servers') must be a mapping from names to servers",
        "this is not a list of servers that can be imported");
    return NULL;
}

/* Whatever else stands beside the list is not looked at in the settings of an
 * editor; in a file of its own there is nothing else. */
static void tell_rest(struct servers *all, const struct mortise_yaml *root)
{
    if (mortise_yaml_get(root, "mcp") != NULL)
        return;
    for (size_t i = 0; i < root->n; i++) {
        const struct mortise_yaml *key = root->keys[i];

        if (strcmp(key->str, "mcpServers") != 0 &&
            strcmp(key->str, "servers") != 0 &&
            strcmp(key->str, "inputs") != 0 && strcmp(key->str, "$schema") != 0)
            mortise_foreign_lost(&all->f, key->span, NULL,
                                 "'%.64s' is not imported", key->str);
    }
}

/* ---- the file that comes out ------------------------------------------------- */

/* The variables that must be set for a string to be read. */
static void note_wanted(struct servers *all, const char *s, json_t *names)
{
    struct mortise_outside o;
    char name[256];

    while (mortise_expand_next(&s, &o)) {
        snprintf(name, sizeof name, "%.*s", (int)o.n, o.name);
        if (o.name[o.n] == '}' && strcmp(name, "HOME") != 0)
            mortise_foreign_put(&all->f, names, name, json_true());
    }
}

static void find_wanted(struct servers *all, const json_t *v, json_t *names)
{
    if (json_is_string(v))
        note_wanted(all, json_string_value(v), names);
    MORTISE_JSON_EACH (one, i, v)
        find_wanted(all, one, names);
    MORTISE_JSON_MEMBERS (key, one, v)
        find_wanted(all, one, names);
}

static void put_wanted(struct servers *all, struct mortise_buf *out,
                       const json_t *servers)
{
    json_t *names = json_object();

    find_wanted(all, servers, names);
    if (json_object_size(names) > 0)
        mortise_buf_puts(out, "#\n# Set these variables: their values are "
                              "inserted when this file is read:\n#\n");
    MORTISE_JSON_MEMBERS (name, one, names)
        mortise_buf_printf(out, "#   %s\n", name);
    json_decref(names);
}

static void put_head(struct servers *all, struct mortise_buf *out,
                     const json_t *servers, bool is_printed)
{
    const struct mortise_diags *diags = all->f.diags;

    mortise_buf_puts(out, "# MCP servers, by `mortise config import`.\n#\n");
    if (is_printed)
        mortise_buf_puts(out,
                         "# Paths are relative to the directory of this file: "
                         "put it into the directory\n"
                         "# of the list, or next to the editor's directory "
                         "that contains the list.\n#\n");
    mortise_buf_puts(
        out, "# Check each `sandbox`: a program can use only the files that it "
             "lists.\n"
             "# Each call of a tool is external and never repeated, unless "
             "`effects` sets a\n"
             "# weaker class: effects: {read: [\"read_*\", \"list_*\"]}.  Then "
             "`mortise doctor`\n"
             "# starts each server, and `mortise mcp pin` pins its tools.\n");
    put_wanted(all, out, servers);
    if (diags->n > 0)
        mortise_buf_puts(out, "#\n# Differences to the imported list, with its "
                              "lines and columns:\n#\n");
    for (size_t i = 0; i < diags->n; i++)
        mortise_buf_printf(out, "#   %u:%u: %s\n", diags->list[i].span.line,
                           diags->list[i].span.col, diags->list[i].message);
}

static int write_file(struct servers *all, struct mortise_buf *out,
                      json_t *servers, bool is_printed)
{
    json_t *file = json_pack("{s:s, s:s, s:{s:s}, s:{s:O}}", "apiVersion",
                             "mortise/v1", "kind", "Deployment", "metadata",
                             "name", "mcp", "tools", "mcp", servers);
    int rv = MORTISE_ENOMEM;

    if (file != NULL && json_object_size(all->secrets) > 0)
        mortise_foreign_put(&all->f, file, "secrets",
                            json_incref(all->secrets));
    if (file != NULL && !all->f.nomem) {
        mortise_diags_sort(all->f.diags);
        put_head(all, out, servers, is_printed);
        rv = mortise_yaml_write(out, file, note_of, all->notes);
    }
    json_decref(file);
    return rv;
}

static int import(struct servers *all, struct mortise_buf *out,
                  const struct mortise_yaml *root, bool is_printed)
{
    const struct mortise_yaml *list = list_of(all, root);
    json_t *servers;
    int rv = MORTISE_ECHECK;

    if (list == NULL)
        return rv;
    tell_rest(all, root);
    servers = take_list(all, list);
    if (all->f.nomem || all->f.diags->failed)
        rv = MORTISE_ENOMEM;
    else if (json_object_size(servers) == 0 && all->f.diags->n_errors == 0)
        mortise_foreign_wrong(&all->f, list->span, NULL,
                              "none of these servers can be imported");
    else if (all->f.diags->n_errors == 0)
        rv = write_file(all, out, servers, is_printed);
    json_decref(servers);
    return rv;
}

/* ---- before it is read --------------------------------------------------------- */

/* How long the comment is that begins here; 0: none does. */
static size_t comment_at(const char *p, size_t n)
{
    const char *end;

    if (n < 2 || p[0] != '/' || (p[1] != '/' && p[1] != '*'))
        return 0;
    end = p[1] == '/' ? memchr(p, '\n', n) : memmem(p + 2, n - 2, "*/", 2);
    if (end == NULL)
        return n;
    return (size_t)(end - p) + (p[1] == '*' ? 2 : 0);
}

/* Editors let comments stand in JSON: blanks in their place, so that places
 * stay.  A file that is no JSON object is left alone. */
static void blank_comments(char *p, size_t n)
{
    size_t more, begin = strspn(p, " \t\r\n");
    bool in_string = false;

    if (p[begin] != '{' && comment_at(p + begin, n - begin) == 0)
        return;
    for (size_t i = begin; i < n; i += more) {
        more = in_string ? 0 : comment_at(p + i, n - i);
        for (size_t k = i; k < i + more; k++)
            if (p[k] != '\n')
                p[k] = ' ';
        if (more > 0)
            continue;
        more = in_string && p[i] == '\\' ? 2 : 1;
        if (p[i] == '"')
            in_string = !in_string;
    }
}

/* ---- where it is ------------------------------------------------------------------ */

/* The directory of a path, in the arena: that of an editor (.vscode) belongs to
 * the one above it. */
static const char *base_of(struct mortise_arena *a, const char *path)
{
    const char *slash = strrchr(path, '/'), *last;
    char *dir = slash != NULL && slash != path
                    ? mortise_arena_strndup(a, path, (size_t)(slash - path))
                    : mortise_arena_strdup(a, slash != NULL ? "/" : ".");

    if (dir == NULL)
        return NULL;
    last = strrchr(dir, '/') != NULL ? strrchr(dir, '/') + 1 : dir;
    if (last[0] != '.' || last[1] == '\0' || strcmp(last, "..") == 0)
        return dir;
    if (last == dir)
        return mortise_arena_strdup(a, ".");
    dir[last == dir + 1 ? 1 : last - dir - 1] = '\0';
    return dir;
}

static bool is_same(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

/* The directory that a new file is in, as it is said. */
static const char *parent(struct mortise_arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? "."
           : slash == path
               ? "/"
               : mortise_arena_strndup(a, path, (size_t)(slash - path));
}

static bool find_places(struct servers *all, const char *path, const char *to)
{
    struct mortise_arena *a = all->f.arena;
    const char *there = to != NULL ? parent(a, to) : NULL;
    char *real;

    all->base = base_of(a, path);
    if (all->base == NULL || (to != NULL && there == NULL))
        return false;
    real = realpath(all->base, NULL);
    all->whole = real != NULL ? mortise_arena_strdup(a, real) : all->base;
    free(real);
    all->is_elsewhere = to != NULL && !is_same(all->base, there);
    return all->whole != NULL;
}

/* ---- all of it ---------------------------------------------------------------------- */

/* No finding shows its line, in which there may be a secret (2). */
static void forget_lines(struct mortise_diags *diags, size_t from)
{
    for (size_t i = from; i < diags->n; i++)
        diags->list[i].source = NULL;
}

int mortise_servers_import(struct mortise_buf *out, const char *path,
                           const char *to, const char *text, size_t n,
                           struct mortise_diags *diags, struct mortise_err *err)
{
    struct mortise_arena arena;
    struct servers all = {.f = {.arena = &arena, .diags = diags},
                          .ours = json_object(),
                          .vars = json_object(),
                          .secrets = json_object(),
                          .notes = json_object()};
    struct mortise_yaml *root = NULL;
    size_t before = diags->n;
    char *plain;
    int rv = MORTISE_ENOMEM;

    mortise_arena_init(&arena, out->mem);
    plain = mortise_arena_alloc(&arena, n + 1);
    if (plain != NULL && find_places(&all, path, to)) {
        memcpy(plain, text, n);
        blank_comments(plain, n);
        rv = mortise_yaml_parse(&root, &arena, path, plain, n, diags);
    }
    if (rv == MORTISE_OK)
        rv = import(&all, out, root, to == NULL);
    forget_lines(diags, before);
    json_decref(all.ours);
    json_decref(all.vars);
    json_decref(all.secrets);
    json_decref(all.notes);
    mortise_arena_finish(&arena);
    if (rv == MORTISE_ENOMEM || diags->failed || out->failed)
        return mortise_nomem(err);
    return rv == MORTISE_ECHECK
               ? mortise_fail(err, rv, "%s cannot be imported", path)
               : rv;
}
