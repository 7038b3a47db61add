/* schema.h -- compiled JSON Schemas: checking values, and changing them to the
 * types of a schema.
 *
 * The core declares the functions that it needs, and lang/schema/ defines them.
 * A schema is immutable once compiled: [any].
 */
#ifndef MORTISE_JSON_SCHEMA_H
#define MORTISE_JSON_SCHEMA_H

#include "core/base/mem.h"
#include "core/json/value.h"

struct mortise_schema;

/* Compile a schema of a plugin or server, which its users cannot correct, into
 * the arena; other ways are in lang/schema/schema.h.  `json` is kept: a
 * reference until mortise_schema_finish().  On MORTISE_EINVAL, `where` is an
 * RFC 6901 pointer to the invalid part ("": the schema itself).
 * MORTISE_EUNAVAILABLE: the dialect of the schema is not supported. */
int mortise_schema_compile_foreign(struct mortise_schema **out,
                                   struct mortise_arena *a, json_t *json,
                                   char *where, size_t where_size,
                                   struct mortise_err *err);
/* Release the memory outside the arena.  NULL is allowed. */
void mortise_schema_finish(struct mortise_schema *s);

/* Check a value.  MORTISE_EINVAL with "at /a/0/b: expected integer, found
 * string": the first finding, in document order.  The place of the rule
 * follows, "(schema: g.yaml:7:9)", if the schema's world can print it;
 * otherwise "(schema: /allOf/0/type)", if the value's path does not lead to it.
 * A schema of NULL accepts any value.  MORTISE_ELIMIT: the check needs too many
 * steps, or its patterns cost more than `limit` (0: MORTISE_COST).
 * MORTISE_ENOMEM. */
int mortise_schema_check_with_limit(const struct mortise_schema *s,
                                    const json_t *value, uint64_t limit,
                                    struct mortise_err *err);
static inline int mortise_schema_check(const struct mortise_schema *s,
                                       const json_t *value,
                                       struct mortise_err *err)
{
    return mortise_schema_check_with_limit(s, value, 0, err);
}

/* Normalize a value to the types of the schema (docs/graph.md, section 8):
 * integers become reals if the schema has `number` and not `integer`, and
 * 1.0 becomes 1 if it has `integer` and not `number`.  Returns a new
 * reference; the same value if nothing changes or the schema is NULL; NULL
 * if memory ran out.  `limit` is that of the check that the value passed.
 * Nested branches check parts again: a part that costs more than a few
 * times the limit is not changed. */
json_t *mortise_schema_normalize(const struct mortise_schema *s, json_t *value,
                                 uint64_t limit);

/* A schema that every member with this name, or every item, will fit; NULL:
 * unknown, any value is possible. */
const struct mortise_schema *
mortise_schema_get_member(const struct mortise_schema *s, const char *name);
const struct mortise_schema *
mortise_schema_get_items(const struct mortise_schema *s);

/* Bits of the types that a normalized value may have: a member that is a
 * `number` has only MORTISE_T_NUMBER. */
enum {
    MORTISE_T_NULL = 1,
    MORTISE_T_BOOL = 2,
    MORTISE_T_INT = 4,
    MORTISE_T_NUMBER = 8, /* reals */
    MORTISE_T_STRING = 16,
    MORTISE_T_ARRAY = 32,
    MORTISE_T_OBJECT = 64,
    MORTISE_T_ANY = 127
};
unsigned mortise_schema_get_types(const struct mortise_schema *s);
/* The schema as JSON; borrowed. */
const json_t *mortise_schema_json(const struct mortise_schema *s);

#endif
