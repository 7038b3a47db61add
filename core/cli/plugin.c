/* plugin.c -- `mortise plugin`: what is there, and whether it would load.
 * Nothing here runs a plugin's code.  What one says of itself: inspect.c.
 */
#include "base/err.h"
#include "cli/secret.h"
#include "cli/plugin_set.h"
#include "plugin/sign.h"

/* ---- list ------------------------------------------------------------------
 */

/* Nobody signed it, and it may run all the same. */
static bool is_dev(const struct mortise_found *f)
{
    return f->manifest != NULL && f->manifest->dev;
}

static void print_found(struct mortise_out *o, const struct mortise_found *f,
                        const char *problem)
{
    mortise_out_cell(o, f->name != NULL ? f->name : "?", 20);
    mortise_out_puts(o, " ");
    mortise_out_cell(o, f->version, 9);
    mortise_out_puts(o, " ");
    mortise_out_cell(o, mortise_cli_kinds(f->manifest), 10);
    mortise_out_say(o, " %s%s\n", f->path, is_dev(f) ? "  (unsigned)" : "");
    if (problem != NULL) {
        mortise_out_style(o, MORTISE_BAD);
        mortise_out_text(o, problem, 4);
        mortise_out_style(o, MORTISE_PLAIN);
    }
}

static json_t *list_json(const struct mortise_found *f, const char *problem)
{
    return json_pack("{s:s?, s:s?, s:s, s:s, s:b, s:s?}", "name", f->name,
                     "version", f->version, "kind",
                     mortise_cli_kinds(f->manifest), "path", f->path,
                     "unsigned", (int)is_dev(f), "problem", problem);
}

static int plugin_list(struct mortise_cli *cli, struct mortise_err *err)
{
    struct mortise_plugin_set s;
    int rv = mortise_plugin_set_open(&s, cli, NULL, err);
    size_t n = rv == MORTISE_OK ? mortise_plugins_count(s.plugins) : 0;

    for (size_t i = 0; rv == MORTISE_OK && i < n; i++) {
        const struct mortise_found *f = mortise_plugins_at(s.plugins, i);
        struct mortise_err why;
        const char *problem = mortise_plugin_set_problem(&s, f, &why);

        if (cli->args.json)
            rv = mortise_cli_print(cli, list_json(f, problem), false, err);
        else
            print_found(&cli->out, f, problem);
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
    .summary = "List the plugins there are, and why some cannot be used",
    .text =
        "Verifies each as 'plugin verify' does, and runs no plugin's code.\n",
    .opts = list_opts,
    .exits = MORTISE_EXITS_STORE | MORTISE_EXITS_FINDINGS,
    .example = "mortise plugin list",
    .run = plugin_list,
};

/* ---- verify ----------------------------------------------------------------
 */

/* Neither `verify` nor `sign` runs it. */
static const char only_its_code[] =
    "whether its code has all that the manifest says (reconcile, background, "
    "its\ninterfaces), and its create() comes up, only 'mortise check "
    "--plugins GRAPH' can know\n";

static int plugin_verify(struct mortise_cli *cli, struct mortise_err *err)
{
    const char *name = cli->args.operands[0], *dir = NULL;
    char parent[PATH_MAX];
    struct mortise_manifest *m = NULL;
    struct mortise_plugin_set s = {.plugins = NULL};
    int rv = MORTISE_OK;

    if (mortise_cli_is_path(name)) {
        dir = mortise_cli_parent(name, parent);
        rv = mortise_cli_manifest(cli, name, &m, err);
        name = m != NULL ? m->name : name;
    }
    if (rv == MORTISE_OK)
        rv = mortise_plugin_set_open(&s, cli, dir, err);
    if (rv == MORTISE_OK)
        rv = mortise_plugins_verify(s.plugins, name, err);
    if (rv == MORTISE_OK)
        mortise_out_say(&cli->out, "%s: %s\n", name,
                        mortise_plugins_find(s.plugins, name, NULL)->dev
                            ? "nobody signed it; in plugins.dev it would load"
                            : "signed by a trusted key, and would load");
    if (rv == MORTISE_OK)
        mortise_out_puts(&cli->out, only_its_code);
    mortise_plugin_set_close(&s);
    mortise_manifest_free(m);
    return rv;
}

static const struct mortise_opt verify_opts[] = {
    MORTISE_OPT_DEPLOYMENT,
    MORTISE_OPT_FLAG("allow-downgrade", allow_downgrade,
                     "Judge it as if nothing later had been seen before; it\n"
                     "is a run that starts it which remembers"),
    MORTISE_OPT_STORE,
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_plugin_verify = {
    .name = "plugin verify",
    .operands = "NAME|FILE",
    .summary = "Do everything that loading a plugin does, up to its code",
    .text =
        "Signature, trust, revocation, abi, digest, the ELF file, and that\n"
        "its module lists the plugin of the manifest.  No code of it runs:\n"
        "whether it has what the manifest says (`reconcile` of an operation,\n"
        "`background`, each interface), and whether its init() and create()\n"
        "come up, only 'mortise check --plugins' of a graph that uses it can\n"
        "know, or a run.  FILE is a NAME.plugin.yaml with its\n"
        "signature and its .so beside it; the signature may be missing in\n"
        "a directory that plugins.dev names.\n",
    .opts = verify_opts,
    .exits = MORTISE_EXITS_STORE | MORTISE_EXITS_FINDINGS,
    .example = "mortise plugin verify file",
    .run = plugin_verify,
};

/* ---- sign ------------------------------------------------------------------
 */

/* The time of a signature: SOURCE_DATE_EPOCH, so that packages can be built again byte
 * for byte; 0, which is now, if it is not set. */
static int signed_at(uint64_t *out, struct mortise_err *err)
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

static int sign_with(struct mortise_cli *cli, const struct mortise_seckey *key,
                     struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    struct mortise_signing signing = {
        .manifest = a->operands[0],
        .objects = (const char *const *)(void *)(a->operands + 1),
        .n_objects = a->n_operands - 1,
        .out = a->to,
        .key = key,
    };
    struct mortise_diags diags;
    char path[PATH_MAX];
    int rv = signed_at(&signing.timestamp, err);

    mortise_diags_init(&diags, cli->mem);
    if (rv == MORTISE_OK)
        rv = mortise_plugin_sign(&signing, path, cli->mem, &diags, err);
    mortise_cli_findings(cli, &diags);
    if (rv == MORTISE_OK)
        mortise_out_say(&cli->out, "signed %s\n", path);
    if (rv == MORTISE_OK)
        mortise_out_puts(&cli->out, only_its_code);
    return rv;
}

static int plugin_sign(struct mortise_cli *cli, struct mortise_err *err)
{
    struct mortise_seckey key = {0};
    int rv;

    if (cli->args.key == NULL)
        return mortise_cli_usage(cli, "--key is missing");
    if (cli->args.to == NULL)
        return mortise_cli_usage(cli, "--out is missing");
    rv = mortise_secret_key(cli, cli->args.key, &key, err);
    if (rv == MORTISE_OK)
        rv = sign_with(cli, &key, err);
    mortise_seckey_wipe(&key);
    return rv;
}

static const struct mortise_opt sign_opts[] = {
    MORTISE_OPT_TEXT("key", "FILE.key", key, "The secret key"),
    MORTISE_OPT_TEXT("out", "DIR", to,
                     "Where the signed manifest, its signature and the\n"
                     "objects go"),
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_plugin_sign = {
    .name = "plugin sign",
    .operands = "MANIFEST [OBJECT...]",
    .summary = "Sign a plugin: its manifest with the digests of its objects",
    .text =
        "MANIFEST is the source without `artifacts`; each OBJECT is a .so,\n"
        "one an architecture.  Without OBJECT the one of the plugin's name\n"
        "that lies in DIR already counts.  What loading would refuse is\n"
        "not signed, as far as that can be told without running its code: a\n"
        "manifest for another host, an object that breaks a rule, or whose\n"
        "module lists another plugin or version.  A `reconcile` that the\n"
        "code lacks, say, only 'mortise check --plugins' of a graph that\n"
        "uses the plugin can know.\n"
        "\n"
        "The signature has the time at which it was made; with\n"
        "SOURCE_DATE_EPOCH set, that time, so that the same source makes\n"
        "the same files.\n",
    .opts = sign_opts,
    .exits = MORTISE_EXITS_STORE | MORTISE_EXITS_FINDINGS,
    .example = "mortise plugin sign pay.plugin.yaml pay.so --key acme.key "
               "--out dist",
    .run = plugin_sign,
};

/* ---- unquarantine ----------------------------------------------------------
 */

static int plugin_unquarantine(struct mortise_cli *cli, struct mortise_err *err)
{
    const char *name = cli->args.operands[0];
    struct mortise_plugin_set s;
    int rv = mortise_plugin_set_open(&s, cli, NULL, err);

    if (rv == MORTISE_OK)
        rv = mortise_plugins_unquarantine(s.plugins, name, err);
    if (rv == MORTISE_OK)
        mortise_out_say(&cli->out, "%s may start again\n", name);
    mortise_plugin_set_close(&s);
    return rv;
}

const struct mortise_cmd mortise_cmd_plugin_unquarantine = {
    .name = "plugin unquarantine",
    .operands = "NAME",
    .summary = "Let a plugin that took processes down start again",
    .text =
        "A plugin that took the process down three times (a crash, exit(), a\n"
        "call that held up the engine's thread) is quarantined for a minute,\n"
        "then for ten, then for an hour, and the executions that died three\n"
        "times are blocked; one that did not let go of a call is quarantined\n"
        "for good.  'mortise plugin list' shows which are, and why.  This\n"
        "forgets all of it.  Installing another version of the plugin lifts\n"
        "that, too.  Kills from outside never count.\n",
    .opts = verify_opts,
    .exits = MORTISE_EXITS_STORE,
    .example = "mortise plugin unquarantine acme.pay",
    .run = plugin_unquarantine,
};
