/* shape.c -- secrets that are known by their shape: private keys, JSON web
 * tokens, passwords in URLs. */
#include "find.h"

#include <string.h>

enum { LABEL_MAX = 64, HEADER_MAX = 4096, USER_MAX = 256, PASSWORD_MAX = 1024 };

static uint64_t find_text(mortise_str s, uint64_t at, const char *text)
{
    const char *p =
        at < s.n ? memmem(s.p + at, s.n - at, text, strlen(text)) : NULL;

    return p != NULL ? (uint64_t)(p - s.p) : s.n;
}

/* ---- keys ---------------------------------------------------------------- */

/* Where the line ends that begins a private key at `at`; 0: it begins none. */
static uint64_t begin_end(mortise_str s, uint64_t at)
{
    static const char private[] = "PRIVATE KEY";
    uint64_t end = at;

    while (end < s.n && end - at < LABEL_MAX &&
           (ascii_alnum(s.p[end]) || s.p[end] == ' '))
        end++;
    if (s.n - end < 5 || memcmp(s.p + end, "-----", 5) != 0 ||
        end - at < sizeof private - 1)
        return 0;
    if (memcmp(s.p + end - (sizeof private - 1), private, sizeof private - 1) ==
        0)
        return end + 5;
    return end - at > 17 && memcmp(s.p + end - 17, "PRIVATE KEY BLOCK", 17) == 0
               ? end + 5
               : 0;
}

/* PEM, and OpenPGP's armour; without its end, all that follows. */
bool find_key(mortise_str s, uint64_t at, struct span *out)
{
    static const char begin[] = "-----BEGIN ";

    for (uint64_t i = find_text(s, at, begin); i < s.n;
         i = find_text(s, i + 1, begin)) {
        const uint64_t body = begin_end(s, i + sizeof begin - 1);
        uint64_t end;

        if (body == 0)
            continue;
        end = find_text(s, body, "-----END ");
        if (end < s.n)
            end = find_text(s, end + 9, "-----");
        *out = (struct span){i, end < s.n ? end + 5 : s.n};
        return true;
    }
    return false;
}

/* ---- JSON web tokens ------------------------------------------------------- */

static int value_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789-_";
    const char *p = strchr(digits, c);

    return p != NULL && c != '\0' ? (int)(p - digits) : -1;
}

/* Is the header a JSON object with an "alg" in it (RFC 7515)? */
static bool is_header(const char *p, uint64_t n)
{
    char text[HEADER_MAX];
    uint32_t bits = 0;
    size_t size = 0;

    for (uint64_t i = 0; i < n && size < sizeof text; i++) {
        bits = bits << 6 | (uint32_t)value_of(p[i]);
        if (i % 4 > 0)
            text[size++] = (char)(bits >> (6 - 2 * (i % 4)));
    }
    return size > 2 && text[0] == '{' &&
           memmem(text, size, "\"alg\"", 5) != NULL;
}

static uint64_t run_end(mortise_str s, uint64_t at)
{
    while (at < s.n && is_base64url(s.p[at]))
        at++;
    return at;
}

bool find_jwt(mortise_str s, uint64_t at, struct span *out)
{
    for (uint64_t i = find_text(s, at, "eyJ"); i < s.n;
         i = find_text(s, i, "eyJ")) {
        const uint64_t header = run_end(s, i);
        uint64_t end = header;
        unsigned parts = 0;

        /* the signature, the third, may be none */
        while (parts < 4 && at_of(s, end) == '.' &&
               (parts == 1 || is_base64url(at_of(s, end + 1)))) {
            end = run_end(s, end + 1);
            parts++;
        }
        if (parts >= 2 && end > header + 2 && !is_base64url(before(s, i)) &&
            is_header(s.p + i, header - i)) {
            *out = (struct span){i, end};
            return true;
        }
        i = header;
    }
    return false;
}

/* ---- URLs ------------------------------------------------------------------ */

/* Of what stands before the host of a URL, the password; false: there is none. */
static bool password_at(mortise_str s, uint64_t at, struct span *out)
{
    uint64_t end = at;

    while (end < s.n && end - at < USER_MAX &&
           strchr(":/@?# \t\r\n\"'<>", s.p[end]) == NULL)
        end++;
    if (at_of(s, end) != ':')
        return false;
    out->from = ++end;
    while (end < s.n && end - out->from < PASSWORD_MAX &&
           strchr("/@ \t\r\n\"'<>", s.p[end]) == NULL)
        end++;
    out->to = end;
    return at_of(s, end) == '@' && end > out->from &&
           !is_placeholder(s.p + out->from, end - out->from);
}

bool find_url(mortise_str s, uint64_t at, struct span *out)
{
    for (uint64_t i = find_text(s, at, "://"); i < s.n;
         i = find_text(s, i + 3, "://"))
        if (ascii_alnum(before(s, i)) && password_at(s, i + 3, out))
            return true;
    return false;
}
