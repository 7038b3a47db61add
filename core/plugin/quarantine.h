/* quarantine.h -- records of plugins that ended the process, and of the
 * executions involved.  Internal to verification.c, instantiate.c and
 * registry.c.
 *
 * A directory has one file per plugin; quarantine.c describes its format.
 * `dir` is relative to the open directory `at` (openat(2)), so that the records
 * follow a store that is renamed.  [loop] */
#ifndef MORTISE_PLUGIN_QUARANTINE_H
#define MORTISE_PLUGIN_QUARANTINE_H

#include "core/plugin/manifest.h"
#include "core/plugin/registry.h"

enum { MORTISE_WHY_MAX = 512 };

/* Write the reason of a quarantine at `now_ms` into why; "" if there is none:
 * too few deaths, deaths of other bytes, or an expired quarantine.  *until_ms:
 * its end, 0 for none.  *noted: deaths of these bytes are recorded. */
int mortise_quarantine_read_reason(char why[MORTISE_WHY_MAX],
                                   uint64_t *until_ms, bool *noted, int at,
                                   const char *dir,
                                   const struct mortise_manifest *m,
                                   uint64_t now_ms, struct mortise_err *err);
/* The deaths by these bytes of the execution of a run that died most often;
 * out->times is 0 if there are none. */
int mortise_quarantine_find_deaths(struct mortise_deaths *out, int at,
                                   const char *dir,
                                   const struct mortise_manifest *m,
                                   const char *tenant, const char *run,
                                   struct mortise_err *err);
/* Add a permanent mark. */
int mortise_quarantine_add(int at, const char *dir,
                           const struct mortise_manifest *m, const char *why,
                           struct mortise_err *err);
/* True if the directory has no mark or death of any plugin, or does not
 * exist. */
bool mortise_quarantine_is_empty(int at, const char *dir);
/* Remove the plugin's marks and deaths. */
int mortise_quarantine_remove(int at, const char *dir, const char *name,
                              struct mortise_err *err);
/* Open the directory, and create it if it is missing.  *fd is for notes of
 * deaths (death.h). */
int mortise_quarantine_open(int *fd, int at, const char *dir,
                            struct mortise_err *err);

#endif
