/* step.c -- the steps in which a call does things, and its end.
 *
 * What a call does in the world is a step of its own: its intent is on disk
 * before anything is sent, its result before anything follows from it.  So
 *
 *   (1) a call that is entered again, after a crash or a suspension, gets the
 *       results that it had, and goes on behind them;
 *   (2) a step that failed and of which nothing was sent (or which the server
 *       refused) is ended as undone, and the call fails like any that did
 *       nothing;
 *   (3) one that failed and of which something may have arrived is not ended.  The
 *       call ends with MORTISE_S_DOUBT, and the host says what follows, by the
 *       class of the operation: one that reads, or is idempotent, has failed;
 *       of any other a person is asked;
 *   (4) a result that the host does not take has happened all the same.  It is
 *       mended, if that can be (mend.c); else a mark is recorded in its place,
 *       with the beginning of its text;
 *   (5) a server's result is recorded without two kinds of members: what we
 *       mended (MCP_MENDED), and those of a person's own form (output.c).
 */
#include "call.h"

#include "mend.h"

#include <assert.h>

enum { MARK_TEXT_MAX = 64 << 10 };

/* ---- asking ---------------------------------------------------------------- */

static void call_free(struct mcp_call *c)
{
    struct bytes *const held[] = {
        &c->name,        &c->subject, &c->result,
        &c->state,       &c->answers, &c->failure.words,
        &c->asked_names, &c->consent, &c->redirect};

    assert(c->ended && c->asks == 0); /* nobody comes back to it */
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++)
        bytes_free(held[i]);
    free(c->answering.p);
    mcp_task_free(&c->task);
    free(c);
}

mortise_status mcp_call_ask(struct mcp_call *c, const char *method,
                            mortise_str body, mortise_answer_fn *on_answer,
                            void *ud)
{
    mortise_status status = c->inst->api->ask(
        c->inst->host, c->id, mortise_strz(method), body, on_answer, ud);

    if (status == MORTISE_S_PENDING)
        c->asks++;
    return status;
}

int mcp_call_answered(struct mcp_call *c)
{
    assert(c->asks > 0); /* each answer is for one */
    c->asks--;
    if (!c->ended)
        return 1;
    if (c->asks == 0)
        call_free(c);
    return 0;
}

/* ---- the end --------------------------------------------------------------- */

void mcp_call_let_go(struct mcp_call *c)
{
    mcp_waiter_stop(&c->waiter);
    mcp_asked_drop(c);
    mcp_request_cancel(&c->request);
    mcp_offers_stop(c);
    mcp_consent_leave(c);
}

/* Takes the call: tell the host, as c->failure says. */
static void finish(struct mcp_call *c)
{
    const struct mcp_failure *f = &c->failure;
    mortise_str detail = mortise_str_empty();
    char room[256];
    mortise_jw w;

    mortise_jw_fixed(&w, room, sizeof room);
    mortise_jw_object(&w);
    if (f->klass != NULL) {
        mortise_jw_key(&w, "class");
        mortise_jw_cstr(&w, f->klass);
    }
    mortise_jw_key(&w, "code");
    mortise_jw_cstr(&w, f->code != NULL ? f->code : "mcp.failed");
    if (f->retry_after_ms != 0) {
        mortise_jw_key(&w, "retry_after_ms");
        mortise_jw_int(&w, (int64_t)f->retry_after_ms);
    }
    mortise_jw_end(&w);
    if (f->status < 0 && mortise_jw_finish(&w, &detail) != MORTISE_S_OK)
        detail = mortise_str_empty();
    *c->at = c->next;
    if (c->next != NULL)
        c->next->at = c->at;
    mcp_call_let_go(c);
    c->inst->api->finish(c->inst->host, c->id, f->status, bytes_str(&f->words),
                         detail);
    c->ended = 1;
    if (c->asks == 0)
        call_free(c);
}

static void undone(void *ud, mortise_status status, mortise_str answer)
{
    struct mcp_call *c = (struct mcp_call *)ud;

    (void)
        status; /* the call fails as it does, whatever the host says to that */
    (void)answer;
    if (mcp_call_answered(c))
        finish(c);
}

/* {"step", "undone": true} */
static mortise_status undo(struct mcp_call *c)
{
    char room[MCP_STEP_ROOM + 64];
    mortise_str body;
    mortise_jw w;
    mortise_status status;

    mortise_jw_fixed(&w, room, sizeof room);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "step");
    mortise_jw_cstr(&w, c->step);
    mortise_jw_key(&w, "undone");
    mortise_jw_bool(&w, 1);
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &body);
    return status == MORTISE_S_OK
               ? mcp_call_ask(c, MORTISE_JOURNAL_END_1, body, undone, c)
               : status;
}

/* Takes the call, which has a failure (2), (3). */
static void fail(struct mcp_call *c)
{
    mcp_call_let_go(c);
    if (c->begun && c->sent) {
        if (c->failure.status != MORTISE_S_CANCELLED &&
            c->failure.status != MORTISE_S_SUSPENDED)
            c->failure.status = MORTISE_S_DOUBT;
        finish(c);
    } else if (!c->begun || undo(c) != MORTISE_S_PENDING) {
        finish(c);
    }
}

void mcp_call_fail(struct mcp_call *c, const char *code, const char *klass,
                   mortise_str words)
{
    struct mcp_failure *f = &c->failure;

    f->status = MORTISE_S_FAILED;
    f->code = code;
    f->klass = klass;
    bytes_put(&f->words, words); /* without memory: without words */
    if (c->inst->api->cancelled(c->inst->host, c->id)) {
        f->status = MORTISE_S_CANCELLED;
        f->code = f->klass = "cancelled";
    }
    fail(c);
}

void mcp_call_fail_with(struct mcp_call *c, const struct mcp_trouble *why)
{
    if (!why->arrived)
        c->sent = 0;
    c->failure.retry_after_ms = why->retry_after_ms;
    mcp_call_fail(c, why->code, why->klass, why->words);
}

void mcp_call_end(struct mcp_call *c, mortise_status status)
{
    struct mcp_failure *f = &c->failure;

    f->status = status;
    if (status == MORTISE_S_NOMEM) {
        f->code = "no_memory";
        f->klass = "transient";
        bytes_put(&f->words, mortise_strz("out of memory"));
    } else if (status == MORTISE_S_CANCELLED) {
        f->code = f->klass = "cancelled";
    }
    if (status == MORTISE_S_OK)
        finish(c);
    else
        fail(c);
}

/* Takes the call: the host refuses what it asks, or answers so. */
static void end_refused(struct mcp_call *c, mortise_status status,
                        mortise_str words)
{
    if (status == MORTISE_S_CANCELLED || status == MORTISE_S_SUSPENDED ||
        status == MORTISE_S_NOMEM)
        mcp_call_end(c, status);
    else
        mcp_call_fail(c, "mcp.failed", "permanent",
                      words.n > 0
                          ? words
                          : mortise_strz("the host rejected the request"));
}

/* ---- the beginning ----------------------------------------------------------- */

/* Takes the call. */
static void keep(struct mcp_call *c, mortise_str result)
{
    bytes_free(&c->result);
    if (bytes_put(&c->result, result) != MORTISE_S_OK)
        mcp_call_end(c, MORTISE_S_NOMEM);
    else
        c->take(c);
}

static void begun(void *ud, mortise_status status, mortise_str answer)
{
    struct mcp_call *c = (struct mcp_call *)ud;
    mortise_jv result;

    if (!mcp_call_answered(c))
        return;
    if (status != MORTISE_S_OK) {
        end_refused(c, status, answer);
        return;
    }
    result = mortise_jv_get(mortise_jv_of(answer), "result");
    if (mortise_jv_type(result) != MORTISE_JV_NONE) {
        keep(c, mortise_strn(result.p, result.n));
        return;
    }
    c->begun = 1;
    c->sent = 0;
    c->perform(c);
}

void mcp_step_begin(struct mcp_call *c, const char *name, int repeat,
                    mortise_status made, mortise_str arguments)
{
    mortise_jv v = {arguments.p, arguments.n};
    mortise_status status = made;
    mortise_str body;
    mortise_jw w;

    assert(!c->begun); /* steps neither nest nor overlap */
    snprintf(c->step, sizeof c->step, "%s", name);
    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "step");
    mortise_jw_cstr(&w, c->step);
    if (made == MORTISE_S_OK) {
        mortise_jw_key(&w, "arguments");
        mortise_jw_value(&w, v);
    }
    if (repeat) {
        mortise_jw_key(&w, "repeat");
        mortise_jw_bool(&w, 1);
    }
    mortise_jw_end(&w);
    if (status == MORTISE_S_OK)
        status = mortise_jw_finish(&w, &body);
    if (status == MORTISE_S_OK)
        status = mcp_call_ask(c, MORTISE_JOURNAL_BEGIN_1, body, begun, c);
    free(w.p);
    if (status != MORTISE_S_PENDING)
        end_refused(c, status, mortise_str_empty());
}

/* ---- its result -------------------------------------------------------------- */

static void done(void *ud, mortise_status status, mortise_str answer);

static mortise_status say_done(struct mcp_call *c, mortise_str result)
{
    mortise_jv v = {result.p, result.n};
    mortise_status status;
    mortise_str body;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "step");
    mortise_jw_cstr(&w, c->step);
    mortise_jw_key(&w, "result");
    mortise_jw_value(&w, v);
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &body);
    if (status == MORTISE_S_OK)
        status = mcp_call_ask(c, MORTISE_JOURNAL_END_1, body, done, c);
    free(w.p);
    return status;
}

static int is_mark(mortise_jv result)
{
    return mortise_jv_is(mortise_jv_get(result, "resultType"),
                         mortise_strz("invalid"));
}

/* {"resultType": "invalid", "why", "text"} */
static mortise_status write_mark(mortise_jw *w, const char *why,
                                 mortise_str answer, mortise_str *out)
{
    struct bytes text = {0};
    mortise_status status = mcp_mend_text(answer, MARK_TEXT_MAX, &text);

    mortise_jw_growing(w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(w);
    mortise_jw_key(w, "resultType");
    mortise_jw_cstr(w, "invalid");
    mortise_jw_key(w, "why");
    mortise_jw_cstr(w, why);
    mortise_jw_key(w, "text");
    mortise_jw_string(w, bytes_str(&text));
    mortise_jw_end(w);
    bytes_free(&text);
    return status == MORTISE_S_OK ? mortise_jw_finish(w, out) : status;
}

void mcp_step_done_badly(struct mcp_call *c, const char *why,
                         mortise_str answer)
{
    mortise_status status;
    mortise_str mark;
    mortise_jw w;

    c->changed = 0;
    status = write_mark(&w, why, answer, &mark);
    if (status == MORTISE_S_OK) {
        mcp_step_done(c, mark);
    } else {
        c->sent = 1; /* it happened, and cannot be said */
        mcp_call_end(c, status);
    }
    free(w.p);
}

static const char *const reserved[] = {MCP_MENDED, "text", "structured"};

static int is_kept(mortise_jv name)
{
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        if (mortise_jv_is(name, mortise_strz(reserved[i])))
            return 0;
    return 1;
}

/* (5); a mark is ours. */
static int has_reserved(mortise_jv result)
{
    mortise_jv_iter it = mortise_jv_each(result);
    mortise_jv name, value;

    while (mortise_jv_next(&it, &name, &value))
        if (!is_kept(name))
            return !is_mark(result);
    return 0;
}

static void write_mended(mortise_jw *w, unsigned changed, mortise_jv was)
{
    mortise_jv structured = mortise_jv_get(was, "structuredContent");

    mortise_jw_key(w, MCP_MENDED);
    mortise_jw_object(w);
    mortise_jw_key(w, "what");
    mcp_mend_write(w, changed);
    if (structured.n > 0 && (changed & (MCP_MENDED_NUMBER | MCP_MENDED_NAME))) {
        mortise_jw_key(w, "structured_text");
        mortise_jw_string(w, mortise_strn(structured.p, structured.n));
    }
    mortise_jw_end(w);
}

/* The result as it is recorded: with what was mended of it (5).  `was`: as it came. */
static mortise_status keep_cleaned(struct mcp_call *c, mortise_str result,
                                   mortise_str was)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_of(result));
    mortise_status status = MORTISE_S_OK;
    struct bytes decoded = {0};
    mortise_jv name, value;
    mortise_str out;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    while (status == MORTISE_S_OK && mortise_jv_next(&it, &name, &value)) {
        decoded.n = 0;
        status = bytes_decode(&decoded, name);
        if (!is_kept(name))
            continue;
        mortise_jw_keyn(&w, bytes_str(&decoded));
        mortise_jw_value(&w, value);
    }
    if (c->changed != 0)
        write_mended(&w, c->changed, mortise_jv_of(was));
    mortise_jw_end(&w);
    if (status == MORTISE_S_OK)
        status = mortise_jw_finish(&w, &out);
    if (status == MORTISE_S_OK)
        status = bytes_put(&c->result, out);
    bytes_free(&decoded);
    free(w.p);
    return status;
}

static void record(struct mcp_call *c, mortise_str result, mortise_str was);

/* Takes the call (4). */
static void say_invalid(struct mcp_call *c, mortise_status status,
                        mortise_str words)
{
    struct bytes was = c->result, mended = {0};
    unsigned changed = 0;

    if (is_mark(mortise_jv_of(bytes_str(&c->result))) ||
        status == MORTISE_S_CANCELLED) {
        end_refused(c, status, words);
        return;
    }
    memset(&c->result, 0, sizeof c->result);
    if (status != MORTISE_S_NOMEM)
        status = mcp_mend(bytes_str(&was), MCP_MENDED_ALL, &mended, &changed);
    if (status == MORTISE_S_NOMEM) {
        c->sent = 1; /* it happened, and cannot be said */
        mcp_call_end(c, status);
    } else if (status == MORTISE_S_OK && changed != 0) {
        c->changed |= changed;
        record(c, bytes_str(&mended), bytes_str(&was));
    } else {
        mcp_step_done_badly(c, "the step cannot be recorded", bytes_str(&was));
    }
    bytes_free(&mended);
    bytes_free(&was);
}

static void done(void *ud, mortise_status status, mortise_str answer)
{
    struct mcp_call *c = (struct mcp_call *)ud;

    if (!mcp_call_answered(c))
        return;
    if (status != MORTISE_S_OK) {
        say_invalid(c, status, answer);
        return;
    }
    c->begun = c->sent = 0;
    c->take(c);
}

static void record(struct mcp_call *c, mortise_str result, mortise_str was)
{
    mortise_status status;

    assert(c->begun); /* or there is nothing to end */
    mcp_asked_drop(c);
    bytes_free(&c->result);
    status = c->changed != 0 || has_reserved(mortise_jv_of(result))
                 ? keep_cleaned(c, result, was)
                 : bytes_put(&c->result, result);
    if (status == MORTISE_S_OK)
        status = say_done(c, bytes_str(&c->result));
    if (status == MORTISE_S_PENDING)
        return;
    if (status == MORTISE_S_NOMEM) {
        c->sent = 1; /* it happened, and cannot be said */
        mcp_call_end(c, status);
    } else {
        say_invalid(c, status, mortise_str_empty());
    }
}

void mcp_step_done(struct mcp_call *c, mortise_str result)
{
    record(c, result, mortise_str_empty());
}

void mcp_step_done_as(struct mcp_call *c, const char *kind, const char *word,
                      const char *name, mortise_jv value)
{
    mortise_status status;
    mortise_str text;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    mortise_jw_key(&w, kind);
    mortise_jw_cstr(&w, word);
    mortise_jw_key(&w, name);
    mortise_jw_value(&w, value);
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &text);
    if (status == MORTISE_S_OK)
        mcp_step_done(c, text);
    else
        mcp_call_end(c, status);
    free(w.p);
}
