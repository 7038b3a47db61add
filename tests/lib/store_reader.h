/* store_reader.h -- the store read by somebody else.
 *
 * Written from docs/format.md, sharing no line with core/store/, so that the
 * crash tests do not believe the code under test.  Reads everything, checks
 * everything that the format promises, and keeps it to be looked at. */
#ifndef STORE_READER_H
#define STORE_READER_H

#include <stddef.h>
#include <stdint.h>

struct reader_checkpoint {
    uint64_t seq, time_ms, first_event;
    uint32_t n_events, branch, step;
    unsigned phase;
    uint8_t id[16], parent[16], graph[32];
    char *entries; /* a NUL behind them */
    size_t size;
};

struct reader_request {
    char *id;
    uint64_t deadline_ms;
    char *payload; /* a NUL behind it */
    size_t size;
};

struct reader_run {
    char *tenant, *run, *reason, *graph_name;
    uint64_t seq, epoch, created_ms, updated_ms;
    uint32_t branch, status, flags, n_pending;
    uint8_t checkpoint[16], graph[32];
    struct reader_checkpoint *checkpoints;
    size_t n_checkpoints;
    struct reader_request *requests;
    size_t n_requests;
};

struct reader_graph {
    uint8_t digest[32];
    char *path;
    size_t size;
};

struct reader_mark {
    char *name;
    uint64_t value;
};

struct reader_kv {
    char *tenant, *plugin, *key, *value; /* a NUL behind key and value */
    size_t key_size, value_size;
};

struct reader_cached {
    char *tenant, *value; /* a NUL behind it */
    uint8_t digest[32];
    size_t value_size;
    uint64_t number;
    uint64_t size; /* as its age says; 0: it has none */
};

struct reader_deadline {
    uint64_t ms;
    unsigned timer; /* 1: nobody is asked */
    char *tenant, *run, *id;
};

struct reader_tombstone {
    char *tenant, *run;
    uint64_t removed_ms, ended_ms;
    uint32_t status;
};

struct reader_spawn { /* a spawn handle */
    char *tenant, *parent, *id;
    uint64_t epoch, claimed_ms, updated_ms, reports;
    uint32_t state, status, depth, attempt;
    unsigned detached, native;
    uint8_t task[32];
    char *origin, *execution, *call, *name, *child, *token, *progress;
    char *result; /* a NUL behind it */
    size_t result_size;
    unsigned ways; /* children that lead to it */
};

struct reader_child { /* its way to its handle */
    char *tenant, *child, *parent, *id;
};

struct reader_tree { /* counters */
    char *tenant, *origin;
    uint64_t active, total, detached_active, detached_total;
};

struct reader_purse { /* tool_calls, wall, model_calls, input_tokens,
                         output_tokens, tokens, usd (in 1e-9) */
    char *tenant, *origin;
    uint64_t most[7], used[7];
};

struct reader_leaving { /* checkpoints of a removed run */
    char *tenant, *run;
    uint64_t first, last;
    uint64_t n; /* that are there */
};

struct reader_store {
    uint64_t first_commit, last_commit, epoch; /* 0: none was written */
    uint64_t verified;                         /* as the last commit says */
    uint32_t format;
    uint8_t identity[16];
    int identified; /* 1: it has one */
    uint64_t mark;  /* of STORE/mark */
    uint8_t mark_identity[16];
    int has_mark; /* 1: it is there */
    struct reader_run *runs;
    size_t n_runs;
    struct reader_graph *graphs;
    size_t n_graphs;
    struct reader_mark *marks;
    size_t n_marks;
    struct reader_deadline *deadlines;
    size_t n_deadlines;
    struct reader_kv *kvs;
    size_t n_kvs;
    struct reader_cached *cached; /* the oldest first */
    size_t n_cached;
    struct reader_tombstone *tombstones;
    size_t n_tombstones;
    struct reader_leaving *leaving;
    size_t n_leaving;
    struct reader_spawn *spawns;
    size_t n_spawns;
    struct reader_child *children;
    size_t n_children;
    struct reader_tree *trees;
    size_t n_trees;
    struct reader_purse *purses;
    size_t n_purses;
    char why[512]; /* what is wrong with it, or "" */
};

/* Read the store at `path` (which nobody holds).  0, or -1 with `why`; free it
 * in either case. */
int store_reader_read(struct reader_store *out, const char *path);
void store_reader_free(struct reader_store *s);
/* NULL when there is no such run. */
const struct reader_run *store_reader_run(const struct reader_store *s,
                                          const char *tenant, const char *run);
const struct reader_tombstone *
store_reader_tombstone(const struct reader_store *s, const char *tenant,
                       const char *run);
const struct reader_kv *store_reader_kv(const struct reader_store *s,
                                        const char *tenant, const char *plugin,
                                        const void *key, size_t size);
const struct reader_purse *store_reader_purse(const struct reader_store *s,
                                              const char *tenant,
                                              const char *origin);
const struct reader_tree *store_reader_tree(const struct reader_store *s,
                                            const char *tenant,
                                            const char *origin);
/* The oldest of that key; NULL: there is none. */
const struct reader_cached *store_reader_cached(const struct reader_store *s,
                                                const char *tenant,
                                                const uint8_t digest[32]);

#endif
