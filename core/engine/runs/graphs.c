/* graphs.c -- compiled graphs, by digest.
 *
 * A run pins its graph; a thousand runs of one graph share the compiled form.
 * The KEPT most recently used graphs are kept.  A run holds its own reference,
 * so dropping a graph here costs at most a compilation.
 */
#include "core/engine/common/engine.h"

#include <string.h>
#include <unistd.h>

#include "core/base/owner.h"
#include "core/engine/language.h"
#include "core/model/disk.h"
#include "core/model/former.h"
#include "core/model/pinned.h"

enum { KEPT = 32 };

/* The catalog that a graph was compiled with, from the most to the least
 * strict. */
enum knowing { STRICT, LENIENT, NAMES };

struct mortise_kept_graph { /* newest first */
    struct mortise_kept_graph *next;
    struct mortise_graph *graph; /* a reference */
    enum knowing how;
};

static void kept_free(struct mortise *m, struct mortise_kept_graph *k)
{
    mortise_graph_unref(k->graph);
    mortise_release(m->mem, k, sizeof *k);
}

/* Drop the oldest graphs beyond KEPT. */
static void drop_oldest_graphs(struct mortise *m)
{
    struct mortise_kept_graph **at = &m->graphs, *k;

    for (int n = 0; n < KEPT && *at != NULL; n++)
        at = &(*at)->next;
    while ((k = *at) != NULL) {
        *at = k->next;
        kept_free(m, k);
    }
}

static void keep_compiled_graph(struct mortise *m, struct mortise_graph *g,
                                enum knowing how)
{
    struct mortise_kept_graph *k = mortise_alloc(m->mem, sizeof *k);

    if (k == NULL)
        return; /* it is compiled again when needed */
    *k = (struct mortise_kept_graph){m->graphs, mortise_graph_ref(g), how};
    m->graphs = k;
    drop_oldest_graphs(m);
}

/* A kept graph whose catalog was at least as strict as `least`, moved to the
 * front; borrowed. */
static struct mortise_graph *
find_kept_graph(struct mortise *m, const uint8_t *digest, enum knowing least)
{
    struct mortise_kept_graph **at, *k;

    for (at = &m->graphs; (k = *at) != NULL; at = &k->next) {
        if (memcmp(k->graph->digest, digest, MORTISE_DIGEST) != 0 ||
            k->how > least)
            continue;
        *at = k->next;
        k->next = m->graphs;
        m->graphs = k;
        return k->graph;
    }
    return NULL;
}

/* For users who may not make this process open files: findings would show the
 * contents. */
static int deny_file_read(void *ud, const char *path, struct mortise_buf *text,
                          struct mortise_err *why)
{
    char user[64];

    (void)ud;
    (void)path;
    (void)text;
    mortise_owner_get_name(geteuid(), user);
    return mortise_fail(why, MORTISE_EDENIED,
                        "only the user as which the engine runs (%s) can start "
                        "graphs that refer to other files",
                        user);
}

static int deny_dir_list(void *ud, const char *dir,
                         int (*fn)(void *into, const char *path), void *into,
                         struct mortise_err *why)
{
    (void)fn;
    (void)into;
    return deny_file_read(ud, dir, NULL, why);
}

/* For graphs that no person wrote: a user could make a model write a graph that
 * sends a secret to any place. */
static int deny_graph_secret(void *ud, const char *plugin, const char *name,
                             struct mortise_err *why)
{
    (void)ud;
    (void)plugin;
    (void)name;
    return mortise_fail(why, MORTISE_EDENIED,
                        "a graph that a model or a plugin wrote cannot use "
                        "secrets; a person must write the node that needs one");
}

int mortise_graphs_compile(struct mortise *m, const struct mortise_source *file,
                           const char *cwd, unsigned flags,
                           struct mortise_graph **out,
                           struct mortise_buf *report,
                           struct mortise_buf *findings,
                           struct mortise_err *err)
{
    struct mortise_graph_files files;
    struct mortise_catalog catalog =
        mortise_disk_catalog_make(&m->catalogs->strict, &files, cwd);
    int rv;

    if ((flags & MORTISE_GRAPH_ALONE) != 0) {
        files.read = deny_file_read;
        files.list = deny_dir_list;
    }
    if ((flags & MORTISE_GRAPH_KEYLESS) != 0)
        catalog.secret = deny_graph_secret;
    rv = mortise_graph_compile(out, m->mem, file, &catalog, report, findings,
                               err);
    if (rv == MORTISE_OK && find_kept_graph(m, (*out)->digest, STRICT) == NULL)
        keep_compiled_graph(m, *out, STRICT);
    return rv;
}

/* ---- pinned graphs ------------------------------------------------------- */

/* The findings are about the store's copy; the message must not suggest that
 * they are about the present file of that name. */
static int fail_pinned_graph(const struct mortise_source *file,
                             const uint8_t *digest, int code,
                             const char *findings, struct mortise_err *err)
{
    char hex[2 * MORTISE_DIGEST + 1];

    mortise_hex_encode(hex, digest, MORTISE_DIGEST);
    return mortise_fail(
        err, code,
        "the copy of graph %s that the run stored at its start (digest %.16s) "
        "does not compile with this mortise (%s), its plugins and this "
        "deployment.  Continue the run with the versions that it started with, "
        "or start a new run.\n%.560s",
        file->path, hex, MORTISE_VERSION, findings);
}

/* Compile the files of one of the graphs that a run followed. */
static int compile_pinned(struct mortise *m, const uint8_t *digest,
                          enum knowing how, struct mortise_pinned_graph pinned,
                          struct mortise_graph **out, struct mortise_err *err)
{
    struct mortise_graph_files files = mortise_pinned_graph_get_files(&pinned);
    struct mortise_catalog catalog = how == STRICT    ? m->catalogs->strict
                                     : how == LENIENT ? m->catalogs->lenient
                                                      : m->catalogs->names;
    struct mortise_buf report;
    int rv;

    files.pinned = true;
    catalog.files = &files;
    mortise_buf_init(&report, m->mem);
    rv = mortise_graph_compile(out, m->mem, &pinned.files[0], &catalog, &report,
                               NULL, err);
    if (rv == MORTISE_ECHECK || rv == MORTISE_EDENIED)
        rv = fail_pinned_graph(
            &pinned.files[0], digest,
            rv == MORTISE_ECHECK ? MORTISE_EBLOCKED : rv,
            mortise_buf_cstr(&report) != NULL ? report.p : "", err);
    mortise_buf_finish(&report);
    return rv;
}

/* `all` has the files of the graph, followed by those of the graphs that it was
 * steered from. */
static int compile_with_formers(struct mortise *m, const uint8_t *digest,
                                enum knowing how,
                                const struct mortise_pinned_graph *all,
                                struct mortise_graph **out,
                                struct mortise_err *err)
{
    struct mortise_pinned_graph parts[MORTISE_PREDECESSORS_MAX + 1];
    const size_t most = sizeof parts / sizeof parts[0];
    struct mortise_graph *former = NULL;
    size_t n = 0, at = 0, own = 1;
    int rv = MORTISE_OK;

    for (; at < all->n && n < most && own > 0; at += own + 1) {
        own = mortise_graph_count_own_sources(all->files + at, all->n - at);
        parts[n++] = (struct mortise_pinned_graph){all->files + at, own};
    }
    if (at < all->n || own == 0)
        return mortise_fail(err, MORTISE_ECORRUPT,
                            "the store's copy of graph %s is damaged",
                            all->files[0].path);
    *out = NULL;
    while (rv == MORTISE_OK && n > 0) {
        rv = compile_pinned(m, digest, how, parts[--n], out, err);
        if (rv == MORTISE_OK && former != NULL)
            rv = mortise_graph_set_predecessor(*out, former, err);
        mortise_graph_unref(former); /* the graph that follows it has a
                                        reference */
        former = *out;
    }
    if (rv != MORTISE_OK) {
        mortise_graph_unref(*out);
        *out = NULL;
    }
    return rv;
}

/* Compile the store's copy, and check its digest. */
static int compile_stored(struct mortise *m, const uint8_t *digest,
                          enum knowing how,
                          const struct mortise_pinned_graph *pinned,
                          struct mortise_graph **out, struct mortise_err *err)
{
    int rv = compile_with_formers(m, digest, how, pinned, out, err);

    if (rv == MORTISE_OK &&
        memcmp((*out)->digest, digest, MORTISE_DIGEST) != 0) {
        mortise_graph_unref(*out);
        *out = NULL;
        rv = mortise_fail(
            err, MORTISE_ECORRUPT,
            "the store's copy of graph %s does not match its digest",
            pinned->files[0].path);
    }
    return rv;
}

struct mortise_graph *mortise_graphs_find(struct mortise *m,
                                          const uint8_t digest[MORTISE_DIGEST],
                                          bool names)
{
    struct mortise_graph *g =
        find_kept_graph(m, digest, names ? NAMES : LENIENT);

    return g != NULL ? mortise_graph_ref(g) : NULL;
}

int mortise_graphs_load_pinned(struct mortise *m,
                               const uint8_t digest[MORTISE_DIGEST],
                               struct mortise_source *files, size_t n_files,
                               bool names, struct mortise_graph **out,
                               struct mortise_err *err)
{
    struct mortise_pinned_graph pinned = {files, n_files};
    enum knowing how = names ? NAMES : STRICT;
    int rv = compile_stored(m, digest, how, &pinned, out, err);

    /* The strict catalog knows more: the graph may compile with it, or get a
     * better error message. */
    if (names && mortise_is_blocked(rv)) {
        how = STRICT;
        rv = compile_stored(m, digest, how, &pinned, out, err);
    }
    if (mortise_is_blocked(rv)) {
        how = LENIENT;
        rv = compile_stored(m, digest, how, &pinned, out, err);
    }
    if (rv == MORTISE_OK)
        keep_compiled_graph(m, *out, how);
    return rv;
}

int mortise_graphs_load_executable(struct mortise *m, const char *run,
                                   const struct mortise_graph *g,
                                   struct mortise_graph **out,
                                   struct mortise_err *err)
{
    struct mortise_pinned_graph pinned = {g->sources, g->n_sources};
    struct mortise_graph *kept = find_kept_graph(m, g->digest, STRICT);
    int rv;

    *out = kept != NULL ? mortise_graph_ref(kept) : NULL;
    if (kept != NULL)
        return MORTISE_OK;
    rv = compile_stored(m, g->digest, STRICT, &pinned, out, err);
    if (rv == MORTISE_OK)
        keep_compiled_graph(m, *out, STRICT);
    return rv == MORTISE_OK ? rv : mortise_err_prefix(err, rv, "run %s", run);
}

int mortise_graphs_derive(struct mortise *m, const struct mortise_graph *from,
                          const struct mortise_source *file,
                          struct mortise_graph **out,
                          struct mortise_buf *report, struct mortise_err *err)
{
    const struct mortise_pinned_graph pinned = {
        from->sources,
        mortise_graph_count_own_sources(from->sources, from->n_sources)};
    const struct mortise_graph_files files =
        mortise_pinned_graph_get_files(&pinned);
    struct mortise_catalog catalog = m->catalogs->strict;
    int rv;

    catalog.files = &files;
    rv = mortise_graph_compile(out, m->mem, file, &catalog, report, NULL, err);
    if (rv == MORTISE_OK && find_kept_graph(m, (*out)->digest, STRICT) == NULL)
        keep_compiled_graph(m, *out, STRICT);
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
