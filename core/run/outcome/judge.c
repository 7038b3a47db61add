/* judge.c -- is an output what the graph said it would be?  Stages of
 * pipeline.c: the output against its schemas, its writes against the reducers
 * and the schemas of the fields they change, and the limits.
 *
 * What was found stands in the entry; what was tried is on the execution until
 * the pipeline takes it back.  MORTISE_EINVAL is a judgement, with words;
 * MORTISE_ENOMEM is none.
 */
#include <stdio.h>
#include <string.h>

#include "core/run/outcome/outcome.h"

int mortise_judge_verdict(int rv, struct mortise_err *err)
{
    if (rv == MORTISE_ENOMEM)
        return mortise_nomem(err);
    return rv == MORTISE_OK ? rv : MORTISE_EINVAL;
}

int mortise_judge_text(struct mortise_run *r, struct exec *x,
                       const struct mortise_tmpl *tmpl, json_t **out,
                       struct mortise_err *why, struct mortise_err *err)
{
    return mortise_judge_text_of(r, x, tmpl, NULL, out, why, err);
}

int mortise_judge_text_of(struct mortise_run *r, struct exec *x,
                          const struct mortise_tmpl *tmpl, const json_t *error,
                          json_t **out, struct mortise_err *why,
                          struct mortise_err *err)
{
    struct env env;
    int rv = mortise_env_init(&env, r, x, x->view, NULL, error,
                              mortise_tmpl_uses(tmpl), err);

    if (rv != MORTISE_OK)
        return rv;
    rv = mortise_tmpl_eval(tmpl, &env.cel, out, why);
    mortise_env_finish(&env);
    return mortise_judge_verdict(rv, err);
}

int mortise_judge_unfit(const struct mortise_tmpl *t, const char *key,
                        const char *takes, const json_t *v,
                        struct mortise_err *why)
{
    const struct mortise_yaml *at = mortise_tmpl_yaml(t);
    char *text = mortise_json_text(&mortise_heap, v);

    if (text == NULL)
        return mortise_nomem(why);
    mortise_fail(why, MORTISE_EINVAL, "%s:%u:%u: '%s' must be %s, got %.80s",
                 mortise_yaml_called(at->span.file), at->span.line,
                 at->span.col, key, takes, text);
    mortise_release_str(&mortise_heap, text);
    return MORTISE_EINVAL;
}

int mortise_judge_unlisted(struct mortise_span at, const char *key,
                           const char *list, const json_t *v,
                           struct mortise_err *why)
{
    char *text = mortise_json_text(&mortise_heap, v);

    if (text == NULL)
        return mortise_nomem(why);
    mortise_fail(why, MORTISE_EINVAL,
                 "%s:%u:%u: '%s' is %.80s, but its %s contains only",
                 mortise_yaml_called(at.file), at.line, at.col, key, text,
                 list);
    mortise_release_str(&mortise_heap, text);
    return MORTISE_EINVAL;
}

void mortise_judge_name(struct mortise_err *why, bool first, const char *name)
{
    size_t at = strlen(why->msg);

    snprintf(why->msg + at, sizeof why->msg - at, "%s %s", first ? "" : ",",
             name);
}

int mortise_judge_duration(struct mortise_run *r, struct exec *x,
                           const struct mortise_tmpl *t, const char *key,
                           uint64_t *ms, const char **code,
                           struct mortise_err *why, struct mortise_err *err)
{
    struct mortise_yaml text = {.kind = MORTISE_YAML_STRING};
    json_t *v = NULL;
    int rv = mortise_judge_text(r, x, t, &v, why, err);

    *code = "expression";
    if (rv != MORTISE_OK)
        return rv;
    text.str = json_string_value(v);
    text.len = json_string_length(v);
    if (text.str == NULL || mortise_yaml_duration(&text, ms) != 0 || *ms == 0) {
        *code = "type";
        rv = mortise_judge_verdict(
            mortise_judge_unfit(t, key, "a duration longer than 0, such as 30s",
                                v, why),
            err);
    }
    json_decref(v);
    return rv;
}

static const struct mortise_schema *
schema_of_root(const struct mortise_graph *g, const struct mortise_path *path)
{
    const char *root = path->steps[0].key;

    if (strcmp(root, "scratch") == 0)
        return g->scratch;
    return strcmp(root, "artifacts") == 0 ? g->artifacts : NULL;
}

/* What the declared schemas say of the value at a path; NULL: nothing. */
static const struct mortise_schema *schema_at(const struct mortise_graph *g,
                                              const struct mortise_path *path)
{
    const struct mortise_schema *s = schema_of_root(g, path);

    for (size_t i = 1; s != NULL && i < path->n; i++)
        s = path->steps[i].key != NULL
                ? mortise_schema_member(s, path->steps[i].key)
                : mortise_schema_items(s);
    return s;
}

int mortise_judge_add_write(const struct mortise_graph *g,
                            struct mortise_entry *e, uint16_t ref,
                            const struct mortise_path *path, json_t *value,
                            struct mortise_err *err)
{
    struct mortise_entry_write *w = &e->writes[e->n_writes];

    w->ref = ref;
    w->value = mortise_schema_normal(schema_at(g, path), value, g->expr_cost);
    if (w->value == NULL)
        return mortise_nomem(err);
    e->n_writes++;
    return MORTISE_OK;
}

/* What x wants written besides its output; NULL: nothing. */
static const json_t *said_of(const struct outcome *o)
{
    return mortise_origin_said(o->x, (enum done_how)o->entry.how, "update");
}

/* Room for the arrays of the entry; the update's writes stand in it already. */
static int make_room(struct outcome *o, struct mortise_err *err)
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
    const json_t *update = said_of(o);
    int rv = update != NULL
                 ? mortise_judge_verdict(
                       mortise_patch_make(&o->said, update, &o->why), err)
                 : MORTISE_OK;

    return rv == MORTISE_OK ? make_room(o, err) : rv;
}

/* `outputs`, over the state before and the output; or `output_mapping`, over
 * what the child ended with. */
static int add_each(struct outcome *o, const struct mortise_output *list,
                    size_t n, uint16_t ref, bool of_child,
                    struct mortise_err *err)
{
    uint32_t uses = 0;
    struct env env;
    int rv;

    if (n == 0)
        return MORTISE_OK;
    for (size_t i = 0; i < n; i++)
        uses |= mortise_cel_uses(list[i].expr.cel);
    rv = of_child ? mortise_env_init_child(&env, o->r, o->x, uses, err)
                  : mortise_env_init(&env, o->r, o->x, o->x->view,
                                     o->entry.value, NULL, uses, err);
    if (rv != MORTISE_OK)
        return rv;
    for (size_t i = 0; rv == MORTISE_OK && i < n; i++) {
        json_t *value = NULL;

        rv = mortise_judge_verdict(
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

/* Has the executor set that artifact itself? */
static bool sets_artifact(const struct outcome *o, const char *name)
{
    const json_t *update = said_of(o);

    return json_object_get(json_object_get(update, "artifacts"), name) != NULL;
}

/* What was said in its conversation comes behind what is there. */
static int add_conversation(struct outcome *o, struct mortise_err *err)
{
    const struct mortise_path *to = mortise_exec_node(o->r, o->x)->conversation;
    json_t *said =
        mortise_origin_said(o->x, (enum done_how)o->entry.how, "conversation");
    struct mortise_entry_write *w = &o->entry.writes[o->entry.n_writes];
    int rv;

    if (to == NULL || said == NULL)
        return MORTISE_OK;
    said = mortise_talk_of(o, said);
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

/* All writes of a success, into the entry, behind what was said. */
int mortise_stage_writes(struct outcome *o, struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(o->r, o->x);
    struct mortise_entry *e = &o->entry;
    const struct mortise_graph *g = o->x->frame->graph;
    int rv = MORTISE_OK;

    assert(o->x->view != NULL && o->x->n_writes == 0);
    if (e->value == NULL)
        return MORTISE_OK;
    if (n->output_as != NULL && !sets_artifact(o, n->output_as)) {
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
        rv = add_each(o, n->outputs, n->n_outputs, MORTISE_WRITE_OUTPUT, false,
                      err);
    if (rv == MORTISE_OK && o->x->child_state != NULL)
        rv = add_each(o, n->output_mapping, n->n_output_mapping,
                      (uint16_t)(MORTISE_WRITE_OUTPUT + n->n_outputs), true,
                      err);
    return rv == MORTISE_OK ? add_conversation(o, err) : rv;
}

static int check_field(const struct mortise_graph *g,
                       const struct mortise_schema *s, const char *root,
                       const char *field, const json_t *value,
                       struct mortise_err *why)
{
    const struct mortise_schema *member = mortise_schema_member(s, field);
    int rv;

    if (member == NULL)
        return MORTISE_OK;
    if (mortise_schema_types(member) == 0)
        return mortise_fail(why, MORTISE_EINVAL,
                            "%s.%s is not declared in state.%s", root, field,
                            root);
    rv = mortise_schema_check_within(member, value, g->expr_cost, why);
    return rv != MORTISE_OK ? mortise_doing(why, rv, "%s.%s", root, field) : rv;
}

static int check_fields(const struct mortise_graph *g,
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
            rv = check_field(g, s, root, field, value, why);
    }
    return rv;
}

int mortise_judge_field_of(const struct mortise_graph *g, const json_t *after,
                           const struct mortise_path *path,
                           struct mortise_err *why)
{
    const char *root = path->steps[0].key, *field;
    const struct mortise_schema *s = schema_of_root(g, path);
    const json_t *whole;

    if (s == NULL && path->n > 1)
        return MORTISE_OK; /* a field may be anything there */
    whole = json_object_get(after, root);
    if (path->n == 1)
        return check_fields(g, s, root, whole, why);
    field = path->steps[1].key; /* a root is an object: no index */
    return check_field(g, s, root, field, json_object_get(whole, field), why);
}

/* Does anything look at the state after x now: a schema of what it wrote, the
 * limit, a condition, a list? */
static bool is_looked_at(const struct exec *x, const struct mortise_node *n)
{
    const struct mortise_graph *g = x->frame->graph;
    uint32_t uses;

    for (size_t i = 0; i < x->n_writes; i++) {
        if (!x->writes[i].own && (x->writes[i].path->n == 1 ||
                                  schema_of_root(g, x->writes[i].path) != NULL))
            return true;
    }
    for (uint32_t i = 0; i < n->n_out; i++) {
        if (mortise_route_stands_on(&g->edges[n->out[i]]))
            return true;
    }
    return !mortise_size_is_small(x) || mortise_route_uses(g, n, &uses);
}

/* The entry's writes are the execution's, and its state is x->after, unless
 * that may wait. */
int mortise_stage_fold(struct outcome *o, struct mortise_err *err)
{
    const struct mortise_graph *g = o->x->frame->graph;
    struct exec *x = o->x;
    int rv = mortise_writes_put(o->r, x, &o->entry, err);

    assert(x->view != NULL && x->after == NULL);
    if (rv != MORTISE_OK || (mortise_view_may_wait(x) &&
                             !is_looked_at(x, mortise_exec_node(o->r, x))))
        return rv;
    rv = mortise_view_after(o->r, x, &o->why);
    for (size_t i = 0; rv == MORTISE_OK && i < x->n_writes; i++) {
        o->code = "schema";
        if (!x->writes[i].own) /* those of the state are about the run's */
            rv =
                mortise_judge_field_of(g, x->after, x->writes[i].path, &o->why);
    }
    if (rv == MORTISE_OK) {
        o->code = "limit";
        rv = mortise_size_check(o->r, x, &o->why);
    }
    return mortise_judge_verdict(rv, err);
}

int mortise_judge_output(const struct mortise_graph *g,
                         const struct mortise_node *n, const json_t *output,
                         struct mortise_err *why)
{
    uint64_t limit = g->expr_cost;
    int rv = MORTISE_OK;

    if (output == NULL)
        return MORTISE_OK; /* a router */
    if (n->op != NULL)
        rv = mortise_schema_check_within(n->op->output, output, limit, why);
    if (rv == MORTISE_OK)
        rv = mortise_schema_check_within(n->output_schema, output, limit, why);
    return rv != MORTISE_OK ? mortise_doing(why, rv, "output of '%s'", n->id)
                            : rv;
}

/* It gave nothing, and said who goes on. */
static bool is_left_for_another(const struct outcome *o, const json_t *given)
{
    return json_is_null(given) &&
           mortise_origin_said(o->x, (enum done_how)o->entry.how, "goto") !=
               NULL;
}

/* Behind this the output is as its schemas type it. */
int mortise_stage_fits(struct outcome *o, struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(o->r, o->x);
    const struct mortise_schema *const schemas[] = {
        n->op != NULL ? n->op->output : NULL, n->output_schema};
    json_t *given = o->entry.value;
    int rv;

    if (!o->from->fits || given == NULL || is_left_for_another(o, given) ||
        (schemas[0] == NULL && schemas[1] == NULL))
        return MORTISE_OK;
    rv = mortise_judge_output(o->x->frame->graph, n, given, &o->why);
    if (rv == MORTISE_EINVAL && mortise_exec_is_held(o->r, o->x))
        mortise_fail(&o->why, rv,
                     "the output of '%s' does not match its schema; it is not "
                     "shown, because no guardrail has checked it",
                     n->id);
    rv = mortise_judge_verdict(rv, err);
    for (size_t i = 0; rv == MORTISE_OK && i < 2; i++) {
        given = o->entry.value;
        o->entry.value = mortise_schema_normal(schemas[i], given,
                                               o->x->frame->graph->expr_cost);
        rv = o->entry.value != NULL ? MORTISE_OK : mortise_nomem(err);
        json_decref(given);
    }
    return rv;
}

/* The state that it is written to: there, but for a reducer that fails. */
int mortise_stage_before(struct outcome *o, struct mortise_err *err)
{
    int rv = mortise_view_before(o->r, o->x, &o->why);

    if (rv == MORTISE_ECONFLICT)
        o->code = "conflict";
    return mortise_judge_verdict(rv, err);
}

/* No value may be too deep to be kept. */
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
