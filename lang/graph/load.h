/* load.h -- load a graph from its file. */
#ifndef MORTISE_LANG_GRAPH_LOAD_H
#define MORTISE_LANG_GRAPH_LOAD_H

#include "core/model/graph.h"
#include "lang/yaml/diag.h"
#include "lang/yaml/tree.h"

/* Load and check a graph.  Findings go to `diags`; *out is a reference, or NULL
 * if a finding is an error (MORTISE_ECHECK).  `path` is for messages. */
int mortise_graph_load(struct mortise_graph **out,
                       const struct mortise_mem *mem, const char *path,
                       const char *text, size_t n,
                       const struct mortise_catalog *catalog,
                       struct mortise_diags *diags, struct mortise_err *err);
/* The same for a tree, which may combine several files.  The tree must live as
 * long as the graph; the graph's sources are those of its root's file. */
int mortise_graph_load_tree(struct mortise_graph **out,
                            const struct mortise_mem *mem,
                            const struct mortise_yaml *tree,
                            const struct mortise_catalog *catalog,
                            struct mortise_diags *diags,
                            struct mortise_err *err);

#endif
