/* capabilities.c -- a program that root has run is no superuser.
 *
 * Of root's powers it keeps the one to open files that others own, since a
 * deployment gave it those; Landlock says which.  The rest cannot be had again:
 * by no program (the bounding set), not by being uid 0 (SECBIT_NOROOT). */
#include "worker/launch.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { KEPT = CAP_DAC_OVERRIDE };

static bool refuse(char words[LAUNCH_WORDS])
{
    snprintf(words, LAUNCH_WORDS, "capabilities: %s", strerror(errno));
    return false;
}

static bool have_any(const struct __user_cap_data_struct data[2])
{
    return data[0].permitted != 0 || data[1].permitted != 0;
}

bool mortise_launch_capabilities(char words[LAUNCH_WORDS])
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    uint32_t kept;

    if (syscall(SYS_capget, &header, data) != 0)
        return refuse(words);
    if (!have_any(data))
        return true; /* and no_new_privs sees to it that it stays so */
    kept = data[0].permitted & 1u << KEPT;
    for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
        if (cap != KEPT && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0)
            return refuse(words);
    if (prctl(PR_SET_SECUREBITS,
              SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                  SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED,
              0, 0, 0) != 0)
        return refuse(words);
    data[0] = (struct __user_cap_data_struct){kept, kept, kept};
    data[1] = (struct __user_cap_data_struct){0, 0, 0};
    if (syscall(SYS_capset, &header, data) != 0)
        return refuse(words);
    return kept == 0 ||
           prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, KEPT, 0, 0) == 0 ||
           refuse(words);
}
