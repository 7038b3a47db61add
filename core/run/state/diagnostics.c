/* diagnostics.c -- what came before an execution, counted: the name
 * `diagnostics` of expressions.
 *
 *     {NODE: {runs, attempts, usage: {model_calls, input_tokens, output_tokens,
 *                                     usd, by_model: {MODEL: the same four}}}}
 *
 *   (1) Of each node of the graph, over its executions in the causal past of
 *       the one that asks (all visits and elements), and over that one itself
 *       where its edges are chosen, when it has ended.  So timing does not
 *       show: what runs beside it is not counted, and all are sums.
 *   (2) What runs inside a subgraph node counts as the node's own usage.
 *   (3) There is no time in it: a graph that branched on how long a thing took
 *       would end otherwise on another day.
 *
 * Made for whoever asks, by a look at every execution of the run.
 */
#include <string.h>

#include "run/state/state.h"

struct tally {
    uint32_t runs, attempts;
    struct mortise_usage usage; /* amounts, and by model */
};

/* MORTISE_ENOMEM. */
static int count(struct tally *tallies, const struct frame *top,
                 const struct exec *y, const struct exec *z)
{
    struct mortise_usage used = {.models = NULL};
    struct tally *t;

    if (z->node >= top->graph->n_nodes || z->fan != NULL)
        return MORTISE_OK; /* START, an update, what a map gathered */
    t = &tallies[z->node];
    t->runs += y == z;
    t->attempts += y == z ? y->attempt : 0;
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

static json_t *tally_json(const struct mortise_graph *g,
                          const struct tally *tallies)
{
    json_t *out = json_object();

    for (uint32_t i = 0; i < g->n_nodes && out != NULL; i++) {
        const struct tally *t = &tallies[i];
        json_t *one =
            json_pack("{s:i, s:i, s:o}", "runs", (int)t->runs, "attempts",
                      (int)t->attempts, "usage", usage_json(&t->usage));

        if (one == NULL || json_object_set_new(out, g->nodes[i].id, one) != 0) {
            json_decref(out);
            out = NULL;
        }
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
            rv = count(tallies, top, r->execs[i], z) == MORTISE_OK
                     ? MORTISE_OK
                     : mortise_nomem(err);
    }
    *out = rv == MORTISE_OK ? tally_json(top->graph, tallies) : NULL;
    if (rv == MORTISE_OK && *out == NULL)
        rv = mortise_nomem(err);
    for (uint32_t i = 0; tallies != NULL && i < n; i++)
        mortise_usage_finish(&tallies[i].usage);
    mortise_release(r->mem, tallies, n * sizeof *tallies);
    return rv;
}
