/* talk.h -- conversations with models, as people read them: what was said, one
 * after another, with the calls of tools folded to a line each. */
#ifndef MORTISE_CLI_TALK_H
#define MORTISE_CLI_TALK_H

#include <stdint.h>

#include "cli/out.h"

struct mortise_talk {
    struct mortise_out *out;
    bool whole;     /* what was said to a model, too, and what it thought */
    bool bare;      /* for who talks: without names in the margin */
    char open[128]; /* whose text is being told as it comes; "": nobody's */
    bool in_line;   /* ... and the cursor stands behind a piece of it */
    bool in_pieces; /* ... of which some are missing, or stand apart */
    uint64_t input, output; /* tokens, of all replies so far */
    double usd;
};

/* Is that an event of a conversation? */
bool mortise_talk_is_about(const char *type);
/* The arguments with which a person approved a call in place of its own; NULL: it
 * is no such event. */
const json_t *mortise_talk_edited(const json_t *event);
/* Show such an event.  A piece of text is shown as it comes, of one execution at
 * a time; of the others the whole, once it is there. */
void mortise_talk_event(struct mortise_talk *t, const char *type,
                        const json_t *event);
/* Something else is to be shown: at the beginning of a line. */
void mortise_talk_break(struct mortise_talk *t);
/* What all of it cost; nothing where nobody said. */
void mortise_talk_total(const struct mortise_talk *t);

#endif
