/* note.h -- what a note says: between who reads such nodes and who runs them. */
#ifndef TEST_EXTEND_NOTE_H
#define TEST_EXTEND_NOTE_H

#include "core/model/graph.h"

struct note { /* `own` of its node */
    struct mortise_tmpl *say;
};

#endif
