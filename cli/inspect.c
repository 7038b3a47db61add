/* inspect.c -- `mortise plugin inspect`: a plugin's manifest and its
 * permissions.
 *
 * A manifest can leave a permission to the deployment (`config:PATH`).  For a
 * plugin's name, the command prints both the manifest and the permissions in
 * this deployment.  Each guardrail and model alias of the plugin has a config
 * of its own, and therefore permissions of its own.  A file that is inspected
 * belongs to no deployment.  The operations pinned in the deployment's lock are
 * listed after those of the manifest. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/utf8.h"
#include "cli/operation.h"
#include "cli/plugin_set.h"
#include "core/plugin/egress.h"
#include "core/plugin/grant.h"

enum { ABOUT_MAX = 121 }; /* room for the first line of a description */

static void print_inspect_line(struct mortise_out *o, const char *name,
                               const char *value)
{
    if (value == NULL || value[0] == '\0')
        return;
    mortise_out_put_cell(o, name, 11);
    mortise_out_print_escaped(o, " %s\n", value);
}

static void print_inspect_names(struct mortise_out *o, const char *name,
                                const struct mortise_names *list)
{
    if (list->n == 0)
        return;
    mortise_out_put_cell(o, name, 11);
    for (size_t i = 0; i < list->n; i++)
        mortise_out_print_escaped(o, " %s", list->items[i]);
    mortise_out_puts(o, "\n");
}

static void print_manifest_operation(struct mortise_out *o,
                                     const struct mortise_manifest_op *op)
{
    mortise_out_puts(o, "  ");
    mortise_out_put_cell(o, op->name, 16);
    mortise_out_puts(o, " ");
    mortise_out_put_cell(o, op->effect, 9);
    mortise_out_puts(o, op->idempotent ? " idempotent" : "");
    mortise_out_puts(o, op->reconcile ? " reconcile" : "");
    if (strcmp(op->effect, "write") == 0 || strcmp(op->effect, "external") == 0)
        mortise_out_puts(o, op->steps ? " intent:steps" : " intent:call");
    mortise_out_print_escaped(o, " %s\n", op->description);
}

static void copy_first_line(char out[ABOUT_MAX], const char *text)
{
    size_t n =
        mortise_utf8_get_prefix_size(text, strcspn(text, "\n"), ABOUT_MAX - 1);

    snprintf(out, ABOUT_MAX, "%.*s", (int)n, text);
}

/* Print the operations that the deployment's lock pins, with the effects that
 * the deployment declares. */
static void print_pinned_operations(struct mortise_out *o,
                                    const struct mortise_manifest *m,
                                    const struct mortise_deployment *d)
{
    const struct mortise_tool_pin *pins;
    size_t n = mortise_deployment_list_tool_pins(d, m->name, &pins);
    char about[ABOUT_MAX];

    if (n > 0)
        mortise_out_puts(o, "pinned operations\n");
    for (size_t i = 0; i < n; i++) {
        mortise_out_puts(o, "  ");
        mortise_out_put_cell(o, pins[i].operation, 16);
        mortise_out_puts(o, " ");
        mortise_out_put_cell(o, pins[i].effect, 9);
        mortise_out_puts(o, pins[i].idempotent ? " idempotent" : "");
        copy_first_line(about, pins[i].description);
        mortise_out_print_escaped(o, " %s\n", about);
    }
}

static json_t *encode_pinned_operations(const struct mortise_manifest *m,
                                        const struct mortise_deployment *d)
{
    const struct mortise_tool_pin *pins;
    size_t n = mortise_deployment_list_tool_pins(d, m->name, &pins);
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

    print_inspect_line(o, "name", m->name);
    print_inspect_line(o, "version", m->version);
    print_inspect_line(o, "description", m->description);
    print_inspect_line(o, "license", m->license);
    print_inspect_line(o, "kind", mortise_cli_get_kinds(m));
    mortise_hex_encode(hex, m->digest, sizeof m->digest);
    print_inspect_line(o, "digest", hex);
    print_inspect_line(o, "file", m->path);
    print_inspect_line(o, "signed by", m->dev ? "none (plugins.dev)" : "");
    for (size_t i = 0; i < m->n_artifacts; i++) {
        mortise_hex_encode(hex, m->artifacts[i].digest,
                           sizeof m->artifacts[i].digest);
        print_inspect_line(o, m->artifacts[i].file, hex);
    }
    for (size_t i = 0; i < m->n_methods; i++)
        print_inspect_line(o, i == 0 ? "asks for" : "", m->methods[i]);
    for (size_t i = 0; i < m->n_state_paths; i++)
        print_inspect_line(o, i == 0 ? "may read" : "", m->state_paths[i]);
    print_inspect_names(o, "net", &m->net);
    print_inspect_names(o, "fs read", &m->fs_read);
    print_inspect_names(o, "fs write", &m->fs_write);
    print_inspect_names(o, "exec", &m->exec);
    print_inspect_names(o, "env", &m->env);
    print_inspect_names(o, "secrets", &m->secrets);
    if (m->n_ops > 0)
        mortise_out_puts(o, "operations\n");
    for (size_t i = 0; i < m->n_ops; i++)
        print_manifest_operation(o, &m->ops[i]);
    if (m->config_schema != NULL) {
        mortise_out_puts(o, "config\n");
        mortise_cli_print_schema(o, mortise_schema_json(m->config_schema), 2);
    }
}

/* ---- permissions -------------------------------------------------------- */

/* List HOST:PORT strings; NULL: memory ran out, or another error in err. */
static json_t *list_granted_destinations(struct mortise_arena *a,
                                         const struct mortise_names *net,
                                         const json_t *config,
                                         struct mortise_err *err)
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

static json_t *list_granted_values(struct mortise_arena *a, const char *what,
                                   const struct mortise_names *permission,
                                   const json_t *config,
                                   struct mortise_err *err)
{
    struct mortise_grant g;
    json_t *list = NULL;
    int rv = mortise_grant_resolve(&g, a, permission, config, err);

    if (rv != MORTISE_OK) {
        mortise_err_prefix(err, rv, "permissions.%s", what);
        return NULL;
    }
    list = json_array();
    for (size_t i = 0; i < g.n; i++)
        json_array_append_new(list, json_string(g.list[i].value));
    return list;
}

/* Encode {net, fs: {read, write}, exec, env, secrets}: a new reference. */
static json_t *encode_grant(struct mortise_arena *a,
                            const struct mortise_manifest *m,
                            const json_t *config, struct mortise_err *err)
{
    mortise_nomem(err); /* the default */
    return json_pack(
        "{s:o, s:{s:o, s:o}, s:o, s:o, s:o}", "net",
        list_granted_destinations(a, &m->net, config, err), "fs", "read",
        list_granted_values(a, "fs.read", &m->fs_read, config, err), "write",
        list_granted_values(a, "fs.write", &m->fs_write, config, err), "exec",
        list_granted_values(a, "exec", &m->exec, config, err), "env",
        list_granted_values(a, "env", &m->env, config, err), "secrets",
        list_granted_values(a, "secrets", &m->secrets, config, err));
}

/* Print one permission, if the manifest requests it. */
static void print_permission(struct mortise_out *o, const char *name,
                             const struct mortise_names *permission,
                             const json_t *list)
{
    MORTISE_JSON_EACH (one, i, list)
        print_inspect_line(o, i == 0 ? name : "", json_string_value(one));
    if (json_array_size(list) == 0 && permission->n > 0)
        print_inspect_line(o, name, "nothing (see its config)");
}

static void print_grant(struct mortise_out *o, const struct mortise_manifest *m,
                        const json_t *grant)
{
    const json_t *fs = json_object_get(grant, "fs");

    print_permission(o, "may reach", &m->net, json_object_get(grant, "net"));
    print_permission(o, "reads in", &m->fs_read, json_object_get(fs, "read"));
    print_permission(o, "writes in", &m->fs_write,
                     json_object_get(fs, "write"));
    print_permission(o, "may start", &m->exec, json_object_get(grant, "exec"));
    print_permission(o, "may use", &m->secrets,
                     json_object_get(grant, "secrets"));
}

/* ---- instances ---------------------------------------------------------- */

/* The permissions of a plugin's instances, while they are collected. */
struct grants {
    const struct mortise_deployment *d;
    const struct mortise_manifest *m;
    struct mortise_arena *a;
    json_t *all; /* {WHERE: grant}, "" for plugins.config */
};

/* Add the permissions of the instance `as`, which has its config at `where` of
 * the deployment. */
static int add_grant(struct grants *g, const char *where, const char *name,
                     const char *as, struct mortise_err *err)
{
    json_t *config = mortise_deployment_get_config(g->d, g->m->name, as);
    json_t *grant = NULL;
    char key[256];

    snprintf(key, sizeof key, "%s%s", where, name);
    if (config != NULL)
        grant = encode_grant(g->a, g->m, config, err);
    else
        mortise_nomem(err);
    json_decref(config);
    if (grant == NULL)
        return key[0] != '\0' ? mortise_err_prefix(err, err->code, "%s", key)
                              : err->code;
    return json_object_set_new(g->all, key, grant) == 0 ? MORTISE_OK
                                                        : mortise_nomem(err);
}

static int add_grants(struct grants *g, struct mortise_err *err)
{
    const struct mortise_guards *guards = &g->d->guards;
    const struct mortise_models *models = &g->d->models;
    const struct mortise_discoverers *finders = &g->d->discovery;
    /* Models and memories do not use plugins.config. */
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

/* ---- output ------------------------------------------------------------- */

static void print_grants(struct mortise_out *o,
                         const struct mortise_manifest *m, const json_t *grants)
{
    const char *where;
    json_t *grant;

    json_object_foreach(mortise_json_unconst(grants), where, grant)
    {
        if (where[0] != '\0')
            print_inspect_line(o, "as", where);
        print_grant(o, m, grant);
    }
    if (json_object_size(grants) == 0)
        print_inspect_line(
            o, "as",
            m->provides[MORTISE_KIND_MEMORY].present
                ? "nothing: it is not the deployment's memory"
                : "nothing: it is not the provider of any model alias of the "
                  "deployment");
}

/* Put `grant`, and `grants` of the instances with a config of their own. */
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

/* `d` and `grants` NULL: without a deployment. */
static int print_inspected_plugin(struct mortise_cli *cli,
                                  const struct mortise_manifest *m,
                                  const struct mortise_deployment *d,
                                  json_t *grants, struct mortise_err *err)
{
    json_t *v, *pins;

    if (!cli->args.json) {
        print_manifest(&cli->out, m);
        if (d != NULL)
            print_pinned_operations(&cli->out, m, d);
        if (grants != NULL)
            print_grants(&cli->out, m, grants);
        return MORTISE_OK;
    }
    v = mortise_yaml_to_json(m->tree, true);
    pins = d != NULL ? encode_pinned_operations(m, d) : NULL;
    if ((pins != NULL && json_object_set_new(v, "pinned", pins) != 0) ||
        (grants != NULL && put_grants(v, grants) != 0))
        mortise_json_clear_ref(&v);
    return mortise_cli_print_json(cli, v, true, err);
}

static int inspect_file(struct mortise_cli *cli, const char *path,
                        struct mortise_err *err)
{
    struct mortise_manifest *m = NULL;
    int rv = mortise_cli_read_manifest(cli, path, &m, err);

    if (rv == MORTISE_OK)
        rv = print_inspected_plugin(cli, m, NULL, NULL, err);
    mortise_manifest_free(m);
    return rv;
}

static int inspect_in_deployment(struct mortise_cli *cli,
                                 const struct mortise_plugin_set *s,
                                 const struct mortise_manifest *m,
                                 struct mortise_err *err)
{
    struct mortise_arena a;
    struct grants g = {
        .d = s->settings.deployment, .m = m, .a = &a, .all = json_object()};
    int rv;

    mortise_arena_init(&a, cli->mem);
    rv = g.all != NULL ? add_grants(&g, err) : mortise_nomem(err);
    if (rv == MORTISE_OK)
        rv = print_inspected_plugin(cli, m, g.d, g.all, err);
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
        rv = m != NULL ? inspect_in_deployment(cli, &s, m, err) : err->code;
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
        rv = m != NULL ? mortise_cli_print_operation(
                             cli, m, s.settings.deployment, op, err)
                       : err->code;
    }
    mortise_plugin_set_close(&s);
    return rv;
}

/* Is it PLUGIN/OPERATION?  Not if it is a file, or is named like one. */
static bool is_operation_name(const char *what)
{
    size_t n = strlen(what);

    return strchr(what, '/') != NULL && what[0] != '/' && what[0] != '.' &&
           what[n - 1] != '/' && strstr(what, ".yaml") == NULL &&
           access(what, F_OK) != 0;
}

static int plugin_inspect(struct mortise_cli *cli, struct mortise_err *err)
{
    const char *what = cli->args.operands[0];

    if (is_operation_name(what))
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
