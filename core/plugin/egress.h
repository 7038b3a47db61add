/* egress.h -- which hosts a plugin may connect to, and through which proxy.
 *
 * Pure decisions about hosts, ports and addresses.  http.c applies them before
 * each hop, and to the address of each connection.  [any] */
#ifndef MORTISE_PLUGIN_EGRESS_H
#define MORTISE_PLUGIN_EGRESS_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/plugin/manifest.h"

enum { MORTISE_HOST_MAX = 253 }; /* bytes of a DNS name */

struct mortise_destination {
    char host[MORTISE_HOST_MAX + 1]; /* lower case; addresses: inet_ntop */
    uint16_t port;
    bool is_private; /* a grant that also covers private addresses */
};

struct mortise_egress { /* the granted destinations; in an arena */
    const struct mortise_destination *list;
    size_t n;
};

/* Parse "HOST:PORT", "[IPv6]:PORT" or an http or https URL. */
int mortise_destination_parse(struct mortise_destination *out, const char *text,
                              struct mortise_err *err);
/* Make one from a host as URLs write it ("[::1]" for an IPv6 address). */
int mortise_destination_make(struct mortise_destination *out, const char *host,
                             uint16_t port, struct mortise_err *err);

/* Read the manifest's permissions.net.  An entry `config:PATH` stands for the
 * value at PATH in the plugin's config: one destination, a list, or absent.
 * MORTISE_ECONFIG: a value is not a destination. */
int mortise_egress_make(struct mortise_egress *out, struct mortise_arena *a,
                        const struct mortise_names *net, const json_t *config,
                        struct mortise_err *err);
/* Find the grant that allows the destination, or NULL. */
const struct mortise_destination *
mortise_egress_find_grant(const struct mortise_egress *e,
                          const struct mortise_destination *d);

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
