/* coded.c -- what a text says in base64, or in percent signs.
 *
 * What is decoded is looked at only when it is text: of base64, that all of it
 * is printable and that it has blanks, which keys, pictures and digests do not.
 * What it says then counts for this text, and that it was said so counts
 * besides.  There is no second layer. */
#include "injection.h"

enum {
    LEAST = 24,     /* characters of base64 that are tried */
    PERCENTS = 6,   /* signs of %XX that are */
    MOST = 64 << 10 /* bytes that are decoded of one text */
};

static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+' || c == '-')
        return 62;
    return c == '/' || c == '_' ? 63 : -1;
}

static int hex_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Has it blanks, and nothing but what is printed? */
static bool is_text(const char *p, uint64_t n)
{
    uint64_t blanks = 0;

    for (uint64_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)p[i];

        if (c < ' ' && c != '\n' && c != '\t' && c != '\r')
            return false;
        blanks += c == ' ';
    }
    return blanks >= 2;
}

static void judge(const struct bytes *room, struct score *out)
{
    struct score inside = {.of = {0}};
    const uint64_t n = mortise_str_utf8(bytes_str(room));

    if (n == 0 || !is_text(room->p, n))
        return;
    injection_words(mortise_strn(room->p, n), &inside);
    injection_marks(mortise_strn(room->p, n), &inside);
    if (score_sum(&inside) == 0)
        return;
    for (size_t k = 0; k < SIGNALS; k++)
        score_add(out, (enum signal)k, inside.of[k]);
    score_add(out, ENCODED, 30);
}

/* The digits of base64 from p on, decoded into the room that is there. */
static void decode_base64(const char *p, uint64_t n, struct bytes *room)
{
    uint32_t bits = 0;
    unsigned have = 0;

    room->n = 0;
    for (uint64_t i = 0; i < n; i++) {
        bits = bits << 6 | (uint32_t)value_of(p[i]);
        have += 6;
        if (have >= 8) {
            have -= 8;
            room->p[room->n++] = (char)(bits >> have & 0xFF);
        }
    }
}

static bool look_at_base64(mortise_str s, struct score *out, struct bytes *room)
{
    uint64_t done = 0;

    for (uint64_t at = 0; at < s.n;) {
        uint64_t n = 0;

        while (at + n < s.n && value_of(s.p[at + n]) >= 0)
            n++;
        if (n >= LEAST && n <= MOST - done) {
            room->n = 0;
            if (bytes_room(room, n) != MORTISE_S_OK)
                return false;
            decode_base64(s.p + at, n, room);
            judge(room, out);
            done += n;
        }
        at += n + 1;
    }
    return true;
}

static bool look_at_percents(mortise_str s, struct score *out,
                             struct bytes *room)
{
    uint64_t signs = 0;

    s.n = s.n > MOST ? MOST : s.n;
    room->n = 0;
    if (s.n == 0 || memchr(s.p, '%', s.n) == NULL)
        return true;
    if (bytes_room(room, s.n) != MORTISE_S_OK)
        return false;
    for (uint64_t i = 0; i < s.n; i++) {
        const bool coded = s.p[i] == '%' && i + 2 < s.n &&
                           hex_of(s.p[i + 1]) >= 0 && hex_of(s.p[i + 2]) >= 0;

        room->p[room->n++] =
            coded ? (char)(hex_of(s.p[i + 1]) << 4 | hex_of(s.p[i + 2]))
                  : s.p[i];
        signs += coded;
        i += coded ? 2 : 0;
    }
    if (signs >= PERCENTS)
        judge(room, out);
    return true;
}

bool injection_coded(mortise_str s, struct score *out, struct bytes *room)
{
    return look_at_base64(s, out, room) && look_at_percents(s, out, room);
}
