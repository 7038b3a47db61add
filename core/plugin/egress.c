/* egress.c -- which hosts a plugin may connect to, and through which proxy.
 *
 * A grant is one host and one port, compared exactly: no wildcards and no
 * suffixes.  Before the comparison, letter case, a trailing dot and the
 * notation of addresses are normalized on both sides.
 *
 *   (1) A destination without a grant is denied.  This includes the target of a
 *       redirect.
 *   (2) A grant for a name does not cover addresses of this machine or of a
 *       private network, unless the grant is marked private: see
 *       mortise_egress_covers_address().  It is checked at connect, with the address
 *       that the socket really uses.
 *   (3) This machine is never reached through a proxy. */
#include "core/plugin/egress.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

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

/* ---- addresses ---------------------------------------------------------- */

/* RFC 1918, and carrier-grade NAT (RFC 6598). */
static bool is_private4(uint32_t a)
{
    return a >> 24 == 10 || a >> 20 == 0xAC1 || a >> 16 == 0xC0A8 ||
           a >> 22 == 0x191;
}

/* Metadata services of clouds, which hand out credentials, use link-local and
 * private addresses and two others: Oracle's in 192.0.0.0/24 (RFC 6890), and
 * Azure's public 168.63.129.16. */
static bool is_metadata4(uint32_t a)
{
    return a >> 8 == 0xC00000 || a == 0xA83F8110;
}

static bool is_special4(uint32_t a) /* host byte order */
{
    return a >> 24 == 0 || a >> 24 == 127 || a >> 16 == 0xA9FE ||
           a >> 28 >= 14 || is_private4(a) || is_metadata4(a);
}

static uint32_t read_ipv4_at(const struct in6_addr *a, size_t at)
{
    uint32_t v4;

    memcpy(&v4, a->s6_addr + at, sizeof v4);
    return ntohl(v4);
}

static bool has_prefix(const struct in6_addr *a, const char *prefix, size_t n)
{
    return memcmp(a->s6_addr, prefix, n) == 0;
}

enum { EMBEDDED_V4_MAX = 2 };

/* Get the IPv4 addresses that are embedded in an IPv6 address (mapped,
 * translated or tunnelled), and return their number. */
static size_t get_embedded_ipv4(const struct in6_addr *a,
                                uint32_t out[EMBEDDED_V4_MAX])
{
    const uint8_t *isatap = a->s6_addr + 8;
    size_t n = 0;

    if (IN6_IS_ADDR_UNSPECIFIED(a) || IN6_IS_ADDR_LOOPBACK(a))
        return 0; /* IPv6's own, though V4COMPAT matches them */
    if (IN6_IS_ADDR_V4MAPPED(a) || IN6_IS_ADDR_V4COMPAT(a) ||
        has_prefix(a, "\0\0\0\0\0\0\0\0\xff\xff\0\0", 12) ||   /* RFC 2765 */
        has_prefix(a, "\0\x64\xff\x9b\0\0\0\0\0\0\0\0", 12)) { /* RFC 6052 */
        out[n++] = read_ipv4_at(a, 12);
    } else if (has_prefix(a, "\x20\x02", 2)) { /* 6to4, RFC 3056 */
        out[n++] = read_ipv4_at(a, 2);
    } else if (has_prefix(a, "\x20\x01\0\0", 4)) { /* Teredo, RFC 4380 */
        out[n++] = read_ipv4_at(a, 4);
        out[n++] = ~read_ipv4_at(a, 12);
    } else if ((isatap[0] & ~3) == 0 && isatap[1] == 0 && isatap[2] == 0x5e &&
               isatap[3] == 0xfe) { /* RFC 5214 */
        out[n++] = read_ipv4_at(a, 12);
    }
    return n;
}

/* Addresses of local-use NAT64 (RFC 8215) count as special: their IPv4 address
 * depends on the network, which is a private one. */
static bool is_special6(const struct in6_addr *a)
{
    uint32_t v4[EMBEDDED_V4_MAX];
    size_t n = get_embedded_ipv4(a, v4);

    for (size_t i = 0; i < n; i++)
        if (is_special4(v4[i]))
            return true;
    return IN6_IS_ADDR_UNSPECIFIED(a) || IN6_IS_ADDR_LOOPBACK(a) ||
           IN6_IS_ADDR_LINKLOCAL(a) || IN6_IS_ADDR_SITELOCAL(a) ||
           (a->s6_addr[0] & 0xfe) == 0xfc || IN6_IS_ADDR_MULTICAST(a) ||
           has_prefix(a, "\0\x64\xff\x9b\0\1", 6);
}

static bool is_localhost(const char *host)
{
    static const char suffix[] = ".localhost";
    size_t n = strlen(host), m = sizeof suffix - 1;

    return strcmp(host, "localhost") == 0 ||
           (n > m && strcmp(host + n - m, suffix) == 0);
}

static bool parse_address(const char *host, struct in_addr *v4,
                          struct in6_addr *v6, int *family)
{
    if (inet_pton(AF_INET, host, v4) == 1)
        *family = AF_INET;
    else if (inet_pton(AF_INET6, host, v6) == 1)
        *family = AF_INET6;
    else
        return false;
    return true;
}

/* Is it an address of this machine, even a public one?  Only local addresses
 * can be bound. */
static bool is_local_address(struct sockaddr *address, socklen_t n)
{
    int s = socket(address->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool here = s >= 0 && bind(s, address, n) == 0;

    if (s >= 0)
        close(s);
    return here;
}

bool mortise_egress_covers_address(const struct mortise_destination *grant,
                                   const struct sockaddr *address)
{
    struct in_addr v4;
    struct in6_addr v6;
    struct sockaddr_in in4;
    struct sockaddr_in6 in6;
    int family;

    if (grant->is_private || is_localhost(grant->host) ||
        parse_address(grant->host, &v4, &v6, &family))
        return true;
    if (address->sa_family == AF_INET) {
        memcpy(&in4, address, sizeof in4);
        in4.sin_port = 0;
        return !is_special4(ntohl(in4.sin_addr.s_addr)) &&
               !is_local_address((struct sockaddr *)&in4, sizeof in4);
    }
    if (address->sa_family != AF_INET6)
        return false;
    memcpy(&in6, address, sizeof in6);
    in6.sin6_port = 0;
    return !is_special6(&in6.sin6_addr) &&
           !is_local_address((struct sockaddr *)&in6, sizeof in6);
}

/* ---- proxies ------------------------------------------------------------ */

/* 127.0.0.0/8, and 0.0.0.0, which the kernel connects to this machine. */
static bool is_loopback4(uint32_t a) /* host byte order */
{
    return a >> 24 == 127 || a == 0;
}

static bool is_loopback6(const struct in6_addr *a)
{
    uint32_t v4[EMBEDDED_V4_MAX];

    return IN6_IS_ADDR_LOOPBACK(a) || IN6_IS_ADDR_UNSPECIFIED(a) ||
           (get_embedded_ipv4(a, v4) == 1 && is_loopback4(v4[0]));
}

static bool is_loopback_target(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    int family;

    if (is_localhost(host))
        return true;
    if (!parse_address(host, &v4, &v6, &family))
        return false;
    return family == AF_INET ? is_loopback4(ntohl(v4.s_addr))
                             : is_loopback6(&v6);
}

const char *mortise_environment_copy(struct mortise_arena *a,
                                     const char *const *names, bool *failed)
{
    for (; *names != NULL; names++) {
        const char *value = getenv(*names), *copy;

        if (value == NULL || value[0] == '\0')
            continue;
        copy = mortise_arena_strdup(a, value);
        *failed |= copy == NULL;
        return copy;
    }
    return NULL;
}

int mortise_proxies_read(struct mortise_proxies *out, struct mortise_arena *a,
                         struct mortise_err *err)
{
    static const char *const http[] = {"http_proxy", "all_proxy", "ALL_PROXY",
                                       NULL};
    static const char *const https[] = {"https_proxy", "HTTPS_PROXY",
                                        "all_proxy", "ALL_PROXY", NULL};
    static const char *const none[] = {"no_proxy", "NO_PROXY", NULL};
    bool failed = false;

    out->http = mortise_environment_copy(a, http, &failed);
    out->https = mortise_environment_copy(a, https, &failed);
    out->none = mortise_environment_copy(a, none, &failed);
    return failed ? mortise_nomem(err) : MORTISE_OK;
}

/* Does the host equal the name, or is it a subdomain?  "*" matches every host.
 */
static bool has_domain_suffix(const char *host, const char *name, size_t n)
{
    size_t h = strlen(host);

    if (n == 1 && name[0] == '*')
        return true;
    while (n > 0 && name[0] == '.') {
        name++;
        n--;
    }
    return n > 0 && n <= h && strncasecmp(host + h - n, name, n) == 0 &&
           (n == h || host[h - n - 1] == '.');
}

static bool is_proxy_exempt(const char *list, const char *host)
{
    static const char list_separators[] = ", \t";

    while (list != NULL && *list != '\0') {
        size_t n = strcspn(list, list_separators);

        if (has_domain_suffix(host, list, n))
            return true;
        list += n;
        list += strspn(list, list_separators);
    }
    return false;
}

const char *mortise_proxies_find(const struct mortise_proxies *p, bool https,
                                 const struct mortise_destination *d)
{
    const char *proxy = https ? p->https : p->http;

    if (proxy == NULL || is_loopback_target(d->host) ||
        is_proxy_exempt(p->none, d->host))
        return "";
    return proxy;
}
