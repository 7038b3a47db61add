/* peer.c -- may this store, and whoever answers at its socket, be told
 * anything?
 *
 * A store's directory decides who hears our graphs and commands: whoever owns
 * it can put a lock and a socket of their own there.  So before a word is said:
 *
 *   (1) The directory is ours, or root's.  Root has no business in a user's
 *       store, either: what it says there, the user reads, and what it makes
 *       there, the user cannot remove.  (sudo -u USER does what is meant.)
 *       It may be somebody else's where a deployment of root's or of our own
 *       (lang/config/guarded.c) names the store and the group that shares it, and
 *       the directory is that group's: then its owner is meant.
 *   (2) Nobody but its owner may write there.
 *   (3) Who answers is the owner: the kernel's word (SO_PEERCRED), not the
 *       file's.
 *
 * All of it is asked of descriptors, so that what was looked at is what is
 * used, whatever becomes of its name meanwhile.
 */
#include "server/peer.h"
#include "core/base/owner.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/control.h"

enum { PERMISSIONS = 07777 };

int mortise_peer_judge_store(uid_t we, const gid_t *group,
                             const struct stat *store, const char *path,
                             struct mortise_err *err)
{
    bool shared = group != NULL && store->st_gid == *group;
    char owner[64], us[64], sudo[96];

    if (store->st_uid != we && store->st_uid != 0 && !shared) {
        mortise_owner_name(store->st_uid, owner);
        mortise_owner_name(we, us);
        mortise_owner_sudo(store->st_uid, sudo);
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

int mortise_peer_judge(uid_t we, const struct stat *store, const char *path,
                       uid_t peer, pid_t pid, struct mortise_err *err)
{
    char owner[64], other[64];

    if (peer == store->st_uid || peer == we)
        return MORTISE_OK;
    mortise_owner_name(store->st_uid, owner);
    mortise_owner_name(peer, other);
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
    return mortise_peer_judge_store(geteuid(), group, &st, path, err);
}

int mortise_peer_check(int fd, int dir, const char *path, pid_t *pid,
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
    return mortise_peer_judge(geteuid(), &st, path, who.uid, who.pid, err);
}
