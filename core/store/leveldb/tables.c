/* tables.c -- read the tables of a database from LevelDB's MANIFEST; test if
 * LevelDB keeps them when it opens, and if it can open them.
 *
 * A MANIFEST is a log (logfile.c) whose records are changes.  A change is a
 * sequence of fields that begin with a varint (db/version_edit.cc of LevelDB):
 *
 *     1  the comparator's name    a slice: its length as a varint, its bytes
 *     2, 3, 4, 9  the first valid log, the next file, the last sequence
 *        number, an older log     a number: a varint
 *     5  compaction pointer of a level   the level, a slice
 *     6  a removed table                 its level and its number
 *     7  an added table   its level, number and size, and two slices
 *
 * When LevelDB opens a database, it removes a table (1) if the MANIFEST does
 * not name it, for instance after an interrupted write; and soon after (2) if
 * it merged it with others, which a thread of its own does if a level is too
 * large.  The limits are four tables in level 0, to which opening adds one per
 * log, 10 MiB in level 1, and ten times more in each following level
 * (kL0_CompactionTrigger, MaxBytesForLevel()).  LevelDB also merges a table
 * after a hundred searches that found nothing in it, but there are no searches
 * before the database is verified.
 */
#include "core/store/leveldb/tables.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/store/leveldb/dbfile.h"
#include "core/store/leveldb/directory.h"
#include "core/store/leveldb/logfile.h"

enum { LEVEL_0_MOST = 4, LEVEL_1_BYTES = 10 * 1024 * 1024 };
enum {
    /* maximum size of a MANIFEST; larger ones take too long */
    MOST = 4 * 1024 * 1024,
    /* minimum number of log bytes that become a table */
    LOG_A_TABLE = 128 * 1024
};

enum { CHECKSUM = 4 }; /* bytes, in a table */

enum field {
    COMPARATOR = 1,
    FIRST_LOG = 2,
    NEXT_FILE = 3,
    LAST_SEQUENCE = 4,
    MERGED_TO = 5,
    GONE = 6,
    ADDED = 7,
    OLDER_LOG = 9
};

/* ---- a change ------------------------------------------------------------ */

static void update_table_list(struct mortise_tables *t)
{
    t->list = (struct mortise_dbtable *)(void *)t->room.p;
    /* only whole tables are added and removed */
    assert(t->room.n % sizeof *t->list == 0);
    t->n = t->room.n / sizeof *t->list;
}

/* Search from the end: it is usually one of the newest. */
static void remove_table(struct mortise_tables *t, uint64_t number)
{
    size_t i;

    update_table_list(t);
    for (i = t->n; i > 0 && t->list[i - 1].number != number; i--)
        continue;
    if (i == 0)
        return;
    t->list[i - 1] = t->list[t->n - 1];
    t->room.n -= sizeof *t->list;
}

static void skip_slice(struct mortise_reader *r)
{
    size_t n;

    mortise_logfile_read_slice(r, &n);
}

static void read_removed_table(struct mortise_tables *t,
                               struct mortise_reader *r)
{
    mortise_logfile_read_number(r); /* the level */
    remove_table(t, mortise_logfile_read_number(r));
}

static void read_added_table(struct mortise_tables *t, struct mortise_reader *r)
{
    uint64_t level = mortise_logfile_read_number(r);
    struct mortise_dbtable table;

    table.number = mortise_logfile_read_number(r);
    table.bytes = mortise_logfile_read_number(r);
    skip_slice(r);
    skip_slice(r);
    r->bad = r->bad || level >= MORTISE_TABLE_LEVELS;
    table.level = (unsigned)level;
    mortise_buf_put(&t->room, &table, sizeof table);
}

static void read_manifest_field(struct mortise_tables *t,
                                struct mortise_reader *r)
{
    switch (mortise_logfile_read_number(r)) {
    case COMPARATOR:
        skip_slice(r);
        break;
    case FIRST_LOG:
    case NEXT_FILE:
    case LAST_SEQUENCE:
    case OLDER_LOG:
        mortise_logfile_read_number(r);
        break;
    case MERGED_TO:
        mortise_logfile_read_number(r);
        skip_slice(r);
        break;
    case GONE:
        read_removed_table(t, r);
        break;
    case ADDED:
        read_added_table(t, r);
        break;
    default:
        r->bad = true;
    }
}

static bool read_manifest_change(struct mortise_tables *t,
                                 const struct mortise_buf *record)
{
    struct mortise_reader r;

    mortise_reader_init(&r, record->p, record->n);
    while (!r.bad && r.p < r.end)
        read_manifest_field(t, &r);
    return !r.bad;
}

/* ---- all of them --------------------------------------------------------- */

static int compare_table_numbers(const void *a, const void *b)
{
    const struct mortise_dbtable *x = a, *y = b;

    return x->number < y->number ? -1 : x->number > y->number;
}

int mortise_tables_read(struct mortise_tables *t, int db, const char *manifest,
                        const struct mortise_mem *mem, struct mortise_err *err)
{
    struct mortise_logfile l;
    bool whole = true;
    int rv;

    mortise_buf_init(&t->room, mem);
    mortise_logfile_init(&l, mem);
    rv = mortise_logfile_load(&l, db, manifest, err);
    while (rv == MORTISE_OK && whole && mortise_logfile_next(&l))
        whole = read_manifest_change(t, &l.record);
    if (rv == MORTISE_OK && (l.record.failed || t->room.failed))
        rv = mortise_nomem(err);
    if (rv == MORTISE_OK && (!whole || l.damaged || l.bytes.n == 0))
        rv = MORTISE_ECORRUPT;
    mortise_logfile_finish(&l);
    update_table_list(t);
    if (t->n > 0)
        qsort(t->list, t->n, sizeof *t->list, compare_table_numbers);
    return rv;
}

static const struct mortise_dbtable *
find_manifest_table(const struct mortise_tables *t, const char *file)
{
    struct mortise_dbtable key = {.number = strtoull(file, NULL, 10)};

    assert(mortise_dbfile_kind(file) == MORTISE_DBFILE_TABLE);
    return t->n > 0
               ? bsearch(&key, t->list, t->n, sizeof key, compare_table_numbers)
               : NULL;
}

bool mortise_tables_has(const struct mortise_tables *t, const char *file)
{
    return find_manifest_table(t, file) != NULL;
}

uint64_t mortise_tables_size(const struct mortise_tables *t, const char *file)
{
    const struct mortise_dbtable *table = find_manifest_table(t, file);

    return table != NULL ? table->bytes : 0;
}

void mortise_tables_free(struct mortise_tables *t)
{
    mortise_buf_finish(&t->room);
}

/* ---- does it open? ------------------------------------------------------- */

/* Read n bytes of the file at offset `at`. */
static bool read_file_range(int fd, uint64_t at, size_t n,
                            struct mortise_buf *out)
{
    mortise_buf_clear(out);
    if (!mortise_buf_reserve(out, n) ||
        pread(fd, out->p, n, (off_t)at) != (ssize_t)n)
        return false;
    out->n = n;
    return true;
}

/* Get the position of the index from the footer (format.cc of LevelDB). */
static bool parse_table_footer(const struct mortise_buf *footer, uint64_t *at,
                               uint64_t *n)
{
    static const uint8_t magic[] = {0x57, 0xfb, 0x80, 0x8b,
                                    0x24, 0x75, 0x47, 0xdb};
    struct mortise_reader r;

    mortise_reader_init(&r, footer->p, footer->n - sizeof magic);
    mortise_logfile_read_number(&r); /* the index of meta blocks: its offset */
    mortise_logfile_read_number(&r); /* and its size */
    *at = mortise_logfile_read_number(&r);
    *n = mortise_logfile_read_number(&r);
    return !r.bad && memcmp(footer->p + footer->n - sizeof magic, magic,
                            sizeof magic) == 0;
}

/* Is the checksum right?  A block is its bytes, their compression type, and the
 * checksum of both. */
static bool is_block_checksum_valid(const struct mortise_buf *block)
{
    size_t n = block->n - CHECKSUM;
    struct mortise_reader r;

    mortise_reader_init(&r, block->p + n, CHECKSUM);
    return mortise_read_u32(&r) == mortise_logfile_checksum(block->p, n);
}

static bool can_open_table(int fd, uint64_t bytes, struct mortise_buf *room)
{
    uint64_t at, n;

    if (bytes < MORTISE_TABLE_FOOTER ||
        !read_file_range(fd, bytes - MORTISE_TABLE_FOOTER, MORTISE_TABLE_FOOTER,
                         room) ||
        !parse_table_footer(room, &at, &n) || at > bytes || n > bytes - at)
        return false;
    return read_file_range(fd, at, (size_t)n + 1 + CHECKSUM, room) &&
           is_block_checksum_valid(room);
}

bool mortise_tables_can_open(int db, const char *file, uint64_t bytes,
                             const struct mortise_mem *mem)
{
    int fd = openat(db, file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct mortise_buf room;
    struct stat st;
    bool rv;

    if (fd < 0)
        return false;
    if (bytes == 0 && fstat(fd, &st) == 0)
        bytes = (uint64_t)st.st_size;
    mortise_buf_init(&room, mem);
    rv = can_open_table(fd, bytes, &room) || room.failed;
    mortise_buf_finish(&room);
    close(fd);
    return rv;
}

/* ---- do they stay? ------------------------------------------------------- */

struct stay_search {
    struct mortise_tables named;
    char manifest[MORTISE_DBFILE_NAME];
    size_t tables, new_ones;
    bool strange;
};

/* The size of a regular file; more than any MANIFEST if it cannot
 * be examined. */
static off_t get_file_size(int db, const char *name)
{
    struct stat st;

    return fstatat(db, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                   S_ISREG(st.st_mode)
               ? st.st_size
               : MOST + 1;
}

/* Count the files that matter for (1). */
static int count_db_file(void *ud, int db, const char *name,
                         struct mortise_err *err)
{
    struct stay_search *l = ud;

    (void)err;
    switch (mortise_dbfile_kind(name)) {
    case MORTISE_DBFILE_TABLE:
        l->tables++;
        l->strange |= !mortise_tables_has(&l->named, name);
        break;
    case MORTISE_DBFILE_LOG:
        l->new_ones += 1 + (size_t)(get_file_size(db, name) / LOG_A_TABLE);
        break;
    /* is it left from an opening that was killed? */
    case MORTISE_DBFILE_MANIFEST:
        if (strcmp(name, l->manifest) != 0)
            l->strange = true;
        break;
    case MORTISE_DBFILE_CURRENT:
    case MORTISE_DBFILE_OTHER:
        break;
    }
    return MORTISE_OK;
}

/* Will LevelDB merge a level (2)? */
static bool is_merge_due(const struct stay_search *l)
{
    uint64_t bytes[MORTISE_TABLE_LEVELS] = {0}, most = LEVEL_1_BYTES;
    size_t in_level_0 = l->new_ones;

    for (size_t i = 0; i < l->named.n; i++) {
        assert(l->named.list[i].level <
               MORTISE_TABLE_LEVELS); /* checked by read_added_table() */
        bytes[l->named.list[i].level] += l->named.list[i].bytes;
        in_level_0 += l->named.list[i].level == 0;
    }
    for (unsigned level = 1; level < MORTISE_TABLE_LEVELS; level++) {
        if (bytes[level] >= most)
            return true;
        most *= 10;
    }
    return in_level_0 >= LEVEL_0_MOST;
}

int mortise_tables_are_stable(int db, bool *stay, const struct mortise_mem *mem,
                              struct mortise_err *err)
{
    struct stay_search l = {0};
    int rv;

    *stay = false;
    if (!mortise_dbfile_read_current(db, "CURRENT", l.manifest) ||
        get_file_size(db, l.manifest) > MOST)
        return MORTISE_OK;
    rv = mortise_tables_read(&l.named, db, l.manifest, mem, err);
    if (rv == MORTISE_OK)
        rv = mortise_directory_for_each(db, "db", count_db_file, &l, err);
    *stay = rv == MORTISE_OK && !l.strange && l.tables == l.named.n &&
            !is_merge_due(&l);
    mortise_tables_free(&l.named);
    return rv == MORTISE_ECORRUPT ? MORTISE_OK : rv;
}
