/* oauth_url.h -- addresses and forms, as OAuth compares and writes them. */
#ifndef MCP_OAUTH_URL_H
#define MCP_OAUTH_URL_H

#include "../../bytes.h"

/* Slices of a text that is an absolute address with http or https. */
struct oauth_url {
    mortise_str scheme, host, port; /* port empty: the scheme's; host as it is,
                                       "[::1]" with its brackets */
    mortise_str origin;             /* from the scheme to the port */
    mortise_str path, query;        /* path from its slash, or empty; query
                                       without the question mark */
};

/* MORTISE_S_INVALID: another scheme, a user, a fragment, no host, a character
 * that stands in no address. */
mortise_status oauth_url_read(mortise_str text, struct oauth_url *out);
/* Scheme, host (whatever its case) and port, the scheme's own being the same as
 * none. */
int oauth_url_same_origin(const struct oauth_url *a, const struct oauth_url *b);
/* Is it this machine, by a name that nobody else can have? */
int oauth_url_is_loopback(const struct oauth_url *u);
/* Does a protected resource, as its metadata names it, take in the address of
 * the server: the same origin, and the path or one above it, whole segments of
 * it? */
int oauth_url_covers(const struct oauth_url *resource,
                     const struct oauth_url *server);

/* Where a redirect from an address leads: to another, or to a path of the same
 * origin (a Location that begins with one '/').  MORTISE_S_INVALID: nowhere that
 * is plainly an address. */
mortise_status oauth_url_move(mortise_str from, mortise_str location,
                              struct bytes *out);

int oauth_str_same(mortise_str a, mortise_str b);
/* ASCII letters in whatever case. */
int oauth_str_alike(mortise_str a, mortise_str b);

/* application/x-www-form-urlencoded: letters, digits and "-._~" stay, everything
 * else is %XX. */
mortise_status oauth_encode(struct bytes *out, mortise_str text);
/* One more member, behind an '&' unless `out` is empty or ends with '?'. */
mortise_status oauth_form_put(struct bytes *out, const char *name,
                              mortise_str value);
/* The value of a member, decoded, behind what `out` has.  MORTISE_S_NOTFOUND:
 * there is none; MORTISE_S_INVALID: there are two, or it is badly encoded. */
mortise_status oauth_form_get(mortise_str form, const char *name,
                              struct bytes *out);

#endif
