/* lock_file.c -- changes mortise.lock, for commands that pin.
 *
 *   (1) The file is read under a lock and written once, so concurrent pins are
 *       not lost.
 *   (2) If the command is killed, the file has either the old or the new
 *       content (files.h). */
#include "cli/lock_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/base/err.h"
#include "lang/config/lock.h"

/* ---- locking ------------------------------------------------------------ */

static void get_parent_directory(const char *path, char dir[PATH_MAX])
{
    char *slash;

    snprintf(dir, PATH_MAX, "%s", path);
    slash = strrchr(dir, '/');
    if (slash == NULL)
        strcpy(dir, ".");
    else
        slash[slash == dir] = '\0';
}

/* Lock the directory of the file until the descriptor is closed; -1 with an
 * error. */
static int lock_parent_directory(const char *path, struct mortise_err *err)
{
    char dir[PATH_MAX];
    int fd, rv;

    get_parent_directory(path, dir);
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    do
        rv = fd >= 0 ? flock(fd, LOCK_EX) : -1;
    while (rv != 0 && errno == EINTR);
    if (rv == 0)
        return fd;
    mortise_fail(err, MORTISE_EIO, "%.300s: %s", dir, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

/* ---- changing ----------------------------------------------------------- */

/* Read the current content as JSON, a new reference. */
static int read_current_lock(json_t **out, const char *path,
                             const struct mortise_mem *mem,
                             struct mortise_err *err)
{
    struct mortise_arena a;
    struct mortise_diags diags;
    struct mortise_lock now;
    int rv;

    *out = NULL;
    mortise_arena_init(&a, mem);
    mortise_diags_init(&diags, mem);
    rv = mortise_lock_read(&now, &a, path, &diags);
    if (rv == MORTISE_OK && (*out = mortise_lock_to_json(&now)) == NULL)
        rv = MORTISE_ENOMEM;
    if (rv == MORTISE_ENOMEM)
        mortise_nomem(err);
    else if (rv != MORTISE_OK)
        rv = mortise_fail(err, MORTISE_EINVAL,
                          "%.300s was changed by another process and is no "
                          "longer a lock file",
                          path);
    mortise_diags_finish(&diags);
    mortise_arena_finish(&a);
    return rv;
}

int mortise_lock_file_change(struct mortise_cli *cli, const char *path,
                             mortise_lock_change_fn *change, void *ud,
                             struct mortise_err *err)
{
    int fd = lock_parent_directory(path, err), rv;
    json_t *lock;

    if (fd < 0)
        return err->code;
    rv = read_current_lock(&lock, path, cli->mem, err);
    if (rv == MORTISE_OK)
        rv = change(ud, lock, err);
    if (rv == MORTISE_OK)
        rv = mortise_lock_write(path, lock, cli->mem, err);
    json_decref(lock);
    close(fd);
    if (rv == MORTISE_OK)
        mortise_out_print_escaped(&cli->out, "wrote %s\n", path);
    return rv;
}
