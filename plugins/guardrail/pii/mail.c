/* mail.c -- mail addresses, as people write them.
 *
 * RFC 5321 allows more (quoted local parts, addresses of hosts): nobody's
 * address is of that kind.  What is no address although it looks like one:
 * units of systemd (user@1000.service), names without a dot behind the @, and a
 * place for scp and git (git@example.com:path). */
#include "find.h"

#include <string.h>

enum { LOCAL_MAX = 64, DOMAIN_MAX = 253, LABEL_MAX = 63 };

static bool is_local(char c)
{
    return is_word(c) || c == '.' || c == '%' || c == '+' || c == '-';
}

/* Where the local part begins that ends before `end`; `end`: there is none. */
static uint64_t local_from(mortise_str s, uint64_t at, uint64_t end)
{
    uint64_t from = end;

    while (from > at && end - from <= LOCAL_MAX && is_local(s.p[from - 1]))
        from--;
    while (from < end && (s.p[from] == '.' || s.p[from] == '-'))
        from++;
    if (end - from > LOCAL_MAX || (from < end && s.p[end - 1] == '.'))
        return end;
    for (uint64_t i = from; i + 1 < end; i++)
        if (s.p[i] == '.' && s.p[i + 1] == '.')
            from = i + 2;
    return from;
}

/* Of the label that begins at `at`: where it ends. */
static uint64_t label_end(mortise_str s, uint64_t at)
{
    uint64_t end = at;

    while (end < s.n && end - at <= LABEL_MAX &&
           (is_letter(s.p[end]) || ascii_digit(s.p[end]) || s.p[end] == '-'))
        end++;
    while (end > at && s.p[end - 1] == '-')
        end--;
    return end - at <= LABEL_MAX ? end : at;
}

static bool is_unit(const char *p, uint64_t n)
{
    static const char *const units[] = {"service", "socket", "timer", "mount",
                                        "target",  "slice",  "scope", "device",
                                        "path",    "swap"};

    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i]) == n && memcmp(units[i], p, n) == 0)
            return true;
    return false;
}

/* A label of letters that can be the last one. */
static bool is_top(mortise_str s, uint64_t from, uint64_t to)
{
    if (to - from < 2 || is_unit(s.p + from, to - from))
        return false;
    return is_letter(s.p[from]) && is_letter(s.p[to - 1]);
}

/* Where the domain ends that begins at `from`; `from`: there is none. */
static uint64_t domain_end(mortise_str s, uint64_t from)
{
    uint64_t at = from, end = label_end(s, at), good = from;

    while (end > at && end - from <= DOMAIN_MAX && at_of(s, end) == '.') {
        at = end + 1;
        end = label_end(s, at);
        if (end > at && end - from <= DOMAIN_MAX && is_top(s, at, end))
            good = end;
    }
    /* a last label that is none (a.example.9) spoils what stands before it */
    return end > at && good < end ? from : good;
}

bool find_mail(mortise_str s, uint64_t at, struct span *out)
{
    for (uint64_t i = at; i < s.n; i++) {
        const char *sign = memchr(s.p + i, '@', s.n - i);

        if (sign == NULL)
            return false;
        i = (uint64_t)(sign - s.p);
        out->from = local_from(s, at, i);
        out->to = domain_end(s, i + 1);
        if (out->from < i && out->to > i + 1 &&
            !(at_of(s, out->to) == ':' && is_letter(at_of(s, out->to + 1))))
            return true;
    }
    return false;
}
