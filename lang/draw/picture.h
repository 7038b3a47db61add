/* picture.h -- a graph to look at: in a terminal, for Graphviz, for Mermaid.
 *
 * Every edge of the graph stands in every one of them.  [any] */
#ifndef MORTISE_LANG_DRAW_PICTURE_H
#define MORTISE_LANG_DRAW_PICTURE_H

#include "core/base/buf.h"
#include "core/model/graph.h"

/* What became of a node in a run. */
enum mortise_ran {
    MORTISE_RAN_NOT, /* or nobody asks */
    MORTISE_RAN_RUNNING,
    MORTISE_RAN_WAITS, /* for somebody, or a time */
    MORTISE_RAN_DONE,
    MORTISE_RAN_FAILED,
    MORTISE_RAN_SKIPPED
};

struct mortise_overlay {
    enum mortise_ran ran;           /* its newest visit */
    uint32_t visits;                /* in all, elements of maps included */
    const char *newest;             /* the path of an execution of that visit */
    struct mortise_overlay *inside; /* the nested graph's, by its nodes */
};

struct mortise_picture {
    const struct mortise_graph *graph;
    const struct mortise_overlay *overlay; /* by node; NULL: no run */
    bool ascii;     /* text: nothing but ASCII, labels aside */
    size_t columns; /* text: how wide it may be */
};

/* Append to b; its `failed` says when memory ran out. */
void mortise_picture_dot(struct mortise_buf *b,
                         const struct mortise_picture *p);
void mortise_picture_mermaid(struct mortise_buf *b,
                             const struct mortise_picture *p);
/* Boxes and lines, and below them what the lines are about; where these would
 * be too many or too wide, a list. */
void mortise_picture_text(struct mortise_buf *b,
                          const struct mortise_picture *p);

/* ---- for the files of it --------------------------------------------------
 */

/* The graph inside a node, to be drawn as the one around it. */
struct mortise_picture mortise_picture_nested(const struct mortise_picture *p,
                                              const struct mortise_node *n);
/* "START", "END" or a node's id. */
const char *mortise_picture_name(const struct mortise_graph *g, uint32_t node);
/* "when X", "default", ...: when the edge is taken; nothing for a plain one. */
void mortise_picture_label(struct mortise_buf *b, const struct mortise_graph *g,
                           const struct mortise_edge *e);
/* "done", "waiting", ...; "" for NOT. */
const char *mortise_ran_name(enum mortise_ran ran);

/* sketch.c: the boxes and lines alone.  False: too many or too wide, nothing
 * was appended. */
bool mortise_picture_sketch(struct mortise_buf *b,
                            const struct mortise_picture *p);

#endif
