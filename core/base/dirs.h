/* dirs.h -- list the files of a directory that have a suffix, sorted by name;
 * make directories. [any] */
#ifndef MORTISE_BASE_DIRS_H
#define MORTISE_BASE_DIRS_H

#include <sys/types.h>

#include "core/base/err.h"
#include "core/base/mem.h"

struct mortise_listing {
    const struct mortise_mem *mem;
    char **names;
    size_t n, cap;
};

/* Names that begin with a dot are omitted.  MORTISE_ENOTFOUND: no such
 * directory. */
int mortise_listing_read(struct mortise_listing *l,
                         const struct mortise_mem *mem, const char *dir,
                         const char *suffix, struct mortise_err *err);
void mortise_listing_finish(struct mortise_listing *l);

/* Make `dir`, relative to the open directory `at`, and sync its parent.  It is
 * no error if `dir` exists. */
int mortise_dir_make(int at, const char *dir, mode_t mode,
                     struct mortise_err *err);

#endif
