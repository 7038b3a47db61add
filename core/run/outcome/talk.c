/* talk.c -- what was said in a node's conversation, as it stays there.
 *
 * What guardrails made another text of, or never saw, may not come back by way of
 * the conversation, which the next node sends to its model: of a node whose output
 * they may keep back the last that its model said there is what the node gave, as
 * it passed, and of what it said on its way the calls of tools stay, which have
 * guardrails of their own, and no texts. */
#include <string.h>

#include "core/run/outcome/outcome.h"

/* Did guardrails make something else of what the node gave? */
static bool is_another(const struct outcome *o)
{
    const char *const stages[] = {
        mortise_guard_stage_name(MORTISE_GUARD_OUTPUT),
        mortise_guard_stage_name(MORTISE_GUARD_EDGE)};

    MORTISE_JSON_EACH (verdict, i, o->entry.note) {
        const char *stage = mortise_json_text_of(verdict, "stage");

        if (strcmp(mortise_json_text_of(verdict, "action"), "sanitize") == 0 &&
            (strcmp(stage, stages[0]) == 0 || strcmp(stage, stages[1]) == 0))
            return true;
    }
    return false;
}

static json_t *text_part(const struct mortise_mem *mem, json_t *output)
{
    json_t *text;
    char *made;

    if (json_is_string(output))
        return json_pack("{s:s, s:O}", "type", "text", "text", output);
    made = mortise_json_text(mem, output);
    text = made != NULL ? mortise_json_strn(made, strlen(made)) : NULL;
    mortise_release_str(mem, made);
    return json_pack("{s:s, s:o}", "type", "text", "text", text);
}

/* The message with that text (NULL: none), in the place of what it says and of
 * what it thought. */
static json_t *saying(const struct mortise_mem *mem, const json_t *message,
                      json_t *output)
{
    json_t *out = json_copy(mortise_json_unconst(message));
    json_t *parts = json_array();
    int rv = parts != NULL ? 0 : -1;

    MORTISE_JSON_EACH (part, i, json_object_get(message, "parts")) {
        const char *type = mortise_json_text_of(part, "type");

        if (rv == 0 && strcmp(type, "text") != 0 &&
            strcmp(type, "reasoning") != 0)
            rv = json_array_append(parts, mortise_json_unconst(part));
    }
    if (rv == 0 && output != NULL && !json_is_null(output))
        rv = json_array_append_new(parts, text_part(mem, output));
    if (rv != 0)
        mortise_json_drop(&parts);
    if (json_object_set_new(out, "parts", parts) != 0)
        mortise_json_drop(&out);
    return out;
}

/* What it said before: its calls, or that it said something, for no provider takes
 * a message of nothing. */
static json_t *on_its_way(const struct mortise_mem *mem, const json_t *message)
{
    json_t *out = saying(mem, message, NULL);

    if (json_array_size(json_object_get(out, "parts")) == 0 &&
        json_array_append_new(json_object_get(out, "parts"),
                              json_pack("{s:s, s:s}", "type", "text", "text",
                                        "(held back)")) != 0)
        mortise_json_drop(&out);
    return out;
}

json_t *mortise_talk_of(const struct outcome *o, json_t *said)
{
    const bool another = is_another(o);
    bool is_last = true;
    json_t *out;

    if (!json_is_array(said) || (!another && !mortise_exec_is_held(o->r, o->x)))
        return json_incref(said);
    out = json_copy(said);
    for (size_t i = json_array_size(out); i-- > 0;) {
        const json_t *one = json_array_get(said, i);

        if (strcmp(mortise_json_text_of(one, "role"), "assistant") != 0)
            continue;
        if ((!is_last || another) &&
            json_array_set_new(out, i,
                               is_last ? saying(o->r->mem, one, o->entry.value)
                                       : on_its_way(o->r->mem, one)) != 0)
            mortise_json_drop(&out);
        is_last = false;
    }
    return out;
}
