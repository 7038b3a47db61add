/* loader.h -- the state of a graph that is being loaded; for the files that
 * load graphs only.
 *
 * A loader reads the file once, driven by tables of keys.  Errors do not stop
 * it: they become findings.  Only lack of memory does, and it sets the flag
 * `nomem`.  A caller that gets NULL from these functions continues or returns;
 * mortise_graph_load() checks the flag at the end. */
#ifndef MORTISE_LANG_GRAPH_LOAD_LOADER_H
#define MORTISE_LANG_GRAPH_LOAD_LOADER_H

#include "lang/config/limits.h"
#include "lang/config/models.h"
#include "core/model/graph.h"
#include "lang/tmpl/tmpl.h"
#include "lang/yaml/keys.h"

struct mortise_loader;

/* An edge and the facts about it that only the loader needs. */
struct mortise_edge_draft {
    struct mortise_edge edge;
    bool depends_on; /* from the key depends_on: a cycle of these is always an
                      * error */
    const struct mortise_yaml *when;    /* NULL: none */
    const struct mortise_map *map;      /* NULL: it does not lead into a map */
    struct mortise_edge_policy *policy; /* the edge's own, to be filled in */
};

/* A `map` as written. */
struct mortise_map {
    const struct mortise_yaml *over, *as_at, *to_at;
    const struct mortise_yaml *parallel; /* a template; NULL: max_parallel */
    const char *as;
    uint32_t to, join, max_parallel;
    struct mortise_span join_at;
};

struct mortise_deferred_expr;
typedef void mortise_deferred_expr_fn(struct mortise_loader *ld,
                                      const struct mortise_deferred_expr *late);

/* An expression whose compilation is deferred until its node's position is
 * known: the names in scope depend on the maps around the node. */
struct mortise_deferred_expr {
    mortise_deferred_expr_fn *fn;
    void *into; /* in the graph's arena */
    const struct mortise_yaml *at;
    uint32_t node; /* MORTISE_START for edges from START */
    enum mortise_scope_name end;
};

/* A write that a node declares: by outputs, output_as or a sanitizing
 * guardrail. */
struct mortise_declared_write {
    const struct mortise_path *path;
    uint32_t node;
    bool last;       /* a map's results: the latest remain, unless a reducer is
                      * given */
    bool in_place;   /* the value is sanitized in place: no new value */
    bool is_output;  /* the value is the output of the node */
    bool implied;    /* the output is stored under the node's id, by default */
    uint32_t own_of; /* set by known.c: 1 + the first node of the map's body if
                      * the value belongs to a map element; 0 otherwise */
    const struct mortise_expr *expr; /* NULL: not from an expression */
    struct mortise_span span;
};

/* An expression and its position. names.c checks it after everything was
 * read. */
struct mortise_placed_expr {
    struct mortise_expr expr;
    /* The names of the inner graph, for an output_mapping; else NULL. */
    const struct mortise_cel_name *inner;
    uint32_t node;
    enum mortise_scope_name end;
};

/* The writes of the nodes of a graph (names.c). */
struct mortise_write_index;

/* The values of `consistency` (memory.c). */
extern const struct mortise_word mortise_consistency_words[];
/* The values of `tool_errors` (llm.c). */
extern const struct mortise_word mortise_tool_error_words[];

/* A mapping that the loader builds (made.c), in the arena; all zero: empty. */
struct mortise_built_map {
    struct mortise_yaml **keys, **items;
    size_t n, cap;
};

/* The choice of a model (llm.c). */
struct mortise_llm {
    struct mortise_built_map told;       /* the members that the operation
                                          * receives */
    const struct mortise_yaml *provider; /* the key; NULL: not set */
    const struct mortise_yaml
        *chosen; /* its value if that is a template; else NULL */
    /* for the template; NULL: none */
    const struct mortise_yaml *allowlist;
    const struct mortise_yaml *tiers[MORTISE_N_TIERS]; /* aliases, or NULL */
    const char *reason;                                /* NULL: none */
    bool unpriced; /* at least one of the models has no price */
};

/* A role from a file, or a built-in one (role.c). */
struct mortise_role {
    const char *id, *display_name, *fragment; /* NULL: not set */
    const struct mortise_yaml *tools;         /* a list; NULL: not set */
    double temperature;                       /* NAN: not set */
    bool requires_approval;
    bool tools_read; /* some node uses these tools */
};

struct mortise_defaults {
    uint64_t timeout_ms;        /* 0: none */
    enum mortise_effect effect; /* 0: none */
    struct mortise_retry retry;
    struct mortise_llm *llm;                /* NULL: not set */
    const struct mortise_yaml *tool_errors; /* NULL: not set */
};

/* A name that the nodes of several graphs share. */
struct mortise_shared_name {
    const struct mortise_shared_name *next;
    const char *name;
    uint32_t number; /* of a resource, starting at 1 */
};

/* The reason why a plugin was refused, and the place of the first report. */
struct mortise_refusal {
    const struct mortise_refusal *next;
    const char *words;
    struct mortise_span at;
};

/* A persona: its traits, and further members for gmi nodes (persona.c). */
struct mortise_persona {
    double traits[MORTISE_TRAITS];
    const struct mortise_yaml *mood;   /* NULL: not set */
    const struct mortise_yaml *adapts; /* a bool; NULL: not set */
};

struct mortise_loader {
    struct mortise_loader *root; /* the loader of the outermost graph (there,
                                  * itself) */
    /* [root] The newest first. */
    const struct mortise_shared_name *resources, *plugins, *models;
    const struct mortise_refusal *refusals; /* [root] */
    struct mortise_loader *outer;     /* of the graph around this one; NULL:
                                       * none */
    struct mortise_graph_file *files; /* [root] */
    struct mortise_graph_dir *dirs;   /* [root] */
    json_t *matches;                  /* [root] of matches.c; NULL: none */
    bool looked_for_matches, has_pinned_matches; /* [root] also of matches.c */
    uint32_t depth;                              /* number of graphs around this
                                                  * one */
    struct mortise_graph *g;                     /* being built */
    struct mortise_arena *arena;                 /* the outermost graph's */
    const struct mortise_mem *mem;
    const struct mortise_catalog *catalog;
    struct mortise_diags *diags;

    /* [root] Called for each graph after its keys were read, including inner
     * graphs: checks edges, expressions, and the graph as a whole. */
    void (*whole)(struct mortise_loader *ld);

    struct mortise_defaults defaults;
    uint64_t max_nodes, n_nodes; /* [root] including the nodes of inner
                                  * graphs */
    uint32_t max_depth;          /* [root] */
    const char *const *ids;      /* of all nodes, and END: for suggestions */
    size_t n_ids;
    const struct mortise_schema **output_of; /* per node; NULL: anything */
    unsigned suggestions; /* how many suggestions remain: each one compares all
                           * ids */

    struct mortise_edge_draft *edges;
    size_t n_edges, cap_edges;
    uint32_t *capable; /* nodes with a capability; NULL: not searched yet */
    uint32_t n_capable, n_found; /* edges that discovery found for them */
    struct mortise_declared_write *writes;
    size_t n_writes, cap_writes;
    struct mortise_deferred_expr *late;
    size_t n_late, cap_late;
    struct mortise_placed_expr *looked;
    size_t n_looked, cap_looked;
    uint32_t scope_node;                        /* the node for which `names` is
                                                 * set */
    const struct mortise_cel_name *inner_names; /* the inner graph's, while
                                                 * its output_mapping is
                                                 * read; else NULL */
    const struct mortise_write_index *known;    /* NULL: not yet, or never */
    const struct mortise_write_index *
        *known_of; /* per node: the one of its inner
                                            * graph */

    /* Element names of maps that have findings and so were not created: the
     * expressions in their bodies may still be correct.  The newest first. */
    const struct mortise_shared_name *lost_items;
    /* Valid once edges are linked. */
    uint32_t n_maps;
    uint32_t *body; /* node -> its innermost map, as a region; 0: none */
    bool *handles;  /* node -> an on_error.goto leads to it */
    /* Map -> schemas of `artifacts` and `state` in its body; [0]: elsewhere. */
    struct mortise_schema **artifacts_in;
    const struct mortise_schema **states_in;
    /* Map -> schema of an element; NULL: any. */
    const struct mortise_schema **item_of;
    bool doubtful; /* keys or ids have findings, so that edges may be missing:
                    * do not report consequences of a missing edge */

    /* The names that expressions see; a scope is a prefix of this array. */
    struct mortise_cel_name names[MORTISE_IN_N];

    struct mortise_persona its;         /* the graph's own persona */
    const struct mortise_yaml *persona; /* the key `persona`; NULL: none */
    struct mortise_role *roles;         /* the roles of the file */
    size_t n_roles;
    bool diagnoses; /* the file mentions diagnostics */

    size_t first_diag; /* the first diagnostic of this graph, in diags->list */
    size_t left_out_before; /* number of errors that diags dropped before this
                             * graph */
    size_t errors_before;   /* [root] errors of other files in the same diags */
    size_t
        n_inner_doubts; /* sum of mortise_check_count_doubts() of inner graphs */
    bool nomem;
};

/* ---- loader.c, digest.c ---------------------------------------------- */

/* The number of errors since the outermost file began. */
size_t mortise_load_count_errors(const struct mortise_loader *ld);
/* The digest of the canonical form of a graph file without findings. */
void mortise_load_digest(struct mortise_loader *ld, uint8_t *out,
                         const struct mortise_yaml *tree);
/* Free the memory that only loading needed. */
void mortise_load_finish(struct mortise_loader *ld);

/* Zeroed memory from the graph's arena; NULL sets nomem. */
void *mortise_load_alloc(struct mortise_loader *ld, size_t size);
/* The same from another arena, which has a shorter life. */
void *mortise_load_scratch(struct mortise_loader *ld, struct mortise_arena *a,
                           size_t size);
/* The text of `json`, in the graph's arena.  On failure, or if `json` is NULL,
 * returns NULL and sets nomem. */
const char *mortise_load_json(struct mortise_loader *ld, const json_t *json);
/* A list of strings as an array; NULL sets nomem. */
const char **mortise_load_strings(struct mortise_loader *ld,
                                  const struct mortise_yaml *list);
/* Reads a key that is a schema into the field of its row; NULL after a finding,
 * or with nomem. */
mortise_key_fn mortise_load_schema;
/* A schema from our own JSON; takes the reference. */
struct mortise_schema *mortise_load_internal_schema(struct mortise_loader *ld,
                                                    json_t *json);
/* The schema of `error` in expressions; a new reference. */
json_t *mortise_load_error_type(void);
/* Record that the graph uses a plugin, or an alias of a model. */
void mortise_load_plugin(struct mortise_loader *ld, const char *prefix,
                         const char *name);
void mortise_load_model(struct mortise_loader *ld, const char *alias);
/* Add a finding: the catalogue refuses `what`, a plugin or a guardrail.  The
 * reason for refusing a whole plugin is printed once in all graphs; later
 * findings refer to the first. */
void mortise_load_report_refusal(struct mortise_loader *ld, const char *code,
                                 struct mortise_span at, const char *what,
                                 const struct mortise_err *why);

/* ---- graph_keys.c, state.c, reducer.c, bounds.c, budget.c ---- */

/* The keys of a graph file. */
extern const struct mortise_place mortise_graph_place;
/* A whole file. */
void mortise_load_file_keys(struct mortise_loader *ld);
/* Read a graph that is written in a node. */
void mortise_load_inner(struct mortise_loader *ld,
                        const struct mortise_yaml *map, struct mortise_span at);
extern const struct mortise_key mortise_inner_forms[3];
/* a graph written in place */
extern const struct mortise_place mortise_inner_place;
/* Readers of the keys of a graph have the type mortise_key_fn: `ctx` is the
 * loader, `into` the graph. */
extern const struct mortise_place mortise_state_place;
/* A path below scratch or artifacts, from a key; false after a finding. */
bool mortise_load_path(struct mortise_loader *ld, struct mortise_path *out,
                       const struct mortise_yaml *key);
/* The same without a check against the schemas of the state. */
bool mortise_load_own_path(struct mortise_loader *ld, struct mortise_path *out,
                           const struct mortise_yaml *key);
/* The schema of a path below scratch or artifacts; NULL: none. */
const struct mortise_schema *
mortise_load_schema_at(const struct mortise_loader *ld,
                       const struct mortise_path *path);
/* The schema of a path in a value with schema `s`; NULL: any value fits. */
const struct mortise_schema *
mortise_load_schema_below(const struct mortise_schema *s,
                          const struct mortise_path *path);
extern const struct mortise_key mortise_reducer_row; /* of `reducers` */
mortise_key_fn mortise_load_reducers;
/* A path below the input, which has this schema. */
bool mortise_load_input_path(struct mortise_loader *ld,
                             struct mortise_path *out,
                             const struct mortise_yaml *key,
                             const struct mortise_schema *input);
/* Set the limits before anything is read: the deployment's, else the built-in
 * ones. */
void mortise_load_limit_defaults(struct mortise_loader *ld);
/* Add a finding if the deployment's limit is lower. */
void mortise_load_check_limit(struct mortise_loader *ld,
                              enum mortise_limit which, uint64_t value,
                              const struct mortise_yaml *at);
mortise_key_fn mortise_load_limits;
/* Check the budget after all nodes were read. */
void mortise_check_budget(struct mortise_loader *ld);
/* For its readers, `into` is a struct mortise_budget and `ctx` the loader. */
extern const struct mortise_place mortise_budget_place;
mortise_key_fn mortise_load_budget;
extern const struct mortise_place mortise_defaults_place, mortise_llm_place;
/* Read the keys of `llm`, of a node or of defaults, and check their
 * combination. */
void mortise_llm_read_keys(struct mortise_loader *ld, struct mortise_llm *llm,
                           const struct mortise_slot *slot);
mortise_key_fn mortise_load_defaults;

/* Is this the graph of a run, whose pinned sources were checked at its start?
 * (loader.c) */
bool mortise_load_is_pinned(const struct mortise_loader *ld);

/* ---- scope.c --------------------------------------------------------- */

/* Set up the names for the expressions of the graph, with their schemas.  Call
 * it after the state's schemas were read. */
void mortise_load_scope(struct mortise_loader *ld,
                        const struct mortise_yaml *nodes);
/* Compile an expression that sees the names before `end`; `cel` is NULL after a
 * finding. */
void mortise_load_expr(struct mortise_loader *ld, struct mortise_expr *out,
                       const struct mortise_yaml *v,
                       enum mortise_scope_name end);
/* A condition about an error: it sees only `error` and `node`. */
void mortise_load_error_test(struct mortise_loader *ld,
                             struct mortise_expr *out,
                             const struct mortise_yaml *v);
/* Defer an expression: `fn` processes it after the structure of the graph is
 * known. */
void mortise_load_defer(struct mortise_loader *ld, mortise_deferred_expr_fn *fn,
                        void *into, const struct mortise_yaml *at,
                        uint32_t node, enum mortise_scope_name end);
/* Compile a deferred expression into a struct mortise_expr, or a template into
 * a struct mortise_tmpl *. */
mortise_deferred_expr_fn mortise_load_deferred_expr, mortise_load_deferred_tmpl;
/* Set the names as this node sees them; MORTISE_START: as an edge from START
 * does. */
void mortise_load_set_scope_node(struct mortise_loader *ld, uint32_t node);
/* expr_types.c.  False after a finding: no result of the expression has one of
 * these types. */
bool mortise_load_check_types(struct mortise_loader *ld,
                              const struct mortise_expr *e, unsigned types,
                              const char *what);
/* The same for a place with this schema, such as a path of the state. */
void mortise_load_check_fit(struct mortise_loader *ld,
                            const struct mortise_expr *e, const char *place,
                            const struct mortise_schema *s);
/* The same for an expression that replaces the output of a node.  The run
 * checks the value against this schema; a constant expression is checked
 * completely here.  False after a finding. */
bool mortise_load_check_output_fit(struct mortise_loader *ld,
                                   const struct mortise_expr *e,
                                   const struct mortise_node *node,
                                   const struct mortise_schema *s);
/* The same for the templates in arguments. */
void mortise_load_check_args_fit(struct mortise_loader *ld,
                                 const struct mortise_tmpl *args,
                                 const struct mortise_schema *s);
void mortise_load_check_reducer_fit(struct mortise_loader *ld,
                                    const struct mortise_reducer *r);
void mortise_load_expressions(struct mortise_loader *ld);

/* ---- names.c --------------------------------------------------------- */

/* After all expressions were read: check their use of the state and of outputs
 * against the writes of the nodes. */
void mortise_check_names(struct mortise_loader *ld);

/* ---- retry.c --------------------------------------------------------- */

extern const struct mortise_retry mortise_retry_default;
extern const struct mortise_place mortise_retry_place;
/* Read into the field of the row, a struct mortise_retry: of a node, or of the
 * defaults. */
mortise_key_fn mortise_load_retry, mortise_load_default_retry;

/* ---- node.c ---------------------------------------------------------- */

extern const struct mortise_word mortise_effect_words[];
extern const struct mortise_key mortise_node_row; /* of `nodes` */
mortise_key_fn mortise_load_nodes;

/* ---- policy.c -------------------------------------------------------- */

extern const struct mortise_place mortise_edge_policy_place;
/* The `guardrail_policy` of the edges from index `first` on, all of which leave
 * `from`. */
void mortise_load_edge_policy(struct mortise_loader *ld, uint32_t from,
                              size_t first, const struct mortise_slot *slot);

/* ---- edge.c ---------------------------------------------------------- */

/* The index of an existing node, not START or END. */
uint32_t mortise_load_node_id(struct mortise_loader *ld,
                              const struct mortise_yaml *scalar);
/* Add an edge to the node that a scalar names; NULL after a finding.  The
 * result is valid until the next edge is added. */
struct mortise_edge_draft *mortise_load_edge(struct mortise_loader *ld,
                                             uint32_t from,
                                             const struct mortise_yaml *to,
                                             enum mortise_edge_kind kind);
/* The i-th id of an id or a list of ids; NULL: no more. */
const struct mortise_yaml *mortise_load_id(const struct mortise_slot *slot,
                                           size_t i);
extern const struct mortise_key mortise_routes_forms[2];
extern const struct mortise_key mortise_default_forms[2];
extern const struct mortise_key mortise_start_forms[2];
extern const struct mortise_key mortise_edge_row; /* of `edges` */
mortise_key_fn mortise_load_edges, mortise_load_start;
/* Give each node its outgoing edges.  No edge may be added later. */
void mortise_load_merge_edges(struct mortise_loader *ld); /* repeat.c */
void mortise_load_link_out_edges(struct mortise_loader *ld);

/* ---- amount.c -------------------------------------------------------- */

/* A duration or a count: a literal or a template. */
extern const struct mortise_key mortise_duration_forms[2];
/* Read a value of these forms: either into *ms, or into *tmpl for evaluation in
 * the run. */
void mortise_load_duration(struct mortise_loader *ld,
                           const struct mortise_slot *slot, uint32_t node,
                           uint64_t *ms, struct mortise_tmpl **tmpl);

/* ---- map.c ----------------------------------------------------------- */

extern const struct mortise_place mortise_map_place;
/* Add the edge that `map` defines, with this kind and condition (NULL: none).
 * If `from` is MORTISE_NOWHERE, only check it. */
void mortise_load_map(struct mortise_loader *ld, uint32_t from,
                      enum mortise_edge_kind kind,
                      const struct mortise_yaml *when,
                      const struct mortise_slot *slot);
/* The same for a value of the form {map: ...}. */
void mortise_load_only_map(struct mortise_loader *ld, uint32_t from,
                           enum mortise_edge_kind kind,
                           const struct mortise_slot *slot);
extern const struct mortise_place mortise_only_map_place;

/* ---- persona.c ------------------------------------------------------- */

extern const struct mortise_place mortise_persona_place,
    mortise_personality_place;
/* Set the default traits, before anything is read. */
void mortise_load_persona_defaults(struct mortise_loader *ld);
mortise_key_fn mortise_load_persona;
/* Add the edges of a `personality`; none if `from` is MORTISE_NOWHERE. */
void mortise_load_personality(struct mortise_loader *ld, uint32_t from,
                              const struct mortise_slot *slot);
/* Report keys of personas that nothing uses. */
void mortise_check_personas(struct mortise_loader *ld);

/* ---- memory.c -------------------------------------------------------- */

/* Warn about a memory_consistency of the graph that no node uses. */
void mortise_check_consistency(struct mortise_loader *ld);

/* ---- role.c ---------------------------------------------------------- */

extern const struct mortise_key mortise_role_row; /* of `roles` */
mortise_key_fn mortise_load_roles;
/* Check the tools of roles that no node plays. */
void mortise_check_roles(struct mortise_loader *ld);
/* The role with this id; NULL after a finding. */
const struct mortise_role *mortise_role_find(struct mortise_loader *ld,
                                             const struct mortise_yaml *id);

/* ---- discovery.c ----------------------------------------------------- */

extern const struct mortise_place mortise_discovery_place;
/* Does the deployment have a discovery plugin?  Record its plugins with the
 * graph, so that runs use the same ones.  MORTISE_OK also if there is no
 * deployment; otherwise `why`. */
int mortise_load_discovery_plugins(struct mortise_loader *ld,
                                   struct mortise_err *why);
/* Add the edges of a `discovery`, after all nodes were read; none if `from` is
 * MORTISE_NOWHERE. */
void mortise_load_discovery(struct mortise_loader *ld, uint32_t from,
                            const struct mortise_slot *slot);
/* Report capabilities that no edge searches for. */
void mortise_check_capabilities(struct mortise_loader *ld);

/* ---- map_body.c ---------------------------------------------------------- */

/* Find the nodes in the body of each map. */
void mortise_load_bodies(struct mortise_loader *ld);

/* ---- regions.c ----------------------------------------------------------- */

/* Find the graph's regions, once its edges are valid.  MORTISE_OK,
 * MORTISE_EINVAL after a finding, or MORTISE_ENOMEM. */
int mortise_load_regions(struct mortise_loader *ld);

/* ---- recoverable.c ------------------------------------------------------- */

/* Find the failures that a later join may still recover. */
void mortise_load_recoverable(struct mortise_loader *ld);

/* ---- check.c, join.c, race.c ---- */

/* The number of findings of this graph about keys, ids or edges, including lost
 * ones, but without those of inner graphs. */
size_t mortise_check_count_doubts(const struct mortise_loader *ld);
/* Check the graph as a whole, and find its regions. */
void mortise_check_structure(struct mortise_loader *ld);
/* unfilled.c: checks of a graph without errors before its first run. */
void mortise_check_unfilled(struct mortise_loader *ld);
void mortise_check_joins(struct mortise_loader *ld); /* join.c */
void mortise_check_writes(struct mortise_loader *ld);
void mortise_check_warnings(struct mortise_loader *ld); /* warn.c */
/* infinite_loops.c */
void mortise_check_infinite_loops(struct mortise_loader *ld);

/* ---- matches.c ------------------------------------------------------- */

/* The tools that a pattern matched when the run of this graph began; NULL: ask
 * the catalogue. */
const json_t *mortise_load_matches(struct mortise_loader *ld,
                                   const char *pattern);
/* Record that the pattern matches this tool. */
void mortise_load_record_match(struct mortise_loader *ld, const char *pattern,
                               const char *tool);
/* All matches as a source, which becomes part of the graph's digest.  False:
 * there are no patterns, or memory ran out.  For the outermost graph. */
bool mortise_load_matches_source(struct mortise_loader *ld,
                                 struct mortise_source *out);

#endif
