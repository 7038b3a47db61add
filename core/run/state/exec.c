/* exec.c -- executions: creation, names, state changes and simple fields.
 *
 * mortise_exec_set_state() is the only function that changes the state of an
 * execution.  It keeps the counters of the run, the call counters of its graphs
 * (for their clocks) and the users of resources.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/run/state/state.h"

/* Append `text` at position `at`; returns the new length. */
static size_t append_text(char out[MORTISE_EXEC_PATH], size_t at,
                          const char *text)
{
    while ((out[at] = *text++) != '\0') {
        at++;
        assert(at < MORTISE_EXEC_PATH); /* graph/ limits ids and nested maps */
    }
    return at;
}

void mortise_exec_print_path(const struct mortise_run *r, const struct exec *x,
                             char out[MORTISE_EXEC_PATH])
{
    char digits[12] = "";
    size_t at, k = sizeof digits - 1;

    for (uint32_t v = x->visit; v > 0 || k == sizeof digits - 1; v /= 10)
        digits[--k] = (char)('0' + v % 10);
    at = append_text(out, 0, x->frame->scope->prefix);
    at = append_text(out, at,
                     x->node == MORTISE_START ? "START"
                     : x->node == NODE_UPDATE ? "update"
                                              : mortise_exec_node(r, x)->id);
    out[at++] = '#';
    at = append_text(out, at, digits + k);
    at = append_text(out, at, x->frame->scope->suffix);
    append_text(out, at, x->fan != NULL ? "[*]" : "");
}

bool mortise_exec_is_within_held(const struct mortise_run *r,
                                 const struct exec *x)
{
    while ((x = x->frame->top->scope->owner) != NULL)
        if (mortise_node_is_held_back(mortise_exec_node(r, x)))
            return true;
    return false;
}

bool mortise_exec_is_held(const struct mortise_run *r, const struct exec *x)
{
    return mortise_node_is_held_back(mortise_exec_node(r, x)) ||
           mortise_exec_is_within_held(r, x);
}

const char *mortise_exec_get_failure_message(const struct mortise_run *r,
                                             const struct exec *x,
                                             const char *code,
                                             const char *words)
{
    bool unseen = mortise_node_is_held_back(mortise_exec_node(r, x)) &&
                  strcmp(code, "guardrail") != 0 &&
                  strcmp(code, "rejected") != 0;

    return unseen ? "it failed; its error message is not shown, because no "
                    "guardrail has checked it"
                  : words;
}

struct artifact *mortise_exec_artifact(struct mortise_run *r,
                                       const struct exec *x)
{
    struct artifact *n = &x->frame->top->scope->artifacts[x->node];
    const char *as = mortise_exec_node(r, x)->output_as;
    struct mortise_path *path;
    struct mortise_buf text;
    char *copy;

    assert(as != NULL); /* the caller checked this */
    if (n->path != NULL)
        return n;
    path = mortise_arena_alloc(&r->arena, sizeof *path);
    if (path == NULL)
        return NULL;
    path->n = 2;
    path->steps = mortise_arena_alloc(&r->arena, 2 * sizeof path->steps[0]);
    mortise_buf_init(&text, r->mem);
    mortise_buf_puts(&text, "artifacts[\"");
    mortise_buf_puts(&text, as);
    mortise_buf_puts(&text, "\"]");
    copy =
        text.failed ? NULL : mortise_arena_strndup(&r->arena, text.p, text.n);
    mortise_buf_finish(&text);
    if (path->steps == NULL || copy == NULL)
        return NULL;
    path->text = copy;
    path->steps[0].key = "artifacts";
    path->steps[1].key = as;
    n->how = mortise_graph_reducer(x->frame->graph, path);
    n->path = path;
    return n;
}

const char *mortise_exec_print_timeout(const struct exec *x,
                                       char out[MORTISE_TIMEOUT_WORDS])
{
    struct mortise_node n = *mortise_exec_node(NULL, x);

    if (n.timeout != NULL)
        n.timeout_ms = x->timeout_ms;
    if (mortise_exec_get_timeout_ms(x) == n.timeout_ms)
        return mortise_node_print_timeout(&n, out);
    snprintf(out, MORTISE_TIMEOUT_WORDS,
             "the attempt took longer than %d ms, the limit for a finaliser of "
             "a stopped graph",
             MORTISE_FINAL_MS);
    return out;
}

struct item *mortise_exec_item(const struct exec *x)
{
    return x->fan != NULL ? x->fan->item : mortise_item_of(x->frame, x->node);
}

struct exec *mortise_exec_new(struct mortise_run *r, struct frame *f,
                              uint32_t node, uint32_t visit,
                              const struct indexes *preds,
                              struct mortise_err *err)
{
    struct exec **grown = mortise_array_grow(r->mem, r->execs, r->n_execs,
                                             &r->cap_execs, sizeof grown[0]);
    struct exec *x;

    assert(preds != NULL ? preds->n > 0 : node == MORTISE_START);
    assert(f != NULL && r->n_execs < UINT32_MAX);
    if (grown == NULL) {
        mortise_nomem(err);
        return NULL;
    }
    r->execs = grown;
    x = mortise_arena_alloc(&r->arena, sizeof *x);
    if (x == NULL) {
        mortise_nomem(err);
        return NULL;
    }
    x->index = (uint32_t)r->n_execs;
    x->node = node;
    x->visit = visit;
    x->generation = 1;
    x->attempt = 1;
    x->frame = f;
    if (mortise_view_set_preds(r, x, preds != NULL ? preds->list : NULL,
                               preds != NULL ? preds->n : 0, err) != MORTISE_OK)
        return NULL;
    x->sibling = f->execs;
    f->execs = x;
    r->execs[r->n_execs++] = x;
    return x;
}

/* A call of x started (`by` 1) or ended (`by` all ones).  The clocks of its
 * graph, and of the graphs around it, may have to start or stop (clock.c). */
static void count_running_calls(struct mortise_run *r, const struct exec *x,
                                uint32_t by)
{
    struct scope *in = x->frame->top->scope;

    for (;; in = in->owner->frame->top->scope) {
        bool was = in->n_running > 0;

        assert(was || by == 1);
        in->n_running += by;
        if (was != (in->n_running > 0) && !in->changed) {
            in->changed = true;
            in->next_changed = r->clocks;
            r->clocks = in;
        }
        if (in->owner == NULL)
            return;
    }
}

/* Add one or, if `by` is all ones, subtract one. */
static void add_to_counter(uint32_t *n, uint32_t by)
{
    assert(*n > 0 || by == 1);
    *n += by;
}

/* START, an update, the gathering of a map and a tool are not steps. */
static bool is_step(const struct exec *x)
{
    return x->fan == NULL && x->node < x->frame->graph->n_nodes &&
           x->serves == 0;
}

/* Add x to, or remove it from, the counters for its current state. */
static void count_exec_state(struct mortise_run *r, struct exec *x, uint32_t by)
{
    switch (x->state) {
    case X_READY:
    case X_INTENT:
    case X_BACKOFF:
        add_to_counter(&r->n_waiting, by);
        break;
    case X_RUNNING:
    case X_STOPPING:
        add_to_counter(&r->n_running, by);
        count_running_calls(r, x, by);
        break;
    case X_ASKED:
        add_to_counter(&r->n_asked, by);
        add_to_counter(&r->n_asked_so[x->ask], by);
        break;
    case X_HELD:
        add_to_counter(&r->n_asked, by);
        break;
    case X_INNER_GRAPH:
        add_to_counter(&r->n_inside, by);
        break;
    case X_SUSPENDED:
        add_to_counter(&r->n_suspended, by);
        break;
    case X_DONE:
        if (is_step(x))
            add_to_counter(&r->n_finished, by);
        break;
    case X_FAILED:
        if (x->serves == 0)
            add_to_counter(&r->n_finished, by);
        if (!x->handled)
            add_to_counter(&r->n_failed, by);
        break;
    case X_CANCELLED:
        break;
    }
}

static bool is_active_state(enum exec_state s)
{
    return s != 0 && s < X_DONE;
}

void mortise_exec_set_near(struct mortise_run *r, struct exec *x, bool near)
{
    assert(!near || x->state == X_SUSPENDED);
    assert(!x->near || r->n_near > 0);
    r->n_near += (uint32_t)near - (uint32_t)x->near;
    x->near = near;
}

/* The user of the node's resource; NULL: the node shares none. */
static uint32_t *find_resource_user(const struct mortise_run *r,
                                    const struct exec *x)
{
    const struct mortise_graph *g = x->frame->graph;

    if (x->fan != NULL || x->node >= g->n_nodes ||
        g->nodes[x->node].resource == 0)
        return NULL;
    return &r->users[g->nodes[x->node].resource - 1];
}

/* An execution uses its resource from INTENT until its call has ended. */
static void set_resource_user(const struct mortise_run *r, const struct exec *x,
                              enum exec_state s)
{
    uint32_t *user = find_resource_user(r, x);

    if (user == NULL)
        return;
    if (s == X_INTENT || s == X_RUNNING || s == X_STOPPING)
        *user = x->index;
    else if (*user == x->index)
        *user = 0;
}

bool mortise_exec_must_await_resource(const struct mortise_run *r,
                                      const struct exec *x)
{
    const uint32_t *user = find_resource_user(r, x);

    return user != NULL && *user != 0;
}

void mortise_exec_renumber(struct exec *x, uint32_t node)
{
    assert(x->node < x->frame->graph->n_nodes);
    x->node = node;
}

void mortise_exec_withdraw(struct mortise_run *r, struct exec *x)
{
    struct exec **at = &x->frame->execs;

    assert(x->state == X_READY && !x->counted && x->fan == NULL);
    while (*at != x)
        at = &(*at)->sibling;
    *at = x->sibling;
    x->node = NODE_UPDATE; /* belongs to no node and has no writes */
    mortise_exec_set_state(r, x, X_DONE);
}

int mortise_exec_rebuild_users(struct mortise_run *r, struct mortise_err *err)
{
    r->users = mortise_arena_alloc(&r->arena,
                                   r->graph->n_resources * sizeof *r->users);
    if (r->users == NULL)
        return mortise_nomem(err);
    for (size_t i = 1; i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if (x->state == X_INTENT || x->state == X_RUNNING ||
            x->state == X_STOPPING)
            set_resource_user(r, x, x->state);
    }
    return MORTISE_OK;
}

/* While tools of x run, x waits for them and they use its slot.  Otherwise
 * calls that occupy all slots would wait forever for a slot for their tools. */
static void update_lent_slot(struct mortise_run *r, struct exec *x)
{
    bool lends = (x->state == X_RUNNING || x->state == X_STOPPING) &&
                 x->tools->scope->n_live > 0;

    r->n_slots_lent += (uint32_t)lends - (uint32_t)x->lent;
    x->lent = lends;
}

void mortise_exec_add_asker(struct mortise_run *r, struct exec *x)
{
    assert(x->tools != NULL);
    if (x->listed)
        return;
    x->listed = true;
    x->next_asker = r->askers;
    r->askers = x;
}

struct exec *mortise_exec_take_asker(struct mortise_run *r)
{
    struct exec *x = r->askers;

    if (x == NULL)
        return NULL;
    assert(x->listed);
    x->listed = false;
    r->askers = x->next_asker;
    return x;
}

void mortise_exec_add_askers_of(struct mortise_run *r, const struct exec *x)
{
    struct exec *owner = x->frame->top->scope->owner;

    for (; owner != NULL; owner = owner->frame->top->scope->owner) {
        if (owner->tools != NULL)
            mortise_exec_add_asker(r, owner);
    }
}

/* The executions that x runs for as a tool check their tools at the end of this
 * step. */
static void notify_tool_owners(struct mortise_run *r, const struct exec *x)
{
    struct exec *owner = x->frame->top->scope->owner;

    if (owner->tools == x->frame->top)
        update_lent_slot(r, owner);
    mortise_exec_add_askers_of(r, x);
}

/* A step that recorded nothing counts only while it runs: a crash would forget
 * it. */
static void uncount_unrecorded_step(struct mortise_run *r, struct exec *x)
{
    if (!x->counted || x->is_recorded)
        return;
    x->counted = false;
    r->n_started--;
}

void mortise_exec_set_state(struct mortise_run *r, struct exec *x,
                            enum exec_state s)
{
    assert(s != 0);
    assert(!is_active_state(x->state) || x->frame->top->scope->n_live > 0);
    assert(x->state != X_READY || x->counted || r->n_fresh > 0);
    set_resource_user(r, x, s);
    x->frame->top->scope->n_live +=
        is_active_state(s) - is_active_state(x->state);
    if (x->state != 0)
        count_exec_state(r, x, (uint32_t)-1);
    r->n_fresh -= x->state == X_READY && !x->counted;
    if (x->near && s != X_SUSPENDED)
        mortise_exec_set_near(r, x, false);
    if (s == X_READY || !is_active_state(s))
        uncount_unrecorded_step(r, x);
    x->state = s;
    if (!is_active_state(s) &&
        (s != X_DONE || x->by_on_error || x->child != NULL || x->tools != NULL))
        mortise_spawned_mark_left(r);
    x->awaits_tools = false;
    r->n_fresh += s == X_READY && !x->counted;
    count_exec_state(r, x, 1);
    if (x->tools != NULL)
        update_lent_slot(r, x);
    if (x->frame->top->scope->owner != NULL)
        notify_tool_owners(r, x);
}

void mortise_exec_await_tools(struct mortise_run *r, struct exec *x)
{
    mortise_exec_set_state(r, x, X_SUSPENDED);
    x->awaits_tools = true;
}

void mortise_run_count_own_call(struct mortise_run *r, bool out)
{
    assert(out || r->n_running > 0);
    r->n_own += out ? 1 : (uint32_t)-1;
    add_to_counter(&r->n_running, out ? 1 : (uint32_t)-1);
}

void mortise_run_count_own_wait(struct mortise_run *r, bool waits)
{
    add_to_counter(&r->n_waiting, waits ? 1 : (uint32_t)-1);
}

int mortise_exec_make_ready(struct mortise_run *r, struct exec *x,
                            struct mortise_err *err)
{
    /* Gathering a map needs no slot. */
    struct indexes *queue = x->fan != NULL ? &r->gathers : &r->ready;

    assert(r->ready_head <= r->ready.n);
    assert(x->fan == NULL || x->counted); /* it is no step and needs no slot */
    if (r->ready_head > 64 && 2 * r->ready_head > r->ready.n) {
        r->ready.n -= r->ready_head;
        memmove(r->ready.list, r->ready.list + r->ready_head,
                r->ready.n * sizeof r->ready.list[0]);
        r->ready_head = 0;
    }
    if (mortise_indexes_add(r->mem, queue, x->index, err) != MORTISE_OK)
        return MORTISE_ENOMEM;
    mortise_exec_set_state(r, x, X_READY);
    return MORTISE_OK;
}

int mortise_exec_make_intent(struct mortise_run *r, struct exec *x,
                             const struct mortise_entry *e,
                             struct mortise_err *err)
{
    assert(!mortise_exec_has_ended(x));
    mortise_exec_set_attempt(x, e->attempt, e->started_ms);
    if (x->state == X_INTENT)
        return MORTISE_OK; /* its reservation was recorded just before */
    if (mortise_indexes_add(r->mem, &r->intents, x->index, err) != MORTISE_OK)
        return MORTISE_ENOMEM;
    x->intent_seq = r->seq + 1;
    mortise_exec_set_state(r, x, X_INTENT);
    return MORTISE_OK;
}

const struct exec *mortise_exec_find_within(const struct exec *x,
                                            const struct frame *top)
{
    while (x != NULL && x->frame->top != top)
        x = x->frame->top->scope->owner;
    return x;
}

struct exec *mortise_exec_find_by_handle(const struct mortise_run *r,
                                         uint64_t handle)
{
    uint64_t index = handle >> 32;
    struct exec *x = index < r->n_execs ? r->execs[index] : NULL;

    return x != NULL && x->serial == (uint32_t)handle ? x : NULL;
}

struct mortise_entry mortise_exec_make_entry(const struct mortise_run *r,
                                             const struct exec *x,
                                             enum mortise_entry_type type)
{
    return (struct mortise_entry){.type = type,
                                  .frame = x->frame->index,
                                  .node = x->node,
                                  .visit = x->visit,
                                  .generation = x->generation,
                                  .attempt = x->attempt,
                                  .started_ms = x->started_ms,
                                  .at_ms = r->time_ms};
}

void mortise_exec_set_attempt(struct exec *x, uint32_t attempt,
                              uint64_t started_ms)
{
    x->attempt = attempt;
    x->started_ms = started_ms;
}

void mortise_exec_set_effect_open(struct exec *x, bool open)
{
    x->effect_open = open;
}

void mortise_exec_set_error(struct exec *x, json_t *error)
{
    mortise_json_set_ref(&x->error, error);
}

void mortise_exec_set_ended(struct exec *x, uint64_t at_ms)
{
    x->ended_ms = at_ms;
}

void mortise_exec_set_handled(struct mortise_run *r, struct exec *x,
                              bool handled)
{
    assert(x->state != X_FAILED || (handled && !x->handled));
    if (x->state == X_FAILED)
        add_to_counter(&r->n_failed, (uint32_t)-1);
    x->handled = handled;
}

void mortise_exec_set_before_passed(struct exec *x)
{
    x->before_passed = true;
}

void mortise_exec_set_whole_approved(struct exec *x)
{
    x->approved_whole = true;
}

void mortise_exec_set_plan_approved(struct exec *x)
{
    x->approved_plan = true;
}

void mortise_exec_set_decided(struct exec *x)
{
    struct exec *owner;

    x->decided = true;
    for (; (owner = x->frame->top->scope->owner) != NULL; x = owner)
        owner->decided |= owner->tools == x->frame->top;
}

void mortise_exec_clear_decided(struct exec *x)
{
    x->decided = false;
}

void mortise_exec_begin_generation(struct exec *x)
{
    x->generation++;
    mortise_exec_set_attempt(x, 1, 0);
    mortise_exec_set_ended(x, 0);
    mortise_exec_set_error(x, NULL);
    mortise_exec_drop_leaving(x);
    mortise_exec_clear_decided(x);
}

int mortise_exec_store_leaving(struct mortise_run *r, struct exec *x,
                               const struct mortise_entry *e,
                               struct mortise_err *err)
{
    size_t size = e->n_edges * sizeof x->chosen[0];

    x->chosen = mortise_arena_alloc(&r->arena, 2 * size);
    if (x->chosen == NULL)
        return mortise_nomem(err);
    if (size > 0) {
        memcpy(x->chosen, e->edges, size);
        memcpy(x->chosen + e->n_edges, e->edges, size);
    }
    x->n_chosen = (uint32_t)e->n_edges;
    mortise_json_set_ref(&x->leaving, e->value);
    return MORTISE_OK;
}

void mortise_exec_set_sought(struct exec *x, json_t *found)
{
    mortise_json_set_ref(&x->sought, found);
}

void mortise_exec_set_trace(struct exec *x, json_t *trace)
{
    mortise_json_set_ref(&x->trace, trace);
}

void mortise_exec_drop_leaving(struct exec *x)
{
    mortise_json_clear_ref(&x->leaving);
    mortise_json_clear_ref(&x->sought);
    mortise_json_clear_ref(&x->trace);
    x->n_chosen = 0;
}

bool mortise_exec_can_take_edges(const uint32_t *out, uint32_t n_out,
                                 const struct mortise_entry *e)
{
    size_t t = 0;

    for (uint32_t i = 0; i < n_out && t < e->n_edges; i++)
        t += out[i] == e->edges[t];
    return t == e->n_edges;
}

int mortise_exec_store_taken(struct mortise_run *r, struct exec *x,
                             const struct mortise_entry *e,
                             struct mortise_err *err)
{
    x->taken = mortise_arena_alloc(&r->arena, e->n_edges * sizeof x->taken[0]);
    assert(e->n_edges <= UINT32_MAX);
    if (x->taken == NULL)
        return mortise_nomem(err);
    if (e->n_edges > 0)
        memcpy(x->taken, e->edges, e->n_edges * sizeof x->taken[0]);
    x->n_taken = (uint32_t)e->n_edges;
    return MORTISE_OK;
}

/* By indexes of map elements, outermost first; the gathering execution follows
 * its elements. */
static int compare_elements(const struct scope *a, const struct scope *b)
{
    for (uint32_t i = 0; i < a->n_at && i < b->n_at; i++) {
        if (a->at[i] != b->at[i])
            return a->at[i] < b->at[i] ? -1 : 1;
    }
    return (a->n_at < b->n_at) - (a->n_at > b->n_at);
}

int mortise_exec_compare(const struct exec *a, const struct exec *b)
{
    int c = compare_elements(a->frame->scope, b->frame->scope);

    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->visit != b->visit)
        return a->visit < b->visit ? -1 : 1;
    /* Updates have no position: compare the order of creation. */
    return c != 0 ? c : (a->index > b->index) - (a->index < b->index);
}

uint32_t mortise_exec_get_least(const struct mortise_run *r, uint32_t a,
                                uint32_t b)
{
    if (a == 0 || b == 0)
        return a | b;
    return mortise_exec_compare(r->execs[a], r->execs[b]) <= 0 ? a : b;
}

/* Frames are created from the outside in, so an outer frame has a lower
 * index. */
bool mortise_exec_is_counted_in(const struct exec *x, const struct frame *f)
{
    return x->discard <= f->index;
}

void mortise_exec_count_started(struct mortise_run *r, struct exec *x)
{
    if (x->counted)
        return;
    x->counted = true;
    assert(x->state != X_READY || r->n_fresh > 0);
    r->n_started++;
    r->n_fresh -= x->state == X_READY;
}

void mortise_exec_count_recorded(struct mortise_run *r, struct exec *x)
{
    x->is_recorded = true;
    mortise_exec_count_started(r, x);
}

void mortise_exec_set_no_step(struct exec *x)
{
    assert(x->state == 0); /* only while it is being created */
    x->counted = x->is_recorded = true;
}

/* ---- the run ------------------------------------------------------------- */

/* A failed run can be resumed.  Resuming a completed or cancelled run only
 * settles its effects in doubt. */
bool mortise_run_is_closed(const struct mortise_run *r)
{
    return r->status == MORTISE_RUN_COMPLETED ||
           r->status == MORTISE_RUN_CANCELLED;
}

bool mortise_run_has_free_slot(const struct mortise_run *r)
{
    assert(r->n_running <= r->n_execs && r->intents.n <= r->n_execs);
    assert(r->n_slots_lent + r->n_own <= r->n_running);
    return r->n_running - r->n_own - r->n_slots_lent + r->intents.n <
           r->graph->concurrency;
}
