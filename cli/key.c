/* key.c -- `mortise key`: keys, and the plugins that each may sign.
 *
 * A directory of trust files is the only place of this data.  Trusting a key
 * and revoking one each add a file; existing files are never edited.  Each
 * addition increases the directory's sequence number, which never decreases. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "cli/secret.h"
#include "cli/plugin_set.h"
#include "lang/config/guarded.h"
#include "core/base/files.h"
#include "core/plugin/registry.h"
#include "lang/manifest/trust_file.h"

/* Does the deployment need the user's permission for `trust` only? */
static bool needs_only_trust(const struct mortise_deployment *d)
{
    struct mortise_need needs[MORTISE_NEEDS_MAX];
    size_t n = mortise_allow_find_needs(d, needs);

    for (size_t i = 0; i < n; i++)
        if (strcmp(needs[i].key, "trust") != 0)
            return false;
    return true;
}

/* Print findings only if they are errors.  That the deployment is not allowed
 * yet is no error here, as this command can allow it. */
static int read_key_settings(struct mortise_cli *cli,
                             struct mortise_settings *settings,
                             struct mortise_err *err)
{
    struct mortise_diags diags;
    int rv = mortise_cli_find_deployment(cli, NULL, err);

    *settings = (struct mortise_settings){.n_trust_dirs = 0};
    if (rv != MORTISE_OK)
        return rv;
    mortise_diags_init(&diags, cli->mem);
    rv = mortise_settings_open(settings, cli->mem, cli->deployment, NULL,
                               MORTISE_SETTINGS_READ_ONLY |
                                   mortise_cli_settings_flags(cli),
                               &diags, err);
    if (rv == MORTISE_ECHECK && cli->args.trust == NULL)
        mortise_cli_print_findings(cli, &diags);
    mortise_diags_finish(&diags);
    return rv;
}

static bool is_same_directory(const char *a, const char *b)
{
    struct stat x, y;

    return a != NULL && stat(a, &x) == 0 && stat(b, &y) == 0 &&
           x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Is the file just written the only one in the directory? */
static bool is_only_trust_file(struct mortise_cli *cli, const char *dir)
{
    struct mortise_trust *t = NULL;
    struct mortise_diags diags;
    bool alone;

    mortise_diags_init(&diags, cli->mem);
    alone =
        mortise_trust_open(&t, cli->mem, &dir, 1, &diags, NULL) == MORTISE_OK &&
        mortise_trust_count(t) == 1;
    mortise_trust_close(t);
    mortise_diags_finish(&diags);
    return alone;
}

/* The file needs permission for more than trust: tell the user how to allow it.
 */
static void print_not_allowed(struct mortise_cli *cli, const char *file)
{
    mortise_out_print_escaped(
        &cli->err,
        "mortise: %s sets more than trust, so it is not used yet; "
        "read it, then: mortise config allow %s\n",
        file, file);
}

static int allow_trust(struct mortise_cli *cli,
                       const struct mortise_deployment *d,
                       struct mortise_err *err)
{
    struct mortise_allowance a;
    json_t *none = json_array();
    int rv = mortise_allow_read(&a, d, err);

    if (rv == MORTISE_OK && !mortise_allow_is_valid(&a)) {
        if (!needs_only_trust(d))
            print_not_allowed(cli, a.file);
        else if ((rv = mortise_allow_write(&a, none, err)) == MORTISE_OK)
            mortise_out_print_escaped(&cli->out, "allowed: %s\n", a.file);
    }
    json_decref(none);
    mortise_allow_finish(&a);
    return rv;
}

/* Name `dir` as the deployment would: by a relative path inside of its own
 * directory, otherwise by an absolute one. */
static void make_deployment_path(const char *deployment, const char *dir,
                                 char *out, size_t n)
{
    char home[PATH_MAX], whole[PATH_MAX];
    const char *name = dir;
    char *slash;

    if (deployment != NULL && realpath(deployment, home) != NULL &&
        realpath(dir, whole) != NULL && (slash = strrchr(home, '/')) != NULL) {
        slash[1] = '\0';
        name = whole;
        if (strncmp(whole, home, strlen(home)) == 0)
            name += strlen(home);
    }
    snprintf(out, n, "%s", name);
}

/* A key in a directory that no deployment uses is not trusted. */
static void warn_unused_directory(struct mortise_cli *cli,
                                  const struct mortise_settings *s,
                                  const char *dir)
{
    char name[PATH_MAX];

    for (size_t i = 0; i < s->n_trust_dirs; i++)
        if (is_same_directory(s->trust_dirs[i], dir))
            return;
    make_deployment_path(cli->deployment, dir, name, sizeof name);
    if (cli->deployment != NULL)
        mortise_out_print_escaped(
            &cli->err,
            "mortise: warning: %s does not use the trust directory "
            "%s; set there:\n  trust: {dir: %s}\n",
            cli->deployment, dir, name);
    else
        mortise_out_print_escaped(
            &cli->err,
            "mortise: warning: no deployment uses the trust "
            "directory %s; set in your deployment:\n"
            "  trust: {dir: %s}\n",
            dir, name);
}

/* A user who adds the first key to the trust directory of a found deployment
 * thereby allows the deployment to use this directory.  That does not include
 * keys of other origin in it, nor other settings that need permission (like
 * plugins.path). */
static int update_allowance(struct mortise_cli *cli, const char *dir,
                            struct mortise_err *err)
{
    struct mortise_settings settings;
    int rv = read_key_settings(cli, &settings, err);

    if (rv == MORTISE_OK && cli->found &&
        is_same_directory(settings.deployment->trust_dir, dir) &&
        is_only_trust_file(cli, dir))
        rv = allow_trust(cli, settings.deployment, err);
    else if (rv == MORTISE_OK)
        warn_unused_directory(cli, &settings, dir);
    mortise_settings_close(&settings);
    return cli->args.trust != NULL ? MORTISE_OK : rv;
}

/* Find the trust directory to change. */
static int find_trust_directory(struct mortise_cli *cli,
                                struct mortise_settings *settings,
                                const char **out, struct mortise_err *err)
{
    struct mortise_diags diags;
    int rv;

    memset(settings, 0, sizeof *settings);
    *out = cli->args.trust;
    if (*out != NULL)
        return MORTISE_OK;
    rv = read_key_settings(cli, settings, err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_diags_init(&diags, cli->mem);
    rv = mortise_guarded_check(settings,
                               needs_only_trust(settings->deployment)
                                   ? 0
                                   : mortise_cli_settings_flags(cli),
                               &diags, err);
    mortise_diags_finish(&diags);
    if (rv != MORTISE_OK)
        return rv;
    *out = settings->deployment->trust_dir;
    return *out != NULL
               ? MORTISE_OK
               : mortise_fail(
                     err, MORTISE_EINVAL,
                     "no deployment names a trust directory; give --trust DIR");
}

/* ---- new ---------------------------------------------------------------- */

/* The paths of a key pair. */
struct pair {
    char secret[PATH_MAX], public[PATH_MAX];
};

static int make_pair_paths(struct pair *p, const char *name,
                           struct mortise_err *err)
{
    int rv = mortise_file_format_path(p->secret, sizeof p->secret, err,
                                      "%s.key", name);

    return rv == MORTISE_OK
               ? mortise_file_format_path(p->public, sizeof p->public, err,
                                          "%s.pub", name)
               : rv;
}

/* A `key new` that was killed leaves a secret key without its public key. */
static bool is_half_pair(const struct pair *p)
{
    return access(p->secret, F_OK) == 0 && access(p->public, F_OK) != 0;
}

static int make_secret_key(struct mortise_cli *cli, const struct pair *p,
                           struct mortise_seckey *sk, struct mortise_err *err)
{
    char password[MORTISE_PASSWORD_SIZE];
    int rv = MORTISE_OK;

    if (!cli->args.unencrypted)
        rv = mortise_secret_read_password(cli, true, password, err);
    if (rv == MORTISE_OK)
        rv = mortise_seckey_new(sk, err);
    if (rv == MORTISE_OK)
        rv = mortise_seckey_write(p->secret, sk,
                                  cli->args.unencrypted ? NULL : password, err);
    explicit_bzero(password, sizeof password);
    return rv;
}

/* Read the existing secret key, to complete its pair. */
static int read_existing_secret(struct mortise_cli *cli, const struct pair *p,
                                struct mortise_seckey *sk,
                                struct mortise_err *err)
{
    mortise_out_print_escaped(
        &cli->err, "mortise: %s exists without %s, which is made from it\n",
        p->secret, p->public);
    return mortise_secret_read_key(cli, p->secret, sk, err);
}

static void print_new_key(struct mortise_cli *cli, const char *name,
                          const struct mortise_seckey *sk)
{
    struct mortise_pubkey pk;
    char text[MORTISE_PUBKEY_TEXT], id[MORTISE_KEYID_TEXT];

    mortise_seckey_public(sk, &pk);
    mortise_pubkey_format(text, &pk);
    mortise_keyid_format(id, pk.id);
    mortise_out_print_escaped(&cli->out,
                              "key %s  %s\n"
                              "keep secret: %s.key\n"
                              "give away:   %s.pub\n",
                              id, text, name, name);
}

static int key_new(struct mortise_cli *cli, struct mortise_err *err)
{
    const char *name = cli->args.operands[0];
    struct mortise_seckey sk = {0};
    struct mortise_pubkey pk;
    struct pair p;
    int rv = make_pair_paths(&p, name, err);

    if (rv == MORTISE_OK)
        rv = is_half_pair(&p) ? read_existing_secret(cli, &p, &sk, err)
                              : make_secret_key(cli, &p, &sk, err);
    if (rv == MORTISE_OK) {
        mortise_seckey_public(&sk, &pk);
        rv = mortise_pubkey_write(p.public, &pk, err);
    }
    if (rv == MORTISE_OK)
        print_new_key(cli, name, &sk);
    mortise_seckey_wipe(&sk);
    return rv;
}

static const struct mortise_opt new_opts[] = {
    {"unencrypted", NULL, offsetof(struct mortise_args, unencrypted),
     "Write the secret key without a password, for\nautomation", 'W', 0},
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_key_new = {
    .name = "key new",
    .operands = "NAME",
    .summary = "Create a key pair: NAME.key and NAME.pub",
    .text = "The files have minisign's formats: minisign can read the keys of\n"
            "Mortise, and Mortise can read the keys of minisign.  The command\n"
            "asks for the password, or reads it from the first line of stdin.\n"
            "Existing files are not overwritten.  If NAME.key exists without\n"
            "NAME.pub, for example after a kill, the command makes NAME.pub\n"
            "from NAME.key.\n",
    .opts = new_opts,
    .exits = MORTISE_EXITS_STORE,
    .example = "mortise key new ~/keys/acme",
    .run = key_new,
};

/* ---- list --------------------------------------------------------------- */

static json_t *encode_trusted_key(const struct mortise_trusted_key *t)
{
    char text[MORTISE_PUBKEY_TEXT], id[MORTISE_KEYID_TEXT];
    json_t *plugins = json_array(), *v, *rest;

    mortise_pubkey_format(text, &t->key);
    mortise_keyid_format(id, t->key.id);
    for (size_t i = 0; i < t->n_plugins; i++)
        json_array_append_new(plugins, json_string(t->plugins[i]));
    v = json_pack("{s:s, s:s, s:o}", "id", id, "key", text, "plugins", plugins);
    for (size_t i = 0; i < MORTISE_KINDS; i++)
        json_object_set_new(
            v, mortise_kinds[i]->name,
            json_boolean((t->kinds & MORTISE_KIND_BIT(i)) != 0));
    rest = json_pack("{s:b, s:b, s:s}", "in_process", t->in_process, "revoked",
                     t->revoked, "file", t->path);
    if (v == NULL || json_object_update_new(v, rest) != 0) {
        json_decref(v);
        return NULL;
    }
    return v;
}

static void print_validity(struct mortise_out *o, const char *word, uint64_t s)
{
    char text[MORTISE_TIME_TEXT];

    if (s == 0)
        return;
    mortise_time_format(text, s * 1000);
    mortise_out_printf(o, " %s %.10s", word, text);
}

static void print_trusted_key(struct mortise_out *o,
                              const struct mortise_trusted_key *t)
{
    char id[MORTISE_KEYID_TEXT], kinds[MORTISE_KINDS_TEXT];

    mortise_keyid_format(id, t->key.id);
    mortise_out_printf(o, "%s ", id);
    if (t->revoked)
        mortise_out_put_styled(o, MORTISE_BAD, " revoked", 0);
    for (size_t i = 0; i < t->n_plugins; i++)
        mortise_out_print_escaped(o, " %s", t->plugins[i]);
    mortise_out_printf(
        o, " (%s%s)",
        mortise_kind_format_list(kinds, sizeof kinds, t->kinds, ", "),
        t->in_process ? "; in-process" : "");
    print_validity(o, "from", t->not_before);
    print_validity(o, "until", t->not_after);
    mortise_out_print_escaped(o, "  %s\n", t->path);
}

static int print_keys(struct mortise_cli *cli, const struct mortise_trust *t,
                      struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < mortise_trust_count(t); i++)
        if (cli->args.json)
            rv = mortise_cli_print_json(
                cli, encode_trusted_key(mortise_trust_at(t, i)), false, err);
        else
            print_trusted_key(&cli->out, mortise_trust_at(t, i));
    if (mortise_trust_count(t) == 0 && !cli->args.json)
        mortise_out_puts(&cli->out, "no key is trusted\n");
    return rv;
}

static int key_list(struct mortise_cli *cli, struct mortise_err *err)
{
    struct mortise_settings settings;
    struct mortise_trust *trust = NULL;
    struct mortise_diags diags;
    const char *only = cli->args.trust;
    int rv;

    cli->looks = true;
    rv = mortise_cli_open_settings(cli, &settings, err);

    mortise_diags_init(&diags, cli->mem);
    if (rv == MORTISE_OK)
        rv = mortise_trust_open(
            &trust, cli->mem, only != NULL ? &only : settings.trust_dirs,
            only != NULL ? 1 : settings.n_trust_dirs, &diags, err);
    if (rv == MORTISE_OK)
        rv = print_keys(cli, trust, err);
    mortise_cli_print_findings(cli, &diags);
    mortise_trust_close(trust);
    mortise_settings_close(&settings);
    return rv;
}

#define OPT_TRUST                                                              \
    MORTISE_OPT_TEXT("trust", "DIR", trust,                                    \
                     "This trust directory instead of the deployment's")

static const struct mortise_opt list_opts[] = {
    OPT_TRUST,
    MORTISE_OPT_JSON("One JSON object a line"),
    MORTISE_OPT_DEPLOYMENT,
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_key_list = {
    .name = "key list",
    .operands = "",
    .summary = "List the trusted keys and what each may sign",
    .opts = list_opts,
    .exits = MORTISE_EXITS_STORE | MORTISE_EXITS_FINDINGS,
    .example = "mortise key list",
    .run = key_list,
};

/* ---- trust -------------------------------------------------------------- */

static int fail_unknown_kind(const char *word, struct mortise_err *err)
{
    char names[MORTISE_KINDS_TEXT];

    mortise_kind_format_list(names, sizeof names, MORTISE_KIND_ALL, " nor ");
    return mortise_fail(err, MORTISE_EINVAL, "--kinds: '%s' is not one of %s",
                        word, names);
}

/* Parse "executor, guardrail"; NULL means all kinds. */
static int parse_kinds(struct mortise_arena *a, const char *list,
                       struct mortise_trusted_key *t, struct mortise_err *err)
{
    const char **words;
    size_t n;
    int rv;

    t->kinds = list == NULL ? MORTISE_KIND_ALL : 0;
    if (list == NULL)
        return MORTISE_OK;
    rv = mortise_cli_split_list(a, list, &words, &n, err);
    for (size_t i = 0; rv == MORTISE_OK && i < n; i++) {
        enum mortise_kind kind = mortise_kind_find(words[i]);

        if (kind != MORTISE_KINDS)
            t->kinds |= MORTISE_KIND_BIT(kind);
        else
            rv = fail_unknown_kind(words[i], err);
    }
    return rv;
}

/* Make the name of the trust file: --name, or else that of the key file. */
static void make_trust_file_name(char *out, size_t cap,
                                 const struct mortise_cli *cli)
{
    const char *pub = cli->args.operands[0];
    const char *slash = strrchr(pub, '/');
    char *dot;

    snprintf(out, cap, "%s",
             cli->args.name != NULL ? cli->args.name
             : slash != NULL        ? slash + 1
                                    : pub);
    dot = strrchr(out, '.');
    if (cli->args.name == NULL && dot != NULL && dot != out)
        *dot = '\0';
}

static int add_trusted_key(struct mortise_cli *cli, const char *dir,
                           struct mortise_arena *a, struct mortise_err *err)
{
    struct mortise_trusted_key t = {.in_process = cli->args.in_process};
    const char **plugins = NULL;
    char name[256];
    int rv = mortise_pubkey_read(&t.key, cli->args.operands[0], err);

    if (rv == MORTISE_OK)
        rv = mortise_cli_split_list(a, cli->args.plugins, &plugins,
                                    &t.n_plugins, err);
    t.plugins = plugins;
    if (rv == MORTISE_OK)
        rv = parse_kinds(a, cli->args.kinds, &t, err);
    make_trust_file_name(name, sizeof name, cli);
    if (rv == MORTISE_OK)
        rv = mortise_trust_add(dir, name, &t, cli->mem, err);
    if (rv == MORTISE_EEXISTS)
        return mortise_fail(
            err, rv,
            "%.200s/%.100s.yaml already exists; change or remove that file, or "
            "give another name with --name",
            dir, name);
    if (rv != MORTISE_OK)
        return rv;
    if (!t.in_process)
        mortise_out_puts(
            &cli->err,
            "mortise: warning: plugins that this key signs cannot run without "
            "--in-process: this build runs plugins only inside the engine\n");
    mortise_out_print_escaped(&cli->out, "trusted in %s/%s.yaml\n", dir, name);
    return MORTISE_OK;
}

static int key_trust(struct mortise_cli *cli, struct mortise_err *err)
{
    struct mortise_settings settings;
    struct mortise_arena arena;
    const char *dir;
    int rv;

    if (cli->args.plugins == NULL)
        return mortise_cli_fail_usage(
            cli,
            "--plugins is missing: name the plugins that this key can sign");
    mortise_arena_init(&arena, cli->mem);
    rv = find_trust_directory(cli, &settings, &dir, err);
    if (rv == MORTISE_OK)
        rv = add_trusted_key(cli, dir, &arena, err);
    if (rv == MORTISE_OK)
        rv = update_allowance(cli, dir, err);
    mortise_arena_finish(&arena);
    mortise_settings_close(&settings);
    return rv;
}

static const char kinds_help[] = "Kinds of plugins:\n"
#define KIND(ID, name, about) #name ", "
#include "core/plugin/kinds.def"
#undef KIND
                                 "or\nall of them (the default)";

static const struct mortise_opt trust_opts[] = {
    MORTISE_OPT_TEXT("plugins", "NAMES", plugins,
                     "Plugins that the key may sign: names, with * for\n"
                     "any characters, separated by commas or blanks"),
    MORTISE_OPT_TEXT("kinds", "KINDS", kinds, kinds_help),
    MORTISE_OPT_FLAG("in-process", in_process,
                     "Allow the key's plugins to run inside the engine"),
    MORTISE_OPT_TEXT("name", "NAME", name,
                     "Call the new file NAME.yaml (default: the name of\n"
                     "FILE.pub)"),
    OPT_TRUST,
    MORTISE_OPT_DEPLOYMENT,
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_key_trust = {
    .name = "key trust",
    .operands = "FILE.pub",
    .summary = "Trust a key to sign plugins",
    .text = "The command writes a new file into the trust directory.  This\n"
            "build of Mortise runs plugins only inside the engine's process.\n"
            "Therefore it refuses the plugins that the key signs, unless you\n"
            "give --in-process.\n",
    .opts = trust_opts,
    .exits = MORTISE_EXITS_STORE | MORTISE_EXITS_FINDINGS,
    .example = "mortise key trust acme.pub --plugins 'acme.*' --in-process "
               "--trust trust.d",
    .run = key_trust,
};

/* ---- revoke ------------------------------------------------------------- */

/* Record the new sequence number, so that the revocation holds even if its file
 * is deleted before any other command reads it. */
static int record_revocations(struct mortise_cli *cli, const char *dir,
                              struct mortise_err *err)
{
    const struct mortise_plugins_config config = {.mem = cli->mem,
                                                  .trust_dirs = &dir,
                                                  .n_trust_dirs = 1,
                                                  .user_remembers = true,
                                                  .forgets =
                                                      mortise_plugin_set_warn,
                                                  .seq_ud = cli};
    struct mortise_plugins *none;
    int rv = mortise_plugins_open(&none, &config, err);

    mortise_plugins_close(none);
    return rv;
}

static int key_revoke(struct mortise_cli *cli, struct mortise_err *err)
{
    const struct mortise_args *a = &cli->args;
    struct mortise_revocation what = {
        .key = a->n_operands > 0 ? a->operands[0] : NULL,
        .digest = a->digest,
        .plugin = a->plugins,
        .range = a->range,
    };
    struct mortise_settings settings;
    const char *dir;
    char path[PATH_MAX];
    int rv;

    if ((a->plugins != NULL) != (a->range != NULL))
        return mortise_cli_fail_usage(cli,
                                      "give --plugin and --versions together");
    if (what.key == NULL && what.digest == NULL && what.plugin == NULL)
        return mortise_cli_fail_usage(cli,
                                      "give one of KEY, --digest and --plugin");
    rv = find_trust_directory(cli, &settings, &dir, err);
    if (rv == MORTISE_OK)
        rv = mortise_trust_revoke(dir, &what, path, cli->mem, err);
    if (rv == MORTISE_OK)
        rv = record_revocations(cli, dir, err);
    if (rv == MORTISE_OK)
        mortise_out_print_escaped(&cli->out, "revoked in %s\n", path);
    mortise_settings_close(&settings);
    return rv;
}

static const struct mortise_opt revoke_opts[] = {
    MORTISE_OPT_TEXT("digest", "D", digest,
                     "Revoke the manifest or shared object with this\n"
                     "digest (BLAKE2b-256, hex)"),
    MORTISE_OPT_TEXT("plugin", "NAME", plugins,
                     "Revoke this plugin in the versions of --versions"),
    MORTISE_OPT_TEXT("versions", "RANGE", range,
                     "Revoke these versions of the plugin of --plugin,\n"
                     "for example \">=1.0 <1.4.2\""),
    OPT_TRUST,
    MORTISE_OPT_DEPLOYMENT,
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_key_revoke = {
    .name = "key revoke",
    .operands = "[KEY]",
    .summary = "Revoke trust in a key, a file or versions of a plugin",
    .text =
        "KEY is a public key (RW...) or a key id.  The command writes a\n"
        "new file into the trust directory.  Mortise never loads a revoked\n"
        "plugin again, and a running engine stops calling it.\n",
    .opts = revoke_opts,
    .exits = MORTISE_EXITS_STORE | MORTISE_EXITS_FINDINGS,
    .example = "mortise key revoke 9339C8D385102656 --trust trust.d",
    .run = key_revoke,
};
