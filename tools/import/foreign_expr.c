/* foreign_expr.c -- conditions of other systems, in CEL.
 *
 * What is a condition by their grammar (foreign_cond.c) keeps its meaning
 * (foreign_truth.c).  What goes beyond it was JavaScript in former releases:
 * most of that is spelled as in CEL, with `==` for `===`.  Whether it means
 * anything is for the compiler to say, and what it does not take is left
 * behind; what it takes is listed, as it fails where a value is absent.
 *
 * A condition of theirs on an edge may give a bool, or the id of the node to go
 * to; one of a router gives an id.  Those are their ids, so where a node is
 * called otherwise here, it is the result that is translated, and no string
 * inside the expression. */
#include "tools/import/foreign.h"

#include <string.h>

#include "lang/cel/cel.h"
#include "tools/import/foreign_cond.h"

static const char by_hand[] =
    "write it as CEL, or as a router with an operation; until then, `mortise "
    "check` reports an error";

/* ---- compiling ------------------------------------------------------------ */

/* Made once for a file. */
static struct mortise_schema *state_schema(struct foreign *f)
{
    const struct mortise_schema_world world = {.find = NULL};
    char where[64];
    json_t *json;

    if (f->state != NULL)
        return f->state;
    json = json_pack("{s:s, s:{s:{}, s:{}, s:{}, s:{}, s:{}}, s:b}", "type",
                     "object", "properties", "input", "scratch", "artifacts",
                     "memory", "diagnostics", "additionalProperties", 0);
    if (json == NULL ||
        mortise_schema_compile_in(&f->state, f->arena, json, &world, where,
                                  sizeof where, NULL) != MORTISE_OK)
        f->nomem = true;
    json_decref(json);
    return f->state;
}

/* NULL when it is none: *err says why. */
static struct mortise_cel *compile(struct foreign *f, const char *text,
                                   struct mortise_err *err)
{
    const struct mortise_cel_name names[] = {
        {"input", NULL},  {"scratch", NULL},     {"artifacts", NULL},
        {"memory", NULL}, {"diagnostics", NULL}, {"state", state_schema(f)},
    };
    const struct mortise_cel_scope scope = {
        .names = names, .n = sizeof names / sizeof names[0]};
    struct mortise_cel_where where;
    struct mortise_cel *prog = NULL;

    if (!f->nomem && mortise_cel_compile(&prog, f->arena, text, strlen(text),
                                         &scope, &where, err) == MORTISE_ENOMEM)
        f->nomem = true;
    return prog;
}

/* ---- text ----------------------------------------------------------------- */

static const char *kept(struct foreign *f, struct mortise_buf *b)
{
    const char *s =
        b->failed ? NULL
                  : mortise_arena_strndup(f->arena, b->n > 0 ? b->p : "", b->n);

    f->nomem |= s == NULL;
    mortise_buf_finish(b);
    return s;
}

/* Where the string literal at p ends. */
static const char *skip_quoted(const char *p, const char *end)
{
    const char quote = *p++;

    while (p < end && *p != quote)
        p += *p == '\\' && p + 1 < end ? 2 : 1;
    return p < end ? p + 1 : end;
}

static const char *respelled(struct foreign *f, const struct mortise_yaml *expr)
{
    const char *p = expr->str, *end = p + expr->len;
    struct mortise_buf b;

    mortise_buf_init(&b, f->arena->mem);
    while (p < end) {
        const char *next = p + 1;
        size_t keep = 1;

        if (*p == '"' || *p == '\'') {
            next = skip_quoted(p, end);
            keep = (size_t)(next - p);
        } else if ((*p == '=' || *p == '!') && end - p > 2 && p[1] == '=' &&
                   p[2] == '=') {
            next = p + 3;
            keep = 2;
        }
        mortise_buf_put(&b, p, keep);
        p = next;
    }
    return kept(f, &b);
}

static void put_literal(struct mortise_buf *b, const char *s)
{
    mortise_buf_puts(b, "\"");
    for (; *s != '\0'; s++) {
        if (*s == '"' || *s == '\\')
            mortise_buf_put(b, "\\", 1);
        if ((unsigned char)*s < ' ')
            mortise_buf_printf(b, "\\x%02x", (unsigned)*s);
        else
            mortise_buf_put(b, s, 1);
    }
    mortise_buf_puts(b, "\"");
}

/* ---- conditions ------------------------------------------------------------ */

/* What is more than their grammar: respelled, it may be CEL. */
static const struct foreign_cond *raw(struct foreign *f,
                                      const struct mortise_yaml *expr)
{
    const char *text = respelled(f, expr);
    struct foreign_cond *c = mortise_arena_alloc(f->arena, sizeof *c);

    f->nomem |= c == NULL;
    if (c != NULL && text != NULL)
        *c = (struct foreign_cond){
            .kind = FOREIGN_COND_RAW, .text = text, .n = strlen(text)};
    return f->nomem ? NULL : c;
}

/* As what is written of it is to be read by the compiler. */
static const char *value_of(struct foreign *f, const struct foreign_cond *c)
{
    struct mortise_buf b;

    if (c->kind == FOREIGN_COND_RAW)
        return c->text;
    mortise_buf_init(&b, f->arena->mem);
    mortise_foreign_cond_value(&b, f->arena, c);
    return kept(f, &b);
}

static bool is_expression(const struct mortise_yaml *condition,
                          const struct mortise_yaml *expr)
{
    return mortise_foreign_is(mortise_yaml_get(condition, "type"),
                              "expression") &&
           expr != NULL && expr->kind == MORTISE_YAML_STRING;
}

static const struct foreign_cond *
read_expr(struct foreign *f, const struct mortise_yaml *expr, const char *what)
{
    const struct foreign_cond *c =
        mortise_foreign_cond_read(f->arena, expr->str, expr->len, &f->nomem);
    struct mortise_err err = {.msg = ""};
    const char *text;

    if (c == NULL && !f->nomem)
        c = raw(f, expr);
    text = c != NULL ? value_of(f, c) : NULL;
    if (text == NULL || f->nomem)
        return NULL;
    if (compile(f, text, &err) == NULL) {
        if (!f->nomem)
            mortise_foreign_lost(f, expr->span, by_hand,
                                 "the condition of %s is not imported: %s",
                                 what, err.msg);
        return NULL;
    }
    if (c->kind == FOREIGN_COND_RAW)
        mortise_foreign_lost(f, expr->span,
                             "test the value first: `has(scratch.x) && ...`",
                             "the condition of %s is an error here if a value "
                             "is absent; there, it was false",
                             what);
    return c;
}

const struct foreign_cond *mortise_foreign_condition(
    struct foreign *f, const struct mortise_yaml *condition, const char *what)
{
    static const struct foreign_row rows[] = {
        {"type", "type", FOREIGN_READ, NULL},
        {"expr", "when", FOREIGN_READ, NULL},
        {"description", "description", FOREIGN_READ, NULL},
        {NULL, NULL, FOREIGN_SAME, NULL},
    };
    const struct mortise_yaml *expr = mortise_foreign_get(condition, "expr");

    mortise_foreign_carry(f, rows, condition, "a condition", NULL);
    if (is_expression(condition, expr)) {
        mortise_foreign_heard(f, expr);
        return read_expr(f, expr, what);
    }
    mortise_foreign_lost(
        f, condition->span, by_hand,
        "the condition of %s is not imported: it is not an expression%s", what,
        expr != NULL ? " of the type 'expression'" : "");
    return NULL;
}

/* `before(expr)behind to end`, or without the latter three. */
static const char *around(struct foreign *f, const char *before,
                          const char *expr, const char *behind, const char *to,
                          const char *end)
{
    struct mortise_buf b;

    mortise_buf_init(&b, f->arena->mem);
    mortise_buf_printf(&b, "%s(%s)%s%s%s", before, expr, behind, to, end);
    return kept(f, &b);
}

static const char *literal(struct foreign *f, const char *s)
{
    struct mortise_buf b;

    mortise_buf_init(&b, f->arena->mem);
    put_literal(&b, s);
    return kept(f, &b);
}

/* Whether it gives a bool or an id the compiler may know: what has a size is no
 * bool.  Where only the run will tell, either will do. */
static const char *raw_holds(struct foreign *f, const char *expr,
                             const char *to)
{
    struct mortise_cel *prog = compile(f, expr, NULL);
    const char *sized = around(f, "size", expr, "", "", "");

    if (prog == NULL || sized == NULL)
        return NULL;
    if (!(mortise_cel_types(prog) & MORTISE_T_BOOL))
        return around(f, "", expr, " == ", to, "");
    if (compile(f, sized, NULL) == NULL)
        return expr;
    return around(f, "", expr, " in [true, ", to, "]");
}

json_t *mortise_foreign_when(struct foreign *f, const struct foreign_cond *c,
                             const char *to)
{
    const char *id = literal(f, to), *text;
    struct mortise_buf b;

    if (id == NULL)
        return NULL;
    if (c->kind == FOREIGN_COND_RAW) {
        text = raw_holds(f, c->text, id);
    } else {
        mortise_buf_init(&b, f->arena->mem);
        mortise_foreign_cond_holds(&b, f->arena, c, id);
        text = kept(f, &b);
    }
    return text != NULL ? json_string(text) : NULL;
}

/* Is every id its own translation? */
static bool are_same(json_t *targets)
{
    MORTISE_JSON_MEMBERS (theirs, ours, targets)
        if (strcmp(theirs, json_string_value(ours)) != 0)
            return false;
    return true;
}

json_t *mortise_foreign_choice(struct foreign *f, const struct foreign_cond *c,
                               json_t *targets)
{
    const char *between = "", *expr = value_of(f, c);
    struct mortise_buf b;

    if (expr == NULL)
        return NULL;
    if (are_same(targets))
        return json_string(expr);
    mortise_buf_init(&b, f->arena->mem);
    mortise_buf_puts(&b, "{");
    MORTISE_JSON_MEMBERS (theirs, ours, targets) {
        mortise_buf_puts(&b, between);
        put_literal(&b, theirs);
        mortise_buf_puts(&b, ": ");
        put_literal(&b, json_string_value(ours));
        between = ", ";
    }
    mortise_buf_printf(&b, "}[%s]", expr);
    expr = kept(f, &b);
    return expr != NULL ? json_string(expr) : NULL;
}
