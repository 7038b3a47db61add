/* schema.h -- JSON Schemas in a YAML file. [any] */
#ifndef MORTISE_LANG_YAML_SCHEMA_H
#define MORTISE_LANG_YAML_SCHEMA_H

#include "lang/schema/schema.h"
#include "lang/yaml/tree.h"

/* Compile the schema at the node into the arena; the owner of the arena
 * calls mortise_schema_finish().  Each wrong part is a finding at its
 * position (E0209, E0205), and so is a keyword without effect (W0215) or a
 * foreign pattern (W0216).  MORTISE_ECHECK after an error, MORTISE_ENOMEM;
 * then *out is NULL.
 *
 * `says_where`: this is the schema of an author's own values.  Then an error
 * of a value names the line of the rule, so the node must live as long.
 * Each `default` is a finding (W0826), because defaults are never added to
 * values. */
int mortise_yaml_compile_schema(struct mortise_schema **out,
                                struct mortise_arena *a,
                                const struct mortise_yaml *node,
                                enum mortise_schema_patterns patterns,
                                bool says_where, struct mortise_diags *diags);

#endif
