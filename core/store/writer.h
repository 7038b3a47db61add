/* writer.h -- the store thread: group commit.
 *
 * Commits that are submitted during a sync form the next batch (at most 512
 * commits or 4 MiB).  Each is answered once, in the order of submission,
 * through `done` on the store thread [store].  The caller keeps the commit and
 * its data alive until then.  After a failed write, every commit that is not
 * answered yet fails with the same error, and so does every later one, until
 * mortise_writer_reset() (after mortise_store_reopen()).
 *
 * Threads    start, stop, inline and reset [loop]; submit [any]; `done` runs
 *            on the store thread and may call submit, but no other function. */
#ifndef MORTISE_STORE_WRITER_H
#define MORTISE_STORE_WRITER_H

#include "core/store/store.h"

struct mortise_writer;

typedef void mortise_writer_done_fn(void *ud,
                                    struct mortise_commit *const *commits,
                                    size_t n, int result,
                                    const struct mortise_err *err);

int mortise_writer_start(struct mortise_writer **out, struct mortise_store *s,
                         const struct mortise_mem *mem,
                         mortise_writer_done_fn *done, void *ud,
                         struct mortise_err *err);
/* Writes the submitted commits first.  NULL is allowed. */
void mortise_writer_stop(struct mortise_writer *w);
/* Accepts all n commits, or none with MORTISE_ENOMEM. */
int mortise_writer_submit(struct mortise_writer *w,
                          struct mortise_commit *const *commits, size_t n,
                          struct mortise_err *err);
/* Write on this thread, if nothing is queued or in progress.  False: it is;
 * submit instead.  True: *result has the result, and `done` is not called. */
bool mortise_writer_write_inline(struct mortise_writer *w,
                                 struct mortise_commit *const *commits,
                                 size_t n, int *result,
                                 struct mortise_err *err);
/* Wait until all submitted commits are answered, then clear the failure. */
void mortise_writer_reset(struct mortise_writer *w);

#endif
