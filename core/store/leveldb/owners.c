/* owners.c -- check that no other user can change the files of a store.
 *
 * The code that names STORE checks the directory itself.  But it may have been
 * open to other users once, and files that they made in it still belong to them.
 * So opening a store checks the files in it, too, by the rules of
 * core/base/owner.h:
 *
 *   (1) STORE/db and STORE/quarantine: the users who can write to a directory
 *       decide which files it contains.
 *   (2) STORE/format, STORE/mark, STORE/reserve, the temporary files that
 *       become one of these, and CURRENT, MANIFEST and logs in db, aside or
 *       not: the owner of a file, and users who can write to it, decide its
 *       content, whatever links it has.
 *   (3) There may be thousands of tables.  Salvage and doctor, which read them
 *       all anyway, check them.  Otherwise (1) and the mode of STORE are
 *       enough.
 *   (4) The suggested command fixes the whole store: a user who could write to
 *       one file may have written to others.
 *   (5) Before the first write: there must be no links where files are created
 *       (db, quarantine, the directories of memory plugins).  LevelDB truncates
 *       an existing file when it makes one with that number, so the creator of
 *       a store could have any file of this user overwritten.
 *
 * A file that cannot be examined is no fault of its owner.  Opening it fails
 * later, with the reason.
 */
#include "core/store/leveldb/owners.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/owner.h"
#include "core/store/leveldb/aside.h"
#include "core/store/leveldb/dbfile.h"
#include "core/store/leveldb/directory.h"

/* ---- links (5) ----------------------------------------------------------- */

/* Does a link lead to a file, a directory or nothing?  (A link to a device is
 * damage, which dbfile.c reports.) */
static bool is_link_to_file(int dir, const char *name)
{
    struct stat st, to;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISLNK(st.st_mode))
        return false;
    return fstatat(dir, name, &to, 0) != 0 || S_ISREG(to.st_mode) ||
           S_ISDIR(to.st_mode);
}

static int check_no_link(void *path, int dir, const char *name,
                         struct mortise_err *err)
{
    if (!is_link_to_file(dir, name))
        return MORTISE_OK;
    return mortise_fail(err, MORTISE_EDENIED,
                        "%s/%s is a link, so the engine would write to another "
                        "place; replace the link by the file or directory that "
                        "it leads to, or remove the link",
                        (const char *)path, name);
}

/* Check `name` in `path`, and call `each` for the names in it. */
static int check_no_links_in(int dir, char *path, const char *name,
                             mortise_directory_each_fn *each,
                             struct mortise_err *err)
{
    char below[PATH_MAX];
    int rv = check_no_link(path, dir, name, err), fd;

    if (rv != MORTISE_OK || (size_t)snprintf(below, sizeof below, "%s/%s", path,
                                             name) >= sizeof below)
        return rv;
    fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return MORTISE_OK;
    rv = mortise_directory_for_each(fd, below, each, below, err);
    close(fd);
    return rv;
}

static int check_no_plugin_links(void *path, int dir, const char *name,
                                 struct mortise_err *err)
{
    return check_no_links_in(dir, path, name, check_no_link, err);
}

int mortise_owners_check_links(int dir, const char *path,
                               struct mortise_err *err)
{
    char store[PATH_MAX];
    int rv;

    snprintf(store, sizeof store, "%s", path);
    rv = check_no_links_in(dir, store, "db", check_no_link, err);
    if (rv == MORTISE_OK)
        rv = check_no_links_in(dir, store, "quarantine", check_no_link, err);
    return rv == MORTISE_OK ? check_no_links_in(dir, store, "memory",
                                                check_no_plugin_links, err)
                            : rv;
}

/* ---- owners -------------------------------------------------------------- */

static const char *const parts[] = {
    "db", "quarantine", "format", "format.new", "mark", "mark.new", "reserve",
};

/* Suggest the command for the whole store (4), unless the fault is
 * outside it. */
static int fail_store_owner(const struct mortise_owner_fault *f,
                            const char *store, struct mortise_err *err)
{
    size_t n = strlen(store);
    bool below = strncmp(f->path, store, n) == 0 && f->path[n] == '/';

    return mortise_owner_report_fault(f, below ? store : NULL, err);
}

/* Is the owner of this file checked?  (2), (3) */
static bool is_owner_checked(const char *name, bool tables)
{
    switch (mortise_dbfile_kind(mortise_aside_strip_prefix(name))) {
    case MORTISE_DBFILE_LOG:
    case MORTISE_DBFILE_MANIFEST:
    case MORTISE_DBFILE_CURRENT:
        return true;
    case MORTISE_DBFILE_TABLE:
        return tables;
    case MORTISE_DBFILE_OTHER:
        break;
    }
    return false;
}

struct owner_search {
    const char *path; /* of db */
    bool tables;
    bool faulty;
    struct mortise_owner_fault fault; /* if faulty */
};

/* Check one file.  Returns an error to end the walk at the first fault. */
static int check_file_owner(void *ud, int db, const char *name,
                            struct mortise_err *err)
{
    struct owner_search *j = ud;

    (void)err;
    j->faulty = is_owner_checked(name, j->tables) &&
                !mortise_owner_check_entry(db, j->path, name, &j->fault);
    return j->faulty ? MORTISE_EDENIED : MORTISE_OK;
}

int mortise_owners_check(int dir, const char *path, bool tables,
                         struct mortise_err *err)
{
    char db_path[PATH_MAX];
    struct owner_search j = {.path = db_path, .tables = tables};
    int db;

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!mortise_owner_check_entry(dir, path, parts[i], &j.fault))
            return fail_store_owner(&j.fault, path, err);
    db = openat(dir, "db", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (db < 0)
        return MORTISE_OK;
    snprintf(db_path, sizeof db_path, "%s/db", path);
    mortise_directory_for_each(db, "db", check_file_owner, &j, NULL);
    close(db);
    return j.faulty ? fail_store_owner(&j.fault, path, err) : MORTISE_OK;
}
