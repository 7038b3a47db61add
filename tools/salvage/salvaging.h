/* salvaging.h -- shared by the files of salvage: salvage.c reads the old store,
 * salvage_runs.c decides which records of each run are kept.  Only these files
 * include it. */
#ifndef MORTISE_TOOLS_SALVAGE_SALVAGING_H
#define MORTISE_TOOLS_SALVAGE_SALVAGING_H

#include "core/base/table.h"
#include "core/store/leveldb/ldb.h"
#include "tools/salvage/salvage.h"

/* A run that is not complete. */
struct salvage_trouble {
    struct mortise_table_entry link;
    struct salvage_trouble *next; /* in the order of discovery */
    uint64_t known;               /* its highest known commit number */
    uint64_t made;                /* last commit of a new head; 0: none */
    /* If the run had no head: the same number as `made`, because the run may
     * have had more commits than that.  0: the run had a head. */
    uint64_t anew;
    bool told; /* it has been reported */
    size_t n;
    char key[]; /* key of its head */
};

/* The commits of one run in the tables, so far. */
struct salvage_group {
    struct mortise_buf key; /* key of its head; empty: no run */
    uint64_t whole;     /* number of the last commit without a gap before it */
    uint64_t newest, n; /* the highest number, and the count */
    uint32_t status;    /* with which it ended; 0: it has not */
    struct mortise_head head; /* the head at commit `whole` */
};

struct salvage {
    const struct mortise_mem *mem;
    struct mortise_ldb *from, *to;
    const struct mortise_salvage_callbacks *how;
    struct mortise_salvage_result *out;
    uint64_t last;            /* the newest batch read */
    uint64_t first_in_tables; /* the oldest batch in the tables */
    uint64_t in_tables;       /* the newest batch in the tables; 0: none */
    /* first and last number of the first gap in the tables; 0: none */
    uint64_t gap, gap_end;
    uint32_t pinned;              /* bits: supplied graphs that a run uses */
    bool logged;                  /* a batch was read from a log */
    struct mortise_buf key;       /* of the head of the current run */
    struct mortise_buf names;     /* names in the current key, as C strings */
    struct mortise_buf id;        /* of the current request */
    struct mortise_buf value;     /* scratch: a key to look up */
    struct mortise_buf graph_key; /* of the graph that has `name` */
    struct mortise_buf name;
    struct salvage_group group;
    struct mortise_table troubles;
    struct salvage_trouble *first, **end;
    struct mortise_logop *ops; /* of a batch */
    size_t n_ops, cap_ops;
    leveldb_iterator_t *it;
};

void mortise_salvage_report(struct salvage *v, const char *fmt, ...)
    MORTISE_PRINTF(2, 3);

/* The number of newest batches that are known only by the mark.  They may be of
 * any run.  Call it after the logs have been read. */
uint64_t mortise_salvage_get_lost_count(const struct salvage *v);

/* Decode the run of a key: v->names becomes its tenant and id, one after the
 * other, v->key the key of its head, and *seq the number of a checkpoint.
 * False: the key is of no run. */
bool mortise_salvage_decode_run(struct salvage *v, const void *key, size_t n,
                                uint64_t *seq);
bool mortise_salvage_is_equal(const struct mortise_buf *b, const void *p,
                              size_t n);
/* The number of the last commit in the new store of the run with the head
 * v->key; 0: none. */
int mortise_salvage_find_stored(struct salvage *v, uint64_t *seq,
                                struct mortise_err *err);
/* Put a record into a batch, or delete it (value NULL). */
int mortise_salvage_put(struct mortise_ldb *to, leveldb_writebatch_t *batch,
                        const void *key, size_t key_size, const void *value,
                        size_t value_size);
/* Write the batch if `rv`, the result of putting into it, is MORTISE_OK. */
int mortise_salvage_write(struct mortise_ldb *to, leveldb_writebatch_t *batch,
                          int rv, struct mortise_err *err);
/* Record that the run v->key had a commit `known`, and is incomplete. */
int mortise_salvage_add_trouble(struct salvage *v, uint64_t known,
                                uint64_t anew, struct mortise_err *err);

/* After the tables: give every run the head that its commits allow. */
int mortise_salvage_make_heads(struct salvage *v, struct mortise_err *err);
/* After the logs: remove unusable records, and report them. */
int mortise_salvage_remove_unusable(struct salvage *v, struct mortise_err *err);
void mortise_salvage_free_troubles(struct salvage *v);

#endif
