/* logfile.h -- read and write LevelDB's log format. [any] */
#ifndef MORTISE_LEVELDB_LOGFILE_H
#define MORTISE_LEVELDB_LOGFILE_H

#include "core/base/buf.h"
#include "core/base/err.h"

/* A reader of the records of a log that may be damaged. */
struct mortise_logfile {
    struct mortise_buf bytes; /* the whole log */
    const uint8_t *p, *end, *begin;
    struct mortise_buf record; /* the current record; the caller may read it */
    bool in_record;
    bool damaged; /* bytes have been skipped */
};

void mortise_logfile_init(struct mortise_logfile *l,
                          const struct mortise_mem *mem);
/* Load a whole file. */
int mortise_logfile_load(struct mortise_logfile *l, int dir, const char *name,
                         struct mortise_err *err);
/* Read the next complete record into l->record; false: at the end.
 * l->record.failed: out of memory. */
bool mortise_logfile_next(struct mortise_logfile *l);
void mortise_logfile_finish(struct mortise_logfile *l);

/* Append a record to a log, which begins at the start of b. */
void mortise_logfile_write(struct mortise_buf *b,
                           const struct mortise_buf *record);

/* LevelDB's checksum of these bytes, as stored in its logs and tables. */
uint32_t mortise_logfile_checksum(const void *p, size_t n);

/* Decode LevelDB's numbers (varints) and slices (a length and that many bytes,
 * which are borrowed). */
uint64_t mortise_logfile_read_number(struct mortise_reader *r);
const uint8_t *mortise_logfile_read_slice(struct mortise_reader *r, size_t *n);

/* One change of a batch. */
struct mortise_logop {
    const uint8_t *key, *value;
    size_t key_size, value_size;
    bool put; /* false: a deletion */
};
/* Decode the next change of a batch; start with *at = 0.  False: at the end, or
 * not a batch. */
bool mortise_logfile_next_op(const struct mortise_buf *record, size_t *at,
                             struct mortise_logop *op);

#endif
