/* run_commands.h -- the commands that a run may be given, as a table.
 *
 * Whoever takes one from outside, stores a list or carries it finds in its row
 * what has to be known of it, and need not know which command it is.
 *
 * Threads   [any]: the table is constant. */
#ifndef MORTISE_RUN_COMMANDS_H
#define MORTISE_RUN_COMMANDS_H

#include "core/run/run.h"

/* What becomes of calls that are out, and of the run behind the command. */
enum mortise_command_way {
    /* They go on. */
    MORTISE_COMMAND_SAYS = 0,
    /* What executions see becomes another: calls are cancelled, and the list
     * waits until they have let go.  The run goes on behind it, also where it
     * was paused. */
    MORTISE_COMMAND_MOVES,
    /* The list waits, too, but effects may come to their end.  The run stands
     * still behind it, and no plugin is needed. */
    MORTISE_COMMAND_PAUSES,
    /* It asks them itself to stop.  Nothing is started behind it, and no plugin
     * is needed. */
    MORTISE_COMMAND_ENDS
};

/* Of `c`, which is one of the list `h`.  [loop] */
typedef int mortise_command_fn(struct mortise_run *r,
                               const struct mortise_said *h,
                               const struct mortise_run_command *c,
                               struct mortise_err *err);

struct mortise_command_row {
    uint32_t kind;    /* enum mortise_command_kind; 0: there is no such one */
    const char *name; /* of the control socket */
    /* What it takes there, each in backquotes, in the words of
     * docs/control.md. */
    const char *members;
    uint32_t flags;    /* the MORTISE_CMD_... that mean something to it */
    const char *value; /* what its value is, for errors; NULL: it has none */
    enum mortise_command_way way;
    bool restarts; /* an ended run goes on by it, with its plugins */
    /* Of a decision: the request that it is about, under whatever name; NULL:
     * none that is pending.  A list may have many, each about another. */
    const void *(*subject)(const struct mortise_run *r,
                           const struct mortise_run_command *c);
    bool plugin_judges; /* a decision's `value` is for a plugin to check */
    bool steers; /* the engine makes a graph of its `value` (mortise_said) */
    /* Why its calls were stopped, for who has to find out what came of them;
     * NULL: no reason of its own.  Static. */
    const char *(*cause)(const struct mortise_run_command *c);

    /* May the run take it now, as part of that list?  Records nothing. */
    mortise_command_fn *check;
    /* Record it, and what follows from it: it was checked, and nothing happened
     * since but what was obeyed before it. */
    mortise_command_fn *obey;
};

/* In the order in which they are obeyed; a row of kind 0 behind the last. */
extern const struct mortise_command_row mortise_run_commands[];

/* The row of that kind, or (kind 0) the last, whose check refuses it. */
const struct mortise_command_row *mortise_command_row(uint32_t kind);
/* By the name on the socket. */
const struct mortise_command_row *mortise_command_named(const char *name);

/* Does that member of command_members.def mean something to it? */
bool mortise_command_takes(const struct mortise_command_row *row,
                           const char *member);

/* What a program in C says, read: `out` borrows the strings, and has a new
 * reference as its value, where the command has one.  Where numbers are read as
 * in C (mortise_enter()). */
int mortise_command_read(struct mortise_run_command *out,
                         const struct mortise_command *c,
                         struct mortise_err *err);

#endif
