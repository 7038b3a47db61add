/* judges.c -- a guardrail that asks before it judges: {value: {method, body}}
 * of what it is shown.  It lets nothing pass, and its reason is the answer.  While there is
 * a file `never` it does not come to an end, and while there is one `deaf` it
 * does not let go either.  Each entrance and each answer adds a line to the file
 * `entered`, which the host knows nothing of, and each entrance its stage to
 * `stages`.  put {key, value}, of the executor
 * that it is besides, keeps a value for it. */
#include <stdio.h>
#include <unistd.h>

#include "simple.h"

struct judging {
    mortise_inst *inst;
    mortise_call call;
};

static void note(const char *what)
{
    FILE *f = fopen("entered", "a");

    if (f != NULL) {
        fprintf(f, "%s\n", what);
        fclose(f);
    }
}

static void note_stage(uint32_t stage)
{
    FILE *f = fopen("stages", "a");

    if (f != NULL) {
        fprintf(f, "%u ", (unsigned)stage);
        fclose(f);
    }
}

static void answered(void *ud, mortise_status status, mortise_str answer)
{
    struct judging j = *(struct judging *)ud;
    char reason[512];

    free(ud);
    if (status == MORTISE_S_CANCELLED)
        return;
    note("answered");
    if (access("never", F_OK) == 0)
        return;
    snprintf(reason, sizeof reason, "%d %.*s", (int)status, (int)answer.n,
             answer.p);
    mortise_emit_verdict(j.inst->host, j.inst->api, j.call, 1, reason);
    j.inst->api->finish(j.inst->host, j.call, MORTISE_S_OK, mortise_str_empty(),
                        mortise_str_empty());
}

static mortise_status check(mortise_inst *i, uint32_t stage,
                            const mortise_request *r)
{
    struct judging *j = (struct judging *)malloc(sizeof *j);
    char method[64] = "";
    mortise_status status;
    mortise_jv body, what;

    note("check");
    note_stage(stage);
    if (j == NULL || mortise_jv_parse(r->body, &body) != MORTISE_S_OK)
        return MORTISE_S_NOMEM;
    *j = (struct judging){i, r->call};
    body = mortise_jv_get(body, "value");
    mortise_jv_cstr(mortise_jv_get(body, "method"), method, sizeof method);
    what = mortise_jv_get(body, "body");
    status = i->api->ask(i->host, r->call, mortise_strz(method),
                         mortise_strn(what.p, what.n), answered, j);
    if (status != MORTISE_S_PENDING)
        free(j);
    return status;
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    mortise_str answer;
    mortise_status status = i->api->ask_wait(
        i->host, r->call, mortise_strz(MORTISE_KV_PUT_1), r->body, &answer);

    return status == MORTISE_S_OK ? simple_emit(i, r, "null") : status;
}

static void cancel(mortise_inst *i, mortise_call call)
{
    if (access("deaf", F_OK) != 0)
        i->api->finish(i->host, call, MORTISE_S_CANCELLED, mortise_str_empty(),
                       mortise_str_empty());
}

static const mortise_guardrail guardrail = {sizeof guardrail, 0, check};
static const mortise_executor executor = {.size = sizeof executor,
                                          .execute = execute};

static const void *interface_of(mortise_inst *i, const char *id)
{
    (void)i;
    return strcmp(id, MORTISE_GUARDRAIL_2) == 0  ? (const void *)&guardrail
           : strcmp(id, MORTISE_EXECUTOR_1) == 0 ? &executor
                                                 : NULL;
}

static const mortise_plugin plugin = {
    sizeof plugin, 0,      "judges",       "1.0.0",       simple_create,
    interface_of,  cancel, simple_quiesce, simple_destroy};

MORTISE_MODULE_OF(plugin);
