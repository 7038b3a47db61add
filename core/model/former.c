/* former.c -- the earlier graphs of a run whose graph was changed (steered).
 *
 * Such a run has several graphs, one after the other.  To read it from its
 * first checkpoint on, all of them are needed.
 *
 *   (1) The newest graph identifies all of them: its digest covers its own
 *       content and the digest of the previous graph, and so on.  So the one
 *       digest in a run's head pins all its graphs, and a run that was steered
 *       away and back has another digest than at its start.
 *   (2) They are stored together: after the graph's own sources comes a mark,
 *       then the sources of the previous graph, which may contain a mark, too.
 *       The run no longer needs the sources stored under an earlier digest.
 */
#include "core/model/former.h"

#include <string.h>

#include "core/base/hash.h"

/* No file of a graph can have this name. */
static const char mark[] = ":former";

size_t mortise_graph_count_own_sources(const struct mortise_source *files,
                                       size_t n)
{
    size_t own = 0;

    while (own < n && strcmp(files[own].path, mark) != 0)
        own++;
    return own;
}

struct mortise_graph *mortise_graph_get_first(struct mortise_graph *g)
{
    while (g->former != NULL)
        g = g->former;
    return g;
}

static size_t count_former_graphs(const struct mortise_graph *g)
{
    size_t n = 0;

    while ((g = g->former) != NULL)
        n++;
    return n;
}

static int append_former_sources(struct mortise_graph *g,
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

static void combine_former_digest(struct mortise_graph *g,
                                  const struct mortise_graph *former)
{
    struct mortise_hasher h;

    mortise_hasher_init(&h);
    mortise_hasher_add_str(&h, mark);
    mortise_hasher_add_field(&h, g->digest, sizeof g->digest);
    mortise_hasher_add_field(&h, former->digest, sizeof former->digest);
    mortise_hasher_final(&h, g->digest);
}

int mortise_graph_set_predecessor(struct mortise_graph *g,
                                  struct mortise_graph *former,
                                  struct mortise_err *err)
{
    if (count_former_graphs(former) >= MORTISE_PREDECESSORS_MAX)
        return mortise_fail(err, MORTISE_ELIMIT,
                            "a run can be steered at most %d times, and this "
                            "run reached the limit",
                            MORTISE_PREDECESSORS_MAX);
    if (append_former_sources(g, former) != MORTISE_OK)
        return mortise_nomem(err);
    combine_former_digest(g, former);
    g->former = mortise_graph_ref(former);
    return MORTISE_OK;
}
