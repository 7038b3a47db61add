/* plan.c -- hitl_mode: approve_plan, or stricter: a person approves a graph as
 * a whole before it starts.
 *
 *   (1) Before the approval nothing of the graph has started.  A run has its
 *       START, with no edge decided; a node with such a graph (start.c asks)
 *       has no child.  So the approved plan is exactly the one that runs.
 *   (2) The request contains the plan as it would run, as YAML and as a
 *       picture (the loader makes both), and for a run the digest that it pins.
 *   (3) An approval decides the edges out of START.  They are in the `planned`
 *       entry, and not in the admission.
 *   (3b) An approval can contain an edited graph.  The sender of the command
 *       compiled and checked it (core/engine/runs/steering.c).  It must accept
 *       the run's input, and replaces the run's graph entirely.
 *   (4) A rejection fails the run with `rejected`.  A resume asks again, as for
 *       a rejected node; a goto continues without asking.
 *   (5) An inner graph is a part of the outer plan.  It asks only if no graph
 *       around it has asked; the same holds for a native child made of a node
 *       of such a plan.
 */
#include <assert.h>
#include <string.h>

#include "core/run/outcome/outcome.h"

/* ---- the proposal -------------------------------------------------------- */

/* {graph, picture}; NULL: no memory. */
static json_t *make_proposal(const struct mortise_graph *g)
{
    assert(g->plan != NULL);
    return json_pack("{s:s, s:s}", "graph", g->plan->yaml, "picture",
                     g->plan->picture);
}

int mortise_plan_ask_node(struct mortise_run *r, struct exec *x,
                          struct mortise_err *err)
{
    return mortise_request_record(r, x, MORTISE_ASK_PLAN,
                                  make_proposal(mortise_exec_node(r, x)->sub),
                                  0, err);
}

int mortise_plan_ask(struct mortise_run *r, struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_PLAN};
    json_t *payload = make_proposal(r->graph);
    char digest[MORTISE_DIGEST_HEX], path[MORTISE_EXEC_PATH], id[REQUEST_ID];

    assert(r->plan.waits && r->plan.request[0] == '\0');
    mortise_request_make_id(r, r->execs[0], id);
    mortise_exec_print_path(r, r->execs[0], path);
    mortise_hex_encode(digest, r->graph->digest, MORTISE_DIGEST);
    e.id = id;
    if (payload != NULL &&
        json_object_update_new(
            payload, json_pack("{s:s, s:s, s:s, s:s, s:s}", "id", id, "kind",
                               mortise_ask_name(MORTISE_ASK_PLAN), "node",
                               "START", "path", path, "digest", digest)) != 0)
        mortise_json_clear_ref(&payload);
    return mortise_run_record_value(r, &e, payload, err);
}

static int announce_proposed(struct mortise_run *r, struct mortise_err *err)
{
    json_t *extra = NULL;
    int rv = mortise_event_announce_request(r, NULL, r->plan.request,
                                            r->plan.payload, err);

    if (rv != MORTISE_OK)
        return rv;
    if (mortise_run_has_watcher(r))
        extra = json_pack("{s:s, s:s, s:O}", "id", r->plan.request, "graph",
                          r->graph->name, "digest",
                          json_object_get(r->plan.payload, "digest"));
    return mortise_event_announce(r, NULL, "plan_proposed", extra, err);
}

int mortise_apply_plan(struct mortise_run *r, const struct mortise_entry *e,
                       struct mortise_err *err)
{
    int rv;

    if (!r->plan.waits || r->plan.request[0] != '\0' ||
        strlen(e->id) != REQUEST_ID - 1 || !json_is_object(e->value) ||
        !json_is_string(json_object_get(e->value, "digest")))
        return mortise_entry_corrupt(err, e);
    memcpy(r->plan.request, e->id, REQUEST_ID);
    mortise_json_set_ref(&r->plan.payload, e->value);
    mortise_json_clear_ref(&r->plan.error);
    mortise_generation_count_request(r->execs[0]);
    rv = announce_proposed(r, err);
    return rv == MORTISE_OK ? mortise_pending_open(r, r->plan.request, 0,
                                                   r->plan.payload, err)
                            : rv;
}

/* ---- the answer ---------------------------------------------------------- */

bool mortise_plan_is_asked(const struct mortise_run *r, const char *id)
{
    return r->plan.request[0] != '\0' && strcmp(r->plan.request, id) == 0;
}

static int fail_invalid_answer(struct mortise_err *err)
{
    return mortise_fail(err, MORTISE_EINVAL,
                        "the answer to a plan must be {\"approved\": true or "
                        "false}, optionally with \"reason\" (a string) and, if "
                        "approved is true, \"graph\" (the edited plan)");
}

/* It must be {approved, reason?} and `more` other members. */
static int check_answer_members(const json_t *value, size_t more,
                                struct mortise_err *err)
{
    const json_t *reason = json_object_get(value, "reason");

    return json_is_boolean(json_object_get(value, "approved")) &&
                   (reason == NULL || json_is_string(reason)) &&
                   json_object_size(value) ==
                       1 + (size_t)(reason != NULL) + more
               ? MORTISE_OK
               : fail_invalid_answer(err);
}

int mortise_plan_check_node_answer(const json_t *value, struct mortise_err *err)
{
    return json_object_get(value, "graph") != NULL
               ? mortise_fail(
                     err, MORTISE_EINVAL,
                     "an answer cannot edit the plan of a node; reject the "
                     "plan, or approve it and steer the run")
               : check_answer_members(value, 0, err);
}

/* Add the edges out of START of g to the entry. */
static int choose_start_edges(struct mortise_run *r,
                              const struct mortise_graph *g, json_t *input,
                              struct mortise_arena *a, struct mortise_entry *e,
                              struct mortise_beginning *begin,
                              struct mortise_err *err)
{
    e->edges = mortise_arena_alloc(a, g->n_start * sizeof e->edges[0]);
    return e->edges != NULL
               ? mortise_total_choose_start(r, g, input, e, begin, err)
               : mortise_nomem(err);
}

/* Does that graph accept the run's input? */
static int check_graph_takes_input(struct mortise_run *r,
                                   const struct mortise_graph *g,
                                   struct mortise_err *err)
{
    struct mortise_entry e = {.n_edges = 0};
    struct mortise_beginning begin = {.lists = NULL};
    struct mortise_arena a;
    json_t *input = NULL;
    int rv =
        mortise_total_check_input(g, r->frames[0]->scope->input, &input, err);

    mortise_arena_init(&a, r->mem);
    if (rv == MORTISE_OK)
        rv = choose_start_edges(r, g, input, &a, &e, &begin, err);
    json_decref(begin.lists);
    mortise_arena_finish(&a);
    json_decref(input);
    return rv;
}

static int check_edited_plan(struct mortise_run *r, const json_t *value,
                             const struct mortise_steering *edited,
                             struct mortise_err *err)
{
    if (check_answer_members(value, 1, err) != MORTISE_OK ||
        !json_is_true(json_object_get(value, "approved")))
        return fail_invalid_answer(err);
    if (!mortise_regraph_can_replace(r))
        return mortise_fail(
            err, MORTISE_ESTATE,
            "the state of run %s changed while its plan was pending, so the "
            "plan can be approved or rejected but not edited",
            r->id);
    if (edited == NULL || edited->graph->former != r->graph)
        return mortise_fail(err, MORTISE_EINVAL,
                            "only an engine can edit a plan, because it "
                            "compiles the new graph");
    return check_graph_takes_input(r, edited->graph, err);
}

int mortise_plan_check(struct mortise_run *r, const json_t *value,
                       const struct mortise_steering *edited,
                       struct mortise_err *err)
{
    return json_object_get(value, "graph") != NULL
               ? check_edited_plan(r, value, edited, err)
               : check_answer_members(value, 0, err);
}

const json_t *mortise_run_get_edited_plan(const struct mortise_run *r,
                                          const struct mortise_run_command *c)
{
    return c->kind == MORTISE_CMD_ANSWER && c->id != NULL &&
                   mortise_plan_is_asked(r, c->id)
               ? json_object_get(c->value, "graph")
               : NULL;
}

/* Takes `value`. */
static int record_planned(struct mortise_run *r, enum mortise_settle how,
                          json_t *value, const struct mortise_graph *g,
                          const char *actor, struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_PLANNED,
                              .how = (uint8_t)how,
                              .value = value,
                              .actor = actor};
    struct mortise_beginning begin = {.lists = NULL};
    bool approved = json_is_true(json_object_get(value, "approved"));
    char id[REQUEST_ID];
    struct mortise_arena a;
    int rv;

    memcpy(id, r->plan.request, sizeof id); /* applying the entry clears it */
    memcpy(e.digest, g->digest, sizeof e.digest);
    e.id = id;
    mortise_arena_init(&a, r->mem);
    rv = approved ? choose_start_edges(r, g, r->frames[0]->scope->input, &a, &e,
                                       &begin, err)
                  : MORTISE_OK;
    if (rv == MORTISE_OK)
        rv = mortise_total_record_start(r, &e, &begin, err);
    json_decref(begin.lists);
    mortise_arena_finish(&a);
    json_decref(value);
    return rv;
}

/* Record the answer without its graph, which is stored with the run. */
static json_t *make_recorded_answer(json_t *value)
{
    json_t *out = json_copy(value);

    if (out != NULL && json_object_del(out, "graph") == 0 &&
        json_object_set_new(out, "edited", json_true()) != 0)
        mortise_json_clear_ref(&out);
    return out;
}

int mortise_plan_answer(struct mortise_run *r, json_t *value,
                        const struct mortise_steering *edited,
                        const char *actor, struct mortise_err *err)
{
    bool other = json_object_get(value, "graph") != NULL;
    json_t *said = make_recorded_answer(value);
    int rv = said != NULL ? MORTISE_OK : mortise_nomem(err);

    assert(r->plan.request[0] != '\0');
    for (size_t i = 0; rv == MORTISE_OK && other && i < edited->n_pins; i++)
        rv = mortise_pins_record_used(r, &edited->pins[i], err);
    if (rv != MORTISE_OK) {
        json_decref(said);
        return rv;
    }
    if (other)
        mortise_run_add_next_graph(r, edited->graph);
    return record_planned(r, MORTISE_SETTLE_ANSWERED, said,
                          other ? edited->graph : r->graph, actor, err);
}

int mortise_plan_withdraw(struct mortise_run *r, struct mortise_err *err)
{
    return r->plan.request[0] != '\0'
               ? record_planned(r, MORTISE_SETTLE_WITHDRAWN, NULL, r->graph, "",
                                err)
               : MORTISE_OK;
}

void mortise_plan_set_waiting(struct mortise_run *r)
{
    r->plan.waits = true;
}

void mortise_plan_forget(struct mortise_run *r)
{
    r->plan.waits = false;
    mortise_json_clear_ref(&r->plan.error);
}

static json_t *make_rejection_error(const struct mortise_entry *e)
{
    const char *reason = mortise_json_get_text(e->value, "reason");
    struct mortise_err words;

    mortise_fail(&words, MORTISE_EDENIED, "the plan was rejected by %s%s%s",
                 e->actor, reason[0] != '\0' ? ": " : "", reason);
    return mortise_error_new(NULL, "rejected", "permanent", words.msg);
}

static int announce_answer(struct mortise_run *r, const struct mortise_entry *e,
                           bool approved, struct mortise_err *err)
{
    char digest[MORTISE_DIGEST_HEX];
    json_t *extra = NULL;

    mortise_hex_encode(digest, e->digest, MORTISE_DIGEST);
    if (mortise_run_has_watcher(r))
        extra = json_pack(
            "{s:s, s:s, s:O*, s:O*, s:s}", "id", e->id, "actor", e->actor,
            "reason", json_object_get(e->value, "reason"), "edited",
            json_object_get(e->value, "edited"), "digest", digest);
    return mortise_event_announce(
        r, NULL, approved ? "plan_approved" : "plan_rejected", extra, err);
}

/* The graph that the entry approves, an edited one or the run's own; NULL: it
 * is unknown. */
static struct mortise_graph *get_planned_graph(const struct mortise_run *r,
                                               const struct mortise_entry *e)
{
    bool edited = json_is_true(json_object_get(e->value, "edited"));
    struct mortise_graph *g = edited ? mortise_regraph_get_next(r) : r->graph;

    return g != NULL && memcmp(g->digest, e->digest, MORTISE_DIGEST) == 0
               ? g
               : NULL;
}

/* Replace the run's graph, as if the run had been admitted with this one. */
static int adopt_graph(struct mortise_run *r, struct mortise_graph *g,
                       struct mortise_err *err)
{
    struct scope *in = r->frames[0]->scope;
    json_t *input = NULL;
    int rv = mortise_total_check_input(g, in->input, &input, err);

    if (rv == MORTISE_OK)
        rv = mortise_regraph_replace(r, g, err);
    if (rv == MORTISE_OK)
        rv = mortise_budget_replace_purse(r, in, g, err);
    if (rv == MORTISE_OK &&
        (json_object_set_new(r->self, "graph", json_string(g->name)) != 0 ||
         json_object_set_new(r->self, "version", json_string(g->version)) != 0))
        rv = mortise_nomem(err);
    if (rv == MORTISE_OK)
        mortise_json_set_ref(&in->input, input);
    json_decref(input);
    return rv;
}

/* Apply an approval or a rejection. */
static int apply_plan_answer(struct mortise_run *r,
                             const struct mortise_entry *e,
                             struct mortise_err *err)
{
    struct exec *start = r->execs[0];
    bool approved = json_is_true(json_object_get(e->value, "approved"));
    struct mortise_graph *g = get_planned_graph(r, e);
    int rv = announce_answer(r, e, approved, err);

    assert(g != NULL); /* the caller has checked this */
    if (rv == MORTISE_OK && g != r->graph)
        rv = adopt_graph(r, g, err);
    if (rv != MORTISE_OK)
        return rv;
    if (!approved) {
        r->plan.error = make_rejection_error(e);
        return r->plan.error != NULL ? MORTISE_OK : mortise_nomem(err);
    }
    mortise_plan_forget(r);
    rv = mortise_exec_store_taken(r, start, e, err);
    return rv == MORTISE_OK ? mortise_frame_decide_start_edges(r, start, err)
                            : rv;
}

int mortise_apply_planned(struct mortise_run *r, const struct mortise_entry *e,
                          struct mortise_err *err)
{
    bool said = e->how == MORTISE_SETTLE_ANSWERED;
    bool edited = json_object_get(e->value, "edited") != NULL;
    const struct mortise_graph *g = get_planned_graph(r, e);
    int rv;

    if (!mortise_plan_is_asked(r, e->id) || g == NULL ||
        (!said && e->how != MORTISE_SETTLE_WITHDRAWN) ||
        (said && check_answer_members(e->value, edited, err) != MORTISE_OK) ||
        (edited && (!json_is_true(json_object_get(e->value, "approved")) ||
                    !mortise_regraph_can_replace(r) ||
                    check_graph_takes_input(r, g, err) != MORTISE_OK)) ||
        !mortise_exec_can_take_edges(g->start, g->n_start, e))
        return mortise_entry_corrupt(err, e);
    rv = mortise_event_announce_decision(r, NULL, e, err);
    if (rv == MORTISE_OK)
        rv = mortise_pending_close(r, r->plan.request, 0, false, err);
    if (rv == MORTISE_OK)
        rv = mortise_settled_add(r, e, err);
    r->plan.request[0] = '\0';
    if (rv == MORTISE_OK && said)
        rv = apply_plan_answer(r, e, err);
    else
        mortise_plan_forget(r);
    mortise_json_clear_ref(&r->plan.payload);
    return rv;
}
