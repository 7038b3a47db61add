/* sub.c -- the graph inside a subgraph's execution: start, continue, end.
 * subgraph.c decides when, and lists the promises. */
#include <assert.h>
#include <string.h>

#include "core/run/flow/flow.h"

int mortise_apply_again(struct mortise_run *r, struct exec *x,
                        const struct mortise_entry *e, struct mortise_err *err)
{
    if (!x->child_again || x->child == NULL || x->state == X_INNER_GRAPH)
        return mortise_entry_corrupt(err, e);
    mortise_exec_set_attempt(x, e->attempt, e->started_ms);
    mortise_generation_continue(x, false, false);
    mortise_exec_set_state(r, x, X_INNER_GRAPH);
    return mortise_frame_retry_failures(r, x->child, err);
}

/* The prefix is the path of x, or a hash of a long path. */
const char *mortise_sub_make_prefix(struct mortise_run *r, const struct exec *x)
{
    char path[MORTISE_EXEC_PATH + 1];

    mortise_exec_print_path(r, x, path);
    if (strlen(path) > MORTISE_EXEC_PATH / 2) {
        uint8_t digest[MORTISE_DIGEST];
        struct mortise_hasher h;

        mortise_hasher_init(&h);
        mortise_hasher_add_str(&h, path);
        mortise_hasher_final(&h, digest);
        memcpy(path, "1.0/~", 5);
        mortise_hex_encode(path + 5, digest, 16);
    }
    strcat(path, "/");
    return mortise_arena_strdup(&r->arena, path);
}

int mortise_sub_start_graph(struct mortise_run *r, struct exec *x,
                            json_t *input, struct mortise_err *err)
{
    assert(mortise_exec_node(r, x)->sub != NULL);
    struct frame *before = x->child;
    const char *prefix = mortise_sub_make_prefix(r, x);
    struct frame *f =
        prefix != NULL
            ? mortise_frame_new_for_graph(r, mortise_exec_node(r, x)->sub,
                                          prefix, before, err)
            : NULL;

    if (f == NULL)
        return prefix != NULL ? MORTISE_ENOMEM : mortise_nomem(err);
    if (before != NULL) {
        mortise_frame_abandon(before);
        mortise_spawned_mark_left(r);
    }
    f->scope->owner = x;
    mortise_json_set_ref(&f->scope->input, input);
    x->child = f;
    x->child_over = false;
    mortise_generation_continue(x, false, false);
    mortise_exec_set_state(r, x, X_INNER_GRAPH);
    return MORTISE_OK;
}

int mortise_sub_handle_graph_end(struct mortise_run *r, struct frame *f,
                                 struct mortise_err *err)
{
    if (f->scope->owner == NULL || f->scope->over)
        return MORTISE_OK; /* run.c detects the end of the run */
    f->scope->over = true;
    return mortise_indexes_add(r->mem, &r->ended_inner_graphs,
                               f->scope->owner->index, err);
}

int mortise_sub_continue(struct mortise_run *r, struct exec *x,
                         struct mortise_err *err)
{
    mortise_exec_set_state(r, x, X_INNER_GRAPH);
    return x->child->scope->over
               ? mortise_indexes_add(r->mem, &r->ended_inner_graphs, x->index,
                                     err)
               : MORTISE_OK;
}

bool mortise_sub_has_failed(const struct frame *f)
{
    const struct scope *in = f->scope;

    return in->over && (f->failed || in->loop_error != NULL ||
                        in->halt == LOSS_TIME || in->halt == LOSS_BUDGET);
}

void mortise_sub_set_done(struct exec *x)
{
    assert(x->child != NULL);
    x->child_over = true;
}

void mortise_sub_set_state(struct exec *x, json_t *state)
{
    mortise_json_clear_ref(&x->child_state);
    x->child_state = state;
}

int mortise_sub_rebuild_state(struct mortise_run *r, struct exec *x,
                              json_t *artifacts, struct mortise_err *err)
{
    struct mortise_err why; /* judged before: only memory can fail */
    json_t *state = NULL, *copy = NULL;
    int rv = mortise_view_fold_all(r, x->child, false, &state, &why);

    if (rv == MORTISE_OK && (copy = json_copy(state)) != NULL)
        rv = json_object_set(copy, "artifacts", artifacts);
    json_decref(state);
    mortise_sub_set_state(x, copy);
    return rv == MORTISE_OK && copy != NULL ? rv : mortise_nomem(err);
}
