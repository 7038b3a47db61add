/* talk.c -- the messages that a node adds to its conversation.
 *
 * The next node sends the conversation to its model, so it must not contain
 * texts that guardrails replaced or never checked.  If the output of a node has
 * guardrails that may hold it back, the last message of its model gets the text
 * of the output that passed.  Earlier messages keep only their tool calls,
 * which have guardrails of their own. */
#include <string.h>

#include "core/run/outcome/outcome.h"

/* Did guardrails replace the node's output? */
static bool was_output_sanitized(const struct outcome *o)
{
    const char *const stages[] = {
        mortise_guard_stage_name(MORTISE_GUARD_OUTPUT),
        mortise_guard_stage_name(MORTISE_GUARD_EDGE)};

    MORTISE_JSON_EACH (verdict, i, o->entry.note) {
        const char *stage = mortise_json_get_text(verdict, "stage");

        if (strcmp(mortise_json_get_text(verdict, "action"), "sanitize") == 0 &&
            (strcmp(stage, stages[0]) == 0 || strcmp(stage, stages[1]) == 0))
            return true;
    }
    return false;
}

static json_t *make_text_part(const struct mortise_mem *mem, json_t *output)
{
    json_t *text;
    char *made;

    if (json_is_string(output))
        return json_pack("{s:s, s:O}", "type", "text", "text", output);
    made = mortise_json_to_text(mem, output);
    text = made != NULL ? mortise_json_make_string(made, strlen(made)) : NULL;
    mortise_release_str(mem, made);
    return json_pack("{s:s, s:o}", "type", "text", "text", text);
}

/* A copy of the message with this text (NULL: none) instead of its text and
 * reasoning. */
static json_t *replace_message_text(const struct mortise_mem *mem,
                                    const json_t *message, json_t *output)
{
    json_t *out = json_copy(mortise_json_unconst(message));
    json_t *parts = json_array();
    int rv = parts != NULL ? 0 : -1;

    MORTISE_JSON_EACH (part, i, json_object_get(message, "parts")) {
        const char *type = mortise_json_get_text(part, "type");

        if (rv == 0 && strcmp(type, "text") != 0 &&
            strcmp(type, "reasoning") != 0)
            rv = json_array_append(parts, mortise_json_unconst(part));
    }
    if (rv == 0 && output != NULL && !json_is_null(output))
        rv = json_array_append_new(parts, make_text_part(mem, output));
    if (rv != 0)
        mortise_json_clear_ref(&parts);
    if (json_object_set_new(out, "parts", parts) != 0)
        mortise_json_clear_ref(&out);
    return out;
}

/* An earlier message without its text, or with a placeholder, since no provider
 * accepts an empty message. */
static json_t *remove_message_text(const struct mortise_mem *mem,
                                   const json_t *message)
{
    json_t *out = replace_message_text(mem, message, NULL);

    if (json_array_size(json_object_get(out, "parts")) == 0 &&
        json_array_append_new(json_object_get(out, "parts"),
                              json_pack("{s:s, s:s}", "type", "text", "text",
                                        "(held back)")) != 0)
        mortise_json_clear_ref(&out);
    return out;
}

json_t *mortise_talk_filter(const struct outcome *o, json_t *said)
{
    const bool another = was_output_sanitized(o);
    bool is_last = true;
    json_t *out;

    if (!json_is_array(said) || (!another && !mortise_exec_is_held(o->r, o->x)))
        return json_incref(said);
    out = json_copy(said);
    for (size_t i = json_array_size(out); i-- > 0;) {
        const json_t *one = json_array_get(said, i);

        if (strcmp(mortise_json_get_text(one, "role"), "assistant") != 0)
            continue;
        if ((!is_last || another) &&
            json_array_set_new(
                out, i,
                is_last ? replace_message_text(o->r->mem, one, o->entry.value)
                        : remove_message_text(o->r->mem, one)) != 0)
            mortise_json_clear_ref(&out);
        is_last = false;
    }
    return out;
}
