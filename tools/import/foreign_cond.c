/* foreign_cond.c -- parse the conditions of other systems.
 *
 *     choice  = either [ "?" choice ":" choice ]
 *     either  = both { "||" both }
 *     both    = single { "&&" single }
 *     single  = unary [ compare unary ]
 *     unary   = "!" unary | operand
 *     operand = "(" choice ")" | string | number | word | path
 *     path    = [ "state." ] partition { "." name }
 *
 * A word that is neither a path nor a literal is a string: ids of nodes need no
 * quotes.  For all other text (arithmetic, calls, indexes) the result is NULL.
 * Former releases of the source ran it as JavaScript; foreign_expr.c tries to
 * use it as CEL.
 */
#include "tools/import/foreign_cond.h"

#include <string.h>

enum { DEPTH_MAX = 64, PARTS_MAX = 1000 };

struct reader {
    struct mortise_arena *arena;
    const char *p, *end;
    unsigned depth, parts;
    bool nomem;
};

static struct foreign_cond *parse_choice(struct reader *r);

/* ---- tokens ------------------------------------------------------------- */

static void skip_space(struct reader *r)
{
    while (r->p < r->end && strchr(" \t\r\n", *r->p) != NULL)
        r->p++;
}

static bool skip_sign(struct reader *r, const char *sign)
{
    const size_t n = strlen(sign);

    skip_space(r);
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, sign, n) != 0)
        return false;
    r->p += n;
    return true;
}

static struct foreign_cond *make_cond(struct reader *r,
                                      enum foreign_cond_kind kind)
{
    struct foreign_cond *c;

    if (r->parts++ == PARTS_MAX)
        return NULL;
    c = mortise_arena_alloc(r->arena, sizeof *c);
    if (c == NULL)
        r->nomem = true;
    else
        *c = (struct foreign_cond){.kind = kind};
    return c;
}

static struct foreign_cond *make_text_cond(struct reader *r,
                                           enum foreign_cond_kind kind,
                                           const char *text, size_t n)
{
    struct foreign_cond *c = make_cond(r, kind);

    if (c != NULL) {
        c->text = text;
        c->n = n;
    }
    return c;
}

static struct foreign_cond *make_two_part_cond(struct reader *r,
                                               enum foreign_cond_kind kind,
                                               struct foreign_cond *a,
                                               struct foreign_cond *b)
{
    struct foreign_cond *c = b != NULL ? make_cond(r, kind) : NULL;

    if (c != NULL) {
        c->part[0] = a;
        c->part[1] = b;
    }
    return c;
}

static bool is_cond_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_cond_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_text_equal(const char *text, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(text, word, n) == 0;
}

/* ---- operands ----------------------------------------------------------- */

static struct foreign_cond *parse_quoted(struct reader *r)
{
    const char *from = r->p++;

    while (r->p < r->end && *r->p != *from)
        r->p += *r->p == '\\' && r->p + 1 < r->end ? 2 : 1;
    if (r->p >= r->end)
        return NULL;
    r->p++;
    return make_text_cond(r, FOREIGN_COND_LITERAL, from, (size_t)(r->p - from));
}

static void skip_cond_digits(struct reader *r)
{
    while (r->p < r->end && is_cond_digit(*r->p))
        r->p++;
}

static struct foreign_cond *parse_cond_number(struct reader *r)
{
    const char *from = r->p;

    r->p += *r->p == '-';
    skip_cond_digits(r);
    if (r->end - r->p > 1 && *r->p == '.' && is_cond_digit(r->p[1])) {
        r->p++;
        skip_cond_digits(r);
    }
    if (r->p < r->end && (is_cond_letter(*r->p) || *r->p == '.'))
        return NULL;
    return make_text_cond(r, FOREIGN_COND_LITERAL, from, (size_t)(r->p - from));
}

static size_t get_state_prefix_size(const char *text, size_t n)
{
    return n > 6 && memcmp(text, "state.", 6) == 0 ? 6 : 0;
}

static bool is_state_path(const char *text, size_t n)
{
    static const char *const partitions[] = {"input", "scratch", "artifacts",
                                             "memory", "diagnostics"};
    const size_t at = get_state_prefix_size(text, n);
    const char *dot = memchr(text + at, '.', n - at);
    const size_t first = dot != NULL ? (size_t)(dot - text) - at : n - at;

    for (size_t i = 0; i < sizeof partitions / sizeof partitions[0]; i++)
        if (is_text_equal(text + at, first, partitions[i]))
            return true;
    return false;
}

static struct foreign_cond *parse_cond_word(struct reader *r)
{
    const char *from = r->p;
    bool dotted = false;
    size_t n;

    while (r->p < r->end && (is_cond_letter(*r->p) || is_cond_digit(*r->p) ||
                             *r->p == '-' || *r->p == '.')) {
        dotted |= *r->p == '.';
        r->p++;
    }
    n = (size_t)(r->p - from);
    if (is_state_path(from, n))
        return memchr(from, '-', n) == NULL && from[n - 1] != '.'
                   ? make_text_cond(r, FOREIGN_COND_PATH, from, n)
                   : NULL;
    if (is_text_equal(from, n, "undefined"))
        return make_cond(r, FOREIGN_COND_UNDEFINED);
    if (is_text_equal(from, n, "true") || is_text_equal(from, n, "false") ||
        is_text_equal(from, n, "null"))
        return make_text_cond(r, FOREIGN_COND_LITERAL, from, n);
    return dotted ? NULL : make_text_cond(r, FOREIGN_COND_WORD, from, n);
}

static struct foreign_cond *parse_operand(struct reader *r)
{
    struct foreign_cond *c;

    skip_space(r);
    if (r->p == r->end)
        return NULL;
    if (skip_sign(r, "(")) {
        c = parse_choice(r);
        return c != NULL && skip_sign(r, ")") ? c : NULL;
    }
    if (*r->p == '"' || *r->p == '\'')
        return parse_quoted(r);
    if (is_cond_digit(*r->p) ||
        (*r->p == '-' && r->end - r->p > 1 && is_cond_digit(r->p[1])))
        return parse_cond_number(r);
    return is_cond_letter(*r->p) ? parse_cond_word(r) : NULL;
}

/* ---- operators ---------------------------------------------------------- */

static const struct {
    const char *sign;
    enum foreign_cond_op op;
} signs[] = {
    {"===", FOREIGN_COND_STRICT_EQUAL}, {"!==", FOREIGN_COND_STRICT_UNEQUAL},
    {"==", FOREIGN_COND_EQUAL},         {"!=", FOREIGN_COND_UNEQUAL},
    {">=", FOREIGN_COND_AT_LEAST},      {"<=", FOREIGN_COND_AT_MOST},
    {">", FOREIGN_COND_ABOVE},          {"<", FOREIGN_COND_BELOW},
};

static struct foreign_cond *parse_cond_unary(struct reader *r)
{
    struct foreign_cond *of;

    skip_space(r);
    if (r->end - r->p < 2 || *r->p != '!' || r->p[1] == '=')
        return parse_operand(r);
    r->p++;
    of = r->depth++ < DEPTH_MAX ? parse_cond_unary(r) : NULL;
    r->depth--;
    return of != NULL ? make_two_part_cond(r, FOREIGN_COND_NOT, of, of) : NULL;
}

static bool is_null_or_undefined(const struct foreign_cond *c)
{
    return c->kind == FOREIGN_COND_UNDEFINED ||
           (c->kind == FOREIGN_COND_LITERAL &&
            is_text_equal(c->text, c->n, "null"));
}

/* null and undefined can only be compared with a path, and only for
 * equality. */
static bool is_valid_comparison(const struct foreign_cond *left,
                                enum foreign_cond_op op,
                                const struct foreign_cond *right)
{
    if (left->kind < FOREIGN_COND_PATH || right->kind < FOREIGN_COND_PATH)
        return false;
    if (!is_null_or_undefined(left) && !is_null_or_undefined(right))
        return true;
    return op < FOREIGN_COND_AT_LEAST && (left->kind == FOREIGN_COND_PATH ||
                                          right->kind == FOREIGN_COND_PATH);
}

static struct foreign_cond *parse_comparison(struct reader *r,
                                             struct foreign_cond *left)
{
    struct foreign_cond *right, *c;
    size_t i = 0;

    while (i < sizeof signs / sizeof signs[0] && !skip_sign(r, signs[i].sign))
        i++;
    if (i == sizeof signs / sizeof signs[0])
        return left;
    right = parse_cond_unary(r);
    if (right == NULL || !is_valid_comparison(left, signs[i].op, right))
        return NULL;
    c = make_two_part_cond(r, FOREIGN_COND_COMPARE, left, right);
    if (c != NULL)
        c->op = signs[i].op;
    return c;
}

static struct foreign_cond *parse_single(struct reader *r)
{
    struct foreign_cond *c = parse_cond_unary(r);

    return c != NULL ? parse_comparison(r, c) : NULL;
}

static struct foreign_cond *parse_both(struct reader *r)
{
    struct foreign_cond *c = parse_single(r);

    while (c != NULL && skip_sign(r, "&&"))
        c = make_two_part_cond(r, FOREIGN_COND_AND, c, parse_single(r));
    return c;
}

static struct foreign_cond *parse_either(struct reader *r)
{
    struct foreign_cond *c = parse_both(r);

    while (c != NULL && skip_sign(r, "||"))
        c = make_two_part_cond(r, FOREIGN_COND_OR, c, parse_both(r));
    return c;
}

static struct foreign_cond *parse_choice_parts(struct reader *r)
{
    struct foreign_cond *of = parse_either(r), *yes, *c;

    if (of == NULL || !skip_sign(r, "?"))
        return of;
    yes = parse_choice(r);
    if (yes == NULL || !skip_sign(r, ":"))
        return NULL;
    c = make_two_part_cond(r, FOREIGN_COND_CHOICE, yes, parse_choice(r));
    if (c != NULL)
        c->of = of;
    return c;
}

static struct foreign_cond *parse_choice(struct reader *r)
{
    struct foreign_cond *c =
        r->depth++ < DEPTH_MAX ? parse_choice_parts(r) : NULL;

    r->depth--;
    return c;
}

const struct foreign_cond *
mortise_foreign_cond_parse(struct mortise_arena *arena, const char *text,
                           size_t n, bool *nomem)
{
    struct reader r = {.arena = arena, .p = text, .end = text + n};
    const struct foreign_cond *c = parse_choice(&r);

    skip_space(&r);
    *nomem |= r.nomem;
    return r.p == r.end && !r.nomem ? c : NULL;
}
