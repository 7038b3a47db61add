/* egress.h -- where a plugin may go, and by which way.
 *
 * Pure decisions about hosts, ports and addresses; http.c asks for them before
 * every hop and again at every connect.  [any] */
#ifndef MORTISE_SERVICES_HTTP_EGRESS_H
#define MORTISE_SERVICES_HTTP_EGRESS_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/plugin/manifest.h"

enum { MORTISE_HOST_MAX = 253 }; /* of a name in DNS */

struct mortise_destination {
    char host[MORTISE_HOST_MAX + 1]; /* lower case; an address as ntop has it */
    uint16_t port;
    bool is_private; /* of a grant: its addresses may be private ones */
};

struct mortise_egress { /* what is granted; in an arena */
    const struct mortise_destination *list;
    size_t n;
};

/* "HOST:PORT" or "[IPv6]:PORT" or a URL with http or https. */
int mortise_destination_parse(struct mortise_destination *out, const char *text,
                              struct mortise_err *err);
/* Of a host as a URL has it ("[::1]" for an IPv6 address). */
int mortise_destination_make(struct mortise_destination *out, const char *host,
                             uint16_t port, struct mortise_err *err);

/* The manifest's permissions.net, where `config:PATH` is what stands there in
 * the plugin's config: one destination or a list of them, nothing if it is not
 * there.  MORTISE_ECONFIG for a value that is none. */
int mortise_egress_make(struct mortise_egress *out, struct mortise_arena *a,
                        const struct mortise_names *net, const json_t *config,
                        struct mortise_err *err);
/* The grant that lets it pass, or NULL. */
const struct mortise_destination *
mortise_egress_allows(const struct mortise_egress *e,
                      const struct mortise_destination *d);

/* May a connection under that grant be one to this address?  A name that
 * resolves to this machine, to the link, to a private network or to nobody in
 * particular may not (DNS rebinding; what stands behind the firewall; the
 * addresses where clouds keep their secrets): who wants such an address grants
 * it, or says localhost, or that the name is private. */
bool mortise_egress_address(const struct mortise_destination *grant,
                            const struct sockaddr *address);

/* Proxies, as the environment has them (http_proxy, https_proxy, all_proxy,
 * no_proxy; upper case too, but for HTTP_PROXY, which a CGI's client sets). */
struct mortise_proxies {
    const char *http, *https, *none; /* NULL: none */
};

/* The first of some variables, of which the last is NULL, that is set and says
 * anything, copied; *failed: memory ran out. */
const char *mortise_variable(struct mortise_arena *a, const char *const *names,
                             bool *failed);
int mortise_proxies_read(struct mortise_proxies *out, struct mortise_arena *a,
                         struct mortise_err *err);
/* The one to use, or "": never for this very machine. */
const char *mortise_proxies_for(const struct mortise_proxies *p, bool https,
                                const struct mortise_destination *d);

#endif
