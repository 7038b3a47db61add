/* agent.h -- the common part of the kinds of nodes whose operation asks models:
 * keys, and the arguments of the operation.  For these kinds only. */
#ifndef MORTISE_LANG_GRAPH_KINDS_AGENT_H
#define MORTISE_LANG_GRAPH_KINDS_AGENT_H

#include "lang/graph/load/node.h"

/* The data of such a node: its `own` begins with this struct. */
struct mortise_agent {
    struct mortise_built_map node; /* the keys for the operation, as written */
    struct mortise_llm *llm;  /* NULL: not set */
    const struct mortise_yaml
        *told;     /* the model for operations that work for the node; NULL:
                    * none */
    bool unpriced; /* at least one of its models has no price */
};

static inline struct mortise_agent *mortise_agent_of(const void *reading)
{
    const struct mortise_node_reader *r = reading;

    return r->node->own;
}

/* For `.read`: passes the key to the operation as written. */
mortise_key_fn mortise_agent_read_own;
/* The same for a key that is `true` if the model needs the service `spawn`. */
mortise_key_fn mortise_agent_read_spawning;

/* The model, its sampling, and the limit of its calls. */
enum {
    MORTISE_AGENT_LLM,
    MORTISE_AGENT_COMPLEXITY,
    MORTISE_AGENT_ITERATIONS,
    MORTISE_AGENT_TEMPERATURE,
    MORTISE_AGENT_MAX_TOKENS,
    MORTISE_AGENT_ROWS
};
extern const struct mortise_key mortise_agent_rows[MORTISE_AGENT_ROWS];

/* Does the node have `KEY: true`? */
bool mortise_agent_has_true(const struct mortise_node_reader *r,
                            const char *key);
/* For nodes whose model may start children. */
extern const struct mortise_key mortise_subagents_row;

/* Add a key that the author did not write, after the written ones. */
void mortise_agent_add_key(struct mortise_loader *ld,
                           struct mortise_node_reader *r, const char *key,
                           const struct mortise_yaml *value);
/* After all keys were read, add: the model of the node or of its graph; the
 * output_schema, in which nothing is a template; whether the node has tools. */
void mortise_agent_add_llm(struct mortise_loader *ld,
                           struct mortise_node_reader *r);
/* Add the persona, for kinds that have one. */
void mortise_agent_add_persona(struct mortise_loader *ld,
                               struct mortise_node_reader *r);
void mortise_agent_add_schema(struct mortise_loader *ld,
                              struct mortise_node_reader *r);
void mortise_agent_add_tools(struct mortise_loader *ld,
                             struct mortise_node_reader *r);
/* Finally, set the arguments of the operation: {members of `all`, node}. */
void mortise_agent_set_args(struct mortise_loader *ld,
                            struct mortise_node_reader *r,
                            struct mortise_built_map *all);

#endif
