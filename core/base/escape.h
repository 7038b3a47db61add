/* escape.h -- the one way out of a compiler, however deep it stands.  [any]
 *
 * What reads a text or a schema is many small functions, and any of them may
 * meet a mistake or the end of memory.  None of its callers can do anything
 * about it, so they do not hear of it: mortise_escape() ends the whole at once,
 * in mortise_escapable(), as Lua's parser leaves through its protected call.
 * The rules of those who use it:
 *
 *   (1) Who may be left owns nothing: memory is an arena's, and what is to be
 *       given back stands in a struct that outlives the escape.
 *   (2) No frame of a library or of another module lies in between: what they
 *       call back returns to them.
 *   (3) Evaluation, runs and the store do not escape; they return codes. */
#ifndef MORTISE_BASE_ESCAPE_H
#define MORTISE_BASE_ESCAPE_H

#include <setjmp.h>

#include "core/base/mem.h"

struct mortise_escape {
    jmp_buf begun; /* where: valid while mortise_escapable() runs */
    int code;
    struct mortise_err *err; /* of whoever began; or NULL */
};

/* Call body(arg): MORTISE_OK when it returns, else the code that it was left
 * with.  `e` is somewhere in `arg`. */
int mortise_escapable(struct mortise_escape *e, void (*body)(void *),
                      void *arg);
/* Leave: `code` was said in `err` already. */
_Noreturn void mortise_escape(struct mortise_escape *e, int code);
/* Leave when `rv` is a failure of something that was called. */
void mortise_escape_unless_ok(struct mortise_escape *e, int rv);

/* Room for n elements in the arena, zeroed; never NULL. */
void *mortise_escape_alloc(struct mortise_escape *e, struct mortise_arena *a,
                           size_t n, size_t size);

#endif
