/* proposal.c -- is what a model wrote a graph that can run: {text, with?, last?} ->
 * {valid: true, graph, picture}, or {valid: false, graph, findings, again}.
 *
 * The text is a model's reply: the first block between fences, or all of it.  It is a
 * plan: a graph of leaves and teams, and of nothing that does something by itself.  The
 * host checks it, laid over with `with` (graph.check/1).  `graph` is what it checked,
 * and `again` tells the model what of that cannot be, to the letter.  Where it was to
 * be the `last` try, a graph that cannot run is the failure `plan`, in the words of
 * the findings. */
#include "agent.h"

static const char fence[] = "```";

/* What stands at or behind `from` up to `what`; all of it where that is not there. */
static uint64_t until(mortise_str s, uint64_t from, const char *what)
{
    uint64_t n = strlen(what);

    while (from + n <= s.n && memcmp(s.p + from, what, n) != 0)
        from++;
    return from + n <= s.n ? from : s.n;
}

static mortise_str graph_in(mortise_str reply)
{
    uint64_t at = until(reply, 0, fence), end;

    if (at == reply.n)
        return reply;
    at = until(reply, at, "\n");
    at += at < reply.n;
    end = until(reply, at, fence);
    return mortise_strn(reply.p + at, end - at);
}

mortise_status agent_begin_proposal(struct call *c, mortise_jv body)
{
    mortise_jv with = mortise_jv_get(body, "with");
    struct bytes text = {0};
    mortise_status status = bytes_decode(&text, mortise_jv_get(body, "text"));
    mortise_str made;
    mortise_jw w;

    mortise_jv_bool(mortise_jv_get(body, "last"), &c->is_last);
    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "path");
    mortise_jw_cstr(&w, "plan.yaml");
    mortise_jw_key(&w, "source");
    mortise_jw_string(&w, graph_in(bytes_str(&text)));
    mortise_jw_key(&w, "types");
    mortise_jw_array(&w);
    mortise_jw_cstr(&w, "leaf");
    mortise_jw_cstr(&w, "team");
    mortise_jw_end(&w);
    if (mortise_jv_type(with) != MORTISE_JV_NONE) {
        mortise_jw_key(&w, "with");
        mortise_jw_value(&w, with);
    }
    mortise_jw_end(&w);
    if (status == MORTISE_S_OK)
        status = mortise_jw_finish(&w, &made);
    if (status == MORTISE_S_OK)
        status = bytes_put(&c->append, made);
    free(w.p);
    bytes_free(&text);
    return status;
}

/* ---- what the host found ----------------------------------------------------- */

static const char said[] = "You planned:\n\n",
                  wrong[] = "\nThat cannot run:\n\n",
                  mend[] = "\nReply with the whole plan once more, corrected.";

/* `again`, for the model. */
static mortise_status put_again(struct bytes *to, mortise_jv answer)
{
    mortise_status status = bytes_put(to, mortise_strz(said));

    if (status == MORTISE_S_OK)
        status = bytes_decode(to, mortise_jv_get(answer, "graph"));
    if (status == MORTISE_S_OK)
        status = bytes_put(to, mortise_strz(wrong));
    if (status == MORTISE_S_OK)
        status = bytes_decode(to, mortise_jv_get(answer, "findings"));
    if (status == MORTISE_S_OK)
        status = bytes_put(to, mortise_strz(mend));
    return status;
}

static void put_member(mortise_jw *w, mortise_jv from, const char *name)
{
    mortise_jw_key(w, name);
    mortise_jw_value(w, mortise_jv_get(from, name));
}

static mortise_status tell(struct call *c, mortise_jv answer, int32_t valid)
{
    struct bytes again = {0};
    mortise_status status = valid ? MORTISE_S_OK : put_again(&again, answer);
    mortise_str json;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    put_member(&w, answer, "valid");
    put_member(&w, answer, "graph");
    put_member(&w, answer, valid ? "picture" : "findings");
    if (!valid) {
        mortise_jw_key(&w, "again");
        mortise_jw_string(&w, bytes_str(&again));
    }
    mortise_jw_end(&w);
    if (status == MORTISE_S_OK)
        status = mortise_jw_finish(&w, &json);
    if (status == MORTISE_S_OK)
        status = mortise_emit_output(c->inst->host, c->inst->api, c->id, json);
    free(w.p);
    bytes_free(&again);
    return status;
}

/* Takes the call. */
static void fail(struct call *c, mortise_jv answer)
{
    struct bytes words = {0};
    mortise_status status =
        bytes_put(&words, mortise_strz("the last plan cannot run:\n"));

    if (status == MORTISE_S_OK)
        status = bytes_decode(&words, mortise_jv_get(answer, "findings"));
    if (status == MORTISE_S_OK)
        agent_fail(c, "plan", bytes_str(&words));
    else
        agent_end_as(c, status);
    bytes_free(&words);
}

static void answered(void *ud, mortise_status status, mortise_str answer)
{
    struct call *c = (struct call *)ud;
    int32_t valid = 0;
    mortise_jv v;

    if (status == MORTISE_S_OK)
        status = mortise_jv_parse(answer, &v);
    if (status == MORTISE_S_OK)
        status = mortise_jv_bool(mortise_jv_get(v, "valid"), &valid);
    if (status == MORTISE_S_OK && !valid && c->is_last)
        fail(c, v);
    else
        agent_end_as(c, status == MORTISE_S_OK ? tell(c, v, valid) : status);
}

void agent_start_proposal(struct call *c)
{
    mortise_status status = mortise_graph_check(
        c->inst->host, c->inst->api, c->id, bytes_str(&c->append), answered, c);

    if (status != MORTISE_S_PENDING)
        agent_end_as(c, status);
}
