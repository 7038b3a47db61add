/* writes.c -- the writes of an execution: set from an entry, and undone.
 *
 * A write to the artifacts in the body of a map belongs to its element.  Later
 * executions of the same element see it, and so do elements of a map nested in
 * it; nothing else does.  It hides the value of the run at that path, which
 * stays unchanged.  A path with a declared reducer belongs to the run, in a
 * body as everywhere else, so the two kinds of writes never touch the same
 * path.  (Only an update may write both; it changes the run's state, and hides
 * nothing of an element's: state_view.c.)
 */
#include <assert.h>
#include <string.h>

#include "core/run/state/state.h"

static int decode_write(struct mortise_run *r, struct exec *x,
                        const struct mortise_entry_write *from,
                        struct mortise_write *to, struct mortise_err *err)
{
    const struct mortise_node *n =
        x->node == NODE_UPDATE ? NULL : mortise_exec_node(r, x);
    struct mortise_path *path;
    int rv;

    assert(from->value != NULL); /* the codec rejects writes without a value */
    if (from->ref == MORTISE_WRITE_SPELLED) {
        path = mortise_arena_alloc(&r->arena, sizeof *path);
        if (path == NULL)
            return mortise_nomem(err);
        to->path = path;
        to->reduce = from->reduce;
        rv = mortise_path_parse(path, &r->arena, from->text, strlen(from->text),
                                err);
        if (rv == MORTISE_OK && to->reduce > MORTISE_REDUCE_LAST)
            to->how = mortise_graph_reducer(x->frame->graph, path);
        if (rv == MORTISE_OK && to->reduce == MORTISE_REDUCE_EXPR &&
            (to->how == NULL || to->how->reduce != MORTISE_REDUCE_EXPR))
            rv = mortise_fail(err, MORTISE_EINVAL,
                              "state.reducers has no expression for %s",
                              path->text);
        return rv == MORTISE_EINVAL
                   ? mortise_err_prefix(err, MORTISE_ECORRUPT, "a write")
                   : rv;
    }
    if (n != NULL && from->ref == MORTISE_WRITE_AS && n->output_as != NULL) {
        const struct artifact *as = mortise_exec_artifact(r, x);

        if (as == NULL)
            return mortise_nomem(err);
        to->path = as->path;
        to->how = as->how;
        to->reduce = to->how != NULL ? to->how->reduce : MORTISE_REDUCE_DEFAULT;
        return MORTISE_OK;
    }
    if (n != NULL && from->ref == MORTISE_WRITE_TARGET && n->target_is_path)
        to->path = &n->target_path;
    else if (n != NULL && from->ref >= MORTISE_WRITE_OUTPUT &&
             from->ref - MORTISE_WRITE_OUTPUT < (int)n->n_outputs)
        to->path = &n->outputs[from->ref - MORTISE_WRITE_OUTPUT].path;
    else if (n != NULL && from->ref >= MORTISE_WRITE_OUTPUT &&
             from->ref - MORTISE_WRITE_OUTPUT <
                 (int)(n->n_outputs + n->n_output_mapping))
        to->path = &n->output_mapping[from->ref - MORTISE_WRITE_OUTPUT -
                                      (int)n->n_outputs]
                        .path;
    else
        return mortise_fail(err, MORTISE_ECORRUPT,
                            "a write contains no path of its node");
    to->how = mortise_graph_reducer(x->frame->graph, to->path);
    to->reduce = to->how != NULL ? to->how->reduce : MORTISE_REDUCE_DEFAULT;
    if (to->how != NULL && from->ref == MORTISE_WRITE_TARGET) {
        to->reduce = MORTISE_REDUCE_LAST; /* a guardrail replaces its target */
        to->how = NULL;
    }
    return MORTISE_OK;
}

/* Does the write of x to this path belong to its map element? */
static bool belongs_to_element(const struct exec *x,
                               const struct mortise_path *path)
{
    return x->frame->scope->fan != NULL &&
           mortise_graph_is_element_path(x->frame->graph, path);
}

/* A live decision may have set them already. */
int mortise_writes_set(struct mortise_run *r, struct exec *x,
                       const struct mortise_entry *e, struct mortise_err *err)
{
    if (x->n_writes != 0 || e->n_writes == 0)
        return MORTISE_OK;
    x->writes =
        mortise_arena_alloc(&r->arena, e->n_writes * sizeof x->writes[0]);
    if (x->writes == NULL)
        return mortise_nomem(err);
    for (size_t i = 0; i < e->n_writes; i++) {
        int rv = decode_write(r, x, &e->writes[i], &x->writes[i], err);

        assert(x->n_writes == i);
        if (rv != MORTISE_OK)
            return rv;
        x->writes[i].value = json_incref(e->writes[i].value);
        x->writes[i].own = belongs_to_element(x, x->writes[i].path);
        x->n_writes++;
        mortise_size_add_write(r, x, &x->writes[i]);
    }
    return MORTISE_OK;
}

void mortise_writes_remove(struct mortise_run *r, struct exec *x)
{
    mortise_size_subtract_writes(r, x);
    for (size_t i = 0; i < x->n_writes; i++)
        json_decref(x->writes[i].value);
    x->n_writes = 0;
    mortise_view_drop_after(x);
}
