/* spend.c -- the names of the amounts of a budget, and the amounts as JSON.
 *
 * The names are in journals, so they never change.  They are also the keys of
 * `budget` (lang/graph/load/budget.c). */
#include "core/model/spend.h"

#include <string.h>

static const char *const names[MORTISE_N_SPENDS] = {
    [MORTISE_SPEND_TOOL_CALLS] = "tool_calls",
    [MORTISE_SPEND_WALL] = "wall",
    [MORTISE_SPEND_MODEL_CALLS] = "model_calls",
    [MORTISE_SPEND_INPUT_TOKENS] = "input_tokens",
    [MORTISE_SPEND_OUTPUT_TOKENS] = "output_tokens",
    [MORTISE_SPEND_TOKENS] = "tokens",
    [MORTISE_SPEND_USD] = "usd"};

const char *mortise_spend_name(enum mortise_spend what)
{
    return names[what];
}

enum mortise_spend mortise_spend_find(const char *name)
{
    int i = 0;

    while (i < MORTISE_N_SPENDS && strcmp(names[i], name) != 0)
        i++;
    return (enum mortise_spend)i;
}

const char *mortise_on_exceeded_name(enum mortise_on_exceeded how)
{
    static const char *const words[] = {[MORTISE_EXCEEDED_PAUSE] = "pause",
                                        [MORTISE_EXCEEDED_FAIL] = "fail",
                                        [MORTISE_EXCEEDED_GOTO] = "goto"};

    return words[how];
}

bool mortise_budget_is_set(const struct mortise_budget *b)
{
    for (int i = 0; i < MORTISE_N_SPENDS; i++) {
        if (b->said[i])
            return true;
    }
    return false;
}

void mortise_spend_from_usage(uint64_t *out, const uint64_t *used)
{
    out[MORTISE_SPEND_MODEL_CALLS] = used[MORTISE_USED_CALLS];
    out[MORTISE_SPEND_INPUT_TOKENS] = used[MORTISE_USED_INPUT];
    out[MORTISE_SPEND_OUTPUT_TOKENS] = used[MORTISE_USED_OUTPUT];
    out[MORTISE_SPEND_TOKENS] =
        used[MORTISE_USED_INPUT] + used[MORTISE_USED_OUTPUT];
    out[MORTISE_SPEND_USD] = used[MORTISE_USED_USD];
}

json_t *mortise_spend_encode(enum mortise_spend what, uint64_t amount)
{
    return what == MORTISE_SPEND_USD ? mortise_usd_to_json(amount)
                                     : json_integer((json_int_t)amount);
}

bool mortise_spend_decode(enum mortise_spend what, const json_t *value,
                          uint64_t *amount)
{
    if (what == MORTISE_SPEND_USD)
        return mortise_usd_parse(amount, value);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *amount = (uint64_t)json_integer_value(value);
    return true;
}
