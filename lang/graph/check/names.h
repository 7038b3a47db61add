/* names.h -- the writes of nodes, and the order in which nodes run: for
 * names.c, which checks the names in expressions. */
#ifndef MORTISE_LANG_GRAPH_CHECK_NAMES_H
#define MORTISE_LANG_GRAPH_CHECK_NAMES_H

#include "lang/graph/load/loader.h"

/* ---- known.c: the writes of nodes ---------------------------------------- */

/* Lives as long as the graph, longer than its loader: the mappings around an
 * inner graph need its writes. */
struct mortise_write_index {
    const struct mortise_declared_write *writes; /* sorted by path */
    size_t n;
    const struct mortise_graph *g;
    const struct mortise_schema *const *output_of; /* per node */
    const struct mortise_write_index *const *known_of; /* per node */
    const uint32_t *body; /* per node: the map whose body contains it, or 0 */
};

/* A range of the writes. */
struct mortise_write_range {
    size_t lo, hi;
};

/* Collect the writes of the graph; NULL: memory ran out. */
const struct mortise_write_index *
mortise_write_index_new(struct mortise_loader *ld);
/* The writes among `of`, which share `depth` steps, whose next step is `key`,
 * including writes below it.  Sanitizing guardrails are in no range. */
struct mortise_write_range
mortise_write_index_find_below(const struct mortise_write_index *k,
                               struct mortise_write_range of, size_t depth,
                               const char *key);
/* Is the write of graph `k` visible to `node` of the loader's graph?  The value
 * of a map element is visible only in the map's body; MORTISE_NOWHERE sees
 * every write. */
bool mortise_write_index_is_visible(const struct mortise_loader *ld,
                                    const struct mortise_write_index *k,
                                    const struct mortise_declared_write *w,
                                    uint32_t node);
/* The step at this depth that is most similar to `name`, compared with `best`;
 * NULL: none. */
const char *
mortise_write_index_find_nearest(const struct mortise_write_index *k,
                                 struct mortise_write_range of, size_t depth,
                                 const char *name, const char *best);

/* ---- before.c: which nodes may run before which -------------------------- */

/* Keeps the search of the last question, for the same node. */
struct mortise_order_search {
    struct mortise_loader *ld;
    const uint32_t *in, *in_at; /* edges into each node */
    uint32_t *mark;             /* node -> the last search that visited it */
    uint32_t *queue, n, done;   /* visited nodes */
    uint32_t search, node, budget;
    bool any; /* reached the target of a budget's goto: any node may have run */
    bool started; /* reached START */
};

/* Allocates in the arena; false: memory ran out. */
bool mortise_order_search_init(struct mortise_order_search *b,
                               struct mortise_loader *ld,
                               struct mortise_arena *a);
/* Is there a path from `maker` to `node`?  From a node to itself: through a
 * loop.  Also true if the search would cost too much, and if no path leads to
 * `node`. */
bool mortise_order_search_has_path(struct mortise_order_search *b,
                                   uint32_t maker, uint32_t node);

/* ---- names.c: the places that expressions refer to ----------------------- */

struct names;

/* The place of an expression's value; NULL: any value. */
const void *mortise_names_get_place(struct names *c, uint32_t node,
                                    const struct mortise_expr *e);
/* A member of the place, without a finding; *missing if there would be one. */
const void *mortise_names_get_member(struct names *c, const void *place,
                                     const char *name, bool *missing);
/* An element of a list, or the object itself; *opens is false for other
 * values. */
const void *mortise_names_get_element(struct names *c, const void *place,
                                      bool *opens);
/* The key of the mapping that is most similar to the name, or NULL. */
const char *mortise_names_find_nearest(const struct mortise_yaml *map,
                                       const char *name);

/* ---- templates.c ------------------------------------------------------------- */

/* Check the templates in a node's arguments; its operation has an input
 * schema. */
void mortise_check_templates(struct names *names, struct mortise_loader *ld,
                             const struct mortise_node *node);

#endif
