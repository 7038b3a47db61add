/* trace.h -- the edges of a drawn graph, read back from its boxes and lines as
 * a person would follow them (lang/draw/sketch.c says how they are to be
 * read).  A line that leads nowhere fails the test. */
#ifndef TEST_TRACE_H
#define TEST_TRACE_H

#include <stdbool.h>
#include <stddef.h>

enum { TRACE_EDGES = 4096, TRACE_NAME = 80 };

struct trace {
    size_t n_boxes, n_edges;
    struct {
        char from[TRACE_NAME], to[TRACE_NAME];
        bool back;
    } edges[TRACE_EDGES];
};

/* Up to the first empty line.  False when no picture stands there. */
bool trace_picture(struct trace *t, const char *picture);
bool trace_has(const struct trace *t, const char *from, const char *to);

#endif
