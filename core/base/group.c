/* group.c -- a group of users that may reach something of ours: one socket in a
 * directory that is closed to them otherwise.
 *
 * A directory of mode 0710 lets the members of its group through to what has a
 * name that they know, and shows them no names.  So what is in it must be closed
 * to them by itself.
 *
 *   (1) Who is a member is the kernel's word of a process (its groups when it
 *       connected), not what /etc/group says of a user: a login of before counts
 *       as it was.
 *   (2) Modes are changed in an order in which nothing is open to the wrong
 *       group in between: the group comes before the permission, and goes
 *       after it.
 *   (3) What in the directory is somebody else's, or a link, is left alone; who
 *       opens the store refuses that (core/store/leveldb/owners.c).
 */
#include "core/base/group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/owner.h"

enum {
    ENTRY_MAX = 1 << 20, /* bytes of a group's entry: its members, too */
    MOST_GROUPS = 65536, /* of a process: NGROUPS_MAX of Linux */
    PERMISSIONS = 07777,
    OTHERS = 077,
    THROUGH = 010
};

/* ---- who --------------------------------------------------------------------- */

static int find(const struct mortise_mem *mem, const char *name, gid_t *out,
                struct mortise_err *err)
{
    struct group entry, *found = NULL;
    int errnum = ERANGE;

    for (size_t n = 1024; errnum == ERANGE && n <= ENTRY_MAX; n *= 4) {
        char *room = mortise_alloc(mem, n);

        if (room == NULL)
            return mortise_nomem(err);
        errnum = getgrnam_r(name, &entry, room, n, &found);
        mortise_release(mem, room, n);
    }
    if (found != NULL) {
        *out = entry.gr_gid;
        return MORTISE_OK;
    }
    return errnum == 0 || errnum == ENOENT
               ? mortise_fail(err, MORTISE_ENOTFOUND,
                              "there is no group '%.100s'", name)
               : mortise_syserr(err, errnum, "look up the group '%.100s'",
                                name);
}

static bool is_among(gid_t group, const gid_t *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == group)
            return true;
    return false;
}

/* As many as a process may have, whatever `n` they are. */
static gid_t *new_list(const struct mortise_mem *mem)
{
    return mortise_alloc(mem, MOST_GROUPS * sizeof(gid_t));
}

static void drop_list(const struct mortise_mem *mem, gid_t *list)
{
    mortise_release(mem, list, MOST_GROUPS * sizeof *list);
}

static int is_ours(const struct mortise_mem *mem, gid_t group, bool *is,
                   struct mortise_err *err)
{
    gid_t *list = new_list(mem);
    int n;

    if (list == NULL)
        return mortise_nomem(err);
    n = getgroups(MOST_GROUPS, list);
    *is = geteuid() == 0 || getegid() == group ||
          (n > 0 && is_among(group, list, (size_t)n));
    drop_list(mem, list);
    return MORTISE_OK;
}

int mortise_group_to_share(const struct mortise_mem *mem, const char *name,
                           gid_t *out, struct mortise_err *err)
{
    bool is = false;
    int rv = find(mem, name, out, err);
    char us[64];

    if (rv == MORTISE_OK)
        rv = is_ours(mem, *out, &is, err);
    if (rv != MORTISE_OK || is)
        return rv;
    mortise_owner_name(geteuid(), us);
    return mortise_fail(err, MORTISE_EDENIED,
                        "this process (user %s) is not in the group '%.100s'; "
                        "only root and members of this group can use the "
                        "store; if you are a new member, log in again",
                        us, name);
}

bool mortise_group_has_peer(const struct mortise_mem *mem, gid_t group, int fd)
{
    struct ucred who;
    socklen_t size = sizeof who, n = MOST_GROUPS * sizeof(gid_t);
    gid_t *list;
    bool is = false;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0)
        return false;
    if (who.gid == group)
        return true;
    list = new_list(mem);
    if (list != NULL &&
        getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, list, &n) == 0)
        is = is_among(group, list, n / sizeof *list);
    drop_list(mem, list);
    return is;
}

/* ---- the directory ------------------------------------------------------------ */

/* One name in it: nobody but its owner. */
static int close_one(int dir, const char *name, struct mortise_err *err)
{
    struct stat st;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? MORTISE_OK
                               : mortise_syserr(err, errno, "stat %s", name);
    if (S_ISLNK(st.st_mode) || st.st_uid != geteuid() ||
        (st.st_mode & OTHERS) == 0)
        return MORTISE_OK;
    return fchmodat(dir, name, st.st_mode & PERMISSIONS & ~(mode_t)OTHERS, 0) ==
                       0 ||
                   errno == ENOENT
               ? MORTISE_OK
               : mortise_syserr(err, errno,
                                "remove the permissions of other users from %s",
                                name);
}

static int close_all(int dir, const char *but, struct mortise_err *err)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *e;
    int rv = MORTISE_OK;

    if (d == NULL) {
        rv = mortise_syserr(err, errno, "list the directory");
        if (fd >= 0)
            close(fd);
        return rv;
    }
    while (rv == MORTISE_OK && (e = readdir(d)) != NULL)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            strcmp(e->d_name, but) != 0)
            rv = close_one(dir, e->d_name, err);
    closedir(d);
    return rv;
}

/* Are those its modes, as far as others count? */
static bool passes(const gid_t *group, const struct stat *st)
{
    return group == NULL
               ? (st->st_mode & OTHERS) == 0
               : (st->st_mode & OTHERS) == THROUGH && st->st_gid == *group;
}

bool mortise_group_passes(const gid_t *group, int dir)
{
    struct stat st;

    return fstat(dir, &st) == 0 && passes(group, &st);
}

/* (2) */
int mortise_group_let_through(const gid_t *group, int dir, const char *but,
                              struct mortise_err *err)
{
    struct stat st;
    mode_t closed;
    int rv;

    if (fstat(dir, &st) != 0)
        return mortise_syserr(err, errno, "stat the directory");
    if (passes(group, &st))
        return MORTISE_OK;
    closed = st.st_mode & PERMISSIONS & ~(mode_t)OTHERS;
    if (fchmod(dir, closed) != 0)
        return mortise_syserr(
            err, errno,
            "remove the permissions of other users from the directory");
    if (fchown(dir, (uid_t)-1, group != NULL ? *group : getegid()) != 0)
        return mortise_syserr(err, errno, "set the group of the directory");
    if (group == NULL)
        return MORTISE_OK;
    rv = close_all(dir, but, err);
    if (rv == MORTISE_OK && fchmod(dir, closed | THROUGH) != 0)
        rv = mortise_syserr(err, errno,
                            "give the group access to the directory");
    return rv;
}
