/* expr.c -- an expression with its place in a file.
 *
 * lang/cel/ reports offsets into a text, but people need path:line:col.  This
 * file converts them when an expression fails in a run: the error message starts
 * with the place. */
#include "core/model/tmpl.h"

struct mortise_span mortise_expr_get_span(const struct mortise_expr *e,
                                          struct mortise_cel_range where)
{
    return mortise_yaml_scalar_position(e->at, e->offset + where.offset,
                                        where.length);
}

/* Put the place in front of the message of a failed evaluation. */
static int add_place_prefix(const struct mortise_expr *e, int rv,
                            struct mortise_cel_range where,
                            struct mortise_err *err)
{
    struct mortise_span span;

    if (rv == MORTISE_OK || rv == MORTISE_ENOMEM)
        return rv;
    span = mortise_expr_get_span(e, where);
    if (span.file == NULL)
        return rv;
    return mortise_err_prefix(err, rv, "%s:%u:%u",
                              mortise_source_file_name(span.file), span.line,
                              span.col);
}

int mortise_expr_prefix_error(const struct mortise_expr *e, int rv,
                              struct mortise_err *err)
{
    return add_place_prefix(e, rv, (struct mortise_cel_range){0, 0}, err);
}

int mortise_expr_eval(const struct mortise_expr *e,
                      const struct mortise_cel_env *env, json_t **out,
                      struct mortise_err *err)
{
    struct mortise_cel_range where = {0, 0};

    return add_place_prefix(e, mortise_cel_eval(e->cel, env, out, &where, err),
                            where, err);
}

int mortise_expr_test(const struct mortise_expr *e,
                      const struct mortise_cel_env *env, bool *out,
                      struct mortise_err *err)
{
    struct mortise_cel_range where = {0, 0};

    return add_place_prefix(e, mortise_cel_test(e->cel, env, out, &where, err),
                            where, err);
}
