/* phone.c -- telephone numbers.
 *
 * Digits alone are no telephone number: too much else is digits.  What is one
 *
 *   +CC ...        with a country code that is given out (ITU-T E.164), 8 to 15
 *                  digits; also 00 instead of the +, with separators
 *   (NXX) NXX-XXXX, NXX-NXX-XXXX, NXX.NXX.XXXX, also behind 1
 *                  as North America writes them; N is 2 to 9
 *   0... with separators
 *                  as most of the world writes its own, 9 to 11 digits
 *   7 to 15 digits behind a word that says so: tel, phone, mobile, call, fax
 */
#include "find.h"

#include <string.h>

enum { DIGITS_MAX = 15, GROUPS_MAX = 8, LENGTH_MAX = 32 };

struct number {
    char digits[DIGITS_MAX];
    unsigned n;
    unsigned char groups[GROUPS_MAX];
    unsigned n_groups;
    char first_sign; /* between the first two groups; '\0': there is one */
    bool mixed;      /* more than one sign between groups */
    uint64_t end;
};

/* ---- reading ------------------------------------------------------------- */

/* How many bytes stand between two groups at `at`, and which sign; 0: no group
 * follows. */
static unsigned gap(mortise_str s, uint64_t at, char *sign)
{
    static const char *const gaps[] = {") ", ")-", " (", "-(", " - ", " / "};
    const char c = at_of(s, at);
    const uint64_t blank = blank_at(s, at);

    if (blank > 0 && ascii_digit(at_of(s, at + blank))) {
        *sign = ' ';
        return (unsigned)blank;
    }
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
        const size_t n = strlen(gaps[i]);

        if (s.n - at > n && memcmp(s.p + at, gaps[i], n) == 0 &&
            ascii_digit(s.p[at + n])) {
            *sign = ' ';
            return (unsigned)n;
        }
    }
    if (c == '\0' || strchr(" -./()", c) == NULL ||
        !ascii_digit(at_of(s, at + 1)))
        return 0;
    *sign = c == '(' || c == ')' ? ' ' : c;
    return 1;
}

/* Groups of digits from `from` on; false: more than a number has. */
static bool read_number(mortise_str s, uint64_t from, struct number *out)
{
    uint64_t at = from;

    *out = (struct number){.end = from};
    while (at - from < LENGTH_MAX) {
        unsigned char n = 0;
        char sign = '\0';
        unsigned between;

        for (; ascii_digit(at_of(s, at)); at++, n++) {
            if (out->n == DIGITS_MAX)
                return false;
            out->digits[out->n++] = s.p[at];
        }
        if (out->n_groups == GROUPS_MAX)
            return false;
        out->groups[out->n_groups++] = n;
        out->end = at;
        between = gap(s, at, &sign);
        if (between == 0)
            return true;
        if (out->first_sign == '\0')
            out->first_sign = sign;
        out->mixed |= sign != out->first_sign;
        at += between;
    }
    return false;
}

/* May a number begin there, and end there? */
static bool stands_alone(mortise_str s, uint64_t from, uint64_t to)
{
    const char ahead = before(s, from), behind = at_of(s, to);

    if (is_word(ahead) || is_word(behind) || ahead == '#' || ahead == '/')
        return false;
    if ((ahead == '.' || ahead == '-' || ahead == ',' || ahead == ':') &&
        from > 1 && ascii_digit(s.p[from - 2]))
        return false;
    return (behind != '.' && behind != '-' && behind != ':' && behind != ',' &&
            behind != '/') ||
           !is_word(at_of(s, to + 1));
}

/* ---- kinds --------------------------------------------------------------- */

/* Codes of one and of two digits, and the tens of those with three. */
static bool is_country(const char *digits, unsigned n)
{
    static const char *const two[] = {
        "20", "27", "30", "31", "32", "33", "34", "36", "39", "40", "41",
        "43", "44", "45", "46", "47", "48", "49", "51", "52", "53", "54",
        "55", "56", "57", "58", "60", "61", "62", "63", "64", "65", "66",
        "81", "82", "84", "86", "90", "91", "92", "93", "94", "95", "98"};
    static const char *const three[] = {
        "21", "22", "23", "24", "25", "26", "29", "35", "37", "38", "42", "50",
        "59", "67", "68", "69", "80", "85", "87", "88", "96", "97", "99"};

    if (n < 3)
        return false;
    if (digits[0] == '1' || digits[0] == '7')
        return true;
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (memcmp(two[i], digits, 2) == 0)
            return true;
    for (size_t i = 0; i < sizeof three / sizeof *three; i++)
        if (memcmp(three[i], digits, 2) == 0)
            return true;
    return false;
}

static bool is_international(const struct number *n)
{
    return n->n >= 8 && is_country(n->digits, n->n);
}

static bool is_with_00(const struct number *n)
{
    return n->n >= 10 && n->n_groups > 1 && n->digits[0] == '0' &&
           n->digits[1] == '0' && is_country(n->digits + 2, n->n - 2);
}

static bool is_north_american(const struct number *n)
{
    const unsigned first = n->n == 11 && n->groups[0] == 1;
    const char *digits = n->digits + first;

    return n->n == 10 + first && n->n_groups == 3 + first &&
           (first == 0 || n->digits[0] == '1') && n->groups[first] == 3 &&
           n->groups[first + 1] == 3 && n->groups[first + 2] == 4 &&
           digits[0] >= '2' && digits[3] >= '2' &&
           (n->first_sign != '/' && (!n->mixed || n->first_sign == ' '));
}

/* 030 1234567, 0171/1234567, 06 12 34 56 78; dots between pairs alone, as
 * versions and dates have them, too. */
static bool is_national(const struct number *n)
{
    if (n->digits[0] != '0' || n->digits[1] == '0' || n->n < 9 || n->n > 11 ||
        n->n_groups < 2 || n->groups[0] < 2 || n->groups[0] > 5)
        return false;
    for (unsigned i = 1; i < n->n_groups; i++)
        if (n->groups[i] < 2)
            return false;
    return n->first_sign != '.' || (n->n_groups == 5 && n->n == 10);
}

/* Does a word ahead say that a number follows? */
static bool is_announced(mortise_str s, uint64_t from)
{
    static const char *const words[] = {
        "tel",   "tel.",  "telephone", "phone",    "mobile",  "cell",
        "fax",   "call",  "dial",      "whatsapp", "sms",     "telefon",
        "handy", "mobil", "telefono",  "movil",    "telefax", "ring"};

    return is_behind_word(s, from, " :=.(\t\"'", 6, words,
                          sizeof words / sizeof *words);
}

/* The end of a row of digits in groups, whatever that is. */
static bool goes_on(mortise_str s, uint64_t from)
{
    return from > 1 && (s.p[from - 1] == ' ' || s.p[from - 1] == '-') &&
           ascii_digit(s.p[from - 2]);
}

/* ---- finding ------------------------------------------------------------- */

/* At a digit, a plus, or a bracket. */
static bool phone_at(mortise_str s, uint64_t from, struct span *out)
{
    const bool plus = s.p[from] == '+', bracket = s.p[from] == '(';
    const uint64_t digits = from + (plus || bracket);
    struct number n;

    if (!ascii_digit(at_of(s, digits)) || is_word(before(s, from)) ||
        !read_number(s, digits, &n) || !stands_alone(s, from, n.end))
        return false;
    *out = (struct span){from, n.end};
    if (plus)
        return is_international(&n);
    if (goes_on(s, from))
        return false;
    return is_with_00(&n) || is_north_american(&n) || is_national(&n) ||
           (n.n >= 7 && is_announced(s, from));
}

bool find_phone(mortise_str s, uint64_t at, struct span *out)
{
    for (uint64_t i = at; i < s.n; i++) {
        const char c = s.p[i];

        if (!ascii_digit(c) && c != '+' && c != '(')
            continue;
        if (phone_at(s, i, out))
            return true;
        if (!ascii_digit(c))
            continue;
        while (i + 1 < s.n && ascii_digit(s.p[i + 1]))
            i++;
    }
    return false;
}
