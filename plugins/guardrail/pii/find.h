/* find.h -- finders of personal data in text; of the pii guardrail.
 *
 * Each is a scanner of its own, by hand: it goes over a text once, looks back
 * and ahead no further than the longest thing of its kind is long, and so takes
 * time in proportion to the text, whatever stands in it.  Bytes that are not
 * ASCII are letters to all of them.
 *
 * Threads    No state. */
#ifndef PII_FIND_H
#define PII_FIND_H

#include <stdbool.h>
#include <stdint.h>

#include <mortise/plugin.h>

/* The surer ones first: where two overlap, the earlier kind is meant. */
enum kind { IBAN, CARD, MAC, IP, MAIL, PHONE, KINDS };

struct span {
    uint64_t from, to; /* bytes of the text */
};

/* The first at or behind `at`; false: there is none. */
typedef bool find_fn(mortise_str s, uint64_t at, struct span *out);

bool find_iban(mortise_str s, uint64_t at, struct span *out);
bool find_card(mortise_str s, uint64_t at, struct span *out);
bool find_mac(mortise_str s, uint64_t at, struct span *out);
bool find_ip(mortise_str s, uint64_t at, struct span *out);
bool find_mail(mortise_str s, uint64_t at, struct span *out);
bool find_phone(mortise_str s, uint64_t at, struct span *out);

/* ---- characters -------------------------------------------------------- */

/* '\0' before and behind the text. */
static inline char at_of(mortise_str s, uint64_t i)
{
    return i < s.n ? s.p[i] : '\0';
}

static inline char before(mortise_str s, uint64_t i)
{
    return i > 0 ? s.p[i - 1] : '\0';
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static inline bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (unsigned char)c >= 0x80;
}

/* Of a word: what stands in one is part of it. */
static inline bool is_word(char c)
{
    return is_letter(c) || is_digit(c) || c == '_';
}

static inline char to_upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

#endif
