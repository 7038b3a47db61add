/* user.h -- look up users of this machine by name. [any] */
#ifndef MORTISE_BASE_USER_H
#define MORTISE_BASE_USER_H

#include <sys/types.h>

#include "core/base/err.h"
#include "core/base/mem.h"

/* Find the user with that name and the user's group, if this process may
 * start programs as that user: it is root, or that user.  MORTISE_ENOTFOUND:
 * no such user.  MORTISE_EDENIED: not allowed, or the user is root or in
 * root's group. */
int mortise_user_find_for_run(const struct mortise_mem *mem, const char *name,
                              uid_t *uid, gid_t *gid, struct mortise_err *err);

#endif
