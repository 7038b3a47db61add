/* talk.h -- prints conversations with models: the messages in order, with each
 * tool call on one line. */
#ifndef MORTISE_CLI_TALK_H
#define MORTISE_CLI_TALK_H

#include <stdint.h>

#include "cli/out.h"

struct mortise_talk {
    struct mortise_out *out;
    bool whole;     /* also messages to models, and reasoning */
    bool bare;      /* for a chat: without names in the margin */
    char open[128]; /* path of the execution whose text is streamed; "": none */
    bool in_line;   /* part of a line was printed: the cursor is not at a
                   * line's start */
    bool in_pieces; /* pieces of that text are missing or interrupted */
    uint64_t input, output; /* tokens of all replies so far */
    double usd;
};

/* Is it an event of a conversation? */
bool mortise_talk_is_event(const char *type);
/* Get the arguments of an approval that edited them; NULL: it is another event.
 */
const json_t *mortise_talk_get_edited_args(const json_t *event);
/* Print the event.  Text is streamed for one execution at a time; the replies
 * of others are printed when complete. */
void mortise_talk_print_event(struct mortise_talk *t, const char *type,
                              const json_t *event);
/* Start a new line before other output. */
void mortise_talk_break_line(struct mortise_talk *t);
/* Print the total usage, if any was reported. */
void mortise_talk_print_total(const struct mortise_talk *t);

#endif
