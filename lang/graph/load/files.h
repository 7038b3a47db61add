/* files.h -- loading of graphs that are in files of their own.
 *
 * `graph: parts/review.graph.yaml` names a file, relative to the file that
 * contains the key.  `graph: review@1.2.0` names a graph by its metadata, in a
 * *.graph.yaml file of the same directory.  `{file | name, version, digest}` is
 * the long form.
 *
 * The caller supplies the texts (struct mortise_graph_files in catalog.h): from
 * the disk, or from the sources that a run has pinned. */
#ifndef MORTISE_LANG_GRAPH_LOAD_FILES_H
#define MORTISE_LANG_GRAPH_LOAD_FILES_H

#include "lang/graph/load/loader.h"

/* A file that was read once during a load; [root]. */
struct mortise_graph_file {
    struct mortise_graph_file *next;
    struct mortise_source source;
    const struct mortise_yaml *tree; /* NULL: it could not be parsed */
    uint8_t digest[MORTISE_DIGEST];  /* of its canonical form, once loaded */
    bool used;                       /* a node refers to it */
    bool loaded, bad;                /* loaded without findings, with
                                      * findings */
};

/* A listing of a directory, read once per load; [root]: of the search root. */
struct mortise_graph_dir {
    struct mortise_graph_dir *next;
    const char *path; /* "", or a path that ends with a slash */
};

/* A reference to a graph: the value of `graph` as a string, or a mapping of
 * mortise_graph_ref_place.  Is the value a reference and not a graph? */
bool mortise_load_is_ref(const struct mortise_yaml *v);
extern const struct mortise_place mortise_graph_ref_place;

/* The file that the reference names; NULL after a finding. */
struct mortise_graph_file *mortise_load_file(struct mortise_loader *ld,
                                             const struct mortise_yaml *ref);
/* The file of a reference that was resolved before; adds no findings. */
const struct mortise_graph_file *
mortise_load_find_file(struct mortise_loader *ld,
                       const struct mortise_yaml *ref);
/* Add a finding if `ref` has a digest and the file's digest differs. */
void mortise_load_check_digest(struct mortise_loader *ld,
                               const struct mortise_yaml *ref,
                               const struct mortise_graph_file *f);
/* Set the name of the graph's own file in records. */
void mortise_load_name_root(const struct mortise_yaml *root);
/* List the sources that a run pins: the graph's own file first, then each file
 * that it uses. */
void mortise_load_sources(struct mortise_loader *ld);

#endif
