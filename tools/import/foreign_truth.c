/* foreign_truth.c -- write conditions of other systems in CEL.
 *
 * Conditions of the source never fail.  An absent value equals no other value,
 * and is neither greater nor less.  A value that is not a bool is true if it is
 * present and not false, null, 0 or "".  In CEL, an absent value is an error,
 * so `has` tests each path first.
 *
 * The result is a tree of the same type that contains only operations of CEL.
 * RAW leaves are comparisons; LITERAL leaves bind tighter.
 */
#include "tools/import/foreign_cond.h"

#include <stdarg.h>
#include <string.h>

#include "core/base/buf.h"

typedef const struct foreign_cond *cond;

struct maker {
    struct mortise_arena *arena;
    bool nomem;
};

/* ---- trees -------------------------------------------------------------- */

static cond alloc_cond(struct maker *m, const struct foreign_cond what)
{
    struct foreign_cond *c = mortise_arena_alloc(m->arena, sizeof *c);

    if (c == NULL)
        m->nomem = true;
    else
        *c = what;
    return c;
}

/* NULL if a part is NULL: out of memory. */
static cond make_pair(struct maker *m, enum foreign_cond_kind kind, cond a,
                      cond b)
{
    if (a == NULL || b == NULL)
        return NULL;
    return alloc_cond(m, (struct foreign_cond){.kind = kind, .part = {a, b}});
}

static cond negate_cond(struct maker *m, cond c)
{
    if (c != NULL && c->kind == FOREIGN_COND_NOT)
        return c->part[0];
    return make_pair(m, FOREIGN_COND_NOT, c, c);
}

static cond make_leaf(struct maker *m, enum foreign_cond_kind kind,
                      const char *fmt, ...) MORTISE_PRINTF(3, 4);

static cond make_leaf(struct maker *m, enum foreign_cond_kind kind,
                      const char *fmt, ...)
{
    struct mortise_buf b;
    va_list ap;
    const char *text = NULL;
    size_t n;

    mortise_buf_init(&b, m->arena->mem);
    va_start(ap, fmt);
    mortise_buf_vprintf(&b, fmt, ap);
    va_end(ap);
    n = b.n;
    if (!b.failed)
        text = mortise_arena_strndup(m->arena, b.n > 0 ? b.p : "", n);
    mortise_buf_finish(&b);
    m->nomem |= text == NULL;
    return text != NULL ? alloc_cond(m, (struct foreign_cond){.kind = kind,
                                                              .text = text,
                                                              .n = n})
                        : NULL;
}

static cond make_bool(struct maker *m, bool v)
{
    return make_leaf(m, FOREIGN_COND_LITERAL, "%s", v ? "true" : "false");
}

/* ---- paths -------------------------------------------------------------- */

/* Find the end of the name that begins at `at`. */
static size_t find_name_end(cond path, size_t at)
{
    const char *dot = memchr(path->text + at, '.', path->n - at);

    return dot != NULL ? (size_t)(dot - path->text) : path->n;
}

/* Find the end of the partition.  A partition itself is always present. */
static size_t find_partition_end(cond path)
{
    const bool state = path->n > 6 && memcmp(path->text, "state.", 6) == 0;

    return find_name_end(path, state ? 6 : 0);
}

static bool is_always_present(cond c)
{
    return c->kind != FOREIGN_COND_PATH || find_partition_end(c) == c->n;
}

/* `length` is no member of a list here.  Find where `.length` begins, with its
 * dot; path->n: the path does not end with it. */
static size_t find_length(cond path)
{
    static const char length[] = ".length";
    const size_t n = sizeof length - 1;

    return path->n > find_partition_end(path) + n &&
                   memcmp(path->text + path->n - n, length, n) == 0
               ? path->n - n
               : path->n;
}

/* Test whether the value that ends at `from`, which is present, has the member
 * that ends at `end`. */
static cond make_member_test(struct maker *m, cond path, size_t from,
                             size_t end)
{
    const char *const text = path->text;
    cond one = make_leaf(m, FOREIGN_COND_LITERAL, "has(%.*s)", (int)end, text);

    if (end == path->n && from == find_length(path))
        return make_leaf(m, FOREIGN_COND_RAW, "type(%.*s) == list", (int)from,
                         text);
    if (from == find_partition_end(path))
        return one;
    return make_pair(
        m, FOREIGN_COND_AND,
        make_leaf(m, FOREIGN_COND_RAW, "type(%.*s) == map", (int)from, text),
        one);
}

/* Test whether each step of the path is present. */
static cond make_presence_test(struct maker *m, cond path)
{
    cond all = NULL;

    for (size_t from = find_partition_end(path); from < path->n;) {
        const size_t end = find_name_end(path, from + 1);
        cond one = make_member_test(m, path, from, end);

        all = all != NULL ? make_pair(m, FOREIGN_COND_AND, all, one) : one;
        if (all == NULL)
            return NULL;
        from = end;
    }
    return all;
}

/* Make a condition that is false if the path is absent. */
static cond require_present(struct maker *m, cond path, cond what)
{
    return is_always_present(path)
               ? what
               : make_pair(m, FOREIGN_COND_AND, make_presence_test(m, path),
                           what);
}

static cond allow_absent(struct maker *m, cond path, cond what)
{
    return is_always_present(path)
               ? what
               : make_pair(m, FOREIGN_COND_OR,
                           negate_cond(m, make_presence_test(m, path)), what);
}

/* ---- comparisons -------------------------------------------------------- */

static cond convert_operand(struct maker *m, cond c)
{
    if (c->kind == FOREIGN_COND_UNDEFINED)
        return make_bool(m, false);
    if (c->kind == FOREIGN_COND_WORD) /* needs no escapes */
        return make_leaf(m, FOREIGN_COND_LITERAL, "\"%.*s\"", (int)c->n,
                         c->text);
    if (c->kind == FOREIGN_COND_PATH && find_length(c) < c->n)
        return make_leaf(m, FOREIGN_COND_LITERAL, "size(%.*s)",
                         (int)find_length(c), c->text);
    return c;
}

static cond make_comparison(struct maker *m, cond left, const char *sign,
                            cond right)
{
    left = convert_operand(m, left);
    right = convert_operand(m, right);
    if (left == NULL || right == NULL)
        return NULL;
    return make_leaf(m, FOREIGN_COND_RAW, "%.*s %s %.*s", (int)left->n,
                     left->text, sign, (int)right->n, right->text);
}

static bool is_null_literal(cond c)
{
    return c->kind == FOREIGN_COND_LITERAL &&
           mortise_foreign_cond_is_text(c, "null");
}

/* Is the path undefined or null?  A loose comparison treats them as equal. */
static cond make_null_test(struct maker *m, cond path, cond nothing, bool loose)
{
    const cond null = make_leaf(m, FOREIGN_COND_RAW, "%.*s == null",
                                (int)path->n, path->text);

    if (loose)
        return allow_absent(m, path, null);
    if (is_null_literal(nothing))
        return require_present(m, path, null);
    return is_always_present(path)
               ? make_bool(m, false)
               : negate_cond(m, make_presence_test(m, path));
}

/* Two absent values are equal. */
static cond make_equality_test(struct maker *m, cond left, cond right)
{
    cond both = require_present(
        m, left,
        require_present(m, right, make_comparison(m, left, "==", right)));

    if (is_always_present(left) || is_always_present(right))
        return both;
    return make_pair(m, FOREIGN_COND_OR, both,
                     make_pair(m, FOREIGN_COND_AND,
                               negate_cond(m, make_presence_test(m, left)),
                               negate_cond(m, make_presence_test(m, right))));
}

static cond convert_comparison(struct maker *m, cond c)
{
    static const char *const signs[] = {
        [FOREIGN_COND_STRICT_EQUAL] = "==",
        [FOREIGN_COND_STRICT_UNEQUAL] = "!=",
        [FOREIGN_COND_EQUAL] = "==",
        [FOREIGN_COND_UNEQUAL] = "!=",
        [FOREIGN_COND_AT_LEAST] = ">=",
        [FOREIGN_COND_AT_MOST] = "<=",
        [FOREIGN_COND_ABOVE] = ">",
        [FOREIGN_COND_BELOW] = "<",
    };
    const bool loose =
                   c->op == FOREIGN_COND_EQUAL || c->op == FOREIGN_COND_UNEQUAL,
               unlike = c->op == FOREIGN_COND_STRICT_UNEQUAL ||
                        c->op == FOREIGN_COND_UNEQUAL;
    cond left = c->part[0], right = c->part[1],
         path = left->kind == FOREIGN_COND_PATH ? left : right,
         other = path == left ? right : left, made;

    if (other->kind == FOREIGN_COND_UNDEFINED || is_null_literal(other))
        made = make_null_test(m, path, other, loose);
    else if (other->kind == FOREIGN_COND_PATH && c->op < FOREIGN_COND_AT_LEAST)
        made = make_equality_test(m, left, right);
    else if (unlike)
        return allow_absent(m, path, make_comparison(m, left, "!=", right));
    else
        return require_present(
            m, left,
            require_present(m, right,
                            make_comparison(m, left, signs[c->op], right)));
    return unlike ? negate_cond(m, made) : made;
}

/* ---- truth and value ---------------------------------------------------- */

static bool is_truthy_literal(cond literal)
{
    static const char *const untrue[] = {"false", "null", "\"\"", "''"};

    for (size_t i = 0; i < sizeof untrue / sizeof untrue[0]; i++)
        if (mortise_foreign_cond_is_text(literal, untrue[i]))
            return false;
    for (size_t i = 0; i < literal->n; i++)
        if (strchr("-0.", literal->text[i]) == NULL)
            return true;
    return false;
}

static cond convert_truth(struct maker *m, cond c);

static cond convert_pair_truth(struct maker *m, cond c)
{
    return make_pair(m, c->kind, convert_truth(m, c->part[0]),
                     convert_truth(m, c->part[1]));
}

static cond convert_not_truth(struct maker *m, cond c)
{
    return negate_cond(m, convert_truth(m, c->part[0]));
}

static cond make_choice(struct maker *m, cond of, cond yes, cond no)
{
    if (of == NULL || yes == NULL || no == NULL)
        return NULL;
    return alloc_cond(m, (struct foreign_cond){.kind = FOREIGN_COND_CHOICE,
                                               .of = of,
                                               .part = {yes, no}});
}

static cond convert_choice(struct maker *m, cond c,
                           cond (*arm)(struct maker *, cond))
{
    return make_choice(m, convert_truth(m, c->of), arm(m, c->part[0]),
                       arm(m, c->part[1]));
}

static cond convert_choice_truth(struct maker *m, cond c)
{
    return convert_choice(m, c, convert_truth);
}

static cond convert_path_truth(struct maker *m, cond c)
{
    static const struct foreign_cond untrue = {
        .kind = FOREIGN_COND_LITERAL,
        .text = "[false, null, 0, \"\"]",
        .n = sizeof "[false, null, 0, \"\"]" - 1};

    if (is_always_present(c))
        return make_bool(m, true);
    return require_present(
        m, c, negate_cond(m, make_comparison(m, c, "in", &untrue)));
}

static cond convert_literal_truth(struct maker *m, cond c)
{
    return make_bool(m, is_truthy_literal(c));
}

static cond convert_word_truth(struct maker *m, cond c)
{
    return make_bool(m, c->kind == FOREIGN_COND_WORD);
}

static cond convert_truth(struct maker *m, cond c)
{
    static cond (*const kinds[])(struct maker *, cond) = {
        [FOREIGN_COND_OR] = convert_pair_truth,
        [FOREIGN_COND_AND] = convert_pair_truth,
        [FOREIGN_COND_NOT] = convert_not_truth,
        [FOREIGN_COND_COMPARE] = convert_comparison,
        [FOREIGN_COND_CHOICE] = convert_choice_truth,
        [FOREIGN_COND_PATH] = convert_path_truth,
        [FOREIGN_COND_LITERAL] = convert_literal_truth,
        [FOREIGN_COND_WORD] = convert_word_truth,
        [FOREIGN_COND_UNDEFINED] = convert_word_truth,
    };

    return kinds[c->kind](m, c);
}

/* An absent value is the text "false" in the source.  No node has this id, so
 * the router fails there, too. */
static cond convert_value(struct maker *m, cond c)
{
    if (c->kind == FOREIGN_COND_CHOICE)
        return convert_choice(m, c, convert_value);
    if (c->kind < FOREIGN_COND_PATH)
        return convert_truth(m, c);
    return convert_operand(m, c);
}

static cond convert_present_value(struct maker *m, cond c)
{
    if (c->kind == FOREIGN_COND_CHOICE)
        return convert_choice(m, c, convert_present_value);
    if (is_always_present(c))
        return convert_value(m, c);
    return make_choice(m, make_presence_test(m, c), convert_operand(m, c),
                       make_bool(m, false));
}

/* ---- text --------------------------------------------------------------- */

/* An expression gets parentheses if it binds less tightly than its context. */
enum binds { BY_NONE, BY_OR, BY_AND, BY_COMPARISON, BY_NOT };

static void put_cond(struct mortise_buf *b, cond c, enum binds around);

static void put_cond_parts(struct mortise_buf *b, cond c, enum binds by)
{
    static const char *const between[] = {
        [FOREIGN_COND_OR] = " || ",
        [FOREIGN_COND_AND] = " && ",
        [FOREIGN_COND_CHOICE] = " : ",
    };

    if (c->kind > FOREIGN_COND_CHOICE) {
        mortise_buf_put(b, c->text, c->n);
        return;
    }
    if (c->kind == FOREIGN_COND_NOT) {
        mortise_buf_puts(b, "!");
        put_cond(b, c->part[0], BY_NOT);
        return;
    }
    if (c->kind == FOREIGN_COND_CHOICE) {
        by = BY_OR;
        put_cond(b, c->of, by);
        mortise_buf_puts(b, " ? ");
    }
    put_cond(b, c->part[0], by);
    mortise_buf_puts(b, between[c->kind]);
    put_cond(b, c->part[1], by);
}

static void put_cond(struct mortise_buf *b, cond c, enum binds around)
{
    static const enum binds kinds[] = {
        [FOREIGN_COND_OR] = BY_OR,          [FOREIGN_COND_AND] = BY_AND,
        [FOREIGN_COND_NOT] = BY_NOT,        [FOREIGN_COND_COMPARE] = BY_NONE,
        [FOREIGN_COND_CHOICE] = BY_NONE,    [FOREIGN_COND_PATH] = BY_NOT,
        [FOREIGN_COND_LITERAL] = BY_NOT,    [FOREIGN_COND_WORD] = BY_NOT,
        [FOREIGN_COND_RAW] = BY_COMPARISON,
    };
    const bool loose = kinds[c->kind] < around;

    mortise_buf_puts(b, loose ? "(" : "");
    put_cond_parts(b, c, kinds[c->kind]);
    mortise_buf_puts(b, loose ? ")" : "");
}

static void put_converted(struct mortise_buf *b, const struct maker *m, cond c,
                          enum binds around)
{
    if (c != NULL)
        put_cond(b, c, around);
    b->failed |= m->nomem;
}

/* ---- interface ---------------------------------------------------------- */

void mortise_foreign_cond_print_router(struct mortise_buf *b,
                                       struct mortise_arena *arena, cond c)
{
    struct maker m = {.arena = arena};

    put_converted(b, &m, convert_value(&m, c), BY_NONE);
}

/* Are all possible values of the expression strings? */
static bool is_string_value(cond c)
{
    if (c->kind == FOREIGN_COND_CHOICE)
        return is_string_value(c->part[0]) && is_string_value(c->part[1]);
    return c->kind == FOREIGN_COND_WORD ||
           (c->kind == FOREIGN_COND_LITERAL && strchr("\"'", *c->text) != NULL);
}

void mortise_foreign_cond_print_edge(struct mortise_buf *b,
                                     struct mortise_arena *arena, cond c,
                                     const char *to)
{
    struct maker m = {.arena = arena};
    const bool bool_alone = c->kind < FOREIGN_COND_CHOICE,
               path = c->kind == FOREIGN_COND_PATH;

    if (bool_alone) {
        put_converted(b, &m, convert_truth(&m, c), BY_NONE);
        return;
    }
    if (path && !is_always_present(c)) {
        put_converted(b, &m, make_presence_test(&m, c), BY_AND);
        mortise_buf_puts(b, " && ");
    }
    put_converted(b, &m,
                  path ? convert_operand(&m, c) : convert_present_value(&m, c),
                  BY_NOT);
    mortise_buf_printf(b, is_string_value(c) ? " == %s" : " in [true, %s]", to);
}
