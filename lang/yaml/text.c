/* text.c -- the text of a file: its permitted characters, and positions.
 *
 * This module refuses everything that two readers of a file could interpret
 * differently, before libyaml reads it: bytes that are not UTF-8, a byte order
 * mark, control characters, and the three line breaks that YAML 1.1 has and 1.2
 * has not (NEL, LS, PS).  The rest has one meaning: lines end with LF, CRLF or
 * CR.
 *
 * libyaml counts characters, perhaps of a copy (pairs.c).  Editors and our
 * spans count bytes of the file.  Only mortise_text_offset() converts: it knows
 * the offset of every STRIDE-th character, and counts from there.
 */
#include "lang/yaml/text.h"

#include <string.h>

#include "core/base/infile.h"
#include "core/base/utf8.h"

enum { STRIDE = 256 }; /* characters between two known offsets */

/* ---- positions ------------------------------------------------------- */

size_t mortise_text_offset(const struct mortise_text *t, size_t index)
{
    const char *text = t->file->text;
    size_t at, left;

    index = mortise_text_file_index(t, index);
    if (t->strides == NULL)
        return index < t->file->size ? index : t->file->size;
    at = t->strides[index / STRIDE];
    for (left = index % STRIDE; left > 0 && at < t->file->size; left--)
        do
            at++;
        while (((unsigned char)text[at] & 0xC0) == 0x80);
    return at;
}

/* The line that contains an offset, from 0. */
static size_t find_file_line(const struct mortise_source_file *f, size_t offset)
{
    size_t low = 0, high = f->n_lines;

    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;

        if (f->line_at[mid] <= offset)
            low = mid;
        else
            high = mid;
    }
    return low;
}

struct mortise_span mortise_text_span(const struct mortise_text *t, size_t from,
                                      size_t to)
{
    const struct mortise_source_file *f = t->file;
    size_t first = find_file_line(f, from), last = first;

    if (first + 1 < f->n_lines && to >= f->line_at[first + 1])
        last = find_file_line(f, to);
    return (struct mortise_span){
        .file = f,
        .line = (uint32_t)first + 1,
        .col = (uint32_t)(from - f->line_at[first]) + 1,
        .end_line = (uint32_t)last + 1,
        .end_col = (uint32_t)(to - f->line_at[last]) + 1,
    };
}

/* ---- checking -------------------------------------------------------- */

static bool is_line_end(const char *p)
{
    return *p == '\n' || (*p == '\r' && p[1] != '\n');
}

/* The beginning of the next line; SIZE_MAX: none. */
static size_t find_next_line(const struct mortise_source_file *f, size_t at)
{
    while (at < f->size) {
        at += strcspn(f->text + at, "\n\r"); /* or to a NUL */
        if (at < f->size && is_line_end(f->text + at++))
            return at;
    }
    return SIZE_MAX;
}

static int find_lines(struct mortise_arena *a, struct mortise_source_file *f)
{
    size_t n = 1;
    uint32_t *at;

    for (size_t i = find_next_line(f, 0); i != SIZE_MAX;
         i = find_next_line(f, i))
        n++;
    at = mortise_arena_alloc(a, n * sizeof *at);
    if (at == NULL)
        return MORTISE_ENOMEM;
    f->line_at = at;
    f->n_lines = n;
    for (size_t i = find_next_line(f, 0); i != SIZE_MAX;
         i = find_next_line(f, i))
        *++at = (uint32_t)i;
    return MORTISE_OK;
}

/* The reason why a file must not contain a character; NULL: it may. */
static const char *get_refusal(uint32_t c)
{
    if (c == 0xFEFF)
        return "a byte order mark";
    if (c == 0x85 || c == 0x2028 || c == 0x2029)
        return "a Unicode line break";
    if (c == 0)
        return "a NUL byte";
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') ||
        (c >= 0x7F && c < 0xA0) || c == 0xFFFE || c == 0xFFFF)
        return "a control character";
    return NULL;
}

static int refuse_char(const struct mortise_text *t, size_t at, size_t len,
                       uint32_t c, struct mortise_diags *diags)
{
    struct mortise_span span =
        mortise_text_span(t, at, at + (len != 0 ? len : 1));
    struct mortise_diag *d;

    if (len == 0) {
        d = mortise_diag_add(diags, "E0104", span,
                             "this byte is not valid UTF-8");
        mortise_diag_help(diags, d, "save the file as UTF-8");
    } else if (c == 0xFEFF && at == 0) {
        d = mortise_diag_add(diags, "E0105", span,
                             "the file starts with a byte order mark");
        mortise_diag_help(diags, d, "save it as UTF-8 without BOM");
    } else {
        d = mortise_diag_add(diags, "E0104", span,
                             "a file cannot contain %s (U+%04X)",
                             get_refusal(c), (unsigned)c);
        mortise_diag_help(diags, d, "write it as \\u%04x, inside double quotes",
                          (unsigned)c);
    }
    return MORTISE_ECHECK;
}

/* Allocate the offsets of every STRIDE-th character, if some have several
 * bytes. */
static int make_strides(struct mortise_text *t, struct mortise_arena *a)
{
    size_t size = t->file->size;

    if (mortise_utf8_count(t->file->text, size) == size)
        return MORTISE_OK;
    t->strides =
        mortise_arena_alloc(a, (size / STRIDE + 2) * sizeof *t->strides);
    return t->strides != NULL ? MORTISE_OK : MORTISE_ENOMEM;
}

/* The number of leading bytes that are permitted and are one character each. */
static size_t count_plain_bytes(const char *p, const char *end)
{
    const char *from = p;

    while (p < end && ((*p >= 0x20 && *p < 0x7F) || *p == '\n'))
        p++;
    return (size_t)(p - from);
}

static int check_characters(struct mortise_text *t, struct mortise_diags *diags)
{
    const char *text = t->file->text, *end = text + t->file->size;
    size_t index = 0;
    uint32_t c = 0;

    for (const char *p = text; p < end; index++) {
        size_t n = t->strides == NULL ? count_plain_bytes(p, end) : 0;

        if (n > 0) {
            p += n;
            continue;
        }
        size_t len = mortise_utf8_decode(p, end, &c);

        if (len == 0 || get_refusal(c) != NULL)
            return refuse_char(t, (size_t)(p - text), len, c, diags);
        if (t->strides != NULL && index % STRIDE == 0)
            t->strides[index / STRIDE] = (uint32_t)(p - text);
        p += len;
    }
    if (t->strides != NULL && index % STRIDE == 0)
        t->strides[index / STRIDE] = (uint32_t)t->file->size;
    return MORTISE_OK;
}

/* ---- opening --------------------------------------------------------- */

static struct mortise_source_file *
new_file(struct mortise_arena *a, const char *path, const char *text, size_t n)
{
    static const uint32_t one_line[] = {0};
    struct mortise_source_file *f = mortise_arena_alloc(a, sizeof *f);

    if (f == NULL)
        return NULL;
    f->path = mortise_arena_strdup(a, path);
    f->text = mortise_arena_strndup(a, text, n);
    f->size = n;
    f->line_at = one_line;
    f->n_lines = 1;
    return f->path != NULL && f->text != NULL ? f : NULL;
}

int mortise_text_set_path(struct mortise_text *out, struct mortise_arena *a,
                          const char *path)
{
    *out = (struct mortise_text){.file = new_file(a, path, "", 0)};
    return out->file != NULL ? MORTISE_OK : MORTISE_ENOMEM;
}

int mortise_text_open(struct mortise_text *out, struct mortise_arena *a,
                      const char *path, const char *text, size_t n,
                      struct mortise_diags *diags)
{
    int rv = mortise_text_set_path(out, a, path);

    if (rv == MORTISE_OK && n > MORTISE_INFILE_MAX) {
        mortise_diag_add(diags, "E0102", mortise_text_span(out, 0, 0),
                         "the file is larger than %d MiB",
                         MORTISE_INFILE_MAX >> 20);
        return MORTISE_ECHECK;
    }
    if (rv == MORTISE_OK)
        out->file = new_file(a, path, text, n);
    if (out->file == NULL || find_lines(a, out->file) != MORTISE_OK ||
        make_strides(out, a) != MORTISE_OK)
        return MORTISE_ENOMEM;
    rv = check_characters(out, diags);
    return rv == MORTISE_OK ? mortise_text_make_pairs(out, a) : rv;
}
