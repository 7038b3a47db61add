/* quarantine.c -- plugins that took processes down, and for which executions.
 *
 * A file of ours, DIR/NAME, has a line for each death that was noted as the
 * plugin's (death.c says which are, and writes it):
 *
 *     DIGEST died MS HOW STAGE TENANT RUN PATH
 *
 * DIGEST is that of its manifest, in hex; MS the time, since 1970; HOW a signal
 * (SIGSEGV), `exit`, `thread` or `hang`; STAGE what it was called for (create,
 * call, answer, cancel, end), or `thread` for one of its own; TENANT, RUN and
 * PATH the execution, `-` where there was none.  A line of a digest, a blank
 * and other words is a reason that the engine gave, and holds for good.
 *
 *   (1) A line is of one plugin's bytes.  Any change of the plugin lifts it.
 *   (2) The third death in a row quarantines it for a minute, the fourth for
 *       ten, each later one for an hour; meanwhile it is not started.  A day
 *       without a death ends the row.
 *   (3) An execution in which it died three times is blocked for as long as
 *       the lines are there, quarantined or not: it would do it again.
 *   (4) Deaths from the future are void: the clock was wrong then or is now.
 *   (5) Half a line, or one that a power cut left empty, says nothing.  So the
 *       lines of deaths need no sync.  The line of a reason is synced, and so is
 *       the name of its file.
 *   (6) Only the last TAIL_MAX bytes are looked at.
 */
#include "core/plugin/quarantine.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/dirs.h"
#include "core/plugin/death.h"
#include "core/base/files.h"

enum {
    HEX = MORTISE_DIGEST_HEX - 1,
    MARK_MAX = HEX + 1 + MORTISE_WHY_MAX, /* with its end */
    TAIL_MAX = 256 << 10,
    LINE_MAX_ = 1280, /* no note is longer */
    FIELDS = 6
};

#define MINUTE_MS UINT64_C(60000)
#define DAY_MS    (24 * 60 * MINUTE_MS)

/* ---- a death -------------------------------------------------------------- */

struct death { /* its strings are in a copy of the line */
    uint64_t at_ms;
    const char *how, *stage, *tenant, *run, *path;
};

static bool parse_death(struct death *d, char *rest)
{
    char *fields[FIELDS], *end;
    size_t n = 0;

    for (char *at = strtok_r(rest, " ", &end); at != NULL && n < FIELDS;
         at = strtok_r(NULL, " ", &end))
        fields[n++] = at;
    if (n < FIELDS)
        return false;
    *d = (struct death){.at_ms = strtoull(fields[0], &end, 10),
                        .how = fields[1],
                        .stage = fields[2],
                        .tenant = fields[3],
                        .run = fields[4],
                        .path = fields[5]};
    return *end == '\0' && d->at_ms > 0;
}

/* "died of SIGSEGV", "ended the process". */
static void say_how(char out[64], const char *how)
{
    if (strcmp(how, MORTISE_DEATH_EXIT) == 0)
        snprintf(out, 64, "ended the process (exit)");
    else if (strcmp(how, MORTISE_DEATH_THREAD) == 0)
        snprintf(out, 64, "ended an engine's thread (pthread_exit)");
    else if (strcmp(how, MORTISE_DEATH_HANG) == 0)
        snprintf(out, 64, "blocked the engine's thread");
    else
        snprintf(out, 64, "was killed by %.30s", how);
}

/* ---- reading lines -------------------------------------------------------- */

struct reading {
    char hex[MORTISE_DIGEST_HEX];
    uint64_t now_ms;
    void (*death)(void *ud, const struct death *d);
    void (*reason)(void *ud, const char *why);
    void *ud;
};

static void read_line(struct reading *r, const char *line, size_t n)
{
    static const char word[] = "died ";
    char rest[LINE_MAX_];
    struct death d;

    if (n <= HEX + 1 || n - HEX >= sizeof rest ||
        memcmp(line, r->hex, HEX) != 0 || line[HEX] != ' ' ||
        memchr(line, '\0', n) != NULL)
        return;
    memcpy(rest, line + HEX + 1, n - HEX - 1);
    rest[n - HEX - 1] = '\0';
    if (strncmp(rest, word, sizeof word - 1) != 0) {
        if (r->reason != NULL)
            r->reason(r->ud, rest);
    } else if (parse_death(&d, rest + sizeof word - 1) &&
               d.at_ms <= r->now_ms && r->death != NULL) {
        r->death(r->ud, &d);
    }
}

static void read_lines(struct reading *r, const char *text, size_t n)
{
    const char *end;

    while ((end = memchr(text, '\n', n)) != NULL) {
        read_line(r, text, (size_t)(end - text));
        n -= (size_t)(end + 1 - text);
        text = end + 1;
    }
}

/* The end of a file. */
static int read_tail(struct mortise_buf *b, int fd, const char *path,
                     struct mortise_err *err)
{
    char block[4096];
    off_t size = lseek(fd, 0, SEEK_END);
    off_t at = size > TAIL_MAX ? size - TAIL_MAX : 0;
    ssize_t n;

    while (size >= 0 && (n = pread(fd, block, sizeof block, at)) != 0) {
        if (n < 0)
            return mortise_syserr(err, errno, "read %s", path);
        mortise_buf_put(b, block, (size_t)n);
        at += n;
    }
    if (size < 0)
        return mortise_syserr(err, errno, "read %s", path);
    return b->failed ? mortise_nomem(err) : MORTISE_OK;
}

/* Every line that is of this manifest. */
static int read_all(struct reading *r, int at, const char *dir,
                    const struct mortise_manifest *m, struct mortise_err *err)
{
    char path[PATH_MAX];
    struct mortise_buf b;
    int fd,
        rv = mortise_file_path(path, sizeof path, err, "%s/%s", dir, m->name);

    if (rv != MORTISE_OK)
        return rv;
    fd = openat(at, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? MORTISE_OK
                   : mortise_syserr(err, errno, "read %s", path);
    mortise_hex(r->hex, m->digest, sizeof m->digest);
    mortise_buf_init(&b, &mortise_heap);
    rv = read_tail(&b, fd, path, err);
    close(fd);
    if (rv == MORTISE_OK && b.n > 0)
        read_lines(r, b.p, b.n);
    mortise_buf_finish(&b);
    return rv;
}

/* ---- is it quarantined? --------------------------------------------------- */

struct row {
    char *why; /* MORTISE_WHY_MAX; "" until a reason */
    unsigned deaths;
    uint64_t last_ms;
    char how[64];
};

static void count(void *ud, const struct death *d)
{
    struct row *r = ud;
    bool goes_on = d->at_ms < r->last_ms + DAY_MS;

    r->deaths = goes_on ? r->deaths + 1 : 1;
    r->last_ms = d->at_ms;
    say_how(r->how, d->how);
}

static void take_reason(void *ud, const char *why)
{
    struct row *r = ud;

    snprintf(r->why, MORTISE_WHY_MAX, "%s", why);
}

static uint64_t back_off(unsigned deaths)
{
    assert(deaths >= MORTISE_DEATHS_BLOCK); /* fewer quarantine nobody */
    return deaths == MORTISE_DEATHS_BLOCK       ? MINUTE_MS
           : deaths == MORTISE_DEATHS_BLOCK + 1 ? 10 * MINUTE_MS
                                                : 60 * MINUTE_MS;
}

int mortise_quarantine_why(char why[MORTISE_WHY_MAX], uint64_t *until_ms,
                           bool *noted, int at, const char *dir,
                           const struct mortise_manifest *m, uint64_t now_ms,
                           struct mortise_err *err)
{
    struct row row = {.why = why};
    struct reading r = {
        .now_ms = now_ms, .death = count, .reason = take_reason, .ud = &row};
    char until[MORTISE_TIME_TEXT];
    int rv;

    why[0] = '\0';
    *until_ms = 0;
    rv = read_all(&r, at, dir, m, err);
    *noted = row.deaths > 0;
    if (rv != MORTISE_OK || why[0] != '\0' ||
        row.deaths < MORTISE_DEATHS_BLOCK ||
        now_ms >= row.last_ms + back_off(row.deaths))
        return rv;
    *until_ms = row.last_ms + back_off(row.deaths);
    mortise_time_text(until, *until_ms);
    snprintf(why, MORTISE_WHY_MAX,
             "it crashed the process %u times (the last time it %s) and is not "
             "started until %s",
             row.deaths, row.how, until);
    return rv;
}

/* ---- which executions ------------------------------------------------------ */

struct blame {
    struct mortise_deaths *out;
    const char *tenant, *run;
    /* The executions of the run that died; more of them are as rare as a day
     * without one, and then the first are told apart. */
    struct {
        char path[MORTISE_INSIDE_PATH];
        unsigned times;
    } of[16];
    size_t n;
};

static void blame(void *ud, const struct death *d)
{
    struct blame *b = ud;
    size_t i = 0;

    if (strcmp(d->tenant, b->tenant) != 0 || strcmp(d->run, b->run) != 0)
        return;
    assert(b->n <= sizeof b->of / sizeof b->of[0]);
    while (i < b->n && strcmp(b->of[i].path, d->path) != 0)
        i++;
    if (i == sizeof b->of / sizeof b->of[0])
        return;
    if (i == b->n) {
        snprintf(b->of[i].path, sizeof b->of[i].path, "%s", d->path);
        b->n++;
    }
    if (++b->of[i].times < b->out->times)
        return;
    b->out->times = b->of[i].times;
    b->out->last_ms = d->at_ms;
    snprintf(b->out->path, sizeof b->out->path, "%s", d->path);
    say_how(b->out->how, d->how);
}

int mortise_quarantine_deaths(struct mortise_deaths *out, int at,
                              const char *dir, const struct mortise_manifest *m,
                              const char *tenant, const char *run,
                              struct mortise_err *err)
{
    struct blame *b = mortise_zalloc(&mortise_heap, sizeof *b);
    struct reading r = {.now_ms = mortise_now_ms(), .death = blame, .ud = b};
    int rv;

    *out = (struct mortise_deaths){.times = 0};
    if (b == NULL)
        return mortise_nomem(err);
    b->out = out;
    b->tenant = tenant;
    b->run = run;
    rv = read_all(&r, at, dir, m, err);
    mortise_release(&mortise_heap, b, sizeof *b);
    return rv;
}

bool mortise_quarantine_is_empty(int at, const char *dir)
{
    int fd = openat(at, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *e;
    bool empty = fd < 0 && errno == ENOENT;

    if (d == NULL) {
        if (fd >= 0)
            close(fd);
        return empty;
    }
    do {
        errno = 0;
        e = readdir(d);
    } while (e != NULL && e->d_name[0] == '.'); /* no plugin is called so */
    empty = e == NULL && errno == 0;
    closedir(d);
    return empty;
}

/* ---- writing --------------------------------------------------------------- */

int mortise_quarantine_open(int *fd, int at, const char *dir,
                            struct mortise_err *err)
{
    int rv = mortise_dir_make(at, dir, 0700, err);

    if (rv != MORTISE_OK)
        return rv;
    *fd = openat(at, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *fd >= 0 ? MORTISE_OK : mortise_syserr(err, errno, "open %s", dir);
}

/* The line, and the name of its file, which may be new. */
static int sync_line(int fd, int at, const char *dir)
{
    int d, rv = fdatasync(fd);

    if (rv != 0)
        return rv;
    d = openat(at, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    rv = d >= 0 && (fsync(d) == 0 || errno == EINVAL) ? 0 : -1;
    if (d >= 0)
        close(d);
    return rv;
}

int mortise_quarantine_put(int at, const char *dir,
                           const struct mortise_manifest *m, const char *why,
                           struct mortise_err *err)
{
    char path[PATH_MAX], hex[MORTISE_DIGEST_HEX], line[MARK_MAX + 2];
    int fd, n, rv = mortise_dir_make(at, dir, 0700, err);

    assert(strchr(why, '\n') == NULL); /* the engine's words, one line */
    if (rv == MORTISE_OK)
        rv = mortise_file_path(path, sizeof path, err, "%s/%s", dir, m->name);
    if (rv != MORTISE_OK)
        return rv;
    mortise_hex(hex, m->digest, sizeof m->digest);
    n = snprintf(line, sizeof line, "\n%s %.*s\n", hex, MORTISE_WHY_MAX - 1,
                 why);
    /* Behind the deaths, which go on counting. */
    fd = openat(at, path,
                O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC |
                    O_NONBLOCK,
                0600);
    if (fd < 0)
        return mortise_syserr(err, errno, "write %s", path);
    if (mortise_file_put(fd, line, (size_t)n) != 0 ||
        sync_line(fd, at, dir) != 0)
        rv = mortise_syserr(err, errno, "write %s", path);
    close(fd);
    return rv;
}

int mortise_quarantine_lift(int at, const char *dir, const char *name,
                            struct mortise_err *err)
{
    char path[PATH_MAX];
    int rv = mortise_file_path(path, sizeof path, err, "%s/%s", dir, name);

    if (rv != MORTISE_OK)
        return rv;
    if (unlinkat(at, path, 0) == 0)
        return MORTISE_OK;
    if (errno == ENOENT || errno == ENOTDIR)
        return mortise_fail(err, MORTISE_ENOTFOUND,
                            "plugin %s is not quarantined", name);
    return mortise_syserr(err, errno, "remove %s", path);
}
