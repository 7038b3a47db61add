/* check.c -- `mortise check`: report the findings of all files.
 *
 * Each file is read by the function that the runtime uses.  There is no
 * second, more lenient checker, so a file that passes also loads.  A broken
 * file never hides the findings of another.  No plugin code runs and no store
 * is opened; bring_up.c starts plugins on trial if --plugins asks for it.
 *
 * A graph is checked against the plugins of the deployment that `mortise run`
 * would choose for it.  So one call can check graphs of several directories,
 * each with its own deployment.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "cli/bring_up.h"
#include "testkit/cases/casefile.h"
#include "cli/check_dir.h"
#include "cli/error_codes.h"
#include "cli/plugin_set.h"
#include "lang/config/plugins/configs.h"
#include "core/model/disk.h"
#include "core/model/graph.h"
#include "lang/manifest/manifest.h"
#include "core/plugin/registry.h"
#include "lang/manifest/trust_file.h"
#include "lang/graph/load.h"
#include "lang/yaml/header.h"

struct check_session {
    struct mortise_cli *cli;
    struct mortise_diags *diags;
    int worst; /* the exit code so far */
    /* The plugins of `deployment`, opened when a graph first needs them.  The
     * result is cached for other graphs with this deployment. */
    bool open;
    int opened;
    int configs; /* result of checking the plugins' configs */
    bool configs_read;
    struct mortise_err why;
    char deployment[PATH_MAX]; /* "": none */
    struct mortise_settings settings;
    struct mortise_plugins *plugins;
    struct mortise_catalogs *catalogs;
};

static void close_check_plugins(struct check_session *c)
{
    mortise_catalogs_close(c->catalogs);
    mortise_plugins_close(c->plugins);
    mortise_settings_close(&c->settings);
    c->catalogs = NULL;
    c->plugins = NULL;
    c->open = false;
}

static int open_plugin_set(struct check_session *c, struct mortise_err *err)
{
    struct mortise_plugins_config config =
        mortise_plugin_set_config(c->cli->mem, &c->settings);
    int rv;

    config.user_remembers = false; /* do not write to the user's directory */
    rv = mortise_plugins_open(&c->plugins, &config, err);
    if (rv == MORTISE_OK)
        rv = mortise_catalogs_open(&c->catalogs, c->cli->mem, c->plugins,
                                   c->settings.deployment, err);
    return rv;
}

/* MORTISE_ECHECK with open plugins: the deployment has errors, and `how` asks
 * to check it nevertheless. */
static int open_check_catalog(struct check_session *c, unsigned how,
                              struct mortise_err *err)
{
    struct mortise_err why;
    int rv = mortise_settings_open(
        &c->settings, c->cli->mem, c->cli->deployment, NULL,
        mortise_cli_settings_flags(c->cli) | how, c->diags, err);

    if (rv == MORTISE_OK)
        return open_plugin_set(c, err);
    if (c->settings.deployment != NULL &&
        open_plugin_set(c, &why) == MORTISE_ENOMEM)
        return mortise_nomem(err);
    return rv;
}

/* Open the plugins of the current deployment. */
static int open_deployment_plugins(struct check_session *c, unsigned how,
                                   struct mortise_err *err)
{
    const char *deployment = c->cli->deployment;

    close_check_plugins(c);
    snprintf(c->deployment, sizeof c->deployment, "%s",
             deployment != NULL ? deployment : "");
    c->why.code = MORTISE_OK;
    c->configs_read = false;
    c->opened = open_check_catalog(c, how, &c->why);
    c->open = true;
    *err = c->why;
    return c->opened;
}

/* Open the catalog for the graph at this path, with its deployment. */
static int open_catalog_for_graph(struct check_session *c, const char *path,
                                  struct mortise_err *err)
{
    const char *deployment;
    int rv = mortise_cli_find_deployment(c->cli, path, err);

    if (rv != MORTISE_OK)
        return rv;
    deployment = c->cli->deployment != NULL ? c->cli->deployment : "";
    if (!c->open || strcmp(c->deployment, deployment) != 0)
        return open_deployment_plugins(c, 0, err);
    *err = c->why;
    return c->opened;
}

/* ---- one file, by its kind --------------------------------------------- */

/* `idle`: do not call its plugins.  `beside`: the path next to which a
 * deployment is looked for; NULL: not looked for. */
static int load_checked_graph(struct check_session *c, const char *path,
                              const char *beside, bool idle, const char *text,
                              size_t n, struct mortise_graph **out,
                              struct mortise_err *err)
{
    struct mortise_graph_files files;
    struct mortise_catalog catalog;
    int rv = open_catalog_for_graph(c, beside, err);

    if (rv != MORTISE_OK)
        return rv;
    c->catalogs->is_idle = idle;
    catalog = mortise_disk_catalog_make(&c->catalogs->strict, &files, NULL);
    catalog.error_codes = mortise_error_codes;
    catalog.n_error_codes = mortise_n_error_codes;
    catalog.advise = true;
    return mortise_graph_load(out, c->cli->mem, path, text, n, &catalog,
                              c->diags, err);
}

/* An engine rejects an invalid plugin config when it opens, so no graph runs.
 * Report that once, as a finding of the deployment, and not for each graph. */
static int check_plugin_configs(struct check_session *c)
{
    if (!c->configs_read)
        c->configs = mortise_configs_check(c->settings.deployment, c->plugins,
                                           false, c->diags);
    c->configs_read = true;
    return c->configs;
}

static int check_graph_file(struct check_session *c, const char *path,
                            const char *text, size_t n, struct mortise_err *err)
{
    struct mortise_graph *g;
    int rv = load_checked_graph(c, path, path, false, text, n, &g, err);

    if (rv != MORTISE_OK)
        return rv;
    rv = check_plugin_configs(c);
    if (c->cli->args.bring_up && rv == MORTISE_OK)
        rv = mortise_try_graph_plugins(c->cli, c->settings.deployment, g,
                                       c->diags, err);
    if (rv == MORTISE_ENOMEM)
        mortise_nomem(err);
    mortise_graph_unref(g);
    return rv;
}

int mortise_cli_check_graph(struct mortise_cli *cli, const char *path,
                            const char *text, size_t n,
                            struct mortise_diags *diags,
                            struct mortise_err *err)
{
    struct check_session c = {.cli = cli, .diags = diags};
    int rv;

    cli->looks = true;
    rv = check_graph_file(&c, path, text, n, err);
    close_check_plugins(&c);
    cli->looks = false;
    return rv;
}

int mortise_cli_make_graph(struct mortise_cli *cli, const char *path,
                           const char *text, size_t n,
                           struct mortise_diags *diags,
                           struct mortise_graph **out, struct mortise_err *err)
{
    struct check_session c = {.cli = cli, .diags = diags};
    int rv;

    *out = NULL;
    cli->looks = true;
    rv = load_checked_graph(&c, path, NULL, true, text, n, out, err);
    close_check_plugins(&c);
    cli->looks = false;
    return rv;
}

/* Check a Test file against its graph, with the deployment that it names. */
static int check_test_names(struct check_session *c,
                            const struct mortise_casefile *f,
                            struct mortise_err *err)
{
    struct mortise_graph *g;
    char *text;
    size_t n;
    int rv = mortise_cli_read_file(c->cli, f->graph, &text, &n, err);

    if (rv != MORTISE_OK) {
        mortise_diag_add(c->diags, "E0315", f->graph_at->span, "%s", err->msg);
        return MORTISE_ECHECK;
    }
    c->cli->cases = f->deployment;
    rv = load_checked_graph(c, f->graph, f->graph, true, text, n, &g, err);
    c->cli->cases = NULL;
    mortise_release(c->cli->mem, text, n + 1);
    if (rv != MORTISE_OK)
        return rv;
    rv =
        mortise_casefile_check(f, g, &c->settings.deployment->models, c->diags);
    mortise_graph_unref(g);
    return rv;
}

static int check_test_file(struct check_session *c, const char *path,
                           const char *text, size_t n, struct mortise_err *err)
{
    struct mortise_casefile *f;
    int rv = mortise_casefile_read(&f, c->cli->mem, path, text, n, c->diags);

    if (rv == MORTISE_OK) {
        rv = check_test_names(c, f, err);
        mortise_casefile_free(f);
    }
    return rv == MORTISE_ENOMEM ? mortise_nomem(err) : rv;
}

static int check_manifest_file(struct check_session *c, const char *path,
                               const char *text, size_t n,
                               struct mortise_err *err)
{
    struct mortise_manifest *m;
    int rv =
        mortise_manifest_parse(&m, c->cli->mem, path, text, n, false, c->diags);

    if (rv == MORTISE_OK) {
        rv = mortise_manifest_add_warnings(m, c->diags);
        if (rv == MORTISE_OK)
            rv = mortise_manifest_check_host(m, c->diags);
        mortise_manifest_free(m);
    }
    return rv == MORTISE_ENOMEM ? mortise_nomem(err) : rv;
}

/* The operation of `executors` must exist and be permitted. */
static void check_executor_operation(struct check_session *c, const char *name,
                                     const struct mortise_yaml *at)
{
    const struct mortise_catalog *catalog = &c->catalogs->strict;
    const char *slash = strchr(name, '/');
    struct mortise_err why = {0};
    char plugin[256];

    snprintf(plugin, sizeof plugin, "%.*s", (int)(slash - name), name);
    if (catalog->operation(catalog->ud, plugin, slash + 1, &why) != NULL)
        return;
    mortise_diag_add(c->diags, why.code == MORTISE_ECONFIG ? "E0507" : "E0501",
                     at->span, "%s", why.msg);
    mortise_diags_set_reason(c->diags, &why);
}

static void check_executor_table(struct check_session *c)
{
    const struct mortise_deployment *d = c->settings.deployment;
    const struct mortise_yaml *list = mortise_yaml_get(d->tree, "executors");
    const char *name;

    if (list == NULL || list->kind != MORTISE_YAML_MAP || d->dirs_in_doubt)
        return;
    for (size_t i = 0; i < list->n; i++)
        if ((name = mortise_deployment_get_executor(d, list->keys[i]->str)) !=
            NULL)
            check_executor_operation(c, name, list->items[i]);
}

/* Check the deployment, then its settings for plugins, as far as it is
 * readable. */
static int check_deployment_file(struct check_session *c, const char *path,
                                 struct mortise_err *err)
{
    size_t errors = c->diags->n_errors;
    int rv;

    c->cli->deployment = path;
    c->cli->found = false; /* the user named it as an operand */
    rv = open_deployment_plugins(c, MORTISE_SETTINGS_ALLOW_BROKEN, err);
    if (c->plugins == NULL)
        return rv;
    rv = mortise_configs_warn(c->settings.deployment, c->plugins, c->diags);
    if (rv == MORTISE_OK)
        rv = mortise_configs_check(c->settings.deployment, c->plugins, true,
                                   c->diags);
    check_executor_table(c);
    if (rv == MORTISE_OK && c->diags->n_errors > errors)
        rv = MORTISE_ECHECK;
    if (c->cli->args.bring_up && rv == MORTISE_OK)
        rv = mortise_bring_up_deployment(c->cli, c->settings.deployment,
                                         c->plugins, c->diags, err);
    return rv == MORTISE_ENOMEM ? mortise_nomem(err) : rv;
}

/* Read the `kind` of a file; "" if it cannot be read.  The parser of that kind
 * reports the errors. */
static int read_file_kind(struct check_session *c, const char *path,
                          const char *text, size_t n, char kind[32],
                          struct mortise_err *err)
{
    struct mortise_diags ignored;
    struct mortise_arena arena;
    struct mortise_yaml *root;
    const struct mortise_yaml *v = NULL;
    int rv;

    mortise_diags_init(&ignored, c->cli->mem);
    mortise_arena_init(&arena, c->cli->mem);
    rv = mortise_yaml_parse(&root, &arena, path, text, n, &ignored);
    if (root != NULL && root->kind == MORTISE_YAML_MAP)
        v = mortise_yaml_get(root, "kind");
    snprintf(kind, 32, "%s",
             v != NULL && v->kind == MORTISE_YAML_STRING ? v->str : "");
    mortise_arena_finish(&arena);
    mortise_diags_finish(&ignored);
    return rv == MORTISE_ENOMEM ? mortise_nomem(err) : MORTISE_OK;
}

/* An unreadable file is a finding, too. */
static int read_checked_file(struct check_session *c, const char *path,
                             char **text, size_t *n, struct mortise_err *err)
{
    struct mortise_arena arena;
    int rv = mortise_cli_read_file(c->cli, path, text, n, err);

    if (rv == MORTISE_OK || rv == MORTISE_ENOMEM)
        return rv;
    mortise_arena_init(&arena, c->cli->mem);
    rv = mortise_yaml_report_unreadable(&arena, path, err->msg, c->diags);
    mortise_arena_finish(&arena);
    return rv == MORTISE_ENOMEM ? mortise_nomem(err) : rv;
}

static int check_file_by_kind(struct check_session *c, const char *path,
                              struct mortise_err *err)
{
    char *text, kind[32];
    size_t n;
    int rv = read_checked_file(c, path, &text, &n, err);

    if (rv != MORTISE_OK)
        return rv;
    rv = read_file_kind(c, path, text, n, kind, err);
    if (rv != MORTISE_OK)
        ;
    else if (strcmp(kind, "Deployment") == 0)
        rv = check_deployment_file(c, path, err);
    else if (strcmp(kind, "Plugin") == 0)
        rv = check_manifest_file(c, path, text, n, err);
    else if (strcmp(kind, "Trust") == 0)
        rv = mortise_trust_check(c->cli->mem, path, c->diags, err);
    else if (strcmp(kind, "Test") == 0)
        rv = check_test_file(c, path, text, n, err);
    else /* a graph, or an unknown kind, which the graph's parser reports */
        rv = check_graph_file(c, path, text, n, err);
    mortise_release(c->cli->mem, text, n + 1);
    return rv;
}

int mortise_cli_check_file(struct mortise_cli *cli, const char *path,
                           struct mortise_diags *diags, struct mortise_err *err)
{
    struct check_session c = {.cli = cli, .diags = diags};
    int rv;

    cli->looks = true;
    rv = check_file_by_kind(&c, path, err);
    close_check_plugins(&c);
    cli->looks = false;
    return rv;
}

/* ---- all files --------------------------------------------------------- */

static void print_findings(struct mortise_cli *cli, struct mortise_diags *diags)
{
    struct mortise_out *o = &cli->out;
    struct mortise_buf b;
    const char *text;

    mortise_buf_init(&b, cli->mem);
    if (cli->args.json)
        mortise_diags_json(diags, &b);
    else
        mortise_diags_format(diags, &b);
    text = mortise_buf_cstr(&b);
    if (text == NULL)
        o->errnum = o->errnum != 0 ? o->errnum : ENOMEM;
    else if (b.n > 0)
        mortise_out_put_text(o, text, 0);
    mortise_buf_finish(&b);
}

static void check_and_record(void *ud, const char *path)
{
    struct check_session *c = ud;
    struct mortise_err err;
    int rv = check_file_by_kind(c, path, &err);

    if (rv == MORTISE_ECHECK)
        c->worst = c->diags->denied ? MORTISE_EXIT_DENIED
                   : c->worst != 0  ? c->worst
                                    : MORTISE_EXIT_FINDINGS;
    else if (rv != MORTISE_OK)
        c->worst = mortise_cli_fail(c->cli, &err);
}

int mortise_cli_check_operands(struct mortise_cli *cli,
                               struct mortise_diags *diags)
{
    const struct mortise_args *a = &cli->args;
    struct check_session c = {.cli = cli, .diags = diags};
    struct mortise_err err;

    cli->looks = true;
    for (size_t i = 0; i < a->n_operands; i++) {
        if (!mortise_cli_is_dir(a->operands[i]))
            check_and_record(&c, a->operands[i]);
        else if (mortise_cli_for_each_file(a->operands[i], check_and_record, &c,
                                           &err) != MORTISE_OK)
            c.worst = mortise_cli_fail(cli, &err);
    }
    close_check_plugins(&c);
    cli->looks = false;
    return c.worst;
}

/* --format json is the same as --json. */
int mortise_cli_parse_format(struct mortise_cli *cli)
{
    const char *format = cli->args.format;

    if (format != NULL && strcmp(format, "json") == 0)
        cli->args.json = true;
    else if (format != NULL && strcmp(format, "text") != 0)
        return mortise_cli_fail_usage(
            cli, "--format must be text or json, not '%s'", format);
    return MORTISE_EXIT_OK;
}

static int run_check_command(struct mortise_cli *cli, struct mortise_err *err)
{
    struct mortise_diags diags;
    int code = mortise_cli_parse_format(cli);

    (void)err; /* errors are printed for each file */
    if (code != MORTISE_EXIT_OK)
        return code;
    mortise_diags_init(&diags, cli->mem);
    code = mortise_cli_check_operands(cli, &diags);
    print_findings(cli, &diags);
    mortise_diags_finish(&diags);
    return code;
}

static const struct mortise_opt opts[] = {
    MORTISE_OPT_TEXT("format", "FORMAT", format,
                     "text or json (default: text)"),
    MORTISE_OPT_JSON("The same as --format json"),
    MORTISE_OPT_FLAG("plugins", bring_up,
                     "Start the plugins of graphs and deployments (runs\n"
                     "their create())"),
    MORTISE_OPT_DEPLOYMENT,
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_check = {
    .name = "check",
    .operands = "FILE|DIR...",
    .summary = "Check graphs, tests, deployments, manifests and trust files",
    .text =
        "The command prints the findings of all files, sorted by file and\n"
        "line.  It prints at most 500 errors and 500 warnings, and then\n"
        "the number of the other findings (`left_out` with --json).  The\n"
        "key `kind` of a file selects the checks for this file.\n"
        "\n"
        "A file that passes the check also loads: an engine can open with\n"
        "the deployment and accept the graph.  The check runs no graph and\n"
        "opens no store.  It verifies that a plugin's config matches the\n"
        "plugin's schema, and that the deployment has the models, secrets\n"
        "and programs that configs and graphs name.  'mortise doctor'\n"
        "verifies that the files of programs exist.\n"
        "\n"
        "The check does not verify that a plugin starts with its config.\n"
        "With --plugins, the check also starts plugins, each in a process\n"
        "of its own.  For a graph, it starts the plugins that the graph\n"
        "uses.  For a deployment, it starts the plugin of each guardrail,\n"
        "memory, discovery and model, and the executors and guardrails in\n"
        "plugins.config, tools.mcp and executors.  It starts no MCP\n"
        "server: use 'mortise mcp list SERVER' for that.\n"
        "\n"
        "For a DIR, the command checks each *.yaml and *.yml file below\n"
        "DIR whose `apiVersion` begins with mortise/.  It skips hidden\n"
        "files and symbolic links.\n"
        "\n"
        "A graph is checked against the plugins of its deployment.  This\n"
        "is the first of these that is given or exists: --deployment,\n"
        "MORTISE_DEPLOYMENT, mortise.yaml beside the graph,\n"
        "./mortise.yaml.  Otherwise, the bundled plugins are used.\n",
    .opts = opts,
    .exits = MORTISE_EXITS_FINDINGS | MORTISE_EXITS_STORE,
    .example = "mortise check configs/triage/*.yaml\n"
               "mortise check .",
    .run = run_check_command,
};
