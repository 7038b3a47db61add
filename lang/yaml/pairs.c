/* pairs.c -- the surrogate pairs of JSON, as YAML can read them.
 *
 * Programs that write ASCII alone have "\ud83d\ude00" for a character beyond
 * U+FFFF, and libyaml refuses each half.  So a pair between double quotes becomes
 * "\U0001f600" before libyaml sees it.
 *
 *   (1) Nothing but escapes between double quotes changes: in a plain scalar, a
 *       block, a comment or single quotes the same letters are a text.  libyaml's
 *       scanner says what stands between double quotes: of a copy in which other
 *       escapes stand for the halves, so that it refuses none and places are the
 *       same.  The parser refuses a half that is left.
 *   (2) A pair loses two characters; where each was is kept, so that places are
 *       those of the file.
 */
#include "lang/yaml/text.h"

#include <stdio.h>
#include <string.h>

#include <yaml.h>

#include "core/base/digit.h"
#include "core/base/utf8.h"

enum { PAIR = 12, ESCAPE = 10 };

/* The 16 bits of the \uXXXX at p, or 0. */
static uint32_t half(const char *p, const char *end)
{
    uint32_t v = 0;

    if (end - p < PAIR / 2 || p[0] != '\\' || p[1] != 'u')
        return 0;
    for (int i = 2; i < PAIR / 2; i++) {
        unsigned d = mortise_digit(p[i]);

        if (d == MORTISE_NO_DIGIT)
            return 0;
        v = v << 4 | d;
    }
    return v;
}

uint32_t mortise_text_pair(const char *p, const char *end)
{
    uint32_t high = half(p, end), low = 0;

    if (high >= 0xD800 && high < 0xDC00)
        low = half(p + PAIR / 2, end);
    if (low < 0xDC00 || low >= 0xE000)
        return 0;
    return 0x10000 + ((high - 0xD800) << 10 | (low - 0xDC00));
}

/* A copy in which each half of a pair, wherever it stands, is made "\u0041"; how
 * many there are. */
static size_t hide_halves(char *to, const char *p, const char *end)
{
    size_t n_halves = 0;

    while (p < end) {
        uint32_t c = half(p, end);
        bool hides = c >= 0xD800 && c < 0xE000;
        size_t n = hides ? PAIR / 2 : 1;

        memcpy(to, hides ? "\\u0041" : p, n);
        n_halves += hides;
        to += n;
        p += n;
    }
    return n_halves;
}

/* The text, as it is written anew. */
struct rewriting {
    const char *p, *end; /* what was not read yet */
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

/* What stands before the character `until` of the file. */
static void copy_plain(struct rewriting *w, size_t until)
{
    while (w->at < until && w->p < w->end)
        copy_character(w);
}

/* The same, of a string: its pairs become escapes, and what is behind another
 * backslash begins none. */
static void copy_string(struct rewriting *w, size_t until)
{
    while (w->at < until && w->p < w->end) {
        uint32_t c = mortise_text_pair(w->p, w->end);
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

/* All strings that the scanner finds; what it does not understand is for the
 * parser to refuse. */
static int rewrite(struct rewriting *w, const char *hidden, size_t n)
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

int mortise_text_pairs(struct mortise_text *t, struct mortise_arena *a)
{
    const struct mortise_yaml_file *f = t->file;
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
    rv = w.pairs != NULL ? rewrite(&w, hidden, f->size) : MORTISE_ENOMEM;
    if (rv != MORTISE_OK || w.n_pairs == 0)
        return rv;
    t->pairs = w.pairs;
    t->n_pairs = w.n_pairs;
    t->read = read;
    t->n_read = (size_t)(w.to - read);
    return MORTISE_OK;
}

size_t mortise_text_unpaired(const struct mortise_text *t, size_t index)
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
