/* outbox.c -- the run's own calls to its memory: pin a snapshot number, deliver
 * traces, report the traces that it used.
 *
 * These calls belong to no execution, and one is in flight at a time.  It
 * counts as a call of the run (n_running), and the pause before a retry as a
 * wait (n_waiting).  So a run with undelivered traces is not unloaded, does not
 * end, and does not move meanwhile.
 *
 *   (1) If a node of the graph, or of a graph inside it, reads a snapshot, the
 *       run first asks the memory for its current number, and starts nothing
 *       before that.  The number is recorded (AS_OF), is on disk before
 *       anything else can change the memory, and never changes.  If the memory
 *       does not answer, the run starts anyway, and the number of the first
 *       snapshot read is used.
 *   (2) The entry that adds a trace to the outbox (REMEMBER) is in its node's
 *       own commit; a REMEMBERED entry removes the trace once the memory has
 *       it.  A run that is loaded after a crash delivers its outbox.  So a
 *       trace is delivered at least once, is stored once, since the memory
 *       recognizes its id, and is never delivered if its node's commit is not
 *       on disk.
 *   (3) A `journaled` trace is delivered once its commit is on disk, even if
 *       the run then fails.  A `snapshot` trace is delivered when the run is
 *       about to complete; a failed run keeps it, since it can be resumed, and
 *       a cancelled run drops it.
 *   (4) A run does not end before its deliveries: `completed` implies that the
 *       memory has its traces.  A failed delivery is retried with growing
 *       pauses.  After MAX_DELIVERY_TRIES, or a permanent error, the run is
 *       paused (reason `memory`), and a resume starts the tries again.  A
 *       cancelled run tries once, and ends.
 *
 *   (5) A node that is done has used the traces that it read, which strengthens
 *       them (<mortise/memory.h>).  Uses are reported with the next delivery,
 *       or at the end of the run, after the sync of the commit with the node's
 *       `done`.  They are best effort: a failed report is dropped and blocks
 *       nothing.  A use is named after its execution, so that a repeated report
 *       counts once.
 *
 * A replay rebuilds the outbox from the entries.  Calls, timers and the count
 * of failed tries belong to the process. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <mortise/memory.h>

#include "core/run/outcome/outcome.h"

enum {
    MAX_DELIVERY_TRIES = 6,
    FIRST_PAUSE_MS = 500, /* after the first try; doubled each time */
    MAX_PAUSE_MS = 30000,
    CALL_TIMEOUT_MS = 30000,                /* timeout of a call */
    AT_ONCE = 100,                          /* traces in one write */
    MAX_STORED_USES = MORTISE_MEMORY_TRACES /* older uses are dropped */
};

/* ---- calls and timers ---------------------------------------------------- */

bool mortise_outbox_owns_handle(uint64_t handle)
{
    return handle >= RUN_OWN;
}

static int disarm_timer(struct mortise_run *r, struct mortise_err *err)
{
    struct outbox *o = &r->outbox;
    struct mortise_action *a;

    if (!o->timer)
        return MORTISE_OK;
    a = mortise_action_new(r, MORTISE_ACT_DISARM, err);
    if (a == NULL)
        return MORTISE_ENOMEM;
    o->timer = false;
    a->u.timer.id = RUN_OWN | o->serial;
    return MORTISE_OK;
}

static int arm_timer(struct mortise_run *r, uint64_t in_ms,
                     struct mortise_err *err)
{
    struct mortise_action *a = mortise_action_new(r, MORTISE_ACT_ARM, err);

    if (a == NULL)
        return MORTISE_ENOMEM;
    assert(!r->outbox.timer);
    r->outbox.timer = true;
    a->u.timer.id = RUN_OWN | r->outbox.serial;
    a->u.timer.at_ms = r->steady_ms + in_ms;
    a->u.timer.in_ms = in_ms;
    return MORTISE_OK;
}

/* Stands for a node in the run's own calls. */
static const struct mortise_node own_node = {.id = "memory", .complexity = NAN};

/* Takes the body (NULL: no memory). */
static int start_own_call(struct mortise_run *r,
                          enum mortise_run_call_kind kind, json_t *body,
                          struct mortise_err *err)
{
    struct mortise_action *a =
        body != NULL ? mortise_action_new(r, MORTISE_ACT_CALL, err) : NULL;

    if (a == NULL) {
        json_decref(body);
        return mortise_nomem(err);
    }
    r->outbox.serial++;
    a->u.call.id = RUN_OWN | r->outbox.serial;
    a->u.call.kind = kind;
    a->u.call.node = &own_node;
    a->u.call.plugin = a->u.call.operation = "";
    a->u.call.body = body;
    a->u.call.attempt = a->u.call.visit = 1;
    a->u.call.timeout_ms = CALL_TIMEOUT_MS;
    snprintf(a->u.call.path, sizeof a->u.call.path, "memory");
    mortise_run_count_own_call(r, true);
    return arm_timer(r, CALL_TIMEOUT_MS, err);
}

/* The call, or the pause, is over. */
static int end_call_or_pause(struct mortise_run *r, struct mortise_err *err)
{
    struct outbox *o = &r->outbox;
    int rv = disarm_timer(r, err);

    if (o->state == OUTBOX_WAITING)
        mortise_run_count_own_wait(r, false);
    else if (o->state != OUTBOX_IDLE)
        mortise_run_count_own_call(r, false);
    o->state = OUTBOX_IDLE;
    o->serial++;
    return rv;
}

int mortise_outbox_stop(struct mortise_run *r, struct mortise_err *err)
{
    struct outbox *o = &r->outbox;
    struct mortise_action *a;
    int rv;

    if (o->state == OUTBOX_WAITING)
        return end_call_or_pause(r, err);
    if (o->state == OUTBOX_IDLE || !o->timer) /* it was cancelled already */
        return MORTISE_OK;
    rv = disarm_timer(r, err);
    a = rv == MORTISE_OK ? mortise_action_new(r, MORTISE_ACT_CANCEL, err)
                         : NULL;
    if (a == NULL)
        return MORTISE_ENOMEM;
    a->u.cancel = RUN_OWN | o->serial;
    return MORTISE_OK;
}

int mortise_outbox_handle_timer(struct mortise_run *r, uint64_t handle,
                                struct mortise_err *err)
{
    struct outbox *o = &r->outbox;
    struct mortise_action *a;

    if (!mortise_run_is_own(r, handle) || !o->timer)
        return MORTISE_OK;
    o->timer = false;
    if (o->state == OUTBOX_WAITING)
        return end_call_or_pause(r, err);
    a = mortise_action_new(r, MORTISE_ACT_CANCEL, err);
    if (a == NULL)
        return MORTISE_ENOMEM;
    a->u.cancel = handle;
    return MORTISE_OK;
}

/* ---- the snapshot number (1) -------------------------------------------- */

static bool needs_pin(const struct mortise_run *r)
{
    return r->graph->snapshots && !r->outbox.pinned && !r->outbox.asked &&
           !r->cancelling && !mortise_run_has_ended(r->status);
}

bool mortise_outbox_is_pinning(const struct mortise_run *r)
{
    return r->outbox.state == OUTBOX_PINNING || needs_pin(r) ||
           r->outbox.pin_seq > r->synced;
}

int mortise_outbox_pin_snapshot(struct mortise_run *r, uint64_t seq,
                                struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_AS_OF};

    return r->outbox.pinned
               ? MORTISE_OK
               : mortise_run_record_value(
                     r, &e, json_pack("{s:I}", "memory", (json_int_t)seq), err);
}

int mortise_apply_as_of(struct mortise_run *r, const struct mortise_entry *e,
                        struct mortise_err *err)
{
    const json_t *seq = json_object_get(e->value, "memory");

    if (r->outbox.pinned || !json_is_integer(seq) ||
        json_integer_value(seq) < 0)
        return mortise_entry_corrupt(err, e);
    r->outbox.pinned = true;
    r->outbox.pin_seq = r->actions != NULL ? r->seq + 1 : 0;
    r->outbox.as_of = (uint64_t)json_integer_value(seq);
    return MORTISE_OK;
}

static int start_pin_call(struct mortise_run *r, struct mortise_err *err)
{
    r->outbox.asked = true;
    r->outbox.state = OUTBOX_PINNING;
    return start_own_call(r, MORTISE_RUN_RECALL,
                          json_pack("{s:s, s:I, s:i}", "tenant", r->tenant,
                                    "now", (json_int_t)r->time_ms, "max_traces",
                                    0),
                          err);
}

static int settle_pin(struct mortise_run *r, const struct mortise_result_in *in,
                      struct mortise_err *err)
{
    const json_t *seq = json_object_get(in->output, "seq");

    return in->status == 0 && json_is_integer(seq) &&
                   json_integer_value(seq) >= 0
               ? mortise_outbox_pin_snapshot(
                     r, (uint64_t)json_integer_value(seq), err)
               : MORTISE_OK;
}

/* ---- the undelivered traces (2) ----------------------------------------- */

int mortise_outbox_add_trace(struct mortise_run *r, json_t *trace,
                             enum mortise_consistency how,
                             struct mortise_err *err)
{
    struct outbox *o = &r->outbox;
    struct unwritten *grown =
        mortise_array_grow(r->mem, o->list, o->n, &o->cap, sizeof *grown);

    if (grown == NULL)
        return mortise_nomem(err);
    o->list = grown;
    grown[o->n++] = (struct unwritten){json_incref(trace), how,
                                       r->actions != NULL ? r->seq + 1 : 0};
    mortise_json_clear_ref(&o->error); /* retry older failures with this one */
    o->fails = 0;
    return MORTISE_OK;
}

static void remove_unwritten(struct outbox *o, size_t i)
{
    json_decref(o->list[i].trace);
    memmove(o->list + i, o->list + i + 1, (--o->n - i) * sizeof o->list[0]);
}

static const char *get_unwritten_id(const json_t *trace)
{
    return json_string_value(json_object_get(trace, "id"));
}

int mortise_apply_remembered(struct mortise_run *r,
                             const struct mortise_entry *e,
                             struct mortise_err *err)
{
    struct outbox *o = &r->outbox;

    if (!json_is_array(e->value))
        return mortise_entry_corrupt(err, e);
    MORTISE_JSON_EACH (id, i, e->value) {
        size_t k = 0;

        while (json_is_string(id) && k < o->n &&
               strcmp(get_unwritten_id(o->list[k].trace),
                      json_string_value(id)) != 0)
            k++;
        if (!json_is_string(id) || k == o->n)
            return mortise_entry_corrupt(err, e);
        remove_unwritten(o, k);
    }
    mortise_json_clear_ref(&o->error);
    return MORTISE_OK;
}

int mortise_apply_unremembered(struct mortise_run *r,
                               const struct mortise_entry *e,
                               struct mortise_err *err)
{
    struct outbox *o = &r->outbox;
    json_t *extra = NULL;

    if (!json_is_object(e->value) || o->n == 0)
        return mortise_entry_corrupt(err, e);
    mortise_json_set_ref(&o->error, e->value);
    if (mortise_run_has_watcher(r)) {
        extra = mortise_outbox_make_json(r);
        if (extra == NULL)
            return mortise_nomem(err);
    }
    return mortise_event_announce(r, NULL, "memory_error", extra, err);
}

json_t *mortise_outbox_make_json(const struct mortise_run *r)
{
    return json_pack("{s:I, s:O}", "traces", (json_int_t)r->outbox.n, "error",
                     r->outbox.error);
}

void mortise_outbox_finish(struct mortise_run *r)
{
    struct outbox *o = &r->outbox;

    while (o->n > 0)
        json_decref(o->list[--o->n].trace);
    mortise_release(r->mem, o->list, o->cap * sizeof o->list[0]);
    o->list = NULL;
    o->cap = 0;
    mortise_json_clear_ref(&o->error);
    mortise_json_clear_ref(&o->uses);
}

/* ---- used traces (5) ---------------------------------------------------- */

int mortise_outbox_add_uses(struct mortise_run *r, const struct exec *x,
                            uint64_t at_ms, struct mortise_err *err)
{
    const json_t *read =
        json_object_get(x->found[MORTISE_LOOKUP_RECALL], "traces");
    struct outbox *o = &r->outbox;
    char by[MORTISE_DIGEST_HEX];

    if (json_array_size(read) == 0)
        return MORTISE_OK;
    mortise_exec_print_stable_name(r, x, "use", by);
    if (o->uses == NULL)
        o->uses = json_array();
    o->uses_seq = r->actions != NULL ? r->seq + 1 : 0;
    MORTISE_JSON_EACH (one, i, read) {
        if (json_array_size(o->uses) >= MAX_STORED_USES + o->n_uses_sent)
            json_array_remove(o->uses, o->n_uses_sent);
        if (json_array_append_new(o->uses,
                                  json_pack("{s:O, s:s, s:I}", "id",
                                            json_object_get(one, "id"), "by",
                                            by, "at", (json_int_t)at_ms)) != 0)
            return mortise_nomem(err);
    }
    return MORTISE_OK;
}

/* The report succeeded, or is dropped. */
static void drop_reported_uses(struct outbox *o)
{
    for (; o->n_uses_sent > 0; o->n_uses_sent--)
        json_array_remove(o->uses, 0);
    if (json_array_size(o->uses) == 0)
        mortise_json_clear_ref(&o->uses);
}

/* The uses for the next write: a new reference; NULL: none, or their commit is
 * not on disk. */
static json_t *get_uses_to_report(struct mortise_run *r)
{
    struct outbox *o = &r->outbox;

    o->n_uses_sent = o->uses_seq <= r->synced ? json_array_size(o->uses) : 0;
    return o->n_uses_sent > 0 ? json_copy(o->uses) : NULL;
}

/* ---- the overlay of a `journaled` read ---------------------------------- */

static bool is_wanted_type(const char *word,
                           const struct mortise_memory_policy *p)
{
    for (size_t i = 0; i < p->n_types; i++)
        if (strcmp(word, p->types[i]) == 0)
            return true;
    return p->n_types == 0;
}

static bool is_trace_wanted(const json_t *trace,
                            const struct mortise_memory_policy *p,
                            const json_t *keys)
{
    const char *scope = mortise_json_get_text(trace, "scope");
    const char *wanted = mortise_memory_scope_name(p->scope);

    if (wanted != NULL && strcmp(scope, wanted) != 0)
        return false;
    if (strcmp(scope, "global") != 0 &&
        !json_equal(json_object_get(trace, "key"),
                    json_object_get(keys, scope)))
        return false;
    return is_wanted_type(mortise_json_get_text(trace, "type"), p) &&
           json_number_value(json_object_get(trace, "strength")) >=
               p->min_strength;
}

int mortise_outbox_list_matching(struct mortise_run *r,
                                 const struct mortise_memory_policy *p,
                                 const json_t *keys, json_t **out,
                                 struct mortise_err *err)
{
    const struct outbox *o = &r->outbox;
    json_t *list = json_array();

    for (size_t i = o->n; list != NULL && i-- > 0;)
        if (o->list[i].how == MORTISE_MEMORY_JOURNALED &&
            is_trace_wanted(o->list[i].trace, p, keys) &&
            json_array_append(list, o->list[i].trace) != 0)
            mortise_json_clear_ref(&list);
    json_decref(*out);
    *out = list;
    return list != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* ---- delivery (3) ------------------------------------------------------- */

static bool goes_out(const struct mortise_run *r, const struct unwritten *w)
{
    return w->how == MORTISE_MEMORY_JOURNALED || r->outbox.opened;
}

/* Move the first traces that are due to the front, in order; returns their
 * number. */
static size_t move_due_to_front(struct mortise_run *r)
{
    struct outbox *o = &r->outbox;
    size_t n = 0;

    for (size_t i = 0; i < o->n && n < AT_ONCE; i++) {
        struct unwritten one = o->list[i];

        if (!goes_out(r, &one) || one.seq > r->synced)
            continue;
        memmove(o->list + n + 1, o->list + n, (i - n) * sizeof one);
        o->list[n++] = one;
    }
    return n;
}

static int start_delivery(struct mortise_run *r, size_t n,
                          struct mortise_err *err)
{
    struct outbox *o = &r->outbox;
    json_t *list = json_array();

    for (size_t i = 0; list != NULL && i < n; i++)
        if (json_array_append(list, o->list[i].trace) != 0)
            mortise_json_clear_ref(&list);
    o->state = OUTBOX_DELIVERING;
    o->n_out = n;
    return start_own_call(r, MORTISE_RUN_REMEMBER,
                          json_pack("{s:s, s:I, s:o, s:o*}", "tenant",
                                    r->tenant, "now", (json_int_t)r->time_ms,
                                    "traces", list, "uses",
                                    get_uses_to_report(r)),
                          err);
}

int mortise_outbox_start_next(struct mortise_run *r, struct mortise_err *err)
{
    struct outbox *o = &r->outbox;
    size_t n;

    if (o->state != OUTBOX_IDLE || r->held != NULL || !r->live)
        return MORTISE_OK;
    if (needs_pin(r))
        return start_pin_call(r, err);
    if (o->error != NULL || o->n == 0)
        return MORTISE_OK;
    n = move_due_to_front(r);
    return n > 0 ? start_delivery(r, n, err) : MORTISE_OK;
}

uint64_t mortise_outbox_get_awaited_seq(const struct mortise_run *r)
{
    const struct outbox *o = &r->outbox;
    uint64_t seq = o->pin_seq;

    for (size_t i = 0; i < o->n; i++)
        if (goes_out(r, &o->list[i]) && o->list[i].seq > seq)
            seq = o->list[i].seq;
    return seq;
}

/* ---- answers (4) -------------------------------------------------------- */

static int record_delivery(struct mortise_run *r, struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_REMEMBERED};
    struct outbox *o = &r->outbox;
    json_t *ids = json_array();

    assert(o->n_out <= o->n);
    for (size_t i = 0; ids != NULL && i < o->n_out; i++)
        if (json_array_append(ids, json_object_get(o->list[i].trace, "id")))
            mortise_json_clear_ref(&ids);
    o->fails = 0;
    drop_reported_uses(o);
    if (o->n_out > 0)
        return mortise_run_record_value(r, &e, ids, err);
    json_decref(ids);
    return ids != NULL ? MORTISE_OK : mortise_nomem(err);
}

static uint64_t get_retry_pause_ms(unsigned fails)
{
    uint64_t ms = FIRST_PAUSE_MS;

    while (--fails > 0 && ms < MAX_PAUSE_MS)
        ms *= 2;
    return ms < MAX_PAUSE_MS ? ms : MAX_PAUSE_MS;
}

static bool is_last_try(const struct mortise_run *r, const char *class)
{
    return r->cancelling || r->outbox.fails >= MAX_DELIVERY_TRIES ||
           class[0] == '\0' || strcmp(class, "permanent") == 0;
}

/* Stop trying, and record the error for the operator. */
static int record_delivery_failure(struct mortise_run *r, const char *class,
                                   const struct mortise_result_in *in,
                                   struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_UNREMEMBERED};
    const char *code = in->error_code != NULL && in->error_code[0] != '\0'
                           ? in->error_code
                           : "failed";
    const char *words = in->message != NULL ? in->message : "";

    return mortise_run_record_value(
        r, &e, mortise_error_new(NULL, code, class, words), err);
}

static int settle_failed_delivery(struct mortise_run *r, const char *class,
                                  const struct mortise_result_in *in,
                                  struct mortise_err *err)
{
    struct outbox *o = &r->outbox;

    drop_reported_uses(o);
    /* Do not retry a cancelled call, or one that only reported uses. */
    if (r->held != NULL || o->n_out == 0)
        return MORTISE_OK;
    o->fails++;
    if (is_last_try(r, class))
        return record_delivery_failure(r, class, in, err);
    o->state = OUTBOX_WAITING;
    mortise_run_count_own_wait(r, true);
    return arm_timer(r, get_retry_pause_ms(o->fails), err);
}

static int settle_own_call(struct mortise_run *r,
                           const struct mortise_result_in *in,
                           struct mortise_err *err)
{
    bool pins = r->outbox.state == OUTBOX_PINNING;
    bool overdue = !r->outbox.timer;
    int rv = end_call_or_pause(r, err);

    if (rv != MORTISE_OK)
        return rv;
    if (pins && r->held != NULL) /* cancelled: ask again later */
        r->outbox.asked = false;
    if (pins)
        return settle_pin(r, in, err);
    return in->status == 0
               ? record_delivery(r, err)
               : settle_failed_delivery(
                     r, overdue ? "timeout" : in->error_class, in, err);
}

int mortise_outbox_settle(struct mortise_run *r,
                          const struct mortise_result_in *in,
                          struct mortise_err *err)
{
    return mortise_run_is_own(r, in->call) ? settle_own_call(r, in, err)
                                           : MORTISE_OK;
}

int mortise_outbox_abandon_call(struct mortise_run *r, uint64_t handle,
                                struct mortise_err *err)
{
    const struct mortise_result_in mute = {
        .call = handle, .status = -1, .error_class = "timeout"};

    return mortise_outbox_settle(r, &mute, err);
}

int mortise_outbox_retry(struct mortise_run *r, struct mortise_err *err)
{
    struct outbox *o = &r->outbox;

    mortise_json_clear_ref(&o->error);
    o->fails = 0;
    return o->state == OUTBOX_WAITING ? end_call_or_pause(r, err) : MORTISE_OK;
}

bool mortise_outbox_is_stuck(const struct mortise_run *r)
{
    return r->outbox.error != NULL;
}

/* ---- the end of the run ------------------------------------------------- */

static bool has_snapshot_traces(const struct outbox *o)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->list[i].how == MORTISE_MEMORY_SNAPSHOT)
            return true;
    return false;
}

/* (3): release `snapshot` traces if the run is about to complete. */
static int release_snapshots(struct mortise_run *r, struct mortise_err *err)
{
    json_t *error = NULL, *state = NULL;
    int rv;

    if (r->cancelling || r->after != 0 || !has_snapshot_traces(&r->outbox))
        return MORTISE_OK;
    rv = mortise_total_get_result(r, r->frames[0], &error, &state, err);
    r->outbox.opened = rv == MORTISE_OK && error == NULL;
    json_decref(error);
    json_decref(state);
    return rv;
}

int mortise_outbox_flush_before_end(struct mortise_run *r, bool *waits,
                                    struct mortise_err *err)
{
    struct outbox *o = &r->outbox;
    int rv = o->n > 0 ? release_snapshots(r, err) : MORTISE_OK;

    *waits = false;
    for (size_t i = 0; rv == MORTISE_OK && i < o->n; i++)
        *waits |= goes_out(r, &o->list[i]);
    if (rv == MORTISE_OK && !*waits && o->uses != NULL && !r->cancelling &&
        r->live && r->held == NULL) { /* only uses are left */
        *waits = true;
        return o->state == OUTBOX_IDLE && o->uses_seq <= r->synced
                   ? start_delivery(r, 0, err)
                   : rv;
    }
    if (!*waits || o->error != NULL) {
        *waits &= !r->cancelling;
        return rv;
    }
    return mortise_outbox_start_next(r, err);
}
