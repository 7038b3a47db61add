/* any_guardrail.h -- a guardrail of the bundle against arbitrary texts, with the
 * least that can host it.  Whoever includes this has included the plugin's
 * sources, which see sdk/ alone, and calls fuzz_guardrail() with a config:
 *
 *   - any text has a verdict or an error, and whatever is no JSON an error;
 *   - what is offered in its place is JSON, and passes (FUZZ_OFFERS);
 *   - it takes no longer than FUZZ_SECONDS_A_MIB, however long the text is. */
#ifndef ANY_GUARDRAIL_H
#define ANY_GUARDRAIL_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FUZZ_SECONDS_A_MIB = 20 }; /* under the sanitizers */

static struct {
    char *verdict, *output;
} fuzz_said;

static void fuzz_must(int holds)
{
    if (!holds)
        abort();
}

static mortise_status fuzz_emit(mortise_host *h, mortise_call c,
                                mortise_str kind, mortise_str chunk)
{
    char **to =
        mortise_str_is(kind, "output") ? &fuzz_said.output : &fuzz_said.verdict;

    (void)h;
    (void)c;
    free(*to);
    *to = strndup(chunk.p, chunk.n);
    return MORTISE_S_OK;
}

static void fuzz_fail(mortise_host *h, mortise_call c, mortise_str msg,
                      mortise_str detail)
{
    (void)h;
    (void)c;
    (void)msg;
    (void)detail;
}

static int32_t fuzz_cancelled(mortise_host *h, mortise_call c)
{
    (void)h;
    (void)c;
    return 0;
}

static uint64_t fuzz_now(mortise_host *h)
{
    struct timespec t;

    (void)h;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static const mortise_host_api fuzz_api = {.size = sizeof fuzz_api,
                                          .abi_major = 1,
                                          .emit = fuzz_emit,
                                          .fail = fuzz_fail,
                                          .cancelled = fuzz_cancelled,
                                          .now_ns = fuzz_now};

/* Was it a violation?  -1: an error. */
static int fuzz_check(mortise_inst *i, const mortise_guardrail *g,
                      const char *body)
{
    const mortise_request r = {
        .size = sizeof r, .call = 1, .body = mortise_strz(body)};
    json_t *verdict;
    int said;

    free(fuzz_said.output);
    free(fuzz_said.verdict);
    fuzz_said.output = fuzz_said.verdict = NULL;
    if (g->check(i, MORTISE_STAGE_NODE, &r) != MORTISE_S_OK)
        return -1;
    fuzz_must(fuzz_said.verdict != NULL);
    verdict = json_loads(fuzz_said.verdict, 0, NULL);
    fuzz_must(json_is_boolean(json_object_get(verdict, "violation")));
    said = json_is_true(json_object_get(verdict, "violation"));
    json_decref(verdict);
    fuzz_must(said || fuzz_said.output == NULL);
    return said;
}

/* The input as the text of a member; as it is, where it is no UTF-8. */
static char *fuzz_body(const uint8_t *data, size_t size)
{
    json_t *v = json_pack("[{s:s%}]", "text", (const char *)data, size);
    char *body = v != NULL ? json_dumps(v, JSON_COMPACT)
                           : strndup((const char *)data, size);

    json_decref(v);
    return body;
}

static int fuzz_guardrail(const mortise_plugin *p, const char *config,
                          const uint8_t *data, size_t size)
{
    static mortise_inst *inst;
    const mortise_guardrail *g;
    char *body = fuzz_body(data, size), *offered;
    const clock_t began = clock();
    json_t *v;

    if (inst == NULL)
        fuzz_must(p->create(NULL, &fuzz_api, mortise_strz(config), &inst) ==
                  MORTISE_S_OK);
    g = p->get_interface(inst, MORTISE_GUARDRAIL_2);
    v = json_loads(body, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    fuzz_must(fuzz_check(inst, g, body) >= 0 || v == NULL);
    json_decref(v);
    fuzz_must((double)(clock() - began) / CLOCKS_PER_SEC <
              1 + FUZZ_SECONDS_A_MIB * (double)size / (1 << 20));
    if (fuzz_said.output != NULL) {
        offered = strdup(fuzz_said.output);
        v = json_loads(offered, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        fuzz_must(v != NULL && fuzz_check(inst, g, offered) == 0);
        json_decref(v);
        free(offered);
    }
    free(body);
    return 0;
}

#endif
