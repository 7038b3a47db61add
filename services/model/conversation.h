/* conversation.h -- checks requests to models and their replies against
 * schemas.
 *
 * <mortise/model.h> defines the format.  Everything here is [loop]. */
#ifndef MORTISE_SERVICES_MODEL_CONVERSATION_H
#define MORTISE_SERVICES_MODEL_CONVERSATION_H

#include "core/engine/runs/host_calls.h"

enum mortise_conversation_part {
    MORTISE_CONVERSATION_CHAT,   /* the request of model.call/1 */
    MORTISE_CONVERSATION_EMBED,  /* the request of model.embed/1 */
    MORTISE_CONVERSATION_KEEP,   /* the request of conversation.keep/1 */
    MORTISE_CONVERSATION_REPLY,  /* the output of chat() */
    MORTISE_CONVERSATION_VECTORS /* the output of embed() */
};

/* Check a value of an ask.  MORTISE_EINVAL: err says where it is wrong, as in "at
 * /messages/1/parts/0: ...". */
int mortise_conversation_check(const struct mortise_asked *a,
                               enum mortise_conversation_part what,
                               const json_t *value, struct mortise_err *err);
/* Free the schemas, which the engine keeps.  No check may follow. */
void mortise_conversations_close(struct mortise *m, void *kept);

#endif
