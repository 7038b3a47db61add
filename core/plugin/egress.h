/* egress.h -- which hosts a plugin may connect to.
 *
 * Pure decisions about hosts and ports.  The HTTP client applies them before each
 * hop.  [any] */
#ifndef MORTISE_PLUGIN_EGRESS_H
#define MORTISE_PLUGIN_EGRESS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

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

#endif
