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

/* Where a site has its plugins, and whom it trusts; lent by the site. */
struct mortise_plugins_config
mortise_shelf_config(const struct mortise_mem *mem,
                     const struct mortise_site *site);
/* The plugins of the deployment, or (`dir` not NULL) of one directory.  Close
 * it in any case. */
int mortise_shelf_open(struct mortise_shelf *s, struct mortise_cli *cli,
                       const char *dir, struct mortise_err *err);
/* The same for a site that is open already, as s->site. */
int mortise_shelf_fill(struct mortise_shelf *s, struct mortise_cli *cli,
                       const char *dir, struct mortise_err *err);
/* Why it could not be loaded, its object included; NULL: it could. */
const char *mortise_shelf_problem(struct mortise_shelf *s,
                                  const struct mortise_found *f,
                                  struct mortise_err *why);
/* mortise_plugins_config's `forgets`; `ud` is the cli. */
void mortise_shelf_forgets(void *ud, const char *why);
void mortise_shelf_close(struct mortise_shelf *s); /* zeroed is fine */

/* ---- manifests ---------------------------------------------------------- */

/* A path of a manifest, rather than a plugin's name. */
bool mortise_cli_is_path(const char *what);
/* Read one, without verifying it; its findings are printed.  *out: to be freed
 * with mortise_manifest_free(), also when this fails. */
int mortise_cli_manifest(struct mortise_cli *cli, const char *path,
                         struct mortise_manifest **out,
                         struct mortise_err *err);
/* "executor, guardrail"; "" for NULL. */
const char *mortise_cli_kinds(const struct mortise_manifest *m);

#endif
