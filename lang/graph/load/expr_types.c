/* expr_types.c -- expressions whose result type cannot fit their place.
 *
 * A condition needs a bool, `over` a list, the condition of a router a string,
 * a path of the state a value that its schema allows; each reducer works on
 * some types.  The type checker in cel/ derives the possible result types from
 * the expression and the schemas.  If none of them fits, the expression would
 * fail in every run, so it is an error here.  If one of them fits, the run
 * decides.
 */
#include "lang/graph/load/loader.h"

#include <stdio.h>

enum { WORDS = 80 };

/* "integer or null", in the terms of JSON Schema. */
static const char *print_types(unsigned types, char out[WORDS])
{
    size_t n = 0;

    out[0] = '\0';
    for (unsigned bit = 1; bit <= types; bit <<= 1)
        if (types & bit)
            n += (size_t)snprintf(out + n, WORDS - n, "%s%s",
                                  n > 0 ? " or " : "",
                                  mortise_schema_type_name(bit));
    return out;
}

bool mortise_load_check_types(struct mortise_loader *ld,
                              const struct mortise_expr *e, unsigned types,
                              const char *what)
{
    char gives[MORTISE_CEL_WORDS];

    if (e->cel == NULL || mortise_cel_get_types(e->cel) & types)
        return true;
    mortise_diag_add(ld->diags, "E0403", e->at->span, "%s, not %s", what,
                     mortise_cel_format_types(e->cel, gives));
    return false;
}

void mortise_load_check_fit(struct mortise_loader *ld,
                            const struct mortise_expr *e, const char *place,
                            const struct mortise_schema *s)
{
    unsigned types = s != NULL ? mortise_schema_get_types(s) : MORTISE_T_ANY;
    char what[256], takes[WORDS];

    if (types == 0) /* the schema has its own finding */
        return;
    snprintf(what, sizeof what, "%s must be %s", place,
             types != MORTISE_T_ANY ? print_types(types, takes)
                                    : "a JSON value");
    mortise_load_check_types(ld, e, types, what);
}

/* The value of an expression that uses no names; NULL if it uses any or cannot
 * be evaluated. */
static json_t *eval_constant_expr(struct mortise_loader *ld,
                                  const struct mortise_expr *e)
{
    const json_t *nothing[MORTISE_IN_N] = {NULL};
    struct mortise_expr_env env = {nothing, ld->g->expr_cost};
    json_t *v = NULL;

    if (mortise_cel_get_uses(e->cel) == 0 &&
        mortise_expr_eval(e, &env, &v, NULL) == MORTISE_ENOMEM)
        ld->nomem = true;
    return v;
}

bool mortise_load_check_output_fit(struct mortise_loader *ld,
                                   const struct mortise_expr *e,
                                   const struct mortise_node *node,
                                   const struct mortise_schema *s)
{
    unsigned types = s != NULL ? mortise_schema_get_types(s) : MORTISE_T_ANY;
    char what[160], takes[WORDS];
    struct mortise_err why;
    bool fits;
    json_t *v;

    if (e->cel == NULL || types == 0)
        return true;
    snprintf(what, sizeof what, "the output of '%s' must be %s", node->id,
             print_types(types, takes));
    if (!mortise_load_check_types(ld, e, types, what))
        return false;
    v = eval_constant_expr(ld, e);
    fits = v == NULL || mortise_schema_check(s, v, &why) != MORTISE_EINVAL;
    if (!fits)
        mortise_diag_add(
            ld->diags, "E0403", e->at->span,
            "the schema of the output of '%s' does not allow this value: %s",
            node->id, why.msg);
    json_decref(v);
    return fits;
}

static void check_arg_place(void *ud, const struct mortise_tmpl_place *p)
{
    struct mortise_loader *ld = ud;
    unsigned types =
        p->schema != NULL ? mortise_schema_get_types(p->schema) : MORTISE_T_ANY;
    char takes[WORDS];

    if (p->expr != NULL)
        mortise_load_check_fit(ld, p->expr, "this argument", p->schema);
    else if (types != 0 && (types & MORTISE_T_STRING) == 0)
        mortise_diag_add(ld->diags, "E0403", p->at->span,
                         "this argument must be %s, not string",
                         print_types(types, takes));
}

void mortise_load_check_args_fit(struct mortise_loader *ld,
                                 const struct mortise_tmpl *args,
                                 const struct mortise_schema *s)
{
    if (args != NULL && s != NULL)
        mortise_tmpl_for_each_place(args, s, check_arg_place, ld);
}

/* The types that the reducer can combine. */
static unsigned get_reducer_types(const struct mortise_reducer *r)
{
    switch (r->reduce) {
    case MORTISE_REDUCE_CONCAT:
        return r->max_items > 0 ? MORTISE_T_ARRAY
                                : MORTISE_T_ARRAY | MORTISE_T_STRING;
    case MORTISE_REDUCE_LONGEST:
        return MORTISE_T_ARRAY | MORTISE_T_STRING;
    case MORTISE_REDUCE_MERGE:
        return MORTISE_T_OBJECT;
    case MORTISE_REDUCE_SUM:
    case MORTISE_REDUCE_MIN:
    case MORTISE_REDUCE_MAX:
    case MORTISE_REDUCE_AVG:
        return MORTISE_T_INT | MORTISE_T_NUMBER;
    default:
        return MORTISE_T_ANY;
    }
}

void mortise_load_check_reducer_fit(struct mortise_loader *ld,
                                    const struct mortise_reducer *r)
{
    const struct mortise_schema *s = mortise_load_schema_at(ld, &r->path);
    unsigned types = s != NULL ? mortise_schema_get_types(s) : MORTISE_T_ANY;
    char is[WORDS], wants[WORDS];

    if (r->reduce == MORTISE_REDUCE_EXPR)
        mortise_load_check_fit(ld, &r->expr, r->path.text, s);
    if (types == 0 || types & get_reducer_types(r))
        return;
    mortise_diag_add(ld->diags, "E0212", r->span,
                     "%s combines %s, but the schema of %s allows only %s",
                     r->max_items > 0 ? "max_items" : "this reducer",
                     print_types(get_reducer_types(r), wants), r->path.text,
                     print_types(types, is));
}
