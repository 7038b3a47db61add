/* rehearse.h -- run one case of a Test file with a real engine.
 *
 * The process does nothing else.  It can be made to kill itself at a commit.
 */
#ifndef MORTISE_TESTKIT_REHEARSE_H
#define MORTISE_TESTKIT_REHEARSE_H

#include "testkit/cases/casefile.h"

struct mortise_rehearsal {
    const struct mortise_mem *mem;
    const struct mortise_casefile *file;
    const struct mortise_case *one;
    const char *deployment; /* NULL: none */
    bool found;             /* the deployment was found, not named */
    const char *dir;        /* for store and ledger; survives a crash */
    /* Kill this process before or after this commit is on disk; 0: never. */
    uint64_t die_at;
    bool die_after;
};

/* Run the case, or resume it from a crashed process's `dir`, until nothing
 * more happens.  *out: {show, events, problems, commits, failed_doubt};
 * problems are {code, message, help}.  Call it once per process, because it
 * changes the clock. */
int mortise_rehearse(const struct mortise_rehearsal *r, json_t **out,
                     struct mortise_err *err);

#endif
