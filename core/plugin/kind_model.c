/* kind_model.c -- plugins that call models: mortise.model/1.
 *
 * chat() and embed() each make one call of a model, for an execution that asks
 * model.call/1 or model.embed/1 with an alias of the deployment.  Their usage
 * counts for that execution. */
#include <mortise/model.h>

#include "core/plugin/kind.h"
#include "core/plugin/manifest.h"

static const char *find_model_gap(const void *interface,
                                  const struct mortise_manifest *m)
{
    const mortise_model *x = interface;

    if (x == NULL || x->size < sizeof *x || x->chat == NULL)
        return MORTISE_MODEL_1;
    return m->provides[MORTISE_KIND_MODEL].embeds && x->embed == NULL
               ? "embed of " MORTISE_MODEL_1
               : NULL;
}

static int check_can_embed(const struct mortise_manifest *m,
                           const char *operation, struct mortise_err *err)
{
    (void)operation;
    return m->provides[MORTISE_KIND_MODEL].embeds
               ? MORTISE_OK
               : mortise_fail(err, MORTISE_EINVAL,
                              "plugin %s cannot compute vectors of texts: its "
                              "manifest does not set `embed: true`",
                              m->name);
}

static int32_t call_chat(const void *interface, struct mortise_inst *inst,
                         uint32_t stage, const struct mortise_request *request)
{
    const mortise_model *x = interface;

    (void)stage;
    return x->chat(inst, request);
}

static int32_t call_embed(const void *interface, struct mortise_inst *inst,
                          uint32_t stage, const struct mortise_request *request)
{
    const mortise_model *x = interface;

    (void)stage;
    return x->embed(inst, request);
}

const struct mortise_call_kind mortise_call_chat = {.kind = MORTISE_KIND_MODEL,
                                                    .number = 0,
                                                    .name = "chat",
                                                    .may_pend = true,
                                                    .may_use = true,
                                                    .may_stream = true,
                                                    .enter = call_chat};

const struct mortise_call_kind mortise_call_embed = {.kind = MORTISE_KIND_MODEL,
                                                     .number = 1,
                                                     .name = "embed",
                                                     .may_pend = true,
                                                     .may_use = true,
                                                     .admit = check_can_embed,
                                                     .enter = call_embed};

static const struct mortise_call_kind *const calls[] = {&mortise_call_chat,
                                                        &mortise_call_embed};

/* As model.h documents; host_calls.c (7) enforces it. */
static const char *const asks[] = {"state.get/1", "secret.get/1",
                                   "http.request/1", NULL};

const struct mortise_plugin_kind mortise_kind_model = {
    .name = "model",
    .interface = MORTISE_MODEL_1,
    .asks = asks,
    .lacks = find_model_gap,
    .calls = calls,
    .n_calls = sizeof calls / sizeof calls[0]};
