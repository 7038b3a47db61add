/* foreign_expr.c -- conditions of other systems, in CEL.
 *
 * Theirs are a small part of JavaScript over `state`, which is a name of ours,
 * too.  Most of it is spelled as in CEL; `===` and `!==` are written `==` and
 * `!=`.  Whether the rest means anything is for the compiler to say: what it
 * does not take is left behind.
 *
 * A condition of theirs on an edge may give a bool, or the id of the node to go
 * to; one of a router gives an id.  Those are their ids, so where a node is
 * called otherwise here, it is the result that is translated, and no string
 * inside the expression. */
#include "import/foreign.h"

#include <string.h>

#include "cel/cel.h"

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

const char *mortise_foreign_condition(struct foreign *f,
                                      const struct mortise_yaml *condition,
                                      const char *what)
{
    static const struct foreign_row rows[] = {
        {"type", "type", FOREIGN_READ, NULL},
        {"expr", "when", FOREIGN_READ, NULL},
        {"description", "description", FOREIGN_READ, NULL},
        {NULL, NULL, FOREIGN_SAME, NULL},
    };
    static const char by_hand[] =
        "write it as CEL, or as a router with an operation, before `mortise "
        "check` takes the file";
    const struct mortise_yaml *expr = mortise_foreign_get(condition, "expr");
    struct mortise_err err = {.msg = ""};
    const char *text;

    mortise_foreign_carry(f, rows, condition, "a condition", NULL);
    if (!mortise_foreign_is(mortise_yaml_get(condition, "type"),
                            "expression") ||
        expr == NULL || expr->kind != MORTISE_YAML_STRING) {
        mortise_foreign_lost(
            f, condition->span, by_hand,
            "the condition of %s is left behind: it is no expression", what);
        return NULL;
    }
    text = respelled(f, expr);
    if (text == NULL || compile(f, text, &err) != NULL || f->nomem)
        return f->nomem ? NULL : text;
    mortise_foreign_lost(f, expr->span, by_hand,
                         "the condition of %s is left behind: %s", what,
                         err.msg);
    return NULL;
}

/* `before(expr) behind "to" end`, or without the latter three. */
static const char *around(struct foreign *f, const char *before,
                          const char *expr, const char *behind, const char *to,
                          const char *end)
{
    struct mortise_buf b;

    mortise_buf_init(&b, f->arena->mem);
    mortise_buf_printf(&b, "%s(%s)", before, expr);
    if (to != NULL) {
        mortise_buf_puts(&b, behind);
        put_literal(&b, to);
        mortise_buf_puts(&b, end);
    }
    return kept(f, &b);
}

/* Whether it gives a bool or an id the compiler may know: what has a size is no
 * bool.  Where only the run will tell, either will do. */
json_t *mortise_foreign_when(struct foreign *f, const char *expr,
                             const char *to)
{
    struct mortise_cel *prog = compile(f, expr, NULL);
    const char *sized = around(f, "size", expr, NULL, NULL, NULL);

    if (prog == NULL || sized == NULL)
        return NULL;
    if (!(mortise_cel_types(prog) & MORTISE_T_BOOL))
        return json_string(around(f, "", expr, " == ", to, ""));
    if (compile(f, sized, NULL) == NULL)
        return json_string(expr);
    return json_string(around(f, "", expr, " in [true, ", to, "]"));
}

/* Is every id its own translation? */
static bool are_same(json_t *targets)
{
    MORTISE_JSON_MEMBERS (theirs, ours, targets)
        if (strcmp(theirs, json_string_value(ours)) != 0)
            return false;
    return true;
}

json_t *mortise_foreign_choice(struct foreign *f, const char *expr,
                               json_t *targets)
{
    const char *between = "";
    struct mortise_buf b;

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
    return json_string(kept(f, &b));
}
