/* error_codes.h -- what the codes of errors in a run mean, for people: those of
 * the core, of what plugins ask for, and of the bundled plugins. */
#ifndef MORTISE_CLI_ERROR_CODES_H
#define MORTISE_CLI_ERROR_CODES_H

#include "lang/yaml/codes.h"

/* Sorted by code, as events and `show` have it.  An example, where one helps, is
 * lines of a file; NULL: there is none. */
extern const struct mortise_code mortise_error_codes[];
extern const size_t mortise_n_error_codes;

#endif
