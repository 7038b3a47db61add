/* corpus.c -- see corpus.h. */
#include "lib/corpus.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { OTHER = -1 }; /* a mark: of another kind */

/* Where the mark ends that begins at `at` with "<<word:"; NULL: none does. */
static const char *mark_end(const char *at, const char *end,
                            const char **content)
{
    const char *p = at + 2;

    if (end - at < 4 || memcmp(at, "<<", 2) != 0)
        return NULL;
    while (p < end && islower((unsigned char)*p))
        p++;
    if (p == at + 2 || p == end || *p != ':')
        return NULL;
    *content = ++p;
    for (; end - p >= 2; p++)
        if (memcmp(p, ">>", 2) == 0)
            return p;
    return NULL;
}

static bool is_kind(const char *at, const char *kind)
{
    return kind == NULL || (strncmp(at + 2, kind, strlen(kind)) == 0 &&
                            at[2 + strlen(kind)] == ':');
}

char *corpus_line(const char *line, size_t n, const char *kind,
                  signed char **marks)
{
    char *text = calloc(1, n + 1), *out = text;
    const char *p = line, *end = line + n;
    signed char number = 0;

    *marks = calloc(1, n + 1);
    while (p < end) {
        const char *content, *close = mark_end(p, end, &content);

        if (close == NULL) {
            *out++ = *p++;
            continue;
        }
        memset(*marks + (out - text), is_kind(p, kind) ? ++number : OTHER,
               (size_t)(close - content));
        memcpy(out, content, (size_t)(close - content));
        out += close - content;
        p = close + 2;
    }
    return text;
}

/* Does it count, or does it only stand between groups? */
static bool counts(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* Characters of one byte: the first of each, in place. */
static void squash(char *text, signed char *marks)
{
    size_t to = 0;

    for (size_t i = 0; text[i] != '\0'; i++)
        if (((unsigned char)text[i] & 0xC0) != 0x80) {
            text[to] = text[i];
            if (marks != NULL)
                marks[to] = marks[i];
            to++;
        }
    text[to] = '\0';
}

void corpus_judge(char *text, signed char *marks, char *masked,
                  struct corpus_count *c)
{
    size_t n;
    signed char most = 0;

    squash(text, marks);
    squash(masked, NULL);
    n = strlen(text);
    if (strlen(masked) != n) { /* it did more than mask */
        c->wrong++;
        return;
    }
    for (size_t i = 0; i < n; i++)
        most = marks[i] > most ? marks[i] : most;
    for (signed char k = 1; k <= most; k++) {
        bool whole = true;

        for (size_t i = 0; i < n; i++)
            if (marks[i] == k && counts(text[i]) && masked[i] == text[i])
                whole = false;
        c->right += whole;
        c->missed += !whole;
    }
    for (size_t i = 0; i < n; i++) /* a run of stars where nothing is */
        if (masked[i] != text[i] && marks[i] == 0) {
            c->wrong++;
            while (i + 1 < n &&
                   (masked[i + 1] != text[i + 1] || !counts(text[i + 1])))
                i++;
        }
}

double corpus_precision(const struct corpus_count *c)
{
    const unsigned found = c->right + c->wrong;

    return found > 0 ? (double)c->right / found : 1;
}

double corpus_recall(const struct corpus_count *c)
{
    const unsigned all = c->right + c->missed;

    return all > 0 ? (double)c->right / all : 1;
}
