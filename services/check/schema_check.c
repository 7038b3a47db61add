/* schema_check.c -- schema.check/1 {schema, value}: does the value match the
 * schema?
 *
 * The answer is {valid: true}, or {valid: false, reason}; the reason is the
 * host's own message about outputs that do not match.  Plugins should use this
 * call instead of a validator of their own, which may interpret the same schema
 * differently.  The host's validator is tested with the public suite of JSON
 * Schema.
 *
 * The answer depends only on the request, so it is not recorded, and the call
 * is always allowed.  The call fails if the schema is invalid, uses a dialect
 * that this build lacks, or needs too many steps for this value.  A cautious
 * caller treats a failure as a mismatch. */
#include "core/engine/runs/host_calls.h"

#include <string.h>

#include "lang/schema/schema.h"
#include "mortise/plugin.h"
#include "services/check/methods.h"

static int32_t check_schema_request(struct mortise_asked *a, char *words)
{
    const json_t *schema = json_object_get(a->body, "schema");

    if ((json_is_object(schema) || json_is_boolean(schema)) &&
        json_object_get(a->body, "value") != NULL &&
        json_object_size(a->body) == 2)
        return MORTISE_S_OK;
    return mortise_ask_format_error(words, MORTISE_S_INVALID,
                                    "a request of %s must be {schema, value}",
                                    a->method_name);
}

static int check_requested_value(const struct mortise_asked *a,
                                 struct mortise_arena *arena,
                                 struct mortise_err *err)
{
    const struct mortise_schema_options world = {.patterns =
                                                     MORTISE_PATTERNS_FOREIGN};
    struct mortise_schema *schema = NULL;
    struct mortise_err why;
    char where[128];
    int rv = mortise_schema_compile_with(&schema, arena,
                                         json_object_get(a->body, "schema"),
                                         &world, where, sizeof where, &why);

    if (rv == MORTISE_ENOMEM)
        return mortise_nomem(err);
    if (rv != MORTISE_OK)
        return mortise_fail(err, MORTISE_ECHECK,
                            "the schema is invalid at %s: %s",
                            where[0] != '\0' ? where : "its root", why.msg);
    rv = mortise_schema_check(schema, json_object_get(a->body, "value"), err);
    mortise_schema_finish(schema);
    return rv;
}

static json_t *encode_schema_verdict(int rv, const struct mortise_err *err)
{
    return rv == MORTISE_OK
               ? json_pack("{s:b}", "valid", 1)
               : json_pack("{s:b, s:s}", "valid", 0, "reason", err->msg);
}

static void start_schema_check(struct mortise_asked *a)
{
    struct mortise_arena arena;
    struct mortise_err err;
    json_t *out = NULL;
    int rv;

    mortise_arena_init(&arena, a->m->mem);
    rv = check_requested_value(a, &arena, &err);
    mortise_arena_finish(&arena);
    if (rv == MORTISE_OK || rv == MORTISE_EINVAL)
        out = encode_schema_verdict(rv, &err);
    if (out != NULL)
        mortise_host_call_answer(a, MORTISE_S_OK, out, "");
    else if (rv == MORTISE_ECHECK || rv == MORTISE_ELIMIT)
        mortise_host_call_answer(a, MORTISE_S_INVALID, NULL, err.msg);
    else
        mortise_host_call_answer(a, MORTISE_S_NOMEM, NULL, "out of memory");
}

const struct mortise_host_call_method mortise_host_call_schema_check = {
    .effect = MORTISE_HOST_CALL_UNRECORDED,
    .needs_no_run = true,
    .check = check_schema_request,
    .start = start_schema_check,
};
