/* sse.h -- server-sent events, read as they come, for the plugins that stream.
 *
 *     struct sse s;
 *
 *     sse_init(&s, SSE_EVENT_BYTES);
 *     status = sse_feed(&s, piece, on_event, ud);      as often as one comes
 *     status = sse_close(&s, on_event, ud);            at the end of the stream
 *     sse_again(&s);                                   if another goes on
 *     sse_finish(&s);                                  whatever happened
 *
 * Format     "9.2.6 Interpreting an event stream" of the HTML standard: lines
 *            end with LF, CRLF or CR; a blank line ends an event; of a line,
 *            what is before the first colon is the field, what is behind it the
 *            value, less one blank; a line that starts with a colon is a
 *            comment; several `data` of one event are its lines; an event
 *            without `data` is none; one byte order mark may come first.
 *            Unknown fields are left out.
 * Again      `id` and `retry` are for those who connect again: s.id is that of
 *            the last event that was whole, whether it had data or not, and
 *            s.retry_ms what the stream said last; s.has_id and s.has_retry say
 *            whether it did.  An id that is too long to be sent back, or has a
 *            NUL, is none.
 * Cut        Pieces may be cut anywhere, in a line's end and in a character,
 *            too: what comes out does not depend on where.
 * Beyond it  Two things that servers do, and that the standard has no use for:
 *              - a stream that ends without the last blank line: sse_close()
 *                gives what is there, its last line as well, which is whole or
 *                not: who reads it finds out;
 *              - `error: VALUE` (llama.cpp, in 2025), which is read as `event:
 *                error` and `data: VALUE`.
 * Bounds     One event, with the line that is being read, has at most as many
 *            bytes as sse_init() was told, and a name of one SSE_NAME: of a
 *            longer one the beginning.
 * Memory     One buffer, which grows to the longest event and is given back
 *            by sse_finish(): the data of the event that is being read, and
 *            behind it the line.  A parser may be moved between two calls.
 * Text       Bytes are passed on as they are: that they are UTF-8 is seen by
 *            who reads them.
 * Threads    No state but its own.
 */
#ifndef PLUGINS_SSE_H
#define PLUGINS_SSE_H

#include <stdlib.h>
#include <string.h>

#include <mortise/ask.h>

#define SSE_NAME        63
#define SSE_ID          255
#define SSE_EVENT_BYTES (16u << 20) /* as much as a whole answer has */

/* An event: its name ("" when it has none) and its data, both lent until the
 * function returns.  Another status than MORTISE_S_OK ends the reading, and is
 * what sse_feed() or sse_close() returns. */
typedef mortise_status sse_event_fn(void *ud, mortise_str name,
                                    mortise_str data);

struct sse {
    char *p; /* the data so far, a newline behind each line, then the line */
    uint64_t cap, n_data, n_line, max;
    uint32_t n_name;
    char name[SSE_NAME];
    unsigned char has_data; /* the event has a `data`, of no bytes maybe */
    unsigned char after_cr; /* a newline would be the rest of a line's end */
    unsigned char begun;    /* the first line is over */
    unsigned char has_id, has_retry, has_next, closing;
    unsigned char n_id, n_next;
    char id[SSE_ID], next[SSE_ID]; /* of the event that is being read */
    uint64_t retry_ms;
};

MORTISE_INLINE void sse_init(struct sse *s, uint64_t max)
{
    memset(s, 0, sizeof *s);
    s->max = max;
}

MORTISE_INLINE void sse_finish(struct sse *s)
{
    free(s->p);
    s->p = NULL;
    s->cap = s->n_data = s->n_line = 0;
}

/* Another stream goes on where this one ended: what was not whole comes again,
 * and what is needed to connect again stays. */
MORTISE_INLINE void sse_again(struct sse *s)
{
    s->n_data = s->n_line = 0;
    s->n_name = 0;
    s->has_data = s->after_cr = s->begun = s->has_next = s->closing = 0;
}

/* Room for n bytes more. */
MORTISE_INLINE mortise_status sse_room(struct sse *s, uint64_t n)
{
    uint64_t used = s->n_data + s->n_line, cap = s->cap;
    char *p;

    if (n > s->max || used > s->max - n)
        return MORTISE_S_INVALID;
    if (cap >= used + n)
        return MORTISE_S_OK;
    cap = 2 * cap > used + n ? 2 * cap : used + n;
    cap = cap < 256 ? 256 : cap;
    p = (char *)realloc(s->p, cap);
    if (p == NULL)
        return MORTISE_S_NOMEM;
    s->p = p;
    s->cap = cap;
    return MORTISE_S_OK;
}

MORTISE_INLINE mortise_status sse_add(struct sse *s, const char *p, uint64_t n)
{
    mortise_status status = n > 0 ? sse_room(s, n) : MORTISE_S_OK;

    if (status != MORTISE_S_OK || n == 0)
        return status;
    memcpy(s->p + s->n_data + s->n_line, p, n);
    s->n_line += n;
    return MORTISE_S_OK;
}

/* A blank line: the event is over. */
MORTISE_INLINE mortise_status sse_dispatch(struct sse *s, sse_event_fn *fn,
                                           void *ud)
{
    mortise_str name = mortise_strn(s->name, s->n_name);
    mortise_str data = mortise_strn(s->p, s->n_data);
    mortise_status status = MORTISE_S_OK;

    data.n -= data.n > 0; /* the newline behind its last line */
    if (s->has_next && !s->closing) {
        memcpy(s->id, s->next, s->n_next);
        s->n_id = s->n_next;
        s->has_id = s->n_next > 0;
    }
    s->has_next = 0;
    if (s->has_data)
        status = fn(ud, name, data);
    s->n_data = 0;
    s->n_name = 0;
    s->has_data = 0;
    return status;
}

MORTISE_INLINE void sse_set_name(struct sse *s, mortise_str value)
{
    s->n_name = (uint32_t)(value.n < SSE_NAME ? value.n : SSE_NAME);
    if (s->n_name > 0)
        memcpy(s->name, value.p, s->n_name);
}

/* The value, which lies in the line, becomes a line of the data before it.  The
 * field's name was longer than the newline is, so that there is room. */
MORTISE_INLINE void sse_add_data(struct sse *s, mortise_str value)
{
    char *to = s->p + s->n_data;

    if (value.n > 0)
        memmove(to, value.p, value.n);
    to[value.n] = '\n';
    s->n_data += value.n + 1;
    s->has_data = 1;
}

MORTISE_INLINE void sse_set_id(struct sse *s, mortise_str value)
{
    if (value.n > SSE_ID ||
        (value.n > 0 && memchr(value.p, '\0', value.n) != NULL))
        value.n = 0;
    s->n_next = (unsigned char)value.n;
    s->has_next = 1;
    if (value.n > 0)
        memcpy(s->next, value.p, value.n);
}

/* Digits and nothing else; more of them than a month has is a month. */
MORTISE_INLINE void sse_set_retry(struct sse *s, mortise_str value)
{
    uint64_t ms = 0, most = 31ull * 24 * 3600 * 1000;

    for (uint64_t i = 0; i < value.n; i++) {
        if (value.p[i] < '0' || value.p[i] > '9')
            return;
        ms = ms * 10 + (uint64_t)(value.p[i] - '0');
        ms = ms < most ? ms : most;
    }
    if (value.n == 0)
        return;
    s->retry_ms = ms;
    s->has_retry = 1;
}

MORTISE_INLINE void sse_field(struct sse *s, mortise_str field,
                              mortise_str value)
{
    if (mortise_str_is(field, "event")) {
        sse_set_name(s, value);
    } else if (mortise_str_is(field, "error")) {
        sse_set_name(s, field);
        sse_add_data(s, value);
    } else if (mortise_str_is(field, "data")) {
        sse_add_data(s, value);
    } else if (mortise_str_is(field, "id")) {
        sse_set_id(s, value);
    } else if (mortise_str_is(field, "retry")) {
        sse_set_retry(s, value);
    }
}

/* The line is whole; its end is not part of it. */
MORTISE_INLINE mortise_status sse_line(struct sse *s, sse_event_fn *fn,
                                       void *ud)
{
    mortise_str line = mortise_strn(s->p + s->n_data, s->n_line), field, value;
    const char *colon;

    if (s->n_line == 0)
        line.p = ""; /* there may be no buffer yet */
    if (!s->begun && line.n >= 3 && memcmp(line.p, "\xef\xbb\xbf", 3) == 0)
        line = mortise_strn(line.p + 3, line.n - 3);
    s->begun = 1;
    s->n_line = 0;
    if (line.n == 0)
        return sse_dispatch(s, fn, ud);
    colon = (const char *)memchr(line.p, ':', line.n);
    field = value = line;
    if (colon != NULL) {
        field.n = (uint64_t)(colon - line.p);
        value.p = colon + 1;
        value.n = line.n - field.n - 1;
        if (value.n > 0 && *value.p == ' ') {
            value.p++;
            value.n--;
        }
    } else {
        value.n = 0;
    }
    sse_field(s, field, value);
    return MORTISE_S_OK;
}

/* The bytes before the next end of a line. */
MORTISE_INLINE uint64_t sse_run(const char *p, const char *end)
{
    const char *at = p;

    while (at < end && *at != '\n' && *at != '\r')
        at++;
    return (uint64_t)(at - p);
}

/* Read a piece.  MORTISE_S_NOMEM; MORTISE_S_INVALID: an event beyond the bound;
 * or what `fn` returned. */
MORTISE_INLINE mortise_status sse_feed(struct sse *s, mortise_str piece,
                                       sse_event_fn *fn, void *ud)
{
    const char *p = piece.p, *end = piece.n > 0 ? piece.p + piece.n : piece.p;
    mortise_status status = MORTISE_S_OK;

    while (p < end && status == MORTISE_S_OK) {
        uint64_t n = sse_run(p, end);

        if (s->after_cr && *p == '\n') {
            s->after_cr = 0;
            p++;
            continue;
        }
        s->after_cr = 0;
        status = sse_add(s, p, n);
        p += n;
        if (status != MORTISE_S_OK || p == end)
            break;
        s->after_cr = *p++ == '\r';
        status = sse_line(s, fn, ud);
    }
    return status;
}

/* The stream is over: give what is there as if its last line and the blank
 * one had come.  Returns as sse_feed(). */
MORTISE_INLINE mortise_status sse_close(struct sse *s, sse_event_fn *fn,
                                        void *ud)
{
    mortise_status status = MORTISE_S_OK;

    s->closing = 1; /* an event that is cut has not come: its id is not had */
    if (s->n_line > 0)
        status = sse_line(s, fn, ud);
    if (status == MORTISE_S_OK)
        status = sse_dispatch(s, fn, ud);
    return status;
}

#endif
