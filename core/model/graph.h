/* graph.h -- a graph file, checked and compiled.
 *
 * Immutable once loaded, so any thread may read it; everything in it lives in
 * one arena and dies at once.  Reference counted by its holders: the API's
 * handle and every run of it.
 *
 * Everything structured is a region (region.c): the graph itself, each loop,
 * each map's body.  Regions nest, and seen from inside each of them is acyclic:
 * its items are its own nodes and its child regions.  An edge is decided where
 * both its ends are items, in its home.  A child region is entered through its
 * entry alone; the edges that lead from inside it to its outside are its
 * exits. */
#ifndef MORTISE_MODEL_GRAPH_H
#define MORTISE_MODEL_GRAPH_H

#include "core/base/source.h"
#include "core/model/spend.h"
#include "core/model/catalog.h"
#include "core/model/tmpl.h"
#include "core/json/path.h"
#include "core/spawn/spawn.h"
#include "lang/yaml/keys.h"
#include "lang/yaml/tree.h"

enum {
    MORTISE_MAX_MAPS = 8,          /* one inside the other */
    MORTISE_MAX_PARALLEL = 100000, /* of max_parallel */
    MORTISE_MAX_REGIONS = 64       /* one inside the other, in one graph */
};

/* Names in scope of a graph's expressions, in this order. */
enum mortise_scope_name {
    MORTISE_IN_INPUT,
    MORTISE_IN_SCRATCH,
    MORTISE_IN_ARTIFACTS,
    MORTISE_IN_STATE,       /* {input, scratch, artifacts}: state.X is X */
    MORTISE_IN_RUN,         /* {id, tenant, graph, version} */
    MORTISE_IN_NODE,        /* {id, type, visit, attempt, failed} */
    MORTISE_IN_DIAGNOSTICS, /* {NODE: {runs, attempts, usage}}: what came
                               before */
    MORTISE_IN_HANDLED, /* `error`, of a node that on_error.goto leads to: {node,
                           code, class, message}, or null */
    MORTISE_IN_MEMORY,  /* of a node that reads: the traces, a list */
    MORTISE_IN_DISCOVERY, /* of a node that discovers: {results, skills} */
    MORTISE_IN_INDEX,     /* in a map's body: the innermost's */
    MORTISE_IN_ITEM,      /* the outermost map's `as`; its inner ones follow */
    MORTISE_IN_ITEM_END = MORTISE_IN_ITEM + MORTISE_MAX_MAPS,
    MORTISE_IN_OUTPUT = MORTISE_IN_ITEM_END, /* in outputs, conditions and
                                                on_error.value */
    MORTISE_IN_ERROR, /* {node, code, class, message, exit_code?, status?}, in
                         on_error.value and retry_policy.when */
    MORTISE_IN_N
};

/* Names in scope of a reducer's expression. */
enum { MORTISE_REDUCE_OLD, MORTISE_REDUCE_NEW, MORTISE_REDUCE_NAMES };

enum mortise_node_type {
    MORTISE_NODE_UNREAD, /* no type that this build has */
#define NODE_KIND(KIND, word, gives) MORTISE_NODE_##KIND,
#include "core/model/node_kinds.def"
    MORTISE_NODE_TYPES
};

/* What nodes of a kind come to. */
enum mortise_node_gives {
    MORTISE_GIVES_OUTPUT = 1, /* a value */
    MORTISE_GIVES_RESULT,     /* a value that an operation gave: it is a call */
    MORTISE_GIVES_DECISION,   /* a value that people said: it asks them */
    MORTISE_GIVES_ROUTE /* where to go, by its own routes, and nothing else */
};

#define MORTISE_START 0xFFFFFFFEu
#define MORTISE_END   0xFFFFFFFFu

enum mortise_edge_kind {
    MORTISE_EDGE_STATIC = 1, /* taken on success */
    MORTISE_EDGE_WHEN,       /* taken on success when the condition holds */
    MORTISE_EDGE_ROUTE,      /* taken when no earlier ROUTE of its node holds */
    MORTISE_EDGE_DEFAULT,    /* taken when no ROUTE or ROUTE_ALL holds */
    MORTISE_EDGE_ROUTE_ALL,  /* routes: {all: [..]}: every one that holds */
    MORTISE_EDGE_TARGET,     /* a router, or an executor's `goto`, named it */
    MORTISE_EDGE_ERROR,      /* on_error: {goto} */
    MORTISE_EDGE_TIMEOUT,    /* a human's on_timeout: {goto} */
    MORTISE_EDGE_REROUTE,    /* a guardrail's reroute_target */
    MORTISE_EDGE_BUDGET,     /* on_exceeded: {goto}, from START */
    MORTISE_EDGE_ABOVE,      /* on success, where a trait is that high */
    MORTISE_EDGE_BELOW,      /* on success, where it is lower */
    MORTISE_EDGE_FOUND,      /* discovery: to the node that was found */
    MORTISE_EDGE_FALLBACK,   /* discovery: nothing was found */
    MORTISE_EDGE_GATHER,     /* from a map, which is over, to its join */
    MORTISE_EDGE_DETOUR      /* for one with a guardrail, which is not taken */
};
/* TARGET, ERROR, TIMEOUT, REROUTE and BUDGET replace all others; DETOUR
 * replaces the one that it stands in for; see graph.md 6. */

/* HEXACO (persona.c). */
enum mortise_trait {
    MORTISE_TRAIT_HONESTY_HUMILITY,
    MORTISE_TRAIT_EMOTIONALITY,
    MORTISE_TRAIT_EXTRAVERSION,
    MORTISE_TRAIT_AGREEABLENESS,
    MORTISE_TRAIT_CONSCIENTIOUSNESS,
    MORTISE_TRAIT_OPENNESS,
    MORTISE_TRAITS
};

/* How a node's memory stands to the time (memory.c). */
enum mortise_consistency {
    MORTISE_MEMORY_SNAPSHOT, /* as of the run's start; written at its end */
    MORTISE_MEMORY_LIVE,     /* the newest; written before the node is done */
    MORTISE_MEMORY_JOURNALED /* the newest and the run's own; delivered behind
                                the node's commit */
};

/* What a trace belongs to. */
enum mortise_memory_scope {
    MORTISE_SCOPE_ALL, /* of a read: whichever applies */
    MORTISE_SCOPE_GLOBAL,
    MORTISE_SCOPE_PERSONA,
    MORTISE_SCOPE_SESSION,
    MORTISE_SCOPE_CONVERSATION
};

/* memory_policy of a node. */
struct mortise_memory_policy {
    enum mortise_consistency consistency;
    struct mortise_tmpl *session; /* whose it is; NULL: the run's */
    bool reads;                   /* before it runs: */
    const char *const *types;     /* of these types; n 0: of all */
    size_t n_types;
    enum mortise_memory_scope scope;
    uint32_t max_traces;
    double min_strength;
    struct mortise_tmpl *query; /* NULL: whatever is best */
    bool encodes;               /* its output becomes a trace: */
    const char *type;
    enum mortise_memory_scope write_scope; /* not ALL */
};

/* discovery_policy of a node. */
struct mortise_discovery_policy {
    const char *kind;           /* tool, skill, extension, any */
    struct mortise_tmpl *query; /* never NULL in a graph that is loaded */
    uint32_t max_results;
    bool fails; /* fallback: error */
};

/* What a discovery edge looks for; its FOUND edges and its FALLBACK share it.
 */
struct mortise_edge_discovery {
    const char *kind;   /* tool, extension, any */
    const char *nobody; /* why nobody is asked; NULL: the deployment has who
                           answers */
    struct mortise_tmpl *query;
};

enum mortise_on_violation {
    MORTISE_VIOLATION_BLOCK = 1,
    MORTISE_VIOLATION_REROUTE,
    MORTISE_VIOLATION_WARN,
    MORTISE_VIOLATION_SANITIZE
};

struct mortise_guard_list { /* ids, in the order in which they are asked */
    const char *const *ids;
    size_t n;
};

/* guardrail_policy of an edge: of all that one entry makes.  They are the edges
 * [first, end), of which at most one is taken at a time. */
struct mortise_edge_policy {
    struct mortise_guard_list guards; /* never empty */
    enum mortise_on_violation on_violation;
    uint32_t first, end; /* REROUTE: `end` is the DETOUR, in the same node's
                            `out` right behind them */
};

/* Inside a map's body an edge to the map's join `yields`: it is decided there
 * and gives the element's result, like an edge to END that is looked at.  What
 * the join counts is the one GATHER edge of the map, which nobody wrote: it is
 * in no node's `out`, its `from` is the map's `to`. */
struct mortise_edge {
    uint32_t from, to; /* node index, MORTISE_START or MORTISE_END */
    enum mortise_edge_kind kind;
    struct mortise_expr when; /* WHEN, ROUTE, ROUTE_ALL */
    struct mortise_span span;

    uint32_t home; /* region: the least that holds both ends; of an edge to END
                      its source's, of one that yields its map's */
    uint32_t slot; /* position in the home's `edges` */
    uint32_t map;  /* of a map edge, which leads into the body of a map, and of
                      GATHER: the region of the body; else 0 */
    bool back;     /* to the entry of its home, a loop, from inside */
    bool yields;

    enum mortise_trait trait; /* ABOVE, BELOW */
    double threshold;
    bool holds;
    const struct mortise_edge_discovery *discovery; /* FOUND, FALLBACK */

    const struct mortise_edge_policy *policy; /* NULL: nobody looks at what
                                                 passes; a DETOUR's: of those
                                                 that it stands in for */
};

enum mortise_region_kind {
    MORTISE_REGION_GRAPH = 1, /* region 0 */
    MORTISE_REGION_LOOP,      /* a strongly connected part, without the back
                                 edges of the loops around it */
    MORTISE_REGION_MAP        /* what a map edge leads to, up to its join */
};

/* An item's place in the tree of what always leads to what in its region, for
 * mortise_postdom_leads().  Only set in regions with an item whose join is of
 * kind ANY or QUORUM: a node, or a loop whose entry's join is. */
struct mortise_postdom {
    uint32_t first, last;
};

struct mortise_region {
    enum mortise_region_kind kind;
    uint32_t index, parent; /* a parent comes before its children; 0's is 0 */
    uint32_t depth;         /* regions around it */
    uint32_t entry; /* LOOP: its entry node; MAP: `to`, maybe the entry of a
                       loop in the body; GRAPH: MORTISE_START */
    uint32_t *nodes, n_nodes;     /* directly in it, in declared order */
    uint32_t *regions, n_regions; /* directly in it, by index */
    uint32_t *edges, n_edges;     /* whose home it is, back edges included */
    uint32_t *back, n_back;       /* LOOP: edges to the entry from inside */
    uint32_t *exits, n_exits; /* edges from inside, at any depth, to an outside
                                 that is not END: of a MAP, its GATHER edge */
    struct mortise_postdom postdom; /* as an item of its parent */

    /* MAP: its results are written to the artifact that is named like its
     * `to`, as `last` where no reducer says otherwise: in a map inside a map
     * each element of the outer one has its own, and they do not collide. */
    uint32_t map_edge, gather; /* edges */
    uint32_t join;             /* node */
    uint32_t level; /* maps around it: `as` is name MORTISE_IN_ITEM + level */
    const char *as;
    uint32_t max_parallel;
    struct mortise_tmpl *parallel; /* what gives that instead; NULL: nothing */
    struct mortise_expr over;      /* in the scope of the source's conditions */
};

enum mortise_join_kind {
    MORTISE_JOIN_ALL = 1, /* every edge decided, at least one taken */
    MORTISE_JOIN_ANY,     /* the first that is taken */
    MORTISE_JOIN_QUORUM,  /* the quorum-th that is taken */
    MORTISE_JOIN_SETTLED  /* every edge decided, and a branch to it ran */
};

enum mortise_branch_error {
    MORTISE_BRANCH_FAIL = 1,
    MORTISE_BRANCH_COLLECT,
    MORTISE_BRANCH_DROP /* join: best_effort is ALL with this */
};

struct mortise_join {
    enum mortise_join_kind kind;
    uint32_t quorum; /* QUORUM: 1..n_in, or any where a map ends */
    bool finish;     /* losers: finish; else they are cancelled */
    enum mortise_branch_error on_branch_error;
};

enum mortise_backoff {
    MORTISE_BACKOFF_FIXED = 1,
    MORTISE_BACKOFF_LINEAR,
    MORTISE_BACKOFF_EXPONENTIAL
};

/* Of a node whose `llm.provider_id` is a template: the aliases that it may give. */
struct mortise_choice_of_model {
    struct mortise_span at;
    const char *const *aliases;
    size_t n;
};

struct mortise_retry {
    uint32_t max_attempts; /* >= 1, the first try included */
    enum mortise_backoff backoff;
    uint64_t delay_ms, max_delay_ms;
    double jitter;               /* 0..1 */
    const char *const *retry_on; /* codes or classes */
    size_t n_retry_on;
    struct mortise_expr when; /* of the error, besides; cel NULL: always */
};

enum mortise_in_doubt {                        /* on_in_doubt */
                        MORTISE_DOUBT_DEFAULT, /* reconcile where offered, else
                                                  ask */
                        MORTISE_DOUBT_RECONCILE,
                        MORTISE_DOUBT_RETRY,
                        MORTISE_DOUBT_ASK,
                        MORTISE_DOUBT_FAIL
};

/* An error of the graph author's: of a fail node, and of on_error: {fail}. */
struct mortise_failing {
    const char *code;
    struct mortise_tmpl *message;
};

struct mortise_output {       /* one line of `outputs`, of a mapping */
    struct mortise_path path; /* under scratch or artifacts, or in the child's
                                 input; root included */
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
    MORTISE_REDUCE_LONGEST,
    MORTISE_REDUCE_AVG,
    MORTISE_REDUCE_EXPR
};

struct mortise_reducer {
    struct mortise_path path; /* root included */
    enum mortise_reduce reduce;
    struct mortise_expr expr; /* EXPR: over old and new */
    uint64_t max_items;       /* CONCAT; 0: no bound */
    bool drop_oldest;         /* what is beyond it; else an error */
    struct mortise_span span;
};

/* Of a text that is told as it comes so much is looked at, in bytes. */
enum { MORTISE_HOLD_BACK_MAX = 256 << 10 };

/* What guardrails look at, and when. */
enum mortise_guard_stage {
    MORTISE_GUARD_TARGET,   /* a guardrail node's target */
    MORTISE_GUARD_INPUT,    /* the arguments, before they are approved */
    MORTISE_GUARD_OUTPUT,   /* the output, once its schemas hold */
    MORTISE_GUARD_DECISION, /* a human node's acceptance, with its prompt */
    MORTISE_GUARD_EDGE,     /* the output, on an edge that is about to be taken:
                               a node's list is that of all its edges out */
    /* Of a node whose model calls tools; part of each tool's own lists, as whose
     * INPUT and OUTPUT they are asked: no execution is ever at these. */
    MORTISE_GUARD_TOOLS,
    MORTISE_GUARD_TOOL_RESULTS,
    MORTISE_GUARD_RECALLED,   /* traces, before the node knows of them */
    MORTISE_GUARD_REMEMBERED, /* an output, before it becomes a trace */
    MORTISE_GUARD_STAGES
};

/* An operation that only reads, and is asked beside what the node is about: what makes
 * its output short (load/compaction.c), what decides in a person's place. */
struct mortise_aside {
    const char *plugin, *operation;
    const struct mortise_operation *op; /* NULL: it is not there */
    bool is_said;                       /* by the node: also of what is short */
    const char *llm; /* what it is told of the model, JSON; NULL: nothing */
};

struct mortise_node {
    const char *id;
    uint32_t index; /* declared position */
    enum mortise_node_type type;
    struct mortise_span span; /* of its key */
    uint32_t *in, *out;       /* edge indexes, in declared order */
    uint32_t n_in, n_out;     /* `in` without back edges, */
    uint32_t n_back_in;       /* and how many back edges stand behind those */
    uint32_t region, slot;    /* the innermost; position among its nodes */
    struct mortise_postdom postdom; /* as an item of it */
    struct mortise_join join;
    /* There is a join that its failure may come to, or that of a loop or map
     * around it, and that collects or drops. */
    bool recoverable;
    uint32_t max_visits; /* of the limits, where the node says nothing */

    /* What its operation may have run for it; NULL: nothing.  Each node of
     * `tools` is one, and none of them starts by itself (tools.c). */
    struct mortise_graph *tools;
    /* Where the state has what models and others said in its conversation, a
     * list: conversations.NAME; NULL: it has none. */
    const struct mortise_path *conversation;
    /* What it may be told while it runs (`mortise tell`, a parent's message); NULL:
     * any text. */
    struct mortise_schema *message_schema;

    /* Whose outputs it is told (`depends_on` of a leaf, or a team), and what makes
     * that of its own output which others are told; NULL: nobody is told of it. */
    const uint32_t *hears;
    uint32_t n_hears;
    bool is_told; /* it is called with those: a leaf */
    struct mortise_aside *compaction;
    struct mortise_aside *judge;  /* of a human node; NULL: nobody but people */
    const char *role, *role_name; /* that it plays, for people; NULL: none */

    double complexity; /* of what it asks a model, 0 to 1; NAN: not said */
    const char *model_reason; /* why that model; NULL: not said */
    bool asks_models;         /* its type does, with what it says of them */
    bool open_ended;          /* it asks models, and says no max_tokens */
    bool unpriced;            /* ... one of which nobody says what it costs */

    /* tool, extension */
    const char *plugin, *operation;
    const struct mortise_operation *op; /* borrowed from the catalogue */
    struct mortise_tmpl *args;          /* NULL: {} */
    /* `tool` as a template, and this node as it is with each operation of its
     * tool_allowlist; of itself it has the strictest of them.  NULL, 0: it is
     * written. */
    struct mortise_tmpl *tool;
    struct mortise_node *choices;
    size_t n_choices;
    const struct mortise_choice_of_model *models; /* NULL: it is written */

    /* all that do something */
    enum mortise_effect effect; /* effective; READ for guardrail, PURE for
                                   router and human */
    enum mortise_in_doubt on_in_doubt;
    uint64_t timeout_ms;          /* of one attempt; 0: none */
    struct mortise_tmpl *timeout; /* what gives it instead; NULL: nothing */
    const char *timeout_of; /* whose word that is: "its operation's"; NULL: its
                               own */
    struct mortise_retry retry;
    struct mortise_schema *input_schema, *output_schema; /* of the node */
    struct mortise_output *outputs;
    size_t n_outputs;
    const char *output_as; /* artifact key; NULL: none */
    bool on_error_value;   /* on_error: {value}; {goto} is an EDGE_ERROR */
    struct mortise_expr error_value;
    struct mortise_failing *failing; /* fail, and on_error: {fail}; else NULL */
    bool interrupt_before, interrupt_after;
    bool approve_whole; /* that it runs is approved, whatever hitl_mode says */
    bool approve;       /* a call of it is approved, whatever hitl_mode says; */
    bool of_type;       /* ... none is for that: its type has that operation */
    bool cache;         /* `pure`: what it gave before need not be called for */
    uint32_t resource;  /* number of the name, of all graphs in this; 0: none */
    bool checkpoint_before, checkpoint_after; /* what its `checkpoint` says, */
    bool checkpoint_said;                     /* if it says any */
    const char *capability; /* NULL: no discovery edge finds it */
    const double *traits;   /* of its persona_policy; NULL: the graph's */
    const struct mortise_memory_policy *memory;       /* NULL: none */
    const struct mortise_discovery_policy *discovers; /* NULL: it does not */

    /* What nobody but its kind knows of it; in the graph's arena. */
    void *own;

    /* guardrail, and guardrail_policy of tool, extension and subgraph */
    struct mortise_guard_list guards[MORTISE_GUARD_STAGES];
    enum mortise_on_violation on_violation;
    uint64_t hold_back; /* bytes at the end of a text that is told as it comes,
                           which its guardrails have to see with what follows */

    /* guardrail */
    bool has_target;
    struct mortise_expr target;
    bool target_is_path; /* of scratch or artifacts: sanitised in place */
    struct mortise_path target_path;

    /* router by condition */
    bool by_condition;
    struct mortise_expr condition; /* gives the id of a TARGET edge's node */

    /* subgraph */
    struct mortise_graph *sub; /* dies with the graph it is in; its refs do
                                  not count */
    struct mortise_output *input_mapping;
    size_t n_input_mapping;
    struct mortise_tmpl
        *input_goal;    /* a team's: the input is {goal}; else NULL */
    const char *yields; /* the artifact of the inner graph that is the output;
                           NULL: all of them */
    struct mortise_output *output_mapping; /* paths of the parent, expressions
                                              over the child's end state */
    size_t n_output_mapping;
};

#define MORTISE_GUARD_PREFIX "guardrail:"

struct mortise_limits {
    uint64_t steps;      /* executions of a run, nested graphs' included */
    uint32_t visits;     /* of a node in one graph, map elements aside */
    uint64_t state;      /* bytes */
    uint64_t timeout_ms; /* active time of the run; 0: none */
    /* What people may raise them to: the deployment's word; 0: anything. */
    uint64_t most_steps, most_visits;
    struct mortise_spawn_caps spawn;
};

/* Its JSON is not in the graph's arena, and is given up when that dies. */
struct mortise_kept_schema {
    struct mortise_kept_schema *next;
    struct mortise_schema *schema;
};

/* How a node of a graph of tools is offered, and called by. */
struct mortise_offer {
    const char *name; /* as models know it: [A-Za-z0-9_-], no two alike */
    const char *tool; /* PLUGIN/OPERATION, or graph/NAME */
    const char *description; /* "": there is none */
    const char *parameters;  /* JSON: a schema of an object */
    uint64_t max_output;     /* bytes of JSON that are told of what it gives */
};

/* Whom a node may hand over to, by a tool of that name. */
struct mortise_handover {
    const char *name, *node; /* an id, among the node's targets */
    const char *description;
};

struct mortise_graph {
    struct mortise_arena arena;
    uint32_t refs;                   /* [loop] */
    const char *name, *version;      /* "" when not given */
    const char *path;                /* as loaded, for messages */
    uint8_t content[MORTISE_DIGEST]; /* of the canonical form */
    /* ... and of what its patterns of tools stand for here: what runs pin. */
    uint8_t digest[MORTISE_DIGEST];
    const struct mortise_yaml *tree; /* source, spans */
    /* What a run pins: the file, and those of graphs inside it. */
    const struct mortise_source *sources;
    size_t n_sources;
    /* What a run of it went by before somebody steered it there, a reference
     * (lang/graph/former.c); NULL: a run begins with it. */
    struct mortise_graph *former;

    struct mortise_node *nodes;
    uint32_t n_nodes;
    struct mortise_edge *edges;
    uint32_t n_edges;
    uint32_t *start; /* edge indexes out of START */
    uint32_t n_start;
    struct mortise_region *regions; /* [0] is the graph */
    uint32_t n_regions;

    bool approve_tools; /* hitl_mode, or that of a graph around this one: */
    bool approve_nodes; /* each call, each node that calls or has a graph, */
    bool approve_plan;  /* or the graph as a whole */
    bool fail_fast;     /* failure */
    bool coarse;        /* checkpoint_policy, of nodes that say nothing */
    bool settles;       /* a node of it has join: settled */
    bool end_first;     /* end */
    bool snapshots;     /* the outermost's: a node reads memory as of a start */
    enum mortise_consistency consistency; /* of nodes that say none */
    struct mortise_limits limits;         /* the outermost graph's */
    struct mortise_budget budget;         /* this one's own */
    uint32_t unbounded[MORTISE_USED_N];   /* a node that may use any amount of
                                           it; MORTISE_NOWHERE: none */
    uint32_t concurrency;
    uint64_t expr_cost;
    struct mortise_schema *input, *scratch, *artifacts; /* NULL: anything */
    struct mortise_reducer *reducers;
    size_t n_reducers;
    const char **plugins; /* names used, sorted, each once; guardrail ids too,
                             behind MORTISE_GUARD_PREFIX, and tools of a lock
                             (PLUGIN/OPERATION), behind MORTISE_TOOL_PIN_PREFIX */
    size_t n_plugins;
    const char **models; /* aliases of models that are named, likewise */
    size_t n_models;
    uint32_t n_resources; /* names of `resource`, here and in graphs inside */

    /* Of a graph of tools; else NULL.  `offers` by node, `offered` as JSON:
     * [{name, description?, parameters} ...], those that hand over last.  Behind
     * the first n_offered nodes stands the node's planner, if it has one, which
     * models are not offered. */
    struct mortise_offer *offers;
    uint32_t n_offered;
    const struct mortise_handover *handovers;
    size_t n_handovers;
    const char *offered;

    struct mortise_kept_schema *schemas; /* all that were compiled for it */
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
/* The same of a tree, whose parts may stand in several files: it has to last as
 * long as the graph, whose sources are those of its root's file. */
int mortise_graph_load_tree(struct mortise_graph **out,
                            const struct mortise_mem *mem,
                            const struct mortise_yaml *tree,
                            const struct mortise_catalog *catalog,
                            struct mortise_diags *diags,
                            struct mortise_err *err);
struct mortise_graph *mortise_graph_ref(struct mortise_graph *g);
void mortise_graph_unref(struct mortise_graph *g); /* NULL is fine */

/* Do arguments of a node that has an operation refer to those secrets alone
 * that the graph itself refers to there?  MORTISE_EINVAL if not. */
int mortise_node_given_secrets(const struct mortise_node *n, const json_t *args,
                               const struct mortise_mem *mem,
                               struct mortise_err *err);

/* The node that a graph of tools offers under this name (or as PLUGIN/OPERATION,
 * graph/NAME), or NULL; its planner, or NULL; whom it hands over to by a name, or
 * NULL. */
const struct mortise_node *mortise_graph_tool(const struct mortise_graph *tools,
                                              const char *name);
const struct mortise_node *
mortise_graph_planner(const struct mortise_graph *tools);
const struct mortise_handover *
mortise_graph_handover(const struct mortise_graph *tools, const char *name);
/* What a node may use, for whoever discovers (mortise/discovery.h), by the kind
 * that is looked for: `tool` or `any` mean all that is offered, `extension` the
 * operations of plugins among that, and others nothing.  A list of {id, kind,
 * name, description?, input_schema}, a new reference; is the i-th in it? */
json_t *mortise_graph_candidates(const struct mortise_graph *tools,
                                 const char *kind);
bool mortise_graph_is_candidate(const struct mortise_graph *tools, uint32_t i,
                                const char *kind);
/* The node of that id, or NULL. */
const struct mortise_node *mortise_graph_node(const struct mortise_graph *g,
                                              const char *id);
/* The reducer that governs a path (exact match), NULL if none. */
const struct mortise_reducer *
mortise_graph_reducer(const struct mortise_graph *g,
                      const struct mortise_path *path);
/* The kind of a path's reducer; DEFAULT: none is declared for it. */
enum mortise_reduce mortise_graph_reduce(const struct mortise_graph *g,
                                         const struct mortise_path *path);
/* Does what it gives pass guardrails that may keep it back?  Then nothing of it
 * stands anywhere before they have seen it. */
static inline bool mortise_node_is_held_back(const struct mortise_node *n)
{
    return n->guards[MORTISE_GUARD_OUTPUT].n > 0 &&
           n->on_violation != MORTISE_VIOLATION_WARN;
}

/* Does the join start before all its edges are decided? */
static inline bool mortise_join_is_race(const struct mortise_join *join)
{
    return join->kind == MORTISE_JOIN_ANY || join->kind == MORTISE_JOIN_QUORUM;
}
/* The innermost map that the node is in the body of, as a region; 0: none. */
uint32_t mortise_graph_map_of(const struct mortise_graph *g, uint32_t node);
/* Is the path, written in a map's body, of the element alone?  An artifact is
 * that no reducer is declared for, nor for what it is part of, nor for a part of
 * it. */
bool mortise_graph_is_own(const struct mortise_graph *g,
                          const struct mortise_path *path);
/* Does it lead into the body of a map? */
static inline bool mortise_edge_is_map(const struct mortise_edge *e)
{
    return e->map != 0 && e->kind != MORTISE_EDGE_GATHER;
}
/* Does it lead to a visit that is still to come?  An edge back does, and so do
 * those that end the elements of a map whose join is the entry of a loop. */
bool mortise_graph_returns(const struct mortise_graph *g,
                           const struct mortise_edge *e);
/* Of two items of one region: does every way from the one, to where the region
 * or a branch ends, come by the other?  (From itself: yes.) */
bool mortise_postdom_leads(struct mortise_postdom from,
                           struct mortise_postdom to);
const char *mortise_node_type_name(enum mortise_node_type type);
/* "the attempt took longer than 30000 ms, its operation's timeout". */
enum { MORTISE_TIMEOUT_WORDS = 128 };
const char *mortise_node_timed_out(const struct mortise_node *node,
                                   char out[MORTISE_TIMEOUT_WORDS]);
enum mortise_node_gives mortise_node_gives(const struct mortise_node *node);
/* Does it change the world, or ask people, by itself, by its tools, or in the
 * graph in it? */
bool mortise_node_acts(const struct mortise_node *node);
const char *mortise_effect_name(enum mortise_effect effect);
const char *mortise_trait_name(enum mortise_trait trait);
const char *mortise_guard_stage_name(enum mortise_guard_stage stage);
const char *mortise_consistency_name(enum mortise_consistency consistency);
const char *mortise_memory_scope_name(enum mortise_memory_scope scope);
/* The id of a guardrail, of a name among a graph's `plugins`; NULL: that is the
 * name of a plugin. */
const char *mortise_guard_of_plugin(const char *name);
/* Does anybody look at what passes along the edge? */
bool mortise_edge_is_guarded(const struct mortise_edge *edge);
/* Does the node ask this guardrail, at any stage? */
bool mortise_node_is_guarded(const struct mortise_node *node, const char *id);

/* What stands in a graph file. */
extern const struct mortise_place mortise_graph_place;

#endif
