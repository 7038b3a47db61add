/* digest.h -- the digest of a tool's definition, by which it is pinned. */
#ifndef MCP_DIGEST_H
#define MCP_DIGEST_H

#include "../../canonical.h"

/* Of a tool as tools/list has it. */
mortise_status mcp_tool_digest(mortise_jv tool, char hex[CANONICAL_HEX + 1]);

#endif
