/* owners.c -- whose what is in a store is.
 *
 * STORE itself is judged by whoever names it (lang/config/guarded.c, server/peer.c).
 * But it may have been open to others, and what they put there meanwhile stays
 * theirs when it is not any more.  So whoever opens it looks inside, too, by
 * the rule of core/base/owner.h:
 *
 *   (1) STORE/db and STORE/quarantine: who may write a directory decides which
 *       files are there.
 *   (2) STORE/format, STORE/mark, STORE/reserve, those that are to be renamed
 *       to one of them, and CURRENT, MANIFEST and the logs in db, aside or not:
 *       who owns a file, or may write it, decides what it says, wherever else
 *       it has a name.
 *   (3) Tables, of which there may be thousands, are looked at by who reads all
 *       of them anyway: salvage and doctor.  For others it is enough that
 *       nobody reaches them: (1), and STORE's mode.
 *   (4) What mends one mends all: who could write one file there may have
 *       written others.
 *   (5) Before the first write: no link stands where files are created, in db,
 *       quarantine and the directories of memory plugins.  LevelDB truncates a
 *       file whose number is due, so the maker of the store would have any file
 *       of the user overwritten.
 *
 * What cannot be looked at is no fault of its owner's: opening it fails, and
 * says why.
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

/* ---- links (5) ------------------------------------------------------------ */

/* A link to a device is damage, which is said of it as such (dbfile.c). */
static bool leads_to_file(int dir, const char *name)
{
    struct stat st, to;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISLNK(st.st_mode))
        return false;
    return fstatat(dir, name, &to, 0) != 0 || S_ISREG(to.st_mode) ||
           S_ISDIR(to.st_mode);
}

static int refuse_link(void *path, int dir, const char *name,
                       struct mortise_err *err)
{
    if (!leads_to_file(dir, name))
        return MORTISE_OK;
    return mortise_fail(err, MORTISE_EDENIED,
                        "%s/%s is a link, so the engine would write to another "
                        "place; replace the link by the file or directory that "
                        "it leads to, or remove the link",
                        (const char *)path, name);
}

/* `name` in `path`, and `each` of the names in it. */
static int refuse_links_in(int dir, char *path, const char *name,
                           mortise_directory_each_fn *each,
                           struct mortise_err *err)
{
    char below[PATH_MAX];
    int rv = refuse_link(path, dir, name, err), fd;

    if (rv != MORTISE_OK || (size_t)snprintf(below, sizeof below, "%s/%s", path,
                                             name) >= sizeof below)
        return rv;
    fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return MORTISE_OK;
    rv = mortise_directory_each(fd, below, each, below, err);
    close(fd);
    return rv;
}

static int refuse_links_of_plugin(void *path, int dir, const char *name,
                                  struct mortise_err *err)
{
    return refuse_links_in(dir, path, name, refuse_link, err);
}

int mortise_owners_refuse_links(int dir, const char *path,
                                struct mortise_err *err)
{
    char store[PATH_MAX];
    int rv;

    snprintf(store, sizeof store, "%s", path);
    rv = refuse_links_in(dir, store, "db", refuse_link, err);
    if (rv == MORTISE_OK)
        rv = refuse_links_in(dir, store, "quarantine", refuse_link, err);
    return rv == MORTISE_OK ? refuse_links_in(dir, store, "memory",
                                              refuse_links_of_plugin, err)
                            : rv;
}

/* ---- owners --------------------------------------------------------------- */

static const char *const parts[] = {
    "db", "quarantine", "format", "format.new", "mark", "mark.new", "reserve",
};

/* (4): of what is below STORE; a link leads elsewhere. */
static int refuse(const struct mortise_fault *f, const char *store,
                  struct mortise_err *err)
{
    size_t n = strlen(store);
    bool below = strncmp(f->path, store, n) == 0 && f->path[n] == '/';

    return mortise_owner_refuse(f, below ? store : NULL, err);
}

/* (2), (3) */
static bool counts(const char *name, bool tables)
{
    switch (mortise_dbfile_kind(mortise_aside_name(name))) {
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

struct judging {
    const char *path; /* of db */
    bool tables;
    bool faulty;
    struct mortise_fault fault; /* if so */
};

/* Any error ends it; the only one is that. */
static int judge_one(void *ud, int db, const char *name,
                     struct mortise_err *err)
{
    struct judging *j = ud;

    (void)err;
    j->faulty = counts(name, j->tables) &&
                !mortise_owner_is_ours(db, j->path, name, &j->fault);
    return j->faulty ? MORTISE_EDENIED : MORTISE_OK;
}

int mortise_owners_check(int dir, const char *path, bool tables,
                         struct mortise_err *err)
{
    char db_path[PATH_MAX];
    struct judging j = {.path = db_path, .tables = tables};
    int db;

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!mortise_owner_is_ours(dir, path, parts[i], &j.fault))
            return refuse(&j.fault, path, err);
    db = openat(dir, "db", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (db < 0)
        return MORTISE_OK;
    snprintf(db_path, sizeof db_path, "%s/db", path);
    mortise_directory_each(db, "db", judge_one, &j, NULL);
    close(db);
    return j.faulty ? refuse(&j.fault, path, err) : MORTISE_OK;
}
