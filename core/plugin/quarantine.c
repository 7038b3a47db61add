/* quarantine.c -- marks of plugins that took processes down.
 *
 * A plugin that crashes in create() would do so at every start, and with it the
 * engine.  So a line is on disk before any of its code runs, and goes when
 * create() has returned.  A line that stays says that a process died in there,
 * and not of what: a kill -9 or a power cut at that moment leaves the same.
 * Such a process must go on at its next start; a plugin that crashes does it
 * every time.  Therefore only MORTISE_DEATHS_MAX deaths in a row count.
 *
 * A file of ours, DIR/NAME, has a line for each start that is running or died:
 * the digest of the plugin's manifest in hex.  One with a blank and a reason
 * behind it was put there by the engine, for good.
 *
 *   (1) Lines count only while nobody has the file locked.  A start locks it
 *       (flock, shared) before it adds its line; the lock belongs to the open
 *       file, so the kernel gives it up with the process, however that ended.
 *   (2) A line is of one plugin's bytes.  Any change of the plugin lifts it.
 *   (3) create() that returns ends the row, whatever it returned.
 *   (4) Half a line, or one that a power cut left empty, is of no plugin: at
 *       worst a row begins anew.  So the lines of starts need no sync, and a
 *       start costs an open, a write and an unlink.  (Never a truncation to
 *       nothing: ext4 writes such a file out when it is closed.)
 */
#include "plugin/quarantine.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/files.h"

enum {
    HEX = MORTISE_DIGEST_HEX - 1,
    START_LEN = HEX + 2, /* it ends what stands half before it, and itself */
    MARK_MAX = HEX + 1 + MORTISE_WHY_MAX, /* with its end */
    /* Of a file's end, enough for a reason and the deaths behind it. */
    TAIL_MAX = MARK_MAX + MORTISE_DEATHS_MAX * START_LEN
};

static int mark_path(char path[PATH_MAX], const char *dir, const char *name,
                     struct mortise_err *err)
{
    return mortise_file_path(path, PATH_MAX, err, "%s/%s", dir, name);
}

/* ---- reading ---------------------------------------------------------------
 */

static bool is_locked(int fd)
{
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        flock(fd, LOCK_UN);
        return false;
    }
    return errno == EWOULDBLOCK;
}

/* What a file's lines say of the plugin with this digest. */
struct row {
    char hex[MORTISE_DIGEST_HEX];
    unsigned deaths; /* in a row, up to the last line */
    const char *why; /* a reason, of so many bytes; or NULL */
    size_t n_why;
};

static void read_line(struct row *r, const char *line, size_t n)
{
    if (n == 0)
        return;
    if (n < HEX || memcmp(line, r->hex, HEX) != 0) {
        r->deaths = 0;
        r->why = NULL;
    } else if (n == HEX) {
        r->deaths++;
    } else if (line[HEX] == ' ') {
        r->why = line + HEX + 1;
        r->n_why = n - HEX - 1;
    }
}

static void read_lines(struct row *r, const char *text, size_t n)
{
    const char *end;

    while ((end = memchr(text, '\n', n)) != NULL) {
        read_line(r, text, (size_t)(end - text));
        n -= (size_t)(end + 1 - text);
        text = end + 1;
    }
}

static void say_why(char why[MORTISE_WHY_MAX], const struct row *r)
{
    if (r->why != NULL)
        snprintf(why, MORTISE_WHY_MAX, "%.*s", (int)r->n_why, r->why);
    else if (r->deaths >= MORTISE_DEATHS_MAX)
        snprintf(why, MORTISE_WHY_MAX,
                 "each of its last %u starts took the process down", r->deaths);
}

/* The end of a file, or -1. */
static ssize_t read_tail(int fd, char text[TAIL_MAX])
{
    off_t size = lseek(fd, 0, SEEK_END);

    if (size < 0)
        return -1;
    return pread(fd, text, TAIL_MAX, size > TAIL_MAX ? size - TAIL_MAX : 0);
}

int mortise_quarantine_why(char why[MORTISE_WHY_MAX], const char *dir,
                           const struct mortise_manifest *m,
                           struct mortise_err *err)
{
    char path[PATH_MAX], text[TAIL_MAX];
    struct row r = {.deaths = 0};
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
    mortise_hex(r.hex, m->digest, sizeof m->digest);
    n = read_tail(fd, text);
    if (n < 0) {
        rv = mortise_syserr(err, errno, "read %s", path);
    } else if (!is_locked(fd)) {
        read_lines(&r, text, (size_t)n);
        say_why(why, &r);
    }
    close(fd);
    return rv;
}

/* ---- writing ---------------------------------------------------------------
 */

static int make_dir(const char *dir, struct mortise_err *err)
{
    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        return mortise_syserr(err, errno, "make %s", dir);
    return MORTISE_OK;
}

int mortise_quarantine_put(const char *dir, const struct mortise_manifest *m,
                           const char *why, struct mortise_err *err)
{
    char path[PATH_MAX], hex[MORTISE_DIGEST_HEX], line[MARK_MAX + 1];
    int n, rv = make_dir(dir, err);

    assert(strchr(why, '\n') == NULL); /* the engine's words, one line */
    if (rv == MORTISE_OK)
        rv = mark_path(path, dir, m->name, err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_hex(hex, m->digest, sizeof m->digest);
    n = snprintf(line, sizeof line, "%s %.*s\n", hex, MORTISE_WHY_MAX - 1, why);
    return mortise_file_write(path, line, (size_t)n, 0600, 0, err);
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

/* ---- around create() -------------------------------------------------------
 */

/* The first start in a store makes the directory. */
static int open_mark(int *fd, const char *dir, const char *path,
                     struct mortise_err *err)
{
    static const int flags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC;
    int rv;

    *fd = open(path, flags, 0600);
    if (*fd < 0 && errno == ENOENT) {
        rv = make_dir(dir, err);
        if (rv != MORTISE_OK)
            return rv;
        *fd = open(path, flags, 0600);
    }
    return *fd >= 0 ? MORTISE_OK : mortise_syserr(err, errno, "write %s", path);
}

int mortise_quarantine_begin(int *fd, const char *dir,
                             const struct mortise_manifest *m,
                             struct mortise_err *err)
{
    char path[PATH_MAX], line[START_LEN + 1] = "\n";
    int f, saved, rv = mark_path(path, dir, m->name, err);

    if (rv == MORTISE_OK)
        rv = open_mark(&f, dir, path, err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_hex(line + 1, m->digest, sizeof m->digest);
    line[START_LEN - 1] = '\n';
    /* Who only looks has the lock for a moment, so we wait for it. */
    if (flock(f, LOCK_SH) != 0 || mortise_file_put(f, line, START_LEN) != 0) {
        saved = errno;
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
