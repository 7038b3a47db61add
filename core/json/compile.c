/* compile.c -- a JSON Schema read into small structs: the walk.
 *
 * Values are held against schemas all the time and schemas are read once, so
 * everything that can be decided without a value is decided here, and check.c
 * never looks at the schema's JSON again, but for the values in it.  Three
 * steps: the walk makes a struct of every subschema (keywords.c knows what is
 * one), the references are resolved (refs.c), and then every schema learns
 * what follows from those that judge the same value.  The promises:
 *
 *   (1) A schema that compiles is valid under the draft's own metaschema
 *       (metaschema.c); a test holds the two against each other.
 *   (2) Nothing is ever fetched.  A reference leads to a part of the same
 *       schema, to the draft's metaschemas or to what the caller's world
 *       knows; every other is refused.
 *   (3) References that lead back to where they started without going into
 *       the value are refused, and so are longer ways than anybody writes:
 *       what remains to be bounded when values are checked is how deep the
 *       value is.
 *   (4) A failure says where: a pointer into the JSON.
 *
 * The arena holds all but the JSON values, which mortise_schema_finish() gives
 * back.
 */
#include "json/compile.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "json/pointer.h"
#include "json/uri.h"

/* ---- places ---------------------------------------------------------- */

static void spell(struct mortise_pointer *p, struct schema_place place)
{
    if (place.up == NULL)
        return;
    spell(p, place.up->place);
    if (place.keyword != NULL)
        mortise_pointer_push(p, place.keyword);
    if (place.name != NULL)
        mortise_pointer_push(p, place.name);
    if (place.is_index)
        mortise_pointer_push_index(p, place.index);
}

void schema_spell_place(char *out, size_t size, struct schema_place place)
{
    struct mortise_pointer p;

    mortise_pointer_init(&p, out, size);
    spell(&p, place);
}

void schema_spell_rule(char *out, size_t size, const struct mortise_schema *s,
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
    spell(&p, s->place);
    if (keyword != NULL)
        mortise_pointer_push(&p, keyword);
}

void schema_failed_at(struct schema_compiler *c, struct schema_place place)
{
    if (!c->has_failed)
        c->failed = place;
    c->has_failed = true;
}

void *schema_alloc(struct schema_compiler *c, size_t n, size_t size)
{
    void *p = mortise_arena_alloc(c->arena, n * size);

    if (p == NULL)
        mortise_nomem(c->err);
    return p;
}

/* ---- which JSON object became which schema --------------------------- */

static size_t slot_of(const struct schema_compiler *c, const json_t *json)
{
    size_t i = (size_t)(((uintptr_t)json >> 4) * 0x9E3779B97F4A7C15u);

    for (i &= c->cap_map - 1; c->map[i].json != NULL && c->map[i].json != json;)
        i = (i + 1) & (c->cap_map - 1);
    return i;
}

static bool grow_map(struct schema_compiler *c)
{
    struct schema_compiler old = *c;

    c->cap_map = old.cap_map > 0 ? 2 * old.cap_map : 64;
    c->map = mortise_zalloc(c->mem, c->cap_map * sizeof *c->map);
    if (c->map == NULL) {
        c->map = old.map;
        c->cap_map = old.cap_map;
        return false;
    }
    for (size_t i = 0; i < old.cap_map; i++)
        if (old.map[i].json != NULL)
            c->map[slot_of(c, old.map[i].json)] = old.map[i];
    mortise_release(c->mem, old.map, old.cap_map * sizeof *old.map);
    return true;
}

struct mortise_schema *schema_of_json(const struct schema_compiler *c,
                                      const json_t *json)
{
    return c->cap_map > 0 ? c->map[slot_of(c, json)].schema : NULL;
}

static int remember(struct schema_compiler *c, struct mortise_schema *s)
{
    size_t i;

    if (2 * c->n_map >= c->cap_map && !grow_map(c))
        return mortise_nomem(c->err);
    i = slot_of(c, s->json);
    if (c->map[i].json != NULL)
        return MORTISE_OK; /* one value twice in a document that is shared */
    c->map[i].json = s->json;
    c->map[i].schema = s;
    c->n_map++;
    return MORTISE_OK;
}

int schema_count_name(struct schema_compiler *c)
{
    if (++c->n_names <= MORTISE_SCHEMA_NAMES)
        return MORTISE_OK;
    return mortise_fail(c->err, MORTISE_EINVAL,
                        "more than %d parts of the schema have a name",
                        MORTISE_SCHEMA_NAMES);
}

/* ---- resources ------------------------------------------------------- */

static struct schema_resource *
new_resource(struct schema_compiler *c, const char *uri, unsigned vocabularies)
{
    struct schema_resource *r = schema_alloc(c, 1, sizeof *r);

    if (r == NULL)
        return NULL;
    r->uri = uri;
    r->vocabularies = vocabularies;
    r->next = c->resources;
    c->resources = r;
    return r;
}

static int open_resource(struct schema_compiler *c, struct mortise_schema *s,
                         const char *id)
{
    struct schema_rest *rest = schema_need_rest(c, s);
    char *uri = mortise_uri_resolve(c->arena, s->resource->uri, id);
    const struct schema_resource *r = c->resources;

    if (rest == NULL || uri == NULL)
        return mortise_nomem(c->err);
    uri[strcspn(uri, "#")] = '\0'; /* only an empty one came this far */
    while (r != NULL && strcmp(r->uri, uri) != 0)
        r = r->next;
    if (r != NULL && r->root != NULL)
        return mortise_fail(c->err, MORTISE_EINVAL, "two schemas are named %s",
                            uri);
    if (schema_count_name(c) != MORTISE_OK)
        return MORTISE_EINVAL;
    rest->is_resource = true;
    s->resource = new_resource(c, uri, s->resource->vocabularies);
    return s->resource != NULL ? MORTISE_OK : MORTISE_ENOMEM;
}

static int read_id(struct schema_compiler *c, struct mortise_schema *s,
                   const json_t *id)
{
    const char *text = json_string_value(id);

    if (text == NULL)
        return mortise_fail(c->err, MORTISE_EINVAL, "expected a string");
    if (strcspn(text, "#") + 1 < strlen(text))
        return mortise_fail(c->err, MORTISE_EINVAL,
                            "'$id' has no fragment: that would be an "
                            "'$anchor'");
    return open_resource(c, s, text);
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

/* What a metaschema's $vocabulary asks for. */
static int read_vocabularies(struct schema_compiler *c, json_t *object,
                             unsigned *out)
{
    *out = SCHEMA_CORE;
    for (void *it = json_object_iter(object); it != NULL;
         it = json_object_iter_next(object, it)) {
        const char *uri = json_object_iter_key(it);

        *out |= vocabulary_bit(uri);
        if (vocabulary_bit(uri) == 0 &&
            json_is_true(json_object_iter_value(it)))
            return mortise_fail(c->err, MORTISE_EUNAVAILABLE,
                                "the vocabulary %s is not available in this "
                                "build",
                                uri);
    }
    return MORTISE_OK;
}

static int unknown_dialect(struct schema_compiler *c, const char *uri)
{
    return mortise_fail(c->err, MORTISE_EUNAVAILABLE,
                        "the dialect %s is not available: schemas are written "
                        "in " DRAFT "schema",
                        uri);
}

static int read_dialect(struct schema_compiler *c, unsigned *out,
                        const json_t *dialect)
{
    const char *uri = json_string_value(dialect);
    json_t *meta, *list;
    int rv;

    if (uri == NULL)
        return mortise_fail(c->err, MORTISE_EINVAL, "expected a string");
    *out = SCHEMA_ALL;
    if (strcmp(uri, DRAFT "schema") == 0 || strcmp(uri, DRAFT "schema#") == 0)
        return MORTISE_OK;
    rv = schema_find_document(c, uri, &meta);
    if (rv != MORTISE_OK)
        return rv;
    if (meta == NULL)
        return unknown_dialect(c, uri);
    list = json_object_get(meta, "$vocabulary");
    rv = list != NULL ? read_vocabularies(c, list, out) : MORTISE_OK;
    json_decref(meta);
    return rv;
}

/* ---- the walk -------------------------------------------------------- */

/* What decides how all else is read. */
static int read_head(struct schema_compiler *c, struct mortise_schema *s)
{
    const json_t *id = json_object_get(s->json, "$id"),
                 *dialect = json_object_get(s->json, "$schema");
    int rv = MORTISE_OK;

    if (id != NULL)
        rv = read_id(c, s, id);
    if (rv != MORTISE_OK) {
        schema_failed_at(c, (struct schema_place){.up = s, .keyword = "$id"});
        return rv;
    }
    if (s->resource->root == NULL)
        s->resource->root = s;
    if (dialect == NULL)
        return MORTISE_OK;
    if (s->resource->root != s)
        rv = mortise_fail(c->err, MORTISE_EINVAL,
                          "'$schema' stands where a schema begins, beside its "
                          "'$id'");
    else
        rv = read_dialect(c, &s->resource->vocabularies, dialect);
    if (rv != MORTISE_OK)
        schema_failed_at(c,
                         (struct schema_place){.up = s, .keyword = "$schema"});
    return rv;
}

/* Types that no value of the enum has are impossible.  The number 1 may be
 * written 1.0, so of the numbers either kind may come, unless `type` says. */
static void narrow(struct mortise_schema *s, unsigned types)
{
    const unsigned numbers = MORTISE_T_INT | MORTISE_T_NUMBER;

    if (s->types != MORTISE_T_ANY && types & numbers)
        types |= numbers;
    s->types &= types;
}

static void narrow_by_values(struct mortise_schema *s)
{
    unsigned types = 0;

    if (s->rest != NULL && s->rest->constant != NULL)
        narrow(s, mortise_schema_type_of(s->rest->constant));
    if (s->enumeration == NULL)
        return;
    for (size_t i = 0; i < json_array_size(s->enumeration); i++)
        types |= mortise_schema_type_of(json_array_get(s->enumeration, i));
    narrow(s, types);
}

static int read_object(struct schema_compiler *c, struct mortise_schema *s,
                       json_t *json)
{
    int rv = remember(c, s);

    if (rv == MORTISE_OK)
        rv = read_head(c, s);
    for (void *it = json_object_iter(json); it != NULL && rv == MORTISE_OK;
         it = json_object_iter_next(json, it)) {
        const char *name = json_object_iter_key(it);

        rv = schema_read_keyword(c, s, name, json_object_iter_value(it));
        if (rv != MORTISE_OK)
            schema_failed_at(c,
                             (struct schema_place){.up = s, .keyword = name});
    }
    narrow_by_values(s);
    return rv;
}

int schema_compile_at(struct schema_compiler *c, struct mortise_schema **out,
                      json_t *json, struct schema_place place,
                      struct schema_resource *resource)
{
    struct mortise_schema *s = schema_alloc(c, 1, sizeof *s);
    int rv = MORTISE_OK;

    if (s == NULL)
        return MORTISE_ENOMEM;
    *s = (struct mortise_schema){.types = MORTISE_T_ANY,
                                 .json = json,
                                 .place = place,
                                 .resource = resource,
                                 .whole = c->whole};
    *out = *c->last = s;
    c->last = &s->next;
    if (json_is_false(json))
        s->types = 0;
    if (json_is_boolean(json)) {
        if (resource->root == NULL)
            resource->root = s;
        return MORTISE_OK;
    }
    if (!json_is_object(json))
        rv = mortise_fail(c->err, MORTISE_EINVAL,
                          "a schema is an object, true or false");
    else if (c->depth == MORTISE_JSON_DEPTH)
        rv = mortise_fail(c->err, MORTISE_EINVAL,
                          "the schema is nested too deeply");
    if (rv != MORTISE_OK) {
        schema_failed_at(c, place);
        return rv;
    }
    c->depth++;
    rv = read_object(c, s, json);
    c->depth--;
    return rv;
}

int schema_compile_document(struct schema_compiler *c, const char *uri,
                            json_t *json, struct mortise_schema **out)
{
    struct schema_document *d = schema_alloc(c, 1, sizeof *d);
    struct schema_resource *r = new_resource(c, uri, SCHEMA_ALL);
    size_t depth = c->depth;
    int rv;

    if (d == NULL || r == NULL) {
        json_decref(json);
        return MORTISE_ENOMEM;
    }
    d->uri = uri;
    d->json = json;
    d->next = c->whole->documents;
    c->whole->documents = d;
    c->depth = 0;
    rv = schema_compile_at(c, &d->root, json, (struct schema_place){0}, r);
    c->depth = depth;
    *out = d->root;
    return rv;
}

/* ---- what follows from others ---------------------------------------- */

unsigned mortise_schema_both(unsigned a, unsigned b)
{
    const unsigned numbers = MORTISE_T_INT | MORTISE_T_NUMBER;
    unsigned common = a & b;

    /* An integer is a number: what must be both is an integer. */
    if ((common & numbers) == 0 && a & numbers && b & numbers)
        common |= MORTISE_T_INT;
    return common;
}

/* What all of these allow, or one of them. */
static unsigned kinds_of_all(const struct schema_list *list, unsigned kinds)
{
    for (size_t i = 0; i < list->n; i++)
        kinds = mortise_schema_both(kinds, list->p[i]->kinds);
    return kinds;
}

static unsigned kinds_of_any(const struct schema_list *list, unsigned kinds)
{
    unsigned any = 0;

    for (size_t i = 0; i < list->n; i++)
        any |= list->p[i]->kinds;
    return list->n > 0 ? mortise_schema_both(kinds, any) : kinds;
}

static void find_kinds(struct mortise_schema *s)
{
    const struct schema_rest *r = s->rest;

    s->kinds = s->types;
    if (r == NULL)
        return;
    if (r->ref.target != NULL)
        s->kinds = mortise_schema_both(s->kinds, r->ref.target->kinds);
    s->kinds = kinds_of_all(&r->all_of, s->kinds);
    s->kinds = kinds_of_any(&r->any_of, s->kinds);
    s->kinds = kinds_of_any(&r->one_of, s->kinds);
}

/* The types that need no second look.  An integer is a number, too. */
static void find_at_once(struct mortise_schema *s)
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

/* A schema's mark: not visited, being visited, else how long the longest way
 * from it is. */
enum { NEW = 0, ACTIVE = 255 };

static int settle(struct schema_compiler *c, struct mortise_schema *s);

/* On to one that judges the same value. */
static int settle_next(struct schema_compiler *c, struct schema_place place,
                       struct mortise_schema *to, unsigned char *height)
{
    int rv = MORTISE_OK;

    if (to == NULL)
        return MORTISE_OK;
    if (to->mark == NEW)
        rv = settle(c, to);
    else if (to->mark == ACTIVE)
        rv = mortise_fail(c->err, MORTISE_EINVAL,
                          "this leads back to itself without going into the "
                          "value");
    if (rv == MORTISE_OK && to->mark >= *height)
        *height = (unsigned char)(to->mark + 1);
    if (rv == MORTISE_OK && c->depth + *height > MORTISE_SCHEMA_CHAIN)
        rv = mortise_fail(c->err, MORTISE_EINVAL,
                          "more than %d schemas in a row judge the same value",
                          MORTISE_SCHEMA_CHAIN);
    if (rv != MORTISE_OK)
        schema_failed_at(c, place);
    return rv;
}

static int settle_list(struct schema_compiler *c,
                       const struct schema_list *list, unsigned char *height)
{
    int rv = MORTISE_OK;

    for (size_t i = 0; i < list->n && rv == MORTISE_OK; i++)
        rv = settle_next(c, list->p[i]->place, list->p[i], height);
    return rv;
}

static int settle_refs(struct schema_compiler *c, struct mortise_schema *s,
                       unsigned char *height)
{
    struct schema_place at = {.up = s, .keyword = "$ref"};
    int rv = settle_next(c, at, s->rest->ref.target, height);

    at.keyword = "$dynamicRef";
    if (rv == MORTISE_OK)
        rv = settle_next(c, at, s->rest->dynamic_ref.target, height);
    return rv;
}

static int settle_rest(struct schema_compiler *c, struct mortise_schema *s,
                       unsigned char *height)
{
    struct schema_rest *r = s->rest;
    struct mortise_schema *one[] = {r->not, r->when, r->then, r->otherwise};
    int rv = settle_refs(c, s, height);

    if (rv == MORTISE_OK)
        rv = settle_list(c, &r->all_of, height);
    if (rv == MORTISE_OK)
        rv = settle_list(c, &r->any_of, height);
    if (rv == MORTISE_OK)
        rv = settle_list(c, &r->one_of, height);
    for (size_t i = 0; i < 4 && rv == MORTISE_OK; i++)
        if (one[i] != NULL)
            rv = settle_next(c, one[i]->place, one[i], height);
    for (size_t i = 0; i < r->n_dependents && rv == MORTISE_OK; i++)
        rv = settle_next(c, r->dependents[i].schema->place,
                         r->dependents[i].schema, height);
    return rv;
}

static int settle(struct schema_compiler *c, struct mortise_schema *s)
{
    unsigned char height = 1;
    int rv = MORTISE_OK;

    s->mark = ACTIVE;
    c->depth++;
    if (s->rest != NULL)
        rv = settle_rest(c, s, &height);
    c->depth--;
    s->mark = height;
    find_kinds(s);
    find_at_once(s);
    return rv;
}

static int settle_all(struct schema_compiler *c)
{
    int rv = MORTISE_OK;

    for (struct mortise_schema *s = c->all; s != NULL && rv == MORTISE_OK;
         s = s->next)
        if (s->mark == NEW)
            rv = settle(c, s);
    return rv;
}

/* ---- the whole ------------------------------------------------------- */

static int compile(struct schema_compiler *c, struct mortise_schema **root,
                   json_t *json)
{
    struct schema_resource *r;
    int rv;

    c->whole = schema_alloc(c, 1, sizeof *c->whole);
    r = new_resource(c, "", SCHEMA_ALL);
    if (c->whole == NULL || r == NULL)
        return MORTISE_ENOMEM;
    c->whole->mem = c->mem;
    c->whole->place = c->world->place;
    c->whole->origin = c->world->origin;
    rv = schema_compile_at(c, root, json, (struct schema_place){0}, r);
    if (rv == MORTISE_OK)
        rv = schema_resolve(c);
    return rv == MORTISE_OK ? settle_all(c) : rv;
}

static void give_up(struct schema_whole *w)
{
    for (struct schema_document *d = w->documents; d != NULL; d = d->next)
        json_decref(d->json);
    json_decref(w->json);
}

int mortise_schema_compile_in(struct mortise_schema **out,
                              struct mortise_arena *a, json_t *json,
                              const struct mortise_schema_world *world,
                              char *where, size_t where_size,
                              struct mortise_err *err)
{
    struct schema_compiler c = {
        .arena = a, .mem = a->mem, .world = world, .err = err};
    struct mortise_schema *root;
    int rv;

    *out = NULL;
    c.last = &c.all;
    c.last_fixup = &c.fixups;
    rv = compile(&c, &root, json);
    schema_spell_place(where, where_size, c.failed);
    mortise_release(c.mem, c.map, c.cap_map * sizeof *c.map);
    if (rv == MORTISE_OK) {
        c.whole->json = json_incref(json);
        *out = root;
    } else if (c.whole != NULL) {
        give_up(c.whole);
    }
    return rv;
}

int mortise_schema_compile(struct mortise_schema **out, struct mortise_arena *a,
                           json_t *json, char *where, size_t where_size,
                           struct mortise_err *err)
{
    static const struct mortise_schema_world nothing;

    return mortise_schema_compile_in(out, a, json, &nothing, where, where_size,
                                     err);
}

void mortise_schema_finish(struct mortise_schema *s)
{
    if (s != NULL)
        give_up(s->whole);
}
