/* scope.c -- what expressions see, and compiling them.
 *
 * The names stand in one array, in the order of enum mortise_scope_name, and
 * a place in the file sees the first so many of it:
 *
 *     edges from START      input .. run
 *     args, prompt, target, a router's expressions      .. node, in a map's
 * body index and items outputs, when and routes                          ..
 * output on_error.value                                    .. error
 *
 * so a run fills one array of values for all of them.  A name behind the end
 * is unknown to the compiler: `output` in args is an error at check time, not
 * a null in a run.
 */
#include "graph/loader.h"

/* {"type": "object", "properties": {...}, "additionalProperties": false}, with
 * the members of `properties`, whose reference is taken. */
static json_t *closed(json_t *properties)
{
    return json_pack("{s:s,s:o,s:b}", "type", "object", "properties",
                     properties, "additionalProperties", 0);
}

/* The schema as JSON, a new reference; `true` for none. */
static json_t *json_of(const struct mortise_schema *s)
{
    return s != NULL ? json_incref(mortise_json_unconst(mortise_schema_json(s)))
                     : json_true();
}

static struct mortise_schema *run_schema(struct mortise_loader *ld)
{
    return mortise_load_our_schema(
        ld, closed(json_pack("{s:{s:s},s:{s:s},s:{s:s},s:{s:s}}", "id", "type",
                             "string", "tenant", "type", "string", "graph",
                             "type", "string", "version", "type", "string")));
}

static struct mortise_schema *node_schema(struct mortise_loader *ld)
{
    return mortise_load_our_schema(
        ld, closed(json_pack("{s:{s:s},s:{s:s},s:{s:s},s:{s:s}}", "id", "type",
                             "string", "type", "type", "string", "visit",
                             "type", "integer", "attempt", "type", "integer")));
}

static struct mortise_schema *error_schema(struct mortise_loader *ld)
{
    return mortise_load_our_schema(
        ld, closed(json_pack("{s:{s:s},s:{s:s}}", "code", "type", "string",
                             "message", "type", "string")));
}

static struct mortise_schema *state_schema(struct mortise_loader *ld)
{
    return mortise_load_our_schema(
        ld, closed(json_pack("{s:o,s:o,s:o}", "input", json_of(ld->g->input),
                             "scratch", json_of(ld->g->scratch), "artifacts",
                             json_of(ld->g->artifacts))));
}

struct mortise_schema *
mortise_load_decision(struct mortise_loader *ld,
                      const struct mortise_schema *answer)
{
    return mortise_load_our_schema(
        ld,
        closed(json_pack("{s:{s:s},s:{s:s},s:{s:s},s:o}", "approved", "type",
                         "boolean", "reason", "type", "string", "decided_by",
                         "type", "string", "answer", json_of(answer))));
}

void mortise_load_scope(struct mortise_loader *ld)
{
    struct mortise_cel_name *names = ld->names;

    names[MORTISE_IN_INPUT] = (struct mortise_cel_name){"input", ld->g->input};
    names[MORTISE_IN_SCRATCH] =
        (struct mortise_cel_name){"scratch", ld->g->scratch};
    names[MORTISE_IN_ARTIFACTS] =
        (struct mortise_cel_name){"artifacts", ld->g->artifacts};
    names[MORTISE_IN_STATE] =
        (struct mortise_cel_name){"state", state_schema(ld)};
    names[MORTISE_IN_RUN] = (struct mortise_cel_name){"run", run_schema(ld)};
    names[MORTISE_IN_NODE] = (struct mortise_cel_name){"node", node_schema(ld)};
    for (int i = MORTISE_IN_INDEX; i < MORTISE_IN_OUTPUT; i++)
        names[i] = (struct mortise_cel_name){"", NULL}; /* nobody's name */
    names[MORTISE_IN_OUTPUT] = (struct mortise_cel_name){"output", NULL};
    names[MORTISE_IN_ERROR] =
        (struct mortise_cel_name){"error", error_schema(ld)};
}

/* ---- compiling ------------------------------------------------------- */

void mortise_load_expr(struct mortise_loader *ld, struct mortise_expr *out,
                       const struct mortise_yaml *v,
                       enum mortise_scope_name end)
{
    struct mortise_cel_scope scope = {ld->names, end};

    *out = (struct mortise_expr){.at = v};
    if (v->kind == MORTISE_YAML_SEQ || v->kind == MORTISE_YAML_MAP) {
        mortise_diag_add(ld->diags, "E0203", v->span,
                         "an expression is a string, and this is %s",
                         mortise_yaml_kind_name(v->kind));
        return;
    }
    if (mortise_expr_compile(out, ld->arena, v, &scope, ld->diags) ==
        MORTISE_ENOMEM)
        ld->nomem = true;
}

/* A condition that mentions no name always gives the same: look now. */
void mortise_load_test(struct mortise_loader *ld, struct mortise_expr *out,
                       const struct mortise_yaml *v,
                       enum mortise_scope_name end)
{
    const json_t *nothing[MORTISE_IN_N] = {NULL};
    struct mortise_cel_env env = {nothing, ld->g->expr_cost};
    struct mortise_err err;
    bool ignored;
    int rv;

    mortise_load_expr(ld, out, v, end);
    if (out->cel == NULL || mortise_cel_uses(out->cel) != 0)
        return;
    rv = mortise_cel_test(out->cel, &env, &ignored, NULL, &err);
    if (rv == MORTISE_ENOMEM)
        ld->nomem = true;
    else if (rv != MORTISE_OK)
        mortise_diag_add(ld->diags, "E0403", v->span,
                         "this is no condition: %s", err.msg);
}

struct mortise_tmpl *mortise_load_tmpl(struct mortise_loader *ld,
                                       const struct mortise_yaml *v)
{
    struct mortise_cel_scope scope = {ld->names, MORTISE_IN_OUTPUT};
    struct mortise_tmpl *t = NULL;

    if (mortise_tmpl_compile(&t, ld->arena, v, &scope, ld->diags) ==
        MORTISE_ENOMEM)
        ld->nomem = true;
    return t;
}
