/* repeat.c -- an edge that is written twice counts once.
 *
 * `next` of one node and `depends_on` of another can define the same edge, and
 * so can `edges`.  Kept as two edges, it would count twice for a quorum, and
 * its failure would be collected twice.  So equal static edges are merged
 * before the list is used: the first one remains, or the one with guardrails.
 * A warning names the places of the others.  Linear in the number of edges.
 */
#include "lang/graph/load/loader.h"

struct repeats {
    struct mortise_loader *ld;
    uint32_t *first, *next; /* by source and by edge: 1 + an edge from that
                             * source; 0: none */
    uint32_t *seen;         /* by target: 1 + the first edge to it */
    bool *again;            /* by edge: it repeats another */
};

/* START and END share the slot after the nodes. */
static uint32_t get_node_slot(const struct repeats *w, uint32_t end)
{
    return end == MORTISE_START || end == MORTISE_END ? w->ld->g->n_nodes : end;
}

/* Insert from the last edge to the first, so that each list is in order. */
static void group_edges_by_source(struct repeats *w)
{
    for (size_t i = w->ld->n_edges; i-- > 0;) {
        uint32_t from = get_node_slot(w, w->ld->edges[i].edge.from);

        w->next[i] = w->first[from];
        w->first[from] = (uint32_t)i + 1;
    }
}

static void mark_repeated_edge(struct repeats *w, uint32_t i)
{
    struct mortise_edge_draft *draft = &w->ld->edges[i], *first;
    uint32_t *seen = &w->seen[get_node_slot(w, draft->edge.to)];

    if (draft->edge.kind != MORTISE_EDGE_STATIC || draft->map != NULL)
        return;
    first = *seen > 0 ? &w->ld->edges[*seen - 1] : NULL;
    if (first == NULL || first->edge.from != draft->edge.from) {
        *seen = i + 1;
        return;
    }
    mortise_diag_add(w->ld->diags, "W0803", draft->edge.span,
                     "this edge appears twice (first at %u:%u)",
                     first->edge.span.line, first->edge.span.col);
    if (draft->policy != NULL && first->policy != NULL)
        mortise_diag_add(w->ld->diags, "E0307", draft->edge.span,
                         "the guardrails of this edge are already set at %u:%u",
                         first->edge.span.line, first->edge.span.col);
    draft->depends_on = first->depends_on |= draft->depends_on;
    w->again[draft->policy != NULL ? *seen - 1 : i] = true;
    if (draft->policy != NULL)
        *seen = i + 1;
}

static void drop_repeated_edges(struct repeats *w)
{
    size_t n = 0;

    for (size_t i = 0; i < w->ld->n_edges; i++)
        if (!w->again[i])
            w->ld->edges[n++] = w->ld->edges[i];
    w->ld->n_edges = n;
}

void mortise_load_merge_edges(struct mortise_loader *ld)
{
    size_t n_places = (size_t)ld->g->n_nodes + 1;
    struct repeats w = {.ld = ld};
    struct mortise_arena a;

    mortise_arena_init(&a, ld->mem);
    w.first = mortise_load_scratch(ld, &a, n_places * sizeof *w.first);
    w.next = mortise_load_scratch(ld, &a, (ld->n_edges + 1) * sizeof *w.next);
    w.seen = mortise_load_scratch(ld, &a, n_places * sizeof *w.seen);
    w.again = mortise_load_scratch(ld, &a, ld->n_edges + 1);
    if (!ld->nomem) {
        group_edges_by_source(&w);
        for (size_t from = 0; from < n_places; from++)
            for (uint32_t i = w.first[from]; i > 0; i = w.next[i - 1])
                mark_repeated_edge(&w, i - 1);
        drop_repeated_edges(&w);
    }
    mortise_arena_finish(&a);
}
