/* json_reply.h -- reads the JSON of a reply that was requested as JSON.  [loop]
 */
#ifndef MORTISE_SERVICES_MODEL_JSON_REPLY_H
#define MORTISE_SERVICES_MODEL_JSON_REPLY_H

#include "core/engine/common/engine.h"

/* Check the `response` of a request.  MORTISE_EINVAL: its schema is invalid;
 * err has the reason. */
int mortise_json_reply_check(struct mortise *m, const json_t *response,
                             struct mortise_err *err);
/* Parse and validate the JSON in a reply's text by the schema of `response`;
 * *out is a new reference to the value as typed by the schema.  MORTISE_EINVAL:
 * the text is not JSON, or does not match the schema. */
int mortise_json_reply_parse(struct mortise *m, const json_t *response,
                             const json_t *reply, json_t **out,
                             struct mortise_err *err);

#endif
