/* spawn.c -- durable spawn handles: the rules.
 *
 * An agent that starts a child and then crashes must find that child again and
 * not start a second one.  Therefore the parent's call claims a record before
 * the child is created.  The record's identity is one that a replay of the
 * parent computes again:
 *
 *   (1) There is one record for each call of an execution.  The first claim
 *       gets it.  A later claim, by the same parent after a crash or by another
 *       process, gets the current state and continues from there.
 *   (2) The same call with another name, task or lifetime is not a replay:
 *       MORTISE_EDETERMINISM, and nothing changes.
 *   (3) Each claim of an open record replaces its token and raises its epoch.
 *       Any operation with an older token, from a claimer that was presumed
 *       dead, is MORTISE_ESTALE_TOKEN, even if it would change nothing.
 *   (4) A record moves from pending to created, dispatched, running, and then
 *       settled or abandoned, only forward.  Repeating an operation is fine;
 *       settling with another value or registering another child is an error.
 *   (5) A tree is an origin and all its descendants.  Its counters are those of
 *       its records and change with them.  A claim that would exceed a cap
 *       makes no record.  A claim that finds a record checks no cap.
 *   (6) A detached child belongs to its origin's tree but has no parent in it:
 *       its depth is always 1, and it does not end with the run that started
 *       it.
 *   (7) A native child is a run of the same store.  Its id is a hash of the
 *       handle's id, known from the claim on.  It is admitted in the batch in
 *       which its record becomes running, and its end settles the record.
 *       Therefore neither ever exists without the other, and a claimer's
 *       reports about it are denied.
 *   (8) A child may make several attempts at its task.  The record has the
 *       newest attempt and its progress.  A report or message about another
 *       attempt is MORTISE_ESTALE_ATTEMPT, and changes nothing.
 *   (9) The runs of a tree spend from one purse, the origin's budget.  It
 *       counts the amounts that each run has spent or reserved, in the commit
 *       that changes them.  Its bounds only rise, by any run of the tree.
 *
 * A record contains only the data that a later claimer needs.  It has a digest
 * of the task, because a later claimer brings the task along. */
#include "core/spawn/spawn.h"

#include <assert.h>
#include <string.h>

/* ---- names --------------------------------------------------------------- */

static const char *const caps[MORTISE_SPAWN_CAPS] = {
    "depth", "active", "total", "detached_active", "detached_total"};

const struct mortise_spawn_caps mortise_spawn_default_caps = {
    .most = {[MORTISE_SPAWN_CAP_DEPTH] = 2,
             [MORTISE_SPAWN_CAP_ACTIVE] = 16,
             [MORTISE_SPAWN_CAP_TOTAL] = 200,
             [MORTISE_SPAWN_CAP_DETACHED_ACTIVE] = 8,
             [MORTISE_SPAWN_CAP_DETACHED_TOTAL] = 50}};

static const char *const outcomes[] = {
    [MORTISE_SPAWN_CLAIMED] = "claimed",
    [MORTISE_SPAWN_CLAIMED_PENDING_CHILD] = "claimed_pending_child",
    [MORTISE_SPAWN_ALREADY_RUNNING] = "already_running",
    [MORTISE_SPAWN_ALREADY_SETTLED] = "already_settled"};

static const char *const states[] = {[MORTISE_SPAWN_PENDING] = "pending",
                                     [MORTISE_SPAWN_CREATED] = "created",
                                     [MORTISE_SPAWN_DISPATCHED] = "dispatched",
                                     [MORTISE_SPAWN_RUNNING] = "running",
                                     [MORTISE_SPAWN_SETTLED] = "settled",
                                     [MORTISE_SPAWN_ABANDONED] = "abandoned"};

static const char *const statuses[] = {[MORTISE_SPAWN_COMPLETED] = "completed",
                                       [MORTISE_SPAWN_FAILED] = "failed",
                                       [MORTISE_SPAWN_CANCELLED] = "cancelled",
                                       [MORTISE_SPAWN_TIMED_OUT] = "timed_out",
                                       [MORTISE_SPAWN_MAX_ITERATIONS] =
                                           "max_iterations",
                                       [MORTISE_SPAWN_BUDGET] = "budget",
                                       [MORTISE_SPAWN_GIVEN_UP] = "abandoned"};

#define NAME_OF(table, i)                                                      \
    ((size_t)(i) < sizeof(table) / sizeof(table)[0] ? (table)[i] : NULL)

const char *mortise_spawn_outcome_name(int outcome)
{
    return outcome > 0 ? NAME_OF(outcomes, outcome) : NULL;
}

const char *mortise_spawn_state_name(int state)
{
    return state > 0 ? NAME_OF(states, state) : NULL;
}

const char *mortise_spawn_status_name(int status)
{
    return status > 0 ? NAME_OF(statuses, status) : NULL;
}

enum mortise_spawn_status mortise_spawn_parse_status(const char *word)
{
    for (size_t i = 1; i < sizeof statuses / sizeof statuses[0]; i++)
        if (strcmp(statuses[i], word) == 0)
            return (enum mortise_spawn_status)i;
    return MORTISE_SPAWN_UNENDED;
}

/* ---- identity ------------------------------------------------------------ */

static void finish_spawn_id(char id[MORTISE_SPAWN_ID], struct mortise_hasher *h)
{
    uint8_t digest[MORTISE_DIGEST];

    mortise_hasher_final(h, digest);
    mortise_hex_encode(id, digest, (MORTISE_SPAWN_ID - 1) / 2);
}

void mortise_spawn_make_id(char id[MORTISE_SPAWN_ID], const uint8_t *store,
                           size_t store_size, const char *tenant,
                           const char *parent, const char *execution,
                           const char *call)
{
    struct mortise_hasher h;

    mortise_hasher_init(&h);
    mortise_hasher_add_str(&h, "spawn");
    mortise_hasher_add_field(&h, store, store_size);
    mortise_hasher_add_str(&h, tenant);
    mortise_hasher_add_str(&h, parent);
    mortise_hasher_add_str(&h, execution);
    mortise_hasher_add_str(&h, call);
    finish_spawn_id(id, &h);
}

void mortise_spawn_make_child_id(char child[MORTISE_SPAWN_ID],
                                 const char id[MORTISE_SPAWN_ID])
{
    struct mortise_hasher h;

    mortise_hasher_init(&h);
    mortise_hasher_add_str(&h, "spawned run");
    mortise_hasher_add_str(&h, id);
    finish_spawn_id(child, &h);
}

/* ---- claims -------------------------------------------------------------- */

/* Check the limits of the tree (5). */
static int check_spawn_caps(const struct mortise_spawn_tree *tree,
                            const struct mortise_spawn_caps *most,
                            const struct mortise_spawn_request *c,
                            struct mortise_err *err)
{
    const uint64_t would[MORTISE_SPAWN_CAPS] = {
        [MORTISE_SPAWN_CAP_DEPTH] = c->depth,
        [MORTISE_SPAWN_CAP_ACTIVE] = tree->active + 1,
        [MORTISE_SPAWN_CAP_TOTAL] = tree->total + 1,
        [MORTISE_SPAWN_CAP_DETACHED_ACTIVE] =
            c->detached ? tree->detached_active + 1 : 0,
        [MORTISE_SPAWN_CAP_DETACHED_TOTAL] =
            c->detached ? tree->detached_total + 1 : 0};

    assert(c->depth > 0); /* only the origin has 0 */
    for (int i = 0; i < MORTISE_SPAWN_CAPS; i++)
        if (would[i] > most->most[i])
            return mortise_fail(err, MORTISE_ELIMIT,
                                "limits.spawn.%s allows %llu, but the child "
                                "'%s' would make it %llu",
                                caps[i], (unsigned long long)most->most[i],
                                c->name, (unsigned long long)would[i]);
    return MORTISE_OK;
}

static void init_spawn_record(struct mortise_spawn *now,
                              const struct mortise_spawn_request *c)
{
    *now = (struct mortise_spawn){.epoch = 1,
                                  .claimed_ms = c->now_ms,
                                  .updated_ms = c->now_ms,
                                  .state = MORTISE_SPAWN_PENDING,
                                  .depth = c->depth,
                                  .attempt = 1,
                                  .detached = c->detached,
                                  .native = c->child != NULL,
                                  .origin = c->origin,
                                  .execution = c->execution,
                                  .call = c->call,
                                  .name = c->name,
                                  .child = c->child != NULL ? c->child : "",
                                  .token = c->token,
                                  .progress = ""};
    memcpy(now->task, c->task, sizeof now->task);
}

/* Check that a claim repeats the first one (2). */
static int check_claim_repeats(const struct mortise_spawn *was,
                               const struct mortise_spawn_request *c,
                               struct mortise_err *err)
{
    const char *what = strcmp(was->name, c->name) != 0 ? "name"
                       : memcmp(was->task, c->task, sizeof c->task) != 0
                           ? "task"
                       : was->detached != c->detached      ? "lifetime"
                       : was->native != (c->child != NULL) ? "kind of child"
                                                           : NULL;

    if (what == NULL)
        return MORTISE_OK;
    return mortise_fail(err, MORTISE_EDETERMINISM,
                        "call '%s' already spawned '%s', but with another %s",
                        was->call, was->name, what);
}

int mortise_spawn_after_claim(const struct mortise_spawn *was,
                              const struct mortise_spawn_tree *tree,
                              const struct mortise_spawn_caps *most,
                              const struct mortise_spawn_request *c,
                              struct mortise_spawn *now,
                              enum mortise_spawn_outcome *outcome,
                              struct mortise_err *err)
{
    int rv = was == NULL ? check_spawn_caps(tree, most, c, err)
                         : check_claim_repeats(was, c, err);

    if (rv != MORTISE_OK)
        return rv;
    if (was == NULL) {
        init_spawn_record(now, c);
        *outcome = MORTISE_SPAWN_CLAIMED;
        return MORTISE_OK;
    }
    *now = *was;
    if (mortise_spawn_has_ended(was)) {
        *outcome = MORTISE_SPAWN_ALREADY_SETTLED;
        return MORTISE_OK;
    }
    now->token = c->token; /* (3) */
    now->epoch++;
    now->updated_ms = c->now_ms;
    *outcome = was->state == MORTISE_SPAWN_PENDING
                   ? MORTISE_SPAWN_CLAIMED_PENDING_CHILD
                   : MORTISE_SPAWN_ALREADY_RUNNING;
    return MORTISE_OK;
}

/* ---- operations of a claimer --------------------------------------------- */

/* Does the record exist, with this token (3)? */
static int check_spawn_token(const struct mortise_spawn *was, const char *token,
                             struct mortise_err *err)
{
    if (was == NULL)
        return mortise_fail(err, MORTISE_ENOTFOUND, "no such spawn handle");
    if (strcmp(was->token, token) == 0)
        return MORTISE_OK;
    return mortise_fail(
        err, MORTISE_ESTALE_TOKEN,
        "the spawn handle of call '%s' and name '%s' was claimed again (epoch "
        "%llu), so this token is no longer valid",
        was->call, was->name, (unsigned long long)was->epoch);
}

/* May the claimer report about the child (7)? */
static int check_claimer(const struct mortise_spawn *was, const char *token,
                         struct mortise_err *err)
{
    int rv = check_spawn_token(was, token, err);

    if (rv != MORTISE_OK || !was->native)
        return rv;
    return mortise_fail(err, MORTISE_EDENIED,
                        "the child of call '%s' and name '%s' is run %s, which "
                        "settles its handle itself",
                        was->call, was->name, was->child);
}

static int fail_already_settled(const struct mortise_spawn *was,
                                struct mortise_err *err)
{
    return mortise_fail(
        err, MORTISE_EALREADY_SETTLED,
        "the spawn handle of call '%s' and name '%s' is already settled: %s",
        was->call, was->name, mortise_spawn_status_name((int)was->status));
}

/* Move to a later state (4). */
static void advance_spawn_state(struct mortise_spawn *now,
                                enum mortise_spawn_state to, uint64_t now_ms)
{
    assert(to > now->state && !mortise_spawn_has_ended(now));
    now->state = to;
    now->updated_ms = now_ms;
}

int mortise_spawn_after_start(const struct mortise_spawn *was,
                              const char *token,
                              const uint8_t task[MORTISE_DIGEST],
                              uint64_t now_ms, struct mortise_spawn *now,
                              struct mortise_err *err)
{
    int rv = check_spawn_token(was, token, err);

    if (rv != MORTISE_OK)
        return rv;
    if (!was->native)
        return mortise_fail(
            err, MORTISE_EDENIED,
            "the child of call '%s' and name '%s' is not a run: the process "
            "that claimed the handle must create and register the child",
            was->call, was->name);
    if (memcmp(was->task, task, sizeof was->task) != 0)
        return mortise_fail(err, MORTISE_EDETERMINISM,
                            "the spawn handle of call '%s' and name '%s' was "
                            "claimed for another task",
                            was->call, was->name);
    *now = *was;
    if (was->state < MORTISE_SPAWN_RUNNING)
        advance_spawn_state(now, MORTISE_SPAWN_RUNNING, now_ms);
    return MORTISE_OK;
}

int mortise_spawn_after_register(const struct mortise_spawn *was,
                                 const char *token, const char *child,
                                 uint64_t now_ms, struct mortise_spawn *now,
                                 struct mortise_err *err)
{
    int rv = check_claimer(was, token, err);

    if (rv != MORTISE_OK)
        return rv;
    *now = *was;
    if (was->child[0] != '\0' && strcmp(was->child, child) == 0)
        return MORTISE_OK;
    if (was->child[0] != '\0')
        return mortise_fail(err, MORTISE_EALREADY_REGISTERED,
                            "the spawn handle of call '%s' and name '%s' "
                            "already has the child %s",
                            was->call, was->name, was->child);
    if (mortise_spawn_has_ended(was))
        return fail_already_settled(was, err);
    now->child = child;
    advance_spawn_state(now, MORTISE_SPAWN_CREATED, now_ms);
    return MORTISE_OK;
}

static int fail_no_child(const struct mortise_spawn *was,
                         struct mortise_err *err)
{
    return mortise_fail(err, MORTISE_ENOT_RUNNING,
                        "the spawn handle of call '%s' and name '%s' has no "
                        "child yet; register one first",
                        was->call, was->name);
}

int mortise_spawn_after_advance(const struct mortise_spawn *was,
                                const char *token,
                                enum mortise_spawn_state state, uint64_t now_ms,
                                struct mortise_spawn *now,
                                struct mortise_err *err)
{
    int rv = check_claimer(was, token, err);

    assert(state == MORTISE_SPAWN_DISPATCHED || state == MORTISE_SPAWN_RUNNING);
    if (rv != MORTISE_OK)
        return rv;
    if (mortise_spawn_has_ended(was))
        return fail_already_settled(was, err);
    if (was->state == MORTISE_SPAWN_PENDING)
        return fail_no_child(was, err);
    *now = *was;
    if (state > was->state)
        advance_spawn_state(now, state, now_ms);
    return MORTISE_OK;
}

static bool has_same_end(const struct mortise_spawn *was,
                         enum mortise_spawn_status status, const char *result,
                         size_t size)
{
    return was->status == status && was->result_size == size &&
           (size == 0 || memcmp(was->result, result, size) == 0);
}

int mortise_spawn_after_settle(const struct mortise_spawn *was,
                               const char *token,
                               enum mortise_spawn_status status,
                               const char *result, size_t result_size,
                               uint64_t now_ms, struct mortise_spawn *now,
                               struct mortise_err *err)
{
    int rv = check_claimer(was, token, err);

    assert(status != MORTISE_SPAWN_UNENDED);
    if (rv != MORTISE_OK)
        return rv;
    *now = *was;
    if (mortise_spawn_has_ended(was))
        return has_same_end(was, status, result, result_size)
                   ? MORTISE_OK
                   : fail_already_settled(was, err);
    if (was->state == MORTISE_SPAWN_PENDING)
        return fail_no_child(was, err);
    mortise_spawn_after_end(was, status, result, result_size, now_ms, now);
    return MORTISE_OK;
}

/* ---- reports of the child, and messages to it (8) ------------------------ */

int mortise_spawn_after_report(const struct mortise_spawn *was,
                               uint32_t attempt, const char *progress,
                               uint64_t now_ms, struct mortise_spawn *now,
                               struct mortise_err *err)
{
    if (was == NULL)
        return mortise_fail(err, MORTISE_ENOTFOUND, "no such spawn handle");
    if (mortise_spawn_has_ended(was))
        return fail_already_settled(was, err);
    if (attempt < was->attempt)
        return mortise_fail(err, MORTISE_ESTALE_ATTEMPT,
                            "the child '%s' is now in attempt %u, not %u",
                            was->name, (unsigned)was->attempt,
                            (unsigned)attempt);
    *now = *was;
    if (attempt == was->attempt && progress == NULL)
        return MORTISE_OK;
    now->attempt = attempt;
    now->progress = progress != NULL ? progress : "";
    now->reports++;
    now->updated_ms = now_ms;
    return MORTISE_OK;
}

int mortise_spawn_can_receive(const struct mortise_spawn *s, uint32_t attempt,
                              struct mortise_err *err)
{
    if (!s->native)
        return mortise_fail(
            err, MORTISE_EDENIED,
            "the child '%s' is not a run, so it cannot receive messages",
            s->name);
    if (mortise_spawn_has_ended(s))
        return fail_already_settled(s, err);
    if (s->state == MORTISE_SPAWN_PENDING)
        return mortise_fail(err, MORTISE_ENOT_RUNNING,
                            "the child '%s' has not started", s->name);
    if (attempt != 0 && attempt != s->attempt)
        return mortise_fail(err, MORTISE_ESTALE_ATTEMPT,
                            "the child '%s' is in attempt %u, not %u", s->name,
                            (unsigned)s->attempt, (unsigned)attempt);
    return MORTISE_OK;
}

/* ---- ends ---------------------------------------------------------------- */

void mortise_spawn_after_end(const struct mortise_spawn *was,
                             enum mortise_spawn_status status,
                             const char *result, size_t result_size,
                             uint64_t now_ms, struct mortise_spawn *now)
{
    assert(status != MORTISE_SPAWN_UNENDED && was->child[0] != '\0');
    *now = *was;
    now->status = status;
    now->result = result;
    now->result_size = result_size;
    advance_spawn_state(now,
                        status == MORTISE_SPAWN_GIVEN_UP
                            ? MORTISE_SPAWN_ABANDONED
                            : MORTISE_SPAWN_SETTLED,
                        now_ms);
}

void mortise_spawn_after_abandon(const struct mortise_spawn *was,
                                 uint64_t now_ms, struct mortise_spawn *now)
{
    *now = *was;
    if (mortise_spawn_has_ended(was))
        return;
    now->status = MORTISE_SPAWN_GIVEN_UP;
    advance_spawn_state(now, MORTISE_SPAWN_ABANDONED, now_ms);
}

/* ---- counters and changes ------------------------------------------------ */

bool mortise_spawn_update_counters(struct mortise_spawn_tree *tree,
                                   const struct mortise_spawn *was,
                                   const struct mortise_spawn *now)
{
    uint64_t made = was == NULL;
    uint64_t ended = was != NULL && !mortise_spawn_has_ended(was) &&
                     mortise_spawn_has_ended(now);
    uint64_t of_detached = now->detached;

    assert(was != NULL || !mortise_spawn_has_ended(now)); /* (4) */
    if (tree->active < ended || tree->detached_active < ended * of_detached)
        return false;
    tree->total += made;
    tree->active += made - ended;
    tree->detached_total += made * of_detached;
    tree->detached_active += (made - ended) * of_detached;
    return true;
}

void mortise_spawn_budget_change(struct mortise_spawn_budget *purse,
                                 bool is_there,
                                 const struct mortise_spawn_budget_change *s)
{
    for (size_t k = 0; k < MORTISE_SPAWN_AMOUNTS; k++) {
        uint64_t used = (is_there ? purse->used[k] : 0) + s->plus[k];

        purse->used[k] = used > s->minus[k] ? used - s->minus[k] : 0;
        if (!is_there || (s->raises && purse->most[k] < s->most[k]))
            purse->most[k] = s->most[k];
    }
}

bool mortise_spawn_is_change_current(const struct mortise_spawn *is,
                                     const struct mortise_spawn_change *c)
{
    return (is != NULL ? is->epoch : 0) == c->from_epoch &&
           (is != NULL ? is->reports : 0) == c->from_reports &&
           (is != NULL ? is->state : 0) == c->from_state;
}
