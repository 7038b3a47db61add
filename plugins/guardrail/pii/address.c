/* address.c -- addresses of machines: IPv4, IPv6 (RFC 4291), MAC.
 *
 * What names no machine is left alone: the loopback and unspecified addresses,
 * broadcasts, and four numbers behind a word such as `version`. */
#include "find.h"

#include <arpa/inet.h>
#include <string.h>

/* ---- IPv4 -------------------------------------------------------------- */

/* Where the number 0 to 255 ends that begins at `at`; `at`: there is none. */
static uint64_t octet_end(mortise_str s, uint64_t at, unsigned *value)
{
    uint64_t end = at;

    *value = 0;
    while (end < s.n && end - at < 3 && ascii_digit(s.p[end]))
        *value = *value * 10 + (unsigned)(s.p[end++] - '0');
    if (ascii_digit(at_of(s, end)) || *value > 255 ||
        (end - at > 1 && s.p[at] == '0'))
        return at;
    return end;
}

static bool is_of_version(mortise_str s, uint64_t from)
{
    static const char *const words[] = {"version", "ver",   "v",
                                        "release", "build", "firmware"};

    return is_behind_word(s, from, " .:=", UINT64_MAX, words,
                          sizeof words / sizeof *words);
}

static bool is_nobodys(const unsigned octets[4])
{
    return octets[0] == 127 || octets[0] == 0 ||
           (octets[0] == 255 && octets[1] == 255 && octets[2] == 255 &&
            octets[3] == 255);
}

static bool ipv4_at(mortise_str s, uint64_t from, struct span *out)
{
    const char ahead = before(s, from);
    unsigned octets[4];
    uint64_t at = from;

    if (is_word(ahead) || ahead == '.' || ahead == '-')
        return false;
    for (unsigned i = 0; i < 4; i++) {
        const uint64_t end = octet_end(s, at, &octets[i]);

        if (end == at || (i < 3 && at_of(s, end) != '.'))
            return false;
        at = i < 3 ? end + 1 : end;
    }
    if (is_word(at_of(s, at)) ||
        (at_of(s, at) == '.' && ascii_digit(at_of(s, at + 1))) ||
        (at_of(s, at) == '-' && is_letter(at_of(s, at + 1))) ||
        is_nobodys(octets) || is_of_version(s, from))
        return false;
    *out = (struct span){from, at};
    return true;
}

/* ---- IPv6 -------------------------------------------------------------- */

static bool is_v6(char c)
{
    return is_hex(c) || c == ':' || c == '.';
}

/* A slice (1::2) or a name of C++ (a::b) looks like one, too: an address has
 * three groups, or one of three digits. */
static bool is_long_enough(const char *p, size_t n)
{
    unsigned groups = 0, digits = 0, longest = 0;

    for (size_t i = 0; i < n; i++) {
        groups += is_hex(p[i]) && digits == 0;
        digits = is_hex(p[i]) ? digits + 1 : 0;
        longest = digits > longest ? digits : longest;
    }
    for (size_t i = 0; i < n; i++)
        if (ascii_digit(p[i]))
            return groups >= 3 || longest >= 3;
    return false;
}

static bool ipv6_at(mortise_str s, uint64_t from, struct span *out)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr address;
    uint64_t to = from;
    size_t n;

    if (is_word(before(s, from)) || before(s, from) == ':')
        return false;
    while (to < s.n && to - from < sizeof text && is_v6(s.p[to]))
        to++;
    while (to > from && s.p[to - 1] == '.')
        to--;
    if (to > from + 1 && s.p[to - 1] == ':' && s.p[to - 2] != ':')
        to--;
    n = (size_t)(to - from);
    if (n < 3 || n >= sizeof text || is_word(at_of(s, to)) ||
        !is_long_enough(s.p + from, n))
        return false;
    memcpy(text, s.p + from, n);
    text[n] = '\0';
    if (inet_pton(AF_INET6, text, &address) != 1)
        return false;
    *out = (struct span){from, to};
    return true;
}

/* ---- either ------------------------------------------------------------- */

bool find_ip(mortise_str s, uint64_t at, struct span *out)
{
    for (uint64_t i = at; i < s.n; i++) {
        if (!is_v6(s.p[i]) || s.p[i] == '.')
            continue;
        if ((ascii_digit(s.p[i]) && ipv4_at(s, i, out)) || ipv6_at(s, i, out))
            return true;
        while (i + 1 < s.n && is_word(s.p[i + 1]))
            i++;
    }
    return false;
}

/* ---- MAC --------------------------------------------------------------- */

/* Six pairs with one sign between them, or three groups of four with dots. */
static uint64_t mac_end(mortise_str s, uint64_t from, unsigned groups,
                        unsigned size, char between)
{
    uint64_t at = from;

    for (unsigned g = 0; g < groups; g++) {
        if (g > 0 && at_of(s, at++) != between)
            return 0;
        for (unsigned k = 0; k < size; k++)
            if (!is_hex(at_of(s, at++)))
                return 0;
    }
    return is_word(at_of(s, at)) || at_of(s, at) == between ? 0 : at;
}

static bool is_one(mortise_str s, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        if (is_hex(s.p[i]) && s.p[i] != '0' && ascii_upper(s.p[i]) != 'F')
            return true;
    return false; /* none, or all of them */
}

static uint64_t mac_at(mortise_str s, uint64_t from)
{
    const char sign = at_of(s, from + 2);

    if (sign == ':' || sign == '-')
        return before(s, from) == sign ? 0 : mac_end(s, from, 6, 2, sign);
    if (at_of(s, from + 4) == '.')
        return before(s, from) == '.' ? 0 : mac_end(s, from, 3, 4, '.');
    return 0;
}

bool find_mac(mortise_str s, uint64_t at, struct span *out)
{
    for (uint64_t i = at; i + 13 < s.n; i++) {
        if (!is_hex(s.p[i]))
            continue;
        if (!is_word(before(s, i))) {
            out->from = i;
            out->to = mac_at(s, i);
            if (out->to > 0 && is_one(s, i, out->to))
                return true;
        }
        while (i + 1 < s.n && is_word(s.p[i + 1]))
            i++;
    }
    return false;
}
