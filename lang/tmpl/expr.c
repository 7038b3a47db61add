/* expr.c -- an expression with its place in a file.
 *
 * lang/cel/ reports offsets into a text, but people need path:line:col.  This
 * file converts them, for findings when a graph is loaded, and for the messages
 * of expressions that fail in a run. */
#include "lang/tmpl/tmpl.h"

#include <string.h>

/* Help for names that exist only in some places. */
static const char *find_scope_help(const char *text,
                                   struct mortise_cel_range where)
{
    static const struct {
        const char *name, *help;
    } names[] = {
        {"error", "'error' exists only in on_error.value, and in nodes that "
                  "on_error: {goto: NODE} leads to"},
        {"memory",
         "'memory' exists only in nodes that have a memory_policy with 'read'"},
        {"discovery", "'discovery' exists only in nodes that have a "
                      "discovery_policy without 'enabled: false'"},
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i].name) == where.length &&
            memcmp(text + where.offset, names[i].name, where.length) == 0)
            return names[i].help;
    return NULL;
}

/* A common mistake is `when: ${x}`, for which CEL would only report the dollar
 * sign. */
static void add_expr_finding(const struct mortise_expr *e, const char *text,
                             int rv, struct mortise_cel_range where,
                             const struct mortise_err *err,
                             struct mortise_diags *diags)
{
    bool unknown = strncmp(err->msg, "unknown name", 12) == 0;
    const char *help = unknown ? find_scope_help(text, where) : NULL;
    struct mortise_diag *d =
        mortise_diag_add(diags, rv == MORTISE_EUNAVAILABLE ? "E0404" : "E0401",
                         mortise_expr_get_span(e, where), "%s", err->msg);

    if (help != NULL)
        mortise_diag_help(diags, d, "%s", help);
    else if (strncmp(text, "${", 2) == 0)
        mortise_diag_help(
            diags, d,
            "this value is already an expression: write it without ${ and }");
}

int mortise_expr_compile_at(struct mortise_expr *out, struct mortise_arena *a,
                            const struct mortise_yaml *scalar, size_t offset,
                            size_t length,
                            const struct mortise_cel_scope *scope,
                            struct mortise_diags *diags)
{
    struct mortise_cel_range where = {0, length};
    struct mortise_err err = {0};
    struct mortise_cel *cel;
    int rv;

    *out = (struct mortise_expr){.at = scalar, .offset = offset};
    rv = mortise_cel_compile(&cel, a, scalar->str + offset, length, scope,
                             &where, &err);
    if (rv == MORTISE_ENOMEM)
        return rv;
    if (rv != MORTISE_OK) {
        add_expr_finding(out, scalar->str + offset, rv, where, &err, diags);
        return MORTISE_ECHECK;
    }
    out->cel = cel;
    return MORTISE_OK;
}

int mortise_expr_compile(struct mortise_expr *out, struct mortise_arena *a,
                         const struct mortise_yaml *scalar,
                         const struct mortise_cel_scope *scope,
                         struct mortise_diags *diags)
{
    return mortise_expr_compile_at(out, a, scalar, 0, scalar->len, scope,
                                   diags);
}

/* ---- evaluation ------------------------------------------------------ */

uint32_t mortise_expr_get_uses(const struct mortise_expr *e)
{
    return mortise_cel_get_uses(e->cel);
}

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
                      const struct mortise_expr_env *env, json_t **out,
                      struct mortise_err *err)
{
    struct mortise_cel_range where = {0, 0};

    return add_place_prefix(e, mortise_cel_eval(e->cel, env, out, &where, err),
                            where, err);
}

int mortise_expr_test(const struct mortise_expr *e,
                      const struct mortise_expr_env *env, bool *out,
                      struct mortise_err *err)
{
    struct mortise_cel_range where = {0, 0};

    return add_place_prefix(e, mortise_cel_test(e->cel, env, out, &where, err),
                            where, err);
}
