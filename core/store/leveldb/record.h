/* record.h -- the store's values as bytes; docs/format.md lists them.  [any]
 *
 * What is read is lent by the bytes it was read from.  Reading gives
 * MORTISE_ECORRUPT for bytes that are no such record and MORTISE_ENEWER for a
 * version that this build does not know. */
#ifndef MORTISE_LEVELDB_RECORD_H
#define MORTISE_LEVELDB_RECORD_H

#include "store/store.h"

enum {
    MORTISE_STORE_FORMAT = 2, /* what this build writes */
    MORTISE_STORE_OLDEST = 1, /* the oldest format whose readers can read it */
    MORTISE_STORE_MARKED = 2  /* the first one that has a mark */
};

/* What a batch says of itself under its number. */
struct mortise_batch {
    uint64_t epoch;    /* of the opening that wrote it */
    uint64_t verified; /* the last number that this opening found, and checked
                        * all up to it */
};

/* Checkpoints of a removed run that may still be there. */
struct mortise_leaving {
    uint64_t first, last;
};

/* Which formats may read a store. */
struct mortise_stamp {
    uint32_t format, oldest;
};
/* MORTISE_ENEWER when that is not us. */
int mortise_stamp_check(const struct mortise_stamp *st,
                        struct mortise_err *err);

/* Each appends one value to `b`. */
void mortise_record_stamp(struct mortise_buf *b);
void mortise_record_batch(struct mortise_buf *b,
                          const struct mortise_batch *batch);
void mortise_record_mark(struct mortise_buf *b, uint64_t value);
void mortise_record_identity(struct mortise_buf *b,
                             const uint8_t id[MORTISE_STORE_ID]);
void mortise_record_head(struct mortise_buf *b, const struct mortise_head *h);
void mortise_record_checkpoint(struct mortise_buf *b,
                               const struct mortise_checkpoint *cp);
void mortise_record_pending(struct mortise_buf *b,
                            const struct mortise_pending *p);
void mortise_record_deadline(struct mortise_buf *b, bool timer);
void mortise_record_kv(struct mortise_buf *b, const char *value, size_t size);
void mortise_record_graph(struct mortise_buf *b,
                          const struct mortise_source *files, size_t n);

void mortise_record_tombstone(struct mortise_buf *b,
                              const struct mortise_tombstone *t);
void mortise_record_leaving(struct mortise_buf *b,
                            const struct mortise_leaving *l);

int mortise_record_read_stamp(struct mortise_stamp *out, const void *p,
                              size_t n);
int mortise_record_read_batch(struct mortise_batch *out, const void *p,
                              size_t n);
int mortise_record_read_mark(uint64_t *value, const void *p, size_t n);
int mortise_record_read_identity(uint8_t id[MORTISE_STORE_ID], const void *p,
                                 size_t n);
int mortise_record_read_head(struct mortise_head *out, const void *p, size_t n);
/* Leaves seq, which is in the key. */
int mortise_record_read_checkpoint(struct mortise_checkpoint *out,
                                   const void *p, size_t n);
/* Leaves id, which is in the key. */
int mortise_record_read_pending(struct mortise_pending *out, const void *p,
                                size_t n);
int mortise_record_read_deadline(bool *timer, const void *p, size_t n);
int mortise_record_read_kv(const char **value, size_t *size, const void *p,
                           size_t n);
int mortise_record_read_tombstone(struct mortise_tombstone *out, const void *p,
                                  size_t n);
int mortise_record_read_leaving(struct mortise_leaving *out, const void *p,
                                size_t n);
/* Copied into the arena. */
int mortise_record_read_graph(struct mortise_arena *a,
                              struct mortise_source **files, size_t *n_files,
                              const void *p, size_t n);

#endif
