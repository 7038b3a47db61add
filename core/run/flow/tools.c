/* tools.c -- tool calls of an execution.
 *
 * An execution whose node has tools (lang/graph/load/tools.c) has a frame for
 * them: the graph of the tools, without edges.  An `invoke` entry adds a step
 * to the asker's journal and activates the tool's node in that frame.  The
 * execution of the tool is like any other: guardrails check its arguments,
 * people approve it, its effect has an intent and may be in doubt, it is
 * retried, it may be a graph itself.
 *
 *   (1) The entry that ends it answers the step, in the same commit: with its
 *       output or its failure.  A failed tool does not fail its asker, which
 *       decides how to continue.
 *   (2) Each call is a new visit of the tool's node, so that its name is unique
 *       in the run.  The identity of its effects is the step (identity.c).
 *   (3) The asker gets at most max_output bytes of the output, not counting
 *       images.  A cut is marked; the record has the whole output.
 *   (4) A stopped tool answers nothing, unless its effect happened.  If its
 *       asker is re-entered, it asks for the tool again (9).
 *   (5) A tool is no step of the run, takes no slot of its own, and writes
 *       nothing; its view is that of its asker.
 *   (6) An asker that loses a race or is stopped stops its tools, and ends
 *       after them; so does one that ends while tools are active (`abandon`).
 *       If the asker is re-entered before a stopped tool has ended, the tool
 *       starts again once it has.
 *   (7) The other end of a tool chooses whether its text is a result or a
 *       failure.  If guardrails check results (tool_results, or the tool's
 *       own), the asker gets only the code and class of a failure; the record
 *       has the message.
 *   (8) A tool that cannot start waits, like one that asks a person: for budget
 *       that others have reserved, for a resource, for a limit to be raised.
 *       Its asker suspends, which releases its resource and settles its
 *       reservation.  Otherwise the tool and the call that waits for it could
 *       wait for each other forever.
 *   (9) A call with an effect (mortise_node_has_effects) has one execution for all
 *       attempts and generations of its asker.  If an earlier attempt made the
 *       call, and the call failed or was stopped, the later attempt continues
 *       that execution (`invoke_again`).  A graph continues inside, and keeps
 *       its finished nodes.  A plugin's call continues in its next generation:
 *       it keeps its finished steps and the results that people gave, and
 *       people are asked about an open doubt first.  If people rejected the
 *       call in this generation of the asker, or took it as failed, that is the
 *       answer.
 *  (10) An attempt starts only when no doubt of earlier attempts' tools is
 *       being settled: otherwise it could repeat the effect by another call.
 */
#include <assert.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/run/flow/flow.h"

enum { MAX_NEAR_PAUSE_MS = 60000 }; /* shorter pauses keep the run in memory */

/* ---- starting a tool ---------------------------------------------------- */

/* Make the frame of x's tools, with a START that precedes everything in it. */
static int open_tools_frame(struct mortise_run *r, struct exec *x,
                            struct mortise_err *err)
{
    const char *prefix = mortise_sub_make_prefix(r, x);
    struct frame *f;
    struct exec *start;

    if (prefix == NULL)
        return mortise_nomem(err);
    f = mortise_frame_new_for_graph(r, mortise_exec_node(r, x)->tools, prefix,
                                    NULL, err);
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
    mortise_exec_set_state(r, start, X_DONE);
    return MORTISE_OK;
}

/* The first execution of the frame. */
static const struct exec *get_frame_start(const struct frame *f)
{
    const struct exec *x = f->execs;

    while (x->sibling != NULL)
        x = x->sibling;
    assert(x->node == MORTISE_START);
    return x;
}

static struct exec *activate_tool(struct mortise_run *r, struct frame *f,
                                  const struct mortise_node *n,
                                  struct mortise_err *err)
{
    uint32_t first = get_frame_start(f)->index;
    struct indexes preds = {.list = &first, .n = 1, .cap = 1};
    struct item *it = mortise_item_of(f, n->index);
    struct exec *y =
        mortise_exec_new(r, f, n->index, ++it->visits, &preds, err);

    if (y == NULL)
        return NULL;
    it->exec = y->index;
    mortise_exec_set_no_step(y);
    return y;
}

static const struct mortise_offer *get_tool_offer(const struct exec *tool)
{
    return &tool->frame->graph->offers[tool->node];
}

static json_t *make_tool_call_json(const struct mortise_run *r,
                                   const struct exec *y, const struct step *s,
                                   const json_t *value)
{
    char path[MORTISE_EXEC_PATH];

    mortise_exec_print_path(r, y, path);
    return json_pack("{s:s, s:s, s:o, s:O, s:O*}", "tool",
                     get_tool_offer(y)->tool, "call", path, "step",
                     mortise_step_make_name(s), "arguments",
                     json_object_get(value, "arguments"), "tool_use_id",
                     json_object_get(value, "tool_use_id"));
}

/* Finds tools that are not offered, too; NULL: none. */
static const struct mortise_node *
find_tool_node(const struct mortise_graph *tools, const char *id)
{
    for (uint32_t i = 0; tools != NULL && i < tools->n_nodes; i++)
        if (strcmp(tools->nodes[i].id, id) == 0)
            return &tools->nodes[i];
    return NULL;
}

/* y runs for this step. */
static void bind_tool_to_step(struct exec *y, struct step *s)
{
    y->serves = 1 + s->index;
    if (s->has_effect)
        memcpy(y->served, s->effect, sizeof y->served);
    mortise_step_set_tool_exec(s, y);
}

static int announce_tool_call(struct mortise_run *r, const struct exec *x,
                              const struct exec *y, const struct step *s,
                              const json_t *value, struct mortise_err *err)
{
    return mortise_event_announce(
        r, x, "tool_call",
        mortise_run_has_watcher(r) ? make_tool_call_json(r, y, s, value) : NULL,
        err);
}

int mortise_apply_invoke(struct mortise_run *r, struct exec *x,
                         const struct mortise_entry *e, struct mortise_err *err)
{
    const struct mortise_node *n =
        find_tool_node(mortise_exec_node(r, x)->tools, e->id);
    struct step *s;
    struct exec *y;
    int rv;

    if (n == NULL || !json_is_object(json_object_get(e->value, "arguments")))
        return mortise_entry_corrupt(err, e);
    rv = mortise_step_begin_tool(r, x, e, mortise_node_has_effects(n), &s, err);
    if (rv == MORTISE_OK && x->tools == NULL)
        rv = open_tools_frame(r, x, err);
    if (rv != MORTISE_OK)
        return rv;
    y = activate_tool(r, x->tools, n, err);
    if (y == NULL)
        return MORTISE_ENOMEM;
    bind_tool_to_step(y, s);
    mortise_generation_set_given_body(y,
                                      json_object_get(e->value, "arguments"));
    rv = announce_tool_call(r, x, y, s, e->value, err);
    return rv == MORTISE_OK ? mortise_exec_make_ready(r, y, err) : rv;
}

/* ---- repeated calls (9) ------------------------------------------------- */

/* Continue inside, if something there failed or was stopped; else in y's next
 * generation. */
static int continue_tool(struct mortise_run *r, struct exec *y,
                         json_t *arguments, struct mortise_err *err)
{
    bool inside = y->child != NULL &&
                  (y->state == X_FAILED ? y->child_failed : !y->child_over);
    int rv;

    mortise_race_set_loss(y, LOSS_NONE);
    if (!inside) {
        rv = mortise_generation_start_next(r, y, err);
        if (rv == MORTISE_OK && y->body == NULL)
            mortise_generation_set_tool_body(y, arguments);
        return rv;
    }
    y->asked_again = true;
    mortise_exec_set_error(y, NULL);
    mortise_exec_set_ended(y, 0);
    mortise_exec_set_state(r, y, X_INNER_GRAPH);
    rv = mortise_frame_retry_failures(r, y->child, err);
    return rv == MORTISE_OK ? mortise_sub_continue(r, y, err) : rv;
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
    y = mortise_tool_find_earlier(x, s->effect);
    if (y == NULL || strcmp(mortise_exec_node(r, y)->id, e->id) != 0)
        return mortise_entry_corrupt(err, e);
    bind_tool_to_step(y, s);
    rv = announce_tool_call(r, x, y, s, e->value, err);
    return rv == MORTISE_OK ? continue_tool(r, y, arguments, err) : rv;
}

/* ---- the end of a tool (1) ---------------------------------------------- */

/* The first part of the text, with its length and the whole length. */
static json_t *make_cut_text(const char *text, size_t n, size_t most, size_t of)
{
    size_t k = mortise_utf8_get_prefix_size(text, n, most);

    return json_pack("{s:o, s:{s:I, s:I}}", "text",
                     mortise_json_make_string(text, k), "cut", "bytes",
                     (json_int_t)k, "of", (json_int_t)of);
}

/* The number of base64 bytes in these parts, or in resources inside them. */
static size_t count_base64_bytes(const json_t *parts)
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

/* The text of an MCP tool's output, which repeats its content; NULL: it is no
 * such output. */
static const json_t *get_mcp_text(const json_t *output)
{
    const json_t *text = json_object_get(output, "text");

    return json_is_array(json_object_get(output, "content")) &&
                   json_string_length(text) > 0
               ? text
               : NULL;
}

/* The size that counts for max_output: the text that a model is shown. */
static size_t count_text_bytes(const json_t *output, size_t n)
{
    static const char *const parts[] = {"parts", "content", "contents"};

    n -= json_string_length(get_mcp_text(output));
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        n -= count_base64_bytes(json_object_get(output, parts[i]));
    return n;
}

/* (3): {output}, or {text, cut: {bytes, of}}.  NULL: no memory. */
static json_t *make_output_json(const struct mortise_run *r,
                                const struct mortise_offer *offer,
                                json_t *output)
{
    const json_t *texts = get_mcp_text(output);
    const json_t *text = json_is_string(output) ? output : texts;
    char *made =
        json_is_string(output) ? NULL : mortise_json_to_text(r->mem, output);
    size_t most = (size_t)offer->max_output, n;
    json_t *out;

    if (!json_is_string(output) && made == NULL)
        return NULL;
    n = count_text_bytes(output, made != NULL ? strlen(made)
                                              : json_string_length(output));
    if (n <= most)
        out = json_pack("{s:O}", "output", output);
    else if (text != NULL)
        out = make_cut_text(json_string_value(text), json_string_length(text),
                            most, n);
    else
        out = make_cut_text(made, strlen(made), most, n);
    mortise_release_str(r->mem, made);
    return out;
}

static json_t *make_tool_answer(const struct mortise_run *r,
                                const struct exec *y)
{
    if (y->state == X_FAILED)
        return mortise_tool_make_error(r, y);
    return make_output_json(r, get_tool_offer(y),
                            y->state == X_DONE ? y->output : y->result);
}

/* The duration of the last attempt; 0 if it was stopped, since no entry has its
 * start. */
static json_int_t get_tool_ms(const struct exec *y)
{
    return y->state != X_CANCELLED && y->started_ms != 0 &&
                   y->ended_ms > y->started_ms
               ? (json_int_t)(y->ended_ms - y->started_ms)
               : 0;
}

static int announce_tool_result(struct mortise_run *r, const struct exec *x,
                                const struct exec *y, const struct step *s,
                                json_t *answer, struct mortise_err *err)
{
    char path[MORTISE_EXEC_PATH];
    json_t *extra = NULL;

    if (mortise_run_has_watcher(r)) {
        mortise_exec_print_path(r, y, path);
        extra = json_pack("{s:s, s:s, s:o, s:I}", "tool",
                          get_tool_offer(y)->tool, "call", path, "step",
                          mortise_step_make_name(s), "ms", get_tool_ms(y));
        if (extra == NULL || json_object_update(extra, answer) != 0) {
            json_decref(extra);
            return mortise_nomem(err);
        }
    }
    return mortise_event_announce(r, x, "tool_result", extra, err);
}

int mortise_tool_answer_asker(struct mortise_run *r, struct exec *y,
                              struct mortise_err *err)
{
    struct exec *x = y->frame->top->scope->owner;
    struct step *s = mortise_step_find_served(y);
    json_t *answer;
    int rv;

    assert(y->serves != 0 && mortise_exec_has_ended(y));
    if (s == NULL || mortise_exec_has_ended(x))
        return MORTISE_OK;
    if (y->state == X_CANCELLED && y->result == NULL) { /* (4) */
        mortise_step_reopen_tool(x, s);
        /* Nothing else re-enters x. */
        return x->state == X_SUSPENDED && !mortise_tools_are_active(x)
                   ? mortise_exec_make_ready(r, x, err)
                   : MORTISE_OK;
    }
    answer = make_tool_answer(r, y);
    if (answer == NULL)
        return mortise_nomem(err);
    rv = mortise_step_end_tool(r, x, s, answer, y->state != X_FAILED, err);
    if (rv == MORTISE_OK)
        rv = announce_tool_result(r, x, y, s, answer, err);
    json_decref(answer);
    return rv == MORTISE_OK && x->state == X_SUSPENDED
               ? mortise_exec_make_ready(r, x, err)
               : rv;
}

/* ---- waiting tools ------------------------------------------------------ */

/* Does everything that is active in f, and in graphs inside, wait?  The depth
 * of the recursion is the nesting of graphs and regions. */
static bool is_frame_waiting(const struct mortise_run *r, const struct frame *f)
{
    for (const struct exec *x = f->execs; x != NULL; x = x->sibling)
        if (!mortise_exec_has_ended(x) && !mortise_tool_is_only_waiting(r, x))
            return false;
    for (const struct frame *kid = f->kids; kid != NULL; kid = kid->sibling)
        if (!kid->behind && !is_frame_waiting(r, kid))
            return false;
    return true;
}

/* (8) */
static bool is_waiting_for_others(const struct mortise_run *r,
                                  const struct exec *x)
{
    return mortise_budget_must_wait(r, x) ||
           mortise_exec_must_await_resource(r, x) ||
           (mortise_limit_find_exceeded(r, x) != LIMIT_NONE &&
            !mortise_exec_is_final(x));
}

bool mortise_tool_is_only_waiting(const struct mortise_run *r,
                                  const struct exec *y)
{
    switch (y->state) {
    case X_ASKED:
    case X_HELD:
    case X_SUSPENDED:
        return true;
    case X_BACKOFF:
        return y->pause_ms > MAX_NEAR_PAUSE_MS;
    case X_INNER_GRAPH:
        return is_frame_waiting(r, y->child);
    case X_READY:
        return is_waiting_for_others(r, y);
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

struct exec *mortise_tool_find_asker(const struct exec *x,
                                     const struct frame *f)
{
    for (; x != NULL; x = x->frame->top->scope->owner) {
        struct exec *owner = x->frame->top->scope->owner;

        if (owner != NULL && owner->frame->top == f)
            return owner->tools == x->frame->top ? owner : NULL;
    }
    return NULL;
}

/* ---- stopping tools (6) ------------------------------------------------- */

int mortise_apply_abandon(struct mortise_run *r, struct exec *x,
                          const struct mortise_entry *e,
                          struct mortise_err *err)
{
    return x->tools != NULL ? mortise_tools_stop(r, x, err)
                            : mortise_entry_corrupt(err, e);
}

bool mortise_tools_are_active(const struct exec *x)
{
    return x->tools != NULL && x->tools->scope->n_live > 0;
}

bool mortise_tools_are_stopping(const struct exec *x)
{
    if (!mortise_tools_are_active(x))
        return true;
    for (const struct exec *y = x->tools->execs; y != NULL; y = y->sibling)
        if (!mortise_exec_has_ended(y) && y->loss == LOSS_NONE)
            return false;
    return true;
}

int mortise_tools_stop(struct mortise_run *r, struct exec *x,
                       struct mortise_err *err)
{
    int rv = MORTISE_OK;

    if (!mortise_tools_are_active(x))
        return rv;
    for (struct exec *y = x->tools->execs; rv == MORTISE_OK && y != NULL;
         y = y->sibling)
        rv = mortise_race_stop_exec(r, y, LOSS_OUTER, err);
    return rv;
}
