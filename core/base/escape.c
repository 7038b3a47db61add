/* escape.c -- non-local exits from a compiler (escape.h).
 *
 * setjmp() is called in a function that changes none of its locals, so that
 * none is indeterminate after longjmp().
 */
#include "core/base/escape.h"

#include <assert.h>
#include <stdint.h>

#include "core/base/err.h"

int mortise_escape_catch(struct mortise_escape *e, void (*body)(void *),
                         void *arg)
{
    e->code = MORTISE_OK;
    if (setjmp(e->begun) == 0)
        body(arg);
    return e->code;
}

void mortise_escape(struct mortise_escape *e, int code)
{
    assert(code != MORTISE_OK);
    e->code = code;
    longjmp(e->begun, 1);
}

void mortise_escape_on_error(struct mortise_escape *e, int rv)
{
    if (rv != MORTISE_OK)
        mortise_escape(e, rv);
}

void *mortise_escape_alloc(struct mortise_escape *e, struct mortise_arena *a,
                           size_t n, size_t size)
{
    void *p = n <= SIZE_MAX / size ? mortise_arena_alloc(a, n * size) : NULL;

    if (p == NULL)
        mortise_escape(e, mortise_nomem(e->err));
    return p;
}
