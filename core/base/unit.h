/* unit.h -- numbers with a unit. [any] */
#ifndef MORTISE_BASE_UNIT_H
#define MORTISE_BASE_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "250ms", "30s", "10m", "2h", "7d" -> ms; "64KiB", "2MiB" -> bytes; up to
 * 2^52.  False if the text of n bytes is neither (a number without a unit is
 * neither). */
bool mortise_duration_parse(const char *text, size_t n, uint64_t *ms);
bool mortise_size_parse(const char *text, size_t n, uint64_t *bytes);

#endif
