/* consent.c -- an authorization that a person has to give.
 *
 * A server over HTTP may want one that only somebody with a browser can get.  The
 * transport knows what to open there (mcp_trouble.consent), and what to do with
 * the address that the browser is sent to in the end; in between may be days, and
 * another process.  So it is three steps of the call: the one that was refused
 * ends with what the transport said, {"resultType": "consent"}; a person is asked
 * (interrupt.request/1), with the URL; and before the next step does anything the
 * transport is told both, and tries again. */
#include "call.h"

void mcp_consent_record(struct mcp_call *c, mortise_str consent)
{
    mortise_jv v = {consent.p, consent.n};

    c->sent = 0;
    mcp_step_done_as(c, "resultType", "consent", "consent", v);
}

/* ---- asking a person --------------------------------------------------------- */

static void on_answer(void *ud, mortise_status status, mortise_str answer)
{
    struct mcp_call *c = (struct mcp_call *)ud;
    mortise_jv v, said;
    int32_t yes = 0;

    if (!mcp_call_answered(c))
        return;
    v = status == MORTISE_S_OK ? mortise_jv_of(answer) : mortise_jv_none();
    said = mortise_jv_get(v, "answer");
    mortise_jv_bool(mortise_jv_get(v, "approved"), &yes);
    if (status == MORTISE_S_SUSPENDED || status == MORTISE_S_CANCELLED ||
        status == MORTISE_S_NOMEM) {
        mcp_call_end(c, status);
    } else if (status != MORTISE_S_OK) {
        mcp_call_fail(c, "mcp.failed", "permanent", answer);
    } else if (!yes) {
        mcp_call_fail(c, "mcp.auth", "permanent",
                      mortise_strz("a person rejected the authorization"));
    } else {
        bytes_free(&c->redirect);
        if (bytes_put(&c->redirect, mortise_strn(said.p, said.n)) ==
            MORTISE_S_OK)
            mcp_call_next(c);
        else
            mcp_call_end(c, MORTISE_S_NOMEM);
    }
}

static mortise_jv url_of(const struct mcp_call *c)
{
    return mortise_jv_get(mortise_jv_of(bytes_str(&c->consent)), "url");
}

static void write_prompt(mortise_jw *w, const struct mcp_call *c)
{
    struct bytes text = {0};

    bytes_put(&text, mortise_strz("The MCP server '"));
    bytes_put(&text, mortise_strz(c->server->name));
    bytes_put(
        &text,
        mortise_strz("' requires an authorization: open the URL in a browser, "
                     "and answer with the address to which the browser is "
                     "redirected at the end, as {\"redirect\": ADDRESS}"));
    mortise_jw_key(w, "prompt");
    mortise_jw_string(w, bytes_str(&text));
    bytes_free(&text);
}

static const char schema[] =
    "{\"type\":\"object\",\"required\":[\"approved\"],\"properties\":{"
    "\"approved\":{\"type\":\"boolean\"},\"reason\":{\"type\":\"string\"},"
    "\"answer\":{\"type\":\"object\",\"required\":[\"redirect\"],"
    "\"properties\":{\"redirect\":{\"type\":\"string\"}}}},"
    "\"if\":{\"properties\":{\"approved\":{\"const\":true}}},"
    "\"then\":{\"required\":[\"answer\"]}}";

static mortise_status write_question(mortise_jw *w, const struct mcp_call *c,
                                     const char *step, mortise_str *body)
{
    mortise_jw_growing(w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(w);
    write_prompt(w, c);
    mortise_jw_key(w, "payload");
    mortise_jw_object(w);
    mortise_jw_key(w, "server");
    mortise_jw_cstr(w, c->server->name);
    mortise_jw_key(w, "tool");
    mortise_jw_string(w, bytes_str(&c->name));
    mortise_jw_key(w, "mode");
    mortise_jw_cstr(w, "authorization");
    mortise_jw_key(w, "url");
    mortise_jw_value(w, url_of(c));
    mortise_jw_end(w);
    mortise_jw_key(w, "schema");
    mortise_jw_value(w, mortise_jv_of(mortise_strz(schema)));
    mortise_jw_key(w, "step");
    mortise_jw_cstr(w, step);
    mortise_jw_end(w);
    return mortise_jw_finish(w, body);
}

void mcp_consent_ask(struct mcp_call *c)
{
    mortise_jv consent =
        mortise_jv_get(mortise_jv_of(bytes_str(&c->result)), "consent");
    char name[MCP_STEP_ROOM];
    mortise_status status;
    mortise_str body;
    mortise_jw w;

    if (++c->rounds > MCP_ROUNDS_MAX) {
        mcp_call_fail(
            c, "mcp.auth", "permanent",
            mortise_strz(
                "the server requested authorization more than ten times"));
        return;
    }
    bytes_free(&c->consent);
    status = bytes_put(&c->consent, mortise_strn(consent.p, consent.n));
    if (status != MORTISE_S_OK) {
        mcp_call_end(c, status);
        return;
    }
    snprintf(name, sizeof name, "question-%llu",
             (unsigned long long)++c->n_questions);
    status = write_question(&w, c, name, &body);
    if (status == MORTISE_S_OK)
        status =
            mcp_call_ask(c, MORTISE_INTERRUPT_REQUEST_1, body, on_answer, c);
    free(w.p);
    if (status == MORTISE_S_NOMEM)
        mcp_call_end(c, status);
    else if (status != MORTISE_S_PENDING)
        mcp_call_fail(c, "mcp.failed", "permanent",
                      mortise_strz("no person can be asked"));
}

/* ---- telling the transport --------------------------------------------------- */

static void told(void *ud, const struct mcp_trouble *why)
{
    struct mcp_call *c = (struct mcp_call *)ud;

    c->consenting = 0;
    bytes_free(&c->consent);
    bytes_free(&c->redirect);
    if (why == NULL)
        c->perform(c);
    else if (why->consent.n > 0)
        mcp_consent_record(c, why->consent);
    else
        mcp_call_fail_with(c, why);
}

int mcp_consent_is_told(struct mcp_call *c)
{
    const struct mcp_transport *t = c->server->transport;
    mortise_status status;

    if (c->redirect.n == 0 || t->consented == NULL)
        return 1;
    c->consenting = 1;
    status = t->consented(c->server, bytes_str(&c->consent),
                          bytes_str(&c->redirect), told, c);
    if (status == MORTISE_S_OK)
        return 0;
    c->consenting = 0;
    if (status == MORTISE_S_NOMEM)
        mcp_call_end(c, status);
    else
        mcp_call_fail(c, "mcp.auth", "permanent",
                      mortise_strz("the authorization is invalid"));
    return 0;
}

void mcp_consent_leave(struct mcp_call *c)
{
    if (c->consenting)
        c->server->transport->leave(c->server, c);
    c->consenting = 0;
}
