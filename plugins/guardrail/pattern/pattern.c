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
 *   (1) It fails closed.  A rule that could not be checked to the end (too
 *       many steps, out of time) is a violation without a replacement; out of
 *       memory is an error, which the engine takes for a violation.
 *   (2) What it offers would pass: every string that was masked is checked
 *       again, and if a rule still matches nothing is offered.  So checking
 *       twice changes nothing.
 *   (3) A match in the name of a member is a violation without a replacement:
 *       two masked names could become one, and a value be lost.
 *   (4) It ends: regex.h bounds the patterns, REGEX_SECONDS the whole check,
 *       MAX_MASKED what is made.  It is `blocking` in the manifest because
 *       the payload may be megabytes, which is too long for the engine's own
 *       thread.
 *
 * Rules do not change after create(), so any number of checks may run at once.
 */
#include <stdarg.h>

#include <mortise/guardrail.h>

#include "../../regex.h"

enum {
    MAX_RULES = 64,
    MAX_NAME = 64,  /* with its NUL */
    MAX_ROUNDS = 4, /* of all rules over one string */
    MAX_REPLACE = 256,
    MAX_MASKED = 64 << 20, /* bytes of a replacement */
    MAX_PATH = 256,        /* of a place in a reason */
    MAX_REASON = 512
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
    return mortise_refuse(i->host, i->api, 0, MORTISE_S_INVALID, "permanent",
                          "invalid", msg);
}

/* ---- one check --------------------------------------------------------- */

/* Bytes that grow and are reused. */
struct bytes {
    char *p;
    uint64_t n, cap;
};

/* One step of the way from the payload to the value at hand. */
struct step {
    mortise_jv name; /* none: an element */
    uint64_t index;
};

struct judge {
    const struct mortise_inst *inst;
    struct regex_run run;
    struct step way[MORTISE_JV_DEPTH];
    size_t depth;
    struct bytes text;       /* of the string at hand */
    struct bytes masked[2];  /* before and after a rule */
    char reason[MAX_REASON]; /* words for the first finding */
    uint64_t found;          /* strings that a rule matches */
    bool maskable;           /* all that was found can be masked */
    enum regex_result stop;  /* REGEX_NONE, or why no more is known */
};

/* Room for n bytes in all. */
static bool reserve(struct bytes *b, uint64_t n)
{
    uint64_t cap = b->cap > 0 ? b->cap : 256;
    char *p;

    if (n <= b->cap)
        return true;
    if (n > MAX_MASKED)
        return false;
    while (cap < n)
        cap *= 2;
    p = realloc(b->p, cap);
    if (p == NULL)
        return false;
    b->p = p;
    b->cap = cap;
    return true;
}

static bool append(struct bytes *b, const char *p, uint64_t n)
{
    if (n == 0)
        return true;
    if (n > MAX_MASKED || !reserve(b, b->n + n))
        return false;
    memcpy(b->p + b->n, p, n);
    b->n += n;
    return true;
}

/* The content of a string value; lent until the next one. */
static bool content(struct judge *j, mortise_jv v, mortise_str *out)
{
    if (mortise_jv_text(v, NULL, 0, out) == MORTISE_S_OK)
        return true;
    if (v.n <= j->text.cap || reserve(&j->text, v.n))
        return mortise_jv_text(v, j->text.p, j->text.cap, out) == MORTISE_S_OK;
    j->stop = REGEX_NOMEM;
    return false;
}

/* The first rule that matches the text, or cannot tell; NULL: none. */
static const struct rule *first_rule(struct judge *j, mortise_str text,
                                     enum regex_result *result)
{
    *result = REGEX_NONE;
    for (size_t i = 0; i < j->inst->n_rules; i++) {
        *result = regex_match(&j->run, j->inst->rules[i].code, text, 0,
                              PCRE2_NOTEMPTY);
        if (*result != REGEX_NONE)
            return &j->inst->rules[i];
    }
    return NULL;
}

/* ---- reasons ----------------------------------------------------------- */

/* Append to a text of MAX_PATH, cut at a character. */
static void put_path(char *path, mortise_str s)
{
    size_t n = strlen(path), left = MAX_PATH - 1 - n;

    if (s.n > left)
        s.n = left;
    s.n = mortise_str_utf8(s);
    memcpy(path + n, s.p, s.n);
    path[n + s.n] = '\0';
}

/* A member's name as a JSON Pointer has it; a star for one that a rule
 * matches, or that would not read well. */
static void put_name(struct judge *j, char *path, mortise_jv name)
{
    enum regex_result result;
    mortise_str s;

    if (!content(j, name, &s))
        return;
    for (uint64_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.n > 64)
            s = mortise_strz("*");
    if (first_rule(j, s, &result) != NULL)
        s = mortise_strz("*");
    for (uint64_t i = 0, n; i < s.n; i += n) {
        mortise_str rest = mortise_strn(s.p + i, s.n - i);

        n = 1;
        if (rest.p[0] == '~' || rest.p[0] == '/') {
            put_path(path, mortise_strz(rest.p[0] == '~' ? "~0" : "~1"));
            continue;
        }
        while (n < rest.n && rest.p[n] != '~' && rest.p[n] != '/')
            n++;
        put_path(path, mortise_strn(rest.p, n));
    }
}

/* Where we are. */
static void put_way(struct judge *j, char path[MAX_PATH])
{
    char number[24];

    strcpy(path, j->depth == 0 ? "the payload itself" : "");
    for (size_t i = 0; i < j->depth; i++) {
        put_path(path, mortise_strz("/"));
        if (j->way[i].name.n > 0) {
            put_name(j, path, j->way[i].name);
            continue;
        }
        snprintf(number, sizeof number, "%llu",
                 (unsigned long long)j->way[i].index);
        put_path(path, mortise_strz(number));
    }
}

static const char *verb(enum regex_result result, bool is_name)
{
    switch (result) {
    case REGEX_FOUND:
        return is_name ? "matches the name of a member:" : "matches at";
    case REGEX_TIME:
        return "could not be checked in time at";
    default:
        return "takes too many steps to be checked at";
    }
}

/* Remember a finding; the first one gets words. */
static void note(struct judge *j, const struct rule *rule,
                 enum regex_result result, bool is_name)
{
    char path[MAX_PATH];

    if (is_name)
        j->maskable = false;
    if (result != REGEX_FOUND)
        j->stop = result;
    if (result == REGEX_CANCELLED || result == REGEX_NOMEM)
        return;
    if (j->found++ > 0 && result == REGEX_FOUND)
        return;
    put_way(j, path);
    snprintf(j->reason, MAX_REASON, "rule '%s' %s %s", rule->name,
             verb(result, is_name), path);
}

/* ---- searching --------------------------------------------------------- */

static void search_string(struct judge *j, mortise_jv v, bool is_name)
{
    enum regex_result result;
    const struct rule *rule;
    mortise_str s;

    if (!content(j, v, &s))
        return;
    rule = first_rule(j, s, &result);
    if (rule != NULL)
        note(j, rule, result, is_name);
}

/* Every string of v, in order; the recursion is as deep as v, which json.h
 * bounds. */
static void search(struct judge *j, mortise_jv v)
{
    mortise_jv_iter it = mortise_jv_each(v);
    struct step *step = &j->way[j->depth];
    mortise_jv name, one;

    if (mortise_jv_type(v) == MORTISE_JV_STRING) {
        search_string(j, v, false);
        return;
    }
    if (j->depth == MORTISE_JV_DEPTH)
        return; /* a scalar: no array stands that deep */
    j->depth++;
    step->index = 0;
    while (j->stop == REGEX_NONE && mortise_jv_next(&it, &name, &one)) {
        step->name = name;
        if (name.n > 0)
            search_string(j, name, true);
        if (j->stop == REGEX_NONE)
            search(j, one);
        step->index++;
    }
    j->depth--;
}

/* ---- masking ----------------------------------------------------------- */

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
        if (!append(to, s->p + at, start - at) ||
            !append(to, r->replace, r->n_replace))
            return false;
        at = end;
    }
    if (result != REGEX_NONE || at == 0)
        return result == REGEX_NONE;
    if (!append(to, s->p + at, s->n - at))
        return false;
    *s = mortise_strn(to->p, to->n);
    *changed = true;
    return true;
}

/* All rules, one after the other, until none matches any more (2): the mask of
 * one may complete what another one looks for. */
static bool mask(struct judge *j, mortise_str *s, bool *changed)
{
    bool again = true;
    size_t turn = 0;

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

static bool write_string(struct judge *j, mortise_jw *w, mortise_jv v)
{
    bool changed;
    mortise_str s;

    if (!content(j, v, &s) || !mask(j, &s, &changed))
        return false;
    if (changed)
        mortise_jw_string(w, s);
    else
        mortise_jw_value(w, v);
    return true;
}

/* v, masked; names are as they were, for none was found in them (3). */
static bool write_masked(struct judge *j, mortise_jw *w, mortise_jv v)
{
    int32_t type = mortise_jv_type(v);
    mortise_jv_iter it = mortise_jv_each(v);
    mortise_jv name, one;
    mortise_str s;

    if (type == MORTISE_JV_STRING)
        return write_string(j, w, v);
    if (type != MORTISE_JV_OBJECT && type != MORTISE_JV_ARRAY) {
        mortise_jw_value(w, v);
        return true;
    }
    if (type == MORTISE_JV_OBJECT)
        mortise_jw_object(w);
    else
        mortise_jw_array(w);
    while (mortise_jv_next(&it, &name, &one)) {
        if (type == MORTISE_JV_OBJECT) {
            if (!content(j, name, &s))
                return false;
            mortise_jw_keyn(w, s);
        }
        if (!write_masked(j, w, one))
            return false;
    }
    mortise_jw_end(w);
    return true;
}

/* A mortise_jw_more_fn over a struct bytes. */
static mortise_status more(mortise_jw *w, void *ud)
{
    struct bytes *b = ud;

    if (!reserve(b, b->cap + 1))
        return MORTISE_S_NOMEM;
    w->p = b->p;
    w->cap = b->cap;
    return MORTISE_S_OK;
}

/* Offer the masked payload: whole, or not at all. */
static void offer(struct judge *j, mortise_jv payload)
{
    struct bytes room = {NULL, 0, 0};
    mortise_str text;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, more, &room);
    if (write_masked(j, &w, payload) &&
        mortise_jw_finish(&w, &text) == MORTISE_S_OK)
        mortise_emit_output(j->run.host, j->run.api, j->run.call, text);
    free(room.p);
}

/* ---- the interface ----------------------------------------------------- */

static mortise_status say(struct judge *j, const char *reason)
{
    return mortise_emit_verdict(j->run.host, j->run.api, j->run.call,
                                reason != NULL, reason);
}

static mortise_status decide(struct judge *j, mortise_jv payload)
{
    size_t n;

    search(j, payload);
    if (j->stop == REGEX_CANCELLED)
        return mortise_refuse(j->run.host, j->run.api, j->run.call,
                              MORTISE_S_CANCELLED, "cancelled", "cancelled",
                              "cancelled");
    if (j->stop == REGEX_NOMEM)
        return mortise_refuse(j->run.host, j->run.api, j->run.call,
                              MORTISE_S_NOMEM, "transient", "no_memory",
                              "out of memory");
    if (j->found == 0)
        return say(j, NULL);
    n = strlen(j->reason);
    if (j->found > 1)
        snprintf(j->reason + n, MAX_REASON - n, ", and %llu more",
                 (unsigned long long)j->found - 1);
    if (j->stop == REGEX_NONE && j->maskable)
        offer(j, payload);
    return say(j, j->reason);
}

static mortise_status check(mortise_inst *i, uint32_t stage,
                            const mortise_request *r)
{
    struct judge j = {.inst = i, .maskable = true};
    mortise_status status;
    mortise_jv payload;

    (void)stage; /* the same rules hold everywhere */
    if (mortise_jv_parse(r->body, &payload) != MORTISE_S_OK)
        return mortise_refuse(i->host, i->api, r->call, MORTISE_S_INVALID,
                              "permanent", "invalid",
                              "the payload is not JSON");
    if (!regex_init(&j.run, i->host, i->api, r))
        return mortise_refuse(i->host, i->api, r->call, MORTISE_S_NOMEM,
                              "transient", "no_memory", "out of memory");
    status = decide(&j, payload);
    regex_finish(&j.run);
    free(j.text.p);
    free(j.masked[0].p);
    free(j.masked[1].p);
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
        return no_config(i, "rule '%s': its pattern can match nothing at all",
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
        return no_config(i, "builtin lists an unknown name, or one twice; "
                            "there are secret, email, ipv6, ipv4");
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
        return no_config(i,
                         "rule '%s': replace must be a string of up to %d "
                         "bytes",
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
        return no_config(i,
                         "rule '%s': pattern must be a string of up to %d "
                         "bytes",
                         r->name, REGEX_PATTERN);
    if (fold.n > 0 && mortise_jv_bool(fold, &yes) != MORTISE_S_OK)
        return no_config(i, "rule '%s': ignore_case must be true or false",
                         r->name);
    status = read_replace(i, r, mortise_jv_get(v, "replace"));
    return status == MORTISE_S_OK ? add_rule(i, pattern, yes != 0) : status;
}

static mortise_status configure(struct mortise_inst *i, mortise_str config)
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
            return no_config(i, "at most %d rules", MAX_RULES);
        status = read_rule(i, v);
    }
    if (status == MORTISE_S_OK && i->n_rules == 0)
        return no_config(i, "there is no rule: a guardrail that lets "
                            "everything through would look like one that "
                            "works; set builtin or rules");
    return status;
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
    .id = "pattern",
    .version = "0.1.0",
    .create = create,
    .get_interface = get_interface,
    .destroy = destroy,
};

MORTISE_MODULE_OF(plugin);
