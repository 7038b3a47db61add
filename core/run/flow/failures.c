/* failures.c -- what a graph failed of, every failure named.
 *
 * A failure that nothing took in its stride fails the graph (`surfaced`).
 * Where several came to a join that then could not start, they go on as one:
 * the least of them.  The others failed the graph just as well, and are named
 * with it; so are the elements that failed a map.  All of it follows from how
 * the frames stand at the end, and the least one is so by its place in the graph
 * (mortise_exec_compare), whatever the order in which things began or failed.
 */
#include <stdlib.h>
#include <string.h>

#include "core/run/flow/flow.h"

enum { IN_WORDS = 8 }; /* more are counted; `failed` has them all */

/* ---- who is named ------------------------------------------------------- */

static bool is_failure(const struct exec *x, const struct frame *top)
{
    return x->frame->top == top && x->state == X_FAILED && !x->handled;
}

/* Executions that go on as one: named is each of them, or none.  The first call
 * of each round looks, the second marks. */
struct group {
    struct mortise_run *r;
    const struct frame *f;
    bool named, grew;
    bool marks;
};

static void meet(struct group *g, uint32_t index)
{
    struct exec *x = g->r->execs[index];

    if (!is_failure(x, g->f->top) || !mortise_exec_counts_in(x, g->f))
        return;
    g->named |= mortise_view_was_met(g->r, x);
    if (!g->marks || mortise_view_was_met(g->r, x))
        return;
    mortise_view_meet(g->r, x);
    g->grew = true;
}

/* The elements that failed a map. */
static void meet_map(struct group *g, const struct fan *fan)
{
    for (size_t i = 0; i < fan->n_begun; i++)
        if (fan->elements[i]->failed)
            meet(g, fan->elements[i]->cause);
}

/* The failures that came to the join of `node`, which was skipped for them. */
static void meet_join(struct group *g, const struct mortise_node *node)
{
    for (uint32_t i = 0; i < node->n_in; i++) {
        uint32_t slot = mortise_frame_edge(g->f, node->in[i])->slot;
        const struct fan *fan = mortise_join_gathered(g->r, g->f, node->in[i]);

        if (fan != NULL)
            meet_map(g, fan);
        else if (g->f->edges[slot] == EDGE_FAILED)
            meet(g, g->f->edge_src[slot]);
    }
}

/* What came to item `i` of the group's frame. */
static void meet_item(struct group *g, size_t i)
{
    const struct mortise_region *in = g->f->region;
    const struct mortise_graph *graph = g->f->graph;
    const struct item *it = &g->f->items[i];
    const struct mortise_region *child =
        i < in->n_nodes ? NULL : &graph->regions[in->regions[i - in->n_nodes]];

    if (it->phase == ITEM_SKIPPED_FAILED)
        meet_join(g,
                  &graph->nodes[child == NULL ? in->nodes[i] : child->entry]);
    else if (it->phase == ITEM_FAILED && child != NULL &&
             child->kind == MORTISE_REGION_MAP)
        meet_map(g, it->fan);
}

/* Does somebody more have the mark now? */
static bool spread(struct mortise_run *r, const struct frame *f)
{
    bool grew = false;

    for (size_t i = 0; i < mortise_frame_n_items(f->region); i++) {
        struct group g = {.r = r, .f = f};

        meet_item(&g, i);
        g.marks = g.named;
        if (g.marks)
            meet_item(&g, i);
        grew |= g.grew;
    }
    return grew;
}

/* Whoever failed the graph of `top` has the newest mark. */
static void mark_named(struct mortise_run *r, const struct frame *top)
{
    bool grew = true;

    mortise_view_walk(r);
    for (size_t i = 1; i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if (is_failure(x, top) && x->surfaced)
            mortise_view_meet(r, x);
    }
    while (grew) {
        grew = false;
        for (size_t i = 0; i < r->n_frames; i++)
            if (r->frames[i]->top == top && !r->frames[i]->behind)
                grew |= spread(r, r->frames[i]);
    }
}

/* ---- saying it ---------------------------------------------------------- */

/* The first one's words, and the others', as far as they go. */
static json_t *words_of(const struct mortise_run *r, const json_t *failed)
{
    size_t n = json_array_size(failed);
    struct mortise_buf b;
    json_t *out;

    mortise_buf_init(&b, r->mem);
    mortise_buf_puts(
        &b,
        mortise_json_text_of(
            json_object_get(json_array_get(failed, 0), "error"), "message"));
    for (size_t i = 1; i < n && i < IN_WORDS; i++) {
        const json_t *one = json_array_get(failed, i);

        mortise_buf_printf(
            &b, "; %s: %s", mortise_json_text_of(one, "path"),
            mortise_json_text_of(json_object_get(one, "error"), "message"));
    }
    if (n > IN_WORDS)
        mortise_buf_printf(&b, "; and %zu more failed", n - IN_WORDS);
    out = b.failed ? NULL : mortise_json_strn(b.p, b.n);
    mortise_buf_finish(&b);
    return out;
}

static json_t *failure_json(const struct mortise_run *r, const struct exec *x)
{
    char path[MORTISE_EXEC_PATH];

    mortise_exec_path(r, x, path);
    return json_pack("{s:s, s:s, s:O}", "node", mortise_exec_node(r, x)->id,
                     "path", path, "error", x->error);
}

static int by_order(const void *a, const void *b)
{
    return mortise_exec_compare(*(struct exec *const *)a,
                                *(struct exec *const *)b);
}

/* Everybody who is named, the least first: [{node, path, error}]. */
static json_t *all_json(const struct mortise_run *r, const struct frame *top)
{
    struct exec **who = mortise_alloc(r->mem, r->n_execs * sizeof who[0]);
    json_t *list = who != NULL ? json_array() : NULL;
    size_t n = 0;

    for (size_t i = 1; list != NULL && i < r->n_execs; i++)
        if (is_failure(r->execs[i], top) &&
            mortise_view_was_met(r, r->execs[i]))
            who[n++] = r->execs[i];
    if (n > 0)
        qsort(who, n, sizeof who[0], by_order);
    for (size_t i = 0; list != NULL && i < n; i++)
        if (json_array_append_new(list, failure_json(r, who[i])) != 0)
            mortise_json_drop(&list);
    mortise_release(r->mem, who, r->n_execs * sizeof who[0]);
    return list;
}

/* The first one's error, told as the graph's. */
static json_t *tell(const struct mortise_run *r, json_t *failed)
{
    const json_t *first = json_array_get(failed, 0);
    json_t *error = json_copy(json_object_get(first, "error"));

    if (error != NULL &&
        (json_object_set(error, "path", json_object_get(first, "path")) != 0 ||
         (json_array_size(failed) > 1 &&
          (json_object_set_new(error, "message", words_of(r, failed)) != 0 ||
           json_object_set(error, "failed", failed) != 0))))
        mortise_json_drop(&error);
    return error;
}

json_t *mortise_failures_of(struct mortise_run *r, const struct frame *top)
{
    json_t *failed, *error;

    mark_named(r, top);
    failed = all_json(r, top);
    error = json_array_size(failed) > 0 ? tell(r, failed) : NULL;
    json_decref(failed);
    return error;
}
