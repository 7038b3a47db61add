/* secrets.c -- finds secrets and can mask them.
 *
 * The check looks at every string of the payload, the names of members
 * included (not at numbers).  What it knows, the surest first
 *
 *   key       private keys: PEM, OpenPGP
 *   token     tokens that say by their beginning whose they are (token.c), with
 *             the right check where there is one in them
 *   jwt       JSON web tokens
 *   url       passwords in URLs
 *   assigned  what is said to be a secret: password=..., "api_key": "...", in a
 *             text or as a member of the payload
 *   entropy   strings of 32 to 128 characters that nobody made up
 *
 * References (secret://name, ${NAME}) and what people write in the place of a
 * secret are none.  docs/security.md has the kinds.
 *
 * The config is finder.h's: `kinds`, `mask`, `allow`.  By `partial` are shown the
 * first four characters of a token. */
#include "find.h"

static const struct finder_kind kinds[KINDS] = {
    [KEY] = {"key", "a private key", find_key, NULL},
    [TOKEN] = {"token", "a token", find_token, NULL},
    [JWT] = {"jwt", "a JSON web token", find_jwt, NULL},
    [URL] = {"url", "the password of a URL", find_url, NULL},
    [ASSIGNED] = {"assigned", "the value of a secret", find_assigned,
                  is_assigned},
    [ENTROPY] = {"entropy", "a random string", find_entropy, NULL},
};

static struct span shown(size_t kind, mortise_str found)
{
    return (struct span){0, kind == TOKEN && found.n > 4 ? 4 : 0};
}

static const struct finder finder = {
    kinds, KINDS, "key, token, jwt, url, assigned, entropy", "", shown};

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    return finder_create(&finder, host, api, config, out);
}

static const mortise_plugin plugin = {
    .size = sizeof plugin,
    .id = "secrets",
    .version = "0.1.0",
    .create = create,
    .get_interface = finder_interface,
    .destroy = finder_destroy,
};

MORTISE_MODULE_OF(plugin);
