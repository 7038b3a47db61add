/* name.h -- the names of files, plugins and guardrails. [any] */
#ifndef MORTISE_BASE_NAME_H
#define MORTISE_BASE_NAME_H

#include <stdbool.h>

/* [A-Za-z0-9][A-Za-z0-9._-]*, at most 128 characters. */
bool mortise_name_is_valid(const char *s);

#endif
