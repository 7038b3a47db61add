/* record.h -- encode and decode the store's values; docs/format.md lists them.
 * [any]
 *
 * Decoded records borrow from the bytes.  MORTISE_ECORRUPT: the bytes are not
 * such a record.  MORTISE_EFORMAT: this build does not know their version. */
#ifndef MORTISE_LEVELDB_RECORD_H
#define MORTISE_LEVELDB_RECORD_H

#include "core/store/store.h"

/* the format that this build reads and writes */
enum { MORTISE_STORE_FORMAT = 1 };

/* The record of a batch, under its number. */
struct mortise_batch {
    uint64_t epoch;    /* of the opening that wrote it */
    /* the last number that this opening found; it verified all batches up
     * to it */
    uint64_t verified;
};

/* Checkpoints of a removed run that may still exist. */
struct mortise_leaving {
    uint64_t first, last;
};

/* MORTISE_EFORMAT: not our format. */
int mortise_stamp_check(uint32_t format, struct mortise_err *err);

/* The value of a plugin's key, or the result of a call; borrowed. */
struct mortise_value {
    const char *text; /* JSON */
    size_t size;
};

/* The handle that has this child; borrowed. */
struct mortise_child {
    const char *parent, *id;
};

/* The encoding of a struct. */
struct mortise_record {
    const char *what; /* name for messages */
    const struct mortise_field *fields;
    size_t n;
    /* validity check; NULL: any value is valid */
    bool (*is_sound)(const void *record);
};
extern const struct mortise_record
    mortise_record_stamp,        /* uint32_t: the format */
    mortise_record_batch,        /* struct mortise_batch */
    mortise_record_mark,         /* uint64_t */
    mortise_record_age,          /* uint64_t: size of a cached result */
    mortise_record_overdue_time, /* uint64_t */
    mortise_record_identity,     /* MORTISE_STORE_ID bytes */
    mortise_record_head,         /* struct mortise_head */
    mortise_record_checkpoint,   /* struct mortise_checkpoint without seq */
    mortise_record_pending,   /* struct mortise_pending without id and timer */
    mortise_record_deadline,  /* bool: true for a timer */
    mortise_record_kv,        /* struct mortise_value */
    mortise_record_cached,    /* struct mortise_value */
    mortise_record_tombstone, /* struct mortise_tombstone */
    mortise_record_leaving,   /* struct mortise_leaving */
    mortise_record_spawn,     /* struct mortise_spawn */
    mortise_record_child,     /* struct mortise_child */
    mortise_record_tree,      /* struct mortise_spawn_tree */
    mortise_record_purse;     /* struct mortise_spawn_budget */

/* Append the encoded record to b. */
void mortise_record_encode(struct mortise_buf *b,
                           const struct mortise_record *of, const void *record);
int mortise_record_decode(const struct mortise_record *of, void *out,
                          const void *p, size_t n);

/* Encode the files of a graph, the graph's own first. */
void mortise_record_encode_graph(struct mortise_buf *b,
                                 const struct mortise_source *files, size_t n);
/* Decode them, copied into the arena. */
int mortise_record_decode_graph(struct mortise_arena *a,
                                struct mortise_source **files, size_t *n_files,
                                const void *p, size_t n);

#endif
