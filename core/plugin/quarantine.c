/* quarantine.c -- records of plugins that ended the process, and of the
 * executions involved.
 *
 * The file DIR/NAME has one line for each recorded death of a plugin (death.c
 * defines which deaths are recorded, and writes the lines):
 *
 *   DIGEST died MS HOW STAGE TENANT RUN PATH
 *
 * DIGEST is that of its manifest, in hex.  MS is the time since 1970.  HOW is a
 * signal (SIGSEGV), `exit`, `thread` or `hang`.  STAGE is the purpose of the
 * call (create, call, answer, cancel, end), or `thread` for a thread of the
 * plugin.  TENANT, RUN and PATH name the execution; `-` if there was none.  A
 * line with a digest, a space and any other text is a reason from the engine,
 * and is permanent.
 *
 *   (1) A line applies to one plugin's bytes.  Any change of the plugin ends
 *       the quarantine.
 *   (2) The third death in a row quarantines the plugin for a minute, the
 *       fourth for ten minutes, each later one for an hour.  Meanwhile it is
 *       not started.  A day without a death ends the row.
 *   (3) An execution in which it died three times is blocked as long as the
 *       lines exist, quarantined or not: it would crash again.
 *   (4) Deaths in the future are ignored: the clock was wrong then or is wrong
 *       now.
 *   (5) An incomplete line, or one that a power cut left empty, is ignored.
 *       Therefore lines of deaths are not synced.  A reason is synced, and so
 *       is the directory entry of its file.
 *   (6) Only the last TAIL_MAX bytes are read. */
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
    MARK_MAX = HEX + 1 + MORTISE_WHY_MAX, /* with its newline */
    TAIL_MAX = 256 << 10,
    LINE_MAX_ = 1280, /* longer than any note */
    FIELDS = 6
};

#define MINUTE_MS UINT64_C(60000)
#define DAY_MS    (24 * 60 * MINUTE_MS)

/* ---- a death ------------------------------------------------------------- */

struct death { /* strings point into a copy of the line */
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

/* Describe a cause: "died of SIGSEGV", "ended the process". */
static void describe_cause(char out[64], const char *how)
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

/* ---- reading lines ------------------------------------------------------- */

struct note_reader {
    char hex[MORTISE_DIGEST_HEX];
    uint64_t now_ms;
    void (*death)(void *ud, const struct death *d);
    void (*reason)(void *ud, const char *why);
    void *ud;
};

static void parse_note_line(struct note_reader *r, const char *line, size_t n)
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

static void parse_note_lines(struct note_reader *r, const char *text, size_t n)
{
    const char *end;

    while ((end = memchr(text, '\n', n)) != NULL) {
        parse_note_line(r, text, (size_t)(end - text));
        n -= (size_t)(end + 1 - text);
        text = end + 1;
    }
}

/* Read the end of a file. */
static int read_file_tail(struct mortise_buf *b, int fd, const char *path,
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

/* Read all lines of this manifest. */
static int read_plugin_notes(struct note_reader *r, int at, const char *dir,
                             const struct mortise_manifest *m,
                             struct mortise_err *err)
{
    char path[PATH_MAX];
    struct mortise_buf b;
    int fd, rv = mortise_file_format_path(path, sizeof path, err, "%s/%s", dir,
                                          m->name);

    if (rv != MORTISE_OK)
        return rv;
    fd = openat(at, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? MORTISE_OK
                   : mortise_syserr(err, errno, "read %s", path);
    mortise_hex_encode(r->hex, m->digest, sizeof m->digest);
    mortise_buf_init(&b, &mortise_heap);
    rv = read_file_tail(&b, fd, path, err);
    close(fd);
    if (rv == MORTISE_OK && b.n > 0)
        parse_note_lines(r, b.p, b.n);
    mortise_buf_finish(&b);
    return rv;
}

/* ---- quarantine state ---------------------------------------------------- */

struct death_row {
    char *why; /* MORTISE_WHY_MAX bytes; "" until a reason */
    unsigned deaths;
    uint64_t last_ms;
    char how[64];
};

static void count_death(void *ud, const struct death *d)
{
    struct death_row *r = ud;
    bool goes_on = d->at_ms < r->last_ms + DAY_MS;

    r->deaths = goes_on ? r->deaths + 1 : 1;
    r->last_ms = d->at_ms;
    describe_cause(r->how, d->how);
}

static void store_reason(void *ud, const char *why)
{
    struct death_row *r = ud;

    snprintf(r->why, MORTISE_WHY_MAX, "%s", why);
}

static uint64_t get_backoff(unsigned deaths)
{
    /* Fewer deaths do not quarantine. */
    assert(deaths >= MORTISE_DEATHS_BLOCK);
    return deaths == MORTISE_DEATHS_BLOCK       ? MINUTE_MS
           : deaths == MORTISE_DEATHS_BLOCK + 1 ? 10 * MINUTE_MS
                                                : 60 * MINUTE_MS;
}

int mortise_quarantine_read_reason(char why[MORTISE_WHY_MAX],
                                   uint64_t *until_ms, bool *noted, int at,
                                   const char *dir,
                                   const struct mortise_manifest *m,
                                   uint64_t now_ms, struct mortise_err *err)
{
    struct death_row row = {.why = why};
    struct note_reader r = {.now_ms = now_ms,
                            .death = count_death,
                            .reason = store_reason,
                            .ud = &row};
    char until[MORTISE_TIME_TEXT];
    int rv;

    why[0] = '\0';
    *until_ms = 0;
    rv = read_plugin_notes(&r, at, dir, m, err);
    *noted = row.deaths > 0;
    if (rv != MORTISE_OK || why[0] != '\0' ||
        row.deaths < MORTISE_DEATHS_BLOCK ||
        now_ms >= row.last_ms + get_backoff(row.deaths))
        return rv;
    *until_ms = row.last_ms + get_backoff(row.deaths);
    mortise_time_format(until, *until_ms);
    snprintf(why, MORTISE_WHY_MAX,
             "it crashed the process %u times (the last time it %s) and is not "
             "started until %s",
             row.deaths, row.how, until);
    return rv;
}

/* ---- deaths of executions ------------------------------------------------ */

struct run_deaths {
    struct mortise_deaths *out;
    const char *tenant, *run;
    /* The executions of the run that died.  More than 16 are unlikely; then the
     * first 16 count. */
    struct {
        char path[MORTISE_VISIT_PATH];
        unsigned times;
    } of[16];
    size_t n;
};

static void count_run_death(void *ud, const struct death *d)
{
    struct run_deaths *b = ud;
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
    describe_cause(b->out->how, d->how);
}

int mortise_quarantine_find_deaths(struct mortise_deaths *out, int at,
                                   const char *dir,
                                   const struct mortise_manifest *m,
                                   const char *tenant, const char *run,
                                   struct mortise_err *err)
{
    struct run_deaths *b = mortise_zalloc(&mortise_heap, sizeof *b);
    struct note_reader r = {
        .now_ms = mortise_now_ms(), .death = count_run_death, .ud = b};
    int rv;

    *out = (struct mortise_deaths){.times = 0};
    if (b == NULL)
        return mortise_nomem(err);
    b->out = out;
    b->tenant = tenant;
    b->run = run;
    rv = read_plugin_notes(&r, at, dir, m, err);
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
        /* No plugin name starts with a dot. */
    } while (e != NULL && e->d_name[0] == '.');
    empty = e == NULL && errno == 0;
    closedir(d);
    return empty;
}

/* ---- writing ------------------------------------------------------------- */

int mortise_quarantine_open(int *fd, int at, const char *dir,
                            struct mortise_err *err)
{
    int rv = mortise_dir_make(at, dir, 0700, err);

    if (rv != MORTISE_OK)
        return rv;
    *fd = openat(at, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *fd >= 0 ? MORTISE_OK : mortise_syserr(err, errno, "open %s", dir);
}

/* Sync the line and the directory entry of its file, which may be new. */
static int sync_note_file(int fd, int at, const char *dir)
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

int mortise_quarantine_add(int at, const char *dir,
                           const struct mortise_manifest *m, const char *why,
                           struct mortise_err *err)
{
    char path[PATH_MAX], hex[MORTISE_DIGEST_HEX], line[MARK_MAX + 2];
    int fd, n, rv = mortise_dir_make(at, dir, 0700, err);

    assert(strchr(why, '\n') == NULL); /* the engine's text is one line */
    if (rv == MORTISE_OK)
        rv = mortise_file_format_path(path, sizeof path, err, "%s/%s", dir,
                                      m->name);
    if (rv != MORTISE_OK)
        return rv;
    mortise_hex_encode(hex, m->digest, sizeof m->digest);
    n = snprintf(line, sizeof line, "\n%s %.*s\n", hex, MORTISE_WHY_MAX - 1,
                 why);
    /* Append, so that the lines of deaths stay valid. */
    fd = openat(at, path,
                O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC |
                    O_NONBLOCK,
                0600);
    if (fd < 0)
        return mortise_syserr(err, errno, "write %s", path);
    if (mortise_file_write_fd(fd, line, (size_t)n) != 0 ||
        sync_note_file(fd, at, dir) != 0)
        rv = mortise_syserr(err, errno, "write %s", path);
    close(fd);
    return rv;
}

int mortise_quarantine_remove(int at, const char *dir, const char *name,
                              struct mortise_err *err)
{
    char path[PATH_MAX];
    int rv =
        mortise_file_format_path(path, sizeof path, err, "%s/%s", dir, name);

    if (rv != MORTISE_OK)
        return rv;
    if (unlinkat(at, path, 0) == 0)
        return MORTISE_OK;
    if (errno == ENOENT || errno == ENOTDIR)
        return mortise_fail(err, MORTISE_ENOTFOUND,
                            "plugin %s is not quarantined", name);
    return mortise_syserr(err, errno, "remove %s", path);
}
