/* foreign_keys.h -- our names for keys of other systems.  [any] */
#ifndef MORTISE_LANG_YAML_FOREIGN_KEYS_H
#define MORTISE_LANG_YAML_FOREIGN_KEYS_H

#include <stddef.h>

/* The key of `known` with the same purpose as `name` in another system, or
 * NULL. */
const char *mortise_foreign_find_key(const char *name, const char *const *known,
                                     size_t n);

#endif
