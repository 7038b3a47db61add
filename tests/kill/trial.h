/* trial.h -- one run, driven to its end by processes that get killed.
 *
 * A trial has a directory of its own: a store, a directory for what the graph
 * writes, books of what was synced (tests/lib/powercut.c) and a log of renames.
 * Processes of the `mortise` command follow each other there, as a person would
 * start them, until the run has ended; blows say which of them die, how, and
 * whether the power goes too. */
#ifndef KILL_TRIAL_H
#define KILL_TRIAL_H

#include <stdbool.h>
#include <stddef.h>

#include "core/json/value.h"

#define TRIAL_LOG                                                              \
    "input.log" /* what the graph reads, beside what it writes   \
                               */

enum { MOST_BLOWS = 2, MOST_PROCESSES = 16 };

/* A graph, and what a person knows of it. */
struct job {
    const char *name;
    const char *graph, *log; /* what it is, and is about: paths of the tree */
    const char *const
        *files;   /* what it writes, each by one rename; then NULL */
    bool counted; /* its effect is a line in `count.log`, which
                   * nobody can look for but a person */
    bool posted;  /* ... or something that it told the counter (counter.h) */
    bool refunds; /* ... or a refund, of somebody whom models answer (shop.h) */
    const char *input; /* NULL: the log */
};
extern const struct job job_report, job_counted, job_triage;
extern const struct job job_refund; /* configs/refund/ */
extern const struct job job_acting; /* both, by a call with an intent */
extern const struct job job_asking; /* by a step alone */

/* AT_CALL_BEHIND counts calls once the job's effect has happened. */
enum blow_kind { AT_POINT = 1, AT_CALL, AT_CALL_BEHIND, AT_TIME };

/* The power stays on. */
#define NO_CUT (-1)

struct blow {
    enum blow_kind kind;
    unsigned process; /* the first one of the trial is 0 */
    unsigned long n;  /* which one, from 1; AT_TIME: us */
    int keep;         /* percent of what was not synced; or NO_CUT */
};

struct trial {
    const struct job *job;
    struct blow blows[MOST_BLOWS];
    unsigned n_blows;
    unsigned slow_ms; /* how long a sync of the store takes */
    /* Looks at what a death has left; NULL: nobody does. */
    void (*after_death)(const struct trial *t);

    /* What came of it. */
    char dir[256];
    unsigned n_processes;
    bool landed[MOST_BLOWS];
    unsigned long us[MOST_PROCESSES]; /* how long each took */
    bool told_of;                     /* the run's id was printed */
    char request[33];                 /* what it waits for, as printed last */
    bool open;                        /* ... which is about a step in it, too */
    json_t *told; /* the durable events that were printed, by whomever */
};

/* Sign the plugins and write the deployment, once for all trials. */
void trials_begin(void);
void trials_end(void);

/* Make the directory and go to the end of the run.  Ends in wrong() where a
 * process says what it should not. */
void trial_drive(struct trial *t);
/* The deployment's file. */
const char *trial_deployment(void);
/* PATH inside the directory; static until the next call. */
const char *trial_path(const struct trial *t, const char *path);
/* How often the job's effect happened, as `count.log` has it. */
unsigned trial_count(const struct trial *t);
/* ... and as the counter has it. */
unsigned trial_posts(const struct trial *t);
void trial_finish(struct trial *t);

/* Say what is wrong, in the worker that found it, and end the worker.  The
 * trial's directory stays to be looked at. */
_Noreturn void wrong(const struct trial *t, const char *fmt, ...)
    MORTISE_PRINTF(2, 3);

/* Try 0, 1, 2 ... until one says that there are no more, two at a time, in
 * processes of their own.  What they find wrong fails the test. */
typedef bool plan_fn(unsigned long n);
void try_all(plan_fn *plan);

/* What plans came through, so that tests can ask whether any did. */
enum sight {
    SAW_DEATH,      /* a blow landed */
    SAW_NO_RUN,     /* ... before there was a run */
    SAW_DOUBT,      /* a person had to say what became of an effect */
    SAW_RECONCILED, /* a plugin was asked, and it had happened */
    N_SIGHTS
};
void saw(enum sight what);
/* How often, in the last try_all(). */
unsigned times_seen(enum sight what);

#endif
