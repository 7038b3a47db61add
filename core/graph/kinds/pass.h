/* pass.h -- nodes that only pass a value on: between the file that reads them and
 * the file that runs them. */
#ifndef MORTISE_GRAPH_KINDS_PASS_H
#define MORTISE_GRAPH_KINDS_PASS_H

#include "graph/model/graph.h"

struct mortise_pass {           /* `own` of a pass node */
    struct mortise_tmpl *value; /* NULL: null */
};

#endif
