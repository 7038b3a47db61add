/* results.h -- what each E_... code of an error means, for people. */
#ifndef MORTISE_CLI_RESULTS_H
#define MORTISE_CLI_RESULTS_H

#include "lang/yaml/codes.h"

/* In the order of enum mortise_result, from MORTISE_ENOMEM on.  An example is
 * a command that ends with the code, and what it says. */
extern const struct mortise_code mortise_result_codes[];
extern const size_t mortise_n_result_codes;

#endif
