/* picture.h -- printing a graph as a picture: for a terminal, Graphviz,
 * Mermaid.
 *
 * Every edge of the graph is in each picture. [any] */
#ifndef MORTISE_LANG_DRAW_PICTURE_H
#define MORTISE_LANG_DRAW_PICTURE_H

#include "core/base/buf.h"
#include "core/model/graph.h"

/* The state of a node in a run. */
enum mortise_ran_state {
    MORTISE_RAN_NOT, /* not run, or unknown */
    MORTISE_RAN_RUNNING,
    MORTISE_RAN_WAITS, /* for a person, or a time */
    MORTISE_RAN_DONE,
    MORTISE_RAN_FAILED,
    MORTISE_RAN_SKIPPED
};

struct mortise_overlay {
    enum mortise_ran_state ran;     /* of its newest visit */
    uint32_t visits;                /* in total, including elements of maps */
    const char *newest;             /* the path of an execution of that visit */
    struct mortise_overlay *inside; /* the nested graph's nodes */
};

struct mortise_picture {
    const struct mortise_graph *graph;
    const struct mortise_overlay *overlay; /* by node; NULL: without a run */
    bool ascii;                            /* text: ASCII only, except labels */
    size_t columns;                        /* text: the maximum width */
};

/* Append to b; b->failed is set if memory runs out. */
void mortise_picture_print_dot(struct mortise_buf *b,
                               const struct mortise_picture *p);
void mortise_picture_print_mermaid(struct mortise_buf *b,
                                   const struct mortise_picture *p);
/* Boxes and lines, with an explanation of the lines below.  A list, if the
 * picture would be too large or too wide. */
void mortise_picture_print_text(struct mortise_buf *b,
                                const struct mortise_picture *p);

/* ---- for the files of this directory ---- */

/* The graph inside a node, to be drawn like the one around it. */
struct mortise_picture mortise_picture_nested(const struct mortise_picture *p,
                                              const struct mortise_node *n);
/* "START", "END" or a node's id. */
const char *mortise_picture_get_node_name(const struct mortise_graph *g,
                                          uint32_t node);
/* "when X", "default", ...: the condition of the edge; empty for a plain
 * edge. */
void mortise_picture_print_label(struct mortise_buf *b,
                                 const struct mortise_graph *g,
                                 const struct mortise_edge *e);
/* "done", "waiting", ...; "" for NOT. */
const char *mortise_ran_name(enum mortise_ran_state ran);

/* sketch.c: only the boxes and lines.  False: too large or too wide; nothing
 * was appended. */
bool mortise_picture_print_sketch(struct mortise_buf *b,
                                  const struct mortise_picture *p);

#endif
