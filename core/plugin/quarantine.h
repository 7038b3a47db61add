/* quarantine.h -- marks of plugins that took processes down.  Internal to
 * registry.c.
 *
 * A directory of ours has one file a plugin; the essay in quarantine.c has its
 * format.  [loop] */
#ifndef MORTISE_PLUGIN_QUARANTINE_H
#define MORTISE_PLUGIN_QUARANTINE_H

#include "plugin/manifest.h"

enum {
    MORTISE_WHY_MAX = 512,
    /* Starts in a row that died inside a plugin; it gets no further one. */
    MORTISE_DEATHS_MAX = 3
};

/* Why a plugin is quarantined into why, "" when it is not: fewer deaths, marks
 * of other bytes than these, or one whose create() is running in another
 * process right now. */
int mortise_quarantine_why(char why[MORTISE_WHY_MAX], const char *dir,
                           const struct mortise_manifest *m,
                           struct mortise_err *err);
/* Leave a mark for good. */
int mortise_quarantine_put(const char *dir, const struct mortise_manifest *m,
                           const char *why, struct mortise_err *err);
int mortise_quarantine_lift(const char *dir, const char *name,
                            struct mortise_err *err);

/* Mark while create() runs; *fd is for end(), which lifts it and every death
 * before it.  The mark is locked as long as this process lives, so nobody
 * mistakes it for a crash. */
int mortise_quarantine_begin(int *fd, const char *dir,
                             const struct mortise_manifest *m,
                             struct mortise_err *err);
void mortise_quarantine_end(int fd, const char *dir, const char *name);

#endif
