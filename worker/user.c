/* user.c -- who a program is: an ordinary user, and no superuser.
 *
 * A file's owner may change its mode, its times and its leases with no more than
 * a descriptor for reading, and root owns the system.  So root runs no program as
 * itself: it becomes the user that the words name, with that user's group alone.
 *
 * It keeps none of root's powers, or (`opens`) the one to open files that others
 * own, if the deployment gave it those; Landlock restricts which.  The rest cannot
 * be had again: by no program (the bounding set), not by being uid 0
 * (SECBIT_NOROOT). */
#include "worker/launch.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool refuse(char words[LAUNCH_WORDS], const char *what)
{
    snprintf(words, LAUNCH_WORDS, "%s: %s", what, strerror(errno));
    return false;
}

/* Powers stay over a change of user until keep_powers(). */
static bool drop_bounds(uint32_t kept, char words[LAUNCH_WORDS])
{
    for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
        if ((cap >= 32 || (kept & 1u << cap) == 0) &&
            prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0)
            return refuse(words, "capabilities");
    return prctl(PR_SET_SECUREBITS,
                 SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                     SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED,
                 0, 0, 0) == 0 ||
           refuse(words, "capabilities");
}

static bool change_user(const struct launch *l, char words[LAUNCH_WORDS])
{
    if (setgroups(0, NULL) == 0 && setresgid(l->gid, l->gid, l->gid) == 0 &&
        setresuid(l->uid, l->uid, l->uid) == 0)
        return true;
    snprintf(words, LAUNCH_WORDS, "user %u of the program: %s",
             (unsigned)l->uid, strerror(errno));
    return false;
}

static bool keep_powers(struct __user_cap_header_struct *header, uint32_t kept,
                        char words[LAUNCH_WORDS])
{
    const struct __user_cap_data_struct data[2] = {{kept, kept, kept},
                                                   {0, 0, 0}};

    if (syscall(SYS_capset, header, data) != 0)
        return refuse(words, "capabilities");
    return kept == 0 ||
           prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_OVERRIDE, 0,
                 0) == 0 ||
           refuse(words, "capabilities");
}

bool mortise_launch_user(const struct launch *l, char words[LAUNCH_WORDS])
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct had[2];
    uint32_t kept;

    if (geteuid() == 0 && !l->has_user) {
        snprintf(words, LAUNCH_WORDS,
                 "root cannot run a program as root: user=UID:GID is missing");
        return false;
    }
    if (syscall(SYS_capget, &header, had) != 0)
        return refuse(words, "capabilities");
    if (had[0].permitted == 0 && had[1].permitted == 0)
        return !l->has_user || change_user(l, words);
    kept = l->opens ? had[0].permitted & 1u << CAP_DAC_OVERRIDE : 0;
    return drop_bounds(kept, words) &&
           (!l->has_user || change_user(l, words)) &&
           keep_powers(&header, kept, words);
}
