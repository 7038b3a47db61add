/* find.h -- finders of secrets in text; of the secrets guardrail.
 *
 * Threads    No state. */
#ifndef SECRETS_FIND_H
#define SECRETS_FIND_H

#include "../../finder.h"

/* The surer ones first: where two overlap, the earlier kind is meant. */
enum kind { KEY, TOKEN, JWT, URL, ASSIGNED, ENTROPY, KINDS };

find_fn find_key, find_token, find_jwt, find_url, find_assigned, find_entropy;

/* Of a member whose name says that it has a secret. */
bool is_assigned(mortise_str member, mortise_str text, struct span *out);

/* Of base64url. */
static inline bool is_base64url(char c)
{
    return ascii_alnum(c) || c == '-' || c == '_';
}

/* Is it what people write where a secret is to stand: ${NAME}, <token>, xxxx,
 * changeme, secret://name? */
bool is_placeholder(const char *p, uint64_t n);

#endif
