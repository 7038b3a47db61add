/* leveldb_cache.c -- results of calls, kept for the next call like them.
 *
 * A result is found by its tenant and a digest of what was called with what.
 * It is put by the commit of the execution that it is of, in the same batch
 * (R5), and it goes when the store holds more of them than it is to hold, the
 * oldest first:
 *
 *   (1) A result is two records: itself, under tenant, digest and number, and
 *       its age, under the number.  It counts with the bytes of both, keys and
 *       values.  Its number is how many bytes were put before it.
 *   (2) So what they come to is the end of the newest less the number of the
 *       oldest.  No counter is kept that a crash could leave wrong: after one,
 *       or in a new process, two seeks find it.
 *   (3) What goes, goes in the batch that has it go: a result whose age is not
 *       there, or the other way round, was never written.
 *   (4) One batch takes no more results than all there is room for.  Those
 *       beyond are not kept: then what has to go is always found in the store,
 *       and never in the batch under way.
 *   (5) The same key may be put twice, by calls that ran side by side.  Each is
 *       a result of its own, and goes in its time; the older one is found.
 *
 * A result that does not read is the reader's business, who can do without.  An
 * age that does not is MORTISE_ECORRUPT: by it we would delete. */
#include <assert.h>
#include <string.h>

#include "core/store/leveldb/ldb.h"

void mortise_ldb_cache_bound(struct mortise_store *store, uint64_t bytes)
{
    mortise_ldb_of(store)->cache.most = bytes;
}

/* ---- ages -------------------------------------------------------------- */

struct age {
    uint64_t number, size;
    struct mortise_buf tenant;
    uint8_t digest[MORTISE_DIGEST];
};

/* The one under the iterator; MORTISE_ENOTFOUND: it stands on none. */
static int age_at(struct age *a, const leveldb_iterator_t *it,
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
    digest = mortise_read_raw(&r, MORTISE_DIGEST);
    p = leveldb_iter_value(it, &n);
    rv = r.bad || r.p != r.end
             ? MORTISE_ECORRUPT
             : mortise_record_read(&mortise_record_age, &a->size, p, n);
    if (rv != MORTISE_OK)
        return mortise_ldb_bad(err, rv, mortise_record_age.what);
    memcpy(a->digest, digest, MORTISE_DIGEST);
    return a->tenant.failed ? mortise_nomem(err) : MORTISE_OK;
}

/* To the first whose number is no less. */
static void seek(struct mortise_ldb *s, leveldb_iterator_t *it, uint64_t number)
{
    static const uint8_t least[MORTISE_DIGEST];

    mortise_key_age(&s->key, number, "", least);
    if (!s->key.failed)
        leveldb_iter_seek(it, s->key.p, s->key.n);
}

/* No number reaches the one sought here. */
static void seek_last(struct mortise_ldb *s, leveldb_iterator_t *it)
{
    seek(s, it, UINT64_MAX);
    if (leveldb_iter_valid(it))
        leveldb_iter_prev(it);
    else
        leveldb_iter_seek_to_last(it);
}

/* (2) */
static int find_ends(struct mortise_ldb *s, leveldb_iterator_t *it,
                     leveldb_writebatch_t *batch, struct age *a,
                     struct mortise_err *err)
{
    struct mortise_ldb_cache *c = &s->cache;
    int rv;

    (void)batch;
    c->first = c->end = 0;
    seek_last(s, it);
    rv = s->key.failed ? mortise_nomem(err) : age_at(a, it, err);
    if (rv != MORTISE_OK)
        return rv == MORTISE_ENOTFOUND ? MORTISE_OK : rv;
    c->end = a->number + a->size;
    seek(s, it, 0);
    rv = age_at(a, it, err);
    c->first = a->number;
    return rv;
}

typedef int age_fn(struct mortise_ldb *s, leveldb_iterator_t *it,
                   leveldb_writebatch_t *batch, struct age *a,
                   struct mortise_err *err);

static int with_ages(struct mortise_ldb *s, age_fn *fn,
                     leveldb_writebatch_t *batch, struct mortise_err *err)
{
    leveldb_iterator_t *it = leveldb_create_iterator(s->db, s->checked);
    struct age a;
    int rv;

    mortise_buf_init(&a.tenant, s->mem);
    rv = fn(s, it, batch, &a, err);
    mortise_buf_finish(&a.tenant);
    return mortise_ldb_iter_end(it, rv, "read the ages of results", err);
}

/* ---- putting ----------------------------------------------------------- */

void mortise_ldb_cache_begin(struct mortise_ldb *s)
{
    s->cache.fresh = s->cache.end;
}

static int know(struct mortise_ldb *s, struct mortise_err *err)
{
    int rv;

    if (s->cache.known)
        return MORTISE_OK;
    rv = with_ages(s, find_ends, NULL, err);
    s->cache.known = rv == MORTISE_OK;
    s->cache.fresh = s->cache.end;
    return rv;
}

/* Bytes of both records (1): two tags, numbers and tenants, and what stands
 * around the value, its version and its length. */
static uint64_t size_of(const struct mortise_commit *c,
                        const struct mortise_cached *one)
{
    uint64_t key = 1 + 8 + 2 + strlen(c->tenant) + MORTISE_DIGEST;

    return 2 * key + (1 + 4 + one->value_size) + (1 + 8);
}

static int put_one(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                   const struct mortise_commit *c,
                   const struct mortise_cached *one)
{
    const struct mortise_value value = {one->value, one->value_size};
    uint64_t number = s->cache.end, size = size_of(c, one);
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
    int rv = know(s, err);

    for (size_t i = 0; rv == MORTISE_OK && i < c->n_cached; i++)
        rv = put_one(s, batch, c, &c->cached[i]);
    return rv;
}

/* ---- going ------------------------------------------------------------- */

static int drop_one(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                    const struct age *a)
{
    int rv;

    mortise_key_cached(&s->key, a->tenant.p, a->digest, a->number);
    rv = mortise_ldb_drop(s, batch);
    mortise_key_age(&s->key, a->number, a->tenant.p, a->digest);
    return rv == MORTISE_OK ? mortise_ldb_drop(s, batch) : rv;
}

static bool is_too_much(const struct mortise_ldb_cache *c)
{
    return c->end - c->first > c->most;
}

/* (4) makes sure that it ends before what the batch itself has put. */
static int drop_oldest(struct mortise_ldb *s, leveldb_iterator_t *it,
                       leveldb_writebatch_t *batch, struct age *a,
                       struct mortise_err *err)
{
    struct mortise_ldb_cache *c = &s->cache;
    int rv;

    assert(c->known && c->end - c->fresh <= c->most); /* (4) */
    seek(s, it, c->first);
    rv = s->key.failed ? mortise_nomem(err) : age_at(a, it, err);
    while (rv == MORTISE_OK && is_too_much(c)) {
        rv = drop_one(s, batch, a);
        if (rv != MORTISE_OK)
            return mortise_nomem(err);
        leveldb_iter_next(it);
        rv = age_at(a, it, err);
        c->first = rv == MORTISE_OK ? a->number : c->fresh;
    }
    return rv == MORTISE_ENOTFOUND ? MORTISE_OK : rv;
}

int mortise_ldb_cache_trim(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                           struct mortise_err *err)
{
    if (!s->cache.known || !is_too_much(&s->cache))
        return MORTISE_OK;
    return with_ages(s, drop_oldest, batch, err);
}

/* ---- finding ----------------------------------------------------------- */

static int read_found(const leveldb_iterator_t *it, struct mortise_buf *value,
                      struct mortise_err *err)
{
    struct mortise_value found;
    size_t n;
    const char *p = leveldb_iter_value(it, &n);
    int rv = mortise_record_read(&mortise_record_cached, &found, p, n);

    if (rv != MORTISE_OK)
        return mortise_ldb_bad(err, rv, mortise_record_cached.what);
    mortise_buf_put(value, found.text, found.size);
    return value->failed ? mortise_nomem(err) : MORTISE_OK;
}

/* The first whose key begins so. */
static int find(struct mortise_ldb *s, const struct mortise_buf *key,
                struct mortise_buf *value, struct mortise_err *err)
{
    leveldb_iterator_t *it = leveldb_create_iterator(s->db, s->checked);
    size_t n;
    const char *p;
    int rv = MORTISE_ENOTFOUND;

    leveldb_iter_seek(it, key->p, key->n);
    if (leveldb_iter_valid(it)) {
        p = leveldb_iter_key(it, &n);
        if (n >= key->n && memcmp(p, key->p, key->n) == 0)
            rv = read_found(it, value, err);
    }
    return mortise_ldb_iter_end(it, rv, "read the store", err);
}

int mortise_ldb_read_cached(struct mortise_ldb *s, struct mortise_read *r,
                            struct mortise_buf *key, struct mortise_err *err)
{
    mortise_key_of_cached(key, r->tenant, r->digest);
    return key->failed ? mortise_nomem(err) : find(s, key, r->value, err);
}
