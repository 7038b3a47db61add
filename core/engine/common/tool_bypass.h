/* tool_bypass.h -- ways to the tools of a deployment that its policy does not
 * see. */
#ifndef MORTISE_ENGINE_COMMON_TOOL_BYPASS_H
#define MORTISE_ENGINE_COMMON_TOOL_BYPASS_H

#include "lang/config/deploy.h"
#include "core/plugin/registry.h"

/* Warnings (W0828) about plugins with operations that may reach an MCP server of
 * tools.mcp over HTTP themselves. */
void mortise_tool_bypass_advise(const struct mortise_deployment *d,
                                struct mortise_plugins *plugins,
                                struct mortise_diags *diags);

#endif
