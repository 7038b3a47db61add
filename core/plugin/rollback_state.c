/* rollback_state.c -- what this user saw of plugins and of trust.
 *
 * A store remembers for itself; a fresh one remembers nothing, and `plugin
 * verify` has none.  So each user remembers as well: a name and a number, in a
 * file of its own below userdir.h's directory, called by the digest of the name.
 * A file is replaced whole, so nobody reads half of one.
 */
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

static int read_value(const struct mortise_mem *mem, const char *path,
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

/* The way is walked once, not for each name: a deployment asks for dozens. */
static int look_for(struct mortise_rollback_state *s, struct mortise_err *err)
{
    char dir[PATH_MAX];
    int rv;

    if (s->dir[0] != '\0')
        return MORTISE_OK;
    rv = mortise_userdir_named(dir, kept_in, err);
    if (rv == MORTISE_OK)
        rv = mortise_owner_check(dir, NULL, NULL, err);
    if (rv == MORTISE_OK)
        strcpy(s->dir, dir);
    return rv;
}

/* A file of ours that nobody else may write, or none, says that the way is all
 * there is to look at; of anything else everything is. */
static int check(const char *path, struct mortise_err *err)
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
    int rv = look_for(s, err);

    *value = 0;
    if (rv == MORTISE_ENOTFOUND)
        return MORTISE_OK;
    if (rv == MORTISE_OK)
        rv = mortise_userdir_file(path, s->dir, name, "", err);
    if (rv == MORTISE_OK)
        rv = check(path, err);
    return rv == MORTISE_OK ? read_value(s->mem, path, value, err) : rv;
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
                     : mortise_userdir_file(path, dir, name, "", err);
    if (rv == MORTISE_OK)
        rv = mortise_file_write(path, text.p, text.n, 0600, 0, err);
    mortise_buf_finish(&text);
    return rv;
}
