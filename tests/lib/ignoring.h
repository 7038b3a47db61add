/* ignoring.h -- all keys of a file, and a loader that ignores one of them: what
 * is a test of it worth?
 *
 * A program linked with the WRAP flags of the Makefile reads files by
 * the loader's tables with one change, which is named in its environment:
 *
 *     MORTISE_IGNORE=node.timeout     the key is checked, and then nobody reads
 *                                     it: as if it had been forgotten
 *     MORTISE_IGNORE=graph.end=first  the word counts as another of its list
 *
 * A test of that key must then fail. */
#ifndef TEST_IGNORING_H
#define TEST_IGNORING_H

#include "lang/yaml/keys.h"

/* One row of a table, or one word that may stand there. */
struct named_key {
    char name[128]; /* PLACE.KEY or PLACE.KEY=WORD; no article before PLACE, of
                       a manifest plugin/, of a test file test/ */
    const struct mortise_key *key;
    const struct mortise_word *word; /* NULL: the row */
    bool later;                      /* of the language, not of this build */
};

/* Tell each of graphs, deployments, plugin manifests and tests, in the order of
 * the tables. */
void named_keys(void (*fn)(void *ud, const struct named_key *k), void *ud);

#endif
