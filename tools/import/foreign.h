/* foreign.h -- the import of a graph file of another system: shared by
 * import.c, the foreign_*.c and server.h.
 *
 * "Source" is the file that is imported, and its system.  In names, `theirs` is
 * a key or id of the source, and `ours` the one in the new file. */
#ifndef MORTISE_TOOLS_IMPORT_FOREIGN_H
#define MORTISE_TOOLS_IMPORT_FOREIGN_H

#include <jansson.h>

#include "core/base/mem.h"
#include "lang/schema/schema.h"
#include "lang/yaml/tree.h"

struct foreign {
    struct mortise_arena *arena;
    struct mortise_diags *diags;
    json_t *ids;      /* source id -> new id, in the current graph */
    const char *type; /* of the current node; NULL: none */
    struct mortise_schema *state; /* of `state`, once made */
    /* For a compiled graph.  `voices`: the voice nodes that have `edges` of
     * their own (foreign_voice.c), by new id.  `first` and `fed`: the sets of
     * nodes (new ids) with an edge from START, and from another node. */
    json_t *voices, *first, *fed;
    json_t *speakers; /* all voice nodes: source id -> path of the output */
    bool nomem;
};

/* How a field is converted. */
enum foreign_conversion {
    FOREIGN_COPY,         /* copied; `${` in its strings is escaped */
    FOREIGN_VERBATIM,     /* copied verbatim: the key takes no templates */
    FOREIGN_STATE_SCHEMA, /* a schema of state (foreign_schema.c) */
    FOREIGN_MS,           /* milliseconds, to a duration; 0: no field */
    FOREIGN_ID,           /* the id of a node */
    FOREIGN_IDS,          /* a list of ids; empty: no field */
    FOREIGN_MAP,          /* a mapping, converted by `inside` */
    FOREIGN_CUSTOM,       /* known, but converted by other code */
    FOREIGN_RUN_STATE     /* state of a run: reported, not imported */
};

struct foreign_row {
    const char *theirs; /* NULL ends the table */
    const char *ours;
    enum foreign_conversion how;
    const struct foreign_row *inside;
};

/* ---- foreign.c: findings and values ------------------------------------- */

/* Report a loss (W1001) or an error (E1001).  `why` (may be NULL) is the help
 * text. */
void mortise_foreign_report(struct foreign *f, const char *code,
                            struct mortise_span at, const char *why,
                            const char *fmt, ...) MORTISE_PRINTF(5, 6);
#define mortise_foreign_report_loss(f, ...)                                    \
    mortise_foreign_report(f, "W1001", __VA_ARGS__)
#define mortise_foreign_report_error(f, ...)                                   \
    mortise_foreign_report(f, "E1001", __VA_ARGS__)

/* Set a member; takes the reference to v.  v NULL: out of memory, sets
 * f->nomem. */
void mortise_foreign_set(struct foreign *f, json_t *into, const char *key,
                         json_t *v);
/* The same for a list or an object; an empty one is not added. */
void mortise_foreign_set_nonempty(struct foreign *f, json_t *into,
                                  const char *key, json_t *v);

/* ---- foreign_row.c: fields by table ------------------------------------- */

/* Convert the fields of a mapping, in the order of the table.  A key that the
 * table lacks is reported; the message calls the mapping `what`.  If f->type is
 * set, a field that nodes of this type do not have here is reported, too.
 * `into` NULL: only check the keys; each row must be FOREIGN_CUSTOM. */
void mortise_foreign_convert_map(struct foreign *f,
                                 const struct foreign_row *rows,
                                 const struct mortise_yaml *map,
                                 const char *what, json_t *into);
/* Convert the field of one row, if the mapping has it. */
void mortise_foreign_convert_field(struct foreign *f,
                                   const struct foreign_row *row,
                                   const struct mortise_yaml *map,
                                   json_t *into);
/* Copy a schema of state without the keywords that demand values, such as
 * `required`, and report each of them (foreign_schema.c).  The message calls
 * the state `what`. */
json_t *mortise_foreign_convert_schema(struct foreign *f, const char *what,
                                       const struct mortise_yaml *schema);
/* Copy a value to a place that takes templates, so that none of its strings is
 * read as a template. */
json_t *mortise_foreign_copy_literal(struct foreign *f,
                                     const struct mortise_yaml *value);
/* Format `ms` as a duration, such as "5m". */
json_t *mortise_foreign_format_duration(uint64_t ms);
/* Do nodes of this type have the key, in this build or a later one? */
bool mortise_foreign_has_key(const char *type, const char *ours);
/* Get a positive whole number of milliseconds; false: it is no such number. */
bool mortise_foreign_get_ms(const struct mortise_yaml *v, uint64_t *ms);
/* Is it this string?  v may be NULL. */
bool mortise_foreign_is_string(const struct mortise_yaml *v, const char *word);
/* Get a member; NULL: it is absent or null. */
const struct mortise_yaml *mortise_foreign_get(const struct mortise_yaml *map,
                                               const char *key);

/* ---- foreign_id.c: ids -------------------------------------------------- */

/* Fill f->ids with a new id for each id of the list.  The list has no
 * duplicates. */
void mortise_foreign_add_ids(struct foreign *f,
                             const struct mortise_yaml *const *list, size_t n);
/* The same for nodes that contain their `id`; false: an id is invalid, which
 * was reported. */
bool mortise_foreign_add_node_ids(struct foreign *f,
                                  const struct mortise_yaml *list);
/* Get the new id of a node; NULL: there is no such node, which was reported. */
const char *mortise_foreign_find_id(struct foreign *f,
                                    const struct mortise_yaml *id);
/* Make a valid metadata.name of `given`. */
json_t *mortise_foreign_make_name(const char *given, size_t n);

/* ---- foreign_expr.c: conditions ----------------------------------------- */

struct foreign_cond; /* tools/import/foreign_cond.h */

/* Read a condition of the source, {type, expr}, into the arena.  NULL: it
 * cannot be imported, which was reported; the message calls its owner
 * `what`. */
const struct foreign_cond *mortise_foreign_parse_condition(
    struct foreign *f, const struct mortise_yaml *condition, const char *what);
/* Make the CEL condition of an edge to the node `to`.  The source takes the
 * edge if the condition is true or gives the id of that node. */
json_t *mortise_foreign_make_edge_expr(struct foreign *f,
                                       const struct foreign_cond *c,
                                       const char *to);
/* Make the CEL condition of a router.  `targets`: source id -> new id. */
json_t *mortise_foreign_make_router_expr(struct foreign *f,
                                         const struct foreign_cond *c,
                                         json_t *targets);

/* ---- foreign_task.c, foreign_exec.c and its parts ----------------------- */

json_t *mortise_foreign_convert_task(struct foreign *f,
                                     const struct mortise_yaml *root);
json_t *mortise_foreign_convert_task_node(struct foreign *f,
                                          const struct mortise_yaml *root);
json_t *mortise_foreign_convert_exec(struct foreign *f,
                                     const struct mortise_yaml *root);
/* Convert a node.  `targets`: for a router, source id -> new id; otherwise
 * NULL. `every_node`: the checkpointPolicy of the graph is every_node. */
json_t *mortise_foreign_convert_node(struct foreign *f,
                                     const struct mortise_yaml *node,
                                     json_t *targets, bool every_node);
/* Convert a dotted path of the source, below `root`, to a path that is also a
 * CEL expression.  In the arena; NULL: out of memory. */
char *mortise_foreign_convert_path(struct foreign *f, const char *root,
                                   const char *dotted);
/* Record an edge in f->first or f->fed. */
void mortise_foreign_record_edge(struct foreign *f, const char *from,
                                 const char *to);
/* foreign_voice.c: edges of voice nodes.  Call mortise_foreign_find_voices() with
 * the nodes first, mortise_foreign_convert_exit() for each converted edge, and
 * mortise_foreign_add_voice_edges() at the end to add the edges that the source lacks. */
void mortise_foreign_find_voices(struct foreign *f,
                                 const struct mortise_yaml *nodes);
void mortise_foreign_convert_exit(struct foreign *f,
                                  const struct mortise_yaml *theirs,
                                  const char *from, const char *to,
                                  json_t *edge);
void mortise_foreign_add_voice_edges(struct foreign *f, json_t *edges);
/* Report a condition that reads the result of a voice node from scratch: here
 * the result is an artifact. */
void mortise_foreign_check_voice_path(struct foreign *f,
                                      const struct mortise_yaml *expr);
/* Convert the edges.  An edge of a router becomes a target instead: `routers`
 * has a member for each router, new id -> its targets (source id -> new id). */
json_t *mortise_foreign_convert_edges(struct foreign *f,
                                      const struct mortise_yaml *list,
                                      json_t *routers);

#endif
