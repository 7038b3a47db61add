/* code.c -- error codes that are reserved for the engine. */
#include "core/json/code.h"

#include <stddef.h>
#include <string.h>

bool mortise_code_is_reserved(const char *code)
{
    static const char *const codes[] = {"determinism", "guardrail", "in_doubt",
                                        "rejected"};

    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (strcmp(codes[i], code) == 0)
            return true;
    return false;
}
