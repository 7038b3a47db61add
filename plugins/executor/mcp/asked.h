/* asked.h -- what a server of the legacy era asks of us. */
#ifndef MCP_ASKED_H
#define MCP_ASKED_H

#include "rpc.h"
#include "transport.h"

/* A request of the server's; `on` as the ear has it. */
void mcp_asked_heard(struct mcp_server *s, const struct mcp_rpc *m, int64_t on);
/* It wants no answer to that request any more: a notification's params. */
void mcp_asked_cancelled(struct mcp_server *s, mortise_jv params);
/* A request of ours has ended: what it may have asked is another's, or
 * nobody's. */
void mcp_asked_settle(struct mcp_server *s);
/* The connection is gone. */
void mcp_asked_forget(struct mcp_server *s);

#endif
