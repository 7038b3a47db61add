/* salvage.c -- copy the readable part of a damaged store into a new one.
 *
 * Guarantees:
 *
 *   (1) The damaged store is not changed.  Its tables are read from a copy
 *       (view.c), its logs in place (logfile.c).
 *   (2) A run is kept from its first commit to the last one before a gap.  It
 *       is found by any record of its own.  If its head is lost, or names a
 *       lost commit, a new head is made from the commits (salvage_runs.c).  A
 *       log has each batch with the head at that time; a run continues from the
 *       log as long as each commit follows the one before.
 *   (3) Losses are reported: each run that is left out or cut, the number of
 *       unreadable commits, and, if a part of a table is lost, that there may
 *       have been other runs.  If the newest commits are lost, each run that
 *       has not ended is named, because the lost commits may be of any run.  If
 *       the store's own mark is missing, the report says that the newest
 *       commits may be missing.
 *   (4) The new store is an ordinary store with the identity of the old one,
 *       which it replaces: other systems know by that identity which calls were
 *       made.  Ids of runs that are left out stay in use.  It becomes a store
 *       only when it is complete (unfinished.c).
 *   (5) A store of another format is rejected by its stamp before its database
 *       is opened: unknown records would be lost without a report.
 *   (6) Data with a wrong checksum is never used.  LevelDB also verifies
 *       checksums when it repairs or merges tables of the copy (view.c).
 *
 * LevelDB's iterators skip a block that they cannot read.  Cached results are
 * not copied.
 */
#include "tools/salvage/salvage.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/store/leveldb/aside.h"
#include "core/store/leveldb/dbfile.h"
#include "core/store/leveldb/directory.h"
#include "core/store/leveldb/logfile.h"
#include "tools/salvage/salvaging.h"

enum { COPY_MAX_RECORDS = 1000, COPY_MAX_BYTES = 1 << 20, MAX_LOGS = 64 };

/* Are records with this tag copied unchanged? */
static bool is_copied_tag(uint8_t tag)
{
    return tag != 0 && strchr("deghkmnpstxy", tag) != NULL;
}

/* ---- writing ------------------------------------------------------------ */

/* Note the number and the epoch of a batch; the new store continues
 * from there. */
static void note_batch(struct salvage *v, const void *key, size_t key_size,
                       const void *value, size_t value_size)
{
    struct mortise_batch batch;
    uint64_t n;

    if (!mortise_key_read_commit(&n, key, key_size) ||
        mortise_record_decode(&mortise_record_batch, &batch, value,
                              value_size) != MORTISE_OK)
        return;
    if (n > v->last)
        v->last = n;
    if (batch.epoch >= v->to->opening.epoch)
        v->to->opening.epoch = batch.epoch + 1;
}

/* Note the first gap in the batch numbers of the tables.  They are sorted,
 * without duplicates. */
static void note_gap(struct salvage *v, const void *key, size_t key_size)
{
    uint64_t n;

    if (!mortise_key_read_commit(&n, key, key_size))
        return;
    if (v->in_tables == 0)
        v->first_in_tables = n;
    else if (n > v->in_tables + 1 && v->gap == 0) {
        v->gap = v->in_tables + 1;
        v->gap_end = n - 1;
    }
    v->in_tables = n;
}

/* Find the data missing from the tables (3): a missing table leaves no other
 * trace than a gap. */
static void report_table_gap(struct salvage *v)
{
    uint64_t kept =
        mortise_ldb_first_of(MORTISE_COMMIT_RECORDS_MAX, v->in_tables);

    if (v->in_tables > 0 && v->first_in_tables > kept) {
        v->gap = kept;
        v->gap_end = v->first_in_tables - 1;
    }
    if (v->gap == 0 || v->out->holes)
        return; /* already reported */
    v->out->holes = true;
    mortise_salvage_report(
        v, "the data of batches %" PRIu64 " to %" PRIu64 " is missing", v->gap,
        v->gap_end);
}

/* Note the epoch of a head, too: the batches may be lost. */
static void note_head(struct salvage *v, const void *value, size_t n)
{
    struct mortise_head head;

    if (mortise_record_decode(&mortise_record_head, &head, value, n) ==
            MORTISE_OK &&
        head.epoch >= v->to->opening.epoch)
        v->to->opening.epoch = head.epoch + 1;
}

static int write_empty_batch(struct mortise_ldb *to,
                             leveldb_writebatch_t *batch, void *ud,
                             struct mortise_err *err)
{
    (void)ud;
    return mortise_ldb_write(to, batch, false, err);
}

/* ---- tables ------------------------------------------------------------- */

/* Copy the next records from v->it. */
static int copy_next_records(struct mortise_ldb *to,
                             leveldb_writebatch_t *batch, void *ud,
                             struct mortise_err *err)
{
    struct salvage *v = ud;
    size_t n = 0, bytes = 0;
    int rv = MORTISE_OK;

    /* the copy does not change the old store (1) */
    assert(to == v->to && to != v->from);
    for (; rv == MORTISE_OK && leveldb_iter_valid(v->it) &&
           n < COPY_MAX_RECORDS && bytes < COPY_MAX_BYTES;
         leveldb_iter_next(v->it)) {
        size_t key_size, value_size;
        const char *key = leveldb_iter_key(v->it, &key_size);
        const char *value = leveldb_iter_value(v->it, &value_size);

        note_batch(v, key, key_size, value, value_size);
        note_gap(v, key, key_size);
        if (key_size > 0 && key[0] == MORTISE_KEY_HEAD)
            note_head(v, value, value_size);
        if (key_size == 0 || !is_copied_tag((uint8_t)key[0]))
            continue;
        rv = mortise_salvage_put(to, batch, key, key_size, value, value_size);
        n++;
        bytes += key_size + value_size;
    }
    if (rv != MORTISE_OK)
        return mortise_nomem(err);
    return n > 0 ? mortise_ldb_write(to, batch, true, err) : MORTISE_OK;
}

static int copy_tables(struct salvage *v, struct mortise_err *err)
{
    struct mortise_err why;
    int rv = MORTISE_OK;

    v->it = leveldb_create_iterator(v->from->db, v->from->checked);
    leveldb_iter_seek_to_first(v->it);
    while (rv == MORTISE_OK && leveldb_iter_valid(v->it))
        rv = mortise_ldb_write_batch(v->to, copy_next_records, v, err);
    if (mortise_ldb_iter_destroy(v->it, MORTISE_OK, "tables are damaged",
                                 &why) != MORTISE_OK) {
        v->out->holes = true;
        mortise_salvage_report(v, "%s", why.msg);
    }
    report_table_gap(v);
    return rv;
}

/* Put each graph that the caller supplied, unless the new store has it. */
static int put_graphs(struct mortise_ldb *to, leveldb_writebatch_t *batch,
                      void *ud, struct mortise_err *err)
{
    struct salvage *v = ud;
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < v->how->n_graphs; i++) {
        const struct mortise_salvage_graph *g = &v->how->graphs[i];
        char *value;
        size_t n;

        mortise_key_graph(&to->key, g->digest);
        rv = mortise_ldb_get(to, to->checked, &to->key, &value, &n, err);
        leveldb_free(value);
        if (rv != MORTISE_ENOTFOUND)
            continue;
        mortise_buf_clear(&to->value);
        mortise_record_encode_graph(&to->value, g->files, g->n_files);
        rv = mortise_ldb_put(to, batch);
    }
    return mortise_salvage_write(to, batch, rv, err);
}

/* ---- logs --------------------------------------------------------------- */

static int parse_batch_ops(struct salvage *v, const struct mortise_buf *record)
{
    struct mortise_logop op;
    size_t at = 0;

    v->n_ops = 0;
    while (mortise_logfile_next_op(record, &at, &op)) {
        struct mortise_logop *grown = mortise_array_grow(
            v->mem, v->ops, v->n_ops, &v->cap_ops, sizeof *grown);

        if (grown == NULL)
            return MORTISE_ENOMEM;
        v->ops = grown;
        v->ops[v->n_ops++] = op;
    }
    return MORTISE_OK;
}

/* The newest head of the run v->key in this batch; NULL: none is put. */
static const struct mortise_logop *find_head_in_batch(const struct salvage *v)
{
    for (size_t i = v->n_ops; i-- > 0;)
        if (mortise_salvage_is_equal(&v->key, v->ops[i].key,
                                     v->ops[i].key_size))
            return v->ops[i].put ? &v->ops[i] : NULL;
    return NULL;
}

/* The number of the run's checkpoints in the batch, from after + 1
 * to `last`. */
static uint64_t count_new_checkpoints(struct salvage *v, const void *head,
                                      size_t n, uint64_t after, uint64_t last)
{
    uint64_t found = 0, seq;

    for (size_t i = 0; i < v->n_ops; i++)
        if (v->ops[i].put && v->ops[i].key[0] == MORTISE_KEY_CHECKPOINT &&
            mortise_salvage_decode_run(v, v->ops[i].key, v->ops[i].key_size,
                                       &seq))
            found += mortise_salvage_is_equal(&v->key, head, n) &&
                     seq > after && seq <= last;
    return found;
}

/* Do the run's commits in this batch follow those in the new store (2)?  The
 * run is that of v->key. */
static int is_next_in_run(struct salvage *v, bool *yes, struct mortise_err *err)
{
    const struct mortise_logop *op = find_head_in_batch(v);
    struct mortise_head head;
    uint64_t at, seq;
    int rv;

    *yes = false;
    if (op == NULL ||
        mortise_record_decode(&mortise_record_head, &head, op->value,
                              op->value_size) != MORTISE_OK)
        return MORTISE_OK;
    rv = mortise_salvage_find_stored(v, &at, err);
    if (rv != MORTISE_OK)
        return rv;
    *yes = head.seq > at && count_new_checkpoints(v, op->key, op->key_size, at,
                                                  head.seq) == head.seq - at;
    mortise_salvage_decode_run(v, op->key, op->key_size, &seq);
    return *yes ? MORTISE_OK : mortise_salvage_add_trouble(v, head.seq, 0, err);
}

/* Should this change of the batch be applied? */
static int is_change_applied(struct salvage *v, const struct mortise_logop *op,
                             bool *yes, struct mortise_err *err)
{
    uint64_t seq;

    *yes = op->key_size > 0 && is_copied_tag(op->key[0]);
    if (*yes && (op->key[0] == MORTISE_KEY_TOMBSTONE ||
                 op->key[0] == MORTISE_KEY_LEAVING))
        return MORTISE_OK;
    if (!*yes || !mortise_salvage_decode_run(v, op->key, op->key_size, &seq))
        return MORTISE_OK;
    if (!op->put && find_head_in_batch(v) == NULL)
        return MORTISE_OK; /* a removed run */
    return is_next_in_run(v, yes, err);
}

/* The number of the batch; 0: it has none, so no store wrote it. */
static uint64_t get_batch_number(struct salvage *v)
{
    for (size_t i = 0; i < v->n_ops; i++) {
        const struct mortise_logop *op = &v->ops[i];
        uint64_t n;

        if (!op->put || !mortise_key_read_commit(&n, op->key, op->key_size))
            continue;
        note_batch(v, op->key, op->key_size, op->value, op->value_size);
        return n;
    }
    return 0;
}

static int apply_batch(struct mortise_ldb *to, leveldb_writebatch_t *batch,
                       void *ud, struct mortise_err *err)
{
    struct salvage *v = ud;
    bool any = false;

    for (size_t i = 0; i < v->n_ops; i++) {
        const struct mortise_logop *op = &v->ops[i];
        bool yes;
        int rv = is_change_applied(v, op, &yes, err);

        if (rv == MORTISE_OK && yes)
            rv =
                mortise_salvage_put(to, batch, op->key, op->key_size,
                                    op->put ? op->value : NULL, op->value_size);
        if (rv != MORTISE_OK)
            return rv == MORTISE_ENOMEM ? mortise_nomem(err) : rv;
        any |= yes;
    }
    return any ? mortise_ldb_write(to, batch, true, err) : MORTISE_OK;
}

/* Apply a batch from a log, unless the tables have it. */
static int apply_log_record(struct salvage *v, const struct mortise_buf *record,
                            struct mortise_err *err)
{
    uint64_t before = v->last, n;

    if (record->failed || parse_batch_ops(v, record) != MORTISE_OK)
        return mortise_nomem(err);
    n = get_batch_number(v);
    if (n == 0 || n <= before)
        return MORTISE_OK;
    /* If data is missing, it may have had the numbers before the log. */
    if (v->logged || !v->out->holes)
        v->out->missing += n - before - 1;
    v->logged = true;
    return mortise_ldb_write_batch(v->to, apply_batch, v, err);
}

static int apply_log(struct salvage *v, int db, const char *name,
                     struct mortise_err *err)
{
    struct mortise_logfile l;
    int rv;

    if (!mortise_dbfile_is_regular(db, name)) {
        mortise_salvage_report(v, "db/%s is not a regular file", name);
        return MORTISE_OK;
    }
    mortise_logfile_init(&l, v->mem);
    rv = mortise_logfile_load(&l, db, name, err);
    while (rv == MORTISE_OK && mortise_logfile_next(&l))
        rv = apply_log_record(v, &l.record, err);
    if (l.damaged)
        mortise_salvage_report(
            v, "db/%s is damaged: only its readable part is used", name);
    mortise_logfile_finish(&l);
    return rv;
}

static int compare_log_numbers(const void *a, const void *b)
{
    const char *x = mortise_aside_strip_prefix(a),
               *y = mortise_aside_strip_prefix(b);
    unsigned long n = strtoul(x, NULL, 10), m = strtoul(y, NULL, 10);

    return n < m ? -1 : n > m;
}

/* The logs that are valid (view.c). */
struct log_list {
    char names[MAX_LOGS][64];
    size_t n;
    bool aside;
};

static int add_valid_log(void *ud, int db, const char *name,
                         struct mortise_err *err)
{
    struct log_list *l = ud;
    const char *was = mortise_aside_strip_prefix(name);

    (void)db;
    (void)err;
    if (l->n < MAX_LOGS && mortise_dbfile_kind(was) == MORTISE_DBFILE_LOG &&
        (was != name) == l->aside && strlen(name) < sizeof l->names[0])
        strcpy(l->names[l->n++], name);
    return MORTISE_OK;
}

/* Read the logs, oldest first. */
static int apply_logs(struct salvage *v, struct mortise_err *err)
{
    struct log_list l = {0};
    int db = v->from->copied;
    int rv = mortise_aside_is_complete(db, &l.aside, v->mem, err);

    if (rv == MORTISE_OK)
        rv = mortise_directory_for_each(db, "db", add_valid_log, &l, err);

    qsort(l.names, l.n, sizeof l.names[0], compare_log_numbers);
    for (size_t i = 0; rv == MORTISE_OK && i < l.n; i++)
        rv = apply_log(v, db, l.names[i], err);
    return rv;
}

/* ---- interface ---------------------------------------------------------- */

/* Find the store's identity (4): in a table, else in the mark, else a new one.
 * The mark of another store is ignored. */
static void find_identity(struct mortise_ldb *from)
{
    uint8_t id[MORTISE_STORE_ID];

    if (from->water.fd >= 0)
        memcpy(from->store.identity, from->water.identity, sizeof id);
    mortise_key_prefix_of_tag(&from->key, MORTISE_KEY_IDENTITY);
    if (mortise_ldb_get_record(from, from->checked, &from->key,
                               &mortise_record_identity, id, NULL,
                               NULL) != MORTISE_OK)
        return;
    if (memcmp(from->store.identity, id, sizeof id) != 0)
        mortise_highwater_close(&from->water);
    memcpy(from->store.identity, id, sizeof id);
}

/* Errors of a stamp that damage does not explain: an unfinished store, or
 * another format (5). */
static int fail_if_not_damage(int rv, const struct mortise_err *why,
                              struct mortise_err *err)
{
    if (rv != MORTISE_ESTATE && rv != MORTISE_EFORMAT)
        return MORTISE_OK;
    return mortise_fail(err, rv, "%s", why->msg);
}

/* Report a missing mark (3). */
static void report_missing_mark(struct salvage *v)
{
    v->out->unmarked = v->from->water.fd < 0;
    if (v->out->unmarked)
        mortise_salvage_report(
            v, "the file 'mark', which records the last commit, is missing: "
               "the newest commits may be missing, too");
}

/* Open a copy of the tables, and the mark if it can be read. */
static int open_damaged(struct mortise_ldb *from, bool *torn,
                        struct mortise_err *err)
{
    struct mortise_err why;
    bool stamped;
    int dir, rv = mortise_directory_open_existing(&dir, from->path, err);

    if (rv == MORTISE_OK)
        rv = mortise_ldb_lock(from, dir, true, err);
    if (rv == MORTISE_OK)
        rv = mortise_dir_lock_probe(dir, "db/LOCK", err);
    if (rv == MORTISE_OK)
        rv = fail_if_not_damage(
            mortise_directory_read_stamp(dir, &stamped, &why), &why, err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_highwater_open(&from->water, dir, false, NULL);
    rv = mortise_ldb_copy(from, dir, MORTISE_LOGS_NONE, err);
    if (rv == MORTISE_OK)
        rv = mortise_ldb_open_copy(from, torn, err);
    if (rv == MORTISE_OK)
        rv =
            fail_if_not_damage(mortise_ldb_verify_stamp(from, &why), &why, err);
    if (rv == MORTISE_OK)
        atomic_store(&from->dead, false);
    return rv;
}

uint64_t mortise_salvage_get_lost_count(const struct salvage *v)
{
    return v->from->water.fd >= 0 && v->from->water.number > v->last &&
                   (v->logged || !v->out->holes)
               ? v->from->water.number - v->last
               : 0;
}

static int copy_readable_data(struct salvage *v, struct mortise_err *err)
{
    int rv = copy_tables(v, err);

    if (rv == MORTISE_OK && v->how->n_graphs > 0)
        rv = mortise_ldb_write_batch(v->to, put_graphs, v, err);
    if (rv == MORTISE_OK)
        rv = mortise_salvage_make_heads(v, err);
    if (rv == MORTISE_OK)
        rv = apply_logs(v, err);
    if (rv == MORTISE_OK)
        rv = mortise_salvage_remove_unusable(v, err);
    v->out->missing += mortise_salvage_get_lost_count(v);
    if (rv == MORTISE_OK)
        rv = mortise_ldb_write_batch(v->to, write_empty_batch, v, err);
    return rv == MORTISE_OK ? mortise_ldb_mark_complete(v->to, err) : rv;
}

int mortise_store_salvage(const char *from, const char *to,
                          const struct mortise_mem *mem,
                          const struct mortise_salvage_callbacks *how,
                          struct mortise_salvage_result *out,
                          struct mortise_err *err)
{
    struct salvage v = {.mem = mem, .how = how, .out = out, .end = &v.first};
    struct mortise_buf *const bufs[] = {
        &v.key, &v.names, &v.id, &v.value, &v.graph_key, &v.name, &v.group.key};
    const size_t n_bufs = sizeof bufs / sizeof bufs[0];
    int rv;

    *out = (struct mortise_salvage_result){0};
    for (size_t i = 0; i < n_bufs; i++)
        mortise_buf_init(bufs[i], mem);
    mortise_table_init(&v.troubles, mem);
    v.from = mortise_ldb_new(from, mem);
    rv = v.from != NULL ? open_damaged(v.from, &out->holes, err)
                        : mortise_nomem(err);
    if (rv == MORTISE_OK && out->holes)
        mortise_salvage_report(&v,
                               "tables are missing, or damaged at their end");
    if (rv == MORTISE_OK) {
        find_identity(v.from);
        report_missing_mark(&v);
        rv = mortise_ldb_open_or_create(&v.to, to, v.from->store.identity, mem,
                                        err);
    }
    if (rv == MORTISE_OK)
        rv = copy_readable_data(&v, err);
    mortise_ldb_close(v.to);
    mortise_ldb_close(v.from);
    mortise_release(mem, v.ops, v.cap_ops * sizeof *v.ops);
    mortise_salvage_free_troubles(&v);
    for (size_t i = 0; i < n_bufs; i++)
        mortise_buf_finish(bufs[i]);
    return rv == MORTISE_OK ? rv
                            : mortise_err_prefix(err, rv, "salvage %s", from);
}
