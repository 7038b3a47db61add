/* mcp.h -- common code of `mortise mcp` and `mortise doctor`. */
#ifndef MORTISE_CLI_MCP_H
#define MORTISE_CLI_MCP_H

#include "cli/oneshot.h"
#include "lang/config/lock.h"

enum { MORTISE_MCP_NAME_SIZE = 128 }; /* size of a given name */

struct mortise_mcp {
    struct mortise_cli *cli;
    const struct mortise_deployment *deployment; /* with its lock */
    struct mortise_settings settings;
    bool owns_settings;
    struct mortise_oneshot once;
};

/* Read the deployment and print findings.  Call close() in any case. */
int mortise_mcp_open(struct mortise_mcp *m, struct mortise_cli *cli,
                     struct mortise_err *err);
/* The same for a deployment that is already loaded; it is borrowed. */
void mortise_mcp_open_with(struct mortise_mcp *m, struct mortise_cli *cli,
                           const struct mortise_deployment *deployment);
void mortise_mcp_close(struct mortise_mcp *m);

/* Find the server; NULL with an error. */
const struct mortise_mcp_server *
mortise_mcp_get_server(struct mortise_mcp *m, const char *name,
                       struct mortise_err *err);
/* Start the server if necessary, and get the answer of mcp/list, a new
 * reference. timeout_ms 0: the server's own timeout.  *out is NULL with
 * MORTISE_OK if the server does not start; the error is then in m->once. */
int mortise_mcp_get_listing(struct mortise_mcp *m, const char *server,
                            uint64_t timeout_ms, json_t **out,
                            struct mortise_err *err);

/* Compare a tool with its pin: "pinned" (equal), "drifted" (different), "new"
 * (only other tools of the server are pinned) or "unpinned" (no tool is
 * pinned). */
const char *mortise_mcp_get_pin_state(const struct mortise_mcp *m,
                                      const char *server, const json_t *tool);

/* ---- mcp_diff.c --------------------------------------------------------- */

/* Compare the pins of a server (NULL: none) and print the differences, unless
 * `o` is NULL.  True if a difference can affect calls. */
bool mortise_mcp_compare_pins(struct mortise_out *o, const char *server,
                              const json_t *before, const json_t *now);

#endif
