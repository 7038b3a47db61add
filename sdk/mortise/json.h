/* mortise/json.h -- a small JSON reader and writer for the bodies that a plugin
 * receives and the outputs that it emits.  You may use your own library
 * instead: nothing here is part of the ABI.
 *
 * Reading    mortise_jv_parse() checks a whole text once, strictly: RFC 8259,
 *            UTF-8, no lone surrogates, nesting up to MORTISE_JV_DEPTH, and
 *            nothing after the value.  It returns a value, which is a slice of
 *            that text.  The other functions read this slice.  They copy and
 *            allocate nothing, and never read outside the slice, whatever its
 *            content is.
 * Writing    A mortise_jw writes JSON into your buffer, and adds commas and
 *            escapes.  It remembers the first failure, so check only the result
 *            of mortise_jw_finish().  When the buffer is full, it calls your
 *            function `more`, which can enlarge the buffer, or consume its
 *            content and empty it.
 * Threads    [any], but only one thread at a time may use a writer.  There is
 *            no global state.
 * Locale     The functions do not depend on setlocale().
 *
 *     mortise_jv body, v;
 *     mortise_str path;
 *     char room[256];
 *
 *     if (mortise_jv_parse(request->body, &body) != MORTISE_S_OK)
 *         ...
 *     v = mortise_jv_get(body, "path");
 *     if (mortise_jv_text(v, room, sizeof room, &path) != MORTISE_S_OK)
 *         ...
 *
 *     mortise_jw_fixed(&w, out, sizeof out);
 *     mortise_jw_object(&w);
 *     mortise_jw_key(&w, "bytes");
 *     mortise_jw_int(&w, 42);
 *     mortise_jw_end(&w);
 *     status = mortise_jw_finish(&w, &text); */
#ifndef MORTISE_SDK_JSON_H
#define MORTISE_SDK_JSON_H

#include <float.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mortise/plugin.h>

/* For functions in a header: an unused function causes no warning. */
#if defined(__GNUC__)
#define MORTISE_INLINE static inline __attribute__((unused))
#else
#define MORTISE_INLINE static inline
#endif

/* The code between MORTISE_C_BEGIN and MORTISE_C_END is C.  If you include it
 * in C++ code, these macros suppress warnings about C casts and NULL. */
#if defined(__cplusplus) && defined(__GNUC__)
#define MORTISE_C_BEGIN                                                        \
    _Pragma("GCC diagnostic push")                                             \
        _Pragma("GCC diagnostic ignored \"-Wold-style-cast\"") _Pragma(        \
            "GCC diagnostic ignored \"-Wzero-as-null-pointer-constant\"")
#define MORTISE_C_END _Pragma("GCC diagnostic pop")
#else
#define MORTISE_C_BEGIN
#define MORTISE_C_END
#endif

MORTISE_C_BEGIN
#ifdef __cplusplus
extern "C" {
#endif

#define MORTISE_JV_DEPTH 256 /* nested arrays and objects */

#define MORTISE_JV_NONE                                                        \
    0 /* no value: what get() gives for an absent member                       \
       */
#define MORTISE_JV_NULL   1
#define MORTISE_JV_BOOL   2
#define MORTISE_JV_NUMBER 3
#define MORTISE_JV_STRING 4
#define MORTISE_JV_ARRAY  5
#define MORTISE_JV_OBJECT 6

/* A value: a slice of the text.  It is valid as long as the text. */
typedef struct mortise_jv {
    const char *p;
    uint64_t n;
} mortise_jv;

/* An iterator over the members of an object or the elements of an array. */
typedef struct mortise_jv_iter {
    const char *p, *end;
    int32_t is_object;
} mortise_jv_iter;

/* ---- internal: walking through text (do not use) ----------------------- No
 * `p` passes its `end`.  NULL or 0 means that the text is not JSON. */

MORTISE_INLINE const char *mortise_jp_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
        p++;
    return p;
}

/* The length in bytes of the UTF-8 sequence at p, by RFC 3629's table. */
MORTISE_INLINE size_t mortise_jp_utf8(const char *p, const char *end)
{
    unsigned lead = (unsigned char)*p, second, low = 0x80, high = 0xBF;
    size_t n = lead < 0x80   ? 1
               : lead < 0xC2 ? 0
               : lead < 0xE0 ? 2
               : lead < 0xF0 ? 3
               : lead < 0xF5 ? 4
                             : 0;

    if (n < 2 || (size_t)(end - p) < n)
        return n == 1;
    low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : low;
    high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : high;
    second = (unsigned char)p[1];
    if (second < low || second > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if (((unsigned char)p[i] & 0xC0) != 0x80)
            return 0;
    return n;
}

/* The value of the four hex digits at p, or a larger number if they are not. */
MORTISE_INLINE uint32_t mortise_jp_hex4(const char *p, const char *end)
{
    uint32_t v = 0;

    if (end - p < 4)
        return UINT32_MAX;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        int d = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
        if (d < 0)
            return UINT32_MAX;
        v = v << 4 | (uint32_t)d;
    }
    return v;
}

/* Return the length of the escape at p (a backslash), and set its code point.
 * A surrogate pair counts as one escape; half a pair is an error. */
MORTISE_INLINE size_t mortise_jp_escape(const char *p, const char *end,
                                        uint32_t *cp)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *at;
    uint32_t low;

    if (end - p < 2)
        return 0;
    if (p[1] != 'u') {
        at = (const char *)memchr(from, p[1], sizeof from - 1);
        *cp = at != NULL ? (unsigned char)to[at - from] : 0;
        return at != NULL ? 2 : 0;
    }
    *cp = mortise_jp_hex4(p + 2, end);
    if (*cp > 0xFFFF || (*cp >= 0xDC00 && *cp <= 0xDFFF))
        return 0;
    if (*cp < 0xD800 || *cp > 0xDBFF)
        return 6;
    if (end - p < 12 || p[6] != '\\' || p[7] != 'u')
        return 0;
    low = mortise_jp_hex4(p + 8, end);
    if (low < 0xDC00 || low > 0xDFFF)
        return 0;
    *cp = 0x10000 + ((*cp - 0xD800) << 10) + (low - 0xDC00);
    return 12;
}

/* Skip the string whose opening quote is at p; strict. */
MORTISE_INLINE const char *mortise_jp_string(const char *p, const char *end)
{
    uint32_t cp;
    size_t n;

    for (p++; p < end && *p != '"'; p += n) {
        if (*p == '\\')
            n = mortise_jp_escape(p, end, &cp);
        else
            n = (unsigned char)*p < 0x20 ? 0 : mortise_jp_utf8(p, end);
        if (n == 0)
            return NULL;
    }
    return p < end ? p + 1 : NULL;
}

/* Skip the digits at p; there must be at least one. */
MORTISE_INLINE const char *mortise_jp_digits(const char *p, const char *end)
{
    const char *start = p;

    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p > start ? p : NULL;
}

MORTISE_INLINE const char *mortise_jp_number(const char *p, const char *end)
{
    if (p < end && *p == '-')
        p++;
    if (p < end && *p == '0')
        p++;
    else
        p = mortise_jp_digits(p, end);
    if (p != NULL && p < end && *p == '.')
        p = mortise_jp_digits(p + 1, end);
    if (p != NULL && p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '+' || *p == '-'))
            p++;
        p = mortise_jp_digits(p, end);
    }
    return p;
}

MORTISE_INLINE const char *mortise_jp_word(const char *p, const char *end,
                                           const char *word)
{
    size_t n = strlen(word);

    return (size_t)(end - p) >= n && memcmp(p, word, n) == 0 ? p + n : NULL;
}

/* Skip the string, number or word at p (p < end). */
MORTISE_INLINE const char *mortise_jp_scalar(const char *p, const char *end)
{
    switch (*p) {
    case '"':
        return mortise_jp_string(p, end);
    case 't':
        return mortise_jp_word(p, end, "true");
    case 'f':
        return mortise_jp_word(p, end, "false");
    case 'n':
        return mortise_jp_word(p, end, "null");
    default:
        return mortise_jp_number(p, end);
    }
}

/* Skip `"name" :` and the space around it. */
MORTISE_INLINE const char *mortise_jp_name(const char *p, const char *end)
{
    p = mortise_jp_space(p, end);
    if (p == end || *p != '"')
        return NULL;
    p = mortise_jp_string(p, end);
    if (p == NULL)
        return NULL;
    p = mortise_jp_space(p, end);
    return p < end && *p == ':' ? p + 1 : NULL;
}

/* For each open level, one bit: 1 if the level is an object. */
typedef struct mortise_jp_levels {
    uint32_t depth;
    unsigned char objects[MORTISE_JV_DEPTH / 8];
} mortise_jp_levels;

MORTISE_INLINE int mortise_jp_in_object(const mortise_jp_levels *l)
{
    uint32_t top = l->depth - 1;

    return l->depth > 0 && (l->objects[top / 8] >> top % 8 & 1) != 0;
}

MORTISE_INLINE int mortise_jp_enter(mortise_jp_levels *l, int object)
{
    unsigned char bit = (unsigned char)(1u << l->depth % 8);

    if (l->depth >= MORTISE_JV_DEPTH)
        return 0;
    if (object)
        l->objects[l->depth / 8] |= bit;
    else
        l->objects[l->depth / 8] &= (unsigned char)~bit;
    l->depth++;
    return 1;
}

/* Skip the `{` or `[` at p and move to its first value.  If it is empty, close
 * it and set *done. */
MORTISE_INLINE const char *mortise_jp_open(const char *p, const char *end,
                                           mortise_jp_levels *l, int *done)
{
    int object = *p == '{';

    if (!mortise_jp_enter(l, object))
        return NULL;
    p = mortise_jp_space(p + 1, end);
    *done = p < end && *p == (object ? '}' : ']');
    if (*done) {
        l->depth--;
        return p + 1;
    }
    return object ? mortise_jp_name(p, end) : p;
}

/* After a value: close the levels that end at p.  Then move to the next value,
 * or return with depth 0 if there is none. */
MORTISE_INLINE const char *mortise_jp_after(const char *p, const char *end,
                                            mortise_jp_levels *l)
{
    while (l->depth > 0) {
        int object = mortise_jp_in_object(l);

        p = mortise_jp_space(p, end);
        if (p == end)
            return NULL;
        if (*p == ',')
            return object ? mortise_jp_name(p + 1, end) : p + 1;
        if (*p != (object ? '}' : ']'))
            return NULL;
        p++;
        l->depth--;
    }
    return p;
}

/* Skip the one value that starts at p; strict, without recursion. */
MORTISE_INLINE const char *mortise_jp_value(const char *p, const char *end)
{
    mortise_jp_levels levels;

    memset(&levels, 0, sizeof levels);
    do {
        int done = 1;

        p = mortise_jp_space(p, end);
        if (p == end)
            return NULL;
        if (*p == '{' || *p == '[')
            p = mortise_jp_open(p, end, &levels, &done);
        else
            p = mortise_jp_scalar(p, end);
        if (p != NULL && done)
            p = mortise_jp_after(p, end, &levels);
    } while (p != NULL && levels.depth > 0);
    return p;
}

/* Skip the string at p, in a text that was checked: find the first quote with
 * an even number of backslashes before it.  Return `end` if no quote is
 * found. */
MORTISE_INLINE const char *mortise_jp_skip_string(const char *p,
                                                  const char *end)
{
    const char *start = ++p, *back, *near = end - p < 16 ? end : p + 16;

    while (p < near && *p != '"' && *p != '\\') /* most strings are short */
        p++;
    if (p < near && *p == '"')
        return p + 1;
    while (p < end) {
        p = (const char *)memchr(p, '"', (size_t)(end - p));
        if (p == NULL)
            return end;
        for (back = p; back > start && back[-1] == '\\'; back--)
            ;
        p++;
        if ((p - 1 - back) % 2 == 0)
            return p;
        start = p;
    }
    return end;
}

MORTISE_INLINE int mortise_jp_ends(char c)
{
    return c == ',' || c == ']' || c == '}' || c == ' ' || c == '\n' ||
           c == '\t' || c == '\r' || c == '\0';
}

/* Skip the value at p (p < end), in a text that was checked. */
MORTISE_INLINE const char *mortise_jp_skip(const char *p, const char *end)
{
    uint64_t depth = 0;

    if (*p != '"' && *p != '{' && *p != '[') {
        while (p < end && !mortise_jp_ends(*p))
            p++;
        return p;
    }
    do {
        if (*p == '"') {
            p = mortise_jp_skip_string(p, end);
            continue;
        }
        if (*p == '{' || *p == '[')
            depth++;
        else if (*p == '}' || *p == ']')
            depth--;
        p++;
    } while (depth > 0 && p < end);
    return p;
}

/* Decode the next piece of a string's content at p (p < end).  Return the
 * length of the piece in the text, and set the bytes that it decodes to. */
MORTISE_INLINE size_t mortise_jp_piece(const char *p, const char *end,
                                       char out[4], size_t *n_out)
{
    uint32_t cp = 0;
    size_t n;

    if (*p != '\\') {
        out[0] = *p;
        *n_out = 1;
        return 1;
    }
    n = mortise_jp_escape(p, end, &cp);
    *n_out = cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    if (*n_out == 1)
        out[0] = (char)cp;
    for (size_t i = *n_out - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (cp & 0x3F));
        cp >>= 6;
    }
    if (*n_out > 1)
        out[0] = (char)((0xF00u >> *n_out & 0xF0) | cp);
    return n;
}

/* ---- text -------------------------------------------------------------- */

/* Return the number of bytes at the start of s that are complete, valid UTF-8;
 * s.n if all of s is valid. */
MORTISE_INLINE uint64_t mortise_str_utf8(mortise_str s)
{
    uint64_t at = 0;
    size_t n = 1;

    while (at < s.n && n > 0) {
        n = mortise_jp_utf8(s.p + at, s.p + s.n);
        at += n;
    }
    return at;
}

/* ---- reading ----------------------------------------------------------- */

MORTISE_INLINE mortise_jv mortise_jv_none(void)
{
    mortise_jv v;

    v.p = NULL;
    v.n = 0;
    return v;
}

/* Check the whole text, and set *out to its value.  If the text is not exactly
 * one JSON value, return MORTISE_S_INVALID and set *out to no value. */
MORTISE_INLINE mortise_status mortise_jv_parse(mortise_str text,
                                               mortise_jv *out)
{
    const char *p, *last, *end;

    *out = mortise_jv_none();
    if (text.p == NULL)
        return MORTISE_S_INVALID;
    end = text.p + text.n;
    p = mortise_jp_space(text.p, end);
    last = mortise_jp_value(p, end);
    if (last == NULL || mortise_jp_space(last, end) != end)
        return MORTISE_S_INVALID;
    out->p = p;
    out->n = (uint64_t)(last - p);
    return MORTISE_S_OK;
}

/* Return the value of a text that is known to be JSON without blanks around it,
 * such as every text of the host: a request's body, a config, an answer.  The
 * text is not checked again, which saves time if it is long. */
MORTISE_INLINE mortise_jv mortise_jv_of(mortise_str text)
{
    mortise_jv v;

    v.p = text.p;
    v.n = text.n;
    return v;
}

/* MORTISE_JV_... */
MORTISE_INLINE int32_t mortise_jv_type(mortise_jv v)
{
    if (v.n == 0)
        return MORTISE_JV_NONE;
    switch (*v.p) {
    case 'n':
        return MORTISE_JV_NULL;
    case 't':
    case 'f':
        return MORTISE_JV_BOOL;
    case '"':
        return MORTISE_JV_STRING;
    case '[':
        return MORTISE_JV_ARRAY;
    case '{':
        return MORTISE_JV_OBJECT;
    default:
        return MORTISE_JV_NUMBER;
    }
}

/* Start to iterate over v.  If v is neither object nor array, there are no
 * members. */
MORTISE_INLINE mortise_jv_iter mortise_jv_each(mortise_jv v)
{
    int32_t type = mortise_jv_type(v);
    mortise_jv_iter it;

    it.is_object = type == MORTISE_JV_OBJECT;
    it.p = it.end = "";
    if ((it.is_object || type == MORTISE_JV_ARRAY) && v.n >= 2) {
        it.p = v.p + 1;
        it.end = v.p + v.n - 1;
    }
    return it;
}

/* Get the next member or element.  Return 1, or 0 at the end.  If name is not
 * NULL, *name is set to the member's name, a string value, or to no value in an
 * array. */
MORTISE_INLINE int mortise_jv_next(mortise_jv_iter *it, mortise_jv *name,
                                   mortise_jv *value)
{
    const char *p = mortise_jp_space(it->p, it->end);
    mortise_jv key = mortise_jv_none();

    if (p < it->end && *p == ',')
        p = mortise_jp_space(p + 1, it->end);
    if (p < it->end && it->is_object) {
        key.p = p;
        p = mortise_jp_skip(p, it->end);
        key.n = (uint64_t)(p - key.p);
        p = mortise_jp_space(p, it->end);
        if (p < it->end && *p == ':')
            p = mortise_jp_space(p + 1, it->end);
    }
    if (p >= it->end)
        return 0;
    value->p = p;
    it->p = mortise_jp_skip(p, it->end);
    value->n = (uint64_t)(it->p - p);
    if (name != NULL)
        *name = key;
    return value->n > 0;
}

/* Return the number of members or elements, or 0 if v is neither object nor
 * array. */
MORTISE_INLINE uint64_t mortise_jv_count(mortise_jv v)
{
    mortise_jv_iter it = mortise_jv_each(v);
    mortise_jv one;
    uint64_t n = 0;

    while (mortise_jv_next(&it, NULL, &one))
        n++;
    return n;
}

/* Return 1 if v is a string with exactly this content. */
MORTISE_INLINE int mortise_jv_is(mortise_jv v, mortise_str text)
{
    const char *p, *end;
    uint64_t at = 0;
    char piece[4];
    size_t n, n_piece;

    if (mortise_jv_type(v) != MORTISE_JV_STRING || v.n < 2)
        return 0;
    if (v.n == text.n + 2 && text.n > 0 &&
        memcmp(v.p + 1, text.p, text.n) == 0 &&
        memchr(text.p, '\\', text.n) == NULL)
        return 1;
    end = v.p + v.n - 1;
    for (p = v.p + 1; p < end; p += n) {
        n = mortise_jp_piece(p, end, piece, &n_piece);
        if (n == 0 || text.n - at < n_piece ||
            memcmp(text.p + at, piece, n_piece) != 0)
            return 0;
        at += n_piece;
    }
    return at == text.n;
}

/* Get the member of that name, or no value if the member is absent or v is not
 * an object.  If several members have the name, get the last, as most readers
 * do. */
MORTISE_INLINE mortise_jv mortise_jv_getn(mortise_jv v, mortise_str name)
{
    mortise_jv_iter it = mortise_jv_each(v);
    mortise_jv key, value, found = mortise_jv_none();

    while (it.is_object && mortise_jv_next(&it, &key, &value))
        if (mortise_jv_is(key, name))
            found = value;
    return found;
}

MORTISE_INLINE mortise_jv mortise_jv_get(mortise_jv v, const char *name)
{
    mortise_str s;

    s.p = name;
    s.n = strlen(name);
    return mortise_jv_getn(v, s);
}

/* Decode a string into room; a room of v.n bytes is always large enough.  The
 * result can contain NULs and is not NUL-terminated.  MORTISE_S_INVALID: v is
 * not a string.  MORTISE_S_NOMEM: room is too small. */
MORTISE_INLINE mortise_status mortise_jv_decode(mortise_jv v, char *room,
                                                uint64_t cap, uint64_t *n)
{
    const char *p, *end;
    char piece[4];
    size_t step, n_piece;

    *n = 0;
    if (mortise_jv_type(v) != MORTISE_JV_STRING || v.n < 2)
        return MORTISE_S_INVALID;
    end = v.p + v.n - 1;
    for (p = v.p + 1; p < end; p += step) {
        const char *from = p,
                   *run = (const char *)memchr(p, '\\', (size_t)(end - p));

        step = n_piece = (size_t)((run != NULL ? run : end) - p);
        if (step == 0) {
            step = mortise_jp_piece(p, end, piece, &n_piece);
            from = piece;
        }
        if (step == 0)
            return MORTISE_S_INVALID;
        if (cap - *n < n_piece)
            return MORTISE_S_NOMEM;
        memcpy(room + *n, from, n_piece);
        *n += n_piece;
    }
    return MORTISE_S_OK;
}

/* Get the content of a string.  If the string has no escapes, the result points
 * into the text; otherwise it is decoded into room.  Errors are those of
 * mortise_jv_decode(). */
MORTISE_INLINE mortise_status mortise_jv_text(mortise_jv v, char *room,
                                              uint64_t cap, mortise_str *out)
{
    out->p = room;
    out->n = 0;
    if (mortise_jv_type(v) == MORTISE_JV_STRING && v.n >= 2 &&
        memchr(v.p, '\\', (size_t)v.n) == NULL) {
        out->p = v.p + 1;
        out->n = v.n - 2;
        return MORTISE_S_OK;
    }
    return mortise_jv_decode(v, room, cap, &out->n);
}

/* Copy the content of a string into room, NUL-terminated.  Errors are those of
 * mortise_jv_decode(), and MORTISE_S_INVALID if the content contains a NUL. */
MORTISE_INLINE mortise_status mortise_jv_cstr(mortise_jv v, char *room,
                                              uint64_t cap)
{
    mortise_status status;
    uint64_t n;

    if (cap == 0)
        return MORTISE_S_NOMEM;
    status = mortise_jv_decode(v, room, cap - 1, &n);
    room[n] = '\0';
    if (status == MORTISE_S_OK && memchr(room, '\0', (size_t)n) != NULL)
        return MORTISE_S_INVALID;
    return status;
}

MORTISE_INLINE mortise_status mortise_jv_bool(mortise_jv v, int32_t *out)
{
    if (mortise_jv_type(v) != MORTISE_JV_BOOL)
        return MORTISE_S_INVALID;
    *out = *v.p == 't';
    return MORTISE_S_OK;
}

/* A number, reduced for strtod(): its significant digits as an integer, and an
 * exponent.  It has no decimal point, so it does not depend on the locale.
 * Digits after the 768th change how a double rounds only if one of them is not
 * zero: the last stored digit records this. */
#define MORTISE_JP_DIGITS 780

typedef struct mortise_jp_decimal {
    char digits[MORTISE_JP_DIGITS + 32]; /* followed by e<exponent> */
    uint32_t n;
    int64_t exponent; /* of the integer in digits */
} mortise_jp_decimal;

/* Add one digit of the mantissa; `behind` is 1 after the decimal point. */
MORTISE_INLINE void mortise_jp_digit(mortise_jp_decimal *d, char c, int behind)
{
    if (d->n > 0 || c != '0') {
        if (d->n < MORTISE_JP_DIGITS) {
            d->digits[d->n++] = c;
            d->exponent -= behind;
            return;
        }
        if (c != '0')
            d->digits[MORTISE_JP_DIGITS - 1] |= 1; /* '0' becomes '1' */
        d->exponent += !behind;
        return;
    }
    d->exponent -= behind;
}

/* Write v in decimal; return its length in bytes. */
MORTISE_INLINE size_t mortise_jp_itoa(char out[24], int64_t v)
{
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    char back[24];
    size_t n = 0, len = 0;

    do {
        back[n++] = (char)('0' + u % 10);
        u /= 10;
    } while (u > 0);
    if (v < 0)
        out[len++] = '-';
    while (n > 0)
        out[len++] = back[--n];
    return len;
}

/* Round the digits to a double with strtod(). */
MORTISE_INLINE double mortise_jp_round(mortise_jp_decimal *d)
{
    size_t n = d->n;

    if (n == 0)
        return 0.0;
    d->digits[n++] = 'e';
    n += mortise_jp_itoa(d->digits + n, d->exponent);
    d->digits[n] = '\0';
    return strtod(d->digits, NULL);
}

/* Read the exponent at p, limited to the range of doubles. */
MORTISE_INLINE int64_t mortise_jp_exponent(const char *p, const char *end)
{
    int64_t v = 0;
    int negative = p < end && *p == '-';

    for (p += p < end && (*p == '-' || *p == '+'); p < end; p++)
        if (*p >= '0' && *p <= '9' && v < 1000000000000)
            v = v * 10 + (*p - '0');
    return negative ? -v : v;
}

/* Get the nearest double.  MORTISE_S_INVALID: v is not a number, or out of
 * range. */
MORTISE_INLINE mortise_status mortise_jv_double(mortise_jv v, double *out)
{
    const char *p = v.p, *end;
    mortise_jp_decimal d;
    int behind = 0;
    double r;

    if (mortise_jv_type(v) != MORTISE_JV_NUMBER)
        return MORTISE_S_INVALID;
    end = p + v.n;
    d.n = 0;
    d.exponent = 0;
    for (; p < end && *p != 'e' && *p != 'E'; p++) {
        if (*p == '.')
            behind = 1;
        else if (*p >= '0' && *p <= '9')
            mortise_jp_digit(&d, *p, behind);
    }
    if (p < end)
        d.exponent += mortise_jp_exponent(p + 1, end);
    r = mortise_jp_round(&d);
    if (r > DBL_MAX)
        return MORTISE_S_INVALID;
    *out = *v.p == '-' ? -r : r;
    return MORTISE_S_OK;
}

/* Get an integer; 5.0 and 5e0 are 5, as in JSON Schema.  MORTISE_S_INVALID: v
 * is not a number, is a fraction, or is out of range.  The range is 64 bits, or
 * 2^53 if the number has a point or an exponent. */
MORTISE_INLINE mortise_status mortise_jv_int(mortise_jv v, int64_t *out)
{
    const char *p = v.p, *end;
    int negative = v.n > 0 && *v.p == '-', fits = 1;
    uint64_t u = 0, max = (uint64_t)INT64_MAX + (negative ? 1u : 0u);
    double d;

    if (mortise_jv_type(v) != MORTISE_JV_NUMBER)
        return MORTISE_S_INVALID;
    end = p + v.n;
    for (p += negative; p < end && *p >= '0' && *p <= '9'; p++) {
        fits = fits && u <= (max - (uint64_t)(*p - '0')) / 10;
        u = u * 10 + (uint64_t)(*p - '0');
    }
    if (p == end && fits) {
        *out = !negative ? (int64_t)u : u > 0 ? -(int64_t)(u - 1) - 1 : 0;
        return MORTISE_S_OK;
    }
    if (p == end)
        return MORTISE_S_INVALID;
    if (mortise_jv_double(v, &d) != MORTISE_S_OK || d > 9007199254740992.0 ||
        d < -9007199254740992.0 || d > (double)(int64_t)d ||
        d < (double)(int64_t)d)
        return MORTISE_S_INVALID;
    *out = (int64_t)d;
    return MORTISE_S_OK;
}

/* ---- writing ----------------------------------------------------------- */

/* A writer.  Only your `more` function may use its members; other code must
 * call the functions. */
typedef struct mortise_jw mortise_jw;

/* The type of `more`, which the writer calls when the buffer is full.  Make
 * w->n < w->cap: either set w->p to a larger buffer with the same first w->n
 * bytes, and w->cap to its size; or consume the bytes and set w->n to 0.  If you
 * can do neither, return an error. */
typedef mortise_status mortise_jw_more_fn(mortise_jw *w, void *ud);

struct mortise_jw {
    char *p; /* yours */
    uint64_t n, cap;
    mortise_jw_more_fn *more; /* NULL: the buffer cannot grow */
    void *ud;
    mortise_status status; /* the first failure; later writes do nothing */
    mortise_jp_levels levels;
    unsigned char comma;     /* this level already has a value */
    unsigned char keyed;     /* a name was written, but not its value */
    unsigned char in_string; /* between string_begin and string_end */
};

/* Start a writer with a fixed buffer.  If the buffer is too small, the status
 * becomes MORTISE_S_NOMEM. */
MORTISE_INLINE void mortise_jw_fixed(mortise_jw *w, char *p, uint64_t cap)
{
    memset(w, 0, sizeof *w);
    w->p = p;
    w->cap = cap;
}

/* Start a writer with a buffer (cap may be 0) and a function `more` that makes
 * room. */
MORTISE_INLINE void mortise_jw_growing(mortise_jw *w, char *p, uint64_t cap,
                                       mortise_jw_more_fn *more, void *ud)
{
    mortise_jw_fixed(w, p, cap);
    w->more = more;
    w->ud = ud;
}

MORTISE_INLINE void mortise_jp_fail(mortise_jw *w, mortise_status status)
{
    if (w->status == MORTISE_S_OK)
        w->status = status;
}

MORTISE_INLINE void mortise_jp_room(mortise_jw *w)
{
    mortise_jp_fail(w, w->more != NULL ? w->more(w, w->ud) : MORTISE_S_NOMEM);
    if (w->n >= w->cap)
        mortise_jp_fail(w, MORTISE_S_NOMEM);
}

MORTISE_INLINE void mortise_jp_put(mortise_jw *w, const char *p, uint64_t n)
{
    while (n > 0 && w->status == MORTISE_S_OK) {
        uint64_t part = w->cap - w->n < n ? w->cap - w->n : n;

        if (part == 0) {
            mortise_jp_room(w);
            continue;
        }
        memcpy(w->p + w->n, p, (size_t)part);
        w->n += part;
        p += part;
        n -= part;
    }
}

/* Check that a value is allowed here, and write its comma. */
MORTISE_INLINE void mortise_jp_begin(mortise_jw *w)
{
    int object = mortise_jp_in_object(&w->levels);

    if (w->in_string || (object && !w->keyed) ||
        (w->levels.depth == 0 && w->comma))
        mortise_jp_fail(w, MORTISE_S_INVALID);
    if (w->comma && !w->keyed)
        mortise_jp_put(w, ",", 1);
    w->keyed = 0;
    w->comma = 1;
}

/* Write one byte that must be escaped between quotes. */
MORTISE_INLINE void mortise_jp_escape_put(mortise_jw *w, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    static const char brief[] = "btn?fr"; /* from U+0008 on; U+000B has none */
    char e[6] = {'\\', 'u', '0', '0', hex[c >> 4 & 1], hex[c & 15]};

    if (c >= 0x20)
        e[1] = (char)c;
    else if (c >= 8 && c <= 13 && c != 11)
        e[1] = brief[c - 8];
    mortise_jp_put(w, e, e[1] == 'u' ? 6 : 2);
}

/* Write text between quotes, escaped. */
MORTISE_INLINE void mortise_jp_escaped(mortise_jw *w, mortise_str s)
{
    const char *p = s.p, *end, *run = s.p;

    if (s.n == 0)
        return; /* its p may be NULL */
    end = s.p + s.n;
    while (p < end && w->status == MORTISE_S_OK) {
        unsigned char c = (unsigned char)*p;
        size_t n = c < 0x80 ? 1 : mortise_jp_utf8(p, end);

        if (n == 0)
            mortise_jp_fail(w, MORTISE_S_INVALID);
        p += n;
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        mortise_jp_put(w, run, (uint64_t)(p - 1 - run));
        mortise_jp_escape_put(w, c);
        run = p;
    }
    if (p > run)
        mortise_jp_put(w, run, (uint64_t)(p - run));
}

MORTISE_INLINE void mortise_jp_container(mortise_jw *w, int object)
{
    mortise_jp_begin(w);
    if (!mortise_jp_enter(&w->levels, object))
        mortise_jp_fail(w, MORTISE_S_INVALID);
    mortise_jp_put(w, object ? "{" : "[", 1);
    w->comma = 0;
}

/* Open an object or an array; mortise_jw_end() closes the innermost. */
MORTISE_INLINE void mortise_jw_object(mortise_jw *w)
{
    mortise_jp_container(w, 1);
}

MORTISE_INLINE void mortise_jw_array(mortise_jw *w)
{
    mortise_jp_container(w, 0);
}

MORTISE_INLINE void mortise_jw_end(mortise_jw *w)
{
    int object = mortise_jp_in_object(&w->levels);

    if (w->levels.depth == 0 || w->keyed || w->in_string) {
        mortise_jp_fail(w, MORTISE_S_INVALID);
        return;
    }
    mortise_jp_put(w, object ? "}" : "]", 1);
    w->levels.depth--;
    w->comma = 1;
}

/* Write the name of the next member of an object; then write its value. */
MORTISE_INLINE void mortise_jw_keyn(mortise_jw *w, mortise_str name)
{
    if (!mortise_jp_in_object(&w->levels) || w->keyed || w->in_string)
        mortise_jp_fail(w, MORTISE_S_INVALID);
    if (w->comma)
        mortise_jp_put(w, ",", 1);
    mortise_jp_put(w, "\"", 1);
    mortise_jp_escaped(w, name);
    mortise_jp_put(w, "\":", 2);
    w->keyed = 1;
}

MORTISE_INLINE void mortise_jw_key(mortise_jw *w, const char *name)
{
    mortise_str s;

    s.p = name;
    s.n = strlen(name);
    mortise_jw_keyn(w, s);
}

/* Write a string in pieces.  Each piece must be complete, valid UTF-8;
 * otherwise the status becomes MORTISE_S_INVALID. */
MORTISE_INLINE void mortise_jw_string_begin(mortise_jw *w)
{
    mortise_jp_begin(w);
    mortise_jp_put(w, "\"", 1);
    w->in_string = 1;
}

MORTISE_INLINE void mortise_jw_string_put(mortise_jw *w, mortise_str piece)
{
    if (!w->in_string)
        mortise_jp_fail(w, MORTISE_S_INVALID);
    mortise_jp_escaped(w, piece);
}

MORTISE_INLINE void mortise_jw_string_end(mortise_jw *w)
{
    if (!w->in_string)
        mortise_jp_fail(w, MORTISE_S_INVALID);
    mortise_jp_put(w, "\"", 1);
    w->in_string = 0;
}

MORTISE_INLINE void mortise_jw_string(mortise_jw *w, mortise_str s)
{
    mortise_jw_string_begin(w);
    mortise_jw_string_put(w, s);
    mortise_jw_string_end(w);
}

MORTISE_INLINE void mortise_jw_cstr(mortise_jw *w, const char *s)
{
    mortise_str text;

    text.p = s;
    text.n = strlen(s);
    mortise_jw_string(w, text);
}

MORTISE_INLINE void mortise_jw_int(mortise_jw *w, int64_t v)
{
    char text[24];

    mortise_jp_begin(w);
    mortise_jp_put(w, text, mortise_jp_itoa(text, v));
}

MORTISE_INLINE void mortise_jw_bool(mortise_jw *w, int v)
{
    mortise_jp_begin(w);
    mortise_jp_put(w, v ? "true" : "false", v ? 4 : 5);
}

MORTISE_INLINE void mortise_jw_null(mortise_jw *w)
{
    mortise_jp_begin(w);
    mortise_jp_put(w, "null", 4);
}

/* Write a value that a reader returned, unchanged. */
MORTISE_INLINE void mortise_jw_value(mortise_jw *w, mortise_jv v)
{
    mortise_jp_begin(w);
    if (v.n == 0)
        mortise_jp_fail(w, MORTISE_S_INVALID);
    mortise_jp_put(w, v.p, v.n);
}

/* Get the shortest decimal digits that are read back as v (> 0): 15, 16 or 17,
 * without trailing zeros.  The decimal point that printf() wrote is removed.
 * *exponent is the exponent of the first digit. */
MORTISE_INLINE size_t mortise_jp_shortest(char digits[20], double v,
                                          int64_t *exponent)
{
    mortise_jp_decimal d;
    char text[64];
    const char *p;
    int precision = 14;

    do {
        snprintf(text, sizeof text, "%.*e", precision, v);
        d.n = 0;
        for (p = text; *p != 'e' && *p != '\0'; p++)
            if (*p >= '0' && *p <= '9')
                d.digits[d.n++] = *p;
        *exponent = mortise_jp_exponent(p + (*p == 'e'), text + strlen(text));
        memcpy(digits, d.digits, d.n);
        d.exponent = *exponent - (int64_t)d.n + 1;
    } while (precision++ < 16 && mortise_jp_round(&d) != v);
    while (d.n > 1 && digits[d.n - 1] == '0')
        d.n--;
    return d.n;
}

/* Write the digits with a point after the first `whole` of them, padded with
 * zeros. */
MORTISE_INLINE void mortise_jp_pointed(mortise_jw *w, const char *digits,
                                       size_t n, int64_t whole)
{
    int64_t i = whole < 1 ? whole - 1 : 0, last = (int64_t)n;

    if (last < whole + 1)
        last = whole + 1;
    for (; i < last; i++) {
        if (i == whole)
            mortise_jp_put(w, ".", 1);
        mortise_jp_put(w, i >= 0 && i < (int64_t)n ? digits + i : "0", 1);
    }
}

/* Write the shortest text that is read back as the same double, always with a
 * point or an exponent.  For NaN and infinities, the status becomes
 * MORTISE_S_INVALID. */
MORTISE_INLINE void mortise_jw_double(mortise_jw *w, double v)
{
    char digits[20], exp[24];
    int64_t exponent = 0;
    size_t n = 1;

    mortise_jp_begin(w);
    if (!(v <= DBL_MAX && v >= -DBL_MAX)) {
        mortise_jp_fail(w, MORTISE_S_INVALID);
        return;
    }
    digits[0] = '0';
    if (v < 0)
        mortise_jp_put(w, "-", 1);
    if (v < 0 || v > 0)
        n = mortise_jp_shortest(digits, v < 0 ? -v : v, &exponent);
    if (exponent >= -5 && exponent < 16) {
        mortise_jp_pointed(w, digits, n, exponent + 1);
        return;
    }
    mortise_jp_pointed(w, digits, n, 1);
    mortise_jp_put(w, "e", 1);
    mortise_jp_put(w, exp, mortise_jp_itoa(exp, exponent));
}

/* Return MORTISE_S_OK and set the text (the part that `more` has not consumed),
 * or return the first failure.  If the value is not complete, that is a
 * failure: MORTISE_S_INVALID.  This function writes nothing, so you may call it
 * again.  To check for a failure in between, read w->status. */
MORTISE_INLINE mortise_status mortise_jw_finish(mortise_jw *w,
                                                mortise_str *text)
{
    if (w->levels.depth > 0 || !w->comma || w->in_string)
        mortise_jp_fail(w, MORTISE_S_INVALID);
    text->p = w->p;
    text->n = w->status == MORTISE_S_OK ? w->n : 0;
    return w->status;
}

#ifdef __cplusplus
}
#endif
MORTISE_C_END
#endif
