/* run_commands.h -- the commands that a run accepts, as a table.
 *
 * The code that reads, stores or carries commands uses only the properties in a
 * command's row, and does not depend on particular commands.
 *
 * Threads   [any]: the table is constant. */
#ifndef MORTISE_RUN_COMMANDS_H
#define MORTISE_RUN_COMMANDS_H

#include "core/run/run.h"

/* How a command treats calls in flight, and the run after it. */
enum mortise_command_call_policy {
    /* Calls continue. */
    MORTISE_COMMAND_KEEPS_CALLS = 0,
    /* The command changes the state that executions see: calls are cancelled,
     * and the list waits for their ends.  The run continues after it, even if
     * it was paused. */
    MORTISE_COMMAND_CANCELS_CALLS,
    /* The list waits too, but effects may finish.  The run is paused after it,
     * and needs no plugin. */
    MORTISE_COMMAND_PAUSES_RUN,
    /* The command cancels the calls itself.  Nothing is started after it, and
     * it needs no plugin. */
    MORTISE_COMMAND_ENDS_RUN
};

/* `c` is one of the list `h`. [loop] */
typedef int mortise_command_fn(struct mortise_run *r,
                               const struct mortise_command_list *h,
                               const struct mortise_run_command *c,
                               struct mortise_err *err);

struct mortise_command_row {
    uint32_t kind;    /* enum mortise_command_kind; 0: unknown */
    const char *name; /* on the control socket */
    /* Its members on the control socket, each in backquotes, as in
     * docs/control.md. */
    const char *members;
    uint32_t flags;    /* the MORTISE_CMD_... flags that it uses */
    const char *value; /* name of its value in errors; NULL: none */
    enum mortise_command_call_policy way;
    bool restarts; /* an ended run continues, with its plugins */
    /* For a decision: the request that it is about, as an opaque identity;
     * NULL: none is pending.  A list may have many decisions with different
     * subjects. */
    const void *(*subject)(const struct mortise_run *r,
                           const struct mortise_run_command *c);
    bool plugin_judges; /* a plugin checks a decision's `value` */
    bool steers;        /* the engine makes a graph from its `value` */
    /* Why its calls were stopped, for the person who settles their doubts;
     * NULL: no reason.  Static. */
    const char *(*cause)(const struct mortise_run_command *c);

    /* Can the run accept it now, as part of that list?  Records nothing. */
    mortise_command_fn *check;
    /* Record and apply it.  It was checked, and since then only earlier
     * commands of the list were applied. */
    mortise_command_fn *obey;
};

/* In the order in which they are applied; the last row has kind 0. */
extern const struct mortise_command_row mortise_run_commands[];

/* The row of this kind, or the last one (kind 0), whose check fails. */
const struct mortise_command_row *mortise_command_row(uint32_t kind);
/* By the name on the socket. */
const struct mortise_command_row *
mortise_command_find_by_name(const char *name);

/* Does the command use this member of command_members.def? */
bool mortise_command_has_member(const struct mortise_command_row *row,
                                const char *member);

/* Convert a command of the C API.  `out` borrows the strings, and its value, if
 * any, is a new reference.  Call it where numbers are read as in C
 * (mortise_loop_enter()). */
int mortise_command_read(struct mortise_run_command *out,
                         const struct mortise_command *c,
                         struct mortise_err *err);

#endif
