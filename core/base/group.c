/* group.c -- give a Unix group access to one socket in a closed directory.
 *
 * With mode 0710, members of the directory's group can open files whose names
 * they know, but cannot list the directory.  So every other file in it must be
 * closed to them by its own mode.
 *
 *   (1) Membership is the kernel's view of a process (its groups at connect()),
 *       not /etc/group.  A login from before a change keeps the groups that it
 *       had.
 *   (2) Modes change in an order that never exposes the directory to a wrong
 *       group: set the group before the permission, and remove the permission
 *       before the group changes.
 *   (3) Links and files of other users in the directory are left alone.
 *       Opening the store rejects them (core/store/leveldb/owners.c).
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
    ENTRY_MAX = 1 << 20, /* bytes of a group entry, with its members */
    MOST_GROUPS = 65536, /* per process: NGROUPS_MAX of Linux */
    PERMISSIONS = 07777,
    OTHERS = 077,
    THROUGH = 010
};

/* ---- membership ---------------------------------------------------------- */

static int find_group_by_name(const struct mortise_mem *mem, const char *name,
                              gid_t *out, struct mortise_err *err)
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

static bool is_group_in_list(gid_t group, const gid_t *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == group)
            return true;
    return false;
}

/* Room for the largest number of groups that a process can have. */
static gid_t *new_group_list(const struct mortise_mem *mem)
{
    return mortise_alloc(mem, MOST_GROUPS * sizeof(gid_t));
}

static void free_group_list(const struct mortise_mem *mem, gid_t *list)
{
    mortise_release(mem, list, MOST_GROUPS * sizeof *list);
}

static int check_own_membership(const struct mortise_mem *mem, gid_t group,
                                bool *is, struct mortise_err *err)
{
    gid_t *list = new_group_list(mem);
    int n;

    if (list == NULL)
        return mortise_nomem(err);
    n = getgroups(MOST_GROUPS, list);
    *is = geteuid() == 0 || getegid() == group ||
          (n > 0 && is_group_in_list(group, list, (size_t)n));
    free_group_list(mem, list);
    return MORTISE_OK;
}

int mortise_group_find_shareable(const struct mortise_mem *mem,
                                 const char *name, gid_t *out,
                                 struct mortise_err *err)
{
    bool is = false;
    int rv = find_group_by_name(mem, name, out, err);
    char us[64];

    if (rv == MORTISE_OK)
        rv = check_own_membership(mem, *out, &is, err);
    if (rv != MORTISE_OK || is)
        return rv;
    mortise_owner_get_name(geteuid(), us);
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
    list = new_group_list(mem);
    if (list != NULL &&
        getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, list, &n) == 0)
        is = is_group_in_list(group, list, n / sizeof *list);
    free_group_list(mem, list);
    return is;
}

/* ---- the directory ------------------------------------------------------- */

/* Remove the permissions of group and others from one entry. */
static int close_entry_to_others(int dir, const char *name,
                                 struct mortise_err *err)
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

static int close_dir_to_others(int dir, const char *but,
                               struct mortise_err *err)
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
            rv = close_entry_to_others(dir, e->d_name, err);
    closedir(d);
    return rv;
}

/* Are the permissions for group and others exactly those for `group`? */
static bool has_group_modes(const gid_t *group, const struct stat *st)
{
    return group == NULL
               ? (st->st_mode & OTHERS) == 0
               : (st->st_mode & OTHERS) == THROUGH && st->st_gid == *group;
}

bool mortise_group_has_access(const gid_t *group, int dir)
{
    struct stat st;

    return fstat(dir, &st) == 0 && has_group_modes(group, &st);
}

/* (2) */
int mortise_group_grant_access(const gid_t *group, int dir, const char *but,
                               struct mortise_err *err)
{
    struct stat st;
    mode_t closed;
    int rv;

    if (fstat(dir, &st) != 0)
        return mortise_syserr(err, errno, "stat the directory");
    if (has_group_modes(group, &st))
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
    rv = close_dir_to_others(dir, but, err);
    if (rv == MORTISE_OK && fchmod(dir, closed | THROUGH) != 0)
        rv = mortise_syserr(err, errno,
                            "give the group access to the directory");
    return rv;
}
