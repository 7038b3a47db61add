/* func_format.c -- "%d of %s".format([2, 'three']).
 *
 * Clauses: %s anything, %d decimal, %f and %e fixed and scientific (six digits,
 * or %.Nf), %b binary, %o octal, %x and %X hexadecimal (also of strings and
 * bytes), %% a percent sign.  Map entries are sorted by the text of their keys,
 * so that equal maps have equal texts.
 *
 * If the template is a constant in the expression, its clauses are checked at
 * the compilation.  If the list is a literal, too, the number and kinds of its
 * values are checked then.  Values that can never be formatted are refused.
 */
#include "lang/cel/func.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/real.h"
#include "core/base/utf8.h"

enum {
    PRECISION_MAX = 1000,
    LONGEST = 400 + PRECISION_MAX, /* -1.8e308 with all its digits */
    /* nesting depth of formatted lists and maps */
    DEPTH = 64
};

/* The output.  Each byte is charged for when it is written. */
struct writer {
    struct cel_ctx *c;
    struct mortise_buf b;
};

static bool put_charged(struct writer *w, const char *p, size_t n)
{
    if (!cel_charge(w->c, n + 1))
        return false;
    mortise_buf_put(&w->b, p, n);
    return !w->b.failed || mortise_cel_fault(w->c, CEL_MEMORY);
}

static bool put_charged_text(struct writer *w, const char *text)
{
    return put_charged(w, text, strlen(text));
}

/* ---- anything ---------------------------------------------------------- */

static bool show_value(struct writer *w, const struct cel_value *v,
                       size_t depth);

static bool show_list(struct writer *w, const struct cel_value *v, size_t depth)
{
    if (!put_charged_text(w, "["))
        return false;
    for (size_t i = 0; i < mortise_cel_get_count(v); i++) {
        struct cel_value item = mortise_cel_get_item(v, i);

        if ((i > 0 && !put_charged_text(w, ", ")) ||
            !show_value(w, &item, depth))
            return false;
    }
    return put_charged_text(w, "]");
}

/* A key as text, and its value. */
struct shown {
    const char *key;
    size_t n;
    struct cel_value value;
};

static int compare_shown(const void *a, const void *b)
{
    const struct shown *x = a, *y = b;
    size_t n = x->n < y->n ? x->n : y->n;
    int d = memcmp(x->key, y->key, n);

    return d != 0 ? d : (x->n > y->n) - (x->n < y->n);
}

/* The text of a key, in the arena. */
static bool show_key(struct writer *w, const struct cel_value *key,
                     struct shown *out)
{
    size_t from = w->b.n;
    struct cel_value text;

    if (!show_value(w, key, 0) ||
        !mortise_cel_copy_text(w->c, w->b.p + from, w->b.n - from, &text))
        return false;
    w->b.n = from;
    out->key = text.u.s.p;
    out->n = text.u.s.n;
    return true;
}

static bool show_map(struct writer *w, const struct cel_value *v, size_t depth)
{
    size_t n = mortise_cel_get_count(v), i = 0;
    struct shown *list = mortise_cel_alloc(w->c, n, sizeof *list);
    struct cel_value key;
    struct cel_cursor cur;

    if (list == NULL || !put_charged_text(w, "{"))
        return false;
    mortise_cel_cursor_init(&cur, v);
    for (; mortise_cel_next(&cur, &key, &list[i].value); i++)
        if (!show_key(w, &key, &list[i]))
            return false;
    qsort(list, n, sizeof *list, compare_shown);
    for (i = 0; i < n; i++)
        if ((i > 0 && !put_charged_text(w, ", ")) ||
            !put_charged(w, list[i].key, list[i].n) ||
            !put_charged_text(w, ": ") || !show_value(w, &list[i].value, depth))
            return false;
    return put_charged_text(w, "}");
}

/* NaN and the infinities have the same text in all clauses; NULL: another
 * number. */
static const char *get_special_name(double d)
{
    return isnan(d)    ? "NaN"
           : !isinf(d) ? NULL
           : d > 0     ? "Infinity"
                       : "-Infinity";
}

static bool show_number(struct writer *w, const struct cel_value *v)
{
    char text[MORTISE_REAL_TEXT];

    if (v->kind == CEL_DOUBLE && get_special_name(v->u.d) != NULL)
        return put_charged_text(w, get_special_name(v->u.d));
    return put_charged(w, text, mortise_cel_format_number(text, v));
}

static bool show_when(struct writer *w, const struct cel_value *v)
{
    char text[CEL_TIME_TEXT];

    return put_charged(w, text, mortise_cel_format_time_value(text, v));
}

static bool show_value(struct writer *w, const struct cel_value *v,
                       size_t depth)
{
    switch ((enum cel_kind)v->kind) {
    case CEL_NULL:
        return put_charged_text(w, "null");
    case CEL_BOOL:
        return put_charged_text(w, v->u.b ? "true" : "false");
    case CEL_INT:
    case CEL_UINT:
    case CEL_DOUBLE:
        return show_number(w, v);
    case CEL_BYTES:
        if (!mortise_utf8_is_valid(v->u.s.p, v->u.s.n))
            return mortise_cel_fault(w->c, CEL_NOT_UTF8);
        return put_charged(w, v->u.s.p, v->u.s.n);
    case CEL_STRING:
        return put_charged(w, v->u.s.p, v->u.s.n);
    case CEL_TIMESTAMP:
    case CEL_DURATION:
        return show_when(w, v);
    case CEL_TYPE:
        return put_charged_text(w, mortise_cel_type_name(v->u.type));
    case CEL_LIST:
    case CEL_MAP:
        if (depth == 0)
            return mortise_cel_fault(w->c, CEL_DEPTH);
        return v->kind == CEL_LIST ? show_list(w, v, depth - 1)
                                   : show_map(w, v, depth - 1);
    case CEL_KINDS:
        break;
    }
    return false;
}

/* ---- clauses ----------------------------------------------------------- */

/* One clause of the template. */
struct clause {
    char letter;
    int precision; /* default: 6 */
};

/* The kinds that each clause can format. */
static const struct {
    char letter;
    unsigned kinds;
} clauses[] = {
    {'s', ANY},
    {'d', NUMBER},
    {'f', NUMBER},
    {'e', NUMBER},
    {'b', WHOLE | BOOL},
    {'o', WHOLE},
    {'x', WHOLE | STRING | BYTES},
    {'X', WHOLE | STRING | BYTES},
};

/* 0: the clause does not exist. */
static unsigned get_shown_kinds(char letter)
{
    for (size_t i = 0; i < sizeof clauses / sizeof clauses[0]; i++)
        if (clauses[i].letter == letter)
            return clauses[i].kinds;
    return 0;
}

static bool cannot_show(struct writer *w, const struct clause *k,
                        const struct cel_value *v)
{
    return mortise_cel_fault_of(w->c, CEL_CLAUSE, v->kind,
                                (unsigned char)k->letter);
}

static const char *get_digit_chars(char letter)
{
    return letter == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
}

/* In base 2, 8 or 16, with a sign if negative. */
static bool show_in_base(struct writer *w, uint64_t v, bool negative,
                         unsigned shift, const char *digits)
{
    char text[66], *p = text + sizeof text;

    do
        *--p = digits[v & ((1u << shift) - 1)];
    while ((v >>= shift) > 0);
    if (negative)
        *--p = '-';
    return put_charged(w, p, (size_t)(text + sizeof text - p));
}

static bool show_whole(struct writer *w, const struct clause *k,
                       const struct cel_value *v)
{
    unsigned shift = k->letter == 'b' ? 1 : k->letter == 'o' ? 3 : 4;
    bool negative = v->kind == CEL_INT && v->u.i < 0;

    if (v->kind == CEL_BOOL && k->letter == 'b')
        return put_charged_text(w, v->u.b ? "1" : "0");
    return show_in_base(w, negative ? 0 - v->u.u : v->u.u, negative, shift,
                        get_digit_chars(k->letter));
}

static bool show_hex(struct writer *w, const struct clause *k,
                     const struct cel_value *v)
{
    const char *digits = get_digit_chars(k->letter);

    if (v->kind != CEL_STRING && v->kind != CEL_BYTES)
        return show_whole(w, k, v);
    for (size_t i = 0; i < v->u.s.n; i++) {
        uint8_t b = (uint8_t)v->u.s.p[i];

        if (!put_charged(w, &digits[b >> 4], 1) ||
            !put_charged(w, &digits[b & 15], 1))
            return false;
    }
    return true;
}

static bool show_real(struct writer *w, const struct clause *k,
                      const struct cel_value *v)
{
    char text[LONGEST];
    double d = cel_as_double(v);

    if (get_special_name(d) != NULL)
        return put_charged_text(w, get_special_name(d));
    return put_charged(w, text,
                       mortise_real_format_digits(text, sizeof text, d,
                                                  k->letter, k->precision));
}

static bool show_clause(struct writer *w, const struct clause *k,
                        const struct cel_value *v)
{
    if (!(get_shown_kinds(k->letter) & BIT(v->kind)))
        return cannot_show(w, k, v);
    switch (k->letter) {
    case 's':
        return show_value(w, v, DEPTH);
    case 'd':
        return show_number(w, v);
    case 'f':
    case 'e':
        return show_real(w, k, v);
    case 'x':
    case 'X':
        return show_hex(w, k, v);
    default:
        return show_whole(w, k, v);
    }
}

/* After a percent sign: [.digits]letter. */
static bool read_clause(const char **p, const char *end, struct clause *k)
{
    k->precision = 6;
    if (*p < end && **p == '.') {
        k->precision = 0;
        for (++*p; *p < end && **p >= '0' && **p <= '9'; ++*p)
            if (k->precision <= PRECISION_MAX)
                k->precision = k->precision * 10 + (**p - '0');
    }
    if (*p == end || k->precision > PRECISION_MAX || get_shown_kinds(**p) == 0)
        return false;
    k->letter = *(*p)++;
    return true;
}

/* Format one clause; `i` counts the formatted values. */
static bool format_one(struct writer *w, const char **p, const char *end,
                       const struct cel_value *list, size_t *i)
{
    struct cel_value v;
    struct clause k;

    if (*p < end && **p == '%') {
        ++*p;
        return put_charged_text(w, "%");
    }
    if (!read_clause(p, end, &k))
        return mortise_cel_fault(w->c, CEL_NO_CLAUSE);
    if (*i >= mortise_cel_get_count(list))
        return mortise_cel_fault(w->c, CEL_TOO_FEW);
    v = mortise_cel_get_item(list, (*i)++);
    return show_clause(w, &k, &v);
}

static bool format_all(struct writer *w, const struct cel_value *text,
                       const struct cel_value *list)
{
    const char *p = text->u.s.p, *end = p + text->u.s.n;
    size_t i = 0;

    while (p < end) {
        const char *percent = memchr(p, '%', (size_t)(end - p));
        size_t plain = (size_t)((percent != NULL ? percent : end) - p);

        if (!put_charged(w, p, plain))
            return false;
        p += plain;
        if (p < end && (p++, !format_one(w, &p, end, list, &i)))
            return false;
    }
    return true;
}

static bool call_format(CEL_PARAMS)
{
    struct writer w = {.c = c};
    bool ok;

    mortise_buf_init(&w.b, c->arena->mem);
    ok = format_all(&w, &args[0], &args[1]) &&
         mortise_cel_copy_text(c, w.b.p, w.b.n, out);
    mortise_buf_finish(&w.b);
    return ok;
}

/* ---- preparation ------------------------------------------------------- */

/* The next clause with a value, after plain text and %%; false: none. */
static bool next_clause(const struct cel_source *src, const struct cel_node *at,
                        const char **p, const char *end, struct clause *k)
{
    while ((*p = memchr(*p, '%', (size_t)(end - *p))) != NULL) {
        if (++*p < end && **p == '%') {
            ++*p;
            continue;
        }
        if (!read_clause(p, end, k))
            CEL_FAIL_AT(
                src, at,
                "unknown format clause: use %%s, %%d, %%f, %%e, %%b, %%o, %%x, "
                "%%X or %%%%, or a number of digits as in %%.2f and %%.2e");
        return true;
    }
    return false;
}

/* Can the clause format this value? */
static void check_shown(const struct cel_source *src, const struct clause *k,
                        const struct cel_node *value)
{
    char takes[MORTISE_CEL_WORDS], is[MORTISE_CEL_WORDS];

    if (value->kinds & get_shown_kinds(k->letter))
        return;
    mortise_cel_format_kinds(get_shown_kinds(k->letter), takes);
    mortise_cel_format_kinds(value->kinds, is);
    CEL_FAIL_AT(src, value, "%%%c formats %s, not %s", k->letter, takes, is);
}

static void prepare_format(const struct cel_source *src, struct cel_node *n)
{
    const struct cel_node *text = n->kids[0], *list = n->kids[1];
    bool listed = list->op == CEL_NEWLIST;
    const char *p, *end;
    uint32_t count = 0;
    struct clause k;

    if (text->op != CEL_CONST)
        return;
    p = text->u.constant.u.s.p;
    end = p + text->u.constant.u.s.n;
    for (; next_clause(src, text, &p, end, &k); count++)
        if (listed && count < list->n)
            check_shown(src, &k, list->kids[count]);
    if (listed && count != list->n)
        CEL_FAIL_AT(src, list,
                    "format() has %u clause%s, but the list has %u value%s",
                    (unsigned)count, count == 1 ? "" : "s", (unsigned)list->n,
                    list->n == 1 ? "" : "s");
}

static const struct cel_function rows[] = {
    CEL_FUNCTION("format", 2, CEL_RECEIVER, 0, STRING, call_format,
                 prepare_format, STRING, LIST),
};

const struct cel_functions mortise_cel_format_functions = {
    rows, sizeof rows / sizeof rows[0]};
