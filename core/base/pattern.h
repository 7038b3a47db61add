/* pattern.h -- what the readers of regular expressions share (ecma.c, re2.c):
 * a place in a pattern, the way out, and how PCRE2 is told a character, a set
 * and a repetition.  [any]
 *
 * What they write needs of PCRE2: UTF, ALLOW_EMPTY_CLASS, DOLLAR_ENDONLY,
 * MATCH_UNSET_BACKREF, and no more of what it calls Perl's than is written
 * here. */
#ifndef MORTISE_BASE_PATTERN_H
#define MORTISE_BASE_PATTERN_H

#include "base/buf.h"
#include "base/escape.h"

enum {
    /* Groups inside each other: fewer than PCRE2 bears with what we add. */
    MORTISE_PATTERN_DEPTH = 200,
    MORTISE_PATTERN_BYTES = 65536
};
#define MORTISE_PATTERN_MANY UINT32_MAX /* a repetition without an end */

struct mortise_pattern {
    struct mortise_escape escape; /* how a refusal leaves */
    const char *text, *p, *end;   /* UTF-8; p: what is read next */
    struct mortise_buf *out;
    const char *standard; /* for words: "ECMA-262" */
};

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
/* The repetition in PCRE2's words, of what was just written. */
void mortise_pattern_put_repeat(struct mortise_pattern *p,
                                struct mortise_repeat r, bool lazy);

/* A character as an atom; one that no text has (a surrogate) never matches. */
void mortise_pattern_put(struct mortise_pattern *p, uint32_t c);
/* Those from a to b, inside [ ]; nothing where no text has them. */
void mortise_pattern_put_range(struct mortise_pattern *p, uint32_t a,
                               uint32_t b);

/* A set of ASCII characters: bit c % 64 of [c / 64]. */
struct mortise_ascii {
    uint64_t bits[2];
};
extern const struct mortise_ascii mortise_ascii_digits, mortise_ascii_word;
/* Its members inside [ ], or all that are not (`inverse`).  If it `folds`,
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

#endif
