/* tool_patterns.h -- find tool patterns in a deployment that match nothing. */
#ifndef MORTISE_LANG_CONFIG_PLUGINS_TOOL_PATTERNS_H
#define MORTISE_LANG_CONFIG_PLUGINS_TOOL_PATTERNS_H

#include "lang/config/deploy.h"

struct mortise_plugins;

/* Add warnings (W0825) about patterns of tools.allow, ask and deny that match
 * no operation of the installed plugins.  [any] */
void mortise_tool_patterns_advise(const struct mortise_deployment *d,
                                  struct mortise_plugins *plugins,
                                  struct mortise_diags *diags);

#endif
