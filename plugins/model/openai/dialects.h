/* dialects.h -- the functions of which the rows of `struct dialect` are made,
 * where those of one row are in two files. */
#ifndef OPENAI_DIALECTS_H
#define OPENAI_DIALECTS_H

#include "openai.h"

void chat_ask(struct body *b);
void responses_ask(struct body *b);

#endif
