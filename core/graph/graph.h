/* graph.h -- a graph file, checked and compiled.
 *
 * Immutable once loaded, so any thread may read it; everything in it lives in
 * one arena and dies at once.  Reference counted by its holders: the API's
 * handle and every run of it. */
#ifndef MORTISE_GRAPH_GRAPH_H
#define MORTISE_GRAPH_GRAPH_H

#include "graph/catalog.h"
#include "graph/tmpl.h"
#include "json/path.h"
#include "yaml/tree.h"

/* Names in scope of a graph's expressions, in this order. */
enum mortise_scope_name {
    MORTISE_IN_INPUT,
    MORTISE_IN_SCRATCH,
    MORTISE_IN_ARTIFACTS,
    MORTISE_IN_STATE,  /* {input, scratch, artifacts}: state.X is X */
    MORTISE_IN_RUN,    /* {id, tenant, graph, version} */
    MORTISE_IN_NODE,   /* {id, type, visit, attempt} */
    MORTISE_IN_OUTPUT, /* in outputs, conditions and on_error.value */
    MORTISE_IN_ERROR,  /* {code, message}, in on_error.value */
    MORTISE_IN_N
};

enum mortise_node_type {
    MORTISE_NODE_TOOL = 1,
    MORTISE_NODE_EXTENSION,
    MORTISE_NODE_HUMAN,
    MORTISE_NODE_GUARDRAIL,
    MORTISE_NODE_ROUTER
};

#define MORTISE_START 0xFFFFFFFEu
#define MORTISE_END   0xFFFFFFFFu

enum mortise_edge_kind {
    MORTISE_EDGE_STATIC = 1, /* taken on success */
    MORTISE_EDGE_WHEN,       /* taken on success when the condition holds */
    MORTISE_EDGE_ROUTE,      /* the first ROUTE of its node that holds ... */
    MORTISE_EDGE_DEFAULT,    /* ... or this, when no ROUTE or ROUTE_ALL did */
    MORTISE_EDGE_ROUTE_ALL,  /* routes: {all: [..]}: every one that holds */
    MORTISE_EDGE_TARGET,     /* a router's `condition` named it */
    MORTISE_EDGE_ERROR,      /* on_error: {goto} */
    MORTISE_EDGE_TIMEOUT,    /* a human's on_timeout: {goto} */
    MORTISE_EDGE_REROUTE     /* a guardrail's reroute_target */
};
/* The last three replace all others; see graph.md 6. */

struct mortise_edge {
    uint32_t from, to; /* node index, MORTISE_START or MORTISE_END */
    enum mortise_edge_kind kind;
    struct mortise_expr when; /* WHEN, ROUTE, ROUTE_ALL */
    struct mortise_span span;
};

enum mortise_backoff {
    MORTISE_BACKOFF_FIXED = 1,
    MORTISE_BACKOFF_LINEAR,
    MORTISE_BACKOFF_EXPONENTIAL
};

struct mortise_retry {
    uint32_t max_attempts; /* >= 1, the first try included */
    enum mortise_backoff backoff;
    uint64_t delay_ms, max_delay_ms;
    double jitter; /* 0..1 */
    const char *const *retry_on; /* codes or classes */
    size_t n_retry_on;
};

enum mortise_in_doubt { /* on_in_doubt */
    MORTISE_DOUBT_DEFAULT, /* reconcile where offered, else ask */
    MORTISE_DOUBT_RECONCILE,
    MORTISE_DOUBT_RETRY,
    MORTISE_DOUBT_ASK,
    MORTISE_DOUBT_FAIL
};

struct mortise_output { /* one line of `outputs` */
    struct mortise_path path; /* under scratch or artifacts, root included */
    struct mortise_expr expr;
};

enum mortise_reduce {
    MORTISE_REDUCE_DEFAULT, /* last, and concurrent writes conflict */
    MORTISE_REDUCE_LAST,    /* last, said in so many words */
    MORTISE_REDUCE_FIRST,
    MORTISE_REDUCE_CONCAT,
    MORTISE_REDUCE_MERGE,
    MORTISE_REDUCE_SUM,
    MORTISE_REDUCE_MIN,
    MORTISE_REDUCE_MAX,
    MORTISE_REDUCE_LONGEST
};

struct mortise_reducer {
    struct mortise_path path; /* root included */
    enum mortise_reduce reduce;
    struct mortise_span span;
};

enum mortise_on_violation {
    MORTISE_VIOLATION_BLOCK = 1,
    MORTISE_VIOLATION_REROUTE,
    MORTISE_VIOLATION_WARN,
    MORTISE_VIOLATION_SANITIZE
};

enum mortise_on_timeout {
    MORTISE_TIMEOUT_ERROR = 1,
    MORTISE_TIMEOUT_ACCEPT,
    MORTISE_TIMEOUT_REJECT,
    MORTISE_TIMEOUT_GOTO
};

struct mortise_node {
    const char *id;
    uint32_t index; /* declared position */
    enum mortise_node_type type;
    struct mortise_span span; /* of its key */
    uint32_t *in, *out;       /* edge indexes, in declared order */
    uint32_t n_in, n_out;

    /* tool, extension */
    const char *plugin, *operation;
    const struct mortise_operation *op; /* borrowed from the catalogue */
    struct mortise_tmpl *args;          /* NULL: {} */

    /* all that do something */
    enum mortise_effect effect; /* effective; READ for guardrail, PURE for
                                   router and human */
    enum mortise_in_doubt on_in_doubt;
    uint64_t timeout_ms; /* of one attempt; 0: none */
    struct mortise_retry retry;
    struct mortise_schema *input_schema, *output_schema; /* of the node */
    struct mortise_output *outputs;
    size_t n_outputs;
    const char *output_as; /* artifact key; NULL: none */
    bool on_error_value;   /* on_error: {value}; {goto} is an EDGE_ERROR */
    struct mortise_expr error_value;
    bool interrupt_before, interrupt_after;

    /* human */
    struct mortise_tmpl *prompt;
    struct mortise_schema *answer_schema;
    const char *const *assignees;
    size_t n_assignees;
    uint64_t wait_ms; /* 0: for ever */
    enum mortise_on_timeout on_timeout;

    /* guardrail */
    const char *const *guardrails;
    size_t n_guardrails;
    bool has_target;
    struct mortise_expr target;
    bool target_is_path; /* of scratch or artifacts: sanitised in place */
    struct mortise_path target_path;
    enum mortise_on_violation on_violation;

    /* router by condition */
    bool by_condition;
    struct mortise_expr condition; /* gives the id of a TARGET edge's node */
};

struct mortise_graph {
    struct mortise_arena arena;
    uint32_t refs; /* [loop] */
    const char *name, *version, *description; /* "" when not given */
    const char *goal;                  /* NULL: none */
    const char *path;                  /* as loaded, for messages */
    uint8_t digest[MORTISE_DIGEST];    /* of the canonical form */
    const struct mortise_yaml *tree;   /* source, spans */
    const char *source;                /* the file's text: what a run pins */
    size_t source_size;

    struct mortise_node *nodes;
    uint32_t n_nodes;
    struct mortise_edge *edges;
    uint32_t n_edges;
    uint32_t *start; /* edge indexes out of START */
    uint32_t n_start;

    bool approve_tools; /* hitl_mode */
    uint32_t concurrency;
    uint64_t expr_cost;
    struct mortise_schema *input, *scratch, *artifacts; /* NULL: anything */
    struct mortise_reducer *reducers;
    size_t n_reducers;
    const char **plugins; /* names used, sorted, each once (guardrail ids too,
                             as "guardrail:ID") */
    size_t n_plugins;

    struct mortise_schema **schemas; /* all that were compiled for it */
    size_t n_schemas;
    uint32_t *node_at; /* position of a key in `nodes:` -> node index */
    const struct mortise_yaml *nodes_map;
};

/* Load and check.  Findings to `diags`; *out has one reference, or is NULL when
 * any of them is an error (MORTISE_ECHECK).  `path` for messages. */
int mortise_graph_load(struct mortise_graph **out,
                       const struct mortise_mem *mem, const char *path,
                       const char *text, size_t n,
                       const struct mortise_catalog *catalog,
                       struct mortise_diags *diags, struct mortise_err *err);
struct mortise_graph *mortise_graph_ref(struct mortise_graph *g);
void mortise_graph_unref(struct mortise_graph *g); /* NULL is fine */

/* The node of that id, or NULL. */
const struct mortise_node *mortise_graph_node(const struct mortise_graph *g,
                                              const char *id);
/* The reducer that governs a path (exact match), DEFAULT if none. */
enum mortise_reduce mortise_graph_reduce(const struct mortise_graph *g,
                                         const struct mortise_path *path);
const char *mortise_node_type_name(enum mortise_node_type type);
const char *mortise_effect_name(enum mortise_effect effect);

#endif
