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
 *
 * Links cost microseconds.  On a file system without them, files are copied;
 * tables, which may be large and of which LevelDB removes only those that it
 * has merged, are then left where they are.
 */
#include "store/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/home.h"

#define PREFIX "aside."
static const char current[] = "CURRENT", current_aside[] = PREFIX "CURRENT",
                  half_done[] = PREFIX "new";

enum { NAME_ROOM = NAME_MAX + 1 };

static bool ends_in(const char *s, const char *tail)
{
    size_t n = strlen(s), t = strlen(tail);

    return n > t && strcmp(s + n - t, tail) == 0;
}

static bool is_aside(const char *name)
{
    return strncmp(name, PREFIX, sizeof PREFIX - 1) == 0;
}

const char *mortise_aside_name(const char *name)
{
    return is_aside(name) ? name + sizeof PREFIX - 1 : name;
}

enum mortise_aside_kind mortise_aside_kind(const char *name)
{
    if (is_aside(name))
        return MORTISE_ASIDE_NONE;
    if (strcmp(name, current) == 0)
        return MORTISE_ASIDE_CURRENT;
    if (strncmp(name, "MANIFEST-", 9) == 0)
        return MORTISE_ASIDE_MANIFEST;
    if (ends_in(name, ".log"))
        return MORTISE_ASIDE_LOG;
    return ends_in(name, ".ldb") || ends_in(name, ".sst") ? MORTISE_ASIDE_TABLE
                                                          : MORTISE_ASIDE_NONE;
}

/* Is it one that LevelDB makes anew when it opens? */
static bool is_short_lived(const char *name)
{
    enum mortise_aside_kind kind = mortise_aside_kind(name);

    return kind == MORTISE_ASIDE_LOG || kind == MORTISE_ASIDE_MANIFEST;
}

static bool is_table(const char *name)
{
    return mortise_aside_kind(name) == MORTISE_ASIDE_TABLE;
}

static bool is_there(int db, const char *name)
{
    struct stat st;

    return fstatat(db, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

bool mortise_aside_is_whole(int db)
{
    return is_there(db, current_aside);
}

/* ---- each name in the directory ----------------------------------------- */

static int each(int db, mortise_home_each_fn *fn, struct mortise_err *err)
{
    return mortise_home_each(db, "db", fn, NULL, err);
}

bool mortise_aside_is_file(int db, const char *name)
{
    struct stat st;

    return fstatat(db, name, &st, 0) != 0 || S_ISREG(st.st_mode);
}

static int check_one(void *ud, int db, const char *name,
                     struct mortise_err *err)
{
    (void)ud;
    if (mortise_aside_kind(mortise_aside_name(name)) == MORTISE_ASIDE_NONE ||
        mortise_aside_is_file(db, name))
        return MORTISE_OK;
    return mortise_fail(err, MORTISE_ECORRUPT,
                        "db/%s is no file: somebody put something else in its "
                        "place",
                        name);
}

int mortise_aside_check(int db, struct mortise_err *err)
{
    return each(db, check_one, err);
}

static int drop(int db, const char *name, struct mortise_err *err)
{
    if (unlinkat(db, name, 0) == 0 || errno == ENOENT)
        return MORTISE_OK;
    return mortise_syserr(err, errno, "remove db/%s", name);
}

static int drop_aside(void *ud, int db, const char *name,
                      struct mortise_err *err)
{
    (void)ud;
    return is_aside(name) ? drop(db, name, err) : MORTISE_OK;
}

/* One file under a second name.  A copy gets that name when it is whole. */
static int keep_as(int db, const char *name, const char *as, bool may_copy,
                   struct mortise_err *err)
{
    int rv = mortise_home_link(db, name, db, as, err);

    if (rv != MORTISE_ESTATE)
        return rv;
    if (!may_copy)
        return MORTISE_OK;
    rv = mortise_home_copy(db, name, db, half_done, err);
    if (rv == MORTISE_OK && renameat(db, half_done, db, as) != 0)
        rv = mortise_syserr(err, errno, "rename db/%s", half_done);
    return rv;
}

static int take_one(void *ud, int db, const char *name,
                    struct mortise_err *err)
{
    char as[NAME_ROOM];

    (void)ud;
    if (!is_short_lived(name) && !is_table(name))
        return MORTISE_OK;
    snprintf(as, sizeof as, PREFIX "%s", name);
    return keep_as(db, name, as, !is_table(name), err);
}

/* The way back of take_one(). */
static int put_back_one(void *ud, int db, const char *name,
                        struct mortise_err *err)
{
    const char *was = mortise_aside_name(name);

    (void)ud;
    if (!is_aside(name) || strcmp(name, current_aside) == 0 ||
        strcmp(name, half_done) == 0 || is_there(db, was))
        return MORTISE_OK;
    return keep_as(db, name, was, true, err);
}

/* What was made since.  (Tables among it are nobody's: LevelDB sweeps them.) */
static int drop_new(void *ud, int db, const char *name,
                    struct mortise_err *err)
{
    char as[NAME_ROOM];

    (void)ud;
    if (!is_short_lived(name))
        return MORTISE_OK;
    snprintf(as, sizeof as, PREFIX "%s", name);
    return is_there(db, as) ? MORTISE_OK : drop(db, name, err);
}

/* ---- all of it ---------------------------------------------------------- */

int mortise_aside_take(int db, struct mortise_err *err)
{
    int rv;

    if (is_there(db, current_aside) || !is_there(db, current))
        return MORTISE_OK; /* (2); without CURRENT LevelDB opens nothing */
    rv = each(db, drop_aside, err);
    if (rv == MORTISE_OK)
        rv = each(db, take_one, err);
    return rv == MORTISE_OK ? keep_as(db, current, current_aside, true, err)
                            : rv;
}

int mortise_aside_drop(int db, struct mortise_err *err)
{
    int rv = drop(db, current_aside, err);

    return rv == MORTISE_OK ? each(db, drop_aside, err) : rv;
}

/* (3): CURRENT names the old MANIFEST only once that is there, and what is new
 * goes only once nothing names it. */
int mortise_aside_put_back(int db, struct mortise_err *err)
{
    int rv;

    if (!is_there(db, current_aside))
        return MORTISE_OK;
    rv = each(db, put_back_one, err);
    if (rv == MORTISE_OK)
        rv = drop(db, half_done, err);
    if (rv == MORTISE_OK)
        rv = keep_as(db, current_aside, half_done, true, err);
    if (rv == MORTISE_OK && is_there(db, half_done) &&
        renameat(db, half_done, db, current) != 0)
        rv = mortise_syserr(err, errno, "rename db/%s", half_done);
    if (rv == MORTISE_OK)
        rv = each(db, drop_new, err);
    if (rv == MORTISE_OK && fsync(db) != 0)
        rv = mortise_syserr(err, errno, "sync db");
    return rv == MORTISE_OK ? mortise_aside_drop(db, err) : rv;
}
