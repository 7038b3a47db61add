/* tools.h -- `tools` of a deployment: which operations graphs may call, and MCP
 * servers. */
#ifndef MORTISE_LANG_CONFIG_TOOLS_H
#define MORTISE_LANG_CONFIG_TOOLS_H

#include "core/model/policy.h"
#include "lang/config/mcp.h"
#include "lang/yaml/keys.h"

struct mortise_tools {
    struct mortise_policy policy;
    struct mortise_mcp_servers mcp;
};

/* The keys; `into` of the readers is a struct mortise_tools. */
extern const struct mortise_place mortise_tools_place;

#endif
