/* pii.c -- finds personal data and can mask it.
 *
 * The check looks at every string of the payload, the names of members
 * included (not at numbers).  What it knows
 *
 *   iban   account numbers of a country's length with the right check digits
 *   card   numbers of payment cards: a network's, with the right check digit
 *   mac    hardware addresses of network cards
 *   ip     addresses of IPv4 and IPv6; not the loopback's
 *   mail   mail addresses
 *   phone  telephone numbers that are written as such (phone.c)
 *
 * Names of people are none of it: what is one only a model can say, and a rule
 * that guesses is no protection.  docs/security.md has the kinds.
 *
 * The config is finder.h's: `kinds`, `mask`, `allow`.  By `partial` are shown the
 * last four of an IBAN or a card, the last two of a phone number, the domain of
 * a mail address, and half of an IP or MAC address. */
#include "find.h"

static const struct finder_kind kinds[KINDS] = {
    [IBAN] = {"iban", "an IBAN", find_iban, NULL},
    [CARD] = {"card", "a card number", find_card, NULL},
    [MAC] = {"mac", "a MAC address", find_mac, NULL},
    [IP] = {"ip", "an IP address", find_ip, NULL},
    [MAIL] = {"mail", "a mail address", find_mail, NULL},
    [PHONE] = {"phone", "a phone number", find_phone, NULL},
};

static struct span shown(size_t kind, mortise_str found)
{
    struct span part = {found.n, found.n};
    unsigned signs = 0;

    switch (kind) {
    case MAIL: /* @example.com */
        while (part.from > 0 && found.p[part.from - 1] != '@')
            part.from--;
        break;
    case IP:
    case MAC: /* the half ahead */
        part = (struct span){0, 0};
        while (part.to < found.n && signs < (kind == IP ? 2u : 3u))
            signs += strchr(".:-", found.p[part.to++]) != NULL;
        break;
    default: /* the last four that are no sign */
        while (part.from > 0 && signs < (kind == PHONE ? 2u : 4u))
            signs += is_word(found.p[--part.from]);
    }
    return part;
}

static const struct finder finder = {
    kinds, KINDS, "iban, card, mac, ip, mail, phone", " .:-@+()", shown};

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    return finder_create(&finder, host, api, config, out);
}

static const mortise_plugin plugin = {
    .size = sizeof plugin,
    .id = "pii",
    .version = "0.1.0",
    .create = create,
    .get_interface = finder_interface,
    .destroy = finder_destroy,
};

MORTISE_MODULE_OF(plugin);
