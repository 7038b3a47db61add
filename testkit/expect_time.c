/* expect_time.c -- how long a case took, and what of it was beside what.
 *
 *     elapsed    so much time passed, exactly
 *     within     so much, at most
 *     parallel   so many executions of a node were at work at once, at most and
 *                no fewer
 *
 * Clocks stand still in a case (rehearse.c), so the times of its record are what
 * the waits of the graph, and the `after` of answers, come to: the same each time.
 *
 *   (1) What passed is counted from the run's start to its last durable event.
 *   (2) Two executions are beside each other where one had begun, and not ended,
 *       when the other began.  One that ends when another begins is not.  What
 *       takes no time is beside nothing: an answer says `after` for that.
 */
#include "testkit/expect_time.h"

#include <stdio.h>
#include <stdlib.h>

#include "lang/cel/time.h"
#include "cli/cli.h"
#include "testkit/rehearsing.h"

enum { SPAN = 64 }; /* bytes of a duration, as text */

/* Milliseconds since 1970; 0: it is none. */
static uint64_t ms_of(const json_t *at)
{
    struct cel_time t;

    if (!json_is_string(at) ||
        !mortise_cel_time_parse(&t, json_string_value(at),
                                json_string_length(at)))
        return 0;
    return (uint64_t)t.s * 1000 + (uint64_t)t.ns / 1000000;
}

/* As the file says durations: "1h2m3.004s"; "0s". */
static const char *span_text(uint64_t ms, char out[SPAN])
{
    static const struct {
        const char *unit;
        uint64_t ms;
    } units[] = {
        {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
    size_t n = 0;

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (ms >= units[i].ms)
            n += (size_t)snprintf(out + n, SPAN - n, "%llu%s",
                                  (unsigned long long)(ms / units[i].ms),
                                  units[i].unit);
        ms %= units[i].ms;
    }
    if (n == 0)
        snprintf(out, SPAN, "0s");
    return out;
}

/* ---- how long ------------------------------------------------------------ */

/* (1) */
static uint64_t elapsed_ms(const json_t *events)
{
    size_t n = json_array_size(events);
    uint64_t from = ms_of(json_object_get(json_array_get(events, 0), "at"));
    uint64_t to =
        n > 0 ? ms_of(json_object_get(json_array_get(events, n - 1), "at")) : 0;

    return to > from ? to - from : 0;
}

static void judge_elapsed(const struct mortise_case_expect *e, uint64_t ms,
                          struct mortise_diags *diags)
{
    char want[SPAN], got[SPAN];

    span_text(ms, got);
    if (e->elapsed.value != NULL && e->elapsed.amount != ms)
        mortise_diag_add(diags, "E0902", e->elapsed.value->span,
                         "elapsed: expected %s, got %s",
                         span_text(e->elapsed.amount, want), got);
    if (e->within.value != NULL && e->within.amount < ms)
        mortise_diag_add(diags, "E0902", e->within.value->span,
                         "within: expected at most %s, got %s",
                         span_text(e->within.amount, want), got);
}

/* ---- how many at once ---------------------------------------------------- */

static bool is_of(const json_t *one, const char *node)
{
    char name[MORTISE_CONTEXT];

    return json_object_get(one, "started") != NULL &&
           strcmp(mortise_context_node(mortise_cli_text(one, "path"), name),
                  node) == 0;
}

/* Of what has not ended the end is never. */
static uint64_t end_of(const json_t *one)
{
    const json_t *ended = json_object_get(one, "ended");

    return ended != NULL ? ms_of(ended) : UINT64_MAX;
}

/* (2): how many were at work when that one began, it included. */
static size_t beside(const json_t *nodes, const char *node, const json_t *one)
{
    uint64_t at = ms_of(json_object_get(one, "started"));
    size_t n = 0;

    MORTISE_JSON_EACH (other, i, nodes)
        n += is_of(other, node) &&
             ms_of(json_object_get(other, "started")) <= at &&
             end_of(other) > at;
    return n;
}

static void judge_parallel(const struct mortise_yaml *want, const char *node,
                           const json_t *nodes, struct mortise_diags *diags)
{
    struct mortise_diag *d;
    size_t most = 0;

    MORTISE_JSON_EACH (one, i, nodes) {
        size_t n = is_of(one, node) ? beside(nodes, node, one) : 0;

        most = n > most ? n : most;
    }
    if ((int64_t)most == want->u.i)
        return;
    d = mortise_diag_add(
        diags, "E0902", want->span,
        "parallel: expected %lld executions of '%s' at once, got %zu",
        (long long)want->u.i, node, most);
    if (most == 0)
        mortise_diag_help(diags, d,
                          "calls that take no time are never parallel: give "
                          "their answers an `after`");
}

void mortise_expect_times(const struct mortise_case_expect *e,
                          const json_t *outcome, struct mortise_diags *diags)
{
    const json_t *nodes =
        json_object_get(json_object_get(outcome, "show"), "nodes");

    judge_elapsed(e, elapsed_ms(json_object_get(outcome, "events")), diags);
    for (size_t i = 0; e->parallel != NULL && i < e->parallel->n; i++)
        judge_parallel(e->parallel->items[i], e->parallel->keys[i]->str, nodes,
                       diags);
}
