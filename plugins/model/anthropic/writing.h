/* writing.h -- what the files share that write a request: request.c, turns.c
 * and blocks.c, each of which calls those behind it. */
#ifndef ANTHROPIC_WRITING_H
#define ANTHROPIC_WRITING_H

#include "anthropic.h"

/* A request that is being written. */
struct writing {
    mortise_jw w;
    mortise_status status; /* of what w does not see */
    const mortise_inst *inst;
    const struct asked *asked;
    int cache; /* places are to be marked */
};

/* ---- blocks.c: small pieces ---------------------------------------------- */

int anthropic_is_true(mortise_jv v);

/* A member that is a text; and one that is a value, if it was said. */
void anthropic_text_put(mortise_jw *w, const char *name, const char *text);
void anthropic_value_put(mortise_jw *w, const char *name, mortise_jv v);

/* The object that is open ends; `mark`: what is up to here is worth keeping. */
void anthropic_block_end(struct writing *x, int mark);

/* ---- blocks.c: parts ----------------------------------------------------- */

/* What a part of the user's is, or of a tool's; a blank text is nothing. */
enum part_kind { PART_OTHER, PART_TEXT, PART_MEDIA, PART_RESULT };
enum part_kind anthropic_part_kind(mortise_jv part);

/* A text, an image or a file; and a result. */
void anthropic_content_put(struct writing *x, mortise_jv part, int mark);
void anthropic_result_put(struct writing *x, mortise_jv part, int mark);

/* Does a part of the assistant's become a block?  Then write it. */
int anthropic_is_said(const mortise_inst *inst, mortise_jv part);
void anthropic_said_put(struct writing *x, mortise_jv part);

/* ---- turns.c ------------------------------------------------------------- */

/* The member `system`, or nothing; and all that is in `messages`. */
void anthropic_system_put(struct writing *x);
void anthropic_messages_put(struct writing *x);

#endif
