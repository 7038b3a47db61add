/* tool_patterns.h -- patterns of tools in a deployment that fit nothing. */
#ifndef MORTISE_ENGINE_COMMON_TOOL_PATTERNS_H
#define MORTISE_ENGINE_COMMON_TOOL_PATTERNS_H

#include "lang/config/deploy.h"

struct mortise_plugins;

/* Warnings (W0825) about patterns of tools.allow, ask and deny that fit no
 * operation of the plugins that there are.  [any] */
void mortise_tool_patterns_advise(const struct mortise_deployment *d,
                                  struct mortise_plugins *plugins,
                                  struct mortise_diags *diags);

#endif
