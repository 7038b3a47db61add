/* shelf.c -- the plugins of a deployment, for what needs no engine: found,
 * verified, and never started. */
#include "cli/shelf.h"

#include <stdio.h>
#include <unistd.h>

int mortise_shelf_open(struct mortise_shelf *s, struct mortise_cli *cli,
                       const char *dir, struct mortise_err *err)
{
    struct mortise_plugins_config config = {.mem = cli->mem};
    int rv = mortise_cli_site(cli, &s->site, err);

    s->plugins = NULL;
    if (rv != MORTISE_OK)
        return rv;
    config.dirs = dir != NULL ? &dir : s->site.plugin_dirs;
    config.n_dirs = dir != NULL ? 1 : s->site.n_plugin_dirs;
    config.trust_dirs = s->site.trust_dirs;
    config.n_trust_dirs = s->site.n_trust_dirs;
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
