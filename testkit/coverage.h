/* coverage.h -- record the nodes and edges that test cases ran. */
#ifndef MORTISE_TESTKIT_COVERAGE_H
#define MORTISE_TESTKIT_COVERAGE_H

#include "cli/cli.h"
#include "core/model/graph.h"

struct mortise_graph_coverage { /* one graph, which several files may test */
    struct mortise_graph_coverage *next;
    char *path;
    struct mortise_graph *graph;
    json_t *seen; /* {NAME: true}; coverage.c describes the names */
};

struct mortise_coverage {
    struct mortise_cli *cli;
    struct mortise_graph_coverage *first, **last;
};

void mortise_coverage_init(struct mortise_coverage *c, struct mortise_cli *cli);
void mortise_coverage_finish(struct mortise_coverage *c);
/* Get the coverage of that graph; loads the graph the first time. */
int mortise_coverage_get(struct mortise_coverage *c, const char *path,
                         struct mortise_graph_coverage **out,
                         struct mortise_err *err);
/* Add the nodes and edges of a case, given its `show`.  MORTISE_ENOMEM. */
int mortise_coverage_add(struct mortise_graph_coverage *g, const json_t *show,
                         struct mortise_err *err);
/* Print a summary, and the place of each node and edge that never ran. */
void mortise_coverage_print(const struct mortise_coverage *c);
/* [{graph, nodes: {ran, of, missed}, edges: {taken, of, missed}}]; NULL:
 * memory ran out. */
json_t *mortise_coverage_json(const struct mortise_coverage *c);

#endif
