/* sought.c -- discovery edges: a stage of outputs (pipeline.c).
 *
 * A discovery edge leads to the node whose `capability` the deployment's
 * plugins rank first for its query, which sees the state after its node's
 * writes.  The ranking is a call; the edge is then decided like any other.
 *
 *   (1) The findings are recorded with the output before anything follows from
 *       them (`discovered`).  x is then READY and continues with that output.
 *       After a crash in between, the edge leads to the same node, and neither
 *       the node nor the plugins are called again.
 *   (2) If a node has several such edges, their calls are made one after the
 *       other, in order.
 *   (3) If nothing is found, the fallback edge is taken.  The same happens if
 *       discovery fails, gives an invalid answer, or exceeds the node's
 *       timeout, since the node has done its work and `fallback` is the graph's
 *       answer.  The record and the event have the reason.
 *   (4) An output with a goto needs no discovery; nor does an execution that
 *       failed or lost.
 *   (5) If the deployment has no discovery, the fallback is taken without a
 *       call.  The record of the edge has the reason (route.c).
 */
#include <stdio.h>
#include <string.h>

#include <mortise/discovery.h>

#include "core/run/outcome/outcome.h"

enum { MAX_NODE_RESULTS = 8 }; /* results requested; the first is used */

/* ---- the request --------------------------------------------------------- */

/* (4) */
bool mortise_stage_sought_is_due(const struct outcome *o)
{
    return o->x->n_chosen == 0 && o->x->discard == 0 &&
           o->x->loss == LOSS_NONE &&
           mortise_origin_get_member(o->x, (enum done_how)o->entry.how,
                                     "goto") == NULL &&
           mortise_exec_get_next_discovery(o->x) != NULL;
}

static json_t *make_node_candidates(const struct mortise_run *r,
                                    const struct exec *x,
                                    const struct mortise_edge_discovery *d)
{
    const struct mortise_graph *g = x->frame->graph;
    const struct mortise_node *n = mortise_exec_node(r, x);
    json_t *list = json_array();

    for (uint32_t i = 0; list != NULL && i < n->n_out; i++) {
        const struct mortise_edge *e = &g->edges[n->out[i]];
        const struct mortise_node *to;

        if (e->kind != MORTISE_EDGE_FOUND || e->discovery != d)
            continue;
        to = &g->nodes[e->to];
        if (json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "id",
                                                  to->id, "kind", "node",
                                                  "name", to->id, "description",
                                                  to->capability)) != 0)
            mortise_json_clear_ref(&list);
    }
    return list;
}

/* An invalid query finds nothing. */
static bool is_valid_query(const json_t *query)
{
    return json_string_length(query) > 0 &&
           json_string_length(query) <= MORTISE_DISCOVERY_QUERY_MAX;
}

/* Evaluate the query of the next edge while the state after x's writes exists.
 * If that fails, the node fails. */
int mortise_stage_query(struct outcome *o, struct mortise_err *err)
{
    json_t *query = NULL;
    int rv = MORTISE_OK;

    if (mortise_stage_sought_is_due(o))
        rv = mortise_route_eval_query(o, mortise_exec_get_next_discovery(o->x),
                                      &query, err);
    mortise_json_set_ref(&o->x->searched_query, query);
    json_decref(query);
    return rv;
}

static int start_discovery_call(struct outcome *o, struct mortise_err *err)
{
    json_t *body = json_pack(
        "{s:O, s:s, s:i, s:i, s:o}", "query", o->x->searched_query, "kind",
        "node", "max", MAX_NODE_RESULTS, "tokens", 1, "candidates",
        make_node_candidates(o->r, o->x,
                             mortise_exec_get_next_discovery(o->x)));

    if (body == NULL)
        return mortise_nomem(err);
    mortise_json_set_ref(&o->x->seeking, o->output);
    return mortise_call_start_with(o->r, o->x, MORTISE_RUN_DISCOVER, body, err);
}

/* ---- the findings (1) --------------------------------------------------- */

static void clear_seeking(struct exec *x)
{
    mortise_json_clear_ref(&x->seeking);
    mortise_json_clear_ref(&x->searched_query);
}

/* Record the output with all findings so far, and append `found` (taken). */
static int record_discovered(struct mortise_run *r, struct exec *x,
                             json_t *output, json_t *found,
                             struct mortise_err *err)
{
    struct mortise_entry e =
        mortise_exec_make_entry(r, x, MORTISE_E_DISCOVERED);
    json_t *list = x->sought != NULL ? json_copy(x->sought) : json_array();
    bool says = mortise_origin_get(x->how)->says &&
                mortise_exec_node(r, x)->effect < MORTISE_WRITE;
    json_t *said = says ? json_incref(x->said) : NULL;
    int rv = MORTISE_ENOMEM;

    e.how = (uint8_t)x->how;
    e.note = json_incref(x->verdicts);
    if (json_array_append_new(list, found) == 0)
        e.value = json_pack("{s:O, s:O}", "output", output, "found", list);
    if (e.value != NULL)
        rv = mortise_run_record(r, &e, err);
    else
        mortise_nomem(err);
    mortise_entry_finish(&e);
    if (rv == MORTISE_OK)
        rv = mortise_result_record_said(r, x, said, err);
    json_decref(said);
    json_decref(list);
    return rv;
}

static json_t *make_failed_finding(const struct exec *x, json_t *query,
                                   const char *code, const char *words)
{
    return json_pack("{s:O, s:s, s:[], s:{s:s, s:o}}", "query", query, "kind",
                     mortise_exec_get_next_discovery(x)->kind, "results",
                     "error", "code", code, "message",
                     mortise_json_make_string(words, strlen(words)));
}

/* Is `id` a node that this edge can lead to? */
static bool is_edge_candidate(const struct mortise_run *r, const struct exec *x,
                              const char *id)
{
    const struct mortise_edge_discovery *d = mortise_exec_get_next_discovery(x);
    const struct mortise_graph *g = x->frame->graph;
    const struct mortise_node *n = mortise_exec_node(r, x);

    for (uint32_t i = 0; id != NULL && i < n->n_out; i++) {
        const struct mortise_edge *e = &g->edges[n->out[i]];

        if (e->kind == MORTISE_EDGE_FOUND && e->discovery == d &&
            strcmp(g->nodes[e->to].id, id) == 0)
            return true;
    }
    return false;
}

/* {query, kind, results: [{id, score}]}. */
static json_t *parse_node_results(const struct mortise_run *r,
                                  const struct exec *x, const json_t *answer)
{
    const json_t *results = json_object_get(answer, "results");
    json_t *list, *failed = json_object_get(answer, "failed");

    if (!json_is_array(results))
        return make_failed_finding(x, x->searched_query, "discovery.bad_answer",
                                   "the answer is not {results}");
    list = json_array();
    MORTISE_JSON_EACH (one, i, results) {
        const char *id = json_string_value(json_object_get(one, "id"));

        if (!is_edge_candidate(r, x, id)) {
            json_decref(list);
            return make_failed_finding(
                x, x->searched_query, "discovery.bad_answer",
                "discovery returned a result that is not a candidate");
        }
        if (json_array_append_new(
                list, json_pack("{s:s, s:O*}", "id", id, "score",
                                json_object_get(one, "score"))) != 0)
            mortise_json_clear_ref(&list);
    }
    return json_pack("{s:O, s:s, s:o, s:O*}", "query", x->searched_query,
                     "kind", mortise_exec_get_next_discovery(x)->kind,
                     "results", list, "failed", failed);
}

int mortise_stage_sought(struct outcome *o, struct mortise_err *err)
{
    struct exec *x = o->x;
    bool stands;
    int rv = mortise_pipeline_must_stop(o, &stands, err);

    if (rv != MORTISE_OK || stands)
        return rv;
    return is_valid_query(x->searched_query)
               ? start_discovery_call(o, err)
               : record_discovered(
                     o->r, x, o->output,
                     make_failed_finding(
                         x, x->searched_query, "discovery.query",
                         "the query must be a text of 1 to 65536 bytes"),
                     err);
}

bool mortise_sought_is_in_flight(const struct exec *x)
{
    return x->call == MORTISE_RUN_DISCOVER && x->seeking != NULL;
}

int mortise_sought_settle(struct mortise_run *r, struct exec *x,
                          const struct mortise_result_in *in, bool late,
                          struct mortise_err *err)
{
    char words[MORTISE_TIMEOUT_WORDS];
    json_t *found, *output;
    int rv;

    assert(mortise_sought_is_in_flight(x));
    if (late)
        found = make_failed_finding(x, x->searched_query, "discovery.timeout",
                                    mortise_exec_print_timeout(x, words));
    else if (in->status != 0)
        found = make_failed_finding(
            x, x->searched_query,
            in->error_code[0] != '\0' ? in->error_code : "discovery.failed",
            in->message);
    else
        found = parse_node_results(r, x, in->output);
    output = json_incref(x->seeking);
    clear_seeking(x);
    rv = record_discovered(r, x, output, found, err);
    json_decref(output);
    return rv;
}

/* ---- the entry ----------------------------------------------------------- */

int mortise_apply_discovered(struct mortise_run *r, struct exec *x,
                             const struct mortise_entry *e,
                             struct mortise_err *err)
{
    json_t *output = json_object_get(e->value, "output");
    json_t *found = json_object_get(e->value, "found");
    struct mortise_entry left = *e;

    if (output == NULL || !json_is_array(found) ||
        e->generation != x->generation || e->how > DONE_CACHED)
        return mortise_entry_corrupt(err, e);
    left.value = output;
    return mortise_leaving_store_ready(r, x, &left, found, err);
}
