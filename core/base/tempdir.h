/* tempdir.h -- temporary directories that do not outlive the command. */
#ifndef MORTISE_BASE_TEMPDIR_H
#define MORTISE_BASE_TEMPDIR_H

#include <limits.h>
#include <stdbool.h>

#include "core/base/err.h"

/* The prefix of a directory's name; six random characters follow. */
#define MORTISE_TEMPDIR_NAME(what) "mortise-" what "-"

struct mortise_tempdir {
    char path[PATH_MAX]; /* "": no directory */
    int lock;            /* the open directory, locked with flock(2) */
};

/* Make a directory, mode 0700, whose name contains `what`: under $TMPDIR, else
 * in memory, else in /tmp.  Its path leaves room for the name of a file.  First
 * removes directories of the same name whose makers were killed.  After an
 * error, there is no directory. */
int mortise_tempdir_make(struct mortise_tempdir *t, const char *what,
                         struct mortise_err *err);

static inline bool mortise_tempdir_is_made(const struct mortise_tempdir *t)
{
    return t->path[0] != '\0';
}

/* Remove the directory, if there is one, and everything in it.  Links are
 * removed, not followed.  Errors are ignored. */
void mortise_tempdir_remove(struct mortise_tempdir *t);

#endif
