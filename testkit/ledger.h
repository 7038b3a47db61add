/* ledger.h -- what a test remembers over the death of its process.
 *
 * A file of JSON objects, one a line, each appended by one write() before what
 * it tells of has any effect: the page cache outlives a SIGKILL.  One thread.
 */
#ifndef MORTISE_TESTKIT_LEDGER_H
#define MORTISE_TESTKIT_LEDGER_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/base/mem.h"

struct mortise_ledger {
    const struct mortise_mem *mem;
    int fd;
    json_t *list; /* all entries, the oldest first */
};

/* Read what is there; a file that is not there is empty. */
int mortise_ledger_open(struct mortise_ledger *l, const struct mortise_mem *mem,
                        const char *path, struct mortise_err *err);
void mortise_ledger_close(struct mortise_ledger *l);
/* Append an entry; takes it, NULL is out of memory. */
int mortise_ledger_add(struct mortise_ledger *l, json_t *entry,
                       struct mortise_err *err);
/* The newest entry whose members `key` and (unless NULL) `more` are these
 * strings, or NULL; borrowed. */
const json_t *mortise_ledger_find(const struct mortise_ledger *l,
                                  const char *key, const char *value,
                                  const char *more, const char *and);

#endif
