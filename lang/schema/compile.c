/* compile.c -- compiling a JSON Schema into small structs: the walk.
 *
 * Schemas are read once and used often.  So everything that does not depend on
 * a value is computed here, and check.c reads the schema's JSON only for the
 * values in it.  There are three steps: the walk creates a struct for every
 * subschema (keywords.c knows where they are), references are resolved
 * (refs.c), and then each schema gets the properties that follow from its
 * subschemas for the same value.  The promises:
 *
 *   (1) A schema that compiles is valid under the draft's own metaschema
 *       (metaschema.c); a test compares the two.
 *   (2) Nothing is ever fetched.  A reference leads to a part of the same
 *       schema, to the draft's metaschemas or to a document of the caller's
 *       world.  All others are errors.
 *   (3) A chain of references that returns to its start without descending into
 *       the value is an error, and so is an excessively long chain.  So at
 *       check time only the depth of the value has to be bounded.
 *   (4) An error has a place: a pointer into the JSON.
 *   (5) An error in one keyword does not hide errors in its siblings, or in the
 *       schemas inside them: a caller that asks for all errors gets each.
 *
 * Everything is in the arena except the JSON values, which
 * mortise_schema_finish() releases.  All errors leave through one escape
 * (core/base/escape.h) with the current place, compiler.at.  Each reader of a
 * part sets the place, and restores it afterwards.  For (5) every keyword has
 * an escape of its own.  Structs that a failed reader left incomplete are never
 * used, because such a schema is not finished.
 */
#include "lang/schema/compile.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/json/pointer.h"
#include "lang/schema/uri.h"

/* ---- places ---------------------------------------------------------- */

static void print_place(struct mortise_pointer *p, struct schema_place place)
{
    if (place.up == NULL)
        return;
    print_place(p, place.up->place);
    if (place.keyword != NULL)
        mortise_pointer_push(p, place.keyword);
    if (place.name != NULL)
        mortise_pointer_push(p, place.name);
    if (place.is_index)
        mortise_pointer_push_index(p, place.index);
}

void mortise_schema_format_place(char *out, size_t size,
                                 struct schema_place place)
{
    struct mortise_pointer p;

    mortise_pointer_init(&p, out, size);
    print_place(&p, place);
}

void mortise_schema_format_rule(char *out, size_t size,
                                const struct mortise_schema *s,
                                const char *keyword)
{
    const struct mortise_schema *root = s;
    struct mortise_pointer p;
    size_t n = 0;

    while (root->place.up != NULL)
        root = root->place.up;
    if (root->json != s->whole->json)
        n = (size_t)snprintf(out, size, "%.100s#", root->resource->uri);
    mortise_pointer_init(&p, out + n, size - n);
    print_place(&p, s->place);
    if (keyword != NULL)
        mortise_pointer_push(&p, keyword);
}

void mortise_schema_fail(struct schema_compiler *c, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    mortise_vfail(c->escape->err, MORTISE_EINVAL, fmt, ap);
    va_end(ap);
    mortise_escape(c->escape, MORTISE_EINVAL);
}

static void report_wrong_part(struct schema_compiler *c, int rv)
{
    char where[512];

    if (c->n_wrong++ == 0)
        c->first_wrong = rv;
    mortise_schema_format_place(where, sizeof where, c->at);
    c->world->wrong(c->world->ctx, where, rv, c->escape->err->msg);
}

void mortise_schema_report(struct schema_compiler *c, int rv)
{
    if (c->world->wrong == NULL || rv == MORTISE_ENOMEM ||
        c->n_wrong == MORTISE_SCHEMA_ERRORS_MAX)
        mortise_escape(c->escape, rv);
    report_wrong_part(c, rv);
}

bool mortise_schema_try_part(struct schema_compiler *c, void (*body)(void *),
                             void *arg)
{
    struct mortise_escape *outer = c->escape, inner = {.err = outer->err};
    size_t depth = c->depth;
    int rv;

    if (c->world->wrong == NULL) {
        body(arg);
        return true;
    }
    c->escape = &inner;
    rv = mortise_escape_catch(&inner, body, arg);
    c->escape = outer;
    if (rv == MORTISE_OK)
        return true;
    c->depth = depth;
    mortise_schema_report(c, rv);
    return false;
}

void *mortise_schema_alloc(struct schema_compiler *c, size_t n, size_t size)
{
    return mortise_escape_alloc(c->escape, c->arena, n, size);
}

/* ---- the map from JSON objects to schemas ---------------------------- */

static size_t find_map_slot(const struct schema_compiler *c, const json_t *json)
{
    size_t i = (size_t)(((uintptr_t)json >> 4) * 0x9E3779B97F4A7C15u);

    for (i &= c->cap_map - 1; c->map[i].json != NULL && c->map[i].json != json;)
        i = (i + 1) & (c->cap_map - 1);
    return i;
}

static void grow_map(struct schema_compiler *c)
{
    struct schema_compiler old = *c;
    size_t cap = old.cap_map > 0 ? 2 * old.cap_map : 64;
    void *map = mortise_zalloc(c->mem, cap * sizeof *c->map);

    if (map == NULL)
        mortise_escape(c->escape, mortise_nomem(c->escape->err));
    c->map = map;
    c->cap_map = cap;
    for (size_t i = 0; i < old.cap_map; i++)
        if (old.map[i].json != NULL)
            c->map[find_map_slot(c, old.map[i].json)] = old.map[i];
    mortise_release(c->mem, old.map, old.cap_map * sizeof *old.map);
}

struct mortise_schema *
mortise_schema_find_compiled(const struct schema_compiler *c,
                             const json_t *json)
{
    return c->cap_map > 0 ? c->map[find_map_slot(c, json)].schema : NULL;
}

static void add_schema_to_map(struct schema_compiler *c,
                              struct mortise_schema *s)
{
    size_t i;

    if (2 * c->n_map >= c->cap_map)
        grow_map(c);
    i = find_map_slot(c, s->json);
    if (c->map[i].json != NULL)
        return; /* a value that occurs twice in a shared document */
    c->map[i].json = s->json;
    c->map[i].schema = s;
    c->n_map++;
}

void mortise_schema_count_name(struct schema_compiler *c)
{
    if (++c->n_names > MORTISE_SCHEMA_NAMES)
        mortise_schema_fail(c, "more than %d parts of the schema have a name",
                            MORTISE_SCHEMA_NAMES);
}

/* ---- resources ------------------------------------------------------- */

static struct schema_resource *
new_resource(struct schema_compiler *c, const char *uri, unsigned vocabularies)
{
    struct schema_resource *r = mortise_schema_alloc(c, 1, sizeof *r);

    *r = (struct schema_resource){
        .next = c->resources, .uri = uri, .vocabularies = vocabularies};
    c->resources = r;
    return r;
}

static void start_resource(struct schema_compiler *c, struct mortise_schema *s,
                           const char *id)
{
    char *uri = mortise_uri_resolve(c->arena, s->resource->uri, id);
    const struct schema_resource *r = c->resources;

    if (uri == NULL)
        mortise_escape(c->escape, mortise_nomem(c->escape->err));
    uri[strcspn(uri, "#")] = '\0'; /* only an empty fragment is possible here */
    while (r != NULL && strcmp(r->uri, uri) != 0)
        r = r->next;
    if (r != NULL && r->root != NULL)
        mortise_schema_fail(c, "two schemas are named %s", uri);
    mortise_schema_count_name(c);
    mortise_schema_get_rare_keywords(c, s)->is_resource = true;
    s->resource = new_resource(c, uri, s->resource->vocabularies);
}

static void read_schema_id(struct schema_compiler *c, struct mortise_schema *s,
                           const json_t *id)
{
    const char *text = json_string_value(id);

    if (text == NULL)
        mortise_schema_fail(c, "expected a string");
    if (strcspn(text, "#") + 1 < strlen(text))
        mortise_schema_fail(c, "'$id' cannot have a fragment: use '$anchor'");
    start_resource(c, s, text);
}

/* ---- dialects -------------------------------------------------------- */

#define DRAFT "https://json-schema.org/draft/2020-12/"

static const struct {
    const char *uri;
    unsigned bit;
} vocabularies[] = {
    {DRAFT "vocab/core", SCHEMA_CORE},
    {DRAFT "vocab/applicator", SCHEMA_APPLICATOR},
    {DRAFT "vocab/unevaluated", SCHEMA_UNEVALUATED},
    {DRAFT "vocab/validation", SCHEMA_VALIDATION},
    {DRAFT "vocab/meta-data", SCHEMA_META_DATA},
    {DRAFT "vocab/format-annotation", SCHEMA_FORMAT},
    {DRAFT "vocab/content", SCHEMA_CONTENT},
};

static unsigned vocabulary_bit(const char *uri)
{
    for (size_t i = 0; i < sizeof vocabularies / sizeof vocabularies[0]; i++)
        if (strcmp(vocabularies[i].uri, uri) == 0)
            return vocabularies[i].bit;
    return 0;
}

static _Noreturn void fail_unavailable(struct schema_compiler *c,
                                       const char *what, const char *uri,
                                       const char *why)
{
    mortise_escape(c->escape, mortise_fail(c->escape->err, MORTISE_EUNAVAILABLE,
                                           "the %s %s is not available%s", what,
                                           uri, why));
}

/* The vocabularies in a metaschema's $vocabulary. */
static unsigned read_vocabularies(struct schema_compiler *c, json_t *object)
{
    unsigned all = SCHEMA_CORE;

    MORTISE_JSON_MEMBERS (uri, one, object) {
        all |= vocabulary_bit(uri);
        if (vocabulary_bit(uri) == 0 && json_is_true(one))
            fail_unavailable(c, "vocabulary", uri, " in this build");
    }
    return all;
}

static unsigned read_dialect(struct schema_compiler *c, const json_t *dialect)
{
    const char *uri = json_string_value(dialect);
    const struct schema_document *meta;
    json_t *list;

    if (uri == NULL)
        mortise_schema_fail(c, "expected a string");
    if (strcmp(uri, DRAFT "schema") == 0 || strcmp(uri, DRAFT "schema#") == 0)
        return SCHEMA_ALL;
    meta = mortise_schema_find_document(c, uri);
    if (meta == NULL)
        fail_unavailable(c, "dialect", uri, ": use " DRAFT "schema");
    list = json_object_get(meta->json, "$vocabulary");
    return list != NULL ? read_vocabularies(c, list) : SCHEMA_ALL;
}

/* ---- the walk -------------------------------------------------------- */

/* Read the keywords that affect the reading of all others. */
static void read_schema_head(struct schema_compiler *c,
                             struct mortise_schema *s)
{
    const json_t *id = json_object_get(s->json, "$id"),
                 *dialect = json_object_get(s->json, "$schema");

    c->at = (struct schema_place){.up = s, .keyword = "$id"};
    if (id != NULL)
        read_schema_id(c, s, id);
    if (s->resource->root == NULL)
        s->resource->root = s;
    if (dialect == NULL)
        return;
    c->at.keyword = "$schema";
    if (s->resource->root != s)
        mortise_schema_fail(
            c, "'$schema' must be at the start of a schema, with its '$id'");
    s->resource->vocabularies = read_dialect(c, dialect);
}

/* Exclude types that no value of the enum has.  The number 1 may be written as
 * 1.0, so both kinds of numbers are possible unless `type` excludes one. */
static void narrow_types(struct mortise_schema *s, unsigned types)
{
    const unsigned numbers = MORTISE_T_INT | MORTISE_T_NUMBER;

    if (s->types != MORTISE_T_ANY && types & numbers)
        types |= numbers;
    s->types &= types;
}

static void narrow_types_by_values(struct mortise_schema *s)
{
    unsigned types = 0;

    if (s->rest != NULL && s->rest->constant != NULL)
        narrow_types(s, mortise_schema_type_of(s->rest->constant));
    if (s->enumeration == NULL)
        return;
    for (size_t i = 0; i < json_array_size(s->enumeration); i++)
        types |= mortise_schema_type_of(json_array_get(s->enumeration, i));
    narrow_types(s, types);
}

struct part {
    struct schema_compiler *c;
    struct mortise_schema *s;
    const char *keyword;
    json_t *value;
};

static void try_schema_head(void *arg)
{
    const struct part *p = arg;

    read_schema_head(p->c, p->s);
}

static void try_schema_keyword(void *arg)
{
    const struct part *p = arg;

    mortise_schema_read_keyword(p->c, p->s, p->keyword, p->value);
}

/* If the head is invalid, the dialect is unknown, so nothing else is read. */
static void read_schema_object(struct schema_compiler *c,
                               struct mortise_schema *s, json_t *json)
{
    struct part part = {c, s, NULL, NULL};

    add_schema_to_map(c, s);
    if (!mortise_schema_try_part(c, try_schema_head, &part))
        return;
    MORTISE_JSON_MEMBERS (keyword, value, json) {
        c->at = (struct schema_place){.up = s, .keyword = keyword};
        part.keyword = keyword;
        part.value = value;
        mortise_schema_try_part(c, try_schema_keyword, &part);
    }
    narrow_types_by_values(s);
}

/* The entry in the map prevents a second error for references to it. */
static void report_non_schema(struct schema_compiler *c,
                              struct mortise_schema *s)
{
    add_schema_to_map(c, s);
    mortise_fail(c->escape->err, MORTISE_EINVAL,
                 "a schema must be an object, true or false");
    mortise_schema_report(c, MORTISE_EINVAL);
}

struct mortise_schema *
mortise_schema_compile_at(struct schema_compiler *c, json_t *json,
                          struct schema_place place,
                          struct schema_resource *resource)
{
    struct mortise_schema *s = mortise_schema_alloc(c, 1, sizeof *s);
    struct schema_place outer = c->at;

    *s = (struct mortise_schema){
        .json = json, .place = place, .resource = resource, .whole = c->whole};
    s->types = json_is_false(json) ? 0 : MORTISE_T_ANY;
    *c->last = s;
    c->last = &s->next;
    c->at = place;
    if (json_is_object(json)) {
        if (c->depth++ == MORTISE_JSON_DEPTH)
            mortise_schema_fail(c, "the schema is nested too deeply");
        read_schema_object(c, s, json);
        c->depth--;
    } else if (!json_is_boolean(json)) {
        report_non_schema(c, s);
    } else if (resource->root == NULL) {
        resource->root = s;
    }
    c->at = outer;
    return s;
}

struct mortise_schema *
mortise_schema_compile_document(struct schema_compiler *c,
                                struct schema_document *d)
{
    size_t depth = c->depth;

    c->depth = 0;
    d->root = mortise_schema_compile_at(c, d->json, (struct schema_place){0},
                                        new_resource(c, d->uri, SCHEMA_ALL));
    c->depth = depth;
    return d->root;
}

/* ---- properties that follow from subschemas -------------------------- */

/* The types that both allow. */
static unsigned intersect_types(unsigned a, unsigned b)
{
    const unsigned numbers = MORTISE_T_INT | MORTISE_T_NUMBER;
    unsigned common = a & b;

    /* An integer is a number: a value of both types is an integer. */
    if ((common & numbers) == 0 && a & numbers && b & numbers)
        common |= MORTISE_T_INT;
    return common;
}

/* The types that all of these schemas allow, or one of them. */
static unsigned intersect_all_kinds(const struct schema_list *list,
                                    unsigned kinds)
{
    for (size_t i = 0; i < list->n; i++)
        kinds = intersect_types(kinds, list->p[i]->kinds);
    return kinds;
}

static unsigned intersect_any_kinds(const struct schema_list *list,
                                    unsigned kinds)
{
    unsigned any = 0;

    for (size_t i = 0; i < list->n; i++)
        any |= list->p[i]->kinds;
    return list->n > 0 ? intersect_types(kinds, any) : kinds;
}

static void set_schema_kinds(struct mortise_schema *s)
{
    const struct schema_rare_keywords *r = s->rest;

    s->kinds = s->types;
    if (r == NULL)
        return;
    if (r->ref.target != NULL)
        s->kinds = intersect_types(s->kinds, r->ref.target->kinds);
    s->kinds = intersect_all_kinds(&r->all_of, s->kinds);
    s->kinds = intersect_any_kinds(&r->any_of, s->kinds);
    s->kinds = intersect_any_kinds(&r->one_of, s->kinds);
}

/* The types that need no further check.  An integer is also a number. */
static void set_immediate_types(struct mortise_schema *s)
{
    if (s->rest != NULL || s->enumeration != NULL)
        return;
    s->at_once = s->types;
    if (s->types & MORTISE_T_NUMBER)
        s->at_once |= MORTISE_T_INT;
    if (s->items != NULL)
        s->at_once &= ~(unsigned)MORTISE_T_ARRAY;
    if (s->n_members > 0 || s->additional != NULL || s->n_required > 0)
        s->at_once &= ~(unsigned)MORTISE_T_OBJECT;
}

/* The mark of a schema: not visited, being visited, or the length of the
 * longest chain from it. */
enum { NEW = 0, ACTIVE = 255 };

static void finish_schema(struct schema_compiler *c, struct mortise_schema *s);

/* Continue with a schema that judges the same value. */
static void finish_target_schema(struct schema_compiler *c,
                                 struct schema_place place,
                                 struct mortise_schema *to,
                                 unsigned char *height)
{
    if (to == NULL)
        return;
    if (to->mark == NEW)
        finish_schema(c, to);
    c->at = place;
    if (to->mark == ACTIVE)
        mortise_schema_fail(c,
                            "this schema refers to itself for the same value");
    if (to->mark >= *height)
        *height = (unsigned char)(to->mark + 1);
    if (c->depth + *height > MORTISE_SCHEMA_CHAIN)
        mortise_schema_fail(c,
                            "more than %d nested schemas check the same value",
                            MORTISE_SCHEMA_CHAIN);
}

static void finish_subschema(struct schema_compiler *c,
                             struct mortise_schema *part, unsigned char *height)
{
    if (part != NULL)
        finish_target_schema(c, part->place, part, height);
}

static void finish_schema_list(struct schema_compiler *c,
                               const struct schema_list *list,
                               unsigned char *height)
{
    for (size_t i = 0; i < list->n; i++)
        finish_subschema(c, list->p[i], height);
}

static void finish_rest_schemas(struct schema_compiler *c,
                                struct mortise_schema *s, unsigned char *height)
{
    struct schema_place ref = {.up = s, .keyword = "$ref"},
                        dynamic = {.up = s, .keyword = "$dynamicRef"};
    struct schema_rare_keywords *r = s->rest;

    finish_target_schema(c, ref, r->ref.target, height);
    finish_target_schema(c, dynamic, r->dynamic_ref.target, height);
    finish_schema_list(c, &r->all_of, height);
    finish_schema_list(c, &r->any_of, height);
    finish_schema_list(c, &r->one_of, height);
    finish_subschema(c, r->not, height);
    finish_subschema(c, r->when, height);
    finish_subschema(c, r->then, height);
    finish_subschema(c, r->otherwise, height);
    for (size_t i = 0; i < r->n_dependents; i++)
        finish_subschema(c, r->dependents[i].schema, height);
}

static void finish_schema(struct schema_compiler *c, struct mortise_schema *s)
{
    unsigned char height = 1;

    s->mark = ACTIVE;
    c->depth++;
    if (s->rest != NULL)
        finish_rest_schemas(c, s, &height);
    c->depth--;
    s->mark = height;
    set_schema_kinds(s);
    set_immediate_types(s);
}

/* The cost limit for compiling all patterns of one schema, as a multiple of an
 * expression's limit: a schema may come from the data of a run. */
enum { PATTERNS = 10 };

/* ---- the whole ------------------------------------------------------- */

static void compile_whole_schema(void *arg)
{
    struct schema_compiler *c = arg;

    c->whole = mortise_schema_alloc(c, 1, sizeof *c->whole);
    *c->whole = (struct schema_shared){.mem = c->mem,
                                       .json = json_incref(c->json),
                                       .place = c->world->place,
                                       .origin = c->world->origin};
    c->root = mortise_schema_compile_at(c, c->json, (struct schema_place){0},
                                        new_resource(c, "", SCHEMA_ALL));
    mortise_schema_resolve(c);
    if (c->n_wrong > 0)
        mortise_escape(c->escape, c->first_wrong);
    for (struct mortise_schema *s = c->all; s != NULL; s = s->next)
        if (s->mark == NEW)
            finish_schema(c, s);
}

static void free_whole_schema(struct schema_shared *w)
{
    for (struct schema_document *d = w->documents; d != NULL; d = d->next)
        json_decref(d->json);
    json_decref(w->json);
}

int mortise_schema_compile_with(struct mortise_schema **out,
                                struct mortise_arena *a, json_t *json,
                                const struct mortise_schema_options *world,
                                char *where, size_t where_size,
                                struct mortise_err *err)
{
    struct mortise_escape escape = {.err = err};
    struct schema_compiler c = {.escape = &escape,
                                .arena = a,
                                .mem = a->mem,
                                .world = world,
                                .left = PATTERNS * MORTISE_COST,
                                .json = json};
    int rv;

    c.last = &c.all;
    c.last_fixup = &c.fixups;
    rv = mortise_escape_catch(&escape, compile_whole_schema, &c);
    if (rv != MORTISE_OK && rv != MORTISE_ENOMEM && world->wrong != NULL &&
        c.n_wrong == 0)
        report_wrong_part(&c, rv);
    if (rv == MORTISE_OK)
        c.at = (struct schema_place){0};
    mortise_schema_format_place(where, where_size, c.at);
    mortise_release(c.mem, c.map, c.cap_map * sizeof *c.map);
    if (rv != MORTISE_OK && c.whole != NULL)
        free_whole_schema(c.whole);
    *out = rv == MORTISE_OK ? c.root : NULL;
    return rv;
}

int mortise_schema_compile(struct mortise_schema **out, struct mortise_arena *a,
                           json_t *json, char *where, size_t where_size,
                           struct mortise_err *err)
{
    static const struct mortise_schema_options nothing;

    return mortise_schema_compile_with(out, a, json, &nothing, where,
                                       where_size, err);
}

void mortise_schema_finish(struct mortise_schema *s)
{
    if (s != NULL)
        free_whole_schema(s->whole);
}

int mortise_schema_compile_foreign(struct mortise_schema **out,
                                   struct mortise_arena *a, json_t *json,
                                   char *where, size_t where_size,
                                   struct mortise_err *err)
{
    const struct mortise_schema_options foreign = {
        .patterns = MORTISE_PATTERNS_FOREIGN};

    return mortise_schema_compile_with(out, a, json, &foreign, where,
                                       where_size, err);
}
