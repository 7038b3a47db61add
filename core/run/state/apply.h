/* apply.h -- applying journal entries to a run, and recording them.  The rules
 * of each entry type are a row of record/entries.def.
 *
 * Threads   [loop] */
#ifndef MORTISE_RUN_APPLY_H
#define MORTISE_RUN_APPLY_H

#include "core/base/phase.h"
#include "core/run/record/journal.h"

struct mortise_run;
struct exec;

/* Apply an entry; its frame exists.  If the entry, read from disk, does not fit
 * the run, return mortise_entry_corrupt(). */
typedef int apply_to_run(struct mortise_run *r, const struct mortise_entry *e,
                         struct mortise_err *err);
typedef int apply_to_exec(struct mortise_run *r, struct exec *x,
                          const struct mortise_entry *e,
                          struct mortise_err *err);

/* Add the members that are specific to the entry type to its description for
 * people.  Members that do not fit into memory are left out. */
typedef void describe_entry(json_t *out, const struct mortise_entry *e);

enum entry_position {
    STANDS_LATER, /* only after the admission */
    STANDS_FIRST, /* only up to the admission */
    STANDS_ANYWHERE
};

/* The effect of the entry on the run's status. */
enum entry_status_change {
    RUN_AS_BEFORE,
    RUN_ENDS,     /* `how` is the final status */
    RUN_CONTINUES /* the run continues, even if it had ended */
};

/* One row of entries.def. */
struct entry_rules {
    apply_to_run *of_run;   /* exactly one of the two is set, */
    apply_to_exec *of_exec; /* and neither for a mark */
    describe_entry *describe;
    const char *shows; /* member for the value in descriptions; NULL: hidden */

    /* The phase of a checkpoint that contains it. */
    enum mortise_phase phase;
    /* if set, used instead of `phase` */
    enum mortise_phase (*phase_of)(const struct mortise_entry *e);

    enum entry_position stands;
    enum entry_status_change then;

    /* The entry ends, suspends or cuts off the call of x: update the
     * reservation (budget.c).  NULL: it does none of these. */
    void (*call)(struct mortise_run *r, struct exec *x);

    /* May the entry wait for the commit of a later step?  NULL: never
     * (commit.c). */
    bool (*may_wait)(const struct mortise_run *r, const struct exec *x,
                     const struct mortise_entry *e);

    bool valid_when_held;   /* also valid for an execution in X_HELD */
    bool valid_when_failed; /* ... for one in X_FAILED */
    bool uncounted; /* it does not count its execution as a step of the run */
    bool uses_decision; /* it shows that the execution acted on a decision */
    bool untimed;       /* its meaning does not depend on the time */
    bool hidden;        /* not shown to people */
};

/* The row of an entry that was read or is being recorded. */
const struct entry_rules *mortise_entry_rules(const struct mortise_entry *e);

/* Apply one entry, live or replayed.  Takes no references of it. */
int mortise_apply_entry(struct mortise_run *r, const struct mortise_entry *e,
                        struct mortise_err *err);
/* Commit the current record with this step instead of letting it wait.  Returns
 * the commit that contains it, or the last commit if there is no record. */
uint64_t mortise_run_commit_now(struct mortise_run *r);
/* Add an entry to the record of this step, and apply it. */
int mortise_run_record(struct mortise_run *r, struct mortise_entry *e,
                       struct mortise_err *err);
/* The same with this value (NULL: out of memory).  Takes the value and the
 * other references of the entry. */
int mortise_run_record_value(struct mortise_run *r, struct mortise_entry *e,
                             json_t *value, struct mortise_err *err);
/* MORTISE_ECORRUPT: the entry does not fit the run. */
int mortise_entry_corrupt(struct mortise_err *err,
                          const struct mortise_entry *e);

#define ENTRY_OF_RUN(type, number, name, fields, words, remark, apply,         \
                     describe, ...)                                            \
    apply_to_run mortise_##apply;                                              \
    describe_entry mortise_##describe;
#define ENTRY_OF_EXEC(type, number, name, fields, words, remark, apply,        \
                      describe, ...)                                           \
    apply_to_exec mortise_##apply;                                             \
    describe_entry mortise_##describe;
#define ENTRY_MARK(type, number, name, fields, words, remark)
#include "core/run/record/entries.def"

#endif
