/* shelf.h -- the plugins of a deployment, for what needs no engine. */
#ifndef MORTISE_CLI_SHELF_H
#define MORTISE_CLI_SHELF_H

#include "cli/cli.h"
#include "plugin/registry.h"

struct mortise_shelf {
    struct mortise_site site;
    struct mortise_plugins *plugins;
    char quarantine[PATH_MAX];
};

/* The plugins of the deployment, or (`dir` not NULL) of one directory.  Close
 * it in any case. */
int mortise_shelf_open(struct mortise_shelf *s, struct mortise_cli *cli,
                       const char *dir, struct mortise_err *err);
void mortise_shelf_close(struct mortise_shelf *s); /* zeroed is fine */

#endif
