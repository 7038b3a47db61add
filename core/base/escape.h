/* escape.h -- non-local exits from a compiler, at any depth. [any]
 *
 * A parser or a schema compiler is many small functions, and any of them can
 * find an error or run out of memory.  None of their callers can handle that.
 * So mortise_escape() jumps straight out to mortise_escape_catch(), as Lua's
 * parser does with its protected call.  Rules for code that uses it:
 *
 *   (1) A function that may be left owns nothing.  Memory belongs to an arena;
 *       any other resource belongs to a struct that outlives the escape.
 *   (2) No frame of a library or of another module lies between the two calls.
 *       A callback from a library returns to it normally.
 *   (3) Evaluation, runs and the store do not escape.  They return codes. */
#ifndef MORTISE_BASE_ESCAPE_H
#define MORTISE_BASE_ESCAPE_H

#include <setjmp.h>

#include "core/base/mem.h"

struct mortise_escape {
    jmp_buf begun; /* valid while mortise_escape_catch() runs */
    int code;
    struct mortise_err
        *err; /* of the caller of mortise_escape_catch(), or NULL */
};

/* Call body(arg).  Returns MORTISE_OK if body() returned, else the code of the
 * escape.  `e` is usually a member of the struct at `arg`. */
int mortise_escape_catch(struct mortise_escape *e, void (*body)(void *),
                         void *arg);
/* Jump out with `code`.  The message is in `err` already. */
_Noreturn void mortise_escape(struct mortise_escape *e, int code);
/* Jump out with `rv` unless it is MORTISE_OK. */
void mortise_escape_on_error(struct mortise_escape *e, int rv);

/* Zeroed memory for n elements in the arena.  Never NULL: out of memory
 * escapes. */
void *mortise_escape_alloc(struct mortise_escape *e, struct mortise_arena *a,
                           size_t n, size_t size);

#endif
