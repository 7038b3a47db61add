/* disk.h -- graphs that a graph names, from the disk. */
#ifndef MORTISE_LANG_GRAPH_DISK_H
#define MORTISE_LANG_GRAPH_DISK_H

#include "core/model/catalog.h"

/* `catalog`, with files from the disk; paths that are not absolute are seen
 * from the directory `cwd` (lent; NULL: the process's own). */
struct mortise_catalog
mortise_disk_catalog(const struct mortise_catalog *catalog,
                     struct mortise_graph_files *files, const char *cwd);

#endif
