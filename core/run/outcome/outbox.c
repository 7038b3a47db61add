/* outbox.c -- what the run itself has to do with its memory: as of what its
 * snapshots are, the traces that it is still to write, and those that it used.
 *
 * Both take calls that are no execution's.  One is out at a time; it counts
 * among the calls of the run (n_running), and the pause before another try among
 * what it waits for (n_waiting), so that a run which has something to write does
 * not leave memory, end, or move meanwhile.
 *
 *   (1) Where a node of the graph, or of one in it, reads a snapshot, nothing
 *       starts before the memory was asked once which number it is at.  The
 *       answer is recorded (AS_OF), is on disk before anything else may change
 *       what the memory has, and stays for the run's life.  A memory that
 *       does not answer keeps nobody: the first snapshot that is read then says
 *       as of what the others are.
 *   (2) A trace is in the outbox by the entry that stands in its node's own
 *       commit (REMEMBER), and leaves it by one that says that the memory has it
 *       (REMEMBERED).  In between, and after any crash, it is there: a run that
 *       is loaded and goes on writes what is in it.  So it is written at least
 *       once, and, since the memory knows it by its id, there once; and never,
 *       where the node's commit is not on disk.
 *   (3) `journaled` goes out once its commit is on disk, whatever becomes of the
 *       run.  `snapshot` goes out when the run is about to complete; one that
 *       fails keeps it, as it may be resumed, and one that is cancelled drops it.
 *   (4) A run does not end before what goes out has gone: so `completed` says
 *       that its memory has it.  A memory that fails is tried again, with longer
 *       pauses; after TRIES, or an error that no other try mends, the run stands
 *       still (`paused`, reason `memory`), and to resume it tries anew.  One that
 *       is cancelled tries once, and ends.
 *
 *   (5) A node that is done has used the traces that it read: each becomes
 *       stronger by that (<mortise/memory.h>).  The memory is told so with what
 *       is written next, or as the run ends, and it is no more than that: what it
 *       does not take is dropped, and holds nobody up.  A use has the name of the
 *       execution, so one that is told twice is one.  It waits for the sync of
 *       the commit that its node is done in.
 *
 * A replay makes the same outbox of the entries; what is out, armed or given up
 * is of the process alone. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <mortise/memory.h>

#include "core/run/outcome/outcome.h"

enum {
    TRIES = 6,
    FIRST_MS = 500, /* the pause behind the first; each is twice as long */
    LONGEST_MS = 30000,
    CALL_MS = 30000, /* a call of the run's own may take so long */
    AT_ONCE = 100,   /* traces in one write */
    USES_MOST = MORTISE_MEMORY_TRACES /* that are kept; older ones go */
};

/* ---- calls and timers ---------------------------------------------------- */

bool mortise_outbox_made(uint64_t handle)
{
    return handle >= RUN_OWN;
}

static int disarm(struct mortise_run *r, struct mortise_err *err)
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

static int arm(struct mortise_run *r, uint64_t in_ms, struct mortise_err *err)
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

/* Whose such calls are, in the place of a node. */
static const struct mortise_node own_node = {.id = "memory", .complexity = NAN};

/* Takes the body (NULL: memory ran out). */
static int call(struct mortise_run *r, enum mortise_run_call_kind kind,
                json_t *body, struct mortise_err *err)
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
    a->u.call.timeout_ms = CALL_MS;
    snprintf(a->u.call.path, sizeof a->u.call.path, "memory");
    mortise_run_own_call(r, true);
    return arm(r, CALL_MS, err);
}

/* The call has ended, or the pause: nothing of it is out any more. */
static int come_to_rest(struct mortise_run *r, struct mortise_err *err)
{
    struct outbox *o = &r->outbox;
    int rv = disarm(r, err);

    if (o->state == OUTBOX_WAITS)
        mortise_run_own_wait(r, false);
    else if (o->state != OUTBOX_RESTS)
        mortise_run_own_call(r, false);
    o->state = OUTBOX_RESTS;
    o->serial++;
    return rv;
}

int mortise_outbox_stop(struct mortise_run *r, struct mortise_err *err)
{
    struct outbox *o = &r->outbox;
    struct mortise_action *a;
    int rv;

    if (o->state == OUTBOX_WAITS)
        return come_to_rest(r, err);
    if (o->state == OUTBOX_RESTS || !o->timer) /* it was told already */
        return MORTISE_OK;
    rv = disarm(r, err);
    a = rv == MORTISE_OK ? mortise_action_new(r, MORTISE_ACT_CANCEL, err)
                         : NULL;
    if (a == NULL)
        return MORTISE_ENOMEM;
    a->u.cancel = RUN_OWN | o->serial;
    return MORTISE_OK;
}

int mortise_outbox_timer(struct mortise_run *r, uint64_t handle,
                         struct mortise_err *err)
{
    struct outbox *o = &r->outbox;
    struct mortise_action *a;

    if (!mortise_run_is_own(r, handle) || !o->timer)
        return MORTISE_OK;
    o->timer = false;
    if (o->state == OUTBOX_WAITS)
        return come_to_rest(r, err);
    a = mortise_action_new(r, MORTISE_ACT_CANCEL, err);
    if (a == NULL)
        return MORTISE_ENOMEM;
    a->u.cancel = handle;
    return MORTISE_OK;
}

/* ---- as of what (1) ------------------------------------------------------ */

static bool wants_pin(const struct mortise_run *r)
{
    return r->graph->snapshots && !r->outbox.pinned && !r->outbox.asked &&
           !r->cancelling && !mortise_run_has_ended(r->status);
}

bool mortise_outbox_is_pinning(const struct mortise_run *r)
{
    return r->outbox.state == OUTBOX_PINS || wants_pin(r) ||
           r->outbox.pin_seq > r->synced;
}

int mortise_outbox_pin(struct mortise_run *r, uint64_t seq,
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

static int ask_pin(struct mortise_run *r, struct mortise_err *err)
{
    r->outbox.asked = true;
    r->outbox.state = OUTBOX_PINS;
    return call(r, MORTISE_RUN_RECALL,
                json_pack("{s:s, s:I, s:i}", "tenant", r->tenant, "now",
                          (json_int_t)r->time_ms, "max_traces", 0),
                err);
}

static int settle_pin(struct mortise_run *r, const struct mortise_result_in *in,
                      struct mortise_err *err)
{
    const json_t *seq = json_object_get(in->output, "seq");

    return in->status == 0 && json_is_integer(seq) &&
                   json_integer_value(seq) >= 0
               ? mortise_outbox_pin(r, (uint64_t)json_integer_value(seq), err)
               : MORTISE_OK;
}

/* ---- what is in it (2) --------------------------------------------------- */

int mortise_outbox_put(struct mortise_run *r, json_t *trace,
                       enum mortise_consistency how, struct mortise_err *err)
{
    struct outbox *o = &r->outbox;
    struct unwritten *grown =
        mortise_grow(r->mem, o->list, o->n, &o->cap, sizeof *grown);

    if (grown == NULL)
        return mortise_nomem(err);
    o->list = grown;
    grown[o->n++] = (struct unwritten){json_incref(trace), how,
                                       r->actions != NULL ? r->seq + 1 : 0};
    mortise_json_drop(&o->error); /* what was given up is tried once more, with
                                     this */
    o->fails = 0;
    return MORTISE_OK;
}

static void take_out(struct outbox *o, size_t i)
{
    json_decref(o->list[i].trace);
    memmove(o->list + i, o->list + i + 1, (--o->n - i) * sizeof o->list[0]);
}

static const char *id_of(const json_t *trace)
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
               strcmp(id_of(o->list[k].trace), json_string_value(id)) != 0)
            k++;
        if (!json_is_string(id) || k == o->n)
            return mortise_entry_corrupt(err, e);
        take_out(o, k);
    }
    mortise_json_drop(&o->error);
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
    mortise_json_hold(&o->error, e->value);
    if (mortise_run_is_seen(r)) {
        extra = mortise_outbox_json(r);
        if (extra == NULL)
            return mortise_nomem(err);
    }
    return mortise_event_announce(r, NULL, "memory_error", extra, err);
}

json_t *mortise_outbox_json(const struct mortise_run *r)
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
    mortise_json_drop(&o->error);
    mortise_json_drop(&o->uses);
}

/* ---- what was used (5) --------------------------------------------------- */

int mortise_outbox_use(struct mortise_run *r, const struct exec *x,
                       uint64_t at_ms, struct mortise_err *err)
{
    const json_t *read =
        json_object_get(x->found[MORTISE_LOOKUP_RECALL], "traces");
    struct outbox *o = &r->outbox;
    char by[MORTISE_DIGEST_HEX];

    if (json_array_size(read) == 0)
        return MORTISE_OK;
    mortise_exec_name(r, x, "use", by);
    if (o->uses == NULL)
        o->uses = json_array();
    o->uses_seq = r->actions != NULL ? r->seq + 1 : 0;
    MORTISE_JSON_EACH (one, i, read) {
        if (json_array_size(o->uses) >= USES_MOST + o->uses_out)
            json_array_remove(o->uses, o->uses_out);
        if (json_array_append_new(o->uses,
                                  json_pack("{s:O, s:s, s:I}", "id",
                                            json_object_get(one, "id"), "by",
                                            by, "at", (json_int_t)at_ms)) != 0)
            return mortise_nomem(err);
    }
    return MORTISE_OK;
}

/* What was told of them is told, or was dropped. */
static void forget_uses(struct outbox *o)
{
    for (; o->uses_out > 0; o->uses_out--)
        json_array_remove(o->uses, 0);
    if (json_array_size(o->uses) == 0)
        mortise_json_drop(&o->uses);
}

/* All of them, for a write: a new reference, NULL: there are none, or some are
 * of what is not on disk. */
static json_t *take_uses(struct mortise_run *r)
{
    struct outbox *o = &r->outbox;

    o->uses_out = o->uses_seq <= r->synced ? json_array_size(o->uses) : 0;
    return o->uses_out > 0 ? json_copy(o->uses) : NULL;
}

/* ---- what a read of the run's own sees of it ----------------------------- */

static bool is_among(const char *word, const struct mortise_memory_policy *p)
{
    for (size_t i = 0; i < p->n_types; i++)
        if (strcmp(word, p->types[i]) == 0)
            return true;
    return p->n_types == 0;
}

static bool fits(const json_t *trace, const struct mortise_memory_policy *p,
                 const json_t *keys)
{
    const char *scope = mortise_json_text_of(trace, "scope");
    const char *wanted = mortise_memory_scope_name(p->scope);

    if (wanted != NULL && strcmp(scope, wanted) != 0)
        return false;
    if (strcmp(scope, "global") != 0 &&
        !json_equal(json_object_get(trace, "key"),
                    json_object_get(keys, scope)))
        return false;
    return is_among(mortise_json_text_of(trace, "type"), p) &&
           json_number_value(json_object_get(trace, "strength")) >=
               p->min_strength;
}

int mortise_outbox_overlay(struct mortise_run *r,
                           const struct mortise_memory_policy *p,
                           const json_t *keys, json_t **out,
                           struct mortise_err *err)
{
    const struct outbox *o = &r->outbox;
    json_t *list = json_array();

    for (size_t i = o->n; list != NULL && i-- > 0;)
        if (o->list[i].how == MORTISE_MEMORY_JOURNALED &&
            fits(o->list[i].trace, p, keys) &&
            json_array_append(list, o->list[i].trace) != 0)
            mortise_json_drop(&list);
    json_decref(*out);
    *out = list;
    return list != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* ---- writing it (3) ------------------------------------------------------ */

static bool goes_out(const struct mortise_run *r, const struct unwritten *w)
{
    return w->how == MORTISE_MEMORY_JOURNALED || r->outbox.opened;
}

/* The first of what goes out to the front, in their order; how many? */
static size_t gather(struct mortise_run *r)
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

static int deliver(struct mortise_run *r, size_t n, struct mortise_err *err)
{
    struct outbox *o = &r->outbox;
    json_t *list = json_array();

    for (size_t i = 0; list != NULL && i < n; i++)
        if (json_array_append(list, o->list[i].trace) != 0)
            mortise_json_drop(&list);
    o->state = OUTBOX_DELIVERS;
    o->n_out = n;
    return call(r, MORTISE_RUN_REMEMBER,
                json_pack("{s:s, s:I, s:o, s:o*}", "tenant", r->tenant, "now",
                          (json_int_t)r->time_ms, "traces", list, "uses",
                          take_uses(r)),
                err);
}

int mortise_outbox_go(struct mortise_run *r, struct mortise_err *err)
{
    struct outbox *o = &r->outbox;
    size_t n;

    if (o->state != OUTBOX_RESTS || r->held != NULL || !r->live)
        return MORTISE_OK;
    if (wants_pin(r))
        return ask_pin(r, err);
    if (o->error != NULL || o->n == 0)
        return MORTISE_OK;
    n = gather(r);
    return n > 0 ? deliver(r, n, err) : MORTISE_OK;
}

uint64_t mortise_outbox_awaits(const struct mortise_run *r)
{
    const struct outbox *o = &r->outbox;
    uint64_t seq = o->pin_seq;

    for (size_t i = 0; i < o->n; i++)
        if (goes_out(r, &o->list[i]) && o->list[i].seq > seq)
            seq = o->list[i].seq;
    return seq;
}

/* ---- answers (4) --------------------------------------------------------- */

static int delivered(struct mortise_run *r, struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_REMEMBERED};
    struct outbox *o = &r->outbox;
    json_t *ids = json_array();

    assert(o->n_out <= o->n);
    for (size_t i = 0; ids != NULL && i < o->n_out; i++)
        if (json_array_append(ids, json_object_get(o->list[i].trace, "id")))
            mortise_json_drop(&ids);
    o->fails = 0;
    forget_uses(o);
    if (o->n_out > 0)
        return mortise_run_record_value(r, &e, ids, err);
    json_decref(ids);
    return ids != NULL ? MORTISE_OK : mortise_nomem(err);
}

static uint64_t pause_ms(unsigned fails)
{
    uint64_t ms = FIRST_MS;

    while (--fails > 0 && ms < LONGEST_MS)
        ms *= 2;
    return ms < LONGEST_MS ? ms : LONGEST_MS;
}

static bool is_hopeless(const struct mortise_run *r, const char *class)
{
    return r->cancelling || r->outbox.fails >= TRIES || class[0] == '\0' ||
           strcmp(class, "permanent") == 0;
}

/* No more is tried: why, for those who are to mend it. */
static int give_up(struct mortise_run *r, const char *class,
                   const struct mortise_result_in *in, struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_UNREMEMBERED};
    const char *code = in->error_code != NULL && in->error_code[0] != '\0'
                           ? in->error_code
                           : "failed";
    const char *words = in->message != NULL ? in->message : "";

    return mortise_run_record_value(
        r, &e, mortise_error_new(NULL, code, class, words), err);
}

static int not_delivered(struct mortise_run *r, const char *class,
                         const struct mortise_result_in *in,
                         struct mortise_err *err)
{
    struct outbox *o = &r->outbox;

    forget_uses(o);
    if (r->held != NULL || o->n_out == 0) /* it was told to stop, or no more */
        return MORTISE_OK;
    o->fails++;
    if (is_hopeless(r, class))
        return give_up(r, class, in, err);
    o->state = OUTBOX_WAITS;
    mortise_run_own_wait(r, true);
    return arm(r, pause_ms(o->fails), err);
}

static int settle(struct mortise_run *r, const struct mortise_result_in *in,
                  struct mortise_err *err)
{
    bool pins = r->outbox.state == OUTBOX_PINS;
    bool overdue = !r->outbox.timer;
    int rv = come_to_rest(r, err);

    if (rv != MORTISE_OK)
        return rv;
    if (pins && r->held != NULL) /* it was told to stop: asked once more */
        r->outbox.asked = false;
    if (pins)
        return settle_pin(r, in, err);
    return in->status == 0
               ? delivered(r, err)
               : not_delivered(r, overdue ? "timeout" : in->error_class, in,
                               err);
}

int mortise_outbox_settle(struct mortise_run *r,
                          const struct mortise_result_in *in,
                          struct mortise_err *err)
{
    return mortise_run_is_own(r, in->call) ? settle(r, in, err) : MORTISE_OK;
}

int mortise_outbox_give_up(struct mortise_run *r, uint64_t handle,
                           struct mortise_err *err)
{
    const struct mortise_result_in mute = {
        .call = handle, .status = -1, .error_class = "timeout"};

    return mortise_outbox_settle(r, &mute, err);
}

int mortise_outbox_again(struct mortise_run *r, struct mortise_err *err)
{
    struct outbox *o = &r->outbox;

    mortise_json_drop(&o->error);
    o->fails = 0;
    return o->state == OUTBOX_WAITS ? come_to_rest(r, err) : MORTISE_OK;
}

bool mortise_outbox_is_stuck(const struct mortise_run *r)
{
    return r->outbox.error != NULL;
}

/* ---- the end ------------------------------------------------------------- */

static bool has_snapshots(const struct outbox *o)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->list[i].how == MORTISE_MEMORY_SNAPSHOT)
            return true;
    return false;
}

/* (3): is the run about to complete? */
static int open_snapshots(struct mortise_run *r, struct mortise_err *err)
{
    json_t *error = NULL, *state = NULL;
    int rv;

    if (r->cancelling || r->after != 0 || !has_snapshots(&r->outbox))
        return MORTISE_OK;
    rv = mortise_total_outcome(r, r->frames[0], &error, &state, err);
    r->outbox.opened = rv == MORTISE_OK && error == NULL;
    json_decref(error);
    json_decref(state);
    return rv;
}

int mortise_outbox_before_end(struct mortise_run *r, bool *waits,
                              struct mortise_err *err)
{
    struct outbox *o = &r->outbox;
    int rv = o->n > 0 ? open_snapshots(r, err) : MORTISE_OK;

    *waits = false;
    for (size_t i = 0; rv == MORTISE_OK && i < o->n; i++)
        *waits |= goes_out(r, &o->list[i]);
    if (rv == MORTISE_OK && !*waits && o->uses != NULL && !r->cancelling &&
        r->live && r->held == NULL) { /* with nothing that is to be written */
        *waits = true;
        return o->state == OUTBOX_RESTS && o->uses_seq <= r->synced
                   ? deliver(r, 0, err)
                   : rv;
    }
    if (!*waits || o->error != NULL) {
        *waits &= !r->cancelling;
        return rv;
    }
    return mortise_outbox_go(r, err);
}
