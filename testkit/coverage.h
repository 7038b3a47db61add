/* coverage.h -- what of its graphs the cases of tests ran: nodes and edges, those
 * of nested graphs included. */
#ifndef MORTISE_TESTKIT_COVERAGE_H
#define MORTISE_TESTKIT_COVERAGE_H

#include "cli/cli.h"
#include "core/model/graph.h"

struct mortise_covered { /* of one graph, however many files test it */
    struct mortise_covered *next;
    char *path;
    struct mortise_graph *graph;
    json_t *seen; /* {NAME: true}, as coverage.c has names */
};

struct mortise_coverage {
    struct mortise_cli *cli;
    struct mortise_covered *first, **last;
};

void mortise_coverage_init(struct mortise_coverage *c, struct mortise_cli *cli);
void mortise_coverage_finish(struct mortise_coverage *c);
/* What is known of that graph, which is loaded when it is the first time. */
int mortise_coverage_of(struct mortise_coverage *c, const char *path,
                        struct mortise_covered **out, struct mortise_err *err);
/* A case of it ended like that (`show`).  MORTISE_ENOMEM. */
int mortise_coverage_note(struct mortise_covered *g, const json_t *show,
                          struct mortise_err *err);
/* For people; what never ran with its place. */
void mortise_coverage_say(const struct mortise_coverage *c);
/* [{graph, nodes: {ran, of, missed}, edges: {taken, of, missed}}]; NULL: memory
 * ran out. */
json_t *mortise_coverage_json(const struct mortise_coverage *c);

#endif
