/* kinds.c -- the rows of node_kinds.def as a table of functions.  Only this
 * file names the functions of every node kind. */
#include <assert.h>

#include "core/run/outcome/outcome.h"

#define NODE_KIND(KIND, word, gives)                                           \
    extern const struct node_kind mortise_run_kind_##word;
#include "core/model/node_kinds.def"

static const struct node_kind *const kinds[MORTISE_NODE_TYPES] = {
#define NODE_KIND(KIND, word, gives)                                           \
    [MORTISE_NODE_##KIND] = &mortise_run_kind_##word,
#include "core/model/node_kinds.def"
};

const struct node_kind *mortise_exec_kind(const struct mortise_run *r,
                                          const struct exec *x)
{
    enum mortise_node_type type = mortise_exec_node(r, x)->type;

    assert(type != MORTISE_NODE_UNKNOWN); /* such a graph is not loaded */
    return kinds[type];
}
