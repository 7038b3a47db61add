/* home.h -- the directories of files that were built or installed with this
 * code. [any] */
#ifndef MORTISE_LANG_CONFIG_HOME_H
#define MORTISE_LANG_CONFIG_HOME_H

#include <limits.h>

enum { MORTISE_HOME_MAX = PATH_MAX + 64 };

/* The directory with the bundled plugins, their trust (`plugins`, `trust.d`)
 * and mortise-worker. */
void mortise_home_get_dir(char home[MORTISE_HOME_MAX]);
/* The directory of data of this name: "templates". */
void mortise_home_get_data_dir(char dir[MORTISE_HOME_MAX], const char *name);

#endif
