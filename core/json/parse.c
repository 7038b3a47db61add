/* parse.c -- parse JSON text to jansson values.
 *
 * jansson's own parser ignores failed allocations in its lexer: it accesses
 * memory past the end of a short buffer, or reports a syntax error.  Its
 * constructors do report them.  So this file parses, and jansson only creates
 * the values.  It guarantees:
 *
 *   (1) The language is jansson's, and so are line, column, position and text
 *       of each error.  Exceptions: a NUL byte is always an error and is
 *       reported first; the depth is counted in containers; the text of an
 *       error never ends inside a character.
 *   (2) A failed allocation is always json_error_out_of_memory, which has no
 *       other cause.  Nothing leaks.
 *   (3) The stack is bounded: no function here is recursive.  A container is
 *       added to its parent when it opens.  So the open containers are an array
 *       of borrowed pointers, and releasing the root releases everything.
 *
 * jansson copies a string without escapes straight from the text.  A string
 * with escapes is first decoded into a spare buffer.  Keys have a spare buffer
 * of their own, because a key is needed until its value is complete.
 *
 * Lines and columns are counted only when an error is reported, from the start
 * of the text, so valid text does not pay for them.  Duplicate keys work the
 * same way: jansson looks up each key before it reads the value, but here an
 * object that did not grow with a member had that key already.  If the text is
 * invalid between key and value, fill_json_error() looks the key up, because
 * jansson reports the duplicate in that case.
 */
#include "core/json/parse.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/base/digit.h"
#include "core/mortise.h"
#include "core/base/real.h"
#include "core/base/utf8.h"

/* A growing buffer, from jansson's allocator like the values. */
struct spare {
    char *p;
    size_t size;
};

struct string {
    const char *p; /* in the text, or in a spare buffer */
    size_t n;
};

/* The kind of a token.  A bracket, ':' and ',' are kinds of their own. */
enum kind { END, INVALID, STRING, INTEGER, REAL, WORD };

struct parser {
    const char *text, *end;
    const char *p;     /* after the token */
    const char *token; /* its first byte */
    enum kind kind;
    union { /* the value of the token */
        struct string string;
        json_int_t integer;
        double real;
        json_t *word;
    };
    size_t flags, deepest;
    json_t *root;
    json_t *open[MORTISE_JSON_DEPTH_MAX]; /* borrowed from their parents */
    size_t depth;
    struct string key; /* waits for its value; p == NULL: none */
    const char *key_token, *key_end;
    struct spare for_keys, for_strings;
    json_error_t why;
    const char *at; /* end of the invalid text */
};

/* ---- errors ------------------------------------------------------------ */

static void set_code(json_error_t *why, enum json_error_code code)
{
    why->text[JSON_ERROR_TEXT_LENGTH - 1] = (char)code;
}

/* Record an error in the text that ends at `at`.  Returns false. */
MORTISE_PRINTF(4, 5)
static bool fail_parse(struct parser *s, const char *at,
                       enum json_error_code code, const char *words, ...)
{
    va_list ap;

    s->at = at;
    va_start(ap, words);
    vsnprintf(s->why.text, sizeof s->why.text - 1, words, ap);
    va_end(ap);
    set_code(&s->why, code);
    return false;
}

static bool fail_nomem(struct parser *s)
{
    return fail_parse(s, s->p, json_error_out_of_memory, "out of memory");
}

static bool fail_duplicate(struct parser *s)
{
    s->token = s->key_token;
    return fail_parse(s, s->key_end, json_error_duplicate_key,
                      "duplicate object key");
}

/* Append the token if it is short, as jansson does. */
static void add_context(struct parser *s, enum json_error_code code)
{
    size_t n = strlen(s->why.text), room = sizeof s->why.text - 1 - n;
    size_t token = (size_t)(s->at - s->token);

    if (token > 0 && token <= 20)
        snprintf(s->why.text + n, room, " near '%.*s'", (int)token, s->token);
    else if (token == 0 && code != json_error_invalid_utf8) {
        snprintf(s->why.text + n, room, " near end of file");
        if (code == json_error_invalid_syntax)
            set_code(&s->why, json_error_premature_end_of_input);
    }
}

static void count_lines(struct parser *s)
{
    s->why.line = 1;
    s->why.column = 0;
    s->why.position = (int)(s->at - s->text);
    for (const char *p = s->text; p < s->at; p++) {
        if (*p == '\n') {
            s->why.line++;
            s->why.column = 0;
        } else
            s->why.column += ((unsigned char)*p & 0xC0) != 0x80;
    }
}

static void fill_json_error(struct parser *s)
{
    size_t n = (size_t)(s->end - s->text);
    const char *nul = n > 0 ? memchr(s->text, '\0', n) : NULL;
    enum json_error_code code = json_error_code(&s->why);

    if (code == json_error_out_of_memory)
        s->at = s->text;
    else if (nul != NULL)
        fail_parse(s, nul + 1, json_error_null_character,
                   "a NUL byte (in a string: \\u0000)");
    else if ((s->flags & JSON_REJECT_DUPLICATES) && s->key.p != NULL &&
             json_object_getn(s->open[s->depth - 1], s->key.p, s->key.n) !=
                 NULL)
        fail_duplicate(s);
    code = json_error_code(&s->why);
    if (code != json_error_out_of_memory && code != json_error_stack_overflow &&
        nul == NULL)
        add_context(s, code);
    count_lines(s);
}

/* ---- strings ----------------------------------------------------------- */

/* The character that each short escape means; 0: none. */
static const char escapes[256] = {
    ['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
    ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t',
};

/* Room for n bytes in a spare buffer; NULL after recording the error. */
static char *spare(struct parser *s, struct spare *room, size_t n)
{
    json_malloc_t allocate;
    json_free_t release;

    if (n <= room->size)
        return room->p;
    json_get_alloc_funcs(&allocate, &release);
    release(room->p);
    room->p = allocate(n);
    room->size = room->p != NULL ? n : 0;
    if (room->p == NULL)
        fail_nomem(s);
    return room->p;
}

/* Are these 8 bytes ASCII without quotes, backslashes and controls?  Each test
 * sets the high bit of a byte.  A borrow can only set the bits of bytes above
 * one that is set anyway. */
static bool is_plain_word64(const char *p)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t w, quote, slash;

    memcpy(&w, p, sizeof w);
    quote = w ^ ones * '"';
    slash = w ^ ones * '\\';
    return (((w - ones * 0x20) | (quote - ones) | (slash - ones) | w) &
            ones << 7) == 0;
}

static const char *skip_plain(const char *p, const char *end)
{
    while (end - p >= 8 && is_plain_word64(p))
        p += 8;
    while (p < end && *p >= ' ' && *p != '"' && *p != '\\' &&
           (unsigned char)*p < 0x80)
        p++;
    return p;
}

/* Skip a non-ASCII character; NULL: it is not valid UTF-8. */
static const char *skip_wide(struct parser *s, const char *p)
{
    uint32_t cp;
    size_t n = mortise_utf8_decode(p, s->end, &cp);

    if (n == 0)
        fail_parse(s, p, json_error_invalid_utf8, "unable to decode byte 0x%x",
                   (unsigned)(unsigned char)*p);
    return n > 0 ? p + n : NULL;
}

/* Skip the escape at p.  The error for an invalid one includes the whole
 * character that is wrong. */
static const char *skip_escape(struct parser *s, const char *p)
{
    int digits = 0;

    if (++p < s->end && escapes[(unsigned char)*p] != 0)
        return p + 1;
    if (p < s->end && *p == 'u') {
        for (p++; p < s->end && mortise_digit_get_value(*p) != MORTISE_NO_DIGIT;
             p++)
            if (++digits == 4)
                return p + 1;
    }
    if (p < s->end)
        p = (unsigned char)*p < 0x80 ? p + 1 : skip_wide(s, p);
    if (p != NULL)
        fail_parse(s, p, json_error_invalid_syntax, "invalid escape");
    return NULL;
}

/* Skip the string with the content at p, and its closing quote. */
static const char *skip_string(struct parser *s, const char *p, bool *escaped)
{
    while (p != NULL) {
        p = skip_plain(p, s->end);
        if (p == s->end) {
            fail_parse(s, p, json_error_premature_end_of_input,
                       "premature end of input");
            return NULL;
        }
        if (*p == '"')
            return p + 1;
        if (*p == '\\') {
            *escaped = true;
            p = skip_escape(s, p);
        } else if ((unsigned char)*p >= 0x80)
            p = skip_wide(s, p);
        else {
            fail_parse(s, p, json_error_invalid_syntax,
                       *p == '\n' ? "unexpected newline"
                                  : "control character 0x%x",
                       (unsigned)*p);
            return NULL;
        }
    }
    return NULL;
}

static uint32_t decode_four_digits(const char *p)
{
    return mortise_digit_get_value(p[0]) << 12 |
           mortise_digit_get_value(p[1]) << 8 |
           mortise_digit_get_value(p[2]) << 4 | mortise_digit_get_value(p[3]);
}

/* Decode the \u escape at p to *to, within the string that ends at `quote`.
 * Returns the position after it. */
static const char *decode_unicode(struct parser *s, const char *p,
                                  const char *quote, char **to)
{
    uint32_t cp = decode_four_digits(p + 2), low;

    p += 6;
    if (cp >= 0xD800 && cp <= 0xDBFF && quote - p >= 6 && p[0] == '\\' &&
        p[1] == 'u') {
        low = decode_four_digits(p + 2);
        p += 6;
        if (low < 0xDC00 || low > 0xDFFF) {
            fail_parse(s, quote + 1, json_error_invalid_syntax,
                       "invalid Unicode '\\u%04X\\u%04X'", (unsigned)cp,
                       (unsigned)low);
            return NULL;
        }
        cp = 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00);
    } else if (cp >= 0xD800 && cp <= 0xDFFF) {
        fail_parse(s, quote + 1, json_error_invalid_syntax,
                   "invalid Unicode '\\u%04X'", (unsigned)cp);
        return NULL;
    }
    *to += mortise_utf8_encode(*to, cp);
    return p;
}

/* Decode a string that skip_string() accepted.  An escape is never shorter than
 * its character, so string->n bytes are enough. */
static bool decode_string(struct parser *s, struct spare *room,
                          struct string *string)
{
    const char *p = string->p, *quote = p + string->n, *slash;
    char *to = spare(s, room, string->n), *start = to;

    if (to == NULL)
        return false;
    for (; p < quote; p = slash) {
        slash = memchr(p, '\\', (size_t)(quote - p));
        slash = slash != NULL ? slash : quote;
        memcpy(to, p, (size_t)(slash - p));
        to += slash - p;
        if (slash == quote)
            break;
        if (slash[1] != 'u') {
            *to++ = escapes[(unsigned char)slash[1]];
            slash += 2;
        } else if ((slash = decode_unicode(s, slash, quote, &to)) == NULL)
            return false;
    }
    *string = (struct string){start, (size_t)(to - start)};
    return true;
}

/* ---- tokens -------------------------------------------------------------- */

static bool is_digit_at(const char *p, const char *end)
{
    return p < end && *p >= '0' && *p <= '9';
}

static bool is_alpha(const char *p, const char *end)
{
    return p < end && ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z'));
}

static const char *skip_digit_run(const char *p, const char *end)
{
    while (is_digit_at(p, end))
        p++;
    return p;
}

/* Set the kind of a number or word that ends at s->p. jansson also reads the
 * next byte, and first reports if that is not valid UTF-8. */
static bool end_token(struct parser *s, enum kind kind)
{
    s->kind = kind;
    return s->p == s->end || (unsigned char)*s->p < 0x80 ||
           skip_wide(s, s->p) != NULL;
}

static bool parse_string_token(struct parser *s, struct spare *room)
{
    const char *start = s->p + 1;
    bool escaped = false;

    s->kind = STRING;
    s->p = skip_string(s, start, &escaped);
    if (s->p == NULL)
        return false;
    s->string = (struct string){start, (size_t)(s->p - 1 - start)};
    return !escaped || decode_string(s, room, &s->string);
}

/* Skip the number at p, or as much of it as is valid. */
static const char *skip_number(const char *p, const char *end, enum kind *kind)
{
    *kind = INVALID;
    p += *p == '-';
    if (!is_digit_at(p, end))
        return p;
    if (*p == '0' && is_digit_at(p + 1, end))
        return p + 1;
    p = skip_digit_run(p, end);
    *kind = INTEGER;
    if (p < end && *p == '.') {
        *kind = is_digit_at(++p, end) ? REAL : INVALID;
        p = skip_digit_run(p, end);
    }
    if (*kind != INVALID && p < end && (*p == 'e' || *p == 'E')) {
        p++;
        p += p < end && (*p == '+' || *p == '-');
        *kind = is_digit_at(p, end) ? REAL : INVALID;
        p = skip_digit_run(p, end);
    }
    return p;
}

static bool parse_integer_token(struct parser *s)
{
    bool minus = *s->token == '-';
    const char *p = s->token + minus;
    bool fits = s->p - p <= 19; /* 19 digits fit in 64 unsigned bits */
    uint64_t v = 0;

    for (; fits && p < s->p; p++)
        v = v * 10 + (uint64_t)(*p - '0');
    if (!fits || v > (uint64_t)INT64_MAX + minus)
        return fail_parse(s, s->p, json_error_numeric_overflow,
                          minus ? "too big negative integer"
                                : "too big integer");
    s->integer = (json_int_t)(minus ? 0 - v : v);
    return true;
}

static bool parse_real_token(struct parser *s)
{
    char few[64], *room = few;
    size_t n = (size_t)(s->p - s->token);

    if (n + MORTISE_REAL_SCRATCH > sizeof few)
        room = spare(s, &s->for_strings, n + MORTISE_REAL_SCRATCH);
    if (room == NULL)
        return false;
    mortise_real_parse_long(&s->real, room, s->token, n);
    return isfinite(s->real) || fail_parse(s, s->p, json_error_numeric_overflow,
                                           "real number overflow");
}

static bool parse_number_token(struct parser *s)
{
    enum kind kind;

    s->p = skip_number(s->p, s->end, &kind);
    if (!end_token(s, kind))
        return false;
    return kind == INTEGER ? parse_integer_token(s)
                           : kind != REAL || parse_real_token(s);
}

static bool parse_word_token(struct parser *s)
{
    size_t n;

    while (is_alpha(s->p, s->end))
        s->p++;
    n = (size_t)(s->p - s->token);
    s->word = n == 4 && memcmp(s->token, "true", 4) == 0    ? json_true()
              : n == 5 && memcmp(s->token, "false", 5) == 0 ? json_false()
              : n == 4 && memcmp(s->token, "null", 4) == 0  ? json_null()
                                                            : NULL;
    return end_token(s, s->word != NULL ? WORD : INVALID);
}

/* Read the next token.  A string with escapes is decoded into `room`. */
static bool read_token(struct parser *s, struct spare *room)
{
    while (s->p < s->end &&
           (*s->p == ' ' || *s->p == '\n' || *s->p == '\r' || *s->p == '\t'))
        s->p++;
    s->token = s->p;
    s->kind = END;
    if (s->p == s->end)
        return true;
    if (*s->p == '"')
        return parse_string_token(s, room);
    if (*s->p == '-' || is_digit_at(s->p, s->end))
        return parse_number_token(s);
    if (is_alpha(s->p, s->end))
        return parse_word_token(s);
    s->kind = memchr("[]{}:,", *s->p, 6) != NULL ? (enum kind) * s->p : INVALID;
    s->p = (unsigned char)*s->p < 0x80 ? s->p + 1 : skip_wide(s, s->p);
    return s->p != NULL;
}

/* ---- values -------------------------------------------------------------- */

static bool fail_syntax(struct parser *s, const char *words)
{
    return fail_parse(s, s->p, json_error_invalid_syntax, "%s", words);
}

static json_t *get_open_container(const struct parser *s)
{
    return s->depth > 0 ? s->open[s->depth - 1] : NULL;
}

/* Add the value to the innermost container, which takes the reference; NULL:
 * out of memory. */
static bool add_to_container(struct parser *s, json_t *v)
{
    json_t *in = get_open_container(s);
    size_t before;

    if (v == NULL)
        return fail_nomem(s);
    if (in == NULL) {
        s->root = v;
        return true;
    }
    if (json_is_array(in))
        return json_array_append_new(in, v) == 0 || fail_nomem(s);
    before = json_object_size(in);
    if (json_object_setn_new_nocheck(in, s->key.p, s->key.n, v) != 0)
        return fail_nomem(s);
    s->key.p = NULL;
    return !(s->flags & JSON_REJECT_DUPLICATES) ||
           json_object_size(in) != before || fail_duplicate(s);
}

static bool has_nul_byte(struct string string)
{
    return string.n > 0 && memchr(string.p, '\0', string.n) != NULL;
}

static bool open_container(struct parser *s)
{
    json_t *v;

    if (s->depth == s->deepest)
        return fail_parse(s, s->p, json_error_stack_overflow,
                          "nested deeper than %zu", s->deepest);
    v = s->kind == '{' ? json_object() : json_array();
    if (!add_to_container(s, v))
        return false;
    s->open[s->depth++] = v;
    return true;
}

/* Add the value that the token begins: a scalar, or an empty container. */
static bool add_token_value(struct parser *s)
{
    switch ((int)s->kind) {
    case STRING:
        if (!(s->flags & JSON_ALLOW_NUL) && has_nul_byte(s->string))
            return fail_parse(s, s->p, json_error_null_character,
                              "\\u0000 is not allowed without JSON_ALLOW_NUL");
        return add_to_container(s,
                                json_stringn_nocheck(s->string.p, s->string.n));
    case INTEGER:
        return add_to_container(s, json_integer(s->integer));
    case REAL:
        return add_to_container(s, json_real(s->real));
    case WORD:
        return add_to_container(s, s->word);
    case '{':
    case '[':
        return open_container(s);
    case INVALID:
        return fail_syntax(s, "invalid token");
    default:
        return fail_syntax(s, s->kind == END &&
                                      json_is_array(get_open_container(s))
                                  ? "']' expected"
                                  : "unexpected token");
    }
}

/* The token is a key: read on to the first token of its value. */
static bool parse_key_token(struct parser *s)
{
    if (s->kind != STRING)
        return fail_syntax(s, "string or '}' expected");
    if (has_nul_byte(s->string))
        return fail_parse(s, s->p, json_error_null_byte_in_key,
                          "NUL byte in object key not supported");
    s->key = s->string;
    s->key_token = s->token;
    s->key_end = s->p;
    if (!read_token(s, &s->for_strings))
        return false;
    if (s->kind != ':')
        return fail_syntax(s, "':' expected");
    return read_token(s, &s->for_strings);
}

/* After a value or an opening bracket: read on to the first token of the next
 * value, or, after the root, to the token behind it. */
static bool find_next_value(struct parser *s)
{
    for (bool opened = s->kind == '[' || s->kind == '{'; s->depth > 0;
         s->depth--, opened = false) {
        bool is_object = json_is_object(get_open_container(s));
        struct spare *room = is_object ? &s->for_keys : &s->for_strings;

        if (!read_token(s, room))
            return false;
        if (s->kind == (is_object ? '}' : ']'))
            continue;
        if (!opened && s->kind != ',')
            return fail_syntax(s, is_object ? "'}' expected" : "']' expected");
        if (!opened && !read_token(s, room))
            return false;
        return !is_object || parse_key_token(s);
    }
    return read_token(s, &s->for_strings);
}

static bool parse_json_text(struct parser *s)
{
    if (!read_token(s, &s->for_strings))
        return false;
    if (!(s->flags & JSON_DECODE_ANY) && s->kind != '[' && s->kind != '{')
        return fail_syntax(s, "'[' or '{' expected");
    do {
        if (!add_token_value(s) || !find_next_value(s))
            return false;
    } while (s->depth > 0);
    return s->kind == END ||
           fail_parse(s, s->p, json_error_end_of_input_expected,
                      "end of file expected");
}

json_t *mortise_json_load(const char *text, size_t n, size_t flags,
                          size_t depth, json_error_t *why)
{
    struct parser s;
    json_malloc_t allocate;
    json_free_t release;
    bool ok;

    assert(depth <= MORTISE_JSON_DEPTH_MAX);
    s.text = s.p = s.token = text;
    s.end = text + n;
    s.flags = flags;
    s.deepest = depth;
    s.depth = 0;
    s.root = NULL;
    s.key.p = NULL;
    s.for_keys = s.for_strings = (struct spare){NULL, 0};
    ok = parse_json_text(&s);
    if (!ok && why != NULL) {
        fill_json_error(&s);
        snprintf(s.why.source, sizeof s.why.source, "<buffer>");
        *why = s.why;
    }
    if (!ok) {
        json_decref(s.root);
        s.root = NULL;
    }
    if (s.for_keys.p != NULL || s.for_strings.p != NULL) {
        json_get_alloc_funcs(&allocate, &release);
        release(s.for_keys.p);
        release(s.for_strings.p);
    }
    return s.root;
}
