/* keep.c -- conversation.keep/1 {after, append?}: stores a node's conversation.
 *
 * A node with a `conversation` continues the messages that earlier nodes stored
 * under that name, and stores its own: those up to the reply of the step
 * `after`, and then `append`.  They are committed together with the node's
 * output, and only then; the last call of the node counts.  The call is not
 * recorded as a step, since it gives the same result when the node's call is
 * re-entered. */
#include "core/engine/common/secret_store.h"
#include "services/model/methods.h"
#include "services/model/conversation.h"
#include "services/model/turns.h"
#include "core/engine/runs/call.h"

static int32_t reject_keep(char *words, const struct mortise_asked *a,
                           const struct mortise_err *why)
{
    return mortise_ask_format_error(
        words,
        why->code == MORTISE_ENOMEM ? MORTISE_S_NOMEM : MORTISE_S_INVALID,
        "not a valid request of %s: %.400s", a->method_name, why->msg);
}

static int32_t check_kept_request(struct mortise_asked *a, char *words)
{
    struct mortise_err why;

    if (a->call->node->conversation == NULL)
        return mortise_ask_format_error(words, MORTISE_S_DENIED,
                                        "the node has no conversation");
    if (mortise_conversation_check(a, MORTISE_CONVERSATION_KEEP, a->body,
                                   &why) != MORTISE_OK)
        return reject_keep(words, a, &why);
    json_decref(a->told);
    a->told = mortise_turns_list_kept(
        a, json_string_value(json_object_get(a->body, "after")),
        json_object_get(a->body, "append"), &why);
    return a->told != NULL ? MORTISE_S_OK : reject_keep(words, a, &why);
}

static void store_conversation(struct mortise_asked *a)
{
    struct mortise_plugin_call *c = a->call;

    json_decref(c->conversation);
    c->conversation =
        mortise_secret_store_mask_json(a->m->secret_store, a->told);
    a->told = NULL;
    if (c->conversation != NULL)
        mortise_host_call_answer(a, MORTISE_S_OK, json_null(), "");
    else
        mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
}

const struct mortise_host_call_method mortise_host_call_conversation_keep = {
    .effect = MORTISE_HOST_CALL_UNRECORDED,
    .check = check_kept_request,
    .start = store_conversation,
};
