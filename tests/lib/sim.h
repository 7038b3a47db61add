/* sim.h -- a world for the step function: no threads, no clock, no disk.
 *
 * The simulator carries out a run's actions in the order that the test (or a
 * seed) chooses: which commit is synced next, which call ends, which timer
 * fires, when the process dies.  Commits are kept as a store would keep them;
 * a crash loses what was not synced, and recovery replays the rest.
 *
 * Operations of plugin `t` (their effect, how they can be settled):
 *   echo  pure               gives its body
 *   read  read               gives its body; uses at most a call and 10 tokens
 *   write write              happens; nobody can tell afterwards.  Told to
 *                            stop it lets go; with {"sure": ...} it says, too,
 *                            that it did not happen; with {"unsure": ...} it
 *                            says that it does not know
 *   idem  external           happens; idempotent by key
 *   rec   write              happens; reconcile knows by key
 *   ask   read               asks what its body says (script.h), as do
 *   does  external           the three whose effects are all asked for:
 *   does_idem                ... idempotent by key
 *   does_rec write           ... reconcile knows whether any happened
 *   acts  external           asks, and has an effect of its own besides, with
 *                            which it ends
 *   acts_rec write           ... reconcile knows whether that happened, unless
 *                            something else of it did; with {"sure": ...} then,
 *                            too
 *   spend read               gives its body (or asks, if that has "asks"); uses at
 *                            most 4 calls, 100 tokens in and out, half a dollar
 *   spend_write write        the same; reconcile knows by key
 *   unpriced read            like spend, at any price
 *   brief pure               makes an output short, as agent/compact does
 *   fail  pure               fails as its body says: {code, class, times}: the
 *                            first `times` attempts; then gives its body
 * Whatever succeeds says besides what its body has as "goto" (if that is not
 * empty) and "update"; whatever is executed, however it ends, says that it
 * used what its body has as "usage", and that again for each answer that it got.
 * Guardrails: `ok` passes; `bad` finds {"bad": ...}, at the top level or in
 * `scratch` there, a violation and offers the payload without it; `stern` is a
 * violation without
 * replacement; `down` fails, and offers something all the same; `wary` finds
 * {"times": 1} or more a violation.
 * The memory keeps traces for good, whatever becomes of runs; a query finds those
 * whose content has it, the newest first.  Discovery finds the candidates whose
 * ids have the query, and then the skill `knack`, if the query has that. */
#ifndef TEST_SIM_H
#define TEST_SIM_H

#include "lib/script.h"
#include "core/run/run.h"

enum {
    SIM_PATIENCE_MS = 10000, /* of a pause */
    SIM_TOKENS = 5,          /* that a call uses in a world that tells */
    SIM_MOST = 1024          /* commits, calls, asks */
};

struct sim_commit {
    uint64_t seq, time_ms;
    bool sync;
    enum mortise_phase phase;
    struct mortise_uuid id;
    char *entries;
    size_t size;
    int status;
    const char *reason;
    json_t *kvs;    /* [{plugin, key, value?}] */
    json_t *cached; /* {key in hex: value} */
    struct mortise_spawn_budget_change spend;
};

struct sim_call {
    struct mortise_run_call call; /* body owned */
    bool cancelled;
    struct script script;
};

struct sim_timer {
    uint64_t id, at_ms;
};

struct sim_effect { /* how often an effect happened in the world */
    char key[MORTISE_DIGEST_HEX];
    char node[80];
    int times;
    int lost; /* so often nobody heard of it */
};

struct sim {
    struct mortise_graph *graph;
    struct mortise_run *run; /* NULL when it was never admitted */
    struct mortise_actions actions;
    uint64_t now_ms;
    const char *spawned_by; /* the handle whose child it is to be; NULL */

    struct sim_commit commits[SIM_MOST];
    size_t n_commits, n_written, n_synced;
    bool tells;      /* each execution says that it used SIM_TOKENS */
    bool lax;        /* syncs nothing that nobody waits for */
    bool wants_sync; /* ... and somebody does */
    struct sim_call calls[SIM_MOST];
    size_t n_calls;
    struct sim_ask asks[SIM_MOST];
    size_t n_asks;
    unsigned crashes;
    unsigned hits;        /* lookups that found something */
    json_t *traces;       /* [{seq, trace}], as the memory has them */
    json_t *uses;         /* {"ID BY": true}, as it was told */
    json_int_t seq;       /* of its newest */
    unsigned written;     /* traces that it was told to write */
    unsigned recalls;     /* reads of it */
    unsigned compactions; /* so many outputs were to be made short */
    unsigned judgements;  /* so many questions were to be judged */
    unsigned mutes;   /* so many more calls of those, or of discovery, fail */
    const char *mute; /* ... with this class; NULL: transient */
    json_t *lie;      /* what the next such call gives instead; or NULL */
    uint64_t last_ask;
    bool scripting;
    struct sim_timer timers[256];
    size_t n_timers;
    struct sim_effect effects[256];
    size_t n_effects;
    json_t *published; /* events, in order */
    json_t *pending;   /* id -> payload, as the store has them (synced only
                          by the test's care) */
    const struct mortise_pin *tools; /* that it pins beside plugin t */
    size_t n_tools;
    const struct mortise_pin *pins; /* that the next commands accept */
    size_t n_pins;
    const struct mortise_steering *steering; /* of their steer */
    int applied; /* 1: no answer yet; else the result of the command */
    struct mortise_err applied_err;
};

extern const struct mortise_catalog sim_catalog;

/* A text that is printed if a step fails: the graph, say; NULL: none. */
extern const char *sim_subject;

/* Compile a graph; the test fails if it has findings. */
struct mortise_graph *sim_graph(const char *yaml);
/* The same, beside one other graph file: `graph/NAME` and `use` find that one. */
struct mortise_graph *sim_graph_beside(const char *other, const char *yaml);
/* The graph files of that: a directory with one file, whose text is `other`. */
struct mortise_graph_files sim_files(const char *other);

void sim_init(struct sim *s, struct mortise_graph *g); /* takes the graph */
void sim_finish(struct sim *s);

/* Admit with this input (JSON text). */
int sim_admit(struct sim *s, const char *input, struct mortise_err *err);
int sim_command(struct sim *s, const struct mortise_command *list, size_t n,
                uint32_t flags, const char *actor, struct mortise_err *err);

/* Any event, as it stands but for its time; what it leads to is carried out. */
void sim_feed(struct sim *s, struct mortise_input *in);

/* One thing that can happen, by choice: false when there is nothing.  (What a
 * lax world has to sync may only have to be written.) */
bool sim_sync_one(struct sim *s);
bool sim_end_call(struct sim *s, size_t i);
/* Whatever is under way will never be heard of again. */
void sim_drop_calls(struct sim *s);
bool sim_fire_timer(struct sim *s, size_t i);
/* Let things happen, in the order that *seed chooses, until none can.  Timers
 * fire only when nothing else can happen, soonest first. */
void sim_run(struct sim *s, uint32_t *seed);
void sim_run_plain(struct sim *s); /* syncs first, then calls in order */

/* The process dies: calls out that have an effect happen or not, as *seed
 * says; what was not synced is lost, or, in a lax world, what was not written,
 * as it says.  Then the run is replayed, not resumed. */
void sim_crash(struct sim *s, uint32_t *seed);
void sim_recover(struct sim *s);

/* The state as JSON text (canonical), freed by the caller. */
char *sim_state(struct sim *s);
json_t *sim_show(struct sim *s);
/* What is on disk of what a plugin keeps: borrowed, or NULL. */
json_t *sim_kept(const struct sim *s, const char *plugin, const char *key);
int sim_effect_count(const struct sim *s, const char *node);
/* A trace of that id is written, by somebody else: in `global`. */
void sim_memorize(struct sim *s, const char *id, const char *content);
/* How many traces has it whose content has that text? */
size_t sim_memories(const struct sim *s, const char *text);
/* How often the effect of that idempotency key happened. */
int sim_effect_times(const struct sim *s, const char *key);
/* The id of the one pending request of a node, or NULL. */
const char *sim_request(struct sim *s, const char *node);

/* A person lets that node begin; of START: the run. */
void sim_let_go(struct sim *s, const char *node);
bool sim_saw(const struct sim *s, const char *type, const char *node);

uint32_t sim_random(uint32_t *seed);

#endif
