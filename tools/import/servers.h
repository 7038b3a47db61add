/* servers.h -- lists of MCP servers of other programs, as a deployment.
 *
 * The list that assistants and editors keep (.mcp.json, mcp.json, and what an
 * editor has of it in its settings) becomes `tools.mcp` and `secrets` of a
 * Deployment file.  [any] */
#ifndef MORTISE_TOOLS_IMPORT_SERVERS_H
#define MORTISE_TOOLS_IMPORT_SERVERS_H

#include "core/base/buf.h"
#include "lang/yaml/diag.h"

/* Append the Deployment file that a list amounts to.  `path` is the list's,
 * and its directory is looked at for what arguments name; `to` is where the new
 * file will be, NULL: beside the list, as far as anybody knows.  Findings to
 * `diags`: what is left behind (W1001), which servers have other names (W1002),
 * which do not start as they are (W1003), what argv shows to others (W1004);
 * MORTISE_ECHECK after an error: then nothing is appended. */
int mortise_servers_import(struct mortise_buf *out, const char *path,
                           const char *to, const char *text, size_t n,
                           struct mortise_diags *diags,
                           struct mortise_err *err);

#endif
