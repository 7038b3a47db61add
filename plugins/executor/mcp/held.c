/* held.c -- what a server asks in the middle of a step (the legacy era): a person,
 * or a model.
 *
 * The server keeps the request that it asks for, and nothing else: so the call is
 * held on to while a person is asked, for tools.mcp.NAME.hold at most.  Then the
 * request is given up, the call lets go with its step open, and the host says what
 * follows: what reads, or is idempotent, is called again once the answer is there,
 * and finds it when the server asks the same again; of anything else nobody knows
 * whether it happened. */
#include "call.h"

#include <sodium.h>

enum { NAMES_MAX = 256 }; /* questions of one call that a person is asked */

/* An ask that may be answered when nobody wants to know any more. */
struct held {
    struct mcp_call *call;
    uint64_t serial; /* of the question */
};

/* "ask-DIGEST-N": the same question has the same name whenever it is asked, so
 * that a call that is made again gets the answer that it had. */
static mortise_status name_of(struct mcp_call *c, mortise_jv params,
                              char name[MCP_STEP_ROOM])
{
    struct bytes text = {0};
    mortise_status status = c->asked_names.n < 32ull * NAMES_MAX
                                ? canonical_put(&text, params, 0)
                                : MORTISE_S_DENIED;
    unsigned char digest[16];
    char hex[2 * sizeof digest + 1];
    const char *at;
    uint64_t n = 1;

    if (status == MORTISE_S_OK) {
        crypto_generichash(digest, sizeof digest, (const unsigned char *)text.p,
                           text.n, NULL, 0);
        sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
        at = c->asked_names.p;
        for (uint64_t left = c->asked_names.n; left >= 2 * sizeof digest;
             left -= 2 * sizeof digest, at += 2 * sizeof digest)
            n += memcmp(at, hex, 2 * sizeof digest) == 0;
        status = bytes_put(&c->asked_names, mortise_strz(hex));
        snprintf(name, MCP_STEP_ROOM, "ask-%s-%llu", hex,
                 (unsigned long long)n);
    }
    bytes_free(&text);
    return status;
}

/* Takes the call: nobody answered in time.  The request is given up, and what
 * becomes of it is the host's to say. */
static void let_go(struct mcp_call *c, mortise_status status)
{
    static const char cancel[] = "{\"action\":\"cancel\"}";
    struct mcp_asked *a = c->asked;

    mcp_request_cancel(&c->request); /* which may settle it */
    if (c->asked == a && mcp_asked_is_sampling(a))
        mcp_asked_refuse(a, MCP_RPC_REJECTED,
                         mortise_strz("the call was cancelled"));
    else if (c->asked == a)
        mcp_asked_answer(a, mortise_strz(cancel));
    mcp_call_end(c, status);
}

static void give_answer(struct mcp_asked *a, mortise_jv answer)
{
    mortise_str text = mortise_str_empty();
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    if (mcp_asked_is_sampling(a))
        mcp_sampling_write_answer(&w, mcp_asked_params(a), answer);
    else
        mcp_question_write_answer(&w, mcp_asked_params(a), answer);
    mortise_jw_end(&w);
    if (mortise_jw_finish(&w, &text) == MORTISE_S_OK)
        mcp_asked_answer(a, text);
    else
        mcp_asked_refuse(a, MCP_RPC_INTERNAL, mortise_strz("out of memory"));
    free(w.p);
}

static void take_answer(struct mcp_asked *a, mortise_jv answer)
{
    struct bytes words = {0};

    if (!mcp_asked_is_sampling(a) || !mcp_sampling_has_failed(answer)) {
        give_answer(a, answer);
        return;
    }
    mcp_sampling_put_error(&words, answer);
    mcp_asked_refuse(a, MCP_RPC_INTERNAL, bytes_str(&words));
    bytes_free(&words);
}

static void on_held(void *ud, mortise_status status, mortise_str answer)
{
    struct held *h = (struct held *)ud;
    struct mcp_call *c = h->call;
    uint64_t serial = h->serial;

    free(h);
    if (!mcp_call_answered(c) || c->asked == NULL ||
        mcp_asked_serial(c->asked) != serial)
        return; /* it was taken back */
    if (status == MORTISE_S_OK)
        take_answer(c->asked, mortise_jv_of(answer));
    else if (status == MORTISE_S_SUSPENDED || status == MORTISE_S_CANCELLED)
        let_go(c, status);
    else if (status == MORTISE_S_DENIED) /* by a budget */
        mcp_asked_refuse(c->asked, MCP_RPC_REJECTED, answer);
    else
        mcp_asked_refuse(c->asked, MCP_RPC_BAD_PARAMS, answer);
}

/* ---- asking ------------------------------------------------------------------- */

/* The body of the ask, and by what method; *why (a literal): it is none. */
static mortise_status write_ask(struct mcp_call *c, const struct mcp_asked *a,
                                mortise_jw *w, const char **method,
                                const char **why)
{
    mortise_jv params = mcp_asked_params(a);
    char name[MCP_STEP_ROOM];
    mortise_status status;

    *why = mcp_asked_is_sampling(a) ? mcp_sampling_judge(params)
                                    : mcp_question_judge(params);
    status = *why == NULL ? name_of(c, params, name) : MORTISE_S_INVALID;
    if (status != MORTISE_S_OK)
        return status;
    if (mcp_asked_is_sampling(a)) {
        *method = MORTISE_MODEL_CALL_1;
        mcp_sampling_write(w, c->server, params, name);
        return w->status;
    }
    *method = MORTISE_INTERRUPT_REQUEST_1;
    return mcp_question_write(w, c->server->name, bytes_str(&c->name), params,
                              name, c->server->hold_ms, why);
}

void mcp_question_hold(struct mcp_call *c, struct mcp_asked *a)
{
    struct held *h = (struct held *)calloc(1, sizeof *h);
    const char *method = NULL, *why = NULL;
    struct mcp_server *server;
    mortise_status status;
    mortise_str body;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    status = h != NULL ? write_ask(c, a, &w, &method, &why) : MORTISE_S_NOMEM;
    if (status == MORTISE_S_OK)
        status = mortise_jw_finish(&w, &body);
    if (status == MORTISE_S_OK) {
        *h = (struct held){c, mcp_asked_serial(a)};
        status = mcp_call_ask(c, method, body, on_held, h);
    }
    free(w.p);
    if (status == MORTISE_S_PENDING) {
        mcp_request_hold(&c->request, 1);
        return;
    }
    free(h);
    if (why == NULL)
        why = "the question is invalid";
    server = c->server;
    mcp_asked_refuse(a, MCP_RPC_BAD_PARAMS, mortise_strz(why));
    mcp_request_useless(server, why, mortise_strz(""));
}
