/* sample.h -- makes a small value that fits a schema. */
#ifndef MORTISE_CLI_SAMPLE_H
#define MORTISE_CLI_SAMPLE_H

#include <jansson.h>

/* Make a sample; a new reference, null at worst.  Taken from the schema's
 * default, const, examples or enum if there is one.  Otherwise the smallest
 * value of its type with all required members, or a sample for $ref, allOf,
 * anyOf or oneOf.  Other keywords are ignored, so the sample may be invalid: a
 * person edits it, and the receiver validates it. */
json_t *mortise_json_make_sample(const json_t *schema);

#endif
