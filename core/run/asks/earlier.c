/* earlier.c -- tools that ran for an execution in earlier attempts.
 *
 * A model that is asked again repeats its earlier tool calls.  An attempt
 * starts with an empty journal, so its tool calls are compared with the
 * executions of earlier attempts, by the key of the step that each of them ran
 * for: the key is the same in each attempt (identity.c).  step.c decides how
 * such a call continues; its rules are flow/tools.c (9) and (10).
 */
#include <string.h>

#include "core/run/asks/asks.h"

struct exec *mortise_tool_find_earlier(const struct exec *x,
                                       const uint8_t key[MORTISE_DIGEST])
{
    struct exec *y = x->tools != NULL ? x->tools->execs : NULL;

    while (y != NULL &&
           (y->serves == 0 || memcmp(y->served, key, MORTISE_DIGEST) != 0))
        y = y->sibling;
    return y != NULL && (y->state == X_FAILED || y->state == X_CANCELLED)
               ? y
               : NULL;
}

json_t *mortise_tool_make_error(const struct mortise_run *r,
                                const struct exec *y)
{
    const char *code = mortise_json_get_text(y->error, "code");
    const char *words = mortise_json_get_text(y->error, "message");
    const struct mortise_exit_info ending = mortise_exit_info_get(y->error);
    json_t *error =
        mortise_error_new(NULL, code, mortise_json_get_text(y->error, "class"),
                          mortise_exec_get_failure_message(r, y, code, words));

    if (error != NULL && mortise_exit_info_set(error, &ending) != 0)
        mortise_json_clear_ref(&error);
    return json_pack("{s:o}", "error", error);
}

static bool is_refusal_error(const struct exec *y)
{
    const char *code = mortise_json_get_text(y->error, "code");

    return strcmp(code, "rejected") == 0 || strcmp(code, "in_doubt") == 0;
}

bool mortise_tool_was_rejected(const struct exec *x, const struct exec *y)
{
    return y->rejected_in_generation == x->generation &&
           (y->effect_open || mortise_step_has_open_effect(y) ||
            (y->state == X_FAILED && is_refusal_error(y)));
}

json_t *mortise_tool_make_rejection(const struct mortise_run *r,
                                    const struct exec *y)
{
    return y->state == X_FAILED
               ? mortise_tool_make_error(r, y)
               : json_pack("{s:o}", "error",
                           mortise_error_new(NULL, "in_doubt", "permanent",
                                             "resolved as failed"));
}

void mortise_tool_set_rejected(struct exec *x)
{
    struct exec *owner;

    for (; (owner = x->frame->top->scope->owner) != NULL; x = owner)
        if (x->serves != 0)
            x->rejected_in_generation = owner->generation;
}

bool mortise_tools_have_open_doubt(const struct mortise_run *r,
                                   const struct exec *x)
{
    for (size_t i = 1; x->tools != NULL && i < r->n_execs; i++) {
        const struct exec *z = r->execs[i], *owner = z;

        if (z->was.state == 0 || mortise_exec_has_ended(z))
            continue;
        while ((owner = owner->frame->top->scope->owner) != NULL)
            if (owner == x)
                return true;
    }
    return false;
}
