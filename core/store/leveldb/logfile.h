/* logfile.h -- LevelDB's log, read by us.  [any] */
#ifndef MORTISE_LEVELDB_LOGFILE_H
#define MORTISE_LEVELDB_LOGFILE_H

#include "core/base/buf.h"
#include "core/base/err.h"

/* What can be read of a log, one record after another. */
struct mortise_logfile {
    struct mortise_buf bytes; /* all of it */
    const uint8_t *p, *end, *begin;
    struct mortise_buf record; /* the one under way; lent to the caller */
    bool in_record;
    bool damaged; /* something was passed over, so far */
};

void mortise_logfile_init(struct mortise_logfile *l,
                          const struct mortise_mem *mem);
/* The whole of a file, by name in a directory. */
int mortise_logfile_load(struct mortise_logfile *l, int dir, const char *name,
                         struct mortise_err *err);
/* The next whole record, in l->record; false at the end.  l->record.failed: no
 * memory. */
bool mortise_logfile_next(struct mortise_logfile *l);
void mortise_logfile_finish(struct mortise_logfile *l);

/* Append a record to the bytes of a log, which begins with b. */
void mortise_logfile_write(struct mortise_buf *b,
                           const struct mortise_buf *record);

/* LevelDB's checksum of these bytes, as its logs and tables store it. */
uint32_t mortise_logfile_checksum(const void *p, size_t n);

/* LevelDB's numbers (varints) and slices (a length, that many bytes; lent) in a
 * record. */
uint64_t mortise_logfile_number(struct mortise_reader *r);
const uint8_t *mortise_logfile_slice(struct mortise_reader *r, size_t *n);

/* One change in a record that is a batch of them. */
struct mortise_logop {
    const uint8_t *key, *value;
    size_t key_size, value_size;
    bool put; /* else the key was deleted */
};
/* The next one; `at` is 0 at first.  False behind the last one, and for what is
 * no batch. */
bool mortise_logfile_op(const struct mortise_buf *record, size_t *at,
                        struct mortise_logop *op);

#endif
