/* fuzz_journal.c -- a run's journal from arbitrary bytes.
 *
 * The input is commits, each two bytes of size and so many of entries
 * (tests/fuzz/journals has some).  Each is applied, as a store's checkpoints are,
 * to a run of a graph with an effect, a question, a map and a subgraph.  What does not fit is refused, in words; the run
 * can then be shown, and resumed as far as it came. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/run/run.h"
#include "lang/graph/load.h"
#include "lang/yaml/diag.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char text[] =
    "apiVersion: mortise/v1\n"
    "kind: Graph\n"
    "metadata: {name: g, version: 1.0.0}\n"
    "start: a\n"
    "nodes:\n"
    "  a: {type: tool, tool: t/does, args: {n: 1}, on_in_doubt: ask,\n"
    "      retry_policy: {max_attempts: 3},\n"
    "      map: {over: '[1, 2, 3]', as: i, to: m, join: s}}\n"
    "  m: {type: tool, tool: t/does, args: {n: 2}, next: s}\n"
    "  s: {type: subgraph, timeout: 1m, next: q, graph: {start: b, nodes: {\n"
    "      b: {type: tool, tool: t/does, args: {n: 3}, next: END}}}}\n"
    "  q: {type: human, prompt: Well?, wait: 1h, next: END}\n";

static const struct mortise_operation *operation(void *ud, const char *plugin,
                                                 const char *name,
                                                 struct mortise_err *why)
{
    static const struct mortise_operation op = {
        .plugin = "t", .name = "does", .effect = MORTISE_EXTERNAL};

    (void)ud;
    (void)plugin;
    (void)name;
    (void)why;
    return &op;
}

static struct mortise_graph *the_graph(void)
{
    static const struct mortise_catalog catalog = {.operation = operation};
    static struct mortise_graph *g;
    struct mortise_diags diags;
    int rv = MORTISE_OK;

    if (g != NULL)
        return g;
    mortise_diags_init(&diags, &mortise_heap);
    rv = mortise_graph_load(&g, &mortise_heap, "fuzz", text, sizeof text - 1,
                            &catalog, &diags, NULL);
    if (rv != MORTISE_OK) {
        struct mortise_buf b;

        mortise_buf_init(&b, &mortise_heap);
        mortise_diags_format(&diags, &b);
        fwrite(b.p, 1, b.n, stderr);
        abort();
    }
    mortise_diags_finish(&diags);
    return g;
}

static int applied(struct mortise_run *r, const uint8_t *p, size_t n,
                   struct mortise_err *err)
{
    uint64_t seq = 0;
    int rv = MORTISE_OK;

    while (rv == MORTISE_OK && n >= 2) {
        size_t size = (size_t)p[0] | (size_t)p[1] << 8;
        const struct mortise_uuid id = {{(uint8_t)(seq + 1)}};

        p += 2;
        n -= 2;
        size = size < n ? size : n;
        seq++;
        rv = mortise_run_apply(r, seq, 1700000000000 + seq, id, p, size, err);
        p += size;
        n -= size;
    }
    return rv;
}

/* Nobody performs anything: the run only has to say what is to be done. */
static void go_on(struct mortise_run *r, struct mortise_err *err)
{
    static const struct mortise_run_command resume = {.kind =
                                                          MORTISE_CMD_RESUME};
    struct mortise_input in = {.kind = MORTISE_IN_COMMAND,
                               .now_ms = 1700000100000};
    struct mortise_actions actions;

    in.u.command.list = &resume;
    in.u.command.n = 1;
    in.u.command.actor = "fuzz";
    mortise_actions_init(&actions, &mortise_heap);
    mortise_run_step(r, &in, &actions, err);
    mortise_actions_finish(&actions);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mortise_err err = {0};
    struct mortise_run *r;
    int rv = mortise_run_replay(&r, &mortise_heap, the_graph(), "default",
                                "run-1", NULL, NULL, &err);

    assert(rv == MORTISE_OK);
    rv = applied(r, data, size, &err);
    assert(rv == MORTISE_OK || err.msg[0] != '\0');
    if (rv == MORTISE_OK && size >= 2)
        go_on(r, &err);
    mortise_run_free(r);
    return 0;
}
