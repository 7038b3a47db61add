/* userdir.c -- find and make the directories of this user.
 *
 * The state kept there decides which programs may run, so only root and this
 * user may be able to change it.  $HOME counts only if this user owns it (sudo
 * may keep the caller's), and never in a program that runs with more rights
 * than its caller.
 */
#include "core/base/userdir.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/dirs.h"
#include "core/base/files.h"
#include "core/base/hash.h"
#include "core/base/owner.h"

enum { ENTRY_MAX = 16384 };

static bool is_owned_by_user(const char *dir)
{
    struct stat st;

    return dir != NULL && dir[0] == '/' && stat(dir, &st) == 0 &&
           st.st_uid == geteuid();
}

/* The directory `name` below $VAR, else below HOME/beside. */
static int find_xdg_dir(char out[PATH_MAX], const char *var, const char *beside,
                        const char *name, struct mortise_err *err)
{
    const char *base = secure_getenv(var);
    const char *home = secure_getenv("HOME");
    char room[ENTRY_MAX];
    struct passwd pw, *user = NULL;
    int errnum;

    /* The XDG specification says to ignore a relative path. */
    if (base != NULL && base[0] == '/')
        return mortise_file_format_path(out, PATH_MAX, err, "%s/%s", base,
                                        name);
    if (!is_owned_by_user(home)) {
        errnum = getpwuid_r(geteuid(), &pw, room, sizeof room, &user);
        /* After a shortage the user may exist all the same. */
        if (mortise_errno_is_shortage(errnum))
            return mortise_syserr(err, errnum, "look up this user");
        home = user != NULL ? user->pw_dir : home;
    }
    if (home == NULL || home[0] != '/')
        return mortise_fail(err, MORTISE_ENOTFOUND,
                            "this user has no home directory: set HOME or %s",
                            var);
    return mortise_file_format_path(out, PATH_MAX, err, "%s/%s/%s", home,
                                    beside, name);
}

int mortise_userdir_get(char out[PATH_MAX], struct mortise_err *err)
{
    int rv =
        find_xdg_dir(out, "XDG_STATE_HOME", ".local/state", "mortise", err);

    return rv == MORTISE_OK ? mortise_owner_check(out, NULL, NULL, err) : rv;
}

/* Make each missing directory of the path. */
static int make_path_dirs(char *path, struct mortise_err *err)
{
    for (char *at = path + 1;; at++) {
        char was = *at;
        int rv;

        if (was != '/' && was != '\0')
            continue;
        *at = '\0';
        rv = mortise_dir_make(AT_FDCWD, path, 0700, err);
        *at = was;
        if (rv != MORTISE_OK || was == '\0')
            return rv;
    }
}

int mortise_userdir_make_config(char out[PATH_MAX], const char *name,
                                struct mortise_err *err)
{
    int rv = find_xdg_dir(out, "XDG_CONFIG_HOME", ".config", name, err);

    return rv == MORTISE_OK ? make_path_dirs(out, err) : rv;
}

int mortise_userdir_get_path(char out[PATH_MAX], const char *name,
                             struct mortise_err *err)
{
    char base[PATH_MAX];
    int rv = mortise_userdir_get(base, err);

    return rv == MORTISE_OK ? mortise_file_format_path(out, PATH_MAX, err,
                                                       "%s/%s", base, name)
                            : rv;
}

int mortise_userdir_make(char out[PATH_MAX], const char *name,
                         struct mortise_err *err)
{
    int rv = mortise_userdir_get_path(out, name, err);

    return rv == MORTISE_OK ? make_path_dirs(out, err) : rv;
}

int mortise_userdir_get_file_path(char out[PATH_MAX], const char *dir,
                                  const char *about, const char *suffix,
                                  struct mortise_err *err)
{
    uint8_t digest[MORTISE_DIGEST];
    char hex[MORTISE_DIGEST_HEX];

    mortise_digest(digest, about, strlen(about));
    mortise_hex_encode(hex, digest, sizeof digest);
    return mortise_file_format_path(out, PATH_MAX, err, "%s/%.32s%s", dir, hex,
                                    suffix);
}

int mortise_userdir_check(char out[PATH_MAX], struct mortise_err *err)
{
    char at[PATH_MAX];
    struct stat st;
    int rv = mortise_userdir_get(out, err);

    if (rv != MORTISE_OK)
        return rv;
    strcpy(at, out);
    while (stat(at, &st) != 0 && errno == ENOENT && strrchr(at, '/') != at)
        *strrchr(at, '/') = '\0';
    if (stat(at, &st) != 0)
        return mortise_syserr(err, errno, "make %s", out);
    if (!S_ISDIR(st.st_mode))
        return mortise_syserr(err, ENOTDIR, "make %s", out);
    if (faccessat(AT_FDCWD, at, W_OK | X_OK, AT_EACCESS) != 0)
        return mortise_syserr(err, errno, "write to %s", at);
    return MORTISE_OK;
}
