/* aside.c -- the database's files as they were, until it is verified.
 *
 * LevelDB, when it opens, writes what it found in its log to a table, makes
 * a new MANIFEST, has CURRENT name it, removes the old MANIFEST and the old
 * log, and may begin to merge tables: all this before anybody could look
 * whether what it found is what was written.  Of a log with a damaged header
 * it finds a part, and removes the rest.  So what is there is linked aside
 * first, db/000005.log as db/aside.000005.log, which LevelDB does not look at.
 * The promises:
 *
 *   (1) While the database is not verified, everything that it consisted of
 *       before is there, whatever LevelDB did, and whoever died at any
 *       instruction.  aside.CURRENT is linked last and unlinked first: where
 *       it is, the rest is.
 *   (2) What is aside is older than any write: it is dropped, and that made
 *       durable with the directory (by whoever drops it), before the first
 *       one.  So a second opening, after one that was killed, keeps what the
 *       first put aside, and putting it back loses nothing.
 *   (3) Putting it back may be cut off and done again.
 *   (4) Tables are put aside only where LevelDB would remove one (tables.c).
 *       If it did so all the same, having merged it with others, then what it
 *       made of them counts, and nothing is put back.
 *   (5) A table is put aside once, not at each opening: its second name stays
 *       when the store is verified, since a merge that is due is still due for
 *       whoever opens it next after one that only looked, and some 100 us a
 *       table are as much as the rest of an opening.  By itself such a name
 *       says nothing, aside.CURRENT does (1); and it keeps no room for a table
 *       that LevelDB removed, since the store sweeps as it writes and closes.
 *       A table that somebody else removed comes back by it.
 *
 * Links cost microseconds.  On a file system without them, files are copied;
 * tables, which may be large and of which LevelDB removes only those that it
 * has merged, are then left where they are.
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
                  half_done[] = MORTISE_ASIDE_NEW;

enum { NAME_ROOM = NAME_MAX + 1 };

static bool is_aside(const char *name)
{
    return strncmp(name, PREFIX, sizeof PREFIX - 1) == 0;
}

const char *mortise_aside_name(const char *name)
{
    return is_aside(name) ? name + sizeof PREFIX - 1 : name;
}

/* Is it one that LevelDB makes anew when it opens? */
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
    return is_aside(name) && is_table(mortise_aside_name(name));
}

static bool is_there(int db, const char *name)
{
    struct stat st;

    return fstatat(db, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- each name in the directory ----------------------------------------- */

static int each(int db, mortise_directory_each_fn *fn, void *ud,
                struct mortise_err *err)
{
    return mortise_directory_each(db, "db", fn, ud, err);
}

static int no_file(const char *name, struct mortise_err *err)
{
    return mortise_fail(err, MORTISE_ECORRUPT,
                        "db/%s is not a regular file: it was replaced", name);
}

static int check_one(void *ud, int db, const char *name,
                     struct mortise_err *err)
{
    (void)ud;
    if (mortise_dbfile_kind(mortise_aside_name(name)) == MORTISE_DBFILE_OTHER ||
        is_table_aside(name) || /* no link to a table, then, and dropped (5) */
        mortise_dbfile_is_file(db, name))
        return MORTISE_OK;
    return no_file(name, err);
}

int mortise_aside_check(int db, struct mortise_err *err)
{
    return each(db, check_one, NULL, err);
}

static int drop(int db, const char *name, struct mortise_err *err)
{
    if (unlinkat(db, name, 0) == 0 || errno == ENOENT)
        return MORTISE_OK;
    return errno == EISDIR ? no_file(name, err)
                           : mortise_syserr(err, errno, "remove db/%s", name);
}

static bool is_same(int db, const char *a, const char *b)
{
    struct stat x, y;

    return fstatat(db, a, &x, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstatat(db, b, &y, AT_SYMLINK_NOFOLLOW) == 0 &&
           x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Do both names of a table mean one file?  A number can come again, for another
 * file, after an opening that was undone. */
static bool is_link(int db, const char *name)
{
    assert(is_table_aside(name));
    return is_same(db, name, mortise_aside_name(name));
}

static int drop_any(void *ud, int db, const char *name, struct mortise_err *err)
{
    (void)ud;
    return is_aside(name) ? drop(db, name, err) : MORTISE_OK;
}

static int drop_but_tables(void *ud, int db, const char *name,
                           struct mortise_err *err)
{
    return is_table_aside(name) ? MORTISE_OK : drop_any(ud, db, name, err);
}

static int drop_but_links(void *ud, int db, const char *name,
                          struct mortise_err *err)
{
    return is_table_aside(name) && is_link(db, name)
               ? MORTISE_OK
               : drop_any(ud, db, name, err);
}

/* `ud`: bool, does a name remain? */
static int sweep_one(void *ud, int db, const char *name,
                     struct mortise_err *err)
{
    bool *remains = ud;

    if (!is_table_aside(name))
        return MORTISE_OK;
    if (!is_there(db, mortise_aside_name(name)))
        return drop(db, name, err);
    *remains = true;
    return MORTISE_OK;
}

/* One file under a second name.  A copy gets that name when it is whole. */
static int keep_as(int db, const char *name, const char *as, bool may_copy,
                   struct mortise_err *err)
{
    assert(strcmp(name, as) != 0);
    int rv = mortise_directory_link(db, name, db, as, err);

    if (rv != MORTISE_ESTATE)
        return rv;
    if (!may_copy)
        return MORTISE_OK;
    rv = mortise_directory_copy(db, name, db, half_done, err);
    if (rv == MORTISE_OK && renameat(db, half_done, db, as) != 0)
        rv = mortise_syserr(err, errno, "rename db/%s", half_done);
    return rv;
}

/* `ud`: do tables, too? */
static int take_one(void *ud, int db, const char *name, struct mortise_err *err)
{
    const bool *tables = ud;
    char as[NAME_ROOM];

    if (!is_short_lived(name) && !(*tables && is_table(name)))
        return MORTISE_OK;
    snprintf(as, sizeof as, PREFIX "%s", name);
    if (is_table(name) && is_there(db, as))
        return MORTISE_OK; /* (5) */
    return keep_as(db, name, as, !is_table(name), err);
}

/* A file gets the name of another, if there is one, which it replaces at once. */
static int replace(int db, const char *name, const char *as,
                   struct mortise_err *err)
{
    int rv = drop(db, half_done, err);

    if (rv == MORTISE_OK)
        rv = keep_as(db, name, half_done, true, err);
    if (rv == MORTISE_OK && renameat(db, half_done, db, as) != 0)
        rv = mortise_syserr(err, errno, "rename db/%s", half_done);
    return rv;
}

/* The way back of take_one(). */
static int put_back_one(void *ud, int db, const char *name,
                        struct mortise_err *err)
{
    const char *was = mortise_aside_name(name);

    (void)ud;
    if (!is_aside(name) || strcmp(name, current_aside) == 0 ||
        strcmp(name, half_done) == 0 || is_same(db, name, was) ||
        (is_table(was) && is_there(db, was)))
        return MORTISE_OK;
    return replace(db, name, was, err); /* a log may be cut there (torn.c) */
}

/* What was made since: files of LevelDB's that have no second name, and of
 * tables those that the MANIFEST does not name either.  (Where that does not
 * read, nobody knows which tables are new; they are nobody's, and swept.) */
static int drop_new(void *ud, int db, const char *name, struct mortise_err *err)
{
    const struct mortise_tables *named = ud;
    char as[NAME_ROOM];

    if (!is_short_lived(name) &&
        !(is_table(name) && named != NULL && !mortise_tables_have(named, name)))
        return MORTISE_OK;
    snprintf(as, sizeof as, PREFIX "%s", name);
    return is_there(db, as) ? MORTISE_OK : drop(db, name, err);
}

/* ---- what somebody else removed ------------------------------------------ */

/* Tables of which only the second name is there.  Mostly LevelDB has merged
 * them; one that the MANIFEST names is lost, but for that name. */
struct lost {
    const struct mortise_tables *named;
    bool any;
};

static bool is_alone(int db, const char *name)
{
    return is_table_aside(name) && !is_there(db, mortise_aside_name(name));
}

static int find_alone(void *ud, int db, const char *name,
                      struct mortise_err *err)
{
    struct lost *l = ud;

    (void)err;
    l->any |= is_alone(db, name);
    return MORTISE_OK;
}

static int return_one(void *ud, int db, const char *name,
                      struct mortise_err *err)
{
    const struct lost *l = ud;
    const char *was = mortise_aside_name(name);

    assert(l->any); /* or nobody would look for them */
    return is_alone(db, name) && mortise_tables_have(l->named, was)
               ? keep_as(db, name, was, true, err)
               : MORTISE_OK;
}

/* The tables that the MANIFEST called so names, if it reads. */
static int read_named(struct mortise_tables *named, int db, const char *from,
                      const char *prefix, const struct mortise_mem *mem,
                      struct mortise_err *err)
{
    char name[MORTISE_DBFILE_NAME], as[sizeof name + sizeof PREFIX];
    int rv;

    if (!mortise_dbfile_current(db, from, name)) {
        *named = (struct mortise_tables){.n = 0};
        mortise_buf_init(&named->room, mem);
        return MORTISE_ECORRUPT;
    }
    snprintf(as, sizeof as, "%s%s", prefix, name);
    rv = mortise_tables_read(named, db, as, mem, err);
    return rv == MORTISE_OK || rv == MORTISE_ENOMEM ? rv : MORTISE_ECORRUPT;
}

/* Nothing is aside as a whole: give such a table its name again. */
static int return_lost(int db, const struct mortise_mem *mem,
                       struct mortise_err *err)
{
    struct mortise_tables named;
    struct lost l = {.named = &named};
    int rv = each(db, find_alone, &l, err);

    if (rv != MORTISE_OK || !l.any)
        return rv;
    rv = read_named(&named, db, current, "", mem, err);
    if (rv == MORTISE_OK)
        rv = each(db, return_one, &l, err);
    else if (rv == MORTISE_ECORRUPT)
        rv = MORTISE_OK; /* LevelDB will say so */
    mortise_tables_finish(&named);
    return rv;
}

int mortise_aside_read_tables(struct mortise_tables *named, int db, bool aside,
                              const struct mortise_mem *mem,
                              struct mortise_err *err)
{
    return aside ? read_named(named, db, current_aside, PREFIX, mem, err)
                 : read_named(named, db, current, "", mem, err);
}

bool mortise_aside_is_needed(int db, const char *name,
                             const struct mortise_mem *mem)
{
    struct mortise_tables named;
    bool needed;

    if (!is_alone(db, name))
        return false;
    needed = read_named(&named, db, current, "", mem, NULL) == MORTISE_OK &&
             mortise_tables_have(&named, mortise_aside_name(name));
    mortise_tables_finish(&named);
    return needed;
}

/* ---- what LevelDB made of it (4) ----------------------------------------- */

/* Is a table there, under either name? */
static bool is_kept(int db, uint64_t number, bool *aside)
{
    static const char *const ends[] = {"ldb", "sst"};
    char as[NAME_ROOM];

    for (size_t i = 0; i < 2; i++) {
        snprintf(as, sizeof as, PREFIX "%06llu.%s", (unsigned long long)number,
                 ends[i]);
        *aside = is_there(db, as);
        if (*aside || is_there(db, mortise_aside_name(as)))
            return true;
    }
    return false;
}

/* What is aside is too old to be put back: its tables are not, and of one of
 * them something else was made. */
static int is_merged(int db, bool *merged, const struct mortise_mem *mem,
                     struct mortise_err *err)
{
    struct mortise_tables named;
    bool lacks = false, aside = false;
    int rv = read_named(&named, db, current_aside, PREFIX, mem, err);

    for (size_t i = 0; rv == MORTISE_OK && !aside && i < named.n; i++)
        lacks |= !is_kept(db, named.list[i].number, &aside);
    mortise_tables_finish(&named);
    *merged = rv == MORTISE_OK && lacks && !aside;
    return rv == MORTISE_ENOMEM ? rv : MORTISE_OK;
}

/* ---- all of it ---------------------------------------------------------- */

/* (1): what says that the rest counts goes first. */
static int drop_with(int db, mortise_directory_each_fn *fn,
                     struct mortise_err *err)
{
    int rv = drop(db, current_aside, err);

    return rv == MORTISE_OK ? each(db, fn, NULL, err) : rv;
}

int mortise_aside_is_whole(int db, bool *whole, const struct mortise_mem *mem,
                           struct mortise_err *err)
{
    bool merged;
    int rv;

    *whole = is_there(db, current_aside);
    if (!*whole)
        return MORTISE_OK;
    rv = is_merged(db, &merged, mem, err);
    *whole = !merged;
    return rv;
}

int mortise_aside_take(int db, const struct mortise_mem *mem,
                       struct mortise_err *err)
{
    bool whole, stay = false, tables;
    int rv = mortise_aside_is_whole(db, &whole, mem, err);

    if (rv != MORTISE_OK || whole || !is_there(db, current))
        return rv; /* (2); without CURRENT LevelDB opens nothing */
    rv = return_lost(db, mem, err);
    if (rv == MORTISE_OK)
        rv = mortise_tables_stay(db, &stay, mem, err);
    tables = !stay;
    if (rv == MORTISE_OK)
        rv = drop_with(db, tables ? drop_but_links : drop_any, err);
    if (rv == MORTISE_OK)
        rv = each(db, take_one, &tables, err);
    return rv == MORTISE_OK ? keep_as(db, current, current_aside, true, err)
                            : rv;
}

int mortise_aside_drop(int db, struct mortise_err *err)
{
    return drop_with(db, drop_but_tables, err);
}

bool mortise_aside_sweep(int db)
{
    bool remains = false;

    return each(db, sweep_one, &remains, NULL) != MORTISE_OK || remains;
}

/* (3): CURRENT names the old MANIFEST only once that is there, and what is new
 * goes only once nothing names it. */
static int put_all_back(int db, const struct mortise_mem *mem,
                        struct mortise_err *err)
{
    struct mortise_tables named;
    bool knows;
    int rv = each(db, put_back_one, NULL, err);

    if (rv == MORTISE_OK)
        rv = replace(db, current_aside, current, err);
    knows =
        read_named(&named, db, current_aside, PREFIX, mem, NULL) == MORTISE_OK;
    if (rv == MORTISE_OK)
        rv = each(db, drop_new, knows ? &named : NULL, err);
    mortise_tables_finish(&named);
    if (rv == MORTISE_OK && fsync(db) != 0)
        rv = mortise_syserr(err, errno, "sync db");
    return rv;
}

int mortise_aside_put_back(int db, const struct mortise_mem *mem,
                           struct mortise_err *err)
{
    bool whole;
    int rv = mortise_aside_is_whole(db, &whole, mem, err);

    if (rv == MORTISE_OK && whole)
        rv = put_all_back(db, mem, err);
    return rv == MORTISE_OK ? drop_with(db, drop_any, err) : rv;
}
