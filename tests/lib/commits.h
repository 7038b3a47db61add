/* commits.h -- commits of made-up runs, the same for the same (run, seq).
 *
 * So a test can tell from what it finds whether all of a commit is there:
 * every third commit, from the second on, opens the request "q<seq>" with
 * the deadline 1000 * seq, and the one after it closes that again.  And each
 * has the plugin "made" keep its seq under the key RUN NUL, and under RUN NUL
 * "odd" while that is odd.  Its seq is also there as a result under a key of
 * its own, for who wants the commit to have one. */
#ifndef TEST_COMMITS_H
#define TEST_COMMITS_H

#include "core/store/store.h"

enum { MADE_ENTRIES = 8192 };

struct made_commit {
    struct mortise_commit c;
    struct mortise_pending opens, closes;
    struct mortise_kv kvs[2];
    char open_id[32], close_id[32], payload[64];
    char key[80], value[24];
    struct mortise_cached_result cached;
    char entries[MADE_ENTRIES];
};

/* `entries` bytes of entries, at most MADE_ENTRIES. */
void make_commit(struct made_commit *m, const char *tenant, const char *run,
                 uint64_t seq, size_t entries);
struct mortise_uuid made_id(const char *run, uint64_t seq);
void made_key(uint8_t key[MORTISE_DIGEST], const char *run, uint64_t seq);
void made_entries(char *out, const char *run, uint64_t seq, size_t n);
/* Does the commit leave a request open? */
bool made_is_pending(uint64_t seq);
extern const char made_graph[]; /* the source of every run's graph */

#endif
