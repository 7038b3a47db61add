/* state.c -- state.get/1 {path}: reads the run's state as the execution sees
 * it.
 *
 * A plugin can read only paths in its manifest's permissions.state, and only
 * values that its execution's causal past wrote, never those of parallel
 * executions. */
#include "core/engine/runs/host_calls.h"

#include <string.h>

#include "core/json/path.h"
#include "services/step/methods.h"

static bool is_readable_path(const struct mortise_manifest *man,
                             const struct mortise_path *path,
                             struct mortise_arena *a)
{
    for (size_t i = 0; i < man->n_state_paths; i++) {
        struct mortise_path allowed;
        const char *text = man->state_paths[i];

        if (mortise_path_parse(&allowed, a, text, strlen(text), NULL) ==
                MORTISE_OK &&
            mortise_path_is_prefix(&allowed, path))
            return true;
    }
    return false;
}

/* Parse the path of the body; MORTISE_EINVAL: it is invalid. */
static int parse_requested_path(const struct mortise_asked *a,
                                struct mortise_path *path,
                                struct mortise_arena *arena)
{
    const json_t *text = json_object_get(a->body, "path");

    if (!json_is_string(text))
        return MORTISE_EINVAL;
    return mortise_path_parse(path, arena, json_string_value(text),
                              json_string_length(text), NULL);
}

static int32_t check_state_get(struct mortise_asked *a, char *words)
{
    struct mortise_path path;
    struct mortise_arena arena;
    int32_t status = MORTISE_S_OK;

    if (!json_is_string(json_object_get(a->body, "path")) ||
        json_object_size(a->body) != 1)
        return mortise_ask_format_error(words, MORTISE_S_INVALID,
                                        "a request of %s must be {path}",
                                        a->method_name);
    mortise_arena_init(&arena, a->m->mem);
    if (parse_requested_path(a, &path, &arena) != MORTISE_OK)
        status = mortise_ask_format_error(words, MORTISE_S_INVALID,
                                          "the path is invalid");
    else if (!is_readable_path(a->manifest, &path, &arena))
        status = mortise_ask_format_error(
            words, MORTISE_S_DENIED,
            "permissions.state of the manifest does not include this path");
    mortise_arena_finish(&arena);
    return status;
}

static void start_state_get(struct mortise_asked *a)
{
    json_t *view = mortise_run_get_state_view(a->live->run, a->run_call),
           *value = NULL;
    struct mortise_path path;
    struct mortise_arena arena;
    int rv;

    mortise_arena_init(&arena, a->m->mem);
    rv = view != NULL ? parse_requested_path(a, &path, &arena) : MORTISE_ENOMEM;
    if (rv == MORTISE_OK)
        value = json_incref(mortise_path_get(view, &path));
    json_decref(view);
    mortise_arena_finish(&arena);
    if (rv != MORTISE_OK)
        mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
    else if (value == NULL)
        mortise_host_call_answer(a, MORTISE_S_NOTFOUND, NULL,
                                 "the state has no value at this path");
    else
        mortise_host_call_answer(a, MORTISE_S_OK, value, "");
}

const struct mortise_host_call_method mortise_host_call_state_get = {
    .effect = MORTISE_HOST_CALL_CHEAP_READ,
    .check = check_state_get,
    .start = start_state_get,
};
