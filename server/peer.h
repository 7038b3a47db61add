/* peer.h -- may a client trust this store and the process at its socket? */
#ifndef MORTISE_SERVER_PEER_H
#define MORTISE_SERVER_PEER_H

#include <sys/stat.h>
#include <sys/types.h>

#include "core/base/err.h"

/* Check a store's directory for a client of user `we`, whose deployment shares
 * the store with `group` (NULL: not shared).  `path` is for messages.
 * MORTISE_EDENIED with a message that explains the problem and its solution. */
int mortise_peer_check_owner(uid_t we, const gid_t *group,
                             const struct stat *store, const char *path,
                             struct mortise_err *err);
/* Check the process at the other end of the store's socket. */
int mortise_peer_check_process(uid_t we, const struct stat *store,
                               const char *path, uid_t peer, pid_t pid,
                               struct mortise_err *err);

/* The same checks for open descriptors.  *pid receives the process that
 * answers. */
int mortise_peer_check_store(int dir, const char *path, const gid_t *group,
                             struct mortise_err *err);
int mortise_peer_check_socket(int fd, int dir, const char *path, pid_t *pid,
                              struct mortise_err *err);

#endif
