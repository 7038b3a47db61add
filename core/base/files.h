/* files.h -- bounded reads and atomic writes of whole files. [any] */
#ifndef MORTISE_BASE_FILES_H
#define MORTISE_BASE_FILES_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/* Open a regular file for reading.  MORTISE_EINVAL: it is not a regular file,
 * or it has more than `max` bytes.  The caller closes *fd. */
int mortise_file_open(int *fd, uint64_t *size, const char *path, uint64_t max,
                      struct mortise_err *err);

/* Append the whole file to b. */
int mortise_file_read(struct mortise_buf *b, const char *path, uint64_t max,
                      struct mortise_err *err);

/* Append the bytes from the current offset to the end. -1 and errno; EFBIG:
 * there are more than `max` bytes. */
int mortise_file_read_rest(struct mortise_buf *b, int fd, uint64_t max);

/* A flag of mortise_file_write(): MORTISE_EEXISTS if the name exists, unless
 * that file has the same bytes. */
#define MORTISE_FILE_NEW 1u

/* Write n bytes atomically: to a temporary file beside `path`, synced, then
 * renamed, then the directory is synced.  Readers see the old file or the new
 * one, even after a power failure. */
int mortise_file_write(const char *path, const void *p, size_t n, mode_t mode,
                       unsigned flags, struct mortise_err *err);

/* Write n bytes to a path that the user gave, like mortise_file_write() does.
 * A device or a pipe is written to, not replaced. */
int mortise_file_write_output(const char *path, const void *p, size_t n,
                              mode_t mode, unsigned flags,
                              struct mortise_err *err);
/* Check before long work that mortise_file_write_output() will be allowed. */
int mortise_file_check_output(const char *path, struct mortise_err *err);

/* Write all n bytes to a descriptor; -1 and errno. */
int mortise_file_write_fd(int fd, const void *p, size_t n);

/* Find the next executable file NAME in *path, a list like PATH (an empty entry
 * is the working directory).  *path advances past the directory that has the
 * file.  False: no remaining directory has one. */
bool mortise_file_find_on_path(const char **path, const char *name, char *out,
                               size_t size);

/* snprintf() for a path such as "DIR/NAME"; MORTISE_EINVAL if it does
 * not fit. */
int mortise_file_format_path(char *out, size_t size, struct mortise_err *err,
                             const char *fmt, ...) MORTISE_PRINTF(4, 5);

#endif
