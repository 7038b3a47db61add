/* salvage.c -- what can be read of a damaged store, into a new one.
 *
 * The promises:
 *
 *   (1) The damaged store is not changed: its tables are read in a copy
 *       (view.c), its logs as they are (logfile.c).
 *   (2) A run comes whole, from its first commit up to the last one that has
 *       all others before it: nothing behind a hole.  For tables, which have
 *       the newest head of a run alone, that means whole or not at all; a log
 *       has every batch, with the head as it was then, and a run goes on as
 *       long as each of its commits follows the one before.
 *   (3) What is left out is said: each run by name, and how many commits, of
 *       those that the mark says were synced, are in no batch that can be read.
 *   (4) The new store is one like any other, with the identity of the old one,
 *       by which others know what was done for it: it takes its place.
 *
 * Results that were kept to save calls are not taken along.
 */
#include "store/salvage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/aside.h"
#include "store/home.h"
#include "store/ldb.h"
#include "store/logfile.h"

enum { AT_ONCE = 1000, BYTES_AT_ONCE = 1 << 20, MAX_LOGS = 64 };

struct salvage {
    const struct mortise_mem *mem;
    struct mortise_store *from, *to;
    mortise_salvage_fn *say;
    void *ud;
    struct mortise_salvaged *out;
    uint64_t last;             /* the newest batch that was read */
    struct mortise_buf key;    /* of the head of a run */
    struct mortise_buf cut;    /* heads of runs that were cut: blobs */
    struct mortise_buf names;  /* of a key, as C strings */
    struct mortise_logop *ops; /* of a batch */
    size_t n_ops, cap_ops;
    leveldb_iterator_t *it;
};

static void say(struct salvage *v, const char *fmt, ...) MORTISE_PRINTF(2, 3);

static void say(struct salvage *v, const char *fmt, ...)
{
    char words[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(words, sizeof words, fmt, ap);
    va_end(ap);
    v->say(v->ud, words);
}

/* ---- keys --------------------------------------------------------------- */

/* Whose key is it?  Then tenant and run, one behind the other, are v->names,
 * and the key of its head is v->key; *seq is that of a checkpoint. */
static bool is_of_run(struct salvage *v, const void *key, size_t n,
                      uint64_t *seq)
{
    struct mortise_reader r;
    const char *run;
    uint8_t tag;

    mortise_reader_init(&r, key, n);
    tag = mortise_read_u8(&r);
    *seq = 0;
    mortise_buf_clear(&v->names);
    if (tag == MORTISE_KEY_DEADLINE)
        mortise_key_read_number(&r);
    else if (tag != MORTISE_KEY_HEAD && tag != MORTISE_KEY_CHECKPOINT &&
             tag != MORTISE_KEY_PENDING)
        return false;
    mortise_key_read_name(&r, &v->names);
    if (tag == MORTISE_KEY_HEAD)
        mortise_key_read_last(&r, &v->names);
    else
        mortise_key_read_name(&r, &v->names);
    if (tag == MORTISE_KEY_CHECKPOINT)
        *seq = mortise_key_read_number(&r);
    if (r.bad || v->names.failed)
        return false;
    run = v->names.p + strlen(v->names.p) + 1;
    mortise_key_head(&v->key, v->names.p, run);
    return true;
}

static const char *run_of(const struct salvage *v)
{
    return v->names.p + strlen(v->names.p) + 1;
}

static bool equals(const struct mortise_buf *b, const void *p, size_t n)
{
    return b->n == n && memcmp(b->p, p, n) == 0;
}

/* Is it one of those that are taken along as they are? */
static bool is_taken(uint8_t tag)
{
    return tag != 0 && strchr("dghkmnptx", tag) != NULL;
}

/* The number of the last commit of the run whose head is v->key, as the new
 * store has it; 0: none. */
static int stored_seq(struct salvage *v, uint64_t *seq, struct mortise_err *err)
{
    struct mortise_head head = {0};
    char *value;
    size_t n;
    int rv = mortise_ldb_get(v->to, v->to->checked, &v->key, &value, &n, err);

    *seq = 0;
    if (rv == MORTISE_ENOTFOUND)
        return MORTISE_OK;
    if (rv == MORTISE_OK &&
        mortise_record_read_head(&head, value, n) == MORTISE_OK)
        *seq = head.seq;
    leveldb_free(value);
    return rv;
}

/* ---- writing ------------------------------------------------------------ */

static int put(struct mortise_store *to, leveldb_writebatch_t *batch,
               const void *key, size_t key_size, const void *value,
               size_t value_size)
{
    mortise_buf_clear(&to->key);
    mortise_buf_put(&to->key, key, key_size);
    if (value == NULL)
        return mortise_ldb_drop(to, batch);
    mortise_buf_clear(&to->value);
    mortise_buf_put(&to->value, value, value_size);
    return mortise_ldb_put(to, batch);
}

/* A batch says of which opening it is: the new store goes on from there. */
static void note_batch(struct salvage *v, const void *key, size_t key_size,
                       const void *value, size_t value_size)
{
    struct mortise_batch batch;
    struct mortise_reader r;
    uint64_t n;

    mortise_reader_init(&r, key, key_size);
    mortise_read_u8(&r);
    n = mortise_key_read_number(&r);
    if (r.bad ||
        mortise_record_read_batch(&batch, value, value_size) != MORTISE_OK)
        return;
    if (n > v->last)
        v->last = n;
    if (batch.epoch >= v->to->opening.epoch)
        v->to->opening.epoch = batch.epoch + 1;
}

static int write_nothing(struct mortise_store *to, leveldb_writebatch_t *batch,
                         void *ud, struct mortise_err *err)
{
    (void)ud;
    return mortise_ldb_write(to, batch, false, err);
}

/* ---- tables ------------------------------------------------------------- */

/* Some more of what v->it goes over. */
static int copy_some(struct mortise_store *to, leveldb_writebatch_t *batch,
                     void *ud, struct mortise_err *err)
{
    struct salvage *v = ud;
    size_t n = 0, bytes = 0;
    int rv = MORTISE_OK;

    for (; rv == MORTISE_OK && leveldb_iter_valid(v->it) && n < AT_ONCE &&
           bytes < BYTES_AT_ONCE;
         leveldb_iter_next(v->it)) {
        size_t key_size, value_size;
        const char *key = leveldb_iter_key(v->it, &key_size);
        const char *value = leveldb_iter_value(v->it, &value_size);

        if (key_size > 0 && key[0] == MORTISE_KEY_COMMIT)
            note_batch(v, key, key_size, value, value_size);
        if (key_size == 0 || !is_taken((uint8_t)key[0]))
            continue;
        rv = put(to, batch, key, key_size, value, value_size);
        n++;
        bytes += key_size + value_size;
    }
    if (rv != MORTISE_OK)
        return mortise_nomem(err);
    return n > 0 ? mortise_ldb_write(to, batch, true, err) : MORTISE_OK;
}

static int copy_tables(struct salvage *v, struct mortise_err *err)
{
    char *said = NULL;
    int rv = MORTISE_OK;

    v->it = leveldb_create_iterator(v->from->db, v->from->checked);
    leveldb_iter_seek_to_first(v->it);
    while (rv == MORTISE_OK && leveldb_iter_valid(v->it))
        rv = mortise_ldb_batch(v->to, copy_some, v, err);
    leveldb_iter_get_error(v->it, &said);
    if (said != NULL) {
        struct mortise_err why;

        mortise_ldb_taken(said, &why, "tables are damaged");
        say(v, "%s", why.msg);
    }
    leveldb_iter_destroy(v->it);
    return rv;
}

/* ---- logs --------------------------------------------------------------- */

static int read_ops(struct salvage *v, const struct mortise_buf *record)
{
    struct mortise_logop op;
    size_t at = 0;

    v->n_ops = 0;
    while (mortise_logfile_op(record, &at, &op)) {
        struct mortise_logop *grown =
            mortise_grow(v->mem, v->ops, v->n_ops, &v->cap_ops, sizeof *grown);

        if (grown == NULL)
            return MORTISE_ENOMEM;
        v->ops = grown;
        v->ops[v->n_ops++] = op;
    }
    return MORTISE_OK;
}

/* The newest head of the run v->key in this batch; NULL: none is put. */
static const struct mortise_logop *head_in_batch(const struct salvage *v)
{
    for (size_t i = v->n_ops; i-- > 0;)
        if (equals(&v->key, v->ops[i].key, v->ops[i].key_size))
            return v->ops[i].put ? &v->ops[i] : NULL;
    return NULL;
}

/* How many of its checkpoints between `after` and `last` the batch puts. */
static uint64_t checkpoints_in_batch(struct salvage *v, const void *head,
                                     size_t n, uint64_t after, uint64_t last)
{
    uint64_t found = 0, seq;

    for (size_t i = 0; i < v->n_ops; i++)
        if (v->ops[i].put && v->ops[i].key[0] == MORTISE_KEY_CHECKPOINT &&
            is_of_run(v, v->ops[i].key, v->ops[i].key_size, &seq))
            found += equals(&v->key, head, n) && seq > after && seq <= last;
    return found;
}

/* A run does not go on here: said once. */
static void note_cut(struct salvage *v, uint64_t at)
{
    struct mortise_reader r;
    size_t n;

    mortise_reader_init(&r, v->cut.p, v->cut.n);
    while (r.p < r.end && !r.bad) {
        const char *key = mortise_read_blob(&r, &n);

        if (equals(&v->key, key, n))
            return;
    }
    mortise_buf_blob(&v->cut, v->key.p, v->key.n);
    if (at > 0) {
        v->out->cut++;
        say(v,
            "run %s: kept up to commit %" PRIu64
            "; the one behind it cannot be read",
            run_of(v), at);
    } else {
        v->out->dropped++;
        say(v, "run %s: left out; its beginning cannot be read", run_of(v));
    }
}

/* (2): do the commits of the run v->key in this batch follow what is there? */
static int follows(struct salvage *v, bool *yes, struct mortise_err *err)
{
    const struct mortise_logop *op = head_in_batch(v);
    struct mortise_head head;
    uint64_t at, seq;
    int rv;

    *yes = false;
    if (op == NULL || mortise_record_read_head(&head, op->value,
                                               op->value_size) != MORTISE_OK)
        return MORTISE_OK;
    rv = stored_seq(v, &at, err);
    if (rv != MORTISE_OK)
        return rv;
    *yes = head.seq > at && checkpoints_in_batch(v, op->key, op->key_size, at,
                                                 head.seq) == head.seq - at;
    is_of_run(v, op->key, op->key_size, &seq);
    if (!*yes)
        note_cut(v, at);
    return MORTISE_OK;
}

/* Does this change of the batch count? */
static int counts(struct salvage *v, const struct mortise_logop *op, bool *yes,
                  struct mortise_err *err)
{
    uint64_t seq;

    *yes = op->key_size > 0 && is_taken(op->key[0]);
    if (!*yes || !is_of_run(v, op->key, op->key_size, &seq))
        return MORTISE_OK;
    if (!op->put && head_in_batch(v) == NULL)
        return MORTISE_OK; /* a run that is removed */
    return follows(v, yes, err);
}

/* The batch's number; 0: it is none of ours. */
static uint64_t number_of(struct salvage *v)
{
    for (size_t i = 0; i < v->n_ops; i++)
        if (v->ops[i].put && v->ops[i].key_size == 9 &&
            v->ops[i].key[0] == MORTISE_KEY_COMMIT) {
            struct mortise_reader r;

            mortise_reader_init(&r, v->ops[i].key + 1, 8);
            note_batch(v, v->ops[i].key, v->ops[i].key_size, v->ops[i].value,
                       v->ops[i].value_size);
            return mortise_key_read_number(&r);
        }
    return 0;
}

static int apply_batch(struct mortise_store *to, leveldb_writebatch_t *batch,
                       void *ud, struct mortise_err *err)
{
    struct salvage *v = ud;
    bool any = false;

    for (size_t i = 0; i < v->n_ops; i++) {
        const struct mortise_logop *op = &v->ops[i];
        bool yes;
        int rv = counts(v, op, &yes, err);

        if (rv == MORTISE_OK && yes)
            rv = put(to, batch, op->key, op->key_size,
                     op->put ? op->value : NULL, op->value_size);
        if (rv != MORTISE_OK)
            return rv == MORTISE_ENOMEM ? mortise_nomem(err) : rv;
        any |= yes;
    }
    return any ? mortise_ldb_write(to, batch, true, err) : MORTISE_OK;
}

/* One batch that is not yet in a table. */
static int take_record(struct salvage *v, const struct mortise_buf *record,
                       struct mortise_err *err)
{
    uint64_t before = v->last, n;

    if (record->failed || read_ops(v, record) != MORTISE_OK)
        return mortise_nomem(err);
    n = number_of(v);
    if (n == 0 || n <= before)
        return MORTISE_OK;
    v->out->missing += n - before - 1;
    return mortise_ldb_batch(v->to, apply_batch, v, err);
}

static int take_log(struct salvage *v, int db, const char *name,
                    struct mortise_err *err)
{
    int fd = openat(db, name, O_RDONLY | O_CLOEXEC), rv = MORTISE_OK;
    struct mortise_logfile l;
    struct stat st;
    void *all;
    ssize_t n;

    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size == 0) {
        if (fd >= 0)
            close(fd);
        return fd < 0 ? mortise_syserr(err, errno, "open %s", name)
                      : MORTISE_OK;
    }
    all = mortise_alloc(v->mem, (size_t)st.st_size);
    n = all != NULL ? pread(fd, all, (size_t)st.st_size, 0) : -1;
    if (all == NULL)
        rv = mortise_nomem(err);
    else if (n < 0)
        rv = mortise_syserr(err, errno, "read %s", name);
    close(fd);
    mortise_logfile_init(&l, all, n > 0 ? (size_t)n : 0, v->mem);
    while (rv == MORTISE_OK && mortise_logfile_next(&l))
        rv = take_record(v, &l.record, err);
    if (l.damaged)
        say(v, "db/%s is damaged: what could be read of it is used", name);
    mortise_logfile_finish(&l);
    if (all != NULL)
        mortise_release(v->mem, all, (size_t)st.st_size);
    return rv;
}

static int by_number(const void *a, const void *b)
{
    const char *x = mortise_aside_name(a), *y = mortise_aside_name(b);
    unsigned long n = strtoul(x, NULL, 10), m = strtoul(y, NULL, 10);

    return n < m ? -1 : n > m;
}

/* Those that count (view.c), the oldest first. */
static int take_logs(struct salvage *v, struct mortise_err *err)
{
    char names[MAX_LOGS][64];
    int db =
        openat(v->from->hold.dir, "db", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool aside = db >= 0 && mortise_aside_is_whole(db);
    DIR *d = db >= 0 ? fdopendir(db) : NULL;
    struct dirent *e;
    int rv = MORTISE_OK;
    size_t n = 0;

    if (d == NULL) {
        rv = mortise_syserr(err, errno, "list db");
        if (db >= 0)
            close(db);
        return rv;
    }
    while (n < MAX_LOGS && (e = readdir(d)) != NULL) {
        const char *name = mortise_aside_name(e->d_name);

        if (mortise_aside_kind(name) == MORTISE_ASIDE_LOG &&
            (name != e->d_name) == aside && strlen(e->d_name) < 64)
            strcpy(names[n++], e->d_name);
    }
    qsort(names, n, sizeof names[0], by_number);
    for (size_t i = 0; rv == MORTISE_OK && i < n; i++)
        rv = take_log(v, db, names[i], err);
    closedir(d);
    return rv;
}

/* ---- runs that are not whole -------------------------------------------- */

static int count_checkpoint(void *ud, const struct mortise_checkpoint *cp)
{
    (void)cp;
    ++*(uint64_t *)ud;
    return 0;
}

/* How many requests of it are there. */
static uint64_t count_pending(struct salvage *v, const char *tenant,
                              const char *run)
{
    leveldb_iterator_t *it = leveldb_create_iterator(v->to->db, v->to->checked);
    uint64_t found = 0;

    mortise_key_of_run(&v->key, MORTISE_KEY_PENDING, tenant, run);
    for (leveldb_iter_seek(it, v->key.p, v->key.n); leveldb_iter_valid(it);
         leveldb_iter_next(it)) {
        size_t n;
        const char *p = leveldb_iter_key(it, &n);

        if (n < v->key.n || memcmp(p, v->key.p, v->key.n) != 0)
            break;
        found++;
    }
    leveldb_iter_destroy(it);
    return found;
}

/* Without it the run can neither go on nor be shown. */
static bool has_graph(struct salvage *v, const struct mortise_head *head)
{
    char *value;
    size_t n;
    int rv;

    mortise_key_graph(&v->key, head->graph);
    rv = mortise_ldb_get(v->to, v->to->checked, &v->key, &value, &n, NULL);
    leveldb_free(value);
    return rv == MORTISE_OK;
}

/* What a table had of a run may have a hole: then it is left out. */
static int judge_run(void *ud, const char *tenant, const char *run,
                     const struct mortise_head *head)
{
    struct salvage *v = ud;
    uint64_t n = 0;
    int rv = mortise_store_checkpoints(v->to, tenant, run, 1, count_checkpoint,
                                       &n, NULL);
    bool whole = rv == MORTISE_OK && n == head->seq;

    if (whole && has_graph(v, head)) {
        v->out->runs++;
        if (count_pending(v, tenant, run) != head->n_pending)
            say(v,
                "run %s: the inbox does not show all that it asks; 'show' does",
                run);
        return 0;
    }
    v->out->dropped++;
    if (whole)
        say(v, "run %s: left out; its graph cannot be read", run);
    else
        say(v,
            "run %s: left out; of its %" PRIu64 " commits, number %" PRIu64
            " cannot be read",
            run, head->seq, n + 1);
    mortise_key_head(&v->key, tenant, run);
    mortise_buf_blob(&v->cut, v->key.p, v->key.n);
    return 0;
}

static int drop_heads(struct mortise_store *to, leveldb_writebatch_t *batch,
                      void *ud, struct mortise_err *err)
{
    struct salvage *v = ud;
    struct mortise_reader r;
    int rv = MORTISE_OK;

    mortise_reader_init(&r, v->cut.p, v->cut.n);
    while (rv == MORTISE_OK && r.p < r.end && !r.bad) {
        size_t n;
        const char *key = mortise_read_blob(&r, &n);

        rv = put(to, batch, key, n, NULL, 0);
    }
    return rv == MORTISE_OK ? mortise_ldb_write(to, batch, true, err)
                            : mortise_nomem(err);
}

/* A few more of what no head counts. */
static int sweep_some(struct mortise_store *to, leveldb_writebatch_t *batch,
                      void *ud, struct mortise_err *err)
{
    struct salvage *v = ud;
    int rv = MORTISE_OK;
    size_t n = 0;

    for (; rv == MORTISE_OK && leveldb_iter_valid(v->it) && n < AT_ONCE;
         leveldb_iter_next(v->it)) {
        size_t size;
        const char *key = leveldb_iter_key(v->it, &size);
        uint64_t seq, at;

        if (!is_of_run(v, key, size, &seq))
            continue;
        rv = stored_seq(v, &at, err);
        if (rv == MORTISE_OK && (at == 0 || seq > at)) {
            rv = put(to, batch, key, size, NULL, 0);
            n++;
        }
    }
    if (rv != MORTISE_OK)
        return rv == MORTISE_ENOMEM ? mortise_nomem(err) : rv;
    return n > 0 ? mortise_ldb_write(to, batch, true, err) : MORTISE_OK;
}

static int leave_out(struct salvage *v, struct mortise_err *err)
{
    int rv;

    mortise_buf_clear(&v->cut);
    rv = mortise_store_heads(v->to, NULL, NULL, judge_run, v, err);
    if (rv == MORTISE_OK && v->cut.n > 0)
        rv = mortise_ldb_batch(v->to, drop_heads, v, err);
    v->it = leveldb_create_iterator(v->to->db, v->to->checked);
    leveldb_iter_seek_to_first(v->it);
    while (rv == MORTISE_OK && leveldb_iter_valid(v->it))
        rv = mortise_ldb_batch(v->to, sweep_some, v, err);
    leveldb_iter_destroy(v->it);
    return rv;
}

/* ---- all of it ---------------------------------------------------------- */

/* (4): from the mark, from a table, or made anew. */
static void find_identity(struct mortise_store *from)
{
    uint8_t id[MORTISE_STORE_ID];
    char *value;
    size_t n;

    if (from->water.fd >= 0) {
        memcpy(from->identity, from->water.identity, sizeof id);
        return;
    }
    mortise_key_of_tag(&from->key, MORTISE_KEY_IDENTITY);
    if (mortise_ldb_get(from, from->checked, &from->key, &value, &n, NULL) !=
        MORTISE_OK)
        return;
    if (mortise_record_read_identity(id, value, n) == MORTISE_OK)
        memcpy(from->identity, id, sizeof id);
    leveldb_free(value);
}

/* Its tables in a copy, its mark if that reads. */
static int open_damaged(struct mortise_store *from, struct mortise_err *err)
{
    int dir, rv = mortise_home_find(&dir, from->path, err);

    if (rv == MORTISE_OK)
        rv = mortise_ldb_hold(from, dir, err);
    if (rv == MORTISE_OK)
        rv = mortise_hold_probe(dir, "db/LOCK", err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_highwater_open(&from->water, dir, false, NULL);
    rv = mortise_ldb_copy(from, dir, false, err);
    if (rv == MORTISE_OK)
        rv = mortise_ldb_open_copy(from, err);
    if (rv == MORTISE_OK)
        atomic_store(&from->dead, false);
    return rv;
}

/* Nothing of somebody's is there. */
static int check_target(const char *to, struct mortise_err *err)
{
    DIR *d = opendir(to);
    struct dirent *e;
    bool empty = true;

    if (d == NULL)
        return errno == ENOENT ? MORTISE_OK
                               : mortise_syserr(err, errno, "open %s", to);
    while (empty && (e = readdir(d)) != NULL)
        empty = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
    closedir(d);
    return empty ? MORTISE_OK
                 : mortise_fail(err, MORTISE_EEXISTS,
                                "%s is not empty: name a new directory", to);
}

static int save(struct salvage *v, struct mortise_err *err)
{
    int rv = copy_tables(v, err);

    if (rv == MORTISE_OK)
        rv = take_logs(v, err);
    if (rv == MORTISE_OK)
        rv = leave_out(v, err);
    if (v->from->water.fd >= 0 && v->from->water.number > v->last)
        v->out->missing += v->from->water.number - v->last;
    return rv == MORTISE_OK ? mortise_ldb_batch(v->to, write_nothing, v, err)
                            : rv;
}

int mortise_store_salvage(const char *from, const char *to,
                          const struct mortise_mem *mem, mortise_salvage_fn *fn,
                          void *ud, struct mortise_salvaged *out,
                          struct mortise_err *err)
{
    struct salvage v = {.mem = mem, .say = fn, .ud = ud, .out = out};
    int rv = check_target(to, err);

    *out = (struct mortise_salvaged){0};
    if (rv != MORTISE_OK)
        return rv;
    mortise_buf_init(&v.key, mem);
    mortise_buf_init(&v.cut, mem);
    mortise_buf_init(&v.names, mem);
    v.from = mortise_ldb_new(from, mem);
    rv = v.from != NULL ? open_damaged(v.from, err) : mortise_nomem(err);
    if (rv == MORTISE_OK) {
        find_identity(v.from);
        rv = mortise_ldb_open_as(&v.to, to, v.from->identity, mem, err);
    }
    if (rv == MORTISE_OK)
        rv = save(&v, err);
    mortise_store_close(v.to);
    mortise_store_close(v.from);
    mortise_release(mem, v.ops, v.cap_ops * sizeof *v.ops);
    mortise_buf_finish(&v.names);
    mortise_buf_finish(&v.cut);
    mortise_buf_finish(&v.key);
    return rv == MORTISE_OK ? rv : mortise_doing(err, rv, "salvage %s", from);
}

static int check(struct mortise_store *s, struct mortise_err *err)
{
    int dir, rv = mortise_home_find(&dir, s->path, err);
    uint32_t format;

    if (rv == MORTISE_OK)
        rv = mortise_ldb_hold(s, dir, err);
    if (rv == MORTISE_OK)
        rv = mortise_hold_probe(dir, "db/LOCK", err);
    if (rv == MORTISE_OK)
        rv = mortise_ldb_read_mark(s, false, &format, err);
    if (rv == MORTISE_OK)
        rv = mortise_ldb_copy(s, dir, true, err);
    if (rv == MORTISE_OK)
        rv = mortise_ldb_open(s, false, err);
    return rv == MORTISE_OK ? mortise_ldb_verify(s, err) : rv;
}

int mortise_store_check(const char *path, const struct mortise_mem *mem,
                        struct mortise_err *err)
{
    struct mortise_store *s = mortise_ldb_new(path, mem);
    int rv = s != NULL ? check(s, err) : mortise_nomem(err);

    mortise_store_close(s);
    return rv;
}
