/* schema.c -- JSON Schema (draft 2020-12): the part that this build knows.
 *
 * A schema is read once into a tree of small structs; values are then held
 * against it without looking at its JSON again.  The promises:
 *
 *   (1) No keyword is ignored.  What we do not enforce is refused when the
 *       schema is compiled: known parts of the draft as "not available",
 *       everything else as unknown.
 *   (2) The cost of a check is linear in the value (times the length of the
 *       enums that it meets, times log of the widths of `properties`).
 *   (3) Numbers compare as numbers: 1.0 is an integer and is in [1].  After
 *       mortise_schema_normal() they are also typed as the schema says, so
 *       that an expression sees a double wherever the schema says `number`.
 *
 * Members are sorted by name for the search; findings still come in the
 * document's order, because the value is walked, not the schema.
 */
#include "json/schema.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"

struct member {
    const char *name; /* borrowed from the JSON */
    struct mortise_schema *schema;
};

struct mortise_schema {
    json_t *json;   /* borrowed by parts, counted by the root */
    unsigned types; /* MORTISE_T_...; 0: no value is allowed */
    const json_t *enumeration, *required; /* arrays, or NULL */
    struct member *members;               /* sorted by name */
    size_t n_members;
    struct mortise_schema *additional, *items; /* NULL: anything */
};

/* ---- RFC 6901 pointers ----------------------------------------------- */

/* A pointer that grows and shrinks; what does not fit is cut. */
struct pointer {
    char *text; /* lent; size bytes, NUL-terminated */
    size_t size, n;
};

static void put_char(struct pointer *p, char c)
{
    if (p->n + 1 < p->size) {
        p->text[p->n++] = c;
        p->text[p->n] = '\0';
    }
}

/* Back to the length that push() returned. */
static void pop(struct pointer *p, size_t n)
{
    p->n = n;
    if (p->size > 0)
        p->text[n] = '\0';
}

static size_t push(struct pointer *p, const char *token)
{
    size_t before = p->n;

    put_char(p, '/');
    for (; *token != '\0'; token++) {
        if (*token == '~' || *token == '/') {
            put_char(p, '~');
            put_char(p, *token == '~' ? '0' : '1');
        } else {
            put_char(p, *token);
        }
    }
    return before;
}

/* ---- compiling ------------------------------------------------------- */

struct compiler {
    struct mortise_arena *arena;
    struct pointer where; /* after a failure: where it happened */
    size_t depth;
    struct mortise_err *err;
};

static int compile(struct compiler *c, struct mortise_schema **out,
                   json_t *json);

static const struct {
    const char *name;
    unsigned bit;
} type_names[] = {
    {"null", MORTISE_T_NULL},     {"boolean", MORTISE_T_BOOL},
    {"integer", MORTISE_T_INT},   {"number", MORTISE_T_NUMBER},
    {"string", MORTISE_T_STRING}, {"array", MORTISE_T_ARRAY},
    {"object", MORTISE_T_OBJECT},
};
enum { N_TYPES = sizeof type_names / sizeof type_names[0] };

static int type_bit(struct compiler *c, const json_t *name, unsigned *bit)
{
    const char *known[N_TYPES], *near, *text = json_string_value(name);

    if (text == NULL)
        return mortise_fail(c->err, MORTISE_EINVAL,
                            "'type' names a type, or lists several");
    for (size_t i = 0; i < N_TYPES; i++) {
        known[i] = type_names[i].name;
        *bit = type_names[i].bit;
        if (strcmp(known[i], text) == 0)
            return MORTISE_OK;
    }
    near = mortise_nearest(text, known, N_TYPES);
    return mortise_fail(c->err, MORTISE_EINVAL,
                        near != NULL ? "no type '%s', did you mean '%s'?"
                                     : "no type '%s'",
                        text, near);
}

static int read_type(struct compiler *c, struct mortise_schema *s, json_t *v)
{
    unsigned bit = 0, types = 0;
    int rv;

    if (!json_is_array(v)) {
        rv = type_bit(c, v, &bit);
        s->types &= bit;
        return rv;
    }
    if (json_array_size(v) == 0)
        return mortise_fail(c->err, MORTISE_EINVAL, "'type' lists no type");
    for (size_t i = 0; i < json_array_size(v); i++) {
        rv = type_bit(c, json_array_get(v, i), &bit);
        if (rv != MORTISE_OK)
            return rv;
        if (types & bit)
            return mortise_fail(c->err, MORTISE_EINVAL,
                                "'type' lists a type twice");
        types |= bit;
    }
    s->types &= types;
    return MORTISE_OK;
}

static unsigned type_of(const json_t *v)
{
    static const unsigned bits[] = {
        [JSON_OBJECT] = MORTISE_T_OBJECT, [JSON_ARRAY] = MORTISE_T_ARRAY,
        [JSON_STRING] = MORTISE_T_STRING, [JSON_INTEGER] = MORTISE_T_INT,
        [JSON_REAL] = MORTISE_T_NUMBER,   [JSON_TRUE] = MORTISE_T_BOOL,
        [JSON_FALSE] = MORTISE_T_BOOL,    [JSON_NULL] = MORTISE_T_NULL,
    };

    return bits[json_typeof(v)];
}

static int read_enum(struct compiler *c, struct mortise_schema *s, json_t *v)
{
    if (!json_is_array(v) || json_array_size(v) == 0)
        return mortise_fail(c->err, MORTISE_EINVAL,
                            "'enum' is a list of values");
    s->enumeration = v;
    return MORTISE_OK;
}

static int read_required(struct compiler *c, struct mortise_schema *s,
                         json_t *v)
{
    if (!json_is_array(v))
        return mortise_fail(c->err, MORTISE_EINVAL,
                            "'required' is a list of names");
    for (size_t i = 0; i < json_array_size(v); i++)
        if (!json_is_string(json_array_get(v, i)))
            return mortise_fail(c->err, MORTISE_EINVAL,
                                "'required' is a list of names");
    s->required = v;
    return MORTISE_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct member *)a)->name,
                  ((const struct member *)b)->name);
}

static int read_properties(struct compiler *c, struct mortise_schema *s,
                           json_t *v)
{
    size_t n = json_object_size(v), i = 0;

    if (!json_is_object(v))
        return mortise_fail(c->err, MORTISE_EINVAL,
                            "'properties' maps names to schemas");
    s->members = mortise_arena_alloc(c->arena, n * sizeof *s->members);
    if (s->members == NULL)
        return mortise_nomem(c->err);
    for (void *it = json_object_iter(v); it != NULL;
         it = json_object_iter_next(v, it), i++) {
        struct member *m = &s->members[i];
        size_t before;
        int rv;

        m->name = json_object_iter_key(it);
        before = push(&c->where, m->name);
        rv = compile(c, &m->schema, json_object_iter_value(it));
        if (rv != MORTISE_OK)
            return rv;
        pop(&c->where, before);
    }
    s->n_members = n;
    qsort(s->members, n, sizeof *s->members, by_name);
    return MORTISE_OK;
}

static int read_items(struct compiler *c, struct mortise_schema *s, json_t *v)
{
    return compile(c, &s->items, v);
}

static int read_additional(struct compiler *c, struct mortise_schema *s,
                           json_t *v)
{
    return compile(c, &s->additional, v);
}

static int read_words(struct compiler *c, struct mortise_schema *s, json_t *v)
{
    (void)s;
    if (json_is_string(v))
        return MORTISE_OK;
    return mortise_fail(c->err, MORTISE_EINVAL, "expected a string");
}

static int read_examples(struct compiler *c, struct mortise_schema *s,
                         json_t *v)
{
    (void)s;
    if (json_is_array(v))
        return MORTISE_OK;
    return mortise_fail(c->err, MORTISE_EINVAL, "'examples' is a list");
}

static int read_default(struct compiler *c, struct mortise_schema *s, json_t *v)
{
    (void)c;
    (void)s;
    (void)v;
    return MORTISE_OK; /* any value is one */
}

#define DRAFT "https://json-schema.org/draft/2020-12/schema"

static int read_dialect(struct compiler *c, struct mortise_schema *s, json_t *v)
{
    const char *text = json_string_value(v);

    (void)s;
    if (text == NULL)
        return mortise_fail(c->err, MORTISE_EINVAL, "expected a string");
    if (strcmp(text, DRAFT) == 0 || strcmp(text, DRAFT "#") == 0)
        return MORTISE_OK;
    return mortise_fail(c->err, MORTISE_EUNAVAILABLE,
                        "the dialect %s is not available: schemas are "
                        "written in " DRAFT,
                        text);
}

struct keyword {
    const char *name;
    /* NULL: the draft has it, this build does not */
    int (*read)(struct compiler *, struct mortise_schema *, json_t *);
};

static const struct keyword keywords[] = {
    {"type", read_type},
    {"enum", read_enum},
    {"properties", read_properties},
    {"required", read_required},
    {"additionalProperties", read_additional},
    {"items", read_items},
    {"title", read_words},
    {"description", read_words},
    {"$comment", read_words},
    {"$schema", read_dialect},
    {"default", read_default},
    {"examples", read_examples},
    {"$id", NULL},
    {"$ref", NULL},
    {"$defs", NULL},
    {"$anchor", NULL},
    {"$dynamicRef", NULL},
    {"$dynamicAnchor", NULL},
    {"$vocabulary", NULL},
    {"allOf", NULL},
    {"anyOf", NULL},
    {"oneOf", NULL},
    {"not", NULL},
    {"if", NULL},
    {"then", NULL},
    {"else", NULL},
    {"const", NULL},
    {"multipleOf", NULL},
    {"maximum", NULL},
    {"exclusiveMaximum", NULL},
    {"minimum", NULL},
    {"exclusiveMinimum", NULL},
    {"maxLength", NULL},
    {"minLength", NULL},
    {"pattern", NULL},
    {"format", NULL},
    {"maxItems", NULL},
    {"minItems", NULL},
    {"uniqueItems", NULL},
    {"prefixItems", NULL},
    {"contains", NULL},
    {"maxContains", NULL},
    {"minContains", NULL},
    {"unevaluatedItems", NULL},
    {"maxProperties", NULL},
    {"minProperties", NULL},
    {"patternProperties", NULL},
    {"propertyNames", NULL},
    {"dependentRequired", NULL},
    {"dependentSchemas", NULL},
    {"unevaluatedProperties", NULL},
    {"contentEncoding", NULL},
    {"contentMediaType", NULL},
    {"contentSchema", NULL},
    {"deprecated", NULL},
    {"readOnly", NULL},
    {"writeOnly", NULL},
};
enum { N_KEYWORDS = sizeof keywords / sizeof keywords[0] };

static int no_such_keyword(struct compiler *c, const char *name)
{
    const char *known[N_KEYWORDS], *near;

    for (size_t i = 0; i < N_KEYWORDS; i++)
        known[i] = keywords[i].name;
    near = mortise_nearest(name, known, N_KEYWORDS);
    return mortise_fail(c->err, MORTISE_EINVAL,
                        near != NULL
                            ? "unknown keyword '%s', did you mean '%s'?"
                            : "unknown keyword '%s'",
                        name, near);
}

static int read_keyword(struct compiler *c, struct mortise_schema *s,
                        const char *name, json_t *value)
{
    if (strncmp(name, "x-", 2) == 0)
        return MORTISE_OK;
    for (size_t i = 0; i < N_KEYWORDS; i++) {
        if (strcmp(keywords[i].name, name) != 0)
            continue;
        if (keywords[i].read != NULL)
            return keywords[i].read(c, s, value);
        return mortise_fail(c->err, MORTISE_EUNAVAILABLE,
                            "the JSON Schema keyword '%s' is not available "
                            "in this build",
                            name);
    }
    return no_such_keyword(c, name);
}

/* Types that no value of the enum has are impossible.  The number 1 may be
 * written 1.0, so of the numbers either kind may come, unless `type` says. */
static void narrow_by_enum(struct mortise_schema *s)
{
    unsigned types = 0;

    if (s->enumeration == NULL)
        return;
    for (size_t i = 0; i < json_array_size(s->enumeration); i++)
        types |= type_of(json_array_get(s->enumeration, i));
    if (s->types != MORTISE_T_ANY && types & (MORTISE_T_INT | MORTISE_T_NUMBER))
        types |= MORTISE_T_INT | MORTISE_T_NUMBER;
    s->types &= types;
}

static int read_keywords(struct compiler *c, struct mortise_schema *s)
{
    for (void *it = json_object_iter(s->json); it != NULL;
         it = json_object_iter_next(s->json, it)) {
        const char *name = json_object_iter_key(it);
        size_t before = push(&c->where, name);
        int rv = read_keyword(c, s, name, json_object_iter_value(it));

        if (rv != MORTISE_OK)
            return rv;
        pop(&c->where, before);
    }
    narrow_by_enum(s);
    return MORTISE_OK;
}

static int compile(struct compiler *c, struct mortise_schema **out,
                   json_t *json)
{
    struct mortise_schema *s = mortise_arena_alloc(c->arena, sizeof *s);
    int rv;

    if (s == NULL)
        return mortise_nomem(c->err);
    *out = s;
    s->json = json;
    s->types = json_is_false(json) ? 0 : MORTISE_T_ANY;
    if (json_is_boolean(json))
        return MORTISE_OK;
    if (!json_is_object(json))
        return mortise_fail(c->err, MORTISE_EINVAL,
                            "a schema is an object, true or false");
    if (c->depth == MORTISE_JSON_DEPTH)
        return mortise_fail(c->err, MORTISE_EINVAL,
                            "the schema is nested too deeply");
    c->depth++;
    rv = read_keywords(c, s);
    c->depth--;
    return rv;
}

int mortise_schema_compile(struct mortise_schema **out, struct mortise_arena *a,
                           json_t *json, char *where, size_t where_size,
                           struct mortise_err *err)
{
    struct compiler c = {
        .arena = a, .where = {where, where_size, 0}, .err = err};
    struct mortise_schema *root;
    int rv;

    *out = NULL;
    pop(&c.where, 0);
    rv = compile(&c, &root, json);
    if (rv != MORTISE_OK)
        return rv;
    json_incref(json);
    *out = root;
    return MORTISE_OK;
}

void mortise_schema_finish(struct mortise_schema *s)
{
    if (s != NULL)
        json_decref(s->json);
}

/* ---- asking ---------------------------------------------------------- */

static const struct member *find_member(const struct mortise_schema *s,
                                        const char *name)
{
    struct member key = {.name = name};

    if (s->n_members == 0)
        return NULL;
    return bsearch(&key, s->members, s->n_members, sizeof key, by_name);
}

const struct mortise_schema *
mortise_schema_member(const struct mortise_schema *s, const char *name)
{
    const struct member *m = find_member(s, name);

    return m != NULL ? m->schema : s->additional;
}

const struct mortise_schema *
mortise_schema_items(const struct mortise_schema *s)
{
    return s->items;
}

bool mortise_schema_is_closed(const struct mortise_schema *s)
{
    return s->additional != NULL && s->additional->types == 0;
}

const char *mortise_schema_nearest(const struct mortise_schema *s,
                                   const char *name)
{
    const char *best = NULL;

    /* One against one: the winner so far and the next. */
    for (size_t i = 0; i < s->n_members; i++) {
        const char *two[2] = {best, s->members[i].name};

        best = mortise_nearest(name, two, 2);
    }
    return best;
}

unsigned mortise_schema_types(const struct mortise_schema *s)
{
    return s->types;
}

const json_t *mortise_schema_json(const struct mortise_schema *s)
{
    return s->json;
}

/* ---- checking -------------------------------------------------------- */

/* The way to a value: on the stack, spelled only when there is a finding. */
struct spot {
    const struct spot *up; /* NULL at the root */
    const char *key;       /* or NULL */
    size_t index;
};

static void spell(struct pointer *p, const struct spot *spot)
{
    char digits[24];

    if (spot->up == NULL)
        return;
    spell(p, spot->up);
    snprintf(digits, sizeof digits, "%zu", spot->index);
    push(p, spot->key != NULL ? spot->key : digits);
}

static int finding(const struct spot *spot, struct mortise_err *err,
                   const char *fmt, ...) MORTISE_PRINTF(3, 4);

static int finding(const struct spot *spot, struct mortise_err *err,
                   const char *fmt, ...)
{
    char text[256] = "";
    struct pointer at = {text, sizeof text, 0};
    va_list ap;

    va_start(ap, fmt);
    mortise_vfail(err, MORTISE_EINVAL, fmt, ap);
    va_end(ap);
    spell(&at, spot);
    if (at.n == 0)
        return MORTISE_EINVAL;
    return mortise_doing(err, MORTISE_EINVAL, "at %s", text);
}

static const char *type_name(unsigned bit)
{
    for (size_t i = 0; i < N_TYPES; i++)
        if (type_names[i].bit == bit)
            return type_names[i].name;
    return "nothing";
}

/* An integer, in whatever spelling, that 64 bits hold. */
static bool is_whole(double v)
{
    return v >= -0x1p63 && v < 0x1p63 && v == trunc(v);
}

static bool fits(unsigned types, const json_t *v)
{
    if (types & type_of(v))
        return true;
    if (json_is_integer(v))
        return (types & MORTISE_T_NUMBER) != 0;
    return json_is_real(v) && types & MORTISE_T_INT &&
           is_whole(json_real_value(v));
}

static int wrong_type(const struct mortise_schema *s, const json_t *v,
                      const struct spot *spot, struct mortise_err *err)
{
    char list[128] = "";

    if (s->types == 0)
        return finding(spot, err, "no value is allowed here");
    for (size_t i = 0; i < N_TYPES; i++) {
        size_t n = strlen(list);

        if (s->types & type_names[i].bit)
            snprintf(list + n, sizeof list - n, "%s%s", n > 0 ? " or " : "",
                     type_names[i].name);
    }
    return finding(spot, err, "expected %s, found %s", list,
                   type_name(type_of(v)));
}

static bool same(const json_t *a, const json_t *b);

static bool same_number(const json_t *a, const json_t *b)
{
    if (json_is_integer(a) && json_is_integer(b))
        return json_integer_value(a) == json_integer_value(b);
    if (json_is_real(a) && json_is_real(b))
        return json_real_value(a) == json_real_value(b);
    if (json_is_real(a))
        return same_number(b, a);
    return is_whole(json_real_value(b)) &&
           (json_int_t)json_real_value(b) == json_integer_value(a);
}

static bool same_array(const json_t *a, const json_t *b)
{
    size_t n = json_array_size(a);

    if (json_array_size(b) != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!same(json_array_get(a, i), json_array_get(b, i)))
            return false;
    return true;
}

static bool same_object(const json_t *a, const json_t *b)
{
    json_t *object = mortise_json_unconst(a);

    if (json_object_size(a) != json_object_size(b))
        return false;
    for (void *it = json_object_iter(object); it != NULL;
         it = json_object_iter_next(object, it)) {
        const json_t *other = json_object_get(b, json_object_iter_key(it));

        if (other == NULL || !same(json_object_iter_value(it), other))
            return false;
    }
    return true;
}

/* json_equal(), but 1 is 1.0. */
static bool same(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b))
        return same_number(a, b);
    if (json_is_array(a) && json_is_array(b))
        return same_array(a, b);
    if (json_is_object(a) && json_is_object(b))
        return same_object(a, b);
    return json_equal(a, b);
}

/* The choices, as many as fit. */
static int not_listed(const json_t *choices, const struct spot *spot,
                      struct mortise_err *err)
{
    char list[256] = "", one[64];
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(choices); i++) {
        size_t len = json_dumpb(json_array_get(choices, i), one, sizeof one,
                                JSON_COMPACT | JSON_ENCODE_ANY |
                                    JSON_REAL_PRECISION(15));

        if (len == 0 || len > sizeof one || n + len + 8 > sizeof list) {
            snprintf(list + n, sizeof list - n, "%s...", n > 0 ? ", " : "");
            break;
        }
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%.*s",
                              n > 0 ? ", " : "", (int)len, one);
    }
    return finding(spot, err, "expected one of %s", list);
}

static int check_enum(const struct mortise_schema *s, const json_t *v,
                      const struct spot *spot, struct mortise_err *err)
{
    for (size_t i = 0; i < json_array_size(s->enumeration); i++)
        if (same(v, json_array_get(s->enumeration, i)))
            return MORTISE_OK;
    return not_listed(s->enumeration, spot, err);
}

static int check_required(const struct mortise_schema *s, const json_t *v,
                          const struct spot *spot, struct mortise_err *err)
{
    for (size_t i = 0; i < json_array_size(s->required); i++) {
        const char *name = json_string_value(json_array_get(s->required, i));

        if (json_object_get(v, name) == NULL)
            return finding(spot, err, "the member '%s' is missing", name);
    }
    return MORTISE_OK;
}

static int unknown_member(const struct mortise_schema *s, const char *name,
                          const struct spot *spot, struct mortise_err *err)
{
    const char *near = mortise_schema_nearest(s, name);

    return finding(spot, err,
                   near != NULL ? "unknown member '%s', did you mean '%s'?"
                                : "unknown member '%s'",
                   name, near);
}

static int check(const struct mortise_schema *s, const json_t *v,
                 const struct spot *spot, struct mortise_err *err);

static int check_members(const struct mortise_schema *s, json_t *v,
                         const struct spot *spot, struct mortise_err *err)
{
    for (void *it = json_object_iter(v); it != NULL;
         it = json_object_iter_next(v, it)) {
        struct spot at = {spot, json_object_iter_key(it), 0};
        const struct member *m = find_member(s, at.key);
        const struct mortise_schema *part =
            m != NULL ? m->schema : s->additional;
        int rv;

        if (part == NULL)
            continue;
        if (m == NULL && part->types == 0)
            return unknown_member(s, at.key, spot, err);
        rv = check(part, json_object_iter_value(it), &at, err);
        if (rv != MORTISE_OK)
            return rv;
    }
    return MORTISE_OK;
}

static int check_items(const struct mortise_schema *s, const json_t *v,
                       const struct spot *spot, struct mortise_err *err)
{
    for (size_t i = 0; i < json_array_size(v); i++) {
        struct spot at = {spot, NULL, i};
        int rv = check(s->items, json_array_get(v, i), &at, err);

        if (rv != MORTISE_OK)
            return rv;
    }
    return MORTISE_OK;
}

/* How deep this goes is bounded by the schema, not by the value. */
static int check(const struct mortise_schema *s, const json_t *v,
                 const struct spot *spot, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    if (!fits(s->types, v))
        return wrong_type(s, v, spot, err);
    if (s->enumeration != NULL)
        rv = check_enum(s, v, spot, err);
    if (rv == MORTISE_OK && json_is_object(v)) {
        rv = check_members(s, mortise_json_unconst(v), spot, err);
        if (rv == MORTISE_OK && s->required != NULL)
            rv = check_required(s, v, spot, err);
    }
    if (rv == MORTISE_OK && json_is_array(v) && s->items != NULL)
        rv = check_items(s, v, spot, err);
    return rv;
}

int mortise_schema_check(const struct mortise_schema *s, const json_t *value,
                         struct mortise_err *err)
{
    static const struct spot root = {NULL, NULL, 0};

    return check(s, value, &root, err);
}

/* ---- typing ---------------------------------------------------------- */

static json_t *normal_number(const struct mortise_schema *s, json_t *v)
{
    unsigned kinds = s->types & (MORTISE_T_INT | MORTISE_T_NUMBER);

    if (json_is_integer(v) && kinds == MORTISE_T_NUMBER)
        return json_real((double)json_integer_value(v));
    if (json_is_real(v) && kinds == MORTISE_T_INT &&
        is_whole(json_real_value(v)))
        return json_integer((json_int_t)json_real_value(v));
    return json_incref(v);
}

/* Put the part into the copy, which is made when the first part changed.
 * Takes the reference to `part`; -1 when out of memory. */
static int replace(json_t *v, json_t **copy, const char *key, size_t i,
                   json_t *part, const json_t *old)
{
    if (part == NULL)
        return -1;
    if (part == old) {
        json_decref(part);
        return 0;
    }
    if (*copy == v) {
        *copy = json_copy(v);
        json_decref(v);
    }
    if (*copy == NULL) {
        json_decref(part);
        return -1;
    }
    return key != NULL ? json_object_set_new(*copy, key, part)
                       : json_array_set_new(*copy, i, part);
}

static json_t *normal_object(const struct mortise_schema *s, json_t *v)
{
    json_t *copy = json_incref(v);

    for (void *it = json_object_iter(v); it != NULL;
         it = json_object_iter_next(v, it)) {
        const char *key = json_object_iter_key(it);
        json_t *old = json_object_iter_value(it);
        const struct mortise_schema *part = mortise_schema_member(s, key);

        if (part != NULL &&
            replace(v, &copy, key, 0, mortise_schema_normal(part, old), old) !=
                0) {
            json_decref(copy);
            return NULL;
        }
    }
    return copy;
}

static json_t *normal_array(const struct mortise_schema *s, json_t *v)
{
    json_t *copy = json_incref(v);

    for (size_t i = 0; s->items != NULL && i < json_array_size(v); i++) {
        json_t *old = json_array_get(v, i);

        if (replace(v, &copy, NULL, i, mortise_schema_normal(s->items, old),
                    old) != 0) {
            json_decref(copy);
            return NULL;
        }
    }
    return copy;
}

json_t *mortise_schema_normal(const struct mortise_schema *s, json_t *value)
{
    if (json_is_number(value))
        return normal_number(s, value);
    if (json_is_object(value) && (s->n_members > 0 || s->additional != NULL))
        return normal_object(s, value);
    if (json_is_array(value))
        return normal_array(s, value);
    return json_incref(value);
}
