/* out.c -- output to terminals, files and pipes, checked and escaped.
 *
 *   (1) Each byte is written, or its loss is detected: the first failed write
 *       is recorded in errnum, and main() reports it and sets the exit code.
 *       If a reader closed the pipe (EPIPE), nothing is reported.
 *   (2) Text from a file, a plugin or a store never reaches a terminal with
 *       control characters: a graph's prompt must not be able to move the
 *       cursor and hide the digest that a person approves.  The same applies to
 *       bidirectional overrides, which reorder text.  JSON is escaped, too; in
 *       a string, \u009b has the same meaning.
 *   (3) Colours and cursor movement are only used on terminals.
 *
 * The buffer is part of the struct, so output needs no memory, except for JSON.
 */
#include "cli/out.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/base/utf8.h"
#include "core/json/value.h"

enum { ESCAPED = 16 }; /* "\u{10ffff}" and room */

static bool is_variable_set(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0';
}

void mortise_out_init(struct mortise_out *o, int fd,
                      const struct mortise_mem *mem)
{
    const char *term = getenv("TERM");

    memset(o, 0, sizeof *o);
    o->fd = fd;
    o->mem = mem;
    o->tty = isatty(fd) == 1 && term != NULL && term[0] != '\0' &&
             strcmp(term, "dumb") != 0;
    o->color = o->tty && !is_variable_set("NO_COLOR");
}

void mortise_out_init_buf(struct mortise_out *o, struct mortise_buf *b)
{
    memset(o, 0, sizeof *o);
    o->fd = -1;
    o->mem = b->mem;
    o->into = b;
}

static void flush_to_buffer(struct mortise_out *o)
{
    mortise_buf_put(o->into, o->buf, o->n);
    if (o->into->failed)
        o->errnum = ENOMEM;
    o->n = 0;
}

int mortise_out_flush(struct mortise_out *o)
{
    size_t at = 0;

    if (o->into != NULL)
        flush_to_buffer(o);
    while (o->errnum == 0 && at < o->n) {
        ssize_t n = write(o->fd, o->buf + at, o->n - at);

        if (n >= 0)
            at += (size_t)n;
        else if (errno != EINTR)
            o->errnum = errno;
    }
    o->n = 0;
    return o->errnum;
}

void mortise_out_put(struct mortise_out *o, const char *p, size_t n)
{
    while (n > 0) {
        size_t room = sizeof o->buf - o->n, part = n < room ? n : room;

        memcpy(o->buf + o->n, p, part);
        o->n += part;
        p += part;
        n -= part;
        if (o->n == sizeof o->buf)
            mortise_out_flush(o);
    }
}

void mortise_out_puts(struct mortise_out *o, const char *s)
{
    mortise_out_put(o, s, strlen(s));
}

void mortise_out_printf(struct mortise_out *o, const char *fmt, ...)
{
    char text[1024]; /* our own texts are short; longer ones are cut */
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    mortise_out_puts(o, text);
}

void mortise_out_set_style(struct mortise_out *o, enum mortise_style style)
{
    static const char *const sgr[] = {
        [MORTISE_PLAIN] = "\x1b[0m", [MORTISE_BOLD] = "\x1b[1m",
        [MORTISE_DIM] = "\x1b[2m",   [MORTISE_GOOD] = "\x1b[32m",
        [MORTISE_BAD] = "\x1b[31m",  [MORTISE_ATTENTION] = "\x1b[33m",
    };

    if (o->color)
        mortise_out_puts(o, sgr[style]);
}

/* Escape the first character of s (not empty); returns the number of bytes
 * consumed. */
static size_t escape_character(const char *s, size_t n, char shown[ESCAPED])
{
    uint32_t cp;
    size_t taken = mortise_utf8_decode(s, s + n, &cp);

    if (taken == 0)
        snprintf(shown, ESCAPED, "\\x%02x", (unsigned char)*s);
    else if (cp == '\n')
        strcpy(shown, "\\n");
    else if (cp == '\t')
        strcpy(shown, "\\t");
    else if (mortise_utf8_is_hidden(cp) && cp < 0x80)
        snprintf(shown, ESCAPED, "\\x%02x", (unsigned)cp);
    else if (mortise_utf8_is_hidden(cp))
        snprintf(shown, ESCAPED, "\\u{%x}", (unsigned)cp);
    else {
        memcpy(shown, s, taken);
        shown[taken] = '\0';
    }
    return taken != 0 ? taken : 1;
}

struct range {
    uint32_t first, last;
};

static bool is_in_ranges(const struct range *r, size_t n, uint32_t cp)
{
    for (size_t i = 0; i < n; i++)
        if (cp >= r[i].first && cp <= r[i].last)
            return true;
    return false;
}

/* Columns of a code point, similar to Markus Kuhn's wcwidth().  The libc's
 * depends on the locale, and the engine runs in the C locale. */
static size_t get_character_width(uint32_t cp)
{
    static const struct range none[] = {
        {0x300, 0x36F},   {0x483, 0x489},   {0x591, 0x5BD},
        {0x64B, 0x65F},   {0x200B, 0x200D}, {0x20D0, 0x20FF},
        {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}};
    static const struct range two[] = {
        {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},
        {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
        {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
        {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};

    if (is_in_ranges(none, sizeof none / sizeof none[0], cp))
        return 0;
    return is_in_ranges(two, sizeof two / sizeof two[0], cp) ? 2 : 1;
}

/* Columns of one escaped character. */
static size_t count_shown_columns(const char *shown)
{
    uint32_t cp;
    size_t n = strlen(shown);

    if (mortise_utf8_decode(shown, shown + n, &cp) != n)
        return n; /* an escape is ASCII */
    return get_character_width(cp);
}

/* Count leading bytes that are printable ASCII and not in `excluded`. */
static size_t count_printable(const char *s, size_t n, const char *excluded)
{
    size_t i = 0;

    while (i < n && s[i] >= ' ' && s[i] < 0x7F &&
           strchr(excluded, s[i]) == NULL)
        i++;
    return i;
}

/* Write s escaped; returns its columns.  `o` NULL: only count. */
static size_t put_escaped_text(struct mortise_out *o, const char *s, size_t n)
{
    char shown[ESCAPED];
    size_t columns = 0;

    while (n > 0) {
        size_t taken = count_printable(s, n, "");

        if (taken > 0) {
            if (o != NULL)
                mortise_out_put(o, s, taken);
            columns += taken;
        } else {
            taken = escape_character(s, n, shown);
            if (o != NULL)
                mortise_out_puts(o, shown);
            columns += count_shown_columns(shown);
        }
        s += taken;
        n -= taken;
    }
    return columns;
}

void mortise_out_put_escaped(struct mortise_out *o, const char *s)
{
    if (s != NULL)
        put_escaped_text(o, s, strlen(s));
}

void mortise_out_vprint_escaped(struct mortise_out *o, const char *fmt,
                                va_list ap)
{
    for (;;) {
        size_t n = strcspn(fmt, "%");

        mortise_out_put(o, fmt, n);
        fmt += n;
        if (*fmt == '\0')
            return;
        if (fmt[1] == 's') {
            mortise_out_put_escaped(o, va_arg(ap, const char *));
            fmt += 2;
        } else {
            assert(strncmp(fmt, "%llu", 4) == 0); /* our own formats */
            mortise_out_printf(o, "%llu", va_arg(ap, unsigned long long));
            fmt += 4;
        }
    }
}

void mortise_out_print_escaped(struct mortise_out *o, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    mortise_out_vprint_escaped(o, fmt, ap);
    va_end(ap);
}

void mortise_out_put_cell(struct mortise_out *o, const char *s, size_t columns)
{
    size_t used = s != NULL ? put_escaped_text(o, s, strlen(s)) : 0;

    while (used < columns) {
        static const char blanks[] = "                                ";
        size_t n = columns - used;

        n = n < sizeof blanks - 1 ? n : sizeof blanks - 1;
        mortise_out_put(o, blanks, n);
        used += n;
    }
}

void mortise_out_put_styled(struct mortise_out *o, enum mortise_style style,
                            const char *s, size_t columns)
{
    if (style != MORTISE_PLAIN)
        mortise_out_set_style(o, style);
    mortise_out_put_cell(o, s, columns);
    if (style != MORTISE_PLAIN)
        mortise_out_set_style(o, MORTISE_PLAIN);
}

void mortise_out_put_piece(struct mortise_out *o, const char *s, size_t n)
{
    while (n > 0) {
        const char *tab = memchr(s, '\t', n);
        size_t part = tab != NULL ? (size_t)(tab - s) : n;

        put_escaped_text(o, s, part);
        if (tab == NULL)
            return;
        mortise_out_put(o, "\t", 1);
        s += part + 1;
        n -= part + 1;
    }
}

void mortise_out_put_text(struct mortise_out *o, const char *s, size_t indent)
{
    if (s == NULL)
        return;
    do {
        size_t n = strcspn(s, "\n");

        mortise_out_put_cell(o, "", n != 0 ? indent : 0);
        mortise_out_put_piece(o, s, n);
        mortise_out_put(o, "\n", 1);
        s += n + (s[n] == '\n');
    } while (*s != '\0');
}

/* Write the name of a node in nested teams.  If it is too long, cut it on the
 * left, as its last part identifies the node. */
static void put_shortened_name(struct mortise_out *o, const char *name,
                               size_t columns, bool is_cut)
{
    static const char ellipsis[] = "\xE2\x80\xA6"; /* "..." in one column */
    const char *end = name;
    char cut[1024];

    if (!is_cut || put_escaped_text(NULL, name, strlen(name)) <= columns) {
        mortise_out_put_cell(o, name, columns);
        return;
    }
    while ((end = strchr(end + 1, '/')) != NULL)
        if (1 + put_escaped_text(NULL, end, strlen(end)) <= columns)
            break;
    mortise_out_puts(o, end != NULL ? ellipsis : "");
    mortise_out_truncate(cut, sizeof cut, end != NULL ? end : name, columns);
    mortise_out_put_cell(o, cut, columns - (end != NULL));
}

void mortise_out_put_margin_line(struct mortise_out *o,
                                 enum mortise_style style, const char *word,
                                 const char *name, const char *text)
{
    enum { WORD = 9, NAME = 20, LEAST = 40 };
    size_t columns, rows, used = 2 + WORD + (name != NULL ? NAME : 0) + 1, gap;
    char cut[1024];

    mortise_out_puts(o, "  ");
    mortise_out_truncate(cut, sizeof cut, word, WORD);
    mortise_out_put_styled(o, style, cut, WORD);
    gap = name != NULL && put_escaped_text(NULL, cut, strlen(cut)) == WORD;
    mortise_out_puts(o, gap > 0 ? " " : ""); /* separates word and name */
    if (name != NULL && text[0] != '\0')
        put_shortened_name(o, name, NAME - gap, o->tty);
    else if (name != NULL)
        mortise_out_put_escaped(o, name);
    mortise_out_puts(o, text[0] != '\0' ? " " : "");
    if (!o->tty) {
        mortise_out_put_escaped(o, text);
    } else {
        mortise_out_get_window_size(o, &columns, &rows);
        if (columns < LEAST)
            columns = LEAST; /* may wrap */
        mortise_out_truncate(cut, sizeof cut, text, columns - used - 1);
        mortise_out_puts(o, cut);
    }
    mortise_out_puts(o, "\n");
}

const char *mortise_out_format_duration(uint64_t ms, char out[32])
{
    if (ms < 1000)
        snprintf(out, 32, "%u ms", (unsigned)ms);
    else if (ms < 60000)
        snprintf(out, 32, "%u.%u s", (unsigned)(ms / 1000),
                 (unsigned)(ms % 1000 / 100));
    else
        snprintf(out, 32, "%llu min %u s", (unsigned long long)(ms / 60000),
                 (unsigned)(ms / 1000 % 60));
    return out;
}

void mortise_out_put_paragraph(struct mortise_out *o, const char *s,
                               size_t columns)
{
    size_t at = 0;

    for (s += strspn(s, " "); *s != '\0'; s += strspn(s, " ")) {
        size_t n = strcspn(s, " "), width = put_escaped_text(NULL, s, n);

        if (at > 0 && at + 1 + width > columns) {
            mortise_out_put(o, "\n", 1);
            at = 0;
        } else if (at > 0) {
            mortise_out_put(o, " ", 1);
            at++;
        }
        at += put_escaped_text(o, s, n);
        s += n;
    }
    mortise_out_put(o, "\n", 1);
}

void mortise_out_put_shell_word(struct mortise_out *o, const char *s)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-./,:@%+=#";

    if (*s != '\0' && *s != '#' && s[strspn(s, plain)] == '\0') {
        mortise_out_puts(o, s);
        return;
    }
    mortise_out_put(o, "'", 1);
    for (; *s != '\0'; s++) {
        size_t n = strcspn(s, "'");

        put_escaped_text(o, s, n);
        s += n;
        if (*s == '\0')
            break;
        mortise_out_puts(o, "'\\''");
    }
    mortise_out_put(o, "'", 1);
}

static void put_json_newline(struct mortise_out *o, size_t depth)
{
    mortise_out_put(o, "\n", 1);
    mortise_out_put_cell(o, "", 2 * depth);
}

/* Write a string of a JSON text with its quotes; returns the bytes consumed.
 * Only strings can contain characters that JSON itself does not escape but we
 * do. */
static size_t put_json_string(struct mortise_out *o, const char *s, size_t n)
{
    size_t i = 0;

    do {
        char escape[MORTISE_UTF8_ESCAPE];
        uint32_t cp = 0;
        size_t plain = count_printable(s + i, n - i, "\"\\"), taken;

        if (plain > 0) {
            mortise_out_put(o, s + i, plain);
            i += plain;
            continue;
        }
        taken = mortise_utf8_decode(s + i, s + n, &cp);
        if (taken != 0 && mortise_utf8_is_hidden(cp))
            mortise_out_puts(o, mortise_utf8_escape(escape, cp));
        else
            mortise_out_put(o, s + i, taken != 0 ? taken : 1);
        i += taken != 0 ? taken : 1;
        if (s[i - 1] == '\\' && i < n)
            mortise_out_put(o, s + i++, 1);
        else if (s[i - 1] == '"' && i > 1)
            break;
    } while (i < n);
    return i;
}

/* Write a compact JSON text, optionally with line breaks and indentation. */
static void put_json_text(struct mortise_out *o, const char *s, size_t n,
                          bool pretty)
{
    size_t depth = 0;

    for (size_t i = 0; i < n; i++) {
        bool opens = s[i] == '{' || s[i] == '[';
        bool closes = s[i] == '}' || s[i] == ']';
        bool empty = opens && s[i + 1] == s[i] + 2; /* {} or [] */

        if (s[i] == '"') {
            i += put_json_string(o, s + i, n - i) - 1;
            continue;
        }
        depth -= closes;
        if (pretty && closes && s[i - 1] != s[i] - 2)
            put_json_newline(o, depth);
        mortise_out_put(o, s + i, 1);
        depth += opens;
        if (pretty && s[i] == ':')
            mortise_out_put(o, " ", 1);
        else if (pretty && (s[i] == ',' || (opens && !empty)))
            put_json_newline(o, depth);
    }
}

void mortise_out_put_json(struct mortise_out *o, const json_t *v, bool pretty)
{
    struct mortise_buf b;

    mortise_buf_init(&b, o->mem);
    if (mortise_json_write(&b, v) == MORTISE_OK && mortise_buf_cstr(&b)) {
        put_json_text(o, b.p, b.n, pretty);
        mortise_out_put(o, "\n", 1);
    } else if (o->errnum == 0) {
        o->errnum = ENOMEM;
    }
    mortise_buf_finish(&b);
}

size_t mortise_out_truncate(char *out, size_t cap, const char *s,
                            size_t columns)
{
    char shown[ESCAPED];
    size_t n = strlen(s), used = 0, len = 0, at_ellipsis = 0, cut_columns = 0;

    while (n > 0) {
        size_t taken = escape_character(s, n, shown),
               w = count_shown_columns(shown);

        if (used + w > columns || len + strlen(shown) + 4 > cap)
            break;
        if (used + w + 1 <= columns) { /* an ellipsis still fits after it */
            at_ellipsis = len + strlen(shown);
            cut_columns = used + w;
        }
        memcpy(out + len, shown, strlen(shown));
        len += strlen(shown);
        used += w;
        s += taken;
        n -= taken;
    }
    out[len] = '\0';
    if (n == 0 || columns == 0)
        return used;
    strcpy(out + at_ellipsis, "\xE2\x80\xA6"); /* "..." in one column */
    return cut_columns + 1;
}

void mortise_out_get_window_size(const struct mortise_out *o, size_t *columns,
                                 size_t *rows)
{
    struct winsize w;

    *columns = 80;
    *rows = 24;
    if (ioctl(o->fd, TIOCGWINSZ, &w) != 0)
        return;
    if (w.ws_col != 0)
        *columns = w.ws_col;
    if (w.ws_row != 0)
        *rows = w.ws_row;
}
