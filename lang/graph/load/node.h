/* node.h -- a node while it is read; for the files that read nodes only.  Each
 * kind of node is a table of keys plus checks after they were read, in one file
 * of graph/kinds/. */
#ifndef MORTISE_LANG_GRAPH_LOAD_NODE_H
#define MORTISE_LANG_GRAPH_LOAD_NODE_H

#include "lang/graph/load/loader.h"

/* A node while it is read. */
struct mortise_node_reader {
    struct mortise_node *node;
    const struct mortise_yaml *key, *map;
    bool has_effect;
    const struct mortise_yaml *args; /* the arguments of its operation; NULL:
                                      * {} */
    struct mortise_cel_name *inner;  /* for a subgraph: the names at its end;
                                      * else NULL */
    /* The node's persona_policy merged with the graph's persona; NULL: the
     * graph's. */
    const struct mortise_persona *persona;
    /* The value in its memory_policy that names a conversation; NULL: none. */
    const struct mortise_yaml *conversation;
};

/* For `.in` of rows whose field is in the node. */
static inline void *mortise_node_reader_get_node(void *reading)
{
    struct mortise_node_reader *r = reading;

    return r->node;
}

/* Does the node have the key, or a key that is probably a misspelling of it? */
bool mortise_node_has_key(const struct mortise_node_reader *r, const char *key);

/* ---- kinds.c ------------------------------------------------------------- */

/* The readers of a kind of node. */
struct mortise_node_kind {
    struct mortise_place place; /* one type of mortise_node_place */
    size_t size;                /* of its nodes' `own`, which is zeroed; 0:
                                 * none */
    bool is_agent;              /* its operation asks models (agent.h) */
    /* Called before the keys are read: sets the operation of kinds without a
     * key for it. */
    void (*begin)(struct mortise_loader *ld, struct mortise_node_reader *r);
    /* Called after the keys were read.  NULL: nothing to do. */
    void (*finish)(struct mortise_loader *ld, struct mortise_node_reader *r);
    /* How such a node can be a tool (tools.c); NULL: it cannot. */
    const struct mortise_node_as_tool *as_tool;
};

/* A kind whose nodes can be tools of another node. */
struct mortise_node_as_tool {
    const char *prefix; /* of the names of such tools */
    bool has_approvals; /* a person can be asked before each call */
    /* Set the operation, from the part of the name after the prefix; `at` is
     * the name's position. */
    void (*read)(struct mortise_loader *ld, struct mortise_node_reader *r,
                 const char *rest, const struct mortise_yaml *at);
};

/* For `.place`: its table. */
#define MORTISE_KIND_PLACE(word, table)                                        \
    MORTISE_PLACE_OF("a node", table), .type = (word), .of = &mortise_node_place

/* NULL: the kind is not in this version. */
const struct mortise_node_kind *
mortise_node_kind_of(enum mortise_node_type type);
extern const struct mortise_place *const mortise_node_types[];
extern const struct mortise_word mortise_node_words[];

/* ---- node.c -------------------------------------------------------------- */

extern const struct mortise_place mortise_node_place;

/* Rows for the tables of kinds, in the order in which they must be read.
 * First, the type: */
extern const struct mortise_key mortise_type_row;
/* The call: all of these, for a node with an operation. */
extern const struct mortise_key mortise_effect_row, mortise_timeout_row,
    mortise_retry_row, mortise_call_rows[6], mortise_args_row,
    mortise_policy_row;
/* Its output, its incoming edges, and its errors. */
extern const struct mortise_key mortise_output_rows[2], mortise_join_rows[5];
/* Its outgoing edges. */
extern const struct mortise_key mortise_next_row, mortise_route_rows[2],
    mortise_targets_row, mortise_map_row;
/* All others. */
extern const struct mortise_key mortise_visit_rows[2], mortise_persona_row,
    mortise_resource_row, mortise_cache_row, mortise_end_rows[2],
    mortise_memory_row, mortise_discovery_row, mortise_later_rows[3],
    mortise_last_rows[2];
/* All rows after the call, for a node with an output but without an
 * operation. */
extern const struct mortise_key mortise_work_rows[8];
/* All rows but the operation's name, for a node that calls an operation. */
extern const struct mortise_key mortise_operation_rows[16];

/* Readers of keys: `ctx` is the loader, `into` the reading. */

/* Set the defaults of a node before its keys are read. */
void mortise_node_begin(struct mortise_loader *ld,
                        struct mortise_node_reader *r,
                        const struct mortise_node_kind *kind);
/* Apply `defaults` after the keys were read: to calls, and to the timeout of
 * guardrails. */
void mortise_node_apply_defaults(struct mortise_loader *ld,
                                 struct mortise_node_reader *r);

/* ---- call.c -------------------------------------------------------------- */

/* Find the node's operation in the catalogue. */
void mortise_node_find_operation(struct mortise_loader *ld,
                                 struct mortise_node_reader *r,
                                 struct mortise_span at);
/* Read PLUGIN/OPERATION from the string `at`.  The messages call it `noun`, and
 * `what` with an article ("a tool"). */
void mortise_node_name_operation(struct mortise_loader *ld,
                                 struct mortise_node_reader *r,
                                 const struct mortise_yaml *at,
                                 const char *noun, const char *what);
void mortise_node_read_operation(struct mortise_loader *ld,
                                 struct mortise_node_reader *r,
                                 const struct mortise_slot *slot,
                                 const char *what);
/* Set the operation that the deployment has for nodes of this type. */
void mortise_node_read_executor(struct mortise_loader *ld,
                                struct mortise_node_reader *r, const char *type,
                                const char *otherwise);
mortise_key_fn mortise_node_read_effect_class;
/* The effect class of nodes that ask people; other nodes cannot have it. */
enum { MORTISE_EFFECT_HUMAN = MORTISE_EXTERNAL + 1 };
mortise_key_fn mortise_node_read_resource;
/* Report `resource` on a node that does not write. */
void mortise_node_check_resource(struct mortise_loader *ld,
                                 const struct mortise_node_reader *r);
/* Report `cache` on a node that is not pure. */
void mortise_node_check_cache(struct mortise_loader *ld,
                              const struct mortise_node_reader *r);
mortise_key_fn mortise_node_read_on_in_doubt;
mortise_key_fn mortise_node_read_output_schema;
mortise_key_fn mortise_node_read_args;
/* The same for arguments that the kind builds. */
void mortise_node_set_args(struct mortise_loader *ld,
                           struct mortise_node_reader *r,
                           const struct mortise_yaml *args);
/* Check the literal parts of r->args against the operation's schema. */
void mortise_node_check_args(struct mortise_loader *ld,
                             struct mortise_node_reader *r,
                             const struct mortise_schema *schema);

/* ---- secret.c ------------------------------------------------------------ */

/* Check the references to secrets in r->args. */
void mortise_node_check_secrets(struct mortise_loader *ld,
                                struct mortise_node_reader *r);

/* ---- policy.c ------------------------------------------------------------ */

/* Read ids of guardrails into the field of the row, a struct
 * mortise_guard_list. */
mortise_key_fn mortise_node_read_guards;
/* Store the value in the struct field of the key's row; on_violation: reroute also
 * requires the key reroute_target. */
mortise_key_fn mortise_node_read_on_violation;
mortise_key_fn mortise_node_read_reroute_target;
extern const struct mortise_word mortise_violation_words[];
extern const struct mortise_place mortise_guard_policy_place;
mortise_key_fn mortise_node_read_guard_policy;

/* ---- result.c ------------------------------------------------------------ */

/* Read one entry of a mapping from paths to expressions; false after a
 * finding. */
typedef bool mortise_node_entry_fn(struct mortise_loader *ld,
                                   struct mortise_node_reader *r,
                                   struct mortise_output *out,
                                   const struct mortise_yaml *path,
                                   const struct mortise_yaml *expr);
/* Read all entries; returns the number of valid ones. */
size_t mortise_node_read_entries(struct mortise_loader *ld,
                                 struct mortise_node_reader *r,
                                 struct mortise_output **out,
                                 const struct mortise_yaml *map,
                                 mortise_node_entry_fn *read);
mortise_key_fn mortise_node_read_outputs;
mortise_key_fn mortise_node_read_output_as;
mortise_key_fn mortise_node_read_on_error;
/* Allocate the node's `failing`, into which the rows read. */
void mortise_node_begin_failing(struct mortise_loader *ld,
                                struct mortise_node_reader *r);
void mortise_node_complete_output(struct mortise_loader *ld,
                                  struct mortise_node_reader *r);
/* Record that the node writes to a path: the result of the expression, or
 * (NULL) the sanitized value of the path. */
void mortise_node_add_write(struct mortise_loader *ld,
                            const struct mortise_node *node,
                            const struct mortise_path *path,
                            const struct mortise_expr *expr,
                            struct mortise_span span);
/* Record that a map stores its results as an artifact, under the id of its
 * `to`, before its join starts. */
void mortise_node_add_results(struct mortise_loader *ld, uint32_t join,
                              const struct mortise_yaml *to);
/* The form of ids of nodes and keys of artifacts. */
bool mortise_node_is_id(const char *s);
void mortise_node_report_bad_id(struct mortise_loader *ld,
                                const struct mortise_yaml *id);
/* Read a key whose forms are a word and a mapping, in this order.  Returns the
 * word; NULL after a finding, or if the value is a mapping, which is then read
 * into `into`.  `also` describes the mapping, for messages. */
const struct mortise_word *
mortise_node_word_or_map(struct mortise_loader *ld, void *into,
                         const struct mortise_slot *slot, const char *also);

/* ---- persona.c ----------------------------------------------------------- */

mortise_key_fn mortise_node_read_persona_policy;
/* {traits, mood?, adapt_style?} of the node, for an operation that asks models;
 * NULL: there is none, or memory ran out. */
const struct mortise_yaml *
mortise_node_make_persona(struct mortise_loader *ld,
                          const struct mortise_node_reader *r);

/* ---- memory.c, seek.c ---------------------------------------------------- */

extern const struct mortise_place mortise_memory_policy_place,
    mortise_discovery_policy_place;
mortise_key_fn mortise_node_read_memory_policy,
    mortise_node_read_discovery_policy;
/* After all keys of the node were read. */
void mortise_node_complete_memory(struct mortise_loader *ld,
                                  struct mortise_node_reader *r);
void mortise_node_complete_discovery(struct mortise_loader *ld,
                                     const struct mortise_node_reader *r);

/* ---- compaction.c --------------------------------------------------------- */

extern const struct mortise_key mortise_compaction_row;
/* After all keys of a node that receives predecessors were read: find them, and
 * how to shorten their outputs.  `llm` is the node's model (NULL: none). */
void mortise_node_complete_predecessors(struct mortise_loader *ld,
                                        struct mortise_node_reader *r,
                                        const struct mortise_yaml *llm);

/* ---- join.c -------------------------------------------------------------- */

mortise_key_fn mortise_node_read_join;
mortise_key_fn mortise_node_read_losers;
mortise_key_fn mortise_node_read_on_branch_error;

/* ---- inner.c ------------------------------------------------------------- */

/* True after a finding: graphs are nested too deeply. */
bool mortise_inner_is_too_deep(struct mortise_loader *ld,
                               struct mortise_span at);
/* A new graph inside the one of `ld`, from this tree; it inherits from the
 * outer graph. */
struct mortise_graph *mortise_inner_new(struct mortise_loader *ld,
                                        const struct mortise_yaml *tree);
/* Load the subgraph of a node from the mapping of `slot`, or from a file if
 * `slot` is NULL. Sets r->inner. */
void mortise_inner_load(struct mortise_loader *ld,
                        struct mortise_node_reader *r,
                        const struct mortise_slot *slot);
/* Load it from the file to which `ref` refers: files.h. */
void mortise_inner_load_file(struct mortise_loader *ld,
                             struct mortise_node_reader *r,
                             const struct mortise_yaml *ref);

/* ---- tools.c ------------------------------------------------------------- */

/* The tools and the handover targets of a node; both keys read into its
 * `tools`. */
extern const struct mortise_key mortise_tool_rows[2];
/* Read a list as if it were tool_allowlist. */
void mortise_node_read_tools(struct mortise_loader *ld,
                             struct mortise_node_reader *r,
                             const struct mortise_yaml *list);
/* Give a node without tools those of its role (role.c). */
void mortise_role_read_tools(struct mortise_loader *ld,
                             struct mortise_node_reader *r,
                             const struct mortise_role *role);
/* Check that each tool of a list exists, without loading it: no node has these
 * tools. */
void mortise_check_tools(struct mortise_loader *ld,
                         const struct mortise_yaml *list);
/* Add the operation that is the node's planner, after both keys were read. */
void mortise_node_add_planner(struct mortise_loader *ld,
                              struct mortise_node_reader *r,
                              const struct mortise_yaml *at);
/* Finish after all tools were read. */
void mortise_node_complete_tools(struct mortise_loader *ld,
                                 struct mortise_node_reader *r);

/* ---- kinds/tool.c --------------------------------------------------------- */

/* Copy the values that were read for each node into its choices. */
void mortise_node_copy_choices(struct mortise_loader *ld);

/* ---- llm.c --------------------------------------------------------------- */

/* Report an alias without a model.  False: the model has no price. */
bool mortise_llm_check(struct mortise_loader *ld, const char *alias,
                       struct mortise_span at);
/* The mapping for the operation; NULL: memory ran out. */
const struct mortise_yaml *mortise_llm_make_map(struct mortise_loader *ld,
                                                const struct mortise_llm *llm,
                                                double complexity,
                                                const struct mortise_yaml *at);
/* The mapping of mortise_llm_make_map(), for callers without a run's state: a
 * template is replaced by the first entry of its allowlist. */
const struct mortise_yaml *
mortise_llm_make_static_map(struct mortise_loader *ld,
                            const struct mortise_llm *llm,
                            const struct mortise_yaml *map);
/* Is provider_id or a tier set? */
bool mortise_llm_has_model(const struct mortise_llm *llm);

/* ---- made.c -------------------------------------------------------------- */

void mortise_built_map_add(struct mortise_loader *ld,
                           struct mortise_built_map *m,
                           const struct mortise_yaml *key,
                           const struct mortise_yaml *item);
/* A string node with the position of `like`. */
struct mortise_yaml *mortise_yaml_make_text(struct mortise_loader *ld,
                                            const char *text,
                                            const struct mortise_yaml *like);
/* A number node with the position of `like`. */
struct mortise_yaml *mortise_yaml_make_number(struct mortise_loader *ld,
                                              double value,
                                              const struct mortise_yaml *like);
/* NULL: memory ran out. */
struct mortise_yaml *
mortise_built_map_to_yaml(struct mortise_loader *ld,
                          const struct mortise_built_map *m,
                          struct mortise_span at);

/* ---- successors.c, edge.c ------------------------------------------------ */

mortise_key_fn mortise_node_read_depends_on;
mortise_key_fn mortise_node_read_next;
mortise_key_fn mortise_node_read_routes;
mortise_key_fn mortise_node_read_default;
mortise_key_fn mortise_node_read_targets;
mortise_key_fn mortise_node_read_map;
mortise_key_fn mortise_node_read_max_visits;

/* `code` and `message`: failing.c. */
extern const struct mortise_key mortise_failing_rows[2];

/* The values of keys that take several forms: join.c, result.c. */
extern const struct mortise_key mortise_join_forms[2],
    mortise_on_error_forms[2], mortise_output_as_forms[2];

#endif
