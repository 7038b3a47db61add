/* leveldb_cache.c -- the store on LevelDB: the cache of results of calls.
 *
 * A result is found by its tenant and a digest of the call.  The commit of its
 * execution puts it, in the same batch (R5).  If the cache exceeds its limit,
 * the oldest results are removed:
 *
 *   (1) A result is two records: itself, under tenant, digest and number, and
 *       its age, under the number.  Its size is that of both, keys and values.
 *       Its number is the sum of the sizes of all results put before it.
 *   (2) So the size of the cache is the end of the newest less the number of
 *       the oldest.  There is no counter that a crash could leave wrong: after
 *       a restart, two seeks find these numbers.
 *   (3) Both records are put, or removed, in one batch, so one never exists
 *       without the other.
 *   (4) One batch puts at most as many results as fit into the whole cache, and
 *       drops the others.  So the results to remove are always in the store,
 *       and never in the batch in progress.
 *   (5) Calls that run concurrently may put the same key twice.  Each is a
 *       result of its own and is removed in its turn; the older one is found.
 *
 * A result that cannot be decoded is reported to the reader, who can do without
 * it.  An age that cannot be decoded is MORTISE_ECORRUPT, because it controls
 * removal.
 */
#include <assert.h>
#include <string.h>

#include "core/store/leveldb/ldb.h"

void mortise_ldb_set_cache_limit(struct mortise_store *store, uint64_t bytes)
{
    mortise_ldb_of(store)->cache.most = bytes;
}

/* ---- ages -------------------------------------------------------------- */

struct age {
    uint64_t number, size;
    struct mortise_buf tenant;
    uint8_t digest[MORTISE_DIGEST];
};

/* Read the age at the iterator; MORTISE_ENOTFOUND: it is at none. */
static int read_cached_age(struct age *a, const leveldb_iterator_t *it,
                           struct mortise_err *err)
{
    const void *digest;
    struct mortise_reader r;
    size_t n;
    const char *p;
    int rv;

    if (!leveldb_iter_valid(it))
        return MORTISE_ENOTFOUND;
    p = leveldb_iter_key(it, &n);
    mortise_reader_init(&r, p, n);
    if (mortise_read_u8(&r) != MORTISE_KEY_AGE)
        return MORTISE_ENOTFOUND;
    mortise_buf_clear(&a->tenant);
    a->number = mortise_key_read_number(&r);
    mortise_key_read_name(&r, &a->tenant);
    digest = mortise_read_bytes(&r, MORTISE_DIGEST);
    p = leveldb_iter_value(it, &n);
    rv = r.bad || r.p != r.end
             ? MORTISE_ECORRUPT
             : mortise_record_decode(&mortise_record_age, &a->size, p, n);
    if (rv != MORTISE_OK)
        return mortise_ldb_fail_record(err, rv, mortise_record_age.what);
    memcpy(a->digest, digest, MORTISE_DIGEST);
    return a->tenant.failed ? mortise_nomem(err) : MORTISE_OK;
}

/* Seek the first age with a number >= `number`. */
static void seek_cached_age(struct mortise_ldb *s, leveldb_iterator_t *it,
                            uint64_t number)
{
    static const uint8_t least[MORTISE_DIGEST];

    mortise_key_age(&s->key, number, "", least);
    if (!s->key.failed)
        leveldb_iter_seek(it, s->key.p, s->key.n);
}

/* A real number never reaches UINT64_MAX. */
static void seek_newest_age(struct mortise_ldb *s, leveldb_iterator_t *it)
{
    seek_cached_age(s, it, UINT64_MAX);
    if (leveldb_iter_valid(it))
        leveldb_iter_prev(it);
    else
        leveldb_iter_seek_to_last(it);
}

/* Find the oldest number and the end of the newest result (2). */
static int find_ends(struct mortise_ldb *s, leveldb_iterator_t *it,
                     leveldb_writebatch_t *batch, struct age *a,
                     struct mortise_err *err)
{
    struct mortise_ldb_cache *c = &s->cache;
    int rv;

    (void)batch;
    c->first = c->end = 0;
    seek_newest_age(s, it);
    rv = s->key.failed ? mortise_nomem(err) : read_cached_age(a, it, err);
    if (rv != MORTISE_OK)
        return rv == MORTISE_ENOTFOUND ? MORTISE_OK : rv;
    c->end = a->number + a->size;
    seek_cached_age(s, it, 0);
    rv = read_cached_age(a, it, err);
    c->first = a->number;
    return rv;
}

typedef int age_fn(struct mortise_ldb *s, leveldb_iterator_t *it,
                   leveldb_writebatch_t *batch, struct age *a,
                   struct mortise_err *err);

static int walk_cached_ages(struct mortise_ldb *s, age_fn *fn,
                            leveldb_writebatch_t *batch,
                            struct mortise_err *err)
{
    leveldb_iterator_t *it = leveldb_create_iterator(s->db, s->checked);
    struct age a;
    int rv;

    mortise_buf_init(&a.tenant, s->mem);
    rv = fn(s, it, batch, &a, err);
    mortise_buf_finish(&a.tenant);
    return mortise_ldb_iter_destroy(it, rv, "read the ages of results", err);
}

/* ---- putting ----------------------------------------------------------- */

void mortise_ldb_cache_begin(struct mortise_ldb *s)
{
    s->cache.fresh = s->cache.end;
}

static int load_cache_ends(struct mortise_ldb *s, struct mortise_err *err)
{
    int rv;

    if (s->cache.known)
        return MORTISE_OK;
    rv = walk_cached_ages(s, find_ends, NULL, err);
    s->cache.known = rv == MORTISE_OK;
    s->cache.fresh = s->cache.end;
    return rv;
}

/* The size of both records (1): two tags, numbers and tenants, and the version
 * and length of the value. */
static uint64_t get_cached_size(const struct mortise_commit *c,
                                const struct mortise_cached_result *one)
{
    uint64_t key = 1 + 8 + 2 + strlen(c->tenant) + MORTISE_DIGEST;

    return 2 * key + (1 + 4 + one->value_size) + (1 + 8);
}

static int put_cached_result(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                             const struct mortise_commit *c,
                             const struct mortise_cached_result *one)
{
    const struct mortise_value value = {one->value, one->value_size};
    uint64_t number = s->cache.end, size = get_cached_size(c, one);
    int rv;

    assert(s->cache.known && s->cache.end >= s->cache.fresh);
    assert(one->value != NULL);
    if (size > s->cache.most || number + size - s->cache.fresh > s->cache.most)
        return MORTISE_OK; /* (4) */
    mortise_key_cached(&s->key, c->tenant, one->key, number);
    rv = mortise_ldb_put_record(s, batch, &mortise_record_cached, &value);
    mortise_key_age(&s->key, number, c->tenant, one->key);
    if (rv == MORTISE_OK)
        rv = mortise_ldb_put_record(s, batch, &mortise_record_age, &size);
    s->cache.end += size;
    return rv;
}

int mortise_ldb_cache_put(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                          const struct mortise_commit *c,
                          struct mortise_err *err)
{
    int rv = load_cache_ends(s, err);

    for (size_t i = 0; rv == MORTISE_OK && i < c->n_cached; i++)
        rv = put_cached_result(s, batch, c, &c->cached[i]);
    return rv;
}

/* ---- removing ---------------------------------------------------------- */

static int drop_cached_result(struct mortise_ldb *s,
                              leveldb_writebatch_t *batch, const struct age *a)
{
    int rv;

    mortise_key_cached(&s->key, a->tenant.p, a->digest, a->number);
    rv = mortise_ldb_delete(s, batch);
    mortise_key_age(&s->key, a->number, a->tenant.p, a->digest);
    return rv == MORTISE_OK ? mortise_ldb_delete(s, batch) : rv;
}

static bool is_over_limit(const struct mortise_ldb_cache *c)
{
    return c->end - c->first > c->most;
}

/* Remove the oldest results until the size is within the limit.  By (4), it
 * stops before the results of this batch. */
static int drop_oldest(struct mortise_ldb *s, leveldb_iterator_t *it,
                       leveldb_writebatch_t *batch, struct age *a,
                       struct mortise_err *err)
{
    struct mortise_ldb_cache *c = &s->cache;
    int rv;

    assert(c->known && c->end - c->fresh <= c->most); /* (4) */
    seek_cached_age(s, it, c->first);
    rv = s->key.failed ? mortise_nomem(err) : read_cached_age(a, it, err);
    while (rv == MORTISE_OK && is_over_limit(c)) {
        rv = drop_cached_result(s, batch, a);
        if (rv != MORTISE_OK)
            return mortise_nomem(err);
        leveldb_iter_next(it);
        rv = read_cached_age(a, it, err);
        c->first = rv == MORTISE_OK ? a->number : c->fresh;
    }
    return rv == MORTISE_ENOTFOUND ? MORTISE_OK : rv;
}

int mortise_ldb_cache_trim(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                           struct mortise_err *err)
{
    if (!s->cache.known || !is_over_limit(&s->cache))
        return MORTISE_OK;
    return walk_cached_ages(s, drop_oldest, batch, err);
}

/* ---- finding ----------------------------------------------------------- */

static int append_cached_value(const leveldb_iterator_t *it,
                               struct mortise_buf *value,
                               struct mortise_err *err)
{
    struct mortise_value found;
    size_t n;
    const char *p = leveldb_iter_value(it, &n);
    int rv = mortise_record_decode(&mortise_record_cached, &found, p, n);

    if (rv != MORTISE_OK)
        return mortise_ldb_fail_record(err, rv, mortise_record_cached.what);
    mortise_buf_put(value, found.text, found.size);
    return value->failed ? mortise_nomem(err) : MORTISE_OK;
}

/* Find the first result with this key prefix. */
static int find_cached_result(struct mortise_ldb *s,
                              const struct mortise_buf *key,
                              struct mortise_buf *value,
                              struct mortise_err *err)
{
    leveldb_iterator_t *it = leveldb_create_iterator(s->db, s->checked);
    size_t n;
    const char *p;
    int rv = MORTISE_ENOTFOUND;

    leveldb_iter_seek(it, key->p, key->n);
    if (leveldb_iter_valid(it)) {
        p = leveldb_iter_key(it, &n);
        if (n >= key->n && memcmp(p, key->p, key->n) == 0)
            rv = append_cached_value(it, value, err);
    }
    return mortise_ldb_iter_destroy(it, rv, "read the store", err);
}

int mortise_ldb_read_cached(struct mortise_ldb *s, struct mortise_read *r,
                            struct mortise_buf *key, struct mortise_err *err)
{
    mortise_key_prefix_of_cached(key, r->tenant, r->digest);
    return key->failed ? mortise_nomem(err)
                       : find_cached_result(s, key, r->value, err);
}
