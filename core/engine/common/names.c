/* names.c -- valid names of tenants, runs and orders. */
#include "core/engine/common/engine.h"

#include <string.h>

int mortise_name_check(const char *what, const char *name,
                       struct mortise_err *err)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVW"
                            "XYZ0123456789._-");

    if (n == 0 || n > MORTISE_NAME_MAX || name[n] != '\0')
        return mortise_fail(err, MORTISE_EINVAL,
                            "'%.200s' is not a valid %s: use 1 to 128 letters, "
                            "digits, '.', '_' and '-'",
                            name, what);
    return MORTISE_OK;
}
