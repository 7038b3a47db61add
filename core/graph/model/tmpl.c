/* tmpl.c -- JSON values with ${...} in their strings.
 *
 * A template is a YAML value read twice: once here, into parts, and once per
 * execution, into JSON.  The rules:
 *
 *   (1) A string that is one whole ${...} gives the value of its expression,
 *       type and all.  Any other string gives a string: what its expressions
 *       give is put between the letters, strings as they are, everything else
 *       as JSON writes it.
 *   (2) `$${` is a literal `${`; a `$` before anything else is a `$`.
 *   (3) What ends a ${ is the } that CEL would see: braces nest, and those in
 *       string literals ('}', """}""", r'\}') and comments do not count.
 *   (4) What an expression gives is never read for ${ again.
 *   (5) Keys are taken as they stand; ${ in a key is refused rather than kept.
 *
 * A value without any ${ is one part, however large: most args are.
 */
#include "graph/model/tmpl.h"

#include <assert.h>
#include <string.h>

#include "graph/model/expr.h"

enum kind { LITERAL, EXPR, TEXT, LIST, MAP };

struct part { /* of a TEXT: an expression, or n bytes */
    struct mortise_expr expr;
    const char *text;
    size_t n;
};

struct mortise_tmpl {
    enum kind kind;
    const struct mortise_mem *mem;   /* lent: the arena's */
    const struct mortise_yaml *node; /* the value itself; keys of a MAP */
    struct part *parts;              /* EXPR: one; TEXT: n */
    struct mortise_tmpl **items;     /* LIST, MAP: node->n */
    size_t n;
    uint32_t uses; /* of the outermost: names that stand anywhere in it */
};

struct compiler {
    struct mortise_arena *arena;
    const struct mortise_cel_scope *scope;
    struct mortise_diags *diags;
    size_t errors;
    uint32_t uses; /* names met so far */
};

/* ---- finding ${ and its } (3) ---------------------------------------- */

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

/* Does an r or R (or br, rb ...) stand right before p, as a prefix? */
static bool is_raw(const char *begin, const char *p)
{
    return p > begin && (p[-1] == 'r' || p[-1] == 'R' ||
                         ((p[-1] == 'b' || p[-1] == 'B') && p - 1 > begin &&
                          (p[-2] == 'r' || p[-2] == 'R')));
}

/* The } that closes an expression which starts at p, or NULL. */
static const char *find_close(const char *p, const char *end)
{
    const char *begin = p;
    size_t depth = 0;

    while (p != NULL && p < end) {
        if (*p == '"' || *p == '\'') {
            p = skip_literal(p, end, is_raw(begin, p));
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

bool mortise_tmpl_in(const struct mortise_yaml *node)
{
    if (node->kind == MORTISE_YAML_STRING)
        return find_open(node->str, node->str + node->len) != NULL;
    if (node->kind == MORTISE_YAML_SEQ || node->kind == MORTISE_YAML_MAP)
        for (size_t i = 0; i < node->n; i++)
            if (mortise_tmpl_in(node->items[i]) ||
                (node->kind == MORTISE_YAML_MAP &&
                 mortise_tmpl_in(node->keys[i])))
                return true;
    return false;
}

/* ---- compiling ------------------------------------------------------- */

static void add_text(struct mortise_tmpl *t, const char *from, const char *to)
{
    if (to > from)
        t->parts[t->n++] =
            (struct part){.text = from, .n = (size_t)(to - from)};
}

/* One ${...} at p; *next is what stands behind it. */
static int add_expr(struct compiler *c, struct mortise_tmpl *t, const char *p,
                    const char **next)
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
        return MORTISE_ECHECK;
    }
    *next = close + 1;
    e = &t->parts[t->n++].expr;
    rv = mortise_expr_compile_at(e, c->arena, s, at + 2,
                                 (size_t)(close - p) - 2, c->scope, c->diags);
    if (rv == MORTISE_OK)
        c->uses |= mortise_cel_uses(e->cel);
    return rv;
}

/* Room for the parts of a string: each ${ makes at most two. */
static int make_room(struct compiler *c, struct mortise_tmpl *t)
{
    const char *p = t->node->str, *end = p + t->node->len;
    size_t n = 1;

    while ((p = find_open(p, end)) != NULL) {
        n += 2;
        p += 2;
    }
    t->parts = mortise_arena_alloc(c->arena, n * sizeof *t->parts);
    return t->parts != NULL ? MORTISE_OK : MORTISE_ENOMEM;
}

static int compile_string(struct compiler *c, struct mortise_tmpl *t)
{
    const char *p = t->node->str, *end = p + t->node->len, *open;
    int rv = make_room(c, t), first = MORTISE_OK;

    t->kind = TEXT;
    while (rv != MORTISE_ENOMEM && (open = find_open(p, end)) != NULL) {
        if (open[1] == '$') { /* $${: the text goes on behind the first $ */
            add_text(t, p, open + 1);
            add_text(t, open + 2, open + 3);
            p = open + 3;
            continue;
        }
        add_text(t, p, open);
        p = end;
        rv = add_expr(c, t, open, &p);
        first = rv != MORTISE_OK ? rv : first;
    }
    if (rv == MORTISE_ENOMEM)
        return rv;
    add_text(t, p, end);
    if (t->n == 1 && t->parts[0].text == NULL)
        t->kind = EXPR;
    return first;
}

static int compile(struct compiler *c, struct mortise_tmpl **out,
                   const struct mortise_yaml *node);

static void check_key(struct compiler *c, const struct mortise_yaml *key)
{
    if (mortise_tmpl_in(key))
        mortise_diag_add(c->diags, "E0405", key->span,
                         "a key cannot hold a template: '%s'", key->str);
}

static int compile_items(struct compiler *c, struct mortise_tmpl *t)
{
    const struct mortise_yaml *node = t->node;
    int rv = MORTISE_OK;

    t->n = node->n;
    t->items = mortise_arena_alloc(c->arena, t->n * sizeof *t->items);
    if (t->items == NULL)
        return MORTISE_ENOMEM;
    for (size_t i = 0; i < t->n && rv != MORTISE_ENOMEM; i++) {
        if (node->kind == MORTISE_YAML_MAP)
            check_key(c, node->keys[i]);
        rv = compile(c, &t->items[i], node->items[i]);
    }
    return rv;
}

static int compile(struct compiler *c, struct mortise_tmpl **out,
                   const struct mortise_yaml *node)
{
    struct mortise_tmpl *t = mortise_arena_alloc(c->arena, sizeof *t);

    *out = t;
    if (t == NULL)
        return MORTISE_ENOMEM;
    t->mem = c->arena->mem;
    t->node = node;
    t->kind = LITERAL;
    if (!mortise_tmpl_in(node))
        return MORTISE_OK;
    if (node->kind == MORTISE_YAML_STRING)
        return compile_string(c, t);
    t->kind = node->kind == MORTISE_YAML_SEQ ? LIST : MAP;
    return compile_items(c, t);
}

int mortise_tmpl_compile(struct mortise_tmpl **out, struct mortise_arena *a,
                         const struct mortise_yaml *node,
                         const struct mortise_cel_scope *scope,
                         struct mortise_diags *diags)
{
    struct compiler c = {a, scope, diags, diags->n_errors, 0};
    int rv = compile(&c, out, node);

    if (rv == MORTISE_OK || rv == MORTISE_ECHECK)
        rv = diags->n_errors > c.errors ? MORTISE_ECHECK : MORTISE_OK;
    if (rv != MORTISE_OK)
        *out = NULL;
    else
        (*out)->uses = c.uses;
    return rv;
}

const struct mortise_yaml *mortise_tmpl_yaml(const struct mortise_tmpl *t)
{
    return t->node;
}

uint32_t mortise_tmpl_uses(const struct mortise_tmpl *t)
{
    return t->uses;
}

/* ---- evaluating ------------------------------------------------------ */

static int eval(const struct mortise_tmpl *t, const struct mortise_cel_env *env,
                json_t **out, struct mortise_err *err);

/* What an expression gave, between letters (1). */
static void put_value(struct mortise_buf *b, const json_t *v)
{
    if (json_is_string(v))
        mortise_buf_put(b, json_string_value(v), json_string_length(v));
    else if (mortise_json_write(b, v) != MORTISE_OK)
        b->failed = true;
}

static int put_part(struct mortise_buf *b, const struct part *p,
                    const struct mortise_cel_env *env, struct mortise_err *err)
{
    json_t *v;
    int rv;

    if (p->text != NULL) {
        mortise_buf_put(b, p->text, p->n);
        return MORTISE_OK;
    }
    rv = mortise_expr_eval(&p->expr, env, &v, err);
    if (rv != MORTISE_OK)
        return rv;
    put_value(b, v);
    json_decref(v);
    return MORTISE_OK;
}

static int eval_text(const struct mortise_tmpl *t,
                     const struct mortise_cel_env *env, json_t **out,
                     struct mortise_err *err)
{
    struct mortise_buf b;
    int rv = MORTISE_OK;

    mortise_buf_init(&b, t->mem);
    for (size_t i = 0; i < t->n && rv == MORTISE_OK; i++)
        rv = put_part(&b, &t->parts[i], env, err);
    if (rv == MORTISE_OK && !b.failed)
        *out = mortise_json_strn(b.n > 0 ? b.p : "", b.n);
    if (rv == MORTISE_OK && *out == NULL)
        rv = mortise_nomem(err);
    mortise_buf_finish(&b);
    return rv;
}

static int eval_items(const struct mortise_tmpl *t,
                      const struct mortise_cel_env *env, json_t **out,
                      struct mortise_err *err)
{
    json_t *all = t->kind == LIST ? json_array() : json_object(), *one;
    int rv = all != NULL ? MORTISE_OK : mortise_nomem(err);

    for (size_t i = 0; i < t->n && rv == MORTISE_OK; i++) {
        rv = eval(t->items[i], env, &one, err);
        if (rv != MORTISE_OK)
            break;
        if ((t->kind == LIST
                 ? json_array_append_new(all, one)
                 : json_object_set_new(all, t->node->keys[i]->str, one)) != 0)
            rv = mortise_nomem(err);
    }
    if (rv == MORTISE_OK)
        *out = all;
    else
        json_decref(all);
    return rv;
}

static int eval(const struct mortise_tmpl *t, const struct mortise_cel_env *env,
                json_t **out, struct mortise_err *err)
{
    *out = NULL;
    switch (t->kind) {
    case LITERAL:
        *out = mortise_yaml_json(t->node, false);
        return *out != NULL ? MORTISE_OK : mortise_nomem(err);
    case EXPR:
        return mortise_expr_eval(&t->parts[0].expr, env, out, err);
    case TEXT:
        return eval_text(t, env, out, err);
    case LIST:
    case MAP:
        return eval_items(t, env, out, err);
    }
    assert(0); /* all kinds are above */
    return MORTISE_EINVAL;
}

int mortise_tmpl_eval(const struct mortise_tmpl *t,
                      const struct mortise_cel_env *env, json_t **out,
                      struct mortise_err *err)
{
    return eval(t, env, out, err);
}

/* Recursive, as deep as YAML nests. */
void mortise_tmpl_each(const struct mortise_tmpl *t,
                       const struct mortise_schema *s,
                       void (*fn)(void *ud, const struct mortise_tmpl_place *p),
                       void *ud)
{
    struct mortise_tmpl_place place = {NULL, t->node, s};

    switch (t->kind) {
    case LITERAL:
        return;
    case EXPR:
        place.expr = &t->parts[0].expr;
        fn(ud, &place);
        return;
    case TEXT:
        fn(ud, &place);
        return;
    case LIST:
        s = s != NULL ? mortise_schema_items(s) : NULL;
        break;
    case MAP:
        break;
    }
    for (size_t i = 0; i < t->node->n; i++)
        mortise_tmpl_each(t->items[i],
                          t->kind == MAP && s != NULL
                              ? mortise_schema_member(s, t->node->keys[i]->str)
                              : s,
                          fn, ud);
}
