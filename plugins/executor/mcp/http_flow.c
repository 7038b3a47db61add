/* http_flow.c -- one way to a token at a time, for a server.
 *
 * oauth.h decides, here it is done: what another process left is looked for, the
 * client's secret is got, requests are made, and whoever waits is told.
 *
 *   (1) Whatever is begun, what is kept is looked at first: another process may
 *       have a newer token, and have spent the refresh token that is known here.
 *   (2) A renewal that is refused, not merely unanswered, goes on from the start:
 *       those tokens are none any more.
 *   (3) Who is told may do anything, forget the server, too.
 *   (4) What is not answered, or by a server that has no time, is asked three
 *       times more, the token, too: a code or a refresh token that was spent by
 *       the lost one is refused then, and all begins anew.  A server that says
 *       when (Retry-After) is not asked before; if that is later than a call
 *       should be kept for, the call fails, for a while, and says when. */
#include "http_flow.h"

#include <sodium.h>

enum { REPEATS = 3, PAUSE_MS = 500, PAUSE_MOST_MS = 10000 };

static void go_on(struct mcp_auth *a, enum oauth_act act);

/* ---- its end --------------------------------------------------------------- */

static void wipe(struct bytes *b)
{
    if (b->p != NULL)
        sodium_memzero(b->p, b->cap);
    bytes_free(b);
}

void http_answered_free(struct answered *p)
{
    bytes_free(&p->consent);
    bytes_free(&p->answer);
    free(p);
}

static void end_flow(struct mcp_auth *a)
{
    if (a->has_flow)
        oauth_finish(&a->flow);
    a->has_flow = 0;
    a->later_ms = 0;
    a->doing = HTTP_NOTHING;
    a->challenge.n = 0;
}

/* Of one that is forgotten, once nobody is in it any more */
void http_flow_free_if_over(struct mcp_auth *a)
{
    if (a->server != NULL || a->gets || a->ask.is_pending ||
        a->kept.pending > 0 || a->tells > 0)
        return;
    end_flow(a);
    while (a->answers != NULL) {
        struct answered *p = a->answers;

        a->answers = p->next;
        http_answered_free(p);
    }
    oauth_keep_free(&a->keep);
    http_keep_finish(&a->kept);
    wipe(&a->secret);
    bytes_free(&a->url);
    bytes_free(&a->challenge);
    free(a);
}

/* ---- telling ------------------------------------------------------------- */

/* Those who wait now; each is gone from the list when it is told, and may ask
 * again from inside, which puts it behind them. */
static void tell_waiters(struct mcp_auth *a, const struct mcp_trouble *why)
{
    unsigned n = 0;

    for (const struct http_waiter *w = a->waiters; w != NULL; w = w->next)
        n++;
    for (; n > 0 && a->waiters != NULL; n--) {
        struct http_waiter *w = a->waiters;

        a->waiters = w->next;
        w->next = NULL;
        w->waits = 0;
        w->told(w, why);
    }
}

static void tell_answer(struct mcp_auth *a, const struct mcp_trouble *why)
{
    struct answered *p = a->answers;

    a->answers = p->next;
    if (p->done != NULL)
        p->done(p->ud, why);
    http_answered_free(p);
}

/* The flow is over.  Who is told may do anything, forget the server, too. */
static void tell(struct mcp_auth *a, const struct mcp_trouble *why)
{
    int redeems = a->doing == HTTP_REDEEMS;

    end_flow(a);
    a->tells++;
    if (redeems)
        tell_answer(a, why);
    /* who waited behind a person's word tries, whatever became of that */
    tell_waiters(a, redeems ? NULL : why);
    a->tells--;
    if (a->server == NULL)
        http_flow_free_if_over(a);
    else if (a->answers != NULL && a->doing == HTTP_NOTHING)
        mcp_timer_set(a->inst, &a->turn, 0);
}

static void tell_failure(struct mcp_auth *a)
{
    struct mcp_trouble why = {
        .code = "mcp.auth",
        .klass = a->flow.transient ? "transient" : "permanent",
        .retry_after_ms = a->flow.transient ? a->later_ms : 0};
    char words[OAUTH_WORDS];
    int again = a->flow.again && a->doing == HTTP_REDEEMS;

    memcpy(words, a->flow.words, sizeof words);
    why.words = mortise_strz(words);
    if (again) {
        mcp_log(a->server, MORTISE_LEVEL_WARN, "%s", words);
        oauth_in_vain(&a->keep);
    }
    tell(a, again ? NULL : &why);
}

/* A person has to be asked. */
static void tell_consent(struct mcp_auth *a)
{
    struct bytes consent = a->flow.consent;
    struct mcp_trouble why = {.code = "mcp.auth", .klass = "permanent"};
    char words[256];

    memset(&a->flow.consent, 0, sizeof a->flow.consent);
    snprintf(words, sizeof words, "%s requires an authorization by a person",
             a->server->name);
    why.words = mortise_strz(words);
    why.consent = bytes_str(&consent);
    tell(a, &why);
    bytes_free(&consent);
}

/* ---- doing it ------------------------------------------------------------ */

/* When it may be asked again, as far as it says that; 0: at any time. */
static uint64_t later_ms(const struct http_end *end)
{
    int64_t wait = 0;

    mortise_jv_int(mortise_jv_get(end->answer, "retry_after_ms"), &wait);
    return wait > 0 ? (uint64_t)wait : 0;
}

/* Is it worth another try (4)?  Then it is made, later. */
static int tries_again(struct mcp_auth *a, const struct http_end *end)
{
    uint64_t ms = (uint64_t)PAUSE_MS << a->repeats;

    if (end->status != MORTISE_S_IO && end->status != MORTISE_S_TIMEOUT &&
        (end->status != MORTISE_S_OK ||
         (end->http != 429 && end->http != 408 && end->http < 500)))
        return 0;
    if (a->repeats == REPEATS || a->later_ms > PAUSE_MOST_MS)
        return 0;
    a->repeats++;
    mcp_timer_set(a->inst, &a->again, a->later_ms > 0 ? a->later_ms : ms);
    return 1;
}

/* What was asked for is elsewhere, where it may be asked for. */
static int follows(struct mcp_auth *a, const struct http_end *end)
{
    struct bytes location = {0};
    mortise_jv headers = mortise_jv_get(end->answer, "headers");
    int yes = oauth_follow(&a->flow, end->http,
                           http_header_of(headers, "location", &location));

    bytes_free(&location);
    return yes;
}

static void on_exchanged(struct http_ask *ask, const struct http_end *end)
{
    struct mcp_auth *a = MCP_OF(ask, struct mcp_auth, ask);
    const struct bytes *url = &a->flow.request.url;
    struct bytes body = {0};

    if (a->server == NULL) {
        http_flow_free_if_over(a);
        return;
    }
    a->later_ms = later_ms(end);
    if (tries_again(a, end))
        return;
    a->repeats = 0;
    if (end->status == MORTISE_S_OK && follows(a, end)) {
        go_on(a, OAUTH_SEND);
        return;
    }
    if (end->status == MORTISE_S_OK) {
        mortise_jv text = mortise_jv_get(end->answer, "body");

        if (mortise_jv_type(text) == MORTISE_JV_STRING)
            bytes_decode(&body, text); /* what fails is no JSON there */
        go_on(a, oauth_answered(&a->flow, end->http, bytes_str(&body)));
        wipe(&body);
        return;
    }
    a->flow.transient = end->status == MORTISE_S_IO ||
                        end->status == MORTISE_S_TIMEOUT ||
                        end->status == MORTISE_S_NOMEM;
    go_on(a,
          oauth_fail(&a->flow, "%.*s: %.*s", (int)(url->n < 200 ? url->n : 200),
                     url->p, (int)(end->words.n < 300 ? end->words.n : 300),
                     end->words.n > 0 ? end->words.p : ""));
}

void http_flow_again(struct mcp_timer *t)
{
    go_on(MCP_OF(t, struct mcp_auth, again), OAUTH_SEND);
}

static void run(struct mcp_auth *a)
{
    const struct answered *p = a->answers;

    a->setup.secret = bytes_str(&a->secret);
    a->has_flow = 1;
    if (a->doing == HTTP_RENEWS)
        go_on(a, oauth_renew(&a->flow, &a->setup, &a->keep));
    else if (a->doing == HTTP_REDEEMS)
        go_on(a, oauth_redeem(&a->flow, &a->setup, &a->keep,
                              bytes_str(&p->consent), bytes_str(&p->answer)));
    else
        go_on(a, oauth_begin(&a->flow, &a->setup, &a->keep,
                             bytes_str(&a->challenge)));
}

static void go_on(struct mcp_auth *a, enum oauth_act act)
{
    if (act == OAUTH_SEND) {
        a->ask.done = on_exchanged;
        if (http_exchange(a->inst, &a->ask, &a->flow.request) == MORTISE_S_OK)
            return;
        a->flow.transient = 1;
        act = oauth_fail(&a->flow,
                         "an authorization request of %s could not be sent",
                         a->setup.name);
    }
    if (act == OAUTH_FAILED && a->doing == HTTP_RENEWS && !a->flow.transient) {
        /* from the start, then (2) */
        oauth_finish(&a->flow);
        oauth_tokens_drop(&a->keep);
        http_keep_save(&a->kept, &a->keep);
        a->doing = HTTP_BEGINS;
        run(a);
        return;
    }
    if (act == OAUTH_ASK) {
        if (a->flow.registered) /* who asks again has to be the same */
            http_keep_save(&a->kept, &a->keep);
        tell_consent(a);
    } else if (act == OAUTH_FAILED) {
        tell_failure(a);
    } else {
        a->which++;
        a->is_new = a->doing == HTTP_RENEWS;
        http_keep_save(&a->kept, &a->keep);
        tell(a, NULL);
    }
}

/* ---- the secret of the client ---------------------------------------------- */

static void on_secret(void *ud, mortise_status status, mortise_str answer)
{
    struct mcp_auth *a = (struct mcp_auth *)ud;

    a->gets = 0;
    if (a->server == NULL) {
        http_flow_free_if_over(a);
        return;
    }
    a->secret.n = 0;
    if (status == MORTISE_S_OK)
        status = bytes_decode(&a->secret,
                              mortise_jv_get(mortise_jv_of(answer), "value"));
    if (status == MORTISE_S_OK && a->secret.n > 0) {
        run(a);
        return;
    }
    memset(&a->flow, 0, sizeof a->flow);
    a->has_flow = 1;
    a->flow.transient = status == MORTISE_S_NOMEM;
    oauth_fail(&a->flow,
               "the secret of tools.mcp.%s.auth.client_secret is missing",
               a->setup.name);
    tell_failure(a);
}

static void with_secret(struct mcp_auth *a)
{
    struct bytes name = {0};
    mortise_status status = a->secret.n == 0
                                ? http_client_secret(a->setup.auth, &name)
                                : MORTISE_S_OK;

    if (status == MORTISE_S_OK && name.n == 0) {
        run(a);
    } else {
        if (status == MORTISE_S_OK)
            status = mortise_secret_get(a->inst->host, a->inst->api,
                                        a->inst->background, bytes_str(&name),
                                        on_secret, a);
        a->gets = status == MORTISE_S_PENDING;
        if (!a->gets)
            on_secret(a, status != MORTISE_S_OK ? status : MORTISE_S_FAILED,
                      mortise_strz("{}"));
    }
    bytes_free(&name);
}

/* ---- what is kept ----------------------------------------------------------- */

/* (1): is there another token than we have?  What it belongs to comes along. */
static int adopts(struct mcp_auth *a)
{
    struct oauth_keep *found = &a->kept.found, *keep = &a->keep;
    int is_other =
        found->access.n > 0 &&
        !oauth_str_same(bytes_str(&found->access), bytes_str(&keep->access));

    if (is_other || (keep->access.n == 0 && found->client_id.n > 0))
        oauth_keep_adopt(keep, found);
    else
        oauth_keep_free(found);
    return is_other;
}

static void on_loaded(struct http_keep *k)
{
    struct mcp_auth *a = MCP_OF(k, struct mcp_auth, kept);
    int is_other;

    if (a->server == NULL) {
        http_flow_free_if_over(a);
        return;
    }
    a->is_loaded = 1;
    is_other = adopts(a);
    a->which += is_other ? 1 : 0;
    if (is_other)
        a->is_new = 0;
    if (a->doing == HTTP_LOADS || (is_other && a->doing != HTTP_REDEEMS))
        tell(a, NULL);
    else
        with_secret(a);
}

static void on_idle(struct http_keep *k)
{
    http_flow_free_if_over(MCP_OF(k, struct mcp_auth, kept));
}

void http_flow_start(struct mcp_auth *a, enum http_doing what)
{
    a->kept.idle = on_idle;
    a->doing = what;
    a->kept.loaded = on_loaded;
    if (mortise_jv_type(a->setup.auth) == MORTISE_JV_OBJECT)
        http_keep_load(&a->kept);
    else
        with_secret(a);
}
