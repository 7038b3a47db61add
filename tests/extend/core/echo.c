/* echo.c -- a service that core/ does not know.  Its method answers with what
 * was asked. */
#include "core/engine/runs/host_calls.h"
#include "core/plugin/services.h"
#include "mortise/plugin.h"

static int32_t check(struct mortise_asked *a, char *words)
{
    if (json_is_object(a->body))
        return MORTISE_S_OK;
    return mortise_ask_format_error(words, MORTISE_S_INVALID,
                                    "an echo is of an object");
}

static void start(struct mortise_asked *a)
{
    mortise_host_call_answer(a, MORTISE_S_OK,
                             json_copy(mortise_json_unconst(a->body)), "");
}

static const struct mortise_host_call_method echo = {
    .effect = MORTISE_HOST_CALL_CHEAP_READ,
    .check = check,
    .start = start,
};

static const struct mortise_method methods[] = {
    {.name = "echo/1", .performs = &echo},
    {.name = NULL},
};

const struct mortise_service mortise_service_echo = {.name = "echo",
                                                     .methods = methods};
