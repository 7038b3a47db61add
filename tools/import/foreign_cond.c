/* foreign_cond.c -- conditions of other systems, read by their own grammar.
 *
 *     choice  = either [ "?" choice ":" choice ]
 *     either  = both { "||" both }
 *     both    = single { "&&" single }
 *     single  = unary [ compare unary ]
 *     unary   = "!" unary | operand
 *     operand = "(" choice ")" | string | number | word | path
 *     path    = [ "state." ] partition { "." name }
 *
 * A word that is no path and no literal is a string, as theirs are: the ids of
 * nodes may stand without quotes.  What is more than that (arithmetic, a call,
 * an index) is none of it, and NULL: their former releases took it as
 * JavaScript, and whoever calls makes of its text what can be made.
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

static struct foreign_cond *choice(struct reader *r);

/* ---- signs and words -------------------------------------------------------- */

static void skip_space(struct reader *r)
{
    while (r->p < r->end && strchr(" \t\r\n", *r->p) != NULL)
        r->p++;
}

static bool take(struct reader *r, const char *sign)
{
    const size_t n = strlen(sign);

    skip_space(r);
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, sign, n) != 0)
        return false;
    r->p += n;
    return true;
}

static struct foreign_cond *make(struct reader *r, enum foreign_cond_kind kind)
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

static struct foreign_cond *make_text(struct reader *r,
                                      enum foreign_cond_kind kind,
                                      const char *text, size_t n)
{
    struct foreign_cond *c = make(r, kind);

    if (c != NULL) {
        c->text = text;
        c->n = n;
    }
    return c;
}

static struct foreign_cond *make_two(struct reader *r,
                                     enum foreign_cond_kind kind,
                                     struct foreign_cond *a,
                                     struct foreign_cond *b)
{
    struct foreign_cond *c = b != NULL ? make(r, kind) : NULL;

    if (c != NULL) {
        c->part[0] = a;
        c->part[1] = b;
    }
    return c;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is(const char *text, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(text, word, n) == 0;
}

/* ---- operands ---------------------------------------------------------------- */

static struct foreign_cond *quoted(struct reader *r)
{
    const char *from = r->p++;

    while (r->p < r->end && *r->p != *from)
        r->p += *r->p == '\\' && r->p + 1 < r->end ? 2 : 1;
    if (r->p >= r->end)
        return NULL;
    r->p++;
    return make_text(r, FOREIGN_COND_LITERAL, from, (size_t)(r->p - from));
}

static void skip_digits(struct reader *r)
{
    while (r->p < r->end && is_digit(*r->p))
        r->p++;
}

static struct foreign_cond *number(struct reader *r)
{
    const char *from = r->p;

    r->p += *r->p == '-';
    skip_digits(r);
    if (r->end - r->p > 1 && *r->p == '.' && is_digit(r->p[1])) {
        r->p++;
        skip_digits(r);
    }
    if (r->p < r->end && (is_letter(*r->p) || *r->p == '.'))
        return NULL;
    return make_text(r, FOREIGN_COND_LITERAL, from, (size_t)(r->p - from));
}

static size_t skip_state(const char *text, size_t n)
{
    return n > 6 && memcmp(text, "state.", 6) == 0 ? 6 : 0;
}

static bool is_path(const char *text, size_t n)
{
    static const char *const partitions[] = {"input", "scratch", "artifacts",
                                             "memory", "diagnostics"};
    const size_t at = skip_state(text, n);
    const char *dot = memchr(text + at, '.', n - at);
    const size_t first = dot != NULL ? (size_t)(dot - text) - at : n - at;

    for (size_t i = 0; i < sizeof partitions / sizeof partitions[0]; i++)
        if (is(text + at, first, partitions[i]))
            return true;
    return false;
}

static struct foreign_cond *word(struct reader *r)
{
    const char *from = r->p;
    bool dotted = false;
    size_t n;

    while (r->p < r->end && (is_letter(*r->p) || is_digit(*r->p) ||
                             *r->p == '-' || *r->p == '.')) {
        dotted |= *r->p == '.';
        r->p++;
    }
    n = (size_t)(r->p - from);
    if (is_path(from, n))
        return memchr(from, '-', n) == NULL && from[n - 1] != '.'
                   ? make_text(r, FOREIGN_COND_PATH, from, n)
                   : NULL;
    if (is(from, n, "undefined"))
        return make(r, FOREIGN_COND_UNDEFINED);
    if (is(from, n, "true") || is(from, n, "false") || is(from, n, "null"))
        return make_text(r, FOREIGN_COND_LITERAL, from, n);
    return dotted ? NULL : make_text(r, FOREIGN_COND_WORD, from, n);
}

static struct foreign_cond *operand(struct reader *r)
{
    struct foreign_cond *c;

    skip_space(r);
    if (r->p == r->end)
        return NULL;
    if (take(r, "(")) {
        c = choice(r);
        return c != NULL && take(r, ")") ? c : NULL;
    }
    if (*r->p == '"' || *r->p == '\'')
        return quoted(r);
    if (is_digit(*r->p) ||
        (*r->p == '-' && r->end - r->p > 1 && is_digit(r->p[1])))
        return number(r);
    return is_letter(*r->p) ? word(r) : NULL;
}

/* ---- operators --------------------------------------------------------------- */

static const struct {
    const char *sign;
    enum foreign_cond_op op;
} signs[] = {
    {"===", FOREIGN_COND_SAME},    {"!==", FOREIGN_COND_OTHER},
    {"==", FOREIGN_COND_EQUAL},    {"!=", FOREIGN_COND_UNEQUAL},
    {">=", FOREIGN_COND_AT_LEAST}, {"<=", FOREIGN_COND_AT_MOST},
    {">", FOREIGN_COND_ABOVE},     {"<", FOREIGN_COND_BELOW},
};

static struct foreign_cond *unary(struct reader *r)
{
    struct foreign_cond *of;

    skip_space(r);
    if (r->end - r->p < 2 || *r->p != '!' || r->p[1] == '=')
        return operand(r);
    r->p++;
    of = r->depth++ < DEPTH_MAX ? unary(r) : NULL;
    r->depth--;
    return of != NULL ? make_two(r, FOREIGN_COND_NOT, of, of) : NULL;
}

static bool is_nothing(const struct foreign_cond *c)
{
    return c->kind == FOREIGN_COND_UNDEFINED ||
           (c->kind == FOREIGN_COND_LITERAL && is(c->text, c->n, "null"));
}

/* What is not there is compared with a path, and has no order. */
static bool is_comparison(const struct foreign_cond *left,
                          enum foreign_cond_op op,
                          const struct foreign_cond *right)
{
    if (left->kind < FOREIGN_COND_PATH || right->kind < FOREIGN_COND_PATH)
        return false;
    if (!is_nothing(left) && !is_nothing(right))
        return true;
    return op < FOREIGN_COND_AT_LEAST && (left->kind == FOREIGN_COND_PATH ||
                                          right->kind == FOREIGN_COND_PATH);
}

static struct foreign_cond *compare(struct reader *r, struct foreign_cond *left)
{
    struct foreign_cond *right, *c;
    size_t i = 0;

    while (i < sizeof signs / sizeof signs[0] && !take(r, signs[i].sign))
        i++;
    if (i == sizeof signs / sizeof signs[0])
        return left;
    right = unary(r);
    if (right == NULL || !is_comparison(left, signs[i].op, right))
        return NULL;
    c = make_two(r, FOREIGN_COND_COMPARE, left, right);
    if (c != NULL)
        c->op = signs[i].op;
    return c;
}

static struct foreign_cond *single(struct reader *r)
{
    struct foreign_cond *c = unary(r);

    return c != NULL ? compare(r, c) : NULL;
}

static struct foreign_cond *both(struct reader *r)
{
    struct foreign_cond *c = single(r);

    while (c != NULL && take(r, "&&"))
        c = make_two(r, FOREIGN_COND_AND, c, single(r));
    return c;
}

static struct foreign_cond *either(struct reader *r)
{
    struct foreign_cond *c = both(r);

    while (c != NULL && take(r, "||"))
        c = make_two(r, FOREIGN_COND_OR, c, both(r));
    return c;
}

static struct foreign_cond *choice_of(struct reader *r)
{
    struct foreign_cond *of = either(r), *yes, *c;

    if (of == NULL || !take(r, "?"))
        return of;
    yes = choice(r);
    if (yes == NULL || !take(r, ":"))
        return NULL;
    c = make_two(r, FOREIGN_COND_CHOICE, yes, choice(r));
    if (c != NULL)
        c->of = of;
    return c;
}

static struct foreign_cond *choice(struct reader *r)
{
    struct foreign_cond *c = r->depth++ < DEPTH_MAX ? choice_of(r) : NULL;

    r->depth--;
    return c;
}

const struct foreign_cond *
mortise_foreign_cond_read(struct mortise_arena *arena, const char *text,
                          size_t n, bool *nomem)
{
    struct reader r = {.arena = arena, .p = text, .end = text + n};
    const struct foreign_cond *c = choice(&r);

    skip_space(&r);
    *nomem |= r.nomem;
    return r.p == r.end && !r.nomem ? c : NULL;
}
