/* graphs.c -- compiled graphs, by digest.
 *
 * A run pins its graph; a thousand runs of one graph share the compiled form.
 * What was compiled last is kept, a bounded number of them; a run holds a
 * reference of its own, so dropping one here costs at most a compilation.
 */
#include "engine/engine.h"

#include <string.h>

enum { KEPT = 32 };

struct mortise_kept_graph { /* newest first */
    struct mortise_kept_graph *next;
    struct mortise_graph *graph; /* a reference */
    bool lenient;
};

static void kept_free(struct mortise *m, struct mortise_kept_graph *k)
{
    mortise_graph_unref(k->graph);
    mortise_release(m->mem, k, sizeof *k);
}

/* Forget the oldest ones beyond KEPT. */
static void trim(struct mortise *m)
{
    struct mortise_kept_graph **at = &m->graphs, *k;

    for (int n = 0; n < KEPT && *at != NULL; n++)
        at = &(*at)->next;
    while ((k = *at) != NULL) {
        *at = k->next;
        kept_free(m, k);
    }
}

static void keep(struct mortise *m, struct mortise_graph *g, bool lenient)
{
    struct mortise_kept_graph *k = mortise_alloc(m->mem, sizeof *k);

    if (k == NULL)
        return; /* compiled again when it is needed again */
    *k = (struct mortise_kept_graph){m->graphs, mortise_graph_ref(g), lenient};
    m->graphs = k;
    trim(m);
}

/* The kept one, moved to the front; borrowed. */
static struct mortise_graph *find(struct mortise *m, const uint8_t *digest,
                                  bool lenient)
{
    struct mortise_kept_graph **at, *k;

    for (at = &m->graphs; (k = *at) != NULL; at = &k->next) {
        if (memcmp(k->graph->digest, digest, MORTISE_DIGEST) != 0 ||
            (k->lenient && !lenient))
            continue;
        *at = k->next;
        k->next = m->graphs;
        m->graphs = k;
        return k->graph;
    }
    return NULL;
}

void mortise_graphs_keep(struct mortise *m, struct mortise_graph *g)
{
    if (find(m, g->digest, false) == NULL)
        keep(m, g, false);
}

static int compile(struct mortise *m, const struct mortise_catalog *catalog,
                   const char *path, const char *text, size_t n,
                   struct mortise_graph **out, struct mortise_buf *report,
                   struct mortise_err *err)
{
    struct mortise_diags diags;
    int rv;

    mortise_diags_init(&diags, m->mem);
    rv = mortise_graph_load(out, m->mem, path, text, n, catalog, &diags, err);
    if (rv == MORTISE_OK || rv == MORTISE_ECHECK)
        mortise_diags_text(&diags, report);
    if (rv == MORTISE_ECHECK)
        mortise_fail(err, rv, "%s has %zu error%s", path, diags.n_errors,
                     diags.n_errors == 1 ? "" : "s");
    mortise_diags_finish(&diags);
    if (rv == MORTISE_OK && report->failed) {
        mortise_graph_unref(*out);
        *out = NULL;
    }
    return report->failed ? mortise_nomem(err) : rv;
}

int mortise_graphs_compile(struct mortise *m, const char *path,
                           const char *text, size_t n,
                           struct mortise_graph **out,
                           struct mortise_buf *report, struct mortise_err *err)
{
    int rv = compile(m, &m->stock.strict, path, text, n, out, report, err);

    if (rv == MORTISE_OK)
        mortise_graphs_keep(m, *out);
    return rv;
}

/* Compile the store's copy, which must be of that digest. */
static int compile_stored(struct mortise *m, const uint8_t *digest,
                          bool lenient, const struct mortise_buf *path,
                          const struct mortise_buf *source,
                          struct mortise_graph **out, struct mortise_err *err)
{
    struct mortise_buf report;
    int rv;

    mortise_buf_init(&report, m->mem);
    rv = compile(m, lenient ? &m->stock.lenient : &m->stock.strict, path->p,
                 source->p, source->n - 1, out, &report, err);
    if (rv == MORTISE_ECHECK)
        rv = mortise_fail(err, MORTISE_EBLOCKED,
                          "the run's graph cannot run here as it was pinned: "
                          "%.800s",
                          mortise_buf_cstr(&report) != NULL ? report.p : "");
    mortise_buf_finish(&report);
    if (rv == MORTISE_OK &&
        memcmp((*out)->digest, digest, MORTISE_DIGEST) != 0) {
        mortise_graph_unref(*out);
        *out = NULL;
        rv = mortise_fail(err, MORTISE_ECORRUPT,
                          "the store's copy of graph %s is not the graph that "
                          "its digest names",
                          path->p);
    }
    return rv;
}

int mortise_graphs_get(struct mortise *m, const uint8_t digest[MORTISE_DIGEST],
                       bool lenient, struct mortise_graph **out,
                       struct mortise_err *err)
{
    struct mortise_graph *g = find(m, digest, lenient);
    struct mortise_buf path, source;
    bool stood_in = false;
    int rv;

    *out = NULL;
    if (g != NULL) {
        *out = mortise_graph_ref(g);
        return MORTISE_OK;
    }
    mortise_buf_init(&path, m->mem);
    mortise_buf_init(&source, m->mem);
    rv = mortise_store_graph(m->store, digest, &path, &source, err);
    if (rv == MORTISE_OK)
        rv = compile_stored(m, digest, false, &path, &source, out, err);
    if (rv == MORTISE_EBLOCKED && lenient) {
        stood_in = true;
        rv = compile_stored(m, digest, true, &path, &source, out, err);
    }
    if (rv == MORTISE_OK)
        keep(m, *out, stood_in);
    mortise_buf_finish(&path);
    mortise_buf_finish(&source);
    return rv;
}

void mortise_graphs_close(struct mortise *m)
{
    struct mortise_kept_graph *k;

    while ((k = m->graphs) != NULL) {
        m->graphs = k->next;
        kept_free(m, k);
    }
}
