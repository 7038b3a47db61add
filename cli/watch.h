/* watch.h -- a run going on, seen by whoever set it going. */
#ifndef MORTISE_CLI_WATCH_H
#define MORTISE_CLI_WATCH_H

#include "cli/cli.h"
#include "cli/progress.h"

struct mortise_watching {
    struct mortise_cli *cli;
    struct mortise_progress progress;
    uint64_t seq;              /* the newest event that was shown */
    char run[MORTISE_RUN_MAX]; /* "": it has yet to begin */
    struct mortise_err err;    /* MORTISE_OK, or why signals are not heard */
    bool made_graph; /* by the command: nobody can look at a place in it */
};

void mortise_watching_init(struct mortise_watching *w, struct mortise_cli *cli);
/* Ask for something that a run comes of, as mortise_cli_go() does, and show what
 * happens until it rests; a signal pauses it first.  *reply: how it rests, a new
 * reference.  Takes the body; NULL is out of memory. */
int mortise_watch(struct mortise_watching *w, const char *what, json_t *body,
                  json_t **reply, struct mortise_err *err);
/* The body of a command to the run that is watched.  Takes the list. */
json_t *mortise_watch_command(const struct mortise_watching *w,
                              json_t *commands);

#endif
