/* kind_guardrail.c -- plugins that judge values: mortise.guardrail/1.
 *
 * check() sees one value at one stage of a run, and says whether it may pass.
 * It has no operations, and no effect.
 */
#include <mortise/plugin.h>

#include "plugin/cells.h"
#include "plugin/kind.h"
#include "plugin/reading.h"

static const struct mortise_key guardrail_keys[] = {MORTISE_THREADS};

const struct mortise_place mortise_kind_guardrail_place = {
    .what = "provides.guardrail",
    .keys = guardrail_keys,
    .n = sizeof guardrail_keys / sizeof guardrail_keys[0]};

static const char *lacks(const void *interface,
                         const struct mortise_manifest *m)
{
    const mortise_guardrail *g = interface;

    (void)m;
    return g == NULL || g->size < sizeof *g || g->check == NULL
               ? MORTISE_GUARDRAIL_1
               : NULL;
}

static int32_t check(const void *interface, struct mortise_inst *inst,
                     uint32_t stage, const struct mortise_request *request,
                     struct mortise_wire *ret)
{
    const mortise_guardrail *g = interface;
    mortise_verdict verdict = {.size = sizeof verdict};
    int32_t status = g->check(inst, stage, request, &verdict);

    ret->violation = verdict.violation != 0;
    ret->message = verdict.reason;
    if (ret->message.n > MORTISE_WORDS_MAX)
        ret->message.n = MORTISE_WORDS_MAX;
    return status;
}

const struct mortise_call_kind mortise_call_check = {.kind =
                                                         MORTISE_KIND_GUARDRAIL,
                                                     .number = 0,
                                                     .name = "check",
                                                     .enter = check};

static const struct mortise_call_kind *const calls[] = {&mortise_call_check};

const struct mortise_plugin_kind mortise_kind_guardrail = {
    .name = "guardrail",
    .interface = MORTISE_GUARDRAIL_1,
    .lacks = lacks,
    .calls = calls,
    .n_calls = sizeof calls / sizeof calls[0]};
