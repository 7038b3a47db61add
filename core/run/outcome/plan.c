/* plan.c -- hitl_mode: approve_plan: a graph waits as a whole for a person's word.
 *
 *   (1) Before that word nothing of the graph has begun.  A run has its START, of
 *       which no edge is decided; a node with such a graph in it (start.c asks) has
 *       no child.  So what is said yes to is what runs, from its first node on.
 *   (2) The request holds the plan as it would run, as YAML and as a picture, and
 *       of a run the digest that it pins.
 *   (3) A yes decides the edges out of START.  They stand in the `planned` entry,
 *       and none in the admission's.
 *   (4) A no makes the run fail of `rejected`.  A resume asks again, as it does of a
 *       node that was rejected; a goto goes on without asking.
 *   (5) A graph in a graph is part of that one's plan, and asks only where no graph
 *       around it has.
 */
#include <assert.h>
#include <string.h>

#include "draw/picture.h"
#include "run/outcome/outcome.h"
#include "yaml/write.h"

enum { COLUMNS = 100 }; /* of the picture */

/* ---- what is proposed ---------------------------------------------------- */

static int draw(const struct mortise_graph *g, struct mortise_buf *yaml,
                struct mortise_buf *picture)
{
    const struct mortise_picture p = {
        .graph = g, .ascii = true, .columns = COLUMNS};
    json_t *tree = mortise_yaml_json(g->tree, false);
    bool nomem = tree == NULL ||
                 mortise_yaml_write(yaml, tree, NULL, NULL) != MORTISE_OK;

    json_decref(tree);
    mortise_picture_text(picture, &p);
    return nomem || mortise_buf_cstr(yaml) == NULL ||
                   mortise_buf_cstr(picture) == NULL
               ? MORTISE_ENOMEM
               : MORTISE_OK;
}

/* {graph, picture}; NULL when memory ran out. */
static json_t *proposal(const struct mortise_run *r,
                        const struct mortise_graph *g)
{
    struct mortise_buf yaml, picture;
    json_t *out = NULL;

    mortise_buf_init(&yaml, r->mem);
    mortise_buf_init(&picture, r->mem);
    if (draw(g, &yaml, &picture) == MORTISE_OK)
        out = json_pack("{s:s, s:s}", "graph", yaml.p, "picture", picture.p);
    mortise_buf_finish(&yaml);
    mortise_buf_finish(&picture);
    return out;
}

int mortise_plan_ask_of(struct mortise_run *r, struct exec *x,
                        struct mortise_err *err)
{
    return mortise_request_ask(r, x, MORTISE_ASK_PLAN,
                               proposal(r, mortise_exec_node(r, x)->sub), 0,
                               err);
}

int mortise_plan_ask(struct mortise_run *r, struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_PLAN};
    json_t *payload = proposal(r, r->graph);
    char digest[MORTISE_DIGEST_HEX], path[MORTISE_EXEC_PATH], id[REQUEST_ID];

    assert(r->plan.waits && r->plan.request[0] == '\0');
    mortise_request_id(r, r->execs[0], id);
    mortise_exec_path(r, r->execs[0], path);
    mortise_hex(digest, r->graph->digest, MORTISE_DIGEST);
    e.id = id;
    if (payload != NULL &&
        json_object_update_new(
            payload, json_pack("{s:s, s:s, s:s, s:s, s:s}", "id", id, "kind",
                               mortise_ask_name(MORTISE_ASK_PLAN), "node",
                               "START", "path", path, "digest", digest)) != 0)
        mortise_json_drop(&payload);
    return mortise_run_record_value(r, &e, payload, err);
}

static int announce_proposed(struct mortise_run *r, struct mortise_err *err)
{
    json_t *extra = NULL;
    int rv =
        mortise_event_interrupt(r, NULL, r->plan.request, r->plan.payload, err);

    if (rv != MORTISE_OK)
        return rv;
    if (mortise_run_is_seen(r))
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
    mortise_json_hold(&r->plan.payload, e->value);
    mortise_json_drop(&r->plan.error);
    mortise_generation_asked(r->execs[0]);
    rv = announce_proposed(r, err);
    return rv == MORTISE_OK ? mortise_pending_open(r, r->plan.request, 0,
                                                   r->plan.payload, err)
                            : rv;
}

/* ---- what is said -------------------------------------------------------- */

bool mortise_plan_is_asked(const struct mortise_run *r, const char *id)
{
    return r->plan.request[0] != '\0' && strcmp(r->plan.request, id) == 0;
}

int mortise_plan_check(const json_t *value, struct mortise_err *err)
{
    const json_t *reason = json_object_get(value, "reason");

    return json_is_boolean(json_object_get(value, "approved")) &&
                   (reason == NULL || json_is_string(reason)) &&
                   json_object_size(value) == 1 + (size_t)(reason != NULL)
               ? MORTISE_OK
               : mortise_fail(err, MORTISE_EINVAL,
                              "a plan is answered with {approved, reason?}");
}

/* The edges out of START, into the entry. */
static int choose(struct mortise_run *r, struct mortise_arena *a,
                  struct mortise_entry *e, struct mortise_err *err)
{
    e->edges = mortise_arena_alloc(a, r->graph->n_start * sizeof e->edges[0]);
    return e->edges != NULL
               ? mortise_total_choose_start(r, r->graph,
                                            r->frames[0]->scope->input, e, err)
               : mortise_nomem(err);
}

static int settle(struct mortise_run *r, enum mortise_settle how, json_t *value,
                  const char *actor, struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_PLANNED,
                              .how = (uint8_t)how,
                              .value = value,
                              .actor = actor};
    bool approved = json_is_true(json_object_get(value, "approved"));
    char id[REQUEST_ID];
    struct mortise_arena a;
    int rv;

    memcpy(id, r->plan.request, sizeof id); /* applying forgets it */
    e.id = id;
    mortise_arena_init(&a, r->mem);
    rv = approved ? choose(r, &a, &e, err) : MORTISE_OK;
    if (rv == MORTISE_OK)
        rv = mortise_run_record(r, &e, err);
    mortise_arena_finish(&a);
    return rv;
}

int mortise_plan_answer(struct mortise_run *r, json_t *value, const char *actor,
                        struct mortise_err *err)
{
    assert(r->plan.request[0] != '\0');
    return settle(r, MORTISE_SETTLE_ANSWERED, value, actor, err);
}

int mortise_plan_withdraw(struct mortise_run *r, struct mortise_err *err)
{
    return r->plan.request[0] != '\0'
               ? settle(r, MORTISE_SETTLE_WITHDRAWN, NULL, "", err)
               : MORTISE_OK;
}

void mortise_plan_holds(struct mortise_run *r)
{
    r->plan.waits = true;
}

void mortise_plan_forget(struct mortise_run *r)
{
    r->plan.waits = false;
    mortise_json_drop(&r->plan.error);
}

static json_t *rejection(const struct mortise_entry *e)
{
    const char *reason = mortise_json_text_of(e->value, "reason");
    struct mortise_err words;

    mortise_fail(&words, MORTISE_EDENIED, "the plan was rejected by %s%s%s",
                 e->actor, reason[0] != '\0' ? ": " : "", reason);
    return json_pack("{s:s, s:s}", "code", "rejected", "message", words.msg);
}

static int announce_answer(struct mortise_run *r, const struct mortise_entry *e,
                           bool approved, struct mortise_err *err)
{
    json_t *extra = NULL;

    if (mortise_run_is_seen(r))
        extra =
            json_pack("{s:s, s:s, s:O*, s:O*}", "id", e->id, "actor", e->actor,
                      "reason", json_object_get(e->value, "reason"), "digest",
                      json_object_get(r->plan.payload, "digest"));
    return mortise_event_announce(
        r, NULL, approved ? "plan_approved" : "plan_rejected", extra, err);
}

/* A person said yes or no. */
static int answered(struct mortise_run *r, const struct mortise_entry *e,
                    struct mortise_err *err)
{
    struct exec *start = r->execs[0];
    bool approved = json_is_true(json_object_get(e->value, "approved"));
    int rv = announce_answer(r, e, approved, err);

    if (rv != MORTISE_OK)
        return rv;
    if (!approved) {
        r->plan.error = rejection(e);
        return r->plan.error != NULL ? MORTISE_OK : mortise_nomem(err);
    }
    mortise_plan_forget(r);
    rv = mortise_exec_keep_taken(r, start, e, err);
    return rv == MORTISE_OK ? mortise_frame_follow_start(r, start, err) : rv;
}

int mortise_apply_planned(struct mortise_run *r, const struct mortise_entry *e,
                          struct mortise_err *err)
{
    bool said = e->how == MORTISE_SETTLE_ANSWERED;
    int rv;

    if (!mortise_plan_is_asked(r, e->id) ||
        (!said && e->how != MORTISE_SETTLE_WITHDRAWN) ||
        (said && mortise_plan_check(e->value, err) != MORTISE_OK) ||
        !mortise_exec_edges_fit(r->graph->start, r->graph->n_start, e))
        return mortise_entry_corrupt(err, e);
    rv = mortise_event_decision(r, NULL, e, err);
    if (rv == MORTISE_OK)
        rv = mortise_pending_close(r, r->plan.request, 0, false, err);
    if (rv == MORTISE_OK)
        rv = mortise_settled_add(r, e, err);
    r->plan.request[0] = '\0';
    if (rv == MORTISE_OK && said)
        rv = answered(r, e, err);
    else
        mortise_plan_forget(r);
    mortise_json_drop(&r->plan.payload);
    return rv;
}
