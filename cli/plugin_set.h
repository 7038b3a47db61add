/* plugin_set.h -- the plugins of a deployment, for what needs no engine. */
#ifndef MORTISE_CLI_PLUGIN_SET_H
#define MORTISE_CLI_PLUGIN_SET_H

#include "cli/cli.h"
#include "core/plugin/registry.h"

struct mortise_plugin_set {
    struct mortise_settings settings;
    struct mortise_plugins *plugins;
    char quarantine[PATH_MAX];
};

/* Where plugins are, and whom settings trust; lent by the settings. */
struct mortise_plugins_config
mortise_plugin_set_config(const struct mortise_mem *mem,
                          const struct mortise_settings *settings);
/* The plugins of the deployment, or (`dir` not NULL) of one directory.  Close
 * it in any case. */
int mortise_plugin_set_open(struct mortise_plugin_set *s,
                            struct mortise_cli *cli, const char *dir,
                            struct mortise_err *err);
/* The same for settings that are open already, as s->settings. */
int mortise_plugin_set_fill(struct mortise_plugin_set *s,
                            struct mortise_cli *cli, const char *dir,
                            struct mortise_err *err);
/* Why it could not be loaded, its object included; NULL: it could. */
const char *mortise_plugin_set_problem(struct mortise_plugin_set *s,
                                       const struct mortise_found *f,
                                       struct mortise_err *why);
/* mortise_plugins_config's `forgets`; `ud` is the cli. */
void mortise_plugin_set_forgets(void *ud, const char *why);
/* Zeroed is fine. */
void mortise_plugin_set_close(struct mortise_plugin_set *s);

/* ---- manifests ----------------------------------------------------------- */

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
