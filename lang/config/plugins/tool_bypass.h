/* tool_bypass.h -- find ways to a deployment's tools that bypass its policy. */
#ifndef MORTISE_LANG_CONFIG_PLUGINS_TOOL_BYPASS_H
#define MORTISE_LANG_CONFIG_PLUGINS_TOOL_BYPASS_H

#include "lang/config/deploy.h"
#include "core/plugin/registry.h"

/* Add warnings (W0828) about plugins whose operations can reach an MCP server
 * of tools.mcp directly over HTTP. */
void mortise_tool_bypass_advise(const struct mortise_deployment *d,
                                struct mortise_plugins *plugins,
                                struct mortise_diags *diags);

#endif
