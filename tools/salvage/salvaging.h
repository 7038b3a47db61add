/* salvaging.h -- what the parts of salvaging share: salvage.c reads the old
 * store, salvage_runs.c says what is a run.  Included by these alone. */
#ifndef MORTISE_TOOLS_SALVAGE_SALVAGING_H
#define MORTISE_TOOLS_SALVAGE_SALVAGING_H

#include "core/base/table.h"
#include "core/store/leveldb/ldb.h"
#include "tools/salvage/salvage.h"

/* A run that is not as it was. */
struct salvage_trouble {
    struct mortise_hashed link;
    struct salvage_trouble *next; /* in the order in which they were found */
    uint64_t known;               /* the highest number of a commit of it */
    uint64_t made;                /* its head was made anew, there; 0 */
    /* Made there since it had no head: it may have had more; 0. */
    uint64_t anew;
    bool told; /* a line names it */
    size_t n;
    char key[]; /* of its head */
};

/* The commits of one run in the tables, so far. */
struct salvage_group {
    struct mortise_buf key;   /* of its head; empty: none */
    uint64_t whole;           /* number of the last one with all before it */
    uint64_t newest, n;       /* highest number; how many there are */
    uint32_t status;          /* that it ended with; 0 */
    struct mortise_head head; /* as it would be at `whole` */
};

struct salvage {
    const struct mortise_mem *mem;
    struct mortise_ldb *from, *to;
    const struct mortise_salvage_how *how;
    struct mortise_salvaged *out;
    uint64_t last;            /* the newest batch that was read */
    uint64_t first_in_tables; /* the oldest batch of which a table told */
    uint64_t in_tables;       /* the newest of which a table told; 0: none */
    uint64_t gap, gap_end;    /* the first of those that no table told of,
                                     and the last of that gap; 0: none */
    uint32_t pinned;          /* bits: graphs handed in that a run pins */
    bool logged;              /* a batch was read from a log */
    struct mortise_buf key;   /* of the head of a run */
    struct mortise_buf names; /* of a key, as C strings */
    struct mortise_buf id;    /* of a request */
    struct mortise_buf value; /* a key that is looked for */
    struct mortise_buf graph_key; /* of the graph that `name` is of */
    struct mortise_buf name;
    struct salvage_group group;
    struct mortise_table troubles;
    struct salvage_trouble *first, **end;
    struct mortise_logop *ops; /* of a batch */
    size_t n_ops, cap_ops;
    leveldb_iterator_t *it;
};

void mortise_salvage_say(struct salvage *v, const char *fmt, ...)
    MORTISE_PRINTF(2, 3);

/* The logs were read: so many of the newest batches are known of, by the mark
 * alone.  Whose they were, nobody can tell. */
uint64_t mortise_salvage_behind(const struct salvage *v);

/* Whose key is it?  Then tenant and run, one behind the other, are v->names,
 * and the key of its head is v->key; *seq is that of a checkpoint. */
bool mortise_salvage_run_of(struct salvage *v, const void *key, size_t n,
                            uint64_t *seq);
bool mortise_salvage_equals(const struct mortise_buf *b, const void *p,
                            size_t n);
/* The number of the last commit of the run whose head is v->key, as the new
 * store has it; 0: none. */
int mortise_salvage_stored(struct salvage *v, uint64_t *seq,
                           struct mortise_err *err);
/* Put into a batch, or have it deleted (value NULL). */
int mortise_salvage_put(struct mortise_ldb *to, leveldb_writebatch_t *batch,
                        const void *key, size_t key_size, const void *value,
                        size_t value_size);
/* Putting into the batch gave `rv`: write it, if that went well. */
int mortise_salvage_write(struct mortise_ldb *to, leveldb_writebatch_t *batch,
                          int rv, struct mortise_err *err);
/* The run v->key had a commit of that number, and is not there up to it. */
int mortise_salvage_note(struct salvage *v, uint64_t known, uint64_t anew,
                         struct mortise_err *err);

/* What the tables gave: every run with the head that its commits allow. */
int mortise_salvage_make_heads(struct salvage *v, struct mortise_err *err);
/* All is read: leave out what is of no use, and say so. */
int mortise_salvage_leave_out(struct salvage *v, struct mortise_err *err);
void mortise_salvage_forget(struct salvage *v);

#endif
