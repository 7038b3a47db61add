/* store_now.c -- reads that are waited for. */
#include "lib/store_now.h"

#include <assert.h>
#include <string.h>

struct awaited {
    struct mortise_read read;
    bool over;
    int result;
    struct mortise_err err;
};

static void read_over(struct mortise_read *r, int result,
                      const struct mortise_err *err)
{
    struct awaited *a = (struct awaited *)r; /* its first member */

    a->over = true;
    a->result = result;
    a->err = *err;
}

static int read_now(struct mortise_store *s, struct mortise_read *r,
                    struct mortise_err *err)
{
    struct awaited a = {.read = *r};

    a.read.done = read_over;
    mortise_store_read(s, &a.read);
    if (!a.over)
        mortise_store_wait(s, &a.read);
    assert(a.over);
    r->found = a.read.found;
    if (err != NULL && a.result != MORTISE_OK)
        *err = a.err;
    return a.result;
}

int mortise_store_head(struct mortise_store *s, const char *tenant,
                       const char *run, mortise_head_fn *fn, void *ud,
                       struct mortise_err *err)
{
    struct mortise_read r = {.kind = MORTISE_READ_HEAD,
                             .tenant = tenant,
                             .run = run,
                             .head = fn,
                             .ud = ud};

    return read_now(s, &r, err);
}

int mortise_store_checkpoints(struct mortise_store *s, const char *tenant,
                              const char *run, uint64_t from,
                              mortise_checkpoint_fn *fn, void *ud,
                              struct mortise_err *err)
{
    struct mortise_read r = {.kind = MORTISE_READ_CHECKPOINTS,
                             .tenant = tenant,
                             .run = run,
                             .number = from,
                             .checkpoint = fn,
                             .ud = ud};

    return read_now(s, &r, err);
}

int mortise_store_runs(struct mortise_store *s, const char *tenant,
                       const char *after, mortise_head_fn *fn, void *ud,
                       struct mortise_err *err)
{
    struct mortise_read r = {.kind = MORTISE_READ_RUNS,
                             .tenant = tenant,
                             .run = after,
                             .head = fn,
                             .ud = ud};

    return read_now(s, &r, err);
}

int mortise_store_heads(struct mortise_store *s, const char *after_tenant,
                        const char *after_run, mortise_head_fn *fn, void *ud,
                        struct mortise_err *err)
{
    struct mortise_read r = {.kind = MORTISE_READ_HEADS,
                             .tenant = after_tenant,
                             .run = after_run,
                             .head = fn,
                             .ud = ud};

    return read_now(s, &r, err);
}

int mortise_store_inbox(struct mortise_store *s, const char *tenant,
                        const char *after_run, const char *after_id,
                        mortise_pending_fn *fn, void *ud,
                        struct mortise_err *err)
{
    struct mortise_read r = {.kind = MORTISE_READ_INBOX,
                             .tenant = tenant,
                             .run = after_run,
                             .id = after_id,
                             .pending = fn,
                             .ud = ud};

    return read_now(s, &r, err);
}

int mortise_store_due(struct mortise_store *s, uint64_t until_ms,
                      mortise_pending_fn *fn, void *ud, struct mortise_err *err)
{
    struct mortise_read r = {
        .kind = MORTISE_READ_DUE, .number = until_ms, .pending = fn, .ud = ud};

    return read_now(s, &r, err);
}

int mortise_store_graph(struct mortise_store *s,
                        const uint8_t digest[MORTISE_DIGEST],
                        struct mortise_arena *a, struct mortise_source **files,
                        size_t *n_files, struct mortise_err *err)
{
    struct mortise_read r = {.kind = MORTISE_READ_GRAPH, .arena = a};
    int rv;

    memcpy(r.digest, digest, sizeof r.digest);
    rv = read_now(s, &r, err);
    *files = r.found.files;
    *n_files = r.found.n_files;
    return rv;
}

int mortise_store_kv(struct mortise_store *s, const char *tenant,
                     const char *plugin, const void *key, size_t size,
                     struct mortise_buf *value, struct mortise_err *err)
{
    struct mortise_read r = {.kind = MORTISE_READ_KV,
                             .tenant = tenant,
                             .plugin = plugin,
                             .key = key,
                             .key_size = size,
                             .value = value};

    return read_now(s, &r, err);
}

int mortise_store_cached(struct mortise_store *s, const char *tenant,
                         const uint8_t key[MORTISE_DIGEST],
                         struct mortise_buf *value, struct mortise_err *err)
{
    struct mortise_read r = {
        .kind = MORTISE_READ_CACHED, .tenant = tenant, .value = value};

    memcpy(r.digest, key, sizeof r.digest);
    return read_now(s, &r, err);
}

int mortise_store_removed(struct mortise_store *s, const char *tenant,
                          const char *run, struct mortise_tombstone *out,
                          struct mortise_err *err)
{
    struct mortise_read r = {
        .kind = MORTISE_READ_REMOVED, .tenant = tenant, .run = run};
    int rv = read_now(s, &r, err);

    *out = r.found.tombstone;
    return rv;
}
