/* group.h -- a group of users that may reach something of ours.  [any] */
#ifndef MORTISE_BASE_GROUP_H
#define MORTISE_BASE_GROUP_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/base/err.h"
#include "core/base/mem.h"

/* The group of that name, if this process may give files to it: root may, and so
 * may its members.  MORTISE_ENOTFOUND: there is none; MORTISE_EDENIED: we are none
 * of them. */
int mortise_group_to_share(const struct mortise_mem *mem, const char *name,
                           gid_t *out, struct mortise_err *err);
/* Is whoever is at the other end of the socket in it, as the kernel had it when
 * they connected? */
bool mortise_group_has_peer(const struct mortise_mem *mem, gid_t group, int fd);

/* Let the group (NULL: nobody) pass through an open directory of ours to what in
 * it is the group's, and reach nothing else in it: first what is there is closed
 * to all others, except for the name `but`.  At no time is more open than before
 * or after. */
int mortise_group_let_through(const gid_t *group, int dir, const char *but,
                              struct mortise_err *err);
/* Is it let through, just so? */
bool mortise_group_passes(const gid_t *group, int dir);

#endif
