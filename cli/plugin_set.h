/* plugin_set.h -- the plugins of a deployment, without an engine. */
#ifndef MORTISE_CLI_PLUGIN_SET_H
#define MORTISE_CLI_PLUGIN_SET_H

#include "cli/cli.h"
#include "core/plugin/registry.h"

struct mortise_plugin_set {
    struct mortise_settings settings;
    struct mortise_plugins *plugins;
    char quarantine[PATH_MAX];
};

/* The plugin and trust directories of the settings; borrowed from the settings.
 */
struct mortise_plugins_config
mortise_plugin_set_config(const struct mortise_mem *mem,
                          const struct mortise_settings *settings);
/* Open the plugins of the deployment, or (`dir` not NULL) of one directory.
 * Call close() in any case. */
int mortise_plugin_set_open(struct mortise_plugin_set *s,
                            struct mortise_cli *cli, const char *dir,
                            struct mortise_err *err);
/* The same with settings that are already open in s->settings. */
int mortise_plugin_set_open_with(struct mortise_plugin_set *s,
                                 struct mortise_cli *cli, const char *dir,
                                 struct mortise_err *err);
/* Why the plugin cannot be loaded, including errors of its object; NULL: it
 * can. */
const char *mortise_plugin_set_find_problem(struct mortise_plugin_set *s,
                                            const struct mortise_plugin_info *f,
                                            struct mortise_err *why);
/* For `forgets` of mortise_plugins_config; `ud` is the cli. */
void mortise_plugin_set_warn(void *ud, const char *why);
/* Zeroed is fine. */
void mortise_plugin_set_close(struct mortise_plugin_set *s);

/* ---- manifests ----------------------------------------------------------- */

/* Is it the path of a manifest, and not the name of a plugin? */
bool mortise_cli_is_path(const char *what);
/* Read a manifest without verifying it; findings are printed.  Free *out with
 * mortise_manifest_free() even if this fails. */
int mortise_cli_read_manifest(struct mortise_cli *cli, const char *path,
                              struct mortise_manifest **out,
                              struct mortise_err *err);
/* "executor, guardrail"; "" for NULL. */
const char *mortise_cli_get_kinds(const struct mortise_manifest *m);

#endif
