/* cel.h -- the Common Expression Language: total, side-effect free, bounded.
 *
 * A program is compiled once against names and schemas and evaluated often.
 * Errors carry an offset into the expression's text; who compiled it knows
 * where that text stands in a file.  A program is immutable: [any] may
 * evaluate it.
 *
 * Bounds: 64 KiB of text, 250 levels of nesting (for both functions up to
 * 400 KiB of stack), and for an evaluation its cost: each step, each element
 * and each byte of a string that is touched. */
#ifndef MORTISE_LANG_CEL_CEL_H
#define MORTISE_LANG_CEL_CEL_H

#include "lang/schema/schema.h"
#include "core/json/value.h"

/* A name in scope, which may hold points: a.b is then found before a member b
 * of a.  schema NULL: dynamic. */
struct mortise_cel_name {
    const char *name;
    const struct mortise_schema *schema;
};

struct mortise_cel_scope {
    const struct mortise_cel_name *names;
    size_t n;
};

struct mortise_cel_where {
    size_t offset, length; /* bytes, inside the expression's text */
};

/* Lives in the arena it was compiled into, whose `mem` its evaluations use. */
struct mortise_cel;

/* MORTISE_EINVAL: syntax, unknown name or function, unknown member of a closed
 * schema, a clash of types that no value could repair.  MORTISE_EUNAVAILABLE: a
 * part of CEL that this build does not have.  The text is copied. */
int mortise_cel_compile(struct mortise_cel **out, struct mortise_arena *a,
                        const char *text, size_t n,
                        const struct mortise_cel_scope *scope,
                        struct mortise_cel_where *where,
                        struct mortise_err *err);

/* Values for the names of the scope, in its order; NULL: not set here (using
 * it is an evaluation error).  Lent for the call. */
struct mortise_cel_env {
    const json_t *const *values;
    uint64_t cost_limit; /* 0: MORTISE_COST, 1,000,000 */
};

/* The result as JSON, a new reference.  Evaluation errors (no such key,
 * overflow, division by zero, no such overload, cost) are MORTISE_EINVAL, or
 * MORTISE_ELIMIT for the cost bound; `where` (may be NULL) gets the place.  A
 * result that JSON has no form for (bytes, uint beyond int64, NaN) is an error.
 */
int mortise_cel_eval(const struct mortise_cel *prog,
                     const struct mortise_cel_env *env, json_t **out,
                     struct mortise_cel_where *where, struct mortise_err *err);

/* The same, for conditions: anything but a bool is an error. */
int mortise_cel_test(const struct mortise_cel *prog,
                     const struct mortise_cel_env *env, bool *out,
                     struct mortise_cel_where *where, struct mortise_err *err);

/* Bit i: the program mentions scope->names[i] (for the first 32). */
uint32_t mortise_cel_uses(const struct mortise_cel *prog);

/* What the result may be as JSON, MORTISE_T_..., as far as the checker saw: who
 * wants something else can refuse the program when it is compiled.  Numbers may
 * be whole or not.  0: JSON has no form for it. */
unsigned mortise_cel_types(const struct mortise_cel *prog);

/* The same in CEL's words, "string or null". */
enum { MORTISE_CEL_WORDS = 128 };
const char *mortise_cel_gives(const struct mortise_cel *prog,
                              char out[MORTISE_CEL_WORDS]);

/* When the program is nothing but a path of member selections and constant
 * indexes from a name (scratch.a["b"][0]), its text; else NULL. */
const char *mortise_cel_as_path(const struct mortise_cel *prog);

/* Who looks at what an expression takes of its names.  A place is the caller's
 * own, and NULL one of which nothing is known: it is asked no more. */
struct mortise_cel_look {
    void *ctx;
    /* scope->names[index]. */
    const void *(*name)(void *ctx, size_t index);
    /* Its member of a name that the text has, at `where`. */
    const void *(*member)(void *ctx, const void *of, const char *name,
                          struct mortise_cel_where where);
    /* Any of its elements. */
    const void *(*item)(void *ctx, const void *of);
};
/* The place that the result is. */
const void *mortise_cel_look(const struct mortise_cel *prog,
                             const struct mortise_cel_look *by);

#endif
