/* foreign.h -- a file of another system while it is carried over; shared by
 * import.c and the foreign_*.c, and by server.h. */
#ifndef MORTISE_TOOLS_IMPORT_FOREIGN_H
#define MORTISE_TOOLS_IMPORT_FOREIGN_H

#include <jansson.h>

#include "core/base/mem.h"
#include "lang/schema/schema.h"
#include "lang/yaml/tree.h"

struct foreign {
    struct mortise_arena *arena;
    struct mortise_diags *diags;
    json_t *ids;      /* their id -> ours, of the graph that is carried over */
    const char *type; /* of the node that is; NULL: none is */
    struct mortise_schema *state; /* of expressions; NULL: none was seen */
    /* Of a compiled graph: its voice nodes that say where they lead
     * (foreign_voice.c), and the nodes to which an edge leads from START, and
     * from another node: sets of our ids. */
    json_t *voices, *first, *fed;
    json_t *speakers; /* their ids of all its voice nodes, a set */
    bool nomem;
};

/* What becomes of a field. */
enum foreign_how {
    FOREIGN_SAME,   /* its value is ours, and ${ in strings means ${ */
    FOREIGN_DATA,   /* its value is, to the letter: no template stands there */
    FOREIGN_FILLED, /* a schema of what is filled step by step */
    FOREIGN_MS,     /* a duration; 0 and less: none */
    FOREIGN_ID,     /* a node */
    FOREIGN_IDS,    /* a list of them; empty: none */
    FOREIGN_MAP,    /* a mapping, by `inside` */
    FOREIGN_READ,   /* whoever knows the mapping looks by itself */
    FOREIGN_RUN     /* of a run, which is no part of a graph */
};

struct foreign_row {
    const char *theirs; /* NULL ends a list */
    const char *ours;
    enum foreign_how how;
    const struct foreign_row *inside;
};

/* ---- foreign.c: findings and values -------------------------------------- */

/* A finding: what is lost, W1001, or what is wrong, E1001.  The words say what,
 * and `why` (may be NULL) is the help. */
void mortise_foreign_say(struct foreign *f, const char *code,
                         struct mortise_span at, const char *why,
                         const char *fmt, ...) MORTISE_PRINTF(5, 6);
#define mortise_foreign_lost(f, ...)                                           \
    mortise_foreign_say(f, "W1001", __VA_ARGS__)
#define mortise_foreign_wrong(f, ...)                                          \
    mortise_foreign_say(f, "E1001", __VA_ARGS__)

/* Set a member, whose reference is taken; NULL: out of memory. */
void mortise_foreign_put(struct foreign *f, json_t *into, const char *key,
                         json_t *v);
/* The same of a list or an object, unless it is empty. */
void mortise_foreign_put_some(struct foreign *f, json_t *into, const char *key,
                              json_t *v);

/* ---- foreign_row.c: fields by table -------------------------------------- */

/* The fields of a mapping, in the order of the table; those that it does not
 * know are left behind.  `what` has them, in words.  A node's are held to what
 * a node of its type takes here.  `into` NULL: whoever calls reads them all,
 * and keys that begin with x- go nowhere. */
void mortise_foreign_carry(struct foreign *f, const struct foreign_row *rows,
                           const struct mortise_yaml *map, const char *what,
                           json_t *into);
/* The field of one row. */
void mortise_foreign_carry_one(struct foreign *f, const struct foreign_row *row,
                               const struct mortise_yaml *map, json_t *into);
/* A schema that nothing was held to while it was filled: without what asks for
 * something to be there already, which is listed.  `what` it is of, in words. */
json_t *mortise_foreign_filled(struct foreign *f, const char *what,
                               const struct mortise_yaml *schema);
/* The value as it is written where templates stand, none of its strings being
 * one. */
json_t *mortise_foreign_literal(struct foreign *f,
                                const struct mortise_yaml *value);
/* `ms` as a duration. */
json_t *mortise_foreign_duration(uint64_t ms);
/* Does a node of this type take the key, in this build or a later one? */
bool mortise_foreign_takes(const char *type, const char *ours);
/* Milliseconds, of which there are any. */
bool mortise_foreign_ms(const struct mortise_yaml *v, uint64_t *ms);
/* Is it this string?  (NULL is none.) */
bool mortise_foreign_is(const struct mortise_yaml *v, const char *word);
/* The value of a field that says something: neither absent nor null. */
const struct mortise_yaml *mortise_foreign_get(const struct mortise_yaml *map,
                                               const char *key);

/* ---- foreign_id.c: ids ---------------------------------------------------- */

/* `list` has the ids of a graph, each once. */
void mortise_foreign_ids(struct foreign *f,
                         const struct mortise_yaml *const *list, size_t n);
/* The same of nodes that have their `id` in them; false after a finding. */
bool mortise_foreign_ids_of(struct foreign *f, const struct mortise_yaml *list);
/* Ours for a node that theirs names; NULL after a finding. */
const char *mortise_foreign_id(struct foreign *f,
                               const struct mortise_yaml *id);
/* A name for the file: what cannot be one in `given` becomes a dash. */
json_t *mortise_foreign_name(const char *given, size_t n);

/* ---- foreign_expr.c: conditions ------------------------------------------- */

struct foreign_cond; /* tools/import/foreign_cond.h */

/* A condition of theirs, {type, expr}, in the arena.  NULL when it is none that
 * can be carried over, after a finding about `what`. */
const struct foreign_cond *mortise_foreign_condition(
    struct foreign *f, const struct mortise_yaml *condition, const char *what);
/* The condition of an edge that is taken when it holds, or gives the id `to`. */
json_t *mortise_foreign_when(struct foreign *f, const struct foreign_cond *c,
                             const char *to);
/* The condition of a router.  `targets`: their ids -> ours. */
json_t *mortise_foreign_choice(struct foreign *f, const struct foreign_cond *c,
                               json_t *targets);

/* ---- foreign_task.c, foreign_exec.c and its parts: the shapes ------------ */

json_t *mortise_foreign_task(struct foreign *f,
                             const struct mortise_yaml *root);
json_t *mortise_foreign_task_node(struct foreign *f,
                                  const struct mortise_yaml *root);
json_t *mortise_foreign_exec(struct foreign *f,
                             const struct mortise_yaml *root);
/* A node.  `targets`: a router's, their ids -> ours; NULL: it is none.
 * `every_node`: the graph's checkpointPolicy. */
json_t *mortise_foreign_node(struct foreign *f, const struct mortise_yaml *node,
                             json_t *targets, bool every_node);
/* A dotted path of theirs, below `root`, spelled so that it is a path and an
 * expression, too; in the arena, NULL: out of memory. */
char *mortise_foreign_path(struct foreign *f, const char *root,
                           const char *dotted);
/* An edge leads there: f->first and f->fed. */
void mortise_foreign_led(struct foreign *f, const char *from, const char *to);
/* foreign_voice.c: f->voices, of a list of nodes; then each edge, which is there
 * in our words, and at last what has no edge yet. */
void mortise_foreign_voices(struct foreign *f,
                            const struct mortise_yaml *nodes);
void mortise_foreign_exit(struct foreign *f, const struct mortise_yaml *theirs,
                          const char *from, const char *to, json_t *edge);
void mortise_foreign_exits(struct foreign *f, json_t *edges);
/* A condition looks where theirs keep what was heard, and ours do not. */
void mortise_foreign_heard(struct foreign *f, const struct mortise_yaml *expr);
/* The edges; those of routers become their targets instead: `routers` has a
 * member for each (our id -> {}), which gets targets, their ids -> ours. */
json_t *mortise_foreign_edges(struct foreign *f,
                              const struct mortise_yaml *list, json_t *routers);

#endif
