/* randgraph.h -- random structured graphs, as models and as our YAML. */
#ifndef TEST_RANDGRAPH_H
#define TEST_RANDGRAPH_H

#include "lib/refgraph.h"

/* What a random graph may have besides nodes and edges with conditions. */
enum rand_family {
    RAND_ROUTES = 1,
    RAND_FAILS = 2,
    RAND_LOOPS = 4,
    RAND_MAPS = 8,
    RAND_BRANCHES = 16, /* on_branch_error */
    RAND_RACES = 32,    /* any, quorum */
    RAND_STOPS = 64,    /* fail_fast, end: first */
    RAND_SUBS = 128,
    RAND_PAUSES = 256, /* limits, budgets, interrupt_before, _after */
    RAND_CHOICES = 512 /* personality, discovery, goto */
};

/* A graph that ref_regions() has taken apart; rand_free() it. */
void rand_graph(struct ref_graph *g, unsigned families, uint32_t *seed);
/* A small graph of any shape, all of it within reach of START: is it
 * structured?  If not, what ref_regions() began to find is of no use. */
bool rand_wild(struct ref_graph *g, uint32_t *seed);
void rand_free(struct ref_graph *g); /* what it has, not itself */
/* Its file: malloc()ed.  The input to run it with is RAND_INPUT. */
char *rand_yaml(const struct ref_graph *g);

enum { RAND_CONCURRENCY = 4 };
#define RAND_INPUT "{\"v\": 0}"

#endif
