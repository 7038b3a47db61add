/* servers.c -- convert lists of MCP servers to Deployment files.
 *
 * Assistants and editors keep their servers in a JSON file:
 *
 *     {"mcpServers": {"files": {"command": "npx", "args": [...], "env": {...}},
 *                     "remote": {"type": "http", "url": "...", "headers": {}}}}
 *
 * Some use "servers" and "inputs" instead of "mcpServers", may put them inside
 * "mcp", and allow comments.  The new file is a valid Deployment.  Guarantees:
 *
 *   (1) Each loss is reported: as a warning at its place, and as a comment at
 *       the head of the new file.
 *   (2) No secret is printed.  A value that may be a secret becomes a reference
 *       to a secret, which comes from an environment variable.  Arguments and
 *       URLs take no such references; they get the variable itself.  Findings
 *       and comments never quote values or lines of the list.
 *   (3) Text is never expanded by accident: a `${` without a meaning in the
 *       source is escaped in the new file.
 *   (4) A program may use the paths that its arguments name, and no others.
 *       The new file lists them, so that the user can check them.
 *   (5) The same list in the same directory gives the same file.
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

enum { SERVER_NAME_MAX = MORTISE_MCP_NAME };

/* ---- comments in the new file ------------------------------------------- */

void mortise_server_add_comment(struct server *s, const char *where,
                                const char *fmt, ...)
{
    char pointer[512], words[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(words, sizeof words, fmt, ap);
    va_end(ap);
    snprintf(pointer, sizeof pointer, "/tools/mcp/%s/%s", s->ours, where);
    mortise_foreign_set(&s->all->f, s->all->notes, pointer, json_string(words));
}

static const char *get_file_comment(void *ud, const char *pointer)
{
    return json_string_value(json_object_get(ud, pointer));
}

/* ---- names -------------------------------------------------------------- */

static bool is_server_name_start(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_server_name_char(char c)
{
    return is_server_name_start(c) || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

static bool is_server_name(const char *s)
{
    if (!is_server_name_start(s[0]) || strlen(s) > SERVER_NAME_MAX)
        return false;
    while (is_server_name_char(*s))
        s++;
    return *s == '\0';
}

/* Replace the characters that a name cannot contain. */
static void make_valid_name(char out[SERVER_NAME_MAX + 1], const char *given)
{
    size_t n = 0;

    for (; *given != '\0' && n < SERVER_NAME_MAX; given++) {
        char c = *given >= 'A' && *given <= 'Z' ? (char)(*given + 32) : *given;

        if (n == 0 && is_server_name_char(c) && !is_server_name_start(c))
            n = (size_t)snprintf(out, SERVER_NAME_MAX, "mcp-");
        if (is_server_name_char(c))
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

static void find_unused_name(const struct servers *all,
                             char name[SERVER_NAME_MAX + 1])
{
    char base[SERVER_NAME_MAX + 1], end[24];

    memcpy(base, name, sizeof base);
    for (unsigned k = 2; json_object_get(all->ours, name) != NULL; k++) {
        int room = SERVER_NAME_MAX - snprintf(end, sizeof end, "-%u", k);

        snprintf(name, SERVER_NAME_MAX + 1, "%.*s%s", room, base, end);
    }
}

/* Choose the new name of a server.  A valid name stays the same. */
static const char *choose_server_name(struct servers *all,
                                      const struct mortise_yaml *key)
{
    char name[SERVER_NAME_MAX + 1];
    struct mortise_diag *d;
    const char *out;

    if (is_server_name(key->str))
        return key->str;
    make_valid_name(name, key->str);
    find_unused_name(all, name);
    mortise_foreign_set(&all->f, all->ours, name, json_true());
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

/* ---- fields ------------------------------------------------------------- */

/* The name in the list: messages use it, and not the new name. */
static const char *get_source_name(const struct server *s)
{
    return s->key->str;
}

static bool has_yaml_kind(struct server *s, const char *name,
                          const struct mortise_yaml *v,
                          enum mortise_yaml_kind kind)
{
    struct mortise_yaml like = {.kind = kind};

    if (v->kind == kind)
        return true;
    mortise_foreign_report_error(
        &s->all->f, v->span, NULL, "'%s' of server '%.64s' must be %s, not %s",
        name, get_source_name(s), mortise_yaml_kind_name(like.kind),
        mortise_yaml_kind_name(v->kind));
    return false;
}

/* Convert a mapping of names to strings: variables or headers. */
static void convert_text_map(struct server *s, const char *from, const char *to,
                             enum server_place place)
{
    const struct mortise_yaml *map = mortise_foreign_get(s->map, from);
    json_t *out;

    if (map == NULL || !has_yaml_kind(s, from, map, MORTISE_YAML_MAP))
        return;
    out = json_object();
    for (size_t i = 0; i < map->n; i++) {
        json_t *text = mortise_server_convert_string(s, map->items[i], place,
                                                     map->keys[i]->str);

        if (text != NULL)
            mortise_foreign_set(&s->all->f, out, map->keys[i]->str, text);
    }
    mortise_foreign_set_nonempty(&s->all->f, s->into, to, out);
}

/* ---- programs ----------------------------------------------------------- */

/* Get the option, such as "--api-key", before an argument; "": none. */
static const char *get_option_before(const struct mortise_yaml *args, size_t i)
{
    const char *before = i > 0 ? args->items[i - 1]->str : NULL;

    return before != NULL && before[0] == '-' && strchr(before, '=') == NULL &&
                   args->items[i]->str != NULL && args->items[i]->str[0] != '-'
               ? before
               : "";
}

/* Get the program; a path becomes relative to the new file.  NULL: not
 * imported. */
static json_t *convert_program_path(struct server *s)
{
    json_t *text =
        mortise_server_convert_path(s, mortise_foreign_get(s->map, "command"));
    const char *path = json_string_value(text);
    json_t *out;

    if (path == NULL || strchr(path, '/') == NULL)
        return text;
    out = json_string(mortise_server_make_file_path(s, path));
    s->all->f.nomem |= out == NULL;
    json_decref(text);
    return out;
}

/* NULL: the program is not imported. */
static json_t *convert_command(struct server *s)
{
    const struct mortise_yaml *args = mortise_foreign_get(s->map, "args");
    json_t *program = convert_program_path(s), *command;

    if (program == NULL)
        return NULL;
    command = json_pack("[o]", program);
    s->all->f.nomem |= command == NULL;
    if (args == NULL || !has_yaml_kind(s, "args", args, MORTISE_YAML_SEQ))
        return command;
    for (size_t i = 0; i < args->n; i++) {
        json_t *one = mortise_server_convert_string(
            s, args->items[i], SERVER_ARG, get_option_before(args, i));

        if (one != NULL && json_array_append_new(command, one) != 0)
            s->all->f.nomem = true;
    }
    return command;
}

/* Get the working directory; NULL: the list sets none. */
static const char *get_server_cwd(struct server *s)
{
    const struct mortise_yaml *cwd = mortise_foreign_get(s->map, "cwd");
    json_t *text = cwd != NULL ? mortise_server_convert_path(s, cwd) : NULL;
    const char *out = NULL;

    if (text != NULL) {
        out = mortise_arena_strdup(s->all->f.arena, json_string_value(text));
        s->all->f.nomem |= out == NULL;
    }
    json_decref(text);
    return out;
}

static void convert_program(struct server *s)
{
    const struct mortise_yaml *program = mortise_yaml_get(s->map, "command");
    json_t *command;

    if (!has_yaml_kind(s, "command", program, MORTISE_YAML_STRING))
        return;
    s->cwd = get_server_cwd(s);
    command = convert_command(s);
    if (command != NULL)
        command = mortise_server_replace_launcher(s, command);
    if (command == NULL)
        return;
    mortise_foreign_set(&s->all->f, s->into, "command", json_incref(command));
    convert_text_map(s, "env", "env", SERVER_ENV);
    mortise_server_add_sandbox(s, command);
    json_decref(command);
}

/* ---- remote servers ----------------------------------------------------- */

/* Get the URL, which has several names; NULL: it has none. */
static const struct mortise_yaml *
find_server_url(const struct mortise_yaml *map)
{
    static const char *const names[] = {"url", "httpUrl", "serverUrl"};
    const struct mortise_yaml *v = NULL;

    for (size_t i = 0; v == NULL && i < sizeof names / sizeof names[0]; i++)
        v = mortise_foreign_get(map, names[i]);
    return v;
}

/* Others on the network can read and change http. */
static void report_plain_http(struct server *s, const struct mortise_yaml *at,
                              const char *url)
{
    if (strncmp(url, "http://", 7) != 0 || strncmp(url + 7, "${", 2) == 0 ||
        mortise_mcp_is_url(url))
        return;
    mortise_foreign_report(
        &s->all->f, "W1003", at->span, "use its https URL, if it has one",
        "server '%.64s' cannot be called: its URL is http, and "
        "not of this machine",
        get_source_name(s));
    mortise_server_add_comment(s, "url", "http is refused: write https");
}

static void convert_remote(struct server *s)
{
    const struct mortise_yaml *url = find_server_url(s->map);
    json_t *text;

    if (!has_yaml_kind(s, "url", url, MORTISE_YAML_STRING))
        return;
    text = mortise_server_convert_string(s, url, SERVER_URL, "");
    if (text == NULL)
        return;
    report_plain_http(s, url, json_string_value(text));
    mortise_foreign_set(&s->all->f, s->into, "url", text);
    convert_text_map(s, "headers", "headers", SERVER_HEADER);
}

/* ---- one server --------------------------------------------------------- */

static const struct {
    const char *name, *why; /* help text; NULL: the field is imported */
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

/* Report fields that are not imported (1). */
static void report_lost_fields(struct server *s)
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
            mortise_foreign_report_loss(
                &s->all->f, key->span, why,
                "'%.64s' of server '%.64s' is not imported", key->str,
                get_source_name(s));
    }
}

/* Get the transport; NULL: the list sets none. */
static const struct mortise_yaml *find_transport(const struct mortise_yaml *map)
{
    static const char *const names[] = {"type", "transport", "transportType"};
    const struct mortise_yaml *v = NULL;

    for (size_t i = 0; v == NULL && i < sizeof names / sizeof names[0]; i++)
        v = mortise_foreign_get(map, names[i]);
    return v;
}

/* Is the transport supported?  If not, the server is not imported. */
static bool is_transport_supported(struct server *s,
                                   const struct mortise_yaml *type)
{
    static const char *const words[] = {
        "stdio",           "local",          "http",  "streamable-http",
        "streamable_http", "streamableHttp", "remote"};

    if (type == NULL)
        return true;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (mortise_foreign_is_string(type, words[i]))
            return true;
    if (mortise_foreign_is_string(type, "sse"))
        mortise_foreign_report_loss(
            &s->all->f, type->span,
            "most of these servers also support 'streamable HTTP': use its URL",
            "server '%.64s' is not imported: it uses the old transport, HTTP "
            "with SSE, which is not supported",
            get_source_name(s));
    else
        mortise_foreign_report_loss(
            &s->all->f, type->span, "stdio and http are supported",
            "server '%.64s' is not imported: its transport is not supported",
            get_source_name(s));
    return false;
}

static bool is_server_disabled(struct server *s)
{
    const struct mortise_yaml *off = mortise_foreign_get(s->map, "disabled"),
                              *on = mortise_foreign_get(s->map, "enabled");
    bool is = (off != NULL && off->kind == MORTISE_YAML_BOOL && off->u.b) ||
              (on != NULL && on->kind == MORTISE_YAML_BOOL && !on->u.b);

    if (is)
        mortise_foreign_report_loss(
            &s->all->f, s->key->span,
            "enable it in the list, and import the list again",
            "server '%.64s' is not imported: it is disabled",
            get_source_name(s));
    return is;
}

static void convert_server(struct server *s)
{
    bool program = mortise_foreign_get(s->map, "command") != NULL,
         place = find_server_url(s->map) != NULL;

    if (is_server_disabled(s) ||
        !is_transport_supported(s, find_transport(s->map)))
        return;
    if (!program && !place) {
        mortise_foreign_report_error(
            &s->all->f, s->key->span,
            "set 'command' for a program, or 'url' for a server on the network",
            "server '%.64s' has neither 'command' nor 'url'",
            get_source_name(s));
        return;
    }
    if (program && place)
        mortise_foreign_report_loss(
            &s->all->f, find_server_url(s->map)->span, NULL,
            "the URL of server '%.64s' is not imported: the "
            "server has a command",
            get_source_name(s));
    report_lost_fields(s);
    if (program)
        convert_program(s);
    else
        convert_remote(s);
}

/* ---- the list ----------------------------------------------------------- */

/* Convert all servers: {NAME: server}. */
static json_t *convert_server_list(struct servers *all,
                                   const struct mortise_yaml *list)
{
    json_t *out = json_object();

    for (size_t i = 0; i < list->n; i++)
        if (is_server_name(list->keys[i]->str))
            mortise_foreign_set(&all->f, all->ours, list->keys[i]->str,
                                json_true());
    for (size_t i = 0; i < list->n; i++) {
        struct server s = {.all = all,
                           .key = list->keys[i],
                           .map = list->items[i],
                           .into = json_object()};

        if (s.map->kind != MORTISE_YAML_MAP) {
            mortise_foreign_report_error(
                &all->f, s.map->span, NULL,
                "server '%.64s' must be a mapping, not %s", get_source_name(&s),
                mortise_yaml_kind_name(s.map->kind));
        } else {
            s.ours = choose_server_name(all, s.key);
            convert_server(&s);
        }
        if (json_object_size(s.into) > 0)
            mortise_foreign_set(&all->f, out, s.ours, s.into);
        else
            json_decref(s.into);
    }
    return out;
}

/* Find the list and its inputs in the file. */
static const struct mortise_yaml *
find_server_list(struct servers *all, const struct mortise_yaml *root)
{
    const struct mortise_yaml *in = root, *list;

    if (mortise_yaml_get(root, "apiVersion") != NULL) {
        mortise_foreign_report_error(
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
    mortise_foreign_report_error(
        &all->f, list != NULL ? list->span : root->span,
        "'mcpServers' (or 'servers') must be a mapping from names to servers",
        "this is not a list of servers that can be imported");
    return NULL;
}

/* Report other keys beside the list, unless the file is the settings of an
 * editor, whose other keys are not for the import. */
static void report_other_keys(struct servers *all,
                              const struct mortise_yaml *root)
{
    if (mortise_yaml_get(root, "mcp") != NULL)
        return;
    for (size_t i = 0; i < root->n; i++) {
        const struct mortise_yaml *key = root->keys[i];

        if (strcmp(key->str, "mcpServers") != 0 &&
            strcmp(key->str, "servers") != 0 &&
            strcmp(key->str, "inputs") != 0 && strcmp(key->str, "$schema") != 0)
            mortise_foreign_report_loss(&all->f, key->span, NULL,
                                        "'%.64s' is not imported", key->str);
    }
}

/* ---- the new file ------------------------------------------------------- */

/* Collect the variables without a default, which must be set to load the
 * file. */
static void add_variables_of_text(struct servers *all, const char *s,
                                  json_t *names)
{
    struct mortise_expansion o;
    char name[256];

    while (mortise_expand_find_next(&s, &o)) {
        snprintf(name, sizeof name, "%.*s", (int)o.n, o.name);
        if (o.name[o.n] == '}' && strcmp(name, "HOME") != 0)
            mortise_foreign_set(&all->f, names, name, json_true());
    }
}

static void find_needed_variables(struct servers *all, const json_t *v,
                                  json_t *names)
{
    if (json_is_string(v))
        add_variables_of_text(all, json_string_value(v), names);
    MORTISE_JSON_EACH (one, i, v)
        find_needed_variables(all, one, names);
    MORTISE_JSON_MEMBERS (key, one, v)
        find_needed_variables(all, one, names);
}

static void put_needed_variables(struct servers *all, struct mortise_buf *out,
                                 const json_t *servers)
{
    json_t *names = json_object();

    find_needed_variables(all, servers, names);
    if (json_object_size(names) > 0)
        mortise_buf_puts(out, "#\n# Set these variables: their values are "
                              "inserted when this file is read:\n#\n");
    MORTISE_JSON_MEMBERS (name, one, names)
        mortise_buf_printf(out, "#   %s\n", name);
    json_decref(names);
}

static void put_deployment_comment(struct servers *all, struct mortise_buf *out,
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
    put_needed_variables(all, out, servers);
    if (diags->n > 0)
        mortise_buf_puts(out, "#\n# Differences to the imported list, with its "
                              "lines and columns:\n#\n");
    for (size_t i = 0; i < diags->n; i++)
        mortise_buf_printf(out, "#   %u:%u: %s\n", diags->list[i].span.line,
                           diags->list[i].span.col, diags->list[i].message);
}

static int write_deployment_file(struct servers *all, struct mortise_buf *out,
                                 json_t *servers, bool is_printed)
{
    json_t *file = json_pack("{s:s, s:s, s:{s:s}, s:{s:O}}", "apiVersion",
                             "mortise/v1", "kind", "Deployment", "metadata",
                             "name", "mcp", "tools", "mcp", servers);
    int rv = MORTISE_ENOMEM;

    if (file != NULL && json_object_size(all->secrets) > 0)
        mortise_foreign_set(&all->f, file, "secrets",
                            json_incref(all->secrets));
    if (file != NULL && !all->f.nomem) {
        mortise_diags_sort(all->f.diags);
        put_deployment_comment(all, out, servers, is_printed);
        rv = mortise_yaml_write(out, file, get_file_comment, all->notes);
    }
    json_decref(file);
    return rv;
}

static int import_list(struct servers *all, struct mortise_buf *out,
                       const struct mortise_yaml *root, bool is_printed)
{
    const struct mortise_yaml *list = find_server_list(all, root);
    json_t *servers;
    int rv = MORTISE_ECHECK;

    if (list == NULL)
        return rv;
    report_other_keys(all, root);
    servers = convert_server_list(all, list);
    if (all->f.nomem || all->f.diags->failed)
        rv = MORTISE_ENOMEM;
    else if (json_object_size(servers) == 0 && all->f.diags->n_errors == 0)
        mortise_foreign_report_error(&all->f, list->span, NULL,
                                     "none of these servers can be imported");
    else if (all->f.diags->n_errors == 0)
        rv = write_deployment_file(all, out, servers, is_printed);
    json_decref(servers);
    return rv;
}

/* ---- preparation -------------------------------------------------------- */

/* Get the length of the comment that begins here; 0: none does. */
static size_t get_comment_length(const char *p, size_t n)
{
    const char *end;

    if (n < 2 || p[0] != '/' || (p[1] != '/' && p[1] != '*'))
        return 0;
    end = p[1] == '/' ? memchr(p, '\n', n) : memmem(p + 2, n - 2, "*/", 2);
    if (end == NULL)
        return n;
    return (size_t)(end - p) + (p[1] == '*' ? 2 : 0);
}

/* Replace the comments that editors allow in JSON by blanks, so that lines and
 * columns stay the same.  A file that is no JSON object is not changed. */
static void blank_comments(char *p, size_t n)
{
    size_t more, begin = strspn(p, " \t\r\n");
    bool in_string = false;

    if (p[begin] != '{' && get_comment_length(p + begin, n - begin) == 0)
        return;
    for (size_t i = begin; i < n; i += more) {
        more = in_string ? 0 : get_comment_length(p + i, n - i);
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

/* ---- directories -------------------------------------------------------- */

/* Get the directory of the list, in the arena.  If it is an editor's directory,
 * such as .vscode, use the directory above it. */
static const char *get_base_directory(struct mortise_arena *a, const char *path)
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

static bool has_same_inode(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

/* Get the directory of the new file, as the caller named it. */
static const char *get_target_directory(struct mortise_arena *a,
                                        const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? "."
           : slash == path
               ? "/"
               : mortise_arena_strndup(a, path, (size_t)(slash - path));
}

static bool find_directories(struct servers *all, const char *path,
                             const char *to)
{
    struct mortise_arena *a = all->f.arena;
    const char *there = to != NULL ? get_target_directory(a, to) : NULL;
    char *real;

    all->base = get_base_directory(a, path);
    if (all->base == NULL || (to != NULL && there == NULL))
        return false;
    real = realpath(all->base, NULL);
    all->whole = real != NULL ? mortise_arena_strdup(a, real) : all->base;
    free(real);
    all->is_elsewhere = to != NULL && !has_same_inode(all->base, there);
    return all->whole != NULL;
}

/* ---- interface ---------------------------------------------------------- */

/* Findings must not quote lines, which may contain secrets (2). */
static void remove_source_lines(struct mortise_diags *diags, size_t from)
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
    if (plain != NULL && find_directories(&all, path, to)) {
        memcpy(plain, text, n);
        blank_comments(plain, n);
        rv = mortise_yaml_parse(&root, &arena, path, plain, n, diags);
    }
    if (rv == MORTISE_OK)
        rv = import_list(&all, out, root, to == NULL);
    remove_source_lines(diags, before);
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
