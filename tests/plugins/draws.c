/* draws.c -- for gmi nodes, in the place of a model: what the prompt says.
 *
 *     ask N      asks the model of alias `default` N times, one after the other, for at
 *                most ten tokens, and gives how often
 *     many N W   has N children do W, side by side, and gives the end of each
 *     leave N W  has N children do W that outlive it, and gives nothing of them */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simple.h"

enum { MOST = 16 };

static mortise_status given(mortise_inst *i, const mortise_request *r,
                            mortise_status status, mortise_str words)
{
    if (status == MORTISE_S_CANCELLED || status == MORTISE_S_SUSPENDED)
        return status;
    i->api->fail(i->host, r->call, words, mortise_strz("{}"));
    return MORTISE_S_FAILED;
}

static mortise_status ask(mortise_inst *i, const mortise_request *r, int n)
{
    char text[64];

    for (int k = 0; k < n; k++) {
        mortise_str answer = {NULL, 0};
        mortise_status status = mortise_model_call_wait(
            i->host, i->api, r->call,
            mortise_strz(
                "{\"alias\": \"default\", \"max_tokens\": 10, \"messages\": "
                "[{\"role\": \"user\", \"parts\": [{\"type\": "
                "\"text\", \"text\": \"go\"}]}]}"),
            &answer);

        if (status != MORTISE_S_OK)
            return given(i, r, status, answer);
    }
    snprintf(text, sizeof text, "%d", n);
    return simple_emit(i, r, text);
}

/* {call: "cK", name, task: {instructions}, native, detached}, or behind a claim
 * {handle, token, task}. */
static mortise_str body(char *room, size_t n, int k, const char *what,
                        mortise_str claimed, int detached)
{
    char text[256];
    mortise_jv v = mortise_jv_of(claimed);
    mortise_jw w;
    mortise_str out = {NULL, 0};

    mortise_jw_fixed(&w, room, n);
    mortise_jw_object(&w);
    if (claimed.n > 0) {
        mortise_jv_cstr(mortise_jv_get(v, "handle"), text, sizeof text);
        mortise_jw_key(&w, "handle");
        mortise_jw_cstr(&w, text);
        mortise_jv_cstr(mortise_jv_get(v, "token"), text, sizeof text);
        mortise_jw_key(&w, "token");
        mortise_jw_cstr(&w, text);
    } else {
        snprintf(text, sizeof text, "c%d", k);
        mortise_jw_key(&w, "call");
        mortise_jw_cstr(&w, text);
        mortise_jw_key(&w, "name");
        mortise_jw_cstr(&w, "helper");
        mortise_jw_key(&w, "native");
        mortise_jw_bool(&w, 1);
        mortise_jw_key(&w, "detached");
        mortise_jw_bool(&w, detached);
    }
    mortise_jw_key(&w, "task");
    mortise_jw_object(&w);
    mortise_jw_key(&w, "instructions");
    mortise_jw_cstr(&w, what);
    mortise_jw_end(&w);
    mortise_jw_end(&w);
    mortise_jw_finish(&w, &out);
    return out;
}

/* The k-th child works, or has ended; its handle, in `handle`. */
static mortise_status have_child(mortise_inst *i, const mortise_request *r,
                                 int k, const char *what, int detached,
                                 char *handle, size_t size, mortise_str *answer)
{
    char room[1024], kept[4096];
    mortise_str none = {NULL, 0}, claimed;
    mortise_status status = mortise_spawn_claim_wait(
        i->host, i->api, r->call,
        body(room, sizeof room, k, what, none, detached), answer);

    if (status != MORTISE_S_OK || answer->n >= sizeof kept)
        return status;
    memcpy(kept, answer->p, answer->n);
    claimed = mortise_strn(kept, answer->n);
    mortise_jv_cstr(mortise_jv_get(mortise_jv_of(claimed), "handle"), handle,
                    size);
    if (memmem(kept, claimed.n, "already_settled", 15) != NULL)
        return MORTISE_S_OK;
    return mortise_spawn_start_wait(
        i->host, i->api, r->call,
        body(room, sizeof room, k, what, claimed, detached), answer);
}

static mortise_status many(mortise_inst *i, const mortise_request *r, int n,
                           const char *what, int detached)
{
    char handles[MOST][256], room[512], text[8192] = "[";
    mortise_str answer = {NULL, 0};
    mortise_status status = MORTISE_S_OK;
    size_t at = 1;

    for (int k = 0; status == MORTISE_S_OK && k < n; k++)
        status = have_child(i, r, k, what, detached, handles[k],
                            sizeof handles[k], &answer);
    for (int k = 0; status == MORTISE_S_OK && !detached && k < n; k++) {
        snprintf(room, sizeof room, "{\"handle\":\"%.255s\"}", handles[k]);
        status = mortise_spawn_await_wait(i->host, i->api, r->call,
                                          mortise_strz(room), &answer);
        if (status == MORTISE_S_OK && at + answer.n + 2 < sizeof text)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%.*s",
                                   k > 0 ? "," : "", (int)answer.n, answer.p);
    }
    if (status != MORTISE_S_OK)
        return given(i, r, status, answer);
    snprintf(text + at, sizeof text - at, "]");
    return simple_emit(i, r, text);
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    char prompt[1024] = "", word[16] = "";
    mortise_jv v;
    int n = 0, at = 0;

    if (mortise_jv_parse(r->body, &v) == MORTISE_S_OK)
        mortise_jv_cstr(mortise_jv_get(mortise_jv_get(v, "node"), "prompt"),
                        prompt, sizeof prompt);
    if (sscanf(prompt, "%15s %d %n", word, &n, &at) < 2 || n < 1 || n > MOST)
        return MORTISE_S_INVALID;
    if (strcmp(word, "ask") == 0)
        return ask(i, r, n);
    return many(i, r, n, prompt + at, strcmp(word, "leave") == 0);
}

SIMPLE_EXECUTOR("draws")
