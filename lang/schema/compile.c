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
 *   (5) What is wrong with one keyword hides nothing of those beside it, nor of
 *       the schemas in them: a caller who wants them all is told of each.
 *
 * The arena holds all but the JSON values, which mortise_schema_finish() gives
 * back.  What fails leaves by one door (core/base/escape.h), which knows what was
 * being read then: compiler.at.  Each who reads a part says so there, and sets
 * it back when that is read.  For (5) every keyword has a door of its own, and
 * the pieces that its reader leaves half made are looked at by nobody: such a
 * schema is never settled.
 */
#include "lang/schema/compile.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/json/pointer.h"
#include "lang/schema/uri.h"

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

void mortise_schema_spell_place(char *out, size_t size,
                                struct schema_place place)
{
    struct mortise_pointer p;

    mortise_pointer_init(&p, out, size);
    spell(&p, place);
}

void mortise_schema_spell_rule(char *out, size_t size,
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
    spell(&p, s->place);
    if (keyword != NULL)
        mortise_pointer_push(&p, keyword);
}

void mortise_schema_refuse(struct schema_compiler *c, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    mortise_vfail(c->escape->err, MORTISE_EINVAL, fmt, ap);
    va_end(ap);
    mortise_escape(c->escape, MORTISE_EINVAL);
}

static void tell_wrong(struct schema_compiler *c, int rv)
{
    char where[512];

    if (c->n_wrong++ == 0)
        c->first_wrong = rv;
    mortise_schema_spell_place(where, sizeof where, c->at);
    c->world->wrong(c->world->ctx, where, rv, c->escape->err->msg);
}

void mortise_schema_fault(struct schema_compiler *c, int rv)
{
    if (c->world->wrong == NULL || rv == MORTISE_ENOMEM ||
        c->n_wrong == MORTISE_SCHEMA_WRONG)
        mortise_escape(c->escape, rv);
    tell_wrong(c, rv);
}

bool mortise_schema_try(struct schema_compiler *c, void (*body)(void *),
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
    rv = mortise_escapable(&inner, body, arg);
    c->escape = outer;
    if (rv == MORTISE_OK)
        return true;
    c->depth = depth;
    mortise_schema_fault(c, rv);
    return false;
}

void *mortise_schema_room(struct schema_compiler *c, size_t n, size_t size)
{
    return mortise_escape_alloc(c->escape, c->arena, n, size);
}

/* ---- which JSON object became which schema --------------------------- */

static size_t slot_of(const struct schema_compiler *c, const json_t *json)
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
            c->map[slot_of(c, old.map[i].json)] = old.map[i];
    mortise_release(c->mem, old.map, old.cap_map * sizeof *old.map);
}

struct mortise_schema *mortise_schema_of_json(const struct schema_compiler *c,
                                              const json_t *json)
{
    return c->cap_map > 0 ? c->map[slot_of(c, json)].schema : NULL;
}

static void remember(struct schema_compiler *c, struct mortise_schema *s)
{
    size_t i;

    if (2 * c->n_map >= c->cap_map)
        grow_map(c);
    i = slot_of(c, s->json);
    if (c->map[i].json != NULL)
        return; /* one value twice in a document that is shared */
    c->map[i].json = s->json;
    c->map[i].schema = s;
    c->n_map++;
}

void mortise_schema_count_name(struct schema_compiler *c)
{
    if (++c->n_names > MORTISE_SCHEMA_NAMES)
        mortise_schema_refuse(c, "more than %d parts of the schema have a name",
                              MORTISE_SCHEMA_NAMES);
}

/* ---- resources ------------------------------------------------------- */

static struct schema_resource *
new_resource(struct schema_compiler *c, const char *uri, unsigned vocabularies)
{
    struct schema_resource *r = mortise_schema_room(c, 1, sizeof *r);

    *r = (struct schema_resource){
        .next = c->resources, .uri = uri, .vocabularies = vocabularies};
    c->resources = r;
    return r;
}

static void open_resource(struct schema_compiler *c, struct mortise_schema *s,
                          const char *id)
{
    char *uri = mortise_uri_resolve(c->arena, s->resource->uri, id);
    const struct schema_resource *r = c->resources;

    if (uri == NULL)
        mortise_escape(c->escape, mortise_nomem(c->escape->err));
    uri[strcspn(uri, "#")] = '\0'; /* only an empty one came this far */
    while (r != NULL && strcmp(r->uri, uri) != 0)
        r = r->next;
    if (r != NULL && r->root != NULL)
        mortise_schema_refuse(c, "two schemas are named %s", uri);
    mortise_schema_count_name(c);
    mortise_schema_need_rest(c, s)->is_resource = true;
    s->resource = new_resource(c, uri, s->resource->vocabularies);
}

static void read_id(struct schema_compiler *c, struct mortise_schema *s,
                    const json_t *id)
{
    const char *text = json_string_value(id);

    if (text == NULL)
        mortise_schema_refuse(c, "expected a string");
    if (strcspn(text, "#") + 1 < strlen(text))
        mortise_schema_refuse(c, "'$id' cannot have a fragment: use '$anchor'");
    open_resource(c, s, text);
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

static _Noreturn void unavailable(struct schema_compiler *c, const char *what,
                                  const char *uri, const char *why)
{
    mortise_escape(c->escape, mortise_fail(c->escape->err, MORTISE_EUNAVAILABLE,
                                           "the %s %s is not available%s", what,
                                           uri, why));
}

/* What a metaschema's $vocabulary asks for. */
static unsigned read_vocabularies(struct schema_compiler *c, json_t *object)
{
    unsigned all = SCHEMA_CORE;

    MORTISE_JSON_MEMBERS (uri, one, object) {
        all |= vocabulary_bit(uri);
        if (vocabulary_bit(uri) == 0 && json_is_true(one))
            unavailable(c, "vocabulary", uri, " in this build");
    }
    return all;
}

static unsigned read_dialect(struct schema_compiler *c, const json_t *dialect)
{
    const char *uri = json_string_value(dialect);
    const struct schema_document *meta;
    json_t *list;

    if (uri == NULL)
        mortise_schema_refuse(c, "expected a string");
    if (strcmp(uri, DRAFT "schema") == 0 || strcmp(uri, DRAFT "schema#") == 0)
        return SCHEMA_ALL;
    meta = mortise_schema_find_document(c, uri);
    if (meta == NULL)
        unavailable(c, "dialect", uri, ": use " DRAFT "schema");
    list = json_object_get(meta->json, "$vocabulary");
    return list != NULL ? read_vocabularies(c, list) : SCHEMA_ALL;
}

/* ---- the walk -------------------------------------------------------- */

/* What decides how all else is read. */
static void read_head(struct schema_compiler *c, struct mortise_schema *s)
{
    const json_t *id = json_object_get(s->json, "$id"),
                 *dialect = json_object_get(s->json, "$schema");

    c->at = (struct schema_place){.up = s, .keyword = "$id"};
    if (id != NULL)
        read_id(c, s, id);
    if (s->resource->root == NULL)
        s->resource->root = s;
    if (dialect == NULL)
        return;
    c->at.keyword = "$schema";
    if (s->resource->root != s)
        mortise_schema_refuse(
            c, "'$schema' must be at the start of a schema, with its '$id'");
    s->resource->vocabularies = read_dialect(c, dialect);
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

struct part {
    struct schema_compiler *c;
    struct mortise_schema *s;
    const char *keyword;
    json_t *value;
};

static void read_head_of(void *arg)
{
    const struct part *p = arg;

    read_head(p->c, p->s);
}

static void read_keyword_of(void *arg)
{
    const struct part *p = arg;

    mortise_schema_read_keyword(p->c, p->s, p->keyword, p->value);
}

/* One whose head is wrong may be in any dialect: no more of it is read. */
static void read_object(struct schema_compiler *c, struct mortise_schema *s,
                        json_t *json)
{
    struct part part = {c, s, NULL, NULL};

    remember(c, s);
    if (!mortise_schema_try(c, read_head_of, &part))
        return;
    MORTISE_JSON_MEMBERS (keyword, value, json) {
        c->at = (struct schema_place){.up = s, .keyword = keyword};
        part.keyword = keyword;
        part.value = value;
        mortise_schema_try(c, read_keyword_of, &part);
    }
    narrow_by_values(s);
}

/* A reference that leads to it is not told once more. */
static void refuse_value(struct schema_compiler *c, struct mortise_schema *s)
{
    remember(c, s);
    mortise_fail(c->escape->err, MORTISE_EINVAL,
                 "a schema must be an object, true or false");
    mortise_schema_fault(c, MORTISE_EINVAL);
}

struct mortise_schema *
mortise_schema_compile_at(struct schema_compiler *c, json_t *json,
                          struct schema_place place,
                          struct schema_resource *resource)
{
    struct mortise_schema *s = mortise_schema_room(c, 1, sizeof *s);
    struct schema_place outer = c->at;

    *s = (struct mortise_schema){
        .json = json, .place = place, .resource = resource, .whole = c->whole};
    s->types = json_is_false(json) ? 0 : MORTISE_T_ANY;
    *c->last = s;
    c->last = &s->next;
    c->at = place;
    if (json_is_object(json)) {
        if (c->depth++ == MORTISE_JSON_DEPTH)
            mortise_schema_refuse(c, "the schema is nested too deeply");
        read_object(c, s, json);
        c->depth--;
    } else if (!json_is_boolean(json)) {
        refuse_value(c, s);
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

/* ---- what follows from others ---------------------------------------- */

/* The types that a value of both can have. */
static unsigned both(unsigned a, unsigned b)
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
        kinds = both(kinds, list->p[i]->kinds);
    return kinds;
}

static unsigned kinds_of_any(const struct schema_list *list, unsigned kinds)
{
    unsigned any = 0;

    for (size_t i = 0; i < list->n; i++)
        any |= list->p[i]->kinds;
    return list->n > 0 ? both(kinds, any) : kinds;
}

static void find_kinds(struct mortise_schema *s)
{
    const struct schema_rest *r = s->rest;

    s->kinds = s->types;
    if (r == NULL)
        return;
    if (r->ref.target != NULL)
        s->kinds = both(s->kinds, r->ref.target->kinds);
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

static void settle(struct schema_compiler *c, struct mortise_schema *s);

/* On to one that judges the same value. */
static void settle_next(struct schema_compiler *c, struct schema_place place,
                        struct mortise_schema *to, unsigned char *height)
{
    if (to == NULL)
        return;
    if (to->mark == NEW)
        settle(c, to);
    c->at = place;
    if (to->mark == ACTIVE)
        mortise_schema_refuse(
            c, "this schema refers to itself for the same value");
    if (to->mark >= *height)
        *height = (unsigned char)(to->mark + 1);
    if (c->depth + *height > MORTISE_SCHEMA_CHAIN)
        mortise_schema_refuse(
            c, "more than %d nested schemas check the same value",
            MORTISE_SCHEMA_CHAIN);
}

static void settle_part(struct schema_compiler *c, struct mortise_schema *part,
                        unsigned char *height)
{
    if (part != NULL)
        settle_next(c, part->place, part, height);
}

static void settle_list(struct schema_compiler *c,
                        const struct schema_list *list, unsigned char *height)
{
    for (size_t i = 0; i < list->n; i++)
        settle_part(c, list->p[i], height);
}

static void settle_rest(struct schema_compiler *c, struct mortise_schema *s,
                        unsigned char *height)
{
    struct schema_place ref = {.up = s, .keyword = "$ref"},
                        dynamic = {.up = s, .keyword = "$dynamicRef"};
    struct schema_rest *r = s->rest;

    settle_next(c, ref, r->ref.target, height);
    settle_next(c, dynamic, r->dynamic_ref.target, height);
    settle_list(c, &r->all_of, height);
    settle_list(c, &r->any_of, height);
    settle_list(c, &r->one_of, height);
    settle_part(c, r->not, height);
    settle_part(c, r->when, height);
    settle_part(c, r->then, height);
    settle_part(c, r->otherwise, height);
    for (size_t i = 0; i < r->n_dependents; i++)
        settle_part(c, r->dependents[i].schema, height);
}

static void settle(struct schema_compiler *c, struct mortise_schema *s)
{
    unsigned char height = 1;

    s->mark = ACTIVE;
    c->depth++;
    if (s->rest != NULL)
        settle_rest(c, s, &height);
    c->depth--;
    s->mark = height;
    find_kinds(s);
    find_at_once(s);
}

/* What all patterns of one schema may cost to be compiled, in costs of an
 * expression: a schema may be data of a run. */
enum { PATTERNS = 10 };

/* ---- the whole ------------------------------------------------------- */

static void compile(void *arg)
{
    struct schema_compiler *c = arg;

    c->whole = mortise_schema_room(c, 1, sizeof *c->whole);
    *c->whole = (struct schema_whole){.mem = c->mem,
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
            settle(c, s);
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
    rv = mortise_escapable(&escape, compile, &c);
    if (rv != MORTISE_OK && rv != MORTISE_ENOMEM && world->wrong != NULL &&
        c.n_wrong == 0)
        tell_wrong(&c, rv);
    if (rv == MORTISE_OK)
        c.at = (struct schema_place){0};
    mortise_schema_spell_place(where, where_size, c.at);
    mortise_release(c.mem, c.map, c.cap_map * sizeof *c.map);
    if (rv != MORTISE_OK && c.whole != NULL)
        give_up(c.whole);
    *out = rv == MORTISE_OK ? c.root : NULL;
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
