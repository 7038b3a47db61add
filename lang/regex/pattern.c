/* pattern.c -- shared by the readers of regular expressions.
 *
 * No part of a pattern reaches RE2 or PCRE2 as written.  Characters are written
 * so that they cannot be syntax, sets as ranges, repetitions as numbers.  So
 * other features of these libraries, and of their later versions, have no
 * effect.
 *
 * The weight is counted here and not by the library: the cost of a search must
 * not depend on a library version, or a replayed run could end differently.
 */
#include "lang/regex/pattern.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/digit.h"
#include "core/base/err.h"
#include "core/base/utf8.h"

const struct mortise_ascii mortise_ascii_digits = {{0x03FF000000000000, 0}};
const struct mortise_ascii mortise_ascii_word = {
    {0x03FF000000000000, 0x07FFFFFE87FFFFFE}};

/* "VERDICT: message (at character n)"; the verdict contains the name of the
 * standard. */
static _Noreturn void escape_with_message(struct mortise_pattern *p,
                                          const char *at, const char *before,
                                          const char *behind, const char *fmt,
                                          va_list ap) MORTISE_PRINTF(5, 0);

static _Noreturn void escape_with_message(struct mortise_pattern *p,
                                          const char *at, const char *before,
                                          const char *behind, const char *fmt,
                                          va_list ap)
{
    char words[200];

    vsnprintf(words, sizeof words, fmt, ap);
    mortise_escape(
        &p->escape,
        mortise_fail(p->escape.err, MORTISE_EINVAL,
                     "%s%s%s: %s (at character %zu)", before, p->standard,
                     behind, words,
                     mortise_utf8_count(p->text, (size_t)(at - p->text)) + 1));
}

void mortise_pattern_fail_invalid(struct mortise_pattern *p, const char *at,
                                  const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    escape_with_message(p, at, "not a regular expression of ", "", fmt, ap);
}

void mortise_pattern_fail_unsupported(struct mortise_pattern *p, const char *at,
                                      const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    escape_with_message(p, at, "a regular expression of ",
                        " that this build does not support", fmt, ap);
}

void mortise_pattern_fail_re2(struct mortise_pattern *p)
{
    mortise_escape(&p->escape, mortise_fail(p->escape.err, MORTISE_EUNAVAILABLE,
                                            "RE2 cannot express it"));
}

void mortise_pattern_check_text(struct mortise_pattern *p)
{
    uint32_t c;
    size_t n;

    if (p->end - p->text > MORTISE_PATTERN_BYTES)
        mortise_pattern_fail_unsupported(
            p, p->text, "it is longer than %d bytes", MORTISE_PATTERN_BYTES);
    for (const char *at = p->text; at < p->end; at += n) {
        n = mortise_utf8_decode(at, p->end, &c);
        if (n == 0)
            mortise_pattern_fail_invalid(p, at, "this byte is not valid UTF-8");
    }
}

bool mortise_pattern_is_next(const struct mortise_pattern *p, const char *text)
{
    size_t n = strlen(text);

    return (size_t)(p->end - p->p) >= n && memcmp(p->p, text, n) == 0;
}

uint32_t mortise_pattern_read_char(struct mortise_pattern *p)
{
    uint32_t c = 0;

    p->p += mortise_utf8_decode(p->p, p->end, &c);
    return c;
}

bool mortise_pattern_read_digits(struct mortise_pattern *p, size_t n,
                                 unsigned base, uint32_t *value)
{
    *value = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned d = mortise_digit_get_value(mortise_pattern_peek(p, i));

        if (d >= base)
            return false;
        *value = *value * base + d;
    }
    p->p += n;
    return true;
}

/* ---- repetitions ------------------------------------------------------- */

/* Read a number at `at`, and return its end.  NULL: there is none, or it has a
 * leading zero and `zeroes` is false. */
static const char *read_repeat_count(const char *at, const char *end,
                                     bool zeroes, uint32_t *out)
{
    const char *from = at;
    uint64_t v = 0;

    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        v = v * 10 + (uint64_t)(*at - '0');
        if (v >= MORTISE_PATTERN_MANY)
            v = MORTISE_PATTERN_MANY - 1;
    }
    *out = (uint32_t)v;
    if (at == from || (!zeroes && *from == '0' && at - from > 1))
        return NULL;
    return at;
}

bool mortise_pattern_read_repeat(struct mortise_pattern *p, bool zeroes,
                                 struct mortise_repeat *out)
{
    const char *at;

    if (mortise_pattern_peek(p, 0) != '{')
        return false;
    at = read_repeat_count(p->p + 1, p->end, zeroes, &out->min);
    if (at == NULL || at == p->end)
        return false;
    out->max = out->min;
    if (*at == ',') {
        out->max = MORTISE_PATTERN_MANY;
        if (++at < p->end && *at != '}')
            at = read_repeat_count(at, p->end, zeroes, &out->max);
    }
    if (at == NULL || at == p->end || *at != '}')
        return false;
    p->p = at + 1;
    return true;
}

/* before + copies * (all - before), limited to a practically infinite value. */
static uint64_t multiply_weight(uint64_t before, uint64_t all, uint32_t copies)
{
    const uint64_t most = (uint64_t)1 << 50;
    uint64_t one = all - before;

    if (one > most / (copies > 0 ? copies : 1))
        return most;
    return before + one * copies > most ? most : before + one * copies;
}

/* A repetition without an end counts once, or as its minimum. */
static uint32_t count_copies(struct mortise_repeat r)
{
    if (r.max != MORTISE_PATTERN_MANY)
        return r.max;
    return r.min > 0 ? r.min : 1;
}

void mortise_pattern_put_repeat(struct mortise_pattern *p,
                                struct mortise_weight before,
                                struct mortise_repeat r, bool lazy)
{
    uint32_t copies = count_copies(r);

    p->weight.places = multiply_weight(before.places, p->weight.places, copies);
    p->weight.ranges = multiply_weight(before.ranges, p->weight.ranges, copies);
    mortise_buf_printf(p->out, "{%u,", (unsigned)r.min);
    if (r.max != MORTISE_PATTERN_MANY)
        mortise_buf_printf(p->out, "%u", (unsigned)r.max);
    mortise_buf_puts(p->out, lazy ? "}?" : "}");
}

/* ---- characters -------------------------------------------------------- */

static bool is_ascii_alnum(uint32_t c)
{
    return (c >= '0' && c <= '9') ||
           (c < 128 && (c | 32) >= 'a' && (c | 32) <= 'z');
}

/* A range beyond ASCII has several bytes, with several paths through them. */
static void add_range_weight(struct mortise_pattern *p, uint32_t last)
{
    enum { BEYOND_ASCII = 8 };

    p->weight.ranges += last < 128 ? 1 : BEYOND_ASCII;
}

static void put_character_code(struct mortise_pattern *p, uint32_t c)
{
    char text = (char)c;

    if (is_ascii_alnum(c))
        mortise_buf_put(p->out, &text, 1);
    else
        mortise_buf_printf(p->out, "\\x{%x}", (unsigned)c);
}

static bool is_surrogate(uint32_t c)
{
    return c >= 0xD800 && c <= 0xDFFF;
}

#define ALL_CHARACTERS "\\x{0}-\\x{10ffff}"

void mortise_pattern_put_char(struct mortise_pattern *p, uint32_t c)
{
    p->weight.places++;
    add_range_weight(p, c);
    if (is_surrogate(c))
        mortise_buf_puts(p->out, "[^" ALL_CHARACTERS "]");
    else
        put_character_code(p, c);
}

void mortise_pattern_open_class(struct mortise_pattern *p, bool inverse)
{
    p->weight.places++;
    if (inverse)
        add_range_weight(p, 0x10FFFF);
    mortise_buf_puts(p->out, inverse ? "[^" : "[");
    p->in_class = p->out->n;
}

/* Only ECMA has an empty class. */
void mortise_pattern_close_class(struct mortise_pattern *p)
{
    struct mortise_buf *out = p->out;

    if (out->n == p->in_class && !out->failed) {
        bool inverse = out->p[out->n - 1] == '^';

        out->n -= inverse ? 2 : 1;
        mortise_buf_puts(out, inverse ? "[" : "[^");
        mortise_buf_puts(out, ALL_CHARACTERS);
    }
    mortise_buf_puts(out, "]");
}

void mortise_pattern_put_range(struct mortise_pattern *p, uint32_t a,
                               uint32_t b)
{
    a = is_surrogate(a) ? 0xE000 : a;
    b = is_surrogate(b) ? 0xD7FF : b;
    if (a > b)
        return;
    add_range_weight(p, b);
    put_character_code(p, a);
    if (a == b)
        return;
    mortise_buf_puts(p->out, "-");
    put_character_code(p, b);
}

void mortise_pattern_put_property(struct mortise_pattern *p, bool inverse,
                                  const char *kind, const char *name, size_t n)
{
    enum { RANGES = 600 }; /* as many as \p{L} has */

    p->weight.ranges += RANGES;
    mortise_buf_printf(p->out, "\\%c{%s%.*s}", inverse ? 'P' : 'p',
                       p->for_re2 ? "" : kind, (int)n, name);
}

/* ---- sets -------------------------------------------------------------- */

static bool has_ascii_member(const struct mortise_ascii *set, uint32_t c)
{
    return set->bits[c / 64] >> c % 64 & 1;
}

static struct mortise_ascii fold_ascii_set(struct mortise_ascii set)
{
    const uint64_t letters = 0x07FFFFFE;
    uint64_t either = (set.bits[1] | set.bits[1] >> 32) & letters;

    set.bits[1] |= either | either << 32;
    return set;
}

/* The characters beyond ASCII. If case is folded, U+017F equals s and U+212A
 * equals k: an inverse set without s or k must not contain them. */
static void put_non_ascii_rest(struct mortise_pattern *p,
                               const struct mortise_ascii *set, bool inverse,
                               bool folds)
{
    bool s = folds && has_ascii_member(set, 's'),
         k = folds && has_ascii_member(set, 'k');

    if (!inverse)
        return; /* PCRE2 folds the members */
    mortise_pattern_put_range(p, 0x80, s ? 0x17E : 0x17F);
    mortise_pattern_put_range(p, 0x180, k ? 0x2129 : 0x212A);
    mortise_pattern_put_range(p, 0x212B, 0x10FFFF);
}

void mortise_pattern_put_ascii(struct mortise_pattern *p,
                               struct mortise_ascii set, bool inverse,
                               bool folds)
{
    uint32_t a, b;

    if (folds)
        set = fold_ascii_set(set);
    for (a = 0; a < 128; a = b + 1) {
        b = a;
        if (has_ascii_member(&set, a) == inverse)
            continue;
        while (b < 127 && has_ascii_member(&set, b + 1) != inverse)
            b++;
        mortise_pattern_put_range(p, a, b);
    }
    put_non_ascii_rest(p, &set, inverse, folds);
}
