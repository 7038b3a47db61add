/* ecma.c -- ECMA-262 regular expressions in the words of RE2 or PCRE2.
 *
 * JSON Schema's patterns are those of ECMA-262 with the flag u: 2020-12 names
 * its 11th edition (2020), and so do we, without Annex B, which is for web
 * browsers and not for that flag.  A schema means the same to every validator,
 * then.  This file reads each pattern whole, by the grammar, and writes what it
 * read anew, for one of two libraries:
 *
 *   RE2           in linear time.  It has no lookaround, no references and no \B
 *                 between characters, and not every property of Unicode; the
 *                 reader leaves at the first of these (MORTISE_EUNAVAILABLE)
 *   PCRE2         all of them, by backtracking, in bounded steps (regex.c)
 *
 * In both, what is written means what ECMA-262 says:
 *
 *   .             is all but \n, \r, U+2028 and U+2029
 *   ^ $           the two ends of the text, a newline or not; no flag m
 *   \d \w \b      know ASCII alone; \s is WhiteSpace and LineTerminator, with
 *                 U+FEFF and all of Zs; in classes, too, where PCRE2 could not
 *                 leave out what \S \D \W leave out
 *   \v \0 \cX     VT, NUL, a control; \xHH \uHHHH \u{H...} a character, and two
 *                 \u that are a pair of surrogates are one.  A lone surrogate
 *                 is in no text and never matches
 *   [] [^]        nothing, and anything.  Inside, [ is itself; a range is
 *                 between two characters
 *   (?= (?! (?<= (?<!   all four; PCRE2 looks behind for a fixed length only
 *   (?<n> \k<n>   groups have any ECMA name: PCRE2 gets their numbers
 *   \p{...}       Unicode's names, exactly (properties.c); Script= and Script_
 *                 Extensions= are two things
 *
 * All that is not in the grammar is refused, at its place and with what to
 * write instead: PCRE2's own letters (\A \Z \G \K \R \h \Q), its groups
 * ((?> (?| (?# (?i), recursion, conditions, callouts), possessive repetitions,
 * (*VERBS).  [[:alpha:]] is a class of these signs and a ] too many.
 *
 * What a backreference stands for is where the two differ in the depth.  ECMA
 * forgets what a group held as each round of a repetition around it begins, and
 * takes no round that matches nothing; PCRE2 does neither.
 *
 *   (1) A reference to a group that stands further on, that is not yet closed
 *       or that is in another branch is always empty in ECMA, and is written so.
 *   (2) One to a group that PCRE2 might still hold from an earlier round is
 *       refused: from behind the repetition where a round may leave the group
 *       out, or be empty; from inside where something else in the round may
 *       leave it out.
 *   (3) In a lookbehind, which ECMA reads backwards, there is none.
 */
#include "lang/regex/ecma.h"

#include <string.h>

#include "lang/regex/pattern.h"
#include "core/base/utf8.h"

enum { MOST_REPEATS = 65535 }; /* PCRE2 counts so far */

/* A group that captures. */
struct capture {
    const char *name; /* NULL: it has none */
    size_t n_name;
    bool closed;
    bool away;      /* in another branch of a group that is open */
    bool skippable; /* what it stands in may match without it */
    bool stale;     /* PCRE2 may hold it from a round that is over */
};

/* A group that is open; the lowest is the whole pattern. */
struct group {
    const char *at;
    uint32_t before;     /* captures that were open or closed before it */
    uint32_t branch;     /* the same, before its last branch */
    bool captures, look; /* look: an assertion */
    bool branches;       /* it has several */
    bool may_be_empty;   /* one of those before the last one may be */
    bool takes;          /* its last branch takes a character at least */
    const char *suspect; /* a reference by rule (2), if this repeats */
    struct mortise_weight weight; /* of the pattern before it */
};

struct reader {
    struct mortise_pattern p;
    struct mortise_arena arena;
    struct capture *captures; /* [0] is unused */
    uint32_t n_captures;      /* all of the pattern */
    uint32_t n_begun;
    uint32_t behind;            /* lookbehinds that are open */
    struct mortise_weight atom; /* of the pattern before what is read */
    struct group open[MORTISE_PATTERN_DEPTH];
    uint32_t n_open;
};

#define REFUSE(r, at, ...) mortise_pattern_refuse(&(r)->p, at, __VA_ARGS__)
#define EXCEED(r, at, ...) mortise_pattern_exceed(&(r)->p, at, __VA_ARGS__)

static struct group *top(struct reader *r)
{
    return &r->open[r->n_open - 1];
}

static char peek(const struct reader *r, size_t ahead)
{
    return mortise_pattern_peek(&r->p, ahead);
}

static void put(struct reader *r, const char *text)
{
    mortise_buf_puts(r->p.out, text);
}

/* ---- which groups there are ---------------------------------------------- */

/* Behind the class or the escape at p, or the character. */
static const char *skip(const char *p, const char *end)
{
    bool in_class = *p == '[';

    for (; p < end; p++) {
        if (*p == '\\')
            p += end - p > 1;
        if (!in_class || *p == ']')
            return p + 1;
    }
    return end;
}

static bool is_capture(const char *p, const char *end)
{
    if (*p != '(' || end - p < 2 || p[1] != '?')
        return *p == '(';
    return end - p > 3 && p[2] == '<' && p[3] != '=' && p[3] != '!';
}

/* A reference may stand before its group: how many are there? */
static void count_captures(struct reader *r)
{
    const char *end = r->p.end;

    for (const char *p = r->p.text; p < end; p = skip(p, end))
        r->n_captures += is_capture(p, end);
    r->captures =
        mortise_escape_alloc(&r->p.escape, &r->arena, (size_t)r->n_captures + 1,
                             sizeof *r->captures);
}

/* ---- names of groups ----------------------------------------------------- */

static bool is_name_char(uint32_t c, bool first)
{
    bool letter = c < 128 && (c | 32) >= 'a' && (c | 32) <= 'z';

    return letter || c == '$' || c == '_' || c >= 128 ||
           (!first && c >= '0' && c <= '9');
}

/* NAME> at p; behind it. */
static const char *read_name(struct reader *r, const char *from, size_t *n)
{
    struct mortise_pattern *p = &r->p;

    p->p = from;
    while (p->p < p->end && *p->p != '>') {
        const char *at = p->p;

        if (!is_name_char(mortise_pattern_take(p), at == from))
            REFUSE(r, at,
                   "the name of a group can contain letters, digits, $ and _, "
                   "and cannot begin with a digit");
    }
    *n = (size_t)(p->p - from);
    if (*n == 0 || p->p == p->end)
        REFUSE(r, from, "the name of the group and > are missing");
    p->p++;
    return from;
}

/* The number of the group that has the name; 0: none. */
static uint32_t named(const struct reader *r, const char *name, size_t n,
                      uint32_t last)
{
    for (uint32_t i = 1; i <= last; i++)
        if (r->captures[i].name != NULL && r->captures[i].n_name == n &&
            memcmp(r->captures[i].name, name, n) == 0)
            return i;
    return 0;
}

/* Names are found beforehand, for references to groups further on. */
static void name_captures(struct reader *r)
{
    const char *end = r->p.end;
    uint32_t i = 0;

    for (const char *p = r->p.text; p < end; p = skip(p, end)) {
        struct capture *c;

        if (!is_capture(p, end))
            continue;
        c = &r->captures[++i];
        if (end - p < 2 || p[1] != '?')
            continue;
        c->name = read_name(r, p + 3, &c->n_name);
        if (named(r, c->name, c->n_name, i - 1) != 0)
            REFUSE(r, p, "two groups are named '%.*s'", (int)c->n_name,
                   c->name);
    }
    r->p.p = r->p.text;
}

/* ---- backreferences ------------------------------------------------------ */

static void put_reference(struct reader *r, const char *at, uint32_t number)
{
    const struct capture *c = &r->captures[number];

    if (r->behind > 0)
        EXCEED(r, at, "backreferences in a lookbehind are not supported");
    if (!c->closed || c->away) {
        put(r, "(?:)");
        return;
    }
    if (c->stale)
        EXCEED(r, at,
               "each round of a repetition resets that group, which is not "
               "supported");
    if (r->p.for_re2)
        mortise_pattern_beyond_re2(&r->p);
    for (uint32_t i = 0; i < r->n_open && c->skippable; i++)
        if (r->open[i].before < number && r->open[i].suspect == NULL)
            r->open[i].suspect = at;
    mortise_buf_printf(r->p.out, "\\g{%u}", (unsigned)number);
}

static void read_number(struct reader *r, const char *at)
{
    uint64_t n = 0;

    for (; peek(r, 0) >= '0' && peek(r, 0) <= '9'; r->p.p++)
        if (n <= r->n_captures)
            n = n * 10 + (uint64_t)(peek(r, 0) - '0');
    if (n > r->n_captures)
        REFUSE(r, at, "the backreference names a group that does not exist");
    put_reference(r, at, (uint32_t)n);
}

static void read_named(struct reader *r, const char *at)
{
    const char *name;
    uint32_t number;
    size_t n;

    if (peek(r, 0) != '<')
        REFUSE(r, at, "\\k needs a name: write \\k<name>");
    name = read_name(r, r->p.p + 1, &n);
    number = named(r, name, n, r->n_captures);
    if (number == 0)
        REFUSE(r, at, "no group is named '%.*s'", (int)n, name);
    put_reference(r, at, number);
}

/* ---- escapes ------------------------------------------------------------- */

/* The letters that others have. */
static const struct {
    char letter;
    const char *instead;
} foreign[] = {
    {'A', "write ^"},
    {'C', "write [^]"},
    {'E', "write a backslash before each character that needs one"},
    {'G', "write ^"},
    {'H', "write [^ \\t]"},
    {'K', "write (?<=...) around the part before it"},
    {'N', "write ."},
    {'Q', "write a backslash before each character that needs one"},
    {'R', "write (?:\\r\\n|[\\n\\r\\v\\f\\x85\\u2028\\u2029])"},
    {'U', "write the character or \\u{...}"},
    {'V', "write [^\\n\\v\\f\\r\\x85\\u2028\\u2029]"},
    {'X', "write the characters"},
    {'Z', "write $"},
    {'a', "write \\x07"},
    {'e', "write \\x1B"},
    {'g', "write \\1 or \\k<name>"},
    {'h', "write [ \\t]"},
    {'o', "write \\x and two digits"},
    {'z', "write $"},
};

static _Noreturn void refuse_escape(struct reader *r, const char *at)
{
    char c = at[1];

    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        if (foreign[i].letter == c)
            REFUSE(r, at, "\\%c is not supported: %s", c, foreign[i].instead);
    if (c >= '0' && c <= '9')
        REFUSE(r, at, "\\%c is not allowed here: write \\x and two digits", c);
    if ((unsigned char)c > 32 && (unsigned char)c < 127)
        REFUSE(r, at, "\\%c is not supported: write %c", c, c);
    REFUSE(r, at, "unknown escape: remove the backslash");
}

/* \u{...}, behind the u. */
static uint32_t read_braced(struct reader *r, const char *at)
{
    uint32_t c = 0, d;
    const char *from = ++r->p.p;

    while (c <= 0x10FFFF && mortise_pattern_digits(&r->p, 1, 16, &d))
        c = c * 16 + d;
    if (c > 0x10FFFF)
        REFUSE(r, at, "the last character is \\u{10FFFF}");
    if (r->p.p == from || peek(r, 0) != '}')
        REFUSE(r, at, "\\u{ needs hexadecimal digits and a closing }");
    r->p.p++;
    return c;
}

/* Behind \u: with the one behind it, if they are a pair. */
static uint32_t read_unicode(struct reader *r, const char *at)
{
    const char *back;
    uint32_t c, low;

    if (peek(r, 0) == '{')
        return read_braced(r, at);
    if (!mortise_pattern_digits(&r->p, 4, 16, &c))
        REFUSE(r, at, "\\u needs four hexadecimal digits, or digits in braces");
    back = r->p.p;
    if (c < 0xD800 || c > 0xDBFF || !mortise_pattern_at(&r->p, "\\u"))
        return c;
    r->p.p += 2;
    if (mortise_pattern_digits(&r->p, 4, 16, &low) && low >= 0xDC00 &&
        low <= 0xDFFF)
        return 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    r->p.p = back;
    return c;
}

static uint32_t read_control(struct reader *r, const char *at)
{
    uint32_t c = (unsigned char)peek(r, 0);

    if ((c | 32) < 'a' || (c | 32) > 'z')
        REFUSE(r, at, "\\c needs a letter after it");
    r->p.p++;
    return c & 31;
}

/* Behind a backslash and this letter: the character that they stand for. */
static uint32_t read_character(struct reader *r, const char *at, char c)
{
    static const char controls[] = "f\fn\nr\rt\tv\v";
    uint32_t hex;

    for (const char *p = controls; *p != '\0'; p += 2)
        if (*p == c)
            return (unsigned char)p[1];
    if (c == 'c')
        return read_control(r, at);
    if (c == 'u')
        return read_unicode(r, at);
    if (c == '0' && (peek(r, 0) < '0' || peek(r, 0) > '9'))
        return 0;
    if (c == 'x') {
        if (!mortise_pattern_digits(&r->p, 2, 16, &hex))
            REFUSE(r, at,
                   "\\x needs two hexadecimal digits; write \\u{...} for more");
        return hex;
    }
    if (c != '\0' && strchr("^$\\.*+?()[]{}|/", c) != NULL)
        return (unsigned char)c;
    refuse_escape(r, at);
}

/* ---- sets ---------------------------------------------------------------- */

static const uint32_t spaces[][2] = {
    {0x9, 0xD},       {0x20, 0x20},     {0xA0, 0xA0},     {0x1680, 0x1680},
    {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F},
    {0x3000, 0x3000}, {0xFEFF, 0xFEFF},
};

/* \s or \S, inside [ ]. */
static void put_spaces(struct reader *r, bool inverse)
{
    uint32_t from = 0;

    for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++) {
        if (inverse)
            mortise_pattern_put_range(&r->p, from, spaces[i][0] - 1);
        else
            mortise_pattern_put_range(&r->p, spaces[i][0], spaces[i][1]);
        from = spaces[i][1] + 1;
    }
    if (inverse)
        mortise_pattern_put_range(&r->p, from, 0x10FFFF);
}

/* Of \p{NAME=VALUE}, both of which end where their length says. */
static const char *property(const char *name, size_t n_name, const char *value,
                            size_t n_value, const char **kind)
{
    static const struct {
        const char *name, *kind;
    } kinds[] = {{"gc", ""},      {"General_Category", ""},
                 {"sc", "sc:"},   {"Script", "sc:"},
                 {"scx", "scx:"}, {"Script_Extensions", "scx:"}};

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strlen(kinds[i].name) != n_name ||
            memcmp(kinds[i].name, name, n_name) != 0)
            continue;
        *kind = kinds[i].kind;
        if (i < 2)
            return mortise_property_category(value, n_value, true);
        return mortise_property_script(value, n_value, true) ? value : NULL;
    }
    return NULL;
}

/* What PCRE2 calls it, and how much of that counts; NULL: there is none. */
static const char *lone_property(const char *name, size_t n)
{
    const char *found = mortise_property_category(name, n, true);

    if (found != NULL)
        return found;
    return n == 8 && memcmp(name, "Assigned", n) == 0
               ? "^Cn"
               : mortise_property_binary(name, n);
}

static _Noreturn void refuse_property(struct reader *r, const char *at,
                                      const char *name, size_t n)
{
    if (mortise_property_script(name, n, true))
        REFUSE(r, at, "\\p{%.*s} is a script: write \\p{Script=%.*s}", (int)n,
               name, (int)n, name);
    REFUSE(r, at, "Unicode has no property '%.*s'",
           (int)mortise_utf8_cut(name, n, 60), name);
}

/* Behind \p or \P. */
static void put_property(struct reader *r, const char *at, bool inverse)
{
    const char *name = r->p.p + 1, *close, *equals, *found, *kind = "";
    size_t n;

    close =
        peek(r, 0) == '{' ? memchr(name, '}', (size_t)(r->p.end - name)) : NULL;
    if (close == NULL)
        REFUSE(r, at, "\\p and \\P need {NAME} after them");
    n = (size_t)(close - name);
    equals = memchr(name, '=', n);
    if (equals == NULL)
        found = lone_property(name, n);
    else
        found = property(name, (size_t)(equals - name), equals + 1,
                         (size_t)(close - equals - 1), &kind);
    if (found == NULL)
        refuse_property(r, at, name, n);
    if (*found == '^') {
        inverse = !inverse;
        found++;
    }
    n = equals != NULL && found == equals + 1 ? (size_t)(close - found)
                                              : strlen(found);
    if (r->p.for_re2 && !mortise_property_in_re2(kind, found, n))
        mortise_pattern_beyond_re2(&r->p);
    mortise_pattern_put_property(&r->p, inverse, kind, found, n);
    r->p.p = close + 1;
}

/* \d \D \s \S \w \W \p \P, inside [ ]; false: it is none of them. */
static bool put_set(struct reader *r, const char *at, char c)
{
    bool inverse = c != '\0' && strchr("DSWP", c) != NULL;

    switch (c) {
    case 'd':
    case 'D':
        mortise_pattern_put_ascii(&r->p, mortise_ascii_digits, inverse, false);
        return true;
    case 'w':
    case 'W':
        mortise_pattern_put_ascii(&r->p, mortise_ascii_word, inverse, false);
        return true;
    case 's':
    case 'S':
        put_spaces(r, inverse);
        return true;
    case 'p':
    case 'P':
        put_property(r, at, inverse);
        return true;
    default:
        return false;
    }
}

/* ---- classes ------------------------------------------------------------- */

/* One character of a class into *c; false: it was a set, and is written. */
static bool read_member(struct reader *r, uint32_t *c)
{
    const char *at = r->p.p;
    char letter;

    if (*at != '\\') {
        *c = mortise_pattern_take(&r->p);
        return true;
    }
    if (r->p.end - at < 2)
        REFUSE(r, at, "a backslash needs a character after it");
    letter = at[1];
    r->p.p += 2;
    if (put_set(r, at, letter))
        return false;
    if (letter == 'B' || letter == 'k' || (letter >= '1' && letter <= '9'))
        REFUSE(r, at, "\\%c is not allowed inside a class", letter);
    *c = letter == 'b'   ? '\b'
         : letter == '-' ? '-'
                         : read_character(r, at, letter);
    return true;
}

static void read_range(struct reader *r, const char *open)
{
    const char *at = r->p.p;
    uint32_t a, b;
    bool first = read_member(r, &a), second;

    if (peek(r, 0) != '-' || peek(r, 1) == ']') {
        if (first)
            mortise_pattern_put_range(&r->p, a, a);
        return;
    }
    r->p.p++;
    if (r->p.p == r->p.end)
        REFUSE(r, open, "this class is not closed by ]");
    second = read_member(r, &b);
    if (!first || !second)
        REFUSE(r, at,
               "a range needs a character on both sides: write \\- for the "
               "character");
    if (a > b)
        REFUSE(r, at, "this range ends before it begins");
    mortise_pattern_put_range(&r->p, a, b);
}

static void read_class(struct reader *r)
{
    const char *open = r->p.p++;
    bool inverse = peek(r, 0) == '^';

    r->p.p += inverse;
    mortise_pattern_open_class(&r->p, inverse);
    while (peek(r, 0) != ']' || r->p.p == r->p.end) {
        if (r->p.p == r->p.end)
            REFUSE(r, open, "this class is not closed by ]");
        read_range(r, open);
    }
    r->p.p++;
    mortise_pattern_close_class(&r->p);
}

/* ---- groups -------------------------------------------------------------- */

/* What others write behind (?, the longest first. */
static const struct {
    const char *text, *instead;
} foreign_groups[] = {
    {"(?P<", "write (?<name>...)"},
    {"(?P=", "write \\k<name>"},
    {"(?P>", "patterns cannot call themselves"},
    {"(?'", "write (?<name>...)"},
    {"(?>", "remove it, or write (?:...)"},
    {"(?|", "write (?:...)"},
    {"(?#", "remove the comment"},
    {"(?(", "write both cases with |"},
    {"(?C", "remove it"},
    {"(?R", "patterns cannot call themselves"},
    {"(?&", "patterns cannot call themselves"},
    {"(?+", "patterns cannot call themselves"},
    {"(?i", "write both cases: [aA]"},
    {"(?s", "write [^] for any character"},
    {"(?m", "write (?:^|\\n)"},
    {"(*", "write \\( and \\* for the characters"},
};

static _Noreturn void refuse_group(struct reader *r, const char *at)
{
    for (size_t i = 0; i < sizeof foreign_groups / sizeof foreign_groups[0];
         i++)
        if (mortise_pattern_at(&r->p, foreign_groups[i].text))
            REFUSE(r, at, "%s is not supported: %s", foreign_groups[i].text,
                   foreign_groups[i].instead);
    REFUSE(r, at, "only : = ! <= <! and <name> are allowed after (?");
}

static void push(struct reader *r, struct group g)
{
    if (r->n_open == MORTISE_PATTERN_DEPTH)
        EXCEED(r, g.at, "groups are nested more than %d deep",
               MORTISE_PATTERN_DEPTH);
    g.before = g.branch = r->n_begun;
    g.weight = r->atom;
    r->n_open++;
    *top(r) = g;
}

/* The beginning of a group, with its name. */
static void open_group(struct reader *r)
{
    static const struct {
        const char *text;
        bool look, behind;
    } kinds[] = {{"(?:", false, false},
                 {"(?=", true, false},
                 {"(?!", true, false},
                 {"(?<=", true, true},
                 {"(?<!", true, true}};
    const char *at = r->p.p;

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (!mortise_pattern_at(&r->p, kinds[i].text))
            continue;
        if (kinds[i].look && r->p.for_re2)
            mortise_pattern_beyond_re2(&r->p);
        r->p.p += strlen(kinds[i].text);
        r->behind += kinds[i].behind;
        put(r, kinds[i].text);
        push(r, (struct group){.at = at, .look = kinds[i].look});
        return;
    }
    if (!is_capture(at, r->p.end) || mortise_pattern_at(&r->p, "(*"))
        refuse_group(r, at);
    push(r, (struct group){.at = at, .captures = true});
    r->n_begun++;
    top(r)->branch = r->n_begun;
    r->p.p++;
    if (peek(r, 0) == '?')
        r->p.p += 3 + r->captures[r->n_begun].n_name;
    put(r, "(");
}

static void next_branch(struct reader *r)
{
    struct group *g = top(r);

    for (uint32_t i = g->branch + 1; i <= r->n_begun; i++)
        r->captures[i].away = true;
    g->branch = r->n_begun;
    g->branches = true;
    g->may_be_empty |= !g->takes;
    g->takes = false;
    r->p.p++;
    put(r, "|");
}

/* The group is over: what stood in it is to be had from behind it. */
static void close_captures(struct reader *r, const struct group *g)
{
    uint32_t own = g->before + 1;

    for (uint32_t i = own; i <= r->n_begun; i++) {
        struct capture *c = &r->captures[i];

        c->away = false;
        c->closed = true;
        c->skippable |= g->branches && !(g->captures && i == own);
    }
}

/* What a repetition does to the captures in it: rule (2). */
static void repeat_captures(struct reader *r, const struct group *g,
                            struct mortise_repeat n)
{
    bool may_be_empty = g->may_be_empty || !g->takes;

    if (n.max > 1 && g->suspect != NULL)
        EXCEED(r, g->suspect,
               "each round of the repetition around it resets that group, "
               "which is not supported");
    for (uint32_t i = g->before + 1; i <= r->n_begun; i++) {
        struct capture *c = &r->captures[i];

        c->stale |= n.max > 1 && (c->skippable || may_be_empty);
        c->skippable |= n.min == 0;
    }
}

/* ---- repetitions --------------------------------------------------------- */

/* One of * + ? {n,m} and perhaps a ? behind it, taken; false: none comes. */
static bool read_repeat(struct reader *r, struct mortise_repeat *n, bool *lazy)
{
    static const struct {
        char sign;
        struct mortise_repeat n;
    } signs[] = {{'*', {0, MORTISE_PATTERN_MANY}},
                 {'+', {1, MORTISE_PATTERN_MANY}},
                 {'?', {0, 1}}};
    const char *at = r->p.p;
    bool found = mortise_pattern_counted(&r->p, true, n);

    for (size_t i = 0; i < sizeof signs / sizeof signs[0] && !found; i++) {
        if (at == r->p.end || *at != signs[i].sign)
            continue;
        *n = signs[i].n;
        r->p.p++;
        found = true;
    }
    if (!found)
        return false;
    if (n->min > n->max)
        REFUSE(r, at, "this repetition ends before it begins");
    if (n->min > MOST_REPEATS ||
        (n->max > MOST_REPEATS && n->max != MORTISE_PATTERN_MANY))
        EXCEED(r, at, "a count can be at most %d", MOST_REPEATS);
    *lazy = peek(r, 0) == '?';
    r->p.p += *lazy;
    if (peek(r, 0) == '+')
        REFUSE(r, r->p.p,
               "possessive repetitions are not supported: remove the second +");
    if (peek(r, 0) == '*' || peek(r, 0) == '?')
        REFUSE(
            r, r->p.p,
            "a repetition cannot be repeated directly: put a group around it");
    return true;
}

/* Behind an atom: how often, and does the branch take a character, then? */
static void finish_atom(struct reader *r, bool takes, const struct group *g)
{
    struct mortise_repeat n = {1, 1};
    bool lazy;

    if (read_repeat(r, &n, &lazy))
        mortise_pattern_put_repeat(&r->p, r->atom, n, lazy);
    if (g != NULL)
        repeat_captures(r, g, n);
    top(r)->takes |= takes && n.min > 0;
}

static void close_group(struct reader *r)
{
    struct group g = *top(r);

    if (r->n_open == 1)
        REFUSE(r, r->p.p, "no group is open here: write \\) for the character");
    close_captures(r, &g);
    r->n_open--;
    r->p.p++;
    put(r, ")");
    r->behind -= g.look && g.at[2] == '<';
    r->atom = g.weight;
    if (!g.look)
        finish_atom(r, g.takes && !g.may_be_empty, &g);
}

/* ---- the pattern --------------------------------------------------------- */

static void read_escape(struct reader *r)
{
    const char *at = r->p.p;
    char c;

    if (r->p.end - at < 2)
        REFUSE(r, at, "a backslash needs a character after it");
    c = at[1];
    r->p.p += 2;
    if (c == 'b' || c == 'B') {
        if (c == 'B' && r->p.for_re2)
            mortise_pattern_beyond_re2(&r->p);
        put(r, c == 'b' ? "\\b" : "\\B");
        return;
    }
    if (c >= '1' && c <= '9') {
        r->p.p--;
        read_number(r, at);
        finish_atom(r, false, NULL);
        return;
    }
    if (c == 'k') {
        read_named(r, at);
        finish_atom(r, false, NULL);
        return;
    }
    if (c != '\0' && strchr("dDsSwWpP", c) != NULL) {
        mortise_pattern_open_class(&r->p, false);
        put_set(r, at, c);
        mortise_pattern_close_class(&r->p);
    } else {
        mortise_pattern_put(&r->p, read_character(r, at, c));
    }
    finish_atom(r, true, NULL);
}

static void read_end(struct reader *r, const char *end)
{
    r->p.p++;
    put(r, end);
}

/* What POSIX names inside of a class, and what to write. */
static const struct {
    const char *name, *instead;
} posix[] = {
    {"alpha", "[a-zA-Z] or \\p{L}"},
    {"digit", "[0-9] or \\p{Nd}"},
    {"alnum", "[a-zA-Z0-9] or [\\p{L}\\p{N}]"},
    {"upper", "[A-Z] or \\p{Lu}"},
    {"lower", "[a-z] or \\p{Ll}"},
    {"space", "\\s"},
    {"blank", "[ \\t]"},
    {"punct", "\\p{P}"},
    {"cntrl", "\\p{Cc}"},
    {"graph", "[!-~]"},
    {"print", "[ -~]"},
    {"word", "\\w"},
    {"xdigit", "[0-9a-fA-F]"},
};

/* The ] that is too many behind a class that holds [:alpha:], which ECMA-262
 * closes at the first. */
static void refuse_posix(struct reader *r)
{
    const char *at = r->p.p;

    while (at > r->p.text && !(at[0] == '[' && at[1] == ':'))
        at--;
    for (size_t i = 0; i < sizeof posix / sizeof posix[0]; i++) {
        size_t n = strlen(posix[i].name);

        if (r->p.p - at < (ptrdiff_t)n + 4 ||
            memcmp(at + 2, posix[i].name, n) != 0 ||
            memcmp(at + 2 + n, ":]", 2) != 0)
            continue;
        REFUSE(r, at, "[:%s:] is not supported: write %s", posix[i].name,
               posix[i].instead);
    }
}

static _Noreturn void refuse_sign(struct reader *r, char c)
{
    if (c == ']')
        refuse_posix(r);
    if (c == ']' || c == '{' || c == '}')
        REFUSE(r, r->p.p,
               "a single %c is not allowed: write \\%c for the character", c,
               c);
    REFUSE(r, r->p.p,
           "nothing before %c can be repeated: write \\%c for the character", c,
           c);
}

/* Any character but the four that end a line. */
static void put_dot(struct reader *r)
{
    mortise_pattern_open_class(&r->p, true);
    mortise_pattern_put_range(&r->p, '\n', '\n');
    mortise_pattern_put_range(&r->p, '\r', '\r');
    mortise_pattern_put_range(&r->p, 0x2028, 0x2029);
    mortise_pattern_close_class(&r->p);
}

static void read_term(struct reader *r)
{
    char c = peek(r, 0);

    r->atom = r->p.weight;
    if (c == '\\') {
        read_escape(r);
    } else if (c == '(') {
        open_group(r);
    } else if (c == ')') {
        close_group(r);
    } else if (c == '|') {
        next_branch(r);
    } else if (c == '^') {
        read_end(r, "\\A");
    } else if (c == '$') {
        read_end(r, "\\z");
    } else if (c != '\0' && strchr("*+?]{}", c) != NULL) {
        refuse_sign(r, c);
    } else if (c == '[') {
        read_class(r);
        finish_atom(r, true, NULL);
    } else {
        if (c == '.')
            put_dot(r);
        else
            mortise_pattern_put(&r->p, mortise_pattern_take(&r->p));
        r->p.p += c == '.';
        finish_atom(r, true, NULL);
    }
}

static void read_pattern(void *arg)
{
    struct reader *r = arg;

    mortise_pattern_check_text(&r->p);
    count_captures(r);
    name_captures(r);
    push(r, (struct group){.at = r->p.text});
    while (r->p.p < r->p.end)
        read_term(r);
    if (r->n_open > 1)
        REFUSE(r, top(r)->at, "this group is not closed by )");
}

int mortise_ecma_translate(struct mortise_buf *out, const char *pattern,
                           size_t n, bool for_re2,
                           struct mortise_weight *weight,
                           struct mortise_err *err)
{
    struct reader r = {.p = {.escape.err = err,
                             .text = pattern,
                             .p = pattern,
                             .end = pattern + n,
                             .out = out,
                             .standard = "ECMA-262",
                             .for_re2 = for_re2}};
    int rv;

    mortise_arena_init(&r.arena, out->mem);
    rv = mortise_escapable(&r.p.escape, read_pattern, &r);
    mortise_arena_finish(&r.arena);
    *weight = r.p.weight;
    return rv == MORTISE_OK && out->failed ? mortise_nomem(err) : rv;
}
