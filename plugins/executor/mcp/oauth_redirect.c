/* oauth_redirect.c -- where the browser came back to, as a person copied it.
 *
 * The address has the answer of the authorization server in its query: `code` or
 * `error`, our `state`, and who answered, `iss` (RFC 9207).  Anybody can make
 * such an address, so the order of the looks matters:
 *
 *   (1) `state` first: another one belongs to another question.
 *   (2) then `iss`: byte by byte the issuer that was asked, where it is there;
 *       where the server says that it always sends it, it must be.  Nothing that
 *       the server may have said, an error included, is believed or repeated
 *       before this.
 *   (3) `error` and `code` last, and never both. */
#include "oauth_parts.h"

#include <sodium.h>

/* Of an address its query, up to a fragment (which browsers may leave there); of
 * what is no address, all of it: a person copied the half. */
static mortise_str query_of(mortise_str address)
{
    const char *end, *p = NULL;
    uint64_t skip;

    while (address.n > 0 && (*address.p == ' ' || *address.p == '\n')) {
        address.p++;
        address.n--;
    }
    while (address.n > 0 && (address.p[address.n - 1] == ' ' ||
                             address.p[address.n - 1] == '\n'))
        address.n--;
    if (address.n > 0) {
        end = (const char *)memchr(address.p, '#', address.n);
        address.n = end != NULL ? (uint64_t)(end - address.p) : address.n;
    }
    if (address.n > 0)
        p = (const char *)memchr(address.p, '?', address.n);
    skip = p != NULL ? (uint64_t)(p + 1 - address.p) : 0;
    return mortise_strn(address.p + skip, address.n - skip);
}

static int is_code(const struct bytes *b)
{
    for (uint64_t i = 0; i < b->n; i++) {
        char c = b->p[i];

        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
            !(c >= '0' && c <= '9') && c != '_' && c != '-' && c != '.')
            return 0;
    }
    return b->n > 0 && b->n <= 64;
}

static int same_secret(const struct bytes *a, mortise_str b)
{
    return a->n == b.n && a->n > 0 && sodium_memcmp(a->p, b.p, b.n) == 0;
}

/* (1), (2) */
static const char *whose(mortise_str query, const struct oauth_expected *e,
                         struct bytes *room)
{
    mortise_status status = oauth_form_get(query, "state", room);

    if (status != MORTISE_S_OK)
        return "this is not the address to which the browser was redirected: "
               "it has no `state`";
    if (!same_secret(room, e->state))
        return "this address belongs to another request: its `state` does not "
               "match";
    room->n = 0;
    status = oauth_form_get(query, "iss", room);
    if (status == MORTISE_S_NOTFOUND)
        return e->iss_required
                   ? "the answer has no `iss`, which this server always sends, "
                     "so another server may have sent it"
                   : NULL;
    if (status != MORTISE_S_OK || !oauth_str_same(bytes_str(room), e->issuer))
        return "the answer is from another authorization server (`iss`) than "
               "the requested one";
    return NULL;
}

/* (3) */
static const char *what(mortise_str query, struct bytes *code,
                        struct bytes *said)
{
    mortise_status refused = oauth_form_get(query, "error", said);
    mortise_status granted = oauth_form_get(query, "code", code);

    if (refused == MORTISE_S_OK && granted == MORTISE_S_NOTFOUND) {
        if (!is_code(said))
            said->n = 0;
        return "the authorization server rejected the request";
    }
    said->n = 0;
    if (refused != MORTISE_S_NOTFOUND || granted != MORTISE_S_OK ||
        code->n == 0 || code->n > OAUTH_TEXT_MAX)
        return "this is not the address to which the browser was redirected: "
               "it has no `code`";
    return NULL;
}

const char *oauth_redirect_read(mortise_str address,
                                const struct oauth_expected *expected,
                                struct bytes *code, struct bytes *said)
{
    mortise_str query = query_of(address);
    struct bytes room = {0};
    const char *wrong = whose(query, expected, &room);

    bytes_free(&room);
    code->n = said->n = 0;
    if (wrong == NULL)
        wrong = what(query, code, said);
    if (wrong != NULL)
        code->n = 0;
    return wrong;
}
