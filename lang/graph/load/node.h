/* node.h -- a node while it is being read; shared by the files that read nodes
 * and by nobody else.  A kind of nodes is a table of keys and what is looked at
 * once they are read: one file of graph/kinds/. */
#ifndef MORTISE_LANG_GRAPH_LOAD_NODE_H
#define MORTISE_LANG_GRAPH_LOAD_NODE_H

#include "lang/graph/load/loader.h"

/* A node while it is read. */
struct mortise_reading {
    struct mortise_node *node;
    const struct mortise_yaml *key, *map;
    bool has_effect;
    const struct mortise_yaml *args; /* what its operation gets; NULL: {} */
    struct mortise_cel_name *inner;  /* a subgraph's, at its end; NULL: none */
    /* What its persona_policy says, on top of its graph's; NULL: the graph's. */
    const struct mortise_persona *persona;
    /* Where its memory_policy names a conversation; NULL: nowhere. */
    const struct mortise_yaml *conversation;
};

/* For `.in` of rows whose field is the node's. */
static inline void *mortise_reading_node(void *reading)
{
    struct mortise_reading *r = reading;

    return r->node;
}

/* Is the key of the node there, or was another probably meant to be it? */
bool mortise_node_says(const struct mortise_reading *r, const char *key);

/* ---- kinds.c ------------------------------------------------------------- */

/* How the nodes of a kind are read. */
struct mortise_node_kind {
    struct mortise_place place; /* of mortise_node_place */
    size_t size;                /* of `own` of its nodes, zeroed; 0: none */
    bool is_agent;              /* its operation asks models (agent.h) */
    /* Before its keys are read: what it runs, where none of them says it. */
    void (*begin)(struct mortise_loader *ld, struct mortise_reading *r);
    /* All that stands in it was read.  NULL: nothing is left to do. */
    void (*finish)(struct mortise_loader *ld, struct mortise_reading *r);
    /* How nodes may be tools (tools.c); NULL: they are none. */
    const struct mortise_node_as_tool *as_tool;
};

/* Nodes that are there to be called by a name of the node that calls them. */
struct mortise_node_as_tool {
    const char *prefix; /* what such names begin with */
    bool has_approvals; /* somebody may be asked before each call */
    /* What it runs, by the rest of the name, which stands at `at`. */
    void (*read)(struct mortise_loader *ld, struct mortise_reading *r,
                 const char *rest, const struct mortise_yaml *at);
};

/* For `.place`: its table. */
#define MORTISE_KIND_PLACE(word, table)                                        \
    MORTISE_PLACE_OF("a node", table), .type = (word), .of = &mortise_node_place

/* NULL: nodes that are not of this build. */
const struct mortise_node_kind *
mortise_node_kind_of(enum mortise_node_type type);
extern const struct mortise_place *const mortise_node_types[];
extern const struct mortise_word mortise_node_words[];

/* ---- node.c -------------------------------------------------------------- */

extern const struct mortise_place mortise_node_place;

/* Rows for the tables of kinds, in the order in which they are to be read.
 * What a node is. */
extern const struct mortise_key mortise_type_row;
/* How it does what it does: all of these, where it has an operation. */
extern const struct mortise_key mortise_effect_row, mortise_timeout_row,
    mortise_retry_row, mortise_call_rows[6], mortise_args_row,
    mortise_policy_row;
/* Where its output goes; what comes before it, what if it fails. */
extern const struct mortise_key mortise_output_rows[2], mortise_join_rows[5];
/* What comes after it. */
extern const struct mortise_key mortise_next_row, mortise_route_rows[2],
    mortise_targets_row, mortise_map_row;
/* The rest. */
extern const struct mortise_key mortise_visit_rows[2], mortise_persona_row,
    mortise_resource_row, mortise_cache_row, mortise_end_rows[2],
    mortise_memory_row, mortise_discovery_row, mortise_later_rows[3],
    mortise_last_rows[2];
/* From its output on, of a node that has one and calls no operation. */
extern const struct mortise_key mortise_work_rows[8];
/* All but what it calls, of a node that is a call. */
extern const struct mortise_key mortise_operation_rows[16];

/* Readers of keys: `ctx` is the loader, `into` the reading. */

/* Before the keys of a node are read: what holds unless they say otherwise. */
void mortise_node_begin(struct mortise_loader *ld, struct mortise_reading *r,
                        const struct mortise_node_kind *kind);
/* Behind them: what `defaults` say for those that say nothing, of a call, and
 * how long guardrails may take. */
void mortise_node_apply_defaults(struct mortise_loader *ld,
                                 struct mortise_reading *r);

/* ---- call.c -------------------------------------------------------------- */

/* The operation of that name, of the node's plugin. */
void mortise_node_find_operation(struct mortise_loader *ld,
                                 struct mortise_reading *r,
                                 struct mortise_span at);
/* PLUGIN/OPERATION at `at`, a text, which is no `noun` else; `what` is that with an
 * article: "a tool". */
void mortise_node_name_operation(struct mortise_loader *ld,
                                 struct mortise_reading *r,
                                 const struct mortise_yaml *at,
                                 const char *noun, const char *what);
void mortise_node_read_operation(struct mortise_loader *ld,
                                 struct mortise_reading *r,
                                 const struct mortise_slot *slot,
                                 const char *what);
/* The operation that the deployment has for nodes of that type. */
void mortise_node_read_executor(struct mortise_loader *ld,
                                struct mortise_reading *r, const char *type,
                                const char *otherwise);
mortise_key_fn mortise_node_read_effect_class;
/* The class of nodes that ask people, which others cannot have. */
enum { MORTISE_EFFECT_HUMAN = MORTISE_EXTERNAL + 1 };
mortise_key_fn mortise_node_read_resource;
/* Only who writes shares a resource with others. */
void mortise_node_check_resource(struct mortise_loader *ld,
                                 const struct mortise_reading *r);
/* Only what is pure may be kept. */
void mortise_node_check_cache(struct mortise_loader *ld,
                              const struct mortise_reading *r);
mortise_key_fn mortise_node_read_on_in_doubt;
mortise_key_fn mortise_node_read_output_schema;
mortise_key_fn mortise_node_read_args;
/* The same of what no key has, but its kind made. */
void mortise_node_take_args(struct mortise_loader *ld,
                            struct mortise_reading *r,
                            const struct mortise_yaml *args);
/* What is written of r->args against the operation's schema. */
void mortise_node_check_args(struct mortise_loader *ld,
                             struct mortise_reading *r,
                             const struct mortise_schema *schema);

/* ---- secret.c ------------------------------------------------------------ */

/* The references to secrets in r->args. */
void mortise_node_check_secrets(struct mortise_loader *ld,
                                struct mortise_reading *r);

/* ---- policy.c ------------------------------------------------------------ */

/* Into the field of the row: ids of guardrails, a struct mortise_guard_list. */
mortise_key_fn mortise_node_read_guards;
/* Likewise, beside the key reroute_target. */
mortise_key_fn mortise_node_read_on_violation;
mortise_key_fn mortise_node_read_reroute_target;
extern const struct mortise_word mortise_violation_words[];
extern const struct mortise_place mortise_guard_policy_place;
mortise_key_fn mortise_node_read_guard_policy;

/* ---- result.c ------------------------------------------------------------ */

/* One line of a mapping from paths to expressions; false after a finding. */
typedef bool mortise_line_fn(struct mortise_loader *ld,
                             struct mortise_reading *r,
                             struct mortise_output *out,
                             const struct mortise_yaml *path,
                             const struct mortise_yaml *expr);
/* The lines that are right; how many? */
size_t mortise_node_read_lines(struct mortise_loader *ld,
                               struct mortise_reading *r,
                               struct mortise_output **out,
                               const struct mortise_yaml *map,
                               mortise_line_fn *read);
mortise_key_fn mortise_node_read_outputs;
mortise_key_fn mortise_node_read_output_as;
mortise_key_fn mortise_node_read_on_error;
/* Make the node's `failing`, which the rows read into. */
void mortise_node_begin_failing(struct mortise_loader *ld,
                                struct mortise_reading *r);
void mortise_node_finish_output(struct mortise_loader *ld,
                                struct mortise_reading *r);
/* Remember that the node writes to a path: what the expression gives, or (NULL)
 * what stands there, sanitised. */
void mortise_node_add_write(struct mortise_loader *ld,
                            const struct mortise_node *node,
                            const struct mortise_path *path,
                            const struct mortise_expr *expr,
                            struct mortise_span span);
/* Note that a map leaves its results as an artifact, under the id of its `to`,
 * before its join starts. */
void mortise_node_add_results(struct mortise_loader *ld, uint32_t join,
                              const struct mortise_yaml *to);
/* Ids of nodes and keys of artifacts. */
bool mortise_node_is_id(const char *s);
void mortise_node_bad_id(struct mortise_loader *ld,
                         const struct mortise_yaml *id);
/* Read a key that takes a word or a mapping, its forms in this order: the word,
 * or NULL, when it is the mapping, which goes into `into`, or after a finding.
 * `also` is what the mapping may be. */
const struct mortise_word *
mortise_node_word_or_map(struct mortise_loader *ld, void *into,
                         const struct mortise_slot *slot, const char *also);

/* ---- persona.c ----------------------------------------------------------- */

mortise_key_fn mortise_node_read_persona_policy;
/* {traits, mood?, adapt_style?} of the node, as who asks models is told it; NULL:
 * there is none, or memory ran out. */
const struct mortise_yaml *
mortise_node_persona(struct mortise_loader *ld,
                     const struct mortise_reading *r);

/* ---- memory.c, seek.c ---------------------------------------------------- */

extern const struct mortise_place mortise_memory_policy_place,
    mortise_discovery_policy_place;
mortise_key_fn mortise_node_read_memory_policy,
    mortise_node_read_discovery_policy;
/* Once all keys of the node are read. */
void mortise_node_finish_memory(struct mortise_loader *ld,
                                struct mortise_reading *r);
void mortise_node_finish_discovery_policy(struct mortise_loader *ld,
                                          const struct mortise_reading *r);

/* ---- compaction.c --------------------------------------------------------- */

extern const struct mortise_key mortise_compaction_row;
/* Once all keys are read of a node that is told of others: of which, and what is
 * told of them; `llm`: of its model (NULL: nothing). */
void mortise_node_finish_hearing(struct mortise_loader *ld,
                                 struct mortise_reading *r,
                                 const struct mortise_yaml *llm);

/* ---- join.c -------------------------------------------------------------- */

mortise_key_fn mortise_node_read_join;
mortise_key_fn mortise_node_read_losers;
mortise_key_fn mortise_node_read_on_branch_error;

/* ---- inner.c ------------------------------------------------------------- */

/* True: a finding, as no graph may stand in this one. */
bool mortise_inner_is_too_deep(struct mortise_loader *ld,
                               struct mortise_span at);
/* A graph inside this one, of that tree, with what holds around it. */
struct mortise_graph *mortise_inner_new(struct mortise_loader *ld,
                                        const struct mortise_yaml *tree);
/* Load the subgraph of a node, from the slot's own mapping, or (`slot` NULL)
 * from a file.  r->inner is there then. */
void mortise_inner_load(struct mortise_loader *ld, struct mortise_reading *r,
                        const struct mortise_slot *slot);
/* ... from the file that this refers to: files.h. */
void mortise_inner_load_named(struct mortise_loader *ld,
                              struct mortise_reading *r,
                              const struct mortise_yaml *ref);

/* ---- tools.c ------------------------------------------------------------- */

/* What a node may have run for it, and whom it may hand over to: both keys read
 * into its `tools`. */
extern const struct mortise_key mortise_tool_rows[2];
/* What stands in a list, as if tool_allowlist had it. */
void mortise_node_read_tools(struct mortise_loader *ld,
                             struct mortise_reading *r,
                             const struct mortise_yaml *list);
/* Those of a role, for a node that has none of its own.  role.c */
void mortise_role_read_tools(struct mortise_loader *ld,
                             struct mortise_reading *r,
                             const struct mortise_role *role);
/* Tools that no node has: is there each?  Nothing of them is loaded. */
void mortise_check_tools(struct mortise_loader *ld,
                         const struct mortise_yaml *list);
/* The operation that is the node's planner, once both were read. */
void mortise_node_add_planner(struct mortise_loader *ld,
                              struct mortise_reading *r,
                              const struct mortise_yaml *at);
/* ... once all were. */
void mortise_node_finish_tools(struct mortise_loader *ld,
                               struct mortise_reading *r);

/* ---- kinds/tool.c --------------------------------------------------------- */

/* Copy what was read of each node into its choices. */
void mortise_node_finish_choices(struct mortise_loader *ld);

/* ---- llm.c --------------------------------------------------------------- */

/* Is there a model of that alias?  False: there is, and nobody says what it
 * costs. */
bool mortise_llm_check(struct mortise_loader *ld, const char *alias,
                       struct mortise_span at);
/* A mapping for who asks; NULL: memory ran out. */
const struct mortise_yaml *mortise_llm_map(struct mortise_loader *ld,
                                           const struct mortise_llm *llm,
                                           double complexity,
                                           const struct mortise_yaml *at);
/* The mapping of mortise_llm_map(), for callers without a run's state: in place of
 * a template it has the first entry of the template's allowlist. */
const struct mortise_yaml *mortise_llm_named(struct mortise_loader *ld,
                                             const struct mortise_llm *llm,
                                             const struct mortise_yaml *map);
/* Is an alias said, or are tiers? */
bool mortise_llm_says_which(const struct mortise_llm *llm);

/* ---- made.c -------------------------------------------------------------- */

void mortise_made_put(struct mortise_loader *ld, struct mortise_made *m,
                      const struct mortise_yaml *key,
                      const struct mortise_yaml *item);
/* A text that nobody wrote, to be reported where `like` stands. */
struct mortise_yaml *mortise_made_text(struct mortise_loader *ld,
                                       const char *text,
                                       const struct mortise_yaml *like);
/* Likewise a number. */
struct mortise_yaml *mortise_made_number(struct mortise_loader *ld,
                                         double value,
                                         const struct mortise_yaml *like);
/* NULL: memory ran out. */
struct mortise_yaml *mortise_made_map(struct mortise_loader *ld,
                                      const struct mortise_made *m,
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

/* What stands where more than one form may: join.c, result.c. */
extern const struct mortise_key mortise_join_forms[2],
    mortise_on_error_forms[2], mortise_output_as_forms[2];

#endif
