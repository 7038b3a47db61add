/* regions.c -- findings about loops that cannot be regions. */
#include "core/model/structure.h"
#include "lang/graph/load/loader.h"

#include <stdio.h>

enum { MAX_NAMES = 8 };

/* The nodes as "'a', 'b', ... 'z'". */
static void print_node_names(const struct mortise_graph *g,
                             const uint32_t *nodes, uint32_t n, char *out,
                             size_t size)
{
    size_t len = 0;

    out[0] = '\0';
    for (uint32_t i = 0; i < n; i++) {
        if (i == MAX_NAMES) {
            snprintf(out + len, size - len, ", ...");
            return;
        }
        len += (size_t)snprintf(out + len, size - len, "%s'%s'",
                                i > 0 ? ", " : "", g->nodes[nodes[i]].id);
    }
}

static void report_two_entries(void *ud, const uint32_t *nodes, uint32_t n,
                               uint32_t first, uint32_t second, uint32_t edge)
{
    struct mortise_loader *ld = ud;
    char names[(MAX_NAMES + 1) * 72];
    struct mortise_diag *d;

    print_node_names(ld->g, nodes, n, names, sizeof names);
    d = mortise_diag_add(ld->diags, "E0305", ld->g->edges[edge].span,
                         "the loop of %s is entered at '%s' and at '%s'", names,
                         ld->g->nodes[first].id, ld->g->nodes[second].id);
    mortise_diag_help(ld->diags, d,
                      "a loop can have only one entry: lead all edges from "
                      "outside to the same node");
}

static void report_depth(void *ud, uint32_t entry)
{
    struct mortise_loader *ld = ud;

    mortise_diag_add(ld->diags, "E0313", ld->g->nodes[entry].span,
                     "loops and maps can be nested at most %d deep",
                     MORTISE_MAX_REGIONS);
}

int mortise_load_regions(struct mortise_loader *ld)
{
    const struct mortise_bodies bodies = {ld->n_maps, ld->body};
    const struct mortise_region_faults faults = {ld, report_two_entries,
                                                 report_depth};

    return mortise_graph_find_regions(ld->g, ld->arena, &bodies, &faults);
}
