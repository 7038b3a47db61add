/* pass.h -- the data of a pass node: for the files that read and run such
 * nodes. */
#ifndef MORTISE_MODEL_PASS_H
#define MORTISE_MODEL_PASS_H

#include "core/model/graph.h"

struct mortise_pass {           /* `own` of a pass node */
    struct mortise_tmpl *value; /* NULL: null */
};

#endif
