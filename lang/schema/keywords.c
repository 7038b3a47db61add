/* keywords.c -- the keywords of JSON Schema and their readers.
 *
 * One table has the vocabulary, the reader and the field of each keyword.  By
 * the rules of the draft, an unknown keyword is an annotation without effect.
 * But an author who misspells `maxLength` must notice it, so the caller's world
 * is informed.  Names that begin with "x-" are not reported.
 */
#include "lang/schema/compile.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/nearest.h"
#include "lang/schema/order.h"

struct keyword {
    const char *name;
    unsigned vocabulary;
    void (*read)(struct schema_compiler *, struct mortise_schema *,
                 const struct keyword *, json_t *);
    size_t offset; /* of the field, in struct schema_rare_keywords */
};

/* The parameters of every reader; not all readers use all of them. */
#define READER                                                                 \
    __attribute__((unused)) struct schema_compiler *c,                         \
        __attribute__((unused)) struct mortise_schema *s,                      \
        __attribute__((unused)) const struct keyword *k,                       \
        __attribute__((unused)) json_t *v

struct schema_rare_keywords *
mortise_schema_get_rare_keywords(struct schema_compiler *c,
                                 struct mortise_schema *s)
{
    if (s->rest != NULL)
        return s->rest;
    s->rest = mortise_schema_alloc(c, 1, sizeof *s->rest);
    *s->rest = (struct schema_rare_keywords){.max_length = SIZE_MAX,
                                             .max_items = SIZE_MAX,
                                             .max_members = SIZE_MAX,
                                             .min_contains = 1,
                                             .max_contains = SIZE_MAX};
    return s->rest;
}

/* The field of the keyword in `rest`. */
static void *get_keyword_field(struct schema_compiler *c,
                               struct mortise_schema *s,
                               const struct keyword *k)
{
    return (char *)mortise_schema_get_rare_keywords(c, s) + k->offset;
}

/* ---- types ----------------------------------------------------------- */

static const struct {
    const char *name;
    unsigned bit;
} types[] = {
    {"null", MORTISE_T_NULL},     {"boolean", MORTISE_T_BOOL},
    {"integer", MORTISE_T_INT},   {"number", MORTISE_T_NUMBER},
    {"string", MORTISE_T_STRING}, {"array", MORTISE_T_ARRAY},
    {"object", MORTISE_T_OBJECT},
};
enum { N_TYPES = sizeof types / sizeof types[0] };

const char *mortise_schema_type_name(unsigned bit)
{
    for (size_t i = 0; i < N_TYPES; i++)
        if (types[i].bit == bit)
            return types[i].name;
    return "nothing";
}

/* 0 after an error that was reported to the world. */
static unsigned read_type_name(struct schema_compiler *c, const json_t *name)
{
    const char *known[N_TYPES], *near, *text = json_string_value(name);

    if (text == NULL)
        mortise_schema_fail(c, "'type' must be a type or a list of types");
    for (size_t i = 0; i < N_TYPES; i++) {
        known[i] = types[i].name;
        if (strcmp(known[i], text) == 0)
            return types[i].bit;
    }
    near = mortise_nearest_find(text, known, N_TYPES);
    mortise_fail(c->escape->err, MORTISE_EINVAL,
                 near != NULL ? "unknown type '%s', did you mean '%s'?"
                              : "unknown type '%s'",
                 text, near);
    mortise_schema_report(c, MORTISE_EINVAL);
    return 0;
}

static void read_type_keyword(READER)
{
    unsigned bit, all = 0;

    if (!json_is_array(v)) {
        s->types &= read_type_name(c, v);
        return;
    }
    if (json_array_size(v) == 0)
        mortise_schema_fail(c, "'type' is an empty list");
    c->at.is_index = true;
    for (size_t i = 0; i < json_array_size(v); i++) {
        c->at.index = i;
        bit = read_type_name(c, json_array_get(v, i));
        if (all & bit)
            mortise_schema_fail(c, "'type' lists a type twice");
        all |= bit;
    }
    s->types &= all;
}

/* ---- values and bounds ----------------------------------------------- */

static int compare_enum_values(const void *a, const void *b)
{
    return mortise_json_compare(*(const json_t *const *)a,
                                *(const json_t *const *)b);
}

static void read_enum(READER)
{
    size_t n = json_array_size(v);

    if (n == 0)
        mortise_schema_fail(c,
                            "'enum' must be a list of values, and not empty");
    s->enumeration = v;
    s->choices = mortise_schema_alloc(c, n, sizeof *s->choices);
    for (size_t i = 0; i < n; i++)
        s->choices[i] = json_array_get(v, i);
    qsort(s->choices, n, sizeof *s->choices, compare_enum_values);
}

/* `const` has any value. */
static void store_keyword_value(READER)
{
    const json_t **into = get_keyword_field(c, s, k);

    *into = v;
}

static void read_number_bound(READER)
{
    if (!json_is_number(v))
        mortise_schema_fail(c, "'%s' must be a number", k->name);
    store_keyword_value(c, s, k, v);
}

static void read_divisor(READER)
{
    if (!json_is_number(v) || json_number_value(v) <= 0)
        mortise_schema_fail(c, "'%s' must be a number greater than 0", k->name);
    store_keyword_value(c, s, k, v);
}

static void read_size_bound(READER)
{
    size_t *into = get_keyword_field(c, s, k);

    if (!mortise_json_is_whole(v) || json_number_value(v) < 0)
        mortise_schema_fail(c, "'%s' must be an integer of at least 0",
                            k->name);
    *into = json_is_integer(v) ? (size_t)json_integer_value(v)
                               : (size_t)json_real_value(v);
}

static void check_bool_annotation(READER)
{
    if (!json_is_boolean(v))
        mortise_schema_fail(c, "'%s' must be true or false", k->name);
}

static void read_flag(READER)
{
    bool *into = get_keyword_field(c, s, k);

    check_bool_annotation(c, s, k, v);
    *into = json_is_true(v);
}

/* ---- names ----------------------------------------------------------- */

/* A list of names without duplicates. */
static void check_name_list(struct schema_compiler *c, const char *keyword,
                            const json_t *v)
{
    size_t first, second, n = json_array_size(v);
    bool good = json_is_array(v), twice;

    for (size_t i = 0; i < n; i++)
        good = good && json_is_string(json_array_get(v, i));
    if (!good)
        mortise_schema_fail(c, "'%s' must be a list of names", keyword);
    if (mortise_json_find_repeated(v, c->mem, &twice, &first, &second) !=
        MORTISE_OK)
        mortise_escape(c->escape, mortise_nomem(c->escape->err));
    if (twice)
        mortise_schema_fail(c, "'%s' lists '%s' twice", keyword,
                            json_string_value(json_array_get(v, first)));
}

static void read_required(READER)
{
    size_t n = json_array_size(v);

    check_name_list(c, k->name, v);
    s->required = mortise_schema_alloc(c, n, sizeof *s->required);
    for (size_t i = 0; i < n; i++)
        s->required[i] = json_string_value(json_array_get(v, i));
    s->n_required = n;
}

static void read_dependent_required(READER)
{
    if (!json_is_object(v))
        mortise_schema_fail(c, "'%s' must map names to lists of names",
                            k->name);
    MORTISE_JSON_MEMBERS (name, names, v)
        check_name_list(c, k->name, names);
    store_keyword_value(c, s, k, v);
}

/* ---- patterns -------------------------------------------------------- */

static int compile_in_dialect(struct schema_compiler *c,
                              struct schema_pattern *p,
                              enum mortise_dialect dialect, const char *text,
                              size_t n, struct mortise_err *err)
{
    int rv = mortise_regex_compile(&p->regex, c->arena, dialect, text, n,
                                   &c->left, err);

    if (rv != MORTISE_ELIMIT)
        return rv;
    return mortise_fail(err, MORTISE_EINVAL,
                        "the patterns of this schema are too large together: "
                        "write smaller numbers in { }");
}

/* Compile a foreign pattern that is not ECMA-262. */
static int compile_foreign_pattern(struct schema_compiler *c,
                                   struct schema_pattern *p, const char *text,
                                   size_t n, const struct mortise_err *why)
{
    char where[256];
    int rv = compile_in_dialect(c, p, MORTISE_DIALECT_PCRE2, text, n, NULL);

    if (rv == MORTISE_EINVAL)
        return mortise_fail(c->escape->err, rv, "%s", why->msg);
    if (rv == MORTISE_ENOMEM)
        return mortise_nomem(c->escape->err);
    if (c->world->foreign != NULL) {
        mortise_schema_format_place(where, sizeof where, c->at);
        c->world->foreign(c->world->ctx, where, why->msg);
    }
    return rv;
}

static void compile_schema_pattern(struct schema_compiler *c,
                                   struct schema_pattern *p, const char *text,
                                   size_t n)
{
    enum mortise_schema_patterns how = c->world->patterns;
    struct mortise_err why = {0};
    int rv = compile_in_dialect(c, p, MORTISE_DIALECT_ECMA, text, n, &why);

    p->text = text;
    if (rv == MORTISE_EINVAL && how == MORTISE_PATTERNS_FOREIGN)
        rv = compile_foreign_pattern(c, p, text, n, &why);
    else if (rv != MORTISE_OK)
        mortise_fail(c->escape->err, rv, "%s", why.msg);
    if (rv != MORTISE_OK)
        mortise_schema_report(c, rv);
}

static void read_pattern_keyword(READER)
{
    if (!json_is_string(v))
        mortise_schema_fail(
            c, "'pattern' must be a string with a regular expression");
    compile_schema_pattern(c, get_keyword_field(c, s, k), json_string_value(v),
                           json_string_length(v));
}

/* ---- subschemas ------------------------------------------------------ */

static struct mortise_schema *compile_subschema(struct schema_compiler *c,
                                                struct mortise_schema *s,
                                                struct schema_place place,
                                                json_t *v)
{
    place.up = s;
    return mortise_schema_compile_at(c, v, place, s->resource);
}

static struct mortise_schema *compile_one_subschema(READER)
{
    return compile_subschema(c, s, (struct schema_place){.keyword = k->name},
                             v);
}

static void read_schema_keyword(READER)
{
    struct mortise_schema **into = get_keyword_field(c, s, k);

    *into = compile_one_subschema(c, s, k, v);
}

static void read_items(READER)
{
    if (json_is_array(v))
        mortise_schema_fail(
            c, "'items' must be one schema; use 'prefixItems' for a list");
    s->items = compile_one_subschema(c, s, k, v);
}

static void read_additional_members(READER)
{
    s->additional = compile_one_subschema(c, s, k, v);
}

/* The schema of decoded content must be valid, but checks nothing. */
static void check_aside_schema(READER)
{
    compile_one_subschema(c, s, k, v);
}

static void read_schema_list(READER)
{
    struct schema_list *into = get_keyword_field(c, s, k);
    size_t n = json_array_size(v);

    if (n == 0)
        mortise_schema_fail(c, "'%s' must be a list of at least one schema",
                            k->name);
    into->p = mortise_schema_alloc(c, n, sizeof *into->p);
    into->n = n;
    for (size_t i = 0; i < n; i++)
        into->p[i] = compile_subschema(c, s,
                                       (struct schema_place){.keyword = k->name,
                                                             .index = i,
                                                             .is_index = true},
                                       json_array_get(v, i));
}

static int compare_members(const void *a, const void *b)
{
    return strcmp(((const struct schema_member *)a)->name,
                  ((const struct schema_member *)b)->name);
}

/* Schemas by name, in the order of the JSON. */
static struct schema_member *read_schema_map(READER, size_t *n)
{
    struct schema_member *list;

    if (!json_is_object(v))
        mortise_schema_fail(c, "'%s' must map names to schemas", k->name);
    *n = 0;
    list = mortise_schema_alloc(c, json_object_size(v), sizeof *list);
    MORTISE_JSON_MEMBERS (name, one, v) {
        struct schema_place place = {.keyword = k->name, .name = name};

        list[*n].name = name;
        list[(*n)++].schema = compile_subschema(c, s, place, one);
    }
    return list;
}

static void read_properties(READER)
{
    s->members = read_schema_map(c, s, k, v, &s->n_members);
    qsort(s->members, s->n_members, sizeof *s->members, compare_members);
}

static void read_dependents(READER)
{
    struct schema_rare_keywords *rest = mortise_schema_get_rare_keywords(c, s);

    rest->dependents = read_schema_map(c, s, k, v, &rest->n_dependents);
}

/* Targets of references; they check nothing by themselves. */
static void read_definitions(READER)
{
    size_t n;

    read_schema_map(c, s, k, v, &n);
}

static void read_pattern_properties(READER)
{
    struct schema_rare_keywords *rest = mortise_schema_get_rare_keywords(c, s);
    struct schema_member *list = read_schema_map(c, s, k, v, &rest->n_patterns);

    rest->patterns =
        mortise_schema_alloc(c, rest->n_patterns, sizeof *rest->patterns);
    for (size_t i = 0; i < rest->n_patterns; i++) {
        rest->patterns[i].schema = list[i].schema;
        c->at = list[i].schema->place;
        compile_schema_pattern(c, &rest->patterns[i], list[i].name,
                               strlen(list[i].name));
    }
}

/* ---- names of schemas, and references -------------------------------- */

static bool is_anchor_name(const char *text)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char more[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-.0123456789";

    return text != NULL && text[0] != '\0' &&
           strchr(letters, text[0]) != NULL && text[strspn(text, more)] == '\0';
}

static void read_anchor(READER)
{
    const char *name = json_string_value(v);
    struct schema_anchor *anchor;

    if (!is_anchor_name(name))
        mortise_schema_fail(
            c, "'%s' must be a letter or _, then letters, digits, -, _ or .",
            k->name);
    for (const struct schema_anchor *a = s->resource->anchors; a != NULL;
         a = a->next)
        if (strcmp(a->name, name) == 0 && a->schema != s)
            mortise_schema_fail(c, "two anchors are named '%s'", name);
    mortise_schema_count_name(c);
    anchor = mortise_schema_alloc(c, 1, sizeof *anchor);
    *anchor = (struct schema_anchor){s->resource->anchors, name,
                                     strcmp(k->name, "$anchor") != 0, s};
    s->resource->anchors = anchor;
}

static void read_schema_ref(READER)
{
    struct schema_fixup *f = mortise_schema_alloc(c, 1, sizeof *f);
    struct schema_ref *into = get_keyword_field(c, s, k);

    if (!json_is_string(v))
        mortise_schema_fail(c, "'%s' must be a string with a reference",
                            k->name);
    into->text = json_string_value(v);
    *f = (struct schema_fixup){NULL, s, k->name, into};
    *c->last_fixup = f;
    c->last_fixup = &f->next;
}

/* ---- annotations ----------------------------------------------------- */

static void check_string_annotation(READER)
{
    if (!json_is_string(v))
        mortise_schema_fail(c, "expected a string");
}

static void read_examples(READER)
{
    if (!json_is_array(v))
        mortise_schema_fail(c, "'examples' must be a list");
}

static void read_vocabulary(READER)
{
    bool good = json_is_object(v);

    MORTISE_JSON_MEMBERS (uri, one, v)
        good = good && json_is_boolean(one);
    if (!good)
        mortise_schema_fail(c, "'$vocabulary' must map URIs to true or false");
}

/* The walk has read these keywords already; `default` may have any value. */
static void ignore_keyword(READER)
{
}

/* ---- the table ------------------------------------------------------- */

#define REST(member) offsetof(struct schema_rare_keywords, member)

static const struct keyword keywords[] = {
    {"$anchor", SCHEMA_CORE, read_anchor, 0},
    {"$comment", SCHEMA_CORE, check_string_annotation, 0},
    {"$defs", SCHEMA_CORE, read_definitions, 0},
    {"$dynamicAnchor", SCHEMA_CORE, read_anchor, 0},
    {"$dynamicRef", SCHEMA_CORE, read_schema_ref, REST(dynamic_ref)},
    {"$id", SCHEMA_CORE, ignore_keyword, 0},
    {"$ref", SCHEMA_CORE, read_schema_ref, REST(ref)},
    {"$schema", SCHEMA_CORE, ignore_keyword, 0},
    {"$vocabulary", SCHEMA_CORE, read_vocabulary, 0},
    {"additionalProperties", SCHEMA_APPLICATOR, read_additional_members, 0},
    {"allOf", SCHEMA_APPLICATOR, read_schema_list, REST(all_of)},
    {"anyOf", SCHEMA_APPLICATOR, read_schema_list, REST(any_of)},
    {"const", SCHEMA_VALIDATION, store_keyword_value, REST(constant)},
    {"contains", SCHEMA_APPLICATOR, read_schema_keyword, REST(contains)},
    {"contentEncoding", SCHEMA_CONTENT, check_string_annotation, 0},
    {"contentMediaType", SCHEMA_CONTENT, check_string_annotation, 0},
    {"contentSchema", SCHEMA_CONTENT, check_aside_schema, 0},
    {"default", SCHEMA_META_DATA, ignore_keyword, 0},
    /* the former name of $defs */
    {"definitions", SCHEMA_CORE, read_definitions, 0},
    {"dependentRequired", SCHEMA_VALIDATION, read_dependent_required,
     REST(dependent_required)},
    {"dependentSchemas", SCHEMA_APPLICATOR, read_dependents, 0},
    {"deprecated", SCHEMA_META_DATA, check_bool_annotation, 0},
    {"description", SCHEMA_META_DATA, check_string_annotation, 0},
    {"else", SCHEMA_APPLICATOR, read_schema_keyword, REST(otherwise)},
    {"enum", SCHEMA_VALIDATION, read_enum, 0},
    {"examples", SCHEMA_META_DATA, read_examples, 0},
    {"exclusiveMaximum", SCHEMA_VALIDATION, read_number_bound, REST(below)},
    {"exclusiveMinimum", SCHEMA_VALIDATION, read_number_bound, REST(above)},
    {"format", SCHEMA_FORMAT, check_string_annotation, 0},
    {"if", SCHEMA_APPLICATOR, read_schema_keyword, REST(when)},
    {"items", SCHEMA_APPLICATOR, read_items, 0},
    {"maxContains", SCHEMA_VALIDATION, read_size_bound, REST(max_contains)},
    {"maxItems", SCHEMA_VALIDATION, read_size_bound, REST(max_items)},
    {"maxLength", SCHEMA_VALIDATION, read_size_bound, REST(max_length)},
    {"maxProperties", SCHEMA_VALIDATION, read_size_bound, REST(max_members)},
    {"maximum", SCHEMA_VALIDATION, read_number_bound, REST(maximum)},
    {"minContains", SCHEMA_VALIDATION, read_size_bound, REST(min_contains)},
    {"minItems", SCHEMA_VALIDATION, read_size_bound, REST(min_items)},
    {"minLength", SCHEMA_VALIDATION, read_size_bound, REST(min_length)},
    {"minProperties", SCHEMA_VALIDATION, read_size_bound, REST(min_members)},
    {"minimum", SCHEMA_VALIDATION, read_number_bound, REST(minimum)},
    {"multipleOf", SCHEMA_VALIDATION, read_divisor, REST(multiple_of)},
    {"not", SCHEMA_APPLICATOR, read_schema_keyword, REST(not )},
    {"oneOf", SCHEMA_APPLICATOR, read_schema_list, REST(one_of)},
    {"pattern", SCHEMA_VALIDATION, read_pattern_keyword, REST(pattern)},
    {"patternProperties", SCHEMA_APPLICATOR, read_pattern_properties, 0},
    {"prefixItems", SCHEMA_APPLICATOR, read_schema_list, REST(prefix)},
    {"properties", SCHEMA_APPLICATOR, read_properties, 0},
    {"propertyNames", SCHEMA_APPLICATOR, read_schema_keyword, REST(names)},
    {"readOnly", SCHEMA_META_DATA, check_bool_annotation, 0},
    {"required", SCHEMA_VALIDATION, read_required, 0},
    {"then", SCHEMA_APPLICATOR, read_schema_keyword, REST(then)},
    {"title", SCHEMA_META_DATA, check_string_annotation, 0},
    {"type", SCHEMA_VALIDATION, read_type_keyword, 0},
    {"unevaluatedItems", SCHEMA_UNEVALUATED, read_schema_keyword,
     REST(unevaluated_items)},
    {"unevaluatedProperties", SCHEMA_UNEVALUATED, read_schema_keyword,
     REST(unevaluated_members)},
    {"uniqueItems", SCHEMA_VALIDATION, read_flag, REST(unique)},
    {"writeOnly", SCHEMA_META_DATA, check_bool_annotation, 0},
};
enum { N_KEYWORDS = sizeof keywords / sizeof keywords[0] };

/* Keywords of other drafts and of OpenAPI. */
static const struct {
    const char *name, *words;
} elsewhere[] = {
    {"$recursiveAnchor", "'$dynamicAnchor'"},
    {"$recursiveRef", "'$dynamicRef'"},
    {"additionalItems", "'items' with 'prefixItems'"},
    {"dependencies", "'dependentRequired' or 'dependentSchemas'"},
    {"id", "'$id'"},
    {"nullable", "'null' in 'type'"},
};

/* ---- reading --------------------------------------------------------- */

static int compare_keywords(const void *name, const void *k)
{
    return strcmp(name, ((const struct keyword *)k)->name);
}

static void describe_unknown_keyword(const char *name, char *words, size_t size)
{
    const char *known[N_KEYWORDS], *near;

    for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++)
        if (strcmp(elsewhere[i].name, name) == 0) {
            snprintf(words, size, "'%s' has no effect in draft 2020-12: use %s",
                     name, elsewhere[i].words);
            return;
        }
    for (size_t i = 0; i < N_KEYWORDS; i++)
        known[i] = keywords[i].name;
    near = mortise_nearest_find(name, known, N_KEYWORDS);
    snprintf(words, size,
             near != NULL
                 ? "unknown keyword '%.80s' has no effect, did you mean '%s'?"
                 : "unknown keyword '%.80s' has no effect",
             name, near);
}

static void report_unknown_keyword(const struct schema_compiler *c,
                                   const struct mortise_schema *s,
                                   const char *name)
{
    char where[512], words[256];

    if (c->world->unknown == NULL || strncmp(name, "x-", 2) == 0)
        return;
    mortise_schema_format_place(
        where, sizeof where, (struct schema_place){.up = s, .keyword = name});
    describe_unknown_keyword(name, words, sizeof words);
    c->world->unknown(c->world->ctx, where, words);
}

void mortise_schema_read_keyword(struct schema_compiler *c,
                                 struct mortise_schema *s, const char *name,
                                 json_t *value)
{
    const struct keyword *k =
        bsearch(name, keywords, N_KEYWORDS, sizeof *keywords, compare_keywords);

    if (k == NULL)
        report_unknown_keyword(c, s, name);
    else if (s->resource->vocabularies & k->vocabulary)
        k->read(c, s, k, value);
}
