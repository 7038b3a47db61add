/* named.c -- what is said to be a secret (password=..., "api_key": "...",
 * Authorization: ...), and, the least sure of all, strings of which nobody would
 * think anything else. */
#include "find.h"

#include <math.h>
#include <string.h>

enum {
    NAME_LONGEST = 64,
    LOOK = 256, /* bytes of a value by which it is judged */
    LEAST = 4,
    RANDOM_LEAST = 32,
    RANDOM_MOST = 128
};

/* ---- placeholders ----------------------------------------------------------- */

static bool begins(const char *p, uint64_t n, const char *with)
{
    const size_t k = strlen(with);

    if (n < k)
        return false;
    for (size_t i = 0; i < k; i++)
        if (ascii_upper(p[i]) != ascii_upper(with[i]))
            return false;
    return true;
}

static bool is_of_one(const char *p, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++)
        if (p[i] != p[0])
            return false;
    return true;
}

bool is_placeholder(const char *p, uint64_t n)
{
    static const char *const beginnings[] = {
        "$",         "{{",        "<",         "%",        "[",
        "secret://", "env:",      "env.",      "vault:",   "file:",
        "os.",       "process.",  "config.",   "getenv",   "changeme",
        "change_me", "change-me", "your",      "example",  "placeholder",
        "redacted",  "dummy",     "sample",    "insert",   "none",
        "null",      "nil",       "undefined", "required", "optional",
        "hidden",    "masked",    "(",         "..."};

    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (begins(p, n, beginnings[i]))
            return true;
    return n < LEAST || is_of_one(p, n);
}

/* ---- names ------------------------------------------------------------------ */

static const struct {
    const char *name;
    bool counts; /* there are so many of them, too: tokens: 300 */
} names[] = {
    {"password", false},      {"passwd", false},
    {"passphrase", false},    {"pwd", false},
    {"secret", false},        {"secrets", false},
    {"token", true},          {"tokens", true},
    {"credential", false},    {"credentials", false},
    {"api_key", false},       {"api-key", false},
    {"apikey", false},        {"access_key", false},
    {"access-key", false},    {"accesskey", false},
    {"auth_key", false},      {"auth-key", false},
    {"authkey", false},       {"private_key", false},
    {"private-key", false},   {"privatekey", false},
    {"account_key", false},   {"accountkey", false},
    {"secret_key", false},    {"secretkey", false},
    {"signing_key", false},   {"encryption_key", false},
    {"authorization", false},
};

/* Where a list goes on. */
static bool is_of_pages(const char *p, uint64_t n)
{
    static const char *const cursors[] = {
        "page_token", "pagetoken",          "page-token", "next_token",
        "nexttoken",  "continuation_token", "sync_token", "continuationtoken"};

    for (size_t i = 0; i < sizeof cursors / sizeof *cursors; i++) {
        const size_t k = strlen(cursors[i]);

        if (n >= k && begins(p + n - k, k, cursors[i]))
            return true;
    }
    return false;
}

/* Does the name that ends at `end` end in one of these?  -1: no. */
static int name_before(mortise_str s, uint64_t at, uint64_t end)
{
    if (is_of_pages(s.p + at, end - at))
        return -1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const size_t n = strlen(names[i].name);

        if (end - at >= n && begins(s.p + end - n, n, names[i].name))
            return (int)i;
    }
    return -1;
}

/* ---- values ----------------------------------------------------------------- */

static uint64_t skip(mortise_str s, uint64_t at, const char *signs,
                     unsigned most)
{
    for (unsigned i = 0; i < most && at < s.n; i++, at++)
        if (strchr(signs, s.p[at]) == NULL || s.p[at] == '\0')
            break;
    return at;
}

/* Behind a name: where its value begins, by `=` or `:`; 0: it has none. */
static uint64_t value_from(mortise_str s, uint64_t at, bool *equals)
{
    at = skip(s, at, "\\\"'", 3);
    at = skip(s, at, " \t", 8);
    *equals = at_of(s, at) == '=';
    if (at_of(s, at) != '=' &&
        (at_of(s, at) != ':' || at_of(s, at + 1) == '/')) /* a reference */
        return 0;
    at = skip(s, at + 1, "=>", 1);
    return skip(s, at, " \t", 8);
}

/* In quotes up to those, else up to a blank, `most` bytes of it; what surely
 * stands behind is none of it. */
static void read_value(mortise_str s, uint64_t at, uint64_t most,
                       struct span *out, bool *quoted)
{
    const uint64_t inside = skip(s, at, "\\", 2);
    const char quote = at_of(s, inside);

    *quoted = quote == '"' || quote == '\'';
    out->from = *quoted ? inside + 1 : at;
    out->to = out->from;
    while (out->to < s.n && out->to - out->from < most &&
           (*quoted ? s.p[out->to] != quote && s.p[out->to] != '\n'
                    : strchr(" \t\r\n\"'&,;", s.p[out->to]) == NULL))
        out->to++;
    while (out->to > out->from &&
           strchr(*quoted ? "\\" : ".!?)]}>\\", s.p[out->to - 1]) != NULL)
        out->to--;
}

static bool has(const char *p, uint64_t n, bool (*of)(char))
{
    for (uint64_t i = 0; i < n; i++)
        if (of(p[i]))
            return true;
    return false;
}

static bool is_no_letter(char c)
{
    return !is_letter(c) && c != '_' && c != '.' && c != '-';
}

static bool is_no_digit(char c)
{
    return !ascii_digit(c);
}

/* Of these, `password: required` and `token: string` are none: behind a colon,
 * without quotes, words are words. */
static bool is_value(mortise_str s, const struct span *v, int name, bool equals,
                     bool quoted)
{
    const char *p = s.p + v->from;
    const uint64_t n = v->to - v->from;

    if (is_placeholder(p, n))
        return false;
    if (names[name].counts && !has(p, n, is_no_digit))
        return false;
    if (memchr(p, '(', n) != NULL && !quoted)
        return false; /* a call */
    return quoted || equals || has(p, n, is_no_letter);
}

/* The scheme of an Authorization is none of the value. */
static uint64_t skip_scheme(mortise_str s, uint64_t from)
{
    uint64_t at = skip(s, from, "\\\"'", 3);
    const uint64_t scheme = at;

    while (at < s.n && at - scheme < 16 && is_letter(s.p[at]))
        at++;
    return at > scheme && at_of(s, at) == ' ' &&
                   (unsigned char)at_of(s, at + 1) > ' '
               ? at + 1
               : from;
}

/* It is judged by how it begins, and then read to its end: what is none takes no
 * longer for being long. */
static bool assigned_at(mortise_str s, uint64_t from, uint64_t end,
                        struct span *out)
{
    const int name = name_before(s, from, end);
    bool equals, quoted;
    uint64_t at;

    if (name < 0)
        return false;
    at = value_from(s, end, &equals);
    if (at == 0)
        return false;
    if (strcmp(names[name].name, "authorization") == 0)
        at = skip_scheme(s, at);
    read_value(s, at, LOOK, out, &quoted);
    if (!is_value(s, out, name, equals, quoted))
        return false;
    read_value(s, at, s.n, out, &quoted);
    return true;
}

bool find_assigned(mortise_str s, uint64_t at, struct span *out)
{
    for (uint64_t i = at; i < s.n; i++) {
        uint64_t end = i;

        while (end < s.n &&
               (ascii_alnum(s.p[end]) || s.p[end] == '_' || s.p[end] == '-'))
            end++;
        if (end > i &&
            assigned_at(s, end - i > NAME_LONGEST ? end - NAME_LONGEST : i, end,
                        out))
            return true;
        i = end;
    }
    return false;
}

/* As `"member": "text"` would be. */
bool is_assigned(mortise_str member, mortise_str text, struct span *out)
{
    const int name = name_before(member, 0, member.n);

    if (name < 0)
        return false;
    *out = (struct span){0, text.n};
    if (strcmp(names[name].name, "authorization") == 0)
        out->from = skip_scheme(text, 0);
    return is_value(text, out, name, false, true);
}

/* ---- randomness -------------------------------------------------------------- */

/* Shannon's, in bits for a character. */
static double entropy(const char *p, uint64_t n)
{
    unsigned counts[256] = {0};
    double sum = 0;

    for (uint64_t i = 0; i < n; i++)
        counts[(unsigned char)p[i]]++;
    for (size_t i = 0; i < 256; i++)
        if (counts[i] > 0)
            sum -= counts[i] * log2((double)counts[i] / (double)n);
    return sum / (double)n;
}

/* Small and capital letters and digits, and hardly one of them twice; a path has
 * slashes, and a digest says what it is. */
static bool is_random(mortise_str s, uint64_t from, uint64_t to)
{
    static const char *const digests[] = {"sha1-",   "sha256-", "sha384-",
                                          "sha512-", "base64,", "sha256:"};
    unsigned small = 0, capital = 0, digits = 0, signs = 0;

    for (uint64_t i = from; i < to; i++) {
        small += s.p[i] >= 'a' && s.p[i] <= 'z';
        capital += s.p[i] >= 'A' && s.p[i] <= 'Z';
        digits += ascii_digit(s.p[i]);
        signs += !ascii_alnum(s.p[i]);
    }
    if (small < 4 || capital < 4 || digits < 3 || signs > 4)
        return false;
    for (size_t i = 0; i < sizeof digests / sizeof *digests; i++) {
        const size_t n = strlen(digests[i]);

        if ((from >= n && begins(s.p + from - n, n, digests[i])) ||
            begins(s.p + from, to - from, digests[i]))
            return false;
    }
    return entropy(s.p + from, to - from) >= 4.2;
}

static bool is_of_random(char c)
{
    return ascii_alnum(c) || c == '+' || c == '/' || c == '_' || c == '-';
}

bool find_entropy(mortise_str s, uint64_t at, struct span *out)
{
    for (uint64_t i = at; i < s.n; i++) {
        uint64_t end = i;

        if (!ascii_alnum(s.p[i]))
            continue;
        while (end < s.n && is_of_random(s.p[end]))
            end++;
        *out = (struct span){i, skip(s, end, "=", 2)};
        if (end - i >= RANDOM_LEAST && end - i <= RANDOM_MOST &&
            is_random(s, i, end))
            return true;
        i = end;
    }
    return false;
}
