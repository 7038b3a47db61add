/* server.c -- the connection to a server: from nothing to `ready`, and back.
 *
 * All calls of a server, of all runs, share one connection.  It is made when the
 * first of them needs it, found out about (era.c), and kept until it breaks or
 * the engine closes; the next call that needs one makes another.
 *
 *   (1) Whoever waits is told once: that the server can be asked, or why not.
 *   (2) A connection that failed is not made again at once, again and again: each
 *       failure in succession doubles the pause before the next try (100 ms to
 *       10 s), in which those who come wait.  One that was agreed on and ended
 *       before anything came of it, a list or an answer, failed, too; it is made
 *       once more before those who wait are told.
 *   (3) What is known of a server (its era, its tools) belongs to the connection,
 *       and is forgotten with it: the program may be another one now.
 *   (4) Nothing that was sent over a connection is sent again here.  What was
 *       under way when it broke fails, with what is known of its having arrived;
 *       whoever asked decides.
 */
#include "server.h"

#include <sodium.h>
#include <stdarg.h>

enum { PAUSE_FIRST_MS = 100, PAUSE_MAX_MS = 10000, DAY_MS = 86400000 };

static void advance(struct mcp_server *s);

void mcp_log(const struct mcp_server *s, int32_t level, const char *fmt, ...)
{
    char words[1024];
    int n = snprintf(words, sizeof words, "server '%s': ", s->name);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(words + n, sizeof words - (size_t)n, fmt, ap);
    va_end(ap);
    s->inst->api->log(
        s->inst->host, level,
        mortise_strn(words, mortise_str_utf8(mortise_strz(words))));
}

/* ---- who waits ------------------------------------------------------------- */

static void unlink_waiter(struct mcp_waiter *w)
{
    *w->at = w->next;
    if (w->next != NULL)
        w->next->at = w->at;
    w->at = NULL;
    w->next = NULL;
}

void mcp_waiter_stop(struct mcp_waiter *w)
{
    if (w->at != NULL)
        unlink_waiter(w);
}

/* The first that waits, of those who need the tools or (0) of those who do
 * not; any, where `of` is -1. */
static struct mcp_waiter *first(const struct mcp_server *s, int of)
{
    struct mcp_waiter *w = s->waiters;

    while (w != NULL && of >= 0 && w->wants_tools != of)
        w = w->next;
    return w;
}

/* Tell all that wait now, and none that come meanwhile: they would come for
 * ever. */
static void tell(struct mcp_server *s, int of, const struct mcp_trouble *why)
{
    struct mcp_waiter *w, *told = NULL, **end = &told;

    while ((w = first(s, of)) != NULL) {
        unlink_waiter(w);
        w->at = end;
        *end = w;
        end = &w->next;
    }
    while ((w = told) != NULL) {
        unlink_waiter(w);
        w->ready(w, why);
    }
}

int mcp_server_is_ready(const struct mcp_server *s, int wants_tools)
{
    return s->state == MCP_READY && (!wants_tools || mcp_tools_are_fresh(s));
}

void mcp_server_await(struct mcp_server *s, struct mcp_waiter *w)
{
    struct mcp_waiter **at = &s->waiters;

    mcp_waiter_stop(w);
    while (*at != NULL)
        at = &(*at)->next;
    w->next = NULL;
    w->at = at;
    *at = w;
    advance(s);
}

/* ---- the connection -------------------------------------------------------- */

/* Nothing is known any more, and nothing is connected. */
static void forget(struct mcp_server *s)
{
    struct mcp_wire *wire = s->wire;

    s->wire = NULL;
    s->state = MCP_IDLE;
    s->is_useful = 0;
    mcp_era_forget(s);
    mcp_tools_forget(s);
    if (wire != NULL)
        s->transport->close(wire);
}

static void paused(struct mcp_timer *t)
{
    struct mcp_server *s = MCP_OF(t, struct mcp_server, pause);

    if (s->state == MCP_PAUSING)
        s->state = MCP_IDLE;
    advance(s);
}

static void pause_for(struct mcp_server *s, uint64_t least_ms)
{
    uint64_t ms = PAUSE_FIRST_MS;

    for (uint64_t i = 1; i < s->failures && ms < PAUSE_MAX_MS; i++)
        ms *= 2;
    if (ms > PAUSE_MAX_MS)
        ms = PAUSE_MAX_MS;
    if (ms < least_ms)
        ms = least_ms < DAY_MS ? least_ms : DAY_MS;
    s->state = MCP_PAUSING;
    mcp_timer_set(s->inst, &s->pause, ms);
}

void mcp_server_drop(struct mcp_server *s, const struct mcp_trouble *why)
{
    int was_ready = s->state == MCP_READY, useful = s->is_useful;

    forget(s);
    if (!useful && why->consent.n == 0) {
        s->failures++;
        pause_for(s, why->retry_after_ms);
    }
    /* That it is ended with the engine is no news. */
    if (!useful && why->consent.n == 0 &&
        strcmp(why->klass, "cancelled") != 0) {
        mcp_log(s, MORTISE_LEVEL_WARN, "%.*s", (int)why->words.n, why->words.p);
    }
    mcp_request_fail_all(s, why);
    mcp_asked_forget(s);
    if (!was_ready || (!useful && s->failures > 1))
        tell(s, -1, why);
    advance(s); /* who waits for its tools, or came meanwhile */
}

static void opened(void *ud)
{
    struct mcp_server *s = (struct mcp_server *)ud;

    if (s->state != MCP_OPENING)
        return;
    s->state = MCP_AGREEING;
    mcp_era_begin(s);
}

static void heard(void *ud, mortise_str json, int64_t on)
{
    mcp_request_heard((struct mcp_server *)ud, json, on);
}

static void failed(void *ud, int64_t id, const struct mcp_trouble *why)
{
    mcp_request_failed((struct mcp_server *)ud, id, why);
}

static void unsent(void *ud, int64_t id)
{
    struct mcp_request *r = mcp_request_find((struct mcp_server *)ud, id);

    if (r != NULL)
        r->unsent = 1;
}

/* Some programs do not survive a question that they do not know: that is an
 * answer to it. */
static int died_of_discovery(const struct mcp_server *s)
{
    return s->state == MCP_AGREEING && s->agreed.era == MCP_ERA_UNKNOWN &&
           !s->agreed.skips_discovery && s->transport->silence_is_legacy &&
           s->protocol == MCP_PROTOCOL_AUTO;
}

static void lost(void *ud, const struct mcp_trouble *why)
{
    struct mcp_server *s = (struct mcp_server *)ud;
    struct mcp_trouble early = *why;

    if (died_of_discovery(s)) {
        mcp_server_restart(s);
        return;
    }
    if (s->state != MCP_READY && strcmp(why->code, "mcp.lost") == 0)
        early.code = "mcp.not_started";
    mcp_server_drop(s, &early);
}

static void not_opened(struct mcp_server *s, mortise_status status)
{
    struct mcp_trouble why = mcp_trouble_of(
        "mcp.not_started", "transient",
        mortise_strz(
            "the server cannot be reached, because the engine is closing"),
        0);

    if (status == MORTISE_S_NOMEM) {
        why.code = "no_memory";
        why.words = mortise_strz("out of memory");
    } else if (status == MORTISE_S_INVALID) {
        why.klass = "permanent";
        why.words = mortise_strz("its configuration is invalid");
    }
    mcp_server_drop(s, &why);
}

static void connect_to(struct mcp_server *s)
{
    const struct mcp_ear ear = {s, opened, heard, failed, lost, unsent};
    mortise_status status;

    s->state = MCP_OPENING;
    s->last_id = s->transport->is_remembered
                     ? 1 + (int64_t)randombytes_uniform(1u << 30) * 1024
                     : 0;
    s->junk = s->moaned = 0;
    status = s->transport->open(s, &ear, &s->wire);
    if (status != MORTISE_S_OK) {
        s->wire = NULL;
        not_opened(s, status);
    }
}

void mcp_server_restart(struct mcp_server *s)
{
    forget(s);
    s->agreed.skips_discovery = 1;
    connect_to(s);
}

void mcp_server_agreed(struct mcp_server *s)
{
    s->state = MCP_READY;
    mcp_tools_listen(s);
    advance(s);
}

void mcp_server_is_useful(struct mcp_server *s)
{
    s->is_useful = 1;
    s->failures = 0;
}

void mcp_server_has_tools(struct mcp_server *s, const struct mcp_trouble *why)
{
    if (why == NULL)
        mcp_server_is_useful(s);
    tell(s, 1, why);
    advance(s);
}

/* The next thing that those who wait need. */
static void advance(struct mcp_server *s)
{
    if (s->waiters == NULL)
        return;
    if (s->state == MCP_IDLE) {
        connect_to(s);
    } else if (s->state == MCP_READY) {
        tell(s, 0, NULL);
        if (first(s, 1) != NULL && mcp_tools_are_fresh(s))
            tell(s, 1, NULL);
        else if (first(s, 1) != NULL)
            mcp_tools_get(s);
    }
}

/* ---- its life ---------------------------------------------------------------- */

static enum mcp_protocol protocol_of(mortise_jv config)
{
    mortise_jv v = mortise_jv_get(config, "protocol");

    if (mortise_jv_is(v, mortise_strz(MCP_MODERN)))
        return MCP_PROTOCOL_MODERN;
    return mortise_jv_is(v, mortise_strz(MCP_LEGACY)) ? MCP_PROTOCOL_LEGACY
                                                      : MCP_PROTOCOL_AUTO;
}

static uint64_t ms_of(mortise_jv config, const char *name, int64_t otherwise)
{
    int64_t ms = otherwise;

    mortise_jv_int(mortise_jv_get(config, name), &ms);
    return ms > 0 ? (uint64_t)ms : 0;
}

mortise_status mcp_server_init(struct mcp_server *s, mortise_inst *i,
                               mortise_jv name, mortise_jv config)
{
    memset(s, 0, sizeof *s);
    s->inst = i;
    s->config = config;
    s->pause.fire = paused;
    s->name = (char *)malloc(name.n + 1);
    if (s->name == NULL)
        return MORTISE_S_NOMEM;
    s->transport =
        mortise_jv_type(mortise_jv_get(config, "url")) == MORTISE_JV_STRING
            ? &mcp_http
            : &mcp_stdio;
    s->protocol = protocol_of(config);
    s->timeout_ms = ms_of(config, "timeout_ms", 60000);
    s->hold_ms = ms_of(config, "hold_ms", 300000);
    s->pins = mortise_jv_get(config, "tools");
    mortise_jv_bool(mortise_jv_get(config, "unpinned"), &s->unpinned);
    s->sampling = mortise_jv_get(config, "sampling");
    s->roots = mortise_jv_get(config, "roots");
    return mortise_jv_cstr(name, s->name, name.n + 1);
}

void mcp_server_close(struct mcp_server *s)
{
    const struct mcp_trouble why = mcp_trouble_of(
        "mcp.lost", "transient", mortise_strz("the engine is closing"), 1);

    mcp_timer_stop(&s->pause);
    forget(s);
    mcp_request_fail_all(s, &why);
    mcp_asked_forget(s);
    tell(s, -1, &why);
}

void mcp_server_finish(struct mcp_server *s)
{
    if (s->name == NULL)
        return; /* it was never set up */
    mcp_server_close(s);
    if (s->transport->forget != NULL)
        s->transport->forget(s);
    free(s->name);
    s->name = NULL;
}
