/* compiled.h -- the structs of a compiled schema: compile.c, keywords.c and
 * refs.c create them, check.c and schema.c use them.  For lang/schema only. */
#ifndef MORTISE_LANG_SCHEMA_COMPILED_H
#define MORTISE_LANG_SCHEMA_COMPILED_H

#include "lang/regex/regex.h"
#include "lang/schema/schema.h"

/* The place of a schema: the path back to the root of its document. */
struct schema_place {
    const struct mortise_schema *up; /* NULL: the root */
    const char *keyword;             /* of `up`; NULL: the target of a $ref */
    const char *name;                /* below the keyword, or NULL */
    size_t index;                    /* below the keyword, if is_index */
    bool is_index;
};

struct schema_member {
    const char *name; /* borrowed from the JSON */
    struct mortise_schema *schema;
};

struct schema_pattern {
    const char *text;
    struct mortise_regex *regex;
    struct mortise_schema *schema; /* of patternProperties */
};

struct schema_list {
    struct mortise_schema **p;
    size_t n;
};

/* A part of a document with a URI of its own, and its anchors. */
struct schema_anchor {
    const struct schema_anchor *next;
    const char *name;
    bool dynamic;
    struct mortise_schema *schema;
};

struct schema_resource {
    const struct schema_resource *next;
    const char *uri; /* without a fragment; absolute if the author wrote it
                      * so */
    unsigned vocabularies;
    struct mortise_schema *root;
    const struct schema_anchor *anchors;
};

/* A resolved reference. */
struct schema_ref {
    const char *text;
    struct mortise_schema *target;
    const char *dynamic; /* the anchor to look up in the scope, or NULL */
};

/* The less common keywords. */
struct schema_rare_keywords {
    const json_t *constant;
    const json_t *minimum, *maximum, *above, *below, *multiple_of;
    size_t min_length, max_length, min_items, max_items, min_members,
        max_members, min_contains, max_contains; /* SIZE_MAX: no limit */
    struct schema_pattern pattern;               /* .regex NULL: none */
    bool unique, is_resource;
    struct schema_list prefix, all_of, any_of, one_of;
    struct mortise_schema *contains, *names, *not, *when, *then, *otherwise,
        *unevaluated_members, *unevaluated_items;
    struct schema_pattern *patterns;
    size_t n_patterns;
    const json_t *dependent_required;
    struct schema_member *dependents;
    size_t n_dependents;
    struct schema_ref ref, dynamic_ref; /* .text NULL: none */
};

/* Data that all schemas of one compilation share. */
struct schema_shared {
    const struct mortise_mem *mem; /* the arena's; borrowed */
    json_t *json;                  /* a reference */
    struct schema_document *documents;
    void (*place)(const void *origin, const char *rule, char *out, size_t size);
    const void *origin; /* of the world of the compilation */
    bool has_dynamic;   /* a $dynamicRef uses the scope */
};

/* A document that a reference loaded. */
struct schema_document {
    struct schema_document *next;
    const char *uri;
    json_t *json; /* a reference */
    struct mortise_schema *root;
};

struct mortise_schema {
    unsigned types;   /* MORTISE_T_... that `type`, `enum` and `const` allow; 0:
                       * no value is allowed */
    unsigned at_once; /* types that need no further check */
    const json_t *enumeration; /* an array, or NULL */
    const json_t **choices;    /* the enumeration, sorted */
    const char **required;
    size_t n_required;
    struct schema_member *members; /* sorted by name */
    size_t n_members;
    struct mortise_schema *additional, *items; /* NULL: anything */
    struct schema_rare_keywords *rest;         /* NULL: no such keyword */
    unsigned kinds; /* the types after following references; those of a
                     * normalized value */
    const json_t *json;
    struct schema_place place;
    struct schema_resource *resource;
    struct schema_shared *whole;
    struct mortise_schema *next; /* all of them, for compile.c */
    unsigned char mark;          /* for compile.c */
};

/* MORTISE_SCHEMA_CHAIN is the longest chain of schemas for the same value:
 * enough for hand-written schemas, and small enough for the stack.
 * MORTISE_SCHEMA_NAMES is the largest number of names ($id, $anchor,
 * $dynamicAnchor), which are searched linearly. */
enum { MORTISE_SCHEMA_CHAIN = 100, MORTISE_SCHEMA_NAMES = 1000 };

/* The schema of a member in `properties`, or NULL. */
const struct mortise_schema *
mortise_schema_find_property(const struct mortise_schema *s, const char *name);

/* Does the pattern match the text?  Subtracts the cost from *left.
 * MORTISE_ELIMIT, MORTISE_ENOMEM. */
int mortise_schema_match_pattern(const struct mortise_schema *s,
                                 const struct schema_pattern *p,
                                 const char *text, size_t n, uint64_t *left,
                                 bool *found, struct mortise_err *err);

/* Like mortise_schema_check() and mortise_schema_get_member(), with the remaining
 * cost of patterns. */
int mortise_schema_check_limited(const struct mortise_schema *s,
                                 const json_t *value, uint64_t *left,
                                 struct mortise_err *err);
const struct mortise_schema *
mortise_schema_get_member_limited(const struct mortise_schema *s,
                                  const char *name, uint64_t *left);

/* Print the place of a rule, "/allOf/0/type": the schema's place, then the
 * keyword (or NULL); preceded by the URI of another document. */
void mortise_schema_format_rule(char *out, size_t size,
                                const struct mortise_schema *s,
                                const char *keyword);

/* The type of `v`, as one MORTISE_T_ bit. */
unsigned mortise_schema_type_of(const json_t *v);

#endif
