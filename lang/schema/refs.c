/* refs.c -- resolving the references in schemas, after everything was read.
 *
 * A reference is a URI. Without its fragment it names a resource: this schema,
 * a part of it with an $id, one of the draft's metaschemas, or a document of
 * the caller's world.  The fragment is a pointer or an anchor.  A pointer may
 * lead to a place where no keyword has a schema (people store schemas under
 * names of their own); the value there is then read as a schema.
 *
 * A $dynamicRef is resolved like a $ref.  If the target is a $dynamicAnchor,
 * the outermost resource with that anchor decides, which check.c finds at check
 * time.
 */
#include "lang/schema/compile.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/digit.h"
#include "core/base/nearest.h"
#include "lang/schema/metaschema.h"
#include "core/json/pointer.h"
#include "lang/schema/uri.h"

struct schema_document *mortise_schema_find_document(struct schema_compiler *c,
                                                     const char *uri)
{
    struct schema_document *d = mortise_schema_alloc(c, 1, sizeof *d);
    const char *text = mortise_metaschema_find(uri);

    d->uri = uri;
    if (text != NULL) { /* valid JSON, so it can fail only for lack of memory */
        if (mortise_json_parse(&d->json, text, strlen(text), NULL) !=
            MORTISE_OK)
            mortise_escape(c->escape, mortise_nomem(c->escape->err));
    } else if (c->world->find != NULL) {
        d->json = c->world->find(c->world->ctx, uri);
    }
    if (d->json == NULL)
        return NULL;
    d->next = c->whole->documents;
    return c->whole->documents = d;
}

static struct mortise_schema *
find_resource_root(const struct schema_compiler *c, const char *uri)
{
    for (const struct schema_resource *r = c->resources; r != NULL; r = r->next)
        if (strcmp(r->uri, uri) == 0)
            return r->root;
    return NULL;
}

static struct mortise_schema *get_resource_root(struct schema_compiler *c,
                                                const char *uri)
{
    struct mortise_schema *root = find_resource_root(c, uri);
    struct schema_document *d;

    if (root != NULL)
        return root;
    d = mortise_schema_find_document(c, uri);
    if (d == NULL)
        mortise_schema_fail(c,
                            "no part of this schema is named %s, and schemas "
                            "are never fetched: put the schema under '$defs'",
                            uri);
    return mortise_schema_compile_document(c, d);
}

/* ---- fragments ------------------------------------------------------- */

/* Decode %41 to A, in place.  Invalid escapes remain. */
static void percent_decode(char *text)
{
    char *out = text;

    for (const char *in = text; *in != '\0'; in++) {
        unsigned high =
            in[0] == '%' ? mortise_digit_get_value(in[1]) : MORTISE_NO_DIGIT;
        unsigned low = high < MORTISE_NO_DIGIT ? mortise_digit_get_value(in[2])
                                               : MORTISE_NO_DIGIT;

        if (low < MORTISE_NO_DIGIT && high + low > 0) {
            *out++ = (char)(high << 4 | low);
            in += 2;
        } else {
            *out++ = *in;
        }
    }
    *out = '\0';
}

static _Noreturn void fail_with_missing_target(struct schema_compiler *c,
                                               const char *token, json_t *in)
{
    const char *best = NULL;

    MORTISE_JSON_MEMBERS (name, one, in) {
        const char *two[2] = {best, name};

        best = mortise_nearest_find(token, two, 2);
    }
    mortise_schema_fail(c,
                        best != NULL
                            ? "the reference has no target: there is no "
                              "'%s', did you mean '%s'?"
                            : "the reference has no target: there is no '%s'",
                        token, best);
}

/* An element by its number, without leading zeros. */
static json_t *get_array_element(const json_t *array, const char *token)
{
    size_t n = strlen(token);

    if (n == 0 || n > 9 || strspn(token, "0123456789") != n ||
        (n > 1 && token[0] == '0'))
        return NULL;
    return json_array_get(array, (size_t)strtoul(token, NULL, 10));
}

/* The schema at the pointer (without its first slash), which is decoded in
 * place: one that was read before, or one that is read now, in the resource of
 * the last schema on the path. */
static struct mortise_schema *resolve_pointer(struct schema_compiler *c,
                                              const struct schema_fixup *f,
                                              struct mortise_schema *root,
                                              char *path)
{
    struct schema_place place = {.up = f->schema, .keyword = f->keyword};
    json_t *at = mortise_json_unconst(root->json), *part;
    struct mortise_schema *near = root;

    for (char *next; path != NULL; path = next) {
        next = strchr(path, '/');
        if (next != NULL)
            *next++ = '\0';
        mortise_pointer_unescape(path);
        part = json_is_array(at) ? get_array_element(at, path)
                                 : json_object_get(at, path);
        if (part == NULL)
            fail_with_missing_target(c, path, at);
        at = part;
        if (mortise_schema_find_compiled(c, part) != NULL)
            near = mortise_schema_find_compiled(c, part);
    }
    return near->json == at
               ? near
               : mortise_schema_compile_at(c, at, place, near->resource);
}

static const struct schema_anchor *find_anchor(const struct schema_resource *r,
                                               const char *name)
{
    const struct schema_anchor *found = NULL;

    for (const struct schema_anchor *a = r->anchors; a != NULL; a = a->next)
        if (strcmp(a->name, name) == 0 && (found == NULL || a->dynamic))
            found = a;
    return found;
}

static struct mortise_schema *resolve_anchor(struct schema_compiler *c,
                                             const struct schema_fixup *f,
                                             const struct mortise_schema *root,
                                             const char *name)
{
    const struct schema_anchor *a = find_anchor(root->resource, name);

    if (a == NULL)
        mortise_schema_fail(c, "there is no '$anchor' named '%s' here", name);
    if (a->dynamic && strcmp(f->keyword, "$dynamicRef") == 0) {
        f->ref->dynamic = a->name;
        c->whole->has_dynamic = true;
    }
    return a->schema;
}

/* ---- all references -------------------------------------------------- */

static void resolve_reference(struct schema_compiler *c,
                              const struct schema_fixup *f)
{
    char *uri =
        mortise_uri_resolve(c->arena, f->schema->resource->uri, f->ref->text);
    struct mortise_schema *root;
    char *fragment;

    if (uri == NULL)
        mortise_escape(c->escape, mortise_nomem(c->escape->err));
    fragment = uri + strcspn(uri, "#");
    if (*fragment != '\0')
        *fragment++ = '\0';
    root = get_resource_root(c, uri);
    percent_decode(fragment);
    f->ref->target =
        fragment[0] == '/'    ? resolve_pointer(c, f, root, fragment + 1)
        : fragment[0] != '\0' ? resolve_anchor(c, f, root, fragment)
                              : root;
}

struct one {
    struct schema_compiler *c;
    const struct schema_fixup *f;
};

static void try_reference(void *arg)
{
    const struct one *o = arg;

    resolve_reference(o->c, o->f);
}

void mortise_schema_resolve(struct schema_compiler *c)
{
    struct one one = {.c = c};

    /* Schemas that are read meanwhile append to the list. */
    for (const struct schema_fixup *f = c->fixups; f != NULL; f = f->next) {
        c->at = (struct schema_place){.up = f->schema, .keyword = f->keyword};
        one.f = f;
        mortise_schema_try_part(c, try_reference, &one);
    }
}
