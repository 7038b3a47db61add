/* command.c -- people's commands: validated, then recorded, then obeyed.
 *
 * The list that comes in one call is one: every command of it is validated
 * before anything is recorded, and what is recorded stands in one commit.  The
 * order is decisions, plugins, update, goto, cancel, pause, resume, whatever
 * the order given.
 *
 * `update` and `goto` change what executions see, so what is in flight is
 * cancelled first and the list waits (r->held) until the calls have let go; it
 * is validated again then, since a call may have ended well on the way.  A call
 * in the middle of an effect that may not be done again is not cancelled for
 * them: they are refused.
 * `pause` waits in the same manner, but lets effects come to their end, for as
 * long as the event's patience.  A paused run stands still, whatever is decided
 * or falls due, until a `resume`, or an update or goto that goes on.
 *
 * Who gives a command comes from the transport, never from the command.  The
 * list may have an id (order.c).
 */
#include <assert.h>
#include <string.h>

#include "run/command/command.h"

bool mortise_command_has(const struct held_command *h, uint32_t kind)
{
    for (size_t i = 0; i < h->n; i++) {
        if (h->list[i].kind == kind)
            return true;
    }
    return false;
}

int mortise_command_json(json_t **out, const struct mortise_command *c,
                         const char *what, struct mortise_err *err)
{
    int rv;

    *out = NULL;
    if (c->json == NULL)
        return MORTISE_OK;
    rv = mortise_json_parse(out, c->json, strlen(c->json), err);
    return rv != MORTISE_OK ? mortise_doing(err, rv, "%s", what) : rv;
}

/* ---- validating --------------------------------------------------------- */

/* Is it in the middle of an effect that nobody may do again? */
static bool is_under_way(const struct mortise_run *r, const struct exec *x)
{
    return (x->state == X_RUNNING || x->state == X_STOPPING) &&
           x->call == MORTISE_RUN_EXECUTE && mortise_doubt_is_open(r, x);
}

/* What would have to be cancelled to move the frontier, and can. */
static bool is_live_call(const struct mortise_run *r, const struct exec *x)
{
    return r->live && (x->state == X_INTENT ||
                       ((x->state == X_RUNNING || x->state == X_STOPPING) &&
                        !mortise_doubt_is_open(r, x)));
}

static int refuse_doubt(const struct mortise_run *r, const struct exec *x,
                        struct mortise_err *err)
{
    const char *node = mortise_exec_node(r, x)->id;

    return x->state == X_ASKED && x->ask == MORTISE_ASK_DOUBT
               ? mortise_fail(err, MORTISE_EINDOUBT,
                              "the effect of node '%s' is not settled: find "
                              "out, and say what came of it (request %s) first",
                              node, x->request)
               : mortise_fail(err, MORTISE_EINDOUBT,
                              "the effect of node '%s' is not settled: resume "
                              "the run first, which finds out or asks",
                              node);
}

/* Does x, which is at work, hang between intent and answer? */
static bool is_open(const struct mortise_run *r, const struct exec *x)
{
    return x->was.state != 0 ||
           ((x->effect_open || mortise_step_in_doubt(r, x) != NULL) &&
            !is_live_call(r, x));
}

/* x is over, with its doubt. */
static int refuse_kept(const struct mortise_run *r, const struct exec *x,
                       struct mortise_err *err)
{
    const char *id = mortise_exec_node(r, x)->id;

    return r->status >= MORTISE_RUN_COMPLETED
               ? mortise_fail(err, MORTISE_EINDOUBT,
                              "the effect of node '%s' may have happened, and "
                              "nobody knows; `mortise resume %s` asks what "
                              "became of it",
                              id, r->id)
               : mortise_fail(err, MORTISE_EINDOUBT,
                              "the effect of node '%s' may have happened, and "
                              "nobody knows; when the run has ended (`mortise "
                              "cancel %s` ends it), `mortise resume %s` asks "
                              "what became of it",
                              id, r->id, r->id);
}

/* No effect may hang between intent and answer while its frontier moves, and
 * none is stopped for that.  One that is over for good is behind what goes on,
 * but not behind what goes `back`, or begins once more (doubt.c (11)). */
static int check_settled(const struct mortise_run *r, bool back,
                         struct mortise_err *err)
{
    back |= r->status >= MORTISE_RUN_COMPLETED;
    for (size_t i = 1; i < r->n_execs; i++) {
        const struct exec *x = r->execs[i];

        if (is_under_way(r, x))
            return mortise_fail(err, MORTISE_EINDOUBT,
                                "the effect of node '%s' is under way; wait "
                                "for it, or `mortise pause %s` first",
                                mortise_exec_node(r, x)->id, r->id);
        if (!mortise_exec_is_over(x) && is_open(r, x))
            return refuse_doubt(r, x, err);
        if (mortise_doubt_is_kept(r, x) && (back || mortise_doubt_may_go_on(x)))
            return refuse_kept(r, x, err);
    }
    return MORTISE_OK;
}

static bool is_in_map(const struct mortise_graph *g,
                      const struct mortise_node *n)
{
    uint32_t at = n->region;

    while (at != 0 && g->regions[at].kind != MORTISE_REGION_MAP)
        at = g->regions[at].parent;
    return at != 0;
}

static int check_goto(const struct mortise_run *r,
                      const struct mortise_command *c, struct mortise_err *err)
{
    if (c->node == NULL || mortise_graph_node(r->graph, c->node) == NULL)
        return mortise_fail(err, MORTISE_EUNKNOWN_NODE,
                            "graph '%s' has no node '%s'", r->graph->name,
                            c->node != NULL ? c->node : "");
    return is_in_map(r->graph, mortise_graph_node(r->graph, c->node))
               ? mortise_fail(err, MORTISE_EINVAL,
                              "node '%s' is in the body of a map, which has no "
                              "elements to run it for; go to where the map "
                              "starts",
                              c->node)
               : check_settled(r, true, err);
}

/* Is its doubt settled by the same list?  Where nothing was stopped, any other
 * may be. */
static bool is_resolved(const struct mortise_run *r,
                        const struct held_command *h, const struct exec *x)
{
    for (size_t i = 0; i < h->n; i++) {
        const struct mortise_command *c = &h->list[i];

        if (c->kind == MORTISE_CMD_RESOLVE &&
            (x->loss == LOSS_NONE || mortise_decide_subject(r, c) == x))
            return true;
    }
    return false;
}

/* Is something of it about to end that a resume would bring back, but for what
 * waits until its doubt is settled? */
static bool is_stopping(const struct mortise_run *r, bool but_doubts)
{
    for (size_t i = 1; i < r->n_execs; i++) {
        const struct exec *x = r->execs[i];

        if (x->loss != LOSS_NONE && x->was.state == 0 &&
            mortise_race_may_return(x) && !mortise_exec_is_over(x) &&
            !(but_doubts &&
              (mortise_doubt_is_asked(x) || x->state == X_INSIDE)))
            return true;
    }
    return false;
}

static int check_resume(const struct mortise_run *r,
                        const struct held_command *h, struct mortise_err *err)
{
    if (r->live && r->status == MORTISE_RUN_RUNNING && h->n == 1)
        return mortise_fail(err, MORTISE_ECONFLICT,
                            "run %s is running already; somebody else resumed "
                            "it",
                            r->id);
    if (r->live && is_stopping(r, true))
        return mortise_fail(err, MORTISE_ECONFLICT,
                            "run %s is being stopped; resume it then", r->id);
    if (r->status == MORTISE_RUN_IN_DOUBT) {
        for (size_t i = 1; i < r->n_execs; i++) {
            const struct exec *x = r->execs[i];

            if (x->state == X_ASKED && x->ask == MORTISE_ASK_DOUBT &&
                !is_resolved(r, h, x))
                return mortise_fail(
                    err, MORTISE_EINDOUBT,
                    "the effect of node '%s' may have happened: find out, "
                    "and say what came of it (request %s)",
                    mortise_exec_node(r, x)->id, x->request);
        }
    }
    return MORTISE_OK;
}

/* What has ended cannot be stopped, unless it goes on by the same list.  An
 * engine that stops pauses whatever it has. */
static int check_stop(const struct mortise_run *r, const struct held_command *h,
                      const struct mortise_command *c, struct mortise_err *err)
{
    if (r->status < MORTISE_RUN_COMPLETED ||
        (c->flags & MORTISE_CMD_SHUTDOWN) != 0 ||
        mortise_command_has(h, MORTISE_CMD_GOTO) ||
        mortise_command_has(h, MORTISE_CMD_RESUME))
        return MORTISE_OK;
    return mortise_fail(err, MORTISE_ESTATE,
                        "run %s has ended already: it is %s", r->id,
                        mortise_run_status_name(r->status));
}

/* ---- limits ------------------------------------------------------------- */

static int check_limit(const struct mortise_run *r,
                       const struct held_command *h,
                       const struct mortise_command *c, struct mortise_err *err)
{
    json_t *body;
    int rv;

    if (mortise_run_is_over(r) && !mortise_command_has(h, MORTISE_CMD_GOTO))
        return mortise_fail(err, MORTISE_ESTATE,
                            "run %s is %s: no limit holds it", r->id,
                            mortise_run_status_name(r->status));
    rv = mortise_command_json(&body, c, "limits", err);
    if (rv == MORTISE_OK)
        rv = mortise_limit_check(r, body, err);
    json_decref(body);
    return rv;
}

static int do_limit(struct mortise_run *r, const struct mortise_command *c,
                    const char *actor, struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_LIMIT, .actor = actor};
    int rv = mortise_command_json(&e.value, c, "limits", err);

    if (rv == MORTISE_OK)
        rv = mortise_run_record(r, &e, err);
    json_decref(e.value);
    return rv;
}

/* ---- the list as one ---------------------------------------------------- */

static int check_one(struct mortise_run *r, const struct held_command *h,
                     const struct mortise_command *c, struct mortise_err *err)
{
    int rv;

    switch (c->kind) {
    case MORTISE_CMD_RESUME:
        return check_resume(r, h, err);
    case MORTISE_CMD_UPDATE:
        rv = check_settled(r, false, err);
        return rv != MORTISE_OK ? rv : mortise_update_check(r, h, c, err);
    case MORTISE_CMD_GOTO:
        return check_goto(r, c, err);
    case MORTISE_CMD_APPROVE_TOOL:
        return mortise_decide_check_approve(r, c, err);
    case MORTISE_CMD_ANSWER:
        return mortise_decide_check_answer(r, c, h->actor, err);
    case MORTISE_CMD_RESOLVE:
        return mortise_decide_check_resolve(r, c, err);
    case MORTISE_CMD_CANCEL:
        return check_stop(r, h, c, err);
    case MORTISE_CMD_LIMIT:
        return check_limit(r, h, c, err);
    case MORTISE_CMD_BUDGET:
        return mortise_budget_check(r, c, err);
    case MORTISE_CMD_PAUSE:
        return mortise_command_has(h, MORTISE_CMD_RESUME)
                   ? mortise_fail(err, MORTISE_EINVAL,
                                  "pause and resume in one call contradict "
                                  "each other")
                   : check_stop(r, h, c, err);
    default:
        return mortise_fail(err, MORTISE_EINVAL, "unknown command kind %u",
                            c->kind);
    }
}

/* One answer a request, and at most one of each other kind. */
static int check_pairs(const struct mortise_run *r,
                       const struct held_command *h, struct mortise_err *err)
{
    for (size_t i = 0; i < h->n; i++) {
        for (size_t k = i + 1; k < h->n; k++) {
            const struct mortise_command *a = &h->list[i], *b = &h->list[k];

            if (mortise_decide_is(a->kind) && mortise_decide_is(b->kind)) {
                if (mortise_decide_subject(r, a) != NULL &&
                    mortise_decide_subject(r, a) ==
                        mortise_decide_subject(r, b))
                    return mortise_fail(err, MORTISE_EMISMATCH,
                                        "request '%s' is decided twice", a->id);
            } else if (a->kind == b->kind) {
                return mortise_fail(err, MORTISE_EINVAL,
                                    "one command of a kind at a time");
            }
        }
    }
    return MORTISE_OK;
}

static int check_all(struct mortise_run *r, const struct held_command *h,
                     struct mortise_err *err)
{
    int rv = check_pairs(r, h, err);

    for (size_t i = 0; rv == MORTISE_OK && i < h->n; i++)
        rv = check_one(r, h, &h->list[i], err);
    return rv;
}

/* ---- doing it ----------------------------------------------------------- */

int mortise_command_stop_idle(struct mortise_run *r, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    /* A withdrawn hold may activate more: the list grows as we go. */
    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if (x->loss == LOSS_CANCEL)
            continue; /* it ends when its doubt is settled */
        if (x->state == X_INTENT && x->effect_open && r->live)
            rv = mortise_fail_not_done(r, x, err); /* it was not called yet */
        if (rv != MORTISE_OK)
            break;
        if (x->state == X_READY || x->state == X_ASKED ||
            x->state == X_INTENT || x->state == X_BACKOFF ||
            x->state == X_SUSPENDED || x->state == X_HELD ||
            x->state == X_INSIDE)
            rv = mortise_stop_exec(r, x, MORTISE_E_STOPPED, err);
    }
    return rv;
}

static int do_goto(struct mortise_run *r, const struct mortise_command *c,
                   const char *actor, struct mortise_err *err)
{
    const struct mortise_node *n = mortise_graph_node(r->graph, c->node);
    struct mortise_entry e = {
        .type = MORTISE_E_GOTO,
        .node = n->index,
        .how = (c->flags & MORTISE_CMD_FORCE) != 0,
        .actor = actor,
    };
    int rv = mortise_command_stop_idle(r, err);

    if (rv != MORTISE_OK)
        return rv;
    e.visit = mortise_frame_visits(r->frames[0], n->index) + 1;
    return mortise_run_record(r, &e, err);
}

static int do_cancel(struct mortise_run *r, const struct mortise_command *c,
                     const char *actor, struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_CANCEL, .actor = actor};
    int rv;

    if (r->status >= MORTISE_RUN_COMPLETED ||
        (r->cancelling && !mortise_doubt_has_returned(r)))
        return MORTISE_OK;
    e.value = c->reason != NULL
                  ? mortise_json_strn(c->reason, strlen(c->reason))
                  : NULL;
    rv = mortise_run_record(r, &e, err);
    json_decref(e.value);
    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if (x->state == X_RUNNING || x->state == X_STOPPING)
            rv = mortise_exec_cancel(r, x, STOP_RUN, err);
    }
    return rv != MORTISE_OK ? rv : mortise_command_stop_idle(r, err);
}

static int record_pause(struct mortise_run *r, enum mortise_pause how,
                        const char *reason, const char *actor,
                        struct mortise_err *err)
{
    struct mortise_entry e = {
        .type = MORTISE_E_PAUSE, .how = (uint8_t)how, .actor = actor};
    int rv;

    if (reason != NULL) {
        e.value = mortise_json_strn(reason, strlen(reason));
        if (e.value == NULL)
            return mortise_nomem(err);
    }
    rv = mortise_run_record(r, &e, err);
    json_decref(e.value);
    return rv;
}

/* Of a pause that an earlier process began the wall clock says what is left,
 * but never more than all. */
static uint64_t pause_left_ms(const struct mortise_run *r, const struct exec *x)
{
    uint64_t left = x->next_ms > r->time_ms ? x->next_ms - r->time_ms : 0;

    return left < x->pause_ms ? left : x->pause_ms;
}

static int go_live(struct mortise_run *r, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    r->live = true;
    r->stays = NULL;
    r->n_intents = 0; /* what is replayed is on disk */
    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        mortise_budget_cut_off(r, x);
        if (x->state == X_INTENT) {
            rv = mortise_exec_ready(r, x, err);
        } else if (x->state == X_BACKOFF && !x->timer) {
            x->serial++;
            rv = mortise_exec_arm_in(r, x, pause_left_ms(r, x), err);
        } else if (x->state == X_ASKED && x->deadline_ms != 0 && !x->timer) {
            x->serial++;
            rv = mortise_exec_arm(r, x, x->deadline_ms, err);
        } else if (x->state == X_SUSPENDED) {
            rv = mortise_step_arm(r, x, err);
        }
    }
    return rv;
}

int mortise_command_recover(struct mortise_run *r, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    if (r->live || r->paused == MORTISE_PAUSE_OPERATOR)
        return MORTISE_OK;
    if (r->paused == MORTISE_PAUSE_SHUTDOWN)
        rv = record_pause(r, MORTISE_PAUSE_OVER, NULL, "", err);
    return rv != MORTISE_OK ? rv : go_live(r, err);
}

/* Stand still.  That an engine stops does not undo what a person said. */
static int do_pause(struct mortise_run *r, const struct mortise_command *c,
                    const char *actor, struct mortise_err *err)
{
    enum mortise_pause how = (c->flags & MORTISE_CMD_SHUTDOWN) != 0
                                 ? MORTISE_PAUSE_SHUTDOWN
                                 : MORTISE_PAUSE_OPERATOR;
    int rv = MORTISE_OK;

    if (r->status >= MORTISE_RUN_COMPLETED || r->cancelling ||
        r->paused == how || r->paused == MORTISE_PAUSE_OPERATOR)
        return MORTISE_OK;
    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++)
        rv = mortise_exec_disarm(r, r->execs[i], err);
    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++)
        rv = mortise_doubt_hold(r, r->execs[i], err);
    r->live = false;
    return rv != MORTISE_OK ? rv : record_pause(r, how, c->reason, actor, err);
}

/* Go on from the head, unless it stands still and nobody said that it is not
 * to: a decision alone does not. */
static int do_continue(struct mortise_run *r, const struct held_command *h,
                       struct mortise_err *err)
{
    bool moves = mortise_command_has(h, MORTISE_CMD_UPDATE) ||
                 mortise_command_has(h, MORTISE_CMD_GOTO);
    int rv = MORTISE_OK;

    if (r->live || mortise_command_has(h, MORTISE_CMD_PAUSE))
        return MORTISE_OK;
    if ((h->flags & MORTISE_NO_CONTINUE) != 0) {
        r->stays = h->blocked ? "plugin" : "no_continue";
        return MORTISE_OK;
    }
    if (r->paused != MORTISE_PAUSE_OVER && moves)
        rv = record_pause(r, MORTISE_PAUSE_OVER, NULL, h->actor, err);
    return rv != MORTISE_OK || r->paused != MORTISE_PAUSE_OVER
               ? rv
               : go_live(r, err);
}

/* Is it to fail of what was decided, once it goes on? */
static bool is_decided(const struct mortise_run *r)
{
    return !r->live && r->paused == MORTISE_PAUSE_OVER && r->stays != NULL &&
           r->error == NULL && r->frames[0]->failed;
}

/* Try again what failed, pass scheduled pauses.  What died while it was being
 * stopped is stopped first, and what was decided while nothing ran comes about
 * first: to take an effect as failed is not to be asked again at once.  What
 * its end left in doubt is asked about (doubt.c (11)), also where nothing else
 * goes on. */
static int do_resume(struct mortise_run *r, const char *actor,
                     struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_RESUME, .actor = actor};
    struct mortise_entry back = {.type = MORTISE_E_LOOK_BACK, .actor = actor};
    bool ended = r->status >= MORTISE_RUN_COMPLETED;
    int rv;

    if (mortise_run_keeps_doubt(r))
        return mortise_run_record(r, &back, err);
    if (mortise_run_is_over(r) || r->cancelling ||
        (r->paused == MORTISE_PAUSE_OVER && is_stopping(r, false)) ||
        is_decided(r))
        return MORTISE_OK;
    rv = mortise_run_record(r, &e, err);
    if (rv == MORTISE_OK && ended && mortise_doubt_is_any_kept(r))
        rv = mortise_run_record(r, &back, err);
    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if ((x->state == X_ASKED && x->ask == MORTISE_ASK_BEFORE) ||
            x->state == X_HELD)
            rv = mortise_request_settle(r, x, MORTISE_SETTLE_PASSED, NULL, NULL,
                                        actor, err);
    }
    return rv;
}

static const struct mortise_command *one_of(const struct held_command *h,
                                            uint32_t kind)
{
    for (size_t i = 0; i < h->n; i++) {
        if (h->list[i].kind == kind)
            return &h->list[i];
    }
    return NULL;
}

static bool has_changed(const struct held_command *h, const char *plugin)
{
    for (size_t i = 0; i < h->n_pins; i++) {
        if (strcmp(h->pins[i].plugin, plugin) == 0)
            return true;
    }
    return false;
}

/* Go on with other plugins.  Calls of them that wait for approval are asked
 * about again: they are other calls now (pins.c (2)). */
static int do_accept(struct mortise_run *r, const struct held_command *h,
                     struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_PINS, .actor = h->actor};
    int rv;

    if (h->n_pins == 0)
        return MORTISE_OK;
    e.value = mortise_pins_json(h->pins, h->n_pins);
    rv = e.value != NULL ? mortise_run_record(r, &e, err) : mortise_nomem(err);
    json_decref(e.value);
    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if (x->state == X_ASKED && x->ask == MORTISE_ASK_APPROVAL &&
            has_changed(h, mortise_exec_node(r, x)->plugin))
            rv = mortise_request_withdraw(r, x, err);
    }
    return rv;
}

static int apply_all(struct mortise_run *r, const struct held_command *h,
                     struct mortise_err *err)
{
    const struct mortise_command *update = one_of(h, MORTISE_CMD_UPDATE);
    const struct mortise_command *jump = one_of(h, MORTISE_CMD_GOTO);
    const struct mortise_command *cancel = one_of(h, MORTISE_CMD_CANCEL);
    const struct mortise_command *pause = one_of(h, MORTISE_CMD_PAUSE);
    const struct mortise_command *limit = one_of(h, MORTISE_CMD_LIMIT);
    const struct mortise_command *budget = one_of(h, MORTISE_CMD_BUDGET);
    int rv = MORTISE_OK;

    r->ordering = h;
    for (size_t i = 0; rv == MORTISE_OK && i < h->n; i++) {
        if (mortise_decide_is(h->list[i].kind))
            rv = mortise_decide_do(r, &h->list[i], h->actor, err);
    }
    if (rv == MORTISE_OK)
        rv = do_accept(r, h, err);
    if (rv == MORTISE_OK && limit != NULL)
        rv = do_limit(r, limit, h->actor, err);
    if (rv == MORTISE_OK && budget != NULL)
        rv = mortise_budget_raise(r, budget, h->actor, err);
    if (rv == MORTISE_OK && update != NULL)
        rv = mortise_update_do(r, update, h->actor, err);
    if (rv == MORTISE_OK && jump != NULL)
        rv = do_goto(r, jump, h->actor, err);
    if (rv == MORTISE_OK && cancel != NULL)
        rv = do_cancel(r, cancel, h->actor, err);
    if (rv == MORTISE_OK && pause != NULL)
        rv = do_pause(r, pause, h->actor, err);
    if (rv == MORTISE_OK && mortise_command_has(h, MORTISE_CMD_RESUME))
        rv = do_resume(r, h->actor, err);
    if (rv == MORTISE_OK)
        rv = do_continue(r, h, err);
    r->ordering = NULL; /* it changed nothing */
    r->applied = rv == MORTISE_OK;
    return rv;
}

/* It was recorded before.  Nothing of it is done again; but the run goes on, if
 * it was to and nobody said since that it is not. */
static int order_again(struct mortise_run *r, const struct held_command *h,
                       struct mortise_err *err)
{
    int rv = mortise_order_check(r, h, err);

    if (rv != MORTISE_OK)
        return rv;
    if ((h->flags & MORTISE_NO_CONTINUE) == 0 && !r->live &&
        r->paused == MORTISE_PAUSE_OVER)
        rv = go_live(r, err);
    r->applied = rv == MORTISE_OK;
    return rv;
}

/* ---- waiting for what is in flight -------------------------------------- */

static bool in_flight(const struct mortise_run *r)
{
    return r->n_running > 0 || (r->live && r->n_intents > 0);
}

/* Strings are copied; NULL stays NULL. */
static const char *copied(struct mortise_arena *a, const char *s, bool *failed)
{
    char *copy = s != NULL ? mortise_arena_strdup(a, s) : NULL;

    *failed |= s != NULL && copy == NULL;
    return copy;
}

static struct held_command *held_new(struct mortise_run *r,
                                     const struct held_command *h)
{
    struct held_command *out = mortise_zalloc(r->mem, sizeof *out);
    struct mortise_command *list;
    bool failed = false;

    if (out == NULL)
        return NULL;
    mortise_arena_init(&out->arena, r->mem);
    list = mortise_arena_alloc(&out->arena, h->n * sizeof *list);
    for (size_t i = 0; list != NULL && i < h->n; i++) {
        list[i] = h->list[i];
        list[i].id = copied(&out->arena, h->list[i].id, &failed);
        list[i].decision = copied(&out->arena, h->list[i].decision, &failed);
        list[i].reason = copied(&out->arena, h->list[i].reason, &failed);
        list[i].digest = copied(&out->arena, h->list[i].digest, &failed);
        list[i].json = copied(&out->arena, h->list[i].json, &failed);
        list[i].node = copied(&out->arena, h->list[i].node, &failed);
    }
    out->list = list;
    out->n = h->n;
    out->flags = h->flags;
    out->blocked = h->blocked;
    out->patience_ms = h->patience_ms;
    out->actor = copied(&out->arena, h->actor, &failed);
    out->order = copied(&out->arena, h->order, &failed);
    if (list == NULL || failed) {
        mortise_arena_finish(&out->arena);
        mortise_release(r->mem, out, sizeof *out);
        return NULL;
    }
    return out;
}

void mortise_command_drop_held(struct mortise_run *r)
{
    if (r->held == NULL)
        return;
    mortise_arena_finish(&r->held->arena);
    mortise_release(r->mem, r->held, sizeof *r->held);
    r->held = NULL;
}

/* Only a pause waits for effects; what changes the state does not. */
static bool is_patient(const struct held_command *h)
{
    return mortise_command_has(h, MORTISE_CMD_PAUSE) &&
           !mortise_command_has(h, MORTISE_CMD_UPDATE) &&
           !mortise_command_has(h, MORTISE_CMD_GOTO) &&
           !mortise_command_has(h, MORTISE_CMD_CANCEL);
}

/* Ask a call to stop; one with an effect, only when patience is over. */
static int stop_call(struct mortise_run *r, struct exec *x,
                     struct mortise_err *err)
{
    uint64_t until = r->steady_ms + r->held->patience_ms;
    uint64_t end = mortise_call_end_ms(r, x);
    int rv;

    if (!is_patient(r->held) || x->call == MORTISE_RUN_CHECK ||
        mortise_exec_node(r, x)->effect < MORTISE_WRITE)
        return mortise_exec_cancel(r, x, STOP_COMMAND, err);
    if (end != 0 && end <= until)
        return MORTISE_OK;
    rv = mortise_exec_disarm(r, x, err);
    return rv != MORTISE_OK
               ? rv
               : mortise_exec_arm_in(r, x, r->held->patience_ms, err);
}

static int hold_until_quiet(struct mortise_run *r, const struct held_command *h,
                            struct mortise_err *err)
{
    assert(h->n_pins == 0); /* these come before anything was started */
    r->held = held_new(r, h);
    if (r->held == NULL)
        return mortise_nomem(err);
    for (size_t i = 1; i < r->n_execs; i++) {
        struct exec *x = r->execs[i];
        int rv = x->state == X_RUNNING ? stop_call(r, x, err) : MORTISE_OK;

        if (rv != MORTISE_OK)
            return rv;
    }
    return MORTISE_OK;
}

int mortise_command_apply_held(struct mortise_run *r, struct mortise_err *err)
{
    struct mortise_action *a;
    struct mortise_err why;
    int rv;

    if (r->held == NULL || in_flight(r))
        return MORTISE_OK;
    rv = check_all(r, r->held, &why);
    if (rv == MORTISE_OK) {
        rv = apply_all(r, r->held, err);
        mortise_command_drop_held(r);
        return rv;
    }
    mortise_command_drop_held(r);
    a = mortise_action_new(r, MORTISE_ACT_APPLIED, err);
    if (a == NULL)
        return MORTISE_ENOMEM;
    a->u.applied.result = rv;
    a->u.applied.err = why;
    return MORTISE_OK;
}

int mortise_command_step(struct mortise_run *r, const struct mortise_input *in,
                         struct mortise_err *err)
{
    const struct held_command h = {.list = in->u.command.list,
                                   .n = in->u.command.n,
                                   .flags = in->u.command.flags,
                                   .blocked = in->u.command.blocked,
                                   .actor = in->u.command.actor,
                                   .patience_ms = in->u.command.patience_ms,
                                   .pins = in->u.command.pins,
                                   .n_pins = in->u.command.n_pins,
                                   .order = in->u.command.order};
    int rv;

    if (r->held != NULL || r->applied_seq != 0)
        return mortise_fail(err, MORTISE_ECONFLICT,
                            "another command is being applied to run %s",
                            r->id);
    if (mortise_run_knows_order(r, h.order))
        return order_again(r, &h, err);
    rv = check_all(r, &h, err);
    if (rv != MORTISE_OK)
        return rv;
    if ((mortise_command_has(&h, MORTISE_CMD_UPDATE) ||
         mortise_command_has(&h, MORTISE_CMD_GOTO) ||
         mortise_command_has(&h, MORTISE_CMD_PAUSE)) &&
        in_flight(r))
        return hold_until_quiet(r, &h, err);
    return apply_all(r, &h, err);
}
