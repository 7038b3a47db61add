/* lock_file.c -- mortise.lock is changed by commands that pin.
 *
 *   (1) It is written once, all or nothing, from what it is by then: what somebody
 *       else pinned meanwhile stays.
 *   (2) Killed at any time, the lock is as it was or as it was to be
 *       (files.h). */
#include "cli/lock_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/base/err.h"
#include "lang/config/lock.h"

/* ---- who else is at it ------------------------------------------------------- */

static void directory_of(const char *path, char dir[PATH_MAX])
{
    char *slash;

    snprintf(dir, PATH_MAX, "%s", path);
    slash = strrchr(dir, '/');
    if (slash == NULL)
        strcpy(dir, ".");
    else
        slash[slash == dir] = '\0';
}

/* The directory that the lock is in, which nobody else pins in until it is
 * closed; -1 with the words. */
static int hold(const char *path, struct mortise_err *err)
{
    char dir[PATH_MAX];
    int fd, rv;

    directory_of(path, dir);
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

/* ---- changing it ------------------------------------------------------------- */

/* The lock as it is by now, a new reference. */
static int read_now(json_t **out, const char *path,
                    const struct mortise_mem *mem, struct mortise_err *err)
{
    struct mortise_arena a;
    struct mortise_diags diags;
    struct mortise_lock now;
    int rv;

    *out = NULL;
    mortise_arena_init(&a, mem);
    mortise_diags_init(&diags, mem);
    rv = mortise_lock_read(&now, &a, path, &diags);
    if (rv == MORTISE_OK && (*out = mortise_lock_json(&now)) == NULL)
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
    int fd = hold(path, err), rv;
    json_t *lock;

    if (fd < 0)
        return err->code;
    rv = read_now(&lock, path, cli->mem, err);
    if (rv == MORTISE_OK)
        rv = change(ud, lock, err);
    if (rv == MORTISE_OK)
        rv = mortise_lock_write(path, lock, cli->mem, err);
    json_decref(lock);
    close(fd);
    if (rv == MORTISE_OK)
        mortise_out_say(&cli->out, "wrote %s\n", path);
    return rv;
}
