/* secret.h -- waits until secrets are available.
 *
 * Everything here is [loop] unless noted otherwise. */
#ifndef MORTISE_SERVICES_SECRETS_SECRET_H
#define MORTISE_SERVICES_SECRETS_SECRET_H

#include "core/engine/runs/host_calls.h"
#include "lang/config/plugins/grants.h"
#include "core/engine/common/secret_store.h"
#include "lang/config/deploy.h"

/* Call `then`, at once or later, when mortise_secret_store_get() can return
 * these n secrets without waiting for a program.  The names must live as long
 * as the call.  `then` is not called if the call is cancelled before, or if an
 * error is returned. */
int mortise_secret_await(struct mortise_asked *a, const char *const *names,
                         size_t n, void (*then)(struct mortise_asked *a),
                         struct mortise_err *err);
#endif
