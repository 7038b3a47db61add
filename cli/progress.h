/* progress.h -- a run's events, as people see them go by. */
#ifndef MORTISE_CLI_PROGRESS_H
#define MORTISE_CLI_PROGRESS_H

#include <stdint.h>

#include "cli/talk.h"

enum { MORTISE_PROGRESS_NODES = 16, MORTISE_PROGRESS_TEXT = 256 };

/* A node at work; the bottom lines of a terminal show them. */
struct mortise_working {
    char path[128];                   /* of the event that began it */
    char text[MORTISE_PROGRESS_TEXT]; /* what it said last, made safe */
};

struct mortise_progress {
    struct mortise_out *out; /* lent */
    bool json;               /* one JSON object a line, nothing else */
    bool live;               /* for a terminal; else one line an event */
    bool chat; /* for who talks: what is said, and what is in the way of that */
    struct mortise_working working[MORTISE_PROGRESS_NODES];
    size_t n_working;
    size_t drawn; /* lines at the bottom that the next redraw replaces */
    struct mortise_talk talk; /* for a terminal */
};

void mortise_progress_init(struct mortise_progress *p, struct mortise_out *out,
                           bool json);
/* One event.  Nonzero when nobody reads any more. */
int mortise_progress_event(struct mortise_progress *p, const json_t *event);
/* Take the working lines away, for something else to be written; and put them
 * back. */
void mortise_progress_erase(struct mortise_progress *p);
void mortise_progress_draw(struct mortise_progress *p);
/* There is no more of it: something else is written. */
void mortise_progress_end(struct mortise_progress *p);

#endif
