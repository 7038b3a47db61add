/* error_codes.h -- explanations of the error codes of runs. */
#ifndef MORTISE_CLI_ERROR_CODES_H
#define MORTISE_CLI_ERROR_CODES_H

#include "lang/yaml/codes.h"

/* The codes of the core, its services and the bundled plugins, as in events and
 * in `mortise show`; sorted by code.  An example is lines of a file; NULL:
 * none. */
extern const struct mortise_code mortise_error_codes[];
extern const size_t mortise_n_error_codes;

#endif
