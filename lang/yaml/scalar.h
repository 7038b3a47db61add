/* scalar.h -- the type of a plain scalar, by YAML 1.2's core schema. [any] */
#ifndef MORTISE_LANG_YAML_SCALAR_H
#define MORTISE_LANG_YAML_SCALAR_H

#include "lang/yaml/tree.h"

/* Set node->kind and node->u from node->str.  Returns NULL, or a sentence if it
 * is a number that a value cannot hold (the node is a string then). */
const char *mortise_yaml_set_type(struct mortise_yaml *node);

#endif
