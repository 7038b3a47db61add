/* iban.c -- international bank account numbers (ISO 13616).
 *
 * Written in one piece or in groups of four; the length is that of the country
 * in the registry, and the check digits are right (ISO 7064, MOD 97-10). */
#include "find.h"

#include <string.h>

/* The registry, release 99: countries and characters. */
static const struct {
    char country[3];
    unsigned char length;
} registry[] = {
    {"AD", 24}, {"AE", 23}, {"AL", 28}, {"AT", 20}, {"AZ", 28}, {"BA", 20},
    {"BE", 16}, {"BG", 22}, {"BH", 22}, {"BI", 27}, {"BR", 29}, {"BY", 28},
    {"CH", 21}, {"CR", 22}, {"CY", 28}, {"CZ", 24}, {"DE", 22}, {"DJ", 27},
    {"DK", 18}, {"DO", 28}, {"EE", 20}, {"EG", 29}, {"ES", 24}, {"FI", 18},
    {"FK", 18}, {"FO", 18}, {"FR", 27}, {"GB", 22}, {"GE", 22}, {"GI", 23},
    {"GL", 18}, {"GR", 27}, {"GT", 28}, {"HN", 28}, {"HR", 21}, {"HU", 28},
    {"IE", 22}, {"IL", 23}, {"IQ", 23}, {"IS", 26}, {"IT", 27}, {"JO", 30},
    {"KW", 30}, {"KZ", 20}, {"LB", 28}, {"LC", 32}, {"LI", 21}, {"LT", 20},
    {"LU", 20}, {"LV", 21}, {"LY", 25}, {"MC", 27}, {"MD", 24}, {"ME", 22},
    {"MK", 19}, {"MN", 20}, {"MR", 27}, {"MT", 31}, {"MU", 30}, {"NI", 28},
    {"NL", 18}, {"NO", 15}, {"OM", 23}, {"PK", 24}, {"PL", 28}, {"PS", 29},
    {"PT", 25}, {"QA", 29}, {"RO", 24}, {"RS", 22}, {"RU", 33}, {"SA", 24},
    {"SC", 31}, {"SD", 18}, {"SE", 24}, {"SI", 19}, {"SK", 24}, {"SM", 27},
    {"SO", 23}, {"ST", 25}, {"SV", 28}, {"TL", 23}, {"TN", 24}, {"TR", 26},
    {"UA", 29}, {"VA", 22}, {"VG", 24}, {"XK", 20}, {"YE", 30},
};

static unsigned length_of(char a, char b)
{
    for (size_t i = 0; i < sizeof registry / sizeof *registry; i++)
        if (registry[i].country[0] == a && registry[i].country[1] == b)
            return registry[i].length;
    return 0;
}

static unsigned fold(unsigned sum, char c)
{
    if (ascii_digit(c))
        return (sum * 10 + (unsigned)(c - '0')) % 97;
    return (sum * 100 + (unsigned)(ascii_upper(c) - 'A') + 10) % 97;
}

/* The check is over the account first, and the first four characters then. */
static bool is_right(const char *text, unsigned n)
{
    unsigned sum = 0;

    for (unsigned i = 4; i < n; i++)
        sum = fold(sum, text[i]);
    for (unsigned i = 0; i < 4; i++)
        sum = fold(sum, text[i]);
    return sum == 1;
}

/* Where it ends, of `n` characters, that begins at `from`; 0: it is none. */
static uint64_t end_of(mortise_str s, uint64_t from, unsigned n)
{
    const bool grouped = blank_at(s, from + 4) > 0;
    uint64_t at = from;
    char text[34];

    for (unsigned i = 0; i < n; i++) {
        if (grouped && i > 0 && i % 4 == 0) {
            const uint64_t blank = blank_at(s, at);

            if (blank == 0)
                return 0;
            at += blank;
        }
        if (!ascii_alnum(at_of(s, at)))
            return 0;
        text[i] = s.p[at++];
    }
    return !is_word(at_of(s, at)) && is_right(text, n) ? at : 0;
}

bool find_iban(mortise_str s, uint64_t at, struct span *out)
{
    for (uint64_t i = at; i + 4 < s.n; i++) {
        unsigned n;

        if (!ascii_digit(s.p[i + 2])) {
            i += ascii_digit(s.p[i + 3]) ? 0 : 1; /* none begins at the next */
            continue;
        }
        if (!ascii_digit(s.p[i + 3]) || is_word(before(s, i)))
            continue;
        n = length_of(ascii_upper(s.p[i]), ascii_upper(s.p[i + 1]));
        out->from = i;
        out->to = n > 0 ? end_of(s, i, n) : 0;
        if (out->to > 0)
            return true;
    }
    return false;
}
