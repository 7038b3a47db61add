/* egress.c -- which hosts a plugin may connect to.
 *
 * A grant is one host and one port, compared exactly: no wildcards and no
 * suffixes.  Before the comparison, letter case, a trailing dot and the
 * notation of addresses are normalized on both sides.
 *
 *   (1) A destination without a grant is denied.  This includes the target of a
 *       redirect.
 *   (2) A grant for a name does not cover every address of this name: the HTTP
 *       client also checks the address of each connection. */
#include "core/plugin/egress.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/plugin/grant.h"

enum { MORTISE_GRANT_MAX = 2048 };

/* ---- destinations ------------------------------------------------------- */

static int fail_destination(const char *text, struct mortise_err *err)
{
    return mortise_fail(
        err, MORTISE_EINVAL,
        "'%.200s' is neither HOST:PORT nor an http or https URL", text);
}

static bool is_host_name(const char *host, size_t n)
{
    return n > 0 && n <= MORTISE_HOST_MAX && host[0] != '.' &&
           strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789.-_") >= n;
}

/* Parse "[...]" into the canonical notation of the address. */
static bool parse_ipv6_host(struct mortise_destination *out, const char *host,
                            size_t n)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr a;

    if (n < 3 || n - 2 >= sizeof text || host[n - 1] != ']')
        return false;
    memcpy(text, host + 1, n - 2);
    text[n - 2] = '\0';
    return inet_pton(AF_INET6, text, &a) == 1 &&
           inet_ntop(AF_INET6, &a, out->host, sizeof out->host) != NULL;
}

/* Parse a host: a name, stored in lower case without a trailing dot, or an
 * address. */
static bool parse_host(struct mortise_destination *out, const char *host,
                       size_t n)
{
    if (n > 0 && host[0] == '[')
        return parse_ipv6_host(out, host, n);
    if (n > 1 && host[n - 1] == '.')
        n--;
    if (!is_host_name(host, n))
        return false;
    for (size_t i = 0; i < n; i++)
        out->host[i] = host[i] >= 'A' && host[i] <= 'Z'
                           ? (char)(host[i] - 'A' + 'a')
                           : host[i];
    out->host[n] = '\0';
    return true;
}

int mortise_destination_make(struct mortise_destination *out, const char *host,
                             uint16_t port, struct mortise_err *err)
{
    out->port = port;
    out->is_private = false;
    return port != 0 && parse_host(out, host, strlen(host))
               ? MORTISE_OK
               : fail_destination(host, err);
}

/* Parse the digits up to `end`; 0 if they are not a valid port. */
static uint16_t parse_port(const char *p, const char *end)
{
    uint32_t port = 0;

    for (; p < end && *p >= '0' && *p <= '9' && port <= UINT16_MAX; p++)
        port = port * 10 + (uint32_t)(*p - '0');
    return p == end && port <= UINT16_MAX ? (uint16_t)port : 0;
}

static const char *skip_scheme(const char *text, uint16_t *port)
{
    if (strncasecmp(text, "http://", 7) == 0) {
        *port = 80;
        return text + 7;
    }
    if (strncasecmp(text, "https://", 8) == 0) {
        *port = 443;
        return text + 8;
    }
    *port = 0;
    return text;
}

int mortise_destination_parse(struct mortise_destination *out, const char *text,
                              struct mortise_err *err)
{
    uint16_t port;
    const char *host = skip_scheme(text, &port);
    const char *end = host + strcspn(host, host != text ? "/?#" : "");
    const char *colon = end;

    while (colon > host && colon[-1] >= '0' && colon[-1] <= '9')
        colon--;
    if (colon > host && colon[-1] == ':')
        port = parse_port(colon--, end);
    else
        colon = end;
    out->port = port;
    out->is_private = false;
    if (port == 0 || memchr(host, '@', (size_t)(end - host)) != NULL ||
        !parse_host(out, host, (size_t)(colon - host)))
        return fail_destination(text, err);
    return MORTISE_OK;
}

/* Parse a destination with an optional suffix " private", which allows the name
 * to resolve to a private address or to this machine. */
static int parse_grant(struct mortise_destination *out, const char *text,
                       struct mortise_err *err)
{
    static const char word[] = " private";
    size_t n = strlen(text), m = sizeof word - 1;
    bool is_private = n > m && strcmp(text + n - m, word) == 0;
    char bare[MORTISE_GRANT_MAX];
    int rv;

    if (n >= sizeof bare)
        return fail_destination(text, err);
    snprintf(bare, sizeof bare, "%.*s", (int)(is_private ? n - m : n), text);
    rv = mortise_destination_parse(out, bare, err);
    out->is_private = is_private;
    return rv;
}

/* ---- grants ------------------------------------------------------------- */

int mortise_egress_make(struct mortise_egress *out, struct mortise_arena *a,
                        const struct mortise_names *net, const json_t *config,
                        struct mortise_err *err)
{
    struct mortise_destination *list;
    struct mortise_grant g;
    int rv = mortise_grant_resolve(&g, a, net, config, err);

    *out = (struct mortise_egress){NULL, 0};
    if (rv != MORTISE_OK)
        return mortise_err_prefix(err, rv, "permissions.net");
    list = mortise_arena_alloc(a, (g.n + 1) * sizeof *list);
    if (list == NULL)
        return mortise_nomem(err);
    for (size_t i = 0; i < g.n; i++) {
        if (parse_grant(&list[i], g.list[i].value, err) != MORTISE_OK)
            return mortise_err_prefix(err, MORTISE_ECONFIG,
                                      "permissions.net: %s", g.list[i].says);
    }
    *out = (struct mortise_egress){list, g.n};
    return MORTISE_OK;
}

const struct mortise_destination *
mortise_egress_find_grant(const struct mortise_egress *e,
                          const struct mortise_destination *d)
{
    const struct mortise_destination *grant = NULL;

    for (size_t i = 0; i < e->n; i++) {
        const struct mortise_destination *candidate = &e->list[i];

        if (candidate->port == d->port &&
            strcmp(candidate->host, d->host) == 0 &&
            (grant == NULL || candidate->is_private))
            grant = candidate;
    }
    return grant;
}
