/* files.h -- graphs that stand in files of their own, while they are loaded.
 *
 * `graph: parts/review.graph.yaml` names a file, seen from the file that says
 * so; `graph: review@1.2.0` names a graph by its metadata, in a *.graph.yaml
 * file of the same directory.  `{file | name, version, digest}` says more.
 *
 * Where texts come from is the business of who loads (struct
 * mortise_graph_files in catalog.h): the disk, or what a run has pinned. */
#ifndef MORTISE_LANG_GRAPH_LOAD_FILES_H
#define MORTISE_LANG_GRAPH_LOAD_FILES_H

#include "lang/graph/load/loader.h"

/* A file that was read, once for each load; [root]. */
struct mortise_graph_file {
    struct mortise_graph_file *next;
    struct mortise_source source;
    const struct mortise_yaml *tree; /* NULL: it could not be parsed */
    uint8_t digest[MORTISE_DIGEST];  /* of its canonical form, once loaded */
    bool used;                       /* some node runs it */
    bool loaded, bad;                /* without, with findings */
};

/* A directory that names were looked for in, once for each load; [root]. */
struct mortise_graph_dir {
    struct mortise_graph_dir *next;
    const char *path; /* "" or with a slash behind */
};

/* What stands where a file's graph is named: `key: graph`, a string or a
 * mapping of mortise_graph_ref_place.  Is it one of these, and not a graph? */
bool mortise_load_is_ref(const struct mortise_yaml *v);
extern const struct mortise_place mortise_graph_ref_place;

/* The file of such; NULL after a finding. */
struct mortise_graph_file *mortise_load_file(struct mortise_loader *ld,
                                             const struct mortise_yaml *ref);
/* The file of a reference that was found before; no findings. */
const struct mortise_graph_file *
mortise_load_known_file(struct mortise_loader *ld,
                        const struct mortise_yaml *ref);
/* Does the file have the digest that `ref` asks for, if it does? */
void mortise_load_check_digest(struct mortise_loader *ld,
                               const struct mortise_yaml *ref,
                               const struct mortise_graph_file *f);
/* What the graph's own file is called in records. */
void mortise_load_call_root(const struct mortise_yaml *root);
/* All that are used, the graph's own first: what a run pins. */
void mortise_load_sources(struct mortise_loader *ld);

#endif
