/* watch.h -- watches a run that a command started or continued. */
#ifndef MORTISE_CLI_WATCH_H
#define MORTISE_CLI_WATCH_H

#include "cli/cli.h"
#include "cli/progress.h"

struct mortise_watch_session {
    struct mortise_cli *cli;
    struct mortise_progress progress;
    uint64_t seq;              /* the newest event shown */
    char run[MORTISE_RUN_MAX]; /* "": not started yet */
    /* why signals cannot be watched; MORTISE_OK: they can */
    struct mortise_err err;
    bool made_graph; /* the command made the graph: omit places in findings */
};

void mortise_watch_session_init(struct mortise_watch_session *w,
                                struct mortise_cli *cli);
/* Send a request that starts or continues a run, like mortise_cli_run_and_watch(), and
 * print its events until it rests; a signal pauses it first.  *reply is the
 * final state, a new reference.  Takes the body (NULL: memory ran out). */
int mortise_watch_run(struct mortise_watch_session *w, const char *what,
                      json_t *body, json_t **reply, struct mortise_err *err);
/* Make the body of a command to the watched run.  Takes the list. */
json_t *mortise_watch_make_command(const struct mortise_watch_session *w,
                                   json_t *commands);

#endif
