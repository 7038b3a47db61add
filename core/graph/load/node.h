/* node.h -- a node while it is being read; shared by the files that read nodes
 * and by nobody else.  node.c has the table of keys, the others have their
 * readers. */
#ifndef MORTISE_GRAPH_LOAD_NODE_H
#define MORTISE_GRAPH_LOAD_NODE_H

#include "graph/load/loader.h"

/* A node while it is read. */
struct mortise_reading {
    struct mortise_node *node;
    const struct mortise_yaml *key, *map;
    bool has_effect, has_retry;
    struct mortise_cel_name *inner; /* a subgraph's, at its end; NULL: none */
};

/* Readers of keys: `ctx` is the loader, `into` the reading. */

/* ---- call.c -------------------------------------------------------------- */

mortise_key_fn mortise_node_read_tool;
mortise_key_fn mortise_node_read_operation;
mortise_key_fn mortise_node_read_extension;
mortise_key_fn mortise_node_read_method;
mortise_key_fn mortise_node_read_effect_class;
/* The class of nodes that ask people, which others cannot have. */
enum { MORTISE_EFFECT_HUMAN = MORTISE_EXTERNAL + 1 };
mortise_key_fn mortise_node_read_resource;
/* Only who writes shares a resource with others. */
void mortise_node_check_resource(struct mortise_loader *ld,
                                 const struct mortise_reading *r);
mortise_key_fn mortise_node_read_cache;
/* Only what is pure may be kept. */
void mortise_node_check_cache(struct mortise_loader *ld,
                              const struct mortise_reading *r);
mortise_key_fn mortise_node_read_on_in_doubt;
mortise_key_fn mortise_node_read_timeout;
mortise_key_fn mortise_node_read_retry_policy;
mortise_key_fn mortise_node_read_input_schema;
mortise_key_fn mortise_node_read_output_schema;
mortise_key_fn mortise_node_read_args;
/* What is written of `args` against the operation's schema. */
void mortise_node_check_args(struct mortise_loader *ld,
                             struct mortise_reading *r,
                             const struct mortise_schema *schema);

/* ---- secret.c ------------------------------------------------------------ */

/* The references to secrets in `args`. */
void mortise_node_check_secrets(struct mortise_loader *ld,
                                struct mortise_reading *r);

/* ---- human.c ------------------------------------------------------------- */

mortise_key_fn mortise_node_read_prompt;
mortise_key_fn mortise_node_read_schema;
mortise_key_fn mortise_node_read_assignees;
mortise_key_fn mortise_node_read_wait;
mortise_key_fn mortise_node_read_on_timeout;
mortise_key_fn mortise_node_read_auto_accept;
mortise_key_fn mortise_node_read_auto_reject;
mortise_key_fn mortise_node_read_guardrail_override;
void mortise_node_finish_human(struct mortise_loader *ld,
                               struct mortise_reading *r);
extern const struct mortise_key mortise_auto_reject_forms[2];

/* ---- guardrail.c --------------------------------------------------------- */

mortise_key_fn mortise_node_read_guardrails;
mortise_key_fn mortise_node_read_post_approval;
mortise_key_fn mortise_node_read_target;
mortise_key_fn mortise_node_read_on_violation;
mortise_key_fn mortise_node_read_reroute_target;
extern const struct mortise_word mortise_violation_words[];
extern const struct mortise_place mortise_guard_policy_place;
mortise_key_fn mortise_node_read_guard_policy;
void mortise_node_finish_guardrail(struct mortise_loader *ld,
                                   struct mortise_reading *r);

/* ---- inner.c ------------------------------------------------------------- */

mortise_key_fn mortise_node_read_graph;
mortise_key_fn mortise_node_read_input_mapping;
mortise_key_fn mortise_node_read_output_mapping;
void mortise_node_finish_subgraph(struct mortise_loader *ld,
                                  struct mortise_reading *r);

/* ---- result.c ------------------------------------------------------------ */

mortise_key_fn mortise_node_read_outputs;
mortise_key_fn mortise_node_read_output_as;
mortise_key_fn mortise_node_read_on_error;
void mortise_node_finish_output(struct mortise_loader *ld,
                                struct mortise_reading *r);
/* Remember that the node writes to a path. */
void mortise_node_add_write(struct mortise_loader *ld,
                            const struct mortise_node *node,
                            const struct mortise_path *path,
                            struct mortise_span span);
/* Note that a map leaves its results as an artifact, under the id of its `to`,
 * before its join starts. */
void mortise_node_add_results(struct mortise_loader *ld, uint32_t join,
                              const struct mortise_yaml *to);
/* Ids of nodes and keys of artifacts. */
bool mortise_node_is_id(const char *s);
void mortise_node_bad_id(struct mortise_loader *ld,
                         const struct mortise_yaml *id);
/* The help of the last finding, about a word where a mapping may stand too. */
void mortise_node_also_takes(struct mortise_loader *ld, const char *what);

/* ---- persona.c, discovery.c ---------------------------------------------- */

mortise_key_fn mortise_node_read_persona_policy;
mortise_key_fn mortise_node_read_capability;

/* ---- join.c -------------------------------------------------------------- */

mortise_key_fn mortise_node_read_join;
mortise_key_fn mortise_node_read_losers;
mortise_key_fn mortise_node_read_on_branch_error;

/* ---- exit.c -------------------------------------------------------------- */

mortise_key_fn mortise_node_read_depends_on;
mortise_key_fn mortise_node_read_next;
mortise_key_fn mortise_node_read_routes;
mortise_key_fn mortise_node_read_default;
mortise_key_fn mortise_node_read_condition;
mortise_key_fn mortise_node_read_targets;
mortise_key_fn mortise_node_read_map;
mortise_key_fn mortise_node_read_max_visits;
void mortise_node_finish_router(struct mortise_loader *ld,
                                struct mortise_reading *r);

/* What stands where more than one form may: human.c, join.c, result.c. */
extern const struct mortise_key mortise_on_timeout_forms[2],
    mortise_join_forms[2], mortise_on_error_forms[2],
    mortise_output_as_forms[2];

#endif
