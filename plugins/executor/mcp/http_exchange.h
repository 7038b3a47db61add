/* http_exchange.h -- what OAuth wants of the host, and of the deployment. */
#ifndef MCP_HTTP_EXCHANGE_H
#define MCP_HTTP_EXCHANGE_H

#include "http_ask.h"
#include "oauth.h"

/* Make that request; ask->done is set. */
mortise_status http_exchange(mortise_inst *i, struct http_ask *ask,
                             const struct oauth_request *r);
/* The name of the secret of `auth.client_secret`; none where that is not said. */
mortise_status http_client_secret(mortise_jv auth, struct bytes *out);
/* Has a server's config an Authorization among its headers? */
int http_says_authorization(mortise_jv config);

#endif
