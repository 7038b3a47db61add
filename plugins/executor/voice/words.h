/* words.h -- what was said, as a sequence of words. */
#ifndef VOICE_WORDS_H
#define VOICE_WORDS_H

#include <mortise/plugin.h>

/* Is the phrase in the text, as whole words? */
int words_have(mortise_str text, mortise_str phrase);
/* How much of the text is one piece to be said: up to the end of a sentence, or
 * else of a word, within `max` bytes; all of a text that is shorter. */
uint64_t words_piece(mortise_str text, uint64_t max);
/* Does the text stop in the middle of a sentence? */
int words_are_unfinished(mortise_str text);

#endif
