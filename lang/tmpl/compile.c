/* compile.c -- compiles JSON values with ${...} in their strings.
 *
 * A YAML value is compiled once into parts, and evaluated for each execution
 * (tmpl.c):
 *
 *   (1) `$${` is a literal `${`; a `$` before anything else is a `$`.
 *   (2) The } that ends a ${ is the one that CEL would find: braces nest, and
 *       those in string literals ('}', """}""", r'\}') and comments do not
 *       count.
 *   (3) Keys are literal; a ${ in a key is an error.
 *
 * A value without any ${ is one part of any size; most args are. */
#include "lang/tmpl/tmpl.h"

#include <string.h>

#include "core/base/escape.h"

/* Only lack of memory stops it before the last ${; it then leaves by
 * mortise_escape() (core/base/escape.h). */
struct compiler {
    struct mortise_escape escape;
    struct mortise_arena *arena;
    const struct mortise_cel_scope *scope;
    struct mortise_diags *diags;
    const struct mortise_yaml *node; /* the outermost value */
    struct mortise_tmpl *out;        /* the result */
    uint32_t uses;                   /* names used so far */
};

/* ---- finding ${ and its } (2) -------------------------------------------- */

/* The end of the string literal that starts at p, or NULL. */
static const char *skip_literal(const char *p, const char *end, bool raw)
{
    char quote = *p;
    size_t n = end - p >= 3 && p[1] == quote && p[2] == quote ? 3 : 1;

    for (p += n; p < end; p++) {
        if (*p == '\\' && !raw)
            p++;
        else if (*p == quote && (size_t)(end - p) >= n &&
                 (n == 1 || (p[1] == quote && p[2] == quote)))
            return p + n;
    }
    return NULL;
}

/* Is there a raw prefix (r, R, br, rb ...) right before p? */
static bool is_raw_literal(const char *begin, const char *p)
{
    return p > begin && (p[-1] == 'r' || p[-1] == 'R' ||
                         ((p[-1] == 'b' || p[-1] == 'B') && p - 1 > begin &&
                          (p[-2] == 'r' || p[-2] == 'R')));
}

/* The } that closes an expression that starts at p, or NULL. */
static const char *find_close(const char *p, const char *end)
{
    const char *begin = p;
    size_t depth = 0;

    while (p != NULL && p < end) {
        if (*p == '"' || *p == '\'') {
            p = skip_literal(p, end, is_raw_literal(begin, p));
            continue;
        }
        if (*p == '/' && end - p > 1 && p[1] == '/') {
            p = memchr(p, '\n', (size_t)(end - p));
            continue;
        }
        if (*p == '}' && depth == 0)
            return p;
        depth += *p == '{';
        depth -= *p == '}';
        p++;
    }
    return NULL;
}

/* The next ${ or $${, or NULL. */
static const char *find_open(const char *p, const char *end)
{
    for (; p + 1 < end; p++) {
        if (p[0] == '$' && p[1] == '{')
            return p;
        if (p[0] == '$' && p[1] == '$' && p + 2 < end && p[2] == '{')
            return p;
    }
    return NULL;
}

bool mortise_tmpl_has_expr_within(const struct mortise_yaml *node)
{
    if (node->kind == MORTISE_YAML_STRING)
        return find_open(node->str, node->str + node->len) != NULL;
    if (node->kind == MORTISE_YAML_SEQ || node->kind == MORTISE_YAML_MAP)
        for (size_t i = 0; i < node->n; i++)
            if (mortise_tmpl_has_expr_within(node->items[i]) ||
                (node->kind == MORTISE_YAML_MAP &&
                 mortise_tmpl_has_expr_within(node->keys[i])))
                return true;
    return false;
}

bool mortise_tmpl_has_expr(const struct mortise_yaml *node)
{
    const char *at = node->str;

    if (node->kind != MORTISE_YAML_STRING)
        return false;
    while ((at = strstr(at, "${")) != NULL && at > node->str && at[-1] == '$')
        at += 2;
    return at != NULL;
}

/* ---- literal values ------------------------------------------------------ */

static const struct mortise_yaml *
escape_template_string(struct mortise_arena *a, const struct mortise_yaml *node)
{
    struct mortise_yaml *copy = mortise_arena_alloc(a, sizeof *copy);
    char *text = mortise_arena_alloc(a, 2 * node->len + 1);
    size_t n = 0;

    if (copy == NULL || text == NULL)
        return NULL;
    for (size_t i = 0; i < node->len; i++) {
        if (node->str[i] == '$' && i + 1 < node->len && node->str[i + 1] == '{')
            text[n++] = '$';
        text[n++] = node->str[i];
    }
    *copy = *node;
    copy->str = text;
    copy->len = n;
    return copy;
}

const struct mortise_yaml *mortise_tmpl_escape(struct mortise_arena *a,
                                               const struct mortise_yaml *node)
{
    struct mortise_yaml *copy;

    if (!mortise_tmpl_has_expr_within(node))
        return node;
    if (node->kind == MORTISE_YAML_STRING)
        return escape_template_string(a, node);
    copy = mortise_arena_alloc(a, sizeof *copy);
    if (copy == NULL)
        return NULL;
    *copy = *node;
    copy->items = mortise_arena_alloc(a, node->n * sizeof *copy->items);
    for (size_t i = 0; copy->items != NULL && i < node->n; i++) {
        copy->items[i] =
            mortise_yaml_unconst(mortise_tmpl_escape(a, node->items[i]));
        if (copy->items[i] == NULL)
            return NULL;
    }
    return copy->items != NULL ? copy : NULL;
}

/* ---- compiling ----------------------------------------------------------- */

static void add_text_part(struct mortise_tmpl *t, const char *from,
                          const char *to)
{
    if (to > from)
        t->parts[t->n++] =
            (struct mortise_tmpl_part){.text = from, .n = (size_t)(to - from)};
}

/* Compile the ${...} at p; returns the text after it. */
static const char *add_expr_part(struct compiler *c, struct mortise_tmpl *t,
                                 const char *p)
{
    const struct mortise_yaml *s = t->node;
    const char *end = s->str + s->len, *close = find_close(p + 2, end);
    size_t at = (size_t)(p - s->str);
    struct mortise_expr *e;
    struct mortise_diag *d;
    int rv;

    if (close == NULL) {
        d = mortise_diag_add(c->diags, "E0402",
                             mortise_yaml_scalar_position(s, at, 2),
                             "this ${ is never closed");
        mortise_diag_help(c->diags, d,
                          "close it with }, or write $${ for a "
                          "literal ${");
        return end;
    }
    e = &t->parts[t->n++].expr;
    rv = mortise_expr_compile_at(e, c->arena, s, at + 2,
                                 (size_t)(close - p) - 2, c->scope, c->diags);
    if (rv == MORTISE_ENOMEM)
        mortise_escape(&c->escape, rv);
    if (rv == MORTISE_OK)
        c->uses |= mortise_cel_get_uses(e->cel);
    return close + 1;
}

/* The maximum number of parts of a string: each ${ adds at most two. */
static size_t count_max_parts(const char *p, const char *end)
{
    size_t n = 1;

    for (; (p = find_open(p, end)) != NULL; p += 2)
        n += 2;
    return n;
}

static void compile_string(struct compiler *c, struct mortise_tmpl *t)
{
    const char *p = t->node->str, *end = p + t->node->len, *open;

    t->kind = MORTISE_TMPL_TEXT;
    t->parts = mortise_escape_alloc(&c->escape, c->arena,
                                    count_max_parts(p, end), sizeof *t->parts);
    while ((open = find_open(p, end)) != NULL) {
        if (open[1] == '$') { /* $${: skip the first $ */
            add_text_part(t, p, open + 1);
            add_text_part(t, open + 2, open + 3);
            p = open + 3;
            continue;
        }
        add_text_part(t, p, open);
        p = add_expr_part(c, t, open);
    }
    add_text_part(t, p, end);
    if (t->n == 1 && t->parts[0].text == NULL)
        t->kind = MORTISE_TMPL_EXPR;
}

static struct mortise_tmpl *compile_value(struct compiler *c,
                                          const struct mortise_yaml *node);

static void check_map_key(struct compiler *c, const struct mortise_yaml *key)
{
    if (mortise_tmpl_has_expr_within(key))
        mortise_diag_add(c->diags, "E0405", key->span,
                         "a key cannot contain a template: '%s'", key->str);
}

static void compile_items(struct compiler *c, struct mortise_tmpl *t)
{
    const struct mortise_yaml *node = t->node;

    t->n = node->n;
    t->items =
        mortise_escape_alloc(&c->escape, c->arena, t->n, sizeof *t->items);
    for (size_t i = 0; i < t->n; i++) {
        if (node->kind == MORTISE_YAML_MAP)
            check_map_key(c, node->keys[i]);
        t->items[i] = compile_value(c, node->items[i]);
    }
}

static struct mortise_tmpl *compile_value(struct compiler *c,
                                          const struct mortise_yaml *node)
{
    struct mortise_tmpl *t =
        mortise_escape_alloc(&c->escape, c->arena, 1, sizeof *t);

    t->mem = c->arena->mem;
    t->node = node;
    t->kind = MORTISE_TMPL_LITERAL;
    if (!mortise_tmpl_has_expr_within(node))
        return t;
    t->kind =
        node->kind == MORTISE_YAML_SEQ ? MORTISE_TMPL_LIST : MORTISE_TMPL_MAP;
    if (node->kind == MORTISE_YAML_STRING)
        compile_string(c, t);
    else
        compile_items(c, t);
    return t;
}

static void compile_template(void *arg)
{
    struct compiler *c = arg;

    c->out = compile_value(c, c->node);
    c->out->uses = c->uses;
}

int mortise_tmpl_compile(struct mortise_tmpl **out, struct mortise_arena *a,
                         const struct mortise_yaml *node,
                         const struct mortise_cel_scope *scope,
                         struct mortise_diags *diags)
{
    struct compiler c = {
        .arena = a, .scope = scope, .diags = diags, .node = node};
    size_t errors = diags->n_errors;
    int rv = mortise_escape_catch(&c.escape, compile_template, &c);

    if (rv == MORTISE_OK && diags->n_errors > errors)
        rv = MORTISE_ECHECK;
    *out = rv == MORTISE_OK ? c.out : NULL;
    return rv;
}

/* ---- the parts of a template ------------------------------------------- */

/* Recursive, as deep as YAML nests. */
void mortise_tmpl_for_each_place(
    const struct mortise_tmpl *t, const struct mortise_schema *s,
    void (*fn)(void *ud, const struct mortise_tmpl_place *p), void *ud)
{
    struct mortise_tmpl_place place = {NULL, t->node, s};

    switch (t->kind) {
    case MORTISE_TMPL_LITERAL:
        return;
    case MORTISE_TMPL_EXPR:
        place.expr = &t->parts[0].expr;
        fn(ud, &place);
        return;
    case MORTISE_TMPL_TEXT:
        fn(ud, &place);
        return;
    case MORTISE_TMPL_LIST:
        s = s != NULL ? mortise_schema_get_items(s) : NULL;
        break;
    case MORTISE_TMPL_MAP:
        break;
    }
    for (size_t i = 0; i < t->node->n; i++)
        mortise_tmpl_for_each_place(
            t->items[i],
            t->kind == MORTISE_TMPL_MAP && s != NULL
                ? mortise_schema_get_member(s, t->node->keys[i]->str)
                : s,
            fn, ud);
}

void mortise_tmpl_for_each_expr(const struct mortise_tmpl *t,
                                void (*fn)(void *ud,
                                           const struct mortise_expr *e),
                                void *ud)
{
    bool leaf = t->kind == MORTISE_TMPL_EXPR || t->kind == MORTISE_TMPL_TEXT;

    for (size_t i = 0; t->kind != MORTISE_TMPL_LITERAL && i < t->n; i++) {
        if (!leaf)
            mortise_tmpl_for_each_expr(t->items[i], fn, ud);
        else if (t->parts[i].text == NULL)
            fn(ud, &t->parts[i].expr);
    }
}
