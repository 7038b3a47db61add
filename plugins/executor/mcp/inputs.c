/* inputs.c -- what a server wants to know between two requests (the modern era).
 *
 * A result with `inputRequests` has questions by their keys; they are answered one
 * after the other, and go with the next request: a person is asked
 * (elicitation/create, question.c), or a model (sampling/createMessage), or it is
 * told which directories there are (roots/list, granted.c).
 *
 *   (1) Nothing is asked of anybody that was not offered.
 *   (2) There are at most 256 of them, with keys of at most 1 KiB. */
#include "call.h"

enum { INPUTS_MAX = 256, KEY_MAX = 1024 };

static void ask_next(struct mcp_call *c);

static mortise_jv params_of(mortise_jv question)
{
    return mortise_jv_get(question, "params");
}

static void write_key(struct mcp_call *c)
{
    struct bytes key = {0};

    if (bytes_decode(&key, c->key) == MORTISE_S_OK)
        mortise_jw_keyn(&c->answering, bytes_str(&key));
    else
        c->answering.status = MORTISE_S_NOMEM;
    bytes_free(&key);
}

/* ---- the answers ----------------------------------------------------------- */

static void take_answer(struct mcp_call *c, mortise_str answer,
                        void (*write)(mortise_jw *w, mortise_jv params,
                                      mortise_jv answer))
{
    write_key(c);
    mortise_jw_object(&c->answering);
    write(&c->answering, params_of(c->question), mortise_jv_of(answer));
    mortise_jw_end(&c->answering);
    ask_next(c);
}

/* None came, in words. */
static void end_without(struct mcp_call *c, mortise_status status,
                        mortise_str words)
{
    if (status == MORTISE_S_INVALID)
        mcp_call_fail(c, "mcp.protocol", "permanent", words);
    else if (status == MORTISE_S_SUSPENDED || status == MORTISE_S_CANCELLED ||
             status == MORTISE_S_NOMEM)
        mcp_call_end(c, status);
    else
        mcp_call_fail(c, "mcp.failed", "permanent", words);
}

static void on_person(void *ud, mortise_status status, mortise_str answer)
{
    struct mcp_call *c = (struct mcp_call *)ud;

    if (!mcp_call_answered(c))
        return;
    if (status == MORTISE_S_OK)
        take_answer(c, answer, mcp_question_write_answer);
    else
        end_without(c, status, answer);
}

static void on_model(void *ud, mortise_status status, mortise_str answer)
{
    struct mcp_call *c = (struct mcp_call *)ud;

    if (!mcp_call_answered(c))
        return;
    if (status != MORTISE_S_OK)
        end_without(c, status, answer);
    else if (mcp_sampling_has_failed(mortise_jv_of(answer)))
        mcp_sampling_fail(c, mortise_jv_of(answer));
    else
        take_answer(c, answer, mcp_sampling_write_answer);
}

/* ---- the questions --------------------------------------------------------- */

/* Takes the call; `made` and the text of `w`, which is let go of. */
static void ask(struct mcp_call *c, const char *method, mortise_status made,
                mortise_jw *w, mortise_answer_fn *on_answer, const char *why)
{
    mortise_status status = made;
    mortise_str body;

    if (status == MORTISE_S_OK)
        status = mortise_jw_finish(w, &body);
    if (status == MORTISE_S_OK)
        status = mcp_call_ask(c, method, body, on_answer, c);
    free(w->p);
    if (status == MORTISE_S_PENDING)
        return;
    if (status == MORTISE_S_NOMEM)
        mcp_call_end(c, status);
    else
        mcp_call_fail(
            c, "mcp.protocol", "permanent",
            mortise_strz(why != NULL ? why : "a question is invalid"));
}

static void name_next(struct mcp_call *c, char name[MCP_STEP_ROOM])
{
    snprintf(name, MCP_STEP_ROOM, "question-%llu",
             (unsigned long long)++c->n_questions);
}

/* Takes the call. */
static void ask_person(struct mcp_call *c)
{
    char name[MCP_STEP_ROOM];
    const char *why = NULL;
    mortise_status made;
    mortise_jw w;

    name_next(c, name);
    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    made = mcp_question_write(&w, c->server->name, bytes_str(&c->name),
                              params_of(c->question), name, 0, &why);
    ask(c, MORTISE_INTERRUPT_REQUEST_1, made, &w, on_person, why);
}

/* Takes the call. */
static void ask_model(struct mcp_call *c)
{
    const char *why = mcp_sampling_judge(params_of(c->question));
    char name[MCP_STEP_ROOM];
    mortise_jw w;

    name_next(c, name);
    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    if (why == NULL)
        mcp_sampling_write(&w, c->server, params_of(c->question), name);
    ask(c, MORTISE_MODEL_CALL_1, why == NULL ? MORTISE_S_OK : MORTISE_S_INVALID,
        &w, on_model, why);
}

/* Takes the call: `answers` is complete. */
static void end(struct mcp_call *c)
{
    mortise_jw w = c->answering;
    mortise_str text;
    mortise_status status;

    memset(&c->answering, 0, sizeof c->answering);
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &text);
    bytes_free(&c->answers);
    if (status == MORTISE_S_OK && text.n > 2)
        status = bytes_put(&c->answers, text);
    free(w.p);
    if (status == MORTISE_S_OK)
        c->answered(c);
    else
        mcp_call_end(c, MORTISE_S_NOMEM);
}

/* It needs nobody. */
static void answer_roots(struct mcp_call *c)
{
    write_key(c);
    mortise_jw_object(&c->answering);
    mcp_roots_write(&c->answering, c->server);
    mortise_jw_end(&c->answering);
}

/* Takes the call unless it is to go on: 1. */
static int ask_one(struct mcp_call *c)
{
    mortise_jv method = mortise_jv_get(c->question, "method");

    if (mortise_jv_is(method, mortise_strz("elicitation/create"))) {
        ask_person(c);
    } else if (mortise_jv_is(method, mortise_strz("sampling/createMessage")) &&
               mcp_sampling_is_offered(c->server)) {
        ask_model(c);
    } else if (mortise_jv_is(method, mortise_strz("roots/list"))) {
        answer_roots(c);
        return 1;
    } else {
        mcp_call_fail(
            c, "mcp.protocol", "permanent",
            mortise_strz("the server requests something that Mortise did not "
                         "offer (sampling, or a newer feature)"));
    }
    return 0;
}

/* Takes the call: up to the next that somebody is asked. */
static void ask_next(struct mcp_call *c)
{
    while (mortise_jv_next(&c->questions, &c->key, &c->question)) {
        if (mcp_task_has_answered(c, c->key))
            continue;
        if (c->task.rounds >= MCP_ROUNDS_MAX || c->task.keys >= INPUTS_MAX) {
            mcp_call_fail(
                c, "mcp.task", "permanent",
                mortise_strz("the task asked for input more than ten times, or "
                             "asked more than 256 questions"));
            return;
        }
        if (!ask_one(c))
            return;
    }
    end(c);
}

/* (2) */
static const char *judge_all(mortise_jv questions)
{
    mortise_jv_iter it = mortise_jv_each(questions);
    mortise_jv key, one;
    uint64_t n = 0;

    while (it.is_object && mortise_jv_next(&it, &key, &one)) {
        if (++n > INPUTS_MAX)
            return "the server asks more than 256 questions at once";
        if (key.n > KEY_MAX)
            return "the key of a question exceeds 1 KiB";
    }
    return NULL;
}

void mcp_inputs_ask(struct mcp_call *c, void (*answered)(struct mcp_call *))
{
    mortise_jv all =
        mortise_jv_get(mortise_jv_of(bytes_str(&c->result)), "inputRequests");
    const char *why = judge_all(all);

    if (why != NULL) {
        mcp_call_fail(c, "mcp.protocol", "permanent", mortise_strz(why));
        return;
    }
    c->answered = answered;
    c->questions = mortise_jv_each(all);
    free(c->answering.p);
    mortise_jw_growing(&c->answering, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&c->answering);
    ask_next(c);
}
