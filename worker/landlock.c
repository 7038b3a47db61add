/* landlock.c -- restrict files, signals and abstract sockets (Landlock).
 *
 * The sandbox uses every restriction that this kernel's Landlock supports, and
 * fails if the kernel is older than ABI 3.  The constants are the kernel's
 * (include/uapi/linux/landlock.h); those missing from Debian 12's header are
 * defined here.
 */
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
    ABI_TRUNCATE = 3, /* Linux 6.2 */
    ABI_IOCTL = 5,    /* Linux 6.10 */
    ABI_SCOPES = 6    /* Linux 6.12 */
};

#define ACCESS_TRUNCATE  (1ULL << 14)
#define ACCESS_IOCTL_DEV (1ULL << 15)
#define SCOPE_ABSTRACT   (1ULL << 0)
#define SCOPE_SIGNAL     (1ULL << 1)

/* struct landlock_ruleset_attr since ABI 6 */
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
/* Denied to every program: creating device files, and ioctl() on them. */
#define NEVER                                                                  \
    (LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK |            \
     ACCESS_IOCTL_DEV)
#define RUNS (LANDLOCK_ACCESS_FS_EXECUTE)
/* The rights that apply to a file other than a directory. */
#define OF_FILES                                                               \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |               \
     LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE)

static bool fail_landlock(char words[LAUNCH_MESSAGE_MAX], const char *what)
{
    snprintf(words, LAUNCH_MESSAGE_MAX, "%.400s: %s", what, strerror(errno));
    return false;
}

static bool allow_path(int set, const char *path, uint64_t access,
                       char words[LAUNCH_MESSAGE_MAX])
{
    struct landlock_path_beneath_attr rule = {
        .parent_fd = open(path, O_PATH | O_CLOEXEC)};
    struct stat st;
    bool ok;

    if (rule.parent_fd < 0)
        return fail_landlock(words, path);
    if (fstat(rule.parent_fd, &st) == 0 && !S_ISDIR(st.st_mode))
        access &= OF_FILES;
    rule.allowed_access = access;
    ok = syscall(SYS_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH, &rule,
                 0) == 0 ||
         fail_landlock(words, path);
    close(rule.parent_fd);
    return ok;
}

static bool allow_paths(int set, const struct launch_list *paths,
                        uint64_t access, char words[LAUNCH_MESSAGE_MAX])
{
    for (size_t i = 0; i < paths->n; i++)
        if (!allow_path(set, paths->items[i], access, words))
            return false;
    return true;
}

/* Like allow_paths(), but skip paths that do not exist. */
static bool allow_existing_paths(int set, const struct launch_list *paths,
                                 uint64_t what, char words[LAUNCH_MESSAGE_MAX])
{
    for (size_t i = 0; i < paths->n; i++)
        if (access(paths->items[i], F_OK) == 0 &&
            !allow_path(set, paths->items[i], what, words))
            return false;
    return true;
}

/* Devices that every program needs. */
static bool allow_basic_devices(int set, uint64_t known,
                                char words[LAUNCH_MESSAGE_MAX])
{
    static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full",
                                          "/dev/random", "/dev/urandom"};

    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++)
        if (!allow_path(set, devices[i],
                        (READS | LANDLOCK_ACCESS_FS_WRITE_FILE) & known, words))
            return false;
    return true;
}

static bool add_path_rules(int set, const struct launch *l, uint64_t known,
                           char words[LAUNCH_MESSAGE_MAX])
{
    return allow_basic_devices(set, known, words) &&
           allow_path(set, l->program, (READS | RUNS) & known, words) &&
           allow_paths(set, &l->read, READS & known, words) &&
           allow_existing_paths(set, &l->exec, (READS | RUNS) & known, words) &&
           allow_existing_paths(set, &l->system, READS & known, words) &&
           allow_paths(set, &l->write, (READS | WRITES) & known, words);
}

/* The file rights that this kernel can restrict. */
static uint64_t get_handled_rights(long abi)
{
    uint64_t all = READS | WRITES | RUNS | NEVER;

    if (abi < ABI_IOCTL)
        all &= ~ACCESS_IOCTL_DEV;
    return all;
}

static bool is_abi_sufficient(long abi, char words[LAUNCH_MESSAGE_MAX])
{
    if (abi >= ABI_TRUNCATE)
        return true;
    snprintf(words, LAUNCH_MESSAGE_MAX,
             "this kernel cannot restrict a program's files: Landlock %s, but "
             "version 3 is required (Linux 6.2, with landlock in its lsm=)",
             abi <= 0   ? "is not available"
             : abi == 1 ? "is 1"
                        : "is 2");
    return false;
}

bool mortise_launch_set_landlock(const struct launch *l,
                                 char words[LAUNCH_MESSAGE_MAX])
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
                       LANDLOCK_CREATE_RULESET_VERSION);
    struct ruleset r = {.files = get_handled_rights(abi)};
    size_t size = sizeof r.files;
    bool ok;
    int set;

    if (!is_abi_sufficient(abi, words))
        return false;
    if (abi >= ABI_SCOPES) {
        r.scopes = SCOPE_ABSTRACT | SCOPE_SIGNAL;
        size = sizeof r;
    }
    set = (int)syscall(SYS_landlock_create_ruleset, &r, size, 0);
    if (set < 0)
        return fail_landlock(words, "Landlock");
    ok = add_path_rules(set, l, r.files, words) &&
         (syscall(SYS_landlock_restrict_self, set, 0) == 0 ||
          fail_landlock(words, "Landlock"));
    close(set);
    return ok;
}
