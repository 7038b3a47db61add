/* code.h -- codes of errors that the engine alone gives.
 *
 * The engine compares these codes by name, to decide what happens to a node that
 * failed.  Neither a plugin nor a graph may choose one.  [any] */
#ifndef MORTISE_JSON_CODE_H
#define MORTISE_JSON_CODE_H

#include <stdbool.h>

bool mortise_code_is_of_engine(const char *code);

#endif
