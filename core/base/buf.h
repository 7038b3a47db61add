/* buf.h -- a growing byte buffer for writing, and a reader of borrowed bytes.
 * Numbers are little-endian.  Strings and blobs are a length (u32) and their
 * bytes. */
#ifndef MORTISE_BASE_BUF_H
#define MORTISE_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/base/mem.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "records are little-endian and no big-endian build was ever tested"
#endif

/* A failed append sets `failed`, and later appends do nothing.  So write a
 * whole record, then check `failed` once. */
struct mortise_buf {
    const struct mortise_mem *mem; /* borrowed */
    char *p;                       /* n bytes, not NUL-terminated */
    size_t n, cap;
    bool failed; /* out of memory, or too long */
};

void mortise_buf_init(struct mortise_buf *b, const struct mortise_mem *mem);
void mortise_buf_finish(struct mortise_buf *b);
void mortise_buf_clear(struct mortise_buf *b); /* keeps the memory */
bool mortise_buf_grow(struct mortise_buf *b, size_t n);
/* Make room for n more bytes; false sets `failed`.  Inline, because there
 * nearly always is room. */
static inline bool mortise_buf_reserve(struct mortise_buf *b, size_t n)
{
    return (n <= b->cap - b->n && !b->failed) || mortise_buf_grow(b, n);
}
static inline void mortise_buf_put(struct mortise_buf *b, const void *p,
                                   size_t n)
{
    if (n == 0 || !mortise_buf_reserve(b, n))
        return;
    memcpy(b->p + b->n, p, n);
    b->n += n;
}
void mortise_buf_puts(struct mortise_buf *b, const char *s);
/* Append s with a backslash before each quote and backslash. */
void mortise_buf_put_escaped(struct mortise_buf *b, const char *s, size_t n);
void mortise_buf_printf(struct mortise_buf *b, const char *fmt, ...)
    MORTISE_PRINTF(2, 3);
void mortise_buf_vprintf(struct mortise_buf *b, const char *fmt, va_list ap)
    MORTISE_PRINTF(2, 0);
static inline void mortise_buf_put_u8(struct mortise_buf *b, uint8_t v)
{
    mortise_buf_put(b, &v, sizeof v);
}
static inline void mortise_buf_put_u16(struct mortise_buf *b, uint16_t v)
{
    mortise_buf_put(b, &v, sizeof v);
}
static inline void mortise_buf_put_u32(struct mortise_buf *b, uint32_t v)
{
    mortise_buf_put(b, &v, sizeof v);
}
static inline void mortise_buf_put_u64(struct mortise_buf *b, uint64_t v)
{
    mortise_buf_put(b, &v, sizeof v);
}
void mortise_buf_put_blob(struct mortise_buf *b, const void *p, size_t n);
void mortise_buf_put_str(struct mortise_buf *b,
                         const char *s); /* NULL writes "" */
/* Add a NUL after the bytes (not counted in n); NULL if that failed. */
char *mortise_buf_cstr(struct mortise_buf *b);

/* A read past the end sets `bad` and returns zero.  So read a whole record,
 * then check `bad` once. */
struct mortise_reader {
    const unsigned char *p, *end; /* borrowed */
    bool bad;
};

static inline void mortise_reader_init(struct mortise_reader *r, const void *p,
                                       size_t n)
{
    r->p = p;
    r->end = r->p + n;
    r->bad = false;
}
/* The next n bytes, borrowed; NULL if fewer are left. */
static inline const void *mortise_read_bytes(struct mortise_reader *r, size_t n)
{
    const unsigned char *at = r->p;

    if (r->bad || (size_t)(r->end - r->p) < n) {
        r->bad = true;
        return NULL;
    }
    r->p += n;
    return at;
}
/* Copy the next n bytes to `out`; leave `out` unchanged if fewer are left. */
static inline void mortise_read_copy(struct mortise_reader *r, void *out,
                                     size_t n)
{
    const void *p = mortise_read_bytes(r, n);

    if (p != NULL)
        memcpy(out, p, n);
}
static inline uint8_t mortise_read_u8(struct mortise_reader *r)
{
    uint8_t v = 0;

    mortise_read_copy(r, &v, sizeof v);
    return v;
}
static inline uint16_t mortise_read_u16(struct mortise_reader *r)
{
    uint16_t v = 0;

    mortise_read_copy(r, &v, sizeof v);
    return v;
}
static inline uint32_t mortise_read_u32(struct mortise_reader *r)
{
    uint32_t v = 0;

    mortise_read_copy(r, &v, sizeof v);
    return v;
}
static inline uint64_t mortise_read_u64(struct mortise_reader *r)
{
    uint64_t v = 0;

    mortise_read_copy(r, &v, sizeof v);
    return v;
}
/* The next blob, borrowed; "" with *n = 0 if the bytes end before it does. */
static inline const char *mortise_read_blob(struct mortise_reader *r, size_t *n)
{
    uint32_t len = mortise_read_u32(r);
    const char *p = mortise_read_bytes(r, len);

    *n = p != NULL ? len : 0;
    return p != NULL ? p : "";
}

#endif
