/* peer.h -- may this store, and whoever answers at its socket, be told
 * anything? */
#ifndef MORTISE_SERVER_PEER_H
#define MORTISE_SERVER_PEER_H

#include <sys/stat.h>
#include <sys/types.h>

#include "core/base/err.h"

/* Of a store's directory, for somebody of the uid `we`, whose deployment shares
 * it with `group` (NULL: with nobody); `path` is what they call it.  MORTISE_EDENIED: what was found, what was expected, what to do. */
int mortise_peer_judge_store(uid_t we, const gid_t *group,
                             const struct stat *store, const char *path,
                             struct mortise_err *err);
/* Of the process at the other end of the store's socket. */
int mortise_peer_judge(uid_t we, const struct stat *store, const char *path,
                       uid_t peer, pid_t pid, struct mortise_err *err);

/* Both, of what is open; *pid: who answers. */
int mortise_peer_check_store(int dir, const char *path, const gid_t *group,
                             struct mortise_err *err);
int mortise_peer_check(int fd, int dir, const char *path, pid_t *pid,
                       struct mortise_err *err);

#endif
