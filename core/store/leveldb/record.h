/* record.h -- the store's values as bytes; docs/format.md lists them.  [any]
 *
 * What is read is lent by the bytes it was read from.  Reading gives
 * MORTISE_ECORRUPT for bytes that are no such record and MORTISE_EFORMAT for a
 * version that this build does not know. */
#ifndef MORTISE_LEVELDB_RECORD_H
#define MORTISE_LEVELDB_RECORD_H

#include "core/store/store.h"

enum { MORTISE_STORE_FORMAT = 1 }; /* what this build reads and writes */

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

/* MORTISE_EFORMAT when that is not ours. */
int mortise_stamp_check(uint32_t format, struct mortise_err *err);

/* What a plugin keeps under a key, or a call gave; lent. */
struct mortise_value {
    const char *text; /* JSON */
    size_t size;
};

/* The handle that a child has; lent. */
struct mortise_child {
    const char *parent, *id;
};

/* How a struct is stored. */
struct mortise_record {
    const char *what; /* in words */
    const struct mortise_field *fields;
    size_t n;
    bool (*is_sound)(const void *record); /* NULL: whatever it says */
};
extern const struct mortise_record
    mortise_record_stamp,      /* uint32_t: the format */
    mortise_record_batch,      /* struct mortise_batch */
    mortise_record_mark,       /* uint64_t */
    mortise_record_age,        /* uint64_t: the bytes of a result */
    mortise_record_noted,      /* uint64_t */
    mortise_record_identity,   /* MORTISE_STORE_ID bytes */
    mortise_record_head,       /* struct mortise_head */
    mortise_record_checkpoint, /* struct mortise_checkpoint without seq */
    mortise_record_pending,    /* struct mortise_pending without id and timer */
    mortise_record_deadline,   /* bool: is it a timer's? */
    mortise_record_kv,         /* struct mortise_value */
    mortise_record_cached,     /* struct mortise_value */
    mortise_record_tombstone,  /* struct mortise_tombstone */
    mortise_record_leaving,    /* struct mortise_leaving */
    mortise_record_spawn,      /* struct mortise_spawn */
    mortise_record_child,      /* struct mortise_child */
    mortise_record_tree,       /* struct mortise_spawn_tree */
    mortise_record_purse;      /* struct mortise_spawn_purse */

/* Append what `record` says to `b`. */
void mortise_record_put(struct mortise_buf *b, const struct mortise_record *of,
                        const void *record);
int mortise_record_read(const struct mortise_record *of, void *out,
                        const void *p, size_t n);

/* The files of a graph, the graph's own first. */
void mortise_record_put_graph(struct mortise_buf *b,
                              const struct mortise_source *files, size_t n);
/* Copied into the arena. */
int mortise_record_read_graph(struct mortise_arena *a,
                              struct mortise_source **files, size_t *n_files,
                              const void *p, size_t n);

#endif
