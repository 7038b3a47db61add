/* servers.h -- convert lists of MCP servers to Deployment files.
 *
 * The list of an assistant or an editor (.mcp.json, mcp.json, or the settings
 * of an editor) becomes `tools.mcp` and `secrets` of a Deployment file.
 * [any] */
#ifndef MORTISE_TOOLS_IMPORT_SERVERS_H
#define MORTISE_TOOLS_IMPORT_SERVERS_H

#include "core/base/buf.h"
#include "lang/yaml/diag.h"

/* Append the Deployment file made from a list.  `path` is the path of the list;
 * files that arguments name are looked up relative to its directory.  `to` is
 * the path of the new file; NULL: standard output.  Findings go to `diags`:
 * W1001 (a part is not imported), W1002 (a server has another name), W1003 (a
 * server cannot start), W1004 (a secret in an argument or a URL), W1005 (a
 * directory is not granted).  After an error: MORTISE_ECHECK, and nothing is
 * appended. */
int mortise_servers_import(struct mortise_buf *out, const char *path,
                           const char *to, const char *text, size_t n,
                           struct mortise_diags *diags,
                           struct mortise_err *err);

#endif
