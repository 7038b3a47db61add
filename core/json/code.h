/* code.h -- error codes that are reserved for the engine.
 *
 * The engine compares these codes by name to decide how a failed node
 * continues.  So neither a plugin nor a graph may use one. [any] */
#ifndef MORTISE_JSON_CODE_H
#define MORTISE_JSON_CODE_H

#include <stdbool.h>

bool mortise_code_is_reserved(const char *code);

#endif
