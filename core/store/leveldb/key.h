/* key.h -- encode and decode the store's keys; docs/format.md lists them. [any]
 */
#ifndef MORTISE_LEVELDB_KEY_H
#define MORTISE_LEVELDB_KEY_H

#include "core/base/buf.h"
#include "core/base/hash.h"

/* The first byte of a key, and the components that follow. */
enum mortise_key_tag {
    MORTISE_KEY_PURSE = 'b',        /* tenant, run */
    MORTISE_KEY_COMMIT = 'c',       /* number */
    MORTISE_KEY_DEADLINE = 'd',     /* number, tenant, run, id */
    MORTISE_KEY_TREE = 'e',         /* tenant, run */
    MORTISE_KEY_GRAPH = 'g',        /* digest */
    MORTISE_KEY_HEAD = 'h',         /* tenant, run */
    MORTISE_KEY_IDENTITY = 'i',     /* nothing */
    MORTISE_KEY_CHECKPOINT = 'k',   /* tenant, run, number */
    MORTISE_KEY_MARK = 'm',         /* name */
    MORTISE_KEY_KV = 'n',           /* tenant, plugin, bytes */
    MORTISE_KEY_AGE = 'o',          /* number, tenant, digest */
    MORTISE_KEY_PENDING = 'p',      /* tenant, run, id */
    MORTISE_KEY_CACHED = 'r',       /* tenant, digest, number */
    MORTISE_KEY_SPAWN = 's',        /* tenant, run, id */
    MORTISE_KEY_TOMBSTONE = 't',    /* tenant, run */
    MORTISE_KEY_STAMP = 'v',        /* nothing */
    MORTISE_KEY_OVERDUE_TIME = 'w', /* nothing */
    MORTISE_KEY_LEAVING = 'x',      /* tenant, run */
    MORTISE_KEY_CHILD = 'y'         /* tenant, child */
};

/* Can it be a name in a key, of at most 65,535 bytes? */
bool mortise_key_is_name(const char *s);

/* Each clears `k` and writes one key.  The caller has checked the names. */
void mortise_key_commit(struct mortise_buf *k, uint64_t n);
void mortise_key_deadline(struct mortise_buf *k, uint64_t ms,
                          const char *tenant, const char *run, const char *id);
void mortise_key_graph(struct mortise_buf *k,
                       const uint8_t digest[MORTISE_DIGEST]);
void mortise_key_head(struct mortise_buf *k, const char *tenant,
                      const char *run);
void mortise_key_checkpoint(struct mortise_buf *k, const char *tenant,
                            const char *run, uint64_t seq);
void mortise_key_mark(struct mortise_buf *k, const char *name);
void mortise_key_kv(struct mortise_buf *k, const char *tenant,
                    const char *plugin, const void *key, size_t n);
void mortise_key_cached(struct mortise_buf *k, const char *tenant,
                        const uint8_t digest[MORTISE_DIGEST], uint64_t n);
void mortise_key_age(struct mortise_buf *k, uint64_t n, const char *tenant,
                     const uint8_t digest[MORTISE_DIGEST]);
void mortise_key_pending(struct mortise_buf *k, const char *tenant,
                         const char *run, const char *id);
void mortise_key_tombstone(struct mortise_buf *k, const char *tenant,
                           const char *run);
void mortise_key_leaving(struct mortise_buf *k, const char *tenant,
                         const char *run);
void mortise_key_spawn(struct mortise_buf *k, const char *tenant,
                       const char *run, const char *id);
void mortise_key_child(struct mortise_buf *k, const char *tenant,
                       const char *child);
void mortise_key_tree(struct mortise_buf *k, const char *tenant,
                      const char *origin);
void mortise_key_purse(struct mortise_buf *k, const char *tenant,
                       const char *origin);

/* Prefixes: of all keys with one tag, of one tenant, of one run, of
 * one result. */
void mortise_key_prefix_of_tag(struct mortise_buf *k, enum mortise_key_tag tag);
void mortise_key_prefix_of_tenant(struct mortise_buf *k,
                                  enum mortise_key_tag tag, const char *tenant);
void mortise_key_prefix_of_run(struct mortise_buf *k, enum mortise_key_tag tag,
                               const char *tenant, const char *run);
void mortise_key_prefix_of_cached(struct mortise_buf *k, const char *tenant,
                                  const uint8_t digest[MORTISE_DIGEST]);

/* Decode a key after its tag.  Names are appended to `names` with a NUL; a NUL
 * inside a name makes the reader bad. */
uint64_t mortise_key_read_number(struct mortise_reader *r);
void mortise_key_read_name(struct mortise_reader *r, struct mortise_buf *names);
void mortise_key_read_last(struct mortise_reader *r, struct mortise_buf *names);
/* Decode a whole key; false: it is not the key of a commit. */
bool mortise_key_read_commit(uint64_t *number, const void *key, size_t n);

#endif
