/* compile.h -- what the three parts of the schema compiler share: compile.c
 * walks, keywords.c reads, refs.c resolves.  For core/json alone. */
#ifndef MORTISE_LANG_SCHEMA_COMPILE_H
#define MORTISE_LANG_SCHEMA_COMPILE_H

#include "core/base/escape.h"
#include "lang/schema/compiled.h"

/* The vocabularies of the draft. */
enum {
    SCHEMA_CORE = 1,
    SCHEMA_APPLICATOR = 2,
    SCHEMA_UNEVALUATED = 4,
    SCHEMA_VALIDATION = 8,
    SCHEMA_META_DATA = 16,
    SCHEMA_FORMAT = 32,
    SCHEMA_CONTENT = 64,
    SCHEMA_ALL = 127
};

struct schema_fixup {
    struct schema_fixup *next;
    struct mortise_schema *schema;
    const char *keyword;
    struct schema_ref *ref; /* of the schema */
};

struct schema_compiler {
    struct mortise_escape *escape; /* of the innermost part that is tried */
    struct mortise_arena *arena;
    const struct mortise_mem *mem;
    const struct mortise_schema_world *world;
    struct schema_whole *whole;
    json_t *json; /* of the whole; lent */
    struct mortise_schema *root;
    struct mortise_schema *all, **last; /* as they were read */
    struct schema_resource *resources;
    struct schema_fixup *fixups, **last_fixup;
    struct { /* JSON object -> schema: open addressing, n a power of 2 */
        const json_t *json;
        struct mortise_schema *schema;
    } * map;
    size_t n_map, cap_map;
    size_t depth, n_names;
    uint64_t left;          /* what compiling patterns may still cost */
    struct schema_place at; /* what is being read: a failure stands there */
    size_t n_wrong;         /* told to the world */
    int first_wrong;        /* the code of the first of them */
};

/* ---- compile.c ------------------------------------------------------- */

/* A schema at `place`, in the resource unless it has an $id. */
struct mortise_schema *
mortise_schema_compile_at(struct schema_compiler *c, json_t *json,
                          struct schema_place place,
                          struct schema_resource *resource);
/* A document that was found. */
struct mortise_schema *
mortise_schema_compile_document(struct schema_compiler *c,
                                struct schema_document *d);
/* Which schema was made from this JSON object, or NULL. */
struct mortise_schema *mortise_schema_of_json(const struct schema_compiler *c,
                                              const json_t *json);
/* What is being read is no schema (MORTISE_EINVAL): leave. */
_Noreturn void mortise_schema_refuse(struct schema_compiler *c, const char *fmt,
                                     ...) MORTISE_PRINTF(2, 3);
/* One name more is given, if that is not one too many. */
/* What stands at c->at failed, and its words are in the error: told to a world
 * that hears of each; else, and after many of them, the end. */
void mortise_schema_fault(struct schema_compiler *c, int rv);
/* Read a part, whose failure hides nothing of what stands beside it from a world
 * that hears of each.  Was it read? */
bool mortise_schema_try(struct schema_compiler *c, void (*body)(void *),
                        void *arg);
void mortise_schema_count_name(struct schema_compiler *c);
/* Room for n elements in the arena. */
void *mortise_schema_room(struct schema_compiler *c, size_t n, size_t size);

/* ---- keywords.c ------------------------------------------------------ */

void mortise_schema_read_keyword(struct schema_compiler *c,
                                 struct mortise_schema *s, const char *name,
                                 json_t *value);
/* The rarer keywords of s, made when first asked for. */
struct schema_rest *mortise_schema_need_rest(struct schema_compiler *c,
                                             struct mortise_schema *s);

/* ---- refs.c ---------------------------------------------------------- */

/* Every reference is followed, to documents that it brings in, too. */
void mortise_schema_resolve(struct schema_compiler *c);
/* A document by its URI, which the whole now holds, or NULL. */
struct schema_document *mortise_schema_find_document(struct schema_compiler *c,
                                                     const char *uri);

/* ---- places (compile.c) ---------------------------------------------- */

/* Spell the place as an RFC 6901 pointer; what does not fit is cut. */
void mortise_schema_spell_place(char *out, size_t size,
                                struct schema_place place);

#endif
