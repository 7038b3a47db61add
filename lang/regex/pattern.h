/* pattern.h -- shared by the readers of regular expressions (ecma.c, re2.c):
 * the position in a pattern, the output, the way that characters, sets and
 * repetitions are written for the library, and the amount of work. [any]
 *
 * Characters, sets and repetitions are written in a syntax common to RE2 and
 * PCRE2.  PCRE2 needs the options UTF, DOLLAR_ENDONLY and
 * MATCH_UNSET_BACKREF. */
#ifndef MORTISE_LANG_REGEX_PATTERN_H
#define MORTISE_LANG_REGEX_PATTERN_H

#include "core/base/buf.h"
#include "core/base/escape.h"

enum {
    /* Nesting of groups: less than PCRE2's limit with the added groups. */
    MORTISE_PATTERN_DEPTH = 200,
    MORTISE_PATTERN_BYTES = 65536
};
#define MORTISE_PATTERN_MANY UINT32_MAX /* no maximum */

/* The size of a pattern, with repetitions multiplied. */
struct mortise_weight {
    uint64_t places; /* characters and sets: the number of states of a match */
    uint64_t ranges; /* of characters: the amount to compile */
};

struct mortise_pattern {
    struct mortise_escape escape; /* the exit for errors */
    const char *text, *p, *end;   /* UTF-8; p: the next character */
    struct mortise_buf *out;
    const char *standard;         /* for messages: "ECMA-262" */
    bool for_re2;                 /* otherwise for PCRE2 */
    struct mortise_weight weight; /* of the output */
    size_t in_class;              /* offset in `out` of the class's members */
};

/* RE2 cannot express the construct, but PCRE2 can: escape with
 * MORTISE_EUNAVAILABLE. */
_Noreturn void mortise_pattern_fail_re2(struct mortise_pattern *p);

/* The pattern is invalid in its standard, at `at`: escape. */
_Noreturn void mortise_pattern_fail_invalid(struct mortise_pattern *p,
                                            const char *at, const char *fmt,
                                            ...) MORTISE_PRINTF(3, 4);
/* The pattern is valid, but not supported: escape. */
_Noreturn void mortise_pattern_fail_unsupported(struct mortise_pattern *p,
                                                const char *at, const char *fmt,
                                                ...) MORTISE_PRINTF(3, 4);
/* Check first that the text is UTF-8 and not too long. */
void mortise_pattern_check_text(struct mortise_pattern *p);

/* The byte so many bytes ahead, NUL at the end. mortise_pattern_is_next(): does this
 * text come next? */
static inline char mortise_pattern_peek(const struct mortise_pattern *p,
                                        size_t ahead)
{
    return (size_t)(p->end - p->p) > ahead ? p->p[ahead] : '\0';
}
bool mortise_pattern_is_next(const struct mortise_pattern *p, const char *text);
/* Read the next character; there must be one. */
uint32_t mortise_pattern_read_char(struct mortise_pattern *p);
/* Read exactly n digits of a base; false: they are missing. */
bool mortise_pattern_read_digits(struct mortise_pattern *p, size_t n,
                                 unsigned base, uint32_t *value);

/* Read one of {n} {n,} {n,m}; false, without reading anything: there is none.
 * Numbers beyond 32 bits become MANY - 1, a missing m becomes MANY. */
struct mortise_repeat {
    uint32_t min, max;
};
bool mortise_pattern_read_repeat(struct mortise_pattern *p, bool zeroes,
                                 struct mortise_repeat *out);
/* Repeat the output since the weight was `before`. */
void mortise_pattern_put_repeat(struct mortise_pattern *p,
                                struct mortise_weight before,
                                struct mortise_repeat r, bool lazy);

/* A character as an atom.  A surrogate, which no text contains, never
 * matches. */
void mortise_pattern_put_char(struct mortise_pattern *p, uint32_t c);
/* A class as an atom: its members are written between these two calls.  A class
 * without members never matches; its inverse is any character. */
void mortise_pattern_open_class(struct mortise_pattern *p, bool inverse);
void mortise_pattern_close_class(struct mortise_pattern *p);
/* The characters from a to b, in a class; without those that no text
 * contains. */
void mortise_pattern_put_range(struct mortise_pattern *p, uint32_t a,
                               uint32_t b);
/* \p{name} or \P{name}; the name has `n` bytes.  For PCRE2, `kind` precedes
 * it. */
void mortise_pattern_put_property(struct mortise_pattern *p, bool inverse,
                                  const char *kind, const char *name, size_t n);

/* A set of ASCII characters: bit c % 64 of bits[c / 64]. */
struct mortise_ascii {
    uint64_t bits[2];
};
extern const struct mortise_ascii mortise_ascii_digits, mortise_ascii_word;
/* The members of the set in a class, or all other characters (`inverse`).  With
 * `folds`, letters stand for both cases, and k and s also for their two
 * equivalents beyond ASCII. */
void mortise_pattern_put_ascii(struct mortise_pattern *p,
                               struct mortise_ascii set, bool inverse,
                               bool folds);

/* ---- names of properties (properties.c) ------------------------------- */

/* PCRE2's name of a general category, from its short name, or (`long_names`)
 * from any of its names; NULL: none. */
const char *mortise_property_find_category(const char *name, size_t n,
                                           bool long_names);
/* Is it Unicode's exact name of a script, long or (`short_names`) short?  PCRE2
 * ignores case and underscores. */
bool mortise_property_is_script(const char *name, size_t n, bool short_names);
/* PCRE2's name of a binary property of ECMA-262; NULL: none. */
const char *mortise_property_find_binary(const char *name, size_t n);
/* Does RE2 have the property with this name of PCRE2, with the same meaning?
 * `kind` is "", "sc:" or "scx:". */
bool mortise_property_is_in_re2(const char *kind, const char *name, size_t n);

#endif
