/* lex.c -- tokens of an expression.
 *
 * The complete lexis of CEL's language definition: comments; raw, triple-quoted
 * and bytes strings with all escapes; hexadecimal and unsigned integers; quoted
 * identifiers.  Escapes in strings are code points, and escapes in bytes are
 * bytes.  Decoded text is never longer, so one allocation is sufficient.
 *
 * The whole text is UTF-8 (cel.c checks it).  The contents of strings are
 * UTF-8, too, because \x and octal escapes in strings are code points.
 */
#include "lang/cel/lex.h"

#include <math.h>
#include <string.h>

#include "core/base/digit.h"
#include "core/base/real.h"
#include "core/base/utf8.h"

struct lexer {
    const struct cel_source *src;
    const char *p, *end;
    struct cel_token *out;
};

static _Noreturn void fail_at(const struct lexer *lx, const char *from,
                              size_t length, const char *words)
{
    size_t rest = (size_t)(lx->end - from);

    mortise_cel_fail(lx->src, MORTISE_EINVAL, (size_t)(from - lx->src->text),
                     length < rest ? length : rest, "%s", words);
}

static bool is_decimal_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static char peek_char(const struct lexer *lx, size_t ahead)
{
    return (size_t)(lx->end - lx->p) > ahead ? lx->p[ahead] : '\0';
}

static void skip_token_space(struct lexer *lx)
{
    for (;;) {
        while (lx->p < lx->end && strchr(" \t\n\r\f", *lx->p) != NULL &&
               *lx->p != '\0')
            lx->p++;
        if (peek_char(lx, 0) != '/' || peek_char(lx, 1) != '/')
            return;
        while (lx->p < lx->end && *lx->p != '\n')
            lx->p++;
    }
}

/* ---- numbers --------------------------------------------------------- */

static const char *skip_decimals(const struct lexer *lx, const char *p)
{
    while (p < lx->end && is_decimal_digit(*p))
        p++;
    return p;
}

/* The end of digits[.digits][e[+-]digits], or NULL if it is not a double. */
static const char *find_double_end(const struct lexer *lx)
{
    const char *p = skip_decimals(lx, lx->p);
    bool real = false;

    if (lx->end - p > 1 && *p == '.' && is_decimal_digit(p[1])) {
        real = true;
        p = skip_decimals(lx, p + 1);
    }
    if (p < lx->end && (*p == 'e' || *p == 'E')) {
        const char *e = p + 1;

        if (e < lx->end && (*e == '+' || *e == '-'))
            e++;
        if (e < lx->end && is_decimal_digit(*e)) {
            real = true;
            p = skip_decimals(lx, e);
        }
    }
    return real ? p : NULL;
}

static void lex_double(struct lexer *lx, const char *end)
{
    size_t n = (size_t)(end - lx->p);

    lx->out->kind = CEL_T_DOUBLE;
    if (mortise_real_parse(&lx->out->real, lx->p, n) != 0)
        fail_at(lx, lx->p, n, "this number is too long");
    if (isinf(lx->out->real))
        fail_at(lx, lx->p, n, "this number is too large for a double");
    lx->p = end;
}

static void lex_integer(struct lexer *lx)
{
    bool hex = peek_char(lx, 0) == '0' && (peek_char(lx, 1) | 0x20) == 'x';
    uint64_t base = hex ? 16 : 10, v = 0;
    const char *from = lx->p, *digits = hex ? lx->p + 2 : lx->p;
    bool over = false;

    for (lx->p = digits; lx->p < lx->end; lx->p++) {
        unsigned d = mortise_digit_get_value(*lx->p);

        if (d >= base)
            break;
        over = over || __builtin_mul_overflow(v, base, &v) ||
               __builtin_add_overflow(v, d, &v);
    }
    if (lx->p == digits)
        fail_at(lx, from, 2, "0x needs hexadecimal digits");
    lx->out->kind = CEL_T_INT;
    lx->out->magnitude = v;
    if ((peek_char(lx, 0) | 0x20) == 'u') {
        lx->out->kind = CEL_T_UINT;
        lx->p++;
    }
    if (over)
        fail_at(lx, from, (size_t)(lx->p - from),
                "this number does not fit into 64 bits");
}

static void lex_number(struct lexer *lx)
{
    const char *from = lx->p, *end = find_double_end(lx);

    if (end != NULL)
        lex_double(lx, end);
    else
        lex_integer(lx);
    if (is_name_letter(peek_char(lx, 0)))
        fail_at(lx, from, (size_t)(lx->p - from) + 1,
                "a name cannot follow a number directly");
}

/* ---- strings --------------------------------------------------------- */

struct string {
    bool raw, bytes, triple;
    char quote;
    char *to; /* the position of the next byte */
};

static void put_code_point(struct string *s, uint32_t cp)
{
    if (s->bytes)
        *s->to++ = (char)cp;
    else
        s->to += mortise_utf8_encode(s->to, cp);
}

/* Exactly n digits of a base, from the current position. */
static bool read_digits(struct lexer *lx, size_t n, unsigned base, uint32_t *v)
{
    *v = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned d = mortise_digit_get_value(peek_char(lx, i));

        if (d >= base)
            return false;
        *v = *v * base + d;
    }
    lx->p += n;
    return true;
}

/* After "\x", "\u" or "\U", or at the first octal digit. */
static void lex_coded(struct lexer *lx, struct string *s, char kind)
{
    const char *from = lx->p;
    size_t n = kind == 'U' ? 8 : kind == 'u' ? 4 : kind == 'o' ? 3 : 2;
    uint32_t cp;

    if (s->bytes && (kind == 'u' || kind == 'U'))
        fail_at(lx, from - 2, 2,
                "bytes support \\x and octal escapes, not \\u");
    if (!read_digits(lx, n, kind == 'o' ? 8 : 16, &cp))
        fail_at(lx, from - 1, 1,
                kind == 'o' ? "an octal escape has three digits"
                            : "this escape needs more digits");
    if (cp > 0x10FFFF || (cp >= 0xD800 && cp <= 0xDFFF) ||
        (kind == 'o' && cp > 0xFF))
        fail_at(lx, from, n, "this escape is not a valid character");
    put_code_point(s, cp);
}

/* After the backslash. */
static void lex_escape(struct lexer *lx, struct string *s)
{
    static const char plain[] = "\\\\??\"\"''``a\ab\bf\fn\nr\rt\tv\v";
    char c = peek_char(lx, 0);

    for (const char *p = plain; *p != '\0'; p += 2) {
        if (*p == c) {
            lx->p++;
            *s->to++ = p[1];
            return;
        }
    }
    if (c >= '0' && c <= '3') {
        lex_coded(lx, s, 'o');
    } else if (c == 'x' || c == 'X' || c == 'u' || c == 'U') {
        lx->p++;
        lex_coded(lx, s, c == 'X' ? 'x' : c);
    } else {
        fail_at(lx, lx->p - 1, 2, "unknown escape");
    }
}

static bool at_closing(const struct lexer *lx, const struct string *s)
{
    if (peek_char(lx, 0) != s->quote)
        return false;
    return !s->triple ||
           (peek_char(lx, 1) == s->quote && peek_char(lx, 2) == s->quote);
}

static void lex_body(struct lexer *lx, struct string *s, const char *from)
{
    while (!at_closing(lx, s)) {
        char c = peek_char(lx, 0);

        if (lx->p == lx->end || (!s->triple && (c == '\n' || c == '\r')))
            fail_at(lx, from, 1, "this string is not closed");
        lx->p++;
        if (c == '\\' && !s->raw)
            lex_escape(lx, s);
        else
            *s->to++ = c;
    }
    lx->p += s->triple ? 3 : 1;
}

/* Number of bytes before the closing quote, or before the end of the text if it
 * is missing.  The decoded text is not longer. */
static size_t get_body_length(struct lexer lx, const struct string *s)
{
    const char *from = lx.p;

    while (lx.p < lx.end && !at_closing(&lx, s))
        lx.p += *lx.p == '\\' && !s->raw && lx.end - lx.p > 1 ? 2 : 1;
    return (size_t)(lx.p - from);
}

/* At the quote, after the prefixes. */
static void lex_string(struct lexer *lx, struct string s, const char *from)
{
    char *text;

    s.quote = *lx->p;
    s.triple = peek_char(lx, 1) == s.quote && peek_char(lx, 2) == s.quote;
    lx->p += s.triple ? 3 : 1;
    s.to = text = cel_source_alloc(lx->src, get_body_length(*lx, &s) + 1, 1);
    lex_body(lx, &s, from);
    lx->out->kind = s.bytes ? CEL_T_BYTES : CEL_T_STRING;
    lx->out->text = (struct cel_text){text, (size_t)(s.to - text)};
}

/* A string starts with r, b or br in either case, and a quote.  In the grammar
 * b precedes a whole string, so rb is invalid.  Earlier versions of the grammar
 * allowed it. */
static bool read_prefix(const struct lexer *lx, struct string *s, size_t *n)
{
    bool swapped = false;

    *s = (struct string){.raw = false};
    for (*n = 0; *n < 2; ++*n) {
        char c = (char)(peek_char(lx, *n) | 0x20);

        swapped |= c == 'b' && s->raw;
        if (c == 'r' && !s->raw)
            s->raw = true;
        else if (c == 'b' && !s->bytes)
            s->bytes = true;
        else
            break;
    }
    if (peek_char(lx, *n) != '"' && peek_char(lx, *n) != '\'')
        return false;
    if (swapped && s->bytes)
        fail_at(lx, lx->p, *n,
                "write the prefix of raw bytes as br, in this order");
    return true;
}

/* ---- names and the rest ---------------------------------------------- */

static void lex_name(struct lexer *lx, const char *from, const char *end)
{
    size_t n = (size_t)(end - from);
    char *name = cel_source_alloc(lx->src, n + 1, 1);

    memcpy(name, from, n);
    lx->out->text = (struct cel_text){name, n};
}

static void lex_ident(struct lexer *lx)
{
    const char *from = lx->p;

    while (is_name_letter(peek_char(lx, 0)) ||
           is_decimal_digit(peek_char(lx, 0)))
        lx->p++;
    lx->out->kind = CEL_T_IDENT;
    lex_name(lx, from, lx->p);
}

static void lex_quoted(struct lexer *lx)
{
    const char *from = lx->p++;

    while (
        is_name_letter(peek_char(lx, 0)) ||
        is_decimal_digit(peek_char(lx, 0)) ||
        (peek_char(lx, 0) != '\0' && strchr(".-/ ", peek_char(lx, 0)) != NULL))
        lx->p++;
    if (peek_char(lx, 0) != '`' || lx->p == from + 1)
        fail_at(lx, from, 1,
                "only letters, digits, spaces and _.-/ are allowed between ``");
    lx->p++;
    lx->out->kind = CEL_T_QUOTED;
    lex_name(lx, from + 1, lx->p - 1);
}

static void lex_punct(struct lexer *lx)
{
    static const struct {
        char text[3];
        int op;
    } twos[] = {{"==", CEL_P_EQ}, {"!=", CEL_P_NE},  {"<=", CEL_P_LE},
                {">=", CEL_P_GE}, {"&&", CEL_P_AND}, {"||", CEL_P_OR}};
    char c = *lx->p;
    uint32_t cp;

    lx->out->kind = CEL_T_PUNCT;
    for (size_t i = 0; i < sizeof twos / sizeof twos[0]; i++) {
        if (c == twos[i].text[0] && peek_char(lx, 1) == twos[i].text[1]) {
            lx->out->op = twos[i].op;
            lx->p += 2;
            return;
        }
    }
    if (c != '\0' && strchr("+-*/%<>!?:.,()[]{}", c) != NULL) {
        lx->out->op = (unsigned char)c;
        lx->p++;
        return;
    }
    if (c == '=' || c == '&' || c == '|')
        fail_at(lx, lx->p, 1,
                c == '='   ? "no operator '=': write '=='"
                : c == '&' ? "no operator '&': write '&&'"
                           : "no operator '|': write '||'");
    fail_at(lx, lx->p, mortise_utf8_decode(lx->p, lx->end, &cp),
            "an expression cannot contain this character");
}

static void lex_token(struct lexer *lx)
{
    const char *from = lx->p;
    struct string s;
    size_t prefix;
    char c = peek_char(lx, 0);

    if (lx->p == lx->end)
        return; /* the token is already CEL_T_END */
    if (read_prefix(lx, &s, &prefix)) {
        lx->p += prefix;
        lex_string(lx, s, from);
    } else if (is_name_letter(c)) {
        lex_ident(lx);
    } else if (c == '`') {
        lex_quoted(lx);
    } else if (is_decimal_digit(c) ||
               (c == '.' && is_decimal_digit(peek_char(lx, 1)))) {
        lex_number(lx);
    } else {
        lex_punct(lx);
    }
}

void mortise_cel_lex(const struct cel_source *src, size_t *offset,
                     struct cel_token *out)
{
    struct lexer lx = {src, src->text + *offset, src->text + src->n, out};

    *out = (struct cel_token){.kind = CEL_T_END};
    skip_token_space(&lx);
    out->offset = (size_t)(lx.p - src->text);
    lex_token(&lx);
    *offset = (size_t)(lx.p - src->text);
    out->length = *offset - out->offset;
}
