/* quarantine.h -- plugins that took processes down, and for which executions.
 * Internal to verification.c, instantiate.c and registry.c.
 *
 * A directory of ours has one file a plugin; the essay in quarantine.c has its
 * format.  It is called `dir`, from the directory on that is open as `at`
 * (openat(2)): whoever gives the store's goes on in it where it is renamed.  [loop] */
#ifndef MORTISE_PLUGIN_QUARANTINE_H
#define MORTISE_PLUGIN_QUARANTINE_H

#include "core/plugin/manifest.h"
#include "core/plugin/registry.h"

enum { MORTISE_WHY_MAX = 512 };

/* Why a plugin is quarantined at `now_ms` into why, "" when it is not: fewer
 * deaths, those of other bytes than these, or its time is over.  *until_ms: 0
 * for good.  *noted: there are deaths of these bytes. */
int mortise_quarantine_why(char why[MORTISE_WHY_MAX], uint64_t *until_ms,
                           bool *noted, int at, const char *dir,
                           const struct mortise_manifest *m, uint64_t now_ms,
                           struct mortise_err *err);
/* The deaths of one run's executions by these bytes; of that which died most,
 * or nothing (out->times 0). */
int mortise_quarantine_deaths(struct mortise_deaths *out, int at,
                              const char *dir, const struct mortise_manifest *m,
                              const char *tenant, const char *run,
                              struct mortise_err *err);
/* Leave a mark for good. */
int mortise_quarantine_put(int at, const char *dir,
                           const struct mortise_manifest *m, const char *why,
                           struct mortise_err *err);
/* Has no plugin a mark or a death there?  True where the directory is not. */
bool mortise_quarantine_is_empty(int at, const char *dir);
/* Forget marks and deaths. */
int mortise_quarantine_lift(int at, const char *dir, const char *name,
                            struct mortise_err *err);
/* Made when it is missing; *fd is for notes of deaths (death.h). */
int mortise_quarantine_open(int *fd, int at, const char *dir,
                            struct mortise_err *err);

#endif
