/* lock.c -- mortise.lock: the pinned definitions of the tools of a deployment's
 * servers.
 *
 *     {
 *       "apiVersion": "mortise/v1",
 *       "kind": "Lock",
 *       "mcp": {
 *         "files": {
 *           "protocol": "2025-11-25",
 *           "server": {"name": "desk", "version": "1.0"},
 *           "tools": {
 *             "read_file": {
 *               "description": "...",
 *               "digest": "6a1f...",
 *               "input_schema": {"type": "object"}
 *             }
 *           }
 *         }
 *       }
 *     }
 *
 * A server may change the descriptions of its tools at any time; they go to
 * models and decide which tools are called.  So people review them once, keep
 * this file together with the deployment, and see every change.
 *
 *   (1) The file is JSON in a canonical form: the same servers give the same
 *       bytes, sorted, so that a difference in text is one in meaning.
 *   (2) It is read like any other file, so errors in it have a line and a
 *       column.  Characters that YAML treats differently from JSON (line ends
 *       of other scripts, control characters) and invisible characters are
 *       escaped.
 *   (3) Writes are atomic, and a file that could not be read again is never
 *       written.
 */
#include "lang/config/lock.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/files.h"
#include "core/base/utf8.h"
#include "lang/yaml/header.h"

struct reading {
    struct mortise_arena *arena;
    struct mortise_diags *diags;
    bool nomem;
};

static void *alloc_lock(struct reading *r, size_t size)
{
    void *p = mortise_arena_alloc(r->arena, size);

    r->nomem |= p == NULL;
    return p;
}

/* ---- tools --------------------------------------------------------------- */

static void read_tool_digest(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct reading *r = ctx;
    struct mortise_lock_tool *t = into;

    t->digest = slot->value->str;
    if (strspn(t->digest, "0123456789abcdef") != MORTISE_DIGEST_HEX - 1 ||
        slot->value->len != MORTISE_DIGEST_HEX - 1)
        mortise_diag_add(r->diags, "E0612", slot->value->span,
                         "'%.100s' is not a digest of %d hexadecimal digits",
                         t->digest, MORTISE_DIGEST_HEX - 1);
}

static const struct mortise_key tool_keys[] = {
    {.name = "digest",
     .value = MORTISE_V_STRING,
     .required = true,
     .read = read_tool_digest},
    {.name = "title",
     .value = MORTISE_V_TEXT,
     MORTISE_INTO_TEXT(struct mortise_lock_tool, title)},
    {.name = "description",
     .value = MORTISE_V_TEXT,
     MORTISE_INTO_TEXT(struct mortise_lock_tool, description)},
    {.name = "input_schema",
     .value = MORTISE_V_MAP,
     .required = true,
     MORTISE_INTO_YAML(struct mortise_lock_tool, input)},
    {.name = "output_schema",
     .value = MORTISE_V_MAP,
     MORTISE_INTO_YAML(struct mortise_lock_tool, output)},
    {.name = "annotations",
     .value = MORTISE_V_MAP,
     MORTISE_INTO_YAML(struct mortise_lock_tool, annotations)},
};
MORTISE_PLACE(tool, "a pinned tool");

/* The names that every server may give a tool. */
static bool is_lock_tool_name(const struct mortise_yaml *name)
{
    return name->len > 0 && name->len <= MORTISE_LOCK_TOOL &&
           strspn(name->str,
                  "abcdefghijklmnopqrstuvwxyz"
                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/") == name->len;
}

static int compare_lock_tools(const void *a, const void *b)
{
    const struct mortise_lock_tool *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static void read_pinned_tools(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct reading *r = ctx;
    struct mortise_lock_server *s = into;
    const struct mortise_yaml *map = slot->value;
    struct mortise_lock_tool *list = alloc_lock(r, map->n * sizeof *list);

    for (size_t i = 0; list != NULL && i < map->n; i++) {
        const struct mortise_yaml *name = map->keys[i];

        list[i] = (struct mortise_lock_tool){
            .name = name->str, .at = name, .title = "", .description = ""};
        if (!is_lock_tool_name(name))
            mortise_diag_add(r->diags, "E0612", name->span,
                             "'%.200s' is not a valid name of a tool: use "
                             "letters, digits, _, ., - and /, at most %d",
                             name->str, (int)MORTISE_LOCK_TOOL);
        mortise_keys_read(&tool_place, map->items[i], name->span, r, &list[i],
                          r->diags);
    }
    if (list == NULL)
        return;
    qsort(list, map->n, sizeof *list, compare_lock_tools);
    s->tools = list;
    s->n = map->n;
}

/* ---- servers ------------------------------------------------------------- */

/* The server's name and version, for people. */
static const struct mortise_key program_keys[] = {
    {.name = "name", .value = MORTISE_V_TEXT},
    {.name = "version", .value = MORTISE_V_TEXT},
};
MORTISE_PLACE(program, "the server of a lock");

static void read_server_program(void *ctx, void *into,
                                const struct mortise_slot *slot)
{
    struct reading *r = ctx;

    mortise_keys_read_slot(slot, r, into, r->diags);
}

static const struct mortise_key server_keys[] = {
    {.name = "protocol", .value = MORTISE_V_TEXT},
    {.name = "server",
     .value = MORTISE_V_MAP,
     .place = &program_place,
     .read = read_server_program},
    {.name = "instructions", .value = MORTISE_V_TEXT},
    {.name = "tools",
     .value = MORTISE_V_MAP,
     .required = true,
     .read = read_pinned_tools},
};
MORTISE_PLACE(server, "a pinned server");

static void read_pinned_servers(void *ctx, void *into,
                                const struct mortise_slot *slot)
{
    struct reading *r = ctx;
    struct mortise_lock *lock = into;
    const struct mortise_yaml *map = slot->value;
    struct mortise_lock_server *list = alloc_lock(r, map->n * sizeof *list);

    for (size_t i = 0; list != NULL && i < map->n; i++) {
        list[i] = (struct mortise_lock_server){.name = map->keys[i]->str,
                                               .at = map->keys[i]};
        mortise_keys_read(&server_place, map->items[i], map->keys[i]->span, r,
                          &list[i], r->diags);
    }
    lock->list = list;
    lock->n = list != NULL ? map->n : 0;
}

/* ---- pins of discovery plugins ------------------------------------------- */

static void check_discovery_pins(struct reading *r,
                                 const struct mortise_yaml *map)
{
    for (size_t i = 0; map->kind == MORTISE_YAML_MAP && i < map->n; i++) {
        const struct mortise_yaml *v = map->items[i];

        if (v->kind != MORTISE_YAML_STRING ||
            v->len != MORTISE_DIGEST_HEX - 1 ||
            strspn(v->str, "0123456789abcdef") != v->len)
            mortise_diag_add(
                r->diags, "E0612", v->span,
                "the pin of '%.200s' must be a digest of %d hexadecimal digits",
                map->keys[i]->str, MORTISE_DIGEST_HEX - 1);
    }
}

static void read_pinned_discovery(void *ctx, void *into,
                                  const struct mortise_slot *slot)
{
    struct reading *r = ctx;
    struct mortise_lock *lock = into;
    const struct mortise_yaml *map = slot->value;
    struct mortise_lock_discovery *list = alloc_lock(r, map->n * sizeof *list);

    for (size_t i = 0; list != NULL && i < map->n; i++) {
        list[i] =
            (struct mortise_lock_discovery){map->keys[i]->str, map->items[i]};
        if (map->items[i]->kind != MORTISE_YAML_MAP)
            mortise_diag_add(r->diags, "E0612", map->items[i]->span,
                             "the pins of '%.200s' must be a mapping from "
                             "entries to digests",
                             map->keys[i]->str);
        check_discovery_pins(r, map->items[i]);
    }
    lock->discovery = list;
    lock->n_discovery = list != NULL ? map->n : 0;
}

/* ---- the file ------------------------------------------------------------ */

static const struct mortise_word kinds[] = {{.word = "Lock"}, {.word = NULL}};

static const struct mortise_key keys[] = {
    MORTISE_HEADER_KEYS(kinds),
    {.name = "mcp", .value = MORTISE_V_MAP, .read = read_pinned_servers},
    {.name = "discovery",
     .value = MORTISE_V_MAP,
     .read = read_pinned_discovery},
};

static const struct mortise_place lock_place = {
    MORTISE_PLACE_OF("a lock", keys)};

int mortise_lock_path(char out[PATH_MAX], const char *deployment,
                      struct mortise_err *err)
{
    static const char *const suffixes[] = {".yaml", ".yml"};
    size_t n = strlen(deployment);

    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        size_t k = strlen(suffixes[i]);

        if (n > k && strcmp(deployment + n - k, suffixes[i]) == 0)
            return mortise_file_format_path(out, PATH_MAX, err, "%.*s.lock",
                                            (int)(n - k), deployment);
    }
    return mortise_file_format_path(out, PATH_MAX, err, "%s.lock", deployment);
}

/* Read a parsed file into `out`. */
static int read_lock_tree(struct mortise_lock *out, struct mortise_arena *a,
                          const struct mortise_yaml *root,
                          struct mortise_diags *diags)
{
    struct reading r = {.arena = a, .diags = diags};
    size_t errors = diags->n_errors;

    *out = (struct mortise_lock){.path = root->span.file->path, .tree = root};
    if (mortise_header_check(root, "Lock", diags))
        mortise_keys_read(&lock_place, root, root->span, &r, out, diags);
    if (r.nomem || diags->failed)
        return MORTISE_ENOMEM;
    return diags->n_errors > errors ? MORTISE_ECHECK : MORTISE_OK;
}

int mortise_lock_read(struct mortise_lock *out, struct mortise_arena *a,
                      const char *path, struct mortise_diags *diags)
{
    struct mortise_yaml *root;
    struct stat st;
    int rv;

    *out = (struct mortise_lock){.path = NULL};
    if (stat(path, &st) != 0 && errno == ENOENT)
        return MORTISE_OK;
    rv = mortise_yaml_read(&root, a, path, diags);
    return root != NULL ? read_lock_tree(out, a, root, diags) : rv;
}

const struct mortise_lock_server *
mortise_lock_find(const struct mortise_lock *lock, const char *server)
{
    for (size_t i = 0; i < lock->n; i++)
        if (strcmp(lock->list[i].name, server) == 0)
            return &lock->list[i];
    return NULL;
}

const struct mortise_yaml *
mortise_lock_discovery(const struct mortise_lock *lock, const char *plugin)
{
    for (size_t i = 0; i < lock->n_discovery; i++)
        if (strcmp(lock->discovery[i].plugin, plugin) == 0)
            return lock->discovery[i].pins;
    return NULL;
}

const struct mortise_lock_tool *
mortise_lock_tool(const struct mortise_lock_server *server, const char *tool)
{
    for (size_t i = 0; i < server->n; i++)
        if (strcmp(server->tools[i].name, tool) == 0)
            return &server->tools[i];
    return NULL;
}

/* ---- changes ------------------------------------------------------------- */

json_t *mortise_lock_to_json(const struct mortise_lock *lock)
{
    return lock->tree != NULL ? mortise_yaml_to_json(lock->tree, false)
                              : json_pack("{s:s, s:s, s:{}}", "apiVersion",
                                          "mortise/v1", "kind", "Lock", "mcp");
}

/* Copy the member, if there is one. */
static int copy_json_member(json_t *to, const json_t *from, const char *name)
{
    json_t *value = json_object_get(from, name);

    return value == NULL || json_is_null(value)
               ? 0
               : json_object_set(to, name, value);
}

/* The server's name and version; its other members are not used. */
static int copy_server_info(json_t *to, const json_t *said)
{
    json_t *server;
    int failed;

    if (!json_is_object(said))
        return 0;
    server = json_object();
    failed = copy_json_member(server, said, "name") |
             copy_json_member(server, said, "version");
    return failed | json_object_set_new(to, "server", server);
}

/* The member `name` as an object, which is added if missing; NULL: memory ran
 * out. */
static json_t *get_or_add_object(json_t *in, const char *name)
{
    if (json_object_get(in, name) == NULL)
        json_object_set_new(in, name, json_object());
    return json_object_get(in, name);
}

/* Set the member, or remove it if `value` is NULL. */
static int set_or_remove_member(json_t *in, const char *name, json_t *value,
                                struct mortise_err *err)
{
    int failed = in == NULL;

    if (!failed && value != NULL)
        failed = json_object_set(in, name, value);
    else if (!failed)
        json_object_del(in, name);
    return failed ? mortise_nomem(err) : MORTISE_OK;
}

int mortise_lock_set(json_t *lock, const char *server, json_t *section,
                     struct mortise_err *err)
{
    return set_or_remove_member(get_or_add_object(lock, "mcp"), server, section,
                                err);
}

int mortise_lock_set_discovery(json_t *lock, const char *plugin,
                               const char *key, json_t *digest,
                               struct mortise_err *err)
{
    json_t *all = get_or_add_object(lock, "discovery");
    int rv = set_or_remove_member(
        all != NULL ? get_or_add_object(all, plugin) : NULL, key, digest, err);

    if (rv == MORTISE_OK &&
        json_object_size(get_or_add_object(all, plugin)) == 0)
        json_object_del(all, plugin);
    if (rv == MORTISE_OK && json_object_size(all) == 0)
        json_object_del(lock, "discovery");
    return rv;
}

/* ---- printing (1) -------------------------------------------------------- */

/* Characters that YAML would treat differently, and invisible ones (2).  The
 * syntax of JSON is ASCII, so they occur only in strings. */
static bool needs_lock_escape(uint32_t c)
{
    return c >= 0x7f &&
           (mortise_utf8_is_hidden(c) || c == 0xfffe || c == 0xffff);
}

static void append_escaped_text(struct mortise_buf *b, const char *p, size_t n)
{
    const char *end = p + n;

    while (p < end) {
        uint32_t c = 0;
        size_t k = mortise_utf8_decode(p, end, &c);
        char escape[MORTISE_UTF8_ESCAPE];

        assert(k > 0); /* strings of jansson are valid UTF-8 */
        if (needs_lock_escape(c))
            mortise_buf_puts(b, mortise_utf8_escape(escape, c));
        else
            mortise_buf_put(b, p, k);
        p += k;
    }
}

static int append_dump(const char *p, size_t n, void *b)
{
    mortise_buf_put(b, p, n);
    return ((struct mortise_buf *)b)->failed ? -1 : 0;
}

static int print_lock(struct mortise_buf *out, const json_t *lock,
                      const struct mortise_mem *mem)
{
    struct mortise_buf b;
    int failed;

    mortise_buf_init(&b, mem);
    failed = json_dump_callback(lock, append_dump, &b,
                                JSON_INDENT(2) | JSON_SORT_KEYS);
    if (failed == 0) {
        append_escaped_text(out, b.p, b.n);
        mortise_buf_puts(out, "\n");
    }
    mortise_buf_finish(&b);
    return failed != 0 || out->failed ? MORTISE_ENOMEM : MORTISE_OK;
}

/* (3): check that the text can be read again. */
static int check_lock_text(const char *path, const struct mortise_buf *text,
                           const struct mortise_mem *mem,
                           struct mortise_err *err)
{
    struct mortise_arena a;
    struct mortise_diags diags;
    struct mortise_lock lock;
    struct mortise_yaml *root;
    int rv;

    mortise_arena_init(&a, mem);
    mortise_diags_init(&diags, mem);
    rv = mortise_yaml_parse(&root, &a, path, text->p, text->n, &diags);
    if (root != NULL)
        rv = read_lock_tree(&lock, &a, root, &diags);
    if (rv == MORTISE_ENOMEM)
        mortise_nomem(err);
    else if (rv != MORTISE_OK)
        rv = mortise_fail(err, MORTISE_EINVAL,
                          "the lock file would not be valid: %.400s",
                          diags.n > 0 ? diags.list[0].message : "");
    mortise_diags_finish(&diags);
    mortise_arena_finish(&a);
    return rv;
}

/* ---- the answer of a server ---------------------------------------------- */

/* Can a lock with only this tool be read again (3)?  MORTISE_EINVAL: no. */
static int check_lock_tool(const char *name, json_t *tool,
                           const struct mortise_mem *mem,
                           struct mortise_err *err)
{
    json_t *lock =
        json_pack("{s:s, s:s, s:{s:{s:{s:O}}}}", "apiVersion", "mortise/v1",
                  "kind", "Lock", "mcp", "s", "tools", name, tool);
    struct mortise_buf text;
    int rv;

    mortise_buf_init(&text, mem);
    rv = lock != NULL ? print_lock(&text, lock, mem) : MORTISE_ENOMEM;
    if (rv == MORTISE_ENOMEM)
        mortise_nomem(err);
    else
        rv = check_lock_text("mortise.lock", &text, mem, err);
    mortise_buf_finish(&text);
    json_decref(lock);
    return rv;
}

static json_t *make_lock_tool(const json_t *listed)
{
    static const char *const members[] = {"digest",        "title",
                                          "description",   "input_schema",
                                          "output_schema", "annotations"};
    json_t *one = json_object();

    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (copy_json_member(one, listed, members[i]) != 0) {
            json_decref(one);
            return NULL;
        }
    return one;
}

/* Record a tool that is left out, and the reason. */
static int add_skipped_tool(json_t *odd, const char *name, const char *why)
{
    return json_array_append_new(
        odd, json_pack("{s:s, s:s}", "tool", name, "why", why));
}

static int add_lock_tool(json_t *tools, json_t *odd, const json_t *listed,
                         const struct mortise_mem *mem, struct mortise_err *err)
{
    const json_t *name = json_object_get(listed, "name");
    const char *text = json_string_value(name);
    json_t *one = make_lock_tool(listed);
    struct mortise_err why;
    int rv, failed;

    if (one == NULL)
        return mortise_nomem(err);
    if (strlen(text) != json_string_length(name))
        rv = mortise_fail(&why, MORTISE_EINVAL, "its name has a NUL");
    else
        rv = check_lock_tool(text, one, mem, &why);
    if (rv == MORTISE_EINVAL)
        failed = add_skipped_tool(odd, text, why.msg);
    else
        failed = rv != MORTISE_OK || json_object_set(tools, text, one) != 0;
    json_decref(one);
    return failed ? mortise_nomem(err) : MORTISE_OK;
}

/* Every tool in the list must have a unique name. */
static int check_tool_names(const json_t *list, struct mortise_err *err)
{
    json_t *seen = json_object();
    int rv = seen != NULL ? MORTISE_OK : mortise_nomem(err);

    if (rv == MORTISE_OK && !json_is_array(list))
        rv = mortise_fail(err, MORTISE_EINVAL,
                          "the server's answer has no list of tools");
    MORTISE_JSON_EACH (one, i, list) {
        const char *name = json_string_value(json_object_get(one, "name"));

        if (rv != MORTISE_OK)
            break;
        if (name == NULL)
            rv = mortise_fail(err, MORTISE_EINVAL,
                              "a tool in the server's list has no name");
        else if (json_object_get(seen, name) != NULL)
            rv = mortise_fail(err, MORTISE_EINVAL,
                              "the server's list has the tool '%.128s' twice",
                              name);
        else if (json_object_set_new(seen, name, json_true()) != 0)
            rv = mortise_nomem(err);
    }
    json_decref(seen);
    return rv;
}

int mortise_lock_make_section(json_t **out, json_t *odd, const json_t *listed,
                              const struct mortise_mem *mem,
                              struct mortise_err *err)
{
    const json_t *list = json_object_get(listed, "tools");
    json_t *section = json_object(), *tools = json_object();
    int rv = check_tool_names(list, err), failed;

    *out = NULL;
    failed = copy_json_member(section, listed, "protocol") |
             copy_json_member(section, listed, "instructions") |
             copy_server_info(section, json_object_get(listed, "server"));
    if (rv == MORTISE_OK &&
        (failed || json_object_set(section, "tools", tools) != 0))
        rv = mortise_nomem(err);
    MORTISE_JSON_EACH (one, i, list) {
        if (rv == MORTISE_OK)
            rv = add_lock_tool(tools, odd, one, mem, err);
    }
    json_decref(tools);
    if (rv == MORTISE_OK)
        *out = section;
    else
        json_decref(section);
    return rv;
}

int mortise_lock_write(const char *path, const json_t *lock,
                       const struct mortise_mem *mem, struct mortise_err *err)
{
    struct mortise_buf text;
    int rv;

    mortise_buf_init(&text, mem);
    rv = print_lock(&text, lock, mem);
    if (rv == MORTISE_ENOMEM)
        mortise_nomem(err);
    if (rv == MORTISE_OK)
        rv = check_lock_text(path, &text, mem, err);
    if (rv == MORTISE_OK)
        rv = mortise_file_write(path, text.p, text.n, 0644, 0, err);
    mortise_buf_finish(&text);
    return rv;
}
