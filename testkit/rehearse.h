/* rehearse.h -- one case of a Test file, run by a real engine in this process,
 * which does nothing else and may be told to die at a commit. */
#ifndef MORTISE_TESTKIT_REHEARSE_H
#define MORTISE_TESTKIT_REHEARSE_H

#include "testkit/cases/casefile.h"

struct mortise_rehearsal {
    const struct mortise_mem *mem;
    const struct mortise_casefile *file;
    const struct mortise_case *one;
    const char *deployment; /* NULL: none */
    bool found;             /* nobody named it */
    const char *dir;        /* the store, the ledger: the same after a crash */
    /* Die before this commit is written, or once it is on disk; 0: never. */
    uint64_t die_at;
    bool die_after;
};

/* Run it, or go on with what a process that died left in `dir`, until nothing
 * happens any more.  *out: {show, events, problems, commits, failed_doubt};
 * problems are {code, message, help}.  To be called once in a process: time
 * passes. */
int mortise_rehearse(const struct mortise_rehearsal *r, json_t **out,
                     struct mortise_err *err);

#endif
