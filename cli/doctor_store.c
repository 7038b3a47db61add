/* doctor_store.c -- `mortise doctor`: the store, its disk and its engine. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/group.h"
#include "core/base/owner.h"
#include "cli/doctor.h"
#include "server/client.h"
#include "core/store/leveldb/dir_lock.h"
#include "core/store/leveldb/directory.h"
#include "core/store/leveldb/owners.h"
#include "core/store/leveldb/integrity.h"

enum {
    MIB = 1 << 20,
    LEAST_MIB = 64,
    GOOD_MIB = 1024,
    SLOW_MS = 50,
    SYNCS = 5
};

/* ---- the directory ----------------------------------------------------- */

static void check_shared_store_mode(struct mortise_doctor *d,
                                    const struct mortise_settings *s, int dir)
{
    const char *group = s->access_group;
    struct stat st;

    if (fstat(dir, &st) != 0)
        return;
    if (mortise_group_has_access(s->access, dir))
        mortise_doctor_report(
            d, MORTISE_DOCTOR_OK, "store", NULL,
            "%s, mode %04o: members of the group %s can use its "
            "socket but not its files",
            s->store, (unsigned)(st.st_mode & 07777), group);
    else
        mortise_doctor_report(
            d, MORTISE_DOCTOR_WARN, "store",
            "no action needed: 'mortise engine' or the next command that "
            "writes to it sets mode 0710 and the group",
            "%s has mode %04o and the group %lu, but store.access grants it to "
            "the group %s",
            s->store, (unsigned)(st.st_mode & 07777), (unsigned long)st.st_gid,
            group);
}

static void check_store_mode(struct mortise_doctor *d,
                             const struct mortise_settings *s, int dir)
{
    const char *path = s->store;
    char sudo[96], run_as[192];
    struct stat st;

    if (fstat(dir, &st) != 0)
        return;
    if (st.st_uid == geteuid() && s->access != NULL) {
        check_shared_store_mode(d, s, dir);
        return;
    }
    mortise_owner_format_sudo(st.st_uid, sudo);
    snprintf(run_as, sizeof run_as,
             "run as its owner (%s mortise doctor), or change the owner with "
             "chown -R",
             sudo);
    if (st.st_uid != geteuid())
        mortise_doctor_report(d, MORTISE_DOCTOR_FAIL, "store", run_as,
                              "%s belongs to uid %u, but you are uid %u", path,
                              (unsigned)st.st_uid, (unsigned)geteuid());
    else if ((st.st_mode & 077) != 0)
        mortise_doctor_report(
            d, MORTISE_DOCTOR_FAIL, "store",
            "run chmod 700 on the store; the next command that "
            "writes to the store also does this, and reports it",
            "%s has mode %04o: others can read the data of runs", path,
            (unsigned)(st.st_mode & 07777));
    else
        mortise_doctor_report(d, MORTISE_DOCTOR_OK, "store", NULL,
                              "%s, mode %04o", path,
                              (unsigned)(st.st_mode & 07777));
}

/* May the directory be a store?  False if it has other files. */
static bool check_is_store(struct mortise_doctor *d, const char *path, int dir)
{
    struct mortise_err err;

    if (mortise_directory_check_ours(dir, &err) != MORTISE_EINVAL)
        return true;
    mortise_doctor_report(d, MORTISE_DOCTOR_FAIL, "store",
                          "name another directory with --store or the "
                          "deployment's store.path",
                          "%s: %s", path, err.msg);
    return false;
}

/* Check the owner of every file, since all tables are read here.  False: do
 * not read them. */
static bool check_store_owners(struct mortise_doctor *d, const char *path,
                               int dir)
{
    struct mortise_err err;

    if (mortise_owners_check(dir, path, true, &err) == MORTISE_OK &&
        mortise_owners_check_links(dir, path, &err) == MORTISE_OK)
        return true;
    mortise_doctor_report(
        d, MORTISE_DOCTOR_FAIL, "store",
        "first find out who changed the store, then follow the instruction in "
        "this error; until then, Mortise rejects commands on this store",
        "%s", err.msg);
    return false;
}

/* A time in the future means that the clock was set back. */
static void check_store_times(struct mortise_doctor *d, int dir)
{
    struct stat st;
    uint64_t ms;
    char then[MORTISE_TIME_TEXT];

    if (fstatat(dir, "db/CURRENT", &st, 0) != 0)
        return;
    ms = (uint64_t)st.st_mtim.tv_sec * 1000;
    if (ms <= mortise_now_ms() + 60000)
        return;
    mortise_time_format(then, ms);
    mortise_doctor_report(
        d, MORTISE_DOCTOR_WARN, "clock",
        "find out whether the clock was wrong then or is wrong "
        "now; the engine uses the clock for all deadlines",
        "the store was written at %s, which is in the future", then);
}

/* ---- the disk ---------------------------------------------------------- */

/* The problem of a type of file system; NULL: none. */
static const char *get_file_system_problem(uint64_t type)
{
    static const struct {
        uint64_t type;
        const char *words;
    } table[] = {
        {0x6969, "NFS: locks and syncs may be unreliable"},
        {0x517B, "SMB: locks and syncs may be unreliable"},
        {0xFF534D42, "CIFS: locks and syncs may be unreliable"},
        {0xFE534D42, "SMB2: locks and syncs may be unreliable"},
        {0x01021997, "9P: locks and syncs may be unreliable"},
        {0x00C36400, "Ceph: locks and syncs may be unreliable"},
        {0x65735546,
         "FUSE: whether a sync reaches the disk depends on its implementation"},
        {0x01021994, "tmpfs: all data is lost when the machine stops"},
        {0x858458F6, "ramfs: all data is lost when the machine stops"},
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].type == type)
            return table[i].words;
    return NULL;
}

static void check_store_disk(struct mortise_doctor *d, int dir)
{
    struct statfs fs;
    const char *bad;
    uint64_t mib;

    if (fstatfs(dir, &fs) != 0)
        return;
    bad = get_file_system_problem((uint64_t)fs.f_type & 0xFFFFFFFF);
    if (bad != NULL)
        mortise_doctor_report(d, MORTISE_DOCTOR_WARN, "disk",
                              "put the store on a disk of this machine", "%s",
                              bad);
    mib = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize / MIB;
    mortise_doctor_report(d,
                          mib < LEAST_MIB  ? MORTISE_DOCTOR_FAIL
                          : mib < GOOD_MIB ? MORTISE_DOCTOR_WARN
                                           : MORTISE_DOCTOR_OK,
                          "space",
                          "make space on this disk: a full disk stops all runs",
                          "%" PRIu64 " MiB free", mib);
}

/* The time of the fastest of several synced writes; 0: one failed. */
static uint64_t measure_sync_time(int fd)
{
    char block[4096] = "doctor";
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < SYNCS; i++) {
        uint64_t begin = mortise_mono_ns(), took;

        if (write(fd, block, sizeof block) != (ssize_t)sizeof block ||
            fdatasync(fd) != 0)
            return 0;
        took = mortise_mono_ns() - begin;
        best = took < best ? took : best;
    }
    return best > 0 ? best : 1;
}

/* Create a file without a name; or, if the file system does not support that,
 * with a name that is removed at once. */
static int create_unnamed_file(int dir)
{
    static const char name[] = "doctor.tmp";
    int fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd >= 0)
        return fd;
    fd = openat(dir, name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        unlinkat(dir, name, 0);
    return fd;
}

static void check_sync_time(struct mortise_doctor *d, int dir)
{
    int fd = create_unnamed_file(dir);
    uint64_t took = fd >= 0 ? measure_sync_time(fd) : 0;

    if (took == 0)
        mortise_doctor_report(
            d, MORTISE_DOCTOR_FAIL, "sync",
            "check that the directory is writable, and check the disk",
            "a synced write failed: %s", strerror(errno));
    else
        mortise_doctor_report(
            d,
            took > SLOW_MS * 1000000ull ? MORTISE_DOCTOR_WARN
                                        : MORTISE_DOCTOR_OK,
            "sync", "every step of a run waits for this; use a faster disk",
            "a synced write takes %.2f ms", (double)took / 1e6);
    if (fd >= 0)
        close(fd);
}

/* ---- the engine -------------------------------------------------------- */

/* Is the store's or its database's lock held?  *err names the process. */
static bool is_store_locked(int dir, struct mortise_err *err)
{
    int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rv;
    struct mortise_dir_lock hold;
    bool held;

    if (again < 0) /* a lock belongs to the open file; leave `dir` unlocked */
        return false;
    rv = mortise_dir_lock_acquire(&hold, again, err);
    if (rv != MORTISE_OK)
        return rv == MORTISE_EBUSY;
    held = mortise_dir_lock_probe(dir, "db/LOCK", err) == MORTISE_EBUSY;
    mortise_dir_lock_release(&hold);
    return held;
}

/* No engine listens: does a process hold the store nevertheless? */
static void check_silent_store(struct mortise_doctor *d, int dir)
{
    struct mortise_err err = {0};

    if (is_store_locked(dir, &err))
        mortise_doctor_report(
            d, MORTISE_DOCTOR_FAIL, "engine",
            "if the process is starting, wait; otherwise stop the process",
            "the store is %s, but no process answers at its control socket",
            err.msg);
    else if (faccessat(dir, "control.sock", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        mortise_doctor_report(d, MORTISE_DOCTOR_WARN, "engine",
                              "no action needed: the next engine replaces it.  "
                              "'mortise runs' lists the runs to resume",
                              "a process that was killed left control.sock");
    else
        mortise_doctor_report(d, MORTISE_DOCTOR_OK, "engine", NULL,
                              "no engine uses the store");
}

/* Does an engine answer at the control socket? */
static void check_store_engine(struct mortise_doctor *d,
                               const struct mortise_settings *s, int dir)
{
    const struct mortise_client_requirements anything = {.group = s->access};
    struct mortise_client c;
    struct mortise_err err = {0};
    int rv = mortise_client_open(&c, d->cli->mem, s->store, &anything, &err);

    if (rv == MORTISE_ENOTFOUND && dir < 0)
        mortise_doctor_report(
            d, MORTISE_DOCTOR_FAIL, "engine",
            "ask the owner to start one: mortise engine",
            "no engine uses the store, and only its owner can start one");
    else if (rv == MORTISE_ENOTFOUND)
        check_silent_store(d, dir);
    else if (rv == MORTISE_OK)
        mortise_doctor_report(d, MORTISE_DOCTOR_OK, "engine", NULL,
                              "process %ld uses the store and answers",
                              (long)c.pid);
    else
        mortise_doctor_report(d, MORTISE_DOCTOR_FAIL, "engine",
                              "remove the cause of this error: all commands on "
                              "this store fail with it",
                              "%s", err.msg);
    mortise_client_close(&c);
}

/* ---- the data ---------------------------------------------------------- */

/* Report data that is unreadable or was not read; neither is healthy. */
static void report_unread_data(struct mortise_doctor *d, const char *path,
                               const struct mortise_err *err)
{
    static const struct {
        int code;
        const char *what, *remedy;
    } known[] = {
        {MORTISE_ESTATE, "store",
         "name the damaged store with --store, and this directory as NEW-DIR"},
        {MORTISE_EFORMAT, "store",
         "use the version of Mortise that wrote it, or restore a backup"},
        {MORTISE_ECORRUPT, "commits",
         "restore a backup; or write the readable data into a new store with "
         "'mortise store salvage NEW-DIR'.  This store is left unchanged, and "
         "every write to it fails"},
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (err->code == known[i].code) {
            mortise_doctor_report(d, MORTISE_DOCTOR_FAIL, known[i].what,
                                  known[i].remedy, "%s: %s", path, err->msg);
            return;
        }
    if (err->code == MORTISE_EBUSY)
        mortise_doctor_report(
            d, MORTISE_DOCTOR_WARN, "commits",
            "stop the process that holds the store, then run 'mortise doctor' "
            "again",
            "the commits were not checked: %s; that process checked the newest "
            "commits when it opened the store",
            err->msg);
    else
        mortise_doctor_report(d, MORTISE_DOCTOR_FAIL, "commits",
                              "check that it is readable, and that $TMPDIR or "
                              "/dev/shm has space for a copy of its logs",
                              "%s was not checked: %s", path, err->msg);
}

static void check_store_data(struct mortise_doctor *d, const char *path,
                             int dir)
{
    struct mortise_err err;

    if (!mortise_directory_has_store(dir))
        return;
    if (mortise_store_check(path, &mortise_heap, &err) == MORTISE_OK)
        mortise_doctor_report(d, MORTISE_DOCTOR_OK, "commits", NULL,
                              "all that was written is complete and readable");
    else
        report_unread_data(d, path, &err);
}

/* ---- all checks -------------------------------------------------------- */

static void check_missing_store(struct mortise_doctor *d, const char *path)
{
    char parent[PATH_MAX];
    int dir = open(mortise_cli_get_parent_dir(path, parent),
                   O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (dir < 0 || faccessat(dir, ".", W_OK | X_OK, AT_EACCESS) != 0) {
        mortise_doctor_report(
            d, MORTISE_DOCTOR_FAIL, "store",
            "create it, or set another directory in store.path "
            "of the deployment",
            "%s does not exist and cannot be created: %s: %s", path, parent,
            strerror(errno));
    } else {
        mortise_doctor_report(d, MORTISE_DOCTOR_OK, "store", NULL,
                              "%s: the first run will create it", path);
        check_store_disk(d, dir);
        check_sync_time(d, dir);
    }
    if (dir >= 0)
        close(dir);
}

/* A member of a group that shares another user's store sees only its socket. */
static bool check_as_member(struct mortise_doctor *d,
                            const struct mortise_settings *s)
{
    struct stat st;
    char owner[64];

    if (s->access == NULL || stat(s->store, &st) != 0 || st.st_uid == geteuid())
        return false;
    mortise_owner_get_name(st.st_uid, owner);
    mortise_doctor_report(
        d, MORTISE_DOCTOR_OK, "store", NULL,
        "%s belongs to %s: members of the group %s can use its "
        "socket, but doctor cannot check its files",
        s->store, owner, s->access_group);
    check_store_engine(d, s, -1);
    return true;
}

void mortise_doctor_check_store(struct mortise_doctor *d,
                                const struct mortise_settings *s)
{
    const char *path = s->store;
    int dir;
    bool ours;

    if (check_as_member(d, s))
        return;
    dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 && errno == ENOENT) {
        check_missing_store(d, path);
        return;
    }
    if (dir < 0) {
        mortise_doctor_report(d, MORTISE_DOCTOR_FAIL, "store",
                              "make this user its owner, or set another "
                              "directory in store.path of the deployment",
                              "%s: %s", path, strerror(errno));
        return;
    }
    if (!check_is_store(d, path, dir)) {
        close(dir);
        return;
    }
    check_store_mode(d, s, dir);
    ours = check_store_owners(d, path, dir);
    check_store_times(d, dir);
    check_store_disk(d, dir);
    check_sync_time(d, dir);
    check_store_engine(d, s, dir);
    if (ours)
        check_store_data(d, path, dir);
    close(dir);
}
