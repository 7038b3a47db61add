/* schema.h -- JSON Schema (draft 2020-12), compiled: all vocabularies that the
 * draft requires.  `format`, `content...` and what no vocabulary knows are
 * annotations: read and not enforced.  [any] once compiled. */
#ifndef MORTISE_LANG_SCHEMA_SCHEMA_H
#define MORTISE_LANG_SCHEMA_SCHEMA_H

#include "lang/regex/regex.h"
#include "core/json/value.h"

struct mortise_schema;

/* Into the arena; `json` is kept (a reference until the arena's owner calls
 * mortise_schema_finish).  On MORTISE_EINVAL the message says what, and `where`
 * (an RFC 6901 pointer, "" = the schema itself) says which part; on
 * MORTISE_EUNAVAILABLE the schema is in a dialect that this build lacks. */
int mortise_schema_compile(struct mortise_schema **out, struct mortise_arena *a,
                           json_t *json, char *where, size_t where_size,
                           struct mortise_err *err);
/* Give up what the arena does not hold.  NULL is fine. */
void mortise_schema_finish(struct mortise_schema *s);

/* How patterns are read. */
enum mortise_schema_patterns {
    MORTISE_PATTERNS_ECMA, /* ECMA-262's, as JSON Schema says */
    /* ECMA-262's if they are that, else PCRE2's: of a plugin or a server, whose
     * author is not here to mend them. */
    MORTISE_PATTERNS_FOREIGN
};

enum { MORTISE_SCHEMA_WRONG = 32 };

/* What a schema is compiled in; all zero is a world of nothing. */
struct mortise_schema_world {
    /* A document by its absolute URI without a fragment: a new reference, or
     * NULL when there is none of that name.  May be NULL. */
    json_t *(*find)(void *ctx, const char *uri);
    /* A keyword that is none of the draft's stands at the pointer `where`, so
     * it means nothing; `words` say so.  Not called for x-...  May be NULL. */
    void (*unknown)(void *ctx, const char *where, const char *words);
    /* Likewise of a pattern that is FOREIGN and no ECMA-262. */
    void (*foreign)(void *ctx, const char *where, const char *words);
    /* What is wrong at the pointer `where`, with the code that the whole fails
     * with: called for each part, MORTISE_SCHEMA_WRONG of them at most, and the
     * error must not be NULL then.  NULL: the first one ends the compiling.
     * What can be judged only when all else is right (references in a circle)
     * is told of such a schema alone. */
    void (*wrong)(void *ctx, const char *where, int code, const char *words);
    void *ctx;
    enum mortise_schema_patterns patterns;
    /* For the words of a finding: where people find what stands at the pointer
     * `rule` of the schema.  NULL: they get the pointer.  The origin lives as
     * long as the schema. */
    void (*place)(const void *origin, const char *rule, char *out, size_t size);
    const void *origin;
};
int mortise_schema_compile_in(struct mortise_schema **out,
                              struct mortise_arena *a, json_t *json,
                              const struct mortise_schema_world *world,
                              char *where, size_t where_size,
                              struct mortise_err *err);

/* MORTISE_OK, or MORTISE_EINVAL with "at /a/0/b: expected integer, found
 * string" (the first finding, in document order).  Where the rule stands
 * follows, "(schema: g.yaml:7:9)", if the schema's world can say; else, where it
 * cannot be found by walking the schema as the value, "(schema:
 * /allOf/0/type)".  NULL, none is declared, takes anything.
 * MORTISE_ELIMIT: the schema takes too many steps on this value, or its patterns
 * cost more than `limit` (0: MORTISE_COST); MORTISE_ENOMEM. */
int mortise_schema_check_within(const struct mortise_schema *s,
                                const json_t *value, uint64_t limit,
                                struct mortise_err *err);
static inline int mortise_schema_check(const struct mortise_schema *s,
                                       const json_t *value,
                                       struct mortise_err *err)
{
    return mortise_schema_check_within(s, value, 0, err);
}

/* Check a value of which some places are not known yet: each place that holds
 * `unknown` (that very json_t).  MORTISE_EINVAL means that no value in those places
 * would fit; MORTISE_OK, that one may. */
int mortise_schema_check_partly(const struct mortise_schema *s,
                                const json_t *value, const json_t *unknown,
                                struct mortise_err *err);

/* The value as the schema types it (graph.md 8): integers become reals
 * where the schema says `number` and not `integer`, and 1.0 becomes 1 where it
 * says `integer` and not `number`.  Gives a new reference, the same value when
 * nothing changes, as by a schema that is NULL; NULL when memory ran out.  `limit` is
 * that of the check which the value has passed.  Branches inside of branches
 * check parts again: what costs more than some times the limit stays as it is. */
json_t *mortise_schema_normal(const struct mortise_schema *s, json_t *value,
                              uint64_t limit);

/* `base` (an object's), and one member more, which it must not list: a name
 * for a checker, whose schema is part of another one (NULL: anything goes).  In
 * the arena; lives as long as both, and is not finished.  NULL when memory ran
 * out, or before: `base` may be NULL. */
const struct mortise_schema *
mortise_schema_with(struct mortise_arena *a, const struct mortise_schema *base,
                    const char *name, struct mortise_schema *part);

/* `base`, but that the member of this name may be anything.  In the arena; lives
 * as long as `base`, and is not finished.  NULL when memory ran out. */
struct mortise_schema *mortise_schema_but(struct mortise_arena *a,
                                          const struct mortise_schema *base,
                                          const char *name);

/* The same for a checker (NULL: anything goes), but null fits, too.  In the
 * arena, and lives as long as `part`. */
struct mortise_schema *
mortise_schema_or_null(struct mortise_arena *a,
                       const struct mortise_schema *part);

/* What a checker asks: a schema that every member of this name, every item,
 * will fit (NULL: unknown, anything goes). */
const struct mortise_schema *
mortise_schema_member(const struct mortise_schema *s, const char *name);
const struct mortise_schema *
mortise_schema_items(const struct mortise_schema *s);
/* The listed member most like `name`, for "did you mean"; NULL if none is. */
const char *mortise_schema_nearest(const struct mortise_schema *s,
                                   const char *name);
/* What is said of a member of that name, in every branch that there is. */
enum { MORTISE_SCHEMA_SEEN = 8 };
struct mortise_schema_seen {
    bool listed; /* somewhere it is, or a pattern is in it */
    bool never;  /* no value that fits has it */
    bool others; /* others are listed, and nobody says that there may be more */
    bool open;   /* somebody says that there may be more */
    const char *near; /* the listed one that it is most like, or NULL */
    bool slip;        /* ... but for one slip of the finger */
    /* Any of these may hold of it; none: nothing is known. */
    const struct mortise_schema *schemas[MORTISE_SCHEMA_SEEN];
    size_t n;
};
void mortise_schema_look(const struct mortise_schema *s, const char *name,
                         struct mortise_schema_seen *out);
/* Bits of the types that a value may have, once it is normal: a member that
 * is a `number` has MORTISE_T_NUMBER alone. */
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
unsigned mortise_schema_types(const struct mortise_schema *s);
/* What one of the bits is called: "integer". */
const char *mortise_schema_type_name(unsigned bit);
/* The schema as JSON, borrowed. */
const json_t *mortise_schema_json(const struct mortise_schema *s);

#endif
