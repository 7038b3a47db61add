/* http_stream.c -- streams of events.
 *
 * Of the old era a stream goes on where it broke: its events have ids, and a GET
 * with the last of them (Last-Event-ID) brings what came behind it.  Servers close
 * connections on purpose, to be asked again later: `retry:` says how much later.
 * And a server has a stream of its own, a GET without an id, for what belongs to
 * no request: its questions, and that its lists have changed.
 *
 *   (1) What waits does so for exactly as long as was said, from the end of the
 *       connection on; a second, where nothing was said.
 *   (2) A stream goes on as often as it brings anything, and else five times in
 *       succession, twice as much later each time.
 *   (3) Without an id, and in the new era, a stream that broke is lost, and its
 *       request with it: it may have happened.
 *   (4) The server's own stream is opened for as long as the wire lives: where
 *       somebody has it (409), later again; where there is none (405, and any
 *       other refusal), never again.
 *   (5) Only events without a name, or with that of `message`, have messages. */
#include "http.h"

enum {
    AGAIN_MS = 1000,
    AGAIN_MOST = 5,
    LEAST_MS = 20, /* however soon a server wants to be asked again */
    OWN_LEAST_MS = 200,
    TAKEN_MS = 30000,
    OWN_MOST_MS = 60000
};

/* ---- events -------------------------------------------------------------- */

static mortise_status on_event(void *ud, mortise_str name, mortise_str data)
{
    struct http_turn *t = (struct http_turn *)ud;

    t->failures = 0;
    if (data.n == 0 ||
        (name.n > 0 && !mortise_str_is(name, "message"))) /* (5) */
        return MORTISE_S_OK;
    return http_turn_hear(t, data);
}

void http_stream_feed(struct http_turn *t, mortise_str piece)
{
    t->broken = sse_feed(&t->sse, piece, on_event, t);
}

/* What the end of the stream left without its blank line is a message if it is
 * whole. */
static mortise_status on_last(void *ud, mortise_str name, mortise_str data)
{
    mortise_jv v;

    return mortise_jv_parse(data, &v) == MORTISE_S_OK ? on_event(ud, name, data)
                                                      : MORTISE_S_OK;
}

static void wait_for(struct http_turn *t, uint64_t ms)
{
    t->state = HTTP_PAUSES;
    sse_again(&t->sse);
    mcp_timer_set(t->wire->server->inst, &t->timer, ms);
}

/* (1), (2) */
static uint64_t pause_of(const struct http_turn *t, uint64_t most)
{
    uint64_t ms = t->sse.has_retry ? t->sse.retry_ms : AGAIN_MS;
    uint64_t least = t->is_own ? OWN_LEAST_MS : LEAST_MS;

    ms = ms > least ? ms : least;
    for (unsigned i = 1; i < t->failures && ms < most; i++)
        ms *= 2;
    return t->failures > 1 && ms > most ? most : ms;
}

/* ---- the answer to a request ----------------------------------------------- */

void http_stream_broke(struct http_turn *t, const struct mcp_trouble *why)
{
    int ended = t->broken == MORTISE_S_OK && strcmp(why->code, "mcp.lost") == 0;
    int goes_on = ended && t->wire->era == MCP_ERA_LEGACY && t->sse.has_id;
    struct mcp_trouble end = *why;

    if (ended && !goes_on && sse_close(&t->sse, on_last, t) != MORTISE_S_OK)
        return; /* it was let go of */
    if (t->answered) {
        http_turn_end(t);
        return;
    }
    if (goes_on && t->failures++ < AGAIN_MOST) {
        t->resumes = 1;
        wait_for(t, pause_of(t, OWN_MOST_MS));
        return;
    }
    end.arrived = !t->open_end; /* (3) */
    http_turn_fail(t, &end);
}

void http_stream_refused(struct http_turn *t, const struct http_end *end)
{
    struct mcp_trouble why = http_trouble_of(end);
    int later =
        end->status == MORTISE_S_IO || end->http == 429 || end->http >= 500;

    if (later && t->failures++ < AGAIN_MOST) {
        wait_for(t, pause_of(t, OWN_MOST_MS));
        return;
    }
    if (end->status == MORTISE_S_OK)
        why.words = mortise_strz("the stream broke before the answer, and the "
                                 "server does not resume it");
    why.arrived = 1;
    http_turn_fail(t, &why);
}

/* ---- the server's own ------------------------------------------------------ */

/* (4) */
void http_own_ended(struct http_turn *t, const struct http_end *end)
{
    int status = end->status == MORTISE_S_OK ? end->http : 0;

    if (end->status == MORTISE_S_CANCELLED || end->status == MORTISE_S_DENIED ||
        end->status == MORTISE_S_INVALID || t->broken != MORTISE_S_OK) {
        http_turn_end(t);
        return;
    }
    t->failures += t->failures < 16;
    if (status == 409 || status == 401 || status == 403)
        wait_for(t, TAKEN_MS);
    else if (t->is_events || status == 0 || status == 429 || status >= 500)
        wait_for(t, pause_of(t, OWN_MOST_MS));
    else
        http_turn_end(t);
}

void http_own_begin(struct mcp_wire *wire)
{
    struct http_turn *t;

    if (http_turn_new_own(wire, &t) == MORTISE_S_OK)
        http_turn_go_on(t);
}
