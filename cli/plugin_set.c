/* plugin_set.c -- the plugins of a deployment, without an engine: found and
 * verified, but never started. */
#include "cli/plugin_set.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lang/manifest/manifest.h"

struct mortise_plugins_config
mortise_plugin_set_config(const struct mortise_mem *mem,
                          const struct mortise_settings *settings)
{
    return (struct mortise_plugins_config){
        .mem = mem,
        .dirs = settings->plugin_dirs,
        .n_dirs = settings->n_plugin_dirs,
        .first_dev = settings->first_dev,
        .n_dev = settings->n_dev,
        .trust_dirs = settings->trust_dirs,
        .n_trust_dirs = settings->n_trust_dirs,
        .user_remembers = true,
        .last_is_own = true,
    };
}

void mortise_plugin_set_warn(void *ud, const char *why)
{
    struct mortise_cli *cli = ud;

    mortise_cli_print_remark(cli, MORTISE_LOG_WARN, "%s%s",
                             MORTISE_PLUGINS_RECORD_FAILED, why);
}

static bool is_same_inode(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

/* Does plugins.dev contain the directory, under any of its names? */
static bool is_dev_directory(const struct mortise_settings *settings,
                             const char *dir)
{
    const char **dev = settings->plugin_dirs + settings->first_dev;

    for (size_t i = 0; i < settings->n_dev; i++)
        if (is_same_inode(dev[i], dir))
            return true;
    return false;
}

int mortise_plugin_set_open_with(struct mortise_plugin_set *s,
                                 struct mortise_cli *cli, const char *dir,
                                 struct mortise_err *err)
{
    struct mortise_plugins_config config;

    config = mortise_plugin_set_config(cli->mem, &s->settings);
    config.user_remembers = !cli->looks;
    config.allow_downgrade = cli->args.allow_downgrade;
    config.forgets = mortise_plugin_set_warn;
    config.seq_ud = cli;
    if (dir != NULL) {
        config.dirs = &dir;
        config.n_dirs = 1;
        config.last_is_own = false;
        config.first_dev = 0;
        config.n_dev = is_dev_directory(&s->settings, dir);
    }
    snprintf(s->quarantine, sizeof s->quarantine, "%s/quarantine",
             s->settings.store);
    if (access(s->quarantine, F_OK) == 0) /* or no store */
        config.quarantine_dir = s->quarantine;
    config.quarantine_at = AT_FDCWD;
    return mortise_plugins_open(&s->plugins, &config, err);
}

int mortise_plugin_set_open(struct mortise_plugin_set *s,
                            struct mortise_cli *cli, const char *dir,
                            struct mortise_err *err)
{
    int rv = mortise_cli_open_settings(cli, &s->settings, err);

    s->plugins = NULL;
    return rv == MORTISE_OK ? mortise_plugin_set_open_with(s, cli, dir, err)
                            : rv;
}

const char *mortise_plugin_set_find_problem(struct mortise_plugin_set *s,
                                            const struct mortise_plugin_info *f,
                                            struct mortise_err *why)
{
    if (f->problem != NULL)
        return f->problem;
    if (mortise_plugins_find(s->plugins, f->name, NULL) != f->manifest)
        return NULL; /* another plugin has this name */
    return mortise_plugins_verify(s->plugins, f->name, why) != MORTISE_OK
               ? why->msg
               : NULL;
}

void mortise_plugin_set_close(struct mortise_plugin_set *s)
{
    mortise_plugins_close(s->plugins);
    mortise_settings_close(&s->settings);
}

const char *mortise_cli_get_kinds(const struct mortise_manifest *m)
{
    return m != NULL ? m->kinds : "";
}

bool mortise_cli_is_path(const char *what)
{
    size_t n = strlen(what);

    return strchr(what, '/') != NULL ||
           (n > 5 && strcmp(what + n - 5, ".yaml") == 0);
}

int mortise_cli_read_manifest(struct mortise_cli *cli, const char *path,
                              struct mortise_manifest **out,
                              struct mortise_err *err)
{
    struct mortise_diags diags;
    char *text;
    size_t n;
    int rv = mortise_cli_read_file(cli, path, &text, &n, err);

    if (rv != MORTISE_OK)
        return rv;
    mortise_diags_init(&diags, cli->mem);
    rv = mortise_manifest_parse(out, cli->mem, path, text, n, false, &diags);
    mortise_release(cli->mem, text, n + 1);
    mortise_cli_print_findings(cli, &diags);
    if (rv == MORTISE_ECHECK)
        mortise_fail(err, rv, "%s has errors", path);
    else if (rv != MORTISE_OK)
        mortise_nomem(err);
    return rv;
}
