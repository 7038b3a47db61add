/* compile.h -- shared by the three parts of the schema compiler: compile.c
 * walks, keywords.c reads, refs.c resolves.  For lang/schema only. */
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
    struct schema_ref *ref; /* in the schema */
};

struct schema_compiler {
    struct mortise_escape *escape; /* of the innermost part that is tried */
    struct mortise_arena *arena;
    const struct mortise_mem *mem;
    const struct mortise_schema_options *world;
    struct schema_shared *whole;
    json_t *json; /* the whole schema; borrowed */
    struct mortise_schema *root;
    struct mortise_schema *all, **last; /* in the order of reading */
    struct schema_resource *resources;
    struct schema_fixup *fixups, **last_fixup;
    struct { /* JSON object -> schema: open addressing, n a power of 2 */
        const json_t *json;
        struct mortise_schema *schema;
    } * map;
    size_t n_map, cap_map;
    size_t depth, n_names;
    uint64_t left;          /* remaining cost for compiling patterns */
    struct schema_place at; /* the place of the current part, for errors */
    size_t n_wrong;         /* reported to the world */
    int first_wrong;        /* the code of the first error */
};

/* ---- compile.c ------------------------------------------------------- */

/* Compile a schema at `place`.  It belongs to `resource` unless it has an
 * $id. */
struct mortise_schema *
mortise_schema_compile_at(struct schema_compiler *c, json_t *json,
                          struct schema_place place,
                          struct schema_resource *resource);
/* Compile a document that was found. */
struct mortise_schema *
mortise_schema_compile_document(struct schema_compiler *c,
                                struct schema_document *d);
/* The schema that was made from this JSON object, or NULL. */
struct mortise_schema *
mortise_schema_find_compiled(const struct schema_compiler *c,
                             const json_t *json);
/* The current part is no valid schema (MORTISE_EINVAL): escape. */
_Noreturn void mortise_schema_fail(struct schema_compiler *c, const char *fmt,
                                   ...) MORTISE_PRINTF(2, 3);
/* Report the error about c->at to a world that wants all errors.  Otherwise, or
 * after too many errors, escape. */
void mortise_schema_report(struct schema_compiler *c, int rv);
/* Read a part.  In a world that wants all errors, its failure does not hide
 * errors in its siblings.  Returns true if it was read. */
bool mortise_schema_try_part(struct schema_compiler *c, void (*body)(void *),
                             void *arg);
void mortise_schema_count_name(struct schema_compiler *c);
/* Allocate n elements in the arena. */
void *mortise_schema_alloc(struct schema_compiler *c, size_t n, size_t size);

/* ---- keywords.c ------------------------------------------------------ */

void mortise_schema_read_keyword(struct schema_compiler *c,
                                 struct mortise_schema *s, const char *name,
                                 json_t *value);
/* The `rest` of s, which is created at the first use. */
struct schema_rare_keywords *
mortise_schema_get_rare_keywords(struct schema_compiler *c,
                                 struct mortise_schema *s);

/* ---- refs.c ---------------------------------------------------------- */

/* Resolve all references, including those in documents that they load. */
void mortise_schema_resolve(struct schema_compiler *c);
/* A document by its URI, which is then stored in the whole schema; or NULL. */
struct schema_document *mortise_schema_find_document(struct schema_compiler *c,
                                                     const char *uri);

/* ---- places (compile.c) ---------------------------------------------- */

/* Print the place as an RFC 6901 pointer; a longer one is truncated. */
void mortise_schema_format_place(char *out, size_t size,
                                 struct schema_place place);

#endif
