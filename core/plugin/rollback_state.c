/* rollback_state.c -- releases and revoked keys that this user saw, across
 * stores.
 *
 * Each store has its own records, a new store has none, and `plugin verify`
 * uses no store.  Therefore each user has records, too.  Each is a file with a
 * number and a name, below the directory of userdir.h; the digest of the name
 * is the file's name.  Files are replaced atomically, so a reader never sees
 * half of one. */
#include "core/plugin/rollback_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/owner.h"
#include "core/base/userdir.h"
#include "core/base/files.h"

enum { TEXT_MAX = 8192 };

static const char kept_in[] = "seen";

static int read_recorded_value(const struct mortise_mem *mem, const char *path,
                               uint64_t *value, struct mortise_err *err)
{
    struct mortise_buf text;
    int rv;

    mortise_buf_init(&text, mem);
    rv = mortise_file_read(&text, path, TEXT_MAX, err);
    if (rv == MORTISE_OK && mortise_buf_cstr(&text) == NULL)
        rv = mortise_nomem(err);
    else if (rv == MORTISE_OK && sscanf(text.p, "%" SCNu64, value) != 1)
        rv = mortise_fail(err, MORTISE_ESTATE,
                          "%s does not begin with a number, so the recorded "
                          "state is lost; to accept this loss, remove the file",
                          path);
    mortise_buf_finish(&text);
    return rv == MORTISE_ENOTFOUND ? MORTISE_OK : rv;
}

/* Check the path of the directory once, not for each name: a deployment reads
 * dozens. */
static int find_state_dir(struct mortise_rollback_state *s,
                          struct mortise_err *err)
{
    char dir[PATH_MAX];
    int rv;

    if (s->dir[0] != '\0')
        return MORTISE_OK;
    rv = mortise_userdir_get_path(dir, kept_in, err);
    if (rv == MORTISE_OK)
        rv = mortise_owner_check(dir, NULL, NULL, err);
    if (rv == MORTISE_OK)
        strcpy(s->dir, dir);
    return rv;
}

/* A missing file, or a regular file that only this user can write, is safe: its
 * directory was checked already.  Otherwise check the whole path. */
static int check_record_owner(const char *path, struct mortise_err *err)
{
    struct stat st;

    if (lstat(path, &st) != 0 ? errno == ENOENT
                              : S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
                                    (st.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return MORTISE_OK;
    return mortise_owner_check(path, NULL, NULL, err);
}

int mortise_rollback_state_get(struct mortise_rollback_state *s,
                               const char *name, uint64_t *value,
                               struct mortise_err *err)
{
    char path[PATH_MAX];
    int rv = find_state_dir(s, err);

    *value = 0;
    if (rv == MORTISE_ENOTFOUND)
        return MORTISE_OK;
    if (rv == MORTISE_OK)
        rv = mortise_userdir_get_file_path(path, s->dir, name, "", err);
    if (rv == MORTISE_OK)
        rv = check_record_owner(path, err);
    return rv == MORTISE_OK ? read_recorded_value(s->mem, path, value, err)
                            : rv;
}

int mortise_rollback_state_put(struct mortise_rollback_state *s,
                               const char *name, uint64_t value,
                               struct mortise_err *err)
{
    char dir[PATH_MAX], path[PATH_MAX];
    struct mortise_buf text;
    struct mortise_err why;
    int rv = mortise_userdir_make(dir, kept_in, &why);

    if (rv == MORTISE_EDENIED)
        return mortise_fail(err, rv, "%s", why.msg);
    if (rv != MORTISE_OK) {
        snprintf(s->lost, sizeof s->lost, "%s", why.msg);
        return MORTISE_OK;
    }
    mortise_buf_init(&text, s->mem);
    mortise_buf_printf(&text, "%" PRIu64 " %s\n", value, name);
    rv = text.failed ? mortise_nomem(err)
                     : mortise_userdir_get_file_path(path, dir, name, "", err);
    if (rv == MORTISE_OK)
        rv = mortise_file_write(path, text.p, text.n, 0600, 0, err);
    mortise_buf_finish(&text);
    return rv;
}
