/* results.h -- explanations of the E_... error codes. */
#ifndef MORTISE_CLI_RESULTS_H
#define MORTISE_CLI_RESULTS_H

#include "lang/yaml/codes.h"

/* In the order of enum mortise_result, starting with MORTISE_ENOMEM.  An
 * example is a command that fails with the code, and its output. */
extern const struct mortise_code mortise_result_codes[];
extern const size_t mortise_n_result_codes;

#endif
