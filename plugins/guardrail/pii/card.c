/* card.c -- numbers of payment cards (ISO/IEC 7812).
 *
 * In one piece, or in the groups in which they are printed; of a network that
 * issues them, as long as that network's are, and with the right check digit
 * (Luhn).  A number that stands in a longer one, in a word or behind a decimal
 * point is none. */
#include "find.h"

#include <string.h>

enum { DIGITS_MAX = 19, GROUPS_MAX = 6 };

/* Prefixes of networks, from the most to the least used. */
static const struct {
    uint32_t low, high; /* of the first `digits` digits */
    unsigned char digits, shortest, longest;
} networks[] = {
    {4, 4, 1, 16, 16},       /* Visa */
    {4, 4, 1, 13, 13},       /* Visa, the oldest */
    {4, 4, 1, 19, 19},       /* Visa, the longest */
    {51, 55, 2, 16, 16},     /* Mastercard */
    {2221, 2720, 4, 16, 16}, /* Mastercard */
    {34, 34, 2, 15, 15},     /* American Express */
    {37, 37, 2, 15, 15},     /* American Express */
    {6011, 6011, 4, 16, 19}, /* Discover */
    {644, 659, 3, 16, 19},   /* Discover */
    {300, 305, 3, 14, 19},   /* Diners Club */
    {36, 36, 2, 14, 19},     /* Diners Club */
    {38, 39, 2, 16, 19},     /* Diners Club */
    {3528, 3589, 4, 16, 19}, /* JCB */
    {62, 62, 2, 16, 19},     /* UnionPay */
    {81, 81, 2, 16, 19},     /* UnionPay, RuPay */
    {5018, 5018, 4, 12, 19}, /* Maestro */
    {5020, 5020, 4, 12, 19}, /* Maestro */
    {5038, 5038, 4, 12, 19}, /* Maestro */
    {6304, 6304, 4, 12, 19}, /* Maestro */
    {6759, 6763, 4, 12, 19}, /* Maestro */
    {2200, 2204, 4, 16, 19}, /* Mir */
    {9792, 9792, 4, 16, 16}, /* Troy */
};

/* As they are printed: digits of each group, 0 behind the last. */
static const unsigned char groupings[][6] = {
    {4, 4, 4, 4, 0}, {4, 4, 4, 4, 3, 0}, {4, 6, 5, 0},
    {4, 6, 4, 0},    {4, 4, 4, 1, 0},
};

static bool is_issued(const char *digits, unsigned n)
{
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        uint32_t prefix = 0;

        if (n < networks[i].shortest || n > networks[i].longest)
            continue;
        for (unsigned k = 0; k < networks[i].digits; k++)
            prefix = prefix * 10 + (uint32_t)(digits[k] - '0');
        if (prefix >= networks[i].low && prefix <= networks[i].high)
            return true;
    }
    return false;
}

static bool is_luhn(const char *digits, unsigned n)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < n; i++) {
        unsigned d = (unsigned)(digits[n - 1 - i] - '0') * (1 + i % 2);

        sum += d > 9 ? d - 9 : d;
    }
    return sum % 10 == 0;
}

/* Groups of digits with one separator between them, all alike. */
struct number {
    char digits[DIGITS_MAX];
    unsigned n_groups;
    struct {
        unsigned char size;
        unsigned n; /* digits up to its end */
        uint64_t end;
    } groups[GROUPS_MAX];
};

/* Bytes of a separator, a blank or a hyphen; 0: there is none. */
static uint64_t separator_at(mortise_str s, uint64_t at)
{
    return at_of(s, at) == '-' ? 1 : blank_at(s, at);
}

/* Of a group that begins at `at`: its digits, of which there is room for `room`;
 * 0: there are more. */
static unsigned group_size(mortise_str s, uint64_t at, unsigned room)
{
    unsigned n = 0;

    while (ascii_digit(at_of(s, at + n)))
        if (n++ == room)
            return 0;
    return n;
}

/* As many groups as are no more than a card has. */
static void read_number(mortise_str s, uint64_t at, struct number *out)
{
    bool hyphens = false;
    unsigned n = 0;

    out->n_groups = 0;
    while (out->n_groups < GROUPS_MAX) {
        const unsigned size = group_size(s, at, DIGITS_MAX - n);
        uint64_t between;

        if (size == 0)
            return;
        memcpy(out->digits + n, s.p + at, size);
        n += size;
        at += size;
        out->groups[out->n_groups].size = (unsigned char)size;
        out->groups[out->n_groups].n = n;
        out->groups[out->n_groups++].end = at;
        between = separator_at(s, at);
        if (between == 0 || !ascii_digit(at_of(s, at + between)) ||
            (out->n_groups > 1 && (s.p[at] == '-') != hyphens))
            return;
        hyphens = s.p[at] == '-';
        at += between;
    }
}

/* Are the first k groups printed so? */
static bool is_printed(const struct number *number, unsigned k)
{
    if (k == 1)
        return true;
    for (size_t i = 0; i < sizeof groupings / sizeof *groupings; i++) {
        unsigned g = 0;

        while (g < k && number->groups[g].size == groupings[i][g])
            g++;
        if (g == k && groupings[i][g] == 0)
            return true;
    }
    return false;
}

/* May one stand there? */
static bool stands_alone(mortise_str s, uint64_t from, uint64_t to)
{
    const char ahead = before(s, from), behind = at_of(s, to);

    if (is_word(ahead) || is_word(behind))
        return false;
    if (ahead == '.' && from > 1 && ascii_digit(s.p[from - 2]))
        return false; /* the rest of a fraction */
    return behind != '.' || !ascii_digit(at_of(s, to + 1));
}

/* The longest that begins at `from`; 0: none does. */
static uint64_t card_end(mortise_str s, uint64_t from)
{
    struct number number;

    read_number(s, from, &number);
    for (unsigned k = number.n_groups; k > 0; k--) {
        const unsigned n = number.groups[k - 1].n;

        if (is_printed(&number, k) && is_issued(number.digits, n) &&
            is_luhn(number.digits, n) &&
            stands_alone(s, from, number.groups[k - 1].end))
            return number.groups[k - 1].end;
    }
    return 0;
}

bool find_card(mortise_str s, uint64_t at, struct span *out)
{
    for (uint64_t i = at; i < s.n; i++) {
        if (!ascii_digit(s.p[i]))
            continue;
        out->from = i;
        out->to = ascii_digit(before(s, i)) ? 0 : card_end(s, i);
        if (out->to > 0)
            return true;
        while (i + 1 < s.n && ascii_digit(s.p[i + 1]))
            i++;
    }
    return false;
}
