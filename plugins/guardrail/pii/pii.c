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
 * that guesses is no protection.  docs/security.md has how often it is right, on
 * texts that are shipped with the tests.
 *
 * Config (of the deployment, all of it optional)
 *   kinds  [names]    what is looked for                        (all)
 *   mask   what stands there instead                            ("label")
 *            label    its name: [card]
 *            stars    a star for each character
 *            partial  stars, and the part that people know it by: the last four
 *                     of a number, the domain of an address, half of an IP's
 *   allow  [texts]    what is nobody's; "*@example.com": all that ends so
 *
 * What it promises, beside what payload.h does:
 *
 *   (1) It takes time in proportion to the text, whatever stands in it.
 *   (2) What it offers would pass: what was masked is looked at again.
 *   (3) Two that overlap are masked as one, of the surer kind.
 *
 * Config does not change after create(), so any number of checks may run at
 * once. */
#include <mortise/guardrail.h>

#include "../../payload.h"
#include "find.h"

enum { MAX_ALLOWED = 256, MAX_ROUNDS = 8 };

enum style { LABEL, STARS, PARTIAL, STYLES };

struct mortise_inst {
    mortise_host *host; /* lent until destroy(), as is the table */
    const mortise_host_api *api;
    bool kinds[KINDS];
    enum style style;
    struct bytes allowed; /* their texts, one behind the other */
    struct span allow[MAX_ALLOWED];
    size_t n_allow;
};

static const struct {
    const char *name, *words;
    find_fn *find;
} kinds[KINDS] = {
    [IBAN] = {"iban", "an IBAN", find_iban},
    [CARD] = {"card", "a card number", find_card},
    [MAC] = {"mac", "a MAC address", find_mac},
    [IP] = {"ip", "an IP address", find_ip},
    [MAIL] = {"mail", "a mail address", find_mail},
    [PHONE] = {"phone", "a phone number", find_phone},
};

/* ---- finding ----------------------------------------------------------- */

/* A text, and what is next of each kind. */
struct scan {
    const struct mortise_inst *inst;
    mortise_str s;
    struct span next[KINDS];
    bool none[KINDS];
};

static bool is_allowed(const struct mortise_inst *i, mortise_str found)
{
    for (size_t k = 0; k < i->n_allow; k++) {
        const char *text = i->allowed.p + i->allow[k].from;
        uint64_t n = i->allow[k].to - i->allow[k].from;
        const bool any = *text == '*';

        text += any;
        n -= any;
        if ((any ? n <= found.n : n == found.n) &&
            memcmp(text, found.p + found.n - n, n) == 0)
            return true;
    }
    return false;
}

/* The next of this kind at or behind `at` that is not allowed. */
static void seek(struct scan *c, enum kind kind, uint64_t at)
{
    struct span *next = &c->next[kind];

    do {
        c->none[kind] = !kinds[kind].find(c->s, at, next);
        at = next->to;
    } while (!c->none[kind] &&
             is_allowed(c->inst, mortise_strn(c->s.p + next->from,
                                              next->to - next->from)));
}

static void begin(struct scan *c, const struct mortise_inst *i, mortise_str s)
{
    *c = (struct scan){.inst = i, .s = s};
    for (int k = 0; k < KINDS; k++) {
        c->none[k] = !i->kinds[k];
        if (i->kinds[k])
            seek(c, (enum kind)k, 0);
    }
}

/* The first of all, or what overlaps with it and is surer; KINDS: none. */
static enum kind first_of(const struct scan *c)
{
    enum kind first = KINDS;

    for (int k = KINDS - 1; k >= 0; k--)
        if (!c->none[k] &&
            (first == KINDS || c->next[k].from < c->next[first].to))
            first = (enum kind)k;
    return first;
}

/* The next finding, with all that overlaps with it (3). */
static enum kind next(struct scan *c, struct span *out)
{
    const enum kind first = first_of(c);

    if (first == KINDS)
        return KINDS;
    *out = c->next[first];
    for (int k = KINDS - 1; k >= 0; k--)
        if (!c->none[k] && c->next[k].from < out->to &&
            c->next[k].to > out->from) {
            if (c->next[k].from < out->from)
                out->from = c->next[k].from;
            if (c->next[k].to > out->to)
                out->to = c->next[k].to;
        }
    for (int k = 0; k < KINDS; k++)
        if (!c->none[k] && c->next[k].from < out->to)
            seek(c, (enum kind)k, out->to);
    return first;
}

/* ---- masking ----------------------------------------------------------- */

struct judge {
    const struct mortise_inst *inst;
    struct bytes masked[2]; /* of this round and of the one before */
};

static bool put(struct bytes *b, mortise_str s)
{
    return s.n <= PAYLOAD_MASKED - b->n && bytes_put(b, s) == MORTISE_S_OK;
}

/* From where on, and up to where, a finding is shown by `partial`. */
static struct span shown(enum kind kind, mortise_str found)
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

/* A star for each character outside of `part`; what separates groups stays. */
static bool put_stars(struct bytes *b, mortise_str found, struct span part)
{
    for (uint64_t i = 0; i < found.n; i++) {
        const char c = found.p[i];
        const bool is_shown = i >= part.from && i < part.to;

        if (((unsigned char)c & 0xC0) == 0x80 && !is_shown)
            continue; /* of a character that has its star */
        if (!put(b, is_shown || strchr(" .:-@+()", c) != NULL
                        ? mortise_strn(&c, 1)
                        : mortise_strz("*")))
            return false;
    }
    return true;
}

static bool put_label(struct bytes *b, enum kind kind)
{
    return put(b, mortise_strz("[")) &&
           put(b, mortise_strz(kinds[kind].name)) && put(b, mortise_strz("]"));
}

/* Where nothing would be left to hide (fe80::), its name. */
static bool put_mask(struct bytes *b, const struct mortise_inst *i,
                     enum kind kind, mortise_str found)
{
    const uint64_t at = b->n;
    struct span part = {0, 0};

    if (i->style == LABEL)
        return put_label(b, kind);
    if (i->style == PARTIAL)
        part = shown(kind, found);
    if (!put_stars(b, found, part))
        return false;
    if (memchr(b->p + at, '*', b->n - at) != NULL)
        return true;
    b->n = at;
    return put_label(b, kind);
}

/* Once over the text, into `to`; *s is that then, if anything was found. */
static bool mask_once(const struct mortise_inst *i, struct bytes *to,
                      mortise_str *s, bool *found_some)
{
    struct span found;
    struct scan c;
    uint64_t at = 0;
    enum kind kind;

    to->n = 0;
    begin(&c, i, *s);
    while ((kind = next(&c, &found)) != KINDS) {
        if (!put(to, mortise_strn(s->p + at, found.from - at)) ||
            !put_mask(to, i, kind,
                      mortise_strn(s->p + found.from, found.to - found.from)))
            return false;
        at = found.to;
    }
    *found_some = at > 0;
    if (at > 0 && !put(to, mortise_strn(s->p + at, s->n - at)))
        return false;
    if (at > 0)
        *s = bytes_str(to);
    return true;
}

/* Until nothing is found any more (2): a mask may be what something beside it
 * stands alone by. */
static bool mask(void *ud, mortise_str *s, bool *changed)
{
    struct judge *j = ud;
    bool again = true;

    *changed = false;
    for (int round = 0; again && round < MAX_ROUNDS; round++) {
        if (!mask_once(j->inst, &j->masked[round % 2], s, &again))
            return false;
        *changed |= again;
    }
    return !again;
}

/* ---- the interface ----------------------------------------------------- */

static enum payload_result look(void *ud, mortise_str s,
                                char what[PAYLOAD_WHAT])
{
    const struct judge *j = ud;
    struct scan c;
    enum kind kind;

    begin(&c, j->inst, s);
    kind = first_of(&c);
    if (kind == KINDS)
        return PAYLOAD_CLEAN;
    snprintf(what, PAYLOAD_WHAT, "%s", kinds[kind].words);
    return PAYLOAD_FOUND;
}

static mortise_status check(mortise_inst *i, uint32_t stage,
                            const mortise_request *r)
{
    static const struct payload_rules rules = {
        look, mask, "stands at", "stands in the name of a member:"};
    struct judge j = {.inst = i};
    mortise_status status;

    (void)stage; /* what is personal is so everywhere */
    status = payload_check(i->host, i->api, r, &rules, &j);
    bytes_free(&j.masked[0]);
    bytes_free(&j.masked[1]);
    return status;
}

/* ---- the instance ------------------------------------------------------ */

static void destroy(mortise_inst *i)
{
    bytes_free(&i->allowed);
    free(i);
}

static mortise_status no_config(const struct mortise_inst *i, const char *why)
{
    return mortise_refuse(i->host, i->api, 0, MORTISE_S_INVALID, "permanent",
                          "invalid", why);
}

/* Which of `names` a string is; `n`: none. */
static size_t which(mortise_jv v, const char *const *names, size_t n)
{
    size_t i = 0;

    while (i < n && !mortise_jv_is(v, mortise_strz(names[i])))
        i++;
    return i;
}

static mortise_status read_kinds(struct mortise_inst *i, mortise_jv list)
{
    mortise_jv_iter it = mortise_jv_each(list);
    const char *names[KINDS];
    mortise_jv v;

    for (int k = 0; k < KINDS; k++) {
        names[k] = kinds[k].name;
        i->kinds[k] = list.n == 0;
    }
    while (mortise_jv_next(&it, NULL, &v)) {
        const size_t k = which(v, names, KINDS);

        if (k == KINDS)
            return no_config(i, "kinds lists an unknown name; there are iban, "
                                "card, mac, ip, mail, phone");
        i->kinds[k] = true;
    }
    for (int k = 0; k < KINDS; k++)
        if (i->kinds[k])
            return MORTISE_S_OK;
    return no_config(i, "kinds is empty: a guardrail that lets everything "
                        "through would look like one that works");
}

static mortise_status read_allow(struct mortise_inst *i, mortise_jv list)
{
    mortise_jv_iter it = mortise_jv_each(list);
    mortise_jv v;

    while (mortise_jv_next(&it, NULL, &v)) {
        struct span *text = &i->allow[i->n_allow];
        mortise_status status;

        if (i->n_allow == MAX_ALLOWED)
            return no_config(i, "allow has more than 256 texts");
        text->from = i->allowed.n;
        status = bytes_decode(&i->allowed, v);
        if (status == MORTISE_S_NOMEM)
            return no_config(i, "out of memory");
        text->to = i->allowed.n;
        if (status != MORTISE_S_OK || text->to == text->from ||
            (text->to == text->from + 1 && i->allowed.p[text->from] == '*'))
            return no_config(i, "allow is a list of texts, and none is empty");
        i->n_allow++;
    }
    return MORTISE_S_OK;
}

static mortise_status configure(struct mortise_inst *i, mortise_str config)
{
    static const char *const styles[STYLES] = {"label", "stars", "partial"};
    mortise_status status;
    mortise_jv body, v;

    if (mortise_jv_parse(config, &body) != MORTISE_S_OK)
        return no_config(i, "the config is not JSON");
    v = mortise_jv_get(body, "mask");
    i->style = v.n > 0 ? (enum style)which(v, styles, STYLES) : LABEL;
    if (i->style == STYLES)
        return no_config(i, "mask is label, stars or partial");
    status = read_kinds(i, mortise_jv_get(body, "kinds"));
    return status == MORTISE_S_OK ? read_allow(i, mortise_jv_get(body, "allow"))
                                  : status;
}

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    struct mortise_inst *i = calloc(1, sizeof *i);
    mortise_status status;

    *out = NULL;
    if (i == NULL)
        return mortise_refuse(host, api, 0, MORTISE_S_NOMEM, "transient",
                              "no_memory", "out of memory");
    i->host = host;
    i->api = api;
    status = configure(i, config);
    if (status != MORTISE_S_OK) {
        destroy(i);
        return status;
    }
    *out = i;
    return MORTISE_S_OK;
}

static const mortise_guardrail guardrail = {sizeof guardrail, 0, check};

static const void *get_interface(mortise_inst *i, const char *id)
{
    (void)i;
    return strcmp(id, MORTISE_GUARDRAIL_2) == 0 ? &guardrail : NULL;
}

static const mortise_plugin plugin = {
    .size = sizeof plugin,
    .id = "pii",
    .version = "0.1.0",
    .create = create,
    .get_interface = get_interface,
    .destroy = destroy,
};

MORTISE_MODULE_OF(plugin);
