/* quarantine.c -- marks of plugins that took a process down.
 *
 * A plugin that crashes in create() would do so at every start, and with it the
 * engine.  So a mark is on disk before any of its code runs, and goes when
 * create() has returned.  Who finds a mark at the next start knows:
 *
 *   (1) A mark that nobody has locked was left by a process that died in there.
 *       The lock (flock) belongs to the open file, so the kernel gives it up
 *       with the process, however that ended.
 *   (2) A mark is of one plugin's bytes.  Any change of the plugin lifts it.
 *   (3) Marks need no sync: a crash of the process leaves what it wrote, and
 *       after a power cut it is fair to try again.
 */
#include "plugin/quarantine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/files.h"

static int mark_path(char path[PATH_MAX], const char *dir, const char *name,
                     struct mortise_err *err)
{
    return mortise_file_path(path, PATH_MAX, err, "%s/%s", dir, name);
}

static int make_dir(const char *dir, struct mortise_err *err)
{
    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        return mortise_syserr(err, errno, "make %s", dir);
    return MORTISE_OK;
}

static bool is_locked(int fd)
{
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        flock(fd, LOCK_UN);
        return false;
    }
    return errno == EWOULDBLOCK;
}

/* The reason from a mark's text, or false when it is of other bytes. */
static bool read_mark(char why[MORTISE_WHY_MAX], const char *text, size_t n,
                      const struct mortise_manifest *m)
{
    char hex[MORTISE_DIGEST_HEX];
    size_t len = MORTISE_DIGEST_HEX - 1;

    mortise_hex(hex, m->digest, sizeof m->digest);
    if (n < len || memcmp(text, hex, len) != 0)
        return false;
    snprintf(why, MORTISE_WHY_MAX, "%.*s", (int)(n > len ? n - len - 1 : 0),
             n > len ? text + len + 1 : "");
    if (why[0] == '\0')
        snprintf(why, MORTISE_WHY_MAX,
                 "it took the process down that created it last");
    return true;
}

int mortise_quarantine_why(char why[MORTISE_WHY_MAX], const char *dir,
                           const struct mortise_manifest *m,
                           struct mortise_err *err)
{
    char path[PATH_MAX], text[MORTISE_DIGEST_HEX + MORTISE_WHY_MAX];
    int fd, rv = mark_path(path, dir, m->name, err);
    ssize_t n;

    why[0] = '\0';
    if (rv != MORTISE_OK)
        return rv;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? MORTISE_OK
                   : mortise_syserr(err, errno, "read %s", path);
    n = read(fd, text, sizeof text);
    if (n < 0)
        rv = mortise_syserr(err, errno, "read %s", path);
    else if (!is_locked(fd) && !read_mark(why, text, (size_t)n, m))
        unlink(path);
    close(fd);
    return rv;
}

int mortise_quarantine_put(const char *dir, const struct mortise_manifest *m,
                           const char *why, struct mortise_err *err)
{
    char path[PATH_MAX], text[MORTISE_DIGEST_HEX + MORTISE_WHY_MAX];
    char hex[MORTISE_DIGEST_HEX];
    int rv = make_dir(dir, err);

    if (rv == MORTISE_OK)
        rv = mark_path(path, dir, m->name, err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_hex(hex, m->digest, sizeof m->digest);
    snprintf(text, sizeof text, "%s\n%s", hex, why);
    return mortise_file_write(path, text, strlen(text), 0600, 0, err);
}

int mortise_quarantine_lift(const char *dir, const char *name,
                            struct mortise_err *err)
{
    char path[PATH_MAX];
    int rv = mark_path(path, dir, name, err);

    if (rv != MORTISE_OK)
        return rv;
    if (unlink(path) == 0)
        return MORTISE_OK;
    if (errno == ENOENT || errno == ENOTDIR)
        return mortise_fail(err, MORTISE_ENOTFOUND,
                            "plugin %s is not quarantined", name);
    return mortise_syserr(err, errno, "remove %s", path);
}

int mortise_quarantine_begin(int *fd, const char *dir,
                             const struct mortise_manifest *m,
                             struct mortise_err *err)
{
    char path[PATH_MAX], hex[MORTISE_DIGEST_HEX];
    int rv = make_dir(dir, err), f;

    if (rv == MORTISE_OK)
        rv = mark_path(path, dir, m->name, err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_hex(hex, m->digest, sizeof m->digest);
    hex[MORTISE_DIGEST_HEX - 1] = '\n';
    f = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (f < 0)
        return mortise_syserr(err, errno, "write %s", path);
    /* Locked before it says anything: an unlocked mark would be a crash.
     * Another process that creates the same plugin at this moment holds the
     * lock already, and its mark is as good. */
    if ((flock(f, LOCK_EX | LOCK_NB) != 0 && errno != EWOULDBLOCK) ||
        ftruncate(f, 0) != 0 || mortise_file_put(f, hex, sizeof hex) != 0) {
        int saved = errno;

        close(f);
        return mortise_syserr(err, saved, "write %s", path);
    }
    *fd = f;
    return MORTISE_OK;
}

void mortise_quarantine_end(int fd, const char *dir, const char *name)
{
    char path[PATH_MAX];

    if (mark_path(path, dir, name, NULL) == MORTISE_OK)
        unlink(path);
    close(fd);
}
