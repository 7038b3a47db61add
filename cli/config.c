/* config.c -- `mortise config print`: what holds here, and who said so.
 *
 * A deployment comes from a file, the environment, the command line and what
 * is built in.  Who looks for the reason of a value wants to see the value and
 * the place to change it in one line.
 *
 *   (1) What is printed as text is a Deployment file that loads again and means
 *       the same; only passwords that --redacted withheld are missing.
 *   (2) Without --resolved, values stand as they were written: ${env:...},
 *       ${file:...}, and paths relative to the file, beside which this one
 *       belongs, too.  With it, what they stand for, and paths from the root
 *       on.
 *   (3) With --redacted nothing is printed that came through ${env:...} or
 *       ${file:...} (it stays as it was written), except in paths, no
 *       credentials inside URLs, and nothing that stands in the file itself
 *       where a plugin's config_schema marks a secret, or a server of tools.mcp
 *       is given it.
 *   (4) A secret:// reference is printed as it stands: no provider is asked.
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

struct page {
    const struct mortise_args *args;
    struct mortise_settings *settings;
    struct mortise_arena *arena;     /* of the settings */
    struct mortise_plugins *plugins; /* with --redacted; else NULL */
    json_t *value, *origins;         /* origins: by the pointer into value */
    struct mortise_buf pointer;
    bool nomem;
};

static const char *pointer_of(struct page *p)
{
    const char *text = mortise_buf_cstr(&p->pointer);

    p->nomem |= text == NULL;
    return text != NULL ? text : "";
}

/* Takes `v`. */
static void put(struct page *p, json_t *to, const char *key, json_t *v)
{
    p->nomem |= json_object_set_new(to, key, v) != 0;
}

/* ---- paths -------------------------------------------------------------- */

static bool fits_any(const char *pointer, const char *const *patterns)
{
    while (*patterns != NULL && !mortise_wild_fits(*patterns, pointer))
        patterns++;
    return *patterns != NULL;
}

/* Is what stands there the name of a file or directory? */
static bool is_path(const char *pointer)
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

    return fits_any(pointer, paths);
}

/* ... or of a program, which PATH does not find? */
static bool is_program(const char *pointer, const char *text)
{
    static const char *const programs[] = {"/secrets/*/exec/0",
                                           "/tools/mcp/*/command/0", NULL};

    return fits_any(pointer, programs) && strchr(text, '/') != NULL;
}

/* From the root on, whatever directory this is. */
static const char *absolute(struct page *p, const char *path)
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

static const char *file_path(struct page *p, const struct mortise_yaml *v)
{
    const char *path = mortise_expand_path(p->arena, v);

    p->nomem |= path == NULL;
    return path != NULL ? absolute(p, path) : "";
}

/* ---- strings ------------------------------------------------------------ */

/* Where the credentials of a URL end (at its @), or NULL: user:password or
 * token, between // and @ without a / between them. */
static const char *credentials(const char *s, const char **from)
{
    for (; (s = strstr(s, "://")) != NULL; s += 3) {
        const char *at = s + 3 + strcspn(s + 3, "/?# @");

        *from = s + 3;
        if (*at == '@')
            return at;
    }
    return NULL;
}

/* The text with what must not be seen withheld, and a literal ${ as it is to
 * be written. */
static json_t *shown(struct page *p, const char *s, bool literal)
{
    struct mortise_buf b;
    const char *from, *to;
    json_t *out = NULL;

    mortise_buf_init(&b, p->arena->mem);
    while (p->args->redacted && (to = credentials(s, &from)) != NULL) {
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

/* A string of the file.  JSON says what is meant, YAML how it is written. */
static json_t *string_of(struct page *p, const struct mortise_yaml *written,
                         const struct mortise_yaml *meant, bool withhold)
{
    bool literal = !p->args->json;

    if (strlen(meant->str) != meant->len ||
        strlen(written->str) != written->len)
        return mortise_yaml_json(written, false); /* has no ${, and a NUL */
    if (!p->args->resolved || withhold)
        return shown(p, written->str, false);
    if (is_path(pointer_of(p)) || is_program(pointer_of(p), meant->str))
        return shown(p, file_path(p, meant), literal);
    return shown(p, meant->str, literal);
}

/* ---- where it comes from ------------------------------------------------ */

static void put_source(struct page *p, json_t *origin,
                       const struct mortise_outside *o)
{
    const char *member = o->file ? "files" : "variables";
    json_t *list = json_object_get(origin, member);
    json_t *name = mortise_json_strn(o->name, o->n);

    if (list == NULL) {
        list = json_array();
        put(p, origin, member, list);
    }
    p->nomem |= json_array_append_new(list, name) != 0;
    if (o->by_default)
        put(p, origin, "by_default", json_true());
}

/* *outside: some of it came through ${...}. */
static void origin_of(struct page *p, const struct mortise_yaml *written,
                      bool *outside)
{
    const char *at = written->str;
    struct mortise_outside o;
    json_t *origin = json_pack("{s:s, s:s, s:I, s:I}", "from", "file", "file",
                               written->span.file->path, "line",
                               (json_int_t)written->span.line, "column",
                               (json_int_t)written->span.col);

    *outside = false;
    p->nomem |= origin == NULL;
    while (origin != NULL && written->kind == MORTISE_YAML_STRING &&
           strlen(at) == (size_t)(written->str + written->len - at) &&
           mortise_expand_next(&at, &o)) {
        put_source(p, origin, &o);
        *outside |= !o.by_default;
    }
    put(p, p->origins, pointer_of(p), origin);
}

/* ---- secrets ------------------------------------------------------------- */

enum { PLUGIN_MAX = 160 }; /* room for names of plugins and ids */

/* Behind `/BEFORE/NAME`, which `at` begins with; NULL: it does not. */
static const char *behind(const char *at, const char *before,
                          char name[PLUGIN_MAX])
{
    size_t n = strlen(before);

    if (strncmp(at, before, n) != 0)
        return NULL;
    snprintf(name, PLUGIN_MAX, "%.*s", (int)strcspn(at + n, "/"), at + n);
    return at + n + strcspn(at + n, "/");
}

/* Is that, in a model, a key of the deployment's own? */
static bool is_own(const char *rest)
{
    char key[PLUGIN_MAX];

    return behind(rest, "/", key) != NULL &&
           mortise_place_row(&mortise_model_place, key) != NULL;
}

/* Behind the config of one of a list of {plugin, config}. */
static const char *in_discovery(const struct page *p, char name[PLUGIN_MAX],
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

/* Where we are in the config of a plugin, which is in plugins.config, in
 * guardrails, in memory, in models or in discovery, and the plugin's name; NULL:
 * in none. */
static const char *in_config(struct page *p, char name[PLUGIN_MAX])
{
    static const char config[] = "/config", memory[] = "/memory/config";
    const char *at = pointer_of(p),
               *rest = behind(at, "/plugins/config/", name);
    const struct mortise_guard *g;
    const struct mortise_model_alias *m;

    if (rest != NULL)
        return rest;
    rest = behind(at, "/models/", name);
    if (rest != NULL) {
        m = mortise_model_find(&p->settings->deployment->models, name);
        snprintf(name, PLUGIN_MAX, "%s", m != NULL ? m->provider : "");
        return is_own(rest) ? NULL : rest;
    }
    rest = behind(at, "/discovery/plugins/", name);
    if (rest != NULL)
        return in_discovery(p, name, rest);
    if (strncmp(at, memory, sizeof memory - 1) == 0) {
        const char *plugin = p->settings->deployment->memory.plugin;

        snprintf(name, PLUGIN_MAX, "%s", plugin != NULL ? plugin : "");
        return at + sizeof memory - 1;
    }
    rest = behind(at, "/guardrails/", name);
    if (rest == NULL || strncmp(rest, config, sizeof config - 1) != 0)
        return NULL;
    g = mortise_guard_find(&p->settings->deployment->guards, name);
    snprintf(name, PLUGIN_MAX, "%s", g != NULL ? g->plugin : "");
    return rest + sizeof config - 1;
}

/* Does the plugin say that this is a secret?  One that is not installed cannot
 * say that it is none.  What a server gets of the deployment may be one. */
static bool is_marked(struct page *p)
{
    static const char *const given[] = {"/tools/mcp/*/headers/*",
                                        "/tools/mcp/*/env/*", NULL};
    char name[PLUGIN_MAX];
    const char *rest = in_config(p, name);
    const struct mortise_manifest *m;

    if (fits_any(pointer_of(p), given))
        return true;
    if (rest == NULL)
        return false;
    m = mortise_plugins_find(p->plugins, name, NULL);
    return m == NULL || mortise_secret_place(&m->config_secrets, rest);
}

static bool is_reference(const struct mortise_yaml *v)
{
    return v->kind == MORTISE_YAML_STRING &&
           mortise_secret_name(v->str) != NULL;
}

/* ---- the file's values --------------------------------------------------- */

static json_t *value_of(struct page *p, const struct mortise_yaml *written,
                        const struct mortise_yaml *meant);

/* x- keys are ignored by everybody, except where a plugin may mean them. */
static bool is_left_out(struct page *p, const char *key)
{
    char name[PLUGIN_MAX];

    return mortise_yaml_is_x(key) && in_config(p, name) == NULL;
}

static json_t *items_of(struct page *p, const struct mortise_yaml *written,
                        const struct mortise_yaml *meant)
{
    bool map = written->kind == MORTISE_YAML_MAP;
    json_t *out = map ? json_object() : json_array();
    size_t before = p->pointer.n;

    for (size_t i = 0; i < written->n && out != NULL; i++) {
        const char *key = map ? written->keys[i]->str : NULL;
        json_t *one;

        if (map && is_left_out(p, key))
            continue;
        if (map)
            mortise_json_pointer(&p->pointer, key);
        else
            mortise_buf_printf(&p->pointer, "/%zu", i);
        one = value_of(p, written->items[i], meant->items[i]);
        if (map)
            put(p, out, key, one);
        else
            p->nomem |= json_array_append_new(out, one) != 0;
        p->pointer.n = before;
    }
    return out;
}

static void note_redacted(struct page *p)
{
    put(p, json_object_get(p->origins, pointer_of(p)), "redacted", json_true());
}

static json_t *value_of(struct page *p, const struct mortise_yaml *written,
                        const struct mortise_yaml *meant)
{
    bool outside, withhold;

    if ((written->kind == MORTISE_YAML_MAP ||
         written->kind == MORTISE_YAML_SEQ) &&
        written->n > 0)
        return items_of(p, written, meant);
    origin_of(p, written, &outside);
    withhold = p->args->redacted && outside && !is_path(pointer_of(p));
    if (withhold)
        note_redacted(p);
    if (p->args->redacted && !withhold && is_marked(p) &&
        !is_reference(written)) {
        note_redacted(p);
        return json_string(withheld);
    }
    if (written->kind == MORTISE_YAML_STRING)
        return string_of(p, written, meant, withhold);
    return mortise_yaml_json(written, false);
}
/* The mapping of that name in another, made if need be. */
static json_t *part(struct page *p, json_t *of, const char *name)
{
    json_t *at = json_object_get(of, name);

    if (at == NULL) {
        at = json_object();
        put(p, of, name, at);
    }
    return at;
}

/* Something that no file says, in the mapping `at`, whose pointer is `in`. */
static void put_value(struct page *p, json_t *at, const char *in,
                      const char *key, const char *text, const char *from)
{
    char pointer[128]; /* names that are part of one are bounded */

    snprintf(pointer, sizeof pointer, "%s/%s", in, key);
    put(p, at, key, shown(p, text, !p->args->json));
    put(p, p->origins, pointer, json_pack("{s:s}", "from", from));
}

static void put_store(struct page *p)
{
    const struct mortise_deployment *d = p->settings->deployment;
    json_t *store = part(p, p->value, "store");
    const char *path = absolute(p, p->settings->store);

    if (p->args->store != NULL)
        put_value(p, store, "/store", "path", path, "--store");
    else if (d->store_path == NULL)
        put_value(p, store, "/store", "path", path, "default");
    if (!d->finished_said)
        put_value(p, part(p, store, "retention"), "/store/retention",
                  "finished", "30d", "default");
}

/* Where a server works: else it would be where what is printed here lies. */
static void put_servers(struct page *p)
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
            put_value(p, one, in, "dir", absolute(p, s->program.dir),
                      "default");
    }
}

static void put_rest(struct page *p)
{
    if (p->settings->deployment->tree == NULL) {
        put_value(p, p->value, "", "apiVersion", "mortise/v1", "default");
        put_value(p, p->value, "", "kind", "Deployment", "default");
        put_value(p, part(p, p->value, "metadata"), "/metadata", "name",
                  "default", "default");
    }
    put_store(p);
    put_servers(p);
}

/* ---- printing ------------------------------------------------------------ */

/* " ${env:A} ${file:b}", as far as there is room. */
static void add_names(char *out, size_t room, const json_t *origin,
                      const char *member, const char *what)
{
    json_t *list = json_object_get(origin, member);

    MORTISE_JSON_EACH (name, i, list) {
        size_t n = strlen(out);

        snprintf(out + n, room - n, ", %s %s", what, json_string_value(name));
    }
}

static const char *note(void *ud, const char *pointer)
{
    static char text[1024];
    const struct page *p = ud;
    const json_t *o = json_object_get(p->origins, pointer);
    const char *file = json_string_value(json_object_get(o, "file"));

    if (file == NULL)
        return json_string_value(json_object_get(o, "from"));
    snprintf(text, sizeof text, "%s:%d:%d", file,
             (int)mortise_cli_integer(o, "line"),
             (int)mortise_cli_integer(o, "column"));
    add_names(text, sizeof text, o, "variables", "environment");
    add_names(text, sizeof text, o, "files", "file");
    if (json_is_true(json_object_get(o, "by_default")))
        strncat(text, " (unset: the default)", sizeof text - strlen(text) - 1);
    return text;
}

/* Where the file was found: what would have to change for another. */
static const char *found_by(const struct mortise_cli *cli)
{
    const char *env = getenv("MORTISE_DEPLOYMENT");

    if (cli->deployment == NULL)
        return "no deployment: built-in defaults";
    if (cli->args.deployment != NULL)
        return "--deployment";
    return env != NULL && env[0] != '\0' ? "MORTISE_DEPLOYMENT"
                                         : "found in this directory";
}

static int print_text(struct mortise_cli *cli, struct page *p)
{
    const struct mortise_settings *s = p->settings;
    struct mortise_out *o = &cli->out;
    struct mortise_buf b;
    int rv;

    mortise_buf_init(&b, cli->mem);
    rv = mortise_yaml_write(&b, p->value, note, p);
    mortise_out_say(o,
                    "# %s%s%s\n# then, after plugins.path: %s\n# also, beside "
                    "trust.dir: %s\n",
                    cli->deployment, cli->deployment != NULL ? ", " : "",
                    found_by(cli), s->plugin_dirs[s->n_plugin_dirs - 1],
                    s->trust_dirs[s->n_trust_dirs - 1]);
    if (rv == MORTISE_OK)
        mortise_out_put(o, b.p, b.n);
    mortise_buf_finish(&b);
    return rv;
}

static int print_json(struct mortise_cli *cli, struct page *p)
{
    const struct mortise_settings *s = p->settings;

    return mortise_cli_print(
        cli,
        json_pack("{s:s?, s:s, s:{s:s, s:s}, s:O, s:O}", "deployment",
                  cli->deployment, "found_by", found_by(cli), "bundled",
                  "plugins", s->plugin_dirs[s->n_plugin_dirs - 1], "trust",
                  s->trust_dirs[s->n_trust_dirs - 1], "value", p->value,
                  "origins", p->origins),
        true, NULL);
}

static int print_page(struct mortise_cli *cli, struct mortise_plugin_set *set,
                      struct mortise_err *err)
{
    struct page p = {.args = &cli->args,
                     .settings = &set->settings,
                     .arena = &set->settings.arena,
                     .plugins = set->plugins};
    const struct mortise_deployment *d = set->settings.deployment;
    int rv = MORTISE_OK;

    mortise_buf_init(&p.pointer, cli->mem);
    p.origins = json_object();
    p.value =
        d->tree != NULL ? value_of(&p, d->written, d->tree) : json_object();
    if (p.value == NULL || p.origins == NULL)
        p.nomem = true;
    else
        put_rest(&p);
    if (!p.nomem)
        rv = cli->args.json ? print_json(cli, &p) : print_text(cli, &p);
    json_decref(p.value);
    json_decref(p.origins);
    mortise_buf_finish(&p.pointer);
    return p.nomem || rv != MORTISE_OK ? mortise_nomem(err) : MORTISE_OK;
}

static int config_print(struct mortise_cli *cli, struct mortise_err *err)
{
    struct mortise_plugin_set set = {.plugins = NULL};
    int rv = mortise_cli_format(cli);

    if (rv != MORTISE_EXIT_OK)
        return rv;
    cli->looks = true;
    rv = cli->args.redacted ? mortise_plugin_set_open(&set, cli, NULL, err)
                            : mortise_cli_settings(cli, &set.settings, err);
    if (rv == MORTISE_OK && set.settings.deployment->unresolved)
        cli->args.resolved = false; /* that is not allowed, as a warning says */
    if (rv == MORTISE_OK)
        rv = print_page(cli, &set, err);
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
