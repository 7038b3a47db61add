/* diagnostics.c -- what came before an execution, counted: the name
 * `diagnostics` of expressions.
 *
 *     {NODE: {runs, attempts, usage: {model_calls, input_tokens, output_tokens,
 *                                     usd, by_model: {MODEL: the same four}},
 *            guardrails: {ID: {ACTION: n}}}}
 *
 *   (1) Of each node of the graph, over its executions in the causal past of
 *       the one that asks (all visits and elements), and over that one itself
 *       where its edges are chosen, when it has ended.  So timing does not
 *       show: what runs beside it is not counted, and all are sums.
 *   (2) What runs inside a subgraph node counts as the node's own usage.
 *   (2b) Of guardrails it is counted how often each said what: pass, warn,
 *       sanitize, reroute or block.  Their reasons, which are for people, and
 *       how long they took are in the record of the execution and in events.
 *   (3) There is no time in it: a graph that branched on how long a thing took
 *       would end otherwise on another day.
 *
 * Made for whoever asks, by a look at every execution of the run.
 */
#include <string.h>

#include "core/run/state/state.h"

struct tally {
    uint32_t runs, attempts;
    struct mortise_usage usage; /* amounts, and by model */
    json_t *guardrails;         /* NULL: none said anything */
};

/* One more of that verdict; MORTISE_ENOMEM. */
static int count_verdict(struct tally *t, const json_t *note)
{
    const char *id = json_string_value(json_object_get(note, "guardrail"));
    const char *action = json_string_value(json_object_get(note, "action"));
    json_t *one;

    if (id == NULL || action == NULL)
        return MORTISE_OK;
    if (t->guardrails == NULL)
        t->guardrails = json_object();
    one = json_object_get(t->guardrails, id);
    if (one == NULL) {
        one = json_object();
        if (json_object_set_new(t->guardrails, id, one) != 0)
            return MORTISE_ENOMEM;
    }
    return json_object_set_new(
               one, action,
               json_integer(json_integer_value(json_object_get(one, action)) +
                            1)) == 0
               ? MORTISE_OK
               : MORTISE_ENOMEM;
}

static int count_verdicts(struct tally *t, const json_t *notes)
{
    int rv = MORTISE_OK;

    MORTISE_JSON_EACH (note, i, notes)
        if (rv == MORTISE_OK)
            rv = count_verdict(t, note);
    return rv;
}

/* y is z, or in the graph of it; `asks`: it is y that asks, and what was said
 * of its output is not among its notes yet.  MORTISE_ENOMEM. */
static int count(struct tally *tallies, const struct frame *top,
                 const struct exec *y, const struct exec *z, bool asks)
{
    struct mortise_usage used = {.models = NULL};
    struct tally *t;

    if (z->node >= top->graph->n_nodes || z->fan != NULL)
        return MORTISE_OK; /* START, an update, what a map gathered */
    t = &tallies[z->node];
    t->runs += y == z;
    t->attempts += y == z ? y->attempt : 0;
    if (y == z && count_verdicts(t, y->notes) != MORTISE_OK)
        return MORTISE_ENOMEM;
    if (asks && count_verdicts(t, y->verdicts) != MORTISE_OK)
        return MORTISE_ENOMEM;
    if (y->cost == NULL)
        return MORTISE_OK;
    memcpy(used.amount, y->cost->all.amount, sizeof used.amount);
    used.by_model = y->cost->all.by_model; /* lent */
    return mortise_usage_add(&t->usage, &used);
}

/* With `by_model`, whatever is in it. */
static json_t *usage_json(const struct mortise_usage *u)
{
    json_t *out = mortise_usage_shown(u);

    if (out == NULL || json_object_get(out, "by_model") != NULL ||
        json_object_set_new(out, "by_model", json_object()) == 0)
        return out;
    json_decref(out);
    return NULL;
}

static int put_guardrails(json_t *to, const struct tally *t)
{
    return t->guardrails != NULL
               ? json_object_set(to, "guardrails", t->guardrails)
               : json_object_set_new(to, "guardrails", json_object());
}

/* `one` (taken) with its members, and those of what is in it, in the order of their
 * names: which execution was counted first must not show. */
static json_t *in_order(const struct mortise_run *r, json_t *one)
{
    struct mortise_buf text;
    struct mortise_err why; /* it is memory, whatever it says */
    json_t *out = NULL;

    mortise_buf_init(&text, r->mem);
    if (one != NULL && mortise_json_canonical(&text, one) == MORTISE_OK &&
        mortise_json_read(&out, text.p, text.n, &why) != MORTISE_OK)
        out = NULL;
    mortise_buf_finish(&text);
    json_decref(one);
    return out;
}

static json_t *tally_json(const struct mortise_run *r,
                          const struct mortise_graph *g,
                          const struct tally *tallies)
{
    json_t *out = json_object();

    for (uint32_t i = 0; i < g->n_nodes && out != NULL; i++) {
        const struct tally *t = &tallies[i];
        json_t *one =
            json_pack("{s:i, s:i, s:o}", "runs", (int)t->runs, "attempts",
                      (int)t->attempts, "usage", usage_json(&t->usage));

        if (one != NULL && put_guardrails(one, t) != 0)
            mortise_json_drop(&one);
        one = in_order(r, one);
        if (one == NULL || json_object_set(out, g->nodes[i].id, one) != 0)
            mortise_json_drop(&out);
        json_decref(one);
    }
    return out;
}

int mortise_diagnostics_of(struct mortise_run *r, const struct exec *x,
                           const struct frame *top, bool itself, json_t **out,
                           struct mortise_err *err)
{
    uint32_t n = top->graph->n_nodes, mark = 0;
    struct tally *tallies = mortise_zalloc(r->mem, n * sizeof *tallies);
    bool inside = x->child == top;
    int rv = tallies != NULL ? MORTISE_OK : mortise_nomem(err);

    if (rv == MORTISE_OK && !inside)
        rv = mortise_view_mark(r, x, &mark, err);
    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++) {
        const struct exec *z = mortise_exec_within(r->execs[i], top);

        if (z != NULL && (inside || z->mark == mark || (itself && z == x)))
            rv = count(tallies, top, r->execs[i], z,
                       itself && r->execs[i] == x) == MORTISE_OK
                     ? MORTISE_OK
                     : mortise_nomem(err);
    }
    *out = rv == MORTISE_OK ? tally_json(r, top->graph, tallies) : NULL;
    if (rv == MORTISE_OK && *out == NULL)
        rv = mortise_nomem(err);
    for (uint32_t i = 0; tallies != NULL && i < n; i++) {
        mortise_usage_finish(&tallies[i].usage);
        json_decref(tallies[i].guardrails);
    }
    mortise_release(r->mem, tallies, n * sizeof *tallies);
    return rv;
}
