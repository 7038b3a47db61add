/* pairs.c -- the surrogate pairs of JSON, in a form that YAML can read.
 *
 * Programs that write only ASCII write "\ud83d\ude00" for a character beyond
 * U+FFFF. libyaml refuses each half.  So a pair between double quotes is
 * changed to "\U0001f600" before libyaml reads the text.
 *
 *   (1) Only escapes between double quotes change.  In a plain scalar, a block,
 *       a comment or single quotes the same characters are text. libyaml's
 *       scanner finds the double-quoted strings.  It reads a copy in which
 *       other escapes replace the halves, so that it accepts all of them and
 *       all positions are the same.  The parser refuses a half that remains.
 *   (2) A pair becomes two characters shorter.  The position of each pair is
 *       kept, so that positions can be converted to those of the file.
 */
#include "lang/yaml/text.h"

#include <stdio.h>
#include <string.h>

#include <yaml.h>

#include "core/base/digit.h"
#include "core/base/utf8.h"

enum { PAIR = 12, ESCAPE = 10 };

/* The 16 bits of the \uXXXX at p, or 0. */
static uint32_t read_half(const char *p, const char *end)
{
    uint32_t v = 0;

    if (end - p < PAIR / 2 || p[0] != '\\' || p[1] != 'u')
        return 0;
    for (int i = 2; i < PAIR / 2; i++) {
        unsigned d = mortise_digit_get_value(p[i]);

        if (d == MORTISE_NO_DIGIT)
            return 0;
        v = v << 4 | d;
    }
    return v;
}

uint32_t mortise_text_decode_pair(const char *p, const char *end)
{
    uint32_t high = read_half(p, end), low = 0;

    if (high >= 0xD800 && high < 0xDC00)
        low = read_half(p + PAIR / 2, end);
    if (low < 0xDC00 || low >= 0xE000)
        return 0;
    return 0x10000 + ((high - 0xD800) << 10 | (low - 0xDC00));
}

/* Make a copy in which each half of a pair, anywhere, is "\u0041".  Returns the
 * number of halves. */
static size_t hide_halves(char *to, const char *p, const char *end)
{
    size_t n_halves = 0;

    while (p < end) {
        uint32_t c = read_half(p, end);
        bool hides = c >= 0xD800 && c < 0xE000;
        size_t n = hides ? PAIR / 2 : 1;

        memcpy(to, hides ? "\\u0041" : p, n);
        n_halves += hides;
        to += n;
        p += n;
    }
    return n_halves;
}

/* The state of rewriting the text. */
struct rewriting {
    const char *p, *end; /* the part that has not been read */
    size_t at;           /* characters of the file before it */
    char *to;
    uint32_t index; /* characters that were written */
    uint32_t *pairs;
    size_t n_pairs;
};

static void copy_character(struct rewriting *w)
{
    uint32_t c;
    size_t n = mortise_utf8_decode(w->p, w->end, &c);

    memcpy(w->to, w->p, n);
    w->to += n;
    w->p += n;
    w->at++;
    w->index++;
}

/* Copy up to the character `until` of the file. */
static void copy_plain(struct rewriting *w, size_t until)
{
    while (w->at < until && w->p < w->end)
        copy_character(w);
}

/* The same for a string: its pairs become escapes.  An escaped backslash does
 * not begin a pair. */
static void copy_string(struct rewriting *w, size_t until)
{
    while (w->at < until && w->p < w->end) {
        uint32_t c = mortise_text_decode_pair(w->p, w->end);
        char escape[ESCAPE + 1];

        if (c == 0) {
            bool escaped = *w->p == '\\';

            copy_character(w);
            if (escaped && w->p < w->end)
                copy_character(w);
            continue;
        }
        snprintf(escape, sizeof escape, "\\U%08x", (unsigned)c);
        memcpy(w->to, escape, ESCAPE);
        w->to += ESCAPE;
        w->p += PAIR;
        w->at += PAIR;
        w->pairs[w->n_pairs++] = w->index;
        w->index += ESCAPE;
    }
}

/* Rewrite all strings that the scanner finds.  The parser refuses text that the
 * scanner does not understand. */
static int rewrite_pairs(struct rewriting *w, const char *hidden, size_t n)
{
    yaml_parser_t parser;
    yaml_token_t token;
    bool more = true;
    int rv;

    if (!yaml_parser_initialize(&parser))
        return MORTISE_ENOMEM;
    yaml_parser_set_input_string(&parser, (const unsigned char *)hidden, n);
    while (more && yaml_parser_scan(&parser, &token)) {
        if (token.type == YAML_SCALAR_TOKEN &&
            token.data.scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE) {
            copy_plain(w, token.start_mark.index + 1);
            copy_string(w, token.end_mark.index);
        }
        more = token.type != YAML_STREAM_END_TOKEN;
        yaml_token_delete(&token);
    }
    rv = parser.error == YAML_MEMORY_ERROR ? MORTISE_ENOMEM : MORTISE_OK;
    yaml_parser_delete(&parser);
    copy_plain(w, SIZE_MAX);
    return rv;
}

int mortise_text_make_pairs(struct mortise_text *t, struct mortise_arena *a)
{
    const struct mortise_source_file *f = t->file;
    struct rewriting w = {.p = f->text, .end = f->text + f->size};
    char *hidden, *read;
    size_t n;
    int rv;

    t->read = f->text;
    t->n_read = f->size;
    if (memmem(f->text, f->size, "\\u", 2) == NULL)
        return MORTISE_OK;
    hidden = mortise_arena_alloc(a, f->size);
    read = mortise_arena_alloc(a, f->size + 1);
    if (hidden == NULL || read == NULL)
        return MORTISE_ENOMEM;
    n = hide_halves(hidden, w.p, w.end);
    if (n == 0)
        return MORTISE_OK;
    w.to = read;
    w.pairs = mortise_arena_alloc(a, n * sizeof *w.pairs);
    rv = w.pairs != NULL ? rewrite_pairs(&w, hidden, f->size) : MORTISE_ENOMEM;
    if (rv != MORTISE_OK || w.n_pairs == 0)
        return rv;
    t->pairs = w.pairs;
    t->n_pairs = w.n_pairs;
    t->read = read;
    t->n_read = (size_t)(w.to - read);
    return MORTISE_OK;
}

size_t mortise_text_file_index(const struct mortise_text *t, size_t index)
{
    size_t low = 0, high = t->n_pairs;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (t->pairs[mid] + ESCAPE <= index)
            low = mid + 1;
        else
            high = mid;
    }
    return index + low * (PAIR - ESCAPE);
}
