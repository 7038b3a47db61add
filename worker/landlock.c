/* landlock.c -- which files a program may use, and whom it may signal.
 *
 * Landlock is asked for all that this kernel's has; what a kernel is too old
 * for, and was asked for, is said.  The constants are the kernel's own, of
 * include/uapi/linux/landlock.h; those that Debian 12's header is too old for
 * stand here. */
#include "worker/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    ABI_TRUNCATE = 3, /* 6.2 */
    ABI_IOCTL = 5,    /* 6.10 */
    ABI_SCOPES = 6    /* 6.12 */
};

#define ACCESS_TRUNCATE  (1ULL << 14)
#define ACCESS_IOCTL_DEV (1ULL << 15)
#define SCOPE_ABSTRACT   (1ULL << 0)
#define SCOPE_SIGNAL     (1ULL << 1)

/* struct landlock_ruleset_attr, of ABI 6 on. */
struct ruleset {
    uint64_t files, net, scopes;
};

#define READS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITES                                                                 \
    (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |           \
     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |            \
     LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |              \
     LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM |              \
     LANDLOCK_ACCESS_FS_REFER | ACCESS_TRUNCATE)
/* What nobody gets: devices, made or asked. */
#define NEVER                                                                  \
    (LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK |            \
     ACCESS_IOCTL_DEV)
#define RUNS (LANDLOCK_ACCESS_FS_EXECUTE)
/* What means something for a file that is no directory. */
#define OF_FILES                                                               \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |               \
     LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE)

static bool refuse(char words[LAUNCH_WORDS], const char *what)
{
    snprintf(words, LAUNCH_WORDS, "%.400s: %s", what, strerror(errno));
    return false;
}

static bool allow(int set, const char *path, uint64_t access,
                  char words[LAUNCH_WORDS])
{
    struct landlock_path_beneath_attr rule = {
        .parent_fd = open(path, O_PATH | O_CLOEXEC)};
    struct stat st;
    bool ok;

    if (rule.parent_fd < 0)
        return refuse(words, path);
    if (fstat(rule.parent_fd, &st) == 0 && !S_ISDIR(st.st_mode))
        access &= OF_FILES;
    rule.allowed_access = access;
    ok = syscall(SYS_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH, &rule,
                 0) == 0 ||
         refuse(words, path);
    close(rule.parent_fd);
    return ok;
}

static bool allow_all(int set, const struct launch_list *paths, uint64_t access,
                      char words[LAUNCH_WORDS])
{
    for (size_t i = 0; i < paths->n; i++)
        if (!allow(set, paths->items[i], access, words))
            return false;
    return true;
}

/* The same of what systems have or have not. */
static bool allow_there(int set, const struct launch_list *paths, uint64_t what,
                        char words[LAUNCH_WORDS])
{
    for (size_t i = 0; i < paths->n; i++)
        if (access(paths->items[i], F_OK) == 0 &&
            !allow(set, paths->items[i], what, words))
            return false;
    return true;
}

/* What no program does without. */
static bool allow_always(int set, uint64_t known, char words[LAUNCH_WORDS])
{
    static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full",
                                          "/dev/random", "/dev/urandom"};

    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++)
        if (!allow(set, devices[i],
                   (READS | LANDLOCK_ACCESS_FS_WRITE_FILE) & known, words))
            return false;
    return true;
}

static bool fill(int set, const struct launch *l, uint64_t known,
                 char words[LAUNCH_WORDS])
{
    return allow_always(set, known, words) &&
           allow(set, l->program, (READS | RUNS) & known, words) &&
           allow_all(set, &l->read, READS & known, words) &&
           allow_there(set, &l->exec, (READS | RUNS) & known, words) &&
           allow_there(set, &l->system, READS & known, words) &&
           allow_all(set, &l->write, (READS | WRITES) & known, words);
}

/* What this kernel can be held to. */
static uint64_t files_of(long abi)
{
    uint64_t all = READS | WRITES | RUNS | NEVER;

    if (abi < ABI_IOCTL)
        all &= ~ACCESS_IOCTL_DEV;
    return all;
}

static bool is_enough(long abi, char words[LAUNCH_WORDS])
{
    if (abi >= ABI_TRUNCATE)
        return true;
    snprintf(words, LAUNCH_WORDS,
             "this kernel cannot restrict a program's files: Landlock %s, but "
             "version 3 is required (Linux 6.2, with landlock in its lsm=)",
             abi <= 0   ? "is not available"
             : abi == 1 ? "is 1"
                        : "is 2");
    return false;
}

bool mortise_launch_landlock(const struct launch *l, char words[LAUNCH_WORDS])
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
                       LANDLOCK_CREATE_RULESET_VERSION);
    struct ruleset r = {.files = files_of(abi)};
    size_t size = sizeof r.files;
    bool ok;
    int set;

    if (!is_enough(abi, words))
        return false;
    if (abi >= ABI_SCOPES) {
        r.scopes = SCOPE_ABSTRACT | SCOPE_SIGNAL;
        size = sizeof r;
    }
    set = (int)syscall(SYS_landlock_create_ruleset, &r, size, 0);
    if (set < 0)
        return refuse(words, "Landlock");
    ok = fill(set, l, r.files, words) &&
         (syscall(SYS_landlock_restrict_self, set, 0) == 0 ||
          refuse(words, "Landlock"));
    close(set);
    return ok;
}
