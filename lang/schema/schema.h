/* schema.h -- compiled JSON Schema (draft 2020-12) with all vocabularies that
 * the draft requires.  `format`, `content...` and unknown keywords are
 * annotations: they are read, but not enforced. [any] once compiled. */
#ifndef MORTISE_LANG_SCHEMA_SCHEMA_H
#define MORTISE_LANG_SCHEMA_SCHEMA_H

#include "lang/regex/regex.h"
#include "core/json/schema.h"

/* Compile into the arena.  `json` is kept: a reference until
 * mortise_schema_finish().  On MORTISE_EINVAL, `where` is an RFC 6901 pointer
 * to the invalid part ("": the schema itself).  MORTISE_EUNAVAILABLE: the
 * dialect of the schema is not supported. */
int mortise_schema_compile(struct mortise_schema **out, struct mortise_arena *a,
                           json_t *json, char *where, size_t where_size,
                           struct mortise_err *err);
/* The syntax of patterns. */
enum mortise_schema_patterns {
    MORTISE_PATTERNS_ECMA, /* ECMA-262, as JSON Schema requires */
    /* ECMA-262 if possible, otherwise PCRE2: for schemas of plugins and
     * servers, which their users cannot correct. */
    MORTISE_PATTERNS_FOREIGN
};

enum { MORTISE_SCHEMA_ERRORS_MAX = 32 };

/* The environment of a compilation; all zero: no documents, no callbacks. */
struct mortise_schema_options {
    /* Finds a document by its absolute URI without a fragment: a new reference,
     * or NULL if there is none.  May be NULL. */
    json_t *(*find)(void *ctx, const char *uri);
    /* Called for an unknown keyword at the pointer `where`, which has no
     * effect; `words` is the message.  Not called for x-... May be NULL. */
    void (*unknown)(void *ctx, const char *where, const char *words);
    /* The same for a FOREIGN pattern that is not ECMA-262. */
    void (*foreign)(void *ctx, const char *where, const char *words);
    /* Called for each error at the pointer `where`, at most
     * MORTISE_SCHEMA_ERRORS_MAX times, with the error's code; `err` must not be NULL
     * then.  NULL: the first error ends the compilation.  Some errors (cycles
     * of references) are detected only in a schema without other errors. */
    void (*wrong)(void *ctx, const char *where, int code, const char *words);
    void *ctx;
    enum mortise_schema_patterns patterns;
    /* For the message of a finding: prints the place of the pointer `rule` in
     * the schema for people.  NULL: they get the pointer.  The origin must live
     * as long as the schema. */
    void (*place)(const void *origin, const char *rule, char *out, size_t size);
    const void *origin;
};
int mortise_schema_compile_with(struct mortise_schema **out,
                                struct mortise_arena *a, json_t *json,
                                const struct mortise_schema_options *world,
                                char *where, size_t where_size,
                                struct mortise_err *err);

/* Check a value with unknown places, which hold `unknown` (the same json_t).
 * MORTISE_EINVAL: no value in these places would fit.  MORTISE_OK: some value
 * may. */
int mortise_schema_check_partly(const struct mortise_schema *s,
                                const json_t *value, const json_t *unknown,
                                struct mortise_err *err);

/* A copy of `base` (the schema of an object) with one more member, which it
 * must not list: a name for a checker, whose schema is part of another one
 * (NULL: any value).  In the arena; lives as long as both; needs no finish.
 * NULL if memory ran out, or if `base` is NULL. */
const struct mortise_schema *
mortise_schema_add_member(struct mortise_arena *a,
                          const struct mortise_schema *base, const char *name,
                          struct mortise_schema *part);

/* A copy of `base` in which this member may have any value.  In the arena;
 * lives as long as `base`; needs no finish.  NULL: memory ran out. */
struct mortise_schema *
mortise_schema_open_member(struct mortise_arena *a,
                           const struct mortise_schema *base, const char *name);

/* A copy of `part` for a checker (NULL: any value) that also accepts null.  In
 * the arena; lives as long as `part`. */
struct mortise_schema *
mortise_schema_allow_null(struct mortise_arena *a,
                          const struct mortise_schema *part);

/* The listed member that is most similar to `name`; NULL: none is similar. */
const char *mortise_schema_find_nearest(const struct mortise_schema *s,
                                        const char *name);
/* The result of searching all branches for a member of that name. */
enum { MORTISE_SCHEMA_MEMBER_SCHEMAS = 8 };
struct mortise_schema_member_info {
    bool listed; /* it is listed, or matches a pattern */
    bool never;  /* no fitting value has it */
    bool others; /* others are listed, and no schema allows further members */
    bool open;   /* some schema allows further members */
    const char *near; /* the most similar listed member, or NULL */
    bool slip;        /* `near` differs only by a typing error */
    /* One of these may apply to it; none: nothing is known. */
    const struct mortise_schema *schemas[MORTISE_SCHEMA_MEMBER_SCHEMAS];
    size_t n;
};
void mortise_schema_find_member(const struct mortise_schema *s,
                                const char *name,
                                struct mortise_schema_member_info *out);
/* The name of a type bit: "integer". */
const char *mortise_schema_type_name(unsigned bit);
#endif
