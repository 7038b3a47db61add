/* dirs.h -- the files of a directory that end alike, in order of name.  [any]
 */
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

/* MORTISE_ENOTFOUND when there is no such directory.  Names that begin with a
 * dot are left out. */
int mortise_listing_read(struct mortise_listing *l,
                         const struct mortise_mem *mem, const char *dir,
                         const char *suffix, struct mortise_err *err);
void mortise_listing_finish(struct mortise_listing *l);

/* In the directory that `at` is open as.  A new directory is durable; one that
 * exists is fine. */
int mortise_dir_make(int at, const char *dir, mode_t mode,
                     struct mortise_err *err);

#endif
