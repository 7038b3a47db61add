/* kind_guardrail.c -- plugins that judge values: mortise.guardrail/2.
 *
 * check() gets one value at one stage of a run and decides whether it may pass,
 * at once or later, after asking permitted methods.  A guardrail has no
 * operations and no effects.  It emits its verdict; without a verdict nothing
 * passes.
 *
 * mortise.guardrail/1 returned its verdict and therefore could not wait.  It is
 * no longer supported. */
#include <mortise/guardrail.h>
#include <stdio.h>

#include "core/json/value.h"
#include "core/plugin/kind.h"

static const char *find_guardrail_gap(const void *interface,
                                      const struct mortise_manifest *m)
{
    const mortise_guardrail *g = interface;

    (void)m;
    return g == NULL || g->size < sizeof *g || g->check == NULL
               ? MORTISE_GUARDRAIL_2
               : NULL;
}

/* Parse {"violation": bool, "reason"?: text}. */
static int read_verdict(const char *text, size_t n, bool *violation,
                        char *words, size_t size)
{
    const json_t *said, *reason;
    json_t *v = NULL;
    int rv = mortise_json_parse(&v, text, n, NULL);

    if (rv == MORTISE_ENOMEM)
        return rv;
    said = json_object_get(v, "violation");
    reason = json_object_get(v, "reason");
    if (json_is_boolean(said) && (reason == NULL || json_is_string(reason))) {
        *violation = json_is_true(said);
        snprintf(words, size, "%s",
                 reason != NULL ? json_string_value(reason) : "");
        rv = MORTISE_OK;
    } else {
        snprintf(words, size, "{\"violation\": bool, \"reason\": text}");
        rv = MORTISE_EINVAL;
    }
    json_decref(v);
    return rv;
}

static int32_t call_check(const void *interface, struct mortise_inst *inst,
                          uint32_t stage, const struct mortise_request *request)
{
    const mortise_guardrail *g = interface;

    return g->check(inst, stage, request);
}

const struct mortise_call_kind mortise_call_check = {.kind =
                                                         MORTISE_KIND_GUARDRAIL,
                                                     .number = 0,
                                                     .name = "check",
                                                     .may_pend = true,
                                                     .answer = "verdict",
                                                     .read = read_verdict,
                                                     .enter = call_check};

static const struct mortise_call_kind *const calls[] = {&mortise_call_check};

/* Methods that only read; core/run/asks/step.c (9) enforces it. */
static const char *const asks[] = {
    "state.get/1",    "schema.check/1", "kv.get/1",      "secret.get/1",
    "http.request/1", "model.call/1",   "model.embed/1", NULL};

const struct mortise_plugin_kind mortise_kind_guardrail = {
    .name = "guardrail",
    .interface = MORTISE_GUARDRAIL_2,
    .asks = asks,
    .former = "mortise.guardrail/1",
    .lacks = find_guardrail_gap,
    .calls = calls,
    .n_calls = sizeof calls / sizeof calls[0]};
