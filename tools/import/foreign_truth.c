/* foreign_truth.c -- what a condition of another system says, in CEL.
 *
 * Theirs never fail: a value that is absent is unlike any other and in no order
 * with it, and what is not a bool counts as one by being there and neither
 * false, null, 0 nor "".  In CEL to name what is absent is an error, so each
 * path is asked for first, by `has`.
 *
 * A condition becomes a tree of the same kind in which only what CEL has is
 * left: RAW leaves are comparisons and LITERAL ones what binds tighter.
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

/* ---- trees ------------------------------------------------------------------ */

static cond make(struct maker *m, const struct foreign_cond what)
{
    struct foreign_cond *c = mortise_arena_alloc(m->arena, sizeof *c);

    if (c == NULL)
        m->nomem = true;
    else
        *c = what;
    return c;
}

/* Of one that is NULL for out of memory, NULL; a NULL that says nothing is left
 * away by those who call. */
static cond two(struct maker *m, enum foreign_cond_kind kind, cond a, cond b)
{
    if (a == NULL || b == NULL)
        return NULL;
    return make(m, (struct foreign_cond){.kind = kind, .part = {a, b}});
}

static cond negated(struct maker *m, cond c)
{
    if (c != NULL && c->kind == FOREIGN_COND_NOT)
        return c->part[0];
    return two(m, FOREIGN_COND_NOT, c, c);
}

static cond leaf(struct maker *m, enum foreign_cond_kind kind, const char *fmt,
                 ...) MORTISE_PRINTF(3, 4);

static cond leaf(struct maker *m, enum foreign_cond_kind kind, const char *fmt,
                 ...)
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
    return text != NULL
               ? make(m,
                      (struct foreign_cond){.kind = kind, .text = text, .n = n})
               : NULL;
}

static cond constant(struct maker *m, bool v)
{
    return leaf(m, FOREIGN_COND_LITERAL, "%s", v ? "true" : "false");
}

/* ---- paths ------------------------------------------------------------------ */

/* Where the name that begins at `at` ends. */
static size_t name_end(cond path, size_t at)
{
    const char *dot = memchr(path->text + at, '.', path->n - at);

    return dot != NULL ? (size_t)(dot - path->text) : path->n;
}

/* Where the partition ends: one without a member is always there. */
static size_t partition_end(cond path)
{
    const bool state = path->n > 6 && memcmp(path->text, "state.", 6) == 0;

    return name_end(path, state ? 6 : 0);
}

static bool is_sure(cond c)
{
    return c->kind != FOREIGN_COND_PATH || partition_end(c) == c->n;
}

/* The `length` of a list is none of its members here: where it begins, with
 * the dot; n: it is no length. */
static size_t length_at(cond path)
{
    static const char length[] = ".length";
    const size_t n = sizeof length - 1;

    return path->n > partition_end(path) + n &&
                   memcmp(path->text + path->n - n, length, n) == 0
               ? path->n - n
               : path->n;
}

/* Is the member there that ends at `end`, behind one that is, which ends at
 * `from`? */
static cond has_member(struct maker *m, cond path, size_t from, size_t end)
{
    const char *const text = path->text;
    cond one = leaf(m, FOREIGN_COND_LITERAL, "has(%.*s)", (int)end, text);

    if (end == path->n && from == length_at(path))
        return leaf(m, FOREIGN_COND_RAW, "type(%.*s) == list", (int)from, text);
    if (from == partition_end(path))
        return one;
    return two(m, FOREIGN_COND_AND,
               leaf(m, FOREIGN_COND_RAW, "type(%.*s) == map", (int)from, text),
               one);
}

/* Is all of it there? */
static cond has(struct maker *m, cond path)
{
    cond all = NULL;

    for (size_t from = partition_end(path); from < path->n;) {
        const size_t end = name_end(path, from + 1);
        cond one = has_member(m, path, from, end);

        all = all != NULL ? two(m, FOREIGN_COND_AND, all, one) : one;
        if (all == NULL)
            return NULL;
        from = end;
    }
    return all;
}

/* What holds of a path where it is there. */
static cond if_there(struct maker *m, cond path, cond what)
{
    return is_sure(path) ? what : two(m, FOREIGN_COND_AND, has(m, path), what);
}

static cond unless_there(struct maker *m, cond path, cond what)
{
    return is_sure(path)
               ? what
               : two(m, FOREIGN_COND_OR, negated(m, has(m, path)), what);
}

/* ---- comparisons ------------------------------------------------------------ */

static cond operand(struct maker *m, cond c)
{
    if (c->kind == FOREIGN_COND_UNDEFINED)
        return constant(m, false);
    if (c->kind == FOREIGN_COND_WORD) /* letters: nothing to escape */
        return leaf(m, FOREIGN_COND_LITERAL, "\"%.*s\"", (int)c->n, c->text);
    if (c->kind == FOREIGN_COND_PATH && length_at(c) < c->n)
        return leaf(m, FOREIGN_COND_LITERAL, "size(%.*s)", (int)length_at(c),
                    c->text);
    return c;
}

static cond compared(struct maker *m, cond left, const char *sign, cond right)
{
    left = operand(m, left);
    right = operand(m, right);
    if (left == NULL || right == NULL)
        return NULL;
    return leaf(m, FOREIGN_COND_RAW, "%.*s %s %.*s", (int)left->n, left->text,
                sign, (int)right->n, right->text);
}

static bool is_null(cond c)
{
    return c->kind == FOREIGN_COND_LITERAL &&
           mortise_foreign_cond_is(c, "null");
}

/* Is it undefined, or null?  Loosely one is the other. */
static cond is_nothing(struct maker *m, cond path, cond nothing, bool loose)
{
    const cond null =
        leaf(m, FOREIGN_COND_RAW, "%.*s == null", (int)path->n, path->text);

    if (loose)
        return unless_there(m, path, null);
    if (is_null(nothing))
        return if_there(m, path, null);
    return is_sure(path) ? constant(m, false) : negated(m, has(m, path));
}

/* Two that are absent are the same. */
static cond are_same(struct maker *m, cond left, cond right)
{
    cond both =
        if_there(m, left, if_there(m, right, compared(m, left, "==", right)));

    if (is_sure(left) || is_sure(right))
        return both;
    return two(m, FOREIGN_COND_OR, both,
               two(m, FOREIGN_COND_AND, negated(m, has(m, left)),
                   negated(m, has(m, right))));
}

static cond comparison(struct maker *m, cond c)
{
    static const char *const signs[] = {
        [FOREIGN_COND_SAME] = "==",     [FOREIGN_COND_OTHER] = "!=",
        [FOREIGN_COND_EQUAL] = "==",    [FOREIGN_COND_UNEQUAL] = "!=",
        [FOREIGN_COND_AT_LEAST] = ">=", [FOREIGN_COND_AT_MOST] = "<=",
        [FOREIGN_COND_ABOVE] = ">",     [FOREIGN_COND_BELOW] = "<",
    };
    const bool loose =
                   c->op == FOREIGN_COND_EQUAL || c->op == FOREIGN_COND_UNEQUAL,
               unlike =
                   c->op == FOREIGN_COND_OTHER || c->op == FOREIGN_COND_UNEQUAL;
    cond left = c->part[0], right = c->part[1],
         path = left->kind == FOREIGN_COND_PATH ? left : right,
         other = path == left ? right : left, made;

    if (other->kind == FOREIGN_COND_UNDEFINED || is_null(other))
        made = is_nothing(m, path, other, loose);
    else if (other->kind == FOREIGN_COND_PATH && c->op < FOREIGN_COND_AT_LEAST)
        made = are_same(m, left, right);
    else if (unlike)
        return unless_there(m, path, compared(m, left, "!=", right));
    else
        return if_there(
            m, left,
            if_there(m, right, compared(m, left, signs[c->op], right)));
    return unlike ? negated(m, made) : made;
}

/* ---- truth and value -------------------------------------------------------- */

static bool is_true(cond literal)
{
    static const char *const untrue[] = {"false", "null", "\"\"", "''"};

    for (size_t i = 0; i < sizeof untrue / sizeof untrue[0]; i++)
        if (mortise_foreign_cond_is(literal, untrue[i]))
            return false;
    for (size_t i = 0; i < literal->n; i++)
        if (strchr("-0.", literal->text[i]) == NULL)
            return true;
    return false;
}

static cond truth(struct maker *m, cond c);

static cond truth_of_two(struct maker *m, cond c)
{
    return two(m, c->kind, truth(m, c->part[0]), truth(m, c->part[1]));
}

static cond truth_of_not(struct maker *m, cond c)
{
    return negated(m, truth(m, c->part[0]));
}

static cond choice(struct maker *m, cond of, cond yes, cond no)
{
    if (of == NULL || yes == NULL || no == NULL)
        return NULL;
    return make(m, (struct foreign_cond){.kind = FOREIGN_COND_CHOICE,
                                         .of = of,
                                         .part = {yes, no}});
}

static cond choice_of(struct maker *m, cond c,
                      cond (*arm)(struct maker *, cond))
{
    return choice(m, truth(m, c->of), arm(m, c->part[0]), arm(m, c->part[1]));
}

static cond truth_of_choice(struct maker *m, cond c)
{
    return choice_of(m, c, truth);
}

static cond truth_of_path(struct maker *m, cond c)
{
    static const struct foreign_cond untrue = {
        .kind = FOREIGN_COND_LITERAL,
        .text = "[false, null, 0, \"\"]",
        .n = sizeof "[false, null, 0, \"\"]" - 1};

    if (is_sure(c))
        return constant(m, true);
    return if_there(m, c, negated(m, compared(m, c, "in", &untrue)));
}

static cond truth_of_literal(struct maker *m, cond c)
{
    return constant(m, is_true(c));
}

static cond truth_of_word(struct maker *m, cond c)
{
    return constant(m, c->kind == FOREIGN_COND_WORD);
}

static cond truth(struct maker *m, cond c)
{
    static cond (*const kinds[])(struct maker *, cond) = {
        [FOREIGN_COND_OR] = truth_of_two,
        [FOREIGN_COND_AND] = truth_of_two,
        [FOREIGN_COND_NOT] = truth_of_not,
        [FOREIGN_COND_COMPARE] = comparison,
        [FOREIGN_COND_CHOICE] = truth_of_choice,
        [FOREIGN_COND_PATH] = truth_of_path,
        [FOREIGN_COND_LITERAL] = truth_of_literal,
        [FOREIGN_COND_WORD] = truth_of_word,
        [FOREIGN_COND_UNDEFINED] = truth_of_word,
    };

    return kinds[c->kind](m, c);
}

/* One that is absent is "false" to them, which is no node. */
static cond value(struct maker *m, cond c)
{
    if (c->kind == FOREIGN_COND_CHOICE)
        return choice_of(m, c, value);
    if (c->kind < FOREIGN_COND_PATH)
        return truth(m, c);
    return operand(m, c);
}

static cond sure_value(struct maker *m, cond c)
{
    if (c->kind == FOREIGN_COND_CHOICE)
        return choice_of(m, c, sure_value);
    if (is_sure(c))
        return value(m, c);
    return choice(m, has(m, c), operand(m, c), constant(m, false));
}

/* ---- text ------------------------------------------------------------------- */

/* What binds less tightly than what stands around it is put in brackets. */
enum binds { BY_NONE, BY_OR, BY_AND, BY_COMPARISON, BY_NOT };

static void put(struct mortise_buf *b, cond c, enum binds around);

static void put_inside(struct mortise_buf *b, cond c, enum binds by)
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
        put(b, c->part[0], BY_NOT);
        return;
    }
    if (c->kind == FOREIGN_COND_CHOICE) {
        by = BY_OR;
        put(b, c->of, by);
        mortise_buf_puts(b, " ? ");
    }
    put(b, c->part[0], by);
    mortise_buf_puts(b, between[c->kind]);
    put(b, c->part[1], by);
}

static void put(struct mortise_buf *b, cond c, enum binds around)
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
    put_inside(b, c, kinds[c->kind]);
    mortise_buf_puts(b, loose ? ")" : "");
}

static void put_made(struct mortise_buf *b, const struct maker *m, cond c,
                     enum binds around)
{
    if (c != NULL)
        put(b, c, around);
    b->failed |= m->nomem;
}

/* ---- what others ask for ---------------------------------------------------- */

void mortise_foreign_cond_value(struct mortise_buf *b,
                                struct mortise_arena *arena, cond c)
{
    struct maker m = {.arena = arena};

    put_made(b, &m, value(&m, c), BY_NONE);
}

/* Is all that it may be a string? */
static bool is_id(cond c)
{
    if (c->kind == FOREIGN_COND_CHOICE)
        return is_id(c->part[0]) && is_id(c->part[1]);
    return c->kind == FOREIGN_COND_WORD ||
           (c->kind == FOREIGN_COND_LITERAL && strchr("\"'", *c->text) != NULL);
}

void mortise_foreign_cond_holds(struct mortise_buf *b,
                                struct mortise_arena *arena, cond c,
                                const char *to)
{
    struct maker m = {.arena = arena};
    const bool bool_alone = c->kind < FOREIGN_COND_CHOICE,
               path = c->kind == FOREIGN_COND_PATH;

    if (bool_alone) {
        put_made(b, &m, truth(&m, c), BY_NONE);
        return;
    }
    if (path && !is_sure(c)) {
        put_made(b, &m, has(&m, c), BY_AND);
        mortise_buf_puts(b, " && ");
    }
    put_made(b, &m, path ? operand(&m, c) : sure_value(&m, c), BY_NOT);
    mortise_buf_printf(b, is_id(c) ? " == %s" : " in [true, %s]", to);
}
