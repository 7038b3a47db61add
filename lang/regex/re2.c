/* re2.c -- RE2's regular expressions, read before RE2 gets them.
 *
 * CEL's `matches` is defined by RE2, whose language is what an automaton can
 * decide: no lookaround, no backreference, nothing possessive or atomic.  This
 * file reads each pattern whole, by RE2's syntax, says where it is wrong and
 * what to write instead, counts how much work it is, and writes what it read
 * anew:
 *
 *   .              is all but \n; under (?s) anything
 *   ^ $ \A \z      the ends of the text; under (?m) ^ and $ those of lines,
 *                  behind a last \n, too
 *   \d \w \b       know ASCII alone; \s is [\t\n\f\r ], without \v
 *   \v \a \123     one character each; \x7F and \x{10FFFF}; \Q...\E
 *   [[:alpha:]]    POSIX's classes, of ASCII; ] first in a class is itself
 *   \pL \p{Greek}  general categories by their short names, and scripts, which
 *                  are not their extensions
 *   x{n,m}         up to 1000, those inside each other multiplied; braces that
 *                  are none of this are themselves
 *   (?P<n> (?<n>   groups; nobody asks what they held, so RE2 is told of none
 *   (?imsU-imsU)   flags, up to the end of their group; in that of (?i) letters
 *                  fold as Unicode says, of the classes, too
 *
 * What is refused says so at its place: what RE2 refuses, and \C, which would
 * cut characters in two.  \B is RE2's, which finds one between the bytes of a
 * character, too.
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
    struct flags flags; /* of what is around it */
    uint32_t repeats;   /* the most times that something in it is repeated */
    struct mortise_weight before;
};

struct reader {
    struct mortise_pattern p;
    struct flags flags;
    struct mortise_weight before; /* the atom that is read */
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

/* ---- repetitions --------------------------------------------------------- */

static bool read_repeat(struct reader *r, struct mortise_repeat *n)
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
    return mortise_pattern_counted(&r->p, false, n);
}

/* How many copies it stands for; of * + ? none are made. */
static uint32_t copies(struct reader *r, const char *at,
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

/* What is repeated may be repeated only once, and in a group again. */
static void check_single(struct reader *r)
{
    const char *at = r->p.p;
    struct mortise_repeat n;

    if (!read_repeat(r, &n))
        return;
    if (*at == '+')
        REFUSE(r, at,
               "possessive repetitions are not supported: remove the second +");
    REFUSE(r, at,
           "a repetition cannot be repeated directly: put a group around it");
}

/* Behind an atom, in which something is repeated so often. */
static void finish_atom(struct reader *r, uint32_t repeats)
{
    const char *at = r->p.p;
    struct mortise_repeat n;
    uint32_t count;

    if (read_repeat(r, &n)) {
        bool lazy = peek(r, 0) == '?';

        r->p.p += lazy;
        count = copies(r, at, n);
        if (count > 1 && repeats > MOST_REPEATS / count)
            REFUSE(r, at,
                   "the counts of nested repetitions multiply to more than %d",
                   MOST_REPEATS);
        repeats *= count > 1 ? count : 1;
        mortise_pattern_put_repeat(&r->p, r->before, n,
                                   lazy != r->flags.ungreedy);
        check_single(r);
    }
    if (repeats > top(r)->repeats)
        top(r)->repeats = repeats;
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

static _Noreturn void refuse_escape(struct reader *r, const char *at)
{
    char c = at[1];

    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        if (foreign[i].letter == c)
            REFUSE(r, at, "\\%c is not supported: %s", c, foreign[i].instead);
    if (c >= '1' && c <= '9')
        REFUSE(r, at, "RE2 has no backreferences");
    REFUSE(r, at, "unknown escape: remove the backslash");
}

/* \x, behind it. */
static uint32_t read_hex(struct reader *r, const char *at)
{
    uint32_t c = 0, d;
    const char *from;

    if (peek(r, 0) != '{') {
        if (!mortise_pattern_digits(&r->p, 2, 16, &c))
            REFUSE(r, at,
                   "\\x needs two hexadecimal digits, or digits in braces");
        return c;
    }
    from = ++r->p.p;
    while (c <= 0x10FFFF && mortise_pattern_digits(&r->p, 1, 16, &d))
        c = c * 16 + d;
    if (c > 0x10FFFF || r->p.p == from || peek(r, 0) != '}')
        REFUSE(
            r, at,
            "\\x{ needs hexadecimal digits, at most 10FFFF, and a closing }");
    r->p.p++;
    return c;
}

/* \0, \12, \123: at the first digit. */
static uint32_t read_octal(struct reader *r, const char *at)
{
    uint32_t c = 0, d;
    char next = peek(r, 1);

    if (peek(r, 0) != '0' && (next < '0' || next > '7'))
        refuse_escape(r, at); /* a backreference */
    for (int i = 0; i < 3 && mortise_pattern_digits(&r->p, 1, 8, &d); i++)
        c = c * 8 + d;
    return c;
}

/* Behind a backslash: the character that it and what follows stand for. */
static uint32_t read_character(struct reader *r, const char *at)
{
    static const char controls[] = "a\af\fn\nr\rt\tv\v";
    char c = peek(r, 0);

    if (c >= '0' && c <= '7')
        return read_octal(r, at);
    r->p.p++;
    for (const char *p = controls; *p != '\0'; p += 2)
        if (*p == c)
            return (unsigned char)p[1];
    if (c == 'x')
        return read_hex(r, at);
    if ((unsigned char)c >= 128 || (c >= '0' && c <= '9') ||
        ((c | 32) >= 'a' && (c | 32) <= 'z'))
        refuse_escape(r, at);
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

/* [:name:] or [:^name:] at p, inside [ ]; false: it is none of that. */
static bool put_posix(struct reader *r)
{
    const char *at = r->p.p, *name = at + 2, *end;
    bool inverse;

    if (!mortise_pattern_at(&r->p, "[:"))
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
           (int)mortise_utf8_cut(name, (size_t)(end - name), 40), name);
}

/* Behind \p or \P. */
static void put_property(struct reader *r, const char *at, bool inverse)
{
    bool braces = peek(r, 0) == '{';
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
    found = mortise_property_category(name, (size_t)(end - name), false);
    if (found == NULL && end - name == 3 && memcmp(name, "Any", 3) == 0)
        found = "Any";
    if (found == NULL &&
        mortise_property_script(name, (size_t)(end - name), false))
        found = name;
    if (found == NULL)
        REFUSE(r, at,
               "RE2 has no property '%.*s': use a script, or the short name of "
               "a general category",
               (int)mortise_utf8_cut(name, (size_t)(end - name), 60), name);
    mortise_pattern_put_property(&r->p, inverse, "", found,
                                 (size_t)(end - name));
}

/* \d \D \s \S \w \W \p \P at p, inside [ ]; false: it is none of them. */
static bool put_set(struct reader *r)
{
    static const struct mortise_ascii spaces = {{0x0000000100003600, 0}};
    const char *at = r->p.p;
    char c = peek(r, 1);
    bool inverse = c >= 'A' && c <= 'Z';

    if (*at != '\\' || c == '\0' || strchr("dDsSwWpP", c) == NULL)
        return false;
    r->p.p += 2;
    if (c == 'p' || c == 'P')
        put_property(r, at, inverse);
    else
        mortise_pattern_put_ascii(&r->p,
                                  (c | 32) == 'd'   ? mortise_ascii_digits
                                  : (c | 32) == 's' ? spaces
                                                    : mortise_ascii_word,
                                  inverse, r->flags.fold);
    return true;
}

/* ---- classes ------------------------------------------------------------- */

static uint32_t read_member(struct reader *r, const char *open)
{
    const char *at = r->p.p;

    if (at == r->p.end)
        REFUSE(r, open, "this class is not closed by ]");
    if (*at != '\\')
        return mortise_pattern_take(&r->p);
    if (++r->p.p == r->p.end)
        REFUSE(r, at, "a backslash needs a character after it");
    return read_character(r, at);
}

static void read_range(struct reader *r, const char *open)
{
    const char *at = r->p.p;
    uint32_t a, b;

    if (put_posix(r) || put_set(r))
        return;
    a = b = read_member(r, open);
    if (peek(r, 0) == '-' && r->p.end - r->p.p > 1 && peek(r, 1) != ']') {
        r->p.p++;
        b = read_member(r, open);
    }
    if (a > b)
        REFUSE(r, at, "this range ends before it begins");
    mortise_pattern_put_range(&r->p, a, b);
}

static void read_class(struct reader *r)
{
    const char *open = r->p.p++, *first;
    bool inverse = peek(r, 0) == '^';

    r->p.p += inverse;
    mortise_pattern_open_class(&r->p, inverse);
    first = r->p.p;
    while (r->p.p == first || peek(r, 0) != ']') {
        if (r->p.p == r->p.end)
            REFUSE(r, open, "this class is not closed by ]");
        read_range(r, open);
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

static _Noreturn void refuse_group(struct reader *r, const char *at)
{
    r->p.p = at;
    for (size_t i = 0; i < sizeof foreign_groups / sizeof foreign_groups[0];
         i++)
        if (mortise_pattern_at(&r->p, foreign_groups[i].text))
            REFUSE(r, at, "%s is not supported: %s", foreign_groups[i].text,
                   foreign_groups[i].instead);
    REFUSE(r, at,
           "only : P<name>, <name> and the flags i m s U are allowed after (?");
}

static void push(struct reader *r, const char *at, struct flags outside)
{
    if (r->n_open == MORTISE_PATTERN_DEPTH)
        EXCEED(r, at, "groups are nested more than %d deep",
               MORTISE_PATTERN_DEPTH);
    r->open[r->n_open++] = (struct group){
        .at = at, .flags = outside, .repeats = 1, .before = r->before};
    put(r, r->flags.fold ? "(?i:" : "(?-i:");
}

static bool is_name_char(char c)
{
    return c == '_' || (c >= '0' && c <= '9') ||
           ((c | 32) >= 'a' && (c | 32) <= 'z');
}

/* NAME> at p; the same one may be given twice. */
static void read_name(struct reader *r, const char *at)
{
    const char *name = r->p.p;

    while (is_name_char(peek(r, 0)))
        r->p.p++;
    if (r->p.p == name || peek(r, 0) != '>')
        REFUSE(r, at,
               "the name of a group can contain letters, digits and _, and "
               "needs > after it");
    r->p.p++;
}

static bool *flag(struct flags *f, char c)
{
    return c == 'i'   ? &f->fold
           : c == 'm' ? &f->lines
           : c == 's' ? &f->dot_all
           : c == 'U' ? &f->ungreedy
                      : NULL;
}

/* Behind (?: flags, and : of a group of theirs or ) where they hold on. */
static void read_flags(struct reader *r, const char *at)
{
    struct flags f = r->flags, outside = r->flags;
    bool on = true, said = false;

    for (;; r->p.p++) {
        char c = peek(r, 0);
        bool *one = flag(&f, c);

        if (one != NULL) {
            *one = on;
            said = true;
        } else if (c == '-' && on) {
            on = said = false;
        } else if ((c == ':' || c == ')') && (on || said)) {
            break;
        } else {
            refuse_group(r, at);
        }
    }
    r->flags = f;
    if (*r->p.p++ == ':')
        push(r, at, outside);
    else
        mortise_buf_puts(r->p.out, f.fold ? "(?i)" : "(?-i)");
}

static void open_group(struct reader *r)
{
    const char *at = r->p.p;

    if (mortise_pattern_at(&r->p, "(?P<") ||
        (mortise_pattern_at(&r->p, "(?<") && peek(r, 3) != '=' &&
         peek(r, 3) != '!')) {
        r->p.p += peek(r, 2) == 'P' ? 4 : 3;
        read_name(r, at);
        push(r, at, r->flags);
    } else if (mortise_pattern_at(&r->p, "(?")) {
        r->p.p += 2;
        read_flags(r, at);
    } else {
        r->p.p++;
        push(r, at, r->flags);
    }
}

static void close_group(struct reader *r)
{
    struct group g = *top(r);

    if (r->n_open == 1)
        REFUSE(r, r->p.p, "no group is open here: write \\) for the character");
    r->n_open--;
    r->flags = g.flags;
    r->before = g.before;
    r->p.p++;
    put(r, ")");
    finish_atom(r, g.repeats);
}

/* ---- the pattern --------------------------------------------------------- */

/* An atom of n bytes; edges are written as groups, which RE2 lets be repeated.
 */
static void put_one(struct reader *r, size_t n, const char *text)
{
    r->p.p += n;
    put(r, text);
    finish_atom(r, 1);
}

static void read_quoted(struct reader *r)
{
    const char *from = r->p.p += 2;

    while (r->p.p < r->p.end && !mortise_pattern_at(&r->p, "\\E")) {
        r->before = r->p.weight;
        mortise_pattern_put(&r->p, mortise_pattern_take(&r->p));
    }
    if (r->p.p == r->p.end)
        return;
    r->p.p += 2;
    if (r->p.p > from + 2)
        finish_atom(r, 1); /* of its last character */
}

static void read_escape(struct reader *r)
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
            put_one(r, 2, edges[i].text);
            return;
        }
    if (at[1] == 'Q') {
        read_quoted(r);
        return;
    }
    if (strchr("dDsSwWpP", at[1]) != NULL && at[1] != '\0') {
        mortise_pattern_open_class(&r->p, false);
        put_set(r);
        mortise_pattern_close_class(&r->p);
    } else {
        r->p.p++;
        mortise_pattern_put(&r->p, read_character(r, at));
    }
    finish_atom(r, 1);
}

/* A repetition of nothing; a brace that is none is itself. */
static bool read_sign(struct reader *r)
{
    const char *at = r->p.p;
    struct mortise_repeat n;

    if (!read_repeat(r, &n))
        return false;
    if (*at == '{')
        REFUSE(r, at,
               "nothing before { can be repeated: write \\{ for the character");
    REFUSE(r, at,
           "nothing before %c can be repeated: write \\%c for the character",
           *at, *at);
}

static void read_term(struct reader *r)
{
    char c = peek(r, 0);

    r->before = r->p.weight;
    if (c == '\\') {
        read_escape(r);
    } else if (c == '(') {
        open_group(r);
    } else if (c == ')') {
        close_group(r);
    } else if (c == '|') {
        r->p.p++;
        put(r, "|");
    } else if (c == '^') {
        put_one(r, 1, r->flags.lines ? "(?m:^)" : "(?:\\A)");
    } else if (c == '$') {
        put_one(r, 1, r->flags.lines ? "(?m:$)" : "(?:\\z)");
    } else if (c == '.') {
        r->p.p++;
        mortise_pattern_open_class(&r->p, true);
        if (!r->flags.dot_all)
            mortise_pattern_put_range(&r->p, '\n', '\n');
        mortise_pattern_close_class(&r->p);
        finish_atom(r, 1);
    } else if (c == '[') {
        read_class(r);
        finish_atom(r, 1);
    } else if (!read_sign(r)) {
        mortise_pattern_put(&r->p, mortise_pattern_take(&r->p));
        finish_atom(r, 1);
    }
}

static void read_pattern(void *arg)
{
    struct reader *r = arg;

    mortise_pattern_check_text(&r->p);
    push(r, r->p.text, r->flags);
    while (r->p.p < r->p.end)
        read_term(r);
    if (r->n_open > 1)
        REFUSE(r, top(r)->at, "this group is not closed by )");
    put(r, ")");
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
    int rv = mortise_escapable(&r.p.escape, read_pattern, &r);

    *weight = r.p.weight;
    return rv == MORTISE_OK && out->failed ? mortise_nomem(err) : rv;
}
