/* visible.h -- makes NULs in texts visible. */
#ifndef MORTISE_CLI_VISIBLE_H
#define MORTISE_CLI_VISIBLE_H

#include <jansson.h>

/* Return v, or a copy in which each NUL in a text is written as `\x00`.  Takes
 * the reference.  NULL: memory ran out (or v was NULL). */
json_t *mortise_json_show_nul(json_t *v);

#endif
