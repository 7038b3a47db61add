/* limit.c -- the limits `steps` and `visits`, which pause a run, and raising
 * them.
 *
 * `steps` limits the number of started executions, including those in nested
 * graphs and maps.  `visits`, or a node's `max_visits`, limits the visits of a
 * node in one scope.  An execution that would exceed a limit does not start,
 * and no other execution starts either.  Running executions end normally,
 * including their retries; then the run pauses.  Nothing is lost: after a
 * command raises the limit, the run continues.
 *
 *   (1) An execution is counted once, when it first starts (x->counted); in a
 *       replay, when its first entry shows that it started.  An execution that
 *       ends its call without an entry (a pause, a lost race) is uncounted, so
 *       a crash does not change the count.
 *   (2) Whether a limit holds the run is computed, not stored.
 */
#include <assert.h>
#include <string.h>

#include "core/run/spend/spend.h"

/* The limit of the graph, or the raised one. */
static uint64_t most_steps(const struct mortise_run *r)
{
    return r->raised_steps != 0 ? r->raised_steps : r->graph->limits.steps;
}

/* The limit of the node, or the raised one. */
static uint64_t most_visits(const struct mortise_run *r, const struct exec *x)
{
    uint64_t own = mortise_exec_node(r, x)->max_visits;

    return r->raised_visits > own ? r->raised_visits : own;
}

enum limit mortise_limit_find_exceeded(const struct mortise_run *r,
                                       const struct exec *x)
{
    if (x->counted)
        return LIMIT_NONE;
    if (r->n_started >= most_steps(r))
        return LIMIT_STEPS;
    return x->visit > most_visits(r, x) ? LIMIT_VISITS : LIMIT_NONE;
}

/* The first execution that waits to start; NULL: none. */
static const struct exec *find_first_ready(const struct mortise_run *r)
{
    for (size_t i = r->ready_head; i < r->ready.n; i++) {
        const struct exec *x = r->execs[r->ready.list[i]];

        assert(x->index == r->ready.list[i]);
        if (x->state == X_READY && x->loss == LOSS_NONE)
            return x;
    }
    return NULL;
}

const struct exec *mortise_limit_find_blocked(const struct mortise_run *r)
{
    const struct exec *x;

    if (r->n_running > 0 || r->n_fresh == 0 || r->n_waiting > r->n_fresh)
        return NULL;
    x = find_first_ready(r);
    return x != NULL && mortise_limit_find_exceeded(r, x) != LIMIT_NONE ? x
                                                                        : NULL;
}

json_t *mortise_limit_make_json(const struct mortise_run *r,
                                const struct exec *x)
{
    bool steps = mortise_limit_find_exceeded(r, x) == LIMIT_STEPS;
    const struct mortise_limits *limits = &r->graph->limits;
    uint64_t most = steps ? limits->most_steps : limits->most_visits;
    uint64_t value = steps ? most_steps(r) : most_visits(r, x);
    uint64_t raise = 2 * value;
    const char *name = steps ? "steps" : "visits";
    char path[MORTISE_EXEC_PATH];
    json_t *out;

    mortise_exec_print_path(r, x, path);
    assert(mortise_limit_find_exceeded(r, x) !=
           LIMIT_NONE); /* the limit that holds the
                                                     run */
    if (most != 0 && raise > most)
        raise = most;
    out = json_pack("{s:s, s:I, s:s, s:s}", "limit", name, "value",
                    (json_int_t)value, "node", mortise_exec_node(r, x)->id,
                    "path", path);
    if (raise <= value || out == NULL) /* the deployment does not allow more */
        return out;
    json_object_set_new(out, "raise", json_integer((json_int_t)raise));
    json_object_set_new(out, "command",
                        json_sprintf("mortise resume %s --limit %s=%llu", r->id,
                                     name, (unsigned long long)raise));
    return out;
}

/* ---- raising ------------------------------------------------------------ */

/* Check one member of {steps?, visits?}: a number above the current limit, and
 * within the limit of the deployment (0: none). */
static int check_raised_limit(const char *name, const json_t *value,
                              uint64_t now, uint64_t most,
                              struct mortise_err *err)
{
    json_int_t said = json_integer_value(value);

    if (!json_is_integer(value) || said < 1 || said > UINT32_MAX)
        return mortise_fail(err, MORTISE_EINVAL,
                            "limit %s must be a whole number from 1 to %u",
                            name, UINT32_MAX);
    if ((uint64_t)said <= now)
        return mortise_fail(err, MORTISE_EINVAL,
                            "limit %s is already %llu; it can only be raised",
                            name, (unsigned long long)now);
    if (most != 0 && (uint64_t)said > most)
        return mortise_fail(
            err, MORTISE_EINVAL,
            "limits.%s of the deployment does not allow more than %llu", name,
            (unsigned long long)most);
    return MORTISE_OK;
}

/* The limit that a new `visits` must exceed: that of the held node, if there is
 * one. */
static uint64_t get_current_visit_limit(const struct mortise_run *r)
{
    const struct exec *x = mortise_limit_find_blocked(r);

    if (x != NULL && mortise_limit_find_exceeded(r, x) == LIMIT_VISITS)
        return most_visits(r, x);
    return r->raised_visits > r->graph->limits.visits ? r->raised_visits
                                                      : r->graph->limits.visits;
}

int mortise_limit_check_raise(const struct mortise_run *r, const json_t *body,
                              struct mortise_err *err)
{
    const char *key;
    json_t *value;
    int rv = MORTISE_OK;

    if (!json_is_object(body) || json_object_size(body) == 0)
        return mortise_fail(
            err, MORTISE_EINVAL,
            "limits must be an object with steps, visits or both");
    json_object_foreach(mortise_json_unconst(body), key, value)
    {
        if (rv != MORTISE_OK)
            break;
        if (strcmp(key, "steps") == 0)
            rv = check_raised_limit(key, value, most_steps(r),
                                    r->graph->limits.most_steps, err);
        else if (strcmp(key, "visits") == 0)
            rv = check_raised_limit(key, value, get_current_visit_limit(r),
                                    r->graph->limits.most_visits, err);
        else
            rv = mortise_fail(
                err, MORTISE_EINVAL,
                "only the limits steps and visits can be raised, not '%s'",
                key);
    }
    return rv;
}

int mortise_apply_limit(struct mortise_run *r, const struct mortise_entry *e,
                        struct mortise_err *err)
{
    const json_t *steps = json_object_get(e->value, "steps");
    const json_t *visits = json_object_get(e->value, "visits");

    if (json_is_integer(steps))
        r->raised_steps = (uint64_t)json_integer_value(steps);
    if (json_is_integer(visits))
        r->raised_visits = (uint64_t)json_integer_value(visits);
    return mortise_event_announce_command(r, "limit", e->actor, NULL, e->value,
                                          err);
}
