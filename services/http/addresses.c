/* addresses.c -- which addresses a grant covers, and which proxy leads to a host.
 *
 *   (1) A grant for a name does not cover addresses of this machine or of a
 *       private network, unless the grant is marked private: see
 *       mortise_egress_covers_address().  It is checked at connect, with the address
 *       that the socket really uses.
 *   (2) This machine is never reached through a proxy. */
#include "services/http/addresses.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

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
