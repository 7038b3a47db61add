/* key.c -- encode and decode the store's keys.
 *
 * A key is a tag byte followed by components.  Guarantees:
 *
 *   (1) Two different lists of components never give the same key (R2).  Every
 *       name is preceded by its length (two bytes), except a name that ends the
 *       key, whose length follows from the key's.  So slashes, spaces and bytes
 *       that look like a length are allowed in names.
 *   (2) The keys of one tenant, or of one run, share a prefix that no key of
 *       another tenant or run has (R1), so an iteration over that prefix cannot
 *       leave it.  The prefix ends after a name with a length, or is a whole
 *       key, so "ab" is never a prefix of "abc".
 *   (3) Numbers are big-endian, so that keys sort by them.
 *
 * A name at the end of a key sorts by its bytes (the runs of a tenant).  A name
 * in the middle sorts by its length first.  Values are little-endian
 * (record.c), because their order does not matter.
 */
#include "core/store/leveldb/key.h"

#include <assert.h>
#include <string.h>

enum { NAME_MAX_BYTES = UINT16_MAX };

bool mortise_key_is_name(const char *s)
{
    return strnlen(s, NAME_MAX_BYTES + 1) <= NAME_MAX_BYTES;
}

static void put_key_number(struct mortise_buf *k, uint64_t v)
{
    unsigned char be[8];

    for (int i = 0; i < 8; i++)
        be[i] = (unsigned char)(v >> (56 - 8 * i));
    mortise_buf_put(k, be, sizeof be);
}

static void put_key_name(struct mortise_buf *k, const char *s)
{
    size_t n = strlen(s);
    unsigned char be[2] = {(unsigned char)(n >> 8), (unsigned char)n};

    assert(n <= NAME_MAX_BYTES); /* leveldb.c rejects longer ones */
    mortise_buf_put(k, be, sizeof be);
    mortise_buf_put(k, s, n);
}

void mortise_key_prefix_of_tag(struct mortise_buf *k, enum mortise_key_tag tag)
{
    mortise_buf_clear(k);
    mortise_buf_put_u8(k, (uint8_t)tag);
}

void mortise_key_prefix_of_tenant(struct mortise_buf *k,
                                  enum mortise_key_tag tag, const char *tenant)
{
    mortise_key_prefix_of_tag(k, tag);
    put_key_name(k, tenant);
}

void mortise_key_prefix_of_run(struct mortise_buf *k, enum mortise_key_tag tag,
                               const char *tenant, const char *run)
{
    mortise_key_prefix_of_tenant(k, tag, tenant);
    put_key_name(k, run);
}

void mortise_key_commit(struct mortise_buf *k, uint64_t n)
{
    mortise_key_prefix_of_tag(k, MORTISE_KEY_COMMIT);
    put_key_number(k, n);
}

void mortise_key_deadline(struct mortise_buf *k, uint64_t ms,
                          const char *tenant, const char *run, const char *id)
{
    mortise_key_prefix_of_tag(k, MORTISE_KEY_DEADLINE);
    put_key_number(k, ms);
    put_key_name(k, tenant);
    put_key_name(k, run);
    mortise_buf_puts(k, id);
}

void mortise_key_graph(struct mortise_buf *k,
                       const uint8_t digest[MORTISE_DIGEST])
{
    mortise_key_prefix_of_tag(k, MORTISE_KEY_GRAPH);
    mortise_buf_put(k, digest, MORTISE_DIGEST);
}

void mortise_key_head(struct mortise_buf *k, const char *tenant,
                      const char *run)
{
    mortise_key_prefix_of_tenant(k, MORTISE_KEY_HEAD, tenant);
    mortise_buf_puts(k, run);
}

void mortise_key_checkpoint(struct mortise_buf *k, const char *tenant,
                            const char *run, uint64_t seq)
{
    mortise_key_prefix_of_run(k, MORTISE_KEY_CHECKPOINT, tenant, run);
    put_key_number(k, seq);
}

void mortise_key_mark(struct mortise_buf *k, const char *name)
{
    mortise_key_prefix_of_tag(k, MORTISE_KEY_MARK);
    mortise_buf_puts(k, name);
}

void mortise_key_kv(struct mortise_buf *k, const char *tenant,
                    const char *plugin, const void *key, size_t n)
{
    mortise_key_prefix_of_run(k, MORTISE_KEY_KV, tenant, plugin);
    mortise_buf_put(k, key, n);
}

void mortise_key_prefix_of_cached(struct mortise_buf *k, const char *tenant,
                                  const uint8_t digest[MORTISE_DIGEST])
{
    mortise_key_prefix_of_tenant(k, MORTISE_KEY_CACHED, tenant);
    mortise_buf_put(k, digest, MORTISE_DIGEST);
}

void mortise_key_cached(struct mortise_buf *k, const char *tenant,
                        const uint8_t digest[MORTISE_DIGEST], uint64_t n)
{
    mortise_key_prefix_of_cached(k, tenant, digest);
    put_key_number(k, n);
}

void mortise_key_age(struct mortise_buf *k, uint64_t n, const char *tenant,
                     const uint8_t digest[MORTISE_DIGEST])
{
    mortise_key_prefix_of_tag(k, MORTISE_KEY_AGE);
    put_key_number(k, n);
    put_key_name(k, tenant);
    mortise_buf_put(k, digest, MORTISE_DIGEST);
}

void mortise_key_pending(struct mortise_buf *k, const char *tenant,
                         const char *run, const char *id)
{
    mortise_key_prefix_of_run(k, MORTISE_KEY_PENDING, tenant, run);
    mortise_buf_puts(k, id);
}

void mortise_key_tombstone(struct mortise_buf *k, const char *tenant,
                           const char *run)
{
    mortise_key_prefix_of_tenant(k, MORTISE_KEY_TOMBSTONE, tenant);
    mortise_buf_puts(k, run);
}

void mortise_key_leaving(struct mortise_buf *k, const char *tenant,
                         const char *run)
{
    mortise_key_prefix_of_tenant(k, MORTISE_KEY_LEAVING, tenant);
    mortise_buf_puts(k, run);
}

void mortise_key_spawn(struct mortise_buf *k, const char *tenant,
                       const char *run, const char *id)
{
    mortise_key_prefix_of_run(k, MORTISE_KEY_SPAWN, tenant, run);
    mortise_buf_puts(k, id);
}

void mortise_key_child(struct mortise_buf *k, const char *tenant,
                       const char *child)
{
    mortise_key_prefix_of_tenant(k, MORTISE_KEY_CHILD, tenant);
    mortise_buf_puts(k, child);
}

void mortise_key_tree(struct mortise_buf *k, const char *tenant,
                      const char *origin)
{
    mortise_key_prefix_of_tenant(k, MORTISE_KEY_TREE, tenant);
    mortise_buf_puts(k, origin);
}

void mortise_key_purse(struct mortise_buf *k, const char *tenant,
                       const char *origin)
{
    mortise_key_prefix_of_tenant(k, MORTISE_KEY_PURSE, tenant);
    mortise_buf_puts(k, origin);
}

uint64_t mortise_key_read_number(struct mortise_reader *r)
{
    const unsigned char *be = mortise_read_bytes(r, 8);
    uint64_t v = 0;

    for (int i = 0; be != NULL && i < 8; i++)
        v = v << 8 | be[i];
    return v;
}

bool mortise_key_read_commit(uint64_t *number, const void *key, size_t n)
{
    struct mortise_reader r;
    uint8_t tag;

    mortise_reader_init(&r, key, n);
    tag = mortise_read_u8(&r);
    *number = mortise_key_read_number(&r);
    return tag == MORTISE_KEY_COMMIT && !r.bad && r.p == r.end;
}

/* Append n bytes of text to `names` as a C string. */
static void read_key_text(struct mortise_reader *r, struct mortise_buf *names,
                          size_t n)
{
    const char *p = mortise_read_bytes(r, n);

    if (p == NULL)
        return;
    if (memchr(p, '\0', n) != NULL)
        r->bad = true;
    mortise_buf_put(names, p, n);
    mortise_buf_put(names, "", 1);
}

void mortise_key_read_name(struct mortise_reader *r, struct mortise_buf *names)
{
    const unsigned char *be = mortise_read_bytes(r, 2);

    if (be != NULL)
        read_key_text(r, names, (size_t)(be[0] << 8 | be[1]));
}

void mortise_key_read_last(struct mortise_reader *r, struct mortise_buf *names)
{
    read_key_text(r, names, (size_t)(r->end - r->p));
}
