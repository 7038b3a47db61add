/* user.c -- change to an ordinary user without capabilities.
 *
 * A file's owner can change its mode, times and leases through a read-only
 * descriptor, and root owns the system's files.  A program therefore never
 * runs as root: the process changes to the user of the launch arguments, with
 * that user's group and no supplementary groups.
 *
 * It drops all capabilities, except CAP_DAC_OVERRIDE if `opens` is set and the
 * engine has it; Landlock restricts the files that this opens.  Dropped
 * capabilities cannot be regained by executing a program (bounding set) or by
 * being uid 0 (SECBIT_NOROOT).
 */
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

static bool fail_user_change(char words[LAUNCH_MESSAGE_MAX], const char *what)
{
    snprintf(words, LAUNCH_MESSAGE_MAX, "%s: %s", what, strerror(errno));
    return false;
}

/* Drop the bounding set.  The process's own capabilities survive the change of
 * user (SECBIT_NO_SETUID_FIXUP) until keep_capabilities(). */
static bool drop_bounding_set(uint32_t kept, char words[LAUNCH_MESSAGE_MAX])
{
    for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
        if ((cap >= 32 || (kept & 1u << cap) == 0) &&
            prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0)
            return fail_user_change(words, "capabilities");
    return prctl(PR_SET_SECUREBITS,
                 SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                     SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED,
                 0, 0, 0) == 0 ||
           fail_user_change(words, "capabilities");
}

static bool change_program_user(const struct launch *l,
                                char words[LAUNCH_MESSAGE_MAX])
{
    if (setgroups(0, NULL) == 0 && setresgid(l->gid, l->gid, l->gid) == 0 &&
        setresuid(l->uid, l->uid, l->uid) == 0)
        return true;
    snprintf(words, LAUNCH_MESSAGE_MAX, "user %u of the program: %s",
             (unsigned)l->uid, strerror(errno));
    return false;
}

static bool keep_capabilities(struct __user_cap_header_struct *header,
                              uint32_t kept, char words[LAUNCH_MESSAGE_MAX])
{
    const struct __user_cap_data_struct data[2] = {{kept, kept, kept},
                                                   {0, 0, 0}};

    if (syscall(SYS_capset, header, data) != 0)
        return fail_user_change(words, "capabilities");
    return kept == 0 ||
           prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_OVERRIDE, 0,
                 0) == 0 ||
           fail_user_change(words, "capabilities");
}

bool mortise_launch_set_user(const struct launch *l,
                             char words[LAUNCH_MESSAGE_MAX])
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct had[2];
    uint32_t kept;

    if (geteuid() == 0 && !l->has_user) {
        snprintf(words, LAUNCH_MESSAGE_MAX,
                 "root cannot run a program as root: user=UID:GID is missing");
        return false;
    }
    if (syscall(SYS_capget, &header, had) != 0)
        return fail_user_change(words, "capabilities");
    if (had[0].permitted == 0 && had[1].permitted == 0)
        return !l->has_user || change_program_user(l, words);
    kept = l->opens ? had[0].permitted & 1u << CAP_DAC_OVERRIDE : 0;
    return drop_bounding_set(kept, words) &&
           (!l->has_user || change_program_user(l, words)) &&
           keep_capabilities(&header, kept, words);
}
