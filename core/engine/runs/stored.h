/* stored.h -- a run as the store has it, brought to who looks at it or loads
 * it: its head, then its graph, then the run itself, replayed up to that head.
 * Each is a step that is answered when the store has answered, which may be
 * before the function returns.
 *
 * What came first stands still: what is committed behind the head that was read
 * is not looked at.  A run that is removed meanwhile is one that is not there.
 */
#ifndef MORTISE_ENGINE_RUNS_STORED_H
#define MORTISE_ENGINE_RUNS_STORED_H

#include "core/engine/common/engine.h"

struct mortise_stored;

/* The answer to a step, exactly once; err, lent, has words for an rv that is an
 * error. */
typedef void mortise_stored_fn(struct mortise_stored *s, int rv,
                               const struct mortise_err *err);

struct mortise_stored {
    struct mortise *m;
    char tenant[MORTISE_NAME_MAX + 1], id[MORTISE_NAME_MAX + 1];
    struct mortise_head_copy head;
    bool works;                  /* it is to run: what may stand in is not good
                                    enough where there is better */
    struct mortise_graph *graph; /* a reference; NULL: not read */
    struct mortise_run *run;     /* NULL: not read */
    bool removed;                /* there is no such run, and there was one */
    /* Set behind the head: no manifest is read, as long as what the run came to
     * does not depend on what its operations declare.  If its replay finds that
     * it does, all is read again with them; `again`, unless it is NULL, is
     * called ahead of that. */
    bool names;
    void (*again)(struct mortise_stored *s);
    /* Set behind the head, or NULL: looks at each checkpoint that the run was
     * just replayed by.  An error is that of the step. */
    int (*each)(struct mortise_stored *s, const struct mortise_checkpoint *cp,
                struct mortise_err *err);

    /* stored.c's. */
    mortise_stored_fn *done, *rest;
    struct mortise_read read;
    struct mortise_arena arena; /* of the graph, while that is read */
    int applied;                /* what became of the replay */
    uint64_t guesses;           /* the catalogue's, ahead of it */
    struct mortise_err why;
};

/* Begin with its head.  Zeroed first; to be finished, whatever the answer. */
void mortise_stored_head(struct mortise *m, struct mortise_stored *s,
                         const char *tenant, const char *run,
                         mortise_stored_fn *done);
/* With the head there: the graph.  One that does not compile here stands in for
 * itself, as far as looking goes. */
void mortise_stored_graph(struct mortise_stored *s, mortise_stored_fn *done);
/* The same, and the run. */
void mortise_stored_rest(struct mortise_stored *s, mortise_stored_fn *done);
/* Behind mortise_stored_rest(), with `names`: was what an operation declares used
 * since, which nobody knew?  Then mortise_stored_again() reads all once more. */
bool mortise_stored_has_guessed(const struct mortise_stored *s);
void mortise_stored_again(struct mortise_stored *s, mortise_stored_fn *done);
void mortise_stored_finish(struct mortise_stored *s);

#endif
