/* prompt.c -- what models are asked for executions, and what they answer.
 *
 * An ask of a model is a step like any other (step.c).  Besides, what is said to
 * the model is recorded when it is asked (`prompt`): for people, who read there
 * why it answered what it did, and for the budgets that it draws on, where that
 * is on disk before it is asked (budget.c (7)).  A prompt whose answer was lost
 * with a process stands in the record twice: the model was asked twice.
 */
#include <assert.h>

#include "core/run/asks/asks.h"

/* With the step that it is about; `extra` NULL: memory ran out. */
static json_t *with_step(const struct mortise_entry *e, json_t *extra)
{
    const struct step_id id = {e->ordinal, e->key};

    if (extra != NULL && mortise_step_put_name(extra, id) != 0)
        mortise_json_drop(&extra);
    return extra;
}

/* What a guardrail shows a model is what it judges, and nobody is told of that
 * before it may pass. */
static void forget_judged(json_t *event)
{
    if (json_is_true(json_object_get(event, "check")))
        json_object_del(event, "messages");
}

static int announce(struct mortise_run *r, const struct exec *x,
                    const char *type, const struct mortise_entry *e,
                    json_t *(*made)(const json_t *value),
                    struct mortise_err *err)
{
    json_t *extra = NULL;

    if (mortise_run_is_seen(r)) {
        extra = with_step(e, made(e->value));
        if (extra == NULL)
            return mortise_nomem(err);
        forget_judged(extra);
    }
    return mortise_event_announce(r, x, type, extra, err);
}

/* ---- asked ---------------------------------------------------------------- */

int mortise_prompt_record(struct mortise_run *r, struct mortise_entry *e,
                          const struct mortise_model_ask *ask, json_t *budget,
                          struct mortise_err *err)
{
    json_t *value = json_copy(ask->said);

    assert(e->type == MORTISE_E_PROMPT && json_is_object(ask->said));
    if (value != NULL && budget != NULL &&
        json_object_set(value, "budget", budget) != 0)
        mortise_json_drop(&value);
    return mortise_run_record_value(r, e, value, err);
}

static json_t *call_json(const json_t *value)
{
    return json_copy(mortise_json_unconst(value));
}

/* ---- what is told of it ------------------------------------------------------------- */

/* A copy of a message, without what only its provider understands. */
static json_t *plain(const json_t *message)
{
    json_t *out = json_copy(mortise_json_unconst(message));
    json_t *parts = json_array();

    MORTISE_JSON_EACH (part, i, json_object_get(message, "parts")) {
        json_t *one = json_copy(mortise_json_unconst(part));

        if (one != NULL)
            json_object_del(one, "provider");
        if (json_array_append_new(parts, one) != 0)
            mortise_json_drop(&parts);
    }
    if (out != NULL && json_object_set_new(out, "parts", parts) != 0)
        mortise_json_drop(&out);
    return out;
}

/* {alias, reply? | error?, usage?, told?, left_out?}; of vectors nothing but
 * that they are there. */
static json_t *reply_json(const json_t *value)
{
    static const char *const same[] = {"alias", "error", "usage", "told",
                                       "left_out"};
    const json_t *reply = json_object_get(value, "reply");
    const json_t *message = json_object_get(reply, "message");
    json_t *out = json_object();

    for (size_t i = 0; out != NULL && i < sizeof same / sizeof same[0]; i++) {
        json_t *one = json_object_get(value, same[i]);

        if (one != NULL && json_object_set(out, same[i], one) != 0)
            mortise_json_drop(&out);
    }
    if (out != NULL && message != NULL) {
        json_t *one = json_copy(mortise_json_unconst(reply));

        if (one == NULL ||
            json_object_set_new(one, "message", plain(message)) != 0 ||
            json_object_set_new(out, "reply", json_incref(one)) != 0)
            mortise_json_drop(&out);
        json_decref(one);
    }
    return out;
}

/* ---- held ------------------------------------------------------------------ */

/* What the node, or one around it, gives is judged by guardrails: what a model
 * says to a watcher is what they let pass.  Nothing of a reply but that it came is
 * told (a call of a tool has its own event, where it is made), nor of what is said
 * to the model behind it, which may quote it, nor the words of an error. */
static bool is_held(const struct mortise_run *r, const struct exec *x)
{
    return mortise_exec_node(r, x)->guards[MORTISE_GUARD_OUTPUT].n > 0 ||
           mortise_exec_is_within_held(r, x);
}

static json_t *only(const json_t *object, const char *member)
{
    return json_pack("{s:O*}", member, json_object_get(object, member));
}

static json_t *held_call(const json_t *value)
{
    const json_t *messages = json_object_get(value, "messages");
    json_t *out = json_copy(mortise_json_unconst(value));
    json_t *list = messages != NULL ? json_array() : NULL;

    MORTISE_JSON_EACH (one, i, messages)
        if (list != NULL && json_array_append_new(list, only(one, "role")) != 0)
            mortise_json_drop(&list);
    if (out != NULL && messages != NULL &&
        (json_object_set_new(out, "messages", list) != 0 ||
         json_object_set_new(out, "held", json_true()) != 0))
        mortise_json_drop(&out);
    return out;
}

/* Takes what is told of an answer: its error is as it is, without its words. */
static json_t *wordless(json_t *out)
{
    json_t *error = json_copy(json_object_get(out, "error"));

    if (error == NULL)
        return out;
    json_object_del(error, "message");
    if (json_object_set_new(out, "error", error) != 0)
        mortise_json_drop(&out);
    return out;
}

/* Of parts that are no text their types. */
static json_t *held_reply(const json_t *value)
{
    json_t *out = wordless(reply_json(value));
    json_t *reply = json_object_get(out, "reply"); /* a copy of ours */
    json_t *message = json_object_get(reply, "message"), *parts;
    bool held = false;

    if (message == NULL)
        return out;
    parts = json_array();
    MORTISE_JSON_EACH (part, i, json_object_get(message, "parts")) {
        const json_t *text = json_object_get(part, "text");

        held = held || text == NULL || json_string_length(text) > 0;
        if (parts != NULL && text == NULL &&
            json_array_append_new(parts, only(part, "type")) != 0)
            mortise_json_drop(&parts);
    }
    if (json_object_set_new(message, "parts", parts) != 0 ||
        (held && json_object_set_new(reply, "held", json_true()) != 0))
        mortise_json_drop(&out);
    return out;
}

static json_t *held_result(const json_t *value)
{
    return wordless(json_copy(mortise_json_unconst(value)));
}

/* ---- told ------------------------------------------------------------------ */

static bool has_reply(const struct exec *x)
{
    return x->journal != NULL && x->journal->has_reply;
}

int mortise_apply_prompt(struct mortise_run *r, struct exec *x,
                         const struct mortise_entry *e, struct mortise_err *err)
{
    const json_t *budget = json_object_get(e->value, "budget");
    int rv = MORTISE_OK;
    bool held;

    if (!json_is_string(json_object_get(e->value, "alias")))
        return mortise_entry_corrupt(err, e);
    if (budget != NULL && mortise_budget_ask(r, x, budget, err) != MORTISE_OK)
        rv = err->code == MORTISE_EINVAL ? mortise_entry_corrupt(err, e)
                                         : err->code;
    held = is_held(r, x) && (has_reply(x) || mortise_exec_is_within_held(r, x));
    return rv != MORTISE_OK ? rv
                            : announce(r, x, "model_call", e,
                                       held ? held_call : call_json, err);
}

int mortise_prompt_answered(struct mortise_run *r, const struct exec *x,
                            const struct mortise_entry *e,
                            struct mortise_err *err)
{
    return announce(r, x, "model_reply", e,
                    is_held(r, x) ? held_reply : reply_json, err);
}

int mortise_prompt_untooled(struct mortise_run *r, const struct exec *x,
                            const struct mortise_entry *e,
                            struct mortise_err *err)
{
    return announce(r, x, "tool_result", e,
                    is_held(r, x) ? held_result : call_json, err);
}
