/* pass.h -- nodes that only pass a value on, or fail: between the files that read
 * them and the files that run them. */
#ifndef MORTISE_GRAPH_KINDS_PASS_H
#define MORTISE_GRAPH_KINDS_PASS_H

#include "graph/model/graph.h"

struct mortise_pass {           /* `own` of a pass node */
    struct mortise_tmpl *value; /* NULL: null */
};

struct mortise_failing { /* `own` of a fail node */
    const char *code;
    struct mortise_tmpl *message;
};

#endif
