/* scalar.h -- what a plain scalar is, by YAML 1.2's core schema.  [any] */
#ifndef MORTISE_LANG_YAML_SCALAR_H
#define MORTISE_LANG_YAML_SCALAR_H

#include "lang/yaml/tree.h"

/* Fill node->kind and node->u from node->str.  Returns NULL, or a sentence
 * when it is a number that a value cannot hold (then it is a string). */
const char *mortise_yaml_type(struct mortise_yaml *node);

#endif
