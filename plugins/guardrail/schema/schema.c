/* schema.c -- a payload fits a JSON Schema.
 *
 * Config (of the deployment)
 *   schema  a JSON Schema, draft 2020-12 (an object, or true or false); what is
 *           wrong with it is told when the deployment is checked
 *   at      a JSON Pointer: what is judged is the value there, in place of the
 *           whole payload; where there is none, that is a violation    ("")
 *
 * A guardrail of a deployment
 *   guardrails:
 *     refund: {plugin: schema, config: {schema: {type: object,
 *              required: [amount], properties: {amount: {maximum: 100}}}}}
 *
 * The host judges (schema.check/1), by the one validator that it has: the same
 * schema means the same here, as a node's output_schema, and as what a model's
 * reply has to be.  What a schema of a node refuses is a mistake that is tried
 * again; what this one refuses is a violation, with all that a policy can make
 * of it, also on an edge, before a tool runs, or on its way to memory.
 *
 * It fails closed: a schema that takes too many steps on a value, and a host
 * that does not answer, are violations.  Nothing is offered as replacement.
 *
 * Rules do not change after create(), so any number of checks may run at once;
 * each has a struct asking of its own until it is answered. */
#include <stdbool.h>
#include <stdio.h>

#include <mortise/guardrail.h>

#include "../../bytes.h"
#include "../../create.h"
#include "../../nomem.h"

enum { MAX_AT = 1024 };

struct mortise_inst {
    mortise_host *host; /* lent until destroy(), as is the table */
    const mortise_host_api *api;
    struct bytes schema; /* JSON */
    char at[MAX_AT];
};

struct asking {
    mortise_inst *inst;
    mortise_call call;
};

/* ---- the answer ---------------------------------------------------------- */

static void finish(const struct asking *a, mortise_status status,
                   mortise_str words)
{
    static const char detail[] = "{\"class\":\"permanent\"}";

    a->inst->api->finish(a->inst->host, a->call, status, words,
                         mortise_strz(status < 0 ? detail : ""));
}

/* {valid, reason?}. */
static mortise_status emit_answer(const struct asking *a, mortise_str answer)
{
    char reason[1001] = "it does not match its schema";
    mortise_jv body, words;
    int32_t valid = 0;

    if (mortise_jv_parse(answer, &body) != MORTISE_S_OK ||
        mortise_jv_bool(mortise_jv_get(body, "valid"), &valid) != MORTISE_S_OK)
        return MORTISE_S_FAILED;
    words = mortise_jv_get(body, "reason");
    if (words.n > 0)
        mortise_jv_cstr(words, reason, sizeof reason);
    return mortise_emit_verdict(a->inst->host, a->inst->api, a->call, !valid,
                                reason);
}

static void answered(void *ud, mortise_status status, mortise_str answer)
{
    const struct asking a = *(struct asking *)ud;

    free(ud);
    if (status == MORTISE_S_OK)
        finish(&a, emit_answer(&a, answer),
               mortise_strz("the host's answer is invalid"));
    else
        finish(&a, status, answer);
}

/* ---- the check ----------------------------------------------------------- */

/* One step of a pointer: the member of that name, or the element. */
static mortise_jv step(mortise_jv v, const char *name, size_t n)
{
    mortise_jv_iter it = mortise_jv_each(v);
    mortise_jv key, one;
    uint64_t index = 0;
    char number[24];

    if (mortise_jv_type(v) == MORTISE_JV_OBJECT)
        return mortise_jv_getn(v, mortise_strn(name, n));
    while (mortise_jv_next(&it, &key, &one)) {
        snprintf(number, sizeof number, "%llu", (unsigned long long)index++);
        if (strlen(number) == n && memcmp(number, name, n) == 0)
            return one;
    }
    return mortise_jv_none();
}

/* What `at` leads to; none: there is nothing. */
static mortise_jv find(const struct mortise_inst *i, mortise_jv v)
{
    const char *p = i->at;

    while (*p == '/' && v.n > 0) {
        char name[MAX_AT];
        size_t n = 0;

        for (p++; *p != '\0' && *p != '/'; p++) {
            const bool escaped = p[0] == '~' && (p[1] == '0' || p[1] == '1');

            name[n++] = !escaped ? *p : p[1] == '0' ? '~' : '/';
            p += escaped;
        }
        v = step(v, name, n);
    }
    return v;
}

static mortise_status ask(mortise_inst *i, const mortise_request *r,
                          mortise_jv value)
{
    struct asking *a = malloc(sizeof *a);
    mortise_status status;
    mortise_str body;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    status = a != NULL
                 ? mortise_schema_fits_body(
                       &w, mortise_jv_of(bytes_str(&i->schema)), value, &body)
                 : MORTISE_S_NOMEM;
    if (a != NULL)
        *a = (struct asking){i, r->call};
    if (status == MORTISE_S_OK)
        status =
            mortise_schema_fits(i->host, i->api, r->call, body, answered, a);
    free(w.p);
    if (status != MORTISE_S_PENDING)
        free(a);
    return status;
}

static mortise_status check(mortise_inst *i, uint32_t stage,
                            const mortise_request *r)
{
    mortise_jv value;

    (void)stage; /* what fits, fits everywhere */
    if (mortise_jv_parse(r->body, &value) != MORTISE_S_OK)
        return mortise_refuse(i->host, i->api, r->call, MORTISE_S_INVALID,
                              "permanent", "invalid",
                              "the payload is not JSON");
    value = find(i, value);
    if (value.n == 0) {
        char reason[MAX_AT + 32];

        snprintf(reason, sizeof reason, "no value at %s", i->at);
        return mortise_emit_verdict(i->host, i->api, r->call, 1, reason);
    }
    return ask(i, r, value);
}

/* ---- the instance -------------------------------------------------------- */

static void destroy(mortise_inst *i)
{
    bytes_free(&i->schema);
    free(i);
}

static bool is_pointer(const char *at)
{
    return at[0] == '\0' || at[0] == '/';
}

static mortise_status configure(mortise_inst *i, mortise_str config)
{
    mortise_jv body, schema, at;
    int32_t type;

    if (mortise_jv_parse(config, &body) != MORTISE_S_OK)
        return create_refuse(i->host, i->api, "the config is not JSON");
    schema = mortise_jv_get(body, "schema");
    at = mortise_jv_get(body, "at");
    type = schema.n > 0 ? mortise_jv_type(schema) : MORTISE_JV_NULL;
    if (type != MORTISE_JV_OBJECT && type != MORTISE_JV_BOOL)
        return create_refuse(
            i->host, i->api,
            "schema must be a JSON Schema: an object, true or false");
    if (at.n > 0 && (mortise_jv_cstr(at, i->at, sizeof i->at) != MORTISE_S_OK ||
                     !is_pointer(i->at)))
        return create_refuse(i->host, i->api,
                             "at must be a JSON Pointer of at most 1023 bytes, "
                             "such as /order/amount");
    if (bytes_put(&i->schema, mortise_strn(schema.p, schema.n)) != MORTISE_S_OK)
        return nomem(i->host, i->api, 0);
    return MORTISE_S_OK;
}

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    struct mortise_inst *i = calloc(1, sizeof *i);

    if (i != NULL) {
        i->host = host;
        i->api = api;
    }
    return create_configured(i, host, api, config, configure, destroy, out);
}

static const mortise_guardrail guardrail = {sizeof guardrail, 0, check};

static const void *get_interface(mortise_inst *i, const char *id)
{
    (void)i;
    return strcmp(id, MORTISE_GUARDRAIL_2) == 0 ? &guardrail : NULL;
}

static const mortise_plugin plugin = {
    .size = sizeof plugin,
    .id = "schema",
    .version = "0.1.0",
    .create = create,
    .get_interface = get_interface,
    .destroy = destroy,
};

MORTISE_MODULE_OF(plugin);
