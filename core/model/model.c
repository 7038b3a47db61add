/* model.c -- a loaded graph: references, lookups and names.
 *
 * A graph is one arena plus references to the JSON of its schemas, which is on
 * jansson's heap.  Freeing it takes one loop and one free. */
#include "core/model/structure.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mortise_graph *mortise_graph_ref(struct mortise_graph *g)
{
    g->refs++;
    return g;
}

static void free_graph(struct mortise_graph *g)
{
    struct mortise_arena arena = g->arena;

    for (struct mortise_owned_schema *s = g->schemas; s != NULL; s = s->next)
        mortise_schema_finish(s->schema);
    mortise_release(arena.mem, g, sizeof *g);
    mortise_arena_finish(&arena);
}

void mortise_graph_unref(struct mortise_graph *g)
{
    while (g != NULL) {
        struct mortise_graph *former = g->former;

        assert(g->refs > 0);
        if (--g->refs > 0)
            return;
        free_graph(g);
        g = former;
    }
}

static int compare_node_ids(const void *a, const void *b)
{
    const struct mortise_node *const *x = a, *const *y = b;

    return strcmp((*x)->id, (*y)->id);
}

int mortise_graph_sort_nodes(struct mortise_graph *g, struct mortise_arena *a)
{
    g->by_id = mortise_arena_alloc(a, g->n_nodes * sizeof *g->by_id);
    if (g->by_id == NULL)
        return MORTISE_ENOMEM;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        g->by_id[i] = &g->nodes[i];
    qsort(g->by_id, g->n_nodes, sizeof *g->by_id, compare_node_ids);
    return MORTISE_OK;
}

const struct mortise_node *
mortise_graph_find_node(const struct mortise_graph *g, const char *id)
{
    const struct mortise_node key = {.id = id}, *wanted = &key, **found = NULL;

    if (g->by_id != NULL)
        found = bsearch(&wanted, g->by_id, g->n_nodes, sizeof wanted,
                        compare_node_ids);
    return found != NULL ? *found : NULL;
}

const struct mortise_node *
mortise_graph_find_tool(const struct mortise_graph *tools, const char *name)
{
    for (uint32_t i = 0; tools != NULL && i < tools->n_offered; i++)
        if (strcmp(tools->offers[i].name, name) == 0 ||
            strcmp(tools->offers[i].tool, name) == 0)
            return &tools->nodes[i];
    return NULL;
}

const struct mortise_node *
mortise_graph_find_planner(const struct mortise_graph *tools)
{
    return tools != NULL && tools->n_offered < tools->n_nodes
               ? &tools->nodes[tools->n_offered]
               : NULL;
}

const struct mortise_handover *
mortise_graph_handover(const struct mortise_graph *tools, const char *name)
{
    for (size_t i = 0; tools != NULL && i < tools->n_handovers; i++)
        if (strcmp(tools->handovers[i].name, name) == 0)
            return &tools->handovers[i];
    return NULL;
}

static int compare_reducer_path(const void *path, const void *reducer)
{
    return strcmp(((const struct mortise_path *)path)->text,
                  ((const struct mortise_reducer *)reducer)->path.text);
}

const struct mortise_reducer *
mortise_graph_reducer(const struct mortise_graph *g,
                      const struct mortise_path *path)
{
    return g->n_reducers > 0
               ? bsearch(path, g->reducers, g->n_reducers, sizeof *g->reducers,
                         compare_reducer_path)
               : NULL;
}

bool mortise_graph_is_edge_to_later_visit(const struct mortise_graph *g,
                                          const struct mortise_edge *e)
{
    return e->back || (e->yields && g->edges[g->regions[e->home].gather].back);
}

uint32_t mortise_graph_find_map_around(const struct mortise_graph *g,
                                       uint32_t node)
{
    uint32_t at = g->nodes[node].region;

    while (at != 0 && g->regions[at].kind != MORTISE_REGION_MAP)
        at = g->regions[at].parent;
    return at;
}

bool mortise_graph_is_element_path(const struct mortise_graph *g,
                                   const struct mortise_path *path)
{
    if (strcmp(path->steps[0].key, "artifacts") != 0)
        return false;
    for (size_t i = 0; i < g->n_reducers; i++) {
        if (mortise_path_is_prefix(path, &g->reducers[i].path) ||
            mortise_path_is_prefix(&g->reducers[i].path, path))
            return false;
    }
    return true;
}

enum mortise_reduce mortise_graph_get_reduce(const struct mortise_graph *g,
                                             const struct mortise_path *path)
{
    const struct mortise_reducer *r = mortise_graph_reducer(g, path);

    return r != NULL ? r->reduce : MORTISE_REDUCE_DEFAULT;
}

static const struct {
    const char *word;
    enum mortise_node_gives gives;
} kinds[MORTISE_NODE_TYPES] = {
#define NODE_KIND(KIND, word, gives)                                           \
    [MORTISE_NODE_##KIND] = {#word, MORTISE_GIVES_##gives},
#include "core/model/node_kinds.def"
};

const char *mortise_node_type_name(enum mortise_node_type type)
{
    assert(type < MORTISE_NODE_TYPES);
    return kinds[type].word;
}

static bool has_acting_node(const struct mortise_graph *g)
{
    for (uint32_t i = 0; g != NULL && i < g->n_nodes; i++)
        if (mortise_node_has_effects(&g->nodes[i]))
            return true;
    return false;
}

/* Recursive; its depth is that of nested graphs. */
bool mortise_node_has_effects(const struct mortise_node *node)
{
    return node->effect >= MORTISE_WRITE ||
           mortise_node_gives(node) == MORTISE_GIVES_DECISION ||
           has_acting_node(node->tools) || has_acting_node(node->sub);
}

enum mortise_node_gives mortise_node_gives(const struct mortise_node *node)
{
    assert(node->type < MORTISE_NODE_TYPES);
    return kinds[node->type].gives;
}

const char *mortise_node_print_timeout(const struct mortise_node *node,
                                       char out[MORTISE_TIMEOUT_WORDS])
{
    snprintf(out, MORTISE_TIMEOUT_WORDS,
             "the attempt took longer than %llu ms, %s",
             (unsigned long long)node->timeout_ms,
             node->timeout_of != NULL ? node->timeout_of : "its `timeout`");
    return out;
}

const char *mortise_effect_name(enum mortise_effect effect)
{
    static const char *const names[] = {[MORTISE_PURE] = "pure",
                                        [MORTISE_READ] = "read",
                                        [MORTISE_WRITE] = "write",
                                        [MORTISE_EXTERNAL] = "external"};

    assert(effect >= MORTISE_PURE && effect <= MORTISE_EXTERNAL);
    return names[effect];
}

const char *mortise_trait_name(enum mortise_trait trait)
{
#define WORD(trait, text) [trait] = (text),
    static const char *const names[MORTISE_TRAITS] = {
        MORTISE_TRAIT_NAMES(WORD)};
#undef WORD

    assert(trait < MORTISE_TRAITS);
    return names[trait];
}

const char *mortise_guard_stage_name(enum mortise_guard_stage stage)
{
    static const char *const names[] = {
        [MORTISE_GUARD_TARGET] = "target",
        [MORTISE_GUARD_INPUT] = "input",
        [MORTISE_GUARD_OUTPUT] = "output",
        [MORTISE_GUARD_DECISION] = "decision",
        [MORTISE_GUARD_EDGE] = "edge",
        [MORTISE_GUARD_RECALLED] = "memory_read",
        [MORTISE_GUARD_REMEMBERED] = "memory_write"};

    assert(names[stage] != NULL); /* other stages have no checks */
    return names[stage];
}

const char *mortise_consistency_name(enum mortise_consistency consistency)
{
    static const char *const names[] = {"snapshot", "live", "journaled"};

    return names[consistency];
}

const char *mortise_memory_scope_name(enum mortise_memory_scope scope)
{
    static const char *const names[] = {NULL, "global", "persona", "session",
                                        "conversation"};

    return names[scope];
}

const char *mortise_guard_parse_id(const char *name)
{
    size_t n = sizeof MORTISE_GUARD_PREFIX - 1;

    return strncmp(name, MORTISE_GUARD_PREFIX, n) == 0 ? name + n : NULL;
}

bool mortise_edge_is_guarded(const struct mortise_edge *edge)
{
    return edge->policy != NULL && edge->kind != MORTISE_EDGE_DETOUR;
}

bool mortise_node_is_guarded(const struct mortise_node *node, const char *id)
{
    for (size_t s = 0; s < MORTISE_GUARD_STAGES; s++)
        for (size_t i = 0; i < node->guards[s].n; i++)
            if (strcmp(node->guards[s].ids[i], id) == 0)
                return true;
    return false;
}

static void count_guess(const struct mortise_operation *op)
{
    if (op->guesses != NULL)
        ++*op->guesses;
}

bool mortise_operation_is_idempotent(const struct mortise_operation *op)
{
    count_guess(op);
    return op->idempotent;
}

bool mortise_operation_asks_models(const struct mortise_operation *op)
{
    count_guess(op);
    return op->asks_models;
}

enum mortise_judgement
mortise_operation_judge(const struct mortise_operation *op, const json_t *args,
                        struct mortise_err *why)
{
    const struct mortise_span *by;
    char tool[MORTISE_TOOL_MAX];
    enum mortise_judgement judged =
        op->judged_as != NULL
            ? mortise_policy_judge_call(op->policy, op->plugin, op->judged_as,
                                        args, tool, &by)
            : MORTISE_ALLOW;

    if (judged == MORTISE_DENY)
        mortise_policy_report_denial(tool, by, why);
    return judged;
}
