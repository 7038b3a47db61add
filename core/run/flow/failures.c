/* failures.c -- the error of a failed graph, which names every failure.
 *
 * A failure that no join or edge handled fails the graph (`failed_to_graph_end`).  If
 * several failures came to a join that could not start, only the least
 * continues.  The others failed the graph too, and are named with it; so are
 * the elements that failed a map.  The result depends only on the frames at the end, and
 * "least" on the position in the graph (mortise_exec_compare), not on the order
 * in which nodes started or failed.
 */
#include <stdlib.h>
#include <string.h>

#include "core/run/flow/flow.h"

enum { MAX_IN_MESSAGE = 8 }; /* more are only counted; `failed` lists all */

/* ---- finding the failures ------------------------------------------------ */

static bool is_unhandled_failure(const struct exec *x, const struct frame *top)
{
    return x->frame->top == top && x->state == X_FAILED && !x->handled;
}

/* Failures that met at one join or map: all of them are named, or none.  The
 * first visit finds out, the second marks. */
struct group {
    struct mortise_run *r;
    const struct frame *f;
    bool named, grew;
    bool marks;
};

static void visit_failure(struct group *g, uint32_t index)
{
    struct exec *x = g->r->execs[index];

    if (!is_unhandled_failure(x, g->f->top) ||
        !mortise_exec_is_counted_in(x, g->f))
        return;
    g->named |= mortise_view_is_reached(g->r, x);
    if (!g->marks || mortise_view_is_reached(g->r, x))
        return;
    mortise_view_set_reached(g->r, x);
    g->grew = true;
}

/* The elements that failed a map. */
static void visit_map_failures(struct group *g, const struct fan *fan)
{
    for (size_t i = 0; i < fan->n_started_elements; i++)
        if (fan->elements[i]->failed)
            visit_failure(g, fan->elements[i]->cause);
}

/* The failures that came to the join of `node`, which was skipped because of
 * them. */
static void visit_join_failures(struct group *g,
                                const struct mortise_node *node)
{
    for (uint32_t i = 0; i < node->n_in; i++) {
        uint32_t slot = mortise_frame_edge(g->f, node->in[i])->slot;
        const struct fan *fan =
            mortise_join_find_gathered_map(g->r, g->f, node->in[i]);

        if (fan != NULL)
            visit_map_failures(g, fan);
        else if (g->f->edges[slot] == EDGE_FAILED)
            visit_failure(g, g->f->edge_src[slot]);
    }
}

/* The failures that came to item `i` of the group's frame. */
static void visit_item_failures(struct group *g, size_t i)
{
    const struct mortise_region *in = g->f->region;
    const struct mortise_graph *graph = g->f->graph;
    const struct item *it = &g->f->items[i];
    const struct mortise_region *child =
        i < in->n_nodes ? NULL : &graph->regions[in->regions[i - in->n_nodes]];

    if (it->phase == ITEM_SKIPPED_FAILED)
        visit_join_failures(
            g, &graph->nodes[child == NULL ? in->nodes[i] : child->entry]);
    else if (it->phase == ITEM_FAILED && child != NULL &&
             child->kind == MORTISE_REGION_MAP)
        visit_map_failures(g, it->fan);
}

/* Were more failures marked? */
static bool mark_frame_groups(struct mortise_run *r, const struct frame *f)
{
    bool grew = false;

    for (size_t i = 0; i < mortise_frame_count_items(f->region); i++) {
        struct group g = {.r = r, .f = f};

        visit_item_failures(&g, i);
        g.marks = g.named;
        if (g.marks)
            visit_item_failures(&g, i);
        grew |= g.grew;
    }
    return grew;
}

/* Mark the executions that failed the graph of `top`. */
static void mark_named_failures(struct mortise_run *r, const struct frame *top)
{
    bool grew = true;

    mortise_view_begin_walk(r);
    for (size_t i = 1; i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if (is_unhandled_failure(x, top) && x->failed_to_graph_end)
            mortise_view_set_reached(r, x);
    }
    while (grew) {
        grew = false;
        for (size_t i = 0; i < r->n_frames; i++)
            if (r->frames[i]->top == top && !r->frames[i]->behind)
                grew |= mark_frame_groups(r, r->frames[i]);
    }
}

/* ---- the error ----------------------------------------------------------- */

/* The first failure's message, then the others', up to the limit. */
static json_t *make_failures_message(const struct mortise_run *r,
                                     const json_t *failed)
{
    size_t n = json_array_size(failed);
    struct mortise_buf b;
    json_t *out;

    mortise_buf_init(&b, r->mem);
    mortise_buf_puts(
        &b,
        mortise_json_get_text(
            json_object_get(json_array_get(failed, 0), "error"), "message"));
    for (size_t i = 1; i < n && i < MAX_IN_MESSAGE; i++) {
        const json_t *one = json_array_get(failed, i);

        mortise_buf_printf(
            &b, "; %s: %s", mortise_json_get_text(one, "path"),
            mortise_json_get_text(json_object_get(one, "error"), "message"));
    }
    if (n > MAX_IN_MESSAGE)
        mortise_buf_printf(&b, "; and %zu more failed", n - MAX_IN_MESSAGE);
    out = b.failed ? NULL : mortise_json_make_string(b.p, b.n);
    mortise_buf_finish(&b);
    return out;
}

static json_t *failure_json(const struct mortise_run *r, const struct exec *x)
{
    char path[MORTISE_EXEC_PATH];

    mortise_exec_print_path(r, x, path);
    return json_pack("{s:s, s:s, s:O}", "node", mortise_exec_node(r, x)->id,
                     "path", path, "error", x->error);
}

static int compare_execs(const void *a, const void *b)
{
    return mortise_exec_compare(*(struct exec *const *)a,
                                *(struct exec *const *)b);
}

/* The marked failures, the least first: [{node, path, error}]. */
static json_t *make_failures_list(const struct mortise_run *r,
                                  const struct frame *top)
{
    struct exec **who = mortise_alloc(r->mem, r->n_execs * sizeof who[0]);
    json_t *list = who != NULL ? json_array() : NULL;
    size_t n = 0;

    for (size_t i = 1; list != NULL && i < r->n_execs; i++)
        if (is_unhandled_failure(r->execs[i], top) &&
            mortise_view_is_reached(r, r->execs[i]))
            who[n++] = r->execs[i];
    if (n > 0)
        qsort(who, n, sizeof who[0], compare_execs);
    for (size_t i = 0; list != NULL && i < n; i++)
        if (json_array_append_new(list, failure_json(r, who[i])) != 0)
            mortise_json_clear_ref(&list);
    mortise_release(r->mem, who, r->n_execs * sizeof who[0]);
    return list;
}

/* The first failure's error as the error of the graph. */
static json_t *make_graph_error(const struct mortise_run *r, json_t *failed)
{
    const json_t *first = json_array_get(failed, 0);
    json_t *error = json_copy(json_object_get(first, "error"));

    if (error != NULL &&
        (json_object_set(error, "path", json_object_get(first, "path")) != 0 ||
         (json_array_size(failed) > 1 &&
          (json_object_set_new(error, "message",
                               make_failures_message(r, failed)) != 0 ||
           json_object_set(error, "failed", failed) != 0))))
        mortise_json_clear_ref(&error);
    return error;
}

json_t *mortise_failures_make_error(struct mortise_run *r,
                                    const struct frame *top)
{
    json_t *failed, *error;

    mark_named_failures(r, top);
    failed = make_failures_list(r, top);
    error = json_array_size(failed) > 0 ? make_graph_error(r, failed) : NULL;
    json_decref(failed);
    return error;
}
