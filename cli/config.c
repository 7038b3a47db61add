/* config.c -- `mortise config print`: the deployment in effect and the origin
 * of each value.
 *
 * Values come from a file, the environment, the command line and defaults.
 * The output shows each value with the place where it can be changed.
 *
 *   (1) The text output is a Deployment file with the same meaning; only
 *       values that --redacted withholds are missing.
 *   (2) Without --resolved, values are printed as written: ${env:...},
 *       ${file:...}, and paths relative to the file; the output belongs beside
 *       that file, too.  With --resolved, values are expanded and paths are
 *       absolute.
 *   (3) --redacted withholds all values from ${env:...} or ${file:...}
 *       (printed as written), except in paths; credentials inside URLs; and
 *       values in the file that a plugin's config_schema marks as secret or
 *       that a server of tools.mcp receives.
 *   (4) A secret:// reference is printed as written; no provider is asked.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/wild.h"
#include "cli/cli.h"
#include "cli/plugin_set.h"
#include "lang/config/expand.h"
#include "core/json/secret.h"
#include "lang/yaml/write.h"

static const char withheld[] = "[redacted]";

struct config_page {
    const struct mortise_args *args;
    struct mortise_settings *settings;
    struct mortise_arena *arena;     /* of the settings */
    struct mortise_plugins *plugins; /* with --redacted; otherwise NULL */
    json_t *value, *origins;         /* origins: by JSON pointer into value */
    struct mortise_buf pointer;
    bool nomem;
};

static const char *get_pointer(struct config_page *p)
{
    const char *text = mortise_buf_cstr(&p->pointer);

    p->nomem |= text == NULL;
    return text != NULL ? text : "";
}

/* Takes `v`. */
static void set_page_member(struct config_page *p, json_t *to, const char *key,
                            json_t *v)
{
    p->nomem |= json_object_set_new(to, key, v) != 0;
}

/* ---- paths -------------------------------------------------------------- */

static bool matches_any_pattern(const char *pointer,
                                const char *const *patterns)
{
    while (*patterns != NULL && !mortise_wild_match(*patterns, pointer))
        patterns++;
    return *patterns != NULL;
}

/* Is the value at this pointer the path of a file or directory? */
static bool is_path_value(const char *pointer)
{
    static const char *const paths[] = {"/store/path",
                                        "/trust/dir",
                                        "/plugins/path/*",
                                        "/plugins/dev/*",
                                        "/secrets/*/file",
                                        "/programs/*/path",
                                        "/programs/*/dir",
                                        "/programs/*/read/*",
                                        "/programs/*/write/*",
                                        "/tools/mcp/*/dir",
                                        "/tools/mcp/*/sandbox/fs/*",
                                        NULL};

    return matches_any_pattern(pointer, paths);
}

/* Is it a program's path (not searched in PATH)? */
static bool is_program_path(const char *pointer, const char *text)
{
    static const char *const programs[] = {"/secrets/*/exec/0",
                                           "/tools/mcp/*/command/0", NULL};

    return matches_any_pattern(pointer, programs) && strchr(text, '/') != NULL;
}

/* Make a path absolute. */
static const char *make_config_path_absolute(struct config_page *p,
                                             const char *path)
{
    char here[PATH_MAX], *out;
    size_t room;

    if (path[0] == '/' || getcwd(here, sizeof here) == NULL)
        return path;
    while (strncmp(path, "./", 2) == 0)
        path += 2;
    room = strlen(here) + strlen(path) + 2;
    out = mortise_arena_alloc(p->arena, room);
    if (out != NULL)
        snprintf(out, room, "%s/%s", here, path);
    p->nomem |= out == NULL;
    return out != NULL ? out : "";
}

static const char *expand_file_path(struct config_page *p,
                                    const struct mortise_yaml *v)
{
    const char *path = mortise_expand_path(p->arena, v);

    p->nomem |= path == NULL;
    return path != NULL ? make_config_path_absolute(p, path) : "";
}

/* ---- strings ------------------------------------------------------------ */

/* Find the credentials of a URL, user:password or token, between // and @.
 * Returns the position of the @, or NULL; *from: their beginning. */
static const char *find_url_credentials(const char *s, const char **from)
{
    for (; (s = strstr(s, "://")) != NULL; s += 3) {
        const char *at = s + 3 + strcspn(s + 3, "/?# @");

        *from = s + 3;
        if (*at == '@')
            return at;
    }
    return NULL;
}

/* The text with credentials withheld; `literal`: with ${ escaped. */
static json_t *make_shown_string(struct config_page *p, const char *s,
                                 bool literal)
{
    struct mortise_buf b;
    const char *from, *to;
    json_t *out = NULL;

    mortise_buf_init(&b, p->arena->mem);
    while (p->args->redacted && (to = find_url_credentials(s, &from)) != NULL) {
        mortise_buf_put(&b, s, (size_t)(from - s));
        mortise_buf_puts(&b, withheld);
        s = to;
    }
    for (; literal && (to = strstr(s, "${")) != NULL; s = to + 2) {
        mortise_buf_put(&b, s, (size_t)(to - s));
        mortise_buf_puts(&b, "$${");
    }
    mortise_buf_puts(&b, s);
    if (mortise_buf_cstr(&b) != NULL)
        out = json_string(b.p);
    mortise_buf_finish(&b);
    return out;
}

/* A string of the file.  JSON has the value, YAML its written form. */
static json_t *make_string_value(struct config_page *p,
                                 const struct mortise_yaml *written,
                                 const struct mortise_yaml *meant,
                                 bool withhold)
{
    bool literal = !p->args->json;

    if (strlen(meant->str) != meant->len ||
        strlen(written->str) != written->len)
        return mortise_yaml_to_json(written, false); /* has a NUL and no ${ */
    if (!p->args->resolved || withhold)
        return make_shown_string(p, written->str, false);
    if (is_path_value(get_pointer(p)) ||
        is_program_path(get_pointer(p), meant->str))
        return make_shown_string(p, expand_file_path(p, meant), literal);
    return make_shown_string(p, meant->str, literal);
}

/* ---- origins ----------------------------------------------------------- */

static void add_value_source(struct config_page *p, json_t *origin,
                             const struct mortise_expansion *o)
{
    const char *member = o->file ? "files" : "variables";
    json_t *list = json_object_get(origin, member);
    json_t *name = mortise_json_make_string(o->name, o->n);

    if (list == NULL) {
        list = json_array();
        set_page_member(p, origin, member, list);
    }
    p->nomem |= json_array_append_new(list, name) != 0;
    if (o->by_default)
        set_page_member(p, origin, "by_default", json_true());
}

/* Record the origin; *outside: part of the value comes from ${...}. */
static void add_value_origin(struct config_page *p,
                             const struct mortise_yaml *written, bool *outside)
{
    const char *at = written->str;
    struct mortise_expansion o;
    json_t *origin = json_pack("{s:s, s:s, s:I, s:I}", "from", "file", "file",
                               written->span.file->path, "line",
                               (json_int_t)written->span.line, "column",
                               (json_int_t)written->span.col);

    *outside = false;
    p->nomem |= origin == NULL;
    while (origin != NULL && written->kind == MORTISE_YAML_STRING &&
           strlen(at) == (size_t)(written->str + written->len - at) &&
           mortise_expand_find_next(&at, &o)) {
        add_value_source(p, origin, &o);
        *outside |= !o.by_default;
    }
    set_page_member(p, p->origins, get_pointer(p), origin);
}

/* ---- secrets ------------------------------------------------------------- */

enum { PLUGIN_MAX = 160 }; /* maximum length of plugin names and ids */

/* Match the prefix BEFORE and one more segment, `name`; returns the rest, or
 * NULL. */
static const char *match_pointer_prefix(const char *at, const char *before,
                                        char name[PLUGIN_MAX])
{
    size_t n = strlen(before);

    if (strncmp(at, before, n) != 0)
        return NULL;
    snprintf(name, PLUGIN_MAX, "%.*s", (int)strcspn(at + n, "/"), at + n);
    return at + n + strcspn(at + n, "/");
}

/* In a model: is it a key of the deployment, and not of the plugin's config? */
static bool is_deployment_key(const char *rest)
{
    char key[PLUGIN_MAX];

    return match_pointer_prefix(rest, "/", key) != NULL &&
           mortise_place_find_key(&mortise_model_place, key) != NULL;
}

/* The rest after the config of discovery.plugins[N]. */
static const char *match_discovery_config(const struct config_page *p,
                                          char name[PLUGIN_MAX],
                                          const char *rest)
{
    static const char config[] = "/config";
    const struct mortise_discoverers *all = &p->settings->deployment->discovery;
    size_t place = (size_t)strtoul(name, NULL, 10);

    if (strncmp(rest, config, sizeof config - 1) != 0)
        return NULL;
    snprintf(name, PLUGIN_MAX, "%s",
             place < all->n ? all->list[place].plugin : "");
    return rest + sizeof config - 1;
}

/* If the pointer is inside a plugin's config (plugins.config, guardrails,
 * memory, models, discovery), return the rest and the plugin's name; else
 * NULL. */
static const char *match_plugin_config(struct config_page *p,
                                       char name[PLUGIN_MAX])
{
    static const char config[] = "/config", memory[] = "/memory/config";
    const char *at = get_pointer(p),
               *rest = match_pointer_prefix(at, "/plugins/config/", name);
    const struct mortise_guard *g;
    const struct mortise_model_alias *m;

    if (rest != NULL)
        return rest;
    rest = match_pointer_prefix(at, "/models/", name);
    if (rest != NULL) {
        m = mortise_model_find(&p->settings->deployment->models, name);
        snprintf(name, PLUGIN_MAX, "%s", m != NULL ? m->provider : "");
        return is_deployment_key(rest) ? NULL : rest;
    }
    rest = match_pointer_prefix(at, "/discovery/plugins/", name);
    if (rest != NULL)
        return match_discovery_config(p, name, rest);
    if (strncmp(at, memory, sizeof memory - 1) == 0) {
        const char *plugin = p->settings->deployment->memory.plugin;

        snprintf(name, PLUGIN_MAX, "%s", plugin != NULL ? plugin : "");
        return at + sizeof memory - 1;
    }
    rest = match_pointer_prefix(at, "/guardrails/", name);
    if (rest == NULL || strncmp(rest, config, sizeof config - 1) != 0)
        return NULL;
    g = mortise_guard_find(&p->settings->deployment->guards, name);
    snprintf(name, PLUGIN_MAX, "%s", g != NULL ? g->plugin : "");
    return rest + sizeof config - 1;
}

/* Is the value marked as secret?  Values of a plugin that is not installed are
 * treated as secret, and so are values that an MCP server receives. */
static bool is_marked_secret(struct config_page *p)
{
    static const char *const given[] = {"/tools/mcp/*/headers/*",
                                        "/tools/mcp/*/env/*", NULL};
    char name[PLUGIN_MAX];
    const char *rest = match_plugin_config(p, name);
    const struct mortise_manifest *m;

    if (matches_any_pattern(get_pointer(p), given))
        return true;
    if (rest == NULL)
        return false;
    m = mortise_plugins_find(p->plugins, name, NULL);
    return m == NULL || mortise_secret_is_allowed_at(&m->config_secrets, rest);
}

static bool is_reference_to_secret(const struct mortise_yaml *v)
{
    return v->kind == MORTISE_YAML_STRING &&
           mortise_secret_get_name(v->str) != NULL;
}

/* ---- values of the file ------------------------------------------------ */

static json_t *make_config_value(struct config_page *p,
                                 const struct mortise_yaml *written,
                                 const struct mortise_yaml *meant);

/* Skip x- keys, except inside plugin configs. */
static bool is_skipped_key(struct config_page *p, const char *key)
{
    char name[PLUGIN_MAX];

    return mortise_yaml_is_x_key(key) && match_plugin_config(p, name) == NULL;
}

static json_t *make_config_items(struct config_page *p,
                                 const struct mortise_yaml *written,
                                 const struct mortise_yaml *meant)
{
    bool map = written->kind == MORTISE_YAML_MAP;
    json_t *out = map ? json_object() : json_array();
    size_t before = p->pointer.n;

    for (size_t i = 0; i < written->n && out != NULL; i++) {
        const char *key = map ? written->keys[i]->str : NULL;
        json_t *one;

        if (map && is_skipped_key(p, key))
            continue;
        if (map)
            mortise_json_append_pointer(&p->pointer, key);
        else
            mortise_buf_printf(&p->pointer, "/%zu", i);
        one = make_config_value(p, written->items[i], meant->items[i]);
        if (map)
            set_page_member(p, out, key, one);
        else
            p->nomem |= json_array_append_new(out, one) != 0;
        p->pointer.n = before;
    }
    return out;
}

static void mark_redacted(struct config_page *p)
{
    set_page_member(p, json_object_get(p->origins, get_pointer(p)), "redacted",
                    json_true());
}

static json_t *make_config_value(struct config_page *p,
                                 const struct mortise_yaml *written,
                                 const struct mortise_yaml *meant)
{
    bool outside, withhold;

    if ((written->kind == MORTISE_YAML_MAP ||
         written->kind == MORTISE_YAML_SEQ) &&
        written->n > 0)
        return make_config_items(p, written, meant);
    add_value_origin(p, written, &outside);
    withhold = p->args->redacted && outside && !is_path_value(get_pointer(p));
    if (withhold)
        mark_redacted(p);
    if (p->args->redacted && !withhold && is_marked_secret(p) &&
        !is_reference_to_secret(written)) {
        mark_redacted(p);
        return json_string(withheld);
    }
    if (written->kind == MORTISE_YAML_STRING)
        return make_string_value(p, written, meant, withhold);
    return mortise_yaml_to_json(written, false);
}
/* Get the member of that name, a mapping; create it if it is absent. */
static json_t *get_or_add_mapping(struct config_page *p, json_t *of,
                                  const char *name)
{
    json_t *at = json_object_get(of, name);

    if (at == NULL) {
        at = json_object();
        set_page_member(p, of, name, at);
    }
    return at;
}

/* Add a value that is not in the file, to the mapping `at` with the pointer
 * `in`. */
static void set_unwritten_value(struct config_page *p, json_t *at,
                                const char *in, const char *key,
                                const char *text, const char *from)
{
    char pointer[128]; /* the names in a pointer are bounded */

    snprintf(pointer, sizeof pointer, "%s/%s", in, key);
    set_page_member(p, at, key, make_shown_string(p, text, !p->args->json));
    set_page_member(p, p->origins, pointer, json_pack("{s:s}", "from", from));
}

static void set_store_values(struct config_page *p)
{
    const struct mortise_deployment *d = p->settings->deployment;
    json_t *store = get_or_add_mapping(p, p->value, "store");
    const char *path = make_config_path_absolute(p, p->settings->store);

    if (p->args->store != NULL)
        set_unwritten_value(p, store, "/store", "path", path, "--store");
    else if (d->store_path == NULL)
        set_unwritten_value(p, store, "/store", "path", path, "default");
    if (!d->finished_said)
        set_unwritten_value(p, get_or_add_mapping(p, store, "retention"),
                            "/store/retention", "finished", "30d", "default");
}

/* The working directory of a server.  Otherwise it would depend on the place
 * of the printed file. */
static void set_server_dirs(struct config_page *p)
{
    const struct mortise_mcp_servers *servers =
        &p->settings->deployment->tools.mcp;
    json_t *all = json_object_get(json_object_get(p->value, "tools"), "mcp");

    for (size_t i = 0; i < servers->n; i++) {
        const struct mortise_mcp_server *s = &servers->list[i];
        json_t *one = json_object_get(all, s->name);
        char in[16 + MORTISE_MCP_NAME];

        snprintf(in, sizeof in, "/tools/mcp/%s", s->name);
        if (s->program.path != NULL && json_object_get(one, "dir") == NULL)
            set_unwritten_value(p, one, in, "dir",
                                make_config_path_absolute(p, s->program.dir),
                                "default");
    }
}

static void set_default_values(struct config_page *p)
{
    if (p->settings->deployment->tree == NULL) {
        set_unwritten_value(p, p->value, "", "apiVersion", "mortise/v1",
                            "default");
        set_unwritten_value(p, p->value, "", "kind", "Deployment", "default");
        set_unwritten_value(p, get_or_add_mapping(p, p->value, "metadata"),
                            "/metadata", "name", "default", "default");
    }
    set_store_values(p);
    set_server_dirs(p);
}

/* ---- printing ------------------------------------------------------------ */

/* Append ", WHAT NAME" for each name, as far as there is room. */
static void append_source_names(char *out, size_t room, const json_t *origin,
                                const char *member, const char *what)
{
    json_t *list = json_object_get(origin, member);

    MORTISE_JSON_EACH (name, i, list) {
        size_t n = strlen(out);

        snprintf(out + n, room - n, ", %s %s", what, json_string_value(name));
    }
}

static const char *describe_value_origin(void *ud, const char *pointer)
{
    static char text[1024];
    const struct config_page *p = ud;
    const json_t *o = json_object_get(p->origins, pointer);
    const char *file = json_string_value(json_object_get(o, "file"));

    if (file == NULL)
        return json_string_value(json_object_get(o, "from"));
    snprintf(text, sizeof text, "%s:%d:%d", file,
             (int)mortise_cli_get_integer(o, "line"),
             (int)mortise_cli_get_integer(o, "column"));
    append_source_names(text, sizeof text, o, "variables", "environment");
    append_source_names(text, sizeof text, o, "files", "file");
    if (json_is_true(json_object_get(o, "by_default")))
        strncat(text, " (unset: the default)", sizeof text - strlen(text) - 1);
    return text;
}

/* How the deployment file was found. */
static const char *describe_file_origin(const struct mortise_cli *cli)
{
    const char *env = getenv("MORTISE_DEPLOYMENT");

    if (cli->deployment == NULL)
        return "no deployment: built-in defaults";
    if (cli->args.deployment != NULL)
        return "--deployment";
    return env != NULL && env[0] != '\0' ? "MORTISE_DEPLOYMENT"
                                         : "found in this directory";
}

static int print_config_text(struct mortise_cli *cli, struct config_page *p)
{
    const struct mortise_settings *s = p->settings;
    struct mortise_out *o = &cli->out;
    struct mortise_buf b;
    int rv;

    mortise_buf_init(&b, cli->mem);
    rv = mortise_yaml_write(&b, p->value, describe_value_origin, p);
    mortise_out_print_escaped(
        o,
        "# %s%s%s\n# then, after plugins.path: %s\n# also, beside "
        "trust.dir: %s\n",
        cli->deployment, cli->deployment != NULL ? ", " : "",
        describe_file_origin(cli), s->plugin_dirs[s->n_plugin_dirs - 1],
        s->trust_dirs[s->n_trust_dirs - 1]);
    if (rv == MORTISE_OK)
        mortise_out_put(o, b.p, b.n);
    mortise_buf_finish(&b);
    return rv;
}

static int print_config_json(struct mortise_cli *cli, struct config_page *p)
{
    const struct mortise_settings *s = p->settings;

    return mortise_cli_print_json(
        cli,
        json_pack("{s:s?, s:s, s:{s:s, s:s}, s:O, s:O}", "deployment",
                  cli->deployment, "found_by", describe_file_origin(cli),
                  "bundled", "plugins", s->plugin_dirs[s->n_plugin_dirs - 1],
                  "trust", s->trust_dirs[s->n_trust_dirs - 1], "value",
                  p->value, "origins", p->origins),
        true, NULL);
}

static int print_config_page(struct mortise_cli *cli,
                             struct mortise_plugin_set *set,
                             struct mortise_err *err)
{
    struct config_page p = {.args = &cli->args,
                            .settings = &set->settings,
                            .arena = &set->settings.arena,
                            .plugins = set->plugins};
    const struct mortise_deployment *d = set->settings.deployment;
    int rv = MORTISE_OK;

    mortise_buf_init(&p.pointer, cli->mem);
    p.origins = json_object();
    p.value = d->tree != NULL ? make_config_value(&p, d->written, d->tree)
                              : json_object();
    if (p.value == NULL || p.origins == NULL)
        p.nomem = true;
    else
        set_default_values(&p);
    if (!p.nomem)
        rv = cli->args.json ? print_config_json(cli, &p)
                            : print_config_text(cli, &p);
    json_decref(p.value);
    json_decref(p.origins);
    mortise_buf_finish(&p.pointer);
    return p.nomem || rv != MORTISE_OK ? mortise_nomem(err) : MORTISE_OK;
}

static int config_print(struct mortise_cli *cli, struct mortise_err *err)
{
    struct mortise_plugin_set set = {.plugins = NULL};
    int rv = mortise_cli_parse_format(cli);

    if (rv != MORTISE_EXIT_OK)
        return rv;
    cli->looks = true;
    rv = cli->args.redacted
             ? mortise_plugin_set_open(&set, cli, NULL, err)
             : mortise_cli_open_settings(cli, &set.settings, err);
    if (rv == MORTISE_OK && set.settings.deployment->unresolved)
        cli->args.resolved = false; /* a warning reports why */
    if (rv == MORTISE_OK)
        rv = print_config_page(cli, &set, err);
    mortise_plugin_set_close(&set);
    return rv;
}

static const struct mortise_opt opts[] = {
    MORTISE_OPT_FLAG("resolved", resolved,
                     "Print the values of ${env:...} and ${file:...},\n"
                     "and absolute paths"),
    MORTISE_OPT_FLAG("redacted", redacted,
                     "Omit passwords in URLs, values that a plugin\n"
                     "declares secret, and values of ${...} (not in paths)"),
    MORTISE_OPT_TEXT("format", "FORMAT", format,
                     "text or json (default: text)"),
    MORTISE_OPT_JSON("The same as --format json"),
    MORTISE_OPTS_OF_STORE,
};

const struct mortise_cmd mortise_cmd_config_print = {
    .name = "config print",
    .operands = "",
    .summary = "Print the deployment in effect and the origin of each value",
    .text =
        "Each value has its origin: a line of a file, an environment\n"
        "variable, an option, or the default.  The output as text is a\n"
        "Deployment file that can be loaded again.\n"
        "\n"
        "Without --redacted, the output can contain secret values: it has\n"
        "the values of the file unchanged and, with --resolved, the values\n"
        "of variables and files.  With --redacted, you can show the output\n"
        "to others.  A secret:// reference is always printed as a\n"
        "reference.\n",
    .opts = opts,
    .exits = MORTISE_EXITS_FINDINGS | MORTISE_EXITS_STORE,
    .example = "mortise config print --resolved --redacted",
    .run = config_print,
};
