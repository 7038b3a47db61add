/* graph.h -- a graph file, checked and compiled.
 *
 * A graph is immutable once loaded, so any thread may read it.  Everything in
 * it lives in one arena and is freed at once.  The API's handle and each run of
 * the graph hold a reference.
 *
 * A graph is divided into regions (regions.c): the graph itself, each loop, and
 * the body of each map.  Regions nest.  The items of a region are its own nodes
 * and its child regions, and between items a region is acyclic.  The home of an
 * edge is the region in which both its ends are items; the edge is decided
 * there.  A child region is entered only through its entry.  The edges from its
 * inside to its outside are its exits. */
#ifndef MORTISE_MODEL_GRAPH_H
#define MORTISE_MODEL_GRAPH_H

#include "core/base/source.h"
#include "core/model/spend.h"
#include "core/model/catalog.h"
#include "core/model/expr.h"
#include "core/json/path.h"
#include "core/spawn/spawn.h"

struct mortise_diags; /* lang/yaml/diag.h */

enum {
    MORTISE_MAX_MAPS = 8,          /* nesting depth */
    MORTISE_MAX_PARALLEL = 100000, /* limit of max_parallel */
    MORTISE_MAX_REGIONS = 64       /* nesting depth, in one graph */
};

/* Names in scope of a graph's expressions, in this order. */
enum mortise_scope_name {
    MORTISE_IN_INPUT,
    MORTISE_IN_SCRATCH,
    MORTISE_IN_ARTIFACTS,
    MORTISE_IN_STATE,       /* {input, scratch, artifacts}: state.X is X */
    MORTISE_IN_RUN,         /* {id, tenant, graph, version} */
    MORTISE_IN_NODE,        /* {id, type, visit, attempt, failed} */
    MORTISE_IN_DIAGNOSTICS, /* {NODE: {runs, attempts, usage}}, so far */
    /* `error`, in nodes that on_error.goto leads to: {node, code, class,
     * message}, or null. */
    MORTISE_IN_HANDLED,
    MORTISE_IN_MEMORY,    /* in nodes that read memory: the list of traces */
    MORTISE_IN_DISCOVERY, /* in nodes with discovery: {results, skills} */
    MORTISE_IN_INDEX,     /* in a map's body: the innermost index */
    MORTISE_IN_ITEM,      /* the outermost map's `as`; inner ones follow */
    MORTISE_IN_ITEM_END = MORTISE_IN_ITEM + MORTISE_MAX_MAPS,
    /* In outputs, conditions and on_error.value. */
    MORTISE_IN_OUTPUT = MORTISE_IN_ITEM_END,
    /* {node, code, class, message, exit_code?, status?}, in on_error.value and
     * retry_policy.when. */
    MORTISE_IN_ERROR,
    MORTISE_IN_N
};

/* Names in scope of a reducer's expression. */
enum { MORTISE_REDUCE_OLD, MORTISE_REDUCE_NEW, MORTISE_REDUCE_NAMES };

enum mortise_node_type {
    MORTISE_NODE_UNKNOWN, /* unknown to this build */
#define NODE_KIND(KIND, word, gives) MORTISE_NODE_##KIND,
#include "core/model/node_kinds.def"
    MORTISE_NODE_TYPES
};

/* The kind of result that nodes of a type give. */
enum mortise_node_gives {
    MORTISE_GIVES_OUTPUT = 1, /* a value */
    MORTISE_GIVES_RESULT,   /* the value of an operation: the node is a call */
    MORTISE_GIVES_DECISION, /* a value from people: the node asks them */
    MORTISE_GIVES_ROUTE /* a choice among its own routes, and nothing else */
};

/* No node; while a graph is loaded: a target that was already reported. */
#define MORTISE_NOWHERE 0xFFFFFFFDu
#define MORTISE_START   0xFFFFFFFEu
#define MORTISE_END     0xFFFFFFFFu

enum mortise_edge_kind {
    MORTISE_EDGE_STATIC = 1, /* taken on success */
    MORTISE_EDGE_WHEN,       /* taken on success if the condition is true */
    MORTISE_EDGE_ROUTE,      /* the first ROUTE of its node that is true */
    MORTISE_EDGE_DEFAULT,    /* taken if no ROUTE or ROUTE_ALL is true */
    MORTISE_EDGE_ROUTE_ALL,  /* routes: {all: [..]}: each one that is true */
    MORTISE_EDGE_TARGET,     /* chosen by a router or an executor's `goto` */
    MORTISE_EDGE_ERROR,      /* on_error: {goto} */
    MORTISE_EDGE_TIMEOUT,    /* a human's on_timeout: {goto} */
    MORTISE_EDGE_REROUTE,    /* a guardrail's reroute_target */
    MORTISE_EDGE_BUDGET,     /* on_exceeded: {goto}, from START */
    MORTISE_EDGE_ABOVE,      /* on success, if the trait is >= threshold */
    MORTISE_EDGE_BELOW,      /* on success, if the trait is < threshold */
    MORTISE_EDGE_FOUND,      /* discovery: to the node that was found */
    MORTISE_EDGE_FALLBACK,   /* discovery: no node was found */
    MORTISE_EDGE_GATHER,     /* from a finished map to its join */
    MORTISE_EDGE_DETOUR      /* replaces a guarded edge that is not taken */
};
/* TARGET, ERROR, TIMEOUT, REROUTE and BUDGET replace all others; a DETOUR
 * replaces its own guarded edge; see graph.md 6. */

/* HEXACO personality traits (persona.c). */
enum mortise_trait {
    MORTISE_TRAIT_HONESTY_HUMILITY,
    MORTISE_TRAIT_EMOTIONALITY,
    MORTISE_TRAIT_EXTRAVERSION,
    MORTISE_TRAIT_AGREEABLENESS,
    MORTISE_TRAIT_CONSCIENTIOUSNESS,
    MORTISE_TRAIT_OPENNESS,
    MORTISE_TRAITS
};

/* The names of the traits: WORD(enum mortise_trait, text) for each. */
#define MORTISE_TRAIT_NAMES(WORD)                                              \
    WORD(MORTISE_TRAIT_HONESTY_HUMILITY, "honesty_humility")                   \
    WORD(MORTISE_TRAIT_EMOTIONALITY, "emotionality")                           \
    WORD(MORTISE_TRAIT_EXTRAVERSION, "extraversion")                           \
    WORD(MORTISE_TRAIT_AGREEABLENESS, "agreeableness")                         \
    WORD(MORTISE_TRAIT_CONSCIENTIOUSNESS, "conscientiousness")                 \
    WORD(MORTISE_TRAIT_OPENNESS, "openness")

/* The point in time of a node's memory reads and writes (memory.c). */
enum mortise_consistency {
    /* Reads as of the run's start; writes at its end. */
    MORTISE_MEMORY_SNAPSHOT,
    MORTISE_MEMORY_LIVE, /* reads the newest; writes before the node is done */
    /* Reads the newest and the run's own; delivers writes after the node's
     * commit. */
    MORTISE_MEMORY_JOURNALED
};

/* The owner of a trace. */
enum mortise_memory_scope {
    MORTISE_SCOPE_ALL, /* reads only: every scope that applies */
    MORTISE_SCOPE_GLOBAL,
    MORTISE_SCOPE_PERSONA,
    MORTISE_SCOPE_SESSION,
    MORTISE_SCOPE_CONVERSATION
};

/* memory_policy of a node. */
struct mortise_memory_policy {
    enum mortise_consistency consistency;
    struct mortise_tmpl *session; /* the session; NULL: the run's */
    bool reads;                   /* read before the node runs, with: */
    const char *const *types;     /* types of traces; n 0: all */
    size_t n_types;
    enum mortise_memory_scope scope;
    uint32_t max_traces;
    double min_strength;
    struct mortise_tmpl *query; /* NULL: the strongest traces */
    bool encodes;               /* store its output as a trace, with: */
    const char *type;
    enum mortise_memory_scope write_scope; /* not ALL */
};

/* discovery_policy of a node. */
struct mortise_discovery_policy {
    const char *kind;           /* tool, skill, extension, any */
    struct mortise_tmpl *query; /* never NULL in a loaded graph */
    uint32_t max_results;
    bool fails; /* fallback: error */
};

/* The search of a discovery edge, shared by its FOUND edges and its
 * FALLBACK. */
struct mortise_edge_discovery {
    const char *kind;   /* tool, extension, any */
    /* Why no plugin is asked; NULL: the deployment has one. */
    const char *nobody;
    struct mortise_tmpl *query;
};

enum mortise_on_violation {
    MORTISE_VIOLATION_BLOCK = 1,
    MORTISE_VIOLATION_REROUTE,
    MORTISE_VIOLATION_WARN,
    MORTISE_VIOLATION_SANITIZE
};

struct mortise_guard_list { /* ids, in the order of the checks */
    const char *const *ids;
    size_t n;
};

/* guardrail_policy of an edge entry, shared by all edges of that entry: [first,
 * end).  At most one of them is taken at a time. */
struct mortise_edge_policy {
    struct mortise_guard_list guards; /* never empty */
    enum mortise_on_violation on_violation;
    /* REROUTE: `end` is the DETOUR, which follows them in the node's `out`. */
    uint32_t first, end;
};

/* Inside a map's body an edge to the map's join `yields`: it is decided there
 * and gives the element's result, like an edge to END.  The join counts only
 * the map's GATHER edge.  The loader makes this edge: it is in no node's `out`,
 * and its `from` is the map's `to`. */
struct mortise_edge {
    uint32_t from, to; /* node index, MORTISE_START or MORTISE_END */
    enum mortise_edge_kind kind;
    struct mortise_expr when; /* WHEN, ROUTE, ROUTE_ALL */
    struct mortise_span span;

    /* Region: the smallest with both ends; for an edge to END its source's
     * region, for one that yields its map. */
    uint32_t home;
    uint32_t slot; /* position in the home's `edges` */
    /* The region of the map's body, for GATHER and for a map edge, which leads
     * into the body; else 0. */
    uint32_t map;
    bool back; /* back edge of a loop: from inside to its home's entry */
    bool yields;

    enum mortise_trait trait; /* ABOVE, BELOW */
    double threshold;
    bool holds;
    const struct mortise_edge_discovery *discovery; /* FOUND, FALLBACK */

    /* NULL: no guardrails; of a DETOUR: that of the edges that it replaces. */
    const struct mortise_edge_policy *policy;
};

enum mortise_region_kind {
    MORTISE_REGION_GRAPH = 1, /* region 0 */
    /* A strongly connected component, without the back edges of outer loops. */
    MORTISE_REGION_LOOP,
    MORTISE_REGION_MAP /* the nodes from a map edge up to its join */
};

/* The position of an item in the postdominator tree of its region: its own
 * number, and that of its last descendant.  Set only in regions with a join of
 * kind ANY or QUORUM, at a node or at the entry of a child loop. */
struct mortise_postdom {
    uint32_t first, last;
};

/* For two items of one region: does every path from `from` to the end of the
 * region or of a branch go through `to`?  True if they are equal. */
static inline bool mortise_postdom_must_pass(struct mortise_postdom from,
                                             struct mortise_postdom to)
{
    return to.first <= from.first && from.last <= to.last;
}

struct mortise_region {
    enum mortise_region_kind kind;
    uint32_t index, parent; /* a parent precedes its children; 0's is 0 */
    uint32_t depth;         /* number of regions around it */
    /* LOOP: its entry node; MAP: `to`, which may be the entry of a loop in the
     * body; GRAPH: MORTISE_START. */
    uint32_t entry;
    uint32_t *nodes, n_nodes;     /* directly in it, in declared order */
    uint32_t *regions, n_regions; /* directly in it, by index */
    uint32_t *edges, n_edges;     /* with this home, back edges included */
    uint32_t *back, n_back;       /* LOOP: edges from inside to the entry */
    /* Edges from inside, at any depth, to a node outside; of a MAP, its GATHER
     * edge. */
    uint32_t *exits, n_exits;
    struct mortise_postdom postdom; /* as an item of its parent */

    /* MAP: its results are written to the artifact with the name of its `to`,
     * with the reducer `last` by default.  In a nested map each element of the
     * outer map has its own artifact, so results do not collide. */
    uint32_t map_edge, gather; /* edges */
    uint32_t join;             /* node */
    /* Number of maps around it: `as` is name MORTISE_IN_ITEM + level. */
    uint32_t level;
    const char *as;
    uint32_t max_parallel;
    struct mortise_tmpl *parallel; /* gives max_parallel instead; NULL: none */
    struct mortise_expr over;      /* in the scope of the source's conditions */
};

enum mortise_join_kind {
    MORTISE_JOIN_ALL = 1, /* every edge decided, at least one taken */
    MORTISE_JOIN_ANY,     /* the first edge that is taken */
    MORTISE_JOIN_QUORUM,  /* the quorum-th edge that is taken */
    MORTISE_JOIN_SETTLED  /* every edge decided, and a branch to it ran */
};

enum mortise_branch_error {
    MORTISE_BRANCH_FAIL = 1,
    MORTISE_BRANCH_COLLECT,
    MORTISE_BRANCH_DROP /* join: best_effort is ALL with this */
};

struct mortise_join {
    enum mortise_join_kind kind;
    uint32_t quorum; /* QUORUM: 1..n_in; any number at the end of a map */
    bool finish;     /* losers: finish; else they are cancelled */
    enum mortise_branch_error on_branch_error;
};

enum mortise_backoff {
    MORTISE_BACKOFF_FIXED = 1,
    MORTISE_BACKOFF_LINEAR,
    MORTISE_BACKOFF_EXPONENTIAL
};

/* A node with a template in `llm.provider_id`: the aliases that it may give. */
struct mortise_model_choice {
    struct mortise_span at;
    const char *const *aliases;
    size_t n;
};

struct mortise_retry {
    uint32_t max_attempts; /* >= 1, the first attempt included */
    enum mortise_backoff backoff;
    uint64_t delay_ms, max_delay_ms;
    double jitter;               /* 0..1 */
    const char *const *retry_on; /* codes or classes */
    size_t n_retry_on;
    /* Further condition on the error; cel NULL: none. */
    struct mortise_expr when;
};

enum mortise_in_doubt {                        /* on_in_doubt */
                        MORTISE_DOUBT_DEFAULT, /* reconcile, else ask */
                        MORTISE_DOUBT_RECONCILE,
                        MORTISE_DOUBT_RETRY,
                        MORTISE_DOUBT_ASK,
                        MORTISE_DOUBT_FAIL
};

/* An error that the graph's author defined: of a fail node, or of on_error:
 * {fail}. */
struct mortise_author_error {
    const char *code;
    struct mortise_tmpl *message;
};

struct mortise_output { /* one entry of `outputs` or of a mapping */
    /* In scratch, artifacts or the child's input; root included. */
    struct mortise_path path;
    struct mortise_expr expr;
};

enum mortise_reduce {
    MORTISE_REDUCE_DEFAULT, /* last; concurrent writes conflict */
    MORTISE_REDUCE_LAST,    /* `last`, declared explicitly */
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
    uint64_t max_items;       /* CONCAT; 0: no limit */
    bool drop_oldest;         /* on overflow drop the oldest; else fail */
    struct mortise_span span;
};

/* The limit of `hold_back`, in bytes. */
enum { MORTISE_HOLD_BACK_MAX = 256 << 10 };

/* The value that guardrails check, and the time of the check. */
enum mortise_guard_stage {
    MORTISE_GUARD_TARGET,   /* a guardrail node's target */
    MORTISE_GUARD_INPUT,    /* the arguments, before approval */
    MORTISE_GUARD_OUTPUT,   /* the output, after its schemas */
    MORTISE_GUARD_DECISION, /* a human node's acceptance, with its prompt */
    /* The output, before a guarded edge is taken; a node's list has those of
     * all its outgoing edges. */
    MORTISE_GUARD_EDGE,
    /* For a node with tools of a model.  These become part of each tool's INPUT
     * and OUTPUT lists; no execution is checked at these stages. */
    MORTISE_GUARD_TOOLS,
    MORTISE_GUARD_TOOL_RESULTS,
    MORTISE_GUARD_RECALLED,   /* traces, before the node receives them */
    MORTISE_GUARD_REMEMBERED, /* an output, before it becomes a trace */
    MORTISE_GUARD_STAGES
};

/* A read-only operation that supports a node: it compacts the node's output
 * (load/compaction.c), or decides in a person's place. */
struct mortise_side_operation {
    const char *plugin, *operation;
    const struct mortise_operation *op; /* NULL: not available */
    bool declared_by_node; /* declared by the node: also for short outputs */
    const char *llm; /* its model settings, as JSON; NULL: none */
};

struct mortise_node {
    const char *id;
    uint32_t index; /* declared position */
    enum mortise_node_type type;
    struct mortise_span span; /* its key's place */
    uint32_t *in, *out;       /* edge indexes, in declared order */
    uint32_t n_in, n_out;     /* `in` without back edges, */
    uint32_t n_back_in;       /* and the number of back edges after those */
    uint32_t region, slot; /* the innermost region; position among its nodes */
    struct mortise_postdom postdom; /* as an item of the region */
    struct mortise_join join;
    /* A join that collects or drops can receive the failure of this node, or of
     * a loop or map around it. */
    bool recoverable;
    uint32_t max_visits; /* default: that of the limits */

    /* The tools that its operation may call; NULL: none.  Each node of this
     * graph is a tool, and none starts by itself (tools.c). */
    struct mortise_graph *tools;
    /* The place of its conversation in the state, a list of messages:
     * conversations.NAME; NULL: none. */
    const struct mortise_path *conversation;
    /* The schema of messages to the running node (`mortise tell`, or from a
     * parent); NULL: any text. */
    struct mortise_schema *message_schema;

    /* The nodes that this one receives outputs from (`depends_on` of a leaf, or
     * a team).  `compaction` shortens the node's own output for its receivers;
     * NULL: it has none. */
    const uint32_t *hears;
    uint32_t n_hears;
    bool is_told; /* its call contains those outputs: a leaf */
    struct mortise_side_operation *compaction;
    struct mortise_side_operation *judge; /* human nodes; NULL: people only */
    const char *role, *role_name; /* its role, for people; NULL: none */

    /* The difficulty of its request, 0 to 1; NAN: not given. */
    double complexity;
    const char *model_reason; /* why this model; NULL: not given */
    bool asks_models;         /* its type asks models with these settings */
    bool has_no_token_limit;  /* it asks models, without max_tokens */
    bool unpriced;            /* ... and the price of one is unknown */

    /* tool, extension */
    const char *plugin, *operation;
    const struct mortise_operation *op; /* borrowed from the catalogue */
    struct mortise_tmpl *args;          /* NULL: {} */
    /* If `tool` is a template: the template, and a copy of this node for each
     * operation of its tool_allowlist.  The node itself then has the strictest
     * operation.  NULL, 0: `tool` is fixed. */
    struct mortise_tmpl *tool;
    struct mortise_node *choices;
    size_t n_choices;
    /* NULL: the model is fixed. */
    const struct mortise_model_choice *models;

    /* nodes that do something */
    /* The effect that applies to the node; READ for a guardrail, PURE for a
     * router and a human. */
    enum mortise_effect effect;
    enum mortise_in_doubt on_in_doubt;
    uint64_t timeout_ms;          /* for one attempt; 0: none */
    struct mortise_tmpl *timeout; /* gives timeout_ms instead; NULL: none */
    /* Its origin, for messages: "its operation's timeout"; NULL: the node's
     * `timeout`. */
    const char *timeout_of;
    struct mortise_retry retry;
    struct mortise_schema *input_schema, *output_schema; /* the node's own */
    struct mortise_output *outputs;
    size_t n_outputs;
    const char *output_as; /* artifact key; NULL: none */
    bool on_error_value;   /* on_error: {value}; {goto} is an EDGE_ERROR */
    struct mortise_expr error_value;
    /* Fail, and on_error: {fail}; else NULL. */
    struct mortise_author_error *failing;
    bool interrupt_before, interrupt_after;
    bool approve_whole; /* approve the node as a whole in every hitl_mode */
    bool approve;       /* approve its calls in every hitl_mode */
    /* Hitl_mode does not approve its calls: the operation is that of its node
     * type. */
    bool of_type;
    bool cache; /* `pure`: an earlier output can replace the call */
    /* Number of the name, shared by nested graphs; 0: none. */
    uint32_t resource;
    bool checkpoint_before, checkpoint_after; /* `checkpoint` of the node, */
    bool checkpoint_said;                     /* if it is declared */
    const char *capability; /* NULL: discovery edges do not find it */
    const double *traits;   /* from its persona_policy; NULL: the graph's */
    const struct mortise_memory_policy *memory;       /* NULL: none */
    const struct mortise_discovery_policy *discovers; /* NULL: none */

    /* Data of the node's kind; in the graph's arena. */
    void *own;

    /* guardrail, and guardrail_policy of tool, extension and subgraph */
    struct mortise_guard_list guards[MORTISE_GUARD_STAGES];
    enum mortise_on_violation on_violation;
    /* Bytes of a streamed text that stay unsent until its guardrails have seen
     * them with the text after them. */
    uint64_t hold_back;

    /* guardrail */
    bool has_target;
    struct mortise_expr target;
    bool target_is_path; /* in scratch or artifacts: sanitized in place */
    struct mortise_path target_path;

    /* router by condition */
    bool by_condition;
    struct mortise_expr condition; /* gives the id of a TARGET edge's node */

    /* subgraph */
    /* Freed with the graph that contains it; its own reference count is
     * unused. */
    struct mortise_graph *sub;
    struct mortise_output *input_mapping;
    size_t n_input_mapping;
    struct mortise_tmpl *input_goal; /* team: the input is {goal}; else NULL */
    /* The inner graph's artifact that becomes the output; NULL: all of them. */
    const char *yields;
    /* Paths of the parent, expressions over the child's final state. */
    struct mortise_output *output_mapping;
    size_t n_output_mapping;
};

#define MORTISE_GUARD_PREFIX "guardrail:"

struct mortise_limits {
    uint64_t steps; /* executions of a run, nested graphs included */
    /* Executions of a node in one graph, without map elements. */
    uint32_t visits;
    uint64_t state;      /* bytes */
    uint64_t timeout_ms; /* active time of the run; 0: none */
    /* The deployment's bounds for raising them by command; 0: none. */
    uint64_t most_steps, most_visits;
    struct mortise_spawn_caps spawn;
};

/* A schema's JSON is not in the graph's arena; it is freed with the graph. */
struct mortise_owned_schema {
    struct mortise_owned_schema *next;
    struct mortise_schema *schema;
};

/* A tool of a graph of tools: its name for models and its call. */
struct mortise_offer {
    const char *name; /* for models: [A-Za-z0-9_-], unique */
    const char *tool; /* PLUGIN/OPERATION, or graph/NAME */
    const char *description; /* "": none */
    const char *parameters;  /* JSON: the schema of an object */
    /* Limit of the output given to the model, bytes of JSON. */
    uint64_t max_output;
};

/* A node that this one may hand over to, with a tool of that name. */
struct mortise_handover {
    const char *name, *node; /* an id, among the node's targets */
    const char *description;
};

/* A graph as a person sees it who approves it as a plan. */
struct mortise_plan {
    const char *yaml, *picture;
};

struct mortise_graph {
    struct mortise_arena arena;
    uint32_t refs;                   /* [loop] */
    const char *name, *version;      /* "" if not given */
    const char *path;                /* as loaded, for messages */
    uint8_t content[MORTISE_DIGEST]; /* digest of the canonical form */
    /* The digest that runs pin: `content` and the resolved patterns of
     * tools. */
    uint8_t digest[MORTISE_DIGEST];
    const struct mortise_yaml *tree; /* source, spans */
    /* The files that a run pins: this one and those of graphs inside it. */
    const struct mortise_source *sources;
    size_t n_sources;
    /* The graph that a run used before it was steered to this one; a reference
     * (former.c).  NULL: runs begin with this graph. */
    struct mortise_graph *former;

    struct mortise_node *nodes;
    uint32_t n_nodes;
    struct mortise_edge *edges;
    uint32_t n_edges;
    uint32_t *start; /* indexes of edges from START */
    uint32_t n_start;
    struct mortise_region *regions; /* [0] is the graph */
    uint32_t n_regions;

    bool approve_tools; /* hitl_mode, of this or an outer graph: approve */
    bool approve_nodes; /* each call; each node with a call or a graph; */
    bool approve_plan;  /* or the graph as a whole, with: */
    /* NULL unless approve_plan is set here and not in the outer graph. */
    const struct mortise_plan *plan;
    bool fail_fast;     /* failure */
    bool coarse;        /* checkpoint_policy, the default of its nodes */
    bool settles;       /* a node of it has join: settled */
    bool end_first;     /* end */
    /* Outermost graph only: a node reads memory as of a start. */
    bool snapshots;
    enum mortise_consistency consistency; /* the default of its nodes */
    struct mortise_limits limits;         /* the outermost graph's */
    struct mortise_budget budget;         /* this graph's alone */
    /* A node with unlimited usage; MORTISE_NOWHERE: none. */
    uint32_t unbounded[MORTISE_USED_N];
    uint32_t concurrency;
    uint64_t expr_cost;
    struct mortise_schema *input, *scratch, *artifacts; /* NULL: anything */
    struct mortise_reducer *reducers;
    size_t n_reducers;
    /* Names used, sorted, unique; also ids of guardrails with
     * MORTISE_GUARD_PREFIX, and tools of a lock (PLUGIN/OPERATION) with
     * MORTISE_TOOL_PIN_PREFIX. */
    const char **plugins;
    size_t n_plugins;
    const char **models; /* aliases of models used, sorted, unique */
    size_t n_models;
    uint32_t n_resources; /* names of `resource`, in nested graphs, too */

    /* For a graph of tools; else NULL.  `offers` is by node.  `offered` is
     * JSON: [{name, description?, parameters} ...], handovers last.  After the
     * first n_offered nodes comes the node's planner, if it has one, which is
     * not offered to models. */
    struct mortise_offer *offers;
    uint32_t n_offered;
    const struct mortise_handover *handovers;
    size_t n_handovers;
    const char *offered;

    struct mortise_owned_schema *schemas; /* all schemas compiled for it */
    const struct mortise_node **by_id;    /* the nodes, sorted by id */
    const struct mortise_yaml *nodes_map; /* as written */
};

struct mortise_graph *mortise_graph_ref(struct mortise_graph *g);
void mortise_graph_unref(struct mortise_graph *g); /* NULL is fine */

/* Lookups in a graph of tools; each returns NULL if there is none: the node
 * offered under a name (or as PLUGIN/OPERATION, graph/NAME); the planner; the
 * handover with a name. */
const struct mortise_node *
mortise_graph_find_tool(const struct mortise_graph *tools, const char *name);
const struct mortise_node *
mortise_graph_find_planner(const struct mortise_graph *tools);
const struct mortise_handover *
mortise_graph_handover(const struct mortise_graph *tools, const char *name);
/* The tools of a node for discovery plugins (mortise/discovery.h), by the
 * requested kind: `tool` and `any` give all offered tools, `extension` the
 * operations of plugins among them, other kinds none.  The list has {id, kind,
 * name, description?, input_schema} and is a new reference.
 * mortise_graph_is_candidate(): is tool i in it? */
json_t *mortise_graph_list_candidates(const struct mortise_graph *tools,
                                      const char *kind);
bool mortise_graph_is_candidate(const struct mortise_graph *tools, uint32_t i,
                                const char *kind);
/* The node with this id, or NULL. */
const struct mortise_node *
mortise_graph_find_node(const struct mortise_graph *g, const char *id);
/* The reducer of exactly this path; NULL: none. */
const struct mortise_reducer *
mortise_graph_reducer(const struct mortise_graph *g,
                      const struct mortise_path *path);
/* The kind of a path's reducer; DEFAULT: none is declared. */
enum mortise_reduce mortise_graph_get_reduce(const struct mortise_graph *g,
                                             const struct mortise_path *path);
/* Can guardrails hold back its output?  Then the output is not visible anywhere
 * before they have checked it. */
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
/* The innermost map with the node in its body, as a region; 0: none. */
uint32_t mortise_graph_find_map_around(const struct mortise_graph *g,
                                       uint32_t node);
/* If a map's body writes this path, does it belong to the element alone?  True
 * for an artifact if no reducer is declared for it, for a parent or for a part
 * of it. */
bool mortise_graph_is_element_path(const struct mortise_graph *g,
                                   const struct mortise_path *path);
/* Does the edge lead into the body of a map? */
static inline bool mortise_edge_is_map(const struct mortise_edge *e)
{
    return e->map != 0 && e->kind != MORTISE_EDGE_GATHER;
}
/* Does the edge lead to a later visit?  Back edges do, and so do edges that end
 * the elements of a map if its join is the entry of a loop. */
bool mortise_graph_is_edge_to_later_visit(const struct mortise_graph *g,
                                          const struct mortise_edge *e);
const char *mortise_node_type_name(enum mortise_node_type type);
/* "the attempt took longer than 30000 ms, its operation's timeout". */
enum { MORTISE_TIMEOUT_WORDS = 128 };
const char *mortise_node_print_timeout(const struct mortise_node *node,
                                       char out[MORTISE_TIMEOUT_WORDS]);
enum mortise_node_gives mortise_node_gives(const struct mortise_node *node);
/* Does the node have effects or ask people: by itself, through its tools, or in
 * its inner graph? */
bool mortise_node_has_effects(const struct mortise_node *node);
const char *mortise_effect_name(enum mortise_effect effect);
const char *mortise_trait_name(enum mortise_trait trait);
const char *mortise_guard_stage_name(enum mortise_guard_stage stage);
const char *mortise_consistency_name(enum mortise_consistency consistency);
const char *mortise_memory_scope_name(enum mortise_memory_scope scope);
/* The guardrail id of an entry of a graph's `plugins`; NULL: the entry is a
 * plugin. */
const char *mortise_guard_parse_id(const char *name);
/* Do guardrails check the values on this edge? */
bool mortise_edge_is_guarded(const struct mortise_edge *edge);
/* Does the node use this guardrail, at any stage? */
bool mortise_node_is_guarded(const struct mortise_node *node, const char *id);

#endif
