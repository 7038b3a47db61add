/* import.h -- graphs of other systems, as graph files of ours.
 *
 * Two shapes of JSON are known (docs/mappings.md has their fields): the task
 * graph (`goal`, `hitl_mode`, `nodes` by id) and the compiled execution graph
 * (`nodes` and `edges` as lists).  [any] */
#ifndef MORTISE_TOOLS_IMPORT_IMPORT_H
#define MORTISE_TOOLS_IMPORT_IMPORT_H

#include "core/base/buf.h"
#include "lang/yaml/diag.h"

/* Append the graph file that a foreign one amounts to.  Findings to `diags`,
 * and those that are warnings are comments at the head of what is appended,
 * too: what is left behind (W1001) and which ids are other ones (W1002).
 * MORTISE_ECHECK after an error: then nothing is appended. */
int mortise_graph_import(struct mortise_buf *out, const char *path,
                         const char *text, size_t n,
                         struct mortise_diags *diags, struct mortise_err *err);

#endif
