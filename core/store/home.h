/* home.h -- the store's directory: made, stamped, looked at.  [loop] */
#ifndef MORTISE_STORE_HOME_H
#define MORTISE_STORE_HOME_H

#include <stdbool.h>

#include "base/err.h"

/* Open STORE, made (0700) if missing; `*dir` is its descriptor. */
int mortise_home_open(int *dir, const char *path, struct mortise_err *err);

/* Read STORE/format.  *stamped is false when there is none.  MORTISE_ENEWER
 * when this build may not read the store, MORTISE_ECORRUPT for other text. */
int mortise_home_read_stamp(int dir, bool *stamped, struct mortise_err *err);
/* Write it, durably, whole or not at all. */
int mortise_home_write_stamp(int dir, struct mortise_err *err);

/* Make STORE/db (0700) if missing; durable with the next sync of it. */
int mortise_home_make_db(int dir, struct mortise_err *err);
/* Make the names in STORE and beside STORE durable. */
int mortise_home_sync(int dir, struct mortise_err *err);
/* Make the names in STORE/db, by its path, durable. */
int mortise_home_sync_db(const char *db_path, struct mortise_err *err);

#endif
