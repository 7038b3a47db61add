/* command.c -- people's commands: validated, then recorded, then obeyed.
 *
 * The list that comes in one call is one: every command of it is validated
 * before anything is recorded, and what is recorded stands in one commit.  The
 * order is decisions, plugins, and then that of the rows (run_commands.def),
 * whatever the order given.  What a command is, its row says; nothing here asks
 * which one it has.
 *
 * A command that MOVES the run changes what executions see, so what is in flight
 * is cancelled first and the list waits (r->held) until the calls have let go;
 * it is validated again then, since a call may have ended well on the way.  A
 * call in the middle of an effect that may not be done again is not cancelled
 * for it: it is refused.
 * One that PAUSES the run waits in the same manner, but lets effects come to
 * their end, for as long as the event's patience.  A paused run stands still,
 * whatever is decided or falls due, until a `resume`, or a move that goes on.
 *
 * Who gives a command comes from the transport, never from the command.  The
 * list may have an id (order.c).
 */
#include <assert.h>
#include <string.h>

#include "core/run/command/command.h"

static const struct mortise_command_row *
row_of(const struct mortise_run_command *c)
{
    return mortise_command_row(c->kind);
}

/* The first of that kind; NULL: none. */
static const struct mortise_run_command *one_of(const struct mortise_said *h,
                                                uint32_t kind)
{
    for (size_t i = 0; i < h->n; i++) {
        if (h->list[i].kind == kind)
            return &h->list[i];
    }
    return NULL;
}

bool mortise_command_has(const struct mortise_said *h, uint32_t kind)
{
    return one_of(h, kind) != NULL;
}

bool mortise_command_restarts(const struct mortise_said *h)
{
    for (size_t i = 0; i < h->n; i++) {
        if (row_of(&h->list[i])->restarts)
            return true;
    }
    return false;
}

static bool has_way(const struct mortise_said *h, enum mortise_command_way way)
{
    for (size_t i = 0; i < h->n; i++) {
        if (row_of(&h->list[i])->way == way)
            return true;
    }
    return false;
}

/* ---- validating --------------------------------------------------------- */

static bool is_decision(const struct mortise_run_command *c)
{
    return row_of(c)->subject != NULL;
}

/* One answer a request, and at most one of each other kind. */
static int check_pairs(const struct mortise_run *r,
                       const struct mortise_said *h, struct mortise_err *err)
{
    for (size_t i = 0; i < h->n; i++) {
        for (size_t k = i + 1; k < h->n; k++) {
            const struct mortise_run_command *a = &h->list[i], *b = &h->list[k];

            if (is_decision(a) && is_decision(b)) {
                const void *one = row_of(a)->subject(r, a);

                if (one != NULL && one == row_of(b)->subject(r, b))
                    return mortise_fail(
                        err, MORTISE_EMISMATCH,
                        "request '%s' is decided twice; give one decision",
                        a->id);
            } else if (a->kind == b->kind) {
                return mortise_fail(err, MORTISE_EINVAL,
                                    "one call contains two commands of the "
                                    "same kind; give each in its own call");
            }
        }
    }
    return MORTISE_OK;
}

static int check_all(struct mortise_run *r, const struct mortise_said *h,
                     struct mortise_err *err)
{
    assert(r->ordering == NULL); /* nothing is recorded while it is judged */
    int rv = check_pairs(r, h, err);

    for (size_t i = 0; rv == MORTISE_OK && i < h->n; i++)
        rv = row_of(&h->list[i])->check(r, h, &h->list[i], err);
    return rv;
}

/* ---- going on ----------------------------------------------------------- */

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

    assert(!r->live && r->paused == MORTISE_PAUSE_OVER);
    r->live = true;
    r->stays = NULL;
    r->intents.n = 0; /* what is replayed is on disk */
    rv = mortise_outbox_again(r, err);
    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        mortise_budget_cut_off(r, x);
        if (x->state == X_INTENT) {
            rv = mortise_exec_ready(r, x, err);
        } else if (x->state == X_BACKOFF && !x->timer) {
            mortise_exec_renew(x);
            rv = mortise_exec_arm_in(r, x, pause_left_ms(r, x), err);
        } else if (x->state == X_ASKED && x->deadline_ms != 0 && !x->timer) {
            mortise_exec_renew(x);
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
        rv = mortise_pause_record(r, MORTISE_PAUSE_OVER, NULL, "", err);
    return rv != MORTISE_OK ? rv : go_live(r, err);
}

/* Go on from the head, unless it stands still and nobody said that it is not
 * to: a decision alone does not. */
static int do_continue(struct mortise_run *r, const struct mortise_said *h,
                       struct mortise_err *err)
{
    int rv = MORTISE_OK;

    if (has_way(h, MORTISE_COMMAND_PAUSES))
        return MORTISE_OK;
    if (r->live) /* what it gave up is tried once more */
        return mortise_outbox_again(r, err);
    if ((h->flags & MORTISE_NO_CONTINUE) != 0) {
        r->stays = h->blocked ? "plugin" : "no_continue";
        return MORTISE_OK;
    }
    if (r->paused != MORTISE_PAUSE_OVER && has_way(h, MORTISE_COMMAND_MOVES))
        rv = mortise_pause_record(r, MORTISE_PAUSE_OVER, NULL, h->actor, err);
    return rv != MORTISE_OK || r->paused != MORTISE_PAUSE_OVER
               ? rv
               : go_live(r, err);
}

/* ---- doing it ----------------------------------------------------------- */

bool mortise_command_replaces(const struct mortise_said *h,
                              const struct mortise_node *n)
{
    for (size_t i = 0; i < h->n_pins; i++) {
        if (mortise_pins_is_of(h->pins[i].plugin, n))
            return true;
    }
    return false;
}

/* Go on with other plugins.  Calls of them that wait for approval are asked
 * about again: they are other calls now (pins.c (2)). */
static int do_accept(struct mortise_run *r, const struct mortise_said *h,
                     struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_PINS, .actor = h->actor};
    int rv;

    if (h->n_pins == 0)
        return MORTISE_OK;
    rv = mortise_run_record_value(r, &e, mortise_pins_json(h->pins, h->n_pins),
                                  err);
    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if (x->state == X_ASKED && x->ask == MORTISE_ASK_APPROVAL &&
            mortise_command_replaces(h, mortise_exec_node(r, x)))
            rv = mortise_request_withdraw(r, x, err);
    }
    return rv;
}

/* Decisions in the order given, then plugins, then the others in the order of
 * their rows. */
static int apply_all(struct mortise_run *r, const struct mortise_said *h,
                     struct mortise_err *err)
{
    const struct mortise_command_row *row;
    const struct mortise_run_command *c;
    int rv = MORTISE_OK;

    r->ordering = h;
    r->obeys = true; /* nothing starts before all of it is obeyed */
    r->failed_before = r->n_failed;
    mortise_decide_begin(r);
    for (size_t i = 0; rv == MORTISE_OK && i < h->n; i++) {
        if (is_decision(&h->list[i]))
            rv = row_of(&h->list[i])->obey(r, h, &h->list[i], err);
    }
    if (rv == MORTISE_OK)
        rv = mortise_decide_follow(r, h, err);
    if (rv == MORTISE_OK)
        rv = do_accept(r, h, err);
    for (row = mortise_run_commands; rv == MORTISE_OK && row->kind != 0;
         row++) {
        c = row->subject == NULL ? one_of(h, row->kind) : NULL;
        if (c != NULL)
            rv = row->obey(r, h, c, err);
    }
    if (rv == MORTISE_OK)
        rv = do_continue(r, h, err);
    r->obeys = false;
    r->ordering = NULL; /* it changed nothing */
    r->applied = rv == MORTISE_OK;
    return rv;
}

/* It was recorded before.  Nothing of it is done again; but the run goes on, if
 * it was to and nobody said since that it is not. */
static int order_again(struct mortise_run *r, const struct mortise_said *h,
                       struct mortise_err *err)
{
    int rv = mortise_order_check(r, h, err);

    if (rv != MORTISE_OK)
        return rv;
    assert(r->held == NULL);
    if ((h->flags & MORTISE_NO_CONTINUE) == 0 && !r->live &&
        r->paused == MORTISE_PAUSE_OVER)
        rv = go_live(r, err);
    r->applied = rv == MORTISE_OK;
    return rv;
}

/* ---- waiting for what is in flight -------------------------------------- */

static bool in_flight(const struct mortise_run *r)
{
    return r->n_running > 0 || (r->live && r->intents.n > 0);
}

/* Strings are copied; NULL stays NULL. */
static const char *copied(struct mortise_arena *a, const char *s, bool *failed)
{
    char *copy = s != NULL ? mortise_arena_strdup(a, s) : NULL;

    *failed |= s != NULL && copy == NULL;
    return copy;
}

static const char *cause_of(const struct mortise_said *h)
{
    for (size_t i = 0; i < h->n; i++) {
        const struct mortise_run_command *c = &h->list[i];

        if (row_of(c)->cause != NULL)
            return row_of(c)->cause(c);
    }
    return NULL;
}

static void held_free(struct mortise_run *r, struct held_command *held)
{
    for (size_t i = 0; i < held->said.n; i++)
        json_decref(held->said.list[i].value);
    if (held->said.steering != NULL) {
        json_decref(held->said.steering->operations);
        mortise_graph_unref(held->said.steering->graph);
    }
    mortise_arena_finish(&held->arena);
    mortise_release(r->mem, held, sizeof *held);
}

/* What its steer makes: the graph is there while the pins are (their names are
 * lent by it), and is given up with the copy. */
static const struct mortise_steering *
steering_copied(struct mortise_arena *a, const struct mortise_steering *s)
{
    struct mortise_steering *copy = mortise_arena_alloc(a, sizeof *copy);
    struct mortise_pin *pins = mortise_arena_alloc(a, s->n_pins * sizeof *pins);

    if (copy == NULL || pins == NULL)
        return NULL;
    *copy = *s;
    if (s->n_pins > 0)
        memcpy(pins, s->pins, s->n_pins * sizeof *pins);
    copy->pins = pins;
    mortise_graph_ref(copy->graph);
    json_incref(copy->operations);
    return copy;
}

static struct held_command *held_new(struct mortise_run *r,
                                     const struct mortise_said *h)
{
    struct held_command *out = mortise_zalloc(r->mem, sizeof *out);
    struct mortise_run_command *list;
    bool failed = false;

    if (out == NULL)
        return NULL;
    mortise_arena_init(&out->arena, r->mem);
    list = mortise_arena_alloc(&out->arena, h->n * sizeof *list);
    for (size_t i = 0; list != NULL && i < h->n; i++) {
        list[i] = h->list[i];
#define MEMBER_TEXT(name)                                                      \
    list[i].name = copied(&out->arena, h->list[i].name, &failed);
#define MEMBER_JSON(name, field) json_incref(list[i].name);
#define MEMBER_FLAG(name, bit)
#include "core/run/command/command_members.def"
    }
    assert(h->pins == NULL || h->n_pins == 0); /* they are not copied */
    out->said = *h;
    out->said.list = list;
    out->said.n = list != NULL ? h->n : 0;
    out->said.actor = copied(&out->arena, h->actor, &failed);
    out->said.order = copied(&out->arena, h->order, &failed);
    out->cause = cause_of(h);
    if (h->steering != NULL) {
        out->said.steering = steering_copied(&out->arena, h->steering);
        failed |= out->said.steering == NULL;
    }
    if (list == NULL || failed) {
        held_free(r, out);
        return NULL;
    }
    return out;
}

void mortise_command_drop_held(struct mortise_run *r)
{
    if (r->held != NULL)
        held_free(r, r->held);
    r->held = NULL;
}

/* Only a pause waits for effects; what changes the state does not. */
static bool is_patient(const struct mortise_said *h)
{
    return has_way(h, MORTISE_COMMAND_PAUSES) &&
           !has_way(h, MORTISE_COMMAND_MOVES) &&
           !has_way(h, MORTISE_COMMAND_ENDS);
}

/* Ask a call to stop; one with an effect, only when patience is over. */
static int stop_call(struct mortise_run *r, struct exec *x,
                     struct mortise_err *err)
{
    uint64_t until = r->steady_ms + r->held->said.patience_ms;
    uint64_t end = mortise_call_end_ms(x);
    int rv;

    assert(x->state == X_RUNNING);
    if (!is_patient(&r->held->said) || x->call > MORTISE_RUN_RECONCILE ||
        mortise_exec_node(r, x)->effect < MORTISE_WRITE)
        return mortise_exec_cancel(r, x, STOP_COMMAND, err);
    if (end != 0 && end <= until)
        return MORTISE_OK;
    rv = mortise_exec_disarm(r, x, err);
    return rv != MORTISE_OK
               ? rv
               : mortise_exec_arm_in(r, x, r->held->said.patience_ms, err);
}

static int hold_until_quiet(struct mortise_run *r, const struct mortise_said *h,
                            struct mortise_err *err)
{
    assert(h->n_pins == 0); /* these come before anything was started */
    assert(r->held == NULL && in_flight(r));
    r->held = held_new(r, h);
    if (r->held == NULL)
        return mortise_nomem(err);
    for (size_t i = 1; i < r->n_execs; i++) {
        struct exec *x = r->execs[i];
        int rv = x->state == X_RUNNING ? stop_call(r, x, err) : MORTISE_OK;

        if (rv != MORTISE_OK)
            return rv;
    }
    return mortise_outbox_stop(r, err);
}

int mortise_command_apply_held(struct mortise_run *r, struct mortise_err *err)
{
    struct mortise_action *a;
    struct mortise_err why;
    int rv;

    if (r->held == NULL || in_flight(r))
        return MORTISE_OK;
    rv = check_all(r, &r->held->said, &why);
    if (rv == MORTISE_OK) {
        rv = apply_all(r, &r->held->said, err);
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
    const struct mortise_said *h = &in->u.command;
    int rv;

    if (r->held != NULL || r->applied_seq != 0)
        return mortise_fail(
            err, MORTISE_ECONFLICT,
            "another command is being applied to run %s; try again", r->id);
    if (mortise_run_knows_order(r, h->order))
        return order_again(r, h, err);
    rv = check_all(r, h, err);
    if (rv != MORTISE_OK)
        return rv;
    if ((has_way(h, MORTISE_COMMAND_MOVES) ||
         has_way(h, MORTISE_COMMAND_PAUSES)) &&
        in_flight(r))
        return hold_until_quiet(r, h, err);
    return apply_all(r, h, err);
}
