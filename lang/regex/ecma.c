/* ecma.c -- translating ECMA-262 regular expressions to the syntax of RE2 or
 * PCRE2.
 *
 * The patterns of JSON Schema are those of ECMA-262 with the flag u.  Draft
 * 2020-12 refers to its 11th edition (2020), and so does this file, without
 * Annex B, which is for web browsers and not for that flag.  Then a schema has
 * the same meaning for every validator.  This file parses each pattern
 * completely, by the grammar, and writes it anew for one of two libraries:
 *
 *   RE2           in linear time.  It has no lookaround, no references, no \B
 *                 between characters, and not every property of Unicode.  The
 *                 reader stops at the first of these (MORTISE_EUNAVAILABLE).
 *   PCRE2         all of them, by backtracking, in bounded steps (regex.c).
 *
 * In both, the result has the meaning of ECMA-262:
 *
 *   .             any character except \n, \r, U+2028 and U+2029
 *   ^ $           the two ends of the text, not those of lines; no flag m
 *   \d \w \b      ASCII only; \s is WhiteSpace and LineTerminator, with U+FEFF
 *                 and all of Zs.  Classes contain the ranges themselves,
 *                 because PCRE2 could not exclude the characters of \S \D \W
 *                 there.
 *   \v \0 \cX     VT, NUL, a control character; \xHH \uHHHH \u{H...} a
 *                 character; two \u that form a surrogate pair are one
 *                 character.  A lone surrogate is in no text and never matches.
 *   [] [^]        nothing, and anything.  Inside, [ is literal; a range is
 *                 between two characters.
 *   (?= (?! (?<= (?<!   all four; PCRE2 looks behind for a fixed length only
 *   (?<n> \k<n>   groups have any ECMA name: PCRE2 gets their numbers
 *   \p{...}       the exact names of Unicode (properties.c); Script= differs
 *                 from Script_Extensions=
 *
 * Everything outside the grammar is an error with its place and an alternative:
 * letters of PCRE2 (\A \Z \G \K \R \h \Q), its groups ((?> (?| (?# (?i),
 * recursion, conditions, callouts), possessive repetitions, (*VERBS).
 * [[:alpha:]] is a class of these characters and one ] too many.
 *
 * Backreferences differ most between the two.  At the start of each round of a
 * repetition, ECMA clears the groups inside it, and it never takes a round that
 * matches nothing.  PCRE2 does neither.
 *
 *   (1) A reference to a later group, to a group that is not closed yet or to
 *       one in another branch is always empty in ECMA, and is written so.
 *   (2) A reference to a group for which PCRE2 might keep the text of an
 *       earlier round is refused: from after the repetition, if a round may
 *       skip the group or be empty; from inside it, if something else in the
 *       round may skip the group.
 *   (3) In a lookbehind, which ECMA matches backwards, references are refused.
 */
#include "lang/regex/ecma.h"

#include <string.h>

#include "lang/regex/pattern.h"
#include "core/base/utf8.h"

enum { MOST_REPEATS = 65535 }; /* PCRE2's largest count */

/* A capturing group. */
struct capture {
    const char *name; /* NULL: none */
    size_t n_name;
    bool closed;
    bool away;      /* in another branch of an open group */
    bool skippable; /* the construct around it may match without it */
    bool stale;     /* PCRE2 may keep its text from an earlier round */
};

/* An open group; the first is the whole pattern. */
struct group {
    const char *at;
    uint32_t before;     /* number of captures that began before it */
    uint32_t branch;     /* the same, before its last branch */
    bool captures, look; /* look: a lookaround assertion */
    bool branches;       /* it has several branches */
    bool may_be_empty;   /* an earlier branch may match the empty text */
    bool takes;          /* its last branch matches at least one character */
    const char *suspect; /* a reference that rule (2) forbids if this group
                          * repeats */
    struct mortise_weight weight; /* weight of the pattern before it */
};

struct reader {
    struct mortise_pattern p;
    struct mortise_arena arena;
    struct capture *captures; /* [0] is unused */
    uint32_t n_captures;      /* of the whole pattern */
    uint32_t n_begun;
    uint32_t behind;            /* number of open lookbehinds */
    struct mortise_weight atom; /* weight of the pattern before the current
                                 * atom */
    struct group open[MORTISE_PATTERN_DEPTH];
    uint32_t n_open;
};

#define REFUSE(r, at, ...)                                                     \
    mortise_pattern_fail_invalid(&(r)->p, at, __VA_ARGS__)
#define EXCEED(r, at, ...)                                                     \
    mortise_pattern_fail_unsupported(&(r)->p, at, __VA_ARGS__)

static struct group *get_ecma_group(struct reader *r)
{
    return &r->open[r->n_open - 1];
}

static char peek_ecma(const struct reader *r, size_t ahead)
{
    return mortise_pattern_peek(&r->p, ahead);
}

static void put_ecma_text(struct reader *r, const char *text)
{
    mortise_buf_puts(r->p.out, text);
}

/* ---- captures ------------------------------------------------------------ */

/* The end of the class, the escape or the character at p. */
static const char *skip_ecma_item(const char *p, const char *end)
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

static bool is_capture_start(const char *p, const char *end)
{
    if (*p != '(' || end - p < 2 || p[1] != '?')
        return *p == '(';
    return end - p > 3 && p[2] == '<' && p[3] != '=' && p[3] != '!';
}

/* Count the groups first, because a reference may precede its group. */
static void count_captures(struct reader *r)
{
    const char *end = r->p.end;

    for (const char *p = r->p.text; p < end; p = skip_ecma_item(p, end))
        r->n_captures += is_capture_start(p, end);
    r->captures =
        mortise_escape_alloc(&r->p.escape, &r->arena, (size_t)r->n_captures + 1,
                             sizeof *r->captures);
}

/* ---- names of groups ----------------------------------------------------- */

static bool is_ecma_name_char(uint32_t c, bool first)
{
    bool letter = c < 128 && (c | 32) >= 'a' && (c | 32) <= 'z';

    return letter || c == '$' || c == '_' || c >= 128 ||
           (!first && c >= '0' && c <= '9');
}

/* Read NAME> at `from`; *n is the length of NAME. */
static const char *read_ecma_name(struct reader *r, const char *from, size_t *n)
{
    struct mortise_pattern *p = &r->p;

    p->p = from;
    while (p->p < p->end && *p->p != '>') {
        const char *at = p->p;

        if (!is_ecma_name_char(mortise_pattern_read_char(p), at == from))
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

/* The number of the group with this name; 0: none. */
static uint32_t find_named_group(const struct reader *r, const char *name,
                                 size_t n, uint32_t last)
{
    for (uint32_t i = 1; i <= last; i++)
        if (r->captures[i].name != NULL && r->captures[i].n_name == n &&
            memcmp(r->captures[i].name, name, n) == 0)
            return i;
    return 0;
}

/* Read the names first, because a reference may precede its group. */
static void name_captures(struct reader *r)
{
    const char *end = r->p.end;
    uint32_t i = 0;

    for (const char *p = r->p.text; p < end; p = skip_ecma_item(p, end)) {
        struct capture *c;

        if (!is_capture_start(p, end))
            continue;
        c = &r->captures[++i];
        if (end - p < 2 || p[1] != '?')
            continue;
        c->name = read_ecma_name(r, p + 3, &c->n_name);
        if (find_named_group(r, c->name, c->n_name, i - 1) != 0)
            REFUSE(r, p, "two groups are named '%.*s'", (int)c->n_name,
                   c->name);
    }
    r->p.p = r->p.text;
}

/* ---- backreferences ------------------------------------------------------ */

static void put_ecma_reference(struct reader *r, const char *at,
                               uint32_t number)
{
    const struct capture *c = &r->captures[number];

    if (r->behind > 0)
        EXCEED(r, at, "backreferences in a lookbehind are not supported");
    if (!c->closed || c->away) {
        put_ecma_text(r, "(?:)");
        return;
    }
    if (c->stale)
        EXCEED(r, at,
               "each round of a repetition resets that group, which is not "
               "supported");
    if (r->p.for_re2)
        mortise_pattern_fail_re2(&r->p);
    for (uint32_t i = 0; i < r->n_open && c->skippable; i++)
        if (r->open[i].before < number && r->open[i].suspect == NULL)
            r->open[i].suspect = at;
    mortise_buf_printf(r->p.out, "\\g{%u}", (unsigned)number);
}

static void read_numbered_reference(struct reader *r, const char *at)
{
    uint64_t n = 0;

    for (; peek_ecma(r, 0) >= '0' && peek_ecma(r, 0) <= '9'; r->p.p++)
        if (n <= r->n_captures)
            n = n * 10 + (uint64_t)(peek_ecma(r, 0) - '0');
    if (n > r->n_captures)
        REFUSE(r, at, "the backreference names a group that does not exist");
    put_ecma_reference(r, at, (uint32_t)n);
}

static void read_named_reference(struct reader *r, const char *at)
{
    const char *name;
    uint32_t number;
    size_t n;

    if (peek_ecma(r, 0) != '<')
        REFUSE(r, at, "\\k needs a name: write \\k<name>");
    name = read_ecma_name(r, r->p.p + 1, &n);
    number = find_named_group(r, name, n, r->n_captures);
    if (number == 0)
        REFUSE(r, at, "no group is named '%.*s'", (int)n, name);
    put_ecma_reference(r, at, number);
}

/* ---- escapes ------------------------------------------------------------- */

/* Letters of other dialects, and alternatives. */
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

static _Noreturn void refuse_ecma_escape(struct reader *r, const char *at)
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

/* \u{...}, after the u. */
static uint32_t read_braced_unicode(struct reader *r, const char *at)
{
    uint32_t c = 0, d;
    const char *from = ++r->p.p;

    while (c <= 0x10FFFF && mortise_pattern_read_digits(&r->p, 1, 16, &d))
        c = c * 16 + d;
    if (c > 0x10FFFF)
        REFUSE(r, at, "the last character is \\u{10FFFF}");
    if (r->p.p == from || peek_ecma(r, 0) != '}')
        REFUSE(r, at, "\\u{ needs hexadecimal digits and a closing }");
    r->p.p++;
    return c;
}

/* After \u; includes a second \u of a surrogate pair. */
static uint32_t read_unicode_escape(struct reader *r, const char *at)
{
    const char *back;
    uint32_t c, low;

    if (peek_ecma(r, 0) == '{')
        return read_braced_unicode(r, at);
    if (!mortise_pattern_read_digits(&r->p, 4, 16, &c))
        REFUSE(r, at, "\\u needs four hexadecimal digits, or digits in braces");
    back = r->p.p;
    if (c < 0xD800 || c > 0xDBFF || !mortise_pattern_is_next(&r->p, "\\u"))
        return c;
    r->p.p += 2;
    if (mortise_pattern_read_digits(&r->p, 4, 16, &low) && low >= 0xDC00 &&
        low <= 0xDFFF)
        return 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    r->p.p = back;
    return c;
}

static uint32_t read_control_escape(struct reader *r, const char *at)
{
    uint32_t c = (unsigned char)peek_ecma(r, 0);

    if ((c | 32) < 'a' || (c | 32) > 'z')
        REFUSE(r, at, "\\c needs a letter after it");
    r->p.p++;
    return c & 31;
}

/* The character for a backslash and this letter, which were read. */
static uint32_t read_ecma_character(struct reader *r, const char *at, char c)
{
    static const char controls[] = "f\fn\nr\rt\tv\v";
    uint32_t hex;

    for (const char *p = controls; *p != '\0'; p += 2)
        if (*p == c)
            return (unsigned char)p[1];
    if (c == 'c')
        return read_control_escape(r, at);
    if (c == 'u')
        return read_unicode_escape(r, at);
    if (c == '0' && (peek_ecma(r, 0) < '0' || peek_ecma(r, 0) > '9'))
        return 0;
    if (c == 'x') {
        if (!mortise_pattern_read_digits(&r->p, 2, 16, &hex))
            REFUSE(r, at,
                   "\\x needs two hexadecimal digits; write \\u{...} for more");
        return hex;
    }
    if (c != '\0' && strchr("^$\\.*+?()[]{}|/", c) != NULL)
        return (unsigned char)c;
    refuse_ecma_escape(r, at);
}

/* ---- sets ---------------------------------------------------------------- */

static const uint32_t spaces[][2] = {
    {0x9, 0xD},       {0x20, 0x20},     {0xA0, 0xA0},     {0x1680, 0x1680},
    {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F},
    {0x3000, 0x3000}, {0xFEFF, 0xFEFF},
};

/* \s or \S, in a class. */
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

/* PCRE2's name for \p{NAME=VALUE}, whose parts are not NUL-terminated; NULL:
 * none. */
static const char *find_valued_property(const char *name, size_t n_name,
                                        const char *value, size_t n_value,
                                        const char **kind)
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
            return mortise_property_find_category(value, n_value, true);
        return mortise_property_is_script(value, n_value, true) ? value : NULL;
    }
    return NULL;
}

/* PCRE2's name for \p{NAME}; NULL: none. */
static const char *find_lone_property(const char *name, size_t n)
{
    const char *found = mortise_property_find_category(name, n, true);

    if (found != NULL)
        return found;
    return n == 8 && memcmp(name, "Assigned", n) == 0
               ? "^Cn"
               : mortise_property_find_binary(name, n);
}

static _Noreturn void refuse_ecma_property(struct reader *r, const char *at,
                                           const char *name, size_t n)
{
    if (mortise_property_is_script(name, n, true))
        REFUSE(r, at, "\\p{%.*s} is a script: write \\p{Script=%.*s}", (int)n,
               name, (int)n, name);
    REFUSE(r, at, "Unicode has no property '%.*s'",
           (int)mortise_utf8_get_prefix_size(name, n, 60), name);
}

/* After \p or \P. */
static void put_ecma_property(struct reader *r, const char *at, bool inverse)
{
    const char *name = r->p.p + 1, *close, *equals, *found, *kind = "";
    size_t n;

    close = peek_ecma(r, 0) == '{'
                ? memchr(name, '}', (size_t)(r->p.end - name))
                : NULL;
    if (close == NULL)
        REFUSE(r, at, "\\p and \\P need {NAME} after them");
    n = (size_t)(close - name);
    equals = memchr(name, '=', n);
    if (equals == NULL)
        found = find_lone_property(name, n);
    else
        found = find_valued_property(name, (size_t)(equals - name), equals + 1,
                                     (size_t)(close - equals - 1), &kind);
    if (found == NULL)
        refuse_ecma_property(r, at, name, n);
    if (*found == '^') {
        inverse = !inverse;
        found++;
    }
    n = equals != NULL && found == equals + 1 ? (size_t)(close - found)
                                              : strlen(found);
    if (r->p.for_re2 && !mortise_property_is_in_re2(kind, found, n))
        mortise_pattern_fail_re2(&r->p);
    mortise_pattern_put_property(&r->p, inverse, kind, found, n);
    r->p.p = close + 1;
}

/* \d \D \s \S \w \W \p \P, in a class; false: another letter. */
static bool put_ecma_set(struct reader *r, const char *at, char c)
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
        put_ecma_property(r, at, inverse);
        return true;
    default:
        return false;
    }
}

/* ---- classes ------------------------------------------------------------- */

/* Read a character of a class into *c; false: it was a set, which is
 * written. */
static bool read_ecma_member(struct reader *r, uint32_t *c)
{
    const char *at = r->p.p;
    char letter;

    if (*at != '\\') {
        *c = mortise_pattern_read_char(&r->p);
        return true;
    }
    if (r->p.end - at < 2)
        REFUSE(r, at, "a backslash needs a character after it");
    letter = at[1];
    r->p.p += 2;
    if (put_ecma_set(r, at, letter))
        return false;
    if (letter == 'B' || letter == 'k' || (letter >= '1' && letter <= '9'))
        REFUSE(r, at, "\\%c is not allowed inside a class", letter);
    *c = letter == 'b'   ? '\b'
         : letter == '-' ? '-'
                         : read_ecma_character(r, at, letter);
    return true;
}

static void read_ecma_range(struct reader *r, const char *open)
{
    const char *at = r->p.p;
    uint32_t a, b;
    bool first = read_ecma_member(r, &a), second;

    if (peek_ecma(r, 0) != '-' || peek_ecma(r, 1) == ']') {
        if (first)
            mortise_pattern_put_range(&r->p, a, a);
        return;
    }
    r->p.p++;
    if (r->p.p == r->p.end)
        REFUSE(r, open, "this class is not closed by ]");
    second = read_ecma_member(r, &b);
    if (!first || !second)
        REFUSE(r, at,
               "a range needs a character on both sides: write \\- for the "
               "character");
    if (a > b)
        REFUSE(r, at, "this range ends before it begins");
    mortise_pattern_put_range(&r->p, a, b);
}

static void read_ecma_class(struct reader *r)
{
    const char *open = r->p.p++;
    bool inverse = peek_ecma(r, 0) == '^';

    r->p.p += inverse;
    mortise_pattern_open_class(&r->p, inverse);
    while (peek_ecma(r, 0) != ']' || r->p.p == r->p.end) {
        if (r->p.p == r->p.end)
            REFUSE(r, open, "this class is not closed by ]");
        read_ecma_range(r, open);
    }
    r->p.p++;
    mortise_pattern_close_class(&r->p);
}

/* ---- groups -------------------------------------------------------------- */

/* Groups of other dialects, longest first, and alternatives. */
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

static _Noreturn void refuse_ecma_group(struct reader *r, const char *at)
{
    for (size_t i = 0; i < sizeof foreign_groups / sizeof foreign_groups[0];
         i++)
        if (mortise_pattern_is_next(&r->p, foreign_groups[i].text))
            REFUSE(r, at, "%s is not supported: %s", foreign_groups[i].text,
                   foreign_groups[i].instead);
    REFUSE(r, at, "only : = ! <= <! and <name> are allowed after (?");
}

static void push_ecma_group(struct reader *r, struct group g)
{
    if (r->n_open == MORTISE_PATTERN_DEPTH)
        EXCEED(r, g.at, "groups are nested more than %d deep",
               MORTISE_PATTERN_DEPTH);
    g.before = g.branch = r->n_begun;
    g.weight = r->atom;
    r->n_open++;
    *get_ecma_group(r) = g;
}

/* The start of a group, with its name. */
static void open_ecma_group(struct reader *r)
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
        if (!mortise_pattern_is_next(&r->p, kinds[i].text))
            continue;
        if (kinds[i].look && r->p.for_re2)
            mortise_pattern_fail_re2(&r->p);
        r->p.p += strlen(kinds[i].text);
        r->behind += kinds[i].behind;
        put_ecma_text(r, kinds[i].text);
        push_ecma_group(r, (struct group){.at = at, .look = kinds[i].look});
        return;
    }
    if (!is_capture_start(at, r->p.end) || mortise_pattern_is_next(&r->p, "(*"))
        refuse_ecma_group(r, at);
    push_ecma_group(r, (struct group){.at = at, .captures = true});
    r->n_begun++;
    get_ecma_group(r)->branch = r->n_begun;
    r->p.p++;
    if (peek_ecma(r, 0) == '?')
        r->p.p += 3 + r->captures[r->n_begun].n_name;
    put_ecma_text(r, "(");
}

static void start_next_branch(struct reader *r)
{
    struct group *g = get_ecma_group(r);

    for (uint32_t i = g->branch + 1; i <= r->n_begun; i++)
        r->captures[i].away = true;
    g->branch = r->n_begun;
    g->branches = true;
    g->may_be_empty |= !g->takes;
    g->takes = false;
    r->p.p++;
    put_ecma_text(r, "|");
}

/* The group is closed: references to captures in it are possible now. */
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

/* Update the captures in a repeated group: rule (2). */
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

/* Read one of * + ? {n,m} and an optional ? after it; false: there is none. */
static bool read_ecma_repeat(struct reader *r, struct mortise_repeat *n,
                             bool *lazy)
{
    static const struct {
        char sign;
        struct mortise_repeat n;
    } signs[] = {{'*', {0, MORTISE_PATTERN_MANY}},
                 {'+', {1, MORTISE_PATTERN_MANY}},
                 {'?', {0, 1}}};
    const char *at = r->p.p;
    bool found = mortise_pattern_read_repeat(&r->p, true, n);

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
    *lazy = peek_ecma(r, 0) == '?';
    r->p.p += *lazy;
    if (peek_ecma(r, 0) == '+')
        REFUSE(r, r->p.p,
               "possessive repetitions are not supported: remove the second +");
    if (peek_ecma(r, 0) == '*' || peek_ecma(r, 0) == '?')
        REFUSE(
            r, r->p.p,
            "a repetition cannot be repeated directly: put a group around it");
    return true;
}

/* After an atom: read its repetition.  `takes`: the atom matches a
 * character. */
static void finish_ecma_atom(struct reader *r, bool takes,
                             const struct group *g)
{
    struct mortise_repeat n = {1, 1};
    bool lazy;

    if (read_ecma_repeat(r, &n, &lazy))
        mortise_pattern_put_repeat(&r->p, r->atom, n, lazy);
    if (g != NULL)
        repeat_captures(r, g, n);
    get_ecma_group(r)->takes |= takes && n.min > 0;
}

static void close_ecma_group(struct reader *r)
{
    struct group g = *get_ecma_group(r);

    if (r->n_open == 1)
        REFUSE(r, r->p.p, "no group is open here: write \\) for the character");
    close_captures(r, &g);
    r->n_open--;
    r->p.p++;
    put_ecma_text(r, ")");
    r->behind -= g.look && g.at[2] == '<';
    r->atom = g.weight;
    if (!g.look)
        finish_ecma_atom(r, g.takes && !g.may_be_empty, &g);
}

/* ---- the pattern --------------------------------------------------------- */

static void read_ecma_escape(struct reader *r)
{
    const char *at = r->p.p;
    char c;

    if (r->p.end - at < 2)
        REFUSE(r, at, "a backslash needs a character after it");
    c = at[1];
    r->p.p += 2;
    if (c == 'b' || c == 'B') {
        if (c == 'B' && r->p.for_re2)
            mortise_pattern_fail_re2(&r->p);
        put_ecma_text(r, c == 'b' ? "\\b" : "\\B");
        return;
    }
    if (c >= '1' && c <= '9') {
        r->p.p--;
        read_numbered_reference(r, at);
        finish_ecma_atom(r, false, NULL);
        return;
    }
    if (c == 'k') {
        read_named_reference(r, at);
        finish_ecma_atom(r, false, NULL);
        return;
    }
    if (c != '\0' && strchr("dDsSwWpP", c) != NULL) {
        mortise_pattern_open_class(&r->p, false);
        put_ecma_set(r, at, c);
        mortise_pattern_close_class(&r->p);
    } else {
        mortise_pattern_put_char(&r->p, read_ecma_character(r, at, c));
    }
    finish_ecma_atom(r, true, NULL);
}

static void read_text_end(struct reader *r, const char *end)
{
    r->p.p++;
    put_ecma_text(r, end);
}

/* POSIX classes, and alternatives. */
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

/* Report a superfluous ] after a class with [:alpha:], because ECMA-262 ends
 * the class at the first ]. */
static void refuse_posix_class(struct reader *r)
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
        refuse_posix_class(r);
    if (c == ']' || c == '{' || c == '}')
        REFUSE(r, r->p.p,
               "a single %c is not allowed: write \\%c for the character", c,
               c);
    REFUSE(r, r->p.p,
           "nothing before %c can be repeated: write \\%c for the character", c,
           c);
}

/* Any character except the four line terminators. */
static void put_ecma_dot(struct reader *r)
{
    mortise_pattern_open_class(&r->p, true);
    mortise_pattern_put_range(&r->p, '\n', '\n');
    mortise_pattern_put_range(&r->p, '\r', '\r');
    mortise_pattern_put_range(&r->p, 0x2028, 0x2029);
    mortise_pattern_close_class(&r->p);
}

static void read_ecma_term(struct reader *r)
{
    char c = peek_ecma(r, 0);

    r->atom = r->p.weight;
    if (c == '\\') {
        read_ecma_escape(r);
    } else if (c == '(') {
        open_ecma_group(r);
    } else if (c == ')') {
        close_ecma_group(r);
    } else if (c == '|') {
        start_next_branch(r);
    } else if (c == '^') {
        read_text_end(r, "\\A");
    } else if (c == '$') {
        read_text_end(r, "\\z");
    } else if (c != '\0' && strchr("*+?]{}", c) != NULL) {
        refuse_sign(r, c);
    } else if (c == '[') {
        read_ecma_class(r);
        finish_ecma_atom(r, true, NULL);
    } else {
        if (c == '.')
            put_ecma_dot(r);
        else
            mortise_pattern_put_char(&r->p, mortise_pattern_read_char(&r->p));
        r->p.p += c == '.';
        finish_ecma_atom(r, true, NULL);
    }
}

static void read_ecma_pattern(void *arg)
{
    struct reader *r = arg;

    mortise_pattern_check_text(&r->p);
    count_captures(r);
    name_captures(r);
    push_ecma_group(r, (struct group){.at = r->p.text});
    while (r->p.p < r->p.end)
        read_ecma_term(r);
    if (r->n_open > 1)
        REFUSE(r, get_ecma_group(r)->at, "this group is not closed by )");
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
    rv = mortise_escape_catch(&r.p.escape, read_ecma_pattern, &r);
    mortise_arena_finish(&r.arena);
    *weight = r.p.weight;
    return rv == MORTISE_OK && out->failed ? mortise_nomem(err) : rv;
}
