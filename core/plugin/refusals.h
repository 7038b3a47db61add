/* refusals.h -- what `mortise plugin check` may say of a shared object. */
#ifndef MORTISE_PLUGIN_REFUSALS_H
#define MORTISE_PLUGIN_REFUSALS_H

#include "lang/yaml/codes.h"

/* P01xx, sorted.  As with those of findings, what one means never changes. */
extern const struct mortise_code mortise_refusals[];
extern const size_t mortise_n_refusals;

#endif
