/* digest.h -- the digest of a tool's definition, by which it is pinned. */
#ifndef MCP_DIGEST_H
#define MCP_DIGEST_H

#include "../../bytes.h"

enum { MCP_DIGEST_HEX = 64 };

/* JSON in its canonical form (digest.c), behind what is in `to`.
 * MORTISE_S_NOMEM, or MORTISE_S_INVALID where `v` is nested deeper than
 * MORTISE_JV_DEPTH. */
mortise_status mcp_canonical(struct bytes *to, mortise_jv v);

/* Of a tool as tools/list has it. */
mortise_status mcp_tool_digest(mortise_jv tool, char hex[MCP_DIGEST_HEX + 1]);

#endif
