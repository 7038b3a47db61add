/* foreign_keys.h -- our names for keys of other systems.  [any] */
#ifndef MORTISE_LANG_YAML_FOREIGN_KEYS_H
#define MORTISE_LANG_YAML_FOREIGN_KEYS_H

#include <stddef.h>

/* The one of `known` that does here what `name` does in another system, or
 * NULL. */
const char *mortise_foreign_key(const char *name, const char *const *known,
                                size_t n);

#endif
