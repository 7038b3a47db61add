/* diagnostics.c -- counts for the name `diagnostics` in expressions.
 *
 *     {NODE: {runs, attempts, usage: {model_calls, input_tokens, output_tokens,
 *                                     usd, by_model: {MODEL: the same four}},
 *            guardrails: {ID: {ACTION: n}}}}
 *
 *   (1) The counts of a node are sums over its executions in the causal past
 *       of the asking execution, for all visits and elements.  The asking
 *       execution itself is included when its edges are chosen, because it has
 *       ended then.  Executions that run beside it are not counted, so the
 *       result does not depend on timing.
 *   (2) The usage inside a subgraph node counts as usage of the node.
 *   (2b) For guardrails, the counts are of verdicts: pass, warn, sanitize,
 *       reroute or block.  Their reasons and durations are only in the record
 *       of the execution and in events.
 *   (3) There are no times: a graph that branched on a duration would take
 *       another path on another day.
 *
 * The counts are computed on demand, by a scan of all executions of the run.
 */
#include <string.h>

#include "core/run/state/state.h"

struct tally {
    uint32_t runs, attempts;
    struct mortise_usage usage; /* amounts, and by model */
    json_t *guardrails;         /* NULL: no verdicts */
};

/* Add one to the count of a verdict; MORTISE_ENOMEM. */
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

/* Count y, which is z or runs in the graph of z.  `asks`: y is the asking
 * execution, and its newest verdicts are not in its notes yet.
 * MORTISE_ENOMEM. */
static int count_exec(struct tally *tallies, const struct frame *top,
                      const struct exec *y, const struct exec *z, bool asks)
{
    struct mortise_usage used = {.models = NULL};
    struct tally *t;

    if (z->node >= top->graph->n_nodes || z->fan != NULL)
        return MORTISE_OK; /* START, an update, or a gathered map */
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
    used.by_model = y->cost->all.by_model; /* borrowed */
    return mortise_usage_add(&t->usage, &used);
}

/* `by_model` is always a member, even if it is empty. */
static json_t *build_usage_json(const struct mortise_usage *u)
{
    json_t *out = mortise_usage_to_user_json(u);

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

/* Sort the members of `one` (taken) and of its values by name, so that the
 * order of counting does not show. */
static json_t *sort_members(const struct mortise_run *r, json_t *one)
{
    struct mortise_buf text;
    struct mortise_err why; /* unused: the only possible failure is memory */
    json_t *out = NULL;

    mortise_buf_init(&text, r->mem);
    if (one != NULL && mortise_json_write_canonical(&text, one) == MORTISE_OK &&
        mortise_json_parse_written(&out, text.p, text.n, &why) != MORTISE_OK)
        out = NULL;
    mortise_buf_finish(&text);
    json_decref(one);
    return out;
}

static json_t *build_tally_json(const struct mortise_run *r,
                                const struct mortise_graph *g,
                                const struct tally *tallies)
{
    json_t *out = json_object();

    for (uint32_t i = 0; i < g->n_nodes && out != NULL; i++) {
        const struct tally *t = &tallies[i];
        json_t *one =
            json_pack("{s:i, s:i, s:o}", "runs", (int)t->runs, "attempts",
                      (int)t->attempts, "usage", build_usage_json(&t->usage));

        if (one != NULL && put_guardrails(one, t) != 0)
            mortise_json_clear_ref(&one);
        one = sort_members(r, one);
        if (one == NULL || json_object_set(out, g->nodes[i].id, one) != 0)
            mortise_json_clear_ref(&out);
        json_decref(one);
    }
    return out;
}

int mortise_diagnostics_make(struct mortise_run *r, const struct exec *x,
                             const struct frame *top, bool itself, json_t **out,
                             struct mortise_err *err)
{
    uint32_t n = top->graph->n_nodes, mark = 0;
    struct tally *tallies = mortise_zalloc(r->mem, n * sizeof *tallies);
    bool inside = x->child == top;
    int rv = tallies != NULL ? MORTISE_OK : mortise_nomem(err);

    if (rv == MORTISE_OK && !inside)
        rv = mortise_view_mark_past(r, x, &mark, err);
    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++) {
        const struct exec *z = mortise_exec_find_within(r->execs[i], top);

        if (z != NULL && (inside || z->mark == mark || (itself && z == x)))
            rv = count_exec(tallies, top, r->execs[i], z,
                            itself && r->execs[i] == x) == MORTISE_OK
                     ? MORTISE_OK
                     : mortise_nomem(err);
    }
    *out = rv == MORTISE_OK ? build_tally_json(r, top->graph, tallies) : NULL;
    if (rv == MORTISE_OK && *out == NULL)
        rv = mortise_nomem(err);
    for (uint32_t i = 0; tallies != NULL && i < n; i++) {
        mortise_usage_finish(&tallies[i].usage);
        json_decref(tallies[i].guardrails);
    }
    mortise_release(r->mem, tallies, n * sizeof *tallies);
    return rv;
}
