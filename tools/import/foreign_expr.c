/* foreign_expr.c -- convert conditions of other systems to CEL.
 *
 * A condition in the grammar of the source (foreign_cond.c) keeps its meaning
 * (foreign_truth.c).  Other conditions were JavaScript in former releases of
 * the source.  Most of this JavaScript is valid CEL if `==` replaces `===`.  If
 * the CEL compiler rejects a condition, it is not imported.  If the compiler
 * accepts it, a warning says that it fails if a value is absent.
 *
 * In the source, the condition of an edge gives a bool, or the id of the next
 * node; the condition of a router gives an id.  If a node has a new id, the
 * result of the expression is translated, not the strings inside it. */
#include "tools/import/foreign.h"

#include <string.h>

#include "lang/cel/cel.h"
#include "tools/import/foreign_cond.h"

static const char by_hand[] =
    "write it as CEL, or as a router with an operation; until then, `mortise "
    "check` reports an error";

/* ---- compiling ---------------------------------------------------------- */

/* The schema is made once for each file. */
static struct mortise_schema *make_state_schema(struct foreign *f)
{
    const struct mortise_schema_options world = {.find = NULL};
    char where[64];
    json_t *json;

    if (f->state != NULL)
        return f->state;
    json = json_pack("{s:s, s:{s:{}, s:{}, s:{}, s:{}, s:{}}, s:b}", "type",
                     "object", "properties", "input", "scratch", "artifacts",
                     "memory", "diagnostics", "additionalProperties", 0);
    if (json == NULL ||
        mortise_schema_compile_with(&f->state, f->arena, json, &world, where,
                                    sizeof where, NULL) != MORTISE_OK)
        f->nomem = true;
    json_decref(json);
    return f->state;
}

/* NULL: it is not valid CEL; *err has the reason. */
static struct mortise_cel *
compile_condition(struct foreign *f, const char *text, struct mortise_err *err)
{
    const struct mortise_cel_name names[] = {
        {"input", NULL},       {"scratch", NULL},
        {"artifacts", NULL},   {"memory", NULL},
        {"diagnostics", NULL}, {"state", make_state_schema(f)},
    };
    const struct mortise_cel_scope scope = {
        .names = names, .n = sizeof names / sizeof names[0]};
    struct mortise_cel_range where;
    struct mortise_cel *prog = NULL;

    if (!f->nomem && mortise_cel_compile(&prog, f->arena, text, strlen(text),
                                         &scope, &where, err) == MORTISE_ENOMEM)
        f->nomem = true;
    return prog;
}

/* ---- text --------------------------------------------------------------- */

static const char *finish_text(struct foreign *f, struct mortise_buf *b)
{
    const char *s =
        b->failed ? NULL
                  : mortise_arena_strndup(f->arena, b->n > 0 ? b->p : "", b->n);

    f->nomem |= s == NULL;
    mortise_buf_finish(b);
    return s;
}

/* Find the end of the string literal at p. */
static const char *skip_string_literal(const char *p, const char *end)
{
    const char quote = *p++;

    while (p < end && *p != quote)
        p += *p == '\\' && p + 1 < end ? 2 : 1;
    return p < end ? p + 1 : end;
}

static const char *respell_as_cel(struct foreign *f,
                                  const struct mortise_yaml *expr)
{
    const char *p = expr->str, *end = p + expr->len;
    struct mortise_buf b;

    mortise_buf_init(&b, f->arena->mem);
    while (p < end) {
        const char *next = p + 1;
        size_t keep = 1;

        if (*p == '"' || *p == '\'') {
            next = skip_string_literal(p, end);
            keep = (size_t)(next - p);
        } else if ((*p == '=' || *p == '!') && end - p > 2 && p[1] == '=' &&
                   p[2] == '=') {
            next = p + 3;
            keep = 2;
        }
        mortise_buf_put(&b, p, keep);
        p = next;
    }
    return finish_text(f, &b);
}

static void put_cel_string(struct mortise_buf *b, const char *s)
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

/* ---- conditions --------------------------------------------------------- */

/* Make a condition of text that is not in the grammar: it may be CEL after
 * respelling. */
static const struct foreign_cond *
make_raw_condition(struct foreign *f, const struct mortise_yaml *expr)
{
    const char *text = respell_as_cel(f, expr);
    struct foreign_cond *c = mortise_arena_alloc(f->arena, sizeof *c);

    f->nomem |= c == NULL;
    if (c != NULL && text != NULL)
        *c = (struct foreign_cond){
            .kind = FOREIGN_COND_RAW, .text = text, .n = strlen(text)};
    return f->nomem ? NULL : c;
}

/* Get the CEL text of the condition's value. */
static const char *get_condition_text(struct foreign *f,
                                      const struct foreign_cond *c)
{
    struct mortise_buf b;

    if (c->kind == FOREIGN_COND_RAW)
        return c->text;
    mortise_buf_init(&b, f->arena->mem);
    mortise_foreign_cond_print_router(&b, f->arena, c);
    return finish_text(f, &b);
}

static bool is_expr_condition(const struct mortise_yaml *condition,
                              const struct mortise_yaml *expr)
{
    return mortise_foreign_is_string(mortise_yaml_get(condition, "type"),
                                     "expression") &&
           expr != NULL && expr->kind == MORTISE_YAML_STRING;
}

static const struct foreign_cond *
read_cond_expr(struct foreign *f, const struct mortise_yaml *expr,
               const char *what)
{
    const struct foreign_cond *c =
        mortise_foreign_cond_parse(f->arena, expr->str, expr->len, &f->nomem);
    struct mortise_err err = {.msg = ""};
    const char *text;

    if (c == NULL && !f->nomem)
        c = make_raw_condition(f, expr);
    text = c != NULL ? get_condition_text(f, c) : NULL;
    if (text == NULL || f->nomem)
        return NULL;
    if (compile_condition(f, text, &err) == NULL) {
        if (!f->nomem)
            mortise_foreign_report_loss(
                f, expr->span, by_hand,
                "the condition of %s is not imported: %s", what, err.msg);
        return NULL;
    }
    if (c->kind == FOREIGN_COND_RAW)
        mortise_foreign_report_loss(
            f, expr->span, "test the value first: `has(scratch.x) && ...`",
            "the condition of %s is an error here if a value "
            "is absent; there, it was false",
            what);
    return c;
}

const struct foreign_cond *mortise_foreign_parse_condition(
    struct foreign *f, const struct mortise_yaml *condition, const char *what)
{
    static const struct foreign_row rows[] = {
        {"type", "type", FOREIGN_CUSTOM, NULL},
        {"expr", "when", FOREIGN_CUSTOM, NULL},
        {"description", "description", FOREIGN_CUSTOM, NULL},
        {NULL, NULL, FOREIGN_COPY, NULL},
    };
    const struct mortise_yaml *expr = mortise_foreign_get(condition, "expr");

    mortise_foreign_convert_map(f, rows, condition, "a condition", NULL);
    if (is_expr_condition(condition, expr)) {
        mortise_foreign_check_voice_path(f, expr);
        return read_cond_expr(f, expr, what);
    }
    mortise_foreign_report_loss(
        f, condition->span, by_hand,
        "the condition of %s is not imported: it is not an expression%s", what,
        expr != NULL ? " of the type 'expression'" : "");
    return NULL;
}

/* Make `before(expr)behind to end`; the last three parts may be empty. */
static const char *wrap_expression(struct foreign *f, const char *before,
                                   const char *expr, const char *behind,
                                   const char *to, const char *end)
{
    struct mortise_buf b;

    mortise_buf_init(&b, f->arena->mem);
    mortise_buf_printf(&b, "%s(%s)%s%s%s", before, expr, behind, to, end);
    return finish_text(f, &b);
}

static const char *make_cel_string(struct foreign *f, const char *s)
{
    struct mortise_buf b;

    mortise_buf_init(&b, f->arena->mem);
    put_cel_string(&b, s);
    return finish_text(f, &b);
}

/* Does the expression give a bool or an id?  The compiler may know: a value
 * that has a size() is no bool.  If only the run can tell, accept either. */
static const char *make_raw_edge_test(struct foreign *f, const char *expr,
                                      const char *to)
{
    struct mortise_cel *prog = compile_condition(f, expr, NULL);
    const char *sized = wrap_expression(f, "size", expr, "", "", "");

    if (prog == NULL || sized == NULL)
        return NULL;
    if (!(mortise_cel_get_types(prog) & MORTISE_T_BOOL))
        return wrap_expression(f, "", expr, " == ", to, "");
    if (compile_condition(f, sized, NULL) == NULL)
        return expr;
    return wrap_expression(f, "", expr, " in [true, ", to, "]");
}

json_t *mortise_foreign_make_edge_expr(struct foreign *f,
                                       const struct foreign_cond *c,
                                       const char *to)
{
    const char *id = make_cel_string(f, to), *text;
    struct mortise_buf b;

    if (id == NULL)
        return NULL;
    if (c->kind == FOREIGN_COND_RAW) {
        text = make_raw_edge_test(f, c->text, id);
    } else {
        mortise_buf_init(&b, f->arena->mem);
        mortise_foreign_cond_print_edge(&b, f->arena, c, id);
        text = finish_text(f, &b);
    }
    return text != NULL ? json_string(text) : NULL;
}

/* Is each new id the same as the source id? */
static bool are_ids_unchanged(json_t *targets)
{
    MORTISE_JSON_MEMBERS (theirs, ours, targets)
        if (strcmp(theirs, json_string_value(ours)) != 0)
            return false;
    return true;
}

json_t *mortise_foreign_make_router_expr(struct foreign *f,
                                         const struct foreign_cond *c,
                                         json_t *targets)
{
    const char *between = "", *expr = get_condition_text(f, c);
    struct mortise_buf b;

    if (expr == NULL)
        return NULL;
    if (are_ids_unchanged(targets))
        return json_string(expr);
    mortise_buf_init(&b, f->arena->mem);
    mortise_buf_puts(&b, "{");
    MORTISE_JSON_MEMBERS (theirs, ours, targets) {
        mortise_buf_puts(&b, between);
        put_cel_string(&b, theirs);
        mortise_buf_puts(&b, ": ");
        put_cel_string(&b, json_string_value(ours));
        between = ", ";
    }
    mortise_buf_printf(&b, "}[%s]", expr);
    expr = finish_text(f, &b);
    return expr != NULL ? json_string(expr) : NULL;
}
