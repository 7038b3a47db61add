/* egress.c -- where a plugin may go, and by which way.
 *
 * A grant is a host and a port, compared as such: no wildcards, no suffixes, no
 * second meaning.  What both sides write differently for one thing (letter
 * case, a final dot, the notation of an address) is made equal first.
 *
 *   (1) What is not granted is refused, a redirect's target like any other.
 *   (2) A grant for a name is none for this machine or a private network,
 *       unless it says so: see mortise_egress_address().  It is asked at
 *       connect, with the address that the socket will really get.
 *   (3) This machine is never reached through a proxy.
 */
#include "services/http/egress.h"

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

static int no_destination(const char *text, struct mortise_err *err)
{
    return mortise_fail(
        err, MORTISE_EINVAL,
        "'%.200s' is neither HOST:PORT nor an http or https URL", text);
}

static bool is_name(const char *host, size_t n)
{
    return n > 0 && n <= MORTISE_HOST_MAX && host[0] != '.' &&
           strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789.-_") >= n;
}

/* "[...]": the address in its one notation. */
static bool take_ipv6(struct mortise_destination *out, const char *host,
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

/* A name in lower case and without the root's dot, or an address. */
static bool take_host(struct mortise_destination *out, const char *host,
                      size_t n)
{
    if (n > 0 && host[0] == '[')
        return take_ipv6(out, host, n);
    if (n > 1 && host[n - 1] == '.')
        n--;
    if (!is_name(host, n))
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
    return port != 0 && take_host(out, host, strlen(host))
               ? MORTISE_OK
               : no_destination(host, err);
}

/* The digits up to `end`; 0: it is no port. */
static uint16_t port_of(const char *p, const char *end)
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
        port = port_of(colon--, end);
    else
        colon = end;
    out->port = port;
    out->is_private = false;
    if (port == 0 || memchr(host, '@', (size_t)(end - host)) != NULL ||
        !take_host(out, host, (size_t)(colon - host)))
        return no_destination(text, err);
    return MORTISE_OK;
}

/* A destination, and behind it " private" where the name may lead to a private
 * address or to this machine. */
static int parse_grant(struct mortise_destination *out, const char *text,
                       struct mortise_err *err)
{
    static const char word[] = " private";
    size_t n = strlen(text), m = sizeof word - 1;
    bool is_private = n > m && strcmp(text + n - m, word) == 0;
    char bare[MORTISE_GRANT_MAX];
    int rv;

    if (n >= sizeof bare)
        return no_destination(text, err);
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
    int rv = mortise_grant_make(&g, a, net, config, err);

    *out = (struct mortise_egress){NULL, 0};
    if (rv != MORTISE_OK)
        return mortise_doing(err, rv, "permissions.net");
    list = mortise_arena_alloc(a, (g.n + 1) * sizeof *list);
    if (list == NULL)
        return mortise_nomem(err);
    for (size_t i = 0; i < g.n; i++) {
        if (parse_grant(&list[i], g.list[i].value, err) != MORTISE_OK)
            return mortise_doing(err, MORTISE_ECONFIG, "permissions.net: %s",
                                 g.list[i].says);
    }
    *out = (struct mortise_egress){list, g.n};
    return MORTISE_OK;
}

const struct mortise_destination *
mortise_egress_allows(const struct mortise_egress *e,
                      const struct mortise_destination *d)
{
    const struct mortise_destination *grant = NULL;

    for (size_t i = 0; i < e->n; i++) {
        const struct mortise_destination *one = &e->list[i];

        if (one->port == d->port && strcmp(one->host, d->host) == 0 &&
            (grant == NULL || one->is_private))
            grant = one;
    }
    return grant;
}

/* ---- addresses ---------------------------------------------------------- */

/* RFC 1918, and what carriers translate (RFC 6598). */
static bool is_private4(uint32_t a)
{
    return a >> 24 == 10 || a >> 20 == 0xAC1 || a >> 16 == 0xC0A8 ||
           a >> 22 == 0x191;
}

/* Clouds tell their machines secrets by link-local and private addresses, and by
 * two others: Oracle's are of the IETF's (192.0.0.0/24, RFC 6890), Azure has a
 * public one (168.63.129.16). */
static bool is_metadata4(uint32_t a)
{
    return a >> 8 == 0xC00000 || a == 0xA83F8110;
}

static bool is_special4(uint32_t a) /* host byte order */
{
    return a >> 24 == 0 || a >> 24 == 127 || a >> 16 == 0xA9FE ||
           a >> 28 >= 14 || is_private4(a) || is_metadata4(a);
}

static uint32_t v4_at(const struct in6_addr *a, size_t at)
{
    uint32_t v4;

    memcpy(&v4, a->s6_addr + at, sizeof v4);
    return ntohl(v4);
}

static bool begins(const struct in6_addr *a, const char *prefix, size_t n)
{
    return memcmp(a->s6_addr, prefix, n) == 0;
}

enum { MOST_V4 = 2 };

/* The IPv4 addresses that an IPv6 address leads to, where it is a way of writing
 * them or a tunnel's; how many. */
static size_t v4_of(const struct in6_addr *a, uint32_t out[MOST_V4])
{
    const uint8_t *isatap = a->s6_addr + 8;
    size_t n = 0;

    if (IN6_IS_ADDR_UNSPECIFIED(a) || IN6_IS_ADDR_LOOPBACK(a))
        return 0; /* IPv6's own, of the block that is IPv4-compatible */
    if (IN6_IS_ADDR_V4MAPPED(a) || IN6_IS_ADDR_V4COMPAT(a) ||
        begins(a, "\0\0\0\0\0\0\0\0\xff\xff\0\0", 12) ||   /* RFC 2765 */
        begins(a, "\0\x64\xff\x9b\0\0\0\0\0\0\0\0", 12)) { /* RFC 6052 */
        out[n++] = v4_at(a, 12);
    } else if (begins(a, "\x20\x02", 2)) { /* 6to4, RFC 3056 */
        out[n++] = v4_at(a, 2);
    } else if (begins(a, "\x20\x01\0\0", 4)) { /* Teredo, RFC 4380 */
        out[n++] = v4_at(a, 4);
        out[n++] = ~v4_at(a, 12);
    } else if ((isatap[0] & ~3) == 0 && isatap[1] == 0 && isatap[2] == 0x5e &&
               isatap[3] == 0xfe) { /* RFC 5214 */
        out[n++] = v4_at(a, 12);
    }
    return n;
}

/* Which IPv4 address one of NAT64 for local use (RFC 8215) leads to depends on the
 * network that it is of, which is a private one. */
static bool is_special6(const struct in6_addr *a)
{
    uint32_t v4[MOST_V4];
    size_t n = v4_of(a, v4);

    for (size_t i = 0; i < n; i++)
        if (is_special4(v4[i]))
            return true;
    return IN6_IS_ADDR_UNSPECIFIED(a) || IN6_IS_ADDR_LOOPBACK(a) ||
           IN6_IS_ADDR_LINKLOCAL(a) || IN6_IS_ADDR_SITELOCAL(a) ||
           (a->s6_addr[0] & 0xfe) == 0xfc || IN6_IS_ADDR_MULTICAST(a) ||
           begins(a, "\0\x64\xff\x9b\0\1", 6);
}

static bool is_localhost(const char *host)
{
    static const char suffix[] = ".localhost";
    size_t n = strlen(host), m = sizeof suffix - 1;

    return strcmp(host, "localhost") == 0 ||
           (n > m && strcmp(host + n - m, suffix) == 0);
}

static bool is_address(const char *host, struct in_addr *v4,
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

/* Is it an address of this machine, however public?  Only those can be bound.
 */
static bool is_bound_here(struct sockaddr *address, socklen_t n)
{
    int s = socket(address->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool here = s >= 0 && bind(s, address, n) == 0;

    if (s >= 0)
        close(s);
    return here;
}

bool mortise_egress_address(const struct mortise_destination *grant,
                            const struct sockaddr *address)
{
    struct in_addr v4;
    struct in6_addr v6;
    struct sockaddr_in in4;
    struct sockaddr_in6 in6;
    int family;

    if (grant->is_private || is_localhost(grant->host) ||
        is_address(grant->host, &v4, &v6, &family))
        return true;
    if (address->sa_family == AF_INET) {
        memcpy(&in4, address, sizeof in4);
        in4.sin_port = 0;
        return !is_special4(ntohl(in4.sin_addr.s_addr)) &&
               !is_bound_here((struct sockaddr *)&in4, sizeof in4);
    }
    if (address->sa_family != AF_INET6)
        return false;
    memcpy(&in6, address, sizeof in6);
    in6.sin6_port = 0;
    return !is_special6(&in6.sin6_addr) &&
           !is_bound_here((struct sockaddr *)&in6, sizeof in6);
}

/* ---- proxies ------------------------------------------------------------ */

/* 127.0.0.0/8, and the address of no machine, which the kernel connects here. */
static bool is_here4(uint32_t a) /* host byte order */
{
    return a >> 24 == 127 || a == 0;
}

static bool is_here6(const struct in6_addr *a)
{
    uint32_t v4[MOST_V4];

    return IN6_IS_ADDR_LOOPBACK(a) || IN6_IS_ADDR_UNSPECIFIED(a) ||
           (v4_of(a, v4) == 1 && is_here4(v4[0]));
}

static bool is_this_machine(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    int family;

    if (is_localhost(host))
        return true;
    if (!is_address(host, &v4, &v6, &family))
        return false;
    return family == AF_INET ? is_here4(ntohl(v4.s_addr)) : is_here6(&v6);
}

const char *mortise_variable(struct mortise_arena *a, const char *const *names,
                             bool *failed)
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

    out->http = mortise_variable(a, http, &failed);
    out->https = mortise_variable(a, https, &failed);
    out->none = mortise_variable(a, none, &failed);
    return failed ? mortise_nomem(err) : MORTISE_OK;
}

/* Is the host that name, or below it?  "*" is everything. */
static bool matches(const char *host, const char *name, size_t n)
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

static bool is_listed(const char *list, const char *host)
{
    static const char between[] = ", \t";

    while (list != NULL && *list != '\0') {
        size_t n = strcspn(list, between);

        if (matches(host, list, n))
            return true;
        list += n;
        list += strspn(list, between);
    }
    return false;
}

const char *mortise_proxies_for(const struct mortise_proxies *p, bool https,
                                const struct mortise_destination *d)
{
    const char *proxy = https ? p->https : p->http;

    if (proxy == NULL || is_this_machine(d->host) ||
        is_listed(p->none, d->host))
        return "";
    return proxy;
}
