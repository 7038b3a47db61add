/* stored.h -- read a run from the store, to show it or to load it: its head,
 * then its graph, then the run itself, replayed up to that head.  Each is a
 * step that ends when the store has answered, possibly before the function
 * returns.
 *
 * The head that was read stays the reference: later commits are ignored.  If
 * the run is removed meanwhile, it counts as missing.
 */
#ifndef MORTISE_ENGINE_RUNS_STORED_H
#define MORTISE_ENGINE_RUNS_STORED_H

#include "core/engine/common/engine.h"

struct mortise_stored_read;

/* The end of a step, called exactly once; `err`, lent, has the message if rv is
 * an error. */
typedef void mortise_stored_fn(struct mortise_stored_read *s, int rv,
                               const struct mortise_err *err);

struct mortise_stored_read {
    struct mortise *m;
    char tenant[MORTISE_NAME_MAX + 1], id[MORTISE_NAME_MAX + 1];
    struct mortise_head_copy head;
    bool works;                  /* it will run: prefer an executable graph to a
                                    stand-in */
    struct mortise_graph *graph; /* a reference; NULL: not read */
    struct mortise_run *run;     /* NULL: not read */
    bool removed;                /* there is no such run, but there was one */
    /* May be set after the head was read: do not read manifests, as long as the
     * run does not depend on declarations of its operations.  If the replay
     * finds that it does, everything is read again with manifests; `again`, if
     * not NULL, is called before that. */
    bool names;
    void (*again)(struct mortise_stored_read *s);
    /* May be set after the head was read: called for each replayed checkpoint.
     * Its error is the step's. */
    int (*each)(struct mortise_stored_read *s,
                const struct mortise_checkpoint *cp, struct mortise_err *err);

    /* Private to stored.c. */
    mortise_stored_fn *done, *rest;
    struct mortise_read read;
    struct mortise_arena arena; /* of the graph, while it is read */
    int applied;                /* the result of the replay */
    uint64_t guesses;           /* the catalog's, before the replay */
    struct mortise_err why;
};

/* Read the head.  Finish `s` in any case. */
void mortise_stored_read_head(struct mortise *m, struct mortise_stored_read *s,
                              const char *tenant, const char *run,
                              mortise_stored_fn *done);
/* Read the graph; needs the head.  If it does not compile here, the result is a
 * stand-in that can only be read. */
void mortise_stored_read_graph(struct mortise_stored_read *s,
                               mortise_stored_fn *done);
/* Read the graph and replay the run. */
void mortise_stored_read_run(struct mortise_stored_read *s,
                             mortise_stored_fn *done);
/* After mortise_stored_read_run() with `names`: was a declaration of an operation
 * needed since, which is unknown?  Then mortise_stored_read_again() reads everything
 * once more. */
bool mortise_stored_has_used_guess(const struct mortise_stored_read *s);
void mortise_stored_read_again(struct mortise_stored_read *s,
                               mortise_stored_fn *done);
void mortise_stored_finish(struct mortise_stored_read *s);

#endif
