/* lone.c -- a run without an engine: the step function alone.
 *
 * Results are fed back as fast as they are asked for, and what it wants written
 * is told to be on disk every so often, as a store that syncs batches would
 * tell it.  What remains is what deciding costs. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include "core/model/graph.h"
#include "core/run/run.h"
#include "lang/yaml/diag.h"
#include "lang/graph/load.h"

enum { SYNC_EVERY = 64 };

/* ---- graphs that no engine loads ---------------------------------------- */

static const struct mortise_operation step_op = {
    .plugin = "bench_now", .name = "step", .effect = MORTISE_PURE};

static const struct mortise_operation *
find_op(void *ud, const char *plugin, const char *op, struct mortise_err *why)
{
    (void)ud;
    (void)why;
    return strcmp(plugin, step_op.plugin) == 0 && strcmp(op, step_op.name) == 0
               ? &step_op
               : NULL;
}

static const struct mortise_catalog catalog = {.operation = find_op};

struct mortise_graph *bench_compile(const struct mortise_buf *b)
{
    struct mortise_diags diags;
    struct mortise_graph *g;
    struct mortise_err err = {0};

    mortise_diags_init(&diags, &mortise_heap);
    bench_must(mortise_graph_load(&g, &mortise_heap, "bench.yaml", b->p, b->n,
                                  &catalog, &diags, &err),
               &err, "compile a graph");
    mortise_diags_finish(&diags);
    return g;
}

/* ---- a run -------------------------------------------------------------- */

struct bench_lone {
    struct mortise_run *run;
    struct mortise_actions actions;
    uint64_t seq, synced;
    uint64_t *calls; /* to be answered, first come, first served */
    size_t first, n, cap;
    struct mortise_graph *graph;
    struct mortise_buf *kept; /* commits: u64 size, entries; NULL: not kept */
};

static void take_call(struct bench_lone *l, uint64_t id)
{
    if (l->n == l->cap) {
        l->cap = 2 * l->cap + 1024;
        l->calls = realloc(l->calls, l->cap * sizeof l->calls[0]);
        if (l->calls == NULL)
            bench_die("out of memory");
    }
    l->calls[l->n++] = id;
}

static void keep_commit(struct bench_lone *l,
                        const struct mortise_run_commit *c)
{
    l->seq = c->seq;
    if (l->kept == NULL)
        return;
    mortise_buf_put_u64(l->kept, c->size);
    mortise_buf_put(l->kept, c->entries, c->size);
}

static void take_actions(struct bench_lone *l)
{
    for (size_t i = 0; i < l->actions.n; i++) {
        const struct mortise_action *a = &l->actions.list[i];

        if (a->kind == MORTISE_ACT_COMMIT)
            keep_commit(l, &a->u.commit);
        else if (a->kind == MORTISE_ACT_CALL)
            take_call(l, a->u.call.id);
    }
    mortise_actions_clear(&l->actions);
}

static void feed(struct bench_lone *l, struct mortise_input *in)
{
    struct mortise_err err = {0};

    in->now_ms = 1700000000000;
    bench_must(mortise_run_step(l->run, in, &l->actions, &err), &err, "step");
    take_actions(l);
}

static void feed_synced(struct bench_lone *l)
{
    struct mortise_input in = {.kind = MORTISE_IN_SYNCED};

    in.u.seq = l->synced = l->seq;
    feed(l, &in);
}

static void feed_result(struct bench_lone *l, json_t *output)
{
    struct mortise_input in = {.kind = MORTISE_IN_RESULT};

    in.u.result = (struct mortise_result_in){.call = l->calls[l->first++],
                                             .output = output,
                                             .message = "",
                                             .error_code = "",
                                             .error_class = ""};
    feed(l, &in);
}

struct bench_lone *bench_lone_start(struct mortise_graph *g, json_t *input,
                                    struct mortise_buf *kept)
{
    struct mortise_admission adm = {.tenant = "default",
                                    .run = "bench",
                                    .actor = "bench",
                                    .input = input,
                                    .seed = {42}};
    struct bench_lone *l = calloc(1, sizeof *l);
    struct mortise_err err = {0};

    if (l == NULL)
        bench_die("out of memory");
    l->graph = g;
    l->kept = kept;
    mortise_actions_init(&l->actions, &mortise_heap);
    bench_must(mortise_run_admit(&l->run, &mortise_heap, g, &adm, 1700000000000,
                                 &l->actions, &err),
               &err, "admit a run");
    take_actions(l);
    feed_synced(l);
    return l;
}

double bench_lone_feed(struct bench_lone *l, size_t n, json_t *output)
{
    double begun = bench_cpu();

    while (n-- > 0 && l->first < l->n) {
        feed_result(l, output);
        if (l->seq - l->synced >= SYNC_EVERY)
            feed_synced(l);
    }
    feed_synced(l);
    return bench_cpu() - begun;
}

double bench_lone_replay(const struct bench_lone *l)
{
    struct mortise_uuid id = {{0}};
    struct mortise_reader r;
    struct mortise_run *run;
    struct mortise_err err = {0};
    double begun = bench_cpu();

    bench_must(mortise_run_replay(&run, &mortise_heap, l->graph, "default",
                                  "bench", NULL, NULL, &err),
               &err, "replay");
    mortise_reader_init(&r, l->kept->p, l->kept->n);
    for (uint64_t seq = 1; r.p < r.end; seq++) {
        size_t n = mortise_read_u64(&r);

        bench_must(mortise_run_apply(run, seq, 1700000000000, id,
                                     mortise_read_bytes(&r, n), n, &err),
                   &err, "replay");
    }
    begun = bench_cpu() - begun;
    mortise_run_free(run);
    return begun;
}

void bench_lone_expect(const struct bench_lone *l, int status)
{
    if (mortise_run_status(l->run) != status)
        bench_die("a run is %s, not %s",
                  mortise_run_status_name(mortise_run_status(l->run)),
                  mortise_run_status_name(status));
}

void bench_lone_free(struct bench_lone *l)
{
    mortise_run_free(l->run);
    mortise_actions_finish(&l->actions);
    free(l->calls);
    free(l);
}
