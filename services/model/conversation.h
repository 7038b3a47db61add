/* conversation.h -- what models are asked and answer, and whether it is that.
 *
 * The format is <mortise/model.h>'s.  Everything here is [loop]. */
#ifndef MORTISE_SERVICES_MODEL_CONVERSATION_H
#define MORTISE_SERVICES_MODEL_CONVERSATION_H

#include "core/engine/common/engine.h"

enum mortise_conversation_part {
    MORTISE_CONVERSATION_CHAT,   /* the body of model.call/1 */
    MORTISE_CONVERSATION_EMBED,  /* of model.embed/1 */
    MORTISE_CONVERSATION_KEEP,   /* of conversation.keep/1 */
    MORTISE_CONVERSATION_REPLY,  /* what chat() emits */
    MORTISE_CONVERSATION_VECTORS /* what embed() does */
};

/* MORTISE_EINVAL says where it is none: "at /messages/1/parts/0: ...". */
int mortise_conversation_check(struct mortise *m,
                               enum mortise_conversation_part what,
                               const json_t *value, struct mortise_err *err);
/* Once nobody asks any more. */
void mortise_conversations_close(struct mortise *m);

#endif
