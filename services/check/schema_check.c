/* schema_check.c -- schema.check/1 {schema, value}: does the value fit?
 *
 * The answer is {valid: true}, or {valid: false, reason}, in the words in which
 * the host itself refuses an output that does not fit.  There is one validator
 * in Mortise, the one that the public suite of JSON Schema is run against: a
 * plugin that brought its own would mean something else by the same file.
 *
 * Nothing but the ask decides, so nothing is recorded, and it may be asked at
 * any time.  A schema that is none, one in a dialect that this build lacks, and
 * a value on which it takes too many steps are refusals of the ask: whoever
 * wants to be safe takes them for a no. */
#include "core/engine/runs/host_calls.h"

#include <string.h>

#include "lang/schema/schema.h"
#include "mortise/plugin.h"

static int32_t check(struct mortise_asked *a, char *words)
{
    const json_t *schema = json_object_get(a->body, "schema");

    if ((json_is_object(schema) || json_is_boolean(schema)) &&
        json_object_get(a->body, "value") != NULL &&
        json_object_size(a->body) == 2)
        return MORTISE_S_OK;
    return mortise_ask_refuse(words, MORTISE_S_INVALID,
                              "a request of %s must be {schema, value}",
                              a->method_name);
}

static int judge(const struct mortise_asked *a, struct mortise_arena *arena,
                 struct mortise_err *err)
{
    const struct mortise_schema_world world = {.patterns =
                                                   MORTISE_PATTERNS_FOREIGN};
    struct mortise_schema *schema = NULL;
    struct mortise_err why;
    char where[128];
    int rv = mortise_schema_compile_in(&schema, arena,
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

static json_t *answer_of(int rv, const struct mortise_err *err)
{
    return rv == MORTISE_OK
               ? json_pack("{s:b}", "valid", 1)
               : json_pack("{s:b, s:s}", "valid", 0, "reason", err->msg);
}

static void start(struct mortise_asked *a)
{
    struct mortise_arena arena;
    struct mortise_err err;
    json_t *out = NULL;
    int rv;

    mortise_arena_init(&arena, a->m->mem);
    rv = judge(a, &arena, &err);
    mortise_arena_finish(&arena);
    if (rv == MORTISE_OK || rv == MORTISE_EINVAL)
        out = answer_of(rv, &err);
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
    .check = check,
    .start = start,
};
