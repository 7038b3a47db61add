/* loader.h -- a graph while it is being loaded; shared by the files that load
 * it and by nobody else.
 *
 * A loader goes through the file once, by the tables of keys.  Errors do not
 * stop it: they are findings.  Only memory running out does, and that is a
 * flag too (`nomem`): whoever sees NULL from here just goes on or returns, and
 * mortise_graph_load() looks at the flag at the end. */
#ifndef MORTISE_LANG_GRAPH_LOAD_LOADER_H
#define MORTISE_LANG_GRAPH_LOAD_LOADER_H

#include "lang/config/models.h"
#include "core/model/graph.h"
#include "lang/yaml/keys.h"

struct mortise_loader;

/* An edge and what is known of it only while loading. */
struct mortise_draft {
    struct mortise_edge edge;
    bool depends_on; /* made by that key: a cycle of these is never meant */
    const struct mortise_yaml *when;    /* NULL: none */
    const struct mortise_map *map;      /* NULL: it leads into none */
    struct mortise_edge_policy *policy; /* the edge's, to be filled in */
};

/* `map` as it is written. */
struct mortise_map {
    const struct mortise_yaml *over, *as_at, *to_at;
    const struct mortise_yaml *parallel; /* a template; NULL: max_parallel */
    const char *as;
    uint32_t to, join, max_parallel;
    struct mortise_span join_at;
};

struct mortise_late;
typedef void mortise_late_fn(struct mortise_loader *ld,
                             const struct mortise_late *late);

/* An expression that waits until it is known where its node stands: what is
 * in scope depends on the maps around it. */
struct mortise_late {
    mortise_late_fn *fn;
    void *into; /* in the graph's arena */
    const struct mortise_yaml *at;
    uint32_t node; /* MORTISE_START for its edges */
    enum mortise_scope_name end;
};

/* One write that a node declares: with outputs, output_as or sanitising. */
struct mortise_declared {
    const struct mortise_path *path;
    uint32_t node;
    bool last; /* a map's results: the latest stay, unless a reducer is given */
    bool in_place;   /* what is there is sanitised: nothing new is made */
    bool is_output;  /* what the node gives, */
    bool implied;    /* ... under its own id, as nobody said otherwise */
    uint32_t own_of; /* by known.c: 1 + the first node of the map's body where
                        it is an element's own; 0: it is none */
    const struct mortise_expr *expr; /* NULL: none gives it */
    struct mortise_span span;
};

/* An expression, and where it stands: names.c looks at it once all is read. */
struct mortise_looked {
    struct mortise_expr expr;
    /* Of an output_mapping: the names are the inner graph's.  Else NULL. */
    const struct mortise_cel_name *inner;
    uint32_t node;
    enum mortise_scope_name end;
};

/* What the nodes of a graph write (names.c). */
struct mortise_known;

/* How memory stands to the time (memory.c). */
extern const struct mortise_word mortise_consistency_words[];
/* What becomes of errors of tools (llm.c). */
extern const struct mortise_word mortise_tool_error_words[];

/* A mapping that is made (made.c), in the arena; zeroed: an empty one. */
struct mortise_made {
    struct mortise_yaml **keys, **items;
    size_t n, cap;
};

/* Which model is asked (llm.c). */
struct mortise_llm {
    struct mortise_made told;            /* what the operation is told of it */
    const struct mortise_yaml *provider; /* the key; NULL: not said */
    const struct mortise_yaml
        *chosen; /* its value, a template; NULL: it is not */
    const struct mortise_yaml *allowlist;              /* of that; NULL: none */
    const struct mortise_yaml *tiers[MORTISE_N_TIERS]; /* aliases, or NULL */
    const char *reason;                                /* NULL: none */
    bool unpriced; /* of one of them, nobody says what it costs */
};

/* A role, as a file or this build describes it (role.c). */
struct mortise_role {
    const char *id, *display_name, *fragment; /* NULL: not said */
    const struct mortise_yaml *tools;         /* a list; NULL: not said */
    double temperature;                       /* NAN: not said */
    bool requires_approval;
    bool tools_read; /* a node has them */
};

struct mortise_defaults {
    uint64_t timeout_ms;        /* 0: none */
    enum mortise_effect effect; /* 0: none */
    struct mortise_retry retry;
    struct mortise_llm *llm;                /* NULL: not said */
    const struct mortise_yaml *tool_errors; /* likewise */
};

/* A name that nodes of several graphs share. */
struct mortise_named {
    const struct mortise_named *next;
    const char *name;
    uint32_t number; /* of a resource: from 1 */
};

/* Why a plugin is refused, and where that was said first. */
struct mortise_refusal {
    const struct mortise_refusal *next;
    const char *words;
    struct mortise_span at;
};

/* Whose voice it is: traits, and what gmi nodes are told besides (persona.c). */
struct mortise_persona {
    double traits[MORTISE_TRAITS];
    const struct mortise_yaml *mood;   /* NULL: not said */
    const struct mortise_yaml *adapts; /* a bool; likewise */
};

struct mortise_loader {
    struct mortise_loader *root; /* of the outermost graph: itself, there */
    /* Of the outermost: the newest first. */
    const struct mortise_named *resources, *plugins, *models;
    const struct mortise_refusal *refusals; /* [root] */
    struct mortise_loader *outer;     /* of the graph around this; NULL: none */
    struct mortise_graph_file *files; /* [root] */
    struct mortise_graph_dir *dirs;   /* [root] */
    json_t *matches;                  /* [root] matches.c's; NULL: none */
    bool looked_for_matches, has_pinned_matches; /* [root] likewise */
    uint32_t depth;                              /* graphs around this one */
    struct mortise_graph *g;                     /* being built */
    struct mortise_arena *arena;                 /* the outermost graph's */
    const struct mortise_mem *mem;
    const struct mortise_catalog *catalog;
    struct mortise_diags *diags;

    /* [root] After the keys of a graph were read: edges, expressions, and the
     * graph as a whole.  Of a graph in a graph, too. */
    void (*whole)(struct mortise_loader *ld);

    struct mortise_defaults defaults;
    uint64_t max_nodes, n_nodes; /* [root] with those of inner graphs */
    uint32_t max_depth;          /* [root] */
    const char *const *ids;      /* of all nodes and END: for "did you mean" */
    size_t n_ids;
    const struct mortise_schema **output_of; /* per node; NULL: anything */
    unsigned suggestions; /* still to be made: each looks at all ids */

    struct mortise_draft *edges;
    size_t n_edges, cap_edges;
    uint32_t *capable; /* nodes with a capability; NULL: not looked for yet */
    uint32_t n_capable, n_found; /* edges to them */
    struct mortise_declared *writes;
    size_t n_writes, cap_writes;
    struct mortise_late *late;
    size_t n_late, cap_late;
    struct mortise_looked *looked;
    size_t n_looked, cap_looked;
    uint32_t stands_at;                         /* whose names `names` are */
    const struct mortise_cel_name *inner_names; /* ... or these: a mapping's */
    const struct mortise_known *known;          /* NULL: not yet, or never */
    const struct mortise_known **known_of; /* per node: its inner graph's */

    /* Names of elements of maps that have findings, and are not made: the
     * expressions of their bodies may be right.  The newest first. */
    const struct mortise_named *lost_items;
    /* From the time that edges are linked. */
    uint32_t n_maps;
    uint32_t *body; /* node -> innermost map, as a region; 0: none */
    bool *handles;  /* node -> an on_error.goto leads there */
    /* Map -> schemas of `artifacts` and `state` in its body; [0]: anywhere else.
     */
    struct mortise_schema **artifacts_in;
    const struct mortise_schema **states_in;
    /* Map -> schema of one element; NULL: any. */
    const struct mortise_schema **item_of;
    bool doubtful; /* keys or ids have findings: what follows from edges that
                      are missing is not reported */

    /* What expressions see; a scope is its first so many. */
    struct mortise_cel_name names[MORTISE_IN_N];

    struct mortise_persona its;         /* the graph's, */
    const struct mortise_yaml *persona; /* and its key; NULL: none */
    struct mortise_role *roles;         /* the file's catalogue */
    size_t n_roles;
    bool diagnoses; /* the file mentions diagnostics */

    size_t first_diag; /* of this graph, in diags->list */
    size_t
        left_out_before; /* errors that diags did not keep, before this graph */
    size_t errors_before;  /* [root] of other files, in the same diags */
    size_t n_inner_doubts; /* mortise_check_doubts() of inner graphs */
    bool nomem;
};

#define MORTISE_NOWHERE 0xFFFFFFFDu /* a target that was reported */

/* ---- load.c ---------------------------------------------------------- */

/* How many errors were found since the outermost file was begun? */
size_t mortise_load_errors(const struct mortise_loader *ld);
/* The digest of the canonical form of a graph file without findings. */
void mortise_load_digest(struct mortise_loader *ld, uint8_t *out,
                         const struct mortise_yaml *tree);
/* Give up what only loading needed. */
void mortise_load_finish(struct mortise_loader *ld);

/* From the graph's arena, zeroed; NULL sets nomem. */
void *mortise_load_alloc(struct mortise_loader *ld, size_t size);
/* Likewise from another one, which dies earlier. */
void *mortise_load_scratch(struct mortise_loader *ld, struct mortise_arena *a,
                           size_t size);
/* The text of JSON, from the graph's arena; NULL, and of NULL, sets nomem. */
const char *mortise_load_json(struct mortise_loader *ld, const json_t *json);
/* A list of strings as an array; NULL sets nomem. */
const char **mortise_load_strings(struct mortise_loader *ld,
                                  const struct mortise_yaml *list);
/* A key that is a schema, into the field of its row: NULL after a finding (or
 * nomem). */
mortise_key_fn mortise_load_schema;
/* One from JSON of our own making; takes the reference. */
struct mortise_schema *mortise_load_our_schema(struct mortise_loader *ld,
                                               json_t *json);
/* The schema of an error as expressions see it; a new reference. */
json_t *mortise_load_error_type(void);
/* Remember that the graph uses a plugin, or names an alias of a model. */
void mortise_load_plugin(struct mortise_loader *ld, const char *prefix,
                         const char *name);
void mortise_load_model(struct mortise_loader *ld, const char *alias);
/* A finding: the catalogue refuses `what`, a plugin or a guardrail.  Why a plugin as
 * a whole is refused is said once in all graphs, and elsewhere where that was. */
void mortise_load_refuse(struct mortise_loader *ld, const char *code,
                         struct mortise_span at, const char *what,
                         const struct mortise_err *why);

/* ---- graph_keys.c, state.c, reducer.c, limits.c, budget.c
 * ---------------------------------------- */

/* A whole file. */
void mortise_load_file_keys(struct mortise_loader *ld);
/* A graph that stands in a node. */
void mortise_load_inner(struct mortise_loader *ld,
                        const struct mortise_yaml *map, struct mortise_span at);
extern const struct mortise_key mortise_inner_forms[3];
extern const struct mortise_place mortise_inner_place; /* one that is written */
/* Readers of the keys of a graph are of the type mortise_key_fn: `ctx` is the
 * loader, `into` its graph. */
extern const struct mortise_place mortise_state_place;
/* A path below scratch or artifacts, from a key; false after a finding. */
bool mortise_load_path(struct mortise_loader *ld, struct mortise_path *out,
                       const struct mortise_yaml *key);
/* The same, whatever the schemas of the state let in. */
bool mortise_load_own_path(struct mortise_loader *ld, struct mortise_path *out,
                           const struct mortise_yaml *key);
/* What the state's schemas say of a path below scratch or artifacts; NULL:
 * nothing. */
const struct mortise_schema *
mortise_load_schema_at(const struct mortise_loader *ld,
                       const struct mortise_path *path);
/* The schema of a path below what has schema `s`; NULL: anything fits. */
const struct mortise_schema *
mortise_load_schema_below(const struct mortise_schema *s,
                          const struct mortise_path *path);
extern const struct mortise_key mortise_reducer_row; /* of `reducers` */
mortise_key_fn mortise_load_reducers;
/* A path below the input that has this schema. */
bool mortise_load_input_path(struct mortise_loader *ld,
                             struct mortise_path *out,
                             const struct mortise_yaml *key,
                             const struct mortise_schema *input);
/* Before anything is read; the deployment's where it says so. */
void mortise_load_limit_defaults(struct mortise_loader *ld);
/* A finding when the deployment allows less. */
void mortise_load_check_limit(struct mortise_loader *ld,
                              enum mortise_limit which, uint64_t value,
                              const struct mortise_yaml *at);
mortise_key_fn mortise_load_limits;
/* Once all nodes are read. */
void mortise_check_budget(struct mortise_loader *ld);
/* `into` of its readers is a struct mortise_budget; ctx is the loader. */
extern const struct mortise_place mortise_budget_place;
mortise_key_fn mortise_load_budget;
extern const struct mortise_place mortise_defaults_place, mortise_llm_place;
/* The keys of `llm`, of a node or of defaults, and whether they go together. */
void mortise_llm_enter(struct mortise_loader *ld, struct mortise_llm *llm,
                       const struct mortise_slot *slot);
mortise_key_fn mortise_load_defaults;

/* Is the graph that of a run, which was judged when it began?  (loader.c) */
bool mortise_load_is_pinned(const struct mortise_loader *ld);

/* ---- scope.c --------------------------------------------------------- */

/* The names that every expression of the graph may use, with their schemas:
 * after the state's schemas were read. */
void mortise_load_scope(struct mortise_loader *ld,
                        const struct mortise_yaml *nodes);
/* An expression that sees the names before `end`; NULL cel after a finding. */
void mortise_load_expr(struct mortise_loader *ld, struct mortise_expr *out,
                       const struct mortise_yaml *v,
                       enum mortise_scope_name end);
/* A condition about a failure, which sees `error` and `node` alone. */
void mortise_load_error_test(struct mortise_loader *ld,
                             struct mortise_expr *out,
                             const struct mortise_yaml *v);
/* Leave an expression, or what fn makes of it, for later. */
void mortise_load_late(struct mortise_loader *ld, mortise_late_fn *fn,
                       void *into, const struct mortise_yaml *at, uint32_t node,
                       enum mortise_scope_name end);
/* One that was put off, now: a struct mortise_expr, a struct mortise_tmpl *. */
mortise_late_fn mortise_load_late_expr, mortise_load_late_tmpl;
/* Names as this node sees them, or an edge from START. */
void mortise_load_stand_at(struct mortise_loader *ld, uint32_t node);
/* Later: all of them, and the conditions of all edges. */
/* expr_types.c.  False: a finding, as no result of the expression is of these
 * types. */
bool mortise_load_takes(struct mortise_loader *ld, const struct mortise_expr *e,
                        unsigned types, const char *what);
/* The same for a place of this schema, such as a path of the state. */
void mortise_load_fits(struct mortise_loader *ld, const struct mortise_expr *e,
                       const char *place, const struct mortise_schema *s);
/* The same of what stands in for the output of a node, which the run judges by
 * this schema; one that always gives the same is judged whole.  False: a
 * finding. */
bool mortise_load_output_fits(struct mortise_loader *ld,
                              const struct mortise_expr *e,
                              const struct mortise_node *node,
                              const struct mortise_schema *s);
/* The same check for what templates put into arguments. */
void mortise_load_args_fit(struct mortise_loader *ld,
                           const struct mortise_tmpl *args,
                           const struct mortise_schema *s);
void mortise_load_reducer_fits(struct mortise_loader *ld,
                               const struct mortise_reducer *r);
void mortise_load_expressions(struct mortise_loader *ld);

/* ---- names.c --------------------------------------------------------- */

/* What expressions say of the state and of outputs, against what is known of
 * both: once all expressions were read. */
void mortise_check_names(struct mortise_loader *ld);

/* ---- retry.c --------------------------------------------------------- */

extern const struct mortise_retry mortise_retry_default;
extern const struct mortise_place mortise_retry_place;
/* Into the field of its row, a struct mortise_retry; of a node that is read, and of
 * the defaults. */
mortise_key_fn mortise_load_retry, mortise_load_default_retry;

/* ---- node.c ---------------------------------------------------------- */

extern const struct mortise_word mortise_effect_words[];
extern const struct mortise_key mortise_node_row; /* of `nodes` */
mortise_key_fn mortise_load_nodes;

/* ---- policy.c -------------------------------------------------------- */

extern const struct mortise_place mortise_edge_policy_place;
/* `guardrail_policy` of the edges that were made from the `first` on, all of
 * which leave `from`. */
void mortise_load_edge_policy(struct mortise_loader *ld, uint32_t from,
                              size_t first, const struct mortise_slot *slot);

/* ---- edge.c ---------------------------------------------------------- */

/* An existing node, neither START nor END. */
uint32_t mortise_load_node_id(struct mortise_loader *ld,
                              const struct mortise_yaml *scalar);
/* An edge to what a scalar names; NULL after a finding.  The result is valid
 * until the next edge. */
struct mortise_draft *mortise_load_edge(struct mortise_loader *ld,
                                        uint32_t from,
                                        const struct mortise_yaml *to,
                                        enum mortise_edge_kind kind);
/* The i-th of an id or list of ids; NULL: there are no more. */
const struct mortise_yaml *mortise_load_id(const struct mortise_slot *slot,
                                           size_t i);
extern const struct mortise_key mortise_routes_forms[2];
extern const struct mortise_key mortise_default_forms[2];
extern const struct mortise_key mortise_start_forms[2];
extern const struct mortise_key mortise_edge_row; /* of `edges` */
mortise_key_fn mortise_load_edges, mortise_load_start;
/* Give the nodes their edges out; nothing is added after. */
void mortise_load_merge_edges(struct mortise_loader *ld); /* repeat.c */
void mortise_load_link(struct mortise_loader *ld);
/* Give the nodes their edges in, once it is known which of them count. */
void mortise_load_link_in(struct mortise_loader *ld);

/* ---- amount.c -------------------------------------------------------- */

/* A duration or a count, as it is written or as a template. */
extern const struct mortise_key mortise_duration_forms[2];
/* The value of a slot of these forms: *ms, or what gives it once the node runs. */
void mortise_load_duration(struct mortise_loader *ld,
                           const struct mortise_slot *slot, uint32_t node,
                           uint64_t *ms, struct mortise_tmpl **tmpl);

/* ---- map.c ----------------------------------------------------------- */

extern const struct mortise_place mortise_map_place;
/* The edge that `map` is, of that kind, with its condition (NULL: none); `from`
 * MORTISE_NOWHERE: it is read and not made. */
void mortise_load_map(struct mortise_loader *ld, uint32_t from,
                      enum mortise_edge_kind kind,
                      const struct mortise_yaml *when,
                      const struct mortise_slot *slot);
/* The same, of a value that is {map: ...}. */
void mortise_load_only_map(struct mortise_loader *ld, uint32_t from,
                           enum mortise_edge_kind kind,
                           const struct mortise_slot *slot);
extern const struct mortise_place mortise_only_map_place;

/* ---- persona.c ------------------------------------------------------- */

extern const struct mortise_place mortise_persona_place,
    mortise_personality_place;
/* Before anything is read. */
void mortise_load_persona_defaults(struct mortise_loader *ld);
mortise_key_fn mortise_load_persona;
/* The edges of a `personality`; `from` MORTISE_NOWHERE: none are made. */
void mortise_load_personality(struct mortise_loader *ld, uint32_t from,
                              const struct mortise_slot *slot);
/* What is said of personas, and looked at by nobody. */
void mortise_check_personas(struct mortise_loader *ld);

/* ---- memory.c -------------------------------------------------------- */

/* A word of the graph's about memory that no node of it has. */
void mortise_check_consistency(struct mortise_loader *ld);

/* ---- role.c ---------------------------------------------------------- */

extern const struct mortise_key mortise_role_row; /* of `roles` */
mortise_key_fn mortise_load_roles;
/* What the nodes of the file did not look at. */
void mortise_check_roles(struct mortise_loader *ld);
/* The role of that id; NULL: none, after a finding. */
const struct mortise_role *mortise_role_of(struct mortise_loader *ld,
                                           const struct mortise_yaml *id);

/* ---- discovery.c ----------------------------------------------------- */

extern const struct mortise_place mortise_discovery_place;
/* Does the deployment have who answers, or is there no deployment?  Runs keep to
 * those: they are among the graph's plugins.  Else `why`. */
int mortise_load_answerers(struct mortise_loader *ld, struct mortise_err *why);
/* The edges of a `discovery`, likewise; all nodes were read. */
void mortise_load_discovery(struct mortise_loader *ld, uint32_t from,
                            const struct mortise_slot *slot);
/* Capabilities that no edge looks for. */
void mortise_check_capabilities(struct mortise_loader *ld);

/* ---- map_body.c ---------------------------------------------------------- */

/* Which nodes are the body of which map. */
void mortise_load_bodies(struct mortise_loader *ld);

/* ---- region.c ------------------------------------------------------------ */

/* The graph's regions, once its edges make sense. */
void mortise_load_regions(struct mortise_loader *ld);

/* ---- postdominators.c ---------------------------------------------------- */

/* Where joins may fire early: what can lead nowhere else. */
void mortise_load_postdominators(struct mortise_loader *ld);

/* ---- recoverable.c ------------------------------------------------------- */

/* Which failures a join may still mend. */
void mortise_load_recoverable(struct mortise_loader *ld);

/* ---- check.c, join.c, race.c
 * ------------------------------------------------- */

/* How many findings did this graph have about keys, ids or edges (or some that
 * were lost)?  Those of graphs inside it do not count. */
size_t mortise_check_doubts(const struct mortise_loader *ld);
/* The graph as a whole; makes its regions on the way. */
void mortise_check_structure(struct mortise_loader *ld);
/* unfilled.c: of a graph without errors, that is about to run for the first
 * time. */
void mortise_check_unfilled(struct mortise_loader *ld);
void mortise_check_joins(struct mortise_loader *ld); /* join.c */
void mortise_check_writes(struct mortise_loader *ld);
void mortise_check_warnings(struct mortise_loader *ld); /* warn.c */
/* infinite_loops.c */
void mortise_check_infinite_loops(struct mortise_loader *ld);

/* ---- matches.c ------------------------------------------------------- */

/* What a pattern of tools stood for when the run began whose graph is loaded;
 * NULL: it is what the catalogue says. */
const json_t *mortise_load_matches(struct mortise_loader *ld,
                                   const char *pattern);
/* It stands for this one, too. */
void mortise_load_note_match(struct mortise_loader *ld, const char *pattern,
                             const char *tool);
/* All of that as a source, which is then part of the graph's digest; false:
 * there are no patterns, or memory ran out.  Of the outermost graph. */
bool mortise_load_matches_source(struct mortise_loader *ld,
                                 struct mortise_source *out);

#endif
