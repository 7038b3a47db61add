/* found.c -- the tools that discovery found for an execution: which tools it is
 * offered. */
#include <string.h>

#include "core/run/state/state.h"

bool mortise_exec_is_narrowed(const struct exec *x)
{
    return json_is_true(
        json_object_get(x->found[MORTISE_LOOKUP_DISCOVER], "narrows"));
}

bool mortise_exec_is_offered(const struct exec *x, const char *tool)
{
    const json_t *found = x->found[MORTISE_LOOKUP_DISCOVER];

    if (!mortise_exec_is_narrowed(x))
        return true;
    MORTISE_JSON_EACH (one, i, json_object_get(found, "results")) {
        const char *id = json_string_value(json_object_get(one, "id"));
        const char *kind = json_string_value(json_object_get(one, "kind"));

        if (id != NULL && strcmp(id, tool) == 0 &&
            (kind == NULL || strcmp(kind, "skill") != 0))
            return true;
    }
    return false;
}
