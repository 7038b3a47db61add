/* unfinished.c -- a store that is being made of another one.
 *
 * Salvaging writes many batches into a new store, and each of them leaves it
 * such that it would open.  But it is one only when the last is written.  So
 * its stamp, STORE/format, says until then that it is unfinished:
 *
 *   (1) That stamp is durable before anything else is made, and replaced by a
 *       store's only when all is on the disk: who dies in between, and whatever
 *       a power cut takes, leaves no store, but one line of text that every
 *       program refuses.
 *   (2) Who begins again in that directory clears it away: files that a store
 *       of ours consists of, and of which one lies there that should not,
 *       nothing.  The stamp stays while that goes on.
 */
#include "core/store/leveldb/unfinished.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "core/store/leveldb/aside.h"
#include "core/store/leveldb/dbfile.h"
#include "core/store/leveldb/directory.h"

/* The stamp that is half made is nobody's, whatever else is there. */
static bool is_half_stamp(const char *name)
{
    return strcmp(name, "format.new") == 0;
}

static bool is_in_home(const char *name)
{
    static const char *const names[] = {"db",       "format",  "mark",
                                        "mark.new", "reserve", "format.new"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool is_in_db(const char *name)
{
    size_t n = strlen(name);

    return mortise_dbfile_kind(mortise_aside_name(name)) !=
               MORTISE_DBFILE_OTHER ||
           strcmp(name, "LOCK") == 0 || strcmp(name, "LOG") == 0 ||
           strcmp(name, "LOG.old") == 0 ||
           (n > 6 && strcmp(name + n - 6, ".dbtmp") == 0);
}

typedef bool may_be_fn(const char *name);

static int check_one(void *ud, int dir, const char *name,
                     struct mortise_err *err)
{
    may_be_fn *const *may_be = ud;

    (void)dir;
    return (*may_be)(name)
               ? MORTISE_OK
               : mortise_fail(err, MORTISE_EEXISTS,
                              "it is not empty: use a new directory");
}

/* Is there nothing else in it? */
static int check(int dir, const char *what, may_be_fn *may_be,
                 struct mortise_err *err)
{
    return mortise_directory_each(dir, what, check_one, &may_be, err);
}

static int drop(void *ud, int dir, const char *name, struct mortise_err *err)
{
    (void)ud;
    if (strcmp(name, "format") == 0 || strcmp(name, "db") == 0 ||
        unlinkat(dir, name, 0) == 0)
        return MORTISE_OK;
    return mortise_syserr(err, errno, "remove %s", name);
}

/* (2): what is in it is looked at before any of it goes. */
static int clear_db(int dir, struct mortise_err *err)
{
    int db = openat(dir, "db", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int rv;

    if (db < 0)
        return errno == ENOENT ? MORTISE_OK
                               : mortise_syserr(err, errno, "open db");
    rv = check(db, "db", is_in_db, err);
    if (rv == MORTISE_OK)
        rv = mortise_directory_each(db, "db", drop, NULL, err);
    close(db);
    if (rv == MORTISE_OK && unlinkat(dir, "db", AT_REMOVEDIR) != 0)
        rv = mortise_syserr(err, errno, "remove db");
    return rv;
}

static int clear(int dir, struct mortise_err *err)
{
    assert(mortise_directory_is_unfinished(dir)); /* else it is somebody's */
    int rv = check(dir, "it", is_in_home, err);

    if (rv == MORTISE_OK)
        rv = clear_db(dir, err);
    return rv == MORTISE_OK ? mortise_directory_each(dir, "it", drop, NULL, err)
                            : rv;
}

int mortise_unfinished_begin(int dir, struct mortise_err *err)
{
    int rv = mortise_directory_is_unfinished(dir)
                 ? clear(dir, err)
                 : check(dir, "it", is_half_stamp, err);

    if (rv == MORTISE_OK)
        rv = mortise_directory_sync(dir, err);
    return rv == MORTISE_OK ? mortise_directory_write_unfinished(dir, err) : rv;
}
