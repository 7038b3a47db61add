/* drive.h -- one simulated run, driven and looked at in few words.
 *
 * For test programs about runs: each includes this once and has its own run `s`
 * in a world of lib/sim. */
#ifndef TEST_DRIVE_H
#define TEST_DRIVE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/sim.h"
#include "lib/test.h"

#define HEAD                                                                   \
    "apiVersion: mortise/v1\nkind: Graph\nmetadata: {name: g, version: "       \
    "1.0.0}\n"

#define MAY_BE_UNUSED __attribute__((unused))

static struct sim s;
static struct mortise_err err;

MAY_BE_UNUSED static void begin(const char *yaml)
{
    sim_init(&s, sim_graph(yaml));
}

MAY_BE_UNUSED static void admit(const char *input)
{
    int rv = sim_admit(&s, input, &err);

    ck_assert_msg(rv == MORTISE_OK, "%s", err.msg);
}

MAY_BE_UNUSED static void run_plain(const char *yaml, const char *input)
{
    begin(yaml);
    admit(input);
    sim_run_plain(&s);
}

MAY_BE_UNUSED static void end(void)
{
    sim_finish(&s);
}

MAY_BE_UNUSED static void assert_status(int status)
{
    ck_assert_str_eq(mortise_run_status_name(mortise_run_status(s.run)),
                     mortise_run_status_name(status));
}

MAY_BE_UNUSED static void assert_state(const char *want)
{
    char *have = sim_state(&s);

    ck_assert_str_eq(have, want);
    free(have);
}

/* What stands at `root`.`key` of the state, as JSON text. */
MAY_BE_UNUSED static void assert_value(const char *root, const char *key,
                                       const char *want)
{
    json_t *show = sim_show(&s);
    json_t *at = json_object_get(
        json_object_get(json_object_get(show, "state"), root), key);
    char *have =
        at != NULL
            ? json_dumps(at, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS)
            : strdup("nothing");

    ck_assert_str_eq(have, want);
    free(have);
    json_decref(show);
}

/* The records of nodes whose name or path is `node`: how many, and the last. */
MAY_BE_UNUSED static size_t records_of(json_t *show, const char *node,
                                       json_t **last)
{
    json_t *one;
    size_t i, n = 0;

    *last = NULL;
    json_array_foreach(json_object_get(show, "nodes"), i, one)
    {
        const char *path = json_string_value(json_object_get(one, "path"));

        if (strcmp(json_string_value(json_object_get(one, "node")), node) !=
                0 &&
            (path == NULL || strcmp(path, node) != 0))
            continue;
        *last = one;
        n++;
    }
    return n;
}

/* How long a guardrail took depends on how the hours of a test go: that it is
 * said is all. */
MAY_BE_UNUSED static void forget_times(json_t *verdicts)
{
    json_t *one;
    size_t i;

    json_array_foreach(verdicts, i, one)
    {
        ck_assert(json_is_integer(json_object_get(one, "ms")));
        json_object_del(one, "ms");
    }
}

/* What the newest execution of a node says under this name; "" if nothing. */
MAY_BE_UNUSED static void assert_record(const char *node, const char *name,
                                        const char *want)
{
    json_t *show = sim_show(&s), *last, *at;

    records_of(show, node, &last);
    ck_assert_msg(last != NULL, "no record of %s", node);
    at = json_object_get(last, name);
    if (strcmp(name, "guardrails") == 0)
        forget_times(at);
    if (json_is_string(at)) {
        ck_assert_str_eq(json_string_value(at), want);
    } else {
        char *have = at != NULL
                         ? json_dumps(at, JSON_COMPACT | JSON_ENCODE_ANY |
                                              JSON_SORT_KEYS)
                         : strdup("");

        ck_assert_str_eq(have, want);
        free(have);
    }
    json_decref(show);
}

MAY_BE_UNUSED static void assert_node(const char *node, const char *status)
{
    assert_record(node, "status", status);
}

MAY_BE_UNUSED static void assert_node_error(const char *node, const char *code)
{
    json_t *show = sim_show(&s), *last;

    records_of(show, node, &last);
    ck_assert_str_eq(json_string_value(json_object_get(
                         json_object_get(last, "error"), "code")),
                     code);
    json_decref(show);
}

MAY_BE_UNUSED static void assert_run_error(const char *code)
{
    json_t *show = sim_show(&s);
    const char *have = json_string_value(
        json_object_get(json_object_get(show, "error"), "code"));

    ck_assert_str_eq(have != NULL ? have : "none", code);
    json_decref(show);
}

/* How often did a node start? */
MAY_BE_UNUSED static void assert_runs(const char *node, size_t want)
{
    json_t *show = sim_show(&s), *last;
    size_t n = records_of(show, node, &last);

    if (n == 1 && json_object_get(last, "path") == NULL)
        n = 0; /* it never started */
    ck_assert_msg(n == want, "%s ran %zu times, not %zu", node, n, want);
    json_decref(show);
}

/* The index of a node's call that is out; the newest. */
MAY_BE_UNUSED static size_t call_of(const char *node)
{
    for (size_t i = s.n_calls; i-- > 0;) {
        if (s.calls[i].call.node != NULL &&
            strcmp(s.calls[i].call.node->id, node) == 0)
            return i;
    }
    ck_abort_msg("no call of %s is out", node);
    return 0;
}

MAY_BE_UNUSED static bool is_out(const char *node)
{
    for (size_t i = 0; i < s.n_calls; i++) {
        if (s.calls[i].call.node != NULL &&
            strcmp(s.calls[i].call.node->id, node) == 0)
            return true;
    }
    return false;
}

/* Everything that was committed is on disk. */
MAY_BE_UNUSED static void sync_all(void)
{
    while (sim_sync_one(&s))
        ;
}

/* Let one node's call come to its end. */
MAY_BE_UNUSED static void finish(const char *node)
{
    sync_all();
    sim_end_call(&s, call_of(node));
    sync_all();
}

MAY_BE_UNUSED static int command(struct mortise_command c, uint32_t flags)
{
    c.size = sizeof c;
    return sim_command(&s, &c, 1, flags, "ann", &err);
}

MAY_BE_UNUSED static int do_command(struct mortise_command c)
{
    int rv = command(c, 0);

    if (rv == MORTISE_OK)
        sim_run_plain(&s);
    return rv;
}

MAY_BE_UNUSED static int resume(void)
{
    return do_command((struct mortise_command){.kind = MORTISE_CMD_RESUME});
}

MAY_BE_UNUSED static int jump(const char *node)
{
    return do_command(
        (struct mortise_command){.kind = MORTISE_CMD_GOTO, .node = node});
}

MAY_BE_UNUSED static int update(const char *json)
{
    return do_command(
        (struct mortise_command){.kind = MORTISE_CMD_UPDATE, .json = json});
}

/* The process dies now and then (at points that `seed` chooses), until the run
 * is over; each time it is replayed and goes on. */
MAY_BE_UNUSED static void run_dying(uint32_t *seed, int deaths)
{
    while (deaths-- > 0) {
        for (uint32_t n = sim_random(seed) % 12; n > 0; n--) {
            s.now_ms++;
            if (sim_random(seed) % 2 == 0)
                sim_sync_one(&s);
            else if (s.n_calls > 0)
                sim_end_call(&s, sim_random(seed) % s.n_calls);
        }
        if (s.n_synced == 0)
            sim_sync_one(&s); /* admitted is on disk */
        sim_crash(&s, seed);
        sim_recover(&s);
    }
    sim_run(&s, seed);
}

#endif
