/* refusals.h -- the findings of `mortise plugin check` about a shared
 * object. */
#ifndef MORTISE_CLI_REFUSALS_H
#define MORTISE_CLI_REFUSALS_H

#include "lang/yaml/codes.h"

/* P01xx, sorted.  The meaning of a code never changes, as with those of
 * findings. */
extern const struct mortise_code mortise_refusals[];
extern const size_t mortise_n_refusals;

#endif
