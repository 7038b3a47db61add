/* peer.c -- may a client trust this store and the process at its socket?
 *
 * The owner of a store's directory can put a lock and a socket there, and so
 * can read our graphs and commands.  A client therefore checks, before it
 * sends anything:
 *
 *   (1) The directory belongs to us or to root.  Root does not use another
 *       user's store, either: the user could read root's requests, and could
 *       not remove files that root creates (sudo -u USER is the right way).
 *       Another owner is accepted if a deployment of root or of ourselves
 *       (lang/config/guarded.c) names the store and the group that shares it,
 *       and the directory belongs to that group.
 *   (2) Only the owner can write to the directory.
 *   (3) The process that answers runs as the owner, according to the kernel
 *       (SO_PEERCRED), not according to the file.
 *
 * All checks use open descriptors, so renaming a path cannot change their
 * result.
 */
#include "server/peer.h"
#include "core/base/owner.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/control.h"

enum { PERMISSIONS = 07777 };

int mortise_peer_check_owner(uid_t we, const gid_t *group,
                             const struct stat *store, const char *path,
                             struct mortise_err *err)
{
    bool shared = group != NULL && store->st_gid == *group;
    char owner[64], us[64], sudo[96];

    if (store->st_uid != we && store->st_uid != 0 && !shared) {
        mortise_owner_get_name(store->st_uid, owner);
        mortise_owner_get_name(we, us);
        mortise_owner_format_sudo(store->st_uid, sudo);
        return mortise_fail(
            err, MORTISE_EDENIED,
            "the store %s belongs to %s (uid %lu), but you are %s (uid %lu): "
            "its owner could read and change your requests; use it as its "
            "owner (%s mortise ...), or use your own store (--store DIR)",
            path, owner, (unsigned long)store->st_uid, us, (unsigned long)we,
            sudo);
    }
    if ((store->st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return mortise_fail(
            err, MORTISE_EDENIED,
            "other users can write to the store %s (mode %04o) and could "
            "answer instead of its engine; run: chmod go-w '%s'",
            path, (unsigned)(store->st_mode & PERMISSIONS), path);
    return MORTISE_OK;
}

int mortise_peer_check_process(uid_t we, const struct stat *store,
                               const char *path, uid_t peer, pid_t pid,
                               struct mortise_err *err)
{
    char owner[64], other[64];

    if (peer == store->st_uid || peer == we)
        return MORTISE_OK;
    mortise_owner_get_name(store->st_uid, owner);
    mortise_owner_get_name(peer, other);
    return mortise_fail(err, MORTISE_EDENIED,
                        "process %ld of %s (uid %lu) answers at the socket of "
                        "the store %s, which belongs to %s; no request was "
                        "sent to it; find out what it is (ps -fp %ld)",
                        (long)pid, other, (unsigned long)peer, path, owner,
                        (long)pid);
}

int mortise_peer_check_store(int dir, const char *path, const gid_t *group,
                             struct mortise_err *err)
{
    struct stat st;

    if (fstat(dir, &st) != 0)
        return mortise_syserr(err, errno, "look at %s", path);
    return mortise_peer_check_owner(geteuid(), group, &st, path, err);
}

int mortise_peer_check_socket(int fd, int dir, const char *path, pid_t *pid,
                              struct mortise_err *err)
{
    struct stat st;
    struct ucred who;
    socklen_t n = sizeof who;

    *pid = 0;
    if (fstat(dir, &st) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) != 0)
        return mortise_syserr(err, errno, "ask who answers at %s", path);
    *pid = who.pid;
    return mortise_peer_check_process(geteuid(), &st, path, who.uid, who.pid,
                                      err);
}
