/* mcp.h -- what the files of `mortise mcp` share, and `mortise doctor`. */
#ifndef MORTISE_CLI_MCP_H
#define MORTISE_CLI_MCP_H

#include "cli/oneshot.h"
#include "lang/config/lock.h"

enum { MORTISE_MCP_NAMED = 128 }; /* room for a name that is given */

struct mortise_mcp {
    struct mortise_cli *cli;
    const struct mortise_deployment *deployment; /* and what is pinned */
    struct mortise_settings settings;
    bool owns_settings;
    struct mortise_oneshot once;
};

/* Read the deployment; findings are printed.  Closed in any case. */
int mortise_mcp_open(struct mortise_mcp *m, struct mortise_cli *cli,
                     struct mortise_err *err);
/* The same for a deployment that is there already, which is lent. */
void mortise_mcp_open_beside(struct mortise_mcp *m, struct mortise_cli *cli,
                             const struct mortise_deployment *deployment);
void mortise_mcp_close(struct mortise_mcp *m);

/* The server of that name; NULL with the words. */
const struct mortise_mcp_server *
mortise_mcp_server_named(struct mortise_mcp *m, const char *name,
                         struct mortise_err *err);
/* Start it, if need be, and ask what it offers, within so many ms (0: as its
 * deployment says): mcp/list's answer, a new reference.  NULL with MORTISE_OK:
 * it does not come up, and m->once has the words. */
int mortise_mcp_listed(struct mortise_mcp *m, const char *server,
                       uint64_t timeout_ms, json_t **out,
                       struct mortise_err *err);

/* How a tool that a server has now stands to what is pinned of it: "pinned",
 * "drifted", "new" where others are, and "unpinned" where none is. */
const char *mortise_mcp_state(const struct mortise_mcp *m, const char *server,
                              const json_t *tool);

/* ---- mcp_diff.c ------------------------------------------------------------- */

/* What is different in what is pinned of a server (NULL: nothing was, or is).
 * Printed, unless `o` is NULL; false: nothing is that a call could meet. */
bool mortise_mcp_diff(struct mortise_out *o, const char *server,
                      const json_t *before, const json_t *now);

#endif
