/* echo.c -- a method of the door that core/ does not know: it answers with what
 * was asked. */
#include <stdio.h>

#include "engine/runs/door.h"
#include "mortise/plugin.h"

static int32_t check(const struct mortise_asked *a, char *words)
{
    if (json_is_object(a->body))
        return MORTISE_S_OK;
    snprintf(words, MORTISE_DOOR_WORDS, "an echo is of an object");
    return MORTISE_S_INVALID;
}

static void start(struct mortise_asked *a)
{
    mortise_door_answer(a, MORTISE_S_OK,
                        json_copy(mortise_json_unconst(a->body)), "");
}

const struct mortise_door_method mortise_door_echo = {
    .effect = MORTISE_DOOR_LOOK,
    .check = check,
    .start = start,
};
