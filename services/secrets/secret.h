/* secret.h -- secrets for plugins that ask: when the value is there.
 *
 * Everything here is [loop] unless it says otherwise. */
#ifndef MORTISE_SERVICES_SECRETS_SECRET_H
#define MORTISE_SERVICES_SECRETS_SECRET_H

#include "core/engine/runs/host_calls.h"
#include "core/engine/common/grants.h"
#include "core/engine/common/secret_store.h"
#include "lang/config/deploy.h"

/* See to it that mortise_secret_store_get() will not wait for a program for
 * these (n names that live as long as the ask), then call `then`: at once or
 * later. Not when the ask is cancelled before; not when it returns an error. */
int mortise_secret_await(struct mortise_asked *a, const char *const *names,
                         size_t n, void (*then)(struct mortise_asked *a),
                         struct mortise_err *err);
#endif
