/* mcp_config.h -- the configuration of the plugin that connects to MCP
 * servers. */
#ifndef MORTISE_LANG_CONFIG_MCP_CONFIG_H
#define MORTISE_LANG_CONFIG_MCP_CONFIG_H

#include "lang/config/lock.h"
#include "lang/config/mcp.h"

/* A new reference; NULL: memory ran out. */
json_t *mortise_mcp_make_config(const struct mortise_mcp_servers *servers,
                                const struct mortise_lock *lock);

#endif
