/* scalar_position.c -- places inside scalars: from an offset in a value to the
 * line and column where that byte was written.
 *
 * A value is not what stands in the file: escapes are decoded, lines folded,
 * indentation dropped.  libyaml tells where a scalar begins and ends and no
 * more, so we read its text once more beside its value, byte by byte, and see
 * how far the file got when the value has reached the offset.
 *
 *   (1) Nothing is guessed: each byte of the value must be what the file gives
 *       here, else the place is the whole scalar's.
 *   (2) It costs the length of the scalar, and only when somebody points.
 */
#include "lang/yaml/tree.h"

#include <string.h>

#include "core/base/digit.h"
#include "core/base/utf8.h"
#include "lang/yaml/text.h"

struct walk {
    const char *p, *end; /* of the file */
    const char *v, *top; /* of the value: v is where p stands */
    char style;          /* '"', '\'', '|', '>' or 0: plain */
    size_t indent;       /* of a block */
};

static bool is_block(const struct walk *w)
{
    return w->style == '|' || w->style == '>';
}

static char look(const struct walk *w, size_t ahead)
{
    return (size_t)(w->end - w->p) > ahead ? w->p[ahead] : '\0';
}

/* Bytes of the line break at p, or 0. */
static size_t line_break(const char *p, const char *end)
{
    if (p < end && *p == '\n')
        return 1;
    if (p == end || *p != '\r')
        return 0;
    return p + 1 < end && p[1] == '\n' ? 2 : 1;
}

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    return p;
}

/* ---- line breaks ------------------------------------------------------- */

/* The break that ends the line at p, or NULL where other text comes first: in
 * flow scalars, blanks before a break belong to it. */
static const char *break_here(const struct walk *w)
{
    const char *p = is_block(w) ? w->p : skip_blanks(w->p, w->end);

    return line_break(p, w->end) > 0 ? p : NULL;
}

/* From one line with text to the next, over the empty ones between; their
 * number of breaks.  Of a block's indentation no more than its own goes. */
static size_t skip_breaks(struct walk *w, const char *at)
{
    const char *p = at, *line = at;
    size_t breaks = 0, n;

    while ((n = line_break(p, w->end)) > 0) {
        line = p + n;
        p = skip_blanks(line, w->end);
        if (is_block(w) && (size_t)(p - line) > w->indent)
            p = line + w->indent;
        breaks++;
    }
    w->p = p;
    return breaks;
}

/* A break, and what became of it in the value: a blank, or the breaks that are
 * left of it. */
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

/* How many bytes of the value an escape of so many digits made. */
static size_t coded(const struct walk *w, size_t digits)
{
    uint32_t cp = 0;
    char out[4];

    for (size_t i = 0; i < digits; i++) {
        unsigned d = mortise_digit(look(w, 2 + i));

        if (d == MORTISE_NO_DIGIT)
            return 0;
        cp = cp << 4 | d;
    }
    return mortise_utf8_encode(out, cp);
}

/* At a backslash between double quotes. */
static bool take_escape(struct walk *w)
{
    char c = look(w, 1);
    bool pair = c == 'u' && mortise_text_pair(w->p, w->end) != 0;
    size_t n, digits = pair       ? 10
                       : c == 'x' ? 2
                       : c == 'u' ? 4
                       : c == 'U' ? 8
                                  : 0;
    size_t made = pair                   ? 4
                  : digits > 0           ? coded(w, digits)
                  : c == 'N' || c == '_' ? 2
                  : c == 'L' || c == 'P' ? 3
                                         : 1;

    if (line_break(w->p + 1, w->end) > 0) { /* the line goes on */
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

static bool take(struct walk *w)
{
    const char *at = break_here(w);

    if (at != NULL)
        return take_break(w, at);
    if (w->style == '"' && look(w, 0) == '\\')
        return take_escape(w);
    if (w->style == '\'' && look(w, 0) == '\'' && look(w, 1) == '\'')
        w->p++;
    return take_byte(w);
}

/* ---- the whole --------------------------------------------------------- */

/* Behind the header of a block, at its first text.  The first line shows how
 * much of its indentation is the block's. */
static bool enter_block(struct walk *w)
{
    const char *line, *text;
    size_t breaks;

    while (w->p < w->end && line_break(w->p, w->end) == 0)
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

static bool enter(struct walk *w)
{
    if (look(w, 0) == '&') { /* an anchor stands before it */
        while (w->p < w->end && *w->p != ' ' && *w->p != '\n')
            w->p++;
        w->p = skip_blanks(w->p, w->end);
    }
    if (look(w, 0) != '\0' && strchr("\"'|>", look(w, 0)) != NULL)
        w->style = *w->p;
    if (is_block(w))
        return enter_block(w);
    if (w->style != 0)
        w->p++;
    return true;
}

/* Where in the file the byte at `offset` of the value stands (`begins`), or
 * where what is before it ends; or NULL. */
static const char *find(const struct mortise_yaml *scalar, size_t offset,
                        bool begins)
{
    const struct mortise_yaml_file *f = scalar->span.file;
    struct walk w = {
        .p = f->text + f->line_at[scalar->span.line - 1] + scalar->span.col - 1,
        .end = f->text + f->size,
        .v = scalar->str,
        .top = scalar->str + scalar->len,
    };

    struct walk next;

    if (!enter(&w))
        return NULL;
    while (w.v < scalar->str + offset)
        if (!take(&w))
            return NULL;
    next = w;
    if (begins && w.style == '"' && look(&w, 0) == '\\' &&
        line_break(w.p + 1, w.end) > 0 && take_escape(&next) && next.v == w.v)
        w = next; /* it is on the next line */
    return w.p;
}

/* A place is on one line: what goes on is cut at its end. */
static void narrow(struct mortise_span *span, const char *from, const char *to)
{
    const struct mortise_yaml_file *f = span->file;
    size_t line = span->line - 1, at = (size_t)(from - f->text);
    const char *p = from;

    while (line + 1 < f->n_lines && f->line_at[line + 1] <= at)
        line++;
    while (p < to && line_break(p, f->text + f->size) == 0)
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
    from = find(scalar, offset, true);
    to = from != NULL ? find(scalar, offset + length, false) : NULL;
    if (to != NULL)
        narrow(&span, from, to);
    return span;
}
