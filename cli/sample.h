/* sample.h -- the smallest value that fits a schema. */
#ifndef MORTISE_CLI_SAMPLE_H
#define MORTISE_CLI_SAMPLE_H

#include <jansson.h>

/* A new reference, null at worst: what the schema says of itself (default,
 * const, examples, enum), else the least of its type with all that is required,
 * or what $ref, allOf, anyOf or oneOf come to.  Other keywords are not looked
 * at: it is for a person to change, and whoever takes the answer checks it. */
json_t *mortise_json_sample(const json_t *schema);

#endif
