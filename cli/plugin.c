/* plugin.c -- `mortise plugin`: lists, verifies and signs plugins.
 *
 * No code of a plugin is run.  See inspect.c for manifests. */
#include "core/base/err.h"
#include "cli/secret.h"
#include "cli/plugin_set.h"
#include "lang/manifest/sign.h"

/* ---- list --------------------------------------------------------------- */

/* An unsigned plugin that may run nevertheless (plugins.dev). */
static bool is_unsigned_plugin(const struct mortise_plugin_info *f)
{
    return f->manifest != NULL && f->manifest->dev;
}

static void print_found_plugin(struct mortise_out *o,
                               const struct mortise_plugin_info *f,
                               const char *problem)
{
    mortise_out_put_cell(o, f->name != NULL ? f->name : "?", 20);
    mortise_out_puts(o, " ");
    mortise_out_put_cell(o, f->version, 9);
    mortise_out_puts(o, " ");
    mortise_out_put_cell(o, mortise_cli_get_kinds(f->manifest), 10);
    mortise_out_print_escaped(o, " %s%s\n", f->path,
                              is_unsigned_plugin(f) ? "  (unsigned)" : "");
    if (problem != NULL) {
        mortise_out_set_style(o, MORTISE_BAD);
        mortise_out_put_text(o, problem, 4);
        mortise_out_set_style(o, MORTISE_PLAIN);
    }
}

static json_t *encode_found_plugin(const struct mortise_plugin_info *f,
                                   const char *problem)
{
    return json_pack(
        "{s:s?, s:s?, s:s, s:s, s:b, s:s?}", "name", f->name, "version",
        f->version, "kind", mortise_cli_get_kinds(f->manifest), "path", f->path,
        "unsigned", (int)is_unsigned_plugin(f), "problem", problem);
}

static int plugin_list(struct mortise_cli *cli, struct mortise_err *err)
{
    struct mortise_plugin_set s;
    int rv = mortise_plugin_set_open(&s, cli, NULL, err);
    size_t n = rv == MORTISE_OK ? mortise_plugins_count(s.plugins) : 0;

    for (size_t i = 0; rv == MORTISE_OK && i < n; i++) {
        const struct mortise_plugin_info *f = mortise_plugins_at(s.plugins, i);
        struct mortise_err why;
        const char *problem = mortise_plugin_set_find_problem(&s, f, &why);

        if (cli->args.json)
            rv = mortise_cli_print_json(cli, encode_found_plugin(f, problem),
                                        false, err);
        else
            print_found_plugin(&cli->out, f, problem);
    }
    if (rv == MORTISE_OK && n == 0 && !cli->args.json)
        mortise_out_puts(&cli->out, "no plugins\n");
    mortise_plugin_set_close(&s);
    return rv;
}

static const struct mortise_opt list_opts[] = {
    MORTISE_OPT_JSON("One JSON object a line"),
    MORTISE_OPTS_OF_STORE,
};

const struct mortise_cmd mortise_cmd_plugin_list = {
    .name = "plugin list",
    .operands = "",
    .summary = "List the installed plugins, and why some cannot be used",
    .text = "The command verifies each plugin as 'plugin verify' does.  No\n"
            "plugin code runs.\n",
    .opts = list_opts,
    .exits = MORTISE_EXITS_STORE | MORTISE_EXITS_FINDINGS,
    .example = "mortise plugin list",
    .run = plugin_list,
};

/* ---- verify ------------------------------------------------------------- */

/* Neither `verify` nor `sign` runs code. */
static const char no_code_was_run[] =
    "this command runs no code of the plugin; 'mortise check --plugins GRAPH' "
    "also starts the\nplugin and checks that it implements its manifest "
    "(reconcile, background, interfaces)\n";

static int plugin_verify(struct mortise_cli *cli, struct mortise_err *err)
{
    const char *name = cli->args.operands[0], *dir = NULL;
    char parent[PATH_MAX];
    struct mortise_manifest *m = NULL;
    struct mortise_plugin_set s = {.plugins = NULL};
    int rv = MORTISE_OK;

    if (mortise_cli_is_path(name)) {
        dir = mortise_cli_get_parent_dir(name, parent);
        rv = mortise_cli_read_manifest(cli, name, &m, err);
        name = m != NULL ? m->name : name;
    }
    if (rv == MORTISE_OK)
        rv = mortise_plugin_set_open(&s, cli, dir, err);
    if (rv == MORTISE_OK)
        rv = mortise_plugins_verify(s.plugins, name, err);
    if (rv == MORTISE_OK)
        mortise_out_print_escaped(
            &cli->out, "%s: %s\n", name,
            mortise_plugins_find(s.plugins, name, NULL)->dev
                ? "not signed; it would load only from plugins.dev"
                : "signed by a trusted key; it would load");
    if (rv == MORTISE_OK)
        mortise_out_puts(&cli->out, no_code_was_run);
    mortise_plugin_set_close(&s);
    mortise_manifest_free(m);
    return rv;
}

static const struct mortise_opt verify_opts[] = {
    MORTISE_OPT_DEPLOYMENT,
    MORTISE_OPT_FLAG("allow-downgrade", allow_downgrade,
                     "Accept the plugin even if a later version was seen\n"
                     "before; this command does not record the version"),
    MORTISE_OPT_STORE,
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_plugin_verify = {
    .name = "plugin verify",
    .operands = "NAME|FILE",
    .summary = "Verify a plugin as for a run, but run none of its code",
    .text =
        "The command checks the signature, trust, revocation, abi, digest\n"
        "and the ELF file, and that the module lists the plugin of the\n"
        "manifest.  No plugin code runs.  So these facts remain unchecked:\n"
        "whether the code has what the manifest declares (`reconcile` of\n"
        "an operation, `background`, each interface), and whether init()\n"
        "and create() succeed.  To check these, use 'mortise check\n"
        "--plugins' on a graph that uses the plugin, or run such a graph.\n"
        "\n"
        "FILE is a NAME.plugin.yaml with its signature and its .so beside\n"
        "it.  In a directory that plugins.dev names, the signature can be\n"
        "missing.\n",
    .opts = verify_opts,
    .exits = MORTISE_EXITS_STORE | MORTISE_EXITS_FINDINGS,
    .example = "mortise plugin verify file",
    .run = plugin_verify,
};

/* ---- sign --------------------------------------------------------------- */

/* The time of the signature: SOURCE_DATE_EPOCH, for reproducible builds; 0,
 * which means now, if it is not set. */
static int get_signing_time(uint64_t *out, struct mortise_err *err)
{
    const char *text = getenv("SOURCE_DATE_EPOCH");

    *out = 0;
    if (text == NULL || text[0] == '\0')
        return MORTISE_OK;
    if (strlen(text) <= 12 && text[strspn(text, "0123456789")] == '\0')
        *out = strtoull(text, NULL, 10);
    return *out > 0 ? MORTISE_OK
                    : mortise_fail(err, MORTISE_EINVAL,
                                   "SOURCE_DATE_EPOCH is '%.40s', not a number "
                                   "of seconds since 1970: correct or unset it",
                                   text);
}

static int sign_with_key(struct mortise_cli *cli,
                         const struct mortise_seckey *key,
                         struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    struct mortise_sign_request signing = {
        .manifest = a->operands[0],
        .objects = (const char *const *)(void *)(a->operands + 1),
        .n_objects = a->n_operands - 1,
        .out = a->to,
        .key = key,
    };
    struct mortise_diags diags;
    char path[PATH_MAX];
    int rv = get_signing_time(&signing.timestamp, err);

    mortise_diags_init(&diags, cli->mem);
    if (rv == MORTISE_OK)
        rv = mortise_plugin_sign(&signing, path, cli->mem, &diags, err);
    mortise_cli_print_findings(cli, &diags);
    if (rv == MORTISE_OK)
        mortise_out_print_escaped(&cli->out, "signed %s\n", path);
    if (rv == MORTISE_OK)
        mortise_out_puts(&cli->out, no_code_was_run);
    return rv;
}

static int plugin_sign(struct mortise_cli *cli, struct mortise_err *err)
{
    struct mortise_seckey key = {0};
    int rv;

    if (cli->args.key == NULL)
        return mortise_cli_fail_usage(cli, "--key is missing");
    if (cli->args.to == NULL)
        return mortise_cli_fail_usage(cli, "--out is missing");
    rv = mortise_secret_read_key(cli, cli->args.key, &key, err);
    if (rv == MORTISE_OK)
        rv = sign_with_key(cli, &key, err);
    mortise_seckey_wipe(&key);
    return rv;
}

static const struct mortise_opt sign_opts[] = {
    MORTISE_OPT_TEXT("key", "FILE.key", key, "The secret key that signs"),
    MORTISE_OPT_TEXT("out", "DIR", to,
                     "Directory for the signed manifest, its signature\n"
                     "and the objects"),
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_plugin_sign = {
    .name = "plugin sign",
    .operands = "MANIFEST [OBJECT...]",
    .summary = "Sign a plugin: its manifest with the digests of its objects",
    .text = "MANIFEST is the manifest without the key `artifacts`, which this\n"
            "command adds.  Each OBJECT is a .so, one for each architecture.\n"
            "Without OBJECT, the command uses the object with the plugin's\n"
            "name that is already in the directory of --out.\n"
            "\n"
            "The command does not sign a plugin that Mortise would refuse to\n"
            "load.  It refuses a manifest for another abi, host version or\n"
            "isolation, an object that breaks a rule, and an object whose\n"
            "module lists another plugin or version.  It runs no code of the\n"
            "plugin.  So only 'mortise check --plugins' on a graph that uses\n"
            "the plugin can find a missing `reconcile`, for example.\n"
            "\n"
            "The signature contains the time of signing, or the time in\n"
            "SOURCE_DATE_EPOCH if this variable is set.  With this variable,\n"
            "the same source gives the same files.\n",
    .opts = sign_opts,
    .exits = MORTISE_EXITS_STORE | MORTISE_EXITS_FINDINGS,
    .example = "mortise plugin sign pay.plugin.yaml pay.so --key acme.key "
               "--out dist",
    .run = plugin_sign,
};

/* ---- unquarantine ------------------------------------------------------- */

static int plugin_unquarantine(struct mortise_cli *cli, struct mortise_err *err)
{
    const char *name = cli->args.operands[0];
    struct mortise_plugin_set s;
    int rv = mortise_plugin_set_open(&s, cli, NULL, err);

    if (rv == MORTISE_OK)
        rv = mortise_plugins_unquarantine(s.plugins, name, err);
    if (rv == MORTISE_OK)
        mortise_out_print_escaped(&cli->out, "the quarantine of %s is ended\n",
                                  name);
    mortise_plugin_set_close(&s);
    return rv;
}

const struct mortise_cmd mortise_cmd_plugin_unquarantine = {
    .name = "plugin unquarantine",
    .operands = "NAME",
    .summary = "Allow a quarantined plugin to start again",
    .text =
        "If a plugin stops the process three times in a row (by a crash,\n"
        "exit(), or a call that blocks the engine's thread), Mortise\n"
        "quarantines the plugin: for one minute, after the fourth time for\n"
        "ten minutes, then for one hour.  If a plugin stops the process\n"
        "three times in one execution, the run of this execution is\n"
        "blocked.  A plugin that did not return from a cancelled call is\n"
        "quarantined without a time limit.  'mortise plugin list' shows\n"
        "the quarantined plugins and the reasons.\n"
        "\n"
        "This command removes the quarantine and the counts.  The\n"
        "installation of another version of the plugin does the same.  If\n"
        "the process ends for another reason, for example by a kill, the\n"
        "plugin's count does not change.\n",
    .opts = verify_opts,
    .exits = MORTISE_EXITS_STORE,
    .example = "mortise plugin unquarantine acme.pay",
    .run = plugin_unquarantine,
};
