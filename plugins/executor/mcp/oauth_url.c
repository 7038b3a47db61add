/* oauth_url.c -- addresses and forms, as OAuth compares and writes them.
 *
 * What is compared here decides where tokens go, so nothing is repaired: an
 * address that is not plainly one is none.
 *
 *   (1) Two addresses have the same origin or they have not; no prefix of a text
 *       is ever taken for one ("https://a.example" is none of
 *       "https://a.example.evil").
 *   (2) A path covers another by whole segments, and one with "." or ".."
 *       among its segments, plain or encoded, covers nothing.
 *   (3) A form in which a name comes twice says nothing: who reads the first and
 *       who reads the last would see different things. */
#include "oauth_url.h"

#include "../../ascii.h"

static mortise_str from_to(const char *p, const char *end)
{
    return mortise_strn(p, (uint64_t)(end - p));
}

int oauth_str_same(mortise_str a, mortise_str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

int oauth_str_alike(mortise_str a, mortise_str b)
{
    uint64_t i = 0;

    while (a.n == b.n && i < a.n && ascii_lower(a.p[i]) == ascii_lower(b.p[i]))
        i++;
    return a.n == b.n && i == a.n;
}

/* ---- an address ---------------------------------------------------------- */

/* Visible ASCII but for what RFC 3986 leaves out; '%' with its digits is looked
 * at by who decodes. */
static int is_of_address(char c)
{
    return c > ' ' && c < 0x7f && strchr("\"<>\\^`{|}", c) == NULL;
}

static const char *scheme_end(mortise_str text)
{
    static const char *const schemes[] = {"https://", "http://"};

    for (size_t i = 0; i < 2; i++) {
        size_t n = strlen(schemes[i]);

        if (text.n > n &&
            oauth_str_alike(mortise_strn(text.p, n), mortise_strz(schemes[i])))
            return text.p + n - strlen("://");
    }
    return NULL;
}

/* host[:port], or [address][:port] */
static mortise_status read_authority(const char *p, const char *end,
                                     struct oauth_url *out)
{
    const char *stop = p, *colon;

    if (p < end && *p == '[') {
        stop = (const char *)memchr(p, ']', (size_t)(end - p));
        if (stop == NULL)
            return MORTISE_S_INVALID;
        stop++;
        if (stop < end && *stop != ':')
            return MORTISE_S_INVALID;
    }
    colon = (const char *)memchr(stop, ':', (size_t)(end - stop));
    out->host = from_to(p, colon != NULL ? colon : end);
    out->port = colon != NULL ? from_to(colon + 1, end) : from_to(end, end);
    for (uint64_t i = 0; i < out->port.n; i++)
        if (!ascii_digit(out->port.p[i]))
            return MORTISE_S_INVALID;
    return out->host.n > 0 && out->port.n <= 5 ? MORTISE_S_OK
                                               : MORTISE_S_INVALID;
}

mortise_status oauth_url_read(mortise_str text, struct oauth_url *out)
{
    const char *end, *p, *stop, *ask;

    memset(out, 0, sizeof *out);
    p = scheme_end(text);
    if (p == NULL)
        return MORTISE_S_INVALID;
    end = text.p + text.n;
    for (const char *c = p; c < end; c++)
        if (!is_of_address(*c) || *c == '#')
            return MORTISE_S_INVALID;
    out->scheme = from_to(text.p, p);
    p += strlen("://");
    for (stop = p; stop < end && *stop != '/' && *stop != '?'; stop++)
        if (*stop == '@' || *stop == '%')
            return MORTISE_S_INVALID;
    out->origin = from_to(text.p, stop);
    ask = (const char *)memchr(stop, '?', (size_t)(end - stop));
    out->path = from_to(stop, ask != NULL ? ask : end);
    out->query = ask != NULL ? from_to(ask + 1, end) : from_to(end, end);
    return read_authority(p, stop, out);
}

static mortise_str port_of(const struct oauth_url *u)
{
    if (u->port.n > 0)
        return u->port;
    return mortise_strz(u->scheme.n == 5 ? "443" : "80");
}

int oauth_url_same_origin(const struct oauth_url *a, const struct oauth_url *b)
{
    return oauth_str_alike(a->scheme, b->scheme) &&
           oauth_str_alike(a->host, b->host) &&
           oauth_str_same(port_of(a), port_of(b));
}

/* 127.0.0.0/8, all four numbers written out. */
static int is_loopback_address(mortise_str host)
{
    uint64_t dots = 0, digits = 0;

    if (host.n < 4 || memcmp(host.p, "127.", 4) != 0)
        return 0;
    for (uint64_t i = 0; i < host.n; i++) {
        if (host.p[i] == '.' && digits > 0)
            dots++, digits = 0;
        else if (!ascii_digit(host.p[i]) || ++digits > 3)
            return 0;
    }
    return dots == 3 && digits > 0;
}

int oauth_url_is_loopback(const struct oauth_url *u)
{
    return oauth_str_alike(u->host, mortise_strz("localhost")) ||
           is_loopback_address(u->host) || mortise_str_is(u->host, "[::1]");
}

/* Does a path go up or stand still somewhere (2)? */
static int is_winding(mortise_str path)
{
    uint64_t n = 0; /* bytes of the segment, a dot each, or more than two */

    for (uint64_t i = 0; i <= path.n; i++) {
        if (i == path.n || path.p[i] == '/') {
            if (n == 1 || n == 2)
                return 1;
            n = 0;
        } else if (path.p[i] == '.') {
            n++;
        } else if (path.n - i >= 3 &&
                   oauth_str_alike(mortise_strn(path.p + i, 3),
                                   mortise_strz("%2e"))) {
            n++;
            i += 2;
        } else {
            n += 3;
        }
    }
    return 0;
}

mortise_status oauth_url_move(mortise_str from, mortise_str location,
                              struct bytes *out)
{
    int is_path = location.n > 0 && location.p[0] == '/' &&
                  (location.n == 1 || location.p[1] != '/');
    struct oauth_url u;
    mortise_status status = oauth_url_read(from, &u);

    if (status == MORTISE_S_OK && is_path)
        status = bytes_put(out, u.origin);
    if (status == MORTISE_S_OK)
        status = bytes_put(out, location);
    return status == MORTISE_S_OK ? oauth_url_read(bytes_str(out), &u) : status;
}

int oauth_url_covers(const struct oauth_url *resource,
                     const struct oauth_url *server)
{
    mortise_str above = resource->path, path = server->path;

    if (!oauth_url_same_origin(resource, server) || is_winding(above) ||
        is_winding(path))
        return 0;
    if (resource->query.n > 0 &&
        !oauth_str_same(resource->query, server->query))
        return 0;
    while (above.n > 0 && above.p[above.n - 1] == '/')
        above.n--;
    return path.n >= above.n &&
           oauth_str_same(above, mortise_strn(path.p, above.n)) &&
           (path.n == above.n || path.p[above.n] == '/');
}

/* ---- a form -------------------------------------------------------------- */

static int stays(char c)
{
    return ascii_digit(c) || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z') ||
           c == '-' || c == '.' || c == '_' || c == '~';
}

mortise_status oauth_encode(struct bytes *out, mortise_str text)
{
    static const char hex[] = "0123456789ABCDEF";
    mortise_status status = bytes_room(out, 3 * text.n);

    for (uint64_t i = 0; status == MORTISE_S_OK && i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];

        if (stays((char)c)) {
            out->p[out->n++] = (char)c;
            continue;
        }
        out->p[out->n++] = '%';
        out->p[out->n++] = hex[c >> 4];
        out->p[out->n++] = hex[c & 15];
    }
    return status;
}

mortise_status oauth_form_put(struct bytes *out, const char *name,
                              mortise_str value)
{
    mortise_status status = MORTISE_S_OK;

    if (out->n > 0 && out->p[out->n - 1] != '?')
        status = bytes_put(out, mortise_strz("&"));
    if (status == MORTISE_S_OK)
        status = bytes_put(out, mortise_strz(name));
    if (status == MORTISE_S_OK)
        status = bytes_put(out, mortise_strz("="));
    return status == MORTISE_S_OK ? oauth_encode(out, value) : status;
}

static int hex_of(char c)
{
    c = ascii_lower(c);
    return ascii_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static mortise_status decode(struct bytes *out, mortise_str text)
{
    mortise_status status = bytes_room(out, text.n);

    for (uint64_t i = 0; status == MORTISE_S_OK && i < text.n; i++) {
        char c = text.p[i] == '+' ? ' ' : text.p[i];

        if (c == '%') {
            int high = text.n - i > 2 ? hex_of(text.p[i + 1]) : -1;
            int low = high >= 0 ? hex_of(text.p[i + 2]) : -1;

            if (low < 0)
                return MORTISE_S_INVALID;
            c = (char)(high << 4 | low);
            i += 2;
        }
        out->p[out->n++] = c;
    }
    return status;
}

mortise_status oauth_form_get(mortise_str form, const char *name,
                              struct bytes *out)
{
    const char *p = form.p, *end = form.n > 0 ? form.p + form.n : form.p;
    mortise_str found = mortise_str_empty();
    uint64_t n = strlen(name), before = out->n;
    mortise_status status;
    int times = 0;

    while (p < end) {
        const char *stop = (const char *)memchr(p, '&', (size_t)(end - p));

        stop = stop != NULL ? stop : end;
        if ((uint64_t)(stop - p) > n && p[n] == '=' &&
            memcmp(p, name, n) == 0) {
            found = from_to(p + n + 1, stop);
            times++;
        }
        p = stop < end ? stop + 1 : end;
    }
    if (times != 1)
        return times == 0 ? MORTISE_S_NOTFOUND : MORTISE_S_INVALID;
    status = decode(out, found);
    if (status != MORTISE_S_OK)
        out->n = before;
    return status;
}
