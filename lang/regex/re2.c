/* re2.c -- parsing RE2 regular expressions before RE2 compiles them.
 *
 * CEL's `matches` is defined by RE2, whose language is limited to automata: no
 * lookaround, no backreferences, no possessive or atomic groups.  This file
 * parses each pattern completely, by RE2's syntax.  It reports errors with an
 * alternative, counts the amount of work, and writes the pattern anew:
 *
 *   .              any character except \n; with (?s) any character
 *   ^ $ \A \z      the ends of the text; with (?m), ^ and $ are those of lines,
 *                  also after a final \n
 *   \d \w \b       ASCII only; \s is [\t\n\f\r ], without \v
 *   \v \a \123     one character each; \x7F and \x{10FFFF}; \Q...\E
 *   [[:alpha:]]    POSIX classes, of ASCII; ] first in a class is literal
 *   \pL \p{Greek}  general categories by their short names, and scripts,
 *                  without their extensions
 *   x{n,m}         up to 1000, nested ones multiplied; other braces are literal
 *   (?P<n> (?<n>   groups; their text is not needed, so RE2 gets no captures
 *   (?imsU-imsU)   flags, up to the end of their group; with (?i), letters
 *                  fold as in Unicode, in classes too
 *
 * Everything that RE2 refuses is refused, and also \C, which could split a
 * character. \B is RE2's, which also matches between the bytes of a character.
 */
#include "lang/regex/re2.h"

#include <string.h>

#include "core/base/digit.h"
#include "lang/regex/pattern.h"
#include "core/base/utf8.h"

enum { MOST_REPEATS = 1000 };

struct flags {
    bool fold, lines, dot_all, ungreedy;
};

struct group {
    const char *at;
    struct flags flags; /* those around the group */
    uint32_t repeats;   /* the largest number of repetitions of a part in it */
    struct mortise_weight before;
};

struct reader {
    struct mortise_pattern p;
    struct flags flags;
    struct mortise_weight before; /* weight before the current atom */
    struct group open[MORTISE_PATTERN_DEPTH];
    uint32_t n_open;
};

#define REFUSE(r, at, ...)                                                     \
    mortise_pattern_fail_invalid(&(r)->p, at, __VA_ARGS__)
#define EXCEED(r, at, ...)                                                     \
    mortise_pattern_fail_unsupported(&(r)->p, at, __VA_ARGS__)

static struct group *get_re2_group(struct reader *r)
{
    return &r->open[r->n_open - 1];
}

static char peek_re2(const struct reader *r, size_t ahead)
{
    return mortise_pattern_peek(&r->p, ahead);
}

static void put_re2_text(struct reader *r, const char *text)
{
    mortise_buf_puts(r->p.out, text);
}

/* ---- repetitions --------------------------------------------------------- */

static bool read_re2_repeat(struct reader *r, struct mortise_repeat *n)
{
    static const struct {
        char sign;
        struct mortise_repeat n;
    } signs[] = {{'*', {0, MORTISE_PATTERN_MANY}},
                 {'+', {1, MORTISE_PATTERN_MANY}},
                 {'?', {0, 1}}};

    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        if (r->p.p == r->p.end || *r->p.p != signs[i].sign)
            continue;
        *n = signs[i].n;
        r->p.p++;
        return true;
    }
    return mortise_pattern_read_repeat(&r->p, false, n);
}

/* The number of copies; * + ? make none. */
static uint32_t get_repeat_copies(struct reader *r, const char *at,
                                  struct mortise_repeat n)
{
    if (*at != '{')
        return 1;
    if (n.min > MOST_REPEATS ||
        (n.max > MOST_REPEATS && n.max != MORTISE_PATTERN_MANY))
        REFUSE(r, at, "a count can be at most %d", MOST_REPEATS);
    if (n.min > n.max)
        REFUSE(r, at, "this repetition ends before it begins");
    return n.max == MORTISE_PATTERN_MANY ? n.min : n.max;
}

/* A repetition cannot be repeated, except in a group. */
static void check_single_repeat(struct reader *r)
{
    const char *at = r->p.p;
    struct mortise_repeat n;

    if (!read_re2_repeat(r, &n))
        return;
    if (*at == '+')
        REFUSE(r, at,
               "possessive repetitions are not supported: remove the second +");
    REFUSE(r, at,
           "a repetition cannot be repeated directly: put a group around it");
}

/* After an atom: read its repetition.  `repeats`: the repetitions inside it. */
static void finish_re2_atom(struct reader *r, uint32_t repeats)
{
    const char *at = r->p.p;
    struct mortise_repeat n;
    uint32_t count;

    if (read_re2_repeat(r, &n)) {
        bool lazy = peek_re2(r, 0) == '?';

        r->p.p += lazy;
        count = get_repeat_copies(r, at, n);
        if (count > 1 && repeats > MOST_REPEATS / count)
            REFUSE(r, at,
                   "the counts of nested repetitions multiply to more than %d",
                   MOST_REPEATS);
        repeats *= count > 1 ? count : 1;
        mortise_pattern_put_repeat(&r->p, r->before, n,
                                   lazy != r->flags.ungreedy);
        check_single_repeat(r);
    }
    if (repeats > get_re2_group(r)->repeats)
        get_re2_group(r)->repeats = repeats;
}

/* ---- escapes ------------------------------------------------------------- */

static const struct {
    char letter;
    const char *instead;
} foreign[] = {
    {'C', "write (?s:.), which matches a whole character"},
    {'E', "it ends a \\Q, but none is open"},
    {'G', "write ^"},
    {'H', "write [^\\t ]"},
    {'K', "remove it: the start of the match is not used"},
    {'N', "write [^\\n]"},
    {'R', "write (?:\\r\\n|[\\n\\r\\v\\f\\x{85}\\x{2028}\\x{2029}])"},
    {'V', "write [^\\n\\v\\f\\r\\x{85}\\x{2028}\\x{2029}]"},
    {'X', "write the characters"},
    {'Z', "write \\n?\\z"},
    {'c', "write \\x and two digits"},
    {'e', "write \\x1B"},
    {'g', "RE2 has no backreferences"},
    {'h', "write [\\t ]"},
    {'k', "RE2 has no backreferences"},
    {'o', "write \\x{...}"},
    {'u', "write \\x{...}"},
};

static _Noreturn void refuse_re2_escape(struct reader *r, const char *at)
{
    char c = at[1];

    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        if (foreign[i].letter == c)
            REFUSE(r, at, "\\%c is not supported: %s", c, foreign[i].instead);
    if (c >= '1' && c <= '9')
        REFUSE(r, at, "RE2 has no backreferences");
    REFUSE(r, at, "unknown escape: remove the backslash");
}

/* After \x. */
static uint32_t read_hex_escape(struct reader *r, const char *at)
{
    uint32_t c = 0, d;
    const char *from;

    if (peek_re2(r, 0) != '{') {
        if (!mortise_pattern_read_digits(&r->p, 2, 16, &c))
            REFUSE(r, at,
                   "\\x needs two hexadecimal digits, or digits in braces");
        return c;
    }
    from = ++r->p.p;
    while (c <= 0x10FFFF && mortise_pattern_read_digits(&r->p, 1, 16, &d))
        c = c * 16 + d;
    if (c > 0x10FFFF || r->p.p == from || peek_re2(r, 0) != '}')
        REFUSE(
            r, at,
            "\\x{ needs hexadecimal digits, at most 10FFFF, and a closing }");
    r->p.p++;
    return c;
}

/* \0, \12, \123: at the first digit. */
static uint32_t read_octal_escape(struct reader *r, const char *at)
{
    uint32_t c = 0, d;
    char next = peek_re2(r, 1);

    if (peek_re2(r, 0) != '0' && (next < '0' || next > '7'))
        refuse_re2_escape(r, at); /* it is a backreference */
    for (int i = 0; i < 3 && mortise_pattern_read_digits(&r->p, 1, 8, &d); i++)
        c = c * 8 + d;
    return c;
}

/* After a backslash: the character of the escape. */
static uint32_t read_re2_character(struct reader *r, const char *at)
{
    static const char controls[] = "a\af\fn\nr\rt\tv\v";
    char c = peek_re2(r, 0);

    if (c >= '0' && c <= '7')
        return read_octal_escape(r, at);
    r->p.p++;
    for (const char *p = controls; *p != '\0'; p += 2)
        if (*p == c)
            return (unsigned char)p[1];
    if (c == 'x')
        return read_hex_escape(r, at);
    if ((unsigned char)c >= 128 || (c >= '0' && c <= '9') ||
        ((c | 32) >= 'a' && (c | 32) <= 'z'))
        refuse_re2_escape(r, at);
    return (unsigned char)c;
}

/* ---- sets ---------------------------------------------------------------- */

static const struct {
    const char *name;
    struct mortise_ascii set;
} posix[] = {
    {"alnum", {{0x03FF000000000000, 0x07FFFFFE07FFFFFE}}},
    {"alpha", {{0, 0x07FFFFFE07FFFFFE}}},
    {"ascii", {{UINT64_MAX, UINT64_MAX}}},
    {"blank", {{0x0000000100000200, 0}}},
    {"cntrl", {{0x00000000FFFFFFFF, 0x8000000000000000}}},
    {"digit", {{0x03FF000000000000, 0}}},
    {"graph", {{0xFFFFFFFE00000000, 0x7FFFFFFFFFFFFFFF}}},
    {"lower", {{0, 0x07FFFFFE00000000}}},
    {"print", {{0xFFFFFFFF00000000, 0x7FFFFFFFFFFFFFFF}}},
    {"punct", {{0xFC00FFFE00000000, 0x78000001F8000001}}},
    {"space", {{0x0000000100003E00, 0}}},
    {"upper", {{0, 0x0000000007FFFFFE}}},
    {"word", {{0x03FF000000000000, 0x07FFFFFE87FFFFFE}}},
    {"xdigit", {{0x03FF000000000000, 0x0000007E0000007E}}},
};

/* [:name:] or [:^name:], in a class; false: it is neither. */
static bool put_posix_class(struct reader *r)
{
    const char *at = r->p.p, *name = at + 2, *end;
    bool inverse;

    if (!mortise_pattern_is_next(&r->p, "[:"))
        return false;
    end = memmem(name, (size_t)(r->p.end - name), ":]", 2);
    if (end == NULL)
        return false;
    inverse = *name == '^';
    name += inverse;
    for (size_t i = 0; i < sizeof posix / sizeof posix[0]; i++) {
        if (strlen(posix[i].name) != (size_t)(end - name) ||
            memcmp(posix[i].name, name, (size_t)(end - name)) != 0)
            continue;
        mortise_pattern_put_ascii(&r->p, posix[i].set, inverse, r->flags.fold);
        r->p.p = end + 2;
        return true;
    }
    REFUSE(r, at, "unknown class [:%.*s:]",
           (int)mortise_utf8_get_prefix_size(name, (size_t)(end - name), 40),
           name);
}

/* After \p or \P. */
static void put_re2_property(struct reader *r, const char *at, bool inverse)
{
    bool braces = peek_re2(r, 0) == '{';
    const char *name = r->p.p + braces, *end = name + 1, *found;

    if (braces)
        end = memchr(name, '}', (size_t)(r->p.end - name));
    if (end == NULL || end > r->p.end || (unsigned char)*name >= 128)
        REFUSE(r, at, "\\p and \\P need a letter or {NAME} after them");
    r->p.p = end + braces;
    if (braces && *name == '^') {
        inverse = !inverse;
        name++;
    }
    found = mortise_property_find_category(name, (size_t)(end - name), false);
    if (found == NULL && end - name == 3 && memcmp(name, "Any", 3) == 0)
        found = "Any";
    if (found == NULL &&
        mortise_property_is_script(name, (size_t)(end - name), false))
        found = name;
    if (found == NULL)
        REFUSE(
            r, at,
            "RE2 has no property '%.*s': use a script, or the short name of "
            "a general category",
            (int)mortise_utf8_get_prefix_size(name, (size_t)(end - name), 60),
            name);
    mortise_pattern_put_property(&r->p, inverse, "", found,
                                 (size_t)(end - name));
}

/* \d \D \s \S \w \W \p \P, in a class; false: it is none of them. */
static bool put_re2_set(struct reader *r)
{
    static const struct mortise_ascii spaces = {{0x0000000100003600, 0}};
    const char *at = r->p.p;
    char c = peek_re2(r, 1);
    bool inverse = c >= 'A' && c <= 'Z';

    if (*at != '\\' || c == '\0' || strchr("dDsSwWpP", c) == NULL)
        return false;
    r->p.p += 2;
    if (c == 'p' || c == 'P')
        put_re2_property(r, at, inverse);
    else
        mortise_pattern_put_ascii(&r->p,
                                  (c | 32) == 'd'   ? mortise_ascii_digits
                                  : (c | 32) == 's' ? spaces
                                                    : mortise_ascii_word,
                                  inverse, r->flags.fold);
    return true;
}

/* ---- classes ------------------------------------------------------------- */

static uint32_t read_re2_member(struct reader *r, const char *open)
{
    const char *at = r->p.p;

    if (at == r->p.end)
        REFUSE(r, open, "this class is not closed by ]");
    if (*at != '\\')
        return mortise_pattern_read_char(&r->p);
    if (++r->p.p == r->p.end)
        REFUSE(r, at, "a backslash needs a character after it");
    return read_re2_character(r, at);
}

static void read_re2_range(struct reader *r, const char *open)
{
    const char *at = r->p.p;
    uint32_t a, b;

    if (put_posix_class(r) || put_re2_set(r))
        return;
    a = b = read_re2_member(r, open);
    if (peek_re2(r, 0) == '-' && r->p.end - r->p.p > 1 &&
        peek_re2(r, 1) != ']') {
        r->p.p++;
        b = read_re2_member(r, open);
    }
    if (a > b)
        REFUSE(r, at, "this range ends before it begins");
    mortise_pattern_put_range(&r->p, a, b);
}

static void read_re2_class(struct reader *r)
{
    const char *open = r->p.p++, *first;
    bool inverse = peek_re2(r, 0) == '^';

    r->p.p += inverse;
    mortise_pattern_open_class(&r->p, inverse);
    first = r->p.p;
    while (r->p.p == first || peek_re2(r, 0) != ']') {
        if (r->p.p == r->p.end)
            REFUSE(r, open, "this class is not closed by ]");
        read_re2_range(r, open);
    }
    r->p.p++;
    mortise_pattern_close_class(&r->p);
}

/* ---- groups -------------------------------------------------------------- */

static const struct {
    const char *text, *instead;
} foreign_groups[] = {
    {"(?=", "RE2 has no lookahead and no lookbehind"},
    {"(?!", "RE2 has no lookahead and no lookbehind"},
    {"(?<=", "RE2 has no lookahead and no lookbehind"},
    {"(?<!", "RE2 has no lookahead and no lookbehind"},
    {"(?P=", "RE2 has no backreferences"},
    {"(?P>", "patterns cannot call themselves"},
    {"(?'", "write (?P<name>...)"},
    {"(?>", "remove it, or write (?:...)"},
    {"(?|", "write (?:...)"},
    {"(?#", "remove the comment"},
    {"(?(", "write both cases with |"},
    {"(?C", "remove it"},
    {"(?R", "patterns cannot call themselves"},
    {"(?&", "patterns cannot call themselves"},
    {"(?+", "patterns cannot call themselves"},
    {"(?x", "remove the spaces"},
};

static _Noreturn void refuse_re2_group(struct reader *r, const char *at)
{
    r->p.p = at;
    for (size_t i = 0; i < sizeof foreign_groups / sizeof foreign_groups[0];
         i++)
        if (mortise_pattern_is_next(&r->p, foreign_groups[i].text))
            REFUSE(r, at, "%s is not supported: %s", foreign_groups[i].text,
                   foreign_groups[i].instead);
    REFUSE(r, at,
           "only : P<name>, <name> and the flags i m s U are allowed after (?");
}

static void push_re2_group(struct reader *r, const char *at,
                           struct flags outside)
{
    if (r->n_open == MORTISE_PATTERN_DEPTH)
        EXCEED(r, at, "groups are nested more than %d deep",
               MORTISE_PATTERN_DEPTH);
    r->open[r->n_open++] = (struct group){
        .at = at, .flags = outside, .repeats = 1, .before = r->before};
    put_re2_text(r, r->flags.fold ? "(?i:" : "(?-i:");
}

static bool is_re2_name_char(char c)
{
    return c == '_' || (c >= '0' && c <= '9') ||
           ((c | 32) >= 'a' && (c | 32) <= 'z');
}

/* Read NAME>; two groups may have the same name. */
static void read_re2_name(struct reader *r, const char *at)
{
    const char *name = r->p.p;

    while (is_re2_name_char(peek_re2(r, 0)))
        r->p.p++;
    if (r->p.p == name || peek_re2(r, 0) != '>')
        REFUSE(r, at,
               "the name of a group can contain letters, digits and _, and "
               "needs > after it");
    r->p.p++;
}

static bool *get_re2_flag(struct flags *f, char c)
{
    return c == 'i'   ? &f->fold
           : c == 'm' ? &f->lines
           : c == 's' ? &f->dot_all
           : c == 'U' ? &f->ungreedy
                      : NULL;
}

/* After (?: the flags, and either : for a group or ) for the rest of this
 * one. */
static void read_re2_flags(struct reader *r, const char *at)
{
    struct flags f = r->flags, outside = r->flags;
    bool on = true, said = false;

    for (;; r->p.p++) {
        char c = peek_re2(r, 0);
        bool *one = get_re2_flag(&f, c);

        if (one != NULL) {
            *one = on;
            said = true;
        } else if (c == '-' && on) {
            on = said = false;
        } else if ((c == ':' || c == ')') && (on || said)) {
            break;
        } else {
            refuse_re2_group(r, at);
        }
    }
    r->flags = f;
    if (*r->p.p++ == ':')
        push_re2_group(r, at, outside);
    else
        mortise_buf_puts(r->p.out, f.fold ? "(?i)" : "(?-i)");
}

static void open_re2_group(struct reader *r)
{
    const char *at = r->p.p;

    if (mortise_pattern_is_next(&r->p, "(?P<") ||
        (mortise_pattern_is_next(&r->p, "(?<") && peek_re2(r, 3) != '=' &&
         peek_re2(r, 3) != '!')) {
        r->p.p += peek_re2(r, 2) == 'P' ? 4 : 3;
        read_re2_name(r, at);
        push_re2_group(r, at, r->flags);
    } else if (mortise_pattern_is_next(&r->p, "(?")) {
        r->p.p += 2;
        read_re2_flags(r, at);
    } else {
        r->p.p++;
        push_re2_group(r, at, r->flags);
    }
}

static void close_re2_group(struct reader *r)
{
    struct group g = *get_re2_group(r);

    if (r->n_open == 1)
        REFUSE(r, r->p.p, "no group is open here: write \\) for the character");
    r->n_open--;
    r->flags = g.flags;
    r->before = g.before;
    r->p.p++;
    put_re2_text(r, ")");
    finish_re2_atom(r, g.repeats);
}

/* ---- the pattern --------------------------------------------------------- */

/* An atom of n bytes.  Assertions are written as groups, which RE2 can repeat.
 */
static void put_re2_atom(struct reader *r, size_t n, const char *text)
{
    r->p.p += n;
    put_re2_text(r, text);
    finish_re2_atom(r, 1);
}

static void read_quoted_text(struct reader *r)
{
    const char *from = r->p.p += 2;

    while (r->p.p < r->p.end && !mortise_pattern_is_next(&r->p, "\\E")) {
        r->before = r->p.weight;
        mortise_pattern_put_char(&r->p, mortise_pattern_read_char(&r->p));
    }
    if (r->p.p == r->p.end)
        return;
    r->p.p += 2;
    if (r->p.p > from + 2)
        finish_re2_atom(r, 1); /* repeats only the last character */
}

static void read_re2_escape(struct reader *r)
{
    static const struct {
        char letter;
        const char *text;
    } edges[] = {
        {'A', "(?:\\A)"}, {'z', "(?:\\z)"}, {'b', "(?:\\b)"}, {'B', "(?:\\B)"}};
    const char *at = r->p.p;

    if (r->p.end - at < 2)
        REFUSE(r, at, "a backslash needs a character after it");
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        if (edges[i].letter == at[1]) {
            put_re2_atom(r, 2, edges[i].text);
            return;
        }
    if (at[1] == 'Q') {
        read_quoted_text(r);
        return;
    }
    if (strchr("dDsSwWpP", at[1]) != NULL && at[1] != '\0') {
        mortise_pattern_open_class(&r->p, false);
        put_re2_set(r);
        mortise_pattern_close_class(&r->p);
    } else {
        r->p.p++;
        mortise_pattern_put_char(&r->p, read_re2_character(r, at));
    }
    finish_re2_atom(r, 1);
}

/* Refuse a repetition of nothing; false: the character is no repetition. */
static bool refuse_leading_repeat(struct reader *r)
{
    const char *at = r->p.p;
    struct mortise_repeat n;

    if (!read_re2_repeat(r, &n))
        return false;
    if (*at == '{')
        REFUSE(r, at,
               "nothing before { can be repeated: write \\{ for the character");
    REFUSE(r, at,
           "nothing before %c can be repeated: write \\%c for the character",
           *at, *at);
}

static void read_re2_term(struct reader *r)
{
    char c = peek_re2(r, 0);

    r->before = r->p.weight;
    if (c == '\\') {
        read_re2_escape(r);
    } else if (c == '(') {
        open_re2_group(r);
    } else if (c == ')') {
        close_re2_group(r);
    } else if (c == '|') {
        r->p.p++;
        put_re2_text(r, "|");
    } else if (c == '^') {
        put_re2_atom(r, 1, r->flags.lines ? "(?m:^)" : "(?:\\A)");
    } else if (c == '$') {
        put_re2_atom(r, 1, r->flags.lines ? "(?m:$)" : "(?:\\z)");
    } else if (c == '.') {
        r->p.p++;
        mortise_pattern_open_class(&r->p, true);
        if (!r->flags.dot_all)
            mortise_pattern_put_range(&r->p, '\n', '\n');
        mortise_pattern_close_class(&r->p);
        finish_re2_atom(r, 1);
    } else if (c == '[') {
        read_re2_class(r);
        finish_re2_atom(r, 1);
    } else if (!refuse_leading_repeat(r)) {
        mortise_pattern_put_char(&r->p, mortise_pattern_read_char(&r->p));
        finish_re2_atom(r, 1);
    }
}

static void read_re2_pattern(void *arg)
{
    struct reader *r = arg;

    mortise_pattern_check_text(&r->p);
    push_re2_group(r, r->p.text, r->flags);
    while (r->p.p < r->p.end)
        read_re2_term(r);
    if (r->n_open > 1)
        REFUSE(r, get_re2_group(r)->at, "this group is not closed by )");
    put_re2_text(r, ")");
}

int mortise_re2_translate(struct mortise_buf *out, const char *pattern,
                          size_t n, struct mortise_weight *weight,
                          struct mortise_err *err)
{
    struct reader r = {.p = {.escape.err = err,
                             .text = pattern,
                             .p = pattern,
                             .end = pattern + n,
                             .out = out,
                             .standard = "RE2",
                             .for_re2 = true}};
    int rv = mortise_escape_catch(&r.p.escape, read_re2_pattern, &r);

    *weight = r.p.weight;
    return rv == MORTISE_OK && out->failed ? mortise_nomem(err) : rv;
}
