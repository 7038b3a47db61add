/* pattern.c -- finds what matches a pattern, and can mask it.
 *
 * The check looks at every string of the payload, the names of members
 * included (not at numbers).  Where a rule matches, that is a violation; its
 * reason names the rule and the place, never the text.  The payload with every
 * match masked is offered as replacement, so `on_violation: sanitize` works;
 * `block`, `warn` and `reroute` do as the graph says.
 *
 * Config (of the deployment; at least one rule in all)
 *   builtin  [names]   in this order, whichever is listed:
 *              secret  values after password=, token:, api_key=, Bearer and
 *                      the like, up to where they surely end; passwords in
 * URLs; AWS, GitHub, GitLab, Slack, Google and sk- keys; JSON web tokens;
 * private key blocks email   mail addresses ipv6    addresses, also with an
 * IPv4 tail or a zone ipv4    addresses (and whatever else is four numbers)
 *   rules    [{name, pattern, replace?, ignore_case?}]   after those, at most
 *            64 in all
 *              pattern  PCRE2 (UTF), up to 4,096 bytes; \w, \d and \b know
 *                       ASCII only (\p{L} is any letter); what stands before
 *                       \K must be there and stays
 *              replace  plain text, up to 256 bytes        ("[NAME]")
 *
 * A deployment that uses it
 *   plugins:
 *     config:
 *       pattern:
 *         builtin: [secret, email, ipv6, ipv4]
 *         rules: [{name: ticket, pattern: 'INC-\d+'}]
 * and a node
 *   mask: {type: guardrail, guardrails: [pattern], target: scratch.log,
 *          on_violation: sanitize, next: report}
 *
 * What it promises:
 *
 *   (1) It fails closed, as payload.h says: a rule that could not be checked to
 *       the end (too many steps, out of time) is a violation without a
 *       replacement, and so is a match in the name of a member.
 *   (2) What it offers would pass: every string that was masked is checked
 *       again, and if a rule still matches nothing is offered.  So checking
 *       twice changes nothing.
 *   (3) It ends: regex.h bounds the patterns, REGEX_SECONDS the whole check,
 *       PAYLOAD_MASKED what is made.  It is `blocking` in the manifest because
 *       the payload may be megabytes, which is too long for the engine's own
 *       thread.
 *
 * Rules do not change after create(), so any number of checks may run at once.
 */
#include <stdarg.h>

#include "../../create.h"
#include "../../nomem.h"
#include "../../payload.h"
#include "../../regex.h"

enum {
    MAX_RULES = 64,
    MAX_NAME = 64,  /* with its NUL */
    MAX_ROUNDS = 4, /* of all rules over one string */
    MAX_REPLACE = 256
};

struct rule {
    char name[MAX_NAME];
    pcre2_code *code;
    char replace[MAX_REPLACE];
    uint64_t n_replace;
};

struct mortise_inst {
    mortise_host *host; /* lent until destroy(), as is the table */
    const mortise_host_api *api;
    struct rule rules[MAX_RULES];
    size_t n_rules;
};

/* ---- the builtin rules ------------------------------------------------- */

/* Three habits make these fast on megabytes, for PCRE2 tries a pattern from
 * every place where it could start.  A pattern takes in the whole word it
 * starts in and, when that is not it, goes on behind the word: NOT_HERE.  What
 * must stand before is looked for backwards, once the rare thing behind it is
 * there.  And classes are made of ASCII, positive or negated.
 *
 * Where in doubt a secret ends later: too much masked is a nuisance, too
 * little is a leak. */
#define NOT_HERE "(*SKIP)(*FAIL)"

#define V4_PART "(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]?[0-9])"
#define V4      "(?:" V4_PART "\\.){3}" V4_PART
#define HEX     "[0-9A-Fa-f]{1,4}"

/* ASCII letters, digits, _ . % + - and all that is not ASCII; and the same
 * without _ . % + */
#define LOCAL "[^\\x00-\\x24&-*,/:-@\\[-^`{-\\x7F]"
#define LABEL "[^\\x00-,./:-@\\[-`{-\\x7F]"

/* What may stand behind a value and is not of it. */
#define TAIL "[,;:.!?)\\]}>]"
/* Not what we put there ourselves.  Only where nothing is glued to it: a mask
 * in the text must not hide what follows. */
#define UNMASKED                                                               \
    "(?!\\\\*+[\"']?\\[secret\\]\\\\*+[\"']?" TAIL "*+(?:[\\s\"']|$))"
/* From a name to its value, also in JSON, also in JSON in a string. */
#define IS "\\\\*+[\"']?\\s{0,8}[=:]\\s{0,8}"

static const struct builtin {
    const char *name, *pattern;
} builtins[] = {
    {"secret",
     "(?i)(?:"
     /* keys that look like nothing else */
     "(?-i:(?=[Aegsx])(?:(?:AKIA|ASIA)[0-9A-Z]{16}\\b|AIza[\\w-]{35}|"
     "gh[pousr]_[A-Za-z0-9]{36,}+|github_pat_\\w{22,}+|glpat-[\\w-]{20,}+|"
     "xox[abprs]-[A-Za-z0-9-]{10,}+|sk-[\\w-]{20,}+|"
     "eyJ[\\w-]{8,4096}+\\.[\\w-]{8,8192}+\\.[\\w-]{4,2048}+))"
     /* Bearer value */
     "|bearer\\s{1,8}\\K(?=[\\w.~+/-]*[0-9])[\\w.~+/-]{16,}+=*+"
     /* scheme://user:password@host */
     "|://[^/\\s:@]{0,256}:\\K(?!\\[secret\\]@[^@\\s/]*+(?:[/\\s]|$))"
     "[^/\\s]{1,1024}(?=@)"
     /* PEM; without its end, as far as it can reach */
     "|-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY-----"
     "[^-]*+(?:-(?!----END)[^-]*+)*+"
     "(?:-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY-----)?"
     /* key=value, "key": "value", \"key\": \"value\", also cut short */
     "|\\w++(?:(?=" IS
     ")(?:(?<=passwords|password|passwd|passphrase|pwd|secrets|secret|"
     "tokens|token|credentials|credential|"
     "api[_-]keys|api[_-]key|apikeys|apikey|"
     "access[_-]keys|access[_-]key|accesskeys|accesskey|"
     "auth[_-]keys|auth[_-]key|authkeys|authkey|"
     "private[_-]keys|private[_-]key|privatekeys|privatekey)" IS "\\K" UNMASKED
     "(?:\\\\+\"[^\"\\n]++\"?|\"(?:[^\"\\\\\\n]|\\\\.)++\"?|'[^'\\n]++'?|"
     "[^\\s\"'][^\\s\"']*(?<!" TAIL "))"
     /* Authorization: SCHEME value */
     "|(?<=authorization)" IS "[\"']?(?:[a-z]{1,16}\\s{1,8})?+\\K" UNMASKED
     "[^\\s\"']{4,}(?<!" TAIL ")"
     ")|" NOT_HERE "))"},
    {"email", /* user@1000.service is a unit of systemd, not a person */
     LOCAL "++(?:@(?:" LABEL "{1,63}\\.){1,8}"
           "(?!(?:service|socket|timer|mount|target|slice|scope|device|path|"
           "swap)\\b)(?![0-9-])" LABEL "{2,63}|" NOT_HERE ")"},
    {"ipv6", /* a label may be glued to it: IPv6:2001:db8::1 */
     "(?:(?=[\\w.]*?[g-zG-Z_])[\\w.]++:\\K)?(?=" HEX ":|::)(?:"
     "(?:" HEX ":){6}" V4 "|(?:" HEX ":){1,5}:(?:" HEX ":){0,4}" V4 "|::(?:" HEX
     ":){0,5}" V4 "|(?:" HEX ":){7}" HEX "|(?:" HEX ":){1,7}:(?:" HEX "(?::" HEX
     "){0,6})?"
     "|::" HEX "(?::" HEX "){0,6}"
     ")(?:%[\\w.]{1,16})?(?![\\w:])|[\\w:.]++" NOT_HERE},
    {"ipv4", V4 "(?![0-9]|\\.[0-9])|[0-9][0-9.]*+" NOT_HERE},
};

/* ---- saying no, to a config -------------------------------------------- */

__attribute__((format(printf, 2, 3))) static mortise_status
no_config(const struct mortise_inst *i, const char *fmt, ...)
{
    char msg[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    return create_refuse(i->host, i->api, msg);
}

/* ---- one check --------------------------------------------------------- */

struct judge {
    const struct mortise_inst *inst;
    struct regex_run run;
    struct bytes masked[2]; /* before and after a rule */
};

static enum payload_result result_of(enum regex_result result)
{
    static const enum payload_result results[] = {
        [REGEX_NONE] = PAYLOAD_CLEAN,          [REGEX_FOUND] = PAYLOAD_FOUND,
        [REGEX_LIMIT] = PAYLOAD_LIMIT,         [REGEX_TIME] = PAYLOAD_TIME,
        [REGEX_CANCELLED] = PAYLOAD_CANCELLED, [REGEX_NOMEM] = PAYLOAD_NOMEM,
    };

    return results[result];
}

/* The first rule that matches the text, or cannot tell. */
static enum payload_result look(void *ud, mortise_str member, mortise_str text,
                                char what[PAYLOAD_WHAT])
{
    struct judge *j = ud;

    (void)member; /* rules are of texts */
    for (size_t i = 0; i < j->inst->n_rules; i++) {
        const struct rule *r = &j->inst->rules[i];
        enum regex_result result =
            regex_match(&j->run, r->code, text, 0, PCRE2_NOTEMPTY);

        if (result == REGEX_NONE)
            continue;
        snprintf(what, PAYLOAD_WHAT, "rule '%s'", r->name);
        return result_of(result);
    }
    return PAYLOAD_CLEAN;
}

/* ---- masking ----------------------------------------------------------- */

static bool append(struct bytes *b, mortise_str s)
{
    return s.n <= PAYLOAD_MASKED - b->n && bytes_put(b, s) == MORTISE_S_OK;
}

/* What a rule makes of *s, in `to`; where it matches nothing, *s stays as it
 * is.  False when that cannot be told, or grows too large. */
static bool apply(struct judge *j, const struct rule *r, struct bytes *to,
                  mortise_str *s, bool *changed)
{
    uint64_t at = 0, start, end;
    enum regex_result result;

    to->n = 0;
    while ((result = regex_match(&j->run, r->code, *s, at, PCRE2_NOTEMPTY)) ==
           REGEX_FOUND) {
        if (!regex_group(&j->run, 0, &start, &end) || start < at ||
            end <= start)
            return false;
        if (!append(to, mortise_strn(s->p + at, start - at)) ||
            !append(to, mortise_strn(r->replace, r->n_replace)))
            return false;
        at = end;
    }
    if (result != REGEX_NONE || at == 0)
        return result == REGEX_NONE;
    if (!append(to, mortise_strn(s->p + at, s->n - at)))
        return false;
    *s = mortise_strn(to->p, to->n);
    *changed = true;
    return true;
}

/* All rules, one after the other, until none matches any more (2): the mask of
 * one may complete what another one looks for. */
static bool mask(void *ud, mortise_str member, mortise_str *s, bool *changed)
{
    struct judge *j = ud;
    bool again = true;
    size_t turn = 0;

    (void)member;
    *changed = false;
    for (int round = 0; again && round < MAX_ROUNDS; round++) {
        again = false;
        for (size_t i = 0; i < j->inst->n_rules; i++) {
            bool hit = false;

            if (!apply(j, &j->inst->rules[i], &j->masked[turn], s, &hit))
                return false;
            turn ^= hit; /* the other room, while *s is in this one */
            again |= hit;
        }
        *changed |= again;
    }
    return !again;
}

/* ---- the interface ----------------------------------------------------- */

static mortise_status check(mortise_inst *i, uint32_t stage,
                            const mortise_request *r)
{
    static const struct payload_rules rules = {look, mask, "matches at",
                                               "matches the name of a member:"};
    struct judge j = {.inst = i};
    mortise_status status;

    (void)stage; /* the same rules hold everywhere */
    if (!regex_init(&j.run, i->host, i->api, r))
        return nomem(i->host, i->api, r->call);
    status = payload_check(i->host, i->api, r, &rules, &j);
    regex_finish(&j.run);
    bytes_free(&j.masked[0]);
    bytes_free(&j.masked[1]);
    return status;
}

/* ---- the instance ------------------------------------------------------ */

static void destroy(mortise_inst *i)
{
    for (size_t k = 0; k < i->n_rules; k++)
        pcre2_code_free(i->rules[k].code);
    free(i);
}

/* May the rule stand?  It must not match nothing, which could not be masked,
 * nor its own replacement, which would break (2). */
static mortise_status try_rule(const struct mortise_inst *i,
                               const struct rule *r)
{
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    uint32_t empty = 0;
    int rc;

    if (data == NULL)
        return no_config(i, "out of memory");
    pcre2_pattern_info(r->code, PCRE2_INFO_MATCHEMPTY, &empty);
    rc = pcre2_match(r->code, (PCRE2_SPTR)r->replace, r->n_replace, 0,
                     PCRE2_NOTEMPTY, data, NULL);
    pcre2_match_data_free(data);
    if (empty != 0)
        return no_config(i, "rule '%s': its pattern can match an empty string",
                         r->name);
    if (rc != PCRE2_ERROR_NOMATCH)
        return no_config(i, "rule '%s': its pattern matches its replacement",
                         r->name);
    return MORTISE_S_OK;
}

/* Add the rule at i->rules[n_rules], of which name and replacement are set;
 * from here on destroy() knows its code. */
static mortise_status add_rule(struct mortise_inst *i, mortise_str pattern,
                               bool fold)
{
    struct rule *r = &i->rules[i->n_rules];
    char why[256];

    if (!regex_compile(&r->code, pattern, fold ? PCRE2_CASELESS : 0, why,
                       sizeof why))
        return no_config(i, "rule '%s': pattern: %s", r->name, why);
    i->n_rules++;
    return try_rule(i, r);
}

static void default_replace(struct rule *r)
{
    size_t n = strlen(r->name);

    r->replace[0] = '[';
    memcpy(r->replace + 1, r->name, n);
    r->replace[n + 1] = ']';
    r->n_replace = n + 2;
}

static bool lists(mortise_jv list, const char *name)
{
    mortise_jv_iter it = mortise_jv_each(list);
    mortise_jv v;

    while (mortise_jv_next(&it, NULL, &v))
        if (mortise_jv_is(v, mortise_strz(name)))
            return true;
    return false;
}

static mortise_status add_builtins(struct mortise_inst *i, mortise_jv list)
{
    mortise_status status = MORTISE_S_OK;
    uint64_t known = 0;

    for (size_t k = 0; k < sizeof builtins / sizeof *builtins; k++) {
        struct rule *r = &i->rules[i->n_rules];

        if (status != MORTISE_S_OK || !lists(list, builtins[k].name))
            continue;
        known++;
        strcpy(r->name, builtins[k].name); /* short: they are ours */
        default_replace(r);
        status = add_rule(i, mortise_strz(builtins[k].pattern), false);
    }
    if (status == MORTISE_S_OK && known != mortise_jv_count(list))
        return no_config(i, "builtin has an unknown name, or a name twice; the "
                            "names are secret, email, ipv6, ipv4");
    return status;
}

static mortise_status read_replace(struct mortise_inst *i, struct rule *r,
                                   mortise_jv v)
{
    if (v.n == 0) {
        default_replace(r);
        return MORTISE_S_OK;
    }
    if (mortise_jv_decode(v, r->replace, sizeof r->replace, &r->n_replace) !=
        MORTISE_S_OK)
        return no_config(
            i, "rule '%s': replace must be a string of at most %d bytes",
            r->name, MAX_REPLACE);
    return MORTISE_S_OK;
}

static mortise_status read_rule(struct mortise_inst *i, mortise_jv v)
{
    struct rule *r = &i->rules[i->n_rules];
    mortise_jv fold = mortise_jv_get(v, "ignore_case");
    char room[REGEX_PATTERN];
    mortise_str pattern;
    mortise_status status;
    int32_t yes = 0;

    if (mortise_jv_cstr(mortise_jv_get(v, "name"), r->name, sizeof r->name) !=
            MORTISE_S_OK ||
        r->name[0] == '\0')
        return no_config(i, "a rule needs a name of 1 to %d bytes",
                         MAX_NAME - 1);
    if (mortise_jv_text(mortise_jv_get(v, "pattern"), room, sizeof room,
                        &pattern) != MORTISE_S_OK)
        return no_config(
            i, "rule '%s': pattern must be a string of at most %d bytes",
            r->name, REGEX_PATTERN);
    if (fold.n > 0 && mortise_jv_bool(fold, &yes) != MORTISE_S_OK)
        return no_config(i, "rule '%s': ignore_case must be true or false",
                         r->name);
    status = read_replace(i, r, mortise_jv_get(v, "replace"));
    return status == MORTISE_S_OK ? add_rule(i, pattern, yes != 0) : status;
}

static mortise_status configure(mortise_inst *i, mortise_str config)
{
    mortise_jv body, rules, builtin, v;
    mortise_jv_iter it;
    mortise_status status;

    if (mortise_jv_parse(config, &body) != MORTISE_S_OK)
        return no_config(i, "the config is not JSON");
    builtin = mortise_jv_get(body, "builtin");
    rules = mortise_jv_get(body, "rules");
    status = add_builtins(i, builtin);
    it = mortise_jv_each(rules);
    while (status == MORTISE_S_OK && mortise_jv_next(&it, NULL, &v)) {
        if (i->n_rules == MAX_RULES)
            return no_config(i, "rules has more than %d rules", MAX_RULES);
        status = read_rule(i, v);
    }
    if (status == MORTISE_S_OK && i->n_rules == 0)
        return no_config(i, "no rule is set, so the guardrail would check "
                            "nothing; set builtin or rules");
    return status;
}

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    struct mortise_inst *i = calloc(1, sizeof *i);

    if (i != NULL) {
        i->host = host;
        i->api = api;
    }
    return create_configured(i, host, api, config, configure, destroy, out);
}

static const mortise_guardrail guardrail = {sizeof guardrail, 0, check};

static const void *get_interface(mortise_inst *i, const char *id)
{
    (void)i;
    return strcmp(id, MORTISE_GUARDRAIL_2) == 0 ? &guardrail : NULL;
}

static const mortise_plugin plugin = {
    .size = sizeof plugin,
    .id = "pattern",
    .version = "0.1.0",
    .create = create,
    .get_interface = get_interface,
    .destroy = destroy,
};

MORTISE_MODULE_OF(plugin);
