/* disk.h -- loading the graph files that a graph refers to from disk. */
#ifndef MORTISE_MODEL_DISK_H
#define MORTISE_MODEL_DISK_H

#include "core/model/catalog.h"

/* A copy of `catalog` that reads files from disk.  Relative paths are relative
 * to the directory `cwd` (borrowed; NULL: the current directory of the
 * process). */
struct mortise_catalog
mortise_disk_catalog_make(const struct mortise_catalog *catalog,
                          struct mortise_graph_files *files, const char *cwd);

#endif
