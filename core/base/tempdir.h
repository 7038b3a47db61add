/* tempdir.h -- directories that are gone when the command is. */
#ifndef MORTISE_BASE_TEMPDIR_H
#define MORTISE_BASE_TEMPDIR_H

#include <limits.h>
#include <stdbool.h>

#include "core/base/err.h"

/* What the name of a directory begins with; six other characters follow. */
#define MORTISE_TEMPDIR_NAME(what) "mortise-" what "-"

struct mortise_tempdir {
    char path[PATH_MAX]; /* "": there is none */
    int lock;            /* the directory, locked (flock(2)) */
};

/* A fresh directory, mode 0700, whose name has `what` in it, and room behind it for
 * the name of a file: under $TMPDIR, else in memory, else in /tmp.  Directories of
 * that name whose makers were killed are removed first.  After an error there is
 * none. */
int mortise_tempdir_make(struct mortise_tempdir *t, const char *what,
                         struct mortise_err *err);

static inline bool mortise_tempdir_is_there(const struct mortise_tempdir *t)
{
    return t->path[0] != '\0';
}

/* It, if there is one, and all in it.  Links are removed, not followed; what cannot
 * be removed stays. */
void mortise_tempdir_remove(struct mortise_tempdir *t);

#endif
