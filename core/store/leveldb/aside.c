/* aside.c -- keep the files of a database aside until it is verified.
 *
 * When LevelDB opens a database, it writes the content of its log to a table,
 * makes a new MANIFEST and a CURRENT that names it, removes the old MANIFEST
 * and log, and may begin to merge tables.  All that happens before we can check
 * that it found the data that was written.  If a log has a damaged header,
 * LevelDB reads a part of it and removes the rest.  So the files are first
 * linked aside: db/000005.log as db/aside.000005.log, which LevelDB ignores.
 * Guarantees:
 *
 *   (1) Until the database is verified, all its previous files exist, whatever
 *       LevelDB does and whenever the process is killed. aside.CURRENT is
 *       linked last and unlinked first: if it exists, the others exist.
 *   (2) The files aside are older than any write.  They are dropped, durably,
 *       before the first write (the caller syncs the directory).  So if an
 *       opening is killed, the next one keeps the same files aside, and putting
 *       them back loses nothing.
 *   (3) Putting the files back can be interrupted and repeated.
 *   (4) Tables are put aside only if LevelDB would remove one (tables.c).  If
 *       LevelDB merged and removed a table all the same, its new tables are
 *       valid and nothing is put back.
 *   (5) A table is put aside once, not at each opening, and its second link
 *       stays after the store is verified.  A merge that is due stays due after
 *       an opening that only reads, and linking costs about 100 us a table, as
 *       much as the rest of an opening.  Such a link alone means nothing;
 *       aside.CURRENT does (1).  It does not waste space for long, because the
 *       store removes links of removed tables when it writes and closes.  A
 *       table that something other than LevelDB removed is restored from its
 *       link.
 *
 * A link takes microseconds.  On a file system without links, files are copied;
 * tables, which may be large and which LevelDB removes only after merging them,
 * are then not put aside.
 */
#include "core/store/leveldb/aside.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/store/leveldb/dbfile.h"
#include "core/store/leveldb/directory.h"
#include "core/store/leveldb/tables.h"

#define PREFIX "aside."
static const char current[] = "CURRENT", current_aside[] = PREFIX "CURRENT",
                  half_done[] = MORTISE_ASIDE_TEMP_NAME;

enum { NAME_ROOM = NAME_MAX + 1 };

static bool has_aside_prefix(const char *name)
{
    return strncmp(name, PREFIX, sizeof PREFIX - 1) == 0;
}

const char *mortise_aside_strip_prefix(const char *name)
{
    return has_aside_prefix(name) ? name + sizeof PREFIX - 1 : name;
}

/* Does LevelDB replace this file when it opens? */
static bool is_short_lived(const char *name)
{
    enum mortise_dbfile kind = mortise_dbfile_kind(name);

    return kind == MORTISE_DBFILE_LOG || kind == MORTISE_DBFILE_MANIFEST;
}

static bool is_table(const char *name)
{
    return mortise_dbfile_kind(name) == MORTISE_DBFILE_TABLE;
}

static bool is_table_aside(const char *name)
{
    return has_aside_prefix(name) && is_table(mortise_aside_strip_prefix(name));
}

static bool has_db_name(int db, const char *name)
{
    struct stat st;

    return fstatat(db, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- names in the directory ---------------------------------------------- */

static int each_db_name(int db, mortise_directory_each_fn *fn, void *ud,
                        struct mortise_err *err)
{
    return mortise_directory_for_each(db, "db", fn, ud, err);
}

static int fail_replaced_file(const char *name, struct mortise_err *err)
{
    return mortise_fail(err, MORTISE_ECORRUPT,
                        "db/%s is not a regular file: it was replaced", name);
}

static int check_is_file(void *ud, int db, const char *name,
                         struct mortise_err *err)
{
    (void)ud;
    if (mortise_dbfile_kind(mortise_aside_strip_prefix(name)) ==
            MORTISE_DBFILE_OTHER ||
        /* then it is no link to a table, and is dropped (5) */
        is_table_aside(name) || mortise_dbfile_is_regular(db, name))
        return MORTISE_OK;
    return fail_replaced_file(name, err);
}

int mortise_aside_check(int db, struct mortise_err *err)
{
    return each_db_name(db, check_is_file, NULL, err);
}

static int unlink_db_file(int db, const char *name, struct mortise_err *err)
{
    if (unlinkat(db, name, 0) == 0 || errno == ENOENT)
        return MORTISE_OK;
    return errno == EISDIR ? fail_replaced_file(name, err)
                           : mortise_syserr(err, errno, "remove db/%s", name);
}

static bool is_same_file(int db, const char *a, const char *b)
{
    struct stat x, y;

    return fstatat(db, a, &x, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstatat(db, b, &y, AT_SYMLINK_NOFOLLOW) == 0 &&
           x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Are both names links to one file?  After an opening that was undone, LevelDB
 * can use a table's number again for another file. */
static bool is_link(int db, const char *name)
{
    assert(is_table_aside(name));
    return is_same_file(db, name, mortise_aside_strip_prefix(name));
}

static int unlink_if_aside(void *ud, int db, const char *name,
                           struct mortise_err *err)
{
    (void)ud;
    return has_aside_prefix(name) ? unlink_db_file(db, name, err) : MORTISE_OK;
}

static int drop_but_tables(void *ud, int db, const char *name,
                           struct mortise_err *err)
{
    return is_table_aside(name) ? MORTISE_OK
                                : unlink_if_aside(ud, db, name, err);
}

static int drop_but_links(void *ud, int db, const char *name,
                          struct mortise_err *err)
{
    return is_table_aside(name) && is_link(db, name)
               ? MORTISE_OK
               : unlink_if_aside(ud, db, name, err);
}

/* Drop the link of a removed table.  `ud` is a bool: some link remains. */
static int sweep_stale_link(void *ud, int db, const char *name,
                            struct mortise_err *err)
{
    bool *remains = ud;

    if (!is_table_aside(name))
        return MORTISE_OK;
    if (!has_db_name(db, mortise_aside_strip_prefix(name)))
        return unlink_db_file(db, name, err);
    *remains = true;
    return MORTISE_OK;
}

/* Give a file a second name.  If it is copied, the copy gets the name when it
 * is complete. */
static int add_second_name(int db, const char *name, const char *as,
                           bool may_copy, struct mortise_err *err)
{
    assert(strcmp(name, as) != 0);
    int rv = mortise_directory_link_file(db, name, db, as, err);

    if (rv != MORTISE_ESTATE)
        return rv;
    if (!may_copy)
        return MORTISE_OK;
    rv = mortise_directory_copy_file(db, name, db, half_done, err);
    if (rv == MORTISE_OK && renameat(db, half_done, db, as) != 0)
        rv = mortise_syserr(err, errno, "rename db/%s", half_done);
    return rv;
}

/* Put one file aside.  `ud` is a bool: tables, too. */
static int take_aside(void *ud, int db, const char *name,
                      struct mortise_err *err)
{
    const bool *tables = ud;
    char as[NAME_ROOM];

    if (!is_short_lived(name) && !(*tables && is_table(name)))
        return MORTISE_OK;
    snprintf(as, sizeof as, PREFIX "%s", name);
    if (is_table(name) && has_db_name(db, as))
        return MORTISE_OK; /* (5) */
    return add_second_name(db, name, as, !is_table(name), err);
}

/* Give a file, if it exists, a second name, which atomically replaces another
 * file. */
static int replace_with_link(int db, const char *name, const char *as,
                             struct mortise_err *err)
{
    int rv = unlink_db_file(db, half_done, err);

    if (rv == MORTISE_OK)
        rv = add_second_name(db, name, half_done, true, err);
    if (rv == MORTISE_OK && renameat(db, half_done, db, as) != 0)
        rv = mortise_syserr(err, errno, "rename db/%s", half_done);
    return rv;
}

/* Undo take_aside(). */
static int put_back_file(void *ud, int db, const char *name,
                         struct mortise_err *err)
{
    const char *was = mortise_aside_strip_prefix(name);

    (void)ud;
    if (!has_aside_prefix(name) || strcmp(name, current_aside) == 0 ||
        strcmp(name, half_done) == 0 || is_same_file(db, name, was) ||
        (is_table(was) && has_db_name(db, was)))
        return MORTISE_OK;
    return replace_with_link(db, name, was,
                             err); /* torn.c may have cut the log there */
}

/* Remove files that LevelDB made since: files of its own without a second
 * name; tables only if the MANIFEST does not name them, either.  If the
 * MANIFEST cannot be read (`ud` is NULL), new tables stay; LevelDB removes
 * them later. */
static int unlink_new_files(void *ud, int db, const char *name,
                            struct mortise_err *err)
{
    const struct mortise_tables *named = ud;
    char as[NAME_ROOM];

    if (!is_short_lived(name) &&
        !(is_table(name) && named != NULL && !mortise_tables_has(named, name)))
        return MORTISE_OK;
    snprintf(as, sizeof as, PREFIX "%s", name);
    return has_db_name(db, as) ? MORTISE_OK : unlink_db_file(db, name, err);
}

/* ---- removed tables ------------------------------------------------------ */

/* A search for tables of which only the second name exists.  LevelDB has
 * usually merged them.  A table that the MANIFEST still names has been lost,
 * but for that name. */
struct table_search {
    const struct mortise_tables *named;
    bool any;
};

static bool is_lost_table(int db, const char *name)
{
    return is_table_aside(name) &&
           !has_db_name(db, mortise_aside_strip_prefix(name));
}

static int find_lost_table(void *ud, int db, const char *name,
                           struct mortise_err *err)
{
    struct table_search *l = ud;

    (void)err;
    l->any |= is_lost_table(db, name);
    return MORTISE_OK;
}

static int restore_lost_table(void *ud, int db, const char *name,
                              struct mortise_err *err)
{
    const struct table_search *l = ud;
    const char *was = mortise_aside_strip_prefix(name);

    assert(l->any); /* else nothing searches for them */
    return is_lost_table(db, name) && mortise_tables_has(l->named, was)
               ? add_second_name(db, name, was, true, err)
               : MORTISE_OK;
}

/* Read the tables that a MANIFEST names: the one that the CURRENT called `from`
 * names. */
static int read_manifest_tables(struct mortise_tables *named, int db,
                                const char *from, const char *prefix,
                                const struct mortise_mem *mem,
                                struct mortise_err *err)
{
    char name[MORTISE_DBFILE_NAME], as[sizeof name + sizeof PREFIX];
    int rv;

    if (!mortise_dbfile_read_current(db, from, name)) {
        *named = (struct mortise_tables){.n = 0};
        mortise_buf_init(&named->room, mem);
        return MORTISE_ECORRUPT;
    }
    snprintf(as, sizeof as, "%s%s", prefix, name);
    rv = mortise_tables_read(named, db, as, mem, err);
    return rv == MORTISE_OK || rv == MORTISE_ENOMEM ? rv : MORTISE_ECORRUPT;
}

/* Restore lost tables.  Call it only if there is no aside.CURRENT. */
static int restore_lost_tables(int db, const struct mortise_mem *mem,
                               struct mortise_err *err)
{
    struct mortise_tables named;
    struct table_search l = {.named = &named};
    int rv = each_db_name(db, find_lost_table, &l, err);

    if (rv != MORTISE_OK || !l.any)
        return rv;
    rv = read_manifest_tables(&named, db, current, "", mem, err);
    if (rv == MORTISE_OK)
        rv = each_db_name(db, restore_lost_table, &l, err);
    else if (rv == MORTISE_ECORRUPT)
        rv = MORTISE_OK; /* LevelDB will report it */
    mortise_tables_free(&named);
    return rv;
}

int mortise_aside_read_tables(struct mortise_tables *named, int db, bool aside,
                              const struct mortise_mem *mem,
                              struct mortise_err *err)
{
    return aside ? read_manifest_tables(named, db, current_aside, PREFIX, mem,
                                        err)
                 : read_manifest_tables(named, db, current, "", mem, err);
}

bool mortise_aside_is_last_link(int db, const char *name,
                                const struct mortise_mem *mem)
{
    struct mortise_tables named;
    bool needed;

    if (!is_lost_table(db, name))
        return false;
    needed = read_manifest_tables(&named, db, current, "", mem, NULL) ==
                 MORTISE_OK &&
             mortise_tables_has(&named, mortise_aside_strip_prefix(name));
    mortise_tables_free(&named);
    return needed;
}

/* ---- merged tables (4) --------------------------------------------------- */

/* Does the table exist, under either name? */
static bool has_table_number(int db, uint64_t number, bool *aside)
{
    static const char *const ends[] = {"ldb", "sst"};
    char as[NAME_ROOM];

    for (size_t i = 0; i < 2; i++) {
        snprintf(as, sizeof as, PREFIX "%06llu.%s", (unsigned long long)number,
                 ends[i]);
        *aside = has_db_name(db, as);
        if (*aside || has_db_name(db, mortise_aside_strip_prefix(as)))
            return true;
    }
    return false;
}

/* Are the files aside too old to be put back?  They are if one of their tables
 * is gone and no table was put aside. */
static int is_superseded(int db, bool *merged, const struct mortise_mem *mem,
                         struct mortise_err *err)
{
    struct mortise_tables named;
    bool lacks = false, aside = false;
    int rv = read_manifest_tables(&named, db, current_aside, PREFIX, mem, err);

    for (size_t i = 0; rv == MORTISE_OK && !aside && i < named.n; i++)
        lacks |= !has_table_number(db, named.list[i].number, &aside);
    mortise_tables_free(&named);
    *merged = rv == MORTISE_OK && lacks && !aside;
    return rv == MORTISE_ENOMEM ? rv : MORTISE_OK;
}

/* ---- the interface ------------------------------------------------------- */

/* Drop files, aside.CURRENT first (1). */
static int unlink_aside_files(int db, mortise_directory_each_fn *fn,
                              struct mortise_err *err)
{
    int rv = unlink_db_file(db, current_aside, err);

    return rv == MORTISE_OK ? each_db_name(db, fn, NULL, err) : rv;
}

int mortise_aside_is_complete(int db, bool *whole,
                              const struct mortise_mem *mem,
                              struct mortise_err *err)
{
    bool merged;
    int rv;

    *whole = has_db_name(db, current_aside);
    if (!*whole)
        return MORTISE_OK;
    rv = is_superseded(db, &merged, mem, err);
    *whole = !merged;
    return rv;
}

int mortise_aside_save(int db, const struct mortise_mem *mem,
                       struct mortise_err *err)
{
    bool whole, stay = false, tables;
    int rv = mortise_aside_is_complete(db, &whole, mem, err);

    if (rv != MORTISE_OK || whole || !has_db_name(db, current))
        return rv; /* (2); LevelDB opens nothing without CURRENT */
    rv = restore_lost_tables(db, mem, err);
    if (rv == MORTISE_OK)
        rv = mortise_tables_are_stable(db, &stay, mem, err);
    tables = !stay;
    if (rv == MORTISE_OK)
        rv = unlink_aside_files(db, tables ? drop_but_links : unlink_if_aside,
                                err);
    if (rv == MORTISE_OK)
        rv = each_db_name(db, take_aside, &tables, err);
    return rv == MORTISE_OK
               ? add_second_name(db, current, current_aside, true, err)
               : rv;
}

int mortise_aside_drop(int db, struct mortise_err *err)
{
    return unlink_aside_files(db, drop_but_tables, err);
}

bool mortise_aside_drop_removed(int db)
{
    bool remains = false;

    return each_db_name(db, sweep_stale_link, &remains, NULL) != MORTISE_OK ||
           remains;
}

/* Restore CURRENT only when the old MANIFEST exists, and remove the new files
 * only when nothing names them (3). */
static int put_all_back(int db, const struct mortise_mem *mem,
                        struct mortise_err *err)
{
    struct mortise_tables named;
    bool knows;
    int rv = each_db_name(db, put_back_file, NULL, err);

    if (rv == MORTISE_OK)
        rv = replace_with_link(db, current_aside, current, err);
    knows = read_manifest_tables(&named, db, current_aside, PREFIX, mem,
                                 NULL) == MORTISE_OK;
    if (rv == MORTISE_OK)
        rv = each_db_name(db, unlink_new_files, knows ? &named : NULL, err);
    mortise_tables_free(&named);
    if (rv == MORTISE_OK && fsync(db) != 0)
        rv = mortise_syserr(err, errno, "sync db");
    return rv;
}

int mortise_aside_restore(int db, const struct mortise_mem *mem,
                          struct mortise_err *err)
{
    bool whole;
    int rv = mortise_aside_is_complete(db, &whole, mem, err);

    if (rv == MORTISE_OK && whole)
        rv = put_all_back(db, mem, err);
    return rv == MORTISE_OK ? unlink_aside_files(db, unlink_if_aside, err) : rv;
}
