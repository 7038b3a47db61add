/* version.h -- dotted versions ("1.4.2") and version ranges (">=1.0 <2").
 * [any] */
#ifndef MORTISE_PLUGIN_VERSION_H
#define MORTISE_PLUGIN_VERSION_H

#include <stdbool.h>

/* One to four numbers of at most nine digits, separated by dots. */
bool mortise_version_is_valid(const char *v);
/* < 0, 0, > 0; a missing number counts as 0, so 1.0 equals 1.  Both must be
 * valid. */
int mortise_version_compare(const char *a, const char *b);

/* Comparisons separated by spaces, all of which must be true: >=V >V <=V <V
 * =V. */
bool mortise_range_is_valid(const char *range);
/* Is v in the range?  Both must be valid. */
bool mortise_range_has(const char *range, const char *v);

#endif
