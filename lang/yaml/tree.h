/* tree.h -- YAML files as trees with the position of each value.
 *
 * The events of libyaml are read with the rules of docs/graph.md, section
 * 1: YAML 1.2 core typing (`no`, `on`, `1:30` are strings), UTF-8, one
 * document, 16 MiB, depth 64, limited aliases (expanded; 100,000 nodes), no
 * merge keys, no tags, no duplicate keys.  A tree is immutable; it and its
 * file are in one arena. [any] */
#ifndef MORTISE_LANG_YAML_TREE_H
#define MORTISE_LANG_YAML_TREE_H

#include "core/base/mem.h"
#include "core/json/value.h"
#include "lang/yaml/diag.h"

enum mortise_yaml_kind {
    MORTISE_YAML_NULL,
    MORTISE_YAML_BOOL,
    MORTISE_YAML_INT,
    MORTISE_YAML_REAL,
    MORTISE_YAML_STRING,
    MORTISE_YAML_SEQ,
    MORTISE_YAML_MAP
};

struct mortise_yaml {
    enum mortise_yaml_kind kind;
    struct mortise_span span;
    const char *str; /* the scalar's text, for all scalar kinds */
    size_t len;
    union {
        bool b;
        int64_t i;
        double d;
    } u;
    /* MAP: key[i] (always a string scalar) -> item[i], in file order; SEQ:
     * item[i] */
    struct mortise_yaml **keys, **items;
    size_t n;
    const uint32_t *order; /* MAP: the keys' positions, sorted by key */
};

/* Parse; findings (E01xx) go to `diags`.  With errors, the result is
 * MORTISE_ECHECK and *out is NULL. If all errors are duplicate keys, *out is
 * the tree with the first of each, so that it can be checked further.  The text
 * is copied into the arena. */
int mortise_yaml_parse(struct mortise_yaml **out, struct mortise_arena *a,
                       const char *path, const char *text, size_t n,
                       struct mortise_diags *diags);
/* The name of its file in all data that outlives this process; it must not
 * depend on the spelling of the path.  The alias is lent. */
void mortise_yaml_set_alias(const struct mortise_yaml *tree, const char *alias);
/* Parse a file on disk; a file that cannot be read is a finding. */
int mortise_yaml_read(struct mortise_yaml **out, struct mortise_arena *a,
                      const char *path, struct mortise_diags *diags);

/* Report that a file cannot be read, for other readers of files:
 * MORTISE_ECHECK. */
int mortise_yaml_report_unreadable(struct mortise_arena *a, const char *path,
                                   const char *why,
                                   struct mortise_diags *diags);

/* A mapping of distinct keys and existing items, in their order.  NULL: memory
 * ran out. */
struct mortise_yaml *
mortise_yaml_make_mapping(struct mortise_arena *a, struct mortise_span span,
                          struct mortise_yaml *const *keys,
                          struct mortise_yaml *const *items, size_t n);
/* A tree is immutable, but its mappings have lists of non-const pointers. */
static inline struct mortise_yaml *
mortise_yaml_unconst(const struct mortise_yaml *node)
{
    return (struct mortise_yaml *)(uintptr_t)node;
}

/* The position of a key in a map, or SIZE_MAX (also if `map` is not a
 * mapping). */
size_t mortise_yaml_find(const struct mortise_yaml *map, const char *key);
/* The value of a key, and the key itself, or NULL. */
const struct mortise_yaml *mortise_yaml_get(const struct mortise_yaml *map,
                                            const char *key);
const struct mortise_yaml *mortise_yaml_key(const struct mortise_yaml *map,
                                            const char *key);
/* The node of an RFC 6901 pointer.  If the pointer is invalid, the deepest node
 * on its path. */
const struct mortise_yaml *mortise_yaml_find_at(const struct mortise_yaml *root,
                                                const char *pointer);
/* The node that a schema's message "at /a/0: ..." is about
 * (lang/schema/schema.h); the key, if the member is unknown. */
const struct mortise_yaml *
mortise_yaml_find_at_message(const struct mortise_yaml *root,
                             const char *words);
/* Is this a key that is ignored (x-...)? */
bool mortise_yaml_is_x_key(const char *key);
/* The value of an integer or a real. */
double mortise_yaml_get_number(const struct mortise_yaml *scalar);
/* As JSON, a new reference; NULL: memory ran out.  `sans_x`: omit the `x-`
 * keys. */
json_t *mortise_yaml_to_json(const struct mortise_yaml *node, bool sans_x);
/* The same, with `unknown` instead of each string that is_unknown() accepts. */
json_t *mortise_yaml_to_json_partly(
    const struct mortise_yaml *node, json_t *unknown,
    bool (*is_unknown)(const struct mortise_yaml *string));
/* "a mapping", "a string" ... for messages. */
const char *mortise_yaml_kind_name(enum mortise_yaml_kind kind);
/* The span of bytes [offset, offset+length) of a scalar, up to the end of the
 * line.  All styles are supported: plain, quoted with escapes, block.  If the
 * position cannot be determined, the span of the whole scalar. */
struct mortise_span
mortise_yaml_scalar_position(const struct mortise_yaml *scalar, size_t offset,
                             size_t length);

/* A duration in ms, or a size in bytes (core/base/unit.h).  -1 if it is
 * neither. */
int mortise_yaml_parse_duration(const struct mortise_yaml *scalar,
                                uint64_t *ms);
int mortise_yaml_parse_size(const struct mortise_yaml *scalar, uint64_t *bytes);

#endif
