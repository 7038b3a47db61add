/* unfinished.c -- mark a store that salvage has not completed.
 *
 * Salvage writes many batches into a new store, and the store would open after
 * each of them.  But it is complete only after the last one.  Until then, its
 * stamp, STORE/format, marks it as unfinished:
 *
 *   (1) That stamp is durable before anything else is made, and is replaced by
 *       a store's only when everything is on disk.  So a kill or a power
 *       failure in between leaves no store, but a stamp that every program
 *       rejects.
 *   (2) The next try in that directory removes the files of the previous one.
 *       If there is any file that does not belong to a store, it removes
 *       nothing.  The stamp stays until then.
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

/* A stamp that was not renamed yet can be overwritten. */
static bool is_half_stamp(const char *name)
{
    return strcmp(name, "format.new") == 0;
}

static bool is_store_file(const char *name)
{
    static const char *const names[] = {"db",       "format",  "mark",
                                        "mark.new", "reserve", "format.new"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool is_db_file(const char *name)
{
    size_t n = strlen(name);

    return mortise_dbfile_kind(mortise_aside_strip_prefix(name)) !=
               MORTISE_DBFILE_OTHER ||
           strcmp(name, "LOCK") == 0 || strcmp(name, "LOG") == 0 ||
           strcmp(name, "LOG.old") == 0 ||
           (n > 6 && strcmp(name + n - 6, ".dbtmp") == 0);
}

typedef bool name_test_fn(const char *name);

static int check_dir_name(void *ud, int dir, const char *name,
                          struct mortise_err *err)
{
    name_test_fn *const *may_be = ud;

    (void)dir;
    return (*may_be)(name)
               ? MORTISE_OK
               : mortise_fail(err, MORTISE_EEXISTS,
                              "it is not empty: use a new directory");
}

/* Are all names in the directory allowed? */
static int check_dir_names(int dir, const char *what, name_test_fn *may_be,
                           struct mortise_err *err)
{
    return mortise_directory_for_each(dir, what, check_dir_name, &may_be, err);
}

static int unlink_store_file(void *ud, int dir, const char *name,
                             struct mortise_err *err)
{
    (void)ud;
    if (strcmp(name, "format") == 0 || strcmp(name, "db") == 0 ||
        unlinkat(dir, name, 0) == 0)
        return MORTISE_OK;
    return mortise_syserr(err, errno, "remove %s", name);
}

/* Check all names in db before removing any of them (2). */
static int clear_db(int dir, struct mortise_err *err)
{
    int db = openat(dir, "db", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int rv;

    if (db < 0)
        return errno == ENOENT ? MORTISE_OK
                               : mortise_syserr(err, errno, "open db");
    rv = check_dir_names(db, "db", is_db_file, err);
    if (rv == MORTISE_OK)
        rv = mortise_directory_for_each(db, "db", unlink_store_file, NULL, err);
    close(db);
    if (rv == MORTISE_OK && unlinkat(dir, "db", AT_REMOVEDIR) != 0)
        rv = mortise_syserr(err, errno, "remove db");
    return rv;
}

static int clear_unfinished_store(int dir, struct mortise_err *err)
{
    /* else it belongs to somebody else */
    assert(mortise_directory_is_unfinished(dir));
    int rv = check_dir_names(dir, "it", is_store_file, err);

    if (rv == MORTISE_OK)
        rv = clear_db(dir, err);
    return rv == MORTISE_OK ? mortise_directory_for_each(
                                  dir, "it", unlink_store_file, NULL, err)
                            : rv;
}

int mortise_unfinished_start(int dir, struct mortise_err *err)
{
    int rv = mortise_directory_is_unfinished(dir)
                 ? clear_unfinished_store(dir, err)
                 : check_dir_names(dir, "it", is_half_stamp, err);

    if (rv == MORTISE_OK)
        rv = mortise_directory_sync(dir, err);
    return rv == MORTISE_OK ? mortise_directory_write_unfinished(dir, err) : rv;
}
