/* buf.c -- a growing byte buffer for writing, and a reader of borrowed bytes.
 *
 * Both record a failure in a sticky flag, because a record has dozens of fields
 * and a check after each one would hide the format.  A reader checks every
 * length against the bytes that are left.
 */
#include "core/base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void mortise_buf_init(struct mortise_buf *b, const struct mortise_mem *mem)
{
    *b = (struct mortise_buf){.mem = mem};
}

void mortise_buf_finish(struct mortise_buf *b)
{
    mortise_release(b->mem, b->p, b->cap);
    mortise_buf_init(b, b->mem);
}

void mortise_buf_clear(struct mortise_buf *b)
{
    b->n = 0;
    b->failed = false;
}

bool mortise_buf_grow(struct mortise_buf *b, size_t n)
{
    size_t want = b->cap != 0 ? b->cap : 64;
    char *p;

    if (b->failed)
        return false;
    if (n > SIZE_MAX / 4 - b->n) {
        b->failed = true;
        return false;
    }
    while (want - b->n < n)
        want *= 2;
    p = mortise_realloc(b->mem, b->p, b->cap, want);
    if (p == NULL) {
        b->failed = true;
        return false;
    }
    b->p = p;
    b->cap = want;
    return true;
}

void mortise_buf_puts(struct mortise_buf *b, const char *s)
{
    mortise_buf_put(b, s, strlen(s));
}

void mortise_buf_vprintf(struct mortise_buf *b, const char *fmt, va_list ap)
{
    va_list first;
    int n;

    va_copy(first, ap);
    n = vsnprintf(NULL, 0, fmt, first);
    va_end(first);
    if (n < 0 || !mortise_buf_reserve(b, (size_t)n + 1)) {
        b->failed = true;
        return;
    }
    vsnprintf(b->p + b->n, (size_t)n + 1, fmt, ap);
    b->n += (size_t)n;
}

void mortise_buf_put_escaped(struct mortise_buf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"' || s[i] == '\\')
            mortise_buf_put(b, "\\", 1);
        mortise_buf_put(b, &s[i], 1);
    }
}

void mortise_buf_printf(struct mortise_buf *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    mortise_buf_vprintf(b, fmt, ap);
    va_end(ap);
}

void mortise_buf_put_blob(struct mortise_buf *b, const void *p, size_t n)
{
    if (n > UINT32_MAX) {
        b->failed = true;
        return;
    }
    mortise_buf_put_u32(b, (uint32_t)n);
    mortise_buf_put(b, p, n);
}

void mortise_buf_put_str(struct mortise_buf *b, const char *s)
{
    mortise_buf_put_blob(b, s, s != NULL ? strlen(s) : 0);
}

char *mortise_buf_cstr(struct mortise_buf *b)
{
    if (!mortise_buf_reserve(b, 1))
        return NULL;
    b->p[b->n] = '\0';
    return b->p;
}
