/* refgraph.h -- a second opinion on what a graph does.
 *
 * An interpreter of a small model of graphs, written from the language's
 * definition and sharing no code with lang/graph and core/run.  It is brute
 * force: sets are bit masks, each view is folded from the whole causal past,
 * and after each event every rule is tried on everything until nothing changes.
 *
 * A program (test_run_worlds.c) has a run of the real thing on one side and
 * this on the other, tells it which executions ended in which order, and
 * compares what both say of it.  Without race operators the order must not
 * matter; with them the order is the decision.
 *
 * A node of the model writes its name into scratch.log and some values into
 * other cells, keeps the scratch that it saw as its output, and may fail. */
#ifndef TEST_REFGRAPH_H
#define TEST_REFGRAPH_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    REF_NODES = 24,
    REF_EDGES = 80,
    REF_REGIONS = 16,
    REF_NEST = 3, /* maps within maps */
    REF_SUBS = 4, /* subgraphs in one graph */
    REF_START = -1,
    REF_END = -2
};

/* What a condition asks.  `turn` is the visit, in a map's body plus the item,
 * in a subgraph plus its input. */
enum ref_ask {
    REF_ALWAYS,
    REF_NEVER,
    REF_TURN,     /* turn % m == r */
    REF_TURN_NOT, /* turn % m != r */
    REF_LOG_SIZE  /* size(scratch.log) % m == r */
};

struct ref_cond {
    enum ref_ask ask;
    int m, r;
};

enum ref_edge_kind {
    REF_STATIC,
    REF_WHEN,
    REF_ROUTE, /* the first of its node that holds */
    REF_DEFAULT,
    REF_ERROR,  /* on_error: {goto} */
    REF_TARGET, /* of a goto, which replaces the others when it holds */
    REF_ARM,    /* of a personality: `above`, or `below` right behind it */
    REF_FIND,   /* discovery: a node that may be found; never taken */
    REF_ELSE,   /* ... and the fallback, right behind it */
    REF_MAP,
    REF_GATHER /* from a map to its join; made by ref_regions() */
};

struct ref_edge {
    int from, to;
    enum ref_edge_kind kind;
    struct ref_cond when; /* MAP: `some` items when it holds, else `others` */
    int join, some, others, max_parallel; /* MAP */
    /* Found by ref_regions(). */
    int home;
    int map; /* MAP, GATHER: the region of the body */
    bool back;
    bool yields; /* from a map's body to its join */
};

/* The cells of scratch besides `log`; reffold.c has the table. */
enum ref_cell {
    REF_SUM,
    REF_MIN,
    REF_MAX,
    REF_FIRST,
    REF_LAST,
    REF_LONGEST,
    REF_TEXT, /* concat of strings */
    REF_MERGE,
    REF_AVG,
    REF_EXPR,
    REF_CAPPED, /* concat of arrays, of which so many items stay */
    REF_PLAIN,  /* no reducer: parallel writes conflict */
    REF_CELLS,
    /* Not among them, since nodes write these without being asked to: */
    REF_LOG = REF_CELLS,
    REF_ARTIFACT, /* no reducer */
    REF_RESULTS   /* a map's: `last`, since maps around it have many */
};

enum ref_branch { REF_FAIL, REF_COLLECT, REF_DROP };

struct ref_join {
    int need; /* taken edges; 0: all decided, at least one taken */
    bool finish;
    enum ref_branch on_error;
    bool best_effort; /* said so: all, and drop */
};

struct ref_node {
    bool writes[REF_CELLS];
    int value;             /* what it writes, together with its turn */
    struct ref_cond fails; /* REF_NEVER, or at some turns */
    bool rescued;          /* on_error: {value}: a failure is none */
    int op;                /* which operation it calls; see randgraph.c */
    struct ref_join join;
    struct ref_graph *sub; /* it is a subgraph; NULL: it is not */
    int region;            /* its innermost; found by ref_regions() */
};

enum ref_region_kind { REF_GRAPH, REF_LOOP, REF_BODY };

struct ref_region {
    enum ref_region_kind kind;
    uint32_t set; /* of nodes, those of inner regions too */
    int entry;    /* a node */
    int edge;     /* REF_BODY: its map edge */
    int parent;
};

struct ref_graph {
    int n, n_edges, n_regions;
    bool fail_fast, end_first;
    bool is_sub; /* its input is {v: a number} */
    /* What only makes it stand still for a while: nothing to the outcome. */
    int steps, visits;                        /* limits; 0: none is said */
    int calls, tokens;                        /* of budget; likewise */
    bool before[REF_NODES], after[REF_NODES]; /* interrupt_ */
    struct ref_node nodes[REF_NODES];         /* in declared order */
    struct ref_edge edges[REF_EDGES]; /* those of one node in their order */
    struct ref_region regions[REF_REGIONS]; /* parents first */
};

/* Find regions, homes and back edges.  False: not a structured graph. */
bool ref_regions(struct ref_graph *g);
/* The innermost map's body around a region (or itself); 0: none. */
int ref_body(const struct ref_graph *g, int region);
/* The bodies of maps around a region, itself included. */
int ref_depth(const struct ref_graph *g, int region);

/* ---- running it -------------------------------------------------------- */

struct ref_run;

struct ref_run *ref_start(const struct ref_graph *g);
void ref_free(struct ref_run *r);

/* The call of this execution ended.  NULL, or why that cannot be. */
const char *ref_end_call(struct ref_run *r, const char *path);
/* End calls in an order that *seed chooses until none is out, or until there
 * were `most` executions: false. */
bool ref_play(struct ref_run *r, uint32_t *seed, int most);
/* How many calls are out. */
int ref_n_live(const struct ref_run *r);

/* Everything there is to say about it once it is over, one line each, sorted:
 * malloc()ed. */
char *ref_outcome(struct ref_run *r);
/* Such a line, and lines (taken) put together: malloc()ed. */
char *ref_line(const char *what, const char *how, const json_t *value);
char *ref_lines(char **lines, size_t n);

/* ---- reffold.c: values ------------------------------------------------- */

/* One write; `value` is a reference of its owner's. */
struct ref_write {
    const char *root; /* scratch, artifacts */
    char key[24];
    int cell;
    json_t *value;
};

const char *ref_cell_name(int cell);
/* What stands in state.reducers; NULL: nothing. */
const char *ref_cell_reducer(int cell);
/* The value that `n` writes at a turn, as JSON and as an expression, in which
 * the turn is written as `turn_expr`. */
json_t *ref_cell_value(int cell, int node, const struct ref_node *n, int turn);
void ref_cell_expr(int cell, int node, const struct ref_node *n,
                   const char *turn_expr, char *out, size_t size);
/* Fold one write into {scratch, artifacts}, which nobody else holds. */
void ref_fold(json_t *state, const struct ref_write *w);
/* Do parallel writes to it conflict? */
bool ref_cell_conflicts(int cell);

#endif
