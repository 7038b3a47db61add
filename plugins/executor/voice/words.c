/* words.c -- words in what was said.
 *
 * A recogniser writes as it likes: with capitals and signs or without, "good bye"
 * or "goodbye".  So letters of ASCII are compared without their case, signs of
 * ASCII are as blanks, and a phrase is found where it begins at a word's
 * beginning, ends at a word's end, and has the same letters in between, wherever
 * the blanks are.
 *
 * Whether a sentence is finished is guessed by its last word, of English: one
 * that asks for another (and, the, to ...), or by which somebody holds his turn
 * (um).  Sentences that end in one of them all the same are answered a second
 * later; nothing is lost. */
#include "words.h"

#include <string.h>

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || (c & 0x80) != 0;
}

static char small(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* "don't" is one word. */
static int is_of_word(mortise_str s, uint64_t i)
{
    return is_letter(s.p[i]) ||
           (s.p[i] == '\'' && i > 0 && i + 1 < s.n && is_letter(s.p[i - 1]) &&
            is_letter(s.p[i + 1]));
}

static uint64_t skip(mortise_str s, uint64_t i)
{
    while (i < s.n && !is_of_word(s, i))
        i++;
    return i;
}

/* Does the phrase stand at that place, with a word's end behind? */
static int stands_at(mortise_str text, uint64_t i, mortise_str phrase)
{
    uint64_t k = skip(phrase, 0);

    while (k < phrase.n) {
        i = skip(text, i);
        if (i == text.n || small(text.p[i]) != small(phrase.p[k]))
            return 0;
        i++;
        k = skip(phrase, k + 1);
    }
    return i == text.n || !is_of_word(text, i);
}

int words_have(mortise_str text, mortise_str phrase)
{
    if (skip(phrase, 0) == phrase.n)
        return 0; /* nothing is no word */
    for (uint64_t i = skip(text, 0); i < text.n; i = skip(text, i)) {
        if (stands_at(text, i, phrase))
            return 1;
        while (i < text.n && is_of_word(text, i))
            i++;
    }
    return 0;
}

static int is_word(mortise_str text, uint64_t from, uint64_t to,
                   const char *word)
{
    const size_t n = strlen(word);

    if (to - from != n)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (small(text.p[from + i]) != word[i])
            return 0;
    return 1;
}

int words_are_unfinished(mortise_str text)
{
    static const char *const open[] = {
        "a",    "an",   "and",  "are",   "as",    "at",   "because", "but",
        "by",   "er",   "for",  "from",  "hm",    "if",   "in",      "into",
        "is",   "like", "my",   "of",    "on",    "or",   "our",     "so",
        "than", "that", "the",  "their", "then",  "to",   "uh",      "um",
        "was",  "well", "were", "when",  "which", "with", "would",   "your"};
    uint64_t to = text.n, from;

    while (to > 0 && !is_of_word(text, to - 1)) {
        const char c = text.p[--to];

        if (c == '.' || c == '?' || c == '!')
            return to >= 2 && text.p[to - 1] == '.'; /* "so ..." */
        if (c == ',' || c == ':' || c == '-')
            return 1;
    }
    from = to;
    while (from > 0 && is_of_word(text, from - 1))
        from--;
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++)
        if (is_word(text, from, to, open[i]))
            return 1;
    return to == 0; /* nothing was understood yet */
}

uint64_t words_piece(mortise_str text, uint64_t max)
{
    uint64_t sentence = 0, word = 0;

    if (text.n <= max)
        return text.n;
    for (uint64_t i = 1; i <= max; i++) {
        const char before = text.p[i - 1];

        if (text.p[i] != ' ' && text.p[i] != '\n')
            continue;
        word = i;
        if (before == '.' || before == '!' || before == '?' || before == ';')
            sentence = i;
    }
    if (sentence > 0 || word > 0)
        return sentence > 0 ? sentence : word;
    while (max > 1 && ((unsigned char)text.p[max] & 0xc0) == 0x80)
        max--; /* no character is cut */
    return max;
}
