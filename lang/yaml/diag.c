/* diag.c -- findings about files: collected, sorted, printed.
 *
 * A finding is for a person who did not write this program.  It is printed to a
 * terminal, and the bytes of a file may be dangerous there.  Therefore:
 *
 *   (1) A finding owns everything that it prints, also the source line.  A file
 *       with errors is released at once, and its findings are read later.
 *   (2) All text from a file (names, values, the source line) is printable
 *       UTF-8 after this module, so that no escape sequence gets through.
 *   (3) The size of each finding is limited: a line of a megabyte is shown as a
 *       window around the position, and a name of a megabyte is cut.  A
 *       thousand findings on that line cost a thousand windows, not a gigabyte.
 *       The number of findings is limited, too.  The first MORTISE_DIAGS_MAX
 *       errors and as many warnings are kept, and the others are counted.  So a
 *       file of megabytes with a mistake in each line has a report that a
 *       person can read and an engine can send.
 *   (4) The caret is under the correct character, also after characters of
 *       several bytes and after tabs (shown as one space).
 *
 * If memory runs out, findings are lost and `failed` is set.  The count of
 * errors stays correct, so a refused file is never accepted.
 */
#include "lang/yaml/diag.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/json/value.h"
#include "lang/yaml/tree.h"

enum {
    MAX_WORDS = 1000, /* bytes of a message or help */
    MAX_LINE = 160,   /* bytes of a source line that is shown completely */
    /* bytes of a longer line that are shown before the position, */
    BEFORE = 40,
    WINDOW = 120 /* and bytes that are shown in all */
};

void mortise_diags_init(struct mortise_diags *d, const struct mortise_mem *mem)
{
    *d = (struct mortise_diags){0};
    mortise_arena_init(&d->arena, mem);
}

void mortise_diags_finish(struct mortise_diags *d)
{
    mortise_release(d->arena.mem, d->list, d->cap * sizeof *d->list);
    mortise_arena_finish(&d->arena);
    mortise_diags_init(d, d->arena.mem);
}

/* ---- words ----------------------------------------------------------- */

static void put_clean(struct mortise_buf *b, const char *p, size_t n)
{
    const char *end = p + n;
    uint32_t c = 0;

    for (size_t step; p < end; p += step) {
        step = mortise_utf8_decode(p, end, &c);
        if (step != 0 && !mortise_utf8_is_hidden(c))
            mortise_buf_put(b, p, step);
        else if (step != 0)
            mortise_buf_printf(b,
                               c < 0x100     ? "\\x%02x"
                               : c < 0x10000 ? "\\u%04x"
                                             : "\\U%08x",
                               (unsigned)c);
        else
            mortise_buf_printf(b, "\\x%02x", (unsigned)(unsigned char)*p);
        step = step != 0 ? step : 1;
    }
}

/* A clean copy, cut at MAX_WORDS; NULL: memory ran out. */
static char *copy_clean(struct mortise_diags *d, const char *s)
{
    size_t n = strlen(s);
    struct mortise_buf b;
    char *text = NULL;

    mortise_buf_init(&b, d->arena.mem);
    put_clean(&b, s, n < MAX_WORDS ? n : MAX_WORDS);
    if (n > MAX_WORDS)
        mortise_buf_puts(&b, "...");
    if (!b.failed)
        text = mortise_arena_strndup(&d->arena, b.p, b.n);
    d->failed |= text == NULL;
    mortise_buf_finish(&b);
    return text;
}

static char *format_words(struct mortise_diags *d, const char *fmt, va_list ap)
    MORTISE_PRINTF(2, 0);

static char *format_words(struct mortise_diags *d, const char *fmt, va_list ap)
{
    /* one byte more than the limit, for copy_clean() */
    char raw[MAX_WORDS + 2] = "";

    vsnprintf(raw, sizeof raw, fmt, ap);
    return copy_clean(d, raw);
}

/* ---- the source line ------------------------------------------------- */

/* A part of the source line; offsets count bytes from the start of the line. */
struct window {
    const char *line;
    size_t len;        /* of the line */
    size_t begin, end; /* the part that is shown */
    size_t from, to;   /* the part that the finding is about */
};

static bool is_inside_char(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

static void choose_window(struct window *w, struct mortise_span span)
{
    w->from = span.col - 1 < w->len ? span.col - 1 : w->len;
    w->to = w->len;
    if (span.end_line == span.line && span.end_col - 1 < w->len)
        w->to = span.end_col - 1;
    w->begin = 0;
    w->end = w->len;
    if (w->len > MAX_LINE) {
        w->begin = w->from > BEFORE ? w->from - BEFORE : 0;
        w->end = w->begin + WINDOW < w->len ? w->begin + WINDOW : w->len;
    }
    while (w->begin > 0 && is_inside_char(w->line[w->begin]))
        w->begin--;
    while (w->end < w->len && is_inside_char(w->line[w->end]))
        w->end++;
    if (w->to > w->end)
        w->to = w->end;
}

/* Print the window, and count characters for the caret. */
static void put_window(struct mortise_buf *b, const struct window *w,
                       struct mortise_diag *f)
{
    const char *p = w->line + w->begin, *end = w->line + w->end;
    uint32_t c = 0;

    if (w->begin > 0) {
        mortise_buf_puts(b, "...");
        f->lead += 3;
    }
    for (size_t step; p < end; p += step != 0 ? step : 1) {
        size_t at = (size_t)(p - w->line);

        f->lead += at < w->from;
        f->width += at >= w->from && at < w->to;
        step = mortise_utf8_decode(p, end, &c);
        if (step != 0 && !mortise_utf8_is_hidden(c))
            mortise_buf_put(b, p, step);
        else
            mortise_buf_puts(b, step != 0 && c == '\t' ? " " : "?");
    }
    if (w->end < w->len)
        mortise_buf_puts(b, "...");
}

static void keep_source(struct mortise_diags *d, struct mortise_diag *f,
                        const struct mortise_source_file *file)
{
    struct window w = {0};
    struct mortise_buf b;
    size_t end;

    if (f->span.line == 0 || f->span.line > file->n_lines)
        return;
    w.line = file->text + file->line_at[f->span.line - 1];
    end =
        f->span.line < file->n_lines ? file->line_at[f->span.line] : file->size;
    w.len = end - file->line_at[f->span.line - 1];
    while (w.len > 0 &&
           (w.line[w.len - 1] == '\n' || w.line[w.len - 1] == '\r'))
        w.len--;
    choose_window(&w, f->span);
    mortise_buf_init(&b, d->arena.mem);
    put_window(&b, &w, f);
    if (b.n > 0 && !b.failed)
        f->source = mortise_arena_strndup(&d->arena, b.p, b.n);
    d->failed |= b.failed || (b.n > 0 && f->source == NULL);
    mortise_buf_finish(&b);
}

/* Consecutive findings are often about one file, and share the copy of its
 * path. */
static void keep_path(struct mortise_diags *d, struct mortise_diag *f,
                      const char *path)
{
    const char *last = d->n > 0 ? d->list[d->n - 1].path : NULL;

    if (last != NULL && strcmp(last, path) == 0)
        f->path = last;
    else
        f->path = copy_clean(d, path);
}

/* ---- collecting ------------------------------------------------------ */

static struct mortise_diag *reserve_diag(struct mortise_diags *d)
{
    struct mortise_diag *list = mortise_array_grow(d->arena.mem, d->list, d->n,
                                                   &d->cap, sizeof *d->list);

    if (list == NULL) {
        d->failed = true;
        return NULL;
    }
    d->list = list;
    return &list[d->n];
}

/* Count the finding.  Is it one of those that are kept? */
static bool count_diag(struct mortise_diags *d, enum mortise_severity severity)
{
    size_t *n = severity == MORTISE_ERROR ? &d->n_errors : &d->n_warnings;

    return ++*n <= MORTISE_DIAGS_MAX;
}

static size_t get_excess(size_t n)
{
    return n > MORTISE_DIAGS_MAX ? n - MORTISE_DIAGS_MAX : 0;
}

size_t mortise_diags_count_lost_errors(const struct mortise_diags *d)
{
    return get_excess(d->n_errors);
}

size_t mortise_diags_count_lost(const struct mortise_diags *d)
{
    return get_excess(d->n_errors) + get_excess(d->n_warnings);
}

struct mortise_diag *mortise_diag_add(struct mortise_diags *d, const char *code,
                                      struct mortise_span span, const char *fmt,
                                      ...)
{
    struct mortise_diag f = {.code = code, .span = span}, *at;
    va_list ap;

    f.severity = code[0] == 'W' ? MORTISE_WARNING : MORTISE_ERROR;
    if (!count_diag(d, f.severity))
        return NULL;
    va_start(ap, fmt);
    f.message = format_words(d, fmt, ap);
    va_end(ap);
    at = reserve_diag(d);
    if (f.message == NULL || at == NULL)
        return NULL;
    if (span.file != NULL) {
        keep_path(d, &f, span.file->path);
        keep_source(d, &f, span.file);
    }
    f.span.file = NULL;
    *at = f;
    d->n++;
    return at;
}

void mortise_diags_set_reason(struct mortise_diags *d,
                              const struct mortise_err *why)
{
    d->denied |= why->code == MORTISE_EDENIED;
    if (why->code == MORTISE_ELIMIT && d->short_of == NULL)
        d->short_of = copy_clean(d, why->msg);
}

int mortise_diags_result(const struct mortise_diags *d)
{
    return d->short_of != NULL ? MORTISE_ELIMIT
           : d->denied         ? MORTISE_EDENIED
                               : MORTISE_ECHECK;
}

void mortise_diag_help(struct mortise_diags *d, struct mortise_diag *diag,
                       const char *fmt, ...)
{
    va_list ap;

    if (diag == NULL)
        return;
    va_start(ap, fmt);
    diag->help = format_words(d, fmt, ap);
    va_end(ap);
}

/* ---- printing -------------------------------------------------------- */

static int compare_positions(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int compare_text(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "");
}

static int compare_diags(const void *pa, const void *pb)
{
    const struct mortise_diag *a = pa, *b = pb;
    int c = compare_text(a->path, b->path);

    if (c == 0)
        c = compare_positions(a->span.line, b->span.line);
    if (c == 0)
        c = compare_positions(a->span.col, b->span.col);
    if (c == 0)
        c = strcmp(a->code, b->code);
    return c != 0 ? c : strcmp(a->message, b->message);
}

/* An alias is read at each use, and so is a mistake in it.  Show it once. */
void mortise_diags_sort(struct mortise_diags *d)
{
    size_t kept = 0;

    if (d->n == 0)
        return;
    qsort(d->list, d->n, sizeof *d->list, compare_diags);
    for (size_t i = 1; i < d->n; i++)
        if (compare_diags(&d->list[kept], &d->list[i]) != 0)
            d->list[++kept] = d->list[i];
    d->n = kept + 1;
}

static const char *severity_name(enum mortise_severity s)
{
    return s == MORTISE_WARNING ? "warning" : "error";
}

static void put_source_line(struct mortise_buf *b, const struct mortise_diag *f)
{
    uint32_t width = f->width != 0 ? f->width : 1;
    size_t start = b->n, margin;

    mortise_buf_printf(b, "%5u", f->span.line);
    margin = b->n - start;
    mortise_buf_printf(b, " | %s\n", f->source);
    mortise_buf_printf(b, "%*s | %*s", (int)margin, "", (int)f->lead, "");
    for (uint32_t i = 0; i < width; i++)
        mortise_buf_put(b, "^", 1);
    mortise_buf_put(b, "\n", 1);
}

static void put_diag_text(struct mortise_buf *b, const struct mortise_diag *f)
{
    if (f->path != NULL)
        mortise_buf_printf(b, "%s:%u:%u: ", f->path, f->span.line, f->span.col);
    mortise_buf_printf(b, "%s[%s]: %s\n", severity_name(f->severity), f->code,
                       f->message);
    if (f->source != NULL)
        put_source_line(b, f);
    if (f->help != NULL)
        mortise_buf_printf(b, "help: %s\n", f->help);
}

void mortise_diags_format(struct mortise_diags *d, struct mortise_buf *b)
{
    mortise_diags_sort(d);
    for (size_t i = 0; i < d->n; i++)
        put_diag_text(b, &d->list[i]);
    if (mortise_diags_count_lost(d) > 0)
        mortise_buf_printf(b, "%zu more findings are not shown\n",
                           mortise_diags_count_lost(d));
    if (d->failed)
        mortise_buf_puts(b, "error: out of memory: findings are missing\n");
}

static json_t *diag_to_json(const struct mortise_diag *f)
{
    return json_pack(
        "{s:s?,s:I,s:I,s:I,s:I,s:s,s:s,s:s,s:s?}", "path", f->path, "line",
        (json_int_t)f->span.line, "col", (json_int_t)f->span.col, "end_line",
        (json_int_t)f->span.end_line, "end_col", (json_int_t)f->span.end_col,
        "severity", severity_name(f->severity), "code", f->code, "message",
        f->message, "help", f->help);
}

void mortise_diags_json(struct mortise_diags *d, struct mortise_buf *b)
{
    mortise_diags_sort(d);
    mortise_buf_puts(b, "{\"findings\":[");
    for (size_t i = 0; i < d->n; i++) {
        json_t *one = diag_to_json(&d->list[i]);

        if (i > 0)
            mortise_buf_puts(b, ",");
        if (one == NULL || mortise_json_write(b, one) != MORTISE_OK)
            b->failed = true;
        json_decref(one);
    }
    mortise_buf_puts(b, "]");
    if (mortise_diags_count_lost(d) > 0)
        mortise_buf_printf(b, ",\"left_out\":%zu", mortise_diags_count_lost(d));
    mortise_buf_puts(b, "}");
}
