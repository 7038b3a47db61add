/* finder.h -- guardrails that find things in text and mask them.
 *
 *     static const struct finder_kind kinds[] = {
 *         {"card", "a card number", find_card, NULL}, ...};
 *     static const struct finder finder = {kinds, N_KINDS, shown};
 *
 * Such a plugin is a table of kinds, the surer ones first, and a scanner for
 * each, by hand: it goes over a text once, looks back and ahead no further than
 * the longest thing of its kind is long, and so takes time in proportion to the
 * text, whatever stands in it.  What is here is the rest: the config, the walk
 * over the payload (payload.h), and the masks.
 *
 * Config, all of it optional
 *   kinds  [names]    what is looked for                        (all)
 *   mask   what stands there instead                            ("label")
 *            label    its name: [card]
 *            stars    a star for each character
 *            partial  stars, and the part that people know it by
 *   allow  [texts]    what is let pass; "*@example.com": all that ends so
 *
 * What it promises, beside what payload.h does:
 *
 *   (1) Two that overlap are masked as one, of the surer kind.
 *   (2) What is offered would pass: what was masked is looked at again.
 *
 * Threads    Config does not change after create(), so any number of checks may
 *            run at once. */
#ifndef PLUGINS_FINDER_H
#define PLUGINS_FINDER_H

#include "ascii.h"
#include "create.h"
#include "payload.h"

enum { FINDER_KINDS = 16, FINDER_ALLOWED = 256, FINDER_ROUNDS = 8 };

struct span {
    uint64_t from, to; /* bytes of the text */
};

/* The first at or behind `at`; false: there is none. */
typedef bool find_fn(mortise_str s, uint64_t at, struct span *out);

struct finder_kind {
    const char *name, *words;
    find_fn *find;
    /* Is the text one because the member of that name has it?  *out is which of it;
     * NULL: names say nothing. */
    bool (*had)(mortise_str member, mortise_str text, struct span *out);
};

struct finder {
    const struct finder_kind *kinds;
    size_t n;
    const char *names; /* of all kinds, in words */
    const char *signs; /* that separate groups, and are no part of a thing */
    /* What of a finding `partial` shows. */
    struct span (*shown)(size_t kind, mortise_str found);
};

enum finder_style { FINDER_LABEL, FINDER_STARS, FINDER_PARTIAL, FINDER_STYLES };

/* An instance. */
struct mortise_inst {
    mortise_host *host; /* lent until destroy(), as is the table */
    const mortise_host_api *api;
    const struct finder *finder;
    bool kinds[FINDER_KINDS];
    enum finder_style style;
    struct bytes allowed; /* their texts, one behind the other */
    struct span allow[FINDER_ALLOWED];
    size_t n_allow;
};

/* ---- characters -------------------------------------------------------- */

/* What at_of() and before() give for a character that is part of no word with what
 * stands beside it: signs and blanks beyond ASCII (U+0080 to U+00BF, U+2000 to
 * U+2FFF), and scripts without blanks between words (all behind that). */
enum { FINDER_SIGN = 0x1f };

static inline bool is_apart(char lead)
{
    return (unsigned char)lead == 0xC2 || (unsigned char)lead >= 0xE2;
}

/* '\0' before and behind the text. */
static inline char at_of(mortise_str s, uint64_t i)
{
    if (i >= s.n)
        return '\0';
    return is_apart(s.p[i]) ? FINDER_SIGN : s.p[i];
}

/* Bytes of a blank as it is printed between groups: a space, or one at which no line
 * ends (U+00A0, U+202F); 0: there is none. */
static inline uint64_t blank_at(mortise_str s, uint64_t i)
{
    static const char *const blanks[] = {" ", "\xC2\xA0", "\xE2\x80\xAF"};

    for (size_t k = 0; k < sizeof blanks / sizeof blanks[0]; k++) {
        const size_t n = strlen(blanks[k]);

        if (i < s.n && s.n - i >= n && memcmp(s.p + i, blanks[k], n) == 0)
            return n;
    }
    return 0;
}

static inline char before(mortise_str s, uint64_t i)
{
    uint64_t lead = i;

    if (i == 0)
        return '\0';
    while (lead > 0 && i - lead < 4 &&
           ((unsigned char)s.p[--lead] & 0xC0) == 0x80)
        ;
    return is_apart(s.p[lead]) ? FINDER_SIGN : s.p[i - 1];
}

static inline bool is_hex(char c)
{
    return ascii_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static inline bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (unsigned char)c >= 0x80;
}

/* Of a word: what stands in one is part of it. */
static inline bool is_word(char c)
{
    return is_letter(c) || ascii_digit(c) || c == '_';
}

/* ---- finding ----------------------------------------------------------- */

/* A text, and what is next of each kind. */
struct finder_scan {
    const struct mortise_inst *inst;
    const struct finder *finder;
    mortise_str s;
    struct span next[FINDER_KINDS];
    bool none[FINDER_KINDS];
};

static inline bool finder_is_allowed(const struct mortise_inst *i,
                                     mortise_str found)
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
static inline void finder_seek(struct finder_scan *c, size_t kind, uint64_t at)
{
    struct span *next = &c->next[kind];

    do {
        c->none[kind] = !c->finder->kinds[kind].find(c->s, at, next);
        at = next->to;
    } while (!c->none[kind] &&
             finder_is_allowed(c->inst, mortise_strn(c->s.p + next->from,
                                                     next->to - next->from)));
}

/* Of what a member has the first may be by its name, ahead of what stands in it. */
static inline bool finder_had(struct finder_scan *c, size_t kind,
                              mortise_str member)
{
    struct span *next = &c->next[kind];

    return member.n > 0 && c->finder->kinds[kind].had != NULL &&
           c->finder->kinds[kind].had(member, c->s, next) &&
           !finder_is_allowed(c->inst, mortise_strn(c->s.p + next->from,
                                                    next->to - next->from));
}

static inline void finder_begin(struct finder_scan *c,
                                const struct mortise_inst *i,
                                mortise_str member, mortise_str s)
{
    *c = (struct finder_scan){.inst = i, .finder = i->finder, .s = s};
    for (size_t k = 0; k < i->finder->n; k++) {
        c->none[k] = !i->kinds[k];
        if (i->kinds[k] && !finder_had(c, k, member))
            finder_seek(c, k, 0);
    }
}

/* The first of all, or what overlaps with it and is surer; FINDER_KINDS: none.
 */
static inline size_t finder_first(const struct finder_scan *c)
{
    size_t first = FINDER_KINDS;

    for (size_t k = c->finder->n; k-- > 0;)
        if (!c->none[k] &&
            (first == FINDER_KINDS || c->next[k].from < c->next[first].to))
            first = k;
    return first;
}

/* The next finding, with all that overlaps with it (1). */
static inline size_t finder_next(struct finder_scan *c, struct span *out)
{
    const size_t first = finder_first(c);

    if (first == FINDER_KINDS)
        return first;
    *out = c->next[first];
    for (size_t k = c->finder->n; k-- > 0;)
        if (!c->none[k] && c->next[k].from < out->to &&
            c->next[k].to > out->from) {
            if (c->next[k].from < out->from)
                out->from = c->next[k].from;
            if (c->next[k].to > out->to)
                out->to = c->next[k].to;
        }
    for (size_t k = 0; k < c->finder->n; k++)
        if (!c->none[k] && c->next[k].from < out->to)
            finder_seek(c, k, out->to);
    return first;
}

/* ---- masking ----------------------------------------------------------- */

struct finder_judge {
    const struct mortise_inst *inst;
    struct bytes masked[2]; /* of this round and of the one before */
};

static inline bool finder_put(struct bytes *b, mortise_str s)
{
    return s.n <= PAYLOAD_MASKED - b->n && bytes_put(b, s) == MORTISE_S_OK;
}

/* A star for each character outside of `part`; what separates groups stays, too. */
static inline bool finder_put_stars(struct bytes *b, mortise_str found,
                                    struct span part, const char *signs)
{
    for (uint64_t i = 0; i < found.n; i++) {
        const char c = found.p[i];
        const bool is_shown = i >= part.from && i < part.to;

        if (((unsigned char)c & 0xC0) == 0x80 && !is_shown)
            continue; /* of a character that has its star */
        if (!finder_put(b, is_shown || strchr(signs, c) != NULL
                               ? mortise_strn(&c, 1)
                               : mortise_strz("*")))
            return false;
    }
    return true;
}

static inline bool finder_put_label(struct bytes *b, const char *name)
{
    return finder_put(b, mortise_strz("[")) &&
           finder_put(b, mortise_strz(name)) &&
           finder_put(b, mortise_strz("]"));
}

/* Where nothing would be left to hide (fe80::), its name. */
static inline bool finder_put_mask(struct bytes *b,
                                   const struct mortise_inst *i, size_t kind,
                                   mortise_str found)
{
    const char *name = i->finder->kinds[kind].name;
    const uint64_t at = b->n;
    struct span part = {0, 0};

    if (i->style == FINDER_LABEL)
        return finder_put_label(b, name);
    if (i->style == FINDER_PARTIAL)
        part = i->finder->shown(kind, found);
    if (!finder_put_stars(b, found, part, i->finder->signs))
        return false;
    if (memchr(b->p + at, '*', b->n - at) != NULL)
        return true;
    b->n = at;
    return finder_put_label(b, name);
}

/* Once over the text, into `to`; *s is that then, if anything was found. */
static inline bool finder_mask_once(const struct mortise_inst *i,
                                    mortise_str member, struct bytes *to,
                                    mortise_str *s, bool *found_some)
{
    struct span found;
    struct finder_scan c;
    uint64_t at = 0;
    size_t kind;

    to->n = 0;
    finder_begin(&c, i, member, *s);
    while ((kind = finder_next(&c, &found)) != FINDER_KINDS) {
        if (!finder_put(to, mortise_strn(s->p + at, found.from - at)) ||
            !finder_put_mask(
                to, i, kind,
                mortise_strn(s->p + found.from, found.to - found.from)))
            return false;
        at = found.to;
    }
    *found_some = at > 0;
    if (at > 0 && !finder_put(to, mortise_strn(s->p + at, s->n - at)))
        return false;
    if (at > 0)
        *s = bytes_str(to);
    return true;
}

/* Until nothing is found any more (2): a mask may be what something beside it
 * stands alone by. */
static inline bool finder_mask(void *ud, mortise_str member, mortise_str *s,
                               bool *changed)
{
    struct finder_judge *j = ud;
    bool again = true;

    *changed = false;
    for (int round = 0; again && round < FINDER_ROUNDS; round++) {
        if (!finder_mask_once(j->inst, member, &j->masked[round % 2], s,
                              &again))
            return false;
        *changed |= again;
    }
    return !again;
}

/* ---- the interface ----------------------------------------------------- */

static inline enum payload_result finder_look(void *ud, mortise_str member,
                                              mortise_str s,
                                              char what[PAYLOAD_WHAT])
{
    const struct finder_judge *j = ud;
    struct finder_scan c;
    size_t kind;

    finder_begin(&c, j->inst, member, s);
    kind = finder_first(&c);
    if (kind == FINDER_KINDS)
        return PAYLOAD_CLEAN;
    snprintf(what, PAYLOAD_WHAT, "%s", j->inst->finder->kinds[kind].words);
    return PAYLOAD_FOUND;
}

static inline mortise_status finder_check(mortise_inst *i, uint32_t stage,
                                          const mortise_request *r)
{
    static const struct payload_rules rules = {
        finder_look, finder_mask, "is at", "is in the name of a member:"};
    struct finder_judge j = {.inst = i};
    mortise_status status;

    (void)stage; /* what is looked for is so everywhere */
    status = payload_check(i->host, i->api, r, &rules, &j);
    bytes_free(&j.masked[0]);
    bytes_free(&j.masked[1]);
    return status;
}

/* ---- the instance ------------------------------------------------------ */

static inline void finder_destroy(mortise_inst *i)
{
    bytes_free(&i->allowed);
    free(i);
}

static inline mortise_status finder_no_config(const struct mortise_inst *i,
                                              const char *why)
{
    return create_refuse(i->host, i->api, why);
}

static inline mortise_status finder_read_kinds(struct mortise_inst *i,
                                               mortise_jv list)
{
    mortise_jv_iter it = mortise_jv_each(list);
    const size_t n = i->finder->n;
    char words[256];
    mortise_jv v;

    for (size_t k = 0; k < n; k++)
        i->kinds[k] = list.n == 0;
    while (mortise_jv_next(&it, NULL, &v)) {
        size_t k = 0;

        while (k < n &&
               !mortise_jv_is(v, mortise_strz(i->finder->kinds[k].name)))
            k++;
        if (k == n) {
            snprintf(words, sizeof words,
                     "kinds has an unknown name; the names are %s",
                     i->finder->names);
            return finder_no_config(i, words);
        }
        i->kinds[k] = true;
    }
    for (size_t k = 0; k < n; k++)
        if (i->kinds[k])
            return MORTISE_S_OK;
    return finder_no_config(
        i, "kinds is empty, so the guardrail would check nothing");
}

static inline mortise_status finder_read_allow(struct mortise_inst *i,
                                               mortise_jv list)
{
    mortise_jv_iter it = mortise_jv_each(list);
    mortise_jv v;

    while (mortise_jv_next(&it, NULL, &v)) {
        struct span *text = &i->allow[i->n_allow];
        mortise_status status;

        if (i->n_allow == FINDER_ALLOWED)
            return finder_no_config(i, "allow has more than 256 texts");
        text->from = i->allowed.n;
        status = bytes_decode(&i->allowed, v);
        if (status == MORTISE_S_NOMEM)
            return finder_no_config(i, "out of memory");
        text->to = i->allowed.n;
        if (status != MORTISE_S_OK || text->to == text->from ||
            (text->to == text->from + 1 && i->allowed.p[text->from] == '*'))
            return finder_no_config(
                i, "allow must be a list of texts that are not empty");
        i->n_allow++;
    }
    return MORTISE_S_OK;
}

static inline mortise_status finder_read_mask(struct mortise_inst *i,
                                              mortise_jv v)
{
    static const char *const styles[FINDER_STYLES] = {"label", "stars",
                                                      "partial"};
    int style = FINDER_LABEL;

    while (v.n > 0 && style < FINDER_STYLES &&
           !mortise_jv_is(v, mortise_strz(styles[style])))
        style++;
    if (style == FINDER_STYLES)
        return finder_no_config(i, "mask must be label, stars or partial");
    i->style = (enum finder_style)style;
    return MORTISE_S_OK;
}

static inline mortise_status finder_configure(mortise_inst *i,
                                              mortise_str config)
{
    mortise_status status;
    mortise_jv body;

    if (mortise_jv_parse(config, &body) != MORTISE_S_OK)
        return finder_no_config(i, "the config is not JSON");
    status = finder_read_mask(i, mortise_jv_get(body, "mask"));
    if (status == MORTISE_S_OK)
        status = finder_read_kinds(i, mortise_jv_get(body, "kinds"));
    return status == MORTISE_S_OK
               ? finder_read_allow(i, mortise_jv_get(body, "allow"))
               : status;
}

/* What a guardrail's create() is, of this finder. */
static inline mortise_status finder_create(const struct finder *finder,
                                           mortise_host *host,
                                           const mortise_host_api *api,
                                           mortise_str config,
                                           mortise_inst **out)
{
    struct mortise_inst *i = (struct mortise_inst *)calloc(1, sizeof *i);

    if (i != NULL) {
        i->host = host;
        i->api = api;
        i->finder = finder;
    }
    return create_configured(i, host, api, config, finder_configure,
                             finder_destroy, out);
}

static inline const void *finder_interface(mortise_inst *i, const char *id)
{
    static const mortise_guardrail guardrail = {sizeof guardrail, 0,
                                                finder_check};

    (void)i;
    return strcmp(id, MORTISE_GUARDRAIL_2) == 0 ? &guardrail : NULL;
}

#endif
