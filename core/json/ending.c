/* ending.c -- the number with which a program or a server ended a call. */
#include "core/json/ending.h"

static int32_t number_of(const json_t *from, const char *name)
{
    json_int_t n = json_integer_value(json_object_get(from, name));

    return n >= INT32_MIN && n <= INT32_MAX ? (int32_t)n : 0;
}

static int put(json_t *into, const char *name, int32_t n)
{
    return n == 0 ? 0 : json_object_set_new(into, name, json_integer(n));
}

struct mortise_ending mortise_ending_of(const json_t *from)
{
    return (struct mortise_ending){number_of(from, "exit_code"),
                                   number_of(from, "status")};
}

int mortise_ending_put(json_t *into, const struct mortise_ending *e)
{
    return put(into, "exit_code", e->exit_code) == 0
               ? put(into, "status", e->status)
               : -1;
}
