/* schema.h -- JSON Schemas that stand in a YAML file.  [any] */
#ifndef MORTISE_LANG_YAML_SCHEMA_H
#define MORTISE_LANG_YAML_SCHEMA_H

#include "lang/schema/schema.h"
#include "lang/yaml/tree.h"

/* Compile what stands at the node into the arena; the owner of the arena calls
 * mortise_schema_finish().  Each part that is wrong is a finding at its place
 * (E0209, E0205), and so is a keyword without effect (W0215), and a foreign pattern
 * (W0216).  MORTISE_ECHECK after an error, MORTISE_ENOMEM; then *out is NULL.
 *
 * If it `says_where`, it is the schema of an author's own values: an error of a
 * value names the line of the rule, so the node must live as long, and each
 * `default` is a finding (W0826), because values are never completed. */
int mortise_yaml_schema(struct mortise_schema **out, struct mortise_arena *a,
                        const struct mortise_yaml *node,
                        enum mortise_schema_patterns patterns, bool says_where,
                        struct mortise_diags *diags);

#endif
