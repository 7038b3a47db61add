/* gather.c -- the output of a finished map: {results, failed}, written and
 * judged like any other output.  map.c decides when, and its (3) defines the
 * result of an element.  Also ends the nodes of finished inner graphs; the
 * node's kind gives the output. */
#include <string.h>

#include "core/run/outcome/outcome.h"

/* A new reference. */
static json_t *get_output_or_null(const struct exec *x)
{
    return x->output != NULL ? json_incref(x->output) : json_null();
}

/* The first execution of f after `last` (NULL: of all) that took an edge to the
 * join, in declaration order of the nodes. */
static const struct exec *get_next_yield(const struct frame *f,
                                         const struct exec *last)
{
    const struct exec *next = NULL;

    for (const struct exec *x = f->yields; x != NULL; x = x->next_yield)
        if ((last == NULL || mortise_exec_compare(x, last) > 0) &&
            (next == NULL || mortise_exec_compare(x, next) < 0))
            next = x;
    return next;
}

/* (3): a new reference. */
static json_t *get_element_result(const struct mortise_run *r,
                                  const struct frame *f)
{
    json_t *all;

    if (f->yields == NULL)
        return json_null();
    if (f->yields->next_yield == NULL)
        return get_output_or_null(f->yields);
    all = json_object();
    for (const struct exec *x = get_next_yield(f, NULL);
         all != NULL && x != NULL; x = get_next_yield(f, x)) {
        if (json_object_set_new(all, mortise_exec_node(r, x)->id,
                                get_output_or_null(x)) != 0)
            mortise_json_clear_ref(&all);
    }
    return all;
}

/* Append one element to {results, failed}: 0, or -1 without memory. f is NULL
 * if the element never began. */
static int add_element_result(const struct mortise_run *r,
                              const struct frame *f, size_t i, bool lists,
                              json_t *results, json_t *failed)
{
    bool late = f == NULL || f->late, came = !late && !f->failed;

    if (!came && !lists)
        return 0;
    if (json_array_append_new(results,
                              came ? get_element_result(r, f) : json_null()))
        return -1;
    return came || late
               ? 0
               : json_array_append_new(
                     failed,
                     json_pack(
                         "{s:I, s:o}", "index", (json_int_t)i, "error",
                         mortise_env_make_error(r, r->execs[f->cause],
                                                r->execs[f->cause]->error)));
}

/* The write to artifacts.TO, like any other write. */
static int add_map_write(struct outcome *o, struct mortise_err *err)
{
    const struct mortise_graph *g = o->x->frame->graph;
    struct mortise_path *path = mortise_arena_alloc(&o->arena, sizeof *path);
    struct mortise_entry *e = &o->entry;
    struct mortise_buf text;
    int rv;

    e->writes = mortise_arena_alloc(&o->arena, sizeof *e->writes);
    mortise_buf_init(&text, o->r->mem);
    mortise_buf_printf(&text, "artifacts[\"%s\"]",
                       mortise_exec_node(o->r, o->x)->id);
    if (path == NULL || e->writes == NULL || text.failed)
        rv = mortise_nomem(err);
    else
        rv = mortise_path_parse(path, &o->arena, text.p, text.n, err);
    mortise_buf_finish(&text);
    if (rv != MORTISE_OK)
        return rv;
    rv = mortise_judge_add_write(g, e, MORTISE_WRITE_SPELLED, path, e->value,
                                 err);
    e->writes[0].text = path->text;
    e->writes[0].reduce = mortise_graph_get_reduce(g, path);
    /* Maps inside elements of a map gather concurrently: that is no
     * conflict. */
    if (e->writes[0].reduce == MORTISE_REDUCE_DEFAULT)
        e->writes[0].reduce = MORTISE_REDUCE_LAST;
    return rv;
}

/* The map failed, because its output breaks a schema, for example. */
static int record_gather_failure(const struct outcome *o,
                                 struct mortise_err *err)
{
    struct mortise_entry e =
        mortise_exec_make_entry(o->r, o->x, MORTISE_E_FAILED);

    mortise_writes_remove(o->r, o->x);
    return mortise_run_record_value(
        o->r, &e, mortise_fail_make_error(o->r, o->x, o->code, o->why.msg),
        err);
}

static int judge_gathered(struct mortise_run *r, struct exec *x, json_t *value,
                          struct mortise_err *err)
{
    struct outcome o;
    int rv;

    assert(x->fan != NULL);
    mortise_pipeline_init(&o, r, x, MORTISE_E_GATHER);
    o.entry.value = json_incref(value);
    rv = mortise_pipeline_judge(&o, STAGE_before, err);
    if (rv == MORTISE_OK)
        rv = add_map_write(&o, err);
    if (rv == MORTISE_OK)
        rv = mortise_pipeline_judge(&o, STAGE_depths, err);
    if (rv == MORTISE_OK)
        rv = mortise_pipeline_judge(&o, STAGE_fold, err);
    if (rv == MORTISE_OK)
        rv = mortise_run_record(r, &o.entry, err);
    else if (rv == MORTISE_EINVAL)
        rv = record_gather_failure(&o, err);
    mortise_pipeline_finish(&o);
    return rv;
}

static int gather_map(struct mortise_run *r, struct exec *x,
                      struct mortise_err *err)
{
    const struct fan *fan = x->fan;
    bool lists =
        mortise_join_lists_failures(&fan->home->graph->nodes[fan->map->join]);
    json_t *results = json_array(), *failed = json_array();
    json_t *value =
        json_pack("{s:o, s:o}", "results", results, "failed", failed);
    int rv = value != NULL ? MORTISE_OK : mortise_nomem(err);

    for (size_t i = 0; rv == MORTISE_OK && i < fan->n; i++) {
        const struct frame *f =
            i < fan->n_started_elements ? fan->elements[i] : NULL;

        if (add_element_result(r, f, i, lists, results, failed) != 0)
            rv = mortise_nomem(err);
    }
    if (rv == MORTISE_OK)
        rv = judge_gathered(r, x, value, err);
    json_decref(value);
    return rv;
}

int mortise_gather_maps(struct mortise_run *r, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    /* A map that ends may be the last part of an element of an outer map. */
    for (size_t i = 0; rv == MORTISE_OK && i < r->gathers.n; i++) {
        struct exec *x = r->execs[r->gathers.list[i]];

        if (x->state == X_READY && x->loss == LOSS_NONE && /* still */
            (!r->cancelling || mortise_exec_is_final(x)))
            rv = gather_map(r, x, err);
    }
    r->gathers.n = 0;
    return rv;
}

int mortise_gather_inner_graphs(struct mortise_run *r, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    /* A graph that ends may be the last part of the outer graph. */
    for (size_t i = 0; rv == MORTISE_OK && i < r->ended_inner_graphs.n; i++) {
        struct exec *x = r->execs[r->ended_inner_graphs.list[i]];

        if (x->state == X_INNER_GRAPH && x->loss == LOSS_NONE &&
            x->child->scope->over)
            rv = mortise_exec_kind(r, x)->inner_graph_ended(r, x, err);
    }
    r->ended_inner_graphs.n = 0;
    return rv;
}
