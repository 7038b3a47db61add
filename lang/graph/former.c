/* former.c -- graphs that a run was steered to: what each one stands behind.
 *
 * A run whose graph is steered goes by several, one after the other, and whoever
 * reads it from its first checkpoint on needs all of them.
 *
 *   (1) The newest names them all: its digest is that of itself and of the one
 *       before it, and so on.  So a run's head pins its whole past by the one
 *       digest that it has anyway, and a run that was steered away and back is not
 *       at the graph that it began with.
 *   (2) They are stored with it: behind its own sources a mark, then the sources of
 *       the one before it, which has its own behind a mark, too.  What is stored
 *       under the digest of a former one is no longer needed by that run.
 */
#include "lang/graph/former.h"

#include <string.h>

#include "core/base/hash.h"

/* As no file is called that a graph can name. */
static const char mark[] = ":former";

size_t mortise_graph_own_sources(const struct mortise_source *files, size_t n)
{
    size_t own = 0;

    while (own < n && strcmp(files[own].path, mark) != 0)
        own++;
    return own;
}

struct mortise_graph *mortise_graph_origin(struct mortise_graph *g)
{
    while (g->former != NULL)
        g = g->former;
    return g;
}

static size_t n_formers(const struct mortise_graph *g)
{
    size_t n = 0;

    while ((g = g->former) != NULL)
        n++;
    return n;
}

static int join_sources(struct mortise_graph *g,
                        const struct mortise_graph *former)
{
    size_t n = g->n_sources + 1 + former->n_sources;
    struct mortise_source *list =
        mortise_arena_alloc(&g->arena, n * sizeof *list);

    if (list == NULL)
        return MORTISE_ENOMEM;
    memcpy(list, g->sources, g->n_sources * sizeof *list);
    list[g->n_sources] = (struct mortise_source){mark, "", 0};
    memcpy(list + g->n_sources + 1, former->sources,
           former->n_sources * sizeof *list);
    g->sources = list;
    g->n_sources = n;
    return MORTISE_OK;
}

static void join_digests(struct mortise_graph *g,
                         const struct mortise_graph *former)
{
    struct mortise_hasher h;

    mortise_hasher_init(&h);
    mortise_hasher_str(&h, mark);
    mortise_hasher_field(&h, g->digest, sizeof g->digest);
    mortise_hasher_field(&h, former->digest, sizeof former->digest);
    mortise_hasher_final(&h, g->digest);
}

int mortise_graph_follow(struct mortise_graph *g, struct mortise_graph *former,
                         struct mortise_err *err)
{
    if (n_formers(former) >= MORTISE_MAX_FORMERS)
        return mortise_fail(err, MORTISE_ELIMIT,
                            "a run can be steered at most %d times, and this "
                            "run reached the limit",
                            MORTISE_MAX_FORMERS);
    if (join_sources(g, former) != MORTISE_OK)
        return mortise_nomem(err);
    join_digests(g, former);
    g->former = mortise_graph_ref(former);
    return MORTISE_OK;
}
