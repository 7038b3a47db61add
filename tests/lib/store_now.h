/* store_now.h -- reads that are waited for, a function each, for tests of the
 * store itself.  store.h says what each of them reads. */
#ifndef TEST_STORE_NOW_H
#define TEST_STORE_NOW_H

#include "core/store/store.h"

int mortise_store_head(struct mortise_store *s, const char *tenant,
                       const char *run, mortise_head_fn *fn, void *ud,
                       struct mortise_err *err);
int mortise_store_checkpoints(struct mortise_store *s, const char *tenant,
                              const char *run, uint64_t from,
                              mortise_checkpoint_fn *fn, void *ud,
                              struct mortise_err *err);
int mortise_store_runs(struct mortise_store *s, const char *tenant,
                       const char *after, mortise_head_fn *fn, void *ud,
                       struct mortise_err *err);
int mortise_store_heads(struct mortise_store *s, const char *after_tenant,
                        const char *after_run, mortise_head_fn *fn, void *ud,
                        struct mortise_err *err);
int mortise_store_inbox(struct mortise_store *s, const char *tenant,
                        const char *after_run, const char *after_id,
                        mortise_pending_fn *fn, void *ud,
                        struct mortise_err *err);
int mortise_store_due(struct mortise_store *s, uint64_t until_ms,
                      mortise_pending_fn *fn, void *ud,
                      struct mortise_err *err);
int mortise_store_graph(struct mortise_store *s,
                        const uint8_t digest[MORTISE_DIGEST],
                        struct mortise_arena *a, struct mortise_source **files,
                        size_t *n_files, struct mortise_err *err);
int mortise_store_kv(struct mortise_store *s, const char *tenant,
                     const char *plugin, const void *key, size_t size,
                     struct mortise_buf *value, struct mortise_err *err);
int mortise_store_cached(struct mortise_store *s, const char *tenant,
                         const uint8_t key[MORTISE_DIGEST],
                         struct mortise_buf *value, struct mortise_err *err);
int mortise_store_removed(struct mortise_store *s, const char *tenant,
                          const char *run, struct mortise_tombstone *out,
                          struct mortise_err *err);

#endif
