/* pass.h -- nodes that only pass a value on: between the file that reads them and
 * the file that runs them. */
#ifndef MORTISE_LANG_GRAPH_KINDS_PASS_H
#define MORTISE_LANG_GRAPH_KINDS_PASS_H

#include "core/model/graph.h"

struct mortise_pass {           /* `own` of a pass node */
    struct mortise_tmpl *value; /* NULL: null */
};

#endif
