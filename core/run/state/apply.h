/* apply.h -- what each entry of a journal does to the struct of a run, and by
 * which rules it is recorded.  The rows are in entries.def.
 *
 * Threads   [loop] */
#ifndef MORTISE_RUN_APPLY_H
#define MORTISE_RUN_APPLY_H

#include "core/base/phase.h"
#include "core/run/record/journal.h"

struct mortise_run;
struct exec;

/* What an entry does; its frame is there.  Where it does not fit the run, as
 * only one from a disk may not: mortise_entry_corrupt(). */
typedef int apply_to_run(struct mortise_run *r, const struct mortise_entry *e,
                         struct mortise_err *err);
typedef int apply_to_exec(struct mortise_run *r, struct exec *x,
                          const struct mortise_entry *e,
                          struct mortise_err *err);

/* Members of what people see of an entry, besides those that are as for all.
 * What does not fit into memory is left out. */
typedef void describe_entry(json_t *out, const struct mortise_entry *e);

enum entry_stands {
    STANDS_LATER, /* behind the run's admission */
    STANDS_FIRST, /* up to it */
    STANDS_ANYWHERE
};

/* What the entry says of the run's status. */
enum entry_then {
    RUN_AS_BEFORE,
    RUN_ENDS,   /* `how` is its status */
    RUN_GOES_ON /* whether or not it had ended */
};

/* One row of entries.def. */
struct entry_rules {
    apply_to_run *of_run;   /* exactly one of the two is set */
    apply_to_exec *of_exec; /* but of a mark neither is */
    describe_entry *describe;
    const char *shows; /* as what people see its value; NULL: they do not */

    /* What a checkpoint that holds it is written for. */
    enum mortise_phase phase;
    enum mortise_phase (*phase_of)(const struct mortise_entry *e); /* or so */

    enum entry_stands stands;
    enum entry_then then;

    /* It says of the call that x has out that it ends, lets go, or was cut off.
     * NULL: nothing (budget.c). */
    void (*call)(struct mortise_run *r, struct exec *x);

    /* May it wait for the commit of a later step?  NULL: never (commit.c). */
    bool (*may_wait)(const struct mortise_run *r, const struct exec *x,
                     const struct mortise_entry *e);

    bool of_held;   /* it may be about an execution that is done, and held */
    bool of_failed; /* ... about one that has failed */
    bool uncounted; /* it does not make of its execution a step of the run */
    bool uses_decision; /* the execution has gone on with what was decided */
    bool untimed;       /* it is so, whenever it is recorded */
    bool hidden;        /* people do not see it */
};

/* Of any entry that was read. */
const struct entry_rules *mortise_entry_rules(const struct mortise_entry *e);

/* Apply one entry, live or replayed; takes nothing of it. */
int mortise_apply_entry(struct mortise_run *r, const struct mortise_entry *e,
                        struct mortise_err *err);
/* What was recorded, by this step and before, is committed with it: it waits for
 * no other.  The commit that has it, or that had the last of it. */
uint64_t mortise_run_commit_now(struct mortise_run *r);
/* Record an entry in the step's commit, and apply it. */
int mortise_run_record(struct mortise_run *r, struct mortise_entry *e,
                       struct mortise_err *err);
/* The same, with this value (NULL: out of memory), which is taken, as all in the
 * entry is. */
int mortise_run_record_value(struct mortise_run *r, struct mortise_entry *e,
                             json_t *value, struct mortise_err *err);
/* MORTISE_ECORRUPT, for an entry that does not fit the run. */
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
