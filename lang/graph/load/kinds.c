/* kinds.c -- tables of the node kinds in node_kinds.def.  Only this file refers
 * to the readers of all kinds, wherever they are defined. */
#include "lang/graph/load/node.h"

#define NODE_KIND(KIND, word, gives)                                           \
    extern const struct mortise_node_kind mortise_graph_kind_##word;
#include "core/model/node_kinds.def"

const struct mortise_word mortise_node_words[] = {
#define NODE_KIND(KIND, word, gives) {#word, MORTISE_NODE_##KIND, false},
#include "core/model/node_kinds.def"
    {NULL, 0, false},
};

const struct mortise_place *const mortise_node_types[] = {
#define NODE_KIND(KIND, word, gives) &mortise_graph_kind_##word.place,
#include "core/model/node_kinds.def"
    NULL,
};

const struct mortise_node_kind *
mortise_node_kind_of(enum mortise_node_type type)
{
    static const struct mortise_node_kind *const kinds[MORTISE_NODE_TYPES] = {
#define NODE_KIND(KIND, word, gives)                                           \
    [MORTISE_NODE_##KIND] = &mortise_graph_kind_##word,
#include "core/model/node_kinds.def"
    };

    return kinds[type];
}
