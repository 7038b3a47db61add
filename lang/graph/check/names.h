/* names.h -- what nodes write and who can have run before whom: for names.c,
 * which looks at what expressions read. */
#ifndef MORTISE_LANG_GRAPH_CHECK_NAMES_H
#define MORTISE_LANG_GRAPH_CHECK_NAMES_H

#include "lang/graph/load/loader.h"

/* ---- known.c: what nodes write ------------------------------------------- */

/* Lives as long as the graph, and longer than its loader: what an inner graph
 * writes is asked of the mappings around it. */
struct mortise_known {
    const struct mortise_declared *writes; /* sorted by path */
    size_t n;
    const struct mortise_graph *g;
    const struct mortise_schema *const *output_of; /* per node */
    const struct mortise_known *const *known_of;   /* likewise */
    const uint32_t *body; /* likewise: the map in whose body it is, or 0 */
};

/* Some of the writes, which stand beside each other. */
struct mortise_writes {
    size_t lo, hi;
};

/* NULL: memory ran out. */
const struct mortise_known *mortise_known_new(struct mortise_loader *ld);
/* Those that write the step `key` behind `depth` steps that `of` share, or what
 * is below it.  What only sanitises is in none. */
struct mortise_writes mortise_known_below(const struct mortise_known *k,
                                          struct mortise_writes of,
                                          size_t depth, const char *key);
/* Does `node` of that graph see what was written there?  What is an element's own
 * is seen in the body of its map; MORTISE_NOWHERE sees all. */
bool mortise_known_sees(const struct mortise_loader *ld,
                        const struct mortise_known *k,
                        const struct mortise_declared *w, uint32_t node);
/* The step there that is most like `name` (NULL: none), or `best`. */
const char *mortise_known_nearest(const struct mortise_known *k,
                                  struct mortise_writes of, size_t depth,
                                  const char *name, const char *best);

/* ---- before.c: who can have run before whom -------------------------------- */

/* What was asked of the node of the last question is kept. */
struct mortise_before {
    struct mortise_loader *ld;
    const uint32_t *in, *in_at; /* edges into each node */
    uint32_t *mark;             /* node -> the last search that came here */
    uint32_t *queue, n, done;   /* nodes that it came to */
    uint32_t search, node, budget;
    bool any; /* it came to where a budget sends a run, whatever ran before */
    bool started; /* it came to START */
};

/* All of it in the arena; false: memory ran out. */
bool mortise_before_init(struct mortise_before *b, struct mortise_loader *ld,
                         struct mortise_arena *a);
/* Is there a way from `maker` to `node`?  From itself: by a loop.  True, too,
 * where that is not worth finding out, and where no way leads to `node`. */
bool mortise_before_may(struct mortise_before *b, uint32_t maker,
                        uint32_t node);

/* ---- names.c: what an expression is at -------------------------------------- */

struct names;

/* What an expression of a node gives; NULL: anything. */
const void *mortise_names_place(struct names *c, uint32_t node,
                                const struct mortise_expr *e);
/* A member of it, without a finding: *missing where that would be one. */
const void *mortise_names_member(struct names *c, const void *place,
                                 const char *name, bool *missing);
/* One of its elements, where it is a list, else itself; not *opens: it is
 * neither list nor object. */
const void *mortise_names_inside(struct names *c, const void *place,
                                 bool *opens);
/* The key of a mapping that is most like the name, or NULL. */
const char *mortise_names_nearest(const struct mortise_yaml *map,
                                  const char *name);

/* ---- templates.c ------------------------------------------------------------- */

/* Of a node with an operation whose input has a schema, and arguments. */
void mortise_check_templates(struct names *names, struct mortise_loader *ld,
                             const struct mortise_node *node);

#endif
