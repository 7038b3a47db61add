/* asks_model.c -- call {...}: asks model.call/1 with its arguments, and gives
 * the answer; embed {...}: the same of model.embed/1; twice {...}: asks for the
 * call a second time once the first is answered, and gives both.  A refusal is
 * its failure, in the host's words. */
#include <stdio.h>

#include "simple.h"

struct asking {
    mortise_inst *inst;
    const mortise_request *request;
    int left; /* asks, behind this one */
};

static void end(const struct asking *a, mortise_status status,
                mortise_str answer)
{
    if (status == MORTISE_S_OK &&
        mortise_str_is(a->request->operation, "twice"))
        mortise_emit_output(a->inst->host, a->inst->api, a->request->call,
                            mortise_strz("]"));
    a->inst->api->finish(a->inst->host, a->request->call, status,
                         status == MORTISE_S_OK ? mortise_str_empty() : answer,
                         mortise_str_empty());
}

static mortise_status ask(struct asking *a);

static void answered(void *ud, mortise_status status, mortise_str answer)
{
    struct asking *a = (struct asking *)ud;
    int more = status == MORTISE_S_OK && a->left-- > 0;

    if (status == MORTISE_S_OK) {
        mortise_emit_output(a->inst->host, a->inst->api, a->request->call,
                            answer);
        if (more)
            mortise_emit_output(a->inst->host, a->inst->api, a->request->call,
                                mortise_strz(","));
    }
    if (more && ask(a) == MORTISE_S_PENDING)
        return;
    end(a, status, answer);
    free(a);
}

static mortise_status ask(struct asking *a)
{
    const mortise_request *r = a->request;

    return mortise_str_is(r->operation, "embed")
               ? mortise_model_embed(a->inst->host, a->inst->api, r->call,
                                     r->body, answered, a)
               : mortise_model_call(a->inst->host, a->inst->api, r->call,
                                    r->body, answered, a);
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    struct asking *a = (struct asking *)malloc(sizeof *a);
    mortise_status status;

    if (a == NULL)
        return MORTISE_S_NOMEM;
    *a = (struct asking){i, r, mortise_str_is(r->operation, "twice")};
    if (a->left > 0)
        mortise_emit_output(i->host, i->api, r->call, mortise_strz("["));
    status = ask(a);
    if (status != MORTISE_S_PENDING)
        free(a);
    return status;
}

SIMPLE_EXECUTOR("asks_model")
