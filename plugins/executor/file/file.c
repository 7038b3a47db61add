/* file.c -- files, read and written inside the directories it was given.
 *
 * Operations
 *   read   {path, max?}                    -> {path, size, content}
 *          A regular file of UTF-8 text, whole.  max: bytes; it can only
 *          lower the deployment's max_read.
 *   list   {path}                          -> {path, entries, skipped}
 *          entries: [{name, type: file|dir|link|other, size}], sorted by the
 *          bytes of their names, links not followed, at most 10,000.  skipped:
 *          how many have a name that is not UTF-8.
 *   write  {path, content, mode?, parents?} -> {path, bytes}
 *          mode: replace (default), or create, which refuses to touch a file
 *          with other content.  parents: true makes the directories on the
 *          way.  A file that is replaced keeps its permissions; a link is
 *          replaced, not followed.
 *
 * Config (of the deployment)
 *   roots      [directories]  where it may read and write; at least one
 *   read_only  [directories]  where it may read, besides
 *   max_read   bytes of a file to read                      (16777216)
 *   Directories must be there when the plugin starts.  A relative path, here,
 *   counts from the deployment; in an operation it counts from the first of
 *   `roots`.  An absolute path must lie below a root.
 *
 * Error codes
 *   invalid  outside_roots  denied  not_found  not_file  not_dir  not_text
 *   too_large  exists  no_space*  busy*  io  no_memory*  cancelled
 *   (* transient: retried where the node has a retry_policy)
 *
 * A node that uses it
 *   read:
 *     type: tool
 *     tool: file/read
 *     args: {path: "${input.log}"}
 *     output_as: null
 *     outputs: {scratch.log: output.content}
 *
 * What it promises:
 *
 *   (1) Nothing outside the roots is opened, whatever the path says and
 *       whoever moves links about meanwhile: the kernel resolves every path
 *       below the root's descriptor (openat2, RESOLVE_BENEATH).  Comparing
 *       texts, or resolving first and opening later, could both be raced.
 *       Where openat2 is missing (Linux before 5.6, some sandboxes, valgrind)
 *       we go step by step and follow no link and no "..", inside or not.
 *   (2) A write is there whole or not at all: a temporary file beside the
 *       target is written, synced and renamed over it, and then the directory
 *       is synced.  Only after that the call succeeds.
 *   (3) The temporary file's name comes from the idempotency key, so the next
 *       attempt of the same call finds and removes what a crash left.  Two
 *       attempts never run at once: the engine awaits one before it starts
 *       the next.
 *   (4) reconcile says that a write happened when the target holds exactly
 *       the content.  After a mere kill that content may live in the page
 *       cache alone, so it is synced, with its directory, before we say so.
 *       (Somebody else may have written the same bytes.  Then what the graph
 *       wanted is there as well.)
 *
 * An instance does not change after create(), so any number of calls may run
 * at once.  Nothing of ours runs between calls.
 */
#include <mortise/ask.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../create.h"

enum {
    MAX_ROOTS = 64,
    MAX_ENTRIES = 10000,
    MAX_READ = 16 << 20, /* default of max_read */
    CHUNK = 64 << 10,    /* between two looks at cancelled() */
    ROOM = 16 << 10      /* of an emitter, on the stack */
};

struct root {
    int fd; /* O_PATH */
    bool writable;
    char *given; /* as configured, when that is absolute; else NULL */
    char *real;  /* as realpath() has it */
};

struct mortise_inst {
    mortise_host *host; /* lent until destroy(), as is the table */
    const mortise_host_api *api;
    struct root *roots; /* the first n_writable are `roots` */
    size_t n_roots;
    uint64_t max_read;
};

/* One call, as its functions need it. */
struct job {
    struct mortise_inst *inst;
    mortise_call call;
    mortise_str key; /* idempotency key */
    mortise_jv body;
    char path[PATH_MAX]; /* as asked for */
};

/* A path below a root.  "" never: the root itself is ".". */
struct place {
    int root;        /* lent by the instance */
    const char *rel; /* into job.path */
};

/* ---- saying no --------------------------------------------------------- */

struct reason {
    const char *code, *klass;
    mortise_status status;
};

static const struct reason invalid = {"invalid", "permanent",
                                      MORTISE_S_INVALID};
static const struct reason outside = {"outside_roots", "permanent",
                                      MORTISE_S_DENIED};
static const struct reason denied = {"denied", "permanent", MORTISE_S_DENIED};
static const struct reason not_found = {"not_found", "permanent",
                                        MORTISE_S_NOTFOUND};
static const struct reason not_file = {"not_file", "permanent",
                                       MORTISE_S_INVALID};
static const struct reason not_dir = {"not_dir", "permanent",
                                      MORTISE_S_INVALID};
static const struct reason not_text = {"not_text", "permanent",
                                       MORTISE_S_INVALID};
static const struct reason too_large = {"too_large", "permanent",
                                        MORTISE_S_INVALID};
static const struct reason exists = {"exists", "permanent", MORTISE_S_FAILED};
static const struct reason no_space = {"no_space", "transient", MORTISE_S_IO};
static const struct reason busy = {"busy", "transient", MORTISE_S_IO};
static const struct reason io = {"io", "permanent", MORTISE_S_IO};
static const struct reason no_memory = {"no_memory", "transient",
                                        MORTISE_S_NOMEM};
static const struct reason cancelled = {"cancelled", "cancelled",
                                        MORTISE_S_CANCELLED};
static const struct reason unsupported = {"unsupported", "permanent",
                                          MORTISE_S_UNSUPPORTED};

/* Words and status; call 0 is create().  The longest words hold one path. */
__attribute__((format(printf, 4, 5))) static mortise_status
no(struct mortise_inst *i, mortise_call call, const struct reason *r,
   const char *fmt, ...)
{
    char msg[PATH_MAX + 512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    return mortise_refuse(i->host, i->api, call, r->status, r->klass, r->code,
                          msg);
}

static const struct reason *reason_of(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return &not_found;
    case EXDEV: /* openat2: the way leads out */
        return &outside;
    case EACCES:
    case EPERM:
    case EROFS:
    case ELOOP: /* openat2: a link of /proc, or too many links */
        return &denied;
    case EISDIR:
    case ENXIO: /* a FIFO or socket with nobody there */
        return &not_file;
    case ENAMETOOLONG:
        return &invalid;
    case ENOSPC:
    case EDQUOT:
        return &no_space;
    case EAGAIN:
    case EMFILE:
    case ENFILE:
    case ETXTBSY:
        return &busy;
    case ENOMEM:
        return &no_memory;
    default:
        return &io;
    }
}

/* The system's words, in no locale. */
static const char *words_of(int error)
{
    const char *words = strerrordesc_np(error);

    return words != NULL ? words : "unknown error";
}

/* What the system said about the job's path. */
static mortise_status no_errno(const struct job *j, const char *doing,
                               int error)
{
    const struct reason *r = reason_of(error);

    return no(j->inst, j->call, r, "%s %s: %s", doing, j->path,
              r == &outside ? "it leads out of the configured roots"
                            : words_of(error));
}

static mortise_status no_mem(const struct job *j)
{
    return no(j->inst, j->call, &no_memory, "out of memory");
}

static bool is_cancelled(const struct job *j)
{
    return j->inst->api->cancelled(j->inst->host, j->call) != 0;
}

static mortise_status no_more(const struct job *j)
{
    return no(j->inst, j->call, &cancelled, "cancelled");
}

/* ---- where ------------------------------------------------------------- */

/* The next part of a path, without the slashes and single dots before it;
 * its length is 0 at the end. */
static const char *part(const char *p, size_t *n)
{
    for (;;) {
        p += strspn(p, "/");
        *n = strcspn(p, "/");
        if (*n != 1 || *p != '.')
            return p;
        p++;
    }
}

/* One step down; -1 and errno. */
static int step_down(int dir, const char *name, size_t n, int flags)
{
    char room[NAME_MAX + 1];

    if (n > NAME_MAX || (n == 2 && memcmp(name, "..", 2) == 0)) {
        errno = n > NAME_MAX ? ENAMETOOLONG : EXDEV;
        return -1;
    }
    memcpy(room, name, n);
    room[n] = '\0';
    return openat(dir, n > 0 ? room : ".", flags | O_NOFOLLOW | O_CLOEXEC);
}

/* Open below a root without openat2. */
static int walk_beneath(int root, const char *rel, int flags)
{
    int dir = openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool last = false;
    size_t n, m;

    rel = part(rel, &n);
    while (dir >= 0 && !last) {
        const char *rest = part(rel + n, &m);
        int next, error;

        last = m == 0;
        next = step_down(dir, rel, n, last ? flags : O_PATH | O_DIRECTORY);
        error = errno;
        close(dir);
        errno = error;
        dir = next;
        rel = rest;
        n = m;
    }
    return dir;
}

/* Open below a root; -1 and errno.  EAGAIN means that a rename crossed our
 * way, which the kernel asks us to try again. */
static int open_beneath(int root, const char *rel, int flags)
{
    struct open_how how = {
        .flags = (unsigned)flags | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    long fd;
    int tries = 100;

    do
        fd = syscall(SYS_openat2, root, rel, &how, sizeof how);
    while (fd < 0 && (errno == EINTR || (errno == EAGAIN && tries-- > 0)));
    if (fd < 0 && (errno == ENOSYS || errno == EPERM)) /* as sandboxes say */
        return walk_beneath(root, rel, flags);
    return (int)fd;
}

/* A directory below a root, to work in and to sync.  openat2 finds it; the
 * descriptor comes from the C library's own open, which is where the tests'
 * power cut listens.  -1 and errno. */
static int open_dir(int root, const char *rel)
{
    int found = open_beneath(root, rel, O_PATH | O_DIRECTORY), fd, error;

    if (found < 0)
        return -1;
    fd = openat(found, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    error = errno;
    close(found);
    errno = error;
    return fd;
}

/* What is left of an absolute path behind a directory; NULL if it does not
 * start with that.  *depth: how many parts the directory has. */
static const char *behind(const char *dir, const char *path, size_t *depth)
{
    size_t n, m;

    for (*depth = 0;; ++*depth) {
        dir = part(dir, &n);
        path = part(path, &m);
        if (n == 0)
            return path;
        if (n != m || memcmp(dir, path, n) != 0)
            return NULL;
        dir += n;
        path += m;
    }
}

/* The root with the longest name that an absolute path starts with.  (1) is
 * not decided here: what comes behind may still say "..". */
static bool find_root(const struct mortise_inst *i, const char *path,
                      bool writing, struct place *out)
{
    size_t depth, best = 0;

    out->rel = NULL;
    for (size_t k = 0; k < 2 * i->n_roots; k++) {
        const struct root *r = &i->roots[k / 2];
        const char *dir = k % 2 == 0 ? r->given : r->real, *rel;

        if (dir == NULL || (writing && !r->writable))
            continue;
        rel = behind(dir, path, &depth);
        if (rel == NULL || (out->rel != NULL && depth <= best))
            continue;
        *out = (struct place){r->fd, rel};
        best = depth;
    }
    return out->rel != NULL;
}

/* The "path" of the body, as a place below a root. */
static mortise_status locate(struct job *j, bool writing, struct place *out)
{
    mortise_jv v = mortise_jv_get(j->body, "path");
    struct mortise_inst *i = j->inst;

    if (mortise_jv_cstr(v, j->path, sizeof j->path) != MORTISE_S_OK) {
        return no(i, j->call, &invalid,
                  "path must be a string of at most %d bytes without a NUL",
                  PATH_MAX - 1);
    }
    if (j->path[0] == '\0')
        return no(i, j->call, &invalid, "path is empty");
    if (j->path[0] != '/')
        *out = (struct place){i->roots[0].fd, j->path};
    else if (!find_root(i, j->path, writing, out)) {
        if (writing && find_root(i, j->path, false, out))
            return no(i, j->call, &denied,
                      "%s is below a read_only root of this deployment",
                      j->path);
        return no(i, j->call, &outside, "%s is outside the configured roots",
                  j->path);
    }
    if (*out->rel == '\0')
        out->rel = ".";
    return MORTISE_S_OK;
}

/* ---- read -------------------------------------------------------------- */

static mortise_status no_large(const struct job *j, uint64_t max)
{
    return no(j->inst, j->call, &too_large,
              "%s is larger than the limit of %llu bytes; raise max_read, or "
              "split the file",
              j->path, (unsigned long long)max);
}

/* All bytes of fd, `size` of them unless it grows, up to max, into *p (the
 * caller frees it, also after an error) and *n. */
static mortise_status slurp(const struct job *j, int fd, uint64_t size,
                            uint64_t max, char **p, uint64_t *n)
{
    uint64_t cap = size + 1; /* + 1: to see the end */
    ssize_t got = 1;
    char *more;

    while (got > 0 && !is_cancelled(j)) {
        if (*p == NULL || *n == cap) {
            cap = *p == NULL ? cap : 2 * cap < max + 1 ? 2 * cap : max + 1;
            more = realloc(*p, cap);
            if (more == NULL)
                return no_mem(j);
            *p = more;
        }
        got = read(fd, *p + *n, cap - *n < CHUNK ? cap - *n : CHUNK);
        if (got < 0 && errno == EINTR)
            got = 1;
        else if (got < 0)
            return no_errno(j, "read", errno);
        else
            *n += (uint64_t)got;
        if (*n > max)
            return no_large(j, max);
    }
    return got > 0 ? no_more(j) : MORTISE_S_OK;
}

/* Text is UTF-8 without NULs. */
static mortise_status check_text(const struct job *j, mortise_str text)
{
    const char *nul = text.n > 0 ? memchr(text.p, '\0', text.n) : NULL;
    uint64_t good = mortise_str_utf8(text);

    if (nul != NULL && (uint64_t)(nul - text.p) < good)
        good = (uint64_t)(nul - text.p);
    if (good == text.n)
        return MORTISE_S_OK;
    return no(j->inst, j->call, &not_text, "%s is not UTF-8 text (byte %llu)",
              j->path, (unsigned long long)good + 1);
}

static mortise_status emit_read(const struct job *j, mortise_str text)
{
    char room[ROOM];
    mortise_emitter e;

    mortise_emitter_init(&e, j->inst->host, j->inst->api, j->call, room,
                         sizeof room);
    mortise_jw_object(&e.w);
    mortise_jw_key(&e.w, "path");
    mortise_jw_cstr(&e.w, j->path);
    mortise_jw_key(&e.w, "size");
    mortise_jw_int(&e.w, (int64_t)text.n);
    mortise_jw_key(&e.w, "content");
    mortise_jw_string(&e.w, text);
    mortise_jw_end(&e.w);
    return mortise_emitter_finish(&e);
}

static mortise_status read_fd(const struct job *j, int fd, uint64_t max)
{
    struct stat st;
    mortise_status status;
    uint64_t n = 0;
    char *p = NULL;

    if (fstat(fd, &st) != 0)
        return no_errno(j, "read", errno);
    if (!S_ISREG(st.st_mode))
        return no(j->inst, j->call, &not_file, "%s is not a regular file",
                  j->path);
    if ((uint64_t)st.st_size > max)
        return no_large(j, max);
    status = slurp(j, fd, (uint64_t)st.st_size, max, &p, &n);
    if (status == MORTISE_S_OK)
        status = check_text(j, mortise_strn(p, n));
    if (status == MORTISE_S_OK)
        status = emit_read(j, mortise_strn(p, n));
    free(p);
    return status;
}

static mortise_status do_read(struct job *j)
{
    mortise_jv v = mortise_jv_get(j->body, "max");
    int64_t max = (int64_t)j->inst->max_read;
    mortise_status status;
    struct place at;
    int fd;

    if (v.n > 0 && (mortise_jv_int(v, &max) != MORTISE_S_OK || max < 0))
        return no(j->inst, j->call, &invalid, "max must be a number of bytes");
    if ((uint64_t)max > j->inst->max_read)
        max = (int64_t)j->inst->max_read;
    status = locate(j, false, &at);
    if (status != MORTISE_S_OK)
        return status;
    /* O_NONBLOCK: a FIFO must not hold us */
    fd = open_beneath(at.root, at.rel, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return no_errno(j, "read", errno);
    status = read_fd(j, fd, (uint64_t)max);
    close(fd);
    return status;
}

/* ---- list -------------------------------------------------------------- */

struct entry {
    char *name;
    const char *type;
    int64_t size;
};

struct listing {
    struct entry *v;
    size_t n, cap;
    int64_t skipped;
};

static void free_listing(struct listing *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i].name);
    free(l->v);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name,
                  ((const struct entry *)b)->name);
}

static const char *type_name(mode_t mode)
{
    return S_ISREG(mode)   ? "file"
           : S_ISDIR(mode) ? "dir"
           : S_ISLNK(mode) ? "link"
                           : "other";
}

/* Add one name; -1 when memory ran out. */
static int add_entry(struct listing *l, int dir, const char *name)
{
    struct stat st;

    if (mortise_str_utf8(mortise_strz(name)) < strlen(name)) {
        l->skipped++;
        return 0;
    }
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return 0; /* it has just gone */
    if (l->n == l->cap) {
        size_t cap = l->cap > 0 ? 2 * l->cap : 64;
        struct entry *v = realloc(l->v, cap * sizeof *v);

        if (v == NULL)
            return -1;
        l->v = v;
        l->cap = cap;
    }
    l->v[l->n] =
        (struct entry){strdup(name), type_name(st.st_mode), st.st_size};
    return l->v[l->n].name != NULL ? (l->n++, 0) : -1;
}

static mortise_status collect(const struct job *j, DIR *dir, struct listing *l)
{
    const struct dirent *d;

    while (errno = 0, (d = readdir(dir)) != NULL) {
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
            continue;
        if (is_cancelled(j))
            return no_more(j);
        if (l->n + (size_t)l->skipped == MAX_ENTRIES)
            return no(j->inst, j->call, &too_large,
                      "%s has more than %d entries", j->path, MAX_ENTRIES);
        if (add_entry(l, dirfd(dir), d->d_name) != 0)
            return no_mem(j);
    }
    return errno == 0 ? MORTISE_S_OK : no_errno(j, "list", errno);
}

static mortise_status emit_listing(const struct job *j, const struct listing *l)
{
    char room[ROOM];
    mortise_emitter e;

    mortise_emitter_init(&e, j->inst->host, j->inst->api, j->call, room,
                         sizeof room);
    mortise_jw_object(&e.w);
    mortise_jw_key(&e.w, "path");
    mortise_jw_cstr(&e.w, j->path);
    mortise_jw_key(&e.w, "entries");
    mortise_jw_array(&e.w);
    for (size_t i = 0; i < l->n; i++) {
        mortise_jw_object(&e.w);
        mortise_jw_key(&e.w, "name");
        mortise_jw_cstr(&e.w, l->v[i].name);
        mortise_jw_key(&e.w, "type");
        mortise_jw_cstr(&e.w, l->v[i].type);
        mortise_jw_key(&e.w, "size");
        mortise_jw_int(&e.w, l->v[i].size);
        mortise_jw_end(&e.w);
    }
    mortise_jw_end(&e.w);
    mortise_jw_key(&e.w, "skipped");
    mortise_jw_int(&e.w, l->skipped);
    mortise_jw_end(&e.w);
    return mortise_emitter_finish(&e);
}

static mortise_status do_list(struct job *j)
{
    struct listing l = {NULL, 0, 0, 0};
    mortise_status status;
    struct place at;
    DIR *dir;
    int fd;

    status = locate(j, false, &at);
    if (status != MORTISE_S_OK)
        return status;
    fd = open_beneath(at.root, at.rel, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return no_errno(j, "list", errno);
    dir = fdopendir(fd);
    if (dir == NULL) {
        status = errno == ENOTDIR ? no(j->inst, j->call, &not_dir,
                                       "%s is not a directory", j->path)
                                  : no_errno(j, "list", errno);
        close(fd);
        return status;
    }
    status = collect(j, dir, &l);
    if (status == MORTISE_S_OK) {
        if (l.n > 0)
            qsort(l.v, l.n, sizeof *l.v, by_name);
        status = emit_listing(j, &l);
    }
    free_listing(&l);
    closedir(dir);
    return status;
}

/* ---- write ------------------------------------------------------------- */

struct writing {
    struct place at;
    char *base;         /* the last part of the path, in `rel` */
    char rel[PATH_MAX]; /* the directory: all before it, or "." */
    int dir;            /* that directory, open; -1 */
    char tmp[80];       /* the temporary file's name in it */
    char *room;         /* for content with escapes; NULL */
    mortise_str content;
    bool create, parents;
};

/* FNV-1a: a file name needs no more than to be the same again. */
static uint64_t fnv(uint64_t h, mortise_str s)
{
    for (uint64_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * 0x100000001b3u;
    return h;
}

/* (3) */
static void name_tmp(const struct job *j, struct writing *w)
{
    if (j->key.n > 0)
        snprintf(w->tmp, sizeof w->tmp, ".mortise-%016llx%016llx.tmp",
                 (unsigned long long)fnv(0xcbf29ce484222325u, j->key),
                 (unsigned long long)fnv(0x6c62272e07bb0142u, j->key));
    else
        snprintf(w->tmp, sizeof w->tmp, ".mortise-%ld-%llu.tmp", (long)getpid(),
                 (unsigned long long)j->call);
}

/* Split the place into directory and name. */
static mortise_status split(const struct job *j, struct writing *w)
{
    size_t n = strlen(w->at.rel);
    char *slash;

    memcpy(w->rel, w->at.rel, n + 1); /* it is a part of job.path */
    slash = strrchr(w->rel, '/');
    w->base = slash != NULL ? slash + 1 : w->rel;
    if (*w->base == '\0' || strcmp(w->base, ".") == 0 ||
        strcmp(w->base, "..") == 0)
        return no(j->inst, j->call, &invalid, "%s does not name a file",
                  j->path);
    if (slash != NULL) {
        *slash = '\0';
    } else { /* make room for "." before the name */
        if (n + 3 > sizeof w->rel)
            return no_errno(j, "write", ENAMETOOLONG);
        memmove(w->rel + 2, w->rel, n + 1);
        memcpy(w->rel, ".", 2);
        w->base = w->rel + 2;
    }
    return MORTISE_S_OK;
}

static mortise_status read_mode(const struct job *j, struct writing *w)
{
    mortise_jv mode = mortise_jv_get(j->body, "mode");
    mortise_jv parents = mortise_jv_get(j->body, "parents");
    int32_t yes = 0;

    w->create = mortise_jv_is(mode, mortise_strz("create")) != 0;
    if (mode.n > 0 && !w->create &&
        !mortise_jv_is(mode, mortise_strz("replace")))
        return no(j->inst, j->call, &invalid, "mode must be replace or create");
    if (parents.n > 0 && mortise_jv_bool(parents, &yes) != MORTISE_S_OK)
        return no(j->inst, j->call, &invalid, "parents must be true or false");
    w->parents = yes != 0;
    return MORTISE_S_OK;
}

static mortise_status read_content(const struct job *j, struct writing *w)
{
    mortise_jv v = mortise_jv_get(j->body, "content");
    mortise_status status = mortise_jv_text(v, NULL, 0, &w->content);

    if (status == MORTISE_S_NOMEM) { /* it has escapes */
        w->room = malloc(v.n);
        if (w->room == NULL)
            return no_mem(j);
        status = mortise_jv_text(v, w->room, v.n, &w->content);
    }
    if (status != MORTISE_S_OK)
        return no(j->inst, j->call, &invalid, "content must be a string");
    return MORTISE_S_OK;
}

/* fsync; a file system that has none for this kind of file says EINVAL. */
static int sync_fd(int fd)
{
    return fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
}

/* The directories on the way, each synced into the one above it, so that no
 * power cut can take the way to a file that is there.  With `make` the missing
 * ones are made. */
static int walk_parents(const struct writing *w, bool make)
{
    char way[PATH_MAX], name[NAME_MAX + 1];
    const char *p = w->rel;
    size_t n, m = 1;

    memcpy(way, ".", 2);
    for (p = part(p, &n); n > 0; p = part(p + n, &n)) {
        int error = 0, dir;

        if (n > NAME_MAX || m + n + 2 > sizeof way)
            return ENAMETOOLONG;
        dir = open_dir(w->at.root, way);
        if (dir < 0)
            return errno;
        memcpy(name, p, n);
        name[n] = '\0';
        if (make && mkdirat(dir, name, 0777) != 0 && errno != EEXIST)
            error = errno;
        if (error == 0)
            error = sync_fd(dir);
        close(dir);
        if (error != 0)
            return error;
        way[m] = '/';
        memcpy(way + m + 1, name, n + 1);
        m += n + 1;
    }
    return 0;
}

/* All that a write and its reconciliation share: what, and where to. */
static mortise_status prepare(struct job *j, struct writing *w)
{
    mortise_status status = locate(j, true, &w->at);

    if (status == MORTISE_S_OK)
        status = split(j, w);
    if (status == MORTISE_S_OK)
        status = read_mode(j, w);
    if (status == MORTISE_S_OK)
        status = read_content(j, w);
    name_tmp(j, w);
    return status;
}

static void finish_writing(struct writing *w)
{
    if (w->dir >= 0)
        close(w->dir);
    free(w->room);
}

enum found { ABSENT, OTHER, SAME };

/* Does fd hold just these bytes? */
static int compare(int fd, mortise_str content, enum found *out)
{
    char chunk[ROOM];
    uint64_t at = 0;
    ssize_t got;

    *out = OTHER;
    while ((got = read(fd, chunk, sizeof chunk)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno;
        if ((uint64_t)got > content.n - at ||
            memcmp(chunk, content.p + at, (size_t)got) != 0)
            return 0;
        at += (uint64_t)got;
    }
    if (at == content.n)
        *out = SAME;
    return 0;
}

/* The same of a file that is open; SAME is synced (4). */
static int look_at(const struct writing *w, int fd, enum found *out)
{
    struct stat st;
    int error;

    *out = OTHER;
    if (fstat(fd, &st) != 0)
        return errno;
    if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != w->content.n)
        return 0;
    error = compare(fd, w->content, out);
    if (error == 0 && *out == SAME)
        error = sync_fd(fd);
    if (error == 0 && *out == SAME)
        error = sync_fd(w->dir);
    return error;
}

/* What is at the target?  SAME: exactly the content, and on the disk.  Returns
 * 0 or an errno. */
static int look(const struct writing *w, enum found *out)
{
    int fd = openat(w->dir, w->base,
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    int error = fd < 0 ? errno : 0;

    if (fd >= 0) {
        error = look_at(w, fd, out);
        close(fd);
        return error;
    }
    *out = error == ENOENT ? ABSENT : OTHER;
    /* ELOOP: a link; ENXIO: a socket */
    return error == ENOENT || error == ELOOP || error == ENXIO ? 0 : error;
}

/* The content into fd, whole and synced; errno in the result, or ECANCELED. */
static int fill(const struct job *j, int fd, mortise_str content)
{
    ssize_t put;

    for (uint64_t at = 0; at < content.n; at += (uint64_t)put) {
        uint64_t left = content.n - at;

        if (is_cancelled(j))
            return ECANCELED;
        put = write(fd, content.p + at, left < CHUNK ? left : CHUNK);
        if (put < 0 && errno != EINTR)
            return errno;
        if (put < 0)
            put = 0;
    }
    if (is_cancelled(j))
        return ECANCELED;
    return sync_fd(fd);
}

/* A new temporary file; what an attempt before this one left is removed, not
 * opened, for its descriptor might still be in somebody's hands. */
static int open_tmp(const struct writing *w)
{
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(w->dir, w->tmp, flags, 0666);

    if (fd < 0 && errno == EEXIST && unlinkat(w->dir, w->tmp, 0) == 0)
        fd = openat(w->dir, w->tmp, flags, 0666);
    return fd;
}

/* Let the temporary file take the target's name. */
static int move_over(const struct writing *w)
{
    int rv = w->create
                 ? renameat2(w->dir, w->tmp, w->dir, w->base, RENAME_NOREPLACE)
                 : renameat(w->dir, w->tmp, w->dir, w->base);

    return rv == 0 ? 0 : errno;
}

/* (2), with the errno of what failed, or 0. */
static int put(const struct job *j, const struct writing *w)
{
    struct stat old;
    int fd = open_tmp(w), error = 0;

    if (fd < 0)
        return errno;
    if (fstatat(w->dir, w->base, &old, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(old.st_mode) && fchmod(fd, old.st_mode & 0777) != 0)
        error = errno;
    if (error == 0)
        error = fill(j, fd, w->content);
    if (close(fd) != 0 && error == 0)
        error = errno;
    if (error == 0)
        error = move_over(w);
    if (error != 0) {
        unlinkat(w->dir, w->tmp, 0);
        return error;
    }
    return sync_fd(w->dir);
}

static mortise_status no_put(const struct job *j, const struct writing *w,
                             int error)
{
    if (error == ECANCELED)
        return no_more(j);
    if (error == EEXIST)
        return no(j->inst, j->call, &exists,
                  "%s exists with other content, but mode is create", j->path);
    if (error == EINVAL && w->create)
        return no(
            j->inst, j->call, &unsupported,
            "%s: its file system cannot create a file without replacing it",
            j->path);
    return no_errno(j, "write", error);
}

static void put_result(mortise_jw *w, const struct job *j, uint64_t bytes)
{
    mortise_jw_object(w);
    mortise_jw_key(w, "path");
    mortise_jw_cstr(w, j->path);
    mortise_jw_key(w, "bytes");
    mortise_jw_int(w, (int64_t)bytes);
    mortise_jw_end(w);
}

/* Write, unless it is there already and that will do.  Returns 0 or an
 * errno. */
static int settle(const struct job *j, const struct writing *w)
{
    enum found found = ABSENT;
    int error = w->create ? look(w, &found) : 0;

    if (error == 0 && found == ABSENT) {
        error = put(j, w);
        if (error == EEXIST) /* somebody was faster */
            error = look(w, &found);
    }
    return error == 0 && found == OTHER ? EEXIST : error;
}

static mortise_status write_it(const struct job *j, const struct writing *w)
{
    int error = settle(j, w);
    char room[1024];
    mortise_emitter e;

    if (error != 0)
        return no_put(j, w, error);
    mortise_emitter_init(&e, j->inst->host, j->inst->api, j->call, room,
                         sizeof room);
    put_result(&e.w, j, w->content.n);
    return mortise_emitter_finish(&e);
}

static mortise_status do_write(struct job *j)
{
    struct writing w = {.dir = -1};
    mortise_status status = prepare(j, &w);
    int error;

    if (status == MORTISE_S_OK) {
        error = w.parents ? walk_parents(&w, true) : 0;
        if (error == 0)
            w.dir = open_dir(w.at.root, w.rel);
        if (w.dir < 0)
            status = no_errno(j, "write", error != 0 ? error : errno);
        else
            status = write_it(j, &w);
    }
    finish_writing(&w);
    return status;
}

/* ---- reconcile --------------------------------------------------------- */

static mortise_status emit_happened(const struct job *j, bool happened,
                                    uint64_t bytes)
{
    char room[1024];
    mortise_emitter e;

    mortise_emitter_init(&e, j->inst->host, j->inst->api, j->call, room,
                         sizeof room);
    mortise_jw_object(&e.w);
    mortise_jw_key(&e.w, "happened");
    mortise_jw_bool(&e.w, happened);
    if (happened) {
        mortise_jw_key(&e.w, "result");
        put_result(&e.w, j, bytes);
    }
    mortise_jw_end(&e.w);
    return mortise_emitter_finish(&e);
}

/* Is the content there, and safely?  Also removes what a crash left.  Returns
 * 0 or an errno. */
static int look_back(struct writing *w, enum found *out)
{
    int error;

    w->dir = open_dir(w->at.root, w->rel);
    if (w->dir < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : errno;
    unlinkat(w->dir, w->tmp, 0);
    error = look(w, out);
    if (error == 0 && *out == SAME && w->parents)
        error = walk_parents(w, false);
    return error;
}

/* (4).  A refusal is no answer: a write that today's roots would not allow may
 * have been allowed when it happened. */
static mortise_status did_write(struct job *j)
{
    struct writing w = {.dir = -1};
    mortise_status status = prepare(j, &w);
    enum found found = ABSENT;
    int error;

    if (status == MORTISE_S_OK) {
        error = look_back(&w, &found);
        status = error != 0 ? no_errno(j, "look at", error)
                            : emit_happened(j, found == SAME, w.content.n);
    }
    finish_writing(&w);
    return status;
}

/* ---- the interface ----------------------------------------------------- */

static mortise_status begin(struct job *j, struct mortise_inst *i,
                            const mortise_request *r)
{
    j->inst = i;
    j->call = r->call;
    j->key = r->idempotency_key;
    j->path[0] = '\0';
    if (mortise_jv_parse(r->body, &j->body) != MORTISE_S_OK)
        return no(i, r->call, &invalid, "the arguments are not JSON");
    return MORTISE_S_OK;
}

static mortise_status no_operation(struct mortise_inst *i,
                                   const mortise_request *r)
{
    return no(i, r->call, &unsupported,
              "the plugin file has no such operation");
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    struct job j;
    mortise_status status = begin(&j, i, r);

    if (status != MORTISE_S_OK)
        return status;
    if (mortise_str_is(r->operation, "read"))
        return do_read(&j);
    if (mortise_str_is(r->operation, "list"))
        return do_list(&j);
    if (mortise_str_is(r->operation, "write"))
        return do_write(&j);
    return no_operation(i, r);
}

static mortise_status reconcile(mortise_inst *i, const mortise_request *r)
{
    struct job j;
    mortise_status status = begin(&j, i, r);

    if (status != MORTISE_S_OK)
        return status;
    if (mortise_str_is(r->operation, "write"))
        return did_write(&j);
    return no_operation(i, r);
}

/* ---- the instance ------------------------------------------------------ */

static void destroy(mortise_inst *i)
{
    for (size_t k = 0; k < i->n_roots; k++) {
        close(i->roots[k].fd);
        free(i->roots[k].given);
        free(i->roots[k].real);
    }
    free(i->roots);
    free(i);
}

/* Open one root; on success it counts in n_roots. */
static mortise_status open_root(struct mortise_inst *i, const char *path,
                                bool writable)
{
    struct root *r = &i->roots[i->n_roots];
    int error;

    *r = (struct root){.fd = -1, .writable = writable};
    r->real = realpath(path, NULL);
    r->fd =
        r->real != NULL ? open(r->real, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    error = r->fd < 0 ? errno : 0;
    if (error == 0 && *path == '/' && (r->given = strdup(path)) == NULL)
        error = ENOMEM;
    if (error == 0) {
        i->n_roots++;
        return MORTISE_S_OK;
    }
    if (r->fd >= 0)
        close(r->fd);
    free(r->real);
    return no(i, 0, reason_of(error), "root %s: %s", path, words_of(error));
}

/* One list of the config. */
static mortise_status open_roots(struct mortise_inst *i, mortise_jv list,
                                 bool writable)
{
    mortise_jv_iter it = mortise_jv_each(list);
    char path[PATH_MAX];
    mortise_status status = MORTISE_S_OK;
    mortise_jv v;

    if (list.n > 0 && mortise_jv_type(list) != MORTISE_JV_ARRAY)
        return no(i, 0, &invalid, "roots and read_only must be lists");
    while (status == MORTISE_S_OK && mortise_jv_next(&it, NULL, &v)) {
        if (mortise_jv_cstr(v, path, sizeof path) != MORTISE_S_OK ||
            *path == '\0')
            return no(i, 0, &invalid, "a root must be the path of a directory");
        status = open_root(i, path, writable);
    }
    return status;
}

static mortise_status configure(struct mortise_inst *i, mortise_str config)
{
    mortise_jv body, roots, read_only, max;
    mortise_status status;
    int64_t max_read = MAX_READ;
    uint64_t n;

    if (mortise_jv_parse(config, &body) != MORTISE_S_OK)
        return no(i, 0, &invalid, "the config is not JSON");
    roots = mortise_jv_get(body, "roots");
    read_only = mortise_jv_get(body, "read_only");
    max = mortise_jv_get(body, "max_read");
    n = mortise_jv_count(roots) + mortise_jv_count(read_only);
    if (mortise_jv_count(roots) == 0 || n > MAX_ROOTS)
        return no(i, 0, &invalid,
                  "roots must list at least one directory, and roots and "
                  "read_only at most %d",
                  MAX_ROOTS);
    if (max.n > 0 && (mortise_jv_int(max, &max_read) != MORTISE_S_OK ||
                      max_read < 1 || max_read > INT_MAX))
        return no(i, 0, &invalid, "max_read must be a number of bytes, 1 to %d",
                  INT_MAX);
    i->max_read = (uint64_t)max_read;
    i->roots = calloc(n, sizeof *i->roots);
    if (i->roots == NULL)
        return no(i, 0, &no_memory, "out of memory");
    status = open_roots(i, roots, true);
    if (status == MORTISE_S_OK)
        status = open_roots(i, read_only, false);
    return status;
}

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    struct mortise_inst *i = calloc(1, sizeof *i);

    if (i != NULL) {
        i->host = host;
        i->api = api;
    }
    return create_configured(i, host, api, config, configure, destroy, out);
}

static const mortise_executor executor = {
    .size = sizeof executor, .execute = execute, .reconcile = reconcile};

static const void *get_interface(mortise_inst *i, const char *id)
{
    (void)i;
    return strcmp(id, MORTISE_EXECUTOR_1) == 0 ? &executor : NULL;
}

static const mortise_plugin plugin = {
    .size = sizeof plugin,
    .id = "file",
    .version = "0.1.0",
    .create = create,
    .get_interface = get_interface,
    .destroy = destroy,
};

MORTISE_MODULE_OF(plugin);
