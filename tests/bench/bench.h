/* bench.h -- what the benchmarks share: clocks, the table, the meter in front
 * of LevelDB, a deployment of their own, and children.
 *
 * Single-threaded, but for what engines do.  Anything that does not work ends
 * the program with words: a benchmark of something broken means nothing. */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/* ---- clocks ------------------------------------------------------------ */

double bench_now(void); /* seconds, monotonic */
double bench_cpu(void); /* seconds that this thread has computed */
/* Sorts them. */
double bench_median(double *v, size_t n);

/* ---- failing ----------------------------------------------------------- */

_Noreturn void bench_die(const char *fmt, ...) MORTISE_PRINTF(1, 2);
/* The words of `err`, unless rv is MORTISE_OK (or more). */
void bench_must(int rv, const struct mortise_err *err, const char *doing);

/* ---- the table --------------------------------------------------------- */

enum bench_unit { BENCH_SECONDS, BENCH_BYTES, BENCH_COUNT };

/* One line.  What has no reference, or no aim, leaves it 0. */
struct bench_row {
    const char *what;
    enum bench_unit unit;
    double measured;
    const char *against; /* what the reference is */
    double reference;    /* in the same unit */
    double at_most;      /* the aim, in the unit */
    double times;        /* the aim, in multiples of the reference */
};

void bench_head(void);
void bench_section(const char *title);
void bench_row(const struct bench_row *row);
/* A line about the rows before it. */
void bench_note(const char *fmt, ...) MORTISE_PRINTF(1, 2);

/* ---- what rows are held against (base.c) -------------------------------- */

struct bench_base {     /* seconds each */
    double call;        /* through a pointer that dlsym() gave */
    double handoff;     /* to another thread and back */
    double parse, dump; /* 200 B of JSON, jansson */
    double put;         /* a synced LevelDB put of 200 B */
    double batched;     /* one of 32 in a synced batch */
    double sync;        /* fdatasync() alone, of 200 appended bytes */
    double spawn;       /* /bin/true, to its end */
};
extern struct bench_base bench_base;
void bench_measure_base(void);

/* ---- the meter (meter.c) ------------------------------------------------ */

/* What passed into LevelDB since the last bench_meter_reset(). */
struct bench_meter {
    uint64_t batches, syncs, puts;
    uint64_t checkpoints;    /* puts of one */
    uint64_t bytes;          /* keys + values put */
    double write, write_cpu; /* in leveldb_write(); cpu: of the main thread */
};
void bench_meter_reset(void);
struct bench_meter bench_meter_read(void);
/* Off: fdatasync() is not passed on.  To fill stores; nothing is measured. */
void bench_sync(bool on);

/* Puts as they were made, to be made again by bare LevelDB. */
struct bench_records;
struct bench_records *bench_record_start(void);
void bench_record_stop(void);
void bench_records_free(struct bench_records *r);
size_t bench_records_checkpoints(const struct bench_records *r);
/* A bare LevelDB in a fresh directory, with LevelDB's own defaults. */
struct bench_bare;
struct bench_bare *bench_bare_open(void);
void bench_bare_close(struct bench_bare *b);
/* Write them all, in synced batches of so many checkpoints; seconds. */
double bench_bare_write(struct bench_bare *b, const struct bench_records *r,
                        size_t per_batch);

/* ---- the world (world.c) ------------------------------------------------ */

struct mortise;
struct mortise_graph;

/* Make the directory of this run, sign the benchmarks' plugins into it and
 * trust their key.  It goes with the program. */
void bench_world_init(void);
/* ... or use one that is there: in a child. */
void bench_world_use(const char *dir);

/* DIR/NAME, of a few that live at a time. */
const char *bench_path(const char *fmt, ...) MORTISE_PRINTF(1, 2);
/* A path in the build directory, of a few that live at a time. */
const char *bench_build(const char *file);
uint64_t bench_size_of(const char *dir); /* bytes of the files in it */
void bench_remove(const char *dir);
void bench_write_file(const char *path, const char *text, size_t n);

/* An engine on DIR/NAME that knows our plugins. */
struct mortise *bench_open(const char *store);
/* ... where a bench_wait that was not told how long as good as never ends. */
struct mortise *bench_open_slowly(const char *store);
/* ... with that deployment, a file of the directory. */
struct mortise *bench_open_with(const char *store, const char *deployment);
struct mortise_graph *bench_load(struct mortise *m,
                                 const struct mortise_buf *b);
void bench_start(struct mortise *m, struct mortise_graph *g, const char *id,
                 const char *input);
void bench_settle(struct mortise *m); /* poll until no run is live */
/* Start n runs; seconds. */
double bench_start_some(struct mortise *m, struct mortise_graph *g, size_t n);
/* One run from its start to its end, and of all that were started before;
 * fails unless it completed.  Seconds. */
double bench_finish(struct mortise *m, struct mortise_graph *g);
/* Fails unless the run has this status ("completed"). */
void bench_expect(struct mortise *m, const char *id, const char *status);
/* An id that no run had. */
const char *bench_id(void);

/* ---- a model (modeld.c) -------------------------------------------------- */

/* A server until this program ends, before anything has a thread; its port. */
int bench_modeld(void);

/* ---- graphs ------------------------------------------------------------- */

/* A chain of n nodes OP (PLUGIN/OPERATION), each writing its output over
 * scratch.v; `input` carries the rest of the state. */
void bench_chain(struct mortise_buf *b, const char *op, const char *args,
                 size_t n);
/* The same behind a gate that opens when so many runs have come to it. */
void bench_gated_chain(struct mortise_buf *b, const char *op, const char *args,
                       size_t n, size_t runs);
/* START -> fork -> n nodes -> join. */
void bench_fan(struct mortise_buf *b, size_t n);
void bench_graph_head(struct mortise_buf *b, const char *name,
                      const char *start);
/* Together with 20 B in scratch.v this makes a state of 200 B. */
extern const char bench_input[];

/* ---- the step function alone (lone.c) ------------------------------------ */

struct json_t;
/* A graph of bench_now/step; mortise_graph_unref() it. */
struct mortise_graph *bench_compile(const struct mortise_buf *b);

struct bench_lone; /* a run without an engine */
/* Admitted, and on "disk"; `input` is borrowed.  `kept`: for the commits, if
 * they are to be replayed, else NULL. */
struct bench_lone *bench_lone_start(struct mortise_graph *g,
                                    struct json_t *input,
                                    struct mortise_buf *kept);
/* Answer n calls, or fewer at the end, with this; seconds of computing. */
double bench_lone_feed(struct bench_lone *l, size_t n, struct json_t *output);
/* Seconds, to make the run from what was kept. */
double bench_lone_replay(const struct bench_lone *l);
void bench_lone_expect(const struct bench_lone *l, int status);
void bench_lone_free(struct bench_lone *l);

/* ---- children (child.c) -------------------------------------------------- */

struct bench_child {
    int pid;
    int out; /* its stdout */
    double begun;
};
/* argv[0] is a path; what it says on stderr is ours. */
struct bench_child bench_spawn(const char *const argv[]);
/* Read what it prints until `text` was there; false at the end. */
bool bench_await(struct bench_child *c, const char *text);
/* Wait for the end of it: 0, or an exit code, or 128 + signal. */
int bench_reap(struct bench_child *c);
/* A line of /proc/PID/status, in bytes: "VmHWM", the most that it has had in
 * memory so far, mapped files included, or "RssAnon", what is its alone.  0: it
 * is gone. */
double bench_memory(int pid, const char *line);
double bench_threads(void); /* of this process, at the moment */

/* This program again, as `bench --child NAME DIR ARG`: it prints numbers.
 * Seconds, to its end. */
double bench_again(const char *name, const char *arg, double *out, size_t n);
/* In the child.  Returns its exit code. */
int bench_be_child(const char *name, const char *arg);

/* ---- the rows ------------------------------------------------------------ */

void bench_dispatch(void);  /* dispatch.c */
void bench_flat(void);      /* flat.c */
void bench_durable(void);   /* durable.c */
void bench_waits(void);     /* waits.c */
void bench_process(void);   /* process.c */
void bench_parked(void);    /* parked.c */
void bench_loading(void);   /* loading.c */
void bench_shapes(void);    /* shapes.c */
void bench_models(void);    /* models.c */
void bench_traces(void);    /* traces.c */
void bench_remembers(void); /* remembers.c */
void bench_mcp(void);       /* mcp.c */
void bench_guards(void);    /* guards.c */

/* What children do for them. */
int bench_child_bare(const char *arg);        /* process.c */
int bench_child_interrupted(const char *arg); /* process.c */
int bench_child_parked(const char *arg);      /* parked.c */
int bench_child_loading(const char *arg);     /* loading.c */
int bench_child_agent(const char *arg);       /* models.c */
int bench_child_holding(const char *arg);     /* models.c */

#endif
