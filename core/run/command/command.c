/* command.c -- commands from people: validated, recorded, then applied.
 *
 * The commands of one call are one list: all are validated before anything is
 * recorded, and all are recorded in one commit.  Decisions are applied first,
 * then new plugins, then the other commands in the order of the rows
 * (run_commands.def), independent of the order in the list.  A command's
 * properties are in its row; this file does not depend on particular commands.
 *
 * A command that MOVES the run changes the state that executions see.  So calls
 * in flight are cancelled first, and the list is held (r->held) until they have
 * ended.  Then it is validated again, since a call may have succeeded
 * meanwhile.  A call in the middle of an effect that must not be repeated is
 * not cancelled: the command is rejected.
 * A command that PAUSES the run is held too, but effects may finish, within the
 * command's patience_ms.  A paused run starts nothing, whatever is decided or
 * expires, until a `resume`, or a move that continues it.
 *
 * The actor of a command is set by the transport, never by the command.  The
 * list may have an id (order.c).
 */
#include <assert.h>
#include <string.h>

#include "core/run/command/command.h"

static const struct mortise_command_row *
get_command_row(const struct mortise_run_command *c)
{
    return mortise_command_row(c->kind);
}

/* The first command of this kind; NULL: none. */
static const struct mortise_run_command *
find_command(const struct mortise_command_list *h, uint32_t kind)
{
    for (size_t i = 0; i < h->n; i++) {
        if (h->list[i].kind == kind)
            return &h->list[i];
    }
    return NULL;
}

bool mortise_command_has_kind(const struct mortise_command_list *h,
                              uint32_t kind)
{
    return find_command(h, kind) != NULL;
}

bool mortise_command_has_restart(const struct mortise_command_list *h)
{
    for (size_t i = 0; i < h->n; i++) {
        if (get_command_row(&h->list[i])->restarts)
            return true;
    }
    return false;
}

static bool has_command_way(const struct mortise_command_list *h,
                            enum mortise_command_call_policy way)
{
    for (size_t i = 0; i < h->n; i++) {
        if (get_command_row(&h->list[i])->way == way)
            return true;
    }
    return false;
}

/* ---- validating --------------------------------------------------------- */

static bool is_decision(const struct mortise_run_command *c)
{
    return get_command_row(c)->subject != NULL;
}

/* A list has at most one decision for each request, and one command of each
 * other kind. */
static int check_no_duplicates(const struct mortise_run *r,
                               const struct mortise_command_list *h,
                               struct mortise_err *err)
{
    for (size_t i = 0; i < h->n; i++) {
        for (size_t k = i + 1; k < h->n; k++) {
            const struct mortise_run_command *a = &h->list[i], *b = &h->list[k];

            if (is_decision(a) && is_decision(b)) {
                const void *one = get_command_row(a)->subject(r, a);

                if (one != NULL && one == get_command_row(b)->subject(r, b))
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

static int check_command_list(struct mortise_run *r,
                              const struct mortise_command_list *h,
                              struct mortise_err *err)
{
    assert(r->ordering == NULL); /* nothing is recorded during validation */
    int rv = check_no_duplicates(r, h, err);

    for (size_t i = 0; rv == MORTISE_OK && i < h->n; i++)
        rv = get_command_row(&h->list[i])->check(r, h, &h->list[i], err);
    return rv;
}

/* ---- continuing --------------------------------------------------------- */

/* The rest of a backoff that an earlier process began, by the wall clock, but
 * at most the whole backoff. */
static uint64_t pause_left_ms(const struct mortise_run *r, const struct exec *x)
{
    uint64_t left = x->next_ms > r->time_ms ? x->next_ms - r->time_ms : 0;

    return left < x->pause_ms ? left : x->pause_ms;
}

static int start_live_run(struct mortise_run *r, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    assert(!r->live && r->paused == MORTISE_PAUSE_OVER);
    r->live = true;
    r->stays = NULL;
    r->intents.n = 0; /* a replayed intent is on disk */
    rv = mortise_outbox_retry(r, err);
    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        mortise_budget_settle_cut_off(r, x);
        if (x->state == X_INTENT) {
            rv = mortise_exec_make_ready(r, x, err);
        } else if (x->state == X_BACKOFF && !x->timer) {
            mortise_exec_renew_handle(x);
            rv = mortise_exec_arm_timer_after(r, x, pause_left_ms(r, x), err);
        } else if (x->state == X_ASKED && x->deadline_ms != 0 && !x->timer) {
            mortise_exec_renew_handle(x);
            rv = mortise_exec_arm_timer_at(r, x, x->deadline_ms, err);
        } else if (x->state == X_SUSPENDED) {
            rv = mortise_step_arm_deadline(r, x, err);
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
    return rv != MORTISE_OK ? rv : start_live_run(r, err);
}

/* Continue from the head, unless the run is paused: a decision alone does not
 * resume it. */
static int continue_after_list(struct mortise_run *r,
                               const struct mortise_command_list *h,
                               struct mortise_err *err)
{
    int rv = MORTISE_OK;

    if (has_command_way(h, MORTISE_COMMAND_PAUSES_RUN))
        return MORTISE_OK;
    if (r->live) /* retry failed deliveries */
        return mortise_outbox_retry(r, err);
    if ((h->flags & MORTISE_NO_CONTINUE) != 0) {
        r->stays = h->blocked ? "plugin" : "no_continue";
        return MORTISE_OK;
    }
    if (r->paused != MORTISE_PAUSE_OVER &&
        has_command_way(h, MORTISE_COMMAND_CANCELS_CALLS))
        rv = mortise_pause_record(r, MORTISE_PAUSE_OVER, NULL, h->actor, err);
    return rv != MORTISE_OK || r->paused != MORTISE_PAUSE_OVER
               ? rv
               : start_live_run(r, err);
}

/* ---- applying ----------------------------------------------------------- */

bool mortise_command_replaces_plugin(const struct mortise_command_list *h,
                                     const struct mortise_node *n)
{
    for (size_t i = 0; i < h->n_pins; i++) {
        if (mortise_pins_is_of_node(h->pins[i].plugin, n))
            return true;
    }
    return false;
}

/* Record the new plugins.  Pending approvals of their calls are withdrawn and
 * asked again, since the calls are different now (pins.c (2)). */
static int record_new_pins(struct mortise_run *r,
                           const struct mortise_command_list *h,
                           struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_PINS, .actor = h->actor};
    int rv;

    if (h->n_pins == 0)
        return MORTISE_OK;
    rv = mortise_run_record_value(
        r, &e, mortise_pins_make_entry_json(h->pins, h->n_pins), err);
    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if (x->state == X_ASKED && x->ask == MORTISE_ASK_APPROVAL &&
            mortise_command_replaces_plugin(h, mortise_exec_node(r, x)))
            rv = mortise_request_withdraw(r, x, err);
    }
    return rv;
}

/* Decisions in their order, then plugins, then the other commands in the order
 * of their rows. */
static int apply_command_list(struct mortise_run *r,
                              const struct mortise_command_list *h,
                              struct mortise_err *err)
{
    const struct mortise_command_row *row;
    const struct mortise_run_command *c;
    int rv = MORTISE_OK;

    r->ordering = h;
    r->obeys = true; /* nothing starts before the whole list is applied */
    r->failed_before = r->n_failed;
    mortise_decide_reset(r);
    for (size_t i = 0; rv == MORTISE_OK && i < h->n; i++) {
        if (is_decision(&h->list[i]))
            rv = get_command_row(&h->list[i])->obey(r, h, &h->list[i], err);
    }
    if (rv == MORTISE_OK)
        rv = mortise_decide_apply_decisions(r, h, err);
    if (rv == MORTISE_OK)
        rv = record_new_pins(r, h, err);
    for (row = mortise_run_commands; rv == MORTISE_OK && row->kind != 0;
         row++) {
        c = row->subject == NULL ? find_command(h, row->kind) : NULL;
        if (c != NULL)
            rv = row->obey(r, h, c, err);
    }
    if (rv == MORTISE_OK)
        rv = continue_after_list(r, h, err);
    r->obeys = false;
    r->ordering = NULL; /* a list without changes, too */
    r->applied = rv == MORTISE_OK;
    return rv;
}

/* The list was recorded before: change nothing, but continue the run if the
 * list does so and nobody has paused it since. */
static int answer_repeated_order(struct mortise_run *r,
                                 const struct mortise_command_list *h,
                                 struct mortise_err *err)
{
    int rv = mortise_order_check(r, h, err);

    if (rv != MORTISE_OK)
        return rv;
    assert(r->held == NULL);
    if ((h->flags & MORTISE_NO_CONTINUE) == 0 && !r->live &&
        r->paused == MORTISE_PAUSE_OVER)
        rv = start_live_run(r, err);
    r->applied = rv == MORTISE_OK;
    return rv;
}

/* ---- the held list ------------------------------------------------------- */

static bool has_calls_in_flight(const struct mortise_run *r)
{
    return r->n_running > 0 || (r->live && r->intents.n > 0);
}

/* Copy a string; NULL stays NULL. */
static const char *copy_held_string(struct mortise_arena *a, const char *s,
                                    bool *failed)
{
    char *copy = s != NULL ? mortise_arena_strdup(a, s) : NULL;

    *failed |= s != NULL && copy == NULL;
    return copy;
}

static const char *get_list_cause(const struct mortise_command_list *h)
{
    for (size_t i = 0; i < h->n; i++) {
        const struct mortise_run_command *c = &h->list[i];

        if (get_command_row(c)->cause != NULL)
            return get_command_row(c)->cause(c);
    }
    return NULL;
}

static void free_held_list(struct mortise_run *r, struct held_command *held)
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

/* A copy with its own references.  The graph must live as long as the pins,
 * because it owns their names. */
static const struct mortise_steering *
copy_steering(struct mortise_arena *a, const struct mortise_steering *s)
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

static struct held_command *copy_held_list(struct mortise_run *r,
                                           const struct mortise_command_list *h)
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
    list[i].name = copy_held_string(&out->arena, h->list[i].name, &failed);
#define MEMBER_JSON(name, field) json_incref(list[i].name);
#define MEMBER_FLAG(name, bit)
#include "core/run/command/command_members.def"
    }
    assert(h->pins == NULL || h->n_pins == 0); /* pins are not copied */
    out->said = *h;
    out->said.list = list;
    out->said.n = list != NULL ? h->n : 0;
    out->said.actor = copy_held_string(&out->arena, h->actor, &failed);
    out->said.order = copy_held_string(&out->arena, h->order, &failed);
    out->cause = get_list_cause(h);
    if (h->steering != NULL) {
        out->said.steering = copy_steering(&out->arena, h->steering);
        failed |= out->said.steering == NULL;
    }
    if (list == NULL || failed) {
        free_held_list(r, out);
        return NULL;
    }
    return out;
}

void mortise_command_drop_held(struct mortise_run *r)
{
    if (r->held != NULL)
        free_held_list(r, r->held);
    r->held = NULL;
}

/* Only a pause waits for effects. */
static bool waits_for_effects(const struct mortise_command_list *h)
{
    return has_command_way(h, MORTISE_COMMAND_PAUSES_RUN) &&
           !has_command_way(h, MORTISE_COMMAND_CANCELS_CALLS) &&
           !has_command_way(h, MORTISE_COMMAND_ENDS_RUN);
}

/* Cancel the call; one with an effect only after the patience. */
static int stop_call_for_list(struct mortise_run *r, struct exec *x,
                              struct mortise_err *err)
{
    uint64_t until = r->steady_ms + r->held->said.patience_ms;
    uint64_t end = mortise_call_get_timeout_end(x);
    int rv;

    assert(x->state == X_RUNNING);
    if (!waits_for_effects(&r->held->said) || x->call > MORTISE_RUN_RECONCILE ||
        mortise_exec_node(r, x)->effect < MORTISE_WRITE)
        return mortise_exec_cancel_call(r, x, STOP_COMMAND, err);
    if (end != 0 && end <= until)
        return MORTISE_OK;
    rv = mortise_exec_disarm_timer(r, x, err);
    return rv != MORTISE_OK ? rv
                            : mortise_exec_arm_timer_after(
                                  r, x, r->held->said.patience_ms, err);
}

static int hold_until_quiet(struct mortise_run *r,
                            const struct mortise_command_list *h,
                            struct mortise_err *err)
{
    assert(h->n_pins == 0); /* new pins come before anything was started */
    assert(r->held == NULL && has_calls_in_flight(r));
    r->held = copy_held_list(r, h);
    if (r->held == NULL)
        return mortise_nomem(err);
    for (size_t i = 1; i < r->n_execs; i++) {
        struct exec *x = r->execs[i];
        int rv =
            x->state == X_RUNNING ? stop_call_for_list(r, x, err) : MORTISE_OK;

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

    if (r->held == NULL || has_calls_in_flight(r))
        return MORTISE_OK;
    rv = check_command_list(r, &r->held->said, &why);
    if (rv == MORTISE_OK) {
        rv = apply_command_list(r, &r->held->said, err);
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
    const struct mortise_command_list *h = &in->u.command;
    int rv;

    if (r->held != NULL || r->applied_seq != 0)
        return mortise_fail(
            err, MORTISE_ECONFLICT,
            "another command is being applied to run %s; try again", r->id);
    if (mortise_run_has_order(r, h->order))
        return answer_repeated_order(r, h, err);
    rv = check_command_list(r, h, err);
    if (rv != MORTISE_OK)
        return rv;
    if ((has_command_way(h, MORTISE_COMMAND_CANCELS_CALLS) ||
         has_command_way(h, MORTISE_COMMAND_PAUSES_RUN)) &&
        has_calls_in_flight(r))
        return hold_until_quiet(r, h, err);
    return apply_command_list(r, h, err);
}
