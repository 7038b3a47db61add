/* prompt.c -- asks of models: recording them, and the events about them.
 *
 * An ask of a model is a step like any other (step.c).  In addition, the
 * messages to the model are recorded when it is asked (`prompt`).  People can
 * read there why the model answered as it did, and budgets need it: if a budget
 * limits the ask, the entry is synced before the model is asked, as in budget.c
 * (7).  If an answer was lost with its process, the prompt is recorded twice:
 * the model was asked twice.
 */
#include <assert.h>

#include "core/run/asks/asks.h"

/* Add the name of the entry's step; `extra` NULL: memory ran out. */
static json_t *add_step_name(const struct mortise_entry *e, json_t *extra)
{
    const struct step_id id = {e->ordinal, e->key};

    if (extra != NULL && mortise_step_add_name(extra, id) != 0)
        mortise_json_clear_ref(&extra);
    return extra;
}

/* A guardrail's prompt quotes the value that it checks, which must not be shown
 * before it has passed. */
static void drop_checked_messages(json_t *event)
{
    if (json_is_true(json_object_get(event, "check")))
        json_object_del(event, "messages");
}

static int emit_model_event(struct mortise_run *r, const struct exec *x,
                            const char *type, const struct mortise_entry *e,
                            json_t *(*made)(const json_t *value),
                            struct mortise_err *err)
{
    json_t *extra = NULL;

    if (mortise_run_has_watcher(r)) {
        extra = add_step_name(e, made(e->value));
        if (extra == NULL)
            return mortise_nomem(err);
        drop_checked_messages(extra);
    }
    return mortise_event_announce(r, x, type, extra, err);
}

/* ---- recording ----------------------------------------------------------- */

int mortise_prompt_record(struct mortise_run *r, struct mortise_entry *e,
                          const struct mortise_model_ask *ask, json_t *budget,
                          struct mortise_err *err)
{
    json_t *value = json_copy(ask->said);

    assert(e->type == MORTISE_E_PROMPT && json_is_object(ask->said));
    if (value != NULL && budget != NULL &&
        json_object_set(value, "budget", budget) != 0)
        mortise_json_clear_ref(&value);
    return mortise_run_record_value(r, e, value, err);
}

static json_t *copy_call_json(const json_t *value)
{
    return json_copy(mortise_json_unconst(value));
}

/* ---- events -------------------------------------------------------------- */

/* A copy of a message, without the parts that only its provider understands. */
static json_t *strip_provider_parts(const json_t *message)
{
    json_t *out = json_copy(mortise_json_unconst(message));
    json_t *parts = json_array();

    MORTISE_JSON_EACH (part, i, json_object_get(message, "parts")) {
        json_t *one = json_copy(mortise_json_unconst(part));

        if (one != NULL)
            json_object_del(one, "provider");
        if (json_array_append_new(parts, one) != 0)
            mortise_json_clear_ref(&parts);
    }
    if (out != NULL && json_object_set_new(out, "parts", parts) != 0)
        mortise_json_clear_ref(&out);
    return out;
}

/* {alias, reply? | error?, usage?, told?, left_out?}; vectors are left out. */
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
            mortise_json_clear_ref(&out);
    }
    if (out != NULL && message != NULL) {
        json_t *one = json_copy(mortise_json_unconst(reply));

        if (one == NULL ||
            json_object_set_new(one, "message",
                                strip_provider_parts(message)) != 0 ||
            json_object_set_new(out, "reply", json_incref(one)) != 0)
            mortise_json_clear_ref(&out);
        json_decref(one);
    }
    return out;
}

/* ---- held back ----------------------------------------------------------- */

/* Guardrails check the output of the node, or of a node around it.  So watchers
 * of a model's text only see text that passed.  The event of a reply only shows
 * that it arrived; a tool call has an event of its own.  The event of the next
 * prompt omits the messages that may quote the reply, and errors are shown
 * without their message. */
static bool is_output_checked(const struct mortise_run *r, const struct exec *x)
{
    return mortise_exec_node(r, x)->guards[MORTISE_GUARD_OUTPUT].n > 0 ||
           mortise_exec_is_within_held(r, x);
}

static json_t *copy_one_member(const json_t *object, const char *member)
{
    return json_pack("{s:O*}", member, json_object_get(object, member));
}

static json_t *build_held_call(const json_t *value)
{
    const json_t *messages = json_object_get(value, "messages");
    json_t *out = json_copy(mortise_json_unconst(value));
    json_t *list = messages != NULL ? json_array() : NULL;

    MORTISE_JSON_EACH (one, i, messages)
        if (list != NULL &&
            json_array_append_new(list, copy_one_member(one, "role")) != 0)
            mortise_json_clear_ref(&list);
    if (out != NULL && messages != NULL &&
        (json_object_set_new(out, "messages", list) != 0 ||
         json_object_set_new(out, "held", json_true()) != 0))
        mortise_json_clear_ref(&out);
    return out;
}

/* Takes the members of an event; removes the message of its error. */
static json_t *strip_error_message(json_t *out)
{
    json_t *error = json_copy(json_object_get(out, "error"));

    if (error == NULL)
        return out;
    json_object_del(error, "message");
    if (json_object_set_new(out, "error", error) != 0)
        mortise_json_clear_ref(&out);
    return out;
}

/* For parts other than text, keep the type only. */
static json_t *build_held_reply(const json_t *value)
{
    json_t *out = strip_error_message(reply_json(value));
    json_t *reply = json_object_get(out, "reply"); /* our own copy */
    json_t *message = json_object_get(reply, "message"), *parts;
    bool held = false;

    if (message == NULL)
        return out;
    parts = json_array();
    MORTISE_JSON_EACH (part, i, json_object_get(message, "parts")) {
        const json_t *text = json_object_get(part, "text");

        held = held || text == NULL || json_string_length(text) > 0;
        if (parts != NULL && text == NULL &&
            json_array_append_new(parts, copy_one_member(part, "type")) != 0)
            mortise_json_clear_ref(&parts);
    }
    if (json_object_set_new(message, "parts", parts) != 0 ||
        (held && json_object_set_new(reply, "held", json_true()) != 0))
        mortise_json_clear_ref(&out);
    return out;
}

static json_t *build_held_result(const json_t *value)
{
    return strip_error_message(json_copy(mortise_json_unconst(value)));
}

/* ---- applying ------------------------------------------------------------ */

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
    if (budget != NULL &&
        mortise_budget_reserve_for_ask(r, x, budget, err) != MORTISE_OK)
        rv = err->code == MORTISE_EINVAL ? mortise_entry_corrupt(err, e)
                                         : err->code;
    held = is_output_checked(r, x) &&
           (has_reply(x) || mortise_exec_is_within_held(r, x));
    return rv != MORTISE_OK
               ? rv
               : emit_model_event(r, x, "model_call", e,
                                  held ? build_held_call : copy_call_json, err);
}

int mortise_prompt_announce_answer(struct mortise_run *r, const struct exec *x,
                                   const struct mortise_entry *e,
                                   struct mortise_err *err)
{
    return emit_model_event(
        r, x, "model_reply", e,
        is_output_checked(r, x) ? build_held_reply : reply_json, err);
}

int mortise_prompt_announce_untooled(struct mortise_run *r,
                                     const struct exec *x,
                                     const struct mortise_entry *e,
                                     struct mortise_err *err)
{
    return emit_model_event(
        r, x, "tool_result", e,
        is_output_checked(r, x) ? build_held_result : copy_call_json, err);
}
