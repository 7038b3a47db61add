/* owner.h -- check that no other user can change or replace a file. [any] */
#ifndef MORTISE_BASE_OWNER_H
#define MORTISE_BASE_OWNER_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/base/err.h"

/* A file or directory that another user owns or can write: the checked one, or
 * one on the path to it. */
struct mortise_owner_fault {
    char path[PATH_MAX]; /* absolute */
    uid_t uid;
    mode_t mode;
    /* true: neither root nor this user owns it; false: others can write it */
    bool foreign;
};

/* Check every component of `path`, through links, and the file itself.  Each
 * fault found, from the root on, is passed to `fault`, which returns false to
 * stop; if `fault` is NULL, the first one stops.  MORTISE_EDENIED: stopped at a
 * fault; the message tells how to mend it.  A path that does not exist is
 * MORTISE_OK if its existing part has no fault. */
typedef bool mortise_owner_fault_fn(void *ud,
                                    const struct mortise_owner_fault *f);
int mortise_owner_check(const char *path, mortise_owner_fault_fn *fault,
                        void *ud, struct mortise_err *err);
/* Check a directory like mortise_owner_check() does, and also each file in the
 * directory whose name has no leading dot. */
int mortise_owner_check_dir(const char *dir, mortise_owner_fault_fn *fault,
                            void *ud, struct mortise_err *err);

/* Check the file `name` in a directory that is open as `dir` and has the path
 * `path`, without checking that path.  False: *f has the fault.  For a
 * link, its target and the path to that are checked as well.  Anything but a
 * file or a directory is ignored, because nothing reads it. */
bool mortise_owner_check_entry(int dir, const char *path, const char *name,
                               struct mortise_owner_fault *f);
/* MORTISE_EDENIED with a message that tells how to mend the fault.  `all`: a
 * directory to which the suggested command is to apply recursively; NULL: to
 * the faulty file only. */
int mortise_owner_report_fault(const struct mortise_owner_fault *f,
                               const char *all, struct mortise_err *err);

/* The name of a uid, or "uid N". */
void mortise_owner_get_name(uid_t uid, char out[64]);
/* "sudo -u NAME", quoted for the shell, to be put before a command; NAME is
 * '#N' for a uid without a name. */
void mortise_owner_format_sudo(uid_t uid, char out[96]);

#endif
