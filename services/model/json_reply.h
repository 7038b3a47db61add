/* json_reply.h -- a reply that is to be JSON: is it, and which?  [loop] */
#ifndef MORTISE_SERVICES_MODEL_JSON_REPLY_H
#define MORTISE_SERVICES_MODEL_JSON_REPLY_H

#include "core/engine/common/engine.h"

/* Can `response` of a request be asked for?  MORTISE_EINVAL: its schema is
 * wrong, and err says how. */
int mortise_json_reply_check(struct mortise *m, const json_t *response,
                             struct mortise_err *err);
/* The JSON that a reply's text is, as the schema of `response` types it: a new
 * reference.  MORTISE_EINVAL says what the text is instead. */
int mortise_json_reply_read(struct mortise *m, const json_t *response,
                            const json_t *reply, json_t **out,
                            struct mortise_err *err);

#endif
