/* import.h -- convert graphs of other systems to graph files.
 *
 * Two forms of JSON can be imported (docs/mappings.md lists their fields): a
 * task graph (`goal`, `hitl_mode`, `nodes` by id) and a compiled execution
 * graph (`nodes` and `edges` as lists).  [any] */
#ifndef MORTISE_TOOLS_IMPORT_IMPORT_H
#define MORTISE_TOOLS_IMPORT_IMPORT_H

#include "core/base/buf.h"
#include "lang/yaml/diag.h"

/* Append the graph file made from `text`.  Findings go to `diags`.  The
 * warnings are also comments at the head of the file: W1001 (a part is not
 * imported) and W1002 (an id has another name).  After an error:
 * MORTISE_ECHECK, and nothing is appended. */
int mortise_graph_import(struct mortise_buf *out, const char *path,
                         const char *text, size_t n,
                         struct mortise_diags *diags, struct mortise_err *err);

#endif
