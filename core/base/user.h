/* user.h -- users of this machine, by name.  [any] */
#ifndef MORTISE_BASE_USER_H
#define MORTISE_BASE_USER_H

#include <sys/types.h>

#include "core/base/err.h"
#include "core/base/mem.h"

/* The user of that name and its group, if this process may start programs as that
 * user: root may, and the user itself.  MORTISE_ENOTFOUND: there is none;
 * MORTISE_EDENIED: it is somebody else, or root. */
int mortise_user_to_run_as(const struct mortise_mem *mem, const char *name,
                           uid_t *uid, gid_t *gid, struct mortise_err *err);

#endif
