/* expect_time.c -- check the duration and parallelism of a case.
 *
 *     elapsed    the exact duration
 *     within     the maximum duration
 *     parallel   the exact maximum of a node's executions at one time
 *
 * Clocks are stopped in a case (rehearse.c).  So the recorded times result
 * only from the waits of the graph and the `after` of answers, and are
 * reproducible.
 *
 *   (1) The duration is from the run's start to its last durable event.
 *   (2) Two executions overlap if one had begun and not ended when the other
 *       began.  One that ends exactly when another begins does not overlap it.
 *       An execution without duration overlaps nothing; give its answer an
 *       `after`.
 */
#include "testkit/expect_time.h"

#include <stdio.h>
#include <stdlib.h>

#include "lang/cel/time.h"
#include "cli/cli.h"
#include "testkit/rehearsing.h"

enum { SPAN = 64 }; /* bytes of a duration, as text */

/* Milliseconds since 1970; 0 if it is not a time. */
static uint64_t parse_time_ms(const json_t *at)
{
    struct cel_time t;

    if (!json_is_string(at) ||
        !mortise_cel_time_parse(&t, json_string_value(at),
                                json_string_length(at)))
        return 0;
    return (uint64_t)t.s * 1000 + (uint64_t)t.ns / 1000000;
}

/* Format a duration as in Test files: "1h2m3s4ms"; "0s". */
static const char *format_duration(uint64_t ms, char out[SPAN])
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
static uint64_t get_elapsed_ms(const json_t *events)
{
    size_t n = json_array_size(events);
    uint64_t from =
        parse_time_ms(json_object_get(json_array_get(events, 0), "at"));
    uint64_t to = n > 0 ? parse_time_ms(json_object_get(
                              json_array_get(events, n - 1), "at"))
                        : 0;

    return to > from ? to - from : 0;
}

static void judge_elapsed(const struct mortise_case_expect *e, uint64_t ms,
                          struct mortise_diags *diags)
{
    char want[SPAN], got[SPAN];

    format_duration(ms, got);
    if (e->elapsed.value != NULL && e->elapsed.amount != ms)
        mortise_diag_add(diags, "E0902", e->elapsed.value->span,
                         "elapsed: expected %s, got %s",
                         format_duration(e->elapsed.amount, want), got);
    if (e->within.value != NULL && e->within.amount < ms)
        mortise_diag_add(diags, "E0902", e->within.value->span,
                         "within: expected at most %s, got %s",
                         format_duration(e->within.amount, want), got);
}

/* ---- how many at once ---------------------------------------------------- */

static bool is_execution_of(const json_t *one, const char *node)
{
    char name[MORTISE_CONTEXT_SIZE];

    return json_object_get(one, "started") != NULL &&
           strcmp(mortise_make_context_node(mortise_cli_get_text(one, "path"),
                                            name),
                  node) == 0;
}

/* The end of an execution; UINT64_MAX if it has not ended. */
static uint64_t get_end_ms(const json_t *one)
{
    const json_t *ended = json_object_get(one, "ended");

    return ended != NULL ? parse_time_ms(ended) : UINT64_MAX;
}

/* (2): how many were running when `one` began, including it. */
static size_t count_overlapping(const json_t *nodes, const char *node,
                                const json_t *one)
{
    uint64_t at = parse_time_ms(json_object_get(one, "started"));
    size_t n = 0;

    MORTISE_JSON_EACH (other, i, nodes)
        n += is_execution_of(other, node) &&
             parse_time_ms(json_object_get(other, "started")) <= at &&
             get_end_ms(other) > at;
    return n;
}

static void judge_parallel(const struct mortise_yaml *want, const char *node,
                           const json_t *nodes, struct mortise_diags *diags)
{
    struct mortise_diag *d;
    size_t most = 0;

    MORTISE_JSON_EACH (one, i, nodes) {
        size_t n = is_execution_of(one, node)
                       ? count_overlapping(nodes, node, one)
                       : 0;

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

void mortise_expect_check_times(const struct mortise_case_expect *e,
                                const json_t *outcome,
                                struct mortise_diags *diags)
{
    const json_t *nodes =
        json_object_get(json_object_get(outcome, "show"), "nodes");

    judge_elapsed(e, get_elapsed_ms(json_object_get(outcome, "events")), diags);
    for (size_t i = 0; e->parallel != NULL && i < e->parallel->n; i++)
        judge_parallel(e->parallel->items[i], e->parallel->keys[i]->str, nodes,
                       diags);
}
