/* keep.c -- conversation.keep/1 {after, append?}: what was said stays.
 *
 * A node with a `conversation` goes on with what earlier nodes left under that
 * name, and leaves what was said in it: up to the reply that the step `after`
 * got, and what stands behind it.  It is written with the node's output, and
 * only then; what is said last counts.  Nothing of it is recorded as a step: it
 * is the same when the call is entered again. */
#include "core/engine/common/secret_store.h"
#include "services/model/conversation.h"
#include "services/model/turns.h"
#include "core/engine/runs/call.h"

static int32_t refuse(char *words, const struct mortise_asked *a,
                      const struct mortise_err *why)
{
    return mortise_ask_refuse(
        words,
        why->code == MORTISE_ENOMEM ? MORTISE_S_NOMEM : MORTISE_S_INVALID,
        "not a valid request of %s: %.400s", a->method_name, why->msg);
}

static int32_t check(struct mortise_asked *a, char *words)
{
    struct mortise_err why;

    if (a->call->node->conversation == NULL)
        return mortise_ask_refuse(words, MORTISE_S_DENIED,
                                  "the node has no conversation");
    if (mortise_conversation_check(a->m, MORTISE_CONVERSATION_KEEP, a->body,
                                   &why) != MORTISE_OK)
        return refuse(words, a, &why);
    json_decref(a->told);
    a->told = mortise_turns_said(
        a, json_string_value(json_object_get(a->body, "after")),
        json_object_get(a->body, "append"), &why);
    return a->told != NULL ? MORTISE_S_OK : refuse(words, a, &why);
}

static void start(struct mortise_asked *a)
{
    struct mortise_ongoing *c = a->call;

    json_decref(c->conversation);
    c->conversation = mortise_secret_store_masked(a->m->secret_store, a->told);
    a->told = NULL;
    if (c->conversation != NULL)
        mortise_host_call_answer(a, MORTISE_S_OK, json_null(), "");
    else
        mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
}

const struct mortise_host_call_method mortise_host_call_conversation_keep = {
    .effect = MORTISE_HOST_CALL_UNRECORDED,
    .check = check,
    .start = start,
};
