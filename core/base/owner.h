/* owner.h -- whose a file is, and who could put another in its place.  [any] */
#ifndef MORTISE_BASE_OWNER_H
#define MORTISE_BASE_OWNER_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/base/err.h"

/* A file or directory, the one that was asked about or one on the way to it,
 * that others own or may write. */
struct mortise_fault {
    char path[PATH_MAX]; /* from the root on */
    uid_t uid;
    mode_t mode;
    bool foreign; /* it belongs to neither root nor this user; else others may
                     write it */
};

/* Look at everything on the way to `path`, links included, and at what is
 * there.  `fault` is told what is wrong, from the root on, until it returns
 * false; NULL: the first ends it.  MORTISE_EDENIED: that was so, and err says
 * what to do.  What does not exist is nobody's: MORTISE_OK, if the way to it
 * is. */
typedef bool mortise_fault_fn(void *ud, const struct mortise_fault *f);
int mortise_owner_check(const char *path, mortise_fault_fn *fault, void *ud,
                        struct mortise_err *err);
/* The same of a directory and of each file in it whose name does not begin with
 * a dot. */
int mortise_owner_check_inside(const char *dir, mortise_fault_fn *fault,
                               void *ud, struct mortise_err *err);

/* The same of one name in a directory that is open as `dir` and called `path`,
 * without the way to that: false, and *f says what is wrong.  Of a link, what
 * it leads to is looked at, too, with the way to it.  What is neither a file nor
 * a directory, which nobody reads, is nobody's. */
bool mortise_owner_is_ours(int dir, const char *path, const char *name,
                           struct mortise_fault *f);
/* MORTISE_EDENIED, in the words above; `all`: a directory, with all that is in
 * it, that what is to be done is done to.  NULL: to what is wrong alone. */
int mortise_owner_refuse(const struct mortise_fault *f, const char *all,
                         struct mortise_err *err);

/* The name of a uid, or "uid N". */
void mortise_owner_name(uid_t uid, char out[64]);
/* "sudo -u NAME", to be pasted before a command; '#N' of a uid without a name. */
void mortise_owner_sudo(uid_t uid, char out[96]);

#endif
