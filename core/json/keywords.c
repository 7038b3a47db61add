/* keywords.c -- the keywords of JSON Schema: what each may look like.
 *
 * One table: a keyword's vocabulary, who reads it, and into which field.  What
 * the draft does not know is an annotation by its rules, and then nothing is
 * enforced: whoever misspells `maxLength` must hear of it, so the caller's
 * world is told.  Names that begin with "x-" are nobody's mistakes.
 */
#include "json/compile.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "json/order.h"

struct keyword {
    const char *name;
    unsigned vocabulary;
    int (*read)(struct schema_compiler *, struct mortise_schema *,
                const struct keyword *, json_t *);
    size_t offset; /* of the field, in struct schema_rest */
};

struct schema_rest *schema_need_rest(struct schema_compiler *c,
                                     struct mortise_schema *s)
{
    if (s->rest != NULL)
        return s->rest;
    s->rest = schema_alloc(c, 1, sizeof *s->rest);
    if (s->rest != NULL)
        *s->rest = (struct schema_rest){.max_length = SIZE_MAX,
                                        .max_items = SIZE_MAX,
                                        .max_members = SIZE_MAX,
                                        .min_contains = 1,
                                        .max_contains = SIZE_MAX};
    return s->rest;
}

/* The keyword's field, or NULL when memory ran out. */
static void *field(struct schema_compiler *c, struct mortise_schema *s,
                   const struct keyword *k)
{
    char *rest = (char *)schema_need_rest(c, s);

    return rest != NULL ? rest + k->offset : NULL;
}

static int bad(struct schema_compiler *c, const char *words)
{
    return mortise_fail(c->err, MORTISE_EINVAL, "%s", words);
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

static int type_bit(struct schema_compiler *c, const json_t *name,
                    unsigned *bit)
{
    const char *known[N_TYPES], *near, *text = json_string_value(name);

    if (text == NULL)
        return bad(c, "'type' names a type, or lists several");
    for (size_t i = 0; i < N_TYPES; i++) {
        known[i] = types[i].name;
        *bit = types[i].bit;
        if (strcmp(known[i], text) == 0)
            return MORTISE_OK;
    }
    near = mortise_nearest(text, known, N_TYPES);
    return mortise_fail(c->err, MORTISE_EINVAL,
                        near != NULL ? "no type '%s', did you mean '%s'?"
                                     : "no type '%s'",
                        text, near);
}

static int read_type(struct schema_compiler *c, struct mortise_schema *s,
                     const struct keyword *k, json_t *v)
{
    unsigned bit = 0, all = 0;
    int rv;

    (void)k;
    if (!json_is_array(v)) {
        rv = type_bit(c, v, &bit);
        s->types &= bit;
        return rv;
    }
    if (json_array_size(v) == 0)
        return bad(c, "'type' lists no type");
    for (size_t i = 0; i < json_array_size(v); i++) {
        rv = type_bit(c, json_array_get(v, i), &bit);
        if (rv != MORTISE_OK)
            return rv;
        if (all & bit)
            return bad(c, "'type' lists a type twice");
        all |= bit;
    }
    s->types &= all;
    return MORTISE_OK;
}

/* ---- values and bounds ----------------------------------------------- */

static int read_enum(struct schema_compiler *c, struct mortise_schema *s,
                     const struct keyword *k, json_t *v)
{
    (void)k;
    if (!json_is_array(v) || json_array_size(v) == 0)
        return bad(c, "'enum' is a list of values");
    s->enumeration = v;
    return MORTISE_OK;
}

/* Any value: `const`. */
static int read_value(struct schema_compiler *c, struct mortise_schema *s,
                      const struct keyword *k, json_t *v)
{
    const json_t **into = field(c, s, k);

    if (into == NULL)
        return MORTISE_ENOMEM;
    *into = v;
    return MORTISE_OK;
}

static int read_number(struct schema_compiler *c, struct mortise_schema *s,
                       const struct keyword *k, json_t *v)
{
    if (!json_is_number(v))
        return mortise_fail(c->err, MORTISE_EINVAL, "'%s' is a number",
                            k->name);
    return read_value(c, s, k, v);
}

static int read_divisor(struct schema_compiler *c, struct mortise_schema *s,
                        const struct keyword *k, json_t *v)
{
    if (!json_is_number(v) || json_number_value(v) <= 0)
        return mortise_fail(c->err, MORTISE_EINVAL,
                            "'%s' is a number greater than 0", k->name);
    return read_value(c, s, k, v);
}

static int read_size(struct schema_compiler *c, struct mortise_schema *s,
                     const struct keyword *k, json_t *v)
{
    size_t *into;

    if (!mortise_json_is_whole(v) || json_number_value(v) < 0)
        return mortise_fail(c->err, MORTISE_EINVAL,
                            "'%s' is a whole number of at least 0", k->name);
    into = field(c, s, k);
    if (into == NULL)
        return MORTISE_ENOMEM;
    *into = json_is_integer(v) ? (size_t)json_integer_value(v)
                               : (size_t)json_real_value(v);
    return MORTISE_OK;
}

static int read_flag(struct schema_compiler *c, struct mortise_schema *s,
                     const struct keyword *k, json_t *v)
{
    bool *into;

    if (!json_is_boolean(v))
        return mortise_fail(c->err, MORTISE_EINVAL, "'%s' is true or false",
                            k->name);
    into = field(c, s, k);
    if (into == NULL)
        return MORTISE_ENOMEM;
    *into = json_is_true(v);
    return MORTISE_OK;
}

/* ---- names ----------------------------------------------------------- */

/* A list of names, none of them twice. */
static int check_names(struct schema_compiler *c, const char *keyword,
                       const json_t *v)
{
    size_t first, second, n = json_array_size(v);
    bool good = json_is_array(v), twice;

    for (size_t i = 0; i < n; i++)
        good = good && json_is_string(json_array_get(v, i));
    if (!good)
        return mortise_fail(c->err, MORTISE_EINVAL, "'%s' is a list of names",
                            keyword);
    if (mortise_json_repeated(v, c->mem, &twice, &first, &second) != MORTISE_OK)
        return mortise_nomem(c->err);
    if (twice)
        return mortise_fail(c->err, MORTISE_EINVAL, "'%s' lists '%s' twice",
                            keyword,
                            json_string_value(json_array_get(v, first)));
    return MORTISE_OK;
}

static int read_required(struct schema_compiler *c, struct mortise_schema *s,
                         const struct keyword *k, json_t *v)
{
    size_t n = json_array_size(v);
    int rv = check_names(c, k->name, v);

    if (rv != MORTISE_OK)
        return rv;
    s->required = schema_alloc(c, n, sizeof *s->required);
    if (s->required == NULL)
        return MORTISE_ENOMEM;
    for (size_t i = 0; i < n; i++)
        s->required[i] = json_string_value(json_array_get(v, i));
    s->n_required = n;
    return MORTISE_OK;
}

static int read_dependent_required(struct schema_compiler *c,
                                   struct mortise_schema *s,
                                   const struct keyword *k, json_t *v)
{
    if (!json_is_object(v))
        return mortise_fail(c->err, MORTISE_EINVAL,
                            "'%s' maps names to lists of names", k->name);
    for (void *it = json_object_iter(v); it != NULL;
         it = json_object_iter_next(v, it)) {
        int rv = check_names(c, k->name, json_object_iter_value(it));

        if (rv != MORTISE_OK)
            return rv;
    }
    return read_value(c, s, k, v);
}

/* ---- patterns -------------------------------------------------------- */

static int compile_pattern(struct schema_compiler *c, struct schema_pattern *p,
                           const char *text, size_t n)
{
    p->text = text;
    return mortise_regex_compile_ecma(&p->regex, c->arena, text, n, c->err);
}

static int read_pattern(struct schema_compiler *c, struct mortise_schema *s,
                        const struct keyword *k, json_t *v)
{
    if (!json_is_string(v))
        return bad(c, "'pattern' is a regular expression");
    (void)k;
    if (schema_need_rest(c, s) == NULL)
        return MORTISE_ENOMEM;
    return compile_pattern(c, &s->rest->pattern, json_string_value(v),
                           json_string_length(v));
}

/* ---- schemas inside -------------------------------------------------- */

static int read_inner(struct schema_compiler *c, struct mortise_schema *s,
                      struct schema_place place, json_t *v,
                      struct mortise_schema **out)
{
    place.up = s;
    return schema_compile_at(c, out, v, place, s->resource);
}

static int read_schema(struct schema_compiler *c, struct mortise_schema *s,
                       const struct keyword *k, json_t *v)
{
    struct mortise_schema **into = field(c, s, k);
    struct schema_place place = {.keyword = k->name};

    return into != NULL ? read_inner(c, s, place, v, into) : MORTISE_ENOMEM;
}

static int read_items(struct schema_compiler *c, struct mortise_schema *s,
                      const struct keyword *k, json_t *v)
{
    struct schema_place place = {.keyword = k->name};

    if (json_is_array(v))
        return bad(c, "'items' is one schema; a list of them is "
                      "'prefixItems'");
    return read_inner(c, s, place, v, &s->items);
}

static int read_additional(struct schema_compiler *c, struct mortise_schema *s,
                           const struct keyword *k, json_t *v)
{
    struct schema_place place = {.keyword = k->name};

    return read_inner(c, s, place, v, &s->additional);
}

static int read_list(struct schema_compiler *c, struct mortise_schema *s,
                     const struct keyword *k, json_t *v)
{
    struct schema_list *into = field(c, s, k);
    size_t n = json_array_size(v);
    int rv = MORTISE_OK;

    if (n == 0)
        return mortise_fail(c->err, MORTISE_EINVAL,
                            "'%s' is a list of schemas, one at least", k->name);
    if (into == NULL)
        return MORTISE_ENOMEM;
    into->p = schema_alloc(c, n, sizeof *into->p);
    if (into->p == NULL)
        return MORTISE_ENOMEM;
    for (size_t i = 0; i < n && rv == MORTISE_OK; i++) {
        struct schema_place place = {
            .keyword = k->name, .index = i, .is_index = true};

        rv = read_inner(c, s, place, json_array_get(v, i), &into->p[i]);
    }
    into->n = n;
    return rv;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct schema_member *)a)->name,
                  ((const struct schema_member *)b)->name);
}

/* Schemas by name, in the order of the JSON. */
static int read_map(struct schema_compiler *c, struct mortise_schema *s,
                    const struct keyword *k, json_t *v,
                    struct schema_member **out, size_t *n)
{
    size_t i = 0;
    int rv = MORTISE_OK;

    if (!json_is_object(v))
        return mortise_fail(c->err, MORTISE_EINVAL,
                            "'%s' maps names to schemas", k->name);
    *out = schema_alloc(c, json_object_size(v), sizeof **out);
    if (*out == NULL)
        return MORTISE_ENOMEM;
    for (void *it = json_object_iter(v); it != NULL && rv == MORTISE_OK;
         it = json_object_iter_next(v, it), i++) {
        struct schema_member *m = &(*out)[i];

        m->name = json_object_iter_key(it);
        rv = read_inner(
            c, s, (struct schema_place){.keyword = k->name, .name = m->name},
            json_object_iter_value(it), &m->schema);
    }
    *n = i;
    return rv;
}

static int read_properties(struct schema_compiler *c, struct mortise_schema *s,
                           const struct keyword *k, json_t *v)
{
    int rv = read_map(c, s, k, v, &s->members, &s->n_members);

    if (rv == MORTISE_OK)
        qsort(s->members, s->n_members, sizeof *s->members, by_name);
    return rv;
}

static int read_dependents(struct schema_compiler *c, struct mortise_schema *s,
                           const struct keyword *k, json_t *v)
{
    struct schema_rest *rest = schema_need_rest(c, s);

    return rest != NULL
               ? read_map(c, s, k, v, &rest->dependents, &rest->n_dependents)
               : MORTISE_ENOMEM;
}

/* What references lead to; nothing to check by itself. */
static int read_definitions(struct schema_compiler *c, struct mortise_schema *s,
                            const struct keyword *k, json_t *v)
{
    struct schema_member *list;
    size_t n;

    return read_map(c, s, k, v, &list, &n);
}

static int read_patterns(struct schema_compiler *c, struct mortise_schema *s,
                         const struct keyword *k, json_t *v)
{
    struct schema_rest *rest = schema_need_rest(c, s);
    struct schema_member *list;
    size_t n;
    int rv;

    if (rest == NULL)
        return MORTISE_ENOMEM;
    rv = read_map(c, s, k, v, &list, &n);
    if (rv != MORTISE_OK)
        return rv;
    rest->patterns = schema_alloc(c, n, sizeof *rest->patterns);
    if (rest->patterns == NULL)
        return MORTISE_ENOMEM;
    for (size_t i = 0; i < n && rv == MORTISE_OK; i++) {
        rest->patterns[i].schema = list[i].schema;
        rv = compile_pattern(c, &rest->patterns[i], list[i].name,
                             strlen(list[i].name));
        if (rv != MORTISE_OK)
            schema_failed_at(c, list[i].schema->place);
    }
    rest->n_patterns = n;
    return rv;
}

/* ---- names of schemas, and references -------------------------------- */

static bool is_anchor(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char more[] = "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ_-.0123456789";

    return text != NULL && text[0] != '\0' &&
           strchr(letters, text[0]) != NULL && text[strspn(text, more)] == '\0';
}

static int read_anchor(struct schema_compiler *c, struct mortise_schema *s,
                       const struct keyword *k, json_t *v)
{
    const char *name = json_string_value(v);
    struct schema_anchor *anchor;

    if (!is_anchor(name))
        return mortise_fail(c->err, MORTISE_EINVAL,
                            "'%s' is a name: a letter or _, then letters, "
                            "digits, - _ or .",
                            k->name);
    for (const struct schema_anchor *a = s->resource->anchors; a != NULL;
         a = a->next)
        if (strcmp(a->name, name) == 0 && a->schema != s)
            return mortise_fail(c->err, MORTISE_EINVAL,
                                "two anchors are named '%s'", name);
    if (schema_count_name(c) != MORTISE_OK)
        return MORTISE_EINVAL;
    anchor = schema_alloc(c, 1, sizeof *anchor);
    if (anchor == NULL)
        return MORTISE_ENOMEM;
    *anchor = (struct schema_anchor){s->resource->anchors, name,
                                     strcmp(k->name, "$anchor") != 0, s};
    s->resource->anchors = anchor;
    return MORTISE_OK;
}

static int read_ref(struct schema_compiler *c, struct mortise_schema *s,
                    const struct keyword *k, json_t *v)
{
    struct schema_ref *into = field(c, s, k);
    struct schema_fixup *f;

    if (!json_is_string(v))
        return mortise_fail(c->err, MORTISE_EINVAL, "'%s' is a reference",
                            k->name);
    f = into != NULL ? schema_alloc(c, 1, sizeof *f) : NULL;
    if (f == NULL)
        return MORTISE_ENOMEM;
    into->text = json_string_value(v);
    *f = (struct schema_fixup){NULL, s, k->name, into};
    *c->last_fixup = f;
    c->last_fixup = &f->next;
    return MORTISE_OK;
}

/* ---- annotations ----------------------------------------------------- */

static int read_words(struct schema_compiler *c, struct mortise_schema *s,
                      const struct keyword *k, json_t *v)
{
    (void)s;
    (void)k;
    return json_is_string(v) ? MORTISE_OK : bad(c, "expected a string");
}

static int read_remark(struct schema_compiler *c, struct mortise_schema *s,
                       const struct keyword *k, json_t *v)
{
    (void)s;
    if (json_is_boolean(v))
        return MORTISE_OK;
    return mortise_fail(c->err, MORTISE_EINVAL, "'%s' is true or false",
                        k->name);
}

static int read_examples(struct schema_compiler *c, struct mortise_schema *s,
                         const struct keyword *k, json_t *v)
{
    (void)s;
    (void)k;
    return json_is_array(v) ? MORTISE_OK : bad(c, "'examples' is a list");
}

static int read_vocabulary(struct schema_compiler *c, struct mortise_schema *s,
                           const struct keyword *k, json_t *v)
{
    bool good = json_is_object(v);

    (void)s;
    (void)k;
    for (void *it = json_object_iter(v); it != NULL;
         it = json_object_iter_next(v, it))
        good = good && json_is_boolean(json_object_iter_value(it));
    return good ? MORTISE_OK
                : bad(c, "'$vocabulary' maps URIs to true or false");
}

/* What the walk has read before all else, and `default`: any value is one. */
static int read_nothing(struct schema_compiler *c, struct mortise_schema *s,
                        const struct keyword *k, json_t *v)
{
    (void)c;
    (void)s;
    (void)k;
    (void)v;
    return MORTISE_OK;
}

/* The schema of decoded content: must be one, and judges nothing. */
static int read_aside(struct schema_compiler *c, struct mortise_schema *s,
                      const struct keyword *k, json_t *v)
{
    struct schema_place place = {.keyword = k->name};
    struct mortise_schema *aside;

    return read_inner(c, s, place, v, &aside);
}

/* ---- the table ------------------------------------------------------- */

#define REST(member) offsetof(struct schema_rest, member)

static const struct keyword keywords[] = {
    {"$anchor", SCHEMA_CORE, read_anchor, 0},
    {"$comment", SCHEMA_CORE, read_words, 0},
    {"$defs", SCHEMA_CORE, read_definitions, 0},
    {"$dynamicAnchor", SCHEMA_CORE, read_anchor, 0},
    {"$dynamicRef", SCHEMA_CORE, read_ref, REST(dynamic_ref)},
    {"$id", SCHEMA_CORE, read_nothing, 0},
    {"$ref", SCHEMA_CORE, read_ref, REST(ref)},
    {"$schema", SCHEMA_CORE, read_nothing, 0},
    {"$vocabulary", SCHEMA_CORE, read_vocabulary, 0},
    {"additionalProperties", SCHEMA_APPLICATOR, read_additional, 0},
    {"allOf", SCHEMA_APPLICATOR, read_list, REST(all_of)},
    {"anyOf", SCHEMA_APPLICATOR, read_list, REST(any_of)},
    {"const", SCHEMA_VALIDATION, read_value, REST(constant)},
    {"contains", SCHEMA_APPLICATOR, read_schema, REST(contains)},
    {"contentEncoding", SCHEMA_CONTENT, read_words, 0},
    {"contentMediaType", SCHEMA_CONTENT, read_words, 0},
    {"contentSchema", SCHEMA_CONTENT, read_aside, 0},
    {"default", SCHEMA_META_DATA, read_nothing, 0},
    {"definitions", SCHEMA_CORE, read_definitions, 0}, /* as $defs once were */
    {"dependentRequired", SCHEMA_VALIDATION, read_dependent_required,
     REST(dependent_required)},
    {"dependentSchemas", SCHEMA_APPLICATOR, read_dependents, 0},
    {"deprecated", SCHEMA_META_DATA, read_remark, 0},
    {"description", SCHEMA_META_DATA, read_words, 0},
    {"else", SCHEMA_APPLICATOR, read_schema, REST(otherwise)},
    {"enum", SCHEMA_VALIDATION, read_enum, 0},
    {"examples", SCHEMA_META_DATA, read_examples, 0},
    {"exclusiveMaximum", SCHEMA_VALIDATION, read_number, REST(below)},
    {"exclusiveMinimum", SCHEMA_VALIDATION, read_number, REST(above)},
    {"format", SCHEMA_FORMAT, read_words, 0},
    {"if", SCHEMA_APPLICATOR, read_schema, REST(when)},
    {"items", SCHEMA_APPLICATOR, read_items, 0},
    {"maxContains", SCHEMA_VALIDATION, read_size, REST(max_contains)},
    {"maxItems", SCHEMA_VALIDATION, read_size, REST(max_items)},
    {"maxLength", SCHEMA_VALIDATION, read_size, REST(max_length)},
    {"maxProperties", SCHEMA_VALIDATION, read_size, REST(max_members)},
    {"maximum", SCHEMA_VALIDATION, read_number, REST(maximum)},
    {"minContains", SCHEMA_VALIDATION, read_size, REST(min_contains)},
    {"minItems", SCHEMA_VALIDATION, read_size, REST(min_items)},
    {"minLength", SCHEMA_VALIDATION, read_size, REST(min_length)},
    {"minProperties", SCHEMA_VALIDATION, read_size, REST(min_members)},
    {"minimum", SCHEMA_VALIDATION, read_number, REST(minimum)},
    {"multipleOf", SCHEMA_VALIDATION, read_divisor, REST(multiple_of)},
    {"not", SCHEMA_APPLICATOR, read_schema, REST(not )},
    {"oneOf", SCHEMA_APPLICATOR, read_list, REST(one_of)},
    {"pattern", SCHEMA_VALIDATION, read_pattern, 0},
    {"patternProperties", SCHEMA_APPLICATOR, read_patterns, 0},
    {"prefixItems", SCHEMA_APPLICATOR, read_list, REST(prefix)},
    {"properties", SCHEMA_APPLICATOR, read_properties, 0},
    {"propertyNames", SCHEMA_APPLICATOR, read_schema, REST(names)},
    {"readOnly", SCHEMA_META_DATA, read_remark, 0},
    {"required", SCHEMA_VALIDATION, read_required, 0},
    {"then", SCHEMA_APPLICATOR, read_schema, REST(then)},
    {"title", SCHEMA_META_DATA, read_words, 0},
    {"type", SCHEMA_VALIDATION, read_type, 0},
    {"unevaluatedItems", SCHEMA_UNEVALUATED, read_schema,
     REST(unevaluated_items)},
    {"unevaluatedProperties", SCHEMA_UNEVALUATED, read_schema,
     REST(unevaluated_members)},
    {"uniqueItems", SCHEMA_VALIDATION, read_flag, REST(unique)},
    {"writeOnly", SCHEMA_META_DATA, read_remark, 0},
};
enum { N_KEYWORDS = sizeof keywords / sizeof keywords[0] };

/* What other drafts call it, and OpenAPI. */
static const struct {
    const char *name, *words;
} elsewhere[] = {
    {"$recursiveAnchor", "'$dynamicAnchor'"},
    {"$recursiveRef", "'$dynamicRef'"},
    {"additionalItems", "'items' beside 'prefixItems'"},
    {"dependencies", "'dependentRequired' or 'dependentSchemas'"},
    {"id", "'$id'"},
    {"nullable", "'null' among the types"},
};

/* ---- reading --------------------------------------------------------- */

static int by_keyword(const void *name, const void *k)
{
    return strcmp(name, ((const struct keyword *)k)->name);
}

static void say_unknown(const char *name, char *words, size_t size)
{
    const char *known[N_KEYWORDS], *near;

    for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++)
        if (strcmp(elsewhere[i].name, name) == 0) {
            snprintf(words, size,
                     "'%s' means nothing in draft 2020-12, which has %s", name,
                     elsewhere[i].words);
            return;
        }
    for (size_t i = 0; i < N_KEYWORDS; i++)
        known[i] = keywords[i].name;
    near = mortise_nearest(name, known, N_KEYWORDS);
    snprintf(words, size,
             near != NULL ? "unknown keyword '%.80s' has no effect, did you "
                            "mean '%s'?"
                          : "unknown keyword '%.80s' has no effect",
             name, near);
}

static void tell_unknown(const struct schema_compiler *c,
                         const struct mortise_schema *s, const char *name)
{
    char where[512], words[256];

    if (c->world->unknown == NULL || strncmp(name, "x-", 2) == 0)
        return;
    schema_spell_place(where, sizeof where,
                       (struct schema_place){.up = s, .keyword = name});
    say_unknown(name, words, sizeof words);
    c->world->unknown(c->world->ctx, where, words);
}

int schema_read_keyword(struct schema_compiler *c, struct mortise_schema *s,
                        const char *name, json_t *value)
{
    const struct keyword *k =
        bsearch(name, keywords, N_KEYWORDS, sizeof *keywords, by_keyword);

    if (k == NULL)
        tell_unknown(c, s, name);
    if (k == NULL || (s->resource->vocabularies & k->vocabulary) == 0)
        return MORTISE_OK;
    return k->read(c, s, k, value);
}
