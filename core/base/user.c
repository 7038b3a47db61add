/* user.c -- look up users of this machine by name (user.h). */
#include "core/base/user.h"

#include <errno.h>
#include <pwd.h>
#include <unistd.h>

#include "core/base/owner.h"

enum { ENTRY_MAX = 1 << 16 }; /* bytes of a user entry */

static int find_user_by_name(const struct mortise_mem *mem, const char *name,
                             uid_t *uid, gid_t *gid, struct mortise_err *err)
{
    struct passwd entry, *found = NULL;
    int errnum = ERANGE;

    for (size_t n = 1024; errnum == ERANGE && n <= ENTRY_MAX; n *= 4) {
        char *room = mortise_alloc(mem, n);

        if (room == NULL)
            return mortise_nomem(err);
        errnum = getpwnam_r(name, &entry, room, n, &found);
        mortise_release(mem, room, n);
    }
    if (found != NULL) {
        *uid = entry.pw_uid;
        *gid = entry.pw_gid;
        return MORTISE_OK;
    }
    return errnum == 0 || errnum == ENOENT
               ? mortise_fail(err, MORTISE_ENOTFOUND,
                              "there is no user '%.100s'", name)
               : mortise_syserr(err, errnum, "look up the user '%.100s'", name);
}

int mortise_user_find_for_run(const struct mortise_mem *mem, const char *name,
                              uid_t *uid, gid_t *gid, struct mortise_err *err)
{
    int rv = find_user_by_name(mem, name, uid, gid, err);
    char us[64];

    if (rv != MORTISE_OK)
        return rv;
    if (*uid == 0 || *gid == 0)
        return mortise_fail(err, MORTISE_EDENIED,
                            "'%.100s' is root or in root's group, and programs "
                            "never run as root; use an ordinary user",
                            name);
    if (geteuid() == 0 || geteuid() == *uid)
        return MORTISE_OK;
    mortise_owner_get_name(geteuid(), us);
    return mortise_fail(err, MORTISE_EDENIED,
                        "this process (user %s) cannot start a program as "
                        "'%.100s': only root can",
                        us, name);
}
