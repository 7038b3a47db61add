/* shelf.c -- the plugins of a deployment, for what needs no engine: found,
 * verified, and never started. */
#include "cli/shelf.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct mortise_plugins_config
mortise_shelf_config(const struct mortise_mem *mem,
                     const struct mortise_site *site)
{
    return (struct mortise_plugins_config){
        .mem = mem,
        .dirs = site->plugin_dirs,
        .n_dirs = site->n_plugin_dirs,
        .trust_dirs = site->trust_dirs,
        .n_trust_dirs = site->n_trust_dirs,
    };
}

int mortise_shelf_open(struct mortise_shelf *s, struct mortise_cli *cli,
                       const char *dir, struct mortise_err *err)
{
    struct mortise_plugins_config config;
    int rv = mortise_cli_site(cli, &s->site, err);

    s->plugins = NULL;
    if (rv != MORTISE_OK)
        return rv;
    config = mortise_shelf_config(cli->mem, &s->site);
    if (dir != NULL) {
        config.dirs = &dir;
        config.n_dirs = 1;
    }
    snprintf(s->quarantine, sizeof s->quarantine, "%s/quarantine",
             s->site.store);
    if (access(s->quarantine, F_OK) == 0) /* no store, no marks */
        config.quarantine_dir = s->quarantine;
    return mortise_plugins_open(&s->plugins, &config, err);
}

void mortise_shelf_close(struct mortise_shelf *s)
{
    mortise_plugins_close(s->plugins);
    mortise_site_close(&s->site);
}

const char *mortise_cli_kinds(const struct mortise_manifest *m)
{
    return m == NULL                                     ? ""
           : m->executor.present && m->guardrail.present ? "executor, guardrail"
           : m->guardrail.present                        ? "guardrail"
                                                         : "executor";
}

bool mortise_cli_is_path(const char *what)
{
    size_t n = strlen(what);

    return strchr(what, '/') != NULL ||
           (n > 5 && strcmp(what + n - 5, ".yaml") == 0);
}

int mortise_cli_manifest(struct mortise_cli *cli, const char *path,
                         struct mortise_manifest **out, struct mortise_err *err)
{
    struct mortise_diags diags;
    char *text;
    size_t n;
    int rv = mortise_cli_read(cli, path, &text, &n, err);

    if (rv != MORTISE_OK)
        return rv;
    mortise_diags_init(&diags, cli->mem);
    rv = mortise_manifest_parse(out, cli->mem, path, text, n, false, &diags);
    mortise_release(cli->mem, text, n + 1);
    mortise_cli_findings(cli, &diags);
    mortise_diags_finish(&diags);
    if (rv == MORTISE_ECHECK)
        mortise_fail(err, rv, "%s has errors", path);
    else if (rv != MORTISE_OK)
        mortise_nomem(err);
    return rv;
}
