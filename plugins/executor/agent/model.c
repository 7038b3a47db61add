/* model.c -- a model is asked, until there is a reply.
 *
 * Each call of a model is a step of its own, m1, m2 ...; all but the first say
 * which one they go on from, and what comes behind its reply.
 *
 *   (1) Where a provider fails, the aliases of llm.fallback are asked, in their
 *       order; the first that answers is asked from then on.
 *   (2) Where all of them did, for a reason that may pass, and replies are there
 *       that would be lost with the node, it waits and asks again: as long as
 *       the server said, or 1, 2, 4 and 8 seconds.  The wait is durable.  Where
 *       there is no reply yet, nothing is lost, and the node's retry_policy
 *       decides.
 *   (3) Where the window is too small, the older half is left out, then three
 *       quarters, then seven eighths, each as long as that leaves out more than
 *       before: the same request is not made twice.
 *   (4) Of a model that acts, a reply with nothing in it is answered once: it is
 *       told so, and asked again.
 */
#include "agent.h"

#include <stdio.h>

enum { WAITS = 4, PRUNES = 3 };

mortise_str agent_step(char *room, const char *kind, int64_t n)
{
    snprintf(room, AGENT_STEP_ROOM, "%s%lld", kind, (long long)n);
    return mortise_strz(room);
}

/* ---- the request ----------------------------------------------------------- */

/* The alias whose turn it is; none: the default. */
static mortise_jv alias_of(const struct call *c)
{
    mortise_jv llm = mortise_jv_get(c->node, "llm"), name, one;
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(llm, "fallback"));

    if (c->alias == 0)
        return mortise_jv_get(llm, "provider_id");
    for (uint64_t i = 1; mortise_jv_next(&it, &name, &one); i++)
        if (i == c->alias)
            return one;
    return mortise_jv_none();
}

/* How many there are. */
static uint64_t n_aliases(const struct call *c)
{
    return 1 + mortise_jv_count(
                   mortise_jv_get(mortise_jv_get(c->node, "llm"), "fallback"));
}

static void write_list(mortise_jw *w, const char *name,
                       const struct bytes *list)
{
    mortise_jv v;

    if (list->n == 0)
        return;
    v.p = list->p;
    v.n = list->n;
    agent_write_member(w, name, v);
}

static void write_true(mortise_jw *w, const char *name)
{
    mortise_jw_key(w, name);
    mortise_jw_bool(w, 1);
}

void agent_write_after(const struct call *c, mortise_jw *w)
{
    char room[AGENT_STEP_ROOM];

    mortise_jw_key(w, "after");
    mortise_jw_string(w, agent_step(room, "m", c->after));
    write_list(w, "append", &c->append);
}

static void write_messages(const struct call *c, mortise_jw *w)
{
    if (c->after != 0) {
        agent_write_after(c, w);
    } else {
        write_list(w, "messages", &c->ahead);
        write_list(w, "append", &c->append);
        if (c->keeps)
            write_true(w, "continue");
    }
    if (c->prunes) {
        mortise_jw_key(w, "prune");
        mortise_jw_double(w, 1.0 / (double)(1u << c->pruned));
        mortise_jw_key(w, "beyond");
        mortise_jw_int(w, c->left_out);
    }
}

/* Once it has used one it need not do so again. */
static void write_tools(const struct call *c, mortise_jw *w)
{
    mortise_jv choice = mortise_jv_get(c->node, "tool_choice");
    int32_t parallel = 0;

    if (!c->has_tools)
        return;
    mortise_jv_bool(mortise_jv_get(c->node, "parallel_tools"), &parallel);
    if (c->offered.n > 0)
        write_list(w, "tools", &c->offered);
    else
        write_true(w, "tools");
    if (!c->used_tools || mortise_jv_is(choice, mortise_strz("none")))
        agent_write_member(w, "tool_choice", choice);
    mortise_jw_key(w, "parallel_tools");
    mortise_jw_bool(w, parallel);
}

static void write_response(const struct call *c, mortise_jw *w)
{
    if (!c->is_json)
        return;
    mortise_jw_key(w, "response");
    mortise_jw_object(w);
    if (c->schema.n > 0)
        write_list(w, "schema", &c->schema);
    else
        agent_write_member(w, "schema",
                           mortise_jv_get(c->node, "output_schema"));
    mortise_jw_end(w);
}

static void write_request(const struct call *c, mortise_jw *w)
{
    static const char *const members[] = {"temperature", "max_tokens",
                                          "reasoning_effort", "cache", "extra"};
    mortise_jv llm = mortise_jv_get(c->node, "llm");
    char room[AGENT_STEP_ROOM];
    int32_t stream = !c->quiet;

    mortise_jv_bool(mortise_jv_get(c->node, "stream"), &stream);
    mortise_jw_object(w);
    mortise_jw_key(w, "step");
    mortise_jw_string(w, agent_step(room, "m", c->asked));
    agent_write_member(w, "alias", alias_of(c));
    if (c->alias == 0)
        agent_write_member(w, "model", mortise_jv_get(llm, "model"));
    write_messages(c, w);
    write_tools(c, w);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        agent_write_member(w, members[i], mortise_jv_get(c->node, members[i]));
    write_response(c, w);
    mortise_jw_key(w, "stream");
    mortise_jw_bool(w, stream);
    mortise_jw_end(w);
}

static void answered(void *ud, mortise_status status, mortise_str answer);

void agent_ask(struct call *c)
{
    mortise_status status;
    mortise_str body;
    mortise_jw w;

    c->asked++;
    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    write_request(c, &w);
    status = mortise_jw_finish(&w, &body);
    if (status == MORTISE_S_OK)
        status = mortise_model_call(c->inst->host, c->inst->api, c->id, body,
                                    answered, c);
    free(w.p);
    if (status != MORTISE_S_PENDING)
        agent_end_as(c, status);
}

/* ---- it failed -------------------------------------------------------------- */

/* (3) */
void agent_ask_shorter(struct call *c, mortise_jv answer, mortise_jv error)
{
    mortise_status status;

    if (c->pruned == PRUNES) {
        agent_fail_as(c, error);
        return;
    }
    c->window.n = 0;
    status = bytes_put(&c->window, mortise_strn(error.p, error.n));
    mortise_jv_int(mortise_jv_get(answer, "left_out"), &c->left_out);
    c->pruned++;
    c->prunes = 1;
    if (status == MORTISE_S_OK)
        agent_ask(c);
    else
        agent_end_as(c, status);
}

/* There is nothing more to be left out: the window stays too small. */
static void fail_of_window(struct call *c)
{
    agent_fail_as(c, mortise_jv_of(bytes_str(&c->window)));
}

/* (4) */
static void ask_for_more(struct call *c)
{
    c->is_nudged = 1;
    agent_go_on(c, agent_add_text(&c->append, "user",
                                  mortise_strz("Your reply was empty. Say "
                                               "your answer.")));
}

static void waited(void *ud, mortise_status status, mortise_str answer)
{
    struct call *c = (struct call *)ud;

    (void)answer;
    if (status == MORTISE_S_OK)
        agent_ask(c);
    else
        agent_end_as(c, status);
}

/* (2) */
static void wait_for(struct call *c, int64_t ms)
{
    char step[AGENT_STEP_ROOM], room[128];
    mortise_status status;
    mortise_str body;
    mortise_jw w;

    mortise_jw_fixed(&w, room, sizeof room);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "step");
    mortise_jw_string(&w, agent_step(step, "w", c->asked));
    mortise_jw_key(&w, "for_ms");
    mortise_jw_int(&w, ms);
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &body);
    if (status == MORTISE_S_OK)
        status = c->inst->api->ask(c->inst->host, c->id,
                                   mortise_strz(MORTISE_TIMER_WAIT_1), body,
                                   waited, c);
    if (status != MORTISE_S_PENDING)
        agent_end_as(c, status);
}

static int may_pass(mortise_jv error)
{
    mortise_jv kind = mortise_jv_get(error, "class");

    return mortise_jv_is(kind, mortise_strz("transient")) ||
           mortise_jv_is(kind, mortise_strz("timeout"));
}

static int is_code(mortise_jv error, const char *code)
{
    return mortise_jv_is(mortise_jv_get(error, "code"), mortise_strz(code));
}

/* Takes the call. */
static void take_error(struct call *c, mortise_jv answer)
{
    mortise_jv error = mortise_jv_get(answer, "error");
    int64_t ms = (int64_t)1000 << c->waited;

    if (is_code(error, "model.context")) {
        agent_ask_shorter(c, answer, error);
        return;
    }
    if (is_code(error, "model.empty") && c->mode != MODE_ONCE &&
        !c->is_nudged) {
        ask_for_more(c);
        return;
    }
    c->tried++;
    if (c->tried < n_aliases(c)) { /* (1) */
        c->alias = (c->alias + 1) % n_aliases(c);
        agent_ask(c);
        return;
    }
    if (c->after == 0 || c->waited == WAITS || !may_pass(error)) {
        agent_fail_as(c, error);
        return;
    }
    c->tried = c->alias = 0;
    c->waited++;
    mortise_jv_int(mortise_jv_get(error, "retry_after_ms"), &ms);
    wait_for(c, ms);
}

static void answered(void *ud, mortise_status status, mortise_str answer)
{
    struct call *c = (struct call *)ud;
    mortise_jv v;

    if (status == MORTISE_S_NOTFOUND && c->prunes) {
        fail_of_window(c);
        return;
    }
    if (status == MORTISE_S_INVALID || status == MORTISE_S_NOTFOUND) {
        agent_fail(c, "model.request", answer); /* the host's words */
        return;
    }
    if (status == MORTISE_S_OK)
        status = mortise_jv_parse(answer, &v);
    if (status != MORTISE_S_OK) {
        agent_end_as(c, status);
        return;
    }
    if (mortise_jv_type(mortise_jv_get(v, "error")) != MORTISE_JV_NONE)
        take_error(c, v);
    else
        agent_take_reply(c, v);
}
