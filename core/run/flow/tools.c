/* tools.c -- what is run for an execution that asked for a tool.
 *
 * An execution whose node has tools (lang/graph/load/tools.c) has a frame for them,
 * the graph of those tools, in which nothing leads anywhere.  An `invoke` entry
 * puts a step into the journal of who asks, and makes an execution of the
 * tool's node there, which is the run's like any other: guardrails judge what it
 * is called with, people approve it, its effect has an intent and may be in
 * doubt, it is tried again, it may be a graph itself.
 *
 *   (1) Whatever entry ends it answers the step, in the same commit: with what
 *       it gave, or with what it failed of.  A tool that fails fails nobody:
 *       what becomes of that is for who asked to say.
 *   (2) Each is another visit of its node, so that its name is its own in the
 *       run.  What its effects are known by is the step (identity.c).
 *   (3) Of what it gave, as much is told as the graph says (max_output), images
 *       apart; what is cut is marked, and its record has it whole.
 *   (4) One that was stopped answers nothing: it is asked for again (9), should
 *       its asker be entered again.  Unless what it was to do had happened.
 *   (5) It is no step of the run's, takes no place of its own among the calls
 *       that may be out at once, and writes nothing: its view is that of who
 *       asks.
 *   (6) Who loses a race, or is stopped, takes its tools along, and ends behind
 *       them; so does who ends while some are at work (`abandon`).  Should its
 *       asker be entered again before it could end, what was stopped is begun
 *       anew once it has.
 *   (7) Whoever is behind a tool chooses whether what they say is a result or a
 *       failure.  Where guardrails look at results (tool_results, or the tool's
 *       own), who asked is not told the words of a failure: its code and class
 *       stand there, and its record has the words.
 *   (8) A tool that cannot start waits, as one that asks a person does: for what
 *       others have reserved of a budget, for a resource, for a limit to be
 *       raised.  Its asker suspends, which releases its resource and settles its
 *       reservation.  Otherwise a tool would wait for ever for what the call that
 *       waits for the tool holds.
 *   (9) A call that acts (mortise_node_acts) has one execution for all attempts
 *       and generations of its asker.  If an earlier attempt made the call, and
 *       the call failed or was stopped, the later attempt continues that
 *       execution (`invoke_again`).  A graph continues inside, and keeps what was
 *       done there.  A plugin's call continues in its next generation: it keeps
 *       the steps that were done and the results that people gave, and people
 *       are asked about an open doubt first.  If people rejected the call in this
 *       generation of the asker, or took it as failed, that is the answer.
 *  (10) An attempt begins once nothing that tools of earlier ones left in doubt
 *       is being asked about: else it could do the same by another call.
 */
#include <assert.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/run/flow/flow.h"

enum { NEAR_MS = 60000 }; /* a pause that is worth staying in memory for */

/* ---- how they begin ------------------------------------------------------- */

/* The frame of x's tools, with a START that everything in it comes after. */
static int open_frame(struct mortise_run *r, struct exec *x,
                      struct mortise_err *err)
{
    const char *prefix = mortise_sub_prefix(r, x);
    struct frame *f;
    struct exec *start;

    if (prefix == NULL)
        return mortise_nomem(err);
    f = mortise_frame_begin(r, mortise_exec_node(r, x)->tools, prefix, NULL,
                            err);
    if (f == NULL)
        return MORTISE_ENOMEM;
    f->scope->owner = x;
    f->scope->input = json_object();
    if (f->scope->input == NULL)
        return mortise_nomem(err);
    start = mortise_exec_new(r, f, MORTISE_START, 1, NULL, err);
    if (start == NULL)
        return MORTISE_ENOMEM;
    x->tools = f;
    mortise_exec_become(r, start, X_DONE);
    return MORTISE_OK;
}

/* The START of a frame is the first that was made in it. */
static const struct exec *start_of(const struct frame *f)
{
    const struct exec *x = f->execs;

    while (x->sibling != NULL)
        x = x->sibling;
    assert(x->node == MORTISE_START);
    return x;
}

static struct exec *activate(struct mortise_run *r, struct frame *f,
                             const struct mortise_node *n,
                             struct mortise_err *err)
{
    uint32_t first = start_of(f)->index;
    struct indexes preds = {.list = &first, .n = 1, .cap = 1};
    struct item *it = mortise_item_of(f, n->index);
    struct exec *y =
        mortise_exec_new(r, f, n->index, ++it->visits, &preds, err);

    if (y == NULL)
        return NULL;
    it->exec = y->index;
    mortise_exec_is_no_step(y);
    return y;
}

static const struct mortise_offer *offer_of(const struct exec *tool)
{
    return &tool->frame->graph->offers[tool->node];
}

static json_t *call_json(const struct mortise_run *r, const struct exec *y,
                         const struct step *s, const json_t *value)
{
    char path[MORTISE_EXEC_PATH];

    mortise_exec_path(r, y, path);
    return json_pack("{s:s, s:s, s:o, s:O, s:O*}", "tool", offer_of(y)->tool,
                     "call", path, "step", mortise_step_name(s), "arguments",
                     json_object_get(value, "arguments"), "tool_use_id",
                     json_object_get(value, "tool_use_id"));
}

/* Also one that nobody is offered; NULL: there is none. */
static const struct mortise_node *tool_of(const struct mortise_graph *tools,
                                          const char *id)
{
    for (uint32_t i = 0; tools != NULL && i < tools->n_nodes; i++)
        if (strcmp(tools->nodes[i].id, id) == 0)
            return &tools->nodes[i];
    return NULL;
}

/* y runs for this step. */
static void serve(struct exec *y, struct step *s)
{
    y->serves = 1 + s->index;
    if (s->has_effect)
        memcpy(y->served, s->effect, sizeof y->served);
    mortise_step_runs(s, y);
}

static int announce_call(struct mortise_run *r, const struct exec *x,
                         const struct exec *y, const struct step *s,
                         const json_t *value, struct mortise_err *err)
{
    return mortise_event_announce(
        r, x, "tool_call",
        mortise_run_is_seen(r) ? call_json(r, y, s, value) : NULL, err);
}

int mortise_apply_invoke(struct mortise_run *r, struct exec *x,
                         const struct mortise_entry *e, struct mortise_err *err)
{
    const struct mortise_node *n =
        tool_of(mortise_exec_node(r, x)->tools, e->id);
    struct step *s;
    struct exec *y;
    int rv;

    if (n == NULL || !json_is_object(json_object_get(e->value, "arguments")))
        return mortise_entry_corrupt(err, e);
    rv = mortise_step_begin_tool(r, x, e, mortise_node_acts(n), &s, err);
    if (rv == MORTISE_OK && x->tools == NULL)
        rv = open_frame(r, x, err);
    if (rv != MORTISE_OK)
        return rv;
    y = activate(r, x->tools, n, err);
    if (y == NULL)
        return MORTISE_ENOMEM;
    serve(y, s);
    mortise_generation_given(y, json_object_get(e->value, "arguments"));
    rv = announce_call(r, x, y, s, e->value, err);
    return rv == MORTISE_OK ? mortise_exec_ready(r, y, err) : rv;
}

/* ---- called again (9) ----------------------------------------------------- */

/* Inside, where something failed or was stopped; else in its next generation. */
static int go_on(struct mortise_run *r, struct exec *y, json_t *arguments,
                 struct mortise_err *err)
{
    bool inside = y->child != NULL &&
                  (y->state == X_FAILED ? y->child_failed : !y->child_over);
    int rv;

    mortise_race_mark(y, LOSS_NONE);
    if (!inside) {
        rv = mortise_generation_next(r, y, err);
        if (rv == MORTISE_OK && y->body == NULL)
            mortise_generation_again(y, arguments);
        return rv;
    }
    y->taken_up = true;
    mortise_exec_failed_of(y, NULL);
    mortise_exec_ended(y, 0);
    mortise_exec_become(r, y, X_INSIDE);
    rv = mortise_frame_reopen(r, y->child, err);
    return rv == MORTISE_OK ? mortise_sub_go_on(r, y, err) : rv;
}

int mortise_apply_invoke_again(struct mortise_run *r, struct exec *x,
                               const struct mortise_entry *e,
                               struct mortise_err *err)
{
    json_t *arguments = json_object_get(e->value, "arguments");
    struct step *s;
    struct exec *y;
    int rv;

    if (!json_is_object(arguments))
        return mortise_entry_corrupt(err, e);
    rv = mortise_step_begin_tool(r, x, e, true, &s, err);
    if (rv != MORTISE_OK)
        return rv;
    y = mortise_tool_earlier(x, s->effect);
    if (y == NULL || strcmp(mortise_exec_node(r, y)->id, e->id) != 0)
        return mortise_entry_corrupt(err, e);
    serve(y, s);
    rv = announce_call(r, x, y, s, e->value, err);
    return rv == MORTISE_OK ? go_on(r, y, arguments, err) : rv;
}

/* ---- how they end (1) ----------------------------------------------------- */

/* The beginning of a text, and that it is one of so many bytes. */
static json_t *cut(const char *text, size_t n, size_t most, size_t of)
{
    size_t k = mortise_utf8_cut(text, n, most);

    return json_pack("{s:o, s:{s:I, s:I}}", "text", mortise_json_strn(text, k),
                     "cut", "bytes", (json_int_t)k, "of", (json_int_t)of);
}

/* So many bytes of these parts are base64: of parts, or of resources in parts. */
static size_t media_size(const json_t *parts)
{
    size_t n = 0;

    MORTISE_JSON_EACH (part, i, parts) {
        const json_t *in = json_object_get(part, "resource");

        n += json_string_length(json_object_get(part, "data")) +
             json_string_length(json_object_get(part, "blob")) +
             json_string_length(json_object_get(in, "blob"));
    }
    return n;
}

/* The texts of what an MCP tool gave, which stand in its content, too; NULL: it is
 * none. */
static const json_t *texts_of(const json_t *output)
{
    const json_t *text = json_object_get(output, "text");

    return json_is_array(json_object_get(output, "content")) &&
                   json_string_length(text) > 0
               ? text
               : NULL;
}

/* What a value of so many bytes counts: what a model is shown as text. */
static size_t weight_of(const json_t *output, size_t n)
{
    static const char *const parts[] = {"parts", "content", "contents"};

    n -= json_string_length(texts_of(output));
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        n -= media_size(json_object_get(output, parts[i]));
    return n;
}

/* (3): {output}, or {text, cut: {bytes, of}}.  NULL: memory ran out. */
static json_t *output_json(const struct mortise_run *r,
                           const struct mortise_offer *offer, json_t *output)
{
    const json_t *texts = texts_of(output);
    const json_t *text = json_is_string(output) ? output : texts;
    char *made =
        json_is_string(output) ? NULL : mortise_json_text(r->mem, output);
    size_t most = (size_t)offer->max_output, n;
    json_t *out;

    if (!json_is_string(output) && made == NULL)
        return NULL;
    n = weight_of(output,
                  made != NULL ? strlen(made) : json_string_length(output));
    if (n <= most)
        out = json_pack("{s:O}", "output", output);
    else if (text != NULL)
        out = cut(json_string_value(text), json_string_length(text), most, n);
    else
        out = cut(made, strlen(made), most, n);
    mortise_release_str(r->mem, made);
    return out;
}

static json_t *answer_of(const struct mortise_run *r, const struct exec *y)
{
    if (y->state == X_FAILED)
        return mortise_tool_error(r, y);
    return output_json(r, offer_of(y),
                       y->state == X_DONE ? y->output : y->result);
}

/* How long its last attempt took; 0 of one that was stopped, of which no entry
 * says when it began. */
static json_int_t took_ms(const struct exec *y)
{
    return y->state != X_CANCELLED && y->started_ms != 0 &&
                   y->ended_ms > y->started_ms
               ? (json_int_t)(y->ended_ms - y->started_ms)
               : 0;
}

static int announce_result(struct mortise_run *r, const struct exec *x,
                           const struct exec *y, const struct step *s,
                           json_t *answer, struct mortise_err *err)
{
    char path[MORTISE_EXEC_PATH];
    json_t *extra = NULL;

    if (mortise_run_is_seen(r)) {
        mortise_exec_path(r, y, path);
        extra =
            json_pack("{s:s, s:s, s:o, s:I}", "tool", offer_of(y)->tool, "call",
                      path, "step", mortise_step_name(s), "ms", took_ms(y));
        if (extra == NULL || json_object_update(extra, answer) != 0) {
            json_decref(extra);
            return mortise_nomem(err);
        }
    }
    return mortise_event_announce(r, x, "tool_result", extra, err);
}

int mortise_tool_over(struct mortise_run *r, struct exec *y,
                      struct mortise_err *err)
{
    struct exec *x = y->frame->top->scope->owner;
    struct step *s = mortise_step_served(y);
    json_t *answer;
    int rv;

    assert(y->serves != 0 && mortise_exec_is_over(y));
    if (s == NULL || mortise_exec_is_over(x))
        return MORTISE_OK;
    if (y->state == X_CANCELLED && y->result == NULL) { /* (4) */
        mortise_step_take_back_tool(x, s);
        return x->state == X_SUSPENDED && !mortise_tools_are_at_work(x)
                   ? mortise_exec_ready(r, x, err) /* nobody else enters it */
                   : MORTISE_OK;
    }
    answer = answer_of(r, y);
    if (answer == NULL)
        return mortise_nomem(err);
    rv = mortise_step_end_tool(r, x, s, answer, y->state != X_FAILED, err);
    if (rv == MORTISE_OK)
        rv = announce_result(r, x, y, s, answer, err);
    json_decref(answer);
    return rv == MORTISE_OK && x->state == X_SUSPENDED
               ? mortise_exec_ready(r, x, err)
               : rv;
}

/* ---- whether they wait ---------------------------------------------------- */

/* Is all that happens in f, and in graphs in it, that something is waited for?
 * Recursive as graphs and regions nest. */
static bool frame_waits(const struct mortise_run *r, const struct frame *f)
{
    for (const struct exec *x = f->execs; x != NULL; x = x->sibling)
        if (!mortise_exec_is_over(x) && !mortise_tool_waits(r, x))
            return false;
    for (const struct frame *kid = f->kids; kid != NULL; kid = kid->sibling)
        if (!kid->behind && !frame_waits(r, kid))
            return false;
    return true;
}

/* (8) */
static bool is_held_up(const struct mortise_run *r, const struct exec *x)
{
    return mortise_budget_is_short(r, x) || mortise_exec_must_wait(r, x) ||
           (mortise_limit_of(r, x) != LIMIT_NONE && !mortise_exec_is_final(x));
}

bool mortise_tool_waits(const struct mortise_run *r, const struct exec *y)
{
    switch (y->state) {
    case X_ASKED:
    case X_HELD:
    case X_SUSPENDED:
        return true;
    case X_BACKOFF:
        return y->pause_ms > NEAR_MS;
    case X_INSIDE:
        return frame_waits(r, y->child);
    case X_READY:
        return is_held_up(r, y);
    case X_INTENT:
    case X_RUNNING:
    case X_STOPPING:
    case X_DONE:
    case X_FAILED:
    case X_CANCELLED:
        break;
    }
    return false;
}

struct exec *mortise_tool_asker(const struct exec *x, const struct frame *f)
{
    for (; x != NULL; x = x->frame->top->scope->owner) {
        struct exec *owner = x->frame->top->scope->owner;

        if (owner != NULL && owner->frame->top == f)
            return owner->tools == x->frame->top ? owner : NULL;
    }
    return NULL;
}

/* ---- stopping them (6) ---------------------------------------------------- */

int mortise_apply_abandon(struct mortise_run *r, struct exec *x,
                          const struct mortise_entry *e,
                          struct mortise_err *err)
{
    return x->tools != NULL ? mortise_tools_lose(r, x, err)
                            : mortise_entry_corrupt(err, e);
}

bool mortise_tools_are_at_work(const struct exec *x)
{
    return x->tools != NULL && x->tools->scope->n_live > 0;
}

bool mortise_tools_are_lost(const struct exec *x)
{
    if (!mortise_tools_are_at_work(x))
        return true;
    for (const struct exec *y = x->tools->execs; y != NULL; y = y->sibling)
        if (!mortise_exec_is_over(y) && y->loss == LOSS_NONE)
            return false;
    return true;
}

int mortise_tools_lose(struct mortise_run *r, struct exec *x,
                       struct mortise_err *err)
{
    int rv = MORTISE_OK;

    if (!mortise_tools_are_at_work(x))
        return rv;
    for (struct exec *y = x->tools->execs; rv == MORTISE_OK && y != NULL;
         y = y->sibling)
        rv = mortise_race_lose(r, y, LOSS_OUTER, err);
    return rv;
}
