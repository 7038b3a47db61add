/* ending.c -- the exit code or HTTP status with which a call ended. */
#include "core/json/ending.h"

static int32_t get_int32_member(const json_t *from, const char *name)
{
    json_int_t n = json_integer_value(json_object_get(from, name));

    return n >= INT32_MIN && n <= INT32_MAX ? (int32_t)n : 0;
}

static int put_int32_member(json_t *into, const char *name, int32_t n)
{
    return n == 0 ? 0 : json_object_set_new(into, name, json_integer(n));
}

struct mortise_exit_info mortise_exit_info_get(const json_t *from)
{
    return (struct mortise_exit_info){get_int32_member(from, "exit_code"),
                                      get_int32_member(from, "status")};
}

int mortise_exit_info_set(json_t *into, const struct mortise_exit_info *e)
{
    return put_int32_member(into, "exit_code", e->exit_code) == 0
               ? put_int32_member(into, "status", e->status)
               : -1;
}
