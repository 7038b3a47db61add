/* tmpl.c -- the values of templates: JSON values with ${...} in their strings.
 *
 * The loader compiles a YAML value into parts (compile.c), and each
 * execution evaluates them into JSON:
 *
 *   (1) A string that is exactly one ${...} gives the value of its expression
 *       with its type.  Any other string gives a string: the values of its
 *       expressions are inserted into the text, strings as they are, other
 *       values as JSON.
 *   (2) The value of an expression is never scanned for ${ again.
 */
#include "lang/tmpl/tmpl.h"

#include <assert.h>
#include <string.h>

const struct mortise_yaml *mortise_tmpl_yaml(const struct mortise_tmpl *t)
{
    return t->node;
}

struct mortise_span mortise_tmpl_get_span(const struct mortise_tmpl *t)
{
    return t->node->span;
}

bool mortise_tmpl_has_string(const struct mortise_tmpl *t, const char *pointer,
                             const char *string)
{
    const struct mortise_yaml *at = mortise_yaml_find_at(t->node, pointer);

    return at != NULL && at->kind == MORTISE_YAML_STRING &&
           strcmp(at->str, string) == 0;
}

uint32_t mortise_tmpl_get_used_names(const struct mortise_tmpl *t)
{
    return t->uses;
}

/* Append the value of an expression to a text (1). */
static void append_json_value(struct mortise_buf *b, const json_t *v)
{
    if (json_is_string(v))
        mortise_buf_put(b, json_string_value(v), json_string_length(v));
    else if (mortise_json_write(b, v) != MORTISE_OK)
        b->failed = true;
}

static int append_part_value(struct mortise_buf *b,
                             const struct mortise_tmpl_part *p,
                             const struct mortise_expr_env *env,
                             struct mortise_err *err)
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
    append_json_value(b, v);
    json_decref(v);
    return MORTISE_OK;
}

static int eval_text_value(const struct mortise_tmpl *t,
                           const struct mortise_expr_env *env, json_t **out,
                           struct mortise_err *err)
{
    struct mortise_buf b;
    int rv = MORTISE_OK;

    mortise_buf_init(&b, t->mem);
    for (size_t i = 0; i < t->n && rv == MORTISE_OK; i++)
        rv = append_part_value(&b, &t->parts[i], env, err);
    if (rv == MORTISE_OK && !b.failed)
        *out = mortise_json_make_string(b.n > 0 ? b.p : "", b.n);
    if (rv == MORTISE_OK && *out == NULL)
        rv = mortise_nomem(err);
    mortise_buf_finish(&b);
    return rv;
}

static int eval_item_values(const struct mortise_tmpl *t,
                            const struct mortise_expr_env *env, json_t **out,
                            struct mortise_err *err)
{
    json_t *all = t->kind == MORTISE_TMPL_LIST ? json_array() : json_object(),
           *one;
    int rv = all != NULL ? MORTISE_OK : mortise_nomem(err);

    for (size_t i = 0; i < t->n && rv == MORTISE_OK; i++) {
        rv = mortise_tmpl_eval(t->items[i], env, &one, err);
        if (rv != MORTISE_OK)
            break;
        if ((t->kind == MORTISE_TMPL_LIST
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

int mortise_tmpl_eval(const struct mortise_tmpl *t,
                      const struct mortise_expr_env *env, json_t **out,
                      struct mortise_err *err)
{
    *out = NULL;
    switch (t->kind) {
    case MORTISE_TMPL_LITERAL:
        *out = mortise_yaml_to_json(t->node, false);
        return *out != NULL ? MORTISE_OK : mortise_nomem(err);
    case MORTISE_TMPL_EXPR:
        return mortise_expr_eval(&t->parts[0].expr, env, out, err);
    case MORTISE_TMPL_TEXT:
        return eval_text_value(t, env, out, err);
    case MORTISE_TMPL_LIST:
    case MORTISE_TMPL_MAP:
        return eval_item_values(t, env, out, err);
    }
    assert(0); /* all kinds are above */
    return MORTISE_EINVAL;
}
