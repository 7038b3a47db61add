/* scalar_position.c -- positions inside scalars: from an offset in a value to
 * the line and column of that byte in the file.
 *
 * A value differs from the text of the file: escapes are decoded, lines are
 * folded, and indentation is removed. libyaml reports only the beginning and
 * the end of a scalar.  So we read its text again, byte by byte and in parallel
 * with its value, until the value reaches the offset.
 *
 *   (1) The position is never guessed: each byte of the value must match the
 *       file, else the position is that of the whole scalar.
 *   (2) The cost is proportional to the length of the scalar, and only arises
 *       if a position is needed.
 */
#include "lang/yaml/tree.h"

#include <string.h>

#include "core/base/digit.h"
#include "core/base/utf8.h"
#include "lang/yaml/text.h"

struct walk {
    const char *p, *end; /* in the file */
    const char *v, *top; /* in the value; v corresponds to p */
    char style;          /* '"', '\'', '|', '>' or 0: plain */
    size_t indent;       /* of a block */
};

static bool is_block(const struct walk *w)
{
    return w->style == '|' || w->style == '>';
}

static char peek_byte(const struct walk *w, size_t ahead)
{
    return (size_t)(w->end - w->p) > ahead ? w->p[ahead] : '\0';
}

/* Length in bytes of the line break at p, or 0. */
static size_t measure_break(const char *p, const char *end)
{
    if (p < end && *p == '\n')
        return 1;
    if (p == end || *p != '\r')
        return 0;
    return p + 1 < end && p[1] == '\n' ? 2 : 1;
}

static const char *skip_blank_bytes(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    return p;
}

/* ---- line breaks ------------------------------------------------------- */

/* The break that ends the line at p, or NULL if other text precedes it.  In
 * flow scalars, blanks before a break belong to the break. */
static const char *find_break(const struct walk *w)
{
    const char *p = is_block(w) ? w->p : skip_blank_bytes(w->p, w->end);

    return measure_break(p, w->end) > 0 ? p : NULL;
}

/* Go to the next line with text, and skip the empty lines between.  Returns
 * the number of breaks.  In a block, only the block's own indentation is
 * skipped. */
static size_t skip_breaks(struct walk *w, const char *at)
{
    const char *p = at, *line = at;
    size_t breaks = 0, n;

    while ((n = measure_break(p, w->end)) > 0) {
        line = p + n;
        p = skip_blank_bytes(line, w->end);
        if (is_block(w) && (size_t)(p - line) > w->indent)
            p = line + w->indent;
        breaks++;
    }
    w->p = p;
    return breaks;
}

/* Match a break with its result in the value: a space, or the remaining
 * breaks. */
static bool take_break(struct walk *w, const char *at)
{
    size_t breaks = skip_breaks(w, at);

    if (*w->v == ' ' && breaks == 1 && w->style != '|') {
        w->v++;
        return true;
    }
    if (*w->v != '\n')
        return false;
    for (; breaks > 0 && w->v < w->top && *w->v == '\n'; breaks--)
        w->v++;
    return breaks <= 1;
}

/* ---- one character ----------------------------------------------------- */

static bool take_byte(struct walk *w)
{
    if (w->p == w->end || *w->p != *w->v)
        return false;
    w->p++;
    w->v++;
    return true;
}

/* Number of bytes in the value for an escape of so many digits. */
static size_t get_coded_size(const struct walk *w, size_t digits)
{
    uint32_t cp = 0;
    char out[4];

    for (size_t i = 0; i < digits; i++) {
        unsigned d = mortise_digit_get_value(peek_byte(w, 2 + i));

        if (d == MORTISE_NO_DIGIT)
            return 0;
        cp = cp << 4 | d;
    }
    return mortise_utf8_encode(out, cp);
}

/* At a backslash between double quotes. */
static bool take_escape(struct walk *w)
{
    char c = peek_byte(w, 1);
    bool pair = c == 'u' && mortise_text_decode_pair(w->p, w->end) != 0;
    size_t n, digits = pair       ? 10
                       : c == 'x' ? 2
                       : c == 'u' ? 4
                       : c == 'U' ? 8
                                  : 0;
    size_t made = pair                   ? 4
                  : digits > 0           ? get_coded_size(w, digits)
                  : c == 'N' || c == '_' ? 2
                  : c == 'L' || c == 'P' ? 3
                                         : 1;

    if (measure_break(w->p + 1, w->end) > 0) { /* the line continues */
        for (n = skip_breaks(w, w->p + 1); n > 1 && w->v < w->top; n--)
            if (*w->v++ != '\n')
                return false;
        return true;
    }
    if (made == 0 || (size_t)(w->top - w->v) < made)
        return false;
    w->p += 2 + digits;
    w->v += made;
    return true;
}

static bool take_character(struct walk *w)
{
    const char *at = find_break(w);

    if (at != NULL)
        return take_break(w, at);
    if (w->style == '"' && peek_byte(w, 0) == '\\')
        return take_escape(w);
    if (w->style == '\'' && peek_byte(w, 0) == '\'' && peek_byte(w, 1) == '\'')
        w->p++;
    return take_byte(w);
}

/* ---- the whole scalar -------------------------------------------------- */

/* Skip the header of a block, up to its first text.  The first line determines
 * the block's indentation. */
static bool enter_block(struct walk *w)
{
    const char *line, *text;
    size_t breaks;

    while (w->p < w->end && measure_break(w->p, w->end) == 0)
        w->p++;
    w->indent = SIZE_MAX;
    breaks = skip_breaks(w, w->p);
    for (; breaks > 1 && w->v < w->top && *w->v == '\n'; breaks--)
        w->v++;
    line = text = w->p;
    while (line[-1] == ' ')
        line--;
    w->indent = (size_t)(text - line);
    for (const char *v = w->v; v < w->top && *v == ' '; v++) {
        if (w->indent == 0)
            return false;
        w->indent--;
        w->p--;
    }
    return true;
}

static bool enter_scalar(struct walk *w)
{
    if (peek_byte(w, 0) == '&') { /* skip the anchor */
        while (w->p < w->end && *w->p != ' ' && *w->p != '\n')
            w->p++;
        w->p = skip_blank_bytes(w->p, w->end);
    }
    if (peek_byte(w, 0) != '\0' && strchr("\"'|>", peek_byte(w, 0)) != NULL)
        w->style = *w->p;
    if (is_block(w))
        return enter_block(w);
    if (w->style != 0)
        w->p++;
    return true;
}

/* The position in the file of the byte at `offset` of the value (`begins`), or
 * the end of the byte before it; or NULL. */
static const char *find_value_byte(const struct mortise_yaml *scalar,
                                   size_t offset, bool begins)
{
    const struct mortise_source_file *f = scalar->span.file;
    struct walk w = {
        .p = f->text + f->line_at[scalar->span.line - 1] + scalar->span.col - 1,
        .end = f->text + f->size,
        .v = scalar->str,
        .top = scalar->str + scalar->len,
    };

    struct walk next;

    if (!enter_scalar(&w))
        return NULL;
    while (w.v < scalar->str + offset)
        if (!take_character(&w))
            return NULL;
    next = w;
    if (begins && w.style == '"' && peek_byte(&w, 0) == '\\' &&
        measure_break(w.p + 1, w.end) > 0 && take_escape(&next) &&
        next.v == w.v)
        w = next; /* the byte is on the next line */
    return w.p;
}

/* A position is on one line; cut the range at the end of the line. */
static void narrow_span(struct mortise_span *span, const char *from,
                        const char *to)
{
    const struct mortise_source_file *f = span->file;
    size_t line = span->line - 1, at = (size_t)(from - f->text);
    const char *p = from;

    while (line + 1 < f->n_lines && f->line_at[line + 1] <= at)
        line++;
    while (p < to && measure_break(p, f->text + f->size) == 0)
        p++;
    span->line = span->end_line = (uint32_t)line + 1;
    span->col = (uint32_t)(at - f->line_at[line]) + 1;
    span->end_col = span->col + (uint32_t)(p - from);
}

struct mortise_span
mortise_yaml_scalar_position(const struct mortise_yaml *scalar, size_t offset,
                             size_t length)
{
    struct mortise_span span = scalar->span;
    const char *from, *to;

    if (span.file == NULL || scalar->str == NULL || offset > scalar->len)
        return span;
    if (length > scalar->len - offset)
        length = scalar->len - offset;
    from = find_value_byte(scalar, offset, true);
    to = from != NULL ? find_value_byte(scalar, offset + length, false) : NULL;
    if (to != NULL)
        narrow_span(&span, from, to);
    return span;
}
