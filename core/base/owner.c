/* owner.c -- check that no other user can change or replace a file.
 *
 * A file that decides which code runs can be trusted only as far as everyone
 * who can change it: its owner, the users who can write it, and the users who
 * can rename something along its path.  The path is resolved as the kernel does
 * it, link by link, and each component is checked.
 *
 *   (1) Root and this user (the effective id) may own a component.
 *   (2) Nobody else may write one.  A directory with the sticky bit, such as
 *       /tmp, is allowed along the path, because only the owner of an entry can
 *       replace it, and the entry is checked as well.  It is not allowed at the
 *       end, because others can add files to it.
 *   (3) A group whose only member is this user counts as this user, unless an
 *       access control list adds others.
 *   (4) The check stops at /proc: its links lead to open files, and nobody can
 *       replace them.
 */
#include "core/base/owner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { LINKS_MAX = 40, PROC_MAGIC = 0x9fa0, ENTRY_MAX = 16384 };

struct owner_walk {
    /* the part already checked, without links; "" is the root */
    char at[PATH_MAX];
    char rest[PATH_MAX]; /* the part not checked yet */
    unsigned links;
    dev_t dev; /* of `at`, if has_dev */
    bool has_dev;
    mortise_owner_fault_fn *fault;
    void *ud;
    struct mortise_err *err;
};

static int fail_path_too_long(const char *path, struct mortise_err *err)
{
    return mortise_fail(err, MORTISE_EINVAL, "path too long: %.200s...", path);
}

/* ---- owner and mode ------------------------------------------------------ */

/* (3).  False with *errnum set: the lookup failed. */
static bool is_own_group(const char *path, gid_t gid, int *errnum)
{
    char users[ENTRY_MAX], groups[ENTRY_MAX];
    struct passwd pw, *user = NULL;
    struct group gr, *group = NULL;

    *errnum = getpwuid_r(geteuid(), &pw, users, sizeof users, &user);
    if (*errnum != 0 || user == NULL || user->pw_gid != gid)
        return false;
    *errnum = getgrgid_r(gid, &gr, groups, sizeof groups, &group);
    if (*errnum != 0 || group == NULL ||
        strcmp(group->gr_name, user->pw_name) != 0)
        return false;
    for (char **m = group->gr_mem; *m != NULL; m++)
        if (strcmp(*m, user->pw_name) != 0)
            return false;
    return getxattr(path, "system.posix_acl_access", NULL, 0) <= 0;
}

static bool others_may_write(const char *path, const struct stat *st, bool last,
                             int *errnum)
{
    if (S_ISLNK(st->st_mode) ||
        (!last && S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX) != 0))
        return false;
    if ((st->st_mode & S_IWOTH) != 0)
        return true;
    return (st->st_mode & S_IWGRP) != 0 &&
           !is_own_group(path, st->st_gid, errnum);
}

/* (1), (2).  *errnum: an error that kept the group from being looked up. */
static bool find_owner_fault(struct mortise_owner_fault *f, const char *path,
                             const struct stat *st, bool last, int *errnum)
{
    *errnum = 0;
    f->uid = st->st_uid;
    f->mode = st->st_mode;
    f->foreign = st->st_uid != 0 && st->st_uid != geteuid();
    if (!f->foreign && !others_may_write(path, st, last, errnum))
        return false;
    snprintf(f->path, sizeof f->path, "%s", path);
    return true;
}

/* ---- the error message --------------------------------------------------- */

/* Quote `s` as one word of the shell. */
static void quote_for_shell(char *out, size_t size, const char *s)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ_./:@%+=,-";
    size_t n = 0;

    bool quoted = strspn(s, plain) < strlen(s);

    if (quoted)
        out[n++] = '\'';
    for (; *s != '\0' && n + 6 < size; s++) {
        if (*s == '\'')
            n += (size_t)sprintf(out + n, "'\\''");
        else
            out[n++] = *s;
    }
    if (quoted)
        out[n++] = '\'';
    out[n] = '\0';
}

void mortise_owner_format_sudo(uid_t uid, char out[96])
{
    char name[64], word[84];

    mortise_owner_get_name(uid, name);
    if (strncmp(name, "uid ", 4) == 0) /* user names have no blanks */
        snprintf(name, sizeof name, "#%lu", (unsigned long)uid);
    quote_for_shell(word, sizeof word, name);
    snprintf(out, 96, "sudo -u %s", word);
}

int mortise_owner_report_fault(const struct mortise_owner_fault *f,
                               const char *all, struct mortise_err *err)
{
    char word[700], sudo[96], or_as[160] = "";

    if (f->foreign && geteuid() == 0) { /* only root may become another user */
        mortise_owner_format_sudo(f->uid, sudo);
        snprintf(or_as, sizeof or_as,
                 "run mortise as that user (%s mortise ...), or, ", sudo);
    }
    quote_for_shell(word, sizeof word, all != NULL ? all : f->path);
    if (f->foreign)
        return mortise_fail(
            err, MORTISE_EDENIED,
            "%s belongs to uid %lu, neither to root nor to you (uid %lu), so "
            "another user can change it; %sif you trust its content: chown "
            "-h%s %lu %s",
            f->path, (unsigned long)f->uid, (unsigned long)geteuid(), or_as,
            all != NULL ? "R" : "", (unsigned long)geteuid(), word);
    return mortise_fail(
        err, MORTISE_EDENIED,
        "other users can write %s (mode %04o); to prevent it: chmod %sgo-w %s",
        f->path, (unsigned)(f->mode & 07777), all != NULL ? "-R " : "", word);
}

static int check_component(struct owner_walk *w, const struct stat *st,
                           bool last)
{
    struct mortise_owner_fault f;
    int errnum;

    if (!find_owner_fault(&f, w->at[0] != '\0' ? w->at : "/", st, last,
                          &errnum))
        return MORTISE_OK;
    if (mortise_errno_is_shortage(errnum))
        return mortise_syserr(w->err, errnum, "check the owner and mode of %s",
                              f.path);
    if (w->fault != NULL && w->fault(w->ud, &f))
        return MORTISE_OK;
    return mortise_owner_report_fault(&f, NULL, w->err);
}

/* ---- walking the path ---------------------------------------------------- */

/* Replace the link at the end of `at` by its target. */
static int follow_link(struct owner_walk *w, size_t before)
{
    char to[PATH_MAX], rest[PATH_MAX];
    ssize_t n = readlink(w->at, to, sizeof to - 1);
    int room;

    if (n < 0)
        return mortise_syserr(w->err, errno, "read %s", w->at);
    w->links++;
    to[n] = '\0';
    strcpy(rest, w->rest);
    room = snprintf(w->rest, sizeof w->rest, "%s/%s", to, rest);
    if (room < 0 || (size_t)room >= sizeof w->rest)
        return fail_path_too_long(to, w->err);
    w->at[to[0] == '/' ? 0 : before] = '\0';
    w->has_dev = false;
    return MORTISE_OK;
}

/* Is `at` on /proc? statfs() is needed only if the device changed. */
static bool is_proc(struct owner_walk *w, dev_t dev)
{
    bool same = w->has_dev && w->dev == dev;
    struct statfs fs;

    w->dev = dev;
    w->has_dev = true;
    return !same && statfs(w->at, &fs) == 0 && fs.f_type == PROC_MAGIC;
}

/* Check the next component; *done: nothing after it can be reached. */
static int walk_component(struct owner_walk *w, const char *name, bool *done)
{
    size_t before = strlen(w->at), n = strlen(name);
    bool last = w->rest[strspn(w->rest, "/")] == '\0';
    struct stat st;
    int rv;

    if (before + n + 2 > sizeof w->at)
        return fail_path_too_long(w->at, w->err);
    w->at[before] = '/';
    memcpy(w->at + before + 1, name, n + 1);
    if (lstat(w->at, &st) != 0) {
        *done = true;
        return errno == ENOENT || errno == ENOTDIR
                   ? MORTISE_OK
                   : mortise_syserr(w->err, errno, "stat %s", w->at);
    }
    rv = check_component(w, &st, last);
    *done = is_proc(w, st.st_dev) ||
            w->links == LINKS_MAX; /* the kernel stops here, too */
    return rv == MORTISE_OK && S_ISLNK(st.st_mode) && !*done
               ? follow_link(w, before)
               : rv;
}

static void drop_component(struct owner_walk *w)
{
    char *slash = strrchr(w->at, '/');

    if (slash != NULL)
        *slash = '\0';
    w->has_dev = false;
}

/* Remove the next component from `rest`; "" at the end. */
static void take_component(struct owner_walk *w, char name[PATH_MAX])
{
    const char *from = w->rest + strspn(w->rest, "/");
    size_t n = strcspn(from, "/");

    memcpy(name, from, n);
    name[n] = '\0';
    memmove(w->rest, from + n, strlen(from + n) + 1);
}

/* Check all components of `rest`. */
static int walk_rest(struct owner_walk *w)
{
    char name[PATH_MAX];
    bool done = false;
    int rv = MORTISE_OK;

    while (rv == MORTISE_OK && !done) {
        take_component(w, name);
        if (name[0] == '\0')
            break;
        if (strcmp(name, "..") == 0)
            drop_component(w);
        else if (strcmp(name, ".") != 0)
            rv = walk_component(w, name, &done);
    }
    return rv;
}

static int owner_walk(struct owner_walk *w, const char *path)
{
    char here[PATH_MAX] = "";
    struct stat st;
    int n, rv = MORTISE_OK;

    if (path[0] != '/' && getcwd(here, sizeof here) == NULL)
        return mortise_syserr(w->err, errno, "find the working directory");
    n = snprintf(w->rest, sizeof w->rest, "%s/%s", here, path);
    if (n < 0 || (size_t)n >= sizeof w->rest)
        return fail_path_too_long(path, w->err);
    if (stat("/", &st) == 0) {
        w->dev = st.st_dev;
        w->has_dev = true;
        rv = check_component(w, &st, false);
    }
    return rv == MORTISE_OK ? walk_rest(w) : rv;
}

int mortise_owner_check(const char *path, mortise_owner_fault_fn *fault,
                        void *ud, struct mortise_err *err)
{
    struct owner_walk w = {.fault = fault, .ud = ud, .err = err};

    return owner_walk(&w, path);
}

int mortise_owner_check_dir(const char *dir, mortise_owner_fault_fn *fault,
                            void *ud, struct mortise_err *err)
{
    struct owner_walk w = {.fault = fault, .ud = ud, .err = err};
    int rv = owner_walk(&w, dir);
    /* If `rest` is not empty, the path does not exist. */
    DIR *d = rv == MORTISE_OK && w.rest[strspn(w.rest, "/")] == '\0'
                 ? opendir(w.at[0] != '\0' ? w.at : "/")
                 : NULL;
    const struct dirent *e;
    const struct owner_walk there = w;

    if (rv == MORTISE_OK && d == NULL && w.rest[strspn(w.rest, "/")] == '\0' &&
        mortise_errno_is_shortage(errno))
        return mortise_syserr(err, errno, "list %s", dir);

    while (rv == MORTISE_OK && d != NULL && (e = readdir(d)) != NULL) {
        if (e->d_name[0] == '.')
            continue;
        w = there;
        strcpy(w.rest, e->d_name);
        rv = walk_rest(&w);
    }
    if (d != NULL)
        closedir(d);
    return rv;
}

static bool is_file_or_dir(mode_t mode)
{
    return S_ISREG(mode) || S_ISDIR(mode);
}

static bool record_fault(void *ud, const struct mortise_owner_fault *f)
{
    *(struct mortise_owner_fault *)ud = *f;
    return false;
}

bool mortise_owner_check_entry(int dir, const char *path, const char *name,
                               struct mortise_owner_fault *f)
{
    char at[PATH_MAX];
    struct stat st, to;
    int errnum;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        (size_t)snprintf(at, sizeof at, "%s/%s", path, name) >= sizeof at)
        return true;
    if ((is_file_or_dir(st.st_mode) || S_ISLNK(st.st_mode)) &&
        find_owner_fault(f, at, &st, true, &errnum))
        return false;
    return !S_ISLNK(st.st_mode) || fstatat(dir, name, &to, 0) != 0 ||
           !is_file_or_dir(to.st_mode) ||
           mortise_owner_check(at, record_fault, f, NULL) != MORTISE_EDENIED;
}

void mortise_owner_get_name(uid_t uid, char out[64])
{
    char room[4096];
    struct passwd pw, *found = NULL;

    if (getpwuid_r(uid, &pw, room, sizeof room, &found) == 0 && found != NULL &&
        strlen(pw.pw_name) < 64)
        snprintf(out, 64, "%s", pw.pw_name);
    else
        snprintf(out, 64, "uid %lu", (unsigned long)uid);
}
