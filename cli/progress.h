/* progress.h -- prints the events of a run while it proceeds. */
#ifndef MORTISE_CLI_PROGRESS_H
#define MORTISE_CLI_PROGRESS_H

#include <stdint.h>

#include "cli/talk.h"

enum { MORTISE_PROGRESS_NODES = 16, MORTISE_PROGRESS_TEXT = 256 };

/* An active node, shown in the bottom lines of a terminal. */
struct mortise_active_node {
    char path[128];                   /* of its first event */
    char text[MORTISE_PROGRESS_TEXT]; /* its last message, escaped */
};

struct mortise_progress {
    struct mortise_out *out; /* borrowed */
    bool json;               /* one JSON object per line */
    bool live; /* redraw lines on a terminal; else one line per event */
    bool chat; /* for a chat: only messages, and problems */
    struct mortise_active_node working[MORTISE_PROGRESS_NODES];
    size_t n_working;
    size_t drawn; /* working lines to be replaced by the next redraw */
    struct mortise_talk talk; /* for a terminal */
};

void mortise_progress_init(struct mortise_progress *p, struct mortise_out *out,
                           bool json);
/* Print one event.  Nonzero if the output has failed. */
int mortise_progress_print_event(struct mortise_progress *p,
                                 const json_t *event);
/* Remove the working lines before other output, and draw them again. */
void mortise_progress_erase(struct mortise_progress *p);
void mortise_progress_draw(struct mortise_progress *p);
/* End the display before other output. */
void mortise_progress_end(struct mortise_progress *p);

#endif
