/* pattern.h -- what the readers of regular expressions share (ecma.c, re2.c):
 * a place in a pattern, the way out, how a character, a set and a repetition
 * are written for the library that searches, and how much work that will be.
 * [any]
 *
 * Characters, sets and repetitions are written so that RE2 and PCRE2 read the
 * same.  PCRE2 needs the options UTF, DOLLAR_ENDONLY and MATCH_UNSET_BACKREF. */
#ifndef MORTISE_LANG_REGEX_PATTERN_H
#define MORTISE_LANG_REGEX_PATTERN_H

#include "core/base/buf.h"
#include "core/base/escape.h"

enum {
    /* Groups inside each other: fewer than PCRE2 bears with what we add. */
    MORTISE_PATTERN_DEPTH = 200,
    MORTISE_PATTERN_BYTES = 65536
};
#define MORTISE_PATTERN_MANY UINT32_MAX /* a repetition without an end */

/* How large a pattern is, with each repetition multiplied out. */
struct mortise_weight {
    uint64_t places; /* characters and sets: where a match may be at once */
    uint64_t ranges; /* of characters in them: what is compiled */
};

struct mortise_pattern {
    struct mortise_escape escape; /* how a refusal leaves */
    const char *text, *p, *end;   /* UTF-8; p: what is read next */
    struct mortise_buf *out;
    const char *standard;         /* for words: "ECMA-262" */
    bool for_re2;                 /* else for PCRE2 */
    struct mortise_weight weight; /* of what was written */
    size_t in_class;              /* of out: where a class has its members */
};

/* RE2 has no words for what stands at `at`: leave with MORTISE_EUNAVAILABLE.
 * PCRE2 has. */
_Noreturn void mortise_pattern_beyond_re2(struct mortise_pattern *p);

/* The pattern means nothing in its standard, from `at` on: leave. */
_Noreturn void mortise_pattern_refuse(struct mortise_pattern *p, const char *at,
                                      const char *fmt, ...)
    MORTISE_PRINTF(3, 4);
/* It has a meaning there, and this build does not match by it: leave. */
_Noreturn void mortise_pattern_exceed(struct mortise_pattern *p, const char *at,
                                      const char *fmt, ...)
    MORTISE_PRINTF(3, 4);
/* UTF-8 it must be, and not too long, before all else. */
void mortise_pattern_check_text(struct mortise_pattern *p);

/* What comes so many bytes ahead, NUL behind the end; does this come next? */
static inline char mortise_pattern_peek(const struct mortise_pattern *p,
                                        size_t ahead)
{
    return (size_t)(p->end - p->p) > ahead ? p->p[ahead] : '\0';
}
bool mortise_pattern_at(const struct mortise_pattern *p, const char *text);
/* The character that comes next, taken; there is one. */
uint32_t mortise_pattern_take(struct mortise_pattern *p);
/* Exactly n digits of a base, taken; false: they are not there. */
bool mortise_pattern_digits(struct mortise_pattern *p, size_t n, unsigned base,
                            uint32_t *value);

/* One of {n} {n,} {n,m}, taken; false, and nothing is taken: none comes.
 * Numbers beyond 32 bits are MANY - 1, a missing m is MANY. */
struct mortise_repeat {
    uint32_t min, max;
};
bool mortise_pattern_counted(struct mortise_pattern *p, bool zeroes,
                             struct mortise_repeat *out);
/* The repetition of what was written since the weight was `before`. */
void mortise_pattern_put_repeat(struct mortise_pattern *p,
                                struct mortise_weight before,
                                struct mortise_repeat r, bool lazy);

/* A character as an atom; one that no text has (a surrogate) never matches. */
void mortise_pattern_put(struct mortise_pattern *p, uint32_t c);
/* A class as an atom: between these two, its members are written.  A class
 * without members never matches; its inverse is any character. */
void mortise_pattern_open_class(struct mortise_pattern *p, bool inverse);
void mortise_pattern_close_class(struct mortise_pattern *p);
/* Those from a to b, inside a class; nothing where no text has them. */
void mortise_pattern_put_range(struct mortise_pattern *p, uint32_t a,
                               uint32_t b);
/* \p{name}, or \P{name}, of `n` bytes; `kind` stands in front for PCRE2. */
void mortise_pattern_put_property(struct mortise_pattern *p, bool inverse,
                                  const char *kind, const char *name, size_t n);

/* A set of ASCII characters: bit c % 64 of [c / 64]. */
struct mortise_ascii {
    uint64_t bits[2];
};
extern const struct mortise_ascii mortise_ascii_digits, mortise_ascii_word;
/* Its members inside a class, or all that are not (`inverse`).  If it `folds`,
 * letters stand for both cases, and k and s for the two characters beyond ASCII
 * that are theirs. */
void mortise_pattern_put_ascii(struct mortise_pattern *p,
                               struct mortise_ascii set, bool inverse,
                               bool folds);

/* ---- names of properties (properties.c) ------------------------------- */

/* PCRE2's name of a general category: of its short name, or (`long_names`) of
 * any that Unicode gives it; NULL: there is none. */
const char *mortise_property_category(const char *name, size_t n,
                                      bool long_names);
/* Is it Unicode's name of a script, long or (`short_names`) short?  Exactly so:
 * PCRE2 does not mind case and lines below. */
bool mortise_property_script(const char *name, size_t n, bool short_names);
/* PCRE2's name of a property that ECMA-262 has without a value; NULL: none. */
const char *mortise_property_binary(const char *name, size_t n);
/* Has RE2 the property that PCRE2 calls so, with the same meaning?  `kind` is
 * "", "sc:" or "scx:". */
bool mortise_property_in_re2(const char *kind, const char *name, size_t n);

#endif
