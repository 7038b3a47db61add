/* methods.h -- the methods of the service `secrets`. */
#ifndef MORTISE_SERVICES_SECRETS_METHODS_H
#define MORTISE_SERVICES_SECRETS_METHODS_H

#include "core/engine/runs/host_calls.h"

/* secret.c */
extern const struct mortise_host_call_method mortise_host_call_secret_get;

/* secret_keep.c */
extern const struct mortise_host_call_method mortise_host_call_secret_keep;
extern const struct mortise_host_call_method mortise_host_call_secret_kept;

#endif
