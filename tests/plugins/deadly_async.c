/* deadly_async.c -- takes the engine down, on the engine's thread. */
#include "deadly.h"

struct asking {
    mortise_inst *inst;
    mortise_call call;
    char how[32];
};

static void answered(void *ud, mortise_status status, mortise_str answer)
{
    struct asking a = *(struct asking *)ud;

    (void)answer;
    free(ud);
    deadly_do(a.how);
    a.inst->api->finish(a.inst->host, a.call, status, mortise_str_empty(),
                        mortise_str_empty());
}

/* answer {how}: the same, when the host answers. */
static mortise_status wait_for_answer(mortise_inst *i, const mortise_request *r)
{
    struct asking *a = (struct asking *)calloc(1, sizeof *a);
    mortise_jv body;

    if (a == NULL)
        return MORTISE_S_NOMEM;
    a->inst = i;
    a->call = r->call;
    mortise_jv_parse(r->body, &body);
    mortise_jv_cstr(mortise_jv_get(body, "how"), a->how, sizeof a->how);
    return mortise_kv_get(i->host, i->api, r->call, mortise_strz("k"), answered,
                          a);
}

/* Answers that nobody looks at. */
static void ignore(void *ud, mortise_status status, mortise_str answer)
{
    (void)ud;
    (void)status;
    (void)answer;
}

/* flood {n, bytes}: so many timers, or puts of so many bytes, at once; says how
 * many were taken, and finishes when the host refuses one or all are out. */
static mortise_status flood(mortise_inst *i, const mortise_request *r)
{
    int64_t n = simple_int(r, "n", 0), bytes = simple_int(r, "bytes", 0), taken;
    char *body = (char *)malloc((size_t)bytes + 256), said[64];

    for (taken = 0; body != NULL && taken < n; taken++) {
        int at = sprintf(body,
                         bytes > 0 ? "{\"step\": \"s%lld\", \"key\": \"k\", "
                                     "\"value\": \""
                                   : "{\"step\": \"s%lld\", \"for_ms\": 900000",
                         (long long)taken);
        mortise_status status;

        memset(body + at, 'x', (size_t)bytes & 0xFFFFFF);
        strcpy(body + at + bytes, bytes > 0 ? "\"}" : "}");
        status =
            i->api->ask(i->host, r->call,
                        mortise_strz(bytes > 0 ? "kv.put/1" : "timer.wait/1"),
                        mortise_strz(body), ignore, NULL);
        if (status != MORTISE_S_PENDING)
            break;
    }
    free(body);
    snprintf(said, sizeof said, "taken: %lld", (long long)taken);
    i->api->log(i->host, MORTISE_LEVEL_WARN, mortise_strz(said));
    return taken < n ? MORTISE_S_FAILED : MORTISE_S_PENDING;
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    if (mortise_str_is(r->operation, "answer"))
        return wait_for_answer(i, r);
    if (mortise_str_is(r->operation, "flood"))
        return flood(i, r);
    if (mortise_str_is(r->operation, "pend")) {
        mortise_status status = deadly_execute(i, r);

        return status == MORTISE_S_OK ? MORTISE_S_PENDING : status;
    }
    return deadly_execute(i, r);
}

SIMPLE_EXECUTOR_WITH("deadly_async", deadly_create, simple_quiesce)
