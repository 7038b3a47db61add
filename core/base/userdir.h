/* userdir.h -- this user's directories: the state of Mortise (grants, and
 * versions seen before), and the configuration of other programs. [any] */
#ifndef MORTISE_BASE_USERDIR_H
#define MORTISE_BASE_USERDIR_H

#include <limits.h>

#include "core/base/err.h"

/* $XDG_STATE_HOME/mortise, or ~/.local/state/mortise; it need not exist.
 * MORTISE_ENOTFOUND: this user has no home.  MORTISE_EDENIED: another user owns
 * it or can write to it. */
int mortise_userdir_get(char out[PATH_MAX], struct mortise_err *err);
/* Get the path like mortise_userdir_get(), and check that the directory exists or
 * can be made, and that this user can write to it.  Makes nothing. */
int mortise_userdir_check(char out[PATH_MAX], struct mortise_err *err);
/* The path of `name` in that directory; it need not exist. */
int mortise_userdir_get_path(char out[PATH_MAX], const char *name,
                             struct mortise_err *err);
/* Get the path like mortise_userdir_get_path(), and make the directory and its
 * missing parents (mode 0700). */
int mortise_userdir_make(char out[PATH_MAX], const char *name,
                         struct mortise_err *err);
/* The path of the file about `about` in `dir`.  It is named by a digest of
 * `about`. */
int mortise_userdir_get_file_path(char out[PATH_MAX], const char *dir,
                                  const char *about, const char *suffix,
                                  struct mortise_err *err);

/* $XDG_CONFIG_HOME/name, or ~/.config/name; makes it and its missing parents
 * (0700). */
int mortise_userdir_make_config(char out[PATH_MAX], const char *name,
                                struct mortise_err *err);

#endif
