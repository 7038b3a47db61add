/* userdir.h -- this user's directories: the state of Mortise (what was allowed
 * and what was seen), and the configuration of other programs.  [any] */
#ifndef MORTISE_BASE_USERDIR_H
#define MORTISE_BASE_USERDIR_H

#include <limits.h>

#include "core/base/err.h"

/* $XDG_STATE_HOME/mortise, or ~/.local/state/mortise; it need not exist.
 * MORTISE_ENOTFOUND: this user has no home.  MORTISE_EDENIED: others own it or
 * may write there. */
int mortise_userdir(char out[PATH_MAX], struct mortise_err *err);
/* The same, where it is or can be made, and something can be put into it;
 * nothing is made. */
int mortise_userdir_check(char out[PATH_MAX], struct mortise_err *err);
/* DIR/name of it; it need not exist. */
int mortise_userdir_named(char out[PATH_MAX], const char *name,
                          struct mortise_err *err);
/* DIR/name of it, made with all that leads there (0700). */
int mortise_userdir_make(char out[PATH_MAX], const char *name,
                         struct mortise_err *err);
/* In such a directory, the file that something is kept in: called by the digest
 * of what it is about. */
int mortise_userdir_file(char out[PATH_MAX], const char *dir, const char *about,
                         const char *suffix, struct mortise_err *err);

/* $XDG_CONFIG_HOME/name, or ~/.config/name: made, with each directory above it
 * that does not exist (0700). */
int mortise_userdir_config(char out[PATH_MAX], const char *name,
                           struct mortise_err *err);

#endif
