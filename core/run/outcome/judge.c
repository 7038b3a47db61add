/* judge.c -- does an output match the graph?  Stages of pipeline.c: they check
 * the output against its schemas, its writes against the reducers and the
 * schemas of the fields that they change, and the limits.
 *
 * The results are put into the entry.  Tentative writes are on the execution
 * until the pipeline undoes them.  MORTISE_EINVAL is a judgement, with a
 * message; MORTISE_ENOMEM is an error of the engine.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/unit.h"
#include "core/run/outcome/outcome.h"

int mortise_judge_map_result(int rv, struct mortise_err *err)
{
    if (rv == MORTISE_ENOMEM)
        return mortise_nomem(err);
    return rv == MORTISE_OK ? rv : MORTISE_EINVAL;
}

int mortise_judge_eval(struct mortise_run *r, struct exec *x,
                       const struct mortise_tmpl *tmpl, json_t **out,
                       struct mortise_err *why, struct mortise_err *err)
{
    return mortise_judge_eval_with_error(r, x, tmpl, NULL, out, why, err);
}

int mortise_judge_eval_with_error(struct mortise_run *r, struct exec *x,
                                  const struct mortise_tmpl *tmpl,
                                  const json_t *error, json_t **out,
                                  struct mortise_err *why,
                                  struct mortise_err *err)
{
    struct env env;
    int rv = mortise_env_init(&env, r, x, x->view, NULL, error,
                              mortise_tmpl_get_used_names(tmpl), err);

    if (rv != MORTISE_OK)
        return rv;
    rv = mortise_tmpl_eval(tmpl, &env.cel, out, why);
    mortise_env_finish(&env);
    return mortise_judge_map_result(rv, err);
}

int mortise_judge_set_type_error(const struct mortise_tmpl *t, const char *key,
                                 const char *takes, const json_t *v,
                                 struct mortise_err *why)
{
    struct mortise_span at = mortise_tmpl_get_span(t);
    char *text = mortise_json_to_text(&mortise_heap, v);

    if (text == NULL)
        return mortise_nomem(why);
    mortise_fail(why, MORTISE_EINVAL, "%s:%u:%u: '%s' must be %s, got %.80s",
                 mortise_source_file_name(at.file), at.line, at.col, key, takes,
                 text);
    mortise_release_str(&mortise_heap, text);
    return MORTISE_EINVAL;
}

int mortise_judge_fail_unlisted(struct mortise_span at, const char *key,
                                const char *list, const json_t *v,
                                struct mortise_err *why)
{
    char *text = mortise_json_to_text(&mortise_heap, v);

    if (text == NULL)
        return mortise_nomem(why);
    mortise_fail(why, MORTISE_EINVAL,
                 "%s:%u:%u: '%s' is %.80s, but its %s contains only",
                 mortise_source_file_name(at.file), at.line, at.col, key, text,
                 list);
    mortise_release_str(&mortise_heap, text);
    return MORTISE_EINVAL;
}

void mortise_judge_append_name(struct mortise_err *why, bool first,
                               const char *name)
{
    size_t at = strlen(why->msg);

    snprintf(why->msg + at, sizeof why->msg - at, "%s %s", first ? "" : ",",
             name);
}

int mortise_judge_eval_duration(struct mortise_run *r, struct exec *x,
                                const struct mortise_tmpl *t, const char *key,
                                uint64_t *ms, const char **code,
                                struct mortise_err *why,
                                struct mortise_err *err)
{
    json_t *v = NULL;
    int rv = mortise_judge_eval(r, x, t, &v, why, err);

    *code = "expression";
    if (rv != MORTISE_OK)
        return rv;
    if (!json_is_string(v) ||
        !mortise_duration_parse(json_string_value(v), json_string_length(v),
                                ms) ||
        *ms == 0) {
        *code = "type";
        rv = mortise_judge_map_result(
            mortise_judge_set_type_error(
                t, key, "a duration longer than 0, such as 30s", v, why),
            err);
    }
    json_decref(v);
    return rv;
}

static const struct mortise_schema *
get_root_schema(const struct mortise_graph *g, const struct mortise_path *path)
{
    const char *root = path->steps[0].key;

    if (strcmp(root, "scratch") == 0)
        return g->scratch;
    return strcmp(root, "artifacts") == 0 ? g->artifacts : NULL;
}

/* The declared schema of the value at a path; NULL: none. */
static const struct mortise_schema *
get_schema_at(const struct mortise_graph *g, const struct mortise_path *path)
{
    const struct mortise_schema *s = get_root_schema(g, path);

    for (size_t i = 1; s != NULL && i < path->n; i++)
        s = path->steps[i].key != NULL
                ? mortise_schema_get_member(s, path->steps[i].key)
                : mortise_schema_get_items(s);
    return s;
}

int mortise_judge_add_write(const struct mortise_graph *g,
                            struct mortise_entry *e, uint16_t ref,
                            const struct mortise_path *path, json_t *value,
                            struct mortise_err *err)
{
    struct mortise_entry_write *w = &e->writes[e->n_writes];

    w->ref = ref;
    w->value =
        mortise_schema_normalize(get_schema_at(g, path), value, g->expr_cost);
    if (w->value == NULL)
        return mortise_nomem(err);
    e->n_writes++;
    return MORTISE_OK;
}

/* The update that came with x's output; NULL: none. */
static const json_t *get_update(const struct outcome *o)
{
    return mortise_origin_get_member(o->x, (enum done_how)o->entry.how,
                                     "update");
}

/* Allocate the arrays of the entry, and copy the update's writes into them. */
static int alloc_entry_arrays(struct outcome *o, struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(o->r, o->x);
    struct mortise_entry *e = &o->entry;

    assert(e->edges == NULL && e->writes == NULL);
    e->edges = mortise_arena_alloc(&o->arena, n->n_out * sizeof e->edges[0]);
    e->writes = mortise_arena_alloc(
        &o->arena, (o->said.n + n->n_outputs + n->n_output_mapping + 3) *
                       sizeof e->writes[0]);
    if (e->edges == NULL || e->writes == NULL)
        return mortise_nomem(err);
    for (; e->n_writes < o->said.n; e->n_writes++) {
        e->writes[e->n_writes] = o->said.writes[e->n_writes];
        json_incref(e->writes[e->n_writes].value);
    }
    return MORTISE_OK;
}

int mortise_stage_said(struct outcome *o, struct mortise_err *err)
{
    const json_t *update = get_update(o);
    int rv = update != NULL
                 ? mortise_judge_map_result(
                       mortise_patch_parse(&o->said, update, &o->why), err)
                 : MORTISE_OK;

    return rv == MORTISE_OK ? alloc_entry_arrays(o, err) : rv;
}

/* `outputs`, evaluated over the state before and the output; or
 * `output_mapping`, over the state that the child ended with. */
static int add_mapped_writes(struct outcome *o,
                             const struct mortise_output *list, size_t n,
                             uint16_t ref, bool of_child,
                             struct mortise_err *err)
{
    uint32_t uses = 0;
    struct env env;
    int rv;

    if (n == 0)
        return MORTISE_OK;
    for (size_t i = 0; i < n; i++)
        uses |= mortise_expr_get_uses(&list[i].expr);
    rv = of_child ? mortise_env_init_child(&env, o->r, o->x, uses, err)
                  : mortise_env_init(&env, o->r, o->x, o->x->view,
                                     o->entry.value, NULL, uses, err);
    if (rv != MORTISE_OK)
        return rv;
    for (size_t i = 0; rv == MORTISE_OK && i < n; i++) {
        json_t *value = NULL;

        rv = mortise_judge_map_result(
            mortise_expr_eval(&list[i].expr, &env.cel, &value, &o->why), err);
        if (rv == MORTISE_OK)
            rv = mortise_judge_add_write(o->x->frame->graph, &o->entry,
                                         (uint16_t)(ref + i), &list[i].path,
                                         value, err);
        json_decref(value);
    }
    mortise_env_finish(&env);
    return rv;
}

/* Did the executor's update set that artifact? */
static bool has_set_artifact(const struct outcome *o, const char *name)
{
    const json_t *update = get_update(o);

    return json_object_get(json_object_get(update, "artifacts"), name) != NULL;
}

/* Append the new messages to the node's conversation. */
static int add_conversation_write(struct outcome *o, struct mortise_err *err)
{
    const struct mortise_path *to = mortise_exec_node(o->r, o->x)->conversation;
    json_t *said = mortise_origin_get_member(o->x, (enum done_how)o->entry.how,
                                             "conversation");
    struct mortise_entry_write *w = &o->entry.writes[o->entry.n_writes];
    int rv;

    if (to == NULL || said == NULL)
        return MORTISE_OK;
    said = mortise_talk_filter(o, said);
    rv = said == NULL
             ? mortise_nomem(err)
             : mortise_judge_add_write(o->x->frame->graph, &o->entry,
                                       MORTISE_WRITE_SPELLED, to, said, err);
    json_decref(said);
    if (rv != MORTISE_OK)
        return rv;
    w->text = to->text;
    w->reduce = MORTISE_REDUCE_CONCAT;
    return rv;
}

/* Add all writes of a success to the entry, after those of the update. */
int mortise_stage_writes(struct outcome *o, struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(o->r, o->x);
    struct mortise_entry *e = &o->entry;
    const struct mortise_graph *g = o->x->frame->graph;
    int rv = MORTISE_OK;

    assert(o->x->view != NULL && o->x->n_writes == 0);
    if (e->value == NULL)
        return MORTISE_OK;
    if (n->output_as != NULL && !has_set_artifact(o, n->output_as)) {
        const struct artifact *as = mortise_exec_artifact(o->r, o->x);

        rv = as != NULL ? mortise_judge_add_write(g, e, MORTISE_WRITE_AS,
                                                  as->path, e->value, err)
                        : mortise_nomem(err);
    }
    if (rv == MORTISE_OK && n->target_is_path &&
        n->on_violation == MORTISE_VIOLATION_SANITIZE &&
        mortise_path_get(o->x->view, &n->target_path) != e->value)
        rv = mortise_judge_add_write(g, e, MORTISE_WRITE_TARGET,
                                     &n->target_path, e->value, err);
    if (rv == MORTISE_OK)
        rv = add_mapped_writes(o, n->outputs, n->n_outputs,
                               MORTISE_WRITE_OUTPUT, false, err);
    if (rv == MORTISE_OK && o->x->child_state != NULL)
        rv = add_mapped_writes(o, n->output_mapping, n->n_output_mapping,
                               (uint16_t)(MORTISE_WRITE_OUTPUT + n->n_outputs),
                               true, err);
    return rv == MORTISE_OK ? add_conversation_write(o, err) : rv;
}

static int check_state_field(const struct mortise_graph *g,
                             const struct mortise_schema *s, const char *root,
                             const char *field, const json_t *value,
                             struct mortise_err *why)
{
    const struct mortise_schema *member = mortise_schema_get_member(s, field);
    int rv;

    if (member == NULL)
        return MORTISE_OK;
    if (mortise_schema_get_types(member) == 0)
        return mortise_fail(why, MORTISE_EINVAL,
                            "%s.%s is not declared in state.%s", root, field,
                            root);
    rv = mortise_schema_check_with_limit(member, value, g->expr_cost, why);
    return rv != MORTISE_OK ? mortise_err_prefix(why, rv, "%s.%s", root, field)
                            : rv;
}

static int check_state_root(const struct mortise_graph *g,
                            const struct mortise_schema *s, const char *root,
                            const json_t *whole, struct mortise_err *why)
{
    const char *field;
    json_t *value;
    int rv = MORTISE_OK;

    if (!json_is_object(whole))
        return mortise_fail(why, MORTISE_EINVAL, "%s must be an object", root);
    json_object_foreach(mortise_json_unconst(whole), field, value)
    {
        if (rv == MORTISE_OK && s != NULL)
            rv = check_state_field(g, s, root, field, value, why);
    }
    return rv;
}

int mortise_judge_check_fields(const struct mortise_graph *g,
                               const json_t *after,
                               const struct mortise_path *path,
                               struct mortise_err *why)
{
    const char *root = path->steps[0].key, *field;
    const struct mortise_schema *s = get_root_schema(g, path);
    const json_t *whole;

    if (s == NULL && path->n > 1)
        return MORTISE_OK; /* undeclared: the field can have any value */
    whole = json_object_get(after, root);
    if (path->n == 1)
        return check_state_root(g, s, root, whole, why);
    field = path->steps[1].key; /* a root is an object, so this is no index */
    return check_state_field(g, s, root, field, json_object_get(whole, field),
                             why);
}

/* Is the state after x needed now: for a schema of a field that x wrote, the
 * size limit, a condition, or a list? */
static bool must_compute_state(const struct exec *x,
                               const struct mortise_node *n)
{
    const struct mortise_graph *g = x->frame->graph;
    uint32_t uses;

    for (size_t i = 0; i < x->n_writes; i++) {
        if (!x->writes[i].own &&
            (x->writes[i].path->n == 1 ||
             get_root_schema(g, x->writes[i].path) != NULL))
            return true;
    }
    for (uint32_t i = 0; i < n->n_out; i++) {
        if (mortise_route_needs_value(&g->edges[n->out[i]]))
            return true;
    }
    return !mortise_size_is_small(x) ||
           mortise_route_has_conditions(g, n, &uses);
}

/* Put the entry's writes on x and compute x->after, unless that can wait. */
int mortise_stage_fold(struct outcome *o, struct mortise_err *err)
{
    const struct mortise_graph *g = o->x->frame->graph;
    struct exec *x = o->x;
    int rv = mortise_writes_set(o->r, x, &o->entry, err);

    assert(x->view != NULL && x->after == NULL);
    if (rv != MORTISE_OK ||
        (mortise_view_can_defer(x) &&
         !must_compute_state(x, mortise_exec_node(o->r, x))))
        return rv;
    rv = mortise_view_make_after(o->r, x, &o->why);
    for (size_t i = 0; rv == MORTISE_OK && i < x->n_writes; i++) {
        o->code = "schema";
        /* The schemas describe the run's values, not an element's own. */
        if (!x->writes[i].own)
            rv = mortise_judge_check_fields(g, x->after, x->writes[i].path,
                                            &o->why);
    }
    if (rv == MORTISE_OK) {
        o->code = "limit";
        rv = mortise_size_check(o->r, x, &o->why);
    }
    return mortise_judge_map_result(rv, err);
}

int mortise_judge_check_output(const struct mortise_graph *g,
                               const struct mortise_node *n,
                               const json_t *output, struct mortise_err *why)
{
    uint64_t limit = g->expr_cost;
    int rv = MORTISE_OK;

    if (output == NULL)
        return MORTISE_OK; /* a router gives none */
    if (n->op != NULL)
        rv = mortise_schema_check_with_limit(n->op->output, output, limit, why);
    if (rv == MORTISE_OK)
        rv = mortise_schema_check_with_limit(n->output_schema, output, limit,
                                             why);
    return rv != MORTISE_OK
               ? mortise_err_prefix(why, rv, "output of '%s'", n->id)
               : rv;
}

/* The output is null because a `goto` names the next node. */
static bool is_replaced_by_goto(const struct outcome *o, const json_t *given)
{
    return json_is_null(given) &&
           mortise_origin_get_member(o->x, (enum done_how)o->entry.how,
                                     "goto") != NULL;
}

/* Check the output and normalize it by its schemas. */
int mortise_stage_fits(struct outcome *o, struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(o->r, o->x);
    const struct mortise_schema *const schemas[] = {
        n->op != NULL ? n->op->output : NULL, n->output_schema};
    json_t *given = o->entry.value;
    int rv;

    if (!o->from->fits || given == NULL || is_replaced_by_goto(o, given) ||
        (schemas[0] == NULL && schemas[1] == NULL))
        return MORTISE_OK;
    rv = mortise_judge_check_output(o->x->frame->graph, n, given, &o->why);
    if (rv == MORTISE_EINVAL && mortise_exec_is_held(o->r, o->x))
        mortise_fail(&o->why, rv,
                     "the output of '%s' does not match its schema; it is not "
                     "shown, because no guardrail has checked it",
                     n->id);
    rv = mortise_judge_map_result(rv, err);
    for (size_t i = 0; rv == MORTISE_OK && i < 2; i++) {
        given = o->entry.value;
        o->entry.value = mortise_schema_normalize(
            schemas[i], given, o->x->frame->graph->expr_cost);
        rv = o->entry.value != NULL ? MORTISE_OK : mortise_nomem(err);
        json_decref(given);
    }
    return rv;
}

/* Compute the state before x's writes; a reducer can fail. */
int mortise_stage_before(struct outcome *o, struct mortise_err *err)
{
    int rv = mortise_view_make_before(o->r, o->x, &o->why);

    if (rv == MORTISE_ECONFLICT)
        o->code = "conflict";
    return mortise_judge_map_result(rv, err);
}

/* Reject values that are nested too deeply to be stored. */
int mortise_stage_depths(struct outcome *o, struct mortise_err *err)
{
    const struct mortise_entry *e = &o->entry;
    int rv = mortise_fold_check_depth(e->value, &o->why);

    (void)err;
    for (size_t i = 0; rv == MORTISE_OK && i < e->n_writes; i++) {
        if (e->writes[i].value != e->value)
            rv = mortise_fold_check_depth(e->writes[i].value, &o->why);
    }
    return rv == MORTISE_OK ? rv : MORTISE_EINVAL;
}
