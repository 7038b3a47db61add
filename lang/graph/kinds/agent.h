/* agent.h -- what kinds of nodes have alike whose operation asks models: keys, and
 * what the operation is told of them.  Between those kinds alone. */
#ifndef MORTISE_LANG_GRAPH_KINDS_AGENT_H
#define MORTISE_LANG_GRAPH_KINDS_AGENT_H

#include "lang/graph/load/node.h"

/* What is read of such a node: its `own` begins with it. */
struct mortise_agent {
    struct mortise_made node; /* the keys that its operation gets, as written */
    struct mortise_llm *llm;  /* NULL: not said */
    const struct mortise_yaml
        *told;     /* what others that ask for it are told of it; NULL */
    bool unpriced; /* nobody says what a model of it costs */
};

static inline struct mortise_agent *mortise_agent_of(const void *reading)
{
    const struct mortise_reading *r = reading;

    return r->node->own;
}

/* For `.read`: the operation gets the key as it is written. */
mortise_key_fn mortise_agent_read_own;

/* Which model, how long and how freely it answers, and how often it is asked. */
enum {
    MORTISE_AGENT_LLM,
    MORTISE_AGENT_COMPLEXITY,
    MORTISE_AGENT_ITERATIONS,
    MORTISE_AGENT_TEMPERATURE,
    MORTISE_AGENT_MAX_TOKENS,
    MORTISE_AGENT_ROWS
};
extern const struct mortise_key mortise_agent_rows[MORTISE_AGENT_ROWS];

/* Does the node say `KEY: true`? */
bool mortise_agent_says(const struct mortise_reading *r, const char *key);
/* Of those whose model may have children. */
extern const struct mortise_key mortise_subagents_row;

/* A key that nobody wrote, behind those that stand there. */
void mortise_agent_put(struct mortise_loader *ld, struct mortise_reading *r,
                       const char *key, const struct mortise_yaml *value);
/* Once all keys are read: what the node says of its model, or else its graph;
 * its output_schema, in which nothing is a template; that it has tools. */
void mortise_agent_put_llm(struct mortise_loader *ld,
                           struct mortise_reading *r);
/* ... as whom it asks; of a node that is told of personas. */
void mortise_agent_put_persona(struct mortise_loader *ld,
                               struct mortise_reading *r);
void mortise_agent_put_schema(struct mortise_loader *ld,
                              struct mortise_reading *r);
void mortise_agent_put_tools(struct mortise_loader *ld,
                             struct mortise_reading *r);
/* ... and then: {args?, ... of `all`, node}, which is what its operation gets. */
void mortise_agent_take_args(struct mortise_loader *ld,
                             struct mortise_reading *r,
                             struct mortise_made *all);

#endif
