/* addresses.h -- which addresses a grant covers, and which proxy leads to a host.
 *
 * Pure decisions.  http_hop.c applies them to the address of each connection.
 * [any] */
#ifndef MORTISE_SERVICES_HTTP_ADDRESSES_H
#define MORTISE_SERVICES_HTTP_ADDRESSES_H

#include <stdbool.h>
#include <sys/socket.h>

#include "core/plugin/egress.h"

/* Does the grant cover a connection to this address?  A grant for a public name
 * does not cover this machine or loopback, link-local, private, multicast or
 * reserved addresses.  This protects against DNS rebinding, and protects hosts
 * behind the firewall and the metadata services of clouds.  To allow such an
 * address, grant the address itself, grant localhost, or mark the name private.
 */
bool mortise_egress_covers_address(const struct mortise_destination *grant,
                                   const struct sockaddr *address);

/* Proxies of the environment: http_proxy, https_proxy, all_proxy and no_proxy,
 * also in upper case.  HTTP_PROXY is ignored, because a client of a CGI program
 * can set it. */
struct mortise_proxies {
    const char *http, *https, *none; /* NULL: unset */
};

/* Copy the first variable of a NULL-terminated list that is set and not empty;
 * NULL if none is.  *failed becomes true if memory ran out. */
const char *mortise_environment_copy(struct mortise_arena *a,
                                     const char *const *names, bool *failed);
int mortise_proxies_read(struct mortise_proxies *out, struct mortise_arena *a,
                         struct mortise_err *err);
/* Get the proxy for a destination, or "" to connect directly.  Always "" for
 * this machine. */
const char *mortise_proxies_find(const struct mortise_proxies *p, bool https,
                                 const struct mortise_destination *d);

#endif
