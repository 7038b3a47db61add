/* ledger.h -- test data that survives a crash of the test's process.
 *
 * The ledger is a file with one JSON object per line.  Each is appended with a
 * single write() before it takes effect, and the page cache survives a
 * SIGKILL.  Single-threaded.
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

/* Read the existing entries; a missing file is empty. */
int mortise_ledger_open(struct mortise_ledger *l, const struct mortise_mem *mem,
                        const char *path, struct mortise_err *err);
void mortise_ledger_close(struct mortise_ledger *l);
/* Append an entry.  Takes the reference; NULL means that memory ran out. */
int mortise_ledger_add(struct mortise_ledger *l, json_t *entry,
                       struct mortise_err *err);
/* The newest entry whose members `key` and (unless NULL) `more` have these
 * string values, or NULL.  Borrowed. */
const json_t *mortise_ledger_find(const struct mortise_ledger *l,
                                  const char *key, const char *value,
                                  const char *more, const char *and);

#endif
