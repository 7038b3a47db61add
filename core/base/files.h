/* files.h -- whole files, read with a bound and written all or nothing.
 * [any] */
#ifndef MORTISE_BASE_FILES_H
#define MORTISE_BASE_FILES_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/* Open a regular file for reading; anything else (a FIFO, a device) is
 * MORTISE_EINVAL, and so is one of more than `max` bytes.  *fd is the
 * caller's. */
int mortise_file_open(int *fd, uint64_t *size, const char *path, uint64_t max,
                      struct mortise_err *err);

/* Append the whole file to b. */
int mortise_file_read(struct mortise_buf *b, const char *path, uint64_t max,
                      struct mortise_err *err);

/* Append the rest of what is open.  -1 and errno; EFBIG: more than `max`
 * bytes. */
int mortise_file_drain(struct mortise_buf *b, int fd, uint64_t max);

/* MORTISE_EEXISTS if the name is taken, but for a file with the same bytes. */
#define MORTISE_FILE_NEW 1u

/* Write n bytes under a temporary name beside `path`, sync them, give them the
 * name and sync the directory: whoever looks sees the old file or the new one,
 * after a power cut too. */
int mortise_file_write(const char *path, const void *p, size_t n, mode_t mode,
                       unsigned flags, struct mortise_err *err);

/* The same for a path that a person named: a device or a pipe is written to and
 * not replaced. */
int mortise_file_output(const char *path, const void *p, size_t n, mode_t mode,
                        unsigned flags, struct mortise_err *err);
/* Look ahead of long work whether it can be written there. */
int mortise_file_may_output(const char *path, struct mortise_err *err);

/* All n bytes to a descriptor; -1 and errno. */
int mortise_file_put(int fd, const void *p, size_t n);

/* The next executable file NAME in the directories of *path, a list as in PATH, whose
 * empty entries are the working directory.  *path is moved behind the directory of
 * the file.  False: no directory has one any more. */
bool mortise_file_on_path(const char **path, const char *name, char *out,
                          size_t size);

/* "DIR/NAME" and the like: snprintf that refuses to cut. */
int mortise_file_path(char *out, size_t size, struct mortise_err *err,
                      const char *fmt, ...) MORTISE_PRINTF(4, 5);

#endif
