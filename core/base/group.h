/* group.h -- give a Unix group access to a file in a closed directory. [any] */
#ifndef MORTISE_BASE_GROUP_H
#define MORTISE_BASE_GROUP_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/base/err.h"
#include "core/base/mem.h"

/* Find the group with that name, which this process must be allowed to give
 * files to: it is root, or a member.  MORTISE_ENOTFOUND: no such group.
 * MORTISE_EDENIED: not a member. */
int mortise_group_find_shareable(const struct mortise_mem *mem,
                                 const char *name, gid_t *out,
                                 struct mortise_err *err);
/* Was the process at the other end of the socket in the group when it
 * connected? */
bool mortise_group_has_peer(const struct mortise_mem *mem, gid_t group, int fd);

/* Let the group pass through the directory `dir` (mode 0710) to the files that
 * belong to the group; NULL: let nobody pass.  First closes every file in it to
 * group and others, except the one named `but`.  At no time is more open than
 * before or after. */
int mortise_group_grant_access(const gid_t *group, int dir, const char *but,
                               struct mortise_err *err);
/* Does `dir` let exactly that group pass (NULL: nobody)? */
bool mortise_group_has_access(const gid_t *group, int dir);

#endif
