/* writer.h -- the store thread: group commit.
 *
 * Commits handed in while a batch syncs form the next batch (at most 512
 * commits or 4 MiB).  Each is answered once, in the order they were handed in,
 * through `done` on the store thread [store]; who submits keeps the commit and
 * what it lends alive until then.  After a failed write every commit handed in
 * and not yet answered gets that error, and so does every later one, until
 * mortise_writer_reset() (after mortise_store_reopen()).
 *
 * Threads    start, stop, inline and reset [loop]; submit [any]; `done` runs
 *            on the store thread and may submit, but nothing else of this. */
#ifndef MORTISE_STORE_WRITER_H
#define MORTISE_STORE_WRITER_H

#include "core/store/store.h"

struct mortise_writer;

typedef void mortise_written_fn(void *ud, struct mortise_commit *const *commits,
                                size_t n, int result,
                                const struct mortise_err *err);

int mortise_writer_start(struct mortise_writer **out, struct mortise_store *s,
                         const struct mortise_mem *mem,
                         mortise_written_fn *done, void *ud,
                         struct mortise_err *err);
/* Waits for what was handed in.  NULL is fine. */
void mortise_writer_stop(struct mortise_writer *w);
/* All of them, or with MORTISE_ENOMEM none. */
int mortise_writer_submit(struct mortise_writer *w,
                          struct mortise_commit *const *commits, size_t n,
                          struct mortise_err *err);
/* Write on this thread instead, when nothing is queued or under way: returns
 * false if it is (submit then); else *result says how it went and `done` is
 * not called. */
bool mortise_writer_inline(struct mortise_writer *w,
                           struct mortise_commit *const *commits, size_t n,
                           int *result, struct mortise_err *err);
/* Waits until all that was handed in has been answered, then forgets the
 * failure. */
void mortise_writer_reset(struct mortise_writer *w);

#endif
