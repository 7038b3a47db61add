/* randgraph.h -- random structured graphs, as models and as our YAML. */
#ifndef TEST_RANDGRAPH_H
#define TEST_RANDGRAPH_H

#include "lib/refgraph.h"

/* What a random graph may have besides nodes and edges with conditions. */
enum rand_family { RAND_ROUTES = 1, RAND_FAILS = 2, RAND_LOOPS = 4 };

/* A graph that ref_regions() has taken apart. */
void rand_graph(struct ref_graph *g, unsigned families, uint32_t *seed);
/* Its file: malloc()ed.  The input to run it with is RAND_INPUT. */
char *rand_yaml(const struct ref_graph *g);

#define RAND_INPUT "{\"yes\": true, \"no\": false}"

#endif
