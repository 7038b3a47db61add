/* pairs.c -- the surrogate pairs of JSON, as YAML can read them.
 *
 * JSON is YAML but for this: programs that write ASCII alone have "\ud83d\ude00"
 * for a character beyond U+FFFF, and libyaml refuses each half.  So in a file
 * that is JSON a pair becomes "\U0001f600" before libyaml sees it.
 *
 *   (1) Nothing but escapes between double quotes changes: where anything
 *       stands that JSON has not (a plain scalar, a comment, single quotes),
 *       the text is left as it is, and half a character is an error in it.
 *   (2) A pair loses two characters; where each was is kept, so that places are
 *       those of the file.
 */
#include "yaml/text.h"

#include <stdio.h>
#include <string.h>

#include "base/digit.h"
#include "base/utf8.h"

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

/* Behind the string at p, whose pairs are counted; NULL: it has no end. */
static const char *skip_string(const char *p, const char *end, size_t *n_pairs)
{
    for (p++; p < end && *p != '"';) {
        bool pair = mortise_text_pair(p, end) != 0;

        *n_pairs += pair;
        p += pair ? PAIR : *p == '\\' ? 2 : 1;
    }
    return p < end ? p + 1 : NULL;
}

/* May c stand outside strings, behind `last` (0: nothing)?  More than JSON
 * allows, and little enough that a quote begins a string. */
static bool may_follow(char c, char last)
{
    if (last == '\0')
        return c == '{' || c == '[';
    if (c == '"')
        return strchr("{[,:", last) != NULL;
    if (c == ':')
        return last == '"';
    return c != '\0' && strchr("{}[],0123456789+-.eEtrufalsn", c) != NULL;
}

/* How many pairs the text has, if it is JSON (1). */
static size_t count_pairs(const char *p, const char *end)
{
    size_t n_pairs = 0;
    char last = '\0';

    while (p != NULL && p < end) {
        char c = *p;

        if (strchr(" \t\r\n", c) == NULL || c == '\0') {
            if (!may_follow(c, last))
                return 0;
            last = c;
        }
        p = c == '"' ? skip_string(p, end, &n_pairs) : p + 1;
    }
    return p != NULL ? n_pairs : 0;
}

/* Copy the text with its pairs made escapes.  What begins with a backslash is
 * skipped whole, as above. */
static void rewrite(struct mortise_text *t, char *to, uint32_t *pairs)
{
    const char *p = t->file->text, *end = p + t->file->size;
    char escape[ESCAPE + 1];
    uint32_t index = 0, c;

    for (size_t n = 0; p < end; p += n) {
        c = mortise_text_pair(p, end);
        n = c != 0 ? PAIR : *p == '\\' && p + 1 < end ? 2 : 1;
        if (c != 0) {
            snprintf(escape, sizeof escape, "\\U%08x", (unsigned)c);
            *pairs++ = index;
            memcpy(to, escape, ESCAPE);
        } else {
            memcpy(to, p, n);
        }
        to += c != 0 ? ESCAPE : n;
        index += c != 0 ? ESCAPE : (uint32_t)mortise_utf8_count(p, n);
    }
}

int mortise_text_pairs(struct mortise_text *t, struct mortise_arena *a)
{
    const struct mortise_yaml_file *f = t->file;
    size_t n = count_pairs(f->text, f->text + f->size);
    uint32_t *pairs;
    char *read;

    t->read = f->text;
    t->n_read = f->size;
    if (n == 0)
        return MORTISE_OK;
    pairs = mortise_arena_alloc(a, n * sizeof *pairs);
    read = mortise_arena_alloc(a, f->size - n * (PAIR - ESCAPE) + 1);
    if (pairs == NULL || read == NULL)
        return MORTISE_ENOMEM;
    rewrite(t, read, pairs);
    t->pairs = pairs;
    t->n_pairs = n;
    t->read = read;
    t->n_read = f->size - n * (PAIR - ESCAPE);
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
