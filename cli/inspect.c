/* inspect.c -- `mortise plugin inspect`: what a plugin says of itself, and what
 * it may really touch.
 *
 * A manifest may leave a permission to the deployment (`config:PATH`).  With a
 * plugin's name both are shown: the words that were signed, and the grant that
 * they come to here.  Each guardrail and each model that the deployment makes of
 * the plugin has a config, and so a grant, of its own.  A file that is inspected
 * is in no deployment.  Operations that the deployment's lock has are shown beside
 * those of the manifest.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/utf8.h"
#include "cli/operation.h"
#include "cli/plugin_set.h"
#include "services/http/egress.h"
#include "core/plugin/grant.h"

enum { ABOUT = 121 }; /* of a description: room for its first line */

static void line(struct mortise_out *o, const char *name, const char *value)
{
    if (value == NULL || value[0] == '\0')
        return;
    mortise_out_cell(o, name, 11);
    mortise_out_say(o, " %s\n", value);
}

static void names(struct mortise_out *o, const char *name,
                  const struct mortise_names *list)
{
    if (list->n == 0)
        return;
    mortise_out_cell(o, name, 11);
    for (size_t i = 0; i < list->n; i++)
        mortise_out_say(o, " %s", list->items[i]);
    mortise_out_puts(o, "\n");
}

static void print_operation(struct mortise_out *o,
                            const struct mortise_manifest_op *op)
{
    mortise_out_puts(o, "  ");
    mortise_out_cell(o, op->name, 16);
    mortise_out_puts(o, " ");
    mortise_out_cell(o, op->effect, 9);
    mortise_out_puts(o, op->idempotent ? " idempotent" : "");
    mortise_out_puts(o, op->reconcile ? " reconcile" : "");
    if (strcmp(op->effect, "write") == 0 || strcmp(op->effect, "external") == 0)
        mortise_out_puts(o, op->steps ? " intent:steps" : " intent:call");
    mortise_out_say(o, " %s\n", op->description);
}

static void first_line(char out[ABOUT], const char *text)
{
    size_t n = mortise_utf8_cut(text, strcspn(text, "\n"), ABOUT - 1);

    snprintf(out, ABOUT, "%.*s", (int)n, text);
}

/* Those that the deployment's lock has, by the deployment's word. */
static void print_pins(struct mortise_out *o, const struct mortise_manifest *m,
                       const struct mortise_deployment *d)
{
    const struct mortise_tool_pin *pins;
    size_t n = mortise_deployment_tool_pins(d, m->name, &pins);
    char about[ABOUT];

    if (n > 0)
        mortise_out_puts(o, "pinned operations\n");
    for (size_t i = 0; i < n; i++) {
        mortise_out_puts(o, "  ");
        mortise_out_cell(o, pins[i].operation, 16);
        mortise_out_puts(o, " ");
        mortise_out_cell(o, pins[i].effect, 9);
        mortise_out_puts(o, pins[i].idempotent ? " idempotent" : "");
        first_line(about, pins[i].description);
        mortise_out_say(o, " %s\n", about);
    }
}

static json_t *pins_of(const struct mortise_manifest *m,
                       const struct mortise_deployment *d)
{
    const struct mortise_tool_pin *pins;
    size_t n = mortise_deployment_tool_pins(d, m->name, &pins);
    json_t *out = n > 0 ? json_object() : NULL;

    for (size_t i = 0; i < n; i++)
        json_object_set_new(
            out, pins[i].operation,
            json_pack("{s:s, s:b, s:s}", "effect", pins[i].effect, "idempotent",
                      pins[i].idempotent, "description", pins[i].description));
    return out;
}

static void print_manifest(struct mortise_out *o,
                           const struct mortise_manifest *m)
{
    char hex[MORTISE_DIGEST_HEX];

    line(o, "name", m->name);
    line(o, "version", m->version);
    line(o, "description", m->description);
    line(o, "license", m->license);
    line(o, "kind", mortise_cli_kinds(m));
    mortise_hex(hex, m->digest, sizeof m->digest);
    line(o, "digest", hex);
    line(o, "file", m->path);
    line(o, "signed by", m->dev ? "none (plugins.dev)" : "");
    for (size_t i = 0; i < m->n_artifacts; i++) {
        mortise_hex(hex, m->artifacts[i].digest, sizeof m->artifacts[i].digest);
        line(o, m->artifacts[i].file, hex);
    }
    for (size_t i = 0; i < m->n_methods; i++)
        line(o, i == 0 ? "asks for" : "", m->methods[i]);
    for (size_t i = 0; i < m->n_state_paths; i++)
        line(o, i == 0 ? "may read" : "", m->state_paths[i]);
    names(o, "net", &m->net);
    names(o, "fs read", &m->fs_read);
    names(o, "fs write", &m->fs_write);
    names(o, "exec", &m->exec);
    names(o, "env", &m->env);
    names(o, "secrets", &m->secrets);
    if (m->n_ops > 0)
        mortise_out_puts(o, "operations\n");
    for (size_t i = 0; i < m->n_ops; i++)
        print_operation(o, &m->ops[i]);
    if (m->config_schema != NULL) {
        mortise_out_puts(o, "config\n");
        mortise_cli_print_schema(o, mortise_schema_json(m->config_schema), 2);
    }
}

/* ---- the grant ---------------------------------------------------------- */

/* A list of JSON strings; NULL: no memory, or err says what is wrong. */
static json_t *net_of(struct mortise_arena *a, const struct mortise_names *net,
                      const json_t *config, struct mortise_err *err)
{
    struct mortise_egress e;
    json_t *list = NULL;

    if (mortise_egress_make(&e, a, net, config, err) != MORTISE_OK)
        return NULL;
    list = json_array();
    for (size_t i = 0; i < e.n; i++) {
        bool v6 = strchr(e.list[i].host, ':') != NULL;

        json_array_append_new(list, json_sprintf(v6 ? "[%s]:%u" : "%s:%u",
                                                 e.list[i].host,
                                                 (unsigned)e.list[i].port));
    }
    return list;
}

static json_t *list_of(struct mortise_arena *a, const char *what,
                       const struct mortise_names *permission,
                       const json_t *config, struct mortise_err *err)
{
    struct mortise_grant g;
    json_t *list = NULL;
    int rv = mortise_grant_make(&g, a, permission, config, err);

    if (rv != MORTISE_OK) {
        mortise_doing(err, rv, "permissions.%s", what);
        return NULL;
    }
    list = json_array();
    for (size_t i = 0; i < g.n; i++)
        json_array_append_new(list, json_string(g.list[i].value));
    return list;
}

/* {net, fs: {read, write}, exec, env, secrets}: a new reference. */
static json_t *grant_of(struct mortise_arena *a,
                        const struct mortise_manifest *m, const json_t *config,
                        struct mortise_err *err)
{
    mortise_nomem(err); /* unless something else is said */
    return json_pack("{s:o, s:{s:o, s:o}, s:o, s:o, s:o}", "net",
                     net_of(a, &m->net, config, err), "fs", "read",
                     list_of(a, "fs.read", &m->fs_read, config, err), "write",
                     list_of(a, "fs.write", &m->fs_write, config, err), "exec",
                     list_of(a, "exec", &m->exec, config, err), "env",
                     list_of(a, "env", &m->env, config, err), "secrets",
                     list_of(a, "secrets", &m->secrets, config, err));
}

/* Where the manifest asks for anything. */
static void granted(struct mortise_out *o, const char *name,
                    const struct mortise_names *permission, const json_t *list)
{
    MORTISE_JSON_EACH (one, i, list)
        line(o, i == 0 ? name : "", json_string_value(one));
    if (json_array_size(list) == 0 && permission->n > 0)
        line(o, name, "nothing (see its config)");
}

static void print_grant(struct mortise_out *o, const struct mortise_manifest *m,
                        const json_t *grant)
{
    const json_t *fs = json_object_get(grant, "fs");

    granted(o, "may reach", &m->net, json_object_get(grant, "net"));
    granted(o, "reads in", &m->fs_read, json_object_get(fs, "read"));
    granted(o, "writes in", &m->fs_write, json_object_get(fs, "write"));
    granted(o, "may start", &m->exec, json_object_get(grant, "exec"));
    granted(o, "may use", &m->secrets, json_object_get(grant, "secrets"));
}

/* ---- its instances ------------------------------------------------------- */

/* The grants of a plugin in a deployment while they are made. */
struct grants {
    const struct mortise_deployment *d;
    const struct mortise_manifest *m;
    struct mortise_arena *a;
    json_t *all; /* {WHERE: grant}, "" for plugins.config */
};

/* Of the instance that has its config at `where` of the deployment, which that
 * knows as `as`. */
static int add_grant(struct grants *g, const char *where, const char *name,
                     const char *as, struct mortise_err *err)
{
    json_t *config = mortise_deployment_config(g->d, g->m->name, as);
    json_t *grant = NULL;
    char key[256];

    snprintf(key, sizeof key, "%s%s", where, name);
    if (config != NULL)
        grant = grant_of(g->a, g->m, config, err);
    else
        mortise_nomem(err);
    json_decref(config);
    if (grant == NULL)
        return key[0] != '\0' ? mortise_doing(err, err->code, "%s", key)
                              : err->code;
    return json_object_set_new(g->all, key, grant) == 0 ? MORTISE_OK
                                                        : mortise_nomem(err);
}

static int add_grants(struct grants *g, struct mortise_err *err)
{
    const struct mortise_guards *guards = &g->d->guards;
    const struct mortise_models *models = &g->d->models;
    const struct mortise_discoverers *finders = &g->d->discovery;
    /* Models and memories have nothing of plugins.config. */
    bool plain = (mortise_manifest_kinds(g->m) &
                  ~(MORTISE_KIND_BIT(MORTISE_KIND_MODEL) |
                    MORTISE_KIND_BIT(MORTISE_KIND_MEMORY))) != 0;
    int rv = plain ? add_grant(g, "", "", "", err) : MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < guards->n; i++)
        if (strcmp(guards->list[i].plugin, g->m->name) == 0)
            rv = add_grant(g, "guardrails.", guards->list[i].id,
                           guards->list[i].id, err);
    for (size_t i = 0; rv == MORTISE_OK && i < models->n; i++)
        if (strcmp(models->list[i].provider, g->m->name) == 0)
            rv = add_grant(g, "models.", models->list[i].alias,
                           models->list[i].instance, err);
    for (size_t i = 0; rv == MORTISE_OK && i < finders->n; i++)
        if (finders->list[i].instance[0] != '\0' &&
            strcmp(finders->list[i].plugin, g->m->name) == 0)
            rv = add_grant(g, "", finders->list[i].instance,
                           finders->list[i].instance, err);
    if (rv == MORTISE_OK && g->d->memory.plugin != NULL &&
        strcmp(g->d->memory.plugin, g->m->name) == 0)
        rv = add_grant(g, "memory", "", MORTISE_MEMORY_INSTANCE, err);
    return rv;
}

/* ---- all of it ---------------------------------------------------------- */

static void print_grants(struct mortise_out *o,
                         const struct mortise_manifest *m, const json_t *grants)
{
    const char *where;
    json_t *grant;

    json_object_foreach(mortise_json_unconst(grants), where, grant)
    {
        if (where[0] != '\0')
            line(o, "as", where);
        print_grant(o, m, grant);
    }
    if (json_object_size(grants) == 0)
        line(o, "as",
             m->provides[MORTISE_KIND_MEMORY].present
                 ? "nothing: it is not the deployment's memory"
                 : "nothing: it is not the provider of any model alias of the "
                   "deployment");
}

/* `grant`, and `grants` of what has a config of its own. */
static int put_grants(json_t *v, json_t *grants)
{
    json_t *grant = json_object_get(grants, "");
    int rv = grant != NULL ? json_object_set(v, "grant", grant) : 0;

    if (grant != NULL)
        json_object_del(grants, "");
    return rv == 0 && json_object_size(grants) > 0
               ? json_object_set(v, "grants", grants)
               : rv;
}

/* `d` and `grants` NULL: it is in no deployment. */
static int print(struct mortise_cli *cli, const struct mortise_manifest *m,
                 const struct mortise_deployment *d, json_t *grants,
                 struct mortise_err *err)
{
    json_t *v, *pins;

    if (!cli->args.json) {
        print_manifest(&cli->out, m);
        if (d != NULL)
            print_pins(&cli->out, m, d);
        if (grants != NULL)
            print_grants(&cli->out, m, grants);
        return MORTISE_OK;
    }
    v = mortise_yaml_json(m->tree, true);
    pins = d != NULL ? pins_of(m, d) : NULL;
    if ((pins != NULL && json_object_set_new(v, "pinned", pins) != 0) ||
        (grants != NULL && put_grants(v, grants) != 0))
        mortise_json_drop(&v);
    return mortise_cli_print(cli, v, true, err);
}

static int inspect_file(struct mortise_cli *cli, const char *path,
                        struct mortise_err *err)
{
    struct mortise_manifest *m = NULL;
    int rv = mortise_cli_manifest(cli, path, &m, err);

    if (rv == MORTISE_OK)
        rv = print(cli, m, NULL, NULL, err);
    mortise_manifest_free(m);
    return rv;
}

static int inspect_in(struct mortise_cli *cli,
                      const struct mortise_plugin_set *s,
                      const struct mortise_manifest *m, struct mortise_err *err)
{
    struct mortise_arena a;
    struct grants g = {
        .d = s->settings.deployment, .m = m, .a = &a, .all = json_object()};
    int rv;

    mortise_arena_init(&a, cli->mem);
    rv = g.all != NULL ? add_grants(&g, err) : mortise_nomem(err);
    if (rv == MORTISE_OK)
        rv = print(cli, m, g.d, g.all, err);
    mortise_arena_finish(&a);
    json_decref(g.all);
    return rv;
}

static int inspect_named(struct mortise_cli *cli, const char *name,
                         struct mortise_err *err)
{
    const struct mortise_manifest *m = NULL;
    struct mortise_plugin_set s;
    int rv = mortise_plugin_set_open(&s, cli, NULL, err);

    if (rv == MORTISE_OK) {
        m = mortise_plugins_find(s.plugins, name, err);
        rv = m != NULL ? inspect_in(cli, &s, m, err) : err->code;
    }
    mortise_plugin_set_close(&s);
    return rv;
}

static int inspect_operation(struct mortise_cli *cli, const char *what,
                             struct mortise_err *err)
{
    const char *op = strchr(what, '/') + 1;
    const struct mortise_manifest *m;
    struct mortise_plugin_set s;
    char name[128];
    int rv = mortise_plugin_set_open(&s, cli, NULL, err);

    snprintf(name, sizeof name, "%.*s", (int)(op - 1 - what), what);
    if (rv == MORTISE_OK) {
        m = mortise_plugins_find(s.plugins, name, err);
        rv = m != NULL
                 ? mortise_cli_operation(cli, m, s.settings.deployment, op, err)
                 : err->code;
    }
    mortise_plugin_set_close(&s);
    return rv;
}

/* PLUGIN/OPERATION, and no file: it is not there, or has the name of one. */
static bool is_operation(const char *what)
{
    size_t n = strlen(what);

    return strchr(what, '/') != NULL && what[0] != '/' && what[0] != '.' &&
           what[n - 1] != '/' && strstr(what, ".yaml") == NULL &&
           access(what, F_OK) != 0;
}

static int plugin_inspect(struct mortise_cli *cli, struct mortise_err *err)
{
    const char *what = cli->args.operands[0];

    if (is_operation(what))
        return inspect_operation(cli, what, err);
    return mortise_cli_is_path(what) ? inspect_file(cli, what, err)
                                     : inspect_named(cli, what, err);
}

static const struct mortise_opt opts[] = {
    MORTISE_OPT_JSON("The manifest, or the operation, as JSON"),
    MORTISE_OPTS_OF_STORE,
};

const struct mortise_cmd mortise_cmd_plugin_inspect = {
    .name = "plugin inspect",
    .operands = "NAME|NAME/OPERATION|FILE",
    .summary = "Show the manifest of a plugin: operations, permissions",
    .text = "The command reads the manifest and runs no plugin code.  The\n"
            "manifest is not verified: see 'mortise plugin verify'.  `config`\n"
            "lists the keys that the plugin's config in a Deployment file can\n"
            "have.  For a NAME, the command also prints the permissions that\n"
            "the plugin has in this deployment: in the plugin's config\n"
            "(`grant`), and in each guardrail and model that uses the plugin\n"
            "(`grants`).\n"
            "\n"
            "For NAME/OPERATION, it prints the arguments, the output and the\n"
            "effect of the operation: one line for each member with its type.\n"
            "--json prints the schemas.\n",
    .opts = opts,
    .exits = MORTISE_EXITS_STORE | MORTISE_EXITS_FINDINGS,
    .example = "mortise plugin inspect file\n"
               "mortise plugin inspect http/get",
    .run = plugin_inspect,
};
