/* refrun.h -- a run of a model graph: what the ref*.c share. */
#ifndef TEST_REFRUN_H
#define TEST_REFRUN_H

#include "lib/refgraph.h"

enum {
    REF_EXECS = 256,
    REF_FRAMES = 256,
    REF_WRITES = REF_CELLS + 2,
    REF_PATH = 96
};

enum ref_status { REF_LIVE, REF_DONE, REF_FAILED, REF_CANCELLED };
enum ref_decision { REF_OPEN, REF_TAKEN, REF_DEAD, REF_LOST };
/* What became of the failures of a frame, the worst last. */
enum ref_loss {
    REF_MENDED,       /* there were none, or joins collect or drop them */
    REF_LOST_HERE,    /* they lead out of the frame */
    REF_LOST_FOR_GOOD /* they lead to an end */
};
enum ref_state { REF_WAITING, REF_STARTED, REF_OVER };

struct ref_set {
    uint64_t w[REF_EXECS / 64];
};

struct ref_exec {
    int frame, node, visit, turn;
    enum ref_status status;
    int gather;    /* it calls nothing: what this map comes to; 0: a node's */
    bool handled;  /* it failed, and on_error led on */
    bool conflict; /* it failed before it was called */
    int discard;   /* its writes count for nobody: 1 + the frame of the join
                      that it lost; 0: they count */
    int n_failed;  /* edges that its join collected */
    struct ref_set past;
    bool took[REF_EDGES];
    json_t *output;
    struct ref_write writes[REF_WRITES];
    int n_writes;
    struct ref_run *child; /* of a subgraph */
    char path[REF_PATH];
};

/* One going through a region. */
struct ref_frame {
    int region, parent, visit;
    int index[REF_NEST], n_index; /* of map elements */
    int item;                     /* the innermost element */
    bool closed;
    bool late;             /* an element: enough others were over before */
    bool won[REF_REGIONS]; /* maps of which enough elements came */
    enum ref_loss loss;
    uint8_t edges[REF_EDGES]; /* enum ref_decision, of those at home here */
    int source[REF_EDGES];    /* the execution that took it; -1: START */
    uint8_t nodes[REF_NODES]; /* enum ref_state */
    uint8_t regions[REF_REGIONS];
    bool loser[100 + REF_REGIONS]; /* items whose writes do not count */
};

struct ref_run {
    const struct ref_graph *graph;
    char prefix[REF_PATH]; /* of its executions' paths */
    int input;             /* a subgraph's */
    struct ref_exec execs[REF_EXECS];
    int n_execs;
    struct ref_frame frames[REF_FRAMES];
    int n_frames;
    bool loop_error; /* a back edge and an exit in one visit */
    bool stopped;    /* nothing starts any more */
    bool changed;    /* some rule did something */
};

/* ---- refrun.c ----------------------------------------------------------- */

void ref_item_over(struct ref_run *r, int frame, int item, bool lost);
void ref_stop(struct ref_run *r);
/* So many failures an edge brings to its join: of a map, its elements'. */
int ref_lost_by(const struct ref_run *r, int frame, int edge);

/* ---- refitem.c ---------------------------------------------------------- */

/* What a node is, seen from a region around it: itself, or (100 and more) the
 * region within that has it. */
int ref_item_of(const struct ref_graph *g, int region, int node);
bool ref_is_home(const struct ref_graph *g, int region, int edge);
int ref_source_item(const struct ref_graph *g, int edge);
/* -1: it leads to no item of its home. */
int ref_target_item(const struct ref_graph *g, int edge);
bool ref_is_item(const struct ref_graph *g, int region, int item);
const struct ref_join *ref_join_of(const struct ref_graph *g, int item);
uint8_t *ref_item_state(struct ref_frame *f, int item);
/* Is frame `in` the frame `of`, or inside it? */
bool ref_is_within(const struct ref_run *r, int in, int of);
/* Is `at` a frame of this item of `frame`, or inside one? */
bool ref_is_frame_in_item(const struct ref_run *r, int at, int frame, int item);
/* Of its frame. */
int ref_exec_item(const struct ref_exec *x);
bool ref_is_in_item(const struct ref_run *r, const struct ref_exec *x,
                    int frame, int item);
/* The frame around (or at) `at` in which a region's edges are. */
int ref_frame_of(const struct ref_run *r, int at, int region);

/* ---- refloss.c ---------------------------------------------------------- */

void ref_cancel(struct ref_exec *x);
void ref_drop_losers(struct ref_run *r, int frame, int join);
/* An element of a map in `frame` was not over when enough were. */
void ref_drop_element(struct ref_run *r, int frame, int element, bool finish);
/* Does a failed element of this map make its join fail? */
bool ref_is_fatal(const struct ref_graph *g, int body);
/* Did a failure in this frame go unmended? */
enum ref_loss ref_loss_of_frame(struct ref_run *r, int frame);

/* ---- refstate.c --------------------------------------------------------- */

bool ref_has(const struct ref_set *s, int exec);
void ref_add(struct ref_set *s, int exec);
/* x and all that it came after. */
void ref_add_past(struct ref_set *s, const struct ref_run *r, int exec);

/* The fold of the commits in `set`, as it is seen from `frame`: {scratch,
 * artifacts}, a new reference. */
json_t *ref_state_of(const struct ref_run *r, const struct ref_set *set,
                     int frame);
/* ... of everything that counts. */
json_t *ref_state_at_end(const struct ref_run *r);
/* Do two commits in it write one path there, neither after the other? */
bool ref_conflicts(const struct ref_run *r, const struct ref_set *set,
                   int frame);
bool ref_conflicts_at_end(const struct ref_run *r);

bool ref_holds(const struct ref_cond *c, int turn, const json_t *state);

#endif
