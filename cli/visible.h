/* visible.h -- texts with a NUL in them, for people. */
#ifndef MORTISE_CLI_VISIBLE_H
#define MORTISE_CLI_VISIBLE_H

#include <jansson.h>

/* The same, or a copy in which each NUL of a text is spelled `\x00`.  Takes the
 * reference; NULL: memory ran out (or it was NULL). */
json_t *mortise_visible(json_t *v);

#endif
